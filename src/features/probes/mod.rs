//! Probes: pinned places of the selected simulation, whose values are recorded once per frame while it runs.

pub mod chart;
mod explain;
mod panel;

use std::{fmt::Write, path::PathBuf};

use bevy::prelude::*;

use self::chart::ProbeSeries;
use crate::world::{
    AppCommandEvent, FrameSystems, Jobs, MapPlaces, MarkSystems, Notices, Overlay, Revision, Simulations,
};
use thalweg_scene::io::output;
use thalweg_sim::core::{
    grid::Grid,
    quantity::{ColorScale, Quantity},
    terrain::Terrain,
};

/// Maximum number of probes: more curves could not be distinguished.
pub const MAX_PROBES: usize = 4;
/// Maximum number of samples in a series; a longer one is thinned out to half.
const MAX_SAMPLES: usize = 1024;

/// Values of a place after a tick. Heights and depths are in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Number of finished ticks.
    pub tick: u64,
    /// Ground height.
    pub ground: f32,
    /// Sand thickness.
    pub sand: f32,
    /// Water depth.
    pub water: f32,
    /// Quantity of the overlay, if one was shown, and its value.
    pub overlay: Option<(Quantity, f32)>,
}

/// Pinned place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probe {
    /// Place, as fractions of the map's sides.
    pub place: [f32; 2],
    /// Values over time, the oldest first.
    pub series: Vec<Sample>,
}

/// All probes.
#[derive(Resource, Clone, Debug, Default)]
pub struct Probes {
    /// Probes in the order in which they were pinned.
    pub pinned: Vec<Probe>,
    /// Number of probes pinned so far.
    pub(super) pins: u64,
    /// Quantity selected for the chart.
    selected: ProbeSeries,
    seen: Option<(Revision, usize)>,
}

/// Marks of the probes, in their order.
#[derive(Component, Default)]
#[require(MapPlaces)]
pub struct ProbeMarks;

/// Command for the probes.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum ProbeCommand {
    /// Pins a probe at a place, as fractions of the map's sides.
    Pin([f32; 2]),
    /// Removes the probe at an index.
    Unpin(usize),
    /// Selects the quantity of the chart.
    Plot(ProbeSeries),
    /// Saves the values of all probes as a table.
    Save(PathBuf),
}

impl AppCommandEvent for ProbeCommand {}

/// Adds the probes and their panel.
pub fn plugin(app: &mut App) {
    app.add_plugins((panel::plugin, explain::plugin));
    app.world_mut().spawn(ProbeMarks);
    app.init_resource::<Probes>().add_observer(handle_command).add_systems(
        Update,
        (
            follow.after(crate::world::overlay::follow_ticks),
            mark.run_if(resource_changed::<Probes>).in_set(MarkSystems).ambiguous_with(MarkSystems),
        )
            .chain()
            .in_set(FrameSystems::Follow),
    );
}

fn handle_command(
    command: On<ProbeCommand>,
    mut probes: ResMut<Probes>,
    mut jobs: ResMut<Jobs>,
    mut notices: ResMut<Notices>,
) {
    match command.event() {
        ProbeCommand::Pin(place) => probes.pin(*place),
        ProbeCommand::Unpin(number) => {
            if *number < probes.pinned.len() {
                probes.pinned.remove(*number);
            }
        }
        ProbeCommand::Plot(series) => probes.selected = *series,
        ProbeCommand::Save(path) => {
            let table = probes.csv();
            jobs.save(&mut notices, path, |path, _| output::replace(path, |file| output::write(file, table)));
        }
    }
}

impl Probes {
    /// Removes all probes.
    pub(super) fn clear(&mut self) {
        self.pinned.clear();
    }

    /// Pins a probe, and removes the oldest if there are too many.
    pub(super) fn pin(&mut self, place: [f32; 2]) {
        if self.pinned.len() == MAX_PROBES {
            self.pinned.remove(0);
        }
        self.pinned.push(Probe { place, series: Vec::new() });
        self.pins += 1;
        self.seen = None;
    }

    /// Returns the quantity of the chart while this overlay is shown. The series of the overlay follows the current one.
    pub(super) fn plotted(&self, overlay: Option<Quantity>) -> ProbeSeries {
        match self.selected {
            ProbeSeries::Overlay(_) => overlay.map_or_else(ProbeSeries::default, ProbeSeries::Overlay),
            selected => selected,
        }
    }

    /// Returns all series as CSV with a header.
    pub fn csv(&self) -> String {
        let mut text = "probe,x,y,tick,ground_m,sand_m,water_m,overlay,unit,value\n".to_owned();
        for (number, probe) in self.pinned.iter().enumerate() {
            for Sample { tick, ground, sand, water, overlay } in &probe.series {
                let overlay = overlay.map_or(",,".to_owned(), |(quantity, value)| {
                    format!("{},{},{value}", quantity.key(), quantity.unit())
                });
                let [x, y] = probe.place;
                let _ = writeln!(text, "{},{x},{y},{tick},{ground},{sand},{water},{overlay}", number + 1);
            }
        }
        text
    }
}

impl Probe {
    fn sample(&mut self, tick: u64, terrain: &Terrain, overlay: Option<(Quantity, &Grid)>) {
        // The simulation went back or was restarted.
        self.series.retain(|sample| sample.tick < tick);
        let (x, y) = terrain.bedrock.cell_at(self.place);
        let (sand, water) = (terrain.sand.at(x, y), terrain.water.at(x, y));
        let ground = terrain.bedrock.at(x, y) + sand;
        let overlay = overlay.map(|(quantity, values)| {
            let value = values.at(x, y);
            // Overlays with a logarithmic scale hold log10 of the value.
            (quantity, if quantity.scale() == ColorScale::Logarithmic { libm::powf(10.0, value) } else { value })
        });
        self.series.push(Sample { tick, ground, sand, water, overlay });
        if self.series.len() > MAX_SAMPLES {
            let mut number = 0;
            self.series.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
    }
}

fn mark(probes: Res<Probes>, mut marks: Single<&mut MapPlaces, With<ProbeMarks>>) {
    marks.set_if_neq(MapPlaces(probes.pinned.iter().map(|probe| probe.place).collect()));
}

/// Records the values of the selected simulation.
fn follow(simulations: Res<Simulations>, revision: Res<Revision>, overlay: Res<Overlay>, mut probes: ResMut<Probes>) {
    let now = Some((*revision, simulations.selected_index()));
    if probes.pinned.is_empty() || probes.seen == now || !simulations.between_ticks() {
        return;
    }
    let before = std::mem::replace(&mut probes.seen, now);
    let run = |seen: Option<(Revision, usize)>| seen.map(|(revision, index)| (revision.start, index));
    if before.is_some() && run(before) != run(now) {
        probes.pinned.iter_mut().for_each(|probe| probe.series.clear());
    }
    let simulation = &simulations.selected().simulation;
    let terrain = &simulation.terrain;
    let fits = |values: &&Grid| (values.width(), values.height()) == (terrain.width(), terrain.height());
    let values = overlay.values.get(simulations.selected_index()).filter(fits);
    let values = overlay.shown.and_then(|quantity| Some((quantity, values?)));
    for probe in &mut probes.pinned {
        probe.sample(simulation.ticks(), terrain, values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_scene::{io::scene::open_first, model::origin::Options};

    #[test]
    fn probes_record_each_tick_and_reset_on_restart() {
        let options = Options { size: Some((32, 32)), ..Options::default() };
        let mut app = App::new();
        app.insert_resource(Simulations::new(vec![open_first("round-hill", &options).expect("built in")]))
            .insert_resource(Revision { state: 1, start: 1 })
            .init_resource::<Probes>()
            .init_resource::<Overlay>()
            .add_systems(Update, follow);
        for place in [[0.1, 0.1], [0.5, 0.5], [0.2, 0.9], [0.9, 0.9], [0.3, 0.3]] {
            app.world_mut().resource_mut::<Probes>().pin(place);
        }
        assert_eq!(app.world().resource::<Probes>().pinned[0].place, [0.5, 0.5], "the oldest was removed");
        for _ in 0..3 {
            app.update();
            app.world_mut().resource_mut::<Simulations>().all_mut()[0].simulation.tick();
            app.world_mut().resource_mut::<Revision>().next_state();
        }
        let probes = app.world().resource::<Probes>().clone();
        let ticks: Vec<u64> = probes.pinned[0].series.iter().map(|sample| sample.tick).collect();
        assert_eq!(ticks, [0, 1, 2]);
        let top = app.world().resource::<Simulations>().selected().simulation.terrain.start.at(16, 16);
        assert_eq!(probes.pinned[0].series[0].ground, top);
        assert_eq!(probes.csv().lines().count(), 1 + MAX_PROBES * 3);
        app.world_mut().resource_mut::<Revision>().next_start();
        app.update();
        assert_eq!(app.world().resource::<Probes>().pinned[3].series.len(), 1);
    }

    #[test]
    fn chart_of_the_overlay_follows_the_current_one() {
        let [basin, area] = [Quantity::Basin, Quantity::DrainageArea].map(Some);
        let plotted = |selected| {
            let probes = Probes { selected, ..Probes::default() };
            [basin, area, None].map(|overlay| probes.plotted(overlay))
        };
        assert_eq!(plotted(ProbeSeries::Water), [ProbeSeries::Water; 3]);
        let [of_basin, of_area] = [Quantity::Basin, Quantity::DrainageArea].map(ProbeSeries::Overlay);
        assert_eq!(plotted(of_basin), [of_basin, of_area, ProbeSeries::Change]);
    }
}
