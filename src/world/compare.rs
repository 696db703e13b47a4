//! Comparison of simulations, and of a simulation with its start, in one view.

use bevy::prelude::*;

use super::{CommandEvent, Level, Notices, Simulations};

/// What the view compares. A change takes effect in the next frame.
#[derive(States, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Nothing: the terrain as it is now.
    #[default]
    Off,
    /// The start alone.
    Start,
    /// The start to the left of the [`Divider`], the terrain as it is now to the right.
    Split,
    /// Two simulations in the same place, left and right of the [`Divider`]: see [`Comparison::pair`].
    Simulations,
}

impl Comparison {
    /// Returns the indices of the two simulations in the same place: the first and the selected one, or the first two.
    pub fn pair(self, simulations: &Simulations) -> Option<[usize; 2]> {
        let wanted = self == Self::Simulations && simulations.all().len() > 1;
        wanted.then(|| [0, simulations.selected_index().max(1)])
    }

    /// `true` if the start is visible.
    pub fn shows_start(self) -> bool {
        matches!(self, Self::Start | Self::Split)
    }
}

/// Position of the divider, as a fraction of the view's width. At 0 and at 1, one side is seen alone.
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub struct Divider(pub f32);

impl Default for Divider {
    fn default() -> Self {
        Self(0.5)
    }
}

/// A command of the comparison.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum CompareCommand {
    /// Starts or ends a comparison, with the divider in the middle.
    Show(Comparison),
    /// Moves the divider to a fraction of the view's width.
    MoveDivider(f32),
    /// Shows the other one of two simulations.
    Flicker,
}

impl CommandEvent for CompareCommand {}

pub(super) fn plugin(app: &mut App) {
    app.init_state::<Comparison>().init_resource::<Divider>().add_observer(obey);
}

fn obey(
    command: On<CompareCommand>,
    simulations: Res<Simulations>,
    comparison: Res<State<Comparison>>,
    mut next: ResMut<NextState<Comparison>>,
    mut divider: ResMut<Divider>,
    mut notices: ResMut<Notices>,
) {
    match command.event() {
        CompareCommand::Show(Comparison::Simulations) | CompareCommand::Flicker if simulations.all().len() < 2 => {
            let text = "There is one simulation. To compare it with others, choose Runs side by side in the menu Run.";
            notices.tell(Level::Info, text);
        }
        CompareCommand::Show(wanted) => {
            *divider = Divider::default();
            NextState::set_if_neq(&mut next, *wanted);
        }
        CompareCommand::MoveDivider(to) => divider.0 = *to,
        CompareCommand::Flicker => {
            let right = *comparison == Comparison::Simulations && divider.0 < 0.5;
            divider.0 = if right { 1.0 } else { 0.0 };
            NextState::set_if_neq(&mut next, Comparison::Simulations);
        }
    }
}
