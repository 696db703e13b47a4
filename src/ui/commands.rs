//! The one table of commands: menus, keys, palette and help are made from it.

use std::sync::LazyLock;

use bevy_egui::egui::{self, Key, KeyboardShortcut, Modifiers};
use egui_phosphor::regular as icon;

use crate::{
    io::{
        export,
        scene::{BUILT_IN, Scene},
    },
    model::origin::Options,
    runtime::{Before, Command, Workspace},
    sim::{edit::Tool, quantity::Quantity, terrain::Layer},
};

use super::brush::tool_icon;

/// Where a command stands in the menu bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Menu {
    /// Files in and out.
    File,
    /// Undo, and what changes layers by hand.
    Edit,
    /// Brushes.
    Brush,
    /// What comes with the program.
    Scene,
    /// Time.
    Run,
    /// The picture.
    View,
    /// How to.
    Help,
}

impl Menu {
    /// All menus, from the left.
    pub const ALL: [Menu; 7] = [Menu::File, Menu::Edit, Menu::Brush, Menu::Scene, Menu::Run, Menu::View, Menu::Help];

    /// Name shown to the user.
    pub fn title(self) -> &'static str {
        match self {
            Menu::File => "File",
            Menu::Edit => "Edit",
            Menu::Brush => "Brush",
            Menu::Scene => "Scene",
            Menu::Run => "Run",
            Menu::View => "View",
            Menu::Help => "Help",
        }
    }
}

/// A command with everything that is said of it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its menu.
    pub menu: Menu,
    /// Icon before its name.
    pub icon: &'static str,
    /// Its name.
    pub title: String,
    /// What it does, in a sentence.
    pub about: String,
    /// Keys that ask for it.
    pub keys: Vec<KeyboardShortcut>,
    /// What is asked for.
    pub command: Command,
    /// Whether a line divides it from the one before.
    pub divided: bool,
}

const NONE: Modifiers = Modifiers::NONE;
const SHIFT: Modifiers = Modifiers::SHIFT;
const CTRL: Modifiers = Modifiers::COMMAND;

/// All commands, in the order of the menus.
pub fn table() -> &'static [Entry] {
    static TABLE: LazyLock<Vec<Entry>> = LazyLock::new(build);
    &TABLE
}

/// The entry of a command.
pub fn entry(command: &Command) -> Option<&'static Entry> {
    table().iter().find(|entry| entry.command == *command)
}

fn build() -> Vec<Entry> {
    let mut all = Vec::new();
    let mut add = |menu, icon, title: &str, about: &str, keys: &[(Modifiers, Key)], command| {
        let divided = title.starts_with('-');
        let (title, about) = (title.trim_start_matches('-').to_owned(), about.to_owned());
        let keys = keys.iter().map(|(modifiers, key)| KeyboardShortcut::new(*modifiers, *key)).collect();
        all.push(Entry { menu, icon, title, about, keys, command, divided });
    };
    use Menu::{Brush, Edit, File, Help, Run, View};
    let shift_ctrl = CTRL | SHIFT;
    add(
        File,
        icon::FOLDER_OPEN,
        "Open…",
        "Opens a project, a scene file or a heightmap.",
        &[(CTRL, Key::O)],
        Command::AskOpen,
    );
    for (layer, import) in Layer::imports().filter(|(_, import)| import.offered) {
        let title = match layer {
            Layer::Bedrock => "-Import heights…".to_owned(),
            _ => format!("Import {} map…", import.title.to_lowercase()),
        };
        add(File, icon::DOWNLOAD_SIMPLE, &title, import.about, &[], Command::AskImport(layer));
    }
    let save =
        (icon::FLOPPY_DISK, "Save scene as…", "Writes the present state as a scene file with its layers beside it.");
    let project = "Writes all of the work into its project file, to go on from there another time.";
    add(File, icon::FLOPPY_DISK, "-Save", project, &[(CTRL, Key::S)], Command::Save);
    let other = "Writes all of the work into another project file.";
    add(File, icon::FLOPPY_DISK, "Save as…", other, &[(shift_ctrl, Key::S)], Command::AskSaveProject);
    add(File, save.0, save.1, save.2, &[], Command::AskSaveScene);
    let export = "Writes heights, maps and meshes for engines, maps of the land, and printers.";
    add(File, icon::EXPORT, "-Export…", export, &[(CTRL, Key::E)], Command::AskExport);
    let endings = export::formats("height").join(", .");
    let heights = format!("Writes the heights; the name's ending chooses the format: .{endings}.");
    add(File, icon::EXPORT, "Save heights as…", &heights, &[], Command::AskSaveMap("height"));
    let preset = "Writes all parameters but the terrain's into a file, for other runs.";
    add(File, icon::SLIDERS, "-Save parameters as…", preset, &[], Command::AskSavePreset(None));
    let preset = "Sets the parameters that such a file holds, of a process or of all.";
    add(File, icon::SLIDERS, "Load parameters…", preset, &[], Command::AskLoadPreset);
    let copy = "Puts the command on the clipboard that makes this run without a window.";
    add(File, icon::TERMINAL_WINDOW, "-Copy command line", copy, &[(shift_ctrl, Key::C)], Command::CopyCommandLine);
    add(File, icon::GEAR, "Settings…", "Panels, mouse and quality.", &[(CTRL, Key::Comma)], Command::ToggleSettings);
    add(File, icon::SIGN_OUT, "-Quit", "Ends the program.", &[(CTRL, Key::Q)], Command::Quit);

    add(Edit, icon::ARROW_U_UP_LEFT, "Undo", "Takes the last step back.", &[(CTRL, Key::Z)], Command::Undo);
    let redo = [(shift_ctrl, Key::Z), (CTRL, Key::Y)];
    add(Edit, icon::ARROW_U_UP_RIGHT, "Redo", "Does again what was taken back.", &redo, Command::Redo);
    add(Edit, icon::STACK, "-Spread a metre of sand", "Lays sand on everything.", &[], Command::SpreadSand(1.0));
    add(Edit, icon::BROOM, "Remove all sand", "Leaves the bare bedrock.", &[], Command::RemoveSand);
    add(Edit, icon::SUN, "Dry everything", "Takes all water away; its sediment settles.", &[], Command::Dry);

    let numbers = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7, Key::Num8, Key::Num9];
    for (index, tool) in Tool::ALL.into_iter().enumerate() {
        let keys: Vec<_> = numbers.get(index).map(|key| (NONE, *key)).into_iter().collect();
        add(Brush, tool_icon(tool), tool.title(), tool.about(), &keys, Command::Hold(Some(tool)));
    }
    let stamp = "Loads a heightmap as what the stamp presses on the ground.";
    add(Brush, icon::FOLDER_OPEN, "Load stamp…", stamp, &[], Command::AskStamp);
    let by_hand = "Follows the pointer until a click; Esc brings back what it was.";
    let circle = icon::CIRCLE_HALF;
    add(Brush, circle, "-Set radius", by_hand, &[(NONE, Key::F)], Command::DragBrush("radius"));
    add(Brush, circle, "Set strength", by_hand, &[(SHIFT, Key::F)], Command::DragBrush("strength"));
    let larger = "Makes the brush a fifth larger.";
    add(Brush, icon::PLUS, "Larger brush", larger, &[(NONE, Key::CloseBracket)], Command::ResizeBrush(1));
    let smaller = "Makes the brush a sixth smaller.";
    add(Brush, icon::MINUS, "Smaller brush", smaller, &[(NONE, Key::OpenBracket)], Command::ResizeBrush(-1));
    let away = "Takes back the stroke that is being made; without one, puts the brush away.";
    add(Brush, icon::X, "Cancel stroke or put away", away, &[(NONE, Key::Escape)], Command::Cancel);

    for (name, text) in BUILT_IN {
        let scene: Scene = ron::from_str(text).unwrap_or_default();
        let open = Command::Open(name.to_owned(), Options::default());
        add(Menu::Scene, icon::MOUNTAINS, &scene.title, &scene.about, &[], open);
    }

    add(
        Run,
        icon::PLAY_PAUSE,
        "Play or pause",
        "Lets time run, or stops it.",
        &[(NONE, Key::Space)],
        Command::TogglePlay,
    );
    let step = [(NONE, Key::ArrowRight), (NONE, Key::Period)];
    add(Run, icon::SKIP_FORWARD, "One tick", "Runs a single tick and pauses.", &step, Command::Step(1));
    let stage = "Runs the next stage of a tick and pauses: the status bar and the Learn workspace say what comes next.";
    add(Run, icon::STEPS, "One stage", stage, &[(NONE, Key::Comma)], Command::Stage);
    let ten = [(SHIFT, Key::ArrowRight)];
    add(Run, icon::FAST_FORWARD, "Ten ticks", "Runs ten ticks and pauses.", &ten, Command::Step(10));
    let restart = "Begins again with the same seed and with the terrain as you shaped it before the first tick; undo brings back what was.";
    add(Run, icon::SKIP_BACK, "-Restart", restart, &[(NONE, Key::R)], Command::Restart);
    let bare = "Begins again with the terrain as it was before you shaped it, under the painted rain and mask; undo brings back what was.";
    add(Run, icon::ERASER, "Restart unshaped", bare, &[], Command::RestartUnshaped);
    let seed = "Begins again with the next seed; what was is kept for undo.";
    add(Run, icon::DICE_FIVE, "New seed", seed, &[(SHIFT, Key::R)], Command::NewSeed);

    add(
        View,
        icon::CORNERS_OUT,
        "Frame all",
        "The camera shows the whole map.",
        &[(NONE, Key::Home)],
        Command::FrameAll,
    );
    let turn = "The camera goes round slowly, or stops.";
    add(View, icon::ARROWS_CLOCKWISE, "Turntable", turn, &[(NONE, Key::T)], Command::ToggleTurntable);
    let before = "Shows how the run began; holding B shows it for as long.";
    add(View, icon::CLOCK_COUNTER_CLOCKWISE, "-Start", before, &[], Command::ShowBefore(Before::Alone));
    let split = "Shows the start on the left and the present on the right of a divider that can be dragged.";
    let half = Command::ShowBefore(Before::Split(0.5));
    add(View, icon::SQUARE_SPLIT_HORIZONTAL, "Split start and present", split, &[(SHIFT, Key::B)], half);
    add(View, icon::EYE, "Present", "Shows the terrain as it is.", &[], Command::ShowBefore(Before::Off));
    let water = "Shows the water, or the bed without it.";
    add(View, icon::WAVES, "-Water", water, &[(NONE, Key::W)], Command::ToggleWater);
    let overlay = "Shows the last quantity over the ground, with its legend, or the ground itself.";
    add(View, icon::GRADIENT, "Overlay", overlay, &[(NONE, Key::O)], Command::ToggleOverlay);
    let arrows = "Arrows along the flow of the water.";
    add(View, icon::ARROW_UP_RIGHT, "Flow arrows", arrows, &[(SHIFT, Key::O)], Command::ToggleArrows);
    let map = "A small map of the wind's ways beside that of the sand.";
    add(View, icon::WIND, "Wind map", map, &[], Command::ToggleWindMap);
    for quantity in Quantity::all() {
        let title = format!("Overlay: {}", quantity.title().to_lowercase());
        add(View, icon::GRADIENT, &title, quantity.about(), &[], Command::ShowOverlay(Some(quantity)));
    }
    let workspaces = [
        ("-Sculpt workspace", "All panels.", Workspace::Sculpt, icon::SLIDERS),
        (
            "Learn workspace",
            "What happens step by step: few sliders, plots, slowly.",
            Workspace::Learn,
            icon::GRADUATION_CAP,
        ),
        ("Present workspace", "The picture alone.", Workspace::Present, icon::PRESENTATION),
    ];
    for (title, about, workspace, icon) in workspaces {
        add(View, icon, title, about, &[], Command::SetWorkspace(workspace));
    }
    add(View, icon::SIDEBAR, "-Panels", "Shows or hides all panels.", &[(NONE, Key::H)], Command::ToggleUi);
    let full = "The window covers the screen, or not.";
    add(View, icon::ARROWS_OUT, "Full screen", full, &[(NONE, Key::F11)], Command::ToggleFullScreen);
    let picture = "Writes a picture of the view, without panels, into your folder of pictures.";
    add(View, icon::CAMERA, "Take picture", picture, &[(NONE, Key::F12)], Command::TakePicture);

    add(Help, icon::QUESTION, "Keys and mouse", "What each key does.", &[(NONE, Key::F1)], Command::ToggleHelp);
    let palette = "Finds a command by a part of its name.";
    add(Help, icon::MAGNIFYING_GLASS, "Command palette", palette, &[(CTRL, Key::P)], Command::TogglePalette);
    add(Help, icon::INFO, "About Thalweg", "Version, graphics, and where files are kept.", &[], Command::ToggleAbout);
    all
}

/// What a key asks for; modifiers must be exactly those of the table.
pub fn asked_by(modifiers: Modifiers, key: Key) -> Option<&'static Command> {
    let held = |modifiers: Modifiers| (modifiers.shift, modifiers.command, modifiers.alt);
    let same = |keys: &KeyboardShortcut| held(keys.modifiers) == held(modifiers) && keys.logical_key == key;
    table().iter().find(|entry| entry.keys.iter().any(same)).map(|entry| &entry.command)
}

/// Keys as they are written in a menu.
pub fn keys_text(context: &egui::Context, entry: &Entry) -> String {
    let texts: Vec<String> = entry.keys.iter().map(|keys| context.format_shortcut(keys)).collect();
    texts.join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_taken_twice_and_no_title_is_said_twice() {
        let mut keys: Vec<_> = table()
            .iter()
            .flat_map(|entry| &entry.keys)
            .map(|keys| format!("{:?}+{:?}", keys.modifiers, keys.logical_key))
            .collect();
        let mut titles: Vec<_> = table().iter().map(|entry| &entry.title).collect();
        let before = (keys.len(), titles.len());
        keys.sort();
        keys.dedup();
        titles.sort();
        titles.dedup();
        assert_eq!((keys.len(), titles.len()), before);
        assert!(table().iter().all(|entry| entry.about.ends_with('.')));
    }
}
