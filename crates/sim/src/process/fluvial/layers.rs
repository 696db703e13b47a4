//! Changes of the layers in a tick: uplift, the sea, and the result of erosion and deposition.

use std::ops::Range;

use rayon::prelude::*;

use crate::core::terrain::Terrain;

/// Number of cells in a parallel chunk. Sums depend on it.
pub(super) const CHUNK: usize = 4096;

/// Fills `ground` with the height of the ground, in metres.
pub(super) fn ground(terrain: &Terrain, ground: &mut [f32]) {
    let layers = terrain.bedrock.par_chunks(CHUNK).zip(terrain.sand.par_chunks(CHUNK));
    ground.par_chunks_mut(CHUNK).zip(layers).for_each(|(ground, (bedrock, sand))| {
        for (ground, (bedrock, sand)) in ground.iter_mut().zip(bedrock.iter().zip(sand)) {
            *ground = bedrock + sand;
        }
    });
}

/// Raises the rock by `lift` metres times the uplift map, except at the outlets. Returns the actual rise, in metres times cells.
pub(super) fn rise(terrain: &mut Terrain, outlets: &[u32], lift: impl Fn(usize) -> f64 + Sync) -> f64 {
    let Terrain { bedrock, uplift, .. } = terrain;
    let base_levels: Vec<f32> = outlets.iter().map(|&outlet| bedrock[outlet as usize]).collect();
    let lift = |cell: usize| lift(cell) * uplift.as_ref().map_or(1.0, |uplift| f64::from(uplift[cell]));
    let bedrock = &mut bedrock[..];
    let risen = bedrock.par_chunks_mut(CHUNK).enumerate().map(|(chunk, bedrock)| {
        let mut risen = 0.0;
        for (place, rock) in bedrock.iter_mut().enumerate() {
            let before = f64::from(*rock);
            *rock = (before + lift(chunk * CHUNK + place)) as f32;
            risen += f64::from(*rock) - before;
        }
        risen
    });
    let risen: Vec<f64> = risen.collect();
    let mut risen: f64 = risen.into_iter().sum();
    for (&outlet, &base_level) in outlets.iter().zip(&base_levels) {
        let rock = &mut bedrock[outlet as usize];
        risen -= f64::from(*rock) - f64::from(base_level);
        *rock = base_level;
    }
    risen
}

/// Fills `ground` with the height of the ground, or the sea level where that is higher, and fills the sea with water. `ground` holds the
/// heights before uplift, and `levels` are the previous and the current sea level. Water is removed where the sea has receded. Returns
/// the water added and removed, in metres times cells.
pub(super) fn fill_sea(terrain: &mut Terrain, ground: &mut [f32], levels: [f32; 2]) -> [f64; 2] {
    let [mut came, mut went] = [0.0; 2];
    let [was, sea] = levels;
    let higher = was.max(sea);
    if !ground.par_iter().any(|&ground| ground < higher) {
        self::ground(terrain, ground);
        return [came, went];
    }
    let layers = terrain.bedrock.iter().zip(terrain.sand.iter()).zip(&mut terrain.water[..]);
    for (ground, ((rock, sand), water)) in ground.iter_mut().zip(layers) {
        let now = rock + sand;
        if *ground < higher {
            let depth = (sea - now).max(0.0);
            let more = f64::from(depth) - f64::from(*water);
            *water = depth;
            came += more.max(0.0);
            went -= more.min(0.0);
        }
        *ground = now.max(sea);
    }
    [came, went]
}

/// Changes of the ground, in metres times cells.
#[derive(Clone, Copy, Default)]
pub(super) struct GroundChange {
    /// Erosion and deposition.
    pub eroded: f64,
    pub deposited: f64,
    /// Change still owed, negative for erosion: less than the rounding error of a height.
    pub owed: f64,
}

/// Changes the ground of these cells by `change` metres: erosion takes sand first, then rock; deposition adds sand. As heights have 24
/// bits, a cell changes by slightly more or less; the error is carried over to the next cell that changes, starting with `owed`.
pub(super) fn apply_change(terrain: &mut Terrain, cells: Range<usize>, change: &[f32], owed: f64) -> GroundChange {
    let Terrain { bedrock, sand, .. } = terrain;
    let layers = bedrock[cells.clone()].par_chunks_mut(CHUNK).zip(sand[cells.clone()].par_chunks_mut(CHUNK));
    let parts = layers.zip(change[cells].par_chunks(CHUNK)).enumerate().map(|(chunk, ((bedrock, sand), change))| {
        let mut laid = GroundChange { owed: if chunk == 0 { owed } else { 0.0 }, ..GroundChange::default() };
        for ((rock, sand), &change) in bedrock.iter_mut().zip(sand).zip(change) {
            if change == 0.0 {
                continue;
            }
            let (change, before) = (f64::from(change) + laid.owed, [f64::from(*rock), f64::from(*sand)]);
            let rests = (before[1] + change).max(0.0) as f32;
            let from_rock = (before[1] + change).min(0.0);
            (*rock, *sand) = ((before[0] + from_rock) as f32, rests);
            let grown = (f64::from(*rock) - before[0]) + (f64::from(*sand) - before[1]);
            laid.eroded -= grown.min(0.0);
            laid.deposited += grown.max(0.0);
            laid.owed = change - grown;
        }
        laid
    });
    let parts: Vec<GroundChange> = parts.collect();
    parts.into_iter().fold(GroundChange::default(), |sum, part| GroundChange {
        eroded: sum.eroded + part.eroded,
        deposited: sum.deposited + part.deposited,
        owed: sum.owed + part.owed,
    })
}
