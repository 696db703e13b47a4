//! Heightmaps and layer maps from files of any supported format, as a grid in metres.
//!
//! The command line takes precedence over the sidecar, and the sidecar over the file. Missing values are assumed, with a warning that
//! names the assumption and the way to set the value.

use std::{path::Path, sync::Arc};

use super::{
    Budget, Error, asc, exr, image, input, png,
    raster::{Purpose, Raster, ReadConstraints},
    raw,
    sidecar::Sidecar,
    tiff, tiles, usgs_dem,
};
use crate::model::{
    origin::{Heightmap, Options, Origin, RawKind},
    session::Session,
};
use thalweg_sim::core::{
    bounds::{Bounds, HEIGHT, SIDES},
    grid::Grid,
    terrain::Layer,
};

/// Extensions of readable files.
pub const ENDINGS: [&str; 32] = [
    "png", "exr", "tif", "tiff", "gtif", "gtiff", "geotiff", "asc", "grd", "agr", "r8", "r16", "r32", "raw", "hgt",
    "bil", "bip", "bsq", "flt", "npy", "dem", "jpg", "jpeg", "tga", "bmp", "pgm", "ppm", "pnm", "pam", "webp", "btf",
    "tf8",
];

/// Reads a heightmap of any of the [`ENDINGS`] with its sidecar, if there is one. Without a file of this name, tiles of it are read as one
/// map: `height_x0_y0.png`, `height_x1_y0.png` … of `height.png`.
///
/// # Errors
/// The file or its sidecar is invalid for the options, or an option is out of range.
pub fn read(path: &Path, options: &Options) -> Result<Heightmap, Error> {
    check(options, path)?;
    let expected = expected(path, options.clone(), Purpose::Heights, HEIGHT)?;
    let Raster { cells, size, cell_size, geo, nodata, mut warnings } = load(path, &expected)?;
    warnings.extend(sidecar_warnings(path, expected.sidecar, size));
    let warnings = with_name(path, warnings);
    Ok(Heightmap { heights: cells, file_size: size, cell_size, geo, nodata, warnings })
}

/// Reads a layer map and resamples it to `size` (columns, rows). Values of integer formats span the layer's import range, unless a
/// sidecar states min_m and max_m. Values of other formats are used unchanged.
///
/// Returns the map and one-sentence warnings.
///
/// # Errors
/// The file or its sidecar is invalid.
pub fn read_layer(path: &Path, size: (usize, usize), layer: Layer) -> Result<(Grid, Vec<String>), Error> {
    let range = layer.row().import.map_or((0.0, 1.0), |import| import.range);
    let options = Options { size: Some(size), ..Options::default() };
    let expected = expected(path, options, Purpose::Layer(range), layer.row().bounds)?;
    let Raster { cells, size, mut warnings, .. } = load(path, &expected)?;
    warnings.extend(sidecar_warnings(path, expected.sidecar, size));
    Ok((cells, with_name(path, warnings)))
}

/// Creates a session from a heightmap: bare, dry bedrock with the droplets process enabled, rendered with a look that suits its relief.
///
/// # Errors
/// It exceeds the memory budget.
pub fn session(name: &str, map: Heightmap, origin: Origin) -> Result<Session, Error> {
    let mut session = Session::placeholder(name, 1, origin);
    session.set_heights(Arc::new(map));
    session.enable(&["droplets"]);
    Budget::present().request(&session.origin.input, session.additional_bytes())?;
    session.restart(1);
    session.suit_look_to_relief();
    session.record_defaults();
    Ok(session)
}

/// Loads a layer map into a session. It takes effect at the next [`Session::restart`].
///
/// # Errors
/// The file is not valid for this layer; the session is unchanged.
pub fn load_map(session: &mut Session, layer: Layer, path: &Path) -> Result<(), Error> {
    let (grid, warnings) = read_layer(path, session.size(), layer)?;
    session.set_map(layer, path, grid).map_err(|unfit| Error::unfit(path, unfit))?;
    session.warnings.extend(warnings);
    Ok(())
}

fn expected(path: &Path, options: Options, purpose: Purpose, bounds: Bounds) -> Result<ReadConstraints, Error> {
    Ok(ReadConstraints {
        sidecar: Sidecar::of(path)?,
        options,
        purpose,
        is_tile: false,
        sides: (*SIDES.start(), *SIDES.end()),
        bounds,
        budget: Budget::present(),
    })
}

/// `true` if `width` and `height` are supported map sizes.
pub fn fits(width: usize, height: usize) -> bool {
    [width, height].iter().all(|side| SIDES.contains(side))
}

fn check(options: &Options, path: &Path) -> Result<(), Error> {
    let (shortest, longest) = (SIDES.start(), SIDES.end());
    if let Some((width, height)) = options.size
        && !fits(width, height)
    {
        let wrong = format!("size {width} × {height} is not supported");
        return Err(Error::input(path, wrong, format!("each side of --size ranges from {shortest} to {longest}")));
    }
    options.check_numbers().map_err(|unfit| Error::unfit(path, unfit))
}

fn load(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    match tiles::find(path)? {
        Some(set) => set.read(path, expected, load_file),
        None => load_file(path, expected),
    }
}

fn load_file(path: &Path, expected: &ReadConstraints) -> Result<Raster, Error> {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    match extension.as_str() {
        "png" => png::read(path, expected),
        "exr" => exr::read(path, expected),
        "r8" => raw::read(path, expected, Some(RawKind::Unsigned(1))),
        "r16" => raw::read(path, expected, Some(RawKind::Unsigned(2))),
        "r32" => raw::read(path, expected, Some(RawKind::Float(4))),
        "raw" => raw::read(path, expected, None),
        "tif" | "tiff" | "gtif" | "gtiff" | "geotiff" | "btf" | "tf8" => tiff::read(path, expected),
        "asc" | "grd" | "agr" => asc::read(path, expected),
        "hgt" => raw::read_hgt(path, expected),
        "bil" | "bip" | "bsq" => raw::read_with_header(path, expected, false),
        "flt" => raw::read_with_header(path, expected, true),
        "npy" => raw::read_npy(path, expected),
        "dem" if raw::has_header(path) => raw::read_with_header(path, expected, false),
        "dem" => usgs_dem::read(path, expected),
        _ => match image::FORMATS.iter().find(|(known, _)| *known == extension) {
            Some((_, format)) => image::read(path, expected, *format),
            None => {
                input::open(path)?;
                let wrong = format!("unknown file extension \"{extension}\"");
                Err(Error::input(path, wrong, format!("expected one of .{}", ENDINGS.join(", ."))))
            }
        },
    }
}

/// Returns the warnings about a sidecar of a map of this size. One that states another size, and nothing else, belongs to another program.
fn sidecar_warnings(path: &Path, sidecar: Sidecar, (width, height): (usize, usize)) -> Vec<String> {
    let fits =
        sidecar.width.is_none_or(|stated| stated == width) && sidecar.height.is_none_or(|stated| stated == height);
    if fits { sidecar.warnings } else { vec![Sidecar::foreign_warning(&Sidecar::path_for(path))] }
}

fn with_name(path: &Path, warnings: Vec<String>) -> Vec<String> {
    warnings.into_iter().map(|warning| format!("{}: {warning}", path.display())).collect()
}

#[cfg(test)]
mod tests;
