//! Parameters of the droplets.

use bevy_reflect::Reflect;

use super::banks::BankSlopes;
use crate::{
    params::{choice, knob},
    process::{Mode, masked::factors},
};

const D1: &str = "SimpleErosion (McDonald 2020)";
const H1: &str = "McDonald 2020 (procedural hydrology) and 2023 (meandering rivers)";
const D3: &str = "Chiba 1998 as in UIUC CS 418; values chosen for this program";

/// Law of motion and transport capacity of a droplet.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DropletLaw {
    /// Droplets that interact through discharge and momentum maps: capacity grows with drainage area, and momentum deflects
    /// droplets along existing flow.
    #[default]
    Streams,
    /// Capacity from speed and fall; one rate for erosion and deposition.
    MassTransfer,
    /// Capacity from speed and water; separate rates for suspension and settling.
    Capacity,
}

/// Parameters of the droplets.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Params {
    /// Form of the equations: corrected, with known errors fixed and mass conserved, or as published, errors included.
    #[reflect(@choice().source(D1))]
    pub mode: Mode,
    /// Law of motion and transport capacity.
    #[reflect(@choice().source("McDonald 2020 and 2023; Chiba 1998"))]
    pub law: DropletLaw,
    /// Number of droplets spawned per tick; each runs until it ends. High values erode more per tick, but ticks take longer.
    #[reflect(@knob(1.0..=1_000_000.0).title("Droplets per tick").unit("droplets").source(D1).log().main().grows())]
    pub per_tick: u32,
    /// Number of droplets after which the terrain counts as finished: the end of the progress bar, where the simulation pauses
    /// once.
    #[reflect(@knob(1000.0..=1_000_000_000.0).title("Total droplets").unit("droplets").source(D1).log().grows().indirect())]
    pub total: u32,
    /// Spawn droplets at springs too. Springs receive droplets in proportion to their share of the water supply.
    #[reflect(@choice().source("this work").only("mode=default").indirect())]
    pub springs: bool,
    /// Sediment supply of springs, as a fraction of the transport capacity of the streams below them on the initial terrain.
    /// With low values a stream incises and meanders; with high values it aggrades, braids, and builds fans and deltas.
    #[reflect(@knob(0.0..=4.0).source("this work; graded rivers as in Mackin 1948").only("mode=default law=streams springs=true"))]
    pub sediment_supply: f32,
    /// Intensity of the rain on the map. High values make larger streams with a higher capacity; at 0 droplets spawn only at
    /// springs.
    #[reflect(@knob(0.0..=100.0).unit("mm/h").source("this work").only("mode=default"))]
    pub rain_rate: f32,
    /// Water of a droplet, as a depth over one cell. While Water is enabled, the remainder joins the water where the
    /// droplet ends. High values raise lakes; at 0 droplets add no water.
    #[reflect(@knob(0.0..=1.0).title("Water per droplet").unit("m").source("this work").only("mode=default").indirect())]
    pub water: f32,
    /// Droplets per tick whose track is drawn. High values hide the ground; 0 draws none. Does not affect the terrain.
    #[reflect(@knob(0.0..=500.0).title("Visible tracks").unit("droplets").source("this work").indirect())]
    pub tracks: u32,
    /// Time step. Long steps erode fast but noisily; short steps take longer for the same erosion.
    #[reflect(@knob(0.01..=5.0).title("Time step").symbol("dt").source(D1).log().only("law=mass-transfer"))]
    pub dt: f32,
    /// Inertia of the water. High values make droplets accelerate slowly and overshoot bends; low values let them follow every
    /// rill.
    #[reflect(@knob(0.1..=5.0).symbol("ρ").source(D1).log().only("law=mass-transfer"))]
    pub density: f32,
    /// Fraction of the speed lost per unit of time. High values keep droplets slow and erosion weak.
    #[reflect(@knob(0.001..=0.5).symbol("μ").source(D1).log().main().only("law=mass-transfer"))]
    pub friction: f32,
    /// Rate at which the load approaches the capacity. High values incise deeply and deposit abruptly; low values spread both along
    /// the track.
    #[reflect(@knob(0.01..=1.0).symbol("Kd").source(D1).log().main().only("law=mass-transfer"))]
    pub deposition_rate: f32,
    /// Fraction of the water lost per unit of time, or of length. With high values droplets end on the slopes; with low values they
    /// reach the plain.
    #[reflect(@knob(0.001..=0.5).symbol("Ke").source(D1).log().main().only("law=streams|mass-transfer"))]
    pub evaporation_rate: f32,
    /// Fraction of its initial water at which a droplet ends. High values end it sooner.
    #[reflect(@knob(0.0001..=0.1).title("Minimum volume").source(D1).log().only("law=streams|mass-transfer").indirect())]
    pub min_volume: f32,
    /// Transport capacity at a slope of one and a drainage area of one hectare, as a thickness over one cell. High values incise
    /// deep valleys.
    #[reflect(@knob(0.1..=100.0).title("Capacity coefficient").unit("m").source("after Whipple & Tucker 1999").log().main().only("mode=default law=streams"))]
    pub entrainment: f32,
    /// Rate at which the load approaches the capacity, per unit of length. High values erode slopes and valleys alike; low values
    /// let streams cut narrow channels.
    #[reflect(@knob(0.001..=1.0).title("Exchange rate").source("this work").log().main().only("mode=default law=streams"))]
    pub exchange: f32,
    /// Increase of the transport capacity in large streams, relative to a cell without discharge.
    #[reflect(@knob(0.0..=100.0).source(H1).only("mode=published law=streams"))]
    pub entrainment_factor: f32,
    /// Fraction of the gap between load and capacity that a step closes.
    #[reflect(@knob(0.001..=1.0).title("Relaxation fraction").symbol("Kd").source(H1).log().only("mode=published law=streams"))]
    pub equilibration: f32,
    /// Exponent of the drainage area in the transport capacity. It sets the concavity of the rivers.
    #[reflect(@knob(0.1..=0.8).symbol("θ").source("Whipple & Tucker 1999").only("mode=default law=streams"))]
    pub concavity: f32,
    /// Acceleration of a droplet down the slope, per unit of length. High values make it run straight downslope.
    #[reflect(@knob(0.1..=10.0).source(H1).log().only("law=streams"))]
    pub gravity: f32,
    /// Momentum transfer from earlier droplets, per unit of length. High values make streams meander.
    #[reflect(@knob(0.0..=5.0).title("Momentum transfer").source(H1).main().only("law=streams"))]
    pub transfer: f32,
    /// Drainage area at which a stream deflects droplets half as much as a large river does.
    #[reflect(@knob(100.0..=10_000_000.0).title("Headwater area").unit("m²").source("this work; channel heads as in Montgomery & Dietrich 1988").log().only("mode=default law=streams"))]
    pub headwater: f32,
    /// Weight of the latest tick in the running averages of discharge and momentum, for one droplet per 65 cells. More droplets
    /// raise it, fewer lower it, except in the published mode. High values make streams shift quickly.
    #[reflect(@knob(0.001..=1.0).title("Averaging weight").symbol("λ").source(H1).log().only("law=streams"))]
    pub renewal: f32,
    /// Number of steps after which a droplet ends.
    #[reflect(@knob(10.0..=10_000.0).title("Maximum steps").unit("steps").source(H1).log().only("mode=published law=streams"))]
    pub max_age: u32,
    /// Cell size of the published program, to which values per step, time or length refer.
    #[reflect(@knob(0.1..=1000.0).title("Published cell size").unit("m").symbol("L").source("this work").log().only("mode=default"))]
    pub length: f32,
    /// Steepest stable angle of banks cut by droplets, in rock of softness 0.5; harder rock stands steeper. Steeper banks fail.
    #[reflect(@knob(33.0..=80.0).unit("°").source("Schmidt & Montgomery 1995").only("mode=default"))]
    pub bank_angle: f32,
    /// Acceleration per step on a slope. High values make droplets fast and their tracks straight.
    #[reflect(@knob(0.1..=5.0).unit("cells/step").symbol("Ka").source(D3).log().only("law=capacity"))]
    pub acceleration: f32,
    /// Fraction of the speed lost per step. High values keep droplets slow.
    #[reflect(@knob(0.0..=0.5).symbol("Kf").source(D3).only("law=capacity"))]
    pub drag: f32,
    /// Transport capacity of a full droplet at a speed of one cell per step, as a percentage of the cell size. High values erode
    /// deeply and leave thick deposits.
    #[reflect(@knob(0.1..=10.0).title("Transport capacity").unit("% of a cell").symbol("Kc").source(D3).log().main().only("law=capacity"))]
    pub capacity: f32,
    /// Fraction of the excess load deposited per step. High values deposit it immediately.
    #[reflect(@knob(0.0..=1.0).title("Settling fraction").symbol("Kd").source(D3).only("law=capacity"))]
    pub settling: f32,
    /// Fraction of the capacity deficit eroded per step. High values fill droplets with sediment immediately.
    #[reflect(@knob(0.0..=1.0).title("Entrainment fraction").symbol("Ks").source(D3).only("law=capacity"))]
    pub suspension: f32,
    /// Initial water of a droplet. High values let it run further and carry more.
    #[reflect(@knob(0.1..=5.0).title("Initial water").symbol("w").source(D3).log().only("law=capacity"))]
    pub start_water: f32,
    /// Water lost per step. High values end droplets early.
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
    /// Returns `true` if droplets run as in a published program. The law "streams" has its own implementation in both modes.
    pub(super) fn runs_as_published(&self) -> bool {
        self.mode == Mode::Published && self.law != DropletLaw::Streams
    }

    /// Returns the steepest stable slopes of banks.
    pub(super) fn bank_slopes(&self) -> BankSlopes {
        match self.mode {
            Mode::Corrected => BankSlopes::from_degrees(REPOSE_ANGLE, self.bank_angle),
            Mode::Published => BankSlopes::from_degrees(PUBLISHED_ANGLE, PUBLISHED_ANGLE),
        }
    }
}

/// Angle of repose of dry sand, in degrees.
const REPOSE_ANGLE: f32 = 33.0;
/// Bank angle of the published streams, in degrees: a slope of 0.8.
const PUBLISHED_ANGLE: f32 = 38.66;
