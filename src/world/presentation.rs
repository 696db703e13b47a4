//! Presentation of a playlist: the current scene, and the time of the next one.

use std::{sync::Arc, time::Duration};

use bevy::prelude::*;

use super::{
    AppCommandEvent, CameraCommand, Document, FastForward, FrameSystems, History, Job, JobKind, Jobs, Label,
    NoticeLevel, Notices, OpenWorkspace, ProjectParams, ProjectReplaced, Simulations, Transport, Workspace,
    has_project, opening,
};
use thalweg_scene::{
    io::{Error, JobProgress, playlist, project::StoredTimeline},
    model::{
        film::CameraKeyframes,
        playlist::{Item, Playlist},
        session::Session,
    },
};

/// Time without input after which a kiosk starts again.
const KIOSK_IDLE: Duration = Duration::from_secs(60);
/// Time since the last input during which the next scene does not follow, since a visitor interacts with this one.
const INTERACTION_GRACE: Duration = Duration::from_secs(20);
/// Default duration of a scene in a kiosk, in seconds.
const DEFAULT_SCENE_SECONDS: f64 = 60.0;
/// Delay after which a kiosk skips a scene that cannot be opened, and minimum time between requests.
const RETRY_DELAY: Duration = Duration::from_secs(2);

/// Command of the presentation.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum PresentCommand {
    /// Presents a playlist from its first scene.
    Begin(Arc<Playlist>),
    /// Advances by a number of scenes; a negative number goes back.
    Go(isize),
    /// Starts again with the first scene.
    Again,
}

impl AppCommandEvent for PresentCommand {
    fn requires_project(&self) -> bool {
        true
    }

    fn is_allowed_in_kiosk(&self, _: &Simulations) -> bool {
        matches!(self, Self::Go(_) | Self::Again)
    }

    fn is_allowed_in_presenter(&self) -> bool {
        true
    }
}

/// State of the current scene of a presentation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PresentedSceneState {
    /// It is being opened.
    Opening,
    /// It cannot be opened.
    Failed,
    /// It is open.
    Open {
        /// Identifier of its project.
        project: u64,
        /// `true` if it has been paused at its last tick.
        paused: bool,
    },
}

/// The running presentation. The resource exists only during a presentation.
#[derive(Resource)]
pub struct Presentation {
    list: Arc<Playlist>,
    /// `true` if files and panels are locked, and the list starts again without input.
    kiosk: bool,
    /// Index of the current scene.
    at: usize,
    scene: PresentedSceneState,
    /// Time since the scene was requested, and then since it was opened, without fast-forwarding.
    age: Duration,
    /// Time since the presentation started.
    whole: Duration,
    /// Time since the last input; `None` without input since the start.
    idle: Option<Duration>,
    /// Minimum time until the next request.
    rest: Duration,
}

impl Presentation {
    /// Creates a presentation whose first scene is being opened.
    fn new(list: Arc<Playlist>, kiosk: bool) -> Self {
        let [age, whole, rest] = [Duration::ZERO; 3];
        Self { list, kiosk, at: 0, scene: PresentedSceneState::Opening, age, whole, idle: None, rest }
    }

    /// Creates a presentation whose first scene is open.
    pub fn of(list: Arc<Playlist>, kiosk: bool, simulations: &Simulations) -> Self {
        let mut presentation = Self::new(list, kiosk);
        presentation.mark_opened(simulations);
        presentation
    }

    /// Advances by a number of scenes. Returns the index of the new scene, or `None` beyond either end. In a kiosk, the first scene
    /// follows the last.
    fn go(&mut self, steps: isize) -> Option<usize> {
        let count = self.list.scenes.len();
        let at = match self.kiosk {
            true => (self.at as isize + steps).rem_euclid(count as isize) as usize,
            false => self.at.checked_add_signed(steps).filter(|at| *at < count)?,
        };
        (self.at, self.scene, self.age) = (at, PresentedSceneState::Opening, Duration::ZERO);
        Some(at)
    }

    /// Marks the requested scene as open.
    fn mark_opened(&mut self, simulations: &Simulations) {
        self.scene = PresentedSceneState::Open { project: simulations.project_id(), paused: false };
        self.age = Duration::ZERO;
    }

    /// Marks the requested scene as failed.
    fn mark_failed(&mut self) {
        if self.scene == PresentedSceneState::Opening {
            self.scene = PresentedSceneState::Failed;
        }
        self.age = Duration::ZERO;
    }

    /// Returns `true` if files and panels are locked.
    pub fn is_kiosk(&self) -> bool {
        self.kiosk
    }

    /// Returns the current scene, unless another project has replaced it.
    pub fn item(&self, simulations: &Simulations) -> Option<&Item> {
        let is_open =
            matches!(self.scene, PresentedSceneState::Open { project, .. } if project == simulations.project_id());
        self.list.scenes.get(self.at).filter(|_| is_open)
    }

    /// Returns the presented playlist.
    pub fn list(&self) -> &Arc<Playlist> {
        &self.list
    }

    /// Returns the time until the next scene follows automatically, or `None` if it does not. Input by a visitor extends it.
    pub fn left(&self) -> Option<Duration> {
        let (number, count) = self.number();
        let seconds = self.list.scenes.get(self.at)?.seconds;
        let seconds = if self.kiosk && seconds == 0.0 { DEFAULT_SCENE_SECONDS } else { seconds };
        let rest = self.idle.map_or(Duration::ZERO, |idle| INTERACTION_GRACE.saturating_sub(idle));
        let left = Duration::from_secs_f64(seconds).saturating_sub(self.age).max(rest);
        (seconds > 0.0 && (self.kiosk || number < count)).then_some(left)
    }

    /// Returns the time since the scene was opened, without fast-forwarding, and since the presentation started.
    pub fn elapsed_times(&self) -> [Duration; 2] {
        [self.age, self.whole]
    }

    /// Returns the number of the scene, from 1, and the number of scenes.
    pub fn number(&self) -> (usize, usize) {
        (self.at + 1, self.list.scenes.len())
    }

    /// Registers input by a visitor.
    pub fn touch(&mut self) {
        self.idle = Some(Duration::ZERO);
    }

    /// Returns the next automatic command, after this much more time. `forwards` is `true` if the project fast-forwards.
    fn next(&mut self, simulations: &Simulations, passed: Duration, forwards: bool) -> Option<PresentCommand> {
        if !forwards || self.item(simulations).is_none() {
            self.age += passed;
        }
        self.whole += passed;
        self.idle = self.idle.map(|idle| idle + passed);
        self.rest = self.rest.saturating_sub(passed);
        if self.rest > Duration::ZERO {
            return None;
        }
        if self.item(simulations).is_none() {
            // A scene that cannot be opened does not stop a kiosk.
            let skips = self.kiosk && self.scene == PresentedSceneState::Failed && self.age >= RETRY_DELAY;
            return skips.then_some(PresentCommand::Go(1));
        }
        if self.kiosk && self.idle.is_some_and(|idle| idle >= KIOSK_IDLE) {
            return Some(PresentCommand::Again);
        }
        (self.left() == Some(Duration::ZERO)).then_some(PresentCommand::Go(1))
    }
}

pub(super) fn plugin(app: &mut App) {
    app.add_observer(handle_command).add_observer(end).add_systems(
        Update,
        follow
            .after(super::fast_forward::follow)
            .before(super::fault::stop_broken)
            .run_if(has_project.and_then(resource_exists::<Presentation>).and_then(in_state(Workspace::Present)))
            .in_set(FrameSystems::Tick),
    );
}

fn handle_command(
    command: On<PresentCommand>,
    mut presentation: Option<ResMut<Presentation>>,
    mut document: ResMut<Document>,
    mut jobs: ResMut<Jobs>,
    mut notices: ResMut<Notices>,
    mut commands: Commands,
) {
    let steps = match command.event() {
        PresentCommand::Begin(list) => {
            commands.insert_resource(Presentation::new(Arc::clone(list), false));
            commands.trigger(OpenWorkspace(Workspace::Present));
            commands.trigger(PresentCommand::Again);
            return;
        }
        PresentCommand::Again => presentation.as_ref().map_or(0, |presentation| -(presentation.at as isize)),
        PresentCommand::Go(steps) => *steps,
    };
    let Some(presentation) = &mut presentation else {
        let text = "No presentation is running. Open or drop a playlist, or start Thalweg with \"thalweg present\".";
        notices.notify(NoticeLevel::Info, text);
        return;
    };
    let Some(at) = presentation.go(steps) else { return };
    document.autosave_now();
    // The audience does not need a notification.
    let mut job = Job::new(JobKind::Open, "");
    job.on_failure = |world| {
        world.get_resource_mut::<Presentation>().into_iter().for_each(|mut presentation| presentation.mark_failed());
    };
    let list = Arc::clone(presentation.list());
    jobs.start(&mut notices, job, move |_: &JobProgress| open_scene(&list, at), show_scene);
}

/// Opened scene of a playlist.
struct OpenedScene {
    title: String,
    sessions: Vec<Session>,
    /// Its camera keyframes.
    keys: CameraKeyframes,
}

fn open_scene(list: &Playlist, at: usize) -> Result<OpenedScene, Error> {
    let item = &list.scenes[at];
    let sessions = playlist::open(item)?;
    let title = if item.title.is_empty() { opening::title(&item.open) } else { item.title.clone() };
    Ok(OpenedScene { title, sessions, keys: playlist::keys(item) })
}

fn show_scene(
    In(OpenedScene { title, sessions, keys }): In<OpenedScene>,
    mut project: ProjectParams,
    presentation: Option<ResMut<Presentation>>,
    mut document: ResMut<Document>,
    mut ahead: ResMut<FastForward>,
    mut commands: Commands,
) {
    // It may have ended meanwhile.
    let Some(mut presentation) = presentation else { return };
    if presentation.is_kiosk() {
        // There is no undo in a kiosk.
        *project.history = History::default();
    }
    let mut simulations = Simulations::new(sessions);
    // Without a camera setting, the whole map is framed; a kiosk also starts the turntable.
    let usual = keys.list().is_empty();
    simulations.views.keys = keys;
    project.replace(Label::Opened(title), simulations, &StoredTimeline::default());
    document.mark_opened(&project);
    commands.trigger(ProjectReplaced { opened: true, presented: true });
    presentation.mark_opened(&project.simulations);
    if usual && presentation.item(&project.simulations).is_none_or(|item| item.camera.is_empty()) {
        commands.trigger(CameraCommand::FrameAll);
        if presentation.is_kiosk() {
            commands.trigger(CameraCommand::ToggleTurntable);
        }
    }
    project.transport.playing = true;
    ahead.begin(&project.simulations, &mut project.notices);
}

/// Ends the presentation when something else is opened.
fn end(replaced: On<ProjectReplaced>, mut commands: Commands) {
    if !replaced.presented {
        commands.remove_resource::<Presentation>();
    }
}

/// Pauses at a scene's last tick, and advances to the next scene when its time has elapsed.
fn follow(
    mut presentation: ResMut<Presentation>,
    simulations: Res<Simulations>,
    time: Res<Time<Real>>,
    ahead: Res<FastForward>,
    mut transport: ResMut<Transport>,
    mut commands: Commands,
) {
    let forwards = ahead.runs(&simulations, &transport);
    let last = presentation.item(&simulations).map_or(0, |item| item.ticks.1);
    // Pause only once, so that the user can continue.
    let is_over = last > 0 && simulations.ticks() >= last;
    if let PresentedSceneState::Open { paused, .. } = &mut presentation.scene {
        if is_over && transport.playing && !*paused {
            transport.pause();
        }
        *paused = is_over;
    }
    if let Some(next) = presentation.next(&simulations, time.delta(), forwards) {
        presentation.rest = RETRY_DELAY;
        if next == PresentCommand::Again {
            presentation.idle = None;
        }
        commands.trigger(next);
    }
}
