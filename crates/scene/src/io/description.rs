//! Properties of a raster that its file, or files beside it, state, and their interpretation: one place for all formats.
//!
//! Files beside a raster, as GDAL and ESRI write them: `.aux.xml` takes precedence over the file, and the file over a world file
//! (`.tfw`, `.pgw`, `.wld` …) and well-known text (`.prj`).

use std::path::{Path, PathBuf};

use roxmltree::{Document, Node};

use super::{Error, input, raster::CellSize};
use crate::model::{
    crs::{CrsUnit, WGS_84, length_named, plural_of},
    origin::{Crs, Georeference},
};

/// Coordinates from columns and rows, counted from the corner of the first pixel:
/// `x = a[0] + a[1] column + a[2] row`, `y = a[3] + a[4] column + a[5] row`.
pub(super) type Affine = [f64; 6];

/// Properties that a file states. All are optional.
#[derive(Clone, Debug, Default)]
pub(super) struct Description {
    pub affine: Option<Affine>,
    /// Ground control points: column, row, and coordinates.
    pub control_points: Vec<[f64; 4]>,
    pub crs: Crs,
    /// Factor and summand that convert values to heights.
    pub scale: Option<f64>,
    pub offset: Option<f64>,
    /// Name of the unit of heights.
    pub unit: Option<String>,
    /// Size of the unit of heights, in metres, where it has no name.
    pub unit_size: Option<f64>,
    /// Value of cells without data, as written.
    pub nodata: Option<String>,
}

/// Position of a raster on the ground.
pub(super) struct RasterPlacement {
    /// `true` if columns run from east to west, and if rows run from south to north.
    pub flipped: [bool; 2],
    pub cell_size: Option<CellSize>,
    pub geo: Option<Georeference>,
}

impl Description {
    /// Completes the properties of the file at `path` with those of the files beside it. `band` is counted from 1.
    ///
    /// # Errors
    /// A file beside it cannot be read.
    pub fn with_companions(self, path: &Path, band: usize) -> Result<Self, Error> {
        let mut whole = self;
        if let Some(text) = companion(&appended(path, ".aux.xml"))? {
            whole = Self::of_pam(&text, band).or(whole);
        }
        if whole.affine.is_none() && whole.control_points.is_empty() {
            whole.affine = world_file(path)?;
        }
        if whole.crs == Crs::Unknown
            && let Some(text) = companion(&path.with_extension("prj"))?
        {
            whole.crs = Crs::of_text(&text);
        }
        Ok(whole)
    }

    /// Returns these properties, and those of `other` where they are missing.
    fn or(self, other: Self) -> Self {
        let has_place = self.affine.is_some() || !self.control_points.is_empty();
        let place = if has_place { (self.affine, self.control_points) } else { (other.affine, other.control_points) };
        Self {
            affine: place.0,
            control_points: place.1,
            crs: if self.crs == Crs::Unknown { other.crs } else { self.crs },
            scale: self.scale.or(other.scale),
            offset: self.offset.or(other.offset),
            unit: self.unit.or(other.unit),
            unit_size: self.unit_size.or(other.unit_size),
            nodata: self.nodata.or(other.nodata),
        }
    }

    /// Reads the properties of a band from `.aux.xml`. A malformed file states nothing.
    fn of_pam(text: &str, band: usize) -> Self {
        let mut stated = Self::default();
        let Ok(document) = Document::parse(text.trim_start_matches('\u{feff}')) else { return stated };
        let child = |node: Node, name: &str| {
            let found = node.children().find(|child| child.has_tag_name(name));
            found.and_then(|child| child.text()).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let root = document.root_element();
        let numbers =
            |text: String| text.split(',').map_while(|part| part.trim().parse::<f64>().ok()).collect::<Vec<_>>();
        stated.affine = child(root, "GeoTransform").and_then(|text| numbers(text).try_into().ok());
        stated.crs = child(root, "SRS").map_or(Crs::Unknown, |text| Crs::of_text(&text));
        if let Some(list) = root.children().find(|child| child.has_tag_name("GCPList")) {
            if stated.crs == Crs::Unknown {
                stated.crs = list.attribute("Projection").map_or(Crs::Unknown, Crs::of_text);
            }
            let point = |node: Node| {
                let number = |name| node.attribute(name)?.parse().ok();
                Some([number("Pixel")?, number("Line")?, number("X")?, number("Y")?])
            };
            stated.control_points =
                list.children().filter(|child| child.has_tag_name("GCP")).filter_map(point).collect();
        }
        let is_band = |node: &Node| {
            let number = node.attribute("band").and_then(|band| band.parse().ok());
            node.has_tag_name("PAMRasterBand") && number.unwrap_or(1_usize) == band
        };
        if let Some(node) = root.children().find(is_band) {
            stated.nodata = child(node, "NoDataValue");
            stated.scale = child(node, "Scale").and_then(|text| text.parse().ok());
            stated.offset = child(node, "Offset").and_then(|text| text.parse().ok());
            stated.unit = child(node, "UnitType");
        }
        stated
    }

    /// Adds the properties in the XML of the tag `GDAL_METADATA` of a TIFF. `sample` is the index of the band.
    pub fn add_metadata(&mut self, text: &str, sample: usize) {
        let Ok(document) = Document::parse(text) else { return };
        for item in document.root_element().children().filter(|item| item.has_tag_name("Item")) {
            let of_band = item.attribute("sample").is_none_or(|text| text.parse() == Ok(sample));
            let (Some(text), true) = (item.text().map(str::trim), of_band) else { continue };
            // As in GDAL, only the role has a meaning: an item of any name may belong to the user.
            match item.attribute("role").unwrap_or_default().to_ascii_lowercase().as_str() {
                "scale" => self.scale = text.parse().ok(),
                "offset" => self.offset = text.parse().ok(),
                "unittype" => self.unit = Some(text.to_owned()),
                _ => {}
            }
        }
    }

    /// Returns the size of the unit of heights in metres, and its plural if heights are converted.
    pub fn vertical(&self) -> (f64, Option<String>, Option<String>) {
        let named = self.unit.as_deref().map(str::trim).filter(|name| !name.is_empty());
        match named.map(|name| (name, length_named(name))) {
            Some((_, Some((size, plural)))) => (size, (size != 1.0).then(|| plural.to_owned()), None),
            Some((name, None)) => {
                let warning = format!("the unit of heights \"{name}\" is unknown; they are interpreted as metres");
                (1.0, None, Some(warning))
            }
            None => {
                let size =
                    self.unit_size.or_else(|| self.crs.vertical()).filter(|size| *size > 0.0 && size.is_finite());
                let size = size.unwrap_or(1.0);
                (size, (size != 1.0).then(|| plural_of(size)), None)
            }
        }
    }

    /// Returns the position of a raster of this many columns and rows.
    ///
    /// # Errors
    /// It is rotated or sheared.
    pub fn placement(&self, path: &Path, (columns, rows): (usize, usize)) -> Result<RasterPlacement, Error> {
        let none = RasterPlacement { flipped: [false; 2], cell_size: None, geo: None };
        let fitted = || fit(&self.control_points, [columns, rows]);
        let Some([x, wide, shear_x, y, shear_y, tall]) = self.affine.or_else(fitted) else {
            if self.control_points.len() > 2 {
                return Err(rotated(path));
            }
            return Ok(none);
        };
        if ![x, wide, shear_x, y, shear_y, tall].iter().all(|number| number.is_finite())
            || (wide == 0.0 && shear_x == 0.0)
        {
            return Ok(none);
        }
        // Deviations that stay below a fraction of a pixel across the map are rounding.
        let (width, height) = (columns as f64, rows as f64);
        if (shear_x * height).abs() > 0.05 * wide.abs() || (shear_y * width).abs() > 0.05 * tall.abs() || tall == 0.0 {
            return Err(rotated(path));
        }
        let flipped = [wide < 0.0, tall > 0.0];
        let (west, north) = (x.min(x + wide * width), y.max(y + tall * height));
        let cell = [wide.abs(), tall.abs()];
        let mut geo =
            Georeference { west, north, width: cell[0] * width, height: cell[1] * height, crs: self.crs.horizontal() };
        let mut guessed = false;
        if geo.crs == Crs::Unknown && in_degrees(&geo, cell) {
            (geo.crs, guessed) = (Crs::Epsg(WGS_84), true);
        }
        let middle = [geo.west + geo.width / 2.0, geo.north - geo.height / 2.0];
        let (ground, corrected) = geo.crs.ground_size(cell, middle);
        let cell_size = CellSize::of(cell, ground, geo.crs.unit(), middle[1], guessed, corrected);
        // An origin of exactly (0, 0) in an unknown system denotes local coordinates.
        let is_local = geo.crs == Crs::Unknown && geo.west == 0.0 && (geo.north - geo.height).abs() < 1e-9 * geo.height;
        Ok(RasterPlacement { flipped, cell_size: Some(cell_size), geo: (!is_local).then_some(geo) })
    }
}

/// Cells of at most one degree within the range of longitudes and latitudes are in degrees.
fn in_degrees(geo: &Georeference, [wide, tall]: [f64; 2]) -> bool {
    let Georeference { west, north, width, height, .. } = *geo;
    let (south, is_origin) = (north - height, west == 0.0 && (north == height || north == 0.0));
    let on_the_globe = west >= -180.5 && west + width <= 360.5 && south >= -90.5 && north <= 90.5;
    on_the_globe && !is_origin && wide <= 1.0 && tall <= 1.0
}

fn rotated(path: &Path) -> Error {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Error::input(
        path,
        "rotated or sheared rasters are not supported",
        format!("warp it first, e.g. `gdalwarp -r bilinear {name} north-up.tif`"),
    )
}

/// Fits an affine map to ground control points by least squares; `None` if they are fewer than three, on a line, or not affine within a
/// pixel.
fn fit(points: &[[f64; 4]], [columns, rows]: [usize; 2]) -> Option<Affine> {
    if points.len() < 3 {
        return None;
    }
    let count = points.len() as f64;
    let mean: [f64; 4] = std::array::from_fn(|axis| points.iter().map(|point| point[axis]).sum::<f64>() / count);
    let sum = |first: usize, second: usize| -> f64 {
        points.iter().map(|point| (point[first] - mean[first]) * (point[second] - mean[second])).sum()
    };
    let determinant = sum(0, 0) * sum(1, 1) - sum(0, 1) * sum(0, 1);
    if determinant.abs() <= 1e-9 * (sum(0, 0) * sum(1, 1)).abs() || !determinant.is_finite() {
        return None;
    }
    let slopes = |axis: usize| {
        let along = (sum(0, axis) * sum(1, 1) - sum(1, axis) * sum(0, 1)) / determinant;
        let down = (sum(1, axis) * sum(0, 0) - sum(0, axis) * sum(0, 1)) / determinant;
        [mean[axis] - along * mean[0] - down * mean[1], along, down]
    };
    let ([x, wide, shear_x], [y, shear_y, tall]) = (slopes(2), slopes(3));
    // Rounding of nearly north-up coordinates is no rotation.
    let clean = |small: f64, large: f64| {
        if (small * columns.max(rows) as f64).abs() < 1e-6 * large.abs() { 0.0 } else { small }
    };
    let affine = [x, wide, clean(shear_x, wide), y, clean(shear_y, tall), tall];
    let pixel = wide.hypot(shear_y).max(tall.hypot(shear_x));
    let error = |[column, row, east, north]: &[f64; 4]| {
        let (x, y) = (x + wide * column + shear_x * row, y + shear_y * column + tall * row);
        (x - east).hypot(y - north)
    };
    points.iter().all(|point| error(point) < pixel).then_some(affine)
}

/// Returns the path with this text behind its extension.
pub(super) fn appended(path: &Path, text: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(text);
    name.into()
}

/// Reads the text file beside a raster with this name in any case, if there is one.
fn companion(path: &Path) -> Result<Option<String>, Error> {
    input::find_in_any_case(path).map_or(Ok(None), |path| input::read_companion(&path))
}

/// Reads the world file of a raster, if there is one.
fn world_file(path: &Path) -> Result<Option<Affine>, Error> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    let letters: Vec<char> = extension.chars().collect();
    let short = match letters[..] {
        [first, .., last] => format!("{first}{last}w"),
        _ => String::new(),
    };
    for candidate in [short, format!("{extension}w"), "wld".to_owned()] {
        let Some(text) = companion(&path.with_extension(candidate))? else { continue };
        let number = |word: &str| word.replace(',', ".").parse::<f64>().ok();
        let numbers: Vec<f64> = text.split_whitespace().map_while(number).collect();
        if let [wide, shear_y, shear_x, tall, x, y] = numbers[..] {
            // It refers to the centre of the first pixel.
            let corner = [x - (wide + shear_x) / 2.0, y - (shear_y + tall) / 2.0];
            return Ok(Some([corner[0], wide, shear_x, corner[1], shear_y, tall]));
        }
    }
    Ok(None)
}

impl CellSize {
    /// Converts cells of this width and height, in the unit of the file, to squares of the same area on the ground, which conserves
    /// volumes. `ground` is their size in metres.
    fn of(
        [wide, tall]: [f64; 2],
        ground: [f64; 2],
        unit: CrsUnit,
        middle: f64,
        guessed: bool,
        corrected: bool,
    ) -> Self {
        const STATE: &str = "set it in metres with --cell-size or cell_size_m in a sidecar";
        let side = (ground[0] * ground[1]).sqrt();
        let size = if (wide / tall - 1.0).abs() < 1e-9 { wide.to_string() } else { format!("{wide} × {tall}") };
        let is_square = (ground[0] / ground[1] - 1.0).abs() < 1e-6;
        let warning = match unit {
            CrsUnit::Degrees(degrees) => {
                let how = if guessed { "interpreted as" } else { "in" };
                let name = if degrees == 1.0 { "degrees".to_owned() } else { format!("units of {degrees}°") };
                Some(format!(
                    "cell size {size} is {how} {name}: at latitude {:.2}° a cell is {:.1} × {:.1} m, so square cells of \
                     {side:.1} m are used; {STATE}",
                    middle * degrees,
                    ground[0],
                    ground[1]
                ))
            }
            CrsUnit::Metres(_) if corrected => Some(format!(
                "the projection is not true to scale here: a cell of {size} is {:.1} × {:.1} m on the ground, so square cells \
                 of {side:.1} m are used; {STATE}",
                ground[0], ground[1]
            )),
            CrsUnit::Metres(_) if !is_square => {
                Some(format!("cells of {size} m are not square, so square cells of {side:.1} m are used; {STATE}"))
            }
            CrsUnit::Metres(metres) if metres != 1.0 => {
                Some(format!("lengths are in {}; converted to metres", plural_of(metres)))
            }
            CrsUnit::Metres(_) => None,
        };
        let side = if is_square { ground[0] } else { side };
        Self { metres: side as f32, warning }
    }
}

/// Maximum length of a number in text, in bytes.
const LONGEST_NUMBER: usize = 64;

/// Returns the number at the beginning of a text, as C reads it: `-9999.0 m`, `1.#QNAN`, `-inf`.
pub(super) fn number_prefix(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let lower = text.to_ascii_lowercase();
    let unsigned = lower.trim_start_matches(['-', '+']);
    if ["nan", "1.#qnan", "1.#snan", "1.#ind", "null", "1,#qnan"].iter().any(|word| unsigned.starts_with(word)) {
        return Some(f64::NAN);
    }
    if ["inf", "1.#inf"].iter().any(|word| unsigned.starts_with(word)) {
        return Some(if lower.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY });
    }
    let numeric = |letter: char| letter.is_ascii_digit() || matches!(letter, '+' | '-' | '.' | 'e' | 'E');
    let end = text.find(|letter| !numeric(letter)).unwrap_or(text.len());
    (1..=end.min(LONGEST_NUMBER)).rev().find_map(|end| text[..end].parse().ok())
}
