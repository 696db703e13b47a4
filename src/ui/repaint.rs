//! The window is drawn again when panels or picture have changed. Else the screen keeps what it shows, and a frame costs next to
//! nothing.

use std::{
    hash::{Hash, Hasher},
    time::{Duration, Instant},
};

use bevy::{prelude::*, window::WindowEvent};
use bevy_egui::{EguiPostUpdateSet, EguiRenderOutput, PrimaryEguiContext, egui::epaint::Primitive};
use xxhash_rust::xxh3::Xxh3;

use super::Canvas;
use crate::runtime::FreeView;

/// Frames that are drawn after a change: textures take one to arrive.
const LINGERS: u32 = 2;
/// The window is drawn so often in any case: the system may have lost what it showed.
const ANYWAY: Duration = Duration::from_secs(6);

pub(super) fn plugin(app: &mut App) {
    app.add_systems(PostUpdate, draw_when_changed.after(EguiPostUpdateSet::ProcessOutput));
}

/// What was drawn last, and when.
#[derive(Default)]
struct Last {
    looks: Option<(u64, u64)>,
    due: u32,
    drawn: Option<Instant>,
}

fn draw_when_changed(
    canvas: Option<Res<Canvas>>,
    view: Res<FreeView>,
    mut events: MessageReader<WindowEvent>,
    panels: Option<Single<(&mut Camera, &EguiRenderOutput), With<PrimaryEguiContext>>>,
    mut last: Local<Last>,
) {
    // A picture that is drawn off-screen may be taken in any frame.
    let (Some(panels), None) = (panels, canvas) else { return };
    let (mut camera, output) = panels.into_inner();
    let looks = Some((looks(output), view.drawn));
    let moved = events.read().filter(|event| concerns_the_window(event)).count() > 0;
    if last.looks != looks || !output.textures_delta.is_empty() || moved {
        last.due = LINGERS;
        last.looks = looks;
    }
    let draw = last.due > 0 || last.drawn.is_none_or(|drawn| drawn.elapsed() > ANYWAY);
    if draw {
        last.due = last.due.saturating_sub(1);
        last.drawn = Some(Instant::now());
    }
    if camera.is_active != draw {
        camera.is_active = draw;
    }
}

/// Whether an event is about the window itself, and not about what the person does in it.
fn concerns_the_window(event: &WindowEvent) -> bool {
    matches!(
        event,
        WindowEvent::WindowCreated(_)
            | WindowEvent::WindowResized(_)
            | WindowEvent::WindowMoved(_)
            | WindowEvent::WindowFocused(_)
            | WindowEvent::WindowOccluded(_)
            | WindowEvent::WindowScaleFactorChanged(_)
            | WindowEvent::WindowBackendScaleFactorChanged(_)
    )
}

/// A number that differs where the panels look different.
fn looks(output: &EguiRenderOutput) -> u64 {
    let mut hash = Xxh3::new();
    for job in &output.paint_jobs {
        let (min, max) = (job.clip_rect.min, job.clip_rect.max);
        [min.x, min.y, max.x, max.y].into_iter().for_each(|side| hash.write_u32(side.to_bits()));
        if let Primitive::Mesh(mesh) = &job.primitive {
            mesh.texture_id.hash(&mut hash);
            hash.update(bytemuck::cast_slice(&mesh.vertices));
            hash.update(bytemuck::cast_slice(&mesh.indices));
        }
    }
    hash.finish()
}
