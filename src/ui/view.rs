//! What lies over the view: the names of runs side by side, the divider between start and present.

use bevy::math::Vec2;
use bevy_egui::egui::{self, Align2, Color32, CursorIcon, FontId, Rect, Sense, Stroke, Ui};

use super::{
    PanelState,
    overlay::legend,
    style::{ACCENT, FOCUS, SHADE, shaded_text},
};
use crate::runtime::{Before, Command, RunCommand, ShowCommand, Workspace};

/// Share of the view by which a key moves the divider.
const KEY_STEP: f32 = 0.02;
/// Seconds for which Present says how it is left.
const HINT: f64 = 2.5;

/// Draws what lies over the view's picture. Returns what is asked for.
pub fn view_ui(
    root: &mut Ui,
    rect: Rect,
    state: &PanelState<'_>,
    labels: &[(usize, Vec2, String)],
    panels: bool,
) -> Vec<Command> {
    let mut commands = Vec::new();
    let painter = root.painter().with_clip_rect(rect);
    let text = |place, align, text: &str, size, back| shaded_text(&painter, place, align, text, size, back);
    for &(index, share, ref name) in labels {
        let place = rect.min + egui::vec2(share.x, share.y) * rect.size();
        // The run whose numbers the panels show stands out.
        let chosen = panels && index == state.live.index();
        text(place, Align2::CENTER_CENTER, name, 12.0, if chosen { ACCENT.gamma_multiply(0.8) } else { SHADE });
        let spot = Rect::from_center_size(place, egui::vec2(80.0, 24.0)).intersect(rect);
        let response = root.interact(spot, root.id().with(("tile", index)), Sense::click());
        response.widget_info(|| egui::WidgetInfo::selected(egui::WidgetType::SelectableLabel, true, chosen, name));
        if response.has_focus() {
            painter.rect_stroke(spot, 5.0, FOCUS, egui::StrokeKind::Outside);
        }
        if response.on_hover_text("Shows the numbers of this run").clicked() {
            commands.push(RunCommand::Choose(index).into());
        }
    }
    if state.shown.0 != Before::Alone {
        legend(root, rect, &state.overlay);
    }
    match state.shown.0 {
        Before::Off => {}
        Before::Alone => text(rect.center_top() + egui::vec2(0.0, 18.0), Align2::CENTER_CENTER, "Start", 13.0, SHADE),
        Before::Split(share) => commands.extend(divider_ui(root, rect, state.live.ticks(), share)),
    }
    // How to leave a presentation that was begun by mistake.
    let (begun, now) = (root.id().with("present"), root.input(|input| input.time));
    if panels && *state.workspace == Workspace::Present {
        let since = now - root.data_mut(|data| *data.get_temp_mut_or_insert_with(begun, || now));
        if since < HINT || !state.transport.playing {
            let back = "Esc leaves Present · F1 lists the keys · Ctrl+P finds everything";
            text(rect.center_bottom() - egui::vec2(0.0, 20.0), Align2::CENTER_CENTER, back, 12.0, SHADE);
        }
    } else {
        root.data_mut(|data| data.remove::<f64>(begun));
    }
    commands
}

/// The divider between start and present, at a share of the view's width. Returns where it is moved to.
fn divider_ui(root: &mut Ui, rect: Rect, ticks: u64, share: f32) -> Option<Command> {
    let painter = root.painter().with_clip_rect(rect);
    let text = |place, align, text: &str| shaded_text(&painter, place, align, text, 13.0, SHADE);
    let x = rect.left() + share * rect.width();
    let line = [egui::pos2(x, rect.top()), egui::pos2(x, rect.bottom())];
    painter.line_segment(line, Stroke::new(4.0, SHADE));
    painter.line_segment(line, Stroke::new(1.5, Color32::WHITE));
    painter.circle(egui::pos2(x, rect.center().y), 11.0, Color32::WHITE, Stroke::new(1.0, SHADE));
    let grip = egui_phosphor::regular::ARROWS_HORIZONTAL;
    painter.text(
        egui::pos2(x, rect.center().y),
        Align2::CENTER_CENTER,
        grip,
        FontId::proportional(14.0),
        Color32::BLACK,
    );
    let top = rect.top() + 18.0;
    text(egui::pos2(x - 16.0, top), Align2::RIGHT_CENTER, "Start");
    text(egui::pos2(x + 16.0, top), Align2::LEFT_CENTER, &format!("Tick {}", ticks));
    let handle = Rect::from_center_size(egui::pos2(x, rect.center().y), egui::vec2(24.0, rect.height()));
    let response = root.interact(handle, root.id().with("divider"), Sense::drag());
    response.widget_info(|| egui::WidgetInfo::slider(true, share.into(), "Divider between start and present"));
    let mut wanted = share;
    if response.has_focus() {
        painter.circle_stroke(egui::pos2(x, rect.center().y), 13.0, FOCUS);
        // The arrows move it, and not the focus.
        let arrows = egui::EventFilter { horizontal_arrows: true, ..Default::default() };
        root.memory_mut(|memory| memory.set_focus_lock_filter(response.id, arrows));
        let pressed = |key| root.input(|input| input.num_presses(key)) as f32;
        wanted += KEY_STEP * (pressed(egui::Key::ArrowRight) - pressed(egui::Key::ArrowLeft));
    }
    if let Some(place) = response.interact_pointer_pos().filter(|_| response.dragged()) {
        wanted = (place.x - rect.left()) / rect.width().max(1.0);
    }
    response.on_hover_cursor(CursorIcon::ResizeHorizontal);
    (wanted != share).then(|| ShowCommand::Before(Before::Split(wanted.clamp(0.02, 0.98))).into())
}
