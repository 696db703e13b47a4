//! Rivers where droplets run: lines along which most of their water flows.
//!
//! A cell lies on a line if its discharge is larger than that of the cells on both sides, across the flow. Lines are traced from
//! the cells of largest discharge, downstream and upstream, to the border, to another line, or to where little discharge is left. A
//! river may therefore divide, as on a delta, which drainage over the ground never does.

use std::collections::BTreeMap;

use super::{Reach, ReachPoint, RiverNetwork, RiverParams, TributaryOrders, smooth, unwrap_line};
use crate::{
    core::{
        border::{Border, STEPS},
        grid::Grid,
        terrain::Terrain,
    },
    hydrology::drainage::Drainage,
};

/// Discharge of each cell, in cubic metres per second, and the discharge times its direction.
pub type DropletStreams = [Grid; 3];

/// Half-width of a line, in cells: its water flows within, and no other line lies there.
const LINE_HALF_WIDTH: isize = 2;
/// A line continues while its discharge exceeds this fraction of the minimum at which one may begin.
const CONTINUATION_FRACTION: f32 = 0.3;
/// Minimum number of cells of a river, unless it joins two others.
const SHORTEST: usize = 6;
/// Cells upstream and downstream over which the discharge of a line is averaged.
const EVEN: usize = 3;
const NONE: u32 = u32::MAX;

/// Flow field in which lines are traced.
struct Flow {
    border: Border,
    /// The maps, blurred over neighbouring cells.
    streams: DropletStreams,
    /// Discharge of a line through a cell, including the cells beside it.
    passing: Vec<f32>,
}

impl Flow {
    fn new(border: Border, raw: &DropletStreams) -> Self {
        let mut flow = Self { border, streams: raw.each_ref().map(|map| blurred(border, map)), passing: Vec::new() };
        let passing = |cell: usize| {
            let Some(heading) = flow.heading(cell) else { return 0.0 };
            let [across, down] = step_across(heading);
            let beside = (-LINE_HALF_WIDTH..=LINE_HALF_WIDTH)
                .filter_map(|far| border.offset_cell(cell, [far * across, far * down]));
            let along = |other: &usize| {
                let [x, y] = [raw[1][*other], raw[2][*other]];
                x * heading[0] + y * heading[1] > 0.0
            };
            beside.filter(along).map(|cell| raw[0][cell]).sum()
        };
        flow.passing = (0..raw[0].len()).map(passing).collect();
        flow
    }

    /// Returns the flow direction as a unit vector, or `None` without flow.
    fn heading(&self, cell: usize) -> Option<[f32; 2]> {
        let [x, y] = [self.streams[1][cell], self.streams[2][cell]];
        let length = (x * x + y * y).sqrt();
        (length > 0.0).then(|| [x / length, y / length])
    }

    /// Returns the discharge of a cell and of both cells beside it, across the flow.
    fn profile(&self, cell: usize, heading: [f32; 2]) -> [f32; 3] {
        let [across, down] = step_across(heading);
        let water = |far: isize| {
            self.border.offset_cell(cell, [far * across, far * down]).map_or(0.0, |cell| self.streams[0][cell])
        };
        [water(-1), water(0), water(1)]
    }

    /// Returns `true` if a cell lies on a line.
    fn is_crest(&self, cell: usize) -> bool {
        self.heading(cell).is_some_and(|heading| {
            let [before, own, after] = self.profile(cell, heading);
            own > before && own >= after
        })
    }

    /// Returns the next cell downstream or upstream: the one ahead with the largest discharge.
    fn next(&self, cell: usize, upstream: bool) -> Option<usize> {
        let heading = self.heading(cell)?.map(|part| if upstream { -part } else { part });
        let towards = |[x, y]: [isize; 2], [along, down]: [f32; 2]| {
            (x as f32 * along + y as f32 * down) / ((x * x + y * y) as f32).sqrt()
        };
        let ahead = STEPS.into_iter().filter(|&turn| towards(turn, heading) > 0.3);
        let cells = ahead.filter_map(|turn| {
            let next = self.border.offset_cell(cell, turn)?;
            let own = self.heading(next)?.map(|part| if upstream { -part } else { part });
            (towards(turn, own) > -0.1).then(|| (next, self.streams[0][next] * towards(turn, heading)))
        });
        cells.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(next, _)| next)
    }

    /// Returns the offset of a line from the centre of a cell, in cells.
    fn middle(&self, cell: usize) -> [f64; 2] {
        let Some(heading) = self.heading(cell) else { return [0.0; 2] };
        let [before, own, after] = self.profile(cell, heading);
        let bend = before - 2.0 * own + after;
        let shift = if bend < 0.0 { (0.5 * (before - after) / bend).clamp(-0.5, 0.5) } else { 0.0 };
        step_across(heading).map(|part| f64::from(shift) * part as f64)
    }
}

/// Returns the step across a flow: along a column or a row, so that an oblique line counts each of its cells once.
fn step_across([along, down]: [f32; 2]) -> [isize; 2] {
    if along.abs() >= down.abs() { [0, 1] } else { [1, 0] }
}

/// Blurs a map: half of a cell, and a quarter of those on both sides, along rows and columns.
fn blurred(border: Border, map: &Grid) -> Grid {
    let along = |map: &Grid, [x, y]: [isize; 2]| {
        Grid::from_fn(border.width, border.height, |column, row| {
            let cell = row * border.width + column;
            let beside = |sign: isize| border.offset_cell(cell, [sign * x, sign * y]).map_or(0.0, |cell| map[cell]);
            0.5 * map[cell] + 0.25 * (beside(-1) + beside(1))
        })
    };
    along(&along(map, [1, 0]), [0, 1])
}

/// Lines of cells in downstream order, and the line that each cell near one belongs to.
struct StreamLines {
    lines: Vec<Vec<usize>>,
    /// Nearest cell of a line, for each cell that lies beside one.
    owners: Vec<u32>,
}

impl StreamLines {
    /// Traces lines with at least this discharge.
    fn trace(flow: &Flow, least: f32) -> Self {
        let count = flow.passing.len();
        let mut seeds: Vec<usize> =
            (0..count).filter(|&cell| flow.passing[cell] >= least && flow.is_crest(cell)).collect();
        seeds.sort_by(|one, other| flow.streams[0][*other].total_cmp(&flow.streams[0][*one]));
        let mut traced = Self { lines: Vec::new(), owners: vec![NONE; count] };
        // Number of the last trace through each cell.
        let mut passed = vec![NONE; count];
        for (seed, number) in seeds.into_iter().zip(0..) {
            if traced.owners[seed] != NONE {
                continue;
            }
            passed[seed] = number;
            let mut halves = [false, true].map(|upstream| {
                let (mut cells, mut here) = (Vec::new(), seed);
                while let Some(next) = flow.next(here, upstream) {
                    if flow.passing[next] < CONTINUATION_FRACTION * least || passed[next] == number {
                        break;
                    }
                    if traced.owners[next] != NONE {
                        // It joins the other line, or branches from it.
                        cells.push(traced.owners[next] as usize);
                        return (cells, true);
                    }
                    passed[next] = number;
                    cells.push(next);
                    here = next;
                }
                (cells, false)
            });
            let [(down, joins), (up, leaves)] = &mut halves;
            let mut cells: Vec<usize> = up.drain(..).rev().collect();
            cells.push(seed);
            cells.append(down);
            if cells.len() >= SHORTEST || (*joins && *leaves && cells.len() > 2 && cells[0] != cells[cells.len() - 1]) {
                traced.own(flow.border, &cells);
                traced.lines.push(cells);
            }
        }
        traced
    }

    /// Assigns the cells beside a line to it.
    fn own(&mut self, border: Border, cells: &[usize]) {
        for far in 0..=LINE_HALF_WIDTH {
            for &cell in cells {
                for (right, down) in (-far..=far).flat_map(|down| (-far..=far).map(move |right| (right, down))) {
                    if let Some(beside) = border.offset_cell(cell, [right, down])
                        && self.owners[beside] == NONE
                    {
                        self.owners[beside] = cell as u32;
                    }
                }
            }
        }
    }

    /// Returns the lines, cut where others begin or end.
    fn cut(self) -> Vec<Vec<usize>> {
        let mut ends = vec![false; self.owners.len()];
        for line in &self.lines {
            (ends[line[0]], ends[line[line.len() - 1]]) = (true, true);
        }
        let mut parts = Vec::new();
        for line in self.lines {
            let mut part = Vec::new();
            for (place, &cell) in line.iter().enumerate() {
                part.push(cell);
                if ends[cell] && place > 0 && place + 1 < line.len() {
                    parts.push(std::mem::replace(&mut part, vec![cell]));
                }
            }
            parts.push(part);
        }
        parts.retain(|part| part.len() > 1);
        parts
    }
}

impl RiverNetwork {
    /// Traces the rivers of the droplets on a terrain. Where one divides, all branches begin at the same place.
    pub fn from_droplets(terrain: &Terrain, params: &RiverParams, streams: &DropletStreams) -> Self {
        let (border, cell_size) = (Border::of(terrain), f64::from(terrain.cell_size));
        let flow = Flow::new(border, streams);
        let least = params.discharge(f64::from(params.from_cells) * cell_size * cell_size).max(f32::MIN_POSITIVE);
        let mut cut = StreamLines::trace(&flow, least).cut();
        cut.sort_by_key(|cells| cells[0]);
        let (drainage, ground) = (Drainage::of(terrain), terrain.ground());
        let begins: BTreeMap<usize, usize> =
            cut.iter().enumerate().rev().map(|(number, cells)| (cells[0], number)).collect();
        let reach = |cells: &Vec<usize>| {
            let mut places = unwrap_line(border, cells, |cell, at| {
                let shift = flow.middle(cell);
                let height = drainage.lake(cell, ground[cell]).unwrap_or(ground[cell]);
                let at = [0, 1].map(|axis| (at[axis] + shift[axis] + 0.5) * cell_size);
                ReachPoint { at, height, discharge: 0.0, width: 0.0, depth: 0.0 }
            });
            for (index, place) in places.iter_mut().enumerate() {
                let near = &cells[index.saturating_sub(EVEN)..(index + EVEN + 1).min(cells.len())];
                place.discharge = near.iter().map(|&cell| flow.passing[cell]).sum::<f32>() / near.len() as f32;
                [place.width, place.depth] = params.channel(place.discharge);
            }
            smooth(&mut places);
            let into = begins.get(&cells[cells.len() - 1]).copied();
            Reach { points: places, order: 1, into, in_lake: drainage.lake(cells[0], ground[cells[0]]).is_some() }
        };
        let mut network = Self { reaches: cut.iter().map(reach).collect() };
        network.find_orders();
        network
    }

    /// Computes the order of every reach from its tributaries. Reaches in a cycle keep theirs.
    fn find_orders(&mut self) {
        let mut donors = vec![0_usize; self.reaches.len()];
        self.reaches.iter().filter_map(|reach| reach.into).for_each(|into| donors[into] += 1);
        let mut ready: Vec<usize> = (0..donors.len()).filter(|&reach| donors[reach] == 0).collect();
        let mut orders = vec![TributaryOrders::default(); donors.len()];
        while let Some(number) = ready.pop() {
            let order = orders[number].below();
            self.reaches[number].order = order;
            let Some(into) = self.reaches[number].into else { continue };
            orders[into].join(order);
            donors[into] -= 1;
            if donors[into] == 0 {
                ready.push(into);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::terrain::Edge;

    /// Discharge and course: from a fraction of its length to a place, in cells.
    type Line<'a> = (f32, &'a dyn Fn(f32) -> [f32; 2]);

    /// Creates streams along lines, which spread by a cell to both sides.
    fn streams(size: [usize; 2], edge: Edge, lines: &[Line<'_>]) -> (Border, DropletStreams) {
        let border = Border { width: size[0], height: size[1], edge };
        let mut maps = [(); 3].map(|()| Grid::filled(size[0], size[1], 0.0));
        for (water, line) in lines {
            const PARTS: usize = 4000;
            for part in 0..PARTS {
                let [from, to] = [part, part + 1].map(|part| line(part as f32 / PARTS as f32));
                let displacement = [to[0] - from[0], to[1] - from[1]];
                let length = displacement[0].hypot(displacement[1]);
                // Per cell along the dominant axis.
                let passed = water * displacement[0].abs().max(displacement[1].abs());
                let across = if displacement[0].abs() >= displacement[1].abs() { [0, 1] } else { [1, 0] };
                let at = [from[0].floor() as isize, from[1].floor() as isize];
                let aside = from[1] * across[1] as f32 + from[0] * across[0] as f32;
                for far in -2..=2 {
                    let middle = (at[0] * across[0] + at[1] * across[1] + far) as f32 + 0.5;
                    let share = (1.0 - (aside - middle).abs() / 1.5).max(0.0) / 1.5;
                    let [x, y] = [at[0] + far * across[0], at[1] + far * across[1]];
                    if let (Some(x), Some(y)) = (edge.index(x, size[0]), edge.index(y, size[1])) {
                        for (map, part) in
                            maps.iter_mut().zip([1.0, displacement[0] / length, displacement[1] / length])
                        {
                            map[y * size[0] + x] += passed * share * part;
                        }
                    }
                }
            }
        }
        (border, maps)
    }

    fn terrain(border: Border) -> Terrain {
        Terrain::bare(Grid::from_fn(border.width, border.height, |x, _| 200.0 - x as f32), 10.0, border.edge)
    }

    /// Returns parameters with which this discharge makes a river.
    fn from(discharge: f32) -> RiverParams {
        let one = RiverParams { from_cells: 1.0, ..RiverParams::default() };
        RiverParams { from_cells: discharge / one.discharge(100.0), ..one }
    }

    #[test]
    fn meandering_stream_becomes_single_centreline_reach() {
        let bends = |share: f32| [share * 120.0, 30.0 + 8.0 * (share * 18.0).sin()];
        let (border, maps) = streams([120, 60], Edge::Open, &[(4.0, &bends)]);
        let network = RiverNetwork::from_droplets(&terrain(border), &from(1.0), &maps);
        let [river] = &network.reaches[..] else { panic!("{} reaches", network.reaches.len()) };
        assert!(river.points.len() > 110 && river.into.is_none() && river.order == 1, "{}", river.points.len());
        for place in &river.points[4..river.points.len() - 4] {
            let [x, y] = place.at.map(|at| (at / 10.0) as f32);
            let away = (0..4000).map(|step| bends(step as f32 / 4000.0)).map(|[u, v]| (u - x).hypot(v - y));
            let away = away.fold(f32::MAX, f32::min);
            assert!(away < 0.6, "at {x}, {y} the line lies {away} cells from the middle");
            assert!((place.discharge / 4.0 - 1.0).abs() < 0.2, "{} m³/s of 4", place.discharge);
        }
    }

    #[test]
    fn bifurcating_river_splits_into_arms_sharing_discharge() {
        let trunk = |share: f32| [share * 50.0, 40.0];
        let (up, down) = (
            |share: f32| [50.0 + share * 50.0, 40.0 - 25.0 * share],
            |share: f32| [50.0 + share * 50.0, 40.0 + 25.0 * share],
        );
        let (border, maps) = streams([100, 80], Edge::Open, &[(6.0, &trunk), (3.5, &up), (2.5, &down)]);
        let network = RiverNetwork::from_droplets(&terrain(border), &from(1.0), &maps);
        assert_eq!(network.reaches.len(), 3, "reaches");
        let ends = |reach: &Reach| [reach.points[0], reach.points[reach.points.len() - 1]];
        let trunk = network.reaches.iter().find(|reach| ends(reach)[0].at[0] < 20.0).expect("one begins at the border");
        let meet = ends(trunk)[1].at;
        let arms: Vec<&Reach> = network.reaches.iter().filter(|reach| ends(reach)[0].at == meet).collect();
        assert!(arms.len() == 2 && trunk.into.is_some(), "{} arms begin at {meet:?}", arms.len());
        let water: Vec<f32> = arms.iter().map(|arm| arm.points[arm.points.len() / 2].discharge).collect();
        let both = water[0] + water[1];
        assert!((both / 6.0 - 1.0).abs() < 0.2 && water[0].max(water[1]) / both < 0.65, "{water:?} of 6");
        // At a confluence, the order increases.
        let back: DropletStreams = [maps[0].clone(), reversed(&maps[1]), reversed(&maps[2])];
        let network = RiverNetwork::from_droplets(&terrain(border), &from(1.0), &back);
        let mut orders: Vec<u32> = network.reaches.iter().map(|reach| reach.order).collect();
        orders.sort_unstable();
        assert_eq!(orders, [1, 1, 2]);
    }

    fn reversed(map: &Grid) -> Grid {
        Grid::from_fn(map.width(), map.height(), |x, y| -map.at(x, y))
    }

    #[test]
    fn periodic_stream_terminates_and_dry_map_has_no_reaches() {
        let round = |share: f32| [share * 40.0, 12.0];
        let (border, maps) = streams([40, 24], Edge::Wrap, &[(2.0, &round)]);
        let network = RiverNetwork::from_droplets(&terrain(border), &from(0.5), &maps);
        let cells: usize = network.reaches.iter().map(|reach| reach.points.len()).sum();
        assert!((38..48).contains(&cells), "{cells} places");
        for (width, height) in [(1, 1), (2, 3), (64, 1)] {
            for edge in [Edge::Open, Edge::Wall, Edge::Wrap] {
                let (border, maps) = streams([width, height], edge, &[]);
                assert_eq!(RiverNetwork::from_droplets(&terrain(border), &from(1e-6), &maps), RiverNetwork::default());
                let full = [(); 3].map(|()| Grid::filled(width, height, 1.0));
                let network = RiverNetwork::from_droplets(&terrain(border), &from(1e-6), &full);
                assert!(network.reaches.iter().all(|reach| reach.points.iter().all(|place| place.width.is_finite())));
            }
        }
    }
}
