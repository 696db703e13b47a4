//! Films: pictures that come one after the other, as a file that is played, or as a folder of pictures.
//!
//! MP4, GIF and WebP are made by the system's `ffmpeg`, which gets the pixels through a pipe. Frames go into a file beside the film, and
//! that is renamed at the end. An MP4 is written in fragments of a second, so that the finished ones can be played if the machine stops.

use std::{
    ffi::OsString,
    fs,
    io::{ErrorKind, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
};

use super::{Error, JobProgress, write_picture};

/// Endings of films, and what `ffmpeg` is told for each.
const KINDS: [(&str, &[&str]); 3] = [
    // Evenly sized for players that need that; a fragment ends with each frame that stands for itself.
    (
        "mp4",
        &[
            "-vf",
            "pad=ceil(iw/2)*2:ceil(ih/2)*2",
            "-c:v",
            "libx264",
            "-preset",
            "medium",
            "-crf",
            "18",
            "-pix_fmt",
            "yuv420p",
            "-force_key_frames",
            "expr:gte(t,n_forced)",
            "-movflags",
            "+frag_keyframe+empty_moov+default_base_moof",
            "-flush_packets",
            "1",
            "-f",
            "mp4",
        ],
    ),
    (
        "gif",
        &[
            "-vf",
            // Each picture has its own colours: those of all of them would be known only when all are held in memory.
            "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1:dither=sierra2_4a",
            "-loop",
            "0",
            "-f",
            "gif",
        ],
    ),
    ("webp", &["-c:v", "libwebp_anim", "-quality", "80", "-loop", "0", "-f", "webp"]),
];

/// Where a film goes.
#[derive(Debug)]
pub struct Film {
    path: PathBuf,
    size: (usize, usize),
    frames: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// Pictures in a folder.
    Folder,
    /// What is written for now, what writes it, and what that has said so far.
    Encoded { part: PathBuf, encoder: Child, said: Option<JoinHandle<String>> },
}

impl Film {
    /// Begins a film of so many columns and rows and so many pictures in a second, as the name's ending says: `.mp4`, `.gif` or `.webp`.
    /// A name without an ending is a folder of PNG.
    ///
    /// # Errors
    /// Another ending, a folder that cannot be made, a folder where the file would go, or no `ffmpeg`.
    pub fn begin(path: &Path, size: (usize, usize), fps: f32) -> Result<Self, Error> {
        let made = |folder: &Path| {
            fs::create_dir_all(folder)
                .map_err(|error| Error::output(folder, error.to_string(), "name a folder that can be made"))
        };
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let Some(ending) = ending else {
            if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
                return Err(Error::input(path, "the folder is not empty", "name another one"));
            }
            made(path)?;
            return Ok(Self { path: path.to_owned(), size, frames: 0, kind: Kind::Folder });
        };
        let Some((_, how)) = KINDS.iter().find(|(known, _)| **known == ending) else {
            let right = "end the name in .mp4, .gif or .webp, or name a folder for single pictures";
            return Err(Error::input(path, format!("films are not written as .{ending}"), right));
        };
        if path.is_dir() {
            return Err(Error::output(path, "there is a folder of this name", "move it away or write elsewhere"));
        }
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).map_or(Ok(()), made)?;
        let parts = (1..)
            .map(|number: usize| if number > 1 { format!("part{number}.{ending}") } else { format!("part.{ending}") });
        let free = parts.map(|end| path.with_extension(end)).find(|part| !part.exists());
        let part = free.unwrap_or_else(|| path.with_extension("part"));
        let (width, height) = size;
        // Without this, a name with a colon would be one of another machine.
        let mut file = OsString::from("file:");
        file.push(&part);
        let mut command = Command::new("ffmpeg");
        command
            .args(["-hide_banner", "-loglevel", "error", "-nostdin", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"])
            .args(["-s", &format!("{width}x{height}"), "-framerate", &fps.to_string(), "-i", "-"])
            .args(*how)
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        // Ctrl+C ends the program in order, and the encoder with it: it must not get the signal itself.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut encoder = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                let right = "install ffmpeg, or name a folder to get single pictures";
                Error::input(path, "ffmpeg, which makes films, is not installed", right)
            }
            _ => {
                Error::output(path, format!("ffmpeg does not start ({error})"), "name a folder to get single pictures")
            }
        })?;
        // What it says is read at once: a full pipe would stop it.
        let said = encoder.stderr.take().map(|mut pipe| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = pipe.read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            })
        });
        Ok(Self { path: path.to_owned(), size, frames: 0, kind: Kind::Encoded { part, encoder, said } })
    }

    /// Pictures so far.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Adds a picture: red, green and blue of each pixel, rows from top to bottom.
    ///
    /// # Errors
    /// It cannot be written; what was written before stays.
    pub fn add(&mut self, pixels: &[u8]) -> Result<(), Error> {
        self.frames += 1;
        match &mut self.kind {
            Kind::Folder => {
                let file = self.path.join(format!("{:06}.png", self.frames));
                write_picture(&file, self.size, pixels, &JobProgress::default())
            }
            Kind::Encoded { encoder, said, .. } => {
                let sent = encoder.stdin.as_mut().map(|pipe| pipe.write_all(pixels));
                match sent {
                    Some(Ok(())) => Ok(()),
                    _ => Err(refused(&self.path, encoder, said)),
                }
            }
        }
    }

    /// Ends the film and puts it in its place.
    ///
    /// # Errors
    /// It cannot be ended; what was written lies beside it, with `.part` in its name.
    pub fn end(mut self) -> Result<(), Error> {
        let Kind::Encoded { part, encoder, said } = &mut self.kind else { return Ok(()) };
        drop(encoder.stdin.take());
        if !encoder.wait().is_ok_and(|status| status.success()) {
            return Err(refused(&self.path, encoder, said));
        }
        fs::rename(&*part, &self.path)
            .map_err(|error| Error::output(&self.path, error.to_string(), format!("the film is {}", part.display())))
    }
}

impl Drop for Film {
    /// Removes what holds no picture.
    fn drop(&mut self) {
        if self.frames > 0 {
            return;
        }
        match &mut self.kind {
            Kind::Folder => drop(fs::remove_dir(&self.path)),
            Kind::Encoded { part, encoder, .. } => {
                let _ = encoder.kill();
                let _ = encoder.wait();
                drop(fs::remove_file(part));
            }
        }
    }
}

/// What the encoder says of why it has ended.
fn refused(path: &Path, encoder: &mut Child, said: &mut Option<JoinHandle<String>>) -> Error {
    drop(encoder.stdin.take());
    let text = said.take().and_then(|said| said.join().ok()).unwrap_or_default();
    let first = text.lines().next().unwrap_or("it did not say why").trim().to_owned();
    Error::output(path, format!("ffmpeg stopped ({first})"), "see whether the disk is full, or name a folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(shade: u8) -> Vec<u8> {
        vec![shade; 3 * 32 * 24]
    }

    #[test]
    fn a_folder_gets_a_picture_for_each_frame_and_a_full_one_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let path = folder.path().join("frames");
        let mut film = Film::begin(&path, (32, 24), 30.0).unwrap_or_else(|error| panic!("{error}"));
        (0..3).for_each(|shade| film.add(&picture(80 * shade)).unwrap_or_else(|error| panic!("{error}")));
        film.end().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(fs::read_dir(&path).map(Iterator::count).unwrap_or_default(), 3);
        assert!(Film::begin(&path, (32, 24), 30.0).is_err());
        let empty = folder.path().join("empty");
        drop(Film::begin(&empty, (32, 24), 30.0).unwrap_or_else(|error| panic!("{error}")));
        assert!(!empty.exists(), "a folder without pictures stays");
        let wrong = Film::begin(&folder.path().join("a.avi"), (32, 24), 30.0).expect_err("it is no kind of film");
        assert!(wrong.to_string().contains(".avi") && wrong.to_string().contains(".mp4"), "{wrong}");
    }
}
