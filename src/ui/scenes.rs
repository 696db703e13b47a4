//! The list of scenes: small pictures under headings, found by words.

use bevy::prelude::{App, InMut, Local};
use bevy_egui::egui::{self, FontId, Key, RichText, Sense, TextureHandle, TextureOptions, Ui};

use super::{
    access,
    commands::{AddCommands, MenuPart, SHIFT_CTRL},
    panes::{AddPane, Pane, PaneKind, PaneUi},
    style,
};
use crate::runtime::{Command, FileCommand, WindowCommand};
use egui_phosphor::regular as icon;
use thalweg_scene::{
    io::{
        picture_of,
        scene::{BUILT_IN, GROUPS, Scene, THUMBNAILS},
    },
    model::origin::Options,
};

/// A scene that can be chosen.
pub(super) struct Card {
    pub name: &'static str,
    pub scene: Scene,
    picture: TextureHandle,
}

/// What was typed, and the scenes once they have been drawn.
#[derive(Default)]
pub struct Scenes {
    typed: String,
    cards: Vec<Card>,
}

pub const PANE: Pane = Pane { key: "scenes", kind: PaneKind::Search };

pub(super) fn plugin(app: &mut App) {
    app.add_pane(PANE, pane_ui).add_commands("Scene", commands);
}

fn commands(table: &mut MenuPart) {
    let choose = "Shows all scenes with their pictures.";
    let scenes = WindowCommand::Toggle(PANE.key);
    table
        .add(icon::SQUARES_FOUR, "All scenes…", choose, &[(SHIFT_CTRL, Key::O)], scenes)
        .known_as("examples presets gallery thumbnails new");
    let read = |(name, text): (&'static str, &str)| (name, ron::from_str::<Scene>(text).unwrap_or_default());
    let scenes: Vec<_> = BUILT_IN.into_iter().map(read).collect();
    for group in GROUPS {
        table.group = Some(group);
        for (name, scene) in scenes.iter().filter(|(_, scene)| scene.group == group) {
            let open = FileCommand::Open(name.into(), Options::default());
            table.add(icon::MOUNTAINS, &scene.title, &scene.about, &[], open);
        }
    }
    table.group = None;
}

pub(super) fn pane_ui(InMut(pane): InMut<PaneUi>, mut scenes: Local<Scenes>) -> Vec<Command> {
    if pane.begins {
        *scenes = Scenes::default();
    }
    let chosen = scenes_ui(&pane.context, &mut scenes, &mut pane.is_open);
    pane.is_open &= chosen.is_none();
    chosen.into_iter().collect()
}

/// Draws it. Returns what was chosen.
fn scenes_ui(context: &egui::Context, scenes: &mut Scenes, open: &mut bool) -> Option<Command> {
    let opened = scenes.cards.is_empty();
    if opened {
        scenes.cards = cards(context);
        // In the order in which they are shown, so that Enter opens the first one that is seen.
        scenes.cards.sort_by_key(|card| GROUPS.iter().position(|group| *group == card.scene.group));
    }
    let mut chosen = None;
    let size = (context.content_rect().size() - egui::Vec2::splat(80.0)).min(style::SCENES_SIZE.into());
    style::dialog("Scenes").open(open).fixed_size(size).show(context, |ui| {
        let field = egui::TextEdit::singleline(&mut scenes.typed).hint_text("Find: river, dunes, Musgrave…");
        let field = ui.add(field.desired_width(f32::INFINITY));
        access::name(&field, "Find a scene");
        if opened {
            field.request_focus();
        }
        let words: Vec<String> = scenes.typed.to_lowercase().split_whitespace().map(ToOwned::to_owned).collect();
        let found: Vec<&Card> = scenes.cards.iter().filter(|card| card.has(&words)).collect();
        if !words.is_empty() && field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter)) {
            chosen = found.first().map(|card| card.name);
        }
        egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            let has = |group: &&str| found.iter().any(|card| card.scene.group == **group);
            for group in GROUPS.into_iter().filter(has) {
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
                ui.label(RichText::new("No scene has these words in its title or description.").weak());
            }
        });
    });
    chosen.map(|name| FileCommand::Open(name.into(), Options::default()).into())
}

/// The scenes that come with the program.
pub(super) fn cards(context: &egui::Context) -> Vec<Card> {
    BUILT_IN.into_iter().zip(THUMBNAILS).map(|scene| card(context, scene)).collect()
}

fn card(context: &egui::Context, ((name, text), picture): ((&'static str, &str), &[u8])) -> Card {
    let (size, pixels) = picture_of(picture).unwrap_or_default();
    let picture = egui::ColorImage::from_rgb(size, &pixels);
    let picture = context.load_texture(name, picture, TextureOptions::LINEAR);
    Card { name, scene: ron::from_str(text).unwrap_or_default(), picture }
}

impl Card {
    /// Whether each of the words, in small letters, is said of the scene.
    fn has(&self, words: &[String]) -> bool {
        let Scene { title, group, about, .. } = &self.scene;
        let said = format!("{} {title} {group} {about}", self.name).to_lowercase();
        words.iter().all(|word| said.contains(word))
    }

    /// Its picture, as wide and high as this, and its title.
    pub(super) fn ui(&self, ui: &mut Ui, picture: [f32; 2], sense: Sense) -> egui::Response {
        let picture: egui::Vec2 = picture.into();
        let size = picture + egui::vec2(0.0, style::CARD_TITLE);
        let (place, response) = ui.allocate_exact_size(size, sense);
        let title = &self.scene.title;
        response.widget_info(|| egui::WidgetInfo::labeled(egui::WidgetType::Button, true, title));
        if ui.is_rect_visible(place) {
            let at = egui::Rect::from_min_size(place.min, picture);
            let painter = ui.painter().with_clip_rect(place.expand(3.0).intersect(ui.clip_rect()));
            self.paint(&painter, at);
            let words = painter.layout_no_wrap(title.clone(), FontId::proportional(12.0), ui.visuals().text_color());
            painter.galley(at.left_bottom() + egui::vec2(2.0, 3.0), words, ui.visuals().text_color());
            if response.has_focus() || response.hovered() {
                painter.rect_stroke(at, 3.0, style::FOCUS, egui::StrokeKind::Outside);
            }
        }
        response.on_hover_text(&self.scene.about)
    }

    /// Paints its picture.
    pub(super) fn paint(&self, painter: &egui::Painter, at: egui::Rect) {
        let whole = egui::Rect::from_min_max(egui::pos2(0.0, 0.0), egui::pos2(1.0, 1.0));
        painter.image(self.picture.id(), at, whole, egui::Color32::WHITE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scene_has_a_heading_and_a_picture() {
        let context = egui::Context::default();
        let _ = context.run_ui(egui::RawInput::default(), |ui| {
            let cards = cards(ui.ctx());
            for card in &cards {
                assert_eq!(card.picture.size(), [240, 150], "{}", card.name);
                assert!(GROUPS.contains(&&*card.scene.group), "{}", card.name);
            }
            let found = |typed: &str| {
                let words: Vec<String> = typed.split(' ').map(ToOwned::to_owned).collect();
                cards.iter().filter(|card| card.has(&words)).map(|card| card.name).collect::<Vec<_>>()
            };
            assert_eq!(found("delta lake"), ["delta"]);
            assert!(found("dunes").len() >= 5 && found("no such scene").is_empty());
        });
    }
}
