//! The panels around the view, as functions of (ui, state) that return what the user asks for.

use std::path::PathBuf;

use bevy_egui::egui::{self, RichText, Ui, collapsing_header::CollapsingState};
use egui_phosphor::regular as icon;

use super::{
    Kept, State,
    brush::{brush_ui, history_ui, mask_ui, tool_bar_ui},
    commands::{Menu, keys_text, table},
    group::{all_of_group_ui, group_ui},
    ledger::ledger_ui,
    overlay::overlay_ui,
    springs::springs_ui,
    statistics::statistics_ui,
    style,
    terrain::terrain_ui,
    timeline::{timeline_height, timeline_ui},
    transport::{status_ui, transport_ui},
};
use crate::{
    look::{Look, WaterLook},
    model::origin::Options,
    params::{self, Parameter, Value, walk},
    runtime::{Command, Workspace},
    sim::{
        Slot,
        process::{AnyProcess, catalogue},
    },
};

/// The menu bar, made from the table of commands, with the workspaces at its right.
pub fn menu_ui(ui: &mut Ui, state: &State<'_>) -> Vec<Command> {
    let mut commands = Vec::new();
    egui::MenuBar::new().ui(ui, |ui| {
        for menu in Menu::ALL {
            ui.menu_button(menu.title(), |ui| {
                ui.set_min_width(230.0);
                for entry in table().iter().filter(|entry| entry.menu == menu) {
                    if entry.divided {
                        ui.separator();
                    }
                    let (undo, redo) = state.history.next();
                    let (title, enabled) = match (&entry.command, undo, redo) {
                        (Command::Undo, Some(step), _) | (Command::Redo, _, Some(step)) => {
                            (format!("{}: {step}", entry.title), true)
                        }
                        (Command::Undo | Command::Redo, ..) => (entry.title.clone(), false),
                        _ => (entry.title.clone(), true),
                    };
                    let text = format!("{}  {title}", entry.icon);
                    let button = egui::Button::new(text).shortcut_text(keys_text(ui.ctx(), entry));
                    if ui.add_enabled(enabled, button).on_hover_text(&entry.about).clicked() {
                        commands.push(entry.command.clone());
                        ui.close();
                    }
                    if entry.command == Command::AskOpen {
                        commands.extend(recent_ui(ui, &state.preferences.remembered.recent));
                    }
                }
            });
        }
        // In a narrow window they are in the menu alone.
        if ui.available_width() < 260.0 {
            return;
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let workspaces = [
                (Workspace::Present, icon::PRESENTATION, "Present"),
                (Workspace::Learn, icon::GRADUATION_CAP, "Learn"),
                (Workspace::Sculpt, icon::SLIDERS, "Sculpt"),
            ];
            for (workspace, icon, title) in workspaces {
                if ui.selectable_label(state.workspace == workspace, format!("{icon} {title}")).clicked() {
                    commands.push(Command::SetWorkspace(workspace));
                }
            }
        });
    });
    commands
}

/// The projects that were opened or saved last.
fn recent_ui(ui: &mut Ui, recent: &[PathBuf]) -> Option<Command> {
    let mut asked = None;
    ui.add_enabled_ui(!recent.is_empty(), |ui| {
        ui.menu_button(format!("{}  Open recent", icon::CLOCK_COUNTER_CLOCKWISE), |ui| {
            for path in recent {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                if ui.button(name).on_hover_text(path.display().to_string()).clicked() {
                    asked = Some(Command::Open(path.display().to_string(), Options::default()));
                    ui.close();
                }
            }
        });
    });
    asked
}

/// Terrain, one panel per process, light and colour, ledger, statistics. Returns also whether the statistics are seen.
pub fn parameters_ui(ui: &mut Ui, state: &State<'_>, kept: &mut Kept) -> (Vec<Command>, bool) {
    let mut commands = Vec::new();
    let session = state.live.chosen();
    let learn = state.workspace == Workspace::Learn;
    let mut seen = false;
    egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        ui.add_space(4.0);
        let title = match session.tile_title() {
            Some(tile) => format!("{} · {tile}", session.title),
            None => session.title.clone(),
        };
        ui.heading(title);
        if !session.about.is_empty() {
            ui.label(RichText::new(&session.about).weak());
        }
        ui.add_space(4.0);
        if learn {
            lesson_ui(ui, &session.simulation.slots, state.live.next_stage());
        }
        if let Some(tool) = state.brushes.held {
            let header = egui::CollapsingHeader::new(RichText::new(format!("Brush: {}", tool.title())).heading());
            header.id_salt("brush").default_open(true).show(ui, |ui| commands.extend(brush_ui(ui, state, tool)));
        }
        section(ui, "Terrain", false, |ui| commands.extend(terrain_ui(ui, state, &mut kept.sheet, learn)));
        for (slot, fresh) in session.simulation.slots.iter().zip(catalogue()) {
            let masked = session.simulation.terrain.mask.is_some();
            process_ui(ui, &session.name, slot, &*fresh, (learn, masked), &mut commands);
        }
        section(ui, "Springs and drains", false, |ui| commands.extend(springs_ui(ui, state, &mut kept.springs)));
        section(ui, "Mask", false, |ui| commands.extend(mask_ui(ui, state)));
        section(ui, "Overlays", false, |ui| commands.extend(overlay_ui(ui, state.overlay)));
        section(ui, "Light and colour", !learn, |ui| {
            let changes = group_ui(ui, ("look", &session.look), ("look", &Look::default()), learn);
            commands.extend(changes.into_iter().map(|(name, value)| Command::Set("look".to_owned(), name, value)));
        });
        section(ui, "Water look", false, |ui| {
            let group = ("water-look", &session.water_look as _);
            let changes = group_ui(ui, group, ("water-look", &WaterLook::default()), learn);
            commands.extend(changes.into_iter().map(|(name, value)| Command::Set(group.0.to_owned(), name, value)));
        });
        section(ui, "History", false, |ui| commands.extend(history_ui(ui, state)));
        section(ui, "Ledger", learn, |ui| ledger_ui(ui, state));
        seen = section(ui, "Statistics", learn, |ui| statistics_ui(ui, state));
        ui.add_space(12.0);
    });
    (commands, seen)
}

/// A part of the panel that folds. True if its content was drawn.
fn section(ui: &mut Ui, title: &str, open: bool, content: impl FnOnce(&mut Ui)) -> bool {
    let header = egui::CollapsingHeader::new(RichText::new(title).heading()).id_salt((title, open)).default_open(open);
    header.show(ui, content).body_returned.is_some()
}

/// A process: its switch in the header, its progress, what its guards did, its parameters. Those that a scene begins with
/// are unfolded.
fn process_ui(
    ui: &mut Ui,
    scene: &str,
    slot: &Slot,
    fresh: &dyn AnyProcess,
    (main_only, masked): (bool, bool),
    commands: &mut Vec<Command>,
) {
    let info = slot.process.info();
    let id = ui.make_persistent_id((scene, info.key));
    CollapsingState::load_with_default_open(ui.ctx(), id, slot.enabled)
        .show_header(ui, |ui| {
            let mut on = slot.enabled;
            let text = RichText::new(info.title).heading();
            if ui.checkbox(&mut on, text).on_hover_text(format!("{}\n{}", info.about, info.source)).changed() {
                commands.push(Command::Enable(info.key, on));
            }
        })
        .body(|ui| {
            if let Some((particles, total)) = slot.particles() {
                let share = particles as f64 / total.max(1) as f64;
                let text = format!("{} of {} ({:.0} %)", grouped(particles), grouped(total), 100.0 * share);
                let bar = egui::ProgressBar::new((share as f32).min(1.0)).text(RichText::new(text).small());
                ui.add(bar.desired_height(16.0)).on_hover_text("Droplets so far, of the chosen total");
            }
            if masked {
                let mut limited = slot.limited;
                let help =
                    "The ground that the mask covers stays as it is; what that holds back is booked as done by hand.";
                if ui.checkbox(&mut limited, "Leave masked ground alone").on_hover_text(help).changed() {
                    commands.push(Command::Limit(info.key, limited));
                }
            }
            if slot.enabled {
                guards_ui(ui, &*slot.process);
            }
            let changes = group_ui(ui, (info.key, slot.process.params()), (info.key, fresh.params()), main_only);
            commands.extend(changes.into_iter().map(|(name, value)| Command::Set(info.key.to_owned(), name, value)));
            if masked && !main_only {
                let changes = factors_ui(ui, slot, fresh);
                let set = |(name, value)| Command::Set(info.masked_key.to_owned(), name, value);
                commands.extend(changes.into_iter().map(set));
            }
            if !main_only {
                ui.horizontal(|ui| {
                    if ui.small_button("Save…").on_hover_text("Writes these parameters into a file").clicked() {
                        commands.push(Command::AskSavePreset(Some(info.key)));
                    }
                    if ui.small_button("Load…").on_hover_text("Sets the parameters that such a file holds").clicked()
                    {
                        commands.push(Command::AskLoadPreset);
                    }
                });
            }
        });
}

/// What the guards of a process did in the last tick, and so far.
fn guards_ui(ui: &mut Ui, process: &dyn AnyProcess) {
    let guards = process.guards();
    let acted: Vec<String> = guards
        .iter()
        .filter(|(_, acted)| acted.last > 0)
        .map(|(guard, acted)| format!("{} {}×", guard.name, grouped(acted.last)))
        .collect();
    if acted.is_empty() {
        return;
    }
    let about: Vec<String> = guards
        .iter()
        .map(|(guard, acted)| format!("{}: {} So far {}×.", params::title(guard.name), guard.about, grouped(acted.all)))
        .collect();
    let about = format!("What keeps the scheme sound did in the last tick.\n{}", about.join("\n"));
    ui.label(RichText::new(acted.join(", ")).small().weak()).on_hover_text(about);
}

/// By what the mask multiplies a process's parameters.
fn factors_ui(ui: &mut Ui, slot: &Slot, fresh: &dyn AnyProcess) -> Vec<(&'static str, Value)> {
    let info = slot.process.info();
    let ([params, factors], [_, untouched]) = (slot.process.settings(), fresh.settings());
    let declared = walk((info.key, params));
    let named = |parameter: &Parameter, value: Value| parameter.name == "mode" && parameter.value == value;
    let published = declared.iter().any(|mode| named(mode, Value::Choice("published".to_owned())));
    // A factor acts where its parameter does.
    let idle = |factor: &Parameter| {
        declared.iter().find(|parameter| parameter.name == factor.name).and_then(|found| found.knob.idle(&declared))
    };
    let header = egui::CollapsingHeader::new("Under the mask").id_salt(info.masked_key);
    let drawn = header.show(ui, |ui| {
        if published {
            ui.label(RichText::new("As published, a parameter is the same everywhere.").small().weak());
        }
        ui.add_enabled_ui(!published, |ui| {
            all_of_group_ui(ui, (info.masked_key, factors), (info.masked_key, untouched), idle)
        })
        .inner
    });
    drawn.body_returned.unwrap_or_default()
}

/// What happens in a tick, for who learns.
fn lesson_ui(ui: &mut Ui, slots: &[Slot], next: Option<(&str, &str)>) {
    egui::Frame::group(ui.style()).show(ui, |ui| {
        ui.label(RichText::new("What happens in a tick").strong());
        for slot in slots.iter().filter(|slot| slot.enabled) {
            let info = slot.process.info();
            ui.label(info.about);
            for (number, stage) in info.stages.iter().enumerate() {
                let text = RichText::new(format!("{}. {}: {}", number + 1, params::title(stage.name), stage.about));
                let comes = next == Some((info.title, stage.name));
                ui.label(if comes { text.strong().color(style::ACCENT) } else { text });
            }
            ui.label(RichText::new(info.source).weak().small());
        }
        ui.label(
            RichText::new(
                "Go on tick by tick with the right arrow, or stage by stage with the comma. Hold B to see the start.",
            )
            .weak(),
        );
    });
    ui.add_space(4.0);
}

/// 200000 as 200 000.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + 4);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// All panels around the view. Returns what is asked for, the rectangle that is left for the view, and whether the
/// statistics are seen.
pub fn window_ui(root: &mut Ui, state: &State<'_>, kept: &mut Kept) -> (Vec<Command>, egui::Rect, bool) {
    let mut commands = Vec::new();
    let mut seen = false;
    egui::Panel::top("menu").show_inside(root, |ui| commands.extend(menu_ui(ui, state)));
    egui::Panel::bottom("status").exact_size(24.0).show_inside(root, |ui| status_ui(ui, state));
    egui::Panel::bottom("transport").exact_size(42.0).show_inside(root, |ui| commands.extend(transport_ui(ui, state)));
    egui::Panel::bottom("timeline")
        .exact_size(timeline_height(state))
        .show_inside(root, |ui| commands.extend(timeline_ui(ui, state)));
    if state.workspace == Workspace::Sculpt {
        egui::Panel::left("tools")
            .exact_size(50.0)
            .resizable(false)
            .show_inside(root, |ui| commands.extend(tool_bar_ui(ui, state, &mut kept.springs)));
    }
    // Never wider than leaves room for the view.
    let most = (root.available_width() * 0.6).max(120.0);
    egui::Panel::right("parameters")
        .default_size(style::PANEL_WIDTH.min(most))
        .max_size(most)
        .resizable(true)
        .show_inside(root, |ui| {
            let (asked, statistics) = parameters_ui(ui, state, kept);
            commands.extend(asked);
            seen = statistics;
        });
    (commands, root.available_rect_before_wrap(), seen)
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn numbers_are_grouped_by_three() {
        let text = grouped;
        assert_eq!([7, 1000, 200_000, 12_345_678].map(text), ["7", "1 000", "200 000", "12 345 678"]);
    }
}
