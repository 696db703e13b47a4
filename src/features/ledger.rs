//! Ledger panel: volume balance of solids and water by process.

use bevy::prelude::*;
use bevy_egui::egui::{self, Ui};

use crate::shell::{
    number::units,
    panel::{AddPanel, EVERYWHERE, SidebarPanel},
    style::value_row,
};
use crate::world::{AppCommand, Simulations, TimeSeries, Workspace, amount::volume};
use thalweg_sim::core::ledger::{Account, LedgerRow};

const PANEL: SidebarPanel = SidebarPanel {
    key: "ledger",
    title: "Ledger",
    workspaces: EVERYWHERE,
    unfolded: &[Workspace::Learn],
    in_lessons: true,
};

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui);
}

fn panel_ui(InMut(ui): InMut<Ui>, record: Res<TimeSeries>, simulations: Res<Simulations>) -> Vec<AppCommand> {
    let (ledger, [solid, water]) = (&record.ledger, record.volumes);
    let slots = simulations.selected().simulation.slots.iter();
    let titles: Vec<(&str, &str)> = slots.map(|slot| (slot.key(), slot.process.info().title)).collect();
    account_ui(ui, ("Solids", &titles), &ledger.solid, (solid, record.suspended));
    if water > 0.0 || ledger.water.rows.values().any(|row| *row != LedgerRow::default()) {
        account_ui(ui, ("Water", &titles), &ledger.water, (water, 0.0));
    }
    Vec::new()
}

fn account_ui(ui: &mut Ui, (title, titles): (&str, &[(&str, &str)]), account: &Account, (now, suspended): (f64, f64)) {
    let units = units(ui);
    egui::Grid::new(title).num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        let mut row = |name: &str, value: f64, help: &str| value_row(ui, name, volume(units, value), help);
        row(&format!("{title} at the start"), account.start, "Volume in the layers at the start.");
        for (key, done) in &account.rows {
            let process = titles.iter().find(|(known, _)| *known == key).map_or(&**key, |(_, title)| title);
            row(&format!("{process}: eroded"), -done.eroded, "Removed from the ground.");
            row(&format!("{process}: deposited"), done.deposited, "Added to the ground.");
            if done.inflow != 0.0 {
                row(&format!("{process}: inflow"), done.inflow, "Uplift, rain, springs and the sea.");
            }
            row(&format!("{process}: outflow"), -done.outflow, "Left the map across its edges.");
            if done.evaporated != 0.0 {
                row(&format!("{process}: evaporated"), -done.evaporated, "Lost to evaporation.");
            }
            if done.lost != 0.0 {
                row(
                    &format!("{process}: lost"),
                    -done.lost,
                    "Lost in the published mode, which does not conserve volume.",
                );
            }
            if done.carried != 0.0 {
                row(
                    &format!("{process}: in transit"),
                    done.carried,
                    "Still carried by particles, or still too little to change a height.",
                );
            }
        }
        if account.edits != 0.0 {
            row("edits", account.edits, "Added or removed by edits.");
        }
        if suspended != 0.0 {
            row("suspended", suspended, "Sediment suspended in the water: eroded but not yet deposited.");
        }
        row(&format!("{title} now"), now, "Volume in the layers now.");
        row("residual", account.residual(now), "Volume not accounted for: zero except for rounding errors.");
    });
}
