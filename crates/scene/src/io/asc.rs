//! ESRI ASCII grids: a header of key-value pairs, then elevations in metres, row by row from the north.

use std::{
    io::{self, Bytes, Read, Seek, SeekFrom, Write},
    path::Path,
};

use super::{
    Error, JobProgress,
    input::open,
    nodata, output,
    raster::{CellSize, Raster, RasterMetadata, RasterRows, ReadConstraints},
};
use crate::model::origin::Georeference;
use thalweg_sim::core::{bounds::CELL_SIZE, grid::Grid};

/// Maximum length of the header, in bytes.
const HEADER_BYTES: u64 = 4096;
/// Maximum length of a number, in bytes.
const LONGEST_WORD: usize = 64;

/// Reads elevations. NODATA and `nan` cells are filled from their nearest neighbours with data.
///
/// # Errors
/// The header or a value is malformed, there are too few or too many values, the size is rejected, no cell has data, or a value is
/// out of range.
pub(super) fn read(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    let header = Header::read(path)?;
    let size = expected.admit(path, header.columns, header.rows)?;
    let geo = header.geo();
    let cell_size = header.cell.map(|cell| CellSize::of(cell, geo));
    if let Some(size) = &cell_size {
        CELL_SIZE.check("the cellsize in metres", size.metres).map_err(|unfit| Error::unfit(path, unfit))?;
    }
    geo.map_or(Ok(()), |geo| geo.check()).map_err(|unfit| Error::unfit(path, unfit))?;

    let nodata = header.nodata.to_string();
    let raster = nodata::filled(path, expected, size, 0, &nodata, |rows| header.cells(path, rows))?;
    Ok(Raster { cell_size, geo, ..raster })
}

/// Writes a grid. Cells without data get the NODATA_value of the header.
///
/// # Errors
/// The file cannot be written.
pub fn write_asc(path: &Path, grid: &Grid, place: RasterMetadata<'_>, progress: &JobProgress) -> Result<(), Error> {
    let (width, height) = (grid.width(), grid.height());
    let extent = place.extent(width, height);
    let (west, south) = (extent.west, extent.north - extent.height);
    let [wide, tall] = [extent.width / width as f64, extent.height / height as f64];
    let cell =
        if (wide / tall - 1.0).abs() < 1e-9 { format!("cellsize {wide}") } else { format!("dx {wide}\ndy {tall}") };
    let nodata = nodata::unused_value(grid);
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

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Reads the next word into `word`, truncated to [`LONGEST_WORD`]. The word is empty at the end of the file.
fn next_word(bytes: &mut Bytes<impl Read>, word: &mut Vec<u8>) -> io::Result<()> {
    word.clear();
    for byte in bytes {
        let byte = byte?;
        if !byte.is_ascii_whitespace() && word.len() < LONGEST_WORD {
            word.push(byte);
        } else if byte.is_ascii_whitespace() && !word.is_empty() {
            break;
        }
    }
    Ok(())
}

fn number<T: std::str::FromStr>(word: &[u8]) -> Option<T> {
    std::str::from_utf8(word).ok()?.parse().ok()
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
    nodata: f32,
    /// Length in bytes.
    length: usize,
}

impl Header {
    fn read(path: &Path) -> Result<Self, Error> {
        let mut text = Vec::new();
        let read = open(path)?.take(HEADER_BYTES).read_to_end(&mut text);
        read.map_err(|error| Error::unreadable(path, &error))?;
        Self::parse(path, &text)
    }

    /// Reads the values, with NaN for NODATA.
    fn cells(&self, path: &Path, mut rows: RasterRows<'_>) -> Result<Raster, Error> {
        let unreadable = |error: io::Error| Error::unreadable(path, &error);
        let bad = |wrong: String| Err(malformed(path, wrong));
        let (width, height) = (self.columns as usize, self.rows as usize);
        let mut file = open(path)?;
        file.seek(SeekFrom::Start(self.length as u64)).map_err(unreadable)?;
        let mut bytes = file.bytes();
        let (mut row, mut word) = (Vec::with_capacity(width), Vec::new());
        loop {
            next_word(&mut bytes, &mut word).map_err(unreadable)?;
            let (come, column) = (rows.rows_read(), row.len());
            if word.is_empty() && come == height {
                break;
            } else if word.is_empty() {
                let values = come * width + column;
                return bad(format!("truncated: {values} values for {width} × {height} cells"));
            } else if come == height {
                return bad(format!("more values than {width} × {height} cells"));
            }
            let Some(value) = number::<f32>(&word) else {
                return bad(format!("column {column}, row {come} (counted from 0) is \"{}\"", shown(&word)));
            };
            row.push(if value == self.nodata { f32::NAN } else { value });
            if row.len() == width {
                rows.push_with_nodata(&row)?;
                row.clear();
            }
        }
        rows.finish()
    }

    fn parse(path: &Path, text: &[u8]) -> Result<Self, Error> {
        let mut header = Self { nodata: nodata::DEFAULT_NODATA, ..Self::default() };
        let (mut centred_x, mut centred_y) = (false, false);
        let bad = |wrong: String| Err(malformed(path, wrong));
        let mut pairs = words(text);
        while let (Some(name), Some(value)) = (pairs.next(), pairs.next()) {
            // The first number ends the header. "nan" parses as a number, but no key is called that.
            if number::<f64>(name).is_some() {
                break;
            }
            let name = name.to_ascii_lowercase();
            let Some(parsed) = number::<f64>(value) else {
                return bad(format!("\"{} {}\" is not a header line", shown(&name), shown(value)));
            };
            match name.as_slice() {
                b"ncols" | b"nrows" => {
                    let Some(count) = number::<u64>(value) else {
                        return bad(format!("{} is {parsed}, expected a positive integer", shown(&name)));
                    };
                    *(if name == b"ncols" { &mut header.columns } else { &mut header.rows }) = count;
                }
                b"xllcorner" | b"xllcenter" => (header.west, centred_x) = (Some(parsed), name == b"xllcenter"),
                b"yllcorner" | b"yllcenter" => (header.south, centred_y) = (Some(parsed), name == b"yllcenter"),
                b"cellsize" | b"dx" | b"dy" if parsed.is_finite() && parsed > 0.0 => {
                    let [wide, tall] = header.cell.unwrap_or([parsed; 2]);
                    header.cell =
                        Some([if name == b"dy" { wide } else { parsed }, if name == b"dx" { tall } else { parsed }]);
                }
                b"cellsize" | b"dx" | b"dy" => return bad(format!("{} is {parsed}", shown(&name))),
                b"nodata_value" | b"nodata" => header.nodata = parsed as f32,
                _ => return bad(format!("\"{}\" is not a known header key", shown(&name))),
            }
            // Both words are slices of `text`, so this is the end of the value.
            header.length = value.as_ptr_range().end as usize - text.as_ptr() as usize;
        }
        if header.length == 0 {
            return bad("header missing".into());
        }
        let [half_x, half_y] = header.cell.unwrap_or_default().map(|side| side / 2.0);
        header.west = header.west.map(|west| if centred_x { west - half_x } else { west });
        header.south = header.south.map(|south| if centred_y { south - half_y } else { south });
        Ok(header)
    }

    /// Returns the georeference, if there is one. An origin of exactly (0, 0) denotes local coordinates.
    fn geo(&self) -> Option<Georeference> {
        let ([wide, tall], west, south) = (self.cell?, self.west?, self.south?);
        let (width, height) = (wide * self.columns as f64, tall * self.rows as f64);
        let north = south + height;
        // Cells this small within the range of longitudes and latitudes can only be in degrees.
        let on_the_globe = west >= -180.0 && west + width <= 360.0 && south >= -90.0 && north <= 90.0;
        let geo = Georeference { west, north, width, height, degrees: wide < 0.1 && on_the_globe };
        (west != 0.0 || south != 0.0).then_some(geo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Raster, Error> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.asc");
        std::fs::write(&path, text).expect("it is writable");
        read(&path, &ReadConstraints::anything())
    }

    #[test]
    fn a_grid_in_metres_is_read_row_by_row() {
        let text = "NCOLS 3\r\nnrows 2\r\nxllcorner 500000\r\nyllcorner 4e6\r\ncellsize 30\r\n1 2 3\r\n4 5.5 -6e1\r\n";
        let read = read_text(text).expect("it is a grid");
        assert_eq!(read.cells, Grid::from_cells(3, 2, [1.0, 2.0, 3.0, 4.0, 5.5, -60.0]));
        let size = read.cell_size.expect("it is stated");
        assert_eq!((size.metres, size.warning, read.warnings.len()), (30.0, None, 0));
    }

    #[test]
    fn degrees_become_metres_at_the_middle_latitude() {
        let at = |place: &str| {
            let text = format!("ncols 2\nnrows 2\n{place}\ncellsize 0.001\n1 2 3 4");
            read_text(&text).expect("it is a grid").cell_size.expect("it is stated")
        };
        let north = at("xllcenter 10.0005\nyllcenter 59.9995");
        assert!((north.metres - (111.195_f32 * 111.195 / 2.0).sqrt()).abs() < 0.01, "{}", north.metres);
        assert!(north.warning.expect("it was converted").contains("latitude 60.00°"));
        for metric in ["xllcorner 0\nyllcorner 0", "xllcorner 700\nyllcorner 40", ""] {
            assert_eq!(at(metric).metres, 0.001, "{metric}");
        }
    }

    #[test]
    fn cells_that_are_no_squares_become_squares_of_the_same_area() {
        let read = read_text("ncols 2 nrows 1 xllcorner 500 yllcorner 40 dx 8 dy 2  1 3").expect("it is a grid");
        let size = read.cell_size.expect("it is stated");
        assert!(size.metres == 4.0 && size.warning.is_some_and(|told| told.contains("8 × 2 m")));
        let geo = read.geo.expect("it is stated");
        assert_eq!([geo.west, geo.north, geo.width, geo.height], [500.0, 42.0, 16.0, 2.0]);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills.asc");
        let place = RasterMetadata { geo: Some(geo), ..RasterMetadata::local(4.0) };
        write_asc(&path, &read.cells, place, &JobProgress::default()).expect("it is writable");
        assert_eq!(super::read(&path, &ReadConstraints::anything()).expect("it is a grid").geo, Some(geo));
    }

    #[test]
    fn cells_without_data_are_filled_from_the_nearest() {
        let read = read_text("ncols 5 nrows 1 cellsize 1 NODATA_value -1  4 -1 -1 -1 8").expect("it is a grid");
        assert_eq!(read.cells.to_vec(), [4.0, 4.0, 6.0, 8.0, 8.0]);
        assert!(read.warnings[0].starts_with("3 of 5 cells are NODATA (-1)"), "{:?}", read.warnings);
        let read = read_text("ncols 2 nrows 1 cellsize 1 NODATA_value nan nan 8").expect("it is a grid");
        assert_eq!(read.cells.to_vec(), [8.0, 8.0]);
    }

    #[test]
    fn what_is_no_grid_is_refused_with_the_reason() {
        let cases = [
            ("", "header missing"),
            ("1 2 3 4", "header missing"),
            ("Once upon a time", "\"once upon\" is not a header line"),
            ("ncols 2 nrows 2 color 7 1 2 3 4", "\"color\" is not a known header key"),
            ("ncols 2.5 nrows 2 1 2 3 4", "ncols is 2.5"),
            ("ncols 0 nrows 2 cellsize 1", "0 × 2 cells"),
            ("ncols 20000 nrows 20000 cellsize 1 5", "20000 × 20000 cells"),
            ("ncols 2 nrows 2 cellsize -1 1 2 3 4", "cellsize is -1"),
            ("ncols 2 nrows 2 cellsize 1 1 2 3", "3 values for 2 × 2"),
            ("ncols 2 nrows 2 cellsize 1 1 2 3 4 5", "more values"),
            ("ncols 2 nrows 2 cellsize 1 1 2 3 four", "column 1, row 1 (counted from 0) is \"four\""),
            ("ncols 2 nrows 2 cellsize 1 1 2 inf 4", "column 0, row 1 (counted from 0) is inf"),
            ("ncols 2 nrows 2 cellsize 1 NODATA_value 7 7 7 7 7", "all 4 cells are NODATA (7)"),
        ];
        for (text, part) in cases {
            let error = read_text(text).err().expect(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
