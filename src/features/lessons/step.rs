//! Steps of the open lesson: text, task, and comparison of the answer.

use super::{LessonCommand, image::image_ui, panel::LessonPanelParams};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use bevy_egui::egui::{self, RichText, Ui};
use egui_commonmark::{CommonMarkCache, CommonMarkViewer};
use egui_phosphor::regular as icon;

use crate::shell::{
    access,
    file_request::FileRequest,
    formula,
    group::{chosen_of_group_ui, set},
    style,
};
use crate::world::{AppCommand, CurrentLesson, SimulationCommand};
use thalweg_scene::{
    io::lesson::{self, report},
    model::{
        chart::format_with_unit,
        lesson::{Answer, Attempt, Task},
    },
};
use thalweg_sim::params::{capital, collect_parameters};

/// Draws the current step. Returns the requested commands.
pub(super) fn lesson_ui(ui: &mut Ui, state: &LessonPanelParams<'_>, current: &CurrentLesson) -> Vec<AppCommand> {
    let attempt = &current.attempt;
    let (lesson, number, step) = (&attempt.lesson, attempt.step, attempt.current_step());
    let place = (&*lesson.path, number);
    let mut asked = Vec::new();
    egui::Frame::group(ui.style()).show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.horizontal(|ui| {
            ui.label(RichText::new(format!("Step {} of {}", number + 1, lesson.steps.len())).weak().small());
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                let close = ui.small_button(icon::X).on_hover_text("Close the lesson. Your answers are saved.");
                access::name(&close, "Close lesson");
                if close.clicked() {
                    asked.push(LessonCommand::Close.into());
                }
            });
        });
        // The title of the lesson is above the panel.
        if number > 0 {
            ui.add(egui::Label::new(RichText::new(&step.title).heading()).wrap());
        }
        ui.add_space(2.0);
        text_ui(ui, place, &step.text);
        if !current.is_of(&state.simulations) {
            asked.extend(wrong_terrain_ui(ui));
        } else if let Some(task) = &step.task {
            ui.add_space(4.0);
            asked.extend(task_ui(ui, state, current, task));
        }
        for (count, hint) in step.hints.iter().enumerate() {
            let title = if step.hints.len() == 1 { "Hint".to_owned() } else { format!("Hint {}", count + 1) };
            let id = (&lesson.head.title, number, count);
            egui::CollapsingHeader::new(title).id_salt(id).show(ui, |ui| text_ui(ui, place, &capital(hint)));
        }
        let done = attempt.is_done(number);
        if done && !step.after.is_empty() {
            ui.add_space(4.0);
            text_ui(ui, place, &step.after);
        }
        ui.add_space(6.0);
        ui.horizontal(|ui| {
            if ui.add_enabled(number > 0, egui::Button::new(format!("{} Back", icon::ARROW_LEFT))).clicked() {
                asked.push(LessonCommand::Back.into());
            }
            if attempt.has_next() {
                let next = egui::Button::new(format!("Next {}", icon::ARROW_RIGHT));
                let waits = "Complete this step first. The next one reveals the result.";
                if ui.add_enabled(done, next).on_disabled_hover_text(waits).clicked() {
                    asked.push(LessonCommand::Next.into());
                }
            }
        });
        if !attempt.has_next() && done {
            asked.extend(end_ui(ui, state, attempt));
        }
    });
    asked.extend(sliders_ui(ui, state, attempt));
    ui.add_space(4.0);
    asked
}

/// Returns the request for the file of the report.
pub(super) fn report_request() -> FileRequest {
    let kinds = report::KINDS.map(|(kind, ending)| (kind.to_owned(), ending));
    FileRequest::save("Save the report", "{title}", kinds, LessonCommand::SaveReport)
}

/// Returns the request for the file of a lesson copy.
pub(super) fn copy_request() -> FileRequest {
    let kinds = [("Lesson".to_owned(), lesson::ENDING)];
    FileRequest::save("Save a copy of the lesson", "{title}", kinds, LessonCommand::SaveCopy)
}

/// Draws a warning that the terrain is not that of the lesson, e.g. after undo.
fn wrong_terrain_ui(ui: &mut Ui) -> Option<AppCommand> {
    let text = "This terrain does not belong to the lesson. Reopen the lesson to continue.";
    ui.add(egui::Label::new(RichText::new(text).color(style::WARNING)).wrap());
    ui.button("Reopen lesson").clicked().then(|| LessonCommand::Reopen.into())
}

/// Markdown cache, kept between frames.
type Cache = Arc<Mutex<CommonMarkCache>>;

/// Draws Markdown of a step of the lesson at a path, with its images between the paragraphs.
fn text_ui(ui: &mut Ui, step: (&Path, usize), text: &str) {
    let mut from = 0;
    // Most texts have no image.
    let links = if text.contains("![") { lesson::image_links(text) } else { Vec::new() };
    for link in &links {
        markdown_ui(ui, &text[from..link.range.start]);
        image_ui(ui, step, link);
        from = link.range.end;
    }
    markdown_ui(ui, &text[from..]);
}

fn markdown_ui(ui: &mut Ui, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    let cache: Cache = ui.data_mut(|data| data.get_temp_mut_or_default::<Cache>(egui::Id::new("markdown")).clone());
    let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
    // A paragraph of code alone is an equation.
    let alone = |line: &str| {
        let code = line.trim().strip_prefix('`')?.strip_suffix('`')?;
        (!code.is_empty() && !code.contains('`')).then(|| format!("$${code}$$"))
    };
    let paragraph = |text: &str| alone(text).unwrap_or_else(|| text.to_owned());
    let text = text.split("\n\n").map(paragraph).collect::<Vec<_>>().join("\n\n");
    let equation = |ui: &mut Ui, text: &str, _: bool| {
        formula::show(ui, text, style::EQUATION, ui.visuals().strong_text_color());
    };
    CommonMarkViewer::new().render_math_fn(Some(&equation)).show(ui, &mut cache, &text);
}

/// Draws the sliders that the student may use.
fn sliders_ui(ui: &mut Ui, state: &LessonPanelParams<'_>, attempt: &Attempt) -> Vec<AppCommand> {
    let free = &attempt.lesson.head.free;
    if free.is_empty() {
        return Vec::new();
    }
    ui.add_space(4.0);
    ui.label(RichText::new("Sliders of this lesson").strong());
    let (session, defaults) = (state.simulations.selected(), state.simulations.selected().defaults());
    let terrain = state.restarts.pending_terrain(session);
    let named = |group: &str| free.iter().any(|path| path.split_once('.').is_some_and(|(own, _)| own == group));
    let groups =
        session.groups_with(&terrain).into_iter().zip(defaults.groups()).filter(|((group, _), _)| named(group));
    let wanted = |path: &str| free.iter().any(|free| free == path);
    groups.flat_map(|(now, fresh)| set(now.0, chosen_of_group_ui(ui, now, fresh, wanted))).collect()
}

/// Draws the task of a step.
fn task_ui(ui: &mut Ui, state: &LessonPanelParams<'_>, current: &CurrentLesson, task: &Task) -> Vec<AppCommand> {
    let attempt = &current.attempt;
    let answer = task.key().and_then(|key| attempt.answers.get(key));
    let mut asked = Vec::new();
    match task {
        Task::Choose { key, options, .. } => {
            for (number, option) in options.iter().enumerate() {
                let chosen = matches!(answer, Some(Answer::Chosen(chosen)) if *chosen == number);
                let open = attempt.is_open(key);
                let choice = ui.add_enabled(open || chosen, egui::RadioButton::new(chosen, option));
                if choice.clicked() && !chosen && open {
                    asked.push(LessonCommand::Answer(key.clone(), Answer::Chosen(number)).into());
                }
            }
        }
        Task::Estimate { key, of, unit } => {
            ui.label(format!("Your prediction, {of}:"));
            let known = match answer {
                Some(Answer::Number(number)) => Some(*number),
                _ => None,
            };
            if attempt.is_open(key)
                && let Some(number) = number_ui(ui, (&attempt.lesson.path, key, of), unit, "Save")
            {
                asked.push(LessonCommand::Answer(key.clone(), Answer::Number(number)).into());
            }
            if let Some(number) = known {
                ui.label(format!("Your prediction: {}.", format_with_unit(number, unit)));
            }
        }
        Task::Draw { .. } => {
            ui.label(RichText::new("Draw the expected profile in the Section panel.").strong());
        }
        Task::Run { ticks, restart, set, enable, .. } => {
            asked.extend(run_ui(ui, state, current, (*ticks, *restart, set, enable)));
        }
        Task::Measure { key, unit, guess, .. } => {
            // A key pressed outside the field may run a tick.
            if let Some(until) = attempt.last_tick().filter(|until| *until < state.simulations.ticks()) {
                let text = format!(
                    "The simulation is at tick {}, but the last step ended at tick {until}. Measurements use the current \
                     terrain. Go back with Edit ▸ Undo or with the timeline.",
                    state.simulations.ticks()
                );
                ui.label(RichText::new(text).color(style::WARNING));
            }
            if let Some(read) = number_ui(ui, (&attempt.lesson.path, key, "Your reading"), unit, "Check") {
                asked.push(LessonCommand::Read(read).into());
            }
            if let Some(Answer::Measured { read, found }) = answer {
                measured_ui(ui, attempt, task, [*read, *found], guess.as_deref(), unit);
            }
        }
        Task::Reveal { guess } => {
            if attempt.is_done(attempt.step) {
                chosen_ui(ui, attempt, guess);
            } else if ui.button("Reveal").clicked() {
                asked.push(LessonCommand::Reveal.into());
            }
        }
    }
    asked
}

const NUMBER_HELP: &str = "Enter a number, such as 12500, 12.5, 98 % or 3/4.";

/// Draws a number field with a button. Returns the number when it is confirmed.
fn number_ui(ui: &mut Ui, (lesson, key, name): (&Path, &str, &str), unit: &str, button: &str) -> Option<f64> {
    let id = ui.make_persistent_id((lesson, key));
    let mut text: String = ui.data_mut(|data| data.get_temp(id).unwrap_or_default());
    let given = ui.horizontal(|ui| {
        let field = ui.add(egui::TextEdit::singleline(&mut text).id(id.with("field")).desired_width(style::NAME_WIDTH));
        access::name(&field, name);
        // The field has the focus when it first appears.
        if ui.data_mut(|data| data.get_temp::<bool>(id).is_none()) {
            ui.data_mut(|data| data.insert_temp(id, true));
            field.request_focus();
        }
        if !unit.is_empty() {
            ui.label(unit);
        }
        let entered = field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
        let number = parse_number(&text, unit);
        let button = ui.add_enabled(number.is_some(), egui::Button::new(button)).on_disabled_hover_text(NUMBER_HELP);
        let clicked = button.clicked();
        number.filter(|_| clicked || entered)
    });
    if !text.trim().is_empty() && parse_number(&text, unit).is_none() {
        ui.label(RichText::new(NUMBER_HELP).color(style::WARNING));
    }
    ui.data_mut(|data| data.insert_temp(id, text));
    given.inner
}

/// Parses a number as typed by a user: with a decimal point or comma, groups of digits, a fraction bar, a percent sign, or the `unit` of
/// the answer. Returns `None` for a single comma that may separate groups or decimals, as in 12,500.
fn parse_number(text: &str, unit: &str) -> Option<f64> {
    let plain = text.trim().replace(['\u{202f}', '\u{a0}', ' ', '\'', '’'], "").replace('−', "-");
    let plain = plain.strip_suffix(&unit.replace(' ', "")).filter(|_| !unit.is_empty()).unwrap_or(&plain);
    if let Some((above, below)) = plain.split_once('/') {
        let ratio = parse_number(above, "")? / parse_number(below, "")?;
        return ratio.is_finite().then_some(ratio);
    }
    if let Some(percent) = plain.strip_suffix('%') {
        return parse_number(percent, "").map(|number| number / 100.0);
    }
    // The last of both separators is that of the decimals.
    let decimals = match (plain.rfind(','), plain.rfind('.')) {
        (Some(comma), Some(point)) => Some(if comma > point { ',' } else { '.' }),
        (Some(_), None) if plain.matches(',').count() > 1 => None,
        (Some(_), None) => Some(','),
        (None, Some(_)) if plain.matches('.').count() > 1 => None,
        (None, _) => Some('.'),
    };
    let (whole, rest) = decimals.and_then(|mark| plain.rsplit_once(mark)).map_or((plain, None), |(a, b)| (a, Some(b)));
    let unsigned = whole.trim_start_matches(['-', '+']);
    let groups: Vec<&str> = unsigned.split([',', '.']).collect();
    if groups.len() > 1 && !(groups[0].len() <= 3 && groups[1..].iter().all(|group| group.len() == 3)) {
        return None;
    }
    let is_ambiguous = decimals == Some(',') && groups.len() == 1 && unsigned != "0";
    if is_ambiguous && rest.is_some_and(|rest| rest.len() == 3 && rest.bytes().all(|byte| byte.is_ascii_digit())) {
        return None;
    }
    let whole = whole.replace([',', '.'], "");
    let number = rest.map_or(whole.clone(), |rest| format!("{whole}.{rest}"));
    number.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Draws the simulation of a step: its parameters and its progress.
fn run_ui(
    ui: &mut Ui,
    state: &LessonPanelParams<'_>,
    current: &CurrentLesson,
    (ticks, restart, set, enable): (u64, bool, &BTreeMap<String, String>, &Option<Vec<String>>),
) -> Option<AppCommand> {
    let groups = if set.is_empty() { Vec::new() } else { state.simulations.selected().groups() };
    let known: Vec<_> = groups.into_iter().flat_map(collect_parameters).collect();
    for (path, value) in set {
        let parameter = known.iter().find(|parameter| parameter.path == *path);
        let (name, unit) = parameter.map_or((path.clone(), ""), |known| (known.title(), known.knob.unit));
        ui.label(format!("Set \"{name}\" to {value} {unit}").trim_end());
    }
    if let Some(names) = enable {
        let slots = state.simulations.selected().simulation.slots.iter();
        let titles: Vec<&str> = slots
            .filter(|slot| names.iter().any(|name| name == slot.key()))
            .map(|slot| slot.process.info().title)
            .collect();
        ui.label(format!("Enable only: {}", if titles.is_empty() { "none".to_owned() } else { titles.join(", ") }));
    }
    if let Some(until) = current.runs_to() {
        return step_progress_ui(ui, state, until);
    }
    let done = current.attempt.is_done(current.attempt.step);
    if done {
        ui.label(RichText::new(format!("{} Done.", icon::CHECK)).color(style::ACCENT));
        if !restart {
            let again = "Restart all simulations";
            let help = "Reopen the lesson at its initial state. Your answers are kept.";
            return ui.small_button(again).on_hover_text(help).clicked().then(|| LessonCommand::AskToReopen.into());
        }
    }
    let begins = if restart { "Restart and run" } else { "Run" };
    let text = match (ticks, done) {
        (0, _) => "Prepare".to_owned(),
        (_, true) => "Run again".to_owned(),
        (1, false) => format!("{begins} 1 tick"),
        (ticks, false) => format!("{begins} {ticks} ticks"),
    };
    ui.button(format!("{} {text}", icon::PLAY)).clicked().then(|| LessonCommand::Run.into())
}

/// Draws the progress of a simulation, with a button to continue if it is paused.
fn step_progress_ui(ui: &mut Ui, state: &LessonPanelParams<'_>, until: u64) -> Option<AppCommand> {
    let text = format!("tick {} of {until}", state.simulations.ticks());
    if state.transport.playing {
        ui.horizontal(|ui| {
            ui.spinner();
            ui.label(format!("Running: {text}"));
        });
        return None;
    }
    ui.label(format!("Paused: {text}"));
    ui.button(format!("{} Continue", icon::PLAY)).clicked().then(|| SimulationCommand::TogglePlay.into())
}

/// Draws a reading next to the measured and the predicted value.
fn measured_ui(ui: &mut Ui, attempt: &Attempt, task: &Task, [read, found]: [f64; 2], guess: Option<&str>, unit: &str) {
    let wrong = if task.is_within_tolerance(-read, found) {
        "The number is correct, but its sign is wrong."
    } else if read < found {
        "Your reading is too low. Read it again."
    } else {
        "Your reading is too high. Read it again."
    };
    let correct = task.is_within_tolerance(read, found);
    mark_ui(ui, correct, "Your reading is correct.", wrong);
    if correct {
        values_ui(ui, attempt, [read, found], guess, unit);
    } else {
        // The answer waits until it is asked for.
        egui::CollapsingHeader::new("Show the measured value")
            .show(ui, |ui| values_ui(ui, attempt, [read, found], guess, unit));
    }
}

fn values_ui(ui: &mut Ui, attempt: &Attempt, [read, found]: [f64; 2], guess: Option<&str>, unit: &str) {
    egui::Grid::new("measured").num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        let mut row = |name: &str, value: f64| {
            ui.label(name);
            ui.label(RichText::new(format_with_unit(value, unit)).monospace());
            ui.end_row();
        };
        row("Your reading", read);
        row("Measured value", found);
        if let Some(Answer::Number(number)) = guess.and_then(|key| attempt.answers.get(key)) {
            row("Your prediction", *number);
        }
    });
    if let Some(key) = guess.filter(|key| matches!(attempt.answers.get(*key), Some(Answer::Chosen(_)))) {
        chosen_ui(ui, attempt, key);
    }
}

/// Draws the selected answer next to the correct one.
fn chosen_ui(ui: &mut Ui, attempt: &Attempt, key: &str) {
    if let Some(Task::Draw { .. }) = attempt.task(key) {
        ui.label("Your drawing is overlaid on the profile in the Section panel.");
    }
    if let (Some(Task::Choose { options, right, .. }), Some(Answer::Chosen(chosen))) =
        (attempt.task(key), attempt.answers.get(key))
    {
        let (yes, no) = ("Your prediction was correct.", "Your prediction was wrong.");
        mark_ui(ui, chosen == right, yes, no);
        if chosen != right {
            ui.label(format!("Your answer: {}", options[*chosen]));
        }
        ui.label(RichText::new(format!("Correct answer: {}", options[*right])).strong());
    }
}

/// Draws a verdict as an icon with text.
fn mark_ui(ui: &mut Ui, right: bool, yes: &str, no: &str) {
    let (sign, text, color) =
        if right { (icon::CHECK_CIRCLE, yes, style::ACCENT) } else { (icon::X_CIRCLE, no, style::WARNING) };
    ui.add(egui::Label::new(RichText::new(format!("{sign} {text}")).color(color)).wrap());
}

/// Draws the end of a lesson, with the report.
fn end_ui(ui: &mut Ui, state: &LessonPanelParams<'_>, attempt: &Attempt) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    ui.separator();
    let open = (0..attempt.lesson.steps.len()).filter(|step| !attempt.is_done(*step)).count();
    let text = match open {
        0 => "This is the end of the lesson.".to_owned(),
        1 => "This is the end of the lesson. One step is not complete yet.".to_owned(),
        open => format!("This is the end of the lesson. {open} steps are not complete yet."),
    };
    ui.label(RichText::new(text).strong());
    let id = ui.make_persistent_id("student");
    let known = &state.answers.progress.name;
    let mut name: String = ui.data_mut(|data| data.get_temp(id)).unwrap_or_else(|| known.clone());
    ui.horizontal(|ui| {
        let label = ui.label("Your name");
        let field = ui.text_edit_singleline(&mut name).labelled_by(label.id);
        if field.lost_focus() && name != *known {
            asked.push(LessonCommand::Name(name.clone()).into());
        }
    });
    ui.data_mut(|data| data.insert_temp(id, name));
    ui.horizontal_wrapped(|ui| {
        if ui.button(format!("{} Save report…", icon::FILE_TEXT)).clicked() {
            asked.push(report_request().into());
        }
        if ui.button("Restart").on_hover_text("Delete your answers and start again from the beginning.").clicked() {
            asked.push(LessonCommand::Restart.into());
        }
    });
    ui.add(egui::Label::new(RichText::new(&attempt.lesson.head.source).weak().small()).wrap());
    asked
}

#[cfg(test)]
mod tests {
    use super::parse_number;

    #[test]
    fn localized_numbers_parse_unless_ambiguous() {
        for (text, read) in [
            ("33,5", Some(33.5)),
            (" 12 500 ", Some(12_500.0)),
            ("0,125", Some(0.125)),
            ("-1.5e3", Some(-1500.0)),
            ("1,338.29", Some(1338.29)),
            ("1.338,29", Some(1338.29)),
            ("1 234,567,890", None),
            ("1,234,567", Some(1_234_567.0)),
            ("3/4", Some(0.75)),
            ("1308 / 1338", Some(1308.0 / 1338.0)),
            ("98 %", Some(0.98)),
            ("−5 m", Some(-5.0)),
            ("12,500", None),
            ("1,2.5", None),
            ("1/0", None),
            ("inf", None),
            ("", None),
        ] {
            assert_eq!(parse_number(text, "m"), read, "{text}");
        }
        assert_eq!(parse_number("98%", "%"), Some(98.0));
    }
}
