//! Lessons: commands of the student, and their effect on simulation and panels.

mod image;
mod panel;
mod step;

use crate::world::{
    AppCommandEvent, Brushes, CameraCommand, CameraStep, CurrentLesson, Document, EditCommand, Job, JobKind, Label,
    LessonAnswers, LessonOpened, NoticeLevel, Notices, OpenWorkspace, Overlay, ProjectParams, ProjectReplaced, SPEEDS,
    TimeSeries, Workspace, charts, opening,
};
use std::path::{Path, PathBuf};

use bevy::{ecs::system::SystemParam, prelude::*};

use crate::features::probes::{self, Probes};
use crate::features::section::{self, SaveDrawing, Section};
use thalweg_scene::{
    io::{
        Error, JobProgress,
        lesson::{
            self,
            report::{self, LessonReport, TopViewImage},
        },
    },
    model::{
        chart::Chart,
        lesson::{Answer, Lesson, Task},
        origin::Options,
        session::Session,
    },
};
use thalweg_sim::{core::quantity::Quantity, measure::statistics::Statistics};

const NO_LESSON: &str = "No lesson is open. Open one in the Learn workspace.";

/// Command of a student in a lesson.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum LessonCommand {
    /// Answers the question or prediction with this identifier.
    Answer(String, Answer),
    /// Records the student's reading, and measures the value.
    Read(f64),
    /// Runs the simulation of the current step.
    Run,
    /// Reveals the correct answer.
    Reveal,
    /// Goes to the next step, if this one is complete.
    Next,
    /// Goes to the previous step.
    Back,
    /// Opens a lesson on the current session.
    Teach(Box<Lesson>),
    /// Reopens the lesson from its start and keeps the answers.
    Reopen,
    /// Asks before reopening the lesson.
    AskToReopen,
    /// Deletes all answers and restarts the lesson.
    Restart,
    /// Restores the answers deleted last.
    RestoreAnswers,
    /// Closes the lesson.
    Close,
    /// Sets the student's name, for the report.
    Name(String),
    /// Saves the report.
    SaveReport(PathBuf),
    /// Saves a copy of the lesson file.
    SaveCopy(PathBuf),
}

impl AppCommandEvent for LessonCommand {
    fn requires_project(&self) -> bool {
        matches!(self, Self::Run | Self::Read(_) | Self::Restart | Self::Reopen)
    }

    fn flushes_strokes(&self) -> bool {
        true
    }
}

/// Adds lessons and their panel.
pub fn plugin(app: &mut App) {
    app.add_plugins(panel::plugin);
    app.add_observer(handle_command).add_observer(teach).add_observer(save_drawing).add_observer(close);
}

fn handle_command(command: On<LessonCommand>, mut params: LessonParams) {
    match command.event() {
        LessonCommand::Teach(lesson) => params.teach((**lesson).clone()),
        LessonCommand::SaveReport(path) => params.save_report(path),
        LessonCommand::SaveCopy(path) => params.save_copy(path),
        LessonCommand::Name(name) => {
            params.answers.progress.name.clone_from(name);
            params.save();
        }
        LessonCommand::RestoreAnswers => params.restore_answers(),
        command => params.handle(command),
    }
}

fn save_drawing(drawn: On<SaveDrawing>, mut params: LessonParams) {
    let SaveDrawing(key, heights) = drawn.event();
    params.handle(&LessonCommand::Answer(key.clone(), Answer::Line(heights.clone())));
}

fn teach(opened: On<LessonOpened>, mut params: LessonParams) {
    params.teach((*opened.0).clone());
}

/// Closes the lesson when another project replaces its own.
fn close(_: On<ProjectReplaced>, mut notices: ResMut<Notices>, mut commands: Commands) {
    notices.retract(LessonCommand::Reopen);
    commands.remove_resource::<CurrentLesson>();
}

/// Replaces the simulations by those prepared for a step, and runs it, unless the lesson has gone on meanwhile.
fn run_prepared(In((task, of, sessions)): In<(Task, u64, Vec<Session>)>, mut params: LessonParams) {
    let LessonParams { project, lesson, .. } = &mut params;
    let is_current = lesson.as_ref().is_some_and(|lesson| lesson.attempt.current_step().task.as_ref() == Some(&task));
    if !is_current || of != project.simulations.project_id() {
        return;
    }
    let restarts = matches!(task, Task::Run { restart: true, .. });
    project.notices.retract(EditCommand::Undo);
    let label = if restarts { Label::Restart } else { Label::Lesson };
    project.history.replace(&mut project.simulations, label, |simulations| {
        simulations.all_mut().iter_mut().zip(sessions).for_each(|(session, prepared)| *session = prepared);
    });
    if restarts {
        project.mark_started();
    } else {
        project.revision.next_state();
    }
    params.begin_run(&task);
}

/// State that a lesson reads and changes.
#[derive(SystemParam)]
struct LessonParams<'w, 's> {
    project: ProjectParams<'w>,
    lesson: Option<ResMut<'w, CurrentLesson>>,
    answers: ResMut<'w, LessonAnswers>,
    document: ResMut<'w, Document>,
    section: ResMut<'w, Section>,
    overlay: ResMut<'w, Overlay>,
    brushes: ResMut<'w, Brushes>,
    probes: ResMut<'w, Probes>,
    record: Res<'w, TimeSeries>,
    commands: Commands<'w, 's>,
}

impl LessonParams<'_, '_> {
    /// Handles a command for the open lesson.
    fn handle(&mut self, command: &LessonCommand) {
        let Some(lesson) = &mut self.lesson else {
            self.project.notices.notify(NoticeLevel::Info, NO_LESSON);
            return;
        };
        let attempt = &mut lesson.attempt;
        match command {
            LessonCommand::Answer(key, answer) => {
                if attempt.is_open(key) && attempt.task(key).is_some_and(|task| task.accepts(answer)) {
                    attempt.answers.insert(key.clone(), answer.clone());
                }
            }
            LessonCommand::Read(read) => self.read(*read),
            LessonCommand::Run => self.run_step(),
            LessonCommand::Reveal => self.reveal(),
            LessonCommand::Next => attempt.next(),
            LessonCommand::Back => attempt.back(),
            LessonCommand::Reopen => self.reopen(),
            LessonCommand::AskToReopen => {
                let text =
                    "Restart all simulations of this lesson? Their current state is replaced. Your answers are kept.";
                self.project.notices.offer(NoticeLevel::Warning, text, Some(("Restart", LessonCommand::Reopen.into())));
            }
            LessonCommand::Restart => {
                let path = attempt.lesson.path.clone();
                self.save();
                self.reopen();
                self.close();
                let removed = self.answers.progress.forget(&path);
                self.answers.forgotten = Some((path, removed));
                let text = "Your answers to this lesson were deleted.";
                self.project.notices.offer(
                    NoticeLevel::Info,
                    text,
                    Some(("Restore answers", LessonCommand::RestoreAnswers.into())),
                );
            }
            _ => {
                self.close();
                self.project.transport.speed = *SPEEDS.start();
            }
        }
        self.save();
        self.show_section();
    }

    /// Closes the lesson.
    fn close(&mut self) {
        self.lesson = None;
        self.commands.remove_resource::<CurrentLesson>();
    }

    /// Saves the answers.
    fn save(&mut self) {
        let attempt = self.lesson.as_ref().map(|lesson| &lesson.attempt);
        self.answers.save(attempt, &mut self.project.jobs);
    }

    /// Turns the camera in a direction that the lesson requests.
    fn turn_camera(&mut self, direction: Option<[f32; 2]>) {
        if let Some([round, up]) = direction {
            self.commands.trigger(CameraCommand::Move(CameraStep::OrbitTo(round, up)));
        }
    }

    /// Opens a lesson on the current session.
    fn teach(&mut self, lesson: Lesson) {
        self.project.transport.pause();
        self.commands.trigger(OpenWorkspace(Workspace::Learn));
        // Lessons hide the panel of the brush.
        self.brushes.active = None;
        self.overlay.show(lesson.head.overlay.as_deref().and_then(Quantity::from_key));
        self.section.ends = lesson.head.section;
        self.section.opens = false;
        self.turn_camera(lesson.head.seen_from);
        // Probes of the previous lesson have no meaning here.
        self.probes.clear();
        let attempt = self.answers.progress.attempt(lesson);
        self.commands.insert_resource(CurrentLesson::new(attempt, &self.project.simulations));
    }

    /// Reopens the lesson from its start and keeps the answers.
    fn reopen(&mut self) {
        let Some(lesson) = &self.lesson else { return };
        let path = lesson.attempt.lesson.path.clone();
        opening::open(&mut self.project, &mut self.document, &path, &Options::default());
    }

    fn restore_answers(&mut self) {
        let Some((path, removed)) = self.answers.forgotten.take() else { return };
        self.answers.progress.restore(&path, removed);
        if let Some(lesson) = self.lesson.as_mut().filter(|lesson| lesson.attempt.lesson.path == path) {
            lesson.attempt.answers = self.answers.progress.attempt(lesson.attempt.lesson.clone()).answers;
        }
        self.save();
    }

    /// Sets the section line of the lesson if the step draws or reveals a profile.
    fn show_section(&mut self) {
        let Some(lesson) = &self.lesson else { return };
        let attempt = &lesson.attempt;
        let draws = match &attempt.current_step().task {
            Some(Task::Draw { .. }) => true,
            Some(Task::Reveal { guess }) => matches!(attempt.task(guess), Some(Task::Draw { .. })),
            _ => false,
        };
        if draws && self.section.ends != attempt.lesson.head.section {
            self.section.ends = attempt.lesson.head.section;
        }
    }

    /// Reveals the correct answer, or the actual profile next to a drawn one.
    fn reveal(&mut self) {
        let found = self.section.spread();
        let Some(lesson) = &mut self.lesson else { return };
        let attempt = &mut lesson.attempt;
        attempt.reveal();
        let Some(Task::Reveal { guess }) = attempt.current_step().task.clone() else { return };
        if let Some(Answer::Line(drawn)) = attempt.answers.get(&guess).cloned() {
            attempt.answers.insert(guess, Answer::Profile { drawn, found });
        }
    }

    /// Records the student's reading, and measures the value.
    fn read(&mut self, read: f64) {
        let Some(lesson) = &mut self.lesson else { return };
        let attempt = &mut lesson.attempt;
        let task = attempt.current_step().task.clone();
        let Some(task @ Task::Measure { key, .. }) = &task else { return };
        self.project.finish_tick();
        match task.measure(self.project.simulations.selected(), &attempt.answers) {
            Some(found) => {
                attempt.answers.insert(key.clone(), Answer::Measured { read, found });
            }
            None => {
                let text = "There is nothing to measure at the moment. Restart the simulations of this lesson.";
                self.project.notices.offer(NoticeLevel::Info, text, Some(("Restart", LessonCommand::Reopen.into())));
            }
        }
    }

    /// Runs the simulation of the current step. If it restarts, its terrain is generated in the background.
    fn run_step(&mut self) {
        let Some(lesson) = &self.lesson else { return };
        let Some(task) = lesson.attempt.current_step().task.clone() else { return };
        let Task::Run { set, enable, restart, .. } = &task else { return };
        let changes = *restart || !set.is_empty() || enable.is_some();
        if !lesson.is_of(&self.project.simulations) {
            return self.reopen();
        }
        if !changes {
            return self.begin_run(&task);
        }
        self.project.transport.pause();
        self.project.finish_tick();
        let mut sessions = self.project.simulations.all().to_vec();
        let of = self.project.simulations.project_id();
        let prepare = move |_: &JobProgress| {
            for session in &mut sessions {
                session.record_sculpted_start();
                task.prepare(session).map_err(|wrong| {
                    Error::input(Path::new(&session.title), wrong, "correct this step of the lesson")
                })?;
            }
            Ok((task, of, sessions))
        };
        self.project.jobs.start(&mut self.project.notices, Job::new(JobKind::Open, ""), prepare, run_prepared);
    }

    /// Runs the simulation of the current step from the current state.
    fn begin_run(&mut self, task: &Task) {
        let Task::Run { ticks, speed, seen_from, .. } = task else { return };
        self.turn_camera(*seen_from);
        let until = self.project.simulations.ticks() + ticks;
        if let Some(lesson) = &mut self.lesson {
            lesson.start_run(until, &self.project.simulations, *self.project.revision);
        }
        self.project.transport.pause();
        (self.project.transport.playing, self.project.transport.speed) = (*ticks > 0, *speed);
    }

    fn save_copy(&mut self, to: &Path) {
        let Some(lesson) = &self.lesson else {
            self.project.notices.notify(NoticeLevel::Info, NO_LESSON);
            return;
        };
        let from = lesson.attempt.lesson.path.clone();
        self.project.jobs.save(&mut self.project.notices, to, move |path, _| lesson::copy(&from, path));
    }

    fn save_report(&mut self, path: &Path) {
        let Some(lesson) = &self.lesson else {
            self.project.notices.notify(NoticeLevel::Info, NO_LESSON);
            return;
        };
        let content = LessonReport {
            attempt: lesson.attempt.clone(),
            earlier: self.answers.progress.earlier_answers(&lesson.attempt.lesson),
            student: self.answers.progress.name.clone(),
            date: report::today(),
            charts: self.charts(),
            terrain: TopViewImage::of(self.project.simulations.selected()),
        };
        let save = move |path: &Path, _: &JobProgress| report::save(&content, path);
        self.project.jobs.save(&mut self.project.notices, path, save);
    }

    /// Returns charts of the current state.
    fn charts(&self) -> Vec<Chart> {
        let (units, found) = (
            self.project.preferences.settings.units,
            Statistics::of(&self.project.simulations.selected().simulation.terrain),
        );
        let mut shown = vec![charts::volume(&self.record, units), charts::hypsometry(&found, units)];
        shown.extend(charts::discharge(&self.record, units));
        if !self.record.dunes.is_empty() {
            shown.extend([charts::dune_sizes(&self.record, units), charts::celerity(&self.record, units)]);
        }
        if self.section.now.len() > 1 {
            shown.push(section::chart::chart(&self.section, units));
        }
        if !self.probes.pinned.is_empty() {
            shown.push(probes::chart::chart(&self.probes, self.probes.plotted(self.overlay.shown), units));
        }
        shown
    }
}
