//! Terrain meshes: OBJ with a colour map, and watertight STL for 3D printing.

use std::{
    ffi::OsStr,
    io::{self, Seek, Write},
    path::Path,
};

use glam::Vec3;
use stl_io::{Triangle, Vertex};

use crate::io::{Error, JobProgress, output};
use thalweg_sim::core::{analysis, grid::Grid, terrain::Terrain};

/// Dimensions of a 3D print, in millimetres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Print {
    /// Length of the longer side.
    pub width: f32,
    /// Thickness of the base below the lowest point.
    pub base: f32,
}

impl Default for Print {
    fn default() -> Self {
        Self { width: 150.0, base: 3.0 }
    }
}

/// Returns the vertex positions in metres: x to the right and z to the bottom of the image, y up, centred.
pub(super) fn places(terrain: &Terrain) -> Vec<[f32; 3]> {
    let ground = terrain.ground();
    let (width, height) = (ground.width(), ground.height());
    let middle = |cell: usize, count: usize| (cell as f32 - 0.5 * (count as f32 - 1.0)) * terrain.cell_size;
    (0..ground.len())
        .map(|index| [middle(index % width, width), ground[index], middle(index / width, height)])
        .collect()
}

/// Returns two triangles per quad of cells, counterclockwise seen from above.
pub(super) fn triangles(width: usize, height: usize) -> impl Iterator<Item = [u32; 3]> {
    (0..2 * width.saturating_sub(1) * height.saturating_sub(1)).map(move |index| triangle(width, index))
}

fn triangle(width: usize, index: usize) -> [u32; 3] {
    let (x, y) = (index / 2 % (width - 1), index / 2 / (width - 1));
    let [a, b, c, d] = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)].map(|(x, y)| (y * width + x) as u32);
    if index.is_multiple_of(2) { [a, c, b] } else { [b, c, d] }
}

/// Writes a Wavefront OBJ file with its material and the PNG `picture` as a texture, all with the same stem.
///
/// # Errors
/// A file cannot be written.
pub(super) fn write_obj(path: &Path, terrain: &Terrain, picture: &[u8], progress: &JobProgress) -> Result<(), Error> {
    let (width, height) = (terrain.width(), terrain.height());
    let Some(stem) = path.file_stem().and_then(OsStr::to_str) else {
        let wrong = "the file name is not Unicode, but an OBJ file refers to its material by name";
        return Err(Error::output(path, wrong, "choose another name"));
    };
    output::create(path, |file| -> io::Result<()> {
        writeln!(file, "mtllib {stem}.mtl\no terrain\nusemtl ground")?;
        for [x, y, z] in places(terrain) {
            writeln!(file, "v {x} {y} {z}")?;
        }
        progress.done(1, 4);
        for index in 0..width * height {
            let u = ((index % width) as f32 + 0.5) / width as f32;
            let v = 1.0 - ((index / width) as f32 + 0.5) / height as f32;
            writeln!(file, "vt {u} {v}")?;
        }
        for [right, up, out] in analysis::normals(terrain) {
            writeln!(file, "vn {right} {out} {}", -up)?;
        }
        progress.done(2, 4);
        for corners in triangles(width, height) {
            let [a, b, c] = corners.map(|corner| corner + 1);
            writeln!(file, "f {a}/{a}/{a} {b}/{b}/{b} {c}/{c}/{c}")?;
        }
        Ok(())
    })?;
    let material = format!("newmtl ground\nKd 1 1 1\nKs 0 0 0\nmap_Kd {stem}.png\n");
    output::write(&path.with_extension("mtl"), material)?;
    output::write(&path.with_extension("png"), picture)
}

/// Writes a binary STL file in millimetres: a watertight solid of terrain, walls and a flat base, with heights to scale. Fails for maps of
/// a single row or column.
pub(super) fn write_stl(path: &Path, terrain: &Terrain, print: Print, progress: &JobProgress) -> Result<(), Error> {
    let (width, height) = (terrain.width(), terrain.height());
    if width < 2 || height < 2 {
        return Err(Error::output(path, "the map is a single row or column", "at least 2 × 2 cells are required"));
    }
    let ground = terrain.ground();
    let scale = print.width / ((width.max(height) - 1) as f32 * terrain.cell_size);
    let lowest = ground.min_max().0;
    // x to the right and y to the top of the image, z up.
    let top = |cell: usize| {
        let [x, y] = [cell % width, height - 1 - cell / width].map(|place| place as f32 * terrain.cell_size * scale);
        [x, y, print.base + (ground[cell] - lowest) * scale]
    };
    let foot = |cell: usize| {
        let [x, y, _] = top(cell);
        [x, y, 0.0]
    };
    let [right, up, _] = top(width - 1);
    let middle = [0.5 * right, 0.5 * up, 0.0];
    let rim = rim(&ground);
    let surface = 2 * (width - 1) * (height - 1);
    let count = surface + 3 * rim.len();
    let triangle = |index: usize| {
        progress.done(index, count);
        if index < surface {
            return facet(triangle(width, index).map(|cell| top(cell as usize)));
        }
        let (part, side) = ((index - surface) / 3, (index - surface) % 3);
        let (here, next) = (rim[part], rim[(part + 1) % rim.len()]);
        facet(match side {
            0 => [top(here), foot(here), top(next)],
            1 => [top(next), foot(here), foot(next)],
            _ => [foot(next), foot(here), middle],
        })
    };
    output::create(path, |file| {
        stl_io::write_stl(file, (0..count).map(triangle))?;
        // The format has no unit; the 80-byte header is free text.
        file.rewind()?;
        file.write_all(b"Thalweg, in mm")
    })
}

/// Returns the border cells in the winding order of the surface's open edge: down the left, along the bottom, up the right, back along
/// the top.
fn rim(ground: &Grid) -> Vec<usize> {
    let (width, height) = (ground.width(), ground.height());
    let down = (0..height - 1).map(|y| y * width);
    let right = (0..width - 1).map(|x| (height - 1) * width + x);
    let up = (1..height).rev().map(|y| y * width + width - 1);
    let left = (1..width).rev();
    down.chain(right).chain(up).chain(left).collect()
}

fn facet(corners: [[f32; 3]; 3]) -> Triangle {
    let [a, b, c] = corners.map(Vec3::from);
    let normal = (b - a).cross(c - a).normalize_or_zero();
    Triangle { normal: Vertex::new(normal.into()), vertices: corners.map(Vertex::new) }
}
