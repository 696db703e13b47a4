//! Commands that edit parameters and layers, undo and redo.

use bevy::prelude::*;

use super::{AppCommandEvent, Brushes, History, Label, NoticeLevel, ProjectParams, Simulations};
use thalweg_scene::model::session::Session;
use thalweg_sim::{
    core::terrain::Source,
    edit::{CombineMode, UndoPatch},
    params::{Value, write},
    process::{fluvial, water},
    simulation::Simulation,
};

/// Groups of parameters that belong to the user or the active brush instead of the project.
const NON_PROJECT_GROUPS: [&str; 3] = ["settings", "brush", "selection"];
/// Process that moves water.
const WATER: &str = water::INFO.key;

/// Edit of parameters or layers.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum EditCommand {
    /// Sets a parameter by group and name. A terrain parameter restarts the simulation.
    Set(String, &'static str, Value),
    /// Enables or disables a process.
    Enable(&'static str, bool),
    /// Limits a process to unmasked terrain, or not.
    Limit(&'static str, bool),
    /// Combines the selection with the mask.
    Select(CombineMode),
    /// Inverts the mask.
    InvertMask,
    /// Clears the mask.
    ClearMask,
    /// Replaces the springs and drains of all simulations.
    SetSources(Vec<Source>),
    /// Adds a uniform layer of sand of this thickness in metres.
    AddSand(f32),
    /// Removes all sand.
    RemoveSand,
    /// Removes all water.
    RemoveWater,
    /// Shows or hides the water.
    ToggleWater,
    /// Enables water without rain.
    EnableWater,
    /// Undoes the last step.
    Undo,
    /// Redoes the step undone last.
    Redo,
}

impl AppCommandEvent for EditCommand {
    fn requires_project(&self) -> bool {
        !matches!(self, Self::Set(group, ..) if NON_PROJECT_GROUPS.contains(&&**group))
    }

    fn restarts(&self) -> bool {
        matches!(self, Self::Set(group, ..) if group == "terrain")
    }

    fn flushes_strokes(&self) -> bool {
        true
    }

    fn is_allowed_in_kiosk(&self, simulations: &Simulations) -> bool {
        match self {
            Self::Set(group, name, _) => {
                let mut paths = simulations.selected().sliders.iter().map(|slider| slider.path.split_once('.'));
                paths.any(|path| path == Some((&**group, *name)))
            }
            Self::EnableWater => true,
            _ => false,
        }
    }
}

pub(super) fn plugin(app: &mut App) {
    app.add_observer(handle_command);
}

fn handle_command(command: On<EditCommand>, mut project: ProjectParams, mut brushes: ResMut<Brushes>) {
    match command.event() {
        EditCommand::Set(group, name, value) => match &**group {
            "settings" => {
                let software = project.preferences.software;
                project.preferences.settings.change(name, value, software);
            }
            "brush" => brushes.change(name, value),
            "selection" => {
                write(&mut brushes.selection, name, value);
            }
            "terrain" => project.set_terrain(name, value),
            _ => project.set(group, name, value),
        },
        EditCommand::Enable(key, on) => project.enable(key, *on),
        EditCommand::Limit(key, on) => {
            let label = Label::Limit(project.title(key), *on);
            project.history.set(&mut project.simulations, label, false, |simulations| {
                for session in simulations.all_mut() {
                    if let Some(slot) = session.simulation.slot_mut(key) {
                        slot.limited = *on;
                    }
                }
            });
        }
        EditCommand::Select(combine) => {
            let selection = brushes.selection.clone();
            change_mask(&mut project, |simulation, patch| simulation.select(&selection, *combine, patch));
        }
        EditCommand::InvertMask => change_mask(&mut project, Simulation::invert_mask),
        EditCommand::ClearMask => change_mask(&mut project, Simulation::clear_mask),
        EditCommand::SetSources(sources) => {
            let label = Label::springs(&project.simulations, sources);
            project.history.set(&mut project.simulations, label, true, |simulations| {
                simulations.all_mut().iter_mut().for_each(|session| session.set_sources(sources.clone()));
            });
        }
        EditCommand::AddSand(thickness) => {
            project.change_layers(Label::SandSpread, |simulation| simulation.spread_sand(*thickness));
        }
        EditCommand::RemoveSand => project.change_layers(Label::SandRemoved, Simulation::remove_sand),
        EditCommand::RemoveWater => project.change_layers(Label::WaterRemoved, Simulation::dry),
        EditCommand::ToggleWater => {
            let shown = Value::Switch(!project.simulations.selected().water_look.shown);
            project.set("water-look", "shown", &shown);
        }
        EditCommand::EnableWater => {
            project.set(WATER, "rain_rate", &Value::Number(0.0));
            project.enable(WATER, true);
        }
        EditCommand::Undo => project.step("Undo", History::undo),
        EditCommand::Redo => project.step("Redo", History::redo),
    }
}

impl ProjectParams<'_> {
    /// Sets a parameter in all simulations, or only in the selected one if simulations side by side differ in it by design.
    pub fn set(&mut self, group: &str, name: &'static str, value: &Value) {
        self.notices.retract(EditCommand::Undo);
        let chosen = self.varies_between_tiles(group, name).then_some(self.simulations.selected_index());
        let label = Label::parameter(&self.simulations, group, name, value);
        self.history.set(&mut self.simulations, label, true, |simulations| {
            write_parameter(simulations, chosen, group, name, value);
        });
    }

    /// Returns `true` if simulations side by side differ in a parameter by design.
    pub(super) fn varies_between_tiles(&self, group: &str, name: &str) -> bool {
        let path = format!("{group}.{name}");
        let mut tiles = self.simulations.all().iter().filter_map(|session| session.tile.as_ref());
        tiles.any(|tile| tile.set.contains_key(&path))
    }

    /// Returns the title of a process.
    fn title(&self, key: &'static str) -> &'static str {
        let slots = &self.simulations.selected().simulation.slots;
        slots.iter().find(|slot| slot.key() == key).map_or(key, |slot| slot.process.info().title)
    }

    /// Enables or disables a process, and disables those it replaces.
    fn enable(&mut self, key: &'static str, on: bool) {
        self.notices.retract(EditCommand::Undo);
        let (without, with) = (self.bytes(|_| {}), self.bytes(|session| set_enabled(session, key, on)));
        if !self.has_room(with.saturating_sub(without)) {
            return;
        }
        let slots = &self.simulations.selected().simulation.slots;
        let info = slots.iter().find(|slot| slot.key() == key).map(|slot| slot.process.info());
        let replaced: Vec<_> = slots
            .iter()
            .filter(|slot| on && slot.enabled && info.is_some_and(|info| info.replaces(slot.process.info())))
            .map(|slot| slot.process.info())
            .collect();
        let label = Label::Switch(self.title(key), on);
        let mut tuned = false;
        self.history.set(&mut self.simulations, label, false, |simulations| {
            for session in simulations.all_mut() {
                replaced.iter().for_each(|other| set_enabled(session, other.key, false));
                set_enabled(session, key, on);
                let range = session.range.clone();
                tuned |= key == fluvial::INFO.key && session.simulation.tune_default_uplift(&range);
            }
        });
        if tuned {
            let text = "Erodibility, diffusivity and years per tick were adjusted to the extent of the terrain.";
            self.notices.notify(NoticeLevel::Info, text);
        }
        for other in replaced {
            let title = info.map_or("", |info| info.title);
            self.notices.notify(NoticeLevel::Info, format!("{title} replaces {}, which is now disabled.", other.title));
        }
    }

    /// Undoes or redoes a step.
    fn step(&mut self, word: &str, step: fn(&mut History, &mut Simulations) -> Option<(Label, bool)>) {
        let ticks = self.simulations.ticks();
        // Strokes lie between ticks, and so does undoing them.
        self.simulations.finish_tick();
        let Some((label, replaced)) = step(&mut self.history, &mut self.simulations) else {
            self.notices.notify(NoticeLevel::Info, format!("Nothing to {}.", word.to_lowercase()));
            return;
        };
        let tick = self.simulations.ticks();
        let then = if tick == ticks { String::new() } else { format!(" The simulation is back at tick {tick}.") };
        self.notices.notify(NoticeLevel::Info, format!("{word}: {label}.{then}"));
        self.revision.next_state();
        if replaced {
            self.mark_started();
        }
    }
}

/// Changes the mask of every simulation as one stroke.
fn change_mask(project: &mut ProjectParams, change: impl Fn(&mut Simulation, &mut UndoPatch)) {
    project.simulations.finish_tick();
    project.history.begin_stroke(&project.simulations, Label::Mask);
    let patches = project.history.stroke().into_iter().flatten();
    project
        .simulations
        .all_mut()
        .iter_mut()
        .zip(patches)
        .for_each(|(session, patch)| change(&mut session.simulation, patch));
    project.history.end_stroke();
    project.revision.next_state();
}

/// Writes a parameter of the selected session, or of all.
fn write_parameter(simulations: &mut Simulations, chosen: Option<usize>, group: &str, name: &str, value: &Value) {
    for (index, session) in simulations.all_mut().iter_mut().enumerate() {
        if chosen.is_none_or(|chosen| index == chosen) {
            session.write(group, name, value);
        }
    }
}

/// Enables or disables a process.
fn set_enabled(session: &mut Session, key: &str, on: bool) {
    if let Some(slot) = session.simulation.slot_mut(key) {
        slot.enabled = on;
    }
}
