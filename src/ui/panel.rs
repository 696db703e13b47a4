//! What a panel is.

use bevy_egui::egui::Ui;

use super::{Kept, PanelState};
use crate::runtime::{Command, Workspace};

/// A panel of the column at the right of the view: a file that draws it, and a line in [`PANELS`](super::panels::PANELS).
pub struct Panel {
    /// Its unique name.
    pub key: &'static str,
    /// The heading under which it folds; without one it draws its own, if any.
    pub title: &'static str,
    /// Where it is seen.
    pub workspaces: &'static [Workspace],
    /// Where it is unfolded at first.
    pub unfolded: &'static [Workspace],
    /// Draws it, and returns what is asked for.
    pub draw: fn(&mut Ui, &PanelState<'_>, &mut Kept) -> Vec<Command>,
}

/// The workspaces that have panels.
pub const EVERYWHERE: &[Workspace] = &[Workspace::Sculpt, Workspace::Learn];
