//! The plugins and the order of their systems, in a window or off-screen; nothing else.

use std::{
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    time::Duration,
};

use bevy::{
    app::{ScheduleRunnerPlugin, TerminalCtrlCHandlerPlugin},
    asset::RenderAssetUsages,
    camera::RenderTarget,
    image::Image,
    log::LogPlugin,
    prelude::*,
    render::{
        RenderApp, RenderPlugin,
        render_resource::{CachedPipelineState, PipelineCache, TextureFormat, TextureUsages},
        view::screenshot::{Screenshot, ScreenshotCaptured},
    },
    window::{ExitCondition, PresentMode},
    winit::WinitPlugin,
};

use crate::{
    io::{
        self, Error,
        project::Project,
        scene::{DEFAULT, Picture},
        watch::{Next, Seen, Watch},
    },
    log,
    model::session::Session,
    runtime::{
        self, Brushes, Command, Document, FreeView, History, Jobs, Level, Live, Notices, Preferences, SimSystems,
        Timeline, Transport,
    },
    settings::{AntiAliasing, Quality, Remembered, Settings, autosave_folder, settings_file},
    tools,
    ui::{self, Canvas, UiVisible},
    view::{
        self, ViewSystems,
        camera::{CAMERAS, Viewpoint},
        picture::rgb,
    },
};

/// Frames to draw before a picture is taken: pipelines are compiled in the first, textures arrive in the second.
const FRAMES_BEFORE_SHOT: u32 = 6;

/// Cells along a side of the first scene where a graphics card draws it.
const FIRST_SIDE: u32 = 512;

/// Width and height of the window at first, in pixels.
const WINDOW: (u32, u32) = (1280, 800);

/// Opens a window on runs, which may come from a project's file, and runs until it is closed.
///
/// # Errors
/// One sentence, if there is no display or no graphics driver.
pub fn open_window(opened: Project, file: Option<PathBuf>) -> Result<(), String> {
    let Project { mut sessions, chosen, camera, timeline } = opened;
    if cfg!(all(unix, not(target_os = "macos"))) && display().is_none() {
        return Err("there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)".to_owned());
    }
    let software = find_adapter()?;
    let mut app = App::new();
    let window = Window {
        title: "Thalweg".to_owned(),
        resolution: WINDOW.into(),
        present_mode: PresentMode::AutoVsync,
        ..default()
    };
    let window = WindowPlugin { primary_window: Some(window), close_when_requested: false, ..default() };
    add_engine(&mut app, DefaultPlugins.set(window).set(log::plugin()))?;
    log::report_panics();
    for session in &mut sessions {
        // The first picture is as fine as the machine can draw it.
        if !software && file.is_none() && session.origin.input == DEFAULT {
            session.terrain.resize(FIRST_SIDE);
            session.restart(session.simulation.seed());
        }
        session.prepare(&io::Progress::default());
    }
    let settings = settings_file();
    let loaded = settings.as_deref().map_or_else(|| Ok(Remembered::default()), Remembered::load);
    let mut notices = Notices::default();
    let remembered = loaded.unwrap_or_else(|error| {
        notices.tell(Level::Warning, format!("{error}."));
        Remembered::default()
    });
    let mut brushes = Brushes::default();
    brushes.take_over(&remembered.brushes);
    let mut document = Document::default();
    if let Some(folder) = autosave_folder()
        && let Err(error) = document.keep_in(&folder, file.as_deref(), sessions[0].simulation.ticks())
    {
        notices.tell(Level::Warning, format!("Work is not kept in case of a breakdown: {error}."));
    }
    let preferences = Preferences { settings: remembered.settings(), remembered, software, file: settings };
    for warning in sessions.iter().flat_map(|session| &session.warnings) {
        notices.tell(Level::Warning, warning.clone());
    }
    add_thalweg(&mut app, sessions);
    if file.is_some() {
        // Somebody's work stands as it was left.
        app.insert_resource(Transport::paused());
    }
    let mut live = app.world_mut().resource_mut::<Live>();
    live.choose(chosen);
    live.file = file.filter(|_| !document.is_recovered());
    let work = live.work();
    app.world_mut().resource_mut::<Timeline>().begin_with(timeline, work);
    if let Some(camera) = camera {
        app.world_mut().write_message(Command::PlaceCamera(camera));
    }
    app.insert_resource(preferences).insert_resource(notices).insert_resource(brushes).insert_resource(document);
    app.run();
    Ok(())
}

/// Draws one picture of sessions as they stand, without a display.
///
/// # Errors
/// One sentence, if there is no graphics driver, no such camera, or the file cannot be written.
pub fn shot(sessions: Vec<Session>, shot: &Picture) -> Result<(), Error> {
    let name = shot.camera.as_deref().unwrap_or(CAMERAS[0].0);
    let viewpoint = Viewpoint::named(name).ok_or_else(|| {
        let names: Vec<&str> = CAMERAS.iter().map(|(name, ..)| *name).collect();
        Error::input(Path::new(name), "there is no such camera", format!("the cameras are {}", names.join(", ")))
    })?;
    let failed = |wrong: String| Error::output(&shot.out, wrong, "another graphics driver may draw it");
    find_adapter().map_err(failed)?;
    let mut app = off_screen(sessions, shot.resolution, viewpoint);
    app.insert_resource(UiVisible(shot.ui)).insert_resource(Transport::paused());
    for _ in 0..FRAMES_BEFORE_SHOT {
        app.update();
    }
    let picture = capture(&mut app).map_err(failed)?;
    let (size, pixels) = rgb(&picture);
    io::output::replace(&shot.out, |path| io::write_rgb8(path, size, &pixels, &io::Progress::default()))
}

/// Plays sessions off-screen as a window plays them on this machine, the camera turning, until the watcher ends it.
///
/// # Errors
/// One sentence, if there is no graphics driver, or it refuses a shader.
pub fn play(sessions: Vec<Session>, watch: &mut Watch<'_>) -> Result<(), String> {
    find_adapter()?;
    let mut app = off_screen(sessions, WINDOW, Viewpoint::default());
    app.insert_resource(Preferences::default());
    let mut opening = false;
    loop {
        app.update();
        opening &= app.world().resource::<Jobs>().count() > 0;
        // A finished map pauses once; here nobody is there to play on.
        app.world_mut().resource_mut::<Transport>().playing = true;
        if let Some(error) = pipeline_error(&app) {
            return Err(format!("the graphics driver refuses a shader: {error}"));
        }
        let world = app.world();
        if let Some(notice) = world.resource::<Notices>().shown().find(|notice| notice.level == Level::Error) {
            return Err(notice.text.trim_end_matches('.').to_owned());
        }
        let history_bytes = world.resource::<Timeline>().bytes() + world.resource::<History>().bytes();
        match watch(Seen { sessions: world.resource::<Live>().all(), history_bytes, opening }) {
            Next::GoOn => {}
            Next::Open(input, options) => {
                app.world_mut().write_message(Command::Open(input, options));
                app.update();
                opening = true;
            }
            Next::End => return Ok(()),
        }
    }
}

/// What an [`off_screen`] app has drawn. Takes a few frames.
///
/// # Errors
/// One sentence, if the driver refuses a shader or gives no picture.
pub fn capture(app: &mut App) -> Result<Image, String> {
    if let Some(error) = pipeline_error(app) {
        return Err(format!("the graphics driver refuses a shader: {error}"));
    }
    let image = canvas(app);
    app.insert_resource(Captured(None));
    app.world_mut().spawn(Screenshot::image(image)).observe(
        move |captured: On<ScreenshotCaptured>, mut picture: ResMut<Captured>| {
            picture.0 = Some(captured.image.clone());
        },
    );
    for _ in 0..200 {
        app.update();
        if let Some(picture) = app.world_mut().resource_mut::<Captured>().0.take() {
            return Ok(picture);
        }
    }
    Err("the graphics driver gave no picture within 200 frames".to_owned())
}

/// The picture that the graphics card gave back.
#[derive(Resource)]
struct Captured(Option<Image>);

/// The whole program, drawing into a picture instead of a window. Settings are the same for everyone.
pub fn off_screen(sessions: Vec<Session>, (width, height): (u32, u32), viewpoint: Viewpoint) -> App {
    let mut app = App::new();
    let windows = WindowPlugin { primary_window: None, exit_condition: ExitCondition::DontExit, ..default() };
    let render = RenderPlugin { synchronous_pipeline_compilation: true, ..default() };
    let engine = DefaultPlugins.set(windows).set(render).disable::<LogPlugin>().disable::<WinitPlugin>();
    // Ctrl+C belongs to the command line: the engine would take it and wait for a loop that is not there.
    app.add_plugins(engine.disable::<TerminalCtrlCHandlerPlugin>())
        .add_plugins(ScheduleRunnerPlugin::run_loop(Duration::ZERO));
    let mut target = Image::new_target_texture(width, height, TextureFormat::Rgba8UnormSrgb, None);
    target.texture_descriptor.usage |= TextureUsages::COPY_SRC;
    target.asset_usage = RenderAssetUsages::RENDER_WORLD;
    let image = app.world_mut().resource_mut::<Assets<Image>>().add(target);
    add_thalweg(&mut app, sessions);
    let settings = Settings { quality: Quality::Custom, anti_aliasing: AntiAliasing::Msaa4, ..Settings::default() };
    app.insert_resource(Canvas(RenderTarget::Image(image.into())))
        .insert_resource(viewpoint)
        .insert_resource(Preferences { settings, ..Preferences::default() })
        .insert_resource(FreeView { rect: URect::new(0, 0, width, height), ..FreeView::default() });
    app.finish();
    app.cleanup();
    app
}

/// The picture into which an app draws.
fn canvas(app: &App) -> Handle<Image> {
    match &app.world().resource::<Canvas>().0 {
        RenderTarget::Image(image) => image.handle.clone(),
        _ => Handle::default(),
    }
}

fn pipeline_error(app: &App) -> Option<String> {
    let cache = app.get_sub_app(RenderApp)?.world().get_resource::<PipelineCache>()?;
    cache.pipelines().find_map(|pipeline| match &pipeline.state {
        CachedPipelineState::Err(error) => Some(error.to_string()),
        _ => None,
    })
}

fn add_thalweg(app: &mut App, sessions: Vec<Session>) {
    app.insert_resource(Live::new(sessions))
        .add_plugins((runtime::plugin, tools::plugin, view::plugin, ui::plugin))
        .configure_sets(Update, (SimSystems::Obey, SimSystems::Edit, SimSystems::Tick, ViewSystems::Show).chain());
}

/// Adds the engine's plugins. Where the display does not answer, the engine breaks down; that becomes a sentence.
fn add_engine(app: &mut App, plugins: impl PluginGroup) -> Result<(), String> {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let added = panic::catch_unwind(AssertUnwindSafe(|| {
        app.add_plugins(plugins);
    }));
    panic::set_hook(usual);
    added.map_err(|fault| match fault.downcast_ref::<String>() {
        Some(said) if !said.contains("event loop") => format!("the engine does not start ({said})"),
        _ => format!("the display does not answer ({})", display().unwrap_or_default()),
    })
}

/// The variable that names the display, and its value.
fn display() -> Option<String> {
    let named =
        |name| std::env::var(name).ok().filter(|value| !value.is_empty()).map(|value| format!("{name}={value}"));
    ["WAYLAND_DISPLAY", "DISPLAY"].into_iter().find_map(named)
}

/// Asks for a graphics adapter before the engine does, which would end the program if there is none. True if the processor
/// itself draws.
///
/// # Errors
/// There is none.
pub fn find_adapter() -> Result<bool, String> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let found = bevy::tasks::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    if found.is_empty() {
        return Err("there is no graphics driver (install Vulkan, on Debian mesa-vulkan-drivers)".to_owned());
    }
    Ok(found.iter().all(|adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu))
}
