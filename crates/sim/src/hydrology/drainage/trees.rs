//! The order of cells from the outlets upwards.

use super::Drainage;

/// Cells from the outlets upwards, each after its receiver: a tree after the other, one for each outlet.
pub struct Order {
    /// Cells and their receivers; outlets are not among them.
    links: Vec<(u32, u32)>,
}

impl Order {
    /// Cells and their receivers, each after that of its receiver; outlets are not among them. Backwards it goes downstream.
    pub fn links(&self) -> &[(u32, u32)] {
        &self.links
    }
}

impl Drainage {
    /// Cells from the outlets upwards.
    pub fn order(&self) -> Order {
        let mut links = Vec::with_capacity(self.len());
        for &outlet in &self.outlets {
            self.climb(&mut vec![(outlet, outlet)], usize::MAX, |cell, receiver| {
                if cell != outlet {
                    links.push((cell, receiver));
                }
                cell
            });
        }
        Order { links }
    }

    /// Visits the trees that begin with the waiting cells, the last one first, from there upwards, each cell after its receiver.
    /// `visit` is told the cell and what it said of the receiver, or what waits with the cell. After so many cells it stops, and
    /// what it has not come to waits.
    #[inline(always)]
    pub fn climb<T: Copy>(&self, waiting: &mut Vec<(u32, T)>, most: usize, mut visit: impl FnMut(u32, T) -> T) {
        for _ in 0..most {
            let Some((cell, below)) = waiting.pop() else { return };
            let said = visit(cell, below);
            let mut from = self.from[cell as usize];
            while from != 0 {
                waiting.push((self.step(cell as usize, from.trailing_zeros() as u8) as u32, said));
                from &= from - 1;
            }
        }
    }
}
