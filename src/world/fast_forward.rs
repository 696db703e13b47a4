//! Fast-forwarding: a scene may define the tick from which it is worth seeing. Up to that tick it runs as fast as the machine
//! allows, and remains visible.

use std::time::{Duration, Instant};

use bevy::prelude::*;

use super::{Notices, SimulationCommand, Simulations, Transport};
use thalweg_scene::io::JobProgress;

/// Duration below which no notification appears.
const SHORT: Duration = Duration::from_millis(500);

/// Fast-forward of the current project, if any.
#[derive(Resource, Default)]
pub struct FastForward(Option<FastForwardState>);

struct FastForwardState {
    /// Target tick.
    to: u64,
    /// Identifier of the project.
    project_id: u64,
    began: Instant,
    /// Identifier of the notification, and its progress.
    notice: Option<(u64, JobProgress)>,
}

impl FastForward {
    /// Fast-forwards a newly opened scene to its first tick worth seeing.
    pub fn begin(&mut self, simulations: &Simulations, notices: &mut Notices) {
        self.end(notices);
        let to = simulations.all().iter().map(|session| session.shown_from).max().unwrap_or_default();
        self.0 =
            Some(FastForwardState { to, project_id: simulations.project_id(), began: Instant::now(), notice: None });
    }

    fn end(&mut self, notices: &mut Notices) {
        let notice = self.0.take().and_then(|state| state.notice);
        notice.into_iter().for_each(|(notice, _)| notices.dismiss(notice));
    }

    /// Returns `true` if the next tick is due immediately.
    pub(super) fn runs(&self, simulations: &Simulations, transport: &Transport) -> bool {
        self.0.as_ref().is_some_and(|state| {
            transport.playing && state.project_id == simulations.project_id() && simulations.ticks() < state.to
        })
    }
}

/// Reports the progress. Fast-forwarding ends at the target tick, on pause, and when another project is opened.
pub(super) fn follow(
    mut ahead: ResMut<FastForward>,
    simulations: Res<Simulations>,
    transport: Res<Transport>,
    mut notices: ResMut<Notices>,
) {
    if ahead.0.is_none() {
        return;
    }
    let runs = ahead.runs(&simulations, &transport);
    let Some(state) = &mut ahead.0 else { return };
    if !runs {
        // New terrain is paused until the user plays it.
        if simulations.ticks() == 0 && state.project_id == simulations.project_id() && state.to > 0 {
            state.began = Instant::now();
        } else {
            ahead.end(&mut notices);
        }
        return;
    }
    if state.notice.is_none() && state.began.elapsed() > SHORT {
        let progress = JobProgress::default();
        let notice = notices.notify_progress(format!("Fast-forwarding to tick {}…", state.to), progress.clone());
        notices.add_button(notice, "Stop", SimulationCommand::TogglePlay);
        state.notice = Some((notice, progress));
    }
    if let Some((_, progress)) = &state.notice {
        progress.done(simulations.ticks() as usize, state.to as usize);
    }
}
