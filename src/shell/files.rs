//! Files in and out: the dialogs that ask which, and how a picture of numbers is to be read.

use std::path::{Path, PathBuf};

use bevy::{prelude::*, window::FileDragAndDrop};
use bevy_egui::egui::{self, Key, RichText};

use super::{
    access,
    commands::{AddCommands, CTRL, MenuPart, SHIFT_CTRL},
    export::ExportDialog,
    file_request::{FileDialog, FileRequest, first_folder},
    number::Number,
    panes::Panes,
    style,
};
use crate::world::{
    Command, CommandEvent, FileCommand, Level, LoadStamp, Notices, Preferences, Presentation, Simulations,
    WindowCommand,
};
use egui_phosphor::regular as icon;
use thalweg_scene::{
    io::{
        export, heightmap,
        lesson::{self, is_lesson},
        playlist,
        preset::{self, Preset},
        project::{ENDING, is_project},
    },
    model::{origin::Options, session::Session},
};
use thalweg_sim::core::terrain::Layer;

fn commands(table: &mut MenuPart) {
    let open = "Opens a project, a scene file, a playlist, a lesson or a heightmap.";
    table
        .add(icon::FOLDER_OPEN, "Open…", open, &[(CTRL, Key::O)], open_request())
        .known_as("load file project scene heightmap dem");
    for (layer, import) in Layer::imports().filter(|(_, import)| import.offered) {
        let title = match layer {
            Layer::Bedrock => "-Import heights…".to_owned(),
            _ => format!("Import {} map…", import.title.to_lowercase()),
        };
        table.add(icon::DOWNLOAD_SIMPLE, &title, import.about, &[], import_request(layer));
    }
    let project = "Writes all of the work into its project file, to go on from there another time.";
    table
        .add(icon::FLOPPY_DISK, "-Save", project, &[(CTRL, Key::S)], WindowCommand::Save)
        .known_as("store write keep project");
    let other = "Writes all of the work into another project file.";
    table.add(icon::FLOPPY_DISK, "Save as…", other, &[(SHIFT_CTRL, Key::S)], save_project_request());
    let scene = "Writes the present state as a scene file with its layers beside it.";
    table.add(icon::FLOPPY_DISK, "Save scene as…", scene, &[], save_scene_request());
    let export = "Writes heights, maps and meshes for game engines, GIS programs and 3D printers.";
    table
        .add(icon::EXPORT, "-Export…", export, &[(CTRL, Key::E)], AskWhat)
        .known_as("save as image mesh unity unreal godot blender gis stl obj glb texture");
    let endings = export::endings("height").map(|(_, ending)| ending).collect::<Vec<_>>().join(", .");
    let heights = format!("Writes the heights; the name's ending chooses the format: .{endings}.");
    table
        .add(icon::EXPORT, "Save heights as…", &heights, &[], save_map_request("height"))
        .known_as("export heightmap dem geotiff exr raw");
    let preset = "Writes all parameters but the terrain's into a file, for other runs.";
    table.add(icon::SLIDERS, "-Save parameters as…", preset, &[], save_preset_request(None));
    let preset = "Sets the parameters that such a file holds, of a process or of all.";
    table.add(icon::SLIDERS, "Load parameters…", preset, &[], preset_request());
    let copy = "Puts the command on the clipboard that makes this run without a window.";
    let keys = [(SHIFT_CTRL, Key::C)];
    table
        .add(icon::TERMINAL_WINDOW, "-Copy command line", copy, &keys, WindowCommand::CopyCommandLine)
        .known_as("script terminal batch headless");
}

/// Draws the dialogs for files.
pub(crate) fn files_ui(
    InMut(context): InMut<egui::Context>,
    simulations: Res<Simulations>,
    dialog: Res<FileDialog>,
    mut files: ResMut<Files>,
) -> Vec<Command> {
    let mut commands = Vec::new();
    let Files { import, export } = files.bypass_change_detection();
    // The dialog for its folder is answered first.
    if let Some(shown) = export.as_mut().filter(|_| !dialog.is_open()) {
        let (answer, folder_wanted) = shown.ui(context, simulations.selected());
        if folder_wanted {
            commands.push(FileRequest::folder("A folder to write into", ExportInto).into());
        }
        if let Some(asked) = answer {
            commands.extend(asked);
            *export = None;
        }
    }
    if let Some(shown) = import {
        match import_ui(context, shown) {
            Some(true) => {
                commands.push(FileCommand::Load(shown.layer, shown.path.clone(), shown.options()).into());
                *import = None;
            }
            Some(false) => *import = None,
            None => {}
        }
    }
    commands
}

/// How a map is to be read, while the user decides.
#[derive(Clone, Debug)]
struct ImportDialog {
    layer: Layer,
    path: PathBuf,
    resample: bool,
    size: (usize, usize),
    state_cell: bool,
    cell_size: f32,
    state_range: bool,
    range: (f32, f32),
}

/// The dialogs of the program for files that are open: how one is to be imported, and what is to be exported.
#[derive(Resource, Default)]
pub struct Files {
    import: Option<ImportDialog>,
    export: Option<ExportDialog>,
}

impl Files {
    /// Whether one is open.
    pub fn is_open(&self) -> bool {
        self.import.is_some() || self.export.is_some()
    }
}

/// Adds a file to the playlist that is being made.
#[derive(Event, Clone, Debug, PartialEq, Eq)]
pub struct AddToPlaylist(pub PathBuf);

impl CommandEvent for AddToPlaylist {}

/// Asks how a file that was chosen or dropped is to be imported.
#[derive(Event, Clone, Debug, PartialEq)]
pub struct AskHow(pub Layer, pub PathBuf);

/// Asks what to export.
#[derive(Event, Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskWhat;

/// The folder into which files are exported.
#[derive(Event, Clone, Debug, PartialEq)]
struct ExportInto(PathBuf);

impl CommandEvent for AskHow {}
impl CommandEvent for AskWhat {}
impl CommandEvent for ExportInto {}

pub(crate) fn plugin(app: &mut App) {
    app.add_commands("File", 20, commands);
    app.init_resource::<Files>().add_observer(ask_how).add_observer(ask_what).add_observer(export_into);
}

fn ask_how(asked: On<AskHow>, mut files: ResMut<Files>, simulations: Res<Simulations>) {
    files.import = Some(ImportDialog::new(asked.0, asked.1.clone(), simulations.selected()));
}

fn ask_what(_: On<AskWhat>, mut files: ResMut<Files>, simulations: Res<Simulations>, preferences: Res<Preferences>) {
    files.export = Some(ExportDialog::new(simulations.selected(), first_folder(&preferences)));
}

fn export_into(folder: On<ExportInto>, mut files: ResMut<Files>) {
    if let Some(export) = &mut files.export {
        export.folder.clone_from(&folder.0);
    }
}

/// Endings of files that hold land: heightmaps, projects and scenes.
pub(crate) fn land_endings() -> Vec<&'static str> {
    [&heightmap::ENDINGS[..], &[ENDING, "ron"]].concat()
}

/// Asks for a project, a scene, a lesson or a heightmap to open.
pub fn open_request() -> FileRequest {
    let endings = [land_endings(), vec![lesson::ENDING]].concat();
    FileRequest::open(
        "Open a project, a scene, a lesson or a heightmap",
        ("Projects, scenes, lessons and heightmaps", &endings),
        |path| FileCommand::Open(path, Options::default()),
    )
}

/// Asks for a heightmap or another map to import.
pub fn import_request(layer: Layer) -> FileRequest {
    let title = format!("Import: {}", layer.import_title().to_lowercase());
    FileRequest::open(&title, ("Maps", &heightmap::ENDINGS), move |path| AskHow(layer, path))
}

/// Asks for a heightmap to stamp with.
pub fn stamp_request() -> FileRequest {
    FileRequest::open("A heightmap to stamp with", ("Maps", &heightmap::ENDINGS), LoadStamp)
}

/// Asks for parameters to load.
pub fn preset_request() -> FileRequest {
    FileRequest::open("Load parameters", ("Presets", &[preset::ENDING]), FileCommand::LoadPreset)
}

/// Asks where to save the parameters of a group, or of all.
pub fn save_preset_request(group: Option<&'static str>) -> FileRequest {
    let name = format!("{}-preset", group.unwrap_or("{name}"));
    let kinds = [("Preset".to_owned(), preset::ENDING)];
    FileRequest::save("Save parameters", &name, kinds, move |path| FileCommand::SavePreset(group, path))
}

/// Asks where to save a map.
pub fn save_map_request(map: &'static str) -> FileRequest {
    let kinds = export::endings(map).map(|(title, ending)| (title.to_owned(), ending));
    let save = move |path| FileCommand::SaveMap(map, path);
    FileRequest::save(&format!("Save {map}"), &format!("{{name}}-{map}"), kinds, save)
}

/// Asks where to save the scene.
pub fn save_scene_request() -> FileRequest {
    FileRequest::save("Save the scene", "{name}", [("Scene".to_owned(), "ron")], FileCommand::SaveScene)
}

/// Asks where to save the work. Without an answer the program does not end.
pub fn save_project_request() -> FileRequest {
    let kinds = [("Project".to_owned(), ENDING)];
    FileRequest::save("Save the project", "{name}", kinds, FileCommand::SaveProject).otherwise(FileCommand::Stay)
}

impl ImportDialog {
    /// As the present map is, where the person does not state it.
    fn new(layer: Layer, path: PathBuf, session: &Session) -> Self {
        let terrain = &session.simulation.terrain;
        Self {
            layer,
            path,
            resample: false,
            size: (terrain.width(), terrain.height()),
            state_cell: false,
            cell_size: terrain.cell_size,
            state_range: false,
            range: terrain.start.min_max(),
        }
    }

    fn options(&self) -> Options {
        let heights = self.layer == Layer::Bedrock;
        Options {
            size: (heights && self.resample).then_some(self.size),
            cell_size: (heights && self.state_cell).then_some(self.cell_size),
            min_m: (heights && self.state_range).then_some(self.range.0),
            max_m: (heights && self.state_range).then_some(self.range.1),
        }
    }
}

/// Asks how to read a map. `Some(true)` to import it, `Some(false)` to leave it.
fn import_ui(context: &egui::Context, import: &mut ImportDialog) -> Option<bool> {
    let mut answer = None;
    style::dialog("Import a map").show(context, |ui| {
        access::hold_keys(ui);
        ui.set_width(style::IMPORT_WIDTH);
        ui.label(RichText::new(import.path.display().to_string()).monospace());
        ui.horizontal(|ui| {
            let label = ui.label("Use it as");
            egui::ComboBox::from_id_salt("role")
                .selected_text(import.layer.import_title())
                .show_ui(ui, |ui| {
access::begin_list(ui);
                    for (layer, import_row) in Layer::imports().filter(|(_, import)| import.offered) {
                        access::list_choice(ui, &mut import.layer, layer, import_row.title);
                    }
                })
                .response
                .labelled_by(label.id);
        });
        if import.layer == Layer::Bedrock {
            let about = "What you leave off here is read from the sidecar (the .json file beside the map) or else from the map \
                itself.";
            ui.label(RichText::new(about).weak());
            ui.horizontal(|ui| {
                ui.checkbox(&mut import.resample, "Resample to");
                ui.add_enabled_ui(import.resample, |ui| {
                    Number::new("Width", "", 32..=4096).drag_ui(ui, &mut import.size.0, |field| field);
                    ui.label("×");
                    let height = Number::new("Height", "cells", 32..=4096);
                    height.drag_ui(ui, &mut import.size.1, |field| field.suffix(" cells"));
                });
            });
            ui.horizontal(|ui| {
                ui.checkbox(&mut import.state_cell, "Side of a cell");
                ui.add_enabled_ui(import.state_cell, |ui| {
                    let side = Number::new("Side of a cell", "m", 0.001..=100_000.0);
                    side.drag_ui(ui, &mut import.cell_size, |field| field);
                });
            });
            ui.horizontal(|ui| {
                ui.checkbox(&mut import.state_range, "Heights from");
                ui.add_enabled_ui(import.state_range, |ui| {
                    let height = |name| Number::new(name, "m", f32::MIN..=f32::MAX);
                    height("Lowest height").drag_ui(ui, &mut import.range.0, |field| field);
                    ui.label("to");
                    height("Highest height").drag_ui(ui, &mut import.range.1, |field| field);
                });
            });
        } else {
            let about = "It is resampled to the size of the present terrain. The run starts again; Undo brings the old run back.";
            ui.label(RichText::new(about).weak());
        }
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            if ui.button("Import").clicked() {
                answer = Some(true);
            }
            if ui.button("Cancel").clicked() || access::escapes_from(ui) {
                answer = Some(false);
            }
        });
    });
    answer
}

/// Why a file cannot be a scene of a playlist, in a sentence.
pub fn unfit_for_a_playlist(path: &Path) -> Option<String> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    let known = land_endings().contains(&&*ending);
    let what = match () {
        () if path.to_str().is_none() => "its name is not Unicode, and a playlist is text",
        () if path.is_dir() => "it is a folder",
        () if playlist::is_playlist_file(path) => "it is a playlist itself",
        () if Preset::load(path).is_ok() => "it is a file of parameters",
        () if !known => "it is no land",
        () => return None,
    };
    Some(format!("{}: {what}; add projects, scenes and heightmaps.", path.display()))
}

/// Files that are dropped on the window: one preset, project, scene, lesson or map is taken up, as its ending and what it holds say.
pub(crate) fn take_dropped_files(
    mut drops: MessageReader<FileDragAndDrop>,
    presentation: Res<Presentation>,
    panes: Res<Panes>,
    mut notices: ResMut<Notices>,
    mut commands: MessageWriter<Command>,
) {
    if presentation.is_kiosk() {
        drops.clear();
        return;
    }
    let files = drops.read().filter_map(|event| match event {
        FileDragAndDrop::DroppedFile { path_buf, .. } => Some(path_buf),
        _ => None,
    });
    let files: Vec<&PathBuf> = files.collect();
    if panes.has("playlist") {
        commands.write_batch(files.into_iter().map(|path| AddToPlaylist(path.clone()).into()));
        return;
    }
    match files[..] {
        [] => {}
        [path] if path.is_dir() => {
            notices.tell(Level::Error, format!("{}: it is a folder; drop a file that is in it.", path.display()));
        }
        [path] if Preset::load(path).is_ok() => {
            commands.write(FileCommand::LoadPreset(path.clone()).into());
        }
        [path]
            if is_project(path)
                || is_lesson(path)
                || path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ron")) =>
        {
            commands.write(FileCommand::Open(path.clone(), Options::default()).into());
        }
        [path] => {
            commands.write(AskHow(Layer::Bedrock, path.clone()).into());
        }
        _ => {
            let text = format!("{} files were dropped; drop one scene or one map at a time.", files.len());
            notices.tell(Level::Error, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(paths: &[&Path]) -> (Vec<Command>, Vec<String>) {
        let mut app = App::new();
        app.add_message::<FileDragAndDrop>()
            .add_message::<Command>()
            .init_resource::<Notices>()
            .init_resource::<Presentation>()
            .init_resource::<Panes>()
            .add_systems(Update, take_dropped_files);
        for path in paths {
            let window = Entity::PLACEHOLDER;
            app.world_mut().write_message(FileDragAndDrop::DroppedFile { window, path_buf: path.to_path_buf() });
        }
        app.update();
        let told = app.world().resource::<Notices>().shown().map(|notice| notice.text.clone()).collect();
        (app.world_mut().resource_mut::<Messages<Command>>().drain().collect(), told)
    }

    #[test]
    fn a_dropped_scene_is_opened_a_preset_set_and_a_map_asked_about() {
        let scene = dropped(&[Path::new("/maps/mine.ron")]);
        assert_eq!(scene, (vec![FileCommand::Open("/maps/mine.ron".into(), Options::default()).into()], vec![]));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let preset = folder.path().join("wind.ron");
        std::fs::write(&preset, r#"(parameters: {"wind.strength": "2"})"#).expect("it is writable");
        assert_eq!(dropped(&[&preset]), (vec![FileCommand::LoadPreset(preset.clone()).into()], vec![]));
        let map = dropped(&[Path::new("/maps/height.png")]);
        assert_eq!(map, (vec![AskHow(Layer::Bedrock, "/maps/height.png".into()).into()], vec![]));
    }

    #[test]
    fn only_land_comes_into_a_playlist() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("it is writable");
            unfit_for_a_playlist(&path)
        };
        assert_eq!([put("a.thalweg", ""), put("b.PNG", ""), put("c.ron", "(title: \"A\")")], [None, None, None]);
        for (name, text, said) in [
            ("list.ron", "(scenes: [(open: \"wadi\")])", "a playlist itself; add projects, scenes"),
            ("wind.ron", r#"(parameters: {"wind.strength": "2"})"#, "a file of parameters"),
            ("lesson.md", "", "no land; add projects"),
        ] {
            assert!(put(name, text).is_some_and(|wrong| wrong.contains(said)), "{name}");
        }
        assert!(unfit_for_a_playlist(folder.path()).is_some_and(|wrong| wrong.contains("it is a folder")));
    }

    #[test]
    fn a_folder_and_ten_files_are_refused_with_what_would_be_right() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (commands, told) = dropped(&[folder.path()]);
        assert!(commands.is_empty() && told[0].contains("it is a folder; drop a file"), "{told:?}");
        let (commands, told) = dropped(&[Path::new("/maps/height.png"); 10]);
        assert!(commands.is_empty() && told[0].contains("10 files were dropped; drop one"), "{told:?}");
    }
}
