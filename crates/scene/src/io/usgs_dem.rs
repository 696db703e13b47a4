//! USGS digital elevation models (`.dem`): text in records of 1024 bytes, by profiles from south to north (Standards for Digital Elevation
//! Models, edition of 1998).

use std::path::Path;

use super::{
    Error,
    description::Description,
    input::open,
    raster::{Raster, RasterLayout, ReadConstraints, SampleScale},
};
use crate::model::origin::Crs;
use std::io::Read;

const NEEDED: &str = "expected a USGS DEM, or a raster with a header .hdr beside it";
const RECORD: usize = 1024;
/// Maximum length of a file, in bytes: a quadrangle of 16384 × 16384 cells.
const LONGEST: u64 = 1 << 31;

/// Reads a model of geographic (arc seconds) or UTM coordinates.
///
/// # Errors
/// The file is not such a model, is truncated, its size is rejected, no cell has data, or a value is out of range.
pub(super) fn read(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    let bad = |wrong: &str| Error::input(path, wrong, NEEDED);
    let mut text = Vec::new();
    let length = open(path)?.get_ref().metadata().map_err(|error| Error::unreadable(path, &error))?.len();
    if length > LONGEST {
        return Err(bad("too long"));
    }
    expected.budget.request(path, length)?;
    open(path)?.read_to_end(&mut text).map_err(|error| Error::unreadable(path, &error))?;
    // Some copies have a line break after each record.
    if text.get(RECORD).is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        text.retain(|byte| !matches!(byte, b'\n' | b'\r'));
    }
    let header = text.get(..RECORD).ok_or_else(|| bad("not a complete USGS DEM"))?;
    let number = |from: usize, length: usize| float(header.get(from..from + length)?);
    let whole = |from: usize| number(from, 6).map(|number| number as i64);
    let header_of = || {
        Some((
            [number(816, 12)?, number(828, 12)?, number(840, 12)?],
            whole(858)?,
            whole(528)?,
            whole(534)?,
            whole(156)?,
        ))
    };
    let Some(([wide, tall, step], profiles, ground_unit, unit, system)) = header_of() else {
        return Err(bad("not a USGS DEM"));
    };
    if !(wide > 0.0 && tall > 0.0 && (1..=1 << 14).contains(&profiles)) {
        return Err(bad("not a USGS DEM"));
    }
    let columns = profiles as usize;
    // Profiles of UTM quadrangles begin at different latitudes.
    let mut found = Vec::with_capacity(columns);
    let (mut at, mut values) = (RECORD, 0);
    for _ in 0..columns {
        let field = |from: usize, length: usize| float(text.get(at + from..at + from + length)?);
        let head =
            || Some((field(6, 6)? as usize, field(12, 6)? as usize, field(24, 24)?, field(48, 24)?, field(72, 24)?));
        let Some((column, count, x, y, datum)) = head() else { return Err(bad("truncated")) };
        values = count.saturating_add(values);
        if !(1..=columns).contains(&column) || values > text.len() / 6 || !(x.is_finite() && y.is_finite()) {
            return Err(bad("a malformed profile"));
        }
        // 146 values in the first record, 170 in each further one.
        let (mut position, mut end) = (at + 144, at + 144 + 146 * 6);
        let mut heights = Vec::with_capacity(count);
        for _ in 0..count {
            if position == end {
                position = position.next_multiple_of(RECORD);
                end = position + 170 * 6;
            }
            let value = text.get(position..position + 6).and_then(float).ok_or_else(|| bad("truncated"))?;
            position += 6;
            heights.push(if value > -32767.0 { datum + value * step } else { f64::NAN });
        }
        found.push((column, x, y, heights));
        at = position.next_multiple_of(RECORD);
    }
    let south = found.iter().map(|(_, _, y, _)| *y).fold(f64::INFINITY, f64::min);
    let row_of = |y: f64| ((y - south) / tall).round() as usize;
    let rows = found.iter().map(|(_, _, y, heights)| row_of(*y).saturating_add(heights.len())).max().unwrap_or(0);
    let size = expected.admit(path, columns as u64, rows as u64)?;
    expected.budget.request(path, (size.0 * size.1 * 8) as u64)?;
    let mut cells = vec![f64::NAN; size.0 * size.1];
    for (column, _, y, heights) in &found {
        for (index, height) in heights.iter().enumerate() {
            cells[(size.1 - 1 - row_of(*y) - index) * size.0 + column - 1] = *height;
        }
    }
    let west = found.first().map_or(0.0, |(column, x, ..)| x - (*column as f64 - 1.0) * wide) - wide / 2.0;
    let north = south + (rows as f64 - 0.5) * tall;
    // NAD 27, WGS 72, WGS 84 or NAD 83; older models do not state it.
    let datum = header.get(890..892).and_then(float).unwrap_or(1.0) as u32;
    let zone = whole(162).unwrap_or(0);
    let scale = match ground_unit {
        3 => 1.0 / 3600.0,
        1 => 0.3048,
        _ => 1.0,
    };
    let crs = match (ground_unit, system) {
        (3, _) => Crs::Epsg([4267, 4267, 4322, 4326, 4269].get(datum as usize).copied().unwrap_or(4267)),
        (_, 1) if (1..=60).contains(&zone) => {
            let zones = [26700, 26700, 32200, 32600, 26900].get(datum as usize).copied().unwrap_or(26700);
            Crs::Epsg(zones + zone as u32)
        }
        _ => Crs::Unknown,
    };
    let description = Description {
        affine: Some([west * scale, wide * scale, 0.0, north * scale, 0.0, -tall * scale]),
        crs,
        unit: (unit == 1).then(|| "ft".to_owned()),
        ..Description::default()
    };
    let layout = RasterLayout { description, ..RasterLayout::new(size, SampleScale::Floats, Vec::new()) };
    expected.raster(path, layout, |rows| cells.chunks_exact(size.0).try_for_each(|row| rows.push(row)))
}

/// Parses a number of FORTRAN: spaces around it, and D for the exponent.
fn float(bytes: &[u8]) -> Option<f64> {
    std::str::from_utf8(bytes).ok()?.trim().replace(['D', 'd'], "E").parse().ok()
}
