//! Terrain meshes: OBJ with a colour map, and watertight STL for 3D printing.
//!
//! A mesh has a vertex at each cell centre. As cells are areas, a rim of further vertices half a cell outside the outermost centres, with
//! their heights, extends it to the border of the map: its extent is that of the raster.

use std::{
    ffi::OsStr,
    io::{self, Seek, Write},
    path::Path,
};

use glam::Vec3;
use stl_io::{Triangle, Vertex};

use super::ExportSubject;
use crate::io::{Error, JobProgress, output};
use thalweg_sim::core::{analysis, grid::Grid, terrain::Terrain};

/// Dimensions of a 3D print, in millimetres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrintDimensions {
    /// Length of the longer side.
    pub width: f32,
    /// Thickness of the base below the lowest point.
    pub base: f32,
}

impl Default for PrintDimensions {
    fn default() -> Self {
        Self { width: 150.0, base: 3.0 }
    }
}

/// Vertices of a terrain, by column and row: cell centres and the rim around them.
pub(super) struct MeshGrid {
    ground: Grid,
    normals: Vec<[f32; 3]>,
    cell_size: f32,
}

/// Part of a mesh: a chunk at one level of detail.
pub(super) struct MeshPart {
    /// Name of its node.
    pub name: String,
    /// First and last column and row of vertices.
    columns: [usize; 2],
    rows: [usize; 2],
    /// Distance of the vertices, in columns and rows.
    step: usize,
    /// `true` for vertical skirts along its border, which hide gaps between neighbours of different detail.
    has_skirts: bool,
}

/// Triangles of a part.
#[derive(Default)]
pub(super) struct MeshSurface {
    /// Positions in metres: x to the right and z to the bottom of the image, y up, centred on the map.
    pub places: Vec<[f32; 3]>,
    /// Unit normals, in the same axes.
    pub normals: Vec<[f32; 3]>,
    /// Texture coordinates from the upper left corner of the map (0, 0) to the lower right (1, 1).
    pub texture: Vec<[f32; 2]>,
    /// Corners, counterclockwise seen from above.
    pub triangles: Vec<[u32; 3]>,
}

impl MeshGrid {
    pub(super) fn new(terrain: &Terrain) -> Self {
        Self { ground: terrain.ground(), normals: analysis::normals(terrain), cell_size: terrain.cell_size }
    }

    /// Returns the columns and rows of vertices.
    fn size(&self) -> (usize, usize) {
        (self.ground.width() + 2, self.ground.height() + 2)
    }

    /// Returns the index of the cell whose height a vertex has.
    fn cell(&self, x: usize, y: usize) -> usize {
        let inside = |vertex: usize, cells: usize| vertex.saturating_sub(1).min(cells - 1);
        inside(y, self.ground.height()) * self.ground.width() + inside(x, self.ground.width())
    }

    /// Returns the position of a vertex as fractions of the map, from its upper left corner.
    fn fraction(&self, x: usize, y: usize) -> [f32; 2] {
        let along = |vertex: usize, cells: usize| ((vertex as f32 - 0.5) / cells as f32).clamp(0.0, 1.0);
        [along(x, self.ground.width()), along(y, self.ground.height())]
    }

    /// Returns the position of a vertex in metres, see [`MeshSurface::places`].
    fn place(&self, x: usize, y: usize) -> [f32; 3] {
        let along = |vertex: usize, cells: usize| {
            (vertex as f32 - 0.5).clamp(0.0, cells as f32) * self.cell_size - 0.5 * cells as f32 * self.cell_size
        };
        [along(x, self.ground.width()), self.ground[self.cell(x, y)], along(y, self.ground.height())]
    }

    /// Returns the parts of an export: one, or a chunk per tile at each level of detail. Each level halves the number of columns and rows.
    pub(super) fn parts(&self, subject: &ExportSubject) -> Vec<MeshPart> {
        let (count, levels) =
            (subject.dimensions.tiles.map_or((1, 1), |tiles| tiles.count), subject.dimensions.mesh_levels.max(1));
        let (width, height) = self.size();
        let bounds = |index: usize, count: usize, vertices: usize| {
            let at = |index: usize| index * (vertices - 1) / count;
            [at(index), at(index + 1)]
        };
        let mut parts = Vec::new();
        for (y, x) in (0..count.1).flat_map(|y| (0..count.0).map(move |x| (y, x))) {
            for level in 0..levels {
                let mut name = "terrain".to_owned();
                if count != (1, 1) {
                    name += &format!("_x{x}_y{y}");
                }
                if levels > 1 {
                    name += &format!("_LOD{level}");
                }
                parts.push(MeshPart {
                    name,
                    columns: bounds(x, count.0, width),
                    rows: bounds(y, count.1, height),
                    step: 1 << level,
                    has_skirts: levels > 1 && count != (1, 1),
                });
            }
        }
        parts
    }

    /// Returns the triangles of a part.
    pub(super) fn surface(&self, part: &MeshPart) -> MeshSurface {
        let along =
            |[first, last]: [usize; 2]| -> Vec<usize> { (first..last).step_by(part.step).chain([last]).collect() };
        let (columns, rows) = (along(part.columns), along(part.rows));
        let mut surface = MeshSurface::default();
        for (&y, &x) in rows.iter().flat_map(|y| columns.iter().map(move |x| (y, x))) {
            surface.places.push(self.place(x, y));
            let [right, up, out] = self.normals[self.cell(x, y)];
            surface.normals.push([right, out, -up]);
            surface.texture.push(self.fraction(x, y));
        }
        surface.triangles = triangles(columns.len(), rows.len()).collect();
        if part.has_skirts {
            let rim = rim(columns.len(), rows.len());
            let depth = self.deviation(part);
            let first = surface.places.len() as u32;
            for &vertex in &rim {
                let [x, y, z] = surface.places[vertex];
                surface.places.push([x, y - depth, z]);
                surface.normals.push(surface.normals[vertex]);
                surface.texture.push(surface.texture[vertex]);
            }
            for index in 0..rim.len() {
                let next = (index + 1) % rim.len();
                let [a, b] = [rim[index], rim[next]].map(|vertex| vertex as u32);
                let [c, d] = [index, next].map(|index| first + index as u32);
                surface.triangles.extend([[a, c, b], [b, c, d]]);
            }
        }
        surface
    }

    /// Returns the relief along the border of a part between vertices of the next coarser level, in metres: no gap is deeper.
    fn deviation(&self, part: &MeshPart) -> f32 {
        let ([left, right], [top, bottom]) = (part.columns, part.rows);
        let line = |cells: Vec<usize>| {
            let span = (2 * part.step + 1).min(cells.len());
            let reliefs = cells.windows(span).map(|cells| {
                let heights = || cells.iter().map(|&cell| self.ground[cell]);
                heights().fold(f32::MIN, f32::max) - heights().fold(f32::MAX, f32::min)
            });
            reliefs.fold(0.0, f32::max)
        };
        let across = |y: usize| (left..=right).map(|x| self.cell(x, y)).collect();
        let down = |x: usize| (top..=bottom).map(|y| self.cell(x, y)).collect();
        let lines = [line(across(top)), line(across(bottom)), line(down(left)), line(down(right))];
        lines.into_iter().fold(0.1 * self.cell_size, f32::max)
    }
}

/// Returns two triangles per quad of vertices, counterclockwise seen from above.
fn triangles(width: usize, height: usize) -> impl Iterator<Item = [u32; 3]> {
    (0..2 * width.saturating_sub(1) * height.saturating_sub(1)).map(move |index| triangle(width, index))
}

fn triangle(width: usize, index: usize) -> [u32; 3] {
    let (x, y) = (index / 2 % (width - 1), index / 2 / (width - 1));
    let [a, b, c, d] = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)].map(|(x, y)| (y * width + x) as u32);
    if index.is_multiple_of(2) { [a, c, b] } else { [b, c, d] }
}

/// Writes a Wavefront OBJ file with its material and the PNG `texture` as a texture, all with the same stem: one group per part.
///
/// # Errors
/// A file cannot be written.
pub(super) fn write_obj(
    path: &Path,
    grid: &MeshGrid,
    parts: &[MeshPart],
    texture: &[u8],
    progress: &JobProgress,
) -> Result<(), Error> {
    let Some(stem) = path.file_stem().and_then(OsStr::to_str) else {
        let wrong = "the file name is not Unicode, but an OBJ file refers to its material by name";
        return Err(Error::output(path, wrong, "choose another name"));
    };
    output::create(path, |file| -> io::Result<()> {
        writeln!(file, "mtllib {stem}.mtl")?;
        let mut first = 1;
        for (index, part) in parts.iter().enumerate() {
            let surface = grid.surface(part);
            writeln!(file, "o {}\nusemtl ground", part.name)?;
            for [x, y, z] in &surface.places {
                writeln!(file, "v {x} {y} {z}")?;
            }
            for [u, v] in &surface.texture {
                // The origin is the lower left corner.
                writeln!(file, "vt {u} {}", 1.0 - v)?;
            }
            for [x, y, z] in &surface.normals {
                writeln!(file, "vn {x} {y} {z}")?;
            }
            for corners in &surface.triangles {
                let [a, b, c] = corners.map(|corner| corner + first);
                writeln!(file, "f {a}/{a}/{a} {b}/{b}/{b} {c}/{c}/{c}")?;
            }
            first += surface.places.len() as u32;
            progress.done(index + 1, parts.len() + 1);
        }
        Ok(())
    })?;
    let material = format!("newmtl ground\nKd 1 1 1\nKs 0 0 0\nmap_Kd {stem}.png\n");
    output::write(&path.with_extension("mtl"), material)?;
    output::write(&path.with_extension("png"), texture)
}

/// Writes a binary STL file in millimetres: a watertight solid of terrain, walls and a flat base, with heights to scale.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write_stl(
    path: &Path,
    grid: &MeshGrid,
    print: PrintDimensions,
    progress: &JobProgress,
) -> Result<(), Error> {
    let (width, height) = grid.size();
    let ground = &grid.ground;
    let scale = print.width / (ground.width().max(ground.height()) as f32 * grid.cell_size);
    let lowest = ground.min_max().0;
    // x to the right and y to the top of the image, z up, from the lower left corner.
    let corner = [ground.width(), ground.height()].map(|cells| 0.5 * cells as f32 * grid.cell_size);
    let top = |vertex: usize| {
        let [x, up, z] = grid.place(vertex % width, vertex / width);
        [(x + corner[0]) * scale, (corner[1] - z) * scale, print.base + (up - lowest) * scale]
    };
    let foot = |vertex: usize| {
        let [x, y, _] = top(vertex);
        [x, y, 0.0]
    };
    let [right, up, _] = top(width - 1);
    let middle = [0.5 * right, 0.5 * up, 0.0];
    let rim = rim(width, height);
    let surface = 2 * (width - 1) * (height - 1);
    let count = surface + 3 * rim.len();
    let triangle = |index: usize| {
        progress.done(index, count);
        if index < surface {
            return facet(triangle(width, index).map(|vertex| top(vertex as usize)));
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

/// Returns the border vertices in the winding order of the surface's open edge: down the left, along the bottom, up the right, back along
/// the top.
fn rim(width: usize, height: usize) -> Vec<usize> {
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
