//! Commands for screenshots and video recording.

use egui_phosphor::regular as icon;

use crate::shell::commands::{AddCommands, CTRL, MenuSection, NONE, SHIFT};
use crate::world::{RecordTurntable, ScreenshotCommand, ToggleRecording};
use bevy::prelude::App;
use bevy_egui::egui::Key;

pub(super) fn plugin(app: &mut App) {
    app.add_commands("View", 120, commands);
}

fn commands(table: &mut MenuSection) {
    let viewport =
        "Save a screenshot of the viewport, without panels, to the Pictures folder. Set its size in Settings.";
    table
        .add(icon::CAMERA, "Take screenshot", viewport, &[(NONE, Key::F12)], ScreenshotCommand::Take)
        .set_aliases("save picture image photo render png");
    let window = "Save a screenshot of the window, with its panels, to the Pictures folder.";
    table
        .add(icon::CAMERA, "Take screenshot of the window", window, &[(SHIFT, Key::F12)], ScreenshotCommand::TakeWindow)
        .set_aliases("picture with panels interface");
    let film = "Start or stop recording a video of the window, with its panels. It is saved to the Pictures folder.";
    table.add(icon::RECORD, "Record video of the window", film, &[(CTRL, Key::F12)], ToggleRecording);
    let turn = "Record one turn around the terrain as a video that loops, without panels. Click the view to stop. It is saved to the \
        Pictures folder.";
    table
        .add(icon::ARROWS_CLOCKWISE, "Record turntable video", turn, &[], RecordTurntable)
        .set_aliases("loop orbit rotate film gif");
}
