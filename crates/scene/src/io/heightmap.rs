//! Heightmaps and layer maps from files of any format, as metres on a grid.
//!
//! What the command line says wins over the sidecar, and the sidecar over the file. What is not stated is assumed, and a
//! warning tells what was assumed and how to state it.

use std::{path::Path, sync::Arc};

use super::{
    Budget, Error, asc, exr, input, png,
    raster::{Expected, Raster},
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

/// Endings of the files that it reads.
pub const ENDINGS: [&str; 7] = ["png", "exr", "r16", "r32", "tif", "tiff", "asc"];
/// Side of a cell where it is not stated, in metres.
const ASSUMED_CELL_SIZE: f32 = 1.0;
/// Relief of an integer format where it is not stated, as a share of the shorter side: that of the published terrain.
const ASSUMED_RELIEF: f32 = 60.0 / 256.0;

/// Reads a heightmap: `.png`, `.exr`, `.r16`, `.r32`, `.tif` or `.asc`, with its sidecar if there is one.
///
/// # Errors
/// One sentence, if the file or its sidecar cannot be used as the options ask, or if an option is out of range.
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
            "{old_width} × {old_height} cells are resampled to {width} × {height}, which changes the map's proportions"
        ));
    }
    let beside = Sidecar::beside(path);
    let cell_size = match (options.cell_size, sidecar.cell_size_m, cell_size) {
        (Some(metres), ..) => metres,
        (None, Some(metres), _) => metres * wider,
        (None, None, Some(stated)) => {
            warnings.extend(stated.warning);
            stated.metres * wider
        }
        (None, None, None) => {
            warnings.push(format!(
                "its cell size is not stated, so cells of {ASSUMED_CELL_SIZE} m are assumed; state it with --cell-size or as \
                 cell_size_m in {}",
                beside.display()
            ));
            ASSUMED_CELL_SIZE * wider
        }
    };
    CELL_SIZE.check("the side of its cells", cell_size).map_err(|unfit| Error::unfit(path, unfit))?;
    let (stated_min, stated_max) = (options.min_m.or(sidecar.min_m), options.max_m.or(sidecar.max_m));
    if let Some(full_scale) = full_scale {
        let relief = ASSUMED_RELIEF * width.min(height) as f32 * cell_size;
        let min = stated_min.unwrap_or(0.0);
        let max = stated_max.unwrap_or(min + relief);
        if min > max {
            let wrong = format!("its lowest height {min} m is above its highest {max} m");
            return Err(Error::input(path, wrong, "--min-height (min_m) must not be above --max-height (max_m)"));
        }
        if stated_min.is_none() || stated_max.is_none() {
            warnings.push(format!(
                "its range of heights is not stated, so {min} m to {max} m is assumed; state it with --min-height and \
                 --max-height or as min_m and max_m in {}",
                beside.display()
            ));
        }
        scale(&mut cells, full_scale, (min, max));
    } else if options.min_m.is_some() || options.max_m.is_some() {
        warnings.push("its values are metres already, so --min-height and --max-height do nothing".to_owned());
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

/// Reads a map of a layer and resamples it to `size` (columns, rows). The values of integer formats
/// span the range of its import unless a sidecar states min_m and max_m. Those of other formats are taken as they are.
///
/// Returns the map and the warnings, a sentence each.
///
/// # Errors
/// One sentence, if the file or its sidecar cannot be used.
pub fn read_layer(path: &Path, size: (usize, usize), layer: Layer) -> Result<(Grid, Vec<String>), Error> {
    let expected = expected(path, Some(size), layer.row().bounds)?;
    let Raster { mut cells, full_scale, warnings, .. } = load(path, &expected)?;
    let range = layer.row().import.map_or((0.0, 1.0), |import| import.range);
    if let Some(full_scale) = full_scale {
        let (min, max) = (expected.sidecar.min_m.unwrap_or(range.0), expected.sidecar.max_m.unwrap_or(range.1));
        if min > max {
            let wrong = format!("its lowest value {min} is above its highest {max}");
            return Err(Error::input(path, wrong, "state both min_m and max_m in the sidecar"));
        }
        scale(&mut cells, full_scale, (min, max));
    }
    Ok((cells, with_name(path, warnings)))
}

/// Returns a session that starts from a map as bare dry bedrock, with droplets on, drawn so that its relief can be read.
///
/// # Errors
/// It needs more memory than may be used.
pub fn session(name: &str, map: Heightmap, origin: Origin) -> Result<Session, Error> {
    let mut session = Session::small(name, 1, origin);
    session.set_heights(Arc::new(map));
    session.enable(&["droplets"]);
    Budget::present().ask(&session.origin.input, session.wanted())?;
    session.restart(1);
    session.suit_look_to_relief();
    session.note_defaults();
    Ok(session)
}

/// Loads a map of a layer into a session. It takes effect at the next [`Session::restart`].
///
/// # Errors
/// The file cannot be used as such a map; nothing is changed then.
pub fn load_map(session: &mut Session, layer: Layer, path: &Path) -> Result<(), Error> {
    let (grid, warnings) = read_layer(path, session.size(), layer)?;
    session.set_map(layer, path, grid).map_err(|unfit| Error::unfit(path, unfit))?;
    session.warnings.extend(warnings);
    Ok(())
}

fn expected(path: &Path, size: Option<(usize, usize)>, bounds: Bounds) -> Result<Expected, Error> {
    Ok(Expected {
        sidecar: Sidecar::of(path)?,
        size,
        sides: (*SIDES.start(), *SIDES.end()),
        bounds,
        budget: Budget::present(),
    })
}

/// Whether a map can have so many columns and rows.
pub fn fits(width: usize, height: usize) -> bool {
    [width, height].iter().all(|side| SIDES.contains(side))
}

fn check(options: &Options, path: &Path) -> Result<(), Error> {
    let (shortest, longest) = (SIDES.start(), SIDES.end());
    if let Some((width, height)) = options.size
        && !fits(width, height)
    {
        let wrong = format!("it cannot have the size {width} × {height}");
        return Err(Error::input(path, wrong, format!("each side of --size ranges from {shortest} to {longest}")));
    }
    options.check_numbers().map_err(|unfit| Error::unfit(path, unfit))
}

fn load(path: &Path, expected: &Expected) -> Result<Raster, Error> {
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
            let wrong = format!("a name that ends in \"{extension}\" tells no format");
            Err(Error::input(path, wrong, "heightmaps are .png, .exr, .r16, .r32, .tif or .asc"))
        }
    }
}

/// Turns steps from 0 to `full_scale` into values from `min` to `max`.
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
