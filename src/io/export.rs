//! Maps of a terrain as files: what there is to save, in which formats, and how it is written.

use std::path::Path;

use super::{
    Error, Progress, hillshade::hillshade, output::Output, write_exr, write_png16, write_r32, write_rgb8, write_sidecar,
};
use crate::{
    look::Look,
    params::nearest,
    sim::{
        grid::Grid,
        terrain::{Layer, Terrain},
    },
};

/// Maps that can be saved beside the five layers.
const OTHER_MAPS: [&str; 3] = ["height", "change", "hillshade"];

/// The names of all maps that can be saved.
pub fn maps() -> Vec<&'static str> {
    OTHER_MAPS.into_iter().chain(Layer::ALL.map(Layer::key)).collect()
}

/// The formats of a map, as endings of names; the first is the usual one.
pub fn formats(map: &str) -> &'static [&'static str] {
    if map == "hillshade" { &["png"] } else { &["png", "exr", "r32"] }
}

/// What to write: a map and its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Export {
    /// One of [`maps`].
    pub map: &'static str,
    /// One of its [`formats`].
    pub format: &'static str,
}

impl Export {
    /// A map and a format by name.
    ///
    /// # Errors
    /// What is wrong and what would be right, as two parts of a sentence.
    pub fn new(map: &str, format: &str) -> Result<Self, (String, String)> {
        let all = maps();
        let Some(&map) = all.iter().find(|known| **known == map) else {
            let near = nearest(map, all.iter().copied()).map(|near| format!(", and the nearest is {near}"));
            return Err((
                format!("there is no map \"{map}\""),
                format!("there are {}{}", all.join(", "), near.unwrap_or_default()),
            ));
        };
        let formats = formats(map);
        match formats.iter().find(|known| known.eq_ignore_ascii_case(format)) {
            Some(&format) => Ok(Self { map, format }),
            None => {
                Err((format!("{map} cannot be written as .{format}"), format!("there are .{}", formats.join(", ."))))
            }
        }
    }

    /// Writes the map, and beside it under the same stem its sidecar where the format needs one.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(self, terrain: &Terrain, look: &Look, path: &Path, progress: &Progress) -> Result<(), Error> {
        let ground = terrain.ground();
        if self.map == "hillshade" {
            let pixels = hillshade(&ground, &terrain.sand, terrain.cell_size, look, progress);
            return write_rgb8(path, (ground.width(), ground.height()), &pixels, progress);
        }
        let grid = self.grid(terrain, ground);
        let range = grid.min_max();
        match self.format {
            "png" => write_png16(path, &grid, range, progress)?,
            "exr" => write_exr(path, &grid, progress)?,
            _ => write_r32(path, &grid, progress)?,
        }
        let size = (grid.width(), grid.height());
        write_sidecar(&path.with_extension("json"), size, terrain.cell_size, range)
    }

    fn grid(self, terrain: &Terrain, ground: Grid) -> Grid {
        match Layer::ALL.into_iter().find(|layer| layer.key() == self.map) {
            Some(layer) => terrain.layer(layer).clone(),
            None if self.map == "change" => {
                let cells = ground.iter().zip(terrain.start.iter()).map(|(now, start)| now - start).collect();
                Grid::from_cells(ground.width(), ground.height(), cells)
            }
            None => ground,
        }
    }

    /// Replaces a file, and its sidecar, by the map: both or none.
    ///
    /// # Errors
    /// The name has another ending than a format of the map, or a file cannot be written; nothing is replaced then.
    pub fn save(map: &str, terrain: &Terrain, look: &Look, path: &Path, progress: &Progress) -> Result<(), Error> {
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let export = Self::new(map, &ending).map_err(|(wrong, right)| Error::output(path, wrong, right))?;
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Error::output(path, "it is no name of a file", "name a file to write"));
        };
        let output = Output::new(folder)?;
        export.write(terrain, look, &output.file(&name.to_string_lossy()), progress)?;
        output.publish().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        io::heightmap::{self, Options},
        sim::terrain::Edge,
    };

    #[test]
    fn a_saved_map_and_its_sidecar_read_back_as_the_same_terrain() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cells = (0..40 * 32).map(|index| (index * 7 % 113) as f32 * 0.5).collect();
        let terrain = Terrain::bare(Grid::from_cells(40, 32, cells), 3.0, Edge::Open);
        for format in formats("height") {
            let path = folder.path().join(format!("map-{format}.{format}"));
            Export::save("height", &terrain, &Look::default(), &path, &Progress::default())
                .unwrap_or_else(|error| panic!("{error}"));
            let back = heightmap::read(&path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((back.heights.width(), back.cell_size), (40, 3.0));
            let worst = back.heights.iter().zip(terrain.bedrock.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(worst <= if *format == "png" { 0.5 / 65535.0 * 56.0 * 1.01 } else { 0.0 }, "{format}: {worst}");
        }
    }

    #[test]
    fn an_ending_that_is_no_format_is_refused_with_those_that_are() {
        let terrain = Terrain::bare(Grid::filled(4, 4, 0.0), 1.0, Edge::Open);
        let error = Export::save("height", &terrain, &Look::default(), Path::new("map.jpg"), &Progress::default())
            .expect_err("refused");
        assert!(error.to_string().contains(".png, .exr, .r32"), "{error}");
    }
}
