//! Running ahead: a scene may be worth seeing from a later tick on. It runs up to that tick as fast as the machine can, and is
//! shown on the way.

use std::time::{Duration, Instant};

use bevy::prelude::*;

use super::{Notices, RunCommand, Simulations, Transport};
use thalweg_scene::io::JobProgress;

/// Nothing is said of what is over sooner.
const SHORT: Duration = Duration::from_millis(500);

/// How far the present work runs ahead, if it does.
#[derive(Resource, Default)]
pub struct Ahead(Option<Way>);

struct Way {
    /// The tick that is wanted.
    to: u64,
    /// The number of the work that is to reach it.
    work: u64,
    began: Instant,
    /// The notice that tells of it, and how far it is.
    told: Option<(u64, JobProgress)>,
}

impl Ahead {
    /// Runs a scene that has just been opened ahead to the tick that is worth seeing.
    pub fn begin(&mut self, simulations: &Simulations, notices: &mut Notices) {
        self.end(notices);
        let to = simulations.all().iter().map(|session| session.shown_from).max().unwrap_or_default();
        self.0 = Some(Way { to, work: simulations.work(), began: Instant::now(), told: None });
    }

    fn end(&mut self, notices: &mut Notices) {
        let told = self.0.take().and_then(|way| way.told);
        told.into_iter().for_each(|(notice, _)| notices.dismiss(notice));
    }

    /// Whether the next tick is due at once.
    pub(super) fn runs(&self, simulations: &Simulations, transport: &Transport) -> bool {
        self.0
            .as_ref()
            .is_some_and(|way| transport.playing && way.work == simulations.work() && simulations.ticks() < way.to)
    }
}

/// Tells how far it is. It is over when the tick is reached, when the run is paused, and when another work takes the place.
pub(super) fn follow(
    mut ahead: ResMut<Ahead>,
    simulations: Res<Simulations>,
    transport: Res<Transport>,
    mut notices: ResMut<Notices>,
) {
    if ahead.0.is_none() {
        return;
    }
    let runs = ahead.runs(&simulations, &transport);
    let Some(way) = &mut ahead.0 else { return };
    if !runs {
        // New land stands still until it is played.
        if simulations.ticks() == 0 && way.work == simulations.work() && way.to > 0 {
            way.began = Instant::now();
        } else {
            ahead.end(&mut notices);
        }
        return;
    }
    if way.told.is_none() && way.began.elapsed() > SHORT {
        let progress = JobProgress::default();
        let notice = notices.work(format!("Running ahead to tick {}…", way.to), progress.clone());
        notices.let_act(notice, "Stop here", RunCommand::TogglePlay);
        way.told = Some((notice, progress));
    }
    if let Some((_, progress)) = &way.told {
        progress.done(simulations.ticks() as usize, way.to as usize);
    }
}
