//! The kernels and the buffers that they use.

use crate::{
    Device,
    map::{HAS_THERMAL, HAS_WATER, Map, PUBLISHED_THERMAL, PUBLISHED_WATER},
};

/// Buffers of a run, in the order of [`Buffer`].
pub(crate) const BUFFERS: usize = 25;

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
    FluxLeft,
    FluxRight,
    FluxAbove,
    FluxBelow,
    Moved,
    Giving,
}

use Buffer::{
    Bedrock, Dispatches, Fluid, FluxAbove, FluxBelow, FluxLeft, FluxRight, FluxX, FluxY, Giving, Moved, NextX, NextY,
    Rain, Rates, Sand, Softness, Sources, SpeedX, SpeedY, Square, Start, Surface, Suspended, Water,
};

/// Buffers of the state that a process keeps between ticks, by the name of its value.
const STATE_BUFFERS: [(&str, Buffer); 6] = [
    ("flow x", FluxX),
    ("flow y", FluxY),
    ("flux left", FluxLeft),
    ("flux right", FluxRight),
    ("flux above", FluxAbove),
    ("flux below", FluxBelow),
];

impl Buffer {
    /// Returns the buffer of a value that a process keeps between ticks.
    pub(crate) fn of_state(name: &str) -> Option<Self> {
        STATE_BUFFERS.into_iter().find(|(known, _)| *known == name).map(|(_, buffer)| buffer)
    }
}

/// Shader of a kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shader {
    Water,
    Pipes,
    Thermal,
}

/// Condition under which a run needs a kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    Always,
    Sources,
    Rain,
    Water,
    CorrectedWater,
    PublishedWater,
    CorrectedThermal,
    PublishedThermal,
}

impl Need {
    /// Returns `true` if a run with these parameters and perhaps active sources meets the condition.
    pub(crate) fn is_met(self, map: &Map, has_sources: bool) -> bool {
        let (has_water, is_published) = (map.flags & HAS_WATER != 0, map.flags & PUBLISHED_WATER != 0);
        match self {
            Self::Always => true,
            Self::Sources => has_sources,
            Self::Rain => map.rain > 0.0,
            Self::Water => has_water,
            Self::CorrectedWater => has_water && !is_published,
            Self::PublishedWater => is_published,
            Self::CorrectedThermal => map.flags & (HAS_THERMAL | PUBLISHED_THERMAL) == HAS_THERMAL,
            Self::PublishedThermal => map.flags & PUBLISHED_THERMAL != 0,
        }
    }
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

/// A kernel: its function, the condition under which it runs, its number of workgroups and its buffers.
pub(crate) struct KernelInfo {
    name: &'static str,
    shader: Shader,
    pub(crate) need: Need,
    dispatch: Dispatch,
    buffers: &'static [Binding],
}

const SOURCES: Dispatch = Dispatch::Planned(0);
const WATER: Dispatch = Dispatch::Planned(3);
const THERMAL: Dispatch = Dispatch::Planned(6);

/// Kernels of a step, in their order.
const KERNELS: [KernelInfo; 19] = [
    KernelInfo {
        name: "plan",
        shader: Shader::Water,
        need: Need::Always,
        dispatch: Dispatch::One,
        buffers: &[(18, Dispatches, false)],
    },
    KernelInfo {
        name: "run_sources",
        shader: Shader::Water,
        need: Need::Sources,
        dispatch: SOURCES,
        buffers: &[(2, Water, false), (16, Sources, true), (17, Rates, true)],
    },
    KernelInfo {
        name: "fall",
        shader: Shader::Water,
        need: Need::Rain,
        dispatch: WATER,
        buffers: &[(2, Water, false), (6, Rain, true)],
    },
    KernelInfo {
        name: "find_surface",
        shader: Shader::Water,
        need: Need::Water,
        dispatch: WATER,
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
        need: Need::CorrectedWater,
        dispatch: WATER,
        buffers: &[(7, Surface, false), (8, FluxX, false), (9, FluxY, false), (10, SpeedX, false), (11, SpeedY, false)],
    },
    KernelInfo {
        name: "find_fluxes",
        shader: Shader::Water,
        need: Need::CorrectedWater,
        dispatch: WATER,
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
        need: Need::CorrectedWater,
        dispatch: WATER,
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
        need: Need::CorrectedWater,
        dispatch: WATER,
        buffers: &[(8, FluxX, false), (9, FluxY, false), (12, NextX, false), (13, NextY, false), (14, Fluid, false)],
    },
    KernelInfo {
        name: "move_fluid",
        shader: Shader::Water,
        need: Need::CorrectedWater,
        dispatch: WATER,
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
        need: Need::CorrectedWater,
        dispatch: WATER,
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
        name: "find_flow",
        shader: Shader::Pipes,
        need: Need::PublishedWater,
        dispatch: WATER,
        buffers: &[
            (2, Water, false),
            (5, Surface, true),
            (6, FluxLeft, false),
            (7, FluxRight, false),
            (8, FluxAbove, false),
            (9, FluxBelow, false),
        ],
    },
    KernelInfo {
        name: "find_depth",
        shader: Shader::Pipes,
        need: Need::PublishedWater,
        dispatch: WATER,
        buffers: &[
            (2, Water, false),
            (5, Surface, true),
            (6, FluxLeft, false),
            (7, FluxRight, false),
            (8, FluxAbove, false),
            (9, FluxBelow, false),
            (10, Moved, false),
        ],
    },
    KernelInfo {
        name: "exchange",
        shader: Shader::Pipes,
        need: Need::PublishedWater,
        dispatch: WATER,
        buffers: &[
            (0, Bedrock, false),
            (1, Sand, false),
            (2, Water, false),
            (3, Suspended, false),
            (4, Softness, false),
            (10, Moved, false),
        ],
    },
    KernelInfo {
        name: "transport",
        shader: Shader::Pipes,
        need: Need::PublishedWater,
        dispatch: WATER,
        buffers: &[(3, Suspended, false), (10, Moved, false)],
    },
    KernelInfo {
        name: "find_loose",
        shader: Shader::Thermal,
        need: Need::CorrectedThermal,
        dispatch: THERMAL,
        buffers: &[(0, Bedrock, false), (1, Sand, false), (4, Start, true), (5, Surface, false)],
    },
    KernelInfo {
        name: "slide",
        shader: Shader::Thermal,
        need: Need::CorrectedThermal,
        dispatch: THERMAL,
        buffers: &[(0, Bedrock, false), (1, Sand, false), (2, Water, true), (3, Softness, true), (5, Surface, false)],
    },
    KernelInfo {
        name: "find_solid",
        shader: Shader::Thermal,
        need: Need::PublishedThermal,
        dispatch: THERMAL,
        buffers: &[(0, Bedrock, false), (1, Sand, false), (3, Softness, true), (4, Start, true), (6, Surface, false)],
    },
    KernelInfo {
        name: "give",
        shader: Shader::Thermal,
        need: Need::PublishedThermal,
        dispatch: THERMAL,
        buffers: &[(0, Bedrock, false), (1, Sand, false), (3, Softness, true), (6, Surface, false), (7, Giving, false)],
    },
    KernelInfo {
        name: "receive",
        shader: Shader::Thermal,
        need: Need::PublishedThermal,
        dispatch: THERMAL,
        buffers: &[(0, Bedrock, false), (6, Surface, false), (7, Giving, false)],
    },
];

const COMMON: &str = include_str!("../../../shaders/sim/common.wgsl");
const WATER_SHADER: &str = include_str!("../../../shaders/sim/water.wgsl");
const PIPES_SHADER: &str = include_str!("../../../shaders/sim/pipes.wgsl");
const THERMAL_SHADER: &str = include_str!("../../../shaders/sim/thermal.wgsl");

impl Shader {
    /// Returns the source with what all kernels share.
    pub(crate) fn source(self) -> String {
        let own = match self {
            Self::Water => WATER_SHADER,
            Self::Pipes => PIPES_SHADER,
            Self::Thermal => THERMAL_SHADER,
        };
        [COMMON, own].concat()
    }
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

fn bind<'a>(binding: u32, buffer: &'a wgpu::Buffer) -> wgpu::BindGroupEntry<'a> {
    wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() }
}

/// Returns the kernels of a step, with the map, the state and the other buffers of a run.
pub(crate) fn kernels(device: &Device, [map, state]: [&wgpu::Buffer; 2], buffers: &[wgpu::Buffer]) -> Vec<Kernel> {
    let gpu = &device.device;
    let storage = |read_only| wgpu::BufferBindingType::Storage { read_only };
    let shared_layout = gpu.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("map and state"),
        entries: &[entry(0, wgpu::BufferBindingType::Uniform), entry(1, storage(false))],
    });
    let shared = gpu.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("map and state"),
        layout: &shared_layout,
        entries: &[bind(0, map), bind(1, state)],
    });
    let module = |shader: Shader| {
        gpu.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(shader.source().into()),
        })
    };
    let modules = [Shader::Water, Shader::Pipes, Shader::Thermal].map(module);
    let kernel = |info: &'static KernelInfo| {
        let entries: Vec<_> =
            info.buffers.iter().map(|&(binding, _, read_only)| entry(binding, storage(read_only))).collect();
        let layout = gpu
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(info.name), entries: &entries });
        let entries: Vec<_> =
            info.buffers.iter().map(|&(binding, buffer, _)| bind(binding, &buffers[buffer as usize])).collect();
        let own = gpu.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(info.name),
            layout: &layout,
            entries: &entries,
        });
        let layout = gpu.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(info.name),
            bind_group_layouts: &[Some(&shared_layout), Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = gpu.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(info.name),
            layout: Some(&layout),
            module: &modules[info.shader as usize],
            entry_point: Some(info.name),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        Kernel { info, pipeline, shared: shared.clone(), own }
    };
    KERNELS.iter().map(kernel).collect()
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
