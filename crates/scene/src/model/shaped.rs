//! Sculpted start of a simulation: edits before the first tick survive a restart.

use std::sync::Arc;

use super::session::Session;
use thalweg_sim::{
    core::terrain::{Layer, Terrain},
    generate::TerrainParams,
    params::{collect_parameters, write},
};

/// Terrain sculpted before the first tick.
#[derive(Debug)]
pub struct SculptedStart {
    recipe: Recipe,
    /// All layers that can be sculpted.
    terrain: Terrain,
}

/// Seed and parameters of the terrain before sculpting; a sculpted start is only valid for the same ones.
#[derive(Debug, PartialEq)]
struct Recipe {
    seed: u64,
    params: TerrainParams,
}

impl SculptedStart {
    /// Returns the memory of its layers, in bytes.
    pub fn bytes(&self) -> usize {
        4 * self.terrain.layers().map(|(_, layer)| layer.len()).sum::<usize>()
    }
}

/// Returns `true` for a layer that belongs to the sculpted start. Painted layers are always kept.
fn is_sculptable(layer: Layer) -> bool {
    !layer.row().painted
}

impl Recipe {
    /// Collects seed and parameters, ignoring those without effect.
    fn of(session: &Session, seed: u64) -> Self {
        let (mut params, fresh) = (session.terrain.clone(), TerrainParams::default());
        params.edge = fresh.edge;
        if session.heightmap.is_some() {
            // For an imported map, only the sand layer is generated.
            return Self { seed: 0, params: TerrainParams { sand: params.sand, ..fresh } };
        }
        let declared = collect_parameters(("terrain", &params));
        for (parameter, fresh) in declared.iter().zip(collect_parameters(("terrain", &fresh))) {
            if parameter.knob.idle(&declared).is_some() {
                write(&mut params, parameter.name, &fresh.value);
            }
        }
        Self { seed, params }
    }
}

impl Session {
    /// Records the sculpted start if no tick has run yet. Call this before the first tick and before seed or terrain parameters change.
    pub fn record_sculpted_start(&mut self) {
        let simulation = &self.simulation;
        if simulation.ticks() > 0 || !simulation.between_ticks() || !self.origin.edited {
            return;
        }
        let now = &simulation.terrain;
        let same = |shape: &Terrain| shape.layers().eq(now.layers().filter(|(layer, _)| is_sculptable(*layer)));
        if self.sculpted_terrain().is_some_and(same) {
            return;
        }
        let layers = |layer| now.layer(layer).filter(|_| is_sculptable(layer)).cloned();
        let terrain = Terrain::from_layers((now.width(), now.height()), (now.cell_size, now.edge), layers);
        self.set_sculpted_start(terrain);
    }

    /// Returns the sculpted start, which may be that of another seed or of other parameters.
    pub fn sculpted_start(&self) -> Option<&Arc<SculptedStart>> {
        self.shaped.as_ref()
    }

    /// Discards the sculpted start: the next restart uses the generated or imported terrain.
    pub fn discard_sculpted_start(&mut self) {
        (self.shaped, self.origin.edited) = (None, false);
    }

    /// Returns the sculpted start terrain for a seed, if there is one.
    pub fn sculpted_start_terrain(&self, seed: u64) -> Option<Terrain> {
        let shaped = self.shaped.as_ref().filter(|shaped| shaped.recipe == Recipe::of(self, seed))?;
        let mut terrain = shaped.terrain.clone();
        (terrain.sources, terrain.edge) = (self.sources.clone(), self.terrain.edge);
        terrain.uplift = self.terrain.uplift_map((terrain.width(), terrain.height()), seed);
        for (&layer, map) in self.maps.iter().filter(|(layer, _)| layer.row().painted) {
            terrain.set_layer(layer, Some(map.resample(terrain.width(), terrain.height())));
        }
        Some(terrain)
    }

    /// Returns the sculpted terrain for the current seed and parameters, if there is one.
    pub fn sculpted_terrain(&self) -> Option<&Terrain> {
        let shaped = self.shaped.as_ref()?;
        (shaped.recipe == Recipe::of(self, self.simulation.seed())).then_some(&shaped.terrain)
    }

    /// Records a terrain as the sculpted start.
    pub fn set_sculpted_start(&mut self, terrain: Terrain) {
        let recipe = Recipe::of(self, self.simulation.seed());
        self.shaped = Some(Arc::new(SculptedStart { recipe, terrain }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        io::{
            JobProgress,
            project::{self, Project},
            scene::open_first,
        },
        model::{origin::Options, state::SimulationState},
    };
    use thalweg_sim::core::terrain::Edge;

    fn session() -> Session {
        let options = Options { size: Some((48, 48)), ..Options::default() };
        open_first("round-hill", &options).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Applies the effect of a brush stroke.
    fn shape(session: &mut Session, metres: f32) {
        let terrain = &mut session.simulation.terrain;
        terrain.bedrock[500] += metres;
        terrain.softness[600] = 0.9;
        session.origin.edited = true;
    }

    fn ticks(session: &mut Session) {
        session.record_sculpted_start();
        (0..2).for_each(|_| session.simulation.tick());
    }

    #[test]
    fn edits_before_first_tick_survive_restart() {
        let mut session = session();
        let generated = session.simulation.terrain.clone();
        shape(&mut session, 7.0);
        let shaped = session.simulation.terrain.clone();
        ticks(&mut session);
        shape(&mut session, 11.0);
        for _ in 0..2 {
            session.restart(1);
            assert!(session.simulation.terrain == shaped && session.simulation.ticks() == 0);
            assert!(session.has_manual_edits());
            ticks(&mut session);
        }
        session.restart(2);
        assert!(session.simulation.terrain == generated, "the hill depends on the seed, or a shape on none");
        ticks(&mut session);
        session.restart(1);
        assert!(session.simulation.terrain == shaped, "the shape was forgotten");
        // Undone.
        session.simulation.terrain = generated.clone();
        ticks(&mut session);
        session.restart(1);
        assert!(session.simulation.terrain == generated, "undone changes reappeared");
    }

    #[test]
    fn sculpted_start_belongs_to_its_terrain_parameters() {
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
        // Parameters without effect on this terrain don't invalidate the sculpted start.
        (session.terrain.faults, session.terrain.edge) = (7, Edge::Wall);
        session.restart(seed);
        assert!(session.simulation.terrain == Terrain { edge: Edge::Wall, ..shaped.clone() });
        session.discard_sculpted_start();
        session.restart(seed);
        assert!(session.simulation.terrain != shaped && !session.origin.edited);
    }

    #[test]
    fn snapshot_restores_its_sculpted_start() {
        let mut session = session();
        let bare = SimulationState::capture_packed(&mut session);
        shape(&mut session, 7.0);
        let shaped = session.simulation.terrain.clone();
        ticks(&mut session);
        let run_on = SimulationState::capture_packed(&mut session);
        session.discard_sculpted_start();
        session.restart(1);
        assert!(session.simulation.terrain != shaped);
        run_on.restore(&mut session).expect("it is its own");
        session.restart(1);
        assert!(session.simulation.terrain == shaped && session.origin.edited);
        bare.restore(&mut session).expect("it is its own");
        ticks(&mut session);
        session.restart(1);
        assert!(session.simulation.terrain != shaped && session.generates_its_state());
    }

    #[test]
    fn saved_project_restarts_from_sculpted_start() {
        let mut session = session();
        shape(&mut session, 7.0);
        let shaped = session.simulation.terrain.clone();
        ticks(&mut session);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("work.thalweg");
        let mut project = Project::of(vec![session]);
        project::save(&mut project, &path, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
        let mut opened = project::open(&path).unwrap_or_else(|error| panic!("{error}")).sessions.remove(0);
        assert!(opened.simulation.terrain != shaped);
        opened.restart(1);
        assert!(opened.simulation.terrain == shaped);
    }
}
