//! Rivers on the ground: the textures of the nearest river of every cell and of the land whose water passes it, and the numbers of their
//! water.

use std::sync::Arc;

use bevy::{prelude::*, render::render_resource::ShaderType};
use rayon::prelude::*;

use super::{
    ViewSystems,
    ground::{Blocks, GroundMaterial, show_heights},
    layers::{byte_image, layer_image},
    material::update,
    overlay::Motions,
};
use crate::{
    look::WaterLook,
    runtime::{Before, Channels, Live, Overlay, Shown, TICKS_PER_SECOND},
    sim::network::{Drawn, Nearest},
};

/// `River` in `shaders/terrain.wgsl` is its twin.
#[derive(ShaderType, Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RiverNumbers {
    color: Vec4,
    waves: Vec4,
}

impl RiverNumbers {
    fn new(look: &WaterLook, ticks: u64) -> Self {
        let color = Color::srgb_from_array(look.color).to_linear().to_vec3();
        let clock = (ticks as f64 / TICKS_PER_SECOND % 1000.0) as f32;
        Self { color: color.extend(look.clarity), waves: Vec4::new(look.ripples, look.mirror, look.glint, clock) }
    }

    pub(super) fn are_drawn(&self) -> bool {
        self.color.w > 0.0
    }
}

/// The textures, one for each block of the present and then of the starts; none where it has no rivers.
#[derive(Resource, Default)]
struct Textures(Vec<Option<Texture>>);

/// The textures of the nearest rivers and of the land above, and what they were made of.
#[derive(Clone)]
struct Texture {
    image: Handle<Image>,
    flow: Handle<Image>,
    of: Arc<Drawn>,
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Textures>().add_systems(Update, show.in_set(ViewSystems::Show).after(show_heights));
}

/// Brings the rivers to the screen. What is shown over the ground has none.
fn show(
    (live, channels, overlay, shown): (Res<Live>, Res<Channels>, Res<Overlay>, Res<Shown>),
    (blocks, motions): (Res<Blocks>, Res<Motions>),
    mut textures: ResMut<Textures>,
    mut images: ResMut<Assets<Image>>,
    mut materials: ResMut<Assets<GroundMaterial>>,
) {
    if !(live.is_changed()
        || channels.is_changed()
        || overlay.is_changed()
        || blocks.is_changed()
        || shown.is_changed())
    {
        return;
    }
    let present = if shown.0 == Before::Alone { &channels.starts } else { &channels.maps };
    let present = blocks.materials().enumerate().map(|(index, material)| (index, material, present));
    let starts = blocks.materials_of_starts().enumerate().map(|(index, material)| (index, material, &channels.starts));
    let drawn: Vec<_> = present.chain(starts).collect();
    textures.0.resize(drawn.len(), None);
    for ((index, material, maps), texture) in drawn.into_iter().zip(&mut textures.0) {
        let Some(session) = live.all().get(index) else { continue };
        let terrain = &session.simulation.terrain;
        let fits = |map: &&Arc<Drawn>| map.nearest.len() == terrain.bedrock.len();
        let map =
            maps.get(index).and_then(Option::as_ref).filter(fits).filter(|_| session.rivers.shown && !overlay.on());
        let Some(map) = map else {
            *texture = None;
            update(&mut materials, material, |material| {
                (material.channels, material.flow) = (motions.still.clone(), motions.dry.clone());
                material.river = RiverNumbers::default();
            });
            continue;
        };
        if texture.as_ref().is_none_or(|texture| !Arc::ptr_eq(&texture.of, map)) {
            let size = (terrain.width(), terrain.height());
            let same_size = |image: &Image| image.size() == UVec2::new(size.0 as u32, size.1 as u32);
            let old = texture.take().map(|texture| [texture.image, texture.flow]);
            let [image, flow] = match old.filter(|[image, _]| images.get(image).is_some_and(same_size)) {
                Some(handles) => {
                    for (handle, bytes) in handles.iter().zip([texels(&map.nearest), map.flow.clone()]) {
                        if let Some(mut image) = images.get_mut(handle) {
                            image.data = Some(bytes);
                        }
                    }
                    handles
                }
                None => [
                    images.add(layer_image(size, texels(&map.nearest))),
                    images.add(byte_image(size, map.flow.clone())),
                ],
            };
            *texture = Some(Texture { image, flow, of: Arc::clone(map) });
        }
        let Some(Texture { image, flow, .. }) = texture else { continue };
        let numbers = RiverNumbers::new(&session.water_look, live.ticks());
        update(&mut materials, material, |material| {
            (material.channels, material.flow, material.river) = (image.clone(), flow.clone(), numbers);
        });
    }
}

/// The texels as the shader reads them.
fn texels(map: &[Nearest]) -> Vec<u8> {
    let mut bytes = vec![0; 16 * map.len()];
    bytes.par_chunks_mut(16).with_min_len(1 << 12).zip(map).for_each(|(texel, cell)| {
        let Nearest { heading, aside, half_width, depth } = *cell;
        texel.copy_from_slice([heading, aside, half_width, depth].map(f32::to_le_bytes).as_flattened());
    });
    bytes
}
