//! Thalweg: an interactive terrain sandbox.
//!
//! Data flows one way: parameters → simulation → reading and writing → runtime → view and panels.
//!
//! - [`params`]: what a parameter is; [`look`]: the parameters of light and colour
//! - [`sim`]: terrain, processes, clock and ledger; knows nothing of windows and files
//! - [`io`]: heightmaps, pictures and scene files
//! - [`headless`]: the command line
//! - [`runtime`]: the simulation in the app; [`view`] draws it, [`ui`] asks for changes; [`app`] puts them in order

pub mod app;
pub mod headless;
pub mod io;
pub mod look;
pub mod params;
pub mod runtime;
pub mod sim;
pub mod ui;
pub mod view;
