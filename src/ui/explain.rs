//! Why something happens in a cell, or why nothing does: the equations of the processes with its numbers.

use bevy_egui::egui::{self, RichText, Ui};

use super::{
    Kept, PanelState, access,
    panel::{EVERYWHERE, Panel},
    style,
};
use crate::{io::lesson::report::told, runtime::Command, sim::process::explain::Explanation};

pub const PANEL: Panel =
    Panel { key: "explain", title: "Explain this cell", workspaces: EVERYWHERE, unfolded: &[], draw };

fn draw(ui: &mut Ui, state: &PanelState<'_>, memory: &mut Kept) -> Vec<Command> {
    let probes = &state.probes.pinned;
    let Some(last) = probes.len().checked_sub(1) else {
        ui.label(
            RichText::new("Pin a probe (P) on the land: here stands why something happens there, or why nothing does.")
                .weak(),
        );
        return Vec::new();
    };
    let mut chosen = memory.explained.filter(|chosen| *chosen <= last).unwrap_or(last);
    if last > 0 {
        ui.horizontal(|ui| {
            ui.label("Probe");
            for number in 0..=last {
                if access::choice(ui, chosen == number, format!("{}", number + 1)).clicked() {
                    chosen = number;
                    memory.explained = Some(number);
                }
            }
        });
    }
    let simulation = &state.live.chosen().simulation;
    let (x, y) = simulation.terrain.bedrock.cell_at(probes[chosen].place);
    ui.label(RichText::new(format!("Column {x}, row {y}, after tick {}", simulation.ticks())).weak().small());
    let mut any = false;
    for slot in simulation.slots.iter().filter(|slot| slot.enabled) {
        any = true;
        let info = slot.process.info();
        ui.add_space(4.0);
        ui.label(RichText::new(info.title).strong());
        match slot.process.explain(&simulation.terrain, [x, y]) {
            Some(explanation) => explanation_ui(ui, info.key, &explanation),
            None => {
                let text = "It has no numbers for this cell: no tick has run yet, or the law that is chosen is about single particles.";
                ui.label(RichText::new(text).weak());
            }
        }
    }
    if !any {
        ui.label("No process is on: nothing happens.");
    }
    Vec::new()
}

/// An equation, its numbers, and what comes of it.
fn explanation_ui(ui: &mut Ui, key: &str, explanation: &Explanation) {
    ui.add(egui::Label::new(RichText::new(explanation.equation).monospace().color(style::ACCENT)).wrap());
    egui::Grid::new(("explain", key)).num_columns(2).spacing([10.0, 2.0]).striped(true).show(ui, |ui| {
        for term in &explanation.terms {
            ui.label(RichText::new(term.symbol).monospace()).on_hover_text(term.about);
            let value = format!("{} {}", told(term.value), term.unit);
            ui.label(RichText::new(value.trim_end()).monospace()).on_hover_text(term.about);
            ui.end_row();
        }
    });
    ui.add(egui::Label::new(&explanation.outcome).wrap());
}
