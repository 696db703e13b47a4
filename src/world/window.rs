//! What panels, dialogs and the window are asked for.

use bevy::prelude::*;

use super::CommandEvent;
/// Panels, dialogs and the window.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum WindowCommand {
    /// The window covers the screen, or not.
    ToggleFullScreen,
    /// Panels shown or hidden.
    ToggleUi,
    /// Opens or closes the pane of this key.
    Toggle(&'static str),
    /// Shows where a parameter is set, by its path.
    Seek(String),
    /// Writes the work where it was last saved; asks where, if it never was.
    Save,
    /// Tells the person what a panel found wrong.
    Say(String),
    /// Leaves what was begun last: a stroke, the brush, hidden panels, the workspace Present, or the full screen.
    Leave,
    /// Puts the command that makes this run on the clipboard.
    CopyCommandLine,
}

impl CommandEvent for WindowCommand {
    fn follows_strokes(&self) -> bool {
        // It asks to save the work.
        matches!(self, Self::Save)
    }
}
