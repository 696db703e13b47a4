//! The panel of the range that is to grow: its relief, ruggedness and age, and the button that grows it.

use bevy::prelude::*;
use bevy_egui::egui::{RichText, Ui};

use super::{
    group::{group_ui, set},
    number::units,
    panel::{EVERYWHERE, Panel},
    terrain::buttons_ui,
};
use crate::runtime::{Command, Jobs, RunCommand, Simulations, amount::length};
use thalweg_sim::simulation::grow::{RangeParams, rising_extent, typical_relief};

pub const PANEL: Panel = Panel { key: "range", title: "Mountain range", workspaces: EVERYWHERE, unfolded: &[] };

pub(super) fn panel_ui(InMut(ui): InMut<Ui>, simulations: Res<Simulations>, jobs: Res<Jobs>) -> Vec<Command> {
    let session = simulations.selected();
    let mut asked = set("range", group_ui(ui, ("range", &session.range), ("range", &RangeParams::default()), false));
    let extent = rising_extent(&session.simulation.terrain);
    if session.range.relief == 0.0 && extent > 0.0 {
        let [typical, across] = [typical_relief(extent), extent].map(|metres| length(units(ui), metres, 0));
        ui.label(RichText::new(format!("Real ranges {across} across are about {typical} high.")).small().weak());
    }
    asked.extend(buttons_ui(ui, &jobs, &[RunCommand::Grow.into()]));
    asked
}
