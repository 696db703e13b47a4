//! Places: what of the map lies under the pointer, and where in the picture the springs are.

use bevy::{prelude::*, window::PrimaryWindow};
use bevy_panorbit_camera::PanOrbitCamera;

use super::{ViewSystems, ground::Blocks, numbers::SceneNumbers};
use crate::{
    runtime::{FreeView, Live, Marks, Pointed, PointerOverView},
    sim::terrain::Terrain,
};

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Update, (point, mark).after(ViewSystems::Show));
}

/// The camera of the view.
type Eye<'w> = (&'w Camera, &'w GlobalTransform);

/// Finds the place on the chosen map under the pointer.
fn point(
    live: Res<Live>,
    blocks: Res<Blocks>,
    view: Res<FreeView>,
    over_view: Res<PointerOverView>,
    camera: Single<Eye<'_>, With<PanOrbitCamera>>,
    windows: Query<&Window, With<PrimaryWindow>>,
    mut pointed: ResMut<Pointed>,
) {
    let found = || {
        let cursor = windows.single().ok()?.physical_cursor_position()?;
        let share = (cursor - view.rect.min.as_vec2()) / view.rect.size().as_vec2().max(Vec2::ONE);
        if !over_view.0 || share.min_element() < 0.0 || share.max_element() > 1.0 {
            return None;
        }
        let (camera, transform) = *camera;
        let at =
            |depth: f32| camera.ndc_to_world(transform, Vec3::new(2.0 * share.x - 1.0, 1.0 - 2.0 * share.y, depth));
        // Depth is reversed: 1 is near.
        let (near, far) = (at(1.0)?, at(0.1)?);
        let numbers = blocks.numbers.get(live.index())?;
        pick(near, (far - near).normalize_or_zero(), numbers, &live.chosen().simulation.terrain)
    };
    let found = found();
    if pointed.0 != found {
        pointed.0 = found;
    }
}

/// Finds where in the picture the springs of the chosen map are.
fn mark(live: Res<Live>, blocks: Res<Blocks>, camera: Single<Eye<'_>, With<PanOrbitCamera>>, mut marks: ResMut<Marks>) {
    let (camera, transform) = *camera;
    let terrain = &live.chosen().simulation.terrain;
    let found: Vec<Option<Vec2>> = terrain
        .sources
        .iter()
        .map(|source| {
            let numbers = blocks.numbers.get(live.index())?;
            let [x, y] = source.place;
            let (column, row) = (x * terrain.width() as f32 - 0.5, y * terrain.height() as f32 - 0.5);
            let ndc = camera.world_to_ndc(transform, numbers.world(column, row, surface(terrain, column, row)))?;
            (ndc.z > 0.0).then(|| Vec2::new(0.5 + 0.5 * ndc.x, 0.5 - 0.5 * ndc.y))
        })
        .collect();
    if marks.0 != found {
        marks.0 = found;
    }
}

/// Height of ground and water in the cell nearest to a place counted between cell centres, in metres.
fn surface(terrain: &Terrain, column: f32, row: f32) -> f32 {
    let nearest = |place: f32, count: usize| (place.round().max(0.0) as usize).min(count - 1);
    let index = nearest(row, terrain.height()) * terrain.width() + nearest(column, terrain.width());
    terrain.bedrock[index] + terrain.sand[index] + terrain.water[index]
}

/// Where a ray first meets ground or water, as shares of the map.
fn pick(from: Vec3, towards: Vec3, numbers: &SceneNumbers, terrain: &Terrain) -> Option<[f32; 2]> {
    let above = |distance: f32| {
        let place = from + towards * distance;
        let (column, row) = numbers.cell(place)?;
        Some(place.y - numbers.world(column, row, surface(terrain, column, row)).y)
    };
    // Half a cell at a time: the eye is never farther than a few sides of the map.
    let step = 0.5 * numbers.cell_side();
    let mut distance = 0.0;
    let mut was_above = false;
    while distance < 10.0 * super::SIDE {
        match above(distance) {
            Some(height) if height <= 0.0 => {
                // Through a wall is no place on the ground.
                if !was_above {
                    return None;
                }
                let (column, row) = numbers.cell(from + towards * distance)?;
                let share = |cell: f32, count: usize| ((cell + 0.5) / count as f32).clamp(0.0, 1.0);
                return Some([share(column, terrain.width()), share(row, terrain.height())]);
            }
            Some(_) => was_above = true,
            None => was_above = false,
        }
        distance += step;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        io::{heightmap::Options, session::Session},
        look::Look,
        view::numbers::Layout,
    };

    #[test]
    fn the_pointer_finds_the_place_that_the_picture_shows() {
        let options = Options { size: Some((64, 64)), ..Options::default() };
        let session = Session::open("round-hill", &options).expect("built in");
        let terrain = &session.simulation.terrain;
        let layout = Layout::new(std::slice::from_ref(&session));
        let numbers = SceneNumbers::new(terrain, &Look::default(), &layout, Vec2::ZERO, (0.0, -10.0), None);
        let eye = Vec3::new(0.0, 300.0, 300.0);
        for (column, row) in [(32.0, 50.0), (10.0, 40.0), (32.0, 34.0)] {
            let place = numbers.world(column, row, surface(terrain, column, row));
            let [x, y] = pick(eye, (place - eye).normalize(), &numbers, terrain).expect("it is on the map");
            let wanted = [(column + 0.5) / 64.0, (row + 0.5) / 64.0];
            assert!((x - wanted[0]).abs() < 0.02 && (y - wanted[1]).abs() < 0.02, "{x}, {y} for {wanted:?}");
        }
        assert_eq!(pick(eye, Vec3::Y, &numbers, terrain), None);
    }
}
