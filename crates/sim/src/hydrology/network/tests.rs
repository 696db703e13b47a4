use super::*;
use crate::{
    core::terrain::Source,
    generate::{TerrainParams, generate},
    simulation::Simulation,
};

/// Two valleys that join halfway down.
fn fork(edge: Edge) -> Terrain {
    let ground = Grid::from_fn(61, 80, |x, y| {
        let split = if y < 40 { (40 - y) / 2 } else { 0 };
        let away = (30 - split).abs_diff(x).min((30 + split).abs_diff(x));
        2.0 * away as f32 + 1.5 * (79 - y) as f32
    });
    Terrain::bare(ground, 10.0, edge)
}

fn params(from_cells: f32) -> RiverParams {
    RiverParams { from_cells, ..RiverParams::default() }
}

#[test]
fn confluence_raises_stream_order_and_sums_discharge() {
    let network = RiverNetwork::from_terrain(&fork(Edge::Open), &params(300.0));
    let [left, right, below] = &network.reaches[..] else { panic!("{} reaches", network.reaches.len()) };
    assert_eq!([left.into, right.into, below.into], [Some(2), Some(2), None]);
    assert_eq!([left, right, below].map(|reach| reach.order), [1, 1, 2]);
    let meet = below.points[0];
    for one in [left, right] {
        let last = one.points[one.points.len() - 1];
        assert_eq!(last.at, meet.at);
        let falls =
            one.points.windows(2).all(|two| two[1].height <= two[0].height && two[1].discharge > two[0].discharge);
        assert!(falls && one.points[0].at[1] < 300.0 && one.length() > 100.0);
    }
    let before = [left, right].map(|reach| reach.points[reach.points.len() - 2].discharge);
    assert!(meet.discharge > before[0] + before[1] && meet.discharge < 1.2 * (before[0] + before[1]));
    // The mouth is in the middle of the lowest row, and drains almost everything at 1 mm/h.
    let mouth = below.points[below.points.len() - 1];
    assert!((mouth.at[0] - 305.0).abs() < 11.0 && (mouth.at[1] - 795.0).abs() < 1e-9, "{mouth:?}");
    let most = 61.0 * 80.0 * 100.0 * 1e-3 / 3600.0;
    assert!(mouth.discharge > 0.7 * most && mouth.discharge < most, "{} of {most}", mouth.discharge);
    let [width, depth] = RiverParams::default().channel(4.0);
    assert!((width - 10.0).abs() < 1e-5 && (depth - 0.3 * 4.0_f32.powf(0.4)).abs() < 1e-6);
}

#[test]
fn reaches_connect_downstream_at_every_edge_mode() {
    let noise = generate(&TerrainParams { width: 96, height: 64, ..TerrainParams::default() }, 3);
    for edge in [Edge::Open, Edge::Wall, Edge::Wrap] {
        let terrain = Terrain { edge, ..noise.clone() };
        for from_cells in [1.0, 20.0, 1e4] {
            let network = RiverNetwork::from_terrain(&terrain, &params(from_cells));
            assert!(network.reaches.is_empty() == (from_cells == 1e4), "{edge:?}: {}", network.reaches.len());
            let (mut lakes, mut through) = (0, 0);
            for reach in &network.reaches {
                assert!(
                    reach.points.len() > 1 && reach.points.iter().all(|place| place.at.iter().all(|at| at.is_finite()))
                );
                let far =
                    reach.points.windows(2).map(|two| (two[1].at[0] - two[0].at[0]).hypot(two[1].at[1] - two[0].at[1]));
                assert!(far.fold(0.0, f64::max) < 1.5 * f64::from(terrain.cell_size), "{edge:?}: a reach leaps");
                assert!(reach.points.windows(2).all(|two| two[1].height <= two[0].height), "{edge:?}: a reach climbs");
                lakes += usize::from(reach.in_lake);
                if let Some(into) = reach.into {
                    let next = &network.reaches[into];
                    let last = reach.points[reach.points.len() - 1];
                    let [x, y] = [0, 1].map(|axis| {
                        let size = [96.0, 64.0][axis] * f64::from(terrain.cell_size);
                        (last.at[axis] - next.points[0].at[axis]).rem_euclid(size)
                    });
                    assert!(x < 1e-6 && y < 1e-6 && last.discharge == next.points[0].discharge);
                    assert!(next.order >= reach.order);
                    through += 1;
                }
            }
            assert!(from_cells != 1.0 || (lakes > 0 && through > 20), "{edge:?}: {lakes} lakes, {through} confluences");
        }
    }
}

#[test]
fn spring_starts_river_with_its_discharge() {
    let spring = |rate: f32, ticks| Source { place: [0.5, 0.6], radius: 0.0, rate, ticks };
    let mut terrain = fork(Edge::Open);
    // A temporary spring and a drain make no river.
    terrain.sources = vec![spring(3.0, None), spring(9.0, Some((5, 8))), spring(-1.0, None)];
    for runoff in [0.1, 1.0] {
        let network = RiverNetwork::from_terrain(&terrain, &RiverParams { runoff, ..params(6000.0) });
        let [river] = &network.reaches[..] else { panic!("{} reaches", network.reaches.len()) };
        let [first, last] = [river.points[0], river.points[river.points.len() - 1]];
        assert!((first.at[1] - 485.0).abs() < 1e-6 && first.discharge >= 3.0, "{first:?}");
        let rain = 61.0 * 80.0 * 100.0 * runoff * 1e-3 / 3600.0;
        assert!(last.discharge > 3.0 + 0.7 * rain && last.discharge < 3.0 + 1.001 * rain, "{last:?}");
    }
}

#[test]
fn nearest_river_gives_offset_and_width_per_cell() {
    for edge in [Edge::Open, Edge::Wrap] {
        let terrain = fork(edge);
        let network = RiverNetwork::from_terrain(&terrain, &RiverParams { width: 20.0, ..params(300.0) });
        let cells = network.nearest(Border::of(&terrain), terrain.cell_size);
        let here = |x: usize, y: usize| cells[y * 61 + x];
        // Below the confluence, the river runs down the middle.
        let middle = here(30, 70);
        assert!((middle.heading - std::f32::consts::FRAC_PI_2).abs() < 0.2 && middle.half_width > 0.2, "{middle:?}");
        assert!(middle.aside.abs() < 0.5 && middle.depth > 0.1);
        // Facing downstream, right is the left side of the map.
        let [left, right] = [here(29, 70), here(31, 70)];
        assert!(left.aside > 0.5 && right.aside < -0.5, "{left:?} {right:?}");
        assert!((left.aside - middle.aside - 1.0).abs() < 0.2 && here(10, 70) == NearestRiver::default());
        assert!(cells.iter().filter(|cell| cell.half_width > 0.0).count() > 200);
    }
}

#[test]
fn flat_dry_and_tiny_maps_yield_valid_river_networks() {
    for (width, height) in [(1, 1), (1, 2), (2, 2), (3, 3), (64, 1)] {
        for edge in [Edge::Open, Edge::Wall, Edge::Wrap] {
            let terrain = Terrain::bare(Grid::filled(width, height, 2.0), 5.0, edge);
            let network = RiverNetwork::from_terrain(&terrain, &params(1.0));
            assert!(network.reaches.iter().all(|reach| reach.points.iter().all(|place| place.width.is_finite())));
        }
    }
    let mut dry = fork(Edge::Open);
    dry.rain = Some(Grid::filled(61, 80, 0.0));
    assert_eq!(RiverNetwork::from_terrain(&dry, &params(1.0)), RiverNetwork::default());
    // Twice the rain is twice the discharge.
    let mut wet = fork(Edge::Open);
    wet.rain = Some(Grid::filled(61, 80, 2.0));
    let [one, two] = [fork(Edge::Open), wet].map(|terrain| {
        let network = RiverNetwork::from_terrain(&terrain, &params(600.0));
        network.reaches.iter().flat_map(|reach| &reach.points).map(|place| place.discharge).fold(0.0, f32::max)
    });
    assert_eq!(2.0 * one, two);
}

#[test]
fn rivers_follow_droplet_streams_once_simulated() {
    let mut terrain = fork(Edge::Open);
    terrain.sources = vec![Source { place: [0.5, 0.6], radius: 0.0, rate: 3.0, ticks: None }];
    let mut run = Simulation::new(terrain, 1);
    crate::params::set(&mut run.groups_mut(), "droplets.springs", "true").expect("there is such a switch");
    crate::params::set(&mut run.groups_mut(), "droplets.rain_rate", "0").expect("in range");
    run.slot_mut("droplets").expect("it is in the catalogue").enabled = true;
    let [land, droplets] = [Course::Land, Course::Droplets].map(|course| RiverParams { course, ..params(1000.0) });
    let before = run.river_terrain(&land).network();
    assert_eq!(
        before,
        run.river_terrain(&droplets).network(),
        "while none have run, the terrain determines the rivers"
    );
    (0..20).for_each(|_| run.tick());
    let [led, own] = [land, droplets].map(|params| run.river_terrain(&params).network());
    assert!(led != own, "droplets lead no river");
    let long = own.reaches.iter().max_by(|one, other| one.length().total_cmp(&other.length())).expect("one river");
    let (first, middle) = (long.points[0], long.points[long.points.len() / 2]);
    assert!(first.at[1] > 440.0 && first.at[1] < 600.0, "it begins at {:?}", first.at);
    assert!((middle.discharge / 3.0 - 1.0).abs() < 0.25, "{} m³/s of 3", middle.discharge);
}

#[test]
fn rivers_are_defined_without_outlet_slope_or_rain() {
    let spring = |place: [f32; 2]| Source { place, radius: 0.0, rate: 5.0, ticks: None };
    for edge in [Edge::Open, Edge::Wall, Edge::Wrap] {
        let flat = Terrain::bare(Grid::filled(48, 32, 7.0), 10.0, edge);
        let network = RiverNetwork::from_terrain(&flat, &params(40.0));
        let whole = network.reaches.iter().flat_map(|reach| &reach.points);
        assert!(whole.clone().all(|place| place.discharge.is_finite() && place.height == 7.0), "{edge:?}");
        let drawn = Simulation::new(flat.clone(), 1).river_terrain(&params(40.0)).river_maps();
        assert_eq!((drawn.nearest.len(), drawn.lakes), (48 * 32, None), "{edge:?}: a plain is no lake");
        // Without rain, only a spring supplies water.
        let dry = Terrain { rain: Some(Grid::filled(48, 32, 0.0)), ..flat };
        assert_eq!(RiverNetwork::from_terrain(&dry, &params(1.0)), RiverNetwork::default(), "{edge:?}");
        let sprung = Terrain { sources: vec![spring([0.5, 0.5])], ..dry };
        let network = RiverNetwork::from_terrain(&sprung, &params(1.0));
        let discharges = network.reaches.iter().flat_map(|reach| &reach.points).map(|place| place.discharge);
        assert!(discharges.clone().all(|discharge| (discharge - 5.0).abs() < 1e-3), "{edge:?}");
        assert!(discharges.count() > 0 || edge == Edge::Wrap, "{edge:?}: a periodic map has no outlet");
    }
}

#[test]
fn only_lakes_on_rivers_are_drawn_at_spill_level() {
    // A valley dammed by a bar at 30 m, and a pit on its side with hardly any inflow.
    let ground = Grid::from_fn(41, 80, |x, y| {
        let valley = 2.0 * x.abs_diff(20) as f32 + 0.5 * (79 - y) as f32;
        let side = if x == 4 && y == 10 { -20.0 } else { 0.0 };
        if x.abs_diff(20) < 6 && y == 50 { valley.max(30.0) } else { valley + side }
    });
    let mut run = Simulation::new(Terrain::bare(ground.clone(), 10.0, Edge::Open), 1);
    let drawn = run.river_terrain(&params(200.0)).river_maps();
    let lakes = drawn.lakes.expect("the valley is dammed");
    let pass = Drainage::of(&run.terrain).lake(49 * 41 + 20, ground.at(20, 49)).expect("behind the bar");
    assert!(pass > ground.at(20, 49) && lakes.at(20, 49) == pass && lakes.at(20, 45) == pass);
    assert_eq!([lakes.at(20, 60), lakes.at(4, 10)], [f32::NEG_INFINITY; 2]);
    // The river ends at the shore and continues below the bar.
    let has_river = |x: usize, y: usize| drawn.nearest[y * 41 + x].half_width > 0.0;
    assert!(has_river(20, 60) && has_river(20, 15) && !has_river(20, 46));
    let few = run.river_terrain(&params(3000.0)).river_maps();
    assert_eq!((few.lakes, few.nearest.iter().any(|cell| cell.half_width > 0.0)), (None, true));
    // The initial terrain does not show later changes.
    run.terrain.bedrock.fill(1.0);
    let start = run.river_terrain_at_start(&params(200.0)).river_maps();
    assert_eq!((start.nearest, start.lakes), (drawn.nearest, Some(lakes)));
    assert_eq!(run.river_terrain(&params(200.0)).river_maps().lakes, None);
}
