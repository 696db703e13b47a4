//! A particle that was released on the land, to be followed step by step. It ran on a copy: the land stays as it is.

pub mod chart;
mod panel;

use bevy::prelude::*;

use crate::world::{CommandEvent, FrameSystems, Level, MapPlaces, MarkSystems, Revision, Simulations, Work};
use thalweg_sim::{process::Moment, simulation::Simulation};

/// The way of a particle, from where it was released to where it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// Title of its process.
    pub process: &'static str,
    /// The tick after which it was released.
    pub tick: u64,
    /// How it was after each step; the first is its start.
    pub moments: Vec<Moment>,
    /// Height of the ground below each, before it ran, in metres.
    pub ground: Vec<f32>,
    /// Side of a cell, in metres.
    pub cell_size: f32,
    /// Columns and rows of the map.
    size: [f32; 2],
    of: (u64, usize),
}

/// The particle that is followed.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct Followed {
    /// Its way, if there is one.
    pub way: Option<Way>,
    /// How many were released: the number of the last one.
    pub releases: u64,
}

/// The places of the particle after each step.
#[derive(Component, Default)]
#[require(MapPlaces)]
pub struct FollowedTrace;

/// Releases particles.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum ParticleCommand {
    /// Releases one at a place, as shares of the map's sides, and follows it.
    Release([f32; 2]),
    /// Stops following it.
    Unfollow,
}

impl CommandEvent for ParticleCommand {}

/// Adds the particle and its panel.
pub fn plugin(app: &mut App) {
    app.add_plugins(panel::plugin);
    app.world_mut().spawn(FollowedTrace);
    app.init_resource::<Followed>().add_observer(obey).add_systems(
        Update,
        (forget, trace.run_if(resource_changed::<Followed>).in_set(MarkSystems).ambiguous_with(MarkSystems))
            .chain()
            .in_set(FrameSystems::Follow),
    );
}

fn trace(followed: Res<Followed>, mut trace: Single<&mut MapPlaces, With<FollowedTrace>>) {
    trace.set_if_neq(MapPlaces(followed.way.iter().flat_map(Way::places).collect()));
}

fn obey(command: On<ParticleCommand>, mut work: Work, mut followed: ResMut<Followed>) {
    match command.event() {
        ParticleCommand::Release(place) => release(&mut work, &mut followed, *place),
        ParticleCommand::Unfollow => followed.way = None,
    }
}

/// Lets a particle run from a place on a copy of the land.
fn release(work: &mut Work, followed: &mut Followed, place: [f32; 2]) {
    work.transport.pause();
    work.finish_tick();
    // It runs on a copy.
    if !work.has_room(work.simulations.selected().bytes()) {
        return;
    }
    let of = (work.revision.start, work.simulations.selected_index());
    let simulation = &work.simulations.selected().simulation;
    let has_particles = simulation.slots.iter().any(|slot| slot.enabled && matches!(slot.key(), "droplets" | "wind"));
    followed.way = Way::of(simulation, place, of);
    followed.releases += 1;
    if followed.way.is_none() {
        let text = if has_particles {
            "No particle can run from this place: it would stop at once, or the wind is in its default mode, which has no grains."
        } else {
            "No process that is on has particles: switch on Droplets, or Wind in its published mode."
        };
        work.notices.tell(Level::Info, text);
    }
}

impl Way {
    /// Releases a particle of the first process that is on and has some, at shares of the map's sides. None if there is no such process,
    /// or if the particle does not move at all.
    pub(super) fn of(simulation: &Simulation, place: [f32; 2], of: (u64, usize)) -> Option<Self> {
        let terrain = &simulation.terrain;
        let size = [terrain.width() as f32, terrain.height() as f32];
        let start = [0, 1].map(|axis| place[axis] * size[axis]);
        let when = (simulation.seed(), simulation.ticks() + 1);
        let on = simulation.slots.iter().filter(|slot| slot.enabled);
        let (process, way) = on
            .filter_map(|slot| Some((slot.process.info().title, slot.process.follow(terrain, when, start)?)))
            .find(|(_, way)| !way.is_empty())?;
        let water = way[0].water.map(|_| 1.0);
        let moments: Vec<Moment> =
            [Moment { place: start, water, ..Moment::default() }].into_iter().chain(way).collect();
        let height = |moment: &Moment| terrain.ground_between(moment.place[0] - 0.5, moment.place[1] - 0.5);
        let ground = moments.iter().map(height).collect();
        Some(Self { process, tick: simulation.ticks(), moments, ground, cell_size: terrain.cell_size, size, of })
    }

    /// The number of its last step.
    pub fn last(&self) -> usize {
        self.moments.len() - 1
    }

    /// Its places as shares of the map's sides.
    pub fn places(&self) -> impl Iterator<Item = [f32; 2]> + '_ {
        self.moments.iter().map(|moment| [0, 1].map(|axis| moment.place[axis] / self.size[axis]))
    }

    /// What it took up in a step, in cubic metres; what is negative was laid down.
    pub fn taken(&self, step: usize) -> f64 {
        let load = |step: usize| f64::from(self.moments[step].load);
        if step == 0 { 0.0 } else { (load(step) - load(step - 1)) * self.cell_area() }
    }

    /// What it dug and what it laid down up to a step, in cubic metres.
    pub fn dug_and_laid(&self, step: usize) -> [f64; 2] {
        (1..=step)
            .map(|step| self.taken(step))
            .fold([0.0; 2], |[dug, laid], taken| [dug + taken.max(0.0), laid + (-taken).max(0.0)])
    }

    /// Area of a cell, in square metres.
    pub fn cell_area(&self) -> f64 {
        f64::from(self.cell_size) * f64::from(self.cell_size)
    }

    /// Whether it left over a border in a step, and came in on the other side.
    pub fn wraps_in(&self, step: usize) -> bool {
        let [from, to] = [step - 1, step].map(|step| self.moments[step].place);
        (0..2).any(|axis| (to[axis] - from[axis]).abs() > 0.5 * self.size[axis])
    }

    /// How far it came up to each step, in metres.
    pub fn distances(&self) -> Vec<f64> {
        let steps = self.moments.windows(2).map(|pair| {
            let [x, y] = [0, 1].map(|axis| {
                let (way, side) = (pair[1].place[axis] - pair[0].place[axis], self.size[axis]);
                // Over a periodic border it is the short way.
                f64::from(way - side * (way / side).round())
            });
            x.hypot(y) * f64::from(self.cell_size)
        });
        std::iter::once(0.0)
            .chain(steps.scan(0.0, |way, step| {
                *way += step;
                Some(*way)
            }))
            .collect()
    }
}

/// Forgets a particle of another run.
fn forget(simulations: Res<Simulations>, revision: Res<Revision>, mut followed: ResMut<Followed>) {
    if followed.way.as_ref().is_some_and(|way| way.of != (revision.start, simulations.selected_index())) {
        followed.way = None;
    }
}
