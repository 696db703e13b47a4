//! TIFF pictures of 32-bit floats, with the tags of GeoTIFF where the map knows its place on Earth.

use std::path::Path;

use tiff::{
    TiffError,
    encoder::{Compression, TiffEncoder, colortype::Gray32Float},
    tags::Tag,
};

use super::{Error, output};
use crate::{model::origin::Geo, sim::grid::Grid};

/// Entries of a GeoTIFF directory: key, no tag of its own, one value, and the value. They are the kind of coordinates, that a cell is
/// an area, and the ellipsoid.
const PROJECTED: [u16; 4] = [1024, 0, 1, 1];
const GEOGRAPHIC: [u16; 4] = [1024, 0, 1, 2];
const CELLS_ARE_AREAS: [u16; 4] = [1025, 0, 1, 1];
const WGS_84: [u16; 4] = [2048, 0, 1, 4326];

/// Writes a grid, every bit kept.
///
/// # Errors
/// The file cannot be written.
pub fn write_tiff(path: &Path, grid: &Grid, geo: Option<Geo>) -> Result<(), Error> {
    output::create(path, |file| -> Result<(), TiffError> {
        let mut encoder = TiffEncoder::new(file)?.with_compression(Compression::Uncompressed);
        let mut image = encoder.new_image::<Gray32Float>(grid.width() as u32, grid.height() as u32)?;
        if let Some(geo) = geo {
            let keys: &[_] =
                if geo.degrees { &[GEOGRAPHIC, CELLS_ARE_AREAS, WGS_84] } else { &[PROJECTED, CELLS_ARE_AREAS] };
            let directory = [&[1, 1, 0, keys.len() as u16], keys.as_flattened()].concat();
            let tags = image.encoder();
            let cell = geo.width / grid.width() as f64;
            tags.write_tag(Tag::ModelPixelScaleTag, &[cell, geo.height / grid.height() as f64, 0.0][..])?;
            tags.write_tag(Tag::ModelTiepointTag, &[0.0, 0.0, 0.0, geo.west, geo.north, 0.0][..])?;
            tags.write_tag(Tag::GeoKeyDirectoryTag, &directory[..])?;
        }
        image.write_data(grid)
    })
}
