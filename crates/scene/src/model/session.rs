//! Session: a simulation with everything needed to restart, save and reproduce it.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{
    origin::{Heightmap, Options, Origin, Tile},
    shaped::SculptedStart,
};
use crate::look::{Look, WaterLook};
use serde::{Deserialize, Serialize};
use thalweg_sim::{
    core::{
        bounds::InvalidInput,
        grid::Grid,
        terrain::{Edge, Layer, Pool, Source, Terrain},
    },
    generate::{TerrainParams, Uplift, generate},
    hydrology::network::RiverParams,
    params::{self, Group, GroupMut, ParamError, Value},
    process::{Process, water::BYTES_TO_FILL},
    simulation::{
        Simulation,
        grow::{GrowthEnd, GrowthProgress, RangeParams},
    },
};

/// Number of layers that every terrain has.
const LAYERS: usize = 6;
/// Memory of a simulation without processes, in bytes per cell: layers, rain, mask, the imported map, and temporary memory of
/// generation and export. Verified by `tests/memory.rs`.
pub const BYTES_PER_CELL: usize = 44;

/// Memory that rendering takes per cell, in bytes, of the present and of the start next to it: see [`count_rendering`].
static RENDERING: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// Counts the memory of rendering the present in [`Session::bytes`] from now on, and of rendering the start next to it in
/// [`Session::bytes_to_compare`], both in bytes per cell. For a window whose graphics adapter has no memory of its own.
pub fn count_rendering(present: usize, start: usize) {
    RENDERING.iter().zip([present, start]).for_each(|(counted, bytes)| counted.store(bytes, Ordering::Relaxed));
}

/// Returns a single-cell terrain, as a placeholder.
fn placeholder_terrain() -> Terrain {
    Terrain::bare(Grid::filled(1, 1, 0.0), 1.0, Edge::default())
}

/// Returns the layers that are painted by the user.
fn painted_layers() -> impl Iterator<Item = Layer> {
    Layer::ALL.iter().copied().filter(|layer| layer.row().painted)
}

/// Checks that the values of a map are valid for a layer.
///
/// # Errors
/// Names the layer, the defect and the valid range.
pub fn check_map(layer: Layer, map: &Grid) -> Result<(), InvalidInput> {
    let (name, bounds) = (layer.key(), layer.row().bounds);
    let (least, most) = map.min_max();
    bounds.check(format_args!("the minimum of the {name} map"), least)?;
    bounds.check(format_args!("the maximum of the {name} map"), most)?;
    if layer == Layer::Rain && most <= 0.0 {
        return Err(InvalidInput {
            wrong: "the rain map is 0 everywhere".into(),
            right: "at least one cell must be above 0".into(),
        });
    }
    Ok(())
}

/// Maximum number of ticks by which a window fast-forwards.
pub const MAX_FAST_FORWARD: u64 = 10_000;

/// Slider that a scene or a playlist offers to an audience. In files a text: the path of the parameter, and after a colon the title that the
/// audience reads if that of the parameter is too technical (`"droplets.entrainment: Erosion"`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct AudienceSlider {
    /// Path of the parameter.
    pub path: String,
    /// Title for the audience.
    pub title: Option<String>,
}

impl From<String> for AudienceSlider {
    fn from(text: String) -> Self {
        match text.split_once(':') {
            Some((path, title)) => Self { path: path.trim().to_owned(), title: Some(title.trim().to_owned()) },
            None => Self { path: text, title: None },
        }
    }
}

impl From<AudienceSlider> for String {
    fn from(AudienceSlider { path, title }: AudienceSlider) -> Self {
        title.map_or(path.clone(), |title| format!("{path}: {title}"))
    }
}

/// Simulation with everything needed to restart it.
#[derive(Clone)]
pub struct Session {
    /// Name of the scene or stem of the file.
    pub name: String,
    /// Title shown to the user.
    pub title: String,
    /// Description shown to the user.
    pub about: String,
    /// Number of ticks of the finished scene.
    pub ticks: u64,
    /// Tick to which a window fast-forwards.
    pub shown_from: u64,
    /// Sliders offered to an audience.
    pub sliders: Vec<AudienceSlider>,
    /// Generator parameters; size, cell size and edge also apply to an imported map.
    pub terrain: TerrainParams,
    /// Lighting and colour parameters.
    pub look: Look,
    /// Appearance of water.
    pub water_look: WaterLook,
    /// Source area and channel geometry of rivers.
    pub rivers: RiverParams,
    /// Mountain range that [`Self::grow`] creates.
    pub range: RangeParams,
    /// Imported heightmap, or `None` if the terrain is generated.
    pub heightmap: Option<Arc<Heightmap>>,
    /// Imported layers of any size, which replace the generated ones.
    pub maps: BTreeMap<Layer, Grid>,
    /// Springs and drains at the start.
    pub sources: Vec<Source>,
    /// Pools of still water at the start.
    pub pools: Vec<Pool>,
    /// The simulation, with all processes and their parameters.
    pub simulation: Simulation,
    /// Messages about the reading of the input, one sentence each.
    pub warnings: Vec<String>,
    /// Differences from the side-by-side simulations, if there are any.
    pub tile: Option<Tile>,
    /// Origin of the input.
    pub origin: Origin,
    /// Sculpted start.
    pub(crate) shaped: Option<Arc<SculptedStart>>,
    /// All parameters at opening.
    pub(super) opened_with: BTreeMap<String, Value>,
    /// Springs and drains at opening.
    opened_sources: Vec<Source>,
    /// Generator parameters and seed of the uplift map at the start of the simulation.
    uplift_source: (TerrainParams, u64),
}

/// The terrain with which a session restarts.
pub struct Start {
    terrain: Terrain,
    seed: u64,
    /// `true` if it was shaped by hand.
    edited: bool,
}

impl Session {
    /// Replaces the generated heights by an imported map. Takes effect at the next [`Self::restart`].
    pub fn set_heights(&mut self, map: Arc<Heightmap>) {
        let before = self.size();
        self.warnings.clone_from(&map.warnings);
        self.terrain.width = map.heights.width() as u32;
        self.terrain.height = map.heights.height() as u32;
        self.terrain.cell_size = map.cell_size;
        self.heightmap = Some(map);
        self.follow_size(before);
    }

    /// Creates a session with default parameters on a single-cell placeholder terrain.
    pub fn placeholder(name: &str, seed: u64, origin: Origin) -> Self {
        let terrain = placeholder_terrain();
        Self {
            name: name.to_owned(),
            title: name.to_owned(),
            about: String::new(),
            ticks: 200,
            shown_from: 0,
            sliders: Vec::new(),
            simulation: Simulation::new(terrain, seed),
            terrain: TerrainParams::default(),
            look: Look::default(),
            water_look: WaterLook::default(),
            rivers: RiverParams::default(),
            range: RangeParams::default(),
            heightmap: None,
            maps: BTreeMap::new(),
            sources: Vec::new(),
            pools: Vec::new(),
            warnings: Vec::new(),
            tile: None,
            origin,
            shaped: None,
            opened_with: BTreeMap::new(),
            opened_sources: Vec::new(),
            uplift_source: (TerrainParams::default(), seed),
        }
    }

    /// Applies the size options. A new size keeps the extent of the map, unless the cell size is given too.
    pub fn apply_size(&mut self, options: &Options) {
        let before = self.size();
        if let Some((width, height)) = options.size {
            self.terrain.cell_size *= self.terrain.width.min(self.terrain.height) as f32 / width.min(height) as f32;
            self.terrain.width = width as u32;
            self.terrain.height = height as u32;
        }
        if let Some(cell_size) = options.cell_size {
            self.terrain.cell_size = cell_size;
        }
        self.follow_size(before);
    }

    /// Changes the number of cells along the shorter side. Takes effect at the next [`Self::restart`].
    pub fn resize(&mut self, side: u32) {
        let before = self.size();
        self.terrain.resize(side);
        self.follow_size(before);
    }

    /// Limits the number of cells along the shorter side, resampling an imported map. Takes effect at the next [`Self::restart`].
    pub fn shrink(&mut self, side: u32) {
        let shorter = self.terrain.width.min(self.terrain.height);
        self.resize(side.min(shorter));
        let Some(map) = self.heightmap.clone() else { return };
        let (width, height) = (self.terrain.width as usize, self.terrain.height as usize);
        self.set_heights(Arc::new(Heightmap {
            heights: map.heights.resample(width, height),
            file_size: map.file_size,
            cell_size: map.cell_size * map.heights.height() as f32 / height as f32,
            geo: None,
            nodata: None,
            warnings: Vec::new(),
        }));
    }

    /// Scales the parameters that depend on the number of cells, so that rain and grains per cell stay the same.
    fn follow_size(&mut self, before: (usize, usize)) {
        self.follow(before, |_| true);
    }

    /// Scales only those parameters whose paths are wanted.
    pub fn follow(&mut self, before: (usize, usize), wanted: impl Fn(&str) -> bool) {
        let cells = [before, self.size()].map(|(width, height)| (width * height) as f64);
        if cells[0] == cells[1] {
            return;
        }
        for slot in &mut self.simulation.slots {
            let (key, fresh) = (slot.key(), slot.process.boxed_default());
            let [params, _] = slot.process.settings_mut();
            params::rescale_counts((key, params), fresh.params(), cells, &wanted);
        }
        params::rescale_counts(("rivers", &mut self.rivers), &RiverParams::default(), cells, &wanted);
    }

    /// Returns a session with the default parameters for a map of this size.
    pub fn defaults(&self) -> Self {
        let mut defaults = Self::placeholder("", 0, Origin::default());
        let before = defaults.size();
        (defaults.terrain.width, defaults.terrain.height) = (self.terrain.width, self.terrain.height);
        defaults.heightmap.clone_from(&self.heightmap);
        defaults.follow_size(before);
        defaults.terrain = TerrainParams::default();
        defaults
    }

    /// Returns a copy with all parameters and switches but without layers and maps, for what-if queries.
    pub fn outline(&self) -> Self {
        let mut outline = Self::placeholder(&self.name, self.simulation.seed(), self.origin.clone());
        outline.terrain = self.terrain.clone();
        outline.heightmap = self.heightmap.clone();
        outline.simulation.copy_settings_from(&self.simulation);
        outline
    }

    /// Returns a copy with a simulation of a single cell: all that [`Self::start`] needs.
    pub fn without_simulation(&self) -> Self {
        Self {
            maps: self.maps.clone(),
            sources: self.sources.clone(),
            pools: self.pools.clone(),
            shaped: self.shaped.clone(),
            ..self.outline()
        }
    }

    /// Takes the simulation out, leaving a single-cell placeholder.
    pub fn take_simulation(&mut self) -> Simulation {
        let seed = self.simulation.seed();
        std::mem::replace(&mut self.simulation, Simulation::new(placeholder_terrain(), seed))
    }

    /// Returns columns and rows after the next restart.
    pub fn size(&self) -> (usize, usize) {
        match &self.heightmap {
            Some(map) => (map.heights.width(), map.heights.height()),
            None => (self.terrain.width as usize, self.terrain.height as usize),
        }
    }

    /// Returns the memory of a number of full-size maps, in bytes.
    pub fn bytes_of_maps(&self, maps: usize) -> u64 {
        let (width, height) = self.size();
        4 * (maps * width * height) as u64
    }

    /// Returns the memory that a restarted simulation takes while it runs, in bytes.
    pub fn bytes(&self) -> u64 {
        let (width, height) = self.size();
        let running = self.simulation.slots.iter().filter(|slot| slot.enabled).map(|slot| &*slot.process);
        let of = |process: &dyn Process| {
            let to_begin = process.capabilities().steady.map_or(0, |water| water.startup_bytes_per_cell());
            process.info().footprint.bytes_per_cell(self.simulation.threads()) + to_begin
        };
        let bytes = BYTES_PER_CELL + RENDERING[0].load(Ordering::Relaxed) + running.map(of).sum::<usize>();
        let bytes = bytes + if self.heightmap.is_none() { self.terrain.generator.bytes_per_cell() } else { 0 };
        let bytes = bytes + if self.terrain.uplift == Uplift::Uniform { 0 } else { 4 };
        let nodata = self.heightmap.as_ref().is_some_and(|map| map.nodata.is_some());
        (bytes * width * height) as u64 + self.bytes_of_maps(self.maps.len() + usize::from(nodata))
    }

    /// Returns [`Self::bytes`] minus the memory of the current layers.
    pub fn additional_bytes(&self) -> u64 {
        self.bytes().saturating_sub(self.bytes_of_layers())
    }

    /// Returns the memory required to render the session, in bytes, as far as it is counted.
    pub fn bytes_to_render(&self) -> u64 {
        (RENDERING[0].load(Ordering::Relaxed) * self.simulation.terrain.bedrock.len()) as u64
    }

    /// Returns the memory required to render the start next to the present, in bytes, as far as it is counted.
    pub fn bytes_to_compare(&self) -> u64 {
        (RENDERING[1].load(Ordering::Relaxed) * self.simulation.terrain.bedrock.len()) as u64
    }

    /// Returns the memory required to grow a range, in bytes.
    pub fn bytes_to_grow(&self) -> u64 {
        let mut outline = self.outline();
        outline.enable(&["fluvial"]);
        outline.bytes() + outline.bytes_of_maps(self.maps.len())
    }

    /// Returns the memory required to compute steady-state rivers, in bytes.
    pub fn bytes_to_fill(&self) -> u64 {
        (BYTES_TO_FILL * self.simulation.terrain.bedrock.len()) as u64
    }

    /// Returns the memory of the current layers, in bytes.
    pub fn bytes_of_layers(&self) -> u64 {
        (LAYERS * 4 * self.simulation.terrain.bedrock.len()) as u64
    }

    /// Enables exactly these processes. Returns the first unknown key, in which case nothing changes.
    pub fn enable<'a>(&mut self, keys: &[&'a str]) -> Option<&'a str> {
        if let Some(&unknown) = keys.iter().find(|key| self.simulation.slot_mut(key).is_none()) {
            return Some(unknown);
        }
        for slot in &mut self.simulation.slots {
            slot.enabled = keys.contains(&slot.key());
        }
        None
    }

    /// Returns all parameters: terrain, look, rivers, range, processes.
    pub fn groups(&self) -> Vec<Group<'_>> {
        self.groups_with(&self.terrain)
    }

    /// Returns all parameters, those of the terrain from `terrain`.
    pub fn groups_with<'a>(&'a self, terrain: &'a TerrainParams) -> Vec<Group<'a>> {
        let mut groups: Vec<Group<'a>> = vec![
            ("terrain", terrain),
            ("look", &self.look),
            ("water-look", &self.water_look),
            ("rivers", &self.rivers),
            ("range", &self.range),
        ];
        groups.extend(self.simulation.groups());
        groups
    }

    /// Returns all parameters for modification.
    pub fn groups_mut(&mut self) -> Vec<GroupMut<'_>> {
        let mut groups: Vec<GroupMut<'_>> = vec![
            ("terrain", &mut self.terrain),
            ("look", &mut self.look),
            ("water-look", &mut self.water_look),
            ("rivers", &mut self.rivers),
            ("range", &mut self.range),
        ];
        groups.extend(self.simulation.groups_mut());
        groups
    }

    /// Returns `true` if there is a parameter with this path.
    pub fn has(&self, path: &str) -> bool {
        self.groups().into_iter().flat_map(params::collect_parameters).any(|parameter| parameter.path == path)
    }

    /// Returns a warning that a parameter has no effect because of the value of another one, or `None` if it has an effect.
    pub fn warn_of_no_effect(&self, path: &str) -> Option<String> {
        let group = path.split('.').next().unwrap_or_default();
        let fields = self.groups().into_iter().find(|(key, _)| *key == group).map(params::collect_parameters)?;
        let parameter = fields.iter().find(|parameter| parameter.path == path)?;
        let (name, values) = parameter.knob.idle(&fields)?;
        Some(format!("{path} has no effect; it requires {group}.{name} to be {}", values.join(" or ")))
    }

    /// Sets a parameter by its path. Terrain parameters take effect at the next [`Self::restart`].
    ///
    /// # Errors
    /// The path is unknown, the text is malformed or the number is out of range. Nothing changes then.
    pub fn set(&mut self, path: &str, text: &str) -> Result<(), ParamError> {
        let before = self.size();
        params::set(&mut self.groups_mut(), path, text)?;
        self.follow_size(before);
        Ok(())
    }

    /// Sets parameters by their paths, terrain parameters first, as others are stated for the resulting size.
    ///
    /// # Errors
    /// As for [`Self::set`], for the first invalid parameter; earlier ones are set.
    pub fn set_all<'a>(
        &mut self,
        parameters: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> Result<(), ParamError> {
        let of_terrain = |(path, _): &(&str, &str)| path.starts_with("terrain.");
        let before = self.size();
        let mut set = |(path, text): (&str, &str)| params::set(&mut self.groups_mut(), path, text);
        let outcome = parameters.clone().filter(of_terrain).try_for_each(&mut set);
        self.follow_size(before);
        outcome?;
        let mut set = |(path, text): (&str, &str)| params::set(&mut self.groups_mut(), path, text);
        parameters.filter(|parameter| !of_terrain(parameter)).try_for_each(&mut set)
    }

    /// Raises the numbers of particles at which the simulation counts as finished to their maximum, so that it does not pause there.
    /// Keeps those for whose paths `is_fixed` returns `true`.
    pub fn raise_totals(&mut self, is_fixed: impl Fn(&str) -> bool) {
        let counted = self.simulation.slots.iter().filter(|slot| slot.particles().is_some());
        let paths: Vec<String> = counted.map(|slot| format!("{}.total", slot.key())).collect();
        for path in paths.iter().filter(|path| !is_fixed(path)) {
            let most = params::get(&self.groups(), path).map(|total| total.knob.max.to_string());
            // The maximum is a valid value.
            let _ = most.and_then(|most| self.set(path, &most));
        }
    }

    /// Writes a valid value to a parameter of a group, if there is one with this name.
    pub fn write(&mut self, group: &str, name: &str, value: &Value) {
        let before = self.size();
        if let Some((_, fields)) = self.groups_mut().iter_mut().find(|(key, _)| *key == group) {
            params::write(*fields, name, value);
        }
        self.follow_size(before);
    }

    /// Replaces springs and drains, now and at the next restart.
    pub fn set_sources(&mut self, sources: Vec<Source>) {
        self.simulation.terrain.sources.clone_from(&sources);
        self.sources = sources;
    }

    /// Returns the start terrain for a seed.
    pub fn start_terrain(&self, seed: u64) -> Terrain {
        let mut terrain = match &self.heightmap {
            None => generate(&self.terrain, seed),
            Some(map) => {
                let mut terrain = Terrain::bare(map.heights.clone(), map.cell_size, self.terrain.edge);
                terrain.spread_sand(self.terrain.sand);
                terrain.uplift = self.terrain.uplift_map((terrain.width(), terrain.height()), seed);
                terrain
            }
        };
        // Maps are resampled to the current size.
        for (&layer, map) in &self.maps {
            terrain.set_layer(layer, Some(map.resample(terrain.width(), terrain.height())));
        }
        if self.maps.contains_key(&Layer::Sand) {
            terrain.start = terrain.ground();
        }
        terrain.sources = self.sources.clone();
        self.pools.iter().for_each(|pool| terrain.fill(pool));
        terrain
    }

    /// Returns the name among side-by-side simulations. If the seed differs from that of the scene, the name states the seed.
    pub fn tile_title(&self) -> Option<String> {
        let tile = self.tile.as_ref()?;
        match tile.seed {
            Some(seed) if seed != self.simulation.seed() => Some(format!("Seed {}", self.simulation.seed())),
            _ => Some(tile.title.clone()),
        }
    }

    /// Restarts from the start terrain, or from the sculpted start recorded by [`Self::record_sculpted_start`]. Parameters, switches and painted
    /// layers are kept.
    pub fn restart(&mut self, seed: u64) {
        // The old terrain is freed before the new one is generated.
        let painted = self.take_painted();
        let start = self.start(seed);
        self.begin(start, painted);
    }

    /// Restarts with a terrain that [`Self::start`] has returned for the same parameters.
    pub fn restart_from(&mut self, start: Start) {
        let painted = self.take_painted();
        self.begin(start, painted);
    }

    /// Generates the terrain of a restart with this seed: everything but the painted layers.
    pub fn start(&self, seed: u64) -> Start {
        let shaped = self.sculpted_start_terrain(seed);
        let edited = shaped.is_some();
        Start { terrain: shaped.unwrap_or_else(|| self.start_terrain(seed)), seed, edited }
    }

    /// Takes the layers painted by the user out of the terrain, and drops the rest of it.
    fn take_painted(&mut self) -> Vec<(Layer, Grid)> {
        let painted: Vec<Layer> = painted_layers().filter(|&layer| self.paints(layer)).collect();
        // The old layers are dropped before the new ones are created.
        let mut before = std::mem::replace(&mut self.simulation.terrain, placeholder_terrain());
        let mut take = |layer| std::mem::replace(before.layer_mut(layer), Grid::filled(0, 0, 0.0));
        painted.into_iter().map(|layer| (layer, take(layer))).collect()
    }

    fn begin(&mut self, start: Start, painted: Vec<(Layer, Grid)>) {
        let Start { mut terrain, seed, edited } = start;
        self.origin.edited = edited;
        for (layer, grid) in painted {
            terrain.set_layer(layer, Some(grid.resample(terrain.width(), terrain.height())));
        }
        self.simulation.restart(terrain, seed);
        self.record_uplift_source();
    }

    /// Replaces the ground by a mountain range according to [`Self::range`], as an edit: see [`Simulation::grow_range`].
    ///
    /// # Errors
    /// There is no uplift.
    pub fn grow(&mut self, show: impl FnMut(GrowthProgress<'_>) -> bool + Send) -> Result<GrowthEnd, InvalidInput> {
        let end = self.simulation.grow_range(&self.range, show)?;
        if end != GrowthEnd::Cancelled {
            self.origin.edited = true;
            self.record_sculpted_start();
        }
        Ok(end)
    }

    /// Records the parameters and seed of the current uplift map.
    pub(super) fn record_uplift_source(&mut self) {
        self.uplift_source = (self.terrain.clone(), self.simulation.seed());
    }

    /// Returns `true` if a painted layer differs from its imported or generated map.
    fn paints(&self, layer: Layer) -> bool {
        let terrain = &self.simulation.terrain;
        let size = (terrain.width(), terrain.height());
        let made = || match self.maps.get(&layer) {
            Some(map) => Some(map.resample(size.0, size.1)),
            None if layer == Layer::Uplift => self.uplift_source.0.uplift_map(size, self.uplift_source.1),
            None => None,
        };
        terrain.layer(layer).is_some_and(|now| Some(now) != made().as_ref())
    }

    /// Imports a map that was read from `path`. Takes effect at the next [`Self::restart`].
    ///
    /// # Errors
    /// The values are invalid for this layer. Nothing changes then.
    pub fn set_map(&mut self, layer: Layer, path: &Path, grid: Grid) -> Result<(), InvalidInput> {
        if layer == Layer::Bedrock {
            return Err(InvalidInput { wrong: "it is a heightmap".into(), right: "open it instead".into() });
        }
        check_map(layer, &grid)?;
        self.maps.insert(layer, grid);
        if layer.row().painted {
            // It replaces the painted layer.
            self.simulation.terrain.set_layer(layer, None);
        } else {
            self.discard_sculpted_start();
        }
        self.origin.maps.retain(|(other, _)| *other != layer);
        self.origin.maps.push((layer, path.to_owned()));
        Ok(())
    }

    /// Records the current parameters as those the session was opened with.
    pub fn record_defaults(&mut self) {
        self.opened_with = self.parameters();
        self.opened_sources.clone_from(&self.sources);
    }

    /// Returns all parameters by path, as written on the command line.
    pub fn all_parameters(&self) -> BTreeMap<String, String> {
        self.parameters().into_iter().map(|(path, value)| (path, value.to_string())).collect()
    }

    fn parameters(&self) -> BTreeMap<String, Value> {
        self.groups()
            .into_iter()
            .flat_map(params::collect_parameters)
            .map(|parameter| (parameter.path, parameter.value))
            .collect()
    }

    /// Returns the parameters that differ from the defaults, as written in a scene file.
    pub fn changed_parameters(&self) -> BTreeMap<String, String> {
        self.different_from(&self.defaults().parameters())
    }

    pub(super) fn different_from(&self, others: &BTreeMap<String, Value>) -> BTreeMap<String, String> {
        let changed = self.parameters().into_iter().filter(|(path, value)| others.get(path) != Some(value));
        changed.map(|(path, value)| (path, value.to_string())).collect()
    }

    /// Returns `true` if generator, parameters and seed alone reproduce the current layers.
    pub fn generates_its_state(&self) -> bool {
        let untouched = self.simulation.ticks() == 0 && self.simulation.between_ticks() && !self.origin.edited;
        let painted = painted_layers().any(|layer| self.paints(layer));
        untouched && !painted && self.heightmap.is_none() && self.maps.is_empty()
    }

    /// Returns `true` if the session is based on an imported map rather than a scene.
    pub fn is_imported_map(&self) -> bool {
        let ending = self.origin.input.extension();
        self.heightmap.is_some() && ending.is_some_and(|ending| !ending.eq_ignore_ascii_case("ron"))
    }

    /// Returns `true` if there are manual edits that [`Self::command_line`] does not reproduce.
    pub fn has_manual_edits(&self) -> bool {
        let painted = painted_layers().any(|layer| self.paints(layer));
        self.origin.edited || painted || self.sources != self.opened_sources
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::scene::open_first;

    #[test]
    fn particle_counts_and_river_threshold_scale_with_cells() {
        let sized = |size| open_first("round-hill", &Options { size, ..Options::default() }).expect("built in");
        let numbers = |session: &Session| {
            let all = session.all_parameters();
            ["droplets.per_tick", "droplets.total", "wind.per_tick", "rivers.from_cells"]
                .map(|path| all[path].parse::<u32>().unwrap_or(0))
        };
        let mut session = sized(None);
        assert_eq!(numbers(&session), [1000, 200_000, 1024, 100]);
        assert_eq!(numbers(&sized(Some((1024, 512)))), [8000, 1_600_000, 8192, 800]);
        // Stated numbers scale back exactly, however small the map was; others are multiplied.
        session.set("wind.per_tick", "500").expect("in range");
        session.resize(33);
        assert_eq!(numbers(&session), [17, 3323, 8, 2]);
        session.write("terrain", "width", &Value::Number(256.0));
        session.resize(512);
        session.set("terrain.height", "512").expect("in range");
        session.set("terrain.width", "512").expect("in range");
        assert_eq!(numbers(&session)[..2], [4000, 800_000]);
        // A scene file omits parameters that follow from the size, and the terrain size is set before them.
        let changed = session.changed_parameters();
        assert!(!changed.contains_key("droplets.total") && changed.contains_key("wind.per_tick"), "{changed:?}");
        let set = [("droplets.per_tick", "70"), ("terrain.width", "64"), ("terrain.height", "64")];
        session.set_all(set.into_iter()).expect("in range");
        assert_eq!(numbers(&session)[..2], [70, 12_500]);
        assert!(session.set_all([("wind.per_tick", "0"), ("look.exposure", "0")].into_iter()).is_err());
    }

    #[test]
    fn generated_uplift_follows_seed_and_painted_one_stays() {
        let options = Options { size: Some((64, 64)), ..Options::default() };
        let mut session = open_first("round-hill", &options).expect("built in");
        let mut rises = |kind: &str, seed| {
            session.set("terrain.uplift", kind).expect("there is such a kind");
            session.restart(seed);
            assert!(session.generates_its_state() && !session.has_manual_edits(), "{kind}");
            session.simulation.terrain.uplift.clone()
        };
        let belt = rises("belt", 1);
        assert!(belt.is_some() && belt != rises("belt", 2) && belt != rises("fault", 1) && belt == rises("belt", 1));
        assert_eq!(rises("uniform", 1), None);
        assert!(rises("dome", 1).is_some());
        session.simulation.terrain.layer_mut(Layer::Uplift)[100] = 0.25;
        let painted = session.simulation.terrain.uplift.clone();
        assert!(session.has_manual_edits() && !session.generates_its_state());
        session.restart(5);
        assert_eq!(session.simulation.terrain.uplift, painted);
    }

    #[test]
    fn layer_maps_are_resized_with_terrain() {
        let options = Options { size: Some((64, 64)), ..Options::default() };
        let mut session = open_first("round-hill", &options).expect("built in");
        for layer in [Layer::Sand, Layer::Softness, Layer::Rain] {
            session.set_map(layer, Path::new("map.r32"), Grid::filled(64, 64, 0.5)).expect("it makes sense");
        }
        for side in [96, 32] {
            session.resize(side);
            session.restart(1);
            let terrain = &session.simulation.terrain;
            assert_eq!(terrain.sand.len(), (side * side) as usize);
            assert_eq!(terrain.rain.as_ref().map(|rain| rain.len()), Some((side * side) as usize));
            session.simulation.tick();
        }
    }
}
