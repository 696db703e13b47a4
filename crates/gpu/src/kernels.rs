//! The kernels and the buffers that they use.

use std::sync::OnceLock;

use crate::map::{
    HAS_RAIN_MAP, HAS_THERMAL, HAS_WATER, LIMITED_THERMAL, LIMITED_WATER, Map, PUBLISHED_THERMAL, PUBLISHED_WATER,
};

/// Buffers of a run, in the order of [`Buffer`].
pub(crate) const BUFFERS: usize = 21;

/// A buffer of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Buffer {
    Bedrock,
    Sand,
    Water,
    Suspended,
    Softness,
    /// Ground at the start and, after it, the mask if the run uses it.
    StartAndMask,
    Rain,
    Surface,
    FluxX,
    FluxY,
    NextX,
    NextY,
    Fluid,
    Sources,
    Rates,
    Dispatches,
    /// Fluxes to the left and, after them, to the right.
    FluxLeftRight,
    /// Fluxes to the cells above and, after them, to those below.
    FluxAboveBelow,
    Velocities,
    /// Numbers that a published process passes from one of its kernels to another.
    Passed,
    Before,
}

use Buffer::*;

/// Place of a layer or of a process's state in the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BufferPlace {
    pub(crate) buffer: Buffer,
    /// Number of maps before it in the buffer.
    index: usize,
}

impl BufferPlace {
    pub(crate) const fn first(buffer: Buffer) -> Self {
        Self { buffer, index: 0 }
    }

    pub(crate) const fn second(buffer: Buffer) -> Self {
        Self { buffer, index: 1 }
    }

    /// Returns the place of a value that a process keeps between ticks.
    pub(crate) fn of_state(name: &str) -> Option<Self> {
        STATE_PLACES.into_iter().find(|(known, _)| *known == name).map(|(_, place)| place)
    }

    /// Returns the position in the buffer, in bytes.
    pub(crate) fn offset(self, map: &Map) -> u64 {
        4 * self.index as u64 * u64::from(map.width) * u64::from(map.height)
    }
}

/// Places of the state that a process keeps between ticks, by the name of its value.
const STATE_PLACES: [(&str, BufferPlace); 6] = [
    ("flow x", BufferPlace::first(FluxX)),
    ("flow y", BufferPlace::first(FluxY)),
    ("flux left", BufferPlace::first(FluxLeftRight)),
    ("flux right", BufferPlace::second(FluxLeftRight)),
    ("flux above", BufferPlace::first(FluxAboveBelow)),
    ("flux below", BufferPlace::second(FluxAboveBelow)),
];

impl Buffer {
    /// All buffers, in their order.
    pub(crate) const ALL: [Self; BUFFERS] = [
        Bedrock,
        Sand,
        Water,
        Suspended,
        Softness,
        StartAndMask,
        Rain,
        Surface,
        FluxX,
        FluxY,
        NextX,
        NextY,
        Fluid,
        Sources,
        Rates,
        Dispatches,
        FluxLeftRight,
        FluxAboveBelow,
        Velocities,
        Passed,
        Before,
    ];

    /// Returns the size that a run with these parameters and this number of cells of sources needs, in bytes.
    pub(crate) fn bytes(self, map: &Map, source_cells: usize) -> usize {
        let (width, height) = (map.width as usize, map.height as usize);
        let cells = width * height;
        let only_if = |is_needed: bool, bytes: usize| if is_needed { bytes } else { 0 };
        let only_for = |need: Need, bytes: usize| only_if(need.is_met(map, source_cells > 0), bytes);
        match self {
            Bedrock | Sand | Water | Suspended | Softness => 4 * cells,
            Rain => only_if(map.flags & HAS_RAIN_MAP != 0, 4 * cells),
            StartAndMask => {
                if map.uses_mask() {
                    8 * cells
                } else {
                    4 * cells
                }
            }
            Surface => 8 * cells,
            FluxX | NextX => only_for(Need::CorrectedWater, 4 * (width + 1) * height),
            FluxY | NextY => only_for(Need::CorrectedWater, 4 * width * (height + 1)),
            Fluid => only_for(Need::CorrectedWater, 8 * cells),
            FluxLeftRight | FluxAboveBelow | Velocities => only_for(Need::PublishedWater, 8 * cells),
            Passed => only_for(Need::PublishedWater, 4 * cells).max(only_for(Need::PublishedThermal, 4 * cells)),
            Before => only_if(map.restores(), 8 * cells),
            Sources => 16 * source_cells,
            Rates => 4 * source_cells,
            Dispatches => 4 * 15,
        }
    }
}

/// Shader of a kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shader {
    Water,
    Pipes,
    Thermal,
    Mask,
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
    LimitedWater,
    LimitedThermal,
}

impl Need {
    /// Returns `true` if a run with these parameters and perhaps active sources meets the condition.
    pub(crate) fn is_met(self, map: &Map, has_sources: bool) -> bool {
        let (has_water, is_published) = (map.flags & HAS_WATER != 0, map.flags & PUBLISHED_WATER != 0);
        match self {
            Self::Always => true,
            Self::Sources => has_sources,
            Self::Rain => map.free.rain.max(map.masked.rain) > 0.0,
            Self::Water => has_water,
            Self::CorrectedWater => has_water && !is_published,
            Self::PublishedWater => is_published,
            Self::CorrectedThermal => map.flags & (HAS_THERMAL | PUBLISHED_THERMAL) == HAS_THERMAL,
            Self::PublishedThermal => map.flags & PUBLISHED_THERMAL != 0,
            Self::LimitedWater => map.flags & LIMITED_WATER != 0,
            Self::LimitedThermal => map.flags & LIMITED_THERMAL != 0,
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
    pub(crate) name: &'static str,
    shader: Shader,
    pub(crate) need: Need,
    dispatch: Dispatch,
    /// Bytes that it reads and writes per cell, each once, without masks.
    pub(crate) bytes: u16,
    buffers: &'static [Binding],
}

const SOURCES: Dispatch = Dispatch::Planned(0);
const WATER: Dispatch = Dispatch::Planned(3);
const THERMAL: Dispatch = Dispatch::Planned(6);
const WATER_BEGINS: Dispatch = Dispatch::Planned(9);
const WATER_ENDS: Dispatch = Dispatch::Planned(12);

impl Dispatch {
    /// Returns the numbers of workgroups of all planned dispatches: those along the first axis change from step to step.
    pub(crate) fn all([columns, rows]: [u32; 2]) -> [u32; 15] {
        let mut all = [columns, rows, 1].repeat(5);
        all[..3].copy_from_slice(&[0, 1, 1]);
        std::array::from_fn(|number| all[number])
    }
}

const fn save(need: Need, dispatch: Dispatch) -> KernelInfo {
    let buffers = &[(0, Bedrock, false), (1, Sand, false), (2, Before, false)];
    KernelInfo { name: "masked", shader: Shader::Mask, need, dispatch, bytes: 16, buffers }
}

const fn restore(need: Need, dispatch: Dispatch) -> KernelInfo {
    let buffers = &[(0, Bedrock, false), (1, Sand, false), (2, Before, false), (20, StartAndMask, true)];
    KernelInfo { name: "restore_masked", shader: Shader::Mask, need, dispatch, bytes: 28, buffers }
}

/// Kernels of a step, in their order.
static KERNELS: [KernelInfo; 22] = [
    KernelInfo {
        name: "plan",
        shader: Shader::Water,
        need: Need::Always,
        dispatch: Dispatch::One,
        bytes: 0,
        buffers: &[(18, Dispatches, false)],
    },
    save(Need::LimitedWater, WATER_BEGINS),
    KernelInfo {
        name: "run_sources",
        shader: Shader::Water,
        need: Need::Sources,
        dispatch: SOURCES,
        bytes: 0,
        buffers: &[(2, Water, false), (16, Sources, true), (17, Rates, true)],
    },
    KernelInfo {
        name: "fall",
        shader: Shader::Water,
        need: Need::Rain,
        dispatch: WATER,
        bytes: 8,
        buffers: &[(2, Water, false), (6, Rain, true), (20, StartAndMask, true)],
    },
    KernelInfo {
        name: "find_surface",
        shader: Shader::Water,
        need: Need::Water,
        dispatch: WATER,
        bytes: 24,
        buffers: &[
            (0, Bedrock, false),
            (1, Sand, false),
            (2, Water, false),
            (3, Suspended, false),
            (7, Surface, false),
        ],
    },
    KernelInfo {
        name: "find_fluxes",
        shader: Shader::Water,
        need: Need::CorrectedWater,
        dispatch: WATER,
        bytes: 24,
        buffers: &[
            (7, Surface, false),
            (8, FluxX, false),
            (9, FluxY, false),
            (12, NextX, false),
            (13, NextY, false),
            (20, StartAndMask, true),
        ],
    },
    KernelInfo {
        name: "find_limits",
        shader: Shader::Water,
        need: Need::CorrectedWater,
        dispatch: WATER,
        bytes: 24,
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
        bytes: 24,
        buffers: &[(8, FluxX, false), (9, FluxY, false), (12, NextX, false), (13, NextY, false), (14, Fluid, false)],
    },
    KernelInfo {
        name: "move_fluid",
        shader: Shader::Water,
        need: Need::CorrectedWater,
        dispatch: WATER,
        bytes: 36,
        buffers: &[
            (2, Water, false),
            (3, Suspended, false),
            (8, FluxX, false),
            (9, FluxY, false),
            (14, Fluid, false),
            (7, Surface, false),
        ],
    },
    KernelInfo {
        name: "exchange",
        shader: Shader::Water,
        need: Need::CorrectedWater,
        dispatch: WATER,
        bytes: 44,
        buffers: &[
            (0, Bedrock, false),
            (1, Sand, false),
            (2, Water, false),
            (3, Suspended, false),
            (4, Softness, true),
            (7, Surface, false),
            (20, StartAndMask, true),
        ],
    },
    KernelInfo {
        name: "find_flow",
        shader: Shader::Pipes,
        need: Need::PublishedWater,
        dispatch: WATER,
        bytes: 44,
        buffers: &[
            (2, Water, false),
            (5, Surface, true),
            (6, FluxLeftRight, false),
            (7, FluxAboveBelow, false),
            (20, StartAndMask, true),
        ],
    },
    KernelInfo {
        name: "find_depth",
        shader: Shader::Pipes,
        need: Need::PublishedWater,
        dispatch: WATER,
        bytes: 44,
        buffers: &[
            (2, Water, false),
            (5, Surface, true),
            (6, FluxLeftRight, false),
            (7, FluxAboveBelow, false),
            (8, Velocities, false),
            (9, Passed, false),
            (20, StartAndMask, true),
        ],
    },
    KernelInfo {
        name: "exchange",
        shader: Shader::Pipes,
        need: Need::PublishedWater,
        dispatch: WATER,
        bytes: 44,
        buffers: &[
            (0, Bedrock, false),
            (1, Sand, false),
            (2, Water, false),
            (3, Suspended, false),
            (4, Softness, false),
            (9, Passed, false),
        ],
    },
    KernelInfo {
        name: "transport",
        shader: Shader::Pipes,
        need: Need::PublishedWater,
        dispatch: WATER,
        bytes: 16,
        buffers: &[(3, Suspended, false), (8, Velocities, false), (9, Passed, false)],
    },
    restore(Need::LimitedWater, WATER_ENDS),
    save(Need::LimitedThermal, THERMAL),
    KernelInfo {
        name: "find_loose",
        shader: Shader::Thermal,
        need: Need::CorrectedThermal,
        dispatch: THERMAL,
        bytes: 16,
        buffers: &[(0, Bedrock, false), (1, Sand, false), (5, Surface, false), (20, StartAndMask, true)],
    },
    KernelInfo {
        name: "slide",
        shader: Shader::Thermal,
        need: Need::CorrectedThermal,
        dispatch: THERMAL,
        bytes: 32,
        buffers: &[
            (0, Bedrock, false),
            (1, Sand, false),
            (2, Water, true),
            (3, Softness, true),
            (5, Surface, false),
            (20, StartAndMask, true),
        ],
    },
    KernelInfo {
        name: "find_solid",
        shader: Shader::Thermal,
        need: Need::PublishedThermal,
        dispatch: THERMAL,
        bytes: 20,
        buffers: &[(0, Bedrock, false), (1, Sand, false), (3, Softness, true), (6, Surface, false)],
    },
    KernelInfo {
        name: "give",
        shader: Shader::Thermal,
        need: Need::PublishedThermal,
        dispatch: THERMAL,
        bytes: 32,
        buffers: &[
            (0, Bedrock, false),
            (1, Sand, false),
            (3, Softness, true),
            (6, Surface, false),
            (7, Passed, false),
            (20, StartAndMask, true),
        ],
    },
    KernelInfo {
        name: "receive",
        shader: Shader::Thermal,
        need: Need::PublishedThermal,
        dispatch: THERMAL,
        bytes: 20,
        buffers: &[(0, Bedrock, false), (6, Surface, false), (7, Passed, false), (20, StartAndMask, true)],
    },
    restore(Need::LimitedThermal, THERMAL),
];

const COMMON: &str = include_str!("../../../shaders/sim/common.wgsl");
const WATER_SHADER: &str = include_str!("../../../shaders/sim/water.wgsl");
const PIPES_SHADER: &str = include_str!("../../../shaders/sim/pipes.wgsl");
const MASK_SHADER: &str = include_str!("../../../shaders/sim/mask.wgsl");
const PACK_SHADER: &str = include_str!("../../../shaders/sim/pack.wgsl");
const THERMAL_SHADER: &str = include_str!("../../../shaders/sim/thermal.wgsl");

impl Shader {
    /// Returns the source with what all kernels share.
    pub(crate) fn source(self) -> String {
        let own = match self {
            Self::Water => WATER_SHADER,
            Self::Pipes => PIPES_SHADER,
            Self::Thermal => THERMAL_SHADER,
            Self::Mask => MASK_SHADER,
        };
        [COMMON, own].concat()
    }
}

/// Returns the source of each shader, as the driver gets it, by the name of its file.
pub fn shader_sources() -> [(&'static str, String); 5] {
    [
        ("water.wgsl", Shader::Water.source()),
        ("pipes.wgsl", Shader::Pipes.source()),
        ("thermal.wgsl", Shader::Thermal.source()),
        ("mask.wgsl", Shader::Mask.source()),
        ("pack.wgsl", [COMMON, PACK_SHADER].concat()),
    ]
}

/// Compiled kernels of a device, each compiled at its first use.
pub(crate) struct KernelPipelines {
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

impl KernelPipelines {
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
