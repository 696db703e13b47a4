//! Opening of all input files.
//!
//! Only regular files are accepted: a pipe or a device could block or never end.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use ron::{error::SpannedError, extensions::Extensions};
use serde::de::DeserializeOwned;

use super::Error;
use thalweg_sim::params::join_with_suggestion;

/// Maximum length of a text file, in bytes; a thousand times the size of usual scenes, presets, sidecars and settings.
const LONGEST_TEXT: u64 = 4 << 20;
/// Maximum length of a file beside a raster, in bytes: `.aux.xml` may contain histograms and attribute tables.
const LONGEST_COMPANION: u64 = 64 << 20;

/// Opens a regular file.
///
/// # Errors
/// It is missing, unreadable, a folder, a pipe or a device.
pub fn open(path: &Path) -> Result<BufReader<File>, Error> {
    let regular = || {
        // Not every system reports an error for a folder.
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let mut options = OpenOptions::new();
        options.read(true);
        // Opens a pipe without waiting for a writer; no effect on regular files.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
        let file = options.open(path)?;
        // Queried from the open file, as the path may refer to another one by now.
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::NotSeekable.into()) }
    };
    regular().map(BufReader::new).map_err(|error: io::Error| Error::unreadable(path, &error))
}

/// Reads a text file.
///
/// # Errors
/// As [`open()`], or the file is not UTF-8 or too long.
pub fn text(path: &Path) -> Result<String, Error> {
    let no_text = |error| Error::unreadable(path, &io::Error::new(io::ErrorKind::InvalidData, error));
    let bytes = bytes(path, LONGEST_TEXT, "expected a scene, preset, sidecar or settings file")?;
    String::from_utf8(bytes).map_err(no_text)
}

/// Reads at most `most` bytes from the start of a file.
///
/// # Errors
/// As [`open()`].
pub(super) fn start_of(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(most).read_to_end(&mut bytes);
    read.map_err(|error| Error::unreadable(path, &error)).map(|_| bytes)
}

/// Reads a file of at most `longest` bytes.
///
/// # Errors
/// As [`open()`], or the file is longer; `right` is the remedy.
pub(super) fn bytes(path: &Path, longest: u64, right: &str) -> Result<Vec<u8>, Error> {
    let bytes = start_of(path, longest + 1)?;
    let wrong = || format!("longer than {} MiB", longest >> 20);
    if bytes.len() as u64 > longest { Err(Error::input(path, wrong(), right)) } else { Ok(bytes) }
}

/// Reads a text file, or returns `None` if there is none.
///
/// # Errors
/// As [`text()`].
pub fn read_text_if_exists(path: &Path) -> Result<Option<String>, Error> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        _ => text(path).map(Some),
    }
}

/// Reads a text file beside a raster in any encoding that contains ASCII, or returns `None` if there is none.
///
/// # Errors
/// It cannot be read or is too long.
pub(super) fn read_companion(path: &Path) -> Result<Option<String>, Error> {
    let right = "remove the histograms and tables that it contains";
    let read = || bytes(path, LONGEST_COMPANION, right).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if path.is_file() { read().map(Some) } else { Ok(None) }
}

/// Returns the file with this name, or else the first one whose name differs only in case.
pub(super) fn find_in_any_case(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name()?;
    let entries = fs::read_dir(folder).ok()?.flatten();
    entries.filter(|entry| entry.file_name().eq_ignore_ascii_case(name)).map(|entry| entry.path()).min()
}

/// Parses hand-written RON, in which `Some` is implicit. `before` is the number of lines of the file in front of the text.
///
/// # Errors
/// The line, the problem and, for a misspelt name, the closest match.
pub fn parse<T: DeserializeOwned>(text: &str, before: usize) -> Result<T, String> {
    let options = ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME);
    options.from_str(text).map_err(|error| problem(&error, before))
}

/// Describes an error in RON without the names of Rust types.
fn problem(error: &SpannedError, before: usize) -> String {
    let wrong = match &error.code {
        ron::Error::NoSuchStructField { expected, found, .. } => {
            format!("unknown field `{found}`; the fields are {}", join_with_suggestion(expected, found))
        }
        ron::Error::NoSuchEnumVariant { expected, found, .. } => {
            format!("unknown name `{found}`, the names are {}", join_with_suggestion(expected, found))
        }
        ron::Error::MissingStructField { field, .. } => format!("the field `{field}` is missing"),
        ron::Error::DuplicateStructField { field, .. } => format!("the field `{field}` occurs twice"),
        other => other.to_string(),
    };
    format!("line {}: {wrong}", before + error.span.start.line)
}

/// Parses a value from RON. `what` names the expected content for the error, `right` is the remedy.
///
/// # Errors
/// The text does not parse as such a value.
pub fn ron<T: DeserializeOwned>(path: &Path, text: &str, what: &str, right: &str) -> Result<T, Error> {
    parse(text, 0).map_err(|wrong| Error::input(path, format!("does not contain {what} ({wrong})"), right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_in_ron_name_line_and_closest_match() {
        #[derive(serde::Deserialize, Debug)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only parsed")]
        struct Plan {
            ticks: Option<u32>,
            law: Law,
        }
        #[derive(serde::Deserialize, Debug)]
        enum Law {
            Streams,
        }
        for (text, expected) in [
            (
                "(\n  tics: 3,\n  law: Streams,\n)",
                "line 12: unknown field `tics`; the fields are ticks, law (closest match: ticks)",
            ),
            ("(\n\n  law: Stream)", "line 13: unknown name `Stream`, the names are Streams (closest match: Streams)"),
            ("(ticks: 3)", "line 11: the field `law` is missing"),
            ("(\nlaw: Streams,\nlaw: Streams)", "line 13: the field `law` occurs twice"),
        ] {
            assert_eq!(parse::<Plan>(text, 10).expect_err(expected), expected);
        }
        assert!(parse::<Plan>("(ticks: 3, law: Streams)", 0).is_ok_and(|plan| plan.ticks == Some(3)));
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_are_rejected_without_blocking() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()), "no pipe could be made");
        for path in [&*pipe, Path::new("/dev/zero"), Path::new("/dev/tty")] {
            let message = open(path).expect_err("it is no file").to_string();
            // Without a controlling terminal, /dev/tty does not exist.
            assert!(
                message.contains("this is a pipe or a device; choose a regular file") || path.ends_with("tty"),
                "{message}"
            );
            assert!(read_text_if_exists(path).is_err());
        }
        assert_eq!(read_text_if_exists(&folder.path().join("none.ron")), Ok(None));
    }
}
