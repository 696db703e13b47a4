//! Places on Earth.

use serde::{Deserialize, Serialize};

use crate::sim::bounds::{EARTH, Unfit};

/// Where on Earth a map lies, in the units of its own coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Geo {
    /// Western edge.
    pub west: f64,
    /// Northern edge.
    pub north: f64,
    /// From the western to the eastern edge.
    pub width: f64,
    /// From the southern to the northern edge.
    pub height: f64,
    /// Whether the units are degrees of longitude and latitude (WGS 84) and not metres of a projection.
    pub degrees: bool,
}

impl Geo {
    /// Checks that its numbers make sense.
    ///
    /// # Errors
    /// One is infinite, no number, or far off the Earth.
    pub(super) fn check(&self) -> Result<(), Unfit> {
        let Self { west, north, width, height, degrees: _ } = *self;
        let numbers = [("western edge", west), ("northern edge", north), ("width", width), ("height", height)];
        numbers
            .into_iter()
            .try_for_each(|(name, number)| EARTH.check(format_args!("the map's {name} on Earth"), number))
    }
}
