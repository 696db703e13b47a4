//! Damage tracking: finds the changed regions of a window's panels, and decides if the window is presented. Without changes the screen
//! keeps its contents and a frame costs next to nothing.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bevy::{
    camera::RenderTarget,
    camera::{CameraUpdateSystems, visibility::VisibilitySystems},
    prelude::*,
    render::view::screenshot::Screenshot,
    window::{WindowEvent, WindowRef},
};
use bevy_egui::{
    EguiOutput, EguiPostUpdateSet, EguiRenderOutput,
    egui::{
        self, ClippedPrimitive, Rect, TextureId, TexturesDelta,
        epaint::{ImageDelta, Mesh, Primitive, Vertex},
    },
};

use super::UiRenderTarget;
use crate::world::ViewportArea;

/// Frames presented after a change: the system may drop one.
const EXTRA_FRAMES: u32 = 2;
/// Interval at which the window is presented in any case: the system may have lost its contents.
const MAX_PRESENT_INTERVAL: Duration = Duration::from_secs(6);
/// Maximum number of regions before they are merged: each region clones its primitives.
const MAX_REGIONS: usize = 8;
/// Size of the tiles of changed pixels. Wide, like lines of text.
const TILE: UVec2 = UVec2::new(64, 16);

pub(crate) fn plugin(app: &mut App) {
    app.add_systems(
        PostUpdate,
        track_damage
            .after(EguiPostUpdateSet::ProcessOutput)
            .after(CameraUpdateSystems)
            .before(VisibilitySystems::CheckVisibility),
    );
}

/// Paint jobs of the panels of a window, and their regions that changed since the last repaint. Component of the panel camera.
#[derive(Component, Default)]
pub(crate) struct PanelOutput {
    /// Rectangle of the view, in pixels of the window.
    pub view: URect,
    /// Minimum interval between updates of the view.
    min_interval: Duration,
    pub jobs: Arc<Vec<ClippedPrimitive>>,
    /// Pending texture updates.
    pub textures: TexturesDelta,
    /// Changed rectangles, in pixels.
    pub changed: Vec<URect>,
    /// Rectangles of the view covered by panels, in pixels.
    pub over: Vec<URect>,
    /// Pixels per point.
    pub scale: f32,
    size: UVec2,
    shown: PresentedFrame,
}

impl PanelOutput {
    /// Creates the panels of a window whose view is updated at most once per interval.
    pub(crate) fn every(every: Duration) -> Self {
        Self { min_interval: every, ..Self::default() }
    }
}

/// State of the last presented frame.
#[derive(Default)]
struct PresentedFrame {
    /// Rectangle of the view.
    view: URect,
    /// Number of the view's image.
    drawn: u64,
    /// Number of frames still to be presented.
    due: u32,
    /// Time of presentation.
    at: Option<Instant>,
}

/// Query data of the panel cameras and their output.
type PanelCamera<'a> =
    (&'a mut Camera, &'a RenderTarget, &'a mut EguiRenderOutput, &'a EguiOutput, &'a mut PanelOutput);

fn track_damage(
    canvas: Option<Res<UiRenderTarget>>,
    view: Res<ViewportArea>,
    mut events: MessageReader<WindowEvent>,
    mut outputs: Query<PanelCamera>,
    screenshots: Query<(), With<Screenshot>>,
) {
    // Windows with window events; `None` is the main window.
    let targets: Vec<Entity> = outputs.iter().filter_map(|(_, target, ..)| window_of(target)).collect();
    let events = events.read().filter_map(concerned).map(|window| Some(window).filter(|one| targets.contains(one)));
    let concerned: Vec<Option<Entity>> = events.collect();
    for (mut camera, target, mut output, EguiOutput { pixels_per_point: scale, .. }, mut panels) in &mut outputs {
        let moved = concerned.contains(&window_of(target));
        let size = camera.physical_target_size().unwrap_or_default();
        let jobs = std::mem::take(&mut output.paint_jobs);
        let textures = std::mem::take(&mut output.textures_delta);
        let mut tiles = MarkedTiles::new(size, *scale);
        if panels.size != size || panels.scale != *scale || moved {
            tiles.mark_all();
        } else {
            tiles.compare(&panels.jobs, &jobs);
            // Glyphs added to the font atlas do not change existing ones.
            let other = |(id, delta): &&(TextureId, ImageDelta)| *id != TextureId::default() || delta.pos.is_none();
            for (texture, _) in textures.set.iter().filter(other) {
                tiles.mark_texture(&jobs, *texture);
            }
        }
        let mut changed = tiles.rects();
        if changed.len() > MAX_REGIONS {
            changed = changed.into_iter().reduce(|a, b| a.union(b)).into_iter().collect();
        }
        if !changed.is_empty() || panels.view != panels.shown.view {
            panels.over = covered_rects(&jobs, panels.view, &mut MarkedTiles::new(size, *scale));
        }
        let early = panels.shown.at.is_some_and(|shown| shown.elapsed() < panels.min_interval);
        let another = panels.shown.drawn != view.frames && !early;
        if !changed.is_empty() || another || panels.view != panels.shown.view || !screenshots.is_empty() {
            panels.shown.due = EXTRA_FRAMES;
        }
        if another {
            panels.shown.drawn = view.frames;
        }
        panels.shown.view = panels.view;
        panels.changed.extend(changed);
        panels.textures.append(textures);
        (panels.jobs, panels.scale, panels.size) = (Arc::new(jobs), *scale, size);
        // An off-screen frame may be captured at any time.
        let shown = &mut panels.shown;
        let show =
            canvas.is_some() || shown.due > 0 || shown.at.is_none_or(|shown| shown.elapsed() > MAX_PRESENT_INTERVAL);
        if show {
            shown.due = shown.due.saturating_sub(1);
            shown.at = Some(Instant::now());
        }
        if camera.is_active != show {
            camera.is_active = show;
        }
    }
}

/// Returns disjoint rectangles of the view covered by paint jobs, in pixels.
fn covered_rects(jobs: &[ClippedPrimitive], view: URect, tiles: &mut MarkedTiles) -> Vec<URect> {
    let [min, max] = [view.min, view.max].map(|pixel| egui::pos2(pixel.x as f32, pixel.y as f32) / tiles.scale);
    let seen = Rect::from_min_max(min, max);
    for job in jobs.iter().filter(|job| bounds(job).intersects(seen)) {
        if let Primitive::Mesh(mesh) = &job.primitive {
            for corners in mesh.indices.chunks_exact(3) {
                tiles.mark(triangle_bounds(&triangle(mesh, corners)).intersect(job.clip_rect).intersect(seen));
            }
        }
    }
    tiles.rects().into_iter().map(|rect| rect.intersect(view)).collect()
}

/// Returns the window of a render target, or `None` for the main window.
fn window_of(target: &RenderTarget) -> Option<Entity> {
    if let RenderTarget::Window(WindowRef::Entity(window)) = target { Some(*window) } else { None }
}

/// Returns the window of an event that concerns the window itself, not user input.
fn concerned(event: &WindowEvent) -> Option<Entity> {
    match event {
        WindowEvent::WindowCreated(event) => Some(event.window),
        WindowEvent::WindowResized(event) => Some(event.window),
        WindowEvent::WindowMoved(event) => Some(event.window),
        WindowEvent::WindowFocused(event) => Some(event.window),
        WindowEvent::WindowOccluded(event) => Some(event.window),
        WindowEvent::WindowScaleFactorChanged(event) => Some(event.window),
        WindowEvent::WindowBackendScaleFactorChanged(event) => Some(event.window),
        _ => None,
    }
}

/// Tiles of a window, each marked or not.
struct MarkedTiles {
    size: UVec2,
    scale: f32,
    columns: usize,
    marked: Vec<bool>,
}

impl MarkedTiles {
    fn new(size: UVec2, scale: f32) -> Self {
        let [columns, rows] = [size.x.div_ceil(TILE.x) as usize, size.y.div_ceil(TILE.y) as usize];
        Self { size, scale, columns, marked: vec![false; columns * rows] }
    }

    fn mark_all(&mut self) {
        self.marked.fill(true);
    }

    /// Marks a rectangle, in points.
    fn mark(&mut self, rect: Rect) {
        if !rect.is_positive() || self.columns == 0 {
            return;
        }
        let first = |at: f32, tile: u32| ((at * self.scale - 1.0).max(0.0) as u32 / tile) as usize;
        let after = |at: f32, tile: u32, size: u32| {
            (((at * self.scale + 1.0).max(0.0).ceil() as u32).min(size).div_ceil(tile)) as usize
        };
        let columns = first(rect.min.x, TILE.x)..after(rect.max.x, TILE.x, self.size.x);
        for row in first(rect.min.y, TILE.y)..after(rect.max.y, TILE.y, self.size.y) {
            if columns.start < columns.end {
                self.marked[row * self.columns..][columns.clone()].fill(true);
            }
        }
    }

    /// Marks the jobs that use a texture.
    fn mark_texture(&mut self, jobs: &[ClippedPrimitive], texture: TextureId) {
        for job in jobs {
            if matches!(&job.primitive, Primitive::Mesh(mesh) if mesh.texture_id == texture) {
                self.mark(bounds(job));
            }
        }
    }

    /// Marks the differences between two lists of jobs in paint order.
    fn compare(&mut self, old: &[ClippedPrimitive], new: &[ClippedPrimitive]) {
        let (old, new) = trim_common(old, new, same);
        if old.len() != new.len() {
            old.iter().chain(new).for_each(|job| self.mark(bounds(job)));
            return;
        }
        for (old, new) in old.iter().zip(new).filter(|(old, new)| !same(old, new)) {
            match (&old.primitive, &new.primitive) {
                (Primitive::Mesh(before), Primitive::Mesh(after))
                    if old.clip_rect == new.clip_rect && before.texture_id == after.texture_id =>
                {
                    self.compare_meshes(before, after, new.clip_rect);
                }
                _ => [old, new].into_iter().for_each(|job| self.mark(bounds(job))),
            }
        }
    }

    /// Marks the triangles that differ between two meshes.
    fn compare_meshes(&mut self, old: &Mesh, new: &Mesh, clip: Rect) {
        let [old, new] = [old, new].map(|mesh| mesh.indices.chunks_exact(3).map(|corners| triangle(mesh, corners)));
        let (old, new): (Vec<_>, Vec<_>) = (old.collect(), new.collect());
        let (old, new) = trim_common(&old, &new, |a, b| a == b);
        let same_count = old.len() == new.len();
        for (here, there) in [(old, new), (new, old)] {
            for (index, triangle) in here.iter().enumerate() {
                if !(same_count && *triangle == there[index]) {
                    self.mark(triangle_bounds(triangle).intersect(clip));
                }
            }
        }
    }

    /// Merges the marked tiles into rectangles, in pixels.
    fn rects(&self) -> Vec<URect> {
        let mut done = Vec::new();
        let mut open: Vec<URect> = Vec::new();
        for (row, marks) in self.marked.chunks(self.columns.max(1)).enumerate() {
            let [top, foot] = [row as u32, row as u32 + 1].map(|row| (row * TILE.y).min(self.size.y));
            let mut grown = Vec::new();
            let mut column = 0;
            for run in marks.chunk_by(|a, b| a == b) {
                let [left, right] =
                    [column, column + run.len()].map(|column| (column as u32 * TILE.x).min(self.size.x));
                column += run.len();
                if !run[0] {
                    continue;
                }
                let above = open.iter().position(|rect| rect.min.x == left && rect.max.x == right);
                let from = above.map_or(top, |above| open.swap_remove(above).min.y);
                grown.push(URect::new(left, from, right, foot));
            }
            done.append(&mut open);
            open = grown;
        }
        done.append(&mut open);
        done
    }
}

/// Returns two lists without their common prefix and suffix.
fn trim_common<'a, T>(old: &'a [T], new: &'a [T], same: impl Fn(&T, &T) -> bool) -> (&'a [T], &'a [T]) {
    let first = old.iter().zip(new).take_while(|(a, b)| same(a, b)).count();
    let (old, new) = (&old[first..], &new[first..]);
    let last = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| same(a, b)).count();
    (&old[..old.len() - last], &new[..new.len() - last])
}

fn same(old: &ClippedPrimitive, new: &ClippedPrimitive) -> bool {
    let meshes = match (&old.primitive, &new.primitive) {
        (Primitive::Mesh(old), Primitive::Mesh(new)) => old == new,
        _ => false,
    };
    old.clip_rect == new.clip_rect && meshes
}

fn triangle(mesh: &Mesh, corners: &[u32]) -> [Vertex; 3] {
    [0, 1, 2].map(|corner| mesh.vertices[corners[corner] as usize])
}

fn triangle_bounds(triangle: &[Vertex; 3]) -> Rect {
    Rect::from_points(&triangle.map(|vertex| vertex.pos))
}

/// Returns the bounds of a job.
fn bounds(job: &ClippedPrimitive) -> Rect {
    match &job.primitive {
        Primitive::Mesh(mesh) => mesh.calc_bounds().intersect(job.clip_rect),
        Primitive::Callback(callback) => callback.rect.intersect(job.clip_rect),
    }
}

/// Clips jobs to a rectangle in pixels.
pub(crate) fn clip_jobs(jobs: &[ClippedPrimitive], rect: URect, scale: f32) -> impl Iterator<Item = ClippedPrimitive> {
    let point = |pixel: UVec2| egui::pos2(pixel.x as f32 / scale, pixel.y as f32 / scale);
    let rect = Rect::from_min_max(point(rect.min), point(rect.max));
    jobs.iter().filter_map(move |job| {
        let clip_rect = job.clip_rect.intersect(rect);
        let seen = clip_rect.is_positive() && bounds(job).intersects(rect);
        seen.then(|| ClippedPrimitive { clip_rect, primitive: job.primitive.clone() })
    })
}

#[cfg(test)]
mod tests {
    use bevy_egui::egui::{Color32, pos2, vec2};

    use super::*;

    const SIZE: UVec2 = UVec2::new(640, 320);

    /// Creates a job that fills rectangles of 20 × 10 points at the given positions.
    fn job(places: &[(f32, f32, Color32)]) -> ClippedPrimitive {
        let mut mesh = Mesh::default();
        for &(x, y, color) in places {
            mesh.add_colored_rect(Rect::from_min_size(pos2(x, y), vec2(20.0, 10.0)), color);
        }
        ClippedPrimitive { clip_rect: Rect::EVERYTHING, primitive: Primitive::Mesh(mesh) }
    }

    fn changed(old: &[ClippedPrimitive], new: &[ClippedPrimitive], scale: f32) -> Vec<URect> {
        let mut tiles = MarkedTiles::new(SIZE, scale);
        tiles.compare(old, new);
        tiles.rects()
    }

    fn pixels(rects: &[URect]) -> u32 {
        rects.iter().map(|rect| rect.width() * rect.height()).sum()
    }

    #[test]
    fn only_changed_tiles_are_repainted() {
        let [white, red] = [Color32::WHITE, Color32::RED];
        let panel = |color| job(&[(10.0, 10.0, white), (200.0, 40.0, color), (400.0, 300.0, white)]);
        let other = job(&[(500.0, 200.0, white)]);
        for scale in [1.0, 1.25] {
            assert!(changed(&[panel(white), other.clone()], &[panel(white), other.clone()], scale).is_empty());
            let middle = (Vec2::new(210.0, 45.0) * scale).as_uvec2();
            for (old, new) in [
                // A changed colour; a removed rectangle.
                (vec![panel(white), other.clone()], vec![panel(red), other.clone()]),
                (vec![panel(white)], vec![job(&[(10.0, 10.0, white), (400.0, 300.0, white)])]),
                // A job added before or after the others.
                (vec![other.clone()], vec![job(&[(200.0, 40.0, white)]), other.clone()]),
                (vec![other.clone()], vec![other.clone(), job(&[(200.0, 40.0, white)])]),
            ] {
                let rects = changed(&old, &new, scale);
                assert!(rects.iter().any(|rect| rect.contains(middle)), "{rects:?}");
                assert!(pixels(&rects) <= 2 * 3 * TILE.x * TILE.y, "{rects:?}");
                let back = changed(&new, &old, scale);
                assert_eq!(rects, back);
            }
        }
    }

    #[test]
    fn dirty_rectangles_cover_marked_tiles_once() {
        let mut tiles = MarkedTiles::new(UVec2::new(130, 50), 1.0);
        tiles.mark(Rect::from_min_max(pos2(-30.0, 20.0), pos2(40.0, 900.0)));
        tiles.mark(Rect::from_min_max(pos2(100.0, 0.0), pos2(129.0, 40.0)));
        let rects = tiles.rects();
        let marked = tiles.marked.iter().filter(|marked| **marked).count();
        assert!(marked == 3 + 6 && rects.len() <= 3, "{marked} {rects:?}");
        assert!(rects.iter().all(|rect| rect.max.x <= 130 && rect.max.y <= 50));
        let inside = |x, y| {
            rects
                .iter()
                .filter(|rect| (rect.min.x..rect.max.x).contains(&x) && (rect.min.y..rect.max.y).contains(&y))
                .count()
        };
        for (index, marked) in tiles.marked.iter().enumerate() {
            let (x, y) = ((index % tiles.columns) as u32 * TILE.x, (index / tiles.columns) as u32 * TILE.y);
            assert_eq!(inside(x, y), usize::from(*marked), "{x} {y}");
        }
        tiles.mark_all();
        assert_eq!(tiles.rects(), [URect::new(0, 0, 130, 50)]);
        assert!(MarkedTiles::new(UVec2::ZERO, 1.0).rects().is_empty());
    }

    #[test]
    fn repaint_is_clipped_to_its_rectangle() {
        let jobs = [job(&[(10.0, 10.0, Color32::WHITE)]), job(&[(300.0, 10.0, Color32::WHITE)])];
        let cut: Vec<_> = clip_jobs(&jobs, URect::new(0, 0, 64, 32), 2.0).collect();
        let [ClippedPrimitive { clip_rect, .. }] = &cut[..] else { panic!("one of two lies there: {}", cut.len()) };
        assert_eq!(*clip_rect, Rect::from_min_max(pos2(0.0, 0.0), pos2(32.0, 16.0)));
    }
}
