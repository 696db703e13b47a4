use super::*;
use crate::{
    core::terrain::Edge,
    params::REFERENCE_SIDE,
    process::contract::{rotate_or_mirror, run_process},
};

/// Runs ticks whose simulated time is Δt times the cell size in metres, regardless of the number of cells.
fn run(terrain: Terrain, mut params: Params, ticks: usize) -> Terrain {
    if params.mode == Mode::Corrected {
        params.dt *= REFERENCE_SIDE as f32 / terrain.width().min(terrain.height()) as f32;
    }
    run_process(Thermal::with(params), terrain, ticks).terrain
}

fn energy(terrain: &Terrain) -> f64 {
    terrain.ground().iter().map(|&z| f64::from(z) * f64::from(z)).sum()
}

#[test]
fn sand_column_collapses_to_cone_at_angle_of_repose() {
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
    // From a fifth to four fifths of the radius, along both axes and a diagonal.
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
        let other = run(rotate_or_mirror(&terrain, quarter), Params::default(), 500);
        assert!(rotate_or_mirror(&run(terrain.clone(), Params::default(), 500), quarter).sand == other.sand);
    }
}

#[test]
fn pit_stays_below_plateau_and_energy_never_increases() {
    for mode in [Mode::Corrected, Mode::Published] {
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
fn sand_moves_only_above_angle_of_repose() {
    let slope = |degrees: f32| {
        let tangent = degrees.to_radians().tan();
        let mut terrain = Terrain::bare(Grid::from_fn(40, 40, |x, _| tangent * x as f32), 1.0, Edge::Wall);
        terrain.sand = Grid::filled(40, 40, 1.0);
        terrain
    };
    let after = |degrees: f32| run(slope(degrees), Params::default(), 50).sand;
    assert!(after(32.5) == slope(32.5).sand && after(33.5) != slope(33.5).sand);
}

/// Returns the largest height difference between neighbours in a row, in metres.
fn steepest(terrain: &Terrain) -> f32 {
    let ground = terrain.ground();
    let row = |y: usize| (1..ground.width()).map(move |x| (x, y));
    (0..ground.height()).flat_map(row).map(|(x, y)| (ground.at(x, y) - ground.at(x - 1, y)).abs()).fold(0.0, f32::max)
}

#[test]
fn cliff_relaxes_to_stable_angles_at_any_rate() {
    let cliff = |softness: f32| {
        let mut terrain = Terrain::bare(Grid::from_fn(64, 8, |x, _| if x < 32 { 20.0 } else { 0.0 }), 1.0, Edge::Wall);
        terrain.softness = Grid::filled(64, 8, softness);
        terrain
    };
    let after = |softness: f32, rate: f32, ticks: usize| {
        run(cliff(softness), Params { rate, dt: 0.05, ..Params::default() }, ticks)
    };
    let hard = cliff(0.0);
    assert!(after(0.0, 3.0, 5000) == hard, "the hardest rock does not fail");
    // Rock is steeper than sand, except for the softest, which is as steep.
    for (softness, slope) in [(0.9, 33_f32.to_radians().tan()), (0.5, 0.5 * 0.9 + 0.3), (0.2, 0.8 * 0.9 + 0.3)] {
        let [slow, fast] = [1.0, 3.0].map(|rate| steepest(&after(softness, rate, 20_000)));
        assert!(
            (slow - slope).abs() <= 0.003 && (fast - slope).abs() <= 0.003,
            "{softness}: {slow}, {fast}, not {slope}"
        );
        let [slow, fast] = [1.0, 3.0].map(|rate| steepest(&after(softness, rate, 100)));
        assert!(slow > fast + 0.3, "{softness}: the rate has no effect, {slow} and {fast}");
    }
}

#[test]
fn submerged_sand_has_lower_angle_of_repose() {
    // A slope of sand, submerged by a lake up to column 20.
    let slope = |degrees: f32| {
        let tangent = degrees.to_radians().tan();
        let mut terrain = Terrain::bare(Grid::from_fn(40, 40, |x, _| tangent * x as f32), 1.0, Edge::Wall);
        terrain.sand = Grid::filled(40, 40, 1.0);
        let level = terrain.ground().at(20, 0);
        terrain.water = Grid::from_fn(40, 40, |x, _| (level - tangent * x as f32 - 1.0).max(0.0));
        terrain
    };
    let changed = |degrees: f32| {
        let (before, after) = (slope(degrees), run(slope(degrees), Params::default(), 50));
        let columns = (0..40).filter(|&x| before.sand.at(x, 20) != after.sand.at(x, 20)).collect::<Vec<_>>();
        (columns.iter().any(|&x| x < 18), columns.iter().any(|&x| x > 25))
    };
    assert_eq!(changed(27.5), (false, false));
    assert_eq!(changed(30.0), (true, false), "sand slides only under water");
    assert_eq!(changed(33.5), (true, true));
    // Sand is never steeper under water than in air.
    let flat = Params { repose_angle: 20.0, ..Params::default() };
    assert!(run(slope(22.0), flat, 50).sand != slope(22.0).sand);
    // A heap on a lake floor becomes a cone of that angle.
    let mut heap = Terrain::bare(Grid::filled(65, 65, 0.0), 1.0, Edge::Wall);
    heap.sand = Grid::from_fn(65, 65, |x, y| if (30..35).contains(&x) && (30..35).contains(&y) { 40.0 } else { 0.0 });
    heap.water = Grid::filled(65, 65, 50.0);
    let ground = run(heap, Params::default(), 10_000).ground();
    let slope = f64::from(ground.at(34, 32) - ground.at(40, 32)) / 6.0;
    let tangent = 28.0_f64.to_radians().tan();
    assert!((0.97..=1.083).contains(&(slope / tangent)), "{}", slope / tangent);
}

#[test]
fn thermal_tick_duration_is_resolution_independent() {
    let cliff = |cells: usize| {
        let side = 64.0 / cells as f32;
        let ground = Grid::from_fn(cells, cells, |x, _| if x < cells / 2 { 20.0 } else { 0.0 });
        Terrain::bare(ground, side, Edge::Wall)
    };
    let bare = |terrain: &Terrain, ticks: usize| {
        run_process(Thermal::default(), terrain.clone(), ticks).slots[0].process.counts()
    };
    // A tick of the same terrain spans the same time with another number of cells.
    let (few, many) = (bare(&cliff(64), 10).seconds, bare(&cliff(128), 10).seconds);
    assert!((few - 0.02 * 64.0 / 256.0 * 10.0).abs() < 1e-6 && (many / few - 1.0).abs() < 1e-6, "{few}, {many}");
}
