//! Places: what of the map lies under the pointer, and where in the picture springs and the chosen river are.

use bevy::{
    prelude::*,
    window::{PrimaryWindow, WindowEvent},
};
use bevy_panorbit_camera::PanOrbitCamera;

use super::{
    ViewSystems,
    ground::Blocks,
    hand::{Hand, Sight},
    numbers::SceneNumbers,
};
use crate::{
    runtime::{
        Brushes, Followed, FollowedTrace, FreeView, KeyPointer, Live, Pointed, PointerOverView, ProbeMarks, Probes,
        RiverTrace, Rivers, Section, SectionTrace, SimSystems, SourceMarks, Touch,
    },
    sim::{measure::Study, ray, terrain::Terrain},
};

/// Straight pieces as which the line of a section follows the ground.
const SECTION_POINTS: usize = 200;

pub(super) fn plugin(app: &mut App) {
    // What the hand does on the ground is done and shown in the same frame.
    app.add_systems(
        Update,
        (
            point.before(SimSystems::Edit),
            (mark, mark_probes, trace, trace_section, trace_followed).after(ViewSystems::Show),
        ),
    );
}

pub(super) type CameraPlace<'w> = (&'w Camera, &'w GlobalTransform);

/// Follows the pointer: the place on the chosen map under it, and how it touches the ground.
#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
fn point(
    live: Res<Live>,
    blocks: Res<Blocks>,
    view: Res<FreeView>,
    (over_view, keys, brushes): (Res<PointerOverView>, Res<KeyPointer>, Res<Brushes>),
    camera: Single<CameraPlace<'_>, With<PanOrbitCamera>>,
    windows: Query<&Window, With<PrimaryWindow>>,
    time: Res<Time>,
    mut events: MessageReader<WindowEvent>,
    mut hand: Local<Hand>,
    mut pointed: ResMut<Pointed>,
    mut touches: MessageWriter<Touch>,
) {
    let (camera, transform) = *camera;
    let terrain = &live.chosen().simulation.terrain;
    let place = |cursor: Option<Vec2>| {
        let share = (cursor? - view.rect.min.as_vec2()) / view.rect.size().as_vec2().max(Vec2::ONE);
        if share.min_element() < 0.0 || share.max_element() > 1.0 {
            return None;
        }
        let (x, y) = (2.0 * share.x - 1.0, 1.0 - 2.0 * share.y);
        let at = |depth: f32| camera.ndc_to_world(transform, Vec3::new(x, y, depth));
        // Depth is reversed: 1 is near.
        pick(at(1.0)?, at(0.1)?, blocks.numbers.get(live.index())?, terrain)
    };
    let scale = windows.single().map_or(1.0, Window::scale_factor);
    let sight = Sight { place: &place, over_view: over_view.land, keys: keys.0, brush: brushes.held.is_some(), scale };
    let (felt, looked) = hand.feel(events.read(), &sight);
    touches.write_batch(felt);
    if hand.is_down() {
        touches.write(Touch::Rest(time.delta_secs()));
    }
    let found = looked.or_else(|| place(hand.cursor)).filter(|_| over_view.view || keys.0.is_some());
    if !hand.is_down() {
        let on_land = found.filter(|_| over_view.land || keys.0.is_some());
        touches.write(Touch::Hover(on_land, hand.keys()));
    }
    if pointed.0 != found {
        pointed.0 = found;
    }
}

/// Finds where in the picture the springs of the chosen map are.
fn mark(
    live: Res<Live>,
    blocks: Res<Blocks>,
    camera: Single<CameraPlace<'_>, With<PanOrbitCamera>>,
    mut marks: ResMut<SourceMarks>,
) {
    let terrain = &live.chosen().simulation.terrain;
    let Some(numbers) = blocks.numbers.get(live.index()) else { return };
    let places = terrain.sources.iter().map(|source| on_picture(*camera, numbers, terrain, source.place));
    let found: Vec<Option<Vec2>> = places.collect();
    if marks.0 != found {
        marks.0 = found;
    }
}

/// Finds where in the picture the probes are.
fn mark_probes(
    live: Res<Live>,
    blocks: Res<Blocks>,
    probes: Res<Probes>,
    camera: Single<CameraPlace<'_>, With<PanOrbitCamera>>,
    mut marks: ResMut<ProbeMarks>,
) {
    let terrain = &live.chosen().simulation.terrain;
    let Some(numbers) = blocks.numbers.get(live.index()) else { return };
    let places = probes.pinned.iter().map(|probe| on_picture(*camera, numbers, terrain, probe.place));
    let found: Vec<Option<Vec2>> = places.collect();
    if marks.0 != found {
        marks.0 = found;
    }
}

/// Finds where in the picture the chosen river runs, while it is looked at.
fn trace(
    live: Res<Live>,
    blocks: Res<Blocks>,
    rivers: Res<Rivers>,
    camera: Single<CameraPlace<'_>, With<PanOrbitCamera>>,
    mut trace: ResMut<RiverTrace>,
) {
    let terrain = &live.chosen().simulation.terrain;
    let study =
        rivers.found.as_ref().filter(|study| rivers.wanted && study.size == (terrain.width(), terrain.height()));
    let Some(numbers) = blocks.numbers.get(live.index()) else { return };
    let found: Vec<Option<Vec2>> =
        study.into_iter().flat_map(Study::way).map(|place| on_picture(*camera, numbers, terrain, place)).collect();
    if trace.0 != found {
        trace.0 = found;
    }
}

/// Finds where in the picture the line of the section lies.
fn trace_section(
    live: Res<Live>,
    blocks: Res<Blocks>,
    section: Res<Section>,
    camera: Single<CameraPlace<'_>, With<PanOrbitCamera>>,
    mut trace: ResMut<SectionTrace>,
) {
    let terrain = &live.chosen().simulation.terrain;
    let Some(numbers) = blocks.numbers.get(live.index()) else { return };
    let line = section.ends.into_iter().flat_map(|[from, to]| {
        (0..=SECTION_POINTS).map(move |point| {
            let share = point as f32 / SECTION_POINTS as f32;
            [0, 1].map(|axis| from[axis] + share * (to[axis] - from[axis]))
        })
    });
    let found: Vec<Option<Vec2>> = line.map(|place| on_picture(*camera, numbers, terrain, place)).collect();
    if trace.0 != found {
        trace.0 = found;
    }
}

/// Finds where in the picture the way of the followed particle lies.
fn trace_followed(
    live: Res<Live>,
    blocks: Res<Blocks>,
    followed: Res<Followed>,
    camera: Single<CameraPlace<'_>, With<PanOrbitCamera>>,
    mut trace: ResMut<FollowedTrace>,
) {
    let terrain = &live.chosen().simulation.terrain;
    let Some(numbers) = blocks.numbers.get(live.index()) else { return };
    let places = followed.0.iter().flat_map(|way| way.places());
    let found: Vec<Option<Vec2>> = places.map(|place| on_picture(*camera, numbers, terrain, place)).collect();
    if trace.0 != found {
        trace.0 = found;
    }
}

/// Where in the picture a place of the map is, both as shares of their sides; nowhere if it lies behind the eye.
pub(super) fn on_picture(
    (camera, transform): CameraPlace<'_>,
    numbers: &SceneNumbers,
    terrain: &Terrain,
    [x, y]: [f32; 2],
) -> Option<Vec2> {
    let (column, row) = (x * terrain.width() as f32 - 0.5, y * terrain.height() as f32 - 0.5);
    let ndc = camera.world_to_ndc(transform, numbers.world(column, row, terrain.ground_between(column, row)))?;
    (ndc.z > 0.0).then(|| Vec2::new(0.5 + 0.5 * ndc.x, 0.5 - 0.5 * ndc.y))
}

/// Where the line of sight through two places in the world first meets the ground, also under water, as shares of the map.
pub(super) fn pick(near: Vec3, far: Vec3, numbers: &SceneNumbers, terrain: &Terrain) -> Option<[f32; 2]> {
    let [from, to] = [near, far].map(|place| numbers.on_map(place));
    let way: [f64; 3] = std::array::from_fn(|axis| to[axis] - from[axis]);
    let [column, row] = ray::meet(terrain, from, way)?;
    let share = |cell: f32, count: usize| ((cell + 0.5) / count as f32).clamp(0.0, 1.0);
    Some([share(column, terrain.width()), share(row, terrain.height())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::{origin::Options, session::Session},
        view::numbers,
    };

    #[test]
    fn the_pointer_finds_the_place_that_the_picture_shows() {
        let options = Options { size: Some((64, 64)), ..Options::default() };
        let session = Session::open("round-hill", &options).expect("built in");
        let terrain = &session.simulation.terrain;
        let numbers = numbers::alone(&session);
        let eye = Vec3::new(0.0, 300.0, 300.0);
        for (column, row) in [(32.0, 50.0), (10.0, 40.0), (32.0, 34.0)] {
            let place = numbers.world(column, row, terrain.ground_between(column, row));
            let [x, y] = pick(eye, eye + (place - eye).normalize(), &numbers, terrain).expect("it is on the map");
            let wanted = [(column + 0.5) / 64.0, (row + 0.5) / 64.0];
            let away = (x - wanted[0]).abs().max((y - wanted[1]).abs());
            assert!(away < 0.5 / 64.0, "{x}, {y} for {wanted:?}");
        }
        assert_eq!(pick(eye, eye + Vec3::Y, &numbers, terrain), None);
    }
}
