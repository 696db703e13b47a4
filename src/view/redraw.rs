//! When the picture is drawn again: when something in it has changed and all its shaders are compiled. Else the last one stays, and
//! a frame costs no more than the panels.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bevy::{
    core_pipeline::schedule::camera_driver,
    ecs::system::SystemParam,
    input::{keyboard::KeyboardInput, mouse::MouseMotion},
    prelude::*,
    render::{RenderApp, camera::SortedCameras, render_resource::PipelineCache, renderer::RenderGraph},
};
use bevy_panorbit_camera::{PanOrbitCamera, PanOrbitCameraSystemSet};

use crate::runtime::{
    BrushCursor, Brushes, Channels, Command, FreeView, Live, Overlay, PointerOverView, Preferences, Shown, ViewCommand,
};

/// Frames for which the picture is drawn after the last change: textures and settings take some to arrive.
const LINGERS: u32 = 3;
/// After its last movement, the pointer counts as busy on the panels for so long.
const REST: Duration = Duration::from_millis(400);

pub(super) fn plugin(app: &mut App) {
    let compiling = Compiling(Arc::new(AtomicBool::new(true)));
    app.insert_resource(compiling.clone())
        .add_systems(PostUpdate, draw_when_changed.after(PanOrbitCameraSystemSet).before(TransformSystems::Propagate));
    if let Some(render) = app.get_sub_app_mut(RenderApp) {
        render.insert_resource(compiling).add_systems(RenderGraph, wait_for_shaders.before(camera_driver));
    }
}

/// Whether a shader is still being compiled, as the render world last saw it.
#[derive(Resource, Clone)]
struct Compiling(Arc<AtomicBool>);

/// While a shader is still being compiled, what it draws would be missing from the picture: the last one stays.
fn wait_for_shaders(
    cache: Res<PipelineCache>,
    compiling: Res<Compiling>,
    mut cameras: ResMut<SortedCameras>,
    views: Query<(), With<Camera3d>>,
) {
    let waits = cache.waiting_pipelines().next().is_some();
    compiling.0.store(waits, Ordering::Relaxed);
    if waits {
        cameras.0.retain(|camera| !views.contains(camera.entity));
    }
}

/// All that the picture shows, and what asks for it.
#[derive(SystemParam)]
struct Seen<'w, 's> {
    live: Res<'w, Live>,
    shown: Res<'w, Shown>,
    view: Res<'w, FreeView>,
    preferences: Res<'w, Preferences>,
    overlay: Res<'w, Overlay>,
    channels: Res<'w, Channels>,
    cursor: Res<'w, BrushCursor>,
    brushes: Res<'w, Brushes>,
    commands: MessageReader<'w, 's, Command>,
    compiling: Res<'w, Compiling>,
}

impl Seen<'_, '_> {
    fn changed(&mut self) -> bool {
        let asked = self.commands.read().any(|command| *command == ViewCommand::TakePicture);
        let changed = self.live.is_changed() || self.shown.is_changed() || self.preferences.is_changed();
        let changed = changed
            || self.overlay.is_changed()
            || self.channels.is_changed()
            || self.cursor.is_changed()
            || self.brushes.is_changed();
        asked || changed || self.view.is_changed() || self.compiling.0.load(Ordering::Relaxed)
    }
}

/// When the picture was drawn last, and when the person last moved something.
#[derive(Default)]
struct Last {
    /// Frames for which it is still to be drawn.
    due: u32,
    /// When the last picture was begun, and how long that frame took.
    begun: Option<Instant>,
    took: Duration,
    /// When the person last moved.
    moved: Option<Instant>,
    place: Option<(Transform, f32)>,
}

fn draw_when_changed(
    mut seen: Seen,
    camera: Single<(&mut Camera, &Transform, &Projection), With<PanOrbitCamera>>,
    mut motion: MessageReader<MouseMotion>,
    mut keys: MessageReader<KeyboardInput>,
    over_view: Res<PointerOverView>,
    mut last: Local<Last>,
) {
    let (mut camera, transform, projection) = camera.into_inner();
    let now = Instant::now();
    if camera.is_active && last.begun.is_some() {
        last.took = now - last.begun.unwrap_or(now);
    }
    if motion.read().count() + keys.read().count() > 0 {
        last.moved = Some(now);
    }
    let fov = if let Projection::Perspective(lens) = projection { lens.fov } else { 0.0 };
    let place = Some((*transform, fov));
    if seen.changed() || last.place != place {
        last.due = LINGERS;
    }
    last.place = place;
    // Where the processor draws, pictures take at most half of the time while a slider is moved, so that it follows the pointer.
    let on_panels = !over_view.view && last.moved.is_some_and(|moved| moved.elapsed() < REST);
    let rests = last.begun.is_some_and(|begun| begun.elapsed() < 2 * last.took);
    let draw = last.due > 0 && !(seen.preferences.software && on_panels && rests);
    if draw {
        last.due -= 1;
        last.begun = Some(now);
    }
    if camera.is_active != draw {
        camera.is_active = draw;
    }
}
