//! Files in and out: the dialogs that ask which, and how a picture of numbers is to be read.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bevy::{
    prelude::*,
    window::{FileDragAndDrop, RawHandleWrapper},
};
use bevy_egui::egui::{self, RichText};

use super::{
    access,
    chooser::{Choice, Chooser, Question, Wanted},
    export::ExportDialog,
    number::Number,
    panes::Panes,
    playlist as playlist_pane,
    playlist::AddToPlaylist,
    style,
};
use crate::runtime::{
    CheckCommand, Command, Dialog, FileCommand, LessonCommand, Level, LoadStamp, Notices, Preferences, PresentCommand,
    Presentation, ProbeCommand, SaveChart, Simulations, WindowCommand,
};
use thalweg_scene::{
    io::{
        chart, export,
        lesson::{self, is_lesson, report},
        playlist,
        preset::{self, Preset},
        project::{ENDING, is_project},
    },
    model::{chart::Chart, origin::Options, playlist::Playlist, session::Session},
    settings::FileDialogs,
};
use thalweg_sim::core::terrain::Layer;

/// Endings of files that hold heights or another map.
const MAP_ENDINGS: [&str; 7] = ["png", "exr", "r16", "r32", "tif", "tiff", "asc"];

/// Draws the dialogs for files.
pub(super) fn files_ui(
    InMut(context): InMut<egui::Context>,
    simulations: Res<Simulations>,
    mut files: ResMut<Files>,
) -> Vec<Command> {
    files.bypass_change_detection().ui(context, simulations.selected())
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

#[derive(Resource, Default)]
pub struct Files {
    dialog: Option<(Dialog, Chooser)>,
    import: Option<ImportDialog>,
    export: Option<ExportDialog>,
    /// What is to be saved as a chart, or as a playlist.
    chart: Option<Chart>,
    playlist: Option<Arc<Playlist>>,
}

impl Files {
    /// Asks for a file or a folder. Call it on the main thread: there alone a window may be named as the one that asks.
    pub fn ask(
        &mut self,
        purpose: Dialog,
        session: &Session,
        preferences: &Preferences,
        window: Option<&RawHandleWrapper>,
    ) {
        // One is open already; the system's does not cover the window.
        if self.dialog.is_some() {
            return;
        }
        let playlist = self.playlist.as_ref().map_or("", |list| &*list.title);
        let question = question(purpose, session, (self.chart.as_ref(), playlist), first_folder(preferences));
        let window = window.filter(|_| preferences.settings.file_dialogs == FileDialogs::System);
        self.dialog = Some((purpose, Chooser::new(question, window)));
    }

    pub fn ask_how(&mut self, layer: Layer, path: PathBuf, session: &Session) {
        self.import = Some(ImportDialog::new(layer, path, session));
    }

    /// Asks where to save a chart.
    pub fn ask_chart(
        &mut self,
        chart: Chart,
        session: &Session,
        preferences: &Preferences,
        window: Option<&RawHandleWrapper>,
    ) {
        if self.dialog.is_some() {
            return;
        }
        self.chart = Some(chart);
        self.ask(Dialog::SaveChart, session, preferences, window);
    }

    /// Asks where to save a playlist.
    pub fn ask_playlist(
        &mut self,
        list: Arc<Playlist>,
        session: &Session,
        preferences: &Preferences,
        window: Option<&RawHandleWrapper>,
    ) {
        if self.dialog.is_some() {
            return;
        }
        self.playlist = Some(list);
        self.ask(Dialog::SavePlaylist, session, preferences, window);
    }

    pub fn ask_what(&mut self, session: &Session, preferences: &Preferences) {
        self.export = Some(ExportDialog::new(session, first_folder(preferences)));
    }

    pub fn is_open(&self) -> bool {
        self.import.is_some() || self.export.is_some() || self.asks_for_a_file()
    }

    /// Whether a file or a folder is asked for.
    pub fn asks_for_a_file(&self) -> bool {
        self.dialog.is_some()
    }

    /// What a file or a folder was picked for.
    fn picked(&mut self, purpose: Dialog, path: PathBuf) -> Option<Command> {
        let asked = match purpose {
            Dialog::Open => FileCommand::Open(path.clone(), Options::default()),
            Dialog::Stamp => return Some(LoadStamp(path).into()),
            Dialog::SavePreset(group) => FileCommand::SavePreset(group, with_ending(path, endings(purpose))),
            Dialog::LoadPreset => FileCommand::LoadPreset(path),
            Dialog::SaveMap(map) => FileCommand::SaveMap(map, with_ending(path, endings(purpose))),
            Dialog::SaveProject => FileCommand::SaveProject(with_ending(path, endings(purpose))),
            Dialog::SaveScene => FileCommand::SaveScene(with_ending(path, endings(purpose))),
            Dialog::SaveLesson => {
                let path = with_ending(path, endings(purpose));
                return Some(LessonCommand::SaveCopy(path).into());
            }
            Dialog::SaveProbes => {
                let path = with_ending(path, endings(purpose));
                return Some(ProbeCommand::Save(path).into());
            }
            Dialog::SaveChart => {
                let path = with_ending(path, endings(purpose));
                return self.chart.take().map(|chart| SaveChart(Box::new(chart), path).into());
            }
            Dialog::SavePlaylist => {
                let path = with_ending(path, endings(purpose));
                return self.playlist.take().map(|list| PresentCommand::Save(list, path).into());
            }
            Dialog::AddToPlaylist => return Some(AddToPlaylist(path).into()),
            Dialog::SaveChecks => {
                let path = with_ending(path, endings(purpose));
                return Some(CheckCommand::Save(path).into());
            }
            Dialog::SaveReport => {
                let path = with_ending(path, endings(purpose));
                return Some(LessonCommand::SaveReport(path).into());
            }
            Dialog::Import(layer) => return Some(WindowCommand::AskHow(layer, path).into()),
            Dialog::ExportFolder => {
                if let Some(export) = &mut self.export {
                    export.folder = path;
                }
                return None;
            }
        };
        Some(asked.into())
    }

    /// Draws the dialogs. Returns what the user decided.
    fn ui(&mut self, context: &egui::Context, session: &Session) -> Vec<Command> {
        let mut commands = Vec::new();
        let busy = self.dialog.is_some();
        if let Some((purpose, chooser)) = &mut self.dialog
            && let Some(choice) = chooser.ui(context)
        {
            let purpose = *purpose;
            match choice {
                Choice::Picked(path) => match taken(purpose, &path) {
                    // The system has asked for another name.
                    Some(there) => {
                        let text =
                            format!("{} exists. Nothing was saved; choose it by its whole name.", there.display());
                        commands.push(WindowCommand::Say(text).into());
                        if purpose == Dialog::SaveProject {
                            commands.push(FileCommand::Stay.into());
                        }
                    }
                    None => commands.extend(self.picked(purpose, path)),
                },
                // Without saving the program does not end.
                Choice::Cancelled if purpose == Dialog::SaveProject => commands.push(FileCommand::Stay.into()),
                Choice::Cancelled => {}
            }
            self.dialog = None;
        }
        // The dialog for its folder is answered first.
        if let Some(export) = self.export.as_mut().filter(|_| !busy) {
            let (answer, folder_wanted) = export.ui(context, session);
            if folder_wanted {
                commands.push(WindowCommand::Ask(Dialog::ExportFolder).into());
            }
            if let Some(asked) = answer {
                commands.extend(asked);
                self.export = None;
            }
        }
        if let Some(import) = &mut self.import {
            match import_ui(context, import) {
                Some(true) => {
                    commands.push(FileCommand::Load(import.layer, import.path.clone(), import.options()).into());
                    self.import = None;
                }
                Some(false) => self.import = None,
                None => {}
            }
        }
        commands
    }
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

fn question(
    purpose: Dialog,
    session: &Session,
    (chart, playlist): (Option<&Chart>, &str),
    folder: PathBuf,
) -> Question {
    let open = |title: &str, kind: &str, endings: &[&'static str]| {
        (title.to_owned(), Wanted::File(kind.to_owned(), endings.to_vec()))
    };
    let save = |title: &str, name: &str, kind: &str, ending| {
        (title.to_owned(), Wanted::Place(name.to_owned(), vec![(kind.to_owned(), ending)]))
    };
    let place = |title: &str, name: String, kinds: &[(&str, &'static str)]| {
        let kinds = kinds.iter().map(|&(kind, ending)| (kind.to_owned(), ending)).collect();
        (title.to_owned(), Wanted::Place(name, kinds))
    };
    let (title, wanted) = match purpose {
        Dialog::Open => {
            let endings = [&MAP_ENDINGS[..], &["thalweg", "ron", lesson::ENDING]].concat();
            open(
                "Open a project, a scene, a lesson or a heightmap",
                "Projects, scenes, lessons and heightmaps",
                &endings,
            )
        }
        Dialog::Import(layer) => {
            open(&format!("Import: {}", layer.import_title().to_lowercase()), "Maps", &MAP_ENDINGS)
        }
        Dialog::Stamp => open("A heightmap to stamp with", "Maps", &MAP_ENDINGS),
        Dialog::LoadPreset => open("Load parameters", "Presets", &[preset::ENDING]),
        Dialog::ExportFolder => ("A folder to write into".to_owned(), Wanted::Folder),
        Dialog::SavePreset(group) => {
            let name = format!("{}-preset", group.unwrap_or(&session.name));
            save("Save parameters", &name, "Preset", preset::ENDING)
        }
        Dialog::SaveMap(map) => {
            let kinds = export::formats(map).iter().map(|&ending| (format_title(ending), ending)).collect();
            (format!("Save {map}"), Wanted::Place(format!("{}-{map}", session.name), kinds))
        }
        Dialog::SaveLesson => save("Save a copy of the lesson", &file_name(&session.title), "Lesson", lesson::ENDING),
        Dialog::SaveProbes => save("Save the numbers of the probes", "probes", "Table", "csv"),
        Dialog::SaveChecks => save("Save the checks", "checks", "Text", "txt"),
        Dialog::SaveChart => {
            let name = format!("{}-{}", session.name, chart.map_or("chart", |chart| chart.key));
            place("Save the chart", name, &chart::KINDS)
        }
        Dialog::SavePlaylist => {
            let name = file_name(playlist);
            save("Save the playlist", if name.is_empty() { "playlist" } else { &name }, "Playlist", "ron")
        }
        Dialog::AddToPlaylist => {
            let endings = [&MAP_ENDINGS[..], &["thalweg", "ron"]].concat();
            open("Add to the playlist", "Projects, scenes and heightmaps", &endings)
        }
        Dialog::SaveReport => place("Save the report", file_name(&session.title), &report::KINDS),
        Dialog::SaveScene => save("Save the scene", &session.name, "Scene", "ron"),
        Dialog::SaveProject => save("Save the project", &session.name, "Project", ENDING),
    };
    Question { title, folder, wanted }
}

/// A title as the name of a file: small letters and digits, with dashes between. Other signs are not allowed in names everywhere.
fn file_name(title: &str) -> String {
    let plain: String = title.chars().map(|letter| if letter.is_alphanumeric() { letter } else { ' ' }).collect();
    plain.to_lowercase().split_whitespace().collect::<Vec<_>>().join("-")
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

fn format_title(ending: &str) -> String {
    match ending {
        "png" => "PNG".to_owned(),
        "exr" => "OpenEXR, 32 bit".to_owned(),
        "r32" => "Raw, 32 bit".to_owned(),
        other => other.to_uppercase(),
    }
}

/// Why a file cannot be a scene of a playlist, in a sentence.
pub fn unfit_for_a_playlist(path: &Path) -> Option<String> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    let known = MAP_ENDINGS.iter().chain(&["thalweg", "ron"]).any(|known| *known == ending);
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

/// Endings that a file may have that is written; none if a file is read.
fn endings(purpose: Dialog) -> &'static [&'static str] {
    match purpose {
        Dialog::SavePreset(_) => &[preset::ENDING],
        Dialog::SaveMap(map) => export::formats(map),
        Dialog::SaveProject => &[ENDING],
        Dialog::SaveLesson => &[lesson::ENDING],
        Dialog::SaveProbes => &["csv"],
        Dialog::SaveChecks => &["txt"],
        Dialog::SaveChart => &["png", "csv", "svg"],
        Dialog::SaveReport => &["html", "pdf"],
        Dialog::SaveScene | Dialog::SavePlaylist => &["ron"],
        Dialog::AddToPlaylist
        | Dialog::Open
        | Dialog::Import(_)
        | Dialog::Stamp
        | Dialog::LoadPreset
        | Dialog::ExportFolder => &[],
    }
}

/// A file that would be written over without a question, as its name got its ending after the question for another one.
fn taken(purpose: Dialog, path: &Path) -> Option<PathBuf> {
    let endings = endings(purpose);
    let whole = (!endings.is_empty()).then(|| with_ending(path.to_owned(), endings))?;
    (whole != path && whole.exists()).then_some(whole)
}

fn first_folder(preferences: &Preferences) -> PathBuf {
    let folder = preferences.remembered.last_folder.clone().filter(|folder| folder.is_dir());
    folder.or_else(|| std::env::current_dir().ok()).unwrap_or_default()
}

/// A name that has none of these endings gets the first. What follows another dot is part of the name.
fn with_ending(path: PathBuf, endings: &[&str]) -> PathBuf {
    let own = path.extension().unwrap_or_default();
    if endings.iter().any(|ending| own.eq_ignore_ascii_case(ending)) {
        return path;
    }
    let mut name = path.into_os_string();
    name.push(".");
    name.push(endings[0]);
    name.into()
}

/// Files that are dropped on the window: one preset, project, scene, lesson or map is taken up, as its ending and what it holds say.
pub(super) fn take_dropped_files(
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
    if panes.has(playlist_pane::PANE.key) {
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
            commands.write(WindowCommand::AskHow(Layer::Bedrock, path.clone()).into());
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
    fn a_title_becomes_a_name_that_every_system_allows() {
        assert_eq!(file_name("Talus: how steep can a heap stand?"), "talus-how-steep-can-a-heap-stand");
        assert_eq!(file_name("Über 100 m/s"), "über-100-m-s");
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
        assert_eq!(map, (vec![WindowCommand::AskHow(Layer::Bedrock, "/maps/height.png".into()).into()], vec![]));
    }

    #[test]
    fn names_get_the_ending_that_they_lack() {
        let named = |name: &str, endings: &[&str]| with_ending(PathBuf::from(name), endings).display().to_string();
        assert_eq!(named("/maps/valley v1.2", &["thalweg"]), "/maps/valley v1.2.thalweg");
        assert_eq!(named("/maps/valley.THALWEG", &["thalweg"]), "/maps/valley.THALWEG");
        assert_eq!(named("/maps/valley", &["png", "exr"]), "/maps/valley.png");
        assert_eq!(named("/maps/valley.exr", &["png", "exr"]), "/maps/valley.exr");
    }

    #[test]
    fn a_file_that_exists_is_not_written_over_by_a_name_without_its_ending() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (bare, whole) = (folder.path().join("hills"), folder.path().join("hills.thalweg"));
        assert_eq!(taken(Dialog::SaveProject, &bare), None);
        std::fs::write(&whole, "").expect("it is writable");
        assert_eq!(taken(Dialog::SaveProject, &bare), Some(whole.clone()));
        // Its whole name was asked about by the dialog.
        assert_eq!(taken(Dialog::SaveProject, &whole), None);
        assert_eq!(taken(Dialog::Open, &bare), None);
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
