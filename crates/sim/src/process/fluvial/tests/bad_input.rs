//! Tests that uplift and rivers are robust against degenerate maps and extreme settings.

use super::*;
use crate::process::contract::assert_healthy;

const EDGES: [Edge; 3] = [Edge::Open, Edge::Wall, Edge::Wrap];

/// Runs a few ticks and checks that all values are finite, that the relief stays within what the critical slope allows, and that the
/// ledger closes.
fn run_and_check(terrain: Terrain, params: Params, what: &str) -> Simulation {
    let far = (terrain.width() + terrain.height()) as f32 * terrain.cell_size;
    let allowed = terrain.ground().min_max().1.max(0.0) + 1.5 * params.critical_slope * far;
    let run = run_process(Fluvial::with(params), terrain, 6);
    assert_healthy(&run, what);
    let (_, high) = run.terrain.ground().min_max();
    // Each tick uplifts the ground before slopes fail.
    let lift = run.ledger.solid.sum(|row| row.inflow) / run.terrain.cell_area();
    assert!(high <= allowed.max(1.0) || lift == 0.0, "{what}: {high} m of {allowed} m");
    let moved = volumes(&run)[2];
    assert!(run.solid_residual().abs() <= 1e-5 * moved.max(1.0), "{what}: {} of {moved}", run.solid_residual());
    run
}

#[test]
fn fluvial_supports_every_map_size_and_edge() {
    for (width, height) in [(1, 1), (1, 2), (2, 2), (3, 3), (1, 4096), (4096, 1), (2, 300), (65, 3)] {
        for edge in EDGES {
            let noise = |x: usize, y: usize| ((x * 7 + y * 13) % 11) as f32;
            for ground in [Grid::filled(width, height, 5.0), Grid::from_fn(width, height, noise)] {
                let what = format!("{width} × {height}, {edge:?}");
                let before = ground.clone();
                let run = run_and_check(Terrain::bare(ground, 30.0, edge), Params::default(), &what);
                let outlets = Drainage::of(&run.terrain).outlets().len();
                let rises = run.ledger.solid.sum(|row| row.inflow) > 0.0;
                assert_eq!(rises, outlets < width * height, "{what}");
                assert!(rises || run.terrain.ground() == before, "{what}");
                let grown = grow(&run.terrain, &Params::default(), &RangeParams::default(), 1, |_| true)
                    .expect("it is not cancelled");
                assert!(grown.terrain.bedrock.iter().all(|height| height.is_finite()), "{what}");
            }
        }
    }
}

#[test]
fn fluvial_is_stable_at_parameter_limits() {
    for edge in EDGES {
        for erodibility in [1e-6, 1e-2] {
            for years_per_tick in [1.0, 1e6] {
                for (uplift_rate, deposition) in [(0.0, 0.5), (1e-2, 0.0), (1e-2, 10.0)] {
                    for (diffusivity, critical_slope) in [(0.0, 0.2), (1.0, 2.0)] {
                        let params = Params {
                            erodibility,
                            years_per_tick,
                            uplift_rate,
                            deposition,
                            diffusivity,
                            critical_slope,
                            ..Params::default()
                        };
                        let terrain = Terrain { edge, ..plain(33) };
                        run_and_check(terrain, params.clone(), &format!("{edge:?} {params:?}"));
                    }
                }
            }
        }
    }
}

#[test]
fn uneroded_rock_stands_at_critical_slope() {
    for change in [0, 1] {
        let mut terrain = plain(40);
        match change {
            0 => terrain.softness.fill(0.0),
            _ => terrain.rain = Some(Grid::filled(40, 40, 0.0)),
        }
        let params = Params { years_per_tick: 1e5, ..Params::default() };
        let run = run_and_check(terrain, params, "nothing is cut");
        let (ground, drainage) = (run.terrain.ground(), Drainage::of(&run.terrain));
        let steep = |cell: usize| {
            let fall = drainage.receiver(cell).map_or(0.0, |receiver| ground[cell] - ground[receiver]);
            f64::from(fall) / (30.0 * drainage.distance(cell))
        };
        let most = (0..ground.len()).map(steep).fold(0.0, f64::max);
        assert!((0.5..=0.75).contains(&most), "{most}");
    }
}

#[test]
fn fluvial_leaves_masked_terrain_unchanged() {
    let mut terrain = plain(40);
    terrain.mask = Some(Grid::filled(40, 40, 1.0));
    let mut run = Simulation::of(vec![Box::new(Fluvial::default())], terrain.clone(), 1);
    (run.slots[0].enabled, run.slots[0].limited) = (true, true);
    (0..3).for_each(|_| run.tick());
    assert_eq!((run.fault(), run.terrain == terrain), (None, true));
    assert!(run.solid_residual().abs() <= 1e-5 * volumes(&run)[2]);
}

#[test]
fn fluvial_clock_counts_years_and_keeps_drainage_area() {
    let mut run = run_process(Fluvial::default(), plain(40), 4);
    assert_eq!(run.years(), Some(10_000.0));
    let areas = run.quantity(crate::core::quantity::Quantity::DrainageArea);
    let outlets = Drainage::of(&run.terrain).outlets().to_vec();
    let left: f64 = outlets.iter().map(|&outlet| f64::from(areas[outlet as usize])).sum();
    assert!((left / (1600.0 * 900.0) - 1.0).abs() < 1e-6, "{left}");
    assert!(run.state_values(&["fluvial"]).iter().any(|(name, _)| name == "fluvial/drainage-area"));
}
