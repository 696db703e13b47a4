//! Files, messages and the end of the program.

use std::path::{Path, PathBuf};

use bevy::prelude::*;

use super::Runtime;
use crate::runtime::{EditCommand, FileCommand, Label, Level, document::project, jobs::Task};
use thalweg_scene::{
    io::{Error, keep::Keeper, preset::Preset, reference},
    settings::{Settings, reference_folder},
};

impl Runtime<'_> {
    pub(super) fn file(&mut self, command: &FileCommand) {
        if let Some(folder) = command.file().and_then(Path::parent).filter(|folder| folder.is_dir()) {
            self.preferences.remembered.last_folder = Some(folder.to_owned());
        }
        match command {
            FileCommand::Open(input, options) => self.start(Task::Open(input.clone(), options.clone())),
            FileCommand::New(land) => self.start(Task::New(land.clone())),
            FileCommand::Load(layer, path, options) => {
                let terrain = &self.simulations.selected().simulation.terrain;
                let size = (terrain.width(), terrain.height());
                self.start(Task::Load(*layer, path.clone(), options.clone(), size));
            }
            FileCommand::LoadStamp(path) => self.start(Task::Stamp(path.clone())),
            FileCommand::SaveMap(map, path) => {
                self.start(Task::SaveMap(map, path.clone(), Box::new(self.simulations.selected().clone())));
            }
            FileCommand::SaveScene(path) => {
                self.start(Task::SaveScene(path.clone(), Box::new(self.simulations.selected().clone())));
            }
            FileCommand::SaveProject(path) => self.save_project(path.clone()),
            // A few lines of text: no need for the background.
            FileCommand::SavePreset(group, path) => {
                let saved = Preset::of(self.simulations.selected(), *group).save(path);
                self.tell(saved, format!("Saved {}.", path.display()));
            }
            FileCommand::LoadPreset(path) => {
                let loaded = Preset::load(path).and_then(|preset| self.set_preset(preset, path));
                self.tell(loaded, format!("Set the parameters from {}.", path.display()));
            }
            FileCommand::UsePreset(name) => {
                if let Some(preset) = Preset::built_in(name) {
                    let set = self.set_preset(preset.clone(), Path::new(name));
                    self.tell(set, format!("Set the values of {}.", preset.title));
                }
            }
            FileCommand::Export(folder, before, exports, settings) => {
                let session = Box::new(self.simulations.selected().clone());
                self.start(Task::Export(folder.clone(), before.clone(), exports.clone(), *settings, session));
            }
            FileCommand::OpenReference(at) => {
                let folder = reference_folder();
                let opened = reference::write(&folder, ("settings", &Settings::default())).and_then(|()| {
                    let page = match at {
                        Some(at) => reference::write_way(&folder, at)?,
                        None => folder.join(reference::PAGE),
                    };
                    open::that_detached(&page).map_err(|error| {
                        Error::output(&page, format!("no browser opens it ({error})"), "open it yourself")
                    })
                });
                if let Err(error) = opened {
                    self.notices.tell(Level::Error, format!("{error}."));
                }
            }
            FileCommand::OpenFolder(path) => {
                // One that nothing was written to yet is empty.
                let _ = std::fs::create_dir_all(path);
                if let Err(error) = open::that_detached(path) {
                    let text = format!("{}: no file manager opens it ({error}).", path.display());
                    self.notices.tell(Level::Error, text);
                }
            }
            FileCommand::CancelJob(id) => self.notices.cancel(*id),
            FileCommand::Dismiss(id) => self.notices.dismiss(*id),
            FileCommand::ThrowAway(path) => Keeper::take_over(path).into_iter().for_each(Keeper::end),
            // Then there is something to be saved again.
            FileCommand::Quit if self.jobs.hold() => {
                self.jobs.cancel_changes();
                self.notices.tell(Level::Info, "That work is given up; quit again.");
            }
            FileCommand::Quit if self.document.unsaved(&self.history) => self.document.asks = true,
            FileCommand::Quit | FileCommand::QuitUnsaved => drop(self.leave.write(AppExit::Success)),
            FileCommand::QuitWhenSaved => self.document.answered(true),
            FileCommand::Stay => self.document.answered(false),
        }
    }

    pub(super) fn start(&mut self, task: Task) {
        self.jobs.start(&mut self.notices, task);
    }

    /// Tells that something was done, or why not.
    pub(super) fn tell(&mut self, done: Result<(), Error>, text: String) {
        match done {
            Ok(()) => self.notices.tell(Level::Info, text),
            Err(error) => self.notices.tell(Level::Error, format!("{error}.")),
        };
    }

    fn save_project(&mut self, path: PathBuf) {
        self.history.end_stroke();
        let mut project = project(&self.simulations, *self.eye);
        if self.preferences.settings.save_timeline {
            let (timeline, left_out) = self.history.keyframes(&self.simulations);
            project.timeline = timeline;
            if left_out > 0 {
                let text = match left_out {
                    1 => "The oldest stroke that was taken back is not in the project.".to_owned(),
                    _ => format!("The oldest {left_out} strokes that were taken back are not in the project."),
                };
                self.notices.tell(Level::Warning, text);
            }
        }
        let now = (self.history.changes(), self.simulations.ticks());
        self.start(Task::SaveProject(path, project, now, self.simulations.work()));
    }

    /// Sets the parameters that a preset holds, but for those in which runs side by side differ by design.
    fn set_preset(&mut self, mut preset: Preset, path: &Path) -> Result<(), Error> {
        let tiles = self.simulations.all().iter().filter_map(|session| session.tile.as_ref());
        tiles.flat_map(|tile| tile.set.keys()).for_each(|path| drop(preset.parameters.remove(path)));
        preset.apply(&mut self.simulations.selected().outline(), path)?;
        self.notices.retract(EditCommand::Undo);
        let mut applied = Ok(());
        self.history.set(&mut self.simulations, Label::Preset, false, |simulations| {
            applied = simulations.all_mut().iter_mut().try_for_each(|session| preset.apply(session, path));
        });
        applied
    }
}
