//! Arithmetic that is the same for one number and for eight at once.
//!
//! A published step is written once over [`Real`] and runs in f64 (against reference results), in f32 (as the plain
//! yardstick) and in [`Lanes`] (eight particles in lock-step). Every operation is one IEEE operation per lane, without
//! fused multiply-add, so a vector unit and plain code give the same bits.

#![expect(clippy::needless_range_loop, reason = "loops over lanes are what the vector unit understands")]

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number, or a fixed bundle of independent numbers.
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The same number in every lane.
    fn splat(value: f64) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// The larger of two numbers, lane by lane.
    fn max(self, other: Self) -> Self;
    /// `inside` where this number is at least zero, else `below`, lane by lane.
    fn if_positive(self, inside: Self, below: Self) -> Self;
}

macro_rules! real {
    ($($float:ty),*) => {$(
        impl Real for $float {
            #[inline(always)]
            fn splat(value: f64) -> Self {
                value as $float
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$float>::sqrt(self)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if self > other { self } else { other }
            }
            #[inline(always)]
            fn if_positive(self, inside: Self, below: Self) -> Self {
                if self >= 0.0 { inside } else { below }
            }
        }
    )*};
}
real!(f32, f64);

/// Number of particles that move in lock-step.
pub const LANES: usize = 8;

/// Eight f32 numbers. Compiled to vector instructions inside a function that enables them, see [`with_vector_unit`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(32))]
pub struct Lanes(pub [f32; LANES]);

macro_rules! lanes_operator {
    ($($trait:ident $method:ident),*) => {$(
        impl $trait for Lanes {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let mut out = self;
                for lane in 0..LANES {
                    out.0[lane] = self.0[lane].$method(other.0[lane]);
                }
                out
            }
        }
    )*};
}
lanes_operator!(Add add, Sub sub, Mul mul, Div div);

impl Neg for Lanes {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(self.0.map(|value| -value))
    }
}

impl Real for Lanes {
    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self([value as f32; LANES])
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.map(f32::sqrt))
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        let mut out = self;
        for lane in 0..LANES {
            out.0[lane] = if self.0[lane] > other.0[lane] { self.0[lane] } else { other.0[lane] };
        }
        out
    }
    #[inline(always)]
    fn if_positive(self, inside: Self, below: Self) -> Self {
        let mut out = self;
        for lane in 0..LANES {
            out.0[lane] = if self.0[lane] >= 0.0 { inside.0[lane] } else { below.0[lane] };
        }
        out
    }
}

impl Lanes {
    /// The smaller of two numbers, lane by lane.
    #[inline(always)]
    pub fn min(self, other: Self) -> Self {
        let mut out = self;
        for lane in 0..LANES {
            out.0[lane] = if self.0[lane] < other.0[lane] { self.0[lane] } else { other.0[lane] };
        }
        out
    }

    /// Where this number is larger than the other.
    #[inline(always)]
    pub fn above(self, other: Self) -> Mask {
        let mut out = Mask::default();
        for lane in 0..LANES {
            out.0[lane] = if self.0[lane] > other.0[lane] { u32::MAX } else { 0 };
        }
        out
    }

    /// The whole part of numbers.
    ///
    /// # Safety
    /// Every number lies in the range of `i32`.
    #[inline(always)]
    pub unsafe fn truncated(self) -> [i32; LANES] {
        let mut out = [0; LANES];
        for lane in 0..LANES {
            // SAFETY: as promised by the caller.
            out[lane] = unsafe { self.0[lane].to_int_unchecked() };
        }
        out
    }
}

/// Yes or no in every lane: all ones or all zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(32))]
pub struct Mask(pub [u32; LANES]);

impl Mask {
    /// `yes` where it is set, else `no`.
    #[inline(always)]
    pub fn choose(self, yes: Lanes, no: Lanes) -> Lanes {
        let mut out = no;
        for lane in 0..LANES {
            let (yes, no) = (yes.0[lane].to_bits(), no.0[lane].to_bits());
            out.0[lane] = f32::from_bits((yes & self.0[lane]) | (no & !self.0[lane]));
        }
        out
    }

    /// Where both are set.
    #[inline(always)]
    pub fn and(mut self, other: Self) -> Self {
        for lane in 0..LANES {
            self.0[lane] &= other.0[lane];
        }
        self
    }

    /// Where one of them is set.
    #[inline(always)]
    pub fn or(mut self, other: Self) -> Self {
        for lane in 0..LANES {
            self.0[lane] |= other.0[lane];
        }
        self
    }

    /// Where this one is set and the other is not.
    #[inline(always)]
    pub fn without(mut self, other: Self) -> Self {
        for lane in 0..LANES {
            self.0[lane] &= !other.0[lane];
        }
        self
    }

    /// Whether any lane is set.
    #[inline(always)]
    pub fn any(self) -> bool {
        self.0.iter().fold(0, |all, lane| all | lane) != 0
    }
}

/// Reads one place of `memory` in every lane.
///
/// Plain loads: the vector unit's gather instruction was no faster where it was measured.
///
/// # Safety
/// Every index lies inside `memory`.
#[inline(always)]
pub unsafe fn gather<T: Copy>(memory: &[T], index: [i32; LANES]) -> [T; LANES] {
    // SAFETY: as promised by the caller.
    index.map(|index| unsafe { *memory.get_unchecked(index as usize) })
}

/// Asks for memory that is read soon, and doesn't wait for it. What another core has just written comes slowly, but many
/// lines of it come at once.
#[inline(always)]
pub fn fetch_ahead<T>(memory: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which reads nothing and cannot fault; every x86-64 machine has it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(memory.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = memory;
}

/// Work that is compiled twice, for the widest vector unit that this program knows and for any machine.
pub trait Kernel {
    /// What the work returns.
    type Output;
    /// Does the work.
    ///
    /// It must be `#[inline(always)]`, so that it becomes part of the function that has the vector unit enabled.
    fn run(self) -> Self::Output;
}

/// Numbers of neighbouring cells of a row: one, or eight at once with the same bits.
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
    /// x^(−1/3) of positive numbers to 1e-5: the exponent gives a start, then Newton twice.
    fn inverse_cube_root(self) -> Self;
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
    fn inverse_cube_root(self) -> Self {
        // Bits of positive numbers are whole numbers below 2³¹, which convert as signed ones.
        let start = f32::from_bits((0x54a2_fa8c_i32 as f32 - self.to_bits() as i32 as f32 * (1.0 / 3.0)) as i32 as u32);
        let better = start * (4.0 - self * (start * start) * start) * (1.0 / 3.0);
        better * (4.0 - self * (better * better) * better) * (1.0 / 3.0)
    }
}

impl Cells for Lanes {
    const COUNT: usize = LANES;

    #[inline(always)]
    fn load(row: &[f32], at: usize) -> Self {
        let mut out = Self::default();
        out.0.copy_from_slice(&row[at..at + LANES]);
        out
    }

    #[inline(always)]
    fn store(self, row: &mut [f32], at: usize) {
        row[at..at + LANES].copy_from_slice(&self.0);
    }

    #[inline(always)]
    fn all(value: f32) -> Self {
        Self([value; LANES])
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::min(self, other)
    }

    #[inline(always)]
    fn if_above(self, other: Self, yes: Self, no: Self) -> Self {
        let mut out = self;
        for lane in 0..LANES {
            out.0[lane] = if self.0[lane] > other.0[lane] { yes.0[lane] } else { no.0[lane] };
        }
        out
    }

    #[inline(always)]
    fn inverse_cube_root(self) -> Self {
        let mut start = self;
        for lane in 0..LANES {
            let bits = self.0[lane].to_bits() as i32 as f32;
            let guess = 0x54a2_fa8c_i32 as f32 - bits * (1.0 / 3.0);
            // Of numbers that are not positive, or none at all, nothing is asked but that they do no harm.
            let guess = if guess > 0.0 { guess } else { 0.0 };
            let guess = if guess < 2.0e9 { guess } else { 2.0e9 };
            // SAFETY: it lies between 0 and 2·10⁹, which an `i32` holds.
            start.0[lane] = f32::from_bits(unsafe { guess.to_int_unchecked::<i32>() } as u32);
        }
        let (four, third) = (Self::all(4.0), Self::all(1.0 / 3.0));
        let better = start * (four - self * (start * start) * start) * third;
        better * (four - self * (better * better) * better) * third
    }
}

/// What is computed for every cell of a row.
pub trait RowKernel {
    /// Computes the cells from place `x` on, as many as `R` holds.
    fn cells<R: Cells>(&mut self, x: usize);
}

/// Runs a kernel over a row, eight cells at once and what is left one by one.
#[inline(always)]
pub fn over_row(width: usize, mut kernel: impl RowKernel) {
    let whole = width / LANES * LANES;
    for x in (0..whole).step_by(LANES) {
        kernel.cells::<Lanes>(x);
    }
    for x in whole..width {
        kernel.cells::<f32>(x);
    }
}

/// Runs a kernel with the vector unit that the machine has. The bits don't depend on which one it is.
#[inline]
pub fn with_vector_unit<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn vectored<K: Kernel>(kernel: K) -> K::Output {
            kernel.run()
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the machine has just said that it has AVX2.
            return unsafe { vectored(kernel) };
        }
    }
    kernel.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All operations of the trait on one input.
    #[inline(always)]
    fn all<R: Real>(a: R, b: R) -> [R; 8] {
        [a + b, a - b, a * b, a / b, -a, (a * a).sqrt(), a.max(b), a.if_positive(b, a)]
    }

    struct All(Lanes, Lanes);

    impl Kernel for All {
        type Output = [Lanes; 8];
        #[inline(always)]
        fn run(self) -> [Lanes; 8] {
            all(self.0, self.1)
        }
    }

    #[test]
    fn lanes_give_the_bits_of_single_numbers_with_and_without_a_vector_unit() {
        let mut stream = crate::sim::rng::Stream::new(3, "lanes", 0);
        for _ in 0..1000 {
            let mut draw = || Lanes([(); LANES].map(|()| (stream.unit() - 0.5) * 10.0 / (stream.unit() + 1e-6)));
            let (a, b) = (draw(), draw());
            let (plain, vector) = (All(a, b).run(), with_vector_unit(All(a, b)));
            for (operation, (plain, vector)) in plain.iter().zip(&vector).enumerate() {
                for lane in 0..LANES {
                    let single = all(a.0[lane], b.0[lane])[operation];
                    assert_eq!(plain.0[lane].to_bits(), single.to_bits());
                    assert_eq!(vector.0[lane].to_bits(), single.to_bits());
                }
            }
        }
    }

    #[test]
    fn the_inverse_cube_root_is_right_over_all_depths_and_the_same_in_lanes() {
        let mut x = 1e-5_f32;
        while x < 1e4 {
            let found = x.inverse_cube_root();
            let right = f64::from(x).powf(-1.0 / 3.0);
            assert!((f64::from(found) / right - 1.0).abs() < 2e-5, "{x}: {found} for {right}");
            assert_eq!(Lanes::all(x).inverse_cube_root(), Lanes::all(found));
            x *= 1.01;
        }
    }
}
