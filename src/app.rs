//! The plugins and the order of their systems; nothing else. The program runs in a [`window`] or [`off_screen`].

pub mod film;
pub mod frames;
pub mod graphics;
pub mod loss;
pub mod off_screen;
pub mod window;

use bevy::prelude::*;
use bevy_egui::EguiPostUpdateSet;

use crate::{
    runtime::{self, Live, SimSystems},
    tools, ui,
    view::{self, ViewSystems},
};
use thalweg_scene::model::session::Session;

fn add_thalweg(app: &mut App, sessions: Vec<Session>) {
    app.insert_resource(Live::new(sessions))
        .add_plugins((runtime::plugin, tools::plugin, view::plugin, ui::plugin))
        .configure_sets(Update, (SimSystems::Edit, SimSystems::Obey, SimSystems::Tick, ViewSystems::Show).chain())
        // The panels show as much of the picture as is drawn.
        .configure_sets(PostUpdate, ViewSystems::Draw.before(EguiPostUpdateSet::EndPass));
}
