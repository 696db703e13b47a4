//! Where dabs fall while a pointer moves.

use super::Brush;
use crate::core::terrain::Terrain;

/// Passes per second that a resting brush does.
const PASSES_PER_SECOND: f32 = 0.75;

/// By how much a stroke has lifted each cell, in metres, and the largest effect of a dab there. It takes memory once it is used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Growth(Vec<[f32; 2]>);

impl Growth {
    /// Of a map of so many cells.
    pub(super) fn cells(&mut self, count: usize) -> &mut [[f32; 2]] {
        if self.0.len() != count {
            self.0 = vec![[0.0; 2]; count];
        }
        &mut self.0
    }
}

/// The way of a brush. How many dabs fall depends on the way and the time, not on how many frames are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    last: [f32; 2],
    /// Share of the way to the next dab that is done.
    done: f32,
}

impl Stroke {
    /// Touches the ground; the first dab falls there.
    pub fn new(place: [f32; 2]) -> Self {
        Self { last: place, done: 0.0 }
    }

    /// Moves on to a place, in cells, within so many seconds. Returns where dabs fall.
    pub fn go(&mut self, place: [f32; 2], seconds: f32, brush: &Brush, terrain: &Terrain) -> Vec<[f32; 2]> {
        let way = [0, 1].map(|axis| place[axis] - self.last[axis]);
        let spacing = 0.01 * brush.spacing * brush.cells(terrain);
        let rested = if brush.hold { seconds * PASSES_PER_SECOND * brush.dabs_per_pass() } else { 0.0 };
        let due = libm::hypotf(way[0], way[1]) / spacing + rested;
        let mut dabs = Vec::new();
        let mut next = 1.0 - self.done;
        while next <= due {
            let share = next / due;
            dabs.push([0, 1].map(|axis| self.last[axis] + share * way[axis]));
            next += 1.0;
        }
        self.done = 1.0 - (next - due);
        self.last = place;
        dabs
    }
}
