//! Comparison of simulations, and of a simulation with its start, in one viewport.

use std::path::Path;

use bevy::prelude::*;

use super::{AppCommandEvent, NoticeLevel, Notices, Simulations};
use thalweg_scene::{io::Budget, model::session::Session};

/// Mode of comparison. A change takes effect in the next frame.
#[derive(States, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// None: the current state.
    #[default]
    Off,
    /// Start only.
    Start,
    /// Start to the left of the [`Divider`], current state to the right.
    Split,
    /// Two simulations in the same place, left and right of the [`Divider`], see [`Comparison::pair`].
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

/// Position of the divider, as a fraction of the viewport's width. At 0 and at 1, only one side is visible.
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub struct Divider(pub f32);

impl Default for Divider {
    fn default() -> Self {
        Self(0.5)
    }
}

/// Command of the comparison.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum CompareCommand {
    /// Starts or ends a comparison, with the divider in the middle.
    Show(Comparison),
    /// Moves the divider to a fraction of the viewport's width.
    MoveDivider(f32),
    /// Toggles between two simulations.
    Flicker,
}

impl AppCommandEvent for CompareCommand {}

pub(super) fn plugin(app: &mut App) {
    app.init_state::<Comparison>().init_resource::<Divider>().add_observer(handle_command);
}

fn handle_command(
    command: On<CompareCommand>,
    simulations: Res<Simulations>,
    comparison: Res<State<Comparison>>,
    mut next: ResMut<NextState<Comparison>>,
    mut divider: ResMut<Divider>,
    mut notices: ResMut<Notices>,
) {
    match command.event() {
        CompareCommand::Show(Comparison::Simulations) | CompareCommand::Flicker if simulations.all().len() < 2 => {
            let text =
                "There is only one simulation. To compare it with others, use Simulation ▸ Simulations side by side.";
            notices.notify(NoticeLevel::Info, text);
        }
        CompareCommand::Show(wanted) => {
            if *wanted == Comparison::Split && *comparison != Comparison::Split {
                let bytes = simulations.all().iter().map(Session::bytes_to_compare).sum();
                let asked = Budget::present().request(Path::new(&simulations.selected().title), bytes);
                if let Err(error) = asked {
                    notices.notify(NoticeLevel::Error, format!("{error}."));
                    return;
                }
            }
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
