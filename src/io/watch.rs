//! A run that is played frame by frame. After each frame a watcher says what comes next.

use crate::model::{origin::Options, session::Session};

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
    Open(String, Options),
    /// Nothing.
    End,
}

/// A watcher.
pub type Watch<'a> = dyn FnMut(Watched<'_>) -> Next + 'a;
