//! A run that is played frame by frame while something looks on, and says what is to come next.

use crate::model::{origin::Options, session::Session};

/// What there is to see after a frame.
pub struct Seen<'a> {
    /// The runs side by side, perhaps in the middle of a tick.
    pub sessions: &'a [Session],
    /// Memory that undo and timeline hold, in bytes.
    pub history_bytes: usize,
    /// Whether the scene that was asked for is still being opened, and the one before is seen.
    pub opening: bool,
}

/// What is to come next.
pub enum Next {
    /// Another frame.
    GoOn,
    /// Another scene, opened as a person opens it.
    Open(String, Options),
    /// Nothing.
    End,
}

/// Looks on after each frame.
pub type Watch<'a> = dyn FnMut(Seen<'_>) -> Next + 'a;
