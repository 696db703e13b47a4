//! Time, starts and the chosen run.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use super::Runtime;
use crate::runtime::{
    EditCommand, Label, Level, RunCommand, SPEEDS, Simulations,
    jobs::{Held, Sheets, Task},
};
use thalweg_scene::{
    io::Budget,
    model::{origin::Tile, session::Session},
};

impl Runtime<'_> {
    pub(super) fn run(&mut self, command: &RunCommand) {
        match command {
            RunCommand::TogglePlay => {
                self.transport.playing = !self.transport.playing;
                self.transport.due = 0.0;
                let idle = |session: &Session| session.simulation.slots.iter().all(|slot| !slot.enabled);
                if self.transport.playing && self.simulations.all().iter().all(idle) {
                    let text = "No process is enabled, so nothing will change. Enable one in its panel on the right.";
                    self.notices.tell(Level::Info, text);
                }
            }
            RunCommand::Step(ticks) => {
                // What playing still owed is not asked for now.
                if std::mem::take(&mut self.transport.playing) {
                    self.transport.due = 0.0;
                }
                self.transport.due += f64::from(*ticks);
            }
            RunCommand::Stage => {
                self.transport.pause();
                // Where a stage takes longer than a key repeats, no queue builds up.
                self.transport.stage = true;
            }
            RunCommand::SlowMotion(stages) => {
                self.transport.slow = *stages;
                self.transport.due = 0.0;
            }
            RunCommand::SetSpeed(speed) => self.transport.speed = speed.clamp(*SPEEDS.start(), *SPEEDS.end()),
            RunCommand::Restart => self.start_again(Label::Restart, |_, seed| seed),
            RunCommand::RestartUnshaped => self.start_again(Label::RestartUnshaped, |session, seed| {
                session.forget_shape();
                seed
            }),
            RunCommand::NewSeed => {
                let count = self.simulations.all().len() as u64;
                self.start_again(Label::NewSeed, |_, seed| seed.wrapping_add(count));
            }
            RunCommand::SetSeed(seed) => {
                // Runs side by side keep the distance of their seeds.
                let chosen = self.simulations.selected().simulation.seed();
                self.start_again(Label::Seed, |_, own| seed.wrapping_add(own.wrapping_sub(chosen)));
            }
            RunCommand::SetSize(side) => self.start_again(Label::Size, |session, seed| {
                session.resize(*side);
                seed
            }),
            RunCommand::Grow => self.grow(),
            RunCommand::SideBySide(tiles) => {
                self.side_by_side(tiles);
            }
            RunCommand::Choose(index) => {
                if *index > 0 && self.quiz.keeps_secret(&self.simulations) {
                    self.notices.tell(Level::Info, "The numbers of run B are hidden until you have answered.");
                } else {
                    self.simulations.select(*index);
                }
            }
            RunCommand::GoTo(keyframe) => self.history.wanted = Some(*keyframe),
        }
    }

    /// Starts all sessions again, each with the seed that `change` makes of its old one.
    fn start_again(&mut self, label: Label, change: impl Fn(&mut Session, u64) -> u64) {
        let ticks = self.simulations.ticks();
        self.notices.retract(EditCommand::Undo);
        let wanted = self.bytes(|session| {
            change(session, session.simulation.seed());
        });
        if !self.has_room(wanted) {
            return;
        }
        self.history.replace(&mut self.simulations, label, |simulations| {
            for session in simulations.all_mut() {
                session.note_shape();
                let seed = change(session, session.simulation.seed());
                session.restart(seed);
            }
        });
        if ticks > 0 {
            self.offer_undo(format!("Started again. The {ticks} ticks before are kept."));
        }
        self.begins();
    }

    /// Begins runs side by side that differ in what their tiles set; without tiles, the chosen run goes on alone. Returns whether
    /// they began.
    pub(super) fn side_by_side(&mut self, tiles: &[Tile]) -> bool {
        self.notices.retract(EditCommand::Undo);
        let (chosen, ticks) = (self.simulations.selected(), self.simulations.ticks());
        let mut bytes = 0;
        for tile in tiles {
            let mut outline = chosen.outline();
            if let Err(wrong) = outline.set_all(tile.set.iter().map(|(path, text)| (&**path, &**text))) {
                self.notices.tell(Level::Error, format!("{wrong}."));
                return false;
            }
            bytes +=
                outline.bytes() + outline.bytes_of_maps(chosen.maps.len()) + chosen.bytes_of_maps(chosen.maps.len());
        }
        if !self.has_room(bytes) {
            return false;
        }
        let label = Label::SideBySide(tiles.len().max(1));
        self.history.replace(&mut self.simulations, label, |simulations| {
            let mut chosen = simulations.sessions.swap_remove(simulations.selected);
            chosen.tile = None;
            chosen.note_shape();
            // With other runs it is another work.
            (simulations.selected, simulations.work) = (0, Simulations::next_work());
            let begin = |tile: &Tile| {
                let mut session = chosen.clone();
                session.tile = Some(tile.clone());
                // They have been checked.
                let _ = session.set_all(tile.set.iter().map(|(path, text)| (&**path, &**text)));
                session.restart(session.simulation.seed());
                session
            };
            simulations.sessions = if tiles.is_empty() { vec![chosen] } else { tiles.iter().map(begin).collect() };
        });
        if ticks > 0 && !tiles.is_empty() {
            self.offer_undo(format!("Started again, side by side. Undo brings back the run with its {ticks} ticks."));
        }
        self.begins();
        if !tiles.is_empty() {
            self.transport.playing = true;
        }
        true
    }

    /// Lets a range grow beside the frames. Meanwhile it is shown, and the work is put away.
    fn grow(&mut self) {
        let kept: u64 = self.simulations.all().iter().map(Session::bytes_of_layers).sum();
        let wanted: u64 = self.simulations.all().iter().map(Session::bytes_to_grow).sum();
        if self.hold("A range is growing", kept + wanted, Task::Grow) {
            // What grows is shown without the tracks and numbers of what was.
            for session in self.simulations.all_mut() {
                let (terrain, seed) = (session.simulation.terrain.clone(), session.simulation.seed());
                session.simulation.restart(terrain, seed);
            }
        }
    }

    /// Puts the work away while something is made of it beside the frames, if nothing else is being done and there is memory for so many
    /// bytes. Returns whether it was begun; if not, the person is told why.
    pub(super) fn hold(
        &mut self,
        doing: &'static str,
        bytes: u64,
        task: impl FnOnce(Arc<Simulations>, Sheets) -> Task,
    ) -> bool {
        if self.jobs.concern_the_work() {
            self.notices.tell(Level::Info, "Other work goes on: try again when it is done.");
            return false;
        }
        if !self.has_room(bytes) {
            return false;
        }
        self.history.end_stroke();
        self.simulations.finish_tick();
        self.simulations.all_mut().iter_mut().for_each(Session::note_shape);
        let before = Arc::new(self.simulations.clone());
        let sheets: Sheets = Arc::new(Mutex::new(vec![None; before.all().len()]));
        self.jobs.start(&mut self.notices, task(Arc::clone(&before), Arc::clone(&sheets)));
        self.jobs.held = Some(Held { before, sheets, doing });
        true
    }

    /// Memory that all sessions would take if each was changed in this way, in bytes.
    pub(super) fn bytes(&self, change: impl Fn(&mut Session)) -> u64 {
        let changed = self.simulations.all().iter().map(|session| {
            let mut outline = session.outline();
            change(&mut outline);
            outline.bytes() + outline.bytes_of_maps(session.maps.len())
        });
        changed.sum()
    }

    /// Whether there is memory for so many bytes and for the present layers, which undo keeps; if not, the person is told.
    pub(super) fn has_room(&mut self, bytes: u64) -> bool {
        let kept: u64 = self.simulations.all().iter().map(Session::bytes_of_layers).sum();
        let asked = Budget::present().ask(Path::new(&self.simulations.selected().title), kept + bytes);
        asked.map_err(|error| self.notices.tell(Level::Error, format!("{error}."))).is_ok()
    }
}
