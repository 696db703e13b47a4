//! Grid, terrain, layers, ledger, random numbers and resampling.

pub mod aligned;
pub mod analysis;
pub mod border;
pub mod bounds;
pub mod grid;
pub mod ledger;
pub mod quantity;
pub mod ray;
pub mod resample;
pub mod rng;
pub mod terrain;
pub mod tiles;
pub mod totals;
