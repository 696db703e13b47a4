//! Text grids: ESRI ASCII (a header of key-value pairs, then elevations, row by row from the north) with the variants of many writers,
//! GRASS ASCII, and Surfer (text and binary).

use std::{
    io::{self, Bytes, Read, Seek, SeekFrom, Write},
    path::Path,
};

use super::{
    Error, JobProgress,
    description::{Affine, Description},
    input::{open, start_of},
    nodata, output,
    raster::{Raster, RasterLayout, RasterMetadata, RasterRows, ReadConstraints, SampleScale},
};
use thalweg_sim::core::grid::Grid;

/// Maximum length of the header, in bytes.
const HEADER_BYTES: u64 = 1 << 16;
/// Maximum length of a number, in bytes.
const LONGEST_WORD: usize = 64;
/// First bytes of Surfer grids: text, binary of version 6, and binary of version 7.
const SURFER_TEXT: &[u8] = b"DSAA";
const SURFER_6: &[u8] = b"DSBB";
const SURFER_7: &[u8] = b"DSRB";

/// Reads elevations. Cells without data are filled from their nearest neighbours with data.
///
/// # Errors
/// The header or a value is malformed, there are too few or too many values, the size is rejected, no cell has data, or a value is
/// out of range.
pub(super) fn read(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    let text = start_of(path, HEADER_BYTES)?;
    let header = match text.get(..4) {
        Some(SURFER_TEXT) => Header::of_surfer(path, &text)?,
        Some(SURFER_6 | SURFER_7) => Header::of_binary_surfer(path, &text)?,
        _ => Header::parse(path, &text)?,
    };
    let size = expected.admit(path, header.columns, header.rows)?;
    let description = Description {
        affine: header.affine(),
        nodata: header.nodata.clone(),
        unit: header.unit.clone(),
        scale: header.multiplier,
        ..Description::default()
    };
    let warnings = header.warnings.clone();
    let layout = RasterLayout { description, ..RasterLayout::new(size, SampleScale::Floats, warnings) };
    expected.raster(path, layout, |rows| header.cells(path, rows))
}

/// Writes a grid, and its coordinate reference system as `.prj` of the same stem. Cells without data get the NODATA_value of the header.
///
/// # Errors
/// A file cannot be written.
pub fn write_asc(path: &Path, grid: &Grid, place: RasterMetadata<'_>, progress: &JobProgress) -> Result<(), Error> {
    let (width, height) = (grid.width(), grid.height());
    let extent = place.extent(width, height);
    let (west, south) = (extent.west, extent.north - extent.height);
    let [wide, tall] = [extent.width / width as f64, extent.height / height as f64];
    let cell =
        if (wide / tall - 1.0).abs() < 1e-9 { format!("cellsize {wide}") } else { format!("dx {wide}\ndy {tall}") };
    let nodata = nodata::unused_value(grid);
    if let Some(text) = extent.crs.prj() {
        output::write(&path.with_extension("prj"), text + "\n")?;
    }
    output::create(path, |file| -> io::Result<()> {
        writeln!(file, "ncols {width}\nnrows {height}")?;
        writeln!(file, "xllcorner {west}\nyllcorner {south}\n{cell}\nNODATA_value {nodata}")?;
        for (row, line) in grid.chunks(width).enumerate() {
            let holds = |(x, value): (usize, &f32)| {
                let missing = place.nodata.is_some_and(|mask| mask.at(x, row) > 0.0);
                if missing { nodata.to_string() } else { value.to_string() }
            };
            let line: Vec<String> = line.iter().enumerate().map(holds).collect();
            writeln!(file, "{}", line.join(" "))?;
            progress.done(row + 1, grid.height());
        }
        Ok(())
    })
}

fn malformed(path: &Path, wrong: String) -> Error {
    Error::input(path, wrong, "an ESRI ASCII grid has ncols, nrows and cellsize, then one number per cell")
}

/// Returns `true` for characters between words, including the end of a file as DOS marks it.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x1a || byte == 0
}

/// Reads the next word into `word`, truncated to [`LONGEST_WORD`]. The word is empty at the end of the file.
fn next_word(bytes: &mut Bytes<impl Read>, word: &mut Vec<u8>) -> io::Result<()> {
    word.clear();
    for byte in bytes {
        let byte = byte?;
        if !is_space(byte) && word.len() < LONGEST_WORD {
            word.push(byte);
        } else if is_space(byte) && !word.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Parses a number with a decimal point or comma, or a word for a missing one (NaN).
fn number(word: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(word).ok()?;
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let lower = text.to_ascii_lowercase();
    let unsigned = lower.trim_start_matches(['-', '+']).replace(',', ".");
    match unsigned.as_str() {
        "*" | "null" | "nodata" | "n/a" | "#n/a" | "na" | "none" | "?" | "" => Some(f64::NAN),
        "1.#inf" | "1.#inf00" => Some(f64::INFINITY),
        _ if ["1.#qnan", "1.#snan", "1.#ind", "nan("].iter().any(|word| unsigned.starts_with(word)) => Some(f64::NAN),
        // Of FORTRAN: 1.5D+03.
        _ => lower
            .replace(',', ".")
            .replace('d', "e")
            .parse()
            .ok()
            .filter(|_| lower.contains(|letter: char| letter.is_ascii_digit())),
    }
}

/// Parses a coordinate of GRASS: a number, or degrees, minutes and seconds with a hemisphere (`36:45:30N`).
fn coordinate(word: &[u8]) -> Option<f64> {
    number(word).or_else(|| {
        let text = std::str::from_utf8(word).ok()?.to_ascii_uppercase();
        let sign = if text.ends_with(['S', 'W']) { -1.0 } else { 1.0 };
        let parts = text.trim_end_matches(['N', 'S', 'E', 'W']).split(':').zip([1.0, 60.0, 3600.0]);
        let parts: Option<Vec<f64>> = parts.map(|(part, share)| Some(part.parse::<f64>().ok()? / share)).collect();
        parts.map(|parts| sign * parts.iter().sum::<f64>())
    })
}

/// Returns the beginning of a word in printable form, for messages.
fn shown(word: &[u8]) -> String {
    let letters: String = String::from_utf8_lossy(word).chars().take(20).collect();
    letters.replace(char::is_control, "?")
}

/// Header of a grid. Lengths are in the unit of the file, degrees or metres.
#[derive(Debug, Default)]
struct Header {
    columns: u64,
    rows: u64,
    /// Western and southern edge, if stated.
    west: Option<f64>,
    south: Option<f64>,
    /// Width and height of a cell, if stated.
    cell: Option<[f64; 2]>,
    /// `true` if the first row is the southern one.
    from_south: bool,
    nodata: Option<String>,
    /// Name of the unit of heights.
    unit: Option<String>,
    multiplier: Option<f64>,
    /// Type of the cells, if they are not text.
    binary: Option<Binary>,
    /// Length in bytes.
    length: usize,
    warnings: Vec<String>,
}

/// Type of the cells of a binary grid, little-endian.
#[derive(Clone, Copy, Debug)]
enum Binary {
    Floats32,
    Floats64,
}

impl Header {
    /// Reads the values.
    fn cells(&self, path: &Path, rows: &mut RasterRows<'_>) -> Result<(), Error> {
        let unreadable = |error: io::Error| Error::unreadable(path, &error);
        let bad = |wrong: String| Err(malformed(path, wrong));
        let (width, height) = (self.columns as usize, self.rows as usize);
        let mut file = open(path)?;
        file.seek(SeekFrom::Start(self.length as u64)).map_err(unreadable)?;
        if let Some(binary) = self.binary {
            return binary.cells(path, file, rows);
        }
        let mut bytes = file.bytes();
        let (mut row, mut word) = (Vec::with_capacity(width), Vec::new());
        loop {
            next_word(&mut bytes, &mut word).map_err(unreadable)?;
            let (come, column) = (rows.rows_read(), row.len());
            if word.is_empty() && come == height {
                return Ok(());
            } else if word.is_empty() {
                let values = come * width + column;
                return bad(format!("truncated: {values} values for {width} × {height} cells"));
            } else if come == height {
                return bad(format!("more values than {width} × {height} cells"));
            }
            let Some(value) = number(&word) else {
                return bad(format!("column {column}, row {come} (counted from 0) is \"{}\"", shown(&word)));
            };
            row.push(value);
            if row.len() == width {
                rows.push(&row)?;
                row.clear();
            }
        }
    }

    /// Parses key-value pairs up to the first number. Comments and lines with an unknown key are skipped.
    fn parse(path: &Path, text: &[u8]) -> Result<Self, Error> {
        let mut header = Self::default();
        let (mut centred_x, mut centred_y) = (false, false);
        let (mut east, mut north) = (None, None);
        let mut unknown = Vec::new();
        let bad = |wrong: String| malformed(path, wrong);
        let mut at = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let line_end =
            |from: usize| text[from..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |end| from + end);
        let word_at = |from: usize| -> (usize, usize) {
            let start = text[from..].iter().position(|byte| !is_space(*byte)).map_or(text.len(), |skip| from + skip);
            let end = text[start..].iter().position(|byte| is_space(*byte)).map_or(text.len(), |length| start + length);
            // A sign of equality separates a key from its value.
            let end =
                text[start..end].iter().position(|byte| *byte == b'=').map_or(end, |length| start + length.max(1));
            (start, end)
        };
        loop {
            let (start, end) = word_at(at);
            let word = &text[start..end];
            // The names of some keys are also words for a missing value: such a key has a line with one value.
            let is_key = || {
                let line = &text[start..line_end(start)];
                let words = line.split(|byte| is_space(*byte) || *byte == b'=').filter(|word| !word.is_empty()).count();
                let begins = text[..start].iter().rev().find(|byte| !matches!(byte, b' ' | b'\t'));
                header.nodata.is_none() && words == 2 && begins.is_none_or(|byte| matches!(byte, b'\n' | b'\r'))
            };
            let names_nodata = || [&b"nodata"[..], b"null"].contains(&&*word.to_ascii_lowercase()) && is_key();
            if word.is_empty() || number(word).is_some() && !names_nodata() {
                break;
            }
            if matches!(word[0], b'#' | b';' | b'!' | b'/') {
                at = line_end(start);
                continue;
            }
            let name = word.to_ascii_lowercase();
            let (mut value_start, mut value_end) = word_at(end);
            if text[value_start..value_end] == *b"=" {
                (value_start, value_end) = word_at(value_end);
            }
            let value = &text[value_start..value_end];
            let name = name.strip_suffix(b":").unwrap_or(&name);
            let side = |target: &mut u64| match number(value).filter(|count| *count >= 0.0 && count.fract() == 0.0) {
                Some(count) => {
                    *target = count as u64;
                    Ok(())
                }
                None => Err(bad(format!("{} is {}, expected a positive integer", shown(name), shown(value)))),
            };
            let place = || coordinate(value).ok_or_else(|| bad(format!("{} is {}", shown(name), shown(value))));
            match name {
                b"ncols" | b"cols" | b"ncol" => side(&mut header.columns)?,
                b"nrows" | b"rows" | b"nrow" => side(&mut header.rows)?,
                b"xllcorner" | b"xll" => (header.west, centred_x) = (Some(place()?), false),
                b"xllcenter" | b"xllcentre" => (header.west, centred_x) = (Some(place()?), true),
                b"yllcorner" | b"yll" => (header.south, centred_y) = (Some(place()?), false),
                b"yllcenter" | b"yllcentre" => (header.south, centred_y) = (Some(place()?), true),
                b"west" => (header.west, centred_x) = (Some(place()?), false),
                b"south" => (header.south, centred_y) = (Some(place()?), false),
                b"east" => east = Some(place()?),
                b"north" => north = Some(place()?),
                b"cellsize" | b"dx" | b"dy" | b"xcellsize" | b"ycellsize" | b"xdim" | b"ydim" | b"cell_size" => {
                    let Some(length) = number(value).filter(|length| length.is_finite() && *length > 0.0) else {
                        return Err(bad(format!("{} is {}", shown(name), shown(value))));
                    };
                    let [wide, tall] = header.cell.unwrap_or([length; 2]);
                    let (is_wide, is_tall) = (
                        name.starts_with(b"dx") || name.starts_with(b"x"),
                        name.starts_with(b"dy") || name.starts_with(b"y"),
                    );
                    header.cell = Some([if is_tall { wide } else { length }, if is_wide { tall } else { length }]);
                }
                b"nodata_value" | b"nodata" | b"no_data" | b"nodata-value" | b"null" | b"nullvalue" => {
                    header.nodata = Some(String::from_utf8_lossy(value).replace(',', "."));
                }
                b"zunits" | b"zunit" => header.unit = Some(String::from_utf8_lossy(value).into_owned()),
                b"multiplier" => header.multiplier = number(value),
                b"type" | b"nbits" | b"byteorder" | b"pixeltype" => {}
                _ => {
                    unknown.push(shown(name));
                    at = line_end(start);
                    continue;
                }
            }
            at = value_end;
            header.length = at;
        }
        if header.length == 0 {
            return Err(bad("header missing".into()));
        }
        header.length = at;
        if !unknown.is_empty() {
            header.warnings.push(format!("unknown header lines were ignored: {}", unknown.join(", ")));
        }
        // Only a name converts heights; other values of this key have no common meaning.
        header.unit = header.unit.filter(|unit| crate::model::crs::length_named(unit).is_some());
        if let (None, Some(west), Some(east), Some(south), Some(north)) =
            (header.cell, header.west, east, header.south, north)
        {
            header.cell = Some([(east - west) / header.columns as f64, (north - south) / header.rows as f64]);
        }
        let [half_x, half_y] = header.cell.unwrap_or_default().map(|side| side / 2.0);
        header.west = header.west.map(|west| if centred_x { west - half_x } else { west });
        header.south = header.south.map(|south| if centred_y { south - half_y } else { south });
        Ok(header)
    }

    /// Parses the header of a Surfer text grid: size, and ranges of x, y and z. Ranges are those of cell centres.
    fn of_surfer(path: &Path, text: &[u8]) -> Result<Self, Error> {
        let mut words = text.split(|byte| is_space(*byte)).filter(|word| !word.is_empty()).skip(1);
        let numbers: Option<Vec<f64>> = (0..8).map(|_| number(words.next()?)).collect();
        let Some(numbers) = numbers else {
            return Err(malformed(path, "the header of the Surfer grid is malformed".into()));
        };
        let end = text.len() - words.next().map_or(0, |word| text.as_ptr_range().end as usize - word.as_ptr() as usize);
        let [columns, rows, west, east, south, north, ..] = numbers[..] else { unreachable!("eight were read") };
        Ok(Self::of_centres([columns as u64, rows as u64], [west, east, south, north], None, end))
    }

    /// Parses the header of a binary Surfer grid.
    fn of_binary_surfer(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let cut = || malformed(path, "the header of the Surfer grid is truncated".into());
        let double =
            |at: usize| bytes.get(at..at + 8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap_or_default()));
        let int =
            |at: usize| bytes.get(at..at + 4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap_or_default()));
        let short =
            |at: usize| bytes.get(at..at + 2).map(|bytes| u16::from_le_bytes(bytes.try_into().unwrap_or_default()));
        if bytes.starts_with(SURFER_6) {
            let size = short(4).zip(short(6)).map(|(columns, rows)| [columns.into(), rows.into()]);
            let ranges: Option<Vec<f64>> = (0..4).map(|index| double(8 + 8 * index)).collect();
            let (size, ranges) = size.zip(ranges).ok_or_else(cut)?;
            let ranges = [ranges[0], ranges[1], ranges[2], ranges[3]];
            return Ok(Self::of_centres(size, ranges, Some(Binary::Floats32), 56));
        }
        // Sections: a tag of four bytes, a length, and content.
        let (mut at, mut header) = (0, None);
        loop {
            let (tag, length) = (bytes.get(at..at + 4).ok_or_else(cut)?, int(at + 4).ok_or_else(cut)? as usize);
            let inside = at + 8;
            match tag {
                b"GRID" => {
                    let (rows, columns) = int(inside).zip(int(inside + 4)).ok_or_else(cut)?;
                    let numbers: Option<Vec<f64>> = (0..8).map(|index| double(inside + 8 + 8 * index)).collect();
                    let numbers = numbers.ok_or_else(cut)?;
                    if numbers[6] != 0.0 {
                        let wrong = format!("rotated by {}°, which is not supported", numbers[6]);
                        return Err(Error::input(path, wrong, "resample it to a grid without rotation"));
                    }
                    let [west, south, wide, tall] = [numbers[0], numbers[1], numbers[2], numbers[3]];
                    let east = west + wide * (f64::from(columns) - 1.0);
                    let north = south + tall * (f64::from(rows) - 1.0);
                    let size = [columns.into(), rows.into()];
                    let mut grid = Self::of_centres(size, [west, east, south, north], Some(Binary::Floats64), 0);
                    grid.nodata = Some(numbers[7].to_string());
                    header = Some(grid);
                }
                b"DATA" => {
                    let mut header = header.ok_or_else(cut)?;
                    header.length = inside;
                    return Ok(header);
                }
                _ => {}
            }
            at = inside.checked_add(length).ok_or_else(cut)?;
        }
    }

    /// Creates the header of a grid from the south whose range of coordinates is that of cell centres.
    fn of_centres(
        [columns, rows]: [u64; 2],
        [west, east, south, north]: [f64; 4],
        binary: Option<Binary>,
        length: usize,
    ) -> Self {
        let [wide, tall] =
            [(east - west) / (columns as f64 - 1.0).max(1.0), (north - south) / (rows as f64 - 1.0).max(1.0)];
        // A single column or row has no width of its own.
        let cell = [if columns == 1 { tall } else { wide }, if rows == 1 { wide } else { tall }];
        Self {
            columns,
            rows,
            west: Some(west - cell[0] / 2.0),
            south: Some(south - cell[1] / 2.0),
            cell: Some(cell).filter(|cell| cell.iter().all(|side| *side > 0.0)),
            from_south: true,
            binary,
            length,
            ..Self::default()
        }
    }

    /// Returns the coordinates of its cells; local ones if it states no origin.
    fn affine(&self) -> Option<Affine> {
        let ([wide, tall], west, south) = (self.cell?, self.west.unwrap_or(0.0), self.south.unwrap_or(0.0));
        let north = south + tall * self.rows as f64;
        Some(if self.from_south { [west, wide, 0.0, south, 0.0, tall] } else { [west, wide, 0.0, north, 0.0, -tall] })
    }
}

impl Binary {
    fn cells(self, path: &Path, mut file: impl Read, rows: &mut RasterRows<'_>) -> Result<(), Error> {
        let size = if matches!(self, Self::Floats32) { 4 } else { 8 };
        let (mut bytes, mut row) = (vec![0; rows.size.0 * size], vec![0.0; rows.size.0]);
        for _ in 0..rows.size.1 {
            file.read_exact(&mut bytes).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => malformed(path, "truncated".into()),
                _ => Error::unreadable(path, &error),
            })?;
            for (cell, bytes) in row.iter_mut().zip(bytes.chunks_exact(size)) {
                *cell = match self {
                    Self::Floats32 => f32::from_le_bytes(bytes.try_into().unwrap_or_default()).into(),
                    Self::Floats64 => f64::from_le_bytes(bytes.try_into().unwrap_or_default()),
                };
            }
            rows.push(&row)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: impl AsRef<[u8]>) -> Result<Raster, Error> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.asc");
        std::fs::write(&path, text).expect("it is writable");
        read(&path, &ReadConstraints::anything())
    }

    #[test]
    fn asc_grid_in_metres_is_read_row_by_row() {
        let text = "NCOLS 3\r\nnrows 2\r\nxllcorner 500000\r\nyllcorner 4e6\r\ncellsize 30\r\n1 2 3\r\n4 5.5 -6e1\r\n";
        let read = read_text(text).expect("it is a grid");
        assert_eq!(read.cells, Grid::from_cells(3, 2, [1.0, 2.0, 3.0, 4.0, 5.5, -60.0]));
        let unknown = "its coordinate reference system is unknown; state it as well-known text in hills.prj";
        assert_eq!((read.cell_size, read.warnings), (30.0, vec![unknown.to_owned()]));
    }

    #[test]
    fn degrees_are_converted_at_middle_latitude() {
        let at = |place: &str| {
            let text = format!("ncols 2\nnrows 2\n{place}\ncellsize 0.001\n1 2 3 4");
            read_text(&text).expect("it is a grid")
        };
        let north = at("xllcenter 10.0005\nyllcenter 59.9995");
        assert!((north.cell_size - (111.195_f32 * 111.195 / 2.0).sqrt()).abs() < 0.01, "{}", north.cell_size);
        assert!(north.warnings[0].contains("latitude 60.00°"), "{:?}", north.warnings);
        for metric in ["xllcorner 0\nyllcorner 0", "xllcorner 700\nyllcorner 40", ""] {
            assert_eq!(at(metric).cell_size, 0.001, "{metric}");
        }
    }

    #[test]
    fn non_square_cells_become_squares_of_equal_area() {
        let read = read_text("ncols 2 nrows 1 xllcorner 500 yllcorner 40 dx 8 dy 2  1 3").expect("it is a grid");
        assert!(read.cell_size == 4.0 && read.warnings[1].contains("8 × 2 m"), "{:?}", read.warnings);
        let geo = read.geo.expect("it is stated");
        assert_eq!([geo.west, geo.north, geo.width, geo.height], [500.0, 42.0, 16.0, 2.0]);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.asc");
        let place = RasterMetadata { geo: Some(&geo), ..RasterMetadata::local(4.0) };
        write_asc(&path, &read.cells, place, &JobProgress::default()).expect("it is writable");
        assert_eq!(super::read(&path, &ReadConstraints::anything()).expect("it is a grid").geo, Some(geo));
    }

    #[test]
    fn asc_nodata_is_filled_from_nearest_cells() {
        let read = read_text("ncols 5 nrows 1 cellsize 1 NODATA_value -1  4 -1 -1 -1 8").expect("it is a grid");
        assert_eq!(read.cells.to_vec(), [4.0, 4.0, 6.0, 8.0, 8.0]);
        assert!(read.warnings[0].starts_with("3 of 5 cells are NODATA (-1)"), "{:?}", read.warnings);
        let read = read_text("ncols 2 nrows 1 cellsize 1 NODATA_value nan nan 8").expect("it is a grid");
        assert_eq!(read.cells.to_vec(), [8.0, 8.0]);
    }

    #[test]
    fn asc_dialects_read_as_same_grid() {
        let plain = "ncols 3\nnrows 2\nxllcorner 500\nyllcorner 40\ncellsize 8\nNODATA_value -9999\n1.5 2 3\n4 5 6\n";
        let plain = read_text(plain).expect("it is a grid");
        for text in [
            "\u{feff}ncols 3\r\nnrows 2\r\nxllcorner 500\r\nyllcorner 40\r\ncellsize 8\r\n1.5 2 3\r\n4 5 6\r\n\u{1a}",
            "# made by hand\nNCOLS 3\nNROWS 2\nXLLCENTRE 504\nYLLCENTRE 44\nCELLSIZE 8\n# data\n1.5 2 3\n4 5 6",
            "ncols 3\nnrows 2\nxllcorner 500,0\nyllcorner 40,0\ncellsize 8,0\n1,5 2,0 3,0\n4,0 5,0 6,0",
            "ncols 3\nnrows 2\nxllcorner 500\nyllcorner 40\nxcellsize 8\nycellsize 8\nnbits 32\nauthor A. B. Contour\n1.5 2 3 4 5 6",
            "north: 56\nsouth: 40\neast: 524\nwest: 500\nrows: 2\ncols: 3\nnull: *\n1.5 2 3\n4 5 6",
            "ncols 3\nnrows 2\nxllcorner 500\nyllcorner 40\ncellsize 8\nNODATA -9999\n1.5 2 3\n4 5 6",
            "ncols 3\nnrows 2\nNODATA -9999\nxllcorner 500\nyllcorner 40\ncellsize 8\n1.5 2 3\n4 5 6",
            "ncols = 3\nnrows=2\nxllcorner= 500\nyllcorner =40\ncellsize = 8\nnodata = -9999\n1.5 2 3\n4 5 6",
            "DSAA\n3 2\n504 520\n44 52\n1 6\n4 5 6\n1.5 2 3",
        ] {
            let read = read_text(text).expect(text);
            assert_eq!((read.cells, read.geo, read.cell_size), (plain.cells.clone(), plain.geo.clone(), 8.0), "{text}");
        }
        for word in [
            "null",
            "None",
            "#N/A",
            "-",
            "1e31",
            "-2147483648",
            "*",
            "-1.#IND",
            "1.#QNAN",
            "NaN",
            "inf",
            "1.70141e38",
            "-9999",
            "-3.4028235e+38",
            "1,#QNAN0",
        ] {
            let read = read_text(format!("ncols 3\nnrows 1\ncellsize 1\n7 {word} 7")).expect(word);
            assert_eq!(
                (read.cells.to_vec(), read.nodata.map(|mask| mask.to_vec())),
                (vec![7.0; 3], Some(vec![0.0, 1.0, 0.0])),
                "{word}"
            );
        }
        let feet = read_text("ncols 2\nnrows 1\ncellsize 1\nzunits FEET\n10 20").expect("it is a grid");
        assert!(
            (feet.cells[0] - 3.048).abs() < 1e-6 && feet.warnings[0] == "heights are in feet; converted to metres",
            "{:?}",
            feet.warnings
        );
        let deep = read_text("ncols 3\nnrows 1\ncellsize 1\n-9998 -9999 -10000").expect("a trench");
        assert_eq!((deep.cells[1], deep.nodata), (-9999.0, None));
    }

    #[test]
    fn binary_surfer_grids_are_read_from_south_to_north() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.grd");
        let ranges = [504.0_f64, 520.0, 44.0, 52.0, 1.0, 6.0].into_iter().flat_map(f64::to_le_bytes);
        let cells = [4.0_f32, 5.0, 6.0, 1.0, 2.0, 1.70141e38].into_iter().flat_map(f32::to_le_bytes);
        let bytes: Vec<u8> = SURFER_6.iter().copied().chain([3, 0, 2, 0]).chain(ranges).chain(cells).collect();
        std::fs::write(&path, &bytes).expect("it is writable");
        let grid = read(&path, &ReadConstraints::anything()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(grid.cells.to_vec()[..2], [1.0, 2.0]);
        assert_eq!((grid.cells.at(0, 1), grid.cell_size, grid.nodata.expect("a hole").at(2, 0)), (4.0, 8.0, 1.0));
        let section = |tag: &[u8], inside: Vec<u8>| [tag, &(inside.len() as u32).to_le_bytes(), &inside].concat();
        let grid = [2_u32, 3].into_iter().flat_map(u32::to_le_bytes);
        let grid = grid.chain([504.0_f64, 44.0, 8.0, 8.0, 1.0, 6.0, 0.0, 1e30].into_iter().flat_map(f64::to_le_bytes));
        let cells = [4.0_f64, 5.0, 6.0, 1.0, 2.0, 1e30].into_iter().flat_map(f64::to_le_bytes);
        let bytes =
            [section(SURFER_7, vec![1, 0, 0, 0]), section(b"GRID", grid.collect()), section(b"DATA", cells.collect())];
        std::fs::write(&path, bytes.concat()).expect("it is writable");
        let grid = read(&path, &ReadConstraints::anything()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((grid.cells.at(1, 0), grid.cells.at(2, 1), grid.geo.expect("a place").north), (2.0, 6.0, 56.0));
    }

    #[test]
    fn single_column_surfer_grid_is_read_from_south_to_north() {
        let column = read_text("DSAA\n1 3\n500 500\n40 60\n1 3\n1 2 3").expect("it is a grid");
        assert_eq!((column.cells.to_vec(), column.cell_size), (vec![3.0, 2.0, 1.0], 10.0));
    }

    #[test]
    fn invalid_asc_grid_is_rejected_with_reason() {
        let cases = [
            ("", "header missing"),
            ("1 2 3 4", "header missing"),
            ("Once upon a time", "header missing"),
            ("ncols 2.5 nrows 2 1 2 3 4", "ncols is 2.5"),
            ("ncols 0 nrows 2 cellsize 1", "0 × 2 cells"),
            ("ncols 20000 nrows 20000 cellsize 1 5", "20000 × 20000 cells"),
            ("ncols 2 nrows 2 cellsize -1 1 2 3 4", "cellsize is -1"),
            ("ncols 2 nrows 2 cellsize 1 1 2 3", "3 values for 2 × 2"),
            ("ncols 2 nrows 2 cellsize 1 1 2 3 4 5", "more values"),
            ("ncols 2 nrows 2 cellsize 1 1 2 3 four", "column 1, row 1 (counted from 0) is \"four\""),
            ("ncols 2 nrows 2 cellsize 1 1 2 2e30 4", "column 0, row 1 (counted from 0) is 2e30"),
            ("ncols 2 nrows 2 cellsize 1 NODATA_value 7 7 7 7 7", "all 4 cells are NODATA (7)"),
        ];
        for (text, part) in cases {
            let error = read_text(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
