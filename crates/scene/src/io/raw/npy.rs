//! Arrays of NumPy (`.npy`).

use std::{io::Read, path::Path};

use super::{RawLayout, truncated};
use crate::{
    io::{
        Error,
        description::Description,
        input::open,
        raster::{Raster, RasterLayout, ReadConstraints, SampleScale},
    },
    model::origin::{RawCells, RawKind},
};

const NEEDED: &str = "expected an array of numbers with two axes";
/// Maximum length of the header, in bytes.
const LONGEST_HEADER: u64 = 1 << 16;

/// Reads an array: rows from north to south, columns from west to east, in metres. Of a third axis, the first entry is read.
///
/// # Errors
/// The header is malformed, the type or number of axes is not supported, the file is truncated, or a value is out of range.
pub fn read_npy(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    let bad = |wrong: &str| Error::input(path, wrong, NEEDED);
    let mut start = Vec::new();
    let read = open(path)?.take(LONGEST_HEADER).read_to_end(&mut start);
    read.map_err(|error| truncated(path, &error))?;
    if !start.starts_with(b"\x93NUMPY") || start.len() < 12 {
        return Err(bad("not a NumPy array"));
    }
    let (length, from) = match start[6] {
        1 => (u32::from(u16::from_le_bytes([start[8], start[9]])), 10),
        _ => (u32::from_le_bytes([start[8], start[9], start[10], start[11]]), 12),
    };
    let first = from + length as usize;
    let header = start.get(from..first).ok_or_else(|| bad("the header is truncated"))?;
    let header = String::from_utf8_lossy(header);
    let after = |key: &str| header.split_once(key).map(|(_, after)| after.trim_start_matches(['\'', '"', ':', ' ']));
    let descr = after("descr").and_then(|text| text.split(['\'', '"']).next()).unwrap_or_default();
    let size = descr.get(2..).and_then(|size| size.parse::<u8>().ok()).unwrap_or(0);
    let kind = match (descr.get(1..2).unwrap_or_default(), size) {
        ("u", 1 | 2 | 4 | 8) | ("b", 1) => RawKind::Unsigned(size),
        ("i", 1 | 2 | 4 | 8) => RawKind::Signed(size),
        ("f", 2 | 4 | 8) => RawKind::Float(size),
        _ => return Err(bad(&format!("an array of type {descr}"))),
    };
    let kind = RawCells { kind, big_endian: descr.starts_with('>') };
    let is_transposed = after("fortran_order").is_some_and(|text| text.starts_with("True"));
    let shape = after("shape").and_then(|text| text.trim_start_matches('(').split(')').next()).unwrap_or_default();
    let shape: Vec<u64> = shape.split(',').filter_map(|side| side.trim().parse().ok()).collect();
    let size = u64::from(kind.kind.size());
    let (rows, columns, channels) = match shape[..] {
        [rows, columns] => (rows, columns, 1),
        [1, rows, columns] => (rows, columns, 1),
        [rows, columns, channels @ 1..=4] => (rows, columns, channels),
        _ => return Err(bad(&format!("an array of {} axes", shape.len()))),
    };
    let map = expected.admit(path, columns, rows)?;
    let samples = kind.limits().map_or(SampleScale::Floats, SampleScale::Integers);
    let mut warnings = Vec::new();
    let channel = super::channel(path, expected, channels, &mut warnings)?;
    let cells = RawLayout { first: first as u64 + channel * size, ..RawLayout::packed(kind, columns, channels) };
    if !is_transposed {
        return cells.raster(path, expected, map, samples, Description::default(), warnings);
    }
    // Columns are stored one after the other: a whole channel is read, and then pushed by row.
    let whole = rows * columns * 8;
    let layout =
        RasterLayout { size: map, samples, description: Description::default(), band: 1, besides: 2 * whole, warnings };
    let plane = first as u64 + channel * rows * columns * size;
    let cells = RawLayout { first: plane, ..RawLayout::packed(kind, rows, 1) };
    expected.raster(path, layout, |pushed| {
        let mut all = Vec::new();
        cells.read(path, (map.1, map.0), |column, _| {
            all.extend_from_slice(column);
            Ok(())
        })?;
        let mut row = vec![0.0; map.0];
        for index in 0..map.1 {
            row.iter_mut().enumerate().for_each(|(column, cell)| *cell = all[column * map.1 + index]);
            pushed.push(&row)?;
        }
        Ok(())
    })
}
