//! The pixels of a picture.

use std::path::Path;

use super::{Error, JobProgress, exr::write_light, write_picture};

/// The pixels of a picture, rows from top to bottom.
#[derive(Clone, Debug, PartialEq)]
pub enum Pixels {
    /// Red, green, blue and perhaps opacity of each, as a screen shows them, from 0 to 255.
    Bytes(Vec<u8>),
    /// Light of each: red, green and blue, linear, with the primaries of sRGB, and opacity, with which they are multiplied. Light of 1 is
    /// the brightest that a screen shows without a tone curve.
    Light(Vec<[f32; 4]>),
}

impl Pixels {
    /// The ending of a file that holds them: `png` for bytes, `exr` for light.
    pub fn ending(&self) -> &'static str {
        match self {
            Self::Bytes(_) => "png",
            Self::Light(_) => "exr",
        }
    }

    /// Writes them as a file of that ending. Light is written as half floats, and with opacity only where something is transparent.
    ///
    /// # Errors
    /// There are not as many pixels as in so many columns and rows, or the file cannot be written.
    pub fn write(&self, path: &Path, size: (usize, usize), progress: &JobProgress) -> Result<(), Error> {
        match self {
            Self::Bytes(bytes) => write_picture(path, size, bytes, progress),
            Self::Light(light) => write_light(path, size, light, progress),
        }
    }
}
