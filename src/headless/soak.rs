//! `thalweg soak`: plays scenes for minutes or hours, and tells whether mass, memory and times stay what they should be.

use std::{
    collections::BTreeMap,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use clap::Args;
use serde_json::{Value, json};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use super::{Failure, interrupted, print, tick};
use crate::{
    io::{
        Progress,
        scene::{self, BUILT_IN},
        watch::{Frame, Next, Watch},
    },
    model::{origin::Options, session::Session},
    sim::ledger::Account,
};

/// Memory is looked at so often.
const LOOK: Duration = Duration::from_millis(100);
const MINUTE: Duration = Duration::from_secs(60);

#[derive(Args)]
pub(super) struct Soak {
    /// A built-in scene, a scene file (.ron), a project (.thalweg) or a heightmap; "all" plays the built-in scenes in a row
    scene: String,
    /// How long they are played; scenes in a row share it, and opening them comes on top
    #[arg(long, value_name = "N", value_parser = parse_minutes)]
    minutes: f64,
}

fn parse_minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse().ok().filter(|minutes| (1e-3..=1e5).contains(minutes));
    minutes.ok_or_else(|| "write a number of minutes from 0.001 to 100000".to_owned())
}

impl Soak {
    /// Plays the scenes: off-screen, if a graphics driver is there.
    pub(super) fn run(
        self,
        frames: impl FnOnce(Vec<Session>, &mut Watch<'_>) -> Result<(), String>,
    ) -> Result<(), Failure> {
        // From here on Ctrl+C ends it with a report.
        let _ = interrupted();
        let scenes = match &*self.scene {
            "all" => BUILT_IN.map(|(name, _)| name.to_owned()).to_vec(),
            _ => vec![self.scene],
        };
        let first = open(&scenes[0])?;
        let mut log = Log::new(scenes, Duration::from_secs_f64(60.0 * self.minutes));
        let drawn = frames(first.clone(), &mut |frame| log.after(&frame));
        let not_drawn = match drawn {
            Err(reason) if log.start.is_some() => return Err(Failure::while_running(reason)),
            Err(reason) => {
                play(first, &mut |frame| log.after(&frame))?;
                Some(reason)
            }
            Ok(()) => None,
        };
        let minutes = log.elapsed().as_secs_f64() / 60.0;
        print(&format!("{:#}\n", log.report(minutes, not_drawn)))?;
        if interrupted().load(Ordering::Relaxed) {
            return Err(Failure::while_running(format!("stopped by Ctrl+C after {minutes:.1} minutes")));
        }
        Ok(())
    }
}

fn open(scene: &str) -> Result<Vec<Session>, Failure> {
    let mut sessions = scene::open(scene, &Options::default())?;
    sessions.iter_mut().for_each(|session| session.prepare(&Progress::default()));
    Ok(sessions)
}

/// Plays sessions without drawing them: a tick is a frame.
fn play(mut sessions: Vec<Session>, watch: &mut Watch<'_>) -> Result<(), Failure> {
    loop {
        tick(&mut sessions)?;
        match watch(Frame { sessions: &sessions, history_bytes: 0, opening: false }) {
            Next::GoOn => {}
            Next::Open(scene, _) => sessions = open(&scene)?,
            Next::End => return Ok(()),
        }
    }
}

/// What is noted while scenes are played.
struct Log {
    scenes: Vec<String>,
    /// How long each is played.
    share: Duration,
    /// When the first frame ended, and the first of the present scene: what opening takes is no part of its share.
    start: Option<Instant>,
    since: Instant,
    memory: Memory,
    /// When the last frame ended; none before the first of a scene.
    last: Option<Instant>,
    /// Finished ticks, and seconds that all processes had taken then.
    ticked: (u64, f64),
    now: Stretch,
    /// What was noted of the scenes that are over, and at the end of each minute.
    over: Vec<Value>,
    minutes: Vec<Value>,
}

/// What is noted while a scene is played.
#[derive(Default)]
struct Stretch {
    frames: Times,
    ticks: Times,
    start: u64,
    peak: u64,
}

impl Log {
    fn new(scenes: Vec<String>, whole: Duration) -> Self {
        let memory = Memory::new();
        let now = Stretch { start: memory.now, ..Stretch::default() };
        let share = whole / scenes.len() as u32;
        let (over, minutes) = (Vec::new(), Vec::new());
        let since = Instant::now();
        Self { scenes, share, start: None, since, memory, last: None, ticked: (0, 0.0), now, over, minutes }
    }

    fn elapsed(&self) -> Duration {
        self.start.map_or(Duration::ZERO, |start| start.elapsed())
    }

    fn scene(&self) -> &str {
        &self.scenes[self.over.len().min(self.scenes.len() - 1)]
    }

    fn after(&mut self, frame: &Frame<'_>) -> Next {
        if frame.opening {
            return if interrupted().load(Ordering::Relaxed) { Next::End } else { Next::GoOn };
        }
        let ended = Instant::now();
        self.start.get_or_insert(ended);
        let run = &frame.sessions[0].simulation;
        let slots = frame.sessions.iter().flat_map(|session| &session.simulation.slots);
        let (ticks, seconds) = (run.ticks(), slots.map(|slot| slot.seconds).sum::<f64>());
        if self.last.is_none() {
            self.since = ended;
        }
        if let Some(last) = self.last {
            self.now.frames.add(1, ended - last);
            let (ticks_before, seconds_before) = self.ticked;
            if let Some(count @ 1..) = ticks.checked_sub(ticks_before) {
                let each = (seconds - seconds_before).max(0.0) / count as f64;
                self.now.ticks.add(count, Duration::from_secs_f64(each));
            }
        }
        if self.last.is_none() || ticks != self.ticked.0 {
            self.ticked = (ticks, seconds);
        }
        self.memory.look();
        self.now.peak = self.now.peak.max(self.memory.now);
        while self.elapsed() >= MINUTE * (self.minutes.len() as u32 + 1) {
            self.minutes.push(json!({
                "minute": self.minutes.len() + 1, "scene": self.scene(), "resident_bytes": self.memory.now,
                "history_bytes": frame.history_bytes, "ticks": ticks,
            }));
        }
        let next = if interrupted().load(Ordering::Relaxed) {
            self.close(frame);
            Next::End
        } else if self.since.elapsed() < self.share {
            Next::GoOn
        } else {
            self.close(frame);
            match self.scenes.get(self.over.len()) {
                Some(scene) => Next::Open(scene.clone(), Options::default()),
                None => Next::End,
            }
        };
        self.last = if let Next::GoOn = next { Some(Instant::now()) } else { None };
        next
    }

    /// A scene is over.
    fn close(&mut self, frame: &Frame<'_>) {
        let Stretch { frames, ticks, start, peak } = std::mem::take(&mut self.now);
        let runs: Vec<Value> = frame.sessions.iter().map(ledger).collect();
        self.over.push(json!({
            "scene": self.scene(), "runs": runs, "frame_ms": frames.report(), "tick_ms": ticks.report(),
            "resident_bytes": {"start": start, "end": self.memory.now, "peak": peak},
            "history_bytes": frame.history_bytes,
        }));
        self.now.start = self.memory.now;
    }

    fn report(self, minutes: f64, not_drawn: Option<String>) -> Value {
        let Memory { start, now, peak, .. } = self.memory;
        json!({
            "version": env!("CARGO_PKG_VERSION"), "minutes": minutes,
            "drawn": not_drawn.is_none(), "not_drawn_because": not_drawn,
            "resident_bytes": {"start": start, "end": now, "peak": peak, "minutes": self.minutes},
            "scenes": self.over,
        })
    }
}

/// What a run's ledger says: cubic metres that were moved, and that no row accounts for.
fn ledger(session: &Session) -> Value {
    let simulation = &session.simulation;
    let row = |account: &Account, residual: f64| {
        let moved = account.sum(|row| row.moved);
        json!({"moved": moved, "residual": residual, "share": if moved > 0.0 { residual.abs() / moved } else { 0.0 }})
    };
    json!({
        "run": session.tile_title().as_ref().unwrap_or(&session.title), "ticks": simulation.ticks(),
        "solid": row(&simulation.ledger.solid, simulation.solid_residual()),
        "water": row(&simulation.ledger.water, simulation.water_residual()),
    })
}

/// Resident memory of this program, in bytes.
struct Memory {
    system: System,
    looked: Instant,
    start: u64,
    now: u64,
    peak: u64,
}

impl Memory {
    fn new() -> Self {
        let mut memory = Self { system: System::new(), looked: Instant::now(), start: 0, now: 0, peak: 0 };
        memory.read();
        memory.start = memory.now;
        memory
    }

    /// Reads it again, if that is due: it takes longer than a small tick.
    fn look(&mut self) {
        if self.looked.elapsed() >= LOOK {
            self.read();
        }
    }

    fn read(&mut self) {
        let own = Pid::from_u32(std::process::id());
        let memory = ProcessRefreshKind::nothing().with_memory();
        self.system.refresh_processes_specifics(ProcessesToUpdate::Some(&[own]), true, memory);
        self.now = self.system.process(own).map_or(0, sysinfo::Process::memory);
        self.peak = self.peak.max(self.now);
        self.looked = Instant::now();
    }
}

/// How long something took, many times. However often that is, it takes little memory: times are counted in steps of 2 %.
#[derive(Default)]
struct Times {
    /// How often, by the power of 1.02 that is the next above the milliseconds.
    counts: BTreeMap<i32, u64>,
    worst: f64,
}

impl Times {
    const STEP: f64 = 1.02;

    fn add(&mut self, count: u64, each: Duration) {
        let milliseconds = each.as_secs_f64() * 1e3;
        let step = milliseconds.max(1e-6).log(Self::STEP).ceil() as i32;
        *self.counts.entry(step).or_default() += count;
        self.worst = self.worst.max(milliseconds);
    }

    /// The time, in milliseconds, that so large a share of all did not exceed.
    fn quantile(&self, share: f64) -> f64 {
        let all: u64 = self.counts.values().sum();
        let mut rest = (share * all as f64).ceil() as u64;
        let found = self.counts.iter().find(|(_, count)| {
            let reached = rest <= **count;
            rest = rest.saturating_sub(**count);
            reached
        });
        found.map_or(0.0, |(step, _)| Self::STEP.powi(*step).min(self.worst))
    }

    fn report(&self) -> Value {
        let count: u64 = self.counts.values().sum();
        json!({"count": count, "median": self.quantile(0.5), "p95": self.quantile(0.95), "worst": self.worst})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_in_a_row_share_the_time_and_each_is_reported() {
        let options = Options { size: Some((32, 32)), ..Options::default() };
        let mut sessions = scene::open("round-hill", &options).unwrap_or_else(|error| panic!("{error}"));
        let mut log = Log::new(vec!["one".to_owned(), "two".to_owned()], Duration::from_millis(200));
        let mut opened = Vec::new();
        loop {
            sessions[0].simulation.tick();
            match log.after(&Frame { sessions: &sessions, history_bytes: 7, opening: false }) {
                Next::GoOn => {}
                Next::Open(scene, _) => {
                    opened.push((scene, log.elapsed()));
                    sessions[0].restart(2);
                }
                Next::End => break,
            }
        }
        let half = Duration::from_millis(100);
        assert!(matches!(&opened[..], [(scene, after)] if scene == "two" && *after >= half), "{opened:?}");
        assert!(log.elapsed() >= 2 * half);
        let report = log.report(0.1, Some("nobody looks".to_owned()));
        assert_eq!(report["drawn"], false);
        for (scene, name) in report["scenes"].as_array().expect("a list").iter().zip(["one", "two"]) {
            let number = |place: &str| scene.pointer(place).and_then(Value::as_f64).unwrap_or(f64::NAN);
            assert_eq!(scene["scene"], name);
            assert_eq!(number("/tick_ms/count"), number("/frame_ms/count"));
            assert!(number("/tick_ms/count") > 1.0 && number("/tick_ms/median") <= number("/tick_ms/worst"), "{scene}");
            assert!(
                number("/frame_ms/median") >= number("/tick_ms/median") && number("/history_bytes") == 7.0,
                "{scene}"
            );
            assert!(number("/runs/0/solid/moved") > 0.0 && number("/runs/0/solid/share") <= 1e-5, "{scene}");
            assert!(number("/resident_bytes/peak") >= 1e6, "{scene}");
        }
    }

    #[test]
    fn times_are_told_to_two_in_a_hundred() {
        let mut times = Times::default();
        assert_eq!(times.quantile(0.5), 0.0);
        for milliseconds in 1..=1000 {
            times.add(3, Duration::from_millis(milliseconds));
        }
        for (share, right) in [(0.5, 500.0), (0.95, 950.0), (1.0, 1000.0)] {
            let found = times.quantile(share);
            assert!((found / right - 1.0).abs() <= 0.0201, "{found} for {right}");
        }
        assert_eq!((times.worst, times.counts.values().sum::<u64>()), (1000.0, 3000));
        assert!(times.counts.len() < 360);
    }
}
