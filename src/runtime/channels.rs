//! The rivers that are drawn, found beside the frames while the land changes.

use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bevy::prelude::*;

use super::{Live, Revision};
use crate::{
    model::session::Session,
    sim::network::{Land, Nearest, RiverParams},
};

/// Finding them may take this part of the time; on a large map they follow the land less often.
const SHARE: u32 = 8;
const SHORTEST: Duration = Duration::from_millis(250);

/// Of each run the nearest river of every cell; none where rivers are not drawn.
type Maps = Vec<Option<Arc<Vec<Nearest>>>>;

/// The rivers of all runs.
#[derive(Resource, Default)]
pub struct Channels {
    /// As they were last found.
    pub maps: Maps,
    asked: Option<(Revision, Vec<RiverParams>)>,
    work: Option<(JoinHandle<Maps>, Instant)>,
    rest: Option<Instant>,
}

impl Channels {
    /// Whether the maps are those of this state, so that no others follow while nothing changes.
    pub fn are_of(&self, live: &Live, revision: Revision) -> bool {
        let params = live.all().iter().map(|session| &session.rivers);
        let asked = self.asked.as_ref().is_some_and(|(asked, known)| *asked == revision && params.eq(known));
        asked && self.work.is_none()
    }
}

/// What the rivers of a run are found of, if they are drawn.
fn land(session: &Session) -> Option<Land> {
    session.rivers.shown.then(|| Land::of(&session.simulation, &session.rivers))
}

fn find(lands: Vec<Option<Land>>) -> Maps {
    lands.into_iter().map(|land| land.map(|land| Arc::new(land.nearest()))).collect()
}

/// Follows all runs.
pub(super) fn follow(live: Res<Live>, revision: Res<Revision>, mut channels: ResMut<Channels>) {
    let params = || live.all().iter().map(|session| session.rivers.clone());
    // What is on the screen changes rarely.
    let quiet = channels.bypass_change_detection();
    let (start, same) = match &quiet.asked {
        Some((asked, known)) => (asked.start != revision.start, params().eq(known.iter().cloned())),
        None => (true, false),
    };
    if quiet.work.as_ref().is_some_and(|(work, _)| work.is_finished())
        && let Some((work, begun)) = quiet.work.take()
    {
        quiet.rest = Some(Instant::now() + SHORTEST.max(begun.elapsed() * SHARE));
        // What was found of another start is of no use.
        if let Ok(maps) = work.join()
            && !start
        {
            quiet.maps = maps;
            channels.set_changed();
        }
    }
    let quiet = channels.bypass_change_detection();
    let known = same && quiet.asked.as_ref().is_some_and(|(asked, _)| *asked == *revision);
    let rests = same && quiet.rest.is_some_and(|until| Instant::now() < until);
    if known || !live.between_ticks() || (!start && (quiet.work.is_some() || rests)) {
        return;
    }
    quiet.asked = Some((*revision, params().collect()));
    if !params().any(|params| params.shown) {
        if quiet.maps.iter().any(Option::is_some) {
            channels.maps.clear();
        }
        return;
    }
    let lands: Vec<_> = live.all().iter().map(land).collect();
    if start {
        // The first picture of a run has its rivers.
        (channels.maps, channels.work) = (find(lands), None);
        return;
    }
    let work = std::thread::Builder::new().name("thalweg channels".to_owned()).spawn(move || find(lands));
    // Without a thread they stay as they are this time.
    quiet.work = work.ok().map(|work| (work, Instant::now()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::origin::Options;

    #[test]
    fn rivers_are_there_with_the_first_picture_and_follow_land_and_sliders() {
        let options = Options { size: Some((64, 64)), ..Options::default() };
        let mut session = Session::open("alpine-valley", &options).expect("built in");
        session.rivers = RiverParams { shown: true, from_cells: 40.0, ..RiverParams::default() };
        let mut app = App::new();
        app.insert_resource(Live::new(vec![session]))
            .insert_resource(Revision { state: 1, start: 1 })
            .init_resource::<Channels>()
            .add_systems(Update, follow);
        let count = |app: &App| {
            let maps = &app.world().resource::<Channels>().maps;
            maps.iter().flatten().flat_map(|map| map.iter()).filter(|cell| cell.half_width > 0.0).count()
        };
        let settled = |app: &App| {
            let world = app.world();
            world.resource::<Channels>().are_of(world.resource::<Live>(), *world.resource::<Revision>())
        };
        let wait = |app: &mut App| {
            assert!(!settled(app), "nothing is to be found");
            while !settled(app) {
                app.update();
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        app.update();
        assert!(settled(&app), "the first rivers come late");
        let first = count(&app);
        assert!(first > 50, "{first}");
        // A slider is followed beside the frames, and so is a tick.
        app.world_mut().resource_mut::<Live>().all_mut()[0].rivers.from_cells = 400.0;
        wait(&mut app);
        assert!(count(&app) < first && count(&app) > 0);
        app.world_mut().resource_mut::<Live>().all_mut()[0].simulation.terrain.bedrock.fill(5.0);
        app.world_mut().resource_mut::<Revision>().goes_on();
        app.world_mut().resource_mut::<Channels>().rest = None;
        wait(&mut app);
        let level = count(&app);
        app.world_mut().resource_mut::<Live>().all_mut()[0].rivers.shown = false;
        wait(&mut app);
        assert_eq!((count(&app), level > 0), (0, true));
    }
}
