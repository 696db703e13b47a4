//! Manifest of a project.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{
    film::{CameraKeyframe, CameraKeyframes},
    origin::{Encoding, Georeference, Options, Origin, RawCells, Tile},
    session::{AudienceSlider, BYTES_PER_CELL, Session},
    state::StateMetadata,
};
use thalweg_sim::{
    core::terrain::{Layer, Pool},
    process::catalogue,
};

/// Version of the project format, the only one that is read and written.
pub(super) const FORMAT: u32 = 2;

/// Fields by which a project is recognised.
#[derive(Deserialize)]
pub(super) struct ManifestHeader {
    pub format: u32,
    pub program: String,
}

/// Orbit camera, in units of the view.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Camera {
    /// Point that the camera looks at.
    pub focus: [f32; 3],
    /// Rotation about the vertical axis, in radians.
    pub yaw: f32,
    /// Elevation angle above the horizontal, in radians.
    pub pitch: f32,
    /// Distance from the focus.
    pub distance: f32,
}

/// Views of a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Views {
    /// Current camera.
    pub camera: Option<Camera>,
    /// Saved views.
    pub saved: SavedViews,
}

/// Views saved with a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavedViews {
    /// Bookmarks 1 to 9.
    pub bookmarks: [Option<Camera>; 9],
    /// Camera keyframes.
    pub keys: CameraKeyframes,
}

impl SavedViews {
    /// Returns the bookmark of this number, counted from 1.
    pub fn view(&self, number: usize) -> Option<Camera> {
        *self.bookmarks.get(number.checked_sub(1)?)?
    }
}

impl Camera {
    pub(super) fn is_valid(&self) -> bool {
        let numbers = self.focus.into_iter().chain([self.yaw, self.pitch, self.distance]);
        numbers.into_iter().all(|number| number.abs() < 1e6) && self.distance > 0.0
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Manifest {
    pub format: u32,
    pub program: String,
    pub chosen: usize,
    /// Project file that an autosave belongs to.
    pub file: Option<String>,
    pub camera: Option<Camera>,
    pub bookmarks: [Option<Camera>; 9],
    pub camera_keys: Vec<CameraKeyframe>,
    pub runs: Vec<SavedRun>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct SavedRun {
    name: String,
    title: String,
    about: String,
    ticks: u64,
    sliders: Vec<AudienceSlider>,
    pub geo: Option<Georeference>,
    /// `true` if cells of the heightmap have no data. The mask is a map of the size of the heights.
    pub nodata: bool,
    pools: Vec<Pool>,
    tile: Option<Tile>,
    origin: SavedOrigin,
    /// Columns and rows of the maps of the initial state.
    pub grids: BTreeMap<String, [usize; 2]>,
    pub state: StateMetadata,
}

/// Origin of a simulation. Paths are lossily converted to Unicode, as the project contains the files they refer to.
#[derive(Serialize, Deserialize)]
struct SavedOrigin {
    input: String,
    size: Option<(usize, usize)>,
    cell_size: Option<f32>,
    min_m: Option<f32>,
    max_m: Option<f32>,
    channel: Option<String>,
    raw: Option<RawCells>,
    encoding: Option<Encoding>,
    smooth_steps: bool,
    maps: Vec<(String, String)>,
    seeds_before: u64,
}

impl SavedRun {
    pub fn bytes(&self) -> u64 {
        let cells = |[width, height]: [usize; 2]| width as u64 * height as u64;
        let runs = |key: &str| self.state.enabled.iter().chain(&self.state.kept).any(|other| other == key);
        let processes = catalogue().into_iter().map(|process| *process.info()).filter(|info| runs(info.key));
        let bytes = BYTES_PER_CELL
            + processes.map(|info| info.footprint.bytes_per_cell(rayon::current_num_threads())).sum::<usize>();
        // The NODATA mask has one value per cell of the heights.
        let nodata = self.grids.get("begin heights").filter(|_| self.nodata);
        let begins = self.grids.values().chain(nodata);
        cells(self.state.size) * bytes as u64 + begins.map(|size| 4 * cells(*size)).sum::<u64>()
    }

    /// Captures a session in this state, with maps of these sizes for its initial state.
    pub fn of(session: &Session, state: StateMetadata, grids: BTreeMap<String, [usize; 2]>) -> Self {
        let Origin { input, options, maps, seed_offset: seeds_before, edited: _ } = session.origin.clone();
        Self {
            name: session.name.clone(),
            title: session.title.clone(),
            about: session.about.clone(),
            ticks: session.ticks,
            sliders: session.sliders.clone(),
            geo: session.heightmap.as_ref().and_then(|map| map.geo.clone()),
            nodata: session.heightmap.as_ref().is_some_and(|map| map.nodata.is_some()),
            pools: session.pools.clone(),
            tile: session.tile.clone(),
            origin: SavedOrigin {
                input: input.to_string_lossy().into_owned(),
                size: options.size,
                cell_size: options.cell_size,
                min_m: options.min_m,
                max_m: options.max_m,
                channel: options.channel,
                raw: options.raw,
                encoding: options.encoding,
                smooth_steps: options.smooth_steps,
                maps: maps
                    .into_iter()
                    .map(|(layer, path)| (layer.import_title().to_owned(), path.to_string_lossy().into_owned()))
                    .collect(),
                seeds_before,
            },
            grids,
            state,
        }
    }

    pub fn session(&self) -> Result<Session, String> {
        self.geo.as_ref().map_or(Ok(()), Georeference::check)?;
        self.pools.iter().try_for_each(Pool::check)?;
        self.origin.raw.map_or(Ok(()), RawCells::check)?;
        let SavedOrigin {
            input,
            size,
            cell_size,
            min_m,
            max_m,
            channel,
            raw,
            encoding,
            smooth_steps,
            maps,
            seeds_before,
        } = &self.origin;
        let layer = |title: &str| Layer::imports().find(|(_, import)| import.title == title);
        let origin = Origin {
            input: input.into(),
            options: Options {
                size: *size,
                cell_size: *cell_size,
                min_m: *min_m,
                max_m: *max_m,
                channel: channel.clone(),
                raw: *raw,
                encoding: *encoding,
                smooth_steps: *smooth_steps,
            },
            maps: maps.iter().filter_map(|(title, path)| Some((layer(title)?.0, path.into()))).collect(),
            edited: false,
            seed_offset: *seeds_before,
        };
        let mut session = Session::placeholder(&self.name, self.state.seed, origin);
        session.title.clone_from(&self.title);
        session.about.clone_from(&self.about);
        session.ticks = self.ticks;
        session.sliders.clone_from(&self.sliders);
        session.pools.clone_from(&self.pools);
        session.tile.clone_from(&self.tile);
        Ok(session)
    }
}
