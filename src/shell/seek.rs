//! A parameter that is looked for: what hides it unfolds, and its row comes into sight, glows and has the keyboard.

use bevy_egui::egui::{self, Align, Id, Response, Stroke, StrokeKind, Ui};

use super::style::ACCENT;

/// How long its row glows, in seconds.
const GLOWS: f64 = 2.0;
/// How long what unfolds or opens takes until it comes to rest, in seconds.
const SETTLES: f64 = 0.4;
/// After so many seconds a parameter that is not shown anywhere is no longer looked for.
const PATIENCE: f64 = 3.0;

#[derive(Clone, Debug)]
struct Sought {
    path: String,
    since: f64,
    /// When its row was first drawn.
    found: Option<f64>,
}

fn id() -> Id {
    Id::new("the parameter that is looked for")
}

fn sought(context: &egui::Context) -> Option<Sought> {
    context.data(|data| data.get_temp(id()))
}

fn now(context: &egui::Context) -> f64 {
    context.input(|input| input.time)
}

/// Unfolds a panel by its key, and brings it into sight.
pub fn unfold(context: &egui::Context, panel: &str) {
    context.data_mut(|data| data.insert_temp(unfolded_id(), panel.to_owned()));
    context.request_repaint();
}

fn unfolded_id() -> Id {
    Id::new("the panel that unfolds")
}

/// Whether this panel unfolds now; it is said once.
pub fn unfolds(ui: &Ui, panel: &str) -> bool {
    let own = ui.data(|data| data.get_temp::<String>(unfolded_id()).is_some_and(|wanted| wanted == panel));
    if own {
        ui.data_mut(|data| data.remove::<String>(unfolded_id()));
    }
    own
}

/// Whether a parameter belongs to the person or to the hand, and not to a run.
pub fn is_of_the_person(path: &str) -> bool {
    ["settings.", "brush.", "selection."].iter().any(|group| path.starts_with(group))
}

/// Looks for a parameter by its path.
pub fn seek(context: &egui::Context, path: &str) {
    let sought = Sought { path: path.to_owned(), since: now(context), found: None };
    context.data_mut(|data| data.insert_temp(id(), sought));
    context.request_repaint();
}

/// Whether a parameter of this group is looked for and not found yet: then what hides it unfolds.
pub fn is_sought_in(ui: &Ui, group: &str) -> bool {
    let within = |sought: Sought| {
        let own = sought.path.split_once('.').is_some_and(|(of, _)| of == group);
        own && sought.found.is_none() && now(ui.ctx()) - sought.since < PATIENCE
    };
    sought(ui.ctx()).is_some_and(within)
}

/// The same of one parameter.
pub fn is_sought(ui: &Ui, path: &str) -> bool {
    path.split_once('.').is_some_and(|(group, _)| is_sought_in(ui, group))
        && sought(ui.ctx()).is_some_and(|sought| sought.path == path)
}

/// Shows the row of a parameter if it is the one that is looked for. `field` is what its number is set with.
pub fn meet(ui: &Ui, path: &str, row: &Response, field: &Response) {
    let Some(mut sought) = sought(ui.ctx()).filter(|sought| sought.path == path) else { return };
    let now = now(ui.ctx());
    if sought.found.is_none() && now - sought.since > PATIENCE {
        ui.data_mut(|data| data.remove::<Sought>(id()));
        return;
    }
    let found = *sought.found.get_or_insert(now);
    // A window that opens for it gives the keyboard to its first field a frame later.
    if now - found < SETTLES {
        field.request_focus();
    }
    let left = 1.0 - (now - found) / GLOWS;
    if left <= 0.0 {
        ui.data_mut(|data| data.remove::<Sought>(id()));
        return;
    }
    if now - found < SETTLES {
        row.scroll_to_me(Some(Align::Center));
    }
    let glow = Stroke::new(1.5, ACCENT.gamma_multiply(left as f32));
    ui.painter().rect_stroke(row.rect.expand2(egui::vec2(4.0, 2.0)), 4.0, glow, StrokeKind::Outside);
    ui.data_mut(|data| data.insert_temp(id(), sought));
    ui.ctx().request_repaint();
}
