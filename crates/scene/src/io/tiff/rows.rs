//! Rows of samples from the strips or tiles of a TIFF.

use std::io::{Error, ErrorKind, Result};

use half::f16;
use lerc_reader::BandElement;

use super::{
    codec,
    directory::{Directory, TiffFile},
};

/// Compression with a predictor: LZW, Deflate, LZMA and Zstandard. Any other ignores its tag.
const PREDICTED: [u64; 5] = [5, 8, 32946, 34925, 50000];

/// Layout of an image: everything that is needed to find and decode its samples.
pub(super) struct TiffImage {
    pub width: u64,
    pub height: u64,
    /// Bits per sample.
    pub bits: usize,
    /// Number of samples per pixel.
    pub samples: usize,
    pub format: SampleFormat,
    pub compression: u64,
    pub photometric: Option<u64>,
    /// `true` if each sample has its own strips or tiles.
    planar: bool,
    predictor: u64,
    /// `true` if the first bit of a byte is its least significant.
    reversed: bool,
    /// Columns and rows of a strip or tile.
    pub chunk: [u64; 2],
    is_tiled: bool,
    offsets: Vec<u64>,
    counts: Vec<u64>,
    /// Meaning of the samples after those of the photometric interpretation: 1 and 2 are opacity.
    pub extra: Vec<u64>,
    jpeg_tables: Vec<u8>,
    /// Compression of LERC data: 1 for Deflate, 2 for Zstandard.
    lerc_compression: u64,
}

/// Returns the maximum length that is read of a stored strip or tile, from its decoded length in bytes. Only headers and tables can make
/// it longer than what it decodes to.
fn longest_stored(decoded: u64) -> u64 {
    decoded.saturating_mul(2).saturating_add(1 << 16)
}

/// Format of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SampleFormat {
    Unsigned,
    Signed,
    Float,
}

/// Returns the error about a property that is not supported: a noun phrase with its verb.
fn unsupported(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, what.into())
}

impl TiffImage {
    /// Reads the layout from a directory.
    ///
    /// # Errors
    /// It is not supported (`Unsupported`) or incomplete (`InvalidInput`).
    pub fn of(directory: &Directory, file: &TiffFile) -> Result<Self> {
        let integer = |tag| directory.integer(file, tag);
        let missing = |what: &str| Error::new(ErrorKind::InvalidInput, format!("{what} missing"));
        let width = integer(256).ok_or_else(|| missing("width"))?;
        let height = integer(257).ok_or_else(|| missing("height"))?;
        let samples = integer(277).unwrap_or(1);
        let list = directory.integers(file, 258);
        let bits = list.first().copied().unwrap_or(1);
        if list.iter().any(|other| *other != bits) || !(1..=64).contains(&bits) {
            return Err(unsupported(if list.iter().any(|other| *other != bits) {
                "bands of different bit depths are".to_owned()
            } else {
                format!("samples of {bits} bits are")
            }));
        }
        let format = match directory.integers(file, 339).first() {
            None | Some(1 | 4) => SampleFormat::Unsigned,
            Some(2) => SampleFormat::Signed,
            Some(3) => SampleFormat::Float,
            Some(_) => return Err(unsupported("bands of complex numbers are")),
        };
        if format == SampleFormat::Float && ![16, 24, 32, 64].contains(&bits) {
            return Err(unsupported(format!("floats of {bits} bits are")));
        }
        if !(1..=4096).contains(&samples) {
            return Err(unsupported(format!("{samples} bands are")));
        }
        let tile = integer(322).zip(integer(323));
        let (offsets, mut counts) = match tile {
            Some(_) => (directory.integers(file, 324), directory.integers(file, 325)),
            None => (directory.integers(file, 273), directory.integers(file, 279)),
        };
        if counts.len() < offsets.len() {
            // Up to the next strip or the end of the file.
            let mut sorted = offsets.clone();
            sorted.sort_unstable();
            let length = |offset: &u64| {
                let next = sorted.get(sorted.partition_point(|other| other <= offset)).copied();
                next.unwrap_or(file.length()).saturating_sub(*offset)
            };
            counts.extend(offsets[counts.len()..].iter().map(length));
        }
        let chunk = match tile {
            Some((wide, tall)) => [wide, tall],
            None => [width, integer(278).filter(|rows| *rows > 0).unwrap_or(height).min(height)],
        };
        if chunk.contains(&0) {
            return Err(missing("tile size"));
        }
        let compression = integer(259).unwrap_or(1);
        Ok(Self {
            width,
            height,
            bits: bits as usize,
            samples: samples as usize,
            format,
            compression,
            photometric: integer(262),
            planar: integer(284) == Some(2) && samples > 1,
            predictor: integer(317).filter(|_| PREDICTED.contains(&compression)).unwrap_or(1),
            reversed: integer(266) == Some(2),
            chunk,
            is_tiled: tile.is_some(),
            offsets,
            counts,
            extra: directory.integers(file, 338),
            jpeg_tables: directory.bytes(347).to_vec(),
            lerc_compression: directory.integers(file, 50674).get(1).copied().unwrap_or(0),
        })
    }

    /// Returns the number of samples per pixel of a strip or tile.
    fn stride(&self) -> usize {
        if self.planar { 1 } else { self.samples }
    }

    /// Returns the bytes of a row of a strip or tile, or `None` if they exceed any memory.
    fn row_bytes(&self) -> Option<usize> {
        let bits = self.chunk[0].checked_mul(self.stride() as u64)?.checked_mul(self.bits as u64)?;
        usize::try_from(bits.div_ceil(8)).ok()
    }

    /// Returns the memory that reading needs in addition to the rows, in bytes.
    pub fn memory(&self) -> u64 {
        let row = self.row_bytes().map_or(u64::MAX, |bytes| bytes as u64);
        // Decoded strips or tiles side by side, and one as stored; LERC has a copy of one, and its mask.
        let copies = if self.compression == 34887 { 4 } else { 1 };
        let across = self.width.div_ceil(self.chunk[0]).saturating_add(copies);
        let chunk = row.saturating_mul(self.chunk[1]);
        let decoded = chunk.saturating_mul(across).saturating_add(self.width.saturating_mul(16));
        decoded.saturating_add(longest_stored(chunk))
    }

    /// Returns the smallest and largest value of an integer sample.
    pub fn limits(&self) -> [f64; 2] {
        let span = (self.bits as f64).exp2();
        if self.format == SampleFormat::Signed { [-span / 2.0, span / 2.0 - 1.0] } else { [0.0, span - 1.0] }
    }

    /// Reads and decodes a strip or tile.
    fn chunk(&self, file: &mut TiffFile, index: usize, rows: usize) -> Result<TiffBlock> {
        let row_bytes = self.row_bytes().ok_or(ErrorKind::OutOfMemory)?;
        let most = row_bytes.checked_mul(rows).ok_or(ErrorKind::OutOfMemory)?;
        let Some(&offset) = self.offsets.get(index) else { return Err(ErrorKind::UnexpectedEof.into()) };
        let Some(&count) = self.counts.get(index) else { return Err(ErrorKind::UnexpectedEof.into()) };
        // A sparse file omits strips and tiles without data.
        if offset == 0 || count == 0 {
            return Ok(TiffBlock::Empty);
        }
        let longest = if self.compression == 1 { most as u64 } else { longest_stored(most as u64) };
        let count = count.min(longest);
        let mut bytes = file.bytes(offset, count)?;
        if self.reversed && self.compression != 7 {
            bytes.iter_mut().for_each(|byte| *byte = byte.reverse_bits());
        }
        match self.compression {
            7 if self.bits != 8 => Err(unsupported(format!("JPEG of {} bits is", self.bits))),
            7 => {
                let largest = [self.chunk[0] as usize, self.chunk[1] as usize];
                let (pixels, [width, _]) =
                    codec::decode_jpeg(&self.jpeg_tables, &bytes, self.stride(), self.photometric == Some(6), largest)?;
                if width == largest[0] { Ok(TiffBlock::Bytes(pixels)) } else { Err(ErrorKind::InvalidData.into()) }
            }
            34887 => self.lerc(bytes, most, rows),
            method => self.unpredicted(codec::decompress(method, bytes, most)?, row_bytes, file.big_endian),
        }
    }

    /// Decodes LERC, which may be compressed again.
    fn lerc(&self, bytes: Vec<u8>, most: usize, rows: usize) -> Result<TiffBlock> {
        // The header and mask of a chunk that is hard to compress.
        let most = most.saturating_mul(2).saturating_add(4096);
        let bytes = match self.lerc_compression {
            0 => bytes,
            1 => codec::decompress(8, bytes, most)?,
            2 => codec::decompress(50000, bytes, most)?,
            _ => return Err(unsupported("LERC with an unknown second compression is")),
        };
        let malformed = |error| Error::new(ErrorKind::InvalidData, format!("{error}"));
        let info = lerc_reader::inspect_first_with_options(
            &bytes,
            lerc_reader::InspectOptions::new().with_compute_value_range(false),
        );
        let info = info.map_err(malformed)?;
        let expected = (self.chunk[0], self.stride() as u64);
        if (u64::from(info.width), u64::from(info.depth)) != expected
            || (info.height as usize) < rows
            || u64::from(info.height) > self.chunk[1]
        {
            return Err(ErrorKind::InvalidData.into());
        }
        let decoded = lerc_reader::decode_first(&bytes).map_err(malformed)?;
        // Writers encode numbers in the byte order of the file as if they were little-endian.
        macro_rules! bytes {
            ($kind:ty) => {
                <$kind>::from_pixel_data(decoded.pixels)
                    .map_err(malformed)?
                    .into_iter()
                    .flat_map(<$kind>::to_le_bytes)
                    .collect::<Vec<u8>>()
            };
        }
        let mut bytes = match (self.format, self.bits) {
            (SampleFormat::Unsigned, 8) => bytes!(u8),
            (SampleFormat::Unsigned, 16) => bytes!(u16),
            (SampleFormat::Unsigned, 32) => bytes!(u32),
            (SampleFormat::Signed, 8) => bytes!(i8),
            (SampleFormat::Signed, 16) => bytes!(i16),
            (SampleFormat::Signed, 32) => bytes!(i32),
            (SampleFormat::Float, 32) => bytes!(f32),
            (SampleFormat::Float, 64) => bytes!(f64),
            _ => return Err(unsupported(format!("LERC of {} bits is", self.bits))),
        };
        let pixel = self.stride() * self.bits / 8;
        if bytes.len() != info.width as usize * info.height as usize * pixel {
            return Err(ErrorKind::InvalidData.into());
        }
        if let Some(mask) = decoded.mask.filter(|_| self.format == SampleFormat::Float) {
            // All bits set are NaN in either byte order.
            for (pixel, _) in bytes.chunks_mut(pixel).zip(mask).filter(|(_, valid)| *valid == 0) {
                pixel.fill(0xff);
            }
        }
        Ok(TiffBlock::Bytes(bytes))
    }

    fn unpredicted(&self, mut data: Vec<u8>, row_bytes: usize, big_endian: bool) -> Result<TiffBlock> {
        let (size, stride) = (self.bits / 8, self.stride());
        let whole = self.bits.is_multiple_of(8);
        match self.predictor {
            1 => {}
            2 if whole => {
                data.chunks_mut(row_bytes)
                    .try_for_each(|row| codec::undo_differences(row, size, stride, big_endian))?;
            }
            3 if self.format == SampleFormat::Float => {
                data.chunks_exact_mut(row_bytes)
                    .for_each(|row| codec::undo_float_differences(row, size, stride, big_endian));
            }
            other => return Err(unsupported(format!("predictor {other} for samples of {} bits is", self.bits))),
        }
        Ok(TiffBlock::Bytes(data))
    }

    /// Decodes the sample at this index of a row of samples; `None` if the row ends before it.
    fn sample(&self, row: &[u8], index: usize, big_endian: bool) -> Option<f64> {
        let is_packed = !matches!(self.bits, 8 | 16 | 32 | 64) && self.format != SampleFormat::Float;
        let raw = if !is_packed {
            let size = self.bits / 8;
            let bytes = row.get(index * size..(index + 1) * size)?;
            let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
            if big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
        } else {
            // Samples of other sizes are packed, most significant bit first.
            let first = index * self.bits;
            let last = (first + self.bits - 1) / 8;
            let bytes = row.get(first / 8..=last)?;
            let add = |number: u128, byte: &u8| number << 8 | u128::from(*byte);
            // As GDAL writes them, the three bytes of a sample of 24 bits are reversed in a big-endian file.
            let all =
                if big_endian && self.bits == 24 { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) };
            let behind = bytes.len() * 8 - first % 8 - self.bits;
            (all >> behind) as u64 & (u64::MAX >> (64 - self.bits))
        };
        Some(match (self.format, self.bits) {
            (SampleFormat::Unsigned, _) => raw as f64,
            (SampleFormat::Signed, bits) => ((raw << (64 - bits)) as i64 >> (64 - bits)) as f64,
            (SampleFormat::Float, 16) => f16::from_bits(raw as u16).to_f64(),
            (SampleFormat::Float, 24) => float_24(raw as u32),
            (SampleFormat::Float, 32) => f32::from_bits(raw as u32).into(),
            (SampleFormat::Float, _) => f64::from_bits(raw),
        })
    }
}

/// Converts a float of 24 bits: sign, 7 bits of exponent, 16 of fraction.
fn float_24(bits: u32) -> f64 {
    let (exponent, fraction) = (bits >> 16 & 0x7f, f64::from(bits & 0xffff) / 65536.0);
    let size = match exponent {
        0 => fraction * (-62_f64).exp2(),
        0x7f if fraction > 0.0 => f64::NAN,
        0x7f => f64::INFINITY,
        _ => (1.0 + fraction) * (f64::from(exponent) - 63.0).exp2(),
    };
    if bits >> 23 & 1 == 1 { -size } else { size }
}

/// Decoded strip or tile.
enum TiffBlock {
    /// No data.
    Empty,
    /// Samples as stored.
    Bytes(Vec<u8>),
}

/// Reader of the rows of one band, from the first to the last.
pub(super) struct BandRows {
    file: TiffFile,
    image: TiffImage,
    /// Index of the band.
    band: usize,
    /// Row of strips or tiles that is decoded, and its index.
    current: Option<(usize, Vec<TiffBlock>)>,
}

impl BandRows {
    pub fn new(file: TiffFile, image: TiffImage, band: usize) -> Self {
        Self { file, image, band, current: None }
    }

    /// Reads a row of values. Sparse cells are `empty`.
    ///
    /// # Errors
    /// A strip or tile is malformed, truncated, not supported or cannot be read.
    pub fn read(&mut self, row: usize, values: &mut [f64], empty: f64) -> Result<()> {
        let Self { file, image, band, current } = self;
        let [wide, tall] = image.chunk.map(|side| side as usize);
        let down = row / tall;
        let across = image.width.div_ceil(image.chunk[0]) as usize;
        if current.as_ref().is_none_or(|(index, _)| *index != down) {
            *current = None;
            let rows = if image.is_tiled { tall } else { tall.min(image.height as usize - down * tall) };
            let plane = if image.planar { *band * across * (image.height as usize).div_ceil(tall) } else { 0 };
            let first = plane + down * across;
            let chunks = (first..first + across).map(|index| image.chunk(file, index, rows));
            *current = Some((down, chunks.collect::<Result<_>>()?));
        }
        let Some((_, chunks)) = current else { return Ok(()) };
        let (stride, sample) = if image.planar { (1, 0) } else { (image.samples, *band) };
        let row_bytes = image.row_bytes().ok_or(ErrorKind::OutOfMemory)?;
        let (row, eof) = (row % tall, || Error::from(ErrorKind::UnexpectedEof));
        for (chunk, values) in chunks.iter().zip(values.chunks_mut(wide)) {
            match chunk {
                TiffBlock::Empty => values.fill(empty),
                TiffBlock::Bytes(bytes) => {
                    let line = bytes.get(row * row_bytes..).ok_or_else(eof)?;
                    let line = &line[..row_bytes.min(line.len())];
                    for (index, value) in values.iter_mut().enumerate() {
                        *value = image.sample(line, index * stride + sample, file.big_endian).ok_or_else(eof)?;
                    }
                }
            }
        }
        Ok(())
    }
}
