//! Tiles of the Shuttle Radar Topography Mission (`.hgt`): signed integers in metres, most significant byte first, of one degree.

use std::path::Path;

use super::{RawLayout, sample_scale};
use crate::{
    io::{
        Error,
        description::{Affine, Description},
        input::open,
        raster::{Raster, ReadConstraints},
    },
    model::{
        crs::WGS_84,
        origin::{Crs, RawCells, RawKind},
    },
};

/// Columns and rows of the tiles.
const SIZES: [(u64, u64); 5] = [(1201, 1201), (3601, 3601), (1801, 3601), (601, 1201), (1801, 1801)];

/// Minimum side of a square of another size.
const SHORTEST_SIDE: u64 = 32;

/// Reads a tile. Its name, such as `N46E007.hgt`, states its south-western corner.
///
/// # Errors
/// The length is neither that of a tile nor of a square of at least 32 × 32 cells, no cell has data, or a value is out of range.
pub fn read_hgt(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    let bytes = open(path)?.get_ref().metadata().map_err(|error| Error::unreadable(path, &error))?.len();
    let side = (bytes / 2).isqrt();
    let known = SIZES.into_iter().find(|(columns, rows)| 2 * columns * rows == bytes);
    let square = (side >= SHORTEST_SIDE && 2 * side * side == bytes).then_some((side, side));
    let Some((columns, rows)) = known.or(square) else {
        let wrong = format!("{bytes} bytes are not a tile of 2-byte cells");
        return Err(Error::input(path, wrong, "expected 1201 × 1201 or 3601 × 3601 cells"));
    };
    let size = expected.admit(path, columns, rows)?;
    let mut warnings = Vec::new();
    if known.is_none() {
        warnings.push(format!("{side} × {side} cells are not the size of an SRTM tile, and are read as a square"));
    }
    let affine = place(path, columns, rows);
    if affine.is_none() {
        warnings.push("its name gives no position, e.g. N46E007.hgt".to_owned());
    }
    let crs = if affine.is_some() { Crs::Epsg(WGS_84) } else { Crs::Unknown };
    let description = Description { affine, crs, nodata: Some("-32768".to_owned()), ..Description::default() };
    let kind = RawCells { kind: RawKind::Signed(2), big_endian: true };
    let samples = sample_scale(kind);
    RawLayout::packed(kind, columns, 1).raster(path, expected, size, samples, description, warnings)
}

/// Returns the place of a tile from its name. Cell centres lie on its edges.
fn place(path: &Path, columns: u64, rows: u64) -> Option<Affine> {
    let name = path.file_stem()?.to_str()?.to_ascii_uppercase();
    let degrees = |text: &str, positive: char, negative: char| {
        let number: f64 = text.get(1..)?.parse().ok()?;
        match text.chars().next()? {
            letter if letter == positive => Some(number),
            letter if letter == negative => Some(-number),
            _ => None,
        }
    };
    let south = degrees(name.get(..3)?, 'N', 'S')?;
    let west = degrees(name.get(3..7)?, 'E', 'W')?;
    let (wide, tall) = (1.0 / (columns - 1) as f64, 1.0 / (rows - 1) as f64);
    Some([west - wide / 2.0, wide, 0.0, south + 1.0 + tall / 2.0, 0.0, -tall])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_squares_of_other_sizes_are_srtm_tiles() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("N46E007.hgt");
        let with = |side: usize| {
            std::fs::write(&path, [0, 7].repeat(side * side)).expect("it is writable");
            read_hgt(&path, &ReadConstraints::anything())
        };
        let read = with(40).unwrap_or_else(|error| panic!("{error}"));
        assert!(read.cells[0] == 7.0 && read.warnings[0].contains("40 × 40"), "{:?}", read.warnings);
        assert!(with(5).expect_err("it is too small").to_string().contains("50 bytes are not a tile"));
    }

    #[test]
    fn srtm_file_name_gives_georeference() {
        let [west, wide, _, north, ..] = place(Path::new("a/S03W078.SRTMGL1.hgt"), 3601, 3601).expect("it is a name");
        assert!((west + 78.0 + wide / 2.0).abs() < 1e-12 && (north + 2.0 - wide / 2.0).abs() < 1e-12);
        assert_eq!(place(Path::new("hills.hgt"), 1201, 1201), None);
    }
}
