//! The lens through which pictures that are saved are seen: what is nearer or farther than their middle is blurred.
//!
//! The mean of pictures seen through places of the lens is the picture that the whole lens makes. It is a mean of light, not of bytes.

use bevy::prelude::*;
use rayon::prelude::*;

/// Places of a lens through which a picture is seen.
const PLACES: usize = 64;
/// From place to place on a spiral, in radians.
const GOLDEN_ANGLE: f32 = 2.399_963;
/// Light of the brightest byte.
const BRIGHTEST: f32 = 65_535.0;
/// Place of the opacity in a pixel.
const OPACITY: usize = 3;

/// A round lens. What lies as far away as the middle of the picture is sharp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Aperture {
    /// Half its width, and how far away all is sharp, in world units.
    radius: f32,
    sharp: f32,
}

impl Aperture {
    /// One through which a far point is as wide as this share of the picture's height.
    pub(super) fn new(blur: f32, sharp: f32, clip_from_view: Mat4) -> Self {
        let depth = clip_from_view.project_point3(Vec3::new(0.0, 0.0, -sharp)).z;
        let half_height = clip_from_view.inverse().project_point3(Vec3::new(0.0, 1.0, depth)).y;
        Self { radius: blur * half_height, sharp }
    }

    /// How many of its places a part is seen through.
    pub(super) fn places(self) -> usize {
        if self.radius > 0.0 { PLACES } else { 1 }
    }

    /// What is seen through one of its places.
    pub(super) fn through(
        self,
        index: usize,
        (clip_from_view, eye): (Mat4, GlobalTransform),
    ) -> (Mat4, GlobalTransform) {
        // On a spiral that leaves no part of the lens empty.
        let away = self.radius * ((index as f32 + 0.5) / self.places() as f32).sqrt();
        let place = away * Vec2::from_angle(index as f32 * GOLDEN_ANGLE);
        // What is sharp stays where it is in the picture.
        let mut slant = Mat4::IDENTITY;
        slant.z_axis = (-place / self.sharp).extend(1.0).extend(0.0);
        (clip_from_view * slant, eye * Transform::from_translation(place.extend(0.0)))
    }
}

/// The light of several pictures of the same size, added up.
#[derive(Default)]
pub(super) struct Exposure(Vec<[u32; 4]>);

impl Exposure {
    /// Adds a picture, given by its rows of red, green, blue and opacity.
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

    /// The mean of so many pictures that were added, row by row. Nothing is left.
    pub(super) fn take_mean(&mut self, count: usize) -> Vec<[u8; 4]> {
        std::mem::take(&mut self.0).into_par_iter().map(|light| mean(light, count)).collect()
    }
}

/// The light of each byte of a colour, in whole numbers, as sums must not depend on their order.
fn light_of_bytes() -> [u32; 256] {
    std::array::from_fn(|byte| {
        let light = LinearRgba::from(Srgba::rgb_u8(byte as u8, 0, 0)).red;
        (light * BRIGHTEST).round() as u32
    })
}

/// The pixel whose light is the mean of so many, of which the sum is given.
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
    fn a_lens_keeps_what_is_as_far_away_as_the_middle_where_it_is_and_blurs_the_rest() {
        // Both are one and a half times as wide as high.
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
            // A point twice as far away in a parallel view, or at the horizon: from -1 to 1 is the picture's height.
            let far = if clip_from_view == parallel { -10.0 } else { -1e6 };
            let moved = moved(Vec3::new(0.0, 0.0, far)).into_iter().map(|moved| (moved * Vec2::new(1.5, 1.0)).length());
            let widest = moved.fold(0.0, f32::max);
            assert!((widest - 0.02).abs() < 0.0005, "half of it is {widest} of half the height");
        }
        let sharp = Aperture::new(0.0, 5.0, perspective);
        assert!(sharp.places() == 1 && sharp.through(0, (perspective, eye)) == (perspective, eye));
    }

    /// A place that lies so before an eye, in the world.
    fn eye_point(place: Vec3, eye: GlobalTransform) -> Vec3 {
        eye.to_matrix().transform_point3(place)
    }

    #[test]
    fn the_mean_of_pixels_is_that_of_their_light() {
        let light = light_of_bytes();
        for byte in 0..=255u8 {
            let sum = [64 * light[usize::from(byte)], 0, 64 * light[usize::from(byte)], 64 * u32::from(byte)];
            assert_eq!(mean(sum, 64), [byte, 0, byte, byte]);
        }
        // Half of the light of white.
        assert_eq!(mean([light[255] + light[0], 0, 0, 255], 2), [188, 0, 0, 128]);
    }
}
