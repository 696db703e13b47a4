//! The ground and the sky: meshes, materials, and the height texture that follows the simulation.

use bevy::{
    asset::RenderAssetUsages,
    camera::visibility::NoFrustumCulling,
    light::{CascadeShadowConfigBuilder, DirectionalLightShadowMap, NotShadowCaster, NotShadowReceiver},
    mesh::{Indices, MeshVertexBufferLayoutRef, PrimitiveTopology},
    pbr::{MaterialPipeline, MaterialPipelineKey},
    prelude::*,
    render::{
        render_resource::{
            AsBindGroup, Extent3d, RenderPipelineDescriptor, ShaderType, SpecializedMeshPipelineError,
            TextureDimension, TextureFormat,
        },
        renderer::RenderAdapterInfo,
    },
    shader::ShaderRef,
};

use super::{SIDE, ViewSystems};
use crate::{
    look::Look,
    runtime::{Live, Revision},
    sim::terrain::Terrain,
};

/// Vertices on a side of the ground mesh, at most; finer maps are sampled between.
const MOST_VERTICES: usize = 1024;
/// Height of the block below the lowest ground, as a share of its shorter side.
const BASE: f32 = 0.05;

const TERRAIN_SHADER: &str = "embedded://thalweg/shaders/terrain.wgsl";
const SKY_SHADER: &str = "embedded://thalweg/shaders/sky.wgsl";

/// The numbers that the shaders see; `Scene` in `shaders/lib/scene.wgsl` is its twin.
#[derive(ShaderType, Clone, Copy, Debug, Default, PartialEq)]
struct SceneNumbers {
    extent: Vec4,
    grid: Vec4,
    flat_color: Vec4,
    steep_color: Vec4,
    sand_color: Vec4,
    ground: Vec4,
    sun: Vec4,
    phong: Vec4,
}

/// Towards the sun in world space: x along columns, z along rows, y up.
fn towards_sun(look: &Look) -> Vec3 {
    let (azimuth, elevation) = (look.sun_azimuth.to_radians(), look.sun_elevation.to_radians());
    Vec3::new(azimuth.sin() * elevation.cos(), elevation.sin(), -azimuth.cos() * elevation.cos())
}

/// World units per metre across the map; heights have it times the vertical exaggeration.
fn units_per_metre(terrain: &Terrain) -> f32 {
    SIDE / (terrain.width().min(terrain.height()).max(2) as f32 * terrain.cell_size)
}

impl SceneNumbers {
    fn new(terrain: &Terrain, look: &Look) -> Self {
        let scale = units_per_metre(terrain);
        let color = |color: [f32; 3]| Color::srgb_from_array(color).to_linear().to_vec4();
        let (columns, rows) = (terrain.width() as f32, terrain.height() as f32);
        let unit = scale * terrain.cell_size;
        Self {
            extent: Vec4::new(
                (columns - 1.0) * unit,
                (rows - 1.0) * unit,
                scale * look.vertical_exaggeration,
                -BASE * SIDE,
            ),
            grid: Vec4::new(columns, rows, unit, terrain.start.min_max().0),
            flat_color: color(look.flat_color),
            steep_color: color(look.steep_color),
            sand_color: color(look.sand_color).truncate().extend(0.05 * terrain.cell_size),
            ground: Vec4::new(look.steep_threshold, look.threshold_softness, look.occlusion, look.fog),
            sun: towards_sun(look).extend(look.sun_strength),
            phong: Vec4::new(look.ambient, look.specular, look.shininess, f32::from(u8::from(look.shadows))),
        }
    }
}

/// The ground's material.
#[derive(Asset, TypePath, AsBindGroup, Clone)]
struct GroundMaterial {
    #[uniform(0)]
    scene: SceneNumbers,
    #[texture(1, sample_type = "float", filterable = false, visibility(vertex, fragment))]
    layers: Handle<Image>,
}

impl Material for GroundMaterial {
    fn vertex_shader() -> ShaderRef {
        TERRAIN_SHADER.into()
    }

    fn fragment_shader() -> ShaderRef {
        TERRAIN_SHADER.into()
    }

    fn prepass_vertex_shader() -> ShaderRef {
        TERRAIN_SHADER.into()
    }

    fn specialize(
        _: &MaterialPipeline,
        descriptor: &mut RenderPipelineDescriptor,
        _: &MeshVertexBufferLayoutRef,
        _: MaterialPipelineKey<Self>,
    ) -> Result<(), SpecializedMeshPipelineError> {
        // Walls are seen from both sides while the camera dips below the rim.
        descriptor.primitive.cull_mode = None;
        Ok(())
    }
}

/// The sky's material.
#[derive(Asset, TypePath, AsBindGroup, Clone)]
struct SkyMaterial {
    #[uniform(0)]
    scene: SceneNumbers,
}

impl Material for SkyMaterial {
    fn fragment_shader() -> ShaderRef {
        SKY_SHADER.into()
    }

    fn enable_prepass() -> bool {
        false
    }

    fn enable_shadows() -> bool {
        false
    }

    fn specialize(
        _: &MaterialPipeline,
        descriptor: &mut RenderPipelineDescriptor,
        _: &MeshVertexBufferLayoutRef,
        _: MaterialPipelineKey<Self>,
    ) -> Result<(), SpecializedMeshPipelineError> {
        descriptor.primitive.cull_mode = None;
        Ok(())
    }
}

/// What the scene on screen is made of.
#[derive(Resource)]
struct Shown {
    ground: Handle<GroundMaterial>,
    sky: Handle<SkyMaterial>,
    layers: Handle<Image>,
    mesh: Entity,
    size: (usize, usize),
    revision: Revision,
}

/// The sun.
#[derive(Component)]
struct Sun;

pub(super) fn plugin(app: &mut App) {
    app.add_plugins((MaterialPlugin::<GroundMaterial>::default(), MaterialPlugin::<SkyMaterial>::default()))
        .insert_resource(ClearColor(Color::BLACK))
        .add_systems(Startup, build_scene)
        .add_systems(Update, (show_heights, show_light).chain().in_set(ViewSystems::Show));
}

fn build_scene(
    mut commands: Commands,
    live: Res<Live>,
    adapter: Res<RenderAdapterInfo>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut images: ResMut<Assets<Image>>,
    mut grounds: ResMut<Assets<GroundMaterial>>,
    mut skies: ResMut<Assets<SkyMaterial>>,
) {
    let terrain = &live.0.simulation.terrain;
    let scene = SceneNumbers::new(terrain, &live.0.look);
    let layers = images.add(layer_image(terrain));
    let ground = grounds.add(GroundMaterial { scene, layers: layers.clone() });
    let sky = skies.add(SkyMaterial { scene });
    let mesh = commands
        .spawn((Mesh3d(meshes.add(block_mesh(terrain))), MeshMaterial3d(ground.clone()), NoFrustumCulling))
        .id();
    commands.spawn((
        Mesh3d(meshes.add(
            Sphere::new(40.0 * SIDE).mesh().ico(5).unwrap_or_else(|_| Sphere::new(40.0 * SIDE).mesh().uv(48, 24)),
        )),
        MeshMaterial3d(sky.clone()),
        NotShadowCaster,
        NotShadowReceiver,
        NoFrustumCulling,
    ));
    // A software driver draws every pixel of a shadow map with the processor.
    let software = is_software(&adapter);
    commands.insert_resource(DirectionalLightShadowMap { size: if software { 2048 } else { 4096 } });
    let cascades = CascadeShadowConfigBuilder {
        num_cascades: if software { 1 } else { 3 },
        minimum_distance: 1.0,
        first_cascade_far_bound: if software { 2.5 * SIDE } else { 0.8 * SIDE },
        maximum_distance: if software { 2.6 * SIDE } else { 5.0 * SIDE },
        ..default()
    };
    commands.spawn((
        Sun,
        DirectionalLight { shadow_maps_enabled: true, shadow_normal_bias: 2.6, ..default() },
        cascades.build(),
    ));
    commands.insert_resource(Shown {
        ground,
        sky,
        layers,
        mesh,
        size: (terrain.width(), terrain.height()),
        revision: Revision(0),
    });
}

/// True where the processor draws.
pub(super) fn is_software(adapter: &RenderAdapterInfo) -> bool {
    adapter.device_type == wgpu::DeviceType::Cpu
}

/// Brings the last finished tick to the screen: its texture, and another mesh where the map has another size.
fn show_heights(
    live: Res<Live>,
    revision: Res<Revision>,
    mut shown: ResMut<Shown>,
    mut images: ResMut<Assets<Image>>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut grounds: ResMut<Assets<GroundMaterial>>,
    mut commands: Commands,
) {
    let simulation = &live.0.simulation;
    if shown.revision == *revision || !simulation.between_ticks() {
        return;
    }
    shown.revision = *revision;
    let terrain = &simulation.terrain;
    let size = (terrain.width(), terrain.height());
    if size == shown.size {
        if let Some(mut image) = images.get_mut(&shown.layers) {
            image.data = Some(layer_bytes(terrain));
        }
        return;
    }
    shown.size = size;
    shown.layers = images.add(layer_image(terrain));
    if let Some(mut material) = grounds.get_mut(&shown.ground) {
        material.layers = shown.layers.clone();
    }
    commands.entity(shown.mesh).insert(Mesh3d(meshes.add(block_mesh(terrain))));
}

/// Brings light and colours to the screen.
fn show_light(
    live: Res<Live>,
    shown: Res<Shown>,
    mut grounds: ResMut<Assets<GroundMaterial>>,
    mut skies: ResMut<Assets<SkyMaterial>>,
    mut sun: Single<(&mut Transform, &mut DirectionalLight), With<Sun>>,
) {
    let look = &live.0.look;
    let scene = SceneNumbers::new(&live.0.simulation.terrain, look);
    if grounds.get(&shown.ground).is_some_and(|ground| ground.scene == scene) && !shown.is_added() {
        return;
    }
    if let Some(mut ground) = grounds.get_mut(&shown.ground) {
        ground.scene = scene;
    }
    if let Some(mut sky) = skies.get_mut(&shown.sky) {
        sky.scene = scene;
    }
    let (transform, light) = &mut *sun;
    **transform = Transform::default().looking_to(-towards_sun(look), Vec3::Y);
    light.shadow_maps_enabled = look.shadows;
}

fn layer_bytes(terrain: &Terrain) -> Vec<u8> {
    let layers = terrain.bedrock.iter().zip(terrain.sand.iter());
    layers.flat_map(|(&bedrock, &sand)| [bedrock + sand, sand]).flat_map(f32::to_le_bytes).collect()
}

fn layer_image(terrain: &Terrain) -> Image {
    let size = Extent3d { width: terrain.width() as u32, height: terrain.height() as u32, depth_or_array_layers: 1 };
    let bytes = layer_bytes(terrain);
    Image::new(size, TextureDimension::D2, bytes, TextureFormat::Rg32Float, RenderAssetUsages::RENDER_WORLD)
}

/// A flat grid over the map, its border again as the walls' upper and lower rim, and the base. The kind of a vertex stands
/// in its y: 0 surface, 1 upper rim, 2 lower rim.
fn block_mesh(terrain: &Terrain) -> Mesh {
    let (columns, rows) = (terrain.width().clamp(2, MOST_VERTICES), terrain.height().clamp(2, MOST_VERTICES));
    let extent = SceneNumbers::new(terrain, &Look::default()).extent;
    let place = |column: usize, row: usize, kind: f32| {
        let share = |index: usize, count: usize| index as f32 / (count - 1) as f32 - 0.5;
        [share(column, columns) * extent.x, kind, share(row, rows) * extent.y]
    };
    let mut positions: Vec<[f32; 3]> =
        (0..rows * columns).map(|index| place(index % columns, index / columns, 0.0)).collect();
    let mut indices = Vec::with_capacity(6 * rows * columns);
    for row in 0..rows - 1 {
        for column in 0..columns - 1 {
            let first = (row * columns + column) as u32;
            let below = first + columns as u32;
            indices.extend([first, below, first + 1, first + 1, below, below + 1]);
        }
    }
    let mut wall = |cells: &mut dyn Iterator<Item = (usize, usize)>| {
        let mut before: Option<u32> = None;
        for (column, row) in cells {
            let upper = positions.len() as u32;
            positions.extend([place(column, row, 1.0), place(column, row, 2.0)]);
            if let Some(last) = before {
                indices.extend([last, last + 1, upper, upper, last + 1, upper + 1]);
            }
            before = Some(upper);
        }
    };
    wall(&mut (0..columns).map(|column| (column, 0)));
    wall(&mut (0..columns).map(|column| (column, rows - 1)));
    wall(&mut (0..rows).map(|row| (0, row)));
    wall(&mut (0..rows).map(|row| (columns - 1, row)));
    let base = positions.len() as u32;
    positions.extend([(0, 0), (columns - 1, 0), (0, rows - 1), (columns - 1, rows - 1)].map(|(x, y)| place(x, y, 2.0)));
    indices.extend([base, base + 1, base + 2, base + 2, base + 1, base + 3]);
    Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::RENDER_WORLD)
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, positions)
        .with_inserted_indices(Indices::U32(indices))
}
