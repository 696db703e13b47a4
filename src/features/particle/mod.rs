//! Particle released on the terrain and followed step by step. It runs on a copy, so the terrain does not change.

pub mod chart;
mod panel;

use bevy::prelude::*;

use crate::world::{
    AppCommandEvent, FrameSystems, MapPlaces, MarkSystems, NoticeLevel, ProjectParams, Revision, Simulations,
};
use thalweg_sim::{process::ParticleState, simulation::Simulation};

/// Track of a particle, from its release to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct ParticleTrajectory {
    /// Title of its process.
    pub process: &'static str,
    /// Tick after which it was released.
    pub tick: u64,
    /// State after each step; the first is the start.
    pub states: Vec<ParticleState>,
    /// Ground height below each, before the particle ran, in metres.
    pub ground: Vec<f32>,
    /// Cell size, in metres.
    pub cell_size: f32,
    /// Columns and rows of the map.
    size: [f32; 2],
    of: (u64, usize),
}

/// Particle being tracked.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct FollowedParticle {
    /// Track, if there is a particle.
    pub track: Option<ParticleTrajectory>,
    /// Number of releases so far, which identifies the last one.
    pub releases: u64,
}

/// Marker of the entity whose [`MapPlaces`] are the places of the particle after each step.
#[derive(Component, Default)]
#[require(MapPlaces)]
pub struct ParticleTrace;

/// Command for the followed particle.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum ParticleCommand {
    /// Releases a particle at a place, as fractions of the map's sides, and follows it.
    Release([f32; 2]),
    /// Stops following the particle.
    Unfollow,
}

impl AppCommandEvent for ParticleCommand {}

/// Adds the particle and its panel.
pub fn plugin(app: &mut App) {
    app.add_plugins(panel::plugin);
    app.world_mut().spawn(ParticleTrace);
    app.init_resource::<FollowedParticle>().add_observer(handle_command).add_systems(
        Update,
        (
            drop_outdated,
            trace.run_if(resource_changed::<FollowedParticle>).in_set(MarkSystems).ambiguous_with(MarkSystems),
        )
            .chain()
            .in_set(FrameSystems::Follow),
    );
}

fn trace(followed: Res<FollowedParticle>, mut trace: Single<&mut MapPlaces, With<ParticleTrace>>) {
    trace.set_if_neq(MapPlaces(followed.track.iter().flat_map(ParticleTrajectory::places).collect()));
}

fn handle_command(command: On<ParticleCommand>, mut project: ProjectParams, mut followed: ResMut<FollowedParticle>) {
    match command.event() {
        ParticleCommand::Release(place) => release(&mut project, &mut followed, *place),
        ParticleCommand::Unfollow => followed.track = None,
    }
}

/// Runs a particle from a place on a copy of the terrain.
fn release(project: &mut ProjectParams, followed: &mut FollowedParticle, place: [f32; 2]) {
    project.transport.pause();
    project.finish_tick();
    // Memory for the copy.
    if !project.has_room(project.simulations.selected().bytes()) {
        return;
    }
    let of = (project.revision.start, project.simulations.selected_index());
    let simulation = &project.simulations.selected().simulation;
    let has_particles = simulation.slots.iter().any(|slot| slot.enabled && matches!(slot.key(), "droplets" | "wind"));
    followed.track = ParticleTrajectory::of(simulation, place, of);
    followed.releases += 1;
    if followed.track.is_none() {
        let text = if has_particles {
            "No particle can be released here: it would stop immediately, or Wind is in its corrected mode, which has no grains. \
             Click elsewhere, or set Wind to its published mode."
        } else {
            "No enabled process has particles. Enable Droplets, or Wind in its published mode."
        };
        project.notices.notify(NoticeLevel::Info, text);
    }
}

impl ParticleTrajectory {
    /// Releases a particle of the first enabled process with particles, at fractions of the map's sides. Returns `None` if there is no
    /// such process, or if the particle does not move.
    pub(super) fn of(simulation: &Simulation, place: [f32; 2], of: (u64, usize)) -> Option<Self> {
        let terrain = &simulation.terrain;
        let size = [terrain.width() as f32, terrain.height() as f32];
        let start = [0, 1].map(|axis| place[axis] * size[axis]);
        let when = (simulation.seed(), simulation.ticks() + 1);
        let on = simulation.slots.iter().filter(|slot| slot.enabled);
        let (process, trajectory) = on
            .filter_map(|slot| Some((slot.process.info().title, slot.process.follow(terrain, when, start)?)))
            .find(|(_, trajectory)| !trajectory.is_empty())?;
        let water = trajectory[0].water.map(|_| 1.0);
        let states: Vec<ParticleState> =
            [ParticleState { place: start, water, ..ParticleState::default() }].into_iter().chain(trajectory).collect();
        let height = |moment: &ParticleState| terrain.sample_ground(moment.place[0] - 0.5, moment.place[1] - 0.5);
        let ground = states.iter().map(height).collect();
        Some(Self { process, tick: simulation.ticks(), states, ground, cell_size: terrain.cell_size, size, of })
    }

    /// Returns the index of the last step.
    pub fn last(&self) -> usize {
        self.states.len() - 1
    }

    /// Returns the places, as fractions of the map's sides.
    pub fn places(&self) -> impl Iterator<Item = [f32; 2]> + '_ {
        self.states.iter().map(|moment| [0, 1].map(|axis| moment.place[axis] / self.size[axis]))
    }

    /// Returns the volume entrained in a step, in cubic metres; negative for deposition.
    pub fn entrained_volume(&self, step: usize) -> f64 {
        let load = |step: usize| f64::from(self.states[step].load);
        if step == 0 { 0.0 } else { (load(step) - load(step - 1)) * self.cell_area() }
    }

    /// Returns the volumes eroded and deposited up to a step, in cubic metres.
    pub fn eroded_and_deposited(&self, step: usize) -> [f64; 2] {
        (1..=step)
            .map(|step| self.entrained_volume(step))
            .fold([0.0; 2], |[dug, laid], taken| [dug + taken.max(0.0), laid + (-taken).max(0.0)])
    }

    /// Returns the cell area, in square metres.
    pub fn cell_area(&self) -> f64 {
        f64::from(self.cell_size) * f64::from(self.cell_size)
    }

    /// Returns `true` if the particle crossed a periodic boundary in a step.
    pub fn wraps_in(&self, step: usize) -> bool {
        let [from, to] = [step - 1, step].map(|step| self.states[step].place);
        (0..2).any(|axis| (to[axis] - from[axis]).abs() > 0.5 * self.size[axis])
    }

    /// Returns the distance travelled up to each step, in metres.
    pub fn distances(&self) -> Vec<f64> {
        let steps = self.states.windows(2).map(|pair| {
            let [x, y] = [0, 1].map(|axis| {
                let (displacement, side) = (pair[1].place[axis] - pair[0].place[axis], self.size[axis]);
                // The shorter distance, across a periodic boundary.
                f64::from(displacement - side * (displacement / side).round())
            });
            x.hypot(y) * f64::from(self.cell_size)
        });
        std::iter::once(0.0)
            .chain(steps.scan(0.0, |distance, step| {
                *distance += step;
                Some(*distance)
            }))
            .collect()
    }
}

/// Removes a particle of another simulation.
fn drop_outdated(simulations: Res<Simulations>, revision: Res<Revision>, mut followed: ResMut<FollowedParticle>) {
    if followed.track.as_ref().is_some_and(|trajectory| trajectory.of != (revision.start, simulations.selected_index()))
    {
        followed.track = None;
    }
}
