//! Workspaces, the state that determines which panels are visible.

use bevy::prelude::*;

use super::{AppCommandEvent, Brushes, Presentation, SPEEDS, Transport};

/// Active workspace. A change takes effect before the next frame.
#[derive(States, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Workspace {
    /// All panels.
    #[default]
    Sculpt,
    /// Lesson, few sliders, charts, slow speed.
    Learn,
    /// No panels.
    Present,
}

/// Activates a workspace.
#[derive(Event, Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenWorkspace(pub Workspace);

impl AppCommandEvent for OpenWorkspace {}

pub(super) fn plugin(app: &mut App) {
    app.init_state::<Workspace>()
        .add_observer(open)
        .add_systems(OnEnter(Workspace::Learn), (slow_down, release_brush))
        .add_systems(OnExit(Workspace::Learn), reset_speed)
        .add_systems(OnEnter(Workspace::Present), release_brush)
        .add_systems(OnExit(Workspace::Present), end_presentation);
}

fn open(wanted: On<OpenWorkspace>, mut workspace: ResMut<NextState<Workspace>>) {
    NextState::set_if_neq(&mut workspace, wanted.0);
}

fn slow_down(mut transport: ResMut<Transport>) {
    transport.speed = *SPEEDS.start();
}

fn reset_speed(mut transport: ResMut<Transport>) {
    (transport.speed, transport.slow) = (1.0, None);
}

/// Prevents accidental sculpting during a lesson or a presentation.
fn release_brush(mut brushes: ResMut<Brushes>) {
    brushes.active = None;
}

fn end_presentation(mut commands: Commands) {
    commands.remove_resource::<Presentation>();
}
