//! A simulation whose layers are on the graphics card.

use bevy_reflect::PartialReflect;
use bytemuck::{Pod, Zeroable};
use thalweg_sim::{
    core::{
        grid::Grid,
        terrain::{Edge, Source, Terrain},
    },
    process::{Mode, Process, saved_state::StateValue, thermal, water},
    simulation::Simulation,
};

use crate::{
    Device, DeviceError,
    kernels::{BUFFERS, Buffer, Dispatch, Kernel, kernels},
};

/// Parameters of a map: `Map` in `shaders/sim/common.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct Map {
    width: u32,
    height: u32,
    edge: u32,
    groups: u32,
    size: f32,
    sea_level: f32,
    seconds: f32,
    thermal_seconds: f32,
    rain: f32,
    gravity: f32,
    roughness: f32,
    evaporation: f32,
    capacity: f32,
    suspension: f32,
    deposition: f32,
    acceleration: f32,
    per_depth: f32,
    lies_beside: f32,
    lies_across: f32,
    wet: f32,
    per_hardness: f32,
    bias: f32,
    failure: f32,
    flags: u32,
}

const HAS_WATER: u32 = 1;
const HAS_THERMAL: u32 = 2;
const HAS_RAIN_MAP: u32 = 4;
const HAS_OWN_TIME: u32 = 8;

/// Clock and control: `State` in `shaders/sim/common.wgsl`, without its groups.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
struct Clock {
    dt: f32,
    left: u32,
    ticks: u32,
    wanted: u32,
    wave: f32,
    deepest: f32,
    extra: u32,
    slow: u32,
    substeps: u32,
    tick_seconds: f32,
    seconds: [f32; 2],
}

/// Sums and counts of a workgroup: `Group` in `shaders/sim/common.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct Group {
    sums: [[f32; 2]; 12],
    counts: [u32; 4],
}

/// Columns and rows of a workgroup.
const GROUP: [usize; 2] = [64, 4];
/// Substeps per submission: long enough to keep a card busy, short enough for its driver's patience.
const SUBSTEPS: u32 = 256;

/// A simulation whose layers are on the graphics card, from [`GpuRun::new`] to [`GpuRun::finish`].
pub struct GpuRun<'a> {
    device: &'a Device,
    map: Map,
    cells: usize,
    buffers: Vec<wgpu::Buffer>,
    state: wgpu::Buffer,
    kernels: Vec<Kernel>,
    sources: Vec<Source>,
    /// Sources that are on the card.
    active: Vec<usize>,
    clock: Clock,
    /// Ticks of the simulation when it was moved to the card.
    begun: u64,
    /// Substeps per tick in the last submission.
    substeps_per_tick: f32,
}

/// Returns why a simulation cannot run on the graphics card, as the end of a sentence; `None` if it can.
pub fn find_obstacle(simulation: &Simulation) -> Option<String> {
    let mut enabled = simulation.slots.iter().filter(|slot| slot.enabled).map(|slot| &*slot.process).peekable();
    if enabled.peek().is_none() {
        return Some("no process is enabled".to_owned());
    }
    if simulation.terrain.mask.is_some() {
        return Some("the terrain has a mask".to_owned());
    }
    for process in enabled {
        let is_corrected = match process.info().key {
            "water" => params::<water::Params>(process).mode == Mode::Corrected,
            "thermal" => params::<thermal::Params>(process).mode == Mode::Corrected,
            _ => return Some(format!("{} has no twin there", process.info().title)),
        };
        if !is_corrected {
            return Some(format!("the published mode of {} has no twin there", process.info().title));
        }
    }
    None
}

/// Returns the parameters of a process.
fn params<P: Clone + 'static>(process: &dyn Process) -> P {
    let params: &dyn PartialReflect = process.params().as_partial_reflect();
    params.try_downcast_ref::<P>().cloned().expect("each process has its own parameters")
}

/// Returns the enabled process with this key.
fn enabled<'a>(simulation: &'a Simulation, key: &str) -> Option<&'a dyn Process> {
    simulation.slots.iter().find(|slot| slot.enabled && slot.key() == key).map(|slot| &*slot.process)
}

impl Map {
    fn of(simulation: &Simulation) -> Self {
        let terrain = &simulation.terrain;
        let edge = match terrain.edge {
            Edge::Wall => 0,
            Edge::Open => 1,
            Edge::Wrap => 2,
        };
        let mut map = Self {
            width: terrain.width() as u32,
            height: terrain.height() as u32,
            edge,
            groups: (terrain.width() + 2).div_ceil(GROUP[0]) as u32,
            size: terrain.cell_size,
            // Without water, thermal erosion keeps its own time.
            acceleration: 1.0,
            gravity: 1.0,
            ..Self::default()
        };
        if let Some(process) = enabled(simulation, "water") {
            let params: water::Params = params(process);
            let erodes = params.max_erosion_depth > 0.0 || !params.depth_limit;
            map.flags |= HAS_WATER | if terrain.rain.is_some() { HAS_RAIN_MAP } else { 0 };
            map.sea_level = params.sea_level;
            map.seconds = params.mode.seconds(params.dt, terrain);
            map.rain = params.rain_rate;
            map.gravity = params.gravity;
            map.roughness = params.gravity * params.roughness * params.roughness;
            map.evaporation = params.evaporation_rate;
            map.capacity = if erodes { params.sediment_capacity } else { 0.0 };
            map.suspension = params.suspension_rate;
            map.deposition = params.deposition_rate;
            map.acceleration = params.acceleration;
            map.per_depth = if params.depth_limit && erodes { 1.0 / params.max_erosion_depth } else { 0.0 };
        }
        if let Some(process) = enabled(simulation, "thermal") {
            let params: thermal::Params = params(process);
            let slope = |angle: f32| angle.to_radians().tan();
            map.flags |= HAS_THERMAL | if params.own_time { HAS_OWN_TIME } else { 0 };
            map.thermal_seconds = params.mode.seconds(params.dt, terrain);
            map.lies_beside = slope(params.repose_angle) * terrain.cell_size;
            map.lies_across = map.lies_beside * std::f32::consts::SQRT_2;
            map.wet = (slope(params.underwater_angle) / slope(params.repose_angle)).min(1.0);
            map.per_hardness = params.talus_coefficient * terrain.cell_size;
            map.bias = params.talus_bias * terrain.cell_size;
            map.failure = params.rate;
        }
        map
    }

    /// Returns the number of workgroups per row and column.
    fn groups(&self) -> [u32; 2] {
        [self.groups, (self.height + 2).div_ceil(GROUP[1] as u32)]
    }
}
