//! The ground: one block per session, whose height texture follows the simulation.

use std::{
    mem::MaybeUninit,
    time::{Duration, Instant},
};

use bevy::{
    asset::RenderAssetUsages,
    ecs::system::SystemParam,
    mesh::{Indices, PrimitiveTopology},
    prelude::*,
    render::render_resource::{AsBindGroup, Extent3d, TextureDimension, TextureFormat},
};
use rayon::prelude::*;

use super::{
    ViewSystems,
    channels::RiverNumbers,
    material::{Variant, update},
    numbers::{self, Layout, SceneNumbers},
    overlay::{Motions, OverlayNumbers},
    pass::{Piece, Surface, SurfacePlugin},
    relief::{COVER_BYTES, Light, RELIEF_BYTES, Relief, Rims},
    upload::{self, Patch, Patches},
};
use crate::{
    runtime::{
        Before, BrushCursor, Brushes, Channels, Live, Preferences, Revision, Shown, Timing, Transport, smoothed,
    },
    sim::{
        Simulation,
        grid::{Edition, Grid},
        terrain::Terrain,
        tiles::Tiling,
    },
};

#[derive(Asset, TypePath, AsBindGroup, Clone, PartialEq)]
#[bind_group_data(Variant)]
pub(super) struct GroundMaterial {
    #[uniform(0)]
    scene: SceneNumbers,
    #[texture(1, sample_type = "float", filterable = false, visibility(vertex, fragment))]
    layers: Handle<Image>,
    #[texture(2, sample_type = "float", filterable = false, visibility(vertex, fragment))]
    pub motion: Handle<Image>,
    #[uniform(3)]
    pub overlay: OverlayNumbers,
    #[texture(4, sample_type = "float", filterable = false)]
    pub channels: Handle<Image>,
    #[uniform(5)]
    pub river: RiverNumbers,
    #[texture(6)]
    #[sampler(7)]
    relief: Handle<Image>,
    #[texture(8)]
    cover: Handle<Image>,
}

impl From<&GroundMaterial> for Variant {
    fn from(GroundMaterial { scene, overlay, river, .. }: &GroundMaterial) -> Self {
        Self::with(&[
            ("SPLIT", scene.is_split()),
            ("RIPPLES", scene.has_ripples()),
            ("OVERLAY", overlay.has_values()),
            ("ARROWS", overlay.has_arrows()),
            ("RIVERS", river.are_drawn()),
            ("RING", scene.has_ring()),
        ])
    }
}

impl Surface for GroundMaterial {
    const SHADER: &'static str = "terrain.wgsl";
    const ORDER: u8 = 0;
    const HIDES: bool = true;
}

/// One state of one session on screen.
struct Block {
    entity: Entity,
    mesh: Handle<Mesh>,
    material: Handle<GroundMaterial>,
    textures: Textures,
    /// Columns, rows, and vertices along a side of the mesh at most.
    size: (usize, usize, usize),
    /// What the texture holds of a terrain's layers; none of the start.
    holds: Option<Editions>,
    relief: Relief,
    light: Light,
    /// How long its light took to find last, when that was, and whether the ground has changed since.
    shone: (Duration, Instant, bool),
}

/// What the shaders know of the cells of a block.
#[derive(Clone)]
struct Textures {
    layers: Handle<Image>,
    relief: Handle<Image>,
    cover: Handle<Image>,
}

/// All blocks on screen, and the numbers that other shaders share with the first.
#[derive(Resource, Default)]
pub(super) struct Blocks {
    present: Vec<Block>,
    /// The starts, while they are drawn beside the present.
    starts: Vec<Block>,
    pub numbers: Vec<SceneNumbers>,
    drawn: Vec<SceneNumbers>,
    /// How far the lowest ground of each block has sunk below that of its start, in metres. It never rises again, so that the foot
    /// of the block does not move up and down.
    sunk: Vec<f32>,
    /// Lowest ground at the start, in metres: what lies at 0.
    levels: Vec<f32>,
    shown: Option<(Revision, Before, usize, Vec<Option<Edition>>)>,
    /// How often the light of a block was found.
    lit: u64,
}

impl Blocks {
    /// The material of every block of the present.
    pub(super) fn materials(&self) -> impl Iterator<Item = &Handle<GroundMaterial>> {
        self.present.iter().map(|block| &block.material)
    }

    /// The material of every start that is drawn beside the present.
    pub(super) fn materials_of_starts(&self) -> impl Iterator<Item = &Handle<GroundMaterial>> {
        self.starts.iter().map(|block| &block.material)
    }

    /// Mesh, layers, relief and numbers of every block of the present.
    pub(super) fn surfaces(&self) -> impl Iterator<Item = (&Handle<Mesh>, [&Handle<Image>; 2], &SceneNumbers)> {
        let blocks = self.present.iter().zip(&self.drawn);
        blocks.map(|(block, numbers)| (&block.mesh, [&block.textures.layers, &block.textures.relief], numbers))
    }

    /// What every block of the present shades the table with.
    pub(super) fn rims(&self) -> impl Iterator<Item = &Rims> {
        self.present.iter().map(|block| &block.relief.rims)
    }

    /// How often the light of a block was found.
    pub(super) fn times_lit(&self) -> u64 {
        self.lit
    }
}

pub(super) fn plugin(app: &mut App) {
    app.add_plugins(SurfacePlugin::<GroundMaterial>::default())
        .init_resource::<Blocks>()
        .add_systems(Update, (show_heights, show_light, show_numbers).chain().in_set(ViewSystems::Show));
}

/// What blocks are made of.
#[derive(SystemParam)]
pub(super) struct BlockAssets<'w, 's> {
    images: ResMut<'w, Assets<Image>>,
    meshes: ResMut<'w, Assets<Mesh>>,
    materials: ResMut<'w, Assets<GroundMaterial>>,
    patches: ResMut<'w, Patches>,
    motions: Res<'w, Motions>,
    timing: ResMut<'w, Timing>,
    commands: Commands<'w, 's>,
}

impl BlockAssets<'_, '_> {
    /// Shows a terrain, or its start, in the block of this number, which is made if there is none, with so many vertices along a
    /// side at most. Returns the lowest ground.
    fn show(
        &mut self,
        list: &mut Vec<Block>,
        index: usize,
        (simulation, lakes): (&Simulation, Option<&Grid>),
        (start, most, light): (bool, usize, Light),
    ) -> f32 {
        let terrain = &simulation.terrain;
        let drawn = Drawn::of(simulation, lakes);
        let cells = (terrain.width(), terrain.height());
        let size = (cells.0, cells.1, most);
        let holds = (!start).then(|| drawn.editions());
        let block = list.get_mut(index).filter(|block| block.size == size);
        let held = block.and_then(|block| std::mem::replace(&mut block.holds, holds));
        if let (Some(held), false, Some(block)) = (held, start, list.get_mut(index))
            && let Some(parts) = drawn.changed_parts(held)
        {
            let (bytes, lowest) = drawn.part_bytes(&parts);
            self.timing.uploaded += bytes.len() as u64;
            block.relief.take(&parts, &bytes, |part| upload::row_bytes(CELL_BYTES * part.width() as usize), light);
            block.shone.2 |= !parts.is_empty();
            self.patches.0.push(Patch { image: block.textures.layers.id(), parts, bytes });
            return lowest;
        }
        let (bytes, lowest) = if start { start_bytes(&terrain.start) } else { drawn.bytes() };
        self.timing.uploaded += bytes.len() as u64;
        let whole = [URect::new(0, 0, cells.0 as u32, cells.1 as u32)];
        if let Some(block) = list.get_mut(index).filter(|block| block.size == size) {
            block.relief.take(&whole, &bytes, |part| CELL_BYTES * part.width() as usize, light);
            block.shone.2 = true;
            if let Some(mut image) = self.images.get_mut(&block.textures.layers) {
                image.data = Some(bytes);
            }
            return lowest;
        }
        let mut relief = Relief::new(cells, terrain.cell_size);
        relief.take(&whole, &bytes, |part| CELL_BYTES * part.width() as usize, light);
        let texture = |bytes, format| cell_image(cells, bytes, format);
        let textures = Textures {
            layers: self.images.add(layer_image(cells, bytes)),
            relief: self.images.add(texture(vec![0; RELIEF_BYTES * cells.0 * cells.1], TextureFormat::Rgba16Float)),
            cover: self.images.add(texture(vec![0; COVER_BYTES * cells.0 * cells.1], TextureFormat::Rg8Unorm)),
        };
        let mesh = self.meshes.add(block_mesh(cells, most));
        let shone = (Duration::ZERO, Instant::now(), true);
        if let Some(block) = list.get_mut(index) {
            if let Some(mut material) = self.materials.get_mut(&block.material) {
                (material.layers, material.relief) = (textures.layers.clone(), textures.relief.clone());
                material.cover = textures.cover.clone();
            }
            let material = block.material.clone();
            self.commands.entity(block.entity).insert(Piece { mesh: mesh.clone(), material: material.clone() });
            *block = Block { entity: block.entity, mesh, material, textures, size, holds, relief, light, shone };
            return lowest;
        }
        let material = self.materials.add(GroundMaterial {
            scene: SceneNumbers::default(),
            layers: textures.layers.clone(),
            motion: self.motions.still.clone(),
            overlay: OverlayNumbers::default(),
            channels: self.motions.still.clone(),
            river: RiverNumbers::default(),
            relief: textures.relief.clone(),
            cover: textures.cover.clone(),
        });
        let entity = self.commands.spawn(Piece { mesh: mesh.clone(), material: material.clone() }).id();
        list.push(Block { entity, mesh, material, textures, size, holds, relief, light, shone });
        lowest
    }

    /// Finds light and shadow of a block, if ground or light have changed, and brings them to the screen. While a run plays, this
    /// takes a tenth of the time at most.
    fn shine(&mut self, block: &mut Block, light: Light, plays: bool) -> bool {
        let (took, when, stale) = block.shone;
        let turned = block.light != light;
        if !turned && !(stale && (!plays || when.elapsed() >= 9 * took)) {
            return false;
        }
        let begun = Instant::now();
        if block.light.exaggeration != light.exaggeration {
            block.relief.look_up(light);
        }
        block.relief.shine(light);
        (block.light, block.shone) = (light, (begun.elapsed(), Instant::now(), false));
        let images = [&block.textures.relief, &block.textures.cover];
        match block.relief.changed_parts(MOST_PARTS) {
            Some(parts) if parts.is_empty() => return false,
            Some(parts) => {
                for (image, bytes) in images.into_iter().zip(block.relief.part_bytes(&parts)) {
                    self.timing.uploaded += bytes.len() as u64;
                    self.patches.0.push(Patch { image: image.id(), parts: parts.clone(), bytes });
                }
            }
            None => {
                for (image, bytes) in images.into_iter().zip(block.relief.bytes()) {
                    self.timing.uploaded += bytes.len() as u64;
                    if let Some(mut image) = self.images.get_mut(image) {
                        image.data = Some(bytes);
                    }
                }
            }
        }
        true
    }
}

/// Brings light and shadow of every block to the screen.
fn show_light(live: Res<Live>, transport: Res<Transport>, mut blocks: ResMut<Blocks>, mut assets: BlockAssets) {
    let light = Light::of(&live.chosen().look);
    let due = |block: &Block| block.light != light || block.shone.2;
    if !blocks.present.iter().chain(&blocks.starts).any(due) {
        return;
    }
    let begun = Instant::now();
    let blocks = &mut *blocks;
    let mut shone = 0;
    for block in blocks.present.iter_mut().chain(&mut blocks.starts) {
        shone += u64::from(assets.shine(block, light, transport.playing));
    }
    blocks.lit += shone;
    assets.timing.shine_ms = smoothed(assets.timing.shine_ms, begun.elapsed().as_secs_f64() * 1e3);
}

/// Brings the last finished tick to the screen: textures, and other blocks where there are others to show.
pub(super) fn show_heights(
    live: Res<Live>,
    revision: Res<Revision>,
    shown: Res<Shown>,
    channels: Res<Channels>,
    preferences: Res<Preferences>,
    mut blocks: ResMut<Blocks>,
    mut assets: BlockAssets,
) {
    // A divider that moves changes no heights.
    let kind = if let Before::Split(_) = shown.0 { Before::Split(0.0) } else { shown.0 };
    // Several blocks share what one may cost.
    let mesh = preferences.settings.resolved(preferences.software).mesh as f32;
    let most = (mesh / (live.all().len() as f32).sqrt()).max(48.0) as usize;
    let lakes = (0..live.all().len()).map(|run| channels.lakes(run).map(Grid::edition)).collect();
    let seen = Some((*revision, kind, most, lakes));
    if blocks.shown == seen || !live.can_be_shown() {
        return;
    }
    let begun = Instant::now();
    let light = Light::of(&live.chosen().look);
    let turned = blocks.shown.as_ref().is_none_or(|(_, before, ..)| *before != kind);
    let begins = blocks.shown.as_ref().is_none_or(|(seen, ..)| seen.start != revision.start);
    blocks.shown = seen;
    let blocks = &mut *blocks;
    let wanted = live.all().len();
    for gone in blocks.present.drain(wanted.min(blocks.present.len())..) {
        assets.commands.entity(gone.entity).despawn();
    }
    if kind != Before::Split(0.0) || blocks.starts.len() != wanted {
        for gone in blocks.starts.drain(..) {
            assets.commands.entity(gone.entity).despawn();
        }
    }
    if begins {
        blocks.sunk = vec![0.0; wanted];
        blocks.levels = live.all().iter().map(|session| session.simulation.terrain.start.min_max().0).collect();
    }
    for (index, session) in live.all().iter().enumerate() {
        let simulation = &session.simulation;
        let level = blocks.levels[index];
        let drawn = (simulation, channels.lakes(index));
        let lowest = assets.show(&mut blocks.present, index, drawn, (kind == Before::Alone, most, light));
        blocks.sunk[index] = blocks.sunk[index].min(lowest - level);
        if kind == Before::Split(0.0) && (turned || begins || blocks.starts.len() <= index) {
            assets.show(&mut blocks.starts, index, (simulation, None), (true, most, light));
        }
    }
    let timing = &mut assets.timing;
    timing.remesh_ms = smoothed(timing.remesh_ms, begun.elapsed().as_secs_f64() * 1e3);
}

/// Brings light, colours and places to the screen.
fn show_numbers(
    live: Res<Live>,
    shown: Res<Shown>,
    (brushes, cursor): (Res<Brushes>, Res<BrushCursor>),
    mut blocks: ResMut<Blocks>,
    mut materials: ResMut<Assets<GroundMaterial>>,
) {
    let layout = Layout::new(live.all());
    let look = &live.chosen().look;
    let feet = live.all().iter().zip(&blocks.sunk);
    let feet = feet.map(|(session, &sunk)| numbers::foot(&session.simulation.terrain, look, &layout, sunk));
    let foot = feet.fold(0.0, f32::min);
    let numbers: Vec<SceneNumbers> = live
        .all()
        .iter()
        .enumerate()
        .map(|(index, session)| {
            let terrain = &session.simulation.terrain;
            let level = blocks.levels.get(index).copied().unwrap_or_default();
            let wind = session.simulation.wind();
            let numbers = SceneNumbers::new(terrain, look, &layout, layout.centre(index), (level, foot), wind);
            match cursor.0 {
                Some(ring) if shown.0 != Before::Alone => numbers.with_ring(terrain, &ring, brushes.of(ring.tool)),
                _ => numbers,
            }
        })
        .collect();
    let mut set = |block: &Block, numbers: SceneNumbers| {
        update(&mut materials, &block.material, |material| material.scene = numbers);
    };
    let (side, share) = match shown.0 {
        Before::Split(share) => (1.0, share),
        _ => (0.0, 0.0),
    };
    for (index, numbers) in numbers.iter().enumerate() {
        if let Some(block) = blocks.present.get(index) {
            set(block, numbers.beside(side, share));
        }
        if let Some(block) = blocks.starts.get(index) {
            set(block, numbers.beside(-side, share));
        }
    }
    let drawn: Vec<SceneNumbers> = numbers.iter().map(|numbers| numbers.beside(side, share)).collect();
    if blocks.drawn != drawn {
        blocks.drawn = drawn;
    }
    let numbers: Vec<SceneNumbers> = numbers.into_iter().map(|numbers| numbers.beside(0.0, share)).collect();
    if blocks.numbers != numbers {
        blocks.numbers = numbers;
    }
}

/// Bytes of a cell in the texture: ground, sand, depth of the water with what it carries, and that alone. Where hardly any water
/// stands, the last one is how wet the ground is, less than nothing.
const CELL_BYTES: usize = 16;
/// Layers that the texture is made of.
const LAYERS: usize = 4;
/// Share of the map's cells. Where more have changed, all are sent.
const MOST_PARTS: f64 = 0.5;

/// Under less water than this, in metres, the ground shows how wet it is.
const STANDS: f32 = 0.01;

/// What a texture held: the editions of the layers, and those of the wetness and the lakes, if there were such maps.
type Editions = ([Edition; LAYERS], [Option<Edition>; 2]);

/// What is drawn of a run: bedrock, sand, water and what it carries; how wet the ground is, if a process keeps account of it; and the
/// levels of lakes that are drawn though no water is simulated there.
struct Drawn<'a> {
    layers: [&'a Grid; LAYERS],
    wetness: Option<&'a Grid>,
    lakes: Option<&'a Grid>,
}

impl<'a> Drawn<'a> {
    fn of(simulation: &'a Simulation, lakes: Option<&'a Grid>) -> Self {
        let Terrain { bedrock, sand, water, suspended, .. } = &simulation.terrain;
        let lakes = lakes.filter(|lakes| lakes.len() == bedrock.len());
        Self { layers: [bedrock, sand, water, suspended], wetness: simulation.wetness(), lakes }
    }

    fn editions(&self) -> Editions {
        (self.layers.map(Grid::edition), [self.wetness, self.lakes].map(|map| map.map(Grid::edition)))
    }

    fn width(&self) -> usize {
        self.layers[0].width()
    }

    /// The parts that have changed since the maps were what they were then; none if they are too large.
    fn changed_parts(&self, (layers, others): Editions) -> Option<Vec<URect>> {
        let tiling = Tiling::new(self.width(), self.layers[0].height());
        let mut changed = vec![false; tiling.count()];
        let mut maps: Vec<(&Grid, Edition)> = self.layers.into_iter().zip(layers).collect();
        for pair in [self.wetness, self.lakes].into_iter().zip(others) {
            match pair {
                (None, None) => {}
                (Some(map), Some(held)) => maps.push((map, held)),
                _ => return None,
            }
        }
        for (layer, held) in maps {
            layer.changed_since(held)?.for_each(|tile| changed[tile] = true);
        }
        let parts = upload::parts(tiling, (0..tiling.count()).filter(|&tile| changed[tile]));
        let cells: f64 = parts.iter().map(|part| f64::from(part.width()) * f64::from(part.height())).sum();
        (cells <= MOST_PARTS * self.layers[0].len() as f64).then_some(parts)
    }

    /// The bytes of some parts, as [`Patch`] has them, and the lowest ground in them.
    fn part_bytes(&self, parts: &[URect]) -> (Vec<u8>, f32) {
        let row = |part: &URect| upload::row_bytes(CELL_BYTES * part.width() as usize);
        let count = parts.iter().map(|part| row(part) * part.height() as usize).sum();
        let mut bytes: Vec<u8> = vec![0; count];
        let mut rest = &mut bytes[..];
        let mut rooms = Vec::with_capacity(parts.len());
        for part in parts {
            let (room, others) = rest.split_at_mut(row(part) * part.height() as usize);
            rooms.push((part, room));
            rest = others;
        }
        let lowest = rooms.into_par_iter().map(|(part, room)| {
            let mut lowest = f32::INFINITY;
            for (y, line) in (part.min.y..part.max.y).zip(room.chunks_exact_mut(row(part))) {
                let first = y as usize * self.width() + part.min.x as usize;
                let cells = line.as_chunks_mut::<CELL_BYTES>().0[..part.width() as usize].iter_mut();
                lowest = lowest.min(self.row_bytes(first, cells, |cell, bytes| *cell = bytes));
            }
            lowest
        });
        let lowest = lowest.reduce(|| f32::INFINITY, f32::min);
        (bytes, lowest)
    }

    /// The bytes of every cell, as the shaders read them, and the lowest ground.
    fn bytes(&self) -> (Vec<u8>, f32) {
        let (width, count) = (self.width(), self.layers[0].len());
        // Megabytes in every frame: not filled with zeros first.
        let mut bytes: Vec<u8> = Vec::with_capacity(CELL_BYTES * count);
        let room = &mut bytes.spare_capacity_mut()[..CELL_BYTES * count];
        let lines = room.par_chunks_mut(CELL_BYTES * width).enumerate();
        let lowest = lines.map(|(y, line)| {
            let cells = line.as_chunks_mut::<CELL_BYTES>().0.iter_mut();
            self.row_bytes(y * width, cells, |cell, bytes| *cell = bytes.map(MaybeUninit::new))
        });
        let lowest = lowest.reduce(|| f32::INFINITY, f32::min);
        // SAFETY: all layers have `count` cells, so each of the bytes was written.
        unsafe { bytes.set_len(CELL_BYTES * count) };
        (bytes, lowest)
    }

    /// Writes the bytes of the cells of a row, from the cell of this index on. Returns the lowest ground among them.
    #[inline(always)]
    fn row_bytes<C>(
        &self,
        first: usize,
        cells: impl ExactSizeIterator<Item = C>,
        write: impl Fn(C, [u8; CELL_BYTES]),
    ) -> f32 {
        let range = first..first + cells.len();
        let [bedrock, sand, water, suspended] = self.layers.map(|layer| &layer[range.clone()]);
        let wetness = self.wetness.map(|map| &map[range.clone()]);
        let lakes = self.lakes.map(|map| &map[range]);
        let mut lowest = f32::INFINITY;
        for (x, cell) in cells.enumerate() {
            let ground = bedrock[x] + sand[x];
            let last = match wetness {
                Some(wetness) if water[x] < STANDS => -wetness[x],
                _ => suspended[x],
            };
            let depth = water[x] + suspended[x];
            let depth = lakes.map_or(depth, |levels| depth.max(levels[x] - ground));
            let values = [ground, sand[x], depth, last].map(f32::to_le_bytes);
            write(cell, std::array::from_fn(|byte| values[byte / 4][byte % 4]));
            lowest = lowest.min(ground);
        }
        lowest
    }
}

/// The same for the ground at the start, whose sand and water are not known apart.
fn start_bytes(start: &Grid) -> (Vec<u8>, f32) {
    let cells = start.iter().flat_map(|&ground| [ground, 0.0, 0.0, 0.0]);
    (cells.flat_map(f32::to_le_bytes).collect(), start.min_max().0)
}

/// A texture of four numbers for every cell.
pub(super) fn layer_image(size: (usize, usize), bytes: Vec<u8>) -> Image {
    cell_image(size, bytes, TextureFormat::Rgba32Float)
}

/// A texture with a texel for every cell.
pub(super) fn cell_image((width, height): (usize, usize), bytes: Vec<u8>, format: TextureFormat) -> Image {
    let size = Extent3d { width: width as u32, height: height as u32, depth_or_array_layers: 1 };
    Image::new(size, TextureDimension::D2, bytes, format, RenderAssetUsages::RENDER_WORLD)
}

/// A flat grid from -½ to ½ of at most `most` vertices along a side, its border again as the walls' upper and lower rim,
/// and the base. The y of a vertex says its kind: 0 surface, 1 upper and 2 lower rim of a wall along x, 3 and 4 of a
/// wall along z, 5 the base.
fn block_mesh((width, height): (usize, usize), most: usize) -> Mesh {
    let (columns, rows) = (width.clamp(2, most), height.clamp(2, most));
    let place = |column: usize, row: usize, kind: f32| {
        let share = |index: usize, count: usize| index as f32 / (count - 1) as f32 - 0.5;
        [share(column, columns), kind, share(row, rows)]
    };
    let mut positions: Vec<[f32; 3]> =
        (0..rows * columns).map(|index| place(index % columns, index / columns, 0.0)).collect();
    let mut indices = Vec::with_capacity(6 * rows * columns);
    for row in 0..rows - 1 {
        for column in 0..columns - 1 {
            let first = (row * columns + column) as u32;
            let below = first + columns as u32;
            indices.extend([first, below, first + 1, first + 1, below, below + 1]);
        }
    }
    let mut wall = |kind: f32, cells: &mut dyn Iterator<Item = (usize, usize)>| {
        let mut before: Option<u32> = None;
        for (column, row) in cells {
            let upper = positions.len() as u32;
            positions.extend([place(column, row, kind), place(column, row, kind + 1.0)]);
            if let Some(last) = before {
                indices.extend([last, last + 1, upper, upper, last + 1, upper + 1]);
            }
            before = Some(upper);
        }
    };
    wall(1.0, &mut (0..columns).map(|column| (column, 0)));
    wall(1.0, &mut (0..columns).map(|column| (column, rows - 1)));
    wall(3.0, &mut (0..rows).map(|row| (0, row)));
    wall(3.0, &mut (0..rows).map(|row| (columns - 1, row)));
    let base = positions.len() as u32;
    positions.extend([(0, 0), (columns - 1, 0), (0, rows - 1), (columns - 1, rows - 1)].map(|(x, y)| place(x, y, 5.0)));
    indices.extend([base, base + 1, base + 2, base + 2, base + 1, base + 3]);
    Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::RENDER_WORLD)
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, positions)
        .with_inserted_indices(Indices::U32(indices))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{origin::Options, session::Session},
        sim::terrain::Layer,
    };

    /// Brings parts into the bytes of a texture, as the graphics card does.
    fn patched(texture: &mut [u8], width: usize, parts: &[URect], mut bytes: &[u8]) {
        for part in parts {
            let (columns, row) = (part.width() as usize, upload::row_bytes(CELL_BYTES * part.width() as usize));
            for y in part.min.y..part.max.y {
                let first = CELL_BYTES * (y as usize * width + part.min.x as usize);
                texture[first..first + CELL_BYTES * columns].copy_from_slice(&bytes[..CELL_BYTES * columns]);
                bytes = &bytes[row..];
            }
        }
        assert!(bytes.is_empty());
    }

    #[test]
    fn the_parts_that_changed_make_the_old_texture_the_new_one() {
        let options = Options { size: Some((203, 147)), ..Options::default() };
        let mut session = Session::open("alpine-valley", &options).expect("built in");
        session.set("droplets.per_tick", "5").expect("in range");
        let simulation = &mut session.simulation;
        let (mut texture, _) = Drawn::of(simulation, None).bytes();
        for _ in 0..20 {
            let held = Drawn::of(simulation, None).editions();
            simulation.tick();
            let drawn = Drawn::of(simulation, None);
            let parts = drawn.changed_parts(held).expect("five droplets don't reach half of the map");
            let (bytes, lowest) = drawn.part_bytes(&parts);
            assert!(!bytes.is_empty() && bytes.len() < texture.len() / 2);
            patched(&mut texture, drawn.width(), &parts, &bytes);
            let (whole, lowest_of_all) = drawn.bytes();
            assert!(texture == whole && lowest >= lowest_of_all);
        }
        let held = Drawn::of(simulation, None).editions();
        simulation.terrain.layer_mut(Layer::Water)[7] = 1.0;
        assert_eq!(Drawn::of(simulation, None).changed_parts(held), None);
    }

    #[test]
    fn ground_that_was_wet_is_drawn_so_where_the_wind_blows() {
        let mut session = Session::open("one-barchan", &Options::default()).expect("built in");
        // A tick of the wind stands for hours: the sand dries as slowly as it can.
        session.set("wind.drying", "100000").expect("it is a parameter");
        let simulation = &mut session.simulation;
        simulation.tick();
        simulation.terrain.water[7] = 0.5;
        simulation.tick();
        simulation.terrain.water[7] = 0.0;
        simulation.tick();
        let (bytes, _) = Drawn::of(simulation, None).bytes();
        let last = |cell: usize| {
            let [.., a, b, c, d] = bytes[CELL_BYTES * cell..][..CELL_BYTES] else { unreachable!("it has 16 bytes") };
            f32::from_le_bytes([a, b, c, d])
        };
        assert!((-1.0..-0.5).contains(&last(7)) && last(8) == 0.0, "{}, {}", last(7), last(8));
    }

    #[test]
    fn lakes_that_are_not_simulated_are_drawn_to_their_level_over_the_ground_of_now() {
        let options = Options { size: Some((16, 8)), ..Options::default() };
        let session = Session::open("alpine-valley", &options).expect("built in");
        let mut simulation = session.simulation;
        simulation.terrain.water[5] = 2.0;
        let ground = simulation.terrain.ground();
        let level = ground[3] + 1.5;
        let lakes = Grid::from_fn(16, 8, |x, y| if y == 0 && x < 6 { level } else { f32::NEG_INFINITY });
        let drawn = Drawn::of(&simulation, Some(&lakes));
        let (bytes, _) = drawn.bytes();
        let depth = |cell: usize| {
            let [.., a, b, c, d, _, _, _, _] = bytes[..CELL_BYTES * (cell + 1)] else {
                unreachable!("it has 16 bytes")
            };
            f32::from_le_bytes([a, b, c, d])
        };
        assert_eq!([3, 5, 20].map(depth), [level - ground[3], (level - ground[5]).max(2.0), 0.0]);
        // Another map of lakes, or none, is no part of this one.
        assert_eq!(Drawn::of(&simulation, None).changed_parts(drawn.editions()), None);
        let other = Grid::filled(16, 8, 0.0);
        assert_eq!(Drawn::of(&simulation, Some(&other)).changed_parts(drawn.editions()), None);
        // One for another size of the map, which is on its way, is left out.
        let (without, _) = Drawn::of(&simulation, Some(&Grid::filled(3, 3, 9e9))).bytes();
        assert!(without == Drawn::of(&simulation, None).bytes().0);
    }
}
