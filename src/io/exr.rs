//! OpenEXR pictures: heights in metres, as half, float or whole numbers in; as 32-bit floats out.

use std::path::Path;

use exr::{
    image::{AnyChannel, AnyChannels, Encoding, FlatSamples, Image, Layer, write::WritableImage},
    meta::{
        attribute::{LineOrder, SampleType},
        header::Header,
    },
    prelude::{LayerAttributes, ReadChannels, ReadLayers, ReadSpecificChannel, SmallVec, Vec2},
};

use super::{
    Error, Progress,
    input::open,
    output,
    raster::{Expected, Raster, all_finite},
};
use crate::sim::grid::Grid;

/// Channel names that hold heights, the surest first; in a grey picture stored as colours all colours are alike.
const HEIGHT_CHANNELS: [&str; 4] = ["y", "z", "height", "r"];

/// Reads the channel of heights: Y or Z, else the first that can hold them.
///
/// # Errors
/// It is no EXR, it is damaged or cut off, its size is refused, or a cell is not a finite number.
pub(super) fn read(path: &Path, expected: &Expected) -> Result<Raster, Error> {
    let bad = |error: exr::error::Error| unusable(path, &error);
    let chunks = exr::block::read(open(path)?, false).map_err(bad)?;
    // Every layer is checked, because room is made for the index of each.
    for header in chunks.headers() {
        expected.admit(path, header.layer_size.width() as u64, header.layer_size.height() as u64)?;
    }
    let Some((header, channel)) = chunks.headers().iter().find_map(|header| Some((header, height_channel(header)?)))
    else {
        return Err(Error::input(
            path,
            "it has no layer of plain pixels",
            "a channel named Y of 32-bit floats is needed",
        ));
    };
    let Vec2(width, height) = header.layer_size;
    let mut warnings = Vec::new();
    if header.channels.list.len() > 1 && !["Y", "Z"].iter().any(|name| channel.eq_ignore_ascii_case(name)) {
        warnings.push(format!("it has several channels, and heights are taken from {channel}; name the one to take Y"));
    }
    let picture = exr::image::read::read()
        .no_deep_data()
        .largest_resolution_level()
        .specific_channels()
        .required(channel.as_str())
        .collect_pixels(
            |size, _| (size.width(), vec![0.0_f32; size.area()]),
            |(width, cells), Vec2(x, y), (value,): (f32,)| cells[y * *width + x] = value,
        )
        .first_valid_layer()
        .all_attributes()
        .non_parallel()
        .from_chunks(chunks)
        .map_err(bad)?;
    if picture.layer_data.size != Vec2(width, height) {
        return Err(Error::input(path, "its layers differ in size", "one layer of heights is needed"));
    }
    let cells = Grid::from_cells(width, height, picture.layer_data.channel_data.pixels.1);
    all_finite(path, &cells)?;
    Ok(Raster { cells, full_scale: None, cell_size: None, geo: None, warnings })
}

/// The name of the channel to take from a layer: by name, else the first float, else the first; never transparency if
/// there is another.
fn height_channel(header: &Header) -> Option<String> {
    let channels = &header.channels.list;
    let by_name = HEIGHT_CHANNELS
        .iter()
        .find_map(|name| channels.iter().find(|channel| channel.name.to_string().eq_ignore_ascii_case(name)));
    let opaque = || channels.iter().filter(|channel| channel.name.to_string() != "A");
    let channel = by_name
        .or_else(|| opaque().find(|channel| channel.sample_type != SampleType::U32))
        .or_else(|| opaque().next())
        .or_else(|| channels.first())?;
    (!header.deep).then(|| channel.name.to_string())
}

fn unusable(path: &Path, error: &exr::error::Error) -> Error {
    match error {
        exr::error::Error::Io(cause) => Error::unreadable(path, cause),
        other => Error::input(
            path,
            format!("it is no whole EXR picture ({other})"),
            "a channel named Y of 32-bit floats is needed",
        ),
    }
}

/// Writes heights in metres as one channel `Y` of 32-bit floats, compressed without loss.
///
/// # Errors
/// The file cannot be written.
pub fn write_exr(path: &Path, grid: &Grid, progress: &Progress) -> Result<(), Error> {
    let samples = FlatSamples::F32(grid.to_vec());
    let channels = AnyChannels::sort(SmallVec::from_iter([AnyChannel::new("Y", samples)]));
    let size = (grid.width(), grid.height());
    // Blocks are packed by several threads; without an order each stands where it came first.
    let encoding = Encoding { line_order: LineOrder::Increasing, ..Encoding::SMALL_FAST_LOSSLESS };
    let layer = Layer::new(size, LayerAttributes::default(), encoding, channels);
    let tell = |share: f64| progress.done((share * 1e3) as usize, 1000);
    let picture = Image::from_layer(layer);
    let written = output::create(path, |file| picture.write().on_progress(tell).to_buffered(file));
    written.map_err(|error: exr::error::Error| match error {
        exr::error::Error::Io(cause) => Error::unwritable(path, &cause),
        other => Error::output(path, format!("it cannot be made ({other})"), "another format may hold this map"),
    })
}

#[cfg(test)]
mod tests {
    use exr::prelude::f16;

    use super::*;
    use crate::io::sidecar::Sidecar;

    fn expecting() -> Expected {
        Expected { sidecar: Sidecar::default(), size: None, sides: (1, 4096) }
    }

    /// Writes channels of one layer of 3 × 2 cells and reads them as heights.
    fn read_channels(channels: Vec<AnyChannel<FlatSamples>>) -> Result<Raster, Error> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.exr");
        let channels = AnyChannels::sort(SmallVec::from_vec(channels));
        let layer = Layer::new((3, 2), LayerAttributes::default(), Encoding::UNCOMPRESSED, channels);
        Image::from_layer(layer).write().to_file(&path).expect("it is writable");
        read(&path, &expecting())
    }

    #[test]
    fn every_bit_comes_back() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.exr");
        let grid = Grid::from_fn(67, 45, |x, y| (x as f32).sqrt() * 1e3 - (y as f32).sin() * 1e-3);
        write_exr(&path, &grid, &Progress::default()).expect("it is writable");
        let read = read(&path, &expecting()).expect("it was just written");
        assert!(read.cells.iter().zip(grid.iter()).all(|(a, b)| a.to_bits() == b.to_bits()));
        assert!(read.warnings.is_empty());
    }

    #[test]
    fn heights_are_found_in_any_kind_of_channel() {
        let floats = |first: f32| FlatSamples::F32(vec![first, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let halves = FlatSamples::F16([9.5, 1.0, 2.0, 3.0, 4.0, 5.0].map(f16::from_f32).to_vec());
        let whole = FlatSamples::U32(vec![7, 1, 2, 3, 4, 5]);
        let first = |channels| read_channels(channels).map(|read| (read.cells[0], read.cells[5], read.warnings.len()));
        assert_eq!(
            first(vec![AnyChannel::new("B", floats(1.5)), AnyChannel::new("Z", floats(2.5))]),
            Ok((2.5, 5.0, 0))
        );
        assert_eq!(
            first(vec![AnyChannel::new("A", floats(1.5)), AnyChannel::new("R", floats(2.5))]),
            Ok((2.5, 5.0, 1))
        );
        assert_eq!(first(vec![AnyChannel::new("depth", halves)]), Ok((9.5, 5.0, 0)));
        assert_eq!(first(vec![AnyChannel::new("id", whole)]), Ok((7.0, 5.0, 0)));
    }

    #[test]
    fn a_cell_that_is_no_number_is_named() {
        let samples = FlatSamples::F32(vec![0.0, 0.0, 0.0, 0.0, f32::NAN, 0.0]);
        let error = read_channels(vec![AnyChannel::new("Y", samples)]).err().expect("NaN is no height").to_string();
        assert!(error.contains("column 1, row 1 (counted from 0) is NaN"), "{error}");
    }
}
