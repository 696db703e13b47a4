//! The checks of this machine, made beside the frames.

use std::{
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread,
};

use bevy::{platform::cell::SyncCell, prelude::*};

use super::{Level, Notices};
use thalweg_sim::simulation::check::{CHECKS, Checked};

/// What the checks have found so far.
#[derive(Resource, Default)]
pub struct Checkup {
    /// In the order in which they are made.
    pub found: Vec<Checked>,
    coming: Option<SyncCell<Receiver<Checked>>>,
}

impl Checkup {
    /// Makes all checks anew, unless they are being made.
    pub(super) fn begin(&mut self, notices: &mut Notices) {
        if self.runs() {
            return;
        }
        self.found.clear();
        let (found, coming) = channel();
        let work = move || {
            // When the window has closed nobody listens any more.
            let _ = CHECKS.iter().try_for_each(|check| found.send(check.run()));
        };
        match thread::Builder::new().name("thalweg checks".to_owned()).spawn(work) {
            Ok(_) => self.coming = Some(SyncCell::new(coming)),
            Err(error) => {
                notices.tell(Level::Error, format!("No thread could be started ({error}); try again."));
            }
        }
    }

    /// Whether they are being made.
    pub fn runs(&self) -> bool {
        self.coming.is_some()
    }
}

/// Takes what has been found.
pub(super) fn follow(mut checkup: ResMut<Checkup>) {
    let quiet = checkup.bypass_change_detection();
    let Some(coming) = &mut quiet.coming else { return };
    match coming.get().try_recv() {
        Ok(found) => checkup.found.push(found),
        Err(TryRecvError::Empty) => {}
        Err(TryRecvError::Disconnected) => checkup.coming = None,
    }
}
