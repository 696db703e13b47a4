//! Timeline: the history and the camera keyframes along the ticks. Any state can be restored to continue from there.

use bevy::{ecs::system::SystemParam, prelude::*};
use bevy_egui::egui::{self, Color32, Key, Rect, RichText, Sense, Stroke, Ui};

use super::style::{self, ACCENT};
use crate::world::{
    AppCommand, CameraCommand, History, HistoryCommand, KeyframeCommand, KeyframeFollowing, Simulations,
    TimelinePosition,
};
use thalweg_scene::model::film::{self, Ease};
use thalweg_sim::params::capital;

/// Parameters of the timeline system.
#[derive(SystemParam)]
pub struct TimelineParams<'w> {
    history: Res<'w, History>,
    simulations: Res<'w, Simulations>,
    follows_keys: Res<'w, KeyframeFollowing>,
}

/// Maximum number of rows; later branches share the last one.
const MAX_ROWS: usize = 3;

/// Returns the height of the timeline.
pub fn timeline_height(simulations: &Simulations, history: &History) -> f32 {
    let branches = history.marks().iter().map(|mark| mark.branch + 1).max().unwrap_or(1);
    let keys = if simulations.views.keys.list().is_empty() { 0.0 } else { style::BRANCH_HEIGHT };
    style::TIMELINE_MARGIN + style::BRANCH_HEIGHT * branches.min(MAX_ROWS) as f32 + keys
}

/// Draws the timeline: the states of all branches (manual edits with a ring), the current tick, and the keyframes.
pub fn timeline_ui(InMut(ui): InMut<Ui>, state: TimelineParams) -> Vec<AppCommand> {
    let state = &state;
    let marks = state.history.marks();
    let ticks = state.simulations.ticks();
    let keys = state.simulations.views.keys.list();
    let seen = || marks.iter().map(|mark| mark.tick).chain(keys.iter().map(|key| key.tick as u64)).chain([ticks]);
    let first = seen().min().unwrap_or(ticks);
    let last = seen().max().unwrap_or(ticks).max(first + 1);
    let (rect, response) = ui.allocate_exact_size(ui.available_size(), Sense::click_and_drag());
    response.widget_info(|| egui::WidgetInfo::slider(true, ticks as f64, "Timeline"));
    let inner = rect.shrink2(egui::vec2(10.0, 5.0));
    let at = |tick: u64| inner.left() + inner.width() * (tick - first) as f32 / (last - first) as f32;
    let row = |branch: usize| inner.bottom() - style::BRANCH_HEIGHT * (branch.min(MAX_ROWS - 1) as f32 + 0.5);
    let painter = ui.painter().with_clip_rect(rect);
    let weak = ui.visuals().weak_text_color();
    for branch in 0..=marks.iter().map(|mark| mark.branch.min(MAX_ROWS - 1)).max().unwrap_or(0) {
        let own = || marks.iter().filter(|mark| mark.branch.min(MAX_ROWS - 1) == branch).map(|mark| mark.tick);
        let (from, to) = (own().min().unwrap_or(first), own().max().unwrap_or(last));
        let line = [egui::pos2(at(from), row(branch)), egui::pos2(at(to), row(branch))];
        painter.line_segment(line, Stroke::new(2.0, weak.gamma_multiply(0.5)));
    }
    for mark in &marks {
        let here = state.history.here() == Some(mark.id);
        let color = if here { ACCENT } else { weak };
        let spot = egui::pos2(at(mark.tick), row(mark.branch));
        painter.circle_filled(spot, if here { 3.5 } else { 2.0 }, color);
        if state.history.label(mark.id).is_some() {
            // A manual edit.
            painter.circle_stroke(spot, 4.0, Stroke::new(1.0, color));
        }
    }
    let x = at(ticks);
    painter
        .line_segment([egui::pos2(x, rect.top() + 1.0), egui::pos2(x, rect.bottom() - 1.0)], Stroke::new(1.5, ACCENT));
    if response.has_focus() {
        let focus = Stroke::new(1.5, ACCENT);
        painter.rect_stroke(rect.shrink(1.0), 3.0, focus, egui::StrokeKind::Inside);
    }
    let mut asked = Vec::new();
    if response.has_focus() {
        let arrows = egui::EventFilter { horizontal_arrows: true, ..Default::default() };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, arrows));
        let pressed = |key| ui.input(|input| input.num_presses(key)) as i64;
        let steps = pressed(Key::ArrowRight) - pressed(Key::ArrowLeft);
        asked.extend(step_along_branch(&marks, state.history.here(), steps));
    }
    let pointer = response.interact_pointer_pos().or(response.hover_pos());
    let nearest = pointer.and_then(|pointer| {
        let away = |mark: &&TimelinePosition| {
            let (x, y) = (at(mark.tick) - pointer.x, 3.0 * (row(mark.branch) - pointer.y));
            x * x + y * y
        };
        marks.iter().min_by(|a, b| away(a).total_cmp(&away(b))).copied()
    });
    if let Some(mark) = nearest {
        let spot = egui::pos2(at(mark.tick), row(mark.branch));
        painter.circle_stroke(spot, 5.0, Stroke::new(1.0, Color32::WHITE));
        let wanted = (response.clicked() || response.dragged()) && state.history.here() != Some(mark.id);
        let moved = response.clicked() || response.drag_started() || ui.input(|input| input.pointer.delta().x != 0.0);
        if (wanted || response.clicked() && mark.tick != ticks) && moved {
            asked.push(HistoryCommand::ScrubTo(mark.id).into());
        }
        let response = response.on_hover_ui(|ui| place_ui(ui, state, mark));
        if response.hovered() && state.history.thumbnail(mark.id).is_none() && !state.history.draws(mark.id) {
            asked.push(HistoryCommand::Draw(mark.id).into());
        }
    }
    let tick_at = |x: f32| {
        let share = ((x - inner.left()) / inner.width()).clamp(0.0, 1.0);
        first + (share * (last - first) as f32).round() as u64
    };
    for (number, key) in keys.iter().enumerate() {
        let spot = egui::pos2(at(key.tick as u64), inner.top() + 4.0);
        let drag = |pointer: egui::Pos2| {
            let tick = tick_at(pointer.x);
            (tick, egui::pos2(at(tick), spot.y))
        };
        asked.extend(keyframe_ui(ui, state, (number, key), spot, drag));
    }
    asked
}

/// Draws a camera keyframe: a draggable diamond with a menu.
fn keyframe_ui(
    ui: &mut Ui,
    state: &TimelineParams<'_>,
    (number, key): (usize, &film::CameraKeyframe),
    spot: egui::Pos2,
    drag: impl Fn(egui::Pos2) -> (u64, egui::Pos2),
) -> Vec<AppCommand> {
    const HALF: f32 = 5.0;
    let tick = key.tick as u64;
    let place = Rect::from_center_size(spot, egui::Vec2::splat(2.0 * HALF + 2.0));
    let response = ui.interact(place, ui.id().with(("camera keyframe", number)), Sense::click_and_drag());
    // The keyframe moves on release, so the range of the timeline stays fixed during the drag.
    let dragged = response.interact_pointer_pos().filter(|_| response.dragged() || response.drag_stopped()).map(drag);
    let spot = dragged.map_or(spot, |(_, spot)| spot);
    let name = format!("Camera keyframe at tick {tick}");
    response.widget_info(|| egui::WidgetInfo::labeled(egui::WidgetType::Button, true, &name));
    let corners = [egui::vec2(0.0, -HALF), egui::vec2(HALF, 0.0), egui::vec2(0.0, HALF), egui::vec2(-HALF, 0.0)];
    let on = state.follows_keys.0;
    let color = if on { ACCENT } else { ui.visuals().text_color() };
    let rim = if response.hovered() || response.has_focus() { Color32::WHITE } else { ui.visuals().panel_fill };
    let diamond = corners.map(|corner| spot + corner).to_vec();
    ui.painter().add(egui::Shape::convex_polygon(diamond, color, Stroke::new(1.0, rim)));
    let mut asked = Vec::new();
    egui::Popup::menu(&response).show(|ui| {
        ui.label(RichText::new(&name).strong());
        if ui.button("Go to keyframe").clicked() {
            asked.push(CameraCommand::GoToKeyframe(tick).into());
        }
        ui.separator();
        ui.label("Interpolation to the next keyframe");
        for (then, name, help) in [
            (Ease::Smooth, "Smooth", "Ease in and out."),
            (Ease::Even, "Linear", "Move at constant speed."),
            (Ease::Hold, "Hold", "Hold this position, then jump to the next keyframe."),
        ] {
            if ui.radio(key.then == then, name).on_hover_text(help).clicked() {
                asked.push(KeyframeCommand::SetInterpolation(tick, then).into());
            }
        }
        ui.separator();
        if ui.button("Delete keyframe").clicked() {
            asked.push(KeyframeCommand::Remove(tick).into());
        }
    });
    if let Some((to, _)) = dragged.filter(|(to, _)| response.drag_stopped() && *to != tick) {
        asked.push(KeyframeCommand::Move(tick, to).into());
    }
    if let Some((to, spot)) = dragged {
        let label = spot + egui::vec2(0.0, HALF + 2.0);
        style::shaded_text(
            ui.painter(),
            label,
            egui::Align2::CENTER_TOP,
            &format!("tick {to}"),
            11.0,
            style::DEEP_SHADE,
        );
    } else if !egui::Popup::is_any_open(ui.ctx()) {
        response.on_hover_text(format!("{name}. Click for options, drag to move."));
    }
    asked
}

/// Draws the tooltip of a state: name, tick, branch and thumbnail.
fn place_ui(ui: &mut Ui, state: &TimelineParams<'_>, mark: TimelinePosition) {
    ui.set_max_width(style::TOOLTIP_WIDTH);
    let name = state.history.label(mark.id).map(|label| capital(&label.to_string()));
    ui.label(RichText::new(name.unwrap_or_else(|| "Simulation state".to_owned())).strong());
    let branch = if mark.branch == 0 { String::new() } else { format!(", branch {}", mark.branch + 1) };
    ui.label(format!("Tick {}{branch}", mark.tick));
    if let Some(thumbnail) = state.history.thumbnail(mark.id) {
        // Uploaded once per state.
        let key = egui::Id::new("timeline image");
        let known = ui.data(|data| data.get_temp::<(u64, egui::TextureHandle)>(key));
        let (_, texture) = known.filter(|(id, _)| *id == mark.id).unwrap_or_else(|| {
            let image = egui::ColorImage::from_rgb(thumbnail.size, &thumbnail.pixels);
            let texture = ui.ctx().load_texture("history", image, egui::TextureOptions::LINEAR);
            ui.data_mut(|data| data.insert_temp(key, (mark.id, texture.clone())));
            (mark.id, texture)
        });
        ui.image(&texture);
        if let Some(tick) = thumbnail.earlier {
            ui.small(format!("Thumbnail of the nearest earlier state, at tick {tick}."));
        }
    }
    ui.small("Click to go to this state. Continuing from an earlier state starts a new branch and keeps the old one.");
}

/// Returns the command that moves by `steps` states along the current branch.
fn step_along_branch(marks: &[TimelinePosition], here: Option<u64>, steps: i64) -> Option<AppCommand> {
    let now = marks.iter().find(|mark| Some(mark.id) == here).filter(|_| steps != 0)?;
    let mut own: Vec<&TimelinePosition> = marks.iter().filter(|mark| mark.branch == now.branch).collect();
    own.sort_by_key(|mark| mark.tick);
    let place = own.iter().position(|mark| mark.id == now.id)? as i64;
    let wanted = own.get(usize::try_from(place + steps).ok()?)?;
    Some(HistoryCommand::ScrubTo(wanted.id).into())
}
