//! The application in a window.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use bevy::{
    prelude::*,
    window::{
        Monitor, MonitorSelection, PresentMode, PrimaryMonitor, PrimaryWindow, RequestRedraw, WindowMode, WindowPlugin,
    },
    winit::{UpdateMode, WinitSettings},
};
use bevy_egui::PrimaryEguiContext;

use super::{
    add_thalweg,
    graphics::{add_engine, find_adapter, find_display},
    loss,
};
use crate::{
    features::{
        lessons::LessonCommand,
        present::{draft::Draft, presenter::TogglePresenter},
    },
    log,
    world::{
        AppCommand, AutosaveSystems, Brushes, CameraCommand, Document, FastForward, History, Jobs, LessonAnswers,
        NoticeLevel, Notices, Preferences, Presentation, Restarts, Revision, RiverExtraction, Simulations, Transport,
        Workspace,
    },
};
use thalweg_scene::{
    io::{
        Budget,
        project::{Project, ProjectFile},
        scene::DEFAULT,
    },
    model::{
        playlist::{Opening, PresentationOptions},
        session::Session,
    },
    settings::autosave_folder,
};

/// Cells along a side of the first scene, with a hardware graphics adapter.
const FIRST_SIDE: u32 = 512;

/// Maximum time between frames while idle.
const IDLE_INTERVAL: Duration = Duration::from_millis(400);
/// Frame time of most displays.
const FRAME: Duration = Duration::from_micros(16_667);

/// Initial size of the window in pixels.
pub(super) const SIZE: (u32, u32) = (1280, 800);

/// Opens a window on simulations, which may come from a project file, a lesson or a playlist, and returns when it is closed.
///
/// # Errors
/// There is no display, no graphics driver, or not enough memory to render the simulations.
pub fn open(opened: Project, file: Option<PathBuf>, opening: Opening) -> Result<(), String> {
    let Project { mut sessions, chosen, views, timeline, file: recovered } = opened;
    find_display()?;
    let software = find_adapter()?;
    // When the simulations were opened, it was not known whether rendering takes memory of the program.
    let bytes = sessions.iter().map(Session::bytes_to_render).sum();
    Budget::present().request(Path::new(&sessions[chosen].title), bytes).map_err(|error| error.to_string())?;
    let mut app = App::new();
    let covers = matches!(opening, Opening::Show(PresentationOptions { windowed: false, .. }));
    let window = Window {
        title: "Thalweg".to_owned(),
        resolution: SIZE.into(),
        present_mode: PresentMode::AutoVsync,
        decorations: !covers,
        ..default()
    };
    let window = WindowPlugin { primary_window: Some(window), close_when_requested: false, ..default() };
    add_engine(&mut app, DefaultPlugins.set(window).set(log::plugin()))?;
    log::report_panics();
    // The first image is as fine as the machine can render.
    let alone = matches!(opening, Opening::Work);
    enlarge_first_scene(&mut sessions, !software && file.is_none() && alone);
    let mut notices = Notices::default();
    let preferences = Preferences::load(software, &mut notices);
    let mut brushes = Brushes::default();
    brushes.apply_changed(&preferences.remembered.brushes);
    let draft = Draft::remembered(&preferences.remembered.playlist);
    // A presentation is defined by its playlist: after the loss of the device it starts from the beginning.
    let document = match opening {
        Opening::Show(_) => Document::default(),
        _ => start_autosave(file.as_deref(), sessions[0].simulation.ticks(), &mut notices),
    };
    for warning in sessions.iter().flat_map(|session| &session.warnings) {
        notices.notify(NoticeLevel::Warning, warning.clone());
    }
    // A project or map opens paused.
    let is_a_map = sessions[chosen].is_imported_map();
    let show = if let Opening::Show(show) = &opening { Some(show.clone()) } else { None };
    add_thalweg(&mut app, sessions);
    if is_a_map && alone {
        notices.offer_play();
    }
    let answers = LessonAnswers::load(&mut notices);
    if let Opening::Lesson(lesson) = opening {
        app.insert_resource(Transport::paused());
        // The lesson may turn the camera afterwards.
        app.world_mut().write_message(AppCommand::from(CameraCommand::FrameAll));
        app.world_mut().write_message(AppCommand::from(LessonCommand::Teach(lesson)));
    } else if alone && (file.is_some() || is_a_map) {
        app.insert_resource(Transport::paused());
    } else {
        app.world_mut().resource_scope(|world, mut ahead: Mut<FastForward>| {
            ahead.begin(world.resource::<Simulations>(), &mut notices);
        });
    }
    if let Some(PresentationOptions { list, kiosk, screen, windowed, notes }) = show {
        let presentation = Presentation::of(list, kiosk, app.world().resource::<Simulations>());
        app.insert_resource(presentation).insert_state(Workspace::Present);
        if !windowed {
            app.insert_resource(ScreenRequest { number: screen, notes })
                .add_systems(First, cover_screen.run_if(resource_exists::<ScreenRequest>));
        } else if notes {
            app.world_mut().write_message(AppCommand::from(TogglePresenter));
        }
    }
    let mut simulations = app.world_mut().resource_mut::<Simulations>();
    simulations.select(chosen);
    let file = if document.is_recovered() { recovered } else { file };
    simulations.file = file.map(ProjectFile::of);
    simulations.views = views.saved;
    app.world_mut().resource_scope(|world, simulations: Mut<Simulations>| {
        world.resource_mut::<History>().begin_with(&timeline, &simulations);
    });
    if let Some(camera) = views.camera {
        app.world_mut().write_message(AppCommand::from(CameraCommand::Place(camera)));
    }
    loss::enable_restart(&mut app, document.is_recovered(), &mut notices);
    app.insert_resource(answers)
        .insert_resource(preferences)
        .insert_resource(notices)
        .insert_resource(brushes)
        .insert_resource(draft)
        .insert_resource(document);
    app.add_plugins(frame_pacing_plugin);
    app.run();
    Ok(())
}

/// Adds frame pacing.
pub fn frame_pacing_plugin(app: &mut App) {
    app.insert_resource(waiting(IDLE_INTERVAL)).add_systems(Last, request_frames.after(AutosaveSystems));
}

/// Request to cover a screen.
#[derive(Resource)]
struct ScreenRequest {
    /// Index from left to right; `None` for the primary screen.
    number: Option<usize>,
    /// `true` to open the presenter's window afterwards.
    notes: bool,
}

/// Covers a screen. Without support by the window manager, the window at least gets the screen's size and position.
fn cover_screen(
    wanted: Res<ScreenRequest>,
    screens: Query<(Entity, &Monitor, Has<PrimaryMonitor>)>,
    mut window: Single<&mut Window, With<PrimaryWindow>>,
    mut notices: ResMut<Notices>,
    mut asked: MessageWriter<AppCommand>,
    mut commands: Commands,
    mut placed: Local<bool>,
) {
    let mut screens: Vec<_> = screens.iter().collect();
    screens.sort_by_key(|(_, monitor, _)| monitor.physical_position.to_array());
    let count = screens.len();
    let main = screens.iter().find(|(.., main)| *main).or(screens.first()).copied();
    let named = wanted.number.and_then(|number| screens.get(number).copied());
    let Some((screen, monitor, _)) = named.or(main) else { return };
    if !std::mem::replace(&mut *placed, true) {
        window.position = WindowPosition::At(monitor.physical_position);
        window.resolution.set_physical_resolution(monitor.physical_width, monitor.physical_height);
        return;
    }
    if let Some(number) = wanted.number.filter(|_| named.is_none()) {
        let text =
            format!("Screen {} does not exist (number of screens: {count}). The primary screen is used.", number + 1);
        notices.notify(NoticeLevel::Error, text);
    }
    // For when the presentation ends and the window returns to normal.
    window.decorations = true;
    window.mode = WindowMode::BorderlessFullscreen(MonitorSelection::Entity(screen));
    if wanted.notes {
        // Only now is it known which screen is free.
        asked.write(TogglePresenter.into());
    }
    commands.remove_resource::<ScreenRequest>();
}

/// Requests frames continuously while a simulation or job runs or a button is held. A frame without rendering does not wait for
/// vertical synchronisation, so the next one is delayed explicitly, unless a tick is unfinished.
fn request_frames(
    transport: Res<Transport>,
    (simulations, revision, rivers): (Res<Simulations>, Res<Revision>, Res<RiverExtraction>),
    (jobs, restarts): (Res<Jobs>, Res<Restarts>),
    (buttons, keys, touches): (Res<ButtonInput<MouseButton>>, Res<ButtonInput<KeyCode>>, Res<Touches>),
    panels: Query<&Camera, With<PrimaryEguiContext>>,
    mut settings: ResMut<WinitSettings>,
    mut again: MessageWriter<RequestRedraw>,
) {
    let rivers_lag = simulations.between_ticks() && !rivers.is_current(&simulations, *revision);
    let is_working = jobs.count() > 0 || restarts.is_active();
    let runs = transport.playing || !simulations.is_displayable() || is_working || rivers_lag;
    let held = buttons.get_pressed().len() + keys.get_pressed().len() + touches.iter().count() > 0;
    let draws = panels.iter().any(|camera| camera.is_active) || !simulations.is_displayable();
    let wait = if (runs || held) && !draws { FRAME } else { IDLE_INTERVAL };
    if settings.focused_mode != UpdateMode::reactive(wait) {
        *settings = waiting(wait);
    }
    if (runs || held) && draws {
        again.write(RequestRedraw);
    }
}

/// Returns settings that redraw on input, and after this time at the latest.
fn waiting(wait: Duration) -> WinitSettings {
    WinitSettings { focused_mode: UpdateMode::reactive(wait), unfocused_mode: UpdateMode::reactive_low_power(wait) }
}

/// Enlarges the first scene, if the machine can render it.
fn enlarge_first_scene(sessions: &mut [Session], larger: bool) {
    for session in sessions {
        if larger && session.origin.input == Path::new(DEFAULT) {
            session.resize(FIRST_SIDE);
            session.restart(session.simulation.seed());
        }
    }
}

/// Starts autosaving the project for crash recovery, if possible.
fn start_autosave(file: Option<&Path>, tick: u64, notices: &mut Notices) -> Document {
    let mut document = Document::default();
    if let Some(folder) = autosave_folder()
        && let Err(error) = document.start_autosave(&folder, file, tick)
    {
        notices.notify(NoticeLevel::Warning, format!("Autosave is not available: {error}. Save your project often."));
    }
    document
}
