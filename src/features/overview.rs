//! Annotations over the view: names of simulations, split-view divider, contour heights, north arrow and scale bar.

use bevy::{ecs::system::SystemParam, prelude::*};
use bevy_egui::egui::{self, Align2, Color32, CursorIcon, FontId, Key, Rect, Sense, Stroke, Ui};

use crate::shell::{
    UiVisible, access,
    commands::{AddCommands, MenuSection, NONE, SHIFT},
    legend::legend,
    panel::{AddPanel, LayerVisibility},
    style::{ACCENT, FAINT, FOCUS, RIM, SHADE, shaded_text},
};
use crate::world::{
    AppCommand, CompareCommand, Comparison, Divider, Overlay, Preferences, Presentation, SimulationCommand,
    Simulations, Transport, ViewAnnotations, Workspace,
    amount::{display_unit, length, round_length},
};
use egui_phosphor::regular as icon;
use thalweg_scene::settings::{GuideVisibility, UnitSystem};

/// State read by the annotations.
#[derive(SystemParam)]
pub struct Annotations<'w> {
    view: Res<'w, ViewAnnotations>,
    visible: Res<'w, UiVisible>,
    simulations: Res<'w, Simulations>,
    comparison: Res<'w, State<Comparison>>,
    divider: Res<'w, Divider>,
    overlay: Res<'w, Overlay>,
    workspace: Res<'w, State<Workspace>>,
    presentation: Option<Res<'w, Presentation>>,
    transport: Res<'w, Transport>,
}

/// Step of the divider per key press, as a fraction of the view's width.
const KEY_STEP: f32 = 0.02;
/// Font size of the heights on contour lines, in points.
const HEIGHT_SIZE: f32 = 11.0;
/// Duration of the hint in the Present workspace, in seconds.
const HINT: f64 = 2.5;

pub(super) fn plugin(app: &mut App) {
    app.add_view_layer(LayerVisibility::Always, view_ui)
        .add_view_layer(LayerVisibility::Interface, heights_ui)
        .add_view_layer(LayerVisibility::Interface, north_and_scale_ui)
        .add_commands("View", 20, commands);
}

fn commands(table: &mut MenuSection) {
    let before = "Show the initial state of the simulation. Hold B to show it briefly.";
    table.add(icon::CLOCK_COUNTER_CLOCKWISE, "-Initial state", before, &[], CompareCommand::Show(Comparison::Start));
    let split = "Show the initial state to the left and the current state to the right of a movable divider.";
    let half = CompareCommand::Show(Comparison::Split);
    table
        .add(icon::SQUARE_SPLIT_HORIZONTAL, "Split: initial and current state", split, &[(SHIFT, Key::B)], half)
        .set_aliases("compare before after present");
    table.add(icon::EYE, "Current state", "Show the current terrain.", &[], CompareCommand::Show(Comparison::Off));
    let half = CompareCommand::Show(Comparison::Simulations);
    let runs = "Show the first simulation to the left and the selected one to the right of a movable divider.";
    table.add(icon::SQUARE_SPLIT_HORIZONTAL, "-Split: two simulations", runs, &[(SHIFT, Key::C)], half);
    let flicker = "Switch between the two simulations with each press, so that differences stand out.";
    table.add(icon::SWAP, "Flicker between two simulations", flicker, &[(NONE, Key::C)], CompareCommand::Flicker);
}

/// Draws simulation names, legend, divider and hint. Returns the requested commands.
pub fn view_ui(InMut(root): InMut<Ui>, state: Annotations) -> Vec<AppCommand> {
    let (rect, panels) = (root.max_rect(), state.visible.0);
    let mut commands = Vec::new();
    let painter = root.painter().with_clip_rect(rect);
    let text = |place, align, text: &str, size, back| shaded_text(&painter, place, align, text, size, back);
    for &(index, share, ref name) in &state.view.labels {
        let place = rect.min + egui::vec2(share.x, share.y) * rect.size();
        // Highlights the simulation that the panels show.
        let chosen = panels && index == state.simulations.selected_index();
        let alone = state.simulations.all().len() == 1;
        let shade = if chosen && !alone { ACCENT.gamma_multiply(0.8) } else { SHADE };
        text(place, Align2::CENTER_CENTER, name, 12.0, shade);
        if alone {
            // There is no other simulation to select.
            continue;
        }
        let spot = Rect::from_center_size(place, egui::vec2(80.0, 24.0)).intersect(rect);
        let response = root.interact(spot, root.id().with(("tile", index)), Sense::click());
        response.widget_info(|| egui::WidgetInfo::selected(egui::WidgetType::SelectableLabel, true, chosen, name));
        if response.has_focus() {
            painter.rect_stroke(spot, 5.0, FOCUS, egui::StrokeKind::Outside);
        }
        if response.on_hover_text("Select this simulation.").clicked() {
            commands.push(SimulationCommand::Select(index).into());
        }
    }
    if *state.comparison != Comparison::Start {
        legend(root, rect, &state.overlay);
    }
    let share = state.divider.0;
    match *state.comparison.get() {
        Comparison::Off => {}
        Comparison::Start => {
            text(rect.center_top() + egui::vec2(0.0, 18.0), Align2::CENTER_CENTER, "Initial state", 13.0, SHADE);
        }
        Comparison::Split => {
            let names = ["Initial state".to_owned(), format!("Tick {}", state.simulations.ticks())];
            let moved = divider_ui(root, rect, names, share);
            commands.extend(moved.map(|to| CompareCommand::MoveDivider(to.clamp(0.02, 0.98)).into()));
        }
        Comparison::Simulations => {
            if let Some(pair) = state.comparison.pair(&state.simulations) {
                let names = pair.map(|run| {
                    state.simulations.all()[run].tile_title().unwrap_or_else(|| format!("Simulation {}", run + 1))
                });
                let moved = divider_ui(root, rect, names, share);
                commands.extend(moved.map(|to| CompareCommand::MoveDivider(to.clamp(0.0, 1.0)).into()));
                commands.extend(next_simulation_ui(root, rect, (pair[1], state.simulations.all().len()), share));
            }
        }
    }
    // How to leave the Present workspace if it was entered by mistake.
    let (begun, now) = (root.id().with("present"), root.input(|input| input.time));
    if panels && *state.workspace == Workspace::Present {
        let since = now - root.data_mut(|data| *data.get_temp_mut_or_insert_with(begun, || now));
        if state.presentation.is_none() && (since < HINT || !state.transport.playing) {
            let back =
                "Click and hold on the terrain: rain · Shift: remove water · L: raise · K: lower · Esc: leave Present";
            text(rect.center_bottom() - egui::vec2(0.0, 20.0), Align2::CENTER_CENTER, back, 12.0, SHADE);
        }
    } else {
        root.data_mut(|data| data.remove::<f64>(begun));
    }
    commands
}

/// Draws the heights on the contour lines.
fn heights_ui(
    InMut(root): InMut<Ui>,
    annotations: Res<ViewAnnotations>,
    preferences: Res<Preferences>,
    simulations: Res<Simulations>,
) -> Vec<AppCommand> {
    let view = root.max_rect();
    let painter = root.painter().with_clip_rect(view);
    let units = preferences.settings.units;
    let step = f64::from(simulations.selected().look.contours) * display_unit(units, "m").1;
    // As many decimals as distinguish adjacent contours.
    let decimals = (0..2).find(|&decimals| (step * 10_f64.powi(decimals)).fract().abs() < 1e-3).unwrap_or(2) as usize;
    for &(share, angle, height) in &annotations.heights {
        let middle = view.min + egui::vec2(share.x, share.y) * view.size();
        let text = length(units, height.into(), decimals);
        let text = |color| painter.layout_no_wrap(text.clone(), FontId::proportional(HEIGHT_SIZE), color);
        let write = |aside: egui::Vec2, color| {
            let shape = egui::epaint::TextShape::new(middle + aside, text(color), color);
            painter.add(shape.with_angle_and_anchor(angle, Align2::CENTER_CENTER));
        };
        // A dark outline for legibility on snow.
        for aside in [[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]] {
            write(aside.into(), RIM);
        }
        write(egui::Vec2::ZERO, Color32::WHITE);
    }
    Vec::new()
}

/// Radius of the north arrow, and maximum length of the scale bar, in points.
const NORTH: f32 = 15.0;
const LONGEST_BAR: f32 = 130.0;

/// Draws the north arrow and the scale bar, as set in the settings.
fn north_and_scale_ui(
    InMut(root): InMut<Ui>,
    annotations: Res<ViewAnnotations>,
    preferences: Res<Preferences>,
    workspace: Res<State<Workspace>>,
    presentation: Option<Res<Presentation>>,
) -> Vec<AppCommand> {
    let (view, turned, metres) = (root.max_rect(), annotations.azimuth, annotations.metres);
    let settings = &preferences.settings;
    let wanted = match settings.scale_and_north {
        GuideVisibility::InLearn => {
            *workspace == Workspace::Learn || presentation.is_some() && *workspace == Workspace::Present
        }
        GuideVisibility::Always => true,
        GuideVisibility::Never => false,
    };
    if !wanted {
        return Vec::new();
    }
    let painter = root.painter().with_clip_rect(view);
    let middle = view.left_top() + egui::vec2(42.0, 46.0);
    painter.circle(middle, NORTH + 5.0, SHADE, Stroke::new(1.0, FAINT));
    let north = egui::Vec2::angled(turned - std::f32::consts::FRAC_PI_2);
    let aside = egui::vec2(-north.y, north.x);
    let (tip, tail) = (middle + north * NORTH, middle - north * NORTH * 0.45);
    let half = |side: f32, color| {
        let wing = middle - north * NORTH * 0.85 + aside * side * NORTH * 0.6;
        painter.add(egui::Shape::convex_polygon(vec![tip, wing, tail], color, Stroke::NONE));
    };
    half(-1.0, Color32::WHITE);
    half(1.0, FAINT);
    shaded_text(&painter, middle + north * (NORTH + 14.0), Align2::CENTER_CENTER, "N", 11.0, SHADE);
    if metres <= 0.0 {
        return Vec::new();
    }
    let (length, text) = bar(settings.units, f64::from(metres / view.height()));
    let left = middle + egui::vec2(NORTH + 34.0, 6.0);
    let right = left + egui::vec2(length, 0.0);
    shaded_text(&painter, left + egui::vec2(0.5 * length, -14.0), Align2::CENTER_CENTER, &text, 12.0, SHADE);
    let end = |at: egui::Pos2| [at - egui::vec2(0.0, 4.0), at + egui::vec2(0.0, 4.0)];
    for (width, color) in [(4.0, SHADE), (1.5, Color32::WHITE)] {
        for line in [[left, right], end(left), end(right)] {
            painter.line_segment(line, Stroke::new(width, color));
        }
    }
    Vec::new()
}

/// Returns length (in points) and label of the longest round scale bar that fits, at `metres` per point.
fn bar(units: UnitSystem, metres: f64) -> (f32, String) {
    let (length, text) = round_length(units, metres * f64::from(LONGEST_BAR));
    ((length / metres) as f32, text)
}

/// Draws a button that shows the next simulation on the right, if there is another one. Returns its command when clicked.
fn next_simulation_ui(root: &mut Ui, rect: Rect, (shown, count): (usize, usize), share: f32) -> Option<AppCommand> {
    // The first simulation stays on the left.
    let next = if shown + 1 < count { shown + 1 } else { 1 };
    let place = egui::pos2(rect.left() + share * rect.width() + 16.0, rect.top() + 30.0);
    if next == shown || share >= 1.0 {
        return None;
    }
    let button = egui::Button::new(egui_phosphor::regular::CARET_RIGHT).small();
    let button = root.put(Rect::from_min_size(place, egui::vec2(22.0, 18.0)), button);
    access::name(&button, "Next simulation");
    button
        .on_hover_text("Show the next simulation on the right.")
        .clicked()
        .then(|| SimulationCommand::Select(next).into())
}

/// Draws the divider between two named views at a fraction of the width. Returns its new position if it was moved.
fn divider_ui(root: &mut Ui, rect: Rect, [left, right]: [String; 2], share: f32) -> Option<f32> {
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
    // Hidden sides have no name.
    if share > 0.0 {
        text(egui::pos2(x - 16.0, top), Align2::RIGHT_CENTER, &left);
    }
    if share < 1.0 {
        text(egui::pos2(x + 16.0, top), Align2::LEFT_CENTER, &right);
    }
    let name = format!("Divider between {left} and {right}");
    let handle = Rect::from_center_size(egui::pos2(x, rect.center().y), egui::vec2(24.0, rect.height()));
    let response = root.interact(handle, root.id().with("divider"), Sense::drag());
    response.widget_info(|| egui::WidgetInfo::slider(true, share.into(), &name));
    let mut wanted = share;
    if response.has_focus() {
        painter.circle_stroke(egui::pos2(x, rect.center().y), 13.0, FOCUS);
        // The arrow keys move the divider, not the focus.
        let arrows = egui::EventFilter { horizontal_arrows: true, ..Default::default() };
        root.memory_mut(|memory| memory.set_focus_lock_filter(response.id, arrows));
        let pressed = |key| root.input(|input| input.num_presses(key)) as f32;
        wanted += KEY_STEP * (pressed(Key::ArrowRight) - pressed(Key::ArrowLeft));
    }
    if let Some(place) = response.interact_pointer_pos().filter(|_| response.dragged()) {
        wanted = (place.x - rect.left()) / rect.width().max(1.0);
    }
    response.on_hover_cursor(CursorIcon::ResizeHorizontal);
    (wanted != share).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_bar_has_round_length_that_fits() {
        for (units, metres, text) in [
            (UnitSystem::Metric, 1.0, "100 m"),
            (UnitSystem::Metric, 4.0, "500 m"),
            (UnitSystem::Metric, 9.0, "1 km"),
            (UnitSystem::Metric, 1e-3, "0.1 m"),
            (UnitSystem::Metric, 2e-4, "0.02 m"),
            (UnitSystem::Feet, 1.0, "200 ft"),
            (UnitSystem::Feet, 30.0, "2 mi"),
        ] {
            let (length, label) = bar(units, metres);
            assert_eq!(label, text, "{metres}");
            assert!(length <= LONGEST_BAR && length > 0.35 * LONGEST_BAR, "{length}");
        }
    }
}
