//! Tests of every process on the terrain of every generator, at three extents, with default parameters.

use rayon::prelude::*;

use crate::{
    generate::{TerrainParams, generate},
    params::{Value, collect_parameters, write},
    process::{catalogue, contract::assert_healthy},
    simulation::{
        Simulation,
        grow::{RangeParams, typical_relief},
    },
};

const SIDE: u32 = 32;
/// Ticks of every simulation, and of one without a visible effect by then: half a minute.
const TICKS: [usize; 2] = [150, 600];
/// Smallest visible change, as a fraction of the relief.
const SHOWS: f32 = 1e-3;
/// Tolerated growth of the height range at either end, as a fraction of the relief.
const GROWS: f32 = 1.5;

#[test]
fn every_process_affects_every_generator_or_is_idle() {
    let declared = collect_parameters(("terrain", &TerrainParams::default()));
    let generators =
        declared.into_iter().find(|parameter| parameter.name == "generator").expect("it is declared").choices;
    let lands: Vec<_> =
        generators.into_iter().flat_map(|name| [8.0, 80.0, 800.0].map(|cell_size| (name.clone(), cell_size))).collect();
    let dead: Vec<String> = lands
        .into_par_iter()
        .flat_map_iter(|(name, cell_size): (String, f32)| {
            let relief = typical_relief(f64::from(SIDE) * f64::from(cell_size)) as f32;
            let mut params = TerrainParams { width: SIDE, height: SIDE, cell_size, relief, ..TerrainParams::default() };
            assert!(write(&mut params, "generator", &Value::Choice(name.clone())));
            let terrain = generate(&params, 3);
            let before = terrain.ground();
            let (low, high) = before.min_max();
            let keys = catalogue().into_iter().map(|process| process.info().key);
            let dead: Vec<String> = keys
                .filter_map(|key| {
                    let mut simulation = Simulation::new(terrain.clone(), 3);
                    simulation.slots.iter_mut().for_each(|slot| slot.enabled = slot.key() == key);
                    if key == "fluvial" {
                        simulation.tune_uplift(&RangeParams::default());
                    }
                    let mark = |simulation: &Simulation| {
                        let after = simulation.terrain.ground();
                        let changes = before.iter().zip(after.iter()).map(|(one, other)| (one - other).abs());
                        changes.fold(0.0, f32::max) / relief
                    };
                    (0..TICKS[0]).for_each(|_| simulation.tick());
                    if mark(&simulation) < SHOWS {
                        (TICKS[0]..TICKS[1]).for_each(|_| simulation.tick());
                    }
                    let label = format!("{key} on {name}, {cell_size} m");
                    assert_healthy(&simulation, &label);
                    let most = mark(&simulation);
                    let (floor, top) = simulation.terrain.ground().min_max();
                    assert!(
                        top < high + GROWS * relief && floor > low - GROWS * relief,
                        "{label} is unstable: {floor} m to {top} m"
                    );
                    let slot = simulation.slot_mut(key).expect("it is in the catalogue");
                    let reason = slot.process.idle_reason(&terrain);
                    // Rain on level ground forms a lake, so the process is not idle.
                    let floods = key == "water" && high - low < 1e-3;
                    println!("{label}: {most:.4} {reason:?}");
                    (most < SHOWS && reason.is_none() && !floods).then_some(format!("{label}: {most}"))
                })
                .collect();
            dead
        })
        .collect();
    assert!(dead.is_empty(), "neither an effect nor an idle reason: {dead:#?}");
}
