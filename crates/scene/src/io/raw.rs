//! Rasters without a header of their own, row by row: `.r8`, `.r16`, `.r32` and `.raw`; with a header file beside them: `.bil`, `.bip`,
//! `.bsq` and `.flt`; and with a name or short header: `.hgt` (SRTM) and `.npy` (NumPy).

mod header;
mod npy;
mod srtm;

pub(super) use self::{
    header::{has_header, read_with_header},
    npy::read_npy,
    srtm::read_hgt,
};

use std::{
    io::{self, ErrorKind, Read, Seek, SeekFrom, Write},
    path::Path,
};

use xxhash_rust::xxh3::Xxh3;

use super::{
    Error, JobProgress,
    description::Description,
    input::{open, start_of},
    output::{self, bytes_of, hex},
    raster::{Raster, RasterLayout, ReadConstraints, SampleScale, no_channel, quantised},
    sidecar::Sidecar,
};
use crate::model::origin::{RawCells, RawKind};
use thalweg_sim::core::grid::Grid;

/// Number of rows that are compared to recognise byte order and sign.
const COMPARED_ROWS: u64 = 64;

/// Position of cells in a file, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawLayout {
    kind: RawCells,
    /// Position of the first cell, and distances to the next cell of the row and to the next row.
    first: u64,
    next: u64,
    row: u64,
}

/// Returns the type of cells that hold values in a unit.
fn sample_scale(cells: RawCells) -> SampleScale {
    cells.limits().map_or(SampleScale::Floats, SampleScale::Integers)
}

impl RawLayout {
    /// Returns cells without gaps, `channels` interleaved ones per pixel.
    fn packed(kind: RawCells, columns: u64, channels: u64) -> Self {
        let next = u64::from(kind.kind.size()) * channels;
        Self { kind, first: 0, next, row: next * columns }
    }

    /// Reads all rows in order and passes them on: as numbers and as bytes.
    ///
    /// # Errors
    /// The file is truncated or cannot be read, or `take` fails.
    fn read(
        self,
        path: &Path,
        (columns, rows): (usize, usize),
        mut take: impl FnMut(&[f64], &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut file = open(path)?;
        let size = usize::from(self.kind.kind.size());
        let mut values = vec![0.0; columns];
        // From the first to the last cell of a row.
        let span = self.next * (columns as u64 - 1) + size as u64;
        let mut bytes = vec![0; span as usize];
        let mut at = None;
        for row in 0..rows as u64 {
            let start = self.first + row * self.row;
            let sought = if at == Some(start) { Ok(start) } else { file.seek(SeekFrom::Start(start)) };
            sought.and_then(|_| file.read_exact(&mut bytes)).map_err(|error| truncated(path, &error))?;
            at = Some(start + span);
            for (value, cell) in values.iter_mut().zip(bytes.chunks(self.next as usize)) {
                *value = self.kind.value(&cell[..size]);
            }
            take(&values, &bytes)?;
        }
        Ok(())
    }

    /// Returns the memory for a row as bytes and as numbers.
    fn memory(self, columns: usize) -> u64 {
        (self.next + 8) * columns as u64
    }

    /// Reads a map of these cells.
    ///
    /// # Errors
    /// The size is rejected, or a cell is out of range.
    fn raster(
        self,
        path: &Path,
        expected: &ReadConstraints,
        size: (usize, usize),
        samples: SampleScale,
        description: Description,
        warnings: Vec<String>,
    ) -> Result<Raster, Error> {
        let extra_bytes = self.memory(size.0);
        let layout = RasterLayout { description, extra_bytes, ..RasterLayout::new(size, samples, warnings) };
        expected.raster(path, layout, |rows| self.read(path, size, |values, _| rows.push(values)))
    }
}

fn truncated(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => Error::input(path, "truncated", "expected a complete file"),
        _ => Error::unreadable(path, error),
    }
}

/// Reads raw cells: `kind` is their type unless an option states another, or `None` for the one whose size fits. Integers are steps of a
/// quantised range, floats are in metres. If the sidecar states a hash, it is verified.
///
/// # Errors
/// The file length fits no size, the size is rejected, a cell is out of range, or the hash differs.
pub(super) fn read(path: &Path, expected: &ReadConstraints, kind: Option<RawKind>) -> Result<Raster, Error> {
    let bytes = open(path)?.get_ref().metadata().map_err(|error| Error::unreadable(path, &error))?.len();
    let mut warnings = Vec::new();
    let stated = expected.options.raw;
    let kinds = match (stated, kind) {
        (Some(stated), _) => vec![stated.kind],
        (None, Some(kind)) => vec![kind],
        // A square of floats is also one of bytes.
        (None, None) if are_floats(path)? => vec![RawKind::Unsigned(2), RawKind::Float(4), RawKind::Unsigned(1)],
        (None, None) => vec![RawKind::Unsigned(2), RawKind::Unsigned(1), RawKind::Float(4)],
    };
    let (kind, (width, height), channels) = size(path, expected, bytes, &kinds, &mut warnings)?;
    let size = expected.admit(path, width, height)?;
    let channel = channel(path, expected, channels, &mut warnings)?;
    let packed = |kind: RawCells| {
        let cells = RawLayout::packed(kind, width, channels);
        RawLayout { first: channel * u64::from(kind.kind.size()), ..cells }
    };
    let kind = match stated {
        Some(stated) => stated,
        None => recognised(path, packed(RawCells::little(kind)), size, &mut warnings)?,
    };
    let cells = packed(kind);
    let samples = kind.limits().map_or(SampleScale::Floats, SampleScale::Steps);
    if let (Some(stated), RawKind::Float(4)) = (&expected.sidecar.cells_hash, kind.kind) {
        let mut hash = Xxh3::new();
        cells.read(path, size, |_, bytes| {
            hash.update(bytes);
            Ok(())
        })?;
        let hash = hex(hash.digest());
        if *stated != hash {
            let sidecar = Sidecar::path_for(path);
            let wrong = format!("the hash of its cells is {hash}, but {} states {stated}", sidecar.display());
            let right = "the file is damaged; if it was changed on purpose, remove cells_hash from the sidecar";
            return Err(Error::input(path, wrong, right));
        }
    }
    let layout = RasterLayout { extra_bytes: cells.memory(size.0), ..RasterLayout::new(size, samples, warnings) };
    expected.raster(path, layout, |rows| {
        cells.read(path, size, |values, _| {
            rows.push(values).map_err(|error| {
                if stated.is_some() || !values.iter().any(|value| implausible(*value)) {
                    return error;
                }
                let right = format!("{}, or set the type of the cells with --raw-cells", error.right);
                Error { right, ..error }
            })
        })
    })
}

/// Returns the index of the channel to read: the first one, or that of the option.
fn channel(path: &Path, expected: &ReadConstraints, count: u64, warnings: &mut Vec<String>) -> Result<u64, Error> {
    match &expected.options.channel {
        Some(name) => {
            let number = name.trim().parse::<u64>().ok().filter(|number| (1..=count).contains(number));
            number.map(|number| number - 1).ok_or_else(|| no_channel(path, "channel", name, count))
        }
        None => {
            if count > 1 {
                warnings
                    .push(format!("{count} channels; heights are read from channel 1; choose another with --channel"));
            }
            Ok(0)
        }
    }
}

/// Recognises byte order and sign: cells of a terrain differ little from their neighbours, unless they are misread.
fn recognised(
    path: &Path,
    cells: RawLayout,
    size: (usize, usize),
    warnings: &mut Vec<String>,
) -> Result<RawCells, Error> {
    let little = cells.kind;
    let candidates = match little.kind {
        RawKind::Unsigned(2) => vec![
            little,
            RawCells { kind: RawKind::Signed(2), ..little },
            RawCells { big_endian: true, ..little },
            RawCells { kind: RawKind::Signed(2), big_endian: true },
        ],
        RawKind::Float(4) => vec![little, RawCells { big_endian: true, ..little }],
        RawKind::Unsigned(1) => vec![little],
        _ => return Ok(little),
    };
    let mut roughness = vec![0.0; candidates.len()];
    // Smallest and largest value of each candidate.
    let mut ranges = vec![[f64::INFINITY, f64::NEG_INFINITY]; candidates.len()];
    // Number of cells that are not zero: those are plausible in either byte order.
    let mut filled = 0;
    let every = (size.1 as u64).div_ceil(COMPARED_ROWS);
    for index in 0..(size.1 as u64 / every) {
        let row = RawLayout { first: cells.first + index * every * cells.row, ..cells };
        row.read(path, (size.0, 1), |_, bytes| {
            let width = usize::from(cells.kind.kind.size());
            let cells = || bytes.chunks(cells.next as usize).map(|cell| &cell[..width]);
            filled += cells().filter(|cell| cell.iter().any(|byte| *byte != 0)).count();
            for ((kind, roughness), range) in candidates.iter().zip(&mut roughness).zip(&mut ranges) {
                let values = cells().map(|cell| kind.value(cell));
                *range = values.clone().fold(*range, |[low, high], value| [low.min(value), high.max(value)]);
                *roughness += match kind.kind {
                    RawKind::Float(_) => values.filter(|value| implausible(*value)).count() as f64,
                    _ => values.clone().zip(values.skip(1)).map(|(a, b)| (a - b).abs()).sum(),
                };
            }
            Ok(())
        })?;
    }
    // Another type has to be clearly better.
    let filled = filled as f64;
    let best = match roughness[..] {
        [first, other] if first > 0.5 * filled && other < 0.01 * filled => 1,
        [first, signed, big, signed_big] => {
            let little = if signed < 0.5 * first { 1 } else { 0 };
            let big = if signed_big < 0.5 * big { 3 } else { 2 };
            // With the other byte order, 8 bits in the upper byte of a cell are smooth only because their range is small.
            let relative = |index: usize| roughness[index] / (ranges[index][1] - ranges[index][0]).max(1.0);
            if relative(big) < 0.5 * relative(little) { big } else { little }
        }
        _ => 0,
    };
    if best == 0 {
        return Ok(little);
    }
    let best = candidates[best];
    warnings.push(format!(
        "the cells look like {best} rather than {little}, and are read as such; set their type with --raw-cells"
    ));
    Ok(best)
}

/// Returns `true` if the first bytes of a file are plausible heights as floats of either byte order, apart from zeros.
fn are_floats(path: &Path) -> Result<bool, Error> {
    let bytes = start_of(path, 1 << 16)?;
    let (cells, _) = bytes.as_chunks::<4>();
    let plausible = |convert: fn([u8; 4]) -> f32| {
        let filled = cells.iter().filter(|cell| **cell != [0; 4]);
        let (all, plausible) = filled.fold((0, 0), |(all, plausible), cell| {
            (all + 1, plausible + usize::from((1e-3..1e5).contains(&convert(*cell).abs())))
        });
        plausible * 10 > all * 9 && all * 100 > cells.len()
    };
    Ok(plausible(f32::from_le_bytes) || plausible(f32::from_be_bytes))
}

/// Returns `true` for floats that are neither a height nor a usual mark of a missing one.
fn implausible(value: f64) -> bool {
    value != 0.0 && value.abs() < 1e-20 || (1e7..1e38).contains(&value.abs())
}

/// Determines cell type, size and number of channels for a file of this length: from the sidecar, else from the options, else a square.
fn size(
    path: &Path,
    expected: &ReadConstraints,
    bytes: u64,
    kinds: &[RawKind],
    warnings: &mut Vec<String>,
) -> Result<(RawKind, (u64, u64), u64), Error> {
    /// Numbers of channels: grey, RGB, RGBA, grey with opacity.
    const CHANNELS: [u64; 4] = [1, 3, 4, 2];
    let of_sidecar = expected.sidecar.width.zip(expected.sidecar.height);
    let of_options = expected.options.size;
    let as_cells = |size: Option<(usize, usize)>| size.map(|(width, height)| (width as u64, height as u64));
    let candidates = || CHANNELS.into_iter().flat_map(|channels| kinds.iter().map(move |kind| (*kind, channels)));
    let length = |kind: RawKind, channels: u64, (width, height): (u64, u64)| {
        width.checked_mul(height).and_then(|cells| cells.checked_mul(u64::from(kind.size()) * channels))
    };
    let cell_bytes = kinds.iter().map(|kind| kind.size().to_string()).collect::<Vec<_>>().join(" or ");
    // Width and height alone can be those of another program.
    let is_of_file = |size: &(u64, u64)| {
        !expected.sidecar.is_ambiguous
            || candidates().any(|(kind, channels)| length(kind, channels, *size) == Some(bytes))
    };
    if let Some(stated) = as_cells(of_sidecar).filter(is_of_file).or(as_cells(of_options)) {
        let fits = candidates().find(|(kind, channels)| length(*kind, *channels, stated) == Some(bytes));
        return fits.map(|(kind, channels)| (kind, stated, channels)).ok_or_else(|| {
            let wrong = format!("{bytes} bytes are not {} × {} cells of {cell_bytes} bytes", stated.0, stated.1);
            Error::input(path, wrong, "set the correct size with --size WxH or as width and height in a sidecar")
        });
    }
    let square = |(kind, channels): (RawKind, u64)| {
        let side = (bytes / (u64::from(kind.size()) * channels)).isqrt();
        let fits = length(kind, channels, (side, side)) == Some(bytes);
        fits.then_some((kind, (side, side), channels))
    };
    let mut found = None;
    for (kind, (side, _), channels) in candidates().filter_map(square) {
        if channels == 1 || are_channels(path, kind, side, channels)? {
            found = Some((kind, (side, side), channels));
            break;
        }
    }
    let Some(found) = found else {
        let wrong = format!("size missing, and {bytes} bytes are not a square of {cell_bytes}-byte cells");
        return Err(Error::input(path, wrong, "set it with --size WxH or as width and height in a sidecar"));
    };
    let side = found.1.0;
    warnings.push(format!("size missing, assuming {side} × {side} cells; set it with --size or in a sidecar"));
    Ok(found)
}

/// Returns `true` if the cells of a square with several channels belong together rather than to a wider map: the channels are equal, or
/// the first one is clearly smoother than the cells in the order of the file. Floats are compared by their bytes, which grow with them.
fn are_channels(path: &Path, kind: RawKind, side: u64, channels: u64) -> Result<bool, Error> {
    let cells = RawLayout::packed(RawCells::little(RawKind::Unsigned(kind.size())), side * channels, 1);
    let (size, pixel) = (usize::from(kind.size()), channels as usize);
    // Pairs of equal cells can also be those of a wider map.
    let mut are_equal = channels > 2;
    // Sums of differences within the first channel, and in the order of the file, for both byte orders.
    let mut sums = [[0.0; 2]; 2];
    let every = side.div_ceil(COMPARED_ROWS);
    for index in 0..(side / every) {
        let row = RawLayout { first: index * every * cells.row, ..cells };
        row.read(path, ((side * channels) as usize, 1), |_, bytes| {
            let is_equal = |pixel: &[u8]| pixel.chunks(size).all(|cell| *cell == pixel[..size]);
            are_equal &= bytes.chunks(size * pixel).all(is_equal);
            for (sums, big_endian) in sums.iter_mut().zip([false, true]) {
                let order = RawCells { big_endian, ..cells.kind };
                let values: Vec<f64> = bytes.chunks(size).map(|cell| order.value(cell)).collect();
                for (sum, step) in sums.iter_mut().zip([pixel, 1]) {
                    let values = values.iter().step_by(step);
                    *sum += values.clone().zip(values.skip(1)).map(|(a, b)| (a - b).abs()).sum::<f64>();
                }
            }
            Ok(())
        })?;
    }
    // The first channel has fewer differences.
    Ok(are_equal || sums.iter().any(|[first, all]| first * (channels as f64) < 0.5 * all))
}

/// Writes a grid as `.r32`: little-endian 32-bit floats, row by row, bit-exact.
///
/// # Errors
/// The file cannot be written.
pub fn write_r32(path: &Path, grid: &Grid, progress: &JobProgress) -> Result<(), Error> {
    output::create(path, |file| -> io::Result<()> {
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
    let bytes: Vec<u8> = quantised(grid, range, u16::MAX).flat_map(u16::to_le_bytes).collect();
    progress.done(1, 1);
    output::write(path, bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const FLOAT: Option<RawKind> = Some(RawKind::Float(4));

    fn expecting(size: Option<(usize, usize)>, width: Option<usize>, height: Option<usize>) -> ReadConstraints {
        ReadConstraints { sidecar: Sidecar { width, height, ..Default::default() }, ..ReadConstraints::sized(size) }
    }

    #[test]
    fn raw_size_precedence_is_option_sidecar_square() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.r16");
        fs::write(&path, [1, 2].repeat(36)).expect("it is writable");
        let size = |expected: ReadConstraints| {
            let read = read(&path, &expected, Some(RawKind::Unsigned(2)))?;
            let assumed = read.warnings.iter().filter(|warning| warning.starts_with("size missing")).count();
            Ok::<_, Error>((read.size.0, read.size.1, assumed))
        };
        assert_eq!(size(expecting(Some((4, 9)), Some(12), Some(3))), Ok((12, 3, 0)));
        assert_eq!(size(expecting(Some((4, 9)), None, None)), Ok((4, 9, 0)));
        assert_eq!(size(expecting(None, None, None)), Ok((6, 6, 1)));
        let error = size(expecting(Some((5, 9)), None, None)).expect_err("45 cells are not 36").to_string();
        assert!(error.contains("72 bytes are not 5 × 9 cells of 2 bytes"), "{error}");
        fs::write(&path, [0; 70]).expect("it is writable");
        let error = size(expecting(None, None, None)).expect_err("35 is no square").to_string();
        assert!(error.contains("not a square"), "{error}");
    }

    #[test]
    fn several_channels_are_assumed_only_if_the_cells_look_like_them() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.r16");
        let hill = |x: usize, y: usize| 30000.0 + 20000.0 * ((x as f64 * 0.1).sin() + (y as f64 * 0.07).cos()) / 2.0;
        let channels = |read: fn(u16) -> [u8; 2], size: (usize, usize), others: &[u16]| {
            let cells = (0..size.0 * size.1).flat_map(|index| {
                let height = hill(index % size.0, index / size.0) as u16;
                [height]
                    .into_iter()
                    .chain(others.iter().map(move |other| height.wrapping_mul(*other).wrapping_add(*other)))
            });
            fs::write(&path, cells.flat_map(read).collect::<Vec<u8>>()).expect("it is writable");
            let found = super::size(
                &path,
                &expecting(None, None, None),
                fs::metadata(&path).expect("it is there").len(),
                &[RawKind::Unsigned(2)],
                &mut Vec::new(),
            );
            found.map(|(_, size, channels)| (size, channels)).map_err(|error| error.to_string())
        };
        for read in [u16::to_le_bytes, u16::to_be_bytes] {
            for size in [(128, 64), (128, 96), (96, 128), (64, 64 * 4 / 2)] {
                let error = channels(read, size, &[]).expect_err("it is no square");
                assert!(error.contains("not a square"), "{size:?}: {error}");
            }
            assert_eq!(channels(read, (64, 64), &[u16::MAX, 17]), Ok(((64, 64), 3)));
            assert_eq!(channels(read, (64, 64), &[0]), Ok(((64, 64), 2)));
            // A square of four channels is a square of one, too.
            assert_eq!(channels(read, (64, 64), &[0, 0, 0]), Ok(((128, 128), 1)));
        }
    }

    #[test]
    fn raw_cells_must_match_sidecar_hash() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.r32");
        let grid = Grid::from_fn(7, 5, |x, y| (x * y) as f32);
        write_r32(&path, &grid, &JobProgress::default()).expect("it is writable");
        crate::io::write_sidecar(&Sidecar::path_for(&path), &grid, 2.0, (7, 5)).expect("it is writable");
        let sidecar = || Sidecar::of(&path).expect("it was just written");
        assert!(read(&path, &ReadConstraints { sidecar: sidecar(), ..ReadConstraints::anything() }, FLOAT).is_ok());
        let mut bytes = fs::read(&path).expect("it is there");
        bytes[40] ^= 1;
        fs::write(&path, bytes).expect("it is writable");
        let damaged = read(&path, &ReadConstraints { sidecar: sidecar(), ..ReadConstraints::anything() }, FLOAT);
        let message = damaged.expect_err("a bit is wrong").to_string();
        assert!(
            message.contains("hills.r32: the hash of its cells is ") && message.contains("hills.json states"),
            "{message}"
        );
        let without = Sidecar { cells_hash: None, ..sidecar() };
        assert!(read(&path, &ReadConstraints { sidecar: without, ..ReadConstraints::anything() }, FLOAT).is_ok());
    }

    #[test]
    fn raw_byte_order_and_type_are_detected() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let hill = |x: usize, y: usize| 30000.0 + 20000.0 * ((x as f64 * 0.1).sin() + (y as f64 * 0.07).cos()) / 2.0;
        let all = || (0..64 * 64).map(|index| hill(index % 64, index / 64));
        let put = |name: &str, bytes: Vec<u8>| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).expect("it is writable");
            let mut expected = ReadConstraints::anything();
            (expected.options.min_m, expected.options.max_m) = (Some(0.0), Some(65535.0));
            let kind = match name.rsplit_once('.').expect("it has one").1 {
                "r16" => Some(RawKind::Unsigned(2)),
                "r32" => Some(RawKind::Float(4)),
                _ => None,
            };
            read(&path, &expected, kind).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let word = |value: f64| value as u16;
        for (name, raster, warnings) in [
            ("little", put("a.r16", all().flat_map(|value| word(value).to_le_bytes()).collect()), 2),
            ("big", put("b.r16", all().flat_map(|value| word(value).to_be_bytes()).collect()), 3),
            ("signed", put("c.r16", all().flat_map(|value| (word(value) ^ 0x8000).to_le_bytes()).collect()), 3),
            ("signed, big", put("d.r16", all().flat_map(|value| (word(value) ^ 0x8000).to_be_bytes()).collect()), 3),
            ("floats", put("e.r32", all().flat_map(|value| (value.floor() as f32).to_le_bytes()).collect()), 3),
            ("floats, big", put("f.r32", all().flat_map(|value| (value.floor() as f32).to_be_bytes()).collect()), 4),
            ("raw", put("g.raw", all().flat_map(|value| word(value).to_le_bytes()).collect()), 2),
            ("raw floats", put("h.raw", all().flat_map(|value| (value.floor() as f32).to_le_bytes()).collect()), 3),
            ("RGB", put("i.r16", all().flat_map(|value| word(value).to_le_bytes().repeat(3)).collect()), 3),
        ] {
            let worst =
                raster.cells.iter().zip(all()).map(|(a, b)| (f64::from(*a) - b.floor()).abs()).fold(0.0, f64::max);
            assert!(worst < 0.01 && raster.warnings.len() == warnings, "{name}: {worst} {:?}", raster.warnings);
        }
        // Mostly sea, at height zero.
        let coast = || all().enumerate().map(|(index, value)| if index % 64 < 50 { 0.0 } else { value.floor() });
        for (name, bytes) in [
            ("l.r32", coast().flat_map(|value| (value as f32).to_be_bytes()).collect()),
            ("m.r32", coast().flat_map(|value| (value as f32).to_le_bytes()).collect()),
            ("n.raw", coast().flat_map(|value| (value as f32).to_be_bytes()).collect::<Vec<u8>>()),
        ] {
            let raster = put(name, bytes);
            assert!(raster.cells.iter().zip(coast()).all(|(a, b)| f64::from(*a) == b), "{name}: {:?}", raster.warnings);
        }
        let upper = put("j.r16", all().flat_map(|value| [0, (value / 256.0) as u8]).collect());
        assert!(upper.cells.iter().zip(all()).all(|(a, b)| (f64::from(*a) - (b / 256.0).floor() * 256.0).abs() < 0.01));
        // A shallow sea.
        let sea = |value: f64| ((value - 30000.0) / 1000.0) as i16;
        let low = put("k.r16", all().flat_map(|value| sea(value).to_le_bytes()).collect());
        assert!(low.warnings.iter().any(|warning| warning.contains("look like i16le")), "{:?}", low.warnings);
    }
}
