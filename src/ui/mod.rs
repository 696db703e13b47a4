//! Panels and keys. They read the runtime's state and send [`Command`]s; nothing here changes the simulation.

pub mod brush;
pub mod commands;
mod export;
pub mod files;
pub mod group;
mod keys;
pub mod ledger;
pub mod overlay;
pub mod panels;
pub mod springs;
pub mod statistics;
pub mod style;
pub mod terrain;
pub mod timeline;
pub mod toasts;
pub mod transport;
pub mod view;
pub mod wind;
pub mod windows;

use bevy::{
    camera::RenderTarget,
    core_pipeline::tonemapping::Tonemapping,
    ecs::system::SystemParam,
    prelude::*,
    render::renderer::RenderAdapterInfo,
    window::{MonitorSelection, PrimaryWindow, WindowCloseRequested, WindowMode},
};
use bevy_egui::{
    EguiContexts, EguiGlobalSettings, EguiPlugin, EguiPrimaryContextPass, EguiTextureHandle, PrimaryEguiContext, egui,
};

use crate::runtime::{
    Before, Brushes, Command, Document, FreeView, History, Level, Live, Marks, Notices, Overlay, Pointed,
    PointerOverView, Preferences, Record, Shown, Timeline, Timing, Transport, Workspace,
};
use files::Files;
use keys::Keyboard;
use springs::Springs;
use windows::Windows;

/// Whether panels are shown.
#[derive(Resource, Clone, Copy, Debug)]
pub struct UiVisible(pub bool);

/// Where panels are drawn, if not in the window.
#[derive(Resource, Clone)]
pub struct Canvas(pub RenderTarget);

/// What the panels themselves remember from frame to frame.
#[derive(Resource, Default)]
pub struct Opened {
    windows: Windows,
    files: Files,
    kept: Kept,
    /// The number of the brush that is to follow the pointer from now on.
    drags: Option<&'static str>,
    /// What the panels were last styled for.
    styled: Option<(crate::settings::Theme, f32)>,
    /// The picture of the view, as the panels know it.
    picture: Option<(AssetId<Image>, egui::TextureId)>,
}

/// What panels remember that belongs to nobody else.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Thickness of the next sheet of sand, in metres.
    pub sheet: f32,
    /// What the person does with springs and drains.
    pub springs: Springs,
    /// The number of the brush that follows the pointer.
    pub drag: Option<brush::Drag>,
}

impl Default for Kept {
    fn default() -> Self {
        Self { sheet: 1.0, springs: Springs::default(), drag: None }
    }
}

/// All that panels show.
pub struct State<'a> {
    /// The sessions.
    pub live: &'a Live,
    /// Play and speed.
    pub transport: &'a Transport,
    /// What ticks and frames cost.
    pub timing: &'a Timing,
    /// Statistics and how they went.
    pub record: &'a Record,
    /// What can be undone.
    pub history: &'a History,
    /// The brushes, and which is in the hand.
    pub brushes: &'a Brushes,
    /// The keyframes along the run.
    pub timeline: &'a Timeline,
    /// The file that the work belongs to.
    pub document: &'a Document,
    /// The person's settings.
    pub preferences: &'a Preferences,
    /// What is shown over the ground.
    pub overlay: &'a Overlay,
    /// The place on the chosen map under the pointer.
    pub pointed: Option<[f32; 2]>,
    /// Where in the view the springs of the chosen map are.
    pub marks: &'a [Option<Vec2>],
    /// Start, present or both.
    pub shown: Before,
    /// Which panels there are.
    pub workspace: Workspace,
    /// Name of the graphics adapter.
    pub adapter: &'a str,
}

/// The resources behind [`State`].
#[derive(SystemParam)]
struct Sources<'w> {
    live: Res<'w, Live>,
    transport: Res<'w, Transport>,
    timing: Res<'w, Timing>,
    record: ResMut<'w, Record>,
    history: Res<'w, History>,
    brushes: Res<'w, Brushes>,
    document: Res<'w, Document>,
    timeline: Res<'w, Timeline>,
    preferences: Res<'w, Preferences>,
    overlay: Res<'w, Overlay>,
    pointed: Res<'w, Pointed>,
    marks: Res<'w, Marks>,
    shown: Res<'w, Shown>,
    workspace: Res<'w, Workspace>,
    adapter: Res<'w, RenderAdapterInfo>,
    notices: Res<'w, Notices>,
    visible: Res<'w, UiVisible>,
}

impl Sources<'_> {
    fn state(&self) -> State<'_> {
        State {
            live: &self.live,
            transport: &self.transport,
            timing: &self.timing,
            record: &self.record,
            history: &self.history,
            brushes: &self.brushes,
            document: &self.document,
            timeline: &self.timeline,
            preferences: &self.preferences,
            overlay: &self.overlay,
            pointed: self.pointed.0,
            marks: &self.marks.0,
            shown: self.shown.0,
            workspace: *self.workspace,
            adapter: &self.adapter.name,
        }
    }
}

pub(super) fn plugin(app: &mut App) {
    app.add_plugins(EguiPlugin::default())
        .insert_resource(UiVisible(true))
        .init_resource::<Opened>()
        .init_resource::<Keyboard>()
        .add_systems(Startup, spawn_canvas)
        .add_systems(EguiPrimaryContextPass, draw)
        .add_systems(Update, (obey, keys::ask, files::take_dropped_files, ask_to_leave));
    app.world_mut().resource_mut::<EguiGlobalSettings>().auto_create_primary_context = false;
}

/// The camera of the panels, which also show the view's picture.
fn spawn_canvas(mut commands: Commands, canvas: Option<Res<Canvas>>) {
    let camera = (Camera2d, PrimaryEguiContext, Msaa::Off, Tonemapping::None);
    let mut camera = commands.spawn((camera, Camera { order: 1, ..default() }));
    if let Some(canvas) = canvas {
        camera.insert(canvas.0.clone());
    }
}

fn draw(
    mut contexts: EguiContexts,
    mut sources: Sources,
    mut opened: ResMut<Opened>,
    mut commands: MessageWriter<Command>,
    mut pointer: ResMut<PointerOverView>,
    mut free: ResMut<FreeView>,
    mut keyboard: ResMut<Keyboard>,
) -> Result {
    let context = contexts.ctx_mut()?.clone();
    let opened = &mut *opened;
    let settings = &sources.preferences.settings;
    if opened.styled != Some((settings.theme, settings.scale)) {
        style::apply(&context, settings.theme, opened.styled.is_none());
        context.set_zoom_factor(settings.scale);
        opened.styled = Some((settings.theme, settings.scale));
    }
    let window = context.viewport_rect();
    let builder = egui::UiBuilder::new().layer_id(egui::LayerId::background()).max_rect(window);
    let mut root = egui::Ui::new(context.clone(), "root".into(), builder);
    style::keep_letters(&root);
    let mut asked = Vec::new();
    let state = sources.state();
    let mut wants_statistics = false;
    let view = if sources.visible.0 && state.workspace != Workspace::Present {
        let (commands, left, wanted) = panels::window_ui(&mut root, &state, &mut opened.kept);
        asked.extend(commands);
        wants_statistics = wanted;
        left
    } else {
        window
    };
    // On whole pixels of the screen, or the picture would be blurred.
    let scale = context.pixels_per_point();
    let pixel = |point: egui::Pos2| UVec2::new((point.x * scale).round() as u32, (point.y * scale).round() as u32);
    let rect = URect::from_corners(pixel(view.min), pixel(view.max));
    if free.rect != rect {
        free.rect = rect;
    }
    let seen = egui::Rect::from_min_max(
        egui::pos2(rect.min.x as f32 / scale, rect.min.y as f32 / scale),
        egui::pos2(rect.max.x as f32 / scale, rect.max.y as f32 / scale),
    );
    // Asked for while the panels are hidden, it is not meant for later.
    let drags = opened.drags.take();
    if let Some((_, texture)) = opened.picture.filter(|(id, _)| *id == free.picture.id()) {
        asked.extend(view::view_ui(&mut root, seen, texture, &state, &free.labels, sources.visible.0));
        if sources.visible.0 && state.workspace != Workspace::Present {
            asked.extend(springs::marks_ui(&mut root, seen, &state, &mut opened.kept.springs));
            asked.extend(wind::dial_ui(&context, seen, &state, free.turned));
            if let Some(name) = drags {
                let pointer = context.input(|input| input.pointer.latest_pos()).unwrap_or(seen.center());
                opened.kept.drag = brush::Drag::begin(name, &state, pointer);
            }
            asked.extend(brush::drag_ui(&mut root, seen, &state, &mut opened.kept.drag));
        }
    }
    asked.extend(windows::windows_ui(&context, &state, &mut opened.windows));
    asked.extend(opened.files.ui(&context, state.live.chosen()));
    asked.extend(toasts::toasts_ui(&context, &sources.notices, view));
    let answers =
        sources.document.asks || opened.files.is_open() || opened.windows.palette || opened.kept.drag.is_some();
    *keyboard = if context.text_edit_focused() || answers {
        Keyboard::Typing
    } else if opened.windows.is_open() {
        Keyboard::Window
    } else if context.egui_wants_keyboard_input() {
        Keyboard::Widget
    } else {
        Keyboard::Commands
    };
    commands.write_batch(asked);
    // Decided while no button is down, so that a drag stays with what it began on.
    let (place, down) = context.input(|input| (input.pointer.latest_pos(), input.pointer.any_down()));
    if !down {
        let over = place.is_some_and(|place| {
            let on_top = context.layer_id_at(place).is_some_and(|layer| layer.order != egui::Order::Background);
            view.contains(place) && !on_top && !context.egui_is_using_pointer() && !on_widget(&context)
        });
        pointer.0 = over;
    }
    if sources.record.wanted != wants_statistics {
        sources.record.wanted = wants_statistics;
    }
    Ok(())
}

/// Who closes the window wants to leave.
fn ask_to_leave(mut closing: MessageReader<WindowCloseRequested>, mut commands: MessageWriter<Command>) {
    if closing.read().count() > 0 {
        commands.write(Command::Quit);
    }
}

/// Whether the pointer is over something of the panels that answers to it, a spring's mark for instance.
fn on_widget(context: &egui::Context) -> bool {
    let hovered: Vec<egui::Id> = context.interaction_snapshot(|now| now.hovered.iter().copied().collect());
    hovered.into_iter().any(|id| context.read_response(id).is_some_and(|response| response.sense.interactive()))
}

/// What only the panels and the window can do.
#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
fn obey(
    mut commands: MessageReader<Command>,
    mut opened: ResMut<Opened>,
    mut visible: ResMut<UiVisible>,
    live: Res<Live>,
    preferences: Res<Preferences>,
    free: Res<FreeView>,
    mut notices: ResMut<Notices>,
    mut windows: Query<&mut Window, With<PrimaryWindow>>,
    mut contexts: EguiContexts,
    document: Res<Document>,
    history: Res<History>,
) {
    let id = free.picture.id();
    if free.picture != Handle::default() && opened.picture.is_none_or(|(known, _)| known != id) {
        if let Some((old, _)) = opened.picture {
            contexts.remove_image(EguiTextureHandle::Weak(old));
        }
        opened.picture = Some((id, contexts.add_image(EguiTextureHandle::Weak(id))));
    }
    let file = live.file.as_deref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    let mark = if document.unsaved(&history) { "• " } else { "" };
    let title = format!("{mark}{} · Thalweg", file.as_deref().unwrap_or(&live.chosen().title));
    for mut window in windows.iter_mut().filter(|window| window.title != title) {
        window.title.clone_from(&title);
    }
    for command in commands.read() {
        if opened.windows.obey(command) || opened.files.obey(command, live.chosen(), &preferences, live.file.as_deref())
        {
            continue;
        }
        match command {
            Command::ToggleUi => visible.0 = !visible.0,
            Command::DragBrush(name) => opened.drags = Some(name),
            Command::Hold(Some(_)) => opened.kept.springs.place(None),
            Command::CopyCommandLine => {
                if let Ok(context) = contexts.ctx_mut() {
                    context.copy_text(live.chosen().command_line());
                    let edited = live.chosen().did_by_hand();
                    let but = " What was done to layers and springs by hand is not in it.";
                    notices.tell(Level::Info, format!("Copied the command line.{}", if edited { but } else { "" }));
                }
            }
            Command::ToggleFullScreen => {
                for mut window in &mut windows {
                    window.mode = match window.mode {
                        WindowMode::Windowed => WindowMode::BorderlessFullscreen(MonitorSelection::Current),
                        _ => WindowMode::Windowed,
                    };
                }
            }
            _ => {}
        }
    }
}
