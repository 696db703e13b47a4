//! Common representation of all heightmap formats, and the limits that apply to all of them.

use std::path::Path;

use super::{
    Budget, Error, JobProgress,
    description::{Description, RasterPlacement, number_prefix},
    nodata,
    sidecar::Sidecar,
    steps,
};
use crate::model::origin::{Crs, Georeference, Options};
use thalweg_sim::core::{
    bounds::{Bounds, CELL_SIZE},
    grid::Grid,
    resample::{Resampler, cells_within},
};

/// Maximum side of a readable file, in cells; a square of it has 2^28 cells.
pub(super) const MAX_FILE_SIDE: u64 = 1 << 14;
/// Default cell size, in metres.
const ASSUMED_CELL_SIZE: f32 = 1.0;
/// Default relief of quantised heights, as a fraction of the shorter side. Same proportions as the published terrain.
const ASSUMED_RELIEF: f32 = 60.0 / 256.0;

/// Largest deviation of a NODATA value from that of a cell, as a fraction: one in the last place of a float of 32 bits.
const NODATA_TOLERANCE: f64 = 2.4e-7;
/// Magnitude from which a value is no height in any unit, but marks a cell without data.
const HUGE: f64 = 1e38;
/// Values that mark cells without data even where a file does not state it.
pub(super) const SENTINELS: [f64; 4] = [-32768.0, -32767.0, -9999.0, -99999.0];
/// Values of the same kind that are no height in any unit.
const FOREIGN_SENTINELS: [f64; 4] = [i32::MIN as f64, 1e20, 1e30, 1e31];
/// Distance of a sentinel from all other values. Closer values belong to a deep sea.
const SENTINEL_GAP: f64 = 500.0;

/// Map that was read, in its target size and unit.
#[derive(Debug)]
pub(super) struct Raster {
    pub cells: Grid,
    /// Columns and rows of the file.
    pub size: (usize, usize),
    /// Side of a cell of the target, in metres.
    pub cell_size: f32,
    pub geo: Option<Georeference>,
    /// NODATA mask of the same size: 1 without data, else 0. `None` if all cells have data.
    pub nodata: Option<Grid>,
    /// Warnings for the user, without the file name.
    pub warnings: Vec<String>,
}

#[derive(Debug)]
pub(super) struct CellSize {
    /// Side of a cell, in metres.
    pub metres: f32,
    /// Warning for the user if this size is used.
    pub warning: Option<String>,
}

/// Properties of a map that its reader knows before it reads the cells.
pub(super) struct RasterLayout {
    /// Columns and rows, as admitted.
    pub size: (usize, usize),
    pub samples: SampleScale,
    pub description: Description,
    /// Band of the description, counted from 1.
    pub band: usize,
    /// Memory that the reader needs in addition to the map, in bytes.
    pub extra_bytes: u64,
    /// Warnings for the user, without the file name.
    pub warnings: Vec<String>,
}

/// Type of the values of a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum SampleScale {
    /// Steps of a quantised range, from the smallest to the largest possible value; they have no unit.
    Steps([f64; 2]),
    /// Integers in the unit of the file, with the smallest and largest possible value.
    Integers([f64; 2]),
    /// Floats in the unit of the file.
    Floats,
}

/// Purpose of a map.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// Heights in metres.
    Heights,
    /// Layer with this default range of integer formats.
    Layer((f32, f32)),
}

/// Accepted sizes, and the information about a map available before the file is opened.
pub(super) struct ReadConstraints {
    /// Sidecar of the file.
    pub sidecar: Sidecar,
    pub options: Options,
    pub purpose: Purpose,
    /// `true` for a tile of a map, all cells of which may be NODATA.
    pub is_tile: bool,
    /// Minimum and maximum side of a map; others are padded or resampled.
    pub sides: (usize, usize),
    /// Valid range of cell values.
    pub bounds: Bounds,
    pub budget: Budget,
}

/// Receives the rows of a map while it is read: converts the values, recognises NODATA and resamples.
pub(super) struct RasterRows<'a> {
    path: &'a Path,
    bounds: Bounds,
    /// Columns and rows of the file.
    pub(super) size: (usize, usize),
    conversion: Conversion,
    voids: NodataRule,
    resampler: Resampler,
    /// Row in progress, converted.
    row: Vec<f32>,
    found: RawStatistics,
    progress: JobProgress,
}

/// Linear conversion of raw values to those of the map.
#[derive(Clone, Copy, Debug)]
struct Conversion {
    scale: f64,
    offset: f64,
}

impl RasterLayout {
    /// Creates the layout of a single band without a description that needs no memory other than the map.
    pub(super) fn new(size: (usize, usize), samples: SampleScale, warnings: Vec<String>) -> Self {
        Self { size, samples, description: Description::default(), band: 1, extra_bytes: 0, warnings }
    }
}

impl Conversion {
    fn of(self, raw: f64) -> f64 {
        self.offset + raw * self.scale
    }
}

/// Raw values that mark cells without data.
#[derive(Clone, Copy, Debug)]
struct NodataRule {
    stated: Option<f64>,
    /// `true` if sentinels mark such cells too.
    sentinels: bool,
    /// `true` if the same holds for sentinels that are no height.
    foreign: bool,
}

/// Statistics of the raw values of a map.
#[derive(Clone, Copy, Debug)]
struct RawStatistics {
    missing: usize,
    /// Number of sentinels and the largest of them.
    sentinels: (usize, f64),
    /// A sentinel that is no height.
    foreign: Option<f64>,
    /// Smallest and largest value of the other cells.
    range: [f64; 2],
}

impl RasterRows<'_> {
    pub(super) fn rows_read(&self) -> usize {
        self.resampler.rows_received()
    }

    /// Returns the raw value of cells that a file omits: NODATA if the file states it, else 0.
    pub(super) fn omitted(&self) -> f64 {
        if self.voids.stated.is_some() { f64::NAN } else { 0.0 }
    }

    /// Adds a row of raw values. NaN, infinite and NODATA values mark cells without data. An error names the first cell that is out of
    /// bounds.
    pub(super) fn push(&mut self, row: &[f64]) -> Result<(), Error> {
        assert_eq!(row.len(), self.size.0, "a row must be as wide as the map");
        let Self { voids, found, conversion, .. } = self;
        for (cell, &raw) in self.row.iter_mut().zip(row) {
            let near = |nodata: f64| {
                raw == nodata || raw as f32 == nodata as f32 && (raw - nodata).abs() <= NODATA_TOLERANCE * nodata.abs()
            };
            let is_sentinel = voids.sentinels && SENTINELS.contains(&raw);
            let is_foreign = voids.foreign && FOREIGN_SENTINELS.into_iter().any(near);
            if raw.is_nan() || raw.abs() >= HUGE || is_sentinel || is_foreign || voids.stated.is_some_and(near) {
                *cell = f32::NAN;
                found.missing += 1;
                if is_sentinel {
                    found.sentinels = (found.sentinels.0 + 1, found.sentinels.1.max(raw));
                } else if is_foreign {
                    found.foreign = Some(raw);
                }
                continue;
            }
            found.range = [found.range[0].min(raw), found.range[1].max(raw)];
            *cell = conversion.of(raw) as f32;
        }
        let out_of_bounds = |value: &f32| !value.is_nan() && !self.bounds.contains(*value);
        if let Some(column) = self.row.iter().position(out_of_bounds) {
            let name = format_args!("the value in column {column}, row {} (counted from 0)", self.rows_read());
            self.bounds.check(name, self.row[column]).map_err(|unfit| Error::unfit(self.path, unfit))?;
        }
        self.resampler.push(&self.row);
        self.progress.done(self.rows_read(), self.size.1);
        if self.progress.is_cancelled() {
            return Err(Error::input(self.path, "reading was cancelled", "open it again"));
        }
        Ok(())
    }

    /// Returns the map.
    ///
    /// # Errors
    /// Rows are missing.
    fn finish(self) -> Result<(Grid, RawStatistics), Error> {
        let (come, (_, rows)) = (self.rows_read(), self.size);
        if come < rows {
            let wrong = format!("truncated: {come} of {rows} rows");
            return Err(Error::input(self.path, wrong, "expected a complete file"));
        }
        Ok((self.resampler.finish(), self.found))
    }
}

/// Placement of a map of one size in another: resampled with square cells, then padded to the right and to the bottom.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Resizing {
    /// Columns and rows of the resampled map.
    content: (usize, usize),
    /// Columns and rows of the result.
    target: (usize, usize),
    /// Cells of the file per cell of the result, along a side.
    factor: f64,
}

impl ReadConstraints {
    /// Checks the size in the header of a file against the limits and the sidecar, before cells are read.
    ///
    /// # Errors
    /// A side is zero or too large, or contradicts the sidecar.
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
            // The reader warns of one that may belong to another program.
            if let Some(stated) = stated.filter(|stated| *stated != side && !self.sidecar.is_ambiguous) {
                let sidecar = Sidecar::path_for(path);
                let wrong = format!("{found}, but {} states {name} {stated}", sidecar.display());
                return refuse(wrong, "correct or remove the sidecar".into());
            }
        }
        for (stated, side, name) in
            [(self.sidecar.map_width, width, "width"), (self.sidecar.map_height, height, "height")]
        {
            if let Some(stated) = stated.filter(|stated| *stated > side) {
                let wrong = format!("{found}, but {} states map_{name} {stated}", Sidecar::path_for(path).display());
                return refuse(wrong, format!("map_{name} must be between 0 and {side}"));
            }
        }
        Ok((width, height))
    }

    /// Returns how a map of this size becomes one of the target size, and a warning if that was not asked for.
    fn fit(&self, (width, height): (usize, usize)) -> (Resizing, Option<String>) {
        let same = Resizing { content: (width, height), target: (width, height), factor: 1.0 };
        let (shortest, longest) = self.sides;
        match (self.options.size, self.purpose) {
            (Some(target), Purpose::Layer(_)) => (Resizing { content: target, target, factor: 1.0 }, None),
            (Some((wide, tall)), Purpose::Heights) => {
                let factor = (width as f64 / wide as f64).max(height as f64 / tall as f64);
                let fitted = |side: usize, most: usize| ((side as f64 / factor).round() as usize).clamp(1, most);
                let fit =
                    Resizing { content: (fitted(width, wide), fitted(height, tall)), target: (wide, tall), factor };
                let warning = format!(
                    "cells stay square: {width} × {height} cells are resampled to {} × {} and padded to {wide} × {tall}",
                    fit.content.0, fit.content.1
                );
                (fit, (fit.content != fit.target).then_some(warning))
            }
            (None, _) if width.max(height) > longest => {
                let factor = width.max(height) as f64 / longest as f64;
                let fitted = |side: usize| ((side as f64 / factor).round() as usize).clamp(1, longest);
                let content = (fitted(width), fitted(height));
                let target = (content.0.max(shortest), content.1.max(shortest));
                let warning = format!(
                    "{width} × {height} cells are resampled to {} × {}: a terrain has at most {longest} cells per side, as \
                     drainage areas are counted exactly only up to {longest}² cells; choose another size with --size",
                    content.0, content.1
                );
                (Resizing { content, target, factor }, Some(warning))
            }
            (None, _) if width.min(height) < shortest => {
                let target = (width.max(shortest), height.max(shortest));
                let warning = format!(
                    "{width} × {height} cells are padded to {} × {}: a terrain has at least {shortest} cells per side; \
                     resample it with --size instead",
                    target.0, target.1
                );
                (Resizing { target, ..same }, Some(warning))
            }
            (None, _) => (same, None),
        }
    }

    /// Reads a map: `read` pushes all rows, and is called again where the map must be read at full size. Cells without data are filled
    /// from their nearest neighbours with data.
    ///
    /// # Errors
    /// The raster is rotated, no cell has data, a number is out of bounds, the memory budget is exceeded, or `read` fails.
    pub(super) fn raster(
        &self,
        path: &Path,
        layout: RasterLayout,
        mut read: impl FnMut(&mut RasterRows<'_>) -> Result<(), Error>,
    ) -> Result<Raster, Error> {
        let RasterLayout { size, samples, description, band, extra_bytes, mut warnings } = layout;
        let description = description.with_companions(path, band)?;
        let RasterPlacement { mut flipped, cell_size, geo } = description.placement(path, size)?;
        let is_raw = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("raw"));
        flipped[1] ^= is_raw && self.sidecar.raw_bottom_up == Some(true);
        let (fit, resized) = self.fit(size);
        geo.as_ref().map_or(Ok(()), Georeference::check).map_err(|unfit| Error::unfit(path, unfit))?;
        let is_height = matches!(self.purpose, Purpose::Heights);
        // Warnings about sizes and ranges come last.
        let mut later = Vec::new();
        if is_height && geo.as_ref().is_some_and(|geo| geo.crs == Crs::Unknown) {
            let name = path.with_extension("prj");
            later.push(format!(
                "its coordinate reference system is unknown; state it as well-known text in {}",
                name.file_name().unwrap_or_default().to_string_lossy()
            ));
        }
        let cell_size = self.cell_size(path, cell_size, fit.factor, &mut later)?;
        let (conversion, converted) = self.conversion(path, samples, &description, (fit, cell_size), &mut later)?;

        let nodata = description.nodata.as_deref().and_then(number_prefix);
        // Any code of a quantised range may be a height.
        let are_codes = match samples {
            SampleScale::Steps(_) => true,
            SampleScale::Integers(_) => self.range() != [None; 2],
            SampleScale::Floats => false,
        };
        let are_unstated = nodata.is_none() && !are_codes;
        let mut voids = NodataRule { stated: nodata, sentinels: are_unstated, foreign: are_unstated };
        let mut pass = |target: (usize, usize), voids: NodataRule| -> Result<(Grid, RawStatistics), Error> {
            self.budget.request(
                path,
                Resampler::bytes(size, target).saturating_add(extra_bytes).saturating_add(4 * size.0 as u64),
            )?;
            let range = [f64::INFINITY, f64::NEG_INFINITY];
            let found = RawStatistics { missing: 0, sentinels: (0, f64::MIN), foreign: None, range };
            let (resampler, row) = (Resampler::new(size, target), vec![0.0; size.0]);
            let progress = JobProgress::current();
            let bounds = self.bounds;
            let mut rows = RasterRows { path, bounds, size, conversion, voids, resampler, row, found, progress };
            read(&mut rows)?;
            rows.finish()
        };
        // Smoothing needs the steps of the file.
        let smooths = self.options.smooth_steps && !matches!(samples, SampleScale::Floats);
        let first = if smooths { size } else { fit.content };
        let (mut cells, mut found) = pass(first, voids)?;
        if found.sentinels.0 > 0 && found.range[0] < found.sentinels.1 + SENTINEL_GAP {
            voids.sentinels = false;
            (cells, found) = pass(first, voids)?;
        }
        let count = size.0 * size.1;
        let unstated = if found.sentinels.0 > 0 { Some(found.sentinels.1) } else { found.foreign };
        let label = match (&description.nodata, unstated) {
            (Some(text), _) => text.trim().to_owned(),
            (None, None) => "NaN".to_owned(),
            (None, Some(value)) if value.abs() > 1e15 => format!("{:e} without a stated NODATA value", value as f32),
            (None, Some(value)) => format!("{value} without a stated NODATA value"),
        };
        let mut mask = None;
        if found.missing == count && self.is_tile {
            cells.iter_mut().for_each(|cell| *cell = 0.0);
            mask = Some(Grid::filled(size.0, size.1, 1.0));
        } else if found.missing == count {
            let wrong = format!("all {count} cells are NODATA ({label})");
            return Err(Error::input(path, wrong, "at least one cell must have a value"));
        } else if found.missing > 0 {
            self.budget.request(path, count as u64 * nodata::BYTES_TO_FILL)?;
            if first != size {
                // Finding the nearest cells requires the map at full size.
                (cells, found) = pass(size, voids)?;
            }
            mask = Some(Grid::from_values(size.0, size.1, cells.iter().map(|value| f32::from(value.is_nan()))));
            nodata::fill(&mut cells);
            warnings.push(format!(
                "{} of {count} cells are NODATA ({label}) and were filled from the nearest cells with data",
                found.missing
            ));
        }
        if smooths {
            steps::smooth(&mut cells, conversion.scale.abs() as f32);
        }
        if (cells.width(), cells.height()) != fit.content {
            cells = cells.resample(fit.content.0, fit.content.1);
            mask = mask.map(|mask| nodata::resample_mask(&mask, fit.content));
        }
        self.scale_fractions(samples, &found, conversion, &mut cells, &mut later);
        if flipped != [false; 2] {
            let turn = |grid: &Grid| {
                let (width, height) = (grid.width(), grid.height());
                let at = |flipped: bool, index: usize, side: usize| if flipped { side - 1 - index } else { index };
                Grid::from_fn(width, height, |x, y| grid.at(at(flipped[0], x, width), at(flipped[1], y, height)))
            };
            (cells, mask) = (turn(&cells), mask.as_ref().map(turn));
        }
        warnings.extend(converted.filter(|_| is_height));
        warnings.extend(resized);
        warnings.extend(later);

        let map = (self.sidecar.map_width.unwrap_or(size.0), self.sidecar.map_height.unwrap_or(size.1));
        let columns = cells_within(map.0, size.0, fit.content.0);
        let rows = cells_within(map.1, size.1, fit.content.1);
        if (columns, rows) != fit.target {
            let inside = |x: usize, y: usize| x < columns && y < rows;
            let before = |x, y| mask.as_ref().map_or(0.0, |mask| mask.at(x, y));
            mask =
                Some(Grid::from_fn(fit.target.0, fit.target.1, |x, y| if inside(x, y) { before(x, y) } else { 1.0 }));
        }
        if fit.target != fit.content {
            let (last_x, last_y) = (fit.content.0 - 1, fit.content.1 - 1);
            cells = Grid::from_fn(fit.target.0, fit.target.1, |x, y| cells.at(x.min(last_x), y.min(last_y)));
        }
        let geo = geo.map(|geo| Georeference {
            width: geo.width * fit.target.0 as f64 / fit.content.0 as f64,
            height: geo.height * fit.target.1 as f64 / fit.content.1 as f64,
            ..geo
        });
        Ok(Raster { cells, size, cell_size, geo, nodata: mask, warnings })
    }

    /// Returns the side of a cell of the result. `factor` is the number of cells of the file along it.
    fn cell_size(
        &self,
        path: &Path,
        stated: Option<CellSize>,
        factor: f64,
        warnings: &mut Vec<String>,
    ) -> Result<f32, Error> {
        if matches!(self.purpose, Purpose::Layer(_)) {
            return Ok(ASSUMED_CELL_SIZE);
        }
        let of_file = match (self.options.cell_size, self.sidecar.cell_size_m, stated) {
            (Some(metres), ..) => return Ok(metres),
            (None, Some(metres), _) => metres,
            (None, None, Some(stated)) => {
                warnings.extend(stated.warning);
                stated.metres
            }
            (None, None, None) => {
                warnings.push(format!(
                    "cell size missing, assuming {ASSUMED_CELL_SIZE} m; set it with --cell-size or as cell_size_m in {}",
                    Sidecar::path_for(path).display()
                ));
                ASSUMED_CELL_SIZE
            }
        };
        let cell_size = (f64::from(of_file) * factor) as f32;
        CELL_SIZE.check("the cell size", cell_size).map_err(|unfit| Error::unfit(path, unfit))?;
        Ok(cell_size)
    }

    /// Returns the range of heights that the command line or the sidecar states.
    fn range(&self) -> [Option<f32>; 2] {
        let sidecar = &self.sidecar;
        [self.options.min_m.or(sidecar.min_m), self.options.max_m.or(sidecar.max_m)]
    }

    /// Returns the conversion of raw values, and a sentence if the unit is converted.
    fn conversion(
        &self,
        path: &Path,
        samples: SampleScale,
        description: &Description,
        (fit, cell_size): (Resizing, f32),
        warnings: &mut Vec<String>,
    ) -> Result<(Conversion, Option<String>), Error> {
        let stated = self.range();
        let limits = match samples {
            SampleScale::Steps(limits) => Some(limits),
            // With a range, they are codes too.
            SampleScale::Integers(limits) => Some(limits).filter(|_| stated != [None; 2]),
            SampleScale::Floats => None,
        };
        if let Some([low, high]) = limits {
            let default = match self.purpose {
                Purpose::Heights => {
                    let min = stated[0].unwrap_or(0.0);
                    (min, min + ASSUMED_RELIEF * fit.target.0.min(fit.target.1) as f32 * cell_size)
                }
                Purpose::Layer(range) => range,
            };
            let (min, max) = (stated[0].unwrap_or(default.0), stated[1].unwrap_or(default.1));
            if min > max {
                let (wrong, right) = match self.purpose {
                    Purpose::Heights => (
                        format!("minimum height {min} m is above the maximum {max} m"),
                        "--min-height (min_m) must not exceed --max-height (max_m)",
                    ),
                    Purpose::Layer(_) => {
                        (format!("minimum {min} is above the maximum {max}"), "set both min_m and max_m in the sidecar")
                    }
                };
                return Err(Error::input(path, wrong, right));
            }
            if matches!(self.purpose, Purpose::Heights) && stated.contains(&None) {
                warnings.push(format!(
                    "height range missing, assuming {min} m to {max} m; set it with --min-height and --max-height or as \
                     min_m and max_m in {}",
                    Sidecar::path_for(path).display()
                ));
            }
            let scale = (f64::from(max) - f64::from(min)) / (high - low);
            return Ok((Conversion { scale, offset: f64::from(min) - low * scale }, None));
        }
        let finite = |number: &f64| number.is_finite();
        let scale = description.scale.filter(|scale| finite(scale) && *scale != 0.0).unwrap_or(1.0);
        let offset = description.offset.filter(finite).unwrap_or(0.0);
        let (unit, name, unknown) = match self.purpose {
            Purpose::Heights => description.vertical(),
            Purpose::Layer(_) => (1.0, None, None),
        };
        warnings.extend(unknown);
        let sentence = match (name, scale != 1.0 || offset != 0.0) {
            (None, false) => None,
            (Some(name), false) => Some(format!("heights are in {name}; converted to metres")),
            (name, true) => {
                let name = name.unwrap_or_else(|| "metres".to_owned());
                Some(format!("heights are values × {scale} + {offset} {name}; converted to metres"))
            }
        };
        let conversion = Conversion { scale: scale * unit, offset: offset * unit };
        if !conversion.scale.is_normal() || !conversion.offset.is_finite() {
            let wrong = format!("values × {scale} + {offset}, in units of {unit} m, are not valid heights");
            return Err(Error::input(path, wrong, "correct the scale, offset and unit in the file"));
        }
        Ok((conversion, sentence))
    }

    /// Scales floats from 0 to 1 to the stated range of heights. A sidecar whose range is that of the values describes them.
    fn scale_fractions(
        &self,
        samples: SampleScale,
        found: &RawStatistics,
        conversion: Conversion,
        cells: &mut Grid,
        warnings: &mut Vec<String>,
    ) {
        let ([min, max], [low, high]) = (self.range(), found.range);
        if !matches!(samples, SampleScale::Floats) || (min, max) == (None, None) {
            return;
        }
        let is_asked = self.options.min_m.is_some() || self.options.max_m.is_some();
        let are_fractions = low >= 0.0 && high <= 1.0;
        let has_range_of_values = min.zip(max).is_some_and(|(min, max)| {
            let (min, max) = (f64::from(min), f64::from(max));
            (-1e-6..low + 1e-6).contains(&min) && (high - 1e-6..1.0 + 1e-6).contains(&max)
        });
        // Our sidecars state the range of the whole map for each of its tiles.
        let describes = has_range_of_values || self.sidecar.cells_hash.is_some();
        if are_fractions && (is_asked || !describes) {
            let (min, max) = (f64::from(min.unwrap_or(0.0)), f64::from(max.unwrap_or(1.0)));
            for cell in cells.iter_mut() {
                let raw = (f64::from(*cell) - conversion.offset) / conversion.scale;
                *cell = (min + raw * (max - min)) as f32;
            }
        } else if is_asked {
            warnings.push(format!(
                "--min-height and --max-height apply to integers and to floats from 0 to 1; these values range from {low} to \
                 {high} and are already heights"
            ));
        }
    }
}

/// Returns the error about a channel that is not among the `count` ones of a file. `kind` is the word for a channel.
pub(super) fn no_channel(path: &Path, kind: &str, name: &str, count: u64) -> Error {
    let right = match count {
        1 => format!("the file has a single {kind}; omit --channel"),
        _ => format!("choose one of 1 to {count} with --channel"),
    };
    Error::input(path, format!("there is no {kind} {name}"), right)
}

/// Quantises a grid for an integer format, from 0 at `min` to `full` at `max`, clamped. If both are equal, all values are 0, which is
/// read back as that value.
pub(super) fn quantised(grid: &Grid, (min, max): (f32, f32), full: u16) -> impl Iterator<Item = u16> {
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
    pub geo: Option<&'a Georeference>,
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
        self.geo.cloned().unwrap_or(Georeference { west: 0.0, north: height, width, height, crs: Crs::Unknown })
    }
}

#[cfg(test)]
impl ReadConstraints {
    /// Accepts heights of any size without resampling.
    pub(super) fn anything() -> Self {
        use thalweg_sim::core::bounds;
        Self {
            sidecar: Sidecar::default(),
            options: Options::default(),
            purpose: Purpose::Heights,
            is_tile: false,
            sides: (1, *bounds::SIDES.end()),
            bounds: bounds::HEIGHT,
            budget: Budget::present(),
        }
    }

    /// Accepts heights of any size, from 0 to `max` in integer formats.
    pub(super) fn ranged(max: f32) -> Self {
        Self { options: Options { min_m: Some(0.0), max_m: Some(max), ..Options::default() }, ..Self::anything() }
    }

    /// Accepts heights of any size and resamples them to this one.
    pub(super) fn sized(size: Option<(usize, usize)>) -> Self {
        Self { options: Options { size, ..Options::default() }, ..Self::anything() }
    }
}
