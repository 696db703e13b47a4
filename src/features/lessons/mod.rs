//! What a student does in a lesson.

mod panel;
mod step;

use crate::world::{
    CommandEvent, Course, Document, EditCommand, Job, JobKind, Label, LessonOpened, Level, Overlay, Record, SPEEDS,
    Work, WorkReplaced, Workspace, charts, jobs::tell_written, opening,
};
use std::path::{Path, PathBuf};

use bevy::{ecs::system::SystemParam, prelude::*};

use crate::features::probes::{self, Probes, chart::Series};
use crate::features::section::{self, KeepDrawing, Section};
use thalweg_scene::{
    io::{
        JobProgress,
        lesson::{self, report},
    },
    model::{
        chart::Chart,
        lesson::{Answer, Lesson, Task},
        origin::Options,
    },
};
use thalweg_sim::{core::quantity::Quantity, measure::statistics::Statistics};

const NO_LESSON: &str = "No lesson is open: the workspace Learn lists them.";

/// What a student does in a lesson.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum LessonCommand {
    /// Answers the question or the prediction with this key.
    Answer(String, Answer),
    /// Takes the number that the student has read, and measures it too.
    Read(f64),
    /// Makes the run of the step that is shown.
    Run,
    /// Shows which answer was right.
    Reveal,
    /// Goes to the next step, if this one is done.
    Next,
    /// Goes to the step before.
    Back,
    /// Opens a lesson on the session that stands there.
    Teach(Box<Lesson>),
    /// Opens the lesson from its start; answers stay.
    Reopen,
    /// Forgets all answers, and begins the lesson again.
    Again,
    /// Brings back the answers that were forgotten last.
    BringBack,
    /// Closes the lesson.
    Close,
    /// The student's name, for the report.
    Name(String),
    /// Writes the report.
    SaveReport(PathBuf),
    /// Writes a copy of the lesson's file.
    SaveCopy(PathBuf),
}

impl CommandEvent for LessonCommand {
    fn needs_the_work(&self) -> bool {
        matches!(self, Self::Run | Self::Read(_) | Self::Again | Self::Reopen)
    }

    fn follows_strokes(&self) -> bool {
        true
    }
}

/// Adds lessons and their card.
pub fn plugin(app: &mut App) {
    app.add_plugins(panel::plugin);
    app.add_observer(obey).add_observer(teach).add_observer(keep_drawing).add_observer(close);
}

fn obey(command: On<LessonCommand>, mut class: Class) {
    match command.event() {
        LessonCommand::Teach(lesson) => class.teach((**lesson).clone()),
        LessonCommand::SaveReport(path) => class.save_report(path),
        LessonCommand::SaveCopy(path) => class.save_copy(path),
        LessonCommand::Name(name) => {
            class.course.progress.name.clone_from(name);
            class.course.keep(&mut class.work.notices);
        }
        LessonCommand::BringBack => class.bring_back(),
        command => class.obey(command),
    }
}

fn keep_drawing(drawn: On<KeepDrawing>, mut class: Class) {
    let KeepDrawing(key, heights) = drawn.event();
    class.obey(&LessonCommand::Answer(key.clone(), Answer::Line(heights.clone())));
}

fn teach(opened: On<LessonOpened>, mut class: Class) {
    class.teach((*opened.0).clone());
}

/// Another work is not the lesson's.
fn close(_: On<WorkReplaced>, mut course: ResMut<Course>) {
    course.close();
}

/// What a lesson reads and changes.
#[derive(SystemParam)]
struct Class<'w> {
    work: Work<'w>,
    course: ResMut<'w, Course>,
    document: ResMut<'w, Document>,
    section: ResMut<'w, Section>,
    overlay: ResMut<'w, Overlay>,
    probes: ResMut<'w, Probes>,
    record: Res<'w, Record>,
    workspace: ResMut<'w, NextState<Workspace>>,
}

impl Class<'_> {
    /// What is done in the lesson that is open.
    fn obey(&mut self, command: &LessonCommand) {
        let Some(attempt) = &mut self.course.attempt else {
            self.work.notices.tell(Level::Info, NO_LESSON);
            return;
        };
        match command {
            LessonCommand::Answer(key, answer) => {
                if attempt.is_open(key) && attempt.task(key).is_some_and(|task| task.takes(answer)) {
                    attempt.answers.insert(key.clone(), answer.clone());
                }
            }
            LessonCommand::Read(read) => self.read(*read),
            LessonCommand::Run => self.run_step(),
            LessonCommand::Reveal => self.reveal(),
            LessonCommand::Next => attempt.next(),
            LessonCommand::Back => attempt.back(),
            LessonCommand::Reopen => self.reopen(),
            LessonCommand::Again => {
                let path = attempt.lesson.path.clone();
                self.course.keep(&mut self.work.notices);
                self.reopen();
                self.course.attempt = None;
                let answers = self.course.progress.forget(&path);
                self.course.forgotten = Some((path, answers));
                let text = "Your answers to this lesson are forgotten.";
                self.work.notices.offer(Level::Info, text, Some(("Bring them back", LessonCommand::BringBack.into())));
            }
            _ => {
                self.course.close();
                self.work.transport.speed = *SPEEDS.start();
            }
        }
        self.course.keep(&mut self.work.notices);
        self.show_section();
    }

    /// Opens a lesson on the session that stands there.
    fn teach(&mut self, lesson: Lesson) {
        self.work.transport.pause();
        NextState::set_if_neq(&mut self.workspace, Workspace::Learn);
        self.overlay.show(lesson.head.overlay.as_deref().and_then(Quantity::of_key));
        self.section.ends = lesson.head.section;
        self.section.opens = false;
        self.course.seen_from = lesson.head.seen_from;
        // Those of the lesson before mean nothing here.
        self.probes.clear();
        let attempt = self.course.progress.attempt(lesson);
        self.course.open(attempt, self.work.simulations.work());
    }

    /// Opens the lesson from its start; answers stay.
    fn reopen(&mut self) {
        let Some(attempt) = &self.course.attempt else { return };
        let path = attempt.lesson.path.clone();
        opening::open(&mut self.work, &mut self.document, &path, &Options::default());
    }

    fn bring_back(&mut self) {
        let Some((path, answers)) = self.course.forgotten.take() else { return };
        match &mut self.course.attempt {
            Some(attempt) if attempt.lesson.path == path => {
                for (key, answer) in answers {
                    if attempt.task(&key).is_some_and(|task| task.takes(&answer)) {
                        attempt.answers.entry(key).or_insert(answer);
                    }
                }
            }
            _ => self.course.progress.bring_back(&path, answers),
        }
        self.course.keep(&mut self.work.notices);
    }

    /// A step that draws or shows a profile needs the line of the lesson.
    fn show_section(&mut self) {
        let Some(attempt) = &self.course.attempt else { return };
        let draws = match &attempt.now().task {
            Some(Task::Draw { .. }) => true,
            Some(Task::Reveal { guess }) => matches!(attempt.task(guess), Some(Task::Draw { .. })),
            _ => false,
        };
        if draws && self.section.ends != attempt.lesson.head.section {
            self.section.ends = attempt.lesson.head.section;
        }
    }

    /// Shows what is right; beside a drawn profile, what has come of it.
    fn reveal(&mut self) {
        let found = self.section.spread();
        let Some(attempt) = &mut self.course.attempt else { return };
        attempt.reveal();
        let Some(Task::Reveal { guess }) = attempt.now().task.clone() else { return };
        if let Some(Answer::Line(drawn)) = attempt.answers.get(&guess).cloned() {
            attempt.answers.insert(guess, Answer::Profile { drawn, found });
        }
    }

    /// Takes a number that was read, and measures it too.
    fn read(&mut self, read: f64) {
        let Some(attempt) = &mut self.course.attempt else { return };
        let task = attempt.now().task.clone();
        let Some(task @ Task::Measure { key, .. }) = &task else { return };
        self.work.finish_tick();
        match task.measure(self.work.simulations.selected(), &attempt.answers) {
            Some(found) => {
                attempt.answers.insert(key.clone(), Answer::Measured { read, found });
            }
            None => {
                let text = "There is nothing to measure now. Start the runs of this lesson again.";
                self.work.notices.offer(Level::Info, text, Some(("Start again", LessonCommand::Reopen.into())));
            }
        }
    }

    /// Makes the run of the step that is shown.
    fn run_step(&mut self) {
        let Some(attempt) = &self.course.attempt else { return };
        let task = attempt.now().task.clone();
        let Some(task @ Task::Run { ticks, speed, set, enable, restart, seen_from }) = &task else { return };
        if !self.course.is_of(&self.work.simulations) {
            return self.reopen();
        }
        if *restart || !set.is_empty() || enable.is_some() {
            self.work.simulations.finish_tick();
            self.work.notices.retract(EditCommand::Undo);
            let (mut wrong, label) = (None, if *restart { Label::Restart } else { Label::Lesson });
            self.work.history.replace(&mut self.work.simulations, label, |simulations| {
                for session in simulations.all_mut() {
                    session.note_shape();
                    wrong = task.prepare(session).err();
                }
            });
            if let Some(wrong) = wrong {
                self.work.notices.tell(Level::Error, format!("The step cannot be run: {wrong}."));
                return;
            }
            if *restart {
                self.work.begins();
            } else {
                self.work.revision.goes_on();
            }
        }
        self.course.seen_from = *seen_from;
        let until = self.work.simulations.ticks() + ticks;
        self.course.runs_until(until, &self.work.simulations, *self.work.revision);
        self.work.transport.pause();
        (self.work.transport.playing, self.work.transport.speed) = (*ticks > 0, *speed);
    }

    fn save_copy(&mut self, to: &Path) {
        let Some(attempt) = &self.course.attempt else {
            self.work.notices.tell(Level::Info, NO_LESSON);
            return;
        };
        let saved = lesson::copy(&attempt.lesson.path, to);
        self.work.tell(saved, format!("Saved {}.", to.display()));
    }

    fn save_report(&mut self, path: &Path) {
        let Some(attempt) = &self.course.attempt else {
            self.work.notices.tell(Level::Info, NO_LESSON);
            return;
        };
        let (attempt, name, charts) = (attempt.clone(), self.course.progress.name.clone(), self.charts());
        let path = path.to_owned();
        let save = move |_: &JobProgress| report::save(&attempt, &name, &charts, &path).map(|()| path);
        let job = Job::new(JobKind::Beside, "Saving report…");
        self.work.jobs.start(&mut self.work.notices, job, save, tell_written);
    }

    /// The run as it is now.
    fn charts(&self) -> Vec<Chart> {
        let (units, found) = (
            self.work.preferences.settings.units,
            Statistics::of(&self.work.simulations.selected().simulation.terrain),
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
            shown.push(probes::chart::chart(&self.probes, Series::Change, units));
        }
        shown
    }
}
