//! Parameters of a simulation on the graphics card.

use bevy_reflect::{PartialReflect, structs::Struct};
use bytemuck::{Pod, Zeroable};
use thalweg_sim::{
    core::terrain::{Edge, Terrain},
    params::scale_parameters,
    process::{Mode, Process, ProcessCounts, thermal, water},
    simd::around::repose_heights,
    simulation::{Simulation, Slot},
};

use crate::kernels::Need;

/// Columns and rows of a workgroup.
const GROUP: [usize; 2] = [64, 4];

/// Parameters that the mask can scale: `Coefficients` in `shaders/sim/common.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(crate) struct Coefficients {
    pub(crate) rain: f32,
    pub(crate) roughness: f32,
    pub(crate) evaporation: f32,
    pub(crate) capacity: f32,
    pub(crate) suspension: f32,
    pub(crate) deposition: f32,
    pub(crate) lies_beside: f32,
    pub(crate) lies_across: f32,
    pub(crate) wet: f32,
    pub(crate) per_hardness: f32,
    pub(crate) bias: f32,
    pub(crate) failure: f32,
}

impl Coefficients {
    fn add_water(&mut self, params: &water::Params) {
        let erodes = params.max_erosion_depth > 0.0 || !params.depth_limit;
        self.rain = params.rain_rate;
        self.roughness = params.roughness;
        self.evaporation = params.evaporation_rate;
        self.capacity = if erodes { params.sediment_capacity } else { 0.0 };
        self.suspension = params.suspension_rate;
        self.deposition = params.deposition_rate;
    }

    fn add_thermal(&mut self, params: &thermal::Params, size: f32) {
        [self.lies_beside, self.lies_across] = repose_heights(params.repose_angle, size);
        let [wet, _] = repose_heights(params.underwater_angle, size);
        self.wet = (wet / self.lies_beside).min(1.0);
        self.per_hardness = params.talus_coefficient * size;
        self.bias = params.talus_bias * size;
        self.failure = params.rate;
    }
}

/// Parameters of a map: `Map` in `shaders/sim/common.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(crate) struct Map {
    /// Parameters where the mask is 0 and where it is 1.
    pub(crate) free: Coefficients,
    pub(crate) masked: Coefficients,
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) edge: u32,
    pub(crate) groups: u32,
    pub(crate) size: f32,
    pub(crate) sea_level: f32,
    pub(crate) seconds: f32,
    pub(crate) thermal_seconds: f32,
    pub(crate) gravity: f32,
    pub(crate) acceleration: f32,
    pub(crate) per_depth: f32,
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
pub(crate) const SCALED_BY_MASK: u32 = 256;
pub(crate) const LIMITED_WATER: u32 = 512;
pub(crate) const LIMITED_THERMAL: u32 = 1024;

/// Returns why a simulation cannot run on the graphics card, as the end of a sentence; `None` if it can.
pub fn find_obstacle(simulation: &Simulation) -> Option<String> {
    let mut enabled = simulation.slots.iter().filter(|slot| slot.enabled).map(|slot| slot.process.info()).peekable();
    if enabled.peek().is_none() {
        return Some("no process is enabled".to_owned());
    }
    let other = enabled.find(|info| !["water", "thermal"].contains(&info.key))?;
    Some(format!("{} only runs on the processor", other.title))
}

/// Returns `true` if the next tick must run on the processor: the first tick of water that starts from a steady state finds it there.
pub fn begins_on_processor(simulation: &Simulation) -> bool {
    enabled(simulation, "water").is_some_and(|water| {
        params::<water::Params>(&*water.process).filled && water.process.counts() == ProcessCounts::default()
    })
}

/// Returns the parameters of a process.
fn params<P: Clone + 'static>(process: &dyn Process) -> P {
    let params: &dyn PartialReflect = process.params().as_partial_reflect();
    params.try_downcast_ref::<P>().cloned().expect("each process has its own parameters")
}

/// Returns the parameters where the mask is 1: the same in published mode and without a mask.
fn masked<P: Struct + Clone>(terrain: &Terrain, process: &dyn Process, mode: Mode, params: &P) -> P {
    let [_, factors] = process.settings();
    let is_scaled = terrain.mask.is_some() && mode == Mode::Corrected;
    if is_scaled { scale_parameters(params, factors) } else { params.clone() }
}

/// Returns the slot of the enabled process with this key.
fn enabled<'a>(simulation: &'a Simulation, key: &str) -> Option<&'a Slot> {
    simulation.slots.iter().find(|slot| slot.enabled && slot.key() == key)
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
            groups: (terrain.width() + 1).div_ceil(GROUP[0]) as u32,
            size: terrain.cell_size,
            // Without water, thermal erosion keeps its own time, but the present water still has its load.
            acceleration: simulation.bed_acceleration(),
            gravity: 1.0,
            ..Self::default()
        };
        let has_mask = terrain.mask.is_some();
        if let Some(slot) = enabled(simulation, "water") {
            let params: water::Params = params(&*slot.process);
            map.flags |= HAS_WATER
                | if terrain.rain.is_some() { HAS_RAIN_MAP } else { 0 }
                | if slot.limited && has_mask { LIMITED_WATER } else { 0 };
            map.sea_level = params.sea_level;
            map.seconds = params.mode.seconds(params.dt, terrain);
            map.gravity = params.gravity;
            map.acceleration = params.acceleration;
            map.per_depth =
                if params.depth_limit && params.max_erosion_depth > 0.0 { 1.0 / params.max_erosion_depth } else { 0.0 };
            map.free.add_water(&params);
            map.masked.add_water(&masked(terrain, &*slot.process, params.mode, &params));
            if params.mode == Mode::Published {
                map.add_pipes(&params, slot.process.largest_stable_dt(terrain));
            }
        }
        if let Some(slot) = enabled(simulation, "thermal") {
            let params: thermal::Params = params(&*slot.process);
            map.flags |= HAS_THERMAL
                | if params.own_time { HAS_OWN_TIME } else { 0 }
                | if params.mode == Mode::Published { PUBLISHED_THERMAL } else { 0 }
                | if slot.limited && has_mask { LIMITED_THERMAL } else { 0 };
            map.thermal_seconds = params.mode.seconds(params.dt, terrain);
            map.free.add_thermal(&params, terrain.cell_size);
            map.masked.add_thermal(&masked(terrain, &*slot.process, params.mode, &params), terrain.cell_size);
        }
        map.flags |= if map.masked == map.free { 0 } else { SCALED_BY_MASK };
        map
    }

    /// Returns `true` if a simulation with other parameters has the same buffers and kernels.
    pub(crate) fn has_buffers_of(&self, other: &Self) -> bool {
        let key = |map: &Self| (map.width, map.height, map.flags & !HAS_OWN_TIME, Need::Rain.is_met(map, false));
        key(self) == key(other)
    }

    /// Returns `true` if the mask changes anything.
    pub(crate) fn uses_mask(&self) -> bool {
        self.flags & (SCALED_BY_MASK | LIMITED_WATER | LIMITED_THERMAL) != 0
    }

    /// Returns `true` if masked cells of a process are restored.
    pub(crate) fn restores(&self) -> bool {
        self.flags & (LIMITED_WATER | LIMITED_THERMAL) != 0
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

    /// Returns the number of workgroups per row and column: there is a face more than cells along each.
    pub(crate) fn groups(&self) -> [u32; 2] {
        [self.groups, (self.height + 1).div_ceil(GROUP[1] as u32)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        balance::{SUMS, Sum},
        kernels::Shader,
    };

    /// Returns the names of the fields of a struct in the shaders.
    fn fields(name: &str) -> Vec<String> {
        let source = Shader::Water.source();
        let (_, from_name) = source.split_once(&format!("struct {name} {{\n")).expect("it is declared");
        let lines = from_name.lines().take_while(|line| *line != "}").map(str::trim);
        let fields = lines.filter(|line| !line.starts_with("//"));
        fields.filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect()
    }

    /// Returns the names of the fields of a flat struct.
    fn names(debug: &str) -> Vec<String> {
        let (_, inner) = debug.split_once(" { ").expect("it has fields");
        inner.split(", ").filter_map(|field| Some(field.split_once(": ")?.0.to_owned())).collect()
    }

    fn constant(name: &str) -> Option<u32> {
        let source = Shader::Water.source();
        let (_, value) = source.split_once(&format!("\nconst {name}: u32 = "))?;
        value.split_once('u')?.0.parse().ok()
    }

    #[test]
    fn shaders_declare_the_same_parameters() {
        let (map, coefficients) = (Map::default(), format!("{:?}", Coefficients::default()));
        let flat = format!("{map:?}").replace(&coefficients, "0");
        assert_eq!((names(&flat), names(&coefficients)), (fields("Map"), fields("Coefficients")));
    }

    #[test]
    fn shaders_declare_the_same_flags_and_sums() {
        let flags = [
            ("HAS_WATER", HAS_WATER),
            ("HAS_THERMAL", HAS_THERMAL),
            ("HAS_RAIN_MAP", HAS_RAIN_MAP),
            ("HAS_OWN_TIME", HAS_OWN_TIME),
            ("PUBLISHED_WATER", PUBLISHED_WATER),
            ("COLLIDES", COLLIDES),
            ("DISPLACES", DISPLACES),
            ("SCALED_BY_MASK", SCALED_BY_MASK),
            ("SUMS", SUMS as u32),
            ("ERODED", Sum::Eroded as u32),
            ("DEPOSITED", Sum::Deposited as u32),
            ("RAINED", Sum::Rained as u32),
            ("EVAPORATED", Sum::Evaporated as u32),
            ("WATER_OUT", Sum::WaterOut as u32),
            ("SOLID_OUT", Sum::SolidOut as u32),
            ("GIVEN", Sum::Given as u32),
            ("GOT", Sum::Got as u32),
            ("CRUMBLED", Sum::Crumbled as u32),
            ("SLID_OUT", Sum::SlidOut as u32),
            ("SPRUNG", Sum::Sprung as u32),
            ("DRAINED", Sum::Drained as u32),
            ("SEDIMENT_LOST", Sum::SedimentLost as u32),
            ("ROUNDED", Sum::Rounded as u32),
            ("EDITED", Sum::Edited as u32),
        ];
        for (name, value) in flags {
            assert_eq!(constant(name), Some(value), "{name}");
        }
    }
}
