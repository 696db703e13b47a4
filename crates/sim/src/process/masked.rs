//! Parameters scaled by the mask: linear interpolation between an unmasked value where the mask is 0 and a masked value where it is 1.
//!
//! A process declares such parameters with `factors!`, stores the resulting struct and calls [`MaskedParams::of`] in every step, which returns
//! `None` unless there is a mask and a factor differs from 1. Kernels read their coefficients as [`CoefficientWindow`]: either uniform, or rows
//! scaled by the mask.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use bevy_reflect::structs::Struct;

use crate::{
    core::{
        border::Border,
        grid::Grid,
        terrain::{Edge, Terrain},
    },
    params::{Value, collect_parameters, scale_parameters},
    process::Mode,
    simd::{cells::Cells, stencil::Ring},
};

/// Defines a struct `Factors` with a factor for each named parameter, under the same name.
macro_rules! factors {
    ($($name:ident),+ $(,)?) => {
        /// Mask factors of parameters.
        #[derive(bevy_reflect::Reflect, Clone, Debug, PartialEq)]
        pub struct Factors {
            $(
                /// Factor applied to the parameter of this name where the mask is 1; partial mask values interpolate
                /// linearly. The product is clamped to the range of the parameter.
                #[reflect(@crate::params::knob(0.0..=10.0).unit("×").source("this work"))]
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
pub(crate) use factors;

/// Returns the name of the parameter group with the mask factors of a process.
pub fn masked_key(key: &'static str) -> &'static str {
    static NAMES: Mutex<BTreeMap<&str, &str>> = Mutex::new(BTreeMap::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    // Group names are leaked: they live as long as the program, one per process.
    names.entry(key).or_insert_with(|| format!("{key}-masked").leak())
}

/// Empty set of factors, for a process without masked parameters.
#[derive(bevy_reflect::Reflect, Clone, Debug, Default, PartialEq)]
pub struct NoFactors {}

/// Mask, with the parameters where it is 1.
#[derive(Clone)]
pub struct MaskedParams<P> {
    /// Parameters where the mask is 1.
    pub params: P,
    /// The mask.
    pub mask: Mask,
}

/// Mask value of each cell, from 0 to 1.
#[derive(Clone)]
pub struct Mask {
    cells: Grid,
    edge: Edge,
}

impl<P: Struct + Clone> MaskedParams<P> {
    /// Returns the masked parameters of a terrain; `None` if the mask has no effect, and always in published mode, where parameters
    /// are uniform.
    pub fn of(terrain: &Terrain, mode: Mode, params: &P, factors: &dyn Struct) -> Option<Self> {
        let (params, mask) = Self::scaled(terrain, mode, params, factors)?;
        let mut cells = mask.clone();
        cells.iter_mut().for_each(|cell| *cell = cell.clamp(0.0, 1.0));
        Some(Self { params, mask: Mask { cells, edge: terrain.edge } })
    }

    /// Returns the parameters where the mask is 1, and the mask in a cell, without copying the mask; `None` as above.
    pub fn at(terrain: &Terrain, mode: Mode, params: &P, factors: &dyn Struct, [x, y]: [usize; 2]) -> Option<(P, f32)> {
        let (params, mask) = Self::scaled(terrain, mode, params, factors)?;
        Some((params, mask.at(x, y).clamp(0.0, 1.0)))
    }

    /// Returns the parameters where the mask is 1, and the mask before it is clamped.
    fn scaled<'a>(terrain: &'a Terrain, mode: Mode, params: &P, factors: &dyn Struct) -> Option<(P, &'a Grid)> {
        let mask = terrain.mask.as_ref().filter(|_| mode == Mode::Corrected)?;
        if collect_parameters(("", factors)).iter().all(|factor| factor.value == Value::Number(1.0)) {
            return None;
        }
        let scaled = scale_parameters(params, factors);
        if collect_parameters(("", &scaled))
            .iter()
            .zip(collect_parameters(("", params)))
            .all(|(scaled, plain)| scaled.value == plain.value)
        {
            return None;
        }
        Some((scaled, mask))
    }
}

impl Mask {
    /// Returns the mask at a cell of the map.
    pub fn at(&self, x: usize, y: usize) -> f32 {
        self.cells.at(x, y)
    }

    /// Returns the mask on a row, which may lie beyond the border.
    pub fn row(&self, y: isize) -> &[f32] {
        let width = self.cells.width();
        &self.cells[self.edge.nearest(y, self.cells.height()) * width..][..width]
    }
}

/// Interpolates a number between its unmasked and masked values by the mask value.
#[inline(always)]
pub fn lerp([free, masked]: [f32; 2], mask: f32) -> f32 {
    free + (masked - free) * mask
}

/// Coefficient of a law in the cells of a row: either uniform or one value per cell.
pub trait Coefficient: Copy {
    /// Returns the values of `width` cells from index `start`.
    fn slice(self, start: usize, width: usize) -> Self;
    /// Loads the values of the cells from index `x`.
    fn at<V: Cells>(self, x: usize) -> V;
}

impl Coefficient for f32 {
    #[inline(always)]
    fn slice(self, _: usize, _: usize) -> Self {
        self
    }

    #[inline(always)]
    fn at<V: Cells>(self, _: usize) -> V {
        V::all(self)
    }
}

impl Coefficient for &[f32] {
    #[inline(always)]
    fn slice(self, start: usize, width: usize) -> Self {
        &self[start..][..width]
    }

    #[inline(always)]
    fn at<V: Cells>(self, x: usize) -> V {
        V::load(self, x)
    }
}

/// Coefficients of a law in the cells of the last three rows. Kernels are generic over it, so that uniform coefficients compile without
/// loads.
pub trait CoefficientWindow {
    /// Coefficient on a row that is padded with one cell at either end.
    type Row<'r>: Coefficient
    where
        Self: 'r;
    /// Advances to row `y`, which may lie beyond the border.
    fn next(&mut self, y: isize);
    /// Returns a coefficient on a row that is still stored.
    fn row(&self, number: usize, y: isize) -> Self::Row<'_>;
}

impl<const N: usize> CoefficientWindow for [f32; N] {
    type Row<'r> = f32;

    #[inline(always)]
    fn next(&mut self, _: isize) {}

    #[inline(always)]
    fn row(&self, number: usize, _: isize) -> f32 {
        self[number]
    }
}

/// Unmasked and masked coefficients of a law, with the mask, if there is one.
#[derive(Clone, Copy)]
pub struct MaskedCoefficients<'a, const N: usize> {
    free: [f32; N],
    masked: Option<([f32; N], &'a Mask)>,
}

impl<'a, const N: usize> MaskedCoefficients<'a, N> {
    /// Creates the coefficients by applying `of` to the unmasked and the masked parameters.
    pub fn new<P>(params: &P, masked: Option<&'a MaskedParams<P>>, of: impl Fn(&P) -> [f32; N]) -> Self {
        Self { free: of(params), masked: masked.map(|masked| (of(&masked.params), &masked.mask)) }
    }

    /// Returns the coefficients in a cell of the map.
    pub fn at(&self, x: usize, y: usize) -> [f32; N] {
        let Some((under, mask)) = self.masked else { return self.free };
        std::array::from_fn(|number| lerp([self.free[number], under[number]], mask.at(x, y)))
    }

    /// Returns the unmasked and the masked value of a coefficient.
    pub fn unmasked_and_masked(&self, number: usize) -> [f32; 2] {
        [self.free[number], self.masked.map_or(self.free[number], |(under, _)| under[number])]
    }

    /// Returns the coefficients row by row, starting at row `first`.
    pub fn rows(&self, border: Border, first: isize) -> CoefficientRows<'a, N> {
        match self.masked {
            None => CoefficientRows::Uniform(self.free),
            Some(_) => CoefficientRows::Masked(self.masked_rows(border, first)),
        }
    }

    /// Returns the coefficients row by row with one value per cell, even if they are uniform.
    pub fn masked_rows(&self, border: Border, first: isize) -> MaskedRows<'a, N> {
        let ends = std::array::from_fn(|number| self.unmasked_and_masked(number));
        let mask = self.masked.map(|(_, mask)| mask);
        MaskedRows { ends, mask, edge: border.edge, rows: Ring::new(border.width, first) }
    }
}

/// Kinds of coefficients for which kernels are compiled.
pub enum CoefficientRows<'a, const N: usize> {
    /// Uniform coefficients.
    Uniform([f32; N]),
    /// Coefficients that vary by cell.
    Masked(MaskedRows<'a, N>),
}

/// Rows of coefficients that vary by cell.
pub struct MaskedRows<'a, const N: usize> {
    ends: [[f32; 2]; N],
    mask: Option<&'a Mask>,
    edge: Edge,
    rows: Ring<N, 3>,
}

impl<const N: usize> MaskedRows<'_, N> {
    /// Advances like [`CoefficientWindow::next`] and lets `change` modify the new row.
    #[inline(always)]
    pub fn next_with(&mut self, y: isize, change: impl FnOnce([&mut [f32]; N])) {
        let mut rows = self.rows.push();
        for (row, ends) in rows.iter_mut().zip(self.ends) {
            match self.mask {
                None => row.fill(ends[0]),
                Some(mask) => {
                    for (cell, mask) in row.iter_mut().zip(mask.row(y)) {
                        *cell = lerp(ends, *mask);
                    }
                }
            }
        }
        change(rows);
        let edge = if self.edge == Edge::Open { Edge::Wall } else { self.edge };
        self.rows.close(edge, [[0.0; N]; 2]);
    }
}

impl<const N: usize> CoefficientWindow for MaskedRows<'_, N> {
    type Row<'r>
        = &'r [f32]
    where
        Self: 'r;

    #[inline(always)]
    fn next(&mut self, y: isize) {
        self.next_with(y, |_| {});
    }

    #[inline(always)]
    fn row(&self, number: usize, y: isize) -> &[f32] {
        self.rows.row(number, y)
    }
}
