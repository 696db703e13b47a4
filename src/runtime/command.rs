//! What panels, keys and menus ask for, grouped by the room that obeys it.
//!
//! Each group is matched in one place without a wildcard, so that a command that no room obeys does not compile.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bevy::prelude::*;

use super::{Gait, Simulations, Workspace};
use thalweg_scene::{
    io::{
        NewLand,
        export::{Dimensions, Export},
        project::Camera,
    },
    model::{
        chart::Chart,
        film::Ease,
        lesson::{Answer, Lesson},
        origin::{Options, Tile},
        playlist::Playlist,
    },
};
use thalweg_sim::{
    core::{
        quantity::Quantity,
        terrain::{Layer, Source},
    },
    edit::{Combine, Tool},
    hydrology::breach::Limits,
    params::Value,
};

/// What of the runs is seen: as they are, as they began, both, or two of them on the same place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Comparison {
    /// The present alone.
    #[default]
    Off,
    /// The start alone.
    Start,
    /// The start on the left, the present on the right of this share of the view's width.
    Split(f32),
    /// One of several runs on the left and another on the right of this share: see [`Comparison::pair`]. At 0 and at 1 one is seen alone.
    Runs(f32),
}

impl Comparison {
    /// The runs that are seen on the same place, by their numbers, if two are: the first and the chosen one, or the first two.
    pub fn pair(self, simulations: &Simulations) -> Option<[usize; 2]> {
        let wanted = matches!(self, Self::Runs(_)) && simulations.all().len() > 1;
        wanted.then(|| [0, simulations.selected_index().max(1)])
    }

    /// Whether the start is seen.
    pub fn shows_start(self) -> bool {
        matches!(self, Self::Start | Self::Split(_))
    }
}

/// Declares [`Command`]; each of its groups becomes one, and can be compared with one.
macro_rules! groups {
    ($($(#[$doc:meta])* $name:ident($group:ident),)*) => {
        /// What panels, keys and menus ask for.
        #[derive(Message, Clone, Debug, PartialEq)]
        pub enum Command {
            $($(#[$doc])* $name($group),)*
        }

        $(impl From<$group> for Command {
            fn from(command: $group) -> Self {
                Self::$name(command)
            }
        }

        impl PartialEq<$group> for Command {
            fn eq(&self, other: &$group) -> bool {
                matches!(self, Self::$name(command) if command == other)
            }
        })*
    };
}

groups! {
    /// Time, starts and the chosen run; obeyed in `runtime/obey/run.rs`.
    Run(RunCommand),
    /// Parameters, layers and undo; obeyed in `runtime/obey/edit.rs`.
    Edit(EditCommand),
    /// Files, messages and the end of the program; obeyed in `runtime/obey/file.rs`.
    File(FileCommand),
    /// What is shown of the runs; obeyed in `runtime/obey/show.rs`.
    Show(ShowCommand),
    /// The lesson, the checks of this machine, and what was measured; obeyed in `runtime/obey/learn.rs`.
    Learn(LearnCommand),
    /// The keys of the camera along the run; obeyed in `runtime/obey/keys.rs`.
    Key(KeyCommand),
    /// The scenes of a playlist; obeyed in `runtime/obey/present.rs`.
    Present(PresentCommand),
    /// The brush in the hand; obeyed in `tools`.
    Brush(BrushCommand),
    /// The camera; obeyed in `view`.
    View(ViewCommand),
    /// Panels, dialogs and the window; obeyed in `ui`.
    Window(WindowCommand),
}

/// Time, starts and the chosen run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunCommand {
    /// Play or pause.
    TogglePlay,
    /// Pause, and run so many ticks.
    Step(u32),
    /// Pause, and run the next stage of a tick.
    Stage,
    /// Play stage by stage, so many in a second, or tick by tick.
    SlowMotion(Option<f32>),
    /// A multiple of the usual speed.
    SetSpeed(f32),
    /// From the start with the same seed, as it was shaped by hand.
    Restart,
    /// From the start with the same seed, as it was before it was shaped by hand.
    RestartUnshaped,
    /// From the start with the next seed.
    NewSeed,
    /// From the start with this seed.
    SetSeed(u64),
    /// Another number of cells along the shorter side of a generated terrain, on the same ground.
    SetSize(u32),
    /// Grows a range in the place of the ground, beside the frames, and starts again from it.
    Grow,
    /// Begins so many runs side by side, each with the chosen one's parameters but for those of its tile; without tiles, the chosen one
    /// goes on alone.
    SideBySide(Vec<Tile>),
    /// Shows the numbers of another of the runs side by side.
    Choose(usize),
    /// Goes to a place of the history.
    GoTo(u64),
}

/// Parameters, layers and undo.
#[derive(Clone, Debug, PartialEq)]
pub enum EditCommand {
    /// A parameter by group and name. One of the terrain starts again.
    Set(String, &'static str, Value),
    /// A process on or off.
    Enable(&'static str, bool),
    /// A process leaves masked ground alone, or not.
    Limit(&'static str, bool),
    /// Combines the selection with the mask.
    Select(Combine),
    /// Exchanges what is masked for what is not.
    InvertMask,
    /// Frees everything from the mask.
    ClearMask,
    /// Other springs and drains in all sessions.
    SetSources(Vec<Source>),
    /// Lays a sheet of sand of so many metres on everything.
    SpreadSand(f32),
    /// Takes all sand away.
    RemoveSand,
    /// Takes all water away.
    Dry,
    /// Cuts outlets for hollows, as far as the limits allow.
    CarveOutlets(Limits),
    /// Fills every hollow with water up to its pass.
    FillLakes,
    /// Fills rivers and lakes as rain and springs keep them.
    FillRivers,
    /// Takes the last step back.
    Undo,
    /// Does again what was taken back.
    Redo,
}

/// Files, messages and the end of the program.
#[derive(Clone, Debug, PartialEq)]
pub enum FileCommand {
    /// Opens a scene by name, a scene file, a project or a heightmap.
    Open(PathBuf, Options),
    /// Begins on new land.
    New(Box<NewLand>),
    /// Loads heights or a map into the present sessions.
    Load(Layer, PathBuf, Options),
    /// Loads a heightmap as what the stamp presses on the ground.
    LoadStamp(PathBuf),
    /// Writes a map of the chosen session; the name's ending tells the format.
    SaveMap(&'static str, PathBuf),
    /// Writes the chosen session as a scene file.
    SaveScene(PathBuf),
    /// Writes the work as a project.
    SaveProject(PathBuf),
    /// Writes the parameters of a group, or of all, as a preset.
    SavePreset(Option<&'static str>, PathBuf),
    /// Sets the parameters that a preset holds.
    LoadPreset(PathBuf),
    /// Sets the parameters of the preset of this name that comes with the program.
    UsePreset(&'static str),
    /// Writes results of the chosen session into a folder, with a word before each name.
    Export(PathBuf, String, Vec<Export>, Dimensions),
    /// Shows the reference in the system's browser, at the parameter or the process of this name, or its beginning.
    OpenReference(Option<String>),
    /// Shows a folder in the system's file manager.
    OpenFolder(PathBuf),
    /// Gives up the work that a message tells of.
    CancelJob(u64),
    /// A message was read.
    Dismiss(u64),
    /// Deletes work that was left behind by a breakdown.
    ThrowAway(PathBuf),
    /// Ends the program; asks, if there is unsaved work.
    Quit,
    /// Ends the program, saved or not.
    QuitUnsaved,
    /// Ends the program as soon as the work is saved.
    QuitWhenSaved,
    /// Does not end the program after all.
    Stay,
}

/// What is shown of the runs.
#[derive(Clone, Debug, PartialEq)]
pub enum ShowCommand {
    /// The start, the present, or both; or two runs on the same place.
    Compare(Comparison),
    /// The one or the other of two runs on the same place.
    Flicker,
    /// A quantity over the ground, or none.
    Overlay(Option<Quantity>),
    /// The last quantity over the ground, or none.
    ToggleOverlay,
    /// The largest river near a place, as shares of the map's sides, or the largest of all.
    ChooseRiver(Option<[f32; 2]>),
    /// Pins a probe to a place, which is given as shares of the map's sides.
    Pin([f32; 2]),
    /// Takes the probe of this number away, from 0.
    Unpin(usize),
    /// Releases a particle at a place, as shares of the map's sides, and follows it.
    Release([f32; 2]),
    /// Stops following the particle.
    Unfollow,
    /// The line of the section, as shares of the map's sides, or none.
    Section(Option<[[f32; 2]; 2]>),
    /// Cuts the block open along the line of the section, or closes it.
    CutAway,
    /// Arrows along the flow of the water, or none.
    ToggleArrows,
    /// The water, or the bed without it.
    ToggleWater,
    /// Keeps where the eye is under this number, from 1 to 9.
    KeepView(usize),
    /// A small picture of a place of the history.
    Picture(u64),
    /// Other panels.
    Workspace(Workspace),
}

/// The lesson, the checks, and what was measured.
#[derive(Clone, Debug, PartialEq)]
pub enum LearnCommand {
    /// Answers the question or the prediction with this key.
    Answer(String, Answer),
    /// Takes the number that the student has read, and measures it too.
    Read(f64),
    /// Makes the run of the step that is shown.
    Run,
    /// Shows which answer was right.
    Reveal,
    /// Goes to the next step, if this one is done.
    Next,
    /// Goes to the step before.
    Back,
    /// Opens a lesson on the session that stands there.
    Teach(Box<Lesson>),
    /// Opens the lesson from its start; answers stay.
    Reopen,
    /// Forgets all answers, and begins the lesson again.
    Again,
    /// Brings back the answers that were forgotten last.
    BringBack,
    /// Closes the lesson.
    Close,
    /// Begins two runs that differ in one parameter, and asks which.
    AskQuestion,
    /// Answers the question with the number of an option, from 0.
    Guess(usize),
    /// Checks this machine against what is known exactly.
    Check,
    /// Writes the numbers of the probes as a table.
    SaveProbes(PathBuf),
    /// Writes a chart as the file's ending says.
    SaveChart(Box<Chart>, PathBuf),
    /// Writes down what the checks found.
    SaveChecks(PathBuf),
    /// The student's name, for the report.
    Name(String),
    /// Writes the report.
    SaveReport(PathBuf),
    /// Writes a copy of the lesson's file.
    SaveCopy(PathBuf),
}

/// The keys of the camera along the run, by their ticks.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyCommand {
    /// Sets one at the present tick, where the camera is.
    Set,
    /// Takes one away.
    Remove(u64),
    /// How the camera goes on from one.
    Then(u64, Ease),
    /// Moves one from a tick to another.
    Move(u64, u64),
    /// Lets the camera go along them; asked again, stops that.
    Follow,
    /// The camera goes along them no more.
    Rest,
}

/// The brush in the hand.
#[derive(Clone, Debug, PartialEq)]
pub enum BrushCommand {
    /// Takes a brush into the hand, or puts it away.
    Hold(Option<Tool>),
    /// Makes the brush so many steps larger, or smaller.
    Resize(i32),
    /// Takes back the stroke that is being made; without one, puts the brush away.
    Cancel,
}

/// The camera.
#[derive(Clone, Debug, PartialEq)]
pub enum ViewCommand {
    /// The camera shows the whole map.
    FrameAll,
    /// The camera shows the whole of a new map, from the same side as before.
    FrameAgain,
    /// The camera goes round the map, or stops.
    ToggleTurntable,
    /// Moves the camera a step.
    Move(CameraStep),
    /// Puts the eye there.
    PlaceCamera(Camera),
    /// Puts the eye where a view was kept under this number, from 1 to 9.
    GoToView(usize),
    /// Puts the eye where the key at this tick has it.
    GoToKey(u64),
    /// The camera walks or flies; asked again, it goes round the land as before.
    Go(Gait),
    /// A picture of the view, without panels.
    TakePicture,
    /// A picture of the window, with panels.
    TakeWindow,
    /// Films the window from now on; asked again, ends the film.
    Record,
}

/// A step of the camera, as a key asks for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CameraStep {
    /// Round the place that it looks at, by so many degrees, and up, by so many more.
    Turn(f32, f32),
    /// To where it looks from so many degrees from the south through the east, and from so many above the table, by the shorter way.
    From(f32, f32),
    /// Along the table, to the right and away, as shares of its distance.
    Shift(f32, f32),
    /// Nearer by this factor.
    Near(f32),
}

/// The scenes of a playlist.
#[derive(Clone, Debug, PartialEq)]
pub enum PresentCommand {
    /// Shows a playlist from its first scene on; if the flag is set, as a kiosk, in which files and panels cannot be opened.
    Begin(Arc<Playlist>, bool),
    /// Goes so many scenes on, or back.
    Go(isize),
    /// Begins with the first scene again.
    Again,
    /// Writes a playlist into a file.
    Save(Arc<Playlist>, PathBuf),
    /// Remembers the playlist that is being made.
    Draft(Arc<Playlist>),
}

/// Panels, dialogs and the window.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowCommand {
    /// The window covers the screen, or not.
    ToggleFullScreen,
    /// Panels shown or hidden.
    ToggleUi,
    /// Opens or closes a window over the view.
    Toggle(Pane),
    /// Asks for values of a parameter, by its path, for runs side by side.
    Vary(String),
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
    /// Adds a file to the playlist that is being made.
    AddToPlaylist(PathBuf),
    /// Opens or closes the presenter's window.
    TogglePresenter,
    /// Asks what to export.
    AskExport,
    /// Writes the work where it was last saved; asks where, if it never was.
    Save,
    /// The next click on the land places this.
    Place(Placed),
    /// The next drag over the land draws the line of the section.
    DrawSection,
    /// Sets a number of the brush by moving the pointer.
    DragBrush(&'static str),
    /// Tells the person what a panel found wrong.
    Say(String),
    /// Leaves what was begun last: a stroke, the brush, hidden panels, the workspace Present, or the full screen.
    Leave,
    /// Puts the command that makes this run on the clipboard.
    CopyCommandLine,
}

/// What a click on the land places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// A probe is pinned.
    Probe,
    /// A particle is released.
    Particle,
    /// A spring, which brings water.
    Spring,
    /// A drain, which takes water away.
    Drain,
}

/// A window over the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    /// The list of all commands, to type a part of one's name.
    Palette,
    /// The scenes that come with the program.
    Scenes,
    /// Scenes in an order, to be shown to a room.
    Playlist,
    /// What a new land is to be made of.
    NewLand,
    /// Which parameters differ in runs side by side.
    Vary,
    /// Keys and mouse.
    Help,
    /// What the program is and where it keeps things.
    About,
    /// The person's settings.
    Settings,
    /// The checks of this machine.
    Checks,
    /// The map of the wind's ways beside the sand.
    WindMap,
}

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

/// Groups of parameters that belong to the person and the hand, not to the work.
const BESIDE_THE_WORK: [&str; 3] = ["settings", "brush", "selection"];

impl Command {
    /// Whether it changes, replaces or writes the work, which is put away while a range grows.
    pub(super) fn needs_the_work(&self) -> bool {
        use FileCommand::{
            CancelJob, Dismiss, OpenFolder, OpenReference, Quit, QuitUnsaved, QuitWhenSaved, Stay, ThrowAway,
        };
        match self {
            Self::Run(command) => !matches!(command, RunCommand::TogglePlay | RunCommand::SetSpeed(_)),
            Self::Edit(EditCommand::Set(group, ..)) => !BESIDE_THE_WORK.contains(&&**group),
            Self::Edit(_) => true,
            Self::File(command) => !matches!(
                command,
                CancelJob(_)
                    | Dismiss(_)
                    | OpenFolder(_)
                    | OpenReference(_)
                    | Quit
                    | QuitUnsaved
                    | QuitWhenSaved
                    | Stay
                    | ThrowAway(_)
            ),
            Self::Learn(command) => matches!(
                command,
                LearnCommand::Run
                    | LearnCommand::Read(_)
                    | LearnCommand::Again
                    | LearnCommand::Reopen
                    | LearnCommand::AskQuestion
            ),
            Self::Present(command) => command.opens_a_scene(),
            // Whether the water is seen is a parameter of the run, and views are kept with the work.
            Self::Show(command) => matches!(command, ShowCommand::ToggleWater | ShowCommand::KeepView(_)),
            Self::Key(command) => !matches!(command, KeyCommand::Follow | KeyCommand::Rest),
            Self::Brush(_) | Self::View(_) | Self::Window(_) => false,
        }
    }

    /// Whether it is asked for again and again while its key is held.
    pub fn repeats(&self) -> bool {
        matches!(self, Self::View(ViewCommand::Move(_)))
    }

    /// Whether it changes, replaces or writes what strokes change too: then it comes after those that were made before it.
    pub fn follows_strokes(&self) -> bool {
        match self {
            Self::Run(command) => {
                use RunCommand::{SetSpeed, Stage, Step, TogglePlay};
                !matches!(command, TogglePlay | Step(_) | Stage | SetSpeed(_))
            }
            Self::Edit(_) | Self::File(_) | Self::Learn(_) => true,
            Self::Present(command) => command.opens_a_scene(),
            Self::Show(_) | Self::Key(_) | Self::Brush(_) | Self::View(_) | Self::Window(_) => false,
        }
    }
}

impl PresentCommand {
    /// Whether another scene takes the place of the work.
    pub(super) fn opens_a_scene(&self) -> bool {
        !matches!(self, Self::Save(..) | Self::Draft(_))
    }
}

impl FileCommand {
    /// The file that the person chose for it.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::Open(input, _) => Some(input),
            Self::Load(_, path, _)
            | Self::LoadStamp(path)
            | Self::SaveMap(_, path)
            | Self::SaveScene(path)
            | Self::SaveProject(path)
            | Self::SavePreset(_, path)
            | Self::LoadPreset(path) => Some(path),
            _ => None,
        }
    }
}
