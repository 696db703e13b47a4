//! Pixels of an image.

use std::path::Path;

use super::{Error, JobProgress, exr::write_light, write_picture};

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

    /// Writes the pixels in the format of [`ending`](Self::ending). Light is written as half floats, with alpha only if it is not opaque.
    ///
    /// # Errors
    /// The number of pixels does not match `size`, or the file cannot be written.
    pub fn write(&self, path: &Path, size: (usize, usize), progress: &JobProgress) -> Result<(), Error> {
        match self {
            Self::Bytes(bytes) => write_picture(path, size, bytes, progress),
            Self::Light(light) => write_light(path, size, light, progress),
        }
    }
}
