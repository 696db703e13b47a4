//! Panels and shortcuts. They read the state of the window and send [`AppCommand`]s; nothing here changes the simulation.

pub mod access;
pub(crate) mod chart;
pub(crate) mod commands;
pub(crate) mod export;
pub mod file_request;
pub mod files;
pub mod floating;
pub(crate) mod formula;
pub mod gallery;
pub mod group;
pub mod leave;
pub mod legend;
pub(crate) mod menu;
pub mod navigate;
pub(crate) mod number;
pub(crate) mod paint;
pub(crate) mod palette;
pub mod panel;
pub(crate) mod placement;
pub(crate) mod repaint;
pub(crate) mod shortcuts;
pub(crate) mod style;
pub(crate) mod timeline;
pub mod toasts;
pub(crate) mod tool_bar;
pub(crate) mod transport;
pub mod window_layout;

use self::commands::CommandTable;
use bevy::{
    camera::RenderTarget,
    ecs::system::SystemParam,
    prelude::*,
    render::camera::CameraRenderGraph,
    window::{CursorOptions, MonitorSelection, PrimaryWindow, WindowCloseRequested, WindowMode},
};
use bevy_egui::{
    EguiContext, EguiContexts, EguiGlobalSettings, EguiPlugin, EguiPrimaryContextPass, PrimaryEguiContext, egui,
};

use crate::world::{
    AppCommand, BrushCommand, Brushes, CameraCommand, CameraMode, CurrentLesson, Document, FileCommand, FrameSystems,
    History, KeyPointer, NoticeLevel, Notices, OpenWorkspace, OtherWindows, PointerOverView, Preferences,
    PresentCommand, Presentation, Recording, Simulations, ViewportArea, WindowCommand, Workspace,
};
use file_request::SystemFileDialog;
use files::ImportExportDialogs;
use floating::{FloatingWindowKind, FloatingWindows};
use paint::PanelRenderGraph;
use panel::{AddPanel, LayerVisibility, RIVERS, Sidebar, ViewLayers, draw_part, draw_with};
use placement::Placement;
use repaint::PanelOutput;
use shortcuts::KeyboardFocus;
use thalweg_scene::settings::{Settings, Theme};

/// `true` while the interface is visible.
#[derive(Resource, Clone, Copy, Debug)]
pub struct UiVisible(pub bool);

/// `true` while something over the view takes all keys.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewModal(pub bool);

/// Render target of the panels, if not the window.
#[derive(Resource, Clone)]
pub struct UiRenderTarget(pub RenderTarget);

/// Id under which the context stores `true` if a single off-screen frame is drawn, which must not wait for background searches.
pub(crate) const DRAWN_ONCE: &str = "drawn once";

/// Seconds after which an idle pointer is hidden in the Present workspace.
const POINTER_HIDE_DELAY: f32 = 2.0;

pub(crate) fn plugin(app: &mut App) {
    app.add_plugins((EguiPlugin::default(), access::plugin))
        .init_resource::<KeyboardFocus>()
        .init_resource::<shortcuts::PresenterKeyboardFocus>()
        .add_systems(Startup, spawn_canvas)
        .add_systems(EguiPrimaryContextPass, (draw, decide_keyboard, follow_pointer, show_pointer).chain())
        .add_systems(
            Update,
            (
                (shortcuts::send_commands, files::take_dropped_files, file_request::take_answer, ask_to_leave)
                    .chain()
                    .in_set(FrameSystems::Input),
                update_window_title.in_set(FrameSystems::Show),
            ),
        );
    app.add_observer(handle_command).add_observer(show_title);
    app.add_plugins((repaint::plugin, paint::plugin));
    app.world_mut().resource_mut::<EguiGlobalSettings>().auto_create_primary_context = false;
}

/// Adds the registries for panels, floating windows, commands and file requests of features.
pub fn registries(app: &mut App) {
    app.insert_resource(UiVisible(true))
        .init_resource::<ViewModal>()
        .init_resource::<CommandTable>()
        .init_resource::<Sidebar>()
        .init_resource::<FloatingWindows>()
        .add_plugins(file_request::plugin);
}

/// Adds the keyboard marker in the viewport, above the names and the divider over the view.
pub fn viewport_marker_plugin(app: &mut App) {
    app.add_view_layer(LayerVisibility::Always, viewport_marker_ui);
}

/// Spawns the camera of the window, which composites the view and the panels.
fn spawn_canvas(mut commands: Commands, canvas: Option<Res<UiRenderTarget>>) {
    let camera =
        (Camera2d, CameraRenderGraph::new(PanelRenderGraph), PrimaryEguiContext, PanelOutput::default(), Msaa::Off);
    let mut camera = commands.spawn((camera, Camera { order: 1, ..default() }));
    if let Some(canvas) = canvas {
        camera.insert(canvas.0.clone());
    }
}

/// Theme and scale of the last applied style.
type AppliedStyle = Option<(Theme, f32)>;

fn follow_settings(context: &egui::Context, settings: &Settings, styled: &mut AppliedStyle) {
    if *styled != Some((settings.theme, settings.scale)) {
        style::apply(context, settings.theme, styled.is_none());
        context.set_zoom_factor(settings.scale);
        *styled = Some((settings.theme, settings.scale));
    }
    number::set_units(context, settings.units);
}

/// Draws the interface: the panels around the view, the layers over it, and floating windows, dialogs and messages on top.
fn draw(
    world: &mut World,
    windows: &mut QueryState<(&mut EguiContext, &mut PanelOutput), With<PrimaryEguiContext>>,
    mut styled: Local<AppliedStyle>,
    mut before: Local<access::FocusHistory>,
) {
    let Ok((mut context, _)) = windows.single_mut(world) else { return };
    let context = context.get_mut().clone();
    follow_settings(&context, &world.resource::<Preferences>().settings, &mut styled);
    // A single off-screen frame must be complete.
    let once = world.contains_resource::<UiRenderTarget>();
    context.data_mut(|data| data.insert_temp(egui::Id::new(DRAWN_ONCE), once));
    if world.get_resource::<Presentation>().is_some_and(Presentation::is_kiosk) {
        context.options_mut(|options| options.zoom_with_keyboard = false);
    }
    access::begin(&context, *before);
    // Layers set it again.
    world.resource_mut::<ViewModal>().0 = false;
    let window = context.viewport_rect();
    let builder = egui::UiBuilder::new().layer_id(egui::LayerId::background()).max_rect(window);
    let mut root = egui::Ui::new(context.clone(), "root".into(), builder);
    let is_turntable = world.resource::<Recording>().is_turntable();
    let visible = world.resource::<UiVisible>().0 && !is_turntable;
    let panels = visible && *world.resource::<State<Workspace>>() != Workspace::Present;
    let (mut asked, view) = if panels {
        window_layout::window_ui(&mut root, world)
    } else {
        world.resource_mut::<Sidebar>().drawn.clear();
        (Vec::new(), window)
    };
    let (rect, seen) = snap_to_pixels(view, context.pixels_per_point());
    let mut free = world.resource_mut::<ViewportArea>();
    if free.rect != rect {
        free.rect = rect;
    }
    let has_image = free.image != Handle::default();
    if let Ok((_, mut of_window)) = windows.single_mut(world)
        && of_window.view != rect
    {
        of_window.view = rect;
    }
    if has_image {
        let mut over = root.new_child(egui::UiBuilder::new().max_rect(seen).id_salt("view"));
        for (visibility, system) in world.resource::<ViewLayers>().0.clone() {
            let is_seen = match visibility {
                LayerVisibility::Always => true,
                LayerVisibility::Interface => visible,
                LayerVisibility::Panels => panels,
            };
            if is_seen {
                asked.extend(draw_with(world, system, &mut over));
            }
        }
    }
    let answers = world.resource::<Document>().asks_to_save || world.resource::<ImportExportDialogs>().is_open();
    if answers || world.resource::<FloatingWindows>().has_kind(FloatingWindowKind::Modal) {
        style::backdrop_ui(&context);
    }
    if !is_turntable {
        asked.extend(floating::floating_windows_ui(&context, world));
    }
    let mut context_of_dialogs = context.clone();
    asked.extend(draw_part(world, leave::leave_ui, &mut context_of_dialogs));
    asked.extend(draw_part(world, files::files_ui, &mut context_of_dialogs));
    asked.extend(draw_part(world, file_request::hint_ui, &mut context_of_dialogs));
    asked.extend(number::take_messages(&context));
    let mut over = root.new_child(egui::UiBuilder::new().max_rect(view).id_salt("messages"));
    if !is_turntable {
        asked.extend(draw_part(world, toasts::layer_ui, &mut over));
    }
    access::end(&context, &mut before);
    asked.extend(access::take_queued_commands(&context));
    world.write_message_batch(asked);
}

/// Draws the keyboard marker in the viewport and stores its position.
fn viewport_marker_ui(InMut(root): InMut<egui::Ui>, mut keys: ResMut<KeyPointer>) -> Vec<AppCommand> {
    let scale = root.ctx().pixels_per_point();
    let pressed = access::viewport_focus_ui(root, root.max_rect());
    let now = KeyPointer(pressed.map(|(place, pressed)| (Vec2::new(place.x, place.y) * scale, pressed)));
    keys.set_if_neq(now);
    Vec::new()
}

/// Determines the owner of the keyboard in the next frame.
fn decide_keyboard(
    mut contexts: EguiContexts,
    (panes, files, dialog, document): (
        Res<FloatingWindows>,
        Res<ImportExportDialogs>,
        Res<SystemFileDialog>,
        Res<Document>,
    ),
    modal: Res<ViewModal>,
    keys: Res<KeyPointer>,
    mode: Res<State<CameraMode>>,
    mut keyboard: ResMut<KeyboardFocus>,
) -> Result {
    let context = contexts.ctx_mut()?;
    let answers = document.asks_to_save
        || files.is_open()
        || dialog.is_open()
        || panes.has_kind(FloatingWindowKind::Search)
        || panes.has_kind(FloatingWindowKind::Modal)
        || modal.0;
    let now = if answers {
        KeyboardFocus::Modal
    } else if keys.0.is_some() {
        KeyboardFocus::Viewport
    } else if context.text_edit_focused() {
        KeyboardFocus::TextField
    } else if egui::Popup::is_any_open(context) {
        KeyboardFocus::Widget
    } else if panes.has_kind(FloatingWindowKind::Modeless) {
        KeyboardFocus::Window
    } else if context.egui_wants_keyboard_input() {
        KeyboardFocus::Widget
    } else if *mode != CameraMode::Orbit {
        KeyboardFocus::Camera
    } else {
        KeyboardFocus::Commands
    };
    keyboard.set_if_neq(now);
    Ok(())
}

/// Determines the target of the pointer. It does not change while a button is down, so a drag stays with its target.
fn follow_pointer(
    mut contexts: EguiContexts,
    (free, sidebar): (Res<ViewportArea>, Res<Sidebar>),
    (workspace, mode): (Res<State<Workspace>>, Res<State<CameraMode>>),
    (lesson, brushes, placement): (Option<Res<CurrentLesson>>, Res<Brushes>, Res<Placement>),
    others: OtherWindows,
    mut pointer: ResMut<PointerOverView>,
) -> Result {
    let context = contexts.ctx_mut()?.clone();
    let (place, down) = context.input(|input| {
        let comes = input.any_touches() && input.pointer.any_pressed();
        // A finger has no position before it is down and after it is lifted.
        let place = if comes { input.pointer.interact_pos() } else { input.pointer.latest_pos() };
        // egui is not notified when the pointer moves to another window.
        let place = place.filter(|_| comes || !others.have_pointer());
        (place, input.pointer.any_down() && !comes)
    });
    if down {
        return Ok(());
    }
    let point = |pixel: UVec2| egui::Pos2::from(pixel.as_vec2().to_array()) / context.pixels_per_point();
    let view = egui::Rect::from_min_max(point(free.rect.min), point(free.rect.max));
    let over = place.is_some_and(|place| {
        let on_top = context.layer_id_at(place).is_some_and(|layer| layer.order != egui::Order::Background);
        view.contains(place) && !on_top && !context.egui_is_using_pointer()
    });
    let stage = match **workspace {
        Workspace::Sculpt => false,
        Workspace::Learn => lesson.is_none() && !sidebar.is_visible(RIVERS),
        Workspace::Present => true,
    };
    let empty = brushes.active.is_none() && placement.kind.is_none() && *mode == CameraMode::Orbit;
    *pointer = PointerOverView { view: over, terrain: over && !on_widget(&context), adds_rain: stage && empty };
    Ok(())
}

/// Shows the pointer, or hides it while it is idle in the Present workspace.
fn show_pointer(
    mut contexts: EguiContexts,
    workspace: Res<State<Workspace>>,
    mut windows: Query<&mut CursorOptions, With<PrimaryWindow>>,
) -> Result {
    let context = contexts.ctx_mut()?;
    let rests = context.input(|input| input.pointer.time_since_last_movement());
    let presents = *workspace == Workspace::Present;
    if presents && rests < POINTER_HIDE_DELAY {
        context.request_repaint_after_secs(POINTER_HIDE_DELAY - rests);
    }
    let visible = !presents || rests < POINTER_HIDE_DELAY;
    for mut pointer in windows.iter_mut().filter(|pointer| pointer.visible != visible) {
        pointer.visible = visible;
    }
    Ok(())
}

/// Returns a rectangle rounded to physical pixels, and the same in points. An unaligned view would be blurred.
pub(crate) fn snap_to_pixels(view: egui::Rect, scale: f32) -> (URect, egui::Rect) {
    let pixel = |point: egui::Pos2| UVec2::new((point.x * scale).round() as u32, (point.y * scale).round() as u32);
    let point = |pixel: UVec2| egui::pos2(pixel.x as f32 / scale, pixel.y as f32 / scale);
    let rect = URect::from_corners(pixel(view.min), pixel(view.max));
    (rect, egui::Rect::from_min_max(point(rect.min), point(rect.max)))
}

/// Quits when the main window is closed.
fn ask_to_leave(
    mut closing: MessageReader<WindowCloseRequested>,
    main: Query<(), With<PrimaryWindow>>,
    presentation: Option<Res<Presentation>>,
    mut asked: MessageWriter<AppCommand>,
    mut commands: Commands,
) {
    if closing.read().filter(|closing| main.contains(closing.window)).count() > 0 {
        if presentation.is_some_and(|presentation| presentation.is_kiosk()) {
            // A kiosk has nothing to save and does not accept the command.
            commands.trigger(FileCommand::QuitUnsaved);
        } else {
            asked.write(FileCommand::Quit.into());
        }
    }
}

/// Returns `true` if the pointer is over an interactive widget, e.g. the marker of a spring.
fn on_widget(context: &egui::Context) -> bool {
    let hovered: Vec<egui::Id> = context.interaction_snapshot(|now| now.hovered.iter().copied().collect());
    hovered.into_iter().any(|id| context.read_response(id).is_some_and(|response| response.sense.interactive()))
}

/// Sets the title of the window.
fn update_window_title(
    simulations: Res<Simulations>,
    (document, history): (Res<Document>, Res<History>),
    mut windows: Query<&mut Window, With<PrimaryWindow>>,
) {
    let file = simulations.file.as_ref().and_then(|file| file.path.file_name()).map(|name| name.to_string_lossy());
    let mark = if document.unsaved(&history) { "• " } else { "" };
    let title = format!("{mark}{} · Thalweg", file.as_deref().unwrap_or(&simulations.selected().title));
    for mut window in windows.iter_mut().filter(|window| window.title != title) {
        window.title.clone_from(&title);
    }
}

/// Makes title and sliders visible when a presentation begins.
fn show_title(command: On<PresentCommand>, mut visible: ResMut<UiVisible>) {
    visible.0 |= matches!(command.event(), PresentCommand::Begin(..));
}

/// State that commands for panels and window read and change.
#[derive(SystemParam)]
struct WindowParams<'w, 's> {
    panes: ResMut<'w, FloatingWindows>,
    visible: ResMut<'w, UiVisible>,
    placement: Res<'w, Placement>,
    sidebar: Res<'w, Sidebar>,
    brushes: Res<'w, Brushes>,
    workspace: Res<'w, State<Workspace>>,
    mode: Res<'w, State<CameraMode>>,
    windows: Query<'w, 's, &'static mut Window, With<PrimaryWindow>>,
    contexts: EguiContexts<'w, 's>,
    commands: Commands<'w, 's>,
}

impl WindowParams<'_, '_> {
    fn toggle_full_screen(&mut self) {
        for mut window in &mut self.windows {
            let full = WindowMode::BorderlessFullscreen(MonitorSelection::Current);
            window.mode = if window.mode == WindowMode::Windowed { full } else { WindowMode::Windowed };
        }
    }

    fn reveal_parameter(&mut self, path: &str) {
        self.visible.0 = true;
        let shows = path.split_once('.').is_some_and(|(group, _)| self.panes.open_if_known(group));
        if !shows && *self.workspace != Workspace::Sculpt {
            // The other workspaces show few parameters or none.
            self.commands.trigger(OpenWorkspace(Workspace::Sculpt));
        }
        if let Ok(context) = self.contexts.ctx_mut() {
            navigate::navigate_to(context, path);
        }
    }

    fn reveal_panel(&mut self, panel: &str) {
        self.visible.0 = true;
        let shown = self.sidebar.panels().find(|known| known.key == panel).map(|panel| panel.workspaces);
        if shown.is_some_and(|workspaces| !workspaces.contains(self.workspace.get())) {
            self.commands.trigger(OpenWorkspace(Workspace::Sculpt));
        }
        if let Ok(context) = self.contexts.ctx_mut() {
            navigate::unfold(context, panel);
        }
    }

    /// Returns the command that cancels or leaves the innermost mode, if any.
    fn cancel(&self) -> Option<AppCommand> {
        let full = self.windows.iter().any(|window| window.mode != WindowMode::Windowed);
        if self.brushes.active.is_some() {
            Some(BrushCommand::Cancel.into())
        } else if *self.mode != CameraMode::Orbit {
            Some(CameraCommand::SetMode(**self.mode).into())
        } else if !self.visible.0 {
            Some(WindowCommand::ToggleUi.into())
        } else if *self.workspace == Workspace::Present {
            Some(OpenWorkspace(Workspace::Sculpt).into())
        } else {
            (full && self.placement.kind.is_none()).then(|| WindowCommand::ToggleFullScreen.into())
        }
    }
}

/// Handles commands for panels and window.
fn handle_command(
    command: On<WindowCommand>,
    mut window: WindowParams,
    simulations: Res<Simulations>,
    mut notices: ResMut<Notices>,
    mut asked: MessageWriter<AppCommand>,
) {
    match command.event() {
        WindowCommand::ToggleFullScreen => window.toggle_full_screen(),
        WindowCommand::ToggleUi => window.visible.0 = !window.visible.0,
        WindowCommand::Toggle(pane) => window.panes.toggle(pane),
        WindowCommand::RevealParameter(path) => window.reveal_parameter(path),
        WindowCommand::RevealPanel(panel) => window.reveal_panel(panel),
        WindowCommand::Save => match &simulations.file {
            Some(file) => drop(asked.write(FileCommand::SaveProject(file.path.clone()).into())),
            None => window.commands.trigger(files::save_project_request()),
        },
        WindowCommand::Cancel => {
            asked.write_batch(window.cancel());
        }
        WindowCommand::ShowError(text) => drop(notices.notify(NoticeLevel::Warning, text)),
        WindowCommand::CopyCommandLine => {
            if let Ok(context) = window.contexts.ctx_mut() {
                let session = simulations.selected();
                context.copy_text(session.command_line());
                let but = " Manual edits of layers and springs are not included.";
                let but = if session.has_manual_edits() { but } else { "" };
                notices.notify(NoticeLevel::Info, format!("Copied the command line.{but}"));
            }
        }
    }
}
