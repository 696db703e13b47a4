//! Rows of cells: one kernel for a single cell and for as many as the machine's vector unit takes at once.
//!
//! A [`Pass`] is compiled for plain code, for AVX2 and for AVX-512, and [`with_vector_unit`] runs the widest that the
//! machine has. Every operation is one IEEE operation per cell, without fused multiply-add, so all of them give the same bits.
//! The vectors are written with the processor's own operations: left to itself, the compiler takes loops over so many rows
//! apart into single cells.

use super::real::Real;

/// Numbers of neighbouring cells of a row: one, or several at once with the same bits.
pub trait Cells: Real {
    /// How many.
    const COUNT: usize;
    /// Those from place `at` on.
    fn load(row: &[f32], at: usize) -> Self;
    /// Writes them from place `at` on.
    fn store(self, row: &mut [f32], at: usize);
    /// The same number for all.
    fn all(value: f32) -> Self;
    /// The smaller of two numbers, cell by cell.
    fn min(self, other: Self) -> Self;
    /// This number, or 0 where it is negative.
    #[inline(always)]
    fn positive(self) -> Self {
        self.max(Self::all(0.0))
    }
    /// `yes` where this number is larger than the other, else `no`, cell by cell.
    fn if_above(self, other: Self, yes: Self, no: Self) -> Self;
    /// The number that has as its bits what the bits of a positive number, as a whole number, give times `factor` plus
    /// `start`: a rough power.
    fn power_of_bits(self, factor: f32, start: f32) -> Self;
    /// x^(−1/3) of positive numbers to 1e-5: the exponent gives a start, then Newton twice.
    #[inline(always)]
    fn inverse_cube_root(self) -> Self {
        let (four, third) = (Self::all(4.0), Self::all(1.0 / 3.0));
        let start = self.power_of_bits(-1.0 / 3.0, 0x54a2_fa8c_i32 as f32);
        let better = start * (four - self * (start * start) * start) * third;
        better * (four - self * (better * better) * better) * third
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
    fn min(self, other: Self) -> Self {
        if self < other { self } else { other }
    }

    #[inline(always)]
    fn if_above(self, other: Self, yes: Self, no: Self) -> Self {
        if self > other { yes } else { no }
    }

    #[inline(always)]
    fn power_of_bits(self, factor: f32, start: f32) -> Self {
        // Bits of positive numbers are whole numbers below 2³¹, which convert as signed ones.
        Self::from_bits((start + self.to_bits() as i32 as f32 * factor) as i32 as u32)
    }
}

/// What is computed for every cell of a row. The methods of such kernels are `#[inline(always)]`, and so are the functions that
/// they call: only then do they use the vector unit.
pub trait RowKernel {
    /// Computes the cells from place `x` on, as many as `V` holds.
    fn cells<V: Cells>(&mut self, x: usize);
}

/// Runs a kernel over a row, as many cells at once as `V` holds and what is left one by one.
#[inline(always)]
pub fn over_row<V: Cells>(width: usize, mut kernel: impl RowKernel) {
    let mut x = 0;
    while x + V::COUNT <= width {
        kernel.cells::<V>(x);
        x += V::COUNT;
    }
    while x < width {
        kernel.cells::<f32>(x);
        x += 1;
    }
}

/// Work over rows of cells.
pub trait Pass {
    /// What the work returns.
    type Output;
    /// Does the work with `V` on as many cells at once as it holds. It must be `#[inline(always)]`.
    fn run<V: Cells>(self) -> Self::Output;
}

/// Runs a pass with the vector unit that the machine has. The bits don't depend on which one it is.
#[inline]
pub fn with_vector_unit<P: Pass>(pass: P) -> P::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn eight<P: Pass>(pass: P) -> P::Output {
            pass.run::<x86::Eight>()
        }
        #[target_feature(enable = "avx512f,avx512vl")]
        fn sixteen<P: Pass>(pass: P) -> P::Output {
            pass.run::<x86::Sixteen>()
        }
        if std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512vl") {
            // SAFETY: the machine has just said that it has AVX-512.
            return unsafe { sixteen(pass) };
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has just said that it has AVX2.
            return unsafe { eight(pass) };
        }
    }
    pass.run::<f32>()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! Vectors of x86-64. They are made inside [`super::with_vector_unit`] only, where the machine has been asked.

    use std::{
        arch::x86_64::*,
        ops::{Add, Div, Mul, Neg, Sub},
    };

    use super::{Cells, Real};

    macro_rules! operator {
        ($vector:ident, $($trait:ident $method:ident $operation:ident),*) => {$(
            impl $trait for $vector {
                type Output = Self;
                #[inline(always)]
                fn $method(self, other: Self) -> Self {
                    // SAFETY: the machine has the operation, see the module.
                    Self(unsafe { $operation(self.0, other.0) })
                }
            }
        )*};
    }

    macro_rules! vector {
        (
            $(#[$about:meta])* $vector:ident, $bits:ident, $count:literal,
            $add:ident $sub:ident $mul:ident $div:ident $sqrt:ident $max:ident $min:ident
            $load:ident $store:ident $all:ident $select:ident $to_whole:ident $to_number:ident
            $as_whole:ident $as_number:ident
        ) => {
            $(#[$about])*
            #[derive(Clone, Copy)]
            pub struct $vector($bits);

            operator!($vector, Add add $add, Sub sub $sub, Mul mul $mul, Div div $div);

            impl Neg for $vector {
                type Output = Self;
                #[inline(always)]
                fn neg(self) -> Self {
                    // −0 − x has the bits of −x for every number.
                    Self::all(-0.0) - self
                }
            }

            impl Real for $vector {
                #[inline(always)]
                fn splat(value: f64) -> Self {
                    Self::all(value as f32)
                }
                #[inline(always)]
                fn sqrt(self) -> Self {
                    // SAFETY: the machine has the operation, see the module.
                    Self(unsafe { $sqrt(self.0) })
                }
                #[inline(always)]
                fn max(self, other: Self) -> Self {
                    // SAFETY: the machine has the operation, see the module.
                    Self(unsafe { $max(self.0, other.0) })
                }
                #[inline(always)]
                fn if_positive(self, inside: Self, below: Self) -> Self {
                    // SAFETY: the machine has the operation, see the module.
                    Self(unsafe { $select::<_CMP_GE_OQ>(self.0, Self::all(0.0).0, inside.0, below.0) })
                }
            }

            impl Cells for $vector {
                const COUNT: usize = $count;
                #[inline(always)]
                fn load(row: &[f32], at: usize) -> Self {
                    let part = &row[at..at + $count];
                    // SAFETY: the machine has the operation, see the module, and the part is as long as the vector.
                    Self(unsafe { $load(part.as_ptr()) })
                }
                #[inline(always)]
                fn store(self, row: &mut [f32], at: usize) {
                    let part = &mut row[at..at + $count];
                    // SAFETY: the machine has the operation, see the module, and the part is as long as the vector.
                    unsafe { $store(part.as_mut_ptr(), self.0) };
                }
                #[inline(always)]
                fn all(value: f32) -> Self {
                    // SAFETY: the machine has the operation, see the module.
                    Self(unsafe { $all(value) })
                }
                #[inline(always)]
                fn min(self, other: Self) -> Self {
                    // SAFETY: the machine has the operation, see the module.
                    Self(unsafe { $min(self.0, other.0) })
                }
                #[inline(always)]
                fn if_above(self, other: Self, yes: Self, no: Self) -> Self {
                    // SAFETY: the machine has the operation, see the module.
                    Self(unsafe { $select::<_CMP_GT_OQ>(self.0, other.0, yes.0, no.0) })
                }
                #[inline(always)]
                fn power_of_bits(self, factor: f32, start: f32) -> Self {
                    // SAFETY: the machine has the operations, see the module.
                    unsafe {
                        let bits = Self($to_number($as_whole(self.0)));
                        let power = Self::all(start) + bits * Self::all(factor);
                        Self($as_number($to_whole(power.0)))
                    }
                }
            }
        };
    }

    #[inline]
    #[target_feature(enable = "avx")]
    fn select_eight<const HOW: i32>(a: __m256, b: __m256, yes: __m256, no: __m256) -> __m256 {
        _mm256_blendv_ps(no, yes, _mm256_cmp_ps::<HOW>(a, b))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn select_sixteen<const HOW: i32>(a: __m512, b: __m512, yes: __m512, no: __m512) -> __m512 {
        _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<HOW>(a, b), no, yes)
    }

    vector!(
        /// Eight cells, in AVX2.
        Eight, __m256, 8,
        _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps _mm256_sqrt_ps _mm256_max_ps _mm256_min_ps
        _mm256_loadu_ps _mm256_storeu_ps _mm256_set1_ps select_eight _mm256_cvttps_epi32 _mm256_cvtepi32_ps
        _mm256_castps_si256 _mm256_castsi256_ps
    );

    vector!(
        /// Sixteen cells, in AVX-512.
        Sixteen, __m512, 16,
        _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps _mm512_sqrt_ps _mm512_max_ps _mm512_min_ps
        _mm512_loadu_ps _mm512_storeu_ps _mm512_set1_ps select_sixteen _mm512_cvttps_epi32 _mm512_cvtepi32_ps
        _mm512_castps_si512 _mm512_castsi512_ps
    );
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
    fn every_vector_unit_gives_the_bits_of_single_cells() {
        let mut stream = crate::sim::rng::Stream::new(3, "cells", 0);
        for _ in 0..200 {
            let mut draw =
                || -> Vec<f32> { (0..WIDTH).map(|_| (stream.unit() - 0.5) * 10.0 / (stream.unit() + 1e-6)).collect() };
            let (a, mut b) = (draw(), draw());
            b[7] = a[7];
            b[8] = -0.0;
            let all = || All { inputs: [&a, &b], out: std::array::from_fn(|_| vec![0.0; WIDTH]) };
            let bits =
                |rows: [Vec<f32>; 12]| rows.map(|row| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>());
            let single = bits(all().run::<f32>());
            assert!(bits(with_vector_unit(all())) == single);
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                #[target_feature(enable = "avx2")]
                fn eight(pass: All<'_>) -> [Vec<f32>; 12] {
                    pass.run::<x86::Eight>()
                }
                // SAFETY: the machine has just said that it has AVX2.
                assert!(bits(unsafe { eight(all()) }) == single);
            }
        }
    }

    #[test]
    fn the_inverse_cube_root_is_right_over_all_depths() {
        let mut x = 1e-5_f32;
        while x < 1e4 {
            let found = x.inverse_cube_root();
            let right = f64::from(x).powf(-1.0 / 3.0);
            assert!((f64::from(found) / right - 1.0).abs() < 2e-5, "{x}: {found} for {right}");
            x *= 1.01;
        }
    }
}
