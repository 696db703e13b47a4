//! Arrays of numbers that are aligned to cache lines.
//!
//! A vector unit loads up to a line at once. In an unaligned row, every load and store touches two lines, and a step of the water
//! takes about an eighth longer.

use std::{
    fmt,
    ops::{Deref, DerefMut},
};

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut};

/// Numbers per cache line.
const LINE: usize = 16;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct CacheLine([f32; LINE]);

/// Array of fixed length, aligned to a cache line. It dereferences to a slice.
#[derive(Clone, Default)]
pub struct AlignedArray {
    lines: Box<[CacheLine]>,
    count: usize,
}

impl AlignedArray {
    /// Creates an array of `count` copies of `value`.
    pub fn filled(count: usize, value: f32) -> Self {
        Self { lines: vec![CacheLine([value; LINE]); count.div_ceil(LINE)].into_boxed_slice(), count }
    }

    /// Returns `count` numbers from `first` on. For short rows this is faster than slicing, which also checks the length of the
    /// array.
    #[inline(always)]
    pub fn part(&self, first: usize, count: usize) -> &[f32] {
        &cast_slice(&self.lines)[first..][..count]
    }

    /// Mutable equivalent of [`Self::part`].
    #[inline(always)]
    pub fn part_mut(&mut self, first: usize, count: usize) -> &mut [f32] {
        &mut cast_slice_mut(&mut self.lines)[first..][..count]
    }
}

impl Deref for AlignedArray {
    type Target = [f32];

    #[inline(always)]
    fn deref(&self) -> &[f32] {
        &cast_slice(&self.lines)[..self.count]
    }
}

impl DerefMut for AlignedArray {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut cast_slice_mut(&mut self.lines)[..self.count]
    }
}

impl PartialEq for AlignedArray {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for AlignedArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_array_is_cache_line_aligned_and_filled() {
        for count in [0_usize, 1, 15, 16, 17, 255, 5000, 1 << 20] {
            let numbers = [AlignedArray::filled(count, 0.0), AlignedArray::filled(count, 1.5)];
            for copy in [&numbers[0], &numbers[1], &numbers[1].clone()] {
                assert_eq!((copy.len(), copy.as_ptr().addr() % 64), (count, 0), "{count} numbers");
            }
            assert!(numbers[1].iter().all(|&number| number == 1.5) && (numbers[0] == numbers[1]) == (count == 0));
        }
    }
}
