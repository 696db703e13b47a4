//! Tiles of a heightmap, read back as one map.
//!
//! The schemes of their names are those of exports ([`TileNames`]). If neighbours share cells, sidecars state how many; otherwise a shared
//! column is recognised by its equal values. Schemes disagree on the direction in which rows of tiles are numbered: the one whose seams
//! match better is used.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{
    Error,
    description::Description,
    export::TileNames,
    raster::{MAX_FILE_SIDE, Raster, RasterLayout, ReadConstraints, SampleScale},
    sidecar::Sidecar,
};
use crate::model::origin::{Crs, Georeference, Options};

/// Reads the file of a tile.
type TileLoader<'a> = &'a dyn Fn(&Path, &ReadConstraints) -> Result<Raster, Error>;

/// Files of the tiles of a map.
#[derive(Debug, PartialEq)]
pub(super) struct TileSet {
    /// Paths by row and column, in the numbering of their names, without gaps.
    rows: Vec<Vec<PathBuf>>,
    /// `true` if the scheme of the names numbers rows from the bottom.
    from_bottom: bool,
}

/// Finds the tiles of a map; `None` if there is a file of this name, or no tile.
///
/// # Errors
/// A tile is missing.
pub(super) fn find(path: &Path) -> Result<Option<TileSet>, Error> {
    let (Some(stem), Some(extension)) = (path.file_stem().and_then(|stem| stem.to_str()), path.extension()) else {
        return Ok(None);
    };
    if path.exists() {
        return Ok(None);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| PathBuf::from(entry.file_name()))
        .filter(|name| name.extension().is_some_and(|own| own.eq_ignore_ascii_case(extension)))
        .filter_map(|name| Some(name.to_str()?.to_owned()))
        .collect();
    for scheme in TileNames::ALL {
        let mut tiles = BTreeMap::new();
        for name in &names {
            let suffix = Path::new(name).file_stem().and_then(|own| own.to_str()?.strip_prefix(stem));
            if let Some((x, y)) = suffix.and_then(|suffix| scheme.parse(suffix)) {
                tiles.insert((y, x), path.with_file_name(name));
            }
        }
        let last = |part: fn(&(usize, usize)) -> usize| tiles.keys().map(part).max();
        let (Some(bottom), Some(right)) = (last(|key| key.0), last(|key| key.1)) else { continue };
        let missing = (0..=bottom).flat_map(|y| (0..=right).map(move |x| (y, x))).find(|key| !tiles.contains_key(key));
        if let Some((y, x)) = missing {
            let wrong = format!("column {x}, row {y} of {} × {} tiles is missing", right + 1, bottom + 1);
            return Err(Error::input(path, wrong, "add its file, or read a single tile"));
        }
        let mut paths = tiles.into_values();
        let rows = (0..=bottom).map(|_| paths.by_ref().take(right + 1).collect()).collect();
        return Ok(Some(TileSet { rows, from_bottom: scheme.row().from_bottom }));
    }
    Ok(None)
}

/// Columns or rows of a tile that neighbours may share, and its size.
#[derive(Clone, Debug)]
struct TileBorder {
    size: (usize, usize),
    /// Part of the actual map, from the upper left.
    map: (usize, usize),
    geo: Option<Georeference>,
    /// Values of the top and bottom row.
    rows: [Vec<f32>; 2],
    /// Values of the left and right column.
    columns: [Vec<f32>; 2],
}

/// Sum of the differences of two lines of cells.
fn mismatch(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from((a - b).abs())).sum()
}

impl TileSet {
    /// Reads the tiles as one map.
    ///
    /// # Errors
    /// A tile is invalid, their sizes do not fit together, or the map is rejected.
    pub(super) fn read(
        mut self,
        path: &Path,
        expected: &ReadConstraints,
        load: impl Fn(&Path, &ReadConstraints) -> Result<Raster, Error>,
    ) -> Result<Raster, Error> {
        let load: TileLoader<'_> = &load;
        let mut warnings: Vec<String> = Vec::new();
        let (mut borders, mut first, mut overlap) = (Vec::new(), None, None);
        for row in &self.rows {
            let mut line = Vec::new();
            for tile in row {
                let (raster, sidecar) = load_tile(tile, expected, load)?;
                overlap = overlap.or(sidecar.tile_overlap);
                line.push(TileBorder::of(&raster, &sidecar));
                // The other tiles are like the first, and the whole map reports its own cells without data.
                if first.is_none() {
                    warnings.clone_from(&raster.warnings);
                }
                first.get_or_insert(raster.cell_size);
            }
            borders.push(line);
        }
        let cell_size = first.unwrap_or_default();
        // The program that states an overlap has named its tiles by the scheme.
        if overlap.map_or_else(|| self.runs_up(&borders), |_| self.from_bottom) {
            self.rows.reverse();
            borders.reverse();
        }
        let overlap = overlap.unwrap_or_else(|| shared(&borders));
        let columns = starts(path, borders[0].iter().map(|tile| (tile.size.0, tile.map.0)), overlap)?;
        let rows = starts(path, borders.iter().map(|line| (line[0].size.1, line[0].map.1)), overlap)?;
        for (y, line) in borders.iter().enumerate() {
            for (x, tile) in line.iter().enumerate() {
                if tile.size != (columns.sides[x], rows.sides[y]) {
                    let (width, height) = tile.size;
                    let wrong = format!("the tile {} has {width} × {height} cells", self.rows[y][x].display());
                    let right = format!("expected {} × {} as in its row and column", columns.sides[x], rows.sides[y]);
                    return Err(Error::input(path, wrong, right));
                }
            }
        }
        let size = expected.admit(path, columns.total as u64, rows.total as u64)?;
        let widest = columns.total as u64 * rows.sides.iter().copied().max().unwrap_or_default() as u64;
        let layout = RasterLayout {
            size,
            samples: SampleScale::Floats,
            description: Description::default(),
            band: 1,
            extra_bytes: 12 * widest,
            warnings: Vec::new(),
        };
        let (corner, _) = load_tile(&self.rows[0][0], expected, load)?;
        // Heights of the tiles are metres already.
        let whole = ReadConstraints {
            sidecar: Sidecar { cell_size_m: Some(cell_size), ..Sidecar::default() },
            options: Options {
                size: expected.options.size,
                cell_size: expected.options.cell_size,
                ..Options::default()
            },
            ..*expected
        };
        let mut raster = whole.raster(path, layout, |target| {
            for (line, (&start, &side)) in self.rows.iter().zip(rows.starts.iter().zip(&rows.sides)) {
                let mut tiles = Vec::new();
                for tile in line {
                    tiles.push(load_tile(tile, expected, load)?.0);
                }
                // Shared rows come from the upper tile.
                let next = target.rows_read();
                for y in (0..side).filter(|y| start + y >= next && start + y < rows.total) {
                    let mut values = vec![0.0; columns.total];
                    for (tile, &left) in tiles.iter().zip(&columns.starts).rev() {
                        for x in (0..tile.cells.width()).filter(|x| left + x < columns.total) {
                            let is_void = tile.nodata.as_ref().is_some_and(|mask| mask.at(x, y) > 0.0);
                            values[left + x] = if is_void { f64::NAN } else { f64::from(tile.cells.at(x, y)) };
                        }
                    }
                    target.push(&values)?;
                }
            }
            Ok(())
        })?;
        raster.geo = corner.geo.map(|geo| Georeference {
            width: geo.width * columns.total as f64 / corner.cells.width() as f64,
            height: geo.height * rows.total as f64 / corner.cells.height() as f64,
            ..geo
        });
        // A map that is nowhere on Earth has its lower left corner at 0, 0.
        let is_local = |geo: &Georeference| {
            geo.crs == Crs::Unknown && geo.west == 0.0 && (geo.north - geo.height).abs() < 1e-6 * geo.height
        };
        raster.geo = raster.geo.filter(|geo| !is_local(geo));
        warnings.append(&mut raster.warnings);
        raster.warnings = warnings;
        Ok(raster)
    }

    /// Returns `true` if the rows of tiles are numbered from the bottom of the map.
    fn runs_up(&self, borders: &[Vec<TileBorder>]) -> bool {
        if let [first, .., last] = borders {
            match [first, last].map(|line| line[0].geo.as_ref()) {
                [Some(first), Some(last)] => return first.north < last.north,
                // A tile whose lower left corner is at 0, 0 has no georeference.
                [None, Some(_)] => return true,
                [Some(_), None] => return false,
                [None, None] => {}
            }
        }
        let (mut down, mut up) = (0.0, 0.0);
        for lines in borders.windows(2) {
            for (first, second) in lines[0].iter().zip(&lines[1]) {
                down += mismatch(&first.rows[1], &second.rows[0]);
                up += mismatch(&first.rows[0], &second.rows[1]);
            }
        }
        if up == down { self.from_bottom } else { up < down }
    }
}

/// Reads a tile in its own size, with its sidecar.
fn load_tile(tile: &Path, expected: &ReadConstraints, load: TileLoader<'_>) -> Result<(Raster, Sidecar), Error> {
    let sidecar = Sidecar::of(tile)?;
    // Cells outside the actual map are cropped.
    let own = Sidecar { map_width: None, map_height: None, ..sidecar.clone() };
    let constraints = ReadConstraints {
        sidecar: own,
        is_tile: true,
        options: Options { size: None, ..expected.options.clone() },
        sides: (1, MAX_FILE_SIDE as usize),
        ..*expected
    };
    let mut raster = load(tile, &constraints)?;
    raster.warnings.extend(sidecar.warnings.iter().cloned());
    Ok((raster, sidecar))
}

impl TileBorder {
    fn of(Raster { cells, geo, .. }: &Raster, sidecar: &Sidecar) -> Self {
        let (width, height) = (cells.width(), cells.height());
        let row = |y: usize| (0..width).map(|x| cells.at(x, y)).collect();
        let column = |x: usize| (0..height).map(|y| cells.at(x, y)).collect();
        Self {
            size: (width, height),
            map: (sidecar.map_width.unwrap_or(width), sidecar.map_height.unwrap_or(height)),
            geo: geo.clone(),
            rows: [row(0), row(height - 1)],
            columns: [column(0), column(width - 1)],
        }
    }
}

/// Returns the number of columns and rows that neighbours share without stating it: by their georeference, else 1 if their borders are
/// equal, and 0 if not.
fn shared(borders: &[Vec<TileBorder>]) -> usize {
    let across = borders.iter().flat_map(|line| line.windows(2)).map(|two| [&two[0], &two[1]]);
    let lines = borders.windows(2).flat_map(|lines| lines[0].iter().zip(&lines[1]));
    let down = lines.map(|(upper, lower)| [upper, lower]);
    let georeferenced = across.clone().map(|two| (two, true)).chain(down.clone().map(|two| (two, false))).next();
    if let Some(([first, second], is_across)) = georeferenced
        && let Some(known) = first.geo.as_ref().or(second.geo.as_ref())
    {
        // A tile without a georeference has its lower left corner at 0, 0.
        let west = |tile: &TileBorder| tile.geo.as_ref().map_or(0.0, |geo| geo.west);
        let north = |tile: &TileBorder| tile.geo.as_ref().map_or(known.height, |geo| geo.north);
        let (cells, offset, extent) = if is_across {
            (first.size.0, west(second) - west(first), known.width)
        } else {
            (first.size.1, north(first) - north(second), known.height)
        };
        return (cells as f64 * (1.0 - offset / extent)).round().max(0.0) as usize;
    }
    let across = across.map(|[left, right]| (&left.columns[1], &right.columns[0]));
    let mut seams = across.chain(down.map(|[upper, lower]| (&upper.rows[1], &lower.rows[0]))).peekable();
    usize::from(seams.peek().is_some() && seams.all(|(a, b)| a == b))
}

/// Positions of the tiles along a side of the map.
struct TileStarts {
    /// First column or row of each tile.
    starts: Vec<usize>,
    /// Columns or rows of each tile.
    sides: Vec<usize>,
    /// Columns or rows of the actual map.
    total: usize,
}

/// Places tiles along a side of the map, each with its cells and those of them inside the actual map.
fn starts(path: &Path, tiles: impl Iterator<Item = (usize, usize)>, overlap: usize) -> Result<TileStarts, Error> {
    let mut placed = TileStarts { starts: Vec::new(), sides: Vec::new(), total: 0 };
    let mut start = 0;
    for (side, inside) in tiles {
        if side <= overlap {
            let wrong = format!("tiles of {side} cells cannot overlap by {overlap}");
            return Err(Error::input(path, wrong, "correct tile_overlap in their sidecars"));
        }
        placed.starts.push(start);
        placed.sides.push(side);
        if inside > 0 {
            placed.total = start + inside;
        }
        start += side - overlap;
    }
    Ok(placed)
}
