//! Where every cubic metre went.

use bevy_egui::egui::{self, Ui};

use super::{
    Kept, PanelState,
    panel::{EVERYWHERE, Panel},
    style::value_row,
};
use crate::{
    runtime::{Command, Workspace},
    sim::ledger::Account,
};

pub const PANEL: Panel =
    Panel { key: "ledger", title: "Ledger", workspaces: EVERYWHERE, unfolded: &[Workspace::Learn], draw };

fn draw(ui: &mut Ui, state: &PanelState<'_>, _: &mut Kept) -> Vec<Command> {
    let (ledger, (solid, water)) = (&state.record.ledger, state.record.volumes);
    account_ui(ui, "Solids", &ledger.solid, solid);
    if water > 0.0 || !ledger.water.rows.is_empty() {
        account_ui(ui, "Water", &ledger.water, water);
    }
    Vec::new()
}

fn account_ui(ui: &mut Ui, title: &str, account: &Account, now: f64) {
    egui::Grid::new(title).num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        let mut row = |name: &str, value: f64, help: &str| value_row(ui, name, volume(value), help);
        row(&format!("{title} at the start"), account.start, "What the layers held at the start.");
        for (process, done) in &account.rows {
            row(&format!("{process}: eroded"), -done.eroded, "Taken off the ground.");
            row(&format!("{process}: deposited"), done.deposited, "Laid on the ground.");
            row(&format!("{process}: over the border"), -done.outflow, "Left the map.");
            if done.lost != 0.0 {
                row(&format!("{process}: lost"), -done.lost, "Destroyed by the model as published.");
            }
            if done.carried != 0.0 {
                row(&format!("{process}: on its way"), done.carried, "In particles at this moment.");
            }
        }
        if account.edits != 0.0 {
            row("by hand", account.edits, "Added or taken away by hand.");
        }
        row(&format!("{title} now"), now, "What the layers hold now.");
        row("residual", account.residual(now), "What the account cannot explain: zero but for rounding.");
    });
}

/// A volume as a person reads it, in cubic metres.
pub fn volume(value: f64) -> String {
    let (scale, unit) = match value.abs() {
        large if large >= 1e9 => (1e-9, "km³"),
        large if large >= 1e5 => (1e-6, "10⁶ m³"),
        small if small > 0.0 && small < 0.01 => return format!("{value:.1e} m³"),
        _ => (1.0, "m³"),
    };
    format!("{:.2} {unit}", value * scale)
}

#[cfg(test)]
mod tests {
    use super::volume;

    #[test]
    fn volumes_have_a_unit_that_fits() {
        let texts = [0.0, 3e-7, 12.5, 2.5e6, 3.2e11].map(volume);
        assert_eq!(texts, ["0.00 m³", "3.0e-7 m³", "12.50 m³", "2.50 10⁶ m³", "320.00 km³"]);
    }
}
