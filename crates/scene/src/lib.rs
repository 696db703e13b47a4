//! Simulations from scenes, heightmaps and projects, and everything that is written about them: exports, lessons, films, sweeps.
//!
//! - [`allocator`]: how much memory is in use
//! - [`look`]: the parameters of light and colour
//! - [`model`]: a simulation and what it was made from; films, lessons, playlists and sweeps as values
//! - [`io`]: heightmaps, images, scene files and projects
//! - [`settings`]: what belongs to the user, not to a scene

pub mod allocator;
pub mod io;
pub mod look;
pub mod model;
pub mod settings;

#[cfg(test)]
#[path = "../../../tests/skipped/mod.rs"]
mod skipped;
