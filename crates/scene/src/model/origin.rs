//! Where a run came from: its input, how that was read, and which of several runs side by side it is.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use thalweg_sim::core::{
    bounds::{CELL_SIZE, EARTH, HEIGHT, Unfit},
    grid::Grid,
    terrain::Layer,
};

/// Where on Earth a map lies, in the units of its own coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Geo {
    /// Western edge.
    pub west: f64,
    /// Northern edge.
    pub north: f64,
    /// From the western to the eastern edge.
    pub width: f64,
    /// From the southern to the northern edge.
    pub height: f64,
    /// Whether the units are degrees of longitude and latitude (WGS 84) and not metres of a projection.
    pub degrees: bool,
}

impl Geo {
    /// Checks that its numbers make sense.
    ///
    /// # Errors
    /// One is infinite, no number, or far off the Earth.
    pub fn check(&self) -> Result<(), Unfit> {
        let Self { west, north, width, height, degrees: _ } = *self;
        let numbers = [("western edge", west), ("northern edge", north), ("width", width), ("height", height)];
        numbers
            .into_iter()
            .try_for_each(|(name, number)| EARTH.check(format_args!("the map's {name} on Earth"), number))
    }
}

/// What the command line says of a heightmap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// (columns, rows) of the result; also those of a raw file that has no sidecar.
    pub size: Option<(usize, usize)>,
    /// Side of a cell of the result, in metres.
    pub cell_size: Option<f32>,
    /// Height of the value 0 of an integer format, in metres.
    pub min_m: Option<f32>,
    /// Height of the largest value of an integer format, in metres.
    pub max_m: Option<f32>,
}

/// A terrain's heights, as read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Heightmap {
    /// Heights in metres, all finite; the first row is the northern one.
    pub heights: Grid,
    /// Columns and rows that the file has. A scene file that names it states its numbers for this size.
    pub file_size: (usize, usize),
    /// Side of a cell, in metres.
    pub cell_size: f32,
    /// Where on Earth it lies, if that is known.
    pub geo: Option<Geo>,
    /// As many cells as the heights: 1 where the file has no data and the height is made of those around it, else 0. `None` if all
    /// cells have data.
    pub nodata: Option<Grid>,
    /// What was assumed, filled or converted: a sentence each, with the file's name.
    pub warnings: Vec<String>,
}

impl Options {
    /// Checks cell size and heights, whatever is to be read.
    ///
    /// # Errors
    /// One cannot be carried.
    pub fn check_numbers(&self) -> Result<(), Unfit> {
        let numbers = [
            ("--cell-size", self.cell_size, CELL_SIZE),
            ("--min-height", self.min_m, HEIGHT),
            ("--max-height", self.max_m, HEIGHT),
        ];
        numbers
            .into_iter()
            .try_for_each(|(name, value, bounds)| value.map_or(Ok(()), |value| bounds.check(name, value)))
    }
}

/// Where a session came from: what a command line or a scene file must name to make it again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// Name of a built-in scene, or path of a scene file or heightmap, as given.
    pub input: PathBuf,
    /// How it was read.
    pub options: Options,
    /// Maps that were loaded over it.
    pub maps: Vec<(Layer, PathBuf)>,
    /// Whether layers were changed by hand since.
    pub edited: bool,
    /// How far its seed lies above that of the first of several runs side by side.
    pub seeds_before: u64,
}

/// One of several runs side by side: what sets it apart from the scene's others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tile {
    /// Its name in the picture.
    pub title: String,
    /// Its seed; without one, the scene's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Processes that run in it; without, the scene's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<Vec<String>>,
    /// Its parameters, over the scene's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
}
