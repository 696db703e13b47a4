//! Scenes before a room: which of a playlist is shown, and when the next one follows.

use std::{path::PathBuf, sync::Arc, time::Duration};

use bevy::prelude::*;

use super::{
    Ahead, CameraCommand, CommandEvent, Document, FrameSystems, History, Job, JobKind, Jobs, Label, Level, Notices,
    OpenWorkspace, Simulations, Transport, Work, WorkReplaced, Workspace, opening, works_in_place,
};
use thalweg_scene::{
    io::{Error, JobProgress, playlist, project::Keyframes},
    model::{
        film::Keys,
        playlist::{Item, Playlist},
        session::Session,
    },
};

/// When nobody has touched anything for so long, a kiosk begins again.
const ALONE: Duration = Duration::from_secs(60);
/// While a person plays with a scene, the next one does not follow: so long after the last touch.
const PLAYS: Duration = Duration::from_secs(20);
/// How long a kiosk shows a scene that does not say how long, in seconds.
const USUAL: f64 = 60.0;
/// How soon a kiosk leaves a scene that cannot be opened, and for how long it then asks for no other.
const SOON: Duration = Duration::from_secs(2);

/// The scenes of a playlist.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum PresentCommand {
    /// Shows a playlist from its first scene on.
    Begin(Arc<Playlist>),
    /// Goes so many scenes on, or back.
    Go(isize),
    /// Begins with the first scene again.
    Again,
    /// Writes a playlist into a file.
    Save(Arc<Playlist>, PathBuf),
    /// Remembers the playlist that is being made.
    Draft(Arc<Playlist>),
}

impl CommandEvent for PresentCommand {
    fn needs_the_work(&self) -> bool {
        !matches!(self, Self::Save(..) | Self::Draft(_))
    }

    fn suits_kiosk(&self, _: &Simulations) -> bool {
        matches!(self, Self::Go(_) | Self::Again)
    }

    fn suits_presenter(&self) -> bool {
        true
    }
}

/// The playlist that is shown, if one is.
#[derive(Resource, Default)]
pub struct Presentation {
    list: Option<Arc<Playlist>>,
    /// Whether files and panels cannot be opened, and the list begins again when nobody is there.
    kiosk: bool,
    /// The scene that is shown or being opened.
    at: usize,
    /// The work on which it plays; nothing while it is being opened.
    work: Option<u64>,
    /// How long ago it was asked for, and then how long ago it came.
    age: Duration,
    /// How long ago the list was begun.
    whole: Duration,
    /// How long ago something was touched last, if anything was since the list was begun.
    idle: Option<Duration>,
    /// How long nothing else is asked for, after the next scene was.
    rest: Duration,
    /// Whether the last scene could not be opened.
    failed: bool,
    /// Whether it has stopped at its last tick.
    stopped: bool,
}

impl Presentation {
    /// A list whose first scene is there.
    pub fn of(list: Arc<Playlist>, kiosk: bool, simulations: &Simulations) -> Self {
        let mut presentation = Self::default();
        presentation.begin(list, kiosk);
        presentation.is_shown(simulations);
        presentation
    }

    /// Begins a list. Its first scene is to be opened next.
    pub(super) fn begin(&mut self, list: Arc<Playlist>, kiosk: bool) {
        *self = Self { list: Some(list), kiosk, ..Self::default() };
    }

    /// The list, and the number of the scene that is so many after the present one, from 0. In a kiosk the first follows the last.
    pub(super) fn go(&mut self, steps: isize) -> Option<(Arc<Playlist>, usize)> {
        let list = self.list.clone()?;
        let count = list.scenes.len();
        let at = match self.kiosk {
            true => (self.at as isize + steps).rem_euclid(count as isize) as usize,
            false => self.at.checked_add_signed(steps).filter(|at| *at < count)?,
        };
        (self.at, self.work, self.age) = (at, None, Duration::ZERO);
        (self.failed, self.stopped) = (false, false);
        Some((list, at))
    }

    /// The list, and its first scene.
    pub(super) fn again(&mut self) -> Option<(Arc<Playlist>, usize)> {
        self.at = 0;
        self.go(0)
    }

    /// Its scene stands on the screen.
    pub(super) fn is_shown(&mut self, simulations: &Simulations) {
        (self.work, self.age) = (Some(simulations.work()), Duration::ZERO);
    }

    /// The scene that was asked for cannot be opened.
    pub(super) fn fails(&mut self) {
        (self.failed, self.age) = (self.is_on() && self.work.is_none(), Duration::ZERO);
    }

    /// It is over.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// Whether a playlist was begun.
    pub fn is_on(&self) -> bool {
        self.list.is_some()
    }

    /// Whether files and panels cannot be opened.
    pub fn is_kiosk(&self) -> bool {
        self.kiosk && self.list.is_some()
    }

    /// The scene that is shown, while nothing else has taken its place.
    pub fn item(&self, simulations: &Simulations) -> Option<&Item> {
        let list = self.list.as_ref()?;
        self.work.filter(|work| *work == simulations.work()).and_then(|_| list.scenes.get(self.at))
    }

    /// The playlist that is shown.
    pub fn list(&self) -> Option<&Arc<Playlist>> {
        self.list.as_ref()
    }

    /// How soon the next scene follows by itself, if it does: later, while a person plays with this one.
    pub fn left(&self) -> Option<Duration> {
        let (number, count) = self.number();
        let seconds = self.list.as_ref()?.scenes.get(self.at)?.seconds;
        let seconds = if self.kiosk && seconds == 0.0 { USUAL } else { seconds };
        let rest = self.idle.map_or(Duration::ZERO, |idle| PLAYS.saturating_sub(idle));
        let left = Duration::from_secs_f64(seconds).saturating_sub(self.age).max(rest);
        (seconds > 0.0 && (self.kiosk || number < count)).then_some(left)
    }

    /// How long the scene has been shown, and the list.
    pub fn ages(&self) -> [Duration; 2] {
        [self.age, self.whole]
    }

    /// The number of the scene, from 1, and how many scenes there are.
    pub fn number(&self) -> (usize, usize) {
        (self.at + 1, self.list.as_ref().map_or(0, |list| list.scenes.len()))
    }

    /// A person is there.
    pub fn touch(&mut self) {
        self.idle = Some(Duration::ZERO);
    }

    /// What follows by itself, after so much more time.
    fn next(&mut self, simulations: &Simulations, passed: Duration) -> Option<PresentCommand> {
        self.age += passed;
        self.whole += passed;
        self.idle = self.idle.map(|idle| idle + passed);
        self.rest = self.rest.saturating_sub(passed);
        if self.rest > Duration::ZERO {
            return None;
        }
        if self.item(simulations).is_none() {
            // A scene that cannot be opened does not stop a kiosk.
            return (self.kiosk && self.failed && self.age >= SOON).then_some(PresentCommand::Go(1));
        }
        if self.kiosk && self.idle.is_some_and(|idle| idle >= ALONE) {
            return Some(PresentCommand::Again);
        }
        (self.left() == Some(Duration::ZERO)).then_some(PresentCommand::Go(1))
    }
}

/// The playlist that a person makes. It is there again after the next start.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// As it is.
    pub list: Playlist,
    /// As it was saved last.
    saved: Option<Playlist>,
}

impl Draft {
    /// One that was remembered as RON; an empty one, where this version does not understand it.
    pub fn remembered(text: &str) -> Self {
        Self { list: ron::from_str(text).unwrap_or_default(), saved: None }
    }

    /// What is to be remembered of it: nothing, if it is empty or a file has it.
    pub(super) fn text(&self) -> String {
        if self.list.scenes.is_empty() || self.has_saved(&self.list) {
            return String::new();
        }
        ron::to_string(&self.list).unwrap_or_default()
    }

    /// Notes what was written into a file.
    pub(super) fn is_saved_as(&mut self, list: &Playlist) {
        self.saved = Some(list.clone());
    }

    /// Whether a file has all of a list.
    pub fn has_saved(&self, list: &Playlist) -> bool {
        self.saved.as_ref() == Some(list)
    }
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Presentation>().init_resource::<Draft>().add_observer(obey).add_observer(end).add_systems(
        Update,
        follow
            .after(super::ahead::follow)
            .before(super::fault::stop_broken)
            .run_if(works_in_place.and_then(in_state(Workspace::Present)))
            .in_set(FrameSystems::Tick),
    );
}

fn obey(
    command: On<PresentCommand>,
    mut presentation: ResMut<Presentation>,
    mut draft: ResMut<Draft>,
    mut document: ResMut<Document>,
    mut jobs: ResMut<Jobs>,
    mut notices: ResMut<Notices>,
    mut commands: Commands,
) {
    let next = match command.event() {
        PresentCommand::Begin(list) => {
            presentation.begin(Arc::clone(list), false);
            commands.trigger(OpenWorkspace(Workspace::Present));
            presentation.go(0)
        }
        PresentCommand::Again => presentation.again(),
        PresentCommand::Go(steps) => presentation.go(*steps),
        PresentCommand::Save(list, path) => {
            let saved = playlist::save(list, path);
            if saved.is_ok() {
                draft.is_saved_as(list);
            }
            notices.tell_result(saved, format!("Saved {}.", path.display()));
            return;
        }
        PresentCommand::Draft(list) => {
            draft.list.clone_from(list);
            return;
        }
    };
    match next {
        Some((list, at)) => {
            document.keep_now();
            // A room does not need to read that.
            let mut job = Job::new(JobKind::Opens, "");
            job.fails = |world| world.resource_mut::<Presentation>().fails();
            jobs.start(&mut notices, job, move |_: &JobProgress| perform(&list, at), show_scene);
        }
        None if presentation.number().1 > 0 => {}
        None => {
            let text = "No show is open. Open or drop a playlist, or start with \"thalweg present\".";
            notices.tell(Level::Info, text);
        }
    }
}

/// A scene of the playlist that is to be shown.
struct Performed {
    title: String,
    sessions: Vec<Session>,
    /// The keyframes of the camera that it brings.
    keys: Keys,
}

fn perform(list: &Playlist, at: usize) -> Result<Performed, Error> {
    let item = &list.scenes[at];
    let sessions = playlist::open(item)?;
    let title = if item.title.is_empty() { opening::title(&item.open) } else { item.title.clone() };
    Ok(Performed { title, sessions, keys: playlist::keys(item) })
}

fn show_scene(
    In(Performed { title, sessions, keys }): In<Performed>,
    mut work: Work,
    mut presentation: ResMut<Presentation>,
    mut document: ResMut<Document>,
    mut ahead: ResMut<Ahead>,
    mut commands: Commands,
) {
    if !presentation.is_on() {
        // The show was left meanwhile.
        return;
    }
    if presentation.is_kiosk() {
        // Nobody takes anything back.
        *work.history = History::default();
    }
    let mut simulations = Simulations::new(sessions);
    // Where the scene does not say how it is seen, it is seen as usual; a kiosk turns it.
    let usual = keys.list().is_empty();
    simulations.views.keys = keys;
    work.replace(Label::Opened(title), simulations, &Keyframes::default());
    document.is_opened(&work);
    commands.trigger(WorkReplaced { opened: true, performed: true });
    presentation.is_shown(&work.simulations);
    if usual && presentation.item(&work.simulations).is_none_or(|item| item.camera.is_empty()) {
        commands.trigger(CameraCommand::FrameAll);
        if presentation.is_kiosk() {
            commands.trigger(CameraCommand::ToggleTurntable);
        }
    }
    work.transport.playing = true;
    ahead.begin(&work.simulations, &mut work.notices);
}

/// It ends when something else is opened.
fn end(replaced: On<WorkReplaced>, mut presentation: ResMut<Presentation>) {
    if !replaced.performed {
        presentation.end();
    }
}

/// Stops at a scene's last tick, and goes on to the next scene when its time is over.
fn follow(
    mut presentation: ResMut<Presentation>,
    simulations: Res<Simulations>,
    time: Res<Time<Real>>,
    mut transport: ResMut<Transport>,
    mut commands: Commands,
) {
    if !presentation.is_on() {
        return;
    }
    // Time passes in every frame, and nothing else looks at it.
    let presentation = presentation.bypass_change_detection();
    let last = presentation.item(&simulations).map_or(0, |item| item.ticks.1);
    // It pauses once: a person may let it go on.
    let is_over = last > 0 && simulations.ticks() >= last;
    if is_over && transport.playing && !presentation.stopped {
        transport.pause();
    }
    presentation.stopped = is_over;
    if let Some(next) = presentation.next(&simulations, time.delta()) {
        presentation.rest = SOON;
        if next == PresentCommand::Again {
            presentation.idle = None;
        }
        commands.trigger(next);
    }
}
