//! Scene browser: thumbnails in groups, with a search field.

use bevy::prelude::*;
use bevy_egui::egui::{self, Key, RichText, Sense};

use crate::shell::{
    access,
    commands::{AddCommands, MenuSection, SHIFT_CTRL},
    floating::{AddFloatingWindow, FloatingWindow, FloatingWindowKind, FloatingWindowUi, FloatingWindows},
    gallery::{SceneCard, cards, search},
    style,
};
use crate::world::{AppCommand, FileCommand, FrameSystems, WindowCommand};
use egui_phosphor::regular as icon;
use thalweg_scene::{
    io::scene::{BUILT_IN, GROUPS, Scene},
    model::origin::Options,
};

/// Search text, and the thumbnails once loaded.
#[derive(Resource, Default)]
pub struct SceneGallery {
    typed: String,
    cards: Vec<SceneCard>,
}

const PANE: FloatingWindow = FloatingWindow { key: "scenes", kind: FloatingWindowKind::Search };

pub(super) fn plugin(app: &mut App) {
    app.add_floating_window(PANE, pane_ui).add_commands("Scene", 10, commands).add_commands(
        "Scene",
        30,
        scene_commands,
    );
    app.init_resource::<SceneGallery>()
        .add_systems(Update, forget.run_if(resource_changed::<FloatingWindows>).in_set(FrameSystems::Follow));
}

/// Frees the thumbnails once the browser is closed.
fn forget(windows: Res<FloatingWindows>, mut scenes: ResMut<SceneGallery>) {
    if !windows.is_open(PANE.key) && !scenes.cards.is_empty() {
        *scenes = SceneGallery::default();
    }
}

fn commands(table: &mut MenuSection) {
    let choose = "Browse all scenes.";
    let scenes = WindowCommand::Toggle(PANE.key);
    table
        .add(icon::SQUARES_FOUR, "All scenes…", choose, &[(SHIFT_CTRL, Key::O)], scenes)
        .set_aliases("examples presets gallery thumbnails new");
}

fn scene_commands(table: &mut MenuSection) {
    let read = |(name, text): (&'static str, &str)| (name, ron::from_str::<Scene>(text).unwrap_or_default());
    let scenes: Vec<_> = BUILT_IN.into_iter().map(read).collect();
    for group in GROUPS {
        table.submenu = Some(group);
        for (name, scene) in scenes.iter().filter(|(_, scene)| scene.group == group) {
            let open = FileCommand::Open(name.into(), Options::default());
            table.add(icon::MOUNTAINS, &scene.title, &scene.about, &[], open);
        }
    }
    table.submenu = None;
}

fn pane_ui(InMut(window): InMut<FloatingWindowUi>, mut scenes: ResMut<SceneGallery>) -> Vec<AppCommand> {
    if window.just_opened {
        *scenes = SceneGallery::default();
    }
    let chosen = scenes_ui(&window.context, &mut scenes, &mut window.is_open);
    window.is_open &= chosen.is_none();
    chosen.into_iter().collect()
}

/// Draws the browser. Returns the command that opens the selected scene.
fn scenes_ui(context: &egui::Context, scenes: &mut SceneGallery, open: &mut bool) -> Option<AppCommand> {
    let opened = scenes.cards.is_empty();
    if opened {
        scenes.cards = cards();
        // In display order, so that Enter opens the first visible scene.
        scenes.cards.sort_by_key(|card| GROUPS.iter().position(|group| *group == card.scene.group));
    }
    let mut chosen = None;
    let size = (context.content_rect().size() - egui::Vec2::splat(80.0)).min(style::SCENES_SIZE.into());
    style::dialog("Scenes").open(open).fixed_size(size).show(context, |ui| {
        let field = egui::TextEdit::singleline(&mut scenes.typed).hint_text("Search: river, dunes, Musgrave…");
        let field = ui.add(field.desired_width(f32::INFINITY));
        access::name(&field, "Search scenes");
        if opened {
            field.request_focus();
        }
        let found = search(&scenes.cards, &scenes.typed);
        if !scenes.typed.trim().is_empty() && field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter)) {
            chosen = found.first().map(|card| card.name);
        }
        egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            // In the order of their best scenes.
            let mut groups: Vec<&str> = Vec::new();
            for card in &found {
                if !groups.contains(&&*card.scene.group) {
                    groups.push(&card.scene.group);
                }
            }
            for group in groups {
                ui.add_space(4.0);
                ui.label(RichText::new(group).strong());
                ui.horizontal_wrapped(|ui| {
                    for card in found.iter().filter(|card| card.scene.group == group) {
                        if card.ui(ui, style::CARD_SIZE, Sense::click()).clicked() {
                            chosen = Some(card.name);
                        }
                    }
                });
            }
            if found.is_empty() {
                ui.label(RichText::new("No scene contains these words in its title or description.").weak());
            }
        });
    });
    chosen.map(|name| FileCommand::Open(name.into(), Options::default()).into())
}
