//! Terrain blocks: one per session, with textures that follow the simulation.

use crate::world::{
    BrushCursor, Brushes, Comparison, CutLine, Divider, FrameSystems, Revision, RiverOverlay, Simulations, Timing,
    Transport, ViewportArea, smoothed,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bevy::{
    ecs::system::SystemParam,
    prelude::*,
    render::render_resource::{AsBindGroup, TextureFormat},
    window::PrimaryWindow,
};

use super::{
    layers::{HeightRange, LayerVersions, TerrainLayers, cell_image, neutral_past_bytes, start_bytes},
    light::{LayerUpdate, Lighting, LightingResult},
    lod::{self, BlockBounds, ChunkSet, Coverage},
    material::{Variant, update},
    overlay::{OverlayTextures, OverlayUniforms},
    pass::{DrawnMesh, SurfaceMaterial, SurfacePlugin},
    relief::{ExternalHorizon, Light},
    uniforms::{self, Layout, SceneUniforms},
    upload::{Patches, TexturePatch},
};
use thalweg_sim::{
    core::grid::{Grid, GridVersion},
    simulation::Simulation,
};

#[derive(Asset, TypePath, AsBindGroup, Clone, PartialEq)]
#[bind_group_data(Variant)]
pub(super) struct GroundMaterial {
    #[uniform(0)]
    scene: SceneUniforms,
    #[texture(1, sample_type = "float", filterable = false, visibility(vertex, fragment))]
    layers: Handle<Image>,
    #[texture(2, sample_type = "float", filterable = false, visibility(vertex, fragment))]
    pub motion: Handle<Image>,
    #[uniform(3)]
    pub overlay: OverlayUniforms,
    #[texture(6)]
    #[sampler(7)]
    relief: Handle<Image>,
    #[texture(8)]
    cover: Handle<Image>,
    #[texture(9)]
    past: Handle<Image>,
    #[texture(10)]
    pub flow: Handle<Image>,
}

impl From<&GroundMaterial> for Variant {
    fn from(GroundMaterial { scene, overlay, .. }: &GroundMaterial) -> Self {
        Self::with(&[
            ("SPLIT", scene.is_split()),
            ("CLOUDS", scene.has_clouds()),
            ("RIPPLES", scene.has_ripples()),
            ("RAMP", scene.has_ramp()),
            ("GLITTER", scene.has_glitter()),
            ("WOODS", scene.has_woods()),
            ("CONTOURS", scene.has_contours()),
            ("GRID", scene.has_grid()),
            ("OVERLAY", overlay.has_values()),
            ("CLASSES", overlay.has_classes()),
            ("ARROWS", overlay.has_arrows()),
            ("MASK", overlay.has_mask()),
            ("RING", scene.has_ring()),
            ("CUT", scene.is_cut()),
        ])
    }
}

impl SurfaceMaterial for GroundMaterial {
    const SHADER: &'static str = "terrain.wgsl";
    const ORDER: u8 = 0;
    const OPAQUE: bool = true;
    const LAND: bool = true;
}

/// Maximum time for which a frame waits for lighting, in a window or while more changes are expected.
const WAIT: Duration = Duration::from_millis(5);

/// One state of one session on screen.
struct TerrainBlock {
    entity: Entity,
    material: Handle<GroundMaterial>,
    textures: Textures,
    /// Columns and rows.
    size: (usize, usize),
    /// Highest point so far, in metres, and the bounds of the drawn block.
    highest: f32,
    bounds: Option<BlockBounds>,
    uniforms: SceneUniforms,
    /// Coverage of the water on screen, if there is any.
    water: Option<Arc<Coverage>>,
    /// Versions of the layers in the texture; `None` for the start.
    holds: Option<LayerVersions>,
    lit: Lighting,
}

/// Textures with the cells of a block.
#[derive(Clone)]
struct Textures {
    layers: Handle<Image>,
    relief: Handle<Image>,
    cover: Handle<Image>,
    past: Handle<Image>,
}

/// View of a block for the surfaces drawn on it.
pub(super) struct BlockSurface<'a> {
    pub bounds: BlockBounds,
    pub uniforms: &'a SceneUniforms,
    pub layers: &'a Handle<Image>,
    pub relief: &'a Handle<Image>,
    pub cover: &'a Handle<Image>,
    /// Coverage of its water, if there is any.
    pub water: Option<&'a Arc<Coverage>>,
}

impl TerrainBlock {
    fn horizon(&self) -> &ExternalHorizon {
        &self.lit.horizon
    }

    fn bed(&self) -> Option<BlockSurface<'_>> {
        let Self { bounds, uniforms, textures: Textures { layers, relief, cover, .. }, water, .. } = self;
        Some(BlockSurface { bounds: (*bounds)?, uniforms, layers, relief, cover, water: water.as_ref() })
    }
}

/// All blocks on screen, and the uniforms that other shaders share with the first one.
#[derive(Resource, Default)]
pub(super) struct TerrainBlocks {
    /// Mesh of a chunk.
    chunk_mesh: Handle<Mesh>,
    present: Vec<TerrainBlock>,
    /// Blocks of the starts while they are compared side by side with the present.
    starts: Vec<TerrainBlock>,
    pub uniforms: Vec<SceneUniforms>,
    /// Change of each block's lowest ground since the start, in metres. It never rises, so that the base of the block stays in
    /// place.
    sunk: Vec<f32>,
    /// Indices of the sessions left and right of the divider, if two share a place.
    pair: Option<[usize; 2]>,
    /// Lowest ground at the start, in metres: the zero level of the block.
    levels: Vec<f32>,
    /// Highest point of each session so far, in metres.
    tops: Vec<f32>,
    shown: Option<(Revision, Comparison, Vec<Option<GridVersion>>)>,
}

/// Lighting of the blocks, which every finished update marks as changed.
#[derive(Resource, Default)]
pub(super) struct BlockLighting;

impl TerrainBlocks {
    /// `true` if the blocks belong to the latest start.
    pub(super) fn are_of(&self, revision: Revision) -> bool {
        self.shown.as_ref().is_some_and(|(seen, ..)| seen.start == revision.start)
    }

    /// Returns the texture of the layers of the first block, and its size.
    pub(super) fn present_layers(&self) -> Option<(AssetId<Image>, (usize, usize))> {
        self.present.first().map(|block| (block.textures.layers.id(), block.size))
    }

    /// Returns the materials of the present blocks.
    pub(super) fn materials(&self) -> impl Iterator<Item = &Handle<GroundMaterial>> {
        self.present.iter().map(|block| &block.material)
    }

    /// Returns the materials of the starts drawn next to the present.
    pub(super) fn materials_of_starts(&self) -> impl Iterator<Item = &Handle<GroundMaterial>> {
        self.starts.iter().map(|block| &block.material)
    }

    /// Returns the present blocks for the surfaces drawn on them.
    pub(super) fn beds(&self) -> impl Iterator<Item = BlockSurface<'_>> {
        self.present.iter().filter_map(TerrainBlock::bed)
    }

    /// Returns the starts drawn next to the present for the surfaces drawn on them.
    pub(super) fn beds_of_starts(&self) -> impl Iterator<Item = BlockSurface<'_>> {
        self.starts.iter().filter_map(TerrainBlock::bed)
    }

    /// Creates a surface of a material on a chunk set.
    pub(super) fn piece<M: SurfaceMaterial>(&self, material: Handle<M>, chunk_set: ChunkSet) -> DrawnMesh<M> {
        DrawnMesh { mesh: self.chunk_mesh.clone(), material, chunk_set: Some(chunk_set) }
    }

    /// Returns the horizons that shade the ground plane: of the present blocks, and of the starts drawn next to them. For two sessions
    /// in the same place, of the right and of the left one.
    pub(super) fn horizons(&self) -> [Vec<&ExternalHorizon>; 2] {
        match self.pair {
            Some([left, right]) => {
                [right, left].map(|run| self.present.get(run).into_iter().map(TerrainBlock::horizon).collect())
            }
            None => [&self.present, &self.starts].map(|blocks| blocks.iter().map(TerrainBlock::horizon).collect()),
        }
    }

    /// Returns the uniforms of the sessions with a place of their own.
    pub(super) fn places(&self) -> &[SceneUniforms] {
        &self.uniforms[..if self.pair.is_some() { 1 } else { self.uniforms.len() }]
    }

    /// `true` if this state and its lighting are on screen.
    pub(super) fn is_on_screen(&self, revision: Revision) -> bool {
        self.shown.as_ref().is_some_and(|(seen, ..)| *seen == revision) && !self.waits_for_light()
    }

    /// `true` if lighting is in progress.
    pub(super) fn waits_for_light(&self) -> bool {
        self.present.iter().chain(&self.starts).any(|block| block.lit.is_at_work())
    }

    /// `true` if lighting of the same terrain is in progress. A replaced terrain does not wait for it.
    fn is_lighting(&self, simulations: &Simulations, revision: Revision) -> bool {
        let sizes = simulations.all().iter().map(|session| &session.simulation.terrain);
        let sizes = sizes.map(|terrain| (terrain.width(), terrain.height()));
        let same = self.shown.as_ref().is_some_and(|(seen, ..)| seen.start == revision.start)
            && sizes.eq(self.present.iter().map(|block| block.size));
        same && self.waits_for_light()
    }
}

pub(super) fn plugin(app: &mut App) {
    app.add_plugins(SurfacePlugin::<GroundMaterial>::default())
        .init_resource::<TerrainBlocks>()
        .init_resource::<BlockLighting>()
        .add_systems(Startup, create_chunk_mesh)
        .add_systems(
            Update,
            (fetch_light, show_heights, show_light, update_uniforms).chain().in_set(FrameSystems::Show),
        );
}

fn create_chunk_mesh(mut blocks: ResMut<TerrainBlocks>, mut meshes: ResMut<Assets<Mesh>>) {
    blocks.chunk_mesh = meshes.add(lod::chunk_mesh());
}

/// Assets that make up the blocks.
#[derive(SystemParam)]
pub(super) struct BlockAssets<'w, 's> {
    images: ResMut<'w, Assets<Image>>,
    materials: ResMut<'w, Assets<GroundMaterial>>,
    patches: ResMut<'w, Patches>,
    motions: Res<'w, OverlayTextures>,
    lighting: ResMut<'w, BlockLighting>,
    timing: ResMut<'w, Timing>,
    commands: Commands<'w, 's>,
}

impl TerrainBlock {
    fn new(
        entity: Entity,
        material: Handle<GroundMaterial>,
        textures: Textures,
        size: (usize, usize),
        highest: f32,
        lit: Lighting,
    ) -> Self {
        let uniforms = SceneUniforms::default();
        Self { entity, material, textures, size, highest, bounds: None, uniforms, water: None, holds: None, lit }
    }
}

impl BlockAssets<'_, '_> {
    /// Shows a terrain or its start in block `index`, which is created if missing. Returns the lowest ground.
    fn show(
        &mut self,
        list: &mut Vec<TerrainBlock>,
        index: usize,
        (simulation, lakes): (&Simulation, Option<&Grid>),
        start: bool,
    ) -> f32 {
        let terrain = &simulation.terrain;
        let drawn = TerrainLayers::of(simulation, lakes);
        let cells = (terrain.width(), terrain.height());
        let holds = (!start).then(|| drawn.versions());
        if let Some(block) = list.get_mut(index).filter(|block| block.size == cells && block.lit.is_at_work()) {
            // The result in progress belongs to the old terrain.
            (block.holds, block.lit) = (None, Lighting::new(cells));
        }
        let block = list.get_mut(index).filter(|block| block.size == cells);
        let held = block.and_then(|block| std::mem::replace(&mut block.holds, holds));
        if let (Some(held), false, Some(block)) = (held, start, list.get_mut(index))
            && let Some(parts) = drawn.changed_parts(held)
        {
            let (bytes, HeightRange { lowest, highest }) = drawn.part_bytes(&parts);
            let past = drawn.past_bytes(Some(&parts));
            block.highest = block.highest.max(highest);
            block.lit.take(LayerUpdate { parts: Some(parts), bytes, past, highest });
            return lowest;
        }
        let (bytes, HeightRange { lowest, highest }) = if start { start_bytes(&terrain.start) } else { drawn.bytes() };
        let past = if start { neutral_past_bytes(terrain.start.len()) } else { drawn.past_bytes(None) };
        let taken = LayerUpdate { parts: None, bytes, past, highest };
        if let Some(block) = list.get_mut(index).filter(|block| block.size == cells) {
            // Until the new terrain is on screen, the old one may be higher.
            block.highest = block.highest.max(highest);
            block.lit.take(taken);
            return lowest;
        }
        let mut lit = Lighting::new(cells);
        lit.take(taken);
        let mut texture = |format| self.images.add(cell_image(cells, format));
        let textures = Textures {
            layers: texture(TextureFormat::Rgba32Float),
            relief: texture(TextureFormat::Rgba16Float),
            cover: texture(TextureFormat::Rgba8Unorm),
            past: texture(TextureFormat::R8Unorm),
        };
        if let Some(block) = list.get_mut(index) {
            if let Some(mut material) = self.materials.get_mut(&block.material) {
                (material.layers, material.relief) = (textures.layers.clone(), textures.relief.clone());
                (material.cover, material.past) = (textures.cover.clone(), textures.past.clone());
            }
            let material = block.material.clone();
            *block = TerrainBlock { holds, ..TerrainBlock::new(block.entity, material, textures, cells, highest, lit) };
            return lowest;
        }
        let material = self.materials.add(GroundMaterial {
            scene: SceneUniforms::default(),
            layers: textures.layers.clone(),
            motion: self.motions.still.clone(),
            overlay: OverlayUniforms::default(),
            relief: textures.relief.clone(),
            cover: textures.cover.clone(),
            past: textures.past.clone(),
            flow: self.motions.dry.clone(),
        });
        let entity = self.commands.spawn_empty().id();
        list.push(TerrainBlock { holds, ..TerrainBlock::new(entity, material, textures, cells, highest, lit) });
        lowest
    }

    /// Uploads lighting that is finished by `until`, or waits for all of it without one.
    fn fetch(&mut self, blocks: &mut TerrainBlocks, until: Option<Instant>) {
        for block in blocks.present.iter_mut().chain(&mut blocks.starts) {
            if let Some(found) = block.lit.fetch(until) {
                self.upload_lighting(block, found);
                self.lighting.set_changed();
            }
        }
    }

    /// Uploads the lighting of a block.
    fn upload_lighting(&mut self, block: &mut TerrainBlock, found: LightingResult) {
        let LightingResult { taken, parts, bytes: [relief, cover], water, took, shone } = found;
        block.water = water;
        if shone {
            self.timing.lighting_ms = smoothed(self.timing.lighting_ms, took.as_secs_f64() * 1e3);
        }
        let Textures { layers, relief: slopes, cover: covers, past: pasts } = &block.textures;
        if let Some(LayerUpdate { parts: None, highest, .. }) = taken {
            block.highest = highest;
        }
        let ground =
            taken.map(|LayerUpdate { parts, bytes, past, .. }| [(layers, parts.clone(), bytes), (pasts, parts, past)]);
        let others = [(slopes, parts.clone(), relief), (covers, parts, cover)];
        for (image, parts, bytes) in ground.into_iter().flatten().chain(others) {
            self.timing.uploaded += bytes.len() as u64;
            match parts {
                Some(parts) => self.patches.0.push(TexturePatch { image: image.id(), parts, bytes }),
                None => {
                    if let Some(mut image) = self.images.get_mut(image) {
                        image.data = Some(bytes);
                    }
                }
            }
        }
    }
}

/// Uploads lighting finished since the last frame.
fn fetch_light(mut blocks: ResMut<TerrainBlocks>, mut assets: BlockAssets) {
    assets.fetch(blocks.bypass_change_detection(), Some(Instant::now()));
}

/// Starts the lighting of every block and uploads results that are ready in time.
fn show_light(
    simulations: Res<Simulations>,
    (transport, view): (Res<Transport>, Res<ViewportArea>),
    buttons: Res<ButtonInput<MouseButton>>,
    windows: Query<(), With<PrimaryWindow>>,
    mut blocks: ResMut<TerrainBlocks>,
    mut assets: BlockAssets,
) {
    // During playback or while a mouse button is held, the next frame changes the terrain again.
    let more = transport.playing && !view.is_taking_screenshot || buttons.get_pressed().next().is_some();
    let blocks = blocks.bypass_change_detection();
    let sessions =
        simulations.all().iter().zip(&mut blocks.present).chain(simulations.all().iter().zip(&mut blocks.starts));
    for (session, block) in sessions {
        block.lit.begin(Light::of(&simulations.selected().look, session.simulation.terrain.cell_size), more);
    }
    // Off-screen, the frame of a paused simulation is complete.
    assets.fetch(blocks, (more || !windows.is_empty()).then(|| Instant::now() + WAIT));
}

/// Shows the last finished tick: updates textures, and adds or removes blocks.
pub(super) fn show_heights(
    simulations: Res<Simulations>,
    revision: Res<Revision>,
    comparison: Res<State<Comparison>>,
    channels: Res<RiverOverlay>,
    mut blocks: ResMut<TerrainBlocks>,
    mut assets: BlockAssets,
) {
    // Moving the divider does not change heights.
    let kind = if *comparison == Comparison::Simulations { Comparison::Off } else { *comparison.get() };
    let lakes = (0..simulations.all().len()).map(|run| channels.lakes(run).map(Grid::version)).collect();
    let seen = Some((*revision, kind, lakes));
    if blocks.shown == seen || !simulations.can_be_shown() || blocks.is_lighting(&simulations, *revision) {
        return;
    }
    let begun = Instant::now();
    let turned = blocks.shown.as_ref().is_none_or(|(_, before, ..)| *before != kind);
    let begins = blocks.shown.as_ref().is_none_or(|(seen, ..)| seen.start != revision.start);
    blocks.shown = seen;
    let blocks = &mut *blocks;
    let wanted = simulations.all().len();
    for gone in blocks.present.drain(wanted.min(blocks.present.len())..) {
        assets.commands.entity(gone.entity).despawn();
    }
    if kind != Comparison::Split || blocks.starts.len() != wanted {
        for gone in blocks.starts.drain(..) {
            assets.commands.entity(gone.entity).despawn();
        }
    }
    if begins {
        blocks.sunk = vec![0.0; wanted];
        let starts = simulations.all().iter().map(|session| session.simulation.terrain.start.min_max());
        (blocks.levels, blocks.tops) = starts.unzip();
    }
    for (index, session) in simulations.all().iter().enumerate() {
        let simulation = &session.simulation;
        let level = blocks.levels[index];
        let drawn = (simulation, channels.lakes(index));
        let lowest = assets.show(&mut blocks.present, index, drawn, kind == Comparison::Start);
        blocks.sunk[index] = blocks.sunk[index].min(lowest - level);
        blocks.tops[index] = blocks.tops[index].max(blocks.present[index].highest);
        if kind == Comparison::Split && (turned || begins || blocks.starts.len() <= index) {
            assets.show(&mut blocks.starts, index, (simulation, None), true);
        }
    }
    let timing = &mut assets.timing;
    timing.prepare_ms = smoothed(timing.prepare_ms, begun.elapsed().as_secs_f64() * 1e3);
}

/// Updates light, colours and positions of the blocks.
pub(super) fn update_uniforms(
    simulations: Res<Simulations>,
    (comparison, divider): (Res<State<Comparison>>, Res<Divider>),
    (brushes, cursor, view, cut): (Res<Brushes>, Res<BrushCursor>, Res<ViewportArea>, Res<CutLine>),
    mut blocks: ResMut<TerrainBlocks>,
    mut materials: ResMut<Assets<GroundMaterial>>,
    mut commands: Commands,
) {
    let pair = comparison.pair(&simulations);
    let layout = if pair.is_some() { Layout::stacked(simulations.all()) } else { Layout::new(simulations.all()) };
    let look = &simulations.selected().look;
    let bases = simulations.all().iter().zip(&blocks.sunk);
    let bases =
        bases.map(|(session, &sunk)| uniforms::max_base_height(&session.simulation.terrain, look, &layout, sunk));
    let base = bases.fold(0.0, f32::min);
    let uniforms: Vec<SceneUniforms> = simulations
        .all()
        .iter()
        .enumerate()
        .map(|(index, session)| {
            let terrain = &session.simulation.terrain;
            let level = blocks.levels.get(index).copied().unwrap_or_default();
            let wind = session.simulation.wind();
            let heights = (level, blocks.tops.get(index).copied().unwrap_or(level), base);
            let centre = if pair.is_some() { Vec2::ZERO } else { layout.centre(index) };
            let uniforms = SceneUniforms::new(terrain, look, &layout, centre, heights, wind);
            let uniforms = cut.0.map_or(uniforms, |ends| uniforms.cut_along(ends));
            match cursor.0 {
                // Not in screenshots.
                Some(ring) if *comparison != Comparison::Start && !view.is_taking_screenshot => {
                    uniforms.with_ring(terrain, &ring, brushes.of(ring.tool))
                }
                _ => uniforms,
            }
        })
        .collect();
    let chunk_mesh = blocks.chunk_mesh.clone();
    let mut new = false;
    let mut set = |block: &mut TerrainBlock, uniforms: SceneUniforms| {
        if block.uniforms != uniforms {
            (block.uniforms, new) = (uniforms, true);
            update(&mut materials, &block.material, |material| material.scene = uniforms);
        }
        let bounds = uniforms.bounds(block.highest);
        if block.bounds != Some(bounds) {
            (block.bounds, new) = (Some(bounds), true);
            let chunk_set = Some(ChunkSet { bounds, only: None });
            let piece = DrawnMesh { mesh: chunk_mesh.clone(), material: block.material.clone(), chunk_set };
            commands.entity(block.entity).insert(piece);
        }
    };
    let unwatched = blocks.bypass_change_detection();
    let (side, share) = match comparison.get() {
        Comparison::Split => (1.0, divider.0),
        Comparison::Simulations if pair.is_some() => (0.0, divider.0),
        _ => (0.0, 0.0),
    };
    unwatched.pair = pair;
    for (index, uniforms) in uniforms.iter().enumerate() {
        if let Some(block) = unwatched.present.get_mut(index) {
            // Left and right of the divider. A session shown alone is not clipped.
            let seen = [share > 0.0, share < 1.0];
            let sides = if seen == [true; 2] { [-1.0, 1.0] } else { [0.0; 2] };
            let placed = match pair.map(|pair| (0..2).find(|&place| seen[place] && pair[place] == index)) {
                None => uniforms.beside(side, share),
                Some(Some(place)) => uniforms.beside(sides[place], share),
                Some(None) => uniforms.hidden(),
            };
            set(block, placed);
        }
        if let Some(block) = unwatched.starts.get_mut(index) {
            set(block, uniforms.beside(-side, share));
        }
    }
    if new {
        blocks.set_changed();
    }
    let uniforms: Vec<SceneUniforms> = uniforms.into_iter().map(|uniforms| uniforms.beside(0.0, share)).collect();
    if blocks.uniforms != uniforms {
        blocks.uniforms = uniforms;
    }
}
