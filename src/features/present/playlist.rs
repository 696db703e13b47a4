//! Playlist dialog: scenes are dragged from the gallery, dropped as files, and moved up and down. The playlist is presented or saved
//! as a file.

use super::{
    draft::{Draft, PlaylistCommand},
    stage::ensure_glyphs,
};
use crate::shell::files::{AddToPlaylist, PLAYLIST_EDITOR};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bevy::{
    ecs::system::SystemParam,
    prelude::{App, In, InMut, On, Res, ResMut, Resource},
};
use bevy_egui::egui::{self, FontId, RichText, Sense, Ui};
use egui_phosphor::regular as icon;

use crate::shell::{
    access,
    commands::{AddCommands, MenuSection},
    file_request::{FileRequest, SystemFileDialog, file_name},
    files::{playlist_error, terrain_extensions},
    floating::{AddFloatingWindow, FloatingWindow, FloatingWindowKind, FloatingWindowUi},
    gallery::{SceneCard, cards},
    number::NumberField,
    style,
};
use crate::world::{
    AppCommand, Document, History, Job, JobKind, Jobs, NoticeLevel, Notices, PresentCommand, Presentation, Simulations,
    WindowCommand,
};
use thalweg_scene::{
    io::{JobProgress, playlist, project::is_project, scene::GROUPS},
    model::{
        playlist::{Item, MAX_SECONDS, Playlist},
        session::MAX_FAST_FORWARD,
    },
};

/// State read by the dialog.
#[derive(SystemParam)]
pub struct PlaylistParams<'w> {
    draft: Res<'w, Draft>,
    presentation: Option<Res<'w, Presentation>>,
    simulations: Res<'w, Simulations>,
    document: Res<'w, Document>,
    history: Res<'w, History>,
}

/// Width of a scroll bar, and of the gap between gallery and playlist, in points.
const SCROLLS: f32 = 14.0;

/// Playlist being edited, kept until the dialog opens again.
#[derive(Resource, Default)]
pub struct PlaylistDialog {
    list: Playlist,
    /// Index of the selected scene.
    chosen: Option<usize>,
    /// `true` once the remembered playlist has been loaded.
    begun: bool,
    /// Playlist that was being presented at the last check.
    seen: Option<Arc<Playlist>>,
    /// Unsaved playlists replaced by a presented one, the most recent last.
    aside: Vec<Playlist>,
    /// Error found when presenting or saving, with the playlist it concerns.
    wrong: Option<(Playlist, String)>,
    cards: Vec<SceneCard>,
}

/// Payload of a drag.
enum DragPayload {
    /// Name of a built-in scene.
    Scene(&'static str),
    /// Index of a scene of the playlist.
    Item(usize),
}

impl PlaylistDialog {
    /// Appends a file.
    pub fn add_file(&mut self, path: &Path) {
        self.insert(usize::MAX, Item { open: path.to_owned(), ..Item::default() });
    }

    /// Returns `true` if replacing the playlist loses nothing.
    fn is_replaceable(&self, draft: &Draft) -> bool {
        let is_shown = self.seen.as_ref().is_some_and(|list| **list == self.list);
        self.list.scenes.is_empty() || is_shown || draft.has_saved(&self.list)
    }

    /// Replaces the playlist with the presented one.
    fn copy_presented(&mut self, shown: &Arc<Playlist>) {
        (self.list, self.chosen, self.seen) = ((**shown).clone(), None, Some(Arc::clone(shown)));
    }

    fn insert(&mut self, at: usize, item: Item) {
        let at = at.min(self.list.scenes.len());
        self.list.scenes.insert(at, item);
        self.chosen = Some(at);
    }

    /// Moves a scene before the one now at index `before`.
    fn shift(&mut self, from: usize, before: usize) {
        if from >= self.list.scenes.len() {
            return;
        }
        let item = self.list.scenes.remove(from);
        self.insert(if from < before { before - 1 } else { before }, item);
    }

    fn remove(&mut self, at: usize) {
        self.list.scenes.remove(at);
        self.chosen = None;
    }

    fn take(&mut self, dragged: &DragPayload, before: usize) {
        match dragged {
            DragPayload::Scene(name) => self.insert(before, Item { open: name.into(), ..Item::default() }),
            DragPayload::Item(from) => self.shift(*from, before),
        }
    }

    /// Returns the title of a scene.
    fn title(&self, item: &Item) -> String {
        title(item, &self.cards)
    }
}

fn commands(table: &mut MenuSection) {
    let list = "Arrange scenes for a presentation, and save them as a playlist.";
    table
        .add(icon::LIST_NUMBERS, "Playlist…", list, &[], WindowCommand::Toggle(PANE.key))
        .set_aliases("slides slideshow presentation order show kiosk");
}

/// Returns the title of a scene in a playlist: its own, that of the built-in scene, or the file name.
pub(super) fn title(item: &Item, cards: &[SceneCard]) -> String {
    if !item.title.is_empty() {
        return item.title.clone();
    }
    let built_in = cards.iter().find(|card| item.open == Path::new(card.name)).map(|card| card.scene.title.clone());
    let file = || item.open.file_stem().map(|name| name.to_string_lossy().into_owned());
    built_in.or_else(file).unwrap_or_default()
}

pub(super) fn plugin(app: &mut App) {
    app.add_floating_window(PANE, pane_ui).add_commands("Scene", 20, commands);
    app.init_resource::<PlaylistDialog>().add_observer(check_files);
}

/// Checks files in the background, and then adds them to the playlist.
fn check_files(command: On<AddToPlaylist>, mut jobs: ResMut<Jobs>, mut notices: ResMut<Notices>) {
    let files = command.0.clone();
    let check = move |_: &JobProgress| {
        let checked = files.into_iter().map(|path| playlist_error(&path).map_or(Ok(path), Err));
        Ok(checked.collect::<Vec<Result<PathBuf, String>>>())
    };
    jobs.start(&mut notices, Job::new(JobKind::Independent, ""), check, add_checked);
}

fn add_checked(
    In(files): In<Vec<Result<PathBuf, String>>>,
    mut dialog: ResMut<PlaylistDialog>,
    mut notices: ResMut<Notices>,
) {
    for file in files {
        match file {
            Ok(path) => dialog.add_file(&path),
            Err(wrong) => drop(notices.notify(NoticeLevel::Error, wrong)),
        }
    }
}

/// Playlist dialog.
const PANE: FloatingWindow = FloatingWindow { key: PLAYLIST_EDITOR, kind: FloatingWindowKind::Modal };

fn pane_ui(
    InMut(floating): InMut<FloatingWindowUi>,
    state: PlaylistParams,
    files: Res<SystemFileDialog>,
    mut dialog: ResMut<PlaylistDialog>,
) -> Vec<AppCommand> {
    // The file dialog has precedence.
    if files.is_open() {
        return Vec::new();
    }
    let dialog = &mut *dialog;
    let chosen = playlist_ui(&floating.context, &state, dialog, &mut floating.is_open);
    let begins = |command: &AppCommand| matches!(command.get(), Some(PresentCommand::Begin(..)));
    floating.is_open &= !chosen.as_ref().is_some_and(begins);
    chosen.into_iter().collect()
}

/// Draws the dialog. Returns the requested command.
fn playlist_ui(
    context: &egui::Context,
    state: &PlaylistParams<'_>,
    dialog: &mut PlaylistDialog,
    open: &mut bool,
) -> Option<AppCommand> {
    if dialog.cards.is_empty() {
        dialog.cards = cards();
    }
    if !std::mem::replace(&mut dialog.begun, true) {
        let dropped = std::mem::take(&mut dialog.list.scenes);
        dialog.list = state.draft.list.clone();
        dialog.list.scenes.extend(dropped);
    }
    // Edits the presented playlist, unless that would lose unsaved changes.
    let presented = state.presentation.as_ref().map(|presentation| presentation.list());
    if let Some(shown) = presented
        && !dialog.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, shown))
        && (dialog.is_replaceable(&state.draft) || **shown == dialog.list)
    {
        dialog.copy_presented(shown);
    }
    ensure_glyphs(context, &dialog.list.title);
    for item in &dialog.list.scenes {
        [&item.title, &item.about, &item.notes].into_iter().for_each(|text| ensure_glyphs(context, text));
    }
    let mut asked = None;
    let size = (context.content_rect().size() - egui::Vec2::splat(80.0)).min(style::SCENES_SIZE.into());
    style::dialog("Playlist").open(open).fixed_size(size).show(context, |ui| {
        access::trap_keyboard(ui);
        ui.horizontal(|ui| {
            let label = ui.label("Title");
            ui.add(egui::TextEdit::singleline(&mut dialog.list.title).desired_width(260.0)).labelled_by(label.id);
            ui.label(RichText::new("Drag scenes into the list, or drop files on the window.").weak());
            if let Some(shown) = presented.filter(|shown| ***shown != dialog.list) {
                let help = "Replace this playlist with the one being presented.";
                if ui.button("Edit current presentation").on_hover_text(help).clicked() {
                    if !dialog.is_replaceable(&state.draft) {
                        dialog.aside.push(dialog.list.clone());
                    }
                    dialog.copy_presented(shown);
                }
            }
            if !dialog.aside.is_empty() {
                let help = "Restore the playlist that this one replaced. This one is lost unless it is saved or being presented.";
                if ui.button("Restore previous playlist").on_hover_text(help).clicked()
                    && let Some(before) = dialog.aside.pop()
                {
                    (dialog.list, dialog.chosen) = (before, None);
                }
            }
        });
        let foot = 30.0;
        ui.horizontal_top(|ui| {
            let height = ui.available_height() - foot;
            let down = egui::Layout::top_down(egui::Align::Min);
            let gallery = 2.0 * (style::SMALL_CARD_SIZE[0] + ui.spacing().item_spacing.x) + SCROLLS;
            ui.allocate_ui_with_layout(egui::vec2(gallery, height), down, |ui| gallery_ui(ui, dialog));
            ui.add_space(SCROLLS);
            let rest = egui::vec2(ui.available_width(), height);
            ui.allocate_ui_with_layout(rest, down, |ui| {
                let words = if dialog.chosen.is_some() { style::SCENE_WORDS_HEIGHT } else { 0.0 };
                let list = egui::vec2(rest.x, height - words);
                ui.allocate_ui_with_layout(list, down, |ui| list_ui(ui, dialog));
                words_ui(ui, dialog);
            });
        });
        ui.separator();
        asked = foot_ui(ui, state, dialog);
    });
    dragged_ui(context, dialog);
    let changed = dialog.list != state.draft.list;
    asked.or_else(|| changed.then(|| PlaylistCommand::Edit(Arc::new(dialog.list.clone())).into()))
}

/// Draws the dragged scene at the pointer.
fn dragged_ui(context: &egui::Context, dialog: &PlaylistDialog) {
    let Some(dragged) = egui::DragAndDrop::payload::<DragPayload>(context) else { return };
    let Some(pointer) = context.input(|input| input.pointer.latest_pos()) else { return };
    let name = match &*dragged {
        DragPayload::Scene(name) => Path::new(name),
        DragPayload::Item(number) => dialog.list.scenes.get(*number).map_or(Path::new(""), |item| &item.open),
    };
    if let Some(card) = dialog.cards.iter().find(|card| Path::new(card.name) == name) {
        let layer = egui::LayerId::new(egui::Order::Tooltip, egui::Id::new("dragged scene"));
        let size = 0.8 * egui::Vec2::from(style::SMALL_CARD_SIZE);
        card.paint(&context.layer_painter(layer), egui::Rect::from_min_size(pointer + egui::vec2(10.0, 6.0), size));
    }
}

/// Draws the built-in scenes. A click appends one.
fn gallery_ui(ui: &mut Ui, dialog: &mut PlaylistDialog) {
    let mut added = None;
    egui::ScrollArea::vertical().id_salt("gallery").auto_shrink([false, false]).show(ui, |ui| {
        for group in GROUPS {
            ui.label(RichText::new(group).strong());
            ui.horizontal_wrapped(|ui| {
                for card in dialog.cards.iter().filter(|card| card.scene.group == group) {
                    let response = card.ui(ui, style::SMALL_CARD_SIZE, Sense::click_and_drag());
                    response.dnd_set_drag_payload(DragPayload::Scene(card.name));
                    if response.clicked() {
                        added = Some(card.name);
                    }
                }
            });
        }
        access::follow_focus(ui);
    });
    if let Some(name) = added {
        dialog.take(&DragPayload::Scene(name), usize::MAX);
    }
}

/// Change to a scene of the playlist.
#[derive(Clone, Copy, PartialEq)]
enum SceneEdit {
    Choose,
    Earlier,
    Later,
    Remove,
}

/// Draws the scenes of the playlist.
fn list_ui(ui: &mut Ui, dialog: &mut PlaylistDialog) {
    let area = ui.available_rect_before_wrap();
    let (mut rows, mut change) = (Vec::new(), None);
    egui::ScrollArea::vertical().id_salt("list").auto_shrink([false, false]).show(ui, |ui| {
        for number in 0..dialog.list.scenes.len() {
            let (row, asked) = row_ui(ui, number, dialog);
            rows.push(row);
            change = asked.map(|asked| (number, asked)).or(change);
        }
        if rows.is_empty() {
            ui.label(RichText::new("No scenes yet.").weak());
        }
        access::follow_focus(ui);
    });
    let pointer = ui.input(|input| input.pointer.latest_pos()).filter(|pointer| area.contains(*pointer));
    if let Some(pointer) = pointer
        && egui::DragAndDrop::has_payload_of_type::<DragPayload>(ui.ctx())
    {
        let before = rows.iter().filter(|row| row.center().y < pointer.y).count();
        let gap = 0.5 * ui.spacing().item_spacing.y;
        let y = rows.get(before).map(|row| row.top() - gap);
        let y = y.or(rows.last().map(|row| row.bottom() + gap)).unwrap_or(area.top());
        ui.painter().with_clip_rect(area).hline(area.x_range(), y, egui::Stroke::new(3.0, style::ACCENT));
        if ui.input(|input| input.pointer.any_released())
            && let Some(dragged) = egui::DragAndDrop::take_payload::<DragPayload>(ui.ctx())
        {
            dialog.take(&dragged, before);
        }
    }
    match change {
        None => {}
        Some((number, SceneEdit::Choose)) => dialog.chosen = (dialog.chosen != Some(number)).then_some(number),
        Some((number, SceneEdit::Earlier)) => dialog.shift(number, number.saturating_sub(1)),
        Some((number, SceneEdit::Later)) => dialog.shift(number, number + 2),
        Some((number, SceneEdit::Remove)) => dialog.remove(number),
    }
}

/// Draws a scene of the playlist: thumbnail, title, duration and buttons.
fn row_ui(ui: &mut Ui, number: usize, dialog: &PlaylistDialog) -> (egui::Rect, Option<SceneEdit>) {
    let (item, count) = (&dialog.list.scenes[number], dialog.list.scenes.len());
    let title = dialog.title(item);
    let size = egui::vec2(ui.available_width(), style::LIST_ROW);
    let (row, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::WidgetType::Button, true, &title));
    response.dnd_set_drag_payload(DragPayload::Item(number));
    let mut change = response.clicked().then_some(SceneEdit::Choose);
    let visuals = ui.visuals();
    let (text, weak) = (visuals.text_color(), visuals.weak_text_color());
    let fill = match () {
        () if dialog.chosen == Some(number) => style::ACCENT.gamma_multiply(0.35),
        () if response.hovered() || response.dragged() => visuals.widgets.hovered.weak_bg_fill,
        () => visuals.widgets.inactive.weak_bg_fill,
    };
    let painter = ui.painter();
    painter.rect_filled(row, 4.0, fill);
    let middle = |x: f32| egui::pos2(row.left() + x, row.center().y);
    let icons = FontId::proportional(16.0);
    painter.text(middle(10.0), egui::Align2::CENTER_CENTER, icon::DOTS_SIX_VERTICAL, icons.clone(), weak);
    let [wide, high] = [1.6, 1.0].map(|share: f32| share * (row.height() - 8.0));
    let thumbnail = egui::Rect::from_center_size(middle(22.0 + 0.5 * wide), egui::vec2(wide, high));
    match dialog.cards.iter().find(|card| item.open == Path::new(card.name)) {
        Some(card) => card.paint(painter, thumbnail),
        None => {
            painter.text(thumbnail.center(), egui::Align2::CENTER_CENTER, icon::FILE, icons, weak);
        }
    }
    let (words, buttons) = (thumbnail.right() + 8.0, 84.0);
    let lines = painter.with_clip_rect(row.with_min_x(words).with_max_x(row.right() - buttons));
    let line = |y: f32, text: String, size: f32, color| {
        let place = egui::pos2(words, row.top() + y * row.height());
        lines.text(place, egui::Align2::LEFT_CENTER, text, FontId::proportional(size), color);
    };
    line(0.32, format!("{}. {title}", number + 1), 13.5, text);
    let mut details = if item.seconds > 0.0 { style::duration(item.seconds) } else { "manual advance".to_owned() };
    if !item.notes.is_empty() {
        details += ", with notes";
    }
    line(0.72, details, 11.5, weak);
    let place = row.with_min_x(row.right() - buttons);
    ui.scope_builder(egui::UiBuilder::new().max_rect(place).id_salt(("row", number)), |ui| {
        ui.horizontal_centered(|ui| {
            let mut button = |icon: &str, name: &str, on: bool, asked: SceneEdit| {
                let button = ui.add_enabled(on, egui::Button::new(icon).frame(false)).on_hover_text(name);
                access::name(&button, &format!("{name}: {title}"));
                if button.clicked() {
                    change = Some(asked);
                }
            };
            button(icon::ARROW_UP, "Move up", number > 0, SceneEdit::Earlier);
            button(icon::ARROW_DOWN, "Move down", number + 1 < count, SceneEdit::Later);
            button(icon::X, "Remove from playlist", true, SceneEdit::Remove);
        });
    });
    (row, change)
}

/// Draws texts and times of the selected scene.
fn words_ui(ui: &mut Ui, dialog: &mut PlaylistDialog) {
    let Some(item) = dialog.chosen.and_then(|chosen| dialog.list.scenes.get(chosen)) else { return };
    let title = dialog.title(item);
    let Some(item) = dialog.chosen.and_then(|chosen| dialog.list.scenes.get_mut(chosen)) else { return };
    ui.separator();
    egui::Grid::new("words").num_columns(2).show(ui, |ui| {
        let line = |ui: &mut Ui, name: &str, hint: &str, text: &mut String, rows: usize| {
            let label = ui.label(name);
            let field = if rows > 1 { egui::TextEdit::multiline(text) } else { egui::TextEdit::singleline(text) };
            let field = field.desired_rows(rows).desired_width(ui.available_width()).hint_text(hint);
            ui.add(field).labelled_by(label.id);
            ui.end_row();
        };
        line(ui, "Title", &title, &mut item.title, 1);
        line(ui, "Caption", "description of the scene", &mut item.about, 1);
        line(ui, "Notes", "visible only in the presenter window", &mut item.notes, 3);
        let label = ui.label("Duration");
        let seconds = NumberField::new("Duration", "s", 0.0..=MAX_SECONDS);
        let field = seconds.drag_ui(ui, &mut item.seconds, |field| field.speed(1.0));
        field
            .labelled_by(label.id)
            .on_hover_text("Time after which the next scene begins. 0 waits for a manual advance.");
        ui.end_row();
        let label = ui.label("Ticks");
        ui.horizontal(|ui| {
            let (first, last) = &mut item.ticks;
            let help = "Fast-forward to the first tick and pause at the last one. If the last is 0, never pause; if both are 0, use the settings of the scene.";
            let from = NumberField::new("First tick", "", 0.0..=MAX_FAST_FORWARD as f64);
            from.drag_ui(ui, first, |field| field).labelled_by(label.id).on_hover_text(help);
            ui.label("to");
            NumberField::new("Last tick", "", 0.0..=1e9).drag_ui(ui, last, |field| field).on_hover_text(help);
        });
        ui.end_row();
    });
}

/// Draws the buttons that add files, and that present and save the playlist.
fn foot_ui(ui: &mut Ui, state: &PlaylistParams<'_>, dialog: &mut PlaylistDialog) -> Option<AppCommand> {
    let mut asked = None;
    let found = dialog.wrong.as_ref().filter(|(list, _)| *list == dialog.list).map(|(_, wrong)| wrong.clone());
    let wrong = dialog.list.check().err().or(found);
    ui.horizontal(|ui| {
        let own = own(state);
        let button = ui.add_enabled(own.is_some(), egui::Button::new("Add this project"));
        let button = button.on_hover_text("Append the open project.");
        if button.on_disabled_hover_text("Save the project first: playlists refer to files.").clicked() {
            dialog.insert(usize::MAX, Item { open: own.unwrap_or_default(), ..Item::default() });
        }
        if ui.button("Add file…").on_hover_text("Append a project, a scene file or a heightmap.").clicked() {
            asked = Some(add_request().into());
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let fits = wrong.is_none();
            // Files are checked only when needed.
            let mut list = || match playlist::check(&dialog.list, Path::new("this playlist")) {
                Ok(()) => Some(Arc::new(dialog.list.clone())),
                Err(error) => {
                    dialog.wrong = Some((dialog.list.clone(), error.to_string()));
                    None
                }
            };
            let show = egui::Button::new("Start presentation").fill(style::ACCENT.gamma_multiply(0.55));
            if ui.add_enabled(fits, show).on_hover_text("Present the scenes, beginning with the first.").clicked() {
                asked = list().map(|list| PresentCommand::Begin(list).into());
            }
            let help = "Save the playlist as a file, for example for \"thalweg present\".";
            if ui.add_enabled(fits, egui::Button::new("Save…")).on_hover_text(help).clicked() {
                asked = list().map(|list| save_request(list).into());
            }
            if let Some(wrong) = wrong.filter(|_| !dialog.list.scenes.is_empty()) {
                let label = egui::Label::new(RichText::new(&wrong).color(style::WARNING)).truncate();
                ui.add(label).on_hover_text(wrong);
            }
        });
    });
    asked
}

/// Returns the request for a file to add to the playlist.
fn add_request() -> FileRequest {
    FileRequest::open("Add to playlist", ("Projects, scenes and heightmaps", &terrain_extensions()), |path| {
        AddToPlaylist(vec![path])
    })
}

/// Returns the request for the file of a playlist.
fn save_request(list: Arc<Playlist>) -> FileRequest {
    let name = file_name(&list.title);
    let name = if name.is_empty() { "playlist" } else { &name };
    let save = move |path| PlaylistCommand::Save(Arc::clone(&list), path);
    FileRequest::save("Save playlist", name, [("Playlist".to_owned(), "ron")], save)
}

/// Returns the file of the open project, if there are no unsaved changes.
fn own(state: &PlaylistParams<'_>) -> Option<PathBuf> {
    let file = state.simulations.file.as_ref().map(|file| file.path.clone());
    // Drawn in every frame, so the file is not read.
    file.filter(|path| !state.document.unsaved(&state.history) && is_project(path) && path.to_str().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog(names: &[&'static str]) -> PlaylistDialog {
        let mut dialog = PlaylistDialog::default();
        names.iter().for_each(|name| dialog.take(&DragPayload::Scene(name), usize::MAX));
        dialog
    }

    fn order(dialog: &PlaylistDialog) -> Vec<&str> {
        dialog.list.scenes.iter().map(|item| item.open.to_str().expect("built in")).collect()
    }

    #[test]
    fn scene_is_moved_before_drop_target() {
        for (from, before, wanted) in [
            (0, 0, ["a", "b", "c"]),
            (0, 1, ["a", "b", "c"]),
            (0, 2, ["b", "a", "c"]),
            (0, 3, ["b", "c", "a"]),
            (2, 0, ["c", "a", "b"]),
            (1, 0, ["b", "a", "c"]),
            (1, 3, ["a", "c", "b"]),
            (7, 0, ["a", "b", "c"]),
        ] {
            let mut dialog = dialog(&["a", "b", "c"]);
            dialog.take(&DragPayload::Item(from), before);
            assert_eq!(order(&dialog), wanted, "{from} before {before}");
            if from < 3 {
                let moved = ["a", "b", "c"][from];
                assert_eq!(dialog.chosen.map(|chosen| order(&dialog)[chosen]), Some(moved), "{from} before {before}");
            }
        }
    }

    #[test]
    fn gallery_scene_is_inserted_at_drop_and_file_appended() {
        let mut dialog = dialog(&["a", "b"]);
        dialog.take(&DragPayload::Scene("c"), 1);
        dialog.add_file(Path::new("my/land.thalweg"));
        assert_eq!(order(&dialog), ["a", "c", "b", "my/land.thalweg"]);
        assert_eq!(dialog.title(&dialog.list.scenes[3]), "land");
        dialog.remove(0);
        assert_eq!((order(&dialog), dialog.chosen), (vec!["c", "b", "my/land.thalweg"], None));
    }
}
