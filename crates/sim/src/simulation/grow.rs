//! A range that grows from coarse to fine: to maturity on a small map, then on ever larger ones, each of which begins with what the
//! last one left. So the large forms are those of the smallest map, whatever the size of the largest.

use crate::{
    core::{
        bounds::Unfit,
        grid::Grid,
        rng::Stream,
        terrain::{Edge, Layer, Terrain},
    },
    process::fluvial::{Fluvial, INFO, Params},
    simulation::Simulation,
};

/// Cells of the longer side of the smallest map, at most.
const COARSEST: usize = 128;
/// A range is mature when so much of what rises leaves again, over as many ticks as are looked at together.
const MATURE: f64 = 0.98;
const TOGETHER: usize = 20;
/// Ticks on the smallest map, at most, and on each of the others.
const MOST_TICKS: usize = 800;
const FINER_TICKS: usize = 40;
/// Ticks that a change of the outlet takes to reach the divides.
const TICKS_OF_A_RESPONSE: f64 = 40.0;
/// Height of the noise on the plain from which the range rises, in metres.
const NOISE: f32 = 1.0;

/// How far the growing has come.
pub struct Growth<'a> {
    /// Which of how many maps grows, from 0.
    pub level: usize,
    /// How many maps there are.
    pub levels: usize,
    /// Share of the work that is done, from 0 to 1.
    pub share: f32,
    /// The map as it is.
    pub terrain: &'a Terrain,
}

/// Range that has grown on a terrain.
#[derive(Clone, Debug, PartialEq)]
pub struct GrownRange {
    /// Terrain of the range.
    pub terrain: Terrain,
    /// `false` if uplift still exceeded erosion after the last tick on the smallest map.
    pub is_mature: bool,
}

/// Outcome of growing a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthEnd {
    /// Erosion balances uplift.
    Mature,
    /// Uplift still exceeds erosion.
    StillRising,
    /// Growing was cancelled; nothing has changed.
    Cancelled,
}

/// Sizes of the maps, the smallest first.
fn sizes(width: usize, height: usize) -> Vec<(usize, usize)> {
    let halvings = (0..).find(|&times| width.max(height).div_ceil(1 << times) <= COARSEST).unwrap_or(0);
    (0..=halvings).rev().map(|times| (width.div_ceil(1 << times), height.div_ceil(1 << times))).collect()
}

/// Years that a tick of the growing covers: a share of the time in which a change at the outlet reaches the divides, ∫dx/(Kd·A^m)
/// along a river that drains the square of its length.
fn years_per_tick(params: &Params, length: f64) -> f32 {
    let m = f64::from(params.area_exponent);
    let response = length / (f64::from(params.erodibility) * libm::pow(length * length, m)) / (1.2 - m);
    (response / TICKS_OF_A_RESPONSE).clamp(1.0, 1e6) as f32
}

/// Returns a range in place of the ground of a terrain, or `None` if `show` has cancelled it. The layers of uplift, rain and softness say
/// where it rises and what it is made of; size, edge and springs stay, and the heights of the ground do not matter. The lowest outlet lies
/// at 0 m, deposits are sand, and the range is dry. Where nothing rises, the terrain is level.
///
/// `show` hears the progress every few ticks and answers whether to continue.
pub fn grow(
    terrain: &Terrain,
    params: &Params,
    seed: u64,
    mut show: impl FnMut(Growth<'_>) -> bool,
) -> Option<GrownRange> {
    let size = (terrain.width(), terrain.height());
    if terrain.bedrock.is_empty() {
        return Some(GrownRange { terrain: terrain.clone(), is_mature: true });
    }
    let sizes = sizes(size.0, size.1);
    let length = 0.5 * size.0.max(size.1) as f64 * f64::from(terrain.cell_size);
    let params = Params { years_per_tick: years_per_tick(params, length), ..params.clone() };
    let mut grown: Option<[Grid; 2]> = None;
    let most: f64 = sizes.iter().map(|(width, height)| (width * height) as f64).sum();
    let (mut done, mut is_mature) = (0.0, false);
    for (level, &size) in sizes.iter().enumerate() {
        let [bedrock, sand] = match grown.take() {
            Some(layers) => layers.map(|layer| layer.resampled(size.0, size.1)),
            None => [plain(size, seed, terrain.edge), Grid::filled(size.0, size.1, 0.0)],
        };
        let mut run = Simulation::of(
            vec![Box::new(Fluvial::with(params.clone()))],
            at_size(terrain, bedrock, sand),
            seed.wrapping_add(level as u64),
        );
        run.slots[0].enabled = true;
        let mut before = [0.0; 2];
        for tick in 1..=if level == 0 { MOST_TICKS } else { FINER_TICKS } {
            run.tick();
            let mature = level == 0 && tick.is_multiple_of(TOGETHER) && {
                let now = [run.ledger.solid.sum(|row| row.inflow), run.ledger.solid.sum(|row| row.outflow)];
                let [risen, left] = [now[0] - before[0], now[1] - before[1]];
                before = now;
                left >= MATURE * risen
            };
            let cells = (size.0 * size.1) as f64;
            let part = if level == 0 { 0.0 } else { tick as f64 / FINER_TICKS as f64 };
            let growth = Growth {
                level,
                levels: sizes.len(),
                share: ((done + part * cells) / most) as f32,
                terrain: &run.terrain,
            };
            if tick.is_multiple_of(5) && !show(growth) {
                return None;
            }
            if mature {
                is_mature = true;
                break;
            }
        }
        done += (size.0 * size.1) as f64;
        let Terrain { bedrock, sand, .. } = run.terrain;
        grown = Some([bedrock, sand]);
    }
    let [bedrock, sand] = grown?;
    let mut range = terrain.clone();
    (range.bedrock, range.sand) = (bedrock, sand);
    for layer in [Layer::Water, Layer::Suspended] {
        range.set_layer(layer, None);
    }
    range.start = range.ground();
    Some(GrownRange { terrain: range, is_mature })
}

impl Simulation {
    /// Starts again from a mature range on the terrain's maps of uplift, rain and softness, with the parameters of uplift and
    /// rivers; see [`grow`]. `show` hears the progress and answers whether to continue.
    ///
    /// # Errors
    /// Nothing rises.
    pub fn grow_range(&mut self, show: impl FnMut(Growth<'_>) -> bool + Send) -> Result<GrowthEnd, Unfit> {
        let slot = self.slots.iter().find(|slot| slot.key() == INFO.key);
        let params = slot.and_then(|slot| slot.process.params().as_partial_reflect().try_downcast_ref::<Params>());
        let params = params.cloned().unwrap_or_default();
        let uplift = self.terrain.uplift.as_ref().map_or(1.0, |uplift| uplift.min_max().1);
        if params.uplift_rate * uplift <= 0.0 {
            let right = "set fluvial.uplift_rate above 0 and let the map of uplift rise above 0 somewhere";
            return Err(Unfit { wrong: "no range can grow where nothing rises".into(), right: right.into() });
        }
        let grown = self.on_its_threads(|run| grow(&run.terrain, &params, run.seed(), show));
        let Some(GrownRange { terrain, is_mature }) = grown else { return Ok(GrowthEnd::Cancelled) };
        self.restart(terrain, self.seed());
        Ok(if is_mature { GrowthEnd::Mature } else { GrowthEnd::StillRising })
    }
}

/// Almost level ground, with outlets at 0 m.
fn plain((width, height): (usize, usize), seed: u64, edge: Edge) -> Grid {
    let mut stream = Stream::new(seed, "range", 0);
    Grid::from_fn(width, height, |x, y| {
        let noise = NOISE * stream.unit();
        let border = (width > 1 && (x == 0 || x + 1 == width)) || (height > 1 && (y == 0 || y + 1 == height));
        if edge == Edge::Open && border { 0.0 } else { noise }
    })
}

/// The terrain on which a map of this size grows.
fn at_size(terrain: &Terrain, bedrock: Grid, sand: Grid) -> Terrain {
    let size = (bedrock.width(), bedrock.height());
    let cell_size = terrain.cell_size * terrain.width().max(terrain.height()) as f32 / size.0.max(size.1) as f32;
    let mut fit = Terrain::of(size, (cell_size, terrain.edge), |layer| match layer {
        Layer::Softness | Layer::Uplift | Layer::Rain => {
            terrain.layer(layer).map(|grid| grid.resampled(size.0, size.1))
        }
        _ => None,
    });
    (fit.bedrock, fit.sand) = (bedrock, sand);
    fit
}
