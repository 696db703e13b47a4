//! Model of the application: simulations, time, history and files, and the commands that change them. Each process has its own
//! system; ticks run within a frame budget.

pub mod amount;
pub mod background;
mod bookmarks;
mod brush;
mod camera;
mod card;
mod channels;
pub mod charts;
mod command;
mod compare;
mod document;
mod edit;
mod fast_forward;
mod fault;
mod file;
mod history;
pub(crate) mod jobs;
mod label;
mod lessons;
mod notice;
pub(crate) mod opening;
mod other_windows;
pub(crate) mod overlay;
mod places;
mod preferences;
mod presentation;
mod project;
mod quiz;
mod record;
mod recording;
mod restart;
mod run;
mod simulations;
mod ticks;
mod window;
mod workspace;

use std::time::{Duration, Instant};

use bevy::{ecs::message::MessageUpdateSystems, prelude::*};

use self::command::execute_commands;
pub use self::{
    bookmarks::{KeyframeCommand, KeyframeFollowing, SaveBookmark},
    brush::{BrushCommand, BrushCursor, BrushInput, BrushRing, Brushes, LoadStamp, ModifierKeys},
    camera::{CameraCommand, CameraMode, CameraStep, NavigationInput, ScreenshotCommand},
    card::CardTicks,
    channels::{RiverExtraction, RiverOverlay},
    command::{AppCommand, AppCommandEvent},
    compare::{CompareCommand, Comparison, Divider},
    document::{CameraPose, Document},
    edit::EditCommand,
    fast_forward::FastForward,
    file::FileCommand,
    history::{History, HistoryCommand, HistoryRow, Thumbnail, TimelinePosition},
    jobs::{Job, JobKind, Jobs},
    label::Label,
    lessons::{CurrentLesson, LessonAnswers},
    notice::{Notice, NoticeLevel, Notices},
    opening::{LessonOpened, ProjectReplaced},
    other_windows::OtherWindows,
    overlay::{Overlay, OverlayCommand},
    places::{MapPlaces, MarkSystems, ViewPlaces},
    preferences::Preferences,
    presentation::{PresentCommand, Presentation},
    project::ProjectParams,
    quiz::{Quiz, QuizCommand, QuizQuestion},
    record::{DuneSample, LedgerSample, TimeSeries},
    recording::{RecordTurntable, Recording, ToggleRecording},
    restart::Restarts,
    run::SimulationCommand,
    simulations::{AutosaveSystems, FrameSystems, Simulations},
    window::WindowCommand,
    workspace::{OpenWorkspace, Workspace},
};
pub use thalweg_scene::model::SPEEDS;

/// Ticks per second at speed 1.
pub const TICKS_PER_SECOND: f64 = 20.0;

/// State of playback.
#[derive(Resource, Clone, Copy, Debug)]
pub struct Transport {
    /// `true` while ticks run continuously.
    pub playing: bool,
    /// Multiple of [`TICKS_PER_SECOND`].
    pub speed: f32,
    /// Ticks that are due, with the fraction accumulated so far.
    due: f64,
    /// `true` if a stage is due.
    stage: bool,
    /// Stages per second in slow motion; `None` if ticks run as a whole.
    pub slow: Option<f32>,
    /// `true` if the total number of particles had run at the last check; `None` before the first check.
    complete: Option<bool>,
    /// `true` if the brush waits for the end of the current tick, so that no other may begin.
    pub brush_waits: bool,
}

/// Time for the simulation in each frame.
#[derive(Resource, Clone, Copy, Debug)]
pub struct FrameBudget(pub Duration);

/// End of this frame's budget, which brush and ticks share.
#[derive(Resource, Clone, Copy, Debug)]
pub struct Deadline {
    until: Instant,
    /// End for ticks.
    ticks_until: Instant,
    /// Time that ticks used in this frame, and the excess of all frames so far: a part of a tick is not interrupted once begun.
    spent: Duration,
    excess: Duration,
    /// `true` if ticks pause in this frame to compensate for the excess.
    pauses_ticks: bool,
}

impl Default for Deadline {
    fn default() -> Self {
        let now = Instant::now();
        Self { until: now, ticks_until: now, spent: Duration::ZERO, excess: Duration::ZERO, pauses_ticks: false }
    }
}

impl Deadline {
    /// Returns `true` if the remaining work must wait for the next frame.
    pub fn is_over(self) -> bool {
        Instant::now() >= self.until
    }

    /// Returns the time that ticks used in this frame.
    pub fn spent(self) -> Duration {
        self.spent
    }

    /// Returns the time left for ticks in this frame.
    fn left(self) -> Duration {
        self.ticks_until.saturating_duration_since(Instant::now())
    }

    /// Begins a frame with a target duration for ticks.
    fn begin(&mut self, fair: Duration) {
        let owed = self.excess.min(MAX_PAUSED_FRAMES * fair);
        let paid = owed.min(fair);
        (self.excess, self.spent) = (owed - paid, Duration::ZERO);
        // A stroke may use all the time, regardless of the excess of ticks.
        self.until = Instant::now() + fair;
        self.ticks_until = self.until - paid;
        self.pauses_ticks = !owed.is_zero() && paid == fair;
    }

    /// Ends the ticks of a frame, which started at `begun`.
    fn end(&mut self, begun: Instant) {
        self.spent = begun.elapsed();
        self.excess += self.ticks_until.elapsed();
    }
}

/// Maximum number of consecutive frames without ticks, regardless of the excess.
const MAX_PAUSED_FRAMES: u32 = 4;

/// Line of the cutaway, in fractions of the map's sides, or `None`.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct CutLine(pub Option<[[f32; 2]; 2]>);

/// Version of the displayed state, incremented whenever another finished state is available.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    /// Number of finished states so far.
    pub state: u64,
    /// Number of restarts and replacements of the sessions.
    pub start: u64,
}

impl Revision {
    /// Marks another state of the same simulation.
    pub fn next_state(&mut self) {
        self.state += 1;
    }

    /// Marks the start of another simulation.
    pub fn next_start(&mut self) {
        self.state += 1;
        self.start += 1;
    }
}

/// Performance measurements.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub struct Timing {
    /// Milliseconds per tick, smoothed.
    pub tick_ms: f64,
    /// Milliseconds per rendered frame, smoothed.
    pub frame_ms: f64,
    /// Milliseconds to prepare heights for upload, smoothed.
    pub prepare_ms: f64,
    /// Milliseconds of background threads to compute light and shadow, smoothed.
    pub lighting_ms: f64,
    /// Bytes of heights and light uploaded since startup.
    pub uploaded: u64,
    spent: Duration,
    /// Number of rendered frames at the last check.
    drawn: u64,
    /// Time at which a new state last became visible.
    shown: Option<Instant>,
}

/// Returns the exponential moving average after another measurement.
pub fn smoothed(before: f64, now: f64) -> f64 {
    if before == 0.0 { now } else { 0.9 * before + 0.1 * now }
}

/// Location of the pointer, as determined by the panels in the last frame.
#[derive(Resource, Clone, Copy, Debug)]
pub struct PointerOverView {
    /// `true` over the viewport, and not over a panel or a window.
    pub view: bool,
    /// `true` if, in addition, it is not over a marker, so that input affects the terrain.
    pub terrain: bool,
    /// `true` if a press on the terrain adds rain: no brush is active, and nothing else handles the press.
    pub adds_rain: bool,
}

/// Position of the keyboard pointer in the viewport, in physical pixels, and `true` while it is pressed; `None` while the keys are
/// used otherwise.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct KeyPointer(pub Option<(Vec2, bool)>);

/// Part of the window not covered by panels, in physical pixels, and the image rendered for it.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct ViewportArea {
    /// Upper left corner and size.
    pub rect: URect,
    /// Rendered image.
    pub image: Handle<Image>,
    /// Rendered part of the image, as a fraction of its sides from the upper left corner. The rest is empty.
    pub rendered_fraction: Vec2,
    /// Number of rendered frames.
    pub frames: u64,
    /// `true` while a screenshot is taken; the simulation is paused meanwhile.
    pub is_taking_screenshot: bool,
}

/// Annotations that panels draw over the rendered image.
#[derive(Resource, Clone, Debug, Default)]
pub struct ViewAnnotations {
    /// Simulations side by side: index, position of the label in fractions of the viewport, and label.
    pub labels: Vec<(usize, Vec2, String)>,
    /// Contour labels: position in fractions of the viewport, direction in radians, and height in metres.
    pub heights: Vec<(Vec2, f32, f32)>,
    /// Azimuth of the camera in radians: the angle by which directions along columns and rows appear rotated.
    pub azimuth: f32,
    /// Distance in metres between the upper and the lower edge, at the point the camera looks at.
    pub metres: f32,
}

/// Point on the selected map under the pointer, in fractions of its sides.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct PointedPosition(pub Option<[f32; 2]>);

impl Default for Transport {
    fn default() -> Self {
        Self { playing: true, speed: 1.0, due: 0.0, stage: false, slow: None, complete: None, brush_waits: false }
    }
}

impl Transport {
    /// Returns a paused state.
    pub fn paused() -> Self {
        Self { playing: false, ..Self::default() }
    }

    /// Pauses, and discards ticks that are due.
    pub fn pause(&mut self) {
        (self.playing, self.due) = (false, 0.0);
    }
}

/// Adds everything except the sessions.
pub fn plugin(app: &mut App) {
    app.init_resource::<Transport>()
        .init_resource::<FastForward>()
        .insert_resource(FrameBudget(Duration::from_millis(12)))
        .init_resource::<Deadline>()
        .insert_resource(Revision { state: 1, start: 1 })
        .init_resource::<Timing>()
        .insert_resource(PointerOverView { view: true, terrain: true, adds_rain: false })
        .init_resource::<KeyPointer>()
        .init_resource::<ViewportArea>()
        .init_resource::<ViewAnnotations>()
        .init_state::<CameraMode>()
        .init_resource::<NavigationInput>()
        .init_resource::<PointedPosition>()
        .init_resource::<CutLine>()
        .init_resource::<Preferences>()
        .init_resource::<Notices>()
        .init_resource::<Jobs>()
        .init_resource::<Restarts>()
        .init_resource::<TimeSeries>()
        .init_resource::<RiverOverlay>()
        .init_resource::<RiverExtraction>()
        .init_resource::<Document>()
        .init_resource::<CameraPose>()
        .add_message::<AppCommand>()
        .add_plugins((simulations::plugin, ticks::plugin, history::plugin, workspace::plugin))
        .add_plugins((run::plugin, edit::plugin, file::plugin, bookmarks::plugin, compare::plugin))
        .add_plugins((brush::plugin, card::plugin, overlay::plugin))
        .add_plugins((quiz::plugin, lessons::plugin))
        .add_plugins((presentation::plugin, recording::plugin))
        .add_systems(
            Update,
            // Output of a job is taken one frame after its start at the earliest, when the state it replaces has been stored.
            (
                jobs::apply_outputs,
                jobs::show_growth,
                execute_commands,
                document::exit_when_written,
                restart::advance,
                bookmarks::stop_without_keyframes,
            )
                .chain()
                .in_set(FrameSystems::Execute),
        )
        .add_systems(
            Update,
            (ticks::run_due, ticks::run_due_stage, fast_forward::follow, fault::stop_broken, record::sample)
                .chain()
                .run_if(has_project)
                .in_set(FrameSystems::Tick),
        )
        .add_systems(Update, channels::follow.in_set(FrameSystems::Follow))
        .add_systems(
            First,
            preferences::apply_memory_limit.after(MessageUpdateSystems).run_if(resource_changed::<Preferences>),
        )
        .add_systems(
            Last,
            (document::offer, preferences::remember, jobs::finish_saving, document::end_autosaves, document::autosave)
                .chain()
                .in_set(AutosaveSystems),
        );
}

/// Returns `true` unless a job holds the project.
pub fn has_project(jobs: Res<Jobs>) -> bool {
    !jobs.is_project_locked()
}

#[cfg(test)]
mod tests;
