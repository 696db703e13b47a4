//! Probes: places that are pinned on the land, and their numbers over time.

use bevy_egui::egui::{self, Align2, Color32, CursorIcon, FontId, RichText, Ui};
use egui_phosphor::regular as icon;

use super::{
    Kept, PanelState, access,
    chart::{chart_ui, curve_color},
    number::units,
    panel::{EVERYWHERE, Panel},
    style,
};
use crate::runtime::{
    BrushCommand, Command, Dialog, ShowCommand, WindowCommand,
    amount::length,
    charts::{self, Series},
};

pub const PANEL: Panel = Panel { key: "probes", title: "Probes", workspaces: EVERYWHERE, unfolded: &[], draw };

/// What the person does with probes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pinning {
    /// Whether the next click pins one.
    wanted: bool,
    series: Series,
}

impl Pinning {
    /// The next click pins one.
    pub(super) fn want(&mut self) {
        self.wanted = true;
    }

    /// The next click pins none.
    pub(super) fn leave(&mut self) {
        self.wanted = false;
    }

    /// Whether the next click pins one.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted
    }
}

fn draw(ui: &mut Ui, state: &PanelState<'_>, memory: &mut Kept) -> Vec<Command> {
    let probes = &state.probes.pinned;
    let mut asked = Vec::new();
    ui.horizontal_wrapped(|ui| {
        let help = "Then click on the land (P). There are four at most; one more takes the place of the oldest.";
        let text = format!("{} Pin a probe", icon::PUSH_PIN);
        let on = memory.pinning.wanted;
        if access::choice(ui, on, text).on_hover_text(help).clicked() {
            memory.empty_the_hand();
            memory.pinning.wanted = !on;
            asked.push(BrushCommand::Hold(None).into());
        }
        if !probes.is_empty() && ui.button("Save…").on_hover_text("Writes all numbers as a table (CSV)").clicked() {
            asked.push(WindowCommand::Ask(Dialog::SaveProbes).into());
        }
    });
    if probes.is_empty() {
        ui.label(RichText::new("A probe keeps height, sand and water of a place as they change.").weak());
        return asked;
    }
    let units = units(ui);
    for (number, probe) in probes.iter().enumerate() {
        ui.horizontal(|ui| {
            ui.label(RichText::new(format!("{}", number + 1)).strong().color(curve_color(number)));
            if let Some(now) = probe.series.last() {
                let metres = |value: f32, decimals| length(units, value.into(), decimals);
                let text = format!(
                    "{} high, sand {}, water {}",
                    metres(now.ground, 1),
                    metres(now.sand, 2),
                    metres(now.water, 2)
                );
                ui.label(RichText::new(text).small());
            }
            let remove = ui.small_button(icon::X);
            access::name(&remove, &format!("Remove probe {}", number + 1));
            if remove.clicked() {
                asked.push(ShowCommand::Unpin(number).into());
            }
        });
    }
    let pinning = &mut memory.pinning;
    let shown = state.overlay.shown;
    let offered = [Series::Change, Series::Height, Series::Sand, Series::Water];
    let offered = offered.into_iter().chain(shown.map(Series::Overlay));
    // What lay over the ground before is shown no more.
    let now = match (pinning.series, shown) {
        (Series::Overlay(_), Some(quantity)) => Series::Overlay(quantity),
        (Series::Overlay(_), None) => Series::default(),
        (series, _) => series,
    };
    pinning.series = now;
    let label = ui.label("Over time");
    egui::ComboBox::from_id_salt("series")
        .selected_text(now.title())
        .width(style::WIDE_CHOICE_WIDTH)
        .show_ui(ui, |ui| {
            access::begin_list(ui);
            for series in offered {
                access::list_choice(ui, &mut pinning.series, series, series.title());
            }
        })
        .response
        .on_hover_text("An overlay that is shown can be chosen too: its numbers are kept from then on.")
        .labelled_by(label.id);
    asked.extend(chart_ui(ui, charts::probes(&state.probes, pinning.series, units), ""));
    asked
}

/// The probes over the picture, and the click that pins one.
pub fn pins_ui(root: &mut Ui, view: egui::Rect, state: &PanelState<'_>, pinning: &mut Pinning) -> Option<Command> {
    let painter = root.painter().with_clip_rect(view);
    for (number, share) in state.probe_marks.0.iter().enumerate() {
        let Some(share) = share else { continue };
        let place = view.min + egui::vec2(share.x, share.y) * view.size();
        let head = place - egui::vec2(0.0, 2.2 * style::MARK_RADIUS);
        painter.line_segment([place, head], egui::Stroke::new(2.0, Color32::WHITE));
        painter.circle(head, style::MARK_RADIUS, curve_color(number), egui::Stroke::new(1.5, Color32::WHITE));
        let font = FontId::proportional(12.0);
        painter.text(head, Align2::CENTER_CENTER, format!("{}", number + 1), font, Color32::WHITE);
    }
    if !pinning.wanted {
        return None;
    }
    let place = view.center_top() + egui::vec2(0.0, 40.0);
    style::shaded_text(&painter, place, Align2::CENTER_CENTER, "Click on the land. Esc cancels.", 13.0, style::SHADE);
    let over = root.interact(view, root.id().with("probe"), egui::Sense::hover());
    over.on_hover_cursor(CursorIcon::Crosshair);
    if root.input(|input| input.key_pressed(egui::Key::Escape)) {
        pinning.wanted = false;
        return None;
    }
    let clicked = access::clicks_land(root, view);
    let place = state.pointed.0.filter(|_| clicked)?;
    pinning.wanted = false;
    Some(ShowCommand::Pin(place).into())
}
