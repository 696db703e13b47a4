//! Heightmaps and layer maps from files of any supported format, as a grid in metres.
//!
//! The command line takes precedence over the sidecar, and the sidecar over the file. Missing values are assumed, with a warning that
//! names the assumption and the way to set the value.

use std::{path::Path, sync::Arc};

use super::{
    Budget, Error, asc, exr, input, png,
    raster::{Raster, ReadConstraints},
    raw,
    sidecar::Sidecar,
    tiff,
};
use crate::model::{
    origin::{Heightmap, Options, Origin},
    session::Session,
};
use thalweg_sim::core::{
    bounds::{Bounds, CELL_SIZE, HEIGHT, SIDES},
    grid::Grid,
    resample::cells_within,
    terrain::Layer,
};

/// Extensions of readable files.
pub const ENDINGS: [&str; 7] = ["png", "exr", "r16", "r32", "tif", "tiff", "asc"];
/// Default cell size, in metres.
const ASSUMED_CELL_SIZE: f32 = 1.0;
/// Default relief of an integer format, as a fraction of the shorter side. Same proportions as the published terrain.
const ASSUMED_RELIEF: f32 = 60.0 / 256.0;

/// Reads a heightmap (`.png`, `.exr`, `.r16`, `.r32`, `.tif` or `.asc`) with its sidecar, if there is one.
///
/// # Errors
/// The file or its sidecar is invalid for the options, or an option is out of range.
pub fn read(path: &Path, options: &Options) -> Result<Heightmap, Error> {
    check(options, path)?;
    let expected = expected(path, options.size, HEIGHT)?;
    let Raster { mut cells, size, full_scale, cell_size, geo, mut nodata, mut warnings, .. } = load(path, &expected)?;
    let sidecar = &expected.sidecar;

    let (old_width, old_height) = size;
    let (width, height) = (cells.width(), cells.height());
    let (wider, taller) = (old_width as f32 / width as f32, old_height as f32 / height as f32);
    if (wider / taller - 1.0).abs() > 0.02 {
        warnings.push(format!(
            "resampling from {old_width} × {old_height} to {width} × {height} cells changes the aspect ratio"
        ));
    }
    let beside = Sidecar::path_for(path);
    let cell_size = match (options.cell_size, sidecar.cell_size_m, cell_size) {
        (Some(metres), ..) => metres,
        (None, Some(metres), _) => metres * wider,
        (None, None, Some(stated)) => {
            warnings.extend(stated.warning);
            stated.metres * wider
        }
        (None, None, None) => {
            warnings.push(format!(
                "cell size missing, assuming {ASSUMED_CELL_SIZE} m; set it with --cell-size or as \
                 cell_size_m in {}",
                beside.display()
            ));
            ASSUMED_CELL_SIZE * wider
        }
    };
    CELL_SIZE.check("the cell size", cell_size).map_err(|unfit| Error::unfit(path, unfit))?;
    let (stated_min, stated_max) = (options.min_m.or(sidecar.min_m), options.max_m.or(sidecar.max_m));
    if let Some(full_scale) = full_scale {
        let relief = ASSUMED_RELIEF * width.min(height) as f32 * cell_size;
        let min = stated_min.unwrap_or(0.0);
        let max = stated_max.unwrap_or(min + relief);
        if min > max {
            let wrong = format!("minimum height {min} m is above the maximum {max} m");
            return Err(Error::input(path, wrong, "--min-height (min_m) must not exceed --max-height (max_m)"));
        }
        if stated_min.is_none() || stated_max.is_none() {
            warnings.push(format!(
                "height range missing, assuming {min} m to {max} m; set it with --min-height and \
                 --max-height or as min_m and max_m in {}",
                beside.display()
            ));
        }
        scale(&mut cells, full_scale, (min, max));
    } else if options.min_m.is_some() || options.max_m.is_some() {
        warnings.push("values are already in metres, --min-height and --max-height are ignored".to_owned());
    }
    let map = (sidecar.map_width.unwrap_or(old_width), sidecar.map_height.unwrap_or(old_height));
    let (columns, rows) = (cells_within(map.0, old_width, width), cells_within(map.1, old_height, height));
    if (columns, rows) != (width, height) {
        let before = nodata.unwrap_or_else(|| Grid::filled(width, height, 0.0));
        nodata = Some(Grid::from_fn(width, height, |x, y| if x < columns && y < rows { before.at(x, y) } else { 1.0 }));
    }
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
    let expected = expected(path, Some(size), layer.row().bounds)?;
    let Raster { mut cells, full_scale, warnings, .. } = load(path, &expected)?;
    let range = layer.row().import.map_or((0.0, 1.0), |import| import.range);
    if let Some(full_scale) = full_scale {
        let (min, max) = (expected.sidecar.min_m.unwrap_or(range.0), expected.sidecar.max_m.unwrap_or(range.1));
        if min > max {
            let wrong = format!("minimum {min} is above the maximum {max}");
            return Err(Error::input(path, wrong, "set both min_m and max_m in the sidecar"));
        }
        scale(&mut cells, full_scale, (min, max));
    }
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

fn expected(path: &Path, size: Option<(usize, usize)>, bounds: Bounds) -> Result<ReadConstraints, Error> {
    Ok(ReadConstraints {
        sidecar: Sidecar::of(path)?,
        size,
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
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    match extension.as_str() {
        "png" => png::read(path, expected),
        "exr" => exr::read(path, expected),
        "r16" => raw::read_r16(path, expected),
        "r32" => raw::read_r32(path, expected),
        "tif" | "tiff" => tiff::read(path, expected),
        "asc" => asc::read(path, expected),
        _ => {
            input::open(path)?;
            let wrong = format!("unknown file extension \"{extension}\"");
            Err(Error::input(path, wrong, "expected .png, .exr, .r16, .r32, .tif or .asc"))
        }
    }
}

/// Maps values from 0 to `full_scale` to the range from `min` to `max`.
fn scale(cells: &mut Grid, full_scale: f32, (min, max): (f32, f32)) {
    let (min, max) = (f64::from(min), f64::from(max));
    let step = (max - min) / f64::from(full_scale);
    for cell in cells.iter_mut() {
        *cell = (min + f64::from(*cell) * step) as f32;
    }
}

fn with_name(path: &Path, warnings: Vec<String>) -> Vec<String> {
    warnings.into_iter().map(|warning| format!("{}: {warning}", path.display())).collect()
}

#[cfg(test)]
mod tests;
