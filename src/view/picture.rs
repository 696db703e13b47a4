//! Pictures of the view, as it is drawn, without panels.

use bevy::{
    prelude::*,
    render::view::screenshot::{Screenshot, ScreenshotCaptured},
};

use crate::runtime::{FreeView, Jobs, Live, Notices};

/// Writes a picture of the view beside the frames.
pub(super) fn take(live: &Live, view: &FreeView, commands: &mut Commands) {
    let session = live.chosen();
    let stem = format!("{}-{}", session.name, live.ticks());
    commands.spawn(Screenshot::image(view.picture.clone())).observe(
        move |captured: On<ScreenshotCaptured>, mut jobs: ResMut<Jobs>, mut notices: ResMut<Notices>| {
            let (size, pixels) = rgb(&captured.image);
            jobs.save_picture(&mut notices, stem.clone(), size, pixels);
        },
    );
}

/// Width, height and the red, green and blue of every pixel of a captured picture.
pub fn rgb(image: &Image) -> ((usize, usize), Vec<u8>) {
    let bytes = image.data.as_deref().unwrap_or_default();
    let pixels = bytes.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    ((image.width() as usize, image.height() as usize), pixels)
}
