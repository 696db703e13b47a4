//! How the ground is lit and coloured: the numbers that the window, `shot` and the hillshade share.

use bevy_reflect::Reflect;

use crate::params::{choice, knob};

/// Source of the published colours and of the light's strength.
const D1: &str = "SimpleErosion (McDonald 2020)";

/// A snow line at this height in metres or above means that there is no snow.
pub const NO_SNOW: f64 = 9000.0;

/// How light of any strength becomes a colour that a screen can show.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ToneCurve {
    /// Film-like, with deep shadows and strong colours.
    #[default]
    Aces,
    /// Film-like, soft, bright colours become pale.
    Agx,
    /// Film-like and muted, as Blender's of the same name.
    Filmic,
    /// Colours stay as they are until they are nearly white.
    Neutral,
    /// None: too much light is cut off.
    None,
}

/// Colours of flat ground, steep ground and sand that go together.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Palette {
    /// Green meadows and grey rock, as published.
    #[default]
    Meadow,
    /// Dry grass and pale rock, as on high mountains.
    Alpine,
    /// Red earth and dark rock.
    Canyon,
    /// Pale sand and brown rock.
    Desert,
    /// One colour, to look at the shape alone.
    Clay,
}

impl Palette {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Meadow, Self::Alpine, Self::Canyon, Self::Desert, Self::Clay];

    /// Colours the ground.
    pub fn color(self, look: &mut Look) {
        let Look { flat_color, steep_color, sand_color, .. } = Look::default();
        let colors = match self {
            Self::Meadow => [flat_color, steep_color, sand_color],
            Self::Alpine => [[0.30, 0.38, 0.17], [0.58, 0.54, 0.49], [0.74, 0.68, 0.55]],
            Self::Canyon => [[0.62, 0.40, 0.26], [0.44, 0.24, 0.17], [0.82, 0.60, 0.40]],
            Self::Desert => [[0.66, 0.54, 0.36], [0.45, 0.35, 0.26], [0.85, 0.70, 0.48]],
            Self::Clay => [[0.72, 0.66, 0.60]; 3],
        };
        [look.flat_color, look.steep_color, look.sand_color] = colors;
    }
}

/// Light and colour.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Look {
    /// Colour of flat ground.
    #[reflect(@knob(0.0..=1.0).source(D1).main())]
    pub flat_color: [f32; 3],
    /// Colour of steep ground.
    #[reflect(@knob(0.0..=1.0).source(D1).main())]
    pub steep_color: [f32; 3],
    /// Colour of loose sand, mixed in where it lies thick enough to hide the ground.
    #[reflect(@knob(0.0..=1.0).source("ours").main())]
    pub sand_color: [f32; 3],
    /// Colour of bedrock where the block's walls cut it.
    #[reflect(@knob(0.0..=1.0).source("ours"))]
    pub bedrock_color: [f32; 3],
    /// Colour of the table on which the block stands.
    #[reflect(@knob(0.0..=1.0).source("ours"))]
    pub table_color: [f32; 3],
    /// Thickness of sand that hides the ground beneath, in cells. Low: a dusting counts as sand. High: only dunes and
    /// thick fans do.
    #[reflect(@knob(0.01..=5.0).unit("cells").source("ours").log())]
    pub sand_cover: f32,
    /// How much the colours vary from place to place, as grass and rock do. 0 is even paint.
    #[reflect(@knob(0.0..=1.0).source("ours"))]
    pub grain: f32,
    /// How strongly what is smaller than a cell shows: steps of rock, rubble, tufts of grass. 0 is smooth. Where the processor draws, it
    /// shows while the picture stands still.
    #[reflect(@knob(0.0..=1.0).source("ours"))]
    pub detail: f32,
    /// Height above which snow lies. It lies lower on shaded slopes, and slides off steep ones. At the largest value there is none.
    #[reflect(@knob(0.0..=NO_SNOW).unit("m").source("ours"))]
    pub snow_line: f32,
    /// Height from one contour line to the next; every fifth is broad. 0 draws none.
    #[reflect(@knob(0.0..=500.0).unit("m").source("ours"))]
    pub contours: f32,
    /// How strongly small ripples show on sand, across the wind, while one blows. 0 is smooth.
    #[reflect(@knob(0.0..=1.0).source("ours"))]
    pub ripples: f32,
    /// Ground counts as steep where the vertical part of its surface normal is below this: 1 is level ground, 0 a vertical wall.
    /// Higher: more of the map looks like rock. Lower: only cliffs do.
    #[reflect(@knob(0.0..=1.0).symbol("n_y").source(D1).main())]
    pub steep_threshold: f32,
    /// Half the width of the change between the two colours, in the same measure. 0 gives the article's hard border; wide
    /// values blur the slopes together.
    #[reflect(@knob(0.0..=0.5).source("ours"))]
    pub threshold_softness: f32,
    /// Compass direction from which the sun shines, clockwise from the top of the map. Light from the side shows
    /// relief best; light from behind the camera flattens it.
    #[reflect(@knob(0.0..=360.0).unit("°").source("ours").main())]
    pub sun_azimuth: f32,
    /// Height of the sun above the horizon. Low: long shadows. High: flat, even light.
    #[reflect(@knob(3.0..=90.0).unit("°").source("ours").main())]
    pub sun_elevation: f32,
    /// Strength of the sunlight. Too high washes the colours out; too low leaves only the sky's light.
    #[reflect(@knob(0.0..=4.0).source(D1).main())]
    pub sun_strength: f32,
    /// Phong: light that reaches every face, from sky and ground. Too high flattens; too low turns shadows black.
    #[reflect(@knob(0.0..=1.0).source("Phong 1975"))]
    pub ambient: f32,
    /// Phong: strength of the highlight. 0 is dry rock, 1 looks wet.
    #[reflect(@knob(0.0..=1.0).source("Phong 1975"))]
    pub specular: f32,
    /// Phong: sharpness of the highlight. Higher is a smaller, harder spot.
    #[reflect(@knob(1.0..=128.0).source("Phong 1975").log())]
    pub shininess: f32,
    /// Whether the terrain casts shadows on itself.
    #[reflect(@choice().source(D1))]
    pub shadows: bool,
    /// Whether the edges of shadows are soft: the softer, the farther away what casts them. Off, they are sharp everywhere.
    #[reflect(@choice().source("ours"))]
    pub soft_shadows: bool,
    /// How dark hollows are, because less light from the sky reaches them. 0 is off; too high makes dirty edges.
    #[reflect(@knob(0.0..=1.0).source("ours"))]
    pub occlusion: f32,
    /// How thick the air is: the share of light lost over rather more than the map's width. 0 is clear air.
    #[reflect(@knob(0.0..=1.0).source(D1))]
    pub fog: f32,
    /// How milky the sky is. 0 is deep blue mountain air; high is pale and warm around a low sun.
    #[reflect(@knob(0.0..=1.0).source("ours"))]
    pub turbidity: f32,
    /// Brightness of the whole picture, in stops: one more is twice the light.
    #[reflect(@knob(-4.0..=4.0).unit("EV").source("ours"))]
    pub exposure: f32,
    /// How light becomes colour on the screen.
    #[reflect(@choice().source("Hable, Sobotka, Narkowicz; as in Bevy"))]
    pub tone_curve: ToneCurve,
    /// Height of the block below the lowest ground, as a share of the map's shorter side.
    #[reflect(@knob(0.0..=0.5).source("ours"))]
    pub base: f32,
    /// Heights are drawn this many times as large. 1 is true to scale; the numbers of the simulation don't change.
    #[reflect(@knob(0.1..=10.0).unit("×").source("ours").log().main())]
    pub vertical_exaggeration: f32,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            flat_color: [0.27, 0.64, 0.27],
            steep_color: [0.7, 0.7, 0.7],
            sand_color: [0.80, 0.68, 0.46],
            bedrock_color: [0.50, 0.47, 0.44],
            table_color: [0.44, 0.45, 0.47],
            sand_cover: 0.6,
            grain: 0.5,
            detail: 0.6,
            snow_line: NO_SNOW as f32,
            contours: 0.0,
            ripples: 0.5,
            steep_threshold: 0.8,
            threshold_softness: 0.06,
            sun_azimuth: 240.0,
            sun_elevation: 30.0,
            sun_strength: 1.4,
            ambient: 0.42,
            specular: 0.08,
            shininess: 16.0,
            shadows: true,
            soft_shadows: true,
            occlusion: 0.8,
            fog: 0.06,
            turbidity: 0.25,
            exposure: 0.0,
            tone_curve: ToneCurve::Aces,
            base: 0.06,
            vertical_exaggeration: 1.0,
        }
    }
}

/// How the water looks.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct WaterLook {
    /// Whether the water is drawn.
    #[reflect(@choice().source("ours").main())]
    pub shown: bool,
    /// Colour of deep water.
    #[reflect(@knob(0.0..=1.0).source("ours").main())]
    pub color: [f32; 3],
    /// Colour of water that is full of sediment.
    #[reflect(@knob(0.0..=1.0).source("Jákó & Tóth 2011, figure 7").main())]
    pub silt_color: [f32; 3],
    /// How deep you can see into the water. Low makes it opaque; high shows the bed of lakes.
    #[reflect(@knob(0.1..=50.0).unit("m").source("ours").log().main())]
    pub clarity: f32,
    /// How much light the surface reflects, as a multiple of what real water reflects. 0 shows no sky in it; high looks like
    /// mercury.
    #[reflect(@knob(0.0..=3.0).source("Fresnel's law, after Schlick").main())]
    pub mirror: f32,
    /// Strength of the sun's glint on the waves. 0 is dull.
    #[reflect(@knob(0.0..=4.0).source("ours"))]
    pub glint: f32,
    /// Strength of the small waves. 0 is a mirror.
    #[reflect(@knob(0.0..=0.5).source("ours").main())]
    pub ripples: f32,
    /// Least depth at which water is drawn. Low shows the rain on every slope; high shows only rivers and lakes.
    #[reflect(@knob(0.001..=2.0).unit("m").source("ours").log().main())]
    pub film: f32,
}

impl Default for WaterLook {
    fn default() -> Self {
        Self {
            shown: true,
            color: [0.10, 0.27, 0.33],
            silt_color: [0.60, 0.40, 0.26],
            clarity: 2.5,
            mirror: 1.0,
            glint: 1.0,
            ripples: 0.08,
            film: 0.3,
        }
    }
}
