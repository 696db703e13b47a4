//! Tests that neither a wall nor a trench forms along the border of a map.

use super::contract::{hills, run, variants};
use crate::core::{
    grid::Grid,
    terrain::{Edge, Terrain},
};

/// Returns a part of a digital elevation model with cells of 90 m: mountains with ridges and valleys across the border.
fn mountains(edge: Edge) -> Terrain {
    let heights: Vec<f32> = include_str!("../../../../tests/data/jacksboro.asc")
        .lines()
        .skip(6)
        .flat_map(str::split_ascii_whitespace)
        .map(|cell| cell.parse().expect("a number"))
        .collect();
    Terrain::bare(Grid::from_fn(96, 96, |x, y| heights[(y + 40) * 403 + x + 60]), 90.0, edge)
}

/// Mean, 5th and 95th percentile of the height of a ring of cells above the cells beside it, farther from the border, in metres.
#[derive(Clone, Copy, Debug)]
struct RingStep {
    mean: f64,
    low: f64,
    high: f64,
}

/// Returns the step from the ring at this distance from the border, in cells, to the next.
fn ring_step(ground: &Grid, ring: usize) -> RingStep {
    let (width, height) = (ground.width(), ground.height());
    let (right, bottom) = (width - 1 - ring, height - 1 - ring);
    let columns = (ring + 1..right).flat_map(|x| [[x, ring, x, ring + 1], [x, bottom, x, bottom - 1]]);
    let rows = (ring + 1..bottom).flat_map(|y| [[ring, y, ring + 1, y], [right, y, right - 1, y]]);
    let step = |[x, y, next_x, next_y]: [usize; 4]| f64::from(ground.at(x, y)) - f64::from(ground.at(next_x, next_y));
    let mut steps: Vec<f64> = columns.chain(rows).map(step).collect();
    steps.sort_by(f64::total_cmp);
    let mean = steps.iter().sum::<f64>() / steps.len() as f64;
    RingStep { mean, low: steps[steps.len() * 5 / 100], high: steps[steps.len() * 95 / 100] }
}

/// Returns the step at the border, and the means of those of the rings at 8 to 24 cells from it.
fn border_and_interior(ground: &Grid) -> [RingStep; 2] {
    let rings: Vec<RingStep> = (8..24).map(|ring| ring_step(ground, ring)).collect();
    let mean = |of: &dyn Fn(&RingStep) -> f64| rings.iter().map(of).sum::<f64>() / rings.len() as f64;
    let [mean, low, high] = [mean(&|ring| ring.mean), mean(&|ring| ring.low), mean(&|ring| ring.high)];
    [ring_step(ground, 0), RingStep { mean, low, high }]
}

/// Checks that no process in its default mode leaves the border standing above the cells beside it, or incises a trench there: the mean step
/// is below the steep slopes at the start or in the interior, and steep steps at the border, up and down, are not twice as high.
fn assert_no_wall(edge: Edge) {
    for terrain in [mountains(edge), hills(96, edge)] {
        let [start, _] = border_and_interior(&terrain.ground());
        for (key, settings) in variants() {
            if settings.iter().any(|(path, value)| path.ends_with(".mode") && value == "published") {
                continue;
            }
            let cases: &[&[(&str, &str)]] = match key {
                "fluvial" => &[&[], &[("fluvial.uplift_rate", "0")]],
                "droplets" => &[&[("droplets.per_tick", "2000")]],
                "water" => &[&[("water.rain_rate", "0.001")]],
                _ => &[&[]],
            };
            for case in cases {
                let case = case.iter().map(|(path, value)| ((*path).to_owned(), (*value).to_owned()));
                let settings: Vec<_> = settings.iter().cloned().chain(case).collect();
                let run = run(&terrain, key, &settings, 100, 2);
                let [border, interior] = border_and_interior(&run.terrain.ground());
                println!("{edge:?} {key} {settings:?}: {border:.2?}, interior {interior:.2?}, start {start:.2?}");
                let (low, high) = (start.low.min(interior.low), start.high.max(interior.high));
                assert!(
                    border.mean <= 0.7 * high && border.high <= 2.0 * high && border.low >= 2.0 * low,
                    "{edge:?} {key} {settings:?}: {border:?}, interior {interior:?}, start {start:?}"
                );
            }
        }
    }
}

#[test]
fn no_wall_forms_at_an_open_border() {
    assert_no_wall(Edge::Open);
}

#[test]
fn no_wall_forms_at_a_closed_border() {
    assert_no_wall(Edge::Wall);
}
