//! Terrain layers as texture bytes for the shaders: the whole map or its changed parts.

use std::{borrow::Cow, mem::MaybeUninit};

use bevy::{
    asset::RenderAssetUsages,
    prelude::*,
    render::render_resource::{Extent3d, TextureDimension, TextureFormat, TextureUsages},
};
use rayon::prelude::*;

use super::upload::{self, PartLayout};
use thalweg_sim::{
    core::{
        grid::{Grid, GridVersion},
        terrain::Terrain,
        tiles::Tiling,
    },
    simulation::Simulation,
};

/// Bytes per texel: ground, sand, water depth including suspended sediment, and suspended sediment alone. Where the water is
/// shallower than [`WETNESS_DEPTH`], the last channel is the negative wetness of the ground.
pub(super) const CELL_BYTES: usize = 16;
/// Number of layers in the texture.
const LAYERS: usize = 4;

/// Water depth below which the ground shows its wetness, in metres.
const WETNESS_DEPTH: f32 = 0.01;

/// Elevation change at which the change texture saturates, in cells.
const PAST: f32 = 1.0;
/// Value of the change texture where the ground is unchanged.
const UNCHANGED: u8 = 128;

/// Version of a texture: versions of the layers and, where present, of wetness, lakes and start, then `risen` and
/// `suspended_fraction` of [`TerrainLayers`].
pub(super) type LayerVersions = ([GridVersion; LAYERS], [Option<GridVersion>; 3], (bool, f32));

/// Lowest ground and highest ground or water surface, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HeightRange {
    pub lowest: f32,
    pub highest: f32,
}

impl HeightRange {
    const NONE: Self = Self { lowest: f32::INFINITY, highest: f32::NEG_INFINITY };

    /// Returns the range that spans both.
    pub(super) fn and(self, other: Self) -> Self {
        Self { lowest: self.lowest.min(other.lowest), highest: self.highest.max(other.highest) }
    }
}

/// Layers of a simulation to draw: bedrock, sand, water and suspended sediment; the wetness of the ground, if a process tracks it;
/// the levels of lakes drawn without simulated water; and the ground at the start.
pub(super) struct TerrainLayers<'a> {
    layers: [&'a Grid; LAYERS],
    wetness: Option<Cow<'a, Grid>>,
    lakes: Option<&'a Grid>,
    start: &'a Grid,
    cell_size: f32,
    /// Fraction of the suspended layer that is part of the water.
    suspended_fraction: f32,
    /// `true` if uplift has raised the terrain: ground above its start is then not drawn as deposited.
    risen: bool,
}

impl<'a> TerrainLayers<'a> {
    pub(super) fn of(simulation: &'a Simulation, lakes: Option<&'a Grid>) -> Self {
        let Terrain { bedrock, sand, water, suspended, start, cell_size, .. } = &simulation.terrain;
        let lakes = lakes.filter(|lakes| lakes.len() == bedrock.len());
        let risen = simulation.ledger.solid.rows.get("fluvial").is_some_and(|row| row.inflow > 0.0);
        let layers = [bedrock, sand, water, suspended];
        let suspended_fraction = 1.0 / simulation.bed_acceleration();
        Self { layers, wetness: simulation.wetness(), lakes, start, cell_size: *cell_size, suspended_fraction, risen }
    }

    fn others(&self) -> [Option<&Grid>; 3] {
        [self.wetness.as_deref(), self.lakes, Some(self.start)]
    }

    pub(super) fn versions(&self) -> LayerVersions {
        (
            self.layers.map(Grid::version),
            self.others().map(|map| map.map(Grid::version)),
            (self.risen, self.suspended_fraction),
        )
    }

    fn width(&self) -> usize {
        self.layers[0].width()
    }

    /// Returns the parts changed since these versions, or `None` if they are too large or the textures differ in kind.
    pub(super) fn changed_parts(
        &self,
        (layers, others, (risen, suspended_fraction)): LayerVersions,
    ) -> Option<Vec<URect>> {
        if (risen, suspended_fraction) != (self.risen, self.suspended_fraction) {
            return None;
        }
        let tiling = Tiling::new(self.width(), self.layers[0].height());
        let mut changed = vec![false; tiling.count()];
        let mut maps: Vec<(&Grid, GridVersion)> = self.layers.into_iter().zip(layers).collect();
        for pair in self.others().into_iter().zip(others) {
            match pair {
                (None, None) => {}
                (Some(map), Some(held)) => maps.push((map, held)),
                _ => return None,
            }
        }
        for (layer, held) in maps {
            layer.changed_since(held)?.for_each(|tile| changed[tile] = true);
        }
        upload::partial_upload(tiling, &changed)
    }

    /// Returns the bytes of parts in the layout of [`upload::TexturePatch`], and the range of heights in them.
    pub(super) fn part_bytes(&self, parts: &[URect]) -> (Vec<u8>, HeightRange) {
        let row = |part: &URect| upload::row_bytes(CELL_BYTES * part.width() as usize);
        let count = parts.iter().map(|part| row(part) * part.height() as usize).sum();
        let mut bytes: Vec<u8> = vec![0; count];
        let mut rest = &mut bytes[..];
        let mut rooms = Vec::with_capacity(parts.len());
        for part in parts {
            let (room, others) = rest.split_at_mut(row(part) * part.height() as usize);
            rooms.push((part, room));
            rest = others;
        }
        let heights = rooms.into_par_iter().map(|(part, room)| {
            let mut heights = HeightRange::NONE;
            for (y, line) in (part.min.y..part.max.y).zip(room.chunks_exact_mut(row(part))) {
                let first = y as usize * self.width() + part.min.x as usize;
                let cells = line.as_chunks_mut::<CELL_BYTES>().0[..part.width() as usize].iter_mut();
                heights = heights.and(self.row_bytes(first, cells, |cell, bytes| *cell = bytes));
            }
            heights
        });
        let heights = heights.reduce(|| HeightRange::NONE, HeightRange::and);
        (bytes, heights)
    }

    /// Returns the bytes of all cells and their range of heights.
    pub(super) fn bytes(&self) -> (Vec<u8>, HeightRange) {
        let (width, count) = (self.width(), self.layers[0].len());
        // Megabytes per frame: not zeroed first.
        let mut bytes: Vec<u8> = Vec::with_capacity(CELL_BYTES * count);
        let room = &mut bytes.spare_capacity_mut()[..CELL_BYTES * count];
        let lines = room.par_chunks_mut(CELL_BYTES * width).enumerate();
        let heights = lines.map(|(y, line)| {
            let cells = line.as_chunks_mut::<CELL_BYTES>().0.iter_mut();
            self.row_bytes(y * width, cells, |cell, bytes| *cell = bytes.map(MaybeUninit::new))
        });
        let heights = heights.reduce(|| HeightRange::NONE, HeightRange::and);
        // SAFETY: all layers have `count` cells, so each of the bytes was written.
        unsafe { bytes.set_len(CELL_BYTES * count) };
        (bytes, heights)
    }

    /// Returns the elevation change since the start, one byte per cell: of parts laid out as [`upload::TexturePatch`], or of the whole map.
    pub(super) fn past_bytes(&self, parts: Option<&[URect]>) -> Vec<u8> {
        let (width, [bedrock, sand, ..]) = (self.width(), self.layers);
        let byte = |index: usize| {
            let change = (bedrock[index] + sand[index] - self.start[index]) / (PAST * self.cell_size);
            let change = if self.risen { change.min(0.0) } else { change };
            // Square root: small changes are visible too.
            let share = change.abs().min(1.0).sqrt().copysign(change);
            (f32::from(UNCHANGED) + 127.0 * share).round() as u8
        };
        let Some(parts) = parts else { return (0..bedrock.len()).into_par_iter().map(byte).collect() };
        let (rooms, count) = upload::part_layouts(parts, 1);
        let mut bytes = vec![0; count];
        for (part, PartLayout { offset, row }) in parts.iter().zip(rooms) {
            for (line, y) in (part.min.y as usize..part.max.y as usize).enumerate() {
                let first = y * width + part.min.x as usize;
                let texels = &mut bytes[offset + line * row..][..part.width() as usize];
                texels.iter_mut().enumerate().for_each(|(x, texel)| *texel = byte(first + x));
            }
        }
        bytes
    }

    /// Writes the bytes of consecutive cells of a row, starting at index `first`. Returns their range of heights.
    #[inline(always)]
    fn row_bytes<C>(
        &self,
        first: usize,
        cells: impl ExactSizeIterator<Item = C>,
        write: impl Fn(C, [u8; CELL_BYTES]),
    ) -> HeightRange {
        let range = first..first + cells.len();
        let [bedrock, sand, water, suspended] = self.layers.map(|layer| &layer[range.clone()]);
        let wetness = self.wetness.as_deref().map(|map| &map[range.clone()]);
        let lakes = self.lakes.map(|map| &map[range]);
        let mut heights = HeightRange::NONE;
        for (x, cell) in cells.enumerate() {
            let ground = bedrock[x] + sand[x];
            let last = match wetness {
                Some(wetness) if water[x] < WETNESS_DEPTH => -wetness[x],
                _ => suspended[x] * self.suspended_fraction,
            };
            let depth = water[x] + suspended[x] * self.suspended_fraction;
            let depth = lakes.map_or(depth, |levels| depth.max(levels[x] - ground));
            let values = [ground, sand[x], depth, last].map(f32::to_le_bytes);
            write(cell, std::array::from_fn(|byte| values[byte / 4][byte % 4]));
            heights = heights.and(HeightRange { lowest: ground, highest: ground + depth });
        }
        heights
    }
}

/// Returns the highest ground or water surface, in metres.
pub(super) fn highest(terrain: &Terrain) -> f32 {
    let Terrain { bedrock, sand, water, .. } = terrain;
    let tops =
        bedrock.par_iter().zip(sand.par_iter()).zip(water.par_iter()).map(|((rock, sand), water)| rock + sand + water);
    tops.reduce(|| f32::NEG_INFINITY, f32::max)
}

/// Returns [`TerrainLayers::past_bytes`] of the ground at its start.
pub(super) fn neutral_past_bytes(cells: usize) -> Vec<u8> {
    vec![UNCHANGED; cells]
}

/// Equivalent of [`TerrainLayers::bytes`] for the ground at the start, where sand and water are unknown.
pub(super) fn start_bytes(start: &Grid) -> (Vec<u8>, HeightRange) {
    let cells = start.iter().flat_map(|&ground| [ground, 0.0, 0.0, 0.0]);
    let (lowest, highest) = start.min_max();
    (cells.flat_map(f32::to_le_bytes).collect(), HeightRange { lowest, highest })
}

/// Creates a texture with four floats per cell.
pub(super) fn layer_image(size: (usize, usize), bytes: Vec<u8>) -> Image {
    Image { data: Some(bytes), ..cell_image(size, TextureFormat::Rgba32Float) }
}

/// Creates a texture with one byte per cell.
pub(super) fn byte_image(size: (usize, usize), bytes: Vec<u8>) -> Image {
    Image { data: Some(bytes), ..cell_image(size, TextureFormat::R8Unorm) }
}

/// Creates a texture with one texel per cell, without data.
pub(super) fn cell_image((width, height): (usize, usize), format: TextureFormat) -> Image {
    let size = Extent3d { width: width as u32, height: height as u32, depth_or_array_layers: 1 };
    let mut image = Image::new_uninit(size, TextureDimension::D2, format, RenderAssetUsages::RENDER_WORLD);
    image.texture_descriptor.usage = TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST;
    if format == TextureFormat::Rgba32Float {
        // Layers on the graphics card are written to it there.
        image.texture_descriptor.usage |= TextureUsages::STORAGE_BINDING;
    }
    image
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_scene::{io::scene::open_first, model::origin::Options};
    use thalweg_sim::core::terrain::Layer;

    /// Copies parts into the bytes of a texture, as the GPU does.
    fn patched(texture: &mut [u8], cell: usize, width: usize, parts: &[URect], bytes: &[u8]) {
        let (rooms, count) = upload::part_layouts(parts, cell);
        for (part, PartLayout { offset, row }) in parts.iter().zip(rooms) {
            let columns = cell * part.width() as usize;
            for (line, y) in (part.min.y..part.max.y).enumerate() {
                let first = cell * (y as usize * width + part.min.x as usize);
                texture[first..first + columns].copy_from_slice(&bytes[offset + line * row..][..columns]);
            }
        }
        assert_eq!(bytes.len(), count);
    }

    #[test]
    fn partial_texture_updates_match_full_upload() {
        let options = Options { size: Some((203, 147)), ..Options::default() };
        let mut session = open_first("alpine-valley", &options).expect("built in");
        session.set("droplets.per_tick", "5").expect("in range");
        let simulation = &mut session.simulation;
        let (mut texture, _) = TerrainLayers::of(simulation, None).bytes();
        let mut past = TerrainLayers::of(simulation, None).past_bytes(None);
        assert!(past == neutral_past_bytes(past.len()));
        for _ in 0..20 {
            let held = TerrainLayers::of(simulation, None).versions();
            simulation.tick();
            let drawn = TerrainLayers::of(simulation, None);
            let parts = drawn.changed_parts(held).expect("five droplets don't reach half of the map");
            let (bytes, heights) = drawn.part_bytes(&parts);
            assert!(!bytes.is_empty() && bytes.len() < texture.len() / 2);
            patched(&mut texture, CELL_BYTES, drawn.width(), &parts, &bytes);
            patched(&mut past, 1, drawn.width(), &parts, &drawn.past_bytes(Some(&parts)));
            assert!(past == drawn.past_bytes(None));
            let (whole, all) = drawn.bytes();
            assert!(texture == whole && all == all.and(heights) && all.lowest < all.highest);
        }
        // Some ground was eroded, some deposited.
        assert!(past.iter().any(|byte| *byte < UNCHANGED) && past.iter().any(|byte| *byte > UNCHANGED));
        let held = TerrainLayers::of(simulation, None).versions();
        simulation.terrain.layer_mut(Layer::Water)[7] = 1.0;
        assert_eq!(TerrainLayers::of(simulation, None).changed_parts(held), None);
    }

    #[test]
    fn drying_ground_is_drawn_wet_under_wind() {
        let mut session = open_first("one-barchan", &Options::default()).expect("built in");
        // A tick of the wind stands for hours: drying at its slowest.
        session.set("wind.drying", "100000").expect("it is a parameter");
        let simulation = &mut session.simulation;
        simulation.tick();
        simulation.terrain.water[7] = 0.5;
        simulation.tick();
        simulation.terrain.water[7] = 0.0;
        simulation.tick();
        let (bytes, _) = TerrainLayers::of(simulation, None).bytes();
        let last = |cell: usize| {
            let [.., a, b, c, d] = bytes[CELL_BYTES * cell..][..CELL_BYTES] else { unreachable!("it has 16 bytes") };
            f32::from_le_bytes([a, b, c, d])
        };
        assert!((-1.0..-0.5).contains(&last(7)) && last(8) == 0.0, "{}, {}", last(7), last(8));
    }

    #[test]
    fn unsimulated_lakes_are_drawn_at_their_level() {
        let options = Options { size: Some((16, 8)), ..Options::default() };
        let session = open_first("alpine-valley", &options).expect("built in");
        let mut simulation = session.simulation;
        simulation.terrain.water[5] = 2.0;
        let ground = simulation.terrain.ground();
        let level = ground[3] + 1.5;
        let lakes = Grid::from_fn(16, 8, |x, y| if y == 0 && x < 6 { level } else { f32::NEG_INFINITY });
        let drawn = TerrainLayers::of(&simulation, Some(&lakes));
        let (bytes, _) = drawn.bytes();
        let depth = |cell: usize| {
            let [.., a, b, c, d, _, _, _, _] = bytes[..CELL_BYTES * (cell + 1)] else {
                unreachable!("it has 16 bytes")
            };
            f32::from_le_bytes([a, b, c, d])
        };
        assert_eq!([3, 5, 20].map(depth), [level - ground[3], (level - ground[5]).max(2.0), 0.0]);
        // A texture made with other lakes or none cannot be patched.
        assert_eq!(TerrainLayers::of(&simulation, None).changed_parts(drawn.versions()), None);
        let other = Grid::filled(16, 8, 0.0);
        assert_eq!(TerrainLayers::of(&simulation, Some(&other)).changed_parts(drawn.versions()), None);
        // A lake map of another size, not yet updated, is ignored.
        let (without, _) = TerrainLayers::of(&simulation, Some(&Grid::filled(3, 3, 9e9))).bytes();
        assert!(without == TerrainLayers::of(&simulation, None).bytes().0);
    }
}
