//! Lighting and colour parameters, shared by the window, `thalweg shot` and the hillshade.

use bevy_reflect::Reflect;

use thalweg_sim::params::{choice, knob};

/// Source of the published colours and light intensity.
const D1: &str = "SimpleErosion (McDonald 2020)";

/// Snow line at or above which there is no snow, in metres.
pub const NO_SNOW: f64 = 9000.0;

/// Tone-mapping curve.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ToneCurve {
    /// ACES: filmic, with deep shadows and saturated colours.
    #[default]
    Aces,
    /// AgX: filmic and soft; bright colours desaturate.
    Agx,
    /// Blender's Filmic: filmic and muted.
    Filmic,
    /// Khronos-style neutral: colours are unchanged until they are nearly white.
    Neutral,
    /// No tone mapping: highlights are clipped.
    None,
}

/// Backdrop of the terrain.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backdrop {
    /// Plain ground plane in even studio light.
    #[default]
    Studio,
    /// Plain under a cloudy sky that fades into haze.
    Sky,
}

/// Source of the ground colours.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorSource {
    /// Slope: one colour for flat ground, one for steep ground, one for sand.
    #[default]
    Steepness,
    /// Colour ramp along one quantity or two.
    Ramp,
}

/// Quantity that is mapped to a colour ramp.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RampQuantity {
    /// Constant: the whole map has the first colour.
    Nothing,
    /// Elevation, from the lowest point at the start to the highest point so far.
    #[default]
    Height,
    /// Slope angle, from level to 60°.
    Slope,
    /// Aspect relative to the sun, from shaded to sunlit slopes.
    Sun,
    /// Drainage area on a logarithmic scale. Only available where rivers are drawn.
    Flow,
    /// Curvature, from crests to gullies.
    Bend,
    /// Elevation change since the start, from erosion to deposition.
    Change,
    /// Soil moisture, from dry ground to open water.
    Wetness,
    /// Sand thickness, from none to `sand_cover`.
    Sand,
}

/// Control of the sun position.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SunControl {
    /// Azimuth and elevation.
    #[default]
    Direction,
    /// Time of day, day of year and latitude.
    Time,
}

/// Minimum elevation at which the sun is drawn, in degrees.
const LOWEST_SUN: f64 = 3.0;

/// Lighting and colour parameters.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Look {
    /// Source of the ground colours: slope, or a ramp along one or two quantities.
    #[reflect(@choice().source("this work").main())]
    pub color_by: ColorSource,
    /// Colour of flat ground, and of the plain around the terrain with a sky.
    #[reflect(@knob(0.0..=1.0).source(D1).main())]
    pub flat_color: [f32; 3],
    /// Colour of steep ground.
    #[reflect(@knob(0.0..=1.0).source(D1).only("color_by=steepness").main())]
    pub steep_color: [f32; 3],
    /// Colour of loose sand, blended in where it is thick enough to hide the ground. With a ramp, only the side walls of the block
    /// show it.
    #[reflect(@knob(0.0..=1.0).source("this work").main())]
    pub sand_color: [f32; 3],
    /// Quantity along the ramp, from the first to the fifth colour.
    #[reflect(@choice().title("Ramp quantity").source("this work").only("color_by=ramp").main())]
    pub ramp_along: RampQuantity,
    /// Second quantity, which blends from the first five colours of the ramp to the second five. With None, only the first
    /// five are used.
    #[reflect(@choice().title("Second ramp quantity").source("this work").only("color_by=ramp").main())]
    pub ramp_across: RampQuantity,
    /// Colour at the minimum of the first quantity and the minimum of the second.
    #[reflect(@knob(0.0..=1.0).source("this work").only("color_by=ramp").main())]
    pub ramp_color_1: [f32; 3],
    /// Colour at a quarter of the range of the first quantity and the minimum of the second.
    #[reflect(@knob(0.0..=1.0).source("this work").only("color_by=ramp").main())]
    pub ramp_color_2: [f32; 3],
    /// Colour at half of the range of the first quantity and the minimum of the second.
    #[reflect(@knob(0.0..=1.0).source("this work").only("color_by=ramp").main())]
    pub ramp_color_3: [f32; 3],
    /// Colour at three quarters of the range of the first quantity and the minimum of the second.
    #[reflect(@knob(0.0..=1.0).source("this work").only("color_by=ramp").main())]
    pub ramp_color_4: [f32; 3],
    /// Colour at the maximum of the first quantity and the minimum of the second.
    #[reflect(@knob(0.0..=1.0).source("this work").only("color_by=ramp").main())]
    pub ramp_color_5: [f32; 3],
    /// Colour at the minimum of the first quantity and the maximum of the second.
    #[reflect(@knob(0.0..=1.0).source("this work").only("color_by=ramp"))]
    pub ramp_side_1: [f32; 3],
    /// Colour at a quarter of the range of the first quantity and the maximum of the second.
    #[reflect(@knob(0.0..=1.0).source("this work").only("color_by=ramp"))]
    pub ramp_side_2: [f32; 3],
    /// Colour at half of the range of the first quantity and the maximum of the second.
    #[reflect(@knob(0.0..=1.0).source("this work").only("color_by=ramp"))]
    pub ramp_side_3: [f32; 3],
    /// Colour at three quarters of the range of the first quantity and the maximum of the second.
    #[reflect(@knob(0.0..=1.0).source("this work").only("color_by=ramp"))]
    pub ramp_side_4: [f32; 3],
    /// Colour at the maximum of the first quantity and the maximum of the second.
    #[reflect(@knob(0.0..=1.0).source("this work").only("color_by=ramp"))]
    pub ramp_side_5: [f32; 3],
    /// Colour of bedrock on the side walls of the block.
    #[reflect(@knob(0.0..=1.0).source("this work"))]
    pub bedrock_color: [f32; 3],
    /// Colour of the ground plane under the block.
    #[reflect(@knob(0.0..=1.0).title("Ground plane colour").source("this work"))]
    pub table_color: [f32; 3],
    /// Sand thickness that hides the ground beneath, in cells; at most 4 m. Low values colour even a dusting as sand, high values
    /// only dunes and thick fans.
    #[reflect(@knob(0.01..=5.0).title("Opaque sand thickness").unit("cells").source("this work").log())]
    pub sand_cover: f32,
    /// Strength of the natural colour variation of grass and rock. 0 gives flat colours.
    #[reflect(@knob(0.0..=1.0).title("Colour variation").source("this work"))]
    pub grain: f32,
    /// Strength of sub-cell detail: rock ledges, rubble, tufts of grass. 0 is smooth. With a software renderer, detail appears once
    /// the view is still.
    #[reflect(@knob(0.0..=1.0).source("this work"))]
    pub detail: f32,
    /// Visibility of erosion and deposition: fresh rock and bare soil where the ground is lower than at the start, pale
    /// deposits where it is higher. Sculpting counts too. 0 hides them.
    #[reflect(@knob(0.0..=1.0).title("Erosion traces").source("this work").only("color_by=steepness"))]
    pub traces: f32,
    /// Amount of vegetation along streams and of bare ground in steep gullies. Only visible where rivers are drawn.
    #[reflect(@knob(0.0..=1.0).source("this work").only("color_by=steepness"))]
    pub vegetation: f32,
    /// Tree cover of vegetated ground. Forest grows on concave slopes and along streams rather than on crests, and never in
    /// water or on rock, snow, sand and eroded ground. 0 is open land.
    #[reflect(@knob(0.0..=1.0).title("Forest").source("this work").only("color_by=steepness").main())]
    pub woods: f32,
    /// Strength of sand glitter towards a low sun. Requires Detail above 0.
    #[reflect(@knob(0.0..=1.0).title("Sand glitter").source("this work"))]
    pub glitter: f32,
    /// Elevation above which snow lies. It extends lower on shaded slopes and slides off steep ones. The maximum disables snow.
    #[reflect(@knob(0.0..=NO_SNOW).unit("m").source("this work").main())]
    pub snow_line: f32,
    /// Contour interval; every fifth line is an index contour, drawn thicker. 0 disables contours.
    #[reflect(@knob(0.0..=500.0).title("Contour interval").unit("m").source("this work"))]
    pub contours: f32,
    /// Spacing of the grid lines drawn on the terrain. 0 disables the grid.
    #[reflect(@knob(0.0..=5000.0).title("Grid spacing").unit("m").source("this work"))]
    pub grid: f32,
    /// Strength of wind ripples on sand, across the wind, while wind is blowing. 0 is smooth.
    #[reflect(@knob(0.0..=1.0).title("Sand ripples").source("this work"))]
    pub ripples: f32,
    /// Vertical component of the surface normal below which ground counts as steep: 1 is level, 0 a vertical wall. High values
    /// colour more of the map as rock, low values only cliffs.
    #[reflect(@knob(0.0..=1.0).symbol("n_y").source(D1).main())]
    pub steep_threshold: f32,
    /// Half-width of the transition between the flat and steep colours, in the units of Steep threshold. 0 gives a hard edge,
    /// as published; high values blend the colours.
    #[reflect(@knob(0.0..=0.5).title("Transition width").source("this work"))]
    pub threshold_softness: f32,
    /// Position of the sun: set directly, or from time of day, day of year and latitude.
    #[reflect(@choice().title("Sun position").source("this work").main())]
    pub sun_by: SunControl,
    /// Azimuth of the sun, clockwise from the top of the map. Light from the side shows relief best, light from behind the
    /// camera flattens it.
    #[reflect(@knob(0.0..=360.0).unit("°").source("this work").only("sun_by=direction").main())]
    pub sun_azimuth: f32,
    /// Angle of the sun above the horizon. Low values cast long shadows, high values give flat, even light.
    #[reflect(@knob(LOWEST_SUN..=90.0).unit("°").source("this work").only("sun_by=direction").main())]
    pub sun_elevation: f32,
    /// Local solar time: 12 is noon. At night, the sun is drawn just above the horizon.
    #[reflect(@knob(0.0..=24.0).title("Time of day").unit("h").source("Spherical astronomy").only("sun_by=time").main())]
    pub hour: f32,
    /// Day of the year, from 1: 80 and 266 are the equinoxes, 172 is the northern summer solstice, 355 the winter solstice.
    #[reflect(@knob(1.0..=365.0).title("Day of year").source("Spherical astronomy").only("sun_by=time"))]
    pub day: f32,
    /// Latitude of the terrain: positive north of the equator, negative south of it.
    #[reflect(@knob(-90.0..=90.0).unit("°").source("Spherical astronomy").only("sun_by=time"))]
    pub latitude: f32,
    /// Intensity of sunlight. High values wash out the colours, low values leave only skylight.
    #[reflect(@knob(0.0..=4.0).source(D1).main())]
    pub sun_strength: f32,
    /// Ambient term of the Phong model: light from sky and ground on every face. High values flatten the relief, low values turn
    /// shadows black.
    #[reflect(@knob(0.0..=1.0).title("Ambient light").source("Phong 1975"))]
    pub ambient: f32,
    /// Specular term of the Phong model: strength of the highlight. 0 looks like dry rock, 1 looks wet.
    #[reflect(@knob(0.0..=1.0).source("Phong 1975"))]
    pub specular: f32,
    /// Specular exponent of the Phong model. High values give a smaller, sharper highlight.
    #[reflect(@knob(1.0..=128.0).source("Phong 1975").log())]
    pub shininess: f32,
    /// Draw the shadows that the terrain casts on itself.
    #[reflect(@choice().source(D1))]
    pub shadows: bool,
    /// Soften shadow edges with distance from the object that casts them. When off, all edges are sharp.
    #[reflect(@choice().source("this work"))]
    pub soft_shadows: bool,
    /// Darkness of cloud shadows on the terrain. 0 is a cloudless sky.
    #[reflect(@knob(0.0..=1.0).source("this work"))]
    pub cloud_shadows: f32,
    /// Ambient occlusion: darkening of valleys and creases, which see less of the sky. 0 disables it; high values make creases
    /// look dirty.
    #[reflect(@knob(0.0..=1.0).title("Ambient occlusion").source("this work"))]
    pub occlusion: f32,
    /// Density of the haze: the fraction of light lost over slightly more than the width of the map. 0 is clear air.
    #[reflect(@knob(0.0..=1.0).title("Haze").source(D1).main())]
    pub fog: f32,
    /// Turbidity of the sky. 0 is deep blue mountain air; high values are pale, and warm around a low sun.
    #[reflect(@knob(0.0..=1.0).source("this work"))]
    pub turbidity: f32,
    /// Exposure of the image, in stops: each stop doubles the brightness.
    #[reflect(@knob(-4.0..=4.0).unit("EV").source("this work"))]
    pub exposure: f32,
    /// Tone-mapping curve from scene light to display colours.
    #[reflect(@choice().source("Hable, Sobotka, Narkowicz; as in Bevy"))]
    pub tone_curve: ToneCurve,
    /// Backdrop: a studio with a ground plane, or an open plain under a sky.
    #[reflect(@choice().source("this work").main())]
    pub background: Backdrop,
    /// Show a plinth under the block with title, dimensions and scale. Not available with simulations side by side.
    #[reflect(@choice().source("this work").main())]
    pub plinth: bool,
    /// Vertical field of view of the camera. Low values look like a telephoto lens with almost no perspective, high values like a
    /// wide-angle lens.
    #[reflect(@knob(10.0..=100.0).unit("°").source("this work"))]
    pub field_of_view: f32,
    /// Height of the block below the lowest ground, as a fraction of the shorter side of the map.
    #[reflect(@knob(0.0..=0.5).title("Base depth").source("this work"))]
    pub base: f32,
    /// Factor by which heights are exaggerated on screen. 1 is true to scale. Does not affect the simulation.
    #[reflect(@knob(0.1..=10.0).unit("×").source("this work").log().main())]
    pub vertical_exaggeration: f32,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            color_by: ColorSource::Steepness,
            flat_color: [0.27, 0.64, 0.27],
            steep_color: [0.7, 0.7, 0.7],
            sand_color: [0.80, 0.68, 0.46],
            ramp_along: RampQuantity::Height,
            ramp_across: RampQuantity::Nothing,
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
            vegetation: 0.5,
            woods: 0.0,
            glitter: 0.4,
            snow_line: NO_SNOW as f32,
            contours: 0.0,
            grid: 0.0,
            ripples: 0.5,
            steep_threshold: 0.8,
            threshold_softness: 0.06,
            sun_by: SunControl::Direction,
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
            background: Backdrop::Studio,
            plinth: false,
            field_of_view: 41.0,
            base: 0.06,
            vertical_exaggeration: 1.0,
        }
    }
}

impl Look {
    /// Returns the five colours of the ramp, then the five of its other side.
    pub fn ramp(&self) -> [[f32; 3]; 10] {
        let Self { ramp_color_1: a, ramp_color_2: b, ramp_color_3: c, ramp_color_4: d, ramp_color_5: e, .. } = *self;
        let Self { ramp_side_1: f, ramp_side_2: g, ramp_side_3: h, ramp_side_4: i, ramp_side_5: j, .. } = *self;
        [a, b, c, d, e, f, g, h, i, j]
    }

    /// Returns the unit vector towards the sun: along columns, along rows, up.
    pub fn towards_sun(&self) -> [f32; 3] {
        let (azimuth, elevation) = match self.sun_by {
            SunControl::Direction => (self.sun_azimuth.to_radians(), self.sun_elevation.to_radians()),
            SunControl::Time => sun_position(self.hour, self.day, self.latitude),
        };
        [azimuth.sin() * elevation.cos(), -azimuth.cos() * elevation.cos(), elevation.sin()]
    }
}

/// Returns azimuth (clockwise from north) and elevation of the sun at a local solar time, in radians. The elevation is at least
/// [`LOWEST_SUN`].
fn sun_position(hour: f32, day: f32, latitude: f32) -> (f32, f32) {
    // Declination for a circular orbit: less than a degree off.
    let declination = 23.44_f32.to_radians() * (std::f32::consts::TAU * (day - 81.0) / 365.0).sin();
    let (turned, latitude) = ((15.0 * (hour - 12.0)).to_radians(), latitude.to_radians());
    let up = latitude.sin() * declination.sin() + latitude.cos() * declination.cos() * turned.cos();
    let south = turned.cos() * latitude.sin() - declination.tan() * latitude.cos();
    let azimuth = turned.sin().atan2(south) + std::f32::consts::PI;
    (azimuth, up.clamp(-1.0, 1.0).asin().max((LOWEST_SUN as f32).to_radians()))
}

/// Appearance of water.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct WaterLook {
    /// Draw the water surface. When off, only the bed is drawn.
    #[reflect(@choice().title("Show water").source("this work").main())]
    pub shown: bool,
    /// Colour of deep water.
    #[reflect(@knob(0.0..=1.0).source("this work").main())]
    pub color: [f32; 3],
    /// Colour of water saturated with sediment.
    #[reflect(@knob(0.0..=1.0).title("Sediment colour").source("Jákó & Tóth 2011, figure 7").main())]
    pub silt_color: [f32; 3],
    /// Depth to which the bed is visible. Low values make water opaque, high values show the bed of lakes.
    #[reflect(@knob(0.1..=50.0).unit("m").source("this work").log().main())]
    pub clarity: f32,
    /// Reflectance of the surface, as a multiple of that of real water. 0 reflects no sky, high values look like mercury.
    #[reflect(@knob(0.0..=3.0).title("Reflectance").source("Fresnel's law, after Schlick").main())]
    pub mirror: f32,
    /// Strength of sun glint on the waves. 0 disables it.
    #[reflect(@knob(0.0..=4.0).title("Sun glint").source("this work"))]
    pub glint: f32,
    /// Strength of small waves. 0 is mirror-smooth.
    #[reflect(@knob(0.0..=0.5).title("Waves").source("this work").main())]
    pub ripples: f32,
    /// Depth from which water is drawn at full strength. Low values show rain on every slope, high values only rivers and lakes.
    #[reflect(@knob(0.001..=2.0).title("Full-opacity depth").unit("m").source("this work").log().main())]
    pub film: f32,
}

impl WaterLook {
    /// Returns the depth below which water is not drawn at all, in metres.
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
    fn look_parameters_are_declared_and_round_trip() {
        let (mut look, mut water) = (Look::default(), WaterLook::default());
        assert_declared("look", &mut look);
        assert_declared("water-look", &mut water);
        assert_eq!((look, water), (Look::default(), WaterLook::default()));
    }

    #[test]
    fn sun_position_follows_time_of_day_and_year() {
        let near = |(azimuth, height): (f32, f32), wanted: [f32; 2]| {
            let apart = (azimuth.to_degrees() - wanted[0] + 180.0).rem_euclid(360.0) - 180.0;
            assert!(
                apart.abs() < 1.5 && (height.to_degrees() - wanted[1]).abs() < 1.0,
                "{azimuth} {height}, {wanted:?}"
            );
        };
        // At the equinox the sun rises in the east, and its zenith angle at noon equals the latitude.
        near(sun_position(12.0, 81.0, 46.0), [180.0, 44.0]);
        near(sun_position(12.0, 81.0, -35.0), [0.0, 55.0]);
        near(sun_position(6.5, 81.0, 0.0), [90.0, 7.5]);
        near(sun_position(17.5, 81.0, 0.0), [270.0, 7.5]);
        // At the solstice the noon sun is in the zenith on the tropic; in polar night it stays at the minimum elevation.
        assert!(sun_position(12.0, 172.0, 23.44).1.to_degrees() > 89.0);
        near(sun_position(12.0, 355.0, 80.0), [180.0, LOWEST_SUN as f32]);
        // The time is ignored if the sun is placed by direction.
        let low = Look { sun_azimuth: 90.0, sun_elevation: 30.0, hour: 3.0, ..Look::default() };
        let [x, y, up] = low.towards_sun();
        assert!((x - 0.866).abs() < 1e-3 && y.abs() < 1e-6 && (up - 0.5).abs() < 1e-6);
    }
}
