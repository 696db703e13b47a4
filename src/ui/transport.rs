//! The bar that plays and pauses, and the line of numbers below it.

use bevy_egui::egui::{self, RichText, Ui};
use egui_phosphor::regular as icon;

use super::{PanelState, commands, style::ACCENT};
use crate::{
    runtime::{Before, Command, RunCommand, SPEEDS, ShowCommand, ViewCommand},
    sim::process::Counts,
};

/// Play, step, speed, restart, and what is seen.
pub fn transport_ui(ui: &mut Ui, state: &PanelState<'_>) -> Vec<Command> {
    let mut asked = Vec::new();
    let button = |ui: &mut Ui, text: String, command: Command, on: bool, asked: &mut Vec<Command>| {
        let help = commands::entry(&command).map(|entry| {
            let keys = commands::keys_text(ui.ctx(), entry);
            if keys.is_empty() { entry.about.clone() } else { format!("{} ({keys})", entry.about) }
        });
        let mut button = egui::Button::new(text);
        if on {
            button = button.fill(ACCENT.gamma_multiply(0.55));
        }
        if ui.add(button).on_hover_text(help.unwrap_or_default()).clicked() {
            asked.push(command);
        }
    };
    egui::ScrollArea::horizontal()
        .auto_shrink([false, false])
        .scroll_bar_visibility(egui::scroll_area::ScrollBarVisibility::AlwaysHidden)
        .show(ui, |ui| {
            ui.horizontal_centered(|ui| {
                button(ui, format!("{} Restart", icon::SKIP_BACK), RunCommand::Restart.into(), false, &mut asked);
                let play = if state.transport.playing {
                    format!("{} Pause", icon::PAUSE)
                } else {
                    format!("{} Play", icon::PLAY)
                };
                button(ui, play, RunCommand::TogglePlay.into(), true, &mut asked);
                button(ui, format!("{} Tick", icon::SKIP_FORWARD), RunCommand::Step(1).into(), false, &mut asked);
                button(ui, format!("{} 10", icon::FAST_FORWARD), RunCommand::Step(10).into(), false, &mut asked);
                button(ui, format!("{} Stage", icon::STEPS), RunCommand::Stage.into(), false, &mut asked);
                ui.separator();
                let mut speed = state.transport.speed;
                let label = ui.label("Speed");
                let slider = egui::Slider::new(&mut speed, SPEEDS).logarithmic(true).suffix("×").max_decimals(2);
                let slider = ui.add(slider).labelled_by(label.id);
                if slider.on_hover_text("Ticks per second, as a multiple of 20.").changed() {
                    asked.push(RunCommand::SetSpeed(speed).into());
                }
                ui.separator();
                button(ui, format!("{} New seed", icon::DICE_FIVE), RunCommand::NewSeed.into(), false, &mut asked);
                ui.separator();
                // Pressed again, it shows the present.
                let toggled = |wanted: Before, on: bool| -> Command {
                    ShowCommand::Before(if on { Before::Off } else { wanted }).into()
                };
                let alone = state.shown.0 == Before::Alone;
                let split = matches!(state.shown.0, Before::Split(_));
                let start = format!("{} Start", icon::CLOCK_COUNTER_CLOCKWISE);
                button(ui, start, toggled(Before::Alone, alone), alone, &mut asked);
                let half = format!("{} Split", icon::SQUARE_SPLIT_HORIZONTAL);
                button(ui, half, toggled(Before::Split(0.5), split), split, &mut asked);
                ui.separator();
                button(ui, format!("{} Frame", icon::CORNERS_OUT), ViewCommand::FrameAll.into(), false, &mut asked);
                button(ui, format!("{} Picture", icon::CAMERA), ViewCommand::TakePicture.into(), false, &mut asked);
            });
        });
    asked
}

/// Size, tick, cost, ledger.
pub fn status_ui(ui: &mut Ui, state: &PanelState<'_>) {
    let simulation = &state.live.chosen().simulation;
    let terrain = &simulation.terrain;
    let solid = &state.record.ledger.solid;
    let moved = solid.sum(|row| row.moved);
    let residual = solid.residual(state.record.volumes.0);
    let share = if moved > 0.0 { residual / moved } else { 0.0 };
    let counts: Vec<Counts> = simulation.slots.iter().map(|slot| slot.process.counts()).collect();
    let guards: u64 = counts.iter().map(|counts| counts.guards).sum();
    let mut parts = vec![
        format!("{} × {} cells of {} m", terrain.width(), terrain.height(), terrain.cell_size),
        format!("seed {}", simulation.seed()),
        format!("tick {}", simulation.ticks()),
    ];
    if let Some((process, stage)) = state.live.next_stage() {
        parts.push(format!("next: {process}, {stage}"));
    }
    if simulation.simulated_seconds() > 0.0 {
        parts.push(format!("{:.1} s simulated", simulation.simulated_seconds()));
    }
    parts.extend([
        format!("{:.1} ms per tick", state.timing.tick_ms),
        format!("{:.0} ms per frame", state.timing.frame_ms),
        format!("heights ×{}", state.live.chosen().look.vertical_exaggeration),
        format!("{moved:.2e} m³ moved, residual {share:+.0e}"),
    ]);
    if guards > 0 {
        parts.push(format!("{guards} guards"));
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
                    "What the layers hold, plus what left and was lost, minus what there was at the start: {residual:+.3e} m³."
                ));
            }
        }
    });
}
