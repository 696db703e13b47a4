//! Parameters of a simulation on the graphics card.

use bevy_reflect::PartialReflect;
use bytemuck::{Pod, Zeroable};
use thalweg_sim::{
    core::terrain::Edge,
    process::{Mode, Process, thermal, water},
    simulation::Simulation,
};

/// Columns and rows of a workgroup.
const GROUP: [usize; 2] = [64, 4];

/// Parameters of a map: `Map` in `shaders/sim/common.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(crate) struct Map {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) edge: u32,
    pub(crate) groups: u32,
    pub(crate) size: f32,
    pub(crate) sea_level: f32,
    pub(crate) seconds: f32,
    pub(crate) thermal_seconds: f32,
    pub(crate) rain: f32,
    pub(crate) gravity: f32,
    pub(crate) roughness: f32,
    pub(crate) evaporation: f32,
    pub(crate) capacity: f32,
    pub(crate) suspension: f32,
    pub(crate) deposition: f32,
    pub(crate) acceleration: f32,
    pub(crate) per_depth: f32,
    pub(crate) lies_beside: f32,
    pub(crate) lies_across: f32,
    pub(crate) wet: f32,
    pub(crate) per_hardness: f32,
    pub(crate) bias: f32,
    pub(crate) failure: f32,
    pub(crate) flags: u32,
    pub(crate) pipe_push: f32,
    pub(crate) stable: f32,
    pub(crate) least_tilt: f32,
    pub(crate) softening: f32,
    pub(crate) zero: u32,
}

pub(crate) const HAS_WATER: u32 = 1;
pub(crate) const HAS_THERMAL: u32 = 2;
pub(crate) const HAS_RAIN_MAP: u32 = 4;
pub(crate) const HAS_OWN_TIME: u32 = 8;
pub(crate) const PUBLISHED_WATER: u32 = 16;
pub(crate) const COLLIDES: u32 = 32;
pub(crate) const DISPLACES: u32 = 64;
pub(crate) const PUBLISHED_THERMAL: u32 = 128;

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
        if !["water", "thermal"].contains(&process.info().key) {
            return Some(format!("{} has no twin there", process.info().title));
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
    pub(crate) fn of(simulation: &Simulation) -> Self {
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
            if params.mode == Mode::Published {
                map.add_pipes(&params, process.largest_stable_dt(terrain));
            }
        }
        if let Some(process) = enabled(simulation, "thermal") {
            let params: thermal::Params = params(process);
            let slope = |angle: f32| angle.to_radians().tan();
            map.flags |= HAS_THERMAL | if params.own_time { HAS_OWN_TIME } else { 0 };
            map.flags |= if params.mode == Mode::Published { PUBLISHED_THERMAL } else { 0 };
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

    /// Adds the parameters of published water, with its longest stable step.
    fn add_pipes(&mut self, params: &water::Params, stable: f32) {
        let options = [(params.capacity == water::Capacity::Collision, COLLIDES), (params.displacement, DISPLACES)];
        let options = options.into_iter().filter(|(is_on, _)| *is_on).fold(0, |flags, (_, flag)| flags | flag);
        self.flags |= PUBLISHED_WATER | options;
        self.acceleration = 1.0;
        self.pipe_push = params.gravity * params.pipe_area;
        self.stable = if params.substeps { stable } else { f32::MAX };
        self.least_tilt = params.least_tilt;
        self.softening = params.softening_rate * params.suspension_rate;
    }

    /// Returns the number of workgroups per row and column.
    pub(crate) fn groups(&self) -> [u32; 2] {
        [self.groups, (self.height + 2).div_ceil(GROUP[1] as u32)]
    }
}
