//! A run that broke is shown and paused, goes back to the last state that was kept, and is saved there.

use bevy::prelude::*;

use super::{Document, History, Level, Notices, Revision, Simulations, Transport};

/// Looks whether a tick broke a run.
pub(super) fn stop_broken(
    mut simulations: ResMut<Simulations>,
    mut history: ResMut<History>,
    mut transport: ResMut<Transport>,
    mut revision: ResMut<Revision>,
    mut document: ResMut<Document>,
    mut notices: ResMut<Notices>,
) {
    let Some(fault) = simulations.fault().cloned() else { return };
    transport.pause();
    history.bypass_change_detection().go_back(&mut simulations);
    revision.goes_on();
    document.keep_now();
    notices.tell(
        Level::Error,
        format!("{fault}. The run is paused and back at the last kept state, tick {}.", simulations.ticks()),
    );
}
