//! What is shown of the runs.

use super::Runtime;
use crate::{
    params::Value,
    runtime::{SPEEDS, ShowCommand, Workspace},
};

impl Runtime<'_> {
    pub(super) fn show(&mut self, command: &ShowCommand) {
        match command {
            ShowCommand::Before(before) => self.shown.0 = *before,
            ShowCommand::Overlay(quantity) => self.overlay.show(*quantity),
            ShowCommand::ToggleOverlay => self.overlay.toggle(),
            ShowCommand::ChooseRiver(place) => self.rivers.chosen = *place,
            ShowCommand::Pin(place) => self.probes.pin(*place),
            ShowCommand::Unpin(number) => {
                if *number < self.probes.pinned.len() {
                    self.probes.pinned.remove(*number);
                }
            }
            ShowCommand::Section(ends) => self.section.ends = *ends,
            ShowCommand::ToggleArrows => self.overlay.arrows = !self.overlay.arrows,
            ShowCommand::ToggleWater => {
                let shown = Value::Switch(!self.live.chosen().water_look.shown);
                self.set("water-look", "shown", &shown);
            }
            ShowCommand::Picture(id) => self.history.draw(*id),
            ShowCommand::Workspace(wanted) => {
                // Learning is slow; afterwards the speed is the usual one again.
                match (*self.workspace, wanted) {
                    (_, Workspace::Learn) => self.transport.speed = *SPEEDS.start(),
                    (Workspace::Learn, _) => self.transport.speed = 1.0,
                    _ => {}
                }
                // Nothing is sculpted by mistake during a presentation.
                if *wanted == Workspace::Present {
                    self.brushes.held = None;
                }
                *self.workspace = *wanted;
            }
        }
    }
}
