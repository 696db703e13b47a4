//! When the picture is drawn again, and with how many pixels: when something in it has changed and all that it needs is there. Else
//! the last one stays, and a frame costs no more than the panels.
//!
//! While something moves, a picture that takes too long is drawn with fewer pixels. Once all stands still, it is drawn in full.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bevy::{
    ecs::system::SystemParam,
    input::{keyboard::KeyboardInput, mouse::MouseMotion},
    prelude::*,
    render::RenderApp,
    window::RequestRedraw,
};
use bevy_panorbit_camera::{PanOrbitCamera, PanOrbitCameraSystemSet};

use super::{ViewSystems, ground::Blocks};
use crate::{
    look::ToneCurve,
    runtime::{
        BrushCursor, Brushes, Channels, Command, FreeView, Live, Overlay, PointerOverView, Preferences, Shown,
        ViewCommand,
    },
    settings::AntiAliasing,
};

/// Frames for which the picture is drawn after the last change: textures and settings take some to arrive.
const LINGERS: u32 = 3;
/// After its last movement, the pointer counts as busy on the panels for so long.
const REST: Duration = Duration::from_millis(400);

/// Sides of the picture while something moves, as shares of what they are when all stands still.
const STEPS: [f32; 5] = [1.0, 0.8, 0.64, 0.5, 0.4];
/// A moving frame may take so long.
const GOAL: Duration = Duration::from_millis(50);
/// So many frames are looked at before the number of pixels changes.
const SEEN: usize = 5;
/// Fewer pixels are kept if a frame then takes at most this share of its time.
const HELPS: f32 = 0.93;
/// Where fewer pixels did not help, they are tried again after so many looks.
const CONTENT: u32 = 20;
/// After the last change, all counts as standing still.
const STILL: Duration = Duration::from_millis(150);

pub(super) fn plugin(app: &mut App) {
    let waiting = Waiting(Arc::new(AtomicBool::new(true)));
    app.insert_resource(waiting.clone()).init_resource::<Drawing>().add_systems(
        PostUpdate,
        draw_when_changed.in_set(ViewSystems::Draw).after(PanOrbitCameraSystemSet).before(TransformSystems::Propagate),
    );
    if let Some(render) = app.get_sub_app_mut(RenderApp) {
        render.insert_resource(waiting);
    }
}

/// Whether a mesh, a texture or a shader is not there yet, as the render world last saw it.
#[derive(Resource, Clone)]
pub(super) struct Waiting(pub Arc<AtomicBool>);

/// Whether and how the picture is drawn in this frame.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Drawing {
    pub due: bool,
    /// Pixels that are drawn: the left upper part of the picture.
    pub size: UVec2,
    /// Samples for each pixel.
    pub samples: u32,
    pub tone: ToneCurve,
}

/// How many pixels a moving picture has, by how long the last frames took.
#[derive(Default)]
struct Pace {
    step: usize,
    frames: Vec<Duration>,
    /// How long a frame took with more pixels, in seconds, if fewer are being tried.
    finer: Option<f32>,
    /// For so many looks, fewer pixels are not tried again.
    content: u32,
}

impl Pace {
    /// Sees how long a moving frame took from its begin to that of the next.
    fn see(&mut self, took: Duration) {
        self.frames.push(took);
        if self.frames.len() < SEEN {
            return;
        }
        self.frames.sort();
        let median = self.frames[SEEN / 2].as_secs_f32();
        self.frames.clear();
        let goal = GOAL.as_secs_f32();
        self.content = self.content.saturating_sub(1);
        if self.finer.take().is_some_and(|finer| median > HELPS * finer) {
            // The time goes elsewhere, not into pixels.
            self.step -= 1;
            self.content = CONTENT;
        } else if median > goal && self.step + 1 < STEPS.len() && self.content == 0 {
            self.step += 1;
            self.finer = Some(median);
        } else if self.step > 0 && median * (STEPS[self.step - 1] / STEPS[self.step]).powi(2) < 0.8 * goal {
            // It would take so long if all of it went into pixels.
            self.step -= 1;
        }
    }
}

/// All that the picture shows, and what asks for it.
#[derive(SystemParam)]
struct Seen<'w, 's> {
    live: Res<'w, Live>,
    shown: Res<'w, Shown>,
    view: ResMut<'w, FreeView>,
    preferences: Res<'w, Preferences>,
    overlay: Res<'w, Overlay>,
    channels: Res<'w, Channels>,
    cursor: Res<'w, BrushCursor>,
    brushes: Res<'w, Brushes>,
    commands: MessageReader<'w, 's, Command>,
    waiting: Res<'w, Waiting>,
    blocks: Res<'w, Blocks>,
}

impl Seen<'_, '_> {
    /// Whether something has changed, and whether a picture is asked for.
    fn changed(&mut self) -> (bool, bool) {
        let asked = self.commands.read().any(|command| *command == ViewCommand::TakePicture);
        let changed = self.live.is_changed() || self.shown.is_changed() || self.preferences.is_changed();
        let changed = changed
            || self.overlay.is_changed()
            || self.channels.is_changed()
            || self.cursor.is_changed()
            || self.brushes.is_changed();
        (changed || self.view.is_changed(), asked)
    }
}

/// When the picture was drawn last, and when the person last moved something.
#[derive(Default)]
struct Last {
    /// Frames for which it is still to be drawn.
    due: u32,
    /// When the last picture was begun, and how long that frame took.
    begun: Option<Instant>,
    took: Duration,
    /// When something in the picture last changed.
    changed: Option<Instant>,
    /// When the person last moved.
    moved: Option<Instant>,
    /// Where the camera was, and how often the light had been found.
    place: Option<(Transform, f32, u64)>,
    pace: Pace,
}

#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
fn draw_when_changed(
    mut seen: Seen,
    camera: Single<(&Transform, &Projection), With<PanOrbitCamera>>,
    mut motion: MessageReader<MouseMotion>,
    mut keys: MessageReader<KeyboardInput>,
    over_view: Res<PointerOverView>,
    images: Res<Assets<Image>>,
    mut drawing: ResMut<Drawing>,
    mut again: MessageWriter<RequestRedraw>,
    mut last: Local<Last>,
) {
    let (transform, projection) = *camera;
    let now = Instant::now();
    let settings = seen.preferences.settings.resolved(seen.preferences.software);
    if drawing.due
        && let Some(begun) = last.begun
    {
        last.took = now - begun;
        let (took, moves) = (last.took, last.changed.is_some_and(|changed| changed >= begun));
        // A frame after a pause says nothing.
        if moves && took < Duration::from_secs(2) {
            last.pace.see(took);
        }
    }
    if motion.read().count() + keys.read().count() > 0 {
        last.moved = Some(now);
    }
    let fov = if let Projection::Perspective(lens) = projection { lens.fov } else { 0.0 };
    let place = Some((*transform, fov, seen.blocks.times_lit()));
    let (changed, asked) = seen.changed();
    let waits = seen.waiting.0.load(Ordering::Relaxed);
    if changed || asked || last.place != place {
        last.changed = Some(now);
    }
    if last.changed == Some(now) || waits {
        last.due = LINGERS;
    }
    last.place = place;
    let whole = images.get(&seen.view.picture).map_or(UVec2::ONE, Image::size);
    let moves = last.changed.is_some_and(|changed| now - changed < STILL);
    let steady = settings.steady && !asked;
    let share = if steady && moves { STEPS[last.pace.step] } else { 1.0 };
    let samples = match settings.anti_aliasing {
        // Where all stands still, there is time for smooth edges.
        AntiAliasing::Off if !steady || moves => 1,
        _ => 4,
    };
    let wanted = Drawing {
        due: false,
        size: (whole.as_vec2() * share).round().as_uvec2().max(UVec2::ONE),
        samples,
        tone: seen.live.chosen().look.tone_curve,
    };
    // What was drawn with less while it moved is drawn again in full.
    if !moves && (Drawing { due: false, ..*drawing }) != wanted {
        last.due = last.due.max(1);
    }
    // Where the processor draws, pictures take at most half of the time while a slider is moved, so that it follows the pointer.
    let on_panels = !over_view.view && last.moved.is_some_and(|moved| moved.elapsed() < REST);
    let rests = last.begun.is_some_and(|begun| begun.elapsed() < 2 * last.took);
    let due = asked || last.due > 0 && !(seen.preferences.software && on_panels && rests);
    if due {
        last.due = last.due.saturating_sub(1);
        last.begun = Some(now);
        // While something is waited for, the panels show the last picture, which stays as it is.
        let size = if waits { drawing.size } else { wanted.size };
        *drawing = Drawing { due, size, ..wanted };
        let view = seen.view.bypass_change_detection();
        view.share = size.as_vec2() / whole.as_vec2();
        view.drawn += 1;
    } else {
        drawing.due = false;
    }
    if last.due > 0 || moves {
        again.write(RequestRedraw);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames that take so many milliseconds, and as many more for all pixels. Returns the shares of all sides that were drawn.
    fn shares(fixed: f32, pixels: f32) -> Vec<f32> {
        let mut pace = Pace::default();
        (0..300)
            .map(|_| {
                let share = STEPS[pace.step];
                pace.see(Duration::from_secs_f32((fixed + pixels * share * share) / 1000.0));
                share
            })
            .collect()
    }

    #[test]
    fn a_picture_that_takes_too_long_gets_fewer_pixels_and_keeps_them() {
        let shares = shares(15.0, 120.0);
        assert_eq!(shares[..SEEN], [1.0; SEEN]);
        let last = shares[299];
        assert!(15.0 + 120.0 * last * last <= 50.0 && shares[100..].iter().all(|&share| share == last), "{last}");
    }

    #[test]
    fn a_fast_machine_draws_all_pixels_and_so_does_one_whose_time_goes_elsewhere() {
        assert!(shares(5.0, 20.0).into_iter().all(|share| share == 1.0));
        let whole = shares(180.0, 6.0).into_iter().filter(|&share| share == 1.0).count();
        assert!(whole >= 280, "{whole} of 300");
    }

    #[test]
    fn more_pixels_come_back_with_more_time() {
        let mut pace = Pace { step: 3, ..Pace::default() };
        (0..10 * SEEN).for_each(|_| pace.see(Duration::from_millis(9)));
        assert_eq!(pace.step, 0);
    }
}
