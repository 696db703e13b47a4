//! The camera: right button orbits, middle button pans, wheel zooms; it turns slowly until the first click.

use bevy::{
    camera::{RenderTarget, SubCameraView},
    core_pipeline::tonemapping::Tonemapping,
    input::mouse::MouseWheel,
    prelude::*,
    render::renderer::RenderAdapterInfo,
};
use bevy_panorbit_camera::{PanOrbitCamera, PanOrbitCameraPlugin, PanOrbitCameraSystemSet};

use super::{SIDE, surface::is_software};
use crate::runtime::{Command, FreeView, PointerOverView};

/// Named views for pictures: name, yaw and pitch in degrees, distance in map sides.
pub const CAMERAS: [(&str, f32, f32, f32); 4] =
    [("default", 28.0, 32.0, 1.72), ("front", 0.0, 24.0, 1.7), ("high", 28.0, 58.0, 1.8), ("low", 55.0, 13.0, 1.4)];

/// Radians per second of the slow turn.
const TURN: f32 = 0.06;

/// Where the camera draws to, if not the window.
#[derive(Resource, Clone)]
pub struct Target(pub RenderTarget);

/// The camera that a picture is taken from.
#[derive(Resource, Clone, Copy, Debug)]
pub struct Viewpoint {
    yaw: f32,
    pitch: f32,
    distance: f32,
    turns: bool,
}

impl Viewpoint {
    /// The named view; `None` if there is no such name.
    pub fn named(name: &str) -> Option<Self> {
        let (_, yaw, pitch, distance) = CAMERAS.into_iter().find(|(key, ..)| *key == name)?;
        Some(Self { yaw: yaw.to_radians(), pitch: pitch.to_radians(), distance: distance * SIDE, turns: false })
    }
}

impl Default for Viewpoint {
    fn default() -> Self {
        let (_, yaw, pitch, distance) = CAMERAS[0];
        Self { yaw: yaw.to_radians(), pitch: pitch.to_radians(), distance: distance * SIDE, turns: true }
    }
}

pub(super) fn plugin(app: &mut App) {
    app.add_plugins(PanOrbitCameraPlugin)
        .init_resource::<Viewpoint>()
        .add_systems(Startup, spawn_camera)
        .add_systems(Update, (turn_slowly, frame_all, look_past_panels))
        .add_systems(PostUpdate, leave_panels_alone.before(PanOrbitCameraSystemSet));
}

/// Vertical field of view, in radians, of a free view at least [`FULL_ASPECT`] times as wide as high.
const FIELD: f32 = 0.72;
/// A free view narrower than this shows more above and below, so that the map is never cut at its sides.
const FULL_ASPECT: f32 = 1.4;

/// The point that the camera looks at.
const FOCUS: Vec3 = Vec3::new(0.0, 0.02 * SIDE, 0.0);

fn spawn_camera(
    mut commands: Commands,
    viewpoint: Res<Viewpoint>,
    target: Option<Res<Target>>,
    adapter: Res<RenderAdapterInfo>,
) {
    let orbit = PanOrbitCamera {
        focus: FOCUS,
        target_focus: FOCUS,
        yaw: Some(viewpoint.yaw),
        pitch: Some(viewpoint.pitch),
        radius: Some(viewpoint.distance),
        button_orbit: MouseButton::Right,
        button_pan: MouseButton::Middle,
        pitch_lower_limit: Some(-0.05),
        pitch_upper_limit: Some(1.55),
        zoom_lower_limit: 0.05 * SIDE,
        zoom_upper_limit: Some(8.0 * SIDE),
        trackpad_pinch_to_zoom_enabled: true,
        ..default()
    };
    let place =
        FOCUS + Quat::from_euler(EulerRot::YXZ, viewpoint.yaw, -viewpoint.pitch, 0.0) * Vec3::Z * viewpoint.distance;
    let mut camera = commands.spawn((
        Camera3d::default(),
        orbit,
        Transform::from_translation(place).looking_at(FOCUS, Vec3::Y),
        Tonemapping::AcesFitted,
        Projection::from(PerspectiveProjection { fov: FIELD, near: 0.5, far: 100.0 * SIDE, ..default() }),
        if is_software(&adapter) && target.is_none() { Msaa::Off } else { Msaa::Sample4 },
    ));
    if let Some(target) = target {
        camera.insert(target.0.clone());
    }
}

/// Turns until somebody takes the camera.
fn turn_slowly(
    mut viewpoint: ResMut<Viewpoint>,
    mut camera: Single<&mut PanOrbitCamera>,
    buttons: Res<ButtonInput<MouseButton>>,
    mut wheel: MessageReader<MouseWheel>,
    time: Res<Time>,
) {
    if !viewpoint.turns {
        return;
    }
    if buttons.get_just_pressed().next().is_some() || wheel.read().next().is_some() {
        viewpoint.turns = false;
        return;
    }
    camera.target_yaw += TURN * time.delta_secs().min(0.1);
    camera.force_update = true;
}

fn frame_all(mut commands: MessageReader<Command>, mut camera: Single<&mut PanOrbitCamera>) {
    if commands.read().any(|command| *command == Command::FrameAll) {
        let home = Viewpoint::default();
        camera.target_focus = FOCUS;
        camera.target_yaw = home.yaw;
        camera.target_pitch = home.pitch;
        camera.target_radius = home.distance;
        camera.force_update = true;
    }
}

/// Centres the picture on what the panels leave free of the window.
fn look_past_panels(free: Res<FreeView>, camera: Single<(&mut Camera, &mut Projection)>) {
    let (mut camera, mut projection) = camera.into_inner();
    let (Some(target), free) = (camera.physical_target_size(), free.0) else { return };
    let (target_size, free_size) = (target.as_vec2(), free.size().max(Vec2::splat(0.05)));
    // How far the middle of the free part lies from the window's: the window is then a part of a larger picture.
    let shift = target_size * (Vec2::ONE - free.min - free.max);
    let full = target_size + shift.abs();
    let part = SubCameraView { full_size: full.as_uvec2(), offset: shift.max(Vec2::ZERO), size: target };
    let wanted = (shift.abs().max_element() >= 1.0).then_some(part);
    let same = match (&camera.sub_camera_view, &wanted) {
        (None, None) => true,
        (Some(now), Some(next)) => {
            now.full_size == next.full_size && now.offset == next.offset && now.size == next.size
        }
        _ => false,
    };
    if !same {
        camera.sub_camera_view = wanted;
    }
    let aspect = (target_size.x * free_size.x) / (target_size.y * free_size.y).max(1.0);
    let wider = (FULL_ASPECT / aspect).max(1.0) * full.y / (target_size.y * free_size.y).max(1.0);
    let fov = 2.0 * ((0.5 * FIELD).tan() * wider).atan();
    if let Projection::Perspective(perspective) = &mut *projection
        && (perspective.fov - fov).abs() > 1e-4
        && fov.is_finite()
    {
        perspective.fov = fov;
    }
}

fn leave_panels_alone(over_view: Res<PointerOverView>, mut camera: Single<&mut PanOrbitCamera>) {
    if camera.enabled != over_view.0 {
        camera.enabled = over_view.0;
    }
}
