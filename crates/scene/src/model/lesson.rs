//! Lessons: a scene, and steps that ask for a prediction before they show the result. `attempt.rs` holds the progress of a student,
//! `play.rs` runs a lesson unattended.
//!
//! [`io`](crate::io) reads lessons from Markdown.

mod attempt;
mod play;

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

pub use self::{attempt::Attempt, play::LessonMeasurement};
use super::{SPEEDS, session::Session};
use thalweg_sim::{
    core::quantity::Quantity,
    generate::TerrainParams,
    params::{self, Knob, Parameter},
    simulation::gauge::Gauge,
};

/// Fraction of the bounds below which a number counts as near zero.
const NEAR_ZERO: f64 = 0.02;

/// Front matter of a lesson file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrontMatter {
    /// Title shown to the student.
    pub title: String,
    /// One-sentence summary.
    pub about: String,
    /// Target audience.
    pub level: String,
    /// Estimated duration, in minutes.
    pub minutes: u32,
    /// Source of the facts.
    pub source: String,
    /// Scene of the lesson.
    pub scene: String,
    /// Cells along the shorter side, if different from the scene.
    #[serde(default)]
    pub size: Option<u32>,
    /// Seed, if different from the scene.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Enabled processes, if different from the scene.
    #[serde(default)]
    pub enabled: Option<Vec<String>>,
    /// Parameters by path, with values as for `--set`.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Paths of the parameters with sliders beside the text.
    #[serde(default)]
    pub free: Vec<String>,
    /// `true` to keep the shortcuts that select a brush or restart the simulation.
    #[serde(default)]
    pub sculpting: bool,
    /// Key of the quantity shown as an overlay.
    #[serde(default)]
    pub overlay: Option<String>,
    /// End points of the section line, as fractions of the map's sides.
    #[serde(default)]
    pub section: Option<[[f32; 2]; 2]>,
    /// Initial view: degrees from south through east, and degrees above the horizontal.
    #[serde(default)]
    pub seen_from: Option<[f32; 2]>,
}

/// Task of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Task {
    /// Multiple choice.
    Choose {
        /// Name of the task within the lesson.
        key: String,
        /// Answer options.
        options: Vec<String>,
        /// Index of the correct answer, from 0.
        right: usize,
    },
    /// Prediction of a number.
    Estimate {
        /// Name of the task within the lesson.
        key: String,
        /// Quantity to predict.
        of: String,
        /// Unit of the number.
        #[serde(default)]
        unit: String,
    },
    /// Prediction of the profile along the section.
    Draw {
        /// Name of the task within the lesson.
        key: String,
    },
    /// Simulation of a number of ticks.
    Run {
        /// Number of ticks.
        ticks: u64,
        /// Playback speed, as a multiple of the default.
        #[serde(default = "usual_speed")]
        speed: f32,
        /// Parameters set before the simulation starts.
        #[serde(default)]
        set: BTreeMap<String, String>,
        /// Processes enabled from then on, if different.
        #[serde(default)]
        enable: Option<Vec<String>>,
        /// `true` to restart first.
        #[serde(default)]
        restart: bool,
        /// View, as in the head.
        #[serde(default)]
        seen_from: Option<[f32; 2]>,
    },
    /// Measurement with a tool.
    Measure {
        /// Name of the task within the lesson.
        key: String,
        /// Gauge: see [`Gauge`].
        of: String,
        /// Unit of the reading.
        #[serde(default)]
        unit: String,
        /// Factor from the gauge to the unit.
        #[serde(default = "one")]
        times: f64,
        /// Bounds of the expected value.
        expect: (f64, f64),
        /// Tolerance of the reading, as a fraction of the measured value.
        #[serde(default = "tenth")]
        within: f64,
        /// Key of the prediction to compare with.
        #[serde(default)]
        guess: Option<String>,
        /// Key of an earlier measurement to subtract.
        #[serde(default)]
        since: Option<String>,
        /// Key of an earlier measurement to divide by.
        #[serde(default)]
        over: Option<String>,
    },
    /// Reveals the correct answer, or the drawn profile beside the simulated one.
    Reveal {
        /// Key of the prediction.
        guess: String,
    },
}

fn usual_speed() -> f32 {
    2.0
}

fn one() -> f64 {
    1.0
}

fn tenth() -> f64 {
    0.1
}

/// Step of a lesson.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LessonStep {
    /// Heading.
    pub title: String,
    /// Markdown above the task.
    pub text: String,
    /// Task, or `None` for a step without one.
    pub task: Option<Task>,
    /// Markdown shown after the task.
    pub after: String,
    /// Hints in Markdown, in order.
    pub hints: Vec<String>,
}

/// Lesson with its steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    /// Path of the lesson file.
    pub path: PathBuf,
    /// Front matter.
    pub head: FrontMatter,
    /// Steps; the first is the introduction.
    pub steps: Vec<LessonStep>,
    /// Markdown of the teacher's page.
    pub teacher: String,
}

/// Answer of a student.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Index of the chosen option, from 0.
    Chosen(usize),
    /// Predicted number.
    Number(f64),
    /// Drawn profile: heights at even spacing along the section, in metres.
    Line(Vec<f32>),
    /// Drawn profile with the simulated one.
    Profile {
        /// Heights drawn by the student.
        drawn: Vec<f32>,
        /// Ground heights at that moment, at the same spacing.
        found: Vec<f32>,
    },
    /// Reading with the value measured by the program at that moment.
    Measured {
        /// Reading of the student.
        read: f64,
        /// Value measured by the program.
        found: f64,
    },
}

impl Answer {
    /// Returns `true` if this is `before` itself, or the same drawing with the terrain.
    pub fn is_same_attempt(&self, before: &Self) -> bool {
        match (self, before) {
            (Self::Profile { drawn, .. }, Self::Line(line)) => drawn == line,
            _ => self == before,
        }
    }
}

impl Task {
    /// Returns the key under which the answer is stored, or `None` for tasks without an answer.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Choose { key, .. } | Self::Estimate { key, .. } | Self::Draw { key } | Self::Measure { key, .. } => {
                Some(key)
            }
            Self::Run { .. } | Self::Reveal { .. } => None,
        }
    }

    /// Returns `true` if an answer has the right type and valid values for this task.
    pub fn accepts(&self, answer: &Answer) -> bool {
        match (self, answer) {
            (Self::Choose { options, .. }, Answer::Chosen(option)) => *option < options.len(),
            (Self::Estimate { .. }, Answer::Number(number)) => number.is_finite(),
            (Self::Draw { .. }, Answer::Line(heights)) => heights.iter().all(|height| height.is_finite()),
            (Self::Draw { .. }, Answer::Profile { drawn, found }) => {
                drawn.iter().chain(found).all(|height| height.is_finite())
            }
            (Self::Measure { .. }, Answer::Measured { read, found }) => read.is_finite() && found.is_finite(),
            _ => false,
        }
    }
}

impl Lesson {
    /// Returns the task with a key.
    pub fn task(&self, key: &str) -> Option<&Task> {
        self.steps.iter().filter_map(|step| step.task.as_ref()).find(|task| task.key() == Some(key))
    }

    /// Checks that every step can be completed.
    ///
    /// # Errors
    /// A message about the first invalid step, with a valid alternative.
    pub fn check(&self) -> Result<(), String> {
        let head = &self.head;
        let of_map = |place: &[f32; 2]| place.iter().all(|share| (0.0..=1.0).contains(share));
        if head.section.is_some_and(|ends| !ends.iter().all(of_map)) {
            return Err("the section extends beyond the map; use fractions of its sides from 0 to 1".to_owned());
        }
        let fresh = TerrainParams::default();
        let Knob { min, max, .. } =
            params::get(&[("terrain", &fresh)], "terrain.width").map_err(|error| error.to_string())?.knob;
        if head.size.is_some_and(|size| !(min..=max).contains(&size.into())) {
            return Err(format!("the size is out of range; use {min} to {max} cells"));
        }
        if let Some(key) = head.overlay.as_ref().filter(|key| Quantity::from_key(key).is_none()) {
            let keys: Vec<&str> = Quantity::all().map(Quantity::key).collect();
            return Err(format!("there is no overlay \"{key}\"; the overlays are {}", keys.join(", ")));
        }
        let mut before: Vec<&Task> = Vec::new();
        for step in &self.steps {
            let Some(task) = &step.task else { continue };
            self.check_task(task, &before).map_err(|wrong| format!("step \"{}\": {wrong}", step.title))?;
            before.push(task);
        }
        Ok(())
    }

    fn check_task(&self, task: &Task, before: &[&Task]) -> Result<(), String> {
        let earlier = |key: &str| before.iter().find(|task| task.key() == Some(key)).copied();
        if let Some(key) = task.key().filter(|key| earlier(key).is_some()) {
            return Err(format!("the key \"{key}\" is already in use; give each task a unique key"));
        }
        let predicted = |key: &str| match earlier(key) {
            Some(Task::Choose { .. } | Task::Estimate { .. } | Task::Draw { .. }) => Ok(()),
            _ => Err(format!("there is no prediction \"{key}\"; use the key of an earlier prediction")),
        };
        match task {
            Task::Choose { options, right, .. } if *right >= options.len() => Err(format!(
                "the correct answer has index {right}, but there are {} options; count from 0",
                options.len()
            )),
            Task::Draw { .. } if self.head.section.is_none() => {
                Err("drawing a profile needs a section in the front matter".to_owned())
            }
            Task::Run { speed, .. } if !SPEEDS.contains(speed) => {
                Err(format!("the speed is {speed}; use {} to {}", SPEEDS.start(), SPEEDS.end()))
            }
            Task::Measure { of, expect, within, times, guess, since, over, .. } => {
                Gauge::parse(of)?;
                if !(expect.0 <= expect.1 && *within > 0.0 && within.is_finite() && times.is_finite()) {
                    return Err(
                        "invalid bounds or tolerance; put the lower bound first and a tolerance above 0".to_owned()
                    );
                }
                for key in since.iter().chain(over) {
                    if !matches!(earlier(key), Some(Task::Measure { .. })) {
                        return Err(format!(
                            "there is no measurement \"{key}\"; use the key of an earlier measurement"
                        ));
                    }
                }
                guess.as_deref().map_or(Ok(()), predicted)
            }
            Task::Reveal { guess } => match earlier(guess) {
                Some(Task::Choose { .. } | Task::Draw { .. }) => Ok(()),
                _ => {
                    Err(format!("there is nothing to reveal for \"{guess}\"; use the key of an earlier Choose or Draw"))
                }
            },
            _ => Ok(()),
        }
    }

    /// Configures a session for the lesson. This takes effect at the next [`Session::restart`].
    ///
    /// # Errors
    /// A message that names the unknown parameter or process.
    pub fn set_up(&self, session: &mut Session) -> Result<(), String> {
        let head = &self.head;
        session.title.clone_from(&head.title);
        session.about.clone_from(&head.about);
        session.shown_from = 0;
        // A lesson uses a single simulation, even if its scene has several side by side.
        session.tile = None;
        if let Some(size) = head.size {
            session.resize(size);
        }
        set(session, &head.set, head.enabled.as_deref())?;
        let known = self.sliders(session);
        if let Some(missing) = head.free.iter().find(|path| !known.iter().any(|known| known.path == **path)) {
            return Err(format!("`free` names an unknown parameter \"{missing}\""));
        }
        Ok(())
    }

    /// Starts a session that was configured by [`Self::set_up`].
    pub fn begin(&self, session: &mut Session) {
        session.restart(self.head.seed.unwrap_or(session.simulation.seed()));
        session.record_defaults();
    }

    /// Returns the parameters with sliders beside the text.
    pub fn sliders(&self, session: &Session) -> Vec<Parameter> {
        let groups = session.groups();
        let all = groups.into_iter().flat_map(params::collect_parameters);
        all.filter(|parameter| self.head.free.contains(&parameter.path)).collect()
    }
}

fn set(session: &mut Session, set: &BTreeMap<String, String>, enable: Option<&[String]>) -> Result<(), String> {
    let all = set.iter().map(|(path, value)| (&**path, &**value));
    session.set_all(all).map_err(|error| error.to_string())?;
    let names: Option<Vec<&str>> = enable.map(|names| names.iter().map(String::as_str).collect());
    match names.and_then(|names| session.enable(&names)) {
        Some(unknown) => Err(format!("there is no process \"{unknown}\"")),
        None => Ok(()),
    }
}

impl Task {
    /// Applies the parameters and processes of a simulation task, and restarts if it asks for that.
    ///
    /// # Errors
    /// A message that names the unknown parameter or process.
    pub fn prepare(&self, session: &mut Session) -> Result<(), String> {
        let Self::Run { set: parameters, enable, restart, .. } = self else { return Ok(()) };
        set(session, parameters, enable.as_deref())?;
        if *restart {
            session.restart(session.simulation.seed());
        }
        Ok(())
    }

    /// Measures the expected reading in the unit of the task, or returns `None` if it is undefined.
    pub fn measure(&self, session: &Session, answers: &BTreeMap<String, Answer>) -> Option<f64> {
        let Self::Measure { of, times, since, over, .. } = self else { return None };
        let gauge = Gauge::parse(of).ok()?.of(&session.simulation, &session.rivers)?;
        let earlier = |key: &String| match answers.get(key) {
            Some(Answer::Measured { found, .. }) => Some(*found),
            _ => None,
        };
        let mut found = times * gauge;
        if let Some(key) = since {
            found -= earlier(key)?;
        }
        if let Some(key) = over {
            found /= earlier(key)?;
        }
        found.is_finite().then_some(found)
    }

    /// Returns `true` if a reading is within the tolerance of the measured value.
    pub fn is_within_tolerance(&self, read: f64, found: f64) -> bool {
        let Self::Measure { within, expect, .. } = self else { return false };
        // Near zero, a relative tolerance vanishes; there it applies to half the width of the bounds.
        let (bounds, size) = (expect.0.abs().max(expect.1.abs()), found.abs());
        let size = if size < NEAR_ZERO * bounds { 0.5 * (expect.1 - expect.0) } else { size };
        (read - found).abs() <= within * size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{input, scene::open_first};

    fn head() -> FrontMatter {
        ron::from_str(r#"(title: "T", about: "a", level: "l", minutes: 5, source: "s", scene: "round-hill")"#)
            .expect("it is a head")
    }

    pub(super) fn lesson(tasks: &[&str]) -> Lesson {
        let step = |(number, task): (usize, &&str)| LessonStep {
            title: format!("step {number}"),
            task: Some(input::parse(task, 0).unwrap_or_else(|error| panic!("{task}: {error}"))),
            ..LessonStep::default()
        };
        Lesson {
            path: PathBuf::new(),
            head: head(),
            steps: tasks.iter().enumerate().map(step).collect(),
            teacher: String::new(),
        }
    }

    #[test]
    fn invalid_lesson_is_rejected_with_reason() {
        let measure = r#"Measure(key: "a", of: "slope.mean", expect: (0, 90))"#;
        for (tasks, expected) in [
            (vec![r#"Choose(key: "a", options: ["x"], right: 1)"#], "count from 0"),
            (vec![measure, measure], "already in use"),
            (vec![r#"Measure(key: "a", of: "slop.mean", expect: (0, 1))"#], "unknown quantity \"slop\""),
            (vec![r#"Measure(key: "a", of: "slope.mean", expect: (2, 1))"#], "the lower bound first"),
            (vec![r#"Measure(key: "a", of: "slope.mean", expect: (0, 1), guess: "b")"#], "there is no prediction"),
            (vec![r#"Measure(key: "a", of: "slope.mean", expect: (0, 1), since: "b")"#], "there is no measurement"),
            (vec![measure, r#"Reveal(guess: "a")"#], "nothing to reveal for \"a\""),
            (vec![r#"Draw(key: "a")"#], "needs a section"),
            (vec![r#"Run(ticks: 3, speed: 9999)"#], "0.25 to 1000"),
        ] {
            let error = lesson(&tasks).check().expect_err(expected);
            assert!(error.starts_with("step \"step ") && error.contains(expected), "{error}");
        }
        assert_eq!(lesson(&[measure]).check(), Ok(()));
        let mut small = lesson(&[measure]);
        small.head.size = Some(16);
        assert!(small.check().is_err_and(|error| error.contains("use 32 to 4096 cells")));
    }

    #[test]
    fn reading_tolerance_is_relative_or_based_on_bounds() {
        let task: Task =
            input::parse(r#"Measure(key: "a", of: "slope.mean", expect: (0, 90), within: 0.1)"#, 0).expect("it is one");
        assert!(
            task.is_within_tolerance(5.4, 5.0)
                && !task.is_within_tolerance(9.4, 5.0)
                && task.is_within_tolerance(0.2, 0.0)
                && !task.is_within_tolerance(f64::NAN, 5.0)
        );
    }

    #[test]
    fn playing_lesson_evaluates_measurements() {
        let mut session = open_first("round-hill", &Default::default()).expect("it is built in");
        let mut lesson = lesson(&[
            r#"Measure(key: "start", of: "height.most", expect: (1, 10000))"#,
            r#"Run(ticks: 4, enable: ["droplets"])"#,
            r#"Measure(key: "dug", of: "ledger.solid.droplets.eroded", times: 2.0, expect: (1, 1e12))"#,
            r#"Run(ticks: 4, set: {"droplets.per_tick": "1"}, restart: true)"#,
            r#"Measure(key: "ratio", of: "ledger.solid.droplets.eroded", times: 2.0, over: "dug", expect: (2, 3))"#,
            r#"Measure(key: "ticks", of: "run.ticks", since: "start", expect: (0, 1))"#,
        ]);
        lesson.head.size = Some(64);
        lesson.set_up(&mut session).unwrap_or_else(|error| panic!("{error}"));
        lesson.begin(&mut session);
        let played = lesson.play(&mut session).unwrap_or_else(|error| panic!("{error}"));
        let holds: Vec<bool> = played.iter().map(|played| played.holds).collect();
        assert_eq!(holds, [true, true, false, false], "{played:?}");
        assert!(played[2].found > 0.0 && played[2].found < 0.5, "few droplets dig less: {}", played[2].found);
        assert_eq!(played[3].found, 4.0 - played[0].found);
        lesson.head.set = [("thermal.no_such".to_owned(), "1".to_owned())].into();
        assert!(lesson.set_up(&mut session).is_err_and(|error| error.contains("thermal.no_such")));
    }
}
