//! The graphics card.

use std::{fmt, sync::OnceLock};

use crate::kernels::CompiledKernels;

/// A graphics card and its queue of commands.
pub struct Device {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
    kernels: OnceLock<CompiledKernels>,
}

/// Reason why no graphics card can be used, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceError(pub String);

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DeviceError {}

impl Device {
    /// Opens the graphics card that the driver prefers for performance, or the one named in the environment variable
    /// `WGPU_ADAPTER_NAME`. The limits of WebGPU suffice, except that buffers may be as large as the card permits.
    ///
    /// # Errors
    /// There is no graphics card, or its driver refuses.
    pub fn open() -> Result<Self, DeviceError> {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
        // The card writes the sizes of dispatches itself; they are within the limits.
        descriptor.flags.remove(wgpu::InstanceFlags::VALIDATION_INDIRECT_CALL);
        let instance = wgpu::Instance::new(descriptor);
        let adapters = futures_lite::future::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
        let named = std::env::var("WGPU_ADAPTER_NAME").ok().map(|name| name.to_lowercase());
        let rank = |adapter: &wgpu::Adapter| {
            let info = adapter.get_info();
            let is_named = named.as_ref().is_some_and(|name| info.name.to_lowercase().contains(name));
            let kind = match info.device_type {
                wgpu::DeviceType::DiscreteGpu => 3,
                wgpu::DeviceType::IntegratedGpu => 2,
                wgpu::DeviceType::VirtualGpu => 1,
                _ => 0,
            };
            (is_named, kind)
        };
        let adapter = adapters.into_iter().max_by_key(rank);
        let adapter = adapter.ok_or_else(|| DeviceError("there is no graphics card or no driver for it".to_owned()))?;
        let most = adapter.limits();
        let required_limits = wgpu::Limits {
            max_buffer_size: most.max_buffer_size,
            max_storage_buffer_binding_size: most.max_storage_buffer_binding_size,
            ..wgpu::Limits::defaults()
        };
        let descriptor =
            wgpu::DeviceDescriptor { label: Some("simulation"), required_limits, ..wgpu::DeviceDescriptor::default() };
        let opened = futures_lite::future::block_on(adapter.request_device(&descriptor));
        let (device, queue) =
            opened.map_err(|error| DeviceError(format!("the graphics driver refuses a device ({error})")))?;
        Ok(Self { device, queue, info: adapter.get_info(), kernels: OnceLock::new() })
    }

    /// Returns the name of the card and its driver.
    pub fn name(&self) -> String {
        let wgpu::AdapterInfo { name, driver, driver_info, .. } = &self.info;
        [name, driver, driver_info].into_iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join(", ")
    }

    /// Returns the kernels, compiled once.
    pub(crate) fn kernels(&self) -> &CompiledKernels {
        self.kernels.get_or_init(|| CompiledKernels::new(&self.device))
    }

    /// Returns the largest size of a buffer that a kernel can use, in bytes.
    pub(crate) fn largest_binding(&self) -> u64 {
        let limits = self.device.limits();
        limits.max_buffer_size.min(limits.max_storage_buffer_binding_size)
    }
}
