//! `thalweg film`: renders a video of a simulation off-screen.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    Failure, is_interrupted, print,
    setup::{RunOptions, TickArguments, parse_blur, parse_size},
};
use thalweg_scene::{
    io::{
        Error, ImagePixels,
        film::{VideoWriter, title_card},
        input, project,
        scene::RenderOptions,
        watch::VideoJob,
    },
    model::{
        film::{CAMERAS, CameraKeyframe, Caption, Script},
        session::Session,
    },
};

/// Maximum number of frames: an hour and a half at 60 frames per second.
const MOST_FRAMES: u64 = 324_000;

#[derive(Args)]
pub(super) struct FilmArgs {
    #[command(flatten)]
    start: RunOptions,
    /// Output: .mp4, .gif or .webp, or a folder for an image sequence
    #[arg(long, value_name = "FILE|DIR")]
    out: PathBuf,
    /// Ticks per frame
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    every: u32,
    /// Frames per second
    #[arg(long, value_name = "N", default_value_t = 30.0, value_parser = parse_fps)]
    fps: f32,
    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "1280x720", value_parser = parse_size)]
    resolution: (usize, usize),
    /// Named camera, or a file (.ron) with keyframes, captions, title card and fades; by default the keyframes of the project, else "default"
    #[arg(long, value_name = "NAME|FILE.ron")]
    camera: Option<String>,
    /// Angle through which a named camera orbits during the video, in degrees
    #[arg(long, value_name = "DEGREES", default_value_t = 0.0, allow_negative_numbers = true)]
    turn: f64,
    /// Caption for frames without one in the camera file
    #[arg(long, value_name = "TEXT")]
    caption: Option<String>,
    /// Include the panels
    #[arg(long)]
    ui: bool,
    /// Depth of field: diameter of the blur disc of a distant point, as a percentage of the image height. Renders each frame 64
    /// times
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_blur, conflicts_with = "ui")]
    blur: f32,
    /// Format of an image sequence: png as displayed, exr with half floats and no tone curve
    #[arg(long, value_name = "FORMAT", default_value = "png")]
    frames: Frames,
}

/// File format of an image sequence.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Frames {
    Png,
    Exr,
}

fn parse_fps(text: &str) -> Result<f32, String> {
    text.parse().ok().filter(|fps| (1.0..=120.0).contains(fps)).ok_or_else(|| "use a value from 1 to 120".to_owned())
}

impl FilmArgs {
    pub(super) fn run(
        self,
        shoot: impl FnOnce(Vec<Session>, &mut VideoJob<'_>) -> Result<(), Error>,
    ) -> Result<(), Failure> {
        let (width, height) = self.resolution;
        if !(16..=4096).contains(&width) || !(16..=4096).contains(&height) {
            return Err(Failure::bad_input("--resolution is out of range: use 16 to 4096 pixels per side"));
        }
        let as_light = self.frames == Frames::Exr;
        if as_light && self.out.extension().is_some() {
            let sentence = format!("{}: EXR needs an image sequence; use a folder name", self.out.display());
            return Err(Failure::bad_input(sentence));
        }
        if as_light && self.ui {
            return Err(Failure::bad_input("--frames exr: EXR images cannot include panels; omit --ui"));
        }
        let mut sessions = self.start.sessions()?;
        let ticks = sessions.iter().map(|session| session.ticks).max().unwrap_or_default();
        let begun = sessions[0].simulation.ticks();
        let keys = self.keys()?;
        let last = keys.as_ref().and_then(|keys| keys.camera.last()).map(|key| key.tick as u64);
        if last.is_some_and(|last| last < begun) {
            let sentence = format!(
                "all camera keyframes lie before tick {begun}, the current tick of the project; go back to the first \
                    keyframe in the window and save the project there, or use --camera"
            );
            return Err(Failure::bad_input(sentence));
        }
        let (from, to) = match (self.start.asked_ticks(), last) {
            (Some(TickArguments { from: Some(from), to }), _) => (from, to),
            (None, Some(last)) => (begun, last),
            (asked, _) => (begun, begun.saturating_add(asked.map_or(ticks, |asked| asked.to))),
        };
        if from < begun {
            return Err(Failure::bad_input(format!(
                "--ticks {from}..{to}: the input is already at tick {begun}; start at tick {begun} or later"
            )));
        }
        let more = (to - from) / u64::from(self.every);
        if more >= MOST_FRAMES {
            let sentence = format!(
                "the video would have more than {more} frames, but the limit is {MOST_FRAMES}; use a larger --every"
            );
            return Err(Failure::bad_input(sentence));
        }
        let script = self.script(keys, [from as f64, to as f64])?;
        let (title, fade) = (script.title.clone(), script.fade);
        let mut film = VideoWriter::begin(&self.out, self.resolution, self.fps)?;
        self.start.grow(&mut sessions)?;
        let card = title.as_ref().map(|title| title_card(title, self.resolution)).transpose();
        let card = card.map_err(|wrong| Error::output(&self.out, wrong, "use a smaller --resolution"))?;
        let card = card.map(|pixels| ImagePixels::of_bytes(pixels, as_light));
        let titled = title.map_or(0, |title| (title.seconds * f64::from(self.fps)).round() as u64);
        let frames = more + 1;
        let mut count = 0;
        let bar = ProgressBar::new(frames);
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} frames, {eta} left") {
            bar.set_style(style);
        }
        let mut shooting = VideoJob {
            size: (width as u32, height as u32),
            how: RenderOptions { ui: self.ui, as_light, blur: self.blur, transparent: false },
            script,
            from,
            every: self.every,
            frames,
            stopped: &is_interrupted,
            take: &mut |pixels| {
                if let Some(card) = card.as_ref().filter(|_| count == 0) {
                    (0..titled).try_for_each(|_| film.add_picture(card))?;
                }
                let brightness = fade.brightness(count, frames, self.fps.into()) as f32;
                if brightness < 1.0 {
                    film.add_picture(&pixels.clone().with_brightness(brightness))?;
                } else {
                    film.add_picture(pixels)?;
                }
                count += 1;
                bar.inc(1);
                Ok(())
            },
        };
        let shot = shoot(sessions, &mut shooting);
        // Completed frames are kept, whatever the outcome.
        let written = film.frames();
        let ended = if count > 0 { film.end() } else { Ok(()) };
        bar.finish_and_clear();
        shot?;
        ended?;
        if count == 0 {
            return Err(Failure::stopped());
        }
        if count < frames {
            let sentence = format!("interrupted by Ctrl+C; {} contains the first {count} frames", self.out.display());
            return Err(Failure::while_running(sentence));
        }
        print(&format!("{}: {written} {}.\n", self.out.display(), if written == 1 { "frame" } else { "frames" }))
    }

    /// Returns the keyframes of the project, unless another camera is requested.
    fn keys(&self) -> Result<Option<Script>, Failure> {
        match self.start.project().filter(|_| self.camera.is_none() && self.turn == 0.0) {
            Some(path) => Ok(project::keys(path)?.script()),
            None => Ok(None),
        }
    }

    /// Returns the camera script.
    fn script(&self, keys: Option<Script>, [from, to]: [f64; 2]) -> Result<Script, Failure> {
        let camera = self.camera.as_deref().unwrap_or("default");
        let mut script = if let Some(script) = keys {
            script
        } else if camera.to_lowercase().ends_with(".ron") {
            let path = Path::new(camera);
            let text = input::text(path)?;
            let bad = |wrong: String| Failure::from(Error::input(path, wrong, "see docs/films.md"));
            if self.turn != 0.0 {
                return Err(Failure::bad_input("--turn requires a named camera; a camera file has its own keyframes"));
            }
            let script: Script = input::parse(&text, 0).map_err(bad)?;
            script.check().map_err(bad)?;
            script
        } else {
            let named = CAMERAS.iter().find(|(name, ..)| *name == camera).ok_or_else(|| {
                let names = CAMERAS.map(|(name, ..)| name).join(", ");
                Failure::bad_input(format!("there is no camera \"{camera}\"; use {names}, or a file (.ron)"))
            })?;
            let &(_, round, above, near) = named;
            let start = CameraKeyframe::still(round.into(), above.into(), near.into());
            // A video of one frame has no duration to turn in.
            Script::orbiting(start, self.turn, [from, to.max(from + 1.0)])
        };
        if let Some(text) = &self.caption {
            script.captions.insert(0, Caption { from: f64::MIN, to: f64::MAX, text: text.clone() });
        }
        script.check().map_err(|wrong| Failure::bad_input(format!("film: {wrong}")))?;
        Ok(script)
    }
}
