//! The checks of this machine, made beside the frames.

use bevy::prelude::*;

use super::background::Background;
use thalweg_sim::simulation::check::{CHECKS, Checked};

/// What the checks have found so far.
#[derive(Resource, Default)]
pub struct Checkup {
    /// In the order in which they are made.
    pub found: Vec<Checked>,
    /// The check that is being made, by its place.
    work: Option<Background<usize, Checked>>,
}

impl Checkup {
    /// Makes all checks anew, unless they are being made.
    pub(super) fn begin(&mut self) {
        if !self.runs() {
            self.found.clear();
            self.make(0);
        }
    }

    /// Starts a check, if there is one at this place.
    fn make(&mut self, place: usize) {
        self.work = CHECKS.get(place).map(|check| Background::start(place, || check.run()));
    }

    /// Whether they are being made.
    pub fn runs(&self) -> bool {
        self.work.is_some()
    }
}

/// Takes what has been found.
pub(super) fn follow(mut checkup: ResMut<Checkup>) {
    if let Some(work) = checkup.bypass_change_detection().work.take_if(|work| work.is_finished()) {
        checkup.make(work.request + 1);
        checkup.found.extend(work.join());
    }
}
