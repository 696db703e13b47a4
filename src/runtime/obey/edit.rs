//! Parameters, layers and undo.

use super::Runtime;
use crate::runtime::{EditCommand, History, Label, Level, Simulations, amount::volume, jobs::Task};
use thalweg_scene::model::session::Session;
use thalweg_sim::{
    edit::Patch,
    hydrology::breach::Breached,
    params::{Value, write},
    process::fluvial,
    simulation::{Simulation, water::Balance},
};

impl Runtime<'_> {
    pub(super) fn edit(&mut self, command: &EditCommand) {
        match command {
            EditCommand::Set(group, name, value) => match &**group {
                "settings" => {
                    let software = self.preferences.software;
                    self.preferences.settings.change(name, value, software);
                }
                "brush" => self.brushes.change(name, value),
                "selection" => {
                    write(&mut self.brushes.selection, name, value);
                }
                "terrain" => self.set_terrain(name, value),
                _ => self.set(group, name, value),
            },
            EditCommand::Enable(key, on) => self.enable(key, *on),
            EditCommand::Limit(key, on) => {
                let label = Label::Limit(self.title(key), *on);
                self.history.set(&mut self.simulations, label, false, |simulations| {
                    for session in simulations.all_mut() {
                        if let Some(slot) = session.simulation.slot_mut(key) {
                            slot.limited = *on;
                        }
                    }
                });
            }
            EditCommand::Select(combine) => {
                let selection = self.brushes.selection.clone();
                self.change_mask(|simulation, patch| simulation.select(&selection, *combine, patch));
            }
            EditCommand::InvertMask => self.change_mask(Simulation::invert_mask),
            EditCommand::ClearMask => self.change_mask(Simulation::clear_mask),
            EditCommand::SetSources(sources) => {
                let label = Label::springs(&self.simulations, sources);
                self.history.set(&mut self.simulations, label, true, |simulations| {
                    simulations.all_mut().iter_mut().for_each(|session| session.set_sources(sources.clone()));
                });
            }
            EditCommand::SpreadSand(thickness) => {
                self.change_layers(Label::SandSpread, |simulation| simulation.spread_sand(*thickness));
            }
            EditCommand::RemoveSand => self.change_layers(Label::SandRemoved, Simulation::remove_sand),
            EditCommand::Dry => self.change_layers(Label::Dried, Simulation::dry),
            EditCommand::CarveOutlets(limits) => {
                let limits = *limits;
                self.hold("Outlets are being cut", self.bytes_of_copy(), |before, _| {
                    Task::CarveOutlets(before, limits)
                });
            }
            EditCommand::FillLakes => {
                self.hold("Lakes are being filled", self.bytes_of_copy(), |before, _| Task::FillLakes(before));
            }
            EditCommand::FillRivers => {
                let bytes = self.simulations.all().iter().map(Session::bytes_to_fill).sum();
                self.hold("Rivers are being filled", bytes, |before, _| Task::FillRivers(before));
            }
            EditCommand::Undo => self.step("Undone", History::undo),
            EditCommand::Redo => self.step("Redone", History::redo),
        }
    }

    /// Returns the memory that a copy of all layers takes, in bytes.
    fn bytes_of_copy(&self) -> u64 {
        self.simulations.all().iter().map(Session::bytes_of_layers).sum()
    }

    /// Takes over sessions whose outlets were carved.
    pub(super) fn carve_outlets(&mut self, sessions: Vec<Session>, Breached { cut, left, volume: taken }: Breached) {
        self.take_layers(Label::Carved, sessions);
        let left = if left == 0 { String::new() } else { format!(" {left} would need longer or deeper cuts.") };
        let text = match cut {
            0 => format!("No outlets were cut.{left}"),
            cut => {
                let taken = volume(self.preferences.settings.units, taken);
                format!("Cut outlets for {cut} depressions: {taken} of ground removed.{left}")
            }
        };
        self.notices.tell(Level::Info, text);
    }

    /// Takes over sessions whose lakes were filled with this volume of water, in cubic metres.
    pub(super) fn fill_lakes(&mut self, sessions: Vec<Session>, added: f64) {
        self.take_layers(Label::LakesFilled, sessions);
        let added = (added > 0.0).then(|| volume(self.preferences.settings.units, added));
        let text = added.map_or("There are no depressions to fill.".to_owned(), |added| {
            format!("Filled every depression to its spill point: {added} of water.")
        });
        self.notices.tell(Level::Info, text);
    }

    /// Replaces every simulation by that of the session in the same place.
    fn take_layers(&mut self, label: Label, sessions: Vec<Session>) {
        let mut edited = sessions.into_iter().map(|session| session.simulation);
        self.change_layers(label, |simulation| {
            *simulation = edited.next().expect("every session was edited");
        });
    }

    /// Fills the rivers of all runs as was found.
    pub(super) fn fill_rivers(&mut self, balances: Vec<Balance>) {
        let units = self.preferences.settings.units;
        let has_converged = balances.iter().all(Balance::has_converged);
        let mut balances = balances.into_iter();
        let mut came = 0.0;
        self.change_layers(Label::RiversFilled, |simulation| {
            came += balances.next().map_or(0.0, |balance| simulation.fill_rivers(balance));
        });
        let flows = self
            .simulations
            .selected()
            .simulation
            .slots
            .iter()
            .any(|slot| slot.enabled && slot.process.info().moves_water);
        let still = if flows { "" } else { " Switch Water on to let it flow." };
        let still =
            if has_converged { still.to_owned() } else { format!(" The steady state has not converged yet.{still}") };
        let text = match came {
            came if came < 0.0 => {
                format!("Rivers and lakes are in balance now, with {} less water.{still}", volume(units, -came))
            }
            came => format!("Filled rivers and lakes with {} of water.{still}", volume(units, came)),
        };
        self.notices.tell(Level::Info, text);
    }

    /// Sets a parameter; one in which runs side by side differ by design, in the chosen one alone.
    pub(super) fn set(&mut self, group: &str, name: &'static str, value: &Value) {
        self.notices.retract(EditCommand::Undo);
        let chosen = self.differs(group, name).then_some(self.simulations.selected_index());
        let label = Label::parameter(&self.simulations, group, name, value);
        self.history.set(&mut self.simulations, label, true, |simulations| {
            write_parameter(simulations, chosen, group, name, value);
        });
    }

    /// Sets a parameter of the terrain in the same way; all runs begin again together.
    fn set_terrain(&mut self, name: &'static str, value: &Value) {
        let (group, ticks) = ("terrain", self.simulations.ticks());
        let wanted = self.bytes(|session| session.write(group, name, value));
        if !self.has_room(wanted) {
            return;
        }
        let chosen = self.differs(group, name).then_some(self.simulations.selected_index());
        let label = Label::parameter(&self.simulations, group, name, value);
        let begins = self.history.replace_by_parameter(&mut self.simulations, label, |simulations| {
            simulations.all_mut().iter_mut().for_each(Session::note_shape);
            write_parameter(simulations, chosen, group, name, value);
            simulations.all_mut().iter_mut().for_each(|session| session.restart(session.simulation.seed()));
        });
        if begins {
            self.notices.retract(EditCommand::Undo);
            if ticks > 0 {
                self.offer_undo(format!("Another terrain. The {ticks} ticks before are kept."));
            }
        }
        self.begins();
    }

    /// Whether runs side by side differ in a parameter by design.
    fn differs(&self, group: &str, name: &str) -> bool {
        let path = format!("{group}.{name}");
        let mut tiles = self.simulations.all().iter().filter_map(|session| session.tile.as_ref());
        tiles.any(|tile| tile.set.contains_key(&path))
    }

    /// What a process is called.
    fn title(&self, key: &'static str) -> &'static str {
        let slots = &self.simulations.selected().simulation.slots;
        slots.iter().find(|slot| slot.key() == key).map_or(key, |slot| slot.process.info().title)
    }

    /// Switches a process, and switches off those whose place it takes.
    fn enable(&mut self, key: &'static str, on: bool) {
        self.notices.retract(EditCommand::Undo);
        let (without, with) = (self.bytes(|_| {}), self.bytes(|session| switch(session, key, on)));
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
                replaced.iter().for_each(|other| switch(session, other.key, false));
                switch(session, key, on);
                let range = session.range.clone();
                tuned |= key == fluvial::INFO.key && session.simulation.tune_default_uplift(&range);
            }
        });
        if tuned {
            let text = "Erodibility, diffusivity and years per tick have been set to suit the extent of the land.";
            self.notices.tell(Level::Info, text);
        }
        for other in replaced {
            let title = info.map_or("", |info| info.title);
            self.notices.tell(Level::Info, format!("{title} takes the place of {}, which is off now.", other.title));
        }
    }

    /// Changes the mask of every session as one stroke.
    fn change_mask(&mut self, change: impl Fn(&mut Simulation, &mut Patch)) {
        self.simulations.finish_tick();
        self.history.begin_stroke(&self.simulations, Label::Mask);
        let patches = self.history.stroke().into_iter().flatten();
        self.simulations
            .all_mut()
            .iter_mut()
            .zip(patches)
            .for_each(|(session, patch)| change(&mut session.simulation, patch));
        self.history.end_stroke();
        self.revision.goes_on();
    }

    /// Changes the layers of every session.
    fn change_layers(&mut self, label: Label, mut change: impl FnMut(&mut Simulation)) {
        self.history.replace(&mut self.simulations, label, |simulations| {
            for session in simulations.all_mut() {
                change(&mut session.simulation);
                session.origin.edited = true;
            }
        });
        self.revision.goes_on();
    }

    /// Takes a step back, or does it again.
    fn step(&mut self, word: &str, step: fn(&mut History, &mut Simulations) -> Option<(Label, bool)>) {
        let ticks = self.simulations.ticks();
        // Strokes are between ticks, and so is taking them back.
        self.simulations.finish_tick();
        let Some((label, replaced)) = step(&mut self.history, &mut self.simulations) else {
            self.notices.tell(Level::Info, format!("There is nothing to be {}.", word.to_lowercase()));
            return;
        };
        let tick = self.simulations.ticks();
        let then = if tick == ticks { String::new() } else { format!(" The terrain is as it was at tick {tick}.") };
        self.notices.tell(Level::Info, format!("{word}: {label}.{then}"));
        self.revision.goes_on();
        self.rest_without_keys();
        if replaced {
            self.begins();
        }
    }
}

/// Writes a parameter of the chosen session, or of all.
fn write_parameter(simulations: &mut Simulations, chosen: Option<usize>, group: &str, name: &str, value: &Value) {
    for (index, session) in simulations.all_mut().iter_mut().enumerate() {
        if chosen.is_none_or(|chosen| index == chosen) {
            session.write(group, name, value);
        }
    }
}

/// Switches a process.
fn switch(session: &mut Session, key: &str, on: bool) {
    if let Some(slot) = session.simulation.slot_mut(key) {
        slot.enabled = on;
    }
}
