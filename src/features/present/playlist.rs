//! The dialog in which scenes are put in an order: dragged out of the list of scenes, dropped as files, moved up and down. The list is
//! shown to a room, or saved as a playlist.

use super::stage::learn_letters;
use crate::shell::files::AddToPlaylist;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bevy::{
    ecs::system::SystemParam,
    prelude::{App, InMut, On, Res, ResMut, Resource},
};
use bevy_egui::egui::{self, FontId, RichText, Sense, Ui};
use egui_phosphor::regular as icon;

use crate::shell::{
    access,
    commands::{AddCommands, MenuPart},
    file_request::{FileDialog, FileRequest, file_name},
    files::{land_endings, unfit_for_a_playlist},
    gallery::{Card, cards},
    number::Number,
    panes::{AddPane, Pane, PaneKind, PaneUi},
    style,
};
use crate::world::{
    Command, Document, Draft, History, Level, Notices, PresentCommand, Presentation, Simulations, WindowCommand,
};
use thalweg_scene::{
    io::{playlist, scene::GROUPS},
    model::{
        playlist::{Item, LONGEST, Playlist},
        session::LATEST_SHOWN,
    },
};

/// What the dialog shows.
#[derive(SystemParam)]
pub struct ListShown<'w> {
    draft: Res<'w, Draft>,
    presentation: Res<'w, Presentation>,
    simulations: Res<'w, Simulations>,
    document: Res<'w, Document>,
    history: Res<'w, History>,
}

/// Room for a scroll bar, and between the scenes and the list, in points.
const SCROLLS: f32 = 14.0;

/// The list as it is being made. It is there again the next time.
#[derive(Resource, Default)]
pub struct ListDialog {
    list: Playlist,
    /// The number of the scene whose words and times are shown, from 0.
    chosen: Option<usize>,
    /// Whether the remembered list was taken over.
    begun: bool,
    /// The list that was being shown when the dialog last looked.
    seen: Option<Arc<Playlist>>,
    /// Lists that were nowhere else when one that was shown took their place, the last one last.
    aside: Vec<Playlist>,
    /// What was found wrong when it was to be shown or saved, and in which list.
    wrong: Option<(Playlist, String)>,
    cards: Vec<Card>,
}

/// What is dragged.
enum Dragged {
    /// A built-in scene.
    Scene(&'static str),
    /// The scene with this number in the list, from 0.
    Item(usize),
}

impl ListDialog {
    /// Adds a file at the end.
    pub fn add_file(&mut self, path: &Path) {
        self.insert(usize::MAX, Item { open: path.to_owned(), ..Item::default() });
    }

    /// Whether nothing is lost when another list takes its place.
    fn is_kept(&self, draft: &Draft) -> bool {
        let is_shown = self.seen.as_ref().is_some_and(|list| **list == self.list);
        self.list.scenes.is_empty() || is_shown || draft.has_saved(&self.list)
    }

    /// Goes on with the list that is shown.
    fn take_over(&mut self, shown: &Arc<Playlist>) {
        (self.list, self.chosen, self.seen) = ((**shown).clone(), None, Some(Arc::clone(shown)));
    }

    fn insert(&mut self, at: usize, item: Item) {
        let at = at.min(self.list.scenes.len());
        self.list.scenes.insert(at, item);
        self.chosen = Some(at);
    }

    /// Moves a scene so that it comes before the one that has a number now.
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

    fn take(&mut self, dragged: &Dragged, before: usize) {
        match dragged {
            Dragged::Scene(name) => self.insert(before, Item { open: name.into(), ..Item::default() }),
            Dragged::Item(from) => self.shift(*from, before),
        }
    }

    /// What a scene is called.
    fn title(&self, item: &Item) -> String {
        title(item, &self.cards)
    }
}

fn commands(table: &mut MenuPart) {
    let list = "Puts scenes in an order by dragging them, to show them to a room or to save them as a playlist.";
    table
        .add(icon::LIST_NUMBERS, "Playlist…", list, &[], WindowCommand::Toggle(PANE.key))
        .known_as("slides slideshow presentation order show kiosk");
}

/// What a scene of a playlist is called: as it says, as the built-in scene, or as its file.
pub(super) fn title(item: &Item, cards: &[Card]) -> String {
    if !item.title.is_empty() {
        return item.title.clone();
    }
    let built_in = cards.iter().find(|card| item.open == Path::new(card.name)).map(|card| card.scene.title.clone());
    let file = || item.open.file_stem().map(|name| name.to_string_lossy().into_owned());
    built_in.or_else(file).unwrap_or_default()
}

pub(super) fn plugin(app: &mut App) {
    app.add_pane(PANE, pane_ui).add_commands("Scene", 20, commands);
    app.init_resource::<ListDialog>().add_observer(
        |command: On<AddToPlaylist>, mut dialog: ResMut<ListDialog>, mut notices: ResMut<Notices>| {
            match unfit_for_a_playlist(&command.0) {
                Some(wrong) => drop(notices.tell(Level::Error, wrong)),
                None => dialog.add_file(&command.0),
            }
        },
    );
}

/// The list of scenes to be shown to a room.
const PANE: Pane = Pane { key: "playlist", kind: PaneKind::Dialog };

fn pane_ui(
    InMut(pane): InMut<PaneUi>,
    state: ListShown,
    files: Res<FileDialog>,
    mut dialog: ResMut<ListDialog>,
) -> Vec<Command> {
    // The dialog for its file is answered first.
    if files.is_open() {
        return Vec::new();
    }
    let dialog = &mut *dialog;
    let chosen = playlist_ui(&pane.context, &state, dialog, &mut pane.is_open);
    let begins = |command: &Command| matches!(command.get(), Some(PresentCommand::Begin(..)));
    pane.is_open &= !chosen.as_ref().is_some_and(begins);
    chosen.into_iter().collect()
}

/// Draws it. Returns what was chosen.
fn playlist_ui(
    context: &egui::Context,
    state: &ListShown<'_>,
    dialog: &mut ListDialog,
    open: &mut bool,
) -> Option<Command> {
    if dialog.cards.is_empty() {
        dialog.cards = cards(context);
    }
    if !std::mem::replace(&mut dialog.begun, true) {
        let dropped = std::mem::take(&mut dialog.list.scenes);
        dialog.list = state.draft.list.clone();
        dialog.list.scenes.extend(dropped);
    }
    // What is shown to a room is what one wants to change.
    if let Some(shown) = state.presentation.list()
        && !dialog.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, shown))
        && (dialog.is_kept(&state.draft) || **shown == dialog.list)
    {
        dialog.take_over(shown);
    }
    learn_letters(context, &dialog.list.title);
    for item in &dialog.list.scenes {
        [&item.title, &item.about, &item.notes].into_iter().for_each(|text| learn_letters(context, text));
    }
    let mut asked = None;
    let size = (context.content_rect().size() - egui::Vec2::splat(80.0)).min(style::SCENES_SIZE.into());
    style::dialog("Playlist").open(open).fixed_size(size).show(context, |ui| {
        access::hold(ui);
        ui.horizontal(|ui| {
            let label = ui.label("Title");
            ui.add(egui::TextEdit::singleline(&mut dialog.list.title).desired_width(260.0)).labelled_by(label.id);
            ui.label(RichText::new("Drag scenes into the list, or drop files on the window.").weak());
            if let Some(shown) = state.presentation.list().filter(|shown| ***shown != dialog.list) {
                let help = "Puts the list that is being shown in the place of this one.";
                if ui.button("Edit what is shown").on_hover_text(help).clicked() {
                    if !dialog.is_kept(&state.draft) {
                        dialog.aside.push(dialog.list.clone());
                    }
                    dialog.take_over(shown);
                }
            }
            if !dialog.aside.is_empty() {
                let help = "Brings back the list whose place this one took. This one is then lost, unless it is shown or saved.";
                if ui.button("Back to the list before").on_hover_text(help).clicked()
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
    asked.or_else(|| changed.then(|| PresentCommand::Draft(Arc::new(dialog.list.clone())).into()))
}

/// What is dragged, at the pointer.
fn dragged_ui(context: &egui::Context, dialog: &ListDialog) {
    let Some(dragged) = egui::DragAndDrop::payload::<Dragged>(context) else { return };
    let Some(pointer) = context.input(|input| input.pointer.latest_pos()) else { return };
    let name = match &*dragged {
        Dragged::Scene(name) => Path::new(name),
        Dragged::Item(number) => dialog.list.scenes.get(*number).map_or(Path::new(""), |item| &item.open),
    };
    if let Some(card) = dialog.cards.iter().find(|card| Path::new(card.name) == name) {
        let layer = egui::LayerId::new(egui::Order::Tooltip, egui::Id::new("dragged scene"));
        let picture = 0.8 * egui::Vec2::from(style::SMALL_CARD_SIZE);
        card.paint(&context.layer_painter(layer), egui::Rect::from_min_size(pointer + egui::vec2(10.0, 6.0), picture));
    }
}

/// The scenes that come with the program. A click adds one at the end.
fn gallery_ui(ui: &mut Ui, dialog: &mut ListDialog) {
    let mut added = None;
    egui::ScrollArea::vertical().id_salt("gallery").auto_shrink([false, false]).show(ui, |ui| {
        for group in GROUPS {
            ui.label(RichText::new(group).strong());
            ui.horizontal_wrapped(|ui| {
                for card in dialog.cards.iter().filter(|card| card.scene.group == group) {
                    let response = card.ui(ui, style::SMALL_CARD_SIZE, Sense::click_and_drag());
                    response.dnd_set_drag_payload(Dragged::Scene(card.name));
                    if response.clicked() {
                        added = Some(card.name);
                    }
                }
            });
        }
        access::follow_focus(ui);
    });
    if let Some(name) = added {
        dialog.take(&Dragged::Scene(name), usize::MAX);
    }
}

/// What is done with a scene of the list.
#[derive(Clone, Copy, PartialEq)]
enum Change {
    Choose,
    Earlier,
    Later,
    Remove,
}

/// The scenes in their order.
fn list_ui(ui: &mut Ui, dialog: &mut ListDialog) {
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
        && egui::DragAndDrop::has_payload_of_type::<Dragged>(ui.ctx())
    {
        let before = rows.iter().filter(|row| row.center().y < pointer.y).count();
        let gap = 0.5 * ui.spacing().item_spacing.y;
        let y = rows.get(before).map(|row| row.top() - gap);
        let y = y.or(rows.last().map(|row| row.bottom() + gap)).unwrap_or(area.top());
        ui.painter().with_clip_rect(area).hline(area.x_range(), y, egui::Stroke::new(3.0, style::ACCENT));
        if ui.input(|input| input.pointer.any_released())
            && let Some(dragged) = egui::DragAndDrop::take_payload::<Dragged>(ui.ctx())
        {
            dialog.take(&dragged, before);
        }
    }
    match change {
        None => {}
        Some((number, Change::Choose)) => dialog.chosen = (dialog.chosen != Some(number)).then_some(number),
        Some((number, Change::Earlier)) => dialog.shift(number, number.saturating_sub(1)),
        Some((number, Change::Later)) => dialog.shift(number, number + 2),
        Some((number, Change::Remove)) => dialog.remove(number),
    }
}

/// A scene of the list: its picture, its name, for how long it is shown, and what moves it.
fn row_ui(ui: &mut Ui, number: usize, dialog: &ListDialog) -> (egui::Rect, Option<Change>) {
    let (item, count) = (&dialog.list.scenes[number], dialog.list.scenes.len());
    let title = dialog.title(item);
    let size = egui::vec2(ui.available_width(), style::LIST_ROW);
    let (row, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::WidgetType::Button, true, &title));
    response.dnd_set_drag_payload(Dragged::Item(number));
    let mut change = response.clicked().then_some(Change::Choose);
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
    let picture = egui::Rect::from_center_size(middle(22.0 + 0.5 * wide), egui::vec2(wide, high));
    match dialog.cards.iter().find(|card| item.open == Path::new(card.name)) {
        Some(card) => card.paint(painter, picture),
        None => {
            painter.text(picture.center(), egui::Align2::CENTER_CENTER, icon::FILE, icons, weak);
        }
    }
    let (words, buttons) = (picture.right() + 8.0, 84.0);
    let lines = painter.with_clip_rect(row.with_min_x(words).with_max_x(row.right() - buttons));
    let line = |y: f32, text: String, size: f32, color| {
        let place = egui::pos2(words, row.top() + y * row.height());
        lines.text(place, egui::Align2::LEFT_CENTER, text, FontId::proportional(size), color);
    };
    line(0.32, format!("{}. {title}", number + 1), 13.5, text);
    let mut told = if item.seconds > 0.0 { style::duration(item.seconds) } else { "until you go on".to_owned() };
    if !item.notes.is_empty() {
        told += ", with notes";
    }
    line(0.72, told, 11.5, weak);
    let place = row.with_min_x(row.right() - buttons);
    ui.scope_builder(egui::UiBuilder::new().max_rect(place).id_salt(("row", number)), |ui| {
        ui.horizontal_centered(|ui| {
            let mut button = |icon: &str, name: &str, on: bool, asked: Change| {
                let button = ui.add_enabled(on, egui::Button::new(icon).frame(false)).on_hover_text(name);
                access::name(&button, &format!("{name}: {title}"));
                if button.clicked() {
                    change = Some(asked);
                }
            };
            button(icon::ARROW_UP, "Earlier", number > 0, Change::Earlier);
            button(icon::ARROW_DOWN, "Later", number + 1 < count, Change::Later);
            button(icon::X, "Take out of the list", true, Change::Remove);
        });
    });
    (row, change)
}

/// Words and times of the scene that is chosen.
fn words_ui(ui: &mut Ui, dialog: &mut ListDialog) {
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
        line(ui, "Caption", "what the scene says of itself", &mut item.about, 1);
        line(ui, "Notes", "for you alone: they stand in the presenter's window", &mut item.notes, 3);
        let label = ui.label("Shown for");
        let seconds = Number::new("Shown for", "s", 0.0..=LONGEST);
        let field = seconds.drag_ui(ui, &mut item.seconds, |field| field.speed(1.0));
        field
            .labelled_by(label.id)
            .on_hover_text("The next scene follows by itself after this time. With 0 you go on.");
        ui.end_row();
        let label = ui.label("Ticks");
        ui.horizontal(|ui| {
            let (first, last) = &mut item.ticks;
            let help = "The run goes ahead to the first tick and pauses at the last, or never if that is 0. With 0 and 0 it does as the \
                        scene says.";
            let from = Number::new("First tick", "", 0.0..=LATEST_SHOWN as f64);
            from.drag_ui(ui, first, |field| field).labelled_by(label.id).on_hover_text(help);
            ui.label("to");
            Number::new("Last tick", "", 0.0..=1e9).drag_ui(ui, last, |field| field).on_hover_text(help);
        });
        ui.end_row();
    });
}

/// Adds other lands, shows the list and saves it.
fn foot_ui(ui: &mut Ui, state: &ListShown<'_>, dialog: &mut ListDialog) -> Option<Command> {
    let mut asked = None;
    let found = dialog.wrong.as_ref().filter(|(list, _)| *list == dialog.list).map(|(_, wrong)| wrong.clone());
    let wrong = dialog.list.check().err().or(found);
    ui.horizontal(|ui| {
        let own = own(state);
        let button = ui.add_enabled(own.is_some(), egui::Button::new("Add this project"));
        let button = button.on_hover_text("Adds the project that is open at the end of the list.");
        if button.on_disabled_hover_text("Save the land as a project first: a playlist names files.").clicked() {
            dialog.insert(usize::MAX, Item { open: own.unwrap_or_default(), ..Item::default() });
        }
        if ui.button("Add a file…").on_hover_text("Adds a project, a scene file or a heightmap.").clicked() {
            asked = Some(add_request().into());
        }
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let fits = wrong.is_none();
            // Files are looked at only when it matters.
            let mut list = || match playlist::check(&dialog.list, Path::new("this playlist")) {
                Ok(()) => Some(Arc::new(dialog.list.clone())),
                Err(error) => {
                    dialog.wrong = Some((dialog.list.clone(), error.to_string()));
                    None
                }
            };
            let show = egui::Button::new("Show").fill(style::ACCENT.gamma_multiply(0.55));
            if ui.add_enabled(fits, show).on_hover_text("Shows the scenes, beginning with the first.").clicked() {
                asked = list().map(|list| PresentCommand::Begin(list).into());
            }
            let help = "Writes the list as a playlist, for \"thalweg present\" and for another time.";
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

/// Asks for a file to add to the list.
fn add_request() -> FileRequest {
    FileRequest::open("Add to the playlist", ("Projects, scenes and heightmaps", &land_endings()), AddToPlaylist)
}

/// Asks where to save a list.
fn save_request(list: Arc<Playlist>) -> FileRequest {
    let name = file_name(&list.title);
    let name = if name.is_empty() { "playlist" } else { &name };
    let save = move |path| PresentCommand::Save(Arc::clone(&list), path);
    FileRequest::save("Save the playlist", name, [("Playlist".to_owned(), "ron")], save)
}

/// The file of the project that is open, if it has all of the work.
fn own(state: &ListShown<'_>) -> Option<PathBuf> {
    let file = state.simulations.file.clone();
    file.filter(|path| !state.document.unsaved(&state.history) && unfit_for_a_playlist(path).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialog(names: &[&'static str]) -> ListDialog {
        let mut dialog = ListDialog::default();
        names.iter().for_each(|name| dialog.take(&Dragged::Scene(name), usize::MAX));
        dialog
    }

    fn order(dialog: &ListDialog) -> Vec<&str> {
        dialog.list.scenes.iter().map(|item| item.open.to_str().expect("built in")).collect()
    }

    #[test]
    fn scenes_are_moved_before_the_one_where_they_are_dropped() {
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
            dialog.take(&Dragged::Item(from), before);
            assert_eq!(order(&dialog), wanted, "{from} before {before}");
            if from < 3 {
                let moved = ["a", "b", "c"][from];
                assert_eq!(dialog.chosen.map(|chosen| order(&dialog)[chosen]), Some(moved), "{from} before {before}");
            }
        }
    }

    #[test]
    fn a_scene_from_the_gallery_comes_where_it_is_dropped_and_a_file_at_the_end() {
        let mut dialog = dialog(&["a", "b"]);
        dialog.take(&Dragged::Scene("c"), 1);
        dialog.add_file(Path::new("my/land.thalweg"));
        assert_eq!(order(&dialog), ["a", "c", "b", "my/land.thalweg"]);
        assert_eq!(dialog.title(&dialog.list.scenes[3]), "land");
        dialog.remove(0);
        assert_eq!((order(&dialog), dialog.chosen), (vec!["c", "b", "my/land.thalweg"], None));
    }
}
