//! Springs and drains: placed by a click on the terrain, then dragged and adjusted in the view.

use bevy::prelude::*;
use bevy_egui::egui::{self, Align2, Color32, CursorIcon, FontId, Rect, RichText, Sense, Stroke, Ui};
use egui_phosphor::regular as icon;

use super::SpringMarks;
use crate::shell::{
    access,
    commands::{AddCommands, MenuSection},
    number::NumberField,
    panel::{AddPanel, EVERYWHERE, LayerVisibility, SidebarPanel},
    placement::{BeginPlacement, Placement, PlacementKind, choice_ui},
    style::{self, ACCENT},
};
use crate::world::{AppCommand, EditCommand, PointedPosition, Simulations, ViewPlaces};
use thalweg_sim::core::terrain::Source;

/// Rate of a new spring, in cubic metres per second and square metre of a cell, and its radius, in cells.
const NEW: (f32, f32) = (1.5, 2.5);

/// Selection of springs and drains.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct SpringSelection {
    /// Index of the one whose values are shown next to it.
    chosen: Option<usize>,
}

/// Placement buttons and the list.
const PANEL: SidebarPanel = SidebarPanel {
    key: "springs",
    title: "Springs and drains",
    workspaces: EVERYWHERE,
    unfolded: &[],
    in_lessons: false,
};

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<SpringSelection>()
        .add_panel(PANEL, panel_ui)
        .add_view_layer(LayerVisibility::Panels, marks_ui)
        .add_commands("View", 60, commands);
}

fn commands(table: &mut MenuSection) {
    let spring = "Click on the terrain to place a spring. Drag it to move it, click it to adjust it.";
    table.add(icon::DROP, "Place spring", spring, &[], BeginPlacement(PlacementKind::Spring));
    let drain = "Click on the terrain to place a drain. Drag it to move it, click it to adjust it.";
    table.add(icon::DROP_SLASH, "Place drain", drain, &[], BeginPlacement(PlacementKind::Drain));
}

/// Draws the placement buttons and the list.
pub fn panel_ui(
    InMut(ui): InMut<Ui>,
    simulations: Res<Simulations>,
    mut placement: ResMut<Placement>,
    mut springs: ResMut<SpringSelection>,
) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    let terrain = &simulations.selected().simulation.terrain;
    let mut sources = terrain.sources.clone();
    ui.horizontal(|ui| {
        for (placed, sign, text) in [
            (PlacementKind::Spring, icon::DROP, "Place spring"),
            (PlacementKind::Drain, icon::DROP_SLASH, "Place drain"),
        ] {
            let help = "Click on the terrain to place it. Esc cancels.";
            asked.extend(choice_ui(ui, &mut placement, placed, (&format!("{sign} {text}"), help)));
        }
    });
    let mut removed = None;
    for (index, source) in sources.iter_mut().enumerate() {
        ui.separator();
        ui.horizontal(|ui| {
            let name = name_of(index, source);
            if access::choice(ui, springs.chosen == Some(index), name).clicked() {
                springs.chosen = if springs.chosen == Some(index) { None } else { Some(index) };
            }
            if named_button(ui, icon::TRASH, &format!("Remove {}", name_of(index, source))).clicked() {
                removed = Some(index);
            }
        });
        source_ui(ui, source, terrain.cell_size);
    }
    asked.extend(changed(&simulations, sources, removed, &mut springs));
    asked
}

/// Draws the marks, which can be dragged, and the values next to the selected one.
pub fn marks_ui(
    InMut(root): InMut<Ui>,
    simulations: Res<Simulations>,
    marks: Single<&ViewPlaces, With<SpringMarks>>,
    pointed: Res<PointedPosition>,
    mut placement: ResMut<Placement>,
    mut springs: ResMut<SpringSelection>,
) -> Vec<AppCommand> {
    let view = root.max_rect();
    let terrain = &simulations.selected().simulation.terrain;
    let mut sources = terrain.sources.clone();
    let mut removed = None;
    let painter = root.painter().with_clip_rect(view);
    for (index, mark) in marks.0.iter().enumerate() {
        let (Some(share), Some(source)) = (mark, sources.get_mut(index)) else { continue };
        let place = view.min + egui::vec2(share.x, share.y) * view.size();
        let color = if source.rate < 0.0 { style::DRAIN } else { style::SPRING };
        let chosen = springs.chosen == Some(index);
        let rim = Stroke::new(if chosen { 2.5 } else { 1.5 }, Color32::WHITE);
        painter.circle(place, style::MARK_RADIUS, color.gamma_multiply(0.85), rim);
        painter.text(place, Align2::CENTER_CENTER, icon::DROP, font(), Color32::WHITE);
        let spot = Rect::from_center_size(place, egui::Vec2::splat(2.6 * style::MARK_RADIUS)).intersect(view);
        let response = root.interact(spot, root.id().with(("source", index)), Sense::click_and_drag());
        let name = name_of(index, source);
        response.widget_info(|| egui::WidgetInfo::selected(egui::WidgetType::SelectableLabel, true, chosen, &name));
        if response.has_focus() {
            painter.circle_stroke(place, style::MARK_RADIUS + 4.0, Stroke::new(2.0, ACCENT));
            let arrows =
                egui::EventFilter { horizontal_arrows: true, vertical_arrows: true, ..egui::EventFilter::default() };
            root.memory_mut(|memory| memory.set_focus_lock_filter(response.id, arrows));
            let sides = [terrain.width(), terrain.height()];
            let keys = [(egui::Key::ArrowRight, egui::Key::ArrowLeft), (egui::Key::ArrowDown, egui::Key::ArrowUp)];
            for ((place, side), (more, less)) in source.place.iter_mut().zip(sides).zip(keys) {
                let steps = root.input(|input| input.num_presses(more) as f32 - input.num_presses(less) as f32);
                *place = (*place + steps / side as f32).clamp(0.0, 1.0);
            }
            let is_new = |event: &egui::Event| {
                matches!(event, egui::Event::Key { key: egui::Key::Delete, pressed: true, repeat: false, .. })
            };
            if root.input(|input| input.events.iter().any(is_new)) {
                removed = Some(index);
                response.surrender_focus();
            }
        }
        if response.clicked() {
            springs.chosen = if chosen { None } else { Some(index) };
        }
        if response.dragged()
            && let Some(pointed) = pointed.0
        {
            source.place = pointed;
        }
        if chosen && !response.dragged() {
            let corner = place + egui::vec2(style::MARK_RADIUS + 8.0, -style::MARK_RADIUS);
            egui::Area::new(root.id().with("spring")).fixed_pos(corner).constrain_to(view).show(root.ctx(), |ui| {
                egui::Frame::popup(ui.style()).show(ui, |ui| {
                    ui.horizontal(|ui| {
                        ui.label(RichText::new(&name).strong());
                        if named_button(ui, icon::TRASH, &format!("Remove {name}")).clicked() {
                            removed = Some(index);
                        }
                        if named_button(ui, icon::X, "Close").clicked() {
                            springs.chosen = None;
                        }
                    });
                    source_ui(ui, source, terrain.cell_size);
                });
            });
        }
        let response = response.on_hover_cursor(CursorIcon::Grab);
        if !chosen {
            response.on_hover_text(format!(
                "{name}: drag to move, click to adjust. Arrow keys move it, Delete removes it."
            ));
        }
    }
    let mut asked = changed(&simulations, sources, removed, &mut springs);
    for placed in [PlacementKind::Spring, PlacementKind::Drain] {
        let place = placement.clicked(root, placed, &pointed);
        asked.extend(place.map(|at| self::place(&simulations, at, placed, &mut springs)));
    }
    asked
}

/// Adds a spring or drain at a place and selects it.
fn place(
    simulations: &Simulations,
    place: [f32; 2],
    placed: PlacementKind,
    springs: &mut SpringSelection,
) -> AppCommand {
    let terrain = &simulations.selected().simulation.terrain;
    let mut sources = terrain.sources.clone();
    let size = terrain.cell_size;
    let sign = if placed == PlacementKind::Drain { -1.0 } else { 1.0 };
    sources.push(Source { place, radius: NEW.1 * size, rate: sign * NEW.0 * size * size, ticks: None });
    springs.chosen = Some(sources.len() - 1);
    EditCommand::SetSources(sources).into()
}

fn name_of(index: usize, source: &Source) -> String {
    format!("{} {}", if source.rate < 0.0 { "Drain" } else { "Spring" }, index + 1)
}

/// Draws an icon button with an accessible name.
fn named_button(ui: &mut Ui, sign: &str, name: &str) -> egui::Response {
    let response = ui.button(sign);
    access::name(&response, name);
    response.on_hover_text(name)
}

fn font() -> FontId {
    FontId::proportional(13.0)
}

fn source_ui(ui: &mut Ui, source: &mut Source, cell_size: f32) {
    let most = 40.0 * cell_size * cell_size;
    let mut number = |value: &mut f32, range: std::ops::RangeInclusive<f32>, unit: &str, name: &str, help: &str| {
        let mut shown = *value;
        let signed = *range.start() < 0.0;
        let response = NumberField::new(name, unit, range).slider_ui(ui, &mut shown, |slider| {
            // An out-of-range value from a scene file stays until the user changes it.
            let slider = slider.clamping(egui::SliderClamping::Edits).text(name);
            slider.logarithmic(signed).smallest_positive(f64::from(1e-3 * most))
        });
        if response.on_hover_text(help).changed() {
            *value = shown;
        }
    };
    number(&mut source.rate, -most..=most, "m³/s", "Rate", "Discharge of the spring. Negative values drain water.");
    number(&mut source.radius, 0.0..=20.0 * cell_size, "m", "Radius", "Radius of the spring or drain.");
}

/// Returns the command for a changed list.
fn changed(
    simulations: &Simulations,
    mut sources: Vec<Source>,
    removed: Option<usize>,
    springs: &mut SpringSelection,
) -> Vec<AppCommand> {
    if let Some(index) = removed {
        sources.remove(index);
        springs.chosen = None;
    }
    if sources == simulations.selected().simulation.terrain.sources {
        return Vec::new();
    }
    vec![EditCommand::SetSources(sources).into()]
}
