//! Rivers: a surface on the triangles of the ground, in chunks that contain rivers, with a texture of the nearest river of every
//! cell. A second texture of drainage area makes the ground greener along streams.

use std::sync::Arc;

use bevy::{
    ecs::system::SystemParam,
    prelude::*,
    render::render_resource::{AsBindGroup, ShaderType},
};
use rayon::prelude::*;

use super::{
    ground::{BlockSurface, GroundMaterial, TerrainBlocks},
    layers::{byte_image, layer_image},
    lod::{ChunkSet, Coverage},
    material::{Variant, update},
    overlay::OverlayTextures,
    pass::{SurfaceMaterial, SurfacePlugin},
    uniforms::SceneUniforms,
};
use crate::world::{Comparison, FrameSystems, Overlay, RiverOverlay, Simulations, TICKS_PER_SECOND};
use thalweg_scene::look::WaterLook;
use thalweg_sim::{
    core::tiles::Tiling,
    hydrology::network::{NearestRiver, RiverMaps},
};

/// River uniforms; mirrors `River` in `shaders/rivers.wgsl`.
#[derive(ShaderType, Clone, Copy, Debug, Default, PartialEq)]
struct RiverUniforms {
    color: Vec4,
    waves: Vec4,
}

impl RiverUniforms {
    fn new(look: &WaterLook, ticks: u64) -> Self {
        let color = Color::srgb_from_array(look.color).to_linear().to_vec3();
        let clock = (ticks as f64 / TICKS_PER_SECOND % 1000.0) as f32;
        Self { color: color.extend(look.clarity), waves: Vec4::new(look.ripples, look.mirror, look.glint, clock) }
    }
}

#[derive(Asset, TypePath, AsBindGroup, Clone, PartialEq)]
#[bind_group_data(Variant)]
struct RiverMaterial {
    #[uniform(0)]
    scene: SceneUniforms,
    #[texture(1, sample_type = "float", filterable = false, visibility(vertex, fragment))]
    layers: Handle<Image>,
    #[texture(4, sample_type = "float", filterable = false)]
    channels: Handle<Image>,
    #[uniform(5)]
    river: RiverUniforms,
    #[texture(6)]
    #[sampler(7)]
    relief: Handle<Image>,
    #[texture(8)]
    cover: Handle<Image>,
}

impl From<&RiverMaterial> for Variant {
    fn from(RiverMaterial { scene, .. }: &RiverMaterial) -> Self {
        Self::with(&[
            ("SPLIT", scene.is_split()),
            ("CLOUDS", scene.has_clouds()),
            ("RING", scene.has_ring()),
            ("CUT", scene.is_cut()),
        ])
    }
}

impl SurfaceMaterial for RiverMaterial {
    const SHADER: &'static str = "rivers.wgsl";
    const ORDER: u8 = 4;
    const OPAQUE: bool = false;
    const LAND: bool = true;
    const WALLS: bool = false;
    const MARKS: bool = true;
}

/// Rivers of the present blocks, then of the starts; `None` for blocks without rivers.
#[derive(Resource, Default)]
struct BlockRivers(Vec<Option<RiverTextures>>);

/// Textures of the nearest river and of the drainage area, their source, and the surface that draws them.
struct RiverTextures {
    image: Handle<Image>,
    flow: Handle<Image>,
    of: Arc<RiverMaps>,
    coverage: Arc<Coverage>,
    drawn: Option<(Entity, ChunkSet, Handle<RiverMaterial>)>,
}

impl RiverTextures {
    /// Updates the textures from a river map.
    fn take(&mut self, (width, height): (usize, usize), of: &Arc<RiverMaps>, images: &mut Assets<Image>) {
        let bytes = [texels(&of.nearest), of.flow.clone()];
        for (handle, bytes) in [&self.image, &self.flow].into_iter().zip(bytes) {
            if let Some(mut image) = images.get_mut(handle) {
                image.data = Some(bytes);
            }
        }
        self.coverage = Arc::new(coverage((width, height), &of.nearest));
        self.of = Arc::clone(of);
    }

    fn new(size: (usize, usize), of: &Arc<RiverMaps>, images: &mut Assets<Image>) -> Self {
        let image = images.add(layer_image(size, texels(&of.nearest)));
        let flow = images.add(byte_image(size, of.flow.clone()));
        let coverage = Arc::new(coverage(size, &of.nearest));
        Self { image, flow, of: Arc::clone(of), coverage, drawn: None }
    }
}

pub(super) fn plugin(app: &mut App) {
    app.add_plugins(SurfacePlugin::<RiverMaterial>::default())
        .init_resource::<BlockRivers>()
        .add_systems(Update, show.in_set(FrameSystems::Decorate));
}

/// Assets that make up the rivers.
#[derive(SystemParam)]
struct RiverAssets<'w, 's> {
    images: ResMut<'w, Assets<Image>>,
    grounds: ResMut<'w, Assets<GroundMaterial>>,
    rivers: ResMut<'w, Assets<RiverMaterial>>,
    commands: Commands<'w, 's>,
}

/// Updates the rivers. Overlays hide them.
fn show(
    (simulations, channels, overlay, comparison): (
        Res<Simulations>,
        Res<RiverOverlay>,
        Res<Overlay>,
        Res<State<Comparison>>,
    ),
    (blocks, motions): (Res<TerrainBlocks>, Res<OverlayTextures>),
    mut rivers: ResMut<BlockRivers>,
    mut assets: RiverAssets,
) {
    if !(simulations.is_changed()
        || channels.is_changed()
        || overlay.is_changed()
        || blocks.is_changed()
        || comparison.is_changed())
    {
        return;
    }
    let present = if *comparison == Comparison::Start { &channels.starts } else { &channels.maps };
    let present = blocks.materials().zip(blocks.beds()).enumerate().map(|(run, block)| (run, block, present));
    let starts = blocks.materials_of_starts().zip(blocks.beds_of_starts());
    let starts = starts.enumerate().map(|(run, block)| (run, block, &channels.starts));
    let wanted: Vec<_> = present.chain(starts).collect();
    let despawn = |river: RiverTextures, commands: &mut Commands| {
        if let Some((entity, ..)) = river.drawn {
            commands.entity(entity).despawn();
        }
    };
    let remaining = wanted.len().min(rivers.0.len());
    for gone in rivers.0.drain(remaining..).flatten() {
        despawn(gone, &mut assets.commands);
    }
    rivers.0.resize_with(wanted.len(), || None);
    for ((run, (ground, bed), maps), slot) in wanted.into_iter().zip(&mut rivers.0) {
        let Some(session) = simulations.all().get(run) else { continue };
        let terrain = &session.simulation.terrain;
        let fits = |map: &&Arc<RiverMaps>| map.nearest.len() == terrain.bedrock.len();
        let map = maps
            .get(run)
            .and_then(Option::as_ref)
            .filter(fits)
            .filter(|_| session.rivers.shown && !overlay.has_values_or_arrows());
        let Some(map) = map else {
            if let Some(gone) = slot.take() {
                despawn(gone, &mut assets.commands);
            }
            update(&mut assets.grounds, ground, |material| material.flow = motions.dry.clone());
            continue;
        };
        let size = (terrain.width(), terrain.height());
        let same_size = |image: &Image| image.size() == UVec2::new(size.0 as u32, size.1 as u32);
        if let Some(gone) = slot.take_if(|river| !assets.images.get(&river.image).is_some_and(same_size)) {
            despawn(gone, &mut assets.commands);
        }
        let river = slot.get_or_insert_with(|| RiverTextures::new(size, map, &mut assets.images));
        if !Arc::ptr_eq(&river.of, map) {
            river.take(size, map, &mut assets.images);
        }
        update(&mut assets.grounds, ground, |material| material.flow = river.flow.clone());
        let BlockSurface { bounds, uniforms, layers, relief, cover, .. } = bed;
        let wanted = RiverMaterial {
            scene: *uniforms,
            layers: layers.clone(),
            channels: river.image.clone(),
            river: RiverUniforms::new(&session.water_look, simulations.ticks()),
            relief: relief.clone(),
            cover: cover.clone(),
        };
        let chunk_set = ChunkSet { bounds, only: Some((Arc::clone(&river.coverage), 0.0)) };
        match &mut river.drawn {
            Some((entity, drawn, material)) => {
                if *drawn != chunk_set {
                    drawn.clone_from(&chunk_set);
                    assets.commands.entity(*entity).insert(blocks.piece(material.clone(), chunk_set));
                }
                update(&mut assets.rivers, material, |material| *material = wanted);
            }
            None => {
                let material = assets.rivers.add(wanted);
                let entity = assets.commands.spawn(blocks.piece(material.clone(), chunk_set.clone())).id();
                river.drawn = Some((entity, chunk_set, material));
            }
        }
    }
}

/// Returns the coverage of rivers.
fn coverage((width, height): (usize, usize), map: &[NearestRiver]) -> Coverage {
    let tiling = Tiling::new(width, height);
    // A chunk reaches to the first cells of the next.
    let widest = |tile: usize| {
        let [columns, rows] = tiling.cells(tile);
        let [right, below] = [(columns.end + 1).min(width), (rows.end + 1).min(height)];
        let cells = (rows.start..below).flat_map(|y| &map[y * width + columns.start..y * width + right]);
        cells.fold(0.0, |widest: f32, cell| widest.max(cell.half_width))
    };
    Coverage::new(tiling, (0..tiling.count()).into_par_iter().map(widest).collect())
}

/// Encodes the texels of the river texture.
fn texels(map: &[NearestRiver]) -> Vec<u8> {
    let mut bytes = vec![0; 16 * map.len()];
    bytes.par_chunks_mut(16).with_min_len(1 << 12).zip(map).for_each(|(texel, cell)| {
        let NearestRiver { heading, aside, half_width, depth } = *cell;
        texel.copy_from_slice([heading, aside, half_width, depth].map(f32::to_le_bytes).as_flattened());
    });
    bytes
}
