//! Level of detail: a block is drawn in chunks that share one mesh, small ones near the camera and large ones far away, so that
//! triangles have about the same size on screen for maps of any size.
//!
//! The chunks are nodes of a quadtree whose side doubles from level to level. A node too close for its size is replaced by its four
//! quarters. Between two levels the vertices of the finer one morph to those of the coarser one, without cracks or popping:
//! continuous distance-dependent level of detail (CDLOD, Strugar 2009).
//!
//! Surfaces that cover the ground in places only, such as water and rivers, are drawn in the chunks that contain them: see
//! [`Coverage`].

use std::{ops::Range, sync::Arc};

use bevy::{
    asset::RenderAssetUsages,
    math::bounding::Aabb3d,
    mesh::{Indices, PrimitiveTopology, VertexBufferLayout, VertexFormat},
    prelude::*,
    render::render_resource::{VertexAttribute, VertexStepMode},
};

use thalweg_sim::core::tiles::{self, Tiling};

/// Quads along a side of a chunk. The smallest chunk is a tile.
const QUADS_PER_SIDE: u32 = tiles::SIDE as u32;
/// Indices per quad.
const INDICES_PER_QUAD: u32 = 6;
/// Ranges of quads, in mesh order, that can be drawn separately: one of the four at the first corner, these four, sixteen, or all.
/// They skip the empty parts of a chunk.
const PATCHES: [Range<u32>; 7] = [0..1, 1..2, 2..3, 3..4, 0..4, 0..16, 0..64];
/// Minimum distance up to which a chunk is drawn, in chunk sides. Levels of neighbours then differ by at most one.
const NEAREST: f32 = 3.0;

/// Position, size and resolution of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BlockBounds {
    /// Columns and rows.
    pub cells: UVec2,
    /// In world units: centre on the ground plane, sides, and heights of the base and the highest point.
    pub centre: Vec2,
    pub extent: Vec2,
    pub heights: [f32; 2],
}

/// Camera from which blocks are seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LodView {
    pub eye: Vec3,
    pub clip_from_world: Mat4,
    /// Minimum side of a triangle divided by its distance. Triangles are subdivided at twice that size.
    pub triangle: f32,
}

/// One chunk of a block, as instance data of `Corner` in `shaders/lib/map.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub(super) struct Chunk {
    /// Column and row of the first corner.
    first: [f32; 2],
    /// Cells along a side of a quad.
    step: f32,
    /// Reference height for distances, in world units.
    level: f32,
    /// Distance from which vertices morph to the next level, and the reciprocal of the morph range, or 0 if every vertex is nearer.
    morph: [f32; 2],
}

/// Returns the layout of [`Chunk`] as instance data, starting at shader location `first`.
pub(super) fn vertex_buffer(first: u32) -> VertexBufferLayout {
    let attribute = |(format, offset, place)| VertexAttribute { format, offset, shader_location: first + place };
    let attributes = [(VertexFormat::Float32x4, 0, 0), (VertexFormat::Float32x2, 16, 1)];
    VertexBufferLayout {
        array_stride: size_of::<Chunk>() as u64,
        step_mode: VertexStepMode::Instance,
        attributes: attributes.map(attribute).into(),
    }
}

/// Part of a block to draw: all of it, or the chunks whose coverage exceeds a minimum.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChunkSet {
    pub bounds: BlockBounds,
    pub only: Option<(Arc<Coverage>, f32)>,
}

impl ChunkSet {
    /// Returns `true` if the first `quads` × `quads` quads of a chunk contain any of it.
    fn has(&self, chunk: &Chunk, quads: u32) -> bool {
        self.only.as_ref().is_none_or(|(coverage, least)| coverage.max_coverage(chunk, quads) > *least)
    }

    /// Returns for each patch, as a range of quads of the mesh, the instances that draw its part of these chunks.
    pub(super) fn surfaces(&self, chunks: &[Chunk]) -> Vec<(Range<u32>, Vec<Chunk>)> {
        let mut surfaces: Vec<_> = PATCHES.map(|patch| (patch, Vec::new())).into();
        for chunk in chunks.iter().filter(|chunk| self.has(chunk, QUADS_PER_SIDE)) {
            Patchwork { chunk, quads: self.quads(chunk) }.cover_quads([0, 0], QUADS_PER_SIDE, &mut surfaces);
        }
        surfaces
    }

    /// Returns the quads of a chunk that contain any of it, as a row-major bit mask.
    fn quads(&self, chunk: &Chunk) -> u64 {
        if self.only.is_none() {
            return u64::MAX;
        }
        // Coverage is known per tile, not below.
        let side = (QUADS_PER_SIDE / chunk.step as u32).max(1);
        let mut quads = 0;
        for corner in (0..QUADS_PER_SIDE * QUADS_PER_SIDE).step_by(side as usize) {
            let (row, column) = (corner / QUADS_PER_SIDE, corner % QUADS_PER_SIDE);
            if row % side == 0 && self.has(&chunk.beginning_at([column, row]), side) {
                quads |= block([column, row], side);
            }
        }
        // An odd vertex may morph to the even one before it: the quad behind it then covers the one before it.
        if chunk.morph[1] > 0.0 {
            quads |= (quads & EVEN_COLUMNS) << 1;
            quads |= (quads & EVEN_ROWS) << QUADS_PER_SIDE;
        }
        quads
    }

    /// Returns the chunks that have a wall and contain any of it.
    pub(super) fn walls(&self, chunks: &[Chunk]) -> impl Iterator<Item = Chunk> {
        chunks.iter().filter(|chunk| self.bounds.has_wall(chunk) && self.has(chunk, QUADS_PER_SIDE)).copied()
    }
}

impl Chunk {
    /// Returns the chunk moved to begin at one of its quads, given by column and row.
    fn beginning_at(&self, quad: [u32; 2]) -> Self {
        Self { first: [0, 1].map(|axis| self.first[axis] + quad[axis] as f32 * self.step), ..*self }
    }
}

/// Even columns and even rows of the quads of a chunk, as row-major bit masks.
const EVEN_COLUMNS: u64 = 0x5555_5555_5555_5555;
const EVEN_ROWS: u64 = 0x00ff_00ff_00ff_00ff;

/// Returns the bit mask of a block of `side` × `side` quads that begins at a column and a row.
fn block([column, row]: [u32; 2], side: u32) -> u64 {
    let line = (u64::MAX >> (u64::BITS - side)) << column;
    (row..row + side).fold(0, |block, row| block | line << (QUADS_PER_SIDE * row))
}

/// Quads of a chunk to be covered with the largest possible patches.
struct Patchwork<'a> {
    chunk: &'a Chunk,
    quads: u64,
}

impl Patchwork<'_> {
    /// Covers the selected quads of a block recursively.
    fn cover_quads(&self, corner: [u32; 2], side: u32, surfaces: &mut [(Range<u32>, Vec<Chunk>)]) {
        let block = block(corner, side);
        if self.quads & block == 0 {
            return;
        }
        if self.quads & block != block {
            let half = side / 2;
            let [column, row] = corner;
            for (right, down) in [(0, 0), (half, 0), (0, half), (half, half)] {
                self.cover_quads([column + right, row + down], half, surfaces);
            }
            return;
        }
        // Morphing depends on the parity from the start of a patch, so patches start at even quads.
        let begin = corner.map(|quad| quad - quad % 2);
        let [right, down] = [corner[0] % 2, corner[1] % 2];
        let patch = if side == 1 { 2 * down + right } else { 3 + side.ilog2() };
        surfaces[patch as usize].1.push(self.chunk.beginning_at(begin));
    }
}

/// Maximum amount in any cell of a tile, of any 2 × 2 tiles, and so on up to the whole map.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Coverage(Vec<(usize, Vec<f32>)>);

impl Coverage {
    /// Builds the pyramid from the maximum of each tile plus the first cells of its right and lower neighbours, which its chunk
    /// reaches.
    pub(super) fn new(tiling: Tiling, most: Vec<f32>) -> Self {
        let mut levels = vec![(tiling.across(), most)];
        while let Some((across, finer)) = levels.last().filter(|(_, finer)| finer.len() > 1) {
            let (wide, rows) = (across.div_ceil(2), finer.len() / across);
            let mut coarser = vec![0.0_f32; wide * rows.div_ceil(2)];
            for (tile, &most) in finer.iter().enumerate() {
                let four = &mut coarser[tile / across / 2 * wide + tile % across / 2];
                *four = four.max(most);
            }
            levels.push((wide, coarser));
        }
        Self(levels)
    }

    /// Builds the pyramid for an amount that spreads into neighbouring tiles.
    pub(super) fn dilated(tiling: Tiling, most: &[f32]) -> Self {
        let across = tiling.across();
        let near = |at: usize, count: usize| at.saturating_sub(1)..(at + 2).min(count);
        let rows = tiling.count() / across;
        let around = |tile: usize| {
            let columns = near(tile % across, across);
            let tiles = near(tile / across, rows).flat_map(|row| columns.clone().map(move |x| row * across + x));
            tiles.fold(0.0, |out: f32, tile| out.max(most[tile]))
        };
        Self::new(tiling, (0..tiling.count()).map(around).collect())
    }

    /// Returns the maximum in the first `quads` × `quads` quads of a chunk, 0 if it begins outside the map.
    fn max_coverage(&self, chunk: &Chunk, quads: u32) -> f32 {
        let Some(last) = self.0.len().checked_sub(1) else { return 0.0 };
        let tiles = (chunk.step as usize * quads as usize / tiles::SIDE).max(1);
        let level = (tiles.ilog2() as usize).min(last);
        let (across, most) = &self.0[level];
        let [column, row] = chunk.first.map(|cell| cell as usize >> level >> tiles::SIDE.ilog2());
        if column < *across { most.get(row * across + column).copied().unwrap_or(0.0) } else { 0.0 }
    }
}

impl BlockBounds {
    /// Returns the visible chunks.
    pub(super) fn visible_chunks(&self, view: &LodView) -> Vec<Chunk> {
        let last = (self.cells.max(UVec2::splat(2)) - 1).max_element();
        let levels = last.div_ceil(QUADS_PER_SIDE).next_power_of_two().ilog2();
        let mut chunks = Vec::new();
        let choice = Choice { bounds: self, view, sides: (1.0 / (QUADS_PER_SIDE as f32 * view.triangle)).max(NEAREST) };
        choice.visit(UVec2::ZERO, levels, &mut chunks);
        chunks
    }

    /// Returns `true` if a chunk is at the border of the map and so has a wall.
    fn has_wall(&self, chunk: &Chunk) -> bool {
        let first = Vec2::from(chunk.first);
        let end = first + chunk.step * QUADS_PER_SIDE as f32;
        first.cmple(Vec2::ZERO).any() || end.cmpge(self.cells.as_vec2() - 1.0).any()
    }
}

/// Criteria of the chunk selection.
struct Choice<'a> {
    bounds: &'a BlockBounds,
    view: &'a LodView,
    /// Distance up to which a chunk is drawn, in chunk sides. Beyond, one of the next level replaces it.
    sides: f32,
}

impl Choice<'_> {
    fn visit(&self, first: UVec2, level: u32, chunks: &mut Vec<Chunk>) {
        let last = self.bounds.cells.max(UVec2::splat(2)) - 1;
        if first.cmpge(last).any() {
            return;
        }
        let step = 1 << level;
        let bounds = self.chunk_bounds(first, QUADS_PER_SIDE * step);
        if !self.is_in_frustum(&bounds) {
            return;
        }
        let away = self.view.eye.distance(bounds.closest_point(self.view.eye).into());
        // In world units, along the longer side of a cell.
        let cell = (self.bounds.extent / last.as_vec2()).max_element();
        let side = (QUADS_PER_SIDE * step) as f32 * cell;
        if level > 0 && away < self.sides * 0.5 * side {
            for quarter in [UVec2::ZERO, UVec2::X, UVec2::Y, UVec2::ONE] {
                self.visit(first + quarter * QUADS_PER_SIDE * step / 2, level - 1, chunks);
            }
            return;
        }
        let [low, high] = self.bounds.heights;
        // Every neighbouring quarter is nearer than this.
        let begin = side * (0.5 * self.sides + std::f32::consts::SQRT_2);
        let range = (self.sides * side - begin).max(1e-3 * side);
        let level = self.view.eye.y.min(high).max(low);
        let [x, z] = [0, 2].map(|axis| {
            let eye = self.view.eye[axis];
            (eye - bounds.min[axis]).abs().max((eye - bounds.max[axis]).abs())
        });
        let glides = Vec3::new(x, self.view.eye.y - level, z).length() > begin;
        chunks.push(Chunk {
            first: first.as_vec2().to_array(),
            step: step as f32,
            level,
            morph: [begin, if glides { 1.0 / range } else { 0.0 }],
        });
    }

    /// Returns the bounding box of a chunk, in world units.
    fn chunk_bounds(&self, first: UVec2, side: u32) -> Aabb3d {
        let BlockBounds { cells, centre, extent, heights: [low, high] } = *self.bounds;
        let last = cells.max(UVec2::splat(2)) - 1;
        let place = |cell: UVec2| centre + (cell.min(last).as_vec2() / last.as_vec2() - 0.5) * extent;
        let [min, max] = [place(first), place(first + side)];
        Aabb3d::from_min_max(Vec3::new(min.x, low, min.y), Vec3::new(max.x, high, max.y))
    }

    /// Returns `true` if the box may intersect the view frustum.
    fn is_in_frustum(&self, bounds: &Aabb3d) -> bool {
        let corners = [0, 1, 2, 3, 4, 5, 6, 7].map(|corner| {
            let side = |bit: u32, axis: usize| if corner >> bit & 1 == 0 { bounds.min[axis] } else { bounds.max[axis] };
            self.view.clip_from_world * Vec4::new(side(0, 0), side(1, 1), side(2, 2), 1.0)
        });
        let outside = |beyond: fn(Vec4) -> bool| corners.iter().all(|&corner| beyond(corner));
        let sides: [fn(Vec4) -> bool; 5] =
            [|at| at.x < -at.w, |at| at.x > at.w, |at| at.y < -at.w, |at| at.y > at.w, |at| at.w <= 0.0];
        !sides.into_iter().any(outside)
    }
}

/// Returns the range of a patch within the indices of the chunk mesh.
pub(super) fn surface(indices: &Range<u32>, patch: &Range<u32>) -> Range<u32> {
    indices.start + INDICES_PER_QUAD * patch.start..indices.start + INDICES_PER_QUAD * patch.end
}

/// Returns the range of the walls within the indices of the chunk mesh.
pub(super) fn walls(indices: &Range<u32>) -> Range<u32> {
    indices.start + INDICES_PER_QUAD * QUADS_PER_SIDE * QUADS_PER_SIDE..indices.end
}

/// Returns the quads of the mesh, by row and column, in order of distance from the first corner, so that the first ones form a
/// smaller chunk.
fn quads_in_order() -> Vec<[u32; 2]> {
    let mut quads: Vec<_> =
        (0..QUADS_PER_SIDE * QUADS_PER_SIDE).map(|index| [index / QUADS_PER_SIDE, index % QUADS_PER_SIDE]).collect();
    quads.sort_by_key(|[row, column]| *row.max(column));
    quads
}

/// Builds the mesh of every chunk: vertices in steps from 0 to [`QUADS_PER_SIDE`], and its border again as upper and lower edges of walls.
/// The y coordinate is the kind of a vertex: 0 surface, 1 upper and 2 lower edge of a wall along x, 3 and 4 of a wall along z.
/// Walls inside the map collapse.
pub(super) fn chunk_mesh() -> Mesh {
    let line = QUADS_PER_SIDE + 1;
    let mut positions: Vec<[f32; 3]> =
        (0..line * line).map(|index| [(index % line) as f32, 0.0, (index / line) as f32]).collect();
    let mut indices = Vec::new();
    for [row, column] in quads_in_order() {
        let a = row * line + column;
        let [b, c, d] = [a + 1, a + line, a + line + 1];
        indices.extend([a, c, b, b, c, d]);
    }
    for (kind, side) in [(1.0, 0), (1.0, QUADS_PER_SIDE), (3.0, 0), (3.0, QUADS_PER_SIDE)] {
        let begin = positions.len() as u32;
        for along in 0..line {
            let [x, z] = if kind == 1.0 { [along, side] } else { [side, along] }.map(|place| place as f32);
            positions.extend([[x, kind, z], [x, kind + 1.0, z]]);
        }
        for a in (0..QUADS_PER_SIDE).map(|along| begin + 2 * along) {
            indices.extend([a, a + 1, a + 2, a + 2, a + 1, a + 3]);
        }
    }
    Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::RENDER_WORLD)
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, positions)
        .with_inserted_indices(Indices::U32(indices))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Vertices on lines along columns (`true`) or rows, for each chunk with a side on the line, with the chunk's step.
    type ChunkEdges = BTreeMap<(bool, u32), Vec<(f32, BTreeSet<u32>)>>;

    fn block_bounds(columns: u32, rows: u32) -> BlockBounds {
        let cells = UVec2::new(columns, rows);
        let extent = (cells - 1).as_vec2() * 256.0 / columns.max(rows) as f32;
        BlockBounds { cells, centre: Vec2::new(30.0, -20.0), extent, heights: [-20.0, 40.0] }
    }

    /// Looks from one point to another, with a minimum triangle side as a fraction of the view height.
    fn view(eye: Vec3, target: Vec3, triangle: f32) -> LodView {
        let lens = Mat4::perspective_infinite_reverse_rh(0.8, 1.6, 0.1);
        let clip_from_world = lens * Mat4::look_at_rh(eye, target, Vec3::Y);
        LodView { eye, clip_from_world, triangle: triangle * 2.0 / lens.y_axis.y }
    }

    /// Sees in all directions.
    fn everywhere(eye: Vec3, triangle: f32) -> LodView {
        let clip_from_world = Mat4::from_cols(Vec4::ZERO, Vec4::ZERO, Vec4::ZERO, Vec4::W);
        LodView { clip_from_world, ..view(eye, Vec3::ZERO, triangle) }
    }

    const EYES: [Vec3; 5] = [
        Vec3::new(0.0, 300.0, 200.0),
        Vec3::new(30.0, 41.0, -20.0),
        Vec3::new(-60.0, 10.0, 60.0),
        Vec3::new(150.0, 45.0, 100.0),
        Vec3::new(2000.0, 900.0, 0.0),
    ];

    /// Returns column and row of a chunk's vertex, like `corner_cell` in `shaders/lib/map.wgsl`.
    fn cell(block: &BlockBounds, view: &LodView, chunk: &Chunk, corner: UVec2) -> Vec2 {
        let last = (block.cells - 1).as_vec2();
        let cell = Vec2::from(chunk.first) + corner.as_vec2() * chunk.step;
        let place = block.centre + (cell / last - 0.5) * block.extent;
        let away = view.eye.distance(Vec3::new(place.x, chunk.level, place.y));
        let blend = ((away - chunk.morph[0]) * chunk.morph[1]).clamp(0.0, 1.0);
        let morphed = cell - (corner % 2).as_vec2() * chunk.step * blend;
        Vec2::select(cell.cmpge(last), last, morphed)
    }

    #[test]
    fn chunks_cover_map_once_and_are_finer_near_camera() {
        for (columns, rows) in [(2, 2), (17, 17), (96, 96), (403, 344), (1024, 300)] {
            let block = block_bounds(columns, rows);
            for eye in EYES {
                let view = everywhere(eye, 0.006);
                let mut covered = vec![0_u8; (columns * rows) as usize];
                let chunks = block.visible_chunks(&view);
                for chunk in &chunks {
                    let [first, end] = [0, QUADS_PER_SIDE].map(|corner| {
                        (Vec2::from(chunk.first) + corner as f32 * chunk.step).as_uvec2().min(block.cells - 1)
                    });
                    for row in first.y..end.y {
                        (first.x..end.x).for_each(|column| covered[(row * columns + column) as usize] += 1);
                    }
                }
                let inner = |index: usize| index as u32 % columns < columns - 1 && index as u32 / columns < rows - 1;
                assert!(covered.iter().enumerate().all(|(index, &times)| times == u8::from(inner(index))));
                // The quads of the nearest chunk are about the smallest ones.
                let away = |chunk: &&Chunk| {
                    let middle = Vec2::from(chunk.first) + 0.5 * QUADS_PER_SIDE as f32 * chunk.step;
                    let place = block.centre + (middle / (block.cells - 1).as_vec2() - 0.5) * block.extent;
                    (1e3 * eye.distance(Vec3::new(place.x, chunk.level, place.y))) as u32
                };
                let finest = chunks.iter().map(|chunk| chunk.step).fold(f32::INFINITY, f32::min);
                let nearest = chunks.iter().min_by_key(away).expect("a map is not empty");
                assert!(nearest.step <= 2.0 * finest, "{columns} × {rows} from {eye}");
            }
        }
    }

    #[test]
    fn adjacent_lod_levels_share_edge_vertices() {
        let mut met = 0;
        for ((columns, rows), triangle) in [((1000, 700), 0.006), ((4096, 4096), 0.004), ((403, 344), 0.03)] {
            let block = block_bounds(columns, rows);
            for eye in EYES {
                let view = everywhere(eye, triangle);
                let chunks = block.visible_chunks(&view);
                // Vertices of every border by its line. Between a finer and a coarser chunk they must be the same on both sides.
                let mut borders = ChunkEdges::new();
                for chunk in &chunks {
                    for (upright, side) in [(false, 0), (false, QUADS_PER_SIDE), (true, 0), (true, QUADS_PER_SIDE)] {
                        let corner =
                            |along: u32| if upright { UVec2::new(side, along) } else { UVec2::new(along, side) };
                        let vertices = (0..=QUADS_PER_SIDE).map(|along| cell(&block, &view, chunk, corner(along)));
                        let vertices: Vec<Vec2> = vertices.collect();
                        let axis = usize::from(!upright);
                        let line = vertices[0][axis];
                        assert!(vertices.iter().all(|vertex| vertex[axis] == line));
                        let places = vertices.iter().map(|vertex| (vertex[1 - axis] * 64.0).round() as u32).collect();
                        borders.entry((upright, line as u32)).or_default().push((chunk.step, places));
                    }
                }
                for sides in borders.values() {
                    for (a, (step, places)) in sides.iter().enumerate() {
                        for (other, others) in &sides[a + 1..] {
                            let ends = |places: &BTreeSet<u32>| [places.first().copied(), places.last().copied()];
                            let ([from, to], [first, last]) = (ends(places), ends(others));
                            let (low, high) = (from.max(first), to.min(last));
                            if low >= high {
                                continue;
                            }
                            let within = |places: &BTreeSet<u32>| -> Vec<u32> {
                                let range = low.unwrap_or(0)..=high.unwrap_or(0);
                                places.range(range).copied().collect()
                            };
                            assert_eq!(within(places), within(others), "steps {step} and {other} from {eye}");
                            met += u32::from(step != other);
                            assert!((0.5..=2.0).contains(&(step / other)));
                        }
                    }
                }
            }
        }
        assert!(met > 100, "{met} borders between levels");
    }

    #[test]
    fn chunks_outside_frustum_are_culled() {
        let block = block_bounds(1024, 1024);
        let eye = Vec3::new(30.0, 60.0, -20.0);
        let all = block.visible_chunks(&everywhere(eye, 0.006)).len();
        let some = block.visible_chunks(&view(eye, Vec3::new(130.0, 0.0, -20.0), 0.006)).len();
        assert!(some > 0 && some < all / 2, "{some} of {all}");
        let away = view(Vec3::new(0.0, 100.0, 500.0), Vec3::new(0.0, 100.0, 900.0), 0.006);
        assert_eq!(block.visible_chunks(&away), []);
    }

    #[test]
    fn chunk_count_hardly_grows_with_map_size() {
        let count = |side: u32| block_bounds(side, side).visible_chunks(&view(EYES[0], Vec3::ZERO, 0.006)).len();
        assert!(count(4096) <= count(512) + 8, "{} and {}", count(4096), count(512));
    }

    /// Returns the quads of a chunk that its patches draw, by column and row. Fails if one is drawn twice.
    fn drawn(chunk: &Chunk, surfaces: &[(Range<u32>, Vec<Chunk>)]) -> BTreeSet<[u32; 2]> {
        let (order, mut drawn) = (quads_in_order(), BTreeSet::new());
        for (patch, parts) in surfaces {
            for part in parts {
                assert_eq!((part.step, part.level, part.morph), (chunk.step, chunk.level, chunk.morph));
                let away = ((Vec2::from(part.first) - Vec2::from(chunk.first)) / chunk.step).as_uvec2();
                // Morphing depends on the parity from the first corner of a patch.
                assert_eq!(away % 2, UVec2::ZERO, "{part:?}");
                for [row, column] in &order[patch.start as usize..patch.end as usize] {
                    let quad = [away.x + column, away.y + row];
                    assert!(
                        quad.into_iter().all(|side| side < QUADS_PER_SIDE) && drawn.insert(quad),
                        "{quad:?} of {chunk:?}"
                    );
                }
            }
        }
        drawn
    }

    /// Returns `true` if a point lies in a triangle or on its edge.
    fn lies_in(place: Vec2, corners: [Vec2; 3]) -> bool {
        let side = |a: Vec2, b: Vec2| (b - a).perp_dot(place - a);
        let [a, b, c] = corners;
        let sides = [side(a, b), side(b, c), side(c, a)];
        (b - a).perp_dot(c - a) != 0.0
            && (sides.iter().all(|side| *side >= 0.0) || sides.iter().all(|side| *side <= 0.0))
    }

    #[test]
    fn quads_are_drawn_only_at_or_next_to_coverage() {
        let (mut patches, mut glided) = ([0; PATCHES.len()], 0);
        for (columns, rows) in [(203, 147), (1024, 1024), (5, 3)] {
            let block = block_bounds(columns, rows);
            let tiling = Tiling::new(columns as usize, rows as usize);
            for (x, y) in [(0, 0), (columns - 1, rows - 1), (columns / 2, rows / 3), (7, 2), (8, 2), (77, 91)] {
                let at = UVec2::new(x.min(columns - 1), y.min(rows - 1));
                let mut most = vec![0.0; tiling.count()];
                most[tiling.of(at.x as usize, at.y as usize)] = 2.0;
                let coverage = Arc::new(Coverage::dilated(tiling, &most));
                let chunk_set = |least: f32| ChunkSet { bounds: block, only: Some((Arc::clone(&coverage), least)) };
                for view in EYES.iter().flat_map(|eye| [0.006, 0.05].map(|triangle| everywhere(*eye, triangle))) {
                    for chunk in block.visible_chunks(&view) {
                        let surfaces = |least: f32| chunk_set(least).surfaces(&[chunk]);
                        assert!(surfaces(2.0).iter().all(|(_, parts)| parts.is_empty()));
                        let surfaces = surfaces(1.9);
                        let drawn = drawn(&chunk, &surfaces);
                        surfaces.iter().zip(&mut patches).for_each(|((_, parts), sum)| *sum += parts.len());
                        for [column, row] in quads_in_order().into_iter().map(|[row, column]| [column, row]) {
                            let corner = |right: u32, down: u32| {
                                let corner = UVec2::new(column + right, row + down);
                                cell(&block, &view, &chunk, corner)
                            };
                            let [a, b, c, d] = [corner(0, 0), corner(1, 0), corner(0, 1), corner(1, 1)];
                            // The quad with morphed vertices: a vertex samples two cells around it.
                            let around = [-2, -1, 0, 1, 2].map(|y| [-2, -1, 0, 1, 2].map(|x| IVec2::new(x, y)));
                            let near = around.into_iter().flatten().map(|away| (at.as_ivec2() + away).as_vec2());
                            let meets = near
                                .filter(|place| place.cmpge(Vec2::ZERO).all())
                                .filter(|place| place.cmplt((block.cells - 1).as_vec2()).all())
                                .any(|place| [[a, c, b], [b, c, d]].into_iter().any(|corners| lies_in(place, corners)));
                            let is_drawn = drawn.contains(&[column, row]);
                            assert!(is_drawn || !meets, "{column}, {row} of {chunk:?} at {at}");
                            let still = Vec2::from(chunk.first) + UVec2::new(column, row).as_vec2() * chunk.step;
                            glided += usize::from(meets && a != still);
                            // Other quads drawn lie within two tiles plus the morph range.
                            let far = 16.0 + (2.0 * chunk.step).max(8.0);
                            let away = (at.as_vec2() - still).abs().max_element();
                            assert!(!is_drawn || away <= far, "{column}, {row} of {chunk:?} at {at}");
                        }
                    }
                }
            }
        }
        assert!(patches.into_iter().all(|count| count > 0) && glided > 100, "{patches:?}, {glided} glided");
    }

    #[test]
    fn only_border_chunks_have_walls() {
        let block = block_bounds(203, 147);
        let chunks = block.visible_chunks(&everywhere(EYES[1], 0.006));
        let walls: Vec<Chunk> = ChunkSet { bounds: block, only: None }.walls(&chunks).collect();
        assert!(!walls.is_empty() && walls.len() < chunks.len());
        for chunk in &chunks {
            let [first, end] = [0.0, QUADS_PER_SIDE as f32].map(|corner| Vec2::from(chunk.first) + corner * chunk.step);
            let inside = first.x > 0.0 && first.y > 0.0 && end.x < 202.0 && end.y < 146.0;
            assert_eq!(inside, !walls.contains(chunk), "{chunk:?}");
        }
    }

    #[test]
    fn mesh_index_prefix_is_a_smaller_patch() {
        let mesh = chunk_mesh();
        let places = mesh.attribute(Mesh::ATTRIBUTE_POSITION).and_then(|values| values.as_float3()).unwrap_or(&[]);
        let Some(Indices::U32(indices)) = mesh.indices() else { panic!("it has indices") };
        let all = 0..indices.len() as u32;
        let corners = |patch: &Range<u32>| {
            let range = surface(&all, patch);
            let own = indices[range.start as usize..range.end as usize].iter().map(|&index| places[index as usize]);
            let ends = |choose: fn(f32, f32) -> f32| {
                own.clone().reduce(|a, b| [0, 1, 2].map(|axis| choose(a[axis], b[axis]))).expect("it has corners")
            };
            [ends(f32::min), ends(f32::max)]
        };
        let squares = [1.0, 2.0, 4.0, 8.0].map(|side| [[0.0; 3], [side, 0.0, side]]);
        assert_eq!(PATCHES.map(|patch| corners(&patch))[4..], squares[1..]);
        let [first, right, below, both] = [0, 1, 2, 3].map(|quad| corners(&PATCHES[quad])[0]);
        assert_eq!((first, corners(&PATCHES[0])), ([0.0; 3], squares[0]));
        assert_eq!([right, below, both], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]]);
        assert!(indices[walls(&all).start as usize..].iter().all(|&index| places[index as usize][1] > 0.0));
        assert_eq!(walls(&(7..7 + all.end)), 7 + 6 * 64..7 + all.end);
    }
}
