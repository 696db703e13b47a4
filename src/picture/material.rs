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

    /// Adds them to those of a pipeline.
    pub(super) fn define(&self, definitions: &mut Vec<ShaderDefVal>) {
        definitions.extend_from_slice(&self.0);
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
