//! Dialog for simulations side by side: one or two parameters to vary, and their values.

use crate::shell::group::VaryParameter;
use bevy::prelude::{App, InMut, On, Res, ResMut, Resource};
use bevy_egui::egui::{self, RichText, Ui};

use crate::shell::{
    access,
    commands::{AddCommands, MenuSection},
    floating::{AddFloatingWindow, FloatingWindow, FloatingWindowKind, FloatingWindowUi, FloatingWindows},
    number::{NumberField, Rounded, units},
    style,
};
use crate::world::{AppCommand, SimulationCommand, Simulations, WindowCommand, amount::display_unit};
use egui_phosphor::regular as icon;
use thalweg_scene::model::{MOST_SIDE_BY_SIDE, origin::Tile, session::Session};
use thalweg_sim::params::{Parameter, Value, choice_title, collect_parameters};

/// Parameter to vary, with its range of values.
#[derive(Clone, Debug, PartialEq)]
struct Axis {
    path: String,
    /// First and last value of a number.
    ends: [f64; 2],
    /// Number of values.
    count: usize,
}

/// Contents of the dialog, kept until it opens again.
#[derive(Resource, Default)]
pub struct VaryDialog {
    axes: [Option<Axis>; 2],
}

impl Axis {
    /// Returns three values from half to twice the current value of a parameter.
    fn of(parameter: &Parameter) -> Self {
        let knob = &parameter.knob;
        let now = match parameter.value {
            Value::Number(number) => number,
            _ => 0.0,
        };
        let (least, most) = (knob.min, knob.max);
        let ends = if now > 0.0 {
            [(0.5 * now).clamp(least, most), (2.0 * now).clamp(least, most)]
        } else {
            [now, 0.25f64.mul_add(most - now, now).clamp(least, most)]
        };
        Self { path: parameter.path.clone(), ends, count: 3 }
    }

    /// Returns the values: linearly spaced, or geometrically if the slider is logarithmic. Switches and choices return all values.
    fn values(&self, parameter: &Parameter) -> Vec<Value> {
        match &parameter.value {
            Value::Number(_) => {
                let [from, to] = self.ends;
                let even = parameter.knob.log && from > 0.0 && to > 0.0;
                let value = |number: usize| {
                    let share = number as f64 / self.count.saturating_sub(1).max(1) as f64;
                    let value = if even { from * (to / from).powf(share) } else { from + share * (to - from) };
                    // Three significant digits, as a user would type them.
                    let digits = 10.0_f64.powf(2.0 - value.abs().max(f64::MIN_POSITIVE).log10().floor());
                    let value = if value == 0.0 { 0.0 } else { (value * digits).round() / digits };
                    Value::Number(if parameter.whole { value.round() } else { value })
                };
                let mut values: Vec<Value> = (0..self.count).map(value).collect();
                values.dedup();
                values
            }
            Value::Switch(_) => vec![Value::Switch(false), Value::Switch(true)],
            Value::Choice(_) => parameter.choices.iter().cloned().map(Value::Choice).collect(),
            Value::Color(_) => Vec::new(),
        }
    }
}

fn commands(table: &mut MenuSection) {
    let vary =
        "Start several copies of the selected simulation side by side, with different values of one or two parameters.";
    table
        .add(icon::GRID_FOUR, "Simulations side by side…", vary, &[], WindowCommand::Toggle(PANE.key))
        .set_aliases("vary compare parameter study sweep grid two runs a b");
}

pub(super) fn plugin(app: &mut App) {
    app.add_floating_window(PANE, pane_ui).add_commands("Simulation", 20, commands);
    app.init_resource::<VaryDialog>().add_observer(
        |command: On<VaryParameter>,
         simulations: Res<Simulations>,
         mut dialog: ResMut<VaryDialog>,
         mut windows: ResMut<FloatingWindows>| {
            dialog.begin(simulations.selected(), &command.0);
            windows.open(PANE.key);
        },
    );
}

impl VaryDialog {
    /// Resets the dialog to one parameter.
    fn begin(&mut self, session: &Session, path: &str) {
        self.axes = [offered(session).iter().find(|parameter| parameter.path == path).map(Axis::of), None];
    }
}

/// Returns the parameters that can be varied: those of enabled processes and of the terrain.
fn offered(session: &Session) -> Vec<Parameter> {
    let slots = session.simulation.slots.iter().filter(|slot| slot.enabled);
    let processes = slots.flat_map(|slot| collect_parameters((slot.key(), slot.process.params())));
    let terrain = collect_parameters(("terrain", &session.terrain));
    let fits = |parameter: &Parameter| !matches!(parameter.value, Value::Color(_));
    processes.chain(terrain).filter(fits).collect()
}

/// Returns the name of a parameter in the list: its group and its title.
fn name(parameter: &Parameter) -> String {
    let group = parameter.path.split('.').next().unwrap_or_default();
    format!("{}: {}", thalweg_sim::params::title(group), parameter.title())
}

const PANE: FloatingWindow = FloatingWindow { key: "vary", kind: FloatingWindowKind::Modal };

fn pane_ui(
    InMut(window): InMut<FloatingWindowUi>,
    simulations: Res<Simulations>,
    mut dialog: ResMut<VaryDialog>,
) -> Vec<AppCommand> {
    let dialog = &mut *dialog;
    let chosen = vary_ui(&window.context, &simulations, dialog, &mut window.is_open);
    window.is_open &= chosen.is_none();
    chosen.into_iter().collect()
}

/// Draws the dialog. Returns the command of the clicked button.
fn vary_ui(
    context: &egui::Context,
    simulations: &Simulations,
    dialog: &mut VaryDialog,
    open: &mut bool,
) -> Option<AppCommand> {
    let mut chosen = None;
    style::dialog("Simulations side by side").open(open).show(context, |ui| {
        access::trap_keyboard(ui);
        ui.set_width(style::SETTINGS_WIDTH);
        let text = "Start several copies of the selected simulation side by side, each with a different value. All share the same \
            seed and camera.";
        ui.label(text);
        let mut offered = offered(simulations.selected());
        let mut all: Vec<(Parameter, Vec<Value>)> = Vec::new();
        for (number, axis) in dialog.axes.iter_mut().enumerate() {
            ui.add_space(4.0);
            if let Some(parameter) = axis_ui(ui, number, axis, &offered)
                && let Some(axis) = axis
            {
                all.push((parameter.clone(), axis.values(parameter)));
            }
            // A parameter can be varied on one axis only.
            offered.retain(|parameter| all.iter().all(|(first, _)| first.path != parameter.path));
        }
        let tiles = tiles(&all);
        ui.separator();
        let fits = !all.is_empty() && (2..=MOST_SIDE_BY_SIDE).contains(&tiles.len());
        let text = match tiles.len() {
            _ if all.is_empty() => "Select a parameter.".to_owned(),
            count if count > MOST_SIDE_BY_SIDE => format!("{count} simulations exceed the limit of {MOST_SIDE_BY_SIDE}. Select fewer values."),
            count => format!("{count} simulations"),
        };
        ui.horizontal(|ui| {
            if ui.add_enabled(fits, egui::Button::new("Start").fill(style::ACCENT.gamma_multiply(0.55))).clicked() {
                chosen = Some(SimulationCommand::SideBySide(tiles).into());
            }
            if simulations.all().len() > 1 {
                let help = "Close all other simulations. Undo restores them.";
                if ui.button("Keep only the selected simulation").on_hover_text(help).clicked() {
                    chosen = Some(SimulationCommand::SideBySide(Vec::new()).into());
                }
            }
            ui.label(RichText::new(text).weak());
        });
    });
    chosen
}

/// Draws the parameter and the values of an axis. Returns the parameter.
fn axis_ui<'a>(ui: &mut Ui, number: usize, axis: &mut Option<Axis>, offered: &'a [Parameter]) -> Option<&'a Parameter> {
    let of = |axis: &Option<Axis>| {
        offered.iter().find(|parameter| axis.as_ref().is_some_and(|axis| axis.path == parameter.path))
    };
    let chosen = of(axis);
    ui.horizontal(|ui| {
        let label = ui.label(["Parameter", "Second parameter (optional)"][number]);
        egui::ComboBox::from_id_salt(("vary", number))
            .close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside)
            .width(1.4 * style::WIDE_CHOICE_WIDTH)
            .selected_text(chosen.map_or("none".to_owned(), name))
            .show_ui(ui, |ui| {
                access::begin_list(ui);
                let search = access::list_search(ui, offered.len());
                for parameter in std::iter::once(None).chain(offered.iter().map(Some)) {
                    let on = parameter.map(|parameter| &parameter.path) == chosen.map(|chosen| &chosen.path);
                    let title = parameter.map_or("none".to_owned(), name);
                    if !search.finds(&title) {
                        continue;
                    }
                    let row = access::choice(ui, on, title);
                    let row = match parameter {
                        Some(parameter) => row.on_hover_text(parameter.doc),
                        None => row,
                    };
                    if row.clicked() {
                        *axis = parameter.map(Axis::of);
                        ui.close();
                    }
                }
            })
            .response
            .labelled_by(label.id);
    });
    let (parameter, axis) = (of(axis)?, axis.as_mut()?);
    if let Value::Number(_) = parameter.value {
        let knob = &parameter.knob;
        ui.horizontal(|ui| {
            for (end, title) in axis.ends.iter_mut().zip(["from", "to"]) {
                let label = ui.label(title);
                let field = NumberField::new(title, knob.unit, knob.min..=knob.max);
                field.drag_ui(ui, end, |field| field.max_decimals(6)).labelled_by(label.id);
            }
            let label = ui.label("values");
            NumberField::new("values", "", 2..=MOST_SIDE_BY_SIDE)
                .drag_ui(ui, &mut axis.count, |field| field)
                .labelled_by(label.id);
        });
    }
    let (unit, times) = display_unit(units(ui), parameter.knob.unit);
    let values: Vec<String> = axis.values(parameter).iter().map(|value| text_of(value, times)).collect();
    ui.label(RichText::new(format!("{} {unit}", values.join(", "))).weak());
    Some(parameter)
}

fn text_of(value: &Value, times: f64) -> String {
    match value {
        Value::Number(number) => Rounded(times * number).to_string(),
        Value::Switch(on) => (if *on { "on" } else { "off" }).to_owned(),
        Value::Choice(name) => choice_title(name),
        Value::Color(_) => value.to_string(),
    }
}

/// Returns the simulations: each value of the first parameter with each of the second.
fn tiles(axes: &[(Parameter, Vec<Value>)]) -> Vec<Tile> {
    axes.iter().fold(vec![Tile::default()], |tiles, (parameter, values)| {
        let with = |tile: &Tile, value: &Value| {
            let mut tile = tile.clone();
            let title = format!("{} {}", parameter.title(), text_of(value, 1.0));
            tile.title = if tile.title.is_empty() { title } else { format!("{}, {title}", tile.title) };
            tile.set.insert(parameter.path.clone(), value.to_string());
            tile
        };
        tiles.iter().flat_map(|tile| values.iter().map(move |value| with(tile, value))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_sim::process::{droplets, thermal};

    fn parameter(group: thalweg_sim::params::Group<'_>, name: &str) -> Parameter {
        collect_parameters(group)
            .into_iter()
            .find(|parameter| parameter.name == name)
            .unwrap_or_else(|| panic!("{name}"))
    }

    #[test]
    fn axis_values_are_evenly_spaced_or_list_all_choices() {
        let params = droplets::Params::default();
        let mut per_tick = parameter(("droplets", &params), "per_tick");
        per_tick.knob.log = false;
        let axis = Axis { path: per_tick.path.clone(), ends: [100.0, 400.0], count: 4 };
        assert_eq!(axis.values(&per_tick), [100.0, 200.0, 300.0, 400.0].map(Value::Number));
        per_tick.knob.log = true;
        let axis = Axis { ends: [1.0, 100.0], count: 3, ..axis };
        assert_eq!(axis.values(&per_tick), [1.0, 10.0, 100.0].map(Value::Number));
        let law = parameter(("droplets", &params), "law");
        assert_eq!(Axis::of(&law).values(&law).len(), law.choices.len());
    }

    #[test]
    fn two_parameters_form_a_grid_of_simulations() {
        let (droplets, thermal) = (droplets::Params::default(), thermal::Params::default());
        let first = parameter(("droplets", &droplets), "per_tick");
        let second = collect_parameters(("thermal", &thermal)).remove(0);
        let values = |numbers: &[f64]| numbers.iter().copied().map(Value::Number).collect::<Vec<_>>();
        let tiles = tiles(&[(first.clone(), values(&[1.0, 2.0])), (second.clone(), values(&[3.0, 4.0, 5.0]))]);
        assert_eq!(tiles.len(), 6);
        assert_eq!(tiles[4].set[&first.path], "2");
        assert_eq!(tiles[4].set[&second.path], "4");
        assert!(tiles[4].title.starts_with(&first.title()) && tiles[4].title.ends_with("4"), "{}", tiles[4].title);
    }
}
