//! The open lesson, and the answers to all lessons so far.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use bevy::prelude::*;

use super::{CameraCommand, CameraStep, FrameSystems, Jobs, NoticeLevel, Notices, Revision, Simulations};
use thalweg_scene::{
    io::lesson::{LessonProgress, RemovedAnswers},
    model::lesson::Attempt,
    settings::lessons_file,
};

/// Simulation of a lesson step, while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct StepRun {
    /// Index of the step.
    step: usize,
    /// Last tick.
    until: u64,
    /// Identifier of the project, and its start.
    of: (u64, u64),
    /// Number of ticks at the last check.
    ticks: u64,
}

/// The open lesson, if any.
#[derive(Resource, Clone, Debug, Default)]
pub struct LessonState {
    /// The student's attempt at it.
    pub attempt: Option<Attempt>,
    /// Answers to all lessons.
    pub progress: LessonProgress,
    /// Answers that this window last read from the file or wrote to it.
    saved: Arc<Mutex<LessonProgress>>,
    /// File of the answers; `None` if they are not saved.
    file: Option<PathBuf>,
    /// Identifier of the lesson's project.
    work: u64,
    run: Option<StepRun>,
    /// Camera direction requested by the lesson.
    pub(crate) seen_from: Option<[f32; 2]>,
    /// Answers discarded last, and the file of their lesson.
    pub(crate) forgotten: Option<(PathBuf, RemovedAnswers)>,
}

impl LessonState {
    /// Loads saved answers. A damaged file is left as it is, and new answers are not saved.
    pub fn load(notices: &mut Notices) -> Self {
        let file = lessons_file();
        let loaded = file.as_deref().map_or_else(|| Ok(LessonProgress::default()), LessonProgress::load);
        match loaded {
            Ok(progress) => {
                let saved = Arc::new(Mutex::new(progress.clone()));
                Self { progress, saved, file, ..Self::default() }
            }
            Err(error) => {
                notices.notify(NoticeLevel::Warning, format!("{error}."));
                Self::default()
            }
        }
    }

    /// Saves the answers.
    pub(crate) fn save(&mut self, jobs: &mut Jobs) {
        if let Some(attempt) = &self.attempt {
            self.progress.record_answers(attempt);
        }
        if let Some(file) = &self.file {
            let (progress, saved) = (self.progress.clone(), Arc::clone(&self.saved));
            jobs.autosave(file, move |path| {
                let mut saved = saved.lock().unwrap_or_else(PoisonError::into_inner);
                progress.save_changes(&saved, path)?;
                *saved = progress;
                Ok(())
            });
        }
    }

    /// Opens a lesson with its project.
    pub fn open(&mut self, attempt: Attempt, work: u64) {
        (self.attempt, self.work, self.run) = (Some(attempt), work, None);
    }

    /// Closes the lesson.
    pub(crate) fn close(&mut self) {
        (self.attempt, self.run) = (None, None);
    }

    /// Returns `true` if the current project is that of the lesson.
    pub fn is_of(&self, simulations: &Simulations) -> bool {
        self.work == simulations.project_id()
    }

    /// Starts the simulation of the current step, which ends after this tick.
    pub(crate) fn start_run(&mut self, until: u64, simulations: &Simulations, revision: Revision) {
        let step = self.attempt.as_ref().map_or(0, |attempt| attempt.step);
        self.run =
            Some(StepRun { step, until, of: (simulations.project_id(), revision.start), ticks: simulations.ticks() });
    }

    /// Returns the last tick of the running simulation of a step.
    pub fn runs_to(&self) -> Option<u64> {
        self.run.map(|run| run.until)
    }

    /// Returns `true` if the simulation of a step ends with the current state.
    pub(crate) fn ends_at(&self, simulations: &Simulations) -> bool {
        self.run.is_some_and(|run| run.of.0 == simulations.project_id() && simulations.ticks() >= run.until)
    }
}

pub(crate) fn plugin(app: &mut App) {
    app.init_resource::<LessonState>().add_systems(Update, (follow, turn_camera).chain().in_set(FrameSystems::Follow));
}

/// Points the camera in the direction requested by the lesson.
fn turn_camera(mut lessons: ResMut<LessonState>, mut commands: Commands) {
    if let Some([round, up]) = lessons.bypass_change_detection().seen_from.take() {
        commands.trigger(CameraCommand::Move(CameraStep::OrbitTo(round, up)));
    }
}

/// Marks the simulation of a step as completed, or as cancelled if the project was undone, restarted or replaced.
fn follow(
    simulations: Res<Simulations>,
    revision: Res<Revision>,
    mut lessons: ResMut<LessonState>,
    mut jobs: ResMut<Jobs>,
    mut notices: ResMut<Notices>,
) {
    let quiet = lessons.bypass_change_detection();
    if quiet.is_of(&simulations)
        && quiet.attempt.as_mut().is_some_and(|attempt| attempt.discard_after(revision.start, simulations.ticks()))
    {
        lessons.set_changed();
    }
    let Some(run) = &mut lessons.bypass_change_detection().run else { return };
    let continues = run.of == (simulations.project_id(), revision.start) && simulations.ticks() >= run.ticks;
    run.ticks = simulations.ticks();
    let done = continues && simulations.between_ticks() && simulations.ticks() >= run.until;
    if continues && !done {
        return;
    }
    let step = run.step;
    lessons.run = None;
    match &mut lessons.attempt {
        Some(attempt) if done => {
            attempt.record_run(step, revision.start, simulations.ticks());
            lessons.save(&mut jobs);
        }
        Some(_) => {
            let text = "The simulation of this step was cancelled because the terrain was changed. Restart the simulations of the lesson.";
            notices.notify(NoticeLevel::Info, text);
        }
        None => {}
    }
}
