//! Where every file that is read is opened.
//!
//! Only regular files are: a pipe or a device may never answer, or never end.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufReader, Read},
    path::Path,
};

use serde::de::DeserializeOwned;

use super::Error;

/// Longest text that is read, in bytes. Scenes, presets, sidecars and settings are a thousand times shorter.
const LONGEST_TEXT: u64 = 4 << 20;

/// Opens a regular file.
///
/// # Errors
/// It is missing, unreadable, a folder, a pipe or a device.
pub fn open(path: &Path) -> Result<BufReader<File>, Error> {
    let regular = || {
        // Not every system opens a folder, or says that it is one.
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let mut options = OpenOptions::new();
        options.read(true);
        // A pipe is opened without waiting for its other end; to a regular file it makes no difference.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
        let file = options.open(path)?;
        // Asked of the open file: the name may belong to another one by now.
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::NotSeekable.into()) }
    };
    regular().map(BufReader::new).map_err(|error: io::Error| Error::unreadable(path, &error))
}

/// Reads a text file whole.
///
/// # Errors
/// As [`open()`], or it is no text, or too long.
pub fn text(path: &Path) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = open(path)?.take(LONGEST_TEXT + 1).read_to_end(&mut bytes);
    read.map_err(|error| Error::unreadable(path, &error))?;
    if bytes.len() as u64 > LONGEST_TEXT {
        let wrong = format!("it is longer than {} MiB", LONGEST_TEXT >> 20);
        return Err(Error::input(path, wrong, "scenes, presets, sidecars and settings are much shorter"));
    }
    let no_text = |error| Error::unreadable(path, &io::Error::new(io::ErrorKind::InvalidData, error));
    String::from_utf8(bytes).map_err(no_text)
}

/// Reads a text file whole; `None` if there is none.
///
/// # Errors
/// As [`text()`].
pub fn text_if_there(path: &Path) -> Result<Option<String>, Error> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        _ => text(path).map(Some),
    }
}

/// Reads a value from RON. `what` names such values, and `right` says what would be right if the text holds none.
///
/// # Errors
/// The text is not that of such a value.
pub fn ron<T: DeserializeOwned>(path: &Path, text: &str, what: &str, right: &str) -> Result<T, Error> {
    ron::from_str(text).map_err(|error| Error::input(path, format!("it holds no {what} ({error})"), right))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_or_a_device_is_refused_without_waiting() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()), "no pipe could be made");
        for path in [&*pipe, Path::new("/dev/zero"), Path::new("/dev/tty")] {
            let said = open(path).expect_err("it is no file").to_string();
            // Without a terminal there is no such device.
            assert!(said.contains("it is a pipe or a device; name a file") || path.ends_with("tty"), "{said}");
            assert!(text_if_there(path).is_err());
        }
        assert_eq!(text_if_there(&folder.path().join("none.ron")), Ok(None));
    }
}
