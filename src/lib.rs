//! Thalweg: an interactive terrain sandbox.
//!
//! # The way of a height, from file to pixel
//!
//! 1. [`io::heightmap::read`] opens `hills.png`. The reader of the format checks the size in the header, asks the [`io::Budget`]
//!    for memory, and takes row after row. The sidecar says how many metres a step of the picture is. What comes out is a
//!    [`sim::grid::Grid`] of metres.
//! 2. [`model::session::Session`] makes a run of it: the heights become the bedrock of a [`sim::terrain::Terrain`], on which sand, water
//!    and what the water carries lie.
//! 3. [`sim::Simulation::tick`] lets each process that is on change these layers and book every transfer in the ledger.
//! 4. [`runtime`] holds the run as a resource of the engine, and runs as many ticks in a frame as the speed and the frame's budget
//!    allow.
//! 5. [`view`] puts the layers of the last finished tick into a texture. It finds slope and sunlight of every cell, which become
//!    textures too. `shaders/terrain.wgsl` lifts a flat mesh and lights each pixel.
//!
//! Without a window, [`headless`] does the first three steps, and [`io::export`] writes the results.
//!
//! # The way of a parameter, from field to kernel
//!
//! 1. The field `friction` of [`sim::process::droplets::Params`] has its meaning as a comment, and its range, unit, symbol and source as
//!    a [`params::Knob`]. Its default stands in `Default`. Nothing is written a second time elsewhere.
//! 2. [`params::walk`] finds the field by reflection and calls it `droplets.friction`. Sliders, tooltips, lists and files are made
//!    from what it returns. [`params::set`] sets the field from a text, as `--set`, a scene or a project has it, and refuses what is
//!    out of range.
//! 3. A slider sends [`runtime::EditCommand::Set`]. It is obeyed between two ticks, and is a step of undo.
//! 4. At its next tick the process turns its parameters into the constants of its law, such as
//!    [`sim::process::droplets::published::MassTransfer`], and the kernel computes with these.
//!
//! # The modules
//!
//! Each uses only what stands above it; `tests/layout.rs` checks that.
//!
//! - [`allocator`]: how much memory is in use
//! - [`params`]: what a parameter is; [`look`]: the parameters of light and colour
//! - [`sim`]: terrain, processes, clock and ledger; knows nothing of windows and files
//! - [`model`]: a run and what it was made from
//! - [`io`]: heightmaps, pictures, scene files and projects
//! - [`headless`]: the command line
//! - [`settings`]: what belongs to the person; [`log`]: what happened, for those who look into a fault
//! - [`runtime`]: the simulation in the app
//! - [`view`] draws it, [`ui`] asks for changes, and [`tools`] are the hand on the ground
//! - [`app`] puts them in order

pub mod allocator;
pub mod app;
pub mod headless;
pub mod io;
pub mod log;
pub mod look;
pub mod model;
pub mod params;
pub mod runtime;
pub mod settings;
pub mod sim;
pub mod tools;
pub mod ui;
pub mod view;

#[cfg(test)]
#[path = "../tests/skipped/mod.rs"]
mod skipped;
