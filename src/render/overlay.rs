//! Data overlay of the ground: texture of values and velocities, and the colour map.

use bevy::{prelude::*, render::render_resource::ShaderType};

use rayon::prelude::*;

use super::{
    ground::{GroundMaterial, TerrainBlocks, update_uniforms},
    layers::{byte_image, layer_image},
    material::update,
};
use crate::world::{Brushes, Comparison, FrameSystems, Overlay, Simulations, ViewportArea};
use thalweg_sim::core::{grid::Grid, quantity::ColorScale};

/// Number of colour stops.
const COLORS: usize = 9;
/// Arrows along a map's shorter side.
const ARROWS: f32 = 36.0;
/// Tint of masked terrain in linear RGB, and its strength: the ruby of masks in image editors.
const MASK_TINT: Vec4 = Vec4::new(0.42, 0.02, 0.06, 0.5);

/// Overlay uniforms; mirrors `Overlay` in `shaders/terrain.wgsl`.
#[derive(ShaderType, Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct OverlayUniforms {
    range: Vec4,
    arrows: Vec4,
    mask_tint: Vec4,
    colors: [Vec4; COLORS],
}

impl OverlayUniforms {
    fn new(overlay: &Overlay, shorter_side: usize, film: f32, tints_mask: bool) -> Self {
        let (least, most) = overlay.range;
        let switch = |on: bool| f32::from(u8::from(on));
        let scale = overlay.shown.map(|quantity| quantity.scale());
        let (per_unit, spacing) =
            (1.0 / (most - least).max(f32::MIN_POSITIVE), (shorter_side as f32 / ARROWS).max(2.0));
        // Fades to the ground where the value is zero, or small on a logarithmic scale.
        let fade = match scale {
            Some(ColorScale::FromZero) => 0.02,
            Some(ColorScale::Logarithmic) => 0.1,
            // Classes are not interpolated.
            Some(ColorScale::Classes) => -1.0,
            _ => 0.0,
        };
        Self {
            range: Vec4::new(least, per_unit, switch(scale.is_some()), switch(overlay.arrows)),
            arrows: Vec4::new(spacing, overlay.fastest, film, fade),
            mask_tint: if tints_mask { MASK_TINT } else { Vec4::ZERO },
            colors: std::array::from_fn(|index| {
                let share = index as f32 / (COLORS - 1) as f32;
                scale.map_or(Vec4::ZERO, |scale| Vec3::from(Overlay::color(scale, share)).extend(1.0))
            }),
        }
    }

    pub(super) fn has_values(&self) -> bool {
        self.range.z > 0.0
    }

    /// `true` if values are discrete classes.
    pub(super) fn has_classes(&self) -> bool {
        self.arrows.w < 0.0
    }

    pub(super) fn has_arrows(&self) -> bool {
        self.range.w > 0.0
    }

    /// `true` if masked terrain is tinted.
    pub(super) fn has_mask(&self) -> bool {
        self.mask_tint.w > 0.0
    }
}

/// Textures of values, velocities and mask of every block.
#[derive(Resource)]
pub(super) struct OverlayTextures {
    /// One per block.
    images: Vec<Handle<Image>>,
    /// Texture of a block without an overlay.
    pub still: Handle<Image>,
    /// Texture of a block without streams.
    pub dry: Handle<Image>,
    /// Opacity of the water relative to its look: below 1, the ground is visible.
    pub water_opacity: f32,
}

impl FromWorld for OverlayTextures {
    fn from_world(world: &mut World) -> Self {
        let mut images = world.resource_mut::<Assets<Image>>();
        let still = images.add(layer_image((1, 1), vec![0; 16]));
        let dry = images.add(byte_image((1, 1), vec![0]));
        Self { images: Vec::new(), still, dry, water_opacity: 1.0 }
    }
}

impl OverlayTextures {
    pub fn image(&self, block: usize) -> &Handle<Image> {
        self.images.get(block).unwrap_or(&self.still)
    }
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<OverlayTextures>().add_systems(Update, show.in_set(FrameSystems::Show).after(update_uniforms));
}

/// Updates values, velocities, mask and colours.
fn show(
    (simulations, overlay, brushes): (Res<Simulations>, Res<Overlay>, Res<Brushes>),
    (comparison, view): (Res<State<Comparison>>, Res<ViewportArea>),
    blocks: Res<TerrainBlocks>,
    mut motions: ResMut<OverlayTextures>,
    mut images: ResMut<Assets<Image>>,
    mut materials: ResMut<Assets<GroundMaterial>>,
    mut tinted: Local<bool>,
) {
    // Not in screenshots.
    let tints_mask = overlay.tints_mask(&brushes, &simulations) && !view.is_taking_screenshot;
    let other = std::mem::replace(&mut *tinted, tints_mask) != tints_mask;
    if !(overlay.is_changed() || blocks.is_changed() || comparison.is_changed() || other) {
        return;
    }
    motions.water_opacity = overlay.water_opacity();
    // There are no values for the start.
    let nothing = Overlay::default();
    let is_start = *comparison == Comparison::Start;
    let painted = if is_start { &nothing } else { &*overlay };
    let count = blocks.materials().count();
    let still = motions.still.clone();
    motions.images.resize(count, still.clone());
    for (index, material) in blocks.materials().enumerate() {
        let Some(session) = simulations.all().get(index) else { continue };
        let terrain = &session.simulation.terrain;
        let size = (terrain.width(), terrain.height());
        let fits = |grid: &&Grid| (grid.width(), grid.height()) == size;
        let values = overlay.values.get(index).filter(fits);
        let flow = overlay.flows.get(index).and_then(Option::as_ref).filter(|[u, _]| fits(&u));
        let mask = terrain.mask.as_ref().filter(|_| tints_mask);
        let (size, bytes) = motion_bytes(size, values, flow, mask);
        let same_size = |image: &Image| image.size() == UVec2::new(size.0 as u32, size.1 as u32);
        let handle = &mut motions.images[index];
        if *handle == still || !images.get(&*handle).is_some_and(same_size) {
            *handle = images.add(layer_image(size, bytes));
        } else if let Some(mut image) = images.get_mut(&*handle) {
            image.data = Some(bytes);
        }
        let (image, shorter_side) = (&*handle, terrain.width().min(terrain.height()));
        let film = overlay.film(simulations.selected().water_look.film);
        let uniforms = OverlayUniforms::new(painted, shorter_side, film, tints_mask && !is_start);
        update(&mut materials, material, |material| {
            material.motion = image.clone();
            material.overlay = uniforms;
        });
    }
}

/// Returns value, velocity and mask of every cell as texture bytes; a single texel where there is none of them.
fn motion_bytes(
    size: (usize, usize),
    values: Option<&Grid>,
    flow: Option<&[Grid; 2]>,
    mask: Option<&Grid>,
) -> ((usize, usize), Vec<u8>) {
    if values.is_none() && flow.is_none() && mask.is_none() {
        return ((1, 1), vec![0; 16]);
    }
    let value = |grid: Option<&Grid>, index: usize| grid.map_or(0.0, |grid| grid[index]);
    let [u, v] = [flow.map(|[u, _]| u), flow.map(|[_, v]| v)];
    let mut bytes = vec![0; 16 * size.0 * size.1];
    bytes.par_chunks_mut(16 * size.0).enumerate().for_each(|(y, row)| {
        for (x, cell) in row.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let index = y * size.0 + x;
            let halves = [values, u, v, mask].map(|grid| value(grid, index).to_le_bytes());
            cell.copy_from_slice(halves.as_flattened());
        }
    });
    (size, bytes)
}
