//! Interface to a simulation that is played frame by frame, with a callback after each frame.

use std::path::PathBuf;

use super::{Error, ImagePixels, scene::RenderOptions};
use crate::model::{film::Script, origin::Options, session::Session};

/// State that the callback receives after a frame.
pub struct FrameContext<'a> {
    /// Simulations side by side, possibly in the middle of a tick.
    pub sessions: &'a [Session],
    /// Memory used by undo and timeline, in bytes.
    pub history_bytes: usize,
    /// `true` while the requested scene is still loading and the previous one is visible.
    pub opening: bool,
}

/// Action after a frame.
pub enum FrameAction {
    /// Render another frame.
    Continue,
    /// Open another scene, as the user would.
    Open(PathBuf, Options),
    /// Quit.
    End,
}

/// Callback after each frame.
pub type FrameCallback<'a> = dyn FnMut(FrameContext<'_>) -> FrameAction + 'a;

/// Video to be rendered from a simulation.
pub struct VideoJob<'a> {
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// Render options of the frames.
    pub how: RenderOptions,
    /// Camera moves and captions.
    pub script: Script,
    /// Tick of the first frame.
    pub from: u64,
    /// Ticks per frame.
    pub every: u32,
    /// Number of frames.
    pub frames: u64,
    /// Returns `true` if the user cancelled. Called after every tick and frame.
    pub stopped: &'a dyn Fn() -> bool,
    /// Receives the pixels of each frame.
    pub take: &'a mut dyn FnMut(&ImagePixels) -> Result<(), Error>,
}
