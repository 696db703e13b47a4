//! Rasters with a header file of the same stem (`.hdr`), as ESRI and ENVI write it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{RawLayout, channel, sample_scale};
use crate::{
    io::{
        Error,
        description::{Description, number_prefix},
        input,
        raster::{Raster, ReadConstraints},
    },
    model::origin::{Crs, RawCells, RawKind},
};

/// Keys of the value of cells without data.
const NODATA: &[&str] = &["nodata_value", "nodata", "nodatavalue"];
const NEEDED: &str = "a header has nrows, ncols, cell type and byte order";
/// Largest position in a file that is plausible, in bytes.
const MOST_BYTES: u64 = 1 << 48;

/// Returns `true` if a raster has a header file.
pub fn has_header(path: &Path) -> bool {
    header_of(path).is_some()
}

fn header_of(path: &Path) -> Option<PathBuf> {
    input::find_in_any_case(&path.with_extension("hdr"))
}

/// Reads a raster with its header file. `is_float` is `true` for cells that are floats even if the header does not state it.
///
/// # Errors
/// The header is missing or malformed, the file is truncated, its size is rejected, no cell has data, or a value is out of range.
pub fn read_with_header(path: &Path, expected: &ReadConstraints, is_float: bool) -> Result<Raster, Error> {
    input::open(path)?;
    let Some(beside) = header_of(path) else {
        let name = path.with_extension("hdr");
        let wrong = format!("its header {} is missing", name.file_name().unwrap_or_default().to_string_lossy());
        return Err(Error::input(path, wrong, NEEDED));
    };
    let text = input::read_companion(&beside)?.unwrap_or_default();
    let header = if text.trim_start().starts_with("ENVI") {
        BandHeader::of_envi(&text)
    } else {
        BandHeader::of_esri(&text, is_float)
    };
    let header = header.map_err(|wrong| Error::input(&beside, wrong, NEEDED))?;
    let size = expected.admit(path, header.columns, header.rows)?;
    let mut warnings = Vec::new();
    let band = channel(path, expected, header.bands, &mut warnings)?;
    let cell = u64::from(header.kind.kind.size());
    let (columns, rows, bands) = (size.0 as u64, size.1 as u64, header.bands);
    let mut cells = RawLayout::packed(header.kind, columns, 1);
    // Sides and number of bands are limited, but lengths in the header are not. Sums saturate far beyond the maximum position.
    let from_band = |distance: u64| header.skip.saturating_add(band.saturating_mul(distance));
    match header.order {
        BandOrder::Lines => {
            let line = header.band_row.unwrap_or(columns * cell);
            cells.row = header.total_row.unwrap_or(line.saturating_mul(bands));
            cells.first = from_band(line);
        }
        BandOrder::Pixels => {
            cells.next = cell * bands;
            cells.row = header.total_row.unwrap_or(cell * bands * columns);
            cells.first = from_band(cell);
        }
        BandOrder::Sequential => {
            cells.row = header.total_row.unwrap_or(columns * cell);
            cells.first = from_band(cells.row.saturating_mul(rows).saturating_add(header.band_gap));
        }
    }
    if cells.row < cells.next * columns {
        return Err(Error::input(&beside, "its rows overlap", NEEDED));
    }
    if cells.row.saturating_mul(rows) > MOST_BYTES || cells.first > MOST_BYTES {
        return Err(Error::input(&beside, "its rows extend beyond the file", NEEDED));
    }
    let samples = sample_scale(header.kind);
    cells.raster(path, expected, size, samples, header.description, warnings)
}

/// Order of cells of several bands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum BandOrder {
    /// By line, then by band.
    #[default]
    Lines,
    /// By pixel.
    Pixels,
    /// Band after band.
    Sequential,
}

#[derive(Debug)]
struct BandHeader {
    columns: u64,
    rows: u64,
    bands: u64,
    kind: RawCells,
    order: BandOrder,
    /// Bytes before the first cell, per row of a band, per row of all bands, and between bands.
    skip: u64,
    band_row: Option<u64>,
    total_row: Option<u64>,
    band_gap: u64,
    description: Description,
}

impl BandHeader {
    /// Parses lines of a key and a value.
    fn of_esri(text: &str, is_float: bool) -> Result<Self, String> {
        let pair = |line: &str| {
            let mut words = line.split_whitespace();
            Some((words.next()?.trim_start_matches('\u{feff}').to_ascii_lowercase(), words.next()?.to_owned()))
        };
        let lines: BTreeMap<String, String> = text.lines().filter_map(pair).collect();
        let text = |names: &[&str]| names.iter().find_map(|name| lines.get(*name));
        let number = |names: &[&str]| text(names).and_then(|value| number_prefix(&value.replace(',', ".")));
        let count = |names: &[&str]| number(names).filter(|count| *count >= 0.0).map(|count| count as u64);
        let need = |names: &[&str]| count(names).ok_or_else(|| format!("{} is missing", names[0]));
        let is = |names: &[&str], letters: &[char]| {
            text(names).is_some_and(|value| value.to_ascii_uppercase().starts_with(letters))
        };
        let bits = count(&["nbits"]).unwrap_or(if is_float { 32 } else { 8 });
        let size = match bits {
            8 | 16 | 32 | 64 => (bits / 8) as u8,
            _ => return Err(format!("cells of {bits} bits are not supported")),
        };
        let kind = match text(&["pixeltype"]).map(|kind| kind.to_ascii_uppercase()) {
            Some(kind) if kind.starts_with('S') => RawKind::Signed(size),
            Some(kind) if kind.starts_with('F') => RawKind::Float(size),
            None if is_float => RawKind::Float(size),
            // GTOPO30 and SRTM30 state only the negative mark of cells without data.
            None if number(NODATA).is_some_and(|nodata| nodata < 0.0) => RawKind::Signed(size),
            _ => RawKind::Unsigned(size),
        };
        if kind == RawKind::Float(1) {
            return Err("floats of 8 bits are not supported".to_owned());
        }
        let order = match text(&["layout", "interleaving"]).map(|order| order.to_ascii_uppercase()).as_deref() {
            Some("BIP") => BandOrder::Pixels,
            Some("BSQ") => BandOrder::Sequential,
            _ => BandOrder::Lines,
        };
        let (columns, rows) = (need(&["ncols", "cols"])?, need(&["nrows", "rows"])?);
        let cell = number(&["cellsize"]).or(number(&["xdim"])).zip(number(&["cellsize"]).or(number(&["ydim"])));
        // The origin is the corner or centre of the lower left cell, or the centre of the upper left one.
        let place = |[wide, tall]: [f64; 2]| {
            let left = number(&["xllcorner"])
                .or_else(|| number(&["xllcenter", "xllcentre", "ulxmap"]).map(|x| x - wide / 2.0));
            let bottom = number(&["yllcorner"]).or_else(|| number(&["yllcenter", "yllcentre"]).map(|y| y - tall / 2.0));
            let top = number(&["ulymap"]).map(|y| y + tall / 2.0).or(bottom.map(|y| y + tall * rows as f64));
            [left.unwrap_or(0.0), wide, 0.0, top.unwrap_or(tall * rows as f64), 0.0, -tall]
        };
        let unit = text(&["zunits"]).filter(|unit| crate::model::crs::length_named(unit).is_some());
        Ok(Self {
            columns,
            rows,
            bands: count(&["nbands", "bands"]).unwrap_or(1).clamp(1, 4096),
            kind: RawCells { kind, big_endian: is(&["byteorder"], &['M', 'B']) },
            order,
            skip: count(&["skipbytes"]).unwrap_or(0),
            band_row: count(&["bandrowbytes"]),
            total_row: count(&["totalrowbytes"]),
            band_gap: count(&["bandgapbytes"]).unwrap_or(0),
            description: Description {
                affine: cell.map(|(wide, tall)| place([wide, tall])),
                nodata: text(NODATA).cloned(),
                unit: unit.cloned(),
                ..Description::default()
            },
        })
    }

    /// Parses lines of `key = value`, where a value in braces may span lines.
    fn of_envi(text: &str) -> Result<Self, String> {
        let mut lines = BTreeMap::new();
        let mut rest = text;
        while let Some((key, after)) = rest.split_once('=') {
            let key = key.lines().last().unwrap_or_default().trim().to_ascii_lowercase();
            let after = after.trim_start_matches([' ', '\t']);
            let (value, next) = if let Some(inside) = after.strip_prefix('{') {
                inside.split_once('}').unwrap_or((inside, ""))
            } else {
                after.split_once('\n').unwrap_or((after, ""))
            };
            lines.insert(key, value.trim().to_owned());
            rest = next;
        }
        let text = |name: &str| lines.get(name);
        let count = |name: &str| text(name).and_then(|value| value.parse::<u64>().ok());
        let need = |name: &str| count(name).ok_or_else(|| format!("{name} is missing"));
        let kind = match need("data type")? {
            1 => RawKind::Unsigned(1),
            2 => RawKind::Signed(2),
            3 => RawKind::Signed(4),
            4 => RawKind::Float(4),
            5 => RawKind::Float(8),
            12 => RawKind::Unsigned(2),
            13 => RawKind::Unsigned(4),
            14 => RawKind::Signed(8),
            15 => RawKind::Unsigned(8),
            other => return Err(format!("data type {other} is not supported")),
        };
        let order = match text("interleave").map(|order| order.to_ascii_lowercase()).as_deref() {
            Some("bip") => BandOrder::Pixels,
            Some("bil") => BandOrder::Lines,
            _ => BandOrder::Sequential,
        };
        // Name, column and row of a tie point (counted from 1 at corners), its coordinates, and the cell size.
        let words: Vec<&str> = text("map info").map(|map| map.split(',').map(str::trim).collect()).unwrap_or_default();
        let map: Vec<f64> = words.iter().skip(1).map_while(|word| word.parse().ok()).collect();
        let affine = if let &[column, row, x, y, wide, tall, ..] = &map[..] {
            let rotation = words.iter().find_map(|word| word.strip_prefix("rotation=")?.trim().parse::<f64>().ok());
            let (sine, cosine) = rotation.unwrap_or(0.0).to_radians().sin_cos();
            let [wide, shear_x, shear_y, tall] = [wide * cosine, -wide * sine, -tall * sine, -tall * cosine];
            let (column, row) = (column - 1.0, row - 1.0);
            Some([x - column * wide - row * shear_x, wide, shear_x, y - column * shear_y - row * tall, shear_y, tall])
        } else {
            None
        };
        // The zone and its hemisphere follow the cell size.
        let utm = match words[..] {
            ["UTM", _, _, _, _, _, _, zone, hemisphere, "WGS-84", ..] => {
                let first = if hemisphere.eq_ignore_ascii_case("south") { 32700 } else { 32600 };
                zone.parse::<u32>().ok().filter(|zone| (1..=60).contains(zone)).map(|zone| Crs::Epsg(first + zone))
            }
            _ => None,
        };
        Ok(Self {
            columns: need("samples")?,
            rows: need("lines")?,
            bands: count("bands").unwrap_or(1).clamp(1, 4096),
            kind: RawCells { kind, big_endian: count("byte order") == Some(1) },
            order,
            skip: count("header offset").unwrap_or(0),
            band_row: None,
            total_row: None,
            band_gap: 0,
            description: Description {
                affine,
                crs: text("coordinate system string")
                    .map(|text| Crs::of_text(text))
                    .filter(|crs| *crs != Crs::Unknown)
                    .or(utm)
                    .unwrap_or_default(),
                nodata: text("data ignore value").cloned(),
                ..Description::default()
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(header: &str, cells: &[u8]) -> Result<Vec<f32>, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("map.bil");
        fs::write(&path, cells).expect("it is writable");
        fs::write(path.with_extension("hdr"), header).expect("it is writable");
        let map = read_with_header(&path, &ReadConstraints::anything(), false).map_err(|error| error.to_string())?;
        Ok(map.cells.to_vec())
    }

    #[test]
    fn cell_type_follows_from_header() {
        let signed: Vec<u8> = [-5_i16, 7].into_iter().flat_map(i16::to_le_bytes).collect();
        let header = "nrows 1\nncols 2\nnbits 16\ncellsize 30\n";
        let with = |lines: &str| format!("{header}{lines}\n");
        assert_eq!(read(&with("NODATA -9999"), &signed), Ok(vec![-5.0, 7.0]));
        assert_eq!(read(&with("NODATA 0"), &signed), Ok(vec![65531.0, 7.0]));
        assert_eq!(read(&with("NODATA -9999\nPIXELTYPE UNSIGNEDINT"), &signed), Ok(vec![65531.0, 7.0]));
        let halves: Vec<u8> =
            [0.5_f32, 100.0].into_iter().flat_map(|cell| half::f16::from_f32(cell).to_le_bytes()).collect();
        assert_eq!(read(&with("PIXELTYPE FLOAT"), &halves), Ok(vec![0.5, 100.0]));
        let bytes = read("nrows 1\nncols 2\nnbits 8\npixeltype float\n", &halves).expect_err("there are none");
        assert!(bytes.contains("floats of 8 bits"), "{bytes}");
    }

    #[test]
    fn header_lengths_beyond_file_are_rejected() {
        for lines in [
            "bandrowbytes 1e19\nnbands 2",
            "totalrowbytes 1e19",
            "layout bsq\ntotalrowbytes 1e19\nnbands 2",
            "skipbytes 1e19",
        ] {
            let wrong = read(&format!("nrows 2\nncols 2\nnbits 8\n{lines}\n"), &[0; 8]).expect_err(lines);
            assert!(wrong.contains("extend beyond the file"), "{lines}: {wrong}");
        }
    }
}
