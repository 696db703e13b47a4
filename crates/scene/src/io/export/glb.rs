//! Terrain mesh in glTF, with normals and a colour map.

use std::{array::from_fn, path::Path};

use gltf::{Glb, binary::Header};
use serde_json::json;

use super::mesh::{places, triangles};
use crate::io::{Error, JobProgress, output};
use thalweg_sim::core::{analysis, terrain::Terrain};

// Constants of the format.
const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
const ARRAY_BUFFER: u32 = 34962;
const ELEMENT_ARRAY_BUFFER: u32 = 34963;
const LINEAR: u32 = 9729;
const CLAMP_TO_EDGE: u32 = 33071;

/// Writes a binary glTF file: the terrain with normals and the PNG `picture` as its colour texture.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write_glb(path: &Path, terrain: &Terrain, picture: &[u8], progress: &JobProgress) -> Result<(), Error> {
    let (width, height) = (terrain.width(), terrain.height());
    let places = places(terrain);
    let cells = places.len();
    // All parts are consecutive in one buffer; each lies between two of these offsets.
    let (mut bytes, mut ends) = (Vec::with_capacity(cells * 56 + picture.len()), vec![0]);
    let mut put = |numbers: &mut dyn Iterator<Item = [u8; 4]>| {
        bytes.extend(numbers.flatten());
        ends.push(bytes.len());
    };
    put(&mut places.iter().flatten().map(|part| part.to_le_bytes()));
    let normals = analysis::normals(terrain).into_iter().flat_map(|[right, up, out]| [right, out, -up]);
    put(&mut normals.map(f32::to_le_bytes));
    progress.done(1, 4);
    let share = |cell: usize, count: usize| (cell as f32 + 0.5) / count as f32;
    let texture = (0..cells).flat_map(|index| [share(index % width, width), share(index / width, height)]);
    put(&mut texture.map(f32::to_le_bytes));
    put(&mut triangles(width, height).flatten().map(u32::to_le_bytes));
    progress.done(2, 4);
    bytes.extend_from_slice(picture);
    ends.push(bytes.len());
    let view = |part: usize| json!({"buffer": 0, "byteOffset": ends[part], "byteLength": ends[part + 1] - ends[part]});
    let numbers = |part: usize, target: u32| {
        let mut view = view(part);
        view["target"] = target.into();
        view
    };
    let accessor = |part: usize, component: u32, shape: &str, count: usize| json!({"bufferView": part, "componentType": component, "type": shape, "count": count});
    let fold = |start: f32, least: fn(f32, f32) -> f32| -> [f32; 3] {
        places.iter().fold([start; 3], |all, place| from_fn(|axis| least(all[axis], place[axis])))
    };
    let mut positions = accessor(0, FLOAT, "VEC3", cells);
    positions["min"] = json!(fold(f32::INFINITY, f32::min));
    positions["max"] = json!(fold(f32::NEG_INFINITY, f32::max));
    drop(places);
    let document = json!({
        "asset": {"version": "2.0", "generator": concat!("Thalweg ", env!("CARGO_PKG_VERSION"))},
        "buffers": [{"byteLength": bytes.len()}],
        "bufferViews": [
            numbers(0, ARRAY_BUFFER), numbers(1, ARRAY_BUFFER), numbers(2, ARRAY_BUFFER), numbers(3, ELEMENT_ARRAY_BUFFER),
            view(4),
        ],
        "accessors": [
            positions,
            accessor(1, FLOAT, "VEC3", cells),
            accessor(2, FLOAT, "VEC2", cells),
            accessor(3, UNSIGNED_INT, "SCALAR", (ends[4] - ends[3]) / 4),
        ],
        "images": [{"name": "color", "mimeType": "image/png", "bufferView": 4}],
        "samplers": [{"magFilter": LINEAR, "minFilter": LINEAR, "wrapS": CLAMP_TO_EDGE, "wrapT": CLAMP_TO_EDGE}],
        "textures": [{"sampler": 0, "source": 0}],
        "materials": [{
            "name": "ground",
            "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "metallicFactor": 0.0, "roughnessFactor": 0.95},
        }],
        "meshes": [{"name": "terrain", "primitives": [{
            "attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2}, "indices": 3, "material": 0,
        }]}],
        "nodes": [{"name": "terrain", "mesh": 0}],
        "scenes": [{"nodes": [0]}],
        "scene": 0,
    });
    progress.done(3, 4);
    output::create(path, |file| -> Result<(), gltf::Error> {
        // The length is filled in on writing.
        let header = Header { magic: *b"glTF", version: 2, length: 0 };
        Glb { header, json: document.to_string().into_bytes().into(), bin: Some(bytes.into()) }.to_writer(file)
    })
}
