//! The camera of the 3D view: the right mouse button orbits, the middle one pans, the wheel zooms. At startup it rotates slowly.

use std::f32::consts::TAU;

use bevy::{
    camera::RenderTarget,
    ecs::system::SystemParam,
    input::{
        InputSystems,
        keyboard::KeyboardInput,
        mouse::{MouseMotion, MouseWheel},
    },
    prelude::*,
    render::{render_resource::TextureUsages, renderer::RenderAdapterInfo},
    window::{PresentMode, PrimaryWindow},
};
use bevy_panorbit_camera::{
    ActiveCameraData, FocusBoundsShape, PanOrbitCamera, PanOrbitCameraPlugin, PanOrbitCameraSystemSet, TouchControls,
    TrackpadBehavior,
};

use super::{
    SIDE,
    framing::{FramedPose, SceneFrame, Transition, field},
    pass, walk,
};
use crate::world::{
    Brushes, CameraCommand, CameraMode, CameraPose, CameraStep, KeyframeCommand, KeyframeFollowing, NoticeLevel,
    Notices, OtherWindows, PointerOverView, Preferences, Presentation, Recording, Simulations, ViewportArea,
};
use thalweg_scene::{io, model::film::CAMERAS, settings::Buttons};

/// Rotation speed of the turntable, in radians per second.
const TURN: f32 = 0.06;
/// Rotation speed of a turntable video, in radians per second: a turn in 12 seconds.
const TURN_IN_VIDEO: f32 = TAU / 12.0;

/// Initial pose and state of the camera.
#[derive(Resource, Clone, Copy, Debug)]
pub struct Viewpoint {
    yaw: f32,
    pitch: f32,
    /// Zoom factor relative to the distance at which all blocks fit into the view.
    pub(super) near: f32,
    pub(super) turn: Turntable,
    /// Pose that frames all blocks, until the user moves the camera.
    pub(super) framed: Option<FramedPose>,
    /// Pending request to frame all blocks.
    pub(super) wanted: Option<Transition>,
    /// `true` if a command has moved it since the keyframes were last evaluated.
    moved: bool,
}

/// State of the turntable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turntable {
    Off,
    /// Rotates until the first key press or click.
    Welcome,
    /// Rotates on request, until the first click.
    On,
}

impl Viewpoint {
    /// Returns the named view, or `None` for an unknown name.
    pub fn named(name: &str) -> Option<Self> {
        let camera = CAMERAS.into_iter().find(|(key, ..)| *key == name)?;
        Some(Self { turn: Turntable::Off, ..Self::of(camera) })
    }

    /// Returns a view that keeps all terrain in frame during a full turn.
    pub fn of_films() -> Self {
        Self { turn: Turntable::On, ..Self::default() }
    }

    /// Ends turntable and framing.
    pub fn stop_motion(&mut self) {
        (self.turn, self.wanted, self.framed) = (Turntable::Off, None, None);
    }

    fn of((_, yaw, pitch, near): (&str, f32, f32, f32)) -> Self {
        let (yaw, pitch) = (yaw.to_radians(), pitch.to_radians());
        Self {
            yaw,
            pitch,
            near,
            turn: Turntable::Welcome,
            framed: None,
            wanted: Some(Transition::Immediate),
            moved: false,
        }
    }
}

impl Default for Viewpoint {
    fn default() -> Self {
        Self::of(CAMERAS[0])
    }
}

pub(super) fn plugin(app: &mut App) {
    app.add_plugins(PanOrbitCameraPlugin)
        .init_resource::<Viewpoint>()
        .add_observer(choose_mode)
        .add_observer(apply_camera_command)
        .add_systems(Startup, spawn_camera)
        .add_systems(PreUpdate, derive_motion_from_cursor.before(InputSystems))
        .add_systems(
            PostUpdate,
            (leave_panels_alone, walk::push_above_ground.run_if(in_state(CameraMode::Orbit)), end_pan)
                .chain()
                .before(PanOrbitCameraSystemSet),
        );
}

/// Replaces the motion that devices report by that of the cursor: graphics tablets, remote desktops and virtual machines report positions
/// only, and the cursor is where the user sees the drag.
fn derive_motion_from_cursor(
    mut moved: MessageReader<CursorMoved>,
    mut last: Local<Option<(Entity, Vec2)>>,
    mut motion: ResMut<Messages<MouseMotion>>,
) {
    motion.clear();
    for CursorMoved { window, position, .. } in moved.read() {
        let before = last.replace((*window, *position));
        if let Some((_, before)) = before.filter(|(before, _)| before == window) {
            motion.write(MouseMotion { delta: *position - before });
        }
    }
}

/// Memory that textures, overlay and rivers take per cell, in bytes.
pub const BYTES_PER_CELL: usize = 62;
/// Memory that textures and rivers of the start next to the present take per cell, in bytes.
pub const BYTES_PER_CELL_OF_START: usize = 46;

/// Maximum side of an image, in pixels.
pub const LONGEST_SIDE: u32 = 8192;

/// Focus and distance of the camera before the terrain is known.
pub(super) const FOCUS: Vec3 = Vec3::ZERO;
pub(super) const FAR: f32 = 1.5 * SIDE;

fn spawn_camera(
    mut commands: Commands,
    viewpoint: Res<Viewpoint>,
    mut view: ResMut<ViewportArea>,
    mut images: ResMut<Assets<Image>>,
    adapter: Res<RenderAdapterInfo>,
    mut preferences: ResMut<Preferences>,
) {
    preferences.software = adapter.device_type == wgpu::DeviceType::Cpu;
    view.image = images.add(canvas(view.rect.size(), false));
    let mut orbit = PanOrbitCamera {
        focus: FOCUS,
        target_focus: FOCUS,
        yaw: Some(viewpoint.yaw),
        pitch: Some(viewpoint.pitch),
        radius: Some(FAR),
        // Low enough that several notches in one slow frame do not reach the ground.
        zoom_sensitivity: 0.5,
        trackpad_pinch_to_zoom_enabled: true,
        ..default()
    };
    set_limits(&mut orbit);
    let place = FOCUS + Quat::from_euler(EulerRot::YXZ, viewpoint.yaw, -viewpoint.pitch, 0.0) * Vec3::Z * FAR;
    commands.spawn((
        Camera3d::default(),
        // `pass` draws; the camera only supplies the pose.
        Camera { is_active: false, ..default() },
        orbit,
        Transform::from_translation(place).looking_at(FOCUS, Vec3::Y),
        Projection::from(PerspectiveProjection { near: NEAR_PLANE, far: 100.0 * SIDE, ..default() }),
        RenderTarget::Image(view.image.clone().into()),
    ));
}

/// Distance of the near plane in orbit mode, in world units.
pub(super) const NEAR_PLANE: f32 = 0.5;

/// Sets the limits of pitch, zoom and focus in orbit mode.
pub(super) fn set_limits(orbit: &mut PanOrbitCamera) {
    (orbit.pitch_lower_limit, orbit.pitch_upper_limit) = (Some(0.02), Some(1.55));
    (orbit.zoom_lower_limit, orbit.zoom_upper_limit) = (0.05 * SIDE, Some(20.0 * SIDE));
    orbit.focus_bounds_shape = Some(FocusBoundsShape::Sphere(Sphere::new(0.9 * SIDE)));
}

/// Creates a render target for display colours or linear light.
pub(super) fn canvas(size: UVec2, as_light: bool) -> Image {
    let size = size.clamp(UVec2::ONE, UVec2::splat(LONGEST_SIDE));
    let mut image = Image::new_target_texture(size.x, size.y, pass::format(as_light), None);
    image.texture_descriptor.usage |= TextureUsages::COPY_SRC;
    image
}

/// Resizes the image to the viewport times the render scale.
pub(super) fn resize_render_target(
    simulations: Res<Simulations>,
    mut view: ResMut<ViewportArea>,
    preferences: Res<Preferences>,
    mut images: ResMut<Assets<Image>>,
    camera: Single<(Entity, &mut Projection), With<PanOrbitCamera>>,
    mut commands: Commands,
) {
    let (camera, mut projection) = camera.into_inner();
    let settings = preferences.settings.resolved(preferences.software);
    let scaled = (view.rect.size().as_vec2() * settings.render_scale).round().as_uvec2();
    let wanted = scaled.clamp(UVec2::ONE, UVec2::splat(LONGEST_SIDE));
    if images.get(&view.image).is_none_or(|image| image.size() != wanted) {
        view.image = images.add(canvas(wanted, false));
        commands.entity(camera).insert(RenderTarget::Image(view.image.clone().into()));
    }
    let aspect = wanted.x as f32 / wanted.y as f32;
    let fov = field(simulations.selected().look.field_of_view, aspect);
    if let Projection::Perspective(perspective) = &mut *projection
        && (perspective.fov - fov).abs() > 1e-4
    {
        perspective.fov = fov;
    }
}

/// Activates the camera for mouse input, as its render target is not a window.
pub(super) fn activate_camera(
    view: Res<ViewportArea>,
    camera: Single<Entity, With<PanOrbitCamera>>,
    windows: Query<&Window, With<PrimaryWindow>>,
    mut active: ResMut<ActiveCameraData>,
) {
    let window = windows.iter().next().map(|window| Vec2::new(window.width(), window.height()));
    let scale = windows.iter().next().map_or(1.0, Window::scale_factor);
    *active = ActiveCameraData {
        entity: Some(*camera),
        viewport_size: Some((view.rect.size().as_vec2() / scale).max(Vec2::ONE)),
        window_size: window.map(|size| size.max(Vec2::ONE)),
        manual: true,
    };
}

/// Applies the settings to the camera and the window.
pub(super) fn take_settings(
    preferences: Res<Preferences>,
    mut orbit: Single<&mut PanOrbitCamera>,
    mut windows: Query<&mut Window, With<PrimaryWindow>>,
) {
    let settings = preferences.settings.resolved(preferences.software);
    (orbit.button_orbit, orbit.button_pan, orbit.modifier_pan) = match settings.buttons {
        Buttons::RightAndMiddle => (MouseButton::Right, MouseButton::Middle, None),
        Buttons::MiddleAndRight => (MouseButton::Middle, MouseButton::Right, None),
        Buttons::RightAndShift => (MouseButton::Right, MouseButton::Right, Some(KeyCode::ShiftLeft)),
    };
    let (modifier_pan, modifier_zoom) = (Some(KeyCode::ShiftLeft), Some(KeyCode::ControlLeft));
    let turning = TrackpadBehavior::BlenderLike { modifier_pan, modifier_zoom };
    orbit.trackpad_behavior = if settings.trackpad { turning } else { TrackpadBehavior::Default };
    for mut window in &mut windows {
        let mode = if settings.vsync { PresentMode::AutoVsync } else { PresentMode::AutoNoVsync };
        if window.present_mode != mode {
            window.present_mode = mode;
        }
    }
}

pub(super) fn advance_turntable(
    mut viewpoint: ResMut<Viewpoint>,
    mut camera: Single<&mut PanOrbitCamera>,
    (buttons, mut wheel): (Res<ButtonInput<MouseButton>>, MessageReader<MouseWheel>),
    mut keys: MessageReader<KeyboardInput>,
    others: OtherWindows,
    mut recording: ResMut<Recording>,
    (time, view): (Res<Time>, Res<ViewportArea>),
) {
    let pressed = buttons.get_just_pressed().next().is_some() && !others.have_pointer();
    let pointed = wheel.read().filter(|wheel| !others.has(wheel.window)).count() > 0 || pressed;
    let typed = keys.read().filter(|key| !others.has(key.window)).count() > 0;
    if recording.is_turntable() {
        if pointed {
            recording.end();
        } else {
            // Without easing, so that the last frame precedes the first.
            camera.target_yaw -= recording.turn_by(TURN_IN_VIDEO * time.delta_secs());
            camera.yaw = Some(camera.target_yaw);
            camera.force_update = true;
        }
        return;
    }
    let touched = match viewpoint.turn {
        Turntable::Off => return,
        Turntable::Welcome => pointed || typed,
        Turntable::On => pointed,
    };
    if touched {
        viewpoint.turn = Turntable::Off;
        return;
    }
    if view.is_taking_screenshot {
        return;
    }
    // In most scenes the sun stands in the west: this direction shows the sunlit side first.
    camera.target_yaw -= TURN * time.delta_secs().min(0.1);
    camera.force_update = true;
}

/// State of the keyframe animation of the camera.
#[derive(Default)]
pub(super) struct KeyframeFollower {
    /// Project whose keyframes are followed.
    project: Option<u64>,
    /// `true` after the user has taken over.
    taken: bool,
    /// Last animated pose.
    last: Option<io::project::Camera>,
    /// Full turns between keyframes and the initial camera yaw, in radians.
    turns: f32,
}

/// Input of the user that moves the camera.
#[derive(SystemParam)]
pub(super) struct CameraInput<'w, 's> {
    buttons: Res<'w, ButtonInput<MouseButton>>,
    fingers: Res<'w, Touches>,
    wheel: MessageReader<'w, 's, MouseWheel>,
    over_view: Res<'w, PointerOverView>,
}

impl CameraInput<'_, '_> {
    /// Returns `true` if the user moves the camera in this frame.
    fn moves(&mut self, camera: &PanOrbitCamera) -> bool {
        // Two fingers always orbit; one does unless it paints or rains.
        let one_orbits = camera.touch_enabled && camera.touch_controls == TouchControls::OneFingerOrbit;
        let touches = if one_orbits { 1 } else { 2 };
        let pressed = self.buttons.any_just_pressed([MouseButton::Right, MouseButton::Middle]);
        let turned = pressed || self.wheel.read().count() > 0 || self.fingers.iter().count() >= touches;
        turned && self.over_view.terrain
    }
}

/// Animates the camera along the keyframes of the presented scene or of the project until the user moves it.
pub(super) fn follow_keyframes(
    (presentation, simulations, follows): (Option<Res<Presentation>>, Res<Simulations>, Res<KeyframeFollowing>),
    (whole, mode, recording): (Option<Res<SceneFrame>>, Res<State<CameraMode>>, Res<Recording>),
    mut input: CameraInput,
    mut viewpoint: ResMut<Viewpoint>,
    mut camera: Single<&mut PanOrbitCamera>,
    mut commands: Commands,
    mut follower: Local<KeyframeFollower>,
) {
    let turned = input.moves(&camera);
    let moved = std::mem::take(&mut viewpoint.moved) || turned;
    let own = simulations.views.keys.script();
    let presented = presentation.as_ref().and_then(|presentation| presentation.item(&simulations));
    let script = match presented {
        Some(item) => item.script().or(own),
        None => own.filter(|_| follows.0),
    };
    let script = script.filter(|_| *mode == CameraMode::Orbit);
    let (Some(script), Some(whole)) = (script, whole.filter(|whole| whole.is_of(&simulations))) else {
        follower.project = None;
        return;
    };
    let to = whole.place(&script.at(simulations.ticks() as f64));
    let shows = presented.is_some();
    if follower.project != Some(simulations.project_id()) {
        let turns = nearest_turn(camera.target_yaw, to.yaw) - to.yaw;
        *follower = KeyframeFollower { project: Some(simulations.project_id()), turns, ..KeyframeFollower::default() };
        viewpoint.stop_motion();
        if shows {
            // An audience should not see the transition.
            (camera.yaw, camera.pitch) = (Some(to.yaw + turns), Some(to.pitch));
            (camera.focus, camera.radius) = (to.focus.into(), Some(to.distance));
        }
    } else if moved {
        follower.taken = true;
        if !shows {
            commands.trigger(KeyframeCommand::StopFollowing);
        }
    }
    if follower.taken || recording.is_turntable() {
        return;
    }
    let to = io::project::Camera { yaw: to.yaw + follower.turns, ..to };
    // Only when the pose changes: while the simulation is paused, the camera is idle.
    if follower.last != Some(to) {
        place(&mut camera, to);
        follower.last = Some(to);
    }
}

/// Moves the camera once the mode is set.
#[derive(Event)]
pub(super) struct MoveCamera(CameraCommand);

/// Enters or leaves walk and fly mode, then moves the camera.
pub(super) fn choose_mode(
    command: On<CameraCommand>,
    mode: Res<State<CameraMode>>,
    simulations: Res<Simulations>,
    mut next: ResMut<NextState<CameraMode>>,
    mut commands: Commands,
) {
    let wanted = match command.event() {
        CameraCommand::SetMode(wanted) if mode.get() != wanted => *wanted,
        CameraCommand::GoToBookmark(number) if simulations.views.view(*number).is_none() => *mode.get(),
        _ => CameraMode::Orbit,
    };
    if *mode != wanted {
        // Immediately, as the limits depend on the mode. Other pending states change too.
        next.set(wanted);
        commands.run_schedule(StateTransition);
    }
    commands.trigger(MoveCamera(command.event().clone()));
}

pub(super) fn apply_camera_command(
    moves: On<MoveCamera>,
    mut camera: Single<&mut PanOrbitCamera>,
    mut viewpoint: ResMut<Viewpoint>,
    (simulations, whole): (Res<Simulations>, Option<Res<SceneFrame>>),
    mut notices: ResMut<Notices>,
) {
    let (MoveCamera(command), camera) = (moves.event(), &mut *camera);
    match command {
        CameraCommand::FrameAll => {
            let fresh = Viewpoint::default();
            *viewpoint = Viewpoint { turn: Turntable::Off, wanted: Some(Transition::Smooth), ..fresh };
            camera.target_yaw = nearest_turn(camera.target_yaw, fresh.yaw);
            camera.target_pitch = fresh.pitch;
        }
        CameraCommand::FrameAgain => viewpoint.wanted = Some(Transition::Immediate),
        CameraCommand::Place(wanted) => {
            (viewpoint.turn, viewpoint.wanted) = (Turntable::Off, None);
            place(camera, *wanted);
        }
        CameraCommand::GoToBookmark(number) => {
            if let Some(bookmark) = simulations.views.view(*number) {
                (viewpoint.turn, viewpoint.wanted, viewpoint.framed) = (Turntable::Off, None, None);
                let yaw = nearest_turn(camera.target_yaw, bookmark.yaw);
                place(camera, io::project::Camera { yaw, ..bookmark });
            } else {
                let text = format!("Bookmark {number} is empty. Press Ctrl+{number} to save the current view.");
                notices.notify(NoticeLevel::Info, text);
            }
        }
        CameraCommand::GoToKeyframe(tick) => {
            let key = simulations.views.keys.list().iter().find(|key| key.tick == *tick as f64);
            if let (Some(key), Some(whole)) = (key, &whole) {
                viewpoint.stop_motion();
                let to = whole.place(&key.pose());
                let yaw = nearest_turn(camera.target_yaw, to.yaw);
                place(camera, io::project::Camera { yaw, ..to });
            }
        }
        CameraCommand::Move(step) => {
            viewpoint.turn = Turntable::Off;
            if let (CameraStep::OrbitTo(..), Some(_)) = (step, viewpoint.framed) {
                viewpoint.wanted = Some(Transition::Smooth);
            }
            go(camera, *step);
        }
        CameraCommand::ToggleTurntable => {
            viewpoint.turn = if viewpoint.turn == Turntable::On { Turntable::Off } else { Turntable::On };
            viewpoint.wanted = viewpoint.wanted.or(viewpoint.framed.map(|_| Transition::Smooth));
        }
        CameraCommand::SetMode(_) => (viewpoint.turn, viewpoint.wanted) = (Turntable::Off, None),
    }
    // Last, as the arms above may replace the viewpoint.
    viewpoint.moved |=
        !matches!(command, CameraCommand::GoToBookmark(number) if simulations.views.view(*number).is_none());
}

/// Returns `to` plus the full turns that bring it closest to `from`, in radians.
fn nearest_turn(from: f32, to: f32) -> f32 {
    to + TAU * ((from - to) / TAU).round()
}

/// Moves the camera by a step within its limits.
fn go(camera: &mut PanOrbitCamera, step: CameraStep) {
    match step {
        CameraStep::Orbit(round, up) => {
            let [lowest, highest] = [camera.pitch_lower_limit, camera.pitch_upper_limit];
            camera.target_yaw += round.to_radians();
            let pitch = camera.target_pitch + up.to_radians();
            camera.target_pitch = pitch.clamp(lowest.unwrap_or(f32::MIN), highest.unwrap_or(f32::MAX));
        }
        CameraStep::OrbitTo(round, up) => {
            let [lowest, highest] = [camera.pitch_lower_limit, camera.pitch_upper_limit];
            camera.target_yaw = nearest_turn(camera.target_yaw, round.to_radians());
            camera.target_pitch = up.to_radians().clamp(lowest.unwrap_or(f32::MIN), highest.unwrap_or(f32::MAX));
        }
        CameraStep::Pan(right, away) => {
            let (sin, cos) = camera.target_yaw.sin_cos();
            let direction = Vec3::new(right * cos - away * sin, 0.0, -right * sin - away * cos);
            let focus = camera.target_focus + direction * camera.target_radius;
            camera.target_focus = focus.clamp_length_max(0.9 * SIDE);
        }
        CameraStep::Zoom(factor) => {
            let farthest = camera.zoom_upper_limit.unwrap_or(f32::MAX);
            camera.target_radius = (camera.target_radius / factor).clamp(camera.zoom_lower_limit, farthest);
        }
    }
    camera.force_update = true;
}

fn place(camera: &mut PanOrbitCamera, io::project::Camera { focus, yaw, pitch, distance }: io::project::Camera) {
    camera.target_focus = focus.into();
    (camera.target_yaw, camera.target_pitch, camera.target_radius) = (yaw, pitch, distance);
    camera.force_update = true;
}

/// Publishes the camera pose. In walk and fly mode the last orbit pose stays.
pub(super) fn publish_pose(
    camera: Single<&PanOrbitCamera>,
    whole: Option<Res<SceneFrame>>,
    mut eye: ResMut<CameraPose>,
) {
    let (yaw, pitch, distance) = (camera.target_yaw, camera.target_pitch, camera.target_radius);
    let camera = io::project::Camera { focus: camera.target_focus.into(), yaw, pitch, distance };
    *eye = CameraPose { camera: Some(camera), pose: whole.map(|whole| whole.pose(&camera)) };
}

/// Distance at which the focus snaps to its target, in world units.
const ARRIVED: f32 = 1e-3;

/// Snaps the camera focus to its target. `bevy_panorbit_camera` does so for angles and distance, but only for the x coordinate of
/// the focus: y and z would keep a rounding error that depends on frame times, and two renders of the same pose would differ.
fn end_pan(mut camera: Single<&mut PanOrbitCamera>) {
    let arrived = camera.focus.distance(camera.target_focus) < ARRIVED;
    let smoothness = if arrived { 0.0 } else { PanOrbitCamera::default().pan_smoothness };
    if camera.pan_smoothness != smoothness {
        camera.pan_smoothness = smoothness;
    }
}

/// Disables the camera over panels and while a finger paints. Two fingers move it even with an active brush.
fn leave_panels_alone(
    over_view: Res<PointerOverView>,
    brushes: Res<Brushes>,
    fingers: Res<Touches>,
    mut camera: Single<&mut PanOrbitCamera>,
) {
    let empty = brushes.active.is_none() && !over_view.adds_rain;
    let follows_fingers = empty || fingers.iter().count() > 1;
    // Where one finger rains, two orbit.
    let touch = if over_view.adds_rain { TouchControls::TwoFingerOrbit } else { TouchControls::OneFingerOrbit };
    if camera.touch_controls != touch {
        camera.touch_controls = touch;
    }
    if camera.enabled != over_view.terrain || camera.touch_enabled != follows_fingers {
        (camera.enabled, camera.touch_enabled) = (over_view.terrain, follows_fingers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn motion_follows_cursor_rather_than_device() {
        let mut app = App::new();
        app.add_message::<CursorMoved>().add_message::<MouseMotion>().add_systems(Update, derive_motion_from_cursor);
        let [main, other] = [1, 2].map(|_| app.world_mut().spawn_empty().id());
        let mut motion = |positions: &[(Entity, f32)], device: f32| -> Vec<f32> {
            app.world_mut().write_message(MouseMotion { delta: Vec2::splat(device) });
            for &(window, x) in positions {
                app.world_mut().write_message(CursorMoved { window, position: Vec2::new(x, 0.0), delta: None });
            }
            app.update();
            app.world_mut().resource_mut::<Messages<MouseMotion>>().drain().map(|motion| motion.delta.x).collect()
        };
        assert_eq!(motion(&[(main, 10.0), (main, 14.0)], 99.0), [4.0]);
        assert_eq!(motion(&[(main, 11.0)], 0.0), [-3.0]);
        assert!(motion(&[], 5.0).is_empty());
        assert!(motion(&[(other, 300.0)], 0.0).is_empty(), "the cursor entered another window");
    }
}
