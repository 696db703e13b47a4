//! Labels on contour lines, hidden while the camera moves.

use std::{
    f32::consts::{FRAC_PI_2, PI},
    time::{Duration, Instant},
};

use bevy::{prelude::*, window::RequestRedraw};
use bevy_panorbit_camera::PanOrbitCamera;

use super::{
    ground::TerrainBlocks,
    pick::{pick, to_view},
    uniforms::SceneUniforms,
};
use crate::world::{Comparison, Revision, Simulations, ViewAnnotations, ViewportArea};
use thalweg_sim::core::terrain::Terrain;

/// Interval of index contours, in contours. They are broader and labelled; mirrors `contour` in `shaders/terrain.wgsl`.
const BROAD: f32 = 5.0;
/// Columns and rows of ground samples in the view.
const PLACES: [usize; 2] = [36, 24];
/// Minimum distances between labels, and between labels of the same height, in pixels.
const APART: f32 = 80.0;
const APART_ON_A_LINE: f32 = 230.0;
/// Maximum number of labels.
const MOST: usize = 40;
/// Delay after camera movement, and minimum interval of updates while the terrain changes.
const REST: Duration = Duration::from_millis(250);
/// Reciprocal of the maximum fraction of time spent on labels.
const SHARE: u32 = 10;
/// Bisection steps between two samples on either side of a contour.
const HALVINGS: usize = 8;

/// Parameters of the labels.
#[derive(Clone, PartialEq)]
struct LabelInputs {
    camera: GlobalTransform,
    clip_from_view: Mat4,
    rect: URect,
    /// Position and size of the block, and its zero level.
    shape: ([f32; 5], f32),
    contours: f32,
}

/// Parameters and revision of the last labels, and the time of the last change.
#[derive(Default)]
pub(super) struct LabelState {
    seen: Option<LabelInputs>,
    written: Option<Revision>,
    since: Option<Instant>,
    /// Duration of the last update.
    took: Duration,
}

pub(super) fn write(
    (simulations, revision, comparison): (Res<Simulations>, Res<Revision>, Res<State<Comparison>>),
    blocks: Res<TerrainBlocks>,
    camera: Single<(&Camera, &GlobalTransform), With<PanOrbitCamera>>,
    view: Res<ViewportArea>,
    mut annotations: ResMut<ViewAnnotations>,
    mut again: MessageWriter<RequestRedraw>,
    mut last: Local<LabelState>,
) {
    let (camera, place) = *camera;
    let contours = simulations.selected().look.contours;
    let uniforms =
        blocks.uniforms.get(simulations.selected_index()).filter(|_| contours > 0.0 && *comparison == Comparison::Off);
    let Some(&uniforms) = uniforms else {
        annotations.heights.clear();
        last.seen = None;
        return;
    };
    let shape = (uniforms.shape(), uniforms.world(0.0, 0.0, 0.0).y);
    let seen =
        LabelInputs { camera: *place, clip_from_view: camera.clip_from_view(), rect: view.rect, shape, contours };
    if last.seen.as_ref() != Some(&seen) {
        *last = LabelState { seen: Some(seen), since: Some(Instant::now()), ..LabelState::default() };
        annotations.heights.clear();
        return;
    }
    if last.written == Some(*revision) {
        return;
    }
    again.write(RequestRedraw);
    if last.since.is_some_and(|since| since.elapsed() < REST.max(SHARE * last.took)) {
        return;
    }
    let begun = Instant::now();
    let label_view =
        LabelView { camera, place, uniforms: &uniforms, terrain: &simulations.selected().simulation.terrain };
    annotations.heights = label_view.labels(BROAD * contours, view.rect.size().as_vec2());
    (last.written, last.since, last.took) = (Some(*revision), Some(Instant::now()), begun.elapsed());
}

/// Camera and block.
struct LabelView<'a> {
    camera: &'a Camera,
    place: &'a GlobalTransform,
    uniforms: &'a SceneUniforms,
    terrain: &'a Terrain,
}

/// A point of the view and of the map, both as fractions of their sides, and its height in metres.
#[derive(Clone, Copy)]
struct GroundPoint {
    at: Vec2,
    map: [f32; 2],
    height: f32,
}

impl LabelView<'_> {
    /// Returns the ground at a point of the view.
    fn ground(&self, at: Vec2) -> Option<GroundPoint> {
        let ndc = |depth: f32| Vec3::new(2.0 * at.x - 1.0, 1.0 - 2.0 * at.y, depth);
        let world = |depth: f32| self.camera.ndc_to_world(self.place, ndc(depth));
        // Reversed depth: 1 is the near plane.
        let map = pick(world(1.0)?, world(0.1)?, self.uniforms, self.terrain)?;
        let [column, row] = self.cell(map);
        Some(GroundPoint { at, map, height: self.terrain.sample_ground(column, row) })
    }

    fn cell(&self, [x, y]: [f32; 2]) -> [f32; 2] {
        [x * self.terrain.width() as f32 - 0.5, y * self.terrain.height() as f32 - 0.5]
    }

    /// Returns the crossing of a contour between two points, or `None` at an occlusion edge.
    fn crossing(&self, mut from: GroundPoint, mut to: GroundPoint, height: f32, step: f32) -> Option<GroundPoint> {
        for _ in 0..HALVINGS {
            let middle = self.ground(0.5 * (from.at + to.at))?;
            if (middle.height < height) == (from.height < height) { from = middle } else { to = middle }
        }
        ((from.height - to.height).abs() < 0.2 * step).then_some(from)
    }

    /// Returns the angle of the contour in the view, in radians, flipped to keep text upright.
    fn direction(&self, point: GroundPoint, size: Vec2) -> Option<f32> {
        let [column, row] = self.cell(point.map);
        let ground = |x: f32, y: f32| self.terrain.sample_ground(column + x, row + y);
        let rise = Vec2::new(ground(1.5, 0.0) - ground(-1.5, 0.0), ground(0.0, 1.5) - ground(0.0, -1.5));
        let along = Vec2::new(-rise.y, rise.x).try_normalize()? * 2.0;
        let shares = |offset: Vec2| {
            let cells = Vec2::new(self.terrain.width() as f32, self.terrain.height() as f32);
            let place = Vec2::from(point.map) + offset / cells;
            to_view((self.camera, self.place), self.uniforms, self.terrain, place.to_array())
        };
        let tangent = (shares(along)? - shares(-along)?) * size;
        let angle = tangent.try_normalize()?.to_angle();
        Some(if angle.abs() > FRAC_PI_2 { angle - PI.copysign(angle) } else { angle })
    }

    /// Returns the labels of contours `step` metres apart in a view of `size` pixels: position, angle and height.
    fn labels(&self, step: f32, size: Vec2) -> Vec<(Vec2, f32, f32)> {
        let [across, down] = PLACES;
        let share = |index: usize, count: usize| (index as f32 + 0.5) / count as f32;
        let places = (0..across * down)
            .map(|index| self.ground(Vec2::new(share(index % across, across), share(index / across, down))));
        let places: Vec<Option<GroundPoint>> = places.collect();
        let mut found: Vec<(Vec2, f32, f32)> = Vec::new();
        for (index, here) in places.iter().enumerate() {
            let right = ((index + 1) % across != 0).then_some(index + 1);
            for other in [right, Some(index + across)].into_iter().flatten() {
                let Some((from, to)) = (*here).zip(places.get(other).copied().flatten()) else { continue };
                // Steep slopes with several contours between samples get no labels.
                let [low, high] = [from.height.min(to.height) / step, from.height.max(to.height) / step];
                if high.floor() - low.floor() != 1.0 || found.len() == MOST {
                    continue;
                }
                let height = high.floor() * step;
                let Some(point) = self.crossing(from, to, height, step) else { continue };
                let free = |&(at, _, other): &(Vec2, f32, f32)| {
                    let apart = if other == height { APART_ON_A_LINE } else { APART };
                    ((at - point.at) * size).length() > apart
                };
                if found.iter().all(free)
                    && let Some(angle) = self.direction(point, size)
                {
                    found.push((point.at, angle, height));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::uniforms;
    use thalweg_scene::{io::scene::open_first, model::origin::Options};

    #[test]
    fn contour_labels_lie_on_their_lines_without_overlap() {
        let options = Options { size: Some((96, 96)), ..Options::default() };
        let session = open_first("round-hill", &options).expect("built in");
        let terrain = &session.simulation.terrain;
        let uniforms = uniforms::alone(&session);
        let (lowest, highest) = terrain.start.min_max();
        let size = Vec2::new(900.0, 600.0);
        let mut camera = Camera::default();
        let lens = PerspectiveProjection { aspect_ratio: size.x / size.y, ..default() };
        camera.computed.clip_from_view = Projection::from(lens).get_clip_from_view();
        let place = GlobalTransform::from(Transform::from_xyz(0.0, 260.0, 260.0).looking_at(Vec3::ZERO, Vec3::Y));
        let label_view = LabelView { camera: &camera, place: &place, uniforms: &uniforms, terrain };
        let step = (highest - lowest) / 5.0;
        let labels = label_view.labels(step, size);
        assert!(labels.len() >= 4, "only {}", labels.len());
        for &(at, angle, height) in &labels {
            let point = label_view.ground(at).expect("it is on the land");
            assert!((point.height - height).abs() < 0.05 * step, "{height} at {}", point.height);
            assert!((height / step - (height / step).round()).abs() < 1e-3 && angle.abs() <= FRAC_PI_2);
            // A few pixels along the contour, the height is the same.
            let further = label_view.ground(at + 12.0 * Vec2::from_angle(angle) / size).expect("it is on the land");
            assert!((further.height - height).abs() < 0.25 * step, "{height} goes on at {}", further.height);
        }
        for (index, a) in labels.iter().enumerate() {
            assert!(labels[..index].iter().all(|b| ((a.0 - b.0) * size).length() > APART));
        }
    }
}
