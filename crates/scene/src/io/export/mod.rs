//! Export: available maps, their formats, and writers.
//!
//! Non-square maps are padded or cropped if the size requires a square. Beyond the map the border heights are extended, which avoids
//! cliffs, and all other values are 0. Sidecars state the extent of the actual map. (Geo)TIFF and ESRI ASCII contain NODATA there, and
//! where the imported heightmap had none; they have sidecars only as tiles.
//!
//! Maps can be divided into tiles. All tiles of a map are quantised with one range, so that shared cells have equal codes.

mod dimensions;
mod glb;
pub mod hillshade;
mod import;
mod lines;
mod mesh;
mod sets;
mod subject;
#[cfg(test)]
mod tests;
mod trees;
mod weights;
mod write;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use self::{dimensions::ExportTile, mesh::MeshGrid, write::MapPixels};
pub use self::{
    dimensions::{Dimensions, ExportWindow, Size, SquareConversion, TileGrid, TileNames, WeightChannels},
    import::ImportNotes,
    mesh::PrintDimensions,
    sets::{ExportSet, SETS},
    subject::ExportSubject,
    weights::WeightMask,
};
use super::{
    Error, JobProgress,
    output::{self, OutputSet},
    png::rgb8_bytes,
};
use crate::{
    io::export::hillshade::{hillshade, occlusion},
    model::{origin::Georeference, session::Session},
};
use thalweg_sim::{
    core::{
        analysis,
        bounds::HEIGHT,
        grid::Grid,
        quantity::Quantity,
        terrain::{Layer, Terrain},
    },
    params::join_with_suggestion,
    simulation::Simulation,
};

/// Content of a map.
#[derive(Clone, Copy)]
enum Content {
    Numbers(fn(&ExportSubject) -> Grid),
    /// Maps that depend on the contributing area: for a cropped window they are computed on the whole terrain.
    Drains(fn(&Terrain) -> Grid),
    /// Maps computed by the processes, beyond the layers.
    ProcessMap(fn(&Simulation) -> Grid),
    Layer(Layer),
    Nodata,
    /// RGB per cell.
    Colors(fn(&ExportSubject, &JobProgress) -> Vec<u8>),
    Normals,
    FlowMap,
    /// Normalised masks in four channels.
    Weights,
    Mesh,
    Rivers,
    /// Scatter points.
    Trees,
}

impl Content {
    /// Returns `true` if the map has one number per cell.
    fn is_numeric(self) -> bool {
        matches!(self, Self::Numbers(_) | Self::Drains(_) | Self::ProcessMap(_) | Self::Layer(_) | Self::Nodata)
    }

    /// Returns `true` if the files of the map are divided into tiles.
    fn is_tiled(self) -> bool {
        !matches!(self, Self::Mesh | Self::Rivers | Self::Trees)
    }
}

/// Maps that can be exported in addition to the layers: name, unit (empty if it has none), description and content.
const DERIVED_MAPS: [(&str, &str, &str, Content); 26] = [
    ("height", "m", "Elevation, in metres.", Content::Numbers(|of| of.terrain.ground())),
    (
        "change",
        "m",
        "Elevation change since the start, in metres.",
        Content::Numbers(|ExportSubject { terrain, .. }| {
            let ground = terrain.ground();
            Grid::from_fn(ground.width(), ground.height(), |x, y| ground.at(x, y) - terrain.start.at(x, y))
        }),
    ),
    (
        "hillshade",
        "",
        "Shaded relief in the colours and lighting of the viewport.",
        Content::Colors(|ExportSubject { terrain, look, .. }, progress| {
            hillshade(&terrain.ground(), &terrain.sand, terrain.cell_size, look, progress)
        }),
    ),
    ("color", "", "Unlit colour of the ground.", Content::Colors(|of, _| of.colors())),
    (
        "normal",
        "",
        "Normal map: red to the right, green to the top of the image, blue out of the surface.",
        Content::Normals,
    ),
    ("slope", "degrees", "Slope angle, in degrees.", Content::Numbers(|of| analysis::slope(&of.terrain))),
    (
        "flow",
        "",
        "Flow accumulation: natural logarithm of the number of contributing cells.",
        Content::Drains(analysis::log_upslope_area),
    ),
    (
        "wear",
        "m",
        "Net erosion since the start, in metres.",
        Content::Numbers(|of| analysis::elevation_change(&of.terrain, false)),
    ),
    (
        "deposits",
        "m",
        "Net deposition since the start, in metres.",
        Content::Numbers(|of| analysis::elevation_change(&of.terrain, true)),
    ),
    (
        "hardness",
        "",
        "Hardness of the bedrock, from 0 (soft) to 1 (hard).",
        Content::Numbers(|ExportSubject { terrain, .. }| {
            Grid::from_fn(terrain.width(), terrain.height(), |x, y| 1.0 - terrain.softness.at(x, y))
        }),
    ),
    (
        "wetness",
        "",
        "Topographic wetness index: natural logarithm of the specific contributing area divided by the slope.",
        Content::Drains(analysis::wetness_index),
    ),
    (
        "occlusion",
        "",
        "Ambient occlusion: visible fraction of the sky.",
        Content::Numbers(|of| occlusion(&of.terrain.ground(), of.look.vertical_exaggeration / of.terrain.cell_size)),
    ),
    (
        "discharge",
        "m²/s",
        "Unit discharge of the water, i.e. per metre of width, in square metres per second.",
        Content::ProcessMap(|run| run.quantity(Quantity::Discharge)),
    ),
    (
        "velocity-x",
        "m/s",
        "Flow velocity towards the right of the image, in metres per second.",
        Content::ProcessMap(|run| part(run, run.velocity(), 0)),
    ),
    (
        "velocity-y",
        "m/s",
        "Flow velocity towards the bottom of the image, in metres per second.",
        Content::ProcessMap(|run| part(run, run.velocity(), 1)),
    ),
    (
        "stream-discharge",
        "m²",
        "Droplet discharge, expressed as a contributing area, in square metres.",
        Content::ProcessMap(|run| run.quantity(Quantity::StreamDischarge)),
    ),
    (
        "drainage-area",
        "m²",
        "Drainage area as computed by Uplift and rivers, in square metres.",
        Content::ProcessMap(|run| run.quantity(Quantity::DrainageArea)),
    ),
    (
        "stream-x",
        "m²",
        "Discharge vector of the droplet streams, component towards the right of the image, in square metres.",
        Content::ProcessMap(|run| part(run, run.momentum(), 0)),
    ),
    (
        "stream-y",
        "m²",
        "Discharge vector of the droplet streams, component towards the bottom of the image, in square metres.",
        Content::ProcessMap(|run| part(run, run.momentum(), 1)),
    ),
    (
        "rivers",
        "",
        "River network as lines from source to mouth, with discharge, width and depth. The parameter \
            rivers.from_cells sets where rivers begin.",
        Content::Rivers,
    ),
    (
        "flow-map",
        "",
        "Flow map for animated water in game engines: red and green are the direction as in a normal map, blue is the strength.",
        Content::FlowMap,
    ),
    (
        "weights",
        "",
        "Weight map: up to four masks in red, green, blue and alpha, which add up to 255; by default rock, soil, sand and snow.",
        Content::Weights,
    ),
    (
        "forest",
        "",
        "Tree cover: expected fraction of the ground under trees. The parameter look.woods sets it.",
        Content::Numbers(weights::tree_cover),
    ),
    ("trees", "", "Scattered trees with position, rotation and size; density follows the tree cover.", Content::Trees),
    ("nodata", "", "NODATA mask: 1 where the heightmap has no data and outside the map, 0 elsewhere.", Content::Nodata),
    ("mesh", "", "Terrain mesh with its colour map; as .stl a watertight solid for 3D printing.", Content::Mesh),
];

/// Returns a component of a vector field; zero if there is none.
fn part(run: &Simulation, moves: Option<[Grid; 2]>, part: usize) -> Grid {
    let nothing = || Grid::filled(run.terrain.width(), run.terrain.height(), 0.0);
    moves.map_or_else(nothing, |parts| parts.into_iter().nth(part).unwrap_or_else(nothing))
}

/// Returns the names of all maps that can be exported.
pub fn maps() -> Vec<&'static str> {
    let layers = Layer::ALL.iter().filter(|layer| layer.row().exported).map(|layer| layer.key());
    DERIVED_MAPS.into_iter().map(|(name, ..)| name).chain(layers).collect()
}

/// Returns the description and the content of a map.
fn find_map(map: &str) -> Option<(&'static str, Content)> {
    let other = DERIVED_MAPS.into_iter().find(|(name, ..)| *name == map);
    let other = other.map(|(_, _, about, content)| (about, content));
    other.or_else(|| Layer::from_key(map).map(|layer| (layer.row().about, Content::Layer(layer))))
}

/// Returns the unit of a map; empty if it has none.
fn unit(map: &str) -> &'static str {
    let other = DERIVED_MAPS.into_iter().find(|(name, ..)| *name == map).map(|(_, unit, ..)| unit);
    other.or_else(|| Layer::from_key(map).map(|layer| layer.row().unit)).unwrap_or_default()
}

/// Returns the one-sentence description of a map.
pub fn about(map: &str) -> &'static str {
    find_map(map).map(|(about, _)| about).unwrap_or_default()
}

/// Returns the formats of a map as file extensions, the default first. `png8` and `png16` are PNGs of 8 and 16 bits; `png` is the usual
/// one of the two.
pub fn formats(map: &str) -> &'static [&'static str] {
    match find_map(map) {
        Some((_, Content::Colors(_) | Content::Weights)) => &["png"],
        Some((_, Content::Normals | Content::FlowMap)) => &["png", "png8", "png16"],
        Some((_, Content::Mesh)) => &["glb", "obj", "stl"],
        Some((_, Content::Rivers)) => &["geojson", "csv"],
        Some((_, Content::Trees)) => &["csv", "glb"],
        _ => &["png", "png8", "png16", "exr", "r16", "r32", "raw", "tif", "asc"],
    }
}

/// Returns the file extensions of a map, with the titles of their formats.
pub fn endings(map: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    formats(map).iter().filter_map(|&format| {
        let title = match format {
            "png" => "PNG",
            "exr" => "OpenEXR (32-bit float)",
            "r16" => "Raw (16-bit)",
            "r32" => "Raw (32-bit float)",
            "raw" => "Raw for Unity (16-bit)",
            "tif" => "GeoTIFF",
            "asc" => "ESRI ASCII grid",
            "glb" => "glTF",
            "obj" => "Wavefront OBJ",
            "stl" => "STL",
            "geojson" => "GeoJSON",
            "csv" => "CSV",
            // Their file extension is .png.
            "png8" | "png16" => return None,
            other => unreachable!("format .{other} has no title"),
        };
        Some((title, format))
    })
}

/// Returns a one-sentence description of a format of a map.
pub fn about_format(map: &str, format: &str) -> &'static str {
    let content = find_map(map).map(|(_, content)| content);
    match (content, format) {
        (Some(Content::Normals | Content::FlowMap), "png16") => "RGB, 16 bits per channel.",
        (Some(Content::Colors(_) | Content::Normals | Content::FlowMap), _) => "RGB, 8 bits per channel.",
        (Some(Content::Weights), _) => "RGBA, 8 bits per channel.",
        (_, "png" | "png16") => "Greyscale, 16 bits, scaled from minimum to maximum; the sidecar stores both values.",
        (_, "png8") => "Greyscale, 8 bits, scaled from minimum to maximum, for masks.",
        (_, "exr") => "OpenEXR, 32-bit floats, unscaled.",
        (_, "r16") => "Raw 16-bit integers, little-endian, scaled from minimum to maximum.",
        (_, "raw") => {
            "Raw 16-bit integers, little-endian, scaled from minimum to maximum; rows from south to north, as Unity reads them."
        }
        (_, "r32") => "Raw 32-bit floats, little-endian, unscaled.",
        (_, "tif") => "GeoTIFF, 32-bit floats, with the cell size; NODATA where there is no data.",
        (_, "asc") => "ESRI ASCII grid; NODATA where there is no data.",
        (Some(Content::Trees), "glb") => "glTF with EXT_mesh_gpu_instancing: one tree and its instances.",
        (Some(Content::Trees), _) => "Table with one row per tree.",
        (_, "glb") => "glTF with normals and the colour map.",
        (_, "obj") => "Wavefront OBJ with its material and the colour map.",
        (_, "stl") => "Watertight mesh, in millimetres.",
        (_, "geojson") => "Lines for GIS, one per reach, with width, depth and discharge.",
        (_, "csv") => "Table with one row per point of each reach.",
        _ => "",
    }
}

/// Map to export and its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Export {
    /// Name, one of [`maps`].
    pub map: &'static str,
    /// Format, one of [`formats`].
    pub format: &'static str,
}

impl Export {
    /// Looks up a map and a format by name.
    ///
    /// # Errors
    /// The map or the format does not exist. The strings are the problem and a remedy.
    pub fn new(map: &str, format: &str) -> Result<Self, (String, String)> {
        let all = maps();
        let Some(&map) = all.iter().find(|known| **known == map) else {
            return Err((
                format!("unknown map \"{map}\""),
                format!("the maps are {}", join_with_suggestion(&all, map)),
            ));
        };
        let formats = formats(map);
        let known = formats.iter().find(|known| known.eq_ignore_ascii_case(format));
        known.map(|&format| Self { map, format }).ok_or_else(|| {
            (format!("{map} cannot be exported as .{format}"), format!("the formats are .{}", formats.join(", .")))
        })
    }

    /// Parses a map with an optional format, e.g. `height.exr`. Without one, the default format of the map is used.
    pub fn parse(text: &str) -> Result<Self, (String, String)> {
        let (map, format) = text.split_once('.').unwrap_or_else(|| (text, formats(text)[0]));
        Self::new(map, format)
    }

    /// Returns the memory needed per cell while writing, in bytes. Measured by `tests/memory.rs`.
    pub fn bytes_per_cell(self) -> usize {
        match self.map {
            "mesh" => 160,
            "rivers" | "flow-map" => 120,
            "weights" | "forest" | "trees" => 80,
            _ => 40,
        }
    }

    /// Returns the file name.
    pub fn file_name(self) -> String {
        match self.format {
            "png8" => format!("{}-8bit.png", self.map),
            "png16" => format!("{}-16bit.png", self.map),
            format => format!("{}.{format}", self.map),
        }
    }

    /// Returns the file name of a tile.
    fn tile_file_name(self, tile: &ExportTile) -> String {
        let name = self.file_name();
        match name.rsplit_once('.') {
            Some((stem, extension)) => format!("{stem}{}.{extension}", tile.suffix),
            None => name,
        }
    }

    /// Writes the map, with a sidecar of the same stem if the format needs one. If the dimensions of the subject divide maps into tiles,
    /// these are written next to `path`, with the suffix of the tile after the stem. Meshes have one node per tile; lines and trees are not
    /// divided.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(self, subject: &ExportSubject, path: &Path, progress: &JobProgress) -> Result<(), Error> {
        let ExportSubject { terrain, dimensions, .. } = subject;
        let size = (terrain.width(), terrain.height());
        let Some((_, content)) = find_map(self.map) else { return Ok(()) };
        let pixels = match (content, self.format) {
            (Content::Colors(draw), _) => MapPixels::Bytes(draw(subject, progress)),
            (Content::Normals, format) => {
                let parts = analysis::normals(terrain).into_iter().flatten().map(|part| 0.5 + 0.5 * part);
                MapPixels::of_parts(parts, format)
            }
            (Content::FlowMap, format) => {
                let none = || Grid::filled(size.0, size.1, 0.0);
                let [right, down, strength] = subject
                    .flow
                    .clone()
                    .unwrap_or_else(|| [none(), none(), none()])
                    .map(|part| subject.clear_padding(part));
                let parts = (0..strength.len())
                    .flat_map(|cell| [0.5 + 0.5 * right[cell], 0.5 - 0.5 * down[cell], strength[cell]]);
                MapPixels::of_parts(parts, format)
            }
            (Content::Weights, _) => MapPixels::Bytes(weights::packed(subject, dimensions.weights)),
            (Content::Mesh, format) => {
                let inside = subject.without_padding();
                let grid = MeshGrid::new(&inside.terrain);
                if format == "stl" {
                    return mesh::write_stl(path, &grid, dimensions.print, progress);
                }
                let (parts, texture) = (grid.parts(subject), rgb8_bytes(path, inside.map, &inside.colors())?);
                drop(inside);
                return match format {
                    "glb" => glb::write_glb(path, &grid, &parts, &texture, progress),
                    "obj" => mesh::write_obj(path, &grid, &parts, &texture, progress),
                    other => unreachable!("format .{other} has no writer"),
                };
            }
            (Content::Rivers, format) => {
                let Some(rivers) = &subject.rivers else {
                    return Err(Error::output(
                        path,
                        "the river network was not computed",
                        "include rivers in the exports",
                    ));
                };
                return match format {
                    "csv" => rivers.write_csv(path, progress),
                    "geojson" => rivers.write_geojson(path, progress),
                    other => unreachable!("format .{other} has no writer"),
                };
            }
            (Content::Trees, format) => return trees::write(path, &subject.without_padding(), format, progress),
            (content, _) => MapPixels::Values {
                grid: self.values(content, subject),
                has_nodata: !matches!(content, Content::Nodata),
            },
        };
        pixels.write(self, subject, path, progress)
    }

    /// Returns the extensions of the files that accompany this one under the same stem: sidecar, material and texture, or projection.
    /// `are_tiles` is `true` if maps are divided.
    fn companions(self, geo: Option<&Georeference>, are_tiles: bool) -> &'static [&'static str] {
        let has_projection = || geo.is_some_and(|geo| geo.crs.prj().is_some());
        match (find_map(self.map).map(|(_, content)| content), self.format) {
            (Some(Content::Mesh), "obj") => &["mtl", "png"],
            (_, "asc") if has_projection() => {
                if are_tiles {
                    &["json", "prj"]
                } else {
                    &["prj"]
                }
            }
            (_, "tif" | "asc") if !are_tiles => &[],
            (Some(content), _) if content.is_numeric() => &["json"],
            _ => &[],
        }
    }

    /// Returns the values of a map of numbers.
    fn values(self, content: Content, subject: &ExportSubject) -> Grid {
        let terrain = &subject.terrain;
        let none = || Grid::filled(terrain.width(), terrain.height(), 0.0);
        let grid = match content {
            Content::Numbers(make) => make(subject),
            Content::Drains(make) => subject.process_maps.get(self.map).cloned().unwrap_or_else(|| make(terrain)),
            Content::ProcessMap(_) => subject.process_maps.get(self.map).cloned().unwrap_or_else(none),
            Content::Layer(layer) => terrain.layer_or_empty(layer),
            Content::Nodata => return subject.nodata.clone().unwrap_or_else(none),
            _ => none(),
        };
        let is_height =
            self.map == "height" || matches!(content, Content::Layer(layer) if layer.row().bounds == HEIGHT);
        if is_height { grid } else { subject.clear_padding(grid) }
    }

    /// Replaces a file and its companions atomically with the map. The file extension selects the format.
    ///
    /// # Errors
    /// The extension is not a format of the map, or a file cannot be written; nothing is replaced then.
    pub fn save(map: &str, subject: &ExportSubject, path: &Path, progress: &JobProgress) -> Result<(), Error> {
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        let export = Self::new(map, &ending).map_err(|(wrong, right)| Error::output(path, wrong, right))?;
        output::replace(path, |file| export.write(subject, file, progress))
    }
}

/// Returns `true` if `import.md` accompanies these exports. Settings are of no use without the heights to which they apply.
fn has_import_notes(exports: &[Export], dimensions: Dimensions) -> bool {
    let guide = dimensions.preset.and_then(ExportSet::from_key).and_then(|set| set.import.as_ref());
    let heights = guide.and_then(|guide| Export::parse(guide.heights).ok());
    heights.is_some_and(|heights| exports.contains(&heights))
}

/// Returns the number of files that [`save_all`] writes.
pub fn count_files(exports: &[Export], session: &Session, dimensions: Dimensions) -> usize {
    let geo = session.heightmap.as_ref().and_then(|map| map.geo.as_ref());
    let (tiles, are_tiles) =
        (dimensions.tiles.map_or(1, |tiles| tiles.count.0 * tiles.count.1), dimensions.tiles.is_some());
    let mut files = BTreeMap::new();
    for export in exports {
        let name = export.file_name();
        let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
        let is_tiled = find_map(export.map).is_some_and(|(_, content)| content.is_tiled());
        for extension in [extension].iter().chain(export.companions(geo, are_tiles)) {
            files.insert(format!("{stem}.{extension}"), if is_tiled { tiles } else { 1 });
        }
    }
    // The index, too.
    files.values().sum::<usize>() + usize::from(has_import_notes(exports, dimensions)) + 1
}

/// Exports several maps atomically to a folder, with a file name prefix, and returns the files. The last one is `files.json`, an index of
/// the others with sizes and hashes: if it exists, they are complete.
///
/// # Errors
/// A file cannot be written, or the export was cancelled; nothing is replaced then.
pub fn save_all(
    exports: &[Export],
    subject: &ExportSubject,
    folder: &Path,
    before: &str,
    progress: &JobProgress,
) -> Result<Vec<PathBuf>, Error> {
    let output = OutputSet::new(folder)?;
    let import = write_files(exports, subject, &output, before, progress)?;
    let mut files = json!({"files": output.contents()?});
    import.into_iter().for_each(|import| files["import"] = import);
    let index = format!("{before}files.json");
    output.write(&index, |file| output::write(file, format!("{files:#}\n")))?;
    output.publish(Some(index.as_ref()))
}

/// Writes several maps, with a file name prefix, and `import.md` if the dimensions of the subject name a preset for a program. Returns the
/// import settings for a report, see [`ImportNotes`].
///
/// # Errors
/// A file cannot be written, or the export was cancelled.
pub fn write_files(
    exports: &[Export],
    subject: &ExportSubject,
    output: &OutputSet,
    before: &str,
    progress: &JobProgress,
) -> Result<Option<Value>, Error> {
    for (index, export) in exports.iter().enumerate() {
        if progress.is_cancelled() {
            let right = "start the export again";
            return Err(Error::output(output.folder(), "export cancelled; nothing was written", right));
        }
        let name = format!("{before}{}", export.file_name());
        output.write(name, |file| export.write(subject, file, &JobProgress::default()))?;
        progress.done(index + 1, exports.len());
    }
    if !has_import_notes(exports, subject.dimensions) {
        return Ok(None);
    }
    let Some(ImportNotes { report, markdown }) = subject.import_notes(before) else { return Ok(None) };
    output.write(format!("{before}import.md"), |file| output::write(file, markdown))?;
    Ok(Some(report))
}
