//! A plan of many runs: an input, and parameters with the values that they have in turn.

use std::{collections::BTreeMap, iter};

use serde::{Deserialize, Serialize};

use thalweg_sim::{
    core::rng::Stream,
    params::{Group, Parameter, Value, get, parse},
};

/// The name by which the seed of the runs is varied.
pub const SEED: &str = "seed";

/// What the file of a plan holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// A built-in scene, or a scene, project or heightmap beside the plan.
    pub input: String,
    /// Columns and rows, if not as many as the input has.
    #[serde(default)]
    pub size: Option<u32>,
    /// Ticks of each run, if not as many as make the scene.
    #[serde(default)]
    pub ticks: Option<u64>,
    /// Seed of all runs, if not that of the input.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Processes that run, if not those of the input.
    #[serde(default)]
    pub enabled: Vec<String>,
    /// Parameters that are the same in all runs, by path.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Parameters that differ, by path, or `seed`.
    pub vary: BTreeMap<String, Values>,
    /// How the values are combined.
    #[serde(default)]
    pub sample: Sample,
    /// Files to save of each run besides its report and thumbnail, as `--save` has them.
    #[serde(default)]
    pub save: Vec<String>,
}

/// Values that a parameter has in turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Values {
    /// These.
    List(Vec<String>),
    /// So many between two ends, evenly spaced. In a sample of the range, the count is not needed.
    Range {
        /// The first.
        from: f64,
        /// The last.
        to: f64,
        /// How many.
        #[serde(default)]
        count: Option<usize>,
        /// In even ratios instead of even distances.
        #[serde(default)]
        ratios: bool,
    },
}

/// How values of several parameters are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Sample {
    /// Each with each.
    #[default]
    Grid,
    /// So many runs, in which every parameter takes a value from each of as many equal parts of its range (McKay, Beckman & Conover 1979).
    LatinHypercube {
        /// How many.
        count: usize,
        /// Seed of the sample.
        seed: u64,
    },
}

/// One run of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its number, from 1.
    pub number: usize,
    /// The values of what is varied, by path.
    pub values: BTreeMap<String, String>,
}

impl Plan {
    /// How many runs there are; none if they are more than can be counted.
    ///
    /// # Errors
    /// One sentence: which values are wrong, and what would be right.
    pub fn count(&self) -> Result<Option<usize>, String> {
        if self.vary.is_empty() {
            return Err("nothing is varied; name parameters and their values in \"vary\"".to_owned());
        }
        for (path, values) in &self.vary {
            if self.set.contains_key(path) {
                return Err(format!("{path} is both set and varied; leave one of them out"));
            }
            let latin = matches!(self.sample, Sample::LatinHypercube { .. });
            values.check(latin).map_err(|wrong| format!("{path}: {wrong}"))?;
        }
        match self.sample {
            Sample::Grid => {
                Ok(self.vary.values().try_fold(1_usize, |product, values| product.checked_mul(values.count())))
            }
            Sample::LatinHypercube { count: 0, .. } => Err("a sample needs 1 run or more".to_owned()),
            Sample::LatinHypercube { count, .. } => Ok(Some(count)),
        }
    }

    /// The run of a number from 1. Its values are checked against what is declared.
    ///
    /// # Errors
    /// One sentence: which value is wrong, and what would be right.
    pub fn run(&self, number: usize, declared: &[Group<'_>]) -> Result<Run, String> {
        let mut rest = number - 1;
        let mut values = BTreeMap::new();
        // The last parameter changes fastest.
        for (axis, (path, choices)) in self.vary.iter().enumerate().rev() {
            let parameter =
                if path == SEED { None } else { Some(get(declared, path).map_err(|error| error.to_string())?) };
            let whole = parameter.as_ref().is_none_or(|parameter| parameter.whole);
            if whole
                && let Values::Range { from, to, .. } = choices
                && from.min(*to).ceil() > from.max(*to).floor()
            {
                return Err(format!("{path}: there is no whole number from {from} to {to}; name other ends"));
            }
            let text = match self.sample {
                Sample::Grid => {
                    let place = rest % choices.count();
                    rest /= choices.count();
                    let text = choices.at(place, whole);
                    if matches!(choices, Values::Range { .. }) && place > 0 && choices.at(place - 1, whole) == text {
                        return Err(format!(
                            "{path}: two values of the range are {text}; a smaller count would be right"
                        ));
                    }
                    text
                }
                Sample::LatinHypercube { count, seed } => choices.drawn(latin(seed, axis, count, number - 1), whole),
            };
            check(path, &text, parameter.as_ref())?;
            values.insert(path.clone(), text);
        }
        Ok(Run { number, values })
    }
}

/// Where in its range the parameter of a number lies in a run of a sample: each run in another of as many parts.
fn latin(seed: u64, axis: usize, count: usize, run: usize) -> f64 {
    let mut within = Stream::new(seed ^ 0x9e37_79b9_7f4a_7c15, "latin hypercube", ((axis as u64) << 32) | run as u64);
    (part(seed, axis, count, run) as f64 + within.fine_unit()) / count as f64
}

/// The part of the range: a shuffle without a list, whatever the count. A Feistel network mixes the numbers below a power of four, again and
/// again until one below the count comes out (cycle walking: Black & Rogaway 2002).
fn part(seed: u64, axis: usize, count: usize, run: usize) -> usize {
    let bits = (usize::BITS - (count - 1).leading_zeros()).div_ceil(2).max(1);
    let low = (1 << bits) - 1;
    let mixed = |number: &usize| {
        let [left, right] = (0..6).fold([number >> bits, number & low], |[left, right], round| {
            let key = (((axis as u64) << 3 | round) << 32) | right as u64;
            let mut stream = Stream::new(seed, "latin hypercube's part", key);
            [right, left ^ (stream.bits() as usize & low)]
        });
        Some(left << bits | right)
    };
    iter::successors(mixed(&run), mixed).find(|part| *part < count).unwrap_or(run)
}

fn check(path: &str, text: &str, parameter: Option<&Parameter>) -> Result<(), String> {
    match parameter {
        Some(parameter) => match parse(parameter, text) {
            Ok(Value::Number(_) | Value::Switch(_) | Value::Choice(_) | Value::Color(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        },
        None => match text.parse::<u64>() {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("{path} cannot be \"{text}\": it must be a whole number, 0 or larger")),
        },
    }
}

impl Values {
    fn check(&self, latin: bool) -> Result<(), String> {
        match self {
            Self::List(values) if values.is_empty() => Err("the list is empty; give it a value or more".to_owned()),
            Self::List(_) => Ok(()),
            Self::Range { from, to, .. } if !(from.is_finite() && to.is_finite()) => {
                Err("a range needs two numbers as its ends".to_owned())
            }
            Self::Range { from, to, ratios: true, .. } if *from <= 0.0 || *to <= 0.0 => {
                Err("a range of even ratios needs ends above 0".to_owned())
            }
            Self::Range { count: Some(0), .. } => Err("a range of 0 values is empty; ask for 1 or more".to_owned()),
            Self::Range { count: None, .. } if !latin => {
                Err("a range in a grid needs a number of values, such as count: 5".to_owned())
            }
            Self::Range { .. } => Ok(()),
        }
    }

    /// How many values there are; in a sample of a range, one.
    fn count(&self) -> usize {
        match self {
            Self::List(values) => values.len(),
            Self::Range { count, .. } => count.unwrap_or(1),
        }
    }

    /// The value at a place of the list or the range; of a count, the nearest whole number.
    fn at(&self, place: usize, whole: bool) -> String {
        match self {
            Self::List(values) => values[place].clone(),
            Self::Range { from, to, ratios, .. } => {
                let value = between([*from, *to], *ratios, place as f64 / (self.count().max(2) - 1) as f64);
                if whole { format!("{:.0}", value.round()) } else { told(value) }
            }
        }
    }

    /// The value that is drawn at a share of the list or the range. Each whole number of a range has the same chance.
    fn drawn(&self, share: f64, whole: bool) -> String {
        match self {
            Self::List(values) => values[((share * values.len() as f64) as usize).min(values.len() - 1)].clone(),
            Self::Range { from, to, ratios, .. } if whole => {
                let (least, most) = (from.min(*to).ceil(), from.max(*to).floor());
                format!("{:.0}", between([least, most + 1.0], *ratios, share).floor().clamp(least, most.max(least)))
            }
            Self::Range { from, to, ratios, .. } => told(between([*from, *to], *ratios, share)),
        }
    }
}

/// The number at a share of the way between two, by even distances or by even ratios.
fn between([from, to]: [f64; 2], ratios: bool, share: f64) -> f64 {
    if ratios { from * (to / from).powf(share) } else { from + share * (to - from) }
}

/// A number with the nine digits that parameters hold: rounding of the last ones would make odd names.
fn told(value: f64) -> String {
    format!("{value:.8e}").parse::<f64>().unwrap_or(value).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_sim::process::droplets;

    fn plan(text: &str) -> Plan {
        ron::Options::default()
            .with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME)
            .from_str(text)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_grid_has_every_value_with_every_other() {
        let plan = plan(
            "(input: \"round-hill\", vary: {\"droplets.per_tick\": Range(from: 100, to: 10000, count: 3, ratios: true), \
             \"droplets.law\": List([\"streams\", \"capacity\"])})",
        );
        assert_eq!(plan.count(), Ok(Some(6)));
        let params = droplets::Params::default();
        let runs: Vec<Run> = (1..=6)
            .map(|number| plan.run(number, &[("droplets", &params)]).unwrap_or_else(|wrong| panic!("{wrong}")))
            .collect();
        let per_tick: Vec<&str> = runs.iter().map(|run| run.values["droplets.per_tick"].as_str()).collect();
        assert_eq!(per_tick, ["100", "1000", "10000", "100", "1000", "10000"]);
        assert_eq!(runs[3].values["droplets.law"], "capacity");
    }

    #[test]
    fn a_latin_hypercube_has_one_run_in_each_part_of_every_range() {
        let plan = plan(
            "(input: \"round-hill\", sample: LatinHypercube(count: 20, seed: 4), vary: {\
             \"droplets.entrainment\": Range(from: 2, to: 12), \"seed\": Range(from: 0, to: 1000), \
             \"droplets.law\": List([\"streams\", \"capacity\"])})",
        );
        assert_eq!(plan.count(), Ok(Some(20)));
        let params = droplets::Params::default();
        let runs: Vec<Run> = (1..=20)
            .map(|number| plan.run(number, &[("droplets", &params)]).unwrap_or_else(|wrong| panic!("{wrong}")))
            .collect();
        let mut parts: Vec<usize> = runs
            .iter()
            .map(|run| ((run.values["droplets.entrainment"].parse::<f64>().unwrap_or(f64::NAN) - 2.0) * 2.0) as usize)
            .collect();
        parts.sort_unstable();
        assert_eq!(parts, (0..20).collect::<Vec<_>>());
        let order = |axis| (0..20).map(|run| part(4, axis, 20, run)).collect::<Vec<_>>();
        assert!(order(0) != order(1) && order(0) != (0..20).collect::<Vec<_>>());
        assert_eq!((part(4, 0, 1, 0), part(4, 0, 1 << 40, 7) < 1 << 40), (0, true));
        assert_eq!(runs.iter().filter(|run| run.values["droplets.law"] == "streams").count(), 10);
        assert!(runs.iter().all(|run| run.values["seed"].parse::<u64>().is_ok()));
        assert_eq!(plan.run(7, &[("droplets", &params)]), Ok(runs[6].clone()), "a sample is the same each time");
    }

    #[test]
    fn whole_numbers_keep_all_their_digits_and_have_equal_chances() {
        let params = droplets::Params::default();
        let values = |text: &str, runs: usize| -> Vec<String> {
            let plan = plan(&format!("(input: \"round-hill\", {text})"));
            let run = |number| plan.run(number, &[("droplets", &params)]).unwrap_or_else(|wrong| panic!("{wrong}"));
            (1..=runs).map(|number| run(number).values.into_values().next().unwrap_or_default()).collect()
        };
        let seeds = values("vary: {\"seed\": Range(from: 20260101001, to: 20260101003, count: 3)}", 3);
        assert_eq!(seeds, ["20260101001", "20260101002", "20260101003"]);
        let seeds = values("sample: LatinHypercube(count: 300, seed: 1), vary: {\"seed\": Range(from: 1, to: 3)}", 300);
        for seed in ["1", "2", "3"] {
            assert_eq!(seeds.iter().filter(|found| *found == seed).count(), 100, "{seed}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_plan_is_said_in_one_sentence() {
        let params = droplets::Params::default();
        let wrong = |vary: &str| {
            let plan =
                plan(&format!("(input: \"round-hill\", set: {{\"droplets.friction\": \"1\"}}, vary: {{{vary}}})"));
            plan.count().and_then(|_| plan.run(1, &[("droplets", &params)]).map(drop)).expect_err("it is wrong")
        };
        for (vary, words) in [
            ("", "nothing is varied"),
            ("\"droplets.per_tick\": List([])", "the list is empty"),
            ("\"droplets.per_tick\": Range(from: 1, to: 9)", "needs a number of values"),
            ("\"droplets.per_tick\": Range(from: 1, to: 9, count: 0)", "is empty"),
            ("\"droplets.per_tick\": Range(from: 0, to: 9, count: 2, ratios: true)", "above 0"),
            ("\"droplets.friction\": List([\"1\"])", "both set and varied"),
            ("\"droplets.per_tik\": List([\"1\"])", "the nearest is \"droplets.per_tick\""),
            ("\"droplets.per_tick\": List([\"lots\"])", "cannot be \"lots\""),
            ("\"seed\": List([\"-1\"])", "a whole number"),
            ("\"seed\": List([\"1.5\"])", "a whole number"),
        ] {
            let said = wrong(vary);
            assert!(said.contains(words) && !said.contains('\n'), "{vary}: {said}");
        }
        let few = plan("(input: \"x\", vary: {\"seed\": Range(from: 1, to: 3, count: 10)})");
        assert!((1..=10).any(|number| few.run(number, &[]).is_err_and(|wrong| wrong.contains("a smaller count"))));
        let many = plan(
            "(input: \"x\", vary: {\"a.b\": Range(from: 0, to: 1, count: 4000000000), \
            \"a.c\": Range(from: 0, to: 1, count: 4000000000), \"a.d\": Range(from: 0, to: 1, count: 4000000000)})",
        );
        assert_eq!(many.count(), Ok(None));
    }
}
