//! Section of the selected simulation along a line, now and at earlier ticks.

pub mod chart;
mod panel;

use crate::world::{
    AppCommandEvent, CutLine, FrameSystems, MapPlaces, MarkSystems, ProjectReplaced, Revision, Simulations,
};
use bevy::prelude::*;

use thalweg_sim::measure::{SectionPoint, along, section};

/// Number of heights that a student draws along a section.
pub const DRAWN_POINTS: usize = 65;
/// Maximum number of earlier profiles; more are thinned out to half.
const MAX_EARLIER_PROFILES: usize = 5;

/// Ground along the line after a tick.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Number of finished ticks.
    pub tick: u64,
    /// Heights in metres, at the places of [`Section::now`].
    pub ground: Vec<f32>,
}

/// Start, simulation and line of a section.
type SectionKey = (u64, usize, [[f32; 2]; 2]);

/// Section of the selected simulation.
#[derive(Resource, Clone, Debug, Default)]
pub struct Section {
    /// Ends of the line, as fractions of the map's sides.
    pub ends: Option<[[f32; 2]; 2]>,
    /// Layers along the line.
    pub now: Vec<SectionPoint>,
    /// Ground at the start.
    pub start: Vec<f32>,
    /// Ground at earlier ticks, evenly spaced, the oldest first.
    pub earlier: Vec<Profile>,
    /// `true` if the block is cut open along the line.
    pub opens: bool,
    /// Ticks between earlier profiles.
    step: u64,
    of: Option<(SectionKey, u64)>,
}

impl Section {
    /// Returns the ends of the line along which the block is cut open, if any.
    fn cut(&self) -> Option<[[f32; 2]; 2]> {
        self.ends.filter(|[from, to]| self.opens && from != to)
    }

    /// Returns the ground along the line, resampled to [`DRAWN_POINTS`] places.
    pub(super) fn spread(&self) -> Vec<f32> {
        let Some(last) = self.now.len().checked_sub(1) else { return Vec::new() };
        (0..DRAWN_POINTS).map(|place| self.now[place * last / (DRAWN_POINTS - 1)].ground()).collect()
    }

    /// Stores the current profile if one is due.
    fn store_profile(&mut self, tick: u64) {
        if self.earlier.last().is_some_and(|last| last.tick >= tick) {
            // The simulation went back.
            self.earlier.retain(|profile| profile.tick < tick);
        }
        let since = self.earlier.last().map_or(0, |last| last.tick);
        self.step = self.step.max(1);
        if tick == 0 || tick < since + self.step {
            return;
        }
        let ground = self.now.iter().map(SectionPoint::ground).collect();
        self.earlier.push(Profile { tick, ground });
        if self.earlier.len() > MAX_EARLIER_PROFILES {
            let mut number = 0;
            self.earlier.retain(|_| {
                number += 1;
                number % 2 == 0
            });
            self.step = self.earlier[1].tick - self.earlier[0].tick;
        }
    }
}

/// Trace of the section line, in segments that follow the ground.
#[derive(Component, Default)]
#[require(MapPlaces)]
pub struct SectionTrace;

/// Number of straight segments of the trace.
const PIECES: usize = 200;

/// Saves a drawn profile as the answer with this identifier, in metres at [`DRAWN_POINTS`] places along the line.
#[derive(Event, Clone, Debug, PartialEq)]
pub struct SaveDrawing(pub String, pub Vec<f32>);

impl AppCommandEvent for SaveDrawing {}

/// Command for the section.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum SectionCommand {
    /// Sets the line, as fractions of the map's sides, or removes it.
    Draw(Option<[[f32; 2]; 2]>),
    /// Cuts the block open along the line, or closes it.
    CutAway,
}

impl AppCommandEvent for SectionCommand {}

/// Adds the section and its panel.
pub fn plugin(app: &mut App) {
    app.add_plugins(panel::plugin);
    app.world_mut().spawn(SectionTrace);
    app.init_resource::<Section>().add_observer(handle_command).add_observer(clear).add_systems(
        Update,
        (follow, (trace.in_set(MarkSystems).ambiguous_with(MarkSystems), cut).run_if(resource_changed::<Section>))
            .chain()
            .in_set(FrameSystems::Follow),
    );
}

fn cut(section: Res<Section>, mut line: ResMut<CutLine>) {
    line.set_if_neq(CutLine(section.cut()));
}

fn trace(section: Res<Section>, mut trace: Single<&mut MapPlaces, With<SectionTrace>>) {
    let places = section.ends.into_iter().flat_map(|[from, to]| {
        (0..=PIECES).map(move |piece| {
            let share = piece as f32 / PIECES as f32;
            [0, 1].map(|axis| from[axis] + share * (to[axis] - from[axis]))
        })
    });
    trace.set_if_neq(MapPlaces(places.collect()));
}

fn handle_command(command: On<SectionCommand>, mut section: ResMut<Section>) {
    match command.event() {
        SectionCommand::Draw(ends) => section.ends = *ends,
        SectionCommand::CutAway => section.opens = !section.opens,
    }
}

/// Removes the line, which belongs to the previous project. A lesson then sets its own.
fn clear(replaced: On<ProjectReplaced>, mut section: ResMut<Section>) {
    if replaced.opened && section.ends.is_some() {
        (section.ends, section.opens) = (None, false);
    }
}

/// Updates the section of the selected simulation.
fn follow(simulations: Res<Simulations>, revision: Res<Revision>, mut section: ResMut<Section>) {
    let line = section.ends.map(|ends| (revision.start, simulations.selected_index(), ends));
    let of = line.map(|line| (line, revision.state));
    if section.of == of || !simulations.is_displayable() {
        return;
    }
    let continues = section.of.map(|(line, _)| line) == line;
    section.of = of;
    if !continues {
        (section.step, section.earlier) = (1, Vec::new());
    }
    let terrain = &simulations.selected().simulation.terrain;
    let Some(ends) = section.ends else {
        (section.now, section.start) = (Vec::new(), Vec::new());
        return;
    };
    section.now = self::section(terrain, ends);
    if !continues {
        section.start = along(terrain, &terrain.start, ends);
    }
    if simulations.between_ticks() {
        section.store_profile(simulations.ticks());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_scene::{io::scene::open_first, model::origin::Options};

    #[test]
    fn section_follows_simulation_with_earlier_profiles() {
        let options = Options { size: Some((32, 32)), ..Options::default() };
        let mut app = App::new();
        app.insert_resource(Simulations::new(vec![open_first("round-hill", &options).expect("built in")]))
            .insert_resource(Revision { state: 1, start: 1 })
            .init_resource::<Section>()
            .add_observer(clear)
            .add_systems(Update, follow);
        app.update();
        assert!(app.world().resource::<Section>().now.is_empty());
        app.world_mut().resource_mut::<Section>().ends = Some([[0.0, 0.5], [1.0, 0.5]]);
        app.update();
        let start = app.world().resource::<Section>().start.clone();
        assert_eq!(start.len(), app.world().resource::<Section>().now.len());
        for _ in 0..40 {
            app.world_mut().resource_mut::<Simulations>().all_mut()[0].simulation.tick();
            app.world_mut().resource_mut::<Revision>().next_state();
            app.update();
        }
        let section = app.world().resource::<Section>();
        let ticks: Vec<u64> = section.earlier.iter().map(|profile| profile.tick).collect();
        assert!((2..=MAX_EARLIER_PROFILES).contains(&ticks.len()), "{ticks:?}");
        assert!(ticks.windows(2).all(|pair| pair[1] > pair[0]) && ticks[ticks.len() - 1] <= 40, "{ticks:?}");
        assert!(section.now.iter().zip(&start).any(|(now, start)| now.ground() != *start), "the hill was cut");
        // A restart has no earlier profiles.
        app.world_mut().resource_mut::<Revision>().next_start();
        app.update();
        assert!(app.world().resource::<Section>().earlier.iter().all(|profile| profile.tick == 40));
        // A loaded map leaves the line, another project removes it.
        for (opened, has_line) in [(false, true), (true, false)] {
            app.world_mut().trigger(ProjectReplaced { opened, presented: false });
            app.update();
            let section = app.world().resource::<Section>();
            assert_eq!((section.ends.is_some(), section.now.is_empty()), (has_line, !has_line));
        }
    }
}
