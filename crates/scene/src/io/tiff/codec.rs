//! Compression and predictors of TIFF.

use std::io::{self, Read};

use zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};
use zune_jpeg::{JpegDecoder, errors::DecodeErrors};

use crate::io::jpeg;

/// Memory of the decoder of LZMA, in KiB: enough for the largest preset.
const XZ_KIB: u32 = 80 << 10;

/// Decompresses a strip or tile of at most `most` bytes.
///
/// # Errors
/// The bytes are malformed, or the method is not supported (`Unsupported`).
pub(super) fn decompress(method: u64, bytes: Vec<u8>, most: usize) -> io::Result<Vec<u8>> {
    match method {
        1 => Ok(bytes),
        5 => {
            let mut data = Vec::new();
            let mut decoder = weezl::decode::Decoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8);
            let decoded = decoder.into_stream(BoundedWriter { data: &mut data, most }).decode(bytes.as_slice());
            // Bytes after the last one needed do not matter.
            if data.len() < most { decoded.status.map(|_| data) } else { Ok(data) }
        }
        8 | 32946 => bounded(flate2::read::ZlibDecoder::new(&bytes[..]), most),
        32773 => Ok(packed_bits(&bytes, most)),
        34925 => bounded(lzma_rust2::XzReader::new_mem_limit(&bytes[..], true, XZ_KIB), most),
        50000 => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(&bytes[..]).map_err(io::Error::other)?;
            bounded(decoder, most)
        }
        method => {
            let name = match method {
                2..=4 => "CCITT fax",
                6 => "old-style JPEG",
                33003 | 33005 | 34712 => "JPEG 2000",
                34676 | 34677 => "SGI LogLuv",
                50001 => "WebP",
                50002 | 52546 => "JPEG XL",
                _ => "an unknown method",
            };
            Err(io::Error::new(io::ErrorKind::Unsupported, format!("compression with {name} (method {method}) is")))
        }
    }
}

/// Writer that stops at a maximum length.
struct BoundedWriter<'a> {
    data: &'a mut Vec<u8>,
    most: usize,
}

impl io::Write for BoundedWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.most - self.data.len();
        if left == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(left);
        self.data.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads at most `most` bytes. Data that end early or are damaged after the last byte needed are complete.
fn bounded(reader: impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut data = Vec::new();
    reader.take(most as u64).read_to_end(&mut data)?;
    Ok(data)
}

/// Expands runs of equal bytes (PackBits).
fn packed_bits(bytes: &[u8], most: usize) -> Vec<u8> {
    let (mut data, mut rest) = (Vec::new(), bytes);
    while let Some((&head, after)) = rest.split_first() {
        rest = after;
        let length = usize::from(head);
        match head {
            0..128 => {
                let taken = (length + 1).min(rest.len());
                data.extend_from_slice(&rest[..taken]);
                rest = &rest[taken..];
            }
            128 => {}
            _ => {
                let Some((&value, after)) = rest.split_first() else { break };
                data.resize(data.len() + 257 - length, value);
                rest = after;
            }
        }
        if data.len() >= most {
            data.truncate(most);
            break;
        }
    }
    data
}

/// Decodes JPEG of 8 bits per sample to interleaved samples. `tables` are those that all strips or tiles share. `converts` is `true` if
/// three samples are stored as luminance and chrominance.
///
/// # Errors
/// The bytes are malformed or truncated.
pub(super) fn decode_jpeg(
    tables: &[u8],
    bytes: &[u8],
    samples: usize,
    converts: bool,
    largest: [usize; 2],
) -> io::Result<(Vec<u8>, [usize; 2])> {
    // Tables end with an end marker, and the image begins with a start marker.
    let joined = match (tables.strip_suffix(&[0xff, 0xd9]), bytes.strip_prefix(&[0xff, 0xd8])) {
        (Some(tables), Some(image)) if tables.len() >= 2 => [tables, image].concat(),
        _ => bytes.to_vec(),
    };
    if !jpeg::is_complete(joined.iter().copied()) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let malformed = |error: DecodeErrors| io::Error::other(format!("{error:?}"));
    let options = DecoderOptions::default().set_max_width(largest[0]).set_max_height(largest[1]);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(&joined), options);
    decoder.decode_headers().map_err(malformed)?;
    let space = match (samples, decoder.input_colorspace()) {
        (1, _) => ColorSpace::Luma,
        (3, _) if converts => ColorSpace::RGB,
        // Asked for in the space in which they are stored, samples stay as they are.
        (3, Some(ColorSpace::YCbCr | ColorSpace::YCCK)) => ColorSpace::YCbCr,
        (3, _) => ColorSpace::RGB,
        (4, _) => ColorSpace::CMYK,
        _ => return Err(io::Error::new(io::ErrorKind::Unsupported, format!("JPEG of {samples} bands is"))),
    };
    decoder.set_options(options.jpeg_set_out_colorspace(space));
    let pixels = decoder.decode().map_err(malformed)?;
    let size = decoder.dimensions().unwrap_or_default();
    Ok((pixels, [size.0, size.1]))
}

/// Reverts horizontal differencing of samples of this many bytes, `stride` samples per pixel, in a row.
///
/// # Errors
/// The size of a sample is not supported.
pub(super) fn undo_differences(row: &mut [u8], size: usize, stride: usize, big_endian: bool) -> io::Result<()> {
    macro_rules! sum {
        ($kind:ty) => {{
            const SIZE: usize = size_of::<$kind>();
            let (read, write): (fn([u8; SIZE]) -> $kind, fn($kind) -> [u8; SIZE]) = if big_endian {
                (<$kind>::from_be_bytes, <$kind>::to_be_bytes)
            } else {
                (<$kind>::from_le_bytes, <$kind>::to_le_bytes)
            };
            let (cells, _) = row.as_chunks_mut::<SIZE>();
            for at in stride..cells.len() {
                cells[at] = write(read(cells[at]).wrapping_add(read(cells[at - stride])));
            }
        }};
    }
    match size {
        1 => sum!(u8),
        2 => sum!(u16),
        4 => sum!(u32),
        8 => sum!(u64),
        _ => return Err(io::Error::new(io::ErrorKind::Unsupported, "a predictor for samples of this size is")),
    }
    Ok(())
}

/// Reverts the floating-point predictor in a row: bytes of equal significance are stored together, as differences. The result is in the
/// byte order of the file.
pub(super) fn undo_float_differences(row: &mut [u8], size: usize, stride: usize, big_endian: bool) {
    for at in stride..row.len() {
        row[at] = row[at].wrapping_add(row[at - stride]);
    }
    let count = row.len() / size;
    let planes = row.to_vec();
    for (index, cell) in row.chunks_exact_mut(size).enumerate() {
        for (significance, byte) in cell.iter_mut().enumerate() {
            let plane = if big_endian { significance } else { size - 1 - significance };
            *byte = planes[plane * count + index];
        }
    }
}
