//! Probe panel: pinned places and their values over time.

use bevy::prelude::*;
use bevy_egui::egui::{self, Align2, Color32, FontId, Key, RichText, Ui};
use egui_phosphor::regular as icon;

use super::{
    ProbeCommand, ProbeMarks, Probes,
    chart::{self, ProbeSeries},
};
use crate::shell::{
    access,
    chart::{chart_ui, curve_color},
    commands::{AddCommands, MenuSection, NONE},
    file_request::FileRequest,
    number::units,
    panel::{AddPanel, EVERYWHERE, LayerVisibility, SidebarPanel},
    placement::{BeginPlacement, Placement, PlacementKind, choice_ui},
    style,
};
use crate::world::{AppCommand, Overlay, PointedPosition, ViewPlaces, amount::length};

const PANEL: SidebarPanel =
    SidebarPanel { key: "probes", title: "Probes", workspaces: EVERYWHERE, unfolded: &[], in_lessons: true };

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui).add_view_layer(LayerVisibility::Panels, pins_ui).add_commands("View", 40, commands);
}

fn commands(table: &mut MenuSection) {
    let probe = "Click on the terrain to pin a probe. The Probes panel plots height, sand and water there over time.";
    table
        .add(icon::PUSH_PIN, "Pin probe", probe, &[(NONE, Key::P)], BeginPlacement(PlacementKind::Probe))
        .set_aliases("measure inspect time series gauge");
}

fn panel_ui(
    InMut(ui): InMut<Ui>,
    probes: Res<Probes>,
    overlay: Res<Overlay>,
    mut placement: ResMut<Placement>,
) -> Vec<AppCommand> {
    let pinned = &probes.pinned;
    let mut asked = Vec::new();
    ui.horizontal_wrapped(|ui| {
        let help = "Click on the terrain to pin a probe (P). A fifth probe replaces the oldest.";
        let text = format!("{} Pin probe", icon::PUSH_PIN);
        asked.extend(choice_ui(ui, &mut placement, PlacementKind::Probe, (&text, help)));
        if !pinned.is_empty() && ui.button("Save…").on_hover_text("Save all values as a table (CSV).").clicked() {
            asked.push(save_request().into());
        }
    });
    if pinned.is_empty() {
        ui.label(RichText::new("A probe records height, sand and water at a point over time.").weak());
        return asked;
    }
    let units = units(ui);
    for (number, probe) in pinned.iter().enumerate() {
        ui.horizontal(|ui| {
            ui.label(RichText::new(format!("{}", number + 1)).strong().color(curve_color(number)));
            if let Some(now) = probe.series.last() {
                let metres = |value: f32, decimals| length(units, value.into(), decimals);
                let text = format!(
                    "height {}, sand {}, water {}",
                    metres(now.ground, 1),
                    metres(now.sand, 2),
                    metres(now.water, 2)
                );
                ui.label(RichText::new(text).small());
            }
            let remove = ui.small_button(icon::X);
            access::name(&remove, &format!("Remove probe {}", number + 1));
            if remove.clicked() {
                asked.push(ProbeCommand::Unpin(number).into());
            }
        });
    }
    let shown = overlay.shown;
    let offered = [ProbeSeries::Change, ProbeSeries::Height, ProbeSeries::Sand, ProbeSeries::Water];
    let offered = offered.into_iter().chain(shown.map(ProbeSeries::Overlay));
    let now = probes.plotted(shown);
    let mut selected = now;
    let label = ui.label("Over time");
    egui::ComboBox::from_id_salt("series")
        .selected_text(now.title())
        .width(style::WIDE_CHOICE_WIDTH)
        .show_ui(ui, |ui| {
            access::begin_list(ui);
            for offer in offered {
                access::list_choice(ui, &mut selected, offer, offer.title());
            }
        })
        .response
        .on_hover_text(
            "Select the quantity to plot. The overlay can also be plotted; its values are recorded only while it is shown.",
        )
        .labelled_by(label.id);
    if selected != now {
        asked.push(ProbeCommand::Plot(selected).into());
    }
    asked.extend(chart_ui(ui, chart::chart(&probes, now, units), ""));
    asked
}

/// Returns the request for the file of the values.
fn save_request() -> FileRequest {
    let kinds = [("Table".to_owned(), "csv")];
    FileRequest::save("Save probe values", "probes", kinds, ProbeCommand::Save)
}

/// Draws the probes over the view.
fn pins_ui(
    InMut(ui): InMut<Ui>,
    marks: Single<&ViewPlaces, With<ProbeMarks>>,
    pointed: Res<PointedPosition>,
    mut placement: ResMut<Placement>,
) -> Vec<AppCommand> {
    let view = ui.max_rect();
    let painter = ui.painter().with_clip_rect(view);
    for (number, share) in marks.0.iter().enumerate() {
        let Some(share) = share else { continue };
        let place = view.min + egui::vec2(share.x, share.y) * view.size();
        let head = place - egui::vec2(0.0, 2.2 * style::MARK_RADIUS);
        painter.line_segment([place, head], egui::Stroke::new(2.0, Color32::WHITE));
        painter.circle(head, style::MARK_RADIUS, curve_color(number), egui::Stroke::new(1.5, Color32::WHITE));
        let font = FontId::proportional(12.0);
        painter.text(head, Align2::CENTER_CENTER, format!("{}", number + 1), font, Color32::WHITE);
    }
    placement
        .clicked(ui, PlacementKind::Probe, &pointed)
        .map(|place| ProbeCommand::Pin(place).into())
        .into_iter()
        .collect()
}
