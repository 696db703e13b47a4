//! Layers on the card as the texture from which a terrain is drawn.

use crate::{Device, kernels::Pipeline};

/// Writes ground, sand, depth of the water and sediment in it to an `Rgba32Float` texture with one texel per cell.
#[derive(Clone)]
pub struct Packer {
    pub(crate) device: Device,
    pub(crate) shared: wgpu::BindGroup,
    /// Bedrock, sand, water and suspended sediment.
    pub(crate) layers: [wgpu::Buffer; 4],
    pub(crate) size: [u32; 2],
}

impl Packer {
    /// Returns the number of columns and rows.
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// Submits the writing of a texture of the same size, whose usage includes `STORAGE_BINDING`.
    pub fn pack(&self, texture: &wgpu::TextureView) {
        let Pipeline { pipeline, layout } = self.device.pack_pipeline();
        let layers = self.layers.iter().enumerate();
        let entries: Vec<_> = layers
            .map(|(binding, buffer)| (binding, buffer.as_entire_binding()))
            .chain([(4, wgpu::BindingResource::TextureView(texture))])
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding: binding as u32, resource })
            .collect();
        let own = self.device.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("pack"),
            layout,
            entries: &entries,
        });
        let mut encoder = self.device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &self.shared, &[]);
            pass.set_bind_group(1, &own, &[]);
            let [width, height] = self.size;
            pass.dispatch_workgroups(width.div_ceil(64), height.div_ceil(4), 1);
        }
        self.device.queue.submit([encoder.finish()]);
    }
}
