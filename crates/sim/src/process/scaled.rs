//! Tests of every parameter that the mask can scale.

use super::{
    Info, Process, catalogue,
    contract::{assert_healthy, bits, hills, set, simulation},
    masked::masked_key,
    thermal,
};
use crate::{
    core::{grid::Grid, terrain::Edge},
    params::{Value, collect_parameters, get},
    simulation::Simulation,
};

/// Parameters that the mask scales in only one of their uses: the steps of a wind tick follow the unmasked values.
const PARTLY_MASKED: [&str; 2] = ["wind.strength", "wind.capacity"];

/// Returns the declaration of each process with the path of each parameter that the mask can scale and that of its factor.
fn scaled_parameters() -> Vec<(&'static Info, String, String)> {
    let paths = |process: Box<dyn Process>| {
        let info = process.info();
        let [_, factors] = process.settings();
        let paths = |name| (info, format!("{}.{name}", info.key), format!("{}.{name}", masked_key(info.key)));
        collect_parameters((masked_key(info.key), factors))
            .into_iter()
            .map(|factor| paths(factor.name))
            .collect::<Vec<_>>()
    };
    catalogue().into_iter().flat_map(paths).collect()
}

/// Returns a simulation of hills with sand, rock and water, set up so that the parameter at `path` has an effect.
fn start(info: &Info, path: &str, mask: Option<Grid>) -> Simulation {
    let mut terrain = hills(64, Edge::Wrap);
    terrain.sand = Grid::from_fn(64, 64, |x, y| if (x / 8 + y / 8) % 2 == 0 { 2.0 } else { 0.0 });
    terrain.mask = mask;
    if info.moves_water {
        terrain.water.fill(0.5);
        terrain.suspended.fill(0.05);
    } else if info.key == thermal::INFO.key {
        // Part of the sand on the slopes is submerged.
        terrain.water = Grid::from_fn(64, 64, |_, y| if y % 16 < 8 { 0.5 } else { 0.0 });
    } else {
        // Cells smaller than the saturation length of the wind, on gentle ground.
        terrain.cell_size = 2.0;
        terrain.bedrock.iter_mut().for_each(|height| *height *= 0.05);
    }
    let mut simulation = simulation(&terrain, info.key, 1);
    let own =
        collect_parameters((info.key, simulation.slot_mut(info.key).expect("it is in the catalogue").process.params()));
    let parameter = own.iter().find(|parameter| parameter.path == path).expect("it is listed");
    if let Some((name, values)) = parameter.knob.idle(&own) {
        set(&mut simulation, &format!("{}.{name}", info.key), values[0]);
    }
    // Rain in every tick.
    if let Some(interval) = own.iter().find(|parameter| parameter.name == "interval") {
        set(&mut simulation, &interval.path, &interval.knob.min.to_string());
    }
    simulation
}

fn number(simulation: &Simulation, path: &str) -> (f64, f64, f64) {
    let parameter = get(&simulation.groups(), path).unwrap_or_else(|error| panic!("{error}"));
    match parameter.value {
        Value::Number(number) => (number, parameter.knob.min, parameter.knob.max),
        other => panic!("{path} is {other}"),
    }
}

/// Returns the absolute difference of the layers between two simulations, summed over the columns that `wanted` selects.
fn difference(one: &Simulation, other: &Simulation, wanted: impl Fn(usize) -> bool) -> f64 {
    let layers = |simulation: &Simulation| {
        let terrain = &simulation.terrain;
        [&terrain.bedrock, &terrain.sand, &terrain.water, &terrain.suspended].map(Clone::clone)
    };
    let cells = |(one, other): (Grid, Grid)| {
        let pairs = one.iter().zip(other.iter()).enumerate().filter(|(cell, _)| wanted(cell % 64));
        pairs.map(|(_, (one, other))| f64::from((one - other).abs())).sum::<f64>()
    };
    layers(one).into_iter().zip(layers(other)).map(cells).sum()
}

#[test]
fn masked_factor_scales_parameter_only_under_mask() {
    for (info, path, factor) in scaled_parameters() {
        let even = |mask| Some(Grid::filled(64, 64, mask));
        let run = |mask: Option<Grid>, settings: &[(&str, f64)]| {
            let mut simulation = start(info, &path, mask);
            settings.iter().for_each(|(path, value)| set(&mut simulation, path, &value.to_string()));
            (0..3).for_each(|_| simulation.tick());
            // Only the result is compared, not the mask.
            simulation.terrain.mask = None;
            simulation
        };
        let (value, min, max) = number(&start(info, &path, None), &path);
        let times = if 1.5 * value <= max { 1.5 } else { 0.5 };
        let product = (times * value).clamp(min, max);
        let (plain, product) = (run(None, &[]), run(None, &[(&path, product)]));
        let (free, masked) = (run(even(0.0), &[(&factor, times)]), run(even(1.0), &[(&factor, times)]));
        assert_healthy(&masked, &path);
        if path.ends_with("per_tick") {
            let particles =
                |simulation: &mut Simulation| simulation.slot_mut(info.key).expect("it is there").process.counts();
            let [plain, product, free, masked] =
                [plain, product, free, masked].map(|mut simulation| particles(&mut simulation).particles as f64);
            assert!((free / plain - 1.0).abs() < 0.05 && (masked / product - 1.0).abs() < 0.05, "{path}");
            continue;
        }
        assert!(bits(&free) == bits(&plain), "{path}: a factor acts where nothing is masked");
        if PARTLY_MASKED.contains(&&*path) {
            assert!(difference(&masked, &plain, |_| true) > 0.0);
            continue;
        }
        let all = |_| true;
        let (apart, wrong) = (difference(&plain, &product, all), difference(&masked, &product, all));
        assert!(apart > 0.0 && wrong < 0.02 * apart, "{path}: {wrong} of {apart}");
        let unscaled = run(even(1.0), &[]);
        assert!(bits(&unscaled) == bits(&plain), "{path}: a mask without factors changes the result");
    }
}

#[test]
fn half_mask_confines_factor_and_balances_ledger() {
    for (info, path, factor) in scaled_parameters() {
        let left = Some(Grid::from_fn(64, 64, |x, _| if x < 32 { 1.0 } else { 0.0 }));
        let (mut plain, mut scaled) = (start(info, &path, left.clone()), start(info, &path, left));
        // At the lower end of the range, a smaller product is clamped to the same value.
        let (value, min, _) = number(&plain, &path);
        set(&mut scaled, &factor, if value > min { "0" } else { "10" });
        for simulation in [&mut plain, &mut scaled] {
            (0..2).for_each(|_| simulation.tick());
        }
        assert_healthy(&scaled, &path);
        // Within a few ticks, no effect reaches cells far from the border of the mask, except by droplets and grains, which
        // travel over the whole map.
        let far = |from: usize, to: usize| difference(&plain, &scaled, |x| (from..to).contains(&x));
        let (under, free) = (far(8, 24), far(40, 56));
        assert!(under > 0.0, "{path} has no effect under the mask");
        let process = &scaled.slot_mut(info.key).expect("it is there").process;
        if process.counts().particles == 0 {
            // The airflow of the whole map is recomputed when the ground changes anywhere; rivers cross the map in one tick.
            let most = match (process.capabilities().weather, process.capabilities().years) {
                (_, Some(_)) => under,
                (Some(_), _) => 0.1 * under,
                _ => 0.0,
            };
            assert!(free <= most, "{path} acts where nothing is masked: {free} of {under}");
        }
        let solid = &scaled.ledger.solid;
        let (moved, residual) = (solid.sum(|row| row.moved), scaled.solid_residual().abs());
        assert!(residual <= 1e-5 * moved.max(1.0), "{path}: {residual} of {moved}");
        let residual = scaled.water_residual().abs();
        assert!(residual <= 1e-5 * scaled.terrain.water_volume().max(1.0), "{path}: {residual} of the water");
        assert_eq!(solid.sum(|row| row.lost), 0.0, "{path}");
    }
}

#[test]
fn zero_masked_rate_stops_thermal_erosion() {
    let mut simulation = start(&thermal::INFO, "thermal.rate", Some(Grid::filled(64, 64, 1.0)));
    set(&mut simulation, "thermal-masked.rate", "0");
    let before = simulation.clone();
    (0..3).for_each(|_| simulation.tick());
    assert!(bits(&simulation) == bits(&before));
}

#[test]
fn mirrored_mask_yields_mirrored_terrain() {
    for (info, path, factor) in scaled_parameters() {
        let ramp = Grid::from_fn(64, 64, |x, y| (x + 2 * y) as f32 / 192.0);
        let run = |mirrored: bool| {
            let mut simulation = start(info, &path, Some(ramp.clone()));
            if mirrored {
                simulation.terrain = super::contract::rotate_or_mirror(&simulation.terrain, false);
            }
            set(&mut simulation, &factor, "0.3");
            (0..4).for_each(|_| simulation.tick());
            simulation
        };
        let (mut one, other) = (run(false), run(true));
        // Particle positions and flow routing are random, and wind has a direction.
        let process = &one.slot_mut(info.key).expect("it is there").process;
        if process.counts().particles > 0
            || process.capabilities().weather.is_some()
            || process.capabilities().years.is_some()
        {
            continue;
        }
        one.terrain = super::contract::rotate_or_mirror(&one.terrain, false);
        assert!(bits(&one) == bits(&other), "{path}");
    }
}
