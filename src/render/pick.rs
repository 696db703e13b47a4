//! Picking: the map position under the pointer, and the view positions of markers.

use bevy::{
    ecs::system::SystemParam,
    prelude::*,
    window::{PrimaryWindow, WindowEvent},
};
use bevy_panorbit_camera::PanOrbitCamera;

use super::{
    ground::TerrainBlocks,
    pointer::{PointerInput, ViewContext},
    uniforms::SceneUniforms,
};
use crate::world::{
    BrushInput, Brushes, FrameSystems, KeyPointer, MapPlaces, OtherWindows, PointedPosition, PointerOverView,
    Simulations, ViewPlaces, ViewportArea,
};
use thalweg_sim::core::{ray, terrain::Terrain};

pub(super) fn plugin(app: &mut App) {
    // Touches are applied and shown in the same frame.
    app.add_systems(Update, (point.in_set(FrameSystems::Point), place_marks.in_set(FrameSystems::Decorate)));
}

pub(super) type CameraPlace<'w> = (&'w Camera, &'w GlobalTransform);

/// Follows the pointer: finds the position on the selected map under it and sends its touches.
#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
fn point(
    simulations: Res<Simulations>,
    blocks: Res<TerrainBlocks>,
    view: Res<ViewportArea>,
    (over_view, keys, brushes): (Res<PointerOverView>, Res<KeyPointer>, Res<Brushes>),
    camera: Single<CameraPlace<'_>, With<PanOrbitCamera>>,
    (windows, others): (Query<&Window, With<PrimaryWindow>>, OtherWindows),
    time: Res<Time>,
    mut events: MessageReader<WindowEvent>,
    mut pointer: Local<PointerInput>,
    mut pointed: ResMut<PointedPosition>,
    mut touches: MessageWriter<BrushInput>,
) {
    let (camera, transform) = *camera;
    let terrain = &simulations.selected().simulation.terrain;
    let place = |cursor: Option<Vec2>| {
        let share = (cursor? - view.rect.min.as_vec2()) / view.rect.size().as_vec2().max(Vec2::ONE);
        if share.min_element() < 0.0 || share.max_element() > 1.0 {
            return None;
        }
        let (x, y) = (2.0 * share.x - 1.0, 1.0 - 2.0 * share.y);
        let at = |depth: f32| camera.ndc_to_world(transform, Vec3::new(x, y, depth));
        // Reversed depth: 1 is the near plane.
        pick(at(1.0)?, at(0.1)?, blocks.uniforms.get(simulations.selected_index())?, terrain)
    };
    let scale = windows.single().map_or(1.0, Window::scale_factor);
    let brush = brushes.active.is_some() || over_view.adds_rain;
    let context = ViewContext { place: &place, over_view: over_view.terrain, keys: keys.0, brush, scale };
    let (frame, looked) = pointer.process(events.read().filter(|event| !others.has_event(event)), &context);
    touches.write_batch(frame);
    if pointer.is_down() {
        touches.write(BrushInput::Rest(time.delta_secs()));
        pointer.rest(time.delta_secs());
    }
    let found = looked.or_else(|| place(pointer.cursor)).filter(|_| over_view.view || keys.0.is_some());
    if !pointer.is_down() {
        let on_land = found.filter(|_| over_view.terrain || keys.0.is_some());
        touches.write(BrushInput::Hover(on_land, pointer.keys()));
    }
    if pointed.0 != found {
        pointed.0 = found;
    }
}

/// Computes the view positions of the markers of the selected map.
fn place_marks(
    simulations: Res<Simulations>,
    blocks: Res<TerrainBlocks>,
    camera: Single<CameraPlace<'_>, With<PanOrbitCamera>>,
    mut marks: Query<(&MapPlaces, &mut ViewPlaces)>,
) {
    let Some(uniforms) = blocks.uniforms.get(simulations.selected_index()) else { return };
    let terrain = &simulations.selected().simulation.terrain;
    for (MapPlaces(places), mut seen) in &mut marks {
        let now = places.iter().map(|place| to_view(*camera, uniforms, terrain, *place));
        seen.set_if_neq(ViewPlaces(now.collect()));
    }
}

/// Terrain of the rendered blocks.
#[derive(SystemParam)]
pub(super) struct VisibleTerrain<'w> {
    simulations: Res<'w, Simulations>,
    blocks: Res<'w, TerrainBlocks>,
}

impl VisibleTerrain<'_> {
    /// Distance from the camera to the ground in the centre of the view along the view axis, in world units, if any ground is
    /// there.
    pub(super) fn ahead(&self, clip_from_view: Mat4, place: &GlobalTransform) -> Option<f32> {
        let world = place.to_matrix();
        // Reversed depth: 1 is the near plane.
        let [near, far] = [1.0, 0.1]
            .map(|depth| world.transform_point3(clip_from_view.inverse().project_point3(Vec3::new(0.0, 0.0, depth))));
        let view = world.inverse();
        // Numbers as drawn: hidden blocks are out of range.
        let uniforms = self.blocks.beds().map(|bed| bed.uniforms);
        let met = self.simulations.all().iter().zip(uniforms).filter_map(|(session, uniforms)| {
            let terrain = &session.simulation.terrain;
            let [column, row] = cell(pick(near, far, uniforms, terrain)?, terrain);
            Some(-view.transform_point3(uniforms.world(column, row, terrain.sample_ground(column, row))).z)
        });
        met.filter(|&distance| distance > 0.0).min_by(f32::total_cmp)
    }
}

/// Column and row of a map position given as fractions of the map's sides.
fn cell([x, y]: [f32; 2], terrain: &Terrain) -> [f32; 2] {
    [x * terrain.width() as f32 - 0.5, y * terrain.height() as f32 - 0.5]
}

/// Position of a map point in the view, both as fractions of their sides, or `None` if it lies behind the camera.
pub(super) fn to_view(
    (camera, transform): CameraPlace<'_>,
    uniforms: &SceneUniforms,
    terrain: &Terrain,
    place: [f32; 2],
) -> Option<Vec2> {
    let [column, row] = cell(place, terrain);
    let ndc = camera.world_to_ndc(transform, uniforms.world(column, row, terrain.sample_ground(column, row)))?;
    (ndc.z > 0.0).then(|| Vec2::new(0.5 + 0.5 * ndc.x, 0.5 - 0.5 * ndc.y))
}

/// First intersection of the ray through two world points with the ground (ignoring water), as fractions of the map. The part
/// removed by a cut and the cut face are ignored.
pub(super) fn pick(near: Vec3, far: Vec3, uniforms: &SceneUniforms, terrain: &Terrain) -> Option<[f32; 2]> {
    let seen = uniforms.behind_cut(near, far)?;
    let [from, begin, end] = [seen, near, far].map(|place| uniforms.on_map(place));
    let offset: [f64; 3] = std::array::from_fn(|axis| end[axis] - begin[axis]);
    let [column, row] = ray::intersect_ground(terrain, from, offset)?;
    let share = |cell: f32, count: usize| ((cell + 0.5) / count as f32).clamp(0.0, 1.0);
    Some([share(column, terrain.width()), share(row, terrain.height())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::uniforms;
    use thalweg_scene::{io::scene::open_first, model::origin::Options};

    #[test]
    fn pick_ray_hits_the_displayed_cell() {
        let options = Options { size: Some((64, 64)), ..Options::default() };
        let session = open_first("round-hill", &options).expect("built in");
        let terrain = &session.simulation.terrain;
        let uniforms = uniforms::alone(&session);
        let eye = Vec3::new(0.0, 300.0, 300.0);
        for (column, row) in [(32.0, 50.0), (10.0, 40.0), (32.0, 34.0)] {
            let place = uniforms.world(column, row, terrain.sample_ground(column, row));
            let [x, y] = pick(eye, eye + (place - eye).normalize(), &uniforms, terrain).expect("it is on the map");
            let wanted = [(column + 0.5) / 64.0, (row + 0.5) / 64.0];
            let away = (x - wanted[0]).abs().max((y - wanted[1]).abs());
            assert!(away < 0.5 / 64.0, "{x}, {y} for {wanted:?}");
        }
        assert_eq!(pick(eye, eye + Vec3::Y, &uniforms, terrain), None);
    }

    #[test]
    fn pick_ray_ignores_cut_away_terrain() {
        let options = Options { size: Some((64, 64)), ..Options::default() };
        let session = open_first("round-hill", &options).expect("built in");
        let terrain = &session.simulation.terrain;
        let whole = uniforms::alone(&session);
        let uniforms = whole.cut_along([[0.0, 0.5], [1.0, 0.5]]);
        let eye = Vec3::new(0.0, 300.0, 300.0);
        let seen = |uniforms: &SceneUniforms, column: f32, row: f32| {
            let place = whole.world(column, row, terrain.sample_ground(column, row));
            pick(eye, eye + (place - eye).normalize(), uniforms, terrain)
        };
        // The half on the camera's side, and the half beyond the line.
        assert!(seen(&whole, 32.0, 50.0).is_some_and(|[_, y]| y > 0.5));
        assert!(seen(&uniforms, 32.0, 50.0).is_none_or(|[_, y]| y < 0.5), "{:?}", seen(&uniforms, 32.0, 50.0));
        let [cut, uncut] = [&uniforms, &whole].map(|uniforms| seen(uniforms, 32.0, 20.0).expect("it is on the map"));
        assert!(cut.iter().zip(uncut).all(|(cut, uncut)| (cut - uncut).abs() < 1e-4), "{cut:?} {uncut:?}");
    }
}
