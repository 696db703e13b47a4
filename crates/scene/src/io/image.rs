//! Images of other formats as heights: JPEG, TGA, BMP, PGM (and PPM, PAM) and WebP.

use std::{
    io::{ErrorKind, Read},
    path::Path,
};

use image::{ColorType, ImageFormat, ImageReader, Limits};

use super::{
    Error,
    colours::{PixelLayout, TakeRow, read_pixels},
    input::open,
    jpeg,
    raster::{Raster, ReadConstraints},
};

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
    let bad = |error: image::ImageError| {
        let (wrong, right) = match error {
            image::ImageError::IoError(cause) if cause.kind() != ErrorKind::UnexpectedEof => {
                return Error::unreadable(path, &cause);
            }
            image::ImageError::IoError(_) => ("truncated".to_owned(), "expected a complete image"),
            image::ImageError::Unsupported(_) => {
                ("this variant of the format is not supported".to_owned(), "save it as a 16-bit greyscale PNG")
            }
            error => (format!("not a complete image ({error})"), "expected a greyscale image"),
        };
        Error::input(path, wrong, right)
    };
    if format == ImageFormat::Jpeg && !jpeg::is_complete(open(path)?.bytes().map_while(Result::ok)) {
        return Err(Error::input(path, "not a JPEG image, or truncated", "expected a complete image"));
    }
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
    let (channels, is_wide, mut samples): (usize, bool, Vec<u16>) = match decoded.color() {
        ColorType::L8 => (1, false, widened(decoded.as_bytes())),
        ColorType::La8 => (2, false, widened(decoded.as_bytes())),
        ColorType::Rgb8 => (3, false, widened(decoded.as_bytes())),
        ColorType::Rgba8 => (4, false, widened(decoded.as_bytes())),
        ColorType::L16 => (1, true, decoded.into_luma16().into_raw()),
        ColorType::La16 => (2, true, decoded.into_luma_alpha16().into_raw()),
        ColorType::Rgba16 => (4, true, decoded.into_rgba16().into_raw()),
        _ => (3, true, decoded.into_rgb16().into_raw()),
    };
    // Many programs leave the opacity of TGA and BMP at zero.
    let is_unused = channels.is_multiple_of(2) && samples.chunks_exact(channels).all(|pixel| pixel.last() == Some(&0));
    if is_unused {
        samples.iter_mut().skip(channels - 1).step_by(channels).for_each(|opacity| *opacity = u16::MAX);
    }
    let rows = |take: &mut TakeRow| samples.chunks_exact(size.0 * channels).try_for_each(take);
    let mut raster = read_pixels(path, expected, size, PixelLayout { channels, is_wide }, 0, rows)?;
    if is_unused {
        raster.warnings.push("all pixels are transparent; opacity is ignored".to_owned());
    }
    Ok(raster)
}

fn widened(bytes: &[u8]) -> Vec<u16> {
    bytes.iter().map(|byte| u16::from(*byte)).collect()
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, GrayImage, RgbaImage};

    use super::*;

    fn read_image(image: impl Into<DynamicImage>, format: ImageFormat, cut: usize) -> Result<Raster, Error> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("map");
        image.into().save_with_format(&path, format).expect("it is writable");
        let bytes = std::fs::read(&path).expect("it was just written");
        std::fs::write(&path, &bytes[..bytes.len().saturating_sub(cut)]).expect("it is writable");
        read(&path, &ReadConstraints::ranged(255.0), format)
    }

    #[test]
    fn a_truncated_jpeg_is_refused() {
        let hills = || GrayImage::from_fn(64, 64, |x, y| image::Luma([(x * 3 + y) as u8]));
        assert!(read_image(hills(), ImageFormat::Jpeg, 0).is_ok());
        for cut in [1, 2, 100, usize::MAX] {
            let error = read_image(hills(), ImageFormat::Jpeg, cut).expect_err("it is cut off").to_string();
            assert!(error.contains("not a JPEG image, or truncated"), "{error}");
        }
    }

    #[test]
    fn transparent_pixels_have_no_data_unless_all_are_transparent() {
        let with = |opacity: fn(u32) -> u8| RgbaImage::from_fn(5, 1, |x, _| image::Rgba([40, 40, 40, opacity(x)]));
        for format in [ImageFormat::WebP, ImageFormat::Tga] {
            let read = read_image(with(|x| if x == 3 { 0 } else { 9 }), format, 0);
            let nodata = read.unwrap_or_else(|error| panic!("{error}")).nodata.expect("a pixel is transparent");
            assert_eq!(nodata.to_vec(), [0.0, 0.0, 0.0, 1.0, 0.0]);
            let read = read_image(with(|_| 0), format, 0).unwrap_or_else(|error| panic!("{error}"));
            assert!(read.nodata.is_none() && (read.cells[0] - 40.0).abs() < 1e-3, "{:?}", read.warnings);
            assert!(read.warnings.iter().any(|warning| warning.contains("opacity is ignored")), "{:?}", read.warnings);
        }
    }
}
