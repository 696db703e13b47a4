//! Images of other formats as heights: JPEG, TGA, BMP, PGM (and PPM, PAM) and WebP.

use std::path::Path;

use image::{ColorType, DynamicImage, ImageFormat, ImageReader, Limits};

use super::{
    Error,
    colours::{Recogniser, decode, samples_of, warnings_of},
    description::Description,
    input::open,
    raster::{Purpose, Raster, RasterLayout, ReadConstraints},
};
use crate::model::origin::Encoding;

/// Formats by extension.
pub(super) const FORMATS: [(&str, ImageFormat); 9] = [
    ("jpg", ImageFormat::Jpeg),
    ("jpeg", ImageFormat::Jpeg),
    ("tga", ImageFormat::Tga),
    ("bmp", ImageFormat::Bmp),
    ("pgm", ImageFormat::Pnm),
    ("ppm", ImageFormat::Pnm),
    ("pnm", ImageFormat::Pnm),
    ("pam", ImageFormat::Pnm),
    ("webp", ImageFormat::WebP),
];

/// Reads an image as heights: greyscale values, encoded heights, or the luminance of colours.
///
/// # Errors
/// The file is not an image of this format, is damaged or truncated, or its size is rejected.
pub(super) fn read(path: &Path, expected: &ReadConstraints, format: ImageFormat) -> Result<Raster, Error> {
    let bad = |error: image::ImageError| match error {
        image::ImageError::IoError(cause) if cause.kind() == std::io::ErrorKind::UnexpectedEof => {
            Error::input(path, "truncated", "expected a complete image")
        }
        error => Error::input(path, format!("not a complete image ({error})"), "expected a greyscale image"),
    };
    let reader = ImageReader::with_format(open(path)?, format);
    let (width, height) = reader.into_dimensions().map_err(bad)?;
    let size = expected.admit(path, width.into(), height.into())?;
    // The decoded image of up to four channels of 16 bits, and a copy.
    let bytes = u64::from(width) * u64::from(height) * 16;
    expected.budget.request(path, bytes)?;
    let mut reader = ImageReader::with_format(open(path)?, format);
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(2 * bytes + (1 << 20));
    reader.limits(limits);
    let decoded = reader.decode().map_err(bad)?;
    let (channels, is_wide, samples): (usize, bool, Vec<u16>) = match decoded.color() {
        ColorType::L8 => (1, false, widened(decoded.as_bytes())),
        ColorType::La8 => (2, false, widened(decoded.as_bytes())),
        ColorType::Rgb8 => (3, false, widened(decoded.as_bytes())),
        ColorType::Rgba8 => (4, false, widened(decoded.as_bytes())),
        ColorType::L16 => (1, true, decoded.into_luma16().into_raw()),
        _ => (3, true, DynamicImage::into_rgb16(decoded).into_raw()),
    };
    let asked = expected.options.encoding;
    let encoding = asked.unwrap_or_else(|| {
        let mut recogniser = Recogniser::default();
        // Layers are not heights.
        if channels > 2 && !is_wide && matches!(expected.purpose, Purpose::Heights) {
            for row in samples.chunks_exact(size.0 * channels) {
                let row: Vec<u8> = row.iter().map(|sample| *sample as u8).collect();
                recogniser.push(&row, channels);
            }
        }
        recogniser.finish()
    });
    let encoding = if channels > 2 { encoding } else { Encoding::Grey };
    let full = if is_wide { u16::MAX.into() } else { f64::from(u8::MAX) };
    let layout = RasterLayout {
        size,
        samples: samples_of(encoding, full),
        description: Description::default(),
        band: 1,
        besides: 0,
        warnings: warnings_of(encoding, channels, is_wide, asked.is_some()),
    };
    expected.raster(path, layout, |rows| {
        samples.chunks_exact(size.0 * channels).try_for_each(|row| {
            let value = |pixel: &[u16]| {
                let mut wide = [0.0; 4];
                wide.iter_mut().zip(pixel).for_each(|(wide, sample)| *wide = f64::from(*sample));
                decode(encoding, &wide[..channels])
            };
            let row: Vec<f64> = row.chunks_exact(channels).map(value).collect();
            rows.push(&row)
        })
    })
}

fn widened(bytes: &[u8]) -> Vec<u16> {
    bytes.iter().map(|byte| u16::from(*byte)).collect()
}
