//! Built-in scenes with their thumbnails.

use std::{
    cmp::Reverse,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use bevy_egui::egui::{self, ColorImage, FontId, Sense, TextureHandle, TextureId, TextureOptions, Ui};

use super::{DRAWN_ONCE, style};
use crate::world::background::BackgroundTask;
use thalweg_scene::io::{
    decode_png_rgb8,
    scene::{BUILT_IN, Scene, THUMBNAILS},
};

/// Polling interval for a decoded thumbnail.
const POLL: Duration = Duration::from_millis(20);

/// A selectable scene.
pub struct SceneCard {
    /// Name of the scene on the command line.
    pub name: &'static str,
    /// Contents of the scene file.
    pub scene: Scene,
    thumbnail: Mutex<CardThumbnail>,
}

/// Thumbnail of a card, decoded in the background.
struct CardThumbnail {
    decoding: Option<BackgroundTask<(), ColorImage>>,
    texture: Option<TextureHandle>,
}

/// Returns the cards that contain each of the words of a search text, those with most of them in the title first.
pub fn search<'a>(cards: &'a [SceneCard], typed: &str) -> Vec<&'a SceneCard> {
    let words: Vec<String> = typed.to_lowercase().split_whitespace().map(ToOwned::to_owned).collect();
    let mut found: Vec<&SceneCard> = cards.iter().filter(|card| card.has(&words)).collect();
    found.sort_by_key(|card| {
        let title = card.scene.title.to_lowercase();
        Reverse(words.iter().filter(|word| title.contains(*word)).count())
    });
    found
}

/// Returns cards of all built-in scenes.
pub fn cards() -> Vec<SceneCard> {
    BUILT_IN.into_iter().zip(THUMBNAILS).map(card).collect()
}

fn card(((name, text), thumbnail): ((&'static str, &str), &'static [u8])) -> SceneCard {
    let decode = move || {
        let (size, pixels) = decode_png_rgb8(thumbnail).unwrap_or_default();
        ColorImage::from_rgb(size, &pixels)
    };
    let thumbnail = CardThumbnail { decoding: Some(BackgroundTask::start((), decode)), texture: None };
    SceneCard { name, scene: ron::from_str(text).unwrap_or_default(), thumbnail: Mutex::new(thumbnail) }
}

impl SceneCard {
    /// Returns `true` if name, title, group or description contain each of the words, given in lower case.
    fn has(&self, words: &[String]) -> bool {
        let Scene { title, group, about, .. } = &self.scene;
        let searched = format!("{} {title} {group} {about}", self.name).to_lowercase();
        words.iter().all(|word| searched.contains(word))
    }

    /// Draws the thumbnail in the given size, and the title below it.
    pub fn ui(&self, ui: &mut Ui, image_size: [f32; 2], sense: Sense) -> egui::Response {
        let image_size: egui::Vec2 = image_size.into();
        let size = image_size + egui::vec2(0.0, style::CARD_TITLE);
        let (place, response) = ui.allocate_exact_size(size, sense);
        let title = &self.scene.title;
        response.widget_info(|| egui::WidgetInfo::labeled(egui::WidgetType::Button, true, title));
        if ui.is_rect_visible(place) {
            let at = egui::Rect::from_min_size(place.min, image_size);
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

    /// Paints the thumbnail, once it is decoded.
    pub fn paint(&self, painter: &egui::Painter, at: egui::Rect) {
        let whole = egui::Rect::from_min_max(egui::pos2(0.0, 0.0), egui::pos2(1.0, 1.0));
        if let Some(texture) = self.texture(painter.ctx()) {
            painter.image(texture, at, whole, egui::Color32::WHITE);
        }
    }

    /// Returns the texture of the thumbnail, or `None` until it is decoded.
    fn texture(&self, context: &egui::Context) -> Option<TextureId> {
        let once = context.data(|data| data.get_temp(egui::Id::new(DRAWN_ONCE))).unwrap_or(false);
        let mut thumbnail = self.thumbnail.lock().unwrap_or_else(PoisonError::into_inner);
        let CardThumbnail { decoding, texture } = &mut *thumbnail;
        let decoded = decoding.take_if(|decoding| once || decoding.is_finished());
        if let Some(decoded) = decoded.and_then(BackgroundTask::join) {
            *texture = Some(context.load_texture(self.name, decoded, TextureOptions::LINEAR));
        }
        if decoding.is_some() {
            context.request_repaint_after(POLL);
        }
        texture.as_ref().map(TextureHandle::id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_scene::io::scene::GROUPS;

    #[test]
    fn every_scene_has_heading_and_thumbnail() {
        let context = egui::Context::default();
        let _ = context.run_ui(egui::RawInput::default(), |ui| {
            let cards = cards();
            ui.data_mut(|data| data.insert_temp(egui::Id::new(DRAWN_ONCE), true));
            for card in &cards {
                assert!(card.texture(ui.ctx()).is_some(), "{} has no thumbnail", card.name);
                let thumbnail = card.thumbnail.lock().expect("nothing panicked");
                assert_eq!(thumbnail.texture.as_ref().map(TextureHandle::size), Some([240, 150]), "{}", card.name);
                assert!(GROUPS.contains(&&*card.scene.group), "{}", card.name);
            }
            let found = |typed: &str| search(&cards, typed).into_iter().map(|card| card.name).collect::<Vec<_>>();
            assert_eq!(found("delta sediment lake"), ["delta"]);
            assert!(found("dunes").len() >= 5 && found("no such scene").is_empty());
            // The description of the Alpine valley has both words too.
            let valleys = found("River  valley");
            assert!(valleys[0] == "river-valley" && valleys.contains(&"alpine-valley"), "{valleys:?}");
        });
    }
}
