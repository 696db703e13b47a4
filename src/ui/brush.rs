//! Brushes: the bar to take one from, its panel, and setting a number by moving the pointer. And the list of all steps.

use bevy_egui::egui::{self, Align2, Color32, CursorIcon, FontId, Key, Pos2, Rect, RichText, Sense, Stroke, Ui};
use egui_phosphor::regular as icon;

use super::{
    State, commands,
    group::{group_ui, some_of_group_ui},
    springs::{Kind, Springs},
    style::ACCENT,
};
use crate::{
    params::{Value, title, walk},
    runtime::{BUDGET, Command},
    sim::{
        edit::{Brush, Combine, Selection, Tool},
        quantity::Quantity,
        terrain::Layer,
    },
};

/// Points by which the pointer moves to make a brush e times larger, or to bring its strength from 0 to 1.
const REACH: f32 = 160.0;
/// Height of the list of steps, in points.
const LIST: f32 = 220.0;
/// Side of a button of the bar, in points.
const BUTTON: f32 = 34.0;

/// Icon of a tool.
pub fn tool_icon(tool: Tool) -> &'static str {
    match tool {
        Tool::Raise => icon::ARROW_FAT_UP,
        Tool::Lower => icon::ARROW_FAT_DOWN,
        Tool::Smooth => icon::WAVE_SINE,
        Tool::Flatten => icon::EQUALS,
        Tool::Noise => icon::SPARKLE,
        Tool::Slope => icon::TREND_UP,
        Tool::Terrace => icon::STAIRS,
        Tool::Stamp => icon::STAMP,
        Tool::Sand => icon::DOTS_NINE,
        Tool::Rain => icon::CLOUD_RAIN,
        Tool::Hardness => icon::DIAMOND,
        Tool::Mask => icon::SHIELD,
    }
}

/// The bar at the left: no brush, every brush, spring and drain.
pub fn tool_bar_ui(ui: &mut Ui, state: &State<'_>, springs: &mut Springs) -> Vec<Command> {
    let mut asked = Vec::new();
    let held = state.brushes.held;
    let button = |ui: &mut Ui, icon: &str, name: &str, about: String, on: bool| {
        let fill = if on { ACCENT.gamma_multiply(0.55) } else { Color32::TRANSPARENT };
        let text = RichText::new(icon).size(18.0);
        let button = egui::Button::new(text).fill(fill).min_size(egui::Vec2::splat(BUTTON));
        let response = ui.add(button);
        response.widget_info(|| egui::WidgetInfo::selected(egui::WidgetType::SelectableLabel, true, on, name));
        response.on_hover_text(format!("{name}\n{about}")).clicked()
    };
    egui::ScrollArea::vertical().scroll_bar_visibility(egui::scroll_area::ScrollBarVisibility::AlwaysHidden).show(
        ui,
        |ui| {
            ui.spacing_mut().item_spacing.y = 2.0;
            ui.add_space(4.0);
            let placing = springs.placing();
            let looks = held.is_none() && placing.is_none();
            if button(ui, icon::CURSOR, "Look", "No brush: the left button does nothing. (Esc)".to_owned(), looks) {
                springs.place(None);
                asked.push(Command::Hold(None));
            }
            ui.separator();
            for tool in Tool::ALL {
                let keys =
                    commands::entry(&Command::Hold(Some(tool))).map(|entry| commands::keys_text(ui.ctx(), entry));
                let keys = keys.filter(|keys| !keys.is_empty()).map(|keys| format!(" ({keys})")).unwrap_or_default();
                let on = held == Some(tool);
                if button(ui, tool_icon(tool), tool.title(), format!("{}{keys}", tool.about()), on) {
                    springs.place(None);
                    asked.push(Command::Hold(if on { None } else { Some(tool) }));
                }
            }
            ui.separator();
            let sources = [(Kind::Spring, icon::DROP, "Spring"), (Kind::Drain, icon::DROP_SLASH, "Drain")];
            for (kind, icon, name) in sources {
                let on = placing == Some(kind);
                if button(
                    ui,
                    icon,
                    name,
                    "Placed with a click on the map, then dragged and tuned there.".to_owned(),
                    on,
                ) {
                    springs.place(if on { None } else { Some(kind) });
                    asked.push(Command::Hold(None));
                }
            }
        },
    );
    asked
}

/// The panel of the brush in the hand.
pub fn brush_ui(ui: &mut Ui, state: &State<'_>, tool: Tool) -> Vec<Command> {
    let mut asked = Vec::new();
    let (brush, fresh) = (state.brushes.of(tool), Brush::of(tool));
    ui.label(RichText::new(tool.about()).weak());
    let changes = some_of_group_ui(ui, ("brush", brush), ("brush", &fresh), |name| tool.has(name));
    asked.extend(changes.into_iter().map(|(name, value)| Command::Set("brush".to_owned(), name, value)));
    if tool == Tool::Stamp {
        ui.horizontal(|ui| {
            ui.label("Relief");
            let text = format!("{} {}", icon::FOLDER_OPEN, state.brushes.stamp.1);
            if ui.button(text).on_hover_text("Loads a heightmap to stamp with").clicked() {
                asked.push(Command::AskStamp);
            }
        });
    }
    let terrain = &state.live.chosen().simulation.terrain;
    let cells = brush.cells(terrain);
    let text = format!("Radius {:.1} m, {cells:.1} cells", cells * terrain.cell_size);
    ui.label(RichText::new(text).small().weak());
    ui.label(
        RichText::new("Shift smooths, Ctrl does the opposite, F and Shift+F set, Esc takes a stroke back.")
            .small()
            .weak(),
    );
    asked
}

/// The panel of the mask: what to select, and how to combine it with what is there.
pub fn mask_ui(ui: &mut Ui, state: &State<'_>) -> Vec<Command> {
    let mut asked = Vec::new();
    let about = "What brushes leave alone, and processes that are told to. Select it by the ground, or paint it.";
    ui.label(RichText::new(about).weak());
    let selection = &state.brushes.selection;
    let changes = group_ui(ui, ("selection", selection), ("selection", &Selection::default()), false);
    asked.extend(changes.into_iter().map(|(name, value)| Command::Set("selection".to_owned(), name, value)));
    let combinations = [
        (Combine::Replace, "Select", "The mask becomes the selection."),
        (Combine::Add, "Add", "The selection is masked too."),
        (Combine::Subtract, "Subtract", "The selection is freed from the mask."),
        (Combine::Intersect, "Intersect", "Only what is masked and selected stays masked."),
    ];
    ui.horizontal_wrapped(|ui| {
        for (combine, text, help) in combinations {
            if ui.button(text).on_hover_text(help).clicked() {
                asked.push(Command::Select(combine));
            }
        }
    });
    ui.horizontal_wrapped(|ui| {
        let mut button = |ui: &mut Ui, text: &str, command: Command| {
            if ui.button(text).clicked() {
                asked.push(command);
            }
        };
        button(ui, "Paint", Command::Hold(Some(Tool::Mask)));
        button(ui, "Invert", Command::InvertMask);
        button(ui, "Clear", Command::ClearMask);
        let shown = state.overlay.shown == Some(Quantity::Layer(Layer::Mask));
        let wanted = if shown { None } else { Some(Quantity::Layer(Layer::Mask)) };
        button(ui, if shown { "Hide" } else { "Show" }, Command::ShowOverlay(wanted));
    });
    asked
}

/// A number of the brush that follows the pointer until a click.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drag {
    name: &'static str,
    before: f64,
    /// Where the pointer was.
    from: Pos2,
}

impl Drag {
    /// Begins to set this number of the brush in the hand.
    pub fn begin(name: &'static str, state: &State<'_>, pointer: Pos2) -> Option<Self> {
        let brush = state.brushes.of(state.brushes.held?);
        let value = walk(("brush", brush)).into_iter().find(|parameter| parameter.name == name)?.value;
        match value {
            Value::Number(before) => Some(Self { name, before, from: pointer }),
            _ => None,
        }
    }
}

/// Sets a number of the brush as the pointer moves; a click or Enter keeps it, Esc or the right button brings back what it
/// was.
pub fn drag_ui(root: &mut Ui, view: Rect, state: &State<'_>, drag: &mut Option<Drag>) -> Vec<Command> {
    let (Some(now), Some(tool)) = (*drag, state.brushes.held) else {
        *drag = None;
        return Vec::new();
    };
    let parameters = walk(("brush", state.brushes.of(tool)));
    let Some(parameter) = parameters.into_iter().find(|parameter| parameter.name == now.name) else {
        return Vec::new();
    };
    let response = root.interact(root.max_rect(), root.id().with("brush drag"), Sense::click());
    let pointer = root.input(|input| input.pointer.latest_pos()).unwrap_or(now.from);
    let moved = (pointer.x - now.from.x) / REACH;
    let knob = &parameter.knob;
    let moved = f64::from(moved);
    let wanted = if knob.log { now.before * moved.exp() } else { now.before + moved };
    // Three digits are as fine as a hand.
    let digit = 10.0_f64.powf(wanted.abs().max(1e-9).log10().floor() - 2.0);
    let wanted = ((wanted / digit).round() * digit).clamp(knob.min, knob.max);
    let (leaves, keeps) = root.input(|input| {
        let leaves = input.key_pressed(Key::Escape) || input.pointer.secondary_clicked();
        (leaves, input.key_pressed(Key::Enter) || input.pointer.primary_released())
    });
    let text = format!("{} {wanted:.2} {}", title(now.name), knob.unit);
    let painter = root.painter().with_clip_rect(view);
    painter.line_segment([now.from, egui::pos2(pointer.x, now.from.y)], Stroke::new(2.0, ACCENT));
    let font = FontId::proportional(14.0);
    let galley = painter.layout_no_wrap(text, font, Color32::WHITE);
    let at = Align2::CENTER_BOTTOM.anchor_size(now.from - egui::vec2(0.0, 14.0), galley.size());
    painter.rect_filled(at.expand2(egui::vec2(7.0, 3.0)), 5.0, Color32::from_black_alpha(150));
    painter.galley(at.min, galley, Color32::WHITE);
    response.on_hover_cursor(CursorIcon::ResizeHorizontal);
    let set = |value: f64| vec![Command::Set("brush".to_owned(), now.name, Value::Number(value))];
    if leaves {
        *drag = None;
        return set(now.before);
    }
    if keeps {
        *drag = None;
    }
    if parameter.value == Value::Number(wanted) { Vec::new() } else { set(wanted) }
}

/// All steps that can be undone and redone, to jump to any of them.
pub fn history_ui(ui: &mut Ui, state: &State<'_>) -> Vec<Command> {
    let mut asked = Vec::new();
    let (steps, done) = state.history.steps();
    let mut row = |ui: &mut Ui, number: usize, text: &str| {
        let here = number == done;
        let shown = RichText::new(text);
        let shown = if number > done { shown.weak() } else { shown };
        if ui.selectable_label(here, shown).clicked() && !here {
            asked.push(Command::Jump(done as i32 - number as i32));
        }
    };
    let list = egui::ScrollArea::vertical().id_salt("history").max_height(LIST).min_scrolled_height(LIST);
    list.stick_to_bottom(true).show(ui, |ui| {
        row(ui, 0, "As far back as is kept");
        for (index, step) in steps.enumerate() {
            row(ui, index + 1, &format!("{}. {}", index + 1, title(step)));
        }
    });
    let megabytes = |bytes: usize| bytes as f64 / f64::from(1 << 20);
    let (steps, frames) = (state.history.bytes(), state.timeline.bytes());
    let text = format!(
        "{:.1} of {:.0} MiB, {:.1} of them in the timeline",
        megabytes(steps + frames),
        megabytes(BUDGET),
        megabytes(frames)
    );
    ui.label(RichText::new(text).small().weak())
        .on_hover_text("Beyond it, keyframes are thinned out and the oldest steps go.");
    asked
}
