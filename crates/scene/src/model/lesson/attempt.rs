//! Progress of a student in a lesson.

use std::collections::BTreeMap;

use super::{Answer, Lesson, LessonStep, Task};

/// Attempt of a student at a lesson.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The lesson.
    pub lesson: Lesson,
    /// Answers by task key.
    pub answers: BTreeMap<String, Answer>,
    /// Index of the current step.
    pub step: usize,
    /// Index of the farthest step shown so far.
    reached: usize,
    /// Per step, the completed simulation: identifier of its start and its last tick. Not saved: a reopened lesson runs from its
    /// start again.
    ran: Vec<Option<(u64, u64)>>,
    /// Per step, `true` once its answer was revealed.
    seen: Vec<bool>,
}

impl Attempt {
    /// Creates an attempt at the first step, with answers from an earlier attempt.
    pub fn new(lesson: Lesson, answers: BTreeMap<String, Answer>) -> Self {
        let steps = lesson.steps.len();
        Self { lesson, answers, step: 0, reached: 0, ran: vec![None; steps], seen: vec![false; steps] }
    }

    /// Returns the current step.
    pub fn current_step(&self) -> &LessonStep {
        &self.lesson.steps[self.step]
    }

    /// Returns `true` if a step is completed.
    pub fn is_done(&self, step: usize) -> bool {
        match &self.lesson.steps[step].task {
            None => true,
            Some(Task::Run { .. }) => self.ran[step].is_some(),
            Some(Task::Reveal { .. }) => self.seen[step],
            Some(task) => task.key().is_some_and(|key| self.answers.contains_key(key)),
        }
    }

    /// Records that the simulation of a step has run from this start to this tick.
    pub fn record_run(&mut self, step: usize, start: u64, tick: u64) {
        self.ran[step] = Some((start, tick));
    }

    /// Returns the tick at which the last simulation up to the current step ended.
    pub fn last_tick(&self) -> Option<u64> {
        self.ran[..=self.step].iter().rev().find_map(|ran| ran.map(|(_, tick)| tick))
    }

    /// Discards simulations that ran beyond a tick of a start, after the user went back to it. Returns `true` if there were any.
    pub fn discard_after(&mut self, start: u64, tick: u64) -> bool {
        let mut undone = false;
        for ran in &mut self.ran {
            if ran.is_some_and(|(own, end)| own == start && end > tick) {
                (*ran, undone) = (None, true);
            }
        }
        undone
    }

    /// Returns `true` if an answer may still be changed: no later step has been shown yet.
    pub fn is_open(&self, key: &str) -> bool {
        let step = self.lesson.steps.iter().position(|step| step.task.as_ref().and_then(Task::key) == Some(key));
        step.is_some_and(|step| step >= self.reached)
    }

    /// Records that the answer of the current step was revealed.
    pub fn reveal(&mut self) {
        self.seen[self.step] = true;
    }

    /// Returns `true` if there is another step.
    pub fn has_next(&self) -> bool {
        self.step + 1 < self.lesson.steps.len()
    }

    /// Returns `true` if all steps are completed.
    pub fn complete(&self) -> bool {
        (0..self.lesson.steps.len()).all(|step| self.is_done(step))
    }

    /// Advances to the next step, if the current one is completed.
    pub fn next(&mut self) {
        if self.is_done(self.step) && self.has_next() {
            self.step += 1;
            self.reached = self.reached.max(self.step);
        }
    }

    /// Goes back one step.
    pub fn back(&mut self) {
        self.step = self.step.saturating_sub(1);
    }

    /// Returns the task with a key.
    pub fn task(&self, key: &str) -> Option<&Task> {
        self.lesson.task(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::lesson::tests::lesson;

    #[test]
    fn completed_step_unlocks_next_and_answers_persist() {
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
        attempt.record_run(1, 7, 3);
        assert!(!attempt.discard_after(8, 0) && !attempt.discard_after(7, 3) && attempt.is_done(1));
        assert!(attempt.discard_after(7, 2) && !attempt.is_done(1), "it was undone");
        attempt.record_run(1, 7, 3);
        attempt.next();
        attempt.answers.insert("a".into(), Answer::Measured { read: 3.0, found: 3.0 });
        attempt.next();
        assert!(!attempt.complete() && !attempt.has_next());
        attempt.reveal();
        assert!(attempt.complete());
        let again = Attempt::new(lesson(&tasks), attempt.answers);
        assert!(
            again.is_done(0) && !again.is_done(1) && again.is_done(2),
            "what was answered stays, what ran is run again"
        );
    }
}
