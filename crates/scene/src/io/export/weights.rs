//! Masks of the ground, packed into the four channels of a weight map.

use super::{ExportSubject, WeightChannels, hillshade};
use thalweg_sim::core::{analysis, grid::Grid};

/// Mask of a weight map, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightMask {
    /// Steep ground without sand and snow.
    Rock,
    /// Gentle ground without sand and snow.
    Soil,
    /// Ground under sand.
    Sand,
    /// Ground above the snow line, unless too steep for snow.
    Snow,
    /// Net erosion, relative to its maximum.
    Wear,
    /// Net deposition, relative to its maximum.
    Deposit,
    /// Logarithm of the contributing area, relative to its maximum.
    Flow,
    /// Topographic wetness index, from its minimum to its maximum.
    Wetness,
    /// Tree cover.
    Forest,
}

impl WeightMask {
    /// All masks with their names on the command line.
    pub const ALL: [(&'static str, Self); 9] = [
        ("rock", Self::Rock),
        ("soil", Self::Soil),
        ("sand", Self::Sand),
        ("snow", Self::Snow),
        ("wear", Self::Wear),
        ("deposit", Self::Deposit),
        ("flow", Self::Flow),
        ("wetness", Self::Wetness),
        ("forest", Self::Forest),
    ];

    /// Returns the mask with this name on the command line.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == key).map(|(_, mask)| mask)
    }

    /// Computes the mask of each cell.
    fn of(self, subject: &ExportSubject) -> Grid {
        let terrain = &subject.terrain;
        let drains =
            |map: &str, make: fn(&_) -> Grid| subject.process_maps.get(map).cloned().unwrap_or_else(|| make(terrain));
        match self {
            Self::Rock => cover(subject, 0),
            Self::Soil => cover(subject, 1),
            Self::Sand => cover(subject, 2),
            Self::Snow => cover(subject, 3),
            Self::Wear => stretched(analysis::elevation_change(terrain, false), Some(0.0)),
            Self::Deposit => stretched(analysis::elevation_change(terrain, true), Some(0.0)),
            Self::Flow => stretched(drains("flow", analysis::log_upslope_area), Some(0.0)),
            Self::Wetness => stretched(drains("wetness", analysis::wetness_index), None),
            Self::Forest => tree_cover(subject),
        }
    }
}

/// Returns the fraction of rock, soil, sand or snow per cell.
fn cover(subject: &ExportSubject, part: usize) -> Grid {
    let (terrain, ground) = (&subject.terrain, subject.terrain.ground());
    let covers = hillshade::ground_cover(&ground, &terrain.sand, terrain.cell_size, &subject.look);
    Grid::from_values(ground.width(), ground.height(), covers.into_iter().map(|parts| parts[part]))
}

/// Scales a map so that `low`, by default its minimum, becomes 0 and its maximum 1.
fn stretched(mut grid: Grid, low: Option<f32>) -> Grid {
    let (min, max) = grid.min_max();
    let low = low.unwrap_or(min);
    let scale = if max > low { 1.0 / (max - low) } else { 0.0 };
    grid.iter_mut().for_each(|value| *value = ((*value - low) * scale).clamp(0.0, 1.0));
    grid
}

/// Packs masks as RGBA bytes that add up to 255 in every cell. Where all masks are 0, the first has 255.
pub(super) fn packed(subject: &ExportSubject, WeightChannels(channels): WeightChannels) -> Vec<u8> {
    let masks = channels.map(|mask| mask.map(|mask| mask.of(subject)));
    let first = channels.iter().position(Option::is_some).unwrap_or_default();
    let cells = subject.terrain.bedrock.len();
    let weights = |cell: usize| masks.each_ref().map(|mask| mask.as_ref().map_or(0.0, |mask| mask[cell]));
    (0..cells).flat_map(|cell| quantised_weights(weights(cell), first)).collect()
}

/// Quantises weights to bytes that add up to 255, by the largest remainders. If all are 0, that at `first` becomes 255.
fn quantised_weights(weights: [f32; 4], first: usize) -> [u8; 4] {
    let total: f32 = weights.iter().sum();
    let mut bytes = [0; 4];
    if !(total > 0.0 && total.is_finite()) {
        bytes[first] = 255;
        return bytes;
    }
    let exact = weights.map(|weight| 255.0 * f64::from(weight) / f64::from(total));
    bytes = exact.map(|weight| weight as u8);
    let mut order = [0, 1, 2, 3];
    order.sort_by(|&a, &b| (exact[b].fract()).total_cmp(&exact[a].fract()).then(a.cmp(&b)));
    let missing = 255_usize.saturating_sub(bytes.iter().map(|byte| usize::from(*byte)).sum());
    order.iter().take(missing).for_each(|&channel| bytes[channel] += 1);
    bytes
}

/// Neighbourhood whose mean height distinguishes depressions from ridges, in cells: axial and diagonal distance, as in the viewport.
const SURROUNDINGS: (isize, isize) = (5, 4);
/// Mean slope of the surroundings at which curvature saturates.
const CURVATURE: f32 = 0.5;
/// Half the width of the distribution of the noise that separates forest from open land.
const CLUMPS: f32 = 0.25;

/// Returns the expected fraction of each cell under trees, by the rules with which the viewport draws forest: on soil, on concave ground
/// and along streams rather than on crests, and never in water or on rock, snow and sand.
pub(super) fn tree_cover(subject: &ExportSubject) -> Grid {
    let (terrain, look) = (&subject.terrain, &subject.look);
    let ground = terrain.ground();
    let (width, height) = (ground.width(), ground.height());
    if look.woods <= 0.0 {
        return Grid::filled(width, height, 0.0);
    }
    let covers = hillshade::ground_cover(&ground, &terrain.sand, terrain.cell_size, look);
    let flow = WeightMask::Flow.of(subject);
    let (r, d) = SURROUNDINGS;
    let around = [(r, 0), (-r, 0), (0, r), (0, -r), (d, d), (-d, -d), (d, -d), (-d, d)];
    let steepness = look.vertical_exaggeration / (8.0 * r as f32 * terrain.cell_size * CURVATURE);
    let grown = |x: usize, y: usize| {
        let here = ground.at(x, y);
        let rise: f32 = around.iter().map(|(dx, dy)| ground.at_clamped(x as isize + dx, y as isize + dy) - here).sum();
        let hollow = (rise * steepness).clamp(-1.0, 1.0);
        let cell = y * width + x;
        let lush = look.vegetation * hillshade::smoothstep(0.30, 0.62, flow[cell]);
        let favour = 0.12 * hollow + 0.16 * lush - (0.74 - 0.50 * look.woods);
        let dry = 1.0 - hillshade::smoothstep(0.05, 0.3, terrain.water[cell]);
        covers[cell][1] * dry * hillshade::smoothstep(-CLUMPS, CLUMPS, 0.5 + favour)
    };
    Grid::from_fn(width, height, grown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_add_up_to_255() {
        for weights in [[1.0, 1.0, 1.0, 0.0], [0.1, 0.2, 0.3, 0.4], [1e-6, 0.0, 0.0, 0.0], [1.0 / 3.0; 4], [0.0; 4]] {
            let bytes = quantised_weights(weights, 2);
            assert_eq!(bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>(), 255, "{weights:?}: {bytes:?}");
        }
        assert_eq!(quantised_weights([0.0; 4], 2), [0, 0, 255, 0]);
        assert_eq!(quantised_weights([0.0, f32::NAN, 0.0, 1.0], 1), [0, 255, 0, 0]);
        assert_eq!(quantised_weights([1.0, 1.0, 0.0, 0.0], 0), [128, 127, 0, 0]);
    }
}
