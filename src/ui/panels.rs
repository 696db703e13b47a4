//! The panels of the window, as functions of (ui, state) that return what the user asks for.

use bevy_egui::egui::{self, RichText, Ui};

use super::{
    group::group_ui,
    style::{self, ACCENT},
};
use crate::{
    io::scene::Session,
    look::Look,
    runtime::{Command, SPEEDS, Timing, Transport},
    sim::{generate::TerrainParams, process::catalogue},
};

/// Terrain, one panel per process, light and colour.
pub fn parameters_ui(ui: &mut Ui, session: &Session) -> Vec<Command> {
    let mut commands = Vec::new();
    let set = |commands: &mut Vec<Command>, group: &str, changes: Vec<(&'static str, _)>| {
        commands.extend(changes.into_iter().map(|(name, value)| Command::Set(group.to_owned(), name, value)));
    };
    egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        ui.add_space(4.0);
        ui.heading(&session.title);
        if !session.about.is_empty() {
            ui.label(RichText::new(&session.about).weak());
        }
        ui.add_space(4.0);
        egui::CollapsingHeader::new(RichText::new("Terrain").heading()).default_open(false).show(ui, |ui| {
            if session.heightmap.is_some() {
                ui.label(RichText::new("An imported map: only edge and sand act on it.").weak());
            }
            let changes = group_ui(ui, ("terrain", &session.terrain), ("terrain", &TerrainParams::default()));
            set(&mut commands, "terrain", changes);
        });
        for (slot, fresh) in session.simulation.slots.iter().zip(catalogue()) {
            let info = slot.process.info();
            let state = egui::collapsing_header::CollapsingState::load_with_default_open(
                ui.ctx(),
                ui.make_persistent_id(info.key),
                true,
            );
            state
                .show_header(ui, |ui| {
                    let mut on = slot.enabled;
                    let text = RichText::new(info.title).heading();
                    if ui.checkbox(&mut on, text).on_hover_text(format!("{}\n{}", info.about, info.source)).changed() {
                        commands.push(Command::Enable(info.key, on));
                    }
                })
                .body(|ui| {
                    let changes = group_ui(ui, (info.key, slot.process.params()), (info.key, fresh.params()));
                    set(&mut commands, info.key, changes);
                });
        }
        egui::CollapsingHeader::new(RichText::new("Light and colour").heading()).default_open(true).show(ui, |ui| {
            let changes = group_ui(ui, ("look", &session.look), ("look", &Look::default()));
            set(&mut commands, "look", changes);
        });
    });
    commands
}

/// Play, step, speed, restart.
pub fn transport_ui(ui: &mut Ui, transport: &Transport) -> Vec<Command> {
    let mut commands = Vec::new();
    ui.horizontal_centered(|ui| {
        let mut button = |ui: &mut Ui, text: &str, help: &str, command: Command| {
            if ui.button(text).on_hover_text(help).clicked() {
                commands.push(command);
            }
        };
        button(ui, "⏮ Restart", "From the start with the same seed (R)", Command::Restart);
        let (sign, help) =
            if transport.playing { ("⏸ Pause", "Pause (Space)") } else { ("▶ Play", "Play (Space)") };
        if ui
            .add(egui::Button::new(RichText::new(sign).strong()).fill(ACCENT.gamma_multiply(0.55)))
            .on_hover_text(help)
            .clicked()
        {
            commands.push(Command::TogglePlay);
        }
        let mut button = |ui: &mut Ui, text: &str, help: &str, command: Command| {
            if ui.button(text).on_hover_text(help).clicked() {
                commands.push(command);
            }
        };
        button(ui, "+1 tick", "One tick (→)", Command::Step(1));
        button(ui, "+10", "Ten ticks (Shift+→)", Command::Step(10));
        ui.separator();
        let mut speed = transport.speed;
        let label = ui.label("Speed");
        let slider = egui::Slider::new(&mut speed, SPEEDS).logarithmic(true).suffix("×").max_decimals(2);
        if ui.add(slider).labelled_by(label.id).on_hover_text("Ticks per second, as a multiple of 20").changed() {
            commands.push(Command::SetSpeed(speed));
        }
        ui.separator();
        let mut button = |ui: &mut Ui, text: &str, help: &str, command: Command| {
            if ui.button(text).on_hover_text(help).clicked() {
                commands.push(command);
            }
        };
        button(ui, "New seed", "Another terrain (Shift+R)", Command::NewSeed);
        button(ui, "Frame all", "Show the whole map (Home)", Command::FrameAll);
    });
    commands
}

/// Size, tick, cost, ledger.
pub fn status_ui(ui: &mut Ui, session: &Session, timing: &Timing) {
    let simulation = &session.simulation;
    let terrain = &simulation.terrain;
    ui.horizontal_centered(|ui| {
        ui.small(format!("{} × {} cells of {} m", terrain.width(), terrain.height(), terrain.cell_size));
        ui.separator();
        ui.small(format!("seed {}", simulation.seed()));
        ui.separator();
        ui.small(format!("tick {}", simulation.ticks()));
        ui.separator();
        ui.small(format!("{:.1} ms per tick", timing.tick_ms));
        ui.separator();
        let solid = &simulation.ledger.solid;
        let moved = solid.sum(|row| row.moved);
        let residual = simulation.solid_residual();
        let share = if moved > 0.0 { residual / moved } else { 0.0 };
        ui.small(format!("ledger: {moved:.3e} m³ moved, residual {residual:+.1e} m³ ({share:+.0e})")).on_hover_text(
            "Solids: what the layers hold, plus what left and was lost, minus what there was at the start.",
        );
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            ui.label(RichText::new("right drag orbit · middle drag pan · wheel zoom · H hides panels").small().weak());
        });
    });
}

/// All panels around the view. Returns what is asked for and the rectangle that is left for the view.
pub fn window_ui(
    root: &mut Ui,
    session: &Session,
    transport: &Transport,
    timing: &Timing,
) -> (Vec<Command>, egui::Rect) {
    let mut commands = Vec::new();
    egui::Panel::bottom("status").exact_size(24.0).show_inside(root, |ui| status_ui(ui, session, timing));
    egui::Panel::bottom("transport")
        .exact_size(42.0)
        .show_inside(root, |ui| commands.extend(transport_ui(ui, transport)));
    egui::Panel::right("parameters").default_size(style::PANEL_WIDTH).resizable(true).show_inside(root, |ui| {
        commands.extend(parameters_ui(ui, session));
    });
    (commands, root.available_rect_before_wrap())
}
