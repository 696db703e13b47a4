//! Commands of the camera, which [`render`](crate::render) executes.

use bevy::prelude::*;

use super::{AppCommandEvent, Simulations};
use thalweg_scene::io::project::Camera;

/// Navigation mode of the camera.
#[derive(States, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CameraMode {
    /// Orbits the terrain.
    #[default]
    Orbit,
    /// Walks on the ground at eye level.
    Walk,
    /// Flies through the air.
    Fly,
}

/// Keyboard input for walking and flying.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct NavigationInput {
    /// Right, up and forward, from -1 to 1.
    pub direction: [f32; 3],
    /// `true` if faster than usual.
    pub is_fast: bool,
}

/// Command of the camera.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum CameraCommand {
    /// Frames the whole map.
    FrameAll,
    /// Frames the whole of a new map from the current direction.
    FrameAgain,
    /// Starts or stops the turntable.
    ToggleTurntable,
    /// Moves the camera by a step.
    Move(CameraStep),
    /// Sets the pose.
    Place(Camera),
    /// Goes to a bookmark, from 1 to 9.
    GoToBookmark(usize),
    /// Goes to the keyframe at this tick.
    GoToKeyframe(u64),
    /// Walks or flies, or returns to orbiting if already in this mode.
    SetMode(CameraMode),
}

/// Step of the camera for a shortcut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CameraStep {
    /// Orbits the focus by these angles in degrees, horizontally and vertically.
    Orbit(f32, f32),
    /// Orbits to this azimuth, in degrees from south through east, and this elevation, by the shorter way.
    OrbitTo(f32, f32),
    /// Pans to the right and away, in fractions of the distance.
    Pan(f32, f32),
    /// Zooms in by this factor.
    Zoom(f32),
}

/// Screenshots, written to the user's folder.
#[derive(Event, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenshotCommand {
    /// Screenshot of the viewport, without panels.
    Take,
    /// Screenshot of the window, with panels.
    TakeWindow,
}

impl AppCommandEvent for CameraCommand {
    fn is_allowed_in_kiosk(&self, _: &Simulations) -> bool {
        matches!(self, Self::FrameAll | Self::ToggleTurntable | Self::Move(_))
    }

    fn is_allowed_in_presenter(&self) -> bool {
        matches!(self, Self::GoToBookmark(_))
    }

    fn repeats_while_held(&self) -> bool {
        matches!(self, Self::Move(_))
    }
}

impl AppCommandEvent for ScreenshotCommand {}
