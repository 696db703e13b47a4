//! Registries of the sidebar panels and of the layers over the view, with the systems that draw them.

use bevy::{ecs::system::SystemId, prelude::*};
use bevy_egui::egui::Ui;

use crate::world::{AppCommand, Workspace};

/// A panel of the sidebar: its heading and visibility. A system draws its content; see [`AddPanel`].
#[derive(Clone, Copy, Debug)]
pub struct SidebarPanel {
    /// Unique name.
    pub key: &'static str,
    /// Heading of the collapsible section; if empty, the panel is not collapsible and draws its own heading, if any.
    pub title: &'static str,
    /// Workspaces that show it.
    pub workspaces: &'static [Workspace],
    /// Workspaces in which it is initially expanded.
    pub unfolded: &'static [Workspace],
    /// `true` if it is visible during a lesson, which brings its own sliders for the student.
    pub in_lessons: bool,
}

/// Key of the panel of rivers. While it is visible, presses on the terrain select a river, and statistics are measured.
pub const RIVERS: &str = "rivers";

/// Workspaces with a sidebar.
pub const EVERYWHERE: &[Workspace] = &[Workspace::Sculpt, Workspace::Learn];

/// A system that draws into a [`Ui`] and returns commands.
pub type UiSystem = SystemId<InMut<'static, Ui>, Vec<AppCommand>>;

/// All panels beside the view, from top to bottom.
#[derive(Resource, Default)]
pub struct Sidebar {
    panels: Vec<(SidebarPanel, UiSystem)>,
    /// Panels of the column left of the view.
    left: Vec<(SidebarPanel, UiSystem)>,
    /// Keys of the panels whose content was drawn in the last frame.
    pub(crate) drawn: Vec<&'static str>,
}

impl Sidebar {
    /// Returns the panels, from top to bottom.
    pub fn panels(&self) -> impl Iterator<Item = &SidebarPanel> {
        self.left.iter().chain(&self.panels).map(|(panel, _)| panel)
    }

    /// Returns the panels of the column left of the view and those of the sidebar, with the systems that draw them.
    pub(crate) fn systems(&self) -> [Vec<(SidebarPanel, UiSystem)>; 2] {
        [self.left.clone(), self.panels.clone()]
    }

    /// Returns `true` if the content of a panel is visible.
    pub fn is_visible(&self, key: &str) -> bool {
        self.drawn.contains(&key)
    }
}

/// Condition under which a layer over the view is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerVisibility {
    /// Every frame.
    Always,
    /// While the interface is not hidden.
    Interface,
    /// While there are panels around the view.
    Panels,
}

/// Layers drawn over the view, from bottom to top.
#[derive(Resource, Default)]
pub struct ViewLayers(pub(crate) Vec<(LayerVisibility, UiSystem)>);

/// Extension trait that registers panels and layers.
pub trait AddPanel {
    /// Adds a panel below the existing ones, with the system that draws it.
    fn add_panel<M>(
        &mut self,
        panel: SidebarPanel,
        draw: impl IntoSystem<InMut<'static, Ui>, Vec<AppCommand>, M> + 'static,
    ) -> &mut Self;

    /// Adds a panel to the column left of the view, so that it is visible together with the sidebar. In a narrow window, it is the first
    /// of the sidebar.
    fn add_left_panel<M>(
        &mut self,
        panel: SidebarPanel,
        draw: impl IntoSystem<InMut<'static, Ui>, Vec<AppCommand>, M> + 'static,
    ) -> &mut Self;

    /// Adds a layer over the view, above the existing ones. Its system draws into a [`Ui`] of the size of the view.
    fn add_view_layer<M>(
        &mut self,
        visibility: LayerVisibility,
        draw: impl IntoSystem<InMut<'static, Ui>, Vec<AppCommand>, M> + 'static,
    ) -> &mut Self;
}

impl AddPanel for App {
    fn add_panel<M>(
        &mut self,
        panel: SidebarPanel,
        draw: impl IntoSystem<InMut<'static, Ui>, Vec<AppCommand>, M> + 'static,
    ) -> &mut Self {
        let system = self.register_system(draw);
        self.world_mut().get_resource_or_init::<Sidebar>().panels.push((panel, system));
        self
    }

    fn add_left_panel<M>(
        &mut self,
        panel: SidebarPanel,
        draw: impl IntoSystem<InMut<'static, Ui>, Vec<AppCommand>, M> + 'static,
    ) -> &mut Self {
        let system = self.register_system(draw);
        self.world_mut().get_resource_or_init::<Sidebar>().left.push((panel, system));
        self
    }

    fn add_view_layer<M>(
        &mut self,
        visibility: LayerVisibility,
        draw: impl IntoSystem<InMut<'static, Ui>, Vec<AppCommand>, M> + 'static,
    ) -> &mut Self {
        let system = self.register_system(draw);
        self.world_mut().get_resource_or_init::<ViewLayers>().0.push((visibility, system));
        self
    }
}

/// Runs the system of a panel or layer. Returns its commands.
pub(crate) fn draw_with(world: &mut World, system: UiSystem, ui: &mut Ui) -> Vec<AppCommand> {
    or_log(world.run_system_with(system, ui))
}

/// Runs a drawing system of the shell. Returns its output.
pub(crate) fn draw_part<I, T, M, S>(world: &mut World, system: S, input: I::Inner<'_>) -> T
where
    I: SystemInput + 'static,
    T: Default + 'static,
    S: IntoSystem<I, T, M> + 'static,
{
    or_log(world.run_system_cached_with(system, input))
}

/// Returns the output of a system. If the system failed, logs the error and returns the default.
fn or_log<T: Default>(drawn: Result<T, impl core::fmt::Display>) -> T {
    drawn.unwrap_or_else(|error| {
        error!("failed to draw a panel or a layer: {error}");
        T::default()
    })
}
