//! Panels generated from the declarations of a parameter group, independent of the actual parameters.

use crate::world::{AppCommand, AppCommandEvent, EditCommand, FileCommand, amount::display_unit};
use bevy::prelude::Event;
use bevy_egui::egui::{self, Key, Modifiers, RichText, Ui};

use super::{
    access,
    files::{preset_request, save_preset_request},
    navigate,
    number::{NumberField, Rounded, units},
    style,
};
use thalweg_scene::io::preset::{PRESETS, Preset};
use thalweg_sim::params::{Group, Knob, Parameter, Value, choice_title, collect_parameters, title};

/// Opens the dialog to vary a parameter, given by its path, in simulations side by side.
#[derive(Event, Clone, Debug, PartialEq, Eq)]
pub struct VaryParameter(pub String);

impl AppCommandEvent for VaryParameter {}

/// Reason why a parameter has no effect: name of another parameter, and the values that it needs.
type Requirement = (&'static str, Vec<&'static str>);

/// Parameters of a group that the user has changed, by name.
pub type Changes = Vec<(&'static str, Value)>;

/// Returns the commands that change parameters of a group.
pub fn set(group: &str, changes: Changes) -> Vec<AppCommand> {
    changes.into_iter().map(|(name, value)| EditCommand::Set(group.to_owned(), name, value).into()).collect()
}

/// Draws a group; `defaults` is the same group with default values. Returns the changes.
///
/// Main parameters come first, the others under "Advanced", or not at all if `main_only`. Parameters that differ from their default are
/// bold. A right click opens the context menu of a parameter.
pub fn group_ui(ui: &mut Ui, group: Group<'_>, defaults: Group<'_>, main_only: bool) -> Changes {
    some_of_group_ui(ui, group, defaults, main_only, |_| true)
}

/// Draws all parameters of a group in one list. `idle` returns the reason why one has no effect.
pub fn all_of_group_ui(
    ui: &mut Ui,
    group: Group<'_>,
    defaults: Group<'_>,
    idle: impl Fn(&Parameter) -> Option<Requirement>,
) -> Changes {
    let mut changes = Vec::new();
    for (parameter, default) in collect_parameters(group).iter().zip(collect_parameters(defaults)) {
        parameter_ui(ui, parameter, &default.value, idle(parameter), &mut changes);
    }
    changes
}

/// Draws the parameters whose paths satisfy `wanted`, in one list.
pub fn chosen_of_group_ui(
    ui: &mut Ui,
    group: Group<'_>,
    defaults: Group<'_>,
    wanted: impl Fn(&str) -> bool,
) -> Changes {
    let (declared, mut changes) = (collect_parameters(group), Vec::new());
    for (parameter, default) in
        declared.iter().zip(collect_parameters(defaults)).filter(|(parameter, _)| wanted(&parameter.path))
    {
        parameter_ui(ui, parameter, &default.value, parameter.knob.idle(&declared), &mut changes);
    }
    changes
}

/// Draws the parameters whose names satisfy `wanted`; see [`group_ui`].
pub fn some_of_group_ui(
    ui: &mut Ui,
    group: Group<'_>,
    defaults: Group<'_>,
    main_only: bool,
    wanted: impl Fn(&str) -> bool,
) -> Changes {
    let (declared, defaults) = (collect_parameters(group), collect_parameters(defaults));
    let all = declared.iter().zip(&defaults).filter(|(parameter, _)| wanted(parameter.name));
    let (main, advanced): (Vec<_>, Vec<_>) = all.partition(|(parameter, _)| parameter.knob.main);
    let mut changes = Vec::new();
    for (parameter, default) in &main {
        parameter_ui(ui, parameter, &default.value, parameter.knob.idle(&declared), &mut changes);
    }
    if !advanced.is_empty() && !main_only {
        let sought = advanced.iter().any(|(parameter, _)| navigate::is_navigation_target(ui, &parameter.path));
        let header = egui::CollapsingHeader::new("Advanced").id_salt(group.0).open(sought.then_some(true));
        header.show(ui, |ui| {
            for (parameter, default) in &advanced {
                parameter_ui(ui, parameter, &default.value, parameter.knob.idle(&declared), &mut changes);
            }
        });
    }
    changes
}

/// Draws a parameter. One without effect is dimmed, but editable.
fn parameter_ui(ui: &mut Ui, parameter: &Parameter, default: &Value, idle: Option<Requirement>, changes: &mut Changes) {
    let changed = parameter.value != *default;
    let mut value = parameter.value.clone();
    let row = ui.horizontal(|ui| {
        if idle.is_some() {
            ui.multiply_opacity(0.4);
        }
        let title = parameter.title();
        let text = if changed { RichText::new(&title).strong() } else { RichText::new(&title) };
        let size = egui::vec2(style::NAME_WIDTH, ui.spacing().interact_size.y);
        let name = ui.allocate_ui_with_layout(size, egui::Layout::left_to_right(egui::Align::Center), |ui| {
            ui.set_min_width(style::NAME_WIDTH);
            // Not focusable: Tab goes to the field.
            ui.add(egui::Label::new(text).truncate().sense(egui::Sense::CLICK))
        });
        let name = name.inner;
        let field = value_ui(ui, parameter, &mut value).labelled_by(name.id);
        (name | field.clone(), field)
    });
    let (named, field) = row.inner;
    access::describe(&field, parameter.doc);
    navigate::highlight(ui, &parameter.path, &row.response, &field);
    if let Value::Number(number) = parameter.value
        && let Some(text) = parameter.knob.reading.format_alias(number, |unit| display_unit(units(ui), unit))
    {
        ui.scope(|ui| {
            ui.spacing_mut().interact_size.y = 0.0;
            ui.horizontal(|ui| {
                ui.add_space(style::NAME_WIDTH + ui.spacing().item_spacing.x);
                ui.small(RichText::new(text).weak());
            });
        });
    }
    style::tooltip_beside(&named, |ui| tooltip_ui(ui, parameter, default, idle));
    // The context menu opens anywhere in the row.
    let pressed = ui.input(|input| input.pointer.secondary_clicked()) && ui.rect_contains_pointer(row.response.rect);
    let focused = field.has_focus() && !ui.ctx().text_edit_focused();
    let called = focused && ui.input_mut(|input| input.consume_key(Modifiers::SHIFT, Key::F10));
    let resets = menu_ui(&row.response, pressed || called, (parameter, default));
    let deleted = focused && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Delete));
    if changed && (resets || deleted) {
        value = default.clone();
    }
    if value != parameter.value {
        changes.push((parameter.name, value));
    }
}

/// Draws the context menu of a parameter. Returns `true` if the parameter is to be reset.
fn menu_ui(row: &egui::Response, opens: bool, (parameter, default): (&Parameter, &Value)) -> bool {
    let mut resets = false;
    let menu = egui::Popup::menu(row).open_memory(opens.then_some(egui::SetOpenCommand::Bool(true)));
    menu.at_pointer_fixed().show(|ui| {
        let changed = parameter.value != *default;
        let shown = match default {
            Value::Number(number) => Rounded(display_unit(units(ui), parameter.knob.unit).1 * number).to_string(),
            other => other.to_string(),
        };
        if ui.add_enabled(changed, egui::Button::new(format!("Reset to {shown}"))).clicked() {
            resets = true;
        }
        let help = "Run several simulations side by side, each with a different value.";
        // Parameters of the user, brush, selection or rendering do not affect a simulation.
        let is_visual = ["look.", "water-look.", "rivers."].iter().any(|group| parameter.path.starts_with(group));
        let varies =
            !matches!(parameter.value, Value::Color(_)) && !is_visual && !navigate::is_user_parameter(&parameter.path);
        if ui.add_enabled(varies, egui::Button::new("Vary…")).on_hover_text(help).clicked() {
            access::queue_command(ui.ctx(), VaryParameter(parameter.path.clone()).into());
        }
        if ui
            .button("Show in reference")
            .on_hover_text("Open the entry of this parameter in the reference, in your browser.")
            .clicked()
        {
            access::queue_command(ui.ctx(), FileCommand::OpenReference(Some(parameter.path.clone())).into());
        }
    });
    resets
}

pub(crate) fn value_ui(ui: &mut Ui, parameter: &Parameter, value: &mut Value) -> egui::Response {
    let Knob { min, max, log, unit, .. } = parameter.knob;
    match value {
        Value::Number(number) => {
            // Four decimals would not resolve such values.
            let tiny = !parameter.whole && min > 0.0 && min < 1e-4;
            let title = parameter.title();
            let field = NumberField::new(&title, unit, min..=max).in_powers(tiny);
            field.slider_ui(ui, number, |slider| {
                let slider = slider.logarithmic(log).max_decimals(if tiny { 9 } else { 4 });
                if parameter.whole { slider.integer() } else { slider }
            })
        }
        Value::Switch(on) => {
            let response = ui.checkbox(on, "");
            // An empty label would hide the label of the row.
            ui.ctx().accesskit_node_builder(response.id, |node| node.clear_label());
            response
        }
        Value::Choice(name) => {
            egui::ComboBox::from_id_salt(&parameter.path)
                .close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside)
                .width(style::CHOICE_WIDTH)
                .selected_text(choice_title(name))
                .show_ui(ui, |ui| {
                    access::begin_list(ui);
                    let search = access::list_search(ui, parameter.choices.len());
                    for choice in &parameter.choices {
                        let title = choice_title(choice);
                        if search.finds(&title) {
                            access::list_choice(ui, name, choice.clone(), title);
                        }
                    }
                })
                .response
        }
        Value::Color(color) => {
            // Display-referred sRGB: the button shows the colour of the fully lit ground.
            let mut bytes = color.map(|part| (part * 255.0).round() as u8);
            let response = ui.color_edit_button_srgb(&mut bytes);
            if response.changed() {
                *color = bytes.map(|part| f32::from(part) / 255.0);
            }
            response
        }
    }
}

fn tooltip_ui(ui: &mut Ui, parameter: &Parameter, default: &Value, idle: Option<Requirement>) {
    ui.set_max_width(style::TOOLTIP_WIDTH);
    if let Some((name, wanted)) = idle {
        let named = |value: &str| if value == "true" { "on".to_owned() } else { choice_title(value) };
        let wanted: Vec<String> = wanted.into_iter().map(named).collect();
        let text = format!("No effect unless \"{}\" is {}.", title(name), wanted.join(" or "));
        ui.label(RichText::new(text).strong());
    }
    ui.label(parameter.doc.split_whitespace().collect::<Vec<_>>().join(" "));
    let knob = &parameter.knob;
    let symbol = if knob.symbol.is_empty() { String::new() } else { format!("{} · ", knob.symbol) };
    let (unit, times) = display_unit(units(ui), knob.unit);
    let rounded = |number: f64| Rounded(times * number);
    let (range, default) = match (&parameter.value, default) {
        (Value::Number(_), Value::Number(default)) => {
            (format!("{} to {} {unit} · ", rounded(knob.min), rounded(knob.max)), rounded(*default).to_string())
        }
        _ => (String::new(), default.to_string()),
    };
    let grows = if knob.grows { " for this map size (proportional to the number of cells)" } else { "" };
    ui.small(format!("{symbol}{range}default {default}{grows}"));
    ui.small(format!("{} · source: {}", parameter.path, knob.source));
    ui.small("Right-click to reset, vary or show in reference.");
}

/// Returns the colours of a preset in the order of their parameters; only those of the colour ramp, if it has one.
fn colors_of(preset: &Preset) -> impl Iterator<Item = egui::Color32> {
    let ramp = "look.ramp_color_";
    let has_ramp = preset.parameters.keys().any(|path| path.starts_with(ramp));
    preset.parameters.iter().filter(move |(path, _)| !has_ramp || path.starts_with(ramp)).filter_map(|(_, value)| {
        let parts = value.split(',').map(|part| part.trim().parse().ok()).collect::<Option<Vec<f32>>>()?;
        let [red, green, blue] = parts.try_into().ok()?;
        let [red, green, blue] = [red, green, blue].map(|part: f32| (255.0 * part) as u8);
        Some(style::color([red, green, blue]))
    })
}

/// Draws the presets of a group: a menu of the built-in ones, with this title and tooltip, and buttons to save and load preset files.
pub(crate) fn presets_ui(ui: &mut Ui, key: &'static str, (title, help): (&str, &str)) -> Vec<AppCommand> {
    let mut commands = Vec::new();
    ui.horizontal(|ui| {
        let presets = PRESETS.iter().filter(|(_, preset)| preset.is_of(key)).collect::<Vec<_>>();
        if !presets.is_empty() {
            let menu = ui.menu_button(RichText::new(title).small(), |ui| {
                let colors = presets.iter().map(|(_, preset)| colors_of(preset).count()).max().unwrap_or_default();
                ui.set_min_width(style::PRESET_WIDTH + colors as f32 * style::SWATCH);
                for (name, preset) in presets {
                    let button = ui.button(&preset.title);
                    let mut corner = button.rect.right_top() + egui::vec2(-4.0 - colors as f32 * style::SWATCH, 0.0);
                    for color in colors_of(preset) {
                        let spot = egui::Rect::from_min_size(corner, egui::vec2(style::SWATCH, button.rect.height()));
                        ui.painter().rect_filled(spot.shrink2(egui::vec2(0.0, 4.0)), 0.0, color);
                        corner.x += style::SWATCH;
                    }
                    if button.clicked() {
                        commands.push(FileCommand::UsePreset(name).into());
                        ui.close();
                    }
                }
            });
            menu.response.on_hover_text(help);
        }
        if ui.small_button("Save…").on_hover_text("Save these parameters as a preset file.").clicked() {
            commands.push(save_preset_request(Some(key)).into());
        }
        if ui.small_button("Load…").on_hover_text("Load a preset file and apply its parameters.").clicked() {
            commands.push(preset_request().into());
        }
    });
    commands
}
