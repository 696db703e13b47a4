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
use crate::world::{BrushCommand, Command, CommandEvent, Pointed};

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
    /// The line of the with a drag or two clicks.
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
        .add_observer(empty_the_hand);
}

fn place(
    command: On<Place>,
    mut placing: ResMut<Placing>,
    mut visible: ResMut<UiVisible>,
    mut contexts: EguiContexts,
    mut commands: Commands,
) {
    visible.0 = true;
    placing.0 = Some(command.0);
    if let Ok(context) = contexts.ctx_mut() {
        seek::unfold(context, command.0.panel());
    }
    commands.trigger(BrushCommand::Hold(None));
}

/// With a brush in the hand, a click places nothing.
fn empty_the_hand(command: On<BrushCommand>, mut placing: ResMut<Placing>) {
    if matches!(command.event(), BrushCommand::Hold(Some(_))) {
        placing.set_if_neq(Placing(None));
    }
}

/// What the next click on the land places, or the next drag over it draws.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placing(pub Option<Placed>);

impl Placing {
    /// Returns the place that was clicked, if the click was to place this. Then the next one places nothing.
    pub(crate) fn clicked(&mut self, view: &Ui, placed: Placed, pointed: &Pointed) -> Option<[f32; 2]> {
        if self.0 != Some(placed) {
            return None;
        }
        let place = pointed.0.filter(|_| access::clicks_land(view, view.max_rect()))?;
        self.0 = None;
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
    let on = placing.0 == Some(placed);
    access::choice(ui, on, text).on_hover_text(help).clicked().then(|| {
        placing.0 = (!on).then_some(placed);
        BrushCommand::Hold(None).into()
    })
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
    if placing.0.is_some_and(|placed| placed != Placed::Section) {
        hint_ui(root, root.max_rect(), "Click on the land. Esc cancels.");
        if root.input(|input| input.key_pressed(egui::Key::Escape)) {
            placing.0 = None;
        }
    }
    Vec::new()
}
