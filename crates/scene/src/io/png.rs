//! PNG images: reads 16-bit (or 8-bit) heightmaps; writes heightmaps and colour images.

use std::{
    io::{BufRead, Cursor, ErrorKind, Seek, Write},
    path::Path,
};

use png::{
    BitDepth, ColorType, DecodeOptions, Decoder, DecodingError, Encoder, EncodingError, Reader, Transformations,
};

use super::{
    Error, JobProgress,
    colours::{self, PixelLayout},
    embedded,
    input::open,
    output,
    raster::{Raster, ReadConstraints, quantised},
};
use thalweg_sim::core::grid::Grid;

/// A file or embedded bytes.
trait BufReadSeek: BufRead + Seek {}

impl<T: BufRead + Seek> BufReadSeek for T {}

/// Decodes a built-in RGB image: width and height, and its pixels; `None` if it is not RGB.
pub fn decode_png_rgb8(bytes: &[u8]) -> Option<([usize; 2], Vec<u8>)> {
    let mut decoder = Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder.read_info().ok()?;
    let mut pixels = vec![0; reader.output_buffer_size()?];
    let info = reader.next_frame(&mut pixels).ok()?;
    (info.color_type == ColorType::Rgb).then_some(([info.width as usize, info.height as usize], pixels))
}

/// Open PNG file.
type FileReader = Reader<Box<dyn BufReadSeek>>;

fn decoder(path: &Path) -> Result<Decoder<Box<dyn BufReadSeek>>, Error> {
    let file: Box<dyn BufReadSeek> = match embedded::find(path) {
        Some(bytes) => Box::new(Cursor::new(bytes)),
        None => Box::new(open(path)?),
    };
    let mut options = DecodeOptions::default();
    options.set_ignore_checksums(false);
    options.set_skip_ancillary_crc_failures(false);
    options.set_ignore_text_chunk(true);
    options.set_ignore_iccp_chunk(true);
    let mut decoder = Decoder::new_with_options(file, options);
    // Palettes become RGB, and less than 8 bits become 8.
    decoder.set_transformations(Transformations::EXPAND);
    Ok(decoder)
}

/// Reads an image as heights: greyscale values, encoded heights, or the luminance of colours. Transparent pixels have no
/// data.
///
/// # Errors
/// The file is not a PNG, is damaged or truncated, or its size is rejected.
pub(super) fn read(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    let bad = |error: DecodingError| unusable(path, &error);
    let (width, height) = decoder(path)?.read_header_info().map_err(bad)?.size();
    let size = expected.admit(path, u64::from(width), u64::from(height))?;
    let reader = decoder(path)?.read_info().map_err(bad)?;
    let (color, depth) = reader.output_color_type();
    let (is_wide, channels) = (depth == BitDepth::Sixteen, color.samples());
    let line = size.0 * channels * if is_wide { 2 } else { 1 };
    let interlaced = reader.info().interlaced;
    let whole = if interlaced {
        reader.output_buffer_size().ok_or_else(|| unusable(path, &DecodingError::LimitsExceeded))?
    } else {
        0
    };
    let mut samples = vec![0; size.0 * channels];
    colours::read_pixels(path, expected, size, PixelLayout { channels, is_wide }, (whole + 6 * line) as u64, |take| {
        let reader = decoder(path)?.read_info().map_err(bad)?;
        lines(path, reader, size, line, |line| {
            let sample = |at: usize| match is_wide {
                true => u16::from_be_bytes([line[2 * at], line[2 * at + 1]]),
                false => line[at].into(),
            };
            samples.iter_mut().enumerate().for_each(|(at, value)| *value = sample(at));
            take(&samples)
        })
    })
}

/// Decodes all lines of `length` bytes and passes them on.
fn lines(
    path: &Path,
    mut reader: FileReader,
    size: (usize, usize),
    length: usize,
    mut take: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let bad = |error: DecodingError| unusable(path, &error);
    let part = || Error::input(path, "the first frame does not cover the image", "expected a still PNG");
    let mut take = |line: &[u8]| if line.len() == length { take(line) } else { Err(part()) };
    if reader.info().interlaced {
        // The last rows are complete only after the last of seven passes.
        let bytes = reader.output_buffer_size().ok_or_else(|| unusable(path, &DecodingError::LimitsExceeded))?;
        let mut pixels = vec![0; bytes];
        let frame = reader.next_frame(&mut pixels).map_err(bad)?;
        pixels.truncate(frame.buffer_size());
        pixels.chunks(frame.line_size).take(size.1).try_for_each(take)?;
    } else {
        for _ in 0..size.1 {
            take(reader.next_row().map_err(bad)?.ok_or_else(part)?.data())?;
        }
    }
    // Reads the checksums after the last row too.
    reader.finish().map_err(bad)
}

fn unusable(path: &Path, error: &DecodingError) -> Error {
    let wrong = match error {
        DecodingError::IoError(cause) if cause.kind() == ErrorKind::UnexpectedEof => "truncated".to_owned(),
        DecodingError::IoError(cause) => return Error::unreadable(path, cause),
        DecodingError::LimitsExceeded => "too large to be decoded".to_owned(),
        DecodingError::Format(_) | DecodingError::Parameter(_) => "damaged, or not a PNG image".to_owned(),
    };
    Error::input(path, wrong, "expected a 16-bit greyscale PNG")
}

/// Pixel format.
type Pixel = (ColorType, BitDepth);

const GREY_8: Pixel = (ColorType::Grayscale, BitDepth::Eight);
const GREY_16: Pixel = (ColorType::Grayscale, BitDepth::Sixteen);
const RGB_8: Pixel = (ColorType::Rgb, BitDepth::Eight);
const RGBA_8: Pixel = (ColorType::Rgba, BitDepth::Eight);
const RGB_16: Pixel = (ColorType::Rgb, BitDepth::Sixteen);

/// Writes values as 16-bit greyscale, scaled from `range` to 0..=65535 and clamped.
///
/// # Errors
/// The file cannot be written.
pub fn write_png16(path: &Path, grid: &Grid, range: (f32, f32), progress: &JobProgress) -> Result<(), Error> {
    let bytes: Vec<u8> = quantised(grid, range, u16::MAX).flat_map(u16::to_be_bytes).collect();
    output::create(path, |file| encode(file, (grid.width(), grid.height()), GREY_16, &bytes, progress))
}

/// Writes values as 8-bit greyscale, scaled from `range` to 0..=255 and clamped.
///
/// # Errors
/// The file cannot be written.
pub fn write_png8(path: &Path, grid: &Grid, range: (f32, f32), progress: &JobProgress) -> Result<(), Error> {
    let bytes: Vec<u8> = quantised(grid, range, u8::MAX.into()).map(|step| step as u8).collect();
    output::create(path, |file| encode(file, (grid.width(), grid.height()), GREY_8, &bytes, progress))
}

/// Writes a 16-bit RGB image of data without a colour space.
///
/// # Errors
/// The file cannot be written, or the number of values is not `width * height * 3`.
pub(super) fn write_rgb16(
    path: &Path,
    size: (usize, usize),
    values: &[u16],
    progress: &JobProgress,
) -> Result<(), Error> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_be_bytes()).collect();
    output::create(path, |file| encode(file, size, RGB_16, &bytes, progress))
}

/// Writes an sRGB image of `size` (columns, rows), rows from top to bottom: RGB, or RGBA if there are four bytes per pixel.
///
/// # Errors
/// The file cannot be written, or the number of bytes is not `width * height * 3` or `* 4`.
pub fn write_png_rgb8(path: &Path, size: (usize, usize), pixels: &[u8], progress: &JobProgress) -> Result<(), Error> {
    let pixel = if pixels.len() == 4 * size.0 * size.1 { RGBA_8 } else { RGB_8 };
    output::create(path, |file| encode(file, size, pixel, pixels, progress))
}

/// Encodes an RGB image that becomes part of the file at `path`.
///
/// # Errors
/// The number of bytes is not `width * height * 3`.
pub(super) fn rgb8_bytes(path: &Path, size: (usize, usize), pixels: &[u8]) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let encoded = encode(&mut bytes, size, RGB_8, pixels, &JobProgress::default());
    encoded.map(|()| bytes).map_err(|error| Error::unwritable(path, &error))
}

fn encode(
    file: impl Write,
    (width, height): (usize, usize),
    pixel: Pixel,
    bytes: &[u8],
    progress: &JobProgress,
) -> Result<(), EncodingError> {
    let mut encoder = Encoder::new(file, width as u32, height as u32);
    encoder.set_color(pixel.0);
    encoder.set_depth(pixel.1);
    if pixel == RGB_8 || pixel == RGBA_8 {
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
    }
    let mut writer = encoder.write_header()?;
    let mut stream = writer.stream_writer()?;
    for (row, line) in bytes.chunks((bytes.len() / height.max(1)).max(1)).enumerate() {
        stream.write_all(line)?;
        progress.done(row, height);
    }
    stream.finish()?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn path() -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.png");
        (folder, path)
    }

    #[test]
    fn png16_round_trips_within_half_a_step() {
        let (_folder, path) = path();
        let grid = Grid::from_fn(31, 17, |x, y| (x as f32 * 7.7 + y as f32 * 1.3).sin() * 200.0);
        let (min, max) = grid.min_max();
        write_png16(&path, &grid, (min, max), &JobProgress::default()).expect("it is writable");
        let read = read(&path, &ReadConstraints::ranged(65535.0)).expect("it was just written");
        assert_eq!(read.warnings.len(), 1);
        for (before, step) in grid.iter().zip(read.cells.iter()) {
            let after = f64::from(min) + f64::from(*step) * f64::from(max - min) / 65535.0;
            assert!((f64::from(*before) - after).abs() <= 0.5 / 65535.0 * f64::from(max - min) * 1.001);
        }
    }

    #[test]
    fn flat_map_is_written_as_zeros() {
        let (_folder, path) = path();
        write_png16(&path, &Grid::filled(3, 2, 5.0), (5.0, 5.0), &JobProgress::default()).expect("it is writable");
        assert_eq!(
            read(&path, &ReadConstraints::ranged(9.0)).expect("it was just written").cells,
            Grid::filled(3, 2, 0.0)
        );
    }

    #[test]
    fn rgb8_png_is_read_by_luminance_with_warnings() {
        let (_folder, path) = path();
        write_png_rgb8(&path, (2, 1), &[255, 255, 255, 0, 255, 0], &JobProgress::default()).expect("it is writable");
        let read = read(&path, &ReadConstraints::ranged(255.0)).expect("it was just written");
        assert_eq!(read.warnings.len(), 3);
        assert!((read.cells[0] - 255.0).abs() < 0.01 && (read.cells[1] - 0.7152 * 255.0).abs() < 0.01);
    }

    #[test]
    fn transparent_png_pixels_are_nodata() {
        let (_folder, path) = path();
        let put = |color: ColorType, transparent: Option<Vec<u8>>, bytes: &[u8]| {
            let mut encoder = Encoder::new(File::create(&path).expect("it is writable"), 3, 1);
            encoder.set_color(color);
            encoder.set_depth(BitDepth::Sixteen);
            transparent.into_iter().for_each(|sample| encoder.set_trns(sample));
            let mut writer = encoder.write_header().expect("it is writable");
            writer.write_image_data(bytes).expect("it is writable");
            writer.finish().expect("it is writable");
            let read = read(&path, &ReadConstraints::ranged(65535.0)).unwrap_or_else(|error| panic!("{error}"));
            (read.cells.to_vec(), read.nodata.map(|nodata| nodata.to_vec()))
        };
        let wanted = (vec![513.0, 513.0, 513.0], Some(vec![0.0, 1.0, 0.0]));
        assert_eq!(put(ColorType::GrayscaleAlpha, None, &[2, 1, 0, 1, 7, 7, 0, 0, 2, 1, 255, 0]), wanted);
        assert_eq!(put(ColorType::Grayscale, Some(vec![7, 7]), &[2, 1, 7, 7, 2, 1]), wanted);
    }

    #[test]
    fn encoding_requires_8_bit_colours() {
        let (_folder, path) = path();
        write_png16(&path, &Grid::filled(3, 2, 5.0), (0.0, 9.0), &JobProgress::default()).expect("it is writable");
        let mut expected = ReadConstraints::anything();
        expected.options.encoding = Some(crate::model::origin::Encoding::Mapbox);
        let error = read(&path, &expected).expect_err("it is grey").to_string();
        assert!(
            error.contains("encoded heights require 8-bit red, green and blue channels; omit --encoding"),
            "{error}"
        );
        std::fs::write(&path, "no image").expect("it is writable");
        let error = read(&path, &expected).expect_err("it is no image").to_string();
        assert!(error.ends_with("damaged, or not a PNG image; expected a 16-bit greyscale PNG"), "{error}");
    }

    #[test]
    fn wrong_pixel_count_fails_to_write() {
        let (_folder, path) = path();
        assert_eq!(
            write_png_rgb8(&path, (2, 2), &[0; 7], &JobProgress::default()).expect_err("12 are needed").exit_code(),
            1
        );
    }

    #[test]
    fn oversized_png_is_rejected_from_its_header() {
        let (_folder, path) = path();
        // Written without pixels: reading past the header would report a truncated file.
        let file = File::create(&path).expect("it is writable");
        let mut encoder = Encoder::new(file, 20_000, 20_000);
        encoder.set_depth(BitDepth::Sixteen);
        drop(encoder.write_header().expect("it is writable"));
        let error = read(&path, &ReadConstraints::sized(Some((64, 64)))).expect_err("too large").to_string();
        assert!(error.contains("20000 × 20000 cells; at most 16384"), "{error}");
    }

    #[test]
    fn png_chunk_checksum_mismatch_is_detected() {
        let (_folder, path) = path();
        let grid = Grid::from_fn(31, 17, |x, y| (x * 3 + y * 7) as f32);
        write_png16(&path, &grid, grid.min_max(), &JobProgress::default()).expect("it is writable");
        let sound = std::fs::read(&path).expect("it was just written");
        let mut begin = 8;
        let mut kinds = Vec::new();
        while begin < sound.len() {
            let length = u32::from_be_bytes(sound[begin..begin + 4].try_into().expect("four bytes")) as usize;
            let (kind, end) = (sound[begin + 4..begin + 8].to_vec(), begin + 8 + length);
            let mut bytes = sound.clone();
            bytes[end] ^= 1;
            std::fs::write(&path, bytes).expect("it is writable");
            assert!(read(&path, &ReadConstraints::anything()).is_err(), "{}", String::from_utf8_lossy(&kind));
            kinds.push(kind);
            begin = end + 4;
        }
        assert!(kinds.len() >= 3 && kinds.last().is_some_and(|kind| kind == b"IEND"), "{kinds:?}");
    }
}
