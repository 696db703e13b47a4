//! Precomputed shading of the terrain, updated when the ground or the sun changes: slope, sky visibility, curvature and sunlight of
//! every cell. The shaders read it from two textures and need no shadow pass.

use std::sync::Arc;

use bevy::math::{URect, Vec3};
use rayon::prelude::*;

use super::{
    lod::Coverage,
    shadows::{self, MAX_SUNLIGHT},
    uniforms,
    upload::{self, PartLayout},
};
use thalweg_scene::look::Look;
use thalweg_sim::core::tiles::{self, Tiling};

/// Channels of a layer texel: ground, sand, water depth, and suspended sediment or negative wetness.
pub(super) type LayerTexel = [f32; 4];

/// Sample distances for sky visibility, in cells: axial and diagonal.
const RINGS: [(usize, usize); 3] = [(2, 1), (5, 4), (12, 8)];
/// Padding around the map, in cells, filled with the border values.
const PAD: usize = 12;
/// Strength of the darkening by surrounding ground.
const HIDES: f32 = 1.3;
/// Mean slope of the surrounding ground at which curvature saturates.
const BENT: f32 = 0.5;
/// Angular radius of the sun (radius over distance). Much larger than the real one, as in thin haze.
const SOFT: f32 = 0.03;
/// Angular radius of the sun for hard shadows.
const HARD: f32 = 0.002;
/// Returns the angular radius of the sun for a look.
pub(super) fn spread(look: &Look) -> f32 {
    if look.soft_shadows { SOFT } else { HARD }
}

/// Light parameters that determine the shading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Light {
    /// Direction towards the sun: x along columns, y up, z along rows.
    pub sun: Vec3,
    /// `true` if shadows are cast.
    pub shadows: bool,
    /// Angular radius of the sun (radius over distance).
    pub spread: f32,
    /// Vertical exaggeration.
    pub exaggeration: f32,
    /// Cell size in metres.
    pub cell: f32,
}

impl Light {
    /// Returns the light of a look on a map with this cell size in metres.
    pub(super) fn of(look: &Look, cell: f32) -> Self {
        let (sun, exaggeration) = (uniforms::towards_sun(look), look.vertical_exaggeration);
        Self { sun, shadows: look.shadows, spread: spread(look), exaggeration, cell }
    }

    /// Returns `true` if sky visibility is the same under both.
    pub(super) fn has_same_visibility(&self, other: &Self) -> bool {
        (self.exaggeration, self.cell) == (other.exaggeration, other.cell)
    }
}

/// Highest shadow casters seen from outside the map, in metres: along the first and last row, then along the first and last column.
pub(super) type ExternalHorizon = [Vec<f32>; 4];

/// Samples of an external horizon along a side of the map, for the ground plane.
pub(super) const HORIZON_CELLS: usize = 256;

/// Returns an external horizon as texels for the ground plane: first and last column, first and last row. Each texel is the
/// maximum around it.
pub(super) fn horizon_texels(horizon: &ExternalHorizon, height_above_base: impl Fn(f32) -> f32) -> Vec<u16> {
    let [first_row, last_row, first_column, last_column] = horizon;
    let mut texels = Vec::with_capacity(4 * HORIZON_CELLS);
    for heights in [first_column, last_column, first_row, last_row] {
        let last = heights.len().saturating_sub(1) as f32;
        let place = |index: f32| (index / (HORIZON_CELLS - 1) as f32 * last).clamp(0.0, last);
        texels.extend((0..HORIZON_CELLS).map(|index| {
            if heights.is_empty() {
                return half(-60000.0);
            }
            let at = place(index as f32);
            let between = |at: f32| {
                let (first, part) = (at.floor() as usize, at.fract());
                heights[first] + part * (heights[(first + 1).min(heights.len() - 1)] - heights[first])
            };
            let around = place(index as f32 - 0.5).ceil() as usize..=place(index as f32 + 0.5).floor() as usize;
            let highest = around.map(|cell| heights[cell]).fold(between(at), f32::max);
            half(height_above_base(highest))
        }));
    }
    texels
}

/// Slope, shadow and sky visibility of a map.
pub(super) struct Relief {
    width: usize,
    height: usize,
    /// Ground height, padded by [`PAD`] cells.
    ground: Vec<f32>,
    /// Height of the surface that the sun reaches: ground or water.
    top: Vec<f32>,
    /// Slopes along x and z, sunlight, and metres of sand, as half floats.
    texels: Vec<[u16; 4]>,
    /// Sky visibility, wetness, and curvature at coarse and fine scale.
    covers: Vec<[u8; 4]>,
    pub horizon: ExternalHorizon,
    /// Maximum water depth of each tile in metres, and the water coverage, if there is water.
    deepest: Vec<f32>,
    pub water: Option<Arc<Coverage>>,
    /// Tiles with texels changed since the last query.
    changed: Vec<bool>,
}

impl Relief {
    pub(super) fn new((width, height): (usize, usize)) -> Self {
        let cells = width * height;
        Self {
            width,
            height,
            ground: vec![0.0; (width + 2 * PAD) * (height + 2 * PAD)],
            top: vec![0.0; cells],
            texels: vec![[0; 4]; cells],
            covers: vec![[0; 4]; cells],
            horizon: ExternalHorizon::default(),
            deepest: vec![0.0; Tiling::new(width, height).count()],
            water: None,
            changed: vec![true; Tiling::new(width, height).count()],
        }
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    /// Updates layers of some parts, stored part after part with rows `stride` bytes apart. [`Self::update_sunlight`] updates what depends on
    /// the sun.
    pub(super) fn take(&mut self, parts: &[URect], bytes: &[u8], stride: impl Fn(&URect) -> usize, light: Light) {
        let mut rest = bytes;
        let before = self.deepest.clone();
        for part in parts {
            let (rows, others) = rest.split_at(stride(part) * part.height() as usize);
            self.take_part(part, rows, stride(part));
            rest = others;
        }
        let tiling = self.tiling();
        if self.deepest != before {
            let wet = self.deepest.iter().any(|depth| *depth > 0.0);
            // The water surface extends slightly into the banks.
            self.water = wet.then(|| Arc::new(Coverage::dilated(tiling, &self.deepest)));
        }
        let tiles = parts.iter().flat_map(|part| {
            let [columns, rows] = [part.min.x..part.max.x, part.min.y..part.max.y];
            tiling.within(columns.start as usize..columns.end as usize, rows.start as usize..rows.end as usize)
        });
        let mut tiles: Vec<usize> = tiles.collect();
        tiles.sort_unstable();
        tiles.dedup();
        // Plus all tiles that see them.
        for _ in 0..PAD.div_ceil(tiles::SIDE) {
            tiles = tiling.with_neighbours(&tiles);
        }
        self.compute_visibility(&upload::parts(tiling, tiles.into_iter()), light);
    }

    /// Recomputes slope and sky visibility of all cells, e.g. for another exaggeration.
    pub(super) fn update_visibility(&mut self, light: Light) {
        let tiling = self.tiling();
        self.compute_visibility(&upload::parts(tiling, 0..tiling.count()), light);
    }

    fn tiling(&self) -> Tiling {
        Tiling::new(self.width, self.height)
    }

    fn take_part(&mut self, part: &URect, rows: &[u8], stride: usize) {
        let (first, count) = (part.min.x as usize, part.width() as usize);
        let tiling = self.tiling();
        let lines = part.min.y as usize..part.max.y as usize;
        for tile in tiling.within(first..first + count, lines.clone()) {
            self.deepest[tile] = 0.0;
        }
        for (y, row) in lines.zip(rows.chunks_exact(stride)) {
            let cells = &row.as_chunks::<16>().0[..count];
            let ground = self.ground[(y + PAD) * (self.width + 2 * PAD) + PAD + first..][..count].iter_mut();
            let range = y * self.width + first..y * self.width + first + count;
            let top = self.top[range.clone()].iter_mut();
            let texels = self.texels[range.clone()].iter_mut();
            let covers = self.covers[range].iter_mut();
            let cells = cells.iter().zip(ground).zip(top).zip(texels).zip(covers).enumerate();
            for (x, ((((cell, ground), top), texel), cover)) in cells {
                let [level, sand, depth, last] = layers(cell);
                (*ground, *top) = (level, level + depth);
                let deepest = &mut self.deepest[tiling.of(first + x, y)];
                *deepest = deepest.max(depth);
                let (sand, wet) = (half(sand), (255.0 * (-last).max(100.0 * depth).clamp(0.0, 1.0)) as u8);
                if (texel[3], cover[1]) != (sand, wet) {
                    (texel[3], cover[1]) = (sand, wet);
                    self.changed[tiling.of(first + x, y)] = true;
                }
            }
        }
        self.pad(part);
    }

    /// Fills the padding next to a part.
    fn pad(&mut self, part: &URect) {
        let line = self.width + 2 * PAD;
        let rows = PAD + part.min.y as usize..PAD + part.max.y as usize;
        for y in rows {
            let row = &mut self.ground[y * line..][..line];
            let (first, last) = (row[PAD], row[PAD + self.width - 1]);
            row[..PAD].fill(first);
            row[PAD + self.width..].fill(last);
        }
        if part.min.y == 0 {
            for y in 0..PAD {
                self.ground.copy_within(PAD * line..(PAD + 1) * line, y * line);
            }
        }
        if part.max.y as usize == self.height {
            let last = PAD + self.height - 1;
            for y in last + 1..last + 1 + PAD {
                self.ground.copy_within(last * line..(last + 1) * line, y * line);
            }
        }
    }

    /// Computes slope and sky visibility of the cells of sorted parts, each within one row of tiles.
    fn compute_visibility(&mut self, parts: &[URect], light: Light) {
        let (across, width, height) = (self.tiling().across(), self.width, self.height);
        let ground = &self.ground;
        let texels = self.texels.par_chunks_mut(width * tiles::SIDE);
        let covers = self.covers.par_chunks_mut(width * tiles::SIDE);
        let bands = texels.zip(covers).zip(self.changed.par_chunks_mut(across)).enumerate();
        bands.for_each_init(Vec::new, |seen, (band, ((texels, covers), changed))| {
            let top = band * tiles::SIDE;
            let begin = parts.partition_point(|part| (part.min.y as usize) < top);
            let here = |part: &&URect| (part.min.y as usize) < top + tiles::SIDE;
            for part in parts[begin..].iter().take_while(here) {
                let (first, count) = (part.min.x as usize, part.width() as usize);
                for y in part.min.y as usize..part.max.y as usize {
                    let middle = (y + PAD) * (width + 2 * PAD) + first + PAD;
                    let around = ShadingNeighbourhood { ground, middle, line: width + 2 * PAD, count };
                    around.look(light, seen);
                    for (x, seen) in seen.iter_mut().enumerate() {
                        let x = part.min.x as usize + x;
                        seen.fade_at_border(x.min(y).min(width - 1 - x).min(height - 1 - y));
                    }
                    let (slopes, first) = (around.slopes(light.cell), (y - top) * width + first);
                    let cells = texels[first..first + count].iter_mut().zip(&mut covers[first..first + count]);
                    for (x, (((texel, cover), seen), [a, b])) in cells.zip(&*seen).zip(slopes).enumerate() {
                        let [open, broad, close] = seen.bytes();
                        let new = ([a, b, texel[2], texel[3]], [open, cover[1], broad, close]);
                        if (*texel, *cover) != new {
                            (*texel, *cover) = new;
                            changed[(part.min.x as usize + x) / tiles::SIDE] = true;
                        }
                    }
                }
            }
        });
    }

    /// Computes the sunlight.
    pub(super) fn update_sunlight(&mut self, light: Light) {
        let top = std::mem::take(&mut self.top);
        if light.shadows && light.sun.y > 0.0 {
            let size = (self.width, self.height);
            self.horizon = shadows::sweep_sunlight(&top, size, light, |row, values| self.light_row(row, values));
        } else {
            let lit = vec![half(MAX_SUNLIGHT); self.width];
            (0..self.height).for_each(|row| self.light_row(row, &lit));
            self.horizon = ExternalHorizon::default();
        }
        self.top = top;
    }

    /// Writes the sunlight of a row and marks the tiles in which it changes.
    fn light_row(&mut self, row: usize, values: &[u16]) {
        let first = row / tiles::SIDE * self.tiling().across();
        let texels = self.texels[row * self.width..][..self.width].chunks_mut(tiles::SIDE);
        for (tile, (texels, values)) in texels.zip(values.chunks(tiles::SIDE)).enumerate() {
            let mut differs = 0;
            for (texel, &value) in texels.iter_mut().zip(values) {
                differs |= texel[2] ^ value;
                texel[2] = value;
            }
            self.changed[first + tile] |= differs != 0;
        }
    }

    /// Returns the parts of the textures changed since the last call, or `None` if they are most of the map.
    pub(super) fn changed_parts(&mut self) -> Option<Vec<URect>> {
        let parts = upload::partial_upload(self.tiling(), &self.changed);
        self.changed.fill(false);
        parts
    }

    /// Returns both textures in full.
    pub(super) fn bytes(&self) -> [Vec<u8>; 2] {
        [bytemuck::cast_slice(&self.texels).to_vec(), bytemuck::cast_slice(&self.covers).to_vec()]
    }

    /// Returns parts of both textures in the layout of [`upload::TexturePatch`].
    pub(super) fn part_bytes(&self, parts: &[URect]) -> [Vec<u8>; 2] {
        fn cut<T: bytemuck::Pod>(values: &[T], width: usize, parts: &[URect]) -> Vec<u8> {
            let (rooms, count) = upload::part_layouts(parts, size_of::<T>());
            let mut bytes = vec![0; count];
            for (part, PartLayout { offset, row }) in parts.iter().zip(rooms) {
                for (line, y) in (part.min.y as usize..part.max.y as usize).enumerate() {
                    let values = &values[y * width + part.min.x as usize..][..part.width() as usize];
                    let values: &[u8] = bytemuck::cast_slice(values);
                    bytes[offset + line * row..][..values.len()].copy_from_slice(values);
                }
            }
            bytes
        }
        [cut(&self.texels, self.width, parts), cut(&self.covers, self.width, parts)]
    }
}

/// Slopes of the ground around a cell.
#[derive(Clone, Copy, Default)]
struct ShadingSample {
    /// Sum of rising slopes over all distances.
    hidden: f32,
    /// Mean slope at coarse and at fine scale; negative where the ground falls.
    broad: f32,
    close: f32,
}

impl ShadingSample {
    /// Fades curvature at the border of the map, beyond which the ground is unknown.
    fn fade_at_border(&mut self, cells: usize) {
        let [(near, _), (far, _), _] = RINGS;
        let known = |reach: usize| (cells as f32 / reach as f32 - 1.0).clamp(0.0, 1.0);
        self.close *= known(near);
        self.broad *= known(far);
    }

    /// Returns sky visibility, coarse curvature and fine curvature, where 0 is a crest and 255 a gully.
    fn bytes(&self) -> [u8; 3] {
        let open = 1.0 / (1.0 + HIDES * self.hidden);
        let bent = |rise: f32| 0.5 + 0.5 * (rise / BENT).clamp(-1.0, 1.0);
        [open, bent(self.broad), bent(self.close)].map(|share| (255.0 * share + 0.5) as u8)
    }
}

/// Ground around the cells of a row or of part of one.
struct ShadingNeighbourhood<'a> {
    ground: &'a [f32],
    /// Index of the first cell.
    middle: usize,
    /// Row stride.
    line: usize,
    count: usize,
}

impl<'a> ShadingNeighbourhood<'a> {
    /// Returns `count` cells, offset by `x` columns and `y` rows.
    fn at(&self, x: isize, y: isize) -> &'a [f32] {
        &self.ground[self.middle.wrapping_add_signed(x + y * self.line as isize)..][..self.count]
    }

    /// Computes rises and falls of the ground around each cell.
    fn look(&self, light: Light, seen: &mut Vec<ShadingSample>) {
        let here = self.at(0, 0);
        seen.clear();
        seen.resize(self.count, ShadingSample::default());
        for (ring, (reach, diagonal)) in RINGS.into_iter().enumerate() {
            let (r, d) = (reach as isize, diagonal as isize);
            let factor = light.exaggeration / (8.0 * reach as f32 * light.cell);
            let around = [(r, 0), (-r, 0), (0, r), (0, -r), (d, d), (-d, -d), (d, -d), (-d, d)];
            let around = around.map(|(x, y)| self.at(x, y));
            let bent = [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]][ring];
            for (x, seen) in seen.iter_mut().enumerate() {
                let rise = around.iter().map(|other| (other[x] - here[x]).max(0.0)).sum::<f32>();
                let sum = around.iter().map(|other| other[x] - here[x]).sum::<f32>();
                seen.hidden += factor * rise;
                seen.broad += bent[0] * factor * sum;
                seen.close += bent[1] * factor * sum;
            }
        }
    }

    /// Returns the slopes along columns and rows, as half floats.
    fn slopes(&self, cell: f32) -> impl Iterator<Item = [u16; 2]> + 'a {
        let [left, right, up, down] = [(-1, 0), (1, 0), (0, -1), (0, 1)].map(|(x, y)| self.at(x, y));
        let per_metre = 0.5 / cell;
        let pairs = left.iter().zip(right).zip(up.iter().zip(down));
        pairs.map(move |((left, right), (up, down))| [right - left, down - up].map(|rise| half(rise * per_metre)))
    }
}

/// Decodes the layers of a texel.
fn layers(bytes: &[u8; 16]) -> LayerTexel {
    let number = |at: usize| f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    [number(0), number(4), number(8), number(12)]
}

/// Returns the nearest half float, clamped to the largest finite one.
pub(super) fn half(number: f32) -> u16 {
    let sign = number.to_bits() >> 16 & 0x8000;
    // The half-float exponent bias is 112 lower: the multiplication drops the last digits of small numbers.
    let scaled = (number.abs().min(65504.0) * f32::from_bits(15 << 23)).to_bits();
    (sign | (scaled + 0x1000) >> 13) as u16
}

#[cfg(test)]
mod tests {
    use bevy::math::UVec2;

    use super::*;

    const SUN: Vec3 = Vec3::new(0.6, 0.5, 0.35);

    fn light(sun: Vec3) -> Light {
        Light { sun: sun.normalize(), shadows: true, spread: SOFT, exaggeration: 1.0, cell: 1.0 }
    }

    /// Encodes the layers of a map.
    fn bytes(size: (usize, usize), level: impl Fn(usize, usize) -> f32) -> Vec<u8> {
        let cells = (0..size.0 * size.1).flat_map(|cell| [level(cell % size.0, cell / size.0), 0.0, 0.0, 0.0]);
        cells.flat_map(f32::to_le_bytes).collect()
    }

    fn relief(size: (usize, usize), light: Light, level: impl Fn(usize, usize) -> f32) -> Relief {
        let mut relief = Relief::new(size);
        let whole = [URect::new(0, 0, size.0 as u32, size.1 as u32)];
        relief.take(&whole, &bytes(size, level), |_| 16 * size.0, light);
        relief.update_sunlight(light);
        relief
    }

    fn number(half: u16) -> f32 {
        let bits = u32::from(half & 0x7fff) << 13;
        let value = f32::from_bits(bits) * f32::from_bits((127 + 112) << 23);
        if half & 0x8000 == 0 { value } else { -value }
    }

    /// Returns the heights of a row's cells above the shadow edge.
    fn row(relief: &Relief, y: usize) -> Vec<f32> {
        relief.texels[y * relief.width..][..relief.width].iter().map(|texel| number(texel[2])).collect()
    }

    #[test]
    fn half_floats_round_to_nearest() {
        for (value, bits) in [(0.0, 0), (1.0, 0x3c00), (-2.0, 0xc000), (65504.0, 0x7bff), (9e9, 0x7bff), (6e-8, 1)] {
            assert_eq!(half(value), bits, "{value}");
        }
        for value in [0.1_f32, 3.15, -77.7, 1e-3] {
            assert!((number(half(value)) - value).abs() <= value.abs() / 2048.0);
        }
    }

    #[test]
    fn flat_and_sun_facing_terrain_is_lit_everywhere() {
        for turn in 0..16 {
            let angle = turn as f32 * std::f32::consts::TAU / 16.0;
            for (steep, high) in [(0.0, 0.3), (0.2, 0.3), (0.0, 10.0), (0.0, 300.0), (0.0, 1e9)] {
                let sun = Vec3::new(angle.cos(), high, angle.sin());
                let level = |x: usize, y: usize| -steep * (x as f32 * sun.x + y as f32 * sun.z);
                let relief = relief((40, 30), light(sun), level);
                assert!(
                    (0..30).flat_map(|y| row(&relief, y)).all(|above| above >= 1.0),
                    "turned by {angle}, as steep as {high}"
                );
            }
        }
    }

    #[test]
    fn shadow_length_matches_wall_height() {
        for (sun, from_left) in [(Vec3::new(-1.0, 0.5, 0.0), true), (Vec3::new(1.0, 0.5, 0.0), false)] {
            // A wall of 10 m across a flat map: its shadow is 20 m long.
            let relief = relief((64, 9), light(sun), |x, _| if x == 32 { 10.0 } else { 0.0 });
            let lit: Vec<bool> = row(&relief, 4).iter().map(|&above| above > 0.0).collect();
            let shaded = if from_left { 33..52 } else { 13..32 };
            for (x, lit) in lit.into_iter().enumerate().filter(|(x, _)| x.abs_diff(32) != 20) {
                assert_eq!(lit, !shaded.contains(&x), "cell {x}, from left {from_left}");
            }
            // The sign changes at the edge, between the last shaded and the first lit cell.
            let above = row(&relief, 4);
            let (last, next) = if from_left { (51, 53) } else { (13, 11) };
            assert!(above[last] < 0.0 && above[next] > 0.0);
        }
    }

    #[test]
    fn oblique_shadow_has_same_length() {
        // A peak at (20, 20); the tip of its shadow lies 24 m away along the rays.
        let sun = Vec3::new(-0.8, 0.5, -0.6);
        let relief = relief((64, 64), light(sun), |x, y| if (x, y) == (20, 20) { 12.0 } else { 0.0 });
        let at = |distance: f32| {
            let (x, y) = (20.0 + 0.8 * distance, 20.0 + 0.6 * distance);
            let cell = |x: f32, y: f32| row(&relief, y as usize)[x as usize];
            [cell(x.floor(), y.floor()), cell(x.ceil(), y.floor()), cell(x.floor(), y.ceil()), cell(x.ceil(), y.ceil())]
        };
        assert!([5.0, 15.0, 20.0].into_iter().all(|distance| at(distance).iter().any(|&above| above < 0.0)));
        assert!(at(27.0).iter().all(|&above| above > 0.0));
    }

    #[test]
    fn partial_relief_update_matches_full_update() {
        let hill = |x: usize, y: usize| 8.0 * ((x as f32 * 0.31).sin() + (y as f32 * 0.23).cos());
        let size = (70, 50);
        let changed =
            |x: usize, y: usize| hill(x, y) + if (30..38).contains(&x) && (8..24).contains(&y) { 9.0 } else { 0.0 };
        let light = light(SUN);
        let mut relief = relief(size, light, hill);
        let whole = self::relief(size, light, changed);
        relief.changed_parts();
        let part = URect::new(30, 8, 38, 24);
        let cells = (8..24).flat_map(|y| (30..38).flat_map(move |x| [changed(x, y), 0.0, 0.0, 0.0]));
        let bytes: Vec<u8> = cells.flat_map(f32::to_le_bytes).collect();
        relief.take(&[part], &bytes, |_| 8 * 16, light);
        relief.update_sunlight(light);
        assert!(relief.texels == whole.texels && relief.covers == whole.covers && relief.horizon == whole.horizon);
        let parts = relief.changed_parts().expect("it is less than half of the map");
        assert!(parts.iter().any(|part| part.contains(UVec2::new(33, 10))) && !parts.is_empty());
        assert_eq!(relief.changed_parts(), Some(vec![]));
    }

    #[test]
    fn disabling_shadows_lights_and_invalidates_map() {
        let light = light(SUN);
        let mut relief = relief((64, 40), light, |x, _| if x == 30 { 25.0 } else { 0.0 });
        relief.changed_parts();
        assert!((0..40).flat_map(|y| row(&relief, y)).any(|above| above < 0.0));
        relief.update_sunlight(Light { shadows: false, ..light });
        assert!(
            (0..40).flat_map(|y| row(&relief, y)).all(|above| above > 1.0)
                && relief.horizon == ExternalHorizon::default()
        );
        assert_ne!(relief.changed_parts(), Some(vec![]));
    }

    #[test]
    fn valley_sees_less_sky_than_crest() {
        let relief = relief((41, 41), light(SUN), |x, _| (x as f32 - 20.0).abs());
        let open = |x: usize| relief.covers[20 * 41 + x][0];
        assert!(open(20) < 140 && open(5) > open(20) && open(0) > 200, "{} {} {}", open(20), open(5), open(0));
        assert_eq!(number(relief.texels[20 * 41 + 30][0]), 1.0);
    }

    #[test]
    fn crests_and_gullies_have_opposite_curvature() {
        for up in [1.0, -1.0] {
            let relief = relief((41, 41), light(SUN), |x, _| -0.4 * up * (x as f32 - 20.0).abs());
            let [_, _, broad, close] = relief.covers[20 * 41 + 20];
            assert!([broad, close].into_iter().all(|bent| if up > 0.0 { bent < 90 } else { bent > 165 }));
            let [_, _, broad, close] = relief.covers[20 * 41 + 32];
            assert!(broad.abs_diff(128) <= 1 && close.abs_diff(128) <= 1, "{broad} {close}");
        }
    }

    #[test]
    fn rim_table_stores_maximum_height_per_side() {
        let relief = relief((300, 20), light(SUN), |x, y| if (x, y) == (150, 0) { 50.0 } else { 1.0 });
        let texels = horizon_texels(&relief.horizon, |metres| metres);
        let row = |side: usize| texels[side * HORIZON_CELLS..][..HORIZON_CELLS].iter().map(|&half| number(half));
        assert_eq!(row(2).fold(0.0, f32::max), 50.0);
        assert!(row(0).chain(row(1)).chain(row(3)).all(|height| (1.0..50.0).contains(&height)));
    }
}
