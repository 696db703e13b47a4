//! The graphics card.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
};

use crate::kernels::{Kernel, KernelInfo, KernelPipelines, Pipeline};

/// A graphics card and its queue of commands.
#[derive(Clone)]
pub struct Device {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
    pipelines: Arc<KernelPipelines>,
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

impl DeviceError {
    pub(crate) fn lost(error: &dyn fmt::Display) -> Self {
        Self(format!("the connection to the graphics card is lost ({error})"))
    }
}

impl Device {
    /// Opens the graphics card that the driver prefers for performance, or the one named in the environment variable
    /// `WGPU_ADAPTER_NAME`. The limits of WebGPU suffice, except that buffers may be as large as the card permits.
    ///
    /// # Errors
    /// There is no graphics card, or its driver refuses.
    pub fn open() -> Result<Self, DeviceError> {
        Self::open_with(|most| wgpu::Limits {
            max_buffer_size: most.max_buffer_size,
            max_storage_buffer_binding_size: most.max_storage_buffer_binding_size,
            ..wgpu::Limits::defaults()
        })
    }

    /// Opens the same card with limits chosen from those that it offers.
    ///
    /// # Errors
    /// There is no graphics card, or its driver refuses.
    pub fn open_with(limits: impl Fn(wgpu::Limits) -> wgpu::Limits) -> Result<Self, DeviceError> {
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
        let required_limits = limits(adapter.limits());
        let descriptor =
            wgpu::DeviceDescriptor { label: Some("simulation"), required_limits, ..wgpu::DeviceDescriptor::default() };
        let opened = futures_lite::future::block_on(adapter.request_device(&descriptor));
        let (device, queue) =
            opened.map_err(|error| DeviceError(format!("the graphics driver refuses a device ({error})")))?;
        // Errors are read where they arise.
        device.on_uncaptured_error(Arc::new(|_| {}));
        Ok(Self::of(device, queue, adapter.get_info()))
    }

    /// Uses a graphics card that is open already.
    pub fn of(device: wgpu::Device, queue: wgpu::Queue, info: wgpu::AdapterInfo) -> Self {
        let pipelines = Arc::new(KernelPipelines::new(&device));
        Self { device, queue, info, pipelines }
    }

    /// Returns `true` if the processor stands in for the card.
    pub fn is_software(&self) -> bool {
        self.info.device_type == wgpu::DeviceType::Cpu
    }

    /// Gives the card up, as the loss of its driver does.
    pub fn destroy(&self) {
        self.device.destroy();
    }

    /// Returns the name of the card and its driver.
    pub fn name(&self) -> String {
        let wgpu::AdapterInfo { name, driver, driver_info, .. } = &self.info;
        [name, driver, driver_info].into_iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join(", ")
    }

    /// Returns the largest size of a buffer that a kernel can use, in bytes.
    pub(crate) fn largest_binding(&self) -> u64 {
        let limits = self.device.limits();
        limits.max_buffer_size.min(limits.max_storage_buffer_binding_size)
    }

    /// Binds a map and a state.
    pub(crate) fn shared(&self, buffers: [&wgpu::Buffer; 2]) -> wgpu::BindGroup {
        self.pipelines.shared(&self.device, buffers)
    }

    /// Returns the pipeline that writes textures.
    pub(crate) fn pack_pipeline(&self) -> &Pipeline {
        self.pipelines.pack(&self.device)
    }

    /// Returns the kernels that pass a filter, in the order of a step.
    pub(crate) fn kernels(
        &self,
        shared: &wgpu::BindGroup,
        buffers: &[wgpu::Buffer],
        needed: impl Fn(&KernelInfo) -> bool,
    ) -> Vec<Kernel> {
        self.pipelines.kernels(&self.device, shared, buffers, needed)
    }

    /// Runs commands, and returns the error that the driver reports for them.
    pub(crate) fn checked<T>(&self, commands: impl FnOnce() -> T) -> Result<T, DeviceError> {
        let scopes = [wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::Internal];
        let scopes = scopes.map(|filter| self.device.push_error_scope(filter));
        let done = commands();
        // The last scope pushed is popped first.
        let errors = scopes.into_iter().rev().map(|scope| futures_lite::future::block_on(scope.pop()));
        match errors.collect::<Vec<_>>().into_iter().flatten().next() {
            None => Ok(done),
            Some(wgpu::Error::OutOfMemory { .. }) => {
                Err(DeviceError(format!("{} has not enough free memory", self.info.name)))
            }
            Some(error) => Err(DeviceError::lost(&error)),
        }
    }

    /// Waits for everything submitted.
    pub(crate) fn wait(&self) -> Result<(), DeviceError> {
        self.poll_for(wgpu::PollType::wait_indefinitely())
    }

    /// Handles what has arrived.
    pub(crate) fn poll(&self) -> Result<(), DeviceError> {
        self.poll_for(wgpu::PollType::Poll)
    }

    fn poll_for(&self, what: wgpu::PollType) -> Result<(), DeviceError> {
        // The library panics if the driver has reset the card.
        match catch_unwind(AssertUnwindSafe(|| self.device.poll(what))) {
            Ok(polled) => polled.map(drop).map_err(|error| DeviceError::lost(&error)),
            Err(_) => Err(DeviceError::lost(&"the driver has reset it")),
        }
    }

    /// Creates a buffer through which the processor reads.
    pub(crate) fn staging(&self, bytes: u64) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("read-back"),
            size: bytes,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    }

    /// Returns copies of parts of buffers, mapped for reading.
    pub(crate) fn read(&self, parts: &[wgpu::BufferSlice<'_>]) -> Result<Vec<wgpu::Buffer>, DeviceError> {
        let (copies, arrivals) = self.checked(|| {
            let copies: Vec<wgpu::Buffer> = parts.iter().map(|part| self.staging(part.size().get())).collect();
            let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            for (part, copy) in parts.iter().zip(&copies) {
                encoder.copy_buffer_to_buffer(part.buffer(), part.offset(), copy, 0, copy.size());
            }
            self.queue.submit([encoder.finish()]);
            let arrivals: Vec<_> =
                copies.iter().map(|copy| map(copy, |copy| drop(copy.slice(..).get_mapped_range()))).collect();
            (copies, arrivals)
        })?;
        self.wait()?;
        arrivals.iter().try_for_each(|arrival| arrived(arrival).map(drop))?;
        Ok(copies)
    }
}

/// Contents of a buffer, or the reason why it cannot be read, once it is known.
pub(crate) type Arrival<T> = Arc<OnceLock<Result<T, String>>>;

/// Maps a buffer for reading as soon as what was submitted is done, and applies a function to it at once: a card that is lost
/// later takes the mapping with it.
pub(crate) fn map<T: Send + Sync + 'static>(
    buffer: &wgpu::Buffer,
    read: impl FnOnce(&wgpu::Buffer) -> T + Send + 'static,
) -> Arrival<T> {
    let arrival = Arrival::default();
    let (arrived, mapped) = (Arc::clone(&arrival), buffer.clone());
    buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| {
        // A mapping of a card that has been destroyed meanwhile panics when it is read.
        let read = || catch_unwind(AssertUnwindSafe(|| read(&mapped))).map_err(|_| "its memory is gone".to_owned());
        let _ = arrived.set(result.map_err(|error| error.to_string()).and_then(|()| read()));
    });
    arrival
}

/// Returns what has arrived.
pub(crate) fn arrived<T>(arrival: &Arrival<T>) -> Result<Option<&T>, DeviceError> {
    arrival.get().map(Result::as_ref).transpose().map_err(|error| DeviceError::lost(error))
}
