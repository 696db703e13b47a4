//! A simulation whose layers are on the graphics card.

use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};
use thalweg_sim::{
    core::{
        grid::{Grid, GridVersion},
        terrain::{Layer, Source, Terrain},
        tiles::Tiling,
    },
    process::saved_state::StateValue,
    simulation::{Simulation, Slot},
};

use crate::{
    Device, DeviceError, Packer,
    balance::{SUMS, Sum, book},
    device::{self, Arrival, arrived},
    kernels::{Buffer, BufferPlace, Dispatch, Kernel},
    map::{HAS_OWN_TIME, HAS_WATER, Map, PUBLISHED_WATER, find_obstacle},
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
struct GroupTotals {
    sums: [[f32; 2]; SUMS],
    counts: [u32; 4],
}

/// Layers on the card.
const LAYERS: [(BufferPlace, Layer); 8] = [
    (BufferPlace::first(Buffer::Bedrock), Layer::Bedrock),
    (BufferPlace::first(Buffer::Sand), Layer::Sand),
    (BufferPlace::first(Buffer::Water), Layer::Water),
    (BufferPlace::first(Buffer::Suspended), Layer::Suspended),
    (BufferPlace::first(Buffer::Softness), Layer::Softness),
    (BufferPlace::first(Buffer::StartAndMask), Layer::Start),
    (BufferPlace::first(Buffer::Rain), Layer::Rain),
    (BufferPlace::second(Buffer::StartAndMask), Layer::Mask),
];

/// Time that a submission takes at most: drivers reset a card that is busy for seconds.
const LONGEST: Duration = Duration::from_millis(200);

/// Spring or drain with its cells and its rate in each of them, in metres per second.
struct CellSource {
    source: Source,
    cells: Vec<usize>,
    rate: f32,
}

/// Ticks on their way: the clock after them, once it arrives.
struct Submission {
    clock: Arrival<Clock>,
    begun: Instant,
    /// `true` if its number of substeps was limited by its duration.
    is_cut: bool,
    /// `true` if it has been awaited, so that the time of its arrival is known.
    is_awaited: bool,
}

/// Layers of a simulation on a graphics card.
///
/// [`upload`](Self::upload) brings them up to date, [`begin`](Self::begin) and [`advance`](Self::advance) run ticks without reading
/// anything back but the clock, and [`download`](Self::download) brings the simulation up to date.
pub struct GpuSimulation {
    device: Device,
    map: Map,
    buffers: Vec<wgpu::Buffer>,
    uniform: wgpu::Buffer,
    state: wgpu::Buffer,
    /// Map and state.
    shared: wgpu::BindGroup,
    kernels: Vec<Kernel>,
    /// Versions of the layers that the card holds.
    versions: [Option<GridVersion>; LAYERS.len()],
    sources: Vec<CellSource>,
    /// Sources that are on the card.
    active: Vec<usize>,
    clock: Clock,
    /// Ticks of the simulation at the last upload or download.
    begun: u64,
    /// Ticks to run since then.
    wanted: u32,
    submission: Option<Submission>,
    /// Longest duration of a submission.
    longest: Duration,
    /// Substeps per tick in the last submission, and the duration of a substep in seconds.
    substeps_per_tick: f32,
    substep_seconds: f64,
}

impl GpuSimulation {
    /// Creates buffers for a simulation and uploads it.
    ///
    /// # Errors
    /// [`find_obstacle`] has found one, or the map is too large for the card.
    pub fn new(device: &Device, simulation: &mut Simulation) -> Result<Self, DeviceError> {
        if let Some(obstacle) = find_obstacle(simulation) {
            return Err(DeviceError(format!("the simulation cannot run on the graphics card, because {obstacle}")));
        }
        let map = Map::of(simulation);
        let terrain = &simulation.terrain;
        let sources = if map.flags & HAS_WATER != 0 { cell_sources(terrain) } else { Vec::new() };
        let source_cells = sources.iter().map(|source| source.cells.len()).sum();
        let sizes = Buffer::ALL.map(|buffer| buffer.bytes(&map, source_cells));
        let [columns, rows] = map.groups().map(|count| count as usize);
        let state_bytes = size_of::<Clock>() + size_of::<GroupTotals>() * columns * rows;
        let most = sizes.into_iter().chain([state_bytes]).max().unwrap_or_default() as u64;
        if most > device.largest_binding() {
            let (width, height) = (map.width, map.height);
            let wrong = format!("{} cannot hold a map of {width} × {height} cells in one buffer", device.name());
            return Err(DeviceError(wrong));
        }
        let (buffers, uniform, state, shared, kernels) = device.checked(|| {
            let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
            let buffer = |bytes: usize, usage: wgpu::BufferUsages| {
                device.device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("simulation"),
                    size: bytes.next_multiple_of(16).max(16) as u64,
                    usage,
                    mapped_at_creation: false,
                })
            };
            let indirect = |index: usize| {
                let is_indirect = index == Buffer::Dispatches as usize;
                if is_indirect { wgpu::BufferUsages::INDIRECT } else { wgpu::BufferUsages::empty() }
            };
            let buffers: Vec<wgpu::Buffer> =
                sizes.into_iter().enumerate().map(|(index, bytes)| buffer(bytes, usage | indirect(index))).collect();
            let state = buffer(state_bytes, usage);
            let uniform = buffer(size_of::<Map>(), wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST);
            let shared = device.shared([&uniform, &state]);
            let kernels = device.kernels(&shared, &buffers, |info| info.need.is_met(&map, source_cells > 0));
            (buffers, uniform, state, shared, kernels)
        })?;
        let mut created = Self {
            device: device.clone(),
            map,
            buffers,
            uniform,
            state,
            shared,
            kernels,
            versions: [None; LAYERS.len()],
            sources,
            active: Vec::new(),
            clock: Clock::default(),
            begun: 0,
            wanted: 0,
            submission: None,
            longest: LONGEST,
            substeps_per_tick: 1.0,
            substep_seconds: LONGEST.as_secs_f64(),
        };
        created.write_all(simulation)?;
        Ok(created)
    }

    /// Returns `true` if a simulation has the size, the processes and the sources of this one.
    fn fits(&self, simulation: &Simulation) -> bool {
        let terrain = &simulation.terrain;
        find_obstacle(simulation).is_none()
            && self.map.has_buffers_of(&Map::of(simulation))
            && (self.map.flags & HAS_WATER == 0
                || self.sources.iter().map(|source| &source.source).eq(&terrain.sources))
    }

    /// Returns the versions of a simulation's layers that the card holds.
    fn layer_versions(&self, simulation: &Simulation) -> [Option<GridVersion>; LAYERS.len()] {
        LAYERS.map(|(place, layer)| self.held_layer(&simulation.terrain, place, layer).map(Grid::version))
    }

    /// Returns a layer of a terrain, if its place in the buffers exists.
    fn held_layer<'a>(&self, terrain: &'a Terrain, place: BufferPlace, layer: Layer) -> Option<&'a Grid> {
        let end = |grid: &&Grid| place.offset(&self.map) + 4 * grid.len() as u64;
        terrain.layer(layer).filter(|grid| self.buffers[place.buffer as usize].size() >= end(grid))
    }

    /// Returns `true` if no layer of a simulation has changed since the last upload or download.
    pub fn has_layers_of(&self, simulation: &Simulation) -> bool {
        let held = self.layer_versions(simulation);
        self.begun == simulation.ticks() && self.versions == held
    }

    /// Uploads what has changed in a simulation since the last upload or download, between two ticks. Ticks that have not been
    /// downloaded are lost if a layer has changed.
    ///
    /// # Errors
    /// The connection to the card is lost, or the simulation cannot run there any more.
    pub fn upload(&mut self, simulation: &mut Simulation) -> Result<(), DeviceError> {
        if self.fits(simulation) {
            let map = Map::of(simulation);
            if self.map == map && self.has_layers_of(simulation) {
                return Ok(());
            }
            self.finish()?;
            self.map = map;
            if self.has_layers_of(simulation) {
                return self.device.checked(|| self.write_map());
            }
            if self.clock.ticks > 0 {
                self.versions = [None; LAYERS.len()];
            }
            self.write_all(simulation)
        } else {
            *self = Self::new(&self.device.clone(), simulation)?;
            Ok(())
        }
    }

    fn write_all(&mut self, simulation: &mut Simulation) -> Result<(), DeviceError> {
        let device = self.device.clone();
        let is_edited = self.is_edited(&simulation.terrain) && self.begun == simulation.ticks();
        device.checked(|| {
            self.write_map();
            for (index, &(place, layer)) in LAYERS.iter().enumerate() {
                let Some(grid) = self.held_layer(&simulation.terrain, place, layer) else { continue };
                let (held, version) = (self.versions[index], Some(grid.version()));
                if held != version {
                    self.write_changes(place, grid, held);
                    self.versions[index] = version;
                }
            }
            self.write_dispatches();
            self.clock = Clock::default();
            let Simulation { slots, terrain, .. } = simulation;
            if let Some(slot) = slots.iter_mut().find(|slot| slot.enabled && slot.key() == "water") {
                // Courant number 0.5.
                self.clock.wave = 0.5 * terrain.cell_size / slot.process.largest_stable_dt(terrain);
                for (name, value) in slot.process.state_values(terrain) {
                    // Edits leave the fluxes as they are.
                    if let (Some(place), StateValue::Cells(cells), false) =
                        (BufferPlace::of_state(name), value, is_edited)
                    {
                        self.write_cells(place, 0, cells);
                    }
                }
            }
            self.begin_account();
        })?;
        self.begun = simulation.ticks();
        Ok(())
    }

    /// Returns `true` if the layers are those that the card holds, except for tracked changes.
    fn is_edited(&self, terrain: &Terrain) -> bool {
        LAYERS.iter().zip(self.versions).all(|(&(place, layer), held)| {
            let grid = self.held_layer(terrain, place, layer);
            grid.map_or(held.is_none(), |grid| held.is_some_and(|held| grid.changed_since(held).is_some()))
        })
    }

    /// Writes cells to a place in the buffers, from a cell of its map on.
    fn write_cells(&self, place: BufferPlace, first: usize, cells: &[f32]) {
        let offset = place.offset(&self.map) + 4 * first as u64;
        self.device.queue.write_buffer(&self.buffers[place.buffer as usize], offset, bytemuck::cast_slice(cells));
    }

    /// Writes the rows of a grid that have changed since a version, or the whole grid.
    fn write_changes(&self, place: BufferPlace, grid: &Grid, held: Option<GridVersion>) {
        let tiling = Tiling::new(grid.width(), grid.height());
        let Some(tiles) = held.and_then(|held| grid.changed_since(held)) else {
            return self.write_cells(place, 0, grid);
        };
        let mut done = 0;
        for tile in tiles {
            let [_, rows] = tiling.cells(tile);
            if rows.end > done {
                let first = rows.start * grid.width();
                self.write_cells(place, first, &grid[first..rows.end * grid.width()]);
                done = rows.end;
            }
        }
    }

    fn write_map(&self) {
        self.device.queue.write_buffer(&self.uniform, 0, bytemuck::bytes_of(&self.map));
    }

    /// Sets the workgroups of all kernels to those of the whole map.
    fn write_dispatches(&self) {
        let dispatches = Dispatch::all(self.map.groups());
        let buffer = &self.buffers[Buffer::Dispatches as usize];
        self.device.queue.write_buffer(buffer, 0, bytemuck::bytes_of(&dispatches));
    }

    /// Clears sums and counts on the card.
    fn begin_account(&mut self) {
        let Clock { wave, deepest, .. } = self.clock;
        self.clock = Clock { wave, deepest, ..Clock::default() };
        self.wanted = 0;
        let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.clear_buffer(&self.state, size_of::<Clock>() as u64, None);
        self.device.queue.write_buffer(&self.state, 0, bytemuck::bytes_of(&self.clock));
        self.device.queue.submit([encoder.finish()]);
    }

    /// Limits the duration of a submission, beyond the limit that drivers set: the card draws nothing meanwhile.
    pub fn set_longest(&mut self, longest: Duration) {
        self.longest = longest.min(LONGEST);
    }

    /// Returns the duration of a tick in seconds, as measured in the last submission.
    pub fn tick_seconds(&self) -> f64 {
        self.substep_seconds * f64::from(self.substeps_per_tick)
    }

    /// Returns the way to draw its layers.
    pub fn packer(&self) -> Packer {
        Packer {
            device: self.device.clone(),
            shared: self.shared.clone(),
            layers: [Buffer::Bedrock, Buffer::Sand, Buffer::Water, Buffer::Suspended]
                .map(|buffer| self.buffers[buffer as usize].clone()),
            size: [self.map.width, self.map.height],
        }
    }

    /// Returns `true` if all ticks have run.
    pub fn is_idle(&self) -> bool {
        self.submission.is_none()
    }

    /// Runs ticks and waits for them.
    ///
    /// # Errors
    /// The connection to the card is lost.
    pub fn run(&mut self, ticks: u32) -> Result<(), DeviceError> {
        self.begin(ticks)?;
        self.finish()
    }

    /// Begins more ticks.
    ///
    /// # Errors
    /// The connection to the card is lost.
    pub fn begin(&mut self, ticks: u32) -> Result<(), DeviceError> {
        self.wanted += ticks;
        if self.is_idle() && self.clock.ticks < self.wanted { self.submit() } else { Ok(()) }
    }

    /// Waits for all ticks.
    ///
    /// # Errors
    /// The connection to the card is lost.
    pub fn finish(&mut self) -> Result<(), DeviceError> {
        while let Some(submission) = &mut self.submission {
            submission.is_awaited = true;
            self.device.wait()?;
            self.advance()?;
        }
        Ok(())
    }

    /// Submits the next part of the ticks if the last one has been done, without waiting.
    ///
    /// # Errors
    /// The connection to the card is lost.
    pub fn advance(&mut self) -> Result<(), DeviceError> {
        let Some(submission) = &mut self.submission else { return Ok(()) };
        self.device.poll()?;
        let was_awaited = std::mem::replace(&mut submission.is_awaited, true);
        let Some(&clock) = arrived(&submission.clock)? else { return Ok(()) };
        let (is_cut, took) = (submission.is_cut, submission.begun.elapsed().as_secs_f64());
        let before = std::mem::replace(&mut self.clock, clock);
        let [ticks, substeps] = [self.clock.ticks - before.ticks, self.clock.substeps - before.substeps];
        if substeps > 0 {
            let most = took / f64::from(substeps);
            // At the first look, it may have been done for long: that time is only an upper limit.
            self.substep_seconds = match (was_awaited, is_cut) {
                (true, _) => most,
                (false, false) => most.min(self.substep_seconds),
                (false, true) => most.min(0.5 * self.substep_seconds),
            };
        }
        self.substeps_per_tick =
            if ticks > 0 { substeps as f32 / ticks as f32 } else { (2.0 * self.substeps_per_tick).min(64.0) };
        self.submission = None;
        if self.clock.ticks < self.wanted { self.submit() } else { Ok(()) }
    }

    /// Submits substeps, up to the next tick in which a source starts or ends.
    fn submit(&mut self) -> Result<(), DeviceError> {
        let next = self.begun + u64::from(self.clock.ticks) + 1;
        let running = |tick: u64| -> Vec<usize> {
            (0..self.sources.len()).filter(|&index| self.sources[index].source.runs(tick)).collect()
        };
        let active = running(next);
        let rest = self.wanted - self.clock.ticks;
        let same = 1 + (1..rest).take_while(|ahead| running(next + u64::from(*ahead)) == active).count() as u32;
        let longest = (self.longest.as_secs_f64() / self.substep_seconds).clamp(1.0, 4096.0) as u32;
        let substeps = ((same as f32 * self.substeps_per_tick).ceil() as u32).clamp(1, longest);
        let is_cut = substeps >= longest;
        let card = self.device.clone();
        let (map, has_sources) = (self.map, !active.is_empty());
        let needed = |kernel: &&Kernel| kernel.info.need.is_met(&map, has_sources);
        let submission = card.checked(|| {
            if active != self.active {
                self.write_sources(&active);
                self.active = active;
            }
            let wanted = self.clock.ticks + same;
            let place = std::mem::offset_of!(Clock, wanted) as u64;
            card.queue.write_buffer(&self.state, place, bytemuck::bytes_of(&wanted));
            let mut encoder = card.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                for _ in 0..substeps {
                    for kernel in self.kernels.iter().filter(needed) {
                        kernel.dispatch(&mut pass, &self.buffers[Buffer::Dispatches as usize]);
                    }
                }
            }
            let clock = card.staging(size_of::<Clock>() as u64);
            encoder.copy_buffer_to_buffer(&self.state, 0, &clock, 0, size_of::<Clock>() as u64);
            card.queue.submit([encoder.finish()]);
            let read = |buffer: &wgpu::Buffer| *bytemuck::from_bytes(&buffer.slice(..).get_mapped_range());
            Submission { clock: device::map(&clock, read), begun: Instant::now(), is_cut, is_awaited: false }
        })?;
        self.submission = Some(submission);
        Ok(())
    }

    /// Writes the cells of active sources and their rates, in the order of the sources.
    fn write_sources(&self, active: &[usize]) {
        let mut by_cell = std::collections::BTreeMap::<usize, Vec<f32>>::new();
        for CellSource { cells, rate, .. } in active.iter().map(|&index| &self.sources[index]) {
            cells.iter().for_each(|&cell| by_cell.entry(cell).or_default().push(*rate));
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

    /// Waits for all ticks, and brings a simulation up to date: layers that changed, clock, ledger and counts.
    ///
    /// # Errors
    /// The connection to the card is lost; the simulation is unchanged or up to date.
    pub fn download(&mut self, simulation: &mut Simulation) -> Result<(), DeviceError> {
        self.finish()?;
        if self.clock.ticks == 0 {
            return Ok(());
        }
        let cells = simulation.terrain.bedrock.len();
        let layers: Vec<&(BufferPlace, Layer)> = LAYERS.iter().filter(|(_, layer)| self.changes(*layer)).collect();
        let states = self.state_places(simulation);
        let layer_parts = layers.iter().map(|(place, _)| self.part(*place, cells));
        let state_parts = states.iter().map(|&(_, place, cells)| self.part(place, cells));
        let wanted: Vec<wgpu::BufferSlice<'_>> =
            [self.state.slice(..)].into_iter().chain(layer_parts).chain(state_parts).collect();
        let mut contents = self.device.read(&wanted)?.into_iter();
        let state = contents.next().expect("the state was read").slice(..).get_mapped_range();
        let groups: Vec<GroupTotals> = bytemuck::pod_collect_to_vec(&state[size_of::<Clock>()..]);
        for ((_, layer), read) in layers.into_iter().zip(&mut contents) {
            copy_cells(simulation.terrain.layer_mut(*layer), &read);
        }
        self.versions = self.layer_versions(simulation);
        let states: Vec<(&str, wgpu::Buffer)> = states.into_iter().map(|(name, ..)| name).zip(contents).collect();
        let area = simulation.terrain.cell_area();
        let sum = |sum: Sum| -> f64 {
            let sums = groups.iter().map(|group| group.sums[sum as usize].map(f64::from));
            sums.map(|[sum, rest]| sum + rest).sum::<f64>() * area
        };
        book(&mut simulation.ledger, &self.map, sum);
        self.write_back_state(simulation, &groups, &states);
        self.device.clone().checked(|| self.begin_account())?;
        self.begun = simulation.ticks();
        Ok(())
    }

    /// Returns `true` if the kernels change a layer.
    fn changes(&self, layer: Layer) -> bool {
        let has = |flag| self.map.flags & flag != 0;
        match layer {
            Layer::Bedrock | Layer::Sand => true,
            Layer::Water | Layer::Suspended => has(HAS_WATER),
            Layer::Softness => has(PUBLISHED_WATER),
            _ => false,
        }
    }

    /// Returns the cells at a place in the buffers.
    fn part(&self, place: BufferPlace, cells: usize) -> wgpu::BufferSlice<'_> {
        let first = place.offset(&self.map);
        self.buffers[place.buffer as usize].slice(first..first + 4 * cells as u64)
    }

    /// Returns the cells that processes keep between ticks: their name, place and number.
    fn state_places(&self, simulation: &mut Simulation) -> Vec<(&'static str, BufferPlace, usize)> {
        let Simulation { slots, terrain, .. } = simulation;
        let of = |slot: &mut Slot| -> Vec<(&'static str, BufferPlace, usize)> {
            let with_place = |(name, value)| match value {
                StateValue::Cells(cells) => Some((name, BufferPlace::of_state(name)?, cells.len())),
                _ => None,
            };
            slot.process.state_values(terrain).into_iter().filter_map(with_place).collect()
        };
        slots.iter_mut().filter(|slot| slot.enabled).flat_map(of).collect()
    }

    /// Writes fluxes, counts and clock back to the processes.
    fn write_back_state(&self, simulation: &mut Simulation, groups: &[GroupTotals], states: &[(&str, wgpu::Buffer)]) {
        let count = |index: usize| groups.iter().map(|group| u64::from(group.counts[index])).sum::<u64>();
        let clock = self.clock;
        let seconds = f64::from(clock.seconds[0]) + f64::from(clock.seconds[1]);
        let has = |flag| self.map.flags & flag != 0;
        let follows = has(HAS_WATER) && !has(HAS_OWN_TIME);
        let morphological = seconds * f64::from(self.map.acceleration);
        let sliding =
            if follows { morphological } else { f64::from(clock.ticks) * f64::from(self.map.thermal_seconds) };
        let Simulation { slots, terrain, .. } = simulation;
        for slot in slots.iter_mut().filter(|slot| slot.enabled) {
            slot.process.setup_mut().begin_tick();
            let (substeps, seconds, limits) = if slot.key() == "water" {
                for (name, value) in slot.process.state_values(terrain) {
                    match (states.iter().find(|(own, _)| *own == name), value) {
                        (Some((_, read)), StateValue::Cells(cells)) => copy_cells(cells, read),
                        (None, StateValue::Number(wave)) if name == "wave" => *wave = clock.wave.into(),
                        _ => {}
                    }
                }
                let limits = [clock.extra.into(), clock.slow.into(), count(0), count(1), count(2), 0, 0];
                (clock.substeps, seconds, limits.to_vec())
            } else {
                (clock.ticks, sliding, vec![clock.cut.into()])
            };
            let setup = slot.process.setup_mut();
            setup.counts_mut().substeps += u64::from(substeps);
            setup.counts_mut().seconds += seconds;
            setup.add_limits(&limits);
        }
        simulation.record_ticks(clock.ticks.into(), if has(HAS_WATER) { morphological } else { sliding });
    }
}

/// Parts of a benchmark.
impl GpuSimulation {
    /// Returns the name of each kernel, and the bytes that it reads and writes per cell.
    pub(crate) fn kernel_sizes(&self) -> Vec<(&'static str, f64)> {
        self.kernels.iter().map(|kernel| (kernel.info.name, f64::from(kernel.info.bytes))).collect()
    }

    /// Runs a kernel this many times, on all cells, and waits for it.
    pub(crate) fn repeat_kernel(&self, index: usize, times: u32) -> Result<(), DeviceError> {
        self.device.checked(|| {
            let kernel = &self.kernels[index];
            self.write_dispatches();
            let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                (0..times).for_each(|_| kernel.dispatch(&mut pass, &self.buffers[Buffer::Dispatches as usize]));
            }
            self.device.queue.submit([encoder.finish()]);
        })?;
        self.device.wait()
    }

    /// Copies a layer this many times, and waits for it.
    pub(crate) fn copy_layers(&self, times: u32) -> Result<(), DeviceError> {
        let [from, to] = [Buffer::Bedrock, Buffer::Sand].map(|buffer| &self.buffers[buffer as usize]);
        self.device.checked(|| {
            let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            (0..times).for_each(|_| encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size()));
            self.device.queue.submit([encoder.finish()]);
        })?;
        self.device.wait()
    }

    /// Uploads all layers again.
    pub(crate) fn reset(&mut self, simulation: &mut Simulation) -> Result<(), DeviceError> {
        self.finish()?;
        self.versions = [None; LAYERS.len()];
        self.write_all(simulation)?;
        self.device.wait()
    }
}

/// Returns the active and inactive sources of a terrain with their cells.
fn cell_sources(terrain: &Terrain) -> Vec<CellSource> {
    let of = |source: &Source| {
        let cells = source.cells(terrain);
        let rate = source.rate / (cells.len() as f32 * terrain.cell_area() as f32);
        CellSource { source: *source, cells, rate }
    };
    terrain.sources.iter().map(of).collect()
}

/// Copies the cells in a mapped buffer.
fn copy_cells(cells: &mut [f32], mapped: &wgpu::Buffer) {
    let bytes = mapped.slice(..).get_mapped_range();
    cells.copy_from_slice(&bytemuck::cast_slice(&bytes)[..cells.len()]);
}
