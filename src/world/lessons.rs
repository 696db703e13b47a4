//! The open lesson, and the answers to all lessons so far.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use bevy::prelude::*;

use super::{FrameSystems, Jobs, NoticeLevel, Notices, Revision, Simulations};
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

/// The open lesson. The resource exists only while a lesson is open.
#[derive(Resource, Clone, Debug)]
pub struct CurrentLesson {
    /// The student's attempt at it.
    pub attempt: Attempt,
    /// Identifier of its project.
    project_id: u64,
    run: Option<StepRun>,
}

impl CurrentLesson {
    /// Creates a lesson on the current project.
    pub fn new(attempt: Attempt, simulations: &Simulations) -> Self {
        Self { attempt, project_id: simulations.project_id(), run: None }
    }

    /// Returns `true` if the current project is that of the lesson.
    pub fn is_of(&self, simulations: &Simulations) -> bool {
        self.project_id == simulations.project_id()
    }

    /// Starts the simulation of the current step, which ends after this tick.
    pub(crate) fn start_run(&mut self, until: u64, simulations: &Simulations, revision: Revision) {
        let of = (simulations.project_id(), revision.start);
        self.run = Some(StepRun { step: self.attempt.step, until, of, ticks: simulations.ticks() });
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

/// Answers to all lessons.
#[derive(Resource, Clone, Debug, Default)]
pub struct LessonAnswers {
    /// The answers.
    pub progress: LessonProgress,
    /// Answers that this window last read from the file or wrote to it.
    saved: Arc<Mutex<LessonProgress>>,
    /// File of the answers; `None` if they are not saved.
    file: Option<PathBuf>,
    /// Answers discarded last, and the file of their lesson.
    pub(crate) forgotten: Option<(PathBuf, RemovedAnswers)>,
}

impl LessonAnswers {
    /// Loads saved answers. A damaged file is left as it is, and new answers are not saved.
    pub fn load(notices: &mut Notices) -> Self {
        let file = lessons_file();
        let loaded = file.as_deref().map_or_else(|| Ok(LessonProgress::default()), LessonProgress::load);
        match loaded {
            Ok(progress) => {
                let saved = Arc::new(Mutex::new(progress.clone()));
                Self { progress, saved, file, forgotten: None }
            }
            Err(error) => {
                notices.notify(NoticeLevel::Warning, format!("{error}."));
                Self::default()
            }
        }
    }

    /// Saves the answers, with those of the open lesson.
    pub(crate) fn save(&mut self, attempt: Option<&Attempt>, jobs: &mut Jobs) {
        if let Some(attempt) = attempt {
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
}

pub(crate) fn plugin(app: &mut App) {
    app.init_resource::<LessonAnswers>()
        .add_systems(Update, follow.run_if(resource_exists::<CurrentLesson>).in_set(FrameSystems::Follow));
}

/// Marks the simulation of a step as completed, or as cancelled if the project was undone, restarted or replaced.
fn follow(
    simulations: Res<Simulations>,
    revision: Res<Revision>,
    mut lesson: ResMut<CurrentLesson>,
    mut answers: ResMut<LessonAnswers>,
    mut jobs: ResMut<Jobs>,
    mut notices: ResMut<Notices>,
) {
    let lesson = &mut *lesson;
    if lesson.is_of(&simulations) {
        lesson.attempt.discard_after(revision.start, simulations.ticks());
    }
    let Some(run) = &mut lesson.run else { return };
    let continues = run.of == (simulations.project_id(), revision.start) && simulations.ticks() >= run.ticks;
    run.ticks = simulations.ticks();
    let done = continues && simulations.between_ticks() && simulations.ticks() >= run.until;
    if continues && !done {
        return;
    }
    let step = run.step;
    lesson.run = None;
    if done {
        lesson.attempt.record_run(step, revision.start, simulations.ticks());
        answers.save(Some(&lesson.attempt), &mut jobs);
    } else {
        let text = "The simulation of this step was cancelled because the terrain was changed. Restart the simulations of the lesson.";
        notices.notify(NoticeLevel::Info, text);
    }
}
