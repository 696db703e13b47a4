//! New terrain: a simulation started from a generator instead of a scene or heightmap.

use std::path::Path;

use super::{Budget, Error, JobProgress, export::hillshade::hillshade, preset::Preset};
use crate::{
    io::scene::open_first,
    model::{origin::Options, session::Session},
};
use thalweg_sim::{
    core::bounds::SIDES,
    generate::{Generator, TerrainParams},
    params,
    process::wind::thinnest_sheet,
    simulation::grow::typical_relief,
};

/// Scene that provides the initial parameters, so that the command line lists only the differences.
const BASE: &str = "round-hill";

/// Default thickness of sand for wind, in metres; more if the cells are too large for it.
const SAND: f32 = 4.0;

/// Maximum initial thickness of sand, in metres.
const MOST_SAND: f32 = 100.0;

/// Tick to which a new terrain with enabled processes fast-forwards on its first playback.
const SHOWN_FROM: u64 = 150;

/// Extent in metres below which the minimum visible water depth shrinks in proportion.
const WIDE: f64 = 2560.0;

/// Preset of enabled processes, with parameters scaled to the extent of the terrain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activity {
    /// Droplets that gather in rivers and cut gullies.
    #[default]
    Rain,
    /// Heavy rain with sheet flow that concentrates into torrents.
    Flood,
    /// Aeolian sand transport.
    Wind,
    /// Tectonic uplift with fluvial incision.
    Uplift,
    /// No processes.
    Nothing,
}

impl Activity {
    /// All activities with their titles.
    pub const ALL: [(Self, &str); 5] = [
        (Self::Rain, "Rain and rivers"),
        (Self::Flood, "Flood"),
        (Self::Wind, "Desert wind"),
        (Self::Uplift, "Rising mountains"),
        (Self::Nothing, "None"),
    ];

    /// Returns the title.
    pub fn title(self) -> &'static str {
        Self::ALL.iter().find(|(activity, _)| *activity == self).map_or("", |(_, title)| title)
    }

    /// Returns the keys of the enabled processes.
    pub fn processes(self) -> &'static [&'static str] {
        match self {
            Self::Rain => &["droplets"],
            Self::Flood => &["water", "thermal"],
            Self::Wind => &["wind"],
            Self::Uplift => &["fluvial"],
            Self::Nothing => &[],
        }
    }

    /// Returns the name of the matching built-in colour preset.
    pub fn palette(self) -> &'static str {
        if self == Self::Wind { "palette-desert" } else { "palette-alpine" }
    }

    /// Returns the names of the built-in presets that are applied.
    fn presets(self) -> &'static [&'static str] {
        match self {
            Self::Flood => &["water-flash-flood"],
            Self::Wind => &["wind-transverse-dunes"],
            Self::Rain | Self::Uplift | Self::Nothing => &[],
        }
    }
}

/// Settings of a new terrain.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTerrain {
    /// Generator, size and relief.
    pub terrain: TerrainParams,
    /// Random seed.
    pub seed: u64,
    /// Processes to enable.
    pub activity: Activity,
    /// Name of the built-in colour preset.
    pub palette: &'static str,
}

impl Default for NewTerrain {
    fn default() -> Self {
        let mut terrain = TerrainParams { generator: Generator::Fbm, ..TerrainParams::default() };
        terrain.relief = typical_relief(extent(&terrain)).round() as f32;
        Self { terrain, seed: 1, activity: Activity::default(), palette: "palette-alpine" }
    }
}

impl NewTerrain {
    /// Title of the session.
    pub const TITLE: &str = "New terrain";

    /// Returns the memory that the session needs, in bytes.
    pub fn bytes(&self) -> u64 {
        let mut outline = Session::placeholder(Self::TITLE, self.seed, Default::default());
        outline.terrain = self.terrain.clone();
        outline.enable(self.activity.processes());
        outline.bytes()
    }

    /// Opens a session with this terrain.
    ///
    /// # Errors
    /// It exceeds the memory budget.
    pub fn open(&self) -> Result<Session, Error> {
        Budget::present().request(Path::new(Self::TITLE), self.bytes())?;
        let (width, height) = (self.terrain.width as usize, self.terrain.height as usize);
        let options =
            Options { size: Some((width, height)), cell_size: Some(self.terrain.cell_size), ..Options::default() };
        let mut session = open_first(BASE, &options)?;
        for parameter in params::collect_parameters(("terrain", &self.terrain)) {
            session.write("terrain", parameter.name, &parameter.value);
        }
        if let Some(palette) = Preset::built_in(self.palette) {
            palette.apply(&mut session, Path::new(self.palette))?;
        }
        session.enable(self.activity.processes());
        for name in self.activity.presets() {
            if let Some(preset) = Preset::built_in(name) {
                preset.apply(&mut session, Path::new(name))?;
            }
        }
        if self.activity == Activity::Wind && session.terrain.sand == 0.0 && !session.terrain.loose {
            session.terrain.sand = (2.0 * thinnest_sheet(self.terrain.cell_size)).clamp(SAND, MOST_SAND);
        }
        session.shown_from = if self.activity == Activity::Nothing { 0 } else { SHOWN_FROM };
        session.water_look.film *= (extent(&self.terrain) / WIDE).clamp(0.05, 1.0) as f32;
        Self::TITLE.clone_into(&mut session.title);
        "new-land".clone_into(&mut session.name);
        session.about.clear();
        session.restart(self.seed);
        let range = session.range.clone();
        session.simulation.tune_default_uplift(&range);
        Ok(session)
    }

    /// Renders a hillshade with `side` cells along the longer side: columns and rows, and 8-bit RGB in row order.
    ///
    /// # Errors
    /// It exceeds the memory budget.
    pub fn preview(&self, side: u32) -> Result<([usize; 2], Vec<u8>), Error> {
        let mut small = self.clone();
        let terrain = &mut small.terrain;
        let share = (f64::from(side) / f64::from(terrain.width.max(terrain.height))).min(1.0);
        let fewest = *SIDES.start() as u32;
        let [columns, rows] = [terrain.width, terrain.height].map(|cells| (f64::from(cells) * share).round() as u32);
        terrain.cell_size *= terrain.width as f32 / columns.max(1) as f32;
        (terrain.width, terrain.height) = (columns.max(fewest), rows.max(fewest));
        let Session { simulation, look, .. } = small.open()?;
        let (ground, sand) = (simulation.terrain.ground(), &simulation.terrain.sand);
        let pixels = hillshade(&ground, sand, simulation.terrain.cell_size, &look, &JobProgress::default());
        Ok(([ground.width(), ground.height()], pixels))
    }

    /// Changes the extent or the number of cells. Relief and strata thickness follow the typical relief of mountain ranges of that extent.
    pub fn resize(&mut self, change: impl FnOnce(&mut TerrainParams)) {
        let before = typical_relief(extent(&self.terrain));
        change(&mut self.terrain);
        let factor = (typical_relief(extent(&self.terrain)) / before) as f32;
        for (name, value) in
            [("relief", &mut self.terrain.relief), ("strata_thickness", &mut self.terrain.strata_thickness)]
        {
            let declared = params::collect_parameters(("terrain", &TerrainParams::default()));
            let knob = declared.into_iter().find(|parameter| parameter.name == name).map(|parameter| parameter.knob);
            if let Some(knob) = knob {
                *value = (*value * factor).clamp(knob.min as f32, knob.max as f32);
            }
        }
    }
}

/// Returns the shorter side, in metres.
fn extent(terrain: &TerrainParams) -> f64 {
    f64::from(terrain.width.min(terrain.height)) * f64::from(terrain.cell_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_terrain_matches_parameters_and_command_line() {
        let terrain = TerrainParams {
            generator: Generator::Ridged,
            width: 80,
            height: 48,
            cell_size: 25.0,
            relief: 900.0,
            sand: 2.0,
            ..TerrainParams::default()
        };
        let land = NewTerrain { terrain, seed: 7, activity: Activity::Flood, palette: "palette-desert" };
        let session = land.open().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((session.terrain.clone(), session.simulation.seed()), (land.terrain.clone(), 7));
        let enabled: Vec<&str> =
            session.simulation.slots.iter().filter(|slot| slot.enabled).map(|slot| slot.key()).collect();
        assert_eq!(enabled, land.activity.processes());
        let now = &session.simulation.terrain;
        assert_eq!((now.width(), now.height(), now.cell_size), (80, 48, 25.0));
        let (low, high) = now.bedrock.min_max();
        assert!((high - low - 900.0).abs() < 1e-2 && now.sand.iter().all(|sand| *sand == 2.0));
        let words = session.command_line();
        for word in
            ["--size 80x48", "terrain.generator=ridged", "terrain.relief=900", "--seed 7", "--enable 'water,thermal'"]
        {
            assert!(words.contains(word), "{word} is not in {words}");
        }
        assert_eq!(session.look.flat_color, [0.66, 0.54, 0.36]);
        assert!(land.bytes() >= 80 * 48 * 4);
        assert_eq!(session.name, "new-land");
    }

    #[test]
    fn every_activity_works_at_every_extent() {
        for (activity, title) in Activity::ALL {
            for cell_size in [2.0, 40.0, 500.0] {
                let mut land = NewTerrain { activity, ..NewTerrain::default() };
                land.resize(|terrain| (terrain.width, terrain.height, terrain.cell_size) = (64, 64, cell_size));
                let ratio = f64::from(land.terrain.relief) / typical_relief(64.0 * f64::from(cell_size));
                assert!((ratio - 1.0).abs() < 0.01, "{title}, {cell_size} m: relief of {} m", land.terrain.relief);
                let mut session = land.open().unwrap_or_else(|error| panic!("{error}"));
                let before = session.simulation.terrain.ground();
                (0..60).for_each(|_| session.simulation.tick());
                let after = session.simulation.terrain.ground();
                let most = before.iter().zip(after.iter()).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max);
                let moves = activity != Activity::Nothing;
                assert_eq!(most > 1e-3 * land.terrain.relief.min(10.0), moves, "{title}, {cell_size} m: {most} m");
            }
        }
    }

    #[test]
    fn terrain_preview_matches_downsampled_hillshade() {
        let mut land = NewTerrain::default();
        land.resize(|terrain| (terrain.width, terrain.height, terrain.cell_size) = (512, 256, 5.0));
        let ([columns, rows], pixels) = land.preview(128).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((columns, rows, pixels.len()), (128, 64, 3 * 128 * 64));
        let other = NewTerrain { seed: 2, ..land.clone() }.preview(128).unwrap_or_else(|error| panic!("{error}"));
        assert!(other.1 != pixels, "another seed has the same preview");
        // Cells of the preview may exceed the maximum cell size.
        let mut wide = NewTerrain::default();
        wide.resize(|terrain| (terrain.width, terrain.height, terrain.cell_size) = (256, 256, 900.0));
        let (size, shades) = wide.preview(64).unwrap_or_else(|error| panic!("{error}"));
        assert!(size == [64, 64] && shades.iter().any(|shade| *shade != shades[0]));
        // Hillshade of the full terrain, averaged over the cells of the preview.
        let session = land.open().unwrap_or_else(|error| panic!("{error}"));
        let terrain = &session.simulation.terrain;
        let ground = terrain.ground().resample(128, 64);
        let small = hillshade(&ground, &terrain.sand.resample(128, 64), 20.0, &session.look, &JobProgress::default());
        let off = small.iter().zip(&pixels).map(|(one, other)| f64::from(one.abs_diff(*other))).sum::<f64>();
        let spread = small.iter().zip(small.iter().skip(3 * 40)).map(|(one, other)| f64::from(one.abs_diff(*other)));
        let spread = spread.sum::<f64>();
        assert!(off < 0.6 * spread, "off by {off}, pixels differ by {spread} among each other");
    }
}
