//! Routing of the outflow of each cell, across faces and out of depressions, and a topological order of the cells.

use std::ops::Range;

use super::faces::parts_of;
use crate::{core::border::Border, hydrology::flood::Flood};

/// Side of the tiles of cells that are visited together, in cells.
const SIDE: usize = 32;
/// No place, in `Place::around`.
pub(super) const NOWHERE: u32 = u32::MAX;

/// Cell in the topological order.
pub(super) struct Place {
    /// Index on the map.
    pub(super) cell: u32,
    /// Places of the cells across its faces: left, right, above, below.
    pub(super) around: [u32; 4],
    /// Height of the ground, in metres.
    pub(super) ground: f32,
    /// Fraction of its outflow across each face.
    pub(super) parts: [f32; 4],
    /// Faces across which its water leaves, a bit for each. None at a drain.
    leaves: u8,
}

impl Place {
    /// Returns `true` if its water leaves across a face.
    pub(super) fn leaves(&self, face: usize) -> bool {
        self.leaves >> face & 1 == 1
    }

    /// Returns `true` if a face is an open border without a fall, over which the depth of the water alone drives the outflow.
    pub(super) fn pours(&self, face: usize) -> bool {
        self.leaves(face) && self.around[face] == NOWHERE && self.parts[face] == 0.0
    }

    /// Returns its faces to other cells, with their places.
    pub(super) fn neighbours(&self) -> impl Iterator<Item = (usize, usize)> {
        self.around
            .into_iter()
            .enumerate()
            .filter(|(_, next)| *next != NOWHERE)
            .map(|(face, next)| (face, next as usize))
    }
}

/// All cells in topological order, each after its receivers.
pub(super) struct Routing {
    pub(super) places: Vec<Place>,
    /// Ranges of places by step. The ranges of a step do not depend on each other.
    pub(super) steps: Vec<Vec<Range<usize>>>,
}

impl Routing {
    /// Routes the water of a ground to `outlets`, given with the level that it has to reach there. `borders` returns which faces of a
    /// cell are an open border of the map, and `beyond` the level behind them.
    ///
    /// Water leaves to lower ground, across the border and along the path of the flood, and only to cells that the flood reached before,
    /// so there are no cycles.
    pub(super) fn find(
        border: Border,
        ground: &[f32],
        outlets: &[(usize, f32)],
        borders: impl Fn(usize) -> [bool; 4],
        beyond: impl Fn(usize) -> f32,
    ) -> Self {
        let across_faces = |cell: usize| border.across_faces(cell).into_iter().flatten();
        let Flood { order, from, .. } = Flood::new(ground, outlets.iter().copied(), across_faces);
        let mut turn = vec![0; ground.len()];
        let number = |turn: &mut [u32], order: &[u32]| {
            order.iter().zip(0..).for_each(|(&cell, place)| turn[cell as usize] = place);
        };
        number(&mut turn, &order);
        let leaves: Vec<u8> = (0..ground.len())
            .map(|cell| {
                let into = from[cell] as usize;
                let out = if into == cell { bits(borders(cell)) } else { 0 };
                if into == cell && out == 0 {
                    return 0;
                }
                let to = |next: usize| turn[next] < turn[cell] && (ground[next] < ground[cell] || into == next);
                out | bits(border.across_faces(cell).map(|next| next.is_some_and(to)))
            })
            .collect();
        let (order, steps) = in_steps(border, &leaves);
        number(&mut turn, &order);
        let place = |&cell: &u32| {
            let own = cell as usize;
            let (across, leaves) = (border.across_faces(own), leaves[own]);
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
            }
        };
        Self { places: order.iter().map(place).collect(), steps }
    }
}

fn bits(faces: [bool; 4]) -> u8 {
    (0..4).map(|face| u8::from(faces[face]) << face).sum()
}

/// Returns a topological order of the cells, each after its receivers and tile by tile as far as possible, and the ranges of its steps.
fn in_steps(border: Border, leaves: &[u8]) -> (Vec<u32>, Vec<Vec<Range<usize>>>) {
    let across = border.width.div_ceil(SIDE);
    let square = |cell: usize| cell / border.width / SIDE * across + cell % border.width / SIDE;
    let inside = |face: usize, cell: usize| leaves[cell] >> face & 1 == 1;
    // Number of receivers of each cell that are not visited yet.
    let mut open: Vec<u8> = (0..leaves.len())
        .map(|cell| {
            let next = border.across_faces(cell);
            (0..4).filter(|&face| next[face].is_some() && inside(face, cell)).count() as u8
        })
        .collect();
    let mut ready = vec![Vec::new(); across * border.height.div_ceil(SIDE)];
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
                for (face, next) in border.across_faces(cell as usize).into_iter().enumerate() {
                    // From the neighbour, it is the opposite face.
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
        // Other tiles see it in the next step.
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
