//! Cells in the vectors of `fearless_simd`. They are made inside [`super::with_vector_unit`] only, where the machine has been
//! asked for the unit.

use std::{
    ops::{Add, Div, Mul, Neg, Sub},
    ptr::NonNull,
};

#[cfg(target_arch = "x86_64")]
use fearless_simd::{
    Level,
    x86::{Avx2, Avx512},
};
use fearless_simd::{Simd, prelude::*};

use super::{Cells, Four, MOST, Places, Real};

/// As many numbers as the unit `S` takes at once.
#[derive(Clone, Copy)]
pub struct Vector<S: Simd>(S::f32s);

/// The proof that the machine has the unit.
#[inline(always)]
fn proof<S: Simd>() -> S {
    const { assert!(size_of::<S>() == 0) };
    // SAFETY: it has no size, and where vectors are made the machine has the unit, see the module.
    unsafe { NonNull::<S>::dangling().read() }
}

/// Asks whether a row holds so many numbers from a place on: in the words in which a loop over the row asks whether to go on,
/// so that the compiler need not ask twice where the row is as long as the loop.
#[inline(always)]
fn check(row: &[f32], at: usize, count: usize) {
    assert!(row.len() >= count && at <= row.len() - count, "the row ends before that");
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

/// On x86-64 an instruction takes the second number if the first is not larger, or not smaller, as the comparison does.
/// Others differ in zeros of both signs.
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
    fn if_positive(self, inside: Self, below: Self) -> Self {
        Self(self.0.simd_ge(0.0).select(inside.0, below.0))
    }
}

impl<S: Simd> Cells for Vector<S> {
    const COUNT: usize = <S::f32s as SimdBase<S>>::LEN;
    type Whole = S::i32s;

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
    fn min(self, other: Self) -> Self {
        if COMPARES { Self(self.0.min(other.0)) } else { other.if_above(self, self, other) }
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
    fn nearest(self) -> S::i32s {
        self.0.round_ties_even().to_int()
    }
    #[inline(always)]
    fn truncated(self) -> S::i32s {
        self.0.to_int()
    }
    #[inline(always)]
    fn number(whole: S::i32s) -> Self {
        Self(whole.to_float())
    }
    #[inline(always)]
    fn all_whole(value: i32) -> S::i32s {
        S::i32s::splat(proof(), value)
    }
    #[inline(always)]
    fn plus(a: S::i32s, b: S::i32s) -> S::i32s {
        a + b
    }
    #[inline(always)]
    fn minus(a: S::i32s, b: S::i32s) -> S::i32s {
        a - b
    }
    #[inline(always)]
    fn times(a: S::i32s, b: S::i32s) -> S::i32s {
        a * b
    }
    #[inline(always)]
    fn load_whole(from: &[i32]) -> S::i32s {
        S::i32s::from_slice(proof(), &from[..Self::COUNT])
    }
    #[inline(always)]
    fn store_whole(whole: S::i32s, to: &mut [i32]) {
        whole.store_slice(&mut to[..Self::COUNT]);
    }
    #[inline(always)]
    fn store_pairs(low: S::i32s, high: S::i32s, to: &mut [i64; MOST]) {
        let mut halves = [0; 2 * MOST];
        let (first, second) = halves[..2 * Self::COUNT].split_at_mut(Self::COUNT);
        low.zip_low(high).store_slice(first);
        low.zip_high(high).store_slice(second);
        for (to, &[low, high]) in to.iter_mut().zip(halves.as_chunks().0).take(Self::COUNT) {
            *to = (i64::from(high) << 32) | i64::from(low as u32);
        }
    }
    // Single loads: the gather instructions of the processors that this was measured on are slower.
    #[inline(always)]
    unsafe fn gather(memory: &[f32], at: &Places) -> Self {
        // SAFETY: as promised by the caller.
        Self(S::f32s::from_fn(proof(), |lane| unsafe { *memory.get_unchecked(at.0[lane] as usize) }))
    }
    #[inline(always)]
    unsafe fn gather_four<T: Four>(memory: *const T, at: &Places) -> [Self; 4] {
        let mut fours = [[0.0; 4]; MOST];
        for (four, at) in fours.iter_mut().zip(at.0).take(Self::COUNT) {
            // SAFETY: as promised by the caller.
            *four = unsafe { memory.offset(at as isize).cast::<[f32; 4]>().read_unaligned() };
        }
        // The compiler alone needs a third more instructions to turn rows into columns.
        #[cfg(target_arch = "x86_64")]
        {
            let same = |part: &[f32]| Self(S::f32s::from_slice(proof(), part));
            match proof::<S>().level() {
                Level::Avx2(avx2) => return columns_of_eight(avx2, &fours).map(|column| same(column.as_slice())),
                Level::Avx512(avx512) => {
                    return columns_of_sixteen(avx512, &fours).map(|column| same(column.as_slice()));
                }
                _ => {}
            }
        }
        std::array::from_fn(|part| Self(S::f32s::from_fn(proof(), |lane| fours[lane][part])))
    }
    #[inline(always)]
    fn power_of_bits(self, factor: f32, start: f32) -> Self {
        let bits = Self::number(self.0.bitcast());
        let power = Self::all(start) + bits * Self::all(factor);
        Self(power.0.to_int::<S::i32s>().bitcast())
    }
}

fearless_simd::kernel!(
    #[inline(always)]
    fn columns_of_eight(avx2: Avx2, rows: &[[f32; 4]; MOST]) -> [fearless_simd::f32x8<Avx2>; 4] {
        use std::arch::x86_64::*;
        let one = |lane: usize| -> __m128 { fearless_simd::f32x4::simd_from(avx2, rows[lane]).into() };
        let both = |lane: usize| _mm256_setr_m128(one(lane), one(lane + 4));
        let (a, b, c, d) = (both(0), both(1), both(2), both(3));
        let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
        let (ab_high, cd_high) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
        [
            _mm256_shuffle_ps::<0x44>(ab, cd).simd_into(avx2),
            _mm256_shuffle_ps::<0xee>(ab, cd).simd_into(avx2),
            _mm256_shuffle_ps::<0x44>(ab_high, cd_high).simd_into(avx2),
            _mm256_shuffle_ps::<0xee>(ab_high, cd_high).simd_into(avx2),
        ]
    }
);

fearless_simd::kernel!(
    #[inline(always)]
    fn columns_of_sixteen(avx512: Avx512, rows: &[[f32; 4]; MOST]) -> [fearless_simd::f32x16<Avx512>; 4] {
        use std::arch::x86_64::*;
        let one = |lane: usize| -> __m128 { fearless_simd::f32x4::simd_from(avx512, rows[lane]).into() };
        let all = |lane: usize| {
            let two = _mm512_insertf32x4::<1>(_mm512_castps128_ps512(one(lane)), one(lane + 4));
            _mm512_insertf32x4::<3>(_mm512_insertf32x4::<2>(two, one(lane + 8)), one(lane + 12))
        };
        let (a, b, c, d) = (all(0), all(1), all(2), all(3));
        let (ab, cd) = (_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d));
        let (ab_high, cd_high) = (_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d));
        [
            _mm512_shuffle_ps::<0x44>(ab, cd).simd_into(avx512),
            _mm512_shuffle_ps::<0xee>(ab, cd).simd_into(avx512),
            _mm512_shuffle_ps::<0x44>(ab_high, cd_high).simd_into(avx512),
            _mm512_shuffle_ps::<0xee>(ab_high, cd_high).simd_into(avx512),
        ]
    }
);
