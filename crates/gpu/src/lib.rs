//! Water and thermal erosion on the graphics card: twins of the processes of [`thalweg_sim`], corrected and published, one compute shader
//! per function of the simulation, under the same name.
//!
//! The layers stay on the card between ticks. Several ticks are submitted at once: the card plans the substeps of each tick itself, so
//! nothing is read back in between. Results agree with those of the processor within rounding; on the same card and driver they are
//! bit-identical from run to run, because sums have a fixed order and there are no atomic additions.

mod balance;
mod bench;
mod device;
mod kernels;
mod map;
mod packer;
mod runner;
mod simulation;
mod trial;

pub use self::{
    bench::{KernelTime, bench},
    device::{Device, DeviceError},
    kernels::shader_sources,
    map::{begins_on_processor, find_obstacle},
    packer::Packer,
    runner::Runner,
    simulation::GpuSimulation,
    trial::{run_check, self_test, time_card_tick},
};
