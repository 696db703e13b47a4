//! Terrain, the processes that shape it, and the ledger that accounts for every cubic metre.
//!
//! A [`Simulation`](simulation::Simulation) holds a [`Terrain`](core::terrain::Terrain) and the processes of the
//! [`catalogue`](process::catalogue). Simulations run in a window, on the command line, in tests and benchmarks, also several side
//! by side. Results are bit-identical on every machine and for any number of threads: sines, powers and logarithms come from
//! `libm`, and clippy disallows those of the standard library.
//!
//! ```
//! use thalweg_sim::{
//!     core::{grid::Grid, terrain::{Edge, Terrain}},
//!     simulation::Simulation,
//! };
//!
//! let cone = Grid::from_fn(64, 64, |x, y| 20.0 - (x as f32 - 31.5).hypot(y as f32 - 31.5));
//! let mut simulation = Simulation::new(Terrain::bare(cone, 10.0, Edge::Open), 1);
//! simulation.slot_mut("droplets").expect("it is in the catalogue").enabled = true;
//! simulation.tick();
//! assert!(simulation.solid_residual().abs() < 1e-3);
//! ```
//!
//! # Layers
//!
//! Each module uses only those above it, which `tests/layout.rs` of the workspace checks.
//!
//! - [`params`]: declaration of parameters, and access by reflection
//! - [`core`]: grid, terrain, layers, ledger, random numbers, resampling
//! - [`simd`]: kernels over rows of cells and batches of particles, Fourier transforms
//! - [`hydrology`]: drainage, depressions, river networks
//! - [`process`]: the `Process` trait and the catalogue of processes
//! - [`measure`] and [`edit`]: measures of the terrain, and brushes
//! - [`simulation`]: terrain, processes, clock and ledger as one value
//! - [`generate`]: terrain generators

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod core;
pub mod edit;
pub mod generate;
pub mod hydrology;
pub mod measure;
pub mod params;
pub mod process;
pub mod simd;
pub mod simulation;
