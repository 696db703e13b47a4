//! Ticks: as many as are due and a frame's budget allows, or stage by stage for whoever wants to see what each does.

use std::time::{Duration, Instant};

use bevy::prelude::*;

use super::{
    Command, Deadline, FrameBudget, History, Level, Live, Notices, Revision, SimTick, TICKS_PER_SECOND, Timing,
    Transport, smoothed, timeline,
};
use crate::model::session::Session;

/// Runs ticks until none is due or the frame's budget is spent. A tick may span frames.
pub(super) fn run_due(world: &mut World) {
    let elapsed = world.resource::<Time>().delta_secs_f64();
    let real = world.resource::<Time<Real>>().delta_secs_f64();
    // Where drawing itself takes long, a software driver say, the simulation gets a fair part of the frame.
    let budget = world.resource::<FrameBudget>().0.max(Duration::from_secs_f64(elapsed.min(0.4) * 0.25));
    let mut transport = *world.resource::<Transport>();
    if transport.playing {
        let rate = TICKS_PER_SECOND * f64::from(transport.speed);
        // What the machine cannot keep up with is let go, not made up for later.
        transport.due = (transport.due + elapsed * rate).min((rate * 0.1).max(1.0));
    }
    let started = Instant::now();
    world.resource_mut::<Deadline>().0 = started + budget;
    while (transport.due >= 1.0 || !world.resource::<Live>().rests()) && started.elapsed() < budget {
        let pass = Instant::now();
        begin(world).for_each(|session| session.simulation.begin_tick());
        world.run_schedule(SimTick);
        for session in &mut world.resource_mut::<Live>().sessions {
            session.simulation.end_tick();
        }
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
            transport.due = (transport.due - 1.0).max(0.0);
            world.resource_mut::<Revision>().goes_on();
        }
        // Once, when the total is reached: who goes on is not stopped again.
        let reached = finished && complete && transport.complete == Some(false);
        transport.complete = Some(complete);
        if reached && transport.playing {
            transport = Transport { playing: false, due: 0.0, ..transport };
            let text = "The map is finished: the chosen total of particles has run. Play goes on.";
            world.resource_mut::<Notices>().offer(Level::Info, text, Some(("Play", Command::TogglePlay)));
        }
    }
    let mut timing = world.resource_mut::<Timing>();
    timing.frame_ms = smoothed(timing.frame_ms, real * 1e3);
    *world.resource_mut::<Transport>() = transport;
}

/// Makes ready for a tick, or for more of one, and returns the sessions that take part: where several stand side by side, one
/// that has finished the tick waits for the others.
fn begin(world: &mut World) -> impl Iterator<Item = &mut Session> {
    let before = world.resource::<Live>().between_ticks();
    if before {
        timeline::before_tick(world);
        world.resource_scope(|world, mut history: Mut<History>| {
            history.bypass_change_detection().seal(world.resource::<Live>());
        });
    }
    let live = world.resource_mut::<Live>().into_inner();
    live.halted = false;
    let first = live.common_ticks();
    let takes_part = move |session: &&mut Session| before || session.simulation.ticks() == first;
    live.all_mut().iter_mut().filter(takes_part).for_each(Session::note_shape);
    live.all_mut().iter_mut().filter(takes_part)
}

/// Runs a stage, whole, if one is due.
pub(super) fn run_due_stage(world: &mut World) {
    if !std::mem::take(&mut world.resource_mut::<Transport>().bypass_change_detection().stage) {
        return;
    }
    begin(world).for_each(|session| {
        session.simulation.stage();
    });
    let mut live = world.resource_mut::<Live>();
    live.halted = !live.between_ticks();
    world.resource_mut::<Revision>().goes_on();
}
