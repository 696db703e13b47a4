//! Scenes: initial states of one or more simulations, as RON files that users can copy and edit.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{
    Budget, Error, JobProgress,
    embedded::FOLDER,
    heightmap, input,
    output::{self, OutputSet},
    project,
    sidecar::Sidecar,
    write_r32, write_sidecar,
};
use crate::model::{
    MOST_SIDE_BY_SIDE,
    origin::{Heightmap, Options, Origin, Tile},
    session::{AudienceSlider, MAX_FAST_FORWARD, Session},
};
use thalweg_sim::{
    core::terrain::{Layer, Pool, Source},
    params::join_with_suggestion,
};

macro_rules! built_in {
    ($($name:literal)*) => {
        /// Scenes compiled into the program: name and RON text.
        pub const BUILT_IN: [(&str, &str); [$($name),*].len()] =
            [$(($name, include_str!(concat!("../../../../assets/scenes/", $name, ".ron")))),*];

        /// Thumbnails of the scenes, as PNG files of 240 × 150 pixels.
        pub const THUMBNAILS: [&[u8]; BUILT_IN.len()] =
            [$(include_bytes!(concat!("../../../../assets/thumbnails/", $name, ".png"))),*];
    };
}

built_in! {
    "alpine-valley" "young-range" "island" "escarpment" "fans" "fault" "ten-seeds" "round-hill" "jacksboro-fault" "river-valley"
    "mountain-lake" "plain-and-meanders" "two-rivers-meet" "braided" "delta" "dam-break"
    "two-vessels" "figure-5" "figure-6" "figure-7" "figure-8" "figure-9" "chiba-1998" "musgrave-1989" "two-methods" "sand-sea" "one-barchan"
    "buried-pyramid" "obstacle-abrasion" "star-dunes" "parameter-study" "wadi" "as-published"
}

/// Groups of the scene list.
pub const GROUPS: [&str; 5] = ["Mountains", "Rivers", "Dunes", "From the papers", "Tests"];

/// Scene that `thalweg` opens without arguments.
pub const DEFAULT: &str = BUILT_IN[0].0;

/// Scene file. Unset parameters have their defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scene {
    /// Display name.
    pub title: String,
    /// Group in the scene list.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Description in a sentence or two.
    pub about: String,
    /// Random seed of terrain and processes.
    pub seed: u64,
    /// Ticks until the scene is finished.
    pub ticks: u64,
    /// Tick to which the window fast-forwards on opening.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shown_from: u64,
    /// Enabled processes.
    pub enabled: Vec<String>,
    /// Parameters by path, with values in the syntax of the command line.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// One or two parameters recommended for live demonstration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sliders: Vec<AudienceSlider>,
    /// Layer files relative to the scene file: `heightmap`, which replaces the terrain generator, `sand_map` and so on.
    #[serde(skip)]
    pub maps: BTreeMap<Layer, String>,
    /// Springs, and drains with a negative rate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub springs: Vec<Source>,
    /// Initial standing water.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<Pool>,
    /// Simulations side by side, each with its own title, seed, processes and parameters. If empty, there is one simulation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiles: Vec<Tile>,
}

fn is_zero(ticks: &u64) -> bool {
    *ticks == 0
}

/// Returns the title of a built-in scene; `None` if there is no such scene.
pub fn title_of(name: &str) -> Option<String> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    ron::from_str::<Scene>(text).ok().map(|scene| scene.title)
}

/// Render of a scene to an image file.
#[derive(Clone, Debug)]
pub struct RenderJob {
    /// Output file, PNG or EXR.
    pub out: PathBuf,
    /// Width and height in pixels.
    pub resolution: (u32, u32),
    /// Name of the camera.
    pub camera: Option<String>,
    /// Render options.
    pub how: RenderOptions,
}

/// Render options.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RenderOptions {
    /// `true` to include the user interface. Such renders are sharp, opaque and tone-mapped.
    pub ui: bool,
    /// `true` to output linear light, before tone mapping.
    pub as_light: bool,
    /// Depth of field: diameter of the circle of confusion at infinity, as a percentage of the image height.
    pub blur: f32,
    /// `true` to render the terrain alone on a transparent background.
    pub transparent: bool,
}

/// Opens a built-in scene by name, a scene file (`.ron`), a project (`.thalweg`) or a heightmap. Returns at least one session.
///
/// # Errors
/// There is no such scene, or the file is invalid.
pub fn open(input: impl AsRef<Path>, options: &Options) -> Result<Vec<Session>, Error> {
    let path = input.as_ref();
    let origin = Origin { input: path.to_owned(), options: options.clone(), ..Origin::default() };
    if let Some((name, text)) = BUILT_IN.iter().find(|(name, _)| path == Path::new(name)) {
        return parse(&Path::new(FOLDER).join(name), text)?.sessions(name, &Path::new(FOLDER).join(name), origin);
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match path.extension() {
        Some(_) if project::is_project(path) => Ok(project::open(path)?.sessions),
        Some(extension) if extension.eq_ignore_ascii_case("ron") => {
            parse(path, &input::text(path)?)?.sessions(&stem, path, origin)
        }
        None if !path.exists() => Err(Error::unknown_scene(&path.to_string_lossy(), &BUILT_IN.map(|(name, _)| name))),
        _ => Ok(vec![heightmap::session(&stem, heightmap::read(path, options)?, origin)?]),
    }
}

/// Opens the first simulation of a scene, or a heightmap, see [`open()`].
///
/// # Errors
/// There is no such scene, or the file is invalid.
pub fn open_first(input: impl AsRef<Path>, options: &Options) -> Result<Session, Error> {
    // A scene has at least one simulation.
    open(input, options).map(|mut sessions| sessions.swap_remove(0))
}

/// Fields of a scene file other than layer files.
const FIELDS: [&str; 12] = [
    "title",
    "group",
    "about",
    "seed",
    "ticks",
    "shown_from",
    "enabled",
    "set",
    "sliders",
    "springs",
    "pools",
    "tiles",
];

fn parse(path: &Path, text: &str) -> Result<Scene, Error> {
    let bad = |wrong: String| Error::bad_scene(path, &wrong);
    let mut scene: Scene = input::parse(text, 0).map_err(bad)?;
    // The fields for layer files come from the layer table, which a derive cannot read.
    let ron::Value::Map(fields) = input::parse(text, 0).map_err(bad)? else { return Ok(scene) };
    for (field, value) in fields {
        let field: String = field.into_rust().unwrap_or_default();
        match Layer::imports().find(|(_, import)| import.field == field) {
            Some((layer, _)) => {
                let file = value.into_rust().map_err(|error| Error::bad_scene(path, &format!("{field}: {error}")))?;
                scene.maps.insert(layer, file);
            }
            None if FIELDS.contains(&&*field) => {}
            None => {
                let is_field = |line: &str| {
                    line.split_once(':').is_some_and(|(name, _)| name.trim_matches([' ', '(', '\t']) == field)
                };
                let line = text.lines().position(is_field).map_or(String::new(), |line| format!("line {}: ", line + 1));
                let names: Vec<&str> =
                    FIELDS.into_iter().chain(Layer::imports().map(|(_, import)| import.field)).collect();
                let names = join_with_suggestion(&names, &field);
                return Err(bad(format!("{line}unknown field `{field}`; the fields are {names}")));
            }
        }
    }
    Ok(scene)
}

impl Scene {
    /// Opens the simulations of the scene. `path` is its file.
    fn sessions(&self, name: &str, path: &Path, origin: Origin) -> Result<Vec<Session>, Error> {
        let only = [Tile::default()];
        let tiles = if self.tiles.is_empty() { &only[..] } else { &self.tiles };
        if tiles.len() > MOST_SIDE_BY_SIDE {
            let reason = format!("`tiles` has {} simulations; the limit is {MOST_SIDE_BY_SIDE}", tiles.len());
            return Err(Error::bad_scene(path, &reason));
        }
        let heights = match self.maps.get(&Layer::Bedrock) {
            Some(file) => Some(Arc::new(heightmap::read(&path.with_file_name(file), &origin.options)?)),
            None => None,
        };
        let session = |tile| self.session(tile, name, path, origin.clone(), heights.clone());
        let mut sessions = tiles.iter().map(session).collect::<Result<Vec<_>, _>>()?;
        let maps: Vec<_> = self.maps.iter().filter(|(layer, _)| **layer != Layer::Bedrock).collect();
        // The total memory is requested before the first simulation is created.
        let bytes = |session: &Session| session.additional_bytes() + session.bytes_of_maps(maps.len());
        Budget::present().request(path, sessions.iter().map(bytes).sum())?;
        for session in &mut sessions {
            for (layer, file) in &maps {
                heightmap::load_map(session, **layer, &path.with_file_name(file))?;
            }
            session.restart(session.simulation.seed());
            session.record_defaults();
        }
        Ok(sessions)
    }

    /// Creates the session of a tile without generating its terrain.
    fn session(
        &self,
        tile: &Tile,
        name: &str,
        path: &Path,
        origin: Origin,
        heights: Option<Arc<Heightmap>>,
    ) -> Result<Session, Error> {
        let refuse = |what: String| Error::bad_scene(path, &what);
        let seed = tile.seed.unwrap_or(self.seed);
        let options = origin.options.clone();
        let first = self.tiles.first().and_then(|tile| tile.seed).unwrap_or(self.seed);
        let origin = Origin { seed_offset: seed.wrapping_sub(first), ..origin };
        let mut session = Session::placeholder(name, seed, origin);
        heights.into_iter().for_each(|heights| session.set_heights(heights));
        session.title = self.title.clone();
        session.about = self.about.clone();
        session.ticks = self.ticks;
        if self.shown_from > MAX_FAST_FORWARD {
            let right = format!("the window fast-forwards by at most {MAX_FAST_FORWARD} ticks");
            return Err(Error::input(path, format!("shown_from is {}", self.shown_from), right));
        }
        session.shown_from = self.shown_from;
        if let Some(unknown) = self.sliders.iter().map(|slider| &slider.path).find(|path| !session.has(path)) {
            return Err(refuse(format!("unknown slider parameter \"{unknown}\"")));
        }
        session.sliders.clone_from(&self.sliders);
        session.tile = (!self.tiles.is_empty()).then(|| tile.clone());
        for set in [&self.set, &tile.set] {
            let all = set.iter().map(|(path, value)| (&**path, &**value));
            session.set_all(all).map_err(|error| refuse(error.to_string()))?;
        }
        match session.heightmap.as_ref().map(|map| map.file_size) {
            Some(size) => session.follow(size, |path| self.set.contains_key(path) || tile.set.contains_key(path)),
            None => session.apply_size(&options),
        }
        let names: Vec<&str> = tile.enabled.as_ref().unwrap_or(&self.enabled).iter().map(String::as_str).collect();
        if let Some(unknown) = session.enable(&names) {
            return Err(refuse(format!("there is no process \"{unknown}\"")));
        }
        let numbers = self.springs.iter().try_for_each(Source::check);
        numbers
            .and_then(|()| self.pools.iter().try_for_each(Pool::check))
            .map_err(|unfit| Error::unfit(path, unfit))?;
        session.sources = self.springs.clone();
        session.pools = self.pools.clone();
        Ok(session)
    }
}

/// Saves the current state of a session as a scene file with layer files next to it. The saved scene starts from exactly these layers,
/// with still water. An initial state that a scene or generator produces is saved without layers.
///
/// # Errors
/// A file cannot be written; nothing is replaced then.
pub fn save(session: &Session, path: &Path, progress: &JobProgress) -> Result<(), Error> {
    let (Some(folder), Some(file), Some(stem)) = (path.parent(), path.file_name(), path.file_stem()) else {
        return Err(Error::output(path, "not a file name", "choose a file name ending in .ron"));
    };
    let Some(stem) = stem.to_str() else {
        let wrong = "the file name is not Unicode, but a scene refers to its layers by name";
        return Err(Error::output(path, wrong, "choose another name"));
    };
    let simulation = &session.simulation;
    let terrain = &simulation.terrain;
    let mut scene = Scene {
        title: session.title.clone(),
        about: session.about.clone(),
        seed: simulation.seed(),
        ticks: session.ticks,
        enabled: simulation.slots.iter().filter(|slot| slot.enabled).map(|slot| slot.key().to_owned()).collect(),
        set: session.changed_parameters(),
        sliders: session.sliders.clone(),
        springs: terrain.sources.clone(),
        pools: session.pools.clone(),
        ..Scene::default()
    };
    let output = OutputSet::new(folder)?;
    if !session.generates_its_state() {
        // Sand is stored in the layers; size and cell size are in their sidecars.
        for path in ["terrain.sand", "terrain.width", "terrain.height", "terrain.cell_size"] {
            scene.set.remove(path);
        }
        // Pools are stored in the layers.
        scene.pools.clear();
        for (layer, grid) in terrain.layers() {
            let (least, most) = grid.min_max();
            let empty = (least, most) == (layer.row().empty, layer.row().empty) && layer != Layer::Bedrock;
            if layer.row().import.is_none() || empty {
                continue;
            }
            let name = format!("{stem}.{}.r32", layer.key());
            output.write(&name, |file| {
                write_r32(file, grid, progress)?;
                write_sidecar(&Sidecar::path_for(file), grid, terrain.cell_size, (grid.width(), grid.height()))
            })?;
            scene.maps.insert(layer, name);
        }
    }
    let pretty = ron::ser::PrettyConfig::new().indentor("    ".to_owned());
    let text = ron::ser::to_string_pretty(&scene, pretty)
        .map_err(|error| Error::output(path, format!("writing failed ({error})"), "choose another name"))?;
    let files =
        scene.maps.iter().filter_map(|(layer, file)| Some(format!("    {}: {file:?},\n", layer.row().import?.field)));
    let text = format!("{}{})\n", text.trim_end_matches(')'), files.collect::<String>());
    output.write(file, |file| output::write(file, text))?;
    output.publish(Some(file)).map(drop)
}

#[cfg(test)]
mod tests;
