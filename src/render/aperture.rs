//! Depth of field of screenshots: everything nearer or farther than the focus in the centre of the image is blurred.
//!
//! The image of a lens is the mean of images seen through points of it: a mean of linear light, not of encoded bytes.

use bevy::prelude::*;
use rayon::prelude::*;

/// Sample points on the lens.
const PLACES: usize = 64;
/// Angle between successive points of the spiral, in radians.
const GOLDEN_ANGLE: f32 = 2.399_963;
/// Linear light of the brightest byte.
const BRIGHTEST: f32 = 65_535.0;
/// Index of the alpha channel.
const OPACITY: usize = 3;

/// A circular aperture focused at the distance of the image centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Aperture {
    /// Radius and focus distance, in world units.
    radius: f32,
    sharp: f32,
}

impl Aperture {
    /// Creates an aperture that blurs a point at infinity to `blur` times the image height.
    pub(super) fn new(blur: f32, sharp: f32, clip_from_view: Mat4) -> Self {
        let depth = clip_from_view.project_point3(Vec3::new(0.0, 0.0, -sharp)).z;
        let half_height = clip_from_view.inverse().project_point3(Vec3::new(0.0, 1.0, depth)).y;
        Self { radius: blur * half_height, sharp }
    }

    /// Returns the number of sample points.
    pub(super) fn places(self) -> usize {
        if self.radius > 0.0 { PLACES } else { 1 }
    }

    /// Returns projection and camera pose through one sample point.
    pub(super) fn through(
        self,
        index: usize,
        (clip_from_view, eye): (Mat4, GlobalTransform),
    ) -> (Mat4, GlobalTransform) {
        // A spiral that fills the aperture evenly.
        let away = self.radius * ((index as f32 + 0.5) / self.places() as f32).sqrt();
        let place = away * Vec2::from_angle(index as f32 * GOLDEN_ANGLE);
        // Shear that keeps the plane of focus in place.
        let mut slant = Mat4::IDENTITY;
        slant.z_axis = (-place / self.sharp).extend(1.0).extend(0.0);
        (clip_from_view * slant, eye * Transform::from_translation(place.extend(0.0)))
    }
}

/// Accumulated linear light of images of the same size.
#[derive(Default)]
pub(super) struct Exposure(Vec<[u32; 4]>);

impl Exposure {
    /// Adds an image given by its rows of RGBA pixels.
    pub(super) fn add<'a>(&mut self, rows: impl Iterator<Item = &'a [[u8; 4]]>) {
        let rows: Vec<_> = rows.collect();
        let width = rows.first().map_or(1, |row| row.len().max(1));
        self.0.resize(width * rows.len(), [0; 4]);
        let light = light_of_bytes();
        self.0.par_chunks_mut(width).zip(rows).for_each(|(sums, row)| {
            for (sum, pixel) in sums.iter_mut().zip(row) {
                for (channel, (sum, byte)) in sum.iter_mut().zip(pixel).enumerate() {
                    *sum += if channel == OPACITY { u32::from(*byte) } else { light[usize::from(*byte)] };
                }
            }
        });
    }

    /// Returns the mean of `count` added images, row by row, and resets the sums.
    pub(super) fn take_mean(&mut self, count: usize) -> Vec<[u8; 4]> {
        std::mem::take(&mut self.0).into_par_iter().map(|light| mean(light, count)).collect()
    }
}

/// Returns the linear light of each byte as an integer, so that sums do not depend on their order.
fn light_of_bytes() -> [u32; 256] {
    std::array::from_fn(|byte| {
        let light = LinearRgba::from(Srgba::rgb_u8(byte as u8, 0, 0)).red;
        (light * BRIGHTEST).round() as u32
    })
}

/// Returns the pixel of the mean of `count` samples, given their sum.
fn mean(sum: [u32; 4], count: usize) -> [u8; 4] {
    let [red, green, blue, opacity] = sum.map(|sum| sum as f32 / count as f32);
    let light = LinearRgba::rgb(red, green, blue) * (1.0 / BRIGHTEST);
    let [red, green, blue, _] = Srgba::from(LinearRgba { alpha: 1.0, ..light }).to_u8_array();
    [red, green, blue, opacity.round() as u8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_of_field_keeps_focal_plane_sharp() {
        // Both have an aspect ratio of 1.5.
        let perspective = Mat4::perspective_infinite_reverse_rh(0.7, 1.5, 0.1);
        let parallel = Mat4::orthographic_rh(-3.0, 3.0, -2.0, 2.0, 100.0, 0.1);
        let eye = GlobalTransform::from(Transform::from_xyz(1.0, 2.0, 3.0).looking_at(Vec3::ZERO, Vec3::Y));
        for clip_from_view in [perspective, parallel] {
            let (aperture, seen) = (Aperture::new(0.02, 5.0, clip_from_view), (clip_from_view, eye));
            let put = |(clip, eye): (Mat4, GlobalTransform), at: Vec3| {
                (clip * eye.to_matrix().inverse()).project_point3(eye_point(at, seen.1)).xy()
            };
            let moved = |at: Vec3| -> Vec<Vec2> {
                let places = (0..aperture.places()).map(|index| aperture.through(index, seen));
                places.map(|through| put(through, at) - put(seen, at)).collect()
            };
            assert!(moved(Vec3::new(0.4, -0.3, -5.0)).iter().all(|moved| moved.length() < 1e-4));
            // A point at twice the distance in a parallel view, or at the horizon. Image height spans -1 to 1.
            let far = if clip_from_view == parallel { -10.0 } else { -1e6 };
            let moved = moved(Vec3::new(0.0, 0.0, far)).into_iter().map(|moved| (moved * Vec2::new(1.5, 1.0)).length());
            let widest = moved.fold(0.0, f32::max);
            assert!((widest - 0.02).abs() < 0.0005, "half of it is {widest} of half the height");
        }
        let sharp = Aperture::new(0.0, 5.0, perspective);
        assert!(sharp.places() == 1 && sharp.through(0, (perspective, eye)) == (perspective, eye));
    }

    /// Returns the world position of a point in view space.
    fn eye_point(place: Vec3, eye: GlobalTransform) -> Vec3 {
        eye.to_matrix().transform_point3(place)
    }

    #[test]
    fn pixel_mean_is_computed_in_linear_light() {
        let light = light_of_bytes();
        for byte in 0..=255u8 {
            let sum = [64 * light[usize::from(byte)], 0, 64 * light[usize::from(byte)], 64 * u32::from(byte)];
            assert_eq!(mean(sum, 64), [byte, 0, byte, byte]);
        }
        // Half of the light of white.
        assert_eq!(mean([light[255] + light[0], 0, 0, 255], 2), [188, 0, 0, 128]);
    }
}
