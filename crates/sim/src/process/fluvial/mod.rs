//! Uplift and rivers: mountains rise, rivers cut them down, and the debris is laid down below.
//!
//! ```text
//! ∂z/∂t = U − E + D·∇²z,     E + G·Qs/A = Kd·A^m·S^n
//! ```
//!
//! z height, U uplift, E erosion (negative: deposition), Qs volume of sediment that passes in a year, A drained area, weighted by
//! rain, S slope to the receiver, D creep of hillsides (Davy & Lague 2009; Yuan et al. 2019). A tick: the land rises; every cell finds
//! its receiver and hollows their passes ([`drainage`](crate::hydrology::drainage)); what stands too steep slides and rivers cut and lay
//! down, solved implicitly for all cells at once (`solve.rs`); hillsides creep (`creep.rs`); what came of it is taken from the sand
//! first, then from the rock, and what is laid down is sand (`layers.rs`). All is proportional to the number of cells.
//!
//! Outlets keep their height: they neither rise nor take anything, and what reaches them is booked as outflow.
//! What is left over of a tick because a height has 24 bits, the next tick makes up for.
//!
//! Rivers also end in the sea: all that lies lower than its level. Its ground rises like other land, and nothing else changes it:
//! what the rivers bring there has left. The layer `water` shows the sea, and where the sea has fallen it is taken away.
//!
//! Limits: other water in that layer plays no part. The land of a lake rises like all other. With a mask that
//! scales the erodibility, each cell has its own.

mod creep;
mod explain;
mod layers;
mod params;
mod pieces;
mod solve;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, ops::Range, sync::Arc};

pub use self::params::{CRITICAL_SLOPE, DIFFUSIVITY, ERODIBILITY, Factors, Params, YEARS_PER_TICK};
use self::{pieces::Pieces, solve::Rivers};
use super::{
    Abilities, AnySetup, Context, Footprint, Info, Mode, Process, Progress, Reference, Setup, explain::Explanation,
    stage::stages,
};
use crate::{
    core::{
        border::Border,
        grid::Grid,
        quantity::Quantity,
        rng::Stream,
        terrain::{Layer, Terrain},
    },
    hydrology::drainage::{Diagonal, Drainage},
    process::{
        masked::{Masked, Scaled},
        memory::{Memories, Memory},
    },
};

stages! {
    /// The land rises.
    Rise = "rise",
    /// Every cell finds where its water runs.
    Drain = "drain",
    /// What is too steep slides; rivers cut their beds and lay down what they carry.
    Cut = "cut",
    /// Hillsides creep.
    Creep = "creep",
    /// What came of it is taken off the sand and the rock, or laid down as sand.
    Lay = "lay",
}

/// Declaration of the process.
pub const INFO: Info = Info {
    key: "fluvial",
    title: "Uplift and rivers",
    about: "Mountains rise, rivers cut valleys into them, and their debris is laid down below.",
    reference: Reference {
        source: "Braun & Willett 2013; Yuan et al. 2019 after Davy & Lague 2009; Hergarten 2020",
        equations: &[include_str!("mod.rs")],
    },
    footprint: Footprint { per_cell: 120, per_cell_and_thread: 0 },
    reads: &[Layer::Bedrock, Layer::Sand, Layer::Softness, Layer::Rain, Layer::Uplift],
    writes: &[Layer::Bedrock, Layer::Sand, Layer::Water],
    stages: Stage::ALL,
    ..Info::BARE
};

/// Cells that are worked on before others have their turn, about.
const PART: usize = 1 << 18;

/// What a tick works with; it keeps its memory from tick to tick.
#[derive(Clone)]
struct Work {
    drainage: Drainage,
    /// Height of the raised ground, and by how much it has grown since, in metres.
    ground: Vec<f32>,
    change: Vec<f32>,
    pieces: Pieces,
    /// Parameters as the tick began with them, what the mask makes of them, and powers of areas.
    params: Params,
    masked: Option<Arc<Masked<Params>>>,
    powers: Vec<f64>,
    /// The part of a stage that comes next.
    part: usize,
    /// What has left, in cubic metres.
    left: f64,
}

/// The process: parameters, counts, years, the level to which the sea was filled, what is owed to the ground in metres times cells, and
/// the map of drained areas.
#[derive(Clone)]
pub struct Fluvial {
    setup: Setup<Params, Factors>,
    years: f64,
    sea: f64,
    owed: f64,
    areas: Option<Grid>,
    work: Option<Work>,
}

impl Default for Fluvial {
    fn default() -> Self {
        Self { setup: Setup::default(), years: 0.0, sea: params::NO_SEA, owed: 0.0, areas: None, work: None }
    }
}

/// Numbers of the law that the mask scales.
struct Numbers<'a> {
    even: Scaled<'a, 4>,
    width: usize,
    masked: bool,
}

/// The same in a cell.
#[derive(Clone, Copy)]
struct CellNumbers {
    erodibility: f64,
    deposition: f64,
    critical_slope: f64,
    uplift_rate: f64,
}

impl<'a> Numbers<'a> {
    fn new(params: &Params, masked: Option<&'a Masked<Params>>, width: usize) -> Self {
        let of = |params: &Params| [params.erodibility, params.deposition, params.critical_slope, params.uplift_rate];
        Self { even: Scaled::new(params, masked, of), width, masked: masked.is_some() }
    }

    #[inline(always)]
    fn at(&self, cell: usize) -> CellNumbers {
        let (x, y) = if self.masked { (cell % self.width, cell / self.width) } else { (0, 0) };
        let [erodibility, deposition, critical_slope, uplift_rate] = self.even.at(x, y).map(f64::from);
        CellNumbers { erodibility, deposition, critical_slope, uplift_rate }
    }
}

/// The parts in which a stage works on so many lines of this length, each of them a multiple of `whole` lines but the last.
fn parts(lines: usize, length: usize, whole: usize) -> impl Iterator<Item = Range<usize>> {
    let each = (PART / length / whole).max(1) * whole;
    (0..lines).step_by(each).map(move |first| first..(first + each).min(lines))
}

impl Fluvial {
    fn work(&mut self, terrain: &Terrain) -> &mut Work {
        let border = Border::of(terrain);
        let fits = |work: &Work| {
            let known = work.drainage.border();
            (known.width, known.height, known.edge) == (border.width, border.height, border.edge)
        };
        self.work.take_if(|work| !fits(work));
        let count = border.width * border.height;
        self.work.get_or_insert_with(|| Work {
            drainage: Drainage::new(border),
            ground: vec![0.0; count],
            change: vec![0.0; count],
            pieces: Pieces::default(),
            params: Params::default(),
            masked: None,
            powers: Vec::new(),
            part: 0,
            left: 0.0,
        })
    }

    fn areas(&mut self, terrain: &Terrain) -> &mut Grid {
        let size = (terrain.width(), terrain.height());
        self.areas.take_if(|areas| (areas.width(), areas.height()) != size);
        self.areas.get_or_insert_with(|| Grid::filled(size.0, size.1, 0.0))
    }
}

impl Fluvial {
    /// Returns the process with these parameters.
    pub fn with(params: Params) -> Self {
        Self { setup: Setup::with(params), ..Self::default() }
    }
}

impl Process for Fluvial {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn setup(&self) -> &dyn AnySetup {
        &self.setup
    }

    fn setup_mut(&mut self) -> &mut dyn AnySetup {
        &mut self.setup
    }

    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> Progress {
        let terrain = &mut *context.terrain;
        if terrain.bedrock.is_empty() {
            return Progress::Done;
        }
        self.work(terrain);
        self.areas(terrain);
        let Self { setup, years, sea: filled, owed, areas: Some(areas), work: Some(work) } = self else {
            unreachable!("both were made above")
        };
        let (border, area) = (Border::of(terrain), terrain.cell_area());
        let row = context.ledger.solid.row(INFO.key);
        let index = stage;
        let stage = Stage::at(index);
        if stage == Stage::Rise {
            work.params = setup.params.clone();
            work.masked = setup.masked(terrain, work.params.mode).map(Arc::new);
            work.powers = solve::powers(&work.params, area, work.ground.len());
            (work.part, work.left) = (0, 0.0);
        }
        let Work { drainage, ground, change, pieces, params, masked, powers, part, left } = work;
        let numbers = Numbers::new(params, masked.as_deref(), terrain.width());
        let time = f64::from(params.years_per_tick);
        match stage {
            Stage::Rise => {
                let sea = params.sea();
                layers::ground(terrain, ground);
                drainage.set_sea(f32::NEG_INFINITY);
                drainage.find_outlets(ground);
                // The floor of the sea rises too.
                let outlets = drainage.outlets().iter().copied();
                let held: Vec<u32> = outlets.filter(|&outlet| ground[outlet as usize] >= sea).collect();
                let lift = |cell: usize| numbers.at(cell).uplift_rate * time;
                let risen = layers::rise(terrain, &held, lift) * area;
                row.inflow += risen;
                row.moved += risen;
                let levels = [params::sea(*filled), sea];
                let [came, went] = layers::fill_sea(terrain, ground, levels).map(|depth| depth * area);
                *filled = params.sea_level.into();
                let water = context.ledger.water.row(INFO.key);
                water.inflow += came;
                water.outflow += went;
                water.moved += came + went;
                drainage.set_sea(sea);
                drainage.begin(ground);
            }
            Stage::Drain => {
                let diagonal = match params.mode {
                    Mode::Corrected => {
                        let mut stream = Stream::new(context.seed, INFO.key, context.tick);
                        Diagonal::Random(u64::from(stream.bits()) << 32 | u64::from(stream.bits()))
                    }
                    Mode::Published => Diagonal::Plain,
                };
                if !drainage.go_on(ground, diagonal) {
                    return Progress::From(index);
                }
                pieces.begin(drainage.outlets());
            }
            Stage::Cut => {
                let rivers = Rivers::new(params, &numbers, drainage, terrain, (ground, powers));
                if !pieces.go_on(&rivers, change, areas) {
                    return Progress::From(index);
                }
                *left = pieces.left;
            }
            Stage::Creep => {
                let lambda = f64::from(params.diffusivity) * time / area;
                let rows = parts(border.height, border.width, 1).map(|rows| (rows, true));
                let columns = parts(border.width, border.height, creep::COLUMNS).map(|columns| (columns, false));
                if lambda > 0.0
                    && let Some((lines, are_rows)) = rows.chain(columns).nth(*part)
                {
                    let along = if are_rows { creep::along_rows } else { creep::along_columns };
                    *left += along(border, lines, ground, change, lambda) * area;
                    *part += 1;
                    return Progress::From(index);
                }
                // What creeps into the only outlet of a wall, or of a map that goes round, leaves there.
                for &outlet in drainage.outlets() {
                    *left += f64::from(std::mem::take(&mut change[outlet as usize])) * area;
                }
                *part = 0;
            }
            Stage::Lay => {
                if let Some(cells) = parts(ground.len(), 1, layers::CHUNK).nth(*part) {
                    let laid = layers::lay(terrain, cells, change, *owed);
                    row.eroded += laid.eroded * area;
                    row.deposited += laid.deposited * area;
                    row.moved += (laid.eroded + laid.deposited) * area;
                    *owed = laid.owed;
                    *part += 1;
                    return Progress::From(index);
                }
                row.outflow += *left;
                row.carried = *owed * area;
                *years += time;
                setup.counts.substeps += 1;
            }
        }
        Progress::Done
    }

    fn memories(&mut self, terrain: &Terrain) -> Memories<'_> {
        self.areas(terrain);
        let Self { setup, years, sea, owed, areas, .. } = self;
        let mut memories = setup.counts.memories();
        memories.extend([
            ("years", Memory::Number(years)),
            ("sea", Memory::Number(sea)),
            ("owed", Memory::Number(owed)),
        ]);
        memories.extend(areas.as_mut().map(|areas| ("drainage-area", Memory::Cells(&mut areas[..]))));
        memories
    }

    fn explain(&self, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
        explain::explain(self, terrain, place)
    }

    fn map(&self, quantity: Quantity, _: &Terrain) -> Option<Cow<'_, Grid>> {
        self.areas.as_ref().filter(|_| quantity == Quantity::DrainageArea).map(Cow::Borrowed)
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities { years: Some(self.years), ..Abilities::default() }
    }
}
