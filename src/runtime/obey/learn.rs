//! The lesson, the checks of this machine, and what was measured.

use std::path::Path;

use super::Runtime;
use crate::{
    io::{
        checks,
        lesson::{
            self,
            report::{self, Plot},
        },
        output,
    },
    model::{
        lesson::{Answer, Lesson, Task},
        origin::Options,
    },
    runtime::{EditCommand, Label, LearnCommand, LedgerSample, Level, SPEEDS, Workspace, amount::told_in, jobs},
    sim::{
        quantity::Quantity,
        statistics::{BINS, Statistics},
    },
};

const NO_LESSON: &str = "No lesson is open: the workspace Learn lists them.";

impl Runtime<'_> {
    pub(super) fn learn(&mut self, command: &LearnCommand) {
        match command {
            LearnCommand::Teach(lesson) => self.teach((**lesson).clone()),
            LearnCommand::SaveReport(path) => self.save_report(path),
            LearnCommand::SaveCopy(path) => self.save_copy(path),
            LearnCommand::Check => self.checkup.begin(&mut self.notices),
            LearnCommand::SaveChecks(path) => {
                let table = checks::table(&self.checkup.found);
                let saved = output::replace(path, |file| output::write(file, table));
                self.tell(saved, format!("Saved {}.", path.display()));
            }
            LearnCommand::SaveProbes(path) => {
                let saved = output::replace(path, |file| output::write(file, self.probes.csv()));
                self.tell(saved, format!("Saved {}.", path.display()));
            }
            LearnCommand::Name(name) => {
                self.course.progress.name.clone_from(name);
                self.course.keep(&mut self.notices);
            }
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

    /// Opens a lesson on the session that stands there.
    pub(super) fn teach(&mut self, lesson: Lesson) {
        self.transport.pause();
        *self.workspace = Workspace::Learn;
        self.overlay.show(lesson.head.overlay.as_deref().and_then(Quantity::of_key));
        self.section.ends = lesson.head.section;
        let attempt = self.course.progress.attempt(lesson);
        self.course.open(attempt, self.live.work());
    }

    /// Opens the lesson from its start; answers stay.
    fn reopen(&mut self) {
        let Some(attempt) = &self.course.attempt else { return };
        let path = attempt.lesson.path.display().to_string();
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
        if !self.live.between_ticks() {
            self.live.finish_tick();
            self.revision.goes_on();
        }
        match task.measure(self.live.chosen(), &attempt.answers) {
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
        let Some(task @ Task::Run { ticks, speed, set, enable, restart }) = &task else { return };
        if !self.course.is_of(&self.live) {
            return self.reopen();
        }
        if *restart || !set.is_empty() || enable.is_some() {
            self.live.finish_tick();
            self.notices.retract(EditCommand::Undo);
            let (mut wrong, label) = (None, if *restart { Label::Restart } else { Label::Lesson });
            self.history.replace(&mut self.live, label, |live| {
                for session in live.all_mut() {
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
        let until = self.live.ticks() + ticks;
        self.course.runs_until(until, &self.live, *self.revision);
        self.transport.pause();
        (self.transport.playing, self.transport.speed) = (*ticks > 0, *speed);
    }

    fn save_copy(&mut self, to: &Path) {
        let Some(attempt) = &self.course.attempt else {
            self.notices.tell(Level::Info, NO_LESSON);
            return;
        };
        let saved = lesson::copy(&attempt.lesson.path.to_string_lossy(), to);
        self.tell(saved, format!("Saved {}.", to.display()));
    }

    fn save_report(&mut self, path: &Path) {
        let Some(attempt) = &self.course.attempt else {
            self.notices.tell(Level::Info, NO_LESSON);
            return;
        };
        let page = report::page(attempt, &self.course.progress.name, &self.plots());
        let saved = output::replace(path, |file| output::write(file, page));
        self.tell(saved, format!("Saved {}.", path.display()));
    }

    /// The run as it is now, in curves.
    fn plots(&self) -> Vec<Plot> {
        let (units, found) = (self.preferences.settings.units, Statistics::of(&self.live.chosen().simulation.terrain));
        let (millions, of_volume) = told_in(units, "million m³");
        let series = |value: &dyn Fn(&LedgerSample) -> f64| {
            let samples = self.record.samples.iter();
            samples.map(|sample| [sample.tick as f64, 1e-6 * of_volume * value(sample)]).collect::<Vec<_>>()
        };
        let (metres, of_length) = told_in(units, "m");
        let (low, high) = (f64::from(found.range.0), f64::from(found.range.1));
        let height = |bin: usize| of_length * (low + (high - low) * bin as f64 / BINS as f64);
        let curve = found.hypsometry.iter().enumerate().map(|(bin, share)| [100.0 * share, height(bin)]).collect();
        let mut plots = vec![
            Plot {
                title: "Volume over time".to_owned(),
                axes: ["tick".to_owned(), millions.to_owned()],
                curves: vec![
                    ("eroded".to_owned(), series(&|sample| sample.eroded)),
                    ("deposited".to_owned(), series(&|sample| sample.deposited)),
                    ("over the border".to_owned(), series(&|sample| sample.outflow)),
                ],
            },
            Plot {
                title: "Hypsometric curve: share of the map above a height".to_owned(),
                axes: ["%".to_owned(), metres.to_owned()],
                curves: vec![("ground".to_owned(), curve)],
            },
        ];
        let section = &self.section;
        if section.now.len() > 1 {
            let along = |heights: &mut dyn Iterator<Item = f32>| {
                let places = section.now.iter().zip(heights);
                places.map(|(layers, height)| [of_length * layers.distance, of_length * f64::from(height)]).collect()
            };
            plots.push(Plot {
                title: "Section from A to B".to_owned(),
                axes: [metres.to_owned(), metres.to_owned()],
                curves: vec![
                    ("start".to_owned(), along(&mut section.start.iter().copied())),
                    ("now".to_owned(), along(&mut section.now.iter().map(|layers| layers.ground()))),
                ],
            });
        }
        plots
    }
}
