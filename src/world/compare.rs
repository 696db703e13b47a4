//! Comparing runs, and a run with its start, on the same place.

use bevy::prelude::*;

use super::{CommandEvent, Level, Notices, Simulations};

/// What of the runs is seen: as they are, as they began, both, or two of them on the same place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Comparison {
    /// The present alone.
    #[default]
    Off,
    /// The start alone.
    Start,
    /// The start on the left, the present on the right of this share of the view's width.
    Split(f32),
    /// One of several runs on the left and another on the right of this share: see [`Comparison::pair`]. At 0 and at 1 one is seen alone.
    Runs(f32),
}

impl Comparison {
    /// The runs that are seen on the same place, by their numbers, if two are: the first and the chosen one, or the first two.
    pub fn pair(self, simulations: &Simulations) -> Option<[usize; 2]> {
        let wanted = matches!(self, Self::Runs(_)) && simulations.all().len() > 1;
        wanted.then(|| [0, simulations.selected_index().max(1)])
    }

    /// Whether the start is seen.
    pub fn shows_start(self) -> bool {
        matches!(self, Self::Start | Self::Split(_))
    }
}

/// What of the runs is shown.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct Shown(pub Comparison);

/// Compares runs.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum CompareCommand {
    /// The start, the present, or both; or two runs on the same place.
    Show(Comparison),
    /// The one or the other of two runs on the same place.
    Flicker,
}

impl CommandEvent for CompareCommand {}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Shown>().add_observer(obey);
}

fn obey(
    command: On<CompareCommand>,
    simulations: Res<Simulations>,
    mut shown: ResMut<Shown>,
    mut notices: ResMut<Notices>,
) {
    match command.event() {
        CompareCommand::Show(Comparison::Runs(_)) | CompareCommand::Flicker if simulations.all().len() < 2 => {
            let text = "There is one run. To compare it with others, choose Runs side by side in the menu Run.";
            notices.tell(Level::Info, text);
        }
        CompareCommand::Show(comparison) => shown.0 = *comparison,
        CompareCommand::Flicker => {
            let left = matches!(shown.0, Comparison::Runs(share) if share < 0.5);
            shown.0 = Comparison::Runs(if left { 1.0 } else { 0.0 });
        }
    }
}
