//! Cells in the vectors of `fearless_simd`. They are only created inside [`super::with_vector_unit`], where the unit has been
//! detected.

use std::{
    ops::{Add, Div, Mul, Neg, Sub},
    ptr::NonNull,
};

use fearless_simd::{Simd, prelude::*};

use super::{Cells, Real};

/// Vector of the unit `S`.
#[derive(Clone, Copy)]
pub struct Vector<S: Simd>(S::f32s);

/// Returns the proof that the machine supports the unit.
#[inline(always)]
fn proof<S: Simd>() -> S {
    const { assert!(size_of::<S>() == 0) };
    // SAFETY: it has no size, and vectors are only created where the machine supports the unit, see the module.
    unsafe { NonNull::<S>::dangling().read() }
}

/// Checks that a row holds `count` numbers from `at` on. The condition has the form of the loop over the row, so that the compiler
/// drops it where the row is as long as the loop.
#[inline(always)]
fn check(row: &[f32], at: usize, count: usize) {
    assert!(row.len() >= count && at <= row.len() - count, "the row is too short");
}

macro_rules! operator {
    ($($trait:ident $method:ident),*) => {$(
        impl<S: Simd> $trait for Vector<S> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(self.0.$method(other.0))
            }
        }
    )*};
}
operator!(Add add, Sub sub, Mul mul, Div div);

impl<S: Simd> Neg for Vector<S> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

/// `true` on x86-64, whose instructions return the second number unless the first is larger or smaller, like the comparison. Others
/// differ for zeros of both signs.
const COMPARES: bool = cfg!(target_arch = "x86_64");

impl<S: Simd> Real for Vector<S> {
    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self::all(value as f32)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.sqrt())
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if COMPARES { Self(self.0.max(other.0)) } else { self.if_above(other, self, other) }
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if COMPARES { Self(self.0.min(other.0)) } else { other.if_above(self, self, other) }
    }
    #[inline(always)]
    fn if_positive(self, inside: Self, below: Self) -> Self {
        Self(self.0.simd_ge(0.0).select(inside.0, below.0))
    }
}

impl<S: Simd> Cells for Vector<S> {
    const COUNT: usize = <S::f32s as SimdBase<S>>::LEN;

    #[inline(always)]
    fn load(row: &[f32], at: usize) -> Self {
        check(row, at, Self::COUNT);
        // SAFETY: the row is long enough.
        Self(S::f32s::from_slice(proof(), unsafe { row.get_unchecked(at..at + Self::COUNT) }))
    }
    #[inline(always)]
    fn store(self, row: &mut [f32], at: usize) {
        check(row, at, Self::COUNT);
        // SAFETY: the row is long enough.
        self.0.store_slice(unsafe { row.get_unchecked_mut(at..at + Self::COUNT) });
    }
    #[inline(always)]
    fn all(value: f32) -> Self {
        Self(S::f32s::splat(proof(), value))
    }
    #[inline(always)]
    fn if_above(self, other: Self, yes: Self, no: Self) -> Self {
        Self(self.0.simd_gt(other.0).select(yes.0, no.0))
    }
    #[inline(always)]
    fn any_above(self, other: Self) -> bool {
        self.0.simd_gt(other.0).any_true()
    }
    #[inline(always)]
    fn power_of_bits(self, factor: f32, start: f32) -> Self {
        let bits: S::i32s = self.0.bitcast();
        let power = Self::all(start) + Self(bits.to_float()) * Self::all(factor);
        Self(power.0.to_int::<S::i32s>().bitcast())
    }
}

#[cfg(test)]
#[cfg(target_arch = "x86_64")]
mod tests {
    use fearless_simd::x86::Sse2;

    use super::*;

    /// Vector of the unit that every x86-64 machine has, and Miri too.
    type Baseline = Vector<Sse2>;

    #[test]
    fn vectors_load_and_store_only_their_cells() {
        let row: [f32; 13] = std::array::from_fn(|x| x as f32);
        for at in 0..=row.len() - Baseline::COUNT {
            let mut out = [0.5_f32; 13];
            (Baseline::load(&row, at) + Baseline::all(1.0)).store(&mut out, at);
            let inside = |x: usize| (at..at + Baseline::COUNT).contains(&x);
            let wanted: [f32; 13] = std::array::from_fn(|x| if inside(x) { row[x] + 1.0 } else { 0.5 });
            assert_eq!(out, wanted);
        }
    }

    #[test]
    #[should_panic(expected = "the row is too short")]
    fn vectors_do_not_load_beyond_the_row() {
        Baseline::load(&[0.0_f32; 13], 14 - Baseline::COUNT);
    }
}
