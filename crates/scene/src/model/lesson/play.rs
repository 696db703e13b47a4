//! Unattended run of a lesson that checks its claims.

use std::collections::BTreeMap;

use super::{Answer, Lesson, Task};
use crate::model::session::Session;

/// Measurement of an unattended run.
#[derive(Clone, Debug, PartialEq)]
pub struct LessonMeasurement {
    /// Heading of the step.
    pub step: String,
    /// Key of the task.
    pub key: String,
    /// Measured value, in the unit of the task.
    pub found: f64,
    /// Bounds expected by the lesson.
    pub expect: (f64, f64),
    /// `true` if the value is within the bounds.
    pub holds: bool,
}

impl Lesson {
    /// Runs all steps of the lesson from its start and takes every measurement.
    ///
    /// # Errors
    /// A message, if a step is invalid or its simulation fails.
    pub fn play(&self, session: &mut Session) -> Result<Vec<LessonMeasurement>, String> {
        let (mut answers, mut played) = (BTreeMap::new(), Vec::new());
        for step in &self.steps {
            let here = |wrong: String| format!("step \"{}\": {wrong}", step.title);
            match &step.task {
                Some(task @ Task::Run { ticks, .. }) => {
                    task.prepare(session).map_err(here)?;
                    (0..*ticks).for_each(|_| session.simulation.tick());
                    if let Some(fault) = session.simulation.fault() {
                        return Err(here(format!("the simulation failed: {fault}")));
                    }
                }
                Some(task @ Task::Measure { key, expect, .. }) => {
                    let found = task.measure(session, &answers);
                    let found = found.ok_or_else(|| here("the measured quantity has no value".to_owned()))?;
                    answers.insert(key.clone(), Answer::Measured { read: found, found });
                    let holds = (expect.0..=expect.1).contains(&found);
                    played.push(LessonMeasurement {
                        step: step.title.clone(),
                        key: key.clone(),
                        found,
                        expect: *expect,
                        holds,
                    });
                }
                _ => {}
            }
        }
        Ok(played)
    }
}
