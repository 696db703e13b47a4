//! Every cell drains over the lowest saddles, on any ground.

use super::*;
use crate::{
    core::{rng::RandomStream, terrain::Edge},
    hydrology::flood::Flood,
};

const EDGES: [Edge; 3] = [Edge::Open, Edge::Wall, Edge::Wrap];

fn noise(width: usize, height: usize, seed: u64) -> Grid {
    let mut stream = RandomStream::new(seed, "drainage", 0);
    Grid::from_fn(width, height, |_, _| stream.uniform())
}

fn drainage(ground: &Grid, edge: Edge, diagonal: Diagonal) -> Drainage {
    let mut drainage = Drainage::new(Border { width: ground.width(), height: ground.height(), edge });
    drainage.find(ground, diagonal);
    drainage
}

#[test]
fn every_cell_drains_and_lakes_match_priority_flood() {
    let flat = Grid::filled(40, 30, 3.0);
    let steps = Grid::from_fn(48, 33, |x, y| ((x / 5 + y / 7) % 4) as f32);
    // The last one takes several increments of work.
    let large = Grid::from_fn(640, 600, |x, y| ((x / 9 * 7 + y / 11 * 3) % 13) as f32);
    let small = [noise(64, 48, 1), noise(37, 61, 2), flat, steps, noise(1, 50, 3), noise(50, 2, 4), noise(1, 1, 5)];
    for ground in small.into_iter().chain([noise(640, 600, 9), large]) {
        for edge in EDGES {
            for diagonal in [Diagonal::Plain, Diagonal::Random(77)] {
                let found = drainage(&ground, edge, diagonal);
                let order = found.order();
                let mut seen = vec![false; ground.len()];
                found.outlets().iter().for_each(|&outlet| seen[outlet as usize] = true);
                for &(cell, receiver) in order.links() {
                    assert!(
                        seen[receiver as usize] && !seen[cell as usize],
                        "{edge:?}: a cell comes before its receiver"
                    );
                    seen[cell as usize] = true;
                }
                assert!(seen.iter().all(|&seen| seen), "{edge:?}: cells do not drain");
                let outlets = found.outlets().iter().map(|&outlet| (outlet as usize, f32::NEG_INFINITY));
                let around = |cell: usize| found.border().neighbours(cell).map(|(_, other)| other);
                let level = Flood::new(&ground, outlets, around).levels;
                let lakes = found.lakes(&ground);
                let same = lakes
                    .iter()
                    .zip(level.iter().zip(ground.iter()))
                    .all(|(lake, (level, ground))| *lake == level - ground);
                assert!(same, "{edge:?}: lakes stand at other levels");
                let areas = found.areas(|_| 1.0);
                let left: f64 = found.outlets().iter().map(|&outlet| areas[outlet as usize]).sum();
                assert_eq!(left, ground.len() as f64, "{edge:?}: water is lost");
            }
        }
    }
}

#[test]
fn flat_ground_drainage_is_random_and_isotropic() {
    let flat = Grid::filled(300, 300, 7.0);
    let found = [1, 2].map(|key| drainage(&flat, Edge::Open, Diagonal::Random(key << 32)));
    assert!(found[0].to != found[1].to);
    let cells = found[0].to.iter().filter(|&&step| step != NONE).count() as f64;
    for step in 0..8 {
        let share = found[0].to.iter().filter(|&&to| to == step).count() as f64 / cells;
        assert!((share - 0.125).abs() < 0.01, "{share} of the cells take step {step}");
    }
}

#[test]
fn reused_drainage_has_no_stale_state() {
    let (first, second) = (noise(40, 40, 6), noise(40, 40, 7));
    let mut again = drainage(&first, Edge::Open, Diagonal::Plain);
    again.find(&second, Diagonal::Plain);
    let fresh = drainage(&second, Edge::Open, Diagonal::Plain);
    assert!(again.to == fresh.to && again.from == fresh.from && again.lakes(&second) == fresh.lakes(&second));
}

#[test]
fn donors_are_inverse_of_receivers() {
    for edge in EDGES {
        let found = drainage(&noise(33, 21, 8), edge, Diagonal::Random(3));
        for cell in 0..found.len() {
            assert!(found.donors(cell).all(|donor| found.receiver(donor) == Some(cell)));
        }
        let count: usize = (0..found.len()).map(|cell| found.donors(cell).count()).sum();
        assert_eq!(count + found.outlets().len(), found.len(), "{edge:?}");
    }
}

#[test]
fn mean_flow_direction_follows_plane_aspect() {
    for degrees in [0.0_f32, 11.0, 22.5, 37.0, 45.0] {
        let (along, down) = (degrees.to_radians().cos(), degrees.to_radians().sin());
        let plane = Grid::from_fn(128, 128, |x, y| 500.0 - along * x as f32 - down * y as f32);
        let (mut dx, mut dy) = (0.0, 0.0);
        for key in 0..8 {
            let found = drainage(&plane, Edge::Open, Diagonal::Random(key * 0x9E37_79B9_7F4A_7C15));
            for cell in (0..plane.len()).filter(|&cell| found.to[cell] != NONE) {
                let [x, y] = STEPS[found.to[cell] as usize];
                (dx, dy) = (dx + x as f32, dy + y as f32);
            }
        }
        let found = dy.atan2(dx).to_degrees();
        // As r stays below 1, flow within 2.3° of a row or column is aligned with it.
        assert!((found - degrees).abs() < 2.4, "{degrees}° became {found}°");
    }
}

#[test]
fn cells_at_or_below_sea_level_are_outlets() {
    let ground = Grid::from_fn(9, 5, |x, _| x as f32);
    for edge in [Edge::Open, Edge::Wall, Edge::Wrap] {
        let mut drainage = Drainage::new(Border { width: 9, height: 5, edge });
        drainage.set_sea(3.0);
        drainage.find(&ground, Diagonal::Plain);
        let outlets = drainage.outlets();
        assert!(outlets.is_sorted_by(|a, b| a < b), "{edge:?}");
        assert!((0..45).filter(|cell| cell % 9 <= 3).all(|cell| outlets.contains(&cell)), "{edge:?}");
        let inner = outlets.iter().filter(|&&cell| cell % 9 > 3 && cell % 9 < 8 && (9..36).contains(&cell)).count();
        assert_eq!(inner, 0, "{edge:?}");
    }
}
