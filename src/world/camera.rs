//! Commands of the camera, which [`picture`](crate::picture) carries out.

use bevy::prelude::*;

use super::{CommandEvent, Simulations};
use thalweg_scene::io::project::Camera;

/// How the camera moves.
#[derive(States, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CameraMode {
    /// Round the land.
    #[default]
    Orbit,
    /// On the ground, at the height of a person's eyes.
    Walk,
    /// Through the air.
    Fly,
}

/// Where keys move the eye that walks or flies: to the right, up and ahead, from -1 to 1, and whether it is in haste.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub struct Steps {
    /// Right, up, ahead.
    pub way: [f32; 3],
    /// Faster than usual.
    pub hastens: bool,
}

/// The camera.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum CameraCommand {
    /// The camera shows the whole map.
    FrameAll,
    /// The camera shows the whole of a new map, from the same side as before.
    FrameAgain,
    /// The camera goes round the map, or stops.
    ToggleTurntable,
    /// Moves the camera a step.
    Move(CameraStep),
    /// Puts the eye there.
    Place(Camera),
    /// Puts the eye where a view was kept under this number, from 1 to 9.
    GoToView(usize),
    /// Puts the eye where the key at this tick has it.
    GoToKey(u64),
    /// The camera walks or flies; asked again, it goes round the land as before.
    Go(CameraMode),
}

/// A step of the camera, as a key asks for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CameraStep {
    /// Round the place that it looks at, by so many degrees, and up, by so many more.
    Turn(f32, f32),
    /// To where it looks from so many degrees from the south through the east, and from so many above the table, by the shorter way.
    From(f32, f32),
    /// Along the table, to the right and away, as shares of its distance.
    Shift(f32, f32),
    /// Nearer by this factor.
    Near(f32),
}

/// Pictures that are written into the person's folder.
#[derive(Event, Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureCommand {
    /// One of the view, without panels.
    Take,
    /// One of the window, with panels.
    TakeWindow,
}

impl CommandEvent for CameraCommand {
    fn suits_kiosk(&self, _: &Simulations) -> bool {
        matches!(self, Self::FrameAll | Self::ToggleTurntable | Self::Move(_))
    }

    fn suits_presenter(&self) -> bool {
        matches!(self, Self::GoToView(_))
    }

    fn repeats(&self) -> bool {
        matches!(self, Self::Move(_))
    }
}

impl CommandEvent for PictureCommand {}
