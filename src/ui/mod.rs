//! Panels and keys. They read the runtime's state and send [`Command`]s; nothing here changes the simulation.

pub mod group;
pub mod panels;
pub mod style;

use bevy::prelude::*;
use bevy_egui::{EguiContexts, EguiPlugin, EguiPrimaryContextPass, egui};

use crate::runtime::{Command, FreeView, Live, PointerOverView, Timing, Transport};

/// Whether panels are shown.
#[derive(Resource, Clone, Copy, Debug)]
pub struct UiVisible(pub bool);

/// Whether a text field or slider has the keyboard.
#[derive(Resource, Clone, Copy, Debug, Default)]
struct KeyboardTaken(bool);

pub(super) fn plugin(app: &mut App) {
    app.add_plugins(EguiPlugin::default())
        .insert_resource(UiVisible(true))
        .init_resource::<KeyboardTaken>()
        .add_systems(EguiPrimaryContextPass, draw_panels)
        .add_systems(Update, (send_keys, show_or_hide));
}

#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
fn draw_panels(
    mut contexts: EguiContexts,
    live: Res<Live>,
    transport: Res<Transport>,
    timing: Res<Timing>,
    visible: Res<UiVisible>,
    mut taken: ResMut<KeyboardTaken>,
    mut commands: MessageWriter<Command>,
    mut pointer: ResMut<PointerOverView>,
    mut free: ResMut<FreeView>,
    mut styled: Local<bool>,
) -> Result {
    let context = contexts.ctx_mut()?;
    if !*styled {
        style::apply(context);
        *styled = true;
    }
    let window = context.viewport_rect();
    let mut view = window;
    if visible.0 {
        let builder = egui::UiBuilder::new().layer_id(egui::LayerId::background()).max_rect(view);
        let mut root = egui::Ui::new(context.clone(), "root".into(), builder);
        let (asked, left) = panels::window_ui(&mut root, &live.0, &transport, &timing);
        commands.write_batch(asked);
        view = left;
    }
    let part = |point: egui::Pos2| {
        let part = (point - window.min) / window.size().max(egui::Vec2::splat(1.0));
        Vec2::new(part.x, part.y)
    };
    free.set_if_neq(FreeView(Rect { min: part(view.min), max: part(view.max) }));
    taken.0 = context.egui_wants_keyboard_input();
    // Decided while no button is down, so that a drag stays with what it began on.
    let (place, down) = context.input(|input| (input.pointer.latest_pos(), input.pointer.any_down()));
    if !down {
        let over = place.is_some_and(|place| {
            let on_top = context.layer_id_at(place).is_some_and(|layer| layer.order != egui::Order::Background);
            view.contains(place) && !on_top && !context.egui_is_using_pointer()
        });
        pointer.0 = over;
    }
    Ok(())
}

/// The keys and what they ask for.
fn send_keys(keys: Res<ButtonInput<KeyCode>>, taken: Res<KeyboardTaken>, mut commands: MessageWriter<Command>) {
    if taken.0 {
        return;
    }
    let shift = keys.any_pressed([KeyCode::ShiftLeft, KeyCode::ShiftRight]);
    for key in keys.get_just_pressed() {
        let command = match (key, shift) {
            (KeyCode::Space, _) => Command::TogglePlay,
            (KeyCode::ArrowRight, true) => Command::Step(10),
            (KeyCode::ArrowRight | KeyCode::Period, _) => Command::Step(1),
            (KeyCode::KeyR, false) => Command::Restart,
            (KeyCode::KeyR, true) => Command::NewSeed,
            (KeyCode::Home, _) => Command::FrameAll,
            (KeyCode::KeyH, _) => Command::ToggleUi,
            _ => continue,
        };
        commands.write(command);
    }
}

fn show_or_hide(mut commands: MessageReader<Command>, mut visible: ResMut<UiVisible>) {
    for _ in commands.read().filter(|command| **command == Command::ToggleUi) {
        visible.0 = !visible.0;
    }
}
