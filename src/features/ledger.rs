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
    balance_ui(ui, "solids", &balance("Solids", (&ledger.solid, solid), &titles), units);
    if record.suspended != 0.0 {
        ui.small(format!("Includes {} of sediment suspended in the water.", volume(units, record.suspended)));
    }
    exchange_ui(ui, &ledger.solid, &titles, units);
    if water > 0.0 || ledger.water.rows.values().any(|row| *row != LedgerRow::default()) {
        ui.add_space(6.0);
        balance_ui(ui, "water", &balance("Water", (&ledger.water, water), &titles), units);
    }
    Vec::new()
}

/// Title of the residual.
const RESIDUAL: &str = "Residual";

/// Row of a balance.
struct BalanceRow {
    title: String,
    /// In cubic metres, positive if it increases the volume on the map.
    volume: f64,
    help: &'static str,
}

/// Returns the rows of the balance of an account: the initial volume, the transfers that are not 0, the residual and the present volume,
/// which is their sum.
fn balance(name: &str, (account, now): (&Account, f64), titles: &[(&str, &str)]) -> Vec<BalanceRow> {
    let mut rows = vec![BalanceRow {
        title: format!("{name} at the start"),
        volume: account.start,
        help: "Volume in the layers at the start.",
    }];
    for (key, row) in &account.rows {
        for (transfer, volume) in row.transfers().into_iter().filter(|(_, volume)| *volume != 0.0) {
            let (name, help) = match transfer {
                Transfer::Inflow => ("inflow", "Uplift, rain, springs and the sea."),
                Transfer::Outflow => ("outflow", "Left the map across its edges."),
                Transfer::Evaporation => ("evaporated", "Lost to evaporation."),
                Transfer::Loss => ("lost", "Lost in the published mode, which does not conserve volume."),
                Transfer::Transit => (
                    "in transit",
                    "Taken from the layers and carried by particles, or still too little to change a height.",
                ),
            };
            rows.push(BalanceRow { title: format!("{}: {name}", title(titles, key)), volume, help });
        }
    }
    if account.edits != 0.0 {
        rows.push(BalanceRow { title: "Edits".to_owned(), volume: account.edits, help: "Added or removed by edits." });
    }
    let help = "Volume not accounted for: zero except for rounding errors.";
    rows.push(BalanceRow { title: RESIDUAL.to_owned(), volume: account.residual(now), help });
    rows.push(BalanceRow {
        title: format!("{name} now"),
        volume: now,
        help: "Volume in the layers now: the sum of the rows above.",
    });
    rows
}

/// Returns the title of a process, or its key if it has none.
fn title<'a>(titles: &[(&str, &'a str)], key: &'a str) -> &'a str {
    titles.iter().find(|(known, _)| *known == key).map_or(key, |(_, title)| title)
}

/// Formats the volumes of a balance in one unit with equally many decimals, so that the numbers add up as shown. The unit suits the largest
/// transfer. The residual is rounding error and has its own unit.
fn balance_texts(rows: &[BalanceRow], units: UnitSystem) -> Vec<String> {
    let last = rows.len() - 1;
    let transfers = || rows[1..last].iter().filter(|row| row.title != RESIDUAL).map(|row| row.volume.abs());
    let largest = transfers().fold(0.0, f64::max);
    let (times, unit) = volume_unit(units, if largest > 0.0 { largest } else { rows[last].volume });
    // As many decimals as the smallest transfer needs for two digits.
    let smallest = transfers().fold(f64::INFINITY, f64::min);
    let decimals = (1.0 - (times * smallest).log10().floor()).clamp(2.0, 6.0) as usize;
    let text = |(index, row): (usize, &BalanceRow)| match index {
        _ if row.title == RESIDUAL => volume(units, row.volume),
        0 => format!("{:.decimals$} {unit}", times * row.volume + 0.0),
        index if index == last => format!("{:.decimals$} {unit}", times * row.volume + 0.0),
        _ => format!("{:+.decimals$} {unit}", times * row.volume + 0.0),
    };
    rows.iter().enumerate().map(text).collect()
}

fn balance_ui(ui: &mut Ui, name: &str, rows: &[BalanceRow], units: UnitSystem) {
    egui::Grid::new(name).num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        for (row, text) in rows.iter().zip(balance_texts(rows, units)) {
            value_row(ui, &row.title, text, row.help);
        }
    });
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
                let rows = balance("Solids", (&account, now), &[("fluvial", "Fluvial erosion")]);
                let texts = balance_texts(&rows, units);
                let residual = rows.iter().position(|row| row.title == RESIDUAL).expect("a residual");
                let terms = texts.iter().enumerate().filter(|(index, _)| *index != residual && index + 1 < texts.len());
                let sum: f64 = terms.map(|(_, text)| number(text).0).sum();
                let (shown, decimals) = number(&texts[texts.len() - 1]);
                let rounding = 0.5 * texts.len() as f64 * 10.0_f64.powi(-(decimals as i32));
                assert!((sum - shown).abs() <= rounding, "{texts:?} add up to {sum}");
                let unit = |text: &String| text.split_once(' ').expect("a unit").1.to_owned();
                assert!(
                    texts.iter().enumerate().all(|(index, text)| index == residual || unit(text) == unit(&texts[0]))
                );
            }
        }
    }
}
