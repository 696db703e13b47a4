//! Vectors of x86-64. They are made inside [`super::with_vector_unit`] only, where the machine has been asked.

use std::{
    arch::x86_64::*,
    ops::{Add, Div, Mul, Neg, Sub},
};

use super::{Cells, Four, MOST, Places, Real};

/// Asks whether a row holds so many numbers from a place on: in the words in which a loop over the row asks whether to go on,
/// so that the compiler need not ask twice where the row is as long as the loop.
#[inline(always)]
fn check(row: &[f32], at: usize, count: usize) {
    assert!(row.len() >= count && at <= row.len() - count, "the row ends before that");
}

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
        $whole:ident $nearest:ident $all_whole:ident $plus:ident $minus:ident $times:ident
        $load_whole:ident $store_whole:ident $store_pairs:ident $gather:ident $gather_four:ident $any_above:ident
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
            type Whole = $whole;
            #[inline(always)]
            fn load(row: &[f32], at: usize) -> Self {
                check(row, at, $count);
                // SAFETY: the machine has the operation, see the module, and the row is long enough.
                Self(unsafe { $load(row.as_ptr().add(at)) })
            }
            #[inline(always)]
            fn store(self, row: &mut [f32], at: usize) {
                check(row, at, $count);
                // SAFETY: the machine has the operation, see the module, and the row is long enough.
                unsafe { $store(row.as_mut_ptr().add(at), self.0) };
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
            fn any_above(self, other: Self) -> bool {
                // SAFETY: the machine has the operation, see the module.
                unsafe { $any_above(self.0, other.0) }
            }
            #[inline(always)]
            fn nearest(self) -> $whole {
                // SAFETY: the machine has the operation, see the module.
                unsafe { $nearest(self.0) }
            }
            #[inline(always)]
            fn truncated(self) -> $whole {
                // SAFETY: the machine has the operation, see the module.
                unsafe { $to_whole(self.0) }
            }
            #[inline(always)]
            fn number(whole: $whole) -> Self {
                // SAFETY: the machine has the operation, see the module.
                Self(unsafe { $to_number(whole) })
            }
            #[inline(always)]
            fn all_whole(value: i32) -> $whole {
                // SAFETY: the machine has the operation, see the module.
                unsafe { $all_whole(value) }
            }
            #[inline(always)]
            fn plus(a: $whole, b: $whole) -> $whole {
                // SAFETY: the machine has the operation, see the module.
                unsafe { $plus(a, b) }
            }
            #[inline(always)]
            fn minus(a: $whole, b: $whole) -> $whole {
                // SAFETY: the machine has the operation, see the module.
                unsafe { $minus(a, b) }
            }
            #[inline(always)]
            fn times(a: $whole, b: $whole) -> $whole {
                // SAFETY: the machine has the operation, see the module.
                unsafe { $times(a, b) }
            }
            #[inline(always)]
            fn load_whole(from: &[i32]) -> $whole {
                let part = &from[..$count];
                // SAFETY: the machine has the operation, see the module, and the part is as long as the vector.
                unsafe { $load_whole(part.as_ptr().cast()) }
            }
            #[inline(always)]
            fn store_whole(whole: $whole, to: &mut [i32]) {
                let part = &mut to[..$count];
                // SAFETY: the machine has the operation, see the module, and the part is as long as the vector.
                unsafe { $store_whole(part.as_mut_ptr().cast(), whole) };
            }
            #[inline(always)]
            fn store_pairs(low: $whole, high: $whole, to: &mut [i64; MOST]) {
                // SAFETY: the machine has the operation, see the module.
                unsafe { $store_pairs(low, high, to) };
            }
            #[inline(always)]
            unsafe fn gather(memory: &[f32], at: &Places) -> Self {
                // SAFETY: the machine has the operation, see the module; the places are as the caller promised.
                Self(unsafe { $gather(memory.as_ptr(), at) })
            }
            #[inline(always)]
            unsafe fn gather_four<T: Four>(memory: *const T, at: &Places) -> [Self; 4] {
                // SAFETY: the machine has the operation, see the module; the places are as the caller promised.
                let [a, b, c, d] = unsafe { $gather_four(memory, at) };
                [Self(a), Self(b), Self(c), Self(d)]
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

#[inline]
#[target_feature(enable = "avx")]
fn any_of_eight(a: __m256, b: __m256) -> bool {
    _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(a, b)) != 0
}

#[inline]
#[target_feature(enable = "avx512f")]
fn any_of_sixteen(a: __m512, b: __m512) -> bool {
    _mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b) != 0
}

#[inline]
#[target_feature(enable = "avx2")]
fn pairs_of_eight(low: __m256i, high: __m256i, to: &mut [i64; MOST]) {
    let (first, second) = (_mm256_unpacklo_epi32(low, high), _mm256_unpackhi_epi32(low, high));
    let to = to.as_mut_ptr().cast::<__m256i>();
    // SAFETY: there is room for sixteen, and these are eight.
    unsafe {
        _mm256_storeu_si256(to, _mm256_permute2x128_si256::<0x20>(first, second));
        _mm256_storeu_si256(to.add(1), _mm256_permute2x128_si256::<0x31>(first, second));
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn pairs_of_sixteen(low: __m512i, high: __m512i, to: &mut [i64; MOST]) {
    let first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    let second = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    let to = to.as_mut_ptr().cast::<__m512i>();
    // SAFETY: there is room for sixteen.
    unsafe {
        _mm512_storeu_si512(to, _mm512_permutex2var_epi32(low, first, high));
        _mm512_storeu_si512(to.add(1), _mm512_permutex2var_epi32(low, second, high));
    }
}

// Single loads: the gather instructions of the processors that this was measured on are slower.

/// # Safety
/// Every place lies in the memory.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn gather_eight(memory: *const f32, at: &Places) -> __m256 {
    // SAFETY: as promised by the caller.
    let at = |lane: usize| unsafe { *memory.add(at.0[lane] as usize) };
    _mm256_setr_ps(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7))
}

/// # Safety
/// Every place lies in the memory.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn gather_sixteen(memory: *const f32, at: &Places) -> __m512 {
    // SAFETY: as promised by the caller.
    let at = |lane: usize| unsafe { *memory.add(at.0[lane] as usize) };
    let four = |lane: usize| _mm_setr_ps(at(lane), at(lane + 1), at(lane + 2), at(lane + 3));
    let two = _mm512_insertf32x4::<1>(_mm512_castps128_ps512(four(0)), four(4));
    _mm512_insertf32x4::<3>(_mm512_insertf32x4::<2>(two, four(8)), four(12))
}

/// # Safety
/// Where every place points to, there are four numbers.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn four_of_eight<T: Four>(memory: *const T, at: &Places) -> [__m256; 4] {
    // SAFETY: as promised by the caller.
    let [a, b, c, d] = unsafe {
        macro_rules! both {
            ($lane:literal) => {
                _mm256_insertf128_ps::<1>(
                    _mm256_castps128_ps256(_mm_loadu_ps(memory.offset(at.0[$lane] as isize).cast())),
                    _mm_loadu_ps(memory.offset(at.0[$lane + 4] as isize).cast()),
                )
            };
        }
        [both!(0), both!(1), both!(2), both!(3)]
    };
    let (ab, cd) = (_mm256_unpacklo_ps(a, b), _mm256_unpacklo_ps(c, d));
    let (ab_high, cd_high) = (_mm256_unpackhi_ps(a, b), _mm256_unpackhi_ps(c, d));
    [
        _mm256_shuffle_ps::<0x44>(ab, cd),
        _mm256_shuffle_ps::<0xee>(ab, cd),
        _mm256_shuffle_ps::<0x44>(ab_high, cd_high),
        _mm256_shuffle_ps::<0xee>(ab_high, cd_high),
    ]
}

/// # Safety
/// Where every place points to, there are four numbers.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn four_of_sixteen<T: Four>(memory: *const T, at: &Places) -> [__m512; 4] {
    // SAFETY: as promised by the caller.
    let [a, b, c, d] = unsafe {
        macro_rules! all {
            ($lane:literal) => {{
                let first = _mm512_castps128_ps512(_mm_loadu_ps(memory.offset(at.0[$lane] as isize).cast()));
                let two = _mm512_insertf32x4::<1>(first, _mm_loadu_ps(memory.offset(at.0[$lane + 4] as isize).cast()));
                let three = _mm512_insertf32x4::<2>(two, _mm_loadu_ps(memory.offset(at.0[$lane + 8] as isize).cast()));
                _mm512_insertf32x4::<3>(three, _mm_loadu_ps(memory.offset(at.0[$lane + 12] as isize).cast()))
            }};
        }
        [all!(0), all!(1), all!(2), all!(3)]
    };
    let (ab, cd) = (_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d));
    let (ab_high, cd_high) = (_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d));
    [
        _mm512_shuffle_ps::<0x44>(ab, cd),
        _mm512_shuffle_ps::<0xee>(ab, cd),
        _mm512_shuffle_ps::<0x44>(ab_high, cd_high),
        _mm512_shuffle_ps::<0xee>(ab_high, cd_high),
    ]
}

vector!(
    /// Eight cells, in AVX2.
    Eight, __m256, 8,
    _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps _mm256_sqrt_ps _mm256_max_ps _mm256_min_ps
    _mm256_loadu_ps _mm256_storeu_ps _mm256_set1_ps select_eight _mm256_cvttps_epi32 _mm256_cvtepi32_ps
    _mm256_castps_si256 _mm256_castsi256_ps
    __m256i _mm256_cvtps_epi32 _mm256_set1_epi32 _mm256_add_epi32 _mm256_sub_epi32 _mm256_mullo_epi32
    _mm256_loadu_si256 _mm256_storeu_si256 pairs_of_eight gather_eight four_of_eight any_of_eight
);

vector!(
    /// Sixteen cells, in AVX-512.
    Sixteen, __m512, 16,
    _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps _mm512_sqrt_ps _mm512_max_ps _mm512_min_ps
    _mm512_loadu_ps _mm512_storeu_ps _mm512_set1_ps select_sixteen _mm512_cvttps_epi32 _mm512_cvtepi32_ps
    _mm512_castps_si512 _mm512_castsi512_ps
    __m512i _mm512_cvtps_epi32 _mm512_set1_epi32 _mm512_add_epi32 _mm512_sub_epi32 _mm512_mullo_epi32
    _mm512_loadu_si512 _mm512_storeu_si512 pairs_of_sixteen gather_sixteen four_of_sixteen any_of_sixteen
);
