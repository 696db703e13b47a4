//! Rows of cells: one kernel for a single cell and for a vector register of cells.
//!
//! A [`Pass`] is compiled for scalar code and for every [`VectorUnit`] of the architecture, and [`with_vector_unit`] runs the
//! version for [`VectorUnit::current`]. Every operation is one IEEE operation per cell, without fused multiply-add, so that all
//! versions give the same bits. Vectors are explicit, as the compiler does not vectorise loops over this many rows.

mod vector;

use fearless_simd::{Level, Simd};

use self::vector::Vector;
use super::{number::Real, vector_unit::VectorUnit};

/// Maximum number of lanes.
pub const MAX_LANES: usize = 16;

/// Neighbouring cells of a row: one, or several in a vector with the same bits.
pub trait Cells: Real {
    /// Number of cells.
    const COUNT: usize;
    /// Loads the cells from index `at` on.
    fn load(row: &[f32], at: usize) -> Self;
    /// Stores the cells from index `at` on.
    fn store(self, row: &mut [f32], at: usize);
    /// Broadcasts a number to all cells.
    fn all(value: f32) -> Self;
    /// Returns this number, or 0 if it is negative.
    #[inline(always)]
    fn positive(self) -> Self {
        self.max(Self::all(0.0))
    }
    /// Returns `yes` where this number is larger than the other, else `no`, cell by cell.
    fn if_above(self, other: Self, yes: Self, no: Self) -> Self;
    /// Approximates a power of a positive number: its bits as an integer, times `factor` plus `start`, are the bits of the result.
    fn power_of_bits(self, factor: f32, start: f32) -> Self;
    /// Returns `true` if any number is larger than the other in the same cell.
    fn any_above(self, other: Self) -> bool;
    /// Returns x^(−1/3) of positive numbers to 3e-6: the exponent gives a start r, from which a polynomial in e = 1 − x·r³ computes
    /// r·(1 − e)^(−1/3).
    #[inline(always)]
    fn inverse_cube_root(self) -> Self {
        let start = self.power_of_bits(-1.0 / 3.0, 0x54a2_0000 as f32);
        let square = start * start;
        let e = Self::all(1.0) - (self * start) * square;
        let (low, high) = (
            Self::all(0.999_998_02) + Self::all(0.333_330_84) * e,
            Self::all(0.223_735_96) + Self::all(0.174_135_85) * e,
        );
        start * (low + high * (e * e))
    }
}

impl Cells for f32 {
    const COUNT: usize = 1;

    #[inline(always)]
    fn load(row: &[f32], at: usize) -> Self {
        row[at]
    }

    #[inline(always)]
    fn store(self, row: &mut [f32], at: usize) {
        row[at] = self;
    }

    #[inline(always)]
    fn all(value: f32) -> Self {
        value
    }

    #[inline(always)]
    fn if_above(self, other: Self, yes: Self, no: Self) -> Self {
        if self > other { yes } else { no }
    }

    #[inline(always)]
    fn any_above(self, other: Self) -> bool {
        self > other
    }

    #[inline(always)]
    fn power_of_bits(self, factor: f32, start: f32) -> Self {
        // The bits of positive numbers are below 2³¹, so they convert as signed integers.
        Self::from_bits((start + self.to_bits() as i32 as f32 * factor) as i32 as u32)
    }
}

/// Adds a limited amount to a layer: if rounding would add more than the amount, the result is the next lower number. The amount
/// actually added is the difference from before.
#[inline(always)]
pub fn add_limited<V: Cells>(layer: V, amount: V) -> V {
    let laid = layer + amount;
    // Between half a unit in the last place and one and a half.
    let below = (laid - laid.max(-laid) * V::all(8e-8)).max(layer);
    (laid - layer).if_above(amount, below, laid)
}

/// Computation for every cell of a row. The methods of kernels, and the functions they call, are `#[inline(always)]`, without which
/// they do not use the vector unit.
pub trait RowKernel {
    /// Computes the cells from `x` on, one for each lane of `V`.
    fn cells<V: Cells>(&mut self, x: usize);
}

/// Runs a kernel over a row in vectors of `V`, and over the remaining cells one by one.
///
/// Bounds checks are elided if all rows of the kernel are cut to this width.
#[inline(always)]
pub fn over_row<V: Cells>(width: usize, mut kernel: impl RowKernel) {
    let mut x = 0;
    if width >= V::COUNT {
        while x <= width - V::COUNT {
            kernel.cells::<V>(x);
            x += V::COUNT;
        }
    }
    while x < width {
        kernel.cells::<f32>(x);
        x += 1;
    }
}

/// Pass over rows of cells or over particles.
pub trait Pass {
    /// Result of the pass.
    type Output;
    /// Runs the pass with `V`, which a pass over [`Lanes`](super::lanes::Lanes) ignores. Implementations must be
    /// `#[inline(always)]`, so that they are compiled into the function that enables the vector unit.
    fn run<V: Cells>(self) -> Self::Output;
}

/// Runs a pass with the vector unit in use. The bits do not depend on it.
#[inline]
pub fn with_vector_unit<P: Pass>(pass: P) -> P::Output {
    run_on(VectorUnit::current(), pass)
}

#[inline]
fn run_on<P: Pass>(unit: VectorUnit, pass: P) -> P::Output {
    match unit.level() {
        #[cfg(target_arch = "x86_64")]
        Some(Level::Avx512(avx512)) => run_with(avx512, pass),
        #[cfg(target_arch = "x86_64")]
        Some(Level::Avx2(avx2)) => run_with(avx2, pass),
        #[cfg(target_arch = "aarch64")]
        Some(Level::Neon(neon)) => run_with(neon, pass),
        _ => pass.run::<f32>(),
    }
}

#[inline(always)]
fn run_with<S: Simd, P: Pass>(unit: S, pass: P) -> P::Output {
    unit.vectorize(
        #[inline(always)]
        || pass.run::<Vector<S>>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 53;

    /// All operations on rows of inputs.
    struct All<'a> {
        inputs: [&'a [f32]; 2],
        out: [Vec<f32>; 12],
    }

    impl RowKernel for &mut All<'_> {
        #[inline(always)]
        fn cells<V: Cells>(&mut self, x: usize) {
            let (a, b) = (V::load(self.inputs[0], x), V::load(self.inputs[1], x));
            let size = a.max(-a) + V::all(1e-5);
            let all = [
                a + b,
                a - b,
                a * b,
                a / b,
                -a,
                (a * a).sqrt(),
                a.max(b),
                a.min(b),
                a.if_positive(b, a),
                a.if_above(b, a * b, b),
                a.positive(),
                size.inverse_cube_root(),
            ];
            for (out, value) in self.out.iter_mut().zip(all) {
                value.store(out, x);
            }
        }
    }

    impl Pass for All<'_> {
        type Output = [Vec<f32>; 12];

        #[inline(always)]
        fn run<V: Cells>(mut self) -> Self::Output {
            over_row::<V>(WIDTH, &mut self);
            self.out
        }
    }

    #[test]
    fn vector_units_match_scalar_cells_bitwise() {
        let mut stream = crate::core::rng::RandomStream::new(3, "cells", 0);
        for _ in 0..200 {
            let mut draw = || -> Vec<f32> {
                (0..WIDTH).map(|_| (stream.uniform() - 0.5) * 10.0 / (stream.uniform() + 1e-6)).collect()
            };
            let (a, mut b) = (draw(), draw());
            b[7] = a[7];
            b[8] = -0.0;
            let all = || All { inputs: [&a, &b], out: std::array::from_fn(|_| vec![0.0; WIDTH]) };
            let bits =
                |rows: [Vec<f32>; 12]| rows.map(|row| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>());
            let single = bits(all().run::<f32>());
            for (unit, name) in VectorUnit::ALL.into_iter().filter(|(unit, _)| unit.is_supported()) {
                assert!(bits(run_on(unit, all())) == single, "{name}");
            }
        }
    }

    #[test]
    fn add_limited_rounds_down_to_nearest_float() {
        let mut stream = crate::core::rng::RandomStream::new(4, "laid", 0);
        for _ in 0..100_000 {
            let layer = (stream.uniform() - 0.3) * 10_f32.powf(8.0 * stream.uniform() - 4.0);
            let amount = 10_f32.powf(8.0 * stream.uniform() - 7.0);
            let laid = add_limited(layer, amount);
            assert!(laid >= layer && laid - layer <= amount, "{layer} + {amount} = {laid}");
            assert!(f64::from(laid.next_up()) > f64::from(layer) + f64::from(amount), "{layer} + {amount} = {laid}");
        }
    }

    #[test]
    fn inverse_cube_root_is_accurate_at_all_depths() {
        let mut x = 1e-5_f32;
        while x < 1e4 {
            let found = x.inverse_cube_root();
            let right = f64::from(x).powf(-1.0 / 3.0);
            assert!((f64::from(found) / right - 1.0).abs() < 3e-6, "{x}: {found} for {right}");
            x *= 1.01;
        }
    }
}
