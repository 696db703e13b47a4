//! Files, messages and the end of the program.

use std::path::{Path, PathBuf};

use bevy::prelude::*;

use super::{
    CommandEvent, Document, EditCommand, Eye, Job, JobKind, Label, Level, Notices, Work,
    document::{self, project},
    jobs::{name, tell_written},
    opening,
};
use thalweg_scene::{
    io::{
        Budget, Error, JobProgress, NewLand,
        export::{self, Dimensions, Export, Subject},
        keep::Keeper,
        preset::Preset,
        project::Project,
        reference, scene,
    },
    model::origin::Options,
    settings::{Settings, reference_folder},
};
use thalweg_sim::core::terrain::Layer;

/// Files, messages and the end of the program.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum FileCommand {
    /// Opens a scene by name, a scene file, a project, a lesson, a playlist or a heightmap.
    Open(PathBuf, Options),
    /// Begins on new land.
    New(Box<NewLand>),
    /// Loads heights or a map into the present sessions.
    Load(Layer, PathBuf, Options),
    /// Writes a map of the chosen session; the name's ending tells the format.
    SaveMap(&'static str, PathBuf),
    /// Writes the chosen session as a scene file.
    SaveScene(PathBuf),
    /// Writes the work as a project.
    SaveProject(PathBuf),
    /// Writes the parameters of a group, or of all, as a preset.
    SavePreset(Option<&'static str>, PathBuf),
    /// Sets the parameters that a preset holds.
    LoadPreset(PathBuf),
    /// Sets the parameters of the preset of this name that comes with the program.
    UsePreset(&'static str),
    /// Writes results of the chosen session into a folder, with a word before each name.
    Export(PathBuf, String, Vec<Export>, Dimensions),
    /// Shows the reference in the system's browser, at the parameter or the process of this name, or its beginning.
    OpenReference(Option<String>),
    /// Shows a folder in the system's file manager.
    OpenFolder(PathBuf),
    /// Gives up the work that a message tells of.
    CancelJob(u64),
    /// A message was read.
    Dismiss(u64),
    /// Deletes work that was left behind by a breakdown.
    ThrowAway(PathBuf),
    /// Ends the program; asks, if there is unsaved work.
    Quit,
    /// Ends the program, saved or not.
    QuitUnsaved,
    /// Ends the program as soon as the work is saved.
    QuitWhenSaved,
    /// Does not end the program after all.
    Stay,
}

impl CommandEvent for FileCommand {
    fn needs_the_work(&self) -> bool {
        !matches!(
            self,
            Self::CancelJob(_)
                | Self::Dismiss(_)
                | Self::OpenFolder(_)
                | Self::OpenReference(_)
                | Self::Quit
                | Self::QuitUnsaved
                | Self::QuitWhenSaved
                | Self::Stay
                | Self::ThrowAway(_)
        )
    }

    fn follows_strokes(&self) -> bool {
        true
    }
}

pub(super) fn plugin(app: &mut App) {
    app.add_observer(obey);
}

fn obey(
    command: On<FileCommand>,
    mut work: Work,
    mut document: ResMut<Document>,
    eye: Res<Eye>,
    mut leave: MessageWriter<AppExit>,
) {
    match command.event() {
        FileCommand::Open(input, options) => opening::open(&mut work, &mut document, input, options),
        FileCommand::New(land) => opening::make(&mut work, &mut document, land.clone()),
        FileCommand::Load(layer, path, options) => {
            opening::load(&mut work, &mut document, *layer, path.clone(), options.clone());
        }
        FileCommand::SaveMap(map, path) => save_map(&mut work, map, path.clone()),
        FileCommand::SaveScene(path) => save_scene(&mut work, path.clone()),
        FileCommand::SaveProject(path) => save_project(&mut work, path.clone(), *eye),
        // A few lines of text: no need for the background.
        FileCommand::SavePreset(group, path) => {
            let saved = Preset::of(work.simulations.selected(), *group).save(path);
            work.tell(saved, format!("Saved {}.", path.display()));
        }
        FileCommand::LoadPreset(path) => {
            work.preferences.remember_folder(path);
            let loaded = Preset::load(path).and_then(|preset| set_preset(&mut work, preset, path));
            work.tell(loaded, format!("Set the parameters from {}.", path.display()));
        }
        FileCommand::UsePreset(name) => {
            if let Some(preset) = Preset::built_in(name) {
                let set = set_preset(&mut work, preset.clone(), Path::new(name));
                work.tell(set, format!("Set the values of {}.", preset.title));
            }
        }
        FileCommand::Export(folder, before, exports, dimensions) => {
            export(&mut work, folder.clone(), before.clone(), exports.clone(), *dimensions);
        }
        FileCommand::OpenReference(at) => {
            let folder = reference_folder();
            let opened = reference::write(&folder, ("settings", &Settings::default())).and_then(|()| {
                let page = match at {
                    Some(at) => reference::write_way(&folder, at)?,
                    None => folder.join(reference::PAGE),
                };
                open::that_detached(&page)
                    .map_err(|error| Error::output(&page, format!("no browser opens it ({error})"), "open it yourself"))
            });
            if let Err(error) = opened {
                work.notices.tell(Level::Error, format!("{error}."));
            }
        }
        FileCommand::OpenFolder(path) => {
            // One that nothing was written to yet is empty.
            let _ = std::fs::create_dir_all(path);
            if let Err(error) = open::that_detached(path) {
                let text = format!("{}: no file manager opens it ({error}).", path.display());
                work.notices.tell(Level::Error, text);
            }
        }
        FileCommand::CancelJob(id) => work.notices.cancel(*id),
        FileCommand::Dismiss(id) => work.notices.dismiss(*id),
        FileCommand::ThrowAway(path) => Keeper::take_over(path).into_iter().for_each(Keeper::end),
        // Then there is something to be saved again.
        FileCommand::Quit if work.jobs.hold() => {
            work.jobs.cancel_changes();
            work.notices.tell(Level::Info, "Cancelled. Quit again to exit.");
        }
        FileCommand::Quit if document.unsaved(&work.history) => document.asks = true,
        FileCommand::Quit | FileCommand::QuitUnsaved => drop(leave.write(AppExit::Success)),
        FileCommand::QuitWhenSaved => document.answered(true),
        FileCommand::Stay => document.answered(false),
    }
}

fn save_map(work: &mut Work, map: &'static str, path: PathBuf) {
    let mut session = work.simulations.selected().clone();
    let job = Job::new(JobKind::Beside, format!("Saving {map} as {}…", name(&path)));
    let save = move |progress: &JobProgress| {
        document::finish_tick(&mut session, &path)?;
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let exports: Vec<Export> = Export::new(map, &ending).into_iter().collect();
        let subject = Subject::new(&session, Dimensions::default(), &exports)?;
        Export::save(map, &subject, &path, progress)?;
        Ok(path)
    };
    work.jobs.start(&mut work.notices, job, save, tell_written);
}

fn save_scene(work: &mut Work, path: PathBuf) {
    let mut session = work.simulations.selected().clone();
    let job = Job::new(JobKind::Beside, format!("Saving {}…", name(&path)));
    let save = move |progress: &JobProgress| {
        document::finish_tick(&mut session, &path)?;
        scene::save(&session, &path, progress)?;
        Ok(path)
    };
    work.jobs.start(&mut work.notices, job, save, tell_written);
}

/// Writes several results into a folder, with a word before each name.
fn export(work: &mut Work, folder: PathBuf, before: String, exports: Vec<Export>, dimensions: Dimensions) {
    let mut session = work.simulations.selected().clone();
    let mut job = Job::new(JobKind::Beside, format!("Writing into {}…", folder.display()));
    job.cancels = true;
    let save = move |progress: &JobProgress| {
        document::finish_tick(&mut session, &folder)?;
        let subject = Subject::new(&session, dimensions, &exports)?;
        let written = export::save_all(&exports, &subject, &folder, &before, progress)?;
        Ok((folder, written.len()))
    };
    let tell = |In((folder, count)): In<(PathBuf, usize)>, mut notices: ResMut<Notices>| {
        notices.offer_folder(format!("Wrote {count} files into {}.", folder.display()), &folder);
    };
    work.jobs.start(&mut work.notices, job, save, tell);
}

/// A project that was saved.
struct Saved {
    path: PathBuf,
    /// The count of changes and ticks of what was saved, and the number of that work.
    now: (u64, u64),
    work: u64,
    /// How large it is, as the end of a sentence.
    size: String,
}

fn save_project(work: &mut Work, path: PathBuf, eye: Eye) {
    work.preferences.remember_folder(&path);
    work.history.end_stroke();
    let mut project = project(&work.simulations, eye);
    if work.preferences.settings.save_timeline {
        let (timeline, left_out) = work.history.keyframes(&work.simulations);
        project.timeline = timeline;
        if left_out > 0 {
            let text = match left_out {
                1 => "The oldest stroke that was taken back is not in the project.".to_owned(),
                _ => format!("The oldest {left_out} strokes that were taken back are not in the project."),
            };
            work.notices.tell(Level::Warning, text);
        }
    }
    let now = (work.history.changes(), work.simulations.ticks());
    let of = work.simulations.work();
    let mut job = Job::new(JobKind::Saves, format!("Saving {}…", name(&path)));
    job.fails = |world| {
        world.resource_mut::<Document>().leaves();
    };
    let save = move |progress: &JobProgress| {
        document::save(&mut project, &path, progress)?;
        let size = size_of(&path, &project);
        Ok(Saved { path, now, work: of, size })
    };
    work.jobs.start(&mut work.notices, job, save, take_saved);
}

fn size_of(path: &Path, project: &Project) -> String {
    let timeline = Budget::of(project.timeline.bytes());
    let size = std::fs::metadata(path).ok().map(|file| Budget::of(file.len()));
    match (size, project.timeline.frames.len()) {
        (None, _) => ".".to_owned(),
        (Some(size), 0) => format!(": {size}."),
        (Some(size), 1) => format!(": {size}. The timeline takes {timeline} (1 state)."),
        (Some(size), states) => format!(": {size}. The timeline takes {timeline} ({states} states)."),
    }
}

fn take_saved(In(saved): In<Saved>, mut work: Work, mut document: ResMut<Document>, mut leave: MessageWriter<AppExit>) {
    let Saved { path, now, work: of, size } = saved;
    work.preferences.remember_file(&path);
    work.notices.tell(Level::Info, format!("Saved {}{size}", path.display()));
    // Another work may have taken its place meanwhile.
    if work.simulations.work() == of {
        work.simulations.file = Some(path);
        document.is_saved(now);
    }
    if document.leaves() {
        leave.write(AppExit::Success);
    }
}

/// Sets the parameters that a preset holds, but for those in which runs side by side differ by design.
fn set_preset(work: &mut Work, mut preset: Preset, path: &Path) -> Result<(), Error> {
    let tiles = work.simulations.all().iter().filter_map(|session| session.tile.as_ref());
    tiles.flat_map(|tile| tile.set.keys()).for_each(|path| drop(preset.parameters.remove(path)));
    preset.apply(&mut work.simulations.selected().outline(), path)?;
    work.notices.retract(EditCommand::Undo);
    let mut applied = Ok(());
    work.history.set(&mut work.simulations, Label::Preset, false, |simulations| {
        applied = simulations.all_mut().iter_mut().try_for_each(|session| preset.apply(session, path));
    });
    applied
}
