//! Parameters of the wind process.

use bevy_reflect::Reflect;

use crate::{
    params::{DisplayAlias, choice, knob},
    process::Mode,
};

const W1: &str = "McDonald 2020, simple wind erosion";
const W2: &str = "McDonald 2023, successor of simple wind erosion";
const THIS_WORK: &str = "this work";

/// Published law of sand transport by grains.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindLaw {
    /// Grains eject sand on impact and deposit it in flight.
    _2020,
    /// Grains carry up to the transport capacity of the air close to the ground.
    #[default]
    BoundaryLayer,
}

/// Parameters of the wind process.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Form of the equations: corrected, with known errors fixed and mass conserved, or as published, errors included.
    #[reflect(@choice().source(W1))]
    pub mode: Mode,
    /// Published law of sand transport.
    #[reflect(@choice().source("McDonald 2020 and 2023").only("mode=published"))]
    pub law: WindLaw,
    /// Direction towards which the wind blows: 0° is the right edge of the map, 90° the bottom edge.
    #[reflect(@knob(0.0..=360.0).unit("°").source(W1).main().reads(DisplayAlias::Wind))]
    pub direction: f32,
    /// Strength of the wind. Strong wind carries more sand and moves dunes faster; at 0 nothing moves.
    #[reflect(@knob(0.0..=6.0).unit("cells/time").symbol("v").source(W1).main())]
    pub strength: f32,
    /// Relative variation of the strength from tick to tick. Gusts make dunes less regular.
    #[reflect(@knob(0.0..=1.0).source(THIS_WORK).only("mode=default"))]
    pub gusts: f32,
    /// Variation of the direction from tick to tick. High values round off crests and widen mounds.
    #[reflect(@knob(0.0..=180.0).title("Direction variation").unit("°").source(THIS_WORK).only("mode=default"))]
    pub swing: f32,
    /// Direction towards which a second wind blows.
    #[reflect(@knob(0.0..=360.0).unit("°").source(THIS_WORK).only("mode=default").reads(DisplayAlias::Wind).indirect())]
    pub second_direction: f32,
    /// Fraction of the time in which the second wind blows. The winds alternate in spells of several ticks. Two winds at an
    /// obtuse angle form linear dunes along their resultant.
    #[reflect(@knob(0.0..=1.0).title("Second wind fraction").source(THIS_WORK).main().only("mode=default"))]
    pub second_share: f32,
    /// Rotation of the wind per thousand ticks. Winds that come from several sides in turn form star dunes.
    #[reflect(@knob(-3600.0..=3600.0).title("Rotation rate").unit("°").source(THIS_WORK).only("mode=default"))]
    pub turning: f32,
    /// Number of directions between which a turning wind switches. With three or more, a mound grows an arm for each. At 0 the wind turns
    /// continuously, which wears mounds down.
    #[reflect(@knob(0.0..=12.0).title("Directions").unit("sides").source("Zhang et al. 2012; this work").only("mode=default").indirect())]
    pub sides: u32,
    /// Number of grains per tick. High values change the terrain faster and make ticks slower.
    #[reflect(@knob(1.0..=1_000_000.0).title("Grains per tick").unit("grains").source(W2).log().main().grows().only("mode=published"))]
    pub per_tick: u32,
    /// Let sand that leaves across an open edge re-enter on the opposite side. When off, the map is blown bare.
    #[reflect(@choice().title("Sand re-entry").source(THIS_WORK).only("mode=default").indirect())]
    pub refeed: bool,
    /// Number of tracks drawn to show sand in the air.
    #[reflect(@knob(0.0..=500.0).title("Visible tracks").unit("tracks").source(THIS_WORK).indirect())]
    pub tracks: u32,
    /// Rate at which the map of wind paths is updated. Low values keep old paths for longer.
    #[reflect(@knob(0.001..=1.0).title("Wind path update rate").unit("1/tick").source(W1).log().indirect())]
    pub path_rate: f32,
    /// Abrasion rate of bare rock by sand in the air. High values turn rock into sand and round off obstacles.
    #[reflect(@knob(0.0..=1.0).symbol("ka").source(W1).main().only("mode=default or law=2020"))]
    pub abrasion: f32,
    /// Time step. Long steps make grains jump over cells.
    #[reflect(@knob(0.01..=1.0).title("Time step").symbol("Δt").source(W1).log().only("mode=published law=2020"))]
    pub dt: f32,
    /// Sand that a grain ejects when it hits the ground, and rate at which sand in flight settles. High values move more sand; low values
    /// leave the slopes to thermal erosion.
    #[reflect(@knob(0.0..=0.05).symbol("ks").source(W1).only("mode=published law=2020"))]
    pub suspension: f32,
    /// Downward acceleration of a grain in flight. High values keep grains on the ground; low values let them leap over valleys.
    #[reflect(@knob(0.001..=1.0).symbol("g").source(W1).log().only("mode=published law=2020"))]
    pub gravity: f32,
    /// Height difference up to which sand is stable, as a multiple of 80 cells. High values form rough, steep dunes.
    #[reflect(@knob(0.0..=0.05).title("Slope limit (2020)").source(W1).only("mode=published law=2020"))]
    pub roughness: f32,
    /// Fraction of the excess height difference that slides. High values flatten dunes.
    #[reflect(@knob(0.0..=1.0).title("Sliding fraction").source(W1).only("mode=published law=2020"))]
    pub settling: f32,
    /// Distance over which the sand flux saturates. Short lengths form small, closely spaced dunes, long ones few large dunes. Mounds
    /// lower than about three saturation lengths vanish.
    #[reflect(@knob(0.5..=100.0).unit("m").symbol("L").source("Sauermann et al. 2001").log().main().only("mode=default"))]
    pub saturation_length: f32,
    /// Sand that a wind of strength 2 carries over a plain per tick and metre of width. High values simulate more time per
    /// tick: dunes move faster, and small cells need more steps. On cells larger than 2.5 saturation lengths dunes are larger
    /// than in nature, and a tick carries more, with the square of the cell size.
    #[reflect(@knob(0.01..=5.0).title("Transport capacity").unit("m²/tick").symbol("Q").source("this work").log().main().only("mode=default"))]
    pub capacity: f32,
    /// Speed-up of the wind over rising ground. High values form low dunes that grow and move fast.
    #[reflect(@knob(0.0..=15.0).title("Speed-up").symbol("A").source("Jackson & Hunt 1975; Kroy et al. 2002").main().only("mode=default"))]
    pub speed_up: f32,
    /// Upwind shift of the maximum shear stress from the crest. It makes mounds grow; at 0 they spread.
    #[reflect(@knob(0.0..=2.0).title("Upwind shift").symbol("B").source("Jackson & Hunt 1975; Kroy et al. 2002").only("mode=default"))]
    pub lead: f32,
    /// Shear stress on the ground below which no sand moves, as a fraction of the stress of a wind of strength 2 over a plain.
    /// High values keep sand on plains in place, so that the wind only moves it on crests.
    #[reflect(@knob(0.0..=0.95).title("Shear threshold").symbol("τt").source("Bagnold 1941").only("mode=default"))]
    pub threshold: f32,
    /// Simulated time in which the moisture of sand falls to a third. Until it is dry, moisture from standing water or rain
    /// binds its grains, and only stronger wind moves them. With Wind alone, a tick represents hours.
    #[reflect(@knob(1.0..=100_000.0).title("Drying time").unit("s").source("Fécan et al. 1999; this work").log().only("mode=default").indirect())]
    pub drying: f32,
    /// Spatial variation of the wind, from which the first dunes on flat sand grow and which disperses sand over bare rock. As
    /// published, eddies deflect grains.
    #[reflect(@knob(0.0..=1.0).source(W2).only("mode=default or law=boundary-layer"))]
    pub turbulence: f32,
    /// Number of steps after which a grain stops. Its load is lost.
    #[reflect(@knob(16.0..=4096.0).title("Maximum steps").unit("steps").source(W2).log().only("mode=published law=boundary-layer"))]
    pub max_age: u32,
    /// Angle of repose of dry sand. Low values form flat dunes, high values steep lee slopes.
    #[reflect(@knob(5.0..=60.0).title("Angle of repose").unit("°").symbol("φ").source("dry sand; this work").main().only("mode=default"))]
    pub repose_angle: f32,
    /// Fraction of the gap between load and capacity that a grain closes in a step.
    #[reflect(@knob(0.0..=1.0).title("Relaxation fraction").symbol("ks").source(W2).only("mode=published law=boundary-layer"))]
    pub uptake: f32,
    /// Fall of a grain in flight per step and load.
    #[reflect(@knob(0.0..=1.0).title("Grain weight").source(W2).only("mode=published law=boundary-layer"))]
    pub weight: f32,
    /// Height difference up to which sand is stable, as a multiple of 80 cells.
    #[reflect(@knob(0.0..=0.05).source(W2).only("mode=published law=boundary-layer"))]
    pub slope_limit: f32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            mode: Mode::Corrected,
            law: WindLaw::BoundaryLayer,
            direction: 45.0,
            strength: 2.0,
            gusts: 0.0,
            swing: 0.0,
            second_direction: 135.0,
            second_share: 0.0,
            turning: 0.0,
            sides: 0,
            per_tick: 1024,
            refeed: true,
            tracks: 60,
            path_rate: 0.01,
            abrasion: 0.01,
            dt: 0.25,
            suspension: 0.002,
            gravity: 0.01,
            roughness: 0.005,
            settling: 0.05,
            saturation_length: 1.0,
            capacity: 1.0,
            speed_up: 3.0,
            lead: 0.4,
            threshold: 0.5,
            drying: 120.0,
            turbulence: 0.1,
            max_age: 512,
            repose_angle: 33.0,
            uptake: 0.05,
            weight: 0.1,
            slope_limit: 0.005,
        }
    }
}
