//! The command palette: finds a command by a part of its name.

use bevy_egui::egui::{self, Align2, Key, RichText};
use nucleo_matcher::{
    Config, Matcher,
    pattern::{CaseMatching, Normalization, Pattern},
};

use super::{
    commands::{keys_text, table},
    style,
};
use crate::runtime::Command;

/// What was typed, and which of the commands that were found is marked.
#[derive(Default)]
pub struct Palette {
    typed: String,
    marked: usize,
    /// Whether it has been drawn since it was opened.
    drawn: bool,
}

/// Draws it. Returns what was chosen.
pub fn palette_ui(context: &egui::Context, palette: &mut Palette) -> Option<Command> {
    let mut chosen = None;
    let pattern = Pattern::parse(&palette.typed, CaseMatching::Ignore, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut letters = Vec::new();
    let typed = palette.typed.to_lowercase();
    let words: Vec<&str> = typed.split_whitespace().collect();
    let mut found: Vec<_> = table()
        .iter()
        .filter_map(|entry| {
            let mut score = |text: &str| pattern.score(nucleo_matcher::Utf32Str::new(text, &mut letters), &mut matcher);
            // Its title counts more than its other names, and these more than what is said of it, of which whole words count.
            let titled = score(&format!("{} {}", entry.menu, entry.title));
            let named = score(&format!("{} {} {}", entry.menu, entry.title, entry.other_names()));
            let about = entry.about.to_lowercase();
            let told = || words.iter().all(|word| about.contains(word)).then_some(0);
            Some(((titled, named.or_else(told)?), entry))
        })
        .collect();
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    egui::Window::new("Command palette")
        .title_bar(false)
        .order(egui::Order::Foreground)
        .resizable(false)
        .anchor(Align2::CENTER_TOP, style::PALETTE_OFFSET)
        .fixed_size(style::PALETTE_SIZE)
        .show(context, |ui| {
            let field = egui::TextEdit::singleline(&mut palette.typed)
                .hint_text("What do you want to do?")
                .desired_width(f32::INFINITY)
                .lock_focus(true);
            let field = ui.add(field);
            if !std::mem::replace(&mut palette.drawn, true) {
                field.request_focus();
            }
            if field.changed() {
                palette.marked = 0;
            }
            let step = ui.input(|input| {
                i32::from(input.key_pressed(Key::ArrowDown)) - i32::from(input.key_pressed(Key::ArrowUp))
            });
            let last = found.len().saturating_sub(1);
            palette.marked = palette.marked.saturating_add_signed(step as isize).min(last);
            egui::ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
                for (index, (_, entry)) in found.iter().enumerate() {
                    let row = ui.horizontal(|ui| {
                        ui.set_width(ui.available_width());
                        let text = format!("{}  {} · {}", entry.icon, entry.menu, entry.title);
                        let row = ui.selectable_label(index == palette.marked, text);
                        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                            ui.label(RichText::new(keys_text(ui.ctx(), entry)).weak().small());
                        });
                        row
                    });
                    if step != 0 && index == palette.marked {
                        row.response.scroll_to_me(None);
                    }
                    if row.inner.on_hover_text(&entry.about).clicked() {
                        chosen = Some(entry.command.clone());
                    }
                }
                if found.is_empty() {
                    ui.label(RichText::new("No command has these letters in its name or in what it does.").weak());
                }
            });
            if ui.input(|input| input.key_pressed(Key::Enter))
                && let Some((_, entry)) = found.get(palette.marked)
            {
                chosen = Some(entry.command.clone());
            }
        });
    chosen
}
