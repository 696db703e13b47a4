//! The face of a block that is cut open along the cross-section line.

use bevy::{
    asset::RenderAssetUsages,
    mesh::{Indices, PrimitiveTopology},
    prelude::*,
    render::render_resource::{AsBindGroup, ShaderType},
};

use super::{
    ground::{BlockSurface, TerrainBlocks},
    material::{Variant, update},
    pass::{DrawnMesh, SurfaceMaterial, SurfacePlugin},
    uniforms::SceneUniforms,
};
use crate::world::{CutLine, FrameSystems, Simulations};

/// Segments of the line.
const PARTS: u32 = 1024;

/// Cut uniforms; mirrors `Cut` in `shaders/cut.wgsl`.
#[derive(ShaderType, Clone, Copy, Debug, Default, PartialEq)]
struct CutUniforms {
    line: Vec4,
    water: Vec4,
    silt: Vec4,
}

#[derive(Asset, TypePath, AsBindGroup, Clone, PartialEq)]
#[bind_group_data(Variant)]
struct CutMaterial {
    #[uniform(0)]
    scene: SceneUniforms,
    #[texture(1, sample_type = "float", filterable = false, visibility(vertex, fragment))]
    layers: Handle<Image>,
    #[uniform(3)]
    cut: CutUniforms,
}

impl From<&CutMaterial> for Variant {
    fn from(_: &CutMaterial) -> Self {
        Self::with(&[])
    }
}

impl SurfaceMaterial for CutMaterial {
    const SHADER: &'static str = "cut.wgsl";
    const ORDER: u8 = 2;
    const OPAQUE: bool = true;
}

/// Cut faces, one per block.
#[derive(Resource, Default)]
struct CutFaces {
    mesh: Handle<Mesh>,
    drawn: Vec<(Entity, Handle<CutMaterial>)>,
}

pub(super) fn plugin(app: &mut App) {
    app.add_plugins(SurfacePlugin::<CutMaterial>::default())
        .init_resource::<CutFaces>()
        .add_systems(Update, show.in_set(FrameSystems::Decorate));
}

/// Updates the faces of all cut blocks.
fn show(
    simulations: Res<Simulations>,
    line: Res<CutLine>,
    blocks: Res<TerrainBlocks>,
    mut faces: ResMut<CutFaces>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<CutMaterial>>,
    mut commands: Commands,
) {
    let ends = line.0;
    if ends.is_none() && faces.drawn.is_empty() {
        return;
    }
    let wanted: Vec<CutMaterial> = blocks
        .beds()
        .zip(simulations.all())
        .filter_map(|(BlockSurface { uniforms, layers, .. }, session)| {
            let line = uniforms.cut_line(ends?)?;
            let look = &session.water_look;
            let color = |color: [f32; 3], last: f32| Color::srgb_from_array(color).to_linear().to_vec3().extend(last);
            // Hidden water is treated as having no depth.
            let least = if look.shown { look.film } else { f32::MAX };
            let cut = CutUniforms { line, water: color(look.color, least), silt: color(look.silt_color, 0.0) };
            uniforms.is_cut().then(|| CutMaterial { scene: *uniforms, layers: layers.clone(), cut })
        })
        .collect();
    let faces = &mut *faces;
    if faces.mesh == Handle::default() {
        faces.mesh = meshes.add(strip());
    }
    for (entity, _) in faces.drawn.drain(wanted.len().min(faces.drawn.len())..) {
        commands.entity(entity).despawn();
    }
    for (index, wanted) in wanted.into_iter().enumerate() {
        if let Some((_, material)) = faces.drawn.get(index) {
            update(&mut materials, material, |material| *material = wanted);
        } else {
            let material = materials.add(wanted);
            let piece = DrawnMesh { mesh: faces.mesh.clone(), material: material.clone(), chunk_set: None };
            faces.drawn.push((commands.spawn(piece).id(), material));
        }
    }
}

/// Builds a strip of quads: x runs from 0 to 1 along the line, y is 0 at the base and 1 at the surface.
fn strip() -> Mesh {
    let corner = |part: u32, up: f32| [part as f32 / PARTS as f32, up, 0.0];
    let positions: Vec<[f32; 3]> = (0..=PARTS).flat_map(|part| [corner(part, 0.0), corner(part, 1.0)]).collect();
    let quad = |part: u32| [0, 1, 2, 2, 1, 3].map(|corner| 2 * part + corner);
    let indices: Vec<u32> = (0..PARTS).flat_map(quad).collect();
    Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::RENDER_WORLD)
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, positions)
        .with_inserted_indices(Indices::U32(indices))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_strip_covers_the_whole_line() {
        let mesh = strip();
        let positions = mesh.attribute(Mesh::ATTRIBUTE_POSITION).and_then(|values| values.as_float3()).unwrap_or(&[]);
        assert_eq!(positions.len(), 2 * (PARTS as usize + 1));
        assert_eq!((positions[0], positions[positions.len() - 1]), ([0.0, 0.0, 0.0], [1.0, 1.0, 0.0]));
        let Some(Indices::U32(indices)) = mesh.indices() else { panic!("it has indices") };
        assert!(indices.iter().all(|index| (*index as usize) < positions.len()));
    }
}
