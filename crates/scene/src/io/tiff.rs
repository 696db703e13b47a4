//! GeoTIFF: reads a band of numbers of any type, layout and lossless compression; writes 32-bit floats with GeoTIFF 1.1 tags (OGC
//! 19-008r4).

mod codec;
mod directory;
mod rows;

use std::{
    io::{self, ErrorKind},
    path::Path,
};

use tiff::{
    TiffError,
    encoder::{Compression, TiffEncoder, colortype::Gray32Float},
    tags::Tag,
};

use self::{
    directory::{Directory, TiffFile},
    rows::{BandRows, SampleFormat, TiffImage},
};
use super::{
    Error,
    colours::{EncodingDetector, asked_encoding, decode, recognition},
    description::{Description, appended},
    input::open,
    nodata, output,
    raster::{Purpose, Raster, RasterLayout, RasterMetadata, ReadConstraints, SENTINELS, SampleScale, no_channel},
};
use crate::model::{
    crs::{POINTS, RASTER_TYPE},
    origin::{Crs, Encoding, GeoKey, Georeference},
};
use thalweg_sim::core::grid::Grid;

/// Remedy for files of another kind.
const NEEDED: &str = "expected a TIFF with a band of elevations";
/// Tags: place, keys, and the properties that GDAL adds.
const SUBFILE_TYPE: u16 = 254;
const PIXEL_SCALE: u16 = 33550;
const TIE_POINTS: u16 = 33922;
const TRANSFORMATION: u16 = 34264;
const KEYS: u16 = 34735;
const KEY_NUMBERS: u16 = 34736;
const KEY_TEXT: u16 = 34737;
const METADATA: u16 = 42112;
const NODATA: u16 = 42113;
/// Bits of the subfile type: a smaller version of another image, and a mask.
const REDUCED: u64 = 1;
const MASK: u64 = 4;
/// Photometric interpretations: colours, indices of colours, and luminance with chrominance.
const RGB: u64 = 2;
const PALETTE: u64 = 3;
const YCBCR: u64 = 6;

/// Reads elevations from any numeric type. Cells without data (NODATA, NaN, masked or transparent) are filled from their nearest
/// neighbours with data.
///
/// # Errors
/// The file is not a TIFF, is damaged, truncated or not supported, its size is rejected, no cell has data, or a value is out of range.
pub(super) fn read(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    let bad = |error: io::Error| unusable(path, &error);
    let (file, directories) = directories(path)?;
    let flags = |directory: &Directory| directory.integer(&file, SUBFILE_TYPE).unwrap_or(0) & (REDUCED | MASK);
    let main = directories.iter().position(|directory| flags(directory) == 0).unwrap_or(0);
    let image = TiffImage::of(&directories[main], &file).map_err(bad)?;
    let size = expected.admit(path, image.width, image.height)?;
    let open = |path: &Path, directory: usize, band: usize| {
        let (file, directories) = self::directories(path)?;
        let image = directories.get(directory).ok_or(ErrorKind::InvalidData.into());
        let image = image.and_then(|directory| TiffImage::of(directory, &file));
        image.map(|image| BandRows::new(file, image, band)).map_err(|error| unusable(path, &error))
    };
    let mut warnings = Vec::new();
    let encoding = encoding(path, expected, &image, size, &mut warnings, |band| open(path, main, band))?;
    let band = if encoding.is_some() { 0 } else { band(path, expected, &image, &mut warnings)? };
    let bands = if encoding.is_some() { 0..3 } else { band..band + 1 };

    // Places of masks: path, index of the directory, and band.
    let (mut masks, mut mask_memory) = (Vec::new(), Vec::new());
    let alpha = image.extra.iter().position(|extra| matches!(extra, 1 | 2));
    let alpha = alpha.map(|at| image.samples.saturating_sub(image.extra.len()) + at);
    if let Some(alpha) = alpha.filter(|alpha| *alpha != band) {
        masks.push((path.to_owned(), main, alpha));
        mask_memory.push(image.memory());
    }
    let has_size = |directory: &Directory, file: &TiffFile| {
        [256, 257].map(|tag| directory.integer(file, tag)) == [Some(size.0 as u64), Some(size.1 as u64)]
    };
    let internal = directories.iter().position(|directory| flags(directory) == MASK && has_size(directory, &file));
    if let Some(at) = internal {
        masks.push((path.to_owned(), at, 0));
        mask_memory.push(TiffImage::of(&directories[at], &file).map_err(bad)?.memory());
    }
    let external = appended(path, ".msk");
    if external.is_file() {
        let (file, directories) = self::directories(&external)?;
        if !has_size(&directories[0], &file) {
            let right = format!("its mask must have {} × {} cells", size.0, size.1);
            return Err(Error::input(&external, "its size differs from that of the raster", right));
        }
        let mask = TiffImage::of(&directories[0], &file).map_err(|error| unusable(&external, &error))?;
        mask_memory.push(mask.memory());
        masks.push((external, 0, 0));
    }

    let samples = match (encoding, image.format) {
        (Some(Encoding::Terrarium | Encoding::Mapbox), _) | (_, SampleFormat::Float) => SampleScale::Floats,
        _ => SampleScale::Integers(image.limits()),
    };
    let values = image.memory().saturating_mul(bands.len() as u64);
    let layout = RasterLayout {
        description: describe(&directories[main], &file, band),
        band: band + 1,
        extra_bytes: mask_memory.into_iter().fold(values, u64::saturating_add),
        ..RasterLayout::new(size, samples, warnings)
    };
    expected.raster(path, layout, |rows| {
        let mut values = bands.clone().map(|band| open(path, main, band)).collect::<Result<Vec<_>, Error>>()?;
        let masks = masks.iter().map(|(path, directory, band)| Ok((path, open(path, *directory, *band)?)));
        let mut masks = masks.collect::<Result<Vec<_>, Error>>()?;
        let (mut row, mut valid, mut colours) = (vec![0.0; size.0], vec![0.0; size.0], Vec::new());
        for index in 0..size.1 {
            if let Some(encoding) = encoding {
                colour_row(&mut values, index, size.0, &mut colours).map_err(bad)?;
                let pixels = colours.chunks_exact(3);
                row.iter_mut().zip(pixels).for_each(|(cell, pixel)| *cell = decode(encoding, pixel));
            } else {
                values[0].read(index, &mut row, rows.omitted()).map_err(bad)?;
            }
            for (path, mask) in &mut masks {
                mask.read(index, &mut valid, 0.0).map_err(|error| unusable(path, &error))?;
                row.iter_mut().zip(&valid).filter(|(_, valid)| **valid == 0.0).for_each(|(cell, _)| *cell = f64::NAN);
            }
            rows.push(&row)?;
        }
        Ok(())
    })
}

/// Returns the encoding of heights in red, green and blue: that of the option, or one that is recognised; `None` if a band is to be read.
fn encoding(
    path: &Path,
    expected: &ReadConstraints,
    image: &TiffImage,
    size: (usize, usize),
    warnings: &mut Vec<String>,
    open: impl Fn(usize) -> Result<BandRows, Error>,
) -> Result<Option<Encoding>, Error> {
    let has_colours = image.samples > 2 && image.bits == 8 && image.format == SampleFormat::Unsigned;
    let asked = asked_encoding(path, expected, has_colours)?;
    let may_encode = has_colours && image.photometric == Some(RGB) && expected.options.channel.is_none();
    if asked.is_some() || !may_encode || matches!(expected.purpose, Purpose::Layer(_)) {
        return Ok(asked.filter(|_| has_colours));
    }
    expected.budget.request(path, image.memory().saturating_mul(3))?;
    let mut bands = (0..3).map(open).collect::<Result<Vec<_>, Error>>()?;
    let (mut detector, mut row) = (EncodingDetector::default(), Vec::new());
    for index in 0..size.1 {
        colour_row(&mut bands, index, size.0, &mut row).map_err(|error| unusable(path, &error))?;
        detector.push(&row, 3);
    }
    let encoding = detector.finish();
    warnings.extend(recognition(encoding));
    Ok(Some(encoding).filter(|encoding| *encoding != Encoding::Grey))
}

/// Reads a row of red, green and blue of 8 bits. Sparse pixels are black.
fn colour_row(bands: &mut [BandRows], index: usize, width: usize, row: &mut Vec<u16>) -> io::Result<()> {
    let mut values = vec![0.0; width];
    row.resize(3 * width, 0);
    for (channel, band) in bands.iter_mut().enumerate() {
        band.read(index, &mut values, 0.0)?;
        let samples = row.iter_mut().skip(channel).step_by(3);
        samples.zip(&values).for_each(|(sample, value)| *sample = *value as u16);
    }
    Ok(())
}

/// Opens a TIFF and reads its directories.
fn directories(path: &Path) -> Result<(TiffFile, Vec<Directory>), Error> {
    let read = |error: io::Error| unusable(path, &error);
    let (mut file, first) = TiffFile::new(open(path)?).map_err(read)?;
    let directories = file.directories(first).map_err(read)?;
    Ok((file, directories))
}

/// Returns the index of the band to read: the first one, or that of the option.
fn band(
    path: &Path,
    expected: &ReadConstraints,
    image: &TiffImage,
    warnings: &mut Vec<String>,
) -> Result<usize, Error> {
    let count = image.samples;
    if let Some(name) = &expected.options.channel {
        let number = name.trim().parse::<usize>().ok().filter(|number| (1..=count).contains(number));
        return number.map(|number| number - 1).ok_or_else(|| no_channel(path, "band", name, count as u64));
    }
    let colours = if matches!(image.photometric, Some(RGB | YCBCR)) { " as colours" } else { "" };
    let opaque = count - image.extra.iter().filter(|extra| matches!(extra, 1 | 2)).count().min(count - 1);
    if opaque > 1 {
        warnings.push(format!("{opaque} bands{colours}; heights are read from band 1; choose another with --channel"));
    }
    if image.photometric == Some(PALETTE) {
        warnings.push("paletted image: palette indices are read as heights".to_owned());
    }
    Ok(0)
}

/// Returns the properties that the tags of a directory state about a band.
fn describe(directory: &Directory, file: &TiffFile, band: usize) -> Description {
    let numbers = |tag| directory.numbers(file, tag);
    let text = String::from_utf8_lossy(directory.bytes(KEY_TEXT)).into_owned();
    let codes: Vec<u16> = directory.integers(file, KEYS).into_iter().map(|code| code as u16).collect();
    let keys = Crs::of_keys(&codes, &numbers(KEY_NUMBERS), &text);
    // Of a raster of points, the place refers to the centre of a pixel.
    let half = if Crs::code(&keys, RASTER_TYPE) == Some(POINTS) { 0.5 } else { 0.0 };
    let (scale, points, matrix) = (numbers(PIXEL_SCALE), numbers(TIE_POINTS), numbers(TRANSFORMATION));
    let (points, _) = points.as_chunks::<6>();
    let mut described = Description { unit_size: Crs::vertical_of_keys(&keys), ..Description::default() };
    let mut corner = |[x, wide, shear_x, y, shear_y, tall]: [f64; 6]| {
        let (x, y) = (x - half * (wide + shear_x), y - half * (shear_y + tall));
        described.affine = Some([x, wide, shear_x, y, shear_y, tall]);
    };
    if let &[wide, tall, ..] = &scale[..]
        && wide != 0.0
        && tall != 0.0
    {
        // As GDAL does, a negative scale is read as a mistaken sign.
        let (wide, tall) = (wide.abs(), tall.abs());
        let &[column, row, _, x, y, _] = points.first().unwrap_or(&[0.0; 6]);
        corner([x - column * wide, wide, 0.0, y + row * tall, 0.0, -tall]);
    } else if let &[a, b, _, d, e, f, _, h, ..] = &matrix[..] {
        corner([d, a, b, h, e, f]);
    } else {
        described.control_points =
            points.iter().map(|&[column, row, _, x, y, _]| [column + half, row + half, x, y]).collect();
    }
    described.crs = Crs::of_geo_keys(keys);
    described.nodata = Some(directory.text(NODATA)).filter(|text| !text.is_empty());
    described.add_metadata(&directory.text(METADATA), band);
    described
}

fn unusable(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => Error::input(path, "truncated", NEEDED),
        ErrorKind::Unsupported => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let right =
                format!("convert it to floats first, e.g. `gdal_translate -b 1 -ot Float32 {name} heights.tif`");
            Error::input(path, format!("{error} not supported"), right)
        }
        ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::Other | ErrorKind::OutOfMemory => {
            Error::input(path, format!("not a complete TIFF ({error})"), NEEDED)
        }
        _ => Error::unreadable(path, error),
    }
}

/// Writes a grid bit-exactly with its georeference, or local coordinates in metres. Cells without data get the value of `GDAL_NODATA`.
///
/// # Errors
/// The file cannot be written.
pub fn write_tiff(path: &Path, grid: &Grid, place: RasterMetadata<'_>) -> Result<(), Error> {
    let (width, height) = (grid.width(), grid.height());
    let Georeference { west, north, width: wide, height: tall, crs } = place.extent(width, height);
    // Text of a GeoTIFF is ASCII, and its length a number of 16 bits.
    let writable = |(key, value): (u16, GeoKey)| match value {
        GeoKey::Text(text) => {
            let text = text.replace(|letter: char| !letter.is_ascii(), "?");
            (text.len() < usize::from(u16::MAX) / 4).then_some((key, GeoKey::Text(text)))
        }
        value => Some((key, value)),
    };
    let keys: Vec<_> = crs.keys().into_iter().filter_map(writable).collect();
    // Each entry is a key, tag location (0: none), number of values, and value or index.
    let (mut numbers, mut text) = (Vec::<f64>::new(), String::new());
    let mut directory = vec![1, 1, 0, keys.len() as u16];
    for (key, value) in &keys {
        directory.extend(match value {
            GeoKey::Code(code) => [*key, 0, 1, *code],
            GeoKey::Numbers(values) => {
                let entry = [*key, KEY_NUMBERS, values.len() as u16, numbers.len() as u16];
                numbers.extend(values);
                entry
            }
            GeoKey::Text(value) => {
                let entry = [*key, KEY_TEXT, value.len() as u16 + 1, text.len() as u16];
                text.extend([value, "|"]);
                entry
            }
        });
    }
    output::create(path, |file| -> Result<(), TiffError> {
        let mut encoder = TiffEncoder::new(file)?.with_compression(Compression::Uncompressed);
        let mut image = encoder.new_image::<Gray32Float>(width as u32, height as u32)?;
        let tags = image.encoder();
        tags.write_tag(Tag::ModelPixelScaleTag, &[wide / width as f64, tall / height as f64, 0.0][..])?;
        tags.write_tag(Tag::ModelTiepointTag, &[0.0, 0.0, 0.0, west, north, 0.0][..])?;
        tags.write_tag(Tag::GeoKeyDirectoryTag, &directory[..])?;
        if !numbers.is_empty() {
            tags.write_tag(Tag::GeoDoubleParamsTag, &numbers[..])?;
        }
        if !text.is_empty() {
            tags.write_tag(Tag::GeoAsciiParamsTag, &*text)?;
        }
        // A height that usually marks cells without data needs another mark, so that it is read as a height.
        let is_sentinel = |cell: &f32| SENTINELS.contains(&f64::from(*cell));
        let none = || grid.iter().any(is_sentinel).then(|| Grid::filled(width, height, 0.0));
        let Some(nodata) = place.nodata.cloned().or_else(none) else { return image.write_data(grid) };
        let value = nodata::unused_value(grid);
        tags.write_tag(Tag::GdalNodata, &*value.to_string())?;
        let cells = grid.iter().zip(nodata.iter());
        let cells: Vec<f32> = cells.map(|(cell, nodata)| if *nodata > 0.0 { value as f32 } else { *cell }).collect();
        image.write_data(&cells)
    })
}

#[cfg(test)]
mod tests;
