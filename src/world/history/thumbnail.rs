//! Thumbnails of states, rendered in the background on request.

use std::sync::Arc;

use bevy::prelude::*;

use super::{History, HistoryNode, NodeState};
use crate::world::{Simulations, background::BackgroundTask};
use thalweg_scene::{
    io::export::hillshade,
    look::{Look, WaterLook},
    model::state::SimulationState,
};
use thalweg_sim::core::{grid::Grid, terrain::Layer};

/// Pixels along the longer side.
const SIDE: usize = 160;

/// Thumbnail of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Thumbnail {
    /// Identifier of the node.
    pub id: u64,
    /// Columns and rows.
    pub size: [usize; 2],
    /// Red, green and blue of each pixel, row by row.
    pub pixels: Vec<u8>,
    /// Tick of the earlier state shown, if the node has no state of its own.
    pub earlier: Option<u64>,
}

/// The last thumbnail, and the one being rendered. No others are cached, since rendering takes milliseconds.
#[derive(Debug, Default)]
pub(super) struct ThumbnailCache {
    wanted: Option<u64>,
    last: Option<Arc<Thumbnail>>,
    task: Option<BackgroundTask<u64, Option<Thumbnail>>>,
    /// Node that could not be rendered.
    failed: Option<u64>,
}

impl History {
    /// Returns the thumbnail of a node, if it was rendered last.
    pub fn thumbnail(&self, id: u64) -> Option<&Arc<Thumbnail>> {
        self.thumbnails.last.as_ref().filter(|thumbnail| thumbnail.id == id)
    }

    /// Returns `true` if the thumbnail of this node was requested last.
    pub fn draws(&self, id: u64) -> bool {
        self.thumbnails.wanted == Some(id) || self.thumbnails.failed == Some(id)
    }

    /// Requests the thumbnail of a node.
    pub(in crate::world) fn draw(&mut self, id: u64) {
        self.thumbnails.wanted = Some(id);
    }
}

/// Renders the requested thumbnail.
pub(in crate::world) fn draw_wanted(simulations: Res<Simulations>, mut history: ResMut<History>) {
    let history = &mut *history;
    if let Some(task) = history.thumbnails.task.take_if(|task| task.is_finished()) {
        let id = task.request;
        // A failed thumbnail is not retried.
        match task.join().flatten() {
            Some(thumbnail) => history.thumbnails.last = Some(Arc::new(thumbnail)),
            None => (history.thumbnails.wanted, history.thumbnails.failed) = (None, Some(id)),
        }
    }
    let Some(id) = history.thumbnails.wanted.filter(|id| history.thumbnail(*id).is_none()) else { return };
    if history.thumbnails.task.is_some() {
        return;
    }
    // Use the state of the node, or the last one before it in its project, as soon as it is packed.
    let Some(project_id) = history.node(id).map(|node| node.project_id) else { return };
    let packed = |node: &HistoryNode| match &node.state {
        Some(NodeState::Packed(states)) => Some((node.id, node.tick, Arc::clone(states))),
        _ => None,
    };
    let last =
        history.ancestors(Some(id)).take_while(|node| node.project_id == project_id).find(|node| node.state.is_some());
    let Some((of, tick, states)) = last.and_then(packed) else { return };
    let (run, looks) = (
        simulations.selected_index(),
        (simulations.selected().look.clone(), simulations.selected().water_look.clone()),
    );
    let draw = move || Some(Thumbnail { id, earlier: (of != id).then_some(tick), ..drawn(states.get(run)?, &looks)? });
    history.thumbnails.task = Some(BackgroundTask::start(id, draw));
}

fn drawn(state: &SimulationState, (look, water_look): &(Look, WaterLook)) -> Option<Thumbnail> {
    let [width, height] = state.facts.size;
    let layer = |layer: Layer| Some(Grid::from_cells(width, height, state.maps.get(layer.key())?.unpack()));
    let (mut ground, sand, water) = (layer(Layer::Bedrock)?, layer(Layer::Sand)?, layer(Layer::Water)?);
    ground.iter_mut().zip(sand.iter()).for_each(|(ground, sand)| *ground += sand);
    let water = Some((&water, water_look));
    let (size, pixels) = hillshade::thumbnail(&ground, &sand, water, state.facts.cell_size, look, SIDE);
    Some(Thumbnail { id: 0, size: [size.0, size.1], pixels, earlier: None })
}
