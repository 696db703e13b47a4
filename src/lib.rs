//! The window of Thalweg: the simulation as a resource of Bevy, the view that draws it, and the panels that change it.
//!
//! # A height, from file to pixel
//!
//! 1. [`thalweg_scene::io::heightmap::read`] opens `hills.png`. The reader of the format checks the size in the header, asks the
//!    [`Budget`](thalweg_scene::io::Budget) for memory, and takes row after row. The sidecar says how many metres a step of the image is.
//!    The result is a [`Grid`](thalweg_sim::core::grid::Grid) of metres.
//! 2. [`Session`](thalweg_scene::model::session::Session) makes a simulation of it: the heights become the bedrock of a
//!    [`Terrain`](thalweg_sim::core::terrain::Terrain), on which sand, water and suspended sediment lie.
//! 3. [`Simulation::tick`](thalweg_sim::simulation::Simulation::tick) lets each enabled process change these layers and book every
//!    transfer in the ledger.
//! 4. [`world`] holds the simulation as a resource, and runs as many ticks in a frame as the speed and the frame budget allow.
//! 5. [`picture`] puts the layers of the last finished tick into a texture. It finds slope and sunlight of every cell, which become
//!    textures too. `shaders/terrain.wgsl` displaces a flat mesh and lights each pixel.
//!
//! Without a window, [`thalweg_cli`] does the first three steps, and [`thalweg_scene::io::export`] writes the results.
//!
//! # A parameter, from field to kernel
//!
//! 1. The field `friction` of [`Params`](thalweg_sim::process::droplets::Params) has its meaning as a doc comment, and its range, unit,
//!    symbol and source as a [`Knob`](thalweg_sim::params::Knob). Its default stands in `Default`, and nowhere else.
//! 2. [`thalweg_sim::params::walk`] finds the field by reflection and calls it `droplets.friction`. Sliders, tooltips, lists and files are
//!    made from what it returns. [`thalweg_sim::params::set`] sets the field from a text, as `--set`, a scene or a project has it, and
//!    refuses a value out of range.
//! 3. A slider sends [`world::EditCommand::Set`]. It is carried out between two ticks, and can be undone.
//! 4. At its next tick the process turns its parameters into the constants of its law, such as
//!    [`MassTransfer`](thalweg_sim::process::droplets::published::MassTransfer), and the kernel computes with these.
//!
//! # Modules
//!
//! Each uses only what stands above it; `tests/layout.rs` checks that.
//!
//! - [`log`]: the log file, for those who look into a fault
//! - [`world`]: the simulations, time, history and files
//! - [`picture`] draws them, and [`shell`] is the frame of the interface: layout, menus, keys, dialogs and fields
//! - [`features`]: what a person does with them, one plugin each
//! - [`app`] puts them in order

#![cfg(feature = "window")]

pub mod app;
pub mod features;
pub mod log;
pub mod picture;
pub mod shell;
pub mod world;
