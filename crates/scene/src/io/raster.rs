//! Common representation of all heightmap formats, and the limits that apply to all of them.

use std::path::Path;

use super::{Budget, Error, sidecar::Sidecar};
use crate::model::origin::Georeference;
use thalweg_sim::core::{bounds::Bounds, grid::Grid, resample::Resampler};

/// Maximum side of a readable file, in cells; a square of it has 2^28 cells.
const MAX_FILE_SIDE: u64 = 1 << 14;
/// Length of a degree of latitude on a sphere with the Earth's mean radius (6371.0088 km), in metres.
const METRES_PER_DEGREE: f64 = 111_195.08;

pub(super) struct Raster {
    /// Values in metres, or quantised if there is a full scale; of the expected size, else of the file's size.
    pub cells: Grid,
    pub size: (usize, usize),
    /// Maximum raw value of an integer format, mapped to the top of the range; 0 maps to the bottom.
    pub full_scale: Option<f32>,
    /// Cell size, if the file states one.
    pub cell_size: Option<CellSize>,
    pub geo: Option<Georeference>,
    /// Number of cells of the file without data, which are NaN until filled.
    pub missing: usize,
    /// NODATA mask of the same size: 1 without data, else 0. `None` if all cells have data.
    pub nodata: Option<Grid>,
    /// Warnings for the user, without the file name.
    pub warnings: Vec<String>,
}

pub(super) struct CellSize {
    /// Side of a cell, in metres.
    pub metres: f32,
    /// Warning for the user if this size is used.
    pub warning: Option<String>,
}

impl CellSize {
    /// Converts cells of this width and height, which are in metres, or in degrees if `geo` is. Non-square cells become squares of the same
    /// area, which conserves volumes.
    pub fn of([wide, tall]: [f64; 2], geo: Option<Georeference>) -> Self {
        const STATE: &str = "set it in metres with --cell-size or cell_size_m in a sidecar";
        if let Some(Georeference { north, height, degrees: true, .. }) = geo {
            let latitude = north - height / 2.0;
            let size = if wide == tall { wide.to_string() } else { format!("{wide} × {tall}") };
            let (tall, wide) = (tall * METRES_PER_DEGREE, wide * METRES_PER_DEGREE * latitude.to_radians().cos());
            let side = (tall * wide).sqrt();
            let warning = format!(
                "cell size {size} is interpreted as degrees: at latitude {latitude:.2}° a cell is {wide:.1} × {tall:.1} \
                 m, so square cells of {side:.1} m are used; {STATE}"
            );
            return Self { metres: side as f32, warning: Some(warning) };
        }
        if (wide / tall - 1.0).abs() < 1e-6 {
            return Self { metres: wide as f32, warning: None };
        }
        let side = (tall * wide).sqrt();
        let warning =
            format!("cells of {wide} × {tall} m are not square, so square cells of {side:.1} m are used; {STATE}");
        Self { metres: side as f32, warning: Some(warning) }
    }
}

/// Accepted sizes, and the information about a map available before the file is opened.
pub(super) struct ReadConstraints {
    /// Sidecar of the file.
    pub sidecar: Sidecar,
    /// Size to resample to; for raw formats without a stated size also the size of the file.
    pub size: Option<(usize, usize)>,
    /// Minimum and maximum side of a map that is not resampled.
    pub sides: (usize, usize),
    /// Valid range of cell values, except raw values of integer formats.
    pub bounds: Bounds,
    pub budget: Budget,
}

/// Receives the rows of a map while it is read, and resamples them.
pub(super) struct RasterRows<'a> {
    path: &'a Path,
    bounds: Bounds,
    /// Columns and rows of the file.
    pub(super) size: (usize, usize),
    missing: usize,
    resampler: Resampler,
}

impl RasterRows<'_> {
    pub(super) fn rows_read(&self) -> usize {
        self.resampler.rows_received()
    }

    pub(super) fn push_steps(&mut self, row: &[f32]) {
        self.resampler.push(row);
    }

    /// Adds a row of values in the unit of the map. An error names the first cell that is out of bounds.
    pub(super) fn push(&mut self, row: &[f32]) -> Result<(), Error> {
        let checked = self.bounds.check_cells(row, self.size.0, self.rows_read());
        checked.map_err(|unfit| Error::unfit(self.path, unfit))?;
        self.resampler.push(row);
        Ok(())
    }

    /// Adds a row in which NaN marks cells without data.
    pub(super) fn push_with_nodata(&mut self, row: &[f32]) -> Result<(), Error> {
        let known = row.iter().enumerate().filter(|(_, value)| !value.is_nan());
        let mut count = 0;
        for (column, &value) in known {
            let name = format_args!("the value in column {column}, row {} (counted from 0)", self.rows_read());
            self.bounds.check(name, value).map_err(|unfit| Error::unfit(self.path, unfit))?;
            count += 1;
        }
        self.missing += row.len() - count;
        self.resampler.push(row);
        Ok(())
    }

    /// Returns the map in its target size, without a georeference.
    ///
    /// # Errors
    /// Rows are missing.
    pub(super) fn finish(self) -> Result<Raster, Error> {
        let (come, (_, rows)) = (self.rows_read(), self.size);
        if come < rows {
            let wrong = format!("truncated: {come} of {rows} rows");
            return Err(Error::input(self.path, wrong, "expected a complete file"));
        }
        let (cells, size, missing) = (self.resampler.finish(), self.size, self.missing);
        let (full_scale, cell_size, geo, nodata) = (None, None, None, None);
        Ok(Raster { cells, size, full_scale, cell_size, geo, missing, nodata, warnings: Vec::new() })
    }
}

impl ReadConstraints {
    /// Checks the size in the header of a file against the limits and the sidecar, before cells are read.
    ///
    /// # Errors
    /// A side is zero, too small or too large, or contradicts the sidecar.
    pub(super) fn admit(&self, path: &Path, width: u64, height: u64) -> Result<(usize, usize), Error> {
        let refuse = |wrong: String, right: String| Err(Error::input(path, wrong, right));
        let found = format!("{width} × {height} cells");
        if width == 0 || height == 0 {
            return refuse(found, "a map has at least one column and one row".into());
        }
        if width.max(height) > MAX_FILE_SIDE {
            let right = format!("at most {MAX_FILE_SIDE} cells per side can be read, downsample or crop it");
            return refuse(found, right);
        }
        // From here on, both sides are at most LONGEST_SIDE.
        let (width, height) = (width as usize, height as usize);
        for (stated, side, name) in [(self.sidecar.width, width, "width"), (self.sidecar.height, height, "height")] {
            if let Some(stated) = stated.filter(|stated| *stated != side) {
                let sidecar = Sidecar::path_for(path);
                let wrong = format!("{found}, but {} states {name} {stated}", sidecar.display());
                return refuse(wrong, "correct or remove the sidecar".into());
            }
        }
        for (stated, side, name) in
            [(self.sidecar.map_width, width, "width"), (self.sidecar.map_height, height, "height")]
        {
            if let Some(stated) = stated.filter(|stated| !(1..=side).contains(stated)) {
                let wrong = format!("{found}, but {} states map_{name} {stated}", Sidecar::path_for(path).display());
                return refuse(wrong, format!("map_{name} must be between 1 and {side}"));
            }
        }
        let (shortest, longest) = self.sides;
        if self.size.is_none() && width.min(height) < shortest {
            let right = format!(
                "at least {shortest} cells per side are required, resample it with --size {0}x{0}",
                shortest.max(64)
            );
            return refuse(found, right);
        }
        if self.size.is_none() && width.max(height) > longest {
            let scale = longest as f64 / width.max(height) as f64;
            let fitted = |side: usize| ((side as f64 * scale).round() as usize).clamp(shortest, longest);
            let (width, height) = (fitted(width), fitted(height));
            let right =
                format!("at most {longest} cells per side are supported, resample it with --size {width}x{height}");
            return refuse(found, right);
        }
        Ok((width, height))
    }

    /// Allocates rows for a map of an admitted size. `besides` is the additional memory that the reader needs, in bytes.
    ///
    /// # Errors
    /// The memory budget is exceeded.
    pub(super) fn rows<'a>(&self, path: &'a Path, size: (usize, usize), besides: u64) -> Result<RasterRows<'a>, Error> {
        let wanted = self.size.unwrap_or(size);
        self.budget.request(path, Resampler::bytes(size, wanted).saturating_add(besides))?;
        Ok(RasterRows { path, bounds: self.bounds, size, missing: 0, resampler: Resampler::new(size, wanted) })
    }
}

/// Quantises a grid for an integer format, from 0 at `min` to `full` at `max`, clamped. If both are equal, all values are 0, which is
/// read back as that value.
pub(super) fn steps(grid: &Grid, (min, max): (f32, f32), full: u16) -> impl Iterator<Item = u16> {
    let (min, range) = (f64::from(min), f64::from(max) - f64::from(min));
    let scale = if range > 0.0 { f64::from(full) / range } else { 0.0 };
    // The cast to u16 saturates.
    grid.iter().map(move |value| (((f64::from(*value) - min) * scale).round() as u16).min(full))
}

/// Georeference and NODATA mask of a map, for formats that support them.
#[derive(Clone, Copy, Debug)]
pub struct RasterMetadata<'a> {
    /// Side of a cell, in metres.
    pub cell_size: f32,
    /// Georeference; if there is none, the lower left corner is (0, 0), in metres.
    pub geo: Option<Georeference>,
    /// NODATA mask of the same size: 1 without data, else 0. `None` if all cells have data.
    pub nodata: Option<&'a Grid>,
}

impl RasterMetadata<'_> {
    /// Local coordinates with cells of this size in metres, all with data.
    pub fn local(cell_size: f32) -> Self {
        Self { cell_size, geo: None, nodata: None }
    }

    /// Returns the extent of a map with this many columns and rows.
    pub(super) fn extent(&self, columns: usize, rows: usize) -> Georeference {
        let cell = f64::from(self.cell_size);
        let (width, height) = (cell * columns as f64, cell * rows as f64);
        self.geo.unwrap_or(Georeference { west: 0.0, north: height, width, height, degrees: false })
    }
}

#[cfg(test)]
impl ReadConstraints {
    /// Accepts heights of any size without resampling.
    pub(super) fn anything() -> Self {
        use thalweg_sim::core::bounds;
        let (sidecar, bounds, budget) = (Sidecar::default(), bounds::HEIGHT, Budget::present());
        Self { sidecar, size: None, sides: (1, *bounds::SIDES.end()), bounds, budget }
    }
}
