//! Rows of cells: one kernel for a single cell and for as many as the machine's vector unit takes at once.
//!
//! A [`Pass`] is compiled for plain code and for every [`VectorUnit`] of the architecture, and [`with_vector_unit`] runs the
//! one that [`VectorUnit::working`] names. Every operation is one IEEE operation per cell, without fused multiply-add, so all
//! of them give the same bits.
//! The vectors are said outright: left to itself, the compiler takes loops over so many rows apart into single cells.

mod vector;

use fearless_simd::{Level, Simd};

use self::vector::Vector;
use super::{real::Real, vector_unit::VectorUnit};

/// Most numbers that are worked on at once.
pub const MOST: usize = 16;

/// Places in memory, one for each of as many numbers as are worked on at once.
#[repr(align(64))]
pub struct Places(pub [i32; MOST]);

impl Places {
    /// The places that whole numbers name.
    #[inline(always)]
    pub fn of<V: Cells>(whole: V::Whole) -> Self {
        let mut places = Self([0; MOST]);
        V::store_whole(whole, &mut places.0);
        // Kept in memory, where single numbers are quickly read: the compiler would take the vector apart again for each use.
        std::hint::black_box(&mut places);
        places
    }
}

/// What four numbers can be read from: themselves, or the first of them.
pub trait Four: Copy {}
impl Four for f32 {}
impl Four for [f32; 4] {}

/// Numbers of neighbouring cells of a row: one, or several at once with the same bits.
pub trait Cells: Real {
    /// How many.
    const COUNT: usize;
    /// As many signed whole numbers of 32 bits.
    type Whole: Copy;
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
    /// Whether any number is larger than the other of its cell.
    fn any_above(self, other: Self) -> bool;
    /// The nearest whole numbers, the even one of two; all below 2³¹.
    fn nearest(self) -> Self::Whole;
    /// The whole part of numbers, all below 2³¹.
    fn truncated(self) -> Self::Whole;
    /// Whole numbers as numbers: above 2²⁴ the nearest ones.
    fn number(whole: Self::Whole) -> Self;
    /// The same whole number for all.
    fn all_whole(value: i32) -> Self::Whole;
    /// Sum of whole numbers; beyond the range it wraps around.
    fn plus(a: Self::Whole, b: Self::Whole) -> Self::Whole;
    /// Difference of whole numbers; beyond the range it wraps around.
    fn minus(a: Self::Whole, b: Self::Whole) -> Self::Whole;
    /// Product of whole numbers; beyond the range it wraps around.
    fn times(a: Self::Whole, b: Self::Whole) -> Self::Whole;
    /// Reads whole numbers from the start of a slice.
    fn load_whole(from: &[i32]) -> Self::Whole;
    /// Writes whole numbers to the start of a slice.
    fn store_whole(whole: Self::Whole, to: &mut [i32]);
    /// Writes pairs of whole numbers, each as one of 64 bits: `low`, which is not negative, and above it `high`.
    fn store_pairs(low: Self::Whole, high: Self::Whole, to: &mut [i64; MOST]);
    /// Reads the place of every number.
    ///
    /// # Safety
    /// Every place lies inside `memory`.
    unsafe fn gather(memory: &[f32], at: &Places) -> Self;
    /// Reads the four numbers of the place of every number: first the first of all, and so on.
    ///
    /// # Safety
    /// Where every place points to, from the start of `memory` on, there are four numbers.
    unsafe fn gather_four<T: Four>(memory: *const T, at: &Places) -> [Self; 4];
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
    type Whole = i32;

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
    fn any_above(self, other: Self) -> bool {
        self > other
    }

    #[inline(always)]
    fn nearest(self) -> i32 {
        self.round_ties_even() as i32
    }

    #[inline(always)]
    fn truncated(self) -> i32 {
        self as i32
    }

    #[inline(always)]
    fn number(whole: i32) -> Self {
        whole as f32
    }

    #[inline(always)]
    fn all_whole(value: i32) -> i32 {
        value
    }

    #[inline(always)]
    fn plus(a: i32, b: i32) -> i32 {
        a.wrapping_add(b)
    }

    #[inline(always)]
    fn minus(a: i32, b: i32) -> i32 {
        a.wrapping_sub(b)
    }

    #[inline(always)]
    fn times(a: i32, b: i32) -> i32 {
        a.wrapping_mul(b)
    }

    #[inline(always)]
    fn load_whole(from: &[i32]) -> i32 {
        from[0]
    }

    #[inline(always)]
    fn store_whole(whole: i32, to: &mut [i32]) {
        to[0] = whole;
    }

    #[inline(always)]
    fn store_pairs(low: i32, high: i32, to: &mut [i64; MOST]) {
        to[0] = (i64::from(high) << 32) + i64::from(low);
    }

    #[inline(always)]
    unsafe fn gather(memory: &[f32], at: &Places) -> Self {
        // SAFETY: as promised by the caller.
        unsafe { *memory.get_unchecked(at.0[0] as usize) }
    }

    #[inline(always)]
    unsafe fn gather_four<T: Four>(memory: *const T, at: &Places) -> [Self; 4] {
        // SAFETY: as promised by the caller.
        unsafe { memory.offset(at.0[0] as isize).cast::<[f32; 4]>().read_unaligned() }
    }

    #[inline(always)]
    fn power_of_bits(self, factor: f32, start: f32) -> Self {
        // Bits of positive numbers are whole numbers below 2³¹, which convert as signed ones.
        Self::from_bits((start + self.to_bits() as i32 as f32 * factor) as i32 as u32)
    }
}

/// What layers hold when an amount is laid on them of which there is no more: where the last digit would make it more, they
/// take the digit below. What they really got is the difference to before.
#[inline(always)]
pub fn laid_on<V: Cells>(layer: V, amount: V) -> V {
    let laid = layer + amount;
    // Between half a step of the last digit and one and a half.
    let below = (laid - laid.max(-laid) * V::all(8e-8)).max(layer);
    (laid - layer).if_above(amount, below, laid)
}

/// What is computed for every cell of a row. The methods of such kernels are `#[inline(always)]`, and so are the functions that
/// they call: only then do they use the vector unit.
pub trait RowKernel {
    /// Computes the cells from place `x` on, as many as `V` holds.
    fn cells<V: Cells>(&mut self, x: usize);
}

/// Runs a kernel over a row, as many cells at once as `V` holds and what is left one by one.
///
/// A kernel whose rows are all cut to this width is not asked again at every cell whether they are long enough.
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

/// Work over rows of cells.
pub trait Pass {
    /// What the work returns.
    type Output;
    /// Does the work with `V` on as many cells at once as it holds. It must be `#[inline(always)]`.
    fn run<V: Cells>(self) -> Self::Output;
}

/// Runs a pass with the vector unit that works. The bits don't depend on which one it is.
#[inline]
pub fn with_vector_unit<P: Pass>(pass: P) -> P::Output {
    run_on(VectorUnit::working(), pass)
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
        out: [Vec<f32>; 22],
    }

    impl RowKernel for &mut All<'_> {
        #[inline(always)]
        fn cells<V: Cells>(&mut self, x: usize) {
            let (a, b) = (V::load(self.inputs[0], x), V::load(self.inputs[1], x));
            let size = a.max(-a) + V::all(1e-5);
            let whole = V::nearest(a * V::all(0.5));
            let at = |last: f32| Places::of::<V>(V::truncated(size.min(V::all(last))));
            // SAFETY: no place is beyond 52.
            let gathered = unsafe { V::gather(self.inputs[0], &at(52.0)) };
            // SAFETY: no place is beyond 49.
            let [first, second, third, fourth] = unsafe { V::gather_four(self.inputs[1].as_ptr(), &at(49.0)) };
            let mut pairs = [0; MOST];
            V::store_pairs(V::truncated(size), whole, &mut pairs);
            let (mut low, mut high) = ([0; MOST], [0; MOST]);
            for lane in 0..V::COUNT {
                (low[lane], high[lane]) = ((pairs[lane] & 0xffff_ffff) as i32, (pairs[lane] >> 32) as i32);
            }
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
                gathered,
                first,
                second,
                third,
                fourth,
                V::number(V::load_whole(&low)),
                V::number(V::load_whole(&high)),
                V::number(V::plus(whole, V::truncated(b))),
                V::number(V::minus(whole, V::all_whole(7))),
                V::number(V::times(whole, whole)),
            ];
            for (out, value) in self.out.iter_mut().zip(all) {
                value.store(out, x);
            }
        }
    }

    impl Pass for All<'_> {
        type Output = [Vec<f32>; 22];

        #[inline(always)]
        fn run<V: Cells>(mut self) -> Self::Output {
            over_row::<V>(WIDTH, &mut self);
            self.out
        }
    }

    #[test]
    fn every_vector_unit_gives_the_bits_of_single_cells() {
        let mut stream = crate::core::rng::Stream::new(3, "cells", 0);
        for _ in 0..200 {
            let mut draw =
                || -> Vec<f32> { (0..WIDTH).map(|_| (stream.unit() - 0.5) * 10.0 / (stream.unit() + 1e-6)).collect() };
            let (a, mut b) = (draw(), draw());
            b[7] = a[7];
            b[8] = -0.0;
            let all = || All { inputs: [&a, &b], out: std::array::from_fn(|_| vec![0.0; WIDTH]) };
            let bits =
                |rows: [Vec<f32>; 22]| rows.map(|row| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>());
            let single = bits(all().run::<f32>());
            for (unit, name) in VectorUnit::ALL.into_iter().filter(|(unit, _)| unit.is_there()) {
                assert!(bits(run_on(unit, all())) == single, "{name}");
            }
        }
    }

    #[test]
    fn a_layer_never_gets_more_than_is_laid_on_it_and_never_a_digit_less_than_it_can() {
        let mut stream = crate::core::rng::Stream::new(4, "laid", 0);
        for _ in 0..100_000 {
            let layer = (stream.unit() - 0.3) * 10_f32.powf(8.0 * stream.unit() - 4.0);
            let amount = 10_f32.powf(8.0 * stream.unit() - 7.0);
            let laid = laid_on(layer, amount);
            assert!(laid >= layer && laid - layer <= amount, "{layer} + {amount} = {laid}");
            assert!(f64::from(laid.next_up()) > f64::from(layer) + f64::from(amount), "{layer} + {amount} = {laid}");
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
