//! Thalweg: an interactive terrain sandbox.
//!
//! Data flows one way: parameters → simulation → reading and writing → runtime → view and panels.
//!
//! - [`params`]: what a parameter is; [`look`]: the parameters of light and colour
//! - [`sim`]: terrain, processes, clock and ledger; knows nothing of windows and files
//! - [`model`]: a run and what it was made from
//! - [`io`]: heightmaps, pictures, scene files and projects; [`settings`]: what belongs to the person
//! - [`headless`]: the command line
//! - [`runtime`]: the simulation in the app; [`view`] draws it, [`ui`] asks for changes, [`tools`] are the hand on the
//!   ground; [`app`] puts them in order; [`log`]: what happened, for whoever looks into a fault;
//!   [`allocator`]: how much memory is in use

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
