//! Maps on which a range grows, from coarse to fine, with margins to be cropped at the end.

use crate::core::{
    grid::Grid,
    terrain::{Edge, Layer, Terrain},
};

/// Maximum number of cells along the longer side of the smallest map.
const COARSEST: usize = 128;
/// Margin of the smallest map and of the others, as a fraction of the shorter side.
const MARGIN: f64 = 0.25;
const FINER_MARGIN: f64 = 0.0625;
/// A map on which a range grows, of this many columns and rows, with a margin on each side.
#[derive(Clone, Copy)]
pub(super) struct GrowthMap {
    pub size: (usize, usize),
    pub margin: (usize, usize),
}

impl GrowthMap {
    fn new(size: (usize, usize), edge: Edge, margin: f64) -> Self {
        let cells = (size.0.min(size.1) as f64 * margin).round() as usize;
        // A side of one cell has no border.
        let of = |side: usize| if edge == Edge::Open && side > 1 { cells } else { 0 };
        Self { size, margin: (of(size.0), of(size.1)) }
    }

    pub fn whole(&self) -> (usize, usize) {
        (self.size.0 + 2 * self.margin.0, self.size.1 + 2 * self.margin.1)
    }

    pub fn cells(&self) -> f64 {
        (self.whole().0 * self.whole().1) as f64
    }

    /// Returns a layer of the whole map without its margin.
    pub fn within(&self, layer: &Grid) -> Grid {
        self.cut(layer, (0, 0))
    }

    /// Returns a layer of the whole map with a narrower margin.
    pub fn cut(&self, layer: &Grid, margin: (usize, usize)) -> Grid {
        let first = (self.margin.0 - margin.0, self.margin.1 - margin.1);
        let size = (self.size.0 + 2 * margin.0, self.size.1 + 2 * margin.1);
        Grid::from_fn(size.0, size.1, |x, y| layer.at(x + first.0, y + first.1))
    }

    /// Returns a layer of a terrain on the whole map, extended into the margin by its border values.
    pub fn around(&self, layer: &Grid) -> Grid {
        let (inner, (width, height)) = (layer.resample(self.size.0, self.size.1), self.whole());
        let place = |place: usize, margin: usize| place as isize - margin as isize;
        Grid::from_fn(width, height, |x, y| inner.at_clamped(place(x, self.margin.0), place(y, self.margin.1)))
    }

    /// Returns the terrain on which a range grows.
    pub fn terrain(&self, terrain: &Terrain, [bedrock, sand]: [Grid; 2]) -> Terrain {
        let mut fit =
            Terrain::from_layers(self.whole(), (self.cell_size(terrain), terrain.edge), |layer| match layer {
                Layer::Softness | Layer::Uplift | Layer::Rain => terrain.layer(layer).map(|grid| self.around(grid)),
                _ => None,
            });
        (fit.bedrock, fit.sand) = (bedrock, sand);
        fit
    }

    fn cell_size(&self, terrain: &Terrain) -> f32 {
        terrain.cell_size * terrain.width().max(terrain.height()) as f32 / self.size.0.max(self.size.1) as f32
    }
}

/// Returns the maps on which a range grows, the smallest first: once with a wide margin, then each with a narrow one.
pub(super) fn maps(terrain: &Terrain) -> Vec<GrowthMap> {
    let (width, height) = (terrain.width(), terrain.height());
    let halvings = (0..).find(|&times| width.max(height).div_ceil(1 << times) <= COARSEST).unwrap_or(0);
    let size = |times: u32| (width.div_ceil(1 << times), height.div_ceil(1 << times));
    let finer = (0..=halvings).rev().map(|times| GrowthMap::new(size(times), terrain.edge, FINER_MARGIN));
    std::iter::once(GrowthMap::new(size(halvings), terrain.edge, MARGIN)).chain(finer).collect()
}
