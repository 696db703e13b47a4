//! What there is to tune on the wind.

use bevy_reflect::Reflect;

use crate::{
    params::{Reading, choice, knob},
    process::Mode,
};

const W1: &str = "McDonald 2020, simple wind erosion";
const W2: &str = "McDonald 2023, successor of simple wind erosion";
const OURS: &str = "ours";

/// Published law by which grains move and carry sand.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindLaw {
    /// Grains beat sand loose where they hit the ground, and drop it while they fly.
    _2020,
    /// Grains carry what the air can hold close to the ground.
    #[default]
    BoundaryLayer,
}

/// Parameters of the wind.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Corrected, with known faults removed and mass conserved, or as the paper prints it, faults included.
    #[reflect(@choice().source(W1))]
    pub mode: Mode,
    /// Which of the two published models moves the sand.
    #[reflect(@choice().source("McDonald 2020 and 2023").only("mode=published"))]
    pub law: WindLaw,
    /// Where the wind blows to: 0° to the right of the map, 90° to its lower edge.
    #[reflect(@knob(0.0..=360.0).unit("°").source(W1).main().reads(Reading::Wind))]
    pub direction: f32,
    /// How strongly the wind blows. Strong wind carries more and moves dunes faster; at 0 nothing moves.
    #[reflect(@knob(0.0..=6.0).unit("cells/time").symbol("v").source(W1).main())]
    pub strength: f32,
    /// How much its strength changes from tick to tick, as a share. Gusts make dunes less regular.
    #[reflect(@knob(0.0..=1.0).source(OURS).only("mode=default"))]
    pub gusts: f32,
    /// How far its direction swings from tick to tick. Wide swings round off crests and widen heaps.
    #[reflect(@knob(0.0..=180.0).unit("°").source(OURS).only("mode=default"))]
    pub swing: f32,
    /// Where a second wind blows to.
    #[reflect(@knob(0.0..=360.0).unit("°").source(OURS).only("mode=default").reads(Reading::Wind).indirect())]
    pub second_direction: f32,
    /// Share of the time in which the second wind blows. Each blows for a spell of ticks. Two winds from far apart make long ridges along
    /// their mean.
    #[reflect(@knob(0.0..=1.0).source(OURS).main().only("mode=default"))]
    pub second_share: f32,
    /// How far the wind turns in a thousand ticks. Winds that come from several sides in turn heap sand into stars.
    #[reflect(@knob(-3600.0..=3600.0).unit("°").source(OURS).only("mode=default"))]
    pub turning: f32,
    /// Number of directions that a turning wind comes from, one after the other. With three or more, a heap gets an arm for each.
    /// At 0 the wind turns evenly, which wears heaps down.
    #[reflect(@knob(0.0..=12.0).unit("sides").source("Zhang et al. 2012; ours").only("mode=default").indirect())]
    pub sides: u32,
    /// Grains that are driven over the map in one tick. More is faster change per tick and longer ticks.
    #[reflect(@knob(1.0..=1_000_000.0).title("Grains per tick").unit("grains").source(W2).log().main().grows().only("mode=published"))]
    pub per_tick: u32,
    /// Whether the sand that leaves over an open border comes in on the other side. Off, the map is blown bare.
    #[reflect(@choice().source(OURS).only("mode=default").indirect())]
    pub refeed: bool,
    /// Number of streaks drawn to show where the sand flies.
    #[reflect(@knob(0.0..=500.0).unit("streaks").source(OURS).indirect())]
    pub tracks: u32,
    /// How fast the map of the wind's paths follows the last tick. Low keeps old paths for longer.
    #[reflect(@knob(0.001..=1.0).unit("1/tick").source(W1).log().indirect())]
    pub path_rate: f32,
    /// How fast carried sand wears bare rock. High makes sand from rock and rounds off what stands in the wind.
    #[reflect(@knob(0.0..=1.0).symbol("ka").source(W1).main().only("mode=default or law=2020"))]
    pub abrasion: f32,
    /// Time step. Large makes grains jump over cells.
    #[reflect(@knob(0.01..=1.0).symbol("Δt").source(W1).log().only("mode=published law=2020"))]
    pub dt: f32,
    /// How much sand a grain knocks loose when it hits the ground, and how fast flying sand falls. High moves more sand; low leaves
    /// the slopes to slumping.
    #[reflect(@knob(0.0..=0.05).symbol("ks").source(W1).only("mode=published law=2020"))]
    pub suspension: f32,
    /// Fall of a flying grain. High keeps grains on the ground; low lets them leap over valleys.
    #[reflect(@knob(0.001..=1.0).symbol("g").source(W1).log().only("mode=published law=2020"))]
    pub gravity: f32,
    /// Difference of height at which sand lies still, as a multiple of 80 cells. High gives rough, steep dunes.
    #[reflect(@knob(0.0..=0.05).source(W1).only("mode=published law=2020"))]
    pub roughness: f32,
    /// Share of the excess that slides. High flattens dunes.
    #[reflect(@knob(0.0..=1.0).source(W1).only("mode=published law=2020"))]
    pub settling: f32,
    /// Distance over which the wind takes up its load. Short makes small dunes close together, long makes few large ones. Heaps
    /// lower than about three times that vanish.
    #[reflect(@knob(0.5..=100.0).unit("m").symbol("L").source("Sauermann et al. 2001").log().main().only("mode=default"))]
    pub saturation_length: f32,
    /// Sand that a wind of 2 carries over each metre of a plain in a tick. More is a longer time in each tick: dunes move
    /// faster, and small cells need more steps. On cells larger than 2.5 saturation lengths dunes are larger than in nature, and
    /// a tick carries more, with the square of the cell size.
    #[reflect(@knob(0.01..=5.0).unit("m²/tick").symbol("Q").source("ours").log().main().only("mode=default"))]
    pub capacity: f32,
    /// How much the wind speeds up over what rises into it. High makes low dunes that grow and move fast.
    #[reflect(@knob(0.0..=15.0).symbol("A").source("Jackson & Hunt 1975; Kroy et al. 2002").main().only("mode=default"))]
    pub speed_up: f32,
    /// How far upwind of a crest the wind is strongest. That is what makes heaps grow: at 0 they spread.
    #[reflect(@knob(0.0..=2.0).symbol("B").source("Jackson & Hunt 1975; Kroy et al. 2002").only("mode=default"))]
    pub lead: f32,
    /// Shear (drag of the wind on the ground) below which no sand moves, as a share of the shear of a wind of strength 2 over a
    /// plain. High keeps sand on plains, so that the wind moves it on crests alone.
    #[reflect(@knob(0.0..=0.95).symbol("τt").source("Bagnold 1941").only("mode=default"))]
    pub threshold: f32,
    /// Simulated time in which wet sand dries to a third. Until then, water that stood on it or rain binds its grains, and only a
    /// stronger wind moves them. With Wind alone, a tick stands for hours.
    #[reflect(@knob(1.0..=100_000.0).unit("s").source("Fécan et al. 1999; ours").log().only("mode=default").indirect())]
    pub drying: f32,
    /// How uneven the wind is from place to place. That is where the first dunes of flat sand come from. As published, eddies
    /// turn grains from their way.
    #[reflect(@knob(0.0..=1.0).source(W2).only("mode=default or law=boundary-layer"))]
    pub turbulence: f32,
    /// Steps after which a grain stops. Its load is lost.
    #[reflect(@knob(16.0..=4096.0).unit("steps").source(W2).log().only("mode=published law=boundary-layer"))]
    pub max_age: u32,
    /// Angle at which sand lies. Small makes flat dunes, large steep lees.
    #[reflect(@knob(5.0..=60.0).unit("°").symbol("φ").source("dry sand; ours").main().only("mode=default"))]
    pub repose_angle: f32,
    /// Share of the difference to what it can carry that a grain makes up in a step.
    #[reflect(@knob(0.0..=1.0).symbol("ks").source(W2).only("mode=published law=boundary-layer"))]
    pub uptake: f32,
    /// Fall of a flying grain in a step, per load.
    #[reflect(@knob(0.0..=1.0).source(W2).only("mode=published law=boundary-layer"))]
    pub weight: f32,
    /// Difference of height at which sand lies still, as a multiple of 80 cells.
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
