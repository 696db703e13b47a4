//! The simulation in the app: the shared sessions, one system per process, a frame budget, and the commands that change
//! them.

mod ahead;
pub mod amount;
mod brush;
mod channels;
pub mod charts;
mod checkup;
mod command;
mod course;
mod document;
mod fault;
mod followed;
mod history;
mod jobs;
mod label;
mod notice;
mod obey;
mod other_windows;
mod overlay;
mod preferences;
mod presentation;
mod probes;
mod record;
mod recording;
mod riddle;
mod rivers;
mod section;
mod ticks;

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use bevy::prelude::*;
use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};

pub use self::{
    ahead::Ahead,
    brush::{BrushCursor, BrushRing, Brushes, Held, Touch},
    channels::Channels,
    checkup::Checkup,
    command::{
        BrushCommand, CameraStep, Command, Comparison, Dialog, EditCommand, FileCommand, KeyCommand, LearnCommand,
        Pane, Placed, PresentCommand, RunCommand, ShowCommand, ViewCommand, WindowCommand, Workspace,
    },
    course::Course,
    document::{Document, Eye, FollowsKeys},
    followed::{Followed, FollowedTrace, Way},
    history::{History, HistoryPicture, HistoryRow, Mark},
    jobs::Jobs,
    label::Label,
    notice::{Level, Notice, Notices},
    other_windows::OtherWindows,
    overlay::Overlay,
    preferences::Preferences,
    presentation::{Draft, Presentation},
    probes::{MOST_PROBES, Probe, ProbeMarks, Probes, Sample},
    record::{DuneSample, LedgerSample, Record},
    recording::Recording,
    riddle::{Riddle, Riddles},
    rivers::{RiverTrace, Rivers},
    section::{DRAWN, Profile, Section, SectionTrace},
};
pub use thalweg_scene::model::SPEEDS;
use thalweg_scene::{io::project::KeptViews, model::session::Session};
use thalweg_sim::simulation::{Simulation, fault::Fault};

/// Ticks per second at speed 1.
pub const TICKS_PER_SECOND: f64 = 20.0;
/// Runs side by side, at most: more could not be told apart.
pub const MOST_RUNS: usize = 16;

/// The sessions that all systems share: terrain, processes, parameters. Usually one; several stand side by side.
#[derive(Resource, Clone)]
pub struct Live {
    sessions: Vec<Session>,
    chosen: usize,
    /// Whether it was stopped between two stages of a tick, to be looked at.
    halted: bool,
    /// The project that they were opened from or saved to last.
    pub file: Option<PathBuf>,
    /// The views that are kept with it, and the keys of the camera along the run.
    pub views: KeptViews,
    /// Tells this work from all others since the program started; what is undone and done again stays the same.
    work: u64,
}

impl Live {
    /// Shares sessions, of which there is at least one. The first is chosen.
    ///
    /// # Panics
    /// If there is none.
    pub fn new(mut sessions: Vec<Session>) -> Self {
        assert!(!sessions.is_empty(), "a scene has at least one session");
        sessions.iter_mut().for_each(|session| session.simulation.watched = true);
        Self { sessions, chosen: 0, halted: false, file: None, views: KeptViews::default(), work: Self::next_work() }
    }

    /// A copy that is another work.
    fn of_other_work(&self) -> Self {
        Self { work: Self::next_work(), ..self.clone() }
    }

    fn next_work() -> u64 {
        static WORKS: AtomicU64 = AtomicU64::new(0);
        WORKS.fetch_add(1, Ordering::Relaxed)
    }

    /// The same with sessions that have no layers.
    fn without_layers(&mut self) -> Self {
        let simulations: Vec<Simulation> = self.sessions.iter_mut().map(Session::take_simulation).collect();
        let same = self.clone();
        for (session, simulation) in self.sessions.iter_mut().zip(simulations) {
            session.simulation = simulation;
        }
        same
    }

    /// The number of this work.
    pub fn work(&self) -> u64 {
        self.work
    }

    /// The session whose numbers are shown.
    pub fn chosen(&self) -> &Session {
        &self.sessions[self.chosen]
    }

    /// The position of the session whose numbers are shown.
    pub fn index(&self) -> usize {
        self.chosen
    }

    /// Shows the numbers of another session.
    pub fn choose(&mut self, index: usize) {
        self.chosen = index.min(self.sessions.len() - 1);
    }

    /// All sessions.
    pub fn all(&self) -> &[Session] {
        &self.sessions
    }

    /// All sessions, to be changed.
    pub fn all_mut(&mut self) -> &mut [Session] {
        &mut self.sessions
    }

    /// Finished ticks of all sessions, which keep step.
    pub fn ticks(&self) -> u64 {
        self.chosen().simulation.ticks()
    }

    /// Lets the tick that has begun be finished in the frames that come, though it was stopped between two stages.
    pub fn go_on(&mut self) {
        self.halted = false;
    }

    /// Finishes the tick that has begun at once, if one has: layers are changed by hand between ticks alone.
    pub fn finish_tick(&mut self) {
        self.halted = false;
        let unfinished = self.sessions.par_iter_mut().filter(|session| !session.simulation.between_ticks());
        unfinished.for_each(|session| session.simulation.tick());
    }

    /// Where a session broke, if one did.
    pub fn fault(&self) -> Option<&Fault> {
        self.sessions.iter().find_map(|session| session.simulation.fault())
    }

    /// Ticks that every session has finished.
    fn common_ticks(&self) -> u64 {
        self.sessions.iter().map(|session| session.simulation.ticks()).min().unwrap_or_default()
    }

    /// True when no session is in the middle of a tick.
    pub fn between_ticks(&self) -> bool {
        self.sessions.iter().all(|session| session.simulation.between_ticks())
    }

    /// The process and stage before which the chosen session was stopped, if it was.
    pub fn next_stage(&self) -> Option<(&'static str, &'static str)> {
        self.chosen().simulation.next_stage().filter(|_| self.halted)
    }

    /// True when what the layers hold is to be seen: between ticks, and between stages where it was stopped.
    pub fn rests(&self) -> bool {
        self.halted || self.between_ticks()
    }

    /// True where all sessions can be shown as they are.
    pub fn can_be_shown(&self) -> bool {
        self.halted || self.sessions.iter().all(|session| session.simulation.can_be_shown())
    }
}

/// Whether and how fast it runs.
#[derive(Resource, Clone, Copy, Debug)]
pub struct Transport {
    /// Ticks follow each other.
    pub playing: bool,
    /// Multiple of [`TICKS_PER_SECOND`].
    pub speed: f32,
    /// Ticks that are due, with the fraction that time has brought.
    due: f64,
    /// Whether a stage is due.
    stage: bool,
    /// Stages that follow each other in a second while it plays; without, ticks do.
    pub slow: Option<f32>,
    /// Whether the chosen total of particles had run when it was last looked at.
    complete: Option<bool>,
    /// Whether the brush waits for the end of the present tick: then no other begins.
    pub brush_waits: bool,
}

/// How long the simulation may work in a frame.
#[derive(Resource, Clone, Copy, Debug)]
pub struct FrameBudget(pub Duration);

/// When this frame's budget is spent, by brush and ticks together.
#[derive(Resource, Clone, Copy, Debug)]
pub struct Deadline {
    until: Instant,
    /// The same for ticks.
    ticks_until: Instant,
    /// What ticks took of the last frame, and what they took too much of the frames so far: a part of a tick that is begun is not
    /// interrupted.
    spent: Duration,
    owed: Duration,
    /// Whether ticks rest in this frame, for what is owed.
    rests: bool,
}

impl Default for Deadline {
    fn default() -> Self {
        let now = Instant::now();
        Self { until: now, ticks_until: now, spent: Duration::ZERO, owed: Duration::ZERO, rests: false }
    }
}

impl Deadline {
    /// Whether what is not done yet is left to the next frame.
    pub fn is_over(self) -> bool {
        Instant::now() >= self.until
    }

    /// The time that is left to ticks in this frame.
    fn left(self) -> Duration {
        self.ticks_until.saturating_duration_since(Instant::now())
    }

    /// Begins a frame in which ticks should take so long.
    fn begin(&mut self, fair: Duration) {
        let owed = self.owed.min(MOST_OWED * fair);
        let paid = owed.min(fair);
        (self.owed, self.spent) = (owed - paid, Duration::ZERO);
        // A stroke does not pay for ticks: it may use all of the time.
        self.until = Instant::now() + fair;
        self.ticks_until = self.until - paid;
        self.rests = !owed.is_zero() && paid == fair;
    }

    /// Ticks have worked since then, and now rest till the next frame.
    fn end(&mut self, begun: Instant) {
        self.spent = begun.elapsed();
        self.owed += self.ticks_until.elapsed();
    }
}

/// Ticks rest in so many frames at most, however much they owe.
const MOST_OWED: u32 = 4;

/// What the view shows: goes up whenever there is another finished state to show.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    /// Finished states so far.
    pub state: u64,
    /// How often the sessions were begun again or replaced by others.
    pub start: u64,
}

impl Revision {
    /// Another state of the same run.
    pub fn goes_on(&mut self) {
        self.state += 1;
    }

    /// A run from another start.
    pub fn begins(&mut self) {
        self.state += 1;
        self.start += 1;
    }
}

/// What a tick costs, and what a frame.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub struct Timing {
    /// Milliseconds per tick, smoothed.
    pub tick_ms: f64,
    /// Milliseconds per frame in which the picture is drawn, smoothed.
    pub frame_ms: f64,
    /// Milliseconds in which heights are made ready for the graphics card, smoothed.
    pub remesh_ms: f64,
    /// Milliseconds in which threads find light and shadow beside the frames, smoothed.
    pub shine_ms: f64,
    /// Bytes of heights and of light that went to the graphics card since the start.
    pub uploaded: u64,
    spent: Duration,
    /// How often the picture had been drawn.
    drawn: u64,
    /// When there was something else to show.
    shown: Option<Instant>,
}

/// A smoothed value after another measurement.
pub fn smoothed(before: f64, now: f64) -> f64 {
    if before == 0.0 { now } else { 0.9 * before + 0.1 * now }
}

/// Where the pointer is, as the panels last saw it.
#[derive(Resource, Clone, Copy, Debug)]
pub struct PointerOverView {
    /// Over the view and not over a panel or a window.
    pub view: bool,
    /// And not over a mark on it: what it does is done on the land.
    pub land: bool,
    /// Whether a press on the land rains there, as there is no brush in the hand and nothing else waits for the press.
    pub rains: bool,
}

/// Where the keys point on the view, in pixels of the screen, and whether they press there; nothing while they belong to something
/// else.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct KeyPointer(pub Option<(Vec2, bool)>);

/// The part of the window that panels leave free, in pixels of the screen, and the picture that is drawn for it.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct FreeView {
    /// Left upper corner and size.
    pub rect: URect,
    /// What is drawn there.
    pub picture: Handle<Image>,
    /// The part of the picture that is drawn, as shares of its sides: its left upper corner. The rest is empty.
    pub share: Vec2,
    /// How often it was drawn.
    pub drawn: u64,
    /// Runs side by side: which it is, where its name belongs as shares of the free part, and its name.
    pub labels: Vec<(usize, Vec2, String)>,
    /// Heights that are written on contour lines: where, as shares of the free part, along which direction, in radians, and the height
    /// in metres.
    pub heights: Vec<(Vec2, f32, f32)>,
    /// How far the camera is turned round the upright, in radians: a direction along columns and rows appears so far turned.
    pub turned: f32,
    /// Metres from the upper to the lower edge of the picture, where the camera looks.
    pub metres: f32,
    /// Whether a picture of it is being taken: the land stands still meanwhile.
    pub taking: bool,
}

/// How the camera moves.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gait {
    /// Round the land.
    #[default]
    Orbit,
    /// On the ground, at the height of a person's eyes.
    Walk,
    /// Through the air.
    Fly,
}

/// Where keys move the eye that walks or flies: to the right, up and ahead, from -1 to 1, and whether it is in haste.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct Steps {
    /// Right, up, ahead.
    pub way: [f32; 3],
    /// Faster than usual.
    pub hastens: bool,
}

/// The place on the chosen map under the pointer, as shares of its sides.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct Pointed(pub Option<[f32; 2]>);

/// Where the springs of the chosen map are, as shares of the view; those behind the eye are nowhere.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct SourceMarks(pub Vec<Option<Vec2>>);

/// What of the runs is shown.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct Shown(pub Comparison);

/// At the end of a frame: the work and the settings are kept, also where the program is about to end.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeepSystems;

/// The order of a frame.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SimSystems {
    /// What the brush does on the ground.
    Edit,
    /// What panels and keys asked for in the last frame is done: after the strokes that were made before.
    Obey,
    /// Ticks run, as many as are due and the budget allows.
    Tick,
}

impl Default for Transport {
    fn default() -> Self {
        Self { playing: true, speed: 1.0, due: 0.0, stage: false, slow: None, complete: None, brush_waits: false }
    }
}

impl Transport {
    /// Stands still.
    pub fn paused() -> Self {
        Self { playing: false, ..Self::default() }
    }

    /// Stops, and forgets what was due.
    fn pause(&mut self) {
        (self.playing, self.due) = (false, 0.0);
    }
}

/// Adds everything but the sessions themselves.
pub fn plugin(app: &mut App) {
    app.init_resource::<Transport>()
        .init_resource::<Ahead>()
        .insert_resource(FrameBudget(Duration::from_millis(12)))
        .init_resource::<Deadline>()
        .insert_resource(Revision { state: 1, start: 1 })
        .init_resource::<Timing>()
        .insert_resource(PointerOverView { view: true, land: true, rains: false })
        .init_resource::<KeyPointer>()
        .init_resource::<FreeView>()
        .init_resource::<Gait>()
        .init_resource::<Steps>()
        .init_resource::<Pointed>()
        .init_resource::<SourceMarks>()
        .init_resource::<Shown>()
        .init_resource::<Workspace>()
        .init_resource::<Preferences>()
        .init_resource::<History>()
        .init_resource::<Notices>()
        .init_resource::<Jobs>()
        .init_resource::<Record>()
        .init_resource::<Recording>()
        .init_resource::<Rivers>()
        .init_resource::<RiverTrace>()
        .init_resource::<Probes>()
        .init_resource::<ProbeMarks>()
        .init_resource::<Section>()
        .init_resource::<SectionTrace>()
        .init_resource::<Riddles>()
        .init_resource::<Followed>()
        .init_resource::<FollowedTrace>()
        .init_resource::<Channels>()
        .init_resource::<Overlay>()
        .init_resource::<Brushes>()
        .init_resource::<Course>()
        .init_resource::<Presentation>()
        .init_resource::<Checkup>()
        .init_resource::<Document>()
        .init_resource::<Eye>()
        .init_resource::<FollowsKeys>()
        .init_resource::<Draft>()
        .init_resource::<BrushCursor>()
        .add_message::<Touch>()
        .add_message::<Command>()
        .add_plugins(ticks::plugin)
        .configure_sets(Update, (SimSystems::Edit, SimSystems::Obey, SimSystems::Tick).chain())
        .add_systems(
            Update,
            (
                (
                    obey::obey,
                    overlay::follow_brush,
                    obey::arrival::take_over_jobs,
                    obey::arrival::show_growth,
                    history::go_to_wanted,
                )
                    .chain()
                    .in_set(SimSystems::Obey),
                (
                    (
                        history::follow_button,
                        ticks::run_due,
                        ticks::run_due_stage,
                        ahead::follow,
                        presentation::follow,
                        fault::stop_broken,
                        history::follow,
                        record::sample,
                    )
                        .chain()
                        .run_if(works_in_place),
                    history::draw_wanted,
                    (course::follow, course::turn_camera),
                    section::follow,
                    followed::forget,
                    rivers::study,
                    channels::follow,
                    overlay::follow_ticks,
                    probes::follow,
                )
                    .chain()
                    .in_set(SimSystems::Tick),
            ),
        )
        .add_systems(Update, checkup::follow.in_set(SimSystems::Tick))
        .add_systems(First, preferences::say_budget.run_if(resource_changed::<Preferences>))
        .add_systems(Last, recording::obey)
        .add_systems(
            Last,
            (document::offer, jobs::wait_before_exit, document::keep, preferences::remember)
                .chain()
                .in_set(KeepSystems),
        );
}

/// Whether the work stands in its place: it is put away while something is made of it.
pub fn works_in_place(jobs: Res<Jobs>) -> bool {
    !jobs.hold()
}

#[cfg(test)]
mod tests;
