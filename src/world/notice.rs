//! What the user should know: work in progress, what was done, what went wrong.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use bevy::prelude::*;

use super::{Command, FileCommand, RunCommand};
use thalweg_scene::io::{Error, JobProgress};

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
    /// The person is to choose.
    Question,
}

impl Level {
    /// What it is called where its sign can't be seen.
    pub fn title(self) -> &'static str {
        match self {
            Self::Working => "At work",
            Self::Info => "Note",
            Self::Warning => "Warning",
            Self::Error => "Error",
            Self::Question => "Question",
        }
    }
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
    /// What can be done about it: words and the command of each.
    pub answers: Vec<(&'static str, Command)>,
    /// Of work: how much of it is done.
    pub progress: Option<JobProgress>,
    since: Instant,
}

impl Notice {
    /// How long it stays; work stays until it is done, errors until they are read and questions until they are answered.
    fn lasts(&self) -> Duration {
        match self.level {
            Level::Info => Duration::from_secs(6),
            Level::Warning => Duration::from_secs(14),
            Level::Working | Level::Error | Level::Question => Duration::MAX,
        }
    }
}

/// Messages, the oldest first.
#[derive(Resource, Clone, Debug, Default)]
pub struct Notices {
    list: Vec<Notice>,
    last: u64,
}

/// More messages than this are not shown at once; the oldest goes that is neither work nor a question.
const MOST: usize = 6;

impl Notices {
    /// Tells the user something. Returns its number.
    pub fn tell(&mut self, level: Level, text: impl Into<String>) -> u64 {
        self.offer(level, text, None)
    }

    /// Tells the user that something was done, or why not.
    pub fn tell_result(&mut self, done: Result<(), Error>, text: String) {
        match done {
            Ok(()) => self.tell(Level::Info, text),
            Err(error) => self.tell(Level::Error, format!("{error}.")),
        };
    }

    /// Tells the user that work has begun, and how far it is. Returns its number.
    pub fn work(&mut self, text: impl Into<String>, progress: JobProgress) -> u64 {
        let id = self.tell(Level::Working, text);
        if let Some(notice) = self.list.last_mut() {
            notice.progress = Some(progress);
        }
        id
    }

    /// Asks the user something that stays until it is answered.
    pub fn ask(&mut self, text: impl Into<String>, answers: impl IntoIterator<Item = (&'static str, Command)>) {
        self.add(Level::Question, text.into(), answers.into_iter().collect());
    }

    /// Tells the user something and what can be done about it. Returns its number.
    pub fn offer(&mut self, level: Level, text: impl Into<String>, action: Option<(&'static str, Command)>) -> u64 {
        self.add(level, text.into(), action.into_iter().collect())
    }

    /// Tells that what was opened stands still, and offers to let it run.
    pub fn offer_play(&mut self) {
        let play = Some(("Play", RunCommand::TogglePlay.into()));
        self.offer(Level::Info, "The land stands still until you press Play (Space).", play);
    }

    /// Tells that something was written, and offers to show its folder.
    pub fn offer_folder(&mut self, text: String, folder: &Path) {
        self.offer(Level::Info, text, Some(("Open folder", FileCommand::OpenFolder(folder.to_owned()).into())));
    }

    fn add(&mut self, level: Level, text: String, answers: Vec<(&'static str, Command)>) -> u64 {
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
        match level {
            Level::Error => error!("{text}"),
            Level::Question => warn!("{text}"),
            _ => {}
        }
        self.last += 1;
        self.list.push(Notice { id: self.last, level, text, answers, progress: None, since: Instant::now() });
        self.last
    }

    /// How many questions wait for an answer.
    pub fn questions(&self) -> usize {
        self.list.iter().filter(|notice| notice.level == Level::Question).count()
    }

    /// Adds what can be done about a message.
    pub fn let_act(&mut self, id: u64, word: &'static str, command: impl Into<Command>) {
        if let Some(notice) = self.list.iter_mut().find(|notice| notice.id == id) {
            notice.answers.push((word, command.into()));
        }
    }

    /// Takes back an offer that no longer means what it says.
    pub fn retract(&mut self, command: impl Into<Command>) {
        let command = command.into();
        for notice in &mut self.list {
            notice.answers.retain(|(_, offered)| *offered != command);
        }
    }

    /// Gives up the work that a message tells of.
    pub fn cancel(&mut self, id: u64) {
        self.list
            .iter()
            .filter(|notice| notice.id == id)
            .filter_map(|notice| notice.progress.as_ref())
            .for_each(JobProgress::cancel);
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
