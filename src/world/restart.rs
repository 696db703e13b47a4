//! Restarts: terrain is generated in the background and replaces the current terrain when complete.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bevy::prelude::*;

use super::{
    CardTicks, EditCommand, Label, NoticeLevel, ProjectParams, Simulations, background::BackgroundTask, jobs::PANICKED,
};
use thalweg_scene::{
    io::JobProgress,
    model::session::{Session, Start},
};
use thalweg_sim::{
    generate::TerrainParams,
    params::{Value, write},
};

/// Callback that changes the parameters of a session and returns its seed, given its index and the seed of the selected simulation.
type RestartChange = Arc<dyn Fn(usize, &mut Session, u64) -> u64 + Send + Sync>;

/// Time after which the generation of terrain is announced.
const ANNOUNCED_AFTER: Duration = Duration::from_millis(300);

/// Restart of all simulations.
struct Restart {
    label: Label,
    change: RestartChange,
    /// Control whose last position matters: a parameter of the terrain, "seed" or "size".
    control: Option<&'static str>,
    /// New value of a terrain parameter, if one changes.
    value: Option<Value>,
    /// `true` if the change belongs to the same undo step as the previous one.
    continues: bool,
}

/// Restart whose terrain is being generated.
struct Generation {
    restart: Restart,
    /// Seed of the selected simulation before the restart.
    seed: u64,
}

/// Restarts that are requested but not complete.
#[derive(Resource, Default)]
pub struct Restarts {
    queued: VecDeque<Restart>,
    running: Option<BackgroundTask<Generation, Vec<Start>>>,
    /// Notification about the running generation.
    notice: Option<u64>,
}

impl Restarts {
    /// Returns the terrain parameters of a session with the values that its terrain does not have yet, so that sliders keep their values
    /// while terrain is being generated.
    pub fn pending_terrain(&self, session: &Session) -> TerrainParams {
        let mut terrain = session.terrain.clone();
        let all = self.running.iter().map(|running| &running.request.restart).chain(&self.queued);
        for (name, value) in all.filter_map(|restart| restart.control.zip(restart.value.as_ref())) {
            write(&mut terrain, name, value);
        }
        terrain
    }

    /// Returns `true` while terrain is being generated.
    pub fn is_active(&self) -> bool {
        self.running.is_some() || !self.queued.is_empty()
    }

    fn request(&mut self, mut restart: Restart) {
        let running = self.running.as_ref().map(|running| &running.request.restart);
        let last = self.queued.back().or(running);
        if last
            .is_some_and(|last| last.control == restart.control && last.value.is_some() && last.value == restart.value)
        {
            return;
        }
        // While a control is dragged, only its last position matters.
        if restart.control.is_some() && self.queued.back().is_some_and(|before| before.control == restart.control) {
            restart.continues = self.queued.pop_back().is_some_and(|before| before.continues);
        }
        self.queued.push_back(restart);
    }
}

/// Applies the restart whose terrain is complete, and starts the next one.
pub(super) fn advance(mut project: ProjectParams, mut card: ResMut<CardTicks>) {
    if project.restarts.running.as_ref().is_some_and(BackgroundTask::is_finished) {
        card.bypass_change_detection().bring_back(&mut project.simulations);
        project.apply_restart();
    }
    project.generate_next();
    let is_slow = |running: &BackgroundTask<_, _>| running.elapsed() > ANNOUNCED_AFTER;
    if project.restarts.notice.is_none() && project.restarts.running.as_ref().is_some_and(is_slow) {
        project.restarts.notice = Some(project.notices.notify_progress("Generating terrain…", JobProgress::default()));
    }
}

/// Completes all restarts, for commands and jobs that need their terrain.
pub(super) fn complete(mut project: ProjectParams) {
    while project.restarts.is_active() {
        project.generate_next();
        project.apply_restart();
    }
}

impl ProjectParams<'_> {
    /// Restarts all simulations, each with the seed that `change` returns for its old one and that of the selected simulation. Requests of
    /// the same `control` replace each other.
    pub(super) fn restart(
        &mut self,
        label: Label,
        control: Option<&'static str>,
        change: impl Fn(&mut Session, u64, u64) -> u64 + Send + Sync + 'static,
    ) {
        let change =
            Arc::new(move |_, session: &mut Session, selected| change(session, session.simulation.seed(), selected));
        self.restarts.request(Restart { label, change, control, value: None, continues: false });
    }

    /// Restarts all simulations with a changed terrain parameter.
    pub(super) fn set_terrain(&mut self, name: &'static str, value: &Value) {
        let group = "terrain";
        let selected = self.varies_between_tiles(group, name).then_some(self.simulations.selected_index());
        let label = Label::parameter(&self.simulations, group, name, value);
        let continues = self.history.continues_drag();
        let change = {
            let value = value.clone();
            move |index, session: &mut Session, _| {
                if selected.is_none_or(|selected| selected == index) {
                    session.write(group, name, &value);
                }
                session.simulation.seed()
            }
        };
        let value = Some(value.clone());
        self.restarts.request(Restart { label, change: Arc::new(change), control: Some(name), value, continues });
    }

    /// Drops all restarts, as their simulations are replaced.
    pub(super) fn drop_restarts(&mut self) {
        let dropped = std::mem::take(&mut *self.restarts);
        dropped.notice.into_iter().for_each(|notice| self.notices.dismiss(notice));
    }

    /// Starts generating the terrain of the next restart, unless one is being generated.
    fn generate_next(&mut self) {
        if self.restarts.running.is_some() {
            return;
        }
        let Some(restart) = self.restarts.queued.pop_front() else { return };
        let seed = self.simulations.selected().simulation.seed();
        // Recording what was sculpted changes nothing that is displayed.
        let sessions = self.simulations.bypass_change_detection().all_mut().iter_mut().enumerate();
        let changed = sessions.map(|(index, session)| {
            session.record_sculpted_start();
            let mut changed = session.without_simulation();
            let seed = (restart.change)(index, &mut changed, seed);
            (changed, seed)
        });
        let changed: Vec<(Session, u64)> = changed.collect();
        if !self.has_room(changed.iter().map(|(session, _)| session.bytes()).sum()) {
            return;
        }
        self.restarts.running = Some(BackgroundTask::start(Generation { restart, seed }, move || {
            changed.iter().map(|(session, seed)| session.start(*seed)).collect()
        }));
    }

    /// Replaces the terrain with the one that is being generated. Blocks until it is complete.
    fn apply_restart(&mut self) {
        self.restarts.notice.take().into_iter().for_each(|notice| self.notices.dismiss(notice));
        let Some((Generation { restart, seed }, starts)) = self.restarts.running.take().map(BackgroundTask::finish)
        else {
            return;
        };
        let Some(starts) = starts else {
            self.notices.notify(NoticeLevel::Error, PANICKED);
            return;
        };
        let Restart { label, change, value, continues, .. } = restart;
        let ticks = self.simulations.ticks();
        let replace = |simulations: &mut Simulations| {
            for ((index, session), start) in simulations.all_mut().iter_mut().enumerate().zip(starts) {
                change(index, session, seed);
                session.restart_from(start);
            }
        };
        let begins = if value.is_some() {
            self.history.replace_by_parameter(&mut self.simulations, label, continues, replace)
        } else {
            self.history.replace(&mut self.simulations, label, replace);
            true
        };
        if begins {
            self.notices.retract(EditCommand::Undo);
            if ticks > 0 {
                self.offer_undo(format!("Restarted. Undo restores the previous {ticks} ticks."));
            }
        }
        self.mark_started();
    }
}
