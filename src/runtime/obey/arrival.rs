//! What finished jobs bring. What was changed meanwhile stays.

use std::{
    path::Path,
    sync::{Arc, PoisonError},
};

use bevy::prelude::*;

use super::Runtime;
use crate::runtime::{
    Command, EditCommand, FileCommand, History, Label, Level, PresentCommand, Revision, Simulations, ViewCommand,
    amount::length,
    document::remember_file,
    jobs::{Held, Job, JobOutcome, Jobs, name},
};
use thalweg_scene::{
    io::{
        Budget, Error, heightmap,
        project::{Keyframes, Project},
    },
    model::{
        origin::{Heightmap, Options, Origin},
        session::Session,
    },
};
use thalweg_sim::{
    core::{grid::Grid, terrain::Layer},
    edit::Tool,
    params::capital,
};

/// Takes over what finished jobs bring.
pub(in crate::runtime) fn take_over_jobs(mut runtime: Runtime, mut commands: MessageWriter<Command>) {
    // Looked at every frame, changed rarely.
    while let Some(Job { notice, work, progress, saves, holds, opens }) =
        runtime.jobs.bypass_change_detection().take_finished()
    {
        notice.into_iter().for_each(|notice| runtime.notices.dismiss(notice));
        if holds {
            runtime.put_back();
        }
        let failed = match work.join() {
            // Another work was chosen meanwhile, or none, or the work is to stay as it was.
            Some(_) if (opens || holds) && progress.is_cancelled() => {
                if notice.is_some() {
                    runtime.notices.tell(Level::Info, "Cancelled; all is as it was.");
                }
                None
            }
            Some(Ok(outcome)) => runtime.take_over(outcome, &mut commands).err().map(|error| format!("{error}.")),
            Some(Err(_)) if progress.is_cancelled() => {
                runtime.notices.tell(Level::Info, "Cancelled; all is as it was.");
                None
            }
            Some(Err(error)) => {
                runtime.presentation.fails();
                Some(format!("{error}."))
            }
            None => {
                runtime.presentation.fails();
                Some("The work stopped because of a fault in the program. A report is in the log folder.".to_owned())
            }
        };
        if let Some(text) = failed {
            runtime.notices.tell(Level::Error, text);
            if saves {
                runtime.document.leaves();
            }
        }
    }
}

/// Shows the last of a range that grows. What stands there is put away until it has grown.
pub(in crate::runtime) fn show_growth(
    jobs: Res<Jobs>,
    mut simulations: ResMut<Simulations>,
    mut revision: ResMut<Revision>,
) {
    let Some(Held { sheets, .. }) = &jobs.held else { return };
    let sheets: Vec<_> = sheets.lock().unwrap_or_else(PoisonError::into_inner).iter_mut().map(Option::take).collect();
    for (session, sheet) in simulations.all_mut().iter_mut().zip(sheets) {
        let Some([bedrock, sand]) = sheet else { continue };
        let terrain = &mut session.simulation.terrain;
        (terrain.bedrock, terrain.sand) = (bedrock, sand);
        terrain.set_layer(Layer::Water, None);
        revision.goes_on();
    }
}

impl Runtime<'_> {
    /// Puts the work back in its place.
    fn put_back(&mut self) {
        if let Some(Held { before, .. }) = self.jobs.held.take() {
            *self.simulations = Arc::unwrap_or_clone(before);
            self.revision.goes_on();
        }
    }

    fn take_over(&mut self, outcome: JobOutcome, commands: &mut MessageWriter<Command>) -> Result<(), Error> {
        match outcome {
            JobOutcome::Sessions(label, sessions) => {
                let new = label == Label::NewLand;
                self.replace(label, Simulations::new(sessions), Keyframes::default(), true);
                commands.write(ViewCommand::FrameAgain.into());
                self.transport.playing = true;
                self.ahead.begin(&self.simulations, &mut self.notices);
                self.stand_still_on_own_land(new);
            }
            JobOutcome::Playlist(list) => {
                commands.write(PresentCommand::Begin(Arc::new(list), false).into());
            }
            // The show was left meanwhile.
            JobOutcome::Performed(..) if !self.presentation.is_on() => {}
            JobOutcome::Performed(title, sessions, keys) => {
                if self.presentation.is_kiosk() {
                    // Nobody takes anything back.
                    *self.history = History::default();
                }
                let mut simulations = Simulations::new(sessions);
                // Where the scene does not say how it is seen, it is seen as usual; a kiosk turns it.
                let usual = keys.list().is_empty();
                simulations.views.keys = keys;
                self.put(Label::Opened(title), simulations, &Keyframes::default(), true);
                self.presentation.is_shown(&self.simulations);
                if usual && self.presentation.item(&self.simulations).is_none_or(|item| item.camera.is_empty()) {
                    commands.write(ViewCommand::FrameAll.into());
                    if self.presentation.is_kiosk() {
                        commands.write(ViewCommand::ToggleTurntable.into());
                    }
                }
                self.transport.playing = true;
                self.ahead.begin(&self.simulations, &mut self.notices);
            }
            JobOutcome::Lesson(lesson, session) => {
                let label = Label::Opened(lesson.head.title.clone());
                self.replace(label, Simulations::new(vec![*session]), Keyframes::default(), true);
                // It stands still: the student looks at one place after the other.
                commands.write(ViewCommand::FrameAll.into());
                self.teach(*lesson);
            }
            JobOutcome::Project(path, project) => {
                let Project { sessions, chosen, views, timeline } = *project;
                if let Some(camera) = views.eye {
                    commands.write(ViewCommand::PlaceCamera(camera).into());
                }
                self.transport.playing = false;
                let mut simulations = Simulations::new(sessions);
                simulations.select(chosen);
                simulations.views = views.kept;
                let opened = !self.document.takes_over(&path);
                let label = Label::Opened(name(&path));
                if opened {
                    remember_file(&mut self.preferences, &path);
                    simulations.file = Some(path);
                }
                self.replace(label, simulations, timeline, opened);
            }
            JobOutcome::Heights(path, options, map) => {
                let session = on_heights(&path, options, map, self.simulations.selected())?;
                let label = Label::Loaded(Layer::Bedrock, name(&path));
                self.replace(label, Simulations::new(vec![session]), Keyframes::default(), false);
                self.stand_still_on_own_land(false);
            }
            JobOutcome::Map(layer, path, map, warnings) => {
                let changed = self.with_map(layer, &path, &map, &warnings)?;
                self.replace(Label::Loaded(layer, name(&path)), changed, Keyframes::default(), false);
            }
            JobOutcome::Saved(path, now, work, size) => {
                remember_file(&mut self.preferences, &path);
                self.notices.tell(Level::Info, format!("Saved {}{size}", path.display()));
                // Another work may have taken its place meanwhile.
                if self.simulations.work() == work {
                    self.simulations.file = Some(path);
                    self.document.is_saved(now);
                }
                if self.document.leaves() {
                    self.leave.write(AppExit::Success);
                }
            }
            JobOutcome::Grown(sessions, mature) => {
                self.history.replace(&mut self.simulations, Label::Grown, |simulations| {
                    simulations.all_mut().iter_mut().zip(sessions).for_each(|(session, grown)| *session = grown);
                });
                self.notices.retract(EditCommand::Undo);
                let (low, high) = self.simulations.selected().simulation.terrain.ground().min_max();
                let height = length(self.preferences.settings.units, f64::from(high - low), 0);
                let text = if mature {
                    format!("A range has grown to {height}.")
                } else {
                    format!("A range has grown to {height} and is not mature: uplift still exceeds erosion.")
                };
                self.offer_undo(format!("{text} What was before is kept."));
                self.begins();
            }
            JobOutcome::Filled(balances) => self.fill_rivers(balances),
            JobOutcome::LakesFilled(sessions, added) => self.fill_lakes(sessions, added),
            JobOutcome::Carved(sessions, breached) => self.carve_outlets(sessions, breached),
            // Another project was opened meanwhile.
            JobOutcome::Quiz(_, work) if work != self.simulations.work() => {}
            JobOutcome::Quiz(question, _) => self.ask_question(question),
            JobOutcome::Kept(now) => self.document.is_kept(now),
            JobOutcome::Stamp(name, relief) => {
                self.notices.tell(Level::Info, format!("The stamp presses {name} on the ground."));
                self.brushes.stamp = (Arc::new(relief), name);
                self.brushes.held = Some(Tool::Stamp);
            }
            JobOutcome::Exported(folder, count) => {
                self.offer_folder(format!("Wrote {count} files into {}.", folder.display()), &folder);
            }
            JobOutcome::Written(path) => {
                let folder = path.parent().unwrap_or(Path::new(""));
                self.offer_folder(format!("Saved {}.", path.display()), folder);
            }
        }
        Ok(())
    }

    /// Land of the person's own is seen as it is before anything happens to it.
    fn stand_still_on_own_land(&mut self, new: bool) {
        if self.simulations.selected().is_a_map() || new {
            self.transport.playing = false;
            self.transport.due = 0.0;
            self.notices.offer_play();
        }
    }

    fn offer_folder(&mut self, text: String, folder: &Path) {
        let open = FileCommand::OpenFolder(folder.to_owned());
        self.notices.offer(Level::Info, text, Some(("Open folder", open.into())));
    }

    /// The present runs with another map of sand, softness, rain, water or sediment, at their start.
    fn with_map(&self, layer: Layer, path: &Path, map: &Grid, warnings: &[String]) -> Result<Simulations, Error> {
        // The runs as they are stay beside the new ones until undo has packed them.
        Budget::present().ask(path, self.simulations.all().iter().map(Session::bytes).sum())?;
        let mut changed = self.simulations.of_other_work();
        for session in changed.all_mut() {
            session.note_shape();
            session.set_map(layer, path, map.clone()).map_err(|unfit| Error::unfit(path, unfit))?;
            session.warnings = warnings.to_vec();
            session.restart(session.simulation.seed());
        }
        Ok(changed)
    }

    /// Puts other sessions in the place of the present ones; `opened` if they are as they lie in a file.
    fn put(&mut self, label: Label, new: Simulations, keyframes: &Keyframes, opened: bool) {
        self.history.replace(&mut self.simulations, label, |simulations| *simulations = new);
        self.history.begin_with(keyframes, &self.simulations);
        self.course.close();
        self.follows_keys.0 = false;
        if opened {
            // What was looked at belongs to the other work.
            self.overlay.show(None);
            self.overlay.arrows = false;
            self.brushes.source = None;
            self.document.is_saved((self.history.changes(), self.simulations.ticks()));
        }
        self.begins();
    }

    /// The same, and tells of it.
    fn replace(&mut self, label: Label, new: Simulations, keyframes: Keyframes, opened: bool) {
        let ticks = self.simulations.ticks();
        let text = label.to_string();
        self.presentation.end();
        self.put(label, new, &keyframes, opened);
        let mut warnings: Vec<String> =
            self.simulations.all().iter().flat_map(|session| session.warnings.iter().cloned()).collect();
        warnings.dedup();
        for warning in warnings {
            self.notices.tell(Level::Warning, warning);
        }
        let text = format!("{}.", capital(&text));
        self.notices.retract(EditCommand::Undo);
        if ticks > 0 {
            self.offer_undo(format!("{text} The {ticks} ticks before are kept."));
        } else {
            self.notices.tell(Level::Info, text);
        }
    }
}

/// A session on a heightmap, with the light, colours and processes of another.
fn on_heights(path: &Path, options: Options, map: Heightmap, old: &Session) -> Result<Session, Error> {
    let origin = Origin { input: path.to_owned(), options, ..Origin::default() };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut fresh = heightmap::session(&stem, map, origin)?;
    fresh.look = old.look.clone();
    fresh.water_look = old.water_look.clone();
    fresh.rivers = old.rivers.clone();
    fresh.simulation.take_over(&old.simulation);
    Ok(fresh)
}
