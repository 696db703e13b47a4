//! Writes the pixels of a map, as a whole or as tiles.

use std::{borrow::Cow, path::Path};

use super::{Export, ExportSubject, dimensions::ExportTile, unit};
use crate::{
    io::{
        Error, JobProgress, RasterMetadata, output, png::write_rgb16, raster::quantised, sidecar::Sidecar, write_asc,
        write_exr, write_png_rgb8, write_png8, write_png16, write_r16, write_r32, write_tiff,
    },
    model::origin::Georeference,
};
use thalweg_sim::core::{analysis, grid::Grid};

/// Pixels of a map.
pub(super) enum MapPixels {
    /// One number per cell. `has_nodata` is `true` if cells without data are marked in formats that support it.
    Values { grid: Grid, has_nodata: bool },
    /// Three or four bytes per cell.
    Bytes(Vec<u8>),
    /// Three 16-bit integers per cell.
    Words(Vec<u16>),
}

impl MapPixels {
    /// Quantises parts of red, green and blue from 0 to 1, with 16 bits per channel in the format `png16`, else with 8.
    pub(super) fn of_parts(parts: impl Iterator<Item = f32>, format: &str) -> Self {
        match format {
            "png16" => Self::Words(parts.map(|part| (part * 65535.0).round() as u16).collect()),
            _ => Self::Bytes(parts.map(|part| (part * 255.0).round() as u8).collect()),
        }
    }

    /// Writes the pixels of an export, with a sidecar if its format needs one. Tiles are written next to `path`.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(super) fn write(
        &self,
        export: Export,
        subject: &ExportSubject,
        path: &Path,
        progress: &JobProgress,
    ) -> Result<(), Error> {
        let map = (subject.terrain.width(), subject.terrain.height());
        let range = match self {
            Self::Values { grid, .. } => grid.min_max(),
            _ => (0.0, 1.0),
        };
        for tile in subject.tiles() {
            let file = tile.path(path);
            match self {
                Self::Values { grid, has_nodata } => {
                    let nodata = subject.nodata.as_ref().filter(|_| *has_nodata);
                    write_values(export, subject, (grid, nodata, range), &tile, &file, progress)?;
                }
                Self::Bytes(bytes) => write_png_rgb8(&file, tile.size, &tile.part(bytes, map), progress)?,
                Self::Words(words) => write_rgb16(&file, tile.size, &tile.part(words, map), progress)?,
            }
        }
        Ok(())
    }
}

impl ExportTile {
    /// Returns the path of its file, for the path of the map as a whole.
    fn path<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        if self.suffix.is_empty() {
            return path.into();
        }
        let mut name = path.file_stem().unwrap_or_default().to_owned();
        name.push(&self.suffix);
        if let Some(extension) = path.extension() {
            name.push(".");
            name.push(extension);
        }
        path.with_file_name(name).into()
    }

    /// Returns its pixels from those of the map, which has this many columns and rows.
    fn part<'a, T: Copy>(&self, pixels: &'a [T], map: (usize, usize)) -> Cow<'a, [T]> {
        if self.suffix.is_empty() {
            return pixels.into();
        }
        let channels = pixels.len() / (map.0 * map.1);
        let rows = pixels.chunks_exact(channels * map.0).skip(self.first.1).take(self.size.1);
        rows.flat_map(|row| row[channels * self.first.0..][..channels * self.size.0].iter().copied()).collect()
    }

    /// Returns its cells.
    fn cells<'a>(&self, grid: &'a Grid) -> Cow<'a, Grid> {
        if self.suffix.is_empty() {
            return Cow::Borrowed(grid);
        }
        Cow::Owned(analysis::windowed_map(grid, self.first, self.size))
    }
}

/// Writes a tile of a map of numbers.
fn write_values(
    export: Export,
    subject: &ExportSubject,
    (grid, nodata, range): (&Grid, Option<&Grid>, (f32, f32)),
    tile: &ExportTile,
    path: &Path,
    progress: &JobProgress,
) -> Result<(), Error> {
    let (cell_size, format) = (subject.terrain.cell_size, export.format);
    let grid_of_tile = tile.cells(grid);
    let cells = &*grid_of_tile;
    let geo = || {
        let place = RasterMetadata { cell_size, geo: subject.geo.as_ref(), nodata: None };
        let whole = place.extent(grid.width(), grid.height());
        let [across, down] = [whole.width / grid.width() as f64, whole.height / grid.height() as f64];
        Georeference {
            west: whole.west + across * tile.first.0 as f64,
            north: whole.north - down * tile.first.1 as f64,
            width: across * tile.size.0 as f64,
            height: down * tile.size.1 as f64,
            crs: whole.crs,
        }
    };
    if ["tif", "asc"].contains(&format) {
        let geo = if tile.suffix.is_empty() { subject.geo.clone() } else { Some(geo()) };
        // A tile without gaps has no mask.
        let nodata = nodata.map(|nodata| tile.cells(nodata));
        let nodata = nodata.as_deref().filter(|nodata| tile.suffix.is_empty() || nodata.min_max().1 > 0.0);
        let place = RasterMetadata { cell_size, geo: geo.as_ref(), nodata };
        match format {
            "tif" => write_tiff(path, cells, place)?,
            _ => write_asc(path, cells, place, progress)?,
        }
        // Only tiles need a sidecar: to be read back as one map without their padding.
        if tile.suffix.is_empty() {
            return Ok(());
        }
    }
    match format {
        "tif" | "asc" => {}
        "png" | "png16" => write_png16(path, cells, range, progress)?,
        "png8" => write_png8(path, cells, range, progress)?,
        "exr" => write_exr(path, cells, progress)?,
        "r16" => write_r16(path, cells, range, progress)?,
        "r32" => write_r32(path, cells, progress)?,
        "raw" => {
            let codes: Vec<u16> = quantised(cells, range, u16::MAX).collect();
            let rows = codes.chunks(cells.width().max(1)).rev();
            output::write(path, rows.flatten().flat_map(|code| code.to_le_bytes()).collect::<Vec<u8>>())?;
        }
        other => unreachable!("format .{other} has no writer"),
    }
    // Part of the tile inside the actual map.
    let inside = |map: usize, first: usize, side: usize| map.saturating_sub(first).min(side);
    let map = (inside(subject.map.0, tile.first.0, tile.size.0), inside(subject.map.1, tile.first.1, tile.size.1));
    // Formats of the same stem share a sidecar.
    let has_raw = format == "raw" || !["png8", "png16"].contains(&format) && subject.raw_maps.contains(export.map);
    let sidecar = Sidecar {
        tile_overlap: subject.dimensions.tiles.map(|tiles| tiles.overlap),
        raw_bottom_up: has_raw.then_some(true),
        ..Sidecar::describing(cells, cell_size, map).with_range(range, unit(export.map))
    };
    sidecar.write(&path.with_extension("json"))
}
