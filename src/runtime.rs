//! The simulation in the app: one shared session, one system per process, a frame budget, and the commands that change it.

use std::time::{Duration, Instant};

use bevy::{ecs::schedule::ScheduleLabel, prelude::*};

use crate::{
    io::scene::Session,
    params::{Value, write},
    sim::process::catalogue,
};

/// Ticks per second at speed 1.
pub const TICKS_PER_SECOND: f64 = 20.0;
/// Slowest and fastest speed.
pub const SPEEDS: std::ops::RangeInclusive<f32> = 0.25..=16.0;

/// The session that all systems share: terrain, processes, parameters.
#[derive(Resource)]
pub struct Live(pub Session);

/// Whether and how fast it runs.
#[derive(Resource, Clone, Copy, Debug)]
pub struct Transport {
    /// Ticks follow each other.
    pub playing: bool,
    /// Multiple of [`TICKS_PER_SECOND`].
    pub speed: f32,
    /// Ticks that are due, with the fraction that time has brought.
    due: f64,
}

/// How long the simulation may work in a frame.
#[derive(Resource, Clone, Copy, Debug)]
pub struct FrameBudget(pub Duration);

/// When this frame's budget is spent.
#[derive(Resource, Clone, Copy, Debug)]
struct Deadline(Instant);

/// What the view shows: goes up whenever there is another finished state to show.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revision(pub u64);

/// What a tick costs.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub struct Timing {
    /// Milliseconds per tick, smoothed.
    pub tick_ms: f64,
    spent: Duration,
}

/// Whether the pointer is over the view and not over a panel, as the panels last saw it.
#[derive(Resource, Clone, Copy, Debug)]
pub struct PointerOverView(pub bool);

/// The part of the window that panels leave free, from (0, 0) at the top left to (1, 1).
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub struct FreeView(pub Rect);

impl Default for FreeView {
    fn default() -> Self {
        Self(Rect::new(0.0, 0.0, 1.0, 1.0))
    }
}

/// What panels and keys ask for.
#[derive(Message, Clone, Debug, PartialEq)]
pub enum Command {
    /// Play or pause.
    TogglePlay,
    /// Pause, and run so many ticks.
    Step(u32),
    /// A multiple of the usual speed.
    SetSpeed(f32),
    /// From the start with the same seed.
    Restart,
    /// From the start with the next seed.
    NewSeed,
    /// A parameter by group and name. One of the terrain starts again.
    Set(String, &'static str, Value),
    /// A process on or off.
    Enable(&'static str, bool),
    /// The camera shows the whole map.
    FrameAll,
    /// Panels shown or hidden.
    ToggleUi,
}

/// The order of a frame: commands, then the simulation.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SimSystems {
    /// What panels and keys asked for in the last frame is done.
    Obey,
    /// Ticks run, as many as are due and the budget allows.
    Tick,
}

/// One pass over all processes; it is run again until the tick is finished or the budget is spent.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
struct SimTick;

/// The place of a process's system in [`SimTick`].
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Turn(usize);

impl Default for Transport {
    fn default() -> Self {
        Self { playing: true, speed: 1.0, due: 0.0 }
    }
}

impl Transport {
    /// Stands still.
    pub fn paused() -> Self {
        Self { playing: false, ..Self::default() }
    }
}

/// Adds everything but the session itself.
pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Transport>()
        .insert_resource(FrameBudget(Duration::from_millis(12)))
        .insert_resource(Deadline(Instant::now()))
        .insert_resource(Revision(1))
        .init_resource::<Timing>()
        .insert_resource(PointerOverView(true))
        .init_resource::<FreeView>()
        .add_message::<Command>()
        .init_schedule(SimTick)
        .configure_sets(Update, (SimSystems::Obey, SimSystems::Tick).chain())
        .add_systems(Update, (obey_commands.in_set(SimSystems::Obey), run_due_ticks.in_set(SimSystems::Tick)));
    for turn in 0..catalogue().len() {
        if turn > 0 {
            app.configure_sets(SimTick, Turn(turn).after(Turn(turn - 1)));
        }
        let run_process = move |mut live: ResMut<Live>, deadline: Res<Deadline>| {
            while !live.0.simulation.advance(turn) && Instant::now() < deadline.0 {}
        };
        app.add_systems(SimTick, run_process.in_set(Turn(turn)));
    }
}

/// Runs ticks until none is due or the frame's budget is spent. A tick may span frames.
fn run_due_ticks(world: &mut World) {
    let elapsed = world.resource::<Time>().delta_secs_f64();
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
    while (transport.due >= 1.0 || !world.resource::<Live>().0.simulation.between_ticks()) && started.elapsed() < budget
    {
        let pass = Instant::now();
        world.resource_mut::<Live>().0.simulation.begin_tick();
        world.run_schedule(SimTick);
        let finished = world.resource_mut::<Live>().0.simulation.end_tick();
        let mut timing = world.resource_mut::<Timing>();
        timing.spent += pass.elapsed();
        if finished {
            let spent = timing.spent.as_secs_f64() * 1e3;
            timing.tick_ms = if timing.tick_ms == 0.0 { spent } else { 0.9 * timing.tick_ms + 0.1 * spent };
            timing.spent = Duration::ZERO;
            transport.due = (transport.due - 1.0).max(0.0);
            world.resource_mut::<Revision>().0 += 1;
        }
    }
    *world.resource_mut::<Transport>() = transport;
}

fn obey_commands(
    mut commands: MessageReader<Command>,
    mut live: ResMut<Live>,
    mut transport: ResMut<Transport>,
    mut revision: ResMut<Revision>,
) {
    let session = &mut live.0;
    for command in commands.read() {
        let seed = session.simulation.seed();
        let restart_with = match command {
            Command::TogglePlay => {
                transport.playing = !transport.playing;
                transport.due = 0.0;
                None
            }
            Command::Step(ticks) => {
                transport.due = if transport.playing { 0.0 } else { transport.due } + f64::from(*ticks);
                transport.playing = false;
                None
            }
            Command::SetSpeed(speed) => {
                transport.speed = speed.clamp(*SPEEDS.start(), *SPEEDS.end());
                None
            }
            Command::Restart => Some(seed),
            Command::NewSeed => Some(seed + 1),
            Command::Set(group, name, value) => {
                let mut groups = session.groups_mut();
                let found = groups.iter_mut().find(|(key, _)| key == group);
                let changed = found.is_some_and(|(_, fields)| write(*fields, name, value));
                (changed && group == "terrain").then_some(seed)
            }
            Command::Enable(key, on) => {
                if let Some(slot) = session.simulation.slot_mut(key) {
                    slot.enabled = *on;
                }
                None
            }
            Command::FrameAll | Command::ToggleUi => None,
        };
        if let Some(seed) = restart_with {
            session.restart(seed);
            transport.due = 0.0;
            revision.0 += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::heightmap::Options;

    fn app() -> App {
        let mut app = App::new();
        let options = Options { size: Some((64, 64)), ..Options::default() };
        app.add_plugins((MinimalPlugins, plugin))
            .insert_resource(Live(Session::open("round-hill", &options).expect("built in")))
            .insert_resource(Transport::paused());
        app
    }

    fn update_until_quiet(app: &mut App) {
        for _ in 0..500 {
            app.update();
        }
    }

    #[test]
    fn steps_run_as_many_ticks_as_asked_and_each_is_shown() {
        let mut app = app();
        app.update();
        let before = app.world().resource::<Revision>().0;
        app.world_mut().write_message(Command::Step(3));
        update_until_quiet(&mut app);
        assert_eq!(app.world().resource::<Live>().0.simulation.ticks(), 3);
        assert_eq!(app.world().resource::<Revision>().0, before + 3);
    }

    #[test]
    fn a_budget_of_nothing_spreads_a_tick_over_frames_and_changes_no_bit() {
        let (mut whole, mut slow) = (app(), app());
        slow.insert_resource(FrameBudget(Duration::from_nanos(1)));
        for app in [&mut whole, &mut slow] {
            app.world_mut().write_message(Command::Step(2));
            update_until_quiet(app);
        }
        let terrain = |app: &App| app.world().resource::<Live>().0.simulation.terrain.clone();
        assert_eq!(slow.world().resource::<Live>().0.simulation.ticks(), 2);
        assert!(terrain(&whole) == terrain(&slow), "the frame budget changed the result");
    }

    #[test]
    fn restart_returns_to_the_start_and_a_terrain_parameter_makes_another() {
        let mut app = app();
        let start = app.world().resource::<Live>().0.simulation.terrain.clone();
        app.world_mut().write_message(Command::Step(1));
        update_until_quiet(&mut app);
        app.world_mut().write_message(Command::Restart);
        app.update();
        assert!(app.world().resource::<Live>().0.simulation.terrain == start);
        app.world_mut().write_message(Command::Set("terrain".into(), "relief", Value::Number(50.0)));
        app.update();
        assert_eq!(app.world().resource::<Live>().0.terrain.relief, 50.0);
        assert!(app.world().resource::<Live>().0.simulation.terrain != start);
    }
}
