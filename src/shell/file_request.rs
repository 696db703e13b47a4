//! Native file dialogs, and the commands that result from them.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use bevy::{
    ecs::system::NonSendMarker,
    prelude::*,
    tasks::block_on,
    window::{PrimaryWindow, RawHandleWrapper},
};
use bevy_egui::egui;
use rfd::AsyncFileDialog;

use super::{access, style};
use crate::world::{
    AppCommand, AppCommandEvent, NoticeLevel, Notices, Preferences, Simulations, background::BackgroundTask,
};
use thalweg_scene::model::session::Session;

/// Delay before the hint about an open dialog: it takes a moment to appear.
const HINT_DELAY: Duration = Duration::from_millis(800);
/// Duration below which a cancellation means that no dialog appeared: no user is that fast.
const MIN_DIALOG_TIME: Duration = Duration::from_millis(250);

/// Request to select a file or folder in the native dialog.
#[derive(Event, Clone)]
pub struct FileRequest {
    title: String,
    kind: FileDialogKind,
    then: Arc<dyn Fn(PathBuf) -> AppCommand + Send + Sync>,
    otherwise: Option<AppCommand>,
}

/// Result of the native dialog, and the time that it took.
#[derive(Debug, Default)]
struct FileDialogAnswer {
    path: Option<PathBuf>,
    waited: Duration,
}

/// Kind of a request.
#[derive(Clone, Debug, PartialEq)]
enum FileDialogKind {
    /// An existing file: name of the filter and extensions.
    OpenFile(String, Vec<&'static str>),
    Folder,
    /// A file to write: suggested name, and formats with their extensions, the default first.
    SaveFile(String, Vec<(String, &'static str)>),
}

impl FileRequest {
    fn new(title: &str, wanted: FileDialogKind, then: impl Fn(PathBuf) -> AppCommand + Send + Sync + 'static) -> Self {
        Self { title: title.to_owned(), kind: wanted, then: Arc::new(then), otherwise: None }
    }

    /// Creates a request for an existing file with one of these extensions. `then` turns its path into a command.
    pub fn open<C: Into<AppCommand>>(
        title: &str,
        (kind, extensions): (&str, &[&'static str]),
        then: impl Fn(PathBuf) -> C + Send + Sync + 'static,
    ) -> Self {
        Self::new(title, FileDialogKind::OpenFile(kind.to_owned(), extensions.to_vec()), move |path| then(path).into())
    }

    /// Creates a request for a file to write, in one of these formats. In `name`, `{name}` and `{title}` are replaced by those of the
    /// selected session.
    pub fn save<C: Into<AppCommand>>(
        title: &str,
        name: &str,
        kinds: impl IntoIterator<Item = (String, &'static str)>,
        then: impl Fn(PathBuf) -> C + Send + Sync + 'static,
    ) -> Self {
        let wanted = FileDialogKind::SaveFile(name.to_owned(), kinds.into_iter().collect());
        Self::new(title, wanted, move |path| then(path).into())
    }

    /// Creates a request for a folder.
    pub fn folder<C: Into<AppCommand>>(title: &str, then: impl Fn(PathBuf) -> C + Send + Sync + 'static) -> Self {
        Self::new(title, FileDialogKind::Folder, move |path| then(path).into())
    }

    /// Sets a command to run if the dialog is cancelled.
    pub fn on_cancel(mut self, command: impl Into<AppCommand>) -> Self {
        self.otherwise = Some(command.into());
        self
    }

    /// Opens the native dialog and waits for it on a background thread.
    fn ask(
        &self,
        folder: &Path,
        session: &Session,
        window: Option<&RawHandleWrapper>,
    ) -> BackgroundTask<(), FileDialogAnswer> {
        let dialog = AsyncFileDialog::new().set_title(&self.title).set_directory(folder);
        // SAFETY: dialogs are opened on the main thread only.
        let window = window.map(|window| unsafe { window.get_handle() });
        let dialog = match &window {
            Some(window) => dialog.set_parent(window),
            None => dialog,
        };
        macro_rules! wait_for {
            ($picked:expr) => {{
                let picked = $picked;
                let begun = Instant::now();
                BackgroundTask::start((), move || {
                    let path = block_on(picked).map(|file| file.path().to_owned());
                    FileDialogAnswer { path, waited: begun.elapsed() }
                })
            }};
        }
        match &self.kind {
            FileDialogKind::OpenFile(kind, extensions) => wait_for!(dialog.add_filter(kind, extensions).pick_file()),
            FileDialogKind::Folder => wait_for!(dialog.pick_folder()),
            FileDialogKind::SaveFile(name, kinds) => {
                let name = name.replace("{name}", &session.name).replace("{title}", &file_name(&session.title));
                let name = kinds.first().map_or(name.clone(), |(_, extension)| format!("{name}.{extension}"));
                // The native dialog does not report the selected filter: the extension of the name decides.
                let titles: Vec<&str> = kinds.iter().map(|(kind, _)| kind.as_str()).collect();
                let extensions: Vec<&str> = kinds.iter().map(|(_, extension)| *extension).collect();
                wait_for!(dialog.set_file_name(name).add_filter(titles.join(", "), &extensions).save_file())
            }
        }
    }

    /// Returns the path with a supported extension.
    ///
    /// # Errors
    ///
    /// Returns the path if the extension was added and such a file exists: the dialog has not asked whether to overwrite it.
    fn with_extension_checked(&self, path: PathBuf) -> Result<PathBuf, PathBuf> {
        let FileDialogKind::SaveFile(_, kinds) = &self.kind else { return Ok(path) };
        let whole = with_extension(path.clone(), kinds);
        if whole != path && whole.exists() { Err(whole) } else { Ok(whole) }
    }
}

impl fmt::Debug for FileRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FileRequest").field("title", &self.title).field("wanted", &self.kind).finish()
    }
}

/// Requests are equal if title and kind are.
impl PartialEq for FileRequest {
    fn eq(&self, other: &Self) -> bool {
        (&self.title, &self.kind) == (&other.title, &other.kind)
    }
}

impl AppCommandEvent for FileRequest {}

/// The open dialog, if any.
#[derive(Resource, Default)]
pub struct SystemFileDialog(Option<(FileRequest, BackgroundTask<(), FileDialogAnswer>)>);

impl SystemFileDialog {
    /// Returns `true` while a dialog is open.
    pub fn is_open(&self) -> bool {
        self.0.is_some()
    }
}

pub(crate) fn plugin(app: &mut App) {
    app.init_resource::<SystemFileDialog>().add_observer(open_dialog);
}

fn open_dialog(
    request: On<FileRequest>,
    mut dialog: ResMut<SystemFileDialog>,
    simulations: Res<Simulations>,
    preferences: Res<Preferences>,
    windows: Query<&RawHandleWrapper, With<PrimaryWindow>>,
    _on_main_thread: NonSendMarker,
) {
    // Only one dialog at a time: native dialogs don't block the window.
    if dialog.0.is_none() {
        let folder = first_folder(&preferences);
        let answer = request.ask(&folder, simulations.selected(), windows.single().ok());
        dialog.0 = Some((request.clone(), answer));
    }
}

/// Takes the result of the dialog and sends the corresponding command.
pub(crate) fn take_answer(
    mut dialog: ResMut<SystemFileDialog>,
    mut preferences: ResMut<Preferences>,
    mut notices: ResMut<Notices>,
    mut commands: MessageWriter<AppCommand>,
) {
    let Some((request, answer)) = dialog.0.take_if(|(_, answer)| answer.is_finished()) else { return };
    let FileDialogAnswer { path, waited } = answer.join().unwrap_or_default();
    let chosen = path.map(|path| {
        match request.kind {
            FileDialogKind::Folder => preferences.remembered.last_folder = Some(path.clone()),
            _ => preferences.remember_folder(&path),
        }
        request.with_extension_checked(path)
    });
    match chosen {
        Some(Ok(path)) => {
            commands.write((request.then)(path));
            return;
        }
        // The dialog has asked about the name without the extension.
        Some(Err(there)) => {
            let text = format!(
                "{} already exists. Nothing was saved. To overwrite it, enter its full name, including the extension.",
                there.display()
            );
            notices.notify(NoticeLevel::Warning, text);
        }
        None if waited < MIN_DIALOG_TIME => {
            let text = "No file dialog is available. Install a desktop portal (xdg-desktop-portal) or zenity, drop files on the window, \
                        or name them on the command line.";
            notices.notify(NoticeLevel::Error, text);
        }
        None => {}
    }
    commands.write_batch(request.otherwise);
}

/// Draws a hint that a dialog is open, as it may be hidden behind the window.
pub(crate) fn hint_ui(InMut(context): InMut<egui::Context>, mut dialog: ResMut<SystemFileDialog>) -> Vec<AppCommand> {
    if dialog.0.as_ref().is_none_or(|(_, answer)| answer.elapsed() < HINT_DELAY) {
        return Vec::new();
    }
    let window = style::dialog("Select a file").show(context, |ui| {
        access::trap_focus(ui);
        ui.label("A file dialog is open. It may be behind this window.");
        ui.add_space(4.0);
        ui.button("Stop waiting").clicked() || access::escapes_from(ui)
    });
    if window.and_then(|window| window.inner).unwrap_or_default() {
        return dialog.0.take().and_then(|(request, _)| request.otherwise).into_iter().collect();
    }
    Vec::new()
}

/// Returns the initial folder of a dialog.
pub(crate) fn first_folder(preferences: &Preferences) -> PathBuf {
    let folder = preferences.remembered.last_folder.clone().filter(|folder| folder.is_dir());
    folder.or_else(|| std::env::current_dir().ok()).unwrap_or_default()
}

/// Returns a title as a file name that is valid on all systems: lower-case letters and digits, separated by dashes.
pub(crate) fn file_name(title: &str) -> String {
    let plain: String = title.chars().map(|letter| if letter.is_alphanumeric() { letter } else { ' ' }).collect();
    plain.to_lowercase().split_whitespace().collect::<Vec<_>>().join("-")
}

/// Appends the first extension to a path with none of them. Any other suffix after a dot counts as part of the name.
fn with_extension(path: PathBuf, kinds: &[(String, &str)]) -> PathBuf {
    let own = path.extension().unwrap_or_default();
    let Some((_, usual)) = kinds.first() else { return path };
    if kinds.iter().any(|(_, extension)| own.eq_ignore_ascii_case(extension)) {
        return path;
    }
    let mut name = path.into_os_string();
    name.push(".");
    name.push(usual);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::FileCommand;

    fn request(kinds: &[&'static str]) -> FileRequest {
        let kinds = kinds.iter().map(|extension| (extension.to_uppercase(), *extension));
        FileRequest::save("Save it", "{name}", kinds, FileCommand::SaveProject)
    }

    #[test]
    fn title_becomes_portable_file_name() {
        assert_eq!(file_name("Talus: how steep can a heap stand?"), "talus-how-steep-can-a-heap-stand");
        assert_eq!(file_name("Über 100 m/s"), "über-100-m-s");
    }

    #[test]
    fn missing_extension_is_appended() {
        let named = |name: &str, kinds: &[&'static str]| {
            request(kinds).with_extension_checked(PathBuf::from(name)).expect("nothing is there").display().to_string()
        };
        assert_eq!(named("/maps/valley v1.2", &["thalweg"]), "/maps/valley v1.2.thalweg");
        assert_eq!(named("/maps/valley.THALWEG", &["thalweg"]), "/maps/valley.THALWEG");
        assert_eq!(named("/maps/valley", &["png", "exr"]), "/maps/valley.png");
        assert_eq!(named("/maps/valley.exr", &["png", "exr"]), "/maps/valley.exr");
    }

    #[test]
    fn appended_extension_does_not_overwrite_existing_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (bare, whole) = (folder.path().join("hills"), folder.path().join("hills.thalweg"));
        assert_eq!(request(&["thalweg"]).with_extension_checked(bare.clone()), Ok(whole.clone()));
        std::fs::write(&whole, "").expect("it is writable");
        assert_eq!(request(&["thalweg"]).with_extension_checked(bare.clone()), Err(whole.clone()));
        // With the extension, the dialog has asked.
        assert_eq!(request(&["thalweg"]).with_extension_checked(whole.clone()), Ok(whole));
        assert_eq!(
            FileRequest::folder("A folder", FileCommand::OpenFolder).with_extension_checked(bare.clone()),
            Ok(bare)
        );
    }

    #[test]
    fn chosen_file_becomes_command_and_folder_is_remembered() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("hills");
        let mut app = App::new();
        let answered = |app: &mut App, request: FileRequest, chosen: Option<PathBuf>| {
            let answer = BackgroundTask::start((), move || FileDialogAnswer { path: chosen, waited: Duration::ZERO });
            while !answer.is_finished() {
                std::thread::sleep(Duration::from_millis(1));
            }
            app.insert_resource(SystemFileDialog(Some((request, answer))));
            app.update();
            app.world_mut().resource_mut::<Messages<AppCommand>>().drain().collect::<Vec<_>>()
        };
        app.add_message::<AppCommand>()
            .init_resource::<Preferences>()
            .init_resource::<Notices>()
            .add_systems(Update, take_answer);
        let saved = FileCommand::SaveProject(path.with_extension("thalweg"));
        let save = || request(&["thalweg"]).on_cancel(FileCommand::CancelQuit);
        assert_eq!(answered(&mut app, save(), Some(path)), [AppCommand::from(saved)]);
        assert_eq!(app.world().resource::<Preferences>().remembered.last_folder.as_deref(), Some(folder.path()));
        // A selected folder itself is remembered.
        let inner = folder.path().join("maps");
        let choose = FileRequest::folder("A folder", FileCommand::OpenFolder);
        let opened = FileCommand::OpenFolder(inner.clone());
        assert_eq!(answered(&mut app, choose, Some(inner.clone())), [AppCommand::from(opened)]);
        assert_eq!(app.world().resource::<Preferences>().remembered.last_folder, Some(inner));
        assert_eq!(answered(&mut app, save(), None), [AppCommand::from(FileCommand::CancelQuit)]);
        let message = app.world().resource::<Notices>().shown().last().map(|notice| notice.text.clone());
        assert!(message.is_some_and(|text| text.contains("No file dialog")), "it was answered at once");
    }
}
