//! How the sessions obey what panels, keys and menus ask for.

use std::path::Path;

use bevy::prelude::*;

use super::{
    Brushes, Command, History, Jobs, Level, Live, Notices, Preferences, Revision, SPEEDS, Shown, Transport, Workspace,
    jobs::Task,
};
use crate::{
    io::{Budget, preset::Preset},
    model::session::Session,
    params::{self, Value, write},
};

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
            Command::Stage => {
                transport.pause();
                // Where a stage takes longer than a key repeats, no queue builds up.
                transport.stage = true;
            }
            Command::SetSpeed(speed) => transport.speed = speed.clamp(*SPEEDS.start(), *SPEEDS.end()),
            Command::Restart => {
                replaced = start_again(&mut live, &mut history, &mut notices, "restart", |_, seed| seed);
            }
            Command::RestartUnshaped => {
                replaced = start_again(&mut live, &mut history, &mut notices, "restart unshaped", |session, seed| {
                    session.forget_shape();
                    seed
                });
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
                let without = bytes(&live, |_| {});
                let with = bytes(&live, |session| switch(std::slice::from_mut(session), key, *on));
                if !has_room(&live, &mut notices, with.saturating_sub(without)) {
                    continue;
                }
                let slots = &live.chosen().simulation.slots;
                let info = slots.iter().find(|slot| slot.key() == *key).map(|slot| slot.process.info());
                let replaced: Vec<(&'static str, &'static str)> = slots
                    .iter()
                    .filter(|slot| *on && slot.enabled && info.is_some_and(|info| info.replaces.contains(&slot.key())))
                    .map(|slot| (slot.key(), slot.process.info().title))
                    .collect();
                history.before_switch(&live, key, *on);
                for (other, title) in replaced {
                    switch(live.all_mut(), other, false);
                    let title_on = info.map_or("", |info| info.title);
                    notices.tell(Level::Info, format!("{title_on} takes the place of {title}, which is off now."));
                }
                switch(live.all_mut(), key, *on);
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
            Command::Load(layer, path, options) => {
                let terrain = &live.chosen().simulation.terrain;
                let size = (terrain.width(), terrain.height());
                jobs.start(&mut notices, Task::Load(*layer, path.clone(), options.clone(), size));
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
fn switch(sessions: &mut [Session], key: &str, on: bool) {
    for session in sessions {
        if let Some(slot) = session.simulation.slot_mut(key) {
            slot.enabled = on;
        }
    }
}

/// Memory that all sessions would take if each was changed in this way, in bytes.
fn bytes(live: &Live, change: impl Fn(&mut Session)) -> u64 {
    let changed = live.all().iter().map(|session| {
        let mut outline = session.outline();
        change(&mut outline);
        outline.bytes() + outline.bytes_of_maps(session.maps.len())
    });
    changed.sum()
}

/// Whether there is memory for so many bytes and for the present layers, which undo keeps; if not, the person is told.
fn has_room(live: &Live, notices: &mut Notices, bytes: u64) -> bool {
    let kept: u64 = live.all().iter().map(Session::bytes_of_layers).sum();
    let asked = Budget::present().ask(Path::new(&live.chosen().title), kept + bytes);
    asked.map_err(|error| notices.tell(Level::Error, format!("{error}."))).is_ok()
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
    let wanted = bytes(live, |session| {
        change(session, session.simulation.seed());
    });
    if !has_room(live, notices, wanted) {
        return false;
    }
    history.before_state(live, label);
    for session in live.all_mut() {
        session.note_shape();
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
    let write = |session: &mut Session| {
        if let Some((_, fields)) = session.groups_mut().iter_mut().find(|(key, _)| *key == group) {
            write(*fields, name, value);
        }
    };
    if terrain && !has_room(live, notices, bytes(live, write)) {
        return false;
    }
    if terrain {
        history.before_state(live, &format!("{}: {}", params::title(group), name.replace('_', " ")));
    } else {
        history.before_parameter(live, group, name);
    }
    let path = format!("{group}.{name}");
    let differs =
        live.all().iter().any(|session| session.tile.as_ref().is_some_and(|tile| tile.set.contains_key(&path)));
    let chosen = live.index();
    for (index, session) in live.all_mut().iter_mut().enumerate() {
        // Where runs differ in it by design, only the chosen one is meant; but all begin again together.
        if terrain {
            session.note_shape();
        }
        if !differs || index == chosen {
            write(session);
        }
        if terrain {
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
