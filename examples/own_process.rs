//! A process of one's own, and slumping: the map rises over what lies around it, and slides down at its edges.
//!
//! `cargo run --release --example own_process`

use bevy_reflect::Reflect;
use thalweg_sim::{
    core::terrain::Layer,
    generate::{TerrainParams, generate},
    params::knob,
    process::{Context, Info, Process, Progress, Setup, masked::NoFactors, thermal::Thermal},
    simulation::Simulation,
};

#[derive(Reflect, Clone, Default)]
struct Params {
    /// Height that the rock gains in a tick.
    #[reflect(@knob(0.0..=1.0).unit("m").symbol("U").source("ours"))]
    uplift: f32,
}

#[derive(Clone, Default)]
struct Uplift(Setup<Params, NoFactors>);

impl Process for Uplift {
    type Params = Params;
    type Factors = NoFactors;
    const INFO: Info = Info { key: "uplift", masked_key: "uplift-masked", writes: &[Layer::Bedrock], ..Info::BARE };
    thalweg_sim::setup_in!(0);
    fn step(&mut self, _: usize, Context { terrain, ledger, .. }: &mut Context<'_>) -> Progress {
        let before = terrain.solid_volume();
        terrain.bedrock.iter_mut().for_each(|rock| *rock += self.0.params.uplift);
        ledger.solid.row("uplift").inflow += terrain.solid_volume() - before;
        Progress::Done
    }
}

fn main() {
    let uplift = Uplift::with(Params { uplift: 0.5 });
    let terrain = generate(&TerrainParams::default(), 1);
    let mut run = Simulation::of(vec![Box::new(uplift), Box::new(Thermal::default())], terrain, 1);
    run.slots.iter_mut().for_each(|slot| slot.enabled = true);
    (0..200).for_each(|_| run.tick());
    println!("{} ticks: {:.1e} m³ rose and slid", run.ticks(), run.ledger.solid.sum(|row| row.inflow + row.moved));
}
