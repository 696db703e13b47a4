//! Panels of the column at the right of the view, and layers over the view: the systems that draw them.

use bevy::{ecs::system::SystemId, prelude::*};
use bevy_egui::egui::Ui;

use crate::world::{Command, Workspace};

/// A panel of the column: its heading, and where it is seen. A system draws what is under it; see [`AddPanel`].
#[derive(Clone, Copy, Debug)]
pub struct Panel {
    /// Its unique name.
    pub key: &'static str,
    /// The heading under which it folds; without one it draws its own, if any.
    pub title: &'static str,
    /// Where it is seen.
    pub workspaces: &'static [Workspace],
    /// Where it is unfolded at first.
    pub unfolded: &'static [Workspace],
    /// Whether it is seen during a lesson, which has the sliders that it leaves to the student.
    pub in_lessons: bool,
}

/// The workspaces that have panels.
pub const EVERYWHERE: &[Workspace] = &[Workspace::Sculpt, Workspace::Learn];

/// A system that draws into a [`Ui`], and returns what is asked for.
pub type UiSystem = SystemId<InMut<'static, Ui>, Vec<Command>>;

/// All panels, from the top.
#[derive(Resource, Default)]
pub struct Sidebar {
    panels: Vec<(Panel, UiSystem)>,
    /// Keys of those whose content was drawn last.
    pub(crate) drawn: Vec<&'static str>,
}

impl Sidebar {
    /// The panels, from the top.
    pub fn panels(&self) -> impl Iterator<Item = &Panel> {
        self.panels.iter().map(|(panel, _)| panel)
    }

    /// The panels with the systems that draw them.
    pub(crate) fn systems(&self) -> Vec<(Panel, UiSystem)> {
        self.panels.clone()
    }

    /// Whether the content of a panel is seen.
    pub fn shows(&self, key: &str) -> bool {
        self.drawn.contains(&key)
    }
}

/// When a layer over the view is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerVisibility {
    /// In every frame.
    Always,
    /// While the interface is not hidden.
    Interface,
    /// While there are panels around the view.
    Panels,
}

/// What is drawn over the view, from the bottom.
#[derive(Resource, Default)]
pub struct ViewLayers(pub(crate) Vec<(LayerVisibility, UiSystem)>);

/// Adds panels and layers to the window.
pub trait AddPanel {
    /// Adds a panel below those that are there, and the system that draws it.
    fn add_panel<M>(
        &mut self,
        panel: Panel,
        draw: impl IntoSystem<InMut<'static, Ui>, Vec<Command>, M> + 'static,
    ) -> &mut Self;

    /// Adds a layer over the view, above those that are there. The [`Ui`] that its system draws into is as large as the view.
    fn add_view_layer<M>(
        &mut self,
        visibility: LayerVisibility,
        draw: impl IntoSystem<InMut<'static, Ui>, Vec<Command>, M> + 'static,
    ) -> &mut Self;
}

impl AddPanel for App {
    fn add_panel<M>(
        &mut self,
        panel: Panel,
        draw: impl IntoSystem<InMut<'static, Ui>, Vec<Command>, M> + 'static,
    ) -> &mut Self {
        let system = self.register_system(draw);
        self.world_mut().get_resource_or_init::<Sidebar>().panels.push((panel, system));
        self
    }

    fn add_view_layer<M>(
        &mut self,
        visibility: LayerVisibility,
        draw: impl IntoSystem<InMut<'static, Ui>, Vec<Command>, M> + 'static,
    ) -> &mut Self {
        let system = self.register_system(draw);
        self.world_mut().get_resource_or_init::<ViewLayers>().0.push((visibility, system));
        self
    }
}

/// Lets the system of a panel or a layer draw. Returns what is asked for.
pub(crate) fn draw_with(world: &mut World, system: UiSystem, ui: &mut Ui) -> Vec<Command> {
    or_log(world.run_system_with(system, ui))
}

/// Lets a system of the shell draw. Returns what is asked for.
pub(crate) fn draw_part<I, T, M, S>(world: &mut World, system: S, input: I::Inner<'_>) -> T
where
    I: SystemInput + 'static,
    T: Default + 'static,
    S: IntoSystem<I, T, M> + 'static,
{
    or_log(world.run_system_cached_with(system, input))
}

/// What a system returned, or nothing and a line in the log if it failed.
fn or_log<T: Default>(drawn: Result<T, impl core::fmt::Display>) -> T {
    drawn.unwrap_or_else(|error| {
        error!("failed to draw a panel or a layer: {error}");
        T::default()
    })
}
