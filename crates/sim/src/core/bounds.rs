//! Ranges of numbers that the simulation supports. Every reader checks its input against them.
//!
//! A 32-bit float has a significand of 24 bits: at a million metres the resolution is 6 cm, and beyond it the changes per
//! tick are lost to rounding. Squares and products of numbers within these bounds stay finite.

use std::{fmt, ops::RangeInclusive};

/// Inclusive range of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Name of the quantity, with its article.
    what: &'static str,
    /// Smallest valid value.
    pub min: f64,
    /// Largest valid value.
    pub max: f64,
    /// Unit, with a leading space; empty if dimensionless.
    unit: &'static str,
}

/// Elevation of the ground or of the water surface.
pub const HEIGHT: Bounds = Bounds { what: "a height", min: -1e6, max: 1e6, unit: " m" };
/// Thickness of sand or sediment, or depth of water.
pub const DEPTH: Bounds = Bounds { what: "a thickness or depth", min: 0.0, max: 1e6, unit: " m" };
/// Softness of bedrock, mask or relative uplift.
pub const SHARE: Bounds = Bounds { what: "a softness or mask value", min: 0.0, max: 1.0, unit: "" };
/// Rain map, of which only the ratios matter.
pub const RAIN: Bounds = Bounds { what: "a rain weight", min: 0.0, max: 1e6, unit: "" };
/// Cell size.
pub const CELL_SIZE: Bounds = Bounds { what: "a cell size", min: 1e-3, max: 1e6, unit: " m" };
/// Position on the map, as a fraction of its side.
pub const POSITION: Bounds = Bounds { what: "a position, as a fraction of the map,", min: 0.0, max: 1.0, unit: "" };
/// Georeferenced position or extent of a map, in its own unit.
pub const EARTH: Bounds = Bounds { what: "a map coordinate", min: -1e9, max: 1e9, unit: "" };
/// Radius of a spring.
pub const RADIUS: Bounds = Bounds { what: "a radius", min: 0.0, max: 1e10, unit: " m" };
/// Rate of a spring, negative for a drain.
pub const RATE: Bounds = Bounds { what: "a spring rate", min: -1e9, max: 1e9, unit: " m³/s" };
/// Volume in the ledger. A map of the largest size can hold 2e25 m³.
pub const VOLUME: Bounds = Bounds { what: "a volume", min: -1e30, max: 1e30, unit: " m³" };
/// State of a process that persists between ticks.
pub const STATE_VARIABLE: Bounds = Bounds { what: "a state variable", min: -1e30, max: 1e30, unit: "" };
/// Index of a tick.
pub const TICK: Bounds = Bounds { what: "a tick", min: 0.0, max: (1_u64 << 48) as f64, unit: "" };

/// Sides of a terrain that a user creates or opens, in cells.
pub const SIDES: RangeInclusive<usize> = 32..=4096;
/// Maximum number of cells of a terrain: offsets into tiles are `i32`, and drainage areas in cells are `f32`, exact up to it.
pub const MOST_CELLS: usize = 1 << 24;
const _: () = assert!(MOST_CELLS == *SIDES.end() * *SIDES.end());

/// Rejected input: the problem and a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{wrong}; {right}")]
pub struct InvalidInput {
    /// Problem, such as a number out of bounds.
    pub wrong: String,
    /// Remedy, such as the range of the number.
    pub right: String,
}

impl From<InvalidInput> for String {
    fn from(unfit: InvalidInput) -> Self {
        unfit.to_string()
    }
}

impl Bounds {
    /// Returns `true` if a number is in the range, which NaN and infinities never are.
    pub fn contains(&self, value: impl Into<f64>) -> bool {
        (self.min..=self.max).contains(&value.into())
    }

    /// Returns the number in the range that is closest to this one.
    pub const fn clamp(&self, value: f32) -> f32 {
        value.clamp(self.min as f32, self.max as f32)
    }

    /// Checks the value of the quantity called `name`.
    ///
    /// # Errors
    /// The value is out of bounds.
    pub fn check<T>(&self, name: impl fmt::Display, value: T) -> Result<(), InvalidInput>
    where
        T: Into<f64> + fmt::Display + fmt::LowerExp + Copy,
    {
        if self.contains(value) {
            return Ok(());
        }
        let size = value.into().abs();
        // Scientific notation replaces long runs of digits.
        let readable = size == 0.0 || (1e-6..1e9).contains(&size);
        let wrong = if readable { format!("{name} is {value}") } else { format!("{name} is {value:e}") };
        Err(InvalidInput { wrong, right: self.to_string() })
    }

    /// Checks all cells of some rows of a map of this width, the first of which is row `first_row`.
    ///
    /// # Errors
    /// Names the first cell that is out of bounds.
    pub fn check_cells(&self, cells: &[f32], width: usize, first_row: usize) -> Result<(), InvalidInput> {
        let Some(index) = cells.iter().position(|&value| !self.contains(value)) else { return Ok(()) };
        let (column, row) = (index % width, first_row + index / width);
        self.check(format_args!("the value in column {column}, row {row} (counted from 0)"), cells[index])
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, min, max, unit } = self;
        let number = |number: f64| if number.abs() > 1e9 { format!("{number:e}") } else { number.to_string() };
        write!(f, "{what} must be between {} and {}{unit}", number(*min), number(*max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        core::{
            grid::Grid,
            terrain::{Edge, Terrain},
        },
        process::catalogue,
        simulation::Simulation,
    };

    #[test]
    fn out_of_bounds_error_names_cell_and_valid_range() {
        assert_eq!(HEIGHT.check_cells(&[0.0, -1e6, 1e6, 8848.0], 2, 0), Ok(()));
        let message = HEIGHT.check_cells(&[0.0, 1.0, 2.0, f32::MAX], 2, 7).expect_err("too high").to_string();
        let right = "a height must be between -1000000 and 1000000 m";
        assert_eq!(message, format!("the value in column 1, row 8 (counted from 0) is 3.4028235e38; {right}"));
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.000_000_1e6] {
            assert!(HEIGHT.check("it", value).is_err(), "{value}");
        }
        assert_eq!(SHARE.check("its softness", -0.5).expect_err("negative").wrong, "its softness is -0.5");
        assert!(CELL_SIZE.check("cellsize", 1e-46).is_err() && CELL_SIZE.check("cellsize", 1e39).is_err());
    }

    /// At the bounds, no process produces values that are not finite.
    #[test]
    fn processes_stay_finite_at_layer_bounds() {
        let worst =
            |x: usize, y: usize, bounds: Bounds| if (x * 7 + y * 13) % 5 < 2 { bounds.min } else { bounds.max } as f32;
        let grid = |bounds: Bounds| Grid::from_fn(48, 40, |x, y| worst(x, y, bounds));
        for cell_size in [CELL_SIZE.min as f32, 1.0, CELL_SIZE.max as f32] {
            for key in catalogue().iter().map(|process| process.info().key) {
                let mut terrain = Terrain::bare(grid(HEIGHT), cell_size.max(0.001_000_1), Edge::Open);
                (terrain.sand, terrain.water, terrain.suspended) = (grid(DEPTH), grid(DEPTH), grid(DEPTH));
                (terrain.softness, terrain.rain) = (grid(SHARE), Some(grid(RAIN)));
                terrain.start = terrain.ground();
                let mut simulation = Simulation::new(terrain, 1);
                simulation.slot_mut(key).expect("it is in the catalogue").enabled = true;
                (0..3).for_each(|_| simulation.tick());
                for (layer, grid) in simulation.terrain.layers() {
                    let finite = grid.iter().all(|value| value.is_finite());
                    assert!(finite, "{key} with cells of {cell_size} m: {}", layer.key());
                }
            }
        }
    }
}
