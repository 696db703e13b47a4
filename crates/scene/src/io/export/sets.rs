//! Export presets for other programs: files, sizes, and the settings with which they import the heights.

use super::{
    Export,
    dimensions::{Size, TileNames},
    import::{ImportGeometry, ImportGuide, ImportSetting},
};

/// Export preset for a purpose.
pub struct ExportSet {
    /// Name on the command line.
    pub key: &'static str,
    /// Display name.
    pub title: &'static str,
    /// Exports as parsed by [`Export::parse`].
    pub(super) files: &'static str,
    /// Number of cells.
    pub size: Size,
    /// Import of the heights into the program; `None` if the files need no settings.
    pub(super) import: Option<ImportGuide>,
}

impl ExportSet {
    /// Returns the preset with this name on the command line.
    pub fn from_key(key: &str) -> Option<&'static Self> {
        SETS.iter().find(|set| set.key == key)
    }

    /// Returns the exports.
    pub fn exports(&self) -> Vec<Export> {
        self.files.split_whitespace().filter_map(|file| Export::parse(file).ok()).collect()
    }

    /// Returns the names of tiles that the program recognises.
    pub fn tile_names(&self) -> TileNames {
        self.import.as_ref().map_or_else(TileNames::default, |import| import.tile_names)
    }

    /// `true` if `import.md` with the settings of the program accompanies the files.
    pub fn has_import_settings(&self) -> bool {
        self.import.is_some()
    }
}

/// Steps from 0 to the largest 16-bit integer.
const STEPS: f64 = 65535.0;

/// Z scale of a landscape in Unreal, as a percentage. The engine divides heights by 128 and multiplies them by the scale, in centimetres:
/// 2¹⁶ steps span 512 m at a scale of 100.
fn unreal_scale(of: &ImportGeometry) -> f64 {
    let range = of.range[1] - of.range[0];
    // A flat map may have any scale but 0.
    if range > 0.0 { range * 100.0 / 512.0 * (STEPS + 1.0) / STEPS } else { 100.0 }
}

/// Available export presets.
pub const SETS: [ExportSet; 8] = [
    ExportSet {
        key: "unreal",
        title: "Unreal",
        files: "height.png flow.png8 wear.png8 deposits.png8 slope.png8 weights.png",
        size: Size::Unreal,
        import: Some(ImportGuide {
            program: "Unreal Engine",
            heights: "height.png",
            tile_names: TileNames::Unreal,
            settings: &[
                ImportSetting::new("xy_scale", "Landscape scale X and Y", "%", |of| of.cell * 100.0),
                ImportSetting::new("z_scale", "Landscape scale Z", "%", unreal_scale),
                ImportSetting::new("z_location_cm", "Landscape location Z", "cm", |of| {
                    of.range[0] * 100.0 + 256.0 * unreal_scale(of)
                }),
            ],
            steps: &[
                "In Landscape mode, choose New, then Import from File, and select the heights. For tiles, select any of them.",
                "Enter location and scale as above. With this location, heights above sea level are kept.",
                "Create layers from the greyscale maps and the channels of the weight map.",
            ],
        }),
    },
    ExportSet {
        key: "unity",
        title: "Unity",
        files: "height.raw flow.png8 deposits.png8 normal.png weights.png",
        size: Size::PowerOfTwoPlusOne,
        import: Some(ImportGuide {
            program: "Unity",
            heights: "height.raw",
            tile_names: TileNames::Unity,
            settings: &[
                ImportSetting::new("heightmap_resolution", "Heightmap resolution", "", |of| of.size.0 as f64),
                ImportSetting::new("terrain_width", "Terrain size X", "m", |of| (of.size.0 as f64 - 1.0) * of.cell),
                // The engine divides by 2¹⁶, so that the largest value is not quite 1.
                ImportSetting::new("terrain_height", "Terrain size Y", "m", |of| {
                    ((of.range[1] - of.range[0]) * (STEPS + 1.0) / STEPS).max(1e-3)
                }),
                ImportSetting::new("terrain_length", "Terrain size Z", "m", |of| (of.size.1 as f64 - 1.0) * of.cell),
                ImportSetting::new("position_y", "Position Y", "m", |of| of.range[0]),
            ],
            steps: &[
                "Create a terrain and choose Import Raw in its settings: depth 16 bit, byte order Windows, Flip Vertically off. The rows \
                 run from south to north, as Unity reads them.",
                "Enter resolution, size and position as above. For tiles, use Batch import of the Terrain Toolbox, which recognises \
                 their names.",
                "The weights are a splat map: one channel per terrain layer.",
            ],
        }),
    },
    ExportSet {
        key: "godot",
        title: "Godot",
        files: "height.exr color.png normal.png weights.png",
        size: Size::Working,
        import: Some(ImportGuide {
            program: "Godot",
            heights: "height.exr",
            tile_names: TileNames::Unreal,
            settings: &[
                ImportSetting::new("vertex_spacing", "Vertex spacing", "m", |of| of.cell),
                ImportSetting::new("height_scale", "Height scale", "", |_| 1.0),
                ImportSetting::new("height_offset", "Height offset", "m", |_| 0.0),
                ImportSetting::new("map_width", "Map width", "vertices", |of| of.size.0 as f64),
                ImportSetting::new("map_depth", "Map depth", "vertices", |of| of.size.1 as f64),
            ],
            steps: &[
                "The heights are metres. In the importer of Terrain3D, select them as the height file, with scale and offset as above, \
                 and set the vertex spacing of the terrain.",
                "For a HeightMapShape3D, copy the red channel to map_data and scale the node by the vertex spacing along X and Z.",
                "North is -Z.",
            ],
        }),
    },
    ExportSet {
        key: "blender",
        title: "Blender",
        files: "mesh.glb height.exr color.png",
        size: Size::Working,
        import: Some(ImportGuide {
            program: "Blender",
            heights: "height.exr",
            tile_names: TileNames::Unreal,
            settings: &[
                ImportSetting::new("plane_x", "Plane dimension X", "m", |of| of.size.0 as f64 * of.cell),
                ImportSetting::new("plane_y", "Plane dimension Y", "m", |of| of.size.1 as f64 * of.cell),
                ImportSetting::new("displacement_strength", "Displacement strength", "", |_| 1.0),
                ImportSetting::new("displacement_midlevel", "Displacement mid-level", "", |_| 0.0),
            ],
            steps: &[
                "Import the glTF for a finished mesh with normals and colours.",
                "For displacement, add a plane of these dimensions, subdivide it, and add a Displace modifier with the heights as an image \
                 texture, UV coordinates, and strength and mid-level as above. A displacement node in the shader has the same numbers.",
                "Set the colour space of the heights to Non-Color and the extension to Extend. For heights below 0, turn off Clamp in the \
                 colours of the texture.",
            ],
        }),
    },
    ExportSet {
        key: "houdini",
        title: "Houdini",
        files: "height.exr flow.exr wear.exr deposits.exr",
        size: Size::Working,
        import: Some(ImportGuide {
            program: "Houdini",
            heights: "height.exr",
            tile_names: TileNames::Unreal,
            settings: &[
                ImportSetting::new("grid_spacing", "Grid spacing", "m", |of| of.cell),
                ImportSetting::new("height_scale", "Height scale", "", |_| 1.0),
                ImportSetting::new("size_x", "Size X", "m", |of| of.size.0 as f64 * of.cell),
                ImportSetting::new("size_z", "Size Z", "m", |of| of.size.1 as f64 * of.cell),
            ],
            steps: &[
                "Add a HeightField File node with the heights, size method Grid Spacing, and spacing and scale as above.",
                "The heights are metres. Leave Clamp Minimum off if they extend below 0.",
                "Load the other maps as masks with the same spacing.",
            ],
        }),
    },
    ExportSet {
        key: "gis",
        title: "GIS",
        files: "height.tif height.asc change.tif water.tif rivers.geojson",
        size: Size::Working,
        import: Some(ImportGuide {
            program: "GIS",
            heights: "height.tif",
            tile_names: TileNames::Tms,
            settings: &[ImportSetting::new("pixel_size", "Pixel size", "m", |of| of.cell)],
            steps: &[
                "The files are georeferenced; pixels are areas. Without a coordinate reference system, the lower left corner is \
                 at 0, 0, in metres.",
            ],
        }),
    },
    ExportSet { key: "print", title: "3D print", files: "mesh.stl", size: Size::Working, import: None },
    ExportSet {
        key: "everything",
        title: "Everything",
        files: "height.png height.exr height.r16 height.r32 height.tif height.asc hillshade.png color.png normal.png slope.png flow.png \
         wear.png deposits.png water.png sand.png hardness.png wetness.png occlusion.png mesh.glb mesh.obj mesh.stl",
        size: Size::Working,
        import: None,
    },
];
