//! Which numbers the simulation can carry. Every reader asks here, whatever it reads.
//!
//! Numbers of 32 bits have 24 of them for the value: at a million metres the smallest step is 6 cm, and beyond it what a
//! process moves in a tick is rounded away. Squares and products of what lies within these bounds stay finite.

use std::{fmt, ops::RangeInclusive};

/// From where to where a number of some kind may lie, both included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// What it is the number of, with its article.
    what: &'static str,
    min: f64,
    max: f64,
    /// Written behind the numbers; empty for a pure number.
    unit: &'static str,
}

/// Height of ground or of the surface of water.
pub const HEIGHT: Bounds = Bounds { what: "a height", min: -1e6, max: 1e6, unit: " m" };
/// Thickness of sand or sediment, depth of water.
pub const DEPTH: Bounds = Bounds { what: "a thickness or depth", min: 0.0, max: 1e6, unit: " m" };
/// Softness of bedrock, and how much of a cell the mask covers.
pub const SHARE: Bounds = Bounds { what: "softness or cover", min: 0.0, max: 1.0, unit: "" };
/// Where rain falls: only the shares count.
pub const RAIN: Bounds = Bounds { what: "rain, of which only the shares count,", min: 0.0, max: 1e6, unit: "" };
/// Side of a cell.
pub const CELL_SIZE: Bounds = Bounds { what: "the side of a cell", min: 1e-3, max: 1e6, unit: " m" };
/// A place on the map, as a share of its side.
pub const PLACE: Bounds = Bounds { what: "a place, as a share of the map,", min: 0.0, max: 1.0, unit: "" };
/// Where a map lies on Earth and how far it reaches, in its own unit.
pub const EARTH: Bounds = Bounds { what: "a coordinate on Earth", min: -1e9, max: 1e9, unit: "" };
/// How far a spring reaches.
pub const RADIUS: Bounds = Bounds { what: "a radius", min: 0.0, max: 1e10, unit: " m" };
/// What a spring gives; a drain takes it.
pub const RATE: Bounds = Bounds { what: "a spring's rate", min: -1e9, max: 1e9, unit: " m³/s" };
/// What the ledger holds. All that a map of the largest size can hold is 2e25 m³.
pub const VOLUME: Bounds = Bounds { what: "a volume", min: -1e30, max: 1e30, unit: " m³" };
/// What a process keeps from tick to tick.
pub const KEPT: Bounds = Bounds { what: "what a process keeps", min: -1e30, max: 1e30, unit: "" };
/// Number of a tick.
pub const TICK: Bounds = Bounds { what: "a tick", min: 0.0, max: (1_u64 << 48) as f64, unit: "" };

/// Sides of a terrain that a user makes or opens, in cells.
pub const SIDES: RangeInclusive<usize> = 32..=4096;
/// Most cells of a terrain: offsets into tiles are `i32` and drainage areas in cells are `f32`, which are exact up to it.
pub const MOST_CELLS: usize = 1 << 24;
const _: () = assert!(MOST_CELLS == *SIDES.end() * *SIDES.end());

/// A number that cannot be carried: what is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{wrong}; {right}")]
pub struct Unfit {
    /// What has which value.
    pub wrong: String,
    /// Between what it may lie.
    pub right: String,
}

impl From<Unfit> for String {
    fn from(unfit: Unfit) -> Self {
        unfit.to_string()
    }
}

impl Bounds {
    /// Whether it can be less than zero.
    pub fn is_signed(&self) -> bool {
        self.min < 0.0
    }

    /// Whether a number can be carried; one that is infinite or no number cannot.
    pub fn admit(&self, value: impl Into<f64>) -> bool {
        (self.min..=self.max).contains(&value.into())
    }

    /// Checks the number that `name` has.
    ///
    /// # Errors
    /// It cannot be carried.
    pub fn check<T>(&self, name: impl fmt::Display, value: T) -> Result<(), Unfit>
    where
        T: Into<f64> + fmt::Display + fmt::LowerExp + Copy,
    {
        if self.admit(value) {
            return Ok(());
        }
        let size = value.into().abs();
        // Forty digits are hard to read.
        let readable = size == 0.0 || (1e-6..1e9).contains(&size);
        let wrong = if readable { format!("{name} is {value}") } else { format!("{name} is {value:e}") };
        Err(Unfit { wrong, right: self.to_string() })
    }

    /// Checks every cell of a map, or of rows of it, that begins with the row of this number and is so wide.
    ///
    /// # Errors
    /// Names the first cell that cannot be carried.
    pub fn check_cells(&self, cells: &[f32], width: usize, first_row: usize) -> Result<(), Unfit> {
        let Some(index) = cells.iter().position(|&value| !self.admit(value)) else { return Ok(()) };
        let (column, row) = (index % width, first_row + index / width);
        self.check(format_args!("the value in column {column}, row {row} (counted from 0)"), cells[index])
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, min, max, unit } = self;
        let number = |number: f64| if number.abs() > 1e9 { format!("{number:e}") } else { number.to_string() };
        write!(f, "{what} lies between {} and {}{unit}", number(*min), number(*max))
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
    fn what_lies_outside_is_named_with_its_place_and_what_would_be_right() {
        assert_eq!(HEIGHT.check_cells(&[0.0, -1e6, 1e6, 8848.0], 2, 0), Ok(()));
        let told = HEIGHT.check_cells(&[0.0, 1.0, 2.0, f32::MAX], 2, 7).expect_err("too high").to_string();
        let right = "a height lies between -1000000 and 1000000 m";
        assert_eq!(told, format!("the value in column 1, row 8 (counted from 0) is 3.4028235e38; {right}"));
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.000_000_1e6] {
            assert!(HEIGHT.check("it", value).is_err(), "{value}");
        }
        assert_eq!(SHARE.check("its softness", -0.5).expect_err("negative").wrong, "its softness is -0.5");
        assert!(CELL_SIZE.check("cellsize", 1e-46).is_err() && CELL_SIZE.check("cellsize", 1e39).is_err());
    }

    /// At the bounds no process makes anything that is infinite or no number.
    #[test]
    fn what_is_admitted_can_be_carried() {
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
