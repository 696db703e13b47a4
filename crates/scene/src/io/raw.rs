//! Raw rasters without a header, row by row, little-endian: `.r16` (unsigned integers) and `.r32` (floats, in metres).

use std::{
    io::{ErrorKind, Read, Write},
    path::Path,
};

use xxhash_rust::xxh3::Xxh3;

use super::{
    Error, JobProgress,
    input::open,
    output::{self, bytes_of, hex},
    raster::{Raster, RasterRows, ReadConstraints, steps},
    sidecar::Sidecar,
};
use thalweg_sim::core::grid::Grid;

pub(super) fn read_r16(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    let value = |bytes: [u8; 2]| f32::from(u16::from_le_bytes(bytes));
    read(path, expected, Some(f32::from(u16::MAX)), value, |rows, row, _| {
        rows.push_steps(row);
        Ok(())
    })
}

/// Reads 32-bit float cells. If the sidecar states a hash, it is verified.
///
/// # Errors
/// The file length fits no size, the size is rejected, a cell is out of range, or the hash differs.
pub(super) fn read_r32(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    let mut hash = Xxh3::new();
    let raster = read(path, expected, None, f32::from_le_bytes, |rows, row, bytes| {
        hash.update(bytes);
        rows.push(row)
    })?;
    let hash = hex(hash.digest());
    match &expected.sidecar.cells_hash {
        Some(stated) if *stated != hash => {
            let sidecar = Sidecar::path_for(path);
            let wrong = format!("the hash of its cells is {hash}, but {} states {stated}", sidecar.display());
            let right = "the file is damaged; if it was changed on purpose, remove cells_hash from the sidecar";
            Err(Error::input(path, wrong, right))
        }
        _ => Ok(raster),
    }
}

fn read<const BYTES: usize>(
    path: &Path,
    expected: &ReadConstraints,
    full_scale: Option<f32>,
    value: fn([u8; BYTES]) -> f32,
    mut take: impl FnMut(&mut RasterRows<'_>, &[f32], &[u8]) -> Result<(), Error>,
) -> Result<Raster, Error> {
    let mut file = open(path)?;
    let bytes = file.get_ref().metadata().map_err(|error| Error::unreadable(path, &error))?.len();
    let mut warnings = Vec::new();
    let (width, height) = size(path, expected, bytes, BYTES as u64, &mut warnings)?;
    let size = expected.admit(path, width, height)?;
    let mut rows = expected.rows(path, size, 0)?;
    let (mut bytes, mut values) = (vec![0; size.0 * BYTES], vec![0.0; size.0]);
    for _ in 0..size.1 {
        file.read_exact(&mut bytes).map_err(|error| match error.kind() {
            // The length was correct when the file was opened.
            ErrorKind::UnexpectedEof => {
                Error::input(path, "truncated while being read", "wait until it is completely written and try again")
            }
            _ => Error::unreadable(path, &error),
        })?;
        values.iter_mut().zip(bytes.as_chunks().0).for_each(|(cell, &bytes)| *cell = value(bytes));
        take(&mut rows, &values, &bytes)?;
    }
    Ok(Raster { full_scale, warnings, ..rows.finish()? })
}

/// Determines the size for a file of this length: from the sidecar, else from the options, else a square.
fn size(
    path: &Path,
    expected: &ReadConstraints,
    bytes: u64,
    cell_bytes: u64,
    warnings: &mut Vec<String>,
) -> Result<(u64, u64), Error> {
    let count = bytes / cell_bytes;
    let stated = match (expected.sidecar.width, expected.sidecar.height) {
        (Some(width), Some(height)) => Some((width, height)),
        _ => expected.size,
    };
    let square = count.isqrt();
    let length = |width: u64, height: u64| width.checked_mul(height).and_then(|cells| cells.checked_mul(cell_bytes));
    match stated.map(|(width, height)| (width as u64, height as u64)) {
        Some((width, height)) if length(width, height) != Some(bytes) => {
            let wrong = format!("{bytes} bytes are not {width} × {height} cells of {cell_bytes} bytes");
            Err(Error::input(path, wrong, "set the correct size with --size WxH or as width and height in a sidecar"))
        }
        Some(size) => Ok(size),
        None if length(square, square) == Some(bytes) => {
            warnings
                .push(format!("size missing, assuming {square} × {square} cells; set it with --size or in a sidecar"));
            Ok((square, square))
        }
        None => {
            let wrong = format!("size missing, and {bytes} bytes are not a square of {cell_bytes}-byte cells");
            Err(Error::input(path, wrong, "set it with --size WxH or as width and height in a sidecar"))
        }
    }
}

/// Writes a grid as `.r32`: little-endian 32-bit floats, row by row, bit-exact.
///
/// # Errors
/// The file cannot be written.
pub fn write_r32(path: &Path, grid: &Grid, progress: &JobProgress) -> Result<(), Error> {
    output::create(path, |file| -> std::io::Result<()> {
        for (row, line) in grid.chunks(grid.width()).enumerate() {
            file.write_all(&bytes_of(line))?;
            progress.done(row, grid.height());
        }
        Ok(())
    })
}

/// Writes a grid as `.r16`: little-endian 16-bit integers, linear from `min` to `max`.
///
/// # Errors
/// The file cannot be written.
pub fn write_r16(path: &Path, grid: &Grid, range: (f32, f32), progress: &JobProgress) -> Result<(), Error> {
    let bytes: Vec<u8> = steps(grid, range, u16::MAX).flat_map(u16::to_le_bytes).collect();
    progress.done(1, 1);
    output::write(path, bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn expecting(size: Option<(usize, usize)>, width: Option<usize>, height: Option<usize>) -> ReadConstraints {
        ReadConstraints {
            sidecar: Sidecar { width, height, ..Default::default() },
            size,
            ..ReadConstraints::anything()
        }
    }

    #[test]
    fn the_size_comes_from_the_sidecar_then_the_option_then_a_square() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.r16");
        fs::write(&path, [1, 2].repeat(36)).expect("it is writable");
        let size = |expected: ReadConstraints| {
            read_r16(&path, &expected).map(|read| (read.size.0, read.size.1, read.warnings.len()))
        };
        assert_eq!(size(expecting(Some((4, 9)), Some(12), Some(3))), Ok((12, 3, 0)));
        assert_eq!(size(expecting(Some((4, 9)), None, None)), Ok((4, 9, 0)));
        assert_eq!(size(expecting(None, None, None)), Ok((6, 6, 1)));
        let error = size(expecting(Some((5, 9)), None, None)).expect_err("45 cells are not 36").to_string();
        assert!(error.contains("72 bytes are not 5 × 9 cells of 2 bytes"), "{error}");
        fs::write(&path, [0; 70]).expect("it is writable");
        let error = size(expecting(None, None, None)).expect_err("35 is no square").to_string();
        assert!(error.contains("not a square"), "{error}");
        assert_eq!(
            read_r16(&path, &expecting(Some((5, 7)), None, None)).map(|read| read.full_scale),
            Ok(Some(65535.0))
        );
    }

    #[test]
    fn cells_that_are_not_those_of_the_sidecar_are_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.r32");
        let grid = Grid::from_fn(7, 5, |x, y| (x * y) as f32);
        write_r32(&path, &grid, &JobProgress::default()).expect("it is writable");
        crate::io::write_sidecar(&Sidecar::path_for(&path), &grid, 2.0, (7, 5)).expect("it is writable");
        let sidecar = || Sidecar::of(&path).expect("it was just written");
        assert!(read_r32(&path, &ReadConstraints { sidecar: sidecar(), ..ReadConstraints::anything() }).is_ok());
        let mut bytes = fs::read(&path).expect("it is there");
        bytes[40] ^= 1;
        fs::write(&path, bytes).expect("it is writable");
        let damaged = read_r32(&path, &ReadConstraints { sidecar: sidecar(), ..ReadConstraints::anything() });
        let told = damaged.err().expect("a bit is wrong").to_string();
        assert!(told.contains("hills.r32: the hash of its cells is ") && told.contains("hills.json states"), "{told}");
        let without = Sidecar { cells_hash: None, ..sidecar() };
        assert!(read_r32(&path, &ReadConstraints { sidecar: without, ..ReadConstraints::anything() }).is_ok());
    }
}
