//! Data to export, resampled to the size of the results.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::{
    Content, Dimensions, Export, ExportWindow, ImportNotes,
    dimensions::{ExportLayout, ExportTile},
    find_map,
    hillshade::color_map,
    lines::GeoreferencedRivers,
};
use crate::{
    io::{Budget, Error, nodata},
    look::Look,
    model::{origin::Georeference, session::Session},
};
use thalweg_sim::{
    core::{analysis, grid::Grid, resample::cells_within, terrain::Terrain},
    simulation::Simulation,
};

/// Memory for the layers per cell of the results, including resampling, in bytes. Measured by `tests/memory.rs`.
const BYTES_PER_CELL: usize = 60;
/// Memory per cell for each map that the processes compute and for the NODATA mask, in bytes. They are computed one after the other before
/// the layers, in memory that the layers use later.
const BYTES_OF_NUMBERS: usize = 4;

/// Returns the functions for those exports that the processes compute, by name.
fn moves_of(exports: &[Export]) -> BTreeMap<&'static str, fn(&Simulation) -> Grid> {
    let made = |export: &Export| match find_map(export.map) {
        Some((_, Content::ProcessMap(make))) => Some((export.map, make)),
        _ => None,
    };
    exports.iter().filter_map(made).collect()
}

/// Terrain and all further data that its exports need.
#[derive(Clone, Debug)]
pub struct ExportSubject {
    pub(super) terrain: Terrain,
    pub(super) look: Look,
    pub(super) geo: Option<Georeference>,
    pub(super) dimensions: Dimensions,
    /// Requested maps that the processes compute, by name.
    pub(super) process_maps: BTreeMap<&'static str, Grid>,
    /// Maps that are also exported as `.raw`.
    pub(super) raw_maps: BTreeSet<&'static str>,
    /// Columns and rows, from the upper left, of the actual map.
    pub(super) map: (usize, usize),
    /// NODATA mask: 1 where the heightmap had no data and outside the map, else 0. `None` if all cells have data.
    pub(super) nodata: Option<Grid>,
    /// `None` if not requested.
    pub(super) rivers: Option<GeoreferencedRivers>,
    /// See [`RiverTerrain::flow_map`](thalweg_sim::hydrology::network::RiverTerrain::flow_map); `None` if not requested.
    pub(super) flow: Option<[Grid; 3]>,
}

impl ExportSubject {
    /// Returns the memory needed to write these exports one after the other, in bytes.
    pub fn bytes(session: &Session, dimensions: Dimensions, exports: &[Export]) -> u64 {
        let terrain = &session.simulation.terrain;
        let cells = |(width, height): (usize, usize)| width * height;
        // For a cropped window, too, some maps are computed on the whole terrain.
        let made = cells(dimensions.window(terrain).size).max(terrain.bedrock.len());
        let result = cells(dimensions.of(terrain));
        let most = exports.iter().map(|export| export.bytes_per_cell()).max().unwrap_or_default();
        let drains = |export: &&Export| matches!(find_map(export.map), Some((_, Content::Drains(_))));
        let numbers = moves_of(exports).len() + exports.iter().filter(drains).count() + 1;
        ((BYTES_PER_CELL + most) * made.max(result) + BYTES_OF_NUMBERS * numbers * result) as u64
    }

    /// Captures a session for these exports at the size given by the dimensions.
    ///
    /// # Errors
    /// The memory budget is exceeded, or the terrain cannot be divided into the tiles.
    pub fn new(session: &Session, dimensions: Dimensions, exports: &[Export]) -> Result<Self, Error> {
        let checked = dimensions.check(&session.simulation.terrain);
        checked.map_err(|unfit| Error::unfit(Path::new(&session.name), unfit))?;
        Budget::present().request(Path::new(&session.name), Self::bytes(session, dimensions, exports))?;
        let asks = |content: fn(Content) -> bool| {
            exports.iter().any(|export| find_map(export.map).is_some_and(|(_, found)| content(found)))
        };
        let (run, import) = (&session.simulation, session.heightmap.as_ref());
        let ExportLayout { window, resampled, size } = dimensions.layout((run.terrain.width(), run.terrain.height()));
        let geo = import.and_then(|import| import.geo.clone());
        let rivers = || GeoreferencedRivers::of(&session.name, run, &session.rivers, geo.clone(), window);
        let rivers = asks(|content| matches!(content, Content::Rivers)).then(rivers).transpose()?;
        let (width, height) = (run.terrain.width(), run.terrain.height());
        let ExportWindow { first, size: around } = window;
        let whole = around == (width, height);
        let map = (
            cells_within(width.min(around.0), around.0, resampled.0),
            cells_within(height.min(around.1), around.1, resampled.1),
        );
        // To the right of the map and below it, squares and tiles are padded with border values.
        let padded = |grid: Grid| if resampled == size { grid } else { analysis::windowed_map(&grid, (0, 0), size) };
        let fitted = |grid: Grid| match (whole, around == resampled) {
            (true, true) => padded(grid),
            (true, false) => padded(grid.resample(resampled.0, resampled.1)),
            (false, _) => padded(analysis::windowed_map(&grid, first, around).resample(resampled.0, resampled.1)),
        };
        let mut moves: BTreeMap<_, _> =
            moves_of(exports).into_iter().map(|(name, make)| (name, fitted(make(run)))).collect();
        if around.0 < width || around.1 < height {
            let drains = exports.iter().filter_map(|export| match find_map(export.map) {
                Some((_, Content::Drains(make))) => Some((export.map, make)),
                _ => None,
            });
            moves.extend(drains.map(|(name, make)| (name, fitted(make(&run.terrain)))));
        }
        let flow = asks(|content| matches!(content, Content::FlowMap))
            .then(|| run.river_terrain(&session.rivers).flow_map().map(fitted));
        let mut nodata = import.and_then(|import| import.nodata.as_ref()).map(|nodata| {
            let nodata = nodata::resample_mask(nodata, (width, height));
            padded(nodata::resample_mask(&analysis::windowed_map(&nodata, first, around), resampled))
        });
        if map != size {
            let inside = |x, y| nodata.as_ref().map_or(0.0, |nodata| nodata.at(x, y));
            let outside = Grid::from_fn(size.0, size.1, |x, y| if x < map.0 && y < map.1 { inside(x, y) } else { 1.0 });
            nodata = Some(outside);
        }
        let geo = geo.map(|geo| {
            let [across, down] = [geo.width / width as f64, geo.height / height as f64];
            Georeference {
                west: geo.west + across * first.0 as f64,
                north: geo.north - down * first.1 as f64,
                width: across * around.0 as f64 * size.0 as f64 / resampled.0 as f64,
                height: down * around.1 as f64 * size.1 as f64 / resampled.1 as f64,
                ..geo
            }
        });
        let mut terrain = if whole { run.terrain.clone() } else { analysis::crop(&run.terrain, first, around) };
        if resampled != around {
            terrain = analysis::resample(&terrain, resampled);
        }
        if size != resampled {
            terrain = analysis::crop(&terrain, (0, 0), size);
        }
        Ok(Self {
            terrain,
            look: session.look.clone(),
            geo,
            dimensions,
            process_maps: moves,
            raw_maps: exports.iter().filter(|export| export.format == "raw").map(|export| export.map).collect(),
            map,
            nodata,
            rivers,
            flow,
        })
    }

    /// Returns warnings for the user about these exports.
    pub fn warnings(&self, exports: &[Export]) -> Vec<&'static str> {
        let has_lines = exports.iter().any(|export| (export.map, export.format) == ("rivers", "geojson"));
        self.rivers.iter().filter(|_| has_lines).filter_map(GeoreferencedRivers::warning).collect()
    }

    /// Returns the settings with which the program of the preset imports the heights, with a prefix of the file names; `None` if
    /// [`Dimensions::preset`] names none.
    pub fn import_notes(&self, before: &str) -> Option<ImportNotes> {
        ImportNotes::of(self, before)
    }

    /// Returns the tiles of each map; a single one without a suffix if they are not divided.
    pub(super) fn tiles(&self) -> Vec<ExportTile> {
        let size = (self.terrain.width(), self.terrain.height());
        match self.dimensions.tiles {
            Some(tiles) => tiles.tiles(size),
            None => vec![ExportTile { suffix: String::new(), first: (0, 0), size }],
        }
    }

    /// Returns the part inside the actual map, for meshes and trees: without the data that those do not need.
    pub(super) fn without_padding(&self) -> Cow<'_, Self> {
        if self.map == (self.terrain.width(), self.terrain.height()) {
            return Cow::Borrowed(self);
        }
        // Trees follow the contributing area.
        let flow = self.process_maps.get_key_value("flow");
        let process_maps = flow.map(|(name, grid)| (*name, analysis::windowed_map(grid, (0, 0), self.map)));
        Cow::Owned(Self {
            terrain: analysis::crop(&self.terrain, (0, 0), self.map),
            look: self.look.clone(),
            geo: None,
            dimensions: self.dimensions,
            process_maps: process_maps.into_iter().collect(),
            raw_maps: BTreeSet::new(),
            map: self.map,
            nodata: None,
            rivers: None,
            flow: None,
        })
    }

    /// Clears a map outside the actual map, where only the ground is extended.
    pub(super) fn clear_padding(&self, mut grid: Grid) -> Grid {
        let (columns, rows) = self.map;
        let width = grid.width();
        if self.map != (width, grid.height()) {
            for (y, row) in grid.chunks_mut(width).enumerate() {
                row[if y < rows { columns } else { 0 }..].fill(0.0);
            }
        }
        grid
    }

    /// Returns the unlit colours of the ground as RGB.
    pub(super) fn colors(&self) -> Vec<u8> {
        color_map(&self.terrain.ground(), &self.terrain.sand, self.terrain.cell_size, &self.look)
    }
}
