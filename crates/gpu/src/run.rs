//! A simulation whose layers are on the graphics card.

use bytemuck::{Pod, Zeroable};
use thalweg_sim::{
    core::{
        grid::Grid,
        terrain::{Source, Terrain},
    },
    process::saved_state::StateValue,
    simulation::Simulation,
};

use crate::{
    Device, DeviceError,
    balance::{SUMS, Sum, book},
    kernels::{Buffer, Dispatch, Kernel, kernels},
    map::{HAS_RAIN_MAP, HAS_WATER, Map, PUBLISHED_WATER, find_obstacle},
};

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
    cut: u32,
    unused: u32,
}

/// Sums and counts of a workgroup: `Group` in `shaders/sim/common.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
struct Group {
    sums: [[f32; 2]; SUMS],
    counts: [u32; 4],
}

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

impl<'a> GpuRun<'a> {
    /// Moves the layers of a simulation to the graphics card, between two ticks.
    ///
    /// # Errors
    /// [`find_obstacle`] has found one, or the map is too large for the card.
    pub fn new(device: &'a Device, simulation: &mut Simulation) -> Result<Self, DeviceError> {
        if let Some(obstacle) = find_obstacle(simulation) {
            return Err(DeviceError(format!("the simulation cannot run on the graphics card, because {obstacle}")));
        }
        let map = Map::of(simulation);
        let terrain = &simulation.terrain;
        let (width, height) = (terrain.width(), terrain.height());
        let cells = width * height;
        let ringed = (width + 2) * (height + 2);
        let groups = map.groups().map(|count| count as usize);
        let most =
            (12 * cells).max(8 * ringed).max(size_of::<Group>() * groups[0] * groups[1] + size_of::<Clock>()) as u64;
        if most > device.largest_binding() {
            let wrong = format!("{} cannot hold a map of {width} × {height} cells in one buffer", device.name());
            return Err(DeviceError(wrong));
        }
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let buffer = |bytes: usize, usage: wgpu::BufferUsages| {
            device.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: bytes.next_multiple_of(16).max(16) as u64,
                usage,
                mapped_at_creation: false,
            })
        };
        let sources: Vec<Source> = if map.flags & HAS_WATER != 0 { terrain.sources.clone() } else { Vec::new() };
        let source_cells: usize = sources.iter().map(|source| source.cells(terrain).len()).sum();
        let buffers: Vec<wgpu::Buffer> = Buffer::ALL
            .into_iter()
            .map(|place| {
                let indirect = if place == Buffer::Dispatches {
                    wgpu::BufferUsages::INDIRECT
                } else {
                    wgpu::BufferUsages::empty()
                };
                buffer(place.bytes(&map, source_cells), usage | indirect)
            })
            .collect();
        let state = buffer(size_of::<Clock>() + size_of::<Group>() * groups[0] * groups[1], usage);
        let uniform = buffer(size_of::<Map>(), wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST);
        let write = |buffer: &wgpu::Buffer, bytes: &[u8]| device.queue.write_buffer(buffer, 0, bytes);
        for (place, layer) in [
            (Buffer::Bedrock, &terrain.bedrock),
            (Buffer::Sand, &terrain.sand),
            (Buffer::Water, &terrain.water),
            (Buffer::Suspended, &terrain.suspended),
            (Buffer::Softness, &terrain.softness),
            (Buffer::Start, &terrain.start),
        ] {
            write(&buffers[place as usize], bytemuck::cast_slice(&layer[..]));
        }
        if let Some(rain) = terrain.rain.as_ref().filter(|_| map.flags & HAS_RAIN_MAP != 0) {
            write(&buffers[Buffer::Rain as usize], bytemuck::cast_slice(&rain[..]));
        }
        if let Some(mask) = terrain.mask.as_ref().filter(|_| map.uses_mask()) {
            write(&buffers[Buffer::Mask as usize], bytemuck::cast_slice(&mask[..]));
        }
        write(&buffers[Buffer::Dispatches as usize], bytemuck::bytes_of(&Dispatch::all(map.groups())));
        write(&uniform, bytemuck::bytes_of(&map));
        let mut clock = Clock::default();
        let Simulation { slots, terrain, .. } = simulation;
        if let Some(slot) = slots.iter_mut().find(|slot| slot.enabled && slot.key() == "water") {
            // Courant number 0.5.
            clock.wave = 0.5 * terrain.cell_size / slot.process.largest_stable_dt(terrain);
            for (name, value) in slot.process.state_values(terrain) {
                if let (Some(place), StateValue::Cells(flow)) = (Buffer::of_state(name), value) {
                    write(&buffers[place as usize], bytemuck::cast_slice(flow));
                }
            }
        }
        write(&state, bytemuck::bytes_of(&clock));
        let kernels = kernels(device, [&uniform, &state], &buffers);
        let begun = simulation.ticks();
        Ok(Self {
            device,
            map,
            cells,
            buffers,
            state,
            kernels,
            sources,
            active: Vec::new(),
            clock,
            begun,
            substeps_per_tick: 1.0,
        })
    }

    /// Runs ticks.
    ///
    /// # Errors
    /// The connection to the card is lost.
    pub fn run(&mut self, ticks: u32, terrain: &Terrain) -> Result<(), DeviceError> {
        let end = self.clock.ticks + ticks;
        while self.clock.ticks < end {
            // Up to the next tick in which a source starts or ends.
            let next = self.begun + u64::from(self.clock.ticks) + 1;
            let running = |tick: u64| -> Vec<usize> {
                (0..self.sources.len()).filter(|&index| self.sources[index].runs(tick)).collect()
            };
            let active = running(next);
            let same = (1..end - self.clock.ticks).take_while(|ahead| running(next + u64::from(*ahead)) == active);
            let wanted = self.clock.ticks + 1 + same.count() as u32;
            if active != self.active {
                self.write_sources(&active, terrain);
                self.active = active;
            }
            self.device.queue.write_buffer(
                &self.state,
                std::mem::offset_of!(Clock, wanted) as u64,
                bytemuck::bytes_of(&wanted),
            );
            while self.clock.ticks < wanted {
                self.submit(wanted - self.clock.ticks)?;
            }
        }
        Ok(())
    }

    /// Submits the substeps that so many ticks probably need, and waits for them.
    fn submit(&mut self, ticks: u32) -> Result<(), DeviceError> {
        let substeps = ((ticks as f32 * self.substeps_per_tick).ceil() as u32).clamp(1, SUBSTEPS);
        let needed = |kernel: &&Kernel| kernel.info.need.is_met(&self.map, !self.active.is_empty());
        let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            for _ in 0..substeps {
                for kernel in self.kernels.iter().filter(needed) {
                    kernel.dispatch(&mut pass, &self.buffers[Buffer::Dispatches as usize]);
                }
            }
        }
        self.device.queue.submit([encoder.finish()]);
        let before = self.clock;
        self.clock = self.read::<Clock>(&self.state, 1)?[0];
        let done = self.clock.ticks - before.ticks;
        if done > 0 {
            self.substeps_per_tick = (self.clock.substeps - before.substeps) as f32 / done as f32;
        } else {
            self.substeps_per_tick *= 2.0;
        }
        Ok(())
    }

    /// Writes the cells of active sources and their rates, in the order of the sources.
    fn write_sources(&self, active: &[usize], terrain: &Terrain) {
        let mut by_cell = std::collections::BTreeMap::<usize, Vec<f32>>::new();
        for source in active.iter().map(|&index| &self.sources[index]) {
            let cells = source.cells(terrain);
            let rate = source.rate / (cells.len() as f32 * terrain.cell_area() as f32);
            cells.into_iter().for_each(|cell| by_cell.entry(cell).or_default().push(rate));
        }
        let (mut cells, mut rates) = (Vec::<[u32; 4]>::new(), Vec::<f32>::new());
        for (cell, of_cell) in by_cell {
            cells.push([cell as u32, rates.len() as u32, (rates.len() + of_cell.len()) as u32, 0]);
            rates.extend(of_cell);
        }
        let buffer = &self.buffers[Buffer::Sources as usize];
        // The rest has no rates.
        cells.resize((buffer.size() / 16) as usize, [0; 4]);
        self.device.queue.write_buffer(buffer, 0, bytemuck::cast_slice(&cells));
        if !rates.is_empty() {
            self.device.queue.write_buffer(&self.buffers[Buffer::Rates as usize], 0, bytemuck::cast_slice(&rates));
        }
    }

    /// Reads the first `count` values of a buffer.
    fn read<T: Pod>(&self, buffer: &wgpu::Buffer, count: usize) -> Result<Vec<T>, DeviceError> {
        let bytes = (count * size_of::<T>()) as u64;
        let staging = self.device.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, bytes);
        self.device.queue.submit([encoder.finish()]);
        let lost = |error: &dyn std::fmt::Display| DeviceError(format!("the graphics card is lost ({error})"));
        let (tell, hear) = std::sync::mpsc::channel();
        staging.slice(..).map_async(wgpu::MapMode::Read, move |mapped| {
            let _ = tell.send(mapped);
        });
        self.device.device.poll(wgpu::PollType::wait_indefinitely()).map_err(|error| lost(&error))?;
        hear.recv().map_err(|error| lost(&error))?.map_err(|error| lost(&error))?;
        let mapped = staging.slice(..).get_mapped_range();
        Ok(bytemuck::pod_collect_to_vec(&mapped))
    }

    /// Moves the layers back to the simulation, with its clock, its ledger and its counts.
    ///
    /// # Errors
    /// The connection to the card is lost; the simulation is unchanged.
    pub fn finish(self, simulation: &mut Simulation) -> Result<(), DeviceError> {
        let (width, height) = (self.map.width as usize, self.map.height as usize);
        let layer = |buffer: Buffer| -> Result<Grid, DeviceError> {
            Ok(Grid::from_cells(width, height, self.read::<f32>(&self.buffers[buffer as usize], self.cells)?))
        };
        let layers = [Buffer::Bedrock, Buffer::Sand, Buffer::Water, Buffer::Suspended, Buffer::Softness].map(layer);
        let [bedrock, sand, water, suspended, softness] = layers;
        let (bedrock, sand, water, suspended, softness) = (bedrock?, sand?, water?, suspended?, softness?);
        let mut flows = Vec::<Vec<f32>>::new();
        for slot in simulation.slots.iter_mut().filter(|slot| slot.enabled) {
            for (name, value) in slot.process.state_values(&simulation.terrain) {
                if let (Some(place), StateValue::Cells(flow)) = (Buffer::of_state(name), value) {
                    flows.push(self.read(&self.buffers[place as usize], flow.len())?);
                }
            }
        }
        let mut flows = flows.into_iter();
        let [columns, rows] = self.map.groups().map(|count| count as usize);
        let bytes = size_of::<Clock>() + columns * rows * size_of::<Group>();
        let state = self.read::<u8>(&self.state, bytes)?;
        let groups: Vec<Group> = bytemuck::pod_collect_to_vec(&state[size_of::<Clock>()..]);
        let area = simulation.terrain.cell_area();
        let sum = |sum: Sum| -> f64 {
            let sums = groups.iter().map(|group| group.sums[sum as usize].map(f64::from));
            sums.map(|[sum, rest]| sum + rest).sum::<f64>() * area
        };
        let count = |index: usize| groups.iter().map(|group| u64::from(group.counts[index])).sum::<u64>();
        let terrain = &mut simulation.terrain;
        (terrain.bedrock, terrain.sand, terrain.water, terrain.suspended) = (bedrock, sand, water, suspended);
        if self.map.flags & PUBLISHED_WATER != 0 {
            terrain.softness = softness;
        }
        let seconds = f64::from(self.clock.seconds[0]) + f64::from(self.clock.seconds[1]);
        book(&mut simulation.ledger, &self.map, sum);
        let (ticks, clock, map) = (u64::from(self.clock.ticks), self.clock, self.map);
        let mut elapsed = seconds;
        let Simulation { slots, terrain, .. } = simulation;
        for slot in slots.iter_mut().filter(|slot| slot.enabled) {
            let times: Vec<u64> = match slot.key() {
                "water" => {
                    for (name, value) in slot.process.state_values(terrain) {
                        match (Buffer::of_state(name), value) {
                            (Some(_), StateValue::Cells(flow)) => {
                                flow.copy_from_slice(&flows.next().expect("it has been read"));
                            }
                            (None, StateValue::Number(wave)) if name == "wave" => *wave = clock.wave.into(),
                            _ => {}
                        }
                    }
                    elapsed = seconds * f64::from(map.acceleration);
                    slot.process.setup_mut().counts_mut().substeps += u64::from(clock.substeps);
                    slot.process.setup_mut().counts_mut().seconds += seconds;
                    vec![clock.extra.into(), clock.slow.into(), count(0), count(1), count(2), 0, 0]
                }
                _ => {
                    slot.process.setup_mut().counts_mut().substeps += ticks;
                    slot.process.setup_mut().counts_mut().seconds += elapsed;
                    vec![clock.cut.into()]
                }
            };
            slot.process.setup_mut().add_limits(&times);
        }
        let (ticks, before) = (self.begun + ticks, simulation.simulated_seconds());
        simulation.set_clock(ticks, before + elapsed);
        Ok(())
    }
}
