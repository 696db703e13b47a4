//! Fourier transforms of sixteen columns at once.
//!
//! ```text
//! X_k = Σ_n x_n·exp(−2πi·n·k/N)
//! ```
//!
//! `rustfft` does them one by one, without vectors: so every machine gets the same bits.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use rustfft::{Fft, FftPlannerScalar, num_complex::Complex32};

use super::cells::{Cells, MOST};

/// A complex number of each of the sixteen columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Complexes {
    /// Real parts.
    pub re: [f32; MOST],
    /// Imaginary parts.
    pub im: [f32; MOST],
}

impl Complexes {
    /// The numbers of the columns from `lane` on, as real and imaginary parts.
    #[inline(always)]
    pub fn load<V: Cells>(&self, lane: usize) -> [V; 2] {
        [V::load(&self.re, lane), V::load(&self.im, lane)]
    }

    /// Writes them.
    #[inline(always)]
    pub fn store<V: Cells>(&mut self, lane: usize, [re, im]: [V; 2]) {
        re.store(&mut self.re, lane);
        im.store(&mut self.im, lane);
    }
}

/// Product of complex numbers.
#[inline(always)]
pub fn product<V: Cells>([a, b]: [V; 2], [c, d]: [V; 2]) -> [V; 2] {
    [a * c - b * d, a * d + b * c]
}

/// Columns to be transformed, and room to do it.
#[derive(Clone, Default)]
pub struct Columns {
    /// The numbers, row by row.
    pub rows: Vec<Complexes>,
    /// The same, column by column, and what a transform needs beside them.
    columns: Vec<Complex32>,
    scratch: Vec<Complex32>,
}

impl Columns {
    /// As many rows, all of them 0.
    pub fn cleared(&mut self, rows: usize) -> &mut [Complexes] {
        self.rows.clear();
        self.rows.resize(rows, Complexes::default());
        &mut self.rows
    }
}

/// How columns of a length are transformed.
#[derive(Clone)]
pub struct Transform(Arc<dyn Fft<f32>>);

impl Transform {
    /// Of columns of so many numbers.
    pub fn new(side: usize) -> Self {
        Self(FftPlannerScalar::new().plan_fft_forward(side))
    }

    /// Numbers of a column.
    pub fn side(&self) -> usize {
        self.0.len()
    }

    /// Transforms columns, of which there are as many numbers. For the way back, exchange real and imaginary parts before and after,
    /// and divide by the number.
    pub fn run(&self, Columns { rows, columns, scratch }: &mut Columns) {
        let side = self.side();
        columns.resize(MOST * side, Complex32::default());
        for (at, row) in rows.iter().enumerate() {
            for lane in 0..MOST {
                columns[lane * side + at] = Complex32::new(row.re[lane], row.im[lane]);
            }
        }
        scratch.resize(self.0.get_inplace_scratch_len(), Complex32::default());
        self.0.process_with_scratch(columns, scratch);
        for (at, row) in rows.iter_mut().enumerate() {
            for lane in 0..MOST {
                let number = columns[lane * side + at];
                (row.re[lane], row.im[lane]) = (number.re, number.im);
            }
        }
    }
}

/// The next number that has no factors but 2, 3 and 5, of which transforms are quick.
pub fn smooth(side: usize) -> usize {
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
    use crate::sim::rng::Stream;

    #[test]
    fn columns_of_any_length_become_the_sums_of_the_formula() {
        let mut stream = Stream::new(5, "fourier", 0);
        for side in [1, 2, 15, 23, 128, 150, 257] {
            let mut draw = || [(); MOST].map(|()| 2.0 * stream.unit() - 1.0);
            let rows: Vec<Complexes> = (0..side).map(|_| Complexes { re: draw(), im: draw() }).collect();
            let mut found = Columns { rows: rows.clone(), ..Columns::default() };
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
