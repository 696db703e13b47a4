//! How large results are, and which serve a purpose together.

use super::{Export, Print};
use crate::sim::terrain::Terrain;

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

impl Size {
    /// Columns and rows of the results.
    pub fn of(self, terrain: &Terrain) -> (usize, usize) {
        let (width, height) = (terrain.width(), terrain.height());
        let longer = width.max(height);
        match self {
            Self::Working => (width, height),
            Self::Times(factor) => {
                let factor = (factor as usize).min(LONGEST_SIDE / longer).max(1);
                (width * factor, height * factor)
            }
            Self::PowerOfTwoPlusOne => [(longer.max(2) - 1).next_power_of_two() + 1; 2].into(),
            Self::Unreal => [UNREAL.into_iter().find(|side| *side >= longer).unwrap_or(UNREAL[6]); 2].into(),
        }
    }

    /// Columns and rows of the results with cells of the terrain's own size: as many as it has, or those of the square around it.
    pub fn around(self, terrain: &Terrain) -> (usize, usize) {
        let (width, height) = (terrain.width(), terrain.height());
        match self {
            Self::Working | Self::Times(_) => (width, height),
            Self::PowerOfTwoPlusOne | Self::Unreal => [width.max(height); 2].into(),
        }
    }
}

/// How large everything becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dimensions {
    /// How many cells the results have.
    pub size: Size,
    /// How a mesh is made that is printed.
    pub print: Print,
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
