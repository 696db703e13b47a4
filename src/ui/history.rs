//! The list of all steps.

use bevy_egui::egui::{self, RichText, Ui};

use super::{
    Kept, PanelState,
    panels::{EVERYWHERE, Panel},
    style,
};
use crate::{
    params::title,
    runtime::{BUDGET, Command, EditCommand},
};

/// All steps that can be undone and redone, to jump to any of them.
pub const PANEL: Panel = Panel { key: "history", title: "History", workspaces: EVERYWHERE, unfolded: &[], draw };

fn draw(ui: &mut Ui, state: &PanelState<'_>, _: &mut Kept) -> Vec<Command> {
    let mut asked = Vec::new();
    let (steps, done) = state.history.steps();
    let mut row = |ui: &mut Ui, number: usize, text: &str| {
        let here = number == done;
        let shown = RichText::new(text);
        let shown = if number > done { shown.weak() } else { shown };
        if ui.selectable_label(here, shown).clicked() && !here {
            asked.push(EditCommand::Jump(done as i32 - number as i32).into());
        }
    };
    let list = egui::ScrollArea::vertical()
        .id_salt("history")
        .max_height(style::LIST_HEIGHT)
        .min_scrolled_height(style::LIST_HEIGHT);
    list.stick_to_bottom(true).show(ui, |ui| {
        row(ui, 0, "As far back as is kept");
        for (index, step) in steps.enumerate() {
            row(ui, index + 1, &format!("{}. {}", index + 1, title(&step.to_string())));
        }
    });
    let megabytes = |bytes: usize| bytes as f64 / f64::from(1 << 20);
    let (steps, frames) = (state.history.bytes(), state.timeline.bytes());
    let text = format!(
        "{:.1} of {:.0} MiB, {:.1} of them in the timeline",
        megabytes(steps + frames),
        megabytes(BUDGET),
        megabytes(frames)
    );
    ui.label(RichText::new(text).small().weak())
        .on_hover_text("Beyond it, keyframes are thinned out and the oldest steps go.");
    asked
}
