//! Numbers and curves of the terrain, and of how the run has gone.

use bevy_egui::egui::{self, Ui};
use egui_plot::{Corner, Legend, Line, Plot, PlotPoints};

use super::{
    Kept, PanelState,
    number::units,
    panel::{EVERYWHERE, Panel},
    style,
};
use crate::{
    runtime::{
        Command, LedgerSample, Workspace,
        amount::{length, told_in, volume},
    },
    sim::statistics::BINS,
};

pub const PANEL: Panel =
    Panel { key: "statistics", title: "Statistics", workspaces: EVERYWHERE, unfolded: &[Workspace::Learn], draw };

fn draw(ui: &mut Ui, state: &PanelState<'_>, memory: &mut Kept) -> Vec<Command> {
    memory.statistics_seen = true;
    let (found, units) = (&state.record.statistics, units(ui));
    let (unit, times) = told_in(units, "m");
    egui::Grid::new("statistics").num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        let mut row = |name: &str, value: String, help: &str| style::value_row(ui, name, value, help);
        let [low, mean, deviation] =
            [found.range.0.into(), found.mean, found.deviation].map(|metres: f64| times * metres);
        let high = length(units, found.range.1.into(), 1);
        row("Heights", format!("{low:.1} to {high}"), "Lowest and highest ground.");
        row("Mean", format!("{mean:.1} ± {deviation:.1} {unit}"), "Mean height and standard deviation.");
        row("Mean slope", format!("{:.1}°", found.slope), "Mean angle of the ground.");
        row("Pits", found.pits.to_string(), "Cells that are lower than all eight neighbours.");
        row("Cut", volume(units, found.cut_and_fill.0), "Volume that lies lower than at the start.");
        row("Fill", volume(units, found.cut_and_fill.1), "Volume that lies higher than at the start.");
        row("Sandy", format!("{:.1} %", 100.0 * found.sandy), "Share of the map under loose sand.");
    });
    let samples = &state.record.samples;
    let (millions, of_volume) = told_in(units, "million m³");
    let series = |value: &dyn Fn(&LedgerSample) -> f64| -> PlotPoints<'static> {
        samples.iter().map(|sample| [sample.tick as f64, 1e-6 * of_volume * value(sample)]).collect()
    };
    ui.add_space(6.0);
    ui.label("Volume over time");
    let (eroded, deposited, outflow) = (series(&|s| s.eroded), series(&|s| s.deposited), series(&|s| s.outflow));
    let legend = Legend::default().position(Corner::LeftTop).text_style(egui::TextStyle::Small);
    plot("volume", "tick", millions).legend(legend).show(ui, |plot| {
        plot.line(Line::new("eroded", eroded));
        plot.line(Line::new("deposited", deposited));
        plot.line(Line::new("over the border", outflow));
    });
    hypsometry_ui(ui, state);
    ui.label("Slopes");
    let width = 90.0 / BINS as f64;
    let slopes: PlotPoints<'_> =
        found.slopes.iter().enumerate().map(|(bin, share)| [(bin as f64 + 0.5) * width, 100.0 * share]).collect();
    plot("slopes", "°", "%").show(ui, |plot| plot.line(Line::new("share of the map", slopes)));
    Vec::new()
}

/// The hypsometric curve of the terrain as it was when last measured.
pub fn hypsometry_ui(ui: &mut Ui, state: &PanelState<'_>) {
    let found = &state.record.statistics;
    ui.label("Hypsometric curve: share of the map above a height");
    let (unit, times) = told_in(units(ui), "m");
    let span = f64::from(found.range.1 - found.range.0);
    let height = |bin: usize| times * (f64::from(found.range.0) + span * bin as f64 / BINS as f64);
    let curve: PlotPoints<'_> =
        found.hypsometry.iter().enumerate().map(|(bin, share)| [100.0 * share, height(bin)]).collect();
    plot("hypsometry", "%", unit).show(ui, |plot| plot.line(Line::new("ground", curve)));
}

/// A plot of a panel's height that stays where it is, with the names of its axes.
pub fn plot<'a>(name: &'a str, x: &str, y: &str) -> Plot<'a> {
    Plot::new(name)
        .height(style::PLOT_HEIGHT)
        .allow_scroll(false)
        .allow_drag(false)
        .allow_zoom(false)
        // Nothing is done in it, so that Tab passes it by.
        .sense(egui::Sense::hover())
        .x_axis_label(x.to_owned())
        .y_axis_label(y.to_owned())
}
