//! File menu: dialogs to open, save, import and export, and files dropped on the window.

use std::path::{Path, PathBuf};

use bevy::{prelude::*, window::FileDragAndDrop};
use bevy_egui::egui::{self, Key, RichText, Ui};

use super::{
    access,
    commands::{AddCommands, CTRL, MenuSection, SHIFT_CTRL},
    export::ExportDialog,
    file_request::{FileRequest, SystemFileDialog, first_folder},
    floating::FloatingWindows,
    number::NumberField,
    style,
};
use crate::world::{
    AppCommand, AppCommandEvent, FileCommand, Job, JobKind, Jobs, LoadStamp, NoticeLevel, Notices, Preferences,
    Presentation, Simulations, WindowCommand,
};
use egui_phosphor::regular as icon;
use thalweg_scene::{
    io::{
        Error, JobProgress, export, heightmap,
        lesson::{self, is_lesson},
        playlist,
        preset::{self, Preset},
        project::{ENDING, is_project},
    },
    model::{
        origin::{Encoding, Options, RawCells},
        session::Session,
    },
};
use thalweg_sim::core::{
    bounds::{CELL_SIZE, SIDES},
    terrain::Layer,
};

fn commands(table: &mut MenuSection) {
    let open = "Open a project, scene, playlist, lesson or heightmap.";
    table
        .add(icon::FOLDER_OPEN, "Open…", open, &[(CTRL, Key::O)], open_request())
        .set_aliases("load file project scene heightmap dem");
    for (layer, import) in Layer::imports().filter(|(_, import)| import.offered) {
        let title = match layer {
            Layer::Bedrock => "-Import heightmap…".to_owned(),
            _ => format!("Import {} map…", import.title.to_lowercase()),
        };
        table.add(icon::DOWNLOAD_SIMPLE, &title, import.about, &[], import_request(layer));
    }
    let project = "Save the project.";
    table
        .add(icon::FLOPPY_DISK, "-Save", project, &[(CTRL, Key::S)], WindowCommand::Save)
        .set_aliases("store write keep project");
    let other = "Save the project to another file.";
    table.add(icon::FLOPPY_DISK, "Save as…", other, &[(SHIFT_CTRL, Key::S)], save_project_request());
    let scene = "Save the current state as a scene file, with its layers as separate files.";
    table.add(icon::FLOPPY_DISK, "Save scene as…", scene, &[], save_scene_request());
    let export = "Export heightmaps, other maps and meshes for game engines, GIS software and 3D printers.";
    table
        .add(icon::EXPORT, "-Export…", export, &[(CTRL, Key::E)], OpenExportDialog)
        .set_aliases("save as image mesh unity unreal godot blender gis stl obj glb texture");
    let endings = export::endings("height").map(|(_, ending)| ending).collect::<Vec<_>>().join(", .");
    let heights = format!("Export the heightmap. The file extension determines the format: .{endings}.");
    table
        .add(icon::EXPORT, "Export heightmap…", &heights, &[], save_map_request("height"))
        .set_aliases("save heights as elevation dem geotiff exr raw");
    let preset = "Save all parameters except those of the terrain as a preset for other simulations.";
    table.add(icon::SLIDERS, "-Save preset as…", preset, &[], save_preset_request(None));
    let preset = "Load a preset and apply its parameters.";
    table.add(icon::SLIDERS, "Load preset…", preset, &[], preset_request());
    let copy = "Copy the command that runs this simulation without a window.";
    let keys = [(SHIFT_CTRL, Key::C)];
    table
        .add(icon::TERMINAL_WINDOW, "-Copy command line", copy, &keys, WindowCommand::CopyCommandLine)
        .set_aliases("script terminal batch headless");
}

/// Draws the import and export dialogs.
pub(crate) fn files_ui(
    InMut(context): InMut<egui::Context>,
    simulations: Res<Simulations>,
    dialog: Res<SystemFileDialog>,
    mut files: ResMut<ImportExportDialogs>,
) -> Vec<AppCommand> {
    let mut commands = Vec::new();
    let ImportExportDialogs { import, export } = &mut *files;
    // Hidden while the native dialog for its folder is open.
    if let Some(shown) = export.as_mut().filter(|_| !dialog.is_open()) {
        let (answer, folder_wanted) = shown.ui(context, simulations.selected());
        if folder_wanted {
            commands.push(FileRequest::folder("Select the export folder", SetExportFolder).into());
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

/// Import options of a map while the dialog is open.
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
    /// Band or channel; empty for the default one.
    channel: String,
    raw: Option<RawCells>,
    encoding: Option<Encoding>,
    smooth_steps: bool,
}

/// The open import and export dialogs.
#[derive(Resource, Default)]
pub struct ImportExportDialogs {
    import: Option<ImportDialog>,
    export: Option<ExportDialog>,
}

impl ImportExportDialogs {
    /// Returns `true` if one is open.
    pub fn is_open(&self) -> bool {
        self.import.is_some() || self.export.is_some()
    }
}

/// Name of the window with the playlist editor, to which dropped files are added while it is open.
pub const PLAYLIST_EDITOR: &str = "playlist";

/// Adds files to the playlist in the playlist editor.
#[derive(Event, Clone, Debug, PartialEq, Eq)]
pub struct AddToPlaylist(pub Vec<PathBuf>);

impl AppCommandEvent for AddToPlaylist {}

/// Opens the import dialog for a file that was selected or dropped.
#[derive(Event, Clone, Debug, PartialEq)]
pub struct OpenImportDialog(pub Layer, pub PathBuf);

/// Opens, loads or imports a file dropped on the window.
#[derive(Event, Clone, Debug, PartialEq, Eq)]
pub struct OpenDroppedFile(pub PathBuf);

impl AppCommandEvent for OpenDroppedFile {}

/// Opens the export dialog.
#[derive(Event, Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenExportDialog;

/// Sets the folder of the export dialog.
#[derive(Event, Clone, Debug, PartialEq)]
struct SetExportFolder(PathBuf);

impl AppCommandEvent for OpenImportDialog {}
impl AppCommandEvent for OpenExportDialog {}
impl AppCommandEvent for SetExportFolder {}

pub(crate) fn plugin(app: &mut App) {
    app.add_commands("File", 20, commands);
    app.init_resource::<ImportExportDialogs>()
        .add_observer(open_dropped_file)
        .add_observer(open_import_dialog)
        .add_observer(open_export_dialog)
        .add_observer(set_export_folder);
}

fn open_import_dialog(
    asked: On<OpenImportDialog>,
    mut files: ResMut<ImportExportDialogs>,
    simulations: Res<Simulations>,
) {
    files.import = Some(ImportDialog::new(asked.0, asked.1.clone(), simulations.selected()));
}

fn open_export_dialog(
    _: On<OpenExportDialog>,
    mut files: ResMut<ImportExportDialogs>,
    simulations: Res<Simulations>,
    preferences: Res<Preferences>,
) {
    files.export = Some(ExportDialog::new(simulations.selected(), first_folder(&preferences)));
}

fn set_export_folder(folder: On<SetExportFolder>, mut files: ResMut<ImportExportDialogs>) {
    if let Some(export) = &mut files.export {
        export.folder.clone_from(&folder.0);
    }
}

/// Returns the extensions of files with terrain: heightmaps, projects and scenes.
pub(crate) fn terrain_extensions() -> Vec<&'static str> {
    [&heightmap::ENDINGS[..], &[ENDING, "ron"]].concat()
}

/// Creates the request for a file to open.
pub fn open_request() -> FileRequest {
    let endings = [terrain_extensions(), vec![lesson::ENDING]].concat();
    FileRequest::open(
        "Open a project, scene, lesson or heightmap",
        ("Projects, scenes, lessons and heightmaps", &endings),
        |path| FileCommand::Open(path, Options::default()),
    )
}

/// Creates the request for a map to import.
pub fn import_request(layer: Layer) -> FileRequest {
    let title = format!("Import: {}", layer.import_title().to_lowercase());
    FileRequest::open(&title, ("Maps", &heightmap::ENDINGS), move |path| OpenImportDialog(layer, path))
}

/// Creates the request for the heightmap of the stamp brush.
pub fn stamp_request() -> FileRequest {
    FileRequest::open("Select a heightmap for the Stamp brush", ("Maps", &heightmap::ENDINGS), LoadStamp)
}

/// Creates the request for a preset to load.
pub fn preset_request() -> FileRequest {
    FileRequest::open("Load preset", ("Presets", &[preset::ENDING]), FileCommand::LoadPreset)
}

/// Creates the request for the file to save the parameters of a group to, or all parameters.
pub fn save_preset_request(group: Option<&'static str>) -> FileRequest {
    let name = format!("{}-preset", group.unwrap_or("{name}"));
    let kinds = [("Preset".to_owned(), preset::ENDING)];
    FileRequest::save("Save preset", &name, kinds, move |path| FileCommand::SavePreset(group, path))
}

/// Creates the request for the file to save a map to.
pub fn save_map_request(map: &'static str) -> FileRequest {
    let kinds = export::endings(map).map(|(title, ending)| (title.to_owned(), ending));
    let save = move |path| FileCommand::SaveMap(map, path);
    FileRequest::save(&format!("Export {map}"), &format!("{{name}}-{map}"), kinds, save)
}

/// Creates the request for the file to save the scene to.
pub fn save_scene_request() -> FileRequest {
    FileRequest::save("Save scene", "{name}", [("Scene".to_owned(), "ron")], FileCommand::SaveScene)
}

/// Creates the request for the file to save the project to. If it is cancelled, a pending quit is cancelled too.
pub fn save_project_request() -> FileRequest {
    let kinds = [("Project".to_owned(), ENDING)];
    FileRequest::save("Save project", "{name}", kinds, FileCommand::SaveProject).on_cancel(FileCommand::CancelQuit)
}

impl ImportDialog {
    /// Creates the dialog with the values of the current terrain as defaults.
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
            channel: String::new(),
            raw: None,
            encoding: None,
            smooth_steps: false,
        }
    }

    /// Returns `true` for a file without a header.
    fn is_raw(&self) -> bool {
        let ending = self.path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        ending.is_some_and(|ending| ["raw", "r8", "r16", "r32", "bin"].contains(&&*ending))
    }

    fn options(&self) -> Options {
        let heights = self.layer == Layer::Bedrock;
        Options {
            size: (heights && self.resample).then_some(self.size),
            cell_size: (heights && self.state_cell).then_some(self.cell_size),
            min_m: (heights && self.state_range).then_some(self.range.0),
            max_m: (heights && self.state_range).then_some(self.range.1),
            channel: Some(self.channel.trim().to_owned()).filter(|name| heights && !name.is_empty()),
            raw: self.raw.filter(|_| heights && self.is_raw()),
            encoding: self.encoding.filter(|_| heights),
            smooth_steps: heights && self.smooth_steps,
        }
    }
}

/// Draws the import dialog. Returns `Some(true)` to import the map, `Some(false)` if cancelled.
fn import_ui(context: &egui::Context, import: &mut ImportDialog) -> Option<bool> {
    let mut answer = None;
    style::dialog("Import map").show(context, |ui| {
        access::trap_focus(ui);
        ui.set_width(style::IMPORT_WIDTH);
        ui.label(RichText::new(import.path.display().to_string()).monospace());
        ui.horizontal(|ui| {
            let label = ui.label("Import as");
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
            let about = "Values not set here are read from the sidecar (the .json file next to the map) if there is one, otherwise \
                from the map itself.";
            ui.label(RichText::new(about).weak());
            ui.horizontal(|ui| {
                ui.checkbox(&mut import.resample, "Resample to");
                ui.add_enabled_ui(import.resample, |ui| {
                    NumberField::new("Width", "", SIDES).drag_ui(ui, &mut import.size.0, |field| field);
                    ui.label("×");
                    let height = NumberField::new("Height", "cells", SIDES);
                    height.drag_ui(ui, &mut import.size.1, |field| field.suffix(" cells"));
                });
            });
            ui.horizontal(|ui| {
                ui.checkbox(&mut import.state_cell, "Cell size");
                ui.add_enabled_ui(import.state_cell, |ui| {
                    let side = NumberField::new("Cell size", "m", CELL_SIZE.min..=CELL_SIZE.max);
                    side.drag_ui(ui, &mut import.cell_size, |field| field);
                });
            });
            ui.horizontal(|ui| {
                ui.checkbox(&mut import.state_range, "Heights from");
                ui.add_enabled_ui(import.state_range, |ui| {
                    let height = |name| NumberField::new(name, "m", f32::MIN..=f32::MAX);
                    height("Lowest height").drag_ui(ui, &mut import.range.0, |field| field);
                    ui.label("to");
                    height("Highest height").drag_ui(ui, &mut import.range.1, |field| field);
                });
            });
            ui.checkbox(&mut import.smooth_steps, "Remove terraces")
                .on_hover_text("Smooth the steps of 8-bit heights. No height changes by more than half a step.");
            egui::CollapsingHeader::new("File format").show(ui, |ui| format_ui(ui, import));
        } else {
            let about = "Resampled to the size of the current terrain. The simulation restarts. Undo restores the previous one.";
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

/// Draws the options for files whose contents are not recognised correctly.
fn format_ui(ui: &mut Ui, import: &mut ImportDialog) {
    egui::Grid::new("format").num_columns(2).show(ui, |ui| {
        let help = "Enter the band of a TIFF or raw file, from 1, or the channel of an EXR that holds the heights.";
        let label = ui.label("Channel").on_hover_text(help);
        let field =
            egui::TextEdit::singleline(&mut import.channel).hint_text("Automatic").desired_width(style::NAME_WIDTH);
        ui.add(field).labelled_by(label.id);
        ui.end_row();
        let label = ui.label("Encoding").on_hover_text("Select how heights are encoded in the colours of an image.");
        let name = |encoding| match encoding {
            None => "Automatic",
            Some(Encoding::Grey) => "Luminance",
            Some(Encoding::Terrarium) => "Terrarium",
            Some(Encoding::Mapbox) => "Mapbox Terrain-RGB",
        };
        let list = egui::ComboBox::from_id_salt("encoding").width(style::SIZES_WIDTH);
        let shown = list.selected_text(name(import.encoding)).show_ui(ui, |ui| {
            access::begin_list(ui);
            for encoding in [None, Some(Encoding::Grey), Some(Encoding::Terrarium), Some(Encoding::Mapbox)] {
                access::list_choice(ui, &mut import.encoding, encoding, name(encoding));
            }
        });
        shown.response.labelled_by(label.id);
        ui.end_row();
        if import.is_raw() {
            let label = ui.label("Raw cells").on_hover_text("Select type and byte order of the cells.");
            let name = |raw: Option<RawCells>| raw.map_or("Automatic".to_owned(), |raw| raw.to_string());
            let list = egui::ComboBox::from_id_salt("raw").width(style::SIZES_WIDTH);
            let shown = list.selected_text(name(import.raw)).show_ui(ui, |ui| {
                access::begin_list(ui);
                let known = ["u8", "u16le", "u16be", "i16le", "i16be", "u32le", "i32le", "f32le", "f32be", "f64le"];
                for raw in std::iter::once(None).chain(known.iter().map(|name| name.parse().ok())) {
                    access::list_choice(ui, &mut import.raw, raw, name(raw));
                }
            });
            shown.response.labelled_by(label.id);
            ui.end_row();
        }
    });
}

/// Returns an error message if a file cannot be a scene of a playlist. Reads the file.
pub fn playlist_error(path: &Path) -> Option<String> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    let known = terrain_extensions().contains(&&*ending);
    let what = match () {
        () if path.to_str().is_none() => "the path is not valid Unicode",
        () if path.is_dir() => "this is a folder",
        () if playlist::is_playlist_file(path) => "this is a playlist",
        () if Preset::load(path).is_ok() => "this is a preset",
        () if !known => "not a terrain file",
        () => return None,
    };
    Some(format!("{}: {what}. Add projects, scenes or heightmaps.", path.display()))
}

/// Takes files dropped on the window: one file to open or import, or any number for the playlist editor.
pub(crate) fn take_dropped_files(
    mut drops: MessageReader<FileDragAndDrop>,
    presentation: Option<Res<Presentation>>,
    windows: Res<FloatingWindows>,
    mut notices: ResMut<Notices>,
    mut commands: MessageWriter<AppCommand>,
) {
    if presentation.is_some_and(|presentation| presentation.is_kiosk()) {
        drops.clear();
        return;
    }
    let files = drops.read().filter_map(|event| match event {
        FileDragAndDrop::DroppedFile { path_buf, .. } => Some(path_buf.clone()),
        _ => None,
    });
    let files: Vec<PathBuf> = files.collect();
    match &files[..] {
        [] => {}
        _ if windows.is_open(PLAYLIST_EDITOR) => drop(commands.write(AddToPlaylist(files).into())),
        [path] => drop(commands.write(OpenDroppedFile(path.clone()).into())),
        _ => {
            let text = format!("{} files were dropped. Drop one scene or map at a time.", files.len());
            notices.notify(NoticeLevel::Error, text);
        }
    }
}

/// Finds out in the background what a dropped file contains, and then sends the command for it.
fn open_dropped_file(dropped: On<OpenDroppedFile>, mut jobs: ResMut<Jobs>, mut notices: ResMut<Notices>) {
    let path = dropped.0.clone();
    let send = |In(command): In<AppCommand>, mut commands: MessageWriter<AppCommand>| {
        commands.write(command);
    };
    let job = Job::new(JobKind::Independent, "");
    jobs.start(&mut notices, job, move |_: &JobProgress| command_for_dropped(path), send);
}

/// Returns the command that opens, loads or imports a dropped file, depending on its extension and contents.
fn command_for_dropped(path: PathBuf) -> Result<AppCommand, Error> {
    let is_scene = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ron"));
    Ok(match () {
        () if path.is_dir() => return Err(Error::input(&path, "this is a folder", "drop a file instead")),
        () if Preset::load(&path).is_ok() => FileCommand::LoadPreset(path).into(),
        () if is_scene || is_project(&path) || is_lesson(&path) => FileCommand::Open(path, Options::default()).into(),
        () => OpenImportDialog(Layer::Bedrock, path).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(paths: &[&Path], edits_playlist: bool) -> (Vec<AppCommand>, Vec<String>) {
        let mut app = App::new();
        app.add_message::<FileDragAndDrop>()
            .add_message::<AppCommand>()
            .init_resource::<Notices>()
            .init_resource::<FloatingWindows>()
            .add_systems(Update, take_dropped_files);
        if edits_playlist {
            app.world_mut().resource_mut::<FloatingWindows>().open("playlist");
        }
        for path in paths {
            let window = Entity::PLACEHOLDER;
            app.world_mut().write_message(FileDragAndDrop::DroppedFile { window, path_buf: path.to_path_buf() });
        }
        app.update();
        let messages = app.world().resource::<Notices>().shown().map(|notice| notice.text.clone()).collect();
        (app.world_mut().resource_mut::<Messages<AppCommand>>().drain().collect(), messages)
    }

    #[test]
    fn dropped_scene_preset_and_map_become_commands() {
        let command = |path: &Path| command_for_dropped(path.to_owned()).expect("it is no folder");
        let scene = Path::new("/maps/mine.ron");
        assert_eq!(command(scene), FileCommand::Open(scene.into(), Options::default()));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let preset = folder.path().join("wind.ron");
        std::fs::write(&preset, r#"(parameters: {"wind.strength": "2"})"#).expect("it is writable");
        assert_eq!(command(&preset), FileCommand::LoadPreset(preset.clone()));
        let map = Path::new("/maps/height.png");
        assert_eq!(command(map), OpenImportDialog(Layer::Bedrock, map.into()));
        let error = command_for_dropped(folder.path().into()).expect_err("it is a folder").to_string();
        assert!(error.contains("this is a folder; drop a file"), "{error}");
    }

    #[test]
    fn playlist_accepts_only_terrain_files() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let put = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("it is writable");
            playlist_error(&path)
        };
        assert_eq!([put("a.thalweg", ""), put("b.PNG", ""), put("c.ron", "(title: \"A\")")], [None, None, None]);
        for (name, text, expected) in [
            ("list.ron", "(scenes: [(open: \"wadi\")])", "a playlist. Add projects, scenes"),
            ("wind.ron", r#"(parameters: {"wind.strength": "2"})"#, "a preset"),
            ("lesson.md", "", "not a terrain file. Add projects"),
        ] {
            assert!(put(name, text).is_some_and(|wrong| wrong.contains(expected)), "{name}");
        }
        assert!(playlist_error(folder.path()).is_some_and(|wrong| wrong.contains("this is a folder")));
    }

    #[test]
    fn multiple_dropped_files_are_for_the_playlist_only() {
        let map = Path::new("/maps/height.png");
        assert_eq!(dropped(&[map], false), (vec![OpenDroppedFile(map.into()).into()], vec![]));
        let (commands, messages) = dropped(&[map; 10], false);
        assert!(commands.is_empty() && messages[0].contains("10 files were dropped. Drop one"), "{messages:?}");
        assert_eq!(dropped(&[map; 2], true), (vec![AddToPlaylist(vec![map.into(); 2]).into()], vec![]));
        assert_eq!(dropped(&[], true), (vec![], vec![]));
    }
}
