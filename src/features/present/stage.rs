//! Overlay of the Present workspace: title, caption and sliders of the scene.

use super::presenter::TogglePresenter;
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bevy::{ecs::system::SystemParam, input::mouse::MouseWheel, prelude::*};
use bevy_egui::egui::{
    self, Align2, Color32, FontId, RichText, Ui,
    epaint::text::{FontInsert, FontPriority, InsertFontFamily},
};

use crate::shell::{
    DRAWN_ONCE, access,
    commands::{AddCommands, MenuSection},
    group::{set, value_ui},
    number::{NumberField, units},
    panel::{AddPanel, LayerVisibility},
    style,
};
use crate::world::{
    AppCommand, OtherWindows, PresentCommand, Presentation, Restarts, Simulations, Workspace, amount::display_unit,
    background::BackgroundTask,
};
use egui_phosphor::regular as icon;
use thalweg_scene::{
    io::page,
    model::{chart::format_number, session::AudienceSlider},
};
use thalweg_sim::params::{Knob, Parameter, Value, collect_parameters};

/// State read by the overlay.
#[derive(SystemParam)]
pub struct PresentationParams<'w> {
    workspace: Res<'w, State<Workspace>>,
    presentation: Option<Res<'w, Presentation>>,
    simulations: Res<'w, Simulations>,
    restarts: Res<'w, Restarts>,
}

/// Font sizes, in points.
const TITLE: f32 = 30.0;
const CAPTION: f32 = 20.0;
const SLIDER: f32 = 18.0;
/// Width of a slider, in points.
const WIDTH: f32 = 260.0;
/// Part of the width reserved for the value, in points.
const FIELD: f32 = 100.0;
/// Maximum width of a caption, as a fraction of the view's width.
const WIDEST: f32 = 0.72;
/// Polling interval for the font search.
const SEARCH: Duration = Duration::from_millis(50);
/// Minimum and comfortable width of a caption, in points.
const LEAST: f32 = 240.0;
const COMFORTABLE: f32 = 420.0;

pub(super) fn plugin(app: &mut App) {
    app.add_view_layer(LayerVisibility::Interface, presentation_ui).add_commands("View", 100, commands);
}

fn commands(table: &mut MenuSection) {
    let next = "Go to the next scene of the presentation. In the Present workspace, use the arrow keys or a presentation remote.";
    table.add(icon::CARET_RIGHT, "Next scene", next, &[], PresentCommand::Go(1));
    let before = "Go to the previous scene of the presentation.";
    table.add(icon::CARET_LEFT, "Previous scene", before, &[], PresentCommand::Go(-1));
    let desk = "Open or close a second window with your notes, the next scene and the time.";
    table
        .add(icon::MONITOR, "Presenter window", desk, &[], TogglePresenter)
        .set_aliases("speaker notes second screen monitor");
}

/// Draws the overlay in the Present workspace. Returns the requested commands.
pub fn presentation_ui(InMut(root): InMut<Ui>, state: PresentationParams) -> Vec<AppCommand> {
    let (view, state) = (root.max_rect(), &state);
    if *state.workspace != Workspace::Present {
        return Vec::new();
    }
    if let Some(presentation) = &state.presentation
        && let Some(item) = presentation.item(&state.simulations)
    {
        let session = state.simulations.selected();
        let painter = root.painter().with_clip_rect(view);
        let (number, count) = presentation.number();
        let counted = if count > 1 { format!("{number} / {count}") } else { String::new() };
        let top = view.center_top() + egui::vec2(0.0, 26.0);
        style::shaded_text(&painter, top, Align2::CENTER_TOP, &session.title, TITLE, style::SHADE);
        if !counted.is_empty() {
            let corner = view.right_top() + egui::vec2(-20.0, 26.0);
            style::shaded_text(&painter, corner, Align2::RIGHT_TOP, &counted, SLIDER, style::SHADE);
        }
        let caption = match item.captions.is_empty() {
            true => session.about.as_str(),
            false => item.caption(state.simulations.ticks() as f64).unwrap_or_default(),
        };
        ensure_glyphs(root.ctx(), &session.title);
        ensure_glyphs(root.ctx(), caption);
        caption_ui(&painter, view, caption, !session.sliders.is_empty());
    }
    sliders_ui(root, view, state)
}

/// Search for a font, with its name, its file and its index in the file; `None` once finished.
type FontSearch = Arc<Mutex<Option<BackgroundTask<(), Option<(String, Vec<u8>, u32)>>>>>;

/// Adds a system font as a fallback for letters missing in the built-in fonts. Each set of letters is searched for once, because a text
/// changes with each key while it is typed.
pub(super) fn ensure_glyphs(context: &egui::Context, text: &str) {
    if text.is_ascii() {
        return;
    }
    let letters: BTreeSet<char> = text.chars().filter(|letter| !letter.is_ascii()).collect();
    let text = String::from_iter(letters);
    // A system has many fonts, so the search runs in the background.
    let id = egui::Id::new(("letters", &text));
    let search: FontSearch = context.data_mut(|data| {
        let search = || Arc::new(Mutex::new(Some(BackgroundTask::start((), move || page::font_for(&text)))));
        data.get_temp_mut_or_insert_with(id, search).clone()
    });
    let mut search = search.lock().unwrap_or_else(PoisonError::into_inner);
    let once = context.data(|data| data.get_temp(egui::Id::new(DRAWN_ONCE))).unwrap_or(false);
    let Some(found) = search.take_if(|search| once || search.is_finished()) else {
        if search.is_some() {
            context.request_repaint_after(SEARCH);
        }
        return;
    };
    let Some((name, bytes, index)) = found.join().flatten() else { return };
    let family = InsertFontFamily { family: egui::FontFamily::Proportional, priority: FontPriority::Lowest };
    let font = egui::FontData { index, ..egui::FontData::from_owned(bytes) };
    context.add_font(FontInsert::new(&name, font, vec![family]));
}

/// Draws the caption at the bottom of the view, wrapped and clear of the sliders.
fn caption_ui(painter: &egui::Painter, view: egui::Rect, text: &str, sliders: bool) {
    if text.is_empty() {
        return;
    }
    let free = if sliders { view.with_max_x(view.right() - WIDTH - 80.0) } else { view };
    let beside = view.width() - 2.0 * (view.width() - free.width());
    // Centred in the view or, if too narrow there, in the area left by the sliders.
    let (middle, width) = if beside >= COMFORTABLE {
        (view.center().x, (WIDEST * view.width()).min(beside))
    } else {
        (free.center().x, (free.width() - 40.0).max(LEAST))
    };
    let mut job = egui::text::LayoutJob::simple(text.to_owned(), FontId::proportional(CAPTION), Color32::WHITE, width);
    job.halign = egui::Align::Center;
    let words = painter.layout_job(job);
    let size = words.size();
    let corner = egui::pos2(middle - 0.5 * size.x, view.bottom() - 24.0 - size.y);
    let place = egui::Rect::from_min_size(corner, size);
    painter.rect_filled(place.expand2(egui::vec2(14.0, 7.0)), 7.0, style::SHADE);
    // The galley is centred on its position.
    painter.galley(place.center_top(), words, Color32::WHITE);
}

/// Draws the sliders listed by the scene.
fn sliders_ui(root: &Ui, view: egui::Rect, state: &PresentationParams<'_>) -> Vec<AppCommand> {
    let session = state.simulations.selected();
    let terrain = state.restarts.pending_terrain(session);
    let groups = session.groups_with(&terrain);
    let wanted = |slider: &AudienceSlider| {
        let (group, _) = slider.path.split_once('.')?;
        let group = groups.iter().find(|(key, _)| *key == group)?;
        let parameter = collect_parameters(*group).into_iter().find(|parameter| parameter.path == slider.path)?;
        let title = slider.title.clone().unwrap_or_else(|| parameter.title());
        Some((group.0, title, parameter))
    };
    let parameters: Vec<_> = session.sliders.iter().filter_map(wanted).collect();
    if parameters.is_empty() {
        return Vec::new();
    }
    let mut asked = Vec::new();
    let area = egui::Area::new(root.id().with("stage")).pivot(Align2::RIGHT_BOTTOM).constrain_to(view);
    area.fixed_pos(view.right_bottom() - egui::vec2(20.0, 20.0)).show(root.ctx(), |ui| {
        access::begin_region(ui, "Sliders of the scene");
        egui::Frame::new().fill(style::SHADE).corner_radius(8).inner_margin(12).show(ui, |ui| {
            ui.style_mut().override_font_id = Some(FontId::proportional(SLIDER));
            ui.spacing_mut().interact_size.y = 1.7 * SLIDER;
            ui.set_width(WIDTH);
            ui.spacing_mut().slider_width = WIDTH - FIELD;
            for (group, title, parameter) in parameters {
                let name = ui.add(egui::Label::new(RichText::new(title).color(Color32::WHITE)));
                let mut value = parameter.value.clone();
                let field = match &mut value {
                    Value::Number(number) => slider_ui(ui, &parameter, number),
                    value => value_ui(ui, &parameter, value),
                };
                field.labelled_by(name.id).on_hover_text(parameter.doc);
                if value != parameter.value {
                    asked.extend(set(group, vec![(parameter.name, value)]));
                }
            }
        });
    });
    asked
}

/// Draws a slider with its value. The value cannot be typed, because a text field would capture the keys of a remote.
fn slider_ui(ui: &mut Ui, parameter: &Parameter, number: &mut f64) -> egui::Response {
    let Knob { min, max, log, unit, .. } = parameter.knob;
    ui.horizontal(|ui| {
        let title = parameter.title();
        let slider = NumberField::new(&title, unit, min..=max).slider_ui(ui, number, |slider| {
            let slider = slider.logarithmic(log).show_value(false);
            if parameter.whole { slider.integer() } else { slider }
        });
        // Familiar readings for visitors: rain per hour, and the direction the wind comes from. Units of the grid tell them nothing.
        let reading = parameter.knob.reading.format_alias(*number, |unit| display_unit(units(ui), unit));
        let is_physical = !unit.contains("cells");
        let text = reading.or_else(|| {
            let (unit, times) = display_unit(units(ui), unit);
            is_physical.then(|| format!("{} {unit}", format_number(*number * times)))
        });
        if let Some(text) = text {
            ui.label(RichText::new(text).color(Color32::WHITE));
        }
        slider
    })
    .inner
}

/// Records the presence of a user, including one who holds a button without moving.
pub(super) fn record_user_activity(
    mut moved: MessageReader<CursorMoved>,
    mut wheel: MessageReader<MouseWheel>,
    buttons: Res<ButtonInput<MouseButton>>,
    keys: Res<ButtonInput<KeyCode>>,
    fingers: Res<Touches>,
    others: OtherWindows,
    mut presentation: ResMut<Presentation>,
) {
    let moves = moved.read().filter(|moved| !others.has(moved.window)).count();
    let turns = wheel.read().filter(|wheel| !others.has(wheel.window)).count();
    let pressed = if others.have_pointer() { 0 } else { buttons.get_pressed().len() + fingers.iter().count() };
    let typed = if others.have_keyboard() { 0 } else { keys.get_pressed().len() };
    if moves + turns + pressed + typed > 0 {
        presentation.touch();
    }
}
