//! What is around the blocks: the sky, the table they stand on, and the light.

use bevy::{
    camera::visibility::{NoFrustumCulling, RenderLayers},
    light::{
        CascadeShadowConfig, CascadeShadowConfigBuilder, DirectionalLightShadowMap, NotShadowCaster, NotShadowReceiver,
        ShadowFilteringMethod, VolumetricLight,
    },
    prelude::*,
    render::render_resource::AsBindGroup,
    shader::ShaderRef,
};
use bevy_panorbit_camera::PanOrbitCamera;

use super::{
    SIDE, ViewSystems,
    ground::{Blocks, START_LAYER},
    material::{Variant, transparent},
    numbers::{SceneNumbers, towards_sun},
};
use crate::runtime::{Before, Live, Preferences, Shown};

/// Blocks that darken the table beside them, at most.
const MOST_BLOCKS: usize = 16;

#[derive(Asset, TypePath, AsBindGroup, Clone)]
#[bind_group_data(Variant)]
struct SkyMaterial {
    #[uniform(0)]
    scene: SceneNumbers,
}

impl From<&SkyMaterial> for Variant {
    fn from(_: &SkyMaterial) -> Self {
        Self::with(&[])
    }
}

// Drawn after the ground, so that only pixels that it leaves free are drawn. The sky comes before the table.
transparent!(SkyMaterial, "sky.wgsl", own_vertices: false, both_sides: true, bias: -1e6);

#[derive(Asset, TypePath, AsBindGroup, Clone)]
#[bind_group_data(Variant)]
struct TableMaterial {
    #[uniform(0)]
    scene: SceneNumbers,
    #[uniform(1)]
    blocks: [Vec4; MOST_BLOCKS],
}

impl From<&TableMaterial> for Variant {
    fn from(TableMaterial { scene, blocks }: &TableMaterial) -> Self {
        let count = blocks.iter().filter(|block| block.z > 0.0).count();
        Self::with(&[("SHADOWS", scene.has_shadows())]).and("BLOCKS", count)
    }
}

transparent!(TableMaterial, "table.wgsl", own_vertices: false, both_sides: false, bias: 0.0);

/// Materials of which there is one for all blocks.
#[derive(Resource)]
struct Surroundings {
    sky: Handle<SkyMaterial>,
    table: Handle<TableMaterial>,
}

/// A sun: the one of the present, or the one of the start where it is drawn beside the present.
#[derive(Component)]
struct Sun;

/// The sun of the start.
#[derive(Component)]
struct SecondSun;

#[derive(Component)]
struct TableTop;

pub(super) fn plugin(app: &mut App) {
    app.add_plugins((MaterialPlugin::<SkyMaterial>::default(), MaterialPlugin::<TableMaterial>::default()))
        .insert_resource(ClearColor(Color::BLACK))
        .add_systems(Startup, build)
        .add_systems(Update, (show_light, add_second_sun, fit_shadows).chain().after(ViewSystems::Show));
}

fn build(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut skies: ResMut<Assets<SkyMaterial>>,
    mut tables: ResMut<Assets<TableMaterial>>,
) {
    let scene = SceneNumbers::default();
    let sky = skies.add(SkyMaterial { scene });
    let table = tables.add(TableMaterial { scene, blocks: [Vec4::ZERO; MOST_BLOCKS] });
    let ball = Sphere::new(40.0 * SIDE).mesh().uv(64, 32);
    commands.spawn((
        Mesh3d(meshes.add(ball)),
        MeshMaterial3d(sky.clone()),
        NotShadowCaster,
        NotShadowReceiver,
        NoFrustumCulling,
    ));
    let disc = Circle::new(30.0 * SIDE).mesh().resolution(96).build();
    let lying = disc.rotated_by(Quat::from_rotation_x(-std::f32::consts::FRAC_PI_2));
    commands.spawn((
        TableTop,
        Mesh3d(meshes.add(lying)),
        MeshMaterial3d(table.clone()),
        NotShadowCaster,
        NoFrustumCulling,
        Transform::default(),
    ));
    commands.spawn((Sun, sun(), RenderLayers::layer(0)));
    commands.insert_resource(Surroundings { sky, table });
}

fn sun() -> impl Bundle {
    let light = DirectionalLight { shadow_maps_enabled: true, shadow_normal_bias: 2.2, ..default() };
    (light, CascadeShadowConfigBuilder { num_cascades: 1, ..default() }.build())
}

/// Brings light and colours to sky, table and sun.
#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
fn show_light(
    live: Res<Live>,
    blocks: Res<Blocks>,
    parts: Res<Surroundings>,
    mut skies: ResMut<Assets<SkyMaterial>>,
    mut tables: ResMut<Assets<TableMaterial>>,
    mut table: Single<&mut Transform, (With<TableTop>, Without<Sun>)>,
    mut suns: Query<(&mut Transform, &mut DirectionalLight), With<Sun>>,
    camera: Single<(Entity, Option<&ShadowFilteringMethod>), With<PanOrbitCamera>>,
    preferences: Res<Preferences>,
    mut commands: Commands,
) {
    let look = &live.chosen().look;
    let soft = look.soft_shadows && !preferences.settings.is_draft(preferences.software);
    let wanted = if soft { ShadowFilteringMethod::Gaussian } else { ShadowFilteringMethod::Hardware2x2 };
    if camera.1 != Some(&wanted) {
        commands.entity(camera.0).insert(wanted);
    }
    for (mut transform, mut light) in &mut suns {
        let towards = Transform::default().looking_to(-towards_sun(look), Vec3::Y);
        if *transform != towards {
            *transform = towards;
        }
        if light.shadow_maps_enabled != look.shadows {
            light.shadow_maps_enabled = look.shadows;
        }
    }
    let Some(&scene) = blocks.numbers.first() else { return };
    if !blocks.is_changed() {
        return;
    }
    table.translation.y = scene.foot() - 0.001 * SIDE;
    if let Some(mut sky) = skies.get_mut(&parts.sky) {
        sky.scene = scene;
    }
    if let Some(mut table) = tables.get_mut(&parts.table) {
        table.scene = scene;
        table.blocks = [Vec4::ZERO; MOST_BLOCKS];
        for (place, numbers) in table.blocks.iter_mut().zip(&blocks.numbers) {
            *place = numbers.footprint();
        }
    }
}

/// The start has a sun of its own while it is drawn beside the present, so that neither shades the other.
fn add_second_sun(shown: Res<Shown>, second: Query<Entity, With<SecondSun>>, mut commands: Commands) {
    let wanted = matches!(shown.0, Before::Split(_));
    match (wanted, second.iter().next()) {
        (true, None) => {
            // Nothing here is volumetric. But such lights come last in the shader's list, which tells it which sun is the second.
            commands.spawn((Sun, SecondSun, VolumetricLight, sun(), RenderLayers::layer(START_LAYER)));
        }
        (false, Some(gone)) => commands.entity(gone).despawn(),
        _ => {}
    }
}

/// Spends the shadow map on what there is to see: from the nearest to the farthest point of the blocks.
fn fit_shadows(
    camera: Single<&Transform, With<PanOrbitCamera>>,
    mut cascades: Query<&mut CascadeShadowConfig>,
    preferences: Res<Preferences>,
    mut map: ResMut<DirectionalLightShadowMap>,
) {
    let size = preferences.settings.resolved(preferences.software).shadow_size.next_power_of_two() as usize;
    if map.size != size {
        map.size = size;
    }
    let distance = camera.translation.length();
    let (near, far) = ((distance - 0.9 * SIDE).max(0.02 * SIDE), distance + 1.0 * SIDE);
    for mut config in &mut cascades {
        let (old_near, old_far) = (config.minimum_distance, config.bounds.last().copied().unwrap_or_default());
        // Not for every small step: another range moves every shadow's edge a little.
        let close = |old: f32, new: f32| (old - new).abs() < 0.08 * SIDE;
        if close(old_near, near) && close(old_far, far) {
            continue;
        }
        // Near the ground one map is too coarse for both ends.
        let cascades = if preferences.software || near > 0.3 * SIDE { 1 } else { 3 };
        *config = CascadeShadowConfigBuilder {
            num_cascades: cascades,
            minimum_distance: near,
            first_cascade_far_bound: if cascades == 1 { far } else { near + 0.35 * SIDE },
            maximum_distance: far,
            ..default()
        }
        .build();
    }
}
