//! Data in, data out: heightmaps, layer maps, pictures, scene files. Knows nothing of windows.
//!
//! A reader takes any bytes and answers with data or with an [`Error`] of one sentence; it never panics. Before it makes
//! room it asks the [`Budget`], and every number is checked against what the simulation can carry
//! ([`bounds`](thalweg_sim::core::bounds)). [`input`] opens every file that is read. A writer writes the path that it is given;
//! [`output`] makes sure that what stood there before is replaced whole or not at all.

mod asc;
mod budget;
pub mod chart;
pub mod checks;
mod embedded;
pub mod export;
mod exr;
pub mod film;
pub mod heightmap;
mod holes;
pub mod input;
pub mod keep;
mod land;
pub mod lesson;
mod markup;
pub mod output;
pub mod page;
mod pixels;
pub mod playlist;
mod png;
pub mod preset;
mod progress;
pub mod project;
mod raster;
mod raw;
pub mod reference;
pub mod scene;
mod sidecar;
mod tiff;
pub mod watch;

use std::{
    fmt::Display,
    io,
    path::{Path, PathBuf},
};

pub use self::{
    asc::write_asc,
    budget::{Budget, SaidBy},
    exr::write_exr,
    land::{Activity, NewLand},
    pixels::Pixels,
    png::{picture_of, write_picture, write_png8, write_png16},
    progress::JobProgress,
    raster::Place,
    raw::{write_r16, write_r32},
    sidecar::write_sidecar,
    tiff::write_tiff,
};
use thalweg_sim::{core::bounds::Unfit, params::listed};

/// Why a file could not be read or written. The message is one sentence: which file, what is wrong, what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {wrong}; {right}", escaped(&path.to_string_lossy()))]
pub struct Error {
    path: PathBuf,
    wrong: String,
    right: String,
    exit_code: u8,
}

impl Error {
    /// Bad input: what is wrong with `path`, and what would be right.
    pub fn input(path: &Path, wrong: impl Into<String>, right: impl Into<String>) -> Self {
        Self { path: path.to_owned(), wrong: one_line(wrong), right: one_line(right), exit_code: 2 }
    }

    /// A number in `path` that the simulation cannot carry.
    pub fn unfit(path: &Path, unfit: Unfit) -> Self {
        Self::input(path, unfit.wrong, unfit.right)
    }

    /// A failure while writing: what is wrong with `path`, and what would be right.
    pub fn output(path: &Path, wrong: impl Into<String>, right: impl Into<String>) -> Self {
        Self { exit_code: 1, ..Self::input(path, wrong, right) }
    }

    /// The operating system does not let a file be read.
    pub(super) fn unreadable(path: &Path, cause: &io::Error) -> Self {
        let (wrong, right) = match cause.kind() {
            io::ErrorKind::NotFound => ("there is no such file".to_owned(), "check the name and the folder"),
            io::ErrorKind::IsADirectory => ("it is a folder".to_owned(), "name a file in it"),
            io::ErrorKind::NotSeekable => ("it is a pipe or a device".to_owned(), "name a file"),
            io::ErrorKind::PermissionDenied => ("you are not allowed to read it".to_owned(), "change its permissions"),
            io::ErrorKind::InvalidData => (format!("it is not text ({cause})"), "a text file in UTF-8 is needed"),
            _ => (format!("it cannot be read ({cause})"), "check the disk or copy the file elsewhere"),
        };
        Self::input(path, wrong, right)
    }

    /// The operating system does not let a file be written.
    pub fn unwritable(path: &Path, cause: &impl Display) -> Self {
        let wrong = format!("it cannot be written ({cause})");
        Self::output(path, wrong, "choose a folder with room and the right to write")
    }

    /// The same error, but of a file in the folder `to` if it was of one in `from`.
    pub(super) fn moved(mut self, from: &Path, to: &Path) -> Self {
        if let Ok(within) = self.path.strip_prefix(from) {
            self.path = to.join(within);
        }
        self
    }

    /// There is neither a scene nor a file called `name`. `scenes` are the names that exist.
    pub(super) fn unknown_scene(name: &str, scenes: &[&str]) -> Self {
        let right = format!("the built-in scenes are {}", listed(scenes, name));
        Self::input(Path::new(name), "there is no such scene or file", right)
    }

    /// A scene file that cannot be used, for the reason given.
    pub(super) fn bad_scene(path: &Path, reason: &str) -> Self {
        Self::input(path, reason, "a built-in scene is a good example to copy from")
    }

    /// What the program exits with: 2 for bad input, 1 for a failure while writing.
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

/// Text that stays on one line: line breaks and other characters that control a terminal become codes like `\n`.
pub fn escaped(text: &str) -> String {
    let breaks = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    text.chars()
        .map(|letter| if breaks(letter) { letter.escape_default().to_string() } else { letter.into() })
        .collect()
}

/// Messages of other crates may span several lines, end in a full stop, or quote characters that control a terminal. Our sentences
/// do not.
fn one_line(text: impl Into<String>) -> String {
    let text = text.into();
    let words: Vec<&str> = text.split_whitespace().collect();
    escaped(words.join(" ").trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_sentence_with_its_exit_code() {
        let bad = Error::input(Path::new("hills.png"), "it\u{1b} is\n empty.", "a picture is needed");
        assert_eq!(bad.to_string(), r"hills.png: it\u{1b} is empty; a picture is needed");
        assert_eq!(bad.exit_code(), 2);
        let broken = Error::input(Path::new("hills\n\u{1b}[2J.png"), "it is empty", "a picture is needed");
        assert_eq!(broken.to_string(), r"hills\n\u{1b}[2J.png: it is empty; a picture is needed");
        let failed = Error::unwritable(Path::new("out"), &io::Error::other("disk full"));
        assert!(failed.to_string().starts_with("out: it cannot be written (disk full); "));
        assert_eq!(failed.exit_code(), 1);
    }

    #[test]
    fn a_mistyped_scene_is_answered_with_the_nearest() {
        let error = Error::unknown_scene("round-hil", &["alpine-valley", "round-hill"]);
        assert!(error.to_string().ends_with("are alpine-valley, round-hill, and the nearest is round-hill"), "{error}");
    }
}
