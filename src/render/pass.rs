//! The render pass of the view: draws all meshes in a fixed order directly into the image, with tone mapping in their shaders.
//!
//! A material is a [`SurfaceMaterial`]. Every [`DrawnMesh`] of it is drawn. The panels of the window then show the result like any image.

use std::{collections::HashMap, marker::PhantomData, ops::Range};

use bevy::{
    asset::{AssetId, AssetServer},
    core_pipeline::schedule::camera_driver,
    core_pipeline::tonemapping::{Tonemapping, TonemappingLuts, get_lut_bind_group_layout_entries, get_lut_bindings},
    ecs::system::{SystemParam, SystemParamItem, lifetimeless::SRes},
    mesh::{MeshVertexAttribute, MeshVertexBufferLayoutRef},
    prelude::*,
    render::{
        Extract, ExtractSchedule, Render, RenderApp, RenderStartup, RenderSystems,
        diagnostic::RecordDiagnostics,
        mesh::{RenderMesh, allocator::MeshAllocator},
        render_asset::{PrepareAssetError, RenderAsset, RenderAssetPlugin, RenderAssets},
        render_resource::{
            AsBindGroup, AsBindGroupError, BindGroup, BindGroupEntries, BindGroupLayoutDescriptor,
            BindGroupLayoutEntries, BlendState, BufferUsages, CachedPipelineState, CachedRenderPipelineId,
            ColorTargetState, ColorWrites, CompareFunction, DepthBiasState, DepthStencilState, FragmentState,
            IndexFormat, LoadOp, MultisampleState, Operations, PipelineCache, PrimitiveState, RawBufferVec,
            RenderPassColorAttachment, RenderPassDepthStencilAttachment, RenderPassDescriptor,
            RenderPipelineDescriptor, ShaderStages, ShaderType, StencilState, StoreOp, TextureDescriptor,
            TextureDimension, TextureFormat, TextureUsages, UniformBuffer, VertexState, binding_types::uniform_buffer,
        },
        renderer::{RenderContext, RenderDevice, RenderGraph, RenderGraphSystems, RenderQueue},
        texture::{FallbackImage, GpuImage, TextureCache},
    },
    shader::{ShaderCacheError, ShaderDefVal},
};
use bevy_panorbit_camera::PanOrbitCamera;

use super::{
    lod::{self, BlockBounds, Chunk, ChunkSet, LodView},
    material::Variant,
    redraw::{DrawSettings, RenderStatus},
};
use crate::world::ViewportArea;
use thalweg_scene::look::ToneCurve;

/// Returns the texture format of display colours or of linear light.
pub(super) fn format(as_light: bool) -> TextureFormat {
    if as_light { TextureFormat::Rgba16Float } else { TextureFormat::Rgba8UnormSrgb }
}
const DEPTH: TextureFormat = TextureFormat::Depth32Float;

/// A material and its pipeline settings.
pub(super) trait SurfaceMaterial: Asset + AsBindGroup<Data = Variant> + Clone {
    /// File below `shaders/` with entry points `vertex` and `fragment`.
    const SHADER: &'static str;
    /// Draw order, from low to high.
    const ORDER: u8;
    /// `true` if it is opaque. Others are alpha-blended and do not write depth.
    const OPAQUE: bool;
    /// Vertex attributes of its meshes, at shader locations 0, 1, …
    const VERTEX: &'static [MeshVertexAttribute] = &[Mesh::ATTRIBUTE_POSITION];
    /// `true` if its meshes are terrain, with instance data of chunks at the next shader locations.
    const LAND: bool = false;
    /// `true` if the walls of the terrain are drawn too.
    const WALLS: bool = true;
    /// `true` for a depth prepass with the entry point `mark`. Software renderers run a whole shader even for discarded pixels, but
    /// not for pixels that fail the depth test.
    const MARKS: bool = false;
    /// `true` if it is part of the background of the terrain.
    const IS_BEHIND: bool = false;
}

/// A mesh to draw with a material.
#[derive(Component)]
pub(super) struct DrawnMesh<M: SurfaceMaterial> {
    pub mesh: Handle<Mesh>,
    pub material: Handle<M>,
    /// Part of a block whose chunks are drawn, if the mesh is that of a chunk.
    pub chunk_set: Option<ChunkSet>,
}

/// Draws all meshes of a surface.
pub(super) struct SurfacePlugin<M>(PhantomData<M>);

impl<M> Default for SurfacePlugin<M> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<M: SurfaceMaterial> Plugin for SurfacePlugin<M>
where
    M::Param: 'static,
{
    fn build(&self, app: &mut App) {
        app.init_asset::<M>().add_plugins(RenderAssetPlugin::<PreparedSurface<M>, GpuImage>::default());
        let file = format!("embedded://thalweg/shaders/{}", M::SHADER);
        let shader = app.world().resource::<AssetServer>().load(file);
        if let Some(render) = app.get_sub_app_mut(RenderApp) {
            render
                .insert_resource(ShaderOf::<M> { shader, kind: PhantomData })
                .init_resource::<DrawnMeshes<M>>()
                .add_systems(RenderStartup, begin::<M>.after(begin_view))
                .add_systems(ExtractSchedule, extract_meshes::<M>)
                .add_systems(
                    Render,
                    queue::<M>.in_set(RenderSystems::Queue).in_set(QueueSurfaces).ambiguous_with(QueueSurfaces),
                );
        }
    }
}

pub(super) fn plugin(app: &mut App) {
    if let Some(render) = app.get_sub_app_mut(RenderApp) {
        render
            .init_resource::<PassView>()
            .init_resource::<DrawQueue>()
            .add_systems(RenderStartup, begin_view)
            .add_systems(ExtractSchedule, extract_view)
            .add_systems(RenderGraph, draw.in_set(RenderGraphSystems::Render).before(camera_driver));
    }
}

/// Systems that collect draws, one per surface. Their order does not matter: [`draw`] sorts by that of the surfaces.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct QueueSurfaces;

/// Camera, target and settings of the view.
#[derive(Resource, Clone, Default)]
struct PassView {
    drawing: DrawSettings,
    uniforms: ViewUniforms,
    lod_view: LodView,
    target: AssetId<Image>,
}

/// View uniforms; mirrors `View` in `shaders/lib/view.wgsl`.
#[derive(ShaderType, Clone, Copy, Debug, Default)]
struct ViewUniforms {
    clip_from_world: Mat4,
    eye: Vec4,
    /// Size of the drawn tile, and width of lines relative to the screen, in pixels.
    size: Vec3,
    /// Position of the tile in the whole image, and size of the image, in pixels.
    tile: Vec4,
}

/// The camera, once spawned.
type PassCamera<'w, 's> = Option<Single<'w, 's, (&'static Camera, &'static GlobalTransform), With<PanOrbitCamera>>>;

fn extract_view(
    camera: Extract<PassCamera>,
    view: Extract<Res<ViewportArea>>,
    drawing: Extract<Res<DrawSettings>>,
    mut pass_view: ResMut<PassView>,
    mut draws: ResMut<DrawQueue>,
) {
    *draws = DrawQueue::default();
    let Some(camera) = &*camera else { return };
    let (camera, transform) = **camera;
    let size = drawing.size.as_vec2();
    let (clip_from_view, transform, crop) = match &drawing.tile {
        Some(tile) => (tile.clip_from_view, &tile.place, tile.crop()),
        None => (camera.clip_from_view(), transform, Mat4::IDENTITY),
    };
    let clip_from_world = crop * clip_from_view * transform.to_matrix().inverse();
    let eye = transform.translation();
    let [at, whole] = drawing.tile.map_or([Vec2::ZERO, size], |tile| [tile.at.as_vec2(), tile.whole.as_vec2()]);
    let sharpness = drawing.tile.map_or(1.0, |tile| tile.sharpness);
    let uniforms = ViewUniforms {
        clip_from_world,
        eye: eye.extend(1.0),
        size: size.extend(sharpness),
        tile: Vec4::new(at.x, at.y, whole.x, whole.y),
    };
    // Height of the view at distance 1.
    let height = 2.0 / clip_from_view.y_axis.y;
    let lod_view = LodView { eye, clip_from_world, triangle: height * drawing.triangle };
    *pass_view = PassView { drawing: **drawing, uniforms, lod_view, target: view.image.id() };
}

/// Bindings shared by all surfaces: view uniforms and the lookup table of the tone curve.
#[derive(Resource)]
struct ViewGroup {
    layout: BindGroupLayoutDescriptor,
    uniforms: UniformBuffer<ViewUniforms>,
    chunks: RawBufferVec<Chunk>,
}

fn begin_view(mut commands: Commands) {
    let [table, sampler] = get_lut_bind_group_layout_entries();
    let uniforms = uniform_buffer::<ViewUniforms>(false);
    let entries = BindGroupLayoutEntries::sequential(ShaderStages::VERTEX_FRAGMENT, (uniforms, table, sampler));
    let layout = BindGroupLayoutDescriptor::new("view", &entries);
    let chunks = RawBufferVec::new(BufferUsages::VERTEX);
    commands.insert_resource(ViewGroup { layout, uniforms: UniformBuffer::default(), chunks });
}

/// Layout and pipelines of a surface.
#[derive(Resource)]
struct SurfacePipelines<M> {
    layout: BindGroupLayoutDescriptor,
    pipelines: HashMap<(Variant, u32, ToneCurve, [bool; 2], DrawStage), CachedRenderPipelineId>,
    kind: PhantomData<M>,
}

/// Draw calls of a mesh, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum DrawStage {
    /// Depth of its surface only, biased towards the camera so that no other surface has the same depth.
    Mark,
    /// Its surface, or the whole mesh.
    Surface,
    /// Its walls.
    Walls,
}

impl DrawStage {
    /// Returns the stages of a surface.
    fn of<M: SurfaceMaterial>() -> impl Iterator<Item = Self> {
        let stages = [(Self::Mark, M::MARKS), (Self::Surface, true), (Self::Walls, M::LAND && M::WALLS)];
        stages.into_iter().filter_map(|(stage, drawn)| drawn.then_some(stage))
    }
}

#[derive(Resource)]
struct ShaderOf<M> {
    shader: Handle<Shader>,
    kind: PhantomData<M>,
}

fn begin<M: SurfaceMaterial>(device: Res<RenderDevice>, mut commands: Commands) {
    let layout = M::bind_group_layout_descriptor(&device);
    commands.insert_resource(SurfacePipelines::<M> { layout, pipelines: HashMap::new(), kind: PhantomData });
}

impl<M: SurfaceMaterial> SurfacePipelines<M> {
    fn pipeline(
        &self,
        (variant, drawing, stage): (&Variant, &DrawSettings, DrawStage),
        vertex: &MeshVertexBufferLayoutRef,
        view: &ViewGroup,
        shader: &Handle<Shader>,
    ) -> Option<RenderPipelineDescriptor> {
        let located = |(place, attribute): (usize, &MeshVertexAttribute)| attribute.at_shader_location(place as u32);
        let attributes: Vec<_> = M::VERTEX.iter().enumerate().map(located).collect();
        let mut buffers = vec![vertex.0.get_layout(&attributes).ok()?];
        buffers.extend(M::LAND.then(|| lod::vertex_buffer(attributes.len() as u32)));
        let mut definitions = vec![
            ShaderDefVal::UInt("TONEMAPPING_LUT_TEXTURE_BINDING_INDEX".into(), 1),
            ShaderDefVal::UInt("TONEMAPPING_LUT_SAMPLER_BINDING_INDEX".into(), 2),
        ];
        definitions.extend(tone(drawing.tone).0.iter().map(|name| (*name).into()));
        variant.define(&mut definitions);
        let parts =
            [("WALL", stage == DrawStage::Walls), ("FINE", M::LAND && drawing.fine), ("AS_LIGHT", drawing.is_light())];
        definitions.extend(parts.into_iter().filter(|(_, on)| *on).map(|(name, _)| name.into()));
        let (marks, hides) = (stage == DrawStage::Mark, M::OPAQUE || stage == DrawStage::Mark);
        let bias = if M::MARKS { DepthBiasState { constant: 2, ..default() } } else { DepthBiasState::default() };
        Some(RenderPipelineDescriptor {
            label: Some(M::SHADER.into()),
            layout: vec![view.layout.clone(), self.layout.clone()],
            vertex: VertexState {
                shader: shader.clone(),
                shader_defs: definitions.clone(),
                entry_point: Some("vertex".into()),
                buffers,
            },
            primitive: PrimitiveState::default(),
            depth_stencil: Some(DepthStencilState {
                format: DEPTH,
                depth_write_enabled: Some(hides),
                // Reversed depth: 1 is the near plane.
                depth_compare: Some(if M::MARKS && !marks {
                    CompareFunction::Equal
                } else {
                    CompareFunction::GreaterEqual
                }),
                stencil: StencilState::default(),
                bias,
            }),
            multisample: MultisampleState { count: drawing.samples, ..default() },
            fragment: Some(FragmentState {
                shader: shader.clone(),
                shader_defs: definitions,
                entry_point: Some(if marks { "mark" } else { "fragment" }.into()),
                targets: vec![Some(ColorTargetState {
                    format: format(drawing.is_light()),
                    blend: (!hides).then_some(BlendState::ALPHA_BLENDING),
                    write_mask: if marks { ColorWrites::empty() } else { ColorWrites::ALL },
                })],
            }),
            ..default()
        })
    }
}

/// Returns the shader definitions of a tone curve and its lookup table.
fn tone(tone: ToneCurve) -> (&'static [&'static str], Tonemapping) {
    match tone {
        ToneCurve::Aces => (&["TONE_ACES"], Tonemapping::AcesFitted),
        ToneCurve::Agx => (&["TONE_AGX", "TONEMAP_METHOD_AGX"], Tonemapping::AgX),
        ToneCurve::Filmic => (&["TONE_FILMIC", "TONEMAP_METHOD_BLENDER_FILMIC"], Tonemapping::BlenderFilmic),
        ToneCurve::Neutral => (&["TONE_NEUTRAL"], Tonemapping::KhronosPbrNeutral),
        ToneCurve::None => (&[], Tonemapping::None),
    }
}

/// A material on the GPU.
struct PreparedSurface<M> {
    group: BindGroup,
    variant: Variant,
    kind: PhantomData<M>,
}

impl<M: SurfaceMaterial> RenderAsset for PreparedSurface<M> {
    type SourceAsset = M;
    type Param = (SRes<RenderDevice>, SRes<PipelineCache>, SRes<SurfacePipelines<M>>, M::Param);

    fn prepare_asset(
        material: M,
        _: AssetId<M>,
        (device, cache, kind, param): &mut SystemParamItem<'_, '_, Self::Param>,
        _: Option<&Self>,
    ) -> Result<Self, PrepareAssetError<M>> {
        match material.as_bind_group(&kind.layout, device, cache, param) {
            Ok(prepared) => {
                Ok(Self { group: prepared.bind_group, variant: material.bind_group_data(), kind: PhantomData })
            }
            Err(AsBindGroupError::RetryNextUpdate) => Err(PrepareAssetError::RetryNextUpdate(material)),
            Err(error) => Err(PrepareAssetError::AsBindGroupError(error)),
        }
    }
}

/// Mesh, chunk set and material of everything drawn.
#[derive(Resource)]
struct DrawnMeshes<M: SurfaceMaterial>(Vec<(AssetId<Mesh>, Option<ChunkSet>, AssetId<M>)>);

impl<M: SurfaceMaterial> Default for DrawnMeshes<M> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

fn extract_meshes<M: SurfaceMaterial>(drawn_meshes: Extract<Query<&DrawnMesh<M>>>, mut list: ResMut<DrawnMeshes<M>>) {
    list.0.clear();
    list.0.extend(drawn_meshes.iter().map(|drawn| (drawn.mesh.id(), drawn.chunk_set.clone(), drawn.material.id())));
}

/// Draws of a frame.
#[derive(Resource, Default)]
struct DrawQueue {
    list: Vec<DrawItem>,
    /// Chunks of all chunk sets.
    chunks: Vec<Chunk>,
    visible_chunks: Vec<(BlockBounds, Vec<Chunk>)>,
    /// `true` if a mesh, a texture or a shader is not ready.
    waits: bool,
}

impl DrawQueue {
    /// Collects the chunks of a chunk set.
    fn collect_chunks(&mut self, chunk_set: &ChunkSet, lod_view: &LodView) -> ChunkRanges {
        // Shared by ground, water and rivers, so that all use the same triangles.
        let known =
            self.visible_chunks.iter().position(|(bounds, _)| *bounds == chunk_set.bounds).unwrap_or_else(|| {
                self.visible_chunks.push((chunk_set.bounds, chunk_set.bounds.visible_chunks(lod_view)));
                self.visible_chunks.len() - 1
            });
        let seen = &self.visible_chunks[known].1;
        let mut place = |chunks: &mut dyn Iterator<Item = Chunk>| {
            let begin = self.chunks.len() as u32;
            self.chunks.extend(chunks);
            begin..self.chunks.len() as u32
        };
        let surfaces = chunk_set.surfaces(seen).into_iter();
        let surfaces = surfaces.map(|(patch, chunks)| (patch, place(&mut chunks.into_iter()))).collect();
        ChunkRanges { surfaces, walls: place(&mut chunk_set.walls(seen)) }
    }
}

/// Chunks of a draw, as ranges of [`DrawQueue::chunks`].
struct ChunkRanges {
    /// By patch of the chunk mesh.
    surfaces: Vec<(Range<u32>, Range<u32>)>,
    walls: Range<u32>,
}

impl ChunkRanges {
    /// Returns the ranges of mesh indices and instances that a stage draws.
    fn drawn(&self, stage: DrawStage, indices: &Range<u32>) -> Vec<(Range<u32>, Range<u32>)> {
        let surface = |(patch, chunks): &(Range<u32>, Range<u32>)| (lod::surface(indices, patch), chunks.clone());
        match stage {
            DrawStage::Walls => vec![(lod::walls(indices), self.walls.clone())],
            DrawStage::Mark | DrawStage::Surface => self.surfaces.iter().map(surface).collect(),
        }
    }
}

struct DrawItem {
    order: u8,
    is_behind: bool,
    stages: Vec<(DrawStage, CachedRenderPipelineId)>,
    material: BindGroup,
    mesh: AssetId<Mesh>,
    /// `None` for meshes other than terrain.
    chunks: Option<ChunkRanges>,
}

#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
fn queue<M: SurfaceMaterial>(
    pass_view: Res<PassView>,
    drawn_meshes: Res<DrawnMeshes<M>>,
    (materials, meshes): (Res<RenderAssets<PreparedSurface<M>>>, Res<RenderAssets<RenderMesh>>),
    cache: Res<PipelineCache>,
    shader: Res<ShaderOf<M>>,
    view: Res<ViewGroup>,
    mut kind: ResMut<SurfacePipelines<M>>,
    mut draws: ResMut<DrawQueue>,
) {
    for (mesh, chunk_set, material) in &drawn_meshes.0 {
        let (Some(prepared), Some(shape)) = (materials.get(*material), meshes.get(*mesh)) else {
            draws.waits = true;
            continue;
        };
        let mut pipeline = |stage: DrawStage| {
            let DrawSettings { samples, tone, fine, .. } = pass_view.drawing;
            let output = [M::LAND && fine, pass_view.drawing.is_light()];
            let key = (prepared.variant.clone(), samples, tone, output, stage);
            if let Some(&pipeline) = kind.pipelines.get(&key) {
                return Some((stage, pipeline));
            }
            let wanted = (&prepared.variant, &pass_view.drawing, stage);
            let pipeline = cache.queue_render_pipeline(kind.pipeline(wanted, &shape.layout, &view, &shader.shader)?);
            kind.pipelines.insert(key, pipeline);
            Some((stage, pipeline))
        };
        let Some(stages) = DrawStage::of::<M>().map(&mut pipeline).collect() else { continue };
        let chunks = chunk_set.as_ref().map(|chunk_set| draws.collect_chunks(chunk_set, &pass_view.lod_view));
        let material = prepared.group.clone();
        draws.list.push(DrawItem { order: M::ORDER, is_behind: M::IS_BEHIND, stages, material, mesh: *mesh, chunks });
    }
}

/// GPU resources.
#[derive(SystemParam)]
struct GpuResources<'w> {
    cache: Res<'w, PipelineCache>,
    images: Res<'w, RenderAssets<GpuImage>>,
    allocator: Res<'w, MeshAllocator>,
    tables: Res<'w, TonemappingLuts>,
    fallback: Res<'w, FallbackImage>,
    device: Res<'w, RenderDevice>,
    queue: Res<'w, RenderQueue>,
    textures: ResMut<'w, TextureCache>,
}

fn draw(
    mut context: RenderContext,
    pass_view: Res<PassView>,
    status: Res<RenderStatus>,
    mut draws: ResMut<DrawQueue>,
    mut view: ResMut<ViewGroup>,
    mut gpu: GpuResources,
) {
    draws.list.sort_by_key(|draw| draw.order);
    // Bevy reports shaders rejected by the driver; the rest is drawn without them.
    let ready = |pipeline: &CachedRenderPipelineId| match gpu.cache.get_render_pipeline_state(*pipeline) {
        CachedPipelineState::Ok(_) => true,
        CachedPipelineState::Err(error) => {
            !matches!(error, ShaderCacheError::ShaderNotLoaded(_) | ShaderCacheError::ShaderImportNotYetAvailable)
        }
        CachedPipelineState::Queued | CachedPipelineState::Creating(_) => false,
    };
    // Missing resources would leave gaps: keep the last image.
    let waits = draws.waits || !draws.list.iter().flat_map(|draw| &draw.stages).all(|(_, pipeline)| ready(pipeline));
    status.set_waiting(waits);
    let tile = pass_view.drawing.tile;
    let Some(target) = gpu.images.get(tile.map_or(pass_view.target, |tile| tile.onto)) else { return };
    let [wanted, room] = [pass_view.drawing.size, target.size_2d()];
    if waits || !pass_view.drawing.due || wanted.min_element() == 0 || wanted.cmpgt(room).any() {
        return;
    }
    view.uniforms.set(pass_view.uniforms);
    view.uniforms.write_buffer(&gpu.device, &gpu.queue);
    *view.chunks.values_mut() = std::mem::take(&mut draws.chunks);
    view.chunks.write_buffer(&gpu.device, &gpu.queue);
    let Some(uniforms) = view.uniforms.binding() else { return };
    let (_, curve) = tone(pass_view.drawing.tone);
    let (table, sampler) = get_lut_bindings(&gpu.images, &gpu.tables, &curve, &gpu.fallback);
    let layout = gpu.cache.get_bind_group_layout(&view.layout);
    let group =
        gpu.device.create_bind_group("view", &layout, &BindGroupEntries::sequential((uniforms, table, sampler)));
    let samples = pass_view.drawing.samples;
    let mut texture = |format: TextureFormat, sample_count: u32| {
        let descriptor = TextureDescriptor {
            label: Some("view"),
            size: target.texture_descriptor.size,
            mip_level_count: 1,
            sample_count,
            dimension: TextureDimension::D2,
            format,
            usage: TextureUsages::RENDER_ATTACHMENT,
            view_formats: &[],
        };
        gpu.textures.get(&gpu.device, descriptor).default_view
    };
    let depth = texture(DEPTH, samples);
    let many = (samples > 1).then(|| texture(format(pass_view.drawing.is_light()), samples));
    let diagnostics = context.diagnostic_recorder();
    let diagnostics = diagnostics.as_deref();
    let alone = tile.is_some_and(|tile| tile.transparent);
    let color = RenderPassColorAttachment {
        view: many.as_deref().unwrap_or(&target.texture_view),
        depth_slice: None,
        resolve_target: many.is_some().then_some(&*target.texture_view),
        ops: Operations {
            load: LoadOp::Clear(if alone { wgpu::Color::TRANSPARENT } else { wgpu::Color::BLACK }),
            store: if many.is_some() { StoreOp::Discard } else { StoreOp::Store },
        },
    };
    let mut pass = context.begin_tracked_render_pass(RenderPassDescriptor {
        label: Some("view"),
        color_attachments: &[Some(color)],
        depth_stencil_attachment: Some(RenderPassDepthStencilAttachment {
            view: &depth,
            depth_ops: Some(Operations { load: LoadOp::Clear(0.0), store: StoreOp::Discard }),
            stencil_ops: None,
        }),
        timestamp_writes: None,
        occlusion_query_set: None,
        multiview_mask: None,
    });
    let span = diagnostics.pass_span(&mut pass, "view");
    let [width, height, ..] = pass_view.uniforms.size.to_array();
    pass.set_viewport(0.0, 0.0, width, height, 0.0, 1.0);
    pass.set_bind_group(0, &group, &[]);
    for draw in draws.list.iter().filter(|draw| !(alone && draw.is_behind)) {
        let Some(vertices) = gpu.allocator.mesh_vertex_slice(&draw.mesh) else { continue };
        let Some(indices) = gpu.allocator.mesh_index_slice(&draw.mesh) else { continue };
        pass.set_bind_group(1, &draw.material, &[]);
        pass.set_vertex_buffer(0, vertices.buffer.slice(..));
        pass.set_index_buffer(indices.buffer.slice(..), IndexFormat::Uint32);
        if let (Some(_), Some(chunks)) = (&draw.chunks, view.chunks.buffer()) {
            pass.set_vertex_buffer(1, chunks.slice(..));
        }
        let first = vertices.range.start as i32;
        for &(stage, pipeline) in &draw.stages {
            let Some(pipeline) = gpu.cache.get_render_pipeline(pipeline) else { continue };
            pass.set_render_pipeline(pipeline);
            let all = indices.range.clone();
            let drawn =
                draw.chunks.as_ref().map_or_else(|| vec![(all, 0..1)], |chunks| chunks.drawn(stage, &indices.range));
            for (indices, instances) in drawn.into_iter().filter(|(_, instances)| !instances.is_empty()) {
                pass.draw_indexed(indices, first, instances);
            }
        }
    }
    span.end(&mut pass);
    if let Some(tile) = tile {
        status.record_drawn_tile(tile.number);
    }
}
