//! Provenance of a simulation: its input, how it was read, and its position among side-by-side simulations.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use thalweg_sim::core::{
    bounds::{CELL_SIZE, EARTH, HEIGHT, InvalidInput},
    grid::Grid,
    terrain::Layer,
};

/// Georeference of a map, in the units of its coordinate system.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Georeference {
    /// Western edge.
    pub west: f64,
    /// Northern edge.
    pub north: f64,
    /// Extent from west to east.
    pub width: f64,
    /// Extent from south to north.
    pub height: f64,
    /// `true` if the units are degrees of longitude and latitude (WGS 84), `false` if metres of a projection.
    pub degrees: bool,
}

impl Georeference {
    /// Checks that all values are plausible.
    ///
    /// # Errors
    /// A value is infinite, NaN or far outside the Earth.
    pub fn check(&self) -> Result<(), InvalidInput> {
        let Self { west, north, width, height, degrees: _ } = *self;
        let numbers = [("western edge", west), ("northern edge", north), ("width", width), ("height", height)];
        numbers
            .into_iter()
            .try_for_each(|(name, number)| EARTH.check(format_args!("the map's {name} on Earth"), number))
    }
}

/// Command-line options that control the reading of a heightmap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Columns and rows of the result, and of a raw file without sidecar.
    pub size: Option<(usize, usize)>,
    /// Side of a cell of the result, in metres.
    pub cell_size: Option<f32>,
    /// Height of the value 0 of an integer format, in metres.
    pub min_m: Option<f32>,
    /// Height of the largest value of an integer format, in metres.
    pub max_m: Option<f32>,
}

/// Heights of a terrain, read from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Heightmap {
    /// Finite heights in metres; the first row is the northern one.
    pub heights: Grid,
    /// Columns and rows of the file. A scene file that refers to it states its cell-dependent parameters for this size.
    pub file_size: (usize, usize),
    /// Side of a cell, in metres.
    pub cell_size: f32,
    /// Georeference, if known.
    pub geo: Option<Georeference>,
    /// Mask of the same size: 1 where the file has no data and the height was filled from surrounding cells, else 0. `None` if all
    /// cells have data.
    pub nodata: Option<Grid>,
    /// Assumptions, fills and conversions during reading: one sentence each, with the file name.
    pub warnings: Vec<String>,
}

impl Options {
    /// Checks cell size and heights, independently of the input.
    ///
    /// # Errors
    /// A value is out of bounds.
    pub fn check_numbers(&self) -> Result<(), InvalidInput> {
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

/// Origin of a session: everything a command line or scene file must name to recreate it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// Name of a built-in scene, or path of a scene file or heightmap, as given.
    pub input: PathBuf,
    /// Reading options.
    pub options: Options,
    /// Imported layer maps.
    pub maps: Vec<(Layer, PathBuf)>,
    /// `true` if layers were edited by hand since.
    pub edited: bool,
    /// Difference of the seed from that of the first side-by-side simulation.
    pub seed_offset: u64,
}

/// Side-by-side simulation: its differences from the scene.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tile {
    /// Name in the view.
    pub title: String,
    /// Seed, if different from the scene.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Enabled processes, if different from the scene.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<Vec<String>>,
    /// Parameters that override those of the scene.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
}
