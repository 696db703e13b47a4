//! Meshes of the ground: glTF with its colour map, OBJ, and a watertight STL to print.

use std::{
    io::{self, Write},
    path::Path,
};

use serde_json::json;

use crate::{
    io::{Error, Progress, output},
    sim::{analysis, grid::Grid, terrain::Terrain},
};

/// Numbers of glTF for what a buffer holds and how textures are drawn.
const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
const VERTICES: u32 = 34962;
const INDICES: u32 = 34963;
const LINEAR: u32 = 9729;
const CLAMP: u32 = 33071;

/// A print: how wide it gets, and how thick it is below the lowest ground, in millimetres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Print {
    /// Longer side.
    pub width: f32,
    /// Thickness below the lowest ground.
    pub base: f32,
}

impl Default for Print {
    fn default() -> Self {
        Self { width: 150.0, base: 3.0 }
    }
}

/// Places of the ground's cells in metres: x to the right in the picture, z down in it, y upwards; the middle is 0.
fn places(terrain: &Terrain) -> Vec<[f32; 3]> {
    let ground = terrain.ground();
    let (width, height) = (ground.width(), ground.height());
    let middle = |cell: usize, count: usize| (cell as f32 - 0.5 * (count as f32 - 1.0)) * terrain.cell_size;
    (0..ground.len())
        .map(|index| [middle(index % width, width), ground[index], middle(index / width, height)])
        .collect()
}

/// Two triangles for four cells each, seen from above against the clock.
fn triangles(width: usize, height: usize) -> impl Iterator<Item = [u32; 3]> {
    (0..height.saturating_sub(1)).flat_map(move |y| {
        (0..width.saturating_sub(1)).flat_map(move |x| {
            let [a, b, c, d] = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)].map(|(x, y)| (y * width + x) as u32);
            [[a, c, b], [b, c, d]]
        })
    })
}

/// Writes a binary glTF file: the ground with normals and `picture`, a PNG, as its colour.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write_glb(path: &Path, terrain: &Terrain, picture: &[u8], progress: &Progress) -> Result<(), Error> {
    let (width, height) = (terrain.width(), terrain.height());
    let places = places(terrain);
    let normals: Vec<[f32; 3]> =
        analysis::normals(terrain).into_iter().map(|[right, up, out]| [right, out, -up]).collect();
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for place in &places {
        for axis in 0..3 {
            (low[axis], high[axis]) = (low[axis].min(place[axis]), high[axis].max(place[axis]));
        }
    }
    let share = |cell: usize, count: usize| (cell as f32 + 0.5) / count as f32;
    let count = places.len();
    let mut buffer: Vec<u8> = Vec::with_capacity(count * 56 + picture.len());
    let mut views = Vec::new();
    let mut view = |buffer: &[u8], start: usize, target: Option<u32>| {
        let mut view = json!({"buffer": 0, "byteOffset": start, "byteLength": buffer.len() - start});
        if let Some(target) = target {
            view["target"] = json!(target);
        }
        views.push(view);
    };
    buffer.extend(places.iter().flatten().flat_map(|part| part.to_le_bytes()));
    view(&buffer, 0, Some(VERTICES));
    let start = buffer.len();
    buffer.extend(normals.iter().flatten().flat_map(|part| part.to_le_bytes()));
    view(&buffer, start, Some(VERTICES));
    progress.done(1, 4);
    let start = buffer.len();
    let texture = (0..count).flat_map(|index| [share(index % width, width), share(index / width, height)]);
    buffer.extend(texture.flat_map(f32::to_le_bytes));
    view(&buffer, start, Some(VERTICES));
    let start = buffer.len();
    buffer.extend(triangles(width, height).flatten().flat_map(u32::to_le_bytes));
    let indices = (buffer.len() - start) / 4;
    view(&buffer, start, Some(INDICES));
    progress.done(2, 4);
    let start = buffer.len();
    buffer.extend(picture);
    view(&buffer, start, None);
    buffer.resize(buffer.len().next_multiple_of(4), 0);
    let floats =
        |view: usize, kind: &str| json!({"bufferView": view, "componentType": FLOAT, "count": count, "type": kind});
    let mut place_accessor = floats(0, "VEC3");
    (place_accessor["min"], place_accessor["max"]) = (json!(low), json!(high));
    let scene = json!({
        "asset": {"version": "2.0", "generator": concat!("Thalweg ", env!("CARGO_PKG_VERSION"))},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "name": "terrain"}],
        "meshes": [{"name": "terrain", "primitives": [{
            "attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2}, "indices": 3, "material": 0, "mode": 4,
        }]}],
        "materials": [{"name": "ground", "pbrMetallicRoughness": {
            "baseColorTexture": {"index": 0}, "metallicFactor": 0.0, "roughnessFactor": 0.95,
        }}],
        "textures": [{"source": 0, "sampler": 0}],
        "samplers": [{"magFilter": LINEAR, "minFilter": LINEAR, "wrapS": CLAMP, "wrapT": CLAMP}],
        "images": [{"bufferView": 4, "mimeType": "image/png", "name": "color"}],
        "accessors": [
            place_accessor,
            floats(1, "VEC3"),
            floats(2, "VEC2"),
            {"bufferView": 3, "componentType": UNSIGNED_INT, "count": indices, "type": "SCALAR"},
        ],
        "bufferViews": views,
        "buffers": [{"byteLength": buffer.len()}],
    });
    let mut text = scene.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let written = output::create(path, |file| -> io::Result<()> {
        let whole = 12 + 8 + text.len() + 8 + buffer.len();
        file.write_all(b"glTF")?;
        for number in [2, whole as u32, text.len() as u32] {
            file.write_all(&number.to_le_bytes())?;
        }
        file.write_all(b"JSON")?;
        file.write_all(&text)?;
        file.write_all(&(buffer.len() as u32).to_le_bytes())?;
        file.write_all(b"BIN\0")?;
        file.write_all(&buffer)
    });
    progress.done(3, 4);
    written.map_err(|error| Error::unwritable(path, &error))
}

/// Writes a Wavefront OBJ file, with its material and `picture`, a PNG, beside it under the same stem.
///
/// # Errors
/// A file cannot be written.
pub(super) fn write_obj(path: &Path, terrain: &Terrain, picture: &[u8], progress: &Progress) -> Result<(), Error> {
    let (width, height) = (terrain.width(), terrain.height());
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let written = output::create(path, |file| -> io::Result<()> {
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
    });
    written.map_err(|error| Error::unwritable(path, &error))?;
    let material = format!("newmtl ground\nKd 1 1 1\nKs 0 0 0\nmap_Kd {stem}.png\n");
    output::write(&path.with_extension("mtl"), material)?;
    output::write(&path.with_extension("png"), picture)
}

/// Writes a binary STL file in millimetres: the ground, walls and a flat bottom, closed all round. Heights are to scale with
/// the sides.
///
/// # Errors
/// The map has fewer than two columns or rows, or the file cannot be written.
pub(super) fn write_stl(path: &Path, terrain: &Terrain, print: Print, progress: &Progress) -> Result<(), Error> {
    let (width, height) = (terrain.width(), terrain.height());
    if width < 2 || height < 2 {
        return Err(Error::output(path, "the map is a single line", "print one of two columns and rows at least"));
    }
    let ground = terrain.ground();
    let scale = print.width / ((width.max(height) - 1) as f32 * terrain.cell_size);
    let lowest = ground.min_max().0;
    // Right in the picture, up in it, and upwards.
    let top = |index: usize| {
        let (x, y) = ((index % width) as f32, (height - 1 - index / width) as f32);
        [x, y]
            .map(|cell| cell * terrain.cell_size * scale)
            .into_iter()
            .chain([print.base + (ground[index] - lowest) * scale])
    };
    let top = |index: usize| -> [f32; 3] {
        let mut parts = top(index);
        std::array::from_fn(|_| parts.next().unwrap_or_default())
    };
    let foot = |index: usize| {
        let [x, y, _] = top(index);
        [x, y, 0.0]
    };
    let rim = rim(&ground);
    let count = 2 * (width - 1) * (height - 1) + 3 * rim.len();
    let written = output::create(path, |file| -> io::Result<()> {
        let mut header = [0; 80];
        header[..14].copy_from_slice(b"Thalweg, in mm");
        file.write_all(&header)?;
        file.write_all(&(count as u32).to_le_bytes())?;
        let mut put = |corners: [[f32; 3]; 3]| {
            let normal = normal(corners);
            let numbers = std::iter::once(normal).chain(corners).flatten();
            let mut bytes: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
            bytes.extend([0, 0]);
            file.write_all(&bytes)
        };
        for corners in triangles(width, height) {
            put(corners.map(|corner| top(corner as usize)))?;
        }
        progress.done(1, 2);
        let middle = [0, 1].map(|axis| 0.5 * (foot(0)[axis] + foot(width * height - 1)[axis]));
        let middle = [middle[0], middle[1], 0.0];
        for (index, &here) in rim.iter().enumerate() {
            let next = rim[(index + 1) % rim.len()];
            put([top(here), foot(here), top(next)])?;
            put([top(next), foot(here), foot(next)])?;
            put([foot(next), foot(here), middle])?;
        }
        Ok(())
    });
    written.map_err(|error| Error::unwritable(path, &error))
}

/// Cells of the border, in the order in which the surface's triangles leave it open: down the left, along the bottom, up the
/// right, back along the top.
fn rim(ground: &Grid) -> Vec<usize> {
    let (width, height) = (ground.width(), ground.height());
    let down = (0..height - 1).map(|y| y * width);
    let right = (0..width - 1).map(|x| (height - 1) * width + x);
    let up = (1..height).rev().map(|y| y * width + width - 1);
    let left = (1..width).rev();
    down.chain(right).chain(up).chain(left).collect()
}

fn normal([a, b, c]: [[f32; 3]; 3]) -> [f32; 3] {
    let from = |to: [f32; 3]| -> [f32; 3] { std::array::from_fn(|axis| to[axis] - a[axis]) };
    let (u, v) = (from(b), from(c));
    let cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let length = cross.iter().map(|part| part * part).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    cross.map(|part| part / length)
}
