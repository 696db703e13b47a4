//! Probes: places that are pinned on the land, and their numbers over time.

use bevy_egui::egui::{self, Align2, Color32, CursorIcon, FontId, RichText, Ui};
use egui_phosphor::regular as icon;
use egui_plot::{Corner, Legend, Line, LineStyle, PlotPoints};

use super::{
    Kept, PanelState, access,
    number::units,
    panel::{EVERYWHERE, Panel},
    statistics::plot,
    style,
};
use crate::{
    runtime::{
        BrushCommand, Command, Dialog, Sample, ShowCommand, WindowCommand,
        amount::{length, told_in},
    },
    sim::quantity::Quantity,
};

pub const PANEL: Panel = Panel { key: "probes", title: "Probes", workspaces: EVERYWHERE, unfolded: &[], draw };

/// What a series is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Series {
    #[default]
    Change,
    Height,
    Sand,
    Water,
    Overlay,
}

const SERIES: [(Series, &str); 5] = [
    (Series::Change, "Change of the ground"),
    (Series::Height, "Height"),
    (Series::Sand, "Sand"),
    (Series::Water, "Water"),
    (Series::Overlay, "Overlay"),
];

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
            ui.label(RichText::new(format!("{}", number + 1)).strong().color(color(number)));
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
    let title = SERIES.iter().find(|(series, _)| *series == pinning.series).map_or("", |(_, title)| title);
    let label = ui.label("Over time");
    egui::ComboBox::from_id_salt("series")
        .selected_text(title)
        .width(style::WIDE_CHOICE_WIDTH)
        .show_ui(ui, |ui| {
            access::begin_list(ui);
            for (series, title) in SERIES {
                access::list_choice(ui, &mut pinning.series, series, title);
            }
        })
        .response
        .labelled_by(label.id);
    let shown = state.overlay.shown;
    let (unit, times) = match (pinning.series, shown) {
        (Series::Overlay, Some(quantity)) => told_in(units, quantity.unit()),
        (Series::Overlay, None) => {
            ui.label(RichText::new("Choose an overlay first: its numbers are kept from then on.").weak());
            return asked;
        }
        _ => told_in(units, "m"),
    };
    let legend = Legend::default().position(Corner::LeftTop).text_style(egui::TextStyle::Small);
    plot("probes", "tick", unit).legend(legend).show(ui, |plot| {
        for (number, probe) in probes.iter().enumerate() {
            let first = probe.series.first().copied().unwrap_or_default();
            let value = |sample: &Sample| value(pinning.series, sample, &first, shown);
            let points = probe.series.iter().filter_map(|sample| {
                let value = value(sample)?;
                Some([sample.tick as f64, times * f64::from(value)])
            });
            let line = Line::new(format!("{}", number + 1), points.collect::<PlotPoints<'_>>());
            // They differ by more than their colour.
            let dashed =
                [LineStyle::Solid, LineStyle::dashed_loose(), LineStyle::dotted_loose(), LineStyle::dashed_dense()];
            plot.line(line.color(color(number)).width(2.0).style(dashed[number % dashed.len()]));
        }
    });
    asked
}

/// The number of a sample that a series is of.
fn value(series: Series, sample: &Sample, first: &Sample, shown: Option<Quantity>) -> Option<f32> {
    match series {
        Series::Change => Some(sample.ground - first.ground),
        Series::Height => Some(sample.ground),
        Series::Sand => Some(sample.sand),
        Series::Water => Some(sample.water),
        Series::Overlay => sample.overlay.filter(|(quantity, _)| Some(*quantity) == shown).map(|(_, value)| value),
    }
}

/// The colour of a probe and of its curve.
fn color(number: usize) -> Color32 {
    [style::SPRING, style::DRAIN, style::ACCENT, style::WARNING][number % 4]
}

/// The probes over the picture, and the click that pins one.
pub fn pins_ui(root: &mut Ui, view: egui::Rect, state: &PanelState<'_>, pinning: &mut Pinning) -> Option<Command> {
    let painter = root.painter().with_clip_rect(view);
    for (number, share) in state.probe_marks.0.iter().enumerate() {
        let Some(share) = share else { continue };
        let place = view.min + egui::vec2(share.x, share.y) * view.size();
        let head = place - egui::vec2(0.0, 2.2 * style::MARK_RADIUS);
        painter.line_segment([place, head], egui::Stroke::new(2.0, Color32::WHITE));
        painter.circle(head, style::MARK_RADIUS, color(number), egui::Stroke::new(1.5, Color32::WHITE));
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
