//! Section panel: a line drawn over the terrain, and the layers along it.

use super::{DRAWN_POINTS, SaveDrawing, Section, SectionCommand, SectionTrace, chart};
use bevy::{ecs::system::SystemParam, prelude::*};
use bevy_egui::egui::{self, Key, RichText, Ui};
use egui_phosphor::regular as icon;
use egui_plot::{FilledArea, Line, LineStyle, PlotPoint, PlotPoints};

use crate::shell::{
    access,
    chart::{head_ui, plot},
    commands::{AddCommands, MenuSection, NONE},
    number::units,
    panel::{AddPanel, EVERYWHERE, LayerVisibility, SidebarPanel},
    placement::{BeginPlacement, Placement, PlacementKind, choice_ui, hint_ui},
    style,
};
use crate::world::{
    AppCommand, CurrentLesson, PointedPosition, Preferences, Simulations, ViewPlaces, Workspace, amount::display_unit,
};
use thalweg_scene::model::lesson::{Answer, Attempt, LessonStep, Task};
use thalweg_sim::measure::SectionPoint;

/// State read by the panel.
#[derive(SystemParam)]
pub struct SectionParams<'w> {
    section: Res<'w, Section>,
    simulations: Res<'w, Simulations>,
    preferences: Res<'w, Preferences>,
    lesson: Option<Res<'w, CurrentLesson>>,
}

const PANEL: SidebarPanel = SidebarPanel {
    key: "section",
    title: "Section",
    workspaces: EVERYWHERE,
    unfolded: &[Workspace::Learn],
    in_lessons: true,
};

/// Line being drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drawing {
    /// First end, as fractions of the map's sides.
    from: Option<[f32; 2]>,
    /// `true` if the button was released at the first end, so that a click sets the other one.
    clicked: bool,
    /// Number of the placement that draws this line.
    begun: u64,
    /// Previous line.
    before: Option<[[f32; 2]; 2]>,
}

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui).add_view_layer(LayerVisibility::Panels, line_ui).add_commands("View", 70, commands);
}

fn commands(table: &mut MenuSection) {
    let cut = "Show or hide the part of the block in front of the section line.";
    table
        .add(icon::KNIFE, "Cutaway view", cut, &[], SectionCommand::CutAway)
        .set_aliases("cut block open slice clip section inside layers");
    let section =
        "Drag over the terrain, or click twice, to draw a line. The Section panel shows rock, sand and water along it.";
    table
        .add(icon::LINE_SEGMENT, "Draw section", section, &[(NONE, Key::X)], BeginPlacement(PlacementKind::Section))
        .set_aliases("profile cross cut transect");
}

fn panel_ui(InMut(ui): InMut<Ui>, state: SectionParams, mut placement: ResMut<Placement>) -> Vec<AppCommand> {
    let state = &state;
    let (section, mut asked) = (&state.section, Vec::new());
    ui.horizontal_wrapped(|ui| {
        let help = "Drag over the terrain from one end of the line to the other, or click both ends (X).";
        let text = format!("{} Draw line", icon::LINE_SEGMENT);
        asked.extend(choice_ui(ui, &mut placement, PlacementKind::Section, (&text, help)));
        if section.ends.is_some() {
            let mut opens = section.opens;
            let help = "Hide the part of the block in front of the section line to see the section in the terrain.";
            if ui.checkbox(&mut opens, "Cutaway").on_hover_text(help).changed() {
                asked.push(SectionCommand::CutAway.into());
            }
        }
        if section.ends.is_some() && ui.button("Remove").on_hover_text("Remove the line.").clicked() {
            asked.push(SectionCommand::Draw(None).into());
        }
    });
    if section.now.len() < 2 {
        ui.label(RichText::new("A section shows rock, sand and water along a line.").weak());
        return asked;
    }
    asked.extend(plot_ui(ui, state));
    asked
}

/// Draws the section chart, in which a student may draw the expected profile.
fn plot_ui(ui: &mut Ui, state: &SectionParams<'_>) -> Vec<AppCommand> {
    let section = &state.section;
    let (unit, times) = display_unit(units(ui), "m");
    let length = section.now[section.now.len() - 1].distance;
    let (far, of_far) = if length < 2000.0 { (unit, times) } else { display_unit(units(ui), "km") };
    let of_far = if length < 2000.0 { of_far } else { 1e-3 * of_far };
    let along: Vec<f64> = section.now.iter().map(|layers| of_far * layers.distance).collect();
    let heights = |height: &dyn Fn(&SectionPoint) -> f32| -> Vec<f64> {
        section.now.iter().map(|layers| times * f64::from(height(layers))).collect()
    };
    let (rock, ground) = (heights(&|layers| layers.bedrock), heights(&SectionPoint::ground));
    let surface = heights(&|layers| layers.ground() + layers.water);
    let acceleration = state.simulations.selected().simulation.bed_acceleration();
    let load = heights(&|layers| layers.ground() + layers.suspended / acceleration);
    let line = |ground: &[f32]| -> PlotPoints<'static> {
        along.iter().zip(ground).map(|(along, height)| [*along, times * f64::from(*height)]).collect()
    };
    let all =
        ground.iter().chain(&surface).copied().chain(section.start.iter().map(|height| times * f64::from(*height)));
    let (low, high) = all.fold((f64::MAX, f64::MIN), |(low, high), height| (low.min(height), high.max(height)));
    let bottom = low - 0.12 * (high - low).max(1e-3 * times);
    let key = drawing_key(state);
    let of = (state.simulations.project_id(), &key, section.ends.map(|ends| ends.map(|end| end.map(f32::to_bits))));
    let (id, width) = (ui.make_persistent_id(("drawing", of)), length * of_far);
    // Limits of the drawing: a chart that grew with it would run away.
    let room = (bottom, high + 0.35 * (high - low).max(1e-3 * times));
    let mut drawn: Option<Vec<f32>> = key.is_some().then(|| {
        let start = || {
            (0..DRAWN_POINTS)
                .map(|place| section.start[place * (section.start.len() - 1) / (DRAWN_POINTS - 1)])
                .collect()
        };
        let initial = || predicted(state).unwrap_or_else(start);
        ui.data_mut(|data| data.get_temp(id)).unwrap_or_else(initial)
    });
    let predicted = predicted(state);
    let mut is_saved = false;
    if let Some(heights) = &mut drawn {
        // Above the chart, where it is visible without scrolling.
        ui.label("Drag in the chart to draw the expected profile, or enter it point by point:");
        let points = id.with(("points", far));
        if points_ui(ui, points, heights, ([far, unit], (width, times), room)) {
            ui.data_mut(|data| data.insert_temp(id, heights.clone()));
        }
        is_saved = ui.button(format!("{} Save drawing", icon::CHECK)).clicked();
    }
    let mut asked = Vec::new();
    let mut chart = chart::chart(section, state.preferences.settings.units);
    asked.extend(head_ui(ui, &mut chart, "", false));
    let mut shown = plot(ui, "section", [far, unit], [false; 2]).height(style::SECTION_HEIGHT).include_y(bottom);
    if drawn.is_some() {
        shown = shown.sense(egui::Sense::drag()).include_y(room.1);
    }
    let touched = shown.show(ui, |plot| {
        let floor = vec![bottom; along.len()];
        plot.add(FilledArea::new("rock", &along, &floor, &rock).fill_color(style::ROCK));
        plot.add(FilledArea::new("sand", &along, &rock, &ground).fill_color(style::SAND));
        if surface != ground {
            plot.add(FilledArea::new("water", &along, &ground, &surface).fill_color(style::SPRING));
        }
        if has_suspended_sediment(section) {
            plot.add(FilledArea::new("sediment", &along, &ground, &load).fill_color(style::SEDIMENT));
        }
        let count = section.earlier.len().max(1) as f32;
        for (number, earlier) in section.earlier.iter().enumerate() {
            let faint = style::FAINT.gamma_multiply(0.35 + 0.5 * number as f32 / count);
            plot.line(Line::new(format!("tick {}", earlier.tick), line(&earlier.ground)).color(faint).width(1.0));
        }
        plot.line(Line::new("initial", line(&section.start)).color(style::WARNING).style(LineStyle::dashed_loose()));
        let own: PlotPoints<'_> = along.iter().zip(&ground).map(|(along, height)| [*along, *height]).collect();
        plot.line(Line::new("now", own).color(style::ACCENT).width(2.0));
        let sketch = |heights: &[f32]| -> PlotPoints<'static> {
            let step = width / (heights.len().max(2) - 1) as f64;
            heights
                .iter()
                .enumerate()
                .map(|(place, height)| [step * place as f64, times * f64::from(*height)])
                .collect()
        };
        if let Some(heights) = drawn.as_ref().or(predicted.as_ref()) {
            plot.line(Line::new("your prediction", sketch(heights)).color(style::ERROR).width(2.5));
        }
        let dragged = plot.response().dragged();
        plot.pointer_coordinate().filter(|_| dragged)
    });
    legend_ui(ui, state, drawn.is_some() || predicted.is_some());
    if let (Some(key), Some(heights)) = (key, &mut drawn) {
        let before = id.with("before");
        if let Some(point) = touched.inner {
            let last: Option<PlotPoint> = ui.data_mut(|data| data.get_temp(before));
            let point = PlotPoint::new(point.x, point.y.clamp(room.0, room.1));
            pull(heights, last.unwrap_or(point), point, (width, times));
            ui.data_mut(|data| data.insert_temp(id, heights.clone()));
            ui.data_mut(|data| data.insert_temp(before, point));
        } else {
            ui.data_mut(|data| data.remove::<PlotPoint>(before));
        }
        if is_saved {
            asked.push(SaveDrawing(key, heights.clone()).into());
            ui.data_mut(|data| data.remove::<Vec<f32>>(id));
            ui.data_mut(|data| data.remove_by_type::<EnteredPoints>());
        }
    }
    let times = exaggeration(touched.transform.dpos_dvalue(), of_far / times);
    ui.label(RichText::new(format!("Vertical exaggeration: {times}")).weak().small());
    asked
}

/// Point being entered, and the previous one.
type EnteredPoints = (PlotPoint, Option<PlotPoint>);

/// Draws fields that enter a profile point by point, without a mouse. Returns `true` if the profile has changed. `room` is the range of
/// heights.
fn points_ui(
    ui: &mut Ui,
    id: egui::Id,
    heights: &mut [f32],
    ([far, unit], size, room): ([&str; 2], (f64, f64), (f64, f64)),
) -> bool {
    let (width, times) = size;
    let place = |along: f64| (along / width * (DRAWN_POINTS - 1) as f64).round() as usize;
    let drawn = |heights: &[f32], along: f64| times * f64::from(heights[place(along).min(heights.len() - 1)]);
    let start: EnteredPoints = (PlotPoint::new(0.0, drawn(heights, 0.0)), None);
    let (mut point, mut last) = ui.data_mut(|data| data.get_temp(id)).unwrap_or(start);
    let mut changed = false;
    ui.horizontal_wrapped(|ui| {
        let name = ui.label("at");
        let help = "Distance along the line from A.";
        let field = egui::DragValue::new(&mut point.x)
            .range(0.0..=width)
            .suffix(format!(" {far}"))
            .max_decimals(2)
            .speed(width / 100.0);
        if ui.add(field).labelled_by(name.id).on_hover_text(help).changed() {
            point.y = drawn(heights, point.x);
        }
        let name = ui.label("height");
        let field =
            egui::DragValue::new(&mut point.y).range(room.0..=room.1).suffix(format!(" {unit}")).max_decimals(1);
        ui.add(field).labelled_by(name.id);
        let help = "Set the first point of a line.";
        if ui.button("Start here").on_hover_text(help).clicked() {
            pull(heights, point, point, size);
            (last, changed) = (Some(point), true);
        }
        let help = "Draw a straight line from the last point to this one.";
        let line = egui::Button::new("Line to here");
        if ui.add_enabled(last.is_some(), line).on_hover_text(help).clicked() {
            pull(heights, last.unwrap_or(point), point, size);
            (last, changed) = (Some(point), true);
        }
    });
    ui.data_mut(|data| data.insert_temp::<EnteredPoints>(id, (point, last)));
    changed
}

/// Returns `true` if water carries sediment anywhere along the section.
fn has_suspended_sediment(section: &Section) -> bool {
    section.now.iter().any(|layers| layers.suspended > 0.0)
}

/// Draws the legend below the chart, which has no free space for it.
fn legend_ui(ui: &mut Ui, state: &SectionParams<'_>, predicted: bool) {
    let section = &state.section;
    let mut names = vec![("now".to_owned(), style::ACCENT), ("initial, dashed".to_owned(), style::WARNING)];
    if !section.earlier.is_empty() {
        let ticks: Vec<String> = section.earlier.iter().map(|profile| profile.tick.to_string()).collect();
        let title = if ticks.len() == 1 { "tick" } else { "ticks" };
        names.push((format!("{title} {}", ticks.join(", ")), style::FAINT));
    }
    if predicted {
        names.push(("your prediction".to_owned(), style::ERROR));
    }
    names.push(("rock".to_owned(), style::ROCK));
    names.push(("sand".to_owned(), style::SAND));
    if section.now.iter().any(|layers| layers.water > 0.0) {
        names.push(("water".to_owned(), style::SPRING));
    }
    if has_suspended_sediment(section) {
        names.push(("suspended sediment, as layer thickness".to_owned(), style::SEDIMENT));
    }
    ui.horizontal_wrapped(|ui| {
        for (name, color) in names {
            // Colour patch and name, always on one line.
            let mut words = egui::text::LayoutJob::default();
            let patch = RichText::new(icon::SQUARE).color(color).background_color(color).small();
            for part in [patch, RichText::new(format!(" {name}")).small()] {
                part.append_to(&mut words, ui.style(), egui::FontSelection::Default, egui::Align::Center);
            }
            ui.add(egui::Label::new(words).extend());
        }
    });
}

/// Formats the vertical exaggeration of the chart.
fn exaggeration([across, up]: [f64; 2], far: f64) -> String {
    let ratio = (up / (across * far)).abs();
    if ratio >= 10.0 { format!("{ratio:.0}×") } else { format!("{ratio:.1}×") }
}

/// Returns the open lesson, if the section line is its own.
fn attempt<'a>(state: &'a SectionParams<'_>) -> Option<&'a Attempt> {
    let attempt = &state.lesson.as_ref().filter(|lesson| lesson.is_of(&state.simulations))?.attempt;
    (state.section.ends == attempt.lesson.head.section).then_some(attempt)
}

/// Returns the identifier of the drawing that the current step requests. It can be redrawn until the actual profile is revealed.
fn drawing_key(state: &SectionParams<'_>) -> Option<String> {
    let attempt = attempt(state)?;
    match &attempt.current_step().task {
        Some(Task::Draw { key }) if !matches!(attempt.answers.get(key), Some(Answer::Profile { .. })) => {
            Some(key.clone())
        }
        _ => None,
    }
}

/// Returns the profile that the student drew last.
fn predicted(state: &SectionParams<'_>) -> Option<Vec<f32>> {
    let attempt = attempt(state)?;
    let steps = &attempt.lesson.steps[..=attempt.step];
    // A profile that was compared is no longer current.
    let compared = |step: &&LessonStep| matches!(&step.task, Some(Task::Reveal { guess }) if matches!(attempt.task(guess), Some(Task::Draw { .. })));
    let over = steps[..attempt.step].iter().rposition(|step| compared(&step)).map_or(0, |step| step + 1);
    let before = steps[over..].iter().rev().filter_map(|step| step.task.as_ref());
    let mut drawn = before.filter_map(|task| match (task, attempt.answers.get(task.key()?)) {
        (Task::Draw { .. }, Some(Answer::Line(drawn) | Answer::Profile { drawn, .. })) => Some(drawn.clone()),
        _ => None,
    });
    drawn.next()
}

/// Sets the heights between two points to the line between them.
fn pull(heights: &mut [f32], from: PlotPoint, to: PlotPoint, (width, times): (f64, f64)) {
    let last = heights.len() - 1;
    let place = |point: PlotPoint| (point.x / width * last as f64).round().clamp(0.0, last as f64) as usize;
    let (first, end) = (place(from), place(to));
    for (number, height) in heights.iter_mut().enumerate().take(first.max(end) + 1).skip(first.min(end)) {
        let share = if first == end { 1.0 } else { (number as f64 - first as f64) / (end as f64 - first as f64) };
        *height = ((from.y + share * (to.y - from.y)) / times) as f32;
    }
}

/// Draws the line over the view, and handles the drag that draws it.
fn line_ui(
    InMut(root): InMut<Ui>,
    (section, pointed): (Res<Section>, Res<PointedPosition>),
    trace: Single<&ViewPlaces, With<SectionTrace>>,
    mut placement: ResMut<Placement>,
    mut drawing: Local<Option<Drawing>>,
) -> Vec<AppCommand> {
    line_over(root, &trace);
    let asked = drawn_line(root, &section, &pointed, &mut placement, &mut drawing);
    asked.into_iter().collect()
}

/// Draws the line over the view.
fn line_over(root: &Ui, trace: &ViewPlaces) {
    let view = root.max_rect();
    let painter = root.painter().with_clip_rect(view);
    let places: Vec<egui::Pos2> =
        trace.0.iter().flatten().map(|share| view.min + egui::vec2(share.x, share.y) * view.size()).collect();
    painter.line(places.clone(), egui::Stroke::new(4.0, style::SHADE));
    painter.line(places.clone(), egui::Stroke::new(2.0, style::WARNING));
    for (place, name) in places.first().zip(Some("A")).into_iter().chain(places.last().zip(Some("B"))) {
        style::shaded_text(&painter, *place, egui::Align2::CENTER_BOTTOM, name, 12.0, style::SHADE);
    }
}

/// Handles a drag or two clicks that draw the line. Returns the command that changes it.
fn drawn_line(
    root: &Ui,
    section: &Section,
    pointed: &PointedPosition,
    placement: &mut Placement,
    drawing: &mut Option<Drawing>,
) -> Option<AppCommand> {
    let view = root.max_rect();
    if placement.kind != Some(PlacementKind::Section) {
        *drawing = None;
        return None;
    }
    let fresh = Drawing { begun: placement.begun, before: section.ends, ..Drawing::default() };
    let now = drawing.take_if(|drawing| drawing.begun == placement.begun).unwrap_or(fresh);
    let now = drawing.insert(now);
    hint_ui(root, view, "Drag over the terrain, or click both ends. Esc cancels.");
    let (pressed, down, cancelled) = root.input(|input| {
        let pointer = &input.pointer;
        let over = pointer.interact_pos().is_some_and(|place| view.contains(place));
        (pointer.primary_pressed() && over, pointer.primary_down(), input.key_pressed(Key::Escape))
    });
    if cancelled {
        let before = now.before;
        placement.begin(None);
        return (section.ends != before).then(|| SectionCommand::Draw(before).into());
    }
    let Some(pointed) = pointed.0 else {
        // A drag released outside the terrain ends at its last place on it.
        if !down && !now.clicked && now.from.take().is_some() && section.ends != now.before {
            placement.end(root.ctx());
        }
        return None;
    };
    match now.from {
        // The second of two clicks.
        Some(from) if now.clicked && access::is_viewport_clicked(root, view) => {
            placement.end(root.ctx());
            return line(section, from, pointed);
        }
        None if pressed => now.from = Some(pointed),
        // The keyboard presses and releases at the same time.
        None if access::is_viewport_clicked(root, view) => (now.from, now.clicked) = (Some(pointed), true),
        _ => {}
    }
    let from = now.from?;
    if !down && !now.clicked {
        // A click sets one end, a drag both.
        if root.input(|input| input.pointer.primary_clicked()) {
            now.clicked = true;
            return None;
        }
        placement.end(root.ctx());
    }
    line(section, from, pointed)
}

/// Returns the command for a new line between two distinct places.
fn line(section: &Section, from: [f32; 2], to: [f32; 2]) -> Option<AppCommand> {
    let ends = Some([from, to]);
    (from != to && section.ends != ends).then(|| SectionCommand::Draw(ends).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drag_pulls_only_the_heights_it_passes() {
        let mut heights = vec![0.0; 11];
        pull(&mut heights, PlotPoint::new(2.0, 10.0), PlotPoint::new(6.0, 30.0), (10.0, 1.0));
        assert_eq!(heights, [0.0, 0.0, 10.0, 15.0, 20.0, 25.0, 30.0, 0.0, 0.0, 0.0, 0.0]);
        pull(&mut heights, PlotPoint::new(99.0, 7.0), PlotPoint::new(99.0, 8.0), (10.0, 2.0));
        assert_eq!(heights[10], 4.0);
    }

    /// Returns the section after these events of the left button at places of the terrain, and `true` if it is still being drawn.
    fn drawn(steps: &[(Option<bool>, Option<[f32; 2]>)]) -> (Option<[[f32; 2]; 2]>, bool) {
        let context = egui::Context::default();
        let (mut section, mut drawing, mut placement) = (Section::default(), None, Placement::default());
        placement.begin(Some(PlacementKind::Section));
        for (number, (button, place)) in steps.iter().enumerate() {
            let pos = egui::pos2(10.0 + 20.0 * number as f32, 10.0);
            let button = button.map(|pressed| egui::Event::PointerButton {
                pos,
                button: egui::PointerButton::Primary,
                pressed,
                modifiers: egui::Modifiers::NONE,
            });
            let events = [egui::Event::PointerMoved(pos)].into_iter().chain(button).collect();
            let input = egui::RawInput { time: Some(number as f64), events, ..egui::RawInput::default() };
            let _ = context.run_ui(input, |root| {
                let asked = drawn_line(root, &section, &PointedPosition(*place), &mut placement, &mut drawing);
                if let Some(SectionCommand::Draw(ends)) = asked.as_ref().and_then(AppCommand::get) {
                    section.ends = *ends;
                }
            });
        }
        (section.ends, placement.kind.is_some())
    }

    #[test]
    fn drag_draws_section_line_up_to_terrain_border() {
        let ([a, b, c], press, release) = ([[0.1, 0.1], [0.5, 0.2], [0.9, 0.3]], Some(true), Some(false));
        assert_eq!(drawn(&[(press, Some(a)), (None, Some(b)), (release, Some(c))]), (Some([a, c]), false));
        assert_eq!(drawn(&[(press, Some(a)), (None, Some(b)), (release, None)]), (Some([a, b]), false));
        // It was on the terrain at one place only, or never.
        assert_eq!(drawn(&[(press, Some(a)), (release, None), (None, Some(b))]), (None, true));
        assert_eq!(drawn(&[(press, None), (None, Some(b)), (release, Some(c))]), (None, true));
    }

    #[test]
    fn vertical_exaggeration_is_formatted() {
        assert_eq!(exaggeration([1.0, -4.0], 1.0), "4.0×");
        assert_eq!(exaggeration([100.0, -1.2], 1e-3), "12×");
    }
}
