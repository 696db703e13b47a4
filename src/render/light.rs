//! Asynchronous lighting of a block: a frame submits changes of the ground and fetches results of worker threads. Ground and light
//! appear on screen together.

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
    lod::Coverage,
    relief::{ExternalHorizon, Light, Relief},
    upload,
};

/// Reciprocal of the fraction of time spent on shadows while more changes are expected.
const SHARE: u32 = 10;

/// New layers of a map: of parts in the layout of [`upload::TexturePatch`], or of the whole map.
pub(super) struct LayerUpdate {
    pub parts: Option<Vec<URect>>,
    pub bytes: Vec<u8>,
    /// Elevation change of these parts since the start.
    pub past: Vec<u8>,
    /// Highest point in them, in metres.
    pub highest: f32,
}

/// Result of a lighting update.
pub(super) struct LightingResult {
    pub taken: Option<LayerUpdate>,
    /// Textures of relief and cover: parts in the layout of [`upload::TexturePatch`], or whole.
    pub parts: Option<Vec<URect>>,
    pub bytes: [Vec<u8>; 2],
    /// Coverage of the water, if there is any.
    pub water: Option<Arc<Coverage>>,
    pub took: Duration,
    /// `true` if shadows were computed.
    pub shone: bool,
}

/// Relief of a block and its pending updates.
pub(super) struct Lighting {
    state: LightState,
    waiting: Option<LayerUpdate>,
    /// Light of the last shadows, if any.
    light: Option<Light>,
    /// `true` if the ground has changed since.
    stale: bool,
    took: Duration,
    when: Instant,
    /// `true` until the first result.
    first: bool,
    pub horizon: ExternalHorizon,
}

enum LightState {
    Here(Box<Relief>),
    /// Owned by a thread.
    Away(Mutex<Receiver<(Box<Relief>, LightingResult)>>),
}

impl Lighting {
    /// Creates the lighting of an empty map of this size.
    pub(super) fn new(size: (usize, usize)) -> Self {
        Self {
            state: LightState::Here(Box::new(Relief::new(size))),
            waiting: None,
            light: None,
            stale: true,
            took: Duration::ZERO,
            when: Instant::now(),
            first: true,
            horizon: ExternalHorizon::default(),
        }
    }

    /// `true` while an update is in progress.
    pub(super) fn is_at_work(&self) -> bool {
        matches!(self.state, LightState::Away(_))
    }

    /// Queues new layers.
    pub(super) fn take(&mut self, taken: LayerUpdate) {
        self.stale |= taken.parts.as_ref().is_none_or(|parts| !parts.is_empty());
        self.waiting = Some(taken);
    }

    /// Waits for the result in progress until a moment, or indefinitely for the first one.
    pub(super) fn fetch(&mut self, until: Option<Instant>) -> Option<LightingResult> {
        let LightState::Away(found) = &mut self.state else { return None };
        let wait = until.filter(|_| !self.first).map_or(Duration::MAX, |until| until - Instant::now());
        let found = found.get_mut().unwrap_or_else(PoisonError::into_inner);
        match found.recv_timeout(wait) {
            Ok((relief, found)) => {
                self.horizon.clone_from(&relief.horizon);
                self.state = LightState::Here(relief);
                self.first = false;
                if found.shone {
                    (self.took, self.when) = (found.took, Instant::now());
                }
                Some(found)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("the lighting thread panicked"),
        }
    }

    /// Starts pending updates on a thread. While `more` changes are expected, shadows take only a fraction of the time.
    pub(super) fn begin(&mut self, light: Light, more: bool) {
        let due = (self.stale || self.light != Some(light)) && !(more && self.when.elapsed() < (SHARE - 1) * self.took);
        if self.waiting.is_none() && !due || self.is_at_work() {
            return;
        }
        let (send, found) = sync_channel(1);
        let LightState::Here(mut relief) = std::mem::replace(&mut self.state, LightState::Away(Mutex::new(found)))
        else {
            return;
        };
        let taken = self.waiting.take();
        let looks_up = due && self.light.is_some_and(|known| !known.has_same_visibility(&light));
        if due {
            (self.light, self.stale) = (Some(light), false);
        }
        // Until sky visibility is recomputed for a new exaggeration, new ground uses the old one.
        let light = self.light.unwrap_or(light);
        let size = relief.size();
        // A panic in a rayon pool aborts the program; it is caught to end like any other.
        let look = move || {
            let begun = Instant::now();
            if let Some(LayerUpdate { parts, bytes, .. }) = &taken {
                let whole = [URect::new(0, 0, size.0 as u32, size.1 as u32)];
                match parts {
                    Some(parts) => relief.take(parts, bytes, |part| upload::row_bytes(row(part)), light),
                    None => relief.take(&whole, bytes, row, light),
                }
            }
            if looks_up {
                relief.update_visibility(light);
            }
            if due {
                relief.update_sunlight(light);
            }
            let parts = relief.changed_parts();
            let bytes = parts.as_ref().map_or_else(|| relief.bytes(), |parts| relief.part_bytes(parts));
            let water = relief.water.clone();
            // The block may have been removed.
            let _ =
                send.send((relief, LightingResult { taken, parts, bytes, water, took: begun.elapsed(), shone: due }));
        };
        rayon::spawn(|| drop(catch_unwind(AssertUnwindSafe(look))));
    }
}

fn row(part: &URect) -> usize {
    CELL_BYTES * part.width() as usize
}
