//! When the picture is drawn again, and with how many pixels: when something in it has changed and all that it needs is there. Else
//! the last one stays, and a frame costs no more than the panels.
//!
//! While something moves, a picture that takes too long is drawn with fewer pixels. Once all stands still, it is drawn in full.

use crate::world::{
    BrushCursor, Brushes, Channels, Comparison, CutLine, Divider, FreeView, Overlay, PointerOverView, Preferences,
    Revision, Simulations, Transport,
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
    capture::{self, Part, Taking},
    ground::Blocks,
};
use thalweg_scene::{
    look::ToneCurve,
    settings::{AntiAliasing, Quality},
};
use thalweg_sim::core::quantity::Quantity;

/// Frames for which the picture is drawn after the last change: textures and settings take some to arrive.
const LINGERS: u32 = 3;
/// After its last movement, the pointer counts as busy on the panels for so long.
const REST: Duration = Duration::from_millis(400);

/// How a moving picture is drawn, from fine to coarse: its sides as shares of what they are when all stands still, and whether the
/// ground has its coarse shape. Where the processor draws, small triangles cost more than the pixels that they cover.
const STEPS: [(f32, bool); 6] = [(1.0, false), (1.0, true), (0.8, true), (0.64, true), (0.5, true), (0.4, true)];
/// How many times as large triangles are in the coarse shape.
const COARSE: f32 = 3.0;
/// What a frame takes more with the fine shape of the ground, at most.
const FINE: f32 = 1.6;
/// A picture that has this step or a coarser one for so many looks is too fine for the machine.
const FAR: usize = 3;
const TRIES: u32 = 6;
/// A moving frame may take so long.
const GOAL: Duration = Duration::from_millis(50);
/// So many frames are looked at before the number of pixels changes; more while the land runs, whose frames differ much from each other.
const SEEN: usize = 5;
const SEEN_RUNNING: usize = 15;
/// Fewer pixels are kept if a frame then takes at most this share of its time.
const HELPS: f32 = 0.93;
/// Looks in a row that must say so before a coarser picture counts as no help.
const DOUBTS: usize = 2;
/// Where a coarser picture did not help, it is tried again after so many looks; the next time after twice as many, and so on.
const CONTENT: u32 = 20;
/// After so many frames in which nothing was waited for, the number of pixels may change: else a picture of the old size would be
/// shown as one of the new.
const CALM: u32 = 3;
/// After the last change, all counts as standing still.
const STILL: Duration = Duration::from_millis(150);

pub(super) fn plugin(app: &mut App) {
    let waiting = Waiting::default();
    app.insert_resource(waiting.clone()).init_resource::<Drawing>().init_resource::<FixedStep>().add_systems(
        PostUpdate,
        (capture::take, draw_when_changed)
            .chain()
            .in_set(DrawSystems)
            .after(PanOrbitCameraSystemSet)
            .before(TransformSystems::Propagate)
            .before(CameraUpdateSystems),
    );
    if let Some(render) = app.get_sub_app_mut(RenderApp) {
        render.insert_resource(waiting);
    }
}

/// What the render world last saw.
#[derive(Resource, Clone, Default)]
pub(super) struct Waiting(Arc<Told>);

struct Told {
    /// Whether a mesh, a texture or a shader is not there yet.
    waits: AtomicBool,
    /// Number of the last part of a picture that was drawn.
    part: AtomicU64,
}

impl Default for Told {
    fn default() -> Self {
        Self { waits: AtomicBool::new(true), part: AtomicU64::new(0) }
    }
}

impl Waiting {
    pub(super) fn tell(&self, waits: bool) {
        self.0.waits.store(waits, Ordering::Relaxed);
    }

    pub(super) fn tell_drawn(&self, part: u64) {
        self.0.part.store(part, Ordering::Relaxed);
    }

    /// Whether this part of a picture was drawn.
    pub(super) fn has_drawn(&self, part: u64) -> bool {
        self.0.part.load(Ordering::Relaxed) == part
    }
}

/// Whether and how the picture is drawn in this frame.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Drawing {
    pub due: bool,
    /// Pixels that are drawn: the left upper part of the picture.
    pub size: UVec2,
    /// Samples for each pixel.
    pub samples: u32,
    /// Side of the triangles of land as they are seen, at least, as a share of the picture's height.
    pub triangle: f32,
    /// Whether what is smaller than a cell is drawn.
    pub fine: bool,
    pub tone: ToneCurve,
    /// A part of a picture that is saved is drawn instead of the view.
    pub part: Option<Part>,
}

impl Drawing {
    /// Whether light is drawn, and not what the screen shows of it.
    pub(super) fn is_light(&self) -> bool {
        self.part.is_some_and(|part| part.as_light)
    }
}

/// The step of a moving picture, whatever frames take: to measure what it costs. Its sides as shares of what they are when all stands
/// still, and whether the ground has its coarse shape.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub struct FixedStep(pub Option<(f32, bool)>);

/// How coarse a moving picture is, by how long the last frames took.
#[derive(Default)]
struct Pace {
    step: usize,
    frames: Vec<Duration>,
    /// The step from which a coarser one is being tried, and how long a frame took there, in seconds.
    finer: Option<(usize, f32)>,
    /// The coarser step that seemed not to help, and how long a frame took there, in seconds. The machine may have become slower
    /// meanwhile, so the finer step is looked at again.
    in_doubt: Option<(usize, f32)>,
    /// Looks at which the coarser one did not help. One alone may be noise.
    doubts: usize,
    /// For so many looks, nothing coarser is tried again.
    content: u32,
    /// How often something coarser did not help.
    in_vain: u32,
    /// For so many looks in a row it was far from the finest.
    slow: u32,
}

impl Pace {
    /// Sees how long a moving frame took from its begin to that of the next, and whether the land runs.
    fn see(&mut self, took: Duration, runs: bool) {
        self.frames.push(took);
        let count = self.frames.len();
        if count < if runs { SEEN_RUNNING } else { SEEN } {
            return;
        }
        self.frames.sort();
        let median = self.frames[count / 2].as_secs_f32();
        self.frames.clear();
        let goal = GOAL.as_secs_f32();
        self.content = self.content.saturating_sub(1);
        if self.slow == TRIES {
            // One step finer was tried, even if it was not expected to fit.
            self.in_doubt = None;
            self.slow = if median > goal { TRIES + 1 } else { 0 };
            return;
        }
        if let Some((coarser, took)) = self.in_doubt.take() {
            if took <= HELPS * median && median > goal {
                self.step = coarser;
            } else {
                // The time goes elsewhere, not into the picture.
                self.content = CONTENT << self.in_vain.min(6);
                self.in_vain += 1;
            }
            return;
        }
        let helped = self.finer.is_none_or(|(_, finer)| median <= HELPS * finer);
        self.doubts = if helped { 0 } else { self.doubts + 1 };
        if (1..DOUBTS).contains(&self.doubts) {
            return;
        }
        self.doubts = 0;
        let tried = self.finer.take();
        if let Some((finer, _)) = tried.filter(|_| !helped) {
            self.in_doubt = Some((self.step, median));
            self.step = finer;
        } else if median > goal && self.step + 1 < STEPS.len() && self.content == 0 {
            self.finer = Some((self.step, median));
            // What two steps gain is told from noise. One is enough if all of the time goes into the picture.
            self.step +=
                if median > goal * Self::more_than(self.step + 1) { 2.min(STEPS.len() - 1 - self.step) } else { 1 };
        } else if self.step > 0 && median * Self::more_than(self.step) < 0.8 * goal {
            self.step -= 1;
        }
        self.slow = if self.step >= FAR { self.slow.saturating_add(1) } else { 0 };
        if self.slow == TRIES {
            self.step -= 1;
            self.finer = None;
        }
    }

    /// Whether the machine draws too slowly for the quality that it has.
    fn gives_up(&self) -> bool {
        self.slow > TRIES
    }

    /// How many times as long as with a step a frame takes one step finer, if all of it goes into the picture.
    fn more_than(step: usize) -> f32 {
        let [(finer, _), (here, _)] = [STEPS[step - 1], STEPS[step]];
        (finer / here).powi(2) * if finer == here { FINE } else { 1.0 }
    }
}

/// All that the picture shows, and what asks for it.
#[derive(SystemParam)]
struct Seen<'w> {
    simulations: Res<'w, Simulations>,
    comparison: Res<'w, State<Comparison>>,
    divider: Res<'w, Divider>,
    view: ResMut<'w, FreeView>,
    preferences: ResMut<'w, Preferences>,
    on_land: OnLand<'w>,
    revision: Res<'w, Revision>,
    brushes: Res<'w, Brushes>,
    waiting: Res<'w, Waiting>,
    blocks: Res<'w, Blocks>,
}

/// What lies on the land.
#[derive(SystemParam)]
struct OnLand<'w> {
    overlay: Res<'w, Overlay>,
    channels: Res<'w, Channels>,
    cut: Res<'w, CutLine>,
    cursor: Res<'w, BrushCursor>,
}

impl OnLand<'_> {
    /// What is drawn.
    fn kinds(&self) -> Kinds {
        Kinds {
            ring: self.cursor.0.is_some(),
            overlay: (self.overlay.shown, self.overlay.arrows),
            flows: self.overlay.flows.iter().map(Option::is_some).collect(),
            rivers: self.channels.maps.iter().map(Option::is_some).collect(),
            cut: self.cut.0,
        }
    }
}

impl Seen<'_> {
    /// Whether the land and what lies over it may look different.
    fn another_land(&self) -> bool {
        self.simulations.is_changed()
            || self.comparison.is_changed()
            || self.divider.is_changed()
            || self.on_land.overlay.is_changed()
            || self.on_land.channels.is_changed()
    }
}

/// What is drawn on the land. Of another kind it may need another shader; where its values are others, as in every tick and with every
/// stroke, it needs none.
#[derive(Default, PartialEq)]
struct Kinds {
    ring: bool,
    overlay: (Option<Quantity>, bool),
    flows: Vec<bool>,
    rivers: Vec<bool>,
    /// The line along which the block is cut open, if it is.
    cut: Option<[[f32; 2]; 2]>,
}

/// When the picture was drawn last, and when the person last moved something.
#[derive(Default)]
struct Last {
    /// Frames for which it is still to be drawn.
    due: u32,
    /// When the last picture was begun, how long that frame took, and whether another frame was to follow it at once.
    begun: Option<Instant>,
    took: Duration,
    again: bool,
    /// When something in the picture last changed.
    changed: Option<Instant>,
    /// When the person last moved.
    moved: Option<Instant>,
    /// Where the camera was, and how often the light had been found.
    place: Option<(Transform, f32, u64)>,
    /// Frames in a row in which nothing was waited for, since a change may have asked for another shader.
    calm: u32,
    /// What there was on the land.
    kinds: Kinds,
    /// Width and height of the picture, in pixels.
    whole: UVec2,
    pace: Pace,
}

#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
fn draw_when_changed(
    mut seen: Seen,
    camera: Single<(&Transform, &Projection), With<PanOrbitCamera>>,
    mut motion: MessageReader<MouseMotion>,
    mut keys: MessageReader<KeyboardInput>,
    (over_view, transport, fixed): (Res<PointerOverView>, Res<Transport>, Res<FixedStep>),
    images: Res<Assets<Image>>,
    mut drawing: ResMut<Drawing>,
    mut again: MessageWriter<RequestRedraw>,
    mut taking: ResMut<Taking>,
    mut last: Local<Last>,
) {
    let (transform, projection) = *camera;
    let now = Instant::now();
    let settings = seen.preferences.settings.resolved(seen.preferences.software);
    let waits = seen.waiting.0.waits.load(Ordering::Relaxed);
    let runs = transport.playing && !seen.view.taking || !seen.simulations.rests();
    // A frame that waits for a shader says nothing of how long a picture takes.
    if let (true, true, Some(begun), false) = (drawing.due, last.again, last.begun, waits) {
        last.took = now - begun;
        if last.changed.is_some_and(|changed| changed >= begun) {
            let took = last.took;
            last.pace.see(took, runs);
            // The quality was chosen by the adapter's kind. A card that is as slow as a processor is treated as one.
            if settings.steady
                && last.pace.gives_up()
                && !seen.preferences.software
                && settings.quality == Quality::Automatic
            {
                seen.preferences.software = true;
                last.pace = Pace::default();
            }
        }
    }
    if motion.read().count() + keys.read().count() > 0 {
        last.moved = Some(now);
    }
    let fov = if let Projection::Perspective(lens) = projection { lens.fov } else { 0.0 };
    let place = Some((*transform, fov, seen.blocks.times_lit()));
    let kinds = seen.on_land.kinds();
    // Whether something has changed that may need another shader.
    let other = seen.comparison.is_changed() || seen.preferences.is_changed() || kinds != last.kinds;
    last.kinds = kinds;
    let ring = seen.on_land.cursor.is_changed() || seen.brushes.is_changed();
    let relit = last.place.is_some_and(|(.., before)| before != seen.blocks.times_lit());
    let stood = last.changed.is_none_or(|changed| now - changed >= STILL);
    if runs || other || ring || seen.another_land() || seen.view.is_changed() || last.place != place {
        last.changed = Some(now);
    }
    last.calm = if waits || other && stood { 0 } else { last.calm.saturating_add(1) };
    if last.changed == Some(now) || waits {
        last.due = LINGERS;
    }
    last.place = place;
    let whole = images.get(&seen.view.picture).map_or(UVec2::ONE, Image::size);
    let moves = last.changed.is_some_and(|changed| now - changed < STILL);
    let step = fixed.0.unwrap_or(STEPS[last.pace.step]);
    let (share, coarse) = if settings.steady && moves { step } else { (1.0, false) };
    let mut size = (whole.as_vec2() * share).round().as_uvec2().max(UVec2::ONE);
    // Of another size of the window there is no picture yet.
    let resized = last.whole != whole;
    if last.calm < CALM && !resized && drawing.part.is_none() && drawing.size.min_element() > 0 {
        size = drawing.size;
    }
    last.whole = whole;
    let samples = match settings.anti_aliasing {
        // Where all stands still, there is time for smooth edges. First the picture is whole, then smooth: for that it may have to
        // wait for a shader.
        AntiAliasing::Off if !settings.steady || moves || drawing.size != whole => 1,
        _ => 4,
    };
    let triangle = settings.triangle * if coarse { COARSE } else { 1.0 } / whole.y as f32;
    let tone = seen.simulations.selected().look.tone_curve;
    let wanted = Drawing { due: drawing.due, size, samples, triangle, fine: !coarse, tone, part: None };
    let complete = seen.blocks.show(*seen.revision) && seen.on_land.channels.are_of(&seen.simulations, *seen.revision);
    // Off-screen the camera does not have to rest: the picture keeps the place from which it was asked for.
    taking.ready = complete && !(moves && settings.steady) && !runs && last.calm >= CALM;
    taking.changed |= relit || seen.another_land();
    // A window of another size first gets a view of its own.
    if let Some(part) = taking.part.filter(|_| !resized) {
        let (due, triangle) = (taking.due, settings.triangle / part.whole.y as f32);
        *drawing = Drawing { due, size: part.size, samples: 4, triangle, fine: true, tone, part: Some(part) };
        // How long that takes says nothing of the view.
        (last.again, last.begun) = (false, None);
        last.pace.frames.clear();
        return;
    }
    // What was drawn with less while it moved is drawn again in full.
    if *drawing != wanted {
        last.due = last.due.max(1);
    }
    // Where the processor draws, pictures take at most half of the time while a slider is moved, so that it follows the pointer.
    let on_panels = !over_view.view && last.moved.is_some_and(|moved| moved.elapsed() < REST);
    let rests = last.begun.is_some_and(|begun| begun.elapsed() < 2 * last.took);
    let due = last.due > 0 && !(seen.preferences.software && on_panels && rests);
    *drawing = Drawing { due, ..if due { wanted } else { *drawing } };
    if due {
        last.due = last.due.saturating_sub(1);
        last.begun = Some(now);
        // Half a pixel less, where old pixels lie beside the new ones.
        let edge = |size: u32, whole: u32| if size < whole { 0.5 } else { 0.0 };
        let edges = Vec2::new(edge(size.x, whole.x), edge(size.y, whole.y));
        let view = seen.view.bypass_change_detection();
        view.share = (size.as_vec2() - edges) / whole.as_vec2();
        view.drawn += 1;
    }
    last.again = last.due > 0 || last.changed.is_some_and(|changed| changed.elapsed() < 2 * STILL);
    if last.again {
        again.write(RequestRedraw);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames that take so many milliseconds, and as many more for the finest picture. Returns the steps of all frames.
    fn steps(fixed: f32, finest: f32) -> Vec<usize> {
        let mut pace = Pace::default();
        (0..300)
            .map(|_| {
                let (step, (share, coarse)) = (pace.step, STEPS[pace.step]);
                let picture = finest * share * share * if coarse { 0.7 } else { 1.0 };
                pace.see(Duration::from_secs_f32((fixed + picture) / 1000.0), false);
                step
            })
            .collect()
    }

    #[test]
    fn a_picture_that_takes_too_long_gets_coarser_until_it_fits_and_stays_so() {
        let steps = steps(15.0, 120.0);
        assert_eq!(steps[..SEEN], [0; SEEN]);
        let (share, _) = STEPS[steps[299]];
        assert!(15.0 + 0.7 * 120.0 * share * share <= 50.0 && steps[100..].iter().all(|&step| step == steps[299]));
    }

    #[test]
    fn a_fast_machine_draws_the_finest_picture_and_so_does_one_whose_time_goes_elsewhere() {
        assert!(steps(5.0, 20.0).into_iter().all(|step| step == 0));
        let finest = steps(180.0, 6.0).into_iter().filter(|&step| step == 0).count();
        assert!(finest >= 280, "{finest} of 300");
    }

    #[test]
    fn a_machine_that_becomes_slower_while_a_coarser_picture_is_tried_keeps_the_coarser_one() {
        // All takes 1.6 times as long as soon as a coarser one is tried.
        let last = |fixed: f32, finest: f32| {
            let (mut pace, mut slower) = (Pace::default(), 1.0);
            for _ in 0..12 * SEEN {
                let (share, coarse) = STEPS[pace.step];
                let picture = finest * share * share * if coarse { 0.7 } else { 1.0 };
                slower = if pace.step > 0 { 1.6 } else { slower };
                pace.see(Duration::from_secs_f32(slower * (fixed + picture) / 1000.0), false);
            }
            pace.step
        };
        assert!(last(20.0, 50.0) > 0);
        assert_eq!(last(100.0, 4.0), 0);
    }

    #[test]
    fn only_a_machine_that_stays_far_from_the_finest_picture_gives_up() {
        let gives_up = |fixed: f32, finest: f32| {
            let mut pace = Pace::default();
            (0..300).any(|_| {
                let (share, coarse) = STEPS[pace.step];
                let picture = finest * share * share * if coarse { 0.7 } else { 1.0 };
                pace.see(Duration::from_secs_f32((fixed + picture) / 1000.0), false);
                pace.gives_up()
            })
        };
        assert!(gives_up(10.0, 300.0));
        // A little too slow, fast, or slow elsewhere.
        assert!(!gives_up(10.0, 50.0) && !gives_up(5.0, 20.0) && !gives_up(180.0, 6.0));
        // One that was slow at first, and would be taken for slow by what it takes now.
        let mut pace = Pace::default();
        for took in [300, 200, 120].into_iter().chain([45; 20]) {
            (0..SEEN).for_each(|_| pace.see(Duration::from_millis(took), false));
        }
        assert!(!pace.gives_up() && pace.step < FAR);
    }

    #[test]
    fn the_finest_picture_comes_back_with_more_time() {
        let mut pace = Pace { step: STEPS.len() - 1, ..Pace::default() };
        (0..10 * SEEN).for_each(|_| pace.see(Duration::from_millis(9), false));
        assert_eq!(pace.step, 0);
    }
}
