//! The simulation in the app: the shared sessions, one system per process, a frame budget, and the commands that change
//! them.

mod ahead;
pub mod amount;
pub mod background;
mod brush;
mod camera;
mod channels;
pub mod charts;
mod command;
mod compare;
mod course;
mod document;
mod edit;
mod fault;
mod file;
mod history;
pub(crate) mod jobs;
mod label;
mod notice;
pub(crate) mod opening;
mod other_windows;
pub(crate) mod overlay;
mod places;
mod preferences;
mod presentation;
mod quiz;
mod record;
mod recording;
mod restart;
mod run;
mod simulations;
mod ticks;
mod views;
mod window;
mod work;
mod workspace;

use std::time::{Duration, Instant};

use bevy::{ecs::message::MessageUpdateSystems, prelude::*};

use self::command::obey;
pub use self::{
    ahead::Ahead,
    brush::{BrushCommand, BrushCursor, BrushRing, Brushes, Held, LoadStamp, Touch},
    camera::{CameraCommand, CameraMode, CameraStep, PictureCommand, Steps},
    channels::Channels,
    command::{Command, CommandEvent},
    compare::{CompareCommand, Comparison, Divider},
    course::Course,
    document::{Document, Eye},
    edit::EditCommand,
    file::FileCommand,
    history::{History, HistoryCommand, HistoryPicture, HistoryRow, Mark},
    jobs::{Job, JobKind, Jobs},
    label::Label,
    notice::{Level, Notice, Notices},
    opening::{LessonOpened, WorkReplaced},
    other_windows::OtherWindows,
    overlay::{Overlay, OverlayCommand},
    places::{MapPlaces, MarkSystems, ViewPlaces},
    preferences::Preferences,
    presentation::{Draft, PresentCommand, Presentation},
    quiz::{Quiz, QuizCommand, QuizQuestion},
    record::{DuneSample, LedgerSample, Record},
    recording::{Recording, ToggleRecording},
    restart::Restarts,
    run::RunCommand,
    simulations::{FrameSystems, KeepSystems, Simulations},
    views::{FollowsKeys, KeepView, KeyframeCommand},
    window::WindowCommand,
    work::Work,
    workspace::{OpenWorkspace, Workspace},
};
pub use thalweg_scene::model::SPEEDS;

/// Ticks per second at speed 1.
pub const TICKS_PER_SECOND: f64 = 20.0;

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

/// The line along which the block is cut open, as shares of the map's sides, if it is.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct CutLine(pub Option<[[f32; 2]; 2]>);

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

/// The place on the chosen map under the pointer, as shares of its sides.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct Pointed(pub Option<[f32; 2]>);

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
    pub fn pause(&mut self) {
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
        .init_state::<CameraMode>()
        .init_resource::<Steps>()
        .init_resource::<Pointed>()
        .init_resource::<CutLine>()
        .init_resource::<Preferences>()
        .init_resource::<Notices>()
        .init_resource::<Jobs>()
        .init_resource::<Restarts>()
        .init_resource::<Record>()
        .init_resource::<Channels>()
        .init_resource::<Document>()
        .init_resource::<Eye>()
        .add_message::<Command>()
        .add_plugins((simulations::plugin, ticks::plugin, history::plugin, workspace::plugin))
        .add_plugins((run::plugin, edit::plugin, file::plugin, views::plugin, compare::plugin))
        .add_plugins((brush::plugin, overlay::plugin))
        .add_plugins((quiz::plugin, course::plugin))
        .add_plugins((presentation::plugin, recording::plugin))
        .add_systems(
            Update,
            // What a job brings is taken a frame after it was asked for at the earliest: then what it replaces has been kept.
            (jobs::take_over, jobs::show_growth, obey, restart::advance, views::rest_without_keyframes)
                .chain()
                .in_set(FrameSystems::Obey),
        )
        .add_systems(
            Update,
            (ticks::run_due, ticks::run_due_stage, ahead::follow, fault::stop_broken, record::sample)
                .chain()
                .run_if(works_in_place)
                .in_set(FrameSystems::Tick),
        )
        .add_systems(Update, channels::follow.in_set(FrameSystems::Follow))
        .add_systems(First, preferences::say_budget.after(MessageUpdateSystems).run_if(resource_changed::<Preferences>))
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
