//! Topological order of cells, from the outlets upstream.

use super::Drainage;

/// Upstream order of cells, each after its receiver: one tree after another, one for each outlet.
pub struct UpstreamOrder {
    /// Cells and their receivers, without outlets.
    links: Vec<(u32, u32)>,
}

impl UpstreamOrder {
    /// Returns cells and their receivers, each after that of its receiver, without outlets. In reverse this is downstream order.
    pub fn links(&self) -> &[(u32, u32)] {
        &self.links
    }
}

impl Drainage {
    /// Returns the cells in upstream order.
    pub fn order(&self) -> UpstreamOrder {
        let mut links = Vec::with_capacity(self.len());
        for &outlet in &self.outlets {
            self.visit_upstream(&mut vec![(outlet, outlet)], usize::MAX, |cell, receiver| {
                if cell != outlet {
                    links.push((cell, receiver));
                }
                cell
            });
        }
        UpstreamOrder { links }
    }

    /// Visits the trees rooted at the waiting cells upstream, the last one first, each cell after its receiver. `visit` gets the
    /// cell and its result for the receiver, or the value that waits with the cell. After `most` cells it stops, and unvisited
    /// cells wait.
    #[inline(always)]
    pub fn visit_upstream<T: Copy>(
        &self,
        waiting: &mut Vec<(u32, T)>,
        most: usize,
        mut visit: impl FnMut(u32, T) -> T,
    ) {
        for _ in 0..most {
            let Some((cell, below)) = waiting.pop() else { return };
            let result = visit(cell, below);
            let mut from = self.from[cell as usize];
            while from != 0 {
                waiting.push((self.step(cell as usize, from.trailing_zeros() as u8) as u32, result));
                from &= from - 1;
            }
        }
    }
}
