//! The relief of a block is brought up to date beside the frames: a frame hands over what has changed of the ground and takes what the
//! threads have found. Ground and light come to the screen together.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    time::{Duration, Instant},
};

use bevy::math::URect;

use super::{
    layers::CELL_BYTES,
    levels::Coverage,
    relief::{Light, Relief, Rims},
    upload,
};

/// While more changes are to come, shadows are looked for in one part out of so many of the time.
const SHARE: u32 = 10;

/// New layers of a map: of some parts, as [`upload::Patch`] has them, or of all.
pub(super) struct Taken {
    pub parts: Option<Vec<URect>>,
    pub bytes: Vec<u8>,
    /// And how the ground of these parts has changed since the start.
    pub past: Vec<u8>,
    /// The highest place in them, in metres.
    pub highest: f32,
}

/// What was found.
pub(super) struct Found {
    pub taken: Option<Taken>,
    /// The textures of relief and cover: parts of them, as [`upload::Patch`] has them, or all.
    pub parts: Option<Vec<URect>>,
    pub bytes: [Vec<u8>; 2],
    /// How the water lies, if there is any.
    pub water: Option<Arc<Coverage>>,
    pub took: Duration,
    /// Whether shadows were looked for.
    pub shone: bool,
}

/// The relief of a block, and what is to become of it.
pub(super) struct Lit {
    state: State,
    waiting: Option<Taken>,
    /// What shadows were found with last, if ever.
    light: Option<Light>,
    /// Whether the ground has changed since.
    stale: bool,
    took: Duration,
    when: Instant,
    /// Whether nothing was found yet.
    first: bool,
    pub rims: Rims,
}

enum State {
    Here(Box<Relief>),
    /// A thread has it.
    Away(Mutex<Receiver<(Box<Relief>, Found)>>),
}

impl Lit {
    /// Of a map of this size, of which nothing is known yet.
    pub(super) fn new(size: (usize, usize)) -> Self {
        Self {
            state: State::Here(Box::new(Relief::new(size))),
            waiting: None,
            light: None,
            stale: true,
            took: Duration::ZERO,
            when: Instant::now(),
            first: true,
            rims: Rims::default(),
        }
    }

    /// Whether the last change is still being looked at.
    pub(super) fn is_at_work(&self) -> bool {
        matches!(self.state, State::Away(_))
    }

    /// Takes over new layers.
    pub(super) fn take(&mut self, taken: Taken) {
        self.stale |= taken.parts.as_ref().is_none_or(|parts| !parts.is_empty());
        self.waiting = Some(taken);
    }

    /// Waits until a moment for what is being found; without end, if nothing was ever found.
    pub(super) fn fetch(&mut self, until: Option<Instant>) -> Option<Found> {
        let State::Away(found) = &mut self.state else { return None };
        let wait = until.filter(|_| !self.first).map_or(Duration::MAX, |until| until - Instant::now());
        let found = found.get_mut().unwrap_or_else(PoisonError::into_inner);
        match found.recv_timeout(wait) {
            Ok((relief, found)) => {
                self.rims.clone_from(&relief.rims);
                self.state = State::Here(relief);
                self.first = false;
                if found.shone {
                    (self.took, self.when) = (found.took, Instant::now());
                }
                Some(found)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("the thread that finds light broke down"),
        }
    }

    /// Has a thread look for what is due. While `more` changes are to come, shadows take a share of the time.
    pub(super) fn begin(&mut self, light: Light, more: bool) {
        let due = (self.stale || self.light != Some(light)) && !(more && self.when.elapsed() < (SHARE - 1) * self.took);
        if self.waiting.is_none() && !due || self.is_at_work() {
            return;
        }
        let (send, found) = sync_channel(1);
        let State::Here(mut relief) = std::mem::replace(&mut self.state, State::Away(Mutex::new(found))) else {
            return;
        };
        let taken = self.waiting.take();
        let looks_up = due && self.light.is_some_and(|known| !known.sees_as(&light));
        if due {
            (self.light, self.stale) = (Some(light), false);
        }
        // Until all sees by another exaggeration, what is new sees by the old one.
        let light = self.light.unwrap_or(light);
        let size = relief.size();
        // A pool would end the program if a thread of it broke down; so it ends as others do.
        let look = move || {
            let begun = Instant::now();
            if let Some(Taken { parts, bytes, .. }) = &taken {
                let whole = [URect::new(0, 0, size.0 as u32, size.1 as u32)];
                match parts {
                    Some(parts) => relief.take(parts, bytes, |part| upload::row_bytes(row(part)), light),
                    None => relief.take(&whole, bytes, row, light),
                }
            }
            if looks_up {
                relief.look_up(light);
            }
            if due {
                relief.shine(light);
            }
            let parts = relief.changed_parts();
            let bytes = parts.as_ref().map_or_else(|| relief.bytes(), |parts| relief.part_bytes(parts));
            let water = relief.water.clone();
            // A block that is gone needs none of it.
            let _ = send.send((relief, Found { taken, parts, bytes, water, took: begun.elapsed(), shone: due }));
        };
        rayon::spawn(|| drop(catch_unwind(AssertUnwindSafe(look))));
    }
}

fn row(part: &URect) -> usize {
    CELL_BYTES * part.width() as usize
}
