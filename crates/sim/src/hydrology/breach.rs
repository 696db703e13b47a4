//! Breaching of depressions: a cut from the bottom of each over its spill point to lower ground.
//!
//! After Lindsay 2016 (Hydrol. Process. 30, 846: breaching of depressions with limits), along the flow paths of
//! [`drainage`](super::drainage). Depressions whose cut would exceed the limits stay, and hold lakes.

use super::drainage::Drainage;
use crate::core::terrain::Terrain;

/// Limits of a cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Maximum length, in metres along the flow path.
    pub length: f64,
    /// Maximum depth, in metres.
    pub depth: f64,
}

/// Result of breaching.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BreachReport {
    /// Number of breached depressions.
    pub cut: usize,
    /// Number of depressions whose cut would exceed the limits.
    pub skipped: usize,
    /// Removed volume, in cubic metres.
    pub volume: f64,
}

/// Breaches the depressions of a terrain, those downstream first. Sand is removed first, then rock.
pub fn breach(terrain: &mut Terrain, limits: Limits) -> BreachReport {
    let mut ground = terrain.ground();
    let drainage = Drainage::of(terrain);
    let cell_size = f64::from(terrain.cell_size);
    let mut breached = BreachReport::default();
    let before = terrain.solid_volume();
    for &(bottom, _) in drainage.order().links() {
        let bottom = bottom as usize;
        // An earlier cut may have lowered the ground below, so that the pit already drains.
        if drainage.lake(bottom, ground[bottom]).is_none() || drainage.has_lower_neighbour(bottom, &ground) {
            continue;
        }
        let from = ground[bottom];
        let (mut path, mut length, mut deepest, mut cell) = (Vec::new(), 0.0, 0.0_f64, bottom);
        // An outlet higher than the pit is cut down to it.
        let foot = loop {
            let Some(receiver) = drainage.receiver(cell) else { break from };
            length += drainage.distance(cell) * cell_size;
            if ground[receiver] < from {
                break ground[receiver];
            }
            deepest = deepest.max(f64::from(ground[receiver]) - f64::from(from));
            path.push((receiver, length));
            cell = receiver;
        };
        if length > limits.length || deepest > limits.depth {
            breached.skipped += 1;
            continue;
        }
        breached.cut += 1;
        let fall = f64::from(from) - f64::from(foot);
        let mut last = from;
        for (cell, distance) in path {
            let wanted = (f64::from(from) - fall * distance / length) as f32;
            lower(terrain, cell, wanted.min(last.next_down()).min(ground[cell]));
            ground[cell] = terrain.bedrock[cell] + terrain.sand[cell];
            last = ground[cell];
        }
    }
    breached.volume = before - terrain.solid_volume();
    breached
}

/// Lowers the ground of a cell to a height, or to the nearest one below that a sum of layers can represent.
fn lower(terrain: &mut Terrain, cell: usize, height: f32) {
    let (rock, sand) = (&mut terrain.bedrock[cell], &mut terrain.sand[cell]);
    if *rock + *sand <= height {
        return;
    }
    *sand = (height - *rock).max(0.0);
    if *rock + *sand > height {
        *sand = (height.next_down() - *rock).max(0.0);
    }
    *rock = rock.min(height);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        core::{grid::Grid, rng::RandomStream, terrain::Edge},
        measure::Measures,
    };

    const FREE: Limits = Limits { length: 1e9, depth: 1e9 };

    fn noise(seed: u64) -> Terrain {
        let mut stream = RandomStream::new(seed, "breach", 0);
        let ground = Grid::from_fn(96, 80, |x, y| 40.0 * stream.uniform() + 0.5 * (x + y) as f32);
        let mut terrain = Terrain::bare(ground, 10.0, Edge::Open);
        terrain.spread_sand(0.5);
        terrain
    }

    #[test]
    fn unlimited_breaching_removes_all_depressions() {
        for seed in 0..4 {
            let before = noise(seed);
            let mut terrain = before.clone();
            let breached = breach(&mut terrain, FREE);
            assert!(breached.cut > 100 && breached.skipped == 0, "{breached:?}");
            let measures = Measures::of(&terrain);
            assert_eq!((measures.pits, measures.depressions), (0.0, 0.0));
            let lifted = terrain.ground().iter().zip(before.ground().iter()).any(|(now, then)| now > then);
            assert!(!lifted && terrain.sand.iter().all(|&sand| sand >= 0.0));
            let taken = before.solid_volume() - terrain.solid_volume();
            assert!((taken - breached.volume).abs() <= 1e-9 * taken && taken > 0.0);
        }
    }

    #[test]
    fn crater_is_breached_only_within_limits() {
        // A bowl 20 m deep, 17 m where its rim runs between cells. The rim is 5 cells from the bottom, and lower ground 5 more.
        let rim = |x: usize, y: usize| {
            let far = ((x as f32 - 20.0).powi(2) + (y as f32 - 20.0).powi(2)).sqrt();
            100.0 - 4.0 * (far - 5.0).abs()
        };
        let crater = Terrain::bare(Grid::from_fn(41, 41, rim), 10.0, Edge::Open);
        for (limits, cut) in [
            (FREE, true),
            (Limits { length: 60.0, ..FREE }, false),
            (Limits { length: 160.0, depth: 18.0 }, true),
            (Limits { depth: 15.0, ..FREE }, false),
        ] {
            let mut terrain = crater.clone();
            let breached = breach(&mut terrain, limits);
            assert_eq!((breached.cut, breached.skipped), (usize::from(cut), usize::from(!cut)), "{limits:?}");
            assert_eq!(terrain == crater, !cut);
        }
    }
}
