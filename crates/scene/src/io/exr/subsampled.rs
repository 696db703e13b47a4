//! OpenEXR images with subsampled channels, which the crate `exr` does not read: a single part of scan lines, uncompressed or with a
//! lossless compression or PXR24 (OpenEXR file layout).

use std::{
    io::{Cursor, Read, Seek, SeekFrom},
    ops::Range,
    path::Path,
};

use exr::{
    meta::{BlockDescription, header::Header},
    prelude::{ChannelDescription, Compression, IntegerBounds, LineOrder, SampleType, SmallVec, Text, Vec2, f16},
};

use super::{NEEDED, near, rank};
use crate::io::{
    Error,
    input::{open, start_of},
    raster::{Raster, RasterLayout, ReadConstraints, SampleScale},
};

/// Maximum length of the header, in bytes.
const LONGEST_HEADER: u64 = 1 << 20;
/// Bits of the version for tiles, deep data and several parts.
const OTHER_LAYOUTS: u32 = 0x1a00;

/// Channel of an image.
struct SubsampledChannel {
    name: String,
    /// 0 for integers, 1 for half floats, 2 for floats.
    kind: u32,
    /// Distance of its samples in columns and rows.
    sampling: [i64; 2],
}

/// Header of an image.
struct ScanLines {
    channels: Vec<SubsampledChannel>,
    /// First and last column and row.
    window: [i64; 4],
    compression: u8,
    /// Position of the table of chunks.
    table: u64,
}

impl SubsampledChannel {
    fn bytes(&self) -> usize {
        if self.kind == 1 { 2 } else { 4 }
    }

    /// Returns the number of its samples in a row from one column to another.
    fn samples(&self, [first, last]: [i64; 2]) -> usize {
        let step = self.sampling[0];
        (last.div_euclid(step) - (first - 1).div_euclid(step)).max(0) as usize
    }

    fn value(&self, bytes: &[u8]) -> f64 {
        match (self.kind, bytes) {
            (0, &[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]).into(),
            (1, &[a, b]) => near(f16::from_le_bytes([a, b]).to_f64()),
            (_, &[a, b, c, d]) => near(f32::from_le_bytes([a, b, c, d]).into()),
            _ => f64::NAN,
        }
    }
}

/// Reads the elevation channel. A subsampled one is repeated between its samples.
///
/// # Errors
/// The layout is not supported, the file is malformed or truncated, its size is rejected, or a cell is out of range.
pub(super) fn read(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    let bad = |wrong: &str| Error::input(path, wrong, NEEDED);
    let start = start_of(path, LONGEST_HEADER)?;
    let header = ScanLines::parse(&start)
        .ok_or_else(|| bad("subsampled channels in tiles or several parts are not supported"))?;
    let [first_x, first_y, last_x, last_y] = header.window;
    let size = expected.admit(path, (last_x - first_x + 1).max(0) as u64, (last_y - first_y + 1).max(0) as u64)?;
    let refused = || bad("subsampled channels with this compression are not supported, save it with ZIP");
    let (lines, decoder) = match header.compression {
        0..=2 => (1, None),
        3 => (16, None),
        code @ (4 | 5) => {
            let compression = if code == 4 { Compression::PIZ } else { Compression::PXR24 };
            (compression.scan_lines_per_block(), Some(header.decoder(compression, size).ok_or_else(refused)?))
        }
        _ => return Err(refused()),
    };
    let asked = expected.options.channel.as_deref();
    let is_asked = |channel: &&SubsampledChannel| asked.is_none_or(|asked| channel.name.eq_ignore_ascii_case(asked));
    let chosen =
        header.channels.iter().filter(is_asked).min_by_key(|channel| rank(&channel.name).unwrap_or(usize::MAX));
    let chosen = chosen.ok_or_else(|| bad("there is no such channel"))?;
    let mut warnings = Vec::new();
    if chosen.sampling != [1, 1] {
        let [x, y] = chosen.sampling;
        warnings
            .push(format!("channel {} is subsampled ({x} × {y} pixels per sample); samples are repeated", chosen.name));
    }
    // Bytes of a line of the image.
    let line_bytes = |y: i64| -> usize {
        let has_line = |channel: &&SubsampledChannel| y.rem_euclid(channel.sampling[1]) == 0;
        header
            .channels
            .iter()
            .filter(has_line)
            .map(|channel| channel.samples([first_x, last_x]) * channel.bytes())
            .sum()
    };
    let samples = if chosen.kind == 0 { SampleScale::Integers([0.0, u32::MAX.into()]) } else { SampleScale::Floats };
    let extra_bytes = (3 * lines * size.0 * 4 * header.channels.len()) as u64;
    let layout = RasterLayout { extra_bytes, ..RasterLayout::new(size, samples, warnings) };
    expected.raster(path, layout, |rows| {
        let cut = || bad("not a complete EXR image");
        let mut file = open(path)?;
        let (mut row, mut known) = (vec![f64::NAN; size.0], Vec::new());
        for chunk in 0..size.1.div_ceil(lines) {
            let mut bytes = |from: u64, count: usize| -> Option<Vec<u8>> {
                file.seek(SeekFrom::Start(from)).ok()?;
                let mut bytes = Vec::new();
                (&mut file).take(count as u64).read_to_end(&mut bytes).ok()?;
                (bytes.len() == count).then_some(bytes)
            };
            let at = bytes(header.table + 8 * chunk as u64, 8).ok_or_else(cut)?;
            let at = u64::from_le_bytes(at.try_into().unwrap_or_default());
            let head = bytes(at, 8).ok_or_else(cut)?;
            let stored = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
            let ys = || (first_y + (chunk * lines) as i64..=last_y).take(lines);
            let count = ys().map(line_bytes).sum();
            let data = bytes(at + 8, stored.min(2 * count + 1024)).ok_or_else(cut)?;
            let data = match &decoder {
                _ if stored == count => Some(data),
                Some(decoder) => decoded(decoder, chunk * lines..size.1.min((chunk + 1) * lines), data),
                None => expanded(header.compression, &data, count),
            };
            let mut data = Cursor::new(data.ok_or_else(cut)?);
            for y in ys() {
                for channel in header.channels.iter().filter(|channel| y.rem_euclid(channel.sampling[1]) == 0) {
                    let mut line = vec![0; channel.samples([first_x, last_x]) * channel.bytes()];
                    data.read_exact(&mut line).map_err(|_| cut())?;
                    if std::ptr::eq(channel, chosen) {
                        known = line.chunks(channel.bytes()).map(|bytes| channel.value(bytes)).collect();
                    }
                }
                for (column, cell) in row.iter_mut().enumerate() {
                    let x = first_x + column as i64;
                    let before = chosen.samples([first_x, x]).saturating_sub(1);
                    *cell = known.get(before).copied().unwrap_or(f64::NAN);
                }
                rows.push(&row)?;
            }
        }
        Ok(())
    })
}

impl ScanLines {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let int = |at: usize| Some(i32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let text = |at: usize| {
            let length = bytes.get(at..)?.iter().position(|byte| *byte == 0)?;
            Some((String::from_utf8_lossy(&bytes[at..at + length]).into_owned(), at + length + 1))
        };
        if int(0)? != 20_000_630 || int(4)? as u32 & OTHER_LAYOUTS != 0 {
            return None;
        }
        let (mut at, mut channels, mut window, mut compression) = (8, Vec::new(), None, None);
        while *bytes.get(at)? != 0 {
            let (name, after) = text(at)?;
            let (_, after) = text(after)?;
            let (length, inside) = (usize::try_from(int(after)?).ok()?, after + 4);
            match name.as_str() {
                "channels" => {
                    let mut at = inside;
                    while *bytes.get(at)? != 0 {
                        let (name, after) = text(at)?;
                        let sampling = [int(after + 8)?, int(after + 12)?].map(i64::from);
                        if sampling.iter().any(|step| !(1..=1 << 14).contains(step)) {
                            return None;
                        }
                        channels.push(SubsampledChannel { name, kind: int(after)? as u32, sampling });
                        at = after + 16;
                    }
                }
                "dataWindow" => {
                    let [x, y, right, bottom] = [int(inside)?, int(inside + 4)?, int(inside + 8)?, int(inside + 12)?];
                    window = Some([x, y, right, bottom].map(i64::from));
                }
                "compression" => compression = bytes.get(inside).copied(),
                _ => {}
            }
            at = inside.checked_add(length)?;
        }
        Some(Self { channels, window: window?, compression: compression?, table: at as u64 + 1 })
    }

    /// Returns the header with which the crate `exr` decodes chunks, or `None` if chunks do not consist of whole samples and, on
    /// average, of whole bytes per pixel.
    fn decoder(&self, compression: Compression, (width, height): (usize, usize)) -> Option<Header> {
        let ([first_x, first_y, ..], lines) = (self.window, compression.scan_lines_per_block());
        let (mut bytes, mut channels) = (0, SmallVec::new());
        for channel in &self.channels {
            let [across, down] = channel.sampling;
            let is_whole = [first_x, width as i64].iter().all(|side| side % across == 0)
                && [first_y, height as i64, lines as i64].iter().all(|side| side % down == 0);
            let sample_type = match channel.kind {
                0 => SampleType::U32,
                1 => SampleType::F16,
                2 => SampleType::F32,
                _ => return None,
            };
            if !is_whole {
                return None;
            }
            let sampling = Vec2(across as usize, down as usize);
            bytes += width * height / sampling.area() * channel.bytes();
            channels.push(ChannelDescription { sampling, ..ChannelDescription::new("Y", sample_type, false) });
        }
        let mut header = Header::new(Text::from("chunks"), (width, height), channels).with_encoding(
            compression,
            BlockDescription::ScanLines,
            LineOrder::Increasing,
        );
        header.channels.bytes_per_pixel = bytes / (width * height);
        (bytes % (width * height) == 0).then_some(header)
    }
}

/// Decodes a chunk of these rows. The samples have the byte order of the machine: little endian on all supported ones.
fn decoded(decoder: &Header, rows: Range<usize>, bytes: Vec<u8>) -> Option<Vec<u8>> {
    let section = IntegerBounds::new((0, rows.start as i32), (decoder.layer_size.0, rows.len()));
    decoder.compression.decompress_image_section_from_le(decoder, bytes, section, false).ok()
}

/// Expands a chunk of `count` bytes: RLE, or Deflate.
fn expanded(compression: u8, bytes: &[u8], count: usize) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    if compression == 1 {
        let mut rest = bytes;
        while let Some((&head, after)) = rest.split_first() {
            let length = i32::from(head as i8);
            if length < 0 {
                data.extend_from_slice(after.get(..(-length) as usize)?);
                rest = &after[(-length) as usize..];
            } else {
                let (&value, after) = after.split_first()?;
                data.resize(data.len() + length as usize + 1, value);
                rest = after;
            }
            if data.len() > count {
                return None;
            }
        }
    } else {
        flate2::read::ZlibDecoder::new(bytes).take(count as u64).read_to_end(&mut data).ok()?;
    }
    if data.len() != count {
        return None;
    }
    // Differences of bytes, then bytes of even and odd positions.
    for at in 1..count {
        data[at] = data[at].wrapping_add(data[at - 1]).wrapping_sub(128);
    }
    let (even, odd) = data.split_at(count.div_ceil(2));
    Some((0..count).map(|at| if at % 2 == 0 { even[at / 2] } else { odd[at / 2] }).collect())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use thalweg_sim::core::grid::Grid;

    const SIZE: (usize, usize) = (64, 48);

    /// Returns a height whose lower 16 bits are zero, so that PXR24 keeps it.
    fn height(x: usize, y: usize) -> f32 {
        1024.0 + 8.0 * (x + y) as f32
    }

    /// Returns the header of an image of two channels of chroma, 2 × 2 pixels per sample, and one of heights.
    fn header(compression: u8) -> Vec<u8> {
        let numbers = |numbers: &[i32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        let channel = |name: &str, step: i32| {
            let mut bytes = format!("{name}\0").into_bytes();
            bytes.extend(numbers(&[2, 0, step, step]));
            bytes
        };
        let channels = [channel("BY", 2), channel("RY", 2), channel("Y", 1), vec![0]].concat();
        let window = numbers(&[0, 0, SIZE.0 as i32 - 1, SIZE.1 as i32 - 1]);
        let mut bytes = numbers(&[20_000_630, 2]);
        for (name, value) in [("channels", channels), ("compression", vec![compression]), ("dataWindow", window)] {
            bytes.extend_from_slice(format!("{name}\0type\0").as_bytes());
            bytes.extend_from_slice(&numbers(&[value.len() as i32]));
            bytes.extend_from_slice(&value);
        }
        bytes.push(0);
        bytes
    }

    /// Returns the lines of the channels in these rows, in the order of the file.
    fn lines(rows: Range<usize>) -> Vec<Vec<f32>> {
        let mut lines = Vec::new();
        for y in rows {
            if y % 2 == 0 {
                lines.extend(std::iter::repeat_n(vec![0.25; SIZE.0 / 2], 2));
            }
            lines.push((0..SIZE.0).map(|x| height(x, y)).collect());
        }
        lines
    }

    /// Returns a chunk of these rows in PIZ.
    fn to_piz(decoder: &Header, rows: Range<usize>) -> Vec<u8> {
        let section = IntegerBounds::new((0, rows.start as i32), (SIZE.0, rows.len()));
        let bytes = lines(rows).concat().into_iter().flat_map(f32::to_le_bytes).collect();
        Compression::PIZ.compress_image_section_to_le(decoder, bytes, section).expect("it is supported")
    }

    /// Returns a chunk of these rows in PXR24: differences of the upper 24 bits, by planes of bytes.
    fn to_pxr24(rows: Range<usize>) -> Vec<u8> {
        let mut planes = Vec::new();
        for line in lines(rows) {
            let bits: Vec<u32> = line.iter().map(|value| value.to_bits() >> 8).collect();
            let before = std::iter::once(0).chain(bits.iter().copied());
            let differences: Vec<[u8; 4]> =
                bits.iter().zip(before).map(|(bits, before)| bits.wrapping_sub(before).to_be_bytes()).collect();
            for plane in 1..4 {
                planes.extend(differences.iter().map(|bytes| bytes[plane]));
            }
        }
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&planes).expect("memory is writable");
        encoder.finish().expect("memory is writable")
    }

    #[test]
    fn heights_beside_subsampled_chroma_are_read_from_piz_and_pxr24() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("chroma.exr");
        for (code, compression) in [(4, Compression::PIZ), (5, Compression::PXR24)] {
            let mut bytes = header(code);
            let decoder = ScanLines::parse(&bytes).and_then(|header| header.decoder(compression, SIZE));
            let decoder = decoder.expect("its chunks have whole samples");
            let step = compression.scan_lines_per_block();
            let (mut table, mut chunks) = (Vec::new(), Vec::new());
            let data = bytes.len() + 8 * SIZE.1.div_ceil(step);
            for first in (0..SIZE.1).step_by(step) {
                let rows = first..SIZE.1.min(first + step);
                let raw = 4 * lines(rows.clone()).concat().len();
                let chunk = if code == 4 { to_piz(&decoder, rows) } else { to_pxr24(rows) };
                assert!(chunk.len() < raw, "the chunk is not compressed");
                table.extend_from_slice(&((data + chunks.len()) as u64).to_le_bytes());
                chunks.extend_from_slice(&(first as i32).to_le_bytes());
                chunks.extend_from_slice(&(chunk.len() as i32).to_le_bytes());
                chunks.extend_from_slice(&chunk);
            }
            bytes.extend(table);
            bytes.extend(chunks);
            std::fs::write(&path, &bytes).expect("it is writable");
            let whole = read(&path, &ReadConstraints::anything()).unwrap_or_else(|error| panic!("{error}"));
            assert!(whole.cells == Grid::from_fn(SIZE.0, SIZE.1, height), "{compression}");
            assert!(whole.warnings.iter().all(|warning| !warning.contains("subsampled")), "{:?}", whole.warnings);
            std::fs::write(&path, &bytes[..bytes.len() - 9]).expect("it is writable");
            assert!(read(&path, &ReadConstraints::anything()).is_err(), "{compression} cut short");
        }
    }
}
