//! Tests that every limiter is applied under extreme settings and never under moderate ones.

use super::contract::{hills, set, simulation};
use crate::core::{
    grid::Grid,
    terrain::{Edge, Terrain},
};

/// Parameter names and values.
type LimitedCase<'a> = &'a [(&'a str, &'a str)];

/// Returns the number of times that a limiter was applied in a few ticks.
fn applied(key: &str, limiter: &str, terrain: &Terrain, settings: LimitedCase<'_>) -> u64 {
    let mut run = simulation(terrain, key, 1);
    for (name, value) in settings {
        set(&mut run, &format!("{key}.{name}"), value);
    }
    (0..5).for_each(|_| run.tick());
    assert_eq!(run.fault(), None, "{key}");
    let process = &run.slot_mut(key).expect("it is in the catalogue").process;
    let limiters = process.limiters();
    assert_eq!(
        limiters.iter().map(|(_, count)| count.all).sum::<u64>(),
        process.counts().limiter_applications,
        "{key}"
    );
    let (_, count) = limiters.into_iter().find(|(known, _)| known.name == limiter).expect("it has this limiter");
    assert!(count.last <= count.all);
    count.all
}

fn plane() -> Terrain {
    Terrain::bare(Grid::from_fn(48, 48, |x, _| 100.0 - 0.5 * x as f32), 10.0, Edge::Open)
}

/// Returns water of uniform depth over flat ground.
fn lake(side: usize, depth: f32) -> Terrain {
    let mut terrain = Terrain::bare(Grid::filled(side, side, 0.0), 10.0, Edge::Wall);
    terrain.water.fill(depth);
    terrain
}

/// Returns a cliff on small cells, under a thin film of water.
fn cliff() -> Terrain {
    let mut terrain = Terrain::bare(Grid::from_fn(256, 256, |x, _| if x < 128 { 40.0 } else { 0.0 }), 1.0, Edge::Wall);
    terrain.water.fill(0.005);
    terrain
}

/// Returns a cliff of sand on small cells.
fn sand_cliff() -> Terrain {
    let mut terrain = Terrain::bare(Grid::filled(64, 64, 0.0), 1.0, Edge::Wrap);
    terrain.sand = Grid::from_fn(64, 64, |x, _| if x < 32 { 40.0 } else { 1.0 });
    terrain.start = terrain.ground();
    terrain
}

#[test]
fn limiters_are_applied_only_under_extreme_settings() {
    let (slopes, plane, wraps, lake, sea, cliff, sand) = (
        hills(64, Edge::Open),
        plane(),
        hills(64, Edge::Wrap),
        lake(48, 1.0),
        lake(384, 3000.0),
        cliff(),
        sand_cliff(),
    );
    let mass = ("law", "mass-transfer");
    let gentle = [mass, ("deposition_rate", "0.01"), ("friction", "0.5")];
    let published = ("mode", "published");
    let (still, light_rain, filled) = (("rain_rate", "0"), ("rain_rate", "0.0001"), ("filled", "true"));
    let cases: [(&str, &str, &Terrain, LimitedCase<'_>, &Terrain, LimitedCase<'_>); 19] = [
        ("droplets", "steps", &slopes, &[mass, ("dt", "5")], &slopes, &[mass, ("dt", "0.01")]),
        (
            "droplets",
            "steps",
            &plane,
            &[mass, published, ("dt", "5"), ("deposition_rate", "1")],
            &plane,
            &[mass, published],
        ),
        (
            "droplets",
            "erosion",
            &slopes,
            &[("exchange", "1"), ("entrainment", "100")],
            &plane,
            &[("entrainment", "0.1")],
        ),
        ("droplets", "banks", &cliff, &[("length", "1")], &plane, &[]),
        ("droplets", "erosion", &slopes, &[mass], &plane, &gentle),
        ("droplets", "deposition", &slopes, &[], &slopes, &[("law", "capacity"), ("settling", "0")]),
        ("droplets", "banks", &cliff, &[mass], &plane, &gentle),
        ("droplets", "circling", &wraps, &[mass, ("dt", "0.01")], &wraps, &[mass]),
        ("runoff", "erosion", &slopes, &[("capacity", "2"), ("dissolution", "1")], &slopes, &[("capacity", "0")]),
        ("water", "steps", &sea, &[], &lake, &[("dt", "0.001")]),
        ("water", "slow ticks", &sea, &[("dt", "0.05")], &lake, &[]),
        ("water", "outflow", &cliff, &[("roughness", "0"), ("dt", "0.05")], &lake, &[still]),
        ("water", "erosion", &slopes, &[("sediment_capacity", "3")], &lake, &[still]),
        ("water", "deposition", &slopes, &[], &slopes, &[("acceleration", "1")]),
        ("water", "outflow", &cliff, &[published], &lake, &[published, still]),
        ("water", "steady state", &slopes, &[filled, ("rain_rate", "0.01")], &slopes, &[filled, light_rain]),
        ("water", "levels", &slopes, &[filled, light_rain, ("roughness", "0")], &plane, &[filled, light_rain]),
        ("wind", "slow ticks", &sand, &[("capacity", "5"), ("strength", "6")], &plane, &[]),
        ("thermal", "rate", &slopes, &[("rate", "3"), ("dt", "0.05")], &slopes, &[]),
    ];
    for (key, limiter, where_it_acts, extreme, where_it_rests, well) in cases {
        assert!(
            applied(key, limiter, where_it_acts, extreme) > 0,
            "{key}: {limiter} was not applied under {extreme:?}"
        );
        assert_eq!(applied(key, limiter, where_it_rests, well), 0, "{key}: {limiter} was applied under {well:?}");
    }
}
