//! Overlay panel: the quantity shown over the terrain, and flow arrows.

use bevy::prelude::*;
use bevy_egui::egui::{self, Key, RichText, Ui};

use crate::shell::{
    access,
    commands::{AddCommands, MenuSection, NONE, SHIFT},
    number::units,
    panel::{AddPanel, EVERYWHERE, SidebarPanel},
    style,
};
use crate::world::{AppCommand, EditCommand, Overlay, OverlayCommand, Simulations, amount::length};
use egui_phosphor::regular as icon;
use thalweg_sim::core::quantity::Quantity;

const PANEL: SidebarPanel =
    SidebarPanel { key: "overlays", title: "Overlays", workspaces: EVERYWHERE, unfolded: &[], in_lessons: true };

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui).add_commands("View", 30, commands);
}

fn commands(table: &mut MenuSection) {
    let water = "Show or hide the water.";
    table
        .add(icon::WAVES, "-Water", water, &[(NONE, Key::W)], EditCommand::ToggleWater)
        .set_aliases("hide show ocean sea");
    let overlay = "Show or hide the most recent overlay and its legend.";
    table.add(icon::GRADIENT, "Overlay", overlay, &[(NONE, Key::O)], OverlayCommand::Toggle);
    let arrows =
        "Show or hide arrows along the water flow, or along the flow of droplets if the overlay shows their discharge.";
    table
        .add(icon::ARROW_UP_RIGHT, "Flow arrows", arrows, &[(SHIFT, Key::O)], OverlayCommand::ToggleArrows)
        .set_aliases("vectors velocity");
    table.submenu = Some("Overlays");
    for quantity in Quantity::all() {
        let title = format!("Overlay: {}", quantity.title().to_lowercase());
        table.add(icon::GRADIENT, &title, quantity.about(), &[], OverlayCommand::Show(Some(quantity)));
    }
    table.submenu = None;
}

fn panel_ui(InMut(ui): InMut<Ui>, simulations: Res<Simulations>, overlay: Res<Overlay>) -> Vec<AppCommand> {
    let mut commands = Vec::new();
    let title = |quantity: Option<Quantity>| quantity.map_or("None", Quantity::title);
    let list = egui::ComboBox::from_id_salt("overlay")
        .close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside)
        .width(style::WIDE_CHOICE_WIDTH)
        .selected_text(title(overlay.shown))
        .show_ui(ui, |ui| {
            access::begin_list(ui);
            let search = access::list_search(ui, Quantity::all().count());
            let offered = std::iter::once(None).chain(Quantity::all().map(Some));
            for quantity in offered.filter(|&quantity| search.finds(title(quantity))) {
                let about = quantity.map_or("Show the terrain without an overlay.", Quantity::about);
                let label = access::choice(ui, overlay.shown == quantity, title(quantity));
                if label.on_hover_text(about).clicked() {
                    commands.push(OverlayCommand::Show(quantity).into());
                    ui.close();
                }
            }
        });
    access::name(&list.response, "Overlay");
    let mut arrows = overlay.arrows;
    let help = "Show arrows along the water flow, longer where it is faster.";
    if ui.checkbox(&mut arrows, "Flow arrows").on_hover_text(help).changed() {
        commands.push(OverlayCommand::ToggleArrows.into());
    }
    if overlay.shown == Some(Quantity::Difference) {
        difference_ui(ui, &simulations, &overlay);
    }
    commands
}

/// Draws statistics of the difference between the selected simulation and the first.
fn difference_ui(ui: &mut Ui, simulations: &Simulations, overlay: &Overlay) {
    if simulations.all().len() < 2 {
        let text = "There is only one simulation. Start several with Simulation ▸ Simulations side by side.";
        ui.label(RichText::new(text).weak());
        return;
    }
    if simulations.selected_index() == 0 {
        ui.label(
            RichText::new("This is the first simulation. To compare, click the name of another one below its block.")
                .weak(),
        );
        return;
    }
    let Some(Some(found)) = overlay.differences.get(simulations.selected_index()) else {
        ui.label(RichText::new("The maps of the two simulations differ in size.").weak());
        return;
    };
    let metres = |value: f64| length(units(ui), value, 2);
    let rows = [
        ("Mean difference", metres(found.mean), "Mean height of this simulation minus that of the first."),
        ("RMS difference", metres(found.size), "Root mean square of the difference over all cells."),
        (
            "Range",
            format!("{} to {}", metres(found.range.0.into()), metres(found.range.1.into())),
            "Smallest and largest difference.",
        ),
        (
            "Correlation of changes",
            found.correlation.map_or("none".to_owned(), |correlation| format!("{correlation:.3}")),
            "Correlation between the changes of both simulations since the start: 1 if both changed in the same way everywhere.",
        ),
    ];
    egui::Grid::new("difference").num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        for (name, value, help) in rows {
            style::value_row(ui, name, value, help);
        }
    });
}
