//! River network of a terrain: reaches from source or confluence to confluence or mouth, with discharge, width and depth.
//!
//! Flow is routed by [`drainage`](crate::hydrology::drainage), weighted by the rain map, and springs add to it. Or it follows the
//! droplets (`courses.rs`). With Q the bankfull discharge,
//!
//! ```text
//! Q = q·A,     w = a·Q^0.5,     d = b·Q^0.4
//! ```
//!
//! A rained-on contributing area (for a spring, the area with the same runoff), q runoff, w width and d depth (Leopold & Maddock
//! 1953, USGS Professional Paper 252). The exponents are theirs. The coefficients vary several-fold between rivers and are
//! therefore parameters.

mod bands;
mod courses;
mod flow;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use bevy_reflect::Reflect;

pub use self::courses::DropletStreams;
use super::{HEAVY_RAIN, drainage::Drainage};
use crate::{
    core::{
        border::Border,
        grid::Grid,
        terrain::{Edge, Terrain},
    },
    params::{choice, knob},
};

/// Exponents of width and depth in discharge.
const WIDER: f32 = 0.5;
const DEEPER: f32 = 0.4;
/// Number of smoothing passes over a line. Each moves a point halfway to the midpoint of its neighbours.
const SMOOTHINGS: usize = 3;
/// Distance beyond the banks to which rivers are drawn, in cells, so that all four cells around a bank have data.
const BANK_MARGIN: f32 = 1.5;
/// Maximum half-width of a drawn river, in cells.
const MAX_HALF_WIDTH: f32 = 48.0;
/// One millimetre per hour, in metres per second.
const RUNOFF_UNIT: f64 = 1e-3 / 3600.0;
/// Marks a cell where no reach begins.
const NONE: u32 = u32::MAX;

const LEOPOLD: &str = "Leopold & Maddock 1953; value chosen for this program";

/// Course of the drawn rivers.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Course {
    /// Terrain: downhill from everywhere, and over the spill points of depressions.
    #[default]
    Land,
    /// Droplets: along most of their water, with the discharge of their rain and springs. The terrain until droplets have run.
    Droplets,
}

/// Threshold and hydraulic geometry of rivers.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct RiverParams {
    /// Draw rivers where water would flow, even if none is simulated.
    #[reflect(@choice().title("Show rivers").source("this work").main())]
    pub shown: bool,
    /// Course of the rivers: along the slope of the terrain, or along droplet streams, which meander, divide and build deltas.
    #[reflect(@choice().source("this work").main())]
    pub course: Course,
    /// Drainage area at which a river begins. Low values draw every gully, high values only the large rivers.
    #[reflect(@knob(1.0..=50_000.0).title("Channel threshold").unit("cells").symbol("A").source("this work").log().main().grows())]
    pub from_cells: f32,
    /// Runoff at bankfull discharge. High values make rivers wide and deep.
    #[reflect(@knob(0.01..=100.0).title("Bankfull runoff").unit("mm/h").symbol("q").source("this work").log().main())]
    pub runoff: f32,
    /// Width of a river with a discharge of one cubic metre per second. It grows with the square root of discharge. Typically
    /// high in sand, low in clay and rock.
    #[reflect(@knob(0.5..=30.0).title("Width coefficient").unit("m").symbol("a").source(LEOPOLD).log().main())]
    pub width: f32,
    /// Depth of a river with a discharge of one cubic metre per second. It grows with discharge to the power 0.4.
    #[reflect(@knob(0.02..=3.0).title("Depth coefficient").unit("m").symbol("b").source(LEOPOLD).log().main())]
    pub depth: f32,
}

impl Default for RiverParams {
    fn default() -> Self {
        Self {
            shown: false,
            course: Course::Land,
            from_cells: super::CHANNEL as f32,
            runoff: 1.0,
            width: 5.0,
            depth: 0.3,
        }
    }
}

impl RiverParams {
    /// Returns the discharge of an area in square metres, in cubic metres per second.
    pub fn discharge(&self, area: f64) -> f32 {
        (area * f64::from(self.runoff) * RUNOFF_UNIT) as f32
    }

    /// Returns the area that supplies a discharge in cubic metres per second, in square metres.
    pub fn area(&self, discharge: f32) -> f64 {
        f64::from(discharge) / f64::from(self.runoff) / RUNOFF_UNIT
    }

    /// Returns the width and depth of a river, in metres, for a discharge in cubic metres per second.
    pub fn channel(&self, discharge: f32) -> [f32; 2] {
        [self.width * libm::powf(discharge, WIDER), self.depth * libm::powf(discharge, DEEPER)]
    }
}

/// Point on a river.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReachPoint {
    /// Distance from the left side and from the upper side of the map, in metres.
    pub at: [f64; 2],
    /// Elevation of the ground or of the lake, in metres.
    pub height: f32,
    /// Discharge, in cubic metres per second.
    pub discharge: f32,
    /// Width, in metres.
    pub width: f32,
    /// Depth, in metres.
    pub depth: f32,
}

/// Part of a river without tributaries except at its upper end.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// Points in downstream order, at least two. The last one is the first of the reach that it flows into.
    pub points: Vec<ReachPoint>,
    /// Strahler order (Strahler 1957): 1 at a source, one more where two of the highest order meet.
    pub order: u32,
    /// Reach that it flows into; `None` at an outlet.
    pub into: Option<usize>,
    /// `true` if it crosses a lake.
    pub in_lake: bool,
}

impl Reach {
    /// Returns the length, in metres.
    pub fn length(&self) -> f64 {
        let steps = self.points.windows(2);
        steps.map(|step| libm::hypot(step[1].at[0] - step[0].at[0], step[1].at[1] - step[0].at[1])).sum()
    }
}

/// River network of a terrain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RiverNetwork {
    /// Reaches in the order of their upper ends on the map, row by row.
    pub reaches: Vec<Reach>,
}

/// River nearest to a cell, if it is near enough to be drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NearestRiver {
    /// Flow direction, in radians from the right of the map towards its lower side.
    pub heading: f32,
    /// Offset of the cell's centre from the river's, in cells, positive to the right in downstream direction.
    pub aside: f32,
    /// Half the width, in cells; 0 without a river.
    pub half_width: f32,
    /// Depth, in metres.
    pub depth: f32,
}

/// Rivers and lakes to be drawn on a terrain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RiverMaps {
    /// Nearest river of every cell.
    pub nearest: Vec<NearestRiver>,
    /// Lake level of each cell, in metres, and `f32::NEG_INFINITY` elsewhere; `None` if no river flows into a lake.
    pub lakes: Option<Grid>,
    /// Flow accumulation of each cell on a logarithmic scale: 0 is one cell, 255 the whole map. It decreases within some cells of a
    /// stream.
    pub flow: Vec<u8>,
}

/// Drainage of a terrain, from which its rivers are made.
struct RiverRouting<'a> {
    params: &'a RiverParams,
    drainage: Drainage,
    border: Border,
    ground: Grid,
    /// Rained-on contributing area, in square metres.
    areas: Vec<f64>,
    cell_size: f64,
}

/// Terrain of a simulation, and what its rivers follow.
pub struct RiverTerrain {
    terrain: Terrain,
    params: RiverParams,
    /// Droplet streams that rivers follow: the area on which heavy rain supplies the discharge of each cell, in square metres, and
    /// that times its direction.
    droplets: Option<[Grid; 3]>,
}

impl RiverTerrain {
    /// Creates a terrain whose rivers follow the maps of droplets, if there are any, and otherwise the ground. The maps are the area
    /// on which heavy rain supplies the discharge of each cell, in square metres, and that times its direction along columns and
    /// rows.
    pub fn new(terrain: Terrain, params: RiverParams, droplets: Option<[Grid; 3]>) -> Self {
        Self { terrain, params, droplets }
    }

    /// Returns the terrain.
    pub fn terrain(&self) -> &Terrain {
        &self.terrain
    }

    /// Returns the parameters of the rivers.
    pub fn params(&self) -> &RiverParams {
        &self.params
    }

    /// Computes the river network.
    pub fn network(&self) -> RiverNetwork {
        match self.streams() {
            Some(streams) => RiverNetwork::from_droplets(&self.terrain, &self.params, &streams),
            None => RiverNetwork::from_terrain(&self.terrain, &self.params),
        }
    }

    /// Computes the rivers, and the lakes that they cross if they follow the ground. Lakes are filled to their spill points.
    pub fn river_maps(&self) -> RiverMaps {
        let (border, cell_size) = (Border::of(&self.terrain), self.terrain.cell_size);
        if let Some(streams) = self.streams() {
            let network = RiverNetwork::from_droplets(&self.terrain, &self.params, &streams);
            let (water, cell) = (streams[0].iter(), HEAVY_RAIN * self.terrain.cell_area());
            let flow = bands::bands((border.width, border.height), water.map(|&water| f64::from(water) / cell));
            return RiverMaps { nearest: network.nearest(border, cell_size), lakes: None, flow };
        }
        let rivers = RiverRouting::of(&self.terrain, &self.params);
        let (mut network, lakes) = (rivers.network(), rivers.lakes());
        if lakes.is_some() {
            network.reaches.retain(|reach| !reach.in_lake);
        }
        let area = self.terrain.cell_area();
        let flow = bands::bands((border.width, border.height), rivers.areas.iter().map(|above| above / area));
        RiverMaps { nearest: network.nearest(border, cell_size), lakes, flow }
    }

    /// Returns the discharge of droplets, if rivers follow them and some have run. Computed here, as the terrain is copied within a
    /// frame.
    fn streams(&self) -> Option<DropletStreams> {
        let maps = self.droplets.as_ref().filter(|[water, ..]| water.iter().any(|water| *water > 0.0))?;
        let mut streams = maps.clone();
        streams.iter_mut().flat_map(|map| map.iter_mut()).for_each(|value| *value *= HEAVY_RAIN as f32);
        Some(streams)
    }
}

impl RiverNetwork {
    /// Computes the rivers that follow the ground of a terrain.
    pub fn from_terrain(terrain: &Terrain, params: &RiverParams) -> Self {
        RiverRouting::of(terrain, params).network()
    }

    /// Returns the nearest river of every cell of the terrain that the network belongs to, row by row.
    pub fn nearest(&self, border: Border, cell_size: f32) -> Vec<NearestRiver> {
        let mut cells = vec![NearestRiver::default(); border.width * border.height];
        let mut beyond = vec![f32::INFINITY; cells.len()];
        let on_map = |place, count| border.edge.index(place, count);
        for Reach { points: places, .. } in &self.reaches {
            let middle = |place: &ReachPoint| place.at.map(|at| (at / f64::from(cell_size) - 0.5) as f32);
            let middles: Vec<[f32; 2]> = places.iter().map(middle).collect();
            // From the previous to the next point.
            let heading = |place: usize| {
                let [from, to] = [middles[place.saturating_sub(1)], middles[(place + 1).min(middles.len() - 1)]];
                [to[0] - from[0], to[1] - from[1]]
            };
            for (index, ends) in places.windows(2).enumerate() {
                let half = |place: &ReachPoint| (0.5 * place.width / cell_size).min(MAX_HALF_WIDTH);
                let ([from, to], [first, last]) =
                    ([middles[index], middles[index + 1]], [half(&ends[0]), half(&ends[1])]);
                let displacement = [to[0] - from[0], to[1] - from[1]];
                let length =
                    (displacement[0] * displacement[0] + displacement[1] * displacement[1]).max(f32::MIN_POSITIVE);
                let reach = first.max(last) + BANK_MARGIN;
                let span = |axis: usize| {
                    let [low, high] = [from[axis].min(to[axis]) - reach, from[axis].max(to[axis]) + reach];
                    low.ceil() as isize..=high.floor() as isize
                };
                let headings = [heading(index), heading(index + 1)];
                for row in span(1) {
                    for column in span(0) {
                        let Some((x, y)) = on_map(column, border.width).zip(on_map(row, border.height)) else {
                            continue;
                        };
                        let cell = y * border.width + x;
                        let [x, y] = [column as f32 - from[0], row as f32 - from[1]];
                        let share = ((x * displacement[0] + y * displacement[1]) / length).clamp(0.0, 1.0);
                        let [x, y] = [x - share * displacement[0], y - share * displacement[1]];
                        let mix = |from: f32, to: f32| from + share * (to - from);
                        let (away, half_width) = ((x * x + y * y).sqrt(), mix(first, last));
                        if away - half_width <= BANK_MARGIN && away - half_width < beyond[cell] {
                            beyond[cell] = away - half_width;
                            let [along, down] = [0, 1].map(|axis| mix(headings[0][axis], headings[1][axis]));
                            let right = y * along - x * down >= 0.0;
                            cells[cell] = NearestRiver {
                                heading: libm::atan2f(down, along),
                                aside: if right { away } else { -away },
                                half_width,
                                depth: mix(ends[0].depth, ends[1].depth),
                            };
                        }
                    }
                }
            }
        }
        cells
    }

    /// Returns the number of points of all reaches.
    pub fn places(&self) -> usize {
        self.reaches.iter().map(|reach| reach.points.len()).sum()
    }
}

/// Returns the cells of permanent springs, and the areas with the same runoff, in square metres.
fn springs(terrain: &Terrain, params: &RiverParams) -> BTreeMap<usize, f64> {
    let mut springs = BTreeMap::new();
    for source in terrain.sources.iter().filter(|source| source.rate > 0.0 && source.ticks.is_none()) {
        let cells = source.cells(terrain);
        let land = params.area(source.rate) / cells.len() as f64;
        cells.into_iter().for_each(|cell| *springs.entry(cell).or_default() += land);
    }
    springs
}

/// Strahler orders of the rivers that flow into a cell (Strahler 1957): the highest, and its count.
#[derive(Clone, Copy, Default)]
struct TributaryOrders {
    highest: u32,
    times: u8,
}

impl TributaryOrders {
    /// Adds a tributary.
    fn join(&mut self, order: u32) {
        match order.cmp(&self.highest) {
            std::cmp::Ordering::Greater => (self.highest, self.times) = (order, 1),
            std::cmp::Ordering::Equal => self.times = self.times.saturating_add(1),
            std::cmp::Ordering::Less => {}
        }
    }

    /// Returns the order downstream; 1 without tributaries.
    fn below(self) -> u32 {
        (self.highest + u32::from(self.times > 1)).max(1)
    }
}

impl<'a> RiverRouting<'a> {
    fn of(terrain: &Terrain, params: &'a RiverParams) -> Self {
        let (drainage, border) = (Drainage::of(terrain), Border::of(terrain));
        let rain = |cell: usize| terrain.rain.as_ref().map_or(1.0, |rain| f64::from(rain[cell]));
        let springs = springs(terrain, params);
        let areas =
            drainage.areas(|cell| rain(cell) * terrain.cell_area() + springs.get(&cell).copied().unwrap_or_default());
        let cell_size = f64::from(terrain.cell_size);
        Self { params, drainage, border, ground: terrain.ground(), areas, cell_size }
    }

    /// Returns the levels of the lakes that rivers cross, see [`RiverMaps::lakes`].
    fn lakes(&self) -> Option<Grid> {
        let lake = |cell: usize| self.drainage.lake(cell, self.ground[cell]);
        let mut fed = BTreeSet::new();
        fed.extend(
            (0..self.areas.len())
                .filter(|&cell| self.is_river(cell) && lake(cell).is_some())
                .map(|cell| self.drainage.depression(cell)),
        );
        let level = |cell: usize| lake(cell).filter(|_| fed.contains(&self.drainage.depression(cell)));
        let (width, height) = (self.ground.width(), self.ground.height());
        (!fed.is_empty())
            .then(|| Grid::from_fn(width, height, |x, y| level(y * width + x).unwrap_or(f32::NEG_INFINITY)))
    }

    fn is_river(&self, cell: usize) -> bool {
        self.areas[cell] >= f64::from(self.params.from_cells) * self.cell_size * self.cell_size
            && self.areas[cell] > 0.0
    }

    fn in_lake(&self, cell: usize) -> bool {
        self.drainage.lake(cell, self.ground[cell]).is_some()
    }

    fn network(&self) -> RiverNetwork {
        let cells = || (0..self.areas.len()).filter(|&cell| self.is_river(cell));
        // Number of tributaries and orders of each cell.
        let mut donors = vec![0_u8; self.areas.len()];
        let mut orders = vec![TributaryOrders::default(); self.areas.len()];
        for &(cell, receiver) in self.drainage.order().links().iter().rev() {
            let (cell, receiver) = (cell as usize, receiver as usize);
            if self.is_river(cell) {
                donors[receiver] += 1;
                let own = orders[cell].below();
                orders[receiver].join(own);
            }
        }
        // A reach begins at a source, a confluence or the shore of a lake.
        let begins = |cell: usize| {
            let enters = || {
                self.drainage
                    .donors(cell)
                    .any(|other| self.is_river(other) && self.in_lake(other) != self.in_lake(cell))
            };
            self.drainage.receiver(cell).is_some() && (donors[cell] != 1 || enters())
        };
        let starts: Vec<usize> = cells().filter(|&cell| begins(cell)).collect();
        let mut numbers = vec![NONE; self.areas.len()];
        starts.iter().zip(0..).for_each(|(&cell, number)| numbers[cell] = number);
        let reach = |&start: &usize| {
            let mut cells = vec![start];
            let into = loop {
                let Some(next) = self.drainage.receiver(cells[cells.len() - 1]) else { break None };
                cells.push(next);
                if numbers[next] != NONE {
                    break Some(numbers[next] as usize);
                }
            };
            Reach { points: self.places(&cells), order: orders[start].below(), into, in_lake: self.in_lake(start) }
        };
        RiverNetwork { reaches: starts.iter().map(reach).collect() }
    }

    /// Returns the line through these cells, each next to the previous one.
    fn places(&self, cells: &[usize]) -> Vec<ReachPoint> {
        let mut places = unwrap_line(self.border, cells, |cell, at| {
            let discharge = self.params.discharge(self.areas[cell]);
            let [width, depth] = self.params.channel(discharge);
            let at = at.map(|place| (place + 0.5) * self.cell_size);
            let height = self.drainage.lake(cell, self.ground[cell]).unwrap_or(self.ground[cell]);
            ReachPoint { at, height, discharge, width, depth }
        });
        smooth(&mut places);
        places
    }
}

/// Returns the points of adjacent cells, given their columns and rows. On a periodic map, the line continues beyond the side.
fn unwrap_line(border: Border, cells: &[usize], place: impl Fn(usize, [f64; 2]) -> ReachPoint) -> Vec<ReachPoint> {
    let split = |cell: usize| [(cell % border.width) as isize, (cell / border.width) as isize];
    let sides = [border.width as isize, border.height as isize];
    let mut at = split(cells[0]);
    let mut before = at;
    let step = |&cell: &usize| {
        let here = split(cell);
        for axis in 0..2 {
            let step = here[axis] - before[axis];
            let round =
                if border.edge == Edge::Wrap && 2 * step.abs() > sides[axis] { sides[axis] * step.signum() } else { 0 };
            at[axis] += step - round;
        }
        before = here;
        place(cell, at.map(|place| place as f64))
    };
    cells.iter().map(step).collect()
}

/// Smooths a line except for its ends.
fn smooth(places: &mut [ReachPoint]) {
    for _ in 0..SMOOTHINGS {
        let mut before = places[0].at;
        for index in 1..places.len() - 1 {
            let (here, after) = (places[index].at, places[index + 1].at);
            places[index].at = std::array::from_fn(|axis| 0.5 * here[axis] + 0.25 * (before[axis] + after[axis]));
            before = here;
        }
    }
}
