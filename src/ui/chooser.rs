//! Asking for a file or a folder: with the system's own dialog where it has one, with ours where not.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use bevy::{tasks::block_on, window::RawHandleWrapper};
use bevy_egui::egui::{self, Align2};
use egui_file_dialog::{DialogState, FileDialog};
use rfd::AsyncFileDialog;

use super::{access, style};

/// How long nothing is said of a dialog of the system: it takes a moment to open.
const MOMENT: Duration = Duration::from_millis(800);

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
    pub(super) title: String,
    /// Where the dialog begins.
    pub(super) folder: PathBuf,
    pub(super) wanted: Wanted,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wanted {
    /// A file that exists: what such files are called, and their endings.
    File(String, Vec<&'static str>),
    /// A folder.
    Folder,
    /// A file to write: a name, and kinds of files with their endings, the usual one first.
    Place(String, Vec<(String, &'static str)>),
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Choice {
    Picked(PathBuf),
    Cancelled,
}

/// What came of the system's dialog.
#[derive(Clone)]
enum Answer {
    Choice(Choice),
    /// The system has none.
    NoDialog,
}

/// A dialog that is open.
pub(super) struct Chooser {
    question: Question,
    shown: Shown,
}

enum Shown {
    /// The system's dialog, and when it was asked for.
    System(Arc<OnceLock<Answer>>, Instant),
    Ours(Box<FileDialog>),
}

impl Chooser {
    /// Asks with the system's dialog, which belongs to a window; without one, with ours.
    pub(super) fn new(question: Question, window: Option<&RawHandleWrapper>) -> Self {
        let shown = match window {
            Some(window) => Shown::System(in_system(&question, window), Instant::now()),
            None => Shown::Ours(Box::new(ours(&question))),
        };
        Self { question, shown }
    }

    /// Draws it, and returns what was chosen.
    pub(super) fn ui(&mut self, context: &egui::Context) -> Option<Choice> {
        match &mut self.shown {
            Shown::System(answer, since) => match answer.get().cloned() {
                Some(Answer::Choice(choice)) => return Some(choice),
                None => {
                    if since.elapsed() < MOMENT || !own_instead(context) {
                        return None;
                    }
                    self.shown = Shown::Ours(Box::new(ours(&self.question)));
                }
                Some(Answer::NoDialog) => {
                    self.shown = Shown::Ours(Box::new(ours(&self.question)));
                }
            },
            Shown::Ours(dialog) => {
                dialog.update(context);
                if let Some(path) = dialog.take_picked() {
                    return Some(Choice::Picked(path));
                }
                if matches!(dialog.state(), DialogState::Cancelled | DialogState::Closed) {
                    return Some(Choice::Cancelled);
                }
            }
        }
        None
    }
}

/// Says that a dialog of the system is open, which may lie behind the window. Returns whether ours is wanted instead.
fn own_instead(context: &egui::Context) -> bool {
    let window = style::dialog("Choose a file").show(context, |ui| {
        access::hold_keys(ui);
        ui.label("The system's file dialog opens beside this window. It may be behind it.");
        ui.add_space(4.0);
        ui.button("Use Thalweg's dialog instead").clicked() || access::escapes_from(ui)
    });
    window.and_then(|window| window.inner).unwrap_or_default()
}

fn ours(question: &Question) -> FileDialog {
    let dialog = FileDialog::new()
        .initial_directory(question.folder.clone())
        .default_size(style::FILES_SIZE)
        .anchor(Align2::CENTER_CENTER, [0.0, 0.0])
        .title(&question.title);
    match &question.wanted {
        Wanted::File(kind, endings) => {
            let mut dialog = dialog.add_file_filter_extensions(kind, endings.clone()).default_file_filter(kind);
            dialog.pick_file();
            dialog
        }
        Wanted::Folder => {
            let mut dialog = dialog;
            dialog.pick_directory();
            dialog
        }
        Wanted::Place(name, kinds) => {
            let dialog = kinds.iter().fold(dialog, |dialog, (kind, ending)| dialog.add_save_extension(kind, ending));
            let usual = kinds.first().map_or("", |(kind, _)| kind);
            let mut dialog = dialog.default_file_name(name).default_save_extension(usual);
            dialog.save_file();
            dialog
        }
    }
}

/// Opens the system's dialog, if there is one, and waits for it beside the frames.
fn in_system(question: &Question, window: &RawHandleWrapper) -> Arc<OnceLock<Answer>> {
    // SAFETY: systems that ask for files run on the main thread, as `obey` in `ui/mod.rs` does.
    let parent = unsafe { window.get_handle() };
    let dialog = AsyncFileDialog::new().set_title(&question.title).set_directory(&question.folder).set_parent(&parent);
    let answer = Arc::new(OnceLock::new());
    macro_rules! wait_for {
        ($picked:expr) => {{
            let (picked, place) = ($picked, Arc::clone(&answer));
            thread::spawn(move || {
                let answer = if has_dialogs() {
                    let picked = block_on(picked);
                    let path = picked.map(|file| Choice::Picked(file.path().to_owned()));
                    Answer::Choice(path.unwrap_or(Choice::Cancelled))
                } else {
                    Answer::NoDialog
                };
                let _ = place.set(answer);
            });
        }};
    }
    match &question.wanted {
        Wanted::File(kind, endings) => wait_for!(dialog.add_filter(kind, endings).pick_file()),
        Wanted::Folder => wait_for!(dialog.pick_folder()),
        Wanted::Place(name, kinds) => {
            let named =
                dialog.set_file_name(kinds.first().map_or(name.clone(), |(_, ending)| format!("{name}.{ending}")));
            // The system does not say which kind was chosen: the ending of the name decides.
            let titles: Vec<&str> = kinds.iter().map(|(kind, _)| kind.as_str()).collect();
            let endings: Vec<&str> = kinds.iter().map(|(_, ending)| *ending).collect();
            wait_for!(named.add_filter(titles.join(", "), &endings).save_file());
        }
    }
    answer
}

/// Whether the desktop answers for files. Without one, or without the part of it that shows dialogs, it does not.
#[cfg(target_os = "linux")]
fn has_dialogs() -> bool {
    let asked = async {
        let waits = Duration::from_secs(3);
        let bus = zbus::connection::Builder::session()?.method_timeout(waits).build().await?;
        let portal = ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop");
        let files = zbus::Proxy::new(&bus, portal.0, portal.1, "org.freedesktop.portal.FileChooser").await?;
        files.get_property::<u32>("version").await
    };
    block_on(asked).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn has_dialogs() -> bool {
    true
}
