//! The card of the workspace Learn: the lesson that is open, or what happens in a tick and which lessons there are.

use bevy_egui::egui::{self, RichText, Ui};
use egui_phosphor::regular as icon;

use super::{Kept, PanelState, access, lesson::lesson_ui, number::units, panel::Panel, process::grouped, style};
use crate::{
    io::lesson,
    model::origin::Options,
    params,
    runtime::{Command, FileCommand, Workspace, amount::volume},
    sim::staged::Staged,
};

pub const PANEL: Panel = Panel { key: "lesson", title: "", workspaces: &[Workspace::Learn], unfolded: &[], draw };

fn draw(ui: &mut Ui, state: &PanelState<'_>, _: &mut Kept) -> Vec<Command> {
    let live = &state.live;
    let asked = match &state.course.attempt {
        Some(attempt) => lesson_ui(ui, state, attempt),
        None => lessons_ui(ui, state),
    };
    // In a lesson, when the student goes stage by stage.
    let by_stages = live.next_stage().is_some() || live.chosen().simulation.staged().is_some();
    if state.course.attempt.is_none() || by_stages {
        tick_ui(ui, state);
    }
    ui.add_space(4.0);
    asked
}

/// What happens in a tick, and what the last stage of it has changed.
fn tick_ui(ui: &mut Ui, state: &PanelState<'_>) {
    let next = state.live.next_stage();
    let slots = &state.live.chosen().simulation.slots;
    egui::Frame::group(ui.style()).show(ui, |ui| {
        ui.label(RichText::new("What happens in a tick").strong());
        for slot in slots.iter().filter(|slot| slot.enabled) {
            let info = slot.process.info();
            ui.label(info.about);
            for (number, stage) in info.stages.iter().enumerate() {
                let text = RichText::new(format!("{}. {}: {}", number + 1, params::title(stage.name), stage.about));
                let comes = next == Some((info.title, stage.name));
                ui.label(if comes { text.strong().color(style::ACCENT) } else { text });
            }
            ui.label(RichText::new(info.source).weak().small());
        }
        if let Some(staged) = state.live.chosen().simulation.staged() {
            staged_ui(ui, staged);
        }
        let keys = "Press the right arrow to run one tick, or the comma key to run one stage. Hold B to see the start.";
        ui.label(RichText::new(keys).weak());
    });
}

/// What the last stage has changed.
fn staged_ui(ui: &mut Ui, staged: &Staged) {
    let (process, stage) = staged.stage;
    ui.label(RichText::new(format!("{process}, {}: what it changed", params::title(stage))).strong());
    let text = match staged.layer {
        Some(layer) => format!("The {layer}, in {} cells.", grouped(staged.cells as u64)),
        None => "No layer: it only prepares what comes next.".to_owned(),
    };
    ui.label(text);
    let units = units(ui);
    egui::Grid::new("staged").num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        for (title, rows) in ["Solids", "Water"].iter().zip(&staged.booked) {
            for (name, change) in rows {
                style::value_row(ui, &format!("{title}: {name}"), volume(units, *change), "Booked by this stage.");
            }
        }
    });
}

/// The lessons that come with the program.
fn lessons_ui(ui: &mut Ui, state: &PanelState<'_>) -> Vec<Command> {
    let mut asked = Vec::new();
    egui::CollapsingHeader::new(RichText::new("Lessons").heading()).default_open(true).show(ui, |ui| {
        for (name, lesson) in lesson::built_in() {
            let head = &lesson.head;
            let done = state.course.progress.is_complete(&lesson.path);
            let mark = if done { icon::CHECK_CIRCLE } else { icon::CIRCLE };
            let button = egui::Button::new(format!("{mark}  {}", head.title)).frame_when_inactive(false).wrap();
            let help = format!("{}\n{} · {} minutes", head.about, head.level, head.minutes);
            let button = ui.add(button).on_hover_text(help);
            access::name(&button, &format!("{}{}", head.title, if done { ", done" } else { "" }));
            if button.clicked() {
                let path = lesson::path_of(name).display().to_string();
                asked.push(FileCommand::Open(path, Options::default()).into());
            }
        }
    });
    asked
}
