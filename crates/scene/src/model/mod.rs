//! Simulations and their provenance: the session model shared by the window, the command line and project files.
//!
//! Everything here is free of file access: [`io`](crate::io) reads and writes sessions.

pub mod chart;
pub mod command_line;
pub(crate) mod crs;
pub mod film;
pub mod formula;
pub mod lesson;
pub mod origin;
pub mod packed;
pub mod playlist;
mod relief;
pub mod session;
mod shaped;
pub mod state;
pub mod sweep;

/// Playback speeds of a simulation, as multiples of the default. No machine reaches the maximum.
pub const SPEEDS: std::ops::RangeInclusive<f32> = 0.25..=1000.0;

/// Maximum number of side-by-side simulations in a scene, in a project and in the window.
pub const MOST_SIDE_BY_SIDE: usize = 32;
