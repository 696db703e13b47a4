use super::*;
use crate::{
    core::{grid::Grid, terrain::Edge},
    process::contract::{rotate_or_mirror, run_process},
    simulation::Simulation,
};

fn run(terrain: Terrain, params: Params, ticks: usize) -> Simulation {
    run_process(Runoff::with(params), terrain, ticks)
}

fn hills(edge: Edge) -> Terrain {
    let ground = |x: usize, y: usize| {
        let (x, y) = (x as f32, y as f32);
        40.0 + 6.0 * (0.21 * x).sin() + 5.0 * (0.17 * y + 0.1 * x).cos() + (0.9 * x + 0.4 * y).sin()
    };
    Terrain::bare(Grid::from_fn(48, 48, ground), 1.0, edge)
}

#[test]
fn runoff_conserves_volume_and_is_rotation_invariant() {
    for mode in [Mode::Corrected, Mode::Published] {
        for neighbours in [Neighbours::Four, Neighbours::Eight] {
            for edge in [Edge::Wall, Edge::Open, Edge::Wrap] {
                let params = Params { mode, neighbours, rain: 0.1, ..Params::default() };
                let simulation = run(hills(edge), params.clone(), 400);
                let moved = simulation.ledger.solid.sum(|row| row.moved);
                let rained = simulation.ledger.water.sum(|row| row.inflow);
                assert!(moved > 0.0);
                assert!(
                    simulation.solid_residual().abs() <= 1e-5 * moved,
                    "{mode:?} {edge:?}: {}",
                    simulation.solid_residual() / moved
                );
                assert!(
                    simulation.water_residual().abs() <= 1e-5 * rained,
                    "{mode:?} {edge:?}: {}",
                    simulation.water_residual() / rained
                );
                for quarter in [false, true] {
                    let other = run(rotate_or_mirror(&hills(edge), quarter), params.clone(), 100).terrain;
                    let same = rotate_or_mirror(&run(hills(edge), params.clone(), 100).terrain, quarter);
                    assert!(
                        same.ground() == other.ground() && same.water == other.water,
                        "{mode:?} {edge:?} {quarter}"
                    );
                }
            }
        }
    }
}

/// The rounding error of thick sand exceeds the change of a tick: what the sand cannot resolve stays in the water.
#[test]
fn runoff_on_thick_sand_creates_no_sediment() {
    for slumps in [false, true] {
        for edge in [Edge::Wall, Edge::Open, Edge::Wrap] {
            for mode in [Mode::Corrected, Mode::Published] {
                let mut terrain = hills(edge);
                std::mem::swap(&mut terrain.bedrock, &mut terrain.sand);
                terrain.spread_sand(400.0);
                let mut simulation = Simulation::new(terrain, 1);
                let slot = simulation.slot_mut("runoff").expect("it is in the catalogue");
                slot.process = Box::new(Runoff::with(Params { mode, ..Params::default() }));
                slot.enabled = true;
                simulation.slot_mut("thermal").expect("it is in the catalogue").enabled = slumps;
                let start = simulation.terrain.solid_volume();
                (0..200).for_each(|_| simulation.tick());
                let solid = &simulation.ledger.solid;
                let (moved, left) = (solid.sum(|row| row.moved), solid.sum(|row| row.outflow));
                let made = simulation.terrain.solid_volume() + left - start;
                assert!(moved > 0.0 && made.abs() <= 1e-5 * moved, "{mode:?} {edge:?} {slumps}: {made} of {moved}");
            }
        }
    }
}

#[test]
fn only_published_runoff_forms_checkerboard_on_lake() {
    let rough = |mode: Mode| {
        let mut terrain = Terrain::bare(Grid::filled(32, 32, 0.0), 1.0, Edge::Wall);
        terrain.water = Grid::from_fn(32, 32, |x, y| 1.0 + 1e-3 * ((x * 7 + y * 11) % 13) as f32 / 13.0);
        let params = Params {
            mode,
            rain: 0.0,
            evaporation: 0.0,
            capacity: 0.0,
            neighbours: Neighbours::Four,
            ..Params::default()
        };
        let water = run(terrain, params, 200).terrain.water;
        (1..31)
            .flat_map(|y| (1..31).map(move |x| (x, y)))
            .map(|(x, y)| {
                let beside = [water.at(x - 1, y), water.at(x + 1, y), water.at(x, y - 1), water.at(x, y + 1)];
                (water.at(x, y) - beside.iter().sum::<f32>() * 0.25).abs()
            })
            .fold(0.0, f32::max)
    };
    let (corrected, published) = (rough(Mode::Corrected), rough(Mode::Published));
    assert!(corrected <= 1e-6, "{corrected}");
    assert!(published > 1e-4, "{published}");
}
