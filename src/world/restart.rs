//! Restarts: terrain is generated in the background and replaces the current terrain when complete.

use std::{collections::VecDeque, sync::Arc};

use bevy::prelude::*;

use super::{EditCommand, Label, Level, ProjectParams, Simulations, background::BackgroundTask, jobs::PANICKED};
use thalweg_scene::model::session::{Session, Start};
use thalweg_sim::params::Value;

/// Callback that changes the parameters of a session, given its index, before its terrain is generated, and returns its seed.
type RestartChange = Arc<dyn Fn(usize, &mut Session) -> u64 + Send + Sync>;

/// Restart of all simulations.
struct Restart {
    label: Label,
    change: RestartChange,
    /// Changed terrain parameter, if any.
    parameter: Option<TerrainParameter>,
}

/// Change of a terrain parameter.
struct TerrainParameter {
    name: &'static str,
    value: Value,
    /// `true` if the change belongs to the same undo step as the previous one.
    continues: bool,
}

/// Restarts that are requested but not complete.
#[derive(Resource, Default)]
pub struct Restarts {
    queued: VecDeque<Restart>,
    running: Option<BackgroundTask<Restart, Vec<Start>>>,
}

impl Restarts {
    /// Returns the names and values of terrain parameters that the terrain does not have yet. Later ones override earlier ones.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        let all = self.running.iter().map(|running| &running.request).chain(&self.queued);
        all.filter_map(|restart| restart.parameter.as_ref()).map(|change| (change.name, &change.value))
    }

    /// Returns `true` while terrain is being generated.
    pub fn is_active(&self) -> bool {
        self.running.is_some() || !self.queued.is_empty()
    }

    /// Drops all restarts, as their simulations were replaced.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn request(&mut self, restart: Restart) {
        // While a slider is dragged, only its last position matters.
        if let (Some(Restart { parameter: Some(before), .. }), Some(after)) = (self.queued.back(), &restart.parameter)
            && before.name == after.name
        {
            let continues = before.continues;
            self.queued.pop_back();
            let parameter = restart.parameter.map(|parameter| TerrainParameter { continues, ..parameter });
            self.queued.push_back(Restart { parameter, ..restart });
            return;
        }
        self.queued.push_back(restart);
    }
}

/// Applies the restart whose terrain is complete, and starts the next one.
pub(super) fn advance(mut work: ProjectParams) {
    if work.restarts.running.as_ref().is_some_and(BackgroundTask::is_finished) {
        work.apply_restart();
    }
    work.generate_next();
}

/// Completes all restarts, for commands that need their terrain.
pub(super) fn complete(mut work: ProjectParams) {
    while work.restarts.is_active() {
        work.generate_next();
        work.apply_restart();
    }
}

impl ProjectParams<'_> {
    /// Restarts all simulations, each with the seed that `change` returns for its old one.
    pub(super) fn restart(&mut self, label: Label, change: impl Fn(&mut Session, u64) -> u64 + Send + Sync + 'static) {
        self.notices.retract(EditCommand::Undo);
        let wanted = self.bytes(|session| {
            change(session, session.simulation.seed());
        });
        if !self.has_room(wanted) {
            return;
        }
        let change = Arc::new(move |_, session: &mut Session| change(session, session.simulation.seed()));
        self.restarts.request(Restart { label, change, parameter: None });
    }

    /// Restarts all simulations with a changed terrain parameter.
    pub(super) fn set_terrain(&mut self, name: &'static str, value: &Value) {
        let group = "terrain";
        let wanted = self.bytes(|session| session.write(group, name, value));
        if !self.has_room(wanted) {
            return;
        }
        let selected = self.varies_between_tiles(group, name).then_some(self.simulations.selected_index());
        let label = Label::parameter(&self.simulations, group, name, value);
        let parameter = TerrainParameter { name, value: value.clone(), continues: self.history.continues_drag() };
        let value = value.clone();
        let change = move |index, session: &mut Session| {
            if selected.is_none_or(|selected| selected == index) {
                session.write(group, name, &value);
            }
            session.simulation.seed()
        };
        self.restarts.request(Restart { label, change: Arc::new(change), parameter: Some(parameter) });
    }

    /// Starts generating the terrain of the next restart, unless one is being generated.
    fn generate_next(&mut self) {
        if self.restarts.running.is_some() {
            return;
        }
        let Some(restart) = self.restarts.queued.pop_front() else { return };
        let mut sessions: Vec<Session> = Vec::new();
        for session in self.simulations.all_mut() {
            session.record_sculpted_start();
            sessions.push(session.without_simulation());
        }
        let change = Arc::clone(&restart.change);
        self.restarts.running = Some(BackgroundTask::start(restart, move || {
            let start = |(index, session): (usize, &mut Session)| {
                let seed = change(index, session);
                session.start(seed)
            };
            sessions.iter_mut().enumerate().map(start).collect()
        }));
    }

    /// Replaces the terrain with the one that is being generated. Blocks until it is complete.
    fn apply_restart(&mut self) {
        let Some((restart, starts)) = self.restarts.running.take().map(BackgroundTask::finish) else { return };
        let Some(starts) = starts else {
            self.notices.notify(Level::Error, PANICKED);
            return;
        };
        let Restart { label, change, parameter } = restart;
        let ticks = self.simulations.ticks();
        let replace = |simulations: &mut Simulations| {
            for ((index, session), start) in simulations.all_mut().iter_mut().enumerate().zip(starts) {
                change(index, session);
                session.restart_from(start);
            }
        };
        match parameter {
            None => {
                self.history.replace(&mut self.simulations, label, replace);
                if ticks > 0 {
                    self.offer_undo(format!("Restarted. Undo restores the previous {ticks} ticks."));
                }
            }
            Some(TerrainParameter { continues, .. }) => {
                if self.history.replace_by_parameter(&mut self.simulations, label, continues, replace) {
                    self.notices.retract(EditCommand::Undo);
                    if ticks > 0 {
                        self.offer_undo(format!("New terrain. Undo restores the previous {ticks} ticks."));
                    }
                }
            }
        }
        self.mark_started();
    }
}
