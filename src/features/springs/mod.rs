//! Springs and drains: their marks on the map, their panel and their commands.

pub mod panel;

use bevy::prelude::*;

use crate::world::{FrameSystems, MapPlaces, MarkSystems, Simulations};

/// Marks of springs and drains, in their order.
#[derive(Component, Default)]
#[require(MapPlaces)]
pub struct SpringMarks;

/// Adds the marks of springs and their panel.
pub fn plugin(app: &mut App) {
    app.add_plugins(panel::plugin);
    app.world_mut().spawn(SpringMarks);
    app.add_systems(Update, mark.in_set(MarkSystems).ambiguous_with(MarkSystems).in_set(FrameSystems::Follow));
}

fn mark(simulations: Res<Simulations>, mut marks: Single<&mut MapPlaces, With<SpringMarks>>) {
    let sources = &simulations.selected().simulation.terrain.sources;
    marks.set_if_neq(MapPlaces(sources.iter().map(|source| source.place).collect()));
}
