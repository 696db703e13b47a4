//! What a project's manifest says.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};

use super::layers_of;
use crate::{
    model::{
        origin::{Geo, Heightmap, Options, Origin, Tile},
        session::{BYTES_PER_CELL, Session},
    },
    sim::{
        bounds::{CELL_SIZE, TICK, VOLUME},
        grid::Grid,
        ledger::{Account, Ledger, Row},
        memory::Memory,
        process::catalogue,
        terrain::{Layer, Pool, Source, Terrain},
    },
};

/// The format that is written. It goes up when a program that knows the last one would misread the new one.
pub(super) const FORMAT: u32 = 2;

/// What every manifest says, whatever else a newer one does.
#[derive(Deserialize)]
pub(super) struct Head {
    pub format: u32,
    pub program: String,
}

/// Where the eye is, in the units of the view.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Camera {
    /// The point that it looks at.
    pub focus: [f32; 3],
    /// Turn round the upright, in radians.
    pub yaw: f32,
    /// Angle above the ground, in radians.
    pub pitch: f32,
    /// Distance from the point.
    pub distance: f32,
}

impl Camera {
    pub(super) fn is_sane(&self) -> bool {
        let numbers = self.focus.into_iter().chain([self.yaw, self.pitch, self.distance]);
        numbers.into_iter().all(|number| number.abs() < 1e6) && self.distance > 0.0
    }
}

/// The whole manifest.
#[derive(Serialize, Deserialize)]
pub(super) struct Manifest {
    pub format: u32,
    pub program: String,
    pub chosen: usize,
    pub camera: Option<Camera>,
    pub runs: Vec<Run>,
}

impl Manifest {
    /// Reads the manifest of any format up to [`FORMAT`].
    pub fn of(text: &str) -> Result<Self, ron::error::SpannedError> {
        // Format 1 is the first. What a later one changes is brought up to date here.
        ron::from_str(text)
    }
}

/// One of the runs side by side.
#[derive(Serialize, Deserialize)]
pub(super) struct Run {
    name: String,
    title: String,
    about: String,
    seed: u64,
    tick: u64,
    /// Ticks of the finished scene.
    ticks: u64,
    pub size: [usize; 2],
    pub cell_size: f32,
    /// Where on Earth the imported map lies.
    pub geo: Option<Geo>,
    enabled: Vec<String>,
    /// Processes that keep off what is masked.
    limited: Vec<String>,
    /// Every parameter, by path.
    set: BTreeMap<String, String>,
    sources: Vec<Source>,
    /// Springs and still water at the start.
    begin_sources: Vec<Source>,
    pools: Vec<Pool>,
    tile: Option<Tile>,
    origin: From,
    solid: Books,
    water: Books,
    /// Columns and rows of every map.
    pub grids: BTreeMap<String, [usize; 2]>,
    /// Processes that keep something.
    pub kept: Vec<String>,
    /// What they keep that is no map.
    pub numbers: BTreeMap<String, f64>,
    pub counts: BTreeMap<String, u64>,
}

/// What the run was made from: see [`Origin`].
#[derive(Serialize, Deserialize)]
struct From {
    input: String,
    size: Option<(usize, usize)>,
    cell_size: Option<f32>,
    min_m: Option<f32>,
    max_m: Option<f32>,
    maps: Vec<(String, PathBuf)>,
    edited: bool,
    seeds_before: u64,
}

/// An account of the ledger: see [`Account`].
#[derive(Serialize, Deserialize)]
pub(super) struct Books {
    start: f64,
    edits: f64,
    /// Moved, eroded, deposited, outflow, lost, inflow, evaporated, carried.
    rows: BTreeMap<String, [f64; 8]>,
}

impl Books {
    pub fn of(account: &Account) -> Self {
        let row = |row: &Row| {
            let Row { moved, eroded, deposited, outflow, lost, inflow, evaporated, carried } = *row;
            [moved, eroded, deposited, outflow, lost, inflow, evaporated, carried]
        };
        let rows = account.rows.iter().map(|(key, kept)| ((*key).to_owned(), row(kept))).collect();
        Self { start: account.start, edits: account.edits, rows }
    }

    pub fn account(&self) -> Result<Account, String> {
        let mut account = Account { start: self.start, edits: self.edits, ..Account::default() };
        VOLUME.check("its ledger's volume at the start", self.start)?;
        VOLUME.check("its ledger's volume of edits", self.edits)?;
        let processes = catalogue();
        for (key, kept) in &self.rows {
            let known = processes.iter().map(|process| process.info().key).find(|known| known == key);
            let known = known.ok_or_else(|| format!("its ledger has a process \"{key}\", which there is not"))?;
            let name = format!("a volume of {known} in its ledger");
            kept.iter().try_for_each(|&volume| VOLUME.check(&name, volume))?;
            let [moved, eroded, deposited, outflow, lost, inflow, evaporated, carried] = *kept;
            *account.row(known) = Row { moved, eroded, deposited, outflow, lost, inflow, evaporated, carried };
        }
        Ok(account)
    }
}

impl Run {
    /// Memory that it will take, in bytes.
    pub fn bytes(&self) -> u64 {
        let cells = |[width, height]: [usize; 2]| width as u64 * height as u64;
        let begins = self.grids.iter().filter(|(name, _)| name.starts_with("begin "));
        let runs = |key: &str| self.enabled.iter().chain(&self.kept).any(|other| other == key);
        let processes = catalogue().into_iter().map(|process| *process.info()).filter(|info| runs(info.key));
        let bytes = BYTES_PER_CELL + processes.map(|info| info.bytes(rayon::current_num_threads())).sum::<usize>();
        cells(self.size) * bytes as u64 + begins.map(|(_, size)| 4 * cells(*size)).sum::<u64>()
    }

    pub fn of(session: &mut Session) -> Self {
        let (mut numbers, mut counts) = (BTreeMap::new(), BTreeMap::new());
        let kept = session.simulation.with_memories();
        for (name, memory) in session.simulation.memories(&kept) {
            match memory {
                Memory::Number(number) => drop(numbers.insert(name, *number)),
                Memory::Count(count) => drop(counts.insert(name, *count)),
                Memory::Cells(_) => {}
            }
        }
        let simulation = &session.simulation;
        let terrain = &simulation.terrain;
        let Origin { input, options, maps, edited, seeds_before } = session.origin.clone();
        Self {
            name: session.name.clone(),
            title: session.title.clone(),
            about: session.about.clone(),
            seed: simulation.seed(),
            tick: simulation.ticks(),
            ticks: session.ticks,
            size: [terrain.width(), terrain.height()],
            cell_size: terrain.cell_size,
            geo: session.heightmap.as_ref().and_then(|map| map.geo),
            enabled: simulation.slots.iter().filter(|slot| slot.enabled).map(|slot| slot.key().to_owned()).collect(),
            limited: simulation.slots.iter().filter(|slot| slot.limited).map(|slot| slot.key().to_owned()).collect(),
            set: session.all_parameters(),
            sources: terrain.sources.clone(),
            begin_sources: session.sources.clone(),
            pools: session.pools.clone(),
            tile: session.tile.clone(),
            origin: From {
                input,
                size: options.size,
                cell_size: options.cell_size,
                min_m: options.min_m,
                max_m: options.max_m,
                maps: maps.into_iter().map(|(layer, path)| (layer.import_title().to_owned(), path)).collect(),
                edited,
                seeds_before,
            },
            solid: Books::of(&simulation.ledger.solid),
            water: Books::of(&simulation.ledger.water),
            grids: layers_of(session).into_iter().map(|(name, grid)| (name, [grid.width(), grid.height()])).collect(),
            kept: kept.into_iter().map(str::to_owned).collect(),
            numbers,
            counts,
        }
    }

    /// The session on these layers. What processes keep is not in it yet.
    pub fn session(
        self,
        mut terrain: Terrain,
        maps: BTreeMap<Layer, Grid>,
        heightmap: Option<Arc<Heightmap>>,
    ) -> Result<Session, String> {
        CELL_SIZE.check("the side of its cells", self.cell_size)?;
        TICK.check("its tick", self.tick as f64)?;
        self.geo.map_or(Ok(()), |geo| geo.check())?;
        let From { input, size, cell_size, min_m, max_m, maps: loaded, edited, seeds_before } = self.origin;
        let layer = |title: &str| Layer::imports().find(|(_, import)| import.title == title);
        let origin = Origin {
            input,
            options: Options { size, cell_size, min_m, max_m },
            maps: loaded.into_iter().filter_map(|(title, path)| Some((layer(&title)?.0, path))).collect(),
            edited,
            seeds_before,
        };
        let mut session = Session::small(&self.name, self.seed, origin);
        // Of an imported map any size of cells will do, more than the generators offer.
        for (path, value) in self.set.iter().filter(|(path, _)| *path != "terrain.cell_size") {
            session.set(path, value).map_err(|error| error.to_string())?;
        }
        session.terrain.cell_size = self.cell_size;
        let names: Vec<&str> = self.enabled.iter().map(String::as_str).collect();
        if let Some(unknown) = session.enable(&names) {
            return Err(format!("there is no process \"{unknown}\""));
        }
        for slot in &mut session.simulation.slots {
            slot.limited = self.limited.iter().any(|key| key == slot.key());
        }
        self.sources.iter().chain(&self.begin_sources).try_for_each(Source::check)?;
        self.pools.iter().try_for_each(Pool::check)?;
        terrain.sources = self.sources;
        terrain.edge = session.terrain.edge;
        session.simulation.restart(terrain, self.seed);
        session.simulation.set_ticks(self.tick);
        let solid = self.solid.account()?;
        let water = self.water.account()?;
        session.simulation.ledger = Ledger { solid, water };
        session.title = self.title;
        session.about = self.about;
        session.ticks = self.ticks;
        session.sources = self.begin_sources;
        session.pools = self.pools;
        session.tile = self.tile;
        session.maps = maps;
        session.heightmap = heightmap;
        Ok(session)
    }
}
