//! What panels, keys and menus ask for, and how the sessions obey.

use std::path::{Path, PathBuf};

use bevy::prelude::*;

use super::{
    Brushes, History, Jobs, Level, Live, Notices, Preferences, Revision, SPEEDS, Shown, Transport, jobs::Task,
};
use crate::{
    io::{
        export::{Export, Settings},
        heightmap::Options,
        preset::Preset,
        project::Camera,
        scene::Role,
        session::Session,
    },
    params::{Value, write},
    sim::{
        edit::{Combine, Tool},
        quantity::Quantity,
        terrain::Source,
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
    /// A multiple of the usual speed.
    SetSpeed(f32),
    /// From the start with the same seed.
    Restart,
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
    Load(Role, PathBuf, Options),
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
    AskImport(Role),
    /// Asks how a file that was chosen or dropped is to be imported.
    AskHow(Role, PathBuf),
    /// Asks where to save a map.
    AskSaveMap(&'static str),
    /// Asks where to save the scene.
    AskSaveScene,
    /// Writes results of the chosen session into a folder, with a word before each name.
    Export(PathBuf, String, Vec<Export>, Settings),
    /// Asks what to export.
    AskExport,
    /// Asks into which folder.
    AskExportFolder,
    /// Gives up the work that a message tells of.
    CancelJob(u64),
    /// A message was read.
    Dismiss(u64),
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
    fn file(&self) -> Option<&Path> {
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

#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
pub(super) fn obey(
    mut commands: MessageReader<Command>,
    mut live: ResMut<Live>,
    mut transport: ResMut<Transport>,
    mut revision: ResMut<Revision>,
    mut history: ResMut<History>,
    mut notices: ResMut<Notices>,
    mut jobs: ResMut<Jobs>,
    mut preferences: ResMut<Preferences>,
    mut shown: ResMut<Shown>,
    mut workspace: ResMut<Workspace>,
    mut brushes: ResMut<Brushes>,
) {
    for command in commands.read() {
        let mut replaced = false;
        if let Some(folder) = command.file().and_then(Path::parent).filter(|folder| folder.is_dir()) {
            preferences.remembered.last_folder = Some(folder.to_owned());
        }
        match command {
            Command::TogglePlay => {
                transport.playing = !transport.playing;
                transport.due = 0.0;
            }
            Command::Step(ticks) => {
                // What playing still owed is not asked for now.
                if std::mem::take(&mut transport.playing) {
                    transport.due = 0.0;
                }
                transport.due += f64::from(*ticks);
            }
            Command::SetSpeed(speed) => transport.speed = speed.clamp(*SPEEDS.start(), *SPEEDS.end()),
            Command::Restart => {
                replaced = start_again(&mut live, &mut history, &mut notices, "restart", |_, seed| seed);
            }
            Command::NewSeed => {
                let count = live.all().len() as u64;
                replaced =
                    start_again(&mut live, &mut history, &mut notices, "new seed", |_, seed| seed.wrapping_add(count));
            }
            Command::SetSeed(seed) => {
                // Runs side by side keep the distance of their seeds.
                let chosen = live.chosen().simulation.seed();
                replaced = start_again(&mut live, &mut history, &mut notices, "seed", |_, own| {
                    seed.wrapping_add(own.wrapping_sub(chosen))
                });
            }
            Command::SetSize(side) => {
                replaced = start_again(&mut live, &mut history, &mut notices, "size", |session, seed| {
                    session.terrain.resize(*side);
                    seed
                });
            }
            Command::Set(group, name, value) if group == "settings" => {
                let software = preferences.software;
                preferences.settings.change(name, value, software);
            }
            Command::Set(group, name, value) if group == "brush" => brushes.change(name, value),
            Command::Set(group, name, value) if group == "selection" => {
                write(&mut brushes.selection, name, value);
            }
            Command::Set(group, name, value) => {
                replaced = set(&mut live, &mut history, &mut notices, (group, name), value);
            }
            Command::Enable(key, on) => {
                notices.retract(&Command::Undo);
                let slots = &live.chosen().simulation.slots;
                let info = slots.iter().find(|slot| slot.key() == *key).map(|slot| slot.process.info());
                let replaced: Vec<(&'static str, &'static str)> = slots
                    .iter()
                    .filter(|slot| *on && slot.enabled && info.is_some_and(|info| info.replaces.contains(&slot.key())))
                    .map(|slot| (slot.key(), slot.process.info().title))
                    .collect();
                history.before_switch(&live, key, *on);
                for (other, title) in replaced {
                    switch(&mut live, other, false);
                    let title_on = info.map_or("", |info| info.title);
                    notices.tell(Level::Info, format!("{title_on} takes the place of {title}, which is off now."));
                }
                switch(&mut live, key, *on);
            }
            Command::Limit(key, on) => {
                history.before_limit(&live, key, *on);
                for session in live.all_mut() {
                    if let Some(slot) = session.simulation.slot_mut(key) {
                        slot.limited = *on;
                    }
                }
            }
            Command::Select(_) | Command::InvertMask | Command::ClearMask => {
                live.finish_tick();
                history.begin_stroke("mask", live.all().len());
                for (index, session) in live.all_mut().iter_mut().enumerate() {
                    let Some(patch) = history.stroke().and_then(|patches| patches.get_mut(index)) else { continue };
                    match command {
                        Command::Select(combine) => session.simulation.select(&brushes.selection, *combine, patch),
                        Command::InvertMask => session.simulation.invert_mask(patch),
                        _ => session.simulation.clear_mask(patch),
                    }
                    session.origin.edited = true;
                }
                history.end_stroke();
                revision.goes_on();
            }
            Command::SetSources(sources) => {
                history.before_sources(&live, sources);
                for session in live.all_mut() {
                    session.set_sources(sources.clone());
                }
            }
            Command::ToggleWater => {
                let shown = Value::Switch(!live.chosen().water_look.shown);
                set(&mut live, &mut history, &mut notices, ("water-look", "shown"), &shown);
            }
            Command::Choose(index) => live.choose(*index),
            Command::Undo | Command::Redo | Command::Jump(_) => {
                let steps = match command {
                    Command::Undo => 1,
                    Command::Redo => -1,
                    Command::Jump(steps) => *steps,
                    _ => 0,
                };
                replaced = go_back(&mut live, &mut history, &mut notices, steps);
                revision.goes_on();
            }
            Command::Hold(tool) => brushes.held = *tool,
            // A stroke that goes on is taken back where it is made.
            Command::Cancel if history.strokes().is_none() => brushes.held = None,
            Command::ResizeBrush(steps) => brushes.resize(*steps),
            Command::LoadStamp(path) => {
                jobs.start(&mut notices, Task::Stamp(path.clone()));
            }
            Command::Open(input, options) => {
                jobs.start(&mut notices, Task::Open(input.clone(), options.clone()));
            }
            Command::Load(role, path, options) => {
                let terrain = &live.chosen().simulation.terrain;
                let size = (terrain.width(), terrain.height());
                jobs.start(&mut notices, Task::Load(*role, path.clone(), options.clone(), size));
            }
            Command::SaveMap(map, path) => {
                jobs.start(&mut notices, Task::SaveMap(map, path.clone(), Box::new(live.chosen().clone())));
            }
            Command::Export(folder, before, exports, settings) => {
                let session = Box::new(live.chosen().clone());
                jobs.start(
                    &mut notices,
                    Task::Export(folder.clone(), before.clone(), exports.clone(), *settings, session),
                );
            }
            Command::SaveScene(path) => {
                jobs.start(&mut notices, Task::SaveScene(path.clone(), Box::new(live.chosen().clone())));
            }
            // A few lines of text: no need for a thread.
            Command::SavePreset(group, path) => match Preset::of(live.chosen(), *group).save(path) {
                Ok(()) => {
                    notices.tell(Level::Info, format!("Saved {}.", path.display()));
                }
                Err(error) => {
                    notices.tell(Level::Error, format!("{error}."));
                }
            },
            Command::LoadPreset(path) => {
                let mut changed = live.all().to_vec();
                let set = Preset::load(path).and_then(|mut preset| {
                    // What sets runs side by side apart stays.
                    let tiles = live.all().iter().filter_map(|session| session.tile.as_ref());
                    tiles.flat_map(|tile| tile.set.keys()).for_each(|path| drop(preset.parameters.remove(path)));
                    changed.iter_mut().try_for_each(|session| preset.apply(session, path))
                });
                match set {
                    Ok(()) => {
                        history.before_state(&live, "preset loaded");
                        live.all_mut().clone_from_slice(&changed);
                        notices.tell(Level::Info, format!("Set what {} holds.", path.display()));
                    }
                    Err(error) => {
                        notices.tell(Level::Error, format!("{error}."));
                    }
                }
            }
            Command::OpenFolder(path) => {
                // One that nothing was written to yet is empty.
                let _ = std::fs::create_dir_all(path);
                if let Err(error) = open::that_detached(path) {
                    notices.tell(Level::Error, format!("{}: no file manager opens it ({error}).", path.display()));
                }
            }
            Command::SpreadSand(_) | Command::RemoveSand | Command::Dry => {
                let label = match command {
                    Command::SpreadSand(_) => "sheet of sand",
                    Command::RemoveSand => "sand removed",
                    _ => "dried",
                };
                live.finish_tick();
                history.before_state(&live, label);
                for session in live.all_mut() {
                    match command {
                        Command::SpreadSand(thickness) => session.simulation.spread_sand(*thickness),
                        Command::RemoveSand => session.simulation.remove_sand(),
                        _ => session.simulation.dry(),
                    }
                    session.origin.edited = true;
                }
                revision.goes_on();
            }
            Command::ShowBefore(before) => shown.0 = *before,
            Command::SetWorkspace(wanted) => {
                // Who learns wants to see each step; who leaves, the usual speed again.
                match (*workspace, wanted) {
                    (_, Workspace::Learn) => transport.speed = *SPEEDS.start(),
                    (Workspace::Learn, _) => transport.speed = 1.0,
                    _ => {}
                }
                // Who presents does not sculpt by mistake.
                if *wanted == Workspace::Present {
                    brushes.held = None;
                }
                *workspace = *wanted;
            }
            Command::Dismiss(id) => notices.dismiss(*id),
            Command::CancelJob(id) => jobs.cancel(*id),
            _ => {}
        }
        if replaced {
            transport.due = 0.0;
            revision.begins();
        }
    }
}

/// Takes so many steps back, or if negative does them again. True if that replaced the sessions.
fn go_back(live: &mut Live, history: &mut History, notices: &mut Notices, steps: i32) -> bool {
    let (ticks, word) = (live.ticks(), if steps < 0 { "Done again" } else { "Undone" });
    let (mut labels, mut replaced) = (Vec::new(), false);
    // Strokes are between ticks, and so is taking them back.
    live.finish_tick();
    for _ in 0..steps.abs() {
        let Some((label, state)) = (if steps < 0 { history.redo(live) } else { history.undo(live) }) else { break };
        labels.push(label);
        replaced |= state;
    }
    let what = match &labels[..] {
        [] => {
            notices.tell(Level::Info, format!("There is nothing to be {}.", word.to_lowercase()));
            return false;
        }
        [label] => label.clone(),
        many => format!("{} steps", many.len()),
    };
    let text = if live.ticks() == ticks {
        format!("{word}: {what}.")
    } else {
        format!("{word}: {what}. The terrain is as it was at tick {}.", live.ticks())
    };
    notices.tell(Level::Info, text);
    replaced
}

/// Switches a process in all sessions.
fn switch(live: &mut Live, key: &str, on: bool) {
    for session in live.all_mut() {
        if let Some(slot) = session.simulation.slot_mut(key) {
            slot.enabled = on;
        }
    }
}

/// Starts all sessions again, each with the seed that `change` makes of its old one.
fn start_again(
    live: &mut Live,
    history: &mut History,
    notices: &mut Notices,
    label: &str,
    change: impl Fn(&mut Session, u64) -> u64,
) -> bool {
    let ticks = live.ticks();
    notices.retract(&Command::Undo);
    history.before_state(live, label);
    for session in live.all_mut() {
        session.origin.edited = false;
        let seed = change(session, session.simulation.seed());
        session.restart(seed);
    }
    if ticks > 0 {
        notices.offer(
            Level::Info,
            format!("Started again. The {ticks} ticks before are kept."),
            Some(("Undo", Command::Undo)),
        );
    }
    true
}

/// Sets a parameter; one in which runs side by side differ by design, in the chosen one alone. True if that replaced the
/// terrain.
fn set(
    live: &mut Live,
    history: &mut History,
    notices: &mut Notices,
    (group, name): (&str, &'static str),
    value: &Value,
) -> bool {
    let terrain = group == "terrain";
    let ticks = live.ticks();
    notices.retract(&Command::Undo);
    if terrain {
        history.before_state(live, &format!("{group}.{name}"));
    } else {
        history.before_parameter(live, group, name);
    }
    let path = format!("{group}.{name}");
    let differs =
        live.all().iter().any(|session| session.tile.as_ref().is_some_and(|tile| tile.set.contains_key(&path)));
    let chosen = live.index();
    for (index, session) in live.all_mut().iter_mut().enumerate() {
        // Where runs differ in it by design, only the chosen one is meant; but all begin again together.
        if !differs || index == chosen {
            let mut groups = session.groups_mut();
            if let Some((_, fields)) = groups.iter_mut().find(|(key, _)| *key == group) {
                write(*fields, name, value);
            }
        }
        if terrain {
            session.origin.edited = false;
            session.restart(session.simulation.seed());
        }
    }
    if terrain && ticks > 0 {
        notices.offer(
            Level::Info,
            format!("Another terrain. The {ticks} ticks before are kept."),
            Some(("Undo", Command::Undo)),
        );
    }
    terrain
}
