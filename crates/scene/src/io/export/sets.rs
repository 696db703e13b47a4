//! How large results are, and which serve a purpose together.

use super::{Export, Print};
use thalweg_sim::core::terrain::Terrain;

/// How many cells the results have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Size {
    /// As many as the terrain.
    #[default]
    Working,
    /// So many times as many along each side.
    Times(u32),
    /// 2ⁿ + 1 along both sides, the next that is not smaller: what Unity takes.
    PowerOfTwoPlusOne,
    /// A side that Unreal recommends, the next that is not smaller.
    Unreal,
}

/// Sides of landscapes that Unreal recommends.
const UNREAL: [usize; 7] = [127, 253, 505, 1009, 2017, 4033, 8129];
/// Longest side of a result, in cells.
const LONGEST_SIDE: usize = 8192;

/// How a map that is no square becomes one where the results must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Square {
    /// The map lies in the upper left, and beyond it its border goes on.
    #[default]
    Pad,
    /// The middle of the map alone.
    Crop,
}

/// What of a map the results show: from a column and a row on, so many columns and rows. It may reach beyond the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first column and row.
    pub first: (usize, usize),
    /// Columns and rows.
    pub size: (usize, usize),
}

/// How large everything becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dimensions {
    /// How many cells the results have.
    pub size: Size,
    /// How they become a square, if they must be one.
    pub square: Square,
    /// How a mesh is made that is printed.
    pub print: Print,
}

impl Dimensions {
    /// Columns and rows of the results.
    pub fn of(self, terrain: &Terrain) -> (usize, usize) {
        let (width, height) = self.window(terrain).size;
        let longer = width.max(height);
        match self.size {
            Size::Working => (width, height),
            Size::Times(factor) => {
                let factor = (factor as usize).min(LONGEST_SIDE / longer).max(1);
                (width * factor, height * factor)
            }
            Size::PowerOfTwoPlusOne => [(longer.max(2) - 1).next_power_of_two() + 1; 2].into(),
            Size::Unreal => [UNREAL.into_iter().find(|side| *side >= longer).unwrap_or(UNREAL[6]); 2].into(),
        }
    }

    /// What of the terrain the results show, in its own cells.
    pub fn window(self, terrain: &Terrain) -> Window {
        let (width, height) = (terrain.width(), terrain.height());
        match (self.size, self.square) {
            (Size::Working | Size::Times(_), _) => Window { first: (0, 0), size: (width, height) },
            (_, Square::Pad) => Window { first: (0, 0), size: [width.max(height); 2].into() },
            (_, Square::Crop) => {
                let side = width.min(height);
                Window { first: ((width - side) / 2, (height - side) / 2), size: (side, side) }
            }
        }
    }
}

/// Results that serve a purpose together.
pub struct ExportSet {
    /// Its name.
    pub title: &'static str,
    /// What is written, as [`Export::parse`] reads it.
    pub(super) files: &'static str,
    /// With how many cells.
    pub size: Size,
}

impl ExportSet {
    const fn new(title: &'static str, files: &'static str, size: Size) -> Self {
        Self { title, files, size }
    }

    /// What is written.
    pub fn exports(&self) -> Vec<Export> {
        self.files.split_whitespace().filter_map(|file| Export::parse(file).ok()).collect()
    }
}

/// The sets that are offered.
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
