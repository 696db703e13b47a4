//! River panel: long profile of one river, slope–area and χ charts of all rivers, and realism of the terrain.

use crate::world::{
    AppCommand, Brushes, FrameSystems, Overlay, OverlayCommand, PointedPosition, Simulations, TimeSeries, ViewPlaces,
    amount::{area, display_unit},
    charts,
};
use bevy::prelude::*;
use bevy_egui::egui::{self, RichText, Ui};
use egui_phosphor::regular as icon;

use super::{RiverStudy, RiverTrace, SelectRiver};
use crate::shell::{
    access,
    chart::chart_ui,
    group::{group_ui, set},
    number::units,
    panel::{AddPanel, EVERYWHERE, LayerVisibility, RIVERS, Sidebar, SidebarPanel},
    placement::Placement,
    style,
};
use thalweg_sim::{
    core::quantity::Quantity,
    measure::{MeasureReading, Study, score},
    process::fluvial,
};

const PANEL: SidebarPanel =
    SidebarPanel { key: RIVERS, title: "Rivers", workspaces: EVERYWHERE, unfolded: &[], in_lessons: true };

/// Requests studies while the panel is visible.
fn request_study(sidebar: Res<Sidebar>, mut rivers: ResMut<RiverStudy>) {
    rivers.wanted = sidebar.is_visible(PANEL.key);
}

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui)
        .add_view_layer(LayerVisibility::Panels, choose_ui)
        .add_systems(Update, request_study.in_set(FrameSystems::Input));
}

fn panel_ui(
    InMut(ui): InMut<Ui>,
    rivers: Res<RiverStudy>,
    simulations: Res<Simulations>,
    overlay: Res<Overlay>,
    record: Res<TimeSeries>,
) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    let (now, fresh) = (&simulations.selected().rivers, simulations.selected().defaults().rivers);
    asked.extend(set("rivers", group_ui(ui, ("rivers", now), ("rivers", &fresh), false)));
    ui.horizontal_wrapped(|ui| {
        for (quantity, name) in [(Quantity::DrainageArea, "Network"), (Quantity::Basin, "Basins")] {
            let on = overlay.shown == Some(quantity);
            if access::choice(ui, on, name).on_hover_text(quantity.about()).clicked() {
                asked.push(OverlayCommand::Show((!on).then_some(quantity)).into());
            }
        }
        if rivers.selected_place.is_some()
            && ui.button("Largest river").on_hover_text("Select the largest river.").clicked()
        {
            asked.push(SelectRiver(None).into());
        }
    });
    let Some(study) = &rivers.study else {
        ui.label(RichText::new("Finding rivers…").weak());
        return asked;
    };
    let units = units(ui);
    asked.extend(river_ui(ui, study, rivers.selected_place.is_some()));
    ui.add_space(4.0);
    let help = "Median channel slope against drainage area. At steady state under uniform uplift, the points lie on a straight line \
        whose gradient is minus the concavity.";
    asked.extend(chart_ui(ui, charts::slope_area(study, balance(&simulations, study.softness), units), help));
    ui.add_space(4.0);
    let help = "χ is the distance upstream, weighted less where the drainage area is larger. At steady state under \
        uniform uplift, all rivers lie on one line; a river below its neighbours tends to lose drainage area to them.";
    asked.extend(chart_ui(ui, charts::chi(study, units), help));
    asked.extend(chart_ui(ui, charts::hypsometry(&record.statistics, units), ""));
    realism_ui(ui, &study.readings);
    asked
}

/// Draws the selected river over the view. A click on the terrain selects another, unless a brush or a placement is active.
fn choose_ui(
    InMut(root): InMut<Ui>,
    sidebar: Res<Sidebar>,
    trace: Single<&ViewPlaces, With<RiverTrace>>,
    brushes: Res<Brushes>,
    placement: Res<Placement>,
    pointed: Res<PointedPosition>,
) -> Vec<AppCommand> {
    if !sidebar.is_visible(PANEL.key) {
        return Vec::new();
    }
    let view = root.max_rect();
    let painter = root.painter().with_clip_rect(view);
    let places: Vec<egui::Pos2> =
        trace.0.iter().flatten().map(|share| view.min + egui::vec2(share.x, share.y) * view.size()).collect();
    if let Some(mouth) = places.last() {
        painter.circle(*mouth, 5.0, style::SPRING, egui::Stroke::new(1.5, egui::Color32::WHITE));
    }
    painter.line(places.clone(), egui::Stroke::new(3.5, style::SHADE));
    painter.line(places, egui::Stroke::new(2.0, style::SPRING));
    if brushes.active.is_some() || placement.takes_clicks(root.ctx()) {
        return Vec::new();
    }
    let place = pointed.0.filter(|_| access::is_viewport_clicked(root, view));
    place.map(|place| SelectRiver(Some(place)).into()).into_iter().collect()
}

/// Returns steepness and exponent of slope over area in equilibrium with the uplift, if Uplift and rivers is enabled.
fn balance(simulations: &Simulations, softness: f64) -> Option<(f64, f64)> {
    let slot = simulations.selected().simulation.slots.iter().find(|slot| slot.enabled && slot.key() == "fluvial")?;
    let params = slot.process.params().as_partial_reflect().try_downcast_ref::<fluvial::Params>()?;
    let steepness = (1.0 + params.deposition) * params.uplift_rate / params.erodibility;
    let n = f64::from(params.effective_slope_exponent());
    // The law states the erodibility for rock of softness 0.5.
    let steepness = f64::from(steepness) / (2.0 * softness).max(1e-3);
    Some((steepness.powf(1.0 / n), f64::from(params.area_exponent) / n))
}

/// Draws the long profile and the values of the selected river.
fn river_ui(ui: &mut Ui, study: &Study, chosen: bool) -> Option<AppCommand> {
    ui.add_space(4.0);
    let (Some(source), Some(mouth)) = (study.river.first(), study.river.last()) else {
        ui.label(RichText::new("No river is large enough. Lower \"Channel threshold\" to find smaller ones.").weak());
        return None;
    };
    let name = if chosen { "Selected river" } else { "Largest river" };
    let help = "From the source on the left to the mouth on the right. Reaches at least twice as steep as expected for their drainage \
        area are knickpoints. They form when uplift accelerates or sea level falls, and migrate upstream.";
    let length = source.distance;
    let units = units(ui);
    let asked = chart_ui(ui, charts::profile(study, &format!("{name}, from source to mouth"), units), help);
    let [(far, of_far), (high, of_high)] = ["km", "m"].map(|unit| display_unit(units, unit));
    egui::Grid::new("river").num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        let mut row = |name: &str, value: String, help: &str| style::value_row(ui, name, value, help);
        row("Length", format!("{:.2} {far}", 1e-3 * of_far * length), "Channel length from source to mouth.");
        row(
            "Fall",
            format!("{:.0} {high}", of_high * (source.height - mouth.height)),
            "Height of the source above the mouth.",
        );
        let winds = study.sinuosity.map_or("none".to_owned(), |times| format!("{times:.2}"));
        row(
            "Sinuosity",
            winds,
            "Channel length divided by the straight distance from source to mouth. Rivers above 1.5 are called meandering.",
        );
        let (flow, of_flow) = display_unit(units, "m³/s");
        row("Discharge", format!("{:.2} {flow}", of_flow * mouth.discharge), "Discharge at the mouth.");
        row("Drainage area", area(units, mouth.area), "Area whose runoff yields this discharge.");
        row("Knickpoints", study.knickpoints.len().to_string(), "Reaches at least twice as steep as expected for their drainage area.");
        row(
            "All rivers",
            format!("{:.1} {far}", 1e-3 * of_far * study.length),
            "Total length of all rivers on the map.",
        );
        row(
            "Basins with rivers",
            study.basins.len().to_string(),
            "Drainage basins with a river, each with its own outlet.",
        );
    });
    ui.label(RichText::new("With no brush selected, click on the terrain to select another river.").weak());
    asked
}

/// Draws terrain measures next to the range of real mountains.
fn realism_ui(ui: &mut Ui, readings: &[MeasureReading]) {
    let (real, of) = score(readings);
    ui.add_space(4.0);
    let help = "Terrain metrics compared with the range of real mountains, for cells of about 30 m. Plain noise fails most of them.";
    ui.label(RichText::new(format!("Realism: {real} of {of}")).strong()).on_hover_text(help);
    egui::Grid::new("real").num_columns(4).min_col_width(0.0).spacing([8.0, 2.0]).striped(true).show(ui, |ui| {
        for reading in readings {
            let (mark, color) = match reading.is_real() {
                Some(true) => (icon::CHECK, style::ACCENT),
                Some(false) => (icon::X, style::WARNING),
                None => ("", style::FAINT),
            };
            let label = ui.label(RichText::new(mark).color(color));
            label.widget_info(|| {
                let text =
                    reading.is_real().map_or("no range", |real| if real { "realistic" } else { "not realistic" });
                egui::WidgetInfo::labeled(egui::WidgetType::Label, true, format!("{}: {text}", reading.title))
            });
            ui.label(reading.title).on_hover_text(reading.about);
            let value = reading.value.map_or("none".to_owned(), |value| format!("{value:.3}"));
            ui.label(RichText::new(value).monospace().size(10.5));
            let range = reading.real.map_or(String::new(), |(least, most)| format!("{least} to {most}"));
            ui.label(RichText::new(range).weak().size(10.5));
            ui.end_row();
        }
    });
}
