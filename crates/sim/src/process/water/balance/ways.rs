//! Where the water of each cell goes, across faces and out of hollows, and the order in which cells are visited for it.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    ops::Range,
};

use super::faces::parts_of;
use crate::core::terrain::Terrain;

/// Side of the squares of cells that are visited together, in cells.
const SIDE: usize = 32;
/// No place, in `Place::around`.
pub(super) const NOWHERE: u32 = u32::MAX;

/// A cell in the order of visits.
pub(super) struct Place {
    /// Its number on the map.
    pub(super) cell: u32,
    /// The places of the cells across its faces: left, right, above, below.
    pub(super) around: [u32; 4],
    /// In metres.
    pub(super) ground: f32,
    /// The part of its water that leaves across each face.
    pub(super) parts: [f32; 4],
    /// The faces that its water leaves across, a bit for each. None where a drain swallows what comes.
    leaves: u8,
    /// Whether it lies lower than the pass that its water leaves over.
    pub(super) in_hollow: bool,
}

impl Place {
    /// Whether its water leaves across a face.
    pub(super) fn leaves(&self, face: usize) -> bool {
        self.leaves >> face & 1 == 1
    }

    /// Its faces to other cells, with the places of these.
    pub(super) fn beside(&self) -> impl Iterator<Item = (usize, usize)> {
        self.around
            .into_iter()
            .enumerate()
            .filter(|(_, next)| *next != NOWHERE)
            .map(|(face, next)| (face, next as usize))
    }
}

/// All cells, each after those that its water runs into.
pub(super) struct Ways {
    pub(super) places: Vec<Place>,
    /// Stretches of the places. Those of one step do not depend on each other.
    pub(super) steps: Vec<Vec<Range<usize>>>,
}

/// A number that is larger for larger heights.
fn rank(height: f32) -> u32 {
    let bits = height.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// How water leaves: the cell that each runs into in the flood from the outlets (itself where it leaves the map), and the place of each in
/// that flood.
struct Flood {
    into: Vec<u32>,
    turn: Vec<u32>,
    in_hollow: Vec<bool>,
}

impl Flood {
    fn from(outlets: &[(usize, f32)], terrain: &Terrain, ground: &[f32]) -> Self {
        let mut into = vec![NOWHERE; ground.len()];
        let mut turn = vec![0; ground.len()];
        let mut in_hollow = vec![false; ground.len()];
        let mut heap = BinaryHeap::with_capacity(outlets.len());
        for &(cell, level) in outlets {
            into[cell] = cell as u32;
            heap.push(Reverse((rank(level.max(ground[cell])), cell as u32)));
        }
        // What lies below the pass that it is reached over needs no place in the heap.
        let mut hollow = VecDeque::new();
        let mut count = 0;
        while let Some((level, cell)) = hollow.pop_front().or_else(|| heap.pop().map(|Reverse(next)| next)) {
            turn[cell as usize] = count;
            count += 1;
            for next in around(terrain, cell as usize).into_iter().flatten() {
                if into[next] == NOWHERE {
                    into[next] = cell;
                    match rank(ground[next]) {
                        own if own <= level => {
                            in_hollow[next] = own < level;
                            hollow.push_back((level, next as u32));
                        }
                        own => heap.push(Reverse((own, next as u32))),
                    }
                }
            }
        }
        Self { into, turn, in_hollow }
    }
}

impl Ways {
    /// The ways of a ground, from cells that the water leaves at, given with the level that it has to reach there. `borders` tells which
    /// faces of a cell are an open border of the map, and `beyond` the level behind them.
    ///
    /// Water leaves to lower ground, beyond the border, and the way of the flood, and only to cells that the flood came to before. So no
    /// water goes in a circle.
    pub(super) fn find(
        terrain: &Terrain,
        ground: &[f32],
        outlets: &[(usize, f32)],
        borders: impl Fn(usize) -> [bool; 4],
        beyond: impl Fn(usize) -> f32,
    ) -> Self {
        let flood = Flood::from(outlets, terrain, ground);
        let leaves: Vec<u8> = (0..ground.len())
            .map(|cell| {
                let into = flood.into[cell] as usize;
                let out = if into == cell { bits(borders(cell)) } else { 0 };
                if into == cell && out == 0 {
                    return 0;
                }
                let to =
                    |next: usize| flood.turn[next] < flood.turn[cell] && (ground[next] < ground[cell] || into == next);
                out | bits(around(terrain, cell).map(|next| next.is_some_and(to)))
            })
            .collect();
        let (order, steps) = in_steps(terrain, &leaves);
        let mut turn = flood.turn;
        order.iter().zip(0..).for_each(|(&cell, place)| turn[cell as usize] = place);
        let place = |&cell: &u32| {
            let own = cell as usize;
            let (across, leaves) = (around(terrain, own), leaves[own]);
            let falls = std::array::from_fn(|face| {
                let behind = || across[face].map_or_else(|| beyond(own), |next| ground[next]);
                (leaves >> face & 1 == 1).then(|| ground[own] - behind())
            });
            Place {
                cell,
                around: across.map(|next| next.map_or(NOWHERE, |next| turn[next])),
                ground: ground[own],
                parts: parts_of(falls),
                leaves,
                in_hollow: flood.in_hollow[own],
            }
        };
        Self { places: order.iter().map(place).collect(), steps }
    }
}

fn bits(faces: [bool; 4]) -> u8 {
    (0..4).map(|face| u8::from(faces[face]) << face).sum()
}

/// An order of the cells in which each comes after those that its water leaves to, a square at a time as far as that goes, and the stretches
/// of its steps.
fn in_steps(terrain: &Terrain, leaves: &[u8]) -> (Vec<u32>, Vec<Vec<Range<usize>>>) {
    let across = terrain.width().div_ceil(SIDE);
    let square = |cell: usize| cell / terrain.width() / SIDE * across + cell % terrain.width() / SIDE;
    let inside = |face: usize, cell: usize| leaves[cell] >> face & 1 == 1;
    // Faces to cells that were not visited yet.
    let mut open: Vec<u8> = (0..leaves.len())
        .map(|cell| {
            let next = around(terrain, cell);
            (0..4).filter(|&face| next[face].is_some() && inside(face, cell)).count() as u8
        })
        .collect();
    let mut ready = vec![Vec::new(); across * terrain.height().div_ceil(SIDE)];
    let mut squares = Vec::new();
    let wake = |ready: &mut [Vec<u32>], squares: &mut Vec<usize>, cell: usize| {
        let square = square(cell);
        if ready[square].is_empty() {
            squares.push(square);
        }
        ready[square].push(cell as u32);
    };
    (0..leaves.len()).filter(|&cell| open[cell] == 0).for_each(|cell| wake(&mut ready, &mut squares, cell));
    let (mut order, mut steps, mut others) = (Vec::with_capacity(leaves.len()), Vec::new(), Vec::new());
    while !squares.is_empty() {
        let mut step = Vec::with_capacity(squares.len());
        for own in squares.drain(..) {
            let start = order.len();
            let mut cells = std::mem::take(&mut ready[own]);
            while let Some(cell) = cells.pop() {
                order.push(cell);
                for (face, next) in around(terrain, cell as usize).into_iter().enumerate() {
                    // Seen from there, it is the face on the other side.
                    let Some(next) = next.filter(|&next| inside(face ^ 1, next)) else { continue };
                    if square(next) != own {
                        others.push(next);
                        continue;
                    }
                    open[next] -= 1;
                    if open[next] == 0 {
                        cells.push(next as u32);
                    }
                }
            }
            step.push(start..order.len());
        }
        // Other squares know of it in the next step.
        for cell in others.drain(..) {
            open[cell] -= 1;
            if open[cell] == 0 {
                wake(&mut ready, &mut squares, cell);
            }
        }
        steps.push(step);
    }
    (order, steps)
}

/// The cells across a cell's faces: left, right, above, below.
fn around(terrain: &Terrain, cell: usize) -> [Option<usize>; 4] {
    let (width, height) = (terrain.width(), terrain.height());
    let (x, y) = (cell % width, cell / width);
    if (1..width - 1).contains(&x) && (1..height - 1).contains(&y) {
        return [cell - 1, cell + 1, cell - width, cell + width].map(Some);
    }
    let (x, y) = (x as isize, y as isize);
    let index = |[x, y]: [isize; 2]| Some(terrain.edge.index(y, height)? * width + terrain.edge.index(x, width)?);
    [[x - 1, y], [x + 1, y], [x, y - 1], [x, y + 1]].map(index)
}
