//! Pixels of an image.

use std::path::Path;

use super::{Error, JobProgress, exr::write_light, write_png_rgb8};

/// Pixels of an image, rows from top to bottom.
#[derive(Clone, Debug, PartialEq)]
pub enum ImagePixels {
    /// Display-referred RGB or RGBA, 8 bits per channel.
    Bytes(Vec<u8>),
    /// Linear scene-referred RGBA with sRGB primaries and premultiplied alpha. A value of 1 is display white without tone mapping.
    Light(Vec<[f32; 4]>),
}

impl ImagePixels {
    /// Returns the file extension for these pixels: `png` for bytes, `exr` for light.
    pub fn ending(&self) -> &'static str {
        match self {
            Self::Bytes(_) => "png",
            Self::Light(_) => "exr",
        }
    }

    /// Returns darker pixels: at 0 they are black, and 1 keeps their brightness. Light and bytes look the same.
    pub fn with_brightness(self, factor: f32) -> Self {
        match self {
            Self::Bytes(bytes) => {
                Self::Bytes(bytes.iter().map(|part| (f32::from(*part) * factor).round() as u8).collect())
            }
            Self::Light(light) => {
                // The factor applies to display values.
                let factor = decode_srgb(factor);
                Self::Light(light.iter().map(|[r, g, b, a]| [r * factor, g * factor, b * factor, *a]).collect())
            }
        }
    }

    /// Creates opaque pixels from RGB bytes: in linear light if `is_light`.
    pub fn of_bytes(bytes: Vec<u8>, is_light: bool) -> Self {
        if !is_light {
            return Self::Bytes(bytes);
        }
        let light = |part: u8| decode_srgb(f32::from(part) / 255.0);
        Self::Light(
            bytes.chunks_exact(3).map(|pixel| [light(pixel[0]), light(pixel[1]), light(pixel[2]), 1.0]).collect(),
        )
    }

    /// Writes the pixels in the format of [`ending`](Self::ending). Light is written as half floats, with alpha only if it is not opaque.
    ///
    /// # Errors
    /// The number of pixels does not match `size`, or the file cannot be written.
    pub fn write(&self, path: &Path, size: (usize, usize), progress: &JobProgress) -> Result<(), Error> {
        match self {
            Self::Bytes(bytes) => write_png_rgb8(path, size, bytes, progress),
            Self::Light(light) => write_light(path, size, light, progress),
        }
    }
}

/// Converts a display value from 0 to 1 to linear light (IEC 61966-2-1).
fn decode_srgb(value: f32) -> f32 {
    if value <= 0.04045 { value / 12.92 } else { libm::powf((value + 0.055) / 1.055, 2.4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_and_bytes_fade_alike() {
        let bytes = vec![0, 128, 255];
        let faded = ImagePixels::of_bytes(bytes.clone(), false).with_brightness(0.5);
        assert_eq!(faded, ImagePixels::Bytes(vec![0, 64, 128]));
        let ImagePixels::Light(light) = ImagePixels::of_bytes(bytes.clone(), true).with_brightness(0.5) else {
            panic!("it is light")
        };
        let [_, middle, white, alpha] = light[0];
        assert!(
            (white - decode_srgb(0.5)).abs() < 1e-6 && (middle - 0.2159 * white).abs() < 1e-3 && alpha == 1.0,
            "{light:?}"
        );
        assert_eq!(ImagePixels::of_bytes(bytes.clone(), false).with_brightness(1.0), ImagePixels::Bytes(bytes.clone()));
        assert_eq!(ImagePixels::Bytes(bytes).with_brightness(0.0), ImagePixels::Bytes(vec![0; 3]));
    }
}
