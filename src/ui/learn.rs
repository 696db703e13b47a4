//! The card of the workspace Learn: the lesson that is open, or what happens in a tick and which lessons there are.

use bevy_egui::egui::{self, RichText, Ui};
use egui_phosphor::regular as icon;

use super::{Kept, PanelState, access, lesson::lesson_ui, panel::Panel, style};
use crate::{
    io::lesson,
    model::origin::Options,
    params,
    runtime::{Command, FileCommand, Workspace},
};

pub const PANEL: Panel = Panel { key: "lesson", title: "", workspaces: &[Workspace::Learn], unfolded: &[], draw };

fn draw(ui: &mut Ui, state: &PanelState<'_>, _: &mut Kept) -> Vec<Command> {
    if let Some(attempt) = &state.course.attempt {
        return lesson_ui(ui, state, attempt);
    }
    let asked = lessons_ui(ui, state);
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
        ui.label(
            RichText::new(
                "Press the right arrow to run one tick, or the comma key to run one stage. Hold B to see the start.",
            )
            .weak(),
        );
    });
    ui.add_space(4.0);
    asked
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
