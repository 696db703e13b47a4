//! Water and thermal erosion on the graphics card: twins of the processes of [`thalweg_sim`], corrected and published, one compute shader
//! per function of the simulation, under the same name.
//!
//! The layers stay on the card between ticks. Several ticks are submitted at once: the card plans the substeps of each tick itself, so
//! nothing is read back in between. Results agree with those of the processor within rounding; on the same card and driver they are
//! bit-identical from run to run, because sums have a fixed order and there are no atomic additions.

mod balance;
mod device;
mod kernels;
mod map;
mod run;

pub use self::{
    device::{Device, DeviceError},
    map::find_obstacle,
    run::GpuRun,
};
