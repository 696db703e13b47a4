//! Placement of objects with the next click on the terrain.

use bevy::prelude::*;
use bevy_egui::{
    EguiContexts,
    egui::{self, Align2, CursorIcon, Ui},
};

use super::{
    UiVisible, access, navigate,
    panel::{AddPanel, LayerVisibility},
    style,
};
use crate::world::{
    AppCommand, AppCommandEvent, BrushCommand, Brushes, FrameSystems, PointedPosition, ProjectReplaced,
};

/// Object placed by a click on the terrain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementKind {
    /// A probe.
    Probe,
    /// A particle, which is released and followed.
    Particle,
    /// A spring, a source of water.
    Spring,
    /// A drain, a sink of water.
    Drain,
    /// The line of the section, placed by a drag or two clicks.
    Section,
}

impl PlacementKind {
    /// Returns the key of its panel.
    fn panel(self) -> &'static str {
        match self {
            Self::Probe => "probes",
            Self::Particle => "follow",
            Self::Spring | Self::Drain => "springs",
            Self::Section => "section",
        }
    }
}

/// Starts the placement of an object by the next click on the terrain.
#[derive(Event, Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeginPlacement(pub PlacementKind);

impl AppCommandEvent for BeginPlacement {}

pub(crate) fn plugin(app: &mut App) {
    app.add_view_layer(LayerVisibility::Panels, click_ui)
        .init_resource::<Placement>()
        .add_observer(begin_placement)
        .add_observer(cancel_on_opening)
        .add_systems(Update, cancel_on_brush.run_if(resource_changed::<Brushes>).in_set(FrameSystems::Follow));
}

fn begin_placement(
    command: On<BeginPlacement>,
    mut placement: ResMut<Placement>,
    mut visible: ResMut<UiVisible>,
    mut contexts: EguiContexts,
    mut commands: Commands,
) {
    visible.0 = true;
    placement.begin(Some(command.0));
    if let Ok(context) = contexts.ctx_mut() {
        navigate::unfold(context, command.0.panel());
    }
    commands.trigger(BrushCommand::Activate(None));
}

/// Cancels the placement when a brush is selected.
fn cancel_on_brush(brushes: Res<Brushes>, mut placement: ResMut<Placement>) {
    if brushes.active.is_some() && placement.kind.is_some() {
        placement.begin(None);
    }
}

/// Cancels the placement when another project opens.
fn cancel_on_opening(replaced: On<ProjectReplaced>, mut placement: ResMut<Placement>) {
    if replaced.opened && placement.kind.is_some() {
        placement.begin(None);
    }
}

/// Pending placement by the next click or drag on the terrain.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Object to place, if a placement is pending.
    pub kind: Option<PlacementKind>,
    /// Number of calls of [`Self::begin`].
    pub begun: u64,
    /// Frame in which the last object was placed: its click has no other effect.
    ended: u64,
}

impl Placement {
    /// Starts a placement, or cancels it with `None`.
    pub(crate) fn begin(&mut self, placed: Option<PlacementKind>) {
        (self.kind, self.begun) = (placed, self.begun + 1);
    }

    /// Starts a placement, or cancels it if it is pending already. Returns the command that deselects the brush.
    pub(crate) fn toggle(&mut self, placed: PlacementKind) -> AppCommand {
        self.begin((self.kind != Some(placed)).then_some(placed));
        BrushCommand::Activate(None).into()
    }

    /// Ends the placement with a click of this frame.
    pub(crate) fn end(&mut self, context: &egui::Context) {
        (self.kind, self.ended) = (None, context.cumulative_frame_nr());
    }

    /// Returns `true` if a click of this frame belongs to a placement.
    pub(crate) fn takes_clicks(&self, context: &egui::Context) -> bool {
        self.kind.is_some() || self.ended == context.cumulative_frame_nr()
    }

    /// Returns the clicked position and ends the placement, if this object is being placed and the terrain was clicked.
    pub(crate) fn clicked(&mut self, view: &Ui, placed: PlacementKind, pointed: &PointedPosition) -> Option<[f32; 2]> {
        if self.kind != Some(placed) {
            return None;
        }
        let place = pointed.0.filter(|_| access::is_viewport_clicked(view, view.max_rect()))?;
        self.end(view.ctx());
        Some(place)
    }
}

/// Draws a button that starts or cancels a placement.
pub(crate) fn choice_ui(
    ui: &mut Ui,
    placement: &mut Placement,
    placed: PlacementKind,
    (text, help): (&str, &str),
) -> Option<AppCommand> {
    let on = placement.kind == Some(placed);
    access::choice(ui, on, text).on_hover_text(help).clicked().then(|| placement.toggle(placed))
}

/// Draws an instruction over the view, and sets the crosshair cursor.
pub(crate) fn hint_ui(root: &Ui, view: egui::Rect, text: &str) {
    let place = view.center_top() + egui::vec2(0.0, 40.0);
    let painter = root.painter().with_clip_rect(view);
    style::shaded_text(&painter, place, Align2::CENTER_CENTER, text, 13.0, style::SHADE);
    let over = root.interact(view, root.id().with("placing"), egui::Sense::hover());
    over.on_hover_cursor(CursorIcon::Crosshair);
}

/// Draws the hint of a pending placement, and cancels it on Escape. The section draws its own hint.
pub(crate) fn click_ui(InMut(root): InMut<Ui>, mut placement: ResMut<Placement>) -> Vec<AppCommand> {
    if placement.kind.is_some_and(|placed| placed != PlacementKind::Section) {
        hint_ui(root, root.max_rect(), "Click on the terrain. Esc cancels.");
        if root.input(|input| input.key_pressed(egui::Key::Escape)) {
            placement.begin(None);
        }
    }
    Vec::new()
}
