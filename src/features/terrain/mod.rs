//! Terrain panel, and the commands that carve outlets and fill lakes and rivers.

mod panel;

use std::path::Path;

use bevy::prelude::*;

use crate::world::{AppCommandEvent, Job, JobKind, Label, NoticeLevel, ProjectParams, amount::volume};
use thalweg_scene::{
    io::{Error, JobProgress},
    model::session::Session,
};
use thalweg_sim::{
    hydrology::breach::{BreachReport, Limits},
    simulation::water::Balance,
};

/// Command that changes the drainage of all sessions.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum DrainageCommand {
    /// Carves outlets of depressions, within the limits.
    CarveOutlets(Limits),
    /// Fills every depression with water up to its spill point.
    FillLakes,
    /// Fills rivers and lakes to their steady state under rain and springs.
    FillRivers,
}

impl AppCommandEvent for DrainageCommand {
    fn requires_project(&self) -> bool {
        true
    }
}

/// Adds the drainage commands and the terrain panel.
pub fn plugin(app: &mut App) {
    app.add_plugins(panel::plugin);
    app.add_observer(handle_command);
}

fn handle_command(command: On<DrainageCommand>, mut project: ProjectParams) {
    match *command.event() {
        DrainageCommand::CarveOutlets(limits) => {
            let bytes = project.bytes_of_copy();
            let Some((before, _)) = project.lock("Carving outlets", bytes) else { return };
            let carve = move |progress: &JobProgress| {
                let mut sessions = before.all().to_vec();
                let mut all = BreachReport::default();
                for session in &mut sessions {
                    let one = session.simulation.carve_outlets(limits);
                    (all.cut, all.skipped, all.volume) =
                        (all.cut + one.cut, all.skipped + one.skipped, all.volume + one.volume);
                }
                not_cancelled(progress, &sessions)?;
                Ok((sessions, all))
            };
            project.jobs.start(
                &mut project.notices,
                Job::new(JobKind::Exclusive, "Carving outlets…"),
                carve,
                apply_carved_outlets,
            );
        }
        DrainageCommand::FillLakes => {
            let bytes = project.bytes_of_copy();
            let Some((before, _)) = project.lock("Filling lakes", bytes) else { return };
            let fill = move |progress: &JobProgress| {
                let mut sessions = before.all().to_vec();
                let added: f64 = sessions.iter_mut().map(|session| session.simulation.fill_lakes()).sum();
                not_cancelled(progress, &sessions)?;
                Ok((sessions, added))
            };
            project.jobs.start(
                &mut project.notices,
                Job::new(JobKind::Exclusive, "Filling lakes…"),
                fill,
                apply_filled_lakes,
            );
        }
        DrainageCommand::FillRivers => {
            let bytes = project.simulations.all().iter().map(Session::bytes_to_fill).sum();
            let Some((before, _)) = project.lock("Filling rivers", bytes) else { return };
            let balance = move |progress: &JobProgress| {
                let (sessions, all) = (before.all(), before.all().len() as f32);
                let balance = |(index, session): (usize, &Session)| {
                    let share = |share: f32| {
                        progress.done((1000.0 * (index as f32 + share) / all) as usize, 1000);
                        !progress.is_cancelled()
                    };
                    let found = session.simulation.balance(&share);
                    found.map_err(|unfit| Error::unfit(Path::new(&session.title), unfit))
                };
                sessions.iter().enumerate().map(balance).collect::<Result<Vec<_>, _>>()
            };
            project.jobs.start(
                &mut project.notices,
                Job::new(JobKind::Exclusive, "Filling rivers…"),
                balance,
                apply_filled_rivers,
            );
        }
    }
}

/// Fails if the job was cancelled.
fn not_cancelled(progress: &JobProgress, sessions: &[Session]) -> Result<(), Error> {
    let cancelled =
        || Error::input(Path::new(&sessions[0].title), "the job was cancelled", "start it again and let it finish");
    if progress.is_cancelled() { Err(cancelled()) } else { Ok(()) }
}

/// Applies sessions with carved outlets, and reports the result.
fn apply_carved_outlets(In((sessions, breached)): In<(Vec<Session>, BreachReport)>, mut project: ProjectParams) {
    let BreachReport { cut, skipped: left, volume: taken } = breached;
    replace_simulations(&mut project, Label::Carved, sessions);
    let left = if left == 0 { String::new() } else { format!(" {left} would need longer or deeper cuts.") };
    let text = match cut {
        0 => format!("No outlets were carved.{left}"),
        cut => {
            let taken = volume(project.preferences.settings.units, taken);
            format!("Carved outlets from {cut} depressions: {taken} of ground removed.{left}")
        }
    };
    project.notices.notify(NoticeLevel::Info, text);
}

/// Applies sessions whose lakes were filled with this volume of water in cubic metres, and reports the result.
fn apply_filled_lakes(In((sessions, added)): In<(Vec<Session>, f64)>, mut project: ProjectParams) {
    replace_simulations(&mut project, Label::LakesFilled, sessions);
    let added = (added > 0.0).then(|| volume(project.preferences.settings.units, added));
    let text = added.map_or("There are no depressions to fill.".to_owned(), |added| {
        format!("Filled every depression to its spill point: {added} of water.")
    });
    project.notices.notify(NoticeLevel::Info, text);
}

/// Replaces every simulation with that of the corresponding session.
fn replace_simulations(project: &mut ProjectParams, label: Label, sessions: Vec<Session>) {
    let mut edited = sessions.into_iter().map(|session| session.simulation);
    project.change_layers(label, |simulation| {
        *simulation = edited.next().expect("every session was edited");
    });
}

/// Fills the rivers of all simulations to the computed steady states, and reports the result.
fn apply_filled_rivers(In(balances): In<Vec<Balance>>, mut project: ProjectParams) {
    let units = project.preferences.settings.units;
    let has_converged = balances.iter().all(Balance::has_converged);
    let mut balances = balances.into_iter();
    let mut came = 0.0;
    project.change_layers(Label::RiversFilled, |simulation| {
        came += balances.next().map_or(0.0, |balance| simulation.fill_rivers(balance));
    });
    let flows = project
        .simulations
        .selected()
        .simulation
        .slots
        .iter()
        .any(|slot| slot.enabled && slot.process.info().moves_water);
    let still = if flows { "" } else { " Enable Water to let it flow." };
    let still = if has_converged {
        still.to_owned()
    } else {
        format!(" The result has not converged to a steady state yet.{still}")
    };
    let text = match came {
        came if came < 0.0 => {
            format!("Drained {} of water from rivers and lakes.{still}", volume(units, -came))
        }
        came => format!("Filled rivers and lakes with {} of water.{still}", volume(units, came)),
    };
    project.notices.notify(NoticeLevel::Info, text);
}
