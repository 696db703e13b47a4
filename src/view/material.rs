//! What materials have in common, and what a shader is built with.
//!
//! Whether something is shown at all is decided by shader definitions, not by branches on numbers: what is off then costs nothing.
//! Each combination of definitions is a pipeline of its own. It is built once. Until it is ready, the last picture stays
//! (`redraw.rs`).
//!
//! No branch in a shader may depend on the numbers of a uniform buffer alone. Mesa's software driver (lavapipe) puts such numbers
//! into the shader and compiles it anew in every draw, which costs some megabytes of memory a frame. Where a branch on data is
//! needed, it depends on the pixel or on a texture as well.

use bevy::{
    asset::{Asset, Assets, Handle},
    render::render_resource::RenderPipelineDescriptor,
    shader::ShaderDefVal,
};

/// The shader definitions of a material as its numbers want it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Variant(Vec<ShaderDefVal>);

impl Variant {
    /// With those definitions that are on.
    pub(super) fn with(definitions: &[(&str, bool)]) -> Self {
        Self(definitions.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).into()).collect())
    }

    /// And a count.
    pub(super) fn and(mut self, name: &str, count: usize) -> Self {
        self.0.push(ShaderDefVal::UInt(name.to_owned(), count as u32));
        self
    }

    /// Builds a pipeline with them. All are about colour: the shadow pass, which has none, is the same in every variant.
    pub(super) fn define(self, descriptor: &mut RenderPipelineDescriptor) {
        if let Some(fragment) = &mut descriptor.fragment {
            fragment.shader_defs.extend(self.0);
        }
    }
}

/// Changes an asset. One that stays the same is not sent to the graphics card again.
pub(super) fn update<A: Asset + Clone + PartialEq>(
    assets: &mut Assets<A>,
    handle: &Handle<A>,
    change: impl FnOnce(&mut A),
) {
    let Some(old) = assets.get(handle) else { return };
    let mut new = old.clone();
    change(&mut new);
    if new != *old
        && let Some(mut asset) = assets.get_mut(handle)
    {
        *asset = new;
    }
}

/// The path of a shader that is compiled in.
macro_rules! shader {
    ($file:literal) => {
        concat!("embedded://thalweg/shaders/", $file).into()
    };
}

/// Builds the pipeline of a material with its definitions.
macro_rules! specialize {
    (both_sides: $both_sides:literal) => {
        fn specialize(
            _: &bevy::pbr::MaterialPipeline,
            descriptor: &mut bevy::render::render_resource::RenderPipelineDescriptor,
            _: &bevy::mesh::MeshVertexBufferLayoutRef,
            key: bevy::pbr::MaterialPipelineKey<Self>,
        ) -> Result<(), bevy::render::render_resource::SpecializedMeshPipelineError> {
            key.bind_group_data.define(descriptor);
            if $both_sides {
                descriptor.primitive.cull_mode = None;
            }
            Ok(())
        }
    };
}

/// Implements `Material` for one that is drawn after the ground and casts no shadow: one shader for its pixels, which may have
/// vertices of its own and be seen from both sides. What has the larger bias is drawn later.
macro_rules! transparent {
    ($material:ty, $file:literal, own_vertices: $own_vertices:literal, both_sides: $both_sides:literal, bias: $bias:literal) => {
        impl Material for $material {
            fn vertex_shader() -> ShaderRef {
                if $own_vertices { crate::view::material::shader!($file) } else { ShaderRef::Default }
            }

            fn fragment_shader() -> ShaderRef {
                crate::view::material::shader!($file)
            }

            fn alpha_mode(&self) -> AlphaMode {
                AlphaMode::Blend
            }

            fn depth_bias(&self) -> f32 {
                $bias
            }

            fn enable_prepass() -> bool {
                false
            }

            fn enable_shadows() -> bool {
                false
            }

            crate::view::material::specialize!(both_sides: $both_sides);
        }
    };
}

pub(super) use {shader, specialize, transparent};
