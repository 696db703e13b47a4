//! Fourier transforms of sixteen columns.
//!
//! ```text
//! X_k = Σ_n x_n·exp(−2πi·n·k/N)
//! ```
//!
//! `rustfft` transforms any type of number. Here a number holds those of four columns, so that a transform processes four columns
//! side by side, with the same bits on every machine as one column alone.

use std::{
    ops::{Add, Div, Mul, Neg, Rem, Sub},
    sync::Arc,
};

use bytemuck::{Pod, Zeroable};
use glam::Vec4;
use rustfft::{
    Fft, FftPlannerScalar,
    num_complex::Complex,
    num_traits::{FromPrimitive, Num, One, Signed, Zero},
};

use super::cells::{Cells, MAX_LANES};

/// Columns per transform.
const SIDE_BY_SIDE: usize = 4;

/// One number of each of four columns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct FourColumns(Vec4);

macro_rules! each {
    ($($operator:ident $name:ident),*) => {$(
        impl $operator for FourColumns {
            type Output = Self;

            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Self(self.0.$name(other.0))
            }
        }
    )*};
}

each!(Add add, Sub sub, Mul mul, Div div, Rem rem);

impl Neg for FourColumns {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Zero for FourColumns {
    fn zero() -> Self {
        Self(Vec4::ZERO)
    }

    fn is_zero(&self) -> bool {
        self.0 == Vec4::ZERO
    }
}

impl One for FourColumns {
    fn one() -> Self {
        Self(Vec4::ONE)
    }
}

impl Num for FourColumns {
    type FromStrRadixErr = <f32 as Num>::FromStrRadixErr;

    fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
        <f32 as Num>::from_str_radix(text, radix).map(|number| Self(Vec4::splat(number)))
    }
}

impl Signed for FourColumns {
    fn abs(&self) -> Self {
        Self(self.0.abs())
    }

    fn abs_sub(&self, other: &Self) -> Self {
        Self((self.0 - other.0).max(Vec4::ZERO))
    }

    fn signum(&self) -> Self {
        Self(self.0.signum())
    }

    fn is_positive(&self) -> bool {
        self.0.cmpgt(Vec4::ZERO).all()
    }

    fn is_negative(&self) -> bool {
        self.0.cmplt(Vec4::ZERO).all()
    }
}

impl FromPrimitive for FourColumns {
    fn from_i64(number: i64) -> Option<Self> {
        Some(Self(Vec4::splat(number as f32)))
    }

    fn from_u64(number: u64) -> Option<Self> {
        Some(Self(Vec4::splat(number as f32)))
    }

    fn from_f64(number: f64) -> Option<Self> {
        Some(Self(Vec4::splat(number as f32)))
    }
}

/// One complex number of each of the sixteen columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Complexes {
    /// Real parts.
    pub re: [f32; MAX_LANES],
    /// Imaginary parts.
    pub im: [f32; MAX_LANES],
}

impl Complexes {
    /// Loads the numbers of the columns from `lane` on, as real and imaginary parts.
    #[inline(always)]
    pub fn load<V: Cells>(&self, lane: usize) -> [V; 2] {
        [V::load(&self.re, lane), V::load(&self.im, lane)]
    }

    /// Stores the numbers of the columns from `lane` on.
    #[inline(always)]
    pub fn store<V: Cells>(&mut self, lane: usize, [re, im]: [V; 2]) {
        re.store(&mut self.re, lane);
        im.store(&mut self.im, lane);
    }
}

/// Returns the product of complex numbers.
#[inline(always)]
pub fn product<V: Cells>([a, b]: [V; 2], [c, d]: [V; 2]) -> [V; 2] {
    [a * c - b * d, a * d + b * c]
}

/// Columns to be transformed, with scratch memory.
#[derive(Clone, Default)]
pub struct TransformColumns {
    /// Numbers of the columns, row by row.
    pub rows: Vec<Complexes>,
    /// Four of the columns, and the scratch memory of their transform.
    four: Vec<Complex<FourColumns>>,
    scratch: Vec<Complex<FourColumns>>,
}

impl TransformColumns {
    /// Resets to `rows` rows of 0.
    pub fn cleared(&mut self, rows: usize) -> &mut [Complexes] {
        self.rows.clear();
        self.rows.resize(rows, Complexes::default());
        &mut self.rows
    }
}

/// Plan of the transform of columns of one length.
#[derive(Clone)]
pub struct Transform(Arc<dyn Fft<FourColumns>>);

impl Transform {
    /// Plans the transform of columns of `side` numbers.
    pub fn new(side: usize) -> Self {
        Self(FftPlannerScalar::new().plan_fft_forward(side))
    }

    /// Returns the length of a column.
    pub fn side(&self) -> usize {
        self.0.len()
    }

    /// Transforms columns of this length. For the inverse, swap real and imaginary parts before and after, and divide by the
    /// length.
    pub fn run(&self, TransformColumns { rows, four, scratch }: &mut TransformColumns) {
        scratch.resize(self.0.get_inplace_scratch_len(), Complex::default());
        for first in (0..MAX_LANES).step_by(SIDE_BY_SIDE) {
            let columns = first..first + SIDE_BY_SIDE;
            let number = |part: &[f32; MAX_LANES]| FourColumns(Vec4::from_slice(&part[columns.clone()]));
            four.clear();
            four.extend(rows.iter().map(|row| Complex::new(number(&row.re), number(&row.im))));
            self.0.process_with_scratch(four, scratch);
            for (row, number) in rows.iter_mut().zip(&*four) {
                number.re.0.write_to_slice(&mut row.re[columns.clone()]);
                number.im.0.write_to_slice(&mut row.im[columns.clone()]);
            }
        }
    }
}

/// Returns the next number without prime factors other than 2, 3 and 5, for which transforms are fast.
pub fn next_smooth_length(side: usize) -> usize {
    let rest = |mut number: usize| {
        for factor in [2, 3, 5] {
            while number.is_multiple_of(factor) {
                number /= factor;
            }
        }
        number
    };
    (side.max(1)..).find(|&number| rest(number) == 1).unwrap_or(side)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::rng::RandomStream;

    #[test]
    fn column_transform_matches_naive_dft_at_any_length() {
        let mut stream = RandomStream::new(5, "fourier", 0);
        for side in [1, 2, 15, 23, 128, 150, 257] {
            let mut draw = || [(); MAX_LANES].map(|()| 2.0 * stream.uniform() - 1.0);
            let rows: Vec<Complexes> = (0..side).map(|_| Complexes { re: draw(), im: draw() }).collect();
            let mut found = TransformColumns { rows: rows.clone(), ..TransformColumns::default() };
            Transform::new(side).run(&mut found);
            for (k, found) in found.rows.iter().enumerate() {
                let mut right = [0.0, 0.0];
                for (n, row) in rows.iter().enumerate() {
                    let (sin, cos) = (-std::f64::consts::TAU * (n * k % side) as f64 / side as f64).sin_cos();
                    let (re, im) = (f64::from(row.re[9]), f64::from(row.im[9]));
                    right = [right[0] + re * cos - im * sin, right[1] + re * sin + im * cos];
                }
                let off = (f64::from(found.re[9]) - right[0]).hypot(f64::from(found.im[9]) - right[1]);
                assert!(off < 4e-7 * side as f64, "{side} numbers: {off} in the {k}th");
            }
        }
    }
}
