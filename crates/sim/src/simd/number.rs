//! Arithmetic on single numbers and vectors of numbers.
//!
//! A published step is written once over [`Real`] and runs in f64 (against reference results), in f32 and in
//! [`Lanes`](super::lanes::Lanes), eight particles in lock-step; a kernel over cells is written over
//! [`Cells`](super::cells::Cells). Every operation is one IEEE operation per number, without fused multiply-add, so that vector and
//! scalar code give the same bits.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// Number, or fixed-size vector of independent numbers.
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Broadcasts a number to all lanes.
    fn splat(value: f64) -> Self;
    /// Returns the square root.
    fn sqrt(self) -> Self;
    /// Returns the larger of two numbers, lane by lane.
    fn max(self, other: Self) -> Self;
    /// Returns the smaller of two numbers, lane by lane.
    fn min(self, other: Self) -> Self;
    /// Returns `inside` where this number is at least zero, else `below`, lane by lane.
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
            fn min(self, other: Self) -> Self {
                if self < other { self } else { other }
            }
            #[inline(always)]
            fn if_positive(self, inside: Self, below: Self) -> Self {
                if self >= 0.0 { inside } else { below }
            }
        }
    )*};
}
real!(f32, f64);
