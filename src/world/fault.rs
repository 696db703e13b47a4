//! Handling of a failed simulation: it is paused, restored to the last stored state, autosaved, and reported.

use bevy::prelude::*;

use super::{Document, History, NoticeLevel, Notices, Revision, Simulations, Transport};

/// Checks for a fault after a tick.
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
    history.go_back(&mut simulations);
    revision.next_state();
    document.autosave_now();
    notices.notify(
        NoticeLevel::Error,
        format!(
            "{fault}. The simulation was paused and restored to the last stored state, at tick {}.",
            simulations.ticks()
        ),
    );
}
