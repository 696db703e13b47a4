//! Guarantees of all starting terrains.

use rayon::ThreadPoolBuilder;

use super::*;
use crate::params::{Value, collect_parameters, write};

const RANDOM: [Generator; 9] = [
    Generator::Perlin,
    Generator::Simplex,
    Generator::Fbm,
    Generator::Ridged,
    Generator::Billow,
    Generator::DiamondSquare,
    Generator::Faulting,
    Generator::Valley,
    Generator::Range,
];
const SIZES: [(u32, u32); 5] = [(64, 64), (100, 100), (32, 257), (130, 47), (1, 1)];

fn params(generator: Generator, (width, height): (u32, u32)) -> TerrainParams {
    TerrainParams { generator, width, height, ..Default::default() }
}

fn all() -> impl Iterator<Item = Generator> {
    use Generator::*;
    let fields = [
        Plateau, FloodPlain, Flat, Plane, Ramp, Step, Cone, Column, Pyramid, Ridge, Crater, Dam, SandSheet, TwoVessels,
        Hill,
    ];
    RANDOM.into_iter().chain(fields)
}

/// Returns Pearson's correlation coefficient between the cells of two maps of the same size.
pub(super) fn correlation(a: &Grid, b: &Grid) -> f64 {
    let count = a.len() as f64;
    let (mean_a, mean_b) = (a.total() / count, b.total() / count);
    let sum = |term: fn(f64, f64) -> f64| -> f64 {
        a.iter().zip(b.iter()).map(|(&a, &b)| term(f64::from(a) - mean_a, f64::from(b) - mean_b)).sum()
    };
    sum(|a, b| a * b) / (sum(|a, _| a * a) * sum(|_, b| b * b)).sqrt()
}

#[test]
fn generators_respect_relief_at_every_map_size() {
    for generator in all() {
        for size in SIZES {
            for seed in [1, 77] {
                let params = params(generator, size);
                let terrain = generate(&params, seed);
                assert_eq!((terrain.width(), terrain.height()), (size.0 as usize, size.1 as usize));
                assert!(terrain.bedrock.iter().all(|height| height.is_finite()), "{generator:?} {size:?}");
                let (low, high) = terrain.bedrock.min_max();
                let expected = if size == (1, 1) { (0.0, 0.0) } else { (0.0, params.relief) };
                if RANDOM.contains(&generator) {
                    assert_eq!((low, high), expected, "{generator:?} {size:?}");
                } else {
                    assert!(low >= 0.0 && high <= params.relief, "{generator:?} {size:?}: {low} to {high}");
                }
            }
        }
    }
}

#[test]
fn extreme_generator_parameters_yield_finite_heights() {
    for generator in RANDOM {
        let extremes = [
            TerrainParams {
                octaves: 1,
                frequency: 0.25,
                persistence: 0.1,
                hurst: 0.2,
                faults: 1,
                ..params(generator, (40, 33))
            },
            TerrainParams { octaves: 20, frequency: 16.0, persistence: 0.9, hurst: 1.5, ..params(generator, (32, 32)) },
            TerrainParams { lacunarity: 1.5, faults: 1000, relief: 0.0, ..params(generator, (33, 32)) },
            TerrainParams { lacunarity: 4.0, relief: 10_000.0, ..params(generator, (64, 32)) },
        ];
        for params in extremes {
            let terrain = generate(&params, 4);
            assert!(terrain.bedrock.iter().all(|height| height.is_finite()));
            assert_eq!(terrain.bedrock.min_max(), (0.0, params.relief), "{params:?}");
        }
    }
}

#[test]
fn generation_depends_on_seed_but_not_on_thread_count() {
    let on_threads = |count, params: &TerrainParams, seed| {
        let pool = ThreadPoolBuilder::new().num_threads(count).build().expect("threads can be started");
        pool.install(|| generate(params, seed))
    };
    for generator in all() {
        let params = TerrainParams { softness: Softness::Noise, ..params(generator, (90, 61)) };
        let terrain = on_threads(1, &params, 5);
        assert_eq!(terrain, on_threads(4, &params, 5), "{generator:?}");
        if RANDOM.contains(&generator) {
            let other = generate(&params, 6);
            assert!(correlation(&terrain.bedrock, &other.bedrock).abs() < 0.9, "{generator:?}");
        }
    }
}

#[test]
fn doubled_resolution_preserves_terrain_shape() {
    for generator in RANDOM {
        for (small, large) in [((128, 128), (256, 256)), ((150, 100), (300, 200))] {
            let coarse = generate(&params(generator, small), 9).bedrock;
            let fine = generate(&params(generator, large), 9).bedrock;
            let found = correlation(&coarse, &fine.resample(coarse.width(), coarse.height()));
            assert!(found > 0.98, "{generator:?} {small:?}: {found}");
        }
    }
}

#[test]
fn random_terrain_is_isotropic() {
    for generator in RANDOM {
        let (mut along_x, mut along_y) = (0.0, 0.0);
        for seed in 0..24 {
            let ground = generate(&params(generator, (96, 96)), seed).bedrock;
            for y in 1..96 {
                for x in 1..96 {
                    along_x += f64::from(ground.at(x, y) - ground.at(x - 1, y)).powi(2);
                    along_y += f64::from(ground.at(x, y) - ground.at(x, y - 1)).powi(2);
                }
            }
        }
        let ratio = (along_x / along_y).sqrt();
        assert!((ratio - 1.0).abs() < 0.1, "{generator:?}: {ratio}");
    }
}

#[test]
fn generated_sand_is_included_in_start_surface() {
    let bare = |generator| generate(&params(generator, (40, 40)), 1).sand.min_max();
    assert_eq!((bare(Generator::SandSheet), bare(Generator::Flat)), ((4.0, 4.0), (0.0, 0.0)));
    for generator in [Generator::SandSheet, Generator::Flat, Generator::Perlin] {
        let terrain = generate(&TerrainParams { sand: 3.0, ..params(generator, (40, 40)) }, 1);
        assert!(terrain.sand.iter().all(|&sand| sand == 3.0));
        assert_eq!(terrain.start, terrain.ground());
        assert_eq!(generator != Generator::Perlin, terrain.bedrock.iter().all(|&height| height == 0.0));
    }
}

#[test]
fn terrain_parameters_are_declared_with_valid_defaults() {
    let params = TerrainParams::default();
    let declared = collect_parameters(("terrain", &params));
    assert_eq!(declared.len(), bevy_reflect::structs::Struct::field_len(&params));
    for parameter in declared {
        assert!(!parameter.doc.is_empty() && !parameter.knob.source.is_empty(), "{}", parameter.path);
        crate::params::parse(&parameter, &parameter.value.to_string()).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// A parameter is declared inactive for a generator or a softness if and only if it has no effect.
#[test]
fn terrain_parameters_have_effect_unless_declared_idle() {
    let layers = |params: &TerrainParams| {
        let terrain = generate(params, 1);
        [terrain.bedrock, terrain.sand, terrain.softness].map(|layer| layer.to_vec())
    };
    for generator in all() {
        for softness in [Softness::Constant, Softness::Noise, Softness::Strata] {
            let plain = TerrainParams { softness, ..params(generator, (48, 40)) };
            let before = layers(&plain);
            let group = collect_parameters(("terrain", &plain));
            for parameter in group.iter().filter(|parameter| matches!(parameter.value, Value::Number(_))) {
                // These change the size of the map.
                if ["width", "height", "cell_size"].contains(&parameter.name) {
                    continue;
                }
                let changes = [parameter.knob.min, parameter.knob.max].into_iter().any(|end| {
                    let mut changed = plain.clone();
                    assert!(write(&mut changed, parameter.name, &Value::Number(end)));
                    layers(&changed) != before
                });
                // Level ground has no relief.
                let is_level = matches!(generator, Generator::Flat | Generator::SandSheet);
                let flat = is_level && ["relief", "strata_thickness"].contains(&parameter.name);
                let acts = parameter.knob.idle(&group).is_none() && !flat;
                assert_eq!(changes, acts, "{} with {generator:?} and {softness:?}", parameter.name);
            }
        }
    }
}
