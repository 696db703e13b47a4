//! Uplift and rivers: mountains rise, rivers cut them down, and the debris is laid down below.
//!
//! ```text
//! ∂z/∂t = U − E + D·∇²z,     E + G·Qs/A = Kd·A^m·S^n
//! ```
//!
//! z height, U uplift, E erosion (negative: deposition), Qs volume of sediment that passes in a year, A drained area, weighted by
//! rain, S slope to the receiver, D creep of hillsides (Davy & Lague 2009; Yuan et al. 2019). A tick: the land rises; every cell finds
//! its receiver and hollows their passes ([`drainage`](crate::sim::drainage)); what stands too steep slides and rivers cut and lay
//! down, solved implicitly for all cells at once (`solve.rs`); hillsides creep (`creep.rs`); what came of it is taken from the sand
//! first, then from the rock, and what is laid down is sand (`layers.rs`). All is proportional to the number of cells.
//!
//! Outlets keep their height: they neither rise nor take anything, and what reaches them is booked as outflow. Of what the ground
//! changes less or more than it should, because a height has 24 bits, the outlets take the rest.
//!
//! Rivers also end in the sea: all that lies lower than its level. Its ground rises like other land, and nothing else changes it:
//! what the rivers bring there has left. The layer `water` shows the sea.
//!
//! Limits: other water in that layer plays no part. The land of a lake rises like all other. With a mask that
//! scales the erodibility, each cell has its own.

mod creep;
pub mod grow;
mod lakes;
mod layers;
mod params;
mod solve;
#[cfg(test)]
mod tests;

pub use self::params::{Factors, Params};
use self::solve::Rivers;
use super::{Context, Info, Mode, Process, Progress, Setup, Stage};
use crate::sim::{
    drainage::{Diagonal, Drainage},
    grid::Grid,
    masked::{Covered, Scaled},
    memory::{Memories, Memory},
    quantity::Quantity,
    rng::Stream,
    stencil::Border,
    terrain::{Layer, Terrain},
};

const INFO: Info = Info {
    key: "fluvial",
    masked_key: "fluvial-masked",
    title: "Uplift and rivers",
    about: "Mountains rise, rivers cut valleys into them, and their debris is laid down below.",
    source: "Braun & Willett 2013; Yuan et al. 2019 after Davy & Lague 2009; Hergarten 2020",
    bytes_per_cell: 150,
    bytes_per_cell_and_thread: 0,
    reads: &[Layer::Bedrock, Layer::Sand, Layer::Softness, Layer::Rain, Layer::Uplift],
    writes: &[Layer::Bedrock, Layer::Sand, Layer::Water],
    stages: &[
        Stage { name: "rise", about: "The land rises, and every cell finds where its water runs." },
        Stage { name: "cut", about: "What is too steep slides; rivers cut their beds and lay down what they carry." },
        Stage { name: "creep", about: "Hillsides creep." },
    ],
    calm: &[("uplift_rate", "0")],
    ..Info::BARE
};

/// What a tick works with; it keeps its memory from tick to tick.
#[derive(Clone)]
struct Work {
    drainage: Drainage,
    /// Height of the raised ground, and by how much it has grown since, in metres.
    ground: Vec<f32>,
    change: Vec<f32>,
    /// What has left, in cubic metres.
    left: f64,
}

/// The process: parameters, counts, years, and the map of drained areas.
#[derive(Clone, Default)]
pub struct Fluvial {
    setup: Setup<Params, Factors>,
    years: f64,
    areas: Option<Grid>,
    work: Option<Work>,
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
    fn new(params: &Params, covered: Option<&'a Covered<Params>>, width: usize) -> Self {
        let of = |params: &Params| [params.erodibility, params.deposition, params.critical_slope, params.uplift_rate];
        Self { even: Scaled::new(params, covered, of), width, masked: covered.is_some() }
    }

    #[inline(always)]
    fn at(&self, cell: usize) -> CellNumbers {
        let (x, y) = if self.masked { (cell % self.width, cell / self.width) } else { (0, 0) };
        let [erodibility, deposition, critical_slope, uplift_rate] = self.even.at(x, y).map(f64::from);
        CellNumbers { erodibility, deposition, critical_slope, uplift_rate }
    }
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
            left: 0.0,
        })
    }

    fn areas(&mut self, terrain: &Terrain) -> &mut Grid {
        let size = (terrain.width(), terrain.height());
        self.areas.take_if(|areas| (areas.width(), areas.height()) != size);
        self.areas.get_or_insert_with(|| Grid::filled(size.0, size.1, 0.0))
    }
}

impl Process for Fluvial {
    type Params = Params;
    type Factors = Factors;
    const INFO: Info = INFO;
    super::setup_in!(setup);

    fn step(&mut self, stage: usize, context: &mut Context<'_>) -> Progress {
        let terrain = &mut *context.terrain;
        if terrain.bedrock.is_empty() {
            return Progress::Done;
        }
        self.work(terrain);
        self.areas(terrain);
        let Self { setup, years, areas: Some(areas), work: Some(work) } = self else {
            unreachable!("both were made above")
        };
        let params = &setup.params;
        let covered = setup.covered(terrain, params.mode);
        let numbers = Numbers::new(params, covered.as_ref(), terrain.width());
        let time = f64::from(params.years_per_tick);
        let sea = params.sea_level;
        let row = context.ledger.solid.row(INFO.key);
        let area = terrain.cell_area();
        match stage {
            0 => {
                layers::ground(terrain, &mut work.ground);
                work.drainage.set_sea(f32::NEG_INFINITY);
                work.drainage.find_outlets(&work.ground);
                let held: Vec<u32> = work.drainage.outlets().to_vec();
                let held = held.into_iter().filter(|&outlet| work.ground[outlet as usize] >= sea).collect::<Vec<_>>();
                let risen = layers::rise(terrain, &held, |cell| numbers.at(cell).uplift_rate * time) * area;
                row.inflow += risen;
                row.moved += risen;
                let [came, went] = layers::fill_sea(terrain, &mut work.ground, sea).map(|depth| depth * area);
                let water = context.ledger.water.row(INFO.key);
                water.inflow += came;
                water.outflow += went;
                water.moved += came + went;
                work.drainage.set_sea(sea);
                let diagonal = match params.mode {
                    Mode::Default => {
                        let mut stream = Stream::new(context.seed, INFO.key, context.tick);
                        Diagonal::Random(u64::from(stream.bits()) << 32 | u64::from(stream.bits()))
                    }
                    Mode::Published => Diagonal::Plain,
                };
                work.drainage.find(&work.ground, diagonal);
            }
            1 => {
                let rivers = Rivers::new(params, &numbers, &work.drainage, terrain, &work.ground);
                work.left = rivers.run(&mut work.change, areas);
            }
            _ => {
                if params.diffusivity > 0.0 {
                    let lambda = f64::from(params.diffusivity) * time / area;
                    work.left += creep::creep(Border::of(terrain), &work.ground, &mut work.change, lambda) * area;
                }
                // What creeps into the only outlet of a wall, or of a map that goes round, leaves there.
                for &outlet in work.drainage.outlets() {
                    work.left += f64::from(std::mem::take(&mut work.change[outlet as usize])) * area;
                }
                let laid = layers::lay(terrain, &work.change);
                row.eroded += laid.eroded * area;
                row.deposited += laid.deposited * area;
                row.moved += (laid.eroded + laid.deposited) * area;
                row.outflow += work.left - laid.rounded * area;
                *years += time;
                setup.counts.substeps += 1;
            }
        }
        Progress::Done
    }

    fn memories(&mut self, terrain: &Terrain) -> Memories<'_> {
        self.areas(terrain);
        let Self { setup, years, areas, .. } = self;
        let mut memories = setup.counts.memories();
        memories.push(("years", Memory::Number(years)));
        memories.extend(areas.as_mut().map(|areas| ("drainage-area", Memory::Cells(&mut areas[..]))));
        memories
    }

    fn years(&self) -> Option<f64> {
        Some(self.years)
    }

    fn map(&self, quantity: Quantity) -> Option<Grid> {
        if quantity == Quantity::DrainageArea { self.areas.clone() } else { None }
    }
}
