//! Landscape evolution by tectonic uplift, fluvial erosion and deposition, and hillslope diffusion.
//!
//! ```text
//! ∂z/∂t = U − E + D·∇²z,     E + G·Qs/A = Kd·A^m·S^n
//! ```
//!
//! z height, U uplift rate, E erosion rate (negative: deposition), Qs sediment flux in volume per year, A drainage area weighted by
//! rain, S slope to the receiver, D hillslope diffusivity (Davy & Lague 2009; Yuan et al. 2019). In a tick, uplift raises the bedrock;
//! flow routing finds the receiver of every cell and the spill points of depressions ([`drainage`](crate::hydrology::drainage)); slopes
//! above the critical slope fail, and rivers erode and deposit, solved implicitly for all cells (`solve.rs`); hillslopes diffuse
//! (`creep.rs`); and the change is applied to the layers: erosion takes sand first, then rock, and deposition adds sand (`layers.rs`).
//! The cost is linear in the number of cells.
//!
//! The scheme is stable for ticks of any length, but flow is routed only once for each, and uplift precedes erosion. A long tick is therefore
//! divided into substeps (`substeps.rs`).
//!
//! Outlets are the base level and keep their height: they neither rise nor erode nor aggrade, and the sediment that reaches them is recorded
//! as outflow, less what creeps in over the border. On an open map they are the border cells where water leaves ([`drainage`](crate::hydrology::drainage)); all other border
//! cells rise and erode like the interior, and hillslopes continue over the border. The rounding error of a tick, as heights have 24 bits,
//! is carried over to the next.
//!
//! Rivers also end in the sea, which is all ground below sea level. The sea floor rises like land, and nothing else changes it: sediment
//! that reaches the sea leaves the map. The water layer shows the sea and is cleared where the sea has receded.
//!
//! Limitations: other water in that layer is ignored. Lake beds rise like all other ground. With a mask that scales the erodibility,
//! every cell has its own value.

mod creep;
mod explain;
mod layers;
mod params;
mod pieces;
mod solve;
mod substeps;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, ops::Range, sync::Arc};

pub use self::params::{CRITICAL_SLOPE, DIFFUSIVITY, ERODIBILITY, Factors, Params, YEARS_PER_TICK};
use self::{pieces::PieceBatches, solve::FluvialSolver, substeps::Substeps};
use super::{
    AnySetup, Capabilities, Context, Footprint, Info, Mode, Process, Reference, Setup, StepProgress,
    explain::Explanation, stage::stages,
};
use crate::{
    core::{
        border::Border,
        grid::Grid,
        quantity::Quantity,
        rng::RandomStream,
        terrain::{Edge, Layer, Terrain},
    },
    hydrology::drainage::{Diagonal, Drainage},
    process::{
        masked::{MaskedCoefficients, MaskedParams},
        saved_state::{NamedValues, StateValue},
    },
};

stages! {
    /// Uplift raises the bedrock.
    Uplift = "uplift",
    /// Flow is routed from every cell to a receiver, and out of depressions over their spill points.
    FlowRouting = "flow routing",
    /// Slopes above the critical slope fail; rivers erode their beds and deposit sediment.
    Erosion = "erosion",
    /// Soil creep smooths hillslopes.
    Creep = "creep",
    /// The change is applied to the layers: erosion takes sand first, then rock; deposition adds sand.
    Apply = "apply",
}

/// Declaration of the process.
pub const INFO: Info = Info {
    key: "fluvial",
    title: "Uplift and rivers",
    about: "Uplift raises mountains, rivers erode valleys into them and deposit the sediment downstream.",
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

/// Approximate number of cells processed per call, before other tasks get their turn.
const PART: usize = 1 << 18;

/// Working state of a tick. Its buffers are reused from tick to tick.
#[derive(Clone)]
struct FluvialBuffers {
    drainage: Drainage,
    /// Height of the uplifted ground and its change since, in metres.
    ground: Vec<f32>,
    change: Vec<f32>,
    pieces: PieceBatches,
    /// Parameters at the start of the tick, with the length of a substep in place of that of the tick; their masked values, and precomputed
    /// powers of areas.
    params: Params,
    masked: Option<Arc<MaskedParams<Params>>>,
    powers: Vec<f64>,
    /// Border cells that were free to rise, and their bedrock before, in metres.
    risen_border: Vec<(u32, f32)>,
    /// Substeps of the tick, and the index of the current one.
    substeps: Substeps,
    substep: usize,
    /// Next part of the current stage.
    part: usize,
    /// Net outflow of the substep so far, in cubic metres; negative for inflow by creep.
    left: f64,
}

impl FluvialBuffers {
    /// Returns `true` if the terrain has the size and the edge for which they were created.
    fn fits(&self, terrain: &Terrain) -> bool {
        let [known, now] = [self.drainage.border(), Border::of(terrain)];
        (known.width, known.height, known.edge) == (now.width, now.height, now.edge)
    }
}

/// The process: parameters and counts, simulated years, the last sea level, the rounding error owed to the ground in metres times cells,
/// and the map of drainage areas.
#[derive(Clone)]
pub struct Fluvial {
    setup: Setup<Params, Factors>,
    years: f64,
    sea: f64,
    owed: f64,
    areas: Option<Grid>,
    work: Option<FluvialBuffers>,
}

impl Default for Fluvial {
    fn default() -> Self {
        Self { setup: Setup::default(), years: 0.0, sea: params::NO_SEA, owed: 0.0, areas: None, work: None }
    }
}

/// Coefficients of the law that the mask scales.
struct FluvialCoefficients<'a> {
    even: MaskedCoefficients<'a, 4>,
    width: usize,
    masked: bool,
}

/// Coefficients of the law in a cell.
#[derive(Clone, Copy)]
struct CellCoefficients {
    erodibility: f64,
    deposition: f64,
    critical_slope: f64,
    uplift_rate: f64,
}

impl<'a> FluvialCoefficients<'a> {
    fn new(params: &Params, masked: Option<&'a MaskedParams<Params>>, width: usize) -> Self {
        let of = |params: &Params| [params.erodibility, params.deposition, params.critical_slope, params.uplift_rate];
        Self { even: MaskedCoefficients::new(params, masked, of), width, masked: masked.is_some() }
    }

    /// Returns the coefficients of the fastest response, masked or not: highest erodibility, lowest critical slope, highest uplift rate.
    fn fastest(&self) -> CellCoefficients {
        let [free, masked] = [0, 1].map(|end| {
            let of = |number: usize| f64::from(self.even.unmasked_and_masked(number)[end]);
            CellCoefficients { erodibility: of(0), deposition: of(1), critical_slope: of(2), uplift_rate: of(3) }
        });
        CellCoefficients {
            erodibility: free.erodibility.max(masked.erodibility),
            critical_slope: free.critical_slope.min(masked.critical_slope),
            uplift_rate: free.uplift_rate.max(masked.uplift_rate),
            ..free
        }
    }

    #[inline(always)]
    fn at(&self, cell: usize) -> CellCoefficients {
        let (x, y) = if self.masked { (cell % self.width, cell / self.width) } else { (0, 0) };
        let [erodibility, deposition, critical_slope, uplift_rate] = self.even.at(x, y).map(f64::from);
        CellCoefficients { erodibility, deposition, critical_slope, uplift_rate }
    }
}

/// Splits `lines` lines of this length into the parts that a stage processes per call, all but the last a multiple of `whole` lines.
fn parts(lines: usize, length: usize, whole: usize) -> impl Iterator<Item = Range<usize>> {
    let each = (PART / length / whole).max(1) * whole;
    (0..lines).step_by(each).map(move |first| first..(first + each).min(lines))
}

impl Fluvial {
    fn work(&mut self, terrain: &Terrain) -> &mut FluvialBuffers {
        let border = Border::of(terrain);
        self.work.take_if(|work| !work.fits(terrain));
        let count = border.width * border.height;
        self.work.get_or_insert_with(|| FluvialBuffers {
            drainage: Drainage::new(border),
            ground: vec![0.0; count],
            change: vec![0.0; count],
            pieces: PieceBatches::default(),
            params: Params::default(),
            masked: None,
            powers: Vec::new(),
            risen_border: Vec::new(),
            substeps: Substeps::default(),
            substep: 0,
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

    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> StepProgress {
        let terrain = &mut *context.terrain;
        if terrain.bedrock.is_empty() {
            return StepProgress::Done;
        }
        self.work(terrain);
        self.areas(terrain);
        let Self { setup, years, sea: filled, owed, areas: Some(areas), work: Some(work) } = self else {
            unreachable!("both are created above")
        };
        let (border, area) = (Border::of(terrain), terrain.cell_area());
        let row = context.ledger.solid.row(INFO.key);
        let index = stage;
        let stage = Stage::at(index);
        if stage == Stage::Uplift {
            if work.substep == 0 {
                work.params = setup.params.clone();
                work.masked = setup.masked_params(terrain, work.params.mode).map(Arc::new);
                let numbers = FluvialCoefficients::new(&work.params, work.masked.as_deref(), terrain.width());
                work.substeps = Substeps::of(&work.params, terrain, numbers.fastest());
                work.params.years_per_tick = work.substeps.years as f32;
            }
            work.powers = solve::powers(&work.params, area, work.ground.len());
            (work.part, work.left) = (0, 0.0);
        }
        let FluvialBuffers {
            drainage,
            ground,
            change,
            pieces,
            params,
            masked,
            powers,
            risen_border,
            substeps,
            substep,
            part,
            left,
        } = work;
        let numbers = FluvialCoefficients::new(params, masked.as_deref(), terrain.width());
        let time = substeps.years;
        match stage {
            Stage::Uplift => {
                let sea = params.sea();
                layers::ground(terrain, ground);
                drainage.set_sea(f32::NEG_INFINITY);
                drainage.find_outlets(ground);
                // The sea floor rises too: only outlets on land are held.
                let outlets = drainage.outlets().iter().copied();
                let held: Vec<u32> = outlets.filter(|&outlet| ground[outlet as usize] >= sea).collect();
                risen_border.clear();
                if border.edge == Edge::Open {
                    let rising =
                        border.outermost().map(|cell| cell as u32).filter(|cell| held.binary_search(cell).is_err());
                    risen_border.extend(rising.map(|cell| (cell, terrain.bedrock[cell as usize])));
                }
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
            Stage::FlowRouting => {
                let diagonal = match params.mode {
                    Mode::Corrected => {
                        let mut stream = RandomStream::new(context.seed, INFO.key, context.tick);
                        for _ in 0..2 * *substep {
                            stream.bits();
                        }
                        Diagonal::Random(u64::from(stream.bits()) << 32 | u64::from(stream.bits()))
                    }
                    Mode::Published => Diagonal::Plain,
                };
                if !drainage.advance(ground, diagonal) {
                    return StepProgress::ContinueAt(index);
                }
                // Outlets that have formed since, such as those over which depressions spill, have not risen either.
                for &(cell, rock) in &*risen_border {
                    let outlet = cell as usize;
                    if drainage.outlets().binary_search(&cell).is_ok() && rock + terrain.sand[outlet] >= params.sea() {
                        let risen = (f64::from(terrain.bedrock[outlet]) - f64::from(rock)) * area;
                        row.inflow -= risen;
                        row.moved -= risen;
                        terrain.bedrock[outlet] = rock;
                        ground[outlet] = rock + terrain.sand[outlet];
                    }
                }
                pieces.begin(drainage.outlets());
            }
            Stage::Erosion => {
                let rivers = FluvialSolver::new(params, &numbers, drainage, terrain, (ground, powers));
                if !pieces.advance(&rivers, change, areas) {
                    return StepProgress::ContinueAt(index);
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
                    *left += along((border, drainage.outlets()), lines, ground, change, lambda) * area;
                    *part += 1;
                    return StepProgress::ContinueAt(index);
                }
                // What creeps into the single outlet of a walled or periodic map leaves there.
                for &outlet in drainage.outlets() {
                    *left += f64::from(std::mem::take(&mut change[outlet as usize])) * area;
                }
                *part = 0;
            }
            Stage::Apply => {
                if let Some(cells) = parts(ground.len(), 1, layers::CHUNK).nth(*part) {
                    let laid = layers::apply_change(terrain, cells, change, *owed);
                    row.eroded += laid.eroded * area;
                    row.deposited += laid.deposited * area;
                    row.moved += (laid.eroded + laid.deposited) * area;
                    *owed = laid.owed;
                    *part += 1;
                    return StepProgress::ContinueAt(index);
                }
                // Nothing is pending any more.
                change.fill(0.0);
                row.carried = *owed * area;
                context.ledger.solid.book_inflow(INFO.key, -*left);
                setup.counts.substeps += 1;
                *substep += 1;
                if *substep < substeps.count {
                    return StepProgress::ContinueAt(Stage::Uplift as usize);
                }
                *substep = 0;
                *years += time * substeps.count as f64;
            }
        }
        StepProgress::Done
    }

    fn state_values(&mut self, terrain: &Terrain) -> NamedValues<'_> {
        self.areas(terrain);
        let Self { setup, years, sea, owed, areas, .. } = self;
        let mut values = setup.counts.state_values();
        values.extend([
            ("years", StateValue::Number(years)),
            ("sea", StateValue::Number(sea)),
            ("owed", StateValue::Number(owed)),
        ]);
        values.extend(areas.as_mut().map(|areas| ("drainage-area", StateValue::Cells(&mut areas[..]))));
        values
    }

    fn explain(&self, terrain: &Terrain, place: [usize; 2]) -> Option<Explanation> {
        explain::explain(self, terrain, place)
    }

    fn map(&self, quantity: Quantity, terrain: &Terrain) -> Option<Cow<'_, Grid>> {
        match quantity {
            Quantity::DrainageArea => self.areas.as_ref().map(Cow::Borrowed),
            // The change that the last stage will apply.
            Quantity::StageChange => {
                let work = self.work.as_ref().filter(|work| work.fits(terrain))?;
                Some(Cow::Owned(Grid::from_values(terrain.width(), terrain.height(), work.change.iter().copied())))
            }
            _ => None,
        }
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { years: Some(self.years), ..Capabilities::default() }
    }
}
