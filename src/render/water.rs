//! Water: a transparent second surface over each block, where there is water.

use std::sync::Arc;

use bevy::{
    prelude::*,
    render::render_resource::{AsBindGroup, ShaderType},
};

use super::{
    ground::{BlockLighting, BlockSurface, TerrainBlocks},
    lod::ChunkSet,
    material::{Variant, update},
    overlay::OverlayTextures,
    pass::{SurfaceMaterial, SurfacePlugin},
    uniforms::SceneUniforms,
};
use crate::world::{Comparison, FrameSystems, Simulations, TICKS_PER_SECOND};
use thalweg_scene::look::WaterLook;

/// Water uniforms; mirrors `Water` in `shaders/water.wgsl`.
#[derive(ShaderType, Clone, Copy, Debug, Default, PartialEq)]
struct WaterUniforms {
    color: Vec4,
    silt: Vec4,
    film: Vec4,
    clock: Vec4,
}

impl WaterUniforms {
    /// Waves are animated by ticks: they stop when the simulation is paused, and a tick always renders the same image.
    fn new(look: &WaterLook, opacity: f32, ticks: u64) -> Self {
        let color = |color: [f32; 3], last: f32| Color::srgb_from_array(color).to_linear().to_vec3().extend(last);
        Self {
            color: color(look.color, look.clarity),
            silt: color(look.silt_color, look.ripples),
            film: Vec4::new(look.least_depth(), 1.5 * look.film, look.mirror, look.glint),
            clock: Vec4::new((ticks as f64 / TICKS_PER_SECOND % 1000.0) as f32, opacity, 0.0, 0.0),
        }
    }
}

#[derive(Asset, TypePath, AsBindGroup, Clone, PartialEq)]
#[bind_group_data(Variant)]
struct WaterMaterial {
    #[uniform(0)]
    scene: SceneUniforms,
    #[texture(1, sample_type = "float", filterable = false, visibility(vertex, fragment))]
    layers: Handle<Image>,
    #[texture(2, sample_type = "float", filterable = false, visibility(vertex, fragment))]
    motion: Handle<Image>,
    #[uniform(3)]
    water: WaterUniforms,
    #[texture(6)]
    #[sampler(7)]
    relief: Handle<Image>,
}

impl From<&WaterMaterial> for Variant {
    fn from(WaterMaterial { scene, .. }: &WaterMaterial) -> Self {
        Self::with(&[
            ("SPLIT", scene.is_split()),
            ("CLOUDS", scene.has_clouds()),
            ("RING", scene.has_ring()),
            ("CUT", scene.is_cut()),
        ])
    }
}

impl SurfaceMaterial for WaterMaterial {
    const SHADER: &'static str = "water.wgsl";
    const ORDER: u8 = 5;
    const OPAQUE: bool = false;
    const LAND: bool = true;
}

/// Water of each block, where there is any.
#[derive(Resource, Default)]
struct BlockWaters(Vec<Option<WaterSheet>>);

struct WaterSheet {
    entity: Entity,
    chunk_set: ChunkSet,
    material: Handle<WaterMaterial>,
}

pub(super) fn plugin(app: &mut App) {
    app.add_plugins(SurfacePlugin::<WaterMaterial>::default())
        .init_resource::<BlockWaters>()
        .add_systems(Update, show_water.in_set(FrameSystems::Decorate));
}

/// Adds a surface to every block with water, and removes it from the others.
fn show_water(
    simulations: Res<Simulations>,
    comparison: Res<State<Comparison>>,
    (blocks, lighting): (Res<TerrainBlocks>, Res<BlockLighting>),
    motions: Res<OverlayTextures>,
    mut waters: ResMut<BlockWaters>,
    mut materials: ResMut<Assets<WaterMaterial>>,
    mut commands: Commands,
) {
    if !(simulations.is_changed()
        || comparison.is_changed()
        || blocks.is_changed()
        || lighting.is_changed()
        || motions.is_changed())
    {
        return;
    }
    let beds: Vec<BlockSurface> = blocks.beds().collect();
    let remaining = beds.len().min(waters.0.len());
    for sheet in waters.0.drain(remaining..).flatten() {
        commands.entity(sheet.entity).despawn();
    }
    waters.0.resize_with(beds.len(), || None);
    for (index, ((slot, bed), session)) in waters.0.iter_mut().zip(beds).zip(simulations.all()).enumerate() {
        let BlockSurface { bounds, uniforms, layers, relief, water, .. } = bed;
        // There is no water at the start.
        let hidden = !session.water_look.shown || *comparison == Comparison::Start || motions.water_opacity <= 0.0;
        let Some(coverage) = water.filter(|_| !hidden) else {
            if let Some(sheet) = slot.take() {
                commands.entity(sheet.entity).despawn();
            }
            continue;
        };
        let look = &simulations.selected().water_look;
        let wanted = WaterMaterial {
            scene: *uniforms,
            layers: layers.clone(),
            motion: motions.image(index).clone(),
            water: WaterUniforms::new(look, motions.water_opacity, simulations.ticks()),
            relief: relief.clone(),
        };
        let chunk_set = ChunkSet { bounds, only: Some((Arc::clone(coverage), look.least_depth())) };
        match slot {
            Some(sheet) => {
                if sheet.chunk_set != chunk_set {
                    sheet.chunk_set = chunk_set.clone();
                    commands.entity(sheet.entity).insert(blocks.piece(sheet.material.clone(), chunk_set));
                }
                update(&mut materials, &sheet.material, |material| *material = wanted);
            }
            None => {
                let material = materials.add(wanted);
                let entity = commands.spawn(blocks.piece(material.clone(), chunk_set.clone())).id();
                *slot = Some(WaterSheet { entity, chunk_set, material });
            }
        }
    }
}
