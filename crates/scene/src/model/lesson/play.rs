//! A lesson that is played to its end without a student, to check what it claims.

use std::collections::BTreeMap;

use super::{Answer, Lesson, Task};
use crate::model::session::Session;

/// A measurement of a lesson that was played.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// The heading of the step.
    pub step: String,
    /// The name of the task.
    pub key: String,
    /// What was measured, in the task's unit.
    pub found: f64,
    /// Between which bounds the lesson says it lies.
    pub expect: (f64, f64),
    /// Whether it does.
    pub holds: bool,
}

impl Lesson {
    /// Plays the lesson on its scene, from the lesson's start, and measures what a student would.
    ///
    /// # Errors
    /// A sentence, if a step cannot be done or its run breaks.
    pub fn play(&self, session: &mut Session) -> Result<Vec<Played>, String> {
        let (mut answers, mut played) = (BTreeMap::new(), Vec::new());
        for step in &self.steps {
            let here = |wrong: String| format!("in the step \"{}\" {wrong}", step.title);
            match &step.task {
                Some(task @ Task::Run { ticks, .. }) => {
                    task.prepare(session).map_err(here)?;
                    (0..*ticks).for_each(|_| session.simulation.tick());
                    if let Some(fault) = session.simulation.fault() {
                        return Err(here(format!("the run breaks: {fault}")));
                    }
                }
                Some(task @ Task::Measure { key, expect, .. }) => {
                    let found = task.measure(session, &answers);
                    let found = found.ok_or_else(|| here("there is nothing to measure".to_owned()))?;
                    answers.insert(key.clone(), Answer::Measured { read: found, found });
                    let holds = (expect.0..=expect.1).contains(&found);
                    played.push(Played { step: step.title.clone(), key: key.clone(), found, expect: *expect, holds });
                }
                _ => {}
            }
        }
        Ok(played)
    }
}
