//! Kernels over rows of cells and batches of particles on the vector unit of the machine, and Fourier transforms.

pub mod around;
pub mod cells;
pub mod fourier;
pub mod lanes;
pub mod number;
pub mod stencil;
pub mod strip;
pub mod swarm;
pub mod vector_unit;
