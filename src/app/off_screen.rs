//! The application without a window, rendering to a texture.

use std::{path::Path, time::Duration};

use bevy::{
    app::{ScheduleRunnerPlugin, TerminalCtrlCHandlerPlugin},
    asset::RenderAssetUsages,
    camera::RenderTarget,
    image::Image,
    log::LogPlugin,
    prelude::*,
    render::{
        RenderApp, RenderPlugin,
        render_resource::{CachedPipelineState, Extent3d, PipelineCache, TextureFormat, TextureUsages},
        view::screenshot::{Screenshot, ScreenshotCaptured},
    },
    window::ExitCondition,
    winit::WinitPlugin,
};

use super::{add_thalweg, graphics::find_adapter, window::SIZE};
use crate::{
    render::{
        camera::Viewpoint,
        capture::{CaptureResult, CapturedPixels, rgb},
    },
    shell::{UiRenderTarget, UiVisible},
    world::{
        AppCommand, FileCommand, History, Jobs, NoticeLevel, Notices, Preferences, Revision, RiverExtraction,
        ScreenshotCommand, Simulations, Transport, ViewportArea, background,
    },
};
use thalweg_scene::{
    io::{
        self, Error, ImagePixels,
        scene::{RenderJob, RenderOptions},
        watch::{FrameAction, FrameCallback, FrameContext},
    },
    model::{film::CAMERAS, session::Session},
    settings::{AntiAliasing, Quality, ScreenshotFormat, Settings},
};

/// Frames to render before a screenshot: pipelines are compiled in the first, textures arrive in the second.
const FRAMES_BEFORE_SHOT: u32 = 6;

/// Renders one screenshot of sessions in their current state, without a display.
///
/// # Errors
/// There is no graphics driver, no camera of this name, or the file cannot be written.
pub fn render_screenshot(sessions: Vec<Session>, shot: &RenderJob) -> Result<(), Error> {
    let name = shot.camera.as_deref().unwrap_or(CAMERAS[0].0);
    let viewpoint = Viewpoint::named(name).ok_or_else(|| {
        let names: Vec<&str> = CAMERAS.iter().map(|(name, ..)| *name).collect();
        Error::input(Path::new(name), "there is no camera with this name", format!("use one of {}", names.join(", ")))
    })?;
    let failed = |wrong: String| Error::output(&shot.out, wrong, "try another graphics driver");
    find_adapter().map_err(failed)?;
    let mut app = app(sessions, shot.resolution, viewpoint);
    app.insert_resource(Transport::paused());
    set_options(&mut app, shot.how);
    let (size, pixels) = take_screenshot(&mut app, shot.how).map_err(failed)?;
    io::output::replace(&shot.out, |path| pixels.write(path, size, &io::JobProgress::default()))
}

/// Plays sessions off-screen as a window would on this machine, with the turntable on, until the watcher ends it.
///
/// # Errors
/// There is no graphics driver, or it rejects a shader.
pub fn play(sessions: Vec<Session>, watch: &mut FrameCallback<'_>) -> Result<(), String> {
    find_adapter()?;
    let mut app = app(sessions, SIZE, Viewpoint::default());
    app.insert_resource(Preferences::default());
    let mut opening = false;
    loop {
        app.update();
        opening &= app.world().resource::<Jobs>().count() > 0;
        // A finished map pauses once; keep playing.
        app.world_mut().resource_mut::<Transport>().playing = true;
        check_shaders(&app)?;
        let world = app.world();
        if let Some(notice) = world.resource::<Notices>().shown().find(|notice| notice.level == NoticeLevel::Error) {
            return Err(notice.text.trim_end_matches('.').to_owned());
        }
        let history_bytes = world.resource::<History>().bytes();
        match watch(FrameContext { sessions: world.resource::<Simulations>().all(), history_bytes, opening }) {
            FrameAction::Continue => {}
            FrameAction::Open(input, options) => {
                app.world_mut().write_message(AppCommand::from(FileCommand::Open(input, options)));
                app.update();
                opening = true;
            }
            FrameAction::End => return Ok(()),
        }
    }
}

/// Returns the frame of a paused [`app`]. Takes a few frames, and more until the rivers are up to date, so that a state always
/// gives the same image.
///
/// # Errors
/// The driver rejects a shader or returns no image.
pub fn capture(app: &mut App) -> Result<Image, String> {
    wait_until_ready(app)?;
    let RenderTarget::Image(canvas) = &app.world().resource::<UiRenderTarget>().0 else {
        return Err("the render target is not a texture".into());
    };
    let image = canvas.handle.clone();
    app.insert_resource(CapturedImage(None));
    app.world_mut().spawn(Screenshot::image(image)).observe(
        move |captured: On<ScreenshotCaptured>, mut image: ResMut<CapturedImage>| {
            image.0 = Some(captured.image.clone());
        },
    );
    for _ in 0..200 {
        app.update();
        if let Some(image) = app.world_mut().resource_mut::<CapturedImage>().0.take() {
            return Ok(image);
        }
    }
    Err("the graphics driver returned no image within 200 frames".to_owned())
}

/// Sets the options of screenshots of an [`app`].
pub(super) fn set_options(app: &mut App, how: RenderOptions) {
    app.insert_resource(UiVisible(how.ui)).init_resource::<CaptureResult>();
    let settings = &mut app.world_mut().resource_mut::<Preferences>().settings;
    settings.screenshot_format = if how.as_light { ScreenshotFormat::Exr } else { ScreenshotFormat::Png };
    (settings.screenshot_blur, settings.transparent_screenshots) = (how.blur, how.transparent);
    for _ in 0..FRAMES_BEFORE_SHOT {
        app.update();
    }
}

/// Takes a screenshot of a paused [`app`], after [`set_options`].
///
/// # Errors
/// As for [`capture`].
pub(super) fn take_screenshot(app: &mut App, how: RenderOptions) -> Result<CapturedPixels, String> {
    if how.ui || !(how.as_light || how.blur > 0.0 || how.transparent) {
        let (size, bytes) = rgb(&capture(app)?);
        return Ok((size, ImagePixels::Bytes(bytes)));
    }
    wait_until_ready(app)?;
    app.world_mut().write_message(AppCommand::from(ScreenshotCommand::Take));
    // Each tile takes a few frames, and so does each sample of the lens.
    let most = if how.blur > 0.0 { 128_000 } else { 2000 };
    for _ in 0..most {
        app.update();
        check_shaders(app)?;
        if let Some(taken) = app.world_mut().resource_mut::<CaptureResult>().0.take() {
            return taken;
        }
    }
    Err(format!("the graphics driver returned no screenshot within {most} frames"))
}

/// Renders until pipelines are ready and the rivers are up to date.
fn wait_until_ready(app: &mut App) -> Result<(), String> {
    check_shaders(app)?;
    let rivers_lag = |world: &World| {
        let (simulations, rivers) = (world.resource::<Simulations>(), world.resource::<RiverExtraction>());
        let paused = !world.resource::<Transport>().playing && simulations.between_ticks();
        paused && !rivers.is_current(simulations, *world.resource::<Revision>())
    };
    while rivers_lag(app.world()) {
        app.update();
    }
    // Rivers found in one frame are rendered in the next.
    app.update();
    Ok(())
}

#[derive(Resource)]
struct CapturedImage(Option<Image>);

/// Returns the application with a texture as its render target. Its settings are the defaults, independent of the user's.
pub fn app(sessions: Vec<Session>, size: (u32, u32), viewpoint: Viewpoint) -> App {
    let mut app = build(sessions, size, viewpoint);
    app.finish();
    app.cleanup();
    app
}

/// Returns an [`app`] whose plugins are added but not finished.
pub fn build(sessions: Vec<Session>, (width, height): (u32, u32), viewpoint: Viewpoint) -> App {
    background::pool();
    let mut app = App::new();
    let windows = WindowPlugin { primary_window: None, exit_condition: ExitCondition::DontExit, ..default() };
    let render = RenderPlugin { synchronous_pipeline_compilation: true, ..default() };
    let engine = DefaultPlugins.set(windows).set(render).disable::<LogPlugin>().disable::<WinitPlugin>();
    // Ctrl+C is handled by the command line; the engine's handler would wait for an event loop that does not run.
    app.add_plugins(engine.disable::<TerminalCtrlCHandlerPlugin>())
        .add_plugins(ScheduleRunnerPlugin::run_loop(Duration::ZERO));
    let mut target = Image::new_target_texture(width, height, TextureFormat::Rgba8UnormSrgb, None);
    target.texture_descriptor.usage |= TextureUsages::COPY_SRC;
    target.asset_usage = RenderAssetUsages::RENDER_WORLD;
    let image = app.world_mut().resource_mut::<Assets<Image>>().add(target);
    add_thalweg(&mut app, sessions);
    let settings = Settings {
        quality: Quality::Custom,
        anti_aliasing: AntiAliasing::Msaa4,
        adaptive_resolution: false,
        ..Settings::default()
    };
    app.insert_resource(UiRenderTarget(RenderTarget::Image(image.into())))
        .insert_resource(viewpoint)
        .insert_resource(Preferences { settings, ..Preferences::default() })
        .insert_resource(ViewportArea { rect: URect::new(0, 0, width, height), ..ViewportArea::default() });
    app
}

/// Resizes the render target of an [`app`], like dragging a window's corner.
pub fn resize(app: &mut App, (width, height): (u32, u32)) {
    let RenderTarget::Image(target) = &app.world().resource::<UiRenderTarget>().0 else { return };
    let image = target.handle.clone();
    if let Some(mut image) = app.world_mut().resource_mut::<Assets<Image>>().get_mut(&image) {
        image.texture_descriptor.size = Extent3d { width, height, depth_or_array_layers: 1 };
    }
}

fn check_shaders(app: &App) -> Result<(), String> {
    let world = app.get_sub_app(RenderApp).map(SubApp::world);
    let pipelines =
        world.and_then(|world| world.get_resource::<PipelineCache>()).into_iter().flat_map(|cache| cache.pipelines());
    let mut states = pipelines.map(|pipeline| &pipeline.state);
    states.try_for_each(|state| match state {
        CachedPipelineState::Err(error) => Err(format!("the graphics driver rejected a shader: {error}")),
        _ => Ok(()),
    })
}
