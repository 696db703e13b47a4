//! What a shader is built with.
//!
//! Whether something is shown at all is said by shader definitions, each combination of which is a pipeline of its own, and
//! not by branches on numbers: what is off then costs nothing. And no branch or switch in a shader may depend on the numbers
//! of a uniform buffer alone. Mesa's software driver (lavapipe) puts such numbers into the shader and compiles it anew in
//! every draw, and what it compiled before stays in memory: some megabytes a frame. Where a branch on data is needed, it
//! depends on the pixel or on a texture as well. A variant that was built once stays built, so a ring that comes and goes
//! waits for it but once; the last picture stays meanwhile (`redraw.rs`).

use bevy::{render::render_resource::RenderPipelineDescriptor, shader::ShaderDefVal};

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
