//! What panels, keys and menus ask for.

use std::path::{Path, PathBuf};

use bevy::prelude::*;

use crate::{
    io::{
        export::{Dimensions, Export},
        project::Camera,
    },
    model::origin::Options,
    params::Value,
    sim::{
        edit::{Combine, Tool},
        quantity::Quantity,
        terrain::{Layer, Source},
    },
};

/// Whether the start of the run is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Before {
    /// The present alone.
    #[default]
    Off,
    /// The start alone.
    Alone,
    /// The start on the left, the present on the right of this share of the view's width.
    Split(f32),
}

/// Which panels there are.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workspace {
    /// All of them.
    #[default]
    Sculpt,
    /// What happens, few sliders, plots, slowly.
    Learn,
    /// None.
    Present,
}

/// What panels, keys and menus ask for. Each room does what is its own and leaves the rest.
#[derive(Message, Clone, Debug, PartialEq)]
pub enum Command {
    /// Play or pause.
    TogglePlay,
    /// Pause, and run so many ticks.
    Step(u32),
    /// Pause, and run the next stage of a tick.
    Stage,
    /// A multiple of the usual speed.
    SetSpeed(f32),
    /// From the start with the same seed, as a hand had shaped it.
    Restart,
    /// From the start with the same seed, as it was before a hand shaped it.
    RestartUnshaped,
    /// From the start with the next seed.
    NewSeed,
    /// From the start with this seed.
    SetSeed(u64),
    /// Another number of cells along the shorter side of a generated terrain, on the same ground.
    SetSize(u32),
    /// A parameter by group and name. One of the terrain starts again.
    Set(String, &'static str, Value),
    /// A process keeps off what is masked, or not.
    Limit(&'static str, bool),
    /// Combines the selection with the mask.
    Select(Combine),
    /// Exchanges what is masked for what is not.
    InvertMask,
    /// Frees everything from the mask.
    ClearMask,
    /// Other springs and drains in all sessions.
    SetSources(Vec<Source>),
    /// A process on or off.
    Enable(&'static str, bool),
    /// Shows the numbers of another of the runs side by side.
    Choose(usize),
    /// Takes a brush into the hand, or puts it away.
    Hold(Option<Tool>),
    /// Makes the brush so many steps larger, or smaller.
    ResizeBrush(i32),
    /// Sets a number of the brush by moving the pointer.
    DragBrush(&'static str),
    /// Takes back the stroke that is being made; without one, puts the brush away.
    Cancel,
    /// Loads a heightmap as what the stamp presses on the ground.
    LoadStamp(PathBuf),
    /// Asks for that heightmap.
    AskStamp,
    /// Takes the last step back.
    Undo,
    /// Does again what was taken back.
    Redo,
    /// Goes to a keyframe of the timeline.
    GoTo(u64),
    /// Goes so many steps back, or if negative forth.
    Jump(i32),
    /// Opens a scene by name, a scene file or a heightmap.
    Open(String, Options),
    /// Loads heights or a map into the present sessions.
    Load(Layer, PathBuf, Options),
    /// Writes a map of the chosen session; the name's ending tells the format.
    SaveMap(&'static str, PathBuf),
    /// Writes the chosen session as a scene file.
    SaveScene(PathBuf),
    /// Writes the parameters of a group, or of all, as a preset.
    SavePreset(Option<&'static str>, PathBuf),
    /// Sets the parameters that a preset holds.
    LoadPreset(PathBuf),
    /// Asks where to save the parameters of a group, or of all.
    AskSavePreset(Option<&'static str>),
    /// Asks for a preset.
    AskLoadPreset,
    /// Shows a folder in the system's file manager.
    OpenFolder(PathBuf),
    /// Puts the command that makes this run on the clipboard.
    CopyCommandLine,
    /// Lays a sheet of sand of so many metres on everything.
    SpreadSand(f32),
    /// Takes all sand away.
    RemoveSand,
    /// Takes all water away.
    Dry,
    /// Shows the start, the present, or both.
    ShowBefore(Before),
    /// Shows a quantity over the ground, or none.
    ShowOverlay(Option<Quantity>),
    /// Shows the last quantity over the ground, or none.
    ToggleOverlay,
    /// Arrows along the flow of the water, or none.
    ToggleArrows,
    /// Shows the water, or not.
    ToggleWater,
    /// Other panels.
    SetWorkspace(Workspace),
    /// The camera shows the whole map.
    FrameAll,
    /// The camera goes round the map, or stops.
    ToggleTurntable,
    /// A picture of the view, without panels.
    TakePicture,
    /// The window covers the screen, or not.
    ToggleFullScreen,
    /// Panels shown or hidden.
    ToggleUi,
    /// The list of all commands, to type a part of one's name.
    TogglePalette,
    /// Keys and mouse.
    ToggleHelp,
    /// What the program is and where it keeps things.
    ToggleAbout,
    /// The settings.
    ToggleSettings,
    /// The map of the wind's ways beside the sand.
    ToggleWindMap,
    /// Writes the work where it was last saved; asks where, if it never was.
    Save,
    /// Writes the work as a project.
    SaveProject(PathBuf),
    /// Asks where to save the work.
    AskSaveProject,
    /// Puts the eye there.
    PlaceCamera(Camera),
    /// Asks for a file to open.
    AskOpen,
    /// Asks for a file to import as heights or as another map.
    AskImport(Layer),
    /// Asks how a file that was chosen or dropped is to be imported.
    AskHow(Layer, PathBuf),
    /// Asks where to save a map.
    AskSaveMap(&'static str),
    /// Asks where to save the scene.
    AskSaveScene,
    /// Writes results of the chosen session into a folder, with a word before each name.
    Export(PathBuf, String, Vec<Export>, Dimensions),
    /// Asks what to export.
    AskExport,
    /// Asks into which folder.
    AskExportFolder,
    /// Gives up the work that a message tells of.
    CancelJob(u64),
    /// A message was read.
    Dismiss(u64),
    /// Work that was left behind by a breakdown is not wanted.
    ThrowAway(PathBuf),
    /// Ends the program; asks, if there is unsaved work.
    Quit,
    /// Ends the program, saved or not.
    QuitUnsaved,
    /// Ends the program as soon as the work is saved.
    SaveAndQuit,
    /// Does not end the program after all.
    Stay,
}

impl Command {
    /// The file that somebody chose for it.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::Open(input, _) => Some(Path::new(input)),
            Self::Load(_, path, _)
            | Self::SaveMap(_, path)
            | Self::SaveScene(path)
            | Self::LoadStamp(path)
            | Self::SaveProject(path)
            | Self::SavePreset(_, path)
            | Self::LoadPreset(path) => Some(path),
            _ => None,
        }
    }
}
