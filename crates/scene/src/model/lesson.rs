//! A lesson: a scene, and steps that ask before they show. `attempt.rs` has what a student has answered, `play.rs` plays one without.
//!
//! [`io`](crate::io) reads lessons from Markdown.

mod attempt;
mod play;

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

pub use self::{attempt::Attempt, play::Played};
use super::{SPEEDS, session::Session};
use thalweg_sim::{
    core::quantity::Quantity,
    generate::TerrainParams,
    params::{self, Knob, Parameter},
    simulation::gauge::Gauge,
};

/// Less than this share of its bounds is a number near zero.
const NEAR_ZERO: f64 = 0.02;

/// What stands above the steps of a lesson's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Name shown to the student.
    pub title: String,
    /// What it is about, in a sentence.
    pub about: String,
    /// For whom it is.
    pub level: String,
    /// Time that it needs.
    pub minutes: u32,
    /// Where its facts come from.
    pub source: String,
    /// The scene on which it plays.
    pub scene: String,
    /// Cells along the shorter side, if not as many as the scene has.
    #[serde(default)]
    pub size: Option<u32>,
    /// Seed, if not the scene's.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Processes that run, if not the scene's.
    #[serde(default)]
    pub enabled: Option<Vec<String>>,
    /// Parameters by path, as `--set` has them.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Parameters whose sliders stand beside the text.
    #[serde(default)]
    pub free: Vec<String>,
    /// What is shown over the ground, by the quantity's key.
    #[serde(default)]
    pub overlay: Option<String>,
    /// Ends of the line of the section, as shares of the map's sides.
    #[serde(default)]
    pub section: Option<[[f32; 2]; 2]>,
    /// From where the land is seen at first: degrees from the south through the east, and degrees above the table.
    #[serde(default)]
    pub seen_from: Option<[f32; 2]>,
}

/// What a student does in a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Task {
    /// Chooses one of several answers.
    Choose {
        /// Its name in the lesson.
        key: String,
        /// The answers.
        options: Vec<String>,
        /// Which one is right, from 0.
        right: usize,
    },
    /// Predicts a number.
    Estimate {
        /// Its name in the lesson.
        key: String,
        /// What the number is of.
        of: String,
        /// Its unit.
        #[serde(default)]
        unit: String,
    },
    /// Draws the profile that the section will have.
    Draw {
        /// Its name in the lesson.
        key: String,
    },
    /// Runs ticks.
    Run {
        /// How many.
        ticks: u64,
        /// How fast, as a multiple of the usual speed.
        #[serde(default = "usual_speed")]
        speed: f32,
        /// Parameters that are set before.
        #[serde(default)]
        set: BTreeMap<String, String>,
        /// Processes that run from then on, if not those before.
        #[serde(default)]
        enable: Option<Vec<String>>,
        /// From the start.
        #[serde(default)]
        restart: bool,
        /// From where the land is seen then, as in the head.
        #[serde(default)]
        seen_from: Option<[f32; 2]>,
    },
    /// Reads a number with a tool.
    Measure {
        /// Its name in the lesson.
        key: String,
        /// The gauge: see [`Gauge`].
        of: String,
        /// Its unit.
        #[serde(default)]
        unit: String,
        /// Factor from the gauge to the unit.
        #[serde(default = "one")]
        times: f64,
        /// Between which bounds it lies.
        expect: (f64, f64),
        /// How far off a reading may be, as a share.
        #[serde(default = "tenth")]
        within: f64,
        /// The prediction to compare it with.
        #[serde(default)]
        guess: Option<String>,
        /// An earlier measurement that is subtracted.
        #[serde(default)]
        since: Option<String>,
        /// An earlier measurement by which it is divided.
        #[serde(default)]
        over: Option<String>,
    },
    /// Sees which answer was right, or what was drawn beside what has come of it.
    Reveal {
        /// The prediction.
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

/// A step of a lesson.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Its heading.
    pub title: String,
    /// Markdown that stands above the task.
    pub text: String,
    /// What the student does, if the step is not only read.
    pub task: Option<Task>,
    /// Markdown that is shown when the task is done.
    pub after: String,
    /// Markdown of hints, one after the other.
    pub hints: Vec<String>,
}

/// A lesson.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    /// Where it was read.
    pub path: PathBuf,
    /// What it is called, and where it plays.
    pub head: Head,
    /// Its steps; the first is the introduction.
    pub steps: Vec<Step>,
    /// Markdown of the teacher's page.
    pub teacher: String,
}

/// What a student answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// An option, from 0.
    Chosen(usize),
    /// A predicted number.
    Number(f64),
    /// Heights of a drawn profile, evenly spaced along the section, in metres.
    Line(Vec<f32>),
    /// A drawn profile beside the one that came of it.
    Profile {
        /// What the student drew.
        drawn: Vec<f32>,
        /// The ground at that moment, evenly spaced too.
        found: Vec<f32>,
    },
    /// A number that was read, and the one that the program measured at that moment.
    Measured {
        /// What the student read.
        read: f64,
        /// What the program measured.
        found: f64,
    },
}

impl Task {
    /// Its name, if it has an answer that is kept.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Choose { key, .. } | Self::Estimate { key, .. } | Self::Draw { key } | Self::Measure { key, .. } => {
                Some(key)
            }
            Self::Run { .. } | Self::Reveal { .. } => None,
        }
    }

    /// Whether an answer is of its kind.
    pub fn takes(&self, answer: &Answer) -> bool {
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
    /// Checks that each step can be done.
    ///
    /// # Errors
    /// The first step that cannot: a sentence that says what is wrong, and what would be right.
    pub fn check(&self) -> Result<(), String> {
        let head = &self.head;
        let of_map = |place: &[f32; 2]| place.iter().all(|share| (0.0..=1.0).contains(share));
        if head.section.is_some_and(|ends| !ends.iter().all(of_map)) {
            return Err("its section leaves the map; name shares of the sides from 0 to 1".to_owned());
        }
        let fresh = TerrainParams::default();
        let Knob { min, max, .. } =
            params::get(&[("terrain", &fresh)], "terrain.width").map_err(|error| error.to_string())?.knob;
        if head.size.is_some_and(|size| !(min..=max).contains(&size.into())) {
            return Err(format!("its size is out of range; name {min} to {max} cells"));
        }
        if let Some(key) = head.overlay.as_ref().filter(|key| Quantity::of_key(key).is_none()) {
            let keys: Vec<&str> = Quantity::all().map(Quantity::key).collect();
            return Err(format!("there is no overlay \"{key}\"; there are {}", keys.join(", ")));
        }
        let mut before: Vec<&Task> = Vec::new();
        for step in &self.steps {
            let Some(task) = &step.task else { continue };
            self.check_task(task, &before).map_err(|wrong| format!("in the step \"{}\" {wrong}", step.title))?;
            before.push(task);
        }
        Ok(())
    }

    fn check_task(&self, task: &Task, before: &[&Task]) -> Result<(), String> {
        let earlier = |key: &str| before.iter().find(|task| task.key() == Some(key)).copied();
        if let Some(key) = task.key().filter(|key| earlier(key).is_some()) {
            return Err(format!("the key \"{key}\" is taken already; give each task a key of its own"));
        }
        let predicted = |key: &str| match earlier(key) {
            Some(Task::Choose { .. } | Task::Estimate { .. } | Task::Draw { .. }) => Ok(()),
            _ => Err(format!("nothing was predicted as \"{key}\"; name the key of an earlier prediction")),
        };
        match task {
            Task::Choose { options, right, .. } if *right >= options.len() => {
                Err(format!("the right answer is number {right}, of {}; count from 0", options.len()))
            }
            Task::Draw { .. } if self.head.section.is_none() => {
                Err("a profile is drawn; the head needs a section for it".to_owned())
            }
            Task::Run { speed, .. } if !SPEEDS.contains(speed) => {
                Err(format!("the speed is {speed}; {} to {} would be right", SPEEDS.start(), SPEEDS.end()))
            }
            Task::Measure { of, expect, within, times, guess, since, over, .. } => {
                Gauge::parse(of)?;
                if !(expect.0 <= expect.1 && *within > 0.0 && within.is_finite() && times.is_finite()) {
                    return Err("the bounds make no sense; name the lower one first, and a share above 0".to_owned());
                }
                for key in since.iter().chain(over) {
                    if !matches!(earlier(key), Some(Task::Measure { .. })) {
                        return Err(format!("nothing was measured as \"{key}\"; name an earlier measurement"));
                    }
                }
                guess.as_deref().map_or(Ok(()), predicted)
            }
            Task::Reveal { guess } => match earlier(guess) {
                Some(Task::Choose { .. } | Task::Draw { .. }) => Ok(()),
                _ => {
                    Err(format!("there is nothing to reveal of \"{guess}\"; name the key of an earlier Choose or Draw"))
                }
            },
            _ => Ok(()),
        }
    }

    /// Makes a scene that of the lesson. It takes effect at the next [`Session::restart`].
    ///
    /// # Errors
    /// A sentence, if it names a parameter or a process that there is not.
    pub fn set_up(&self, session: &mut Session) -> Result<(), String> {
        let head = &self.head;
        session.title.clone_from(&head.title);
        session.about.clone_from(&head.about);
        session.shown_from = 0;
        // It plays on one run, however many the scene sets side by side.
        session.tile = None;
        if let Some(size) = head.size {
            session.resize(size);
        }
        set(session, &head.set, head.enabled.as_deref())?;
        let known = self.sliders(session);
        if let Some(missing) = head.free.iter().find(|path| !known.iter().any(|known| known.path == **path)) {
            return Err(format!("there is no parameter \"{missing}\" to be free"));
        }
        Ok(())
    }

    /// Starts a scene that was set up for it.
    pub fn begin(&self, session: &mut Session) {
        session.restart(self.head.seed.unwrap_or(session.simulation.seed()));
        session.note_defaults();
    }

    /// The parameters whose sliders stand beside the text.
    pub fn sliders(&self, session: &Session) -> Vec<Parameter> {
        let groups = session.groups();
        let all = groups.into_iter().flat_map(params::walk);
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
    /// Sets what a run is made with, and starts it again if it begins from the start.
    ///
    /// # Errors
    /// A sentence, if it names a parameter or a process that there is not.
    pub fn prepare(&self, session: &mut Session) -> Result<(), String> {
        let Self::Run { set: parameters, enable, restart, .. } = self else { return Ok(()) };
        set(session, parameters, enable.as_deref())?;
        if *restart {
            session.restart(session.simulation.seed());
        }
        Ok(())
    }

    /// Measures what a student is to read now, in the task's unit; none where there is nothing of the kind.
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

    /// Whether a reading is near enough to what was measured.
    pub fn agrees(&self, read: f64, found: f64) -> bool {
        let Self::Measure { within, expect, .. } = self else { return false };
        // Of a number near zero a share is nothing: there the bounds count, between which it may lie.
        let (bounds, size) = (expect.0.abs().max(expect.1.abs()), found.abs());
        let size = if size < NEAR_ZERO * bounds { 0.5 * (expect.1 - expect.0) } else { size };
        (read - found).abs() <= within * size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{lesson::ron, scene::open_first};

    fn head() -> Head {
        ron::from_str(r#"(title: "T", about: "a", level: "l", minutes: 5, source: "s", scene: "round-hill")"#)
            .expect("it is a head")
    }

    pub(super) fn lesson(tasks: &[&str]) -> Lesson {
        let step = |(number, task): (usize, &&str)| Step {
            title: format!("step {number}"),
            task: Some(ron(task).unwrap_or_else(|error| panic!("{task}: {error}"))),
            ..Step::default()
        };
        Lesson {
            path: PathBuf::new(),
            head: head(),
            steps: tasks.iter().enumerate().map(step).collect(),
            teacher: String::new(),
        }
    }

    #[test]
    fn a_lesson_that_cannot_be_done_is_refused_with_a_reason() {
        let measure = r#"Measure(key: "a", of: "slope.mean", expect: (0, 90))"#;
        for (tasks, said) in [
            (vec![r#"Choose(key: "a", options: ["x"], right: 1)"#], "count from 0"),
            (vec![measure, measure], "taken already"),
            (vec![r#"Measure(key: "a", of: "slop.mean", expect: (0, 1))"#], "no quantity \"slop\""),
            (vec![r#"Measure(key: "a", of: "slope.mean", expect: (2, 1))"#], "the lower one first"),
            (vec![r#"Measure(key: "a", of: "slope.mean", expect: (0, 1), guess: "b")"#], "nothing was predicted"),
            (vec![r#"Measure(key: "a", of: "slope.mean", expect: (0, 1), since: "b")"#], "nothing was measured"),
            (vec![measure, r#"Reveal(guess: "a")"#], "nothing to reveal of \"a\""),
            (vec![r#"Draw(key: "a")"#], "needs a section"),
            (vec![r#"Run(ticks: 3, speed: 9999)"#], "0.25 to 1000"),
        ] {
            let error = lesson(&tasks).check().expect_err(said);
            assert!(error.starts_with("in the step \"step ") && error.contains(said), "{error}");
        }
        assert_eq!(lesson(&[measure]).check(), Ok(()));
        let mut small = lesson(&[measure]);
        small.head.size = Some(16);
        assert!(small.check().is_err_and(|error| error.contains("name 32 to 4096 cells")));
    }

    #[test]
    fn a_reading_may_be_off_by_a_share_and_near_zero_by_a_share_of_the_bounds() {
        let task: Task =
            ron(r#"Measure(key: "a", of: "slope.mean", expect: (0, 90), within: 0.1)"#).expect("it is one");
        assert!(
            task.agrees(5.4, 5.0) && !task.agrees(9.4, 5.0) && task.agrees(0.2, 0.0) && !task.agrees(f64::NAN, 5.0)
        );
    }

    #[test]
    fn a_played_lesson_measures_what_it_says() {
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
