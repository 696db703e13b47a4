//! A run and what it was made from: the session that the window, the command line and project files share.
//!
//! It knows nothing of files: [`io`](crate::io) reads what a session is made of, and writes it down.

pub mod chart;
pub mod command_line;
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

/// Slowest and fastest speed of a run that is watched, as multiples of the usual one. The fastest is more than a machine can do.
pub const SPEEDS: std::ops::RangeInclusive<f32> = 0.25..=1000.0;

/// Most simulations side by side, in a scene, in a project and in the window.
pub const MOST_SIDE_BY_SIDE: usize = 32;
