//! A run that broke is shown and paused, and goes back to the last state that was kept.

use bevy::prelude::*;

use super::{Level, Live, Notices, Revision, Timeline, Transport};

/// Looks whether a tick broke a run.
pub(super) fn stop_broken(
    mut live: ResMut<Live>,
    mut timeline: ResMut<Timeline>,
    mut transport: ResMut<Transport>,
    mut revision: ResMut<Revision>,
    mut notices: ResMut<Notices>,
) {
    let fault = live.all().iter().find_map(|session| session.simulation.fault().cloned());
    let Some(fault) = fault else { return };
    transport.pause();
    timeline.bypass_change_detection().go_back(&mut live);
    revision.goes_on();
    notices.tell(
        Level::Error,
        format!("{fault}. It is paused and stands where it was kept last, at tick {}.", live.ticks()),
    );
}
