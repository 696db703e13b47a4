//! Cross-sections: the layers along a straight line over the map.

use crate::core::{grid::Grid, terrain::Terrain};

/// Maximum number of points along a section; more could not be resolved in a plot.
const MOST: usize = 1024;

/// The layers at a point of a section. Heights and depths are in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SectionPoint {
    /// Distance from the first end of the section, in metres.
    pub distance: f64,
    /// Height of the bedrock.
    pub bedrock: f32,
    /// Thickness of the sand.
    pub sand: f32,
    /// Depth of the water.
    pub water: f32,
    /// Suspended sediment, as its thickness if settled.
    pub suspended: f32,
}

impl SectionPoint {
    /// Height of the ground: bedrock and sand.
    pub fn ground(&self) -> f32 {
        self.bedrock + self.sand
    }
}

/// Returns evenly spaced points along a line between positions given as fractions of the map's sides: about one per cell.
fn places(terrain: &Terrain, ends: [[f32; 2]; 2]) -> (usize, f64, impl Fn(usize) -> [f32; 2]) {
    let size = [terrain.width() as f32, terrain.height() as f32];
    // A fraction of a side as a column or a row of cell centres.
    let cell = |place: [f32; 2]| [0, 1].map(|axis| place[axis] * size[axis] - 0.5);
    let [from, to] = ends.map(cell);
    let length = libm::hypotf(to[0] - from[0], to[1] - from[1]);
    let count = (length.ceil() as usize + 1).clamp(2, MOST);
    let at = move |place: usize| {
        let share = place as f32 / (count - 1) as f32;
        [0, 1].map(|axis| from[axis] + share * (to[axis] - from[axis]))
    };
    (count, f64::from(length * terrain.cell_size), at)
}

/// Returns the layers along a line between two positions, given as fractions of the map's sides.
pub fn section(terrain: &Terrain, ends: [[f32; 2]; 2]) -> Vec<SectionPoint> {
    let (count, length, at) = places(terrain, ends);
    let layers = |place: usize| {
        let [x, y] = at(place);
        SectionPoint {
            distance: length * place as f64 / (count - 1) as f64,
            bedrock: terrain.bedrock.sample_bilinear(x, y),
            sand: terrain.sand.sample_bilinear(x, y),
            water: terrain.water.sample_bilinear(x, y),
            suspended: terrain.suspended.sample_bilinear(x, y),
        }
    };
    (0..count).map(layers).collect()
}

/// Returns the values of a map of the terrain's size at the same points.
pub fn along(terrain: &Terrain, map: &Grid, ends: [[f32; 2]; 2]) -> Vec<f32> {
    let (count, _, at) = places(terrain, ends);
    (0..count).map(&at).map(|[x, y]| map.sample_bilinear(x, y)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::terrain::Edge;

    #[test]
    fn section_of_plane_is_linear_in_every_layer() {
        let mut terrain = Terrain::bare(Grid::from_fn(40, 30, |x, y| 3.0 * x as f32 + y as f32), 2.0, Edge::Open);
        terrain.spread_sand(0.5);
        terrain.water.fill(0.25);
        let ends = [[0.1, 0.2], [0.9, 0.8]];
        let found = section(&terrain, ends);
        let length = 2.0 * libm::hypot(32.0, 18.0);
        assert!((found[found.len() - 1].distance - length).abs() < 1e-3 && found[0].distance == 0.0);
        for layers in &found {
            let share = layers.distance / length;
            let rock = 3.0 * (3.5 + share * 32.0) + 5.5 + share * 18.0;
            assert!((f64::from(layers.bedrock) - rock).abs() < 1e-3, "{layers:?} instead of {rock}");
            assert!((layers.ground() - layers.bedrock - 0.5).abs() < 1e-4);
            assert_eq!((layers.water, layers.suspended), (0.25, 0.0));
        }
        assert_eq!(along(&terrain, &terrain.start, ends).len(), found.len());
        // A line of zero length, and one that reaches the border.
        assert_eq!(section(&terrain, [[0.5, 0.5]; 2]).len(), 2);
        assert!(section(&terrain, [[0.0, 0.0], [1.0, 1.0]]).iter().all(|layers| layers.bedrock.is_finite()));
    }
}
