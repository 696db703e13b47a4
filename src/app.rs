//! Assembly of the application: plugins and the order of their systems. It runs in a [`window`] or [`off_screen`].

pub mod film;
pub mod frames;
pub mod graphics;
pub mod loss;
pub mod off_screen;
pub mod window;

use bevy::prelude::*;
use bevy_egui::EguiPostUpdateSet;

use crate::{
    features,
    render::{self, DrawSystems},
    shell,
    world::{self, Simulations},
};
use thalweg_scene::model::session::Session;

fn add_thalweg(app: &mut App, sessions: Vec<Session>) {
    app.insert_resource(Simulations::new(sessions))
        .add_plugins((world::plugin, render::plugin, shell::plugin, features::plugin))
        // Panels reserve space according to the viewport that is actually drawn.
        .configure_sets(PostUpdate, DrawSystems.before(EguiPostUpdateSet::EndPass));
}
