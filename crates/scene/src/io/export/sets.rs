//! Sizes of exports, and export presets for other programs.

use super::{Export, Print};
use thalweg_sim::core::terrain::Terrain;

/// Number of cells of the exports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Size {
    /// Size of the terrain.
    #[default]
    Working,
    /// Multiple of the size of the terrain along each side.
    Times(u32),
    /// Square of side 2ⁿ + 1, rounded up, as required by Unity.
    PowerOfTwoPlusOne,
    /// Square of a side recommended for Unreal, rounded up; at most the largest of them.
    Unreal,
}

/// Landscape sizes recommended for Unreal.
const UNREAL: [usize; 7] = [127, 253, 505, 1009, 2017, 4033, 8129];
/// Maximum side of an export, in cells.
const MAX_EXPORT_SIDE: usize = 8192;

/// Conversion of a non-square map to a square.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Square {
    /// Keep the map in the upper left and pad to the right and below.
    #[default]
    Pad,
    /// Crop to the centre.
    Crop,
}

/// Exported window of a map. It may extend beyond the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportWindow {
    /// First column and row.
    pub first: (usize, usize),
    /// Columns and rows.
    pub size: (usize, usize),
}

/// Dimensions of all exports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dimensions {
    /// Number of cells.
    pub size: Size,
    /// Conversion to a square, if the size requires one.
    pub square: Square,
    /// Dimensions of a mesh for 3D printing.
    pub print: Print,
}

impl Dimensions {
    /// Returns the columns and rows of the exports.
    pub fn of(self, terrain: &Terrain) -> (usize, usize) {
        let (width, height) = self.window(terrain).size;
        let longer = width.max(height);
        match self.size {
            Size::Working => (width, height),
            Size::Times(factor) => {
                let factor = (factor as usize).min(MAX_EXPORT_SIDE / longer).max(1);
                (width * factor, height * factor)
            }
            Size::PowerOfTwoPlusOne => [(longer.max(2) - 1).next_power_of_two() + 1; 2].into(),
            Size::Unreal => [UNREAL.into_iter().find(|side| *side >= longer).unwrap_or(UNREAL[6]); 2].into(),
        }
    }

    /// Returns the exported window, in cells of the terrain.
    pub fn window(self, terrain: &Terrain) -> ExportWindow {
        let (width, height) = (terrain.width(), terrain.height());
        match (self.size, self.square) {
            (Size::Working | Size::Times(_), _) => ExportWindow { first: (0, 0), size: (width, height) },
            (_, Square::Pad) => ExportWindow { first: (0, 0), size: [width.max(height); 2].into() },
            (_, Square::Crop) => {
                let side = width.min(height);
                ExportWindow { first: ((width - side) / 2, (height - side) / 2), size: (side, side) }
            }
        }
    }
}

/// Export preset for a purpose.
pub struct ExportSet {
    /// Display name.
    pub title: &'static str,
    /// Exports as parsed by [`Export::parse`].
    pub(super) files: &'static str,
    /// Number of cells.
    pub size: Size,
}

impl ExportSet {
    const fn new(title: &'static str, files: &'static str, size: Size) -> Self {
        Self { title, files, size }
    }

    /// Returns the exports.
    pub fn exports(&self) -> Vec<Export> {
        self.files.split_whitespace().filter_map(|file| Export::parse(file).ok()).collect()
    }
}

/// Available export presets.
pub const SETS: [ExportSet; 6] = [
    ExportSet::new("Unreal", "height.png flow.png8 wear.png8 deposits.png8 slope.png8", Size::Unreal),
    ExportSet::new("Unity", "height.r16 flow.png8 deposits.png8 normal.png", Size::PowerOfTwoPlusOne),
    ExportSet::new("Blender", "mesh.glb height.exr color.png", Size::Working),
    ExportSet::new("GIS", "height.tif height.asc change.tif water.tif", Size::Working),
    ExportSet::new("3D print", "mesh.stl", Size::Working),
    ExportSet::new(
        "Everything",
        "height.png height.exr height.r16 height.r32 height.tif height.asc hillshade.png color.png normal.png slope.png flow.png \
         wear.png deposits.png water.png sand.png hardness.png wetness.png occlusion.png mesh.glb mesh.obj mesh.stl",
        Size::Working,
    ),
];
