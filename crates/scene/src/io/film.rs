//! Videos, as a video file or as a folder of images.
//!
//! MP4, GIF and WebP are encoded by the system's `ffmpeg`, which receives the pixels through a pipe. The output goes to a temporary file
//! next to the target and is renamed at the end. An MP4 consists of one-second fragments, so a partial file is playable after a crash.

mod title;

use std::{
    ffi::OsString,
    fs,
    io::{ErrorKind, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{SyncSender, TrySendError, sync_channel},
    thread::{self, JoinHandle},
    time::Instant,
};

pub use self::title::title_card;
use super::{Error, ImagePixels, JobProgress, output, write_png_rgb8};

/// Extensions of video files, with the `ffmpeg` arguments of each.
const KINDS: [(&str, &[&str]); 3] = [
    // Recordings are padded to even sizes, which some players require; a fragment ends with each keyframe.
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
            // A palette per frame: a global palette would need all frames in memory.
            "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1:dither=sierra2_4a",
            "-loop",
            "0",
            "-f",
            "gif",
        ],
    ),
    ("webp", &["-c:v", "libwebp_anim", "-quality", "80", "-loop", "0", "-f", "webp"]),
];

/// Writer of a video file or an image sequence.
#[derive(Debug)]
pub struct VideoWriter {
    path: PathBuf,
    size: (usize, usize),
    frames: usize,
    kind: FrameOutput,
}

#[derive(Debug)]
enum FrameOutput {
    /// An image sequence in a folder.
    Folder,
    /// Temporary file, encoder process and its error output.
    Encoded { part: PathBuf, encoder: Child, messages: Option<JoinHandle<String>> },
}

impl VideoWriter {
    /// Starts a video of `size` (columns, rows) at `fps` frames per second, in the format of the file extension: `.mp4`, `.gif` or `.webp`.
    /// A name without an extension is a folder of images.
    ///
    /// # Errors
    /// The extension is unknown, an MP4 has an odd width or height, the folder cannot be created, a folder is in the way of the file,
    /// or `ffmpeg` is missing.
    pub fn begin(path: &Path, size: (usize, usize), fps: f32) -> Result<Self, Error> {
        let (width, height) = size;
        let is_mp4 = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("mp4"));
        if is_mp4 && (width % 2 == 1 || height % 2 == 1) {
            let (less, more) = ((width & !1, height & !1), (width + width % 2, height + height % 2));
            let right = format!("use {}x{} or {}x{}, or .gif or .webp", less.0, less.1, more.0, more.1);
            let wrong = format!("an MP4 of {width}x{height} is not possible, as H.264 needs an even width and height");
            return Err(Error::input(path, wrong, right));
        }
        Self::begin_with(path, size, fps, &[])
    }

    /// As [`begin`](Self::begin), with additional arguments for `ffmpeg`.
    fn begin_with(path: &Path, size: (usize, usize), fps: f32, more: &[&str]) -> Result<Self, Error> {
        let made = |folder: &Path| {
            fs::create_dir_all(folder)
                .map_err(|error| Error::output(folder, error.to_string(), "choose a folder that can be created"))
        };
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let Some(ending) = ending else {
            if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
                return Err(Error::input(path, "the folder is not empty", "empty it or choose another folder"));
            }
            made(path)?;
            return Ok(Self { path: path.to_owned(), size, frames: 0, kind: FrameOutput::Folder });
        };
        let Some((_, how)) = KINDS.iter().find(|(known, _)| **known == ending) else {
            let right = "use .mp4, .gif or .webp, or a name without an extension for an image sequence";
            return Err(Error::input(path, format!(".{ending} is not a supported video format"), right));
        };
        if path.is_dir() {
            return Err(Error::output(path, "a folder with this name exists", "rename it or choose another name"));
        }
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).map_or(Ok(()), made)?;
        let parts = (1..)
            .map(|number: usize| if number > 1 { format!("part{number}.{ending}") } else { format!("part.{ending}") });
        let free = parts.map(|end| path.with_extension(end)).find(|part| !part.exists());
        let part = free.unwrap_or_else(|| path.with_extension("part"));
        let (width, height) = size;
        // Without this prefix, a name with a colon would be parsed as a URL.
        let mut file = OsString::from("file:");
        file.push(&part);
        let mut command = Command::new("ffmpeg");
        command
            .args(["-hide_banner", "-loglevel", "error", "-xerror", "-nostdin", "-y"])
            .args(["-f", "rawvideo", "-pix_fmt", "rgb24"])
            .args(["-s", &format!("{width}x{height}"), "-framerate", &fps.to_string(), "-i", "-"])
            .args(*how)
            .args(more)
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        // Ctrl+C shuts the program down cleanly, including the encoder, which must not receive the signal itself.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut encoder = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                let right = "install ffmpeg, or choose a folder to get an image sequence";
                Error::input(path, "ffmpeg, which encodes videos, is not installed", right)
            }
            _ => Error::output(
                path,
                format!("ffmpeg failed to start ({error})"),
                "choose a folder to get an image sequence",
            ),
        })?;
        // Drains the error output continuously: a full pipe would block the encoder.
        let messages = encoder.stderr.take().map(|mut pipe| {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = pipe.read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            })
        });
        Ok(Self { path: path.to_owned(), size, frames: 0, kind: FrameOutput::Encoded { part, encoder, messages } })
    }

    /// Returns the number of frames written so far.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Appends a frame: RGB pixels in rows from top to bottom.
    ///
    /// # Errors
    /// The frame cannot be written; earlier frames are kept.
    pub fn add(&mut self, pixels: &[u8]) -> Result<(), Error> {
        match &mut self.kind {
            FrameOutput::Folder => {
                let file = self.path.join(format!("{:06}.png", self.frames + 1));
                write_png_rgb8(&file, self.size, pixels, &JobProgress::default())?;
            }
            FrameOutput::Encoded { encoder, messages, .. } => {
                let sent = encoder.stdin.as_mut().map(|pipe| pipe.write_all(pixels));
                if !matches!(sent, Some(Ok(()))) {
                    return Err(encoder_error(&self.path, encoder, messages));
                }
            }
        }
        self.frames += 1;
        Ok(())
    }

    /// Appends a frame in linear light or as RGB bytes.
    ///
    /// # Errors
    /// The frame cannot be written, or it is in linear light and the video is not an image sequence.
    pub fn add_picture(&mut self, pixels: &ImagePixels) -> Result<(), Error> {
        match (pixels, &self.kind) {
            (ImagePixels::Bytes(bytes), _) => self.add(bytes),
            (light, FrameOutput::Folder) => {
                let file = self.path.join(format!("{:06}.{}", self.frames + 1, light.ending()));
                light.write(&file, self.size, &JobProgress::default())?;
                self.frames += 1;
                Ok(())
            }
            (_, FrameOutput::Encoded { .. }) => Err(Error::output(
                &self.path,
                "a video file cannot store linear light",
                "choose a folder for an image sequence",
            )),
        }
    }

    /// Finishes the video and moves it to its final path.
    ///
    /// # Errors
    /// Encoding failed; the partial output is next to the target, with `.part` in its name.
    pub fn end(mut self) -> Result<(), Error> {
        let FrameOutput::Encoded { part, encoder, messages } = &mut self.kind else { return Ok(()) };
        drop(encoder.stdin.take());
        let succeeded = encoder.wait().is_ok_and(|status| status.success());
        let reported = messages.take().and_then(|messages| messages.join().ok()).unwrap_or_default();
        // On a full disk, some versions report errors but exit successfully.
        if !succeeded || !reported.trim().is_empty() {
            return Err(encoding_failed(&self.path, &reported));
        }
        output::flush(part)?;
        fs::rename(&*part, &self.path).map_err(|error| {
            Error::output(&self.path, error.to_string(), format!("the video was kept as {}", part.display()))
        })
    }
}

impl Drop for VideoWriter {
    /// Removes the output if it has no frames.
    fn drop(&mut self) {
        if self.frames > 0 {
            return;
        }
        match &mut self.kind {
            FrameOutput::Folder => drop(fs::remove_dir(&self.path)),
            FrameOutput::Encoded { part, encoder, .. } => {
                let _ = encoder.kill();
                let _ = encoder.wait();
                drop(fs::remove_file(part));
            }
        }
    }
}

/// Columns and rows of an image, and its RGB pixels.
pub type RgbFrame = ((usize, usize), Vec<u8>);

/// Deferred read-back of a frame, run on the writer thread.
pub type FrameSource = Box<dyn FnOnce() -> Option<RgbFrame> + Send>;

/// Frame rate of a recording, in frames per second.
const RECORDING_FPS: f32 = 30.0;
/// `ffmpeg` arguments for encoding in real time.
const IN_HASTE: [&str; 2] = ["-preset", "ultrafast"];
/// Delay of the encoder in seconds beyond which the recording drops time, so that the backlog stays bounded.
const MAX_DELAY: f64 = 2.0;
/// Capacity of the frame queue. If it is full, new frames are dropped and the previous one is held longer.
const FRAME_QUEUE_CAPACITY: usize = 3;

/// Real-time recording: each frame is held until the next one arrives.
pub struct VideoRecorder {
    begun: Instant,
    /// Seconds since the start with a frame; `None` ends the recording.
    shots: SyncSender<(f64, Option<FrameSource>)>,
    writer: JoinHandle<Result<RecordingResult, Error>>,
}

/// Result of a recording.
#[derive(Debug, PartialEq)]
pub struct RecordingResult {
    /// Path of the video file or folder.
    pub path: PathBuf,
    /// Duration in seconds.
    pub seconds: f64,
    /// Seconds dropped because the encoder was too slow.
    pub missing: f64,
    /// `true` if the recording is a folder of images.
    pub is_folder: bool,
}

impl VideoRecorder {
    /// Starts an MP4 at this path, or a folder of images if there is no `ffmpeg`.
    ///
    /// # Errors
    /// Neither can be created.
    pub fn begin(path: &Path, size: (usize, usize)) -> Result<Self, Error> {
        let folder = path.with_extension("");
        let film = VideoWriter::begin_with(path, size, RECORDING_FPS, &IN_HASTE)
            .or_else(|error| VideoWriter::begin(&folder, size, RECORDING_FPS).map_err(|_| error))?;
        let (shots, taken) = sync_channel(FRAME_QUEUE_CAPACITY);
        let writer = thread::Builder::new().name("film".into());
        let begun = Instant::now();
        let writer = writer
            .spawn(move || roll(film, taken.into_iter(), || begun.elapsed().as_secs_f64()))
            .map_err(|error| Error::output(path, error.to_string(), "close other applications"))?;
        Ok(Self { begun, shots, writer })
    }

    /// Returns the seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Shows a frame from now on. Returns `false` if the writer has stopped; [`end`](Self::end) then returns the reason.
    pub fn show(&self, shot: FrameSource) -> bool {
        !matches!(self.shots.try_send((self.seconds(), Some(shot))), Err(TrySendError::Disconnected(_)))
    }

    /// Ends the recording and returns its result.
    ///
    /// # Errors
    /// Writing failed; the partial output is kept.
    pub fn end(self) -> Result<RecordingResult, Error> {
        // If the writer has stopped, its result has the reason.
        let _ = self.shots.send((self.seconds(), None));
        drop(self.shots);
        self.writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Writes frames as they arrive, each repeated for its duration, up to the one that ends them. `now` returns the seconds since the start.
fn roll(
    mut film: VideoWriter,
    shots: impl Iterator<Item = (f64, Option<FrameSource>)>,
    now: impl Fn() -> f64,
) -> Result<RecordingResult, Error> {
    let rate = f64::from(RECORDING_FPS);
    let (mut seen, mut missing): (Option<Vec<u8>>, f64) = (None, 0.0);
    for (seconds, shot) in shots {
        if now() - seconds > MAX_DELAY {
            missing = missing.max(seconds - film.frames() as f64 / rate);
        }
        if let Some(seen) = &seen {
            while (film.frames() as f64) < ((seconds - missing) * rate).round() {
                film.add(seen)?;
            }
        }
        match shot {
            None => break,
            Some(shot) => seen = shot().map(|pixels| crop_or_pad(pixels, film.size)).or(seen),
        }
    }
    let (path, is_folder) = (film.path.clone(), matches!(film.kind, FrameOutput::Folder));
    match seen {
        None => {
            return Err(Error::output(&path, "the graphics driver returned no image of the window", "record again"));
        }
        // Held for less than the duration of one frame.
        Some(seen) if film.frames() == 0 => film.add(&seen)?,
        Some(_) => {}
    }
    let seconds = film.frames() as f64 / rate;
    film.end()?;
    Ok(RecordingResult { path, seconds, missing, is_folder })
}

/// Crops an image to `size` or pads it with black.
fn crop_or_pad(((width, height), pixels): RgbFrame, size: (usize, usize)) -> Vec<u8> {
    if (width, height) == size {
        return pixels;
    }
    let mut out = vec![0; 3 * size.0 * size.1];
    let row = 3 * width.min(size.0);
    for (out, line) in out.chunks_exact_mut(3 * size.0).zip(pixels.chunks_exact(3 * width)).take(height) {
        out[..row].copy_from_slice(&line[..row]);
    }
    out
}

/// Returns the encoder's error output as an error.
fn encoder_error(path: &Path, encoder: &mut Child, messages: &mut Option<JoinHandle<String>>) -> Error {
    drop(encoder.stdin.take());
    let text = messages.take().and_then(|messages| messages.join().ok()).unwrap_or_default();
    encoding_failed(path, &text)
}

/// Creates the error of a failed encoding, with the first line of its reason.
fn encoding_failed(path: &Path, reason: &str) -> Error {
    let first = reason.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given").trim();
    Error::output(
        path,
        format!("ffmpeg failed ({first})"),
        "free some disk space, or choose a folder for an image sequence",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(shade: u8) -> Vec<u8> {
        vec![shade; 3 * 32 * 24]
    }

    #[test]
    fn recorded_frames_keep_their_duration() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let path = folder.path().join("live");
        let film = VideoWriter::begin(&path, (32, 24), RECORDING_FPS).unwrap_or_else(|error| panic!("{error}"));
        let shot = |shade: u8, size: (usize, usize)| -> Option<FrameSource> {
            Some(Box::new(move || Some((size, vec![shade; 3 * size.0 * size.1]))))
        };
        let nothing: Option<FrameSource> = Some(Box::new(|| None));
        // Meanwhile the window becomes wider and lower, and the driver once returns no image.
        let shots = [
            (0.0, shot(10, (32, 24))),
            (0.1, shot(20, (40, 12))),
            (0.15, nothing),
            (0.2, shot(30, (32, 24))),
            (0.5, None),
        ];
        let filmed = roll(film, shots.into_iter(), || 0.0).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(filmed, RecordingResult { path: path.clone(), seconds: 0.5, missing: 0.0, is_folder: true });
        let shade = |frame: usize| {
            let file = fs::File::open(path.join(format!("{frame:06}.png"))).expect("it was written");
            let mut reader = png::Decoder::new(std::io::BufReader::new(file)).read_info().expect("it is an image");
            let mut pixels = vec![0; reader.output_buffer_size().expect("it fits")];
            reader.next_frame(&mut pixels).expect("it is whole");
            [pixels[0], pixels[pixels.len() - 1]]
        };
        let shades: Vec<_> = (1..=15).map(shade).collect();
        assert_eq!(shades, [vec![[10, 10]; 3], vec![[20, 0]; 3], vec![[30, 30]; 9]].concat());
    }

    #[test]
    fn slow_encoder_reports_missing_seconds() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let path = folder.path().join("slow");
        let film = VideoWriter::begin(&path, (32, 24), RECORDING_FPS).unwrap_or_else(|error| panic!("{error}"));
        let shots = [0.0, 0.1, 5.0, 5.1, 5.3].map(|seconds| {
            let shot: FrameSource = Box::new(|| Some(((32, 24), vec![9; 3 * 32 * 24])));
            (seconds, Some(shot))
        });
        // Late for the third and fourth frame only.
        let clock = std::cell::RefCell::new([0.0, 0.1, 8.0, 8.1, 5.4].into_iter());
        let now = || clock.borrow_mut().next().expect("it looks once for each");
        let filmed = roll(film, shots.into_iter(), now).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(fs::read_dir(&path).map(Iterator::count).unwrap_or_default(), 9);
        assert!((filmed.seconds - 0.3).abs() < 1e-9 && (filmed.missing - 5.0).abs() < 1e-9, "{filmed:?}");
    }

    #[test]
    fn recording_without_frames_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let reel =
            VideoRecorder::begin(&folder.path().join("none.mp4"), (32, 24)).unwrap_or_else(|error| panic!("{error}"));
        assert!(reel.show(Box::new(|| None)));
        assert!(reel.seconds() < 60.0);
        let error = reel.end().expect_err("there is no frame");
        assert!(error.to_string().contains("no image"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).map(Iterator::count).unwrap_or_default(), 0);
    }

    #[test]
    fn image_sequence_writes_frames_to_new_folder_only() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let path = folder.path().join("frames");
        let mut film = VideoWriter::begin(&path, (32, 24), 30.0).unwrap_or_else(|error| panic!("{error}"));
        (0..3).for_each(|shade| film.add(&frame(80 * shade)).unwrap_or_else(|error| panic!("{error}")));
        film.end().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(fs::read_dir(&path).map(Iterator::count).unwrap_or_default(), 3);
        assert!(VideoWriter::begin(&path, (32, 24), 30.0).is_err());
        let empty = folder.path().join("empty");
        drop(VideoWriter::begin(&empty, (32, 24), 30.0).unwrap_or_else(|error| panic!("{error}")));
        assert!(!empty.exists(), "a folder without frames stays");
        let wrong =
            VideoWriter::begin(&folder.path().join("a.avi"), (32, 24), 30.0).expect_err("it is no kind of film");
        assert!(wrong.to_string().contains(".avi") && wrong.to_string().contains(".mp4"), "{wrong}");
        let odd = VideoWriter::begin(&folder.path().join("a.MP4"), (33, 24), 30.0).expect_err("H.264 cannot hold it");
        assert!(odd.to_string().ends_with("use 32x24 or 34x24, or .gif or .webp") && odd.exit_code() == 2, "{odd}");
    }

    #[test]
    fn frame_that_cannot_be_written_is_not_counted() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let path = folder.path().join("frames");
        let mut film = VideoWriter::begin(&path, (32, 24), 30.0).unwrap_or_else(|error| panic!("{error}"));
        film.add(&frame(9)).unwrap_or_else(|error| panic!("{error}"));
        // The second frame is too short, and the folder of the third one is gone.
        assert!(film.add(&[0; 7]).is_err() && film.frames() == 1);
        assert_eq!(fs::read_dir(&path).map(Iterator::count).unwrap_or_default(), 1, "a truncated frame was left");
        fs::remove_dir_all(&path).expect("it is ours");
        let error = film.add(&frame(9)).expect_err("there is no folder").to_string();
        assert!(error.contains("000002.png: writing failed") && film.frames() == 1, "{error}");
    }
}
