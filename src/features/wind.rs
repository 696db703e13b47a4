//! Wind dial over the view, and the wind map: wind path and sand side by side.

use bevy::prelude::{App, InMut, Local, Res};
use bevy_egui::egui::{self, Align2, Color32, FontId, Key, Mesh, Rect, Sense, Stroke, Ui};

use crate::shell::{
    commands::{AddCommands, MenuSection},
    floating::{AddFloatingWindow, FloatingWindow, FloatingWindowKind, FloatingWindowUi},
    panel::{AddPanel, LayerVisibility},
    style::{self, ACCENT},
};
use crate::world::{AppCommand, EditCommand, Overlay, Simulations, ViewAnnotations, WindowCommand};
use egui_phosphor::regular as icon;
use thalweg_sim::{
    core::{
        grid::Grid,
        quantity::{ColorScale, Quantity},
        terrain::Layer,
    },
    params::{DisplayAlias, Parameter, Value, collect_parameters},
};

/// Scroll distance that changes the strength by 0.1, in points.
const NOTCH: f32 = 20.0;
/// Change of the direction per key press, in degrees.
const KEY_STEP: f64 = 5.0;
/// Wind map window.
const PANE: FloatingWindow = FloatingWindow { key: "wind-map", kind: FloatingWindowKind::Persistent };

/// Maximum number of points along a side of the wind map.
const MOST: usize = 100;

/// Meshes of the two maps, with the tick and seed they show.
#[derive(Default)]
pub struct WindMeshCache {
    meshes: Option<([Mesh; 2], u64, u64)>,
}

pub(super) fn plugin(app: &mut App) {
    app.add_view_layer(LayerVisibility::Panels, dial_ui)
        .add_floating_window(PANE, map_ui)
        .add_commands("View", 80, commands);
}

fn commands(table: &mut MenuSection) {
    let map = "Show small maps of the wind path and the sand side by side.";
    table.add(icon::WIND, "Wind map", map, &[], WindowCommand::Toggle(PANE.key));
}

/// Returns value, minimum and maximum of a numeric parameter.
fn number(parameters: &[Parameter], name: &str) -> Option<(f64, f64, f64)> {
    let parameter = parameters.iter().find(|parameter| parameter.name == name)?;
    match parameter.value {
        Value::Number(value) => Some((value, parameter.knob.min, parameter.knob.max)),
        _ => None,
    }
}

/// Draws the dial at the upper right of the view. Dragging turns the wind, scrolling changes its strength.
pub fn dial_ui(
    InMut(ui): InMut<Ui>,
    simulations: Res<Simulations>,
    annotations: Res<ViewAnnotations>,
) -> Vec<AppCommand> {
    let (context, view, turned) = (ui.ctx().clone(), ui.max_rect(), annotations.azimuth);
    let mut commands = Vec::new();
    let mut slots = simulations.selected().simulation.slots.iter();
    let Some(slot) = slots.find(|slot| slot.enabled && slot.process.capabilities().weather.is_some()) else {
        return commands;
    };
    let parameters = collect_parameters((slot.key(), slot.process.params()));
    let (Some(direction), Some(strength)) = (number(&parameters, "direction"), number(&parameters, "strength")) else {
        return commands;
    };
    let side = 2.0 * (style::DIAL_RADIUS + 10.0);
    let corner = view.right_top() + egui::vec2(-side - 20.0, 12.0);
    egui::Area::new("wind-dial".into()).fixed_pos(corner).order(egui::Order::Middle).show(&context, |ui| {
        let (rect, response) = ui.allocate_exact_size(egui::vec2(side + 8.0, side + 16.0), Sense::click_and_drag());
        let middle = rect.center_top() + egui::vec2(0.0, 0.5 * side);
        response.widget_info(|| egui::WidgetInfo::slider(true, direction.0, "Wind direction"));
        let mut degrees = direction.0;
        if let Some(place) = response.interact_pointer_pos().filter(|place| place.distance(middle) > 4.0) {
            let offset = place - middle;
            degrees = f64::from((offset.y.atan2(offset.x) - turned).to_degrees()).rem_euclid(360.0).round();
        }
        let mut strong = strength.0;
        if response.hovered() {
            strong += f64::from((ui.input(|input| input.smooth_scroll_delta.y) / NOTCH).round()) * 0.1;
        }
        if response.has_focus() {
            let arrows = egui::EventFilter { horizontal_arrows: true, vertical_arrows: true, ..Default::default() };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, arrows));
            let pressed = |key| ui.input(|input| input.num_presses(key)) as f64;
            degrees = (degrees + KEY_STEP * (pressed(Key::ArrowRight) - pressed(Key::ArrowLeft))).rem_euclid(360.0);
            strong += 0.1 * (pressed(Key::ArrowUp) - pressed(Key::ArrowDown));
        }
        let strong = ((strong * 10.0).round() * 0.1).clamp(strength.1, strength.2);
        if degrees != direction.0 {
            commands.push(EditCommand::Set(slot.key().to_owned(), "direction", Value::Number(degrees)).into());
        }
        if (strong - strength.0).abs() > 0.04 {
            commands.push(EditCommand::Set(slot.key().to_owned(), "strength", Value::Number(strong)).into());
        }
        let second = number(&parameters, "second_share").is_some_and(|(share, ..)| share > 0.0);
        let second = number(&parameters, "second_direction").filter(|_| second).map(|(degrees, ..)| degrees);
        paint(ui, middle, [Some(direction.0), second], turned, response.hovered() || response.has_focus());
        let from = DisplayAlias::Wind.format_alias(direction.0, |unit| (unit, 1.0)).unwrap_or_default();
        // The dial shows the degrees.
        let point = from.split(',').next().unwrap_or_default();
        let text = format!("{point} · {:.1}", strength.0);
        let label = Rect::from_center_size(rect.center_bottom() - egui::vec2(0.0, 9.0), egui::vec2(92.0, 17.0));
        ui.painter().rect_filled(label, 5.0, style::SHADE);
        ui.painter().text(label.center(), Align2::CENTER_CENTER, text, FontId::proportional(12.0), Color32::WHITE);
        let about = format!(
            "The arrow points downwind; the wind comes {from}. Drag to turn the wind, scroll to change its strength."
        );
        response.on_hover_text(about);
    });
    commands
}

/// Paints the dial with an arrow for each wind.
fn paint(ui: &Ui, middle: egui::Pos2, winds: [Option<f64>; 2], turned: f32, lit: bool) {
    let painter = ui.painter();
    painter.circle(
        middle,
        style::DIAL_RADIUS,
        if lit { style::DEEP_SHADE } else { style::SHADE },
        Stroke::new(1.5, style::FAINT),
    );
    for tick in 0..8 {
        let along = egui::Vec2::angled(tick as f32 * std::f32::consts::FRAC_PI_4 + turned);
        let inner = if tick % 2 == 0 { 0.82 } else { 0.90 };
        let ends = [middle + along * style::DIAL_RADIUS * inner, middle + along * style::DIAL_RADIUS];
        painter.line_segment(ends, Stroke::new(1.0, style::FAINT));
    }
    for (degrees, color) in winds.into_iter().zip([ACCENT, style::FAINT]) {
        let Some(degrees) = degrees else { continue };
        let along = egui::Vec2::angled((degrees as f32).to_radians() + turned);
        let aside = egui::vec2(-along.y, along.x);
        let (tail, neck, tip) = (
            middle - along * style::DIAL_RADIUS * 0.66,
            middle + along * style::DIAL_RADIUS * 0.28,
            middle + along * style::DIAL_RADIUS * 0.74,
        );
        painter.line_segment([tail, neck], Stroke::new(3.0, color));
        let head = vec![tip, neck + aside * style::DIAL_RADIUS * 0.24, neck - aside * style::DIAL_RADIUS * 0.24];
        painter.add(egui::Shape::convex_polygon(head, color, Stroke::NONE));
    }
}

/// Draws the wind map window.
fn map_ui(
    InMut(window): InMut<FloatingWindowUi>,
    simulations: Res<Simulations>,
    mut map: Local<WindMeshCache>,
) -> Vec<AppCommand> {
    if window.just_opened {
        *map = WindMeshCache::default();
    }
    let context = &window.context;
    let session = simulations.selected();
    let now = (session.simulation.ticks(), session.simulation.seed());
    if simulations.between_ticks() && map.meshes.as_ref().is_none_or(|(_, tick, seed)| (*tick, *seed) != now) {
        let meshes = [Quantity::WindPath, Quantity::Layer(Layer::Sand)];
        let meshes = meshes.map(|quantity| mesh_of(&session.simulation.quantity(quantity)));
        map.meshes = Some((meshes, now.0, now.1));
    }
    // Next to the toolbar.
    let place = context.content_rect().left_bottom() + egui::vec2(66.0, -style::WIND_MAP_SIDE - 190.0);
    egui::Window::new("Wind map").open(&mut window.is_open).resizable(false).default_pos(place).show(context, |ui| {
        ui.horizontal(|ui| {
            let Some((meshes, ..)) = &map.meshes else { return };
            for (mesh, title) in meshes.iter().zip(["Wind path", "Sand"]) {
                ui.vertical(|ui| {
                    let (rect, _) = ui.allocate_exact_size(mesh.calc_bounds().size(), Sense::hover());
                    let mut mesh = mesh.clone();
                    mesh.translate(rect.min.to_vec2());
                    ui.painter().add(mesh);
                    ui.small(title);
                });
            }
        });
    });
    Vec::new()
}

/// Converts a quantity into a mesh, from dark to light up to the 99th percentile, with colours interpolated between points.
fn mesh_of(grid: &Grid) -> Mesh {
    let step = grid.width().max(grid.height()).div_ceil(MOST);
    let (columns, rows) = (grid.width().div_ceil(step), grid.height().div_ceil(step));
    let values: Vec<f32> =
        (0..columns * rows).map(|index| grid.at(index % columns * step, index / columns * step)).collect();
    let mut sorted = values.clone();
    sorted.sort_by(f32::total_cmp);
    let most = sorted[(sorted.len() - 1) * 99 / 100].max(1e-6);
    let size = style::WIND_MAP_SIDE / (columns.max(rows).max(2) - 1) as f32;
    let mut mesh = Mesh::default();
    for (index, value) in values.iter().enumerate() {
        let (column, row) = (index % columns, index / columns);
        let [red, green, blue] = Overlay::color(ColorScale::FromZero, (value / most).clamp(0.0, 1.0));
        let place = egui::pos2(column as f32 * size, row as f32 * size);
        mesh.colored_vertex(place, egui::Rgba::from_rgb(red, green, blue).into());
        if column > 0 && row > 0 {
            let (here, above) = (index as u32, (index - columns) as u32);
            mesh.add_triangle(above - 1, above, here);
            mesh.add_triangle(above - 1, here, here - 1);
        }
    }
    mesh
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_wind_map_is_downsampled_to_same_aspect() {
        let mesh = mesh_of(&Grid::from_fn(1000, 500, |x, _| x as f32));
        let size = mesh.calc_bounds().size();
        assert!(mesh.vertices.len() <= MOST * MOST && (size.x - style::WIND_MAP_SIDE).abs() < 0.1);
        assert!((size.y / size.x - 0.5).abs() < 0.01);
        assert_ne!(mesh.vertices[0].color, mesh.vertices[50].color);
        assert_eq!(mesh_of(&Grid::filled(1, 1, 0.0)).vertices.len(), 1);
    }
}
