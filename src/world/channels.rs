//! River network for display, extracted in the background while the terrain changes.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bevy::prelude::*;

use super::{Comparison, Revision, Simulations, background::BackgroundTask};
use thalweg_scene::model::session::Session;
use thalweg_sim::{
    core::grid::Grid,
    hydrology::network::{RiverMaps, RiverParams, RiverTerrain},
    simulation::Simulation,
};

/// Reciprocal of the fraction of time that the extraction may use; on large maps, rivers follow the terrain less often.
const SHARE: u32 = 8;
const SHORTEST: Duration = Duration::from_millis(250);
/// Number of cells above which the first frame does not wait for the rivers.
const MAX_SYNCHRONOUS_CELLS: usize = 1 << 16;

/// Rivers of each simulation; `None` where they are hidden.
type RiverLayers = Vec<Option<Arc<RiverMaps>>>;

/// Request for rivers: version of the state, parameters, and `true` if the starts are visible too.
#[derive(Clone, PartialEq)]
struct RiverRequest {
    of: Revision,
    params: Vec<RiverParams>,
    starts: bool,
}

/// Rivers of all simulations.
#[derive(Resource, Default)]
pub struct RiverOverlay {
    /// Rivers last extracted.
    pub maps: RiverLayers,
    /// Rivers at the starts, while these are visible.
    pub starts: RiverLayers,
    /// Lake levels of each simulation, see [`RiverMaps::lakes`]. They are updated in place, so that few tiles change.
    lakes: Vec<Option<Grid>>,
}

/// Extraction of the rivers in the background.
#[derive(Resource, Default)]
pub struct RiverExtraction {
    /// Last request, and the one for which the rivers of the starts were last extracted.
    asked: Option<RiverRequest>,
    starts_of: Option<RiverRequest>,
    task: Option<BackgroundTask<(), [RiverLayers; 2]>>,
    rest: Option<Instant>,
}

impl RiverExtraction {
    /// Returns `true` if the rivers are those of this state, so that no update is pending.
    pub fn is_current(&self, simulations: &Simulations, revision: Revision) -> bool {
        let params = simulations.all().iter().map(|session| &session.rivers);
        let asked = self.asked.as_ref().is_some_and(|asked| asked.of == revision && params.eq(&asked.params));
        asked && self.task.is_none()
    }
}

impl RiverOverlay {
    /// Returns the lake levels of a simulation, see [`RiverMaps::lakes`].
    pub fn lakes(&self, run: usize) -> Option<&Grid> {
        self.lakes.get(run)?.as_ref()
    }

    fn take(&mut self, [maps, starts]: [RiverLayers; 2]) {
        self.lakes.resize(maps.len(), None);
        for (lakes, map) in self.lakes.iter_mut().zip(&maps) {
            let found = map.as_ref().and_then(|map| map.lakes.as_ref());
            let size = |lakes: &Grid| (lakes.width(), lakes.height());
            match (&mut *lakes, found) {
                (Some(lakes), Some(found)) if size(lakes) == size(found) => lakes.copy_changes(found),
                _ => *lakes = found.cloned(),
            }
        }
        self.maps = maps;
        if !starts.is_empty() {
            self.starts = starts;
        }
    }
}

/// Returns the input of the river extraction for each simulation; `None` where rivers are hidden.
fn lands(simulations: &Simulations, of: fn(&Simulation, &RiverParams) -> RiverTerrain) -> Vec<Option<RiverTerrain>> {
    let land = |session: &Session| session.rivers.shown.then(|| of(&session.simulation, &session.rivers));
    simulations.all().iter().map(land).collect()
}

fn find(lands: [Vec<Option<RiverTerrain>>; 2]) -> [RiverLayers; 2] {
    lands.map(|lands| lands.into_iter().map(|land| land.map(|land| Arc::new(land.river_maps()))).collect())
}

/// Updates the rivers of all simulations.
pub(super) fn follow(
    simulations: Res<Simulations>,
    revision: Res<Revision>,
    comparison: Res<State<Comparison>>,
    mut extraction: ResMut<RiverExtraction>,
    mut channels: ResMut<RiverOverlay>,
) {
    let params = simulations.all().iter().map(|session| session.rivers.clone()).collect();
    let question = RiverRequest { of: *revision, params, starts: comparison.shows_start() };
    let (start, same) = match &extraction.asked {
        Some(asked) => {
            (asked.of.start != question.of.start, (&asked.params, asked.starts) == (&question.params, question.starts))
        }
        None => (true, false),
    };
    if let Some(task) = extraction.task.take_if(|task| task.is_finished()) {
        extraction.rest = Some(Instant::now() + SHORTEST.max(task.elapsed() * SHARE));
        // Results for another start are obsolete.
        if let Some(found) = task.join()
            && !start
        {
            channels.take(found);
        }
    }
    let known = extraction.asked.as_ref() == Some(&question);
    let rests = same && extraction.rest.is_some_and(|until| Instant::now() < until);
    if known || !simulations.between_ticks() || (!start && (extraction.task.is_some() || rests)) {
        return;
    }
    let shown = simulations.all().iter().filter(|session| session.rivers.shown);
    let cells: usize = shown.map(|session| session.simulation.terrain.bedrock.len()).sum();
    if start && cells > MAX_SYNCHRONOUS_CELLS && extraction.task.is_some() {
        // Only one search at a time, as each has a copy of the terrain. Its result for other terrain will be dropped.
        if !channels.maps.is_empty() {
            *channels = RiverOverlay::default();
        }
        return;
    }
    extraction.asked = Some(question.clone());
    if !question.params.iter().any(|params| params.shown) {
        if channels.maps.iter().chain(&channels.starts).any(Option::is_some) {
            *channels = RiverOverlay::default();
        }
        extraction.starts_of = None;
        return;
    }
    // The start does not change.
    let of = |asked: &RiverRequest| (asked.of.start, asked.params.clone());
    let new = question.starts && extraction.starts_of.as_ref().is_none_or(|found| of(found) != of(&question));
    let lands = [
        lands(&simulations, Simulation::river_terrain),
        if new { lands(&simulations, Simulation::river_terrain_at_start) } else { Vec::new() },
    ];
    if new {
        extraction.starts_of = Some(question);
    }
    if start {
        // Results for other terrain are obsolete.
        extraction.task = None;
        *channels = RiverOverlay::default();
        // The first frame of a simulation includes its rivers, unless that would delay it too much.
        if cells <= MAX_SYNCHRONOUS_CELLS {
            channels.take(find(lands));
            return;
        }
    }
    extraction.task = Some(BackgroundTask::start((), move || find(lands)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy::state::app::StatesPlugin;
    use thalweg_scene::{io::scene::open_first, model::origin::Options};

    /// Creates an app with a simulation.
    fn app(session: Session) -> App {
        let mut app = App::new();
        app.add_plugins(StatesPlugin)
            .insert_resource(Simulations::new(vec![session]))
            .insert_resource(Revision { state: 1, start: 1 })
            .init_resource::<RiverOverlay>()
            .init_resource::<RiverExtraction>()
            .init_state::<Comparison>()
            .add_systems(Update, follow);
        app
    }

    /// Returns `true` if the rivers are those of the current state.
    fn settled(app: &App) -> bool {
        let world = app.world();
        world.resource::<RiverExtraction>().is_current(world.resource::<Simulations>(), *world.resource::<Revision>())
    }

    #[test]
    fn first_frame_of_large_terrain_does_not_wait_for_rivers() {
        let side = MAX_SYNCHRONOUS_CELLS.isqrt() + 8;
        let options = Options { size: Some((side, side)), ..Options::default() };
        let mut session = open_first("round-hill", &options).expect("built in");
        session.rivers.shown = true;
        let mut app = app(session);
        let state = |app: &App| (app.world().resource::<RiverOverlay>().maps.len(), settled(app));
        for start in 1..3 {
            app.insert_resource(Revision { state: start, start });
            app.update();
            // Nor does the new terrain show the rivers of the previous one.
            assert_eq!(state(&app), (0, false));
            while !state(&app).1 {
                app.update();
                std::thread::sleep(Duration::from_millis(2));
            }
            assert_eq!(state(&app).0, 1);
        }
    }

    #[test]
    fn rivers_update_with_terrain_and_parameters() {
        let options = Options { size: Some((64, 64)), ..Options::default() };
        let mut session = open_first("alpine-valley", &options).expect("built in");
        session.rivers = RiverParams { shown: true, from_cells: 40.0, ..RiverParams::default() };
        let mut app = app(session);
        let count = |app: &App| {
            let maps = &app.world().resource::<RiverOverlay>().maps;
            maps.iter().flatten().flat_map(|map| &map.nearest).filter(|cell| cell.half_width > 0.0).count()
        };
        let wait = |app: &mut App| {
            assert!(!settled(app), "no update is pending");
            while !settled(app) {
                app.update();
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        app.update();
        assert!(settled(&app), "the first rivers come late");
        let first = count(&app);
        assert!(first > 50, "{first}");
        // Sliders and ticks are followed in the background.
        app.world_mut().resource_mut::<Simulations>().all_mut()[0].rivers.from_cells = 400.0;
        wait(&mut app);
        let at_start = count(&app);
        assert!(at_start < first && at_start > 0);
        app.world_mut().resource_mut::<Simulations>().all_mut()[0].simulation.terrain.bedrock.fill(5.0);
        app.world_mut().resource_mut::<Revision>().next_state();
        app.world_mut().resource_mut::<RiverExtraction>().rest = None;
        wait(&mut app);
        let level = count(&app);
        // The start keeps its rivers while it is visible.
        assert!(app.world().resource::<RiverOverlay>().starts.is_empty());
        app.world_mut().resource_mut::<NextState<Comparison>>().set(Comparison::Split);
        app.update();
        while !settled(&app) {
            app.update();
            std::thread::sleep(Duration::from_millis(2));
        }
        let starts = &app.world().resource::<RiverOverlay>().starts;
        let of_start =
            starts.iter().flatten().flat_map(|map| &map.nearest).filter(|cell| cell.half_width > 0.0).count();
        assert_eq!((of_start, count(&app)), (at_start, level));
        assert_ne!(at_start, level);
        app.world_mut().resource_mut::<Simulations>().all_mut()[0].rivers.shown = false;
        wait(&mut app);
        assert_eq!((count(&app), level > 0), (0, true));
    }
}
