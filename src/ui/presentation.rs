//! What stands over the picture before a room: title, caption, and the sliders that are worth turning.

use bevy::{
    input::{keyboard::KeyboardInput, mouse::MouseButtonInput, touch::TouchInput},
    prelude::{CursorMoved, MessageReader, ResMut},
};
use bevy_egui::egui::{self, Align2, Color32, FontId, RichText, Ui};

use super::{
    PanelState, access,
    group::{set, value_ui},
    style,
};
use crate::{
    params::walk,
    runtime::{Command, Presentation, Workspace},
};

/// Sizes of letters, in points.
const TITLE: f32 = 30.0;
const CAPTION: f32 = 20.0;
const SLIDER: f32 = 18.0;
/// Width of a slider, in points.
const WIDTH: f32 = 260.0;
/// Most of the picture's width that a caption takes.
const WIDEST: f32 = 0.72;

/// Draws it in the workspace Present. Returns what is asked for.
pub fn presentation_ui(root: &Ui, view: egui::Rect, state: &PanelState<'_>) -> Vec<Command> {
    if *state.workspace != Workspace::Present {
        return Vec::new();
    }
    if let Some(item) = state.presentation.item(&state.live) {
        let session = state.live.chosen();
        let painter = root.painter().with_clip_rect(view);
        let (number, count) = state.presentation.number();
        let counted = if count > 1 { format!("{number} / {count}") } else { String::new() };
        let corner = view.left_top() + egui::vec2(88.0, 26.0);
        style::shaded_text(&painter, corner, Align2::LEFT_TOP, &session.title, TITLE, style::SHADE);
        if !counted.is_empty() {
            let corner = view.right_top() + egui::vec2(-20.0, 26.0);
            style::shaded_text(&painter, corner, Align2::RIGHT_TOP, &counted, SLIDER, style::SHADE);
        }
        let caption = match item.captions.is_empty() {
            true => session.about.as_str(),
            false => item.caption(state.live.ticks() as f64).unwrap_or_default(),
        };
        caption_ui(&painter, view, caption);
    }
    sliders_ui(root, view, state)
}

/// Words at the foot of the picture, in as many lines as they need.
fn caption_ui(painter: &egui::Painter, view: egui::Rect, text: &str) {
    if text.is_empty() {
        return;
    }
    let mut job = egui::text::LayoutJob::simple(
        text.to_owned(),
        FontId::proportional(CAPTION),
        Color32::WHITE,
        WIDEST * view.width(),
    );
    job.halign = egui::Align::Center;
    let words = painter.layout_job(job);
    let size = words.size();
    let place = egui::Rect::from_min_size(view.center_bottom() - egui::vec2(0.5 * size.x, 24.0 + size.y), size);
    painter.rect_filled(place.expand2(egui::vec2(14.0, 7.0)), 7.0, style::SHADE);
    // It is laid out around its middle.
    painter.galley(place.center_top(), words, Color32::WHITE);
}

/// The sliders that the scene names.
fn sliders_ui(root: &Ui, view: egui::Rect, state: &PanelState<'_>) -> Vec<Command> {
    let session = state.live.chosen();
    let groups = session.groups();
    let wanted = |path: &String| {
        let (group, _) = path.split_once('.')?;
        let group = groups.iter().find(|(key, _)| *key == group)?;
        Some((group.0, walk(*group).into_iter().find(|parameter| parameter.path == *path)?))
    };
    let parameters: Vec<_> = session.sliders.iter().filter_map(wanted).collect();
    if parameters.is_empty() {
        return Vec::new();
    }
    let mut asked = Vec::new();
    let area = egui::Area::new(root.id().with("stage")).pivot(Align2::RIGHT_BOTTOM).constrain_to(view);
    area.fixed_pos(view.right_bottom() - egui::vec2(20.0, 20.0)).show(root.ctx(), |ui| {
        access::begin_part(ui, "Sliders of the scene");
        egui::Frame::new().fill(style::SHADE).corner_radius(8).inner_margin(12).show(ui, |ui| {
            ui.style_mut().override_font_id = Some(FontId::proportional(SLIDER));
            ui.spacing_mut().interact_size.y = 1.7 * SLIDER;
            ui.set_width(WIDTH);
            for (group, parameter) in parameters {
                let name = ui.add(egui::Label::new(RichText::new(parameter.title()).color(Color32::WHITE)));
                let mut value = parameter.value.clone();
                value_ui(ui, &parameter, &mut value).labelled_by(name.id).on_hover_text(parameter.doc);
                if value != parameter.value {
                    asked.extend(set(group, vec![(parameter.name, value)]));
                }
            }
        });
    });
    asked
}

/// Notes that somebody is there.
pub(super) fn note_touches(
    mut moved: MessageReader<CursorMoved>,
    mut buttons: MessageReader<MouseButtonInput>,
    mut keys: MessageReader<KeyboardInput>,
    mut fingers: MessageReader<TouchInput>,
    mut presentation: ResMut<Presentation>,
) {
    let events = moved.read().count() + buttons.read().count() + keys.read().count() + fingers.read().count();
    if events > 0 && presentation.is_on() {
        // Panels do not show it.
        bevy::prelude::DetectChangesMut::bypass_change_detection(&mut presentation).touch();
    }
}
