//! The commands that write pictures and films.

use egui_phosphor::regular as icon;

use crate::shell::commands::{AddCommands, CTRL, MenuPart, NONE, SHIFT};
use crate::world::{PictureCommand, ToggleRecording};
use bevy::prelude::App;
use bevy_egui::egui::Key;

pub(super) fn plugin(app: &mut App) {
    app.add_commands("View", 120, commands);
}

fn commands(table: &mut MenuPart) {
    let picture =
        "Writes a picture of the view, without panels, into your folder of pictures. The settings say how large it is.";
    table
        .add(icon::CAMERA, "Take picture", picture, &[(NONE, Key::F12)], PictureCommand::Take)
        .known_as("save picture screenshot image photo render png");
    let window = "Writes a picture of the window, with its panels, into your folder of pictures.";
    table
        .add(icon::CAMERA, "Take picture of the window", window, &[(SHIFT, Key::F12)], PictureCommand::TakeWindow)
        .known_as("screenshot with panels interface");
    let film = "Films the window, with its panels, into your folder of pictures, until you choose this again.";
    table.add(icon::RECORD, "Film the window", film, &[(CTRL, Key::F12)], ToggleRecording);
}
