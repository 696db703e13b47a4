use super::*;
use crate::sim::{Simulation, process::contract::turned, terrain::Edge};

fn run(terrain: Terrain, params: Params, ticks: usize) -> Terrain {
    let mut simulation = Simulation::new(terrain, 1);
    let slot = simulation.slot_mut("thermal").expect("it is in the catalogue");
    slot.process = Box::new(Thermal::new(params));
    slot.enabled = true;
    (0..ticks).for_each(|_| simulation.tick());
    assert_eq!(simulation.fault(), None);
    simulation.terrain
}

fn energy(terrain: &Terrain) -> f64 {
    terrain.ground().iter().map(|&z| f64::from(z) * f64::from(z)).sum()
}

#[test]
fn a_column_of_sand_becomes_a_cone_at_its_angle() {
    let mut terrain = Terrain::bare(Grid::filled(129, 129, 0.0), 1.0, Edge::Wall);
    let inside = |x: usize, y: usize| (x as f32 - 64.0).hypot(y as f32 - 64.0) <= 10.0;
    let cells = (0..129 * 129).filter(|index| inside(index % 129, index / 129)).count();
    for index in (0..129 * 129).filter(|index| inside(index % 129, index / 129)) {
        terrain.sand[index] = 20_000.0 / cells as f32;
    }
    let before = terrain.solid_volume();
    let after = run(terrain.clone(), Params::default(), 20_000);
    let change = after.solid_volume() / before - 1.0;
    assert!(change.abs() <= 1e-6, "{change:e}");
    let talus = 33.0_f64.to_radians().tan();
    // From halfway down to near the foot, along and across.
    let ground = after.ground();
    let top = f64::from(ground.at(64, 64));
    let foot = (top / talus) as usize;
    for (dx, dy, step) in [(1, 0, 1.0), (0, 1, 1.0), (1, 1, std::f64::consts::SQRT_2)] {
        let reach = (foot as f64 / step) as usize;
        let (from, to) = (reach / 5, reach * 4 / 5);
        let height = |distance: usize| f64::from(ground.at(64 + dx * distance, 64 + dy * distance));
        let slope = (height(from) - height(to)) / ((to - from) as f64 * step);
        assert!((0.97..=1.083).contains(&(slope / talus)), "{dx},{dy}: {}", slope / talus);
    }
    for quarter in [false, true] {
        let other = run(turned(&terrain, quarter), Params::default(), 500);
        assert!(turned(&run(terrain.clone(), Params::default(), 500), quarter).sand == other.sand);
    }
}

#[test]
fn a_pit_in_a_plateau_never_rises_above_it_and_energy_never_grows() {
    for mode in [Mode::Default, Mode::Published] {
        for rate in [0.15, 3.0] {
            let mut terrain = Terrain::bare(Grid::filled(33, 33, 50.0), 1.0, Edge::Wall);
            terrain.sand = Grid::filled(33, 33, 20.0);
            terrain.sand[16 * 33 + 16] = 0.0;
            terrain.softness = Grid::filled(33, 33, 1.0);
            let params = Params { mode, rate, talus_bias: 0.0, repose_angle: 5.0, dt: 0.05, ..Params::default() };
            let mut energies = vec![energy(&terrain)];
            for _ in 0..300 {
                terrain = run(terrain, params.clone(), 1);
                assert!(terrain.ground().min_max().1 <= 70.0 + 1e-4, "{mode:?} {rate}");
                energies.push(energy(&terrain));
            }
            assert!(energies.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-6)), "{mode:?} {rate}");
        }
    }
}

#[test]
fn nothing_moves_below_the_angle_and_the_end_does_not_depend_on_the_rate() {
    let slope = |tangent: f32| {
        let mut terrain = Terrain::bare(Grid::from_fn(40, 40, |x, _| tangent * x as f32), 1.0, Edge::Wall);
        terrain.sand = Grid::filled(40, 40, 1.0);
        terrain
    };
    let gentle = slope(0.6);
    assert!(run(gentle.clone(), Params::default(), 50).ground() == gentle.ground());
    let steep = |rate: f32| run(slope(0.9), Params { rate, talus_bias: 1.0, ..Params::default() }, 4000).ground();
    let (slow, fast) = (steep(0.1), steep(2.0));
    let worst = slow.iter().zip(fast.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst <= 1e-3, "{worst}");
}

#[test]
fn bare_rock_crumbles_down_to_its_own_angle_and_hard_rock_stands() {
    let cliff = |softness: f32| {
        let mut terrain = Terrain::bare(Grid::from_fn(64, 16, |x, _| if x < 32 { 20.0 } else { 0.0 }), 1.0, Edge::Wall);
        terrain.softness = Grid::filled(64, 16, softness);
        terrain
    };
    let params = Params { rate: 3.0, dt: 0.05, ..Params::default() };
    let (soft, hard) = (run(cliff(0.9), params.clone(), 5000), run(cliff(0.0), params, 5000));
    assert!(hard.ground() == cliff(0.0).ground(), "rock that does not soften at all stands");
    let steepest = (1..64).map(|x| (soft.bedrock.at(x - 1, 8) - soft.bedrock.at(x, 8)).abs()).fold(0.0, f32::max);
    assert!(steepest < 10.0, "the cliff still falls {steepest} m from one cell to the next");
    assert!(soft.sand.total() > 100.0);
}
