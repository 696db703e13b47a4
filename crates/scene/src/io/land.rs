//! New land: a run that a person begins from a generator, and not from a scene or a map.

use std::path::Path;

use super::{Budget, Error, preset::Preset};
use crate::{
    io::scene::open_first,
    model::{origin::Options, session::Session},
};
use thalweg_sim::{
    generate::{Generator, TerrainParams},
    params,
    process::catalogue,
};

/// The scene whose parameters a new land begins with, so that the command line can tell what is different.
const BASE: &str = "round-hill";

/// What a new land is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct NewLand {
    /// Generator, size and relief.
    pub terrain: TerrainParams,
    /// The same seed gives the same land.
    pub seed: u64,
    /// Keys of the processes that run.
    pub processes: Vec<&'static str>,
    /// Name of the built-in preset of its colours.
    pub palette: &'static str,
}

impl Default for NewLand {
    fn default() -> Self {
        Self {
            terrain: TerrainParams { generator: Generator::Fbm, ..TerrainParams::default() },
            seed: 1,
            processes: vec!["droplets"],
            palette: "palette-alpine",
        }
    }
}

impl NewLand {
    /// What it is called.
    pub const TITLE: &str = "New land";

    /// Memory that it takes, in bytes.
    pub fn bytes(&self) -> u64 {
        let mut outline = Session::small(Self::TITLE, self.seed, Default::default());
        outline.terrain = self.terrain.clone();
        outline.enable(&self.processes);
        outline.bytes()
    }

    /// The run that begins on it.
    ///
    /// # Errors
    /// It needs more memory than may be used.
    pub fn open(&self) -> Result<Session, Error> {
        Budget::present().ask(Path::new(Self::TITLE), self.bytes())?;
        let (width, height) = (self.terrain.width as usize, self.terrain.height as usize);
        let options =
            Options { size: Some((width, height)), cell_size: Some(self.terrain.cell_size), ..Options::default() };
        let mut session = open_first(BASE, &options)?;
        for parameter in params::walk(("terrain", &self.terrain)) {
            session.write("terrain", parameter.name, &parameter.value);
        }
        if let Some(palette) = Preset::built_in(self.palette) {
            palette.apply(&mut session, Path::new(self.palette))?;
        }
        session.enable(&self.processes);
        Self::TITLE.clone_into(&mut session.title);
        "new-land".clone_into(&mut session.name);
        session.about.clear();
        session.restart(self.seed);
        Ok(session)
    }

    /// Key and name of every process that can run on it.
    pub fn all_processes() -> Vec<(&'static str, &'static str)> {
        catalogue().iter().map(|process| (process.info().key, process.info().title)).collect()
    }

    /// Lets a process run on it, and none that it stands for; or lets it rest.
    pub fn switch(&mut self, key: &'static str, on: bool) {
        let all = catalogue();
        let info = |key: &str| all.iter().map(|process| process.info()).find(|info| info.key == key);
        let replaces = |other: &str| info(key).zip(info(other)).is_some_and(|(own, other)| own.replaces(other));
        self.processes.retain(|other| *other != key && !(on && replaces(other)));
        self.processes.extend(on.then_some(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_land_is_what_was_asked_for_and_its_command_line_makes_it_again() {
        let terrain = TerrainParams {
            generator: Generator::Ridged,
            width: 80,
            height: 48,
            cell_size: 25.0,
            relief: 900.0,
            sand: 2.0,
            ..TerrainParams::default()
        };
        let land = NewLand { terrain, seed: 7, processes: vec!["water", "wind"], palette: "palette-desert" };
        let session = land.open().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((session.terrain.clone(), session.simulation.seed()), (land.terrain.clone(), 7));
        let enabled: Vec<&str> =
            session.simulation.slots.iter().filter(|slot| slot.enabled).map(|slot| slot.key()).collect();
        assert_eq!(enabled, land.processes);
        let now = &session.simulation.terrain;
        assert_eq!((now.width(), now.height(), now.cell_size), (80, 48, 25.0));
        let (low, high) = now.bedrock.min_max();
        assert!((high - low - 900.0).abs() < 1e-2 && now.sand.iter().all(|sand| *sand == 2.0));
        let words = session.command_line();
        for word in
            ["--size 80x48", "terrain.generator=ridged", "terrain.relief=900", "--seed 7", "--enable 'water,wind'"]
        {
            assert!(words.contains(word), "{word} is not in {words}");
        }
        assert_eq!(session.look.flat_color, [0.66, 0.54, 0.36]);
        assert!(land.bytes() >= 80 * 48 * 4);
        assert_eq!(session.name, "new-land");
        // One kind of rain takes the place of the other.
        let mut land = land;
        land.switch("runoff", true);
        assert_eq!(land.processes, ["wind", "runoff"]);
        land.switch("runoff", false);
        assert_eq!(land.processes, ["wind"]);
    }
}
