//! Panel that explains a cell: the equations of the processes with the values of the cell.

use bevy::prelude::*;
use bevy_egui::egui::{self, RichText, Ui};

use super::Probes;
use crate::shell::{
    access, formula,
    panel::{AddPanel, EVERYWHERE, SidebarPanel},
    style,
};
use crate::world::{AppCommand, Simulations};
use thalweg_scene::model::chart::format_number;
use thalweg_sim::{process::explain::Explanation, simulation::Slot};

const PANEL: SidebarPanel = SidebarPanel {
    key: "explain",
    title: "Explain this cell",
    workspaces: EVERYWHERE,
    unfolded: &[],
    in_lessons: true,
};

/// Number of pinned probes when last drawn, and the place of the selected probe if it is not the newest.
#[derive(Default)]
pub(super) struct ExplanationState {
    pins: u64,
    chosen: Option<[f32; 2]>,
}

/// Lifetime of the values in seconds; some take a pass over the map.
const FRESH: f64 = 0.25;

/// Time of the values in seconds, and the explanation of a cell by each enabled process.
type TimedExplanations = (f64, Vec<(&'static str, Option<Explanation>)>);

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui);
}

fn panel_ui(
    InMut(ui): InMut<Ui>,
    all: Res<Probes>,
    simulations: Res<Simulations>,
    mut explained: Local<ExplanationState>,
) -> Vec<AppCommand> {
    let probes = &all.pinned;
    // A newly pinned probe is selected.
    if explained.pins != all.pins {
        *explained = ExplanationState { pins: all.pins, chosen: None };
    }
    let Some(last) = probes.last() else {
        let text = "Pin a probe (P) on the terrain to see the process equations with the values of its cell.";
        ui.label(RichText::new(text).weak());
        return Vec::new();
    };
    // The newest, unless another one is selected.
    let place = explained.chosen.filter(|place| probes.iter().any(|probe| probe.place == *place)).unwrap_or(last.place);
    if probes.len() > 1 {
        ui.horizontal(|ui| {
            ui.label("Probe");
            for (number, probe) in probes.iter().enumerate() {
                if access::choice(ui, probe.place == place, format!("{}", number + 1)).clicked() {
                    explained.chosen = Some(probe.place);
                }
            }
        });
    }
    let simulation = &simulations.selected().simulation;
    let (x, y) = simulation.terrain.bedrock.cell_at(place);
    ui.label(RichText::new(format!("Column {x}, row {y}, after tick {}", simulation.ticks())).weak().small());
    let id = ui.id().with((simulations.project_id(), x, y));
    let now = ui.input(|input| input.time);
    let known: Option<TimedExplanations> = ui.data_mut(|data| data.get_temp(id));
    let known = known.filter(|(since, _)| now - since < FRESH);
    let (since, explanations) = known.unwrap_or_else(|| {
        let on = simulation.slots.iter().filter(|slot| slot.enabled);
        let explain = |slot: &Slot| (slot.process.info().title, slot.process.explain(&simulation.terrain, [x, y]));
        (now, on.map(explain).collect())
    });
    if since != now {
        ui.ctx().request_repaint_after_secs((FRESH - (now - since)) as f32);
    }
    for (title, explanation) in &explanations {
        ui.add_space(4.0);
        ui.label(RichText::new(*title).strong());
        match explanation {
            Some(explanation) => explanation_ui(ui, explanation),
            None => {
                let text =
                    "No values for this cell: no tick has run yet, or the selected law describes individual particles.";
                ui.label(RichText::new(text).weak());
            }
        }
    }
    if explanations.is_empty() {
        ui.label("No process is enabled.");
    }
    ui.data_mut(|data| data.insert_temp(id, (since, explanations)));
    Vec::new()
}

/// Draws an equation, its terms and its outcome.
fn explanation_ui(ui: &mut Ui, explanation: &Explanation) {
    formula::show(ui, explanation.equation, style::EQUATION, style::ACCENT);
    ui.add_space(2.0);
    for term in &explanation.terms {
        ui.horizontal_wrapped(|ui| {
            formula::show(ui, term.symbol, style::TERM, ui.visuals().text_color());
            ui.label(format!("= {} {}", format_number(term.value), term.unit).trim_end());
            ui.label(RichText::new(term.about).weak().small());
        });
    }
    ui.add(egui::Label::new(&explanation.outcome).wrap());
}
