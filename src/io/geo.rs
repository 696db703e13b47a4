//! Places on Earth.

use serde::{Deserialize, Serialize};

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
