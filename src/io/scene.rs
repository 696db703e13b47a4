//! Scenes: what a run starts from, as a RON file that a person can copy and edit; and the [`Session`] made from one.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{Error, heightmap};
use crate::{
    look::Look,
    params::{self, Group, GroupMut, ParamError},
    sim::{
        Simulation,
        generate::{TerrainParams, generate},
        grid::Grid,
        terrain::Terrain,
    },
};

/// The scenes compiled into the program: name and RON text.
pub const BUILT_IN: [(&str, &str); 3] = [
    ("alpine-valley", include_str!("../../assets/scenes/alpine-valley.ron")),
    ("round-hill", include_str!("../../assets/scenes/round-hill.ron")),
    ("as-published", include_str!("../../assets/scenes/as-published.ron")),
];

/// The scene that `thalweg` starts with.
pub const DEFAULT: &str = BUILT_IN[0].0;

/// A scene file. Parameters that it does not set keep their defaults.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// Name shown to the user.
    pub title: String,
    /// What there is to see, in a sentence or two.
    pub about: String,
    /// Seed of terrain and processes.
    pub seed: u64,
    /// How many ticks make the finished scene.
    pub ticks: u64,
    /// Processes that run.
    pub enabled: Vec<String>,
    /// Parameters by path, values as they are written on the command line.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// A heightmap to start from instead of the terrain generator; relative to the scene file.
    #[serde(default)]
    pub heightmap: Option<String>,
}

/// Imported layers, each of the terrain's size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Maps {
    /// Thickness of sand, in metres.
    pub sand: Option<Grid>,
    /// Softness of the bedrock, 0 to 1.
    pub softness: Option<Grid>,
    /// Where rain falls, in any unit: only the shares count.
    pub rain: Option<Grid>,
}

impl Maps {
    /// Checks that every layer has values that make sense.
    ///
    /// # Errors
    /// One sentence: which layer, what is wrong, what would be right.
    pub fn check(&self) -> Result<(), String> {
        let range = |map: &Option<Grid>| map.as_ref().map_or((0.0, 1.0), Grid::min_max);
        if range(&self.sand).0 < 0.0 {
            return Err("the sand map has negative thickness; sand is 0 m or more".to_owned());
        }
        let (hardest, softest) = range(&self.softness);
        if hardest < 0.0 || softest > 1.0 {
            return Err(format!("the softness map reaches from {hardest} to {softest}; softness is 0 to 1"));
        }
        let (least, most) = range(&self.rain);
        if least < 0.0 || most <= 0.0 {
            return Err(
                "the rain map has negative rain or none at all; rain is 0 or more, and somewhere more".to_owned()
            );
        }
        Ok(())
    }
}

/// A simulation together with what it started from, so that it can be started again.
#[derive(Clone)]
pub struct Session {
    /// Name of the scene or stem of the file.
    pub name: String,
    /// Title shown to the user.
    pub title: String,
    /// What there is to see.
    pub about: String,
    /// How many ticks make the finished scene.
    pub ticks: u64,
    /// How the terrain is generated; its size, cell size and edge also hold for an imported map.
    pub terrain: TerrainParams,
    /// Light and colour.
    pub look: Look,
    /// The imported map, if the terrain is not generated.
    pub heightmap: Option<Arc<heightmap::Heightmap>>,
    /// Imported layers, which stand for the generated ones.
    pub maps: Maps,
    /// The run itself, with every process and its parameters.
    pub simulation: Simulation,
    /// What the user should know of how the input was read, a sentence each.
    pub warnings: Vec<String>,
}

/// A picture to take of a session.
#[derive(Clone, Debug)]
pub struct Picture {
    /// PNG file to write.
    pub out: PathBuf,
    /// Width and height in pixels.
    pub resolution: (u32, u32),
    /// Name of a camera.
    pub camera: Option<String>,
    /// Whether panels are in the picture.
    pub ui: bool,
}

impl Session {
    /// Opens a built-in scene by name, a scene file (`.ron`) or a heightmap.
    ///
    /// # Errors
    /// One sentence, if there is no such scene or the file cannot be used.
    pub fn open(input: &str, options: &heightmap::Options) -> Result<Self, Error> {
        if let Some((name, text)) = BUILT_IN.iter().find(|(name, _)| *name == input) {
            return Self::from_scene(name, Path::new(name), text, options);
        }
        let path = Path::new(input);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match path.extension() {
            Some(extension) if extension.eq_ignore_ascii_case("ron") => {
                let text = fs::read_to_string(path).map_err(|error| Error::unreadable(path, &error))?;
                Self::from_scene(&stem, path, &text, options)
            }
            None if !path.exists() => Err(Error::unknown_scene(input, &BUILT_IN.map(|(name, _)| name))),
            _ => Ok(Self::from_heightmap(&stem, heightmap::read(path, options)?)),
        }
    }

    /// A map that starts as bare dry bedrock under the defaults, with droplets on.
    pub fn from_heightmap(name: &str, mut map: heightmap::Heightmap) -> Self {
        let mut session = Self::bare(name, 1);
        session.warnings = std::mem::take(&mut map.warnings);
        session.terrain.width = map.heights.width() as u32;
        session.terrain.height = map.heights.height() as u32;
        session.terrain.cell_size = map.cell_size;
        session.heightmap = Some(Arc::new(map));
        session.enable(&["droplets"]);
        session.restart(1);
        session
    }

    fn bare(name: &str, seed: u64) -> Self {
        let terrain = TerrainParams::default();
        Self {
            name: name.to_owned(),
            title: name.to_owned(),
            about: String::new(),
            ticks: 200,
            simulation: Simulation::new(generate(&terrain, seed), seed),
            terrain,
            look: Look::default(),
            heightmap: None,
            maps: Maps::default(),
            warnings: Vec::new(),
        }
    }

    fn from_scene(name: &str, path: &Path, text: &str, options: &heightmap::Options) -> Result<Self, Error> {
        let scene: Scene = ron::from_str(text).map_err(|error| Error::bad_scene(path, &error.to_string()))?;
        let mut session = match &scene.heightmap {
            Some(map) => Self::from_heightmap(name, heightmap::read(&path.with_file_name(map), options)?),
            None => Self::bare(name, scene.seed),
        };
        session.title = scene.title;
        session.about = scene.about;
        session.ticks = scene.ticks;
        for (parameter, value) in &scene.set {
            session.set(parameter, value).map_err(|error| Error::bad_scene(path, &error.to_string()))?;
        }
        if session.heightmap.is_none() {
            session.apply_size(options);
        }
        let names: Vec<&str> = scene.enabled.iter().map(String::as_str).collect();
        if let Some(unknown) = session.enable(&names) {
            return Err(Error::bad_scene(path, &format!("there is no process \"{unknown}\"")));
        }
        session.restart(scene.seed);
        Ok(session)
    }

    /// Another size keeps the map's extent, unless the cell size is given too.
    fn apply_size(&mut self, options: &heightmap::Options) {
        if let Some((width, height)) = options.size {
            self.terrain.cell_size *= self.terrain.width.min(self.terrain.height) as f32 / width.min(height) as f32;
            self.terrain.width = width as u32;
            self.terrain.height = height as u32;
        }
        if let Some(cell_size) = options.cell_size {
            self.terrain.cell_size = cell_size;
        }
    }

    /// Makes exactly these processes run. Returns the first name that is no process; nothing is changed then.
    pub fn enable<'a>(&mut self, keys: &[&'a str]) -> Option<&'a str> {
        if let Some(&unknown) = keys.iter().find(|key| self.simulation.slot_mut(key).is_none()) {
            return Some(unknown);
        }
        for slot in &mut self.simulation.slots {
            slot.enabled = keys.contains(&slot.key());
        }
        None
    }

    /// All parameters: terrain, light and colour, processes.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = vec![("terrain", &self.terrain), ("look", &self.look)];
        groups.extend(self.simulation.groups());
        groups
    }

    /// All parameters, to be changed.
    pub fn groups_mut(&mut self) -> Vec<GroupMut<'_>> {
        let mut groups: Vec<GroupMut<'_>> = vec![("terrain", &mut self.terrain), ("look", &mut self.look)];
        groups.extend(self.simulation.groups_mut());
        groups
    }

    /// Sets a parameter by its path. One of the terrain takes effect at the next [`Self::restart`].
    ///
    /// # Errors
    /// Unknown path, malformed text or a number out of range; nothing is changed then.
    pub fn set(&mut self, path: &str, text: &str) -> Result<(), ParamError> {
        params::set(&mut self.groups_mut(), path, text)
    }

    /// The terrain at the start of a run with this seed.
    pub fn start_terrain(&self, seed: u64) -> Terrain {
        let mut terrain = match &self.heightmap {
            None => generate(&self.terrain, seed),
            Some(map) => {
                let mut terrain = Terrain::bare(map.heights.clone(), map.cell_size, self.terrain.edge);
                terrain.spread_sand(self.terrain.sand);
                terrain
            }
        };
        if let Some(sand) = &self.maps.sand {
            terrain.sand = sand.clone();
            terrain.start = terrain.ground();
        }
        if let Some(softness) = &self.maps.softness {
            terrain.softness = softness.clone();
        }
        terrain.rain = self.maps.rain.clone();
        terrain
    }

    /// Starts the run again from its first terrain, keeping all parameters and switches.
    pub fn restart(&mut self, seed: u64) {
        let terrain = self.start_terrain(seed);
        self.simulation.restart(terrain, seed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_scene_opens_and_is_what_its_file_says() {
        for (name, text) in BUILT_IN {
            let session = Session::open(name, &heightmap::Options::default()).unwrap_or_else(|error| panic!("{error}"));
            let scene: Scene = ron::from_str(text).expect("it just opened");
            assert_eq!(session.title, scene.title);
            assert_eq!(session.simulation.seed(), scene.seed);
        }
    }

    #[test]
    fn another_size_keeps_the_extent_and_the_relief() {
        let open = |size| {
            Session::open(DEFAULT, &heightmap::Options { size, ..Default::default() })
                .expect("built in")
                .simulation
                .terrain
        };
        let (small, large) = (open(Some((64, 64))), open(Some((128, 128))));
        assert_eq!(small.cell_size, 2.0 * large.cell_size);
        assert_eq!(small.bedrock.min_max(), large.bedrock.min_max());
    }

    #[test]
    fn an_unknown_scene_is_answered_with_the_names_that_exist() {
        let error = Session::open("alpine-vally", &heightmap::Options::default()).err().expect("there is none");
        assert!(error.to_string().contains("alpine-valley"), "{error}");
    }
}
