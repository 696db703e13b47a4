//! Playback, restarts, and simulations side by side.

use std::path::PathBuf;

use bevy::prelude::*;

use super::{
    AppCommandEvent, EditCommand, Job, JobKind, Label, NoticeLevel, ProjectParams, Quiz, SPEEDS, Simulations,
    amount::length, jobs::PreviewLayers,
};
use std::sync::{Arc, PoisonError};
use thalweg_scene::{
    io::{Error, JobProgress},
    model::{origin::Tile, session::Session},
};
use thalweg_sim::simulation::grow::GrowthEnd;

/// Command for playback, restarts and simulations side by side.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum SimulationCommand {
    /// Starts or pauses the simulation.
    TogglePlay,
    /// Pauses, and runs a number of ticks.
    Step(u32),
    /// Pauses, and runs the next stage of a tick.
    Stage,
    /// Plays this number of stages per second; `None` plays whole ticks.
    SlowMotion(Option<f32>),
    /// Sets the speed, as a multiple of the normal one.
    SetSpeed(f32),
    /// Restarts with the same seed, including the sculpting before the first tick.
    Restart,
    /// Restarts with the same seed, without sculpting.
    RestartUnshaped,
    /// Restarts with the next seed.
    NewSeed,
    /// Restarts with this seed.
    SetSeed(u64),
    /// Sets the number of cells along the shorter side of a generated terrain, with the same extent.
    SetSize(u32),
    /// Grows a mountain range in place of the ground, in the background, and restarts from it.
    Grow,
    /// Starts one simulation per tile side by side, each with the selected one's parameters except for those of its tile; without
    /// tiles, the selected one continues alone.
    SideBySide(Vec<Tile>),
    /// Selects one of the simulations side by side.
    Select(usize),
}

impl AppCommandEvent for SimulationCommand {
    fn requires_project(&self) -> bool {
        !matches!(self, Self::TogglePlay | Self::SetSpeed(_))
    }

    fn restarts(&self) -> bool {
        use SimulationCommand::{NewSeed, Restart, RestartUnshaped, SetSeed, SetSize};
        matches!(self, Restart | RestartUnshaped | NewSeed | SetSeed(_) | SetSize(_))
    }

    fn flushes_strokes(&self) -> bool {
        self.requires_project() && !matches!(self, Self::Step(_) | Self::Stage)
    }

    fn is_allowed_in_kiosk(&self, _: &Simulations) -> bool {
        matches!(self, Self::TogglePlay | Self::Restart)
    }

    fn is_allowed_in_presenter(&self) -> bool {
        matches!(self, Self::TogglePlay | Self::Step(_) | Self::Stage)
    }
}

pub(super) fn plugin(app: &mut App) {
    app.add_observer(handle_command);
}

fn handle_command(command: On<SimulationCommand>, mut project: ProjectParams, quiz: Res<Quiz>) {
    match command.event() {
        SimulationCommand::TogglePlay => {
            project.transport.playing = !project.transport.playing;
            project.transport.due = 0.0;
            let idle = |session: &Session| session.simulation.slots.iter().all(|slot| !slot.enabled);
            if project.transport.playing && project.simulations.all().iter().all(idle) {
                let text = "No process is enabled, so nothing will change. Enable one in its panel on the right.";
                project.notices.notify(NoticeLevel::Info, text);
            }
        }
        SimulationCommand::Step(ticks) => {
            // Drop the ticks that playback still owed.
            if std::mem::take(&mut project.transport.playing) {
                project.transport.due = 0.0;
            }
            project.transport.due += f64::from(*ticks);
        }
        SimulationCommand::Stage => {
            project.transport.pause();
            // If a stage takes longer than the key repeat interval, no queue builds up.
            project.transport.stage = true;
        }
        SimulationCommand::SlowMotion(stages) => {
            project.transport.slow = *stages;
            project.transport.due = 0.0;
        }
        SimulationCommand::SetSpeed(speed) => project.transport.speed = speed.clamp(*SPEEDS.start(), *SPEEDS.end()),
        SimulationCommand::Restart => project.restart(Label::Restart, None, |_, seed, _| seed),
        SimulationCommand::RestartUnshaped => {
            project.restart(Label::RestartWithoutSculpting, None, |session, seed, _| {
                session.discard_sculpted_start();
                seed
            });
        }
        SimulationCommand::NewSeed => {
            let count = project.simulations.all().len() as u64;
            project.restart(Label::NewSeed, None, move |_, seed, _| seed.wrapping_add(count));
        }
        SimulationCommand::SetSeed(seed) => {
            // Simulations side by side keep the differences of their seeds.
            let seed = *seed;
            let change = move |_: &mut Session, own: u64, selected| seed.wrapping_add(own.wrapping_sub(selected));
            project.restart(Label::Seed, Some("seed"), change);
        }
        SimulationCommand::SetSize(side) => {
            let side = *side;
            project.restart(Label::Size, Some("size"), move |session, seed, _| {
                session.resize(side);
                seed
            });
        }
        SimulationCommand::Grow => grow(&mut project),
        SimulationCommand::SideBySide(tiles) => project.side_by_side(tiles.clone()),
        SimulationCommand::Select(index) => {
            if *index > 0 && quiz.hides_parameters(&project.simulations) {
                project
                    .notices
                    .notify(NoticeLevel::Info, "The values of simulation B are hidden until you have answered.");
            } else {
                project.simulations.select(*index);
            }
        }
    }
}

impl ProjectParams<'_> {
    /// Generates simulations side by side that differ in the parameters of their tiles, and starts them; without tiles, the selected
    /// simulation continues alone.
    fn side_by_side(&mut self, tiles: Vec<Tile>) {
        let chosen = self.simulations.selected();
        if tiles.is_empty() {
            let mut alone = chosen.clone();
            alone.tile = None;
            alone.record_sculpted_start();
            self.start_side_by_side(vec![alone]);
            return;
        }
        let mut bytes = 0;
        for tile in &tiles {
            let mut outline = chosen.outline();
            if let Err(wrong) = outline.set_all(tile.set.iter().map(|(path, text)| (&**path, &**text))) {
                self.notices.notify(NoticeLevel::Error, format!("{wrong}."));
                return;
            }
            bytes +=
                outline.bytes() + outline.bytes_of_maps(chosen.maps.len()) + chosen.bytes_of_maps(chosen.maps.len());
        }
        if !self.has_room(bytes) {
            return;
        }
        let chosen = self.simulations.selected().clone();
        let job = Job::new(JobKind::Open, "Generating simulations side by side…");
        let generate = move |progress: &JobProgress| Ok(generate_tiles(chosen, &tiles, progress));
        self.jobs.start(&mut self.notices, job, generate, |In(sessions): In<_>, mut project: ProjectParams| {
            project.start_side_by_side(sessions);
            project.transport.playing = true;
        });
    }

    /// Replaces the simulations by others, which makes them another project.
    pub(super) fn start_side_by_side(&mut self, sessions: Vec<Session>) {
        self.notices.retract(EditCommand::Undo);
        let (ticks, count) = (self.simulations.ticks(), sessions.len());
        self.history.replace(&mut self.simulations, Label::SideBySide(count), |simulations| {
            (simulations.selected, simulations.project_id) = (0, Simulations::next_project_id());
            simulations.sessions = sessions;
        });
        if ticks > 0 && count > 1 {
            self.offer_undo(format!(
                "Restarted side by side. Undo restores the previous simulation with its {ticks} ticks."
            ));
        }
        self.mark_started();
    }
}

/// Returns a session at its start for each tile, with the parameters of a session except for those of the tile. They must be valid.
pub(super) fn generate_tiles(mut session: Session, tiles: &[Tile], progress: &JobProgress) -> Vec<Session> {
    session.record_sculpted_start();
    let generate = |(number, tile): (usize, &Tile)| {
        progress.done(number, tiles.len());
        let mut session = session.clone();
        session.tile = Some(tile.clone());
        session.set_all(tile.set.iter().map(|(path, text)| (&**path, &**text))).expect("the tiles are valid");
        session.restart(session.simulation.seed());
        session
    };
    tiles.iter().enumerate().take_while(|_| !progress.is_cancelled()).map(generate).collect()
}

/// Grows a mountain range in the background. It is displayed meanwhile, and the project is locked.
fn grow(project: &mut ProjectParams) {
    let wanted: u64 = project.simulations.all().iter().map(Session::bytes_to_grow).sum();
    let Some((before, sheets)) = project.lock("A mountain range is growing", project.bytes_of_copy() + wanted) else {
        return;
    };
    let grow = move |progress: &JobProgress| grown(before, &sheets, progress);
    project.jobs.start(
        &mut project.notices,
        Job::new(JobKind::Exclusive, "Growing a mountain range…"),
        grow,
        take_grown,
    );
    // Hides tracks and measurements of the previous terrain during growth.
    for session in project.simulations.all_mut() {
        let (terrain, seed) = (session.simulation.terrain.clone(), session.simulation.seed());
        session.simulation.restart(terrain, seed);
    }
}

/// Returns the sessions with a grown mountain range, and [`GrowthEnd::Grown`] if all ended so.
fn grown(
    before: Arc<Simulations>,
    sheets: &PreviewLayers,
    progress: &JobProgress,
) -> Result<(Vec<Session>, GrowthEnd), Error> {
    let mut sessions = before.all().to_vec();
    drop(before);
    let (all, mut end) = (sessions.len() as f32, GrowthEnd::Grown);
    for (index, session) in sessions.iter_mut().enumerate() {
        let title = PathBuf::from(&session.title);
        let size = (session.simulation.terrain.width(), session.simulation.terrain.height());
        let grown = session.grow(|growth| {
            progress.done((1000.0 * (index as f32 + growth.share) / all) as usize, 1000);
            let sheet = &mut sheets.lock().unwrap_or_else(PoisonError::into_inner)[index];
            // Created again once the last one was taken.
            if sheet.is_none() {
                *sheet = Some(growth.layers().map(|layer| layer.resample(size.0, size.1)));
            }
            !progress.is_cancelled()
        });
        match grown.map_err(|unfit| Error::unfit(&title, unfit))? {
            GrowthEnd::Grown => {}
            missed @ (GrowthEnd::StillRising | GrowthEnd::OffTarget) => end = missed,
            GrowthEnd::Cancelled => return Err(Error::input(&title, "growth was cancelled", "grow it again")),
        }
    }
    Ok((sessions, end))
}

fn take_grown(In((sessions, end)): In<(Vec<Session>, GrowthEnd)>, mut project: ProjectParams) {
    project.history.replace(&mut project.simulations, Label::Grown, |simulations| {
        simulations.all_mut().iter_mut().zip(sessions).for_each(|(session, grown)| *session = grown);
    });
    project.notices.retract(EditCommand::Undo);
    let (low, high) = project.simulations.selected().simulation.terrain.ground().min_max();
    let height = length(project.preferences.settings.units, f64::from(high - low), 0);
    let text = match end {
        GrowthEnd::Grown | GrowthEnd::Cancelled => format!("The mountain range has grown to {height}."),
        GrowthEnd::StillRising => format!(
            "The mountain range has grown to {height} but has not reached steady state: uplift still exceeds erosion."
        ),
        GrowthEnd::OffTarget => format!(
            "The mountain range was scaled to {height}, at which uplift and erosion do not balance: its height will \
             change."
        ),
    };
    project.offer_undo(format!("{text} Undo restores the previous terrain."));
    project.mark_started();
}
