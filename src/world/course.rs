//! The lesson that a student goes through, and what was answered in all lessons so far.

use std::{collections::BTreeMap, path::PathBuf};

use bevy::prelude::*;

use super::{CameraCommand, CameraStep, FrameSystems, Level, Notices, Revision, Simulations};
use thalweg_scene::{
    io::lesson::Progress,
    model::lesson::{Answer, Attempt},
    settings::lessons_file,
};

/// The run of a step, while it is under way.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    /// The step.
    step: usize,
    /// The tick with which it ends.
    until: u64,
    /// The work and the start on which it was begun.
    of: (u64, u64),
    /// Ticks when it was last looked at.
    ticks: u64,
}

/// The lesson that is open, if one is.
#[derive(Resource, Clone, Debug, Default)]
pub struct Course {
    /// How far the student has come.
    pub attempt: Option<Attempt>,
    /// Answers to all lessons.
    pub progress: Progress,
    /// Where they are kept, if they are.
    file: Option<PathBuf>,
    /// The work on which the lesson plays.
    work: u64,
    run: Option<Run>,
    /// From where the lesson wants the land to be seen now.
    pub(crate) seen_from: Option<[f32; 2]>,
    /// Answers that were forgotten last, and the file of their lesson.
    pub(crate) forgotten: Option<(PathBuf, BTreeMap<String, Answer>)>,
}

impl Course {
    /// Reads what was answered another time. A file that is damaged stays as it is, and nothing is kept.
    pub fn load(notices: &mut Notices) -> Self {
        let file = lessons_file();
        let loaded = file.as_deref().map_or_else(|| Ok(Progress::default()), Progress::load);
        match loaded {
            Ok(progress) => Self { progress, file, ..Self::default() },
            Err(error) => {
                notices.tell(Level::Warning, format!("{error}."));
                Self::default()
            }
        }
    }

    /// Writes down what was answered.
    pub(crate) fn keep(&mut self, notices: &mut Notices) {
        if let Some(attempt) = &self.attempt {
            self.progress.keep(attempt);
        }
        if let Some(file) = &self.file
            && let Err(error) = self.progress.save(file)
        {
            notices.tell(Level::Error, format!("The answers are not kept: {error}."));
        }
    }

    /// Opens a lesson on a work.
    pub fn open(&mut self, attempt: Attempt, work: u64) {
        (self.attempt, self.work, self.run) = (Some(attempt), work, None);
    }

    /// Closes the lesson.
    pub(crate) fn close(&mut self) {
        (self.attempt, self.run) = (None, None);
    }

    /// Whether what stands there is the land of the lesson.
    pub fn is_of(&self, simulations: &Simulations) -> bool {
        self.work == simulations.work()
    }

    /// The run of the step that is shown has begun, and ends after this tick.
    pub(crate) fn runs_until(&mut self, until: u64, simulations: &Simulations, revision: Revision) {
        let step = self.attempt.as_ref().map_or(0, |attempt| attempt.step);
        self.run = Some(Run { step, until, of: (simulations.work(), revision.start), ticks: simulations.ticks() });
    }

    /// The tick with which the run that is under way ends.
    pub fn runs_to(&self) -> Option<u64> {
        self.run.map(|run| run.until)
    }

    /// Whether a run of a step ends with what stands there now.
    pub(crate) fn ends_at(&self, simulations: &Simulations) -> bool {
        self.run.is_some_and(|run| run.of.0 == simulations.work() && simulations.ticks() >= run.until)
    }
}

pub(crate) fn plugin(app: &mut App) {
    app.init_resource::<Course>().add_systems(Update, (follow, turn_camera).chain().in_set(FrameSystems::Follow));
}

/// Turns the camera to where the lesson wants it.
fn turn_camera(mut course: ResMut<Course>, mut commands: Commands) {
    if let Some([round, up]) = course.bypass_change_detection().seen_from.take() {
        commands.trigger(CameraCommand::Move(CameraStep::From(round, up)));
    }
}

/// Notes that the run of a step is done, or was given up: the work went back, began again or is another one.
fn follow(
    simulations: Res<Simulations>,
    revision: Res<Revision>,
    mut course: ResMut<Course>,
    mut notices: ResMut<Notices>,
) {
    let quiet = course.bypass_change_detection();
    if quiet.is_of(&simulations)
        && quiet.attempt.as_mut().is_some_and(|attempt| attempt.goes_back(revision.start, simulations.ticks()))
    {
        course.set_changed();
    }
    let Some(run) = &mut course.bypass_change_detection().run else { return };
    let goes_on = run.of == (simulations.work(), revision.start) && simulations.ticks() >= run.ticks;
    run.ticks = simulations.ticks();
    let done = goes_on && simulations.between_ticks() && simulations.ticks() >= run.until;
    if goes_on && !done {
        return;
    }
    let step = run.step;
    course.run = None;
    match &mut course.attempt {
        Some(attempt) if done => {
            attempt.has_run(step, revision.start, simulations.ticks());
            course.keep(&mut notices);
        }
        Some(_) => {
            let text = "The run of this step ended, because the land was changed. Start the runs of the lesson again.";
            notices.tell(Level::Info, text);
        }
        None => {}
    }
}
