//! OpenEXR images: reads elevations in metres as half, float or integer channels and writes 32-bit floats. Writes linear light as half
//! floats.

mod subsampled;

use std::{collections::BTreeMap, path::Path};

use exr::{
    block::reader::ChunksReader,
    image::{AnyChannel, AnyChannels, Encoding, FlatSamples, Image, Layer, write::WritableImage},
    meta::{
        attribute::{LineOrder, SampleType},
        header::Header,
    },
    prelude::{LayerAttributes, SmallVec, Vec2, f16},
};

use super::{
    Error, JobProgress,
    input::open,
    output,
    raster::{Raster, RasterLayout, RasterRows, ReadConstraints, SampleScale},
};
use thalweg_sim::core::grid::Grid;

/// Remedy for files without a usable channel.
const NEEDED: &str = "expected a channel named Y of 32-bit floats";
/// Last components of channel names that may hold elevations, in order of preference. In a greyscale image stored as RGB, all channels
/// are equal.
const HEIGHT_CHANNELS: [&str; 12] =
    ["y", "height", "heights", "elevation", "dem", "displacement", "z", "depth", "v", "l", "r", "red"];
/// Parts of names of layers and channels that hold elevations.
const HEIGHT_WORDS: [&str; 5] = ["height", "elev", "terrain", "displace", "bump"];
/// Parts of names of layers of colours, which come last.
const COLOUR_WORDS: [&str; 6] = ["color", "colour", "diffuse", "albedo", "beauty", "combined"];
/// Last components of names of channels that hold no elevations.
const OTHER_CHANNELS: [&str; 8] = ["a", "alpha", "opacity", "mask", "matte", "coverage", "id", "samplecount"];
/// First components of names of vectors, whose Y and Z are no elevations.
const VECTORS: [&str; 9] = ["n", "normal", "normals", "p", "position", "vector", "velocity", "uv", "motion"];
/// Depth from which a pixel shows nothing, in the unit of the file. Renderers write it for the far plane.
const FAR: f64 = 1e9;

/// Channel of an image: indices of layer and channel.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ChannelIndex {
    layer: usize,
    channel: usize,
}

/// Reads the elevation channel: that of the option, else the most suitable one by the last component of its name.
///
/// # Errors
/// The file is not an EXR, is damaged or truncated, has no such channel, its size is rejected, no cell has data, or a cell is out of
/// range.
pub(super) fn read(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    let bad = |error: exr::error::Error| unusable(path, &error);
    let headers = match exr::block::read(open(path)?, false) {
        Ok(reader) => reader.headers().to_vec(),
        Err(exr::error::Error::NotSupported(what)) if what.contains("subsampling") => {
            return subsampled::read(path, expected);
        }
        Err(error) => return Err(bad(error)),
    };
    let mut warnings = Vec::new();
    let found = choice(path, expected, &headers, &mut warnings)?;
    let header = &headers[found.layer];
    let (size, extra_bytes) = admitted(path, expected, &headers, found.layer)?;
    let samples = match header.channels.list[found.channel].sample_type {
        SampleType::U32 => SampleScale::Integers([0.0, u32::MAX.into()]),
        _ => SampleScale::Floats,
    };
    let layout = RasterLayout { extra_bytes, ..RasterLayout::new(size, samples, warnings) };
    if matches!(layout.samples, SampleScale::Integers(_)) {
        return assemble(path, expected, layout, (header, found), |value| value);
    }
    assemble(path, expected, layout, (header, found), |value| near(value) as f32)
}

/// Returns the size of a layer, and the memory that decoding needs, in bytes.
///
/// # Errors
/// The size is rejected, or the memory budget is exceeded.
fn admitted(
    path: &Path,
    expected: &ReadConstraints,
    headers: &[Header],
    layer: usize,
) -> Result<((usize, usize), u64), Error> {
    let header = &headers[layer];
    let Vec2(width, height) = header.layer_size;
    let size = expected.admit(path, width as u64, height as u64)?;
    let Vec2(block_width, block_height) = header.max_block_pixel_size();
    let block = (block_width.min(width) * block_height.min(height)).saturating_mul(header.channels.bytes_per_pixel);
    // A block as stored, in transit and decompressed, plus the chunk offset table.
    let chunks: usize = headers.iter().map(|header| header.chunk_count).fold(0, usize::saturating_add);
    let extra_bytes = block.saturating_mul(3).saturating_add(chunks.saturating_mul(16)) as u64;
    expected.budget.request(path, extra_bytes)?;
    Ok((size, extra_bytes))
}

/// Returns a value of a float channel, or NaN for the far plane.
fn near(value: f64) -> f64 {
    if value.abs() < FAR { value } else { f64::NAN }
}

/// Reads a channel whose values `T` holds exactly.
fn assemble<T: Copy + Default + Into<f64>>(
    path: &Path,
    expected: &ReadConstraints,
    layout: RasterLayout,
    (header, found): (&Header, ChannelIndex),
    narrow: fn(f64) -> T,
) -> Result<Raster, Error> {
    expected.raster(path, layout, |rows| {
        let mut bands = RowAssembler { rows, narrow, begun: BTreeMap::new(), room: 0 };
        lines(path, header, found, |at, values| bands.take(path, expected, at, &values).map(|()| true))
    })
}

/// Reads the lines of a channel in the order of the file: position of the first pixel, and values. Ends early if `take` returns `false`.
fn lines(
    path: &Path,
    header: &Header,
    found: ChannelIndex,
    mut take: impl FnMut(Vec2<usize>, Vec<f64>) -> Result<bool, Error>,
) -> Result<(), Error> {
    let bad = |error: exr::error::Error| unusable(path, &error);
    let reader = exr::block::read(open(path)?, false).map_err(bad)?;
    let is_wanted = |tile: Vec2<usize>, layer: usize| layer == found.layer && tile == Vec2(0, 0);
    let blocks = reader.filter_chunks(false, |_, tile, block| is_wanted(tile.level_index, block.layer));
    for block in blocks.map_err(bad)?.sequential_decompressor(false) {
        let block = block.map_err(bad)?;
        for line in block.lines(&header.channels).filter(|line| line.location.channel == found.channel) {
            let values: exr::error::Result<Vec<f64>> = match header.channels.list[found.channel].sample_type {
                SampleType::F16 => line.read_samples::<f16>().map(|value| value.map(f16::to_f64)).collect(),
                SampleType::F32 => line.read_samples::<f32>().map(|value| value.map(f64::from)).collect(),
                SampleType::U32 => line.read_samples::<u32>().map(|value| value.map(f64::from)).collect(),
            };
            if !take(line.location.position, values.map_err(bad)?)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Returns the channel to read.
fn choice(
    path: &Path,
    expected: &ReadConstraints,
    headers: &[Header],
    warnings: &mut Vec<String>,
) -> Result<ChannelIndex, Error> {
    // A file of several parts names them; some writers repeat that name in the channels.
    let name = |found: &ChannelIndex| {
        let header = &headers[found.layer];
        let channel = header.channels.list[found.channel].name.to_string();
        match &header.own_attributes.layer_name {
            Some(part) if headers.len() > 1 && !channel.starts_with(&format!("{part}.")) => format!("{part}.{channel}"),
            _ => channel,
        }
    };
    let indices =
        |layer: usize| (0..headers[layer].channels.list.len()).map(move |channel| ChannelIndex { layer, channel });
    let all = (0..headers.len()).filter(|layer| !headers[*layer].deep).flat_map(indices);
    let all: Vec<ChannelIndex> = all.collect();
    let names = || all.iter().map(&name).collect::<Vec<_>>().join(", ");
    if let Some(asked) = &expected.options.channel {
        let exact = all.iter().find(|found| name(found) == *asked);
        let similar = || all.iter().find(|found| name(found).eq_ignore_ascii_case(asked));
        let ending = format!(".{}", asked.to_ascii_lowercase());
        let component = || all.iter().find(|found| name(found).to_ascii_lowercase().ends_with(&ending));
        let found = exact.or_else(similar).or_else(component);
        return found.copied().ok_or_else(|| {
            Error::input(
                path,
                format!("there is no channel {asked}"),
                format!("choose one with --channel: {}", names()),
            )
        });
    }
    let area = |found: &ChannelIndex| headers[found.layer].layer_size.area();
    let is_float =
        |found: &ChannelIndex| headers[found.layer].channels.list[found.channel].sample_type != SampleType::U32;
    let mut ranked: Vec<(usize, &ChannelIndex)> =
        all.iter().filter_map(|found| Some((rank(&name(found))?, found))).collect();
    // Of the same rank, floats are preferred, and then the largest layer.
    ranked.sort_by_key(|(rank, found)| (*rank, !is_float(found), std::cmp::Reverse(area(found))));
    // An image of opacity alone has no other channel.
    let candidates: Vec<ChannelIndex> =
        ranked.into_iter().map(|(_, found)| *found).chain(all.iter().copied().take(1)).collect();
    for found in &candidates {
        let mut is_near = false;
        admitted(path, expected, headers, found.layer)?;
        lines(path, &headers[found.layer], *found, |_, values| {
            is_near = values.iter().any(|value| value.abs() < FAR || !is_float(found));
            Ok(!is_near)
        })?;
        if is_near {
            let sure = all.len() == 1 || ["Y", "Z"].contains(&name(found).as_str());
            if !sure {
                warnings.push(format!(
                    "several channels; heights are read from {}; choose another with --channel",
                    name(found)
                ));
            }
            return Ok(*found);
        }
    }
    candidates.first().copied().ok_or_else(|| Error::input(path, "no flat (non-deep) layer", NEEDED))
}

/// Returns the rank of a channel by its name, the lowest first, or `None` if it holds no elevations.
fn rank(name: &str) -> Option<usize> {
    let lower = name.to_ascii_lowercase();
    let components: Vec<&str> = lower.split('.').collect();
    let (last, before) = components.split_last()?;
    if OTHER_CHANNELS.contains(last) || lower.contains("crypto") {
        return None;
    }
    let known = HEIGHT_CHANNELS.iter().position(|known| known == last);
    let is_vector = before.last().is_some_and(|part| VECTORS.contains(part));
    let is_height = |part: &&str| {
        HEIGHT_WORDS.iter().any(|word| part.contains(word))
            || part.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == "disp")
    };
    let rank = match known {
        Some(_) if before.iter().any(is_height) => return Some(0),
        Some(rank) if !is_vector => 1 + rank,
        // A name such as "elevation_m" is as good as "height".
        _ if is_height(last) => 2,
        _ => 1 + HEIGHT_CHANNELS.len(),
    };
    let is_colour = before.iter().any(|part| COLOUR_WORDS.iter().any(|word| part.contains(word)));
    Some(if is_colour { 2 + HEIGHT_CHANNELS.len() + rank } else { rank })
}

/// Assembles lines of blocks into rows. Blocks arrive in any order; incomplete rows wait until all rows before them are complete. In a
/// file in line order these are the rows of a single block.
///
/// Cells wait as `T`, which holds all values of the channel exactly.
struct RowAssembler<'a, 'b, T> {
    rows: &'a mut RasterRows<'b>,
    narrow: fn(f64) -> T,
    /// Incomplete rows by index: cells, zero where still missing, and the number of cells received.
    begun: BTreeMap<usize, (Vec<T>, usize)>,
    /// Number of rows for which memory was granted.
    room: usize,
}

impl<T: Copy + Default + Into<f64>> RowAssembler<'_, '_, T> {
    /// Stores a line of cells that starts at (column, row).
    fn take(&mut self, path: &Path, expected: &ReadConstraints, at: Vec2<usize>, values: &[f64]) -> Result<(), Error> {
        let (Vec2(x, y), (width, height)) = (at, self.rows.size);
        let twice = || Error::input(path, "duplicate pixels", "expected a complete EXR image");
        if y < self.rows.rows_read() || y >= height || x + values.len() > width {
            return Err(twice());
        }
        if self.begun.len() == self.room {
            let more = self.room.max(256);
            expected.budget.request(path, (size_of::<T>() * more * width) as u64)?;
            self.room += more;
        }
        let (row, come) = self.begun.entry(y).or_insert_with(|| (vec![T::default(); width], 0));
        for (cell, value) in row[x..].iter_mut().zip(values) {
            *cell = (self.narrow)(*value);
        }
        *come += values.len();
        while let Some(row) =
            self.begun.first_entry().filter(|row| *row.key() == self.rows.rows_read() && row.get().1 >= width)
        {
            let row: Vec<f64> = row.remove().0.into_iter().map(Into::into).collect();
            self.rows.push(&row)?;
        }
        Ok(())
    }
}

fn unusable(path: &Path, error: &exr::error::Error) -> Error {
    match error {
        exr::error::Error::Io(cause) => Error::unreadable(path, cause),
        exr::error::Error::NotSupported(what) => {
            let right = "save it with ZIP or PIZ compression and all channels at full resolution";
            Error::input(path, format!("not supported ({what})"), right)
        }
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
    let image = Image::from_layer(layer);
    output::create(path, |file| image.write().on_progress(tell).to_buffered(file))
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
    fn exr_heights_are_read_from_any_channel_type() {
        let floats = |first: f32| FlatSamples::F32(vec![first, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let named = |name: &str, samples| AnyChannel::new(name, samples);
        let halves = FlatSamples::F16([9.5, 1.0, 2.0, 3.0, 4.0, 5.0].map(f16::from_f32).to_vec());
        let whole = FlatSamples::U32(vec![7, 1, 2, 3, 4, 5]);
        let first = |channels| read_channels(channels).map(|read| (read.cells[0], read.cells[5], read.warnings.len()));
        assert_eq!(first(vec![named("B", floats(1.5)), named("Z", floats(2.5))]), Ok((2.5, 5.0, 1)));
        assert_eq!(first(vec![named("A", floats(1.5)), named("R", floats(2.5))]), Ok((2.5, 5.0, 2)));
        assert_eq!(first(vec![named("depth", halves)]), Ok((9.5, 5.0, 1)));
        assert_eq!(first(vec![named("id", whole)]), Ok((7.0, 5.0, 1)));
    }

    #[test]
    fn exr_channel_is_chosen_by_last_name_component() {
        let heights = || FlatSamples::F32(vec![2.5, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let ones = || FlatSamples::F32(vec![1.0; 6]);
        let far = || FlatSamples::F32(vec![1e10; 6]);
        type NamedSamples = (&'static str, fn() -> FlatSamples);
        let cases: [&[NamedSamples]; 12] = [
            &[("ViewLayer.Combined.A", ones), ("ViewLayer.Combined.R", heights), ("ViewLayer.Combined.G", heights)],
            &[("ViewLayer.Depth.Z", far), ("ViewLayer.Combined.A", ones), ("ViewLayer.Combined.R", heights)],
            &[("ViewLayer.Depth.Z", heights), ("ViewLayer.Combined.A", ones), ("ViewLayer.Combined.R", ones)],
            &[("alpha", ones), ("depth", heights)],
            &[("height.Y", heights), ("R", ones), ("A", ones)],
            &[("Normal.Y", ones), ("Normal.Z", ones), ("Height.V", heights)],
            &[("mask", ones), ("A", ones), ("elevation_m", heights)],
            &[("Displacement.R", heights), ("Y", ones)],
            &[("Heightmap", heights), ("R", ones), ("G", ones)],
            &[("bump.V", heights), ("Y", ones)],
            &[("disp_map", heights), ("R", ones)],
            &[("diffuse.Y", ones), ("other", heights)],
        ];
        for case in cases {
            let channels = case.iter().map(|(name, samples)| AnyChannel::new(*name, samples())).collect();
            let read = read_channels(channels).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((read.cells[0], read.cells[5]), (2.5, 5.0), "{:?}", read.warnings);
        }
    }

    #[test]
    fn exr_part_name_selects_channel() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("parts.exr");
        let part = |name: &str, value: f32| {
            let channels =
                AnyChannels::sort(SmallVec::from_vec(vec![AnyChannel::new("R", FlatSamples::F32(vec![value; 6]))]));
            Layer::new((3, 2), LayerAttributes::named(name), Encoding::UNCOMPRESSED, channels)
        };
        let parts = SmallVec::from_vec(vec![part("beauty", 1.0), part("height", 2.0)]);
        let attributes = exr::meta::header::ImageAttributes::new(exr::prelude::IntegerBounds::from_dimensions((3, 2)));
        Image::from_layers(attributes, parts).write().to_file(&path).expect("it is writable");
        assert_eq!(read(&path, &ReadConstraints::anything()).map(|read| read.cells[0]).ok(), Some(2.0));
        let mut expected = ReadConstraints::anything();
        expected.options.channel = Some("Beauty.R".to_owned());
        assert_eq!(read(&path, &expected).map(|read| read.cells[0]).ok(), Some(1.0));
    }

    #[test]
    fn exr_layer_is_admitted_before_channels_are_compared() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("far.exr");
        let named = |name: &str, value: f32| AnyChannel::new(name, FlatSamples::F32(vec![value; 64 * 64]));
        put(&path, (64, 64), vec![named("Z", 1e10), named("R", 3.0)], Encoding::FAST_LOSSLESS);
        let mut expected = ReadConstraints::anything();
        assert_eq!(read(&path, &expected).map(|read| read.cells[0]).ok(), Some(3.0));
        expected.budget = crate::io::Budget::of(1);
        assert!(read(&path, &expected).expect_err("it exceeds the budget").to_string().contains("of memory"));
    }

    #[test]
    fn channel_option_selects_exr_channel() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.exr");
        let filled = |value: f32| FlatSamples::F32(vec![value; 6]);
        let channels = vec![AnyChannel::new("Y", filled(1.0)), AnyChannel::new("a.custom", filled(2.0))];
        put(&path, (3, 2), channels, Encoding::UNCOMPRESSED);
        let channel = |name: &str| {
            let mut expected = ReadConstraints::anything();
            expected.options.channel = Some(name.to_owned());
            read(&path, &expected)
        };
        for name in ["a.custom", "A.Custom", "custom"] {
            assert_eq!(channel(name).map(|read| read.cells[0]).ok(), Some(2.0), "{name}");
        }
        let error = channel("b").expect_err("there is none").to_string();
        assert!(error.contains("there is no channel b; choose one with --channel: Y, a.custom"), "{error}");
    }

    #[test]
    fn non_finite_exr_cells_are_filled() {
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MIN, 1e10] {
            let samples = FlatSamples::F32(vec![3.0, 3.0, 3.0, 3.0, value, 3.0]);
            let read = read_channels(vec![AnyChannel::new("Y", samples)]).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((read.cells[4], read.nodata.map(|mask| mask[4]), read.warnings.len()), (3.0, Some(1.0), 2));
        }
    }

    /// Writes 70 × 50 elevations with this encoding.
    fn write_as(path: &Path, encoding: Encoding) -> Grid {
        let grid = Grid::from_fn(70, 50, |x, y| (x * 3 + y * y) as f32);
        put(path, (70, 50), vec![AnyChannel::new("Y", FlatSamples::F32(grid.to_vec()))], encoding);
        grid
    }

    #[test]
    fn exr_reads_every_line_order_tiling_and_compression() {
        use exr::{image::Blocks, meta::attribute::LineOrder, prelude::Compression};
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.exr");
        let decreasing = Encoding { line_order: LineOrder::Decreasing, ..Encoding::SMALL_LOSSLESS };
        let tiles = Encoding { compression: Compression::RLE, blocks: Blocks::Tiles(Vec2(16, 24)), ..decreasing };
        for encoding in [Encoding::UNCOMPRESSED, Encoding::SMALL_LOSSLESS, decreasing, tiles, Encoding::FAST_LOSSLESS] {
            let grid = write_as(&path, encoding);
            let whole = read(&path, &ReadConstraints::anything()).unwrap_or_else(|error| panic!("{error}"));
            assert!(whole.cells == grid, "{encoding:?}");
            let smaller = read(&path, &ReadConstraints::sized(Some((33, 9))));
            assert!(smaller.unwrap_or_else(|error| panic!("{error}")).size == (70, 50), "{encoding:?}");
        }
    }

    #[test]
    fn linear_exr_has_half_floats_and_optional_alpha() {
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
    fn exr_checksum_mismatch_is_detected() {
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
