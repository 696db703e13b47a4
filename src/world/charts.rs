//! Charts of the selected simulation, for panels, files and lesson reports.

use super::{DuneSample, LedgerSample, TimeSeries, amount::display_unit};
use thalweg_scene::{
    model::chart::{Chart, Curve, MarkerStyle},
    settings::UnitSystem,
};
use thalweg_sim::measure::{
    Fit, Study,
    statistics::{BINS, Statistics},
};

/// Returns the volumes moved by processes, over ticks.
pub fn volume(record: &TimeSeries, units: UnitSystem) -> Chart {
    let (millions, times) = display_unit(units, "million m³");
    let series = |name: &str, value: fn(&LedgerSample) -> f64| {
        Curve::line(name, record.samples.iter().map(|sample| [sample.tick as f64, 1e-6 * times * value(sample)]))
    };
    Chart::new("volume", "Volume over time", ["tick", millions])
        .with_curve(series("eroded", |sample| sample.eroded))
        .with_curve(series("deposited", |sample| sample.deposited))
        .with_curve(series("outflow", |sample| sample.outflow))
}

/// Returns inflow and outflow of water over ticks; `None` if no water has moved.
pub fn discharge(record: &TimeSeries, units: UnitSystem) -> Option<Chart> {
    let samples = &record.samples;
    if samples.last().is_none_or(|last| last.water_in == 0.0 && last.water_out == 0.0) {
        return None;
    }
    let (unit, times) = display_unit(units, "m³/s");
    let series = |name: &str, value: fn(&LedgerSample) -> f64| {
        let rates = samples.windows(2).filter(|pair| pair[1].seconds > pair[0].seconds).map(|pair| {
            let rate = (value(&pair[1]) - value(&pair[0])) / (pair[1].seconds - pair[0].seconds);
            [pair[1].tick as f64, times * rate]
        });
        Curve::line(name, rates)
    };
    let chart = Chart::new("discharge", "Inflow and outflow of water", ["tick", unit])
        .with_curve(series("outflow (edges, drains)", |sample| sample.water_out))
        .with_curve(series("inflow (springs, rain, sea)", |sample| sample.water_in));
    Some(chart)
}

/// Returns the hypsometric curve.
pub fn hypsometry(found: &Statistics, units: UnitSystem) -> Chart {
    let (unit, times) = display_unit(units, "m");
    let (low, high) = (f64::from(found.range.0), f64::from(found.range.1));
    let height = |bin: usize| times * (low + (high - low) * bin as f64 / BINS as f64);
    let points = found.hypsometry.iter().enumerate().map(|(bin, share)| [100.0 * share, height(bin)]);
    let title = "Hypsometric curve: area above a height";
    Chart::new("hypsometry", title, ["%", unit]).with_curve(Curve::line("ground", points))
}

/// Returns the histogram of slopes.
pub fn slopes(found: &Statistics) -> Chart {
    let width = 90.0 / BINS as f64;
    let points = found.slopes.iter().enumerate().map(|(bin, share)| [(bin as f64 + 0.5) * width, 100.0 * share]);
    Chart::new("slopes", "Slopes", ["°", "%"]).with_curve(Curve::line("fraction of the map", points))
}

/// Returns height and wavelength of dunes over ticks.
pub fn dune_sizes(record: &TimeSeries, units: UnitSystem) -> Chart {
    let (unit, times) = display_unit(units, "m");
    let series = |name: &str, value: fn(&DuneSample) -> Option<f64>| {
        let points = record.dunes.iter().filter_map(|dune| Some([dune.tick as f64, times * value(dune)?]));
        Curve::line(name, points)
    };
    Chart { logarithmic: [false, true], ..Chart::new("dunes", "Dunes along the wind", ["tick", unit]) }
        .with_curve(series("height", |dune| Some(dune.height)))
        .with_curve(series("wavelength", |dune| dune.wavelength))
}

/// Returns the celerity of dunes over ticks.
pub fn celerity(record: &TimeSeries, units: UnitSystem) -> Chart {
    let (unit, times) = display_unit(units, "m");
    let points = record.dunes.iter().filter_map(|dune| Some([dune.tick as f64, times * dune.celerity?]));
    let axes = ["tick", &format!("{unit} per tick")];
    Chart::new("celerity", "Celerity of dunes", axes).with_curve(Curve::line("celerity", points))
}

/// Returns the longitudinal profile of the selected river, from source to mouth.
pub fn profile(study: &Study, title: &str, units: UnitSystem) -> Chart {
    let [(far, of_far), (high, of_high)] = ["km", "m"].map(|unit| display_unit(units, unit));
    let length = study.river.first().map_or(0.0, |source| source.distance);
    let at =
        |place: usize| [1e-3 * of_far * (length - study.river[place].distance), of_high * study.river[place].height];
    Chart::new("profile", title, [far, high]).with_curve(Curve::line("bed", (0..study.river.len()).map(at))).with_curve(
        Curve::line("knickpoints", study.knickpoints.iter().map(|step| at(step.place))).with_mark(MarkerStyle::Dots),
    )
}

/// Returns slope against drainage area with the fitted power law, and the steady-state one given by steepness and concavity index.
pub fn slope_area(study: &Study, balance: Option<(f64, f64)>, units: UnitSystem) -> Chart {
    let (unit, times) = display_unit(units, "km²");
    let of_area = 1e-6 * times;
    let measured: Vec<[f64; 2]> =
        study.slopes.iter().filter(|(_, slope)| *slope > 0.0).map(|&(area, slope)| [of_area * area, slope]).collect();
    let ends = [measured.first(), measured.last()].map(|end| end.map_or(1.0, |end| end[0]));
    let mean =
        |axis: usize| measured.iter().map(|point| point[axis].log10()).sum::<f64>() / measured.len().max(1) as f64;
    let (x, y) = (mean(0), mean(1));
    let power = |exponent: f64, at: f64| 10.0_f64.powf(exponent * at);
    let mut chart =
        Chart { logarithmic: [true; 2], ..Chart::new("slope-area", "Slope against drainage area", [unit, "slope"]) }
            .with_curve(Curve::line("measured", measured).with_mark(MarkerStyle::Dots));
    if let Some(Fit { value, r2 }) = study.slope_area {
        let line = ends.map(|end| [end, power(1.0, y + value * (end.log10() - x))]);
        chart.curves.push(Curve::line(format!("fit: exponent {value:.2}, R² {r2:.2}"), line));
    }
    if let Some((steepness, exponent)) = balance {
        let line = ends.map(|end| [end, steepness * (end / of_area).powf(-exponent)]);
        chart.curves.push(Curve::line("steady state", line));
    }
    chart
}

/// Returns height against χ.
pub fn chi(study: &Study, units: UnitSystem) -> Chart {
    let [(far, of_far), (high, of_high)] = ["km", "m"].map(|unit| display_unit(units, unit));
    let at = |chi: f64, height: f64| [1e-3 * of_far * chi, of_high * height];
    let mouth = study.river.last().map_or(0.0, |mouth| mouth.height);
    let theta = study.concavity.map_or(String::new(), |fit| format!(", concavity {:.2}, R² {:.2}", fit.value, fit.r2));
    Chart::new("chi", format!("Height over χ (chi){theta}"), [&format!("χ, {far}"), high])
        .with_curve(Curve::line("selected river", study.river.iter().map(|point| at(point.chi, point.height - mouth))))
        .with_curve(
            Curve::line("all rivers", study.chi.iter().map(|&(chi, height)| at(chi, height)))
                .with_mark(MarkerStyle::Cloud),
        )
}
