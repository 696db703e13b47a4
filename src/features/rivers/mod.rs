//! Rivers of the selected simulation, analysed in the background while their panel is visible.

mod panel;

use std::time::{Duration, Instant};

use bevy::prelude::*;

use crate::world::{
    AppCommandEvent, FrameSystems, MapPlaces, MarkSystems, Revision, Simulations, background::BackgroundTask,
};
use thalweg_sim::{hydrology::network::RiverParams, measure::Study};

/// Pause after a study, relative to its duration: large maps are studied less often.
const SHARE: u32 = 8;
/// Minimum pause after a study.
const SHORTEST: Duration = Duration::from_millis(300);

/// Input of a study: start, simulation, parameters and selected river.
#[derive(Clone, PartialEq)]
struct StudyRequest {
    start: u64,
    run: usize,
    params: RiverParams,
    chosen: Option<[f32; 2]>,
}

/// Rivers of the selected simulation.
#[derive(Resource, Default)]
pub struct RiverStudy {
    /// `true` while the panel is visible, as required for a study.
    pub wanted: bool,
    /// Place clicked to select a river, as fractions of the map's sides.
    pub selected_place: Option<[f32; 2]>,
    /// Result of the last study.
    pub study: Option<Study>,
    /// Input of the last study, and the state it used.
    asked: Option<(StudyRequest, u64)>,
    job: Option<BackgroundTask<StudyRequest, Study>>,
    rest: Option<Instant>,
}

/// Trace of the selected river from source to mouth, while the panel is visible.
#[derive(Component, Default)]
#[require(MapPlaces)]
pub struct RiverTrace;

/// Selects the largest river near a place, as fractions of the map's sides, or the largest of all.
#[derive(Event, Clone, Debug, PartialEq)]
pub struct SelectRiver(pub Option<[f32; 2]>);

impl AppCommandEvent for SelectRiver {}

/// Adds the rivers and their panel.
pub fn plugin(app: &mut App) {
    app.add_plugins(panel::plugin);
    app.world_mut().spawn(RiverTrace);
    app.init_resource::<RiverStudy>()
        .add_observer(|chosen: On<SelectRiver>, mut rivers: ResMut<RiverStudy>| rivers.selected_place = chosen.0)
        .add_systems(
            Update,
            (study, trace.in_set(MarkSystems).ambiguous_with(MarkSystems)).chain().in_set(FrameSystems::Follow),
        );
}

/// Traces the selected river while the panel is visible.
fn trace(simulations: Res<Simulations>, rivers: Res<RiverStudy>, mut trace: Single<&mut MapPlaces, With<RiverTrace>>) {
    let terrain = &simulations.selected().simulation.terrain;
    let study =
        rivers.study.as_ref().filter(|study| rivers.wanted && study.size == (terrain.width(), terrain.height()));
    trace.set_if_neq(MapPlaces(study.into_iter().flat_map(Study::course_points).collect()));
}

/// Studies the selected simulation.
fn study(simulations: Res<Simulations>, revision: Res<Revision>, mut rivers: ResMut<RiverStudy>) {
    let rivers = &mut *rivers;
    let question = StudyRequest {
        start: revision.start,
        run: simulations.selected_index(),
        params: simulations.selected().rivers.clone(),
        chosen: rivers.selected_place,
    };
    if let Some(task) = rivers.job.take_if(|task| task.is_finished()) {
        rivers.rest = Some(Instant::now() + SHORTEST.max(task.elapsed() * SHARE));
        // An outdated result is discarded.
        if task.request == question
            && let Some(found) = task.join()
        {
            rivers.study = Some(found);
        }
    }
    if rivers.asked.as_ref().is_some_and(|(asked, _)| (asked.start, asked.run) != (question.start, question.run)) {
        (rivers.study, rivers.asked) = (None, None);
    }
    let due = rivers.asked.as_ref().is_none_or(|(asked, _)| *asked != question)
        || rivers.rest.is_none_or(|until| Instant::now() > until);
    let asked = Some((question.clone(), revision.state));
    if !rivers.wanted || rivers.job.is_some() || rivers.asked == asked || !due || !simulations.between_ticks() {
        return;
    }
    rivers.asked = asked;
    let (land, place) = (simulations.selected().simulation.river_terrain(&question.params), rivers.selected_place);
    rivers.job = Some(BackgroundTask::start(question, move || Study::of(&land, place)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_scene::{io::scene::open_first, model::origin::Options};

    #[test]
    fn selected_river_is_studied_while_panel_is_visible() {
        let options = Options { size: Some((64, 64)), ..Options::default() };
        let session = open_first("alpine-valley", &options).expect("built in");
        let mut app = App::new();
        app.insert_resource(Simulations::new(vec![session]))
            .insert_resource(Revision { state: 1, start: 1 })
            .init_resource::<RiverStudy>()
            .add_systems(Update, study);
        app.update();
        assert!(app.world().resource::<RiverStudy>().study.is_none(), "nothing is studied while the panel is hidden");
        let wait = |app: &mut App| {
            app.update();
            while app.world().resource::<RiverStudy>().job.is_some() {
                std::thread::sleep(Duration::from_millis(2));
                app.update();
            }
        };
        app.world_mut().resource_mut::<RiverStudy>().wanted = true;
        wait(&mut app);
        let mouth = |app: &App| {
            app.world().resource::<RiverStudy>().study.as_ref().and_then(|found| found.course_points().last())
        };
        let largest = mouth(&app).expect("there is a river");
        // Another selection or another map is studied immediately; an outdated result is discarded.
        let other = [1.0 - largest[0], 1.0 - largest[1]];
        app.world_mut().resource_mut::<RiverStudy>().selected_place = Some(other);
        app.update();
        assert!(app.world().resource::<RiverStudy>().job.is_some());
        app.world_mut().resource_mut::<RiverStudy>().selected_place = None;
        wait(&mut app);
        assert_eq!(mouth(&app), Some(largest));
        app.world_mut().resource_mut::<RiverStudy>().selected_place = Some(other);
        wait(&mut app);
        assert_ne!(mouth(&app), Some(largest));
        app.world_mut().resource_mut::<Revision>().next_start();
        app.world_mut().resource_mut::<RiverStudy>().wanted = false;
        app.update();
        assert_eq!(mouth(&app), None);
    }
}
