//! Binary glTF: terrain meshes with normals and a colour map, and instances of one mesh.

use std::{array::from_fn, path::Path};

use gltf::{Glb, binary::Header};
use serde_json::{Value, json};

use super::mesh::{MeshGrid, MeshPart, MeshSurface};
use crate::io::{Error, JobProgress, output};

// Constants of the format.
const FLOAT: u32 = 5126;
const UNSIGNED_INT: u32 = 5125;
const ARRAY_BUFFER: u32 = 34962;
const ELEMENT_ARRAY_BUFFER: u32 = 34963;
const LINEAR: u32 = 9729;
const CLAMP_TO_EDGE: u32 = 33071;

/// Buffer of a binary glTF file, with its views and accessors.
#[derive(Default)]
pub(super) struct GlbBuffer {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl GlbBuffer {
    /// Appends bytes as a view, and returns its index.
    fn view(&mut self, bytes: impl Iterator<Item = u8>, count: usize, target: Option<u32>) -> usize {
        let mut view = json!({"buffer": 0, "byteOffset": self.bytes.len(), "byteLength": count});
        if let Some(target) = target {
            view["target"] = target.into();
        }
        self.bytes.reserve_exact(count.next_multiple_of(4));
        self.bytes.extend(bytes);
        // Accessors are aligned to their components.
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.views.push(view);
        self.views.len() - 1
    }

    /// Appends vectors of 2 to 4 components, and returns the index of their accessor.
    fn vectors<const N: usize>(&mut self, vectors: &[[f32; N]], target: Option<u32>) -> usize {
        let bytes = vectors.as_flattened().iter().flat_map(|part| part.to_le_bytes());
        let view = self.view(bytes, size_of_val(vectors), target);
        let fold = |start: f32, least: fn(f32, f32) -> f32| -> [f32; N] {
            vectors.iter().fold([start; N], |all, vector| from_fn(|axis| least(all[axis], vector[axis])))
        };
        self.accessors.push(json!({
            "bufferView": view, "componentType": FLOAT, "type": format!("VEC{N}"), "count": vectors.len(),
            "min": fold(f32::INFINITY, f32::min).to_vec(), "max": fold(f32::NEG_INFINITY, f32::max).to_vec(),
        }));
        self.accessors.len() - 1
    }

    /// Appends an attribute of vertices.
    pub(super) fn vertices<const N: usize>(&mut self, vectors: Vec<[f32; N]>) -> usize {
        self.vectors(&vectors, Some(ARRAY_BUFFER))
    }

    /// Appends an attribute of instances.
    pub(super) fn instances<const N: usize>(&mut self, vectors: Vec<[f32; N]>) -> usize {
        self.vectors(&vectors, None)
    }

    /// Appends corners of triangles.
    pub(super) fn triangles(&mut self, triangles: Vec<[u32; 3]>) -> usize {
        let bytes = triangles.as_flattened().iter().flat_map(|corner| corner.to_le_bytes());
        let view = self.view(bytes, size_of_val(&triangles[..]), Some(ELEMENT_ARRAY_BUFFER));
        let count = 3 * triangles.len();
        self.accessors.push(json!({
            "bufferView": view, "componentType": UNSIGNED_INT, "type": "SCALAR", "count": count,
        }));
        self.accessors.len() - 1
    }

    /// Writes the file with the other entries of its document.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write(self, path: &Path, mut document: Value) -> Result<(), Error> {
        document["asset"] = json!({"version": "2.0", "generator": concat!("Thalweg ", env!("CARGO_PKG_VERSION"))});
        document["buffers"] = json!([{"byteLength": self.bytes.len()}]);
        document["bufferViews"] = self.views.into();
        document["accessors"] = self.accessors.into();
        output::create(path, |file| -> Result<(), gltf::Error> {
            // The length is filled in on writing.
            let header = Header { magic: *b"glTF", version: 2, length: 0 };
            Glb { header, json: document.to_string().into_bytes().into(), bin: Some(self.bytes.into()) }.to_writer(file)
        })
    }
}

/// Writes a terrain mesh with normals and the PNG `texture` as its colour texture: one node per part, in metres, y up.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write_glb(
    path: &Path,
    grid: &MeshGrid,
    parts: &[MeshPart],
    texture: &[u8],
    progress: &JobProgress,
) -> Result<(), Error> {
    let mut buffer = GlbBuffer::default();
    let (mut meshes, mut nodes) = (Vec::new(), Vec::new());
    for (index, part) in parts.iter().enumerate() {
        let MeshSurface { places, normals, texture, triangles } = grid.surface(part);
        let attributes = json!({
            "POSITION": buffer.vertices(places),
            "NORMAL": buffer.vertices(normals),
            "TEXCOORD_0": buffer.vertices(texture),
        });
        let indices = buffer.triangles(triangles);
        meshes.push(json!({
            "name": part.name, "primitives": [{"attributes": attributes, "indices": indices, "material": 0}],
        }));
        nodes.push(json!({"name": part.name, "mesh": index}));
        progress.done(index + 1, parts.len() + 1);
    }
    let image = buffer.view(texture.iter().copied(), texture.len(), None);
    let roots: Vec<usize> = (0..nodes.len()).collect();
    let document = json!({
        "images": [{"name": "color", "mimeType": "image/png", "bufferView": image}],
        "samplers": [{"magFilter": LINEAR, "minFilter": LINEAR, "wrapS": CLAMP_TO_EDGE, "wrapT": CLAMP_TO_EDGE}],
        "textures": [{"sampler": 0, "source": 0}],
        "materials": [{
            "name": "ground",
            "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "metallicFactor": 0.0, "roughnessFactor": 0.95},
        }],
        "meshes": meshes,
        "nodes": nodes,
        "scenes": [{"nodes": roots}],
        "scene": 0,
    });
    buffer.write(path, document)
}
