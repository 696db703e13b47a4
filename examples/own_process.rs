//! A custom process combined with thermal erosion: the map is uplifted, and its edges collapse.
//!
//! `cargo run --release --example own_process`

use bevy_reflect::Reflect;
use thalweg_sim::{
    core::terrain::Layer,
    generate::{TerrainParams, generate},
    params::knob,
    process::{AnySetup, Context, Info, Process, Setup, StepProgress, thermal::Thermal},
    simulation::Simulation,
};

#[derive(Reflect, Clone, Default)]
struct Params {
    /// Uplift of the bedrock per tick.
    #[reflect(@knob(0.0..=1.0).unit("m").symbol("U").source("ours"))]
    uplift: f32,
}

#[derive(Clone, Default)]
struct Uplift(Setup<Params>);

impl Process for Uplift {
    fn info(&self) -> &'static Info {
        &Info { key: "uplift", writes: &[Layer::Bedrock], ..Info::BARE }
    }
    fn setup(&self) -> &dyn AnySetup {
        &self.0
    }
    fn setup_mut(&mut self) -> &mut dyn AnySetup {
        &mut self.0
    }
    fn step(&mut self, _: usize, Context { terrain, ledger, .. }: &mut Context<'_>) -> StepProgress {
        let before = terrain.solid_volume();
        terrain.bedrock.iter_mut().for_each(|rock| *rock += self.0.params.uplift);
        ledger.solid.row("uplift").inflow += terrain.solid_volume() - before;
        StepProgress::Done
    }
}

fn main() {
    let uplift = Uplift(Setup::with(Params { uplift: 0.5 }));
    let terrain = generate(&TerrainParams::default(), 1);
    let mut simulation = Simulation::of(vec![Box::new(uplift), Box::new(Thermal::default())], terrain, 1);
    simulation.slots.iter_mut().for_each(|slot| slot.enabled = true);
    (0..200).for_each(|_| simulation.tick());
    let moved = simulation.ledger.solid.sum(|row| row.inflow + row.moved);
    println!("{} ticks: {moved:.1e} m³ uplifted and transported", simulation.ticks());
}
