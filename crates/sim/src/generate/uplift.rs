//! Uplift maps: local uplift as a fraction of its maximum rate.

use bevy_reflect::Reflect;
use noise::{NoiseFn, Perlin};

use super::{frame::MapFrame, normalized};
use crate::core::{grid::Grid, rng::RandomStream};

/// Spatial pattern of the uplift.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Uplift {
    /// Uniform over the map.
    #[default]
    Uniform,
    /// Highest in the middle of the map, decreasing towards its sides.
    Dome,
    /// A winding belt from the upper side to the lower one.
    Belt,
    /// One side of a winding fault from the upper side to the lower one: of two blocks, one rises.
    Fault,
    /// Smooth, scattered patches.
    Patches,
    /// None until it is painted.
    Nowhere,
}

impl Uplift {
    /// All patterns, with their names in scripts.
    pub const ALL: [(Self, &str); 6] = [
        (Self::Uniform, "uniform"),
        (Self::Dome, "dome"),
        (Self::Belt, "belt"),
        (Self::Fault, "fault"),
        (Self::Patches, "patches"),
        (Self::Nowhere, "nowhere"),
    ];
}

/// Half width of the belt, amplitude of the bends of belt and fault, and width of the fault's ramp, as fractions of the shorter
/// side.
const BELT: f64 = 0.3;
const BENDS: f64 = 0.12;
const RAMP: f64 = 0.03;
/// Angles between belt or fault and the columns, in radians, so that neither aligns with rows or columns of cells. The belt's
/// flanks face the corners, where the borders draw rivers to the sides: together they leave no preferred direction.
const BELT_ASLANT: f64 = 0.78;
const FAULT_ASLANT: f64 = 0.5;
/// Number of bends of belt and fault, and of patches, along the shorter side.
const WAVES: f64 = 1.7;
const PATCHES: f64 = 2.3;

/// Returns a map of this many columns and rows with values from 0 to 1, with the same pattern at every resolution. Dome, belt and
/// patches reach both ends.
pub fn uplift_map(kind: Uplift, width: usize, height: usize, seed: u64) -> Grid {
    let frame = MapFrame::new(width, height);
    let mut stream = RandomStream::new(seed, "uplift", 0);
    let noise = Perlin::new(stream.bits());
    let [place, other] = [(); 2].map(|()| 256.0 * f64::from(stream.uniform()) + 0.5);
    let (half_width, half_height) = frame.half_extent();
    let aslant = if kind == Uplift::Belt { BELT_ASLANT } else { FAULT_ASLANT };
    let (across, along) = (libm::cos(aslant), libm::sin(aslant));
    let beside =
        |u: f64, v: f64| u * across - v * along - BENDS * noise.get([WAVES * (u * along + v * across) + place, other]);
    // Smooth step from 1 at 0 to 0 at 1.
    let fading = |far: f64| 0.5 + 0.5 * libm::cos(std::f64::consts::PI * far.clamp(0.0, 1.0));
    match kind {
        Uplift::Uniform => Grid::filled(width, height, 1.0),
        Uplift::Nowhere => Grid::filled(width, height, 0.0),
        Uplift::Dome => frame.sample(|u, v| {
            fading(((u / half_width) * (u / half_width) + (v / half_height) * (v / half_height)).sqrt())
        }),
        Uplift::Belt => frame.sample(|u, v| fading(beside(u, v).abs() / BELT)),
        Uplift::Fault => frame.sample(|u, v| fading(0.5 + beside(u, v) / RAMP)),
        Uplift::Patches => normalized(frame.sample(|u, v| noise.get([PATCHES * u + place, PATCHES * v + other])), 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uplift_maps_are_normalized_and_resolution_independent() {
        for (kind, name) in Uplift::ALL {
            for (width, height) in [(64, 64), (90, 40), (1, 1), (1, 300)] {
                let map = uplift_map(kind, width, height, 3);
                assert!(map.iter().all(|share| (0.0..=1.0).contains(share)), "{name}");
                let fine = uplift_map(kind, 2 * width, 2 * height, 3).resample(width, height);
                let off = map.iter().zip(fine.iter()).map(|(a, b)| (a - b).abs()).sum::<f32>() / map.len() as f32;
                assert!(off < 0.02 || width * height < 999, "{name}: {off}");
            }
        }
        assert_ne!(uplift_map(Uplift::Fault, 64, 64, 1), uplift_map(Uplift::Fault, 64, 64, 2));
        let fault = uplift_map(Uplift::Fault, 64, 64, 1);
        assert!(fault.at(0, 20) == 1.0 && fault.at(63, 20) == 0.0);
        let dome = uplift_map(Uplift::Dome, 65, 65, 1);
        assert!(dome.at(32, 32) == 1.0 && dome.at(0, 32) < 0.01);
    }
}
