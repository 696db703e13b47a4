//! Regular test fields: ideal shapes, sampled at cell centres, in metres.
//!
//! They are not rescaled to the extremes of the cells, so a shape has the same slope and volume at every resolution. A map with an
//! even number of cells has none at its centre, so a peak there is lower by half a cell's fall.

use super::{Generator, TerrainParams, frame::MapFrame};
use crate::core::grid::Grid;

/// Height of the dam's crest, as a fraction of the valley sides.
const DAM_CREST: f64 = 0.4;
/// Height of the valley floor at its upper border, as a fraction of the valley sides; above the crest, or no lake would fill.
const DAM_INFLOW: f64 = 0.5;
/// Half the thickness of dam and vessel walls, as a fraction of the shorter side; at least half a cell.
const WALL: f64 = 0.01;

/// Returns heights in metres; level ground for generators that aren't test fields.
pub(super) fn heights(params: &TerrainParams, frame: MapFrame) -> Grid {
    let relief = f64::from(params.relief);
    let size = f64::from(params.feature_size);
    let (half_width, half_height) = frame.half_extent();
    let cell = 1.0 / frame.shorter() as f64;
    let wall = WALL.max(0.5 * cell);
    frame.sample(|u, v| {
        let radius = (u * u + v * v).sqrt();
        relief
            * match params.generator {
                Generator::Plane => 0.5 + 0.5 * u / half_width,
                Generator::Ramp => (0.5 + 0.5 * u / size).clamp(0.0, 1.0),
                Generator::Step => (0.5 + u / cell).clamp(0.0, 1.0),
                Generator::Cone => (1.0 - radius / size).max(0.0),
                Generator::Column => f64::from(radius <= size),
                Generator::Pyramid => (1.0 - u.abs().max(v.abs()) / size).max(0.0),
                Generator::Ridge => (1.0 - u.abs() / size).max(0.0),
                Generator::Crater => {
                    let bowl = radius / size * (radius / size);
                    bowl.min((2.0 - radius / size).max(0.0))
                }
                Generator::Dam => {
                    let sides = (u.abs() / size - 1.0).clamp(0.0, 1.0);
                    let floor = (-v / half_height).max(0.0) * DAM_INFLOW;
                    let dam = if v.abs() <= wall { DAM_CREST } else { 0.0 };
                    sides.max(floor).max(dam)
                }
                Generator::TwoVessels => {
                    let border = u.abs() >= half_width - 2.0 * wall || v.abs() >= half_height - 2.0 * wall;
                    let partition = u.abs() <= wall && v.abs() > 0.5 * size;
                    f64::from(border || partition)
                }
                Generator::Hill => libm::exp(-radius * radius / (2.0 * size * size)),
                _ => 0.0,
            }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(generator: Generator, width: u32, height: u32) -> Grid {
        let params = TerrainParams { generator, width, height, relief: 100.0, ..Default::default() };
        heights(&params, MapFrame::new(width as usize, height as usize))
    }

    fn mirrored(map: &Grid) -> Grid {
        Grid::from_fn(map.width(), map.height(), |x, y| map.at(map.width() - 1 - x, y))
    }

    fn transposed(map: &Grid) -> Grid {
        Grid::from_fn(map.height(), map.width(), |x, y| map.at(y, x))
    }

    #[test]
    fn generator_shapes_have_expected_symmetry() {
        use Generator::{Column, Cone, Crater, Dam, Hill, Pyramid, Ramp, Ridge, Step, TwoVessels};
        for (width, height) in [(64, 64), (65, 33), (48, 97)] {
            for generator in [Cone, Column, Pyramid, Crater, Hill, Ridge, TwoVessels, Dam] {
                let map = field(generator, width, height);
                assert_eq!(mirrored(&map), map, "{generator:?} is the same from the right");
                if generator != Dam {
                    let turned = transposed(&map);
                    assert_eq!(mirrored(&turned), turned, "{generator:?} is the same from below");
                }
            }
            for generator in [Generator::Plane, Ramp, Step] {
                let map = field(generator, width, height);
                let sums = map.iter().zip(mirrored(&map).iter()).map(|(a, b)| a + b).collect::<Vec<_>>();
                assert!(sums.iter().all(|sum| (sum - 100.0).abs() < 1e-4), "{generator:?} is odd");
            }
        }
        for generator in [Cone, Column, Pyramid, Crater, Hill] {
            assert_eq!(
                transposed(&field(generator, 57, 57)),
                field(generator, 57, 57),
                "{generator:?} has no direction"
            );
        }
    }

    #[test]
    fn generator_shapes_have_analytic_slopes_and_volumes() {
        let size = f64::from(TerrainParams::default().feature_size);
        let pi = std::f64::consts::PI;
        for (generator, volume) in [
            (Generator::Plane, 0.5),
            (Generator::Cone, pi * size * size / 3.0),
            (Generator::Column, pi * size * size),
            (Generator::Pyramid, 4.0 * size * size / 3.0),
            (Generator::Ridge, size),
            (Generator::Ramp, 0.5),
            (Generator::Step, 0.5),
            (Generator::Crater, pi * size * size * (0.5 + 4.0 / 3.0)),
        ] {
            for side in [128, 255] {
                let map = field(generator, side, side);
                let found = map.total() / 100.0 / map.len() as f64;
                assert!((found / volume - 1.0).abs() < 0.01, "{generator:?} at {side}²: {found} instead of {volume}");
            }
        }
        let plane = field(Generator::Plane, 50, 40);
        assert!((1..50).all(|x| (plane.at(x, 7) - plane.at(x - 1, 7) - 2.0).abs() < 1e-4), "100 m over 50 cells");
    }

    #[test]
    fn peaks_reach_full_relief_at_centred_cells() {
        for generator in [Generator::Cone, Generator::Column, Generator::Pyramid, Generator::Ridge, Generator::Hill] {
            let (low, high) = field(generator, 129, 129).min_max();
            assert!(low >= 0.0 && high == 100.0, "{generator:?}: {low} to {high}");
        }
    }

    #[test]
    fn dam_closes_valley_and_vessels_connect_through_gap() {
        let dam = field(Generator::Dam, 64, 64);
        assert_eq!(dam.at(32, 63), 0.0, "the valley is open below");
        assert!((dam.at(32, 32) - 40.0).abs() < 1e-4 && dam.at(32, 30) < 4.0, "the wall stands over the lake's floor");
        assert!(dam.at(32, 0) > 40.0, "the lake cannot leave at the upper border");
        assert!((0..64).all(|x| dam.at(x, 32) >= 39.9), "the wall closes the valley from side to side");
        let vessels = field(Generator::TwoVessels, 30, 12);
        let floor = vessels.iter().filter(|&&height| height == 0.0).count();
        assert_eq!(floor, 28 * 10 - 2 * (10 - 2), "two cells of wall, with a gap two cells wide");
        assert!((1..29).all(|x| vessels.at(x, 5) == 0.0), "one can walk through");
        assert!((0..30).all(|x| vessels.at(x, 0) == 100.0) && (0..12).all(|y| vessels.at(0, y) == 100.0));
    }
}
