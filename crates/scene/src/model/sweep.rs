//! Plan of a parameter sweep: an input, and parameters with their values.

use std::{collections::BTreeMap, iter};

use serde::{Deserialize, Serialize};

use thalweg_sim::{
    core::rng::RandomStream,
    params::{Group, Parameter, Value, get, parse},
};

/// Name under which a plan varies the seed.
pub const SEED: &str = "seed";

/// Contents of a plan file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Built-in scene, or path of a scene, project or heightmap relative to the plan.
    pub input: String,
    /// Cells along each side, if different from the input.
    #[serde(default)]
    pub size: Option<u32>,
    /// Ticks of each run, if different from the scene.
    #[serde(default)]
    pub ticks: Option<u64>,
    /// Seed of all runs, if different from the input.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Enabled processes, if different from the input.
    #[serde(default)]
    pub enabled: Vec<String>,
    /// Parameters with the same value in all runs, by path.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Varied parameters, by path, or `seed`.
    pub vary: BTreeMap<String, SweepValues>,
    /// Sampling design.
    #[serde(default)]
    pub sample: SamplingDesign,
    /// Files to save for each run in addition to its report and thumbnail, as for `--save`.
    #[serde(default)]
    pub save: Vec<String>,
}

/// Values of a varied parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum SweepValues {
    /// Explicit values.
    List(Vec<String>),
    /// Evenly spaced values between two ends. Latin hypercube sampling ignores the count.
    Range {
        /// First value.
        from: f64,
        /// Last value.
        to: f64,
        /// Number of values.
        #[serde(default)]
        count: Option<usize>,
        /// `true` for logarithmic spacing instead of linear.
        #[serde(default)]
        ratios: bool,
    },
}

/// Sampling design: the combinations of parameter values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum SamplingDesign {
    /// Full factorial: all combinations.
    #[default]
    Grid,
    /// Latin hypercube: the range of each parameter is divided into `count` equal strata, each sampled once (McKay, Beckman &
    /// Conover 1979).
    LatinHypercube {
        /// Number of runs.
        count: usize,
        /// Seed of the sample.
        seed: u64,
    },
}

/// Run of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// Number of the run, from 1.
    pub number: usize,
    /// Values of the varied parameters, by path.
    pub values: BTreeMap<String, String>,
}

impl Plan {
    /// Returns the number of runs, or `None` if it overflows.
    ///
    /// # Errors
    /// A message that names the invalid values and a valid alternative.
    pub fn count(&self) -> Result<Option<usize>, String> {
        if self.vary.is_empty() {
            return Err("nothing is varied; list parameters and their values under \"vary\"".to_owned());
        }
        for (path, values) in &self.vary {
            if self.set.contains_key(path) {
                return Err(format!("{path} is both set and varied; remove one of the two entries"));
            }
            let latin = matches!(self.sample, SamplingDesign::LatinHypercube { .. });
            values.check(latin).map_err(|wrong| format!("{path}: {wrong}"))?;
        }
        match self.sample {
            SamplingDesign::Grid => {
                Ok(self.vary.values().try_fold(1_usize, |product, values| product.checked_mul(values.count())))
            }
            SamplingDesign::LatinHypercube { count: 0, .. } => {
                Err("a Latin hypercube needs a count of at least 1".to_owned())
            }
            SamplingDesign::LatinHypercube { count, .. } => Ok(Some(count)),
        }
    }

    /// Returns the run with a number, from 1. Its values are checked against the declared parameters.
    ///
    /// # Errors
    /// A message that names the invalid value and a valid alternative.
    pub fn run(&self, number: usize, declared: &[Group<'_>]) -> Result<PlannedRun, String> {
        let mut rest = number - 1;
        let mut values = BTreeMap::new();
        // The last parameter varies fastest.
        for (axis, (path, choices)) in self.vary.iter().enumerate().rev() {
            let parameter =
                if path == SEED { None } else { Some(get(declared, path).map_err(|error| error.to_string())?) };
            let whole = parameter.as_ref().is_none_or(|parameter| parameter.whole);
            if whole
                && let SweepValues::Range { from, to, .. } = choices
                && from.min(*to).ceil() > from.max(*to).floor()
            {
                return Err(format!("{path}: the range {from} to {to} contains no whole number; widen it"));
            }
            let text = match self.sample {
                SamplingDesign::Grid => {
                    let place = rest % choices.count();
                    rest /= choices.count();
                    let text = choices.at(place, whole);
                    if matches!(choices, SweepValues::Range { .. }) && place > 0 && choices.at(place - 1, whole) == text
                    {
                        return Err(format!(
                            "{path}: the range contains {text} twice after rounding; use a smaller count"
                        ));
                    }
                    text
                }
                SamplingDesign::LatinHypercube { count, seed } => {
                    choices.drawn(latin(seed, axis, count, number - 1), whole)
                }
            };
            check(path, &text, parameter.as_ref())?;
            values.insert(path.clone(), text);
        }
        Ok(PlannedRun { number, values })
    }
}

/// Returns the position of a run within the range of a parameter, from 0 to 1: uniform within the run's stratum.
fn latin(seed: u64, axis: usize, count: usize, run: usize) -> f64 {
    let mut within =
        RandomStream::new(seed ^ 0x9e37_79b9_7f4a_7c15, "latin hypercube", ((axis as u64) << 32) | run as u64);
    (stratum(seed, axis, count, run) as f64 + within.fine_unit()) / count as f64
}

/// Returns the stratum of a run. The permutation needs no table: a Feistel network permutes the numbers below a power of four and
/// is iterated until a number below `count` appears (cycle walking: Black & Rogaway 2002).
fn stratum(seed: u64, axis: usize, count: usize, run: usize) -> usize {
    let bits = (usize::BITS - (count - 1).leading_zeros()).div_ceil(2).max(1);
    let low = (1 << bits) - 1;
    let mixed = |number: &usize| {
        let [left, right] = (0..6).fold([number >> bits, number & low], |[left, right], round| {
            let key = (((axis as u64) << 3 | round) << 32) | right as u64;
            let mut stream = RandomStream::new(seed, "latin hypercube's part", key);
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

impl SweepValues {
    fn check(&self, latin: bool) -> Result<(), String> {
        match self {
            Self::List(values) if values.is_empty() => Err("the list is empty; add at least one value".to_owned()),
            Self::List(_) => Ok(()),
            Self::Range { from, to, .. } if !(from.is_finite() && to.is_finite()) => {
                Err("both ends of a range must be finite numbers".to_owned())
            }
            Self::Range { from, to, ratios: true, .. } if *from <= 0.0 || *to <= 0.0 => {
                Err("a range with ratios: true needs both ends above 0".to_owned())
            }
            Self::Range { count: Some(0), .. } => {
                Err("a range with count: 0 is empty; use a count of at least 1".to_owned())
            }
            Self::Range { count: None, .. } if !latin => {
                Err("a range in a grid needs a count, e.g. count: 5".to_owned())
            }
            Self::Range { .. } => Ok(()),
        }
    }

    /// Returns the number of values; 1 for a range without a count.
    fn count(&self) -> usize {
        match self {
            Self::List(values) => values.len(),
            Self::Range { count, .. } => count.unwrap_or(1),
        }
    }

    /// Returns the value at an index of the list or range, rounded for integer parameters.
    fn at(&self, place: usize, whole: bool) -> String {
        match self {
            Self::List(values) => values[place].clone(),
            Self::Range { from, to, ratios, .. } => {
                let value = interpolate([*from, *to], *ratios, place as f64 / (self.count().max(2) - 1) as f64);
                if whole { format!("{:.0}", value.round()) } else { format_value(value) }
            }
        }
    }

    /// Returns the value at a fraction of the list or range. Integers of a range are equally likely.
    fn drawn(&self, share: f64, whole: bool) -> String {
        match self {
            Self::List(values) => values[((share * values.len() as f64) as usize).min(values.len() - 1)].clone(),
            Self::Range { from, to, ratios, .. } if whole => {
                let (least, most) = (from.min(*to).ceil(), from.max(*to).floor());
                format!("{:.0}", interpolate([least, most + 1.0], *ratios, share).floor().clamp(least, most.max(least)))
            }
            Self::Range { from, to, ratios, .. } => format_value(interpolate([*from, *to], *ratios, share)),
        }
    }
}

/// Interpolates between two numbers, linearly or logarithmically.
fn interpolate([from, to]: [f64; 2], ratios: bool, share: f64) -> f64 {
    if ratios { from * (to / from).powf(share) } else { from + share * (to - from) }
}

/// Formats a number with nine significant digits, the precision of parameters, so that rounding noise does not show in names.
fn format_value(value: f64) -> String {
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
    fn grid_sweep_is_cartesian_product() {
        let plan = plan(
            "(input: \"round-hill\", vary: {\"droplets.per_tick\": Range(from: 100, to: 10000, count: 3, ratios: true), \
             \"droplets.law\": List([\"streams\", \"capacity\"])})",
        );
        assert_eq!(plan.count(), Ok(Some(6)));
        let params = droplets::Params::default();
        let runs: Vec<PlannedRun> = (1..=6)
            .map(|number| plan.run(number, &[("droplets", &params)]).unwrap_or_else(|wrong| panic!("{wrong}")))
            .collect();
        let per_tick: Vec<&str> = runs.iter().map(|run| run.values["droplets.per_tick"].as_str()).collect();
        assert_eq!(per_tick, ["100", "1000", "10000", "100", "1000", "10000"]);
        assert_eq!(runs[3].values["droplets.law"], "capacity");
    }

    #[test]
    fn latin_hypercube_samples_each_stratum_once() {
        let plan = plan(
            "(input: \"round-hill\", sample: LatinHypercube(count: 20, seed: 4), vary: {\
             \"droplets.entrainment\": Range(from: 2, to: 12), \"seed\": Range(from: 0, to: 1000), \
             \"droplets.law\": List([\"streams\", \"capacity\"])})",
        );
        assert_eq!(plan.count(), Ok(Some(20)));
        let params = droplets::Params::default();
        let runs: Vec<PlannedRun> = (1..=20)
            .map(|number| plan.run(number, &[("droplets", &params)]).unwrap_or_else(|wrong| panic!("{wrong}")))
            .collect();
        let mut parts: Vec<usize> = runs
            .iter()
            .map(|run| ((run.values["droplets.entrainment"].parse::<f64>().unwrap_or(f64::NAN) - 2.0) * 2.0) as usize)
            .collect();
        parts.sort_unstable();
        assert_eq!(parts, (0..20).collect::<Vec<_>>());
        let order = |axis| (0..20).map(|run| stratum(4, axis, 20, run)).collect::<Vec<_>>();
        assert!(order(0) != order(1) && order(0) != (0..20).collect::<Vec<_>>());
        assert_eq!((stratum(4, 0, 1, 0), stratum(4, 0, 1 << 40, 7) < 1 << 40), (0, true));
        assert_eq!(runs.iter().filter(|run| run.values["droplets.law"] == "streams").count(), 10);
        assert!(runs.iter().all(|run| run.values["seed"].parse::<u64>().is_ok()));
        assert_eq!(plan.run(7, &[("droplets", &params)]), Ok(runs[6].clone()), "a sample is the same each time");
    }

    #[test]
    fn integer_ranges_are_exact_and_uniform() {
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
    fn invalid_plan_is_rejected_in_one_sentence() {
        let params = droplets::Params::default();
        let wrong = |vary: &str| {
            let plan =
                plan(&format!("(input: \"round-hill\", set: {{\"droplets.friction\": \"1\"}}, vary: {{{vary}}})"));
            plan.count().and_then(|_| plan.run(1, &[("droplets", &params)]).map(drop)).expect_err("it is wrong")
        };
        for (vary, words) in [
            ("", "nothing is varied"),
            ("\"droplets.per_tick\": List([])", "the list is empty"),
            ("\"droplets.per_tick\": Range(from: 1, to: 9)", "needs a count"),
            ("\"droplets.per_tick\": Range(from: 1, to: 9, count: 0)", "is empty"),
            ("\"droplets.per_tick\": Range(from: 0, to: 9, count: 2, ratios: true)", "above 0"),
            ("\"droplets.friction\": List([\"1\"])", "both set and varied"),
            ("\"droplets.per_tik\": List([\"1\"])", "the closest match is \"droplets.per_tick\""),
            ("\"droplets.per_tick\": List([\"lots\"])", "cannot be \"lots\""),
            ("\"seed\": List([\"-1\"])", "a whole number"),
            ("\"seed\": List([\"1.5\"])", "a whole number"),
        ] {
            let message = wrong(vary);
            assert!(message.contains(words) && !message.contains('\n'), "{vary}: {message}");
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
