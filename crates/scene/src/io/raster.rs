//! What every heightmap format is read into, and the limits that hold for all of them.

use std::path::Path;

use super::{Budget, Error, sidecar::Sidecar};
use crate::model::origin::Geo;
use thalweg_sim::core::{bounds::Bounds, grid::Grid, resample::Resampler};

/// Longest side of a file that is opened at all, in cells; two such sides are 2^28 cells.
const LONGEST_SIDE: u64 = 1 << 14;
/// Length of a degree of latitude on a sphere of the Earth's mean radius (6371.0088 km), in metres.
const METRES_PER_DEGREE: f64 = 111_195.08;

pub(super) struct Raster {
    /// Metres, or steps if there is a full scale; as many cells as were expected, else as many as the file has.
    pub cells: Grid,
    pub size: (usize, usize),
    /// For integer formats: the value that stands for the top of the range; 0 stands for its bottom.
    pub full_scale: Option<f32>,
    /// Side of a cell, if the file states one.
    pub cell_size: Option<CellSize>,
    pub geo: Option<Geo>,
    /// How many cells of the file have no data. Until they are filled they hold NaN.
    pub missing: usize,
    /// As many cells as the map: 1 where there are no data, else 0; none where all cells have some.
    pub nodata: Option<Grid>,
    /// What the user should know of how the file was read, without the file's name.
    pub warnings: Vec<String>,
}

pub(super) struct CellSize {
    /// Metres.
    pub metres: f32,
    /// What the user should know if this size is used.
    pub warning: Option<String>,
}

impl CellSize {
    /// Of cells so wide and so tall: in metres, or in degrees at the middle latitude of a place in degrees. Cells that are no squares
    /// become squares of the same area, so that volumes are right.
    pub fn of([wide, tall]: [f64; 2], geo: Option<Geo>) -> Self {
        const STATE: &str = "state the metres with --cell-size or cell_size_m in a sidecar";
        if let Some(Geo { north, height, degrees: true, .. }) = geo {
            let latitude = north - height / 2.0;
            let size = if wide == tall { wide.to_string() } else { format!("{wide} × {tall}") };
            let (tall, wide) = (tall * METRES_PER_DEGREE, wide * METRES_PER_DEGREE * latitude.to_radians().cos());
            let side = (tall * wide).sqrt();
            let warning = format!(
                "its cell size of {size} is taken as degrees: at latitude {latitude:.2}° a cell is {wide:.1} m wide and {tall:.1} m \
                 tall, so squares of {side:.1} m are used; {STATE}"
            );
            return Self { metres: side as f32, warning: Some(warning) };
        }
        if (wide / tall - 1.0).abs() < 1e-6 {
            return Self { metres: wide as f32, warning: None };
        }
        let side = (tall * wide).sqrt();
        let warning =
            format!("its cells are {wide} m wide and {tall} m tall, so squares of {side:.1} m are used; {STATE}");
        Self { metres: side as f32, warning: Some(warning) }
    }
}

/// The sizes that a reader may accept, and what is known of the size before the file is opened.
pub(super) struct Expected {
    /// What lies beside the file.
    pub sidecar: Sidecar,
    /// Size to which the map will be resampled, or of raw cells that have no other size.
    pub size: Option<(usize, usize)>,
    /// Shortest and longest side allowed for a map that is not resampled.
    pub sides: (usize, usize),
    /// Values that a cell may have, except the steps of integer formats.
    pub bounds: Bounds,
    pub budget: Budget,
}

/// Takes the rows of a map as they are read, and resamples them.
pub(super) struct RasterRows<'a> {
    path: &'a Path,
    bounds: Bounds,
    /// Columns and rows of the file.
    pub(super) size: (usize, usize),
    missing: usize,
    resampler: Resampler,
}

impl RasterRows<'_> {
    pub(super) fn come(&self) -> usize {
        self.resampler.come()
    }

    pub(super) fn push_steps(&mut self, row: &[f32]) {
        self.resampler.push(row);
    }

    /// Takes a row of numbers in the map's own unit. An error names the first cell that is out of bounds.
    pub(super) fn push(&mut self, row: &[f32]) -> Result<(), Error> {
        let checked = self.bounds.check_cells(row, self.size.0, self.come());
        checked.map_err(|unfit| Error::unfit(self.path, unfit))?;
        self.resampler.push(row);
        Ok(())
    }

    /// The same of a row in which NaN stands for a cell without data.
    pub(super) fn push_with_holes(&mut self, row: &[f32]) -> Result<(), Error> {
        let known = row.iter().enumerate().filter(|(_, value)| !value.is_nan());
        let mut count = 0;
        for (column, &value) in known {
            let name = format_args!("the value in column {column}, row {} (counted from 0)", self.come());
            self.bounds.check(name, value).map_err(|unfit| Error::unfit(self.path, unfit))?;
            count += 1;
        }
        self.missing += row.len() - count;
        self.resampler.push(row);
        Ok(())
    }

    /// The map, with as many cells as were expected, in metres and without a place on Earth. No row may be missing.
    ///
    /// # Errors
    /// Rows are missing.
    pub(super) fn finish(self) -> Result<Raster, Error> {
        let (come, (_, rows)) = (self.come(), self.size);
        if come < rows {
            let wrong = format!("it is cut off: it has {come} of its {rows} rows");
            return Err(Error::input(self.path, wrong, "the whole file is needed"));
        }
        let (cells, size, missing) = (self.resampler.finish(), self.size, self.missing);
        let (full_scale, cell_size, geo, nodata) = (None, None, None, None);
        Ok(Raster { cells, size, full_scale, cell_size, geo, missing, nodata, warnings: Vec::new() })
    }
}

impl Expected {
    /// Checks the size in a file's header before any cell is read: against the limits, and against the sidecar.
    ///
    /// # Errors
    /// A side of zero, too small or too large, or a size that the sidecar contradicts.
    pub(super) fn admit(&self, path: &Path, width: u64, height: u64) -> Result<(usize, usize), Error> {
        let refuse = |wrong: String, right: String| Err(Error::input(path, wrong, right));
        let found = format!("it has {width} × {height} cells");
        if width == 0 || height == 0 {
            return refuse(found, "a map needs at least one column and one row".into());
        }
        if width.max(height) > LONGEST_SIDE {
            let right = format!("at most {LONGEST_SIDE} on a side can be read, so make it smaller or cut it");
            return refuse(found, right);
        }
        // Both sides are at most LONGEST_SIDE from here on.
        let (width, height) = (width as usize, height as usize);
        for (stated, side, name) in [(self.sidecar.width, width, "width"), (self.sidecar.height, height, "height")] {
            if let Some(stated) = stated.filter(|stated| *stated != side) {
                let sidecar = Sidecar::beside(path);
                let wrong = format!("{found}, but {} states {name} {stated}", sidecar.display());
                return refuse(wrong, "correct the sidecar or take it away".into());
            }
        }
        for (stated, side, name) in
            [(self.sidecar.map_width, width, "width"), (self.sidecar.map_height, height, "height")]
        {
            if let Some(stated) = stated.filter(|stated| !(1..=side).contains(stated)) {
                let wrong = format!("{found}, but {} states map_{name} {stated}", Sidecar::beside(path).display());
                return refuse(wrong, format!("map_{name} lies between 1 and {side}"));
            }
        }
        let (shortest, longest) = self.sides;
        if self.size.is_none() && width.min(height) < shortest {
            let right = format!("a side needs at least {shortest}, and --size {0}x{0} resamples it", shortest.max(64));
            return refuse(found, right);
        }
        if self.size.is_none() && width.max(height) > longest {
            let scale = longest as f64 / width.max(height) as f64;
            let fitted = |side: usize| ((side as f64 * scale).round() as usize).clamp(shortest, longest);
            let (width, height) = (fitted(width), fitted(height));
            let right = format!("a side may have at most {longest}, and --size {width}x{height} resamples it");
            return refuse(found, right);
        }
        Ok((width, height))
    }

    /// Prepares for the rows of a map of an admitted size, if there is memory for them and for as many bytes as the reader needs
    /// `besides`.
    ///
    /// # Errors
    /// It needs more memory than may be used.
    pub(super) fn rows<'a>(&self, path: &'a Path, size: (usize, usize), besides: u64) -> Result<RasterRows<'a>, Error> {
        let wanted = self.size.unwrap_or(size);
        self.budget.ask(path, Resampler::bytes(size, wanted).saturating_add(besides))?;
        Ok(RasterRows { path, bounds: self.bounds, size, missing: 0, resampler: Resampler::new(size, wanted) })
    }
}

/// The steps of an integer format: from 0 for `min` to `full` for `max`. Values outside are clamped. Where both are the same, all
/// steps are 0, which is read back as that value.
pub(super) fn steps(grid: &Grid, (min, max): (f32, f32), full: u16) -> impl Iterator<Item = u16> {
    let (min, range) = (f64::from(min), f64::from(max) - f64::from(min));
    let scale = if range > 0.0 { f64::from(full) / range } else { 0.0 };
    // A conversion to whole numbers clamps to those of 16 bits.
    grid.iter().map(move |value| (((f64::from(*value) - min) * scale).round() as u16).min(full))
}

/// Where the cells of a map lie, for formats that can say it.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Side of a cell, in metres.
    pub cell_size: f32,
    /// Where on Earth the map lies; else its lower left corner is 0, 0, in metres.
    pub geo: Option<Geo>,
    /// As many cells as the map: 1 where there are no data, else 0; none where all cells have some.
    pub nodata: Option<&'a Grid>,
}

impl Place<'_> {
    /// Not on Earth, with cells of so many metres that all have data.
    pub fn local(cell_size: f32) -> Self {
        Self { cell_size, geo: None, nodata: None }
    }

    /// Its extent in its own coordinates, for a map of so many columns and rows.
    pub(super) fn extent(&self, columns: usize, rows: usize) -> Geo {
        let cell = f64::from(self.cell_size);
        let (width, height) = (cell * columns as f64, cell * rows as f64);
        self.geo.unwrap_or(Geo { west: 0.0, north: height, width, height, degrees: false })
    }
}

#[cfg(test)]
impl Expected {
    /// Heights of any size, as they are.
    pub(super) fn anything() -> Self {
        use thalweg_sim::core::bounds;
        let (sidecar, bounds, budget) = (Sidecar::default(), bounds::HEIGHT, Budget::present());
        Self { sidecar, size: None, sides: (1, *bounds::SIDES.end()), bounds, budget }
    }
}
