//! Camera commands.

use egui_phosphor::regular as icon;

use crate::shell::commands::{ALT, AddCommands, CTRL, MenuSection, NONE, NUMBERS, SHIFT, SHIFT_ALT};
use crate::world::{CameraCommand, CameraMode, CameraStep, KeyframeCommand, SaveBookmark};
use bevy::prelude::App;
use bevy_egui::egui::Key;

pub(super) fn plugin(app: &mut App) {
    app.add_commands("View", 10, commands);
}

fn commands(table: &mut MenuSection) {
    let frame = "Frame the whole terrain.";
    table
        .add(icon::CORNERS_OUT, "Frame all", frame, &[(NONE, Key::Home)], CameraCommand::FrameAll)
        .set_aliases("zoom extents reset camera view fit");
    let turn = "Start or stop a slow orbit around the terrain.";
    table
        .add(icon::ARROWS_CLOCKWISE, "Turntable", turn, &[(NONE, Key::T)], CameraCommand::ToggleTurntable)
        .set_aliases("rotate orbit spin camera film video");
    let walk = "Walk on the terrain at eye height. Move with W, A, S, D or the arrow keys, drag to look around, scroll to change the \
                speed, hold Shift to move faster. Press Esc to stop.";
    table
        .add(icon::PERSON_SIMPLE_WALK, "Walk", walk, &[(NONE, Key::G)], CameraCommand::SetMode(CameraMode::Walk))
        .set_aliases("ground first person eye height stroll");
    let fly =
        "Fly over the terrain with the same controls as Walk, and E and Q to move up and down. Press Esc to stop.";
    table
        .add(icon::BIRD, "Fly", fly, &[(SHIFT, Key::G)], CameraCommand::SetMode(CameraMode::Fly))
        .set_aliases("drone first person wasd");
    table.submenu = Some("Camera");
    let mut step = |icon, title: &str, about: &str, keys, step| {
        table.add(icon, title, about, &[keys], CameraCommand::Move(step));
    };
    let (left, right, up, down) = (Key::ArrowLeft, Key::ArrowRight, Key::ArrowUp, Key::ArrowDown);
    step(
        icon::ARROW_LEFT,
        "Orbit left",
        "Orbit the camera to the left around the terrain.",
        (ALT, left),
        CameraStep::Orbit(-5.0, 0.0),
    );
    step(
        icon::ARROW_RIGHT,
        "Orbit right",
        "Orbit the camera to the right around the terrain.",
        (ALT, right),
        CameraStep::Orbit(5.0, 0.0),
    );
    step(icon::ARROW_UP, "Orbit up", "Orbit the camera up around the terrain.", (ALT, up), CameraStep::Orbit(0.0, 5.0));
    step(
        icon::ARROW_DOWN,
        "Orbit down",
        "Orbit the camera down around the terrain.",
        (ALT, down),
        CameraStep::Orbit(0.0, -5.0),
    );
    let sides = [
        ("Top view", "Look straight down, with north up.", Key::Num7, 0.0, 90.0),
        ("View from the south", "Look north.", Key::Num1, 0.0, 20.0),
        ("View from the east", "Look west.", Key::Num3, 90.0, 20.0),
        ("View from the north", "Look south.", Key::Num9, 180.0, 20.0),
        ("View from the west", "Look east.", Key::Num4, 270.0, 20.0),
    ];
    for (title, about, key, round, high) in sides {
        step(icon::VIDEO_CAMERA, title, about, (ALT, key), CameraStep::OrbitTo(round, high));
    }
    step(icon::PLUS, "Zoom in", "Move the camera closer.", (NONE, Key::PageUp), CameraStep::Zoom(1.15));
    step(icon::MINUS, "Zoom out", "Move the camera away.", (NONE, Key::PageDown), CameraStep::Zoom(1.0 / 1.15));
    let over = "Move the camera without rotating it.";
    step(icon::ARROW_LEFT, "Pan left", over, (SHIFT_ALT, left), CameraStep::Pan(-0.05, 0.0));
    step(icon::ARROW_RIGHT, "Pan right", over, (SHIFT_ALT, right), CameraStep::Pan(0.05, 0.0));
    step(icon::ARROW_UP, "Pan forward", over, (SHIFT_ALT, up), CameraStep::Pan(0.0, 0.05));
    step(icon::ARROW_DOWN, "Pan back", over, (SHIFT_ALT, down), CameraStep::Pan(0.0, -0.05));
    table.submenu = Some("Bookmarks");
    for (index, key) in NUMBERS.into_iter().enumerate() {
        let number = index + 1;
        let (go, keep) = (format!("Go to bookmark {number}"), format!("Save bookmark {number}"));
        let to = "Move the camera to this bookmark. In the Present workspace, press the number key alone.";
        table.add(icon::BOOKMARK_SIMPLE, &go, to, &[], CameraCommand::GoToBookmark(number));
        let here = "Save the current view as a bookmark in the project.";
        table.add(icon::BOOKMARK_SIMPLE, &keep, here, &[(CTRL, key)], SaveBookmark(number));
    }
    table.submenu = Some("Camera keyframes");
    let set = "Insert a camera keyframe at the current tick. Keyframes are diamonds on the timeline and are saved with the project. A \
               video of the project follows the keyframes from its first tick onwards.";
    table.add(icon::DIAMOND, "Insert keyframe", set, &[(NONE, Key::I)], KeyframeCommand::Set);
    let follow = "Move the camera along its keyframes while the simulation runs. Any manual move ends this.";
    table.add(icon::PATH, "Follow keyframes", follow, &[(SHIFT, Key::I)], KeyframeCommand::Follow);
    table.submenu = None;
}
