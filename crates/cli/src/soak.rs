//! `thalweg soak`: runs scenes for minutes or hours and reports mass balance, memory and timings.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use clap::Args;
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use super::{Failure, is_interrupted, print, setup::tick};
use thalweg_scene::{
    io::{
        scene::{self, BUILT_IN},
        watch::{FrameAction, FrameCallback, FrameContext},
    },
    model::{origin::Options, session::Session},
};
use thalweg_sim::core::ledger::Account;

/// Interval between memory readings.
const LOOK: Duration = Duration::from_millis(100);
const MINUTE: Duration = Duration::from_secs(60);
/// Maximum of recorded times: an hour, in nanoseconds.
const HOUR: u64 = 3_600_000_000_000;

#[derive(Args)]
pub(super) struct SoakArgs {
    /// Built-in scene, scene file (.ron), project (.thalweg) or heightmap; "all" runs all built-in scenes in turn
    scene: String,
    /// Duration in minutes, divided equally among the scenes; loading time is not counted
    #[arg(long, value_name = "N", value_parser = parse_minutes)]
    minutes: f64,
}

fn parse_minutes(text: &str) -> Result<f64, String> {
    let minutes = text.parse().ok().filter(|minutes| (1e-3..=1e5).contains(minutes));
    minutes.ok_or_else(|| "use 0.001 to 100000 minutes".to_owned())
}

impl SoakArgs {
    /// Runs the scenes, off-screen if there is a graphics driver.
    pub(super) fn run(
        self,
        frames: impl FnOnce(Vec<Session>, &mut FrameCallback<'_>) -> Result<(), String>,
    ) -> Result<(), Failure> {
        // Installs the handler, so that Ctrl+C ends the run with a report.
        is_interrupted();
        let scenes = match &*self.scene {
            "all" => BUILT_IN.map(|(name, _)| name.to_owned()).to_vec(),
            _ => vec![self.scene],
        };
        let first = open(Path::new(&scenes[0]))?;
        let mut log = Log::new(scenes, Duration::from_secs_f64(60.0 * self.minutes));
        let drawn = frames(first.clone(), &mut |frame| log.record_frame(&frame));
        let not_drawn = match drawn {
            Err(reason) if log.start.is_some() => return Err(Failure::while_running(reason)),
            Err(reason) => {
                play(first, &mut |frame| log.record_frame(&frame))?;
                Some(reason)
            }
            Ok(()) => None,
        };
        let minutes = log.elapsed().as_secs_f64() / 60.0;
        print(&format!("{:#}\n", log.report(minutes, not_drawn)))?;
        if is_interrupted() {
            return Err(Failure::while_running(format!("interrupted by Ctrl+C after {minutes:.1} minutes")));
        }
        Ok(())
    }
}

fn open(scene: &Path) -> Result<Vec<Session>, Failure> {
    let mut sessions = scene::open(scene, &Options::default())?;
    for session in &mut sessions {
        (0..session.shown_from).for_each(|_| session.simulation.tick());
    }
    Ok(sessions)
}

/// Runs sessions without rendering: one tick per frame.
fn play(mut sessions: Vec<Session>, watch: &mut FrameCallback<'_>) -> Result<(), Failure> {
    loop {
        tick(&mut sessions)?;
        match watch(FrameContext { sessions: &sessions, history_bytes: 0, opening: false }) {
            FrameAction::Continue => {}
            FrameAction::Open(scene, _) => sessions = open(&scene)?,
            FrameAction::End => return Ok(()),
        }
    }
}

/// Log of a soak test.
struct Log {
    scenes: Vec<String>,
    /// Time for each scene.
    share: Duration,
    /// End of the first frame, and of the first frame of the current scene. Opening time is not counted.
    start: Option<Instant>,
    since: Instant,
    memory: ResidentMemory,
    /// End of the last frame; `None` before the first frame of a scene.
    last: Option<Instant>,
    /// Completed ticks, and process time in seconds at that moment.
    ticked: (u64, f64),
    now: SoakStatistics,
    /// Records of completed scenes, and of each minute.
    completed: Vec<Value>,
    minutes: Vec<Value>,
}

/// Statistics of the current scene: times in nanoseconds with 1 % precision, resident memory in bytes.
struct SoakStatistics {
    frames: Histogram<u64>,
    ticks: Histogram<u64>,
    start: u64,
    peak: u64,
}

impl SoakStatistics {
    fn new(start: u64) -> Self {
        let times = || Histogram::new_with_bounds(1, HOUR, 2).expect("the bounds lie apart");
        Self { frames: times(), ticks: times(), start, peak: 0 }
    }
}

impl Log {
    fn new(scenes: Vec<String>, whole: Duration) -> Self {
        let memory = ResidentMemory::new();
        let now = SoakStatistics::new(memory.now);
        let share = whole / scenes.len() as u32;
        let (over, minutes) = (Vec::new(), Vec::new());
        let since = Instant::now();
        Self { scenes, share, start: None, since, memory, last: None, ticked: (0, 0.0), now, completed: over, minutes }
    }

    fn elapsed(&self) -> Duration {
        self.start.map_or(Duration::ZERO, |start| start.elapsed())
    }

    fn scene(&self) -> &str {
        &self.scenes[self.completed.len().min(self.scenes.len() - 1)]
    }

    fn record_frame(&mut self, frame: &FrameContext<'_>) -> FrameAction {
        if frame.opening {
            return if is_interrupted() { FrameAction::End } else { FrameAction::Continue };
        }
        let ended = Instant::now();
        self.start.get_or_insert(ended);
        let run = &frame.sessions[0].simulation;
        let slots = frame.sessions.iter().flat_map(|session| &session.simulation.slots);
        let (ticks, seconds) = (run.ticks(), slots.map(|slot| slot.seconds).sum::<f64>());
        if let Some(last) = self.last {
            self.now.frames.saturating_record((ended - last).as_nanos() as u64);
            let (ticks_before, seconds_before) = self.ticked;
            if let Some(count @ 1..) = ticks.checked_sub(ticks_before) {
                let each = (seconds - seconds_before).max(0.0) / count as f64;
                self.now.ticks.saturating_record_n((each * 1e9) as u64, count);
            }
        }
        if self.last.is_none() {
            self.since = ended;
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
        if !is_interrupted() && self.since.elapsed() < self.share {
            self.last = Some(Instant::now());
            return FrameAction::Continue;
        }
        self.last = None;
        self.close(frame);
        match self.scenes.get(self.completed.len()).filter(|_| !is_interrupted()) {
            Some(scene) => FrameAction::Open(scene.into(), Options::default()),
            None => FrameAction::End,
        }
    }

    /// Records a completed scene.
    fn close(&mut self, frame: &FrameContext<'_>) {
        let SoakStatistics { frames, ticks, start, peak } =
            std::mem::replace(&mut self.now, SoakStatistics::new(self.memory.now));
        let runs: Vec<Value> = frame.sessions.iter().map(ledger).collect();
        self.completed.push(json!({
            "scene": self.scene(), "runs": runs, "frame_ms": summarize(&frames), "tick_ms": summarize(&ticks),
            "resident_bytes": {"start": start, "end": self.memory.now, "peak": peak},
            "history_bytes": frame.history_bytes,
        }));
    }

    fn report(self, minutes: f64, not_drawn: Option<String>) -> Value {
        let ResidentMemory { start, now, peak, .. } = self.memory;
        json!({
            "version": env!("CARGO_PKG_VERSION"), "minutes": minutes,
            "drawn": not_drawn.is_none(), "not_drawn_because": not_drawn,
            "resident_bytes": {"start": start, "end": now, "peak": peak, "minutes": self.minutes},
            "scenes": self.completed,
        })
    }
}

/// Returns the mass balance of a simulation: moved volume and residual, in cubic metres.
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

/// Resident memory of this process, in bytes.
struct ResidentMemory {
    system: System,
    looked: Instant,
    start: u64,
    now: u64,
    peak: u64,
}

impl ResidentMemory {
    fn new() -> Self {
        let mut memory = Self { system: System::new(), looked: Instant::now(), start: 0, now: 0, peak: 0 };
        memory.read();
        memory.start = memory.now;
        memory
    }

    /// Updates the reading at intervals, as it takes longer than a small tick.
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

/// Summarises times in milliseconds.
fn summarize(times: &Histogram<u64>) -> Value {
    let milliseconds = |nanoseconds: u64| nanoseconds as f64 * 1e-6;
    let [median, p95] = [0.5, 0.95].map(|share| milliseconds(times.value_at_quantile(share)));
    json!({"count": times.len(), "median": median, "p95": p95, "worst": milliseconds(times.max())})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soak_splits_time_between_scenes_and_reports_each() {
        let options = Options { size: Some((32, 32)), ..Options::default() };
        let mut sessions = scene::open("round-hill", &options).unwrap_or_else(|error| panic!("{error}"));
        let mut log = Log::new(vec!["one".to_owned(), "two".to_owned()], Duration::from_millis(200));
        let mut opened = Vec::new();
        loop {
            sessions[0].simulation.tick();
            match log.record_frame(&FrameContext { sessions: &sessions, history_bytes: 7, opening: false }) {
                FrameAction::Continue => {}
                FrameAction::Open(scene, _) => {
                    opened.push((scene, log.elapsed()));
                    sessions[0].restart(2);
                }
                FrameAction::End => break,
            }
        }
        let half = Duration::from_millis(100);
        assert!(matches!(&opened[..], [(scene, after)] if scene == "two" && *after >= half), "{opened:?}");
        assert!(log.elapsed() >= 2 * half);
        let report = log.report(0.1, Some("it was not drawn".to_owned()));
        assert_eq!(report["drawn"], false);
        for (scene, name) in report["scenes"].as_array().expect("a list").iter().zip(["one", "two"]) {
            let number = |place: &str| scene.pointer(place).and_then(Value::as_f64).unwrap_or(f64::NAN);
            assert_eq!(scene["scene"], name);
            assert_eq!(number("/tick_ms/count"), number("/frame_ms/count"));
            assert!(number("/tick_ms/count") > 1.0 && number("/tick_ms/median") <= number("/tick_ms/worst"), "{scene}");
            assert!(number("/frame_ms/median") >= number("/tick_ms/median"), "{scene}");
            assert_eq!(number("/history_bytes"), 7.0, "{scene}");
            assert!(number("/runs/0/solid/moved") > 0.0 && number("/runs/0/solid/share") <= 1e-5, "{scene}");
            assert!(number("/resident_bytes/peak") >= 1e6, "{scene}");
        }
    }

    #[test]
    fn soak_percentiles_are_within_two_percent() {
        let mut times = SoakStatistics::new(0).ticks;
        assert_eq!(summarize(&times)["median"], 0.0);
        for milliseconds in 1..=1000 {
            times.saturating_record_n(milliseconds * 1_000_000, 3);
        }
        let summary = summarize(&times);
        for (name, right) in [("count", 3000.0), ("median", 500.0), ("p95", 950.0), ("worst", 1000.0)] {
            let found = summary[name].as_f64().expect("a number");
            assert!((found / right - 1.0).abs() <= 0.02, "{name}: {found} for {right}");
        }
    }
}
