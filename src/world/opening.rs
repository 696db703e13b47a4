//! Opening of scenes, projects, lessons, playlists and heightmaps, which replace the current project.

use std::path::{Path, PathBuf};

use bevy::prelude::*;

use super::{
    CameraCommand, Document, EditCommand, FastForward, Job, JobKind, Label, NoticeLevel, PresentCommand, ProjectParams,
    Simulations, jobs::name,
};
use std::sync::Arc;
use thalweg_scene::{
    io::{
        Budget, Error, NewTerrain, heightmap, lesson, playlist,
        project::{self, Project, ProjectFile, StoredTimeline},
        scene,
    },
    model::{
        lesson::Lesson,
        origin::{Heightmap, Options, Origin},
        playlist::Playlist,
        session::Session,
    },
};
use thalweg_sim::{
    core::{grid::Grid, terrain::Layer},
    params::capital,
};

/// Event after the project was replaced.
#[derive(Event, Clone, Copy, Debug)]
pub struct ProjectReplaced {
    /// `true` if it is unchanged since it was opened.
    pub opened: bool,
    /// `true` if it is a scene of the playlist being presented.
    pub presented: bool,
}

/// Event after a lesson was opened; its session has replaced the project.
#[derive(Event, Clone, Debug)]
pub struct LessonOpened(pub Box<Lesson>);

/// Result of opening.
enum OpeningResult {
    /// Sessions that replace the current ones, and the label of the undo step.
    Sessions(Label, Vec<Session>),
    /// Playlist to present.
    Playlist(Playlist),
    /// Lesson, and its session.
    Lesson(Box<Lesson>, Box<Session>),
    /// Project, and its file.
    Project(PathBuf, Box<Project>),
}

/// Opens a scene by name, a scene file, a project, a lesson, a playlist or a heightmap.
pub(crate) fn open(project: &mut ProjectParams, document: &mut Document, input: &Path, options: &Options) {
    document.autosave_now();
    project.preferences.remember_folder(input);
    let job = Job::new(JobKind::Open, format!("Opening {}…", title(input)));
    let (input, options) = (input.to_owned(), options.clone());
    project.jobs.start(&mut project.notices, job, move |_| read(input, &options), take_opened);
}

/// Creates new terrain.
pub(super) fn create_terrain(project: &mut ProjectParams, document: &mut Document, land: Box<NewTerrain>) {
    document.autosave_now();
    let make = move |_: &_| Ok(OpeningResult::Sessions(Label::NewTerrain, vec![land.open()?]));
    project.jobs.start(&mut project.notices, Job::new(JobKind::Open, "Creating new terrain…"), make, take_opened);
}

fn read(path: PathBuf, options: &Options) -> Result<OpeningResult, Error> {
    if project::is_project(&path) {
        let project = project::open_with_timeline(&path)?;
        return Ok(OpeningResult::Project(path, Box::new(project)));
    }
    if lesson::is_lesson(&path) {
        let (lesson, session) = lesson::open(&path)?;
        return Ok(OpeningResult::Lesson(Box::new(lesson), Box::new(session)));
    }
    if playlist::is_playlist_file(&path) {
        return Ok(OpeningResult::Playlist(playlist::read(&path)?));
    }
    let sessions = scene::open(&path, options)?;
    Ok(OpeningResult::Sessions(Label::Opened(title(&path)), sessions))
}

fn take_opened(
    In(opened): In<OpeningResult>,
    mut project: ProjectParams,
    mut document: ResMut<Document>,
    mut ahead: ResMut<FastForward>,
    mut commands: Commands,
) {
    match opened {
        OpeningResult::Sessions(label, sessions) => {
            let new = label == Label::NewTerrain;
            project.replace_and_notify(label, Simulations::new(sessions), &StoredTimeline::default());
            document.mark_opened(&project);
            commands.trigger(ProjectReplaced { opened: true, presented: false });
            commands.trigger(CameraCommand::FrameAgain);
            project.transport.playing = true;
            ahead.begin(&project.simulations, &mut project.notices);
            pause_imported_terrain(&mut project, new);
        }
        OpeningResult::Playlist(list) => commands.trigger(PresentCommand::Begin(Arc::new(list))),
        OpeningResult::Lesson(lesson, session) => {
            let label = Label::Opened(lesson.head.title.clone());
            project.replace_and_notify(label, Simulations::new(vec![*session]), &StoredTimeline::default());
            document.mark_opened(&project);
            commands.trigger(ProjectReplaced { opened: true, presented: false });
            // Starts paused, as the student goes through the steps at their own pace.
            commands.trigger(CameraCommand::FrameAll);
            commands.trigger(LessonOpened(lesson));
        }
        OpeningResult::Project(path, stored) => {
            let Project { sessions, chosen, views, timeline, file } = *stored;
            if let Some(camera) = views.camera {
                commands.trigger(CameraCommand::Place(camera));
            }
            project.transport.playing = false;
            let mut simulations = Simulations::new(sessions);
            simulations.select(chosen);
            simulations.views = views.saved;
            let opened = !document.adopt_autosave(&path);
            let label = Label::Opened(name(&path));
            if opened {
                project.preferences.remembered.remember_file(&path);
            }
            simulations.file = if opened { Some(path) } else { file }.map(ProjectFile::of);
            project.replace_and_notify(label, simulations, &timeline);
            if opened {
                document.mark_opened(&project);
            }
            commands.trigger(ProjectReplaced { opened, presented: false });
        }
    }
}

/// Loads heights or another map into the current sessions.
pub(super) fn load(
    project: &mut ProjectParams,
    document: &mut Document,
    layer: Layer,
    path: PathBuf,
    options: Options,
) {
    document.autosave_now();
    project.preferences.remember_folder(&path);
    let text = format!("Loading {} as {}…", name(&path), layer.import_title().to_lowercase());
    let job = Job::new(JobKind::Independent, text);
    if layer == Layer::Bedrock {
        let read = move |_: &_| Ok((heightmap::read(&path, &options)?, path, options));
        project.jobs.start(&mut project.notices, job, read, take_heights);
    } else {
        let terrain = &project.simulations.selected().simulation.terrain;
        let size = (terrain.width(), terrain.height());
        let read = move |_: &_| {
            let (map, warnings) = heightmap::read_layer(&path, size, layer)?;
            Ok(LoadedMap { layer, path, map, warnings })
        };
        project.jobs.start(&mut project.notices, job, read, take_map);
    }
}

fn take_heights(
    In((map, path, options)): In<(Heightmap, PathBuf, Options)>,
    mut project: ProjectParams,
    mut commands: Commands,
) {
    let label = Label::Loaded(Layer::Bedrock, name(&path));
    let session = match session_from_heights(&path, options, map, project.simulations.selected()) {
        Ok(session) => session,
        Err(error) => {
            project.notices.notify(NoticeLevel::Error, format!("{error}."));
            return;
        }
    };
    project.replace_and_notify(label, Simulations::new(vec![session]), &StoredTimeline::default());
    commands.trigger(ProjectReplaced { opened: false, presented: false });
    commands.trigger(CameraCommand::FrameAgain);
    pause_imported_terrain(&mut project, false);
}

/// Loaded map with its warnings.
struct LoadedMap {
    layer: Layer,
    path: PathBuf,
    map: Grid,
    warnings: Vec<String>,
}

fn take_map(In(loaded): In<LoadedMap>, mut project: ProjectParams, mut commands: Commands) {
    let LoadedMap { layer, path, map, warnings } = loaded;
    match simulations_with_map(&project.simulations, layer, &path, &map, &warnings) {
        Ok(changed) => {
            project.replace_and_notify(Label::Loaded(layer, name(&path)), changed, &StoredTimeline::default());
            commands.trigger(ProjectReplaced { opened: false, presented: false });
        }
        Err(error) => {
            project.notices.notify(NoticeLevel::Error, format!("{error}."));
        }
    }
}

/// Pauses imported or new terrain, so that the user sees it before it changes.
fn pause_imported_terrain(project: &mut ProjectParams, new: bool) {
    if project.simulations.selected().is_imported_map() || new {
        project.transport.pause();
        project.notices.offer_play();
    }
}

/// Returns the current simulations at their start, with another map of sand, softness, rain, water or sediment.
fn simulations_with_map(
    simulations: &Simulations,
    layer: Layer,
    path: &Path,
    map: &Grid,
    warnings: &[String],
) -> Result<Simulations, Error> {
    // The current simulations stay in memory beside the new ones until the history has packed them.
    Budget::present().request(path, simulations.all().iter().map(Session::bytes).sum())?;
    let mut changed = simulations.with_new_project_id();
    for session in changed.all_mut() {
        session.record_sculpted_start();
        session.set_map(layer, path, map.clone()).map_err(|unfit| Error::unfit(path, unfit))?;
        session.warnings = warnings.to_vec();
        session.restart(session.simulation.seed());
    }
    Ok(changed)
}

impl ProjectParams<'_> {
    /// Replaces the current project.
    pub(super) fn replace(&mut self, label: Label, new: Simulations, keyframes: &StoredTimeline) {
        self.drop_restarts();
        self.history.replace(&mut self.simulations, label, |simulations| *simulations = new);
        self.history.begin_with(keyframes, &self.simulations);
        self.mark_started();
    }

    /// Replaces the current project, and notifies the user.
    fn replace_and_notify(&mut self, label: Label, new: Simulations, keyframes: &StoredTimeline) {
        let ticks = self.simulations.ticks();
        let text = format!("{}.", capital(&label.to_string()));
        self.replace(label, new, keyframes);
        let mut warnings: Vec<String> =
            self.simulations.all().iter().flat_map(|session| session.warnings.iter().cloned()).collect();
        warnings.dedup();
        for warning in warnings {
            self.notices.notify(NoticeLevel::Warning, warning);
        }
        self.notices.retract(EditCommand::Undo);
        if ticks > 0 {
            self.offer_undo(format!("{text} Undo restores the previous {ticks} ticks."));
        } else {
            self.notices.notify(NoticeLevel::Info, text);
        }
    }
}

/// Returns the title of an input.
pub(super) fn title(input: &Path) -> String {
    scene::title_of(&input.to_string_lossy()).unwrap_or_else(|| name(input))
}

/// Creates a session from a heightmap, with the lighting, colours and processes of another.
fn session_from_heights(path: &Path, options: Options, map: Heightmap, old: &Session) -> Result<Session, Error> {
    let origin = Origin { input: path.to_owned(), options, ..Origin::default() };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut fresh = heightmap::session(&stem, map, origin)?;
    fresh.look = old.look.clone();
    fresh.water_look = old.water_look.clone();
    fresh.rivers = old.rivers.clone();
    fresh.simulation.copy_settings_from(&old.simulation);
    Ok(fresh)
}
