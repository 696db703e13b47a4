//! Parameters that the mask scales: one value on free ground, another where the mask covers it whole, and between both in
//! proportion to the mask.
//!
//! A process that has such parameters names them with `factors!`, keeps the struct that comes of it, and asks
//! [`Covered::of`] at every step: nothing comes back unless there are a mask and a factor that is not 1, so that an
//! evenly tuned map costs next to nothing.

use bevy_reflect::structs::Struct;

use super::{
    cells::Cells,
    grid::Grid,
    process::Mode,
    terrain::{Edge, Terrain},
};
use crate::params::{Value, multiplied, walk};

/// Makes a struct `Factors`: one factor for each of the parameters named, by the same name.
macro_rules! factors {
    ($($name:ident),+ $(,)?) => {
        /// Factors by which the mask scales parameters.
        #[derive(bevy_reflect::Reflect, Clone, Debug, PartialEq)]
        pub struct Factors {
            $(
                /// What the parameter of this name is multiplied by where the mask covers the ground whole. Where it covers a
                /// part, the value lies between, in proportion. The product stays within the parameter's range.
                #[reflect(@crate::params::knob(0.0..=10.0).unit("×").source("ours"))]
                pub $name: f32,
            )+
        }

        impl Default for Factors {
            fn default() -> Self {
                Self { $($name: 1.0,)+ }
            }
        }
    };
}
pub(super) use factors;

/// The mask, and the parameters where it covers the ground whole.
pub struct Covered<P> {
    /// Parameters under the mask.
    pub params: P,
    /// The mask with a ring of cells around it, which repeats the border or the other side: from 0 to 1.
    mask: Grid,
}

impl<P: Struct + Clone> Covered<P> {
    /// What the mask of a terrain makes of parameters; `None` if it changes nothing, and as published, where a parameter is
    /// the same everywhere.
    pub fn of(terrain: &Terrain, mode: Mode, params: &P, factors: &dyn Struct) -> Option<Self> {
        let mask = terrain.mask.as_ref().filter(|_| mode == Mode::Default)?;
        if walk(("", factors)).iter().all(|factor| factor.value == Value::Number(1.0)) {
            return None;
        }
        let scaled = multiplied(params, factors);
        if walk(("", &scaled)).iter().zip(walk(("", params))).all(|(scaled, plain)| scaled.value == plain.value) {
            return None;
        }
        let inside = |place: usize, side: usize| match (place, terrain.edge) {
            (0, Edge::Wrap) => side - 1,
            (place, Edge::Wrap) if place > side => 0,
            (place, _) => place.clamp(1, side) - 1,
        };
        let (width, height) = (terrain.width(), terrain.height());
        let at = |x, y| mask.at(inside(x, width), inside(y, height)).clamp(0.0, 1.0);
        Some(Self { params: scaled, mask: Grid::from_fn(width + 2, height + 2, at) })
    }
}

impl<P> Covered<P> {
    /// The mask on a row of the map, one cell longer at both ends.
    #[inline(always)]
    pub fn row(&self, y: usize) -> &[f32] {
        let width = self.mask.width();
        &self.mask[(y + 1) * width..(y + 2) * width]
    }

    /// The same; `y` may be beyond the border.
    #[inline(always)]
    pub fn near(&self, y: isize) -> &[f32] {
        let (width, height) = (self.mask.width(), self.mask.height() as isize);
        let line = if (-1..height - 1).contains(&y) { y + 1 } else { y.rem_euclid(height - 2) + 1 } as usize;
        &self.mask[line * width..(line + 1) * width]
    }

    /// The rows above, here and below.
    #[inline(always)]
    pub fn rows(&self, y: usize) -> [&[f32]; 3] {
        let width = self.mask.width();
        [0, 1, 2].map(|line| &self.mask[(y + line) * width..(y + line + 1) * width])
    }

    /// The mask at a cell of the map.
    pub fn at(&self, x: usize, y: usize) -> f32 {
        self.mask.at(x + 1, y + 1)
    }

    /// The mask with its ring, row by row.
    pub fn ringed(&self) -> &[f32] {
        &self.mask
    }
}

/// A number of a law on free ground and under the mask. Where nothing is `MASKED`, the mask is not looked at.
#[inline(always)]
pub fn between<V: Cells, const MASKED: bool>([free, covered]: [f32; 2], mask: &[f32], at: usize) -> V {
    if MASKED { V::all(free) + V::all(covered - free) * V::load(mask, at) } else { V::all(free) }
}
