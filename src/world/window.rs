//! Commands for panels, dialogs and the window.

use bevy::prelude::*;

use super::AppCommandEvent;
/// Command for panels, dialogs or the window.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum WindowCommand {
    /// Toggles fullscreen.
    ToggleFullScreen,
    /// Shows or hides the panels.
    ToggleUi,
    /// Opens or closes the floating window with this key.
    Toggle(&'static str),
    /// Reveals a parameter in its panel, by path.
    RevealParameter(String),
    /// Reveals the panel with this key.
    RevealPanel(&'static str),
    /// Saves the project to its file, or asks for a file if there is none.
    Save,
    /// Shows an error of a panel.
    ShowError(String),
    /// Cancels or leaves the innermost of: stroke, brush, hidden panels, Present workspace, fullscreen.
    Cancel,
    /// Copies the command line that reproduces this simulation.
    CopyCommandLine,
}

impl AppCommandEvent for WindowCommand {
    fn flushes_strokes(&self) -> bool {
        // Saving the project needs complete strokes.
        matches!(self, Self::Save)
    }
}
