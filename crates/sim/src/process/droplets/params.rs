//! The parameters of the droplets.

use bevy_reflect::Reflect;

use super::banks::Stands;
use crate::{
    params::{choice, knob},
    process::{Mode, masked::factors},
};

const D1: &str = "SimpleErosion (McDonald 2020)";
const H1: &str = "McDonald 2020 (procedural hydrology) and 2023 (meandering rivers)";
const D3: &str = "ours; the law is Chiba 1998 as in UIUC CS 418";

/// How a droplet moves and what it can carry.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DropletLaw {
    /// Droplets find each other: capacity follows the water that passes, and its momentum draws them along.
    #[default]
    Streams,
    /// Capacity follows speed and fall; one rate for both directions.
    MassTransfer,
    /// Capacity follows speed and water; own rates for lifting and settling.
    Capacity,
}

/// Parameters of the droplets.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Corrected, with known faults removed and mass conserved, or as the article prints it, faults included.
    #[reflect(@choice().source(D1))]
    pub mode: Mode,
    /// Which of the models moves the droplets.
    #[reflect(@choice().source("McDonald 2020 and 2023; Chiba 1998"))]
    pub law: DropletLaw,
    /// Droplets that rain down and run to their end in one tick. More is faster erosion per tick and longer ticks.
    #[reflect(@knob(1.0..=1_000_000.0).title("Droplets per tick").unit("droplets").source(D1).log().main().grows())]
    pub per_tick: u32,
    /// Droplets after which the landscape counts as finished: the end of the progress bar, where the
    /// window pauses once.
    #[reflect(@knob(1000.0..=1_000_000_000.0).unit("droplets").source(D1).log().grows().indirect())]
    pub total: u32,
    /// Whether droplets rise at springs too. The springs' share of a tick's droplets is their share of all the water.
    #[reflect(@choice().source("ours").only("mode=default").indirect())]
    pub springs: bool,
    /// Sediment that springs bring, as a share of what the streams that leave them can carry down the land as it was at the start. With
    /// little a stream cuts down and winds; with much it raises its bed, divides, and builds fans and deltas.
    #[reflect(@knob(0.0..=4.0).source("ours; graded rivers as in Mackin 1948").only("mode=default law=streams springs=true"))]
    pub sediment_supply: f32,
    /// How hard it rains on the map. High makes greater streams, which carry more; at 0 droplets rise at springs alone.
    #[reflect(@knob(0.0..=100.0).unit("mm/h").source("ours").only("mode=default"))]
    pub rain_rate: f32,
    /// Water of a droplet, as a depth over a cell. While water flows, what is left of it where the droplet ends joins that water. Much
    /// raises lakes; at 0 droplets bring none.
    #[reflect(@knob(0.0..=1.0).unit("m").source("ours").only("mode=default").indirect())]
    pub water: f32,
    /// Droplets of a tick whose way is drawn. Many hide the ground; 0 shows none. The terrain does not depend on it.
    #[reflect(@knob(0.0..=500.0).unit("droplets").source("ours").indirect())]
    pub tracks: u32,
    /// Time step. Long steps make fast, noisy erosion; short ones take longer for the same work.
    #[reflect(@knob(0.01..=5.0).symbol("dt").source(D1).log().only("law=mass-transfer"))]
    pub dt: f32,
    /// Inertia of the water. Heavy droplets speed up slowly and overshoot bends; light ones follow every furrow.
    #[reflect(@knob(0.1..=5.0).symbol("ρ").source(D1).log().only("law=mass-transfer"))]
    pub density: f32,
    /// Share of the speed lost per unit of time. High keeps droplets slow and erosion weak; low lets them race.
    #[reflect(@knob(0.001..=0.5).symbol("μ").source(D1).log().main().only("law=mass-transfer"))]
    pub friction: f32,
    /// How fast the load follows the capacity. High cuts deep and drops quickly; low spreads the work along the way.
    #[reflect(@knob(0.01..=1.0).symbol("Kd").source(D1).log().main().only("law=mass-transfer"))]
    pub deposition_rate: f32,
    /// Share of the water lost per unit of time, or of the way. High ends droplets on the slopes; low lets them reach the plain.
    #[reflect(@knob(0.001..=0.5).symbol("Ke").source(D1).log().main().only("law=streams|mass-transfer"))]
    pub evaporation_rate: f32,
    /// Share of its water at which a droplet ends. Higher ends it sooner.
    #[reflect(@knob(0.0001..=0.1).source(D1).log().only("law=streams|mass-transfer").indirect())]
    pub min_volume: f32,
    /// What a droplet carries at a slope of one where a hectare's rain passes, as a thickness over a cell. High cuts deep valleys.
    #[reflect(@knob(0.1..=100.0).unit("m").source("ours, after Whipple & Tucker 1999").log().main().only("mode=default law=streams"))]
    pub entrainment: f32,
    /// How fast the load follows the capacity, per unit of length. High erodes slopes and valleys alike; low lets streams cut
    /// narrow beds.
    #[reflect(@knob(0.001..=1.0).source("ours").log().main().only("mode=default law=streams"))]
    pub exchange: f32,
    /// How much more than elsewhere a droplet carries in a great stream.
    #[reflect(@knob(0.0..=100.0).source(H1).only("mode=published law=streams"))]
    pub entrainment_factor: f32,
    /// How far the load goes towards the capacity in a step.
    #[reflect(@knob(0.001..=1.0).symbol("Kd").source(H1).log().only("mode=published law=streams"))]
    pub equilibration: f32,
    /// How the capacity grows with the land whose rain passes: with this power of it. Streams make rivers of this concavity.
    #[reflect(@knob(0.1..=0.8).symbol("θ").source("Whipple & Tucker 1999").only("mode=default law=streams"))]
    pub concavity: f32,
    /// How much a slope turns a droplet, per unit of length. High makes it run straight down.
    #[reflect(@knob(0.1..=10.0).source(H1).log().only("law=streams"))]
    pub gravity: f32,
    /// How much the water that passed before draws a droplet along, per unit of length. High makes streams meander.
    #[reflect(@knob(0.0..=5.0).source(H1).main().only("law=streams"))]
    pub transfer: f32,
    /// Land whose rain must come together before it draws droplets along half as much as a great river does.
    #[reflect(@knob(100.0..=10_000_000.0).unit("m²").source("ours; channel heads as in Montgomery & Dietrich 1988").log().only("mode=default law=streams"))]
    pub headwater: f32,
    /// How far the maps of the streams follow the droplets of a tick, as a share. The value is for one droplet per 65 cells: more
    /// droplets make it more, fewer make it less, except in the published mode. High makes streams shift quickly.
    #[reflect(@knob(0.001..=1.0).symbol("λ").source(H1).log().only("law=streams"))]
    pub renewal: f32,
    /// Steps after which a droplet ends.
    #[reflect(@knob(10.0..=10_000.0).unit("steps").source(H1).log().only("mode=published law=streams"))]
    pub max_age: u32,
    /// Length on the ground that counts as a cell of the published map: what is stated per step, or per unit of time or length, is
    /// stated for it.
    #[reflect(@knob(0.1..=1000.0).unit("m").symbol("L").source("ours").log().only("mode=default"))]
    pub length: f32,
    /// The steepest that rock of a softness of one half stands beside where droplets dig; harder rock stands steeper. What is steeper
    /// slides down.
    #[reflect(@knob(33.0..=80.0).unit("°").source("Schmidt & Montgomery 1995").only("mode=default"))]
    pub bank_angle: f32,
    /// Gain of speed per step on a slope. High makes fast, straight-running droplets.
    #[reflect(@knob(0.1..=5.0).unit("cells/step").symbol("Ka").source(D3).log().only("law=capacity"))]
    pub acceleration: f32,
    /// Share of the speed lost per step. High keeps droplets slow.
    #[reflect(@knob(0.0..=0.5).symbol("Kf").source(D3).only("law=capacity"))]
    pub drag: f32,
    /// Sediment that a full droplet carries at a speed of one cell per step, in hundredths of the cell
    /// size. High digs deep and lays thick deposits.
    #[reflect(@knob(0.1..=10.0).unit("% of a cell").symbol("Kc").source(D3).log().main().only("law=capacity"))]
    pub capacity: f32,
    /// Share of the excess that settles per step. High drops the load at once.
    #[reflect(@knob(0.0..=1.0).symbol("Kd").source(D3).only("law=capacity"))]
    pub settling: f32,
    /// Share of the missing load that is lifted per step. High digs at once.
    #[reflect(@knob(0.0..=1.0).symbol("Ks").source(D3).only("law=capacity"))]
    pub suspension: f32,
    /// Water of a fresh droplet. More lives longer and carries more.
    #[reflect(@knob(0.1..=5.0).symbol("w").source(D3).log().only("law=capacity"))]
    pub start_water: f32,
    /// Water lost per step. High ends droplets early.
    #[reflect(@knob(0.0005..=0.1).unit("1/step").source(D3).log().only("law=capacity"))]
    pub evaporation: f32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            mode: Mode::Corrected,
            law: DropletLaw::Streams,
            per_tick: 1000,
            total: 200_000,
            springs: false,
            sediment_supply: 0.5,
            rain_rate: 10.0,
            water: 0.05,
            tracks: 60,
            dt: 1.2,
            density: 1.0,
            friction: 0.05,
            deposition_rate: 0.1,
            evaporation_rate: 0.001,
            min_volume: 0.01,
            entrainment: 8.0,
            exchange: 0.2,
            entrainment_factor: 10.0,
            equilibration: 0.1,
            concavity: 0.35,
            gravity: 1.0,
            transfer: 1.0,
            headwater: 10_000.0,
            renewal: 0.02,
            max_age: 512,
            length: 10.0,
            bank_angle: 40.0,
            acceleration: 1.0,
            drag: 0.05,
            capacity: 1.0,
            settling: 0.1,
            suspension: 0.1,
            start_water: 1.0,
            evaporation: 0.005,
        }
    }
}

factors!(per_tick, friction, deposition_rate, evaporation_rate, entrainment, exchange, capacity);

impl Params {
    /// Whether droplets run as in a published program: the law "streams" is ours in both modes.
    pub(super) fn runs_as_published(&self) -> bool {
        self.mode == Mode::Published && self.law != DropletLaw::Streams
    }

    /// The steepest that ground stands beside where droplets dig.
    pub(super) fn stands(&self) -> Stands {
        match self.mode {
            Mode::Corrected => Stands::at(REPOSE_ANGLE, self.bank_angle),
            Mode::Published => Stands::at(PUBLISHED_ANGLE, PUBLISHED_ANGLE),
        }
    }
}

/// Angle at which dry sand comes to rest, in degrees.
const REPOSE_ANGLE: f32 = 33.0;
/// Angle of the published streams' banks, in degrees: a slope of 0.8.
const PUBLISHED_ANGLE: f32 = 38.66;
