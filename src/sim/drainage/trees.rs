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
            self.climb(outlet, |cell, receiver: u32| {
                if cell != outlet {
                    links.push((cell, receiver));
                }
                cell
            });
        }
        Order { links }
    }

    /// Visits the tree of an outlet from there upwards, each cell after its receiver: `visit` is told the cell and what it said
    /// of the receiver; of the outlet it is told 0.
    #[inline(always)]
    pub fn climb<T: Copy + Default>(&self, outlet: u32, mut visit: impl FnMut(u32, T) -> T) {
        let mut waiting = vec![(outlet, T::default())];
        while let Some((cell, below)) = waiting.pop() {
            let said = visit(cell, below);
            let mut from = self.from[cell as usize];
            while from != 0 {
                waiting.push((self.step(cell as usize, from.trailing_zeros() as u8) as u32, said));
                from &= from - 1;
            }
        }
    }
}
