//! The start of a run as a hand had shaped it: what was done before the first tick is not lost when the run starts again.

use std::sync::Arc;

use super::session::Session;
use crate::sim::{generate::TerrainParams, terrain::Terrain};

/// A terrain as a hand had shaped it before the first tick.
#[derive(Debug)]
pub struct Shaped {
    /// Seed and parameters of the terrain that was shaped: with others there is another one.
    seed: u64,
    params: TerrainParams,
    /// All layers but rain and mask, which are kept in any case.
    terrain: Terrain,
}

impl Session {
    /// Takes note of what a hand has shaped, if no tick has run yet. To be called before the first one, and before another
    /// start.
    pub fn note_shape(&mut self) {
        let simulation = &self.simulation;
        if simulation.ticks() > 0 || !simulation.between_ticks() {
            return;
        }
        if self.origin.edited {
            let terrain = Terrain { rain: None, mask: None, ..simulation.terrain.clone() };
            self.set_shape(terrain);
        } else if self.shape().is_some() {
            // It was taken back.
            self.shaped = None;
        }
    }

    /// Lets the run start from bare ground the next time.
    pub fn forget_shape(&mut self) {
        (self.shaped, self.origin.edited) = (None, false);
    }

    /// The terrain to start from with this seed, if a hand has shaped it.
    pub(super) fn shaped_start(&self, seed: u64) -> Option<Terrain> {
        let shaped = self.shaped.as_ref().filter(|shaped| shaped.seed == seed && shaped.params == self.terrain)?;
        let rain = self.maps.rain.as_ref();
        let rain = rain.map(|map| map.resampled(shaped.terrain.width(), shaped.terrain.height()));
        Some(Terrain { sources: self.sources.clone(), rain, ..shaped.terrain.clone() })
    }

    /// The terrain to start from again with the present seed and parameters, if a hand has shaped it.
    pub(super) fn shape(&self) -> Option<&Terrain> {
        let same = |shaped: &&Arc<Shaped>| shaped.seed == self.simulation.seed() && shaped.params == self.terrain;
        self.shaped.as_ref().filter(same).map(|shaped| &shaped.terrain)
    }

    /// Takes over such a terrain with a work that was saved.
    pub(super) fn set_shape(&mut self, terrain: Terrain) {
        let (seed, params) = (self.simulation.seed(), self.terrain.clone());
        self.shaped = Some(Arc::new(Shaped { seed, params, terrain }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{
        Progress,
        heightmap::Options,
        project::{self, Project},
    };

    fn session() -> Session {
        let options = Options { size: Some((48, 48)), ..Options::default() };
        Session::open("round-hill", &options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// What a stroke does.
    fn shape(session: &mut Session, metres: f32) {
        let terrain = &mut session.simulation.terrain;
        terrain.bedrock[500] += metres;
        terrain.softness[600] = 0.9;
        session.origin.edited = true;
    }

    fn ticks(session: &mut Session) {
        session.note_shape();
        (0..2).for_each(|_| session.simulation.tick());
    }

    #[test]
    fn what_was_shaped_before_the_first_tick_is_the_start_and_what_came_later_is_not() {
        let mut session = session();
        let generated = session.simulation.terrain.clone();
        shape(&mut session, 7.0);
        let shaped = session.simulation.terrain.clone();
        ticks(&mut session);
        shape(&mut session, 11.0);
        for _ in 0..2 {
            session.restart(1);
            assert!(session.simulation.terrain == shaped && session.simulation.ticks() == 0);
            assert!(session.did_by_hand());
            ticks(&mut session);
        }
        session.restart(2);
        assert!(session.simulation.terrain == generated, "the hill depends on the seed, or a shape on none");
        ticks(&mut session);
        session.restart(1);
        assert!(session.simulation.terrain == shaped, "the shape was forgotten");
        // Taken back, by undo.
        session.simulation.terrain = generated.clone();
        session.origin.edited = false;
        ticks(&mut session);
        session.restart(1);
        assert!(session.simulation.terrain == generated, "what was taken back came again");
    }

    #[test]
    fn a_shape_belongs_to_the_terrain_that_it_was_given() {
        let mut session = session();
        shape(&mut session, 7.0);
        let shaped = session.simulation.terrain.clone();
        ticks(&mut session);
        let relief = session.terrain.relief;
        session.terrain.relief = 0.5 * relief;
        let seed = session.simulation.seed();
        session.restart(seed);
        assert!(session.simulation.terrain.bedrock.min_max().1 <= 0.5 * relief);
        assert!(!session.origin.edited);
        session.terrain.relief = relief;
        session.restart(seed);
        assert!(session.simulation.terrain == shaped && session.origin.edited);
        session.forget_shape();
        session.restart(seed);
        assert!(session.simulation.terrain != shaped && !session.origin.edited);
    }

    #[test]
    fn a_saved_work_starts_again_as_it_was_shaped() {
        let mut session = session();
        shape(&mut session, 7.0);
        let shaped = session.simulation.terrain.clone();
        ticks(&mut session);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("work.thalweg");
        let mut project =
            Project { sessions: vec![session], chosen: 0, camera: None, timeline: project::Keyframes::default() };
        project::save(&mut project, &path, &Progress::default()).unwrap_or_else(|error| panic!("{error}"));
        let mut opened = project::open(&path).unwrap_or_else(|error| panic!("{error}")).sessions.remove(0);
        assert!(opened.simulation.terrain != shaped);
        opened.restart(1);
        assert!(opened.simulation.terrain == shaped);
    }
}
