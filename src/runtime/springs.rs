//! Where the springs and drains of the selected map are marked.

use bevy::prelude::*;

use super::{FrameSystems, MapPlaces, Simulations};

/// The marks of springs and drains, in their order.
#[derive(Component, Default)]
#[require(MapPlaces)]
pub struct SpringMarks;

pub(super) fn plugin(app: &mut App) {
    app.world_mut().spawn(SpringMarks);
    app.add_systems(Update, mark.in_set(FrameSystems::Follow));
}

fn mark(simulations: Res<Simulations>, mut marks: Single<&mut MapPlaces, With<SpringMarks>>) {
    let sources = &simulations.selected().simulation.terrain.sources;
    marks.set_if_neq(MapPlaces(sources.iter().map(|source| source.place).collect()));
}
