//! What is shown of the runs.

use super::Runtime;
use crate::runtime::{Comparison, Gait, Level, ShowCommand, Way};
use thalweg_sim::params::Value;

impl Runtime<'_> {
    pub(super) fn show(&mut self, command: &ShowCommand) {
        match command {
            ShowCommand::Compare(Comparison::Runs(_)) | ShowCommand::Flicker if self.simulations.all().len() < 2 => {
                let text = "There is one run. To compare it with others, choose Runs side by side in the menu Run.";
                self.notices.tell(Level::Info, text);
            }
            ShowCommand::Compare(before) => self.shown.0 = *before,
            ShowCommand::Flicker => {
                let left = matches!(self.shown.0, Comparison::Runs(share) if share < 0.5);
                self.shown.0 = Comparison::Runs(if left { 1.0 } else { 0.0 });
            }
            ShowCommand::Overlay(quantity) => self.overlay.show(*quantity),
            ShowCommand::ToggleOverlay => self.overlay.toggle(),
            ShowCommand::ChooseRiver(place) => self.rivers.chosen = *place,
            ShowCommand::Pin(place) => self.probes.pin(*place),
            ShowCommand::Unpin(number) => {
                if *number < self.probes.pinned.len() {
                    self.probes.pinned.remove(*number);
                }
            }
            ShowCommand::Release(place) => self.release(*place),
            ShowCommand::Unfollow => self.followed.way = None,
            ShowCommand::Section(ends) => self.section.ends = *ends,
            ShowCommand::CutAway => self.section.opens = !self.section.opens,
            ShowCommand::ToggleArrows => self.overlay.arrows = !self.overlay.arrows,
            ShowCommand::ToggleWater => {
                let shown = Value::Switch(!self.simulations.selected().water_look.shown);
                self.set("water-look", "shown", &shown);
            }
            ShowCommand::KeepView(number) => self.keep_view(*number),
            ShowCommand::Picture(id) => self.history.draw(*id),
            ShowCommand::Workspace(wanted) => self.workspace.set_if_neq(*wanted),
        }
    }

    /// Keeps where the eye is under a number.
    fn keep_view(&mut self, number: usize) {
        if *self.gait != Gait::Orbit {
            let text = "A view is kept while the camera goes round the land: end walking or flying with Esc first.";
            self.notices.tell(Level::Info, text);
            return;
        }
        let (Some(place), Some(camera)) =
            (number.checked_sub(1).and_then(|index| self.simulations.views.numbered.get_mut(index)), self.eye.camera)
        else {
            return;
        };
        *place = Some(camera);
        self.history.note_change();
        let text = format!(
            "View {number} is kept, and saved with the project. {number} goes there in the workspace Present, View ▸ Kept views everywhere."
        );
        self.notices.tell(Level::Info, text);
    }

    /// Lets a particle run from a place on a copy of the land.
    fn release(&mut self, place: [f32; 2]) {
        self.transport.pause();
        if !self.simulations.between_ticks() {
            self.simulations.finish_tick();
            self.revision.goes_on();
        }
        // It runs on a copy.
        if !self.has_room(self.simulations.selected().bytes()) {
            return;
        }
        let of = (self.revision.start, self.simulations.selected_index());
        let simulation = &self.simulations.selected().simulation;
        let has_particles =
            simulation.slots.iter().any(|slot| slot.enabled && matches!(slot.key(), "droplets" | "wind"));
        self.followed.way = Way::of(simulation, place, of);
        self.followed.releases += 1;
        if self.followed.way.is_none() {
            let text = if has_particles {
                "No particle can run from this place: it would stop at once, or the wind is in its default mode, which has no grains."
            } else {
                "No process that is on has particles: switch on Droplets, or Wind in its published mode."
            };
            self.notices.tell(Level::Info, text);
        }
    }
}
