//! Labels of the blocks, and the view data of scale bar and north arrow.

use bevy::prelude::*;
use bevy_panorbit_camera::PanOrbitCamera;

use super::{SIDE, camera::FAR, ground::TerrainBlocks, uniforms::SceneUniforms};
use crate::world::{
    CameraMode, Comparison, Preferences, Presentation, Simulations, ViewAnnotations, Workspace, amount,
};
use thalweg_scene::{model::session::Session, settings::UnitSystem};

/// Returns the label of a presented block: its name, unless shown above the view, and its dimensions.
fn base_title(session: &Session, units: UnitSystem, named: bool) -> String {
    let terrain = &session.simulation.terrain;
    let side = |cells: usize| amount::length(units, f64::from(terrain.cell_size) * cells as f64, 0);
    let sides = format!("{} × {}", side(terrain.width()), side(terrain.height()));
    if named { sides } else { format!("{} · {sides}", session.title) }
}

/// Places the labels of multiple or presented blocks: at the base of each block's front, or above its back if another block is in
/// front. Also updates view rotation and scale.
pub(super) fn place_labels(
    simulations: Res<Simulations>,
    (blocks, mode, comparison): (Res<TerrainBlocks>, Res<State<CameraMode>>, Res<State<Comparison>>),
    (workspace, preferences, presentation): (Res<State<Workspace>>, Res<Preferences>, Option<Res<Presentation>>),
    camera: Single<(&Camera, &GlobalTransform, &Projection, &PanOrbitCamera)>,
    mut annotations: ResMut<ViewAnnotations>,
) {
    let (camera, transform, projection, orbit) = camera.into_inner();
    let Projection::Perspective(lens) = projection else { return };
    let mut labels = Vec::new();
    // For two sessions in the same place, the divider shows the names.
    let apart = simulations.all().iter().zip(&blocks.uniforms).filter(|_| comparison.pair(&simulations).is_none());
    for (index, (session, uniforms)) in apart.enumerate() {
        // A single block is labelled with name and dimensions during presentations.
        let named = presentation.as_ref().is_some_and(|presentation| presentation.item(&simulations).is_some());
        let presents = *workspace == Workspace::Present;
        let presented = || presents.then(|| base_title(session, preferences.settings.units, named));
        let Some(title) = session.tile_title().or_else(presented) else { continue };
        let block = uniforms.footprint();
        // The unobstructed side that faces the camera most.
        let away = (transform.translation().xz() - block.xy()).normalize_or_zero();
        let free = |side: &Vec2| {
            let beyond = block.xy() + *side * block.zw() * 2.6;
            blocks.uniforms.iter().map(SceneUniforms::footprint).all(|other| {
                let apart = (beyond - other.xy()).abs();
                apart.x > other.z || apart.y > other.w
            })
        };
        let sides = [Vec2::X, Vec2::NEG_X, Vec2::Y, Vec2::NEG_Y];
        let nearest = sides.into_iter().filter(free).max_by(|a, b| a.dot(away).total_cmp(&b.dot(away)));
        let side = nearest.unwrap_or(Vec2::ZERO);
        let front = block.xy() + side * (block.zw() + 0.015 * SIDE);
        // Behind the block it must rise above the mountains.
        let rise = if side.dot(away) < 0.0 { 0.7 * block.z.min(block.w) } else { 0.0 };
        if let Some(ndc) = camera.world_to_ndc(transform, Vec3::new(front.x, uniforms.base_height() + rise, front.y))
            && ndc.z > 0.0
            // No labels for blocks outside the view.
            && ndc.xy().abs().max_element() < 1.05
        {
            labels.push((index, Vec2::new(0.5 + 0.5 * ndc.x, 0.5 - 0.5 * ndc.y), title));
        }
    }
    annotations.labels = labels;
    annotations.azimuth = transform.rotation().to_euler(EulerRot::YXZ).0;
    let seen = 2.0 * (0.5 * lens.fov).tan() * orbit.radius.unwrap_or(FAR);
    // Walk and fly mode have no focus for a scale bar.
    annotations.metres =
        blocks.uniforms.first().filter(|_| *mode == CameraMode::Orbit).map_or(0.0, |uniforms| seen / uniforms.scale());
}
