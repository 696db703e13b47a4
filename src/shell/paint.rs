//! Renders the panels of each window to a persistent texture, of which only changed regions are repainted, and composites it with
//! the view. On this texture colours are blended in gamma space, as egui expects.

use std::sync::Arc;

use bevy::{
    ecs::{entity::EntityHashMap, schedule::ScheduleLabel},
    image::ToExtents,
    prelude::*,
    render::{
        ExtractSchedule, MainWorld, RenderApp,
        diagnostic::RecordDiagnostics,
        render_asset::RenderAssets,
        render_resource::{
            Buffer, BufferDescriptor, BufferUsages, FilterMode, Sampler, SamplerDescriptor, StoreOp, TextureDescriptor,
            TextureDimension, TextureFormat, TextureUsages, TextureView, TextureViewDescriptor,
        },
        renderer::{RenderContext, RenderDevice, RenderQueue, ViewQuery},
        sync_world::MainEntity,
        texture::{FallbackImage, GpuImage},
        view::ViewTarget,
    },
};
use bevy_egui::egui::{ClippedPrimitive, TextureId, TexturesDelta, epaint::Primitive};
use egui_wgpu::{Renderer, RendererOptions, ScreenDescriptor};

use super::repaint::{self, PanelOutput};
use crate::world::ViewportArea;

const SHADER: &str = include_str!("../../shaders/window.wgsl");
/// Formats of the panel texture: gamma-encoded bytes, and the same texels read as linear light.
const BYTES: TextureFormat = TextureFormat::Rgba8Unorm;
const LIGHT: TextureFormat = TextureFormat::Rgba8UnormSrgb;

/// Render graph schedule of the panel camera.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PanelRenderGraph;

pub(crate) fn plugin(app: &mut App) {
    if let Some(render) = app.get_sub_app_mut(RenderApp) {
        render
            .init_resource::<WindowSurfaces>()
            .add_systems(ExtractSchedule, take_panels)
            .add_systems(PanelRenderGraph, (paint, composite).chain());
    }
}

/// Windows by the camera of their panels.
#[derive(Resource, Default)]
struct WindowSurfaces(EntityHashMap<WindowSurface>);

/// Render state of a window, and pending updates.
#[derive(Default)]
struct WindowSurface {
    pipelines: Option<Pipelines>,
    sheet: Option<PanelTexture>,
    /// Image of the view, the drawn part of it, and its rectangle in the window, in pixels.
    view_image: Handle<Image>,
    rendered_fraction: Vec2,
    view: URect,
    /// Rectangles of the view covered by panels, in pixels.
    over: Vec<URect>,
    jobs: Arc<Vec<ClippedPrimitive>>,
    /// Textures last used by the previous frame, to be freed once it has been drawn.
    unused: Vec<TextureId>,
    textures: TexturesDelta,
    changed: Vec<URect>,
    scale: f32,
}

/// Persistent texture of the panels.
struct PanelTexture {
    size: UVec2,
    bytes: TextureView,
    light: TextureView,
}

/// Panel renderer and pipelines of a window.
struct Pipelines {
    panels: Renderer,
    layout: wgpu::BindGroupLayout,
    clear: wgpu::RenderPipeline,
    beside: wgpu::RenderPipeline,
    same_size: wgpu::RenderPipeline,
    scaled: wgpu::RenderPipeline,
    over: wgpu::RenderPipeline,
    /// The window's format.
    format: TextureFormat,
    uniforms: Buffer,
    sampler: Sampler,
}

fn take_panels(mut main: ResMut<MainWorld>, mut screens: ResMut<WindowSurfaces>) {
    let view = main.resource::<ViewportArea>();
    let (view_image, rendered_fraction) = (view.image.clone(), view.rendered_fraction);
    let mut windows = main.query::<(Entity, &mut PanelOutput)>();
    let mut before = std::mem::take(&mut screens.0);
    for (camera, mut panels) in windows.iter_mut(&mut main) {
        let screen = screens.0.entry(camera).or_insert_with(|| before.remove(&camera).unwrap_or_default());
        if screen.view_image != view_image {
            screen.view_image = view_image.clone();
        }
        (screen.rendered_fraction, screen.view) = (rendered_fraction, panels.view);
        screen.jobs = panels.jobs.clone();
        screen.over.clone_from(&panels.over);
        screen.scale = panels.scale;
        screen.textures.append(std::mem::take(&mut panels.textures));
        if !screen.changed.is_empty() && !panels.changed.is_empty() {
            // The previous update was not painted. Repaint everything, as translucent shapes must not be painted twice.
            screen.sheet = None;
        }
        screen.changed.append(&mut panels.changed);
    }
}

/// Repaints the changed regions of the panels.
fn paint(
    view: ViewQuery<(&ViewTarget, &MainEntity)>,
    mut screens: ResMut<WindowSurfaces>,
    (device, queue): (Res<RenderDevice>, Res<RenderQueue>),
    mut context: RenderContext,
) {
    let (target, camera) = view.into_inner();
    let Some(format) = target.out_texture_view_format() else { return };
    let Some(screen) = screens.0.get_mut(&camera.id()) else { return };
    let WindowSurface { pipelines, sheet, jobs, unused, textures, changed, scale, .. } = screen;
    if pipelines.as_ref().is_none_or(|pipelines| pipelines.format != format) {
        *pipelines = Some(Pipelines::new(&device, format, pipelines.take()));
    }
    let Some(Pipelines { panels, clear, .. }) = pipelines else { return };
    unused.drain(..).for_each(|id| panels.free_texture(&id));
    for (id, delta) in textures.set.drain(..) {
        panels.update_texture(device.wgpu_device(), &queue, id, &delta);
    }
    let size = target.main_texture().size();
    let size = UVec2::new(size.width, size.height);
    if sheet.as_ref().is_none_or(|sheet| sheet.size != size) {
        *sheet = None;
        *changed = vec![URect::from_corners(UVec2::ZERO, size)];
    }
    let sheet = sheet.get_or_insert_with(|| PanelTexture::new(size, &device));
    let changed: Vec<URect> = changed.drain(..).filter(|rect| rect.max.cmple(size).all()).collect();
    if !changed.is_empty() {
        let inside = changed.iter().flat_map(|rect| repaint::clip_jobs(jobs, *rect, *scale));
        let known = |job: &ClippedPrimitive| match &job.primitive {
            Primitive::Mesh(mesh) => panels.texture(&mesh.texture_id).is_some(),
            Primitive::Callback(_) => false,
        };
        let jobs: Vec<ClippedPrimitive> = inside.filter(known).collect();
        let screen = ScreenDescriptor { size_in_pixels: size.to_array(), pixels_per_point: *scale };
        let encoder = context.command_encoder();
        panels.update_buffers(device.wgpu_device(), &queue, encoder, &jobs, &screen);
        let mut pass = encoder
            .begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("panels"),
                color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                    view: &sheet.bytes,
                    depth_slice: None,
                    resolve_target: None,
                    ops: wgpu::Operations { load: wgpu::LoadOp::Load, store: StoreOp::Store },
                })],
                ..default()
            })
            .forget_lifetime();
        // Clear the changed regions.
        pass.set_pipeline(clear);
        for rect in &changed {
            pass.set_scissor_rect(rect.min.x, rect.min.y, rect.width(), rect.height());
            pass.draw(0..3, 0..1);
        }
        panels.render(&mut pass, &jobs, &screen);
    }
    unused.append(&mut textures.free);
}

/// Composites view and panels to the window.
fn composite(
    view: ViewQuery<(&ViewTarget, &MainEntity)>,
    screens: Res<WindowSurfaces>,
    images: Res<RenderAssets<GpuImage>>,
    fallback: Res<FallbackImage>,
    (device, queue): (Res<RenderDevice>, Res<RenderQueue>),
    mut context: RenderContext,
) {
    let (target, camera) = view.into_inner();
    let Some(WindowSurface {
        pipelines: Some(pipelines),
        sheet: Some(sheet),
        view_image,
        rendered_fraction,
        view,
        over,
        ..
    }) = screens.0.get(&camera.id())
    else {
        return;
    };
    let Some(target) = target.out_texture_color_attachment(Some(LinearRgba::BLACK)) else { return };
    // A resized window may be a frame ahead of its panels.
    let room = target.view.texture().size();
    let whole = URect::from_corners(UVec2::ZERO, sheet.size.min(UVec2::new(room.width, room.height)));
    let rect = view.intersect(whole);
    let view_image = images.get(view_image);
    let (min, size) = (view.min.as_vec2(), view.size().as_vec2());
    let uniforms = [min.x, min.y, size.x, size.y, rendered_fraction.x, rendered_fraction.y, 0.0, 0.0];
    queue.write_buffer(&pipelines.uniforms, 0, bytemuck::cast_slice(&uniforms));
    let entries = [
        pipelines.uniforms.as_entire_binding(),
        wgpu::BindingResource::TextureView(&sheet.light),
        wgpu::BindingResource::TextureView(&sheet.bytes),
        wgpu::BindingResource::TextureView(&view_image.unwrap_or(&fallback.d2).texture_view),
        wgpu::BindingResource::Sampler(&pipelines.sampler),
    ];
    let entries: Vec<_> =
        (0..).zip(entries).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
    let group = device.wgpu_device().create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("window"),
        layout: &pipelines.layout,
        entries: &entries,
    });
    let diagnostics = context.diagnostic_recorder();
    let diagnostics = diagnostics.as_deref();
    let span = diagnostics.time_span(context.command_encoder(), "window");
    {
        let mut pass = context.command_encoder().begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("window"),
            color_attachments: &[Some(target)],
            ..default()
        });
        pass.set_bind_group(0, &group, &[]);
        let mut draw = |pipeline: &wgpu::RenderPipeline, rects: &[URect]| {
            pass.set_pipeline(pipeline);
            for rect in rects.iter().map(|rect| rect.intersect(whole)).filter(|rect| !rect.is_empty()) {
                pass.set_scissor_rect(rect.min.x, rect.min.y, rect.width(), rect.height());
                pass.draw(0..3, 0..1);
            }
        };
        if let Some(view_image) = view_image {
            let same_size = view_image.size_2d() == view.size() && *rendered_fraction == Vec2::ONE;
            draw(if same_size { &pipelines.same_size } else { &pipelines.scaled }, &[rect]);
        }
        draw(&pipelines.beside, &around(rect, whole));
        draw(&pipelines.over, over);
    }
    span.end(context.command_encoder());
}

/// Returns a rectangle without a part of it: above, below, left and right of the part.
fn around(part: URect, whole: URect) -> [URect; 4] {
    [
        URect { max: UVec2::new(whole.max.x, part.min.y), ..whole },
        URect { min: UVec2::new(whole.min.x, part.max.y), ..whole },
        URect { min: UVec2::new(whole.min.x, part.min.y), max: UVec2::new(part.min.x, part.max.y) },
        URect { min: UVec2::new(part.max.x, part.min.y), max: UVec2::new(whole.max.x, part.max.y) },
    ]
}

impl Pipelines {
    /// Creates the pipelines for a window format. The panel renderer of `before` is reused, as it holds the textures.
    fn new(device: &RenderDevice, format: TextureFormat, before: Option<Self>) -> Self {
        let module = device.wgpu_device().create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("window"),
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
        let texture = wgpu::BindingType::Texture {
            sample_type: wgpu::TextureSampleType::Float { filterable: true },
            view_dimension: wgpu::TextureViewDimension::D2,
            multisampled: false,
        };
        let uniforms = wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Uniform,
            has_dynamic_offset: false,
            min_binding_size: None,
        };
        let sampler = wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering);
        let entries = [uniforms, texture, texture, texture, sampler];
        let entries: Vec<_> = (0..)
            .zip(entries)
            .map(|(binding, ty)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::FRAGMENT,
                ty,
                count: None,
            })
            .collect();
        let layout = device
            .wgpu_device()
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("window"), entries: &entries });
        let groups = device.wgpu_device().create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("window"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = |fragment: &str,
                        format: TextureFormat,
                        blend: Option<wgpu::BlendState>,
                        groups: Option<&wgpu::PipelineLayout>| {
            device.wgpu_device().create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some(fragment),
                layout: groups,
                vertex: wgpu::VertexState {
                    module: &module,
                    entry_point: Some("vertex"),
                    compilation_options: default(),
                    buffers: &[],
                },
                primitive: default(),
                depth_stencil: None,
                multisample: default(),
                fragment: Some(wgpu::FragmentState {
                    module: &module,
                    entry_point: Some(fragment),
                    compilation_options: default(),
                    targets: &[Some(wgpu::ColorTargetState { format, blend, write_mask: wgpu::ColorWrites::ALL })],
                }),
                multiview_mask: None,
                cache: None,
            })
        };
        let groups = Some(&groups);
        let options = RendererOptions { dithering: false, ..RendererOptions::default() };
        let uniforms = BufferDescriptor {
            label: Some("window"),
            size: 32,
            usage: BufferUsages::UNIFORM | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        };
        let smooth = SamplerDescriptor { mag_filter: FilterMode::Linear, min_filter: FilterMode::Linear, ..default() };
        Self {
            panels: before.map_or_else(|| Renderer::new(device.wgpu_device(), BYTES, options), |before| before.panels),
            clear: pipeline("clear", BYTES, None, None),
            beside: pipeline("panels", format, None, groups),
            same_size: pipeline("view_same_size", format, None, groups),
            scaled: pipeline("view_scaled", format, None, groups),
            over: pipeline("over", format, Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING), groups),
            layout,
            format,
            uniforms: device.create_buffer(&uniforms),
            sampler: device.create_sampler(&smooth),
        }
    }
}

impl PanelTexture {
    fn new(size: UVec2, device: &RenderDevice) -> Self {
        let texture = device.create_texture(&TextureDescriptor {
            label: Some("panels"),
            size: size.to_extents(),
            mip_level_count: 1,
            sample_count: 1,
            dimension: TextureDimension::D2,
            format: BYTES,
            usage: TextureUsages::RENDER_ATTACHMENT | TextureUsages::TEXTURE_BINDING,
            view_formats: &[LIGHT],
        });
        let view = |format| texture.create_view(&TextureViewDescriptor { format: Some(format), ..default() });
        Self { size, bytes: view(BYTES), light: view(LIGHT) }
    }
}
