//! Terrain drawn from layers on the graphics card.

use bevy::{
    asset::AssetId,
    image::Image,
    prelude::*,
    render::{
        Extract, ExtractSchedule, Render, RenderApp, RenderSystems,
        render_asset::RenderAssets,
        renderer::{RenderAdapterInfo, RenderDevice, RenderQueue},
        texture::GpuImage,
    },
};
use thalweg_gpu::{Device, Packer};

use super::{ground::TerrainBlocks, upload};
use crate::world::{CardTicks, Comparison, RiverOverlay};

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Startup, open_card);
    if let Some(render) = app.get_sub_app_mut(RenderApp) {
        render
            .init_resource::<PackedTerrain>()
            .add_systems(ExtractSchedule, extract)
            .add_systems(Render, pack.after(upload::apply).in_set(RenderSystems::PrepareResources));
    }
}

/// Lets ticks run on the card that draws.
fn open_card(
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    info: Res<RenderAdapterInfo>,
    mut card: ResMut<CardTicks>,
) {
    let device = Device::of(device.wgpu_device().clone(), (**queue.0).clone(), (*info.0).clone());
    card.set_device(device);
}

/// Texture of the terrain that is ahead on the card.
#[derive(Resource, Default)]
struct PackedTerrain(Option<(AssetId<Image>, Packer)>);

fn extract(
    card: Extract<Res<CardTicks>>,
    blocks: Extract<Res<TerrainBlocks>>,
    comparison: Extract<Res<State<Comparison>>>,
    rivers: Extract<Res<RiverOverlay>>,
    mut packed: ResMut<PackedTerrain>,
) {
    // The card knows neither the start nor lakes without simulated water.
    let packer = card.packer().filter(|_| ***comparison != Comparison::Start && rivers.lakes(0).is_none());
    packed.0 = packer.and_then(|packer| {
        let (image, (width, height)) = blocks.present_layers()?;
        ([width as u32, height as u32] == packer.size()).then_some((image, packer))
    });
}

/// Writes the texture, after those of the simulations, which are older.
fn pack(packed: Res<PackedTerrain>, images: Res<RenderAssets<GpuImage>>) {
    let Some((image, packer)) = &packed.0 else { return };
    if let Some(image) = images.get(*image) {
        packer.pack(&image.texture_view);
    }
}
