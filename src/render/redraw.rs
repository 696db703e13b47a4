//! Redraw scheduling: the view is drawn when something in it has changed and everything it needs is loaded. Otherwise the last
//! image stays and a frame costs no more than the panels.
//!
//! Adaptive resolution: while something moves, a view that takes too long is drawn at half its width and height. Once idle, it is
//! drawn at full quality.

use crate::world::{
    BrushCursor, Brushes, Comparison, CutLine, Deadline, Divider, Overlay, PointerOverView, Preferences, Revision,
    RiverExtraction, RiverOverlay, Simulations, Transport, ViewportArea,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bevy::{
    camera::CameraUpdateSystems,
    ecs::system::SystemParam,
    input::{keyboard::KeyboardInput, mouse::MouseMotion},
    prelude::*,
    render::RenderApp,
    window::RequestRedraw,
};
use bevy_panorbit_camera::{PanOrbitCamera, PanOrbitCameraSystemSet};

use super::{
    DrawSystems,
    capture::{self, ScreenshotState, ScreenshotTile},
    ground::{BlockLighting, TerrainBlocks},
    surroundings::Surroundings,
};
use thalweg_scene::{
    look::ToneCurve,
    settings::{AntiAliasing, Quality},
};
use thalweg_sim::core::quantity::Quantity;

/// Frames drawn after the last change: textures and settings take a few to arrive.
const LINGERS: u32 = 3;
/// Time after its last movement for which the pointer counts as active.
const REST: Duration = Duration::from_millis(400);

/// Fraction of the full width and height at which a view that takes too long is drawn while it moves.
const HALF: f32 = 0.5;
/// Size factor of its triangles: on a software renderer, small ones cost more than the pixels they cover.
const COARSE: f32 = 3.0;
/// Maximum time to draw a moving frame at full resolution.
const GOAL: Duration = Duration::from_millis(33);
/// Maximum time to draw a frame at half the resolution after which the full one is tried again. A frame that waits for a display of
/// 60 Hz takes less.
const FAST: Duration = Duration::from_millis(18);
/// Evaluations after which the full resolution is tried again. They double each time that it takes too long.
const FIRST_WAIT: u32 = 6;
/// Frames measured before the resolution may change.
const SEEN: usize = 5;
/// Consecutive evaluations at half the resolution after which the machine counts as too slow for its quality.
const TRIES: u32 = 6;
/// Frames without pending resources after which the resolution may change: an image of the old size would otherwise be displayed as
/// one of the new size.
const CALM: u32 = 3;
/// Time after the last change at which the view counts as idle.
const STILL: Duration = Duration::from_millis(150);

pub(super) fn plugin(app: &mut App) {
    let status = RenderStatus::default();
    app.insert_resource(status.clone()).init_resource::<DrawSettings>().init_resource::<FixedStep>().add_systems(
        PostUpdate,
        (capture::begin_screenshot, capture::cancel_screenshot, capture::advance_screenshot, draw_when_changed)
            .chain()
            .in_set(DrawSystems)
            .after(PanOrbitCameraSystemSet)
            .before(TransformSystems::Propagate)
            .before(CameraUpdateSystems),
    );
    if let Some(render) = app.get_sub_app_mut(RenderApp) {
        render.insert_resource(status);
    }
}

/// State reported by the render world.
#[derive(Resource, Clone, Default)]
pub(super) struct RenderStatus(Arc<StatusFlags>);

struct StatusFlags {
    /// `true` while a mesh, a texture or a shader is not ready.
    waits: AtomicBool,
    /// Number of the last tile that was drawn.
    tile: AtomicU64,
}

impl Default for StatusFlags {
    fn default() -> Self {
        Self { waits: AtomicBool::new(true), tile: AtomicU64::new(0) }
    }
}

impl RenderStatus {
    pub(super) fn set_waiting(&self, waits: bool) {
        self.0.waits.store(waits, Ordering::Relaxed);
    }

    pub(super) fn record_drawn_tile(&self, tile: u64) {
        self.0.tile.store(tile, Ordering::Relaxed);
    }

    /// `true` if this tile was drawn.
    pub(super) fn has_drawn(&self, tile: u64) -> bool {
        self.0.tile.load(Ordering::Relaxed) == tile
    }
}

/// Draw settings of this frame.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct DrawSettings {
    pub due: bool,
    /// Drawn pixels, in the upper left part of the image.
    pub size: UVec2,
    /// Samples per pixel.
    pub samples: u32,
    /// Minimum apparent side of terrain triangles as a fraction of the view height.
    pub triangle: f32,
    /// `true` if detail below the cell size is drawn.
    pub fine: bool,
    pub tone: ToneCurve,
    /// Tile to draw instead of the view, for screenshots and videos.
    pub tile: Option<ScreenshotTile>,
}

impl DrawSettings {
    /// `true` if linear light is rendered instead of display colours.
    pub(super) fn is_light(&self) -> bool {
        self.tile.is_some_and(|tile| tile.as_light)
    }
}

/// Fixed quality of a moving view, for benchmarks: fraction of the full width and height, and `true` for coarse terrain.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub struct FixedStep(pub Option<(f32, bool)>);

/// Resolution of a moving view, which is halved if the full one takes too long.
#[derive(Default)]
struct FramePacing {
    halved: bool,
    /// Times to draw the last frames.
    frames: Vec<Duration>,
    /// Evaluations until the full resolution may be tried again, and number of times that it took too long.
    wait: u32,
    failures: u32,
    /// Consecutive evaluations at half the resolution that were not fast.
    slow: u32,
}

impl FramePacing {
    /// Records the time to draw a moving frame.
    fn record(&mut self, took: Duration) {
        self.frames.push(took);
        if self.frames.len() < SEEN {
            return;
        }
        self.frames.sort();
        let median = self.frames[SEEN / 2];
        self.frames.clear();
        let is_fast = median < FAST;
        self.slow = if self.halved && !is_fast { self.slow + 1 } else { 0 };
        if self.halved {
            self.wait = self.wait.saturating_sub(1);
            self.halved = self.wait > 0 || !is_fast;
        } else if median > GOAL {
            self.halved = true;
            self.wait = FIRST_WAIT << self.failures.min(10);
            self.failures += 1;
        }
    }

    /// `true` if the machine is too slow for its quality setting.
    fn is_too_slow(&self) -> bool {
        self.slow > TRIES
    }

    /// Returns the fraction of the full width and height, and `true` for coarse terrain.
    fn step(&self) -> (f32, bool) {
        if self.halved { (HALF, true) } else { (1.0, false) }
    }
}

/// Everything the view shows, and its requests.
#[derive(SystemParam)]
struct RedrawInputs<'w> {
    simulations: Res<'w, Simulations>,
    comparison: Res<'w, State<Comparison>>,
    divider: Res<'w, Divider>,
    view: ResMut<'w, ViewportArea>,
    preferences: ResMut<'w, Preferences>,
    on_land: TerrainDecorations<'w>,
    revision: Res<'w, Revision>,
    status: Res<'w, RenderStatus>,
    blocks: Res<'w, TerrainBlocks>,
    surroundings: Res<'w, Surroundings>,
}

/// Lighting of the terrain, and annotations on it.
#[derive(SystemParam)]
struct TerrainDecorations<'w> {
    lighting: Res<'w, BlockLighting>,
    overlay: Res<'w, Overlay>,
    channels: Res<'w, RiverOverlay>,
    extraction: Res<'w, RiverExtraction>,
    brushes: Res<'w, Brushes>,
    cut: Res<'w, CutLine>,
    cursor: Res<'w, BrushCursor>,
}

impl TerrainDecorations<'_> {
    /// Returns the kinds that are drawn.
    fn kinds(&self, simulations: &Simulations) -> AnnotationKinds {
        AnnotationKinds {
            mask: self.overlay.tints_mask(&self.brushes, simulations),
            ring: self.cursor.0.is_some(),
            overlay: (self.overlay.shown, self.overlay.arrows),
            flows: self.overlay.flows.iter().map(Option::is_some).collect(),
            rivers: self.channels.maps.iter().map(Option::is_some).collect(),
            cut: self.cut.0,
        }
    }
}

impl RedrawInputs<'_> {
    /// `true` if the terrain or its annotations may have changed.
    fn has_scene_changed(&self) -> bool {
        self.simulations.is_changed()
            || self.comparison.is_changed()
            || self.divider.is_changed()
            || self.on_land.overlay.is_changed()
            || self.on_land.channels.is_changed()
            || self.surroundings.is_changed()
    }

    /// `true` while parts of the image are computed in the background.
    fn waits_for_parts(&self) -> bool {
        self.blocks.waits_for_light() || self.surroundings.waits_for_letters()
    }
}

/// Kinds of annotations on the terrain. Another kind may need another shader; new values, as in every tick and stroke, need none.
#[derive(Default, PartialEq)]
struct AnnotationKinds {
    mask: bool,
    ring: bool,
    overlay: (Option<Quantity>, bool),
    flows: Vec<bool>,
    rivers: Vec<bool>,
    /// Line of the cut, if the block is cut open.
    cut: Option<[[f32; 2]; 2]>,
}

/// State of the last drawn frame and of recent input.
#[derive(Default)]
struct RedrawState {
    /// Frames still to draw.
    due: u32,
    /// Start of the last drawn frame, its duration, and `true` if another frame was requested immediately after it.
    begun: Option<Instant>,
    took: Duration,
    again: bool,
    /// Time of the last change in the view.
    changed: Option<Instant>,
    /// Time of the last user input.
    moved: Option<Instant>,
    /// Last camera pose and field of view.
    place: Option<(Transform, f32)>,
    /// Consecutive frames without pending resources since a change that may need another shader.
    calm: u32,
    /// Annotations last drawn on the terrain.
    kinds: AnnotationKinds,
    /// Width and height of the image, in pixels.
    whole: UVec2,
    pacing: FramePacing,
}

#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
fn draw_when_changed(
    mut seen: RedrawInputs,
    camera: Single<(&Transform, &Projection), With<PanOrbitCamera>>,
    mut motion: MessageReader<MouseMotion>,
    mut keys: MessageReader<KeyboardInput>,
    (over_view, transport, fixed, deadline): (Res<PointerOverView>, Res<Transport>, Res<FixedStep>, Res<Deadline>),
    images: Res<Assets<Image>>,
    mut drawing: ResMut<DrawSettings>,
    mut again: MessageWriter<RequestRedraw>,
    mut screenshots: ResMut<ScreenshotState>,
    mut last: Local<RedrawState>,
) {
    let (transform, projection) = *camera;
    let now = Instant::now();
    let settings = seen.preferences.settings.resolved(seen.preferences.software);
    let waits = seen.status.0.waits.load(Ordering::Relaxed);
    let runs = transport.playing && !seen.view.is_taking_screenshot || !seen.simulations.is_displayable();
    // A frame that waits for a shader is no measure of rendering time.
    if let (true, true, Some(begun), false) = (drawing.due, last.again, last.begun, waits) {
        last.took = now - begun;
        if last.changed.is_some_and(|changed| changed >= begun) {
            let took = last.took.saturating_sub(deadline.spent());
            last.pacing.record(took);
            // The quality was chosen by adapter type. A GPU as slow as a CPU is treated as one.
            if settings.adaptive_resolution
                && last.pacing.is_too_slow()
                && !seen.preferences.software
                && settings.quality == Quality::Automatic
            {
                seen.preferences.software = true;
                last.pacing = FramePacing::default();
            }
        }
    }
    if motion.read().count() + keys.read().count() > 0 {
        last.moved = Some(now);
    }
    let fov = if let Projection::Perspective(lens) = projection { lens.fov } else { 0.0 };
    let place = Some((*transform, fov));
    let kinds = seen.on_land.kinds(&seen.simulations);
    // `true` after changes that may need another shader.
    let other = seen.comparison.is_changed() || seen.preferences.is_changed() || kinds != last.kinds;
    last.kinds = kinds;
    let ring = seen.on_land.cursor.is_changed() || seen.on_land.brushes.is_changed();
    let relit = seen.on_land.lighting.is_changed();
    let stood = last.changed.is_none_or(|changed| now - changed >= STILL);
    if runs || other || ring || relit || seen.has_scene_changed() || seen.view.is_changed() || last.place != place {
        last.changed = Some(now);
    }
    last.calm = if waits || other && stood { 0 } else { last.calm.saturating_add(1) };
    if last.changed == Some(now) || waits {
        last.due = LINGERS;
    }
    last.place = place;
    let whole = images.get(&seen.view.image).map_or(UVec2::ONE, Image::size);
    let moves = last.changed.is_some_and(|changed| now - changed < STILL);
    let step = fixed.0.unwrap_or(last.pacing.step());
    let (share, coarse) = if settings.adaptive_resolution && moves { step } else { (1.0, false) };
    let mut size = (whole.as_vec2() * share).round().as_uvec2().max(UVec2::ONE);
    // After the window was resized, there is no image of the new size yet.
    let resized = last.whole != whole;
    if resized {
        last.pacing = FramePacing::default();
    }
    if last.calm < CALM && !resized && drawing.tile.is_none() && drawing.size.min_element() > 0 {
        size = drawing.size;
    }
    last.whole = whole;
    let samples = match settings.anti_aliasing {
        // Idle views have time for anti-aliasing. The image is first completed, then smoothed: that may have to wait for a shader.
        AntiAliasing::Off if !settings.adaptive_resolution || moves || drawing.size != whole => 1,
        _ => 4,
    };
    let triangle = settings.triangle * if coarse { COARSE } else { 1.0 } / whole.y as f32;
    let tone = seen.simulations.selected().look.tone_curve;
    let wanted = DrawSettings { due: drawing.due, size, samples, triangle, fine: !coarse, tone, tile: None };
    let complete = seen.blocks.is_on_screen(*seen.revision)
        && !seen.surroundings.waits_for_letters()
        && seen.on_land.extraction.is_current(&seen.simulations, *seen.revision);
    // Off-screen the camera does not have to be idle: the pose of the request is kept.
    screenshots.ready = complete && !(moves && settings.adaptive_resolution) && !runs && last.calm >= CALM;
    screenshots.changed |= relit || seen.has_scene_changed();
    // A resized window first gets its own view.
    if let Some(tile) = screenshots.tile.filter(|_| !resized) {
        let (due, triangle) = (screenshots.due, settings.triangle / tile.whole.y as f32);
        *drawing = DrawSettings { due, size: tile.size, samples: 4, triangle, fine: true, tone, tile: Some(tile) };
        // Its duration is no measure for the view.
        (last.again, last.begun) = (false, None);
        last.pacing.frames.clear();
        return;
    }
    // Redraw at full quality what was drawn at lower quality in motion.
    if *drawing != wanted {
        last.due = last.due.max(1);
    }
    // On a software renderer, drawing takes at most half of the time while a slider is dragged, so that it follows the pointer.
    let on_panels = !over_view.view && last.moved.is_some_and(|moved| moved.elapsed() < REST);
    let rests = last.begun.is_some_and(|begun| begun.elapsed() < 2 * last.took);
    let due = last.due > 0 && !(seen.preferences.software && on_panels && rests);
    *drawing = DrawSettings { due, ..if due { wanted } else { *drawing } };
    if due {
        last.due = last.due.saturating_sub(1);
        last.begun = Some(now);
        // Half a pixel less where old pixels adjoin new ones.
        let edge = |size: u32, whole: u32| if size < whole { 0.5 } else { 0.0 };
        let edges = Vec2::new(edge(size.x, whole.x), edge(size.y, whole.y));
        let view = seen.view.bypass_change_detection();
        view.rendered_fraction = (size.as_vec2() - edges) / whole.as_vec2();
        view.frames += 1;
    }
    last.again =
        last.due > 0 || last.changed.is_some_and(|changed| changed.elapsed() < 2 * STILL) || seen.waits_for_parts();
    if last.again {
        again.write(RequestRedraw);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates frames of `fixed` plus rendering time (`full` at full resolution), in milliseconds. Returns for each frame whether it
    /// is halved.
    fn frames(pacing: &mut FramePacing, fixed: f32, full: f32) -> Vec<bool> {
        let frame = |_| {
            let (share, coarse) = pacing.step();
            let drawing_ms = full * share * share * if coarse { 0.7 } else { 1.0 };
            pacing.record(Duration::from_secs_f32((fixed + drawing_ms) / 1000.0));
            coarse
        };
        (0..300).map(frame).collect()
    }

    #[test]
    fn slow_rendering_is_halved_at_once_and_for_good() {
        let halved = frames(&mut FramePacing::default(), 12.0, 60.0);
        assert_eq!(halved[..SEEN], [false; SEEN]);
        assert!(halved[SEEN..].iter().all(|&halved| halved));
    }

    #[test]
    fn full_resolution_is_kept_unless_rendering_is_slow() {
        let mut pacing = FramePacing::default();
        assert!(frames(&mut pacing, 5.0, 20.0).into_iter().all(|halved| !halved));
        // One slow frame is not an evaluation.
        for took in [500, 9, 9, 9, 9] {
            pacing.record(Duration::from_millis(took));
        }
        assert!(!pacing.halved);
    }

    #[test]
    fn full_resolution_returns_when_frames_get_faster() {
        let mut pacing = FramePacing::default();
        frames(&mut pacing, 10.0, 80.0);
        assert!(pacing.halved);
        frames(&mut pacing, 2.0, 12.0);
        assert!(!pacing.halved);
    }

    #[test]
    fn full_resolution_is_tried_ever_more_rarely() {
        // Fast at half the resolution, but too slow at the full one.
        let halved = frames(&mut FramePacing::default(), 5.0, 40.0);
        let tries = halved.windows(2).filter(|pair| pair[0] && !pair[1]).count();
        assert!((1..=4).contains(&tries), "{tries} in {} frames", halved.len());
    }

    #[test]
    fn only_persistently_slow_machine_is_too_slow() {
        let mut pacing = FramePacing::default();
        frames(&mut pacing, 5.0, 20.0);
        assert!(!pacing.is_too_slow());
        (0..SEEN).for_each(|_| pacing.record(Duration::from_millis(120)));
        assert!(pacing.halved && !pacing.is_too_slow());
        frames(&mut pacing, 10.0, 300.0);
        assert!(pacing.is_too_slow());
    }
}
