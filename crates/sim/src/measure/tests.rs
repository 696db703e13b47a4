//! Measures of synthetic terrain with known measures, and of a real elevation model.

use std::path::Path;

use super::*;
use crate::{
    core::{rng::RandomStream, terrain::Edge},
    hydrology::network::{Reach, ReachPoint, RiverNetwork, RiverParams},
};

fn bare(ground: Grid) -> Terrain {
    Terrain::bare(ground, 10.0, Edge::Open)
}

/// Returns a part of a sample elevation model (SRTM of Jacksboro, Tennessee; cells of about 90 m).
fn real() -> Terrain {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/jacksboro.asc");
    let text = std::fs::read_to_string(path).expect("it is text");
    let values: Vec<f32> = text.split_whitespace().skip(12).map(|value| value.parse().expect("a height")).collect();
    Terrain::bare(Grid::from_cells(403, 344, values), 90.0, Edge::Open)
}

#[test]
fn real_elevation_model_passes_realism_criteria() {
    let found = Measures::of(&real());
    println!("{found:#?}");
    assert!(found.pits < 0.02 && found.depressions < 0.06 && found.against_inverted < 1.0, "{found:?}");
    assert!((0.3..=1.0).contains(&found.roughness), "{found:?}");
    assert!(found.aspect_harmonics.iter().all(|&part| part < 0.1), "{found:?}");
    assert!(found.slope_area.is_some_and(|fit| fit.value < -0.15 && fit.r2 > 0.5), "{found:?}");
}

#[test]
fn white_noise_measures_match_theory() {
    let mut stream = RandomStream::new(1, "noise", 0);
    let noise = bare(Grid::from_fn(128, 128, |_, _| stream.uniform()));
    let found = Measures::of(&noise);
    // Each of nine equal cells is the lowest with the same probability; the differences have variances of 6 and 2.
    assert!((found.pits - 1.0 / 9.0).abs() < 0.01, "{found:?}");
    assert!((found.roughness - 3.0_f64.sqrt()).abs() < 0.02, "{found:?}");
    assert!((found.against_inverted - 1.0).abs() < 0.1 && found.depressions > 0.3, "{found:?}");
    assert!(found.spectral_exponent.is_some_and(|exponent| exponent.abs() < 0.3), "{found:?}");
    assert!(found.aspect_harmonics.iter().all(|&part| part < 0.03), "{found:?}");
    assert!((found.hypsometric_integral - 0.5).abs() < 0.02, "{found:?}");
}

#[test]
fn aspect_harmonics_separate_pyramid_cone_and_flat_ground() {
    let at = |place: usize| place as f32 - 100.0;
    let pyramid = Grid::from_fn(201, 201, |x, y| -at(x).abs().max(at(y).abs()));
    // Level beyond a circle, so that every direction has the same number of cells.
    let cone = Grid::from_fn(201, 201, |x, y| -(at(x) * at(x) + at(y) * at(y)).min(9500.0));
    let [fourth, eighth] = aspect_harmonics(&pyramid);
    assert!(fourth > 0.9 && eighth > 0.9, "{fourth} {eighth}");
    let [fourth, eighth] = aspect_harmonics(&cone);
    assert!(fourth < 0.02 && eighth < 0.02, "{fourth} {eighth}");
    let flat = Measures::of(&bare(Grid::filled(40, 40, 2.0)));
    assert_eq!((flat.aspect_harmonics, flat.roughness, flat.hypsometric_integral), ([0.0; 2], 0.0, 0.5));
    assert_eq!((flat.pits, flat.depressions, flat.against_inverted, flat.uphill), (0.0, 0.0, 0.0, 0.0));
    let plane = Grid::from_fn(40, 40, |x, y| 3.0 * x as f32 + 2.0 * y as f32);
    assert!(roughness(&plane) < 1e-6);
}

#[test]
fn spectral_exponent_recovers_synthetic_power_law() {
    for exponent in [3.0, 5.0] {
        let mut stream = RandomStream::new(2, "waves", 0);
        let waves: Vec<[f64; 4]> = (0..1500)
            .map(|_| {
                // Equal numbers of waves per ring of wave numbers, so that power per unit area decreases by 2 more.
                let size = 0.02 * (0.5_f64 / 0.02).powf(stream.uniform().into());
                let (sine, cosine) = (std::f64::consts::TAU * f64::from(stream.uniform())).sin_cos();
                [
                    size * cosine,
                    size * sine,
                    std::f64::consts::TAU * f64::from(stream.uniform()),
                    size.powf(1.0 - 0.5 * exponent),
                ]
            })
            .collect();
        let ground = Grid::from_fn(128, 128, |x, y| {
            let wave = |[u, v, phase, size]: &[f64; 4]| {
                size * (std::f64::consts::TAU * (u * x as f64 + v * y as f64) + phase).cos()
            };
            waves.iter().map(wave).sum::<f64>() as f32
        });
        let found = spectral_exponent(&ground).expect("it is large enough");
        assert!((found - exponent).abs() < 0.35, "{exponent} is found as {found}");
    }
    assert_eq!(spectral_exponent(&Grid::filled(16, 16, 1.0)), None);
}

#[test]
fn long_profile_detects_knickpoint_and_basin_area() {
    // A valley down to the first column, with a step of 30 m half-way.
    let ground = Grid::from_fn(121, 41, |x, y| {
        let side = (y as f32 - 20.0).abs();
        0.3 * x as f32 + if x >= 60 { 30.0 } else { 0.0 } + 4.0 * side + if x == 0 && y != 20 { 50.0 } else { 0.0 }
    });
    let channels = Channels::of(&bare(ground.clone()), 1.0);
    let source = 20 * 121 + 119;
    let params = RiverParams { from_cells: 60.0, ..RiverParams::default() };
    let network = RiverNetwork::from_terrain(&bare(ground), &params);
    let [river] = &network.reaches[..] else { panic!("{} reaches", network.reaches.len()) };
    let profile = long_profile(&network, 0, &params, 0.4);
    let (from, to) = (profile[0], profile[profile.len() - 1]);
    assert!(profile.len() == river.points.len() && from.at[0] > 1150.0 && to.at[0] == 5.0, "{from:?} {to:?}");
    assert_eq!((from.distance, to.distance), (from.at[0] - to.at[0], 0.0));
    assert!(profile.is_sorted_by(|a, b| a.height >= b.height && a.area <= b.area && a.chi >= b.chi));
    let knicks = knickpoints(&profile);
    let top = knicks.iter().max_by(|a, b| a.steepness.total_cmp(&b.steepness)).expect("there is one");
    assert!((profile[top.place].at[0] - 605.0).abs() <= 40.0, "{knicks:?}");
    let (basins, numbers) = basins(&channels);
    assert_eq!(basins.iter().map(|basin| basin.area).sum::<f64>(), 121.0 * 41.0 * 100.0);
    assert!(basins[0].outlet == 20 * 121 && numbers[source] == 0 && basins[0].area > 0.8 * 121.0 * 41.0 * 100.0);
    let plain: Vec<RiverPoint> = profile.iter().map(|point| RiverPoint { height: point.chi, ..*point }).collect();
    assert!(knickpoints(&plain).is_empty());
    let short = knickpoints(&plain[..3]);
    assert!(short.is_empty());
}

/// Returns a reach along these places, with this discharge.
fn reach(places: &[[f64; 2]], discharge: f32, into: Option<usize>) -> Reach {
    let place = |&at: &[f64; 2]| ReachPoint { at, height: 0.0, discharge, width: 1.0, depth: 1.0 };
    Reach { points: places.iter().map(place).collect(), order: 1, into, in_lake: false }
}

#[test]
fn long_profile_follows_main_stem_and_stops_at_cycles() {
    let profile = |reaches: Vec<Reach>, from| {
        let points = long_profile(&RiverNetwork { reaches }, from, &RiverParams::default(), 0.4);
        points.into_iter().map(|point| point.at).collect::<Vec<_>>()
    };
    let (meet, part) = ([10.0, 0.0], [20.0, 0.0]);
    let reaches = vec![
        reach(&[[0.0, -9.0], [5.0, -5.0], meet], 1.0, Some(2)),
        reach(&[[0.0, 9.0], [5.0, 5.0], meet], 2.0, Some(2)),
        reach(&[meet, [15.0, 0.0], part], 3.0, Some(3)),
        reach(&[part, [25.0, -5.0], [30.0, -9.0]], 1.0, None),
        reach(&[part, [25.0, 5.0], [30.0, 9.0]], 2.0, None),
    ];
    let main = [[0.0, 9.0], [5.0, 5.0], meet, [15.0, 0.0], part, [25.0, 5.0], [30.0, 9.0]];
    assert_eq!(profile(reaches.clone(), 2), main);
    // A selected branch or arm gets the river through it.
    assert_eq!(profile(reaches.clone(), 0)[0], [0.0, -9.0]);
    assert_eq!(profile(reaches, 3)[6], [30.0, -9.0]);
    let ring = vec![reach(&[meet, [15.0, 5.0], part], 1.0, Some(1)), reach(&[part, [15.0, -5.0], meet], 1.0, Some(0))];
    let points = profile(ring, 0);
    assert_eq!((points.len(), points[0], points[4]), (5, part, part));
}

#[test]
fn fit_matches_least_squares_line() {
    let fit = Fit::through(&[(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]).expect("three points");
    assert_eq!((fit.value, fit.r2), (2.0, 1.0));
    assert_eq!(Fit::through(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
}

#[test]
fn measures_are_finite_at_every_map_size() {
    for (width, height) in [(1, 1), (1, 40), (40, 1), (2, 2), (3, 3), (33, 32)] {
        for edge in [Edge::Open, Edge::Wall, Edge::Wrap] {
            let ground = Grid::from_fn(width, height, |x, y| ((x * 5 + y * 3) % 7) as f32);
            let found = Measures::of(&Terrain { edge, ..bare(ground) });
            assert!(found.pits <= 1.0 && found.roughness.is_finite(), "{width} × {height}: {found:?}");
        }
    }
}
