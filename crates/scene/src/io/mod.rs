//! File formats: heightmaps, layer maps, images and scene files. Independent of the window.
//!
//! A reader accepts arbitrary bytes and returns data or a one-sentence [`Error`]; it never panics. It asks the [`Budget`] before
//! allocating and checks every number against the range that the simulation supports ([`bounds`](thalweg_sim::core::bounds)).
//! [`input`] opens every file that is read. A writer writes to the path it is given; [`output`] replaces existing files atomically.

mod asc;
mod budget;
pub mod chart;
pub mod checks;
mod colours;
mod description;
mod embedded;
pub mod export;
mod exr;
pub mod film;
pub mod heightmap;
mod image;
pub mod input;
mod jpeg;
pub mod lesson;
mod markup;
mod new_terrain;
mod nodata;
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
pub mod recovery;
pub mod reference;
pub mod scene;
mod sidecar;
mod steps;
mod tiff;
mod tiles;
mod usgs_dem;
pub mod watch;

use std::{
    fmt::Display,
    io,
    path::{Path, PathBuf},
};

pub use self::{
    asc::write_asc,
    budget::{Budget, BudgetSource},
    exr::write_exr,
    new_terrain::{Activity, NewTerrain},
    pixels::ImagePixels,
    png::{decode_png_rgb8, write_png_rgb8, write_png8, write_png16},
    progress::JobProgress,
    raster::RasterMetadata,
    raw::{write_r16, write_r32},
    sidecar::write_sidecar,
    tiff::write_tiff,
};
use thalweg_sim::{core::bounds::InvalidInput, params::join_with_suggestion};

/// Error while reading or writing a file. The message is one sentence: the file, the problem and a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {wrong}; {right}", escape_control(&path.to_string_lossy()))]
pub struct Error {
    path: PathBuf,
    wrong: String,
    right: String,
    exit_code: u8,
}

impl Error {
    /// Creates an error for bad input in `path`, with the problem and a remedy.
    pub fn input(path: &Path, wrong: impl Into<String>, right: impl Into<String>) -> Self {
        Self { path: path.to_owned(), wrong: one_line(wrong), right: one_line(right), exit_code: 2 }
    }

    /// Creates an error for a number in `path` that is outside the supported range.
    pub fn unfit(path: &Path, unfit: InvalidInput) -> Self {
        Self::input(path, unfit.wrong, unfit.right)
    }

    /// Creates an error for a failed write to `path`, with the problem and a remedy.
    pub fn output(path: &Path, wrong: impl Into<String>, right: impl Into<String>) -> Self {
        Self { exit_code: 1, ..Self::input(path, wrong, right) }
    }

    /// Creates an error for a file that the operating system fails to read.
    pub(super) fn unreadable(path: &Path, cause: &io::Error) -> Self {
        let (wrong, right) = match cause.kind() {
            io::ErrorKind::NotFound => ("file not found".to_owned(), "check the name and the folder"),
            io::ErrorKind::IsADirectory => ("this is a folder".to_owned(), "choose a file inside it"),
            io::ErrorKind::NotSeekable => ("this is a pipe or a device".to_owned(), "choose a regular file"),
            io::ErrorKind::PermissionDenied => ("permission denied".to_owned(), "change the file permissions"),
            io::ErrorKind::InvalidData => (format!("not a text file ({cause})"), "expected UTF-8 text"),
            _ => (format!("reading failed ({cause})"), "check the disk, or copy the file to another disk"),
        };
        Self::input(path, wrong, right)
    }

    /// Creates an error for a file that the operating system fails to write.
    pub fn unwritable(path: &Path, cause: &impl Display) -> Self {
        let wrong = format!("writing failed ({cause})");
        Self::output(path, wrong, "choose a writable folder with enough free space")
    }

    /// Moves the path of the error from the folder `from` to the folder `to`, if it is inside `from`.
    pub(super) fn moved(mut self, from: &Path, to: &Path) -> Self {
        if let Ok(within) = self.path.strip_prefix(from) {
            self.path = to.join(within);
        }
        self
    }

    /// Creates an error for a `name` that is neither a scene nor a file. `scenes` are the available names.
    pub(super) fn unknown_scene(name: &str, scenes: &[&str]) -> Self {
        let right = format!("the built-in scenes are {}", join_with_suggestion(scenes, name));
        Self::input(Path::new(name), "no such scene or file", right)
    }

    /// Creates an error for an unusable scene file, with the reason given.
    pub(super) fn bad_scene(path: &Path, reason: &str) -> Self {
        Self::input(path, reason, "use a built-in scene as a template")
    }

    /// Returns the exit code of the program: 2 for bad input, 1 for a failed write.
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

/// Escapes line breaks and other control characters of a terminal as codes like `\n`, so that the text stays on one line.
pub fn escape_control(text: &str) -> String {
    let breaks = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    text.chars()
        .map(|letter| if breaks(letter) { letter.escape_default().to_string() } else { letter.into() })
        .collect()
}

/// Normalises a message of another crate, which may span several lines, end in a full stop or quote terminal control characters.
fn one_line(text: impl Into<String>) -> String {
    let text = text.into();
    let words: Vec<&str> = text.split_whitespace().collect();
    escape_control(words.join(" ").trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_one_sentence_with_exit_code() {
        let bad = Error::input(Path::new("hills.png"), "it\u{1b} is\n empty.", "expected an image");
        assert_eq!(bad.to_string(), r"hills.png: it\u{1b} is empty; expected an image");
        assert_eq!(bad.exit_code(), 2);
        let broken = Error::input(Path::new("hills\n\u{1b}[2J.png"), "it is empty", "expected an image");
        assert_eq!(broken.to_string(), r"hills\n\u{1b}[2J.png: it is empty; expected an image");
        let failed = Error::unwritable(Path::new("out"), &io::Error::other("disk full"));
        assert!(failed.to_string().starts_with("out: writing failed (disk full); "));
        assert_eq!(failed.exit_code(), 1);
    }

    #[test]
    fn unknown_scene_error_suggests_closest_match() {
        let error = Error::unknown_scene("round-hil", &["alpine-valley", "round-hill"]);
        assert!(error.to_string().ends_with("are alpine-valley, round-hill (closest match: round-hill)"), "{error}");
    }
}
