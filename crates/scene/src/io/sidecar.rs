//! JSON sidecar of a heightmap with the properties that its format cannot store: size, cell size, height range.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::{Error, embedded, input, output};
use thalweg_sim::core::{
    bounds::{CELL_SIZE, HEIGHT},
    grid::Grid,
};

/// Maximum length of a sidecar, in bytes. Of a longer file of another program, the start is enough to tell.
const LONGEST: u64 = 1 << 20;

/// Content of a sidecar; every field is optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Sidecar {
    pub width: Option<usize>,
    pub height: Option<usize>,
    /// Side of a cell, in metres.
    pub cell_size_m: Option<f32>,
    /// Height for the value 0 of an integer format, in metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_m: Option<f32>,
    /// Height for the maximum value of an integer format, in metres.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_m: Option<f32>,
    /// Unit of `min` and `max`, which replace `min_m` and `max_m` in maps that are not in metres; empty if they have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
    /// Value for 0 in an integer format, in `unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f32>,
    /// Value for the maximum of an integer format, in `unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f32>,
    /// Columns and rows, from the upper left, of the actual map inside a padded one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map_width: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map_height: Option<usize>,
    /// Columns or rows of cells that this tile of a map shares with its neighbours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tile_overlap: Option<usize>,
    /// `true` if the rows of the `.raw` file run from south to north. Other files of the same stem run from north to south.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_bottom_up: Option<bool>,
    /// Hash of the cells, see [`output::hash_of`].
    pub cells_hash: Option<String>,
    /// `true` if it has no field of its own beyond a width and a height, which JSON of other programs has too.
    #[serde(skip)]
    pub is_ambiguous: bool,
    /// Warnings for the user about the sidecar.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

impl Sidecar {
    /// Returns the path of the sidecar of a file: same stem, `.json`.
    pub(super) fn path_for(path: &Path) -> PathBuf {
        path.with_extension("json")
    }

    /// Parses a sidecar. A file without any of its fields belongs to another program and is ignored with a warning, as are unknown fields.
    fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        const FIELDS: &str = "width, height, cell_size_m, min_m, max_m, unit, min, max, map_width, map_height, \
            tile_overlap, raw_bottom_up, cells_hash";
        /// Fields that no other program has.
        const OWN: [&str; 8] =
            ["cell_size_m", "min_m", "max_m", "map_width", "map_height", "tile_overlap", "raw_bottom_up", "cells_hash"];
        let refuse = |wrong: String| {
            Err(Error::input(
                path,
                format!("not a valid heightmap sidecar ({wrong})"),
                format!("a sidecar is JSON with any of {FIELDS}"),
            ))
        };
        let foreign = || Ok(Self { warnings: vec![Self::foreign_warning(path)], ..Self::default() });
        let value: Value = match serde_json::from_str(&without_comments(text.trim_start_matches('\u{feff}'))) {
            Ok(value) => value,
            Err(error) => {
                let mut words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
                return if words.any(|word| OWN.contains(&word)) { refuse(error.to_string()) } else { foreign() };
            }
        };
        let Value::Object(fields) = value else { return foreign() };
        let is_own = fields.keys().any(|name| OWN.contains(&name.as_str()));
        let mut sidecar = Self { is_ambiguous: !is_own && !fields.is_empty(), ..Self::default() };
        let mut unknown = Vec::new();
        for (name, value) in &fields {
            let number = match value {
                Value::Null => None,
                Value::Number(number) => number.as_f64(),
                Value::String(text) if name != "cells_hash" => text.trim().parse().ok(),
                _ => None,
            };
            let count = || match number {
                _ if value.is_null() => Ok(None),
                // A side of 64.0 cells is one of 64.
                Some(number) if number >= 0.0 && number.fract() == 0.0 && number < 1e9 => Ok(Some(number as usize)),
                _ => Err(format!("{name} is {value}, expected a whole number")),
            };
            let length = || match number {
                _ if value.is_null() => Ok(None),
                Some(number) => Ok(Some(number as f32)),
                None => Err(format!("{name} is {value}, expected a number")),
            };
            let set = match name.as_str() {
                "width" => count().map(|value| sidecar.width = value),
                "height" => count().map(|value| sidecar.height = value),
                "map_width" => count().map(|value| sidecar.map_width = value),
                "map_height" => count().map(|value| sidecar.map_height = value),
                "tile_overlap" => count().map(|value| sidecar.tile_overlap = value),
                "raw_bottom_up" => match value.as_bool() {
                    None if !value.is_null() => Err(format!("raw_bottom_up is {value}, expected true or false")),
                    value => {
                        sidecar.raw_bottom_up = value;
                        Ok(())
                    }
                },
                "cell_size_m" => length().map(|value| sidecar.cell_size_m = value),
                "min_m" => length().map(|value| sidecar.min_m = value),
                "max_m" => length().map(|value| sidecar.max_m = value),
                // Common names, which other programs use too.
                "min" if is_own => length().map(|value| sidecar.min = value),
                "max" if is_own => length().map(|value| sidecar.max = value),
                "unit" if is_own => Ok(()),
                "cells_hash" => {
                    sidecar.cells_hash = value.as_str().map(str::to_owned);
                    Ok(())
                }
                _ => {
                    unknown.push(name.as_str());
                    Ok(())
                }
            };
            if let Err(wrong) = set {
                // Other programs have a width and a height too.
                return if is_own { refuse(wrong) } else { foreign() };
            }
        }
        if !fields.is_empty() && unknown.len() == fields.len() {
            return foreign();
        }
        if !unknown.is_empty() {
            let warning = format!(
                "{}: unknown fields {} were ignored; known ones are {FIELDS}",
                path.display(),
                unknown.join(", ")
            );
            sidecar.warnings.push(warning);
        }
        sidecar.min_m = sidecar.min_m.or(sidecar.min.take());
        sidecar.max_m = sidecar.max_m.or(sidecar.max.take());
        Ok(sidecar)
    }

    /// Returns the warning about a file with the name of a sidecar that belongs to another program.
    pub(super) fn foreign_warning(path: &Path) -> String {
        format!("{} is not a sidecar of this program and was ignored", path.display())
    }

    /// Reads the sidecar of a heightmap, or returns an empty one if there is none.
    ///
    /// # Errors
    /// The sidecar is unreadable, has an invalid field, or is not JSON although it has fields.
    pub(super) fn of(heightmap: &Path) -> Result<Self, Error> {
        let path = Self::path_for(heightmap);
        let text = match embedded::find(&path) {
            Some(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            None if path.exists() => Some(decoded(&input::start_of(&path, LONGEST)?)),
            None => None,
        };
        let Some(text) = text else { return Ok(Self::default()) };
        let sidecar = Self::parse(&path, &text)?;
        let numbers = [
            ("min_m", sidecar.min_m, HEIGHT),
            ("max_m", sidecar.max_m, HEIGHT),
            ("cell_size_m", sidecar.cell_size_m, CELL_SIZE),
        ];
        for (name, value, bounds) in numbers {
            value.map_or(Ok(()), |value| bounds.check(name, value)).map_err(|unfit| Error::unfit(&path, unfit))?;
        }
        if let (Some(min), Some(max)) = (sidecar.min_m, sidecar.max_m)
            && min > max
        {
            return Err(Error::input(&path, format!("min_m {min} is above max_m {max}"), "swap them"));
        }
        Ok(sidecar)
    }
}

/// Decodes UTF-16 with a byte order mark, else UTF-8.
fn decoded(bytes: &[u8]) -> String {
    let words = |convert: fn([u8; 2]) -> u16| -> String {
        let (words, _) = bytes.as_chunks::<2>();
        char::decode_utf16(words.iter().map(|word| convert(*word))).map(|letter| letter.unwrap_or('\u{fffd}')).collect()
    };
    match bytes {
        [0xff, 0xfe, ..] => words(u16::from_le_bytes),
        [0xfe, 0xff, ..] => words(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Removes comments of JSON as in JavaScript, outside of texts.
fn without_comments(text: &str) -> String {
    let (mut remaining, mut rest, mut quoted) = (String::new(), text, false);
    while let Some(letter) = rest.chars().next() {
        let skipped = match letter {
            '"' => {
                quoted = !quoted;
                1
            }
            '\\' if quoted => rest.chars().take(2).map(char::len_utf8).sum(),
            _ if !quoted && rest.starts_with("//") => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                continue;
            }
            _ if !quoted && rest.starts_with("/*") => {
                rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
                remaining.push(' ');
                continue;
            }
            letter => letter.len_utf8(),
        };
        remaining.push_str(&rest[..skipped]);
        rest = &rest[skipped..];
    }
    remaining
}

impl Sidecar {
    /// Describes a grid. `map` is the size of the actual map, from the upper left.
    pub(super) fn describing(grid: &Grid, cell_size: f32, map: (usize, usize)) -> Self {
        let (min, max) = grid.min_max();
        let padded = map != (grid.width(), grid.height());
        Self {
            width: Some(grid.width()),
            height: Some(grid.height()),
            cell_size_m: Some(cell_size),
            min_m: Some(min),
            max_m: Some(max),
            map_width: padded.then_some(map.0),
            map_height: padded.then_some(map.1),
            cells_hash: Some(output::hash_of(grid)),
            ..Self::default()
        }
    }

    /// Returns the sidecar with another range, in this unit.
    pub(super) fn with_range(self, (min, max): (f32, f32), unit: &'static str) -> Self {
        let [min, max] = [min, max].map(Some);
        if unit == "m" {
            return Self { min_m: min, max_m: max, ..self };
        }
        Self { unit: Some(unit), min, max, min_m: None, max_m: None, ..self }
    }

    /// Writes the sidecar.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(&self, path: &Path) -> Result<(), Error> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::unwritable(path, &error))?;
        output::write(path, text + "\n")
    }
}

/// Writes the sidecar of a grid. `map` is the size of the actual map, from the upper left.
///
/// # Errors
/// The file cannot be written.
pub fn write_sidecar(path: &Path, grid: &Grid, cell_size: f32, map: (usize, usize)) -> Result<(), Error> {
    Sidecar::describing(grid, cell_size, map).write(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn sidecar_round_trips() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let map = folder.path().join("hills.png");
        assert_eq!(Sidecar::of(&map).expect("it may be missing"), Sidecar::default());
        let heights = Grid::from_cells(3, 2, [-3.25, 0.0, 1076.4, 1.0, 2.0, 3.0]);
        write_sidecar(&Sidecar::path_for(&map), &heights, 0.1, (3, 2)).expect("it is writable");
        let read = Sidecar::of(&map).expect("it was just written");
        assert_eq!((read.width, read.height, read.cell_size_m), (Some(3), Some(2), Some(0.1)));
        assert_eq!((read.min_m, read.max_m), (Some(-3.25), Some(1076.4)));
        let bytes: Vec<u8> = heights.iter().flat_map(|cell| cell.to_le_bytes()).collect();
        assert_eq!(read.cells_hash, Some(format!("{:016x}", xxhash_rust::xxh3::xxh3_64(&bytes))));
    }

    #[test]
    fn invalid_sidecar_is_rejected_but_flat_range_is_valid() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let map = folder.path().join("hills.png");
        let read = |text: &str| {
            fs::write(Sidecar::path_for(&map), text).expect("it is writable");
            Sidecar::of(&map)
        };
        let cases = [
            (r#"{"min_m": 0, "max_m": 9,}"#, "trailing comma"),
            (r#"{cell_size_m: 3}"#, "key must be a string"),
            (r#"{"width": -4, "min_m": 0}"#, "width is -4, expected a whole number"),
            (r#"{"width": 4.5, "min_m": 0}"#, "width is 4.5, expected a whole number"),
            (r#"{"min_m": []}"#, "min_m is [], expected a number"),
            (r#"{"cell_size_m": 0}"#, "cell_size_m is 0;"),
            (r#"{"max_m": 1e39}"#, "max_m is inf; a height must be between"),
            (r#"{"min_m": -3.4e38}"#, "min_m is -3.4e38; a height must be between"),
            (r#"{"cell_size_m": 1e-46}"#, "cell_size_m is 0;"),
            (r#"{"cell_size_m": 1e30}"#, "cell_size_m is 1e30; a cell size must be between"),
            (r#"{"min_m": 5, "max_m": 4}"#, "min_m 5 is above max_m 4;"),
        ];
        for (text, part) in cases {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains("hills.json: ") && error.contains(part), "{text}: {error}");
        }
        for (text, warnings) in [
            ("\u{feff}{\"cell_size_m\": 7.0, /* m */ \"width\": 64.0} // end", 0),
            (r#"{"cell_size_m": 7, "width": "64", "author": "// me", "tool": 3}"#, 1),
        ] {
            let sidecar = read(text).expect(text);
            assert_eq!((sidecar.width, sidecar.cell_size_m, sidecar.warnings.len()), (Some(64), Some(7.0), warnings));
        }
        let lines = "{\"width\": 1}\n{\"width\": 2}";
        for text in ["[1, 2, 3]", r#"{"name": "another program"}"#, r#"{"width": "100px"}"#, "7", "", "heights", lines]
        {
            let sidecar = read(text).expect(text);
            assert!(sidecar.width.is_none() && sidecar.warnings[0].contains("is not a sidecar"), "{text}");
        }
        for order in [u16::to_le_bytes, u16::to_be_bytes] {
            let bytes: Vec<u8> = "\u{feff}{\"cell_size_m\": 7}".encode_utf16().flat_map(order).collect();
            fs::write(Sidecar::path_for(&map), bytes).expect("it is writable");
            assert_eq!(Sidecar::of(&map).expect("it is UTF-16").cell_size_m, Some(7.0));
        }
        fs::write(Sidecar::path_for(&map), b"\xc3(\x00\xff").expect("it is writable");
        assert_eq!(Sidecar::of(&map).expect("it is no text").warnings.len(), 1);
        assert_eq!(read("{}").expect("an empty sidecar"), Sidecar::default());
        assert_eq!(read(r#"{"min_m": 5, "max_m": 5}"#).expect("a flat map is a map").max_m, Some(5.0));
    }
}
