//! Charts of the chosen run, for panels, files and the report of a lesson.

use std::path::PathBuf;

use bevy::prelude::{App, Event, On, ResMut};

use super::{CommandEvent, DuneSample, LedgerSample, Notices, Probes, Record, Sample, Section, Way, amount::told_in};
use thalweg_scene::{
    io::chart,
    model::chart::{Chart, Curve, Mark},
    settings::Units,
};
use thalweg_sim::{
    core::quantity::Quantity,
    measure::{
        Fit, Layers, Study,
        statistics::{BINS, Statistics},
    },
};

/// Writes a chart as the file's ending says.
#[derive(Event, Clone, Debug, PartialEq)]
pub struct SaveChart(pub Box<Chart>, pub PathBuf);

impl CommandEvent for SaveChart {}

pub(super) fn plugin(app: &mut App) {
    app.add_observer(|command: On<SaveChart>, mut notices: ResMut<Notices>| {
        let SaveChart(chart, path) = command.event();
        notices.tell_result(chart::save(chart, path), format!("Saved {}.", path.display()));
    });
}

/// What processes have moved so far, over the ticks.
pub fn volume(record: &Record, units: Units) -> Chart {
    let (millions, times) = told_in(units, "million m³");
    let series = |name: &str, value: fn(&LedgerSample) -> f64| {
        Curve::line(name, record.samples.iter().map(|sample| [sample.tick as f64, 1e-6 * times * value(sample)]))
    };
    Chart::new("volume", "Volume over time", ["tick", millions])
        .and(series("eroded", |sample| sample.eroded))
        .and(series("deposited", |sample| sample.deposited))
        .and(series("over the border", |sample| sample.outflow))
}

/// Inflow and outflow of water over the ticks; none where no water has moved.
pub fn discharge(record: &Record, units: Units) -> Option<Chart> {
    let samples = &record.samples;
    if samples.last().is_none_or(|last| last.water_in == 0.0 && last.water_out == 0.0) {
        return None;
    }
    let (unit, times) = told_in(units, "m³/s");
    let series = |name: &str, value: fn(&LedgerSample) -> f64| {
        let rates = samples.windows(2).filter(|pair| pair[1].seconds > pair[0].seconds).map(|pair| {
            let rate = (value(&pair[1]) - value(&pair[0])) / (pair[1].seconds - pair[0].seconds);
            [pair[1].tick as f64, times * rate]
        });
        Curve::line(name, rates)
    };
    let chart = Chart::new("discharge", "Inflow and outflow of water", ["tick", unit])
        .and(series("over the border and into drains", |sample| sample.water_out))
        .and(series("from springs, rain and the sea", |sample| sample.water_in));
    Some(chart)
}

/// The hypsometric curve.
pub fn hypsometry(found: &Statistics, units: Units) -> Chart {
    let (unit, times) = told_in(units, "m");
    let (low, high) = (f64::from(found.range.0), f64::from(found.range.1));
    let height = |bin: usize| times * (low + (high - low) * bin as f64 / BINS as f64);
    let points = found.hypsometry.iter().enumerate().map(|(bin, share)| [100.0 * share, height(bin)]);
    let title = "Hypsometric curve: share of the map above a height";
    Chart::new("hypsometry", title, ["%", unit]).and(Curve::line("ground", points))
}

/// The share of the map in each class of slope.
pub fn slopes(found: &Statistics) -> Chart {
    let width = 90.0 / BINS as f64;
    let points = found.slopes.iter().enumerate().map(|(bin, share)| [(bin as f64 + 0.5) * width, 100.0 * share]);
    Chart::new("slopes", "Slopes", ["°", "%"]).and(Curve::line("share of the map", points))
}

/// Heights and lengths of dunes over the ticks.
pub fn dune_sizes(record: &Record, units: Units) -> Chart {
    let (unit, times) = told_in(units, "m");
    let series = |name: &str, value: fn(&DuneSample) -> Option<f64>| {
        let points = record.dunes.iter().filter_map(|dune| Some([dune.tick as f64, times * value(dune)?]));
        Curve::line(name, points)
    };
    Chart { logarithmic: [false, true], ..Chart::new("dunes", "Dunes along the wind", ["tick", unit]) }
        .and(series("height", |dune| Some(dune.height)))
        .and(series("wavelength", |dune| dune.wavelength))
}

/// How fast dunes wander, over the ticks.
pub fn celerity(record: &Record, units: Units) -> Chart {
    let (unit, times) = told_in(units, "m");
    let points = record.dunes.iter().filter_map(|dune| Some([dune.tick as f64, times * dune.celerity?]));
    let axes = ["tick", &format!("{unit} per tick")];
    Chart::new("celerity", "Celerity of dunes", axes).and(Curve::line("celerity", points))
}

/// The chosen river from its source to its mouth.
pub fn profile(study: &Study, title: &str, units: Units) -> Chart {
    let [(far, of_far), (high, of_high)] = ["km", "m"].map(|unit| told_in(units, unit));
    let length = study.river.first().map_or(0.0, |source| source.distance);
    let at =
        |place: usize| [1e-3 * of_far * (length - study.river[place].distance), of_high * study.river[place].height];
    Chart::new("profile", title, [far, high])
        .and(Curve::line("bed", (0..study.river.len()).map(at)))
        .and(Curve::line("knickpoints", study.knickpoints.iter().map(|step| at(step.place))).with(Mark::Dots))
}

/// Slope against drained area, with the line that fits, and the one of land in balance with its uplift: steepness and exponent.
pub fn slope_area(study: &Study, balance: Option<(f64, f64)>, units: Units) -> Chart {
    let (unit, times) = told_in(units, "km²");
    let of_area = 1e-6 * times;
    let measured: Vec<[f64; 2]> =
        study.slopes.iter().filter(|(_, slope)| *slope > 0.0).map(|&(area, slope)| [of_area * area, slope]).collect();
    let ends = [measured.first(), measured.last()].map(|end| end.map_or(1.0, |end| end[0]));
    let mean =
        |axis: usize| measured.iter().map(|point| point[axis].log10()).sum::<f64>() / measured.len().max(1) as f64;
    let (x, y) = (mean(0), mean(1));
    let power = |exponent: f64, at: f64| 10.0_f64.powf(exponent * at);
    let mut chart = Chart { logarithmic: [true; 2], ..Chart::new("slope-area", "Slope against area", [unit, "slope"]) }
        .and(Curve::line("measured", measured).with(Mark::Dots));
    if let Some(Fit { value, r2 }) = study.slope_area {
        let line = ends.map(|end| [end, power(1.0, y + value * (end.log10() - x))]);
        chart.curves.push(Curve::line(format!("fit: exponent {value:.2}, R² {r2:.2}"), line));
    }
    if let Some((steepness, exponent)) = balance {
        let line = ends.map(|end| [end, steepness * (end / of_area).powf(-exponent)]);
        chart.curves.push(Curve::line("in balance with the uplift", line));
    }
    chart
}

/// Heights over χ.
pub fn chi(study: &Study, units: Units) -> Chart {
    let [(far, of_far), (high, of_high)] = ["km", "m"].map(|unit| told_in(units, unit));
    let at = |chi: f64, height: f64| [1e-3 * of_far * chi, of_high * height];
    let mouth = study.river.last().map_or(0.0, |mouth| mouth.height);
    let theta = study.concavity.map_or(String::new(), |fit| format!(", concavity {:.2}, R² {:.2}", fit.value, fit.r2));
    Chart::new("chi", format!("Height over χ (chi){theta}"), [&format!("χ, {far}"), high])
        .and(Curve::line("the river", study.river.iter().map(|point| at(point.chi, point.height - mouth))))
        .and(Curve::line("all rivers", study.chi.iter().map(|&(chi, height)| at(chi, height))).with(Mark::Cloud))
}

/// Which number of probes a chart is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Series {
    /// Height of the ground over that of the first sample.
    #[default]
    Change,
    /// Height of the ground.
    Height,
    /// Depth of sand.
    Sand,
    /// Depth of water.
    Water,
    /// The quantity that is shown over the ground.
    Overlay(Quantity),
}

impl Series {
    /// What it is called.
    pub fn title(self) -> &'static str {
        match self {
            Self::Change => "Change of the ground",
            Self::Height => "Height",
            Self::Sand => "Sand",
            Self::Water => "Water",
            Self::Overlay(quantity) => quantity.title(),
        }
    }

    /// The number of a sample.
    fn value(self, sample: &Sample, first: &Sample) -> Option<f32> {
        match self {
            Self::Change => Some(sample.ground - first.ground),
            Self::Height => Some(sample.ground),
            Self::Sand => Some(sample.sand),
            Self::Water => Some(sample.water),
            Self::Overlay(shown) => sample.overlay.filter(|(quantity, _)| *quantity == shown).map(|(_, value)| value),
        }
    }
}

/// A number of all probes over the ticks.
pub fn probes(probes: &Probes, series: Series, units: Units) -> Chart {
    let (unit, times) = match series {
        Series::Overlay(quantity) => told_in(units, quantity.unit()),
        _ => told_in(units, "m"),
    };
    let curves = probes.pinned.iter().enumerate().map(|(number, probe)| {
        let first = probe.series.first().copied().unwrap_or_default();
        let points = probe.series.iter().filter_map(|sample| {
            let value = series.value(sample, &first)?;
            Some([sample.tick as f64, times * f64::from(value)])
        });
        Curve::line(format!("{}", number + 1), points)
    });
    curves.fold(Chart::new("probes", series.title(), ["tick", unit]), Chart::and)
}

/// The ground and the layers along the section.
pub fn section(section: &Section, units: Units) -> Chart {
    let (unit, times) = told_in(units, "m");
    let along = |heights: &mut dyn Iterator<Item = f32>| {
        let places = section.now.iter().zip(heights);
        let at = |(layers, height): (&Layers, f32)| [times * layers.distance, times * f64::from(height)];
        places.map(at).collect::<Vec<[f64; 2]>>()
    };
    let now = |height: fn(&Layers) -> f32| along(&mut section.now.iter().map(height));
    let mut chart = Chart::new("section", "Section from A to B", [unit, unit])
        .and(Curve::line("now", now(Layers::ground)))
        .and(Curve::line("start", along(&mut section.start.iter().copied())));
    if section.now.iter().any(|layers| layers.sand > 0.0) {
        chart.curves.push(Curve::line("rock", now(|layers| layers.bedrock)));
    }
    if section.now.iter().any(|layers| layers.water > 0.0) {
        chart.curves.push(Curve::line("water", now(|layers| layers.ground() + layers.water)));
    }
    for earlier in &section.earlier {
        let points = along(&mut earlier.ground.iter().copied());
        chart.curves.push(Curve::line(format!("tick {}", earlier.tick), points));
    }
    chart
}

/// A followed particle over its steps: load and capacity, what it dug and laid down, speed and water; and the ground below its way.
pub fn followed(way: &Way, units: Units) -> Vec<Chart> {
    let [(metres, of_length), (volume, of_volume)] = ["m", "m³"].map(|unit| told_in(units, unit));
    let cubic = of_volume * way.cell_area();
    let steps = || way.moments.iter().enumerate();
    let load = steps().map(|(step, moment)| [step as f64, cubic * f64::from(moment.load)]);
    let mut loads = Chart::new("followed-load", "Load and capacity", ["step", volume]).and(Curve::line("load", load));
    let capacity: Vec<[f64; 2]> =
        steps().filter_map(|(step, moment)| Some([step as f64, cubic * f64::from(moment.capacity?)])).collect();
    if !capacity.is_empty() {
        loads.curves.push(Curve::line("capacity", capacity));
    }
    let (mut dug, mut laid) = (Vec::new(), Vec::new());
    let mut sums = [0.0; 2];
    for step in 0..way.moments.len() {
        let taken = of_volume * way.taken(step);
        sums = [sums[0] + taken.max(0.0), sums[1] + (-taken).max(0.0)];
        dug.push([step as f64, sums[0]]);
        laid.push([step as f64, sums[1]]);
    }
    let exchanged = Chart::new("followed-exchange", "Dug and laid down so far", ["step", volume])
        .and(Curve::line("dug", dug))
        .and(Curve::line("laid down", laid));
    let ground = way.distances().into_iter().zip(&way.ground);
    let ground = ground.map(|(distance, height)| [of_length * distance, of_length * f64::from(*height)]);
    let ground =
        Chart::new("followed-ground", "Ground along the path", [metres, metres]).and(Curve::line("ground", ground));
    let speed = steps().map(|(step, moment)| [step as f64, f64::from(moment.speed)]);
    let speed = Chart::new("followed-speed", "Speed", ["step", "unit of the law"]).and(Curve::line("speed", speed));
    let water: Vec<[f64; 2]> =
        steps().filter_map(|(step, moment)| Some([step as f64, 100.0 * f64::from(moment.water?)])).collect();
    let mut all = vec![loads, exchanged, ground, speed];
    if !water.is_empty() {
        let water = Curve::line("water", water);
        all.push(Chart::new("followed-water", "Water of the droplet", ["step", "% of a fresh droplet"]).and(water));
    }
    all
}
