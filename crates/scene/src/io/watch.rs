//! A run that is played frame by frame. After each frame a watcher says what comes next.

use std::path::PathBuf;

use super::{Error, Pixels, scene::PictureOptions};
use crate::model::{film::Script, origin::Options, session::Session};

/// What a watcher sees after a frame.
pub struct Watched<'a> {
    /// The runs side by side, perhaps in the middle of a tick.
    pub sessions: &'a [Session],
    /// Memory that undo and timeline hold, in bytes.
    pub history_bytes: usize,
    /// Whether the scene that was asked for is still being opened, and the one before is seen.
    pub opening: bool,
}

/// What comes next.
pub enum Next {
    /// Another frame.
    GoOn,
    /// Another scene, opened as a person opens it.
    Open(PathBuf, Options),
    /// Nothing.
    End,
}

/// A watcher.
pub type Watch<'a> = dyn FnMut(Watched<'_>) -> Next + 'a;

/// A film that is being made of a run.
pub struct Shooting<'a> {
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// How pictures are taken.
    pub how: PictureOptions,
    /// What the camera does, and what is written into the pictures.
    pub script: Script,
    /// The tick of the first picture.
    pub from: u64,
    /// Ticks from picture to picture.
    pub every: u32,
    /// How many pictures.
    pub frames: u64,
    /// Whether a person wants no more of it. It is asked after every tick and picture.
    pub stopped: &'a dyn Fn() -> bool,
    /// Takes the pixels of each.
    pub take: &'a mut dyn FnMut(&Pixels) -> Result<(), Error>,
}
