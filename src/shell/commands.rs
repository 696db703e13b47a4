//! The command table, from which menus, shortcuts, palette and help are built. Each feature adds its own commands.

use crate::world::{AppCommand, Jobs};
use bevy::prelude::*;
use bevy_egui::egui::{self, Key, KeyboardShortcut, Modifiers, Ui};

/// Titles of the menus, from left to right.
pub const MENUS: [&str; 8] = ["File", "Edit", "Brush", "Scene", "Simulation", "View", "Learn", "Help"];

/// A command with its menu entry, shortcuts and texts.
pub struct CommandEntry {
    pub menu: &'static str,
    /// Sort key within the menu, ascending.
    order: u8,
    pub icon: &'static str,
    pub title: String,
    /// Tooltip: one imperative sentence.
    pub about: String,
    /// Alternative names by which the palette also finds the command, in lower case.
    pub aliases: &'static str,
    pub shortcuts: Vec<KeyboardShortcut>,
    pub command: AppCommand,
    /// `true` if a separator precedes it.
    pub divided: bool,
    /// Submenu that contains it, if any.
    pub submenu: Option<&'static str>,
}

impl CommandEntry {
    /// Sets the alternative names.
    pub fn set_aliases(&mut self, other_names: &'static str) {
        self.aliases = other_names;
    }
}

pub const NONE: Modifiers = Modifiers::NONE;
pub const SHIFT: Modifiers = Modifiers::SHIFT;
pub const ALT: Modifiers = Modifiers::ALT;
pub const SHIFT_ALT: Modifiers = ALT.plus(SHIFT);
pub const CTRL: Modifiers = Modifiers::COMMAND;
pub const SHIFT_CTRL: Modifiers = CTRL.plus(SHIFT);

/// Number keys, which select brushes and bookmarks.
pub const NUMBERS: [Key; 9] =
    [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7, Key::Num8, Key::Num9];

/// All commands that have a menu entry. Source of menus, shortcuts, palette and help.
#[derive(Resource, Default)]
pub struct CommandTable(Vec<CommandEntry>);

impl CommandTable {
    /// Returns all entries in menu order.
    pub fn entries(&self) -> impl Iterator<Item = &CommandEntry> {
        self.0.iter()
    }

    /// Returns the entry of a command.
    pub fn of(&self, command: &AppCommand) -> Option<&CommandEntry> {
        self.0.iter().find(|entry| entry.command == *command)
    }

    /// Returns the tooltip of a command, with its shortcuts.
    pub fn help(&self, context: &egui::Context, command: &AppCommand) -> String {
        let Some(entry) = self.of(command) else { return String::new() };
        let keys = format_shortcuts(context, entry);
        if keys.is_empty() { entry.about.clone() } else { format!("{} ({keys})", entry.about) }
    }

    /// Returns the command of a shortcut. The modifiers must match exactly.
    pub fn by_shortcut(&self, modifiers: Modifiers, key: Key) -> Option<&AppCommand> {
        let held = |modifiers: Modifiers| (modifiers.shift, modifiers.command, modifiers.alt);
        let same = |keys: &KeyboardShortcut| held(keys.modifiers) == held(modifiers) && keys.logical_key == key;
        self.0.iter().find(|entry| entry.shortcuts.iter().any(same)).map(|entry| &entry.command)
    }
}

/// Extension trait that registers commands.
pub trait AddCommands {
    /// Adds commands to a menu, below those with a lower or equal `order`.
    fn add_commands(&mut self, menu: &'static str, order: u8, add: impl FnOnce(&mut MenuSection)) -> &mut Self;
}

impl AddCommands for App {
    fn add_commands(&mut self, menu: &'static str, order: u8, add: impl FnOnce(&mut MenuSection)) -> &mut Self {
        let mut part = MenuSection { menu, order, submenu: None, entries: Vec::new() };
        add(&mut part);
        let mut table = self.world_mut().get_resource_or_init::<CommandTable>();
        table.0.extend(part.entries);
        table.0.sort_by_key(|entry| (MENUS.iter().position(|menu| *menu == entry.menu), entry.order));
        self
    }
}

/// Builder of a section of a menu.
pub struct MenuSection {
    menu: &'static str,
    order: u8,
    /// Submenu for the entries added next.
    pub submenu: Option<&'static str>,
    entries: Vec<CommandEntry>,
}

impl MenuSection {
    /// Adds an entry. A leading dash in the title puts a separator before it.
    pub fn add(
        &mut self,
        icon: &'static str,
        title: &str,
        about: &str,
        keys: &[(Modifiers, Key)],
        command: impl Into<AppCommand>,
    ) -> &mut CommandEntry {
        let divided = title.starts_with('-');
        let (title, about) = (title.trim_start_matches('-').to_owned(), about.to_owned());
        let keys = keys.iter().map(|(modifiers, key)| KeyboardShortcut::new(*modifiers, *key)).collect();
        let (menu, order, group) = (self.menu, self.order, self.submenu);
        let command = command.into();
        self.entries.push(CommandEntry {
            menu,
            order,
            icon,
            title,
            about,
            aliases: "",
            shortcuts: keys,
            command,
            divided,
            submenu: group,
        });
        self.entries.last_mut().expect("it was added")
    }
}

/// Draws buttons of commands, disabled while a job holds the project. Returns the commands whose buttons were clicked.
pub fn buttons_ui(ui: &mut Ui, (jobs, table): (&Jobs, &CommandTable), wanted: &[AppCommand]) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    ui.horizontal_wrapped(|ui| {
        for entry in wanted.iter().filter_map(|command| table.of(command)) {
            let button = egui::Button::new(format!("{} {}", entry.icon, entry.title));
            if ui.add_enabled(!jobs.is_project_locked(), button).on_hover_text(&entry.about).clicked() {
                asked.push(entry.command.clone());
            }
        }
    });
    asked
}

pub fn format_shortcuts(context: &egui::Context, entry: &CommandEntry) -> String {
    let text = |keys: &KeyboardShortcut| {
        let text = context.format_shortcut(keys);
        // The symbol printed on the key, not its name.
        let sign = keys.logical_key.symbol_or_name();
        text.strip_suffix(keys.logical_key.name()).map(|held| format!("{held}{sign}")).unwrap_or(text)
    };
    entry.shortcuts.iter().map(text).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::command_table;

    #[test]
    fn shortcuts_and_titles_are_unique() {
        let table = command_table();
        let mut keys: Vec<_> = table
            .entries()
            .flat_map(|entry| &entry.shortcuts)
            .map(|keys| format!("{:?}+{:?}", keys.modifiers, keys.logical_key))
            .collect();
        let mut titles: Vec<_> = table.entries().map(|entry| &entry.title).collect();
        let before = (keys.len(), titles.len());
        keys.sort();
        keys.dedup();
        titles.sort();
        titles.dedup();
        assert_eq!((keys.len(), titles.len()), before);
        assert!(table.entries().all(|entry| entry.about.ends_with('.')));
    }

    #[test]
    fn command_aliases_are_lowercase_words() {
        let table = command_table();
        assert!(table.entries().filter(|entry| !entry.aliases.is_empty()).count() > 40);
        for entry in table.entries() {
            assert!(entry.aliases.chars().all(|letter| letter.is_lowercase() || letter == ' '), "{}", entry.title);
        }
    }

    #[test]
    fn shortcuts_are_formatted_by_key_cap() {
        let (context, table) = (egui::Context::default(), command_table());
        let keys = |title: &str| {
            let entry = table.entries().find(|entry| entry.title == title).expect("it exists");
            format_shortcuts(&context, entry)
        };
        assert_eq!((&*keys("Larger brush"), &*keys("Smaller brush")), ("]", "["));
        assert!(["Ctrl+,", "⌘,", "Cmd+,"].contains(&&*keys("Settings…")), "{}", keys("Settings…"));
    }
}
