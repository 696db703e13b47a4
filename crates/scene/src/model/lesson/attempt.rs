//! How far a student has come in a lesson.

use std::collections::BTreeMap;

use super::{Answer, Lesson, Step, Task};

/// A lesson that a student goes through.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The lesson.
    pub lesson: Lesson,
    /// Answers by the keys of their tasks.
    pub answers: BTreeMap<String, Answer>,
    /// The step that is shown.
    pub step: usize,
    /// The farthest step that was shown.
    reached: usize,
    /// Steps whose run has been made: the start of which run, and the tick with which it ended. A lesson that is opened again begins
    /// from its start.
    ran: Vec<Option<(u64, u64)>>,
    /// Steps whose answer was looked at.
    seen: Vec<bool>,
}

impl Attempt {
    /// A lesson at its first step, with what was answered at another time.
    pub fn new(lesson: Lesson, answers: BTreeMap<String, Answer>) -> Self {
        let steps = lesson.steps.len();
        Self { lesson, answers, step: 0, reached: 0, ran: vec![None; steps], seen: vec![false; steps] }
    }

    /// The step that is shown.
    pub fn now(&self) -> &Step {
        &self.lesson.steps[self.step]
    }

    /// Whether a step is done.
    pub fn done(&self, step: usize) -> bool {
        match &self.lesson.steps[step].task {
            None => true,
            Some(Task::Run { .. }) => self.ran[step].is_some(),
            Some(Task::Reveal { .. }) => self.seen[step],
            Some(task) => task.key().is_some_and(|key| self.answers.contains_key(key)),
        }
    }

    /// The run of a step has been made, after this start and up to this tick.
    pub fn has_run(&mut self, step: usize, start: u64, tick: u64) {
        self.ran[step] = Some((start, tick));
    }

    /// The tick at which the last run up to the step that is shown has ended.
    pub fn ran_to(&self) -> Option<u64> {
        self.ran[..=self.step].iter().rev().find_map(|ran| ran.map(|(_, tick)| tick))
    }

    /// The land went back to this tick of a start: what was run after it is to be run again. Returns whether there was any.
    pub fn goes_back(&mut self, start: u64, tick: u64) -> bool {
        let mut undone = false;
        for ran in &mut self.ran {
            if ran.is_some_and(|(own, end)| own == start && end > tick) {
                (*ran, undone) = (None, true);
            }
        }
        undone
    }

    /// Whether the answer with this key may still be changed: what comes after it has not been shown.
    pub fn is_open(&self, key: &str) -> bool {
        let step = self.lesson.steps.iter().position(|step| step.task.as_ref().and_then(Task::key) == Some(key));
        step.is_some_and(|step| step >= self.reached)
    }

    /// The answer of the step that is shown was looked at.
    pub fn reveal(&mut self) {
        self.seen[self.step] = true;
    }

    /// Whether another step follows.
    pub fn goes_on(&self) -> bool {
        self.step + 1 < self.lesson.steps.len()
    }

    /// Whether all steps are done.
    pub fn complete(&self) -> bool {
        (0..self.lesson.steps.len()).all(|step| self.done(step))
    }

    /// Goes to the step after the one that is shown, if that is done.
    pub fn next(&mut self) {
        if self.done(self.step) && self.goes_on() {
            self.step += 1;
            self.reached = self.reached.max(self.step);
        }
    }

    /// Goes to the step before.
    pub fn back(&mut self) {
        self.step = self.step.saturating_sub(1);
    }

    /// The task with this key.
    pub fn task(&self, key: &str) -> Option<&Task> {
        self.lesson.steps.iter().filter_map(|step| step.task.as_ref()).find(|task| task.key() == Some(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::lesson::tests::lesson;

    #[test]
    fn a_step_opens_the_next_one_when_it_is_done_and_answers_outlive_the_lesson() {
        let tasks = [
            r#"Choose(key: "where", options: ["x", "y"], right: 1)"#,
            r#"Run(ticks: 3)"#,
            r#"Measure(key: "a", of: "run.ticks", expect: (3, 3))"#,
            r#"Reveal(guess: "where")"#,
        ];
        let mut attempt = Attempt::new(lesson(&tasks), BTreeMap::new());
        attempt.next();
        assert_eq!(attempt.step, 0, "it asks first");
        attempt.answers.insert("where".into(), Answer::Chosen(0));
        attempt.next();
        attempt.next();
        assert_eq!(attempt.step, 1, "the run has not been made");
        assert!(!attempt.is_open("where") && attempt.is_open("a"), "what was predicted stays");
        attempt.has_run(1, 7, 3);
        assert!(!attempt.goes_back(8, 0) && !attempt.goes_back(7, 3) && attempt.done(1));
        assert!(attempt.goes_back(7, 2) && !attempt.done(1), "it was undone");
        attempt.has_run(1, 7, 3);
        attempt.next();
        attempt.answers.insert("a".into(), Answer::Measured { read: 3.0, found: 3.0 });
        attempt.next();
        assert!(!attempt.complete() && !attempt.goes_on());
        attempt.reveal();
        assert!(attempt.complete());
        let again = Attempt::new(lesson(&tasks), attempt.answers);
        assert!(again.done(0) && !again.done(1) && again.done(2), "what was answered stays, what ran is run again");
    }
}
