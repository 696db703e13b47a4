//! Eight particles in lock-step.
//!
//! Unlike neighbouring cells, particles are scattered, so that code over [`Lanes`] also reads and writes single lanes; the compiler
//! vectorises its loops. The number of lanes is the same on every machine.

#![expect(clippy::needless_range_loop, reason = "indexed loops over lanes are vectorised")]

use std::ops::{Add, Div, Mul, Neg, Sub};

#[cfg(target_arch = "x86_64")]
use fearless_simd::{Level, Simd};

#[cfg(target_arch = "x86_64")]
use super::vector_unit::VectorUnit;
use super::{cells::Pass, number::Real};

/// Number of particles in lock-step.
pub const LANES: usize = 8;

/// Eight f32 numbers. Compiled to vector instructions inside a function that enables them, see [`with_eight_lanes`].
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
    fn min(self, other: Self) -> Self {
        let mut out = self;
        for lane in 0..LANES {
            out.0[lane] = if self.0[lane] < other.0[lane] { self.0[lane] } else { other.0[lane] };
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
    /// Returns the lanes where this number is larger than the other.
    #[inline(always)]
    pub fn above(self, other: Self) -> LaneMask {
        let mut out = LaneMask::default();
        for lane in 0..LANES {
            out.0[lane] = if self.0[lane] > other.0[lane] { u32::MAX } else { 0 };
        }
        out
    }

    /// Truncates to integers.
    ///
    /// # Safety
    /// Every number must be in the range of `i32`.
    #[inline(always)]
    pub unsafe fn truncated(self) -> [i32; LANES] {
        let mut out = [0; LANES];
        for lane in 0..LANES {
            // SAFETY: guaranteed by the caller.
            out[lane] = unsafe { self.0[lane].to_int_unchecked() };
        }
        out
    }
}

/// Boolean per lane: all ones or all zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(32))]
pub struct LaneMask(pub [u32; LANES]);

impl LaneMask {
    /// Returns `yes` where it is set, else `no`.
    #[inline(always)]
    pub fn select(self, yes: Lanes, no: Lanes) -> Lanes {
        let mut out = no;
        for lane in 0..LANES {
            let (yes, no) = (yes.0[lane].to_bits(), no.0[lane].to_bits());
            out.0[lane] = f32::from_bits((yes & self.0[lane]) | (no & !self.0[lane]));
        }
        out
    }

    /// Returns the lanes where both are set.
    #[inline(always)]
    pub fn and(mut self, other: Self) -> Self {
        for lane in 0..LANES {
            self.0[lane] &= other.0[lane];
        }
        self
    }

    /// Returns the lanes where either is set.
    #[inline(always)]
    pub fn or(mut self, other: Self) -> Self {
        for lane in 0..LANES {
            self.0[lane] |= other.0[lane];
        }
        self
    }

    /// Returns the lanes where this one is set and the other is not.
    #[inline(always)]
    pub fn without(mut self, other: Self) -> Self {
        for lane in 0..LANES {
            self.0[lane] &= !other.0[lane];
        }
        self
    }

    /// Returns a bit per lane, the first one lowest.
    #[inline(always)]
    pub fn bits(self) -> u64 {
        let mut bits = 0;
        for lane in 0..LANES {
            bits |= u64::from(self.0[lane] & 1) << lane;
        }
        bits
    }

    /// Returns `true` if any lane is set.
    #[inline(always)]
    pub fn any(self) -> bool {
        self.0.iter().fold(0, |all, lane| all | lane) != 0
    }
}

/// Reads one element of `memory` per lane.
///
/// Uses plain loads, as the gather instruction was not faster in measurements.
///
/// # Safety
/// Every index must be in the bounds of `memory`.
#[inline(always)]
pub unsafe fn gather<T: Copy>(memory: &[T], index: [i32; LANES]) -> [T; LANES] {
    // SAFETY: guaranteed by the caller.
    index.map(|index| unsafe { *memory.get_unchecked(index as usize) })
}

/// Prefetches memory without waiting. Lines that another core has just written arrive slowly, but many can be in flight.
#[inline(always)]
pub fn prefetch<T>(memory: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint, which reads nothing and cannot fault; every x86-64 machine supports it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(memory.cast());
    }
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    let _ = memory;
}

/// Runs a pass over [`Lanes`] with the vector unit in use. The bits do not depend on it.
#[inline]
pub fn with_eight_lanes<P: Pass>(pass: P) -> P::Output {
    // AVX-512 implies AVX2; other architectures need no function of their own for eight lanes.
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = VectorUnit::current().level().and_then(Level::as_avx2) {
        return avx2.vectorize(
            #[inline(always)]
            || pass.run::<f32>(),
        );
    }
    pass.run::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::cells::Cells;

    /// All operations of the trait on one input.
    #[inline(always)]
    fn all<R: Real>(a: R, b: R) -> [R; 9] {
        [a + b, a - b, a * b, a / b, -a, (a * a).sqrt(), a.max(b), a.min(b), a.if_positive(b, a)]
    }

    struct All(Lanes, Lanes);

    impl Pass for All {
        type Output = [Lanes; 9];
        #[inline(always)]
        fn run<V: Cells>(self) -> [Lanes; 9] {
            all(self.0, self.1)
        }
    }

    #[test]
    fn lanes_match_scalar_arithmetic_bitwise() {
        let mut stream = crate::core::rng::RandomStream::new(3, "lanes", 0);
        for _ in 0..1000 {
            let mut draw = || Lanes([(); LANES].map(|()| (stream.uniform() - 0.5) * 10.0 / (stream.uniform() + 1e-6)));
            let (a, b) = (draw(), draw());
            let (plain, vector) = (All(a, b).run::<f32>(), with_eight_lanes(All(a, b)));
            for (operation, (plain, vector)) in plain.iter().zip(&vector).enumerate() {
                for lane in 0..LANES {
                    let single = all(a.0[lane], b.0[lane])[operation];
                    assert_eq!(plain.0[lane].to_bits(), single.to_bits());
                    assert_eq!(vector.0[lane].to_bits(), single.to_bits());
                }
            }
        }
    }
}
