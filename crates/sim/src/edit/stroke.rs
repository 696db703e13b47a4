//! Positions of dabs along the path of the pointer.

use super::Brush;
use crate::core::terrain::Terrain;

/// Passes per second of a stationary brush.
const PASSES_PER_SECOND: f32 = 0.75;

/// Growth of each cell by a stroke, in metres, and the largest effect of a dab there. Allocated on first use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StrokeGrowth(Vec<[f32; 2]>);

impl StrokeGrowth {
    /// Returns the entries for a map of `count` cells.
    pub(super) fn cells(&mut self, count: usize) -> &mut [[f32; 2]] {
        if self.0.len() != count {
            self.0 = vec![[0.0; 2]; count];
        }
        &mut self.0
    }

    /// Returns the growth of a cell so far, in metres.
    pub(super) fn at(&self, cell: usize) -> f32 {
        self.0.get(cell).map_or(0.0, |[grown, _]| *grown)
    }
}

/// Path of a brush. The number of dabs depends on the path and the time, not on the frame rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    last: [f32; 2],
    /// Completed fraction of the way to the next dab.
    done: f32,
}

impl Stroke {
    /// Starts a stroke; the first dab is at this position.
    pub fn new(place: [f32; 2]) -> Self {
        Self { last: place, done: 0.0 }
    }

    /// Continues the stroke to a position, in cells, within a time. Returns the positions of new dabs.
    pub fn advance(&mut self, place: [f32; 2], seconds: f32, brush: &Brush, terrain: &Terrain) -> Vec<[f32; 2]> {
        let displacement = [0, 1].map(|axis| place[axis] - self.last[axis]);
        let spacing = 0.01 * brush.spacing * brush.radius_in_cells(terrain);
        let rested = if brush.hold { seconds * PASSES_PER_SECOND * brush.dabs_per_pass() } else { 0.0 };
        let due = libm::hypotf(displacement[0], displacement[1]) / spacing + rested;
        let mut dabs = Vec::new();
        let mut next = 1.0 - self.done;
        while next <= due {
            let share = next / due;
            dabs.push([0, 1].map(|axis| self.last[axis] + share * displacement[axis]));
            next += 1.0;
        }
        self.done = 1.0 - (next - due);
        self.last = place;
        dabs
    }
}
