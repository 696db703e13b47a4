//! What panels, dialogs and the window are asked for.

use std::{path::PathBuf, sync::Arc};

use bevy::prelude::*;

use super::CommandEvent;
use thalweg_scene::model::{chart::Chart, playlist::Playlist};
use thalweg_sim::core::terrain::Layer;

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
    /// Asks for a file or a folder.
    Ask(Dialog),
    /// Asks how a file that was chosen or dropped is to be imported.
    AskHow(Layer, PathBuf),
    /// Asks where to save a chart.
    AskChart(Box<Chart>),
    /// Asks where to save a playlist.
    AskPlaylist(Arc<Playlist>),
    /// Asks what to export.
    AskExport,
    /// Writes the work where it was last saved; asks where, if it never was.
    Save,
    /// Tells the person what a panel found wrong.
    Say(String),
    /// Leaves what was begun last: a stroke, the brush, hidden panels, the workspace Present, or the full screen.
    Leave,
    /// Puts the command that makes this run on the clipboard.
    CopyCommandLine,
}

impl CommandEvent for WindowCommand {}

/// What a dialog for files asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialog {
    /// A file to open.
    Open,
    /// A file to import as heights or as another map.
    Import(Layer),
    /// A heightmap to stamp with.
    Stamp,
    /// A preset to load.
    LoadPreset,
    /// Where to save the parameters of a group, or of all.
    SavePreset(Option<&'static str>),
    /// Where to save a map.
    SaveMap(&'static str),
    /// Where to save the numbers of the probes.
    SaveProbes,
    /// Where to save a chart.
    SaveChart,
    /// Where to save a playlist.
    SavePlaylist,
    /// A file to add to a playlist.
    AddToPlaylist,
    /// Where to save what the checks of this machine found.
    SaveChecks,
    /// Where to save a copy of the lesson.
    SaveLesson,
    /// Where to save the report of the lesson.
    SaveReport,
    /// Where to save the scene.
    SaveScene,
    /// Where to save the work.
    SaveProject,
    /// A folder to export into.
    ExportFolder,
}
