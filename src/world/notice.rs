//! Notifications: progress, results, warnings and errors.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use bevy::prelude::*;

use super::{AppCommand, FileCommand, SimulationCommand};
use thalweg_scene::io::{Error, JobProgress};

/// Severity of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeLevel {
    /// Job in progress.
    Working,
    /// Result.
    Info,
    /// Assumption or fallback.
    Warning,
    /// Failure.
    Error,
    /// Question to the user.
    Question,
}

impl NoticeLevel {
    /// Returns the accessible name of the icon.
    pub fn title(self) -> &'static str {
        match self {
            Self::Working => "In progress",
            Self::Info => "Note",
            Self::Warning => "Warning",
            Self::Error => "Error",
            Self::Question => "Question",
        }
    }
}

/// Notification.
#[derive(Clone, Debug)]
pub struct Notice {
    /// Unique identifier.
    pub id: u64,
    /// Severity.
    pub level: NoticeLevel,
    /// Text, as full sentences.
    pub text: String,
    /// Buttons, each with its command.
    pub answers: Vec<(&'static str, AppCommand)>,
    /// Progress, of a job.
    pub progress: Option<JobProgress>,
    since: Instant,
}

impl Notice {
    /// Returns the time until it disappears. Jobs stay until they finish, errors until dismissed, questions until answered.
    fn duration(&self) -> Duration {
        match self.level {
            NoticeLevel::Info => Duration::from_secs(6),
            NoticeLevel::Warning => Duration::from_secs(14),
            NoticeLevel::Working | NoticeLevel::Error | NoticeLevel::Question => Duration::MAX,
        }
    }
}

/// Notifications, the oldest first.
#[derive(Resource, Clone, Debug, Default)]
pub struct Notices {
    list: Vec<Notice>,
    last: u64,
}

/// Maximum number of notifications on screen. Beyond it the oldest is removed that is neither a job nor a question.
const MAX_VISIBLE: usize = 6;

impl Notices {
    /// Adds a notification. Returns its identifier.
    pub fn notify(&mut self, level: NoticeLevel, text: impl Into<String>) -> u64 {
        self.offer(level, text, None)
    }

    /// Reports the result of an operation.
    pub fn notify_result(&mut self, done: Result<(), Error>, text: String) {
        match done {
            Ok(()) => self.notify(NoticeLevel::Info, text),
            Err(error) => self.notify(NoticeLevel::Error, format!("{error}.")),
        };
    }

    /// Adds a notification with the progress of a job. Returns its identifier.
    pub fn notify_progress(&mut self, text: impl Into<String>, progress: JobProgress) -> u64 {
        let id = self.notify(NoticeLevel::Working, text);
        if let Some(notice) = self.list.last_mut() {
            notice.progress = Some(progress);
        }
        id
    }

    /// Adds a question, which stays until it is answered.
    pub fn ask(&mut self, text: impl Into<String>, answers: impl IntoIterator<Item = (&'static str, AppCommand)>) {
        self.add(NoticeLevel::Question, text.into(), answers.into_iter().collect());
    }

    /// Adds a notification with an optional button. Returns its identifier.
    pub fn offer(
        &mut self,
        level: NoticeLevel,
        text: impl Into<String>,
        action: Option<(&'static str, AppCommand)>,
    ) -> u64 {
        self.add(level, text.into(), action.into_iter().collect())
    }

    /// Reports that the simulation is paused after opening, and offers to play it.
    pub fn offer_play(&mut self) {
        let play = Some(("Play", SimulationCommand::TogglePlay.into()));
        self.offer(NoticeLevel::Info, "The simulation is paused. Press Play (Space) to start it.", play);
    }

    /// Reports that a file was saved, and offers to open its folder.
    pub(super) fn offer_file(&mut self, path: &Path) {
        self.offer_folder(format!("Saved {}.", path.display()), path.parent().unwrap_or(Path::new("")));
    }

    /// Reports that files were written, and offers to open their folder.
    pub fn offer_folder(&mut self, text: String, folder: &Path) {
        self.offer(NoticeLevel::Info, text, Some(("Open folder", FileCommand::OpenFolder(folder.to_owned()).into())));
    }

    fn add(&mut self, level: NoticeLevel, text: String, answers: Vec<(&'static str, AppCommand)>) -> u64 {
        // A repeated message replaces the previous one.
        self.list.retain(|notice| notice.text != text || notice.level != level);
        self.list.retain(|notice| notice.since.elapsed() < notice.duration());
        // Remove the least severe, the oldest first.
        let expendable = [NoticeLevel::Info, NoticeLevel::Warning, NoticeLevel::Error];
        let mut oldest = expendable.iter().filter_map(|&level| self.list.iter().position(|n| n.level == level));
        if self.list.len() >= MAX_VISIBLE
            && let Some(oldest) = oldest.next()
        {
            self.list.remove(oldest);
        }
        match level {
            NoticeLevel::Error => error!("{text}"),
            NoticeLevel::Question => warn!("{text}"),
            _ => {}
        }
        self.last += 1;
        self.list.push(Notice { id: self.last, level, text, answers, progress: None, since: Instant::now() });
        self.last
    }

    /// Returns the number of unanswered questions.
    pub fn questions(&self) -> usize {
        self.list.iter().filter(|notice| notice.level == NoticeLevel::Question).count()
    }

    /// Adds a button to a notification.
    pub fn add_button(&mut self, id: u64, word: &'static str, command: impl Into<AppCommand>) {
        if let Some(notice) = self.list.iter_mut().find(|notice| notice.id == id) {
            notice.answers.push((word, command.into()));
        }
    }

    /// Removes buttons whose command is no longer valid.
    pub fn retract(&mut self, command: impl Into<AppCommand>) {
        let command = command.into();
        for notice in &mut self.list {
            notice.answers.retain(|(_, offered)| *offered != command);
        }
    }

    /// Cancels the job of a notification.
    pub fn cancel(&mut self, id: u64) {
        self.list
            .iter()
            .filter(|notice| notice.id == id)
            .filter_map(|notice| notice.progress.as_ref())
            .for_each(JobProgress::cancel);
    }

    /// Removes a notification.
    pub fn dismiss(&mut self, id: u64) {
        self.list.retain(|notice| notice.id != id);
    }

    /// Returns the visible notifications, the oldest first.
    pub fn shown(&self) -> impl Iterator<Item = &Notice> {
        self.list.iter().filter(|notice| notice.since.elapsed() < notice.duration())
    }
}
