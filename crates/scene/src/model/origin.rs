//! Provenance of a simulation: its input, how it was read, and its position among side-by-side simulations.

use std::{collections::BTreeMap, fmt, path::PathBuf, str::FromStr};

use half::f16;
use serde::{Deserialize, Serialize};

use thalweg_sim::core::{
    bounds::{CELL_SIZE, EARTH, HEIGHT, InvalidInput},
    grid::Grid,
    terrain::Layer,
};

/// Georeference of a map, in the units of its coordinate reference system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Georeference {
    /// Western edge.
    pub west: f64,
    /// Northern edge.
    pub north: f64,
    /// Extent from west to east.
    pub width: f64,
    /// Extent from south to north.
    pub height: f64,
    /// Coordinate reference system.
    pub crs: Crs,
}

/// Coordinate reference system of a map, as its file states it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Crs {
    /// Not stated: metres of an unknown projection, or local coordinates.
    #[default]
    Unknown,
    /// EPSG code.
    Epsg(u32),
    /// Well-known text.
    Wkt(String),
    /// Keys of a GeoTIFF with their values, except those that describe raster and heights.
    GeoKeys(Vec<(u16, GeoKey)>),
}

/// Value of a key of a GeoTIFF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum GeoKey {
    /// Code, mostly of the EPSG.
    Code(u16),
    /// Numbers.
    Numbers(Vec<f64>),
    /// Text.
    Text(String),
}

impl Georeference {
    /// Checks that all values are plausible.
    ///
    /// # Errors
    /// A value is infinite, NaN or far outside the Earth.
    pub fn check(&self) -> Result<(), InvalidInput> {
        let Self { west, north, width, height, crs: _ } = *self;
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
    /// Height of the smallest value of an integer format, or of the value 0 of floats from 0 to 1, in metres.
    pub min_m: Option<f32>,
    /// Height of the largest value of an integer format, or of the value 1 of floats from 0 to 1, in metres.
    pub max_m: Option<f32>,
    /// Band of a TIFF or raw file (counted from 1) or name of a channel of an EXR; by default the one that holds heights.
    pub channel: Option<String>,
    /// Type of the cells of a raw file; by default recognised from the extension and the values.
    pub raw: Option<RawCells>,
    /// Encoding of heights in colours; by default recognised from the values.
    pub encoding: Option<Encoding>,
    /// `true` to remove the terraces of quantised heights, within half a step.
    pub smooth_steps: bool,
}

/// Type of the cells of a raw file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawCells {
    /// Kind and size.
    pub kind: RawKind,
    /// `true` if the most significant byte is the first.
    pub big_endian: bool,
}

/// Kind of a number, with its size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub enum RawKind {
    Unsigned(u8),
    Signed(u8),
    Float(u8),
}

impl RawKind {
    /// Returns the size in bytes.
    pub fn size(self) -> u8 {
        let (Self::Unsigned(size) | Self::Signed(size) | Self::Float(size)) = self;
        size
    }
}

impl RawCells {
    /// Checks that there are numbers of this kind and size.
    ///
    /// # Errors
    /// There are none.
    pub fn check(self) -> Result<(), String> {
        match self.kind {
            RawKind::Unsigned(1 | 2 | 4 | 8) | RawKind::Signed(1 | 2 | 4 | 8) | RawKind::Float(2 | 4 | 8) => Ok(()),
            kind => Err(format!("raw cells of {} bytes are not supported", kind.size())),
        }
    }

    /// Little-endian cells.
    pub(crate) const fn little(kind: RawKind) -> Self {
        Self { kind, big_endian: false }
    }

    /// Converts the bytes of a cell.
    pub(crate) fn value(self, bytes: &[u8]) -> f64 {
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        let raw = if self.big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) };
        match self.kind {
            RawKind::Unsigned(_) => raw as f64,
            RawKind::Signed(size) => {
                let unused = 64 - 8 * u32::from(size);
                ((raw << unused) as i64 >> unused) as f64
            }
            RawKind::Float(2) => f16::from_bits(raw as u16).to_f64(),
            RawKind::Float(4) => f32::from_bits(raw as u32).into(),
            RawKind::Float(_) => f64::from_bits(raw),
        }
    }

    /// Returns the smallest and largest integer, or `None` for floats.
    pub(crate) fn limits(self) -> Option<[f64; 2]> {
        match self.kind {
            RawKind::Unsigned(size) => Some([0.0, (8.0 * f64::from(size)).exp2() - 1.0]),
            RawKind::Signed(size) => {
                let half = (8.0 * f64::from(size) - 1.0).exp2();
                Some([-half, half - 1.0])
            }
            RawKind::Float(_) => None,
        }
    }
}

impl fmt::Display for RawCells {
    /// Writes the name that [`FromStr`] parses: `u16le`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.kind {
            RawKind::Unsigned(_) => 'u',
            RawKind::Signed(_) => 'i',
            RawKind::Float(_) => 'f',
        };
        let order = match (self.kind.size(), self.big_endian) {
            (1, _) => "",
            (_, true) => "be",
            (_, false) => "le",
        };
        write!(f, "{letter}{}{order}", 8 * u32::from(self.kind.size()))
    }
}

impl FromStr for RawCells {
    type Err = &'static str;

    /// Parses a name like `u16le`, `i16be` or `f32`; without a byte order, the least significant byte is the first.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const RIGHT: &str = "use u8, i8, u16, i16, u32, i32, f32 or f64, followed by le or be for the byte order";
        let name = text.trim().to_ascii_lowercase();
        let big_endian = name.ends_with("be");
        let name = name.trim_end_matches("be").trim_end_matches("le");
        let kind = match name {
            "u8" => RawKind::Unsigned(1),
            "i8" => RawKind::Signed(1),
            "u16" => RawKind::Unsigned(2),
            "i16" => RawKind::Signed(2),
            "u32" => RawKind::Unsigned(4),
            "i32" => RawKind::Signed(4),
            "f32" => RawKind::Float(4),
            "f64" => RawKind::Float(8),
            _ => return Err(RIGHT),
        };
        Ok(Self { kind, big_endian })
    }
}

/// Encoding of heights in the red, green and blue of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// Luminance.
    Grey,
    /// Terrarium: `256 R + G + B / 256 - 32768` metres.
    Terrarium,
    /// Mapbox Terrain-RGB: `-10000 + (65536 R + 256 G + B) / 10` metres.
    Mapbox,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_cell_types_parse_and_format() {
        for name in ["u8", "i8", "u16le", "i16be", "u32be", "i32le", "f32be", "f64le"] {
            assert_eq!(name.parse::<RawCells>().map(|kind| kind.to_string()).as_deref(), Ok(name));
        }
        assert_eq!("I16".parse::<RawCells>().map(|kind| kind.to_string()).as_deref(), Ok("i16le"));
        let size = |size| RawCells { kind: RawKind::Signed(size), big_endian: false }.check().is_ok();
        assert_eq!([0, 1, 2, 3, 4, 8, 9].map(size), [false, true, true, false, true, true, false]);
        assert!("u24".parse::<RawCells>().is_err() && "".parse::<RawCells>().is_err());
    }
}
