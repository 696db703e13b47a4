//! "Which parameter changed?": a quiz with two simulations of the same seed, which differ in one parameter.

use bevy::prelude::*;

use std::time::{SystemTime, UNIX_EPOCH};

use super::{
    AppCommandEvent, Job, JobKind, NoticeLevel, OpenWorkspace, ProjectParams, Simulations, Workspace,
    run::generate_tiles,
};
use thalweg_scene::{
    io::JobProgress,
    model::{origin::Tile, session::Session},
};
use thalweg_sim::{
    core::rng::RandomStream,
    params::{self, Parameter, Value, collect_parameters},
};

/// Cells along the shorter side, and ticks, of the small simulations that test the effect of a parameter.
const SMALL: u32 = 64;
const TICKS: u64 = 30;
/// Minimum effect of a parameter: difference of the ground relative to the change by the simulation itself.
const MIN_EFFECT: f64 = 0.08;
/// Number of options.
const OPTIONS: usize = 4;
/// Maximum number of parameters to test.
const TRIES: usize = 12;

/// Question of the quiz.
#[derive(Clone, Debug, PartialEq)]
pub struct QuizQuestion {
    /// Paths and titles of the parameters to choose from.
    pub options: Vec<(String, String)>,
    /// Index of the correct option.
    right: usize,
    /// Values of the parameter in both simulations.
    values: [String; 2],
    /// Index of the user's answer.
    guess: Option<usize>,
    /// Identifier of its project.
    of: u64,
}

/// Current question, and the score.
#[derive(Resource, Clone, Debug, Default)]
pub struct Quiz {
    /// The last question.
    pub now: Option<QuizQuestion>,
    /// Number of answered questions, and of correct answers.
    pub score: [u32; 2],
}

/// Question with the tiles of its two simulations.
type GeneratedQuestion = (QuizQuestion, [Tile; 2]);

/// Command of the quiz.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum QuizCommand {
    /// Starts two simulations that differ in one parameter, and asks which.
    Ask,
    /// Answers the question with the index of an option.
    Guess(usize),
}

impl AppCommandEvent for QuizCommand {
    fn requires_project(&self) -> bool {
        matches!(self, Self::Ask)
    }
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Quiz>().add_observer(handle_command);
}

fn handle_command(command: On<QuizCommand>, mut project: ProjectParams, mut quiz: ResMut<Quiz>) {
    match *command.event() {
        QuizCommand::Ask => search_question(&mut project),
        QuizCommand::Guess(option) => quiz.guess(option),
    }
}

/// Searches for a parameter with a visible effect, in the background.
fn search_question(project: &mut ProjectParams) {
    // Two simulations, and small ones for tests.
    if !project.has_room(3 * project.simulations.selected().bytes()) {
        return;
    }
    let session = project.simulations.selected().clone();
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let of = project.simulations.project_id();
    let job = Job::new(JobKind::Open, "Looking for a parameter with a visible effect…");
    let generate = move |progress: &JobProgress| {
        let found = QuizQuestion::generate(session.clone(), of, seed, progress);
        Ok(found.map(|(question, tiles)| (question, generate_tiles(session, &tiles, progress))))
    };
    project.jobs.start(&mut project.notices, job, generate, ask_question);
}

/// Starts two simulations that differ in one parameter, and shows the question.
fn ask_question(
    In(found): In<Option<(QuizQuestion, Vec<Session>)>>,
    mut project: ProjectParams,
    mut quiz: ResMut<Quiz>,
    mut commands: Commands,
) {
    let Some((question, sessions)) = found else {
        let text = "No parameter of the enabled processes changes the terrain enough in a few ticks. Open another scene, or enable another process.";
        project.notices.notify(NoticeLevel::Info, text);
        return;
    };
    if !question.is_of(project.simulations.project_id()) {
        // Another project was opened meanwhile.
        return;
    }
    project.start_side_by_side(sessions);
    project.transport.playing = true;
    quiz.ask(question, project.simulations.project_id());
    // The panel with the question.
    commands.trigger(OpenWorkspace(Workspace::Learn));
}

impl QuizQuestion {
    /// Returns the index of the user's answer and that of the correct option, once answered.
    pub fn answer(&self) -> Option<(usize, usize)> {
        self.guess.map(|guess| (guess, self.right))
    }

    /// Returns the values of the parameter in both simulations, once answered.
    pub fn values(&self) -> Option<&[String; 2]> {
        self.guess.map(|_| &self.values)
    }

    /// Returns `true` if the question is about this project.
    pub fn is_of(&self, project_id: u64) -> bool {
        self.of == project_id
    }
}

impl QuizQuestion {
    /// Selects a parameter of a session by a seed, and returns the question with its two simulations; `None` if no parameter has a
    /// visible effect within a few ticks, or if it is cancelled. Takes seconds.
    fn generate(session: Session, of: u64, seed: u64, progress: &JobProgress) -> Option<GeneratedQuestion> {
        let mut chance = RandomStream::new(seed, "quiz", 1);
        let mut all = candidates(&session);
        // Shuffle.
        for last in (1..all.len()).rev() {
            all.swap(last, chance.below(last + 1));
        }
        if all.len() < 2 {
            return None;
        }
        let mut small = session;
        small.tile = None;
        small.shrink(SMALL);
        small.restart(small.simulation.seed());
        let usual = run(small.clone())?;
        let shown = all.iter().take(TRIES).enumerate().find_map(|(number, parameter)| {
            progress.done(number, TRIES);
            if progress.is_cancelled() {
                return None;
            }
            let value = other_value(parameter)?;
            let mut other = small.clone();
            other.set(&parameter.path, &value.to_string()).ok()?;
            let (_, difference) = run(other)?.simulation.difference_to(&usual.simulation)?;
            let changed = usual.simulation.terrain.ground();
            let squares = changed.iter().zip(usual.simulation.terrain.start.iter());
            let squares = squares.map(|(now, start)| f64::from(now - start) * f64::from(now - start)).sum::<f64>();
            let change = (squares / changed.len().max(1) as f64).sqrt();
            (difference.size.is_finite() && change > 0.0 && difference.size > MIN_EFFECT * change)
                .then_some((number, value))
        });
        let (number, value) = shown?;
        let chosen = all.swap_remove(number);
        all.truncate(OPTIONS - 1);
        let right = chance.below(all.len() + 1);
        let (path, values) = (chosen.path.clone(), [chosen.value.to_string(), value.to_string()]);
        all.insert(right, chosen);
        let options = all.into_iter().map(|parameter| (parameter.path.clone(), parameter.title())).collect();
        let tiles = [("Simulation A", &values[0]), ("Simulation B", &values[1])].map(|(title, value)| Tile {
            title: title.to_owned(),
            set: [(path.clone(), value.clone())].into(),
            ..Tile::default()
        });
        Some((Self { options, right, values, guess: None, of }, tiles))
    }
}

impl Quiz {
    /// Asks the question about this project.
    fn ask(&mut self, question: QuizQuestion, project_id: u64) {
        self.now = Some(QuizQuestion { of: project_id, ..question });
    }

    /// Takes the first answer; later ones are ignored.
    fn guess(&mut self, guess: usize) {
        if let Some(question) = self.now.as_mut().filter(|question| question.guess.is_none()) {
            question.guess = Some(guess);
            self.score[0] += 1;
            self.score[1] += u32::from(guess == question.right);
        }
    }

    /// Returns `true` while the parameters of the second simulation must stay hidden.
    pub(super) fn hides_parameters(&self, simulations: &Simulations) -> bool {
        self.now.as_ref().is_some_and(|question| question.is_of(simulations.project_id()) && question.guess.is_none())
    }
}

/// Returns the main parameters of enabled processes that have an effect.
fn candidates(session: &Session) -> Vec<Parameter> {
    let slots = session.simulation.slots.iter().filter(|slot| slot.enabled);
    let all = slots.flat_map(|slot| {
        let declared = collect_parameters((slot.key(), slot.process.params()));
        let acts = |parameter: &Parameter| {
            parameter.knob.main && !parameter.knob.indirect && parameter.knob.idle(&declared).is_none()
        };
        declared.iter().filter(|parameter| acts(parameter)).cloned().collect::<Vec<_>>()
    });
    all.filter(|parameter| other_value(parameter).is_some()).collect()
}

/// Returns four times a number, or a quarter of it if that is out of range.
fn other_value(parameter: &Parameter) -> Option<Value> {
    let Value::Number(now) = parameter.value else { return None };
    let params::Knob { min, max, .. } = parameter.knob;
    let larger = if now > 0.0 { 4.0 * now } else { min + 0.5 * (max - min) };
    let wanted = if larger <= max { larger } else { 0.25 * now };
    let wanted = wanted.clamp(min, max);
    let wanted = if parameter.whole { wanted.round() } else { wanted };
    (wanted != now).then_some(Value::Number(wanted))
}

/// Runs a short simulation; `None` if it fails.
fn run(mut session: Session) -> Option<Session> {
    for _ in 0..TICKS {
        session.simulation.tick();
        if session.simulation.fault().is_some() {
            return None;
        }
    }
    Some(session)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use thalweg_scene::{
        io::scene::open_first,
        model::origin::{Heightmap, Options},
    };
    use thalweg_sim::core::grid::Grid;

    #[test]
    fn quiz_answer_is_a_visible_parameter_among_options() {
        let options = Options { size: Some((64, 64)), ..Options::default() };
        for scene in ["round-hill", "dam-break", "sand-sea"] {
            let session = open_first(scene, &options).expect("built in");
            let mut quiz = Quiz::default();
            for clock in 0..3 {
                let (question, [first, second]) =
                    QuizQuestion::generate(session.clone(), 7, clock, &JobProgress::default())
                        .unwrap_or_else(|| panic!("{scene}: no parameter has a visible effect"));
                assert!((2..=OPTIONS).contains(&question.options.len()));
                assert!(first.set.keys().eq(second.set.keys()) && first.set != second.set);
                assert_eq!(second.set.keys().next(), Some(&question.options[question.right].0));
                assert_eq!(question.answer(), None, "there is no answer before the guess");
                let right = question.right;
                quiz.ask(question, 7);
                quiz.guess(right);
                quiz.guess(right + 1);
                assert_eq!(quiz.now.as_ref().and_then(QuizQuestion::answer), Some((right, right)));
            }
            assert_eq!(quiz.score, [3, 3]);
        }
        // An imported map is tested at a small size too.
        let mut session = open_first("round-hill", &options).expect("built in");
        session.set_heights(Arc::new(Heightmap {
            heights: Grid::from_fn(700, 500, |x, y| 30.0 * libm::sinf(0.02 * x as f32) * libm::cosf(0.03 * y as f32)),
            file_size: (700, 500),
            cell_size: 2.0,
            geo: None,
            nodata: None,
            warnings: Vec::new(),
        }));
        session.shrink(SMALL);
        session.restart(1);
        let terrain = &session.simulation.terrain;
        assert_eq!((terrain.height(), session.size()), (64, (terrain.width(), 64)));
        assert!((terrain.cell_size * 64.0 - 1000.0).abs() < 20.0, "the extent of the terrain is unchanged");
    }
}
