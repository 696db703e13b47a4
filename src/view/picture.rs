//! Pictures of the view, as it is drawn, without panels.

use std::path::PathBuf;

use bevy::{
    prelude::*,
    render::view::screenshot::{Screenshot, ScreenshotCaptured},
};

use crate::{
    runtime::{Command, FreeView, Jobs, Live, Notices},
    settings::picture_folder,
};

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Update, take_picture);
}

fn take_picture(mut asked: MessageReader<Command>, view: Res<FreeView>, live: Res<Live>, mut commands: Commands) {
    if !asked.read().any(|command| *command == Command::TakePicture) {
        return;
    }
    let session = live.chosen();
    let path = free_name(&format!("{}-{}", session.name, live.ticks()));
    commands.spawn(Screenshot::image(view.picture.clone())).observe(
        move |captured: On<ScreenshotCaptured>, mut jobs: ResMut<Jobs>, mut notices: ResMut<Notices>| {
            let (size, pixels) = rgb(&captured.image);
            jobs.save_picture(&mut notices, path.clone(), size, pixels);
        },
    );
}

/// A name in the folder of pictures that nothing has yet.
fn free_name(stem: &str) -> PathBuf {
    let folder = picture_folder();
    let plain = folder.join(format!("{stem}.png"));
    let numbered = (2..10_000).map(|number| folder.join(format!("{stem}-{number}.png")));
    std::iter::once(plain.clone()).chain(numbered).find(|path| !path.exists()).unwrap_or(plain)
}

/// Width, height and the red, green and blue of every pixel of a captured picture.
pub fn rgb(image: &Image) -> ((usize, usize), Vec<u8>) {
    let bytes = image.data.as_deref().unwrap_or_default();
    let pixels = bytes.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    ((image.width() as usize, image.height() as usize), pixels)
}
