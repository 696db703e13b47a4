//! Parameters that the mask scales: one value on free ground, another where the mask covers it whole, and between both in
//! proportion to the mask.
//!
//! A process that has such parameters names them with `factors!`, keeps the struct that comes of it, and asks
//! [`Masked::of`] at every step: nothing comes back unless there are a mask and a factor that is not 1. What a kernel needs
//! of the parameters are [`Numbers`]: the same everywhere, or rows that the mask has scaled.

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
    params::{Value, multiplied, walk},
    process::Mode,
    simd::{cells::Cells, stencil::Ring},
};

/// Makes a struct `Factors`: one factor for each of the parameters named, by the same name.
macro_rules! factors {
    ($($name:ident),+ $(,)?) => {
        /// Factors by which the mask scales parameters.
        #[derive(bevy_reflect::Reflect, Clone, Debug, PartialEq)]
        pub struct Factors {
            $(
                /// Factor for the parameter of this name where the mask covers the ground fully. Where it covers it partly, the
                /// value lies between, in proportion. The product stays within the parameter's range.
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
pub(crate) use factors;

/// Returns the name of the group of factors of a process.
pub fn masked_key(key: &'static str) -> &'static str {
    static NAMES: Mutex<BTreeMap<&str, &str>> = Mutex::new(BTreeMap::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    // Names of groups live as long as the program, and there are as many as processes.
    names.entry(key).or_insert_with(|| format!("{key}-masked").leak())
}

/// For a process of which the mask scales nothing.
#[derive(bevy_reflect::Reflect, Clone, Debug, Default, PartialEq)]
pub struct NoFactors {}

/// The mask, and the parameters where it covers the ground whole.
#[derive(Clone)]
pub struct Masked<P> {
    /// Parameters under the mask.
    pub params: P,
    /// The mask.
    pub mask: Mask,
}

/// How much of each cell is covered, from 0 to 1.
#[derive(Clone)]
pub struct Mask {
    cells: Grid,
    edge: Edge,
}

impl<P: Struct + Clone> Masked<P> {
    /// What the mask of a terrain makes of parameters; `None` if it changes nothing, and as published, where a parameter is
    /// the same everywhere.
    pub fn of(terrain: &Terrain, mode: Mode, params: &P, factors: &dyn Struct) -> Option<Self> {
        let mask = terrain.mask.as_ref().filter(|_| mode == Mode::Corrected)?;
        if walk(("", factors)).iter().all(|factor| factor.value == Value::Number(1.0)) {
            return None;
        }
        let scaled = multiplied(params, factors);
        if walk(("", &scaled)).iter().zip(walk(("", params))).all(|(scaled, plain)| scaled.value == plain.value) {
            return None;
        }
        let mut cells = mask.clone();
        cells.iter_mut().for_each(|cell| *cell = cell.clamp(0.0, 1.0));
        Some(Self { params: scaled, mask: Mask { cells, edge: terrain.edge } })
    }
}

impl Mask {
    /// The mask at a cell of the map.
    pub fn at(&self, x: usize, y: usize) -> f32 {
        self.cells.at(x, y)
    }

    /// The mask on a row, which may lie beyond the border.
    pub fn row(&self, y: isize) -> &[f32] {
        let width = self.cells.width();
        &self.cells[self.edge.nearest(y, self.cells.height()) * width..][..width]
    }
}

/// A number of a law on free ground and under the mask, where so much is covered.
#[inline(always)]
pub fn between([free, covered]: [f32; 2], mask: f32) -> f32 {
    free + (covered - free) * mask
}

/// A number of a law in the cells of a row: the same in all of them, or one for each.
pub trait Number: Copy {
    /// The number in so many cells from place `start` on.
    fn cut(self, start: usize, width: usize) -> Self;
    /// The number in the cells from place `x` on.
    fn at<V: Cells>(self, x: usize) -> V;
}

impl Number for f32 {
    #[inline(always)]
    fn cut(self, _: usize, _: usize) -> Self {
        self
    }

    #[inline(always)]
    fn at<V: Cells>(self, _: usize) -> V {
        V::all(self)
    }
}

impl Number for &[f32] {
    #[inline(always)]
    fn cut(self, start: usize, width: usize) -> Self {
        &self[start..][..width]
    }

    #[inline(always)]
    fn at<V: Cells>(self, x: usize) -> V {
        V::load(self, x)
    }
}

/// Numbers of a law in the cells of the last three rows: kernels are written for any, and so compiled for numbers that are
/// the same everywhere without a load.
pub trait Numbers {
    /// A number on a row with a cell beyond either end.
    type Row<'r>: Number
    where
        Self: 'r;
    /// Finds the next row, which is row `y` and may lie beyond the border.
    fn next(&mut self, y: isize);
    /// A number on a row that is still kept.
    fn row(&self, number: usize, y: isize) -> Self::Row<'_>;
}

impl<const N: usize> Numbers for [f32; N] {
    type Row<'r> = f32;

    #[inline(always)]
    fn next(&mut self, _: isize) {}

    #[inline(always)]
    fn row(&self, number: usize, _: isize) -> f32 {
        self[number]
    }
}

/// Numbers of a law on free ground and under the mask, and the mask, if there is one.
#[derive(Clone, Copy)]
pub struct Scaled<'a, const N: usize> {
    free: [f32; N],
    masked: Option<([f32; N], &'a Mask)>,
}

impl<'a, const N: usize> Scaled<'a, N> {
    /// The numbers that `of` finds for parameters, and for those under the mask.
    pub fn new<P>(params: &P, covered: Option<&'a Masked<P>>, of: impl Fn(&P) -> [f32; N]) -> Self {
        Self { free: of(params), masked: covered.map(|covered| (of(&covered.params), &covered.mask)) }
    }

    /// The numbers in a cell of the map.
    pub fn at(&self, x: usize, y: usize) -> [f32; N] {
        let Some((under, mask)) = self.masked else { return self.free };
        std::array::from_fn(|number| between([self.free[number], under[number]], mask.at(x, y)))
    }

    /// A number on free ground and under the mask.
    pub fn ends(&self, number: usize) -> [f32; 2] {
        [self.free[number], self.masked.map_or(self.free[number], |(under, _)| under[number])]
    }

    /// The numbers row by row, from row `first` on.
    pub fn rows(&self, border: Border, first: isize) -> Rows<'a, N> {
        match self.masked {
            None => Rows::Even(self.free),
            Some(_) => Rows::Masked(self.rows_of_all(border, first)),
        }
    }

    /// The same with a number for each cell even if they are the same everywhere.
    pub fn rows_of_all(&self, border: Border, first: isize) -> MaskedRows<'a, N> {
        let ends = std::array::from_fn(|number| self.ends(number));
        let mask = self.masked.map(|(_, mask)| mask);
        MaskedRows { ends, mask, edge: border.edge, rows: Ring::new(border.width, first) }
    }
}

/// What a kernel is compiled for.
pub enum Rows<'a, const N: usize> {
    /// Numbers that are the same everywhere.
    Even([f32; N]),
    /// Numbers that differ from cell to cell.
    Masked(MaskedRows<'a, N>),
}

/// Rows of numbers that differ from cell to cell.
pub struct MaskedRows<'a, const N: usize> {
    ends: [[f32; 2]; N],
    mask: Option<&'a Mask>,
    edge: Edge,
    rows: Ring<N, 3>,
}

impl<const N: usize> MaskedRows<'_, N> {
    /// Finds the next row as [`Numbers::next`] does, and lets it be changed.
    #[inline(always)]
    pub fn next_with(&mut self, y: isize, change: impl FnOnce([&mut [f32]; N])) {
        let mut rows = self.rows.push();
        for (row, ends) in rows.iter_mut().zip(self.ends) {
            match self.mask {
                None => row.fill(ends[0]),
                Some(mask) => {
                    for (cell, mask) in row.iter_mut().zip(mask.row(y)) {
                        *cell = between(ends, *mask);
                    }
                }
            }
        }
        change(rows);
        let edge = if self.edge == Edge::Open { Edge::Wall } else { self.edge };
        self.rows.close(edge, [[0.0; N]; 2]);
    }
}

impl<const N: usize> Numbers for MaskedRows<'_, N> {
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
