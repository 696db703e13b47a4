//! Partition of the flow trees into pieces, which threads process in parallel and between which a tick may pause.
//!
//! A piece grows upstream from its roots until it is full; donors that it does not reach become roots of later pieces. Upstream cells
//! thus lie in the same or later pieces, downstream cells in the same or earlier ones: areas and fluxes are summed from the last piece to
//! the first, and heights are computed from the first to the last. Pieces of a batch are independent. The partition does not depend on the
//! number of threads.

use std::{cell::Cell, collections::VecDeque, ops::Range};

use rayon::prelude::*;

use super::solve::FluvialSolver;

/// Maximum number of cells in a piece.
pub(super) const MAX_PIECE_CELLS: usize = 1 << 14;
/// Maximum number of pieces in a batch, and of roots of a piece.
const BATCH: usize = 32;
const ROOTS: usize = 1024;
/// Approximate number of cells processed per call, before other tasks get their turn.
const PART: usize = 1 << 18;

/// Cell of a piece.
#[derive(Clone, Copy)]
pub(super) struct PieceNode {
    pub cell: u32,
    /// Index of the receiver in the piece; its own index for a root.
    pub below: u32,
    /// Height after slope failure, in metres.
    pub ground: f32,
    /// Drainage area weighted by rain, including the cell itself, in cells.
    pub area: f32,
    /// Σp in cubic metres in the downstream sweep, then f, then w, in metres.
    pub flux: f64,
    /// −Σq in square metres in the downstream sweep, then g.
    pub follow: f64,
}

/// Contribution of a cell to its receiver: area in cells, p in cubic metres and −q in square metres.
#[derive(Clone, Copy, Default)]
pub(super) struct Contribution {
    pub area: f32,
    pub flux: f64,
    pub follow: f64,
}

impl PieceNode {
    #[inline(always)]
    pub(super) fn take(&mut self, contribution: Contribution) {
        self.area += contribution.area;
        self.flux += contribution.flux;
        self.follow += contribution.follow;
    }
}

/// Cell from which a piece grows.
#[derive(Clone, Copy)]
pub(super) struct PieceRoot {
    pub cell: u32,
    /// Receiver: index of its piece and index within that piece; `None` for an outlet.
    below: Option<(u32, u32)>,
    /// Height of the receiver after slope failure, in metres; `None` for an outlet.
    pub base: Option<f32>,
    pub contribution: Contribution,
}

/// Part of the flow trees.
#[derive(Clone, Default)]
pub(super) struct FlowPiece {
    /// Nodes in upstream order, each after its receiver.
    pub nodes: Vec<PieceNode>,
    pub roots: Vec<PieceRoot>,
    /// Donors that were not reached, with the indices of their receivers; and roots that were not reached.
    pub waiting: Vec<(u32, u32)>,
    pub remaining_roots: Vec<PieceRoot>,
    /// `true` if the downstream sweep is done.
    done: bool,
    /// Outflow of the piece, in cubic metres.
    pub left: f64,
}

/// Next pass over the pieces.
#[derive(Clone, Copy, Default)]
enum SweepPhase {
    #[default]
    Grow,
    Downstream,
    Upstream,
}

/// All pieces, and the progress of the work on them.
#[derive(Clone, Default)]
pub(super) struct PieceBatches {
    pieces: Vec<FlowPiece>,
    /// Roots of future pieces.
    roots: VecDeque<PieceRoot>,
    /// Index range of the pieces of each batch.
    batches: Vec<Range<usize>>,
    phase: SweepPhase,
    /// Next batch.
    next: usize,
    /// Outflow from the map, in cubic metres.
    pub left: f64,
}

/// Map in which every thread writes the cells of its own pieces.
struct DisjointMap<'a>(&'a [Cell<f32>]);

// SAFETY: a cell belongs to one piece and a piece is processed by one thread, so no cell is accessed by two.
unsafe impl Sync for DisjointMap<'_> {}

impl<'a> DisjointMap<'a> {
    fn of(map: &'a mut [f32]) -> Self {
        Self(Cell::from_mut(map).as_slice_of_cells())
    }

    #[inline(always)]
    fn set(&self, cell: usize, value: f32) {
        self.0[cell].set(value);
    }
}

impl PieceBatches {
    /// Restarts with the trees of these outlets.
    pub(super) fn begin(&mut self, outlets: &[u32]) {
        let root = |&cell: &u32| PieceRoot { cell, below: None, base: None, contribution: Contribution::default() };
        self.roots = outlets.iter().map(root).collect();
        self.batches.clear();
        (self.phase, self.left) = (SweepPhase::Grow, 0.0);
    }

    /// Processes the next batches. Returns `true` once the change of the ground and the drainage area are filled in for all cells.
    pub(super) fn advance(&mut self, rivers: &FluvialSolver<'_>, change: &mut [f32], areas: &mut [f32]) -> bool {
        let (change, areas) = (DisjointMap::of(change), DisjointMap::of(areas));
        let mut cells = 0;
        while cells < PART {
            let batch = match self.phase {
                SweepPhase::Grow if self.roots.is_empty() => {
                    self.pieces.truncate(self.batches.last().map_or(0, |batch| batch.end));
                    (self.phase, self.next) = (SweepPhase::Downstream, self.batches.len());
                    continue;
                }
                SweepPhase::Grow => self.grow_pieces(rivers),
                SweepPhase::Downstream if self.next == 0 => {
                    self.phase = SweepPhase::Upstream;
                    continue;
                }
                SweepPhase::Downstream => {
                    self.next -= 1;
                    self.sweep_downstream(rivers, self.batches[self.next].clone())
                }
                SweepPhase::Upstream if self.next == self.batches.len() => return true,
                SweepPhase::Upstream => {
                    self.next += 1;
                    self.sweep_upstream(rivers, self.batches[self.next - 1].clone(), (&change, &areas))
                }
            };
            cells += batch.iter().map(|piece| piece.nodes.len()).sum::<usize>();
        }
        false
    }

    /// Builds a batch of pieces.
    fn grow_pieces(&mut self, rivers: &FluvialSolver<'_>) -> &[FlowPiece] {
        let Self { pieces, roots, batches, .. } = self;
        let first = batches.last().map_or(0, |batch| batch.end);
        let each = roots.len().div_ceil(BATCH).clamp(1, ROOTS);
        let batch = first..first + roots.len().div_ceil(each).min(BATCH);
        pieces.resize_with(pieces.len().max(batch.end), FlowPiece::default);
        for piece in &mut pieces[batch.clone()] {
            piece.nodes.clear();
            piece.roots.clear();
            piece.roots.extend(roots.drain(..each.min(roots.len())));
            piece.left = 0.0;
        }
        pieces[batch.clone()].par_iter_mut().with_max_len(1).for_each(|piece| {
            rivers.grow_piece(piece);
            // An earlier tick may have had more nodes here.
            piece.nodes.shrink_to(2 * piece.nodes.len());
            piece.done = piece.waiting.is_empty();
            // No other piece drains into it, and it is still in the cache.
            if piece.done {
                rivers.sweep_downstream(piece);
            }
        });
        for (piece, number) in pieces[batch.clone()].iter_mut().zip(batch.start as u32..) {
            let FlowPiece { nodes, waiting, remaining_roots: untouched, .. } = piece;
            roots.extend(waiting.drain(..).map(|(cell, below)| PieceRoot {
                cell,
                below: Some((number, below)),
                base: Some(nodes[below as usize].ground),
                contribution: Contribution::default(),
            }));
            roots.extend(untouched.drain(..));
        }
        batches.push(batch.clone());
        &self.pieces[batch]
    }

    /// Sweeps a batch downstream and adds the contributions of its roots to the pieces below.
    fn sweep_downstream(&mut self, rivers: &FluvialSolver<'_>, batch: Range<usize>) -> &[FlowPiece] {
        let (earlier, others) = self.pieces.split_at_mut(batch.start);
        let pieces = &mut others[..batch.len()];
        pieces
            .par_iter_mut()
            .with_max_len(1)
            .filter(|piece| !piece.done)
            .for_each(|piece| rivers.sweep_downstream(piece));
        for root in pieces.iter().flat_map(|piece| &piece.roots) {
            if let Some((piece, place)) = root.below {
                earlier[piece as usize].nodes[place as usize].take(root.contribution);
            }
        }
        &self.pieces[batch]
    }

    /// Sweeps a batch upstream and writes the change of the ground and the drainage areas.
    fn sweep_upstream(
        &mut self,
        rivers: &FluvialSolver<'_>,
        batch: Range<usize>,
        (change, areas): (&DisjointMap<'_>, &DisjointMap<'_>),
    ) -> &[FlowPiece] {
        let (earlier, others) = self.pieces.split_at_mut(batch.start);
        let pieces = &mut others[..batch.len()];
        let grown = |root: &PieceRoot| {
            root.below.map_or(0.0, |(piece, place)| earlier[piece as usize].nodes[place as usize].flux)
        };
        pieces.par_iter_mut().with_max_len(1).for_each(|piece| {
            rivers.sweep_upstream(piece, grown);
            for node in &piece.nodes {
                let cell = node.cell as usize;
                change.set(cell, rivers.change(node));
                areas.set(cell, rivers.area(node));
            }
        });
        self.left += pieces.iter().map(|piece| piece.left).sum::<f64>();
        &self.pieces[batch]
    }
}
