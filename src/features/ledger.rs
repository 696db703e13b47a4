//! Where every cubic metre went.

use bevy::prelude::*;
use bevy_egui::egui::{self, Ui};

use crate::shell::{
    number::units,
    panel::{AddPanel, EVERYWHERE, Panel},
    style::value_row,
};
use crate::world::{Command, Record, Simulations, Workspace, amount::volume};
use thalweg_sim::core::ledger::{Account, Row};

const PANEL: Panel =
    Panel { key: "ledger", title: "Ledger", workspaces: EVERYWHERE, unfolded: &[Workspace::Learn], in_lessons: true };

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui);
}

fn panel_ui(InMut(ui): InMut<Ui>, record: Res<Record>, simulations: Res<Simulations>) -> Vec<Command> {
    let (ledger, [solid, water]) = (&record.ledger, record.volumes);
    let slots = simulations.selected().simulation.slots.iter();
    let titles: Vec<(&str, &str)> = slots.map(|slot| (slot.key(), slot.process.info().title)).collect();
    account_ui(ui, ("Solids", &titles), &ledger.solid, (solid, record.suspended));
    if water > 0.0 || ledger.water.rows.values().any(|row| *row != Row::default()) {
        account_ui(ui, ("Water", &titles), &ledger.water, (water, 0.0));
    }
    Vec::new()
}

fn account_ui(ui: &mut Ui, (title, titles): (&str, &[(&str, &str)]), account: &Account, (now, suspended): (f64, f64)) {
    let units = units(ui);
    egui::Grid::new(title).num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        let mut row = |name: &str, value: f64, help: &str| value_row(ui, name, volume(units, value), help);
        row(&format!("{title} at the start"), account.start, "What the layers held at the start.");
        for (key, done) in &account.rows {
            let process = titles.iter().find(|(known, _)| *known == key).map_or(&**key, |(_, title)| title);
            row(&format!("{process}: eroded"), -done.eroded, "Taken off the ground.");
            row(&format!("{process}: deposited"), done.deposited, "Laid on the ground.");
            if done.inflow != 0.0 {
                row(&format!("{process}: from outside"), done.inflow, "Uplift, rain, springs and the sea.");
            }
            row(&format!("{process}: over the border"), -done.outflow, "Left the map.");
            if done.evaporated != 0.0 {
                row(&format!("{process}: evaporated"), -done.evaporated, "Went into the air.");
            }
            if done.lost != 0.0 {
                row(&format!("{process}: lost"), -done.lost, "Destroyed by the model as published.");
            }
            if done.carried != 0.0 {
                row(
                    &format!("{process}: on its way"),
                    done.carried,
                    "Still carried by particles, or too little yet to change a \
                    height.",
                );
            }
        }
        if account.edits != 0.0 {
            row("by hand", account.edits, "Added or taken away by hand.");
        }
        if suspended != 0.0 {
            row(
                "in the water",
                suspended,
                "Sediment that the water carries: it was taken off the ground and is not laid down yet.",
            );
        }
        row(&format!("{title} now"), now, "What the layers hold now.");
        row("residual", account.residual(now), "What the account cannot explain: zero but for rounding.");
    });
}
