//! Land as rivers make it, to see whether processes leave it good, and the measures that show it.

use crate::{
    core::{
        analysis::slope,
        grid::Grid,
        rng::Stream,
        terrain::{Edge, Terrain},
    },
    hydrology::drainage::Drainage,
    measure::Measures,
    process::fluvial::{Fluvial, Params},
    simulation::Simulation,
};

/// Land that rose while rivers cut it until both were in balance, without deposition. Its depressions are filled.
pub(super) fn fluvial(side: usize, seed: u64) -> Terrain {
    let mut stream = Stream::new(seed, "land", 0);
    let start = Grid::from_fn(side, side, |x, y| {
        let height = stream.unit();
        if x.min(y) == 0 || x.max(y) + 1 == side { 0.0 } else { height }
    });
    let process = Fluvial::with(Params { deposition: 0.0, ..Params::default() });
    let mut run = Simulation::of(vec![Box::new(process)], Terrain::bare(start, 30.0, Edge::Open), seed);
    run.slots[0].enabled = true;
    (0..200).for_each(|_| run.tick());
    let (mut ground, drainage) = (run.terrain.ground(), Drainage::of(&run.terrain));
    for (cell, height) in ground.iter_mut().enumerate() {
        *height = drainage.lake(cell, *height).unwrap_or(*height);
    }
    Terrain::bare(ground, run.terrain.cell_size, run.terrain.edge)
}

/// Measures by which land differs from noise.
#[derive(Clone, Copy, Debug)]
pub(super) struct Land {
    /// Ratio of the pits to the inner cells, and of the cells that lie in a depression to all.
    pub pits: f64,
    pub depressions: f64,
    /// The θ for which heights of channels lie best on a line over χ, and R² of that line.
    pub concavity: f64,
    pub straightness: f64,
    /// Angles of the ground: the median and the 99th percentile, in degrees.
    pub slopes: [f64; 2],
}

impl Land {
    pub(super) fn of(terrain: &Terrain) -> Self {
        let Measures { pits, depressions, concavity, .. } = Measures::of(terrain);
        let concavity = concavity.expect("rivers have made it");
        let mut angles = slope(terrain).to_vec();
        angles.sort_by(f32::total_cmp);
        let slopes = [50, 99].map(|percent| angles[angles.len() * percent / 100].into());
        Self { pits, depressions, concavity: concavity.value, straightness: concavity.r2, slopes }
    }
}

#[test]
fn fluvial_land_passes_its_own_measures() {
    let land = Land::of(&fluvial(128, 3));
    assert!(land.pits == 0.0 && land.depressions == 0.0, "{land:?}");
    assert!((land.concavity - 0.4).abs() <= 0.05 && land.straightness > 0.98, "{land:?}");
}
