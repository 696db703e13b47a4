//! The commands of the camera.

use egui_phosphor::regular as icon;

use crate::shell::commands::{ALT, AddCommands, CTRL, MenuPart, NONE, NUMBERS, SHIFT, SHIFT_ALT};
use crate::world::{CameraCommand, CameraMode, CameraStep, KeepView, KeyframeCommand};
use bevy::prelude::App;
use bevy_egui::egui::Key;

pub(super) fn plugin(app: &mut App) {
    app.add_commands("View", 10, commands);
}

fn commands(table: &mut MenuPart) {
    let frame = "The camera shows the whole map.";
    table
        .add(icon::CORNERS_OUT, "Frame all", frame, &[(NONE, Key::Home)], CameraCommand::FrameAll)
        .known_as("zoom extents reset camera view fit");
    let turn = "The camera goes round slowly, or stops.";
    table
        .add(icon::ARROWS_CLOCKWISE, "Turntable", turn, &[(NONE, Key::T)], CameraCommand::ToggleTurntable)
        .known_as("rotate orbit spin camera film");
    let walk = "You walk on the ground, at the height of your eyes. W, A, S, D or the arrows move you, a drag looks around, the wheel \
                changes your speed, Shift makes you faster. Esc ends it.";
    table
        .add(icon::PERSON_SIMPLE_WALK, "Walk", walk, &[(NONE, Key::G)], CameraCommand::Go(CameraMode::Walk))
        .known_as("ground first person eye height stroll");
    let fly = "You fly over the land. The keys are those of Walk; E and Q move you up and down. Esc ends it.";
    table
        .add(icon::BIRD, "Fly", fly, &[(SHIFT, Key::G)], CameraCommand::Go(CameraMode::Fly))
        .known_as("drone first person wasd");
    table.group = Some("Camera");
    let mut step = |icon, title: &str, about: &str, keys, step| {
        table.add(icon, title, about, &[keys], CameraCommand::Move(step));
    };
    let (left, right, up, down) = (Key::ArrowLeft, Key::ArrowRight, Key::ArrowUp, Key::ArrowDown);
    step(icon::ARROW_LEFT, "Turn left", "The camera goes round to the left.", (ALT, left), CameraStep::Turn(-5.0, 0.0));
    step(
        icon::ARROW_RIGHT,
        "Turn right",
        "The camera goes round to the right.",
        (ALT, right),
        CameraStep::Turn(5.0, 0.0),
    );
    step(icon::ARROW_UP, "Look from higher", "The camera rises.", (ALT, up), CameraStep::Turn(0.0, 5.0));
    step(icon::ARROW_DOWN, "Look from lower", "The camera sinks.", (ALT, down), CameraStep::Turn(0.0, -5.0));
    let sides = [
        ("From above", "The camera looks down on the map, the north at the top.", Key::Num7, 0.0, 90.0),
        ("From the south", "The camera looks to the north.", Key::Num1, 0.0, 20.0),
        ("From the east", "The camera looks to the west.", Key::Num3, 90.0, 20.0),
        ("From the north", "The camera looks to the south.", Key::Num9, 180.0, 20.0),
        ("From the west", "The camera looks to the east.", Key::Num4, 270.0, 20.0),
    ];
    for (title, about, key, round, high) in sides {
        step(icon::VIDEO_CAMERA, title, about, (ALT, key), CameraStep::From(round, high));
    }
    step(icon::PLUS, "Nearer", "The camera comes nearer.", (NONE, Key::PageUp), CameraStep::Near(1.15));
    step(icon::MINUS, "Farther", "The camera goes farther away.", (NONE, Key::PageDown), CameraStep::Near(1.0 / 1.15));
    let over = "The camera moves over the table, without turning.";
    step(icon::ARROW_LEFT, "Shift left", over, (SHIFT_ALT, left), CameraStep::Shift(-0.05, 0.0));
    step(icon::ARROW_RIGHT, "Shift right", over, (SHIFT_ALT, right), CameraStep::Shift(0.05, 0.0));
    step(icon::ARROW_UP, "Shift away", over, (SHIFT_ALT, up), CameraStep::Shift(0.0, 0.05));
    step(icon::ARROW_DOWN, "Shift back", over, (SHIFT_ALT, down), CameraStep::Shift(0.0, -0.05));
    table.group = Some("Kept views");
    for (index, key) in NUMBERS.into_iter().enumerate() {
        let number = index + 1;
        let (go, keep) = (format!("Go to view {number}"), format!("Keep view {number}"));
        let to = "The camera goes to where this view was kept. In Present, the number alone does it.";
        table.add(icon::BOOKMARK_SIMPLE, &go, to, &[], CameraCommand::GoToView(number));
        let here = "Keeps where the camera is, with the project.";
        table.add(icon::BOOKMARK_SIMPLE, &keep, here, &[(CTRL, key)], KeepView(number));
    }
    table.group = Some("Camera along the run");
    let set = "Sets a key of the camera at the present tick, where the camera is. Keys are diamonds on the timeline, and are saved with the \
               project. A film of the project follows those that lie ahead of it.";
    table.add(icon::DIAMOND, "Set a key", set, &[(NONE, Key::I)], KeyframeCommand::Set);
    let follow = "The camera goes along its keys while the run goes on, until you move it.";
    table.add(icon::PATH, "Follow the keys", follow, &[(SHIFT, Key::I)], KeyframeCommand::Follow);
    table.group = None;
}
