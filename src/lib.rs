//! The window of Thalweg: the simulation as a Bevy resource, the viewport that renders it, and the panels that edit it.
//!
//! # From a height in a file to a pixel
//!
//! 1. [`thalweg_scene::io::heightmap::read`] opens `hills.png`. The reader of the format validates the size in the header, requests
//!    memory from the [`Budget`](thalweg_scene::io::Budget), and decodes row by row. The sidecar gives the metres per grey level.
//!    The result is a [`Grid`](thalweg_sim::core::grid::Grid) in metres.
//! 2. [`Session`](thalweg_scene::model::session::Session) creates a simulation: the heights become the bedrock of a
//!    [`Terrain`](thalweg_sim::core::terrain::Terrain), which also has layers of sand, water and suspended sediment.
//! 3. [`Simulation::tick`](thalweg_sim::simulation::Simulation::tick) lets each enabled process change these layers and book every
//!    transfer in the ledger.
//! 4. [`world`] holds the simulation as a resource, and runs as many ticks per frame as speed and frame budget allow.
//! 5. [`render`] uploads the layers of the last finished tick to textures, together with the slope and sunlight computed for every
//!    cell. `shaders/terrain.wgsl` displaces a flat mesh and shades each pixel.
//!
//! Without a window, [`thalweg_cli`] performs the first three steps, and [`thalweg_scene::io::export`] writes the results.
//!
//! # From a parameter field to a kernel
//!
//! 1. The field `friction` of [`Params`](thalweg_sim::process::droplets::Params) has its description as a doc comment, and its
//!    range, unit, symbol and source as a [`Knob`](thalweg_sim::params::Knob). Its default value is defined in `Default` only.
//! 2. [`thalweg_sim::params::collect_parameters`] finds the field by reflection and names it `droplets.friction`. Sliders, tooltips, lists and
//!    files are generated from its result. [`thalweg_sim::params::set`] parses a value from text, as in `--set`, a scene or a
//!    project, and rejects one out of range.
//! 3. A slider sends [`world::EditCommand::Set`], which is applied between two ticks and can be undone.
//! 4. At its next tick the process turns its parameters into the constants of its law, such as
//!    [`MassTransfer`](thalweg_sim::process::droplets::published::MassTransfer), which the kernel uses.
//!
//! # Modules
//!
//! Each module depends only on those above it, as `tests/layout.rs` checks.
//!
//! - [`log`]: log file and crash reports
//! - [`world`]: simulations, time, history and files
//! - [`render`]: rendering of the simulations
//! - [`shell`]: frame of the user interface with layout, menus, shortcuts, dialogs and fields
//! - [`features`]: one plugin per feature
//! - [`app`]: assembly of the application and order of its systems

#![cfg(feature = "window")]

pub mod app;
pub mod features;
pub mod log;
pub mod render;
pub mod shell;
pub mod world;
