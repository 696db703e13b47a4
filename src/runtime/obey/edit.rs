//! Parameters, layers and undo.

use super::Runtime;
use crate::{
    model::session::Session,
    params::{Value, write},
    runtime::{EditCommand, Label, Level},
    sim::{Simulation, edit::Patch},
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
                self.history.before_switch(&self.live, Label::Limit(key, *on));
                for session in self.live.all_mut() {
                    if let Some(slot) = session.simulation.slot_mut(key) {
                        slot.limited = *on;
                    }
                }
            }
            EditCommand::Select(combine) => {
                let selection = self.brushes.selection.clone();
                self.change_mask(|simulation, patch| simulation.select(&selection, *combine, patch));
            }
            EditCommand::InvertMask => self.change_mask(Simulation::invert_mask),
            EditCommand::ClearMask => self.change_mask(Simulation::clear_mask),
            EditCommand::SetSources(sources) => {
                self.history.before_sources(&self.live, sources);
                for session in self.live.all_mut() {
                    session.set_sources(sources.clone());
                }
            }
            EditCommand::SpreadSand(thickness) => {
                self.change_layers(Label::SandSpread, |simulation| simulation.spread_sand(*thickness));
            }
            EditCommand::RemoveSand => self.change_layers(Label::SandRemoved, Simulation::remove_sand),
            EditCommand::Dry => self.change_layers(Label::Dried, Simulation::dry),
            EditCommand::Undo => self.go_back(1),
            EditCommand::Redo => self.go_back(-1),
            EditCommand::Jump(steps) => self.go_back(*steps),
        }
    }

    /// Sets a parameter; one in which runs side by side differ by design, in the chosen one alone.
    pub(super) fn set(&mut self, group: &str, name: &'static str, value: &Value) {
        self.notices.retract(EditCommand::Undo);
        self.history.before_parameter(&self.live, group, name);
        let chosen = self.differs(group, name).then_some(self.live.index());
        for (index, session) in self.live.all_mut().iter_mut().enumerate() {
            if chosen.is_none_or(|chosen| index == chosen) {
                write_parameter(session, group, name, value);
            }
        }
    }

    /// Sets a parameter of the terrain in the same way; all runs begin again together.
    fn set_terrain(&mut self, name: &'static str, value: &Value) {
        let (group, ticks) = ("terrain", self.live.ticks());
        self.notices.retract(EditCommand::Undo);
        let wanted = self.bytes(|session| write_parameter(session, group, name, value));
        if !self.has_room(wanted) {
            return;
        }
        self.history.before_state(&self.live, Label::parameter(&self.live, group, name));
        let chosen = self.differs(group, name).then_some(self.live.index());
        for (index, session) in self.live.all_mut().iter_mut().enumerate() {
            session.note_shape();
            if chosen.is_none_or(|chosen| index == chosen) {
                write_parameter(session, group, name, value);
            }
            session.restart(session.simulation.seed());
        }
        if ticks > 0 {
            self.offer_undo(format!("Another terrain. The {ticks} ticks before are kept."));
        }
        self.begins();
    }

    /// Whether runs side by side differ in a parameter by design.
    fn differs(&self, group: &str, name: &str) -> bool {
        let path = format!("{group}.{name}");
        let mut tiles = self.live.all().iter().filter_map(|session| session.tile.as_ref());
        tiles.any(|tile| tile.set.contains_key(&path))
    }

    /// Switches a process, and switches off those whose place it takes.
    fn enable(&mut self, key: &'static str, on: bool) {
        self.notices.retract(EditCommand::Undo);
        let (without, with) = (self.bytes(|_| {}), self.bytes(|session| switch(session, key, on)));
        if !self.has_room(with.saturating_sub(without)) {
            return;
        }
        let slots = &self.live.chosen().simulation.slots;
        let info = slots.iter().find(|slot| slot.key() == key).map(|slot| slot.process.info());
        let replaced: Vec<_> = slots
            .iter()
            .filter(|slot| on && slot.enabled && info.is_some_and(|info| info.replaces.contains(&slot.key())))
            .map(|slot| slot.process.info())
            .collect();
        self.history.before_switch(&self.live, Label::Switch(key, on));
        for other in replaced {
            self.live.all_mut().iter_mut().for_each(|session| switch(session, other.key, false));
            let title = info.map_or("", |info| info.title);
            self.notices.tell(Level::Info, format!("{title} takes the place of {}, which is off now.", other.title));
        }
        self.live.all_mut().iter_mut().for_each(|session| switch(session, key, on));
    }

    /// Changes the mask of every session as one stroke.
    fn change_mask(&mut self, change: impl Fn(&mut Simulation, &mut Patch)) {
        self.live.finish_tick();
        self.history.begin_stroke(Label::Mask, self.live.all().len());
        let patches = self.history.stroke().into_iter().flatten();
        self.live.all_mut().iter_mut().zip(patches).for_each(|(session, patch)| change(&mut session.simulation, patch));
        self.history.end_stroke();
        self.revision.goes_on();
    }

    /// Changes the layers of every session.
    fn change_layers(&mut self, label: Label, change: impl Fn(&mut Simulation)) {
        self.live.finish_tick();
        self.history.before_state(&self.live, label);
        for session in self.live.all_mut() {
            change(&mut session.simulation);
            session.origin.edited = true;
        }
        self.revision.goes_on();
    }

    /// Takes so many steps back, or if negative does them again.
    fn go_back(&mut self, steps: i32) {
        let (ticks, word) = (self.live.ticks(), if steps < 0 { "Done again" } else { "Undone" });
        let (mut labels, mut replaced) = (Vec::new(), false);
        // Strokes are between ticks, and so is taking them back.
        self.live.finish_tick();
        for _ in 0..steps.abs() {
            let done = if steps < 0 { self.history.redo(&mut self.live) } else { self.history.undo(&mut self.live) };
            let Some((label, state)) = done else { break };
            labels.push(label);
            replaced |= state;
        }
        let what = match &labels[..] {
            [] => {
                self.notices.tell(Level::Info, format!("There is nothing to be {}.", word.to_lowercase()));
                String::new()
            }
            [label] => label.to_string(),
            many => format!("{} steps", many.len()),
        };
        if !labels.is_empty() {
            let tick = self.live.ticks();
            let then = if tick == ticks { String::new() } else { format!(" The terrain is as it was at tick {tick}.") };
            self.notices.tell(Level::Info, format!("{word}: {what}.{then}"));
        }
        self.revision.goes_on();
        if replaced {
            self.begins();
        }
    }
}

/// Writes a parameter, if there is one of that name.
fn write_parameter(session: &mut Session, group: &str, name: &str, value: &Value) {
    if let Some((_, fields)) = session.groups_mut().iter_mut().find(|(key, _)| *key == group) {
        write(*fields, name, value);
    }
}

/// Switches a process.
fn switch(session: &mut Session, key: &str, on: bool) {
    if let Some(slot) = session.simulation.slot_mut(key) {
        slot.enabled = on;
    }
}
