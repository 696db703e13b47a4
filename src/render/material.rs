//! Material helpers and shader variants.
//!
//! Features are switched by shader definitions rather than by branches on uniforms, so disabled features cost nothing. Each
//! combination of definitions is a separate pipeline, built once. Until it is ready, the last image stays (`redraw.rs`).
//!
//! No branch in a shader may depend on uniforms alone: Mesa's software driver (lavapipe) inlines such values and recompiles the
//! shader in every draw, at a cost of some megabytes of memory per frame. Branches on data must also depend on the pixel or on a
//! texture.

use bevy::{
    asset::{Asset, Assets, Handle},
    shader::ShaderDefVal,
};

/// Shader definitions selected by the values of a material.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Variant(Vec<ShaderDefVal>);

impl Variant {
    /// Creates a variant from the enabled definitions.
    pub(super) fn with(definitions: &[(&str, bool)]) -> Self {
        Self(definitions.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).into()).collect())
    }

    /// Adds a definition with a count.
    pub(super) fn and(mut self, name: &str, count: usize) -> Self {
        self.0.push(ShaderDefVal::UInt(name.to_owned(), count as u32));
        self
    }

    /// Appends the definitions to those of a pipeline.
    pub(super) fn define(&self, definitions: &mut Vec<ShaderDefVal>) {
        definitions.extend_from_slice(&self.0);
    }
}

/// Modifies an asset. Unchanged assets are not uploaded again.
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
