//! Transport bar, and the status bar below it.

use super::{
    commands::CommandTable,
    number::NumberField,
    style::{ACCENT, ERROR, duration, rounded_count},
};
use bevy::{ecs::system::SystemParam, prelude::*};
use bevy_egui::egui::{self, RichText, Ui};
use egui_phosphor::regular as icon;

use crate::world::{
    AppCommand, CameraCommand, CardTicks, CompareCommand, Comparison, KeyframeCommand, KeyframeFollowing, Preferences,
    Recording, SPEEDS, ScreenshotCommand, SimulationCommand, Simulations, TimeSeries, Timing, ToggleRecording,
    Transport,
    amount::{display_unit, volume},
};
use thalweg_scene::settings::UnitSystem;
use thalweg_sim::{process::ProcessCounts, simulation::Slot};

/// Parameters of the transport bar system.
#[derive(SystemParam)]
pub struct TransportBarParams<'w> {
    table: Res<'w, CommandTable>,
    transport: Res<'w, Transport>,
    comparison: Res<'w, State<Comparison>>,
    simulations: Res<'w, Simulations>,
    follows_keys: Res<'w, KeyframeFollowing>,
    recording: Res<'w, Recording>,
}

/// Draws the transport bar: playback, speed, seed, comparison, camera and recording.
pub fn transport_ui(InMut(ui): InMut<Ui>, state: TransportBarParams) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    let button = |ui: &mut Ui, icon: &str, name: &str, command: AppCommand, on: bool| -> Option<AppCommand> {
        let mut button = egui::Button::new(format!("{icon} {name}"));
        if on {
            button = button.fill(ACCENT.gamma_multiply(0.55));
        }
        let help = state.table.help(ui.ctx(), &command);
        ui.add(button).on_hover_text(help).clicked().then_some(command)
    };
    egui::ScrollArea::horizontal()
        .auto_shrink([false, false])
        .scroll_bar_visibility(egui::scroll_area::ScrollBarVisibility::AlwaysHidden)
        .show(ui, |ui| {
            ui.horizontal_centered(|ui| {
                asked.extend(button(ui, icon::SKIP_BACK, "Restart", SimulationCommand::Restart.into(), false));
                let (sign, name) = if state.transport.playing { (icon::PAUSE, "Pause") } else { (icon::PLAY, "Play") };
                asked.extend(button(ui, sign, name, SimulationCommand::TogglePlay.into(), true));
                asked.extend(button(ui, icon::SKIP_FORWARD, "Tick", SimulationCommand::Step(1).into(), false));
                asked.extend(button(ui, icon::FAST_FORWARD, "10", SimulationCommand::Step(10).into(), false));
                asked.extend(button(ui, icon::STEPS, "Stage", SimulationCommand::Stage.into(), false));
                ui.separator();
                let mut speed = state.transport.speed;
                let label = ui.label("Speed");
                let slider = NumberField::new("Speed", "×", SPEEDS)
                    .slider_ui(ui, &mut speed, |slider| slider.logarithmic(true).suffix("×").max_decimals(2));
                let slider = slider.labelled_by(label.id);
                if slider
                    .on_hover_text("Set the speed as a multiple of 20 ticks per second. A slow machine may limit it.")
                    .changed()
                {
                    asked.push(SimulationCommand::SetSpeed(speed).into());
                }
                ui.separator();
                asked.extend(button(ui, icon::DICE_FIVE, "New seed", SimulationCommand::NewSeed.into(), false));
                ui.separator();
                // A second click returns to the current state.
                let toggled = |wanted: Comparison, on: bool| -> AppCommand {
                    CompareCommand::Show(if on { Comparison::Off } else { wanted }).into()
                };
                let alone = *state.comparison == Comparison::Start;
                let split = *state.comparison == Comparison::Split;
                asked.extend(button(
                    ui,
                    icon::CLOCK_COUNTER_CLOCKWISE,
                    "Initial",
                    toggled(Comparison::Start, alone),
                    alone,
                ));
                let half = toggled(Comparison::Split, split);
                asked.extend(button(ui, icon::SQUARE_SPLIT_HORIZONTAL, "Split", half, split));
                if state.simulations.all().len() > 1 {
                    let pair = state.comparison.pair(&state.simulations).is_some();
                    let half = toggled(Comparison::Simulations, pair);
                    asked.extend(button(ui, icon::SQUARE_SPLIT_HORIZONTAL, "Two simulations", half, pair));
                }
                ui.separator();
                if !state.simulations.views.keys.list().is_empty() {
                    let follows = state.follows_keys.0;
                    asked.extend(button(ui, icon::PATH, "Keyframes", KeyframeCommand::Follow.into(), follows));
                }
                asked.extend(button(ui, icon::CORNERS_OUT, "Frame", CameraCommand::FrameAll.into(), false));
                asked.extend(button(ui, icon::CAMERA, "Screenshot", ScreenshotCommand::Take.into(), false));
                if let Some(seconds) = state.recording.seconds() {
                    let text = format!("{} {}:{:02}", icon::RECORD, seconds / 60, seconds % 60);
                    let stop = egui::Button::new(RichText::new(text).color(ERROR));
                    let stop = ui.add(stop).on_hover_text("Recording a video of the window. Click to stop (Ctrl+F12).");
                    asked.extend(stop.clicked().then_some(ToggleRecording.into()));
                }
            });
        });
    asked
}

/// Formats the volume moved, and the residual of the balance as a fraction of it.
fn moved_text(units: UnitSystem, moved: f64, share: f64) -> String {
    // Zero without sign and exponent.
    let share = if share == 0.0 { "0".to_owned() } else { format!("{share:+.0e}") };
    format!("{} moved, residual {share}", volume(units, moved))
}

/// Draws the status bar: size, seed, tick, simulated time, performance and volume balance.
pub fn status_ui(
    InMut(ui): InMut<Ui>,
    simulations: Res<Simulations>,
    record: Res<TimeSeries>,
    preferences: Res<Preferences>,
    (timing, card): (Res<Timing>, Res<CardTicks>),
) {
    let simulation = &simulations.selected().simulation;
    let terrain = &simulation.terrain;
    let solid = &record.ledger.solid;
    let moved = solid.sum(|row| row.moved);
    let residual = solid.residual(record.volumes[0]);
    let share = if moved > 0.0 { residual / moved } else { 0.0 };
    let counts: Vec<ProcessCounts> = simulation.slots.iter().map(|slot| slot.process.counts()).collect();
    let limited: u64 = counts.iter().map(|counts| counts.limiter_applications).sum();
    let units = preferences.settings.units;
    let (unit, times) = display_unit(units, "m");
    // Rounded to three decimals.
    let side = (times * f64::from(terrain.cell_size) * 1e3).round() / 1e3;
    let mut parts = vec![
        format!("{} × {} cells of {side} {unit}", terrain.width(), terrain.height()),
        format!("seed {}", simulation.seed()),
        format!("tick {}", simulation.ticks()),
    ];
    if let Some((process, stage)) = simulations.next_stage() {
        parts.push(format!("next: {process}, {stage}"));
    }
    if simulation.simulated_seconds() > 0.0 {
        let flows =
            |slot: &&Slot| slot.enabled && slot.process.capabilities().acceleration.is_some_and(|times| times > 1.0);
        let flow = simulation.slots.iter().find(flows).map(|slot| slot.process.counts().seconds);
        let flow = flow.map(|seconds| format!(" ({} of flow)", duration(seconds))).unwrap_or_default();
        parts.push(format!("{} simulated{flow}", duration(simulation.simulated_seconds())));
    }
    if let Some(years) = simulation.years().filter(|&years| years > 0.0) {
        parts.push(format!("{years:.0} years of river erosion"));
    }
    parts.extend([
        format!(
            "{:.1} ms per tick{}",
            timing.tick_ms,
            if card.device().is_some() { " on the graphics card" } else { "" }
        ),
        format!("{:.0} ms per frame", timing.frame_ms),
        format!("vertical exaggeration ×{}", simulations.selected().look.vertical_exaggeration),
        moved_text(units, moved, share),
    ]);
    if limited > 0 {
        parts.push(format!("limiters applied {}×", rounded_count(limited)));
    }
    ui.horizontal_centered(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                ui.label(RichText::new("·").small().weak());
            }
            let label = ui.add(egui::Label::new(RichText::new(part).small()).truncate());
            if part.contains("residual") {
                label.on_hover_text(format!(
                    "Solids balance: volume of the layers plus outflow and losses, minus the initial volume: {residual:+.3e} m³."
                ));
            }
        }
    });
}
