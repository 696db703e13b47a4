//! Walk and fly modes: the camera is at eye height of a walker and moved by keys.
//!
//! Implemented as an orbit so tight that the camera only looks around.

use bevy::{
    ecs::system::SystemParam,
    input::mouse::{MouseMotion, MouseScrollUnit, MouseWheel},
    prelude::*,
    window::RequestRedraw,
};
use bevy_panorbit_camera::{FocusBoundsShape, PanOrbitCamera};

use super::{
    SIDE,
    camera::{self, Viewpoint},
    ground::TerrainBlocks,
    uniforms::SceneUniforms,
};
use crate::world::{
    Brushes, CameraMode, Comparison, NavigationInput, NoticeLevel, Notices, OtherWindows, PointerOverView, Simulations,
};

/// Orbit radius, in world units.
const CLOSE: f32 = 0.01;
/// Distance of the near plane, in world units.
const NEAR_PLANE: f32 = 0.01;
/// Eye height above the ground in metres, and its minimum in cells: closer, a single cell would fill the view.
const EYE: f32 = 1.7;
const EYE_CELLS: f32 = 0.35;
/// Initial speeds, in map sides per second.
const WALKS: f32 = 0.03;
const FLIES: f32 = 0.12;
/// Speed factor while the sprint key is held.
const HASTE: f32 = 4.0;
/// Factor on the speed per wheel notch, and its limits.
const NOTCH: f32 = 1.2;
const SLOWEST: f32 = 0.02;
const FASTEST: f32 = 20.0;
/// Maximum flying distance from the scene's centre.
const FARTHEST: f32 = 20.0 * SIDE;
/// Rotation per pixel of pointer drag, in radians.
const LOOKS: f32 = 0.004;
/// Maximum pitch up and down, in radians.
const STEEPEST: f32 = 1.5;

/// Camera and projection, modified by walk and fly mode.
type CameraQuery<'w, 's> = Single<'w, 's, (&'static mut PanOrbitCamera, &'static mut Projection)>;

pub(super) fn plugin(app: &mut App) {
    use CameraMode::{Fly, Orbit, Walk};
    app.add_systems(OnTransition { exited: Walk, entered: Orbit }, step_back)
        .add_systems(OnTransition { exited: Fly, entered: Orbit }, step_back)
        .add_systems(OnTransition { exited: Orbit, entered: Walk }, descend_to_focus)
        .add_systems(OnTransition { exited: Orbit, entered: Fly }, move_focus_to_camera)
        .add_systems(OnEnter(Walk), |camera: CameraQuery, notices: ResMut<Notices>| begin(camera, notices, ""))
        .add_systems(OnEnter(Fly), |camera: CameraQuery, notices: ResMut<Notices>| {
            begin(camera, notices, ", E and Q to move up and down");
        });
}

/// Returns to an orbit around the last position, slightly from above.
fn step_back(mut camera: CameraQuery) {
    let (orbit, projection) = &mut *camera;
    set_near(projection, camera::NEAR_PLANE);
    camera::set_limits(orbit);
    orbit.target_radius = 0.3 * SIDE;
    orbit.target_pitch = orbit.target_pitch.max(0.35);
}

/// Moves to the focus of the orbit and looks ahead.
fn descend_to_focus(mut orbit: Single<&mut PanOrbitCamera>, ground: WalkableGround) {
    let place = orbit.target_focus.xz();
    orbit.target_yaw = ground.open_side(place, orbit.target_yaw);
    orbit.target_pitch = 0.04;
}

/// Moves the focus to the camera position.
fn move_focus_to_camera(mut orbit: Single<&mut PanOrbitCamera>) {
    let turn = Quat::from_euler(EulerRot::YXZ, orbit.target_yaw, -orbit.target_pitch, 0.0);
    let eye = orbit.target_focus + turn * Vec3::Z * orbit.target_radius;
    (orbit.focus, orbit.target_focus) = (eye, eye);
    orbit.radius = Some(CLOSE);
}

/// Shrinks the orbit so that the camera only looks around.
fn begin(mut camera: CameraQuery, mut notices: ResMut<Notices>, also: &str) {
    let (orbit, projection) = &mut *camera;
    set_near(projection, NEAR_PLANE);
    (orbit.zoom_lower_limit, orbit.zoom_upper_limit) = (CLOSE, Some(CLOSE));
    (orbit.pitch_lower_limit, orbit.pitch_upper_limit) = (Some(-STEEPEST), Some(STEEPEST));
    orbit.focus_bounds_shape = Some(FocusBoundsShape::Sphere(Sphere::new(FARTHEST)));
    orbit.target_radius = CLOSE;
    orbit.force_update = true;
    let text = format!("W, A, S, D to move{also}, drag to look around, scroll to change the speed, Esc to stop.");
    notices.notify(NoticeLevel::Info, text);
}

fn set_near(projection: &mut Projection, near: f32) {
    if let Projection::Perspective(lens) = projection {
        lens.near = near;
    }
}

/// Pointer input for walking and flying.
#[derive(SystemParam)]
pub(super) struct LookInput<'w, 's> {
    over_view: Res<'w, PointerOverView>,
    brushes: Res<'w, Brushes>,
    buttons: Res<'w, ButtonInput<MouseButton>>,
    others: OtherWindows<'w, 's>,
    wheel: MessageReader<'w, 's, MouseWheel>,
    motion: MessageReader<'w, 's, MouseMotion>,
}

impl LookInput<'_, '_> {
    /// Returns the notches of the wheel over the terrain, and the drag that looks around, in pixels.
    fn read(&mut self) -> (f32, Vec2) {
        let notches = |turned: &MouseWheel| match turned.unit {
            MouseScrollUnit::Line => turned.y,
            MouseScrollUnit::Pixel => turned.y / MouseScrollUnit::SCROLL_UNIT_CONVERSION_FACTOR,
        };
        let turned: f32 = self.wheel.read().filter(|wheel| !self.others.has(wheel.window)).map(notches).sum();
        let dragged: Vec2 = self.motion.read().map(|motion| motion.delta).sum();
        let over = self.over_view.terrain;
        // The other buttons orbit as usual.
        let looks = over && self.brushes.active.is_none() && self.buttons.pressed(MouseButton::Left);
        (if over { turned } else { 0.0 }, if looks { dragged } else { Vec2::ZERO })
    }
}

/// Moves with keys, looks around with the pointer, and keeps the camera above the ground.
pub(super) fn go(
    (mode, steps): (Res<State<CameraMode>>, Res<NavigationInput>),
    ground: WalkableGround,
    mut input: LookInput,
    mut orbit: Single<&mut PanOrbitCamera>,
    time: Res<Time>,
    mut pace: Local<Option<f32>>,
    mut again: MessageWriter<RequestRedraw>,
) {
    let (turned, dragged) = input.read();
    if *mode == CameraMode::Orbit {
        *pace = None;
        return;
    }
    let pace = pace.get_or_insert(1.0);
    *pace = (*pace * NOTCH.powf(turned)).clamp(SLOWEST, FASTEST);
    if dragged != Vec2::ZERO {
        orbit.target_yaw -= LOOKS * dragged.x;
        orbit.target_pitch += LOOKS * dragged.y;
    }
    let flies = *mode == CameraMode::Fly;
    let turn = if flies { -orbit.target_pitch } else { 0.0 };
    let turn = Quat::from_euler(EulerRot::YXZ, orbit.target_yaw, turn, 0.0);
    let [right, up, ahead] = steps.direction;
    let direction = turn * Vec3::new(right, 0.0, -ahead) + if flies { Vec3::Y * up } else { Vec3::ZERO };
    let speed = SIDE * *pace * if flies { FLIES } else { WALKS } * if steps.is_fast { HASTE } else { 1.0 };
    let step = direction.clamp_length_max(1.0) * speed * time.delta_secs().min(0.1);
    let mut focus = (orbit.target_focus + step).clamp_length_max(if flies { FARTHEST } else { 0.85 * SIDE });
    let least = ground.eye_height(focus.xz());
    focus.y = if flies { focus.y.max(least) } else { least };
    if focus != orbit.target_focus {
        orbit.target_focus = focus;
    }
    if step != Vec3::ZERO {
        again.write(RequestRedraw);
    }
}

/// Raises an orbiting camera out of the ground, so that it slides over slopes and block edges.
pub(super) fn push_above_ground(
    ground: WalkableGround,
    (windows, viewpoint): (Query<(), With<Window>>, Res<Viewpoint>),
    mut orbit: Single<&mut PanOrbitCamera>,
) {
    // A camera that frames everything is outside.
    let sees_all = windows.is_empty() && (viewpoint.wanted.is_some() || viewpoint.framed.is_some());
    if sees_all {
        return;
    }
    let Some((pitch, radius)) = ground.kept_outside(&orbit) else { return };
    (orbit.target_pitch, orbit.target_radius) = (pitch, radius);
    if windows.is_empty() {
        // No transitions in screenshots and videos.
        (orbit.pitch, orbit.radius) = (Some(pitch), Some(radius));
    }
    orbit.force_update = true;
}

/// Returns the first accepted value between `from` and `to`: searched in steps, then refined by bisection to depend continuously on
/// the parameters.
fn first_of(from: f32, to: f32, will_do: impl Fn(f32) -> bool) -> Option<f32> {
    let step = (to - from) / 64.0;
    let mut found = (1..=64u8).map(|number| from + f32::from(number) * step).find(|&number| will_do(number))?;
    let mut missed = found - step;
    for _ in 0..10 {
        let middle = 0.5 * (missed + found);
        *(if will_do(middle) { &mut found } else { &mut missed }) = middle;
    }
    Some(found)
}

/// Look-ahead distance in world units, and the slope from which rising ground would fill the view.
const AHEAD: f32 = 0.04 * SIDE;
const STEEP: f32 = 0.2;

/// Ground to stand on.
#[derive(SystemParam)]
pub(super) struct WalkableGround<'w> {
    simulations: Res<'w, Simulations>,
    blocks: Res<'w, TerrainBlocks>,
    comparison: Res<'w, State<Comparison>>,
}

impl WalkableGround<'_> {
    /// Returns the pitch and radius that lift the camera above the ground, or `None` if it already is.
    fn kept_outside(&self, orbit: &PanOrbitCamera) -> Option<(f32, f32)> {
        // A cut block may be viewed from its open side.
        if self.blocks.uniforms.iter().any(SceneUniforms::is_cut) {
            return None;
        }
        let outside = |pitch: f32, radius: f32| {
            let direction = Quat::from_euler(EulerRot::YXZ, orbit.target_yaw, -pitch, 0.0) * Vec3::Z;
            let eye = orbit.target_focus + radius * direction;
            // Nor may ground before or below the camera be nearer than the near plane.
            let places = [eye, eye - 2.0 * camera::NEAR_PLANE * direction];
            places.into_iter().all(|place| place.y >= self.eye_height(place.xz()) + 3.0 * camera::NEAR_PLANE)
        };
        let (pitch, radius) = (orbit.target_pitch, orbit.target_radius);
        if outside(pitch, radius) {
            return None;
        }
        let steepest = orbit.pitch_upper_limit.unwrap_or(STEEPEST);
        if let Some(pitch) = first_of(pitch, steepest, |pitch| outside(pitch, radius)) {
            return Some((pitch, radius));
        }
        // The focus is deep in the ground.
        first_of(radius, radius + SIDE, |radius| outside(steepest, radius)).map(|radius| (steepest, radius))
    }

    /// Returns the yaw closest to the current one that does not face rising ground: on a slope, people look along it or down.
    fn open_side(&self, place: Vec2, yaw: f32) -> f32 {
        let here = self.eye_height(place);
        let rise = |yaw: f32| {
            let ahead = place - AHEAD * Vec2::new(yaw.sin(), yaw.cos());
            (self.eye_height(ahead) - here) / AHEAD
        };
        let turns = (0..=8i8).flat_map(|step| [f32::from(step), -f32::from(step)]);
        let mut sides = turns.map(|step| yaw + step * std::f32::consts::FRAC_PI_8);
        sides.find(|&side| rise(side) < STEEP).unwrap_or(yaw)
    }

    /// Returns the eye height of a walker at a point: on ground, on water, or beside the blocks.
    fn eye_height(&self, place: Vec2) -> f32 {
        let under = |uniforms: &SceneUniforms| {
            let [block, half] = [uniforms.footprint().xy(), uniforms.footprint().zw()];
            (place - block).abs().cmple(half).all()
        };
        let runs = self.blocks.uniforms.iter().zip(self.simulations.all());
        let Some((uniforms, session)) = runs.into_iter().find(|(uniforms, _)| under(uniforms)) else {
            return self
                .blocks
                .uniforms
                .first()
                .map_or(0.0, |uniforms| uniforms.base_height() + uniforms.eye(EYE, EYE_CELLS));
        };
        let terrain = &session.simulation.terrain;
        let [column, row, _] = uniforms.on_map(Vec3::new(place.x, 0.0, place.y));
        let [column, row] = [column as f32, row as f32];
        let top = match self.comparison.get() {
            Comparison::Start => terrain.start.sample_bilinear(column, row),
            _ => terrain.sample_ground(column, row) + terrain.water.sample_bilinear(column, row),
        };
        uniforms.world(column, row, top).y + uniforms.eye(EYE, EYE_CELLS)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bevy::ecs::system::SystemState;

    use super::*;
    use crate::{
        render::uniforms,
        world::{CameraCommand, CameraStep},
    };
    use bevy::state::app::StatesPlugin;
    use thalweg_scene::{
        io::{project, scene::open_first},
        model::origin::Options,
    };

    fn app() -> App {
        let options = Options { size: Some((64, 64)), ..Options::default() };
        let session = open_first("round-hill", &options).expect("built in");
        let uniforms = uniforms::alone(&session);
        let mut app = App::new();
        app.add_plugins(StatesPlugin)
            .insert_resource(Simulations::new(vec![session]))
            .init_resource::<TerrainBlocks>()
            .init_resource::<NavigationInput>()
            .init_state::<Comparison>()
            .init_resource::<Viewpoint>()
            .init_resource::<Brushes>()
            .init_resource::<Notices>()
            .insert_resource(PointerOverView { view: true, terrain: true, adds_rain: false })
            .init_resource::<ButtonInput<MouseButton>>()
            .init_resource::<Time>()
            .add_message::<MouseWheel>()
            .add_message::<MouseMotion>()
            .add_message::<RequestRedraw>()
            .init_state::<CameraMode>()
            .add_plugins(plugin)
            .add_observer(camera::choose_mode)
            .add_observer(camera::apply_camera_command)
            .add_systems(Update, go);
        app.world_mut().resource_mut::<TerrainBlocks>().uniforms = vec![uniforms];
        let mut orbit = PanOrbitCamera { target_yaw: 0.0, target_pitch: 0.5, target_radius: 300.0, ..default() };
        camera::set_limits(&mut orbit);
        app.world_mut().spawn((orbit, Projection::from(PerspectiveProjection::default())));
        app
    }

    fn ask(app: &mut App, command: CameraCommand) {
        app.world_mut().trigger(command);
        app.update();
    }

    /// Holds movement keys for some frames.
    fn hold(app: &mut App, direction: [f32; 3], frames: usize) {
        app.insert_resource(NavigationInput { direction, is_fast: false });
        for _ in 0..frames {
            app.world_mut().resource_mut::<Time>().advance_by(Duration::from_millis(50));
            app.update();
        }
    }

    fn eye(app: &mut App) -> (Vec3, f32) {
        let mut cameras = app.world_mut().query::<&PanOrbitCamera>();
        let orbit = cameras.single(app.world()).expect("there is one");
        let focus = orbit.target_focus;
        let mut state = SystemState::<WalkableGround<'_>>::new(app.world_mut());
        let ground = state.get(app.world()).expect("all is there");
        (focus, focus.y - ground.eye_height(focus.xz()))
    }

    #[test]
    fn walk_keeps_eye_height_and_fly_stays_above_ground() {
        let mut app = app();
        ask(&mut app, CameraCommand::SetMode(CameraMode::Walk));
        assert_eq!(*app.world().resource::<State<CameraMode>>(), CameraMode::Walk);
        let (begins, above) = eye(&mut app);
        assert!(above.abs() < 1e-4, "{above} too high");
        hold(&mut app, [0.0, 0.0, 1.0], 40);
        let (ends, above) = eye(&mut app);
        // Two seconds.
        let distance = (ends - begins).xz().length();
        assert!(
            (distance - 2.0 * WALKS * SIDE).abs() < 0.05 * SIDE * WALKS && above.abs() < 1e-4,
            "{distance}, {above}"
        );
        assert!((ends.y - begins.y).abs() > 1e-3, "the hill is level");
        ask(&mut app, CameraCommand::SetMode(CameraMode::Fly));
        hold(&mut app, [0.0, 1.0, 0.0], 20);
        let (_, above) = eye(&mut app);
        assert!(above > 0.9 * FLIES * SIDE, "it rises only {above}");
        hold(&mut app, [0.0, -1.0, 0.0], 60);
        let (_, above) = eye(&mut app);
        assert!(above.abs() < 1e-4, "it sinks to {above}");
        // Walking is confined to the scene.
        ask(&mut app, CameraCommand::SetMode(CameraMode::Walk));
        hold(&mut app, [1.0, 0.0, 0.0], 800);
        let (place, _) = eye(&mut app);
        assert!(place.length() < 0.9 * SIDE, "{place}");
    }

    #[test]
    fn leaving_walk_mode_restores_orbit_camera() {
        let mut app = app();
        for ends in [CameraCommand::SetMode(CameraMode::Walk), CameraCommand::FrameAll] {
            ask(&mut app, CameraCommand::SetMode(CameraMode::Walk));
            ask(&mut app, ends);
            assert_eq!(*app.world().resource::<State<CameraMode>>(), CameraMode::Orbit);
            let mut cameras = app.world_mut().query::<(&PanOrbitCamera, &Projection)>();
            let (orbit, projection) = cameras.single(app.world()).expect("there is one");
            let mut before = PanOrbitCamera::default();
            camera::set_limits(&mut before);
            assert_eq!(orbit.zoom_lower_limit, before.zoom_lower_limit);
            assert_eq!(orbit.pitch_lower_limit, before.pitch_lower_limit);
            let Projection::Perspective(lens) = projection else { panic!("it has a lens") };
            assert_eq!(lens.near, camera::NEAR_PLANE);
        }
        // A project is opened with its saved view.
        let place = project::Camera { focus: [3.0, 4.0, 5.0], yaw: 1.0, pitch: 0.7, distance: 99.0 };
        ask(&mut app, CameraCommand::SetMode(CameraMode::Fly));
        ask(&mut app, CameraCommand::Place(place));
        let mut cameras = app.world_mut().query::<&PanOrbitCamera>();
        let orbit = cameras.single(app.world()).expect("there is one");
        assert_eq!((orbit.target_focus.to_array(), orbit.target_yaw), (place.focus, place.yaw));
        assert_eq!((orbit.target_pitch, orbit.target_radius), (place.pitch, place.distance));
    }

    #[test]
    fn orbit_camera_stays_above_ground() {
        let mut app = app();
        app.add_systems(PostUpdate, push_above_ground);
        app.world_mut().spawn(Window::default());
        let place = |app: &mut App, focus: Vec3, pitch: f32, radius: f32| {
            let mut cameras = app.world_mut().query::<&mut PanOrbitCamera>();
            let mut orbit = cameras.single_mut(app.world_mut()).expect("there is one");
            (orbit.target_focus, orbit.target_pitch, orbit.target_radius) = (focus, pitch, radius);
        };
        let orbit = |app: &mut App| {
            let mut cameras = app.world_mut().query::<&PanOrbitCamera>();
            let orbit = cameras.single(app.world()).expect("there is one");
            let eye = Quat::from_euler(EulerRot::YXZ, orbit.target_yaw, -orbit.target_pitch, 0.0) * Vec3::Z;
            (orbit.target_focus + orbit.target_radius * eye, orbit.target_pitch, orbit.target_radius)
        };
        let above = |app: &mut App, eye: Vec3| {
            let mut state = SystemState::<WalkableGround<'_>>::new(app.world_mut());
            let ground = state.get(app.world()).expect("all is there");
            eye.y - ground.eye_height(eye.xz())
        };
        // Unchanged from far away and above.
        for (pitch, radius) in [(0.5, 300.0), (0.03, 600.0), (1.5, 200.0)] {
            place(&mut app, Vec3::ZERO, pitch, radius);
            app.update();
            let (_, pitch_now, radius_now) = orbit(&mut app);
            assert_eq!((pitch_now, radius_now), (pitch, radius));
        }
        // Approaching the hill from the block's side: the camera rises over the edge at a constant distance, which only grows when
        // it is too short to leave the hill.
        let mut rose = 0;
        for step in 0..60u8 {
            let radius = 200.0 - 3.0 * f32::from(step);
            place(&mut app, Vec3::new(0.0, 2.0, 0.0), 0.03, radius);
            app.update();
            let (eye, pitch, now) = orbit(&mut app);
            let height = above(&mut app, eye);
            assert!(height >= 0.0 && (now == radius || radius < 60.0 && now > radius), "at {radius}: {height}, {now}");
            rose += u8::from(pitch > 0.03);
        }
        assert!(rose > 30 && rose < 60, "{rose}");
        // The focus is deep under the hill.
        place(&mut app, Vec3::new(0.0, -60.0, 0.0), 0.1, 13.0);
        app.update();
        let (eye, _, radius) = orbit(&mut app);
        assert!(above(&mut app, eye) >= 0.0 && radius > 13.0, "{eye}, {radius}");
    }

    #[test]
    fn bookmark_transition_takes_shorter_arc() {
        let mut app = app();
        let bookmark = project::Camera { focus: [3.0, 4.0, 5.0], yaw: 6.0, pitch: 0.7, distance: 99.0 };
        app.world_mut().resource_mut::<Simulations>().views.bookmarks[1] = Some(bookmark);
        let orbit = |app: &mut App| {
            let mut cameras = app.world_mut().query::<&PanOrbitCamera>();
            let orbit = cameras.single(app.world()).expect("there is one");
            (orbit.target_focus.to_array(), orbit.target_yaw, orbit.target_pitch, orbit.target_radius)
        };
        let before = orbit(&mut app);
        for number in [0, 1, 10] {
            ask(&mut app, CameraCommand::GoToBookmark(number));
            assert_eq!(orbit(&mut app), before);
        }
        let texts: Vec<_> = app.world().resource::<Notices>().shown().map(|notice| notice.text.clone()).collect();
        assert!(texts.iter().any(|text| text.contains("Bookmark 1 is empty. Press Ctrl+1")), "{texts:?}");
        ask(&mut app, CameraCommand::SetMode(CameraMode::Fly));
        ask(&mut app, CameraCommand::GoToBookmark(2));
        assert_eq!(*app.world().resource::<State<CameraMode>>(), CameraMode::Orbit);
        let (focus, yaw, pitch, radius) = orbit(&mut app);
        assert_eq!((focus, pitch, radius), (bookmark.focus, bookmark.pitch, bookmark.distance));
        assert!((yaw - (bookmark.yaw - std::f32::consts::TAU)).abs() < 1e-5, "{yaw}");
        // Another project has its own bookmarks.
        let session = app.world().resource::<Simulations>().selected().clone();
        app.insert_resource(Simulations::new(vec![session]));
        let before = orbit(&mut app);
        ask(&mut app, CameraCommand::Move(CameraStep::Orbit(10.0, 0.0)));
        let turned = orbit(&mut app);
        ask(&mut app, CameraCommand::GoToBookmark(2));
        assert!(orbit(&mut app) == turned && turned != before);
    }
}
