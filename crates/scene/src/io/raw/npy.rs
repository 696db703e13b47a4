//! Arrays of NumPy (`.npy`).

use std::path::Path;

use super::{RawLayout, sample_scale};
use crate::{
    io::{
        Error,
        description::Description,
        input::start_of,
        raster::{Raster, RasterLayout, ReadConstraints},
    },
    model::origin::{RawCells, RawKind},
};

const NEEDED: &str = "expected an array of numbers with two axes";
/// Maximum length of the header, in bytes.
const LONGEST_HEADER: u64 = 1 << 16;

/// Reads an array: rows from north to south, columns from west to east, in metres. Of a third axis, which comes
/// last or first, the first entry is read.
///
/// # Errors
/// The header is malformed, the type or number of axes is not supported, the file is truncated, or a value is out of range.
pub fn read_npy(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    let bad = |wrong: &str| Error::input(path, wrong, NEEDED);
    let start = start_of(path, LONGEST_HEADER)?;
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
        [channels @ 1..=4, rows, columns] => (rows, columns, channels),
        _ => return Err(bad(&format!("an array of {} axes", shape.len()))),
    };
    let bands_first = shape.len() == 3 && shape[1..] == [rows, columns];
    let map = expected.admit(path, columns, rows)?;
    let samples = sample_scale(kind);
    let mut warnings = Vec::new();
    let channel = super::channel(path, expected, channels, &mut warnings)?;
    let plane = first as u64 + channel * rows * columns * size;
    let interleaved = RawLayout { first: first as u64 + channel * size, ..RawLayout::packed(kind, columns, channels) };
    let cells =
        if bands_first { RawLayout { first: plane, ..RawLayout::packed(kind, columns, 1) } } else { interleaved };
    if !is_transposed {
        return cells.raster(path, expected, map, samples, Description::default(), warnings);
    }
    // Columns are stored one after the other: a whole channel is read, and then pushed by row.
    let whole = rows * columns * 8;
    let layout = RasterLayout { extra_bytes: 2 * whole, ..RasterLayout::new(map, samples, warnings) };
    let cells = if bands_first {
        RawLayout { first: interleaved.first, ..RawLayout::packed(kind, rows, channels) }
    } else {
        RawLayout { first: plane, ..RawLayout::packed(kind, rows, 1) }
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_a_stated_range_are_no_marks_of_missing_cells() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("map.npy");
        let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 3), }\n";
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend([i32::MIN, 0, i32::MAX].map(i32::to_le_bytes).as_flattened());
        std::fs::write(&path, bytes).expect("it is writable");
        let map = read_npy(&path, &ReadConstraints::ranged(1000.0)).unwrap_or_else(|error| panic!("{error}"));
        assert!(map.nodata.is_none(), "{:?}", map.warnings);
        let wanted = [0.0, 500.0, 1000.0];
        assert!(map.cells.iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() < 1e-3), "{:?}", map.cells);
    }

    #[test]
    fn bands_may_come_first() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("map.npy");
        let with = |order: &str, shape: &str, cells: &[u8]| {
            let header = format!("{{'descr': '|u1', 'fortran_order': {order}, 'shape': {shape}, }}\n");
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            bytes.extend((header.len() as u16).to_le_bytes());
            bytes.extend(header.as_bytes());
            bytes.extend(cells);
            std::fs::write(&path, bytes).expect("it is writable");
            read_npy(&path, &ReadConstraints::anything()).unwrap_or_else(|error| panic!("{error}")).cells.to_vec()
        };
        let wanted = vec![1.0, 2.0, 3.0, 4.0, 5.0];
        let first = [1, 2, 3, 4, 5, 9, 9, 9, 9, 9];
        let mixed = [1, 9, 2, 9, 3, 9, 4, 9, 5, 9];
        assert_eq!(with("False", "(2, 1, 5)", &first), wanted);
        assert_eq!(with("True", "(2, 1, 5)", &mixed), wanted);
        assert_eq!(with("False", "(5, 1, 2)", &mixed), wanted);
        assert_eq!(with("True", "(1, 5)", &first[..5]), wanted);
    }
}
