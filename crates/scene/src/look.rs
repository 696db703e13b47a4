//! How the ground is lit and coloured: the numbers that the window, `shot` and the hillshade share.

use bevy_reflect::Reflect;

use thalweg_sim::params::{choice, knob};

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

/// What stands behind the land.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// A plain table in even light, as in a photographer's studio.
    #[default]
    Studio,
    /// A plain under a sky with clouds, which fades into the haze.
    Sky,
}

/// What gives the ground its colours.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorBy {
    /// How steep it is: two colours, and one for sand.
    #[default]
    Steepness,
    /// One quantity or two, by a ramp of colours.
    Ramp,
}

/// What of a place counts on a ramp of colours, from the least to the most.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RampBy {
    /// Nothing: every place counts as the least.
    Nothing,
    /// Height, from the lowest place at the start to the highest so far.
    #[default]
    Height,
    /// Steepness, from level ground to 60°.
    Slope,
    /// How far it is turned to the sun.
    Sun,
    /// How much land drains through the place, on a logarithmic scale. Only where rivers are drawn.
    Flow,
    /// Bends, from crests to gullies.
    Bend,
    /// From worn to laid down since the start.
    Change,
    /// Wetness, from dry to where water stands.
    Wetness,
    /// Sand, from none to what hides the ground.
    Sand,
}

/// What says where the sun stands.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SunBy {
    /// Its direction and height.
    #[default]
    Direction,
    /// The time of the day and of the year, and the latitude.
    Time,
}

/// The sun is drawn no lower than this, in degrees.
const LOWEST_SUN: f64 = 3.0;

/// Light and colour.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Look {
    /// What gives the ground its colours.
    #[reflect(@choice().source("ours").main())]
    pub color_by: ColorBy,
    /// Colour of flat ground, and of the plain under a sky.
    #[reflect(@knob(0.0..=1.0).source(D1).main())]
    pub flat_color: [f32; 3],
    /// Colour of steep ground.
    #[reflect(@knob(0.0..=1.0).source(D1).only("color_by=steepness").main())]
    pub steep_color: [f32; 3],
    /// Colour of loose sand, mixed in where it lies thick enough to hide the ground. With a ramp, only the walls of the block show it.
    #[reflect(@knob(0.0..=1.0).source("ours").main())]
    pub sand_color: [f32; 3],
    /// The quantity along the ramp, from the first to the fifth colour.
    #[reflect(@choice().source("ours").only("color_by=ramp").main())]
    pub ramp_along: RampBy,
    /// A second quantity, from the colours of the ramp to those of its other side. Nothing: the ramp has one side.
    #[reflect(@choice().source("ours").only("color_by=ramp").main())]
    pub ramp_across: RampBy,
    /// Colour of the least of the first quantity, where the second quantity is least.
    #[reflect(@knob(0.0..=1.0).source("ours").only("color_by=ramp").main())]
    pub ramp_color_1: [f32; 3],
    /// Colour of a quarter of the first quantity, where the second quantity is least.
    #[reflect(@knob(0.0..=1.0).source("ours").only("color_by=ramp").main())]
    pub ramp_color_2: [f32; 3],
    /// Colour of half of the first quantity, where the second quantity is least.
    #[reflect(@knob(0.0..=1.0).source("ours").only("color_by=ramp").main())]
    pub ramp_color_3: [f32; 3],
    /// Colour of three quarters of the first quantity, where the second quantity is least.
    #[reflect(@knob(0.0..=1.0).source("ours").only("color_by=ramp").main())]
    pub ramp_color_4: [f32; 3],
    /// Colour of the most of the first quantity, where the second quantity is least.
    #[reflect(@knob(0.0..=1.0).source("ours").only("color_by=ramp").main())]
    pub ramp_color_5: [f32; 3],
    /// Colour of the least of the first quantity, where the second quantity is largest.
    #[reflect(@knob(0.0..=1.0).source("ours").only("color_by=ramp"))]
    pub ramp_side_1: [f32; 3],
    /// Colour of a quarter of the first quantity, where the second quantity is largest.
    #[reflect(@knob(0.0..=1.0).source("ours").only("color_by=ramp"))]
    pub ramp_side_2: [f32; 3],
    /// Colour of half of the first quantity, where the second quantity is largest.
    #[reflect(@knob(0.0..=1.0).source("ours").only("color_by=ramp"))]
    pub ramp_side_3: [f32; 3],
    /// Colour of three quarters of the first quantity, where the second quantity is largest.
    #[reflect(@knob(0.0..=1.0).source("ours").only("color_by=ramp"))]
    pub ramp_side_4: [f32; 3],
    /// Colour of the most of the first quantity, where the second quantity is largest.
    #[reflect(@knob(0.0..=1.0).source("ours").only("color_by=ramp"))]
    pub ramp_side_5: [f32; 3],
    /// Colour of bedrock where the block's walls cut it.
    #[reflect(@knob(0.0..=1.0).source("ours"))]
    pub bedrock_color: [f32; 3],
    /// Colour of the table on which the block stands.
    #[reflect(@knob(0.0..=1.0).source("ours"))]
    pub table_color: [f32; 3],
    /// Thickness of sand that hides the ground beneath, in cells; 4 m at most. Low: a dusting counts as sand. High: only dunes and
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
    /// How strongly worn and laid down ground shows: fresh rock and bare soil where it is lower than at the start, pale deposits where it
    /// is higher. What brushes dig and heap up shows as well. 0 hides it.
    #[reflect(@knob(0.0..=1.0).source("ours").only("color_by=steepness"))]
    pub traces: f32,
    /// How green the land is along streams, and how bare the steep gullies are. Shows only where rivers are drawn.
    #[reflect(@knob(0.0..=1.0).source("ours").only("color_by=steepness"))]
    pub lushness: f32,
    /// How much of the green land is wooded. Woods stand in hollows and along streams rather than on crests, but not in water nor on rock,
    /// snow, sand and worn ground. 0 is open land.
    #[reflect(@knob(0.0..=1.0).source("ours").only("color_by=steepness"))]
    pub woods: f32,
    /// How strongly sand glitters where the sun stands low and before you. Needs detail above 0.
    #[reflect(@knob(0.0..=1.0).source("ours"))]
    pub glitter: f32,
    /// Height above which snow lies. It lies lower on shaded slopes, and slides off steep ones. At the largest value there is none.
    #[reflect(@knob(0.0..=NO_SNOW).unit("m").source("ours"))]
    pub snow_line: f32,
    /// Height from one contour line to the next; every fifth is broad. 0 draws none.
    #[reflect(@knob(0.0..=500.0).unit("m").source("ours"))]
    pub contours: f32,
    /// Side of the squares of a grid on the land. 0 draws none.
    #[reflect(@knob(0.0..=5000.0).unit("m").source("ours"))]
    pub grid: f32,
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
    /// Whether the sun stands where you put it, or where it is at a time of the day and the year.
    #[reflect(@choice().source("ours").main())]
    pub sun_by: SunBy,
    /// Compass direction from which the sun shines, clockwise from the top of the map. Light from the side shows
    /// relief best; light from behind the camera flattens it.
    #[reflect(@knob(0.0..=360.0).unit("°").source("ours").only("sun_by=direction").main())]
    pub sun_azimuth: f32,
    /// Height of the sun above the horizon. Low: long shadows. High: flat, even light.
    #[reflect(@knob(LOWEST_SUN..=90.0).unit("°").source("ours").only("sun_by=direction").main())]
    pub sun_elevation: f32,
    /// Time of the day by the sun: at 12 it stands highest. In the night it is drawn just above the horizon.
    #[reflect(@knob(0.0..=24.0).unit("h").source("Spherical astronomy").only("sun_by=time").main())]
    pub hour: f32,
    /// Day of the year, from 1: 80 and 266 are the equinoxes, 172 is the northern summer solstice, 355 the winter solstice.
    #[reflect(@knob(1.0..=365.0).source("Spherical astronomy").only("sun_by=time"))]
    pub day: f32,
    /// Latitude of the land: north of the equator it is above 0, south of it below.
    #[reflect(@knob(-90.0..=90.0).unit("°").source("Spherical astronomy").only("sun_by=time"))]
    pub latitude: f32,
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
    /// How dark the shadows are that clouds cast on the land. 0 is a sky without clouds.
    #[reflect(@knob(0.0..=1.0).source("ours"))]
    pub cloud_shadows: f32,
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
    /// What stands behind the land.
    #[reflect(@choice().source("ours").main())]
    pub background: Background,
    /// Whether the block stands on a plate with its title, its size and a scale. Runs side by side have none.
    #[reflect(@choice().source("ours").main())]
    pub plate: bool,
    /// How much the camera sees from top to bottom. Small: as through a long lens, nearly without perspective. Large: near land is
    /// large, far land small.
    #[reflect(@knob(10.0..=100.0).unit("°").source("ours"))]
    pub field_of_view: f32,
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
            color_by: ColorBy::Steepness,
            flat_color: [0.27, 0.64, 0.27],
            steep_color: [0.7, 0.7, 0.7],
            sand_color: [0.80, 0.68, 0.46],
            ramp_along: RampBy::Height,
            ramp_across: RampBy::Nothing,
            ramp_color_1: [0.20, 0.46, 0.32],
            ramp_color_2: [0.55, 0.67, 0.38],
            ramp_color_3: [0.86, 0.79, 0.52],
            ramp_color_4: [0.66, 0.49, 0.35],
            ramp_color_5: [0.95, 0.94, 0.92],
            ramp_side_1: [0.38, 0.40, 0.31],
            ramp_side_2: [0.47, 0.46, 0.37],
            ramp_side_3: [0.52, 0.47, 0.38],
            ramp_side_4: [0.47, 0.42, 0.37],
            ramp_side_5: [0.60, 0.58, 0.56],
            bedrock_color: [0.50, 0.47, 0.44],
            table_color: [0.66, 0.67, 0.68],
            sand_cover: 0.6,
            grain: 0.5,
            detail: 0.6,
            traces: 0.6,
            lushness: 0.5,
            woods: 0.0,
            glitter: 0.4,
            snow_line: NO_SNOW as f32,
            contours: 0.0,
            grid: 0.0,
            ripples: 0.5,
            steep_threshold: 0.8,
            threshold_softness: 0.06,
            sun_by: SunBy::Direction,
            sun_azimuth: 240.0,
            sun_elevation: 30.0,
            hour: 16.0,
            day: 200.0,
            latitude: 46.0,
            sun_strength: 1.4,
            ambient: 0.5,
            specular: 0.08,
            shininess: 16.0,
            shadows: true,
            soft_shadows: true,
            cloud_shadows: 0.0,
            occlusion: 0.8,
            fog: 0.06,
            turbidity: 0.25,
            exposure: 0.0,
            tone_curve: ToneCurve::Aces,
            background: Background::Studio,
            plate: false,
            field_of_view: 41.0,
            base: 0.06,
            vertical_exaggeration: 1.0,
        }
    }
}

impl Look {
    /// The colours of the ramp, from the least to the most, and then those of its other side.
    pub fn ramp(&self) -> [[f32; 3]; 10] {
        let Self { ramp_color_1: a, ramp_color_2: b, ramp_color_3: c, ramp_color_4: d, ramp_color_5: e, .. } = *self;
        let Self { ramp_side_1: f, ramp_side_2: g, ramp_side_3: h, ramp_side_4: i, ramp_side_5: j, .. } = *self;
        [a, b, c, d, e, f, g, h, i, j]
    }

    /// Towards the sun: along columns, along rows, and up. Its length is 1.
    pub fn towards_sun(&self) -> [f32; 3] {
        let (azimuth, elevation) = match self.sun_by {
            SunBy::Direction => (self.sun_azimuth.to_radians(), self.sun_elevation.to_radians()),
            SunBy::Time => sun_at(self.hour, self.day, self.latitude),
        };
        [azimuth.sin() * elevation.cos(), -azimuth.cos() * elevation.cos(), elevation.sin()]
    }
}

/// Where the sun is at an hour of the true local time: its direction clockwise from north, and its height, but no lower than it is
/// drawn. In radians.
fn sun_at(hour: f32, day: f32, latitude: f32) -> (f32, f32) {
    // The mean sun on a circle: less than a degree off.
    let declination = 23.44_f32.to_radians() * (std::f32::consts::TAU * (day - 81.0) / 365.0).sin();
    let (turned, latitude) = ((15.0 * (hour - 12.0)).to_radians(), latitude.to_radians());
    let up = latitude.sin() * declination.sin() + latitude.cos() * declination.cos() * turned.cos();
    let south = turned.cos() * latitude.sin() - declination.tan() * latitude.cos();
    let azimuth = turned.sin().atan2(south) + std::f32::consts::PI;
    (azimuth, up.clamp(-1.0, 1.0).asin().max((LOWEST_SUN as f32).to_radians()))
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

impl WaterLook {
    /// Water that is less deep, in metres, is not drawn at all.
    pub fn least_depth(&self) -> f32 {
        0.5 * self.film
    }
}

impl Default for WaterLook {
    fn default() -> Self {
        Self {
            shown: true,
            color: [0.08, 0.20, 0.24],
            silt_color: [0.60, 0.40, 0.26],
            clarity: 2.5,
            mirror: 1.0,
            glint: 1.0,
            ripples: 0.08,
            film: 0.3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_sim::params::assert_declared;

    #[test]
    fn every_parameter_of_the_look_is_declared_fully_and_survives_a_round_trip() {
        let (mut look, mut water) = (Look::default(), WaterLook::default());
        assert_declared("look", &mut look);
        assert_declared("water-look", &mut water);
        assert_eq!((look, water), (Look::default(), WaterLook::default()));
    }

    #[test]
    fn the_sun_stands_where_it_does_at_a_time_of_day_and_year() {
        let near = |(azimuth, height): (f32, f32), wanted: [f32; 2]| {
            let apart = (azimuth.to_degrees() - wanted[0] + 180.0).rem_euclid(360.0) - 180.0;
            assert!(
                apart.abs() < 1.5 && (height.to_degrees() - wanted[1]).abs() < 1.0,
                "{azimuth} {height}, {wanted:?}"
            );
        };
        // At the equinox it rises in the east, and at noon it is as far from the zenith as the place from the equator.
        near(sun_at(12.0, 81.0, 46.0), [180.0, 44.0]);
        near(sun_at(12.0, 81.0, -35.0), [0.0, 55.0]);
        near(sun_at(6.5, 81.0, 0.0), [90.0, 7.5]);
        near(sun_at(17.5, 81.0, 0.0), [270.0, 7.5]);
        // At the solstice on the tropic it passes through the zenith; in the polar night it is where it is drawn lowest.
        assert!(sun_at(12.0, 172.0, 23.44).1.to_degrees() > 89.0);
        near(sun_at(12.0, 355.0, 80.0), [180.0, LOWEST_SUN as f32]);
        // Given by its direction, the time does not matter.
        let low = Look { sun_azimuth: 90.0, sun_elevation: 30.0, hour: 3.0, ..Look::default() };
        let [x, y, up] = low.towards_sun();
        assert!((x - 0.866).abs() < 1e-3 && y.abs() < 1e-6 && (up - 0.5).abs() < 1e-6);
    }
}
