//! Results: what there is to save of a terrain, in which formats, and how it is written.
//!
//! A map that is no square is written as one where the size asks for that. Beyond the map the ground goes on as at its border, so
//! that there is no cliff, and all other numbers are 0. Sidecars say which part is the map. (Geo)TIFF and ESRI ASCII hold NODATA
//! there, and wherever the imported heightmap had no data.

mod glb;
pub mod hillshade;
mod lines;
mod mesh;
mod sets;
mod subject;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde_json::json;

pub use self::{
    mesh::Print,
    sets::{Dimensions, ExportSet, SETS, Size, Square, Window},
    subject::Subject,
};
use super::{
    Error, JobProgress, Place,
    output::{self, Output},
    png::{rgb8_bytes, write_rgb16},
    write_asc, write_exr, write_picture, write_png8, write_png16, write_r16, write_r32, write_sidecar, write_tiff,
};
use crate::io::export::hillshade::{hillshade, occlusion};
use thalweg_sim::{
    core::{
        analysis,
        bounds::HEIGHT,
        grid::Grid,
        quantity::Quantity,
        terrain::{Layer, Terrain},
    },
    params::listed,
    simulation::Simulation,
};

#[derive(Clone, Copy)]
enum Content {
    Numbers(fn(&Subject) -> Grid),
    /// What depends on the land around too: where only a part is shown, it is found on the whole.
    Drains(fn(&Terrain) -> Grid),
    /// What the run knows besides its layers.
    Moves(fn(&Simulation) -> Grid),
    Layer(Layer),
    Nodata,
    /// Red, green and blue for each cell.
    Colors(fn(&Subject, &JobProgress) -> Vec<u8>),
    Normals,
    FlowMap,
    Mesh,
    Rivers,
}

/// What can be saved besides the layers: name, what it is, and how it is made.
const OTHERS: [(&str, &str, Content); 23] = [
    ("height", "Height of the ground, in metres.", Content::Numbers(|of| of.terrain.ground())),
    (
        "change",
        "How much higher the ground lies than at the start, in metres.",
        Content::Numbers(|Subject { terrain, .. }| {
            let ground = terrain.ground();
            Grid::from_fn(ground.width(), ground.height(), |x, y| ground.at(x, y) - terrain.start.at(x, y))
        }),
    ),
    (
        "hillshade",
        "The ground seen from above, lit and coloured as in the window.",
        Content::Colors(|Subject { terrain, look, .. }, progress| {
            hillshade(&terrain.ground(), &terrain.sand, terrain.cell_size, look, progress)
        }),
    ),
    ("color", "Colour of the ground without light.", Content::Colors(|of, _| of.colors())),
    (
        "normal",
        "Normals of the ground: red to the right, green up in the picture, blue out of the ground.",
        Content::Normals,
    ),
    ("slope", "Angle of the ground, in degrees.", Content::Numbers(|of| analysis::slope(&of.terrain))),
    (
        "flow",
        "Where water would run: natural logarithm of the number of cells whose water passes.",
        Content::Drains(analysis::flow),
    ),
    (
        "wear",
        "Ground that was taken off since the start, in metres.",
        Content::Numbers(|of| analysis::changed(&of.terrain, false)),
    ),
    (
        "deposits",
        "Ground that was laid down since the start, in metres.",
        Content::Numbers(|of| analysis::changed(&of.terrain, true)),
    ),
    (
        "hardness",
        "Hardness of the bedrock: 0 is soft, 1 is hard.",
        Content::Numbers(|Subject { terrain, .. }| {
            Grid::from_fn(terrain.width(), terrain.height(), |x, y| 1.0 - terrain.softness.at(x, y))
        }),
    ),
    (
        "wetness",
        "How wet the ground is by its shape: logarithm of the area above, over the slope.",
        Content::Drains(analysis::wetness),
    ),
    (
        "occlusion",
        "Share of the sky that the ground sees.",
        Content::Numbers(|of| occlusion(&of.terrain.ground(), of.look.vertical_exaggeration / of.terrain.cell_size)),
    ),
    (
        "discharge",
        "Water that passes a metre of width, in square metres per second.",
        Content::Moves(|run| run.quantity(Quantity::Discharge)),
    ),
    (
        "velocity-x",
        "Speed of the water to the right, in metres per second.",
        Content::Moves(|run| part(run, run.velocity(), 0)),
    ),
    (
        "velocity-y",
        "Speed of the water down the picture, in metres per second.",
        Content::Moves(|run| part(run, run.velocity(), 1)),
    ),
    (
        "stream-discharge",
        "Land whose rain the droplets bring past a cell, in square metres.",
        Content::Moves(|run| run.quantity(Quantity::StreamDischarge)),
    ),
    (
        "drainage-area",
        "Land whose rain runs past a cell, as uplift and rivers found it, in square metres.",
        Content::Moves(|run| run.quantity(Quantity::DrainageArea)),
    ),
    (
        "stream-x",
        "Discharge of the droplets times its direction to the right, in square metres.",
        Content::Moves(|run| part(run, run.momentum(), 0)),
    ),
    (
        "stream-y",
        "Discharge of the droplets times its direction down the picture, in square metres.",
        Content::Moves(|run| part(run, run.momentum(), 1)),
    ),
    (
        "rivers",
        "The rivers as lines from source to mouth, with discharge, width and depth; where they begin is a parameter.",
        Content::Rivers,
    ),
    (
        "flow-map",
        "Where water runs, to move it in an engine: red to the right and green up in the picture as in normals, blue how much.",
        Content::FlowMap,
    ),
    ("nodata", "1 where the heightmap had no data and beyond the map's border, 0 elsewhere.", Content::Nodata),
    ("mesh", "The ground as a mesh, with its colour map; as .stl closed all round, to print.", Content::Mesh),
];

/// A part of what moves, or nothing where nothing does.
fn part(run: &Simulation, moves: Option<[Grid; 2]>, part: usize) -> Grid {
    let nothing = || Grid::filled(run.terrain.width(), run.terrain.height(), 0.0);
    moves.map_or_else(nothing, |parts| parts.into_iter().nth(part).unwrap_or_else(nothing))
}

/// The names of all that can be saved.
pub fn maps() -> Vec<&'static str> {
    let layers = Layer::ALL.iter().filter(|layer| layer.row().exported).map(|layer| layer.key());
    OTHERS.into_iter().map(|(name, ..)| name).chain(layers).collect()
}

/// What the map of this name is, in a sentence, and how it is made.
fn found(map: &str) -> Option<(&'static str, Content)> {
    let other = OTHERS.into_iter().find(|(name, ..)| *name == map).map(|(_, about, content)| (about, content));
    other.or_else(|| Layer::of_key(map).map(|layer| (layer.row().about, Content::Layer(layer))))
}

/// What the map of this name is, in a sentence.
pub fn about(map: &str) -> &'static str {
    found(map).map(|(about, _)| about).unwrap_or_default()
}

/// The formats of a map, as endings of names. The first is the usual one. `png8` and `png16` are PNGs of 8 and 16 bits, and `png` is
/// the usual one of the two.
pub fn formats(map: &str) -> &'static [&'static str] {
    match found(map) {
        Some((_, Content::Colors(_))) => &["png"],
        Some((_, Content::Normals | Content::FlowMap)) => &["png", "png8", "png16"],
        Some((_, Content::Mesh)) => &["glb", "obj", "stl"],
        Some((_, Content::Rivers)) => &["geojson", "csv"],
        _ => &["png", "png8", "png16", "exr", "r16", "r32", "tif", "asc"],
    }
}

/// Endings of the files that hold the map, each with the name of its format.
pub fn endings(map: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    formats(map).iter().filter_map(|&format| {
        let title = match format {
            "png" => "PNG",
            "exr" => "OpenEXR (32-bit float)",
            "r16" => "Raw (16-bit)",
            "r32" => "Raw (32-bit float)",
            "tif" => "GeoTIFF",
            "asc" => "ESRI ASCII grid",
            "glb" => "glTF",
            "obj" => "Wavefront OBJ",
            "stl" => "STL",
            "geojson" => "GeoJSON",
            "csv" => "CSV",
            // They are files that end in .png.
            "png8" | "png16" => return None,
            other => unreachable!("`formats` names .{other}, which has no name"),
        };
        Some((title, format))
    })
}

/// What a map is in this format, in a sentence.
pub fn about_format(map: &str, format: &str) -> &'static str {
    let content = found(map).map(|(_, content)| content);
    match (content, format) {
        (Some(Content::Normals | Content::FlowMap), "png16") => "RGB, 16 bits per channel.",
        (Some(Content::Colors(_) | Content::Normals | Content::FlowMap), _) => "RGB, 8 bits per channel.",
        (_, "png" | "png16") => "Greyscale, 16 bits, scaled from minimum to maximum; the sidecar holds both values.",
        (_, "png8") => "Greyscale, 8 bits, scaled from minimum to maximum, for masks.",
        (_, "exr") => "OpenEXR, 32-bit floats, unscaled.",
        (_, "r16") => "Raw 16-bit integers, little-endian, scaled from minimum to maximum.",
        (_, "r32") => "Raw 32-bit floats, little-endian, unscaled.",
        (_, "tif") => "GeoTIFF, 32-bit floats, with the cell size; NODATA where there are no data.",
        (_, "asc") => "ESRI ASCII grid; NODATA where there are no data.",
        (_, "glb") => "glTF with normals and the colour map.",
        (_, "obj") => "Wavefront OBJ with its material and the colour map.",
        (_, "stl") => "Watertight mesh, in millimetres.",
        (_, "geojson") => "Lines for GIS, one per reach, with width, depth and discharge.",
        (_, "csv") => "Table with one row per point of each reach.",
        _ => "",
    }
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
    /// A map and a format by name; else what is wrong and what would be right, as two parts of a sentence.
    ///
    /// # Errors
    /// What is wrong and what would be right, as two parts of a sentence.
    pub fn new(map: &str, format: &str) -> Result<Self, (String, String)> {
        let all = maps();
        let Some(&map) = all.iter().find(|known| **known == map) else {
            return Err((format!("there is no map \"{map}\""), format!("there are {}", listed(&all, map))));
        };
        let formats = formats(map);
        let known = formats.iter().find(|known| known.eq_ignore_ascii_case(format));
        known.map(|&format| Self { map, format }).ok_or_else(|| {
            (format!("{map} cannot be written as .{format}"), format!("there are .{}", formats.join(", .")))
        })
    }

    /// A map with or without the ending of a format, as `height.exr`. Without one, it is the map's usual format.
    pub fn parse(text: &str) -> Result<Self, (String, String)> {
        let (map, format) = text.split_once('.').unwrap_or_else(|| (text, formats(text)[0]));
        Self::new(map, format)
    }

    /// Memory that it takes for each cell while it is written, in bytes. Measured by `tests/memory.rs`.
    pub fn bytes_per_cell(self) -> usize {
        match self.map {
            "mesh" => 160,
            "rivers" | "flow-map" => 120,
            _ => 40,
        }
    }

    /// Name of its file.
    pub fn file_name(self) -> String {
        match self.format {
            "png8" => format!("{}-8bit.png", self.map),
            "png16" => format!("{}-16bit.png", self.map),
            format => format!("{}.{format}", self.map),
        }
    }

    /// Writes the map, and beside it under the same stem its sidecar where the format needs one.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(self, subject: &Subject, path: &Path, progress: &JobProgress) -> Result<(), Error> {
        let Subject { terrain, geo, print, .. } = subject;
        let size = (terrain.width(), terrain.height());
        let Some((_, content)) = found(self.map) else { return Ok(()) };
        let grid = match (content, self.format) {
            (Content::Colors(draw), _) => return write_picture(path, size, &draw(subject, progress), progress),
            (Content::Normals, format) => {
                let parts = analysis::normals(terrain).into_iter().flatten().map(|part| 0.5 + 0.5 * part);
                return write_parts(path, size, parts, format, progress);
            }
            (Content::FlowMap, format) => {
                let none = || Grid::filled(size.0, size.1, 0.0);
                let [right, down, strength] =
                    subject.flow.clone().unwrap_or_else(|| [none(), none(), none()]).map(|part| subject.ended(part));
                let parts = (0..strength.len())
                    .flat_map(|cell| [0.5 + 0.5 * right[cell], 0.5 - 0.5 * down[cell], strength[cell]]);
                return write_parts(path, size, parts, format, progress);
            }
            (Content::Mesh, "stl") => return mesh::write_stl(path, terrain, *print, progress),
            (Content::Mesh, format) => {
                let picture = rgb8_bytes(path, size, &subject.colors())?;
                return match format {
                    "glb" => glb::write_glb(path, terrain, &picture, progress),
                    "obj" => mesh::write_obj(path, terrain, &picture, progress),
                    other => unreachable!("`formats` names .{other}, which nothing writes"),
                };
            }
            (Content::Rivers, format) => {
                let Some(rivers) = &subject.rivers else {
                    return Err(Error::output(path, "its rivers were not looked for", "name them among the results"));
                };
                return match format {
                    "csv" => rivers.write_csv(path, progress),
                    "geojson" => rivers.write_geojson(path, progress),
                    other => unreachable!("`formats` names .{other}, which nothing writes"),
                };
            }
            (Content::Numbers(make), _) => make(subject),
            (Content::Drains(make), _) => subject.moves.get(self.map).cloned().unwrap_or_else(|| make(terrain)),
            (Content::Moves(_), _) => {
                let kept = subject.moves.get(self.map);
                kept.map_or_else(|| Grid::filled(size.0, size.1, 0.0), Grid::clone)
            }
            (Content::Layer(layer), _) => terrain.layer_or_empty(layer),
            (Content::Nodata, _) => subject.nodata.clone().unwrap_or_else(|| Grid::filled(size.0, size.1, 0.0)),
        };
        let is_height =
            self.map == "height" || matches!(content, Content::Layer(layer) if layer.row().bounds == HEIGHT);
        let is_nodata = matches!(content, Content::Nodata);
        let grid = if is_height || is_nodata { grid } else { subject.ended(grid) };
        let nodata = subject.nodata.as_ref().filter(|_| !is_nodata);
        let place = Place { cell_size: terrain.cell_size, geo: *geo, nodata };
        let range = grid.min_max();
        match self.format {
            "png" | "png16" => write_png16(path, &grid, range, progress)?,
            "png8" => write_png8(path, &grid, range, progress)?,
            "exr" => write_exr(path, &grid, progress)?,
            "r16" => write_r16(path, &grid, range, progress)?,
            "tif" => return write_tiff(path, &grid, place),
            "asc" => return write_asc(path, &grid, place, progress),
            "r32" => write_r32(path, &grid, progress)?,
            other => unreachable!("`formats` names .{other}, which nothing writes"),
        }
        write_sidecar(&path.with_extension("json"), &grid, terrain.cell_size, subject.map)
    }

    /// Replaces a file, and what belongs to it, by the map: all or none. The ending of its name must be a format of the map.
    ///
    /// # Errors
    /// The name has another ending than a format of the map, or a file cannot be written; nothing is replaced then.
    pub fn save(map: &str, subject: &Subject, path: &Path, progress: &JobProgress) -> Result<(), Error> {
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let export = Self::new(map, &ending).map_err(|(wrong, right)| Error::output(path, wrong, right))?;
        output::replace(path, |file| export.write(subject, file, progress))
    }
}

/// Writes red, green and blue of each cell, from 0 to 1, with 8 or 16 bits.
fn write_parts(
    path: &Path,
    size: (usize, usize),
    parts: impl Iterator<Item = f32>,
    format: &str,
    progress: &JobProgress,
) -> Result<(), Error> {
    if format == "png16" {
        let pixels: Vec<u16> = parts.map(|part| (part * 65535.0).round() as u16).collect();
        return write_rgb16(path, size, &pixels, progress);
    }
    let pixels: Vec<u8> = parts.map(|part| (part * 255.0).round() as u8).collect();
    write_picture(path, size, &pixels, progress)
}

/// Writes several maps into a folder, with a word before each name. The last is `files.json`, which names the others with their
/// sizes and hashes: where it is, they are whole. Returns the files. If one cannot be written, or the work is cancelled, none is.
///
/// # Errors
/// A file cannot be written, or the work was cancelled; nothing is replaced then.
pub fn save_all(
    exports: &[Export],
    subject: &Subject,
    folder: &Path,
    before: &str,
    progress: &JobProgress,
) -> Result<Vec<PathBuf>, Error> {
    let output = Output::new(folder)?;
    for (index, export) in exports.iter().enumerate() {
        if progress.is_cancelled() {
            return Err(Error::output(folder, "the export was cancelled and nothing was written", "start it again"));
        }
        let name = format!("{before}{}", export.file_name());
        output.write(name, |file| export.write(subject, file, &JobProgress::default()))?;
        progress.done(index + 1, exports.len());
    }
    let (index, files) = (format!("{before}files.json"), json!({"files": output.contents()?}));
    output.write(&index, |file| output::write(file, format!("{files:#}\n")))?;
    output.publish(Some(index.as_ref()))
}
