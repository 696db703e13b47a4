//! The timeline: packed states of all sessions along the run, to go back to and on from; what was run on from the same state
//! in another way is kept as a branch.

use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bevy::prelude::*;

use super::{BUDGET, History, Live, Revision, Transport, state::restore};
use crate::{
    io::project,
    model::state::{Copied, State},
};

/// Ticks between two keyframes at first; when there are too many, every second goes and the rest lie twice as far apart.
const INTERVAL: u64 = 10;
/// More keyframes than this are thinned out.
const MOST: usize = 200;
/// Taking a keyframe may cost this share of the time.
const SHARE: u32 = 30;
/// After what a hand did, a keyframe is taken at most so often.
const REST: Duration = Duration::from_millis(500);

/// A state of all sessions.
#[derive(Debug)]
pub struct Keyframe {
    id: u64,
    /// What it was run on from.
    parent: Option<u64>,
    tick: u64,
    /// The work that it is a state of.
    work: u64,
    bytes: usize,
    states: Arc<Vec<State>>,
}

impl Keyframe {
    /// Makes all sessions what they were.
    fn restore(&self, live: &mut Live) {
        for (session, state) in live.all_mut().iter_mut().zip(self.states.iter()) {
            restore(session, state);
        }
    }
}

/// A keyframe that is being packed.
#[derive(Debug)]
struct Packing {
    id: u64,
    parent: Option<u64>,
    tick: u64,
    work: u64,
    handle: JoinHandle<Vec<State>>,
}

/// Where a keyframe stands in the bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What to ask for to go there.
    pub id: u64,
    /// Its tick.
    pub tick: u64,
    /// The branch that it stands on; 0 is the one that was run first.
    pub branch: usize,
}

/// All keyframes.
#[derive(Resource, Debug)]
pub struct Timeline {
    /// Each after its parent.
    frames: Vec<Keyframe>,
    /// The last keyframe on the way to the present.
    here: Option<u64>,
    next: u64,
    /// The present work: keyframes of another are not shown.
    work: u64,
    interval: u64,
    /// A keyframe that is being packed.
    packing: Option<Packing>,
    /// Which start the keyframes belong to, and how often a hand had changed something when the last one was taken.
    start: u64,
    changes: u64,
    taken: Instant,
    /// What taking one costs the frame.
    cost: Duration,
    /// Whether the present was put in the place of another, and no keyframe of it was taken yet.
    replaced: bool,
    /// The keyframe to go to. Of several that were asked for while a frame was drawn, the last counts.
    pub(super) wanted: Option<u64>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            frames: Vec::new(),
            here: None,
            next: 0,
            work: 0,
            interval: INTERVAL,
            packing: None,
            start: 0,
            changes: 0,
            taken: Instant::now(),
            cost: Duration::ZERO,
            replaced: false,
            wanted: None,
        }
    }
}

impl Timeline {
    /// All keyframes that can be gone to, the oldest first.
    pub fn marks(&self) -> Vec<Mark> {
        let mut marks: Vec<Mark> = Vec::with_capacity(self.frames.len());
        let mut branches = 0;
        for frame in self.own() {
            let parent = marks.iter().find(|mark| Some(mark.id) == frame.parent).copied();
            // The first child goes on with its parent's branch, another one begins its own.
            let only = !self.own().any(|other| other.parent == frame.parent && other.id < frame.id);
            let branch = match parent {
                Some(parent) if only => parent.branch,
                _ => {
                    branches += 1;
                    branches - 1
                }
            };
            marks.push(Mark { id: frame.id, tick: frame.tick, branch });
        }
        marks
    }

    /// The last keyframe on the way to the present.
    pub fn here(&self) -> Option<u64> {
        self.here
    }

    /// Memory that they take, in bytes.
    pub fn bytes(&self) -> usize {
        self.frames.iter().map(|frame| frame.bytes).sum()
    }

    /// Those of the present work.
    fn own(&self) -> impl Iterator<Item = &Keyframe> {
        self.frames.iter().filter(|frame| frame.work == self.work)
    }

    fn find(&self, id: u64) -> Option<&Keyframe> {
        self.own().find(|frame| frame.id == id)
    }

    /// Forgets everything, as another work begins, which may bring its own keyframes.
    pub fn begin_with(&mut self, saved: project::Keyframes, work: u64) {
        *self = Self { start: self.start, next: self.next, work, ..Self::default() };
        // Their numbers become such as no other keyframe has had.
        let ids: Vec<u64> = saved.frames.iter().map(|frame| frame.id).collect();
        let first = self.next;
        let renumbered = |id: u64| ids.iter().zip(first..).find(|(other, _)| **other == id).map(|(_, new)| new);
        for project::Keyframe { id, parent, states } in saved.frames {
            let bytes = states.iter().map(State::bytes).sum();
            let tick = states.first().map_or(0, State::tick);
            let (id, parent) = (renumbered(id).unwrap_or_default(), parent.and_then(renumbered));
            self.frames.push(Keyframe { id, parent, tick, work, bytes, states });
        }
        self.next += ids.len() as u64;
        self.here = saved.here.and_then(renumbered);
    }

    /// All keyframes, to be saved with the work; one that is still being packed is left out.
    pub(super) fn keyframes(&self) -> project::Keyframes {
        let frames = self.own().map(|frame| project::Keyframe {
            id: frame.id,
            parent: frame.parent.filter(|parent| self.find(*parent).is_some()),
            states: frame.states.clone(),
        });
        let packing = self.packing.as_ref().filter(|packing| self.here == Some(packing.id));
        let here = packing.map_or(self.here, |packing| packing.parent);
        project::Keyframes { frames: frames.collect(), here }
    }

    /// Finds its place again after all sessions were replaced by what they were before, or by a new start: the present is
    /// taken for a branch of the last keyframe on its way that is not later.
    fn follow_replaced(&mut self, start: u64, live: &Live) {
        self.collect(true);
        self.start = start;
        while let Some(frame) = self.here.and_then(|id| self.find(id)) {
            if frame.tick <= live.ticks() && frame.states.len() == live.all().len() {
                break;
            }
            self.here = frame.parent;
        }
        self.replaced = true;
    }

    /// Makes all sessions what they were at the last keyframe on their way, or at their start if there is none.
    pub(super) fn go_back(&mut self, live: &mut Live) {
        self.collect(true);
        let frame = self.here.and_then(|id| self.find(id)).filter(|frame| frame.states.len() == live.all().len());
        match frame {
            Some(frame) => frame.restore(live),
            None => live.all_mut().iter_mut().for_each(|session| session.restart(session.simulation.seed())),
        }
        live.halted = false;
    }

    /// Whether a hand changed something since the last keyframe, which must not be lost.
    fn is_stale(&self, changes: u64) -> bool {
        self.here.is_some() && self.changes != changes && self.taken.elapsed() > REST
    }

    /// Copies the sessions and has the copy packed beside the frames; a run that broke is no state to go back to.
    fn take(&mut self, live: &mut Live, changes: u64) {
        self.collect(true);
        if live.fault().is_some() {
            return;
        }
        let begun = Instant::now();
        let unpacked: Vec<Copied> = live.all_mut().iter_mut().map(Copied::copied).collect();
        self.cost = begun.elapsed();
        let pack = move || unpacked.into_iter().map(Copied::pack).collect();
        if let Ok(handle) = std::thread::Builder::new().name("thalweg keyframe".to_owned()).spawn(pack) {
            let (work, tick) = (live.work(), live.ticks());
            self.packing = Some(Packing { id: self.next, parent: self.here, tick, work, handle });
            self.here = Some(self.next);
            self.next += 1;
        }
        (self.changes, self.taken, self.replaced) = (changes, Instant::now(), false);
    }

    /// Takes a keyframe of what was done by hand before time runs on from it.
    pub(super) fn before_tick(&mut self, live: &mut Live, history: &History) {
        if history.strokes().is_none() && self.is_stale(history.changes()) {
            self.take(live, history.changes());
        }
    }

    /// Takes over what was packed meanwhile; waits for it if told so.
    fn collect(&mut self, waits: bool) {
        if !self.packing.as_ref().is_some_and(|packing| waits || packing.handle.is_finished()) {
            return;
        }
        let Some(Packing { id, parent, tick, work, handle }) = self.packing.take() else { return };
        if let Ok(states) = handle.join() {
            let bytes = states.iter().map(State::bytes).sum();
            self.frames.push(Keyframe { id, parent, tick, work, bytes, states: Arc::new(states) });
        } else if self.here == Some(id) {
            // It broke off: what comes next goes on from the one before.
            self.here = parent;
        }
    }

    /// Drops every second keyframe where there are too many, but neither ends nor forks.
    fn thin(&mut self, others: usize) {
        if self.frames.len() <= MOST && self.bytes() + others <= BUDGET {
            return;
        }
        let before = self.frames.len();
        let mut index = 1;
        while index < self.frames.len() {
            let frame = &self.frames[index];
            let children: Vec<usize> =
                (0..self.frames.len()).filter(|&other| self.frames[other].parent == Some(frame.id)).collect();
            let waits = self.packing.as_ref().is_some_and(|packing| packing.parent == Some(frame.id));
            let (id, parent) = (frame.id, frame.parent);
            if let ([child], true) = (&children[..], self.here != Some(id) && !waits) {
                self.frames[*child].parent = parent;
                self.frames.remove(index);
                // Its follower stays.
                index += 1;
            } else {
                index += 1;
            }
        }
        if self.frames.len() < before {
            self.interval *= 2;
        }
    }
}

/// Takes keyframes along the run.
pub(super) fn follow(
    mut live: ResMut<Live>,
    history: Res<History>,
    revision: Res<Revision>,
    mut timeline: ResMut<Timeline>,
) {
    let timeline = timeline.bypass_change_detection();
    timeline.collect(false);
    timeline.work = live.work();
    if timeline.start != revision.start {
        timeline.follow_replaced(revision.start, &live);
    }
    if !live.between_ticks() || timeline.packing.is_some() || history.strokes().is_some() {
        return;
    }
    let last = timeline.here.and_then(|id| timeline.find(id)).map(|frame| frame.tick);
    let due = timeline.replaced || last.is_none_or(|last| live.ticks() >= last + timeline.interval);
    if due && (timeline.replaced || last.is_none() || timeline.taken.elapsed() > SHARE * timeline.cost) {
        timeline.take(live.bypass_change_detection(), history.changes());
        timeline.thin(history.bytes());
    }
}

/// Goes to the keyframe that was asked for.
pub(super) fn go_to_wanted(
    mut live: ResMut<Live>,
    mut timeline: ResMut<Timeline>,
    mut transport: ResMut<Transport>,
    mut revision: ResMut<Revision>,
    mut history: ResMut<History>,
) {
    if timeline.wanted.is_none() {
        return;
    }
    let Some(id) = timeline.wanted.take().filter(|_| timeline.start == revision.start) else { return };
    transport.pause();
    live.finish_tick();
    history.end_stroke();
    timeline.collect(true);
    // The present is kept too, so that one can come back to it.
    let here = timeline.here.and_then(|id| timeline.find(id)).map(|frame| frame.tick);
    if here != Some(live.ticks()) || timeline.changes != history.changes() {
        timeline.take(&mut live, history.changes());
        timeline.collect(true);
    }
    let Some(frame) = timeline.find(id).filter(|frame| frame.states.len() == live.all().len()) else { return };
    // Strokes of the present can't be taken back one by one from another time.
    history.seal(&live);
    let kind = |live: &Live| {
        let simulation = &live.chosen().simulation;
        (simulation.seed(), simulation.terrain.width(), simulation.terrain.start.clone())
    };
    let before = kind(&live);
    frame.restore(&mut live);
    (timeline.here, timeline.replaced) = (Some(id), false);
    timeline.changes = history.changes();
    if kind(&live) == before {
        revision.goes_on();
    } else {
        revision.begins();
        timeline.start = revision.start;
    }
}
