//! Overlays: which quantity is shown over the ground, and the legend of its colours.

use bevy::prelude::*;
use bevy_egui::egui::{self, Key, RichText, Ui};

use crate::shell::{
    access,
    commands::{AddCommands, MenuPart, NONE, SHIFT},
    number::units,
    panel::{AddPanel, EVERYWHERE, Panel},
    style,
};
use crate::world::{Command, EditCommand, Overlay, OverlayCommand, Simulations, amount::length};
use egui_phosphor::regular as icon;
use thalweg_sim::core::quantity::Quantity;

const PANEL: Panel =
    Panel { key: "overlays", title: "Overlays", workspaces: EVERYWHERE, unfolded: &[], in_lessons: true };

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui).add_commands("View", 30, commands);
}

fn commands(table: &mut MenuPart) {
    let water = "Shows the water, or the bed without it.";
    table
        .add(icon::WAVES, "-Water", water, &[(NONE, Key::W)], EditCommand::ToggleWater)
        .known_as("hide show ocean sea");
    let overlay = "Shows the last quantity over the ground, with its legend, or the ground itself.";
    table.add(icon::GRADIENT, "Overlay", overlay, &[(NONE, Key::O)], OverlayCommand::Toggle);
    let arrows = "Arrows along the flow of the water, or of the droplets where their discharge is shown.";
    table
        .add(icon::ARROW_UP_RIGHT, "Flow arrows", arrows, &[(SHIFT, Key::O)], OverlayCommand::ToggleArrows)
        .known_as("vectors velocity");
    table.group = Some("Overlays");
    for quantity in Quantity::all() {
        let title = format!("Overlay: {}", quantity.title().to_lowercase());
        table.add(icon::GRADIENT, &title, quantity.about(), &[], OverlayCommand::Show(Some(quantity)));
    }
    table.group = None;
}

fn panel_ui(InMut(ui): InMut<Ui>, simulations: Res<Simulations>, overlay: Res<Overlay>) -> Vec<Command> {
    let mut commands = Vec::new();
    let title = |quantity: Option<Quantity>| quantity.map_or("Ground", Quantity::title);
    let list = egui::ComboBox::from_id_salt("overlay")
        .width(style::WIDE_CHOICE_WIDTH)
        .selected_text(title(overlay.shown))
        .show_ui(ui, |ui| {
            access::begin_list(ui);
            for quantity in std::iter::once(None).chain(Quantity::all().map(Some)) {
                let about = quantity.map_or("The ground as it looks.", Quantity::about);
                let label = access::choice(ui, overlay.shown == quantity, title(quantity));
                if label.on_hover_text(about).clicked() {
                    commands.push(OverlayCommand::Show(quantity).into());
                    ui.close();
                }
            }
        });
    access::name(&list.response, "Quantity over the ground");
    let mut arrows = overlay.arrows;
    let help = "Along the flow of the water; longer where it is faster.";
    if ui.checkbox(&mut arrows, "Flow arrows").on_hover_text(help).changed() {
        commands.push(OverlayCommand::ToggleArrows.into());
    }
    if overlay.shown == Some(Quantity::Difference) {
        difference_ui(ui, &simulations, &overlay);
    }
    commands
}

/// How much the chosen run differs from the first, in numbers.
fn difference_ui(ui: &mut Ui, simulations: &Simulations, overlay: &Overlay) {
    if simulations.all().len() < 2 {
        let text = "There is only one run. Run ▸ Runs side by side starts several with different parameters.";
        ui.label(RichText::new(text).weak());
        return;
    }
    if simulations.selected_index() == 0 {
        ui.label(
            RichText::new("This is the first run. To compare, click on the name of another run below its block.")
                .weak(),
        );
        return;
    }
    let Some(Some(found)) = overlay.differences.get(simulations.selected_index()) else {
        ui.label(RichText::new("The maps of the two runs differ in size.").weak());
        return;
    };
    let metres = |value: f64| length(units(ui), value, 2);
    let rows = [
        ("Mean difference", metres(found.mean), "How much higher this run lies than the first, on average."),
        ("Size of differences", metres(found.size), "Root mean square over all cells."),
        (
            "From … to",
            format!("{} to {}", metres(found.range.0.into()), metres(found.range.1.into())),
            "The smallest and the largest difference.",
        ),
        (
            "Similarity of changes",
            found.alike.map_or("none".to_owned(), |alike| format!("{alike:.3}")),
            "Correlation between the changes of both runs since the start. It is 1 if both changed the same places in the same way.",
        ),
    ];
    egui::Grid::new("difference").num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        for (name, value, help) in rows {
            style::value_row(ui, name, value, help);
        }
    });
}
