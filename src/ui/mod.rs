//! Panels and keys. They read the runtime's state and send [`Command`]s; nothing here changes the simulation.

pub mod access;
mod brush;
mod chart;
mod checks;
mod chooser;
mod commands;
mod explain;
mod export;
mod files;
mod follow;
mod formula;
pub mod group;
mod history;
mod keys;
mod land;
mod land_preview;
mod learn;
mod ledger;
mod lesson;
mod look;
mod mask;
mod menu;
mod number;
mod overlay;
mod paint;
mod palette;
pub mod panel;
pub mod panels;
mod placing;
mod playlist;
pub mod presentation;
pub mod presenter;
mod probes;
mod process;
mod range;
mod readout;
mod repaint;
mod rivers;
mod run;
mod scenes;
mod section;
pub mod seek;
pub mod springs;
mod statistics;
mod style;
mod terrain;
mod timeline;
pub mod toasts;
mod tool_bar;
mod transport;
mod vary;
pub mod view;
pub mod wind;
pub mod windows;

use std::sync::Arc;

use bevy::{
    camera::RenderTarget,
    ecs::system::{NonSendMarker, SystemParam},
    prelude::*,
    render::{camera::CameraRenderGraph, renderer::RenderAdapterInfo},
    window::{CursorOptions, MonitorSelection, PrimaryWindow, RawHandleWrapper, WindowCloseRequested, WindowMode},
};
use bevy_egui::{EguiContexts, EguiGlobalSettings, EguiPlugin, EguiPrimaryContextPass, PrimaryEguiContext, egui};

use crate::runtime::{
    BrushCommand, Brushes, CameraCommand, Checkup, Command, Course, Dialog, Document, Draft, FileCommand, Followed,
    FollowedTrace, FollowsKeys, FrameSystems, FreeView, Gait, History, Jobs, KeyPointer, Level, Notices, OpenWorkspace,
    OtherWindows, Overlay, Pane, Placed, Pointed, PointerOverView, Preferences, PresentCommand, Presentation,
    ProbeMarks, Probes, Quiz, Record, Recording, RiverTrace, Rivers, Section, SectionTrace, Shown, Simulations,
    SourceMarks, Timing, Transport, WindowCommand, Workspace, charts::Series,
};
use files::Files;
use keys::Keyboard;
use paint::Painting;
use repaint::Panels;
use springs::Springs;
use thalweg_scene::settings::{Settings, Theme};
use thalweg_sim::hydrology::breach::Limits;
use windows::Windows;

/// Whether panels are shown.
#[derive(Resource, Clone, Copy, Debug)]
pub struct UiVisible(pub bool);

/// Where panels are drawn, if not in the window.
#[derive(Resource, Clone)]
pub struct Canvas(pub RenderTarget);

/// Windows, dialogs, and what panels remember from frame to frame.
#[derive(Resource, Default)]
struct Opened {
    windows: Windows,
    files: Files,
    memory: Kept,
    /// What of the last frame decides what keys do.
    before: access::Before,
    /// The number of the brush that is to follow the pointer from now on.
    drags: Option<&'static str>,
    /// Whether the pointer is not to be seen now.
    hides_pointer: bool,
    /// What the panels were last styled for.
    styled: Option<(Theme, f32)>,
}

impl PanelState<'_> {
    /// Whether something is made of the work, which is put away meanwhile.
    fn held(&self) -> bool {
        self.jobs.hold()
    }
}

impl Opened {
    fn follow_settings(&mut self, context: &egui::Context, settings: &Settings) {
        if self.styled != Some((settings.theme, settings.scale)) {
            style::apply(context, settings.theme, self.styled.is_none());
            context.set_zoom_factor(settings.scale);
            self.styled = Some((settings.theme, settings.scale));
        }
        number::tell_units(context, settings.units);
    }

    fn keyboard(&self, context: &egui::Context, state: &PanelState<'_>, on_land: bool) -> Keyboard {
        let answers = state.document.asks
            || self.files.is_open()
            || self.windows.has(Pane::Palette)
            || self.windows.has(Pane::Scenes)
            || self.windows.has(Pane::NewLand)
            || self.windows.has(Pane::Vary)
            || self.windows.has(Pane::Playlist)
            || self.memory.drag.is_some();
        if answers {
            Keyboard::Answering
        } else if on_land {
            Keyboard::Land
        } else if context.text_edit_focused() {
            Keyboard::Typing
        } else if egui::Popup::is_any_open(context) {
            Keyboard::Widget
        } else if self.windows.is_open() {
            Keyboard::Window
        } else if context.egui_wants_keyboard_input() {
            Keyboard::Widget
        } else if *state.gait != Gait::Orbit {
            Keyboard::Walking
        } else {
            Keyboard::Commands
        }
    }
}

/// Seconds after which a pointer that rests in Present is not seen.
const POINTER_RESTS: f32 = 2.0;

/// How far outlets are cut until they are chosen.
const CUTS: Limits = Limits { length: 1000.0, depth: 30.0 };

/// What panels remember from frame to frame.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Thickness of the next sheet of sand, in metres.
    sheet: f32,
    /// How far outlets of hollows may be cut.
    limits: Limits,
    springs: Springs,
    section: section::Drawing,
    placing: Option<Placed>,
    /// What the plot of the probes is of.
    series: Series,
    following: follow::Following,
    /// The place of the probe whose cell is explained, if not the newest.
    explained: Option<[f32; 2]>,
    /// The number of the brush that follows the pointer.
    drag: Option<brush::Drag>,
    statistics_seen: bool,
    rivers_seen: bool,
}

impl Kept {
    /// Whether the next click on the land places something.
    fn is_placing(&self) -> bool {
        self.placing.is_some() || self.section.is_wanted()
    }

    /// The next click places nothing: one thing is placed at a time.
    fn empty_the_hand(&mut self) {
        self.section = section::Drawing::default();
        self.placing = None;
    }
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            sheet: 1.0,
            limits: CUTS,
            springs: Springs::default(),
            section: section::Drawing::default(),
            placing: None,
            series: Series::default(),
            following: follow::Following::default(),
            explained: None,
            drag: None,
            statistics_seen: false,
            rivers_seen: false,
        }
    }
}

/// All that panels show.
#[derive(SystemParam)]
pub struct PanelState<'w> {
    /// The sessions.
    pub simulations: Res<'w, Simulations>,
    transport: Res<'w, Transport>,
    timing: Res<'w, Timing>,
    record: Res<'w, Record>,
    recording: Res<'w, Recording>,
    rivers: Res<'w, Rivers>,
    course: Res<'w, Course>,
    presentation: Res<'w, Presentation>,
    draft: Res<'w, Draft>,
    checkup: Res<'w, Checkup>,
    jobs: Res<'w, Jobs>,
    history: Res<'w, History>,
    brushes: Res<'w, Brushes>,
    document: Res<'w, Document>,
    preferences: Res<'w, Preferences>,
    overlay: Res<'w, Overlay>,
    pointed: Res<'w, Pointed>,
    marks: Res<'w, SourceMarks>,
    trace: Res<'w, RiverTrace>,
    section: Res<'w, Section>,
    probes: Res<'w, Probes>,
    probe_marks: Res<'w, ProbeMarks>,
    section_trace: Res<'w, SectionTrace>,
    followed: Res<'w, Followed>,
    quiz: Res<'w, Quiz>,
    followed_trace: Res<'w, FollowedTrace>,
    shown: Res<'w, Shown>,
    workspace: Res<'w, State<Workspace>>,
    gait: Res<'w, Gait>,
    follows_keys: Res<'w, FollowsKeys>,
    notices: Res<'w, Notices>,
    /// What draws, if anything does.
    adapter: Option<Res<'w, RenderAdapterInfo>>,
}

pub(super) fn plugin(app: &mut App) {
    app.add_plugins((EguiPlugin::default(), access::plugin))
        .insert_resource(UiVisible(true))
        .init_resource::<Opened>()
        .init_resource::<Keyboard>()
        .init_resource::<keys::DeskKeyboard>()
        .add_systems(Startup, spawn_canvas)
        .add_systems(EguiPrimaryContextPass, draw)
        .add_systems(
            Update,
            (
                (
                    presentation::note_touches,
                    keys::ask,
                    files::take_dropped_files,
                    ask_to_leave,
                    want_statistics,
                    presenter::close,
                )
                    .chain()
                    .in_set(FrameSystems::Input),
                (show_document, show_pointer).chain().in_set(FrameSystems::Show),
            ),
        );
    app.add_observer(obey).add_observer(show_title);
    app.add_plugins((repaint::plugin, paint::plugin, presenter::plugin));
    app.world_mut().resource_mut::<EguiGlobalSettings>().auto_create_primary_context = false;
}

/// The camera of the panels and of the window, on which it puts the view's picture too.
fn spawn_canvas(mut commands: Commands, canvas: Option<Res<Canvas>>) {
    let camera = (Camera2d, CameraRenderGraph::new(Painting), PrimaryEguiContext, Panels::default(), Msaa::Off);
    let mut camera = commands.spawn((camera, Camera { order: 1, ..default() }));
    if let Some(canvas) = canvas {
        camera.insert(canvas.0.clone());
    }
}

#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
fn draw(
    mut contexts: EguiContexts,
    state: PanelState,
    visible: Res<UiVisible>,
    mut opened: ResMut<Opened>,
    mut commands: MessageWriter<Command>,
    mut pointer: ResMut<PointerOverView>,
    mut free: ResMut<FreeView>,
    (mut keyboard, mut keys, others): (ResMut<Keyboard>, ResMut<KeyPointer>, OtherWindows),
    mut panels_of_window: Single<&mut Panels, With<PrimaryEguiContext>>,
) -> Result {
    let context = contexts.ctx_mut()?.clone();
    let opened = &mut *opened;
    opened.follow_settings(&context, &state.preferences.settings);
    if state.presentation.is_kiosk() {
        context.options_mut(|options| options.zoom_with_keyboard = false);
    }
    access::begin(&context, opened.before);
    let window = context.viewport_rect();
    let builder = egui::UiBuilder::new().layer_id(egui::LayerId::background()).max_rect(window);
    let mut root = egui::Ui::new(context.clone(), "root".into(), builder);
    let mut asked = Vec::new();
    let panels = visible.0 && *state.workspace != Workspace::Present;
    if state.brushes.held.is_some() {
        opened.memory.empty_the_hand();
    }
    (opened.memory.statistics_seen, opened.memory.rivers_seen) = (false, false);
    let view = if panels {
        let (commands, left) = panels::window_ui(&mut root, &state, &mut opened.memory);
        asked.extend(commands);
        left
    } else {
        window
    };
    let (rect, seen) = on_pixels(view, context.pixels_per_point());
    if free.rect != rect {
        free.rect = rect;
    }
    if panels_of_window.view != rect {
        panels_of_window.view = rect;
    }
    // What is asked for while the panels are hidden is forgotten.
    let drags = opened.drags.take();
    if free.picture != Handle::default() {
        asked.extend(view::view_ui(&mut root, seen, &state, &free.labels, visible.0));
        let pressed = access::land_ui(&root, seen);
        let on_screen = |place: egui::Pos2| Vec2::new(place.x, place.y) * context.pixels_per_point();
        keys.0 = pressed.map(|(place, pressed)| (on_screen(place), pressed));
        if visible.0 {
            if *state.workspace != Workspace::Present {
                readout::readout_ui(&root, seen, &state);
            }
            view::heights_ui(&root, seen, &state, &free.heights);
            view::signs_ui(&root, seen, &state, (free.turned, free.metres));
            asked.extend(presentation::presentation_ui(&root, seen, &state));
        }
        if panels {
            asked.extend(rivers::choose_ui(&mut root, seen, &state, &opened.memory));
            asked.extend(section::line_ui(&mut root, seen, &state, &mut opened.memory.section));
            probes::pins_ui(&root, seen, &state);
            follow::way_ui(&root, seen, &state, &mut opened.memory.following);
            asked.extend(placing::click_ui(&root, seen, &state, &mut opened.memory));
            asked.extend(springs::marks_ui(&mut root, seen, &state, &mut opened.memory.springs));
            asked.extend(wind::dial_ui(&context, seen, &state, free.turned));
            if let Some(name) = drags {
                let pointer = context.input(|input| input.pointer.latest_pos()).unwrap_or(seen.center());
                opened.memory.drag = brush::Drag::begin(name, &state, pointer);
            }
            asked.extend(brush::drag_ui(&mut root, seen, &state, &mut opened.memory.drag));
        }
    }
    opened.windows.asks_for_a_file = opened.files.asks_for_a_file();
    asked.extend(windows::windows_ui(&context, &state, &mut opened.windows));
    asked.extend(opened.files.ui(&context, state.simulations.selected()));
    asked.extend(number::said(&context));
    // A room is told of faults alone, and a kiosk of nothing.
    let shows = *state.workspace == Workspace::Present && state.presentation.is_on();
    let told = |level| !shows || !state.presentation.is_kiosk() && matches!(level, Level::Error | Level::Question);
    asked.extend(toasts::toasts_ui(&context, &state.notices, view, told));
    *keyboard = opened.keyboard(&context, &state, keys.0.is_some());
    // On the stage a pointer that rests is in the way.
    let rests = context.input(|input| input.pointer.time_since_last_movement());
    let presents = *state.workspace == Workspace::Present;
    if presents && rests < POINTER_RESTS {
        context.request_repaint_after_secs(POINTER_RESTS - rests);
    }
    opened.hides_pointer = presents && rests >= POINTER_RESTS;
    access::end(&context, &mut opened.before);
    asked.extend(access::take_asked(&context));
    commands.write_batch(asked);
    // Decided while no button is down, so that a drag stays with what it began on; a finger is nowhere before it is down.
    let (place, down) = context.input(|input| {
        let comes = input.any_touches() && input.pointer.any_pressed();
        // A finger that has gone again is nowhere.
        let place = if comes { input.pointer.interact_pos() } else { input.pointer.latest_pos() };
        // The library is not told that the pointer has left for another window.
        let place = place.filter(|_| comes || !others.have_pointer());
        (place, input.pointer.any_down() && !comes)
    });
    if !down {
        let over = place.is_some_and(|place| {
            let on_top = context.layer_id_at(place).is_some_and(|layer| layer.order != egui::Order::Background);
            view.contains(place) && !on_top && !context.egui_is_using_pointer()
        });
        let memory = &opened.memory;
        let stage = match **state.workspace {
            Workspace::Sculpt => false,
            Workspace::Learn => state.course.attempt.is_none() && !memory.rivers_seen,
            Workspace::Present => true,
        };
        let empty = state.brushes.held.is_none() && !memory.is_placing() && *state.gait == Gait::Orbit;
        let rains = stage && empty;
        *pointer = PointerOverView { view: over, land: over && !on_widget(&context), rains };
    }
    Ok(())
}

/// The pixels of the screen that a rectangle covers, and the same rectangle in points. Elsewhere than on pixels the picture would be
/// blurred.
fn on_pixels(view: egui::Rect, scale: f32) -> (URect, egui::Rect) {
    let pixel = |point: egui::Pos2| UVec2::new((point.x * scale).round() as u32, (point.y * scale).round() as u32);
    let point = |pixel: UVec2| egui::pos2(pixel.x as f32 / scale, pixel.y as f32 / scale);
    let rect = URect::from_corners(pixel(view.min), pixel(view.max));
    (rect, egui::Rect::from_min_max(point(rect.min), point(rect.max)))
}

/// Shows the pointer, or hides it.
fn show_pointer(opened: Res<Opened>, mut windows: Query<&mut CursorOptions, With<PrimaryWindow>>) {
    for mut pointer in &mut windows {
        if pointer.visible == opened.hides_pointer {
            pointer.visible = !opened.hides_pointer;
        }
    }
}

/// When the main window is closed, the program ends.
fn ask_to_leave(
    mut closing: MessageReader<WindowCloseRequested>,
    main: Query<(), With<PrimaryWindow>>,
    presentation: Res<Presentation>,
    mut commands: Commands,
) {
    if closing.read().filter(|closing| main.contains(closing.window)).count() > 0 {
        // In a kiosk there is nothing to be saved.
        let leaves = if presentation.is_kiosk() { FileCommand::QuitUnsaved } else { FileCommand::Quit };
        // A kiosk takes no such command.
        commands.trigger(leaves);
    }
}

/// Statistics and rivers are measured as long as they are seen.
fn want_statistics(opened: Res<Opened>, mut record: ResMut<Record>, mut rivers: ResMut<Rivers>) {
    if rivers.wanted != opened.memory.rivers_seen {
        rivers.wanted = opened.memory.rivers_seen;
    }
    if record.wanted != opened.memory.statistics_seen {
        record.wanted = opened.memory.statistics_seen;
    }
}

/// Whether the pointer is over something of the panels that answers to it, a spring's mark for instance.
fn on_widget(context: &egui::Context) -> bool {
    let hovered: Vec<egui::Id> = context.interaction_snapshot(|now| now.hovered.iter().copied().collect());
    hovered.into_iter().any(|id| context.read_response(id).is_some_and(|response| response.sense.interactive()))
}

/// Gives the window its title.
fn show_document(
    simulations: Res<Simulations>,
    (document, history): (Res<Document>, Res<History>),
    mut windows: Query<&mut Window, With<PrimaryWindow>>,
) {
    let file = simulations.file.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    let mark = if document.unsaved(&history) { "• " } else { "" };
    let title = format!("{mark}{} · Thalweg", file.as_deref().unwrap_or(&simulations.selected().title));
    for mut window in windows.iter_mut().filter(|window| window.title != title) {
        window.title.clone_from(&title);
    }
}

/// Title and sliders of a show are seen.
fn show_title(command: On<PresentCommand>, mut visible: ResMut<UiVisible>) {
    visible.0 |= matches!(command.event(), PresentCommand::Begin(..));
}

/// Does what only the panels and the window can do.
#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
fn obey(
    command: On<WindowCommand>,
    mut opened: ResMut<Opened>,
    mut visible: ResMut<UiVisible>,
    simulations: Res<Simulations>,
    preferences: Res<Preferences>,
    mut notices: ResMut<Notices>,
    (brushes, workspace, gait, drawn): (Res<Brushes>, Res<State<Workspace>>, Res<Gait>, Res<Section>),
    mut windows: Query<(&mut Window, Option<&RawHandleWrapper>), With<PrimaryWindow>>,
    mut contexts: EguiContexts,
    (mut commands, mut asked): (Commands, MessageWriter<Command>),
    _on_main_thread: NonSendMarker,
) {
    let session = simulations.selected();
    let handle = windows.single().ok().and_then(|(_, handle)| handle.cloned());
    let handle = handle.as_ref();
    match command.event() {
        WindowCommand::ToggleFullScreen => {
            for (mut window, _) in &mut windows {
                let full = WindowMode::BorderlessFullscreen(MonitorSelection::Current);
                window.mode = if window.mode == WindowMode::Windowed { full } else { WindowMode::Windowed };
            }
        }
        WindowCommand::ToggleUi => visible.0 = !visible.0,
        WindowCommand::Toggle(pane) => opened.windows.toggle(*pane),
        WindowCommand::Vary(path) => {
            opened.windows.vary.begin(session, path);
            if !opened.windows.has(Pane::Vary) {
                opened.windows.toggle(Pane::Vary);
            }
        }
        WindowCommand::Seek(path) => {
            visible.0 = true;
            if path.starts_with("settings.") {
                if !opened.windows.has(Pane::Settings) {
                    opened.windows.toggle(Pane::Settings);
                }
            } else if *workspace != Workspace::Sculpt {
                // The other workspaces show a few parameters, or none.
                commands.trigger(OpenWorkspace(Workspace::Sculpt));
            }
            if let Ok(context) = contexts.ctx_mut() {
                seek::seek(context, path);
            }
        }
        WindowCommand::Ask(dialog) => opened.files.ask(*dialog, session, &preferences, handle),
        WindowCommand::AskHow(layer, path) => opened.files.ask_how(*layer, path.clone(), session),
        WindowCommand::Place(_) | WindowCommand::DrawSection => {
            visible.0 = true;
            opened.memory.empty_the_hand();
            let panel = match command.event() {
                WindowCommand::Place(placed) => {
                    opened.memory.placing = Some(*placed);
                    match placed {
                        Placed::Probe => probes::PANEL.key,
                        Placed::Particle => follow::PANEL.key,
                        Placed::Spring | Placed::Drain => springs::PANEL.key,
                    }
                }
                _ => {
                    opened.memory.section.want(drawn.ends);
                    section::PANEL.key
                }
            };
            if let Ok(context) = contexts.ctx_mut() {
                seek::unfold(context, panel);
            }
            commands.trigger(BrushCommand::Hold(None));
        }
        WindowCommand::AskChart(chart) => {
            opened.files.ask_chart((**chart).clone(), session, &preferences, handle);
        }
        WindowCommand::AskPlaylist(list) => {
            opened.files.ask_playlist(Arc::clone(list), session, &preferences, handle);
        }
        WindowCommand::AddToPlaylist(path) => match files::unfit_for_a_playlist(path) {
            Some(wrong) => drop(notices.tell(Level::Error, wrong)),
            None => opened.windows.playlist.add_file(path),
        },
        WindowCommand::AskExport => opened.files.ask_what(session, &preferences),
        WindowCommand::Save => match &simulations.file {
            Some(path) => drop(asked.write(FileCommand::SaveProject(path.clone()).into())),
            None => opened.files.ask(Dialog::SaveProject, session, &preferences, handle),
        },
        WindowCommand::DragBrush(name) => opened.drags = Some(name),
        WindowCommand::Leave => {
            let full = windows.iter().any(|(window, _)| window.mode != WindowMode::Windowed);
            let left: Command = if brushes.held.is_some() {
                BrushCommand::Cancel.into()
            } else if *gait != Gait::Orbit {
                CameraCommand::Go(*gait).into()
            } else if !visible.0 {
                WindowCommand::ToggleUi.into()
            } else if *workspace == Workspace::Present {
                OpenWorkspace(Workspace::Sculpt).into()
            } else if full && !opened.memory.is_placing() {
                WindowCommand::ToggleFullScreen.into()
            } else {
                return;
            };
            asked.write(left);
        }
        WindowCommand::Say(text) => drop(notices.tell(Level::Warning, text)),
        WindowCommand::CopyCommandLine => {
            if let Ok(context) = contexts.ctx_mut() {
                context.copy_text(session.command_line());
                let but = " What was done to layers and springs by hand is not in it.";
                let but = if session.did_by_hand() { but } else { "" };
                notices.tell(Level::Info, format!("Copied the command line.{but}"));
            }
        }
    }
}
