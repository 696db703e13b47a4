//! Command palette: fuzzy search for commands, panels and parameters.

use std::cmp::Reverse;

use bevy::{
    ecs::system::SystemParam,
    prelude::{App, InMut, Local, Res},
};
use bevy_egui::egui::{self, Align2, Key, RichText};
use egui_phosphor::regular as icon;
use nucleo_matcher::{
    Config, Matcher, Utf32Str,
    pattern::{AtomKind, CaseMatching, Normalization, Pattern},
};

use super::{
    access,
    commands::{AddCommands, CTRL, CommandTable, MenuSection, format_shortcuts},
    floating::{AddFloatingWindow, FloatingWindow, FloatingWindowKind, FloatingWindowUi},
    number::Rounded,
    panel::Sidebar,
    style,
};
use crate::world::{AppCommand, FileCommand, Preferences, Simulations, WindowCommand, amount::display_unit};
use thalweg_sim::params::{Group, Parameter, Value, choice_title, collect_parameters};

/// Parameters of the palette system: sources of the search.
#[derive(SystemParam)]
pub struct PaletteParams<'w> {
    table: Res<'w, CommandTable>,
    simulations: Res<'w, Simulations>,
    preferences: Res<'w, Preferences>,
    sidebar: Res<'w, Sidebar>,
}

/// Search text and highlighted result.
#[derive(Default)]
pub struct Palette {
    typed: String,
    /// Index of the result that the arrow keys have highlighted.
    marked: Option<usize>,
    /// `true` if it has been drawn since it was opened.
    drawn: bool,
}

/// A search result: a command or a parameter.
struct SearchResult {
    icon: &'static str,
    /// Title of its menu or panel.
    place: String,
    title: String,
    other_names: String,
    about: String,
    /// Shortcuts of a command, or value of a parameter.
    aside: String,
    command: AppCommand,
    quality: MatchQuality,
}

/// Quality of a match, the best first. Enter runs an uncertain one only if it is highlighted by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MatchQuality {
    /// The search text is the title.
    Title,
    /// The title contains all words.
    WordsOfTitle,
    /// Place, title or alternative names contain all words.
    WordsOfNames,
    /// Only single letters, or words of the tooltip.
    Uncertain,
}

impl SearchResult {
    /// Returns the quality of the match with lower-case words.
    fn match_quality(&self, words: &[&str]) -> MatchQuality {
        let title = self.title.to_lowercase();
        let names = format!("{} {title} {}", self.place.to_lowercase(), self.other_names.to_lowercase());
        let contains_all = |text: &str| words.iter().all(|word| text.contains(word));
        if words.is_empty() {
            MatchQuality::Uncertain
        } else if title.trim_end_matches('…').split_whitespace().eq(words.iter().copied()) {
            MatchQuality::Title
        } else if contains_all(&title) {
            MatchQuality::WordsOfTitle
        } else if contains_all(&names) {
            MatchQuality::WordsOfNames
        } else {
            MatchQuality::Uncertain
        }
    }

    /// Returns `true` if the command replaces the terrain or closes the program.
    fn is_destructive(&self) -> bool {
        let file = self.command.get();
        self.command.restarts() || matches!(file, Some(FileCommand::Open(..) | FileCommand::New(_) | FileCommand::Quit))
    }
}

pub(crate) fn plugin(app: &mut App) {
    app.add_floating_window(PANE, pane_ui).add_commands("Help", 20, commands);
}

fn commands(table: &mut MenuSection) {
    let window = WindowCommand::Toggle;
    let palette = "Search for a command or parameter by name.";
    table.add(icon::MAGNIFYING_GLASS, "Command palette", palette, &[(CTRL, Key::P)], window(PANE.key));
}

fn rows(context: &egui::Context, table: &CommandTable) -> impl Iterator<Item = SearchResult> {
    table.entries().map(|entry| SearchResult {
        icon: entry.icon,
        place: entry.menu.to_owned(),
        title: entry.title.clone(),
        other_names: entry.aliases.to_owned(),
        about: entry.about.clone(),
        aside: format_shortcuts(context, entry),
        command: entry.command.clone(),
        quality: MatchQuality::Uncertain,
    })
}

/// Returns the panels of the sidebar.
fn panels<'a>(state: &'a PaletteParams<'_>) -> impl Iterator<Item = SearchResult> + 'a {
    state.sidebar.panels().filter(|panel| !panel.title.is_empty()).map(|panel| SearchResult {
        icon: icon::SIDEBAR_SIMPLE,
        place: "Panel".to_owned(),
        title: panel.title.to_owned(),
        other_names: String::new(),
        about: "Expand this panel of the sidebar.".to_owned(),
        aside: String::new(),
        command: WindowCommand::RevealPanel(panel.key).into(),
        quality: MatchQuality::Uncertain,
    })
}

fn parameters(state: &PaletteParams<'_>) -> Vec<SearchResult> {
    let (session, units) = (state.simulations.selected(), state.preferences.settings.units);
    let row = |place: &str, parameter: Parameter| SearchResult {
        icon: icon::SLIDERS_HORIZONTAL,
        place: place.to_owned(),
        title: parameter.title(),
        other_names: format!("{} {}", parameter.name, parameter.knob.symbol),
        about: parameter.doc.split_whitespace().collect::<Vec<_>>().join(" "),
        aside: match &parameter.value {
            Value::Number(number) => {
                let (unit, times) = display_unit(units, parameter.knob.unit);
                format!("{} {unit}", Rounded(times * number)).trim_end().to_owned()
            }
            Value::Switch(on) => if *on { "on" } else { "off" }.to_owned(),
            Value::Choice(chosen) => choice_title(chosen),
            Value::Color(_) => String::new(),
        },
        command: WindowCommand::RevealParameter(parameter.path).into(),
        quality: MatchQuality::Uncertain,
    };
    let groups: [(&str, Group<'_>); 6] = [
        ("Terrain", ("terrain", &session.terrain)),
        ("Light and colour", ("look", &session.look)),
        ("Water appearance", ("water-look", &session.water_look)),
        ("Rivers", ("rivers", &session.rivers)),
        ("Mountain range", ("range", &session.range)),
        ("Settings", ("settings", &state.preferences.settings)),
    ];
    let slots = session.simulation.slots.iter().map(|slot| (slot.process.info(), slot.process.params()));
    let processes = slots.map(|(info, params)| (info.title, (info.key, params)));
    processes
        .chain(groups)
        .flat_map(|(place, group)| collect_parameters(group).into_iter().map(move |parameter| row(place, parameter)))
        .collect()
}

/// Returns the pattern of letters of a word.
fn parse_word(word: &str) -> Pattern {
    Pattern::new(word, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy)
}

/// Returns the results for a search text, best match first; of equally good ones, those that replace the terrain last.
fn search(context: &egui::Context, state: &PaletteParams<'_>, typed: &str) -> Vec<SearchResult> {
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut letters = Vec::new();
    let typed = typed.to_lowercase();
    let words: Vec<&str> = typed.split_whitespace().collect();
    let patterns: Vec<Pattern> = words.iter().map(|word| parse_word(word)).collect();
    // Without a search text, only commands are listed.
    let parameters = if words.is_empty() { Vec::new() } else { panels(state).chain(parameters(state)).collect() };
    let mut found: Vec<_> = rows(context, &state.table)
        .chain(parameters)
        .filter_map(|mut row| {
            row.quality = row.match_quality(&words);
            // The letters of a typed word must be in one word, or any text would be found.
            let mut score = |text: &str| -> Option<u32> {
                let best = |pattern: &Pattern| {
                    let words = text.split_whitespace();
                    words.filter_map(|word| pattern.score(Utf32Str::new(word, &mut letters), &mut matcher)).max()
                };
                patterns.iter().map(best).sum()
            };
            // Titles rank above alternative names, and these above tooltips, which must contain all words.
            let titled = score(&format!("{} {}", row.place, row.title));
            let named = score(&format!("{} {} {}", row.place, row.title, row.other_names));
            let about = row.about.to_lowercase();
            let described = || words.iter().all(|word| about.contains(word)).then_some(0);
            Some(((titled, named.or_else(described)?), row))
        })
        .collect();
    if !words.is_empty() {
        found.sort_by_key(|(score, row)| {
            let is_certain = row.quality < MatchQuality::Uncertain;
            (row.quality, is_certain && row.is_destructive(), Reverse(*score))
        });
    }
    found.into_iter().map(|(_, row)| row).collect()
}

pub const PANE: FloatingWindow = FloatingWindow { key: "palette", kind: FloatingWindowKind::Search };

pub(crate) fn pane_ui(
    InMut(window): InMut<FloatingWindowUi>,
    state: PaletteParams,
    mut palette: Local<Palette>,
) -> Vec<AppCommand> {
    if window.just_opened {
        *palette = Palette::default();
    }
    let chosen = palette_ui(&window.context, &state, &mut palette);
    window.is_open = chosen.is_none();
    chosen.into_iter().collect()
}

/// Draws the palette. Returns the selected command.
fn palette_ui(context: &egui::Context, state: &PaletteParams<'_>, palette: &mut Palette) -> Option<AppCommand> {
    let mut chosen = None;
    let found = search(context, state, &palette.typed);
    egui::Window::new("Command palette")
        .title_bar(false)
        .order(egui::Order::Foreground)
        .resizable(false)
        .anchor(Align2::CENTER_TOP, style::PALETTE_OFFSET)
        .fixed_size(style::PALETTE_SIZE)
        .show(context, |ui| {
            let field = egui::TextEdit::singleline(&mut palette.typed)
                .hint_text("Search commands and parameters")
                .desired_width(f32::INFINITY)
                .lock_focus(true);
            let field = ui.add(field);
            access::name(&field, "Search commands and parameters");
            if !std::mem::replace(&mut palette.drawn, true) {
                field.request_focus();
            }
            if field.changed() {
                palette.marked = None;
            }
            let step = ui.input(|input| {
                i32::from(input.key_pressed(Key::ArrowDown)) - i32::from(input.key_pressed(Key::ArrowUp))
            });
            let certain = found.first().is_some_and(|found| found.quality < MatchQuality::Uncertain).then_some(0);
            if step != 0 {
                let next = palette.marked.or(certain).map_or(0, |marked| marked.saturating_add_signed(step as isize));
                palette.marked = Some(next.min(found.len().saturating_sub(1)));
            }
            let marked = palette.marked.or(certain);
            egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
                for (index, found) in found.iter().enumerate() {
                    let row = ui.horizontal(|ui| {
                        ui.set_width(ui.available_width());
                        let text = format!("{}  {} · {}", found.icon, found.place, found.title);
                        let row = access::choice(ui, Some(index) == marked, text);
                        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                            ui.label(RichText::new(&found.aside).weak().small());
                        });
                        row
                    });
                    if Some(index) == marked {
                        // The field keeps the focus: report the highlighted row to screen readers.
                        let row = row.inner.id.accesskit_id();
                        ui.ctx().accesskit_node_builder(field.id, |node| node.set_active_descendant(row));
                    }
                    if step != 0 && Some(index) == marked {
                        row.response.scroll_to_me(None);
                    }
                    if row.inner.on_hover_text(&found.about).clicked() {
                        chosen = Some(found.command.clone());
                    }
                }
                if found.is_empty() {
                    ui.label(RichText::new("No matching commands or parameters.").weak());
                }
            });
            if chosen.is_none() && ui.input(|input| input.key_pressed(Key::Enter)) {
                chosen = marked.and_then(|marked| found.get(marked)).map(|found| found.command.clone());
                if chosen.is_none() {
                    // The key takes the focus from the field.
                    field.request_focus();
                }
            }
        });
    chosen
}

#[cfg(test)]
mod tests {
    use bevy::ecs::system::SystemState;
    use thalweg_scene::{io::scene::open_first, model::origin::Options};

    use super::*;
    use crate::features;

    /// Returns the titles of the results for each search text.
    fn titles<const COUNT: usize>(texts: [&str; COUNT]) -> [Vec<String>; COUNT] {
        let options = Options { size: Some((32, 32)), ..Options::default() };
        let session = open_first("round-hill", &options).expect("it is built in");
        let mut app = App::new();
        app.insert_resource(Simulations::new(vec![session])).init_resource::<Preferences>();
        app.add_plugins(features::plugin);
        let mut state = SystemState::<PaletteParams<'_>>::new(app.world_mut());
        let state = state.get(app.world()).expect("its resources are there");
        let context = egui::Context::default();
        texts.map(|typed| search(&context, &state, typed).into_iter().map(|found| found.title).collect())
    }

    #[test]
    fn letters_of_a_search_word_are_found_within_one_word() {
        let [whole, spread, unknown, described] = titles(["turntable video", "rctnvd", "zqx", "invert"]);
        assert_eq!(whole.first().map(String::as_str), Some("Record turntable video"));
        // The letters occur in this order in that title, but not within one of its words.
        assert!(spread.is_empty() && unknown.is_empty(), "{spread:?} {unknown:?}");
        assert_eq!(described, ["Noise"]);
    }
}
