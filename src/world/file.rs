//! Commands for files, notifications and quitting.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, mpsc},
};

use bevy::prelude::*;

use super::{
    AppCommandEvent, CameraPose, Document, EditCommand, Job, JobKind, Label, NoticeLevel, Notices, ProjectParams,
    document, jobs::name, opening,
};
use thalweg_scene::{
    io::{
        Budget, Error, JobProgress, NewTerrain,
        export::{self, Dimensions, Export, ExportSubject},
        preset::Preset,
        project::{Project, ProjectFile},
        recovery::RecoverySlot,
        reference, scene,
    },
    model::origin::Options,
    settings::{Settings, reference_folder},
};
use thalweg_sim::core::terrain::Layer;

/// Command for files, notifications or quitting.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum FileCommand {
    /// Opens a scene by name, a scene file, a project, a lesson, a playlist or a heightmap.
    Open(PathBuf, Options),
    /// Creates new terrain.
    New(Box<NewTerrain>),
    /// Loads heights or another map into the current simulations.
    Load(Layer, PathBuf, Options),
    /// Exports a map of the selected simulation; the file extension selects the format.
    SaveMap(&'static str, PathBuf),
    /// Saves the selected simulation as a scene file.
    SaveScene(PathBuf),
    /// Saves the project. Asks before it overwrites changes that another program has made to its file.
    SaveProject(PathBuf),
    /// Saves the project even if another program has changed the file.
    OverwriteProject(PathBuf),
    /// Saves the parameters of a group, or of all groups, as a preset.
    SavePreset(Option<&'static str>, PathBuf),
    /// Applies a preset file.
    LoadPreset(PathBuf),
    /// Applies the built-in preset of this name.
    UsePreset(&'static str),
    /// Exports results of the selected simulation to a folder, with a prefix for file names.
    Export(PathBuf, String, Vec<Export>, Dimensions),
    /// Opens the reference in the browser, at a parameter or process, or at the start.
    OpenReference(Option<String>),
    /// Opens a folder in the file manager.
    OpenFolder(PathBuf),
    /// Cancels the job of a notification.
    CancelJob(u64),
    /// Dismisses a notification.
    Dismiss(u64),
    /// Deletes an autosave left by a crash.
    DiscardAutosave(PathBuf),
    /// Exits the program once all files are written, after asking about unsaved changes; if it is already waiting for files, cancels exports.
    Quit,
    /// Exits the program without saving the project; if it is already waiting for files, cancels exports.
    QuitUnsaved,
    /// Exits the program once the project is saved.
    QuitWhenSaved,
    /// Cancels quitting.
    CancelQuit,
}

impl AppCommandEvent for FileCommand {
    fn requires_project(&self) -> bool {
        !matches!(
            self,
            Self::CancelJob(_)
                | Self::Dismiss(_)
                | Self::OpenFolder(_)
                | Self::OpenReference(_)
                | Self::Quit
                | Self::QuitUnsaved
                | Self::QuitWhenSaved
                | Self::CancelQuit
                | Self::DiscardAutosave(_)
        )
    }

    fn flushes_strokes(&self) -> bool {
        true
    }
}

pub(super) fn plugin(app: &mut App) {
    app.add_observer(handle_command);
}

fn handle_command(
    command: On<FileCommand>,
    mut project: ProjectParams,
    mut document: ResMut<Document>,
    pose: Res<CameraPose>,
    mut leave: MessageWriter<AppExit>,
) {
    match command.event() {
        FileCommand::Open(input, options) => opening::open(&mut project, &mut document, input, options),
        FileCommand::New(land) => opening::create_terrain(&mut project, &mut document, land.clone()),
        FileCommand::Load(layer, path, options) => {
            opening::load(&mut project, &mut document, *layer, path.clone(), options.clone());
        }
        FileCommand::SaveMap(map, path) => save_map(&mut project, map, path),
        FileCommand::SaveScene(path) => save_scene(&mut project, path),
        FileCommand::SaveProject(path) => {
            let known = project.simulations.file.clone().filter(|file| file.path == *path);
            save_project(&mut project, path.clone(), *pose, known);
        }
        FileCommand::OverwriteProject(path) => save_project(&mut project, path.clone(), *pose, None),
        FileCommand::SavePreset(group, path) => {
            let preset = Preset::of(project.simulations.selected(), *group);
            project.jobs.save(&mut project.notices, path, move |path, _| preset.save(path));
        }
        FileCommand::LoadPreset(path) => {
            project.preferences.remember_folder(path);
            let path = path.clone();
            let load = move |_: &JobProgress| Preset::load(&path).map(|preset| (preset, path));
            let apply = |In((preset, path)): In<(Preset, PathBuf)>, mut project: ProjectParams| {
                let applied = set_preset(&mut project, preset, &path);
                project.notify_result(applied, format!("Loaded parameters from {}.", path.display()));
            };
            project.jobs.start(&mut project.notices, Job::new(JobKind::Independent, ""), load, apply);
        }
        FileCommand::UsePreset(name) => {
            if let Some(preset) = Preset::built_in(name) {
                let set = set_preset(&mut project, preset.clone(), Path::new(name));
                project.notify_result(set, format!("Applied the preset {}.", preset.title));
            }
        }
        FileCommand::Export(folder, before, exports, dimensions) => {
            export(&mut project, folder.clone(), before.clone(), exports.clone(), *dimensions);
        }
        FileCommand::OpenReference(at) => {
            let folder = reference_folder();
            let at = at.clone();
            let open = move |_: &JobProgress| {
                reference::write(&folder, ("settings", &Settings::default()))?;
                let page = match &at {
                    Some(at) => reference::write_redirect(&folder, at)?,
                    None => folder.join(reference::PAGE),
                };
                open::that_detached(&page).map_err(|error| {
                    Error::output(
                        &page,
                        format!("the browser could not be started ({error})"),
                        "open the file manually",
                    )
                })
            };
            project.jobs.start(&mut project.notices, Job::new(JobKind::Independent, ""), open, |In(()): In<()>| ());
        }
        FileCommand::OpenFolder(path) => {
            // Create it if nothing was written there yet.
            let _ = std::fs::create_dir_all(path);
            if let Err(error) = open::that_detached(path) {
                let text = format!("{}: the file manager could not be started ({error}).", path.display());
                project.notices.notify(NoticeLevel::Error, text);
            }
        }
        FileCommand::CancelJob(id) => project.notices.cancel(*id),
        FileCommand::Dismiss(id) => project.notices.dismiss(*id),
        FileCommand::DiscardAutosave(path) => RecoverySlot::adopt(path).into_iter().for_each(RecoverySlot::end),
        // Cancelling restores a state that may need saving.
        FileCommand::Quit if project.jobs.is_project_locked() => {
            project.jobs.cancel_changes();
            project.notices.notify(NoticeLevel::Info, "Job cancelled. Choose Quit again to close Thalweg.");
        }
        // Asked for once more, such as in a presentation, which does not show that files are being written.
        FileCommand::Quit | FileCommand::QuitUnsaved
            if document.exits_when_written() && !document.has_changed_since_exit(&project.history) =>
        {
            project.jobs.cancel_exports();
            leave.write(AppExit::Success);
        }
        FileCommand::QuitUnsaved if document.exits_when_written() => {
            document.cancel_exit(&mut project.notices);
            document.asks_to_save = true;
        }
        FileCommand::Quit if document.unsaved(&project.history) || project.restarts.is_active() => {
            document.cancel_exit(&mut project.notices);
            document.asks_to_save = true;
        }
        FileCommand::Quit | FileCommand::QuitUnsaved => {
            project.jobs.cancel_changes();
            document.exit_when_written(project.history.changes());
        }
        FileCommand::QuitWhenSaved => document.exit_when_saved(&mut project.notices),
        FileCommand::CancelQuit => {
            document.asks_to_save = false;
            document.cancel_exit(&mut project.notices);
        }
    }
}

fn save_map(project: &mut ProjectParams, map: &'static str, path: &Path) {
    let mut session = project.simulations.selected().clone();
    let (warnings, shown) = mpsc::channel();
    let save = move |path: &Path, progress: &JobProgress| {
        document::finish_tick(&mut session, path)?;
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let exports: Vec<Export> = Export::new(map, &ending).into_iter().collect();
        let subject = ExportSubject::new(&session, Dimensions::default(), &exports)?;
        subject.warnings(&exports).into_iter().for_each(|warning| {
            // Nobody listens after the project was replaced.
            let _ = warnings.send(warning);
        });
        Export::save(map, &subject, path, progress)
    };
    let shown = Mutex::new(shown);
    project.jobs.save_then(&mut project.notices, path, save, move |world| {
        let shown = shown.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut notices = world.resource_mut::<Notices>();
        for warning in shown {
            notices.notify(NoticeLevel::Warning, format!("{warning}."));
        }
    });
}

fn save_scene(project: &mut ProjectParams, path: &Path) {
    let mut session = project.simulations.selected().clone();
    project.jobs.save(&mut project.notices, path, move |path, progress| {
        document::finish_tick(&mut session, path)?;
        scene::save(&session, path, progress)
    });
}

/// Exports several results to a folder, with a prefix for file names.
fn export(project: &mut ProjectParams, folder: PathBuf, before: String, exports: Vec<Export>, dimensions: Dimensions) {
    let mut session = project.simulations.selected().clone();
    let mut job = Job::new(JobKind::Independent, format!("Exporting to {}…", folder.display()));
    job.is_cancellable = true;
    let save = move |progress: &JobProgress| {
        document::finish_tick(&mut session, &folder)?;
        let subject = ExportSubject::new(&session, dimensions, &exports)?;
        let written = export::save_all(&exports, &subject, &folder, &before, progress)?;
        Ok((folder, written.len(), subject.warnings(&exports)))
    };
    type Exported = (PathBuf, usize, Vec<&'static str>);
    let tell = |In((folder, count, warnings)): In<Exported>, mut notices: ResMut<Notices>| {
        for warning in warnings {
            notices.notify(NoticeLevel::Warning, format!("{warning}."));
        }
        notices.offer_folder(format!("Exported {count} files to {}.", folder.display()), &folder);
    };
    project.jobs.start(&mut project.notices, job, save, tell);
}

/// Result of saving a project.
struct SavedProject {
    file: ProjectFile,
    /// Change count and tick of the saved state, and the identifier of its project.
    now: (u64, u64),
    project_id: u64,
    /// File size, as the end of a sentence.
    size: String,
}

/// Result of a job that saves the project.
enum SaveResult {
    Saved(SavedProject),
    /// Another program has changed the file at this path.
    Changed(PathBuf),
}

/// Saves the project, unless another program has changed the `known` file since.
fn save_project(project: &mut ProjectParams, path: PathBuf, pose: CameraPose, known: Option<ProjectFile>) {
    project.preferences.remember_folder(&path);
    project.history.end_stroke();
    let mut copy = document::project(&project.simulations, pose);
    if project.preferences.settings.save_timeline {
        let (timeline, left_out) = project.history.snapshots(&project.simulations);
        copy.timeline = timeline;
        if left_out > 0 {
            let text = match left_out {
                1 => "The oldest undone stroke was not saved with the project.".to_owned(),
                _ => format!("The oldest {left_out} undone strokes were not saved with the project."),
            };
            project.notices.notify(NoticeLevel::Warning, text);
        }
    }
    let now = (project.history.changes(), project.simulations.ticks());
    let of = project.simulations.project_id();
    let job = Job::new(JobKind::Save, format!("Saving {}…", name(&path)));
    let save = move |progress: &JobProgress| {
        if known.is_some_and(|file| file.is_changed()) {
            return Ok(SaveResult::Changed(path));
        }
        document::save(&mut copy, &path, progress)?;
        let size = size_of(&path, &copy);
        Ok(SaveResult::Saved(SavedProject { file: ProjectFile::of(path), now, project_id: of, size }))
    };
    project.jobs.start(&mut project.notices, job, save, take_saved);
}

fn size_of(path: &Path, project: &Project) -> String {
    let timeline = Budget::of(project.timeline.bytes());
    let size = std::fs::metadata(path).ok().map(|file| Budget::of(file.len()));
    match (size, project.timeline.frames.len()) {
        (None, _) => ".".to_owned(),
        (Some(size), 0) => format!(": {size}."),
        (Some(size), 1) => format!(": {size}. Timeline: {timeline} (1 state)."),
        (Some(size), states) => format!(": {size}. Timeline: {timeline} ({states} states)."),
    }
}

/// Completes saving, or offers to overwrite a file that another program has changed.
fn take_saved(In(saved): In<SaveResult>, mut project: ProjectParams, mut document: ResMut<Document>) {
    let SavedProject { file, now, project_id: of, size } = match saved {
        SaveResult::Saved(saved) => saved,
        SaveResult::Changed(path) => {
            document.cancel_exit(&mut project.notices);
            let text = format!(
                "Not saved: another program has changed {} since it was opened or saved here. Overwrite it, or choose File ▸ Save as.",
                name(&path)
            );
            let overwrite = FileCommand::OverwriteProject(path);
            project.notices.offer(NoticeLevel::Error, text, Some(("Overwrite", overwrite.into())));
            return;
        }
    };
    project.preferences.remembered.remember_file(&file.path);
    project.notices.notify(NoticeLevel::Info, format!("Saved {}{size}", file.path.display()));
    // Another project may have been opened meanwhile.
    if project.simulations.project_id() == of {
        project.simulations.file = Some(file);
        document.mark_saved(now);
    }
    if document.exits_when_saved() {
        document.exit_when_written(now.0);
    }
}

/// Applies a preset, except for parameters in which simulations side by side differ by design.
fn set_preset(project: &mut ProjectParams, mut preset: Preset, path: &Path) -> Result<(), Error> {
    let tiles = project.simulations.all().iter().filter_map(|session| session.tile.as_ref());
    tiles.flat_map(|tile| tile.set.keys()).for_each(|path| drop(preset.parameters.remove(path)));
    preset.apply(&mut project.simulations.selected().outline(), path)?;
    project.notices.retract(EditCommand::Undo);
    let mut applied = Ok(());
    project.history.set(&mut project.simulations, Label::Preset, false, |simulations| {
        applied = simulations.all_mut().iter_mut().try_for_each(|session| preset.apply(session, path));
    });
    applied
}
