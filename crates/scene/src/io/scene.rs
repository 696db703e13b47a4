//! Scenes: what one or more runs start from, as a RON file that a person can copy and edit.

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
    output::{self, Output},
    project,
    sidecar::Sidecar,
    write_r32, write_sidecar,
};
use crate::model::{
    MOST_SIDE_BY_SIDE,
    origin::{Heightmap, Options, Origin, Tile},
    session::{LATEST_SHOWN, Session},
};
use thalweg_sim::core::terrain::{Layer, Pool, Source};

macro_rules! built_in {
    ($($name:literal)*) => {
        /// The scenes compiled into the program: name and RON text.
        pub const BUILT_IN: [(&str, &str); [$($name),*].len()] =
            [$(($name, include_str!(concat!("../../../../assets/scenes/", $name, ".ron")))),*];

        /// A small picture of each, as a PNG file of 240 × 150 pixels.
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

/// Headings of the scenes in lists.
pub const GROUPS: [&str; 5] = ["Mountains", "Rivers", "Dunes", "From the papers", "Tests"];

/// The scene that `thalweg` starts with.
pub const DEFAULT: &str = BUILT_IN[0].0;

/// A scene file. Parameters that it does not set keep their defaults.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scene {
    /// Name shown to the user.
    pub title: String,
    /// Under which heading a list of scenes has it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// What there is to see, in a sentence or two.
    pub about: String,
    /// Seed of terrain and processes.
    pub seed: u64,
    /// How many ticks make the finished scene.
    pub ticks: u64,
    /// The tick that is worth seeing: a window runs ahead to it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shown_from: u64,
    /// Processes that run.
    pub enabled: Vec<String>,
    /// Parameters by path, values as they are written on the command line.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Parameters that are worth turning before a room, one or two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sliders: Vec<String>,
    /// Files of layers to start from, relative to the scene file: `heightmap` instead of the terrain generator's heights, and
    /// `sand_map` and the like.
    #[serde(skip)]
    pub maps: BTreeMap<Layer, String>,
    /// Springs, and drains whose rate is negative.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub springs: Vec<Source>,
    /// Still water at the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<Pool>,
    /// Several runs side by side, each with its own title, seed, processes and parameters; without any there is one run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiles: Vec<Tile>,
}

fn is_zero(ticks: &u64) -> bool {
    *ticks == 0
}

/// The title of a built-in scene; `None` if there is no such scene.
pub fn title_of(name: &str) -> Option<String> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    ron::from_str::<Scene>(text).ok().map(|scene| scene.title)
}

/// A picture to take of a scene.
#[derive(Clone, Debug)]
pub struct Picture {
    /// PNG or EXR file to write.
    pub out: PathBuf,
    /// Width and height in pixels.
    pub resolution: (u32, u32),
    /// Name of a camera.
    pub camera: Option<String>,
    /// How it is taken.
    pub how: PictureOptions,
}

/// How pictures are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PictureOptions {
    /// Whether panels are seen. Such pictures are sharp, opaque and as the screen shows them.
    pub ui: bool,
    /// Whether their light is taken, before the tone curve.
    pub as_light: bool,
    /// How blurred they are before and behind what lies in their middle: the width of a far point, in percent of the picture's height.
    pub blur: f32,
    /// Whether they show the land alone.
    pub transparent: bool,
}

/// Opens a built-in scene by name, a scene file (`.ron`), a project (`.thalweg`) or a heightmap. There is at least one session.
///
/// # Errors
/// One sentence, if there is no such scene or the file cannot be used.
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

/// Opens the first run of a scene, or the heightmap: see [`open()`].
///
/// # Errors
/// One sentence, if there is no such scene or the file cannot be used.
pub fn open_first(input: impl AsRef<Path>, options: &Options) -> Result<Session, Error> {
    // A scene has at least one run.
    open(input, options).map(|mut sessions| sessions.swap_remove(0))
}

/// Fields of a scene file besides those of layers.
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
    let bad = |error: ron::error::SpannedError| Error::bad_scene(path, &error.to_string());
    let mut scene: Scene = ron::from_str(text).map_err(bad)?;
    // The fields for files of layers come from the table of layers, which a derive cannot read.
    let ron::Value::Map(fields) = ron::from_str(text).map_err(bad)? else { return Ok(scene) };
    for (field, value) in fields {
        let field: String = field.into_rust().unwrap_or_default();
        match Layer::imports().find(|(_, import)| import.field == field) {
            Some((layer, _)) => {
                let file = value.into_rust().map_err(|error| Error::bad_scene(path, &format!("{field}: {error}")))?;
                scene.maps.insert(layer, file);
            }
            None if FIELDS.contains(&&*field) => {}
            None => return Err(Error::bad_scene(path, &format!("there is no field \"{field}\""))),
        }
    }
    Ok(scene)
}

impl Scene {
    /// The runs that the scene describes. `path` is its file.
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
        // Memory for all of them together is asked for before the first one is made.
        let bytes = |session: &Session| session.wanted() + session.bytes_of_maps(maps.len());
        Budget::present().ask(path, sessions.iter().map(bytes).sum())?;
        for session in &mut sessions {
            for (layer, file) in &maps {
                heightmap::load_map(session, **layer, &path.with_file_name(file))?;
            }
            session.restart(session.simulation.seed());
            session.note_defaults();
        }
        Ok(sessions)
    }

    /// The session of a tile, whose terrain is not made yet.
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
        let origin = Origin { seeds_before: seed.wrapping_sub(first), ..origin };
        let mut session = Session::small(name, seed, origin);
        heights.into_iter().for_each(|heights| session.set_heights(heights));
        session.title = self.title.clone();
        session.about = self.about.clone();
        session.ticks = self.ticks;
        if self.shown_from > LATEST_SHOWN {
            let right = format!("a window runs ahead by {LATEST_SHOWN} ticks at most");
            return Err(Error::input(path, format!("shown_from is {}", self.shown_from), right));
        }
        session.shown_from = self.shown_from;
        if let Some(unknown) = self.sliders.iter().find(|path| !session.has(path)) {
            return Err(refuse(format!("there is no parameter \"{unknown}\" for a slider")));
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

/// Writes the present state of a session as a scene file, with the layers that it needs beside it. Opened again, it starts from
/// exactly these layers, its water at rest. A session at its start needs no layers if a scene or generator made it.
///
/// # Errors
/// A file cannot be written; nothing is replaced then.
pub fn save(session: &Session, path: &Path, progress: &JobProgress) -> Result<(), Error> {
    let (Some(folder), Some(file), Some(stem)) = (path.parent(), path.file_name(), path.file_stem()) else {
        return Err(Error::output(path, "it is no name of a file", "name a file that ends in .ron"));
    };
    let Some(stem) = stem.to_str() else {
        let wrong = "its name is not Unicode, and a scene names its layers as text";
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
    let output = Output::new(folder)?;
    if !session.generates_its_state() {
        // Sand lies in the layers now; size and cell size in their sidecars.
        for path in ["terrain.sand", "terrain.width", "terrain.height", "terrain.cell_size"] {
            scene.set.remove(path);
        }
        // Pools lie in the layers now, too.
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
                write_sidecar(&Sidecar::beside(file), grid, terrain.cell_size, (grid.width(), grid.height()))
            })?;
            scene.maps.insert(layer, name);
        }
    }
    let pretty = ron::ser::PrettyConfig::new().indentor("    ".to_owned());
    let text = ron::ser::to_string_pretty(&scene, pretty)
        .map_err(|error| Error::output(path, format!("it cannot be written ({error})"), "choose another name"))?;
    let files =
        scene.maps.iter().filter_map(|(layer, file)| Some(format!("    {}: {file:?},\n", layer.row().import?.field)));
    let text = format!("{}{})\n", text.trim_end_matches(')'), files.collect::<String>());
    output.write(file, |file| output::write(file, text))?;
    output.publish(Some(file)).map(drop)
}

#[cfg(test)]
mod tests;
