//! OpenEXR images: reads elevations in metres as half, float or integer channels and writes 32-bit floats. Writes linear light as half
//! floats.

use std::{collections::BTreeMap, path::Path};

use exr::{
    block::reader::ChunksReader,
    image::{AnyChannel, AnyChannels, Encoding, FlatSamples, Image, Layer, write::WritableImage},
    meta::{
        attribute::{ChannelDescription, LineOrder, SampleType},
        header::Header,
    },
    prelude::{LayerAttributes, SmallVec, Vec2, f16},
};

use super::{
    Error, JobProgress,
    input::open,
    output,
    raster::{Raster, RasterRows, ReadConstraints},
};
use thalweg_sim::core::grid::Grid;

/// Remedy for files without a usable channel.
const NEEDED: &str = "expected a channel named Y of 32-bit floats";
/// Channel names that may hold elevations, in order of preference. In a greyscale image stored as RGB, all channels are equal.
const HEIGHT_CHANNELS: [&str; 4] = ["y", "z", "height", "r"];

/// Reads the elevation channel: Y or Z, else the first suitable one.
///
/// # Errors
/// The file is not an EXR, is damaged or truncated, its size is rejected, or a cell is not finite.
pub(super) fn read(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    let bad = |error: exr::error::Error| unusable(path, &error);
    let reader = exr::block::read(open(path)?, false).map_err(bad)?;
    let found = reader.headers().iter().enumerate().find_map(|(layer, header)| Some((layer, height_channel(header)?)));
    let Some((layer, channel)) = found else {
        return Err(Error::input(path, "no layer of flat pixels", NEEDED));
    };
    let header = reader.headers()[layer].clone();
    let Vec2(width, height) = header.layer_size;
    let size = expected.admit(path, width as u64, height as u64)?;
    let Vec2(block_width, block_height) = header.max_block_pixel_size();
    let block = (block_width.min(width) * block_height.min(height)).saturating_mul(header.channels.bytes_per_pixel);
    // A block as stored, in transit and decompressed, plus the chunk offset table.
    let chunks: usize = reader.headers().iter().map(|header| header.chunk_count).fold(0, usize::saturating_add);
    let besides = block.saturating_mul(3).saturating_add(chunks.saturating_mul(16));
    let mut bands = RowAssembler { rows: expected.rows(path, size, besides as u64)?, begun: BTreeMap::new(), room: 0 };

    let name = &header.channels.list[channel].name;
    let mut warnings = Vec::new();
    if header.channels.list.len() > 1 && !["Y", "Z"].iter().any(|sure| name.to_string().eq_ignore_ascii_case(sure)) {
        warnings.push(format!(
            "several channels; elevations are read from {name}. To use another channel, rename it to \
            Y"
        ));
    }
    let blocks = reader.filter_chunks(false, |_, tile, block| block.layer == layer && tile.level_index == Vec2(0, 0));
    for block in blocks.map_err(bad)?.sequential_decompressor(false) {
        let block = block.map_err(bad)?;
        for line in block.lines(&header.channels).filter(|line| line.location.channel == channel) {
            let values: exr::error::Result<Vec<f32>> = match header.channels.list[channel].sample_type {
                SampleType::F16 => line.read_samples::<f16>().map(|value| value.map(f16::to_f32)).collect(),
                SampleType::F32 => line.read_samples::<f32>().collect(),
                SampleType::U32 => line.read_samples::<u32>().map(|value| value.map(|value| value as f32)).collect(),
            };
            bands.take(path, expected, line.location.position, &values.map_err(bad)?)?;
        }
    }
    Ok(Raster { warnings, ..bands.rows.finish()? })
}

/// Assembles lines of blocks into rows. Blocks arrive in any order; incomplete rows wait until all rows before them are complete. In a
/// file in line order these are the rows of a single block.
struct RowAssembler<'a> {
    rows: RasterRows<'a>,
    /// Incomplete rows by index: cells, NaN where still missing, and the number of cells received.
    begun: BTreeMap<usize, (Vec<f32>, usize)>,
    /// Number of rows for which memory was granted.
    room: usize,
}

impl RowAssembler<'_> {
    /// Stores a line of cells that starts at (column, row).
    fn take(&mut self, path: &Path, expected: &ReadConstraints, at: Vec2<usize>, values: &[f32]) -> Result<(), Error> {
        let (Vec2(x, y), (width, height)) = (at, self.rows.size);
        let twice = || Error::input(path, "duplicate pixels", "expected a complete EXR image");
        if y < self.rows.rows_read() || y >= height || x + values.len() > width {
            return Err(twice());
        }
        if self.begun.len() == self.room {
            let more = self.room.max(256);
            expected.budget.request(path, 4 * (more * width) as u64)?;
            self.room += more;
        }
        let (row, come) = self.begun.entry(y).or_insert_with(|| (vec![f32::NAN; width], 0));
        row[x..x + values.len()].copy_from_slice(values);
        *come += values.len();
        while let Some(row) =
            self.begun.first_entry().filter(|row| *row.key() == self.rows.rows_read() && row.get().1 >= width)
        {
            self.rows.push(&row.remove().0)?;
        }
        Ok(())
    }
}

/// Returns the index of the elevation channel: matched by name, else the first float channel, else the first. The alpha channel is used
/// only if there is no other.
fn height_channel(header: &Header) -> Option<usize> {
    let channels = &header.channels.list;
    let named =
        |wanted: &str| channels.iter().position(|channel| channel.name.to_string().eq_ignore_ascii_case(wanted));
    let opaque = |float: bool| {
        let fits = |channel: &ChannelDescription| !float || channel.sample_type != SampleType::U32;
        channels.iter().position(|channel| channel.name.to_string() != "A" && fits(channel))
    };
    let channel =
        HEIGHT_CHANNELS.iter().find_map(|name| named(name)).or_else(|| opaque(true)).or_else(|| opaque(false));
    channel.or((!channels.is_empty()).then_some(0)).filter(|_| !header.deep)
}

fn unusable(path: &Path, error: &exr::error::Error) -> Error {
    match error {
        exr::error::Error::Io(cause) => Error::unreadable(path, cause),
        other => Error::input(path, format!("not a complete EXR image ({other})"), NEEDED),
    }
}

/// Writes elevations in metres as a single channel `Y` of 32-bit floats with lossless compression.
///
/// # Errors
/// The file cannot be written.
pub fn write_exr(path: &Path, grid: &Grid, progress: &JobProgress) -> Result<(), Error> {
    let samples = FlatSamples::F32(grid.to_vec());
    let channels = AnyChannels::sort(SmallVec::from_iter([AnyChannel::new("Y", samples)]));
    write(path, (grid.width(), grid.height()), channels, progress)
}

/// Writes channels with lossless compression.
fn write(
    path: &Path,
    size: (usize, usize),
    channels: AnyChannels<FlatSamples>,
    progress: &JobProgress,
) -> Result<(), Error> {
    // Blocks are compressed by several threads. This keeps them in order.
    let encoding = Encoding { line_order: LineOrder::Increasing, ..Encoding::SMALL_FAST_LOSSLESS };
    let layer = Layer::new(size, LayerAttributes::default(), encoding, channels);
    let tell = |share: f64| progress.done((share * 1e3) as usize, 1000);
    let picture = Image::from_layer(layer);
    output::create(path, |file| picture.write().on_progress(tell).to_buffered(file))
}

/// Writes linear light: RGBA pixels in rows from top to bottom. Alpha is omitted if the image is opaque. Values outside the range of half
/// floats are clamped; NaN becomes 0.
///
/// # Errors
/// The number of pixels is not `width * height`, or the file cannot be written.
pub(super) fn write_light(
    path: &Path,
    (width, height): (usize, usize),
    light: &[[f32; 4]],
    progress: &JobProgress,
) -> Result<(), Error> {
    if light.len() != width * height {
        let wrong = format!("{} pixels instead of {width} × {height}", light.len());
        return Err(Error::output(path, wrong, "this is a bug, please report it"));
    }
    let channel = |(place, name): (usize, &str)| {
        let bounded = |part: f32| if part.is_nan() { 0.0 } else { part.clamp(f16::MIN.to_f32(), f16::MAX.to_f32()) };
        let half = |pixel: &[f32; 4]| f16::from_f32(bounded(pixel[place]));
        AnyChannel::new(name, FlatSamples::F16(light.iter().map(half).collect()))
    };
    let opaque = light.iter().all(|pixel| pixel[3] >= 1.0);
    let names = ["R", "G", "B", "A"].into_iter().take(if opaque { 3 } else { 4 });
    let channels = AnyChannels::sort(names.enumerate().map(channel).collect());
    write(path, (width, height), channels, progress)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes an image with one layer.
    fn put(path: &Path, size: (usize, usize), channels: Vec<AnyChannel<FlatSamples>>, encoding: Encoding) {
        let channels = AnyChannels::sort(SmallVec::from_vec(channels));
        let layer = Layer::new(size, LayerAttributes::default(), encoding, channels);
        Image::from_layer(layer).write().to_file(path).expect("it is writable");
    }

    /// Writes channels of 3 × 2 cells and reads them back as elevations.
    fn read_channels(channels: Vec<AnyChannel<FlatSamples>>) -> Result<Raster, Error> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.exr");
        put(&path, (3, 2), channels, Encoding::UNCOMPRESSED);
        read(&path, &ReadConstraints::anything())
    }

    #[test]
    fn heights_are_found_in_any_kind_of_channel() {
        let floats = |first: f32| FlatSamples::F32(vec![first, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let named = |name: &str, samples| AnyChannel::new(name, samples);
        let halves = FlatSamples::F16([9.5, 1.0, 2.0, 3.0, 4.0, 5.0].map(f16::from_f32).to_vec());
        let whole = FlatSamples::U32(vec![7, 1, 2, 3, 4, 5]);
        let first = |channels| read_channels(channels).map(|read| (read.cells[0], read.cells[5], read.warnings.len()));
        assert_eq!(first(vec![named("B", floats(1.5)), named("Z", floats(2.5))]), Ok((2.5, 5.0, 0)));
        assert_eq!(first(vec![named("A", floats(1.5)), named("R", floats(2.5))]), Ok((2.5, 5.0, 1)));
        assert_eq!(first(vec![named("depth", halves)]), Ok((9.5, 5.0, 0)));
        assert_eq!(first(vec![named("id", whole)]), Ok((7.0, 5.0, 0)));
    }

    #[test]
    fn a_cell_that_is_no_number_is_named() {
        let samples = FlatSamples::F32(vec![0.0, 0.0, 0.0, 0.0, f32::NAN, 0.0]);
        let error = read_channels(vec![AnyChannel::new("Y", samples)]).err().expect("NaN is no height").to_string();
        assert!(error.contains("column 1, row 1 (counted from 0) is NaN"), "{error}");
    }

    /// Writes 70 × 50 elevations with this encoding.
    fn write_as(path: &Path, encoding: Encoding) -> Grid {
        let grid = Grid::from_fn(70, 50, |x, y| (x * 3 + y * y) as f32);
        put(path, (70, 50), vec![AnyChannel::new("Y", FlatSamples::F32(grid.to_vec()))], encoding);
        grid
    }

    #[test]
    fn blocks_may_come_in_any_order_and_none_may_be_missing() {
        use exr::{image::Blocks, meta::attribute::LineOrder, prelude::Compression};
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.exr");
        let decreasing = Encoding { line_order: LineOrder::Decreasing, ..Encoding::SMALL_LOSSLESS };
        let tiles = Encoding { compression: Compression::RLE, blocks: Blocks::Tiles(Vec2(16, 24)), ..decreasing };
        for encoding in [Encoding::UNCOMPRESSED, Encoding::SMALL_LOSSLESS, decreasing, tiles, Encoding::FAST_LOSSLESS] {
            let grid = write_as(&path, encoding);
            let whole = read(&path, &ReadConstraints::anything()).unwrap_or_else(|error| panic!("{error}"));
            assert!(whole.cells == grid, "{encoding:?}");
            let smaller = read(&path, &ReadConstraints { size: Some((33, 9)), ..ReadConstraints::anything() });
            assert!(smaller.unwrap_or_else(|error| panic!("{error}")).cells == grid.resample(33, 9), "{encoding:?}");
        }
    }

    #[test]
    fn a_picture_of_light_has_halves_and_opacity_where_something_is_transparent() {
        use exr::prelude::{ReadChannels, ReadLayers};
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (last, names) in [(1.0, "B G R"), (0.5, "A B G R")] {
            let path = folder.path().join("light.exr");
            let light = [[0.25, 3.5, 1e9, 1.0], [0.0, 0.125, f32::NAN, last]];
            write_light(&path, (2, 1), &light, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
            let read = exr::prelude::read().no_deep_data().largest_resolution_level().all_channels();
            let read = read.first_valid_layer().all_attributes().from_file(&path).expect("it was just written");
            let list = &read.layer_data.channel_data.list;
            let found: Vec<String> = list.iter().map(|channel| channel.name.to_string()).collect();
            assert_eq!(found.join(" "), names);
            let red = list.iter().find(|channel| channel.name.to_string() == "R").expect("it is there");
            let FlatSamples::F16(red) = &red.sample_data else { panic!("they are halves") };
            assert_eq!(red[..], [f16::from_f32(0.25), f16::from_f32(0.0)]);
            let blue = list.iter().find(|channel| channel.name.to_string() == "B").expect("it is there");
            let at = |index: usize| blue.sample_data.value_by_flat_index(index).to_f32();
            assert_eq!([at(0), at(1)], [65_504.0, 0.0]);
        }
        let error = write_light(&folder.path().join("a.exr"), (2, 2), &[[0.0; 4]], &JobProgress::default());
        assert!(error.expect_err("three are missing").to_string().contains("2 × 2"));
    }

    #[test]
    fn a_wrong_checksum_is_noticed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.exr");
        write_as(&path, Encoding::SMALL_LOSSLESS);
        let mut bytes = std::fs::read(&path).expect("it was just written");
        // The file ends with the checksum of the last block.
        *bytes.last_mut().expect("it is not empty") ^= 1;
        std::fs::write(&path, bytes).expect("it is writable");
        assert!(read(&path, &ReadConstraints::anything()).is_err());
    }
}
