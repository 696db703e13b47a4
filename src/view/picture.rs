//! Pictures of the view, as it is drawn, without panels.

use bevy::{
    prelude::*,
    render::gpu_readback::{Readback, ReadbackComplete},
};

use super::upload::row_bytes;
use crate::runtime::{FreeView, Jobs, Live, Notices};

/// Writes a picture of the view beside the frames, named by the tick that it shows.
pub(super) fn take(live: &Live, ticks: u64, view: &FreeView, images: &Assets<Image>, commands: &mut Commands) {
    let session = live.chosen();
    let stem = format!("{}-{ticks}", session.name);
    let Some(size) = images.get(&view.picture).map(Image::size) else { return };
    let (width, height) = (size.x as usize, size.y as usize);
    commands.spawn(Readback::texture(view.picture.clone())).observe(
        move |done: On<ReadbackComplete>,
              mut jobs: ResMut<Jobs>,
              mut notices: ResMut<Notices>,
              mut commands: Commands| {
            let rows = done.data.chunks(row_bytes(4 * width)).map(|row| &row[..4 * width]);
            let pixels = rows.flat_map(rgb_of).collect();
            jobs.save_picture(&mut notices, stem.clone(), (width, height), pixels);
            commands.entity(done.entity).despawn();
        },
    );
}

fn rgb_of(row: &[u8]) -> impl Iterator<Item = u8> {
    row.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
}

/// Width, height and the red, green and blue of every pixel of a captured picture.
pub fn rgb(image: &Image) -> ((usize, usize), Vec<u8>) {
    let bytes = image.data.as_deref().unwrap_or_default();
    ((image.width() as usize, image.height() as usize), rgb_of(bytes).collect())
}
