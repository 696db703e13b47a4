//! Tests of interactions between processes: rain on dunes, a river undercutting a dune, wind filling a dry bed and a flood clearing it.

use crate::{
    core::{
        grid::Grid,
        quantity::Quantity,
        terrain::{Edge, Source, Terrain},
    },
    generate::{Generator, TerrainParams, generate},
    params::{Value, write},
    process::contract::{assert_healthy, set},
    simulation::Simulation,
};

const WIDTH: usize = 96;
const HEIGHT: usize = 48;
/// Side of a cell, in metres.
const CELL: f32 = 2.0;
/// Columns of the river bed.
const BED: std::ops::Range<usize> = 56..64;

/// Returns a rock plain that slopes gently along the columns, with a bed 3 m deep in the same direction.
fn plain() -> Terrain {
    let rock = Grid::from_fn(WIDTH, HEIGHT, |x, y| {
        let bed = if BED.contains(&x) { 3.0 } else { 0.0 };
        0.02 * CELL * (HEIGHT - y) as f32 - bed
    });
    let mut terrain = Terrain::bare(rock, CELL, Edge::Open);
    // Rock that cannot be eroded.
    terrain.softness.fill(0.0);
    terrain
}

/// Returns a simulation of these processes with a wind towards the bed and long ticks of the water.
fn run(terrain: Terrain, keys: &[&str]) -> Simulation {
    let mut simulation = Simulation::new(terrain, 1);
    for (path, value) in [
        ("wind.direction", "0"),
        ("wind.refeed", "false"),
        ("water.rain_rate", "0"),
        ("water.evaporation_rate", "0.002"),
    ] {
        set(&mut simulation, path, value);
    }
    // The map is small, so the default time step would be short.
    let [params, _] = simulation.slot_mut("water").expect("it is there").process.settings_mut();
    write(params, "dt", &Value::Number(0.3));
    switch(&mut simulation, keys);
    simulation
}

fn switch(simulation: &mut Simulation, keys: &[&str]) {
    simulation.slots.iter_mut().for_each(|slot| slot.enabled = keys.contains(&slot.key()));
}

#[test]
fn rain_suppresses_wind_erosion_until_sand_dries() {
    let mut terrain = plain();
    terrain.sand.fill(4.0);
    terrain.edge = Edge::Wrap;
    let mut simulation = run(terrain, &["water", "wind"]);
    set(&mut simulation, "wind.drying", "20");
    set(&mut simulation, "water.acceleration", "1");
    let blown = |simulation: &mut Simulation, ticks: usize| {
        let moved = |simulation: &Simulation| simulation.ledger.solid.rows.get("wind").map_or(0.0, |row| row.eroded);
        let before = moved(simulation);
        (0..ticks).for_each(|_| simulation.tick());
        (moved(simulation) - before) / ticks as f64
    };
    let wetness =
        |simulation: &Simulation| simulation.wetness().expect("the wind keeps it").total() / (WIDTH * HEIGHT) as f64;
    blown(&mut simulation, 20);
    let dry = blown(&mut simulation, 50);
    assert!(dry > 1.0 && wetness(&simulation) == 0.0, "{dry} m³ a tick");
    // A shower.
    set(&mut simulation, "water.rain_rate", "0.01");
    blown(&mut simulation, 50);
    let (wet, soaked) = (blown(&mut simulation, 20), wetness(&simulation));
    assert!(wet < 0.05 * dry && soaked > 0.9, "{wet} m³ a tick of {dry}; {soaked} of the sand is wet");
    // The water is removed; the sand stays wet for a while.
    set(&mut simulation, "water.rain_rate", "0");
    simulation.terrain.water.fill(0.0);
    simulation.terrain.suspended.fill(0.0);
    let still = blown(&mut simulation, 20);
    assert!(still < 0.1 * dry && wetness(&simulation) > 0.7, "{still} m³ a tick of {dry}");
    let seconds = simulation.simulated_seconds();
    while simulation.simulated_seconds() < seconds + 5.0 * 20.0 {
        simulation.tick();
    }
    let (again, left) = (blown(&mut simulation, 50), wetness(&simulation));
    assert!(again > 0.5 * dry && left < 0.02, "{again} m³ a tick of {dry}; {left} of the sand is wet");
}

/// Returns a spring at the upper end of the bed; `rate` is in cubic metres per second.
fn spring(rate: f32) -> Source {
    let middle = 0.5 * (BED.start + BED.end) as f32 / WIDTH as f32;
    Source { place: [middle, 3.0 / HEIGHT as f32], radius: 4.0, rate, ticks: None }
}

/// Returns the sand in these columns, in cubic metres.
fn sand_in(simulation: &Simulation, columns: std::ops::Range<usize>) -> f64 {
    let sand = &simulation.terrain.sand;
    let cells = columns.flat_map(|x| (4..HEIGHT - 4).map(move |y| (x, y)));
    cells.map(|(x, y)| f64::from(sand.at(x, y))).sum::<f64>() * simulation.terrain.cell_area()
}

#[test]
fn river_stops_advancing_dune_and_removes_sand() {
    // A sand ridge that the wind drives towards the bed.
    let mut terrain = plain();
    for y in 0..HEIGHT {
        for x in 36..54 {
            terrain.sand[y * WIDTH + x] = 6.0 - 0.66 * (x as f32 - 45.0).abs();
        }
    }
    let start = terrain.sand.total() * terrain.cell_area();
    let after = |rate: f32| {
        let mut terrain = terrain.clone();
        terrain.sources = if rate > 0.0 { vec![spring(rate)] } else { Vec::new() };
        let mut simulation = run(terrain, &["water", "wind"]);
        set(&mut simulation, "wind.capacity", "0.2");
        // A tick of the wind spans hours, one of the water less than a second.
        for tick in 0..30_000 {
            switch(&mut simulation, if tick % 100 == 0 { &["water", "wind"] } else { &["water"] });
            simulation.tick();
        }
        assert_healthy(&simulation, "a river beside a dune");
        simulation
    };
    let (dry, wet) = (after(0.0), after(100.0));
    let beyond = [&dry, &wet].map(|run| sand_in(run, BED.end + 2..WIDTH));
    let taken = [&dry, &wet].map(|run| run.ledger.solid.rows.get("water").map_or(0.0, |row| row.outflow));
    assert!(beyond[0] > 1000.0 && beyond[1] < 0.01 * beyond[0], "the dune crosses the river: {beyond:?} m³");
    assert!(taken[1] > 0.25 * start && taken[0] == 0.0, "the river takes {taken:?} m³ of {start}");
}

#[test]
fn flood_reopens_channel_filled_by_wind() {
    let mut terrain = plain();
    for y in 0..HEIGHT {
        for x in 20..50 {
            terrain.sand[y * WIDTH + x] = 3.0;
        }
    }
    let mut simulation = run(terrain, &["wind"]);
    let room = 3.0 * BED.len() as f64 * (HEIGHT - 8) as f64 * simulation.terrain.cell_area();
    (0..2500).for_each(|_| simulation.tick());
    let filled = sand_in(&simulation, BED) / room;
    simulation.terrain.sources = vec![spring(150.0)];
    switch(&mut simulation, &["water"]);
    (0..12_000).for_each(|_| simulation.tick());
    assert_healthy(&simulation, "a flood in a filled bed");
    let opened = sand_in(&simulation, BED) / room;
    let carried = simulation.ledger.solid.rows["water"].outflow;
    assert!(filled > 0.5, "the wind fills {filled} of the bed");
    assert!(opened < 0.5 * filled, "of {filled} of the bed the flood leaves {opened}");
    assert!(carried > 0.5 * (filled - opened) * room, "{carried} m³ leave the map");
}

#[test]
fn each_of_four_coupled_processes_has_its_effect() {
    let params = TerrainParams {
        generator: Generator::Fbm,
        width: 128,
        height: 128,
        cell_size: 4.0,
        relief: 60.0,
        sand: 2.0,
        edge: Edge::Open,
        ..TerrainParams::default()
    };
    let mut start = generate(&params, 3);
    // A block of rock with sheer walls.
    for y in 90..110 {
        start.bedrock[y * 128 + 20..][..20].iter_mut().for_each(|rock| *rock += 40.0);
        start.sand[y * 128 + 20..][..20].fill(0.0);
    }
    start.sources = vec![Source { place: [0.7, 0.5], radius: 20.0, rate: 20.0, ticks: None }];
    let all = ["droplets", "water", "thermal", "wind"];
    let after = |without: &str| {
        let mut simulation = Simulation::new(start.clone(), 3);
        switch(&mut simulation, &all.into_iter().filter(|key| *key != without).collect::<Vec<_>>());
        for (path, value) in [
            ("wind.direction", "0"),
            ("wind.refeed", "false"),
            ("wind.capacity", "0.39"),
            // A spring supplies the water, as rain would keep the sand wet.
            ("water.rain_rate", "0"),
            ("droplets.per_tick", "100"),
        ] {
            set(&mut simulation, path, value);
        }
        (0..300).for_each(|_| simulation.tick());
        assert_healthy(&simulation, without);
        simulation
    };
    let together = after("none");
    assert!(all.iter().all(|key| together.ledger.solid.rows[*key].moved > 0.0));
    // Droplets fill the depressions of the noise where they gather; without them nothing else does.
    let streams = together.quantity(Quantity::StreamDischarge);
    let mut cells: Vec<usize> = (0..streams.len()).collect();
    cells.sort_by(|&one, &other| streams[other].total_cmp(&streams[one]));
    let filled = |simulation: &Simulation| {
        let (change, gather) = (simulation.quantity(Quantity::Change), &cells[..cells.len() / 50]);
        gather.iter().map(|&cell| f64::from(change[cell])).sum::<f64>() / gather.len() as f64
    };
    let (with, without) = (filled(&together), filled(&after("droplets")));
    assert!(with > 1.0 && with > 4.0 * without.abs(), "depressions rise by {with} m, by {without} m without droplets");
    // Water ponds in depressions, runs off and carries sediment.
    let dry = after("water");
    assert!(together.terrain.water_volume() > 1e3 && together.terrain.suspended.total() > 0.0);
    assert!(together.ledger.water.sum(|row| row.inflow) > 0.0 && dry.terrain.water_volume() == 0.0);
    // Thermal erosion lowers the sheer walls of the block.
    let walls = |simulation: &Simulation| {
        let ground = simulation.terrain.ground();
        (90..110).map(|y| f64::from(ground.at(20, y) - ground.at(19, y))).sum::<f64>() / 20.0
    };
    let (low, high) = (walls(&together), walls(&after("thermal")));
    assert!(low < 0.8 * high, "the walls are {low} m high, {high} m without thermal erosion");
    // Wind removes sand where none is supplied.
    let upwind = |simulation: &Simulation| {
        let sand = &simulation.terrain.sand;
        (0..128).flat_map(|y| (0..8).map(move |x| (x, y))).map(|(x, y)| f64::from(sand.at(x, y))).sum::<f64>()
    };
    let (blown, calm) = (upwind(&together), upwind(&after("wind")));
    assert!(blown < 0.7 * calm, "{blown} m of sand lie at the border, {calm} m without wind");
}
