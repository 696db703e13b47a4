//! Keyboard shortcuts: each key press sends its command from the table, in the order of the presses even if frames are slow.

use bevy::{
    input::keyboard::{Key, KeyboardFocusLost, KeyboardInput},
    prelude::*,
};
use bevy_egui::{
    egui::{self, Modifiers},
    helpers::bevy_to_egui_key,
};

use super::commands::{CommandTable, NUMBERS};
use crate::world::{
    AppCommand, BrushCommand, CameraCommand, CompareCommand, Comparison, CurrentLesson, NavigationInput, NoticeLevel,
    Notices, OtherWindows, PresentCommand, Presentation, Simulations, Workspace,
};

/// Keys that edit text together with Ctrl: select all, copy, paste, cut, redo and undo.
const TEXT_EDITING_KEYS: [egui::Key; 6] =
    [egui::Key::A, egui::Key::C, egui::Key::V, egui::Key::X, egui::Key::Y, egui::Key::Z];

const MAC: bool = cfg!(target_os = "macos");

/// Owner of the keyboard in the main window.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum KeyboardFocus {
    /// The command table.
    #[default]
    Commands,
    /// The camera walks or flies and takes the movement keys.
    Camera,
    /// A focused button or slider, which takes all keys except function keys and those with Ctrl or Alt.
    Widget,
    /// The focused viewport, which takes Space, Tab and the arrow keys without Alt or Ctrl. All others go to the command table.
    Viewport,
    /// An open modeless window: Escape closes it, and no brush is selected. Keys with Ctrl or Alt go to the command table.
    Window,
    /// A text field, which also takes the editing shortcuts with Ctrl.
    TextField,
    /// A modal dialog, which takes all keys except function keys.
    Modal,
}

/// Owner of the keyboard in the presenter's window.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub(crate) struct PresenterKeyboardFocus(pub KeyboardFocus);

/// Keys that are held down.
#[derive(Default)]
pub(crate) struct HeldKeys {
    modifiers: Modifiers,
    alt_graph: bool,
    /// `true` while B is held to show the start.
    start: bool,
    /// Held movement keys.
    steps: Vec<egui::Key>,
}

/// Movement keys of the walking or flying camera, with their direction: right, up, forward.
const MOVEMENT_KEYS: [(egui::Key, [f32; 3]); 10] = [
    (egui::Key::W, [0.0, 0.0, 1.0]),
    (egui::Key::ArrowUp, [0.0, 0.0, 1.0]),
    (egui::Key::S, [0.0, 0.0, -1.0]),
    (egui::Key::ArrowDown, [0.0, 0.0, -1.0]),
    (egui::Key::A, [-1.0, 0.0, 0.0]),
    (egui::Key::ArrowLeft, [-1.0, 0.0, 0.0]),
    (egui::Key::D, [1.0, 0.0, 0.0]),
    (egui::Key::ArrowRight, [1.0, 0.0, 0.0]),
    (egui::Key::E, [0.0, 1.0, 0.0]),
    (egui::Key::Q, [0.0, -1.0, 0.0]),
];

/// Keys that navigate a playlist, with their number of scenes. Those of presentation remotes come first. R restarts the scene.
const PLAYLIST_KEYS: [(egui::Key, isize); 5] = [
    (egui::Key::PageDown, 1),
    (egui::Key::PageUp, -1),
    (egui::Key::ArrowRight, 1),
    (egui::Key::ArrowLeft, -1),
    (egui::Key::R, 0),
];

/// Returns the command of a key during a presentation. A focused slider or viewport keeps the arrow keys.
fn page_of(modifiers: Modifiers, key: egui::Key, keyboard: KeyboardFocus) -> Option<PresentCommand> {
    let pages = match keyboard {
        KeyboardFocus::Commands => &PLAYLIST_KEYS[..],
        KeyboardFocus::Viewport | KeyboardFocus::Widget | KeyboardFocus::Camera => &PLAYLIST_KEYS[..2],
        KeyboardFocus::Window | KeyboardFocus::TextField | KeyboardFocus::Modal => &[],
    };
    let (_, steps) = pages.iter().find(|(page, _)| modifiers.is_none() && *page == key)?;
    Some(PresentCommand::Go(*steps))
}

/// Returns the command that goes to the bookmark of a number key, for workspaces without brushes.
fn view_of(modifiers: Modifiers, key: egui::Key, keyboard: KeyboardFocus) -> Option<CameraCommand> {
    let number = NUMBERS.iter().position(|number| *number == key)? + 1;
    let plain = modifiers.is_none()
        && matches!(keyboard, KeyboardFocus::Commands | KeyboardFocus::Viewport | KeyboardFocus::Camera);
    plain.then_some(CameraCommand::GoToBookmark(number))
}

fn is_movement_key(modifiers: Modifiers, key: egui::Key) -> bool {
    !modifiers.alt && !modifiers.command && MOVEMENT_KEYS.iter().any(|(step, _)| *step == key)
}

impl HeldKeys {
    /// Returns the modifiers with which a key is pressed. AltGr, and Shift for punctuation, only select the symbol of a key.
    fn modifiers_of(&self, key: egui::Key) -> Modifiers {
        use egui::Key::{CloseBracket, Comma, OpenBracket, Period};
        let punctuation = [OpenBracket, CloseBracket, Comma, Period].contains(&key);
        match self.modifiers {
            // Windows reports AltGr as Ctrl and Alt.
            _ if self.alt_graph && punctuation => Modifiers::NONE,
            held if punctuation && held.shift && !held.command && !held.alt => Modifiers::NONE,
            held => held,
        }
    }

    fn steps(&self) -> NavigationInput {
        let mut direction = [0.0; 3];
        for (_, step) in MOVEMENT_KEYS.iter().filter(|(key, _)| self.steps.contains(key)) {
            direction.iter_mut().zip(step).for_each(|(direction, step)| *direction += step);
        }
        NavigationInput { direction, is_fast: self.modifiers.shift }
    }
}

pub(crate) fn send_commands(
    (mut keys, mut lost): (MessageReader<KeyboardInput>, MessageReader<KeyboardFocusLost>),
    (comparison, workspace): (Res<State<Comparison>>, Res<State<Workspace>>),
    (lesson, presentation): (Option<Res<CurrentLesson>>, Option<Res<Presentation>>),
    (simulations, mut notices): (Res<Simulations>, ResMut<Notices>),
    (others, keyboard, at_desk, table): (
        OtherWindows,
        Res<KeyboardFocus>,
        Res<PresenterKeyboardFocus>,
        Res<CommandTable>,
    ),
    mut down: Local<HeldKeys>,
    (mut steps, mut commands): (ResMut<NavigationInput>, MessageWriter<AppCommand>),
) {
    let lesson = lesson.filter(|_| *workspace == Workspace::Learn);
    let kiosk = presentation.as_ref().is_some_and(|presentation| presentation.is_kiosk());
    let protected = lesson.is_some_and(|lesson| !lesson.attempt.lesson.head.sculpting);
    if lost.read().next().is_some() {
        // Without the focus, key releases are not received.
        if down.start {
            commands.write(CompareCommand::Show(Comparison::Off).into());
        }
        *down = HeldKeys::default();
    }
    for input in keys.read() {
        let pressed = input.state.is_pressed();
        match &input.logical_key {
            Key::Shift => down.modifiers.shift = pressed,
            Key::Control if MAC => down.modifiers.ctrl = pressed,
            Key::Control => (down.modifiers.ctrl, down.modifiers.command) = (pressed, pressed),
            Key::Alt => down.modifiers.alt = pressed,
            Key::AltGraph => down.alt_graph = pressed,
            Key::Super | Key::Meta if MAC => (down.modifiers.mac_cmd, down.modifiers.command) = (pressed, pressed),
            Key::Super | Key::Meta => {}
            key => {
                let Some(key) = key_of(key, input.key_code) else { continue };
                let elsewhere = others.has(input.window);
                let keyboard = if elsewhere { at_desk.0 } else { *keyboard };
                if key == egui::Key::B && down.start && !pressed {
                    down.start = false;
                    commands.write(CompareCommand::Show(Comparison::Off).into());
                }
                let modifiers = down.modifiers_of(key);
                down.steps.retain(|step| *step != key);
                if pressed && keyboard == KeyboardFocus::Camera && is_movement_key(modifiers, key) {
                    down.steps.push(key);
                }
                // Function keys don't produce text.
                let function_key = key.name().starts_with('F') && key != egui::Key::F;
                let ours = match keyboard {
                    KeyboardFocus::Commands => true,
                    KeyboardFocus::Camera => !is_movement_key(modifiers, key),
                    KeyboardFocus::Viewport => !is_viewport_key(modifiers, key),
                    KeyboardFocus::Widget | KeyboardFocus::Window => function_key || modifiers.command || modifiers.alt,
                    KeyboardFocus::TextField => {
                        // On macOS, Alt types symbols.
                        function_key || modifiers.alt && !MAC || modifiers.command && !TEXT_EDITING_KEYS.contains(&key)
                    }
                    KeyboardFocus::Modal => function_key,
                };
                let page = page_of(modifiers, key, keyboard).filter(|_| presentation.is_some());
                let view = view_of(modifiers, key, keyboard).filter(|_| *workspace == Workspace::Present);
                let before_a_room = page.map(AppCommand::from).or(view.map(AppCommand::from));
                let ours = ours || before_a_room.is_some();
                if !ours || !pressed {
                    continue;
                }
                let asked = before_a_room.as_ref().or(table.by_shortcut(modifiers, key));
                let asked = asked.filter(|command| !kiosk || command.is_allowed_in_kiosk(&simulations));
                // The presenter's window accepts only these; the effect of all others appears in the main window.
                let asked = asked.filter(|command| !elsewhere || command.is_allowed_in_presenter());
                if input.repeat && !asked.is_some_and(AppCommand::repeats_while_held) {
                    continue;
                }
                if key == egui::Key::B && modifiers.is_none() && *comparison == Comparison::Off && !elsewhere {
                    if !kiosk {
                        down.start = true;
                        commands.write(CompareCommand::Show(Comparison::Start).into());
                    }
                } else if let Some(command) = asked {
                    let brush = matches!(command.get(), Some(BrushCommand::Activate(Some(_))));
                    if protected && (brush || command.restarts()) {
                        let text =
                            "In a lesson, this shortcut is disabled because it could change the terrain. Use the menu.";
                        notices.notify(NoticeLevel::Info, text);
                    } else {
                        commands.write(command.clone());
                    }
                }
            }
        }
    }
    if *keyboard != KeyboardFocus::Camera {
        down.steps.clear();
    }
    *steps = down.steps();
}

/// Returns `true` if a key moves the marker in the focused viewport, clicks at it, or moves the focus.
fn is_viewport_key(modifiers: Modifiers, key: egui::Key) -> bool {
    use egui::Key::{ArrowDown, ArrowLeft, ArrowRight, ArrowUp, Space, Tab};
    let arrow = [ArrowDown, ArrowLeft, ArrowRight, ArrowUp].contains(&key);
    [Space, Tab].contains(&key) || arrow && !modifiers.alt && !modifiers.command
}

/// Returns the key in any keyboard layout: brackets and letters by their symbol, digits by their position, as some layouts type them only
/// with Shift.
fn key_of(key: &Key, position: KeyCode) -> Option<egui::Key> {
    const DIGITS: [KeyCode; 10] = [
        KeyCode::Digit0,
        KeyCode::Digit1,
        KeyCode::Digit2,
        KeyCode::Digit3,
        KeyCode::Digit4,
        KeyCode::Digit5,
        KeyCode::Digit6,
        KeyCode::Digit7,
        KeyCode::Digit8,
        KeyCode::Digit9,
    ];
    match key {
        Key::Character(symbol) => match symbol.as_str() {
            "[" => Some(egui::Key::OpenBracket),
            "]" => Some(egui::Key::CloseBracket),
            symbol => match DIGITS.iter().position(|digit| *digit == position) {
                Some(digit) => egui::Key::from_name(&digit.to_string()),
                None => egui::Key::from_name(&symbol.to_uppercase()),
            },
        },
        named => bevy_to_egui_key(named),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use bevy::window::PrimaryWindow;

    use super::*;
    use crate::world::{EditCommand, SaveBookmark, SimulationCommand, WindowCommand};
    use thalweg_scene::model::{lesson::Attempt, origin::Origin, playlist::Playlist, session::Session};

    fn app() -> App {
        let mut app = App::new();
        app.add_message::<KeyboardInput>()
            .add_message::<KeyboardFocusLost>()
            .add_message::<AppCommand>()
            .init_resource::<KeyboardFocus>()
            .init_resource::<PresenterKeyboardFocus>()
            .init_resource::<State<Comparison>>()
            .init_resource::<NavigationInput>()
            .init_resource::<Notices>()
            .init_resource::<State<Workspace>>()
            .insert_resource(Simulations::new(vec![Session::placeholder("alone", 1, Origin::default())]))
            .insert_resource(crate::features::command_table())
            .add_systems(Update, send_commands);
        app
    }

    fn press(app: &mut App, key: Key, pressed: bool) {
        press_in(app, Entity::PLACEHOLDER, key, pressed);
    }

    fn press_in(app: &mut App, window: Entity, key: Key, pressed: bool) {
        let position = KeyCode::Unidentified(bevy::input::keyboard::NativeKeyCode::Unidentified);
        press_at(app, window, (key, position), pressed);
    }

    fn press_at(app: &mut App, window: Entity, (key, key_code): (Key, KeyCode), pressed: bool) {
        let state = if pressed { bevy::input::ButtonState::Pressed } else { bevy::input::ButtonState::Released };
        let (logical_key, text, repeat) = (key, None, false);
        app.world_mut().write_message(KeyboardInput { key_code, logical_key, state, text, repeat, window });
    }

    fn asked(app: &mut App) -> Vec<AppCommand> {
        app.update();
        app.world_mut().resource_mut::<Messages<AppCommand>>().drain().collect()
    }

    /// Returns the logical key that the window system reports.
    fn named(key: egui::Key) -> Key {
        let named = [
            (egui::Key::Space, Key::Space),
            (egui::Key::Home, Key::Home),
            (egui::Key::ArrowRight, Key::ArrowRight),
            (egui::Key::ArrowLeft, Key::ArrowLeft),
            (egui::Key::ArrowUp, Key::ArrowUp),
            (egui::Key::ArrowDown, Key::ArrowDown),
            (egui::Key::PageUp, Key::PageUp),
            (egui::Key::PageDown, Key::PageDown),
            (egui::Key::F1, Key::F1),
            (egui::Key::F11, Key::F11),
            (egui::Key::F12, Key::F12),
            (egui::Key::Escape, Key::Escape),
            (egui::Key::OpenBracket, Key::Character("[".into())),
            (egui::Key::CloseBracket, Key::Character("]".into())),
            (egui::Key::Comma, Key::Character(",".into())),
            (egui::Key::Period, Key::Character(".".into())),
        ];
        let found = named.into_iter().find(|(egui, _)| *egui == key).map(|(_, bevy)| bevy);
        found.unwrap_or_else(|| Key::Character(key.name().to_lowercase().into()))
    }

    #[test]
    fn camera_moves_while_navigation_keys_are_held() {
        let mut app = app();
        app.insert_resource(KeyboardFocus::Camera);
        let direction = |app: &App| app.world().resource::<NavigationInput>().direction;
        press(&mut app, named(egui::Key::W), true);
        press(&mut app, Key::ArrowRight, true);
        assert!(asked(&mut app).is_empty(), "W moves the camera instead of toggling the water");
        assert_eq!(direction(&app), [1.0, 0.0, 1.0]);
        press(&mut app, named(egui::Key::W), false);
        press(&mut app, Key::Shift, true);
        assert!(asked(&mut app).is_empty());
        assert_eq!((direction(&app), app.world().resource::<NavigationInput>().is_fast), ([1.0, 0.0, 0.0], true));
        press(&mut app, Key::Shift, false);
        press(&mut app, Key::Space, true);
        press(&mut app, Key::Escape, true);
        assert_eq!(asked(&mut app).len(), 2);
        // Keys held while a text field takes the keyboard stop moving the camera.
        app.insert_resource(KeyboardFocus::TextField);
        app.update();
        assert_eq!(direction(&app), [0.0; 3]);
    }

    #[test]
    fn every_shortcut_triggers_within_one_frame() {
        for entry in crate::features::command_table().entries() {
            for keys in &entry.shortcuts {
                let mut app = app();
                let mut held = Vec::new();
                if keys.modifiers.command {
                    held.push(if MAC { Key::Super } else { Key::Control });
                }
                if keys.modifiers.shift {
                    held.push(Key::Shift);
                }
                if keys.modifiers.alt {
                    held.push(Key::Alt);
                }
                held.push(named(keys.logical_key));
                held.iter().for_each(|key| press(&mut app, key.clone(), true));
                held.iter().rev().for_each(|key| press(&mut app, key.clone(), false));
                assert_eq!(asked(&mut app), std::slice::from_ref(&entry.command), "{} ({keys:?})", entry.title);
            }
        }
    }

    #[test]
    fn shortcuts_work_on_french_and_german_layouts() {
        let table = crate::features::command_table();
        let wanted = |key| table.by_shortcut(Modifiers::NONE, key).expect("it is in the table").clone();
        let symbol = |text: &str| Key::Character(text.into());
        let (one, smaller) = (wanted(egui::Key::Num1), wanted(egui::Key::OpenBracket));
        let (larger, stage) = (wanted(egui::Key::CloseBracket), wanted(egui::Key::Comma));
        for (held, typed, position, command) in [
            // French: digits are typed with Shift, brackets with AltGr.
            (None, symbol("&"), KeyCode::Digit1, Some(&one)),
            (Some(Key::AltGraph), symbol("["), KeyCode::Digit5, Some(&smaller)),
            (Some(Key::Shift), symbol("."), KeyCode::Comma, Some(&wanted(egui::Key::Period))),
            // German.
            (None, symbol("1"), KeyCode::Digit1, Some(&one)),
            (Some(Key::AltGraph), symbol("]"), KeyCode::Digit9, Some(&larger)),
            (None, symbol(","), KeyCode::Comma, Some(&stage)),
            (Some(Key::AltGraph), symbol("µ"), KeyCode::KeyM, None),
        ] {
            let mut app = app();
            for key in held.iter().cloned() {
                press(&mut app, key, true);
            }
            press_at(&mut app, Entity::PLACEHOLDER, (typed.clone(), position), true);
            assert_eq!(asked(&mut app).first(), command, "{typed:?}");
        }
    }

    #[test]
    fn alt_shortcuts_work_in_text_fields() {
        let mut app = app();
        app.insert_resource(KeyboardFocus::TextField);
        press(&mut app, Key::Alt, true);
        press_at(&mut app, Entity::PLACEHOLDER, (Key::Character("7".into()), KeyCode::Digit7), true);
        let table = crate::features::command_table();
        let seven = table.by_shortcut(Modifiers::ALT, egui::Key::Num7).expect("it is a view").clone();
        let wanted = if MAC { vec![] } else { vec![seven] };
        assert_eq!(asked(&mut app), wanted);
    }

    #[test]
    fn lessons_disable_shortcuts_that_change_terrain() {
        let mut app = app();
        app.insert_resource(State::new(Workspace::Learn));
        let mut lesson = thalweg_scene::io::lesson::read("the-wadi").expect("a built-in lesson");
        for sculpting in [false, true] {
            lesson.head.sculpting = sculpting;
            let attempt = Attempt::new(lesson.clone(), BTreeMap::new());
            let lesson = CurrentLesson::new(attempt, app.world().resource::<Simulations>());
            app.insert_resource(lesson);
            for (key, runs) in [("3", sculpting), ("r", sculpting), (" ", true)] {
                let key = if key == " " { Key::Space } else { Key::Character(key.into()) };
                press(&mut app, key.clone(), true);
                press(&mut app, key.clone(), false);
                assert_eq!(asked(&mut app).len(), usize::from(runs), "{key:?}");
            }
        }
    }

    #[test]
    fn focused_viewport_keeps_its_arrow_keys() {
        let mut app = app();
        app.insert_resource(KeyboardFocus::Viewport);
        for key in [Key::Space, Key::ArrowRight, Key::Tab] {
            press(&mut app, key, true);
        }
        assert_eq!(asked(&mut app), Vec::<AppCommand>::new());
        press(&mut app, Key::Alt, true);
        press(&mut app, Key::ArrowRight, true);
        press(&mut app, Key::Alt, false);
        press(&mut app, Key::Character("1".into()), true);
        let table = crate::features::command_table();
        let wanted = [
            table.by_shortcut(Modifiers::ALT, egui::Key::ArrowRight),
            table.by_shortcut(Modifiers::NONE, egui::Key::Num1),
        ];
        assert_eq!(asked(&mut app), wanted.map(|command| command.expect("it is in the table").clone()));
    }

    #[test]
    fn start_is_compared_only_while_b_is_held() {
        let mut app = app();
        press(&mut app, Key::Character("b".into()), true);
        assert_eq!(asked(&mut app), [CompareCommand::Show(Comparison::Start)]);
        assert_eq!(asked(&mut app), Vec::<AppCommand>::new());
        press(&mut app, Key::Character("b".into()), false);
        assert_eq!(asked(&mut app), [CompareCommand::Show(Comparison::Off)]);
        press(&mut app, Key::Character("b".into()), true);
        asked(&mut app);
        app.world_mut().write_message(KeyboardFocusLost);
        assert_eq!(asked(&mut app), [CompareCommand::Show(Comparison::Off)]);
        press(&mut app, Key::Character("b".into()), false);
        assert_eq!(asked(&mut app), Vec::<AppCommand>::new());
    }

    #[test]
    fn text_input_and_dialogs_block_shortcuts() {
        let mut app = app();
        for keyboard in [KeyboardFocus::Modal, KeyboardFocus::TextField, KeyboardFocus::Widget, KeyboardFocus::Window] {
            app.insert_resource(keyboard);
            press(&mut app, Key::Character("r".into()), true);
            press(&mut app, Key::Space, true);
            // No brush is selected, and Escape closes only the window.
            press(&mut app, Key::Character("3".into()), true);
            press(&mut app, Key::Escape, true);
            assert_eq!(asked(&mut app), Vec::<AppCommand>::new());
            press(&mut app, Key::Control, true);
            press(&mut app, Key::Character("p".into()), true);
            press(&mut app, Key::Control, false);
            let palette = AppCommand::from(WindowCommand::Toggle("palette"));
            assert_eq!(asked(&mut app), if keyboard == KeyboardFocus::Modal { vec![] } else { vec![palette] });
            // In a text field, Ctrl+Z undoes typing, not the last step.
            press(&mut app, Key::Control, true);
            press(&mut app, Key::Character("z".into()), true);
            press(&mut app, Key::Control, false);
            let fields = matches!(keyboard, KeyboardFocus::Modal | KeyboardFocus::TextField);
            let undo = AppCommand::from(EditCommand::Undo);
            assert_eq!(asked(&mut app), if fields { vec![] } else { vec![undo] });
        }
    }

    #[test]
    fn presenter_window_accepts_only_presentation_keys() {
        let mut app = app();
        let list = Arc::new(Playlist::of(["wadi", "delta"]));
        let presentation = Presentation::of(list, false, app.world().resource::<Simulations>());
        app.insert_resource(presentation).insert_resource(State::new(Workspace::Present));
        let [main, other] = [true, false].map(|main| {
            let window = app.world_mut().spawn(Window::default()).id();
            if main {
                app.world_mut().entity_mut(window).insert(PrimaryWindow);
            }
            window
        });
        // A dialog in the main window takes its keys.
        app.insert_resource(KeyboardFocus::Modal);
        let (next, space) = (PresentCommand::Go(1).into(), SimulationCommand::TogglePlay.into());
        for (key, in_main, in_other) in [
            (Key::PageDown, None, Some(next)),
            (Key::Space, None, Some(space)),
            (Key::Escape, None, None),
            (named(egui::Key::H), None, None),
            (named(egui::Key::B), None, None),
        ] {
            for (window, wanted) in [(main, in_main), (other, in_other)] {
                press_in(&mut app, window, key.clone(), true);
                press_in(&mut app, window, key.clone(), false);
                let wanted: Vec<AppCommand> = wanted.into_iter().collect();
                assert_eq!(asked(&mut app), wanted, "{key:?}");
            }
        }
        // A focused button of that window takes Space.
        app.insert_resource(PresenterKeyboardFocus(KeyboardFocus::Widget));
        press_in(&mut app, other, Key::Space, true);
        press_in(&mut app, other, Key::PageDown, true);
        assert_eq!(asked(&mut app), [PresentCommand::Go(1)]);
    }

    #[test]
    fn digit_keys_select_brushes_or_go_to_bookmarks() {
        let mut app = app();
        let three = |app: &mut App| {
            press(app, Key::Character("3".into()), true);
            press(app, Key::Character("3".into()), false);
            asked(app)
        };
        let brush = crate::features::command_table()
            .by_shortcut(Modifiers::NONE, egui::Key::Num3)
            .expect("it selects a brush")
            .clone();
        assert_eq!(three(&mut app), [brush]);
        app.insert_resource(State::new(Workspace::Present));
        for (keyboard, goes) in
            [(KeyboardFocus::Commands, true), (KeyboardFocus::Viewport, true), (KeyboardFocus::TextField, false)]
        {
            app.insert_resource(keyboard);
            let wanted: Vec<AppCommand> = if goes { vec![CameraCommand::GoToBookmark(3).into()] } else { vec![] };
            assert_eq!(three(&mut app), wanted, "{keyboard:?}");
        }
        app.insert_resource(KeyboardFocus::Commands);
        press(&mut app, Key::Control, true);
        assert_eq!(three(&mut app), [AppCommand::from(SaveBookmark(3))]);
        press(&mut app, Key::Control, false);
    }

    #[test]
    fn presentation_keys_turn_pages_and_kiosk_allows_few() {
        let mut app = app();
        let show = |app: &mut App, kiosk| {
            let list = Arc::new(Playlist::of(["wadi"]));
            let presentation = Presentation::of(list, kiosk, app.world().resource::<Simulations>());
            app.insert_resource(presentation);
        };
        show(&mut app, false);
        for (keyboard, pages) in [
            (KeyboardFocus::Commands, 5),
            (KeyboardFocus::Viewport, 2),
            (KeyboardFocus::Widget, 2),
            (KeyboardFocus::TextField, 0),
        ] {
            app.insert_resource(keyboard);
            for (index, (key, steps)) in PLAYLIST_KEYS.into_iter().enumerate() {
                press(&mut app, named(key), true);
                press(&mut app, named(key), false);
                let turned = asked(&mut app).iter().any(|asked| *asked == PresentCommand::Go(steps));
                assert_eq!(turned, index < pages, "{key:?} {keyboard:?}");
            }
        }
        app.insert_resource(KeyboardFocus::Commands);
        show(&mut app, true);
        for (key, wanted) in [
            (egui::Key::Space, Some(AppCommand::from(SimulationCommand::TogglePlay))),
            (egui::Key::PageDown, Some(PresentCommand::Go(1).into())),
            (egui::Key::Escape, None),
            (egui::Key::F1, None),
            (egui::Key::B, None),
            (egui::Key::H, None),
        ] {
            press(&mut app, named(key), true);
            press(&mut app, named(key), false);
            assert_eq!(asked(&mut app), wanted.into_iter().collect::<Vec<_>>(), "{key:?}");
        }
        press(&mut app, Key::Control, true);
        for key in [egui::Key::P, egui::Key::O, egui::Key::S, egui::Key::Q, egui::Key::Z] {
            press(&mut app, named(key), true);
            press(&mut app, named(key), false);
            assert_eq!(asked(&mut app), Vec::<AppCommand>::new(), "Ctrl+{key:?}");
        }
    }
}
