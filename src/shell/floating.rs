//! Floating windows over the view.

use bevy::{ecs::system::SystemId, prelude::*};
use bevy_egui::egui::{self, Key};

use super::{access, file_request::SystemFileDialog, style};
use crate::world::{AppCommand, Document};

/// Keyboard behaviour of a floating window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatingWindowKind {
    /// Search field that always has the keyboard.
    Search,
    /// Modal dialog that takes all keys.
    Modal,
    /// Modeless window: Escape closes it, shortcuts with Ctrl go to the command table.
    Modeless,
    /// Persistent window that does not affect the keyboard; Escape doesn't close it.
    Persistent,
}

/// A floating window over the view, drawn by a system; see [`AddFloatingWindow`].
#[derive(Clone, Copy, Debug)]
pub struct FloatingWindow {
    /// Unique name. A window named like a group of parameters shows them.
    pub key: &'static str,
    /// Keyboard behaviour.
    pub kind: FloatingWindowKind,
}

/// Drawing context of a floating window.
#[derive(Debug)]
pub struct FloatingWindowUi {
    /// Context of the window.
    pub context: egui::Context,
    /// `true` to keep the floating window open.
    pub is_open: bool,
    /// `true` in the first frame after it was opened.
    pub just_opened: bool,
}

/// A system that draws a floating window and returns commands.
type FloatingWindowSystem = SystemId<InMut<'static, FloatingWindowUi>, Vec<AppCommand>>;

/// All registered floating windows, and the open ones.
#[derive(Resource, Default)]
pub struct FloatingWindows {
    all: Vec<(FloatingWindow, FloatingWindowSystem)>,
    /// Keys of the open floating windows in the order in which they were opened, with `true` if they have been drawn.
    open: Vec<(&'static str, bool)>,
}

impl FloatingWindows {
    /// Returns `true` if a floating window is open.
    pub fn is_open(&self, key: &str) -> bool {
        self.open.iter().any(|(open, _)| *open == key)
    }

    /// Returns `true` if a floating window of this kind is open.
    pub(crate) fn has_kind(&self, kind: FloatingWindowKind) -> bool {
        self.all.iter().any(|(window, _)| window.kind == kind && self.is_open(window.key))
    }

    /// Opens a floating window.
    pub fn open(&mut self, key: &'static str) {
        if !self.is_open(key) {
            self.open.push((key, false));
        }
    }

    /// Opens the floating window of this name, if there is one. Returns `true` if there is.
    pub(crate) fn open_if_known(&mut self, name: &str) -> bool {
        let known = self.all.iter().map(|(window, _)| window.key).find(|key| *key == name);
        known.is_some_and(|key| {
            self.open(key);
            true
        })
    }

    /// Closes a floating window.
    pub fn close(&mut self, key: &str) {
        self.open.retain(|(open, _)| *open != key);
    }

    /// Opens a floating window, or closes it if it is open.
    pub fn toggle(&mut self, key: &'static str) {
        if self.is_open(key) {
            self.close(key);
        } else {
            self.open(key);
        }
    }
}

/// Extension trait that registers floating windows.
pub trait AddFloatingWindow {
    /// Adds a floating window with the system that draws it.
    fn add_floating_window<M>(
        &mut self,
        window: FloatingWindow,
        draw: impl IntoSystem<InMut<'static, FloatingWindowUi>, Vec<AppCommand>, M> + 'static,
    ) -> &mut Self;
}

impl AddFloatingWindow for App {
    fn add_floating_window<M>(
        &mut self,
        window: FloatingWindow,
        draw: impl IntoSystem<InMut<'static, FloatingWindowUi>, Vec<AppCommand>, M> + 'static,
    ) -> &mut Self {
        let system = self.register_system(draw);
        self.world_mut().get_resource_or_init::<FloatingWindows>().all.push((window, system));
        self
    }
}

/// Draws the open floating windows. Returns their commands.
pub fn floating_windows_ui(context: &egui::Context, world: &mut World) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    let windows = world.resource::<FloatingWindows>();
    let open: Vec<(FloatingWindow, FloatingWindowSystem, bool)> = windows
        .open
        .iter()
        .filter_map(|(key, drawn)| {
            let (window, system) = windows.all.iter().find(|(window, _)| window.key == *key)?;
            Some((*window, *system, *drawn))
        })
        .collect();
    let last = open
        .iter()
        .rev()
        .find(|(window, ..)| window.kind != FloatingWindowKind::Persistent)
        .map(|(window, ..)| window.key);
    for (window, system, drawn) in open {
        let mut shown = FloatingWindowUi { context: context.clone(), is_open: true, just_opened: !drawn };
        match world.run_system_with(system, &mut shown) {
            Ok(commands) => asked.extend(commands),
            Err(error) => error!("failed to draw a floating window: {error}"),
        }
        // Escape closes the last opened floating window, after any list or text field in it. A search field always has the keyboard.
        let escapes = match window.kind {
            FloatingWindowKind::Search => context.input(|input| input.key_pressed(Key::Escape)),
            _ => access::escapes(context),
        };
        let escapes = escapes
            && last == Some(window.key)
            && !world.resource::<Document>().asks_to_save
            && !world.resource::<SystemFileDialog>().is_open();
        let mut windows = world.resource_mut::<FloatingWindows>();
        if shown.is_open && !escapes {
            let open = windows.open.iter_mut().find(|(open, _)| *open == window.key);
            open.into_iter().for_each(|(_, drawn)| *drawn = true);
        } else {
            windows.close(window.key);
        }
    }
    asked
}

/// Creates a centred dialog that leaves some of the window free.
pub(crate) fn centred_dialog(context: &egui::Context, title: &str) -> egui::Window<'static> {
    style::dialog(title).max_height(context.content_rect().height() * 0.85)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(InMut(_): InMut<FloatingWindowUi>) -> Vec<AppCommand> {
        Vec::new()
    }

    #[test]
    fn window_named_like_a_group_of_parameters_opens() {
        let mut app = App::new();
        app.add_floating_window(FloatingWindow { key: "settings", kind: FloatingWindowKind::Modeless }, draw);
        let mut windows = app.world_mut().resource_mut::<FloatingWindows>();
        assert!(!windows.open_if_known("droplets") && windows.open_if_known("settings"));
        assert!(windows.is_open("settings") && !windows.is_open("droplets"));
    }
}
