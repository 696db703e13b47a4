//! Framing: keeps all blocks in view, as large as possible, until the user moves the camera.

use std::f32::consts::TAU;

use bevy::{math::DVec2, prelude::*};
use bevy_panorbit_camera::PanOrbitCamera;

use super::{
    camera::{FAR, FOCUS, Turntable, Viewpoint},
    ground::TerrainBlocks,
    layers,
    lod::BlockBounds,
    plinth,
    uniforms::SceneUniforms,
};
use crate::world::{Revision, Simulations, ViewportArea};
use thalweg_scene::{
    io,
    model::film::{CAMERAS, Pose},
};
use thalweg_sim::core::grid::{Grid, GridVersion};

/// A camera pose that frames all blocks, and the view and project for which it was computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FramedPose {
    focus: Vec3,
    pitch: f32,
    distance: f32,
    fov: f32,
    aspect: f32,
    project_id: u64,
    base: f32,
}

/// Reference frame of camera keyframes: bounding rectangle of all blocks, and the distance from which they fit into the view in any
/// direction.
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub struct SceneFrame {
    /// North-west corner and sides of the bounding rectangle.
    corner: Vec2,
    sides: Vec2,
    /// Height of the focus, and the distance.
    height: f32,
    far: f32,
    /// Project of the blocks.
    project_id: u64,
}

impl SceneFrame {
    /// Computes the reference frame of a project's blocks.
    fn of(all_bounds: &[BlockBounds], (fov, aspect): (f32, f32), project_id: u64) -> Option<Self> {
        let (focus, far) = frame(all_bounds, (0.0, true), CAMERAS[0].2.to_radians(), (fov, aspect))?;
        let ends =
            all_bounds.iter().map(|block| [block.centre - 0.5 * block.extent, block.centre + 0.5 * block.extent]);
        let [corner, end] = ends.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])?;
        Some(Self { corner, sides: (end - corner).max(Vec2::splat(1e-3)), height: focus.y, far, project_id })
    }

    /// `true` if it belongs to the current project.
    pub(super) fn is_of(&self, simulations: &Simulations) -> bool {
        self.project_id == simulations.project_id()
    }

    /// Converts a pose to focus, yaw, pitch and distance, in radians and world units.
    pub fn place(&self, pose: &Pose) -> io::project::Camera {
        let at = self.corner + DVec2::from(pose.at).as_vec2() * self.sides;
        let [yaw, pitch] = [pose.round, pose.above].map(|degrees| degrees.to_radians() as f32);
        let distance = self.far / pose.near as f32;
        io::project::Camera { focus: [at.x, self.height, at.y], yaw, pitch, distance }
    }

    /// Converts a camera to a pose.
    pub(super) fn pose(&self, camera: &io::project::Camera) -> Pose {
        let away = Quat::from_euler(EulerRot::YXZ, camera.yaw, -camera.pitch, 0.0) * Vec3::Z;
        let focus = Vec3::from(camera.focus);
        // Moving the focus along the line of sight to the reference height does not change the view.
        let more = (focus.y - self.height) / away.y;
        let is_near = more.is_finite() && (0.2 * camera.distance..3.0 * self.far).contains(&(camera.distance + more));
        let (focus, distance) =
            if is_near { (focus - more * away, camera.distance + more) } else { (focus, camera.distance) };
        let at = (Vec2::new(focus.x, focus.z) - self.corner) / self.sides;
        Pose {
            round: f64::from(camera.yaw).to_degrees(),
            above: f64::from(camera.pitch).to_degrees().clamp(1.0, 89.0),
            near: f64::from(self.far / distance).clamp(0.1, 200.0),
            at: at.as_dvec2().clamp(DVec2::splat(-1.0), DVec2::splat(2.0)).to_array(),
        }
    }
}

/// Updates [`SceneFrame`] when blocks or view change.
pub(super) fn measure_scene_frame(
    (simulations, blocks, view, revision): (Res<Simulations>, Res<TerrainBlocks>, Res<ViewportArea>, Res<Revision>),
    mut shapes: Local<Vec<([f32; 5], GridVersion)>>,
    mut all_bounds: Local<Vec<BlockBounds>>,
    mut commands: Commands,
) {
    if !blocks.are_of(*revision) || blocks.uniforms.len() != simulations.all().len() {
        return;
    }
    // From the terrain at the start: growing mountains do not move the camera, and a reopened project has the same frame.
    let starts = || simulations.all().iter().map(|session| &session.simulation.terrain.start);
    let now: Vec<_> = blocks.uniforms.iter().map(SceneUniforms::shape).zip(starts().map(Grid::version)).collect();
    if *shapes != now {
        *all_bounds =
            blocks.uniforms.iter().zip(starts()).map(|(uniforms, start)| uniforms.bounds(start.min_max().1)).collect();
        *shapes = now;
    }
    if let Some(whole) = SceneFrame::of(&all_bounds, fov_and_aspect(&simulations, &view), simulations.project_id()) {
        commands.insert_resource(whole);
    }
}

/// Returns the vertical field of view in radians and the aspect ratio.
fn fov_and_aspect(simulations: &Simulations, view: &ViewportArea) -> (f32, f32) {
    let size = view.rect.size().max(UVec2::ONE).as_vec2();
    let aspect = size.x / size.y;
    (field(simulations.selected().look.field_of_view, aspect), aspect)
}

/// Transition of the camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transition {
    Immediate,
    Smooth,
}

/// Aspect ratio below which the vertical field of view grows, so that the map is never cropped at its sides.
const FULL_ASPECT: f32 = 1.4;
/// Minimum free fraction of the view's width and height around the blocks, both sides together.
const FREE: f32 = 0.07;

/// Returns the vertical field of view in radians for a setting in degrees and an aspect ratio.
pub(super) fn field(degrees: f32, aspect: f32) -> f32 {
    (2.0 * ((0.5 * degrees.to_radians()).tan() * (FULL_ASPECT / aspect).max(1.0)).atan()).min(2.9)
}

/// Returns focus and distance of the camera from which all blocks just fit into the view: at this yaw or, with a turntable, at any.
/// Angles in radians, lengths in world units; the view is given by its vertical field of view and aspect ratio. `None` without
/// blocks.
fn frame(
    all_bounds: &[BlockBounds],
    (yaw, turns): (f32, bool),
    pitch: f32,
    (fov, aspect): (f32, f32),
) -> Option<(Vec3, f32)> {
    let ring = |centre: Vec2, radius: f32, height: f32| {
        const CORNERS: u8 = 32;
        let around = radius / (0.5 * TAU / f32::from(CORNERS)).cos();
        (0..CORNERS).map(move |corner| {
            let (sin, cos) = (f32::from(corner) / f32::from(CORNERS) * TAU).sin_cos();
            Vec3::new(centre.x + around * cos, height, centre.y + around * sin)
        })
    };
    let corners = |block: &BlockBounds, height: f32| {
        let (centre, half) = (block.centre, 0.5 * block.extent);
        [Vec2::ONE, Vec2::new(-1.0, 1.0), Vec2::NEG_ONE, Vec2::new(1.0, -1.0)].map(|corner| {
            let place = centre + corner * half;
            Vec3::new(place.x, height, place.y)
        })
    };
    let mut points = Vec::new();
    for block in all_bounds {
        let (away, half, [base_height, top]) = (block.centre.length(), 0.5 * block.extent.length(), block.heights);
        // The highest points are seldom in the corners.
        let rim = base_height.lerp(top, 0.4);
        if turns {
            let around = |radius, height| ring(Vec2::ZERO, radius, height);
            points.extend(around(away + half, base_height).chain(around(away + half, rim)));
            points.extend(around(away + 0.5 * half, top));
        } else {
            let turn = Quat::from_rotation_y(-yaw);
            let bounds = corners(block, base_height).into_iter().chain(corners(block, rim));
            points.extend(bounds.chain(ring(block.centre, 0.5 * half, top)).map(|point| turn * point));
        }
    }
    let up = (0.5 * fov).tan() * (1.0 - FREE);
    let (sin, cos) = pitch.sin_cos();
    let (ahead, above) = (Vec3::new(0.0, -sin, -cos), Vec3::new(0.0, cos, -sin));
    let axes = [(Vec3::X, up * aspect), (above, up)];
    // Every point bounds the camera position, horizontally and vertically.
    let bounds = axes.map(|(axis, tangent)| {
        points.iter().fold((f32::NEG_INFINITY, f32::INFINITY), |(least, most), point| {
            let (away, aside) = (point.dot(ahead), point.dot(axis));
            (least.max(aside - tangent * away), most.min(aside + tangent * away))
        })
    });
    let nearest = |((least, most), (_, tangent)): ((f32, f32), (Vec3, f32))| 0.5 * (most - least) / tangent;
    let eye = bounds.into_iter().zip(axes).map(nearest).fold(f32::INFINITY, f32::min);
    if !eye.is_finite() {
        return None;
    }
    // Centre the blocks in the view.
    let [right, high] = [0, 1].map(|index| {
        let ((least, most), (axis, tangent)) = (bounds[index], axes[index]);
        let (mut least, mut most) = (least + tangent * eye, most - tangent * eye);
        for _ in 0..32 {
            let middle = 0.5 * (least + most);
            let seen = points.iter().map(|point| (point.dot(axis) - middle) / (point.dot(ahead) - eye));
            let (lowest, highest) = seen.fold((f32::MAX, f32::MIN), |(a, b), at| (a.min(at), b.max(at)));
            if lowest + highest > 0.0 { least = middle } else { most = middle }
        }
        0.5 * (least + most)
    });
    // Focus above the scene's centre. In steep views it would be far away.
    let (focus, distance) = if cos > 0.25 {
        (Vec3::new(right, high / cos, 0.0), -eye - high * sin / cos)
    } else {
        (Vec3::X * right + above * high, -eye)
    };
    Some((Quat::from_rotation_y(yaw) * focus, distance))
}

/// Frames all blocks: on request, and until the user moves the camera also when the view's shape or the terrain changes.
pub(super) fn frame_blocks(
    simulations: Res<Simulations>,
    blocks: Res<TerrainBlocks>,
    view: Res<ViewportArea>,
    mut viewpoint: ResMut<Viewpoint>,
    revision: Res<Revision>,
    mut camera: Single<&mut PanOrbitCamera>,
    mut known: Local<(Vec<BlockBounds>, Vec<[f32; 5]>)>,
) {
    let (all_bounds, shapes) = &mut *known;
    let (project_id, pitch, base) = (simulations.project_id(), camera.target_pitch, simulations.selected().look.base);
    let (fov, aspect) = fov_and_aspect(&simulations, &view);
    let stays = |frame: &FramedPose| {
        let place = (camera.target_focus, pitch, camera.target_radius);
        place == (frame.focus, frame.pitch, frame.distance)
    };
    let framed = viewpoint.framed.filter(stays);
    let mut now: Vec<[f32; 5]> = blocks.uniforms.iter().map(SceneUniforms::shape).collect();
    let complete = now.len() == simulations.all().len();
    let plinth = blocks.uniforms.first().and_then(|uniforms| plinth::plinth_bounds(&simulations, uniforms));
    now.extend(plinth.iter().map(|plinth| [plinth.extent.x, plinth.extent.y, plinth.centre.x, plinth.centre.y, 0.0]));
    // Growing mountains do not move the camera.
    let new = framed.is_none_or(|frame| (frame.project_id, frame.base) != (project_id, base)) || *shapes != now;
    let other = framed.is_some_and(|frame| (frame.fov, frame.aspect) != (fov, aspect) || new);
    viewpoint.framed = framed;
    let going = viewpoint.wanted.or(other.then_some(Transition::Immediate));
    // The camera is not initialised before its first frame, and new terrain may not be on screen yet.
    let ready = camera.initialized && blocks.are_of(*revision) && complete;
    let Some(going) = going.filter(|_| ready) else { return };
    if viewpoint.wanted.is_some() || new {
        let highest = simulations.all().iter().map(|session| layers::highest(&session.simulation.terrain));
        *all_bounds = blocks
            .uniforms
            .iter()
            .zip(highest)
            .map(|(uniforms, highest)| uniforms.bounds(highest))
            .chain(plinth)
            .collect();
        *shapes = now;
    }
    // During a full turn nothing may be cropped.
    let turns = viewpoint.turn != Turntable::Off;
    let found = frame(all_bounds, (camera.target_yaw, turns), pitch, (fov, aspect));
    let (focus, fits) = found.unwrap_or((FOCUS, FAR));
    let distance = (fits / viewpoint.near).clamp(camera.zoom_lower_limit, camera.zoom_upper_limit.unwrap_or(f32::MAX));
    (camera.target_focus, camera.target_radius) = (focus, distance);
    if going == Transition::Immediate {
        (camera.focus, camera.radius) = (focus, Some(distance));
    }
    camera.force_update = true;
    (viewpoint.framed, viewpoint.wanted) =
        (Some(FramedPose { focus, pitch, distance, fov, aspect, project_id, base }), None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::SIDE;

    #[test]
    fn pose_is_independent_of_focus_along_line_of_sight() {
        let all_bounds = [BlockBounds {
            cells: UVec2::splat(64),
            centre: Vec2::ZERO,
            extent: Vec2::new(SIDE, 0.5 * SIDE),
            heights: [-0.06 * SIDE, 0.2 * SIDE],
        }];
        let whole = SceneFrame::of(&all_bounds, (0.7, 1.6), 1).expect("there is a block");
        let pose = Pose { round: 40.0, above: 30.0, near: 1.5, at: [0.25, 0.75] };
        let camera = whole.place(&pose);
        assert!((camera.focus[0] + 0.25 * SIDE).abs() < 1e-3 && (camera.focus[2] - 0.125 * SIDE).abs() < 1e-3);
        let away = Quat::from_euler(EulerRot::YXZ, camera.yaw, -camera.pitch, 0.0) * Vec3::Z;
        for more in [0.0, 20.0, -20.0] {
            let focus = (Vec3::from(camera.focus) - more * away).to_array();
            let found = whole.pose(&io::project::Camera { focus, distance: camera.distance + more, ..camera });
            let values = |pose: &Pose| [pose.round, pose.above, pose.near, pose.at[0], pose.at[1]];
            let off = values(&found).into_iter().zip(values(&pose)).map(|(a, b)| (a - b).abs());
            assert!(off.fold(0.0, f64::max) < 1e-4, "{found:?} for {pose:?}");
        }
    }

    #[test]
    fn framed_blocks_fit_and_fill_the_viewport() {
        let block = |x: f32, y: f32, sides: [f32; 2], heights| BlockBounds {
            cells: UVec2::splat(64),
            centre: Vec2::new(x, y) * SIDE,
            extent: Vec2::from(sides) * SIDE,
            heights,
        };
        let cases = [
            vec![block(0.0, 0.0, [1.0, 1.0], [-0.06 * SIDE, 0.01 * SIDE])],
            vec![block(0.0, 0.0, [1.2, 0.5], [-0.06 * SIDE, 0.5 * SIDE])],
            vec![
                block(-0.3, 0.0, [0.5, 0.5], [-0.06 * SIDE, 0.1 * SIDE]),
                block(0.3, 0.0, [0.5, 0.5], [-0.06 * SIDE, 0.2 * SIDE]),
            ],
        ];
        for (all_bounds, pitch, aspect) in cases
            .iter()
            .flat_map(|all_bounds| [0.1, 0.45, 1.0, 1.5].map(|pitch| (all_bounds, pitch)))
            .flat_map(|(all_bounds, pitch)| [0.5, 1.0, 1.6, 3.0].map(|aspect| (all_bounds, pitch, aspect)))
        {
            let fov = field(if aspect > 2.0 { 15.0 } else { 41.0 }, aspect);
            for yaw in [None, Some(0.5), Some(3.9)] {
                let turned = (yaw.unwrap_or_default(), yaw.is_none());
                let (focus, distance) = frame(all_bounds, turned, pitch, (fov, aspect)).expect("there are blocks");
                let half = (0.5 * fov).tan();
                let mut reach = Vec2::ZERO;
                let all = (0..24u8).map(|step| f32::from(step) / 24.0 * TAU);
                for turned in all.map(|any| yaw.unwrap_or(any)) {
                    let turn = Quat::from_euler(EulerRot::YXZ, turned, -pitch, 0.0);
                    // In steep views the focus is off-centre.
                    let focus = if yaw.is_none() { Quat::from_rotation_y(turned) * focus } else { focus };
                    let eye = focus + turn * Vec3::Z * distance;
                    for block in all_bounds {
                        let corner = |x: f32, z: f32| block.centre + Vec2::new(x, z) * 0.5 * block.extent;
                        let [base_height, top] = block.heights;
                        let corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(|(x, z)| corner(x, z));
                        let base_corners = corners.map(|at| Vec3::new(at.x, base_height, at.y));
                        for place in base_corners.into_iter().chain([Vec3::new(block.centre.x, top, block.centre.y)]) {
                            let seen = turn.inverse() * (place - eye);
                            assert!(seen.z < 0.0, "behind the camera");
                            reach = reach.max(Vec2::new(seen.x / aspect, seen.y).abs() / (-seen.z * half));
                        }
                    }
                }
                let case = format!("{reach} of the view at {pitch}, {aspect}, {yaw:?}");
                assert!(reach.max_element() <= 1.0 - FREE + 1e-3, "{case}");
                assert!(reach.max_element() > 0.75, "only {case}");
            }
        }
    }
}
