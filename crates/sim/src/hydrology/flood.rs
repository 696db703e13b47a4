//! Priority flood of a map from its outlets inwards (Barnes, Lehman & Mulla 2014, Computers & Geosciences 62, 117), with a plain
//! queue for cells below the spill point over which they are reached.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

/// Marks a cell that the flood has not reached.
const NOWHERE: u32 = u32::MAX;

/// Priority flood of a map.
pub struct Flood {
    /// Cells in the order in which the flood reaches them.
    pub order: Vec<u32>,
    /// Cell from which the flood reaches each cell: itself for an outlet, `u32::MAX` without a connection to an outlet.
    pub from: Vec<u32>,
    /// Water level of each cell, in metres: that of the spill point in a depression, the ground elsewhere.
    pub levels: Vec<f32>,
}

impl Flood {
    /// Floods the ground, an elevation per cell in metres, from outlets with the level that the water has to reach there. Water
    /// passes between a cell and its `neighbours`.
    pub fn new<N: IntoIterator<Item = usize>>(
        ground: &[f32],
        outlets: impl IntoIterator<Item = (usize, f32)>,
        neighbours: impl Fn(usize) -> N,
    ) -> Self {
        let (mut order, mut from) = (Vec::with_capacity(ground.len()), vec![NOWHERE; ground.len()]);
        let mut levels = ground.to_vec();
        let (mut heap, mut sunken) = (BinaryHeap::new(), VecDeque::new());
        for (cell, level) in outlets {
            from[cell] = cell as u32;
            levels[cell] = level.max(ground[cell]);
            heap.push(Reverse((to_ordered_bits(levels[cell]), cell as u32)));
        }
        while let Some(cell) = sunken.pop_front().or_else(|| heap.pop().map(|Reverse((_, cell))| cell)) {
            order.push(cell);
            let level = levels[cell as usize];
            for next in neighbours(cell as usize) {
                if from[next] != NOWHERE {
                    continue;
                }
                from[next] = cell;
                let height = to_ordered_bits(ground[next]);
                if height <= to_ordered_bits(level) {
                    levels[next] = level;
                    sunken.push_back(next as u32);
                } else {
                    heap.push(Reverse((height, next as u32)));
                }
            }
        }
        Self { order, from, levels }
    }
}

/// Returns an integer that orders like the number.
pub(super) fn to_ordered_bits(number: f32) -> i32 {
    let bits = number.to_bits() as i32;
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{border::Border, terrain::Edge};

    #[test]
    fn basin_fills_to_spill_point_under_either_connectivity() {
        // A rim of 5 m around a basin at 1 m, lower at a corner, with an outlet at 0 m outside.
        let ground = [5.0, 5.0, 5.0, 5.0, 5.0, 1.0, 1.0, 5.0, 5.0, 5.0, 3.0, -2.0];
        let border = Border { width: 4, height: 3, edge: Edge::Wall };
        let corners = Flood::new(&ground, [(11, 0.0)], |cell| border.neighbours(cell).map(|(_, other)| other));
        assert_eq!(corners.levels[4..], [5.0, 1.0, 1.0, 5.0, 5.0, 5.0, 3.0, 0.0]);
        let corners_closed = Flood::new(&ground, [(11, 0.0)], |cell| border.across_faces(cell).into_iter().flatten());
        assert_eq!(corners_closed.levels[4..], [5.0, 3.0, 3.0, 5.0, 5.0, 5.0, 3.0, 0.0]);
        for Flood { order, from, .. } in [corners, corners_closed] {
            assert_eq!((order.len(), order[0], from[11]), (12, 11, 11));
            let place = |cell: u32| order.iter().position(|&other| other == cell);
            assert!((0..11).all(|cell| place(from[cell]) < place(cell as u32)));
        }
    }
}
