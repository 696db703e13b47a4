//! What the user should know: work in progress, what was done, what went wrong.

use std::time::{Duration, Instant};

use bevy::prelude::*;

use super::Command;
use crate::io::Progress;

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Work is being done.
    Working,
    /// It is done.
    Info,
    /// Something was assumed.
    Warning,
    /// It was not done.
    Error,
}

/// A message to the user.
#[derive(Clone, Debug)]
pub struct Notice {
    /// Tells it from all others.
    pub id: u64,
    /// How much it matters.
    pub level: Level,
    /// A sentence.
    pub text: String,
    /// What can be done about it: a word and the command.
    pub action: Option<(&'static str, Command)>,
    /// Of work: how much of it is done.
    pub progress: Option<Progress>,
    since: Instant,
}

impl Notice {
    /// How long it stays; work stays until it is done, and errors until they are read.
    fn lasts(&self) -> Duration {
        match self.level {
            Level::Info => Duration::from_secs(6),
            Level::Warning => Duration::from_secs(14),
            Level::Working | Level::Error => Duration::MAX,
        }
    }
}

/// Messages, the oldest first.
#[derive(Resource, Clone, Debug, Default)]
pub struct Notices {
    list: Vec<Notice>,
    last: u64,
}

/// More messages than this are not shown at once; the oldest that is no work goes.
const MOST: usize = 6;

impl Notices {
    /// Tells the user something. Returns its number.
    pub fn tell(&mut self, level: Level, text: impl Into<String>) -> u64 {
        self.offer(level, text, None)
    }

    /// Tells the user that work has begun, and how far it is. Returns its number.
    pub fn work(&mut self, text: impl Into<String>, progress: Progress) -> u64 {
        let id = self.tell(Level::Working, text);
        if let Some(notice) = self.list.last_mut() {
            notice.progress = Some(progress);
        }
        id
    }

    /// Tells the user something and what can be done about it. Returns its number.
    pub fn offer(&mut self, level: Level, text: impl Into<String>, action: Option<(&'static str, Command)>) -> u64 {
        let text = text.into();
        // Said again, it is said once.
        self.list.retain(|notice| notice.text != text || notice.level != level);
        self.list.retain(|notice| notice.since.elapsed() < notice.lasts());
        // The least important goes, the oldest first.
        let expendable = [Level::Info, Level::Warning, Level::Error];
        let mut oldest = expendable.iter().filter_map(|&level| self.list.iter().position(|n| n.level == level));
        if self.list.len() >= MOST
            && let Some(oldest) = oldest.next()
        {
            self.list.remove(oldest);
        }
        if level == Level::Error {
            error!("{text}");
        }
        self.last += 1;
        self.list.push(Notice { id: self.last, level, text, action, progress: None, since: Instant::now() });
        self.last
    }

    /// Adds what can be done about a message.
    pub fn let_act(&mut self, id: u64, word: &'static str, command: Command) {
        if let Some(notice) = self.list.iter_mut().find(|notice| notice.id == id) {
            notice.action = Some((word, command));
        }
    }

    /// Takes back an offer that no longer means what it says.
    pub fn retract(&mut self, command: &Command) {
        for notice in &mut self.list {
            notice.action.take_if(|(_, offered)| offered == command);
        }
    }

    /// Takes a message away.
    pub fn dismiss(&mut self, id: u64) {
        self.list.retain(|notice| notice.id != id);
    }

    /// Those that are still to be shown, the oldest first.
    pub fn shown(&self) -> impl Iterator<Item = &Notice> {
        self.list.iter().filter(|notice| notice.since.elapsed() < notice.lasts())
    }
}
