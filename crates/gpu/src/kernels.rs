//! The kernels and the buffers that they use.

use std::sync::OnceLock;

use crate::map::{HAS_THERMAL, HAS_WATER};

/// Buffers of a run, in the order of [`Buffer`].
pub(crate) const BUFFERS: usize = 19;

/// A buffer of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Buffer {
    Bedrock,
    Sand,
    Water,
    Suspended,
    Softness,
    Start,
    Rain,
    Surface,
    FluxX,
    FluxY,
    SpeedX,
    SpeedY,
    NextX,
    NextY,
    Fluid,
    Square,
    Sources,
    Rates,
    Dispatches,
}

use Buffer::{
    Bedrock, Dispatches, Fluid, FluxX, FluxY, NextX, NextY, Rain, Rates, Sand, Softness, Sources, SpeedX, SpeedY,
    Square, Start, Surface, Suspended, Water,
};

/// Shader of a kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shader {
    Water,
    Thermal,
}

/// Number of workgroups of a kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dispatch {
    One,
    /// Three numbers at this index of the buffer of dispatches.
    Planned(u64),
}

/// Buffer of a kernel: its binding, and whether it is only read.
type Binding = (u32, Buffer, bool);

/// A kernel: its function, its number of workgroups and its buffers.
pub(crate) struct KernelInfo {
    pub(crate) name: &'static str,
    shader: Shader,
    pub(crate) dispatch: Dispatch,
    /// Flags of [`Map`](crate::map::Map), one of which it needs; 0 if it always runs.
    pub(crate) needs: u32,
    buffers: &'static [Binding],
}

const SOURCES: Dispatch = Dispatch::Planned(0);
const WATER: Dispatch = Dispatch::Planned(3);
const THERMAL: Dispatch = Dispatch::Planned(6);

/// Kernels of a step, in their order.
static KERNELS: [KernelInfo; 12] = [
    KernelInfo {
        name: "plan",
        shader: Shader::Water,
        dispatch: Dispatch::One,
        needs: 0,
        buffers: &[(18, Dispatches, false)],
    },
    KernelInfo {
        name: "run_sources",
        shader: Shader::Water,
        dispatch: SOURCES,
        needs: HAS_WATER,
        buffers: &[(2, Water, false), (16, Sources, true), (17, Rates, true)],
    },
    KernelInfo {
        name: "fall",
        shader: Shader::Water,
        dispatch: WATER,
        needs: HAS_WATER,
        buffers: &[(2, Water, false), (6, Rain, true)],
    },
    KernelInfo {
        name: "find_surface",
        shader: Shader::Water,
        dispatch: WATER,
        needs: HAS_WATER,
        buffers: &[
            (0, Bedrock, false),
            (1, Sand, false),
            (2, Water, false),
            (3, Suspended, false),
            (5, Start, true),
            (7, Surface, false),
        ],
    },
    KernelInfo {
        name: "find_speeds",
        shader: Shader::Water,
        dispatch: WATER,
        needs: HAS_WATER,
        buffers: &[(7, Surface, false), (8, FluxX, false), (9, FluxY, false), (10, SpeedX, false), (11, SpeedY, false)],
    },
    KernelInfo {
        name: "find_fluxes",
        shader: Shader::Water,
        dispatch: WATER,
        needs: HAS_WATER,
        buffers: &[
            (7, Surface, false),
            (8, FluxX, false),
            (9, FluxY, false),
            (10, SpeedX, false),
            (11, SpeedY, false),
            (12, NextX, false),
            (13, NextY, false),
        ],
    },
    KernelInfo {
        name: "find_limits",
        shader: Shader::Water,
        dispatch: WATER,
        needs: HAS_WATER,
        buffers: &[
            (2, Water, false),
            (3, Suspended, false),
            (12, NextX, false),
            (13, NextY, false),
            (14, Fluid, false),
        ],
    },
    KernelInfo {
        name: "limit_fluxes",
        shader: Shader::Water,
        dispatch: WATER,
        needs: HAS_WATER,
        buffers: &[(8, FluxX, false), (9, FluxY, false), (12, NextX, false), (13, NextY, false), (14, Fluid, false)],
    },
    KernelInfo {
        name: "move_fluid",
        shader: Shader::Water,
        dispatch: WATER,
        needs: HAS_WATER,
        buffers: &[
            (2, Water, false),
            (3, Suspended, false),
            (8, FluxX, false),
            (9, FluxY, false),
            (14, Fluid, false),
            (15, Square, false),
        ],
    },
    KernelInfo {
        name: "exchange",
        shader: Shader::Water,
        dispatch: WATER,
        needs: HAS_WATER,
        buffers: &[
            (0, Bedrock, false),
            (1, Sand, false),
            (2, Water, false),
            (3, Suspended, false),
            (4, Softness, true),
            (7, Surface, false),
            (15, Square, false),
        ],
    },
    KernelInfo {
        name: "find_loose",
        shader: Shader::Thermal,
        dispatch: THERMAL,
        needs: HAS_THERMAL,
        buffers: &[(0, Bedrock, false), (1, Sand, false), (4, Start, true), (5, Surface, false)],
    },
    KernelInfo {
        name: "slide",
        shader: Shader::Thermal,
        dispatch: THERMAL,
        needs: HAS_THERMAL,
        buffers: &[(0, Bedrock, false), (1, Sand, false), (2, Water, true), (3, Softness, true), (5, Surface, false)],
    },
];

const COMMON: &str = include_str!("../../../shaders/sim/common.wgsl");
const WATER_SHADER: &str = include_str!("../../../shaders/sim/water.wgsl");
const PACK_SHADER: &str = include_str!("../../../shaders/sim/pack.wgsl");
const THERMAL_SHADER: &str = include_str!("../../../shaders/sim/thermal.wgsl");

impl Shader {
    /// Returns the source with what all kernels share.
    pub(crate) fn source(self) -> String {
        [COMMON, if self == Self::Water { WATER_SHADER } else { THERMAL_SHADER }].concat()
    }
}

/// Compiled kernels of a device, each compiled at its first use.
pub(crate) struct Pipelines {
    /// Layout of the map and the state.
    shared: wgpu::BindGroupLayout,
    pipelines: [OnceLock<Pipeline>; KERNELS.len()],
    pack: OnceLock<Pipeline>,
}

/// A compiled kernel, and the layout of its own buffers.
pub(crate) struct Pipeline {
    pub(crate) pipeline: wgpu::ComputePipeline,
    pub(crate) layout: wgpu::BindGroupLayout,
}

/// A kernel with its buffers, ready to run.
pub(crate) struct Kernel {
    pub(crate) info: &'static KernelInfo,
    pipeline: wgpu::ComputePipeline,
    shared: wgpu::BindGroup,
    own: wgpu::BindGroup,
}

fn entry(binding: u32, ty: wgpu::BufferBindingType) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    }
}

fn bind(binding: u32, buffer: &wgpu::Buffer) -> wgpu::BindGroupEntry<'_> {
    wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() }
}

fn storage(read_only: bool) -> wgpu::BufferBindingType {
    wgpu::BufferBindingType::Storage { read_only }
}

impl Pipelines {
    pub(crate) fn new(device: &wgpu::Device) -> Self {
        let shared = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("map and state"),
            entries: &[entry(0, wgpu::BufferBindingType::Uniform), entry(1, storage(false))],
        });
        Self { shared, pipelines: std::array::from_fn(|_| OnceLock::new()), pack: OnceLock::new() }
    }

    /// Binds a map and a state.
    pub(crate) fn shared(&self, device: &wgpu::Device, [map, state]: [&wgpu::Buffer; 2]) -> wgpu::BindGroup {
        device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("map and state"),
            layout: &self.shared,
            entries: &[bind(0, map), bind(1, state)],
        })
    }

    /// Returns the kernel that writes textures.
    pub(crate) fn pack(&self, device: &wgpu::Device) -> &Pipeline {
        self.pack.get_or_init(|| {
            let texture = wgpu::BindGroupLayoutEntry {
                binding: 4,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::StorageTexture {
                    access: wgpu::StorageTextureAccess::WriteOnly,
                    format: wgpu::TextureFormat::Rgba32Float,
                    view_dimension: wgpu::TextureViewDimension::D2,
                },
                count: None,
            };
            let layers = (0..4).map(|binding| entry(binding, storage(true)));
            let entries: Vec<_> = layers.chain([texture]).collect();
            self.compile(device, "pack", &[COMMON, PACK_SHADER].concat(), &entries)
        })
    }

    /// Compiles a kernel.
    fn compile(
        &self,
        device: &wgpu::Device,
        name: &str,
        source: &str,
        entries: &[wgpu::BindGroupLayoutEntry],
    ) -> Pipeline {
        let label = Some(name);
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[Some(&self.shared), Some(&layout)],
            immediate_size: 0,
        });
        let source = wgpu::ShaderSource::Wgsl(source.into());
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label, source });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(name),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        Pipeline { pipeline, layout }
    }

    /// Returns the kernels that pass a filter, in the order of a step, with their buffers.
    pub(crate) fn kernels(
        &self,
        device: &wgpu::Device,
        shared: &wgpu::BindGroup,
        buffers: &[wgpu::Buffer],
        needed: impl Fn(&KernelInfo) -> bool,
    ) -> Vec<Kernel> {
        let compile = |info: &KernelInfo| {
            let entries: Vec<_> =
                info.buffers.iter().map(|&(binding, _, read_only)| entry(binding, storage(read_only))).collect();
            self.compile(device, info.name, &info.shader.source(), &entries)
        };
        let kernel = |(info, compiled): (&'static KernelInfo, &OnceLock<Pipeline>)| {
            let Pipeline { pipeline, layout } = compiled.get_or_init(|| compile(info));
            let entries: Vec<_> =
                info.buffers.iter().map(|&(binding, buffer, _)| bind(binding, &buffers[buffer as usize])).collect();
            let own = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(info.name),
                layout,
                entries: &entries,
            });
            Kernel { info, pipeline: pipeline.clone(), shared: shared.clone(), own }
        };
        KERNELS.iter().zip(&self.pipelines).filter(|(info, _)| needed(info)).map(kernel).collect()
    }
}

impl Kernel {
    /// Adds the kernel to a pass.
    pub(crate) fn dispatch(&self, pass: &mut wgpu::ComputePass<'_>, dispatches: &wgpu::Buffer) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.shared, &[]);
        pass.set_bind_group(1, &self.own, &[]);
        match self.info.dispatch {
            Dispatch::One => pass.dispatch_workgroups(1, 1, 1),
            Dispatch::Planned(first) => pass.dispatch_workgroups_indirect(dispatches, first * 4),
        }
    }
}
