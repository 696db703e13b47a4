//! Ledger panel: volume balance of solids and water by process.

use bevy::prelude::*;
use bevy_egui::egui::{self, Ui};

use crate::shell::{
    number::units,
    panel::{AddPanel, EVERYWHERE, SidebarPanel},
    style::value_row,
};
use crate::world::{
    AppCommand, Simulations, TimeSeries, Workspace,
    amount::{volume, volume_unit},
};
use thalweg_scene::settings::UnitSystem;
use thalweg_sim::core::ledger::{Account, LedgerRow, Transfer};

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
    let units = units(ui);
    balance(&ledger.solid, solid, &titles).ui(ui, "Solids", units);
    if record.suspended != 0.0 {
        ui.small(format!("Includes {} of sediment suspended in the water.", volume(units, record.suspended)));
    }
    exchange_ui(ui, &ledger.solid, &titles, units);
    if water > 0.0 || ledger.water.rows.values().any(|row| *row != LedgerRow::default()) {
        ui.add_space(6.0);
        balance(&ledger.water, water, &titles).ui(ui, "Water", units);
    }
    Vec::new()
}

/// Balance of an account. Volumes are in cubic metres: the initial one and the transfers add up to the present one, except for the residual.
struct AccountBalance {
    start: f64,
    transfers: Vec<BalanceRow>,
    residual: f64,
    now: f64,
}

/// Transfer of a balance.
struct BalanceRow {
    title: String,
    /// In cubic metres, positive if it increases the volume on the map.
    volume: f64,
    help: &'static str,
}

/// Returns the balance of an account, with the transfers that are not 0.
fn balance(account: &Account, now: f64, titles: &[(&str, &str)]) -> AccountBalance {
    let mut transfers = Vec::new();
    for (key, row) in &account.rows {
        for (transfer, volume) in row.transfers().into_iter().filter(|(_, volume)| *volume != 0.0) {
            let (name, help) = match transfer {
                Transfer::Inflow => ("inflow", "Uplift, rain, springs and the sea."),
                Transfer::Outflow => ("outflow", "Left the map across its edges."),
                Transfer::Evaporation => ("evaporated", "Lost to evaporation."),
                Transfer::Loss => ("lost", "Lost in the published mode, which does not conserve volume."),
                Transfer::Transit => (
                    "in transit",
                    "Removed from the layers and carried by particles, or still too small to change a height.",
                ),
            };
            transfers.push(BalanceRow { title: format!("{}: {name}", title(titles, key)), volume, help });
        }
    }
    if account.edits != 0.0 {
        let help = "Added or removed by edits.";
        transfers.push(BalanceRow { title: "Edits".to_owned(), volume: account.edits, help });
    }
    AccountBalance { start: account.start, transfers, residual: account.residual(now), now }
}

/// Returns the title of a process, or its key if it has none.
fn title<'a>(titles: &[(&str, &'a str)], key: &'a str) -> &'a str {
    titles.iter().find(|(known, _)| *known == key).map_or(key, |(_, title)| title)
}

impl AccountBalance {
    /// Returns the format of its volumes: one unit and equally many decimals, so that the numbers add up as shown. The unit suits the largest
    /// transfer, and the smallest one has two digits.
    fn format(&self, units: UnitSystem) -> impl Fn(f64) -> String + use<> {
        let sizes = || self.transfers.iter().map(|row| row.volume.abs());
        let largest = sizes().fold(0.0, f64::max);
        let (times, unit) = volume_unit(units, if largest > 0.0 { largest } else { self.now });
        let smallest = sizes().fold(f64::INFINITY, f64::min);
        let decimals = (1.0 - (times * smallest).log10().floor()).clamp(2.0, 6.0) as usize;
        // Avoids "-0.00".
        move |volume| format!("{:.decimals$} {unit}", times * volume + 0.0)
    }

    fn ui(&self, ui: &mut Ui, name: &str, units: UnitSystem) {
        let format = self.format(units);
        egui::Grid::new(name).num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
            let help = "Volume in the layers at the start.";
            value_row(ui, &format!("{name} at the start"), format(self.start), help);
            for BalanceRow { title, volume, help } in &self.transfers {
                let sign = if *volume > 0.0 { "+" } else { "" };
                value_row(ui, title, format!("{sign}{}", format(*volume)), help);
            }
            let help = "Volume not accounted for: zero except for rounding errors.";
            value_row(ui, "Residual", volume(units, self.residual), help);
            let help = "Volume in the layers now: the sum of the rows above.";
            value_row(ui, &format!("{name} now"), format(self.now), help);
        });
    }
}

/// Draws the volumes that processes erode and deposit. They move within the account of solids, so that its balance does not contain them.
fn exchange_ui(ui: &mut Ui, account: &Account, titles: &[(&str, &str)], units: UnitSystem) {
    let rows = account.rows.iter().filter(|(_, row)| row.eroded != 0.0 || row.deposited != 0.0);
    if rows.clone().next().is_none() {
        return;
    }
    ui.add_space(6.0);
    ui.strong("Moved within the map").on_hover_text("Volume eroded from the ground and deposited on it, by process.");
    egui::Grid::new("exchange").num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        for (key, row) in rows {
            let title = title(titles, key);
            value_row(ui, &format!("{title}: eroded"), volume(units, row.eroded), "Removed from the ground.");
            value_row(ui, &format!("{title}: deposited"), volume(units, row.deposited), "Added to the ground.");
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an account whose volumes have these sizes, and the present volume.
    fn account(start: f64, inflow: f64, outflow: f64, carried: f64) -> (Account, f64) {
        let mut account = Account { start, edits: -0.1 * inflow, ..Account::default() };
        *account.row("fluvial") = LedgerRow { eroded: 3.0 * outflow, inflow, outflow, ..LedgerRow::default() };
        *account.row("droplets") =
            LedgerRow { eroded: inflow, deposited: 0.4 * inflow, carried, ..LedgerRow::default() };
        (account, start + 0.9 * inflow - outflow - carried)
    }

    /// Returns the number at the start of a text, and its decimals.
    fn number(text: &str) -> (f64, usize) {
        let number = text.split(' ').next().expect("a number");
        (number.parse().expect("a number"), number.split('.').nth(1).map_or(0, str::len))
    }

    #[test]
    fn displayed_balances_add_up() {
        for units in [UnitSystem::Metric, UnitSystem::Feet] {
            for [start, inflow, outflow, carried] in [
                [963.88e6, 23.67e6, 33.45e6, 1.2],
                [0.0, 7.0, 5.3, -1e-3],
                [3.1e11, 4.4e5, 8.7e10, 2.0e4],
                [12.0, 0.0, 0.0, 0.0],
            ] {
                let (account, now) = account(start, inflow, outflow, carried);
                let balance = balance(&account, now, &[("fluvial", "Fluvial erosion")]);
                let format = balance.format(units);
                let shown = |volume: f64| number(&format(volume)).0;
                let transfers: f64 = balance.transfers.iter().map(|row| shown(row.volume)).sum();
                let (wanted, decimals) = number(&format(now));
                let rounding = 0.5 * (2 + balance.transfers.len()) as f64 * 10.0_f64.powi(-(decimals as i32));
                let sum = shown(balance.start) + transfers;
                assert!((sum - wanted).abs() <= rounding, "{sum} instead of {wanted}");
                assert!(balance.transfers.iter().all(|row| row.volume.abs() < 1e-2 || shown(row.volume) != 0.0));
            }
        }
    }
}
