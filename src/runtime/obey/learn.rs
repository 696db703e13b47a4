//! The lesson, the checks of this machine, and what was measured.

use std::{
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use super::Runtime;
use crate::runtime::{
    EditCommand, Label, LearnCommand, Level, QuizQuestion, SPEEDS, Workspace,
    charts::{self, Series},
    jobs,
};
use thalweg_scene::{
    io::{
        chart, checks,
        lesson::{self, report},
        output,
    },
    model::{
        chart::Chart,
        lesson::{Answer, Lesson, Task},
        origin::{Options, Tile},
    },
};
use thalweg_sim::{core::quantity::Quantity, measure::statistics::Statistics};

const NO_LESSON: &str = "No lesson is open: the workspace Learn lists them.";

impl Runtime<'_> {
    pub(super) fn learn(&mut self, command: &LearnCommand) {
        match command {
            LearnCommand::Teach(lesson) => self.teach((**lesson).clone()),
            LearnCommand::SaveReport(path) => self.save_report(path),
            LearnCommand::SaveCopy(path) => self.save_copy(path),
            LearnCommand::Check => self.checkup.begin(),
            LearnCommand::SaveChecks(path) => {
                let table = checks::table(&self.checkup.found);
                let saved = output::replace(path, |file| output::write(file, table));
                self.tell(saved, format!("Saved {}.", path.display()));
            }
            LearnCommand::SaveProbes(path) => {
                let saved = output::replace(path, |file| output::write(file, self.probes.csv()));
                self.tell(saved, format!("Saved {}.", path.display()));
            }
            LearnCommand::SaveChart(chart, path) => {
                let saved = chart::save(chart, path);
                self.tell(saved, format!("Saved {}.", path.display()));
            }
            LearnCommand::Name(name) => {
                self.course.progress.name.clone_from(name);
                self.course.keep(&mut self.notices);
            }
            LearnCommand::AskQuestion => self.start_quiz(),
            LearnCommand::Guess(option) => self.quiz.guess(*option),
            LearnCommand::BringBack => self.bring_back(),
            LearnCommand::Answer(..)
            | LearnCommand::Read(_)
            | LearnCommand::Run
            | LearnCommand::Reveal
            | LearnCommand::Next
            | LearnCommand::Back
            | LearnCommand::Reopen
            | LearnCommand::Again
            | LearnCommand::Close => self.go_through(command),
        }
    }

    /// What is done in the lesson that is open.
    fn go_through(&mut self, command: &LearnCommand) {
        let Some(attempt) = &mut self.course.attempt else {
            self.notices.tell(Level::Info, NO_LESSON);
            return;
        };
        match command {
            LearnCommand::Answer(key, answer) => {
                if attempt.is_open(key) && attempt.task(key).is_some_and(|task| task.takes(answer)) {
                    attempt.answers.insert(key.clone(), answer.clone());
                }
            }
            LearnCommand::Read(read) => self.read(*read),
            LearnCommand::Run => self.run_step(),
            LearnCommand::Reveal => self.reveal(),
            LearnCommand::Next => attempt.next(),
            LearnCommand::Back => attempt.back(),
            LearnCommand::Reopen => self.reopen(),
            LearnCommand::Again => {
                let path = attempt.lesson.path.clone();
                self.course.keep(&mut self.notices);
                self.reopen();
                self.course.attempt = None;
                let answers = self.course.progress.forget(&path);
                self.course.forgotten = Some((path, answers));
                let text = "Your answers to this lesson are forgotten.";
                self.notices.offer(Level::Info, text, Some(("Bring them back", LearnCommand::BringBack.into())));
            }
            _ => {
                self.course.close();
                self.transport.speed = *SPEEDS.start();
            }
        }
        self.course.keep(&mut self.notices);
        self.show_section();
    }

    /// Looks for a parameter that shows, in the background.
    fn start_quiz(&mut self) {
        if !self.has_room(self.simulations.selected().bytes()) {
            return;
        }
        let session = self.simulations.selected().clone();
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        self.start(jobs::Task::Quiz(Box::new(session), seed, self.simulations.work()));
    }

    /// Begins two runs that differ in one parameter.
    pub(super) fn ask_question(&mut self, question: Option<(QuizQuestion, [Tile; 2])>) {
        let Some((question, tiles)) = question else {
            let text = "No parameter of the processes that are on changes the land enough in a few ticks. Open another scene, or switch on another process.";
            self.notices.tell(Level::Info, text);
            return;
        };
        if self.side_by_side(&tiles) {
            self.quiz.ask(question, self.simulations.work());
        }
    }

    /// Opens a lesson on the session that stands there.
    pub(super) fn teach(&mut self, lesson: Lesson) {
        self.transport.pause();
        self.workspace.set_if_neq(Workspace::Learn);
        self.overlay.show(lesson.head.overlay.as_deref().and_then(Quantity::of_key));
        self.section.ends = lesson.head.section;
        self.section.opens = false;
        self.course.seen_from = lesson.head.seen_from;
        // Those of the lesson before mean nothing here.
        self.probes.clear();
        let attempt = self.course.progress.attempt(lesson);
        self.course.open(attempt, self.simulations.work());
    }

    /// Opens the lesson from its start; answers stay.
    fn reopen(&mut self) {
        let Some(attempt) = &self.course.attempt else { return };
        let path = attempt.lesson.path.clone();
        self.jobs.start(&mut self.notices, jobs::Task::Open(path, Options::default()));
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
        self.course.keep(&mut self.notices);
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
        if !self.simulations.between_ticks() {
            self.simulations.finish_tick();
            self.revision.goes_on();
        }
        match task.measure(self.simulations.selected(), &attempt.answers) {
            Some(found) => {
                attempt.answers.insert(key.clone(), Answer::Measured { read, found });
            }
            None => {
                let text = "There is nothing to measure now. Start the runs of this lesson again.";
                self.notices.offer(Level::Info, text, Some(("Start again", LearnCommand::Reopen.into())));
            }
        }
    }

    /// Makes the run of the step that is shown.
    fn run_step(&mut self) {
        let Some(attempt) = &self.course.attempt else { return };
        let task = attempt.now().task.clone();
        let Some(task @ Task::Run { ticks, speed, set, enable, restart, seen_from }) = &task else { return };
        if !self.course.is_of(&self.simulations) {
            return self.reopen();
        }
        if *restart || !set.is_empty() || enable.is_some() {
            self.simulations.finish_tick();
            self.notices.retract(EditCommand::Undo);
            let (mut wrong, label) = (None, if *restart { Label::Restart } else { Label::Lesson });
            self.history.replace(&mut self.simulations, label, |simulations| {
                for session in simulations.all_mut() {
                    session.note_shape();
                    wrong = task.prepare(session).err();
                }
            });
            if let Some(wrong) = wrong {
                self.notices.tell(Level::Error, format!("The step cannot be run: {wrong}."));
                return;
            }
            if *restart {
                self.begins();
            } else {
                self.revision.goes_on();
            }
        }
        self.course.seen_from = *seen_from;
        let until = self.simulations.ticks() + ticks;
        self.course.runs_until(until, &self.simulations, *self.revision);
        self.transport.pause();
        (self.transport.playing, self.transport.speed) = (*ticks > 0, *speed);
    }

    fn save_copy(&mut self, to: &Path) {
        let Some(attempt) = &self.course.attempt else {
            self.notices.tell(Level::Info, NO_LESSON);
            return;
        };
        let saved = lesson::copy(&attempt.lesson.path, to);
        self.tell(saved, format!("Saved {}.", to.display()));
    }

    fn save_report(&mut self, path: &Path) {
        let Some(attempt) = &self.course.attempt else {
            self.notices.tell(Level::Info, NO_LESSON);
            return;
        };
        let saved = report::save(attempt, &self.course.progress.name, &self.charts(), path);
        self.tell(saved, format!("Saved {}.", path.display()));
    }

    /// The run as it is now.
    fn charts(&self) -> Vec<Chart> {
        let (units, found) =
            (self.preferences.settings.units, Statistics::of(&self.simulations.selected().simulation.terrain));
        let mut shown = vec![charts::volume(&self.record, units), charts::hypsometry(&found, units)];
        shown.extend(charts::discharge(&self.record, units));
        if !self.record.dunes.is_empty() {
            shown.extend([charts::dune_sizes(&self.record, units), charts::celerity(&self.record, units)]);
        }
        if self.section.now.len() > 1 {
            shown.push(charts::section(&self.section, units));
        }
        if !self.probes.pinned.is_empty() {
            shown.push(charts::probes(&self.probes, Series::Change, units));
        }
        shown
    }
}
