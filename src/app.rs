//! The plugins and the order of their systems, in a window or off-screen; nothing else.

use std::{path::Path, time::Duration};

use bevy::{
    app::ScheduleRunnerPlugin,
    asset::RenderAssetUsages,
    camera::RenderTarget,
    image::Image,
    log::LogPlugin,
    prelude::*,
    render::{
        RenderApp, RenderPlugin,
        render_resource::{PipelineCache, TextureFormat, TextureUsages},
        view::screenshot::{Screenshot, ScreenshotCaptured},
    },
    window::{ExitCondition, PresentMode, WindowResolution},
    winit::WinitPlugin,
};

use crate::{
    io::{
        self, Error,
        scene::{Picture, Session},
    },
    runtime::{self, Live, SimSystems, Transport},
    ui::{self, UiVisible},
    view::{
        self, ViewSystems,
        camera::{CAMERAS, Target, Viewpoint},
    },
};

/// Frames to draw before a picture is taken: pipelines are compiled in the first, textures arrive in the second.
const FRAMES_BEFORE_SHOT: u32 = 6;

/// Opens a window and runs until it is closed.
///
/// # Errors
/// One sentence, if there is no display or no graphics driver.
pub fn open_window(session: Session) -> Result<(), String> {
    if cfg!(all(unix, not(target_os = "macos"))) && !has_display() {
        return Err("there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)".to_owned());
    }
    find_adapter()?;
    let window = Window {
        title: format!("Thalweg · {}", session.title),
        resolution: WindowResolution::new(1280, 800),
        present_mode: PresentMode::AutoVsync,
        ..default()
    };
    let mut app = App::new();
    app.add_plugins(DefaultPlugins.set(WindowPlugin { primary_window: Some(window), ..default() }).set(quiet_log()));
    add_thalweg(&mut app, session);
    app.run();
    Ok(())
}

/// Draws one picture of a session as it stands, without a display.
///
/// # Errors
/// One sentence, if there is no graphics driver, no such camera, or the file cannot be written.
pub fn shot(session: Session, shot: &Picture) -> Result<(), Error> {
    let name = shot.camera.as_deref().unwrap_or(CAMERAS[0].0);
    let viewpoint = Viewpoint::named(name).ok_or_else(|| {
        let names: Vec<&str> = CAMERAS.iter().map(|(name, ..)| *name).collect();
        Error::input(Path::new(name), "there is no such camera", format!("the cameras are {}", names.join(", ")))
    })?;
    let failed = |wrong: String| Error::output(&shot.out, wrong, "another graphics driver may draw it");
    find_adapter().map_err(failed)?;
    let mut app = App::new();
    let windows = WindowPlugin { primary_window: None, exit_condition: ExitCondition::DontExit, ..default() };
    let render = RenderPlugin { synchronous_pipeline_compilation: true, ..default() };
    app.add_plugins(DefaultPlugins.set(windows).set(render).set(quiet_log()).disable::<WinitPlugin>())
        .add_plugins(ScheduleRunnerPlugin::run_loop(Duration::ZERO));
    let (width, height) = shot.resolution;
    let mut target = Image::new_target_texture(width, height, TextureFormat::Rgba8UnormSrgb, None);
    target.texture_descriptor.usage |= TextureUsages::COPY_SRC;
    target.asset_usage = RenderAssetUsages::RENDER_WORLD;
    let image = app.world_mut().resource_mut::<Assets<Image>>().add(target);
    app.insert_resource(Target(RenderTarget::Image(image.clone().into()))).insert_resource(viewpoint);
    add_thalweg(&mut app, session);
    app.insert_resource(UiVisible(shot.ui)).insert_resource(Transport::paused());
    app.finish();
    app.cleanup();
    for _ in 0..FRAMES_BEFORE_SHOT {
        app.update();
    }
    if let Some(error) = pipeline_error(&app) {
        return Err(failed(format!("the graphics driver refuses a shader: {error}")));
    }
    let out = shot.out.clone();
    app.insert_resource(Captured(None));
    app.world_mut().spawn(Screenshot::image(image)).observe(
        move |captured: On<ScreenshotCaptured>, mut picture: ResMut<Captured>| {
            picture.0 = Some(captured.image.clone());
        },
    );
    for _ in 0..200 {
        app.update();
        if let Some(picture) = app.world_mut().resource_mut::<Captured>().0.take() {
            return save(picture, &out);
        }
    }
    Err(failed("the graphics driver gave no picture within 200 frames".to_owned()))
}

/// The picture that the graphics card gave back.
#[derive(Resource)]
struct Captured(Option<Image>);

fn save(picture: Image, out: &Path) -> Result<(), Error> {
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let bytes = picture.data.unwrap_or_default();
    let pixels: Vec<u8> = bytes.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    io::output::replace(out, |path| io::write_rgb8(path, width, height, &pixels))
}

fn pipeline_error(app: &App) -> Option<String> {
    let cache = app.get_sub_app(RenderApp)?.world().get_resource::<PipelineCache>()?;
    cache.pipelines().find_map(|pipeline| match &pipeline.state {
        bevy::render::render_resource::CachedPipelineState::Err(error) => Some(error.to_string()),
        _ => None,
    })
}

fn add_thalweg(app: &mut App, session: Session) {
    app.insert_resource(Live(session))
        .add_plugins((runtime::plugin, view::plugin, ui::plugin))
        .configure_sets(Update, (SimSystems::Obey, SimSystems::Tick, ViewSystems::Show).chain());
}

fn quiet_log() -> LogPlugin {
    LogPlugin { filter: "error,wgpu=off,naga=off".to_owned(), ..default() }
}

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Asks for a graphics adapter before the engine does, which would end the program if there is none.
fn find_adapter() -> Result<(), String> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let found = bevy::tasks::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    if found.is_empty() {
        return Err("there is no graphics driver (install Vulkan, on Debian mesa-vulkan-drivers)".to_owned());
    }
    Ok(())
}
