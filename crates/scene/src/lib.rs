//! Simulations built from scenes, heightmaps and projects, and their outputs: exports, lessons, videos, parameter sweeps.
//!
//! - [`allocator`]: global allocator that tracks memory use
//! - [`look`]: lighting and colour parameters
//! - [`model`]: sessions with their provenance; videos, lessons, playlists and sweeps as plain data
//! - [`io`]: heightmaps, images, scene files and projects
//! - [`settings`]: preferences of the user, independent of any scene

pub mod allocator;
pub mod io;
pub mod look;
pub mod model;
pub mod settings;

#[cfg(test)]
#[path = "../../../tests/skipped/mod.rs"]
mod skipped;
