//! Panes: floating windows over the view.

use bevy::{ecs::system::SystemId, prelude::*};
use bevy_egui::egui::{self, Key};

use super::{access, file_request::FileDialog, style};
use crate::world::{Command, Document};

/// Keyboard behaviour of a pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaneKind {
    /// Search field that always has the keyboard.
    Search,
    /// Modal dialog that takes all keys.
    Dialog,
    /// Modeless window: Escape closes it, shortcuts with Ctrl go to the command table.
    Reading,
    /// Persistent window that does not affect the keyboard; Escape doesn't close it.
    Beside,
}

/// A floating window over the view, drawn by a system; see [`AddPane`].
#[derive(Clone, Copy, Debug)]
pub struct Pane {
    /// Unique name.
    pub key: &'static str,
    /// Keyboard behaviour.
    pub kind: PaneKind,
}

/// Drawing context of a pane.
#[derive(Debug)]
pub struct PaneUi {
    /// Context of the window.
    pub context: egui::Context,
    /// `true` to keep the pane open.
    pub is_open: bool,
    /// `true` in the first frame after it was opened.
    pub begins: bool,
}

/// A system that draws a pane and returns commands.
type PaneSystem = SystemId<InMut<'static, PaneUi>, Vec<Command>>;

/// All registered panes, and the open ones.
#[derive(Resource, Default)]
pub struct Panes {
    all: Vec<(Pane, PaneSystem)>,
    /// Keys of the open panes in the order in which they were opened, with `true` if they have been drawn.
    open: Vec<(&'static str, bool)>,
}

impl Panes {
    /// Returns `true` if a pane is open.
    pub fn has(&self, key: &str) -> bool {
        self.open.iter().any(|(open, _)| *open == key)
    }

    /// Returns `true` if a pane of this kind is open.
    pub(crate) fn has_kind(&self, kind: PaneKind) -> bool {
        self.all.iter().any(|(pane, _)| pane.kind == kind && self.has(pane.key))
    }

    /// Opens a pane.
    pub fn open(&mut self, key: &'static str) {
        if !self.has(key) {
            self.open.push((key, false));
        }
    }

    /// Closes a pane.
    pub fn close(&mut self, key: &str) {
        self.open.retain(|(open, _)| *open != key);
    }

    /// Opens a pane, or closes it if it is open.
    pub fn toggle(&mut self, key: &'static str) {
        if self.has(key) {
            self.close(key);
        } else {
            self.open(key);
        }
    }
}

/// Extension trait that registers panes.
pub trait AddPane {
    /// Adds a pane with the system that draws it.
    fn add_pane<M>(
        &mut self,
        pane: Pane,
        draw: impl IntoSystem<InMut<'static, PaneUi>, Vec<Command>, M> + 'static,
    ) -> &mut Self;
}

impl AddPane for App {
    fn add_pane<M>(
        &mut self,
        pane: Pane,
        draw: impl IntoSystem<InMut<'static, PaneUi>, Vec<Command>, M> + 'static,
    ) -> &mut Self {
        let system = self.register_system(draw);
        self.world_mut().get_resource_or_init::<Panes>().all.push((pane, system));
        self
    }
}

/// Draws the open panes. Returns their commands.
pub fn panes_ui(context: &egui::Context, world: &mut World) -> Vec<Command> {
    let mut asked = Vec::new();
    let panes = world.resource::<Panes>();
    let open: Vec<(Pane, PaneSystem, bool)> = panes
        .open
        .iter()
        .filter_map(|(key, drawn)| {
            let (pane, system) = panes.all.iter().find(|(pane, _)| pane.key == *key)?;
            Some((*pane, *system, *drawn))
        })
        .collect();
    let last = open.iter().rev().find(|(pane, ..)| pane.kind != PaneKind::Beside).map(|(pane, ..)| pane.key);
    for (pane, system, drawn) in open {
        let mut shown = PaneUi { context: context.clone(), is_open: true, begins: !drawn };
        match world.run_system_with(system, &mut shown) {
            Ok(commands) => asked.extend(commands),
            Err(error) => error!("failed to draw a pane: {error}"),
        }
        // Escape closes the last opened pane, after any list or text field in it. A search field always has the keyboard.
        let escapes = match pane.kind {
            PaneKind::Search => context.input(|input| input.key_pressed(Key::Escape)),
            _ => access::escapes(context),
        };
        let escapes = escapes
            && last == Some(pane.key)
            && !world.resource::<Document>().asks
            && !world.resource::<FileDialog>().is_open();
        let mut panes = world.resource_mut::<Panes>();
        if shown.is_open && !escapes {
            let open = panes.bypass_change_detection().open.iter_mut().find(|(open, _)| *open == pane.key);
            open.into_iter().for_each(|(_, drawn)| *drawn = true);
        } else {
            panes.close(pane.key);
        }
    }
    asked
}

/// Creates a centred dialog that leaves some of the window free.
pub(crate) fn centred(context: &egui::Context, title: &str) -> egui::Window<'static> {
    style::dialog(title).max_height(context.content_rect().height() * 0.85)
}
