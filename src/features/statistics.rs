//! Statistics panel: values and charts of the terrain, and of the simulation over time.

use crate::world::{
    AppCommand, DuneSample, FrameSystems, TimeSeries, Workspace,
    amount::{display_unit, length, volume},
    charts,
};
use bevy::prelude::*;
use bevy_egui::egui::{self, Ui};

use crate::shell::{
    chart::chart_ui,
    number::units,
    panel::{AddPanel, EVERYWHERE, RIVERS, Sidebar, SidebarPanel},
    style,
};

const PANEL: SidebarPanel = SidebarPanel {
    key: "statistics",
    title: "Statistics",
    workspaces: EVERYWHERE,
    unfolded: &[Workspace::Learn],
    in_lessons: true,
};

/// Requests recording while a panel shows the values.
fn request_recording(sidebar: Res<Sidebar>, mut record: ResMut<TimeSeries>) {
    record.wanted = sidebar.is_visible(PANEL.key) || sidebar.is_visible(RIVERS);
}

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui).add_systems(Update, request_recording.in_set(FrameSystems::Input));
}

fn panel_ui(InMut(ui): InMut<Ui>, record: Res<TimeSeries>) -> Vec<AppCommand> {
    let (found, units) = (&record.statistics, units(ui));
    let (unit, times) = display_unit(units, "m");
    egui::Grid::new("statistics").num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        let mut row = |name: &str, value: String, help: &str| style::value_row(ui, name, value, help);
        let [low, mean, deviation] =
            // Avoids a negative zero.
            [found.range.0.into(), found.mean, found.deviation].map(|metres: f64| (10.0 * times * metres).round() / 10.0 + 0.0);
        let high = length(units, found.range.1.into(), 1);
        row("Heights", format!("{low:.1} to {high}"), "Lowest and highest ground.");
        row("Mean", format!("{mean:.1} ± {deviation:.1} {unit}"), "Mean height and standard deviation.");
        row("Mean slope", format!("{:.1}°", found.slope), "Mean slope angle of the ground.");
        row("Pits", found.pits.to_string(), "Cells lower than all eight neighbours.");
        row("Cut", volume(units, found.cut_and_fill.0), "Volume by which the ground is lower than at the start.");
        row("Fill", volume(units, found.cut_and_fill.1), "Volume by which the ground is higher than at the start.");
        row("Sand cover", format!("{:.1} %", 100.0 * found.sandy), "Fraction of the map covered by loose sand.");
    });
    ui.add_space(6.0);
    let mut asked = Vec::new();
    asked.extend(chart_ui(ui, charts::volume(&record, units), ""));
    if let Some(chart) = charts::discharge(&record, units) {
        let help = "Volume per second of simulated time. At steady state, inflow and outflow are equal.";
        asked.extend(chart_ui(ui, chart, help));
    }
    if let Some(dunes) = record.dunes.last() {
        asked.extend(dunes_ui(ui, &record, dunes));
    }
    asked.extend(chart_ui(ui, charts::hypsometry(found, units), ""));
    asked.extend(chart_ui(ui, charts::slopes(found), ""));
    asked
}

/// Draws the statistics of dunes.
fn dunes_ui(ui: &mut Ui, record: &TimeSeries, dunes: &DuneSample) -> Vec<AppCommand> {
    let units = units(ui);
    let metres = |value: Option<f64>, decimals| value.map_or("none".to_owned(), |value| length(units, value, decimals));
    let celerity = record.dunes.iter().rev().find_map(|dune| dune.celerity);
    egui::Grid::new("dunes").num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        let mut row = |name: &str, value: String, help: &str| style::value_row(ui, name, value, help);
        let help = "Mean height of crests above adjacent troughs, on 96 lines along the wind.";
        row("Mean dune height", metres(Some(dunes.height), 1), help);
        row("Highest dune", metres(Some(dunes.highest), 1), "Height of the highest crest above its adjacent troughs.");
        row("Wavelength", metres(dunes.wavelength, 0), "Mean distance between crests along the wind.");
        let help =
            "Migration of the dunes along the wind per tick: the shift that best aligns the earlier sand with the current sand.";
        row(
            "Celerity",
            celerity.map_or("none yet".to_owned(), |celerity| format!("{} per tick", length(units, celerity, 3))),
            help,
        );
    });
    let mut asked = Vec::new();
    asked.extend(chart_ui(ui, charts::dune_sizes(record, units), ""));
    asked.extend(chart_ui(ui, charts::celerity(record, units), ""));
    asked
}
