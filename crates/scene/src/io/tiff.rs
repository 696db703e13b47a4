//! (Geo)TIFF: reads single-band numeric rasters; writes 32-bit floats with GeoTIFF 1.1 tags (OGC 19-008r4).

use std::{fs::File, io::BufReader, path::Path};

use tiff::{
    ColorType, TiffError,
    decoder::{Decoder, DecodingResult, Limits},
    encoder::{Compression, TiffEncoder, colortype::Gray32Float},
    tags::Tag,
};

use super::{
    Error,
    input::open,
    nodata, output,
    raster::{CellSize, Raster, RasterMetadata, RasterRows, ReadConstraints},
};
use crate::model::origin::Georeference;
use thalweg_sim::core::{bounds::CELL_SIZE, grid::Grid};

/// GeoKeys: model type, raster type (pixel is area or point), geodetic CRS and linear unit.
const MODEL_TYPE: u16 = 1024;
const RASTER_TYPE: u16 = 1025;
const GEODETIC_CRS: u16 = 2048;
const LINEAR_UNITS: u16 = 3076;
/// GeoKey values: unspecified projected coordinates in metres, geographic coordinates in degrees, areas, points.
const PROJECTED: u16 = 1;
const GEOGRAPHIC: u16 = 2;
const AREAS: u16 = 1;
const POINTS: u16 = 2;
const WGS_84: u16 = 4326;
const METRES: u16 = 9001;
/// Remedy for files of another kind.
const NEEDED: &str = "expected a single-band TIFF with elevations in metres";

type Reader = Decoder<BufReader<File>>;

/// Reads elevations in metres from any numeric type. NODATA and NaN cells are filled from their nearest neighbours with data.
///
/// # Errors
/// The file is not a TIFF, is damaged, truncated or multi-band, its size is rejected, no cell has data, or a value is out of range.
pub(super) fn read(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    let bad = |error: TiffError| unusable(path, &error);
    let mut file: Reader = Decoder::new(open(path)?).map_err(bad)?;
    let (width, height) = file.dimensions().map_err(bad)?;
    let size = expected.admit(path, width.into(), height.into())?;
    let bits = match file.colortype().map_err(bad)? {
        ColorType::Gray(bits @ 8..) => usize::from(bits),
        _ => return Err(Error::input(path, "multiple bands or colour channels", NEEDED)),
    };
    let (cell, geo, mut warnings) = place(&mut file, size);
    let cell_size = cell.map(|cell| CellSize::of(cell, geo));
    if let Some(size) = &cell_size {
        CELL_SIZE.check("the pixel scale in metres", size.metres).map_err(|unfit| Error::unfit(path, unfit))?;
    }
    geo.map_or(Ok(()), |geo| geo.check()).map_err(|unfit| Error::unfit(path, unfit))?;

    let text = file.get_tag_ascii_string(Tag::GdalNodata).unwrap_or_default();
    let text = text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\0');
    let nodata = text.parse::<f64>().map_or(f32::NAN, |number| number as f32);
    let (chunk_width, chunk_height) = file.chunk_dimensions();
    let chunk = (chunk_width as usize, (chunk_height as usize).min(size.1));
    // A chunk as stored and decompressed, and a band of chunks as numbers.
    let bytes = chunk.0.min(size.0) * chunk.1 * bits / 8;
    let band = size.0 * chunk.1 * size_of::<f32>();
    let mut limits = Limits::default();
    limits.decoding_buffer_size = limits.decoding_buffer_size.max(bytes);
    let mut file = file.with_limits(limits);
    let besides = (2 * bytes + 2 * band) as u64;
    let raster = nodata::filled(path, expected, size, besides, &nodata.to_string(), |rows| {
        cells(&mut file, path, chunk, nodata, rows)
    })?;
    warnings.extend(raster.warnings);
    Ok(Raster { cell_size, geo, warnings, ..raster })
}

/// Reads the values, with NaN for NODATA.
fn cells(
    file: &mut Reader,
    path: &Path,
    chunk: (usize, usize),
    nodata: f32,
    mut rows: RasterRows<'_>,
) -> Result<Raster, Error> {
    let bad = |error: TiffError| unusable(path, &error);
    let (width, height) = rows.size;
    let across = width.div_ceil(chunk.0);
    let mut band = vec![0.0; width * chunk.1];
    for (down, first) in (0..height).step_by(chunk.1).enumerate() {
        for column in 0..across {
            let index = (down * across + column) as u32;
            let (columns, _) = file.chunk_data_dimensions(index);
            let values = numbers(file.read_chunk(index).map_err(bad)?);
            for (line, place) in values.chunks(columns as usize).zip(band.chunks_mut(width)) {
                place[column * chunk.0..][..line.len()].copy_from_slice(line);
            }
        }
        band.iter_mut().filter(|value| **value == nodata).for_each(|value| *value = f32::NAN);
        band.chunks(width).take(height - first).try_for_each(|row| rows.push_with_nodata(row))?;
    }
    rows.finish()
}

fn numbers(values: DecodingResult) -> Vec<f32> {
    use DecodingResult as Of;
    macro_rules! cast {
        ($values:expr) => {
            $values.into_iter().map(|value| value as f32).collect()
        };
    }
    match values {
        Of::U8(values) => cast!(values),
        Of::U16(values) => cast!(values),
        Of::U32(values) => cast!(values),
        Of::U64(values) => cast!(values),
        Of::I8(values) => cast!(values),
        Of::I16(values) => cast!(values),
        Of::I32(values) => cast!(values),
        Of::I64(values) => cast!(values),
        Of::F16(values) => values.into_iter().map(|value| value.to_f32()).collect(),
        Of::F32(values) => values,
        Of::F64(values) => cast!(values),
    }
}

/// Reads the cell size, the georeference and warnings about them. An origin of exactly (0, 0) in metres denotes local coordinates.
fn place(file: &mut Reader, (columns, rows): (usize, usize)) -> (Option<[f64; 2]>, Option<Georeference>, Vec<String>) {
    let mut numbers = |tag| file.get_tag_f64_vec(tag).unwrap_or_default();
    let (scale, tiepoint) = (numbers(Tag::ModelPixelScaleTag), numbers(Tag::ModelTiepointTag));
    let directory = file.get_tag_u16_vec(Tag::GeoKeyDirectoryTag).unwrap_or_default();
    let (entries, _) = directory.get(4..).unwrap_or_default().as_chunks();
    // Values stored in another tag are not integers.
    let key =
        |wanted: u16| entries.iter().find_map(|&[key, tag, _, value]| (key == wanted && tag == 0).then_some(value));
    let &[wide, tall, ..] = &scale[..] else { return (None, None, Vec::new()) };
    if !(wide > 0.0 && tall > 0.0) {
        return (None, None, Vec::new());
    }
    let degrees = key(MODEL_TYPE) == Some(GEOGRAPHIC);
    let mut warnings = Vec::new();
    if let Some(unit) = key(LINEAR_UNITS).filter(|unit| !degrees && *unit != METRES) {
        warnings.push(format!(
            "lengths in EPSG unit {unit} are interpreted as metres; set the cell size with --cell-size or cell_size_m in a sidecar"
        ));
    }
    let half = if key(RASTER_TYPE) == Some(POINTS) { 0.5 } else { 0.0 };
    let geo = if let &[column, row, _, x, y, ..] = &tiepoint[..] {
        let (width, height) = (wide * columns as f64, tall * rows as f64);
        let (west, north) = (x - (column + half) * wide, y + (row + half) * tall);
        let geo = Georeference { west, north, width, height, degrees };
        (degrees || west != 0.0 || north != height).then_some(geo)
    } else {
        None
    };
    (Some([wide, tall]), geo, warnings)
}

fn unusable(path: &Path, error: &TiffError) -> Error {
    match error {
        TiffError::IoError(cause) if cause.kind() == std::io::ErrorKind::UnexpectedEof => {
            Error::input(path, "truncated", NEEDED)
        }
        TiffError::IoError(cause) => Error::unreadable(path, cause),
        _ => Error::input(path, format!("not a complete, supported TIFF ({error})"), NEEDED),
    }
}

/// Writes a grid bit-exactly with its georeference, or local coordinates in metres. Cells without data get the value of `GDAL_NODATA`.
///
/// # Errors
/// The file cannot be written.
pub fn write_tiff(path: &Path, grid: &Grid, place: RasterMetadata<'_>) -> Result<(), Error> {
    let (width, height) = (grid.width(), grid.height());
    let Georeference { west, north, width: wide, height: tall, degrees } = place.extent(width, height);
    // Each entry is a key, tag location (0: none), number of values and value.
    let ellipsoid_or_unit = if degrees { [GEODETIC_CRS, 0, 1, WGS_84] } else { [LINEAR_UNITS, 0, 1, METRES] };
    let model = if degrees { GEOGRAPHIC } else { PROJECTED };
    let keys = [[MODEL_TYPE, 0, 1, model], [RASTER_TYPE, 0, 1, AREAS], ellipsoid_or_unit];
    let directory = [&[1, 1, 0, keys.len() as u16], keys.as_flattened()].concat();
    output::create(path, |file| -> Result<(), TiffError> {
        let mut encoder = TiffEncoder::new(file)?.with_compression(Compression::Uncompressed);
        let mut image = encoder.new_image::<Gray32Float>(width as u32, height as u32)?;
        let tags = image.encoder();
        tags.write_tag(Tag::ModelPixelScaleTag, &[wide / width as f64, tall / height as f64, 0.0][..])?;
        tags.write_tag(Tag::ModelTiepointTag, &[0.0, 0.0, 0.0, west, north, 0.0][..])?;
        tags.write_tag(Tag::GeoKeyDirectoryTag, &directory[..])?;
        let Some(nodata) = place.nodata else { return image.write_data(grid) };
        let value = nodata::unused_value(grid);
        tags.write_tag(Tag::GdalNodata, &*value.to_string())?;
        let cells = grid.iter().zip(nodata.iter());
        let cells: Vec<f32> = cells.map(|(cell, nodata)| if *nodata > 0.0 { value as f32 } else { *cell }).collect();
        image.write_data(&cells)
    })
}
