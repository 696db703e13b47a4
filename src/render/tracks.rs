//! Particle tracks of water drops and blown sand. While the simulation runs, trails move along a sample of the tracks. While it is
//! paused, the whole tracks of the last tick are drawn.

use crate::world::{Comparison, CutLine, FrameSystems, Revision, Simulations, Transport};
use bevy::{
    asset::RenderAssetUsages,
    mesh::{Indices, MeshVertexAttribute, PrimitiveTopology},
    prelude::*,
    render::render_resource::{AsBindGroup, ShaderType},
};

use super::{
    SIDE,
    ground::TerrainBlocks,
    material::{Variant, update},
    pass::{DrawnMesh, SurfaceMaterial, SurfacePlugin},
    uniforms::SceneUniforms,
};
use thalweg_scene::model::session::Session;
use thalweg_sim::{process::Track, simulation::Slot};

const LIFE: f32 = 2.4;
/// Length of a trail as a fraction of its track.
const TAIL: f32 = 0.3;
/// Height above the ground, in world units.
const LIFT: f32 = 0.0012 * SIDE;
/// Water depth from which tracks on the bed are hidden, as a fraction of the visibility depth.
const HIDES: f32 = 0.5;
/// Colour of water tracks, and half their width in pixels.
const INK: Vec4 = Vec4::new(0.62, 0.86, 1.0, 1.5);

/// The same for sand in the wind.
const BLOWN: Vec4 = Vec4::new(1.0, 0.93, 0.80, 1.1);

#[derive(Asset, TypePath, AsBindGroup, Clone, PartialEq)]
#[bind_group_data(Variant)]
struct TrackMaterial {
    #[uniform(0)]
    ink: Ink,
}

/// Track uniforms; mirrors `Ink` in `shaders/tracks.wgsl`.
#[derive(ShaderType, Clone, Copy, Debug, PartialEq)]
struct Ink {
    color: Vec4,
    sand: Vec4,
    column: Vec4,
}

impl From<&TrackMaterial> for Variant {
    fn from(TrackMaterial { ink }: &TrackMaterial) -> Self {
        Self::with(&[("SPLIT", ink.column.x > 0.0)])
    }
}

impl SurfaceMaterial for TrackMaterial {
    const SHADER: &'static str = "tracks.wgsl";
    const ORDER: u8 = 6;
    const OPAQUE: bool = false;
    const VERTEX: &'static [MeshVertexAttribute] =
        &[Mesh::ATTRIBUTE_POSITION, Mesh::ATTRIBUTE_NORMAL, Mesh::ATTRIBUTE_UV_0];
}

struct Trail {
    points: Vec<Vec3>,
    /// 1 for a drop, −1 for a grain in the wind; selects the colour in the shader.
    sign: f32,
    age: f32,
}

#[derive(Resource)]
struct Trails {
    mesh: Handle<Mesh>,
    material: Handle<TrackMaterial>,
    running: Vec<Trail>,
    /// State of the last tracks drawn while paused.
    still: Option<(Revision, Vec<SceneUniforms>)>,
    start: u64,
    /// Index of the track from the last tick that starts the next trail.
    next: usize,
}

pub(super) fn plugin(app: &mut App) {
    app.add_plugins(SurfacePlugin::<TrackMaterial>::default())
        .add_systems(Startup, build)
        .add_systems(Update, draw.in_set(FrameSystems::Decorate));
}

fn build(mut commands: Commands, mut meshes: ResMut<Assets<Mesh>>, mut materials: ResMut<Assets<TrackMaterial>>) {
    let mesh = meshes.add(ribbons(&[]));
    let material = materials.add(TrackMaterial { ink: Ink { color: INK, sand: BLOWN, column: Vec4::ZERO } });
    commands.spawn(DrawnMesh { mesh: mesh.clone(), material: material.clone(), chunk_set: None });
    commands.insert_resource(Trails { mesh, material, running: Vec::new(), still: None, start: 0, next: 0 });
}

#[expect(clippy::too_many_arguments, reason = "a system's arguments are what it reads and writes")]
fn draw(
    simulations: Res<Simulations>,
    revision: Res<Revision>,
    transport: Res<Transport>,
    (comparison, cut): (Res<State<Comparison>>, Res<CutLine>),
    blocks: Res<TerrainBlocks>,
    time: Res<Time>,
    mut trails: ResMut<Trails>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<TrackMaterial>>,
) {
    if blocks.uniforms.len() != simulations.all().len() || !simulations.is_displayable() {
        return;
    }
    let trails = &mut *trails;
    let mesh = trails.mesh.clone();
    let mut show = |lines: &[Ribbon]| {
        if let Some(mut mesh) = meshes.get_mut(&mesh) {
            *mesh = ribbons(lines);
        }
    };
    let column = Vec4::splat(blocks.uniforms.first().map_or(0.0, |uniforms| uniforms.place.w));
    update(&mut materials, &trails.material, |material| material.ink.column = column);
    // They would float in a cut block, and those of two simulations in the same place would overlap.
    let hidden = matches!(comparison.get(), Comparison::Start | Comparison::Simulations) || cut.0.is_some();
    if trails.start != revision.start || hidden {
        // Tracks of another terrain are obsolete, and the start has none.
        trails.start = revision.start;
        let shows = !trails.running.is_empty() || trails.still.is_some();
        (trails.running, trails.still) = (Vec::new(), None);
        if shows {
            show(&[]);
        }
        if hidden {
            return;
        }
    }
    let tracks: Vec<(&Session, &SceneUniforms, &Track, f32)> = simulations
        .all()
        .iter()
        .zip(&blocks.uniforms)
        .flat_map(|(session, uniforms)| {
            let slots = session.simulation.slots.iter().filter(|slot| slot.enabled);
            let sign = |slot: &Slot| if slot.process.capabilities().weather.is_some() { -1.0 } else { 1.0 };
            slots.flat_map(move |slot| {
                slot.process.tracks().iter().map(move |track| (session, uniforms, track, sign(slot)))
            })
        })
        .collect();
    if !transport.playing {
        let drawn = trails.still.as_ref();
        if drawn.is_some_and(|(seen, uniforms)| *seen == *revision && *uniforms == blocks.uniforms) {
            return;
        }
        trails.still = Some((*revision, blocks.uniforms.clone()));
        trails.running.clear();
        let lines: Vec<Ribbon> = tracks
            .iter()
            .map(|(session, uniforms, track, sign)| {
                let points = track_points(session, uniforms, track);
                let strength =
                    (0..points.len()).map(|index| sign * (0.08 + 0.3 * index as f32 / points.len() as f32)).collect();
                (points, strength)
            })
            .collect();
        return show(&lines);
    }
    trails.still = None;
    let passed = time.delta_secs().min(0.1);
    trails.running.iter_mut().for_each(|trail| trail.age += passed);
    trails.running.retain(|trail| trail.age < LIFE);
    // A few at a time, so that they do not all start and end together.
    let room = tracks.len().saturating_sub(trails.running.len());
    let begin = room.min((tracks.len() as f32 * passed / LIFE).ceil() as usize);
    for _ in 0..begin {
        trails.next = (trails.next + 7) % tracks.len();
        let (session, uniforms, track, sign) = tracks[trails.next];
        let points = track_points(session, uniforms, track);
        if points.len() > 1 {
            trails.running.push(Trail { points, sign, age: 0.0 });
        }
    }
    let lines: Vec<Ribbon> = trails.running.iter().filter_map(Trail::visible).collect();
    show(&lines);
}

/// Points of a polyline and their opacities.
type Ribbon = (Vec<Vec3>, Vec<f32>);

impl Trail {
    /// Returns the visible part of the track and its opacities.
    fn visible(&self) -> Option<Ribbon> {
        let last = (self.points.len() - 1) as f32;
        let head = self.age / LIFE * (1.0 + TAIL) * last;
        let (first, end) = ((head - TAIL * last).max(0.0) as usize, (head.min(last)) as usize);
        if end <= first {
            return None;
        }
        let strength = |index: usize| self.sign * 0.9 * (1.0 - (head - index as f32) / (TAIL * last)).clamp(0.0, 1.0);
        Some((self.points[first..=end].to_vec(), (first..=end).map(strength).collect()))
    }
}

/// Returns a track in world space, on the current ground.
fn track_points(session: &Session, uniforms: &SceneUniforms, track: &Track) -> Vec<Vec3> {
    let terrain = &session.simulation.terrain;
    let (width, height) = (terrain.width(), terrain.height());
    let place = |&[x, y]: &[f32; 2]| {
        let (column, row) = ((x - 0.5).clamp(0.0, width as f32 - 1.0), (y - 0.5).clamp(0.0, height as f32 - 1.0));
        uniforms.world(column, row, terrain.sample_ground(column, row)) + Vec3::Y * LIFT
    };
    track[..seen(session, track)].iter().map(place).collect()
}

/// Returns the number of points of a track drawn as one trail.
fn seen(session: &Session, track: &Track) -> usize {
    let terrain = &session.simulation.terrain;
    let (width, height) = (terrain.width(), terrain.height());
    // A track that wraps around a periodic border ends there.
    let far = 0.5 * width.min(height) as f32;
    let jump = |pair: &[[f32; 2]]| (pair[1][0] - pair[0][0]).abs().max((pair[1][1] - pair[0][1]).abs()) > far;
    let end = track.windows(2).position(jump).map_or(track.len(), |last| last + 1);
    // On a lake bed it would look like a scratch on the water surface.
    let look = &session.water_look;
    let deep = |&[x, y]: &[f32; 2]| terrain.water.sample_bilinear(x - 0.5, y - 0.5) > HIDES * look.clarity;
    track[..end].iter().position(|place| look.shown && deep(place)).unwrap_or(end)
}

/// Builds ribbons: each point twice, with direction, side and opacity.
fn ribbons(lines: &[Ribbon]) -> Mesh {
    let (mut positions, mut normals, mut sides, mut indices) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (points, strength) in lines {
        let first = positions.len() as u32;
        for (index, (&point, &strength)) in points.iter().zip(strength).enumerate() {
            let (before, after) = (points[index.saturating_sub(1)], points[(index + 1).min(points.len() - 1)]);
            let along = (after - before).try_normalize().unwrap_or(Vec3::X);
            for side in [-1.0, 1.0] {
                positions.push(point.to_array());
                normals.push(along.to_array());
                sides.push([side, strength]);
            }
        }
        for point in 0..points.len().saturating_sub(1) as u32 {
            let corner = first + 2 * point;
            indices.extend([corner, corner + 1, corner + 2, corner + 2, corner + 1, corner + 3]);
        }
    }
    if positions.is_empty() {
        // Meshes must not be empty: a degenerate triangle.
        positions = vec![[0.0; 3]; 3];
        normals = vec![[1.0, 0.0, 0.0]; 3];
        sides = vec![[0.0; 2]; 3];
        indices = vec![0, 1, 2];
    }
    Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::RENDER_WORLD)
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, positions)
        .with_inserted_attribute(Mesh::ATTRIBUTE_NORMAL, normals)
        .with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, sides)
        .with_inserted_indices(Indices::U32(indices))
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_scene::{io::scene::open_first, model::origin::Options};

    #[test]
    fn trail_ends_under_opaque_water_or_at_map_border() {
        let options = Options { size: Some((32, 32)), ..Options::default() };
        let mut session = open_first("round-hill", &options).unwrap_or_else(|error| panic!("{error}"));
        let (width, height) = (session.simulation.terrain.width(), session.simulation.terrain.height());
        let track: Track = (0..width).map(|x| [x as f32 + 0.5, 3.5]).collect();
        assert_eq!(seen(&session, &track), width, "dry land hides nothing");
        let clarity = session.water_look.clarity;
        for y in 0..height {
            for x in width / 2..width {
                session.simulation.terrain.water[y * width + x] = 2.0 * clarity;
            }
        }
        assert_eq!(seen(&session, &track), width / 2);
        session.water_look.shown = false;
        assert_eq!(seen(&session, &track), width, "water that is not drawn hides nothing");
        // Wraps around to the other side.
        let over: Track = [[2.5, 3.5], [1.5, 3.5], [0.5, 3.5], [width as f32 - 0.5, 3.5]].to_vec();
        assert_eq!(seen(&session, &over), 3);
    }
}
