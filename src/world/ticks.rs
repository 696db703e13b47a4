//! Execution of ticks within a frame budget, or stage by stage.

use std::time::{Duration, Instant};

use bevy::prelude::*;

use super::{
    CurrentLesson, Deadline, FastForward, FrameBudget, FrameSystems, History, NoticeLevel, Notices, Overlay,
    Presentation, Revision, SimulationCommand, Simulations, TICKS_PER_SECOND, Timing, Transport, ViewportArea,
    Workspace, card, simulations::SimTick, smoothed,
};
use thalweg_scene::model::session::Session;
use thalweg_sim::simulation::stage_changes::StageChanges;

/// Speed above which ticks take priority over the frame rate.
const FAST: f32 = 16.0;
/// Duration above which a tick is displayed while it runs.
const LONG: Duration = Duration::from_millis(100);

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Update, set_deadline.in_set(FrameSystems::Input));
}

/// Sets the time for brush and ticks in this frame.
fn set_deadline(
    budget: Res<FrameBudget>,
    time: Res<Time>,
    (ahead, simulations, transport): (Res<FastForward>, Res<Simulations>, Res<Transport>),
    mut deadline: ResMut<Deadline>,
) {
    // If rendering itself is slow, as with a software renderer, the simulation gets a proportional share: half the remaining frame
    // time, or more while fast-forwarding or at a high speed, but with a limit that keeps the view responsive.
    let hurries = ahead.runs(&simulations, &transport) || transport.speed > FAST;
    let (parts, longest) = if hurries { (1.5, 0.04) } else { (0.5, 0.3) };
    let rest = time.delta().saturating_sub(deadline.spent).as_secs_f64();
    deadline.begin(budget.0.max(Duration::from_secs_f64(rest.min(longest) * parts)));
}

/// Stores the state that the next tick would make impossible to restore, and returns the sessions that take part: among simulations
/// side by side, one that has finished the tick waits for the others.
pub(super) fn ready<'a>(
    simulations: &'a mut Simulations,
    history: &mut History,
) -> impl Iterator<Item = &'a mut Session> {
    let before = simulations.between_ticks();
    if before {
        history.before_tick(simulations);
    }
    simulations.halted = false;
    let first = simulations.common_ticks();
    let takes_part = move |session: &&mut Session| before || session.simulation.ticks() == first;
    simulations.all_mut().iter_mut().filter(takes_part).for_each(Session::record_sculpted_start);
    simulations.all_mut().iter_mut().filter(takes_part)
}

/// Runs ticks until none is due or the frame's budget is spent. A tick may span several frames.
pub(super) fn run_due(world: &mut World) {
    let elapsed = world.resource::<Time>().delta_secs_f64();
    let real = world.resource::<Time<Real>>().delta_secs_f64();
    let mut transport = *world.resource::<Transport>();
    if transport.playing && transport.slow.is_none() {
        let rate = TICKS_PER_SECOND * f64::from(transport.speed);
        // Ticks that the machine cannot keep up with are dropped.
        transport.due = (transport.due + elapsed * rate).min((rate * 0.1).max(1.0));
    }
    // An unfinished tick is always completed. Another one begins if it is due and neither the brush nor a screenshot waits.
    let due = |world: &World, transport: &Transport| {
        let ahead = || world.resource::<FastForward>().runs(world.resource::<Simulations>(), transport);
        let holds = transport.brush_waits || world.resource::<ViewportArea>().is_taking_screenshot;
        !holds && (transport.due >= 1.0 || ahead())
    };
    if let Some(begun) = run_due_on_card(world, &transport) {
        transport.due -= f64::from(begun);
        *world.resource_mut::<Transport>() = transport;
        count_frame(world, real);
        return;
    }
    let (begun, rests, mut worked) = (Instant::now(), world.resource::<Deadline>().pauses_ticks, false);
    while !rests && (!world.resource::<Simulations>().is_displayable() || due(world, &transport)) {
        worked = true;
        let pass = Instant::now();
        world.run_schedule(SimTick);
        let simulations = world.resource::<Simulations>();
        let finished = simulations.between_ticks();
        let complete = simulations
            .selected()
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
            world.resource_mut::<Revision>().next_state();
        }
        let lesson = world.get_resource::<CurrentLesson>();
        if finished && lesson.is_some_and(|lesson| lesson.ends_at(world.resource::<Simulations>())) {
            transport = Transport { playing: false, due: 0.0, ..transport };
        }
        // Only once, when the total is reached: neither a resumed simulation nor one of a lesson is paused again.
        let taught = lesson.is_some_and(|lesson| lesson.runs_to().is_some());
        let reached = finished && complete && transport.complete == Some(false) && !taught;
        transport.complete = Some(complete);
        if reached && transport.playing {
            transport = Transport { playing: false, due: 0.0, ..transport };
            let text = "The terrain is finished: all droplets have run. Press Play to continue.";
            let play = Some(("Play", SimulationCommand::TogglePlay.into()));
            world.resource_mut::<Notices>().offer(NoticeLevel::Info, text, play);
        }
        let deadline = world.resource::<Deadline>();
        // Ticks without a pause between them would all be split across frames, and none could be displayed as a whole.
        let would_be_cut = || deadline.left().as_secs_f64() * 1e3 < world.resource::<Timing>().tick_ms;
        if deadline.left().is_zero() || (finished && transport.due < 1.0 && would_be_cut()) {
            break;
        }
    }
    if worked {
        world.resource_mut::<Deadline>().end(begun);
    }
    // A long tick is displayed while it runs.
    let simulations = world.resource::<Simulations>();
    let midway = !simulations.is_displayable() && simulations.can_be_shown();
    let mut timing = world.resource_mut::<Timing>();
    if midway && timing.shown.is_none_or(|shown| shown.elapsed() > LONG) {
        timing.shown = Some(Instant::now());
        world.resource_mut::<Revision>().next_state();
    }
    count_frame(world, real);
    *world.resource_mut::<Transport>() = transport;
}

/// Runs due ticks on the graphics card, unless the processor must run them. Returns the number of ticks begun there.
fn run_due_on_card(world: &mut World, transport: &Transport) -> Option<u32> {
    let is_halted = transport.slow.is_some()
        || transport.stage
        || transport.brush_waits
        || world.resource::<ViewportArea>().is_taking_screenshot;
    let simulations = world.resource::<Simulations>();
    let scene = world.get_resource::<Presentation>().and_then(|presentation| presentation.item(simulations));
    // All of them end at a tick of the processor.
    let has_end = world.get_resource::<CurrentLesson>().is_some_and(|lesson| lesson.runs_to().is_some())
        || world.resource::<FastForward>().runs(simulations, transport)
        || scene.is_some_and(|item| item.ticks.1 > simulations.ticks());
    let may_run = (transport.playing || transport.due >= 1.0) && !is_halted && !has_end;
    card::run_due(world, may_run, transport.due as u32)
}

/// Measures the time per frame, except for frames that only waited for input.
fn count_frame(world: &mut World, seconds: f64) {
    let drawn = world.resource::<ViewportArea>().frames;
    let mut timing = world.resource_mut::<Timing>();
    if timing.drawn != drawn {
        timing.drawn = drawn;
        timing.frame_ms = smoothed(timing.frame_ms, seconds * 1e3);
    }
}

/// Runs a complete stage, if one is due.
pub(super) fn run_due_stage(
    time: Res<Time>,
    mut transport: ResMut<Transport>,
    mut simulations: ResMut<Simulations>,
    mut history: ResMut<History>,
    mut revision: ResMut<Revision>,
    (workspace, lesson, mut overlay): (Res<State<Workspace>>, Option<Res<CurrentLesson>>, ResMut<Overlay>),
) {
    let transport = &mut *transport;
    if let Some(rate) = transport.slow.filter(|_| transport.playing) {
        // At most one stage per frame, so that each is visible.
        transport.due = (transport.due + time.delta_secs_f64() * f64::from(rate)).min(1.0);
        transport.stage |= transport.due >= 1.0;
    }
    if !std::mem::take(&mut transport.stage) {
        return;
    }
    if transport.slow.is_some() {
        transport.due = 0.0;
    }
    ready(&mut simulations, &mut history).for_each(|session| {
        session.simulation.stage();
    });
    simulations.halted = !simulations.between_ticks();
    revision.next_state();
    if !simulations.halted && lesson.is_some_and(|lesson| lesson.ends_at(&simulations)) {
        transport.playing = false;
    }
    // In the Learn workspace, the overlay shows the cells that the stage changed, and arrows its flow.
    if *workspace == Workspace::Learn {
        let staged = simulations.selected().simulation.stage_changes();
        overlay.show_stage(staged.is_some_and(StageChanges::changes_flow));
    }
}
