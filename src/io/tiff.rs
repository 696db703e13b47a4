//! TIFF pictures of 32-bit floats, with the tags of GeoTIFF where the map knows its place on Earth.

use std::path::Path;

use tiff::{
    TiffError,
    encoder::{Compression, TiffEncoder, colortype::Gray32Float},
    tags::Tag,
};

use super::{Error, output};
use crate::{model::origin::Geo, sim::grid::Grid};

/// Keys and values of GeoTIFF: kind of coordinates, that a cell is an area, and the ellipsoid.
const MODEL_TYPE: u16 = 1024;
const RASTER_TYPE: u16 = 1025;
const GEOGRAPHIC_TYPE: u16 = 2048;
const PROJECTED: u16 = 1;
const GEOGRAPHIC: u16 = 2;
const CELLS_ARE_AREAS: u16 = 1;
const WGS_84: u16 = 4326;

/// Writes a grid, every bit kept.
///
/// # Errors
/// The file cannot be written.
pub fn write_tiff(path: &Path, grid: &Grid, geo: Option<Geo>) -> Result<(), Error> {
    output::create(path, |file| -> Result<(), TiffError> {
        let mut encoder = TiffEncoder::new(file)?.with_compression(Compression::Uncompressed);
        let mut image = encoder.new_image::<Gray32Float>(grid.width() as u32, grid.height() as u32)?;
        if let Some(geo) = geo {
            let (kind, keys) = if geo.degrees { (GEOGRAPHIC, 3) } else { (PROJECTED, 2) };
            let mut directory = vec![1, 1, 0, keys, MODEL_TYPE, 0, 1, kind, RASTER_TYPE, 0, 1, CELLS_ARE_AREAS];
            if geo.degrees {
                directory.extend([GEOGRAPHIC_TYPE, 0, 1, WGS_84]);
            }
            let tags = image.encoder();
            let cell = geo.width / grid.width() as f64;
            tags.write_tag(Tag::ModelPixelScaleTag, &[cell, geo.height / grid.height() as f64, 0.0][..])?;
            tags.write_tag(Tag::ModelTiepointTag, &[0.0, 0.0, 0.0, geo.west, geo.north, 0.0][..])?;
            tags.write_tag(Tag::GeoKeyDirectoryTag, &directory[..])?;
        }
        image.write_data(grid)
    })
}
