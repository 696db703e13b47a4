//! What the next click on the land does: it pins a probe, releases a particle, or places a spring or a drain.

use bevy_egui::egui::{self, Align2, CursorIcon, Ui};

use super::{Kept, PanelState, access, springs, style};
use crate::runtime::{BrushCommand, Command, ParticleCommand, Placed, ProbeCommand};

/// A button that takes it in the hand, or puts it away.
pub(super) fn choice_ui(ui: &mut Ui, memory: &mut Kept, placed: Placed, (text, help): (&str, &str)) -> Option<Command> {
    let on = memory.placing == Some(placed);
    access::choice(ui, on, text).on_hover_text(help).clicked().then(|| {
        memory.empty_the_hand();
        memory.placing = (!on).then_some(placed);
        BrushCommand::Hold(None).into()
    })
}

/// What is to be done over the view, and how it is cancelled.
pub(super) fn hint_ui(root: &Ui, view: egui::Rect, text: &str) {
    let place = view.center_top() + egui::vec2(0.0, 40.0);
    let painter = root.painter().with_clip_rect(view);
    style::shaded_text(&painter, place, Align2::CENTER_CENTER, text, 13.0, style::SHADE);
    let over = root.interact(view, root.id().with("placing"), egui::Sense::hover());
    over.on_hover_cursor(CursorIcon::Crosshair);
}

/// Waits for the click, if something is to be placed.
pub(super) fn click_ui(root: &Ui, view: egui::Rect, state: &PanelState<'_>, memory: &mut Kept) -> Option<Command> {
    let placed = memory.placing?;
    hint_ui(root, view, "Click on the land. Esc cancels.");
    if root.input(|input| input.key_pressed(egui::Key::Escape)) {
        memory.placing = None;
        return None;
    }
    let place = state.pointed.0.filter(|_| access::clicks_land(root, view))?;
    memory.placing = None;
    Some(match placed {
        Placed::Probe => {
            // The newest is explained.
            memory.explained = None;
            ProbeCommand::Pin(place).into()
        }
        Placed::Particle => ParticleCommand::Release(place).into(),
        Placed::Spring | Placed::Drain => springs::place(state, place, placed, &mut memory.springs),
    })
}
