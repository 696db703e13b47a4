//! Scattered trees as a table and as instances in glTF.

use std::{
    io::{self, Write},
    path::Path,
};

use serde_json::json;

use super::{ExportSubject, glb::GlbBuffer, mesh::MeshSurface, weights::tree_cover};
use crate::io::{Error, JobProgress, output};
use thalweg_sim::core::rng::RandomStream;

/// Smallest distance between trees, in metres.
const SPACING: f64 = 6.0;
/// Maximum number of trees; of larger forests, trees stand farther apart.
const MAX_TREES: f64 = 400_000.0;
/// Height of a tree of size 1, in metres.
const TREE_HEIGHT: f32 = 12.0;
/// Corners of trunk and crown around their axis.
const CORNERS: u32 = 6;

/// Columns of the table.
const COLUMNS: &str = "x_m,y_m,height_m,rotation_deg,scale";

/// Scattered tree.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ScatteredTree {
    /// Position to the right and to the bottom of the image, in metres from the upper left corner.
    place: [f64; 2],
    /// Elevation of the ground, in metres.
    height: f32,
    /// Rotation about the vertical axis, in turns.
    rotation: f32,
    /// Size relative to a tree of average height.
    scale: f32,
}

/// Scatters trees on a terrain without padding, on a jittered grid with a density that follows the tree cover.
fn scattered(subject: &ExportSubject) -> Vec<ScatteredTree> {
    let (cover, ground) = (tree_cover(subject), subject.terrain.ground());
    let cell = f64::from(subject.terrain.cell_size);
    let spacing = (cover.total() * cell * cell / MAX_TREES).sqrt().max(SPACING);
    let [columns, rows] = [cover.width(), cover.height()].map(|cells| (cells as f64 * cell / spacing).floor() as usize);
    let mut random = RandomStream::new(0, "trees", 0);
    let mut trees = Vec::new();
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        let [dx, dy, chance, rotation, size] = std::array::from_fn(|_| random.uniform());
        let place = [(column, dx), (row, dy)].map(|(index, jitter)| (index as f64 + f64::from(jitter)) * spacing);
        let at = place.map(|place| (place / cell - 0.5) as f32);
        let fraction = [place[0] / cell / cover.width() as f64, place[1] / cell / cover.height() as f64];
        let (x, y) = cover.cell_at(fraction.map(|part| part as f32));
        if chance < cover.at(x, y) {
            let height = ground.sample_bilinear(at[0], at[1]);
            trees.push(ScatteredTree { place, height, rotation, scale: 0.7 + 0.6 * size });
        }
    }
    trees
}

/// Writes the trees of a terrain without padding as a table (`csv`) or as glTF with `EXT_mesh_gpu_instancing` (`glb`), in the coordinates
/// of the terrain mesh.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write(path: &Path, subject: &ExportSubject, format: &str, progress: &JobProgress) -> Result<(), Error> {
    let trees = scattered(subject);
    progress.done(1, 2);
    if format == "glb" { write_instances(path, subject, &trees) } else { write_table(path, &trees) }
}

fn write_table(path: &Path, trees: &[ScatteredTree]) -> Result<(), Error> {
    output::create(path, |file| -> io::Result<()> {
        writeln!(file, "{COLUMNS}")?;
        for ScatteredTree { place: [x, y], height, rotation, scale } in trees {
            writeln!(file, "{x:.3},{y:.3},{height:.3},{:.1},{scale:.3}", 360.0 * rotation)?;
        }
        Ok(())
    })
}

fn write_instances(path: &Path, subject: &ExportSubject, trees: &[ScatteredTree]) -> Result<(), Error> {
    let terrain = &subject.terrain;
    let half = [terrain.width(), terrain.height()].map(|cells| 0.5 * cells as f64 * f64::from(terrain.cell_size));
    let mut buffer = GlbBuffer::default();
    let (mut primitives, mut node) = (Vec::new(), json!({"name": "trees"}));
    for (material, [radius, foot, tip]) in [[0.03, 0.0, 0.35], [0.2, 0.15, 1.0]].into_iter().enumerate() {
        let MeshSurface { places, normals, triangles, .. } = cone(radius, foot, tip);
        let attributes = json!({"POSITION": buffer.vertices(places), "NORMAL": buffer.vertices(normals)});
        let indices = buffer.triangles(triangles);
        primitives.push(json!({"attributes": attributes, "indices": indices, "material": material}));
    }
    // Accessors must not be empty.
    if !trees.is_empty() {
        let places: Vec<[f32; 3]> = trees
            .iter()
            .map(|tree| [(tree.place[0] - half[0]) as f32, tree.height, (tree.place[1] - half[1]) as f32])
            .collect();
        let turned = |tree: &ScatteredTree| {
            let half_angle = tree.rotation * std::f32::consts::PI;
            [0.0, half_angle.sin(), 0.0, half_angle.cos()]
        };
        let rotations: Vec<[f32; 4]> = trees.iter().map(turned).collect();
        let scales: Vec<[f32; 3]> = trees.iter().map(|tree| [tree.scale; 3]).collect();
        node["mesh"] = 0.into();
        node["extensions"] = json!({"EXT_mesh_gpu_instancing": {"attributes": {
            "TRANSLATION": buffer.instances(places),
            "ROTATION": buffer.instances(rotations),
            "SCALE": buffer.instances(scales),
        }}});
    }
    let material = |name: &str, color: [f32; 4]| json!({"name": name, "pbrMetallicRoughness": {"baseColorFactor": color, "metallicFactor": 0.0}});
    let mut document = json!({
        "materials": [material("trunk", [0.10, 0.06, 0.03, 1.0]), material("crown", [0.03, 0.09, 0.03, 1.0])],
        "meshes": [{"name": "tree", "primitives": primitives}],
        "nodes": [node],
        "scenes": [{"nodes": [0]}],
        "scene": 0,
    });
    if !trees.is_empty() {
        document["extensionsUsed"] = json!(["EXT_mesh_gpu_instancing"]);
        document["extensionsRequired"] = json!(["EXT_mesh_gpu_instancing"]);
    }
    buffer.write(path, document)
}

/// Returns the surface of a cone of this radius between two heights, relative to a tree.
fn cone(radius: f32, foot: f32, tip: f32) -> MeshSurface {
    let mut surface = MeshSurface::default();
    let slant = (radius * radius + (tip - foot) * (tip - foot)).sqrt();
    for corner in 0..CORNERS {
        let around = |corner: f32| {
            let angle = corner / CORNERS as f32 * std::f32::consts::TAU;
            [angle.cos(), angle.sin()]
        };
        let (here, next, between) = (around(corner as f32), around(corner as f32 + 1.0), around(corner as f32 + 0.5));
        let out = (tip - foot) / slant;
        let normal = [between[0] * out, radius / slant, between[1] * out];
        for [x, y, z] in
            [[radius * here[0], foot, radius * here[1]], [0.0, tip, 0.0], [radius * next[0], foot, radius * next[1]]]
        {
            surface.places.push([x * TREE_HEIGHT, y * TREE_HEIGHT, z * TREE_HEIGHT]);
            surface.normals.push(normal);
        }
        surface.triangles.push([3 * corner, 3 * corner + 1, 3 * corner + 2]);
    }
    surface
}
