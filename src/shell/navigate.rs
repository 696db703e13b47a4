//! Navigation to a parameter: its panel is expanded, and its row is scrolled into view, highlighted and focused.

use bevy_egui::egui::{self, Align, Id, Response, Stroke, StrokeKind, Ui};

use super::style::ACCENT;

/// Duration of the highlight, in seconds.
const HIGHLIGHT_TIME: f64 = 2.0;
/// Duration of the opening animation of panels and windows, in seconds.
const ANIMATION_TIME: f64 = 0.4;
/// Timeout in seconds if the parameter is not displayed anywhere.
const TIMEOUT: f64 = 3.0;

/// Parameter to navigate to.
#[derive(Clone, Debug)]
struct NavigationTarget {
    path: String,
    /// Time of the request.
    since: f64,
    /// Time at which its row was first drawn.
    found: Option<f64>,
}

fn id() -> Id {
    Id::new("navigation target")
}

fn sought(context: &egui::Context) -> Option<NavigationTarget> {
    context.data(|data| data.get_temp(id()))
}

fn now(context: &egui::Context) -> f64 {
    context.input(|input| input.time)
}

/// Expands a panel by its key and scrolls it into view.
pub fn unfold(context: &egui::Context, panel: &str) {
    context.data_mut(|data| data.insert_temp(unfolded_id(), panel.to_owned()));
    context.request_repaint();
}

fn unfolded_id() -> Id {
    Id::new("expanded panel")
}

/// Returns `true` once if this panel is to be expanded now.
pub fn take_expansion(ui: &Ui, panel: &str) -> bool {
    let own = ui.data(|data| data.get_temp::<String>(unfolded_id()).is_some_and(|wanted| wanted == panel));
    if own {
        ui.data_mut(|data| data.remove::<String>(unfolded_id()));
    }
    own
}

/// Returns `true` if a parameter belongs to the settings, brush or selection, not to a simulation.
pub fn is_user_parameter(path: &str) -> bool {
    ["settings.", "brush.", "selection."].iter().any(|group| path.starts_with(group))
}

/// Navigates to a parameter by its path.
pub fn navigate_to(context: &egui::Context, path: &str) {
    let sought = NavigationTarget { path: path.to_owned(), since: now(context), found: None };
    context.data_mut(|data| data.insert_temp(id(), sought));
    context.request_repaint();
}

/// Returns `true` if a parameter of this group is sought and not displayed yet, so that its panel must be expanded.
pub fn has_navigation_target(ui: &Ui, group: &str) -> bool {
    let within = |sought: NavigationTarget| {
        let own = sought.path.split_once('.').is_some_and(|(of, _)| of == group);
        own && sought.found.is_none() && now(ui.ctx()) - sought.since < TIMEOUT
    };
    sought(ui.ctx()).is_some_and(within)
}

/// Returns `true` if this parameter is sought and not displayed yet.
pub fn is_navigation_target(ui: &Ui, path: &str) -> bool {
    path.split_once('.').is_some_and(|(group, _)| has_navigation_target(ui, group))
        && sought(ui.ctx()).is_some_and(|sought| sought.path == path)
}

/// Scrolls to, highlights and focuses the row of a parameter if it is sought. `field` is its editing widget.
pub fn highlight(ui: &Ui, path: &str, row: &Response, field: &Response) {
    let Some(mut sought) = sought(ui.ctx()).filter(|sought| sought.path == path) else { return };
    let now = now(ui.ctx());
    if sought.found.is_none() && now - sought.since > TIMEOUT {
        ui.data_mut(|data| data.remove::<NavigationTarget>(id()));
        return;
    }
    let found = *sought.found.get_or_insert(now);
    // A window that opens for it focuses its own first field a frame later.
    if now - found < ANIMATION_TIME {
        field.request_focus();
    }
    let left = 1.0 - (now - found) / HIGHLIGHT_TIME;
    if left <= 0.0 {
        ui.data_mut(|data| data.remove::<NavigationTarget>(id()));
        return;
    }
    if now - found < ANIMATION_TIME {
        row.scroll_to_me(Some(Align::Center));
    }
    let glow = Stroke::new(1.5, ACCENT.gamma_multiply(left as f32));
    ui.painter().rect_stroke(row.rect.expand2(egui::vec2(4.0, 2.0)), 4.0, glow, StrokeKind::Outside);
    ui.data_mut(|data| data.insert_temp(id(), sought));
    ui.ctx().request_repaint();
}
