//! Panel of the Learn workspace: the open lesson, or the quiz, the list of lessons and the stages of a tick.

use super::{
    LessonCommand,
    step::{copy_request, lesson_ui, report_request},
};
use crate::shell::style::grouped;
use bevy::{ecs::system::SystemParam, prelude::*};
use bevy_egui::egui::{self, RichText, Ui};
use egui_phosphor::regular as icon;

use crate::shell::{
    access,
    commands::{AddCommands, MenuSection},
    number::{NumberField, Rounded, units},
    panel::{AddPanel, SidebarPanel},
    style,
};
use crate::world::{
    AppCommand, CurrentLesson, FileCommand, LessonAnswers, Overlay, OverlayCommand, Quiz, QuizCommand, QuizQuestion,
    Restarts, SimulationCommand, Simulations, Transport, Workspace,
    amount::{display_unit, volume},
};
use thalweg_scene::{io::lesson, model::origin::Options};
use thalweg_sim::{core::quantity::Quantity, params, simulation::stage_changes::StageChanges};

/// State read by the panel.
#[derive(SystemParam)]
pub struct LessonPanelParams<'w> {
    pub simulations: Res<'w, Simulations>,
    pub restarts: Res<'w, Restarts>,
    pub lesson: Option<Res<'w, CurrentLesson>>,
    pub answers: Res<'w, LessonAnswers>,
    pub transport: Res<'w, Transport>,
    pub quiz: Res<'w, Quiz>,
    pub overlay: Res<'w, Overlay>,
}

/// Range of the slow-motion rate, in stages per second.
const STAGES: std::ops::RangeInclusive<f32> = 1.0..=20.0;

const PANEL: SidebarPanel =
    SidebarPanel { key: "lesson", title: "", workspaces: &[Workspace::Learn], unfolded: &[], in_lessons: true };

pub(super) fn plugin(app: &mut App) {
    app.add_left_panel(PANEL, panel_ui).add_commands("Learn", 10, commands);
}

fn commands(table: &mut MenuSection) {
    for (name, lesson) in lesson::built_in() {
        let open = FileCommand::Open(lesson::path_of(name), Options::default());
        table.add(icon::GRADUATION_CAP, &lesson.head.title, &lesson.head.about, &[], open);
    }
    let question =
        "Start two simulations side by side with the same seed. They differ in one parameter: find out which one.";
    table.add(icon::QUESTION, "-Which parameter changed?", question, &[], QuizCommand::Ask);
    let again = "Delete your answers to the open lesson and start it again from the beginning.";
    table.add(icon::ARROW_COUNTER_CLOCKWISE, "Restart lesson", again, &[], LessonCommand::Restart);
    let report = "Save all your answers, an image of the terrain and the charts as a report to hand in.";
    table
        .add(icon::FILE_TEXT, "Save report…", report, &[], report_request())
        .set_aliases("hand in homework answers html pdf");
    let copy = "Save a copy of the lesson file for editing. The teacher's page is at its end.";
    table.add(icon::COPY, "Save a copy of the lesson…", copy, &[], copy_request());
    table.add(icon::X, "Close lesson", "Close the lesson. Your answers are saved.", &[], LessonCommand::Close);
}

fn panel_ui(InMut(ui): InMut<Ui>, state: LessonPanelParams) -> Vec<AppCommand> {
    let state = &state;
    let simulations = &state.simulations;
    let mut asked = Vec::new();
    if state.lesson.is_none() || question(state).is_some() {
        asked.extend(quiz_ui(ui, state));
    }
    asked.extend(match &state.lesson {
        Some(lesson) => lesson_ui(ui, state, lesson),
        None => lessons_ui(ui, state),
    });
    // In a lesson, only when stepping through stages.
    let by_stages = simulations.next_stage().is_some()
        || state.transport.slow.is_some()
        || simulations.selected().simulation.stage_changes().is_some();
    if state.lesson.is_none() || by_stages {
        asked.extend(tick_ui(ui, state));
    }
    ui.add_space(4.0);
    asked
}

/// Draws the stages of a tick, and the changes of the last stage.
fn tick_ui(ui: &mut Ui, state: &LessonPanelParams<'_>) -> Option<AppCommand> {
    let mut asked = None;
    let next = state.simulations.next_stage();
    let slots = &state.simulations.selected().simulation.slots;
    egui::Frame::group(ui.style()).show(ui, |ui| {
        ui.label(RichText::new("Stages of a tick").strong());
        for slot in slots.iter().filter(|slot| slot.enabled) {
            let info = slot.process.info();
            ui.label(info.about);
            for (number, stage) in info.stages.iter().enumerate() {
                let text = RichText::new(format!("{}. {}: {}", number + 1, params::title(stage.name), stage.about));
                let comes = next == Some((info.title, stage.name));
                ui.label(if comes { text.strong().color(style::ACCENT) } else { text });
            }
            ui.label(RichText::new(info.reference.source).weak().small());
        }
        if let Some(staged) = state.simulations.selected().simulation.stage_changes() {
            staged_ui(ui, staged);
        }
        asked = slow_ui(ui, state);
        let keys = "Press Right Arrow to run one tick, or Comma to run one stage. Hold B to see the initial state.";
        ui.label(RichText::new(keys).weak());
    });
    asked
}

/// Draws the slow-motion controls.
fn slow_ui(ui: &mut Ui, state: &LessonPanelParams<'_>) -> Option<AppCommand> {
    let (slow, mut asked) = (state.transport.slow, None);
    ui.horizontal_wrapped(|ui| {
        let mut on = slow.is_some();
        let help = "Play each tick stage by stage, and show what each stage changes.";
        if ui.checkbox(&mut on, "Slow motion").on_hover_text(help).changed() {
            asked = Some(SimulationCommand::SlowMotion(on.then_some(*STAGES.start())).into());
        }
        let Some(mut rate) = slow else { return };
        let number = NumberField::new("Stages per second", "per second", STAGES);
        let slider = number.slider_ui(ui, &mut rate, |slider| slider.suffix(" per second").max_decimals(0));
        access::name(&slider, "Stages per second");
        if slider.changed() {
            asked = Some(SimulationCommand::SlowMotion(Some(rate)).into());
        }
    });
    asked
}

/// Draws the changes of the last stage.
fn staged_ui(ui: &mut Ui, staged: &StageChanges) {
    let (process, stage) = staged.stage;
    ui.label(RichText::new(format!("Changes by {process}, {}", params::title(stage))).strong());
    if staged.layers.is_empty() {
        ui.label("Nothing: this stage only prepares the next one.");
    }
    let units = units(ui);
    egui::Grid::new("staged").num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        for change in &staged.layers {
            let (unit, times) = display_unit(units, change.unit);
            let [least, most] = [change.range.0, change.range.1].map(|end| times * f64::from(end) + 0.0);
            let range = format!("{} to {} {unit}", Rounded(least), Rounded(most));
            let help = format!("Largest decrease and increase, in {} changed cells.", grouped(change.cells as u64));
            style::value_row(ui, &params::title(change.layer), range, &help);
        }
        for (title, rows) in ["Solids", "Water"].iter().zip(&staged.booked) {
            for (name, change) in rows {
                style::value_row(
                    ui,
                    &format!("{title}: {name}"),
                    volume(units, *change),
                    "Ledger entry of this stage.",
                );
            }
        }
    });
}

/// Returns the question of the quiz about the current project, if any.
fn question<'a>(state: &'a LessonPanelParams<'_>) -> Option<&'a QuizQuestion> {
    state.quiz.now.as_ref().filter(|question| question.is_of(state.simulations.project_id()))
}

/// Draws the quiz "Which parameter changed?".
fn quiz_ui(ui: &mut Ui, state: &LessonPanelParams<'_>) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    let quiz = &state.quiz;
    let help =
        "Start two simulations side by side with the same seed. They differ in one parameter: find out which one.";
    let Some(question) = question(state) else {
        if ui.button(format!("{} Which parameter changed?", icon::QUESTION)).on_hover_text(help).clicked() {
            asked.push(QuizCommand::Ask.into());
        }
        return asked;
    };
    egui::Frame::group(ui.style()).show(ui, |ui| {
        ui.label(RichText::new("Which parameter changed?").strong());
        ui.label(
            "Both simulations start from the same terrain. In simulation B, one parameter has a much larger or much smaller value. Watch both, \
            or look at the difference between them.",
        );
        let answer = question.answer();
        for (number, (path, title)) in question.options.iter().enumerate() {
            let group = params::title(path.split('.').next().unwrap_or_default());
            let text = format!("{group}: {title}");
            match answer {
                None => {
                    if ui.button(text).clicked() {
                        asked.push(QuizCommand::Guess(number).into());
                    }
                }
                Some((guess, right)) => {
                    let mark = if number == right {
                        icon::CHECK
                    } else if number == guess {
                        icon::X
                    } else {
                        " "
                    };
                    let text = RichText::new(format!("{mark} {text}"));
                    ui.label(if number == right { text.strong().color(style::ACCENT) } else { text });
                }
            }
        }
        if let Some([first, second]) = question.values() {
            ui.label(format!("Its value is {first} in simulation A and {second} in simulation B."));
            let [all, right] = quiz.score;
            ui.label(RichText::new(format!("{right} of {all} answers were correct.")).weak());
        }
        ui.horizontal(|ui| {
            if answer.is_some() && ui.button("Next question").clicked() {
                asked.push(QuizCommand::Ask.into());
            }
            if state.overlay.shown != Some(Quantity::Difference) && ui.button("Show difference").clicked() {
                asked.push(OverlayCommand::Show(Some(Quantity::Difference)).into());
            }
            if ui.button("End quiz").on_hover_text("Close simulation B and continue with simulation A.").clicked() {
                asked.extend([SimulationCommand::Select(0).into(), SimulationCommand::SideBySide(Vec::new()).into()]);
            }
        });
    });
    asked
}

/// Draws the list of built-in lessons.
fn lessons_ui(ui: &mut Ui, state: &LessonPanelParams<'_>) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    egui::CollapsingHeader::new(RichText::new("Lessons").heading()).default_open(true).show(ui, |ui| {
        for (name, lesson) in lesson::built_in() {
            let head = &lesson.head;
            let done = state.answers.progress.is_complete(&lesson.path);
            let mark = if done { icon::CHECK_CIRCLE } else { icon::CIRCLE };
            let button = egui::Button::new(format!("{mark}  {}", head.title)).frame_when_inactive(false).wrap();
            let help = format!("{}\n{} · {} minutes", head.about, head.level, head.minutes);
            let button = ui.add(button).on_hover_text(help);
            access::name(&button, &format!("{}{}", head.title, if done { ", done" } else { "" }));
            if button.clicked() {
                let path = lesson::path_of(name);
                asked.push(FileCommand::Open(path, Options::default()).into());
            }
        }
    });
    asked
}
