//! Panes: windows over the view that open and close.

use bevy::{ecs::system::SystemId, prelude::*};
use bevy_egui::egui::{self, Key};

use super::{access, file_request::FileDialog, style};
use crate::world::{Command, Document};

/// What a pane does with the keyboard, and how it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaneKind {
    /// It finds something by typed words: its field has the keyboard.
    Search,
    /// It is answered: all keys belong to it.
    Dialog,
    /// Escape closes it; what is pressed with Ctrl is for the table of commands.
    Reading,
    /// It stays open beside the work.
    Beside,
}

/// A window over the view. A system draws it; see [`AddPane`].
#[derive(Clone, Copy, Debug)]
pub struct Pane {
    /// Its unique name.
    pub key: &'static str,
    /// What it does with the keyboard.
    pub kind: PaneKind,
}

/// A pane while it is drawn.
#[derive(Debug)]
pub struct PaneUi {
    /// Where it is drawn.
    pub context: egui::Context,
    /// Whether it stays open.
    pub is_open: bool,
    /// Whether it is drawn for the first time since it was opened.
    pub begins: bool,
}

/// A system that draws a pane, and returns what is asked for.
type PaneSystem = SystemId<InMut<'static, PaneUi>, Vec<Command>>;

/// All panes, and which are open.
#[derive(Resource, Default)]
pub struct Panes {
    all: Vec<(Pane, PaneSystem)>,
    /// Keys of those that are open, and whether they have been drawn. The one that was opened last is the last.
    open: Vec<(&'static str, bool)>,
}

impl Panes {
    /// Whether a pane is open.
    pub fn has(&self, key: &str) -> bool {
        self.open.iter().any(|(open, _)| *open == key)
    }

    /// Whether a pane of this kind is open.
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

    /// Opens a pane, or closes it.
    pub fn toggle(&mut self, key: &'static str) {
        if self.has(key) {
            self.close(key);
        } else {
            self.open(key);
        }
    }
}

/// Adds panes to the window.
pub trait AddPane {
    /// Adds a pane, and the system that draws it.
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

/// Draws the panes that are open. Returns what is asked for.
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
            Err(error) => error!("a window over the view could not be drawn: {error}"),
        }
        // Escape closes the one that was opened last, and in a dialog what is smaller first; but a field that finds something has the
        // keyboard always.
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

/// A dialog in the middle, which leaves some of the window free.
pub(crate) fn centred(context: &egui::Context, title: &str) -> egui::Window<'static> {
    style::dialog(title).max_height(context.content_rect().height() * 0.85)
}
