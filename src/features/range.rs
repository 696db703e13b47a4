//! Mountain range panel: relief, ruggedness and age, and the button that grows the range.

use bevy::prelude::*;
use bevy_egui::egui::{RichText, Ui};

use crate::shell::{
    commands::buttons_ui,
    commands::{AddCommands, CommandTable, MenuSection},
    group::{group_ui, set},
    number::units,
    panel::{AddPanel, EVERYWHERE, SidebarPanel},
};
use crate::world::{AppCommand, Jobs, SimulationCommand, Simulations, amount::length};
use egui_phosphor::regular as icon;
use thalweg_sim::simulation::grow::{RangeParams, rising_extent, typical_relief};

const PANEL: SidebarPanel =
    SidebarPanel { key: "range", title: "Mountain range", workspaces: EVERYWHERE, unfolded: &[], in_lessons: false };

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui).add_commands("Simulation", 40, commands);
}

fn commands(table: &mut MenuSection) {
    let grow = "Replace the ground with a mountain range that has the relief, ruggedness and age set in the Mountain range panel. It \
        rises where the uplift map allows; erodibility and diffusivity of Uplift and rivers are adjusted to match.";
    table
        .add(icon::MOUNTAINS, "Grow mountain range", grow, &[], SimulationCommand::Grow)
        .set_aliases("mountains uplift landscape evolution");
}

fn panel_ui(
    InMut(ui): InMut<Ui>,
    simulations: Res<Simulations>,
    jobs: Res<Jobs>,
    table: Res<CommandTable>,
) -> Vec<AppCommand> {
    let session = simulations.selected();
    let mut asked = set("range", group_ui(ui, ("range", &session.range), ("range", &RangeParams::default()), false));
    let extent = rising_extent(&session.simulation.terrain);
    if session.range.relief == 0.0 && extent > 0.0 {
        let [typical, across] = [typical_relief(extent), extent].map(|metres| length(units(ui), metres, 0));
        ui.label(
            RichText::new(format!("Mountain ranges {across} across typically have a relief of {typical}."))
                .small()
                .weak(),
        );
    }
    asked.extend(buttons_ui(ui, (&jobs, &table), &[SimulationCommand::Grow.into()]));
    asked
}
