//! Panel of the active brush, and adjustment of its numbers with the pointer.

use bevy::prelude::{App, Event, InMut, On, Res, ResMut, Resource, State};
use bevy_egui::egui::{self, Align2, CursorIcon, Key, Pos2, RichText, Sense, Stroke, Ui};
use egui_phosphor::regular as icon;

use crate::shell::{
    UiVisible, ViewModal,
    commands::{AddCommands, MenuSection, NONE, NUMBERS, SHIFT},
    files::stamp_request,
    group::{set, some_of_group_ui},
    number::units,
    panel::{AddPanel, EVERYWHERE, LayerVisibility, SidebarPanel},
    style::{self, ACCENT},
    tool_bar::tool_icon,
};
use crate::world::{
    AppCommand, AppCommandEvent, BrushCommand, Brushes, Overlay, OverlayCommand, Simulations, Workspace,
    amount::{display_unit, length},
};
use thalweg_sim::{
    edit::{Brush, Tool},
    params::{Value, collect_parameters, title},
};

/// Pointer travel that enlarges a brush by a factor of e, or raises its strength from 0 to 1, in points.
const REACH: f32 = 160.0;

const PANEL: SidebarPanel =
    SidebarPanel { key: "brush", title: "", workspaces: EVERYWHERE, unfolded: &[], in_lessons: false };

fn commands(table: &mut MenuSection) {
    for (index, tool) in Tool::ALL.into_iter().enumerate() {
        let keys: Vec<_> = NUMBERS.get(index).map(|key| (NONE, *key)).into_iter().collect();
        table.add(tool_icon(tool), tool.title(), tool.about(), &keys, BrushCommand::Activate(Some(tool)));
    }
    let stamp = "Load a heightmap as the relief of the Stamp brush.";
    table.add(icon::FOLDER_OPEN, "Load stamp…", stamp, &[], stamp_request());
    let by_hand = "Move the pointer to adjust. Click to confirm, press Esc to cancel.";
    let circle = icon::CIRCLE_HALF;
    table.add(circle, "-Set radius", by_hand, &[(NONE, Key::F)], BeginBrushDrag("radius"));
    table.add(circle, "Set strength", by_hand, &[(SHIFT, Key::F)], BeginBrushDrag("strength"));
    let larger = "Increase the brush radius by a fifth.";
    table
        .add(icon::PLUS, "Larger brush", larger, &[(NONE, Key::CloseBracket)], BrushCommand::Resize(1))
        .set_aliases("bigger size");
    let smaller = "Decrease the brush radius by a sixth.";
    table
        .add(icon::MINUS, "Smaller brush", smaller, &[(NONE, Key::OpenBracket)], BrushCommand::Resize(-1))
        .set_aliases("size");
}

fn panel_ui(
    InMut(ui): InMut<Ui>,
    brushes: Res<Brushes>,
    simulations: Res<Simulations>,
    overlay: Res<Overlay>,
) -> Vec<AppCommand> {
    let Some(tool) = brushes.active else { return Vec::new() };
    let header = egui::CollapsingHeader::new(RichText::new(format!("Brush: {}", tool.title())).heading());
    let drawn = header.id_salt(PANEL.key).default_open(true).show(ui, |ui| {
        let mut asked = brush_ui(ui, &brushes, &simulations, tool);
        if simulations.selected().simulation.terrain.mask.is_some() {
            let (mut shows_mask, help) = (!overlay.hides_mask, "Tint masked terrain while a brush is active.");
            if ui.checkbox(&mut shows_mask, "Show mask").on_hover_text(help).changed() {
                asked.push(OverlayCommand::ToggleMask.into());
            }
        }
        asked
    });
    drawn.body_returned.unwrap_or_default()
}

fn brush_ui(ui: &mut Ui, brushes: &Brushes, simulations: &Simulations, tool: Tool) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    let (brush, fresh) = (brushes.of(tool), Brush::of(tool));
    ui.label(RichText::new(tool.about()).weak());
    let changes = some_of_group_ui(ui, ("brush", brush), ("brush", &fresh), false, |name| tool.has(name));
    asked.extend(set("brush", changes));
    if tool == Tool::Stamp {
        ui.horizontal(|ui| {
            ui.label("Relief");
            let text = format!("{} {}", icon::FOLDER_OPEN, brushes.stamp.1);
            if ui.button(text).on_hover_text("Load a heightmap as the relief of the Stamp brush.").clicked() {
                asked.push(stamp_request().into());
            }
        });
    }
    let terrain = &simulations.selected().simulation.terrain;
    let cells = brush.radius_in_cells(terrain);
    let radius = length(units(ui), f64::from(cells * terrain.cell_size), 1);
    let text = format!("Radius {radius}, {cells:.1} cells");
    ui.label(RichText::new(text).small().weak());
    let ctrl = match tool {
        Tool::Clone => " Ctrl+click: set source ·",
        _ if tool.inverts() => " Ctrl: invert ·",
        _ => "",
    };
    let keys = format!("Shift: smooth ·{ctrl} F: radius · Shift+F: strength · Esc: cancel stroke");
    ui.label(RichText::new(keys).small().weak());
    asked
}

/// Starts adjusting a number of the brush with the pointer.
#[derive(Event, Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeginBrushDrag(pub &'static str);

impl AppCommandEvent for BeginBrushDrag {}

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui).add_commands("Brush", 10, commands);
    app.init_resource::<BrushDrag>().add_observer(begin_brush_drag);
}

/// Requests an adjustment; ignored while the panels are hidden.
fn begin_brush_drag(
    command: On<BeginBrushDrag>,
    visible: Res<UiVisible>,
    workspace: Res<State<Workspace>>,
    mut drag: ResMut<BrushDrag>,
) {
    if visible.0 && *workspace != Workspace::Present {
        drag.wanted = Some(command.0);
    }
}

/// Adds the topmost view layer, which receives the clicks of an adjustment.
pub fn drag_plugin(app: &mut App) {
    app.add_view_layer(LayerVisibility::Panels, drag_ui);
}

/// Adjustment of a brush number with the pointer, if any.
#[derive(Resource, Default)]
pub struct BrushDrag {
    /// Number whose adjustment is requested.
    wanted: Option<&'static str>,
    drag: Option<Drag>,
}

/// Brush number that follows the pointer until a click.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Drag {
    name: &'static str,
    before: f64,
    from: Pos2,
}

impl Drag {
    fn begin(name: &'static str, brushes: &Brushes, pointer: Pos2) -> Option<Self> {
        let brush = brushes.of(brushes.active?);
        let value = collect_parameters(("brush", brush)).into_iter().find(|parameter| parameter.name == name)?.value;
        match value {
            Value::Number(before) => Some(Self { name, before, from: pointer }),
            _ => None,
        }
    }
}

/// Adjusts a number of the brush as the pointer moves. A click or Enter confirms it, Esc or the right button restores it.
pub(super) fn drag_ui(
    InMut(root): InMut<Ui>,
    brushes: Res<Brushes>,
    mut drag: ResMut<BrushDrag>,
    mut modal: ResMut<ViewModal>,
) -> Vec<AppCommand> {
    let view = root.max_rect();
    let BrushDrag { wanted, drag } = &mut *drag;
    if let Some(name) = wanted.take() {
        let pointer = root.input(|input| input.pointer.latest_pos()).unwrap_or(view.center());
        *drag = Drag::begin(name, &brushes, pointer);
    }
    let (Some(now), Some(tool)) = (*drag, brushes.active) else {
        *drag = None;
        return Vec::new();
    };
    modal.0 = true;
    let parameters = collect_parameters(("brush", brushes.of(tool)));
    let Some(parameter) = parameters.into_iter().find(|parameter| parameter.name == now.name) else {
        return Vec::new();
    };
    let response = root.interact(root.ctx().content_rect(), root.id().with("brush drag"), Sense::CLICK);
    let pointer = root.input(|input| input.pointer.latest_pos()).unwrap_or(now.from);
    let moved = f64::from((pointer.x - now.from.x) / REACH);
    let knob = &parameter.knob;
    let wanted = if knob.log { now.before * moved.exp() } else { now.before + moved };
    // Three significant digits, the precision of a pointer.
    let digit = 10.0_f64.powf(wanted.abs().max(1e-9).log10().floor() - 2.0);
    let wanted = ((wanted / digit).round() * digit).clamp(knob.min, knob.max);
    let (leaves, keeps) = root.input(|input| {
        let leaves = input.key_pressed(Key::Escape) || input.pointer.secondary_clicked();
        (leaves, input.key_pressed(Key::Enter) || input.pointer.primary_released())
    });
    let (unit, times) = display_unit(units(root), knob.unit);
    let text = format!("{} {:.2} {unit}", title(now.name), times * wanted);
    let painter = root.painter().with_clip_rect(view);
    painter.line_segment([now.from, egui::pos2(pointer.x, now.from.y)], Stroke::new(2.0, ACCENT));
    let above = now.from - egui::vec2(0.0, 14.0);
    style::shaded_text(&painter, above, Align2::CENTER_BOTTOM, &text, 14.0, style::DEEP_SHADE);
    response.on_hover_cursor(CursorIcon::ResizeHorizontal);
    let ask = |value: f64| set("brush", vec![(now.name, Value::Number(value))]);
    if leaves {
        *drag = None;
        return ask(now.before);
    }
    if keeps {
        *drag = None;
    }
    if parameter.value == Value::Number(wanted) { Vec::new() } else { ask(wanted) }
}
