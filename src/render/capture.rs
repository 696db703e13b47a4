//! Screenshots: of the view without panels, at the resolution in the settings, or of the window.
//!
//! A screenshot of the view is rendered in tiles, so that its GPU memory does not depend on its size. The simulation is paused
//! meanwhile; any other change restarts the rendering. With depth of field, each tile is the mean of many images seen through
//! points of the lens.
//!
//! While a video of the window is recorded, its frames are captured as they are drawn.

use std::path::Path;

use bevy::{
    prelude::*,
    render::{
        gpu_readback::{Readback, ReadbackComplete},
        view::screenshot::{Screenshot, ScreenshotCaptured},
    },
    window::{PrimaryWindow, RequestRedraw},
};
use bevy_panorbit_camera::PanOrbitCamera;
use half::f16;

use super::{
    aperture::{Aperture, Exposure},
    camera::{FAR, LONGEST_SIDE, canvas},
    pick::VisibleTerrain,
    redraw::RenderStatus,
    upload::row_bytes,
};
use crate::world::{
    FileCommand, Jobs, NoticeLevel, Notices, Preferences, Recording, Revision, ScreenshotCommand, Simulations,
    ViewportArea,
};
use thalweg_scene::{
    io::{Budget, ImagePixels, JobProgress},
    settings::ScreenshotFormat,
};

/// Maximum side of a tile, in pixels.
const TILE: u32 = 2048;

/// The tile being rendered, and the pose of the whole image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScreenshotTile {
    /// Unique number of the tile.
    pub number: u64,
    /// Render target.
    pub onto: AssetId<Image>,
    /// Size of the whole image, the tile's upper left corner in it, and the tile's size, in pixels.
    pub whole: UVec2,
    pub at: UVec2,
    pub size: UVec2,
    /// `true` if the background is transparent.
    pub transparent: bool,
    /// `true` if linear light is rendered instead of display colours.
    pub as_light: bool,
    pub clip_from_view: Mat4,
    pub place: GlobalTransform,
    /// Resolution relative to the view.
    pub sharpness: f32,
}

impl ScreenshotTile {
    /// Returns the transform that magnifies this tile to the whole render target.
    pub(super) fn crop(&self) -> Mat4 {
        let [whole, at, size] = [self.whole, self.at, self.size].map(|pixels| pixels.as_vec2());
        let scale = whole / size;
        let middle = 2.0 * (at + 0.5 * size) / whole - 1.0;
        Mat4::from_translation(Vec3::new(-middle.x * scale.x, middle.y * scale.y, 0.0))
            * Mat4::from_scale(scale.extend(1.0))
    }
}

/// The pending screenshot of the view.
#[derive(Resource, Default)]
pub(super) struct ScreenshotState {
    /// `true` if a screenshot was requested and not started yet.
    wanted: bool,
    /// `true` if everything in the view is loaded and nothing moves.
    pub(super) ready: bool,
    /// `true` if the content has changed.
    pub(super) changed: bool,
    /// The tile being rendered, and `true` if it is drawn in this frame.
    pub(super) tile: Option<ScreenshotTile>,
    pub(super) due: bool,
    screenshot: Option<TiledScreenshot>,
    /// Number of the last tile.
    last_tile: u64,
    /// Pixels of a tile read back from the GPU.
    read: Option<(u64, Vec<u8>)>,
}

/// An image rendered tile by tile.
struct TiledScreenshot {
    /// Its project and start.
    of: (u64, u64),
    size: UVec2,
    transparent: bool,
    as_light: bool,
    /// Projection and pose at the time of the request, and the lens.
    seen: (Mat4, GlobalTransform),
    aperture: Aperture,
    /// Resolution relative to the view.
    sharpness: f32,
    /// Render target of the tiles.
    canvas: Handle<Image>,
    /// Upper left corners and sizes of the tiles, and the number of finished ones.
    tiles: Vec<[UVec2; 2]>,
    done: usize,
    /// Accumulated samples of the current tile, and their number.
    exposure: Exposure,
    through: usize,
    /// `true` while the pixels of the tile are being read back.
    reading: bool,
    /// Pixels of the finished tiles; `None` before the first one is started.
    pixels: Option<ImagePixels>,
    progress: JobProgress,
    notice: u64,
}

impl TiledScreenshot {
    /// Returns the number of channels of an 8-bit pixel.
    fn channels(&self) -> usize {
        if self.transparent { 4 } else { 3 }
    }

    /// Allocates the pixels.
    fn empty(&self) -> ImagePixels {
        let count = self.size.x as usize * self.size.y as usize;
        if self.as_light {
            ImagePixels::Light(vec![[0.0; 4]; count])
        } else {
            ImagePixels::Bytes(vec![0; count * self.channels()])
        }
    }

    /// Adds the pixels of the rendered tile.
    fn put(&mut self, rows: &[u8]) {
        let [at, size] = self.tiles[self.done].map(|pixels| [pixels.x as usize, pixels.y as usize]);
        let (channels, side) = (self.channels(), canvas_side(self.size) as usize);
        let begin = |line: usize| (at[1] + line) * self.size.x as usize + at[0];
        self.through += 1;
        let places = self.aperture.places();
        self.progress.done(self.done * places + self.through, self.tiles.len() * places);
        let is_done = self.through == places;
        match &mut self.pixels {
            None => return,
            // The mean of linear light is linear light.
            Some(ImagePixels::Light(light)) => {
                let wide = row_bytes(8 * side);
                for (line, row) in rows.chunks(wide).take(size[1]).enumerate() {
                    let pixels = row.as_chunks::<8>().0[..size[0]].iter().map(light_of);
                    for (sum, pixel) in light[begin(line)..].iter_mut().zip(pixels) {
                        sum.iter_mut().zip(pixel).for_each(|(sum, sample)| *sum += sample / places as f32);
                    }
                }
            }
            Some(ImagePixels::Bytes(bytes)) => {
                let wide = row_bytes(4 * side);
                let rows = || rows.chunks(wide).take(size[1]).map(|row| &row.as_chunks::<4>().0[..size[0]]);
                if places > 1 {
                    self.exposure.add(rows());
                }
                let mixed = if is_done { self.exposure.take_mean(places) } else { Vec::new() };
                for (line, row) in rows().enumerate().take_while(|_| is_done) {
                    let out = &mut bytes[channels * begin(line)..][..channels * size[0]];
                    let row = mixed.get(line * size[0]..(line + 1) * size[0]).unwrap_or(row);
                    for (out, pixel) in out.chunks_exact_mut(channels).zip(row) {
                        out.copy_from_slice(
                            &if self.transparent { to_straight_alpha(*pixel) } else { *pixel }[..channels],
                        );
                    }
                }
            }
        }
        if is_done {
            (self.done, self.through) = (self.done + 1, 0);
        }
    }
}

/// Decodes a pixel of half floats.
fn light_of(pixel: &[u8; 8]) -> [f32; 4] {
    let (halves, _) = pixel.as_chunks::<2>();
    std::array::from_fn(|channel| f16::from_le_bytes(halves[channel]).to_f32())
}

/// Size and pixels of a finished image.
pub type CapturedPixels = ((usize, usize), ImagePixels);

/// Result of a screenshot that is returned instead of saved, or the error.
#[derive(Resource, Default)]
pub struct CaptureResult(pub Option<Result<CapturedPixels, String>>);

/// Returns the side of the render target for tiles of an image.
fn canvas_side(whole: UVec2) -> u32 {
    whole.max_element().min(TILE)
}

/// Converts a pixel from premultiplied to straight alpha.
fn to_straight_alpha([red, green, blue, alpha]: [u8; 4]) -> [u8; 4] {
    if alpha == 0 || alpha == 255 {
        return [red, green, blue, alpha];
    }
    let share = f32::from(alpha) / 255.0;
    let light = LinearRgba::from(Srgba::rgb_u8(red, green, blue)) * (1.0 / share);
    let [red, green, blue, _] = Srgba::from(LinearRgba { alpha: 1.0, ..light }).to_u8_array();
    [red, green, blue, alpha]
}

/// Returns the size of an image whose longer side has `longest` pixels, or of the view if that is 0.
fn size(view: UVec2, longest: f32) -> UVec2 {
    let view = view.max(UVec2::ONE).as_vec2();
    let longest = if longest < 1.0 { view.max_element() } else { longest };
    let scale = longest.min(LONGEST_SIDE as f32) / view.max_element();
    (view * scale).round().as_uvec2().max(UVec2::ONE)
}

/// Returns upper left corners and sizes of the tiles of an image.
fn tiles(whole: UVec2) -> Vec<[UVec2; 2]> {
    let rows = (0..whole.y.div_ceil(TILE)).flat_map(|row| (0..whole.x.div_ceil(TILE)).map(move |column| (column, row)));
    let corners = rows.map(|(column, row)| TILE * UVec2::new(column, row));
    corners.map(|at| [at, (whole - at).min(UVec2::splat(TILE))]).collect()
}

/// Starts a requested screenshot.
pub(super) fn begin_screenshot(
    mut state: ResMut<ScreenshotState>,
    (simulations, revision, preferences): (Res<Simulations>, Res<Revision>, Res<Preferences>),
    (camera, land): (Single<(&Transform, &Projection, &PanOrbitCamera)>, VisibleTerrain),
    view: Res<ViewportArea>,
    mut notices: ResMut<Notices>,
    mut images: ResMut<Assets<Image>>,
    mut caught: Option<ResMut<CaptureResult>>,
) {
    if !std::mem::take(&mut state.wanted) || state.screenshot.is_some() {
        return;
    }
    let (place, projection, orbit) = *camera;
    let seen = (projection.get_clip_from_view(), GlobalTransform::from(*place));
    let blur = preferences.settings.screenshot_blur / 100.0;
    let sharp = land.ahead(seen.0, &seen.1).or(orbit.radius).unwrap_or(FAR);
    let whole = size(view.rect.size(), preferences.settings.screenshot_side);
    let as_light = preferences.settings.screenshot_format == ScreenshotFormat::Exr;
    // Accumulation buffer and output.
    let needed = u64::from(whole.x) * u64::from(whole.y) * if as_light { 16 + 8 } else { 4 };
    if let Err(error) = Budget::present().request(Path::new("screenshot"), needed) {
        match &mut caught {
            Some(caught) => caught.0 = Some(Err(error.to_string())),
            None => drop(notices.notify(NoticeLevel::Error, format!("{error}."))),
        }
        return;
    }
    let progress = JobProgress::default();
    let notice = notices
        .notify_progress(format!("Rendering a screenshot of {} × {} pixels…", whole.x, whole.y), progress.clone());
    notices.add_button(notice, "Cancel", FileCommand::CancelJob(notice));
    state.screenshot = Some(TiledScreenshot {
        of: (simulations.project_id(), revision.start),
        size: whole,
        transparent: preferences.settings.transparent_screenshots,
        as_light,
        seen,
        aperture: Aperture::new(blur, sharp, seen.0),
        sharpness: whole.y as f32 / view.rect.height().max(1) as f32,
        canvas: images.add(canvas(UVec2::splat(canvas_side(whole)), as_light)),
        tiles: tiles(whole),
        done: 0,
        exposure: Exposure::default(),
        through: 0,
        reading: false,
        pixels: None,
        progress,
        notice,
    });
    (state.tile, state.read, state.changed, state.ready) = (None, None, false, false);
}

/// Cancels the screenshot on request, and after another scene was opened.
pub(super) fn cancel_screenshot(
    mut state: ResMut<ScreenshotState>,
    simulations: Res<Simulations>,
    revision: Res<Revision>,
    mut notices: ResMut<Notices>,
) {
    let state = &mut *state;
    let of = (simulations.project_id(), revision.start);
    let cancelled = |screenshot: &&mut TiledScreenshot| screenshot.progress.is_cancelled() || screenshot.of != of;
    if let Some(screenshot) = state.screenshot.as_mut().filter(cancelled) {
        notices.dismiss(screenshot.notice);
        if screenshot.of != of {
            notices.notify(
                NoticeLevel::Warning,
                "Screenshot cancelled because the simulation was restarted or replaced. Take it again.",
            );
        }
        (state.screenshot, state.tile, state.read) = (None, None, None);
    }
}

/// Renders, reads back and assembles the tiles of the screenshot.
pub(super) fn advance_screenshot(
    mut state: ResMut<ScreenshotState>,
    simulations: Res<Simulations>,
    status: Res<RenderStatus>,
    (mut view, mut jobs, mut notices): (ResMut<ViewportArea>, ResMut<Jobs>, ResMut<Notices>),
    mut caught: Option<ResMut<CaptureResult>>,
    mut again: MessageWriter<RequestRedraw>,
    mut commands: Commands,
) {
    let state = &mut *state;
    let holds = state.screenshot.is_some();
    if view.is_taking_screenshot != holds {
        view.is_taking_screenshot = holds;
    }
    let Some(screenshot) = &mut state.screenshot else { return };
    again.write(RequestRedraw);
    if std::mem::take(&mut state.changed) {
        // Tiles of different states do not match. Rendering restarts once the view is idle.
        (screenshot.done, screenshot.through, screenshot.reading) = (0, 0, false);
        (screenshot.exposure, screenshot.pixels) = (Exposure::default(), None);
        (state.tile, state.read, state.ready) = (None, None, false);
    }
    if screenshot.pixels.is_none() {
        if !state.ready {
            return;
        }
        screenshot.pixels = Some(screenshot.empty());
    }
    if let (Some((number, rows)), Some(tile)) = (state.read.take(), state.tile)
        && number == tile.number
    {
        screenshot.put(&rows);
        (screenshot.reading, state.tile) = (false, None);
    }
    if screenshot.done == screenshot.tiles.len() {
        let (width, height) = (screenshot.size.x as usize, screenshot.size.y as usize);
        notices.dismiss(screenshot.notice);
        let stem = format!("{}-{}", simulations.selected().name, simulations.ticks());
        let pixels = screenshot.pixels.take();
        state.screenshot = None;
        match (&mut caught, pixels) {
            (Some(caught), pixels) => caught.0 = pixels.map(|pixels| Ok(((width, height), pixels))),
            (None, Some(pixels)) => jobs.save_screenshot(&mut notices, stem, (width, height), pixels),
            (None, None) => {}
        }
        return;
    }
    let Some(tile) = state.tile else {
        let [at, size] = screenshot.tiles[screenshot.done];
        let TiledScreenshot { transparent, as_light, sharpness, .. } = *screenshot;
        let (clip_from_view, place) = screenshot.aperture.through(screenshot.through, screenshot.seen);
        state.last_tile += 1;
        let (number, onto, whole) = (state.last_tile, screenshot.canvas.id(), screenshot.size);
        let tile =
            ScreenshotTile { number, onto, whole, at, size, transparent, as_light, clip_from_view, place, sharpness };
        (state.tile, state.due) = (Some(tile), true);
        return;
    };
    if !status.has_drawn(tile.number) {
        // Draws in every other frame only: the GPU may still be busy.
        state.due = !state.due;
        return;
    }
    state.due = false;
    if !screenshot.reading {
        screenshot.reading = true;
        let number = tile.number;
        commands.spawn(Readback::texture(screenshot.canvas.clone())).observe(
            move |done: On<ReadbackComplete>, mut state: ResMut<ScreenshotState>, mut commands: Commands| {
                state.read = Some((number, done.data.clone()));
                // Otherwise it would be read back in every frame.
                commands.entity(done.entity).try_despawn();
            },
        );
    }
}

/// Requests screenshots of the view, or captures the window.
pub(super) fn handle_screenshot_command(
    command: On<ScreenshotCommand>,
    mut state: ResMut<ScreenshotState>,
    simulations: Res<Simulations>,
    windows: Query<(), With<PrimaryWindow>>,
    mut commands: Commands,
) {
    if *command.event() == ScreenshotCommand::Take {
        state.wanted = true;
        return;
    }
    if windows.is_empty() {
        return;
    }
    let stem = format!("{}-window", simulations.selected().name);
    commands.spawn(Screenshot::primary_window()).observe(
        move |captured: On<ScreenshotCaptured>, mut jobs: ResMut<Jobs>, mut notices: ResMut<Notices>| {
            let image = match captured.image.clone().try_into_dynamic() {
                Ok(image) => image.to_rgb8(),
                Err(error) => {
                    notices.notify(
                        NoticeLevel::Error,
                        format!("The graphics driver returned no image of the window: {error}."),
                    );
                    return;
                }
            };
            let size = (image.width() as usize, image.height() as usize);
            jobs.save_screenshot(&mut notices, stem.clone(), size, ImagePixels::Bytes(image.into_raw()));
        },
    );
}

/// Minimum interval between captured frames of a video, in seconds.
const FILMED: f32 = 1.0 / 30.0;

/// Maximum number of captures in flight. Each takes some frames.
const ON_THEIR_WAY: usize = 3;

/// Captures the window for the video being recorded.
pub(super) fn film_window(
    recording: Res<Recording>,
    time: Res<Time<Real>>,
    windows: Query<(), With<PrimaryWindow>>,
    under_way: Query<(), With<Screenshot>>,
    mut again: MessageWriter<RequestRedraw>,
    (mut since, mut before): (Local<f32>, Local<bool>),
    mut commands: Commands,
) {
    *since += time.delta_secs();
    // From the second frame on, so that the panels of a turntable video are hidden.
    let is_first = !std::mem::replace(&mut *before, recording.is_at_work());
    if !recording.is_at_work() {
        return;
    }
    again.write(RequestRedraw);
    if is_first
        || recording.seconds().is_none()
        || windows.is_empty()
        || under_way.iter().count() >= ON_THEIR_WAY
        || *since < FILMED
    {
        return;
    }
    *since = (*since - FILMED).min(FILMED);
    commands.spawn(Screenshot::primary_window()).observe(
        |captured: On<ScreenshotCaptured>,
         mut recording: ResMut<Recording>,
         (simulations, jobs): (Res<Simulations>, Res<Jobs>),
         mut notices: ResMut<Notices>| {
            let image = captured.image.clone();
            let size = (image.width() as usize, image.height() as usize);
            let shot = move || {
                let image = image.try_into_dynamic().ok()?.into_rgb8();
                Some(((image.width() as usize, image.height() as usize), image.into_raw()))
            };
            recording.record_frame(size, shot, (&simulations, &jobs), &mut notices);
        },
    );
}

/// Returns width, height and RGB pixels of a captured image.
pub fn rgb(image: &Image) -> ((usize, usize), Vec<u8>) {
    let bytes = image.data.as_deref().unwrap_or_default();
    let pixels = bytes.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    ((image.width() as usize, image.height() as usize), pixels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screenshot_keeps_aspect_ratio_and_requested_size() {
        assert_eq!(size(UVec2::new(900, 600), 0.0), UVec2::new(900, 600));
        assert_eq!(size(UVec2::new(900, 600), 8192.0), UVec2::new(8192, 5461));
        assert_eq!(size(UVec2::new(600, 900), 300.0), UVec2::new(200, 300));
        assert_eq!(size(UVec2::new(0, 0), 100.0), UVec2::new(100, 100));
        assert_eq!(size(UVec2::new(5000, 1), 1000.0), UVec2::new(1000, 1));
        // The tiles cover all of it.
        for whole in [UVec2::new(8192, 5461), UVec2::new(2048, 2048), UVec2::ONE] {
            let tiles = tiles(whole);
            assert_eq!(tiles.iter().map(|[_, size]| size.x * size.y).sum::<u32>(), whole.x * whole.y);
            assert!(tiles.iter().all(|[at, size]| (at + size).cmple(whole).all() && size.max_element() <= TILE));
        }
    }

    #[test]
    fn tile_crop_matches_its_part_of_the_image() {
        let tile = ScreenshotTile {
            number: 1,
            onto: AssetId::default(),
            whole: UVec2::new(3000, 2000),
            at: UVec2::new(2048, 0),
            size: UVec2::new(952, 2000),
            transparent: false,
            as_light: false,
            clip_from_view: Mat4::IDENTITY,
            place: GlobalTransform::IDENTITY,
            sharpness: 1.0,
        };
        // Normalised device coordinates of a pixel in an image.
        let seen = |pixel: Vec2, size: Vec2| Vec2::new(2.0 * pixel.x / size.x - 1.0, 1.0 - 2.0 * pixel.y / size.y);
        for pixel in [Vec2::new(2048.0, 0.0), Vec2::new(2500.0, 700.0), Vec2::new(3000.0, 2000.0)] {
            let whole = seen(pixel, tile.whole.as_vec2());
            let found = tile.crop() * Vec4::new(whole.x * 4.0, whole.y * 4.0, 0.3, 4.0);
            let wanted = seen(pixel - tile.at.as_vec2(), tile.size.as_vec2());
            assert!((found.xy() / found.w - wanted).length() < 1e-5, "{pixel}: {found}, not {wanted}");
            assert_eq!(found.zw(), Vec2::new(0.3, 4.0));
        }
    }

    #[test]
    fn straight_alpha_keeps_colour_of_half_transparent_edges() {
        // Half of a bright pixel, premultiplied: half of its light.
        assert_eq!(to_straight_alpha([188, 188, 0, 128]), [255, 255, 0, 128]);
        assert_eq!(to_straight_alpha([10, 20, 30, 255]), [10, 20, 30, 255]);
        assert_eq!(to_straight_alpha([0, 0, 0, 0]), [0, 0, 0, 0]);
    }
}
