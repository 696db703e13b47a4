//! The card of the workspace Learn: what happens in a tick.

use bevy_egui::egui::{self, RichText, Ui};

use super::{Kept, PanelState, panel::Panel, style};
use crate::{
    params,
    runtime::{Command, Workspace},
};

pub const PANEL: Panel = Panel { key: "lesson", title: "", workspaces: &[Workspace::Learn], unfolded: &[], draw };

fn draw(ui: &mut Ui, state: &PanelState<'_>, _: &mut Kept) -> Vec<Command> {
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
    Vec::new()
}
