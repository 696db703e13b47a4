//! Presenter window: the view as the audience sees it, notes, elapsed time and the next scene. It opens on another monitor than the
//! main window, if there is one.

use super::{playlist::title, stage::ensure_glyphs};
use std::{path::Path, time::Duration};

use bevy::{
    camera::RenderTarget,
    ecs::{schedule::ScheduleLabel, system::SystemParam},
    prelude::*,
    render::camera::CameraRenderGraph,
    window::{
        Monitor, MonitorSelection, PresentMode, PrimaryMonitor, PrimaryWindow, WindowCloseRequested, WindowMode,
        WindowRef,
    },
};
use bevy_egui::{
    EguiContext, EguiMultipassSchedule,
    egui::{self, RichText, Ui},
};
use egui_phosphor::regular as icon;

use crate::shell::{
    gallery::{SceneCard, cards},
    number,
    paint::PanelRenderGraph,
    repaint::PanelOutput,
    shortcuts::{KeyboardFocus, PresenterKeyboardFocus},
    snap_to_pixels, style,
};
use crate::world::{
    AppCommand, AppCommandEvent, Preferences, PresentCommand, Presentation, SimulationCommand, Simulations, Transport,
    ViewportArea,
};
use thalweg_scene::settings::Theme;

/// Width and height of the window, in points.
const SIZE: (u32, u32) = (1040, 660);
/// Interval between updates of the view in this window, long enough not to delay the main window.
const EVERY: Duration = Duration::from_millis(200);
/// Fractions of the window: width of the side panel, and maximum height of the view.
const ASIDE: f32 = 0.4;
const HIGHEST: f32 = 0.62;
/// Font sizes, in points.
const CLOCK: f32 = 26.0;
const BUTTON: f32 = 18.0;
const NOTES: f32 = 20.0;
const LETTERS: std::ops::RangeInclusive<f32> = 12.0..=48.0;

/// State read by the window.
#[derive(SystemParam)]
pub struct PresenterParams<'w> {
    preferences: Res<'w, Preferences>,
    presentation: Option<Res<'w, Presentation>>,
    transport: Res<'w, Transport>,
    simulations: Res<'w, Simulations>,
}

/// Schedule that draws the panels of this window.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
struct PresenterPass;

/// Camera of the panels of this window.
#[derive(Component)]
pub(super) struct PresenterCamera {
    window: Entity,
    state: PresenterState,
}

/// State of the window while it is open.
pub struct PresenterState {
    /// Theme and scale of the current style.
    styled: Option<(Theme, f32)>,
    cards: Vec<SceneCard>,
    /// Font size of the notes, in points.
    letters: f32,
}

impl Default for PresenterState {
    fn default() -> Self {
        Self { styled: None, cards: Vec::new(), letters: NOTES }
    }
}

pub(super) fn plugin(app: &mut App) {
    app.add_observer(toggle).add_systems(PresenterPass, draw);
}

/// Opens or closes the presenter window.
#[derive(Event, Clone, Copy, Debug, PartialEq, Eq)]
pub struct TogglePresenter;

impl AppCommandEvent for TogglePresenter {
    /// A kiosk may start with it; nothing in a kiosk requests it.
    fn is_allowed_in_kiosk(&self, _: &Simulations) -> bool {
        true
    }
}

/// Closes the window when the window system requests it.
pub(super) fn close(
    mut closing: MessageReader<WindowCloseRequested>,
    desks: Query<(Entity, &PresenterCamera)>,
    mut commands: Commands,
) {
    for closed in closing.read() {
        desks
            .iter()
            .filter(|(_, desk)| desk.window == closed.window)
            .for_each(|desk| despawn_presenter(desk, &mut commands));
    }
}

fn despawn_presenter((camera, desk): (Entity, &PresenterCamera), commands: &mut Commands) {
    commands.entity(camera).despawn();
    // The engine may have despawned it.
    commands.entity(desk.window).try_despawn();
}

fn toggle(
    _: On<TogglePresenter>,
    desks: Query<(Entity, &PresenterCamera)>,
    main: Query<&Window, With<PrimaryWindow>>,
    screens: Query<(Entity, &Monitor, Has<PrimaryMonitor>)>,
    mut commands: Commands,
) {
    if let Some(desk) = desks.iter().next() {
        despawn_presenter(desk, &mut commands);
        return;
    }
    let Some(main) = main.iter().next() else { return };
    let here = monitor_of(main, &screens);
    let other = screens.iter().map(|(screen, ..)| screen).find(|screen| Some(*screen) != here);
    let position = match other.filter(|_| here.is_some()) {
        Some(screen) => WindowPosition::Centered(MonitorSelection::Entity(screen)),
        None => WindowPosition::Automatic,
    };
    let window = Window {
        title: "Presenter · Thalweg".to_owned(),
        resolution: SIZE.into(),
        position,
        // Only the main window waits for vertical sync.
        present_mode: PresentMode::AutoNoVsync,
        ..default()
    };
    let window = commands.spawn(window).id();
    commands.spawn((
        (Camera2d, Camera::default(), RenderTarget::Window(WindowRef::Entity(window))),
        (CameraRenderGraph::new(PanelRenderGraph), Msaa::Off),
        EguiMultipassSchedule::new(PresenterPass),
        PanelOutput::every(EVERY),
        PresenterCamera { window, state: PresenterState::default() },
    ));
}

/// Returns the monitor of a window.
fn monitor_of(window: &Window, screens: &Query<(Entity, &Monitor, Has<PrimaryMonitor>)>) -> Option<Entity> {
    if let WindowMode::BorderlessFullscreen(MonitorSelection::Entity(screen)) = window.mode {
        return Some(screen);
    }
    let WindowPosition::At(corner) = window.position else {
        return screens.iter().find(|(.., main)| *main).map(|(screen, ..)| screen);
    };
    let middle = corner + window.resolution.physical_size().as_ivec2() / 2;
    let has = |screen: &Monitor| {
        let from = screen.physical_position;
        let to = from + screen.physical_size().as_ivec2();
        middle.cmpge(from).all() && middle.cmplt(to).all()
    };
    screens.iter().find(|(_, screen, _)| has(screen)).map(|(screen, ..)| screen)
}

fn draw(
    desk: Single<(&mut EguiContext, &mut PanelOutput, &mut PresenterCamera)>,
    state: PresenterParams,
    view: Res<ViewportArea>,
    mut keyboard: ResMut<PresenterKeyboardFocus>,
    mut commands: MessageWriter<AppCommand>,
) {
    let (mut context, mut panels, mut desk) = desk.into_inner();
    let presenter_state = &mut desk.state;
    let context = context.get_mut().clone();
    let settings = &state.preferences.settings;
    if presenter_state.styled != Some((settings.theme, settings.scale)) {
        style::apply(&context, settings.theme, presenter_state.styled.is_none());
        context.set_zoom_factor(settings.scale);
        presenter_state.styled = Some((settings.theme, settings.scale));
    }
    number::set_units(&context, settings.units);
    let window = context.viewport_rect();
    let builder = egui::UiBuilder::new().layer_id(egui::LayerId::background()).max_rect(window);
    let mut root = Ui::new(context.clone(), "desk".into(), builder);
    let size = view.rect.size().max(UVec2::ONE).as_vec2();
    let (asked, view_rect) = presenter_ui(&mut root, &state, presenter_state, size.x / size.y);
    let (rect, _) = snap_to_pixels(view_rect, context.pixels_per_point());
    if panels.view != rect {
        panels.view = rect;
    }
    let takes_keys = context.egui_wants_keyboard_input();
    keyboard.0 = if takes_keys { KeyboardFocus::Widget } else { KeyboardFocus::Commands };
    commands.write_batch(asked);
}

/// Draws the window. Returns the requested commands, and the place of the view with this aspect ratio (width to height).
pub fn presenter_ui(
    root: &mut Ui,
    state: &PresenterParams<'_>,
    presenter_state: &mut PresenterState,
    aspect: f32,
) -> (Vec<AppCommand>, egui::Rect) {
    if presenter_state.cards.is_empty() {
        presenter_state.cards = cards();
    }
    if let Some(presentation) = &state.presentation {
        let list = presentation.list();
        ensure_glyphs(root.ctx(), &list.title);
        for item in &list.scenes {
            [&item.title, &item.notes].into_iter().for_each(|text| ensure_glyphs(root.ctx(), text));
        }
    }
    let mut asked = Vec::new();
    let whole = root.max_rect();
    egui::Panel::top("head").show_inside(root, |ui| head_ui(ui, state));
    egui::Panel::bottom("foot").show_inside(root, |ui| asked.extend(foot_ui(ui, state)));
    let aside = egui::Panel::right("aside").resizable(false).exact_size(ASIDE * whole.width());
    aside.show_inside(root, |ui| {
        next_ui(ui, state, presenter_state);
        ui.separator();
        notes_ui(ui, state, presenter_state);
    });
    let area = root.available_rect_before_wrap().shrink(10.0);
    let size = egui::vec2(area.width(), area.width() / aspect);
    let size = size * (HIGHEST * area.height() / size.y).min(1.0);
    let view_rect = egui::Rect::from_center_size(area.center_top() + egui::vec2(0.0, 0.5 * size.y), size);
    // The surroundings of the view look like a panel.
    let (fill, free) = (root.visuals().panel_fill, area.expand(10.0));
    for part in [
        free.with_max_y(view_rect.top()),
        free.with_min_y(view_rect.bottom()),
        free.with_max_x(view_rect.left()).with_min_y(view_rect.top()).with_max_y(view_rect.bottom()),
        free.with_min_x(view_rect.right()).with_min_y(view_rect.top()).with_max_y(view_rect.bottom()),
    ] {
        root.painter().rect_filled(part, 0.0, fill);
    }
    let below = area.with_min_y(view_rect.bottom() + 8.0);
    root.scope_builder(egui::UiBuilder::new().max_rect(below), |ui| asked.extend(list_ui(ui, state, presenter_state)));
    (asked, view_rect)
}

/// Formats a time as minutes and seconds, with hours if there are any.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// Draws the title, the scene number and the elapsed times.
fn head_ui(ui: &mut Ui, state: &PresenterParams<'_>) {
    ui.horizontal(|ui| {
        let Some(presentation) = &state.presentation else {
            ui.label(RichText::new("No presentation").heading());
            ui.label(RichText::new("Open a playlist, or create one with Scene ▸ Playlist…").weak());
            return;
        };
        let [here, whole] = presentation.elapsed_times();
        let (number, count) = presentation.number();
        ui.label(RichText::new(&presentation.list().title).heading());
        ui.label(RichText::new(format!("scene {number} of {count}")).weak());
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.label(RichText::new(clock(whole)).size(CLOCK).monospace())
                .on_hover_text("Time since the start of the presentation");
            ui.label(RichText::new(format!("{} in this scene", clock(here))).weak())
                .on_hover_text("Time since the start of this scene");
        });
    });
}

/// Draws the buttons that control the presentation.
fn foot_ui(ui: &mut Ui, state: &PresenterParams<'_>) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    let presentation = state.presentation.as_ref();
    let (number, count) = presentation.map_or((0, 0), |presentation| presentation.number());
    ui.add_space(4.0);
    ui.horizontal(|ui| {
        let mut button = |icon: &str, text: &str, on: bool, command: AppCommand| {
            let text = RichText::new(format!("{icon}  {text}")).size(BUTTON);
            if ui.add_enabled(on, egui::Button::new(text)).clicked() {
                asked.push(command);
            }
        };
        let shows = count > 0;
        button(icon::CARET_LEFT, "Back", shows && number > 1, PresentCommand::Go(-1).into());
        let (sign, name) = if state.transport.playing { (icon::PAUSE, "Pause") } else { (icon::PLAY, "Play") };
        button(sign, name, true, SimulationCommand::TogglePlay.into());
        button(icon::ARROW_COUNTER_CLOCKWISE, "Replay", shows, PresentCommand::Go(0).into());
        button(icon::CARET_RIGHT, "Next", shows && number < count, PresentCommand::Go(1).into());
        let ticks = state.simulations.ticks();
        let item = presentation.and_then(|presentation| presentation.item(&state.simulations));
        let last = item.map_or(0, |item| item.ticks.1);
        let text =
            if (1..=last).contains(&ticks) { format!("tick {ticks} of {last}") } else { format!("tick {ticks}") };
        ui.label(RichText::new(text).weak());
    });
    ui.add_space(4.0);
    asked
}

/// Draws the next scene, and the time until it starts.
fn next_ui(ui: &mut Ui, state: &PresenterParams<'_>, presenter_state: &PresenterState) {
    let Some(presentation) = &state.presentation else { return };
    let (number, _) = presentation.number();
    let Some(next) = presentation.list().scenes.get(number) else {
        ui.label(RichText::new("This is the last scene.").weak());
        return;
    };
    let left = presentation.left();
    let when = left.map_or("Next".to_owned(), |left| format!("Next in {}", clock(left)));
    ui.label(RichText::new(when).weak());
    ui.label(RichText::new(title(next, &presenter_state.cards)).size(BUTTON).strong());
    if let Some(card) = presenter_state.cards.iter().find(|card| next.open == Path::new(card.name)) {
        let wide = ui.available_width().min(240.0);
        let (_, place) = ui.allocate_space(egui::vec2(wide, wide / 1.6));
        card.paint(ui.painter(), place);
    }
}

/// Draws the notes for the scene.
fn notes_ui(ui: &mut Ui, state: &PresenterParams<'_>, presenter_state: &mut PresenterState) {
    let presentation = state.presentation.as_ref();
    let number = presentation.map_or(0, |presentation| presentation.number().0);
    let notes = presentation.and_then(|presentation| presentation.list().scenes.get(number - 1));
    let notes = notes.map_or("", |item| &*item.notes);
    ui.horizontal(|ui| {
        ui.label(RichText::new("Notes").weak());
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            for (sign, name, times) in [(icon::PLUS, "Larger text", 1.15), (icon::MINUS, "Smaller text", 1.0 / 1.15)] {
                let button = ui.small_button(sign).on_hover_text(name);
                crate::shell::access::name(&button, name);
                if button.clicked() {
                    presenter_state.letters = (times * presenter_state.letters).clamp(*LETTERS.start(), *LETTERS.end());
                }
            }
        });
    });
    egui::ScrollArea::vertical().id_salt(("notes", number)).auto_shrink([false, false]).show(ui, |ui| {
        let text = match notes {
            "" if presentation.is_some() => RichText::new("This scene has no notes.").weak(),
            notes => RichText::new(notes).size(presenter_state.letters),
        };
        ui.label(text);
    });
}

/// Draws the list of scenes. A click goes to one.
fn list_ui(ui: &mut Ui, state: &PresenterParams<'_>, presenter_state: &PresenterState) -> Option<AppCommand> {
    let presentation = state.presentation.as_ref()?;
    let (list, (number, _)) = (presentation.list(), presentation.number());
    let mut asked = None;
    egui::ScrollArea::vertical().id_salt("scenes").auto_shrink([false, false]).show(ui, |ui| {
        for (at, item) in list.scenes.iter().enumerate() {
            let text = format!("{}. {}", at + 1, title(item, &presenter_state.cards));
            if ui.selectable_label(at + 1 == number, text).clicked() {
                asked = Some(PresentCommand::Go(at as isize + 1 - number as isize).into());
            }
        }
    });
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elapsed_time_is_formatted_as_clock() {
        assert_eq!(clock(Duration::from_millis(59_900)), "0:59");
        assert_eq!(clock(Duration::from_secs(605)), "10:05");
        assert_eq!(clock(Duration::from_secs(3600 + 62)), "1:01:02");
    }
}
