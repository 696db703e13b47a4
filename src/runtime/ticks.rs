//! Ticks: as many as are due and a frame's budget allows, or stage by stage to see what each does.
//!
//! A tick is the schedule [`SimTick`]: one system begins it, each process has one of its own in catalogue order, and one ends
//! it. Like Bevy's fixed main loop, [`run_due`] runs the schedule as often as ticks are due. Where a frame's time is over in the
//! middle of a tick, the systems before it find nothing to do in the next pass.

use std::time::{Duration, Instant};

use bevy::{ecs::schedule::ScheduleLabel, prelude::*};
use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};

use super::{
    Ahead, Course, Deadline, FrameBudget, FreeView, History, Level, Live, Notices, Overlay, Revision, RunCommand,
    SimSystems, TICKS_PER_SECOND, Timing, Transport, Workspace, smoothed,
};
use thalweg_scene::model::session::Session;
use thalweg_sim::{core::quantity::Quantity, process::catalogue};

/// Beyond this speed ticks matter more than the picture.
const FAST: f32 = 16.0;
/// A tick that takes longer is shown while it runs.
const LONG: Duration = Duration::from_millis(100);

/// A pass over a tick, or over what is left of one.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
struct SimTick;

/// The place of a system in [`SimTick`].
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Turn(usize);

pub(super) fn plugin(app: &mut App) {
    let processes = catalogue().len();
    app.init_schedule(SimTick)
        .add_systems(SimTick, (begin.in_set(Turn(0)), end.in_set(Turn(processes + 1))))
        .add_systems(Update, set_deadline.before(SimSystems::Edit));
    for process in 0..processes {
        let run_process = move |mut live: ResMut<Live>, deadline: Res<Deadline>| {
            live.sessions.par_iter_mut().for_each(|session| {
                let until = Some(deadline.ticks_until);
                while !session.simulation.advance_until(process, until) && !deadline.left().is_zero() {}
            });
        };
        app.add_systems(SimTick, run_process.in_set(Turn(process + 1)));
    }
    for turn in 0..=processes {
        app.configure_sets(SimTick, Turn(turn).before(Turn(turn + 1)));
    }
}

/// Says how long brush and ticks may work in this frame.
fn set_deadline(
    budget: Res<FrameBudget>,
    time: Res<Time>,
    (ahead, live, transport): (Res<Ahead>, Res<Live>, Res<Transport>),
    mut deadline: ResMut<Deadline>,
) {
    // Where drawing itself takes long, a software driver say, the simulation gets a fair part of the time: half as long as all else takes,
    // or longer on the way to the tick that is to be seen or at a high speed, but not so long that the picture stands.
    let hurries = ahead.runs(&live, &transport) || transport.speed > FAST;
    let (parts, longest) = if hurries { (1.5, 0.04) } else { (0.5, 0.3) };
    let rest = time.delta().saturating_sub(deadline.spent).as_secs_f64();
    deadline.begin(budget.0.max(Duration::from_secs_f64(rest.min(longest) * parts)));
}

/// Begins a tick, or goes on with one.
fn begin(mut live: ResMut<Live>, mut history: ResMut<History>) {
    ready(&mut live, &mut history).for_each(|session| session.simulation.begin_tick());
}

/// Ends the tick of every session in which all processes have done their part.
fn end(mut live: ResMut<Live>) {
    for session in &mut live.sessions {
        session.simulation.end_tick();
    }
}

/// Keeps what the next tick would make impossible to take back, and returns the sessions that take part: where several stand
/// side by side, one that has finished the tick waits for the others.
fn ready<'a>(live: &'a mut Live, history: &mut ResMut<History>) -> impl Iterator<Item = &'a mut Session> {
    let before = live.between_ticks();
    if before {
        history.bypass_change_detection().before_tick(live);
    }
    live.halted = false;
    let first = live.common_ticks();
    let takes_part = move |session: &&mut Session| before || session.simulation.ticks() == first;
    live.all_mut().iter_mut().filter(takes_part).for_each(Session::note_shape);
    live.all_mut().iter_mut().filter(takes_part)
}

/// Runs ticks until none is due or the frame's budget is spent. A tick may span frames.
pub(super) fn run_due(world: &mut World) {
    let elapsed = world.resource::<Time>().delta_secs_f64();
    let real = world.resource::<Time<Real>>().delta_secs_f64();
    let mut transport = *world.resource::<Transport>();
    if transport.playing && transport.slow.is_none() {
        let rate = TICKS_PER_SECOND * f64::from(transport.speed);
        // What the machine cannot keep up with is let go, not made up for later.
        transport.due = (transport.due + elapsed * rate).min((rate * 0.1).max(1.0));
    }
    // A begun tick is finished in any case; another one begins if it is due and neither the brush nor a picture waits.
    let due = |world: &World, transport: &Transport| {
        let ahead = || world.resource::<Ahead>().runs(world.resource::<Live>(), transport);
        let holds = transport.brush_waits || world.resource::<FreeView>().taking;
        !holds && (transport.due >= 1.0 || ahead())
    };
    let (begun, rests, mut worked) = (Instant::now(), world.resource::<Deadline>().rests, false);
    while !rests && (!world.resource::<Live>().rests() || due(world, &transport)) {
        worked = true;
        let pass = Instant::now();
        world.run_schedule(SimTick);
        let live = world.resource::<Live>();
        let finished = live.between_ticks();
        let complete = live
            .chosen()
            .simulation
            .slots
            .iter()
            .any(|slot| slot.enabled && slot.particles().is_some_and(|(done, total)| done >= total));
        let mut timing = world.resource_mut::<Timing>();
        timing.spent += pass.elapsed();
        if finished {
            timing.tick_ms = smoothed(timing.tick_ms, timing.spent.as_secs_f64() * 1e3);
            timing.spent = Duration::ZERO;
            timing.shown = Some(Instant::now());
            transport.due = (transport.due - 1.0).max(0.0);
            world.resource_mut::<Revision>().goes_on();
        }
        if finished && world.resource::<Course>().ends_at(world.resource::<Live>()) {
            transport = Transport { playing: false, due: 0.0, ..transport };
        }
        // Once, when the total is reached: a run that goes on is not stopped again, nor is one that a lesson wants.
        let taught = world.resource::<Course>().runs_to().is_some();
        let reached = finished && complete && transport.complete == Some(false) && !taught;
        transport.complete = Some(complete);
        if reached && transport.playing {
            transport = Transport { playing: false, due: 0.0, ..transport };
            let text = "The map is finished: the chosen total of droplets has run. Press Play to go on.";
            let play = Some(("Play", RunCommand::TogglePlay.into()));
            world.resource_mut::<Notices>().offer(Level::Info, text, play);
        }
        let deadline = world.resource::<Deadline>();
        // Ticks that follow each other without a pause would all be cut by the ends of frames, and none could be seen whole.
        let would_be_cut = || deadline.left().as_secs_f64() * 1e3 < world.resource::<Timing>().tick_ms;
        if deadline.left().is_zero() || (finished && transport.due < 1.0 && would_be_cut()) {
            break;
        }
    }
    if worked {
        world.resource_mut::<Deadline>().end(begun);
    }
    // A long tick is shown as it goes on.
    let live = world.resource::<Live>();
    let midway = !live.rests() && live.can_be_shown();
    let mut timing = world.resource_mut::<Timing>();
    if midway && timing.shown.is_none_or(|shown| shown.elapsed() > LONG) {
        timing.shown = Some(Instant::now());
        world.resource_mut::<Revision>().goes_on();
    }
    // A frame that only waited for something to happen says nothing.
    let drawn = world.resource::<FreeView>().drawn;
    let mut timing = world.resource_mut::<Timing>();
    if timing.drawn != drawn {
        timing.drawn = drawn;
        timing.frame_ms = smoothed(timing.frame_ms, real * 1e3);
    }
    *world.resource_mut::<Transport>() = transport;
}

/// Runs a stage, whole, if one is due.
pub(super) fn run_due_stage(
    time: Res<Time>,
    mut transport: ResMut<Transport>,
    mut live: ResMut<Live>,
    mut history: ResMut<History>,
    mut revision: ResMut<Revision>,
    (workspace, course, mut overlay): (Res<Workspace>, Res<Course>, ResMut<Overlay>),
) {
    let quiet = transport.bypass_change_detection();
    if let Some(rate) = quiet.slow.filter(|_| quiet.playing) {
        // Never more than one in a frame: each is to be seen.
        quiet.due = (quiet.due + time.delta_secs_f64() * f64::from(rate)).min(1.0);
        quiet.stage |= quiet.due >= 1.0;
    }
    if !std::mem::take(&mut quiet.stage) {
        return;
    }
    if quiet.slow.is_some() {
        quiet.due = 0.0;
    }
    ready(&mut live, &mut history).for_each(|session| {
        session.simulation.stage();
    });
    live.halted = !live.between_ticks();
    revision.goes_on();
    if !live.halted && course.ends_at(&live) {
        quiet.playing = false;
    }
    // A student sees which cells a stage has changed.
    if *workspace == Workspace::Learn && overlay.shown.is_none() {
        overlay.show(Some(Quantity::StageChange));
        overlay.by_stages = true;
    }
}
