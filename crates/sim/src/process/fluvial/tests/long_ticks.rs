//! Tests of long ticks, which are divided into substeps.

use super::*;

/// Returns quantiles of the height of the ground, in metres.
fn quantiles(terrain: &Terrain) -> Vec<f64> {
    let mut heights: Vec<f64> = terrain.ground().iter().map(|height| f64::from(*height)).collect();
    heights.sort_by(f64::total_cmp);
    (0..=20).map(|part| heights[(heights.len() - 1) * part / 20]).collect()
}

/// Returns the difference between two lists as a fraction of the second, in the Euclidean norm.
fn distance(found: &[f64], usual: &[f64]) -> f64 {
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    norm(&mut found.iter().zip(usual).map(|(one, other)| one - other)) / norm(&mut usual.iter().copied())
}

#[test]
fn million_year_tick_matches_short_ticks() {
    // The courses of rivers are random: 1250 and 2500 years differ by up to 5 %.
    for (side, deposition) in [(64, 0.5), (64, 0.0), (128, 0.5)] {
        let after = |years: f32, ticks: usize| {
            let params = Params { deposition, years_per_tick: years, ..Params::default() };
            let run = run_process(Fluvial::with(params), plain(side), ticks);
            assert!(run.solid_residual().abs() <= 1e-5 * volumes(&run)[2], "{years} years");
            assert!((run.years().expect("it counts years") - 1e6).abs() < 1e-3);
            quantiles(&run.terrain)
        };
        let usual = after(1250.0, 800);
        for (years, ticks) in [(20_000.0, 50), (100_000.0, 10), (1e6, 1)] {
            let apart = distance(&after(years, ticks), &usual);
            println!("{side}, G = {deposition}: ticks of {years} years differ by {apart}");
            assert!(apart < 0.12, "{side}, G = {deposition}: ticks of {years} years differ by {apart}");
        }
    }
}

#[test]
fn long_tick_erodes_like_short_ticks() {
    let params = |years: f32, uplift: f32| Params { uplift_rate: uplift, years_per_tick: years, ..Params::default() };
    let range = run_process(Fluvial::with(params(2500.0, 1e-3)), plain(96), 400).terrain;
    let after = |years: f32, ticks: usize| {
        quantiles(&run_process(Fluvial::with(params(years, 0.0)), range.clone(), ticks).terrain)
    };
    let usual = after(1250.0, 80);
    for (years, ticks) in [(10_000.0, 10), (100_000.0, 1)] {
        let apart = distance(&after(years, ticks), &usual);
        println!("ticks of {years} years differ by {apart}");
        assert!(apart < 0.05, "ticks of {years} years differ by {apart}");
    }
}
