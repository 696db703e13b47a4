//! The panel of the range that is to grow: its relief, ruggedness and age, and the button that grows it.

use bevy_egui::egui::{RichText, Ui};

use super::{
    Kept, PanelState,
    group::{group_ui, set},
    number::units,
    panel::{EVERYWHERE, Panel},
    terrain::buttons_ui,
};
use crate::runtime::{Command, RunCommand, amount::length};
use thalweg_sim::simulation::grow::{RangeParams, rising_extent, typical_relief};

pub const PANEL: Panel = Panel { key: "range", title: "Mountain range", workspaces: EVERYWHERE, unfolded: &[], draw };

fn draw(ui: &mut Ui, state: &PanelState<'_>, _: &mut Kept) -> Vec<Command> {
    let session = state.simulations.selected();
    let mut asked = set("range", group_ui(ui, ("range", &session.range), ("range", &RangeParams::default()), false));
    let extent = rising_extent(&session.simulation.terrain);
    if session.range.relief == 0.0 && extent > 0.0 {
        let [typical, across] = [typical_relief(extent), extent].map(|metres| length(units(ui), metres, 0));
        ui.label(RichText::new(format!("Real ranges {across} across are about {typical} high.")).small().weak());
    }
    asked.extend(buttons_ui(ui, state, &[RunCommand::Grow.into()]));
    asked
}
