//! What the next click on the land places.

use bevy::prelude::*;
use bevy_egui::{
    EguiContexts,
    egui::{self, Align2, CursorIcon, Ui},
};

use super::{
    UiVisible, access,
    panel::{AddPanel, LayerVisibility},
    seek, style,
};
use crate::world::{BrushCommand, Brushes, Command, CommandEvent, FrameSystems, Pointed};

/// What a click on the land places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// A probe is pinned.
    Probe,
    /// A particle is released.
    Particle,
    /// A spring, which brings water.
    Spring,
    /// A drain, which takes water away.
    Drain,
    /// The line of the section, with a drag or two clicks.
    Section,
}

impl Placed {
    /// The key of the panel that is about it.
    fn panel(self) -> &'static str {
        match self {
            Self::Probe => "probes",
            Self::Particle => "follow",
            Self::Spring | Self::Drain => "springs",
            Self::Section => "section",
        }
    }
}

/// The next click on the land places this.
#[derive(Event, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(pub Placed);

impl CommandEvent for Place {}

pub(crate) fn plugin(app: &mut App) {
    app.add_view_layer(LayerVisibility::Panels, click_ui)
        .init_resource::<Placing>()
        .add_observer(place)
        .add_systems(Update, empty_the_hand.run_if(resource_changed::<Brushes>).in_set(FrameSystems::Follow));
}

fn place(
    command: On<Place>,
    mut placing: ResMut<Placing>,
    mut visible: ResMut<UiVisible>,
    mut contexts: EguiContexts,
    mut commands: Commands,
) {
    visible.0 = true;
    placing.begin(Some(command.0));
    if let Ok(context) = contexts.ctx_mut() {
        seek::unfold(context, command.0.panel());
    }
    commands.trigger(BrushCommand::Hold(None));
}

/// With a brush in the hand, a click places nothing.
fn empty_the_hand(brushes: Res<Brushes>, mut placing: ResMut<Placing>) {
    if brushes.held.is_some() && placing.placed.is_some() {
        placing.begin(None);
    }
}

/// What the next click on the land places, or the next drag over it draws.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placing {
    /// What it is, if the click is waited for.
    pub placed: Option<Placed>,
    /// Number of times that [`Self::begin`] was called.
    pub begun: u64,
    /// The frame of the window in which the last one was placed: its click does nothing else.
    ended: u64,
}

impl Placing {
    /// The next click places this, or nothing.
    pub(crate) fn begin(&mut self, placed: Option<Placed>) {
        (self.placed, self.begun) = (placed, self.begun + 1);
    }

    /// The next click places this, or nothing if it was to do so already. Returns the command that empties the hand.
    pub(crate) fn toggle(&mut self, placed: Placed) -> Command {
        self.begin((self.placed != Some(placed)).then_some(placed));
        BrushCommand::Hold(None).into()
    }

    /// It was placed by a click of this frame.
    pub(crate) fn end(&mut self, context: &egui::Context) {
        (self.placed, self.ended) = (None, context.cumulative_frame_nr());
    }

    /// Whether a click of this frame places something.
    pub(crate) fn takes_clicks(&self, context: &egui::Context) -> bool {
        self.placed.is_some() || self.ended == context.cumulative_frame_nr()
    }

    /// Returns the place that was clicked, if the click was to place this. Then the next one places nothing.
    pub(crate) fn clicked(&mut self, view: &Ui, placed: Placed, pointed: &Pointed) -> Option<[f32; 2]> {
        if self.placed != Some(placed) {
            return None;
        }
        let place = pointed.0.filter(|_| access::clicks_land(view, view.max_rect()))?;
        self.end(view.ctx());
        Some(place)
    }
}

/// A button that takes it in the hand, or puts it away.
pub(crate) fn choice_ui(
    ui: &mut Ui,
    placing: &mut Placing,
    placed: Placed,
    (text, help): (&str, &str),
) -> Option<Command> {
    let on = placing.placed == Some(placed);
    access::choice(ui, on, text).on_hover_text(help).clicked().then(|| placing.toggle(placed))
}

/// What is to be done over the view, and how it is cancelled.
pub(crate) fn hint_ui(root: &Ui, view: egui::Rect, text: &str) {
    let place = view.center_top() + egui::vec2(0.0, 40.0);
    let painter = root.painter().with_clip_rect(view);
    style::shaded_text(&painter, place, Align2::CENTER_CENTER, text, 13.0, style::SHADE);
    let over = root.interact(view, root.id().with("placing"), egui::Sense::hover());
    over.on_hover_cursor(CursorIcon::Crosshair);
}

/// Says that a click is waited for. Escape ends that. A drag has its own hint.
pub(crate) fn click_ui(InMut(root): InMut<Ui>, mut placing: ResMut<Placing>) -> Vec<Command> {
    if placing.placed.is_some_and(|placed| placed != Placed::Section) {
        hint_ui(root, root.max_rect(), "Click on the land. Esc cancels.");
        if root.input(|input| input.key_pressed(egui::Key::Escape)) {
            placing.begin(None);
        }
    }
    Vec::new()
}
