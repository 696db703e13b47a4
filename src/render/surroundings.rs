//! Surroundings of the blocks: sky, ground plane and their light.

use bevy::{
    prelude::*,
    render::render_resource::{AsBindGroup, TextureFormat},
    window::PrimaryWindow,
};

use super::{
    SIDE,
    ground::{BlockLighting, TerrainBlocks},
    layers::{byte_image, cell_image},
    material::{Variant, update},
    pass::{DrawnMesh, SurfaceMaterial, SurfacePlugin},
    plinth::Plinth,
    relief::{self, HORIZON_CELLS},
    uniforms::SceneUniforms,
};
use crate::world::{FrameSystems, Preferences, Simulations, background::BackgroundTask};
use thalweg_scene::model::MOST_SIDE_BY_SIDE;

/// Maximum number of blocks that shade the ground plane; also in `shaders/ground_plane.wgsl`.
const MOST_BLOCKS: usize = MOST_SIDE_BY_SIDE;

#[derive(Asset, TypePath, AsBindGroup, Clone, PartialEq)]
#[bind_group_data(Variant)]
struct SkyMaterial {
    #[uniform(0)]
    scene: SceneUniforms,
}

impl From<&SkyMaterial> for Variant {
    fn from(_: &SkyMaterial) -> Self {
        Self::with(&[])
    }
}

// Drawn after ground and ground plane, in the pixels they leave free.
impl SurfaceMaterial for SkyMaterial {
    const SHADER: &'static str = "sky.wgsl";
    const ORDER: u8 = 3;
    const OPAQUE: bool = true;
    const IS_BEHIND: bool = true;
}

#[derive(Asset, TypePath, AsBindGroup, Clone, PartialEq)]
#[bind_group_data(Variant)]
struct GroundPlaneMaterial {
    #[uniform(0)]
    scene: SceneUniforms,
    #[uniform(1)]
    blocks: [Vec4; MOST_BLOCKS],
    #[texture(2)]
    #[sampler(3)]
    horizons: Handle<Image>,
    /// Margins of the plinth at the sides and at the front; 0 without a plinth.
    #[uniform(4)]
    plinth: Vec4,
    #[texture(5)]
    #[sampler(6)]
    letters: Handle<Image>,
}

impl From<&GroundPlaneMaterial> for Variant {
    fn from(GroundPlaneMaterial { scene, blocks, plinth, .. }: &GroundPlaneMaterial) -> Self {
        let count = blocks.iter().filter(|block| block.z > 0.0).count();
        Self::with(&[("CLOUDS", scene.has_clouds()), ("PLINTH", plinth.x > 0.0)]).and("BLOCKS", count)
    }
}

impl SurfaceMaterial for GroundPlaneMaterial {
    const SHADER: &'static str = "ground_plane.wgsl";
    const ORDER: u8 = 1;
    const OPAQUE: bool = true;
    const IS_BEHIND: bool = true;
}

/// Rows of the horizon texture: four for each block of the present, then of the starts.
const HORIZON_ROWS: usize = 2 * 4 * MOST_BLOCKS;

/// Materials shared by all blocks. Changed when another lettering is shown.
#[derive(Resource)]
pub(super) struct Surroundings {
    sky: Handle<SkyMaterial>,
    ground_plane: Handle<GroundPlaneMaterial>,
    horizons: Handle<Image>,
    /// The plinth shown and its lettering.
    plinth: Option<Plinth>,
    letters: Handle<Image>,
    /// Lettering of the next plinth, which is shown once this is drawn.
    lettering: Option<BackgroundTask<Plinth, Image>>,
}

impl Surroundings {
    /// `true` while lettering is being drawn.
    pub(super) fn waits_for_letters(&self) -> bool {
        self.lettering.is_some()
    }

    /// Updates the plinth to the wanted one as soon as its lettering is drawn, or waits for that. Returns `true` if it changed.
    fn show_plinth(&mut self, wanted: Option<Plinth>, images: &mut Assets<Image>, waits: bool) -> bool {
        let mut changed = self.take_letters(images, waits);
        if self.plinth != wanted && self.lettering.is_none() {
            match wanted {
                Some(plinth) => self.lettering = Some(BackgroundTask::start(plinth.clone(), move || plinth.image())),
                None => (self.plinth, changed) = (None, true),
            }
            changed |= self.take_letters(images, waits);
        }
        changed
    }

    /// Shows the next plinth if its lettering is drawn, or waits for it. Returns `true` if there was one.
    fn take_letters(&mut self, images: &mut Assets<Image>, waits: bool) -> bool {
        let drawn = self.lettering.take_if(|lettering| waits || lettering.is_finished()).map(BackgroundTask::finish);
        let Some((plinth, image)) = drawn else { return false };
        self.plinth = Some(plinth);
        if let Some(image) = image {
            self.letters = images.add(image);
        }
        true
    }
}

pub(super) fn plugin(app: &mut App) {
    app.add_plugins((SurfacePlugin::<SkyMaterial>::default(), SurfacePlugin::<GroundPlaneMaterial>::default()))
        .insert_resource(ClearColor(Color::BLACK))
        .add_systems(Startup, build)
        .add_systems(Update, show.in_set(FrameSystems::Decorate));
}

fn build(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut images: ResMut<Assets<Image>>,
    mut skies: ResMut<Assets<SkyMaterial>>,
    mut ground_planes: ResMut<Assets<GroundPlaneMaterial>>,
) {
    let scene = SceneUniforms::default();
    let sky = skies.add(SkyMaterial { scene });
    let size = (HORIZON_CELLS, HORIZON_ROWS);
    let horizons = images.add(cell_image(size, TextureFormat::R16Float));
    let letters = images.add(byte_image((1, 1), vec![0]));
    let ground_plane = GroundPlaneMaterial {
        scene,
        blocks: [Vec4::ZERO; MOST_BLOCKS],
        horizons: horizons.clone(),
        plinth: Vec4::ZERO,
        letters: letters.clone(),
    };
    let ground_plane = ground_planes.add(ground_plane);
    let ball = Sphere::new(40.0 * SIDE).mesh().uv(64, 32);
    commands.spawn(DrawnMesh { mesh: meshes.add(ball), material: sky.clone(), chunk_set: None });
    let disc = Circle::new(30.0 * SIDE).mesh().resolution(96).build();
    let lying = disc.rotated_by(Quat::from_rotation_x(-std::f32::consts::FRAC_PI_2));
    commands.spawn(DrawnMesh { mesh: meshes.add(lying), material: ground_plane.clone(), chunk_set: None });
    commands.insert_resource(Surroundings { sky, ground_plane, horizons, plinth: None, letters, lettering: None });
}

/// Updates light, colours and shadows of sky and ground plane.
fn show(
    (blocks, lighting): (Res<TerrainBlocks>, Res<BlockLighting>),
    (simulations, preferences, windows): (Res<Simulations>, Res<Preferences>, Query<(), With<PrimaryWindow>>),
    mut parts: ResMut<Surroundings>,
    mut images: ResMut<Assets<Image>>,
    mut skies: ResMut<Assets<SkyMaterial>>,
    mut ground_planes: ResMut<Assets<GroundPlaneMaterial>>,
    mut lit: Local<Vec<SceneUniforms>>,
) {
    let Some(&scene) = blocks.uniforms.first() else { return };
    let changes = blocks.is_changed() || lighting.is_changed() || simulations.is_changed() || preferences.is_changed();
    if !(changes || parts.waits_for_letters()) {
        return;
    }
    let plinth = Plinth::of(&simulations, &scene, preferences.settings.units);
    // Off-screen, every frame is complete.
    if parts.bypass_change_detection().show_plinth(plinth, &mut images, windows.is_empty()) {
        parts.set_changed();
    }
    if lighting.is_changed() || *lit != blocks.uniforms {
        lit.clone_from(&blocks.uniforms);
        let mut bytes = Vec::new();
        for (half, horizons) in blocks.horizons().into_iter().enumerate() {
            let rows = horizons.into_iter().zip(blocks.places()).take(MOST_BLOCKS);
            let rows = rows.flat_map(|(horizon, uniforms)| {
                relief::horizon_texels(horizon, |metres| uniforms.height_above_base(metres))
            });
            bytes.extend(rows.flat_map(u16::to_le_bytes));
            bytes.resize((half + 1) * HORIZON_CELLS * HORIZON_ROWS, 0);
        }
        if let Some(mut image) = images.get_mut(&parts.horizons) {
            image.data = Some(bytes);
        }
    }
    let mut places = [Vec4::ZERO; MOST_BLOCKS];
    for (place, uniforms) in places.iter_mut().zip(blocks.places()) {
        *place = uniforms.footprint();
    }
    update(&mut skies, &parts.sky, |sky| sky.scene = scene);
    let reach = parts.plinth.as_ref().map_or(Vec2::ZERO, |plinth| plinth.reach);
    update(&mut ground_planes, &parts.ground_plane, |ground_plane| {
        (ground_plane.scene, ground_plane.blocks, ground_plane.plinth) = (scene, places, reach.extend(0.0).extend(0.0));
        ground_plane.letters = parts.letters.clone();
    });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{super::uniforms::alone, *};
    use thalweg_scene::{io::scene::open_first, model::origin::Options, settings::UnitSystem};

    fn plinth(title: &str) -> Option<Plinth> {
        let options = Options { size: Some((64, 48)), ..Options::default() };
        let mut session = open_first("round-hill", &options).expect("built in");
        title.clone_into(&mut session.title);
        session.look.plinth = true;
        let uniforms = alone(&session);
        Plinth::of(&Simulations::new(vec![session]), &uniforms, UnitSystem::Metric)
    }

    #[test]
    fn plinth_changes_together_with_its_lettering() {
        let mut images = Assets::<Image>::default();
        let mut parts = Surroundings {
            sky: Handle::default(),
            ground_plane: Handle::default(),
            horizons: Handle::default(),
            plinth: None,
            letters: Handle::default(),
            lettering: None,
        };
        let [first, second] = ["Hill", "Dale"].map(plinth);
        assert!(parts.show_plinth(first.clone(), &mut images, true), "an off-screen frame is incomplete");
        assert_eq!(parts.plinth, first);
        let letters = parts.letters.clone();
        while !parts.show_plinth(second.clone(), &mut images, false) {
            assert_eq!((&parts.plinth, &parts.letters), (&first, &letters));
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(parts.plinth == second && parts.letters != letters && !parts.waits_for_letters());
        assert!(!parts.show_plinth(second, &mut images, false), "nothing changed");
        assert!(parts.show_plinth(None, &mut images, false) && parts.plinth.is_none());
    }
}
