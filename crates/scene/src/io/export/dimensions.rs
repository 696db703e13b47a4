//! Size of exports, and their division into tiles.

use super::{PrintDimensions, sets::ExportSet, weights::WeightMask};
use thalweg_sim::core::{bounds::InvalidInput, terrain::Terrain};

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
/// Squares of side 2ⁿ + 1.
const POWERS_OF_TWO_PLUS_ONE: [usize; 13] = [3, 5, 9, 17, 33, 65, 129, 257, 513, 1025, 2049, 4097, 8193];
/// Maximum side of an export, in cells.
const MAX_EXPORT_SIDE: usize = 8192;

impl Size {
    /// Returns the sides of a square in ascending order if the size requires one, in cells.
    pub(super) fn squares(self) -> Option<&'static [usize]> {
        match self {
            Self::Working | Self::Times(_) => None,
            Self::PowerOfTwoPlusOne => Some(&POWERS_OF_TWO_PLUS_ONE),
            Self::Unreal => Some(&UNREAL),
        }
    }

    /// Returns `true` if every file is a square.
    pub fn is_square(self) -> bool {
        self.squares().is_some()
    }
}

/// Conversion of a non-square map to a square.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SquareConversion {
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

/// Names of the files of tiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TileNames {
    /// `height_x0_y0.png`, y from the top: World Composition and World Partition of Unreal, World Machine.
    #[default]
    Unreal,
    /// `height_0_0.raw`, the second number from the bottom: Terrain Toolbox of Unity.
    Unity,
    /// `height_y0_x0.png`, y from the top: Gaea.
    Gaea,
    /// `height_2_0_0.png`, zoom level, x, and y from the bottom: Tile Map Service.
    Tms,
}

/// Row of the table of [`TileNames`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct TileNamesRow {
    /// Name on the command line.
    pub key: &'static str,
    /// Suffix of the file stem, with `{x}`, `{y}` and `{z}` (zoom level) in place of the numbers.
    pub suffix: &'static str,
    /// `true` if y counts from the bottom row.
    pub from_bottom: bool,
}

impl TileNames {
    /// All schemes.
    pub const ALL: [Self; 4] = [Self::Unreal, Self::Unity, Self::Gaea, Self::Tms];

    /// Returns its row of the table.
    pub(crate) fn row(self) -> TileNamesRow {
        match self {
            Self::Unreal => TileNamesRow { key: "unreal", suffix: "_x{x}_y{y}", from_bottom: false },
            Self::Unity => TileNamesRow { key: "unity", suffix: "_{x}_{y}", from_bottom: true },
            Self::Gaea => TileNamesRow { key: "gaea", suffix: "_y{y}_x{x}", from_bottom: false },
            Self::Tms => TileNamesRow { key: "tms", suffix: "_{z}_{x}_{y}", from_bottom: true },
        }
    }

    /// Returns the scheme with this name on the command line.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|names| names.row().key == key)
    }

    /// Returns the names of all schemes on the command line.
    pub fn keys() -> [&'static str; Self::ALL.len()] {
        Self::ALL.map(|names| names.row().key)
    }

    /// Returns column and row in the numbering of the scheme if `suffix` is one of its suffixes.
    pub(crate) fn parse(self, suffix: &str) -> Option<(usize, usize)> {
        let (mut pattern, mut rest) = (self.row().suffix, suffix);
        let (mut x, mut y) = (None, None);
        while let Some(letter) = pattern.chars().next() {
            let Some(variable) = pattern.strip_prefix('{') else {
                rest = rest.strip_prefix(letter)?;
                pattern = &pattern[letter.len_utf8()..];
                continue;
            };
            let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
            let number = rest[..end].parse().ok().filter(|&number: &usize| number < 10_000)?;
            match variable.chars().next() {
                Some('x') => x = Some(number),
                Some('y') => y = Some(number),
                _ => {}
            }
            (rest, pattern) = (&rest[end..], &variable[2..]);
        }
        if rest.is_empty() { x.zip(y) } else { None }
    }
}

/// Division of exported maps into tiles of equal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileGrid {
    /// Columns and rows of tiles.
    pub count: (usize, usize),
    /// Columns or rows of cells that neighbouring tiles share.
    pub overlap: usize,
    /// Names of the files.
    pub names: TileNames,
}

/// Tile of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExportTile {
    /// Suffix of the file stem; empty if there are no other tiles.
    pub suffix: String,
    /// First column and row of cells.
    pub first: (usize, usize),
    /// Columns and rows of cells.
    pub size: (usize, usize),
}

impl TileGrid {
    /// Maximum number of tiles along each side.
    pub const MAX_COUNT: usize = 64;
    /// Minimum side of a tile, in cells.
    pub const MIN_SIDE: usize = 8;
    /// Maximum overlap, in cells.
    pub const MAX_OVERLAP: usize = 32;
    /// A single tile.
    const WHOLE: Self = Self { count: (1, 1), overlap: 0, names: TileNames::Unreal };

    /// Returns the columns and rows of cells of tiles of this size together.
    fn total(self, tile: (usize, usize)) -> (usize, usize) {
        let total = |count: usize, side: usize| count * side.saturating_sub(self.overlap) + self.overlap;
        (total(self.count.0, tile.0), total(self.count.1, tile.1))
    }

    /// Returns the columns and rows of the smallest tiles that cover a map of this size.
    fn covering(self, map: (usize, usize)) -> (usize, usize) {
        let side =
            |count: usize, cells: usize| cells.saturating_sub(self.overlap).div_ceil(count).max(1) + self.overlap;
        (side(self.count.0, map.0), side(self.count.1, map.1))
    }

    /// Returns the tiles of a map of this size, which consists of tiles as a whole, row by row from the top.
    pub(super) fn tiles(self, map: (usize, usize)) -> Vec<ExportTile> {
        let size = self.covering(map);
        let zoom = self.count.0.max(self.count.1).next_power_of_two().ilog2();
        let row = self.names.row();
        let tile = |x: usize, y: usize| {
            let number = if row.from_bottom { self.count.1 - 1 - y } else { y };
            let numbers = [("{x}", x.to_string()), ("{y}", number.to_string()), ("{z}", zoom.to_string())];
            let suffix = numbers.iter().fold(row.suffix.to_owned(), |text, (name, number)| text.replace(name, number));
            ExportTile { suffix, first: (x * (size.0 - self.overlap), y * (size.1 - self.overlap)), size }
        };
        (0..self.count.1).flat_map(|y| (0..self.count.0).map(move |x| tile(x, y))).collect()
    }
}

/// Dimensions and options of all exports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dimensions {
    /// Number of cells of a map, or of a tile if the size requires a square.
    pub size: Size,
    /// Conversion to a square, if the size requires one.
    pub square: SquareConversion,
    /// Dimensions of a mesh for 3D printing.
    pub print: PrintDimensions,
    /// Division into tiles; `None` for one file per map.
    pub tiles: Option<TileGrid>,
    /// Key of the [`ExportSet`] whose import settings accompany the files; `None` for none.
    pub preset: Option<&'static str>,
    /// Masks of the map `weights`.
    pub weights: WeightChannels,
    /// Number of mesh levels of detail; each has half the columns and rows of the previous one. 0 is the same as 1.
    pub mesh_levels: u32,
}

impl Dimensions {
    /// Maximum number of levels of detail.
    pub const MAX_MESH_LEVELS: u32 = 6;
}

/// Masks of a weight map by channel: red, green, blue and alpha.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightChannels(pub [Option<WeightMask>; 4]);

impl Default for WeightChannels {
    fn default() -> Self {
        Self([WeightMask::Rock, WeightMask::Soil, WeightMask::Sand, WeightMask::Snow].map(Some))
    }
}

/// Sizes of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExportLayout {
    /// Exported window, in cells of the terrain.
    pub window: ExportWindow,
    /// Columns and rows to which the window is resampled.
    pub resampled: (usize, usize),
    /// Columns and rows of the result. Beyond those that are resampled, it is padded to the right and to the bottom.
    pub size: (usize, usize),
}

impl Dimensions {
    /// Returns the dimensions with size, tile names and import settings of a preset.
    pub fn for_preset(self, set: &ExportSet) -> Self {
        let names = set.tile_names();
        let tiles = self.tiles.map(|tiles| TileGrid { names, ..tiles });
        Self { size: set.size, tiles, preset: Some(set.key), ..self }
    }

    /// Returns the columns and rows of the exports. Tiles are counted together.
    pub fn of(self, terrain: &Terrain) -> (usize, usize) {
        self.layout((terrain.width(), terrain.height())).size
    }

    /// Returns the columns and rows of cells of a file.
    pub fn file_size(self, terrain: &Terrain) -> (usize, usize) {
        let size = self.of(terrain);
        self.tiles.map_or(size, |tiles| tiles.covering(size))
    }

    /// Returns the exported window, in cells of the terrain.
    pub fn window(self, terrain: &Terrain) -> ExportWindow {
        self.layout((terrain.width(), terrain.height())).window
    }

    /// Checks that the terrain can be divided into its tiles.
    ///
    /// # Errors
    /// There are too many tiles, or they have fewer cells than they share.
    pub fn check(self, terrain: &Terrain) -> Result<(), InvalidInput> {
        let Some(TileGrid { count, overlap, .. }) = self.tiles else { return Ok(()) };
        let allowed = 1..=TileGrid::MAX_COUNT;
        if !allowed.contains(&count.0) || !allowed.contains(&count.1) {
            let wrong = format!("{} × {} tiles are not supported", count.0, count.1);
            return Err(InvalidInput { wrong, right: format!("use 1 to {} tiles per side", TileGrid::MAX_COUNT) });
        }
        let (width, height) = self.file_size(terrain);
        let least = TileGrid::MIN_SIDE.max(2 * overlap);
        if overlap > TileGrid::MAX_OVERLAP || width.min(height) < least {
            let wrong = format!("tiles of {width} × {height} cells are too small for an overlap of {overlap}");
            return Err(InvalidInput { wrong, right: "use fewer tiles or less overlap".to_owned() });
        }
        Ok(())
    }

    /// Returns the sizes for a terrain of these columns and rows.
    pub(super) fn layout(self, (width, height): (usize, usize)) -> ExportLayout {
        let tiles = self.tiles.unwrap_or(TileGrid::WHOLE);
        let Some(sides) = self.size.squares() else {
            let factor = match self.size {
                Size::Times(factor) => (factor as usize).min(MAX_EXPORT_SIDE / width.max(height)).max(1),
                _ => 1,
            };
            let resampled = (width * factor, height * factor);
            let window = ExportWindow { first: (0, 0), size: (width, height) };
            return ExportLayout { window, resampled, size: tiles.total(tiles.covering(resampled)) };
        };
        // Tiles are squares: the proportions of the window are those of the grid of tiles.
        let (across, down) = tiles.count;
        let window = match self.square {
            SquareConversion::Pad => {
                let size = (width.max((height * across).div_ceil(down)), height.max((width * down).div_ceil(across)));
                ExportWindow { first: (0, 0), size }
            }
            SquareConversion::Crop => {
                let size = (width.min(height * across / down).max(1), height.min(width * down / across).max(1));
                ExportWindow { first: ((width - size.0) / 2, (height - size.1) / 2), size }
            }
        };
        let mut totals = sides.iter().filter(|side| **side > tiles.overlap).map(|&side| tiles.total((side, side)));
        let fits = |total: &(usize, usize)| total.0 >= window.size.0 && total.1 >= window.size.1;
        let largest = tiles.total((sides[sides.len() - 1], sides[sides.len() - 1]));
        let size = totals.find(fits).unwrap_or(largest);
        ExportLayout { window, resampled: size, size }
    }
}
