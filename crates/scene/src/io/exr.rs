//! OpenEXR pictures: heights in metres, as half, float or whole numbers in; as 32-bit floats out. Pictures of light as half floats out.

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
    raster::{Expected, Raster, RasterRows},
};
use thalweg_sim::core::grid::Grid;

/// What would be right instead of a file of another kind.
const NEEDED: &str = "a channel named Y of 32-bit floats is needed";
/// Channel names that hold heights, the surest first. In a grey picture stored as colours all colours are alike.
const HEIGHT_CHANNELS: [&str; 4] = ["y", "z", "height", "r"];

/// Reads the channel of heights: Y or Z, else the first that can hold them.
///
/// # Errors
/// It is no EXR, it is damaged or cut off, its size is refused, or a cell is not a finite number.
pub(super) fn read(path: &Path, expected: &Expected) -> Result<Raster, Error> {
    let bad = |error: exr::error::Error| unusable(path, &error);
    let reader = exr::block::read(open(path)?, false).map_err(bad)?;
    let found = reader.headers().iter().enumerate().find_map(|(layer, header)| Some((layer, height_channel(header)?)));
    let Some((layer, channel)) = found else {
        return Err(Error::input(path, "it has no layer of plain pixels", NEEDED));
    };
    let header = reader.headers()[layer].clone();
    let Vec2(width, height) = header.layer_size;
    let size = expected.admit(path, width as u64, height as u64)?;
    let Vec2(block_width, block_height) = header.max_block_pixel_size();
    let block = (block_width.min(width) * block_height.min(height)).saturating_mul(header.channels.bytes_per_pixel);
    // A block as it lies in the file, on its way and unpacked, and where all blocks lie.
    let chunks: usize = reader.headers().iter().map(|header| header.chunk_count).fold(0, usize::saturating_add);
    let besides = block.saturating_mul(3).saturating_add(chunks.saturating_mul(16));
    let mut bands = Bands { rows: expected.rows(path, size, besides as u64)?, begun: BTreeMap::new(), room: 0 };

    let name = &header.channels.list[channel].name;
    let mut warnings = Vec::new();
    if header.channels.list.len() > 1 && !["Y", "Z"].iter().any(|sure| name.to_string().eq_ignore_ascii_case(sure)) {
        warnings.push(format!(
            "it has several channels, and heights are taken from {name}; to use another channel, rename it to \
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

/// Joins the lines of blocks to rows. Blocks come in any order. RasterRows that have begun wait until all rows before them are whole:
/// those of one block where the file is in order.
struct Bands<'a> {
    rows: RasterRows<'a>,
    /// By number: the row, with NaN where no line has come yet, and how many of its cells have come.
    begun: BTreeMap<usize, (Vec<f32>, usize)>,
    /// How many rows there was memory for when it was last asked for.
    room: usize,
}

impl Bands<'_> {
    /// Takes the cells of a line whose first one lies at (column, row).
    fn take(&mut self, path: &Path, expected: &Expected, at: Vec2<usize>, values: &[f32]) -> Result<(), Error> {
        let (Vec2(x, y), (width, height)) = (at, self.rows.size);
        let twice = || Error::input(path, "it has the same pixels twice", "a whole EXR picture is needed");
        if y < self.rows.come() || y >= height || x + values.len() > width {
            return Err(twice());
        }
        if self.begun.len() == self.room {
            let more = self.room.max(256);
            expected.budget.ask(path, 4 * (more * width) as u64)?;
            self.room += more;
        }
        let (row, come) = self.begun.entry(y).or_insert_with(|| (vec![f32::NAN; width], 0));
        row[x..x + values.len()].copy_from_slice(values);
        *come += values.len();
        while let Some(row) =
            self.begun.first_entry().filter(|row| *row.key() == self.rows.come() && row.get().1 >= width)
        {
            self.rows.push(&row.remove().0)?;
        }
        Ok(())
    }
}

/// Index of the channel to take from a layer: found by its name, else the first of floats, else the first. Transparency is taken
/// only where there is no other.
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
        other => Error::input(path, format!("it is no whole EXR picture ({other})"), NEEDED),
    }
}

/// Writes heights in metres as one channel `Y` of 32-bit floats, compressed without loss.
///
/// # Errors
/// The file cannot be written.
pub fn write_exr(path: &Path, grid: &Grid, progress: &JobProgress) -> Result<(), Error> {
    let samples = FlatSamples::F32(grid.to_vec());
    let channels = AnyChannels::sort(SmallVec::from_iter([AnyChannel::new("Y", samples)]));
    write(path, (grid.width(), grid.height()), channels, progress)
}

/// Writes channels, compressed without loss.
fn write(
    path: &Path,
    size: (usize, usize),
    channels: AnyChannels<FlatSamples>,
    progress: &JobProgress,
) -> Result<(), Error> {
    // Several threads pack blocks. Without this, blocks would be in the order in which they were ready.
    let encoding = Encoding { line_order: LineOrder::Increasing, ..Encoding::SMALL_FAST_LOSSLESS };
    let layer = Layer::new(size, LayerAttributes::default(), encoding, channels);
    let tell = |share: f64| progress.done((share * 1e3) as usize, 1000);
    let picture = Image::from_layer(layer);
    output::create(path, |file| picture.write().on_progress(tell).to_buffered(file))
}

/// Writes a picture of light: red, green, blue and opacity of each pixel, rows from top to bottom. Opacity is left out where nothing is
/// transparent. Numbers that half floats cannot hold become the largest that they can, and what is no number becomes 0.
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
        let wrong = format!("there are {} pixels, and {width} × {height} are needed", light.len());
        return Err(Error::output(path, wrong, "this is a fault of the program"));
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

    /// Writes a picture of one layer.
    fn put(path: &Path, size: (usize, usize), channels: Vec<AnyChannel<FlatSamples>>, encoding: Encoding) {
        let channels = AnyChannels::sort(SmallVec::from_vec(channels));
        let layer = Layer::new(size, LayerAttributes::default(), encoding, channels);
        Image::from_layer(layer).write().to_file(path).expect("it is writable");
    }

    /// Writes channels of 3 × 2 cells and reads them as heights.
    fn read_channels(channels: Vec<AnyChannel<FlatSamples>>) -> Result<Raster, Error> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.exr");
        put(&path, (3, 2), channels, Encoding::UNCOMPRESSED);
        read(&path, &Expected::anything())
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

    /// Writes 70 × 50 heights in this way.
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
            let whole = read(&path, &Expected::anything()).unwrap_or_else(|error| panic!("{error}"));
            assert!(whole.cells == grid, "{encoding:?}");
            let smaller = read(&path, &Expected { size: Some((33, 9)), ..Expected::anything() });
            assert!(smaller.unwrap_or_else(|error| panic!("{error}")).cells == grid.resampled(33, 9), "{encoding:?}");
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
        // The last block's checksum ends the file.
        *bytes.last_mut().expect("it is not empty") ^= 1;
        std::fs::write(&path, bytes).expect("it is writable");
        assert!(read(&path, &Expected::anything()).is_err());
    }
}
