//! Lossless compression of grids.

use std::{fmt, sync::Arc};

use thalweg_sim::core::bounds::Bounds;

/// Losslessly compressed array of `f32`: its length as a little-endian `u32`, then one LZ4 block. Clones share the data.
#[derive(Clone)]
pub struct PackedGrid(Arc<Vec<u8>>);

/// Bytes of the length prefix.
const COUNT: usize = 4;

impl PackedGrid {
    /// Packs cells. Neighbouring values are similar, so deltas are small; splitting them into byte planes collects the equal bytes.
    pub fn pack(cells: &[f32]) -> Self {
        let count = cells.len();
        let mut planes = vec![0; 4 * count];
        let mut last = 0;
        for (index, cell) in cells.iter().enumerate() {
            let bits = cell.to_bits();
            let difference = bits.wrapping_sub(last);
            // Zigzag encoding: small negative deltas get leading zeros too.
            let folded = (difference << 1) ^ (((difference as i32) >> 31) as u32);
            for (plane, byte) in folded.to_le_bytes().into_iter().enumerate() {
                planes[plane * count + index] = byte;
            }
            last = bits;
        }
        let mut bytes = (count as u32).to_le_bytes().to_vec();
        bytes.extend(lz4_flex::compress(&planes));
        Self(Arc::new(bytes))
    }

    /// Validates the bytes of a file: at most `most` numbers, all within `bounds`.
    ///
    /// # Errors
    /// A description of the defect.
    pub fn from_bytes(bytes: Vec<u8>, most: usize, bounds: Bounds) -> Result<Self, String> {
        let packed = Self(Arc::new(bytes));
        let count = packed.count();
        if packed.0.len() < COUNT || count > most {
            return Err(format!("has {count} values, expected at most {most}"));
        }
        if packed.planes().is_none_or(|planes| planes.len() != 4 * count) {
            return Err("cannot be decompressed".to_owned());
        }
        let cells = bounds.check_cells(&packed.unpack(), count.max(1), 0);
        cells.map(|()| packed).map_err(|unfit| format!("has invalid values: {unfit}"))
    }

    /// Returns the maximum length of `count` packed numbers, in bytes.
    pub fn max_bytes(count: usize) -> u64 {
        (COUNT + lz4_flex::block::get_maximum_output_size(4 * count)) as u64
    }

    /// Returns the unpacked numbers.
    pub fn unpack(&self) -> Vec<f32> {
        let count = self.count();
        let mut planes = self.planes().unwrap_or_default();
        planes.resize(4 * count, 0);
        let mut last = 0_u32;
        (0..count)
            .map(|index| {
                let folded = u32::from_le_bytes(std::array::from_fn(|plane| planes[plane * count + index]));
                let difference = (folded >> 1) ^ (folded & 1).wrapping_neg();
                last = last.wrapping_add(difference);
                f32::from_bits(last)
            })
            .collect()
    }

    /// Returns the bytes as stored in a file.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the memory use, in bytes; shared data is split evenly among its clones.
    pub fn memory(&self) -> usize {
        self.0.len() / Arc::strong_count(&self.0)
    }

    /// Returns the number of values.
    pub fn count(&self) -> usize {
        self.0.first_chunk().map_or(0, |count| u32::from_le_bytes(*count) as usize)
    }

    fn planes(&self) -> Option<Vec<u8>> {
        lz4_flex::decompress(&self.0[COUNT..], 4 * self.count()).ok()
    }
}

impl fmt::Debug for PackedGrid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Packed({} numbers in {} bytes)", self.count(), self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_sim::core::bounds::{DEPTH, HEIGHT};

    #[test]
    fn packing_is_lossless_and_compresses_smooth_terrain() {
        let odd = [0.0, -0.0, 1.5, f32::MIN_POSITIVE, -1e30, f32::MAX, 3.25e-40, f32::INFINITY, f32::NAN];
        let bits = |cells: &[f32]| cells.iter().map(|cell| cell.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&PackedGrid::pack(&odd).unpack()), bits(&odd));
        assert!(PackedGrid::pack(&[]).unpack().is_empty());
        let ground: Vec<f32> = (0..65536).map(|index| 300.0 + (index as f32 * 1e-3).sin() * 90.0).collect();
        let packed = PackedGrid::pack(&ground);
        assert_eq!(bits(&packed.unpack()), bits(&ground));
        assert!(packed.bytes().len() < 4 * ground.len() * 3 / 4, "{} bytes", packed.bytes().len());
    }

    #[test]
    fn unpacking_rejects_damaged_bytes_and_invalid_values() {
        let bytes = PackedGrid::pack(&[1.0, -2.0, 3.0]).bytes().to_vec();
        assert!(PackedGrid::from_bytes(bytes.clone(), 3, HEIGHT).is_ok());
        for (bytes, most, bounds, expected) in [
            (bytes.clone(), 2, HEIGHT, "has 3 values, expected at most 2"),
            (bytes[..3].to_vec(), 3, HEIGHT, "has 0 values"),
            (bytes[..bytes.len() - 1].to_vec(), 3, HEIGHT, "cannot be decompressed"),
            (bytes.clone(), 3, DEPTH, "has invalid values: the value in column 1"),
        ] {
            let message = PackedGrid::from_bytes(bytes, most, bounds).expect_err(expected);
            assert!(message.starts_with(expected), "{message}");
        }
    }
}
