//! Where the water of each cell goes, across faces and out of hollows.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use crate::sim::terrain::Terrain;

/// Where the water of each cell goes, across the four faces.
pub(super) struct Ways {
    /// Every cell after the one that it runs into, and the place of each in this order.
    pub(super) order: Vec<u32>,
    places: Vec<u32>,
    /// The cell that each runs into; itself where its water leaves the map.
    pub(super) into: Vec<u32>,
    /// Whether each lies lower than the pass that its water leaves over.
    pub(super) in_hollow: Vec<bool>,
}

/// A number that is larger for larger heights.
fn rank(height: f32) -> u32 {
    let bits = height.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

impl Ways {
    /// The ways of a ground, from cells that the water leaves at, given with the level that it has to reach there.
    pub(super) fn find(terrain: &Terrain, ground: &[f32], outlets: &[(usize, f32)]) -> Self {
        let mut into = vec![u32::MAX; ground.len()];
        let mut in_hollow = vec![false; ground.len()];
        let mut order = Vec::with_capacity(ground.len());
        let mut heap = BinaryHeap::with_capacity(outlets.len());
        for &(cell, level) in outlets {
            into[cell] = cell as u32;
            heap.push(Reverse((rank(level.max(ground[cell])), cell as u32)));
        }
        // What lies below the pass that it is reached over needs no place in the heap.
        let mut hollow = VecDeque::new();
        while let Some((level, cell)) = hollow.pop_front().or_else(|| heap.pop().map(|Reverse(next)| next)) {
            order.push(cell);
            for next in around(terrain, cell as usize).into_iter().flatten() {
                if into[next] == u32::MAX {
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
        let mut places = vec![0; ground.len()];
        order.iter().zip(0..).for_each(|(&cell, place)| places[cell as usize] = place);
        Self { order, places, into, in_hollow }
    }

    /// Whether a cell comes before another one in the order.
    pub(super) fn is_before(&self, cell: usize, other: usize) -> bool {
        self.places[cell] < self.places[other]
    }
}

/// The cells across a cell's faces: left, right, above, below.
pub(super) fn around(terrain: &Terrain, cell: usize) -> [Option<usize>; 4] {
    let (width, height) = (terrain.width(), terrain.height());
    let (x, y) = (cell % width, cell / width);
    if (1..width - 1).contains(&x) && (1..height - 1).contains(&y) {
        return [cell - 1, cell + 1, cell - width, cell + width].map(Some);
    }
    let (x, y) = (x as isize, y as isize);
    let index = |[x, y]: [isize; 2]| Some(terrain.edge.index(y, height)? * width + terrain.edge.index(x, width)?);
    [[x - 1, y], [x + 1, y], [x, y - 1], [x, y + 1]].map(index)
}
