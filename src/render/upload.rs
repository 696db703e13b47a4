//! Partial texture uploads to the GPU.

use bevy::{
    asset::AssetId,
    image::Image,
    prelude::*,
    render::{
        ExtractSchedule, MainWorld, Render, RenderApp, RenderSystems,
        render_asset::RenderAssets,
        render_resource::{
            BufferInitDescriptor, BufferUsages, CommandEncoderDescriptor, Extent3d, Origin3d, TexelCopyBufferInfo,
            TexelCopyBufferLayout,
        },
        renderer::{RenderDevice, RenderQueue},
        texture::GpuImage,
    },
};

use thalweg_sim::core::tiles::Tiling;

/// Alignment of texel rows in a buffer, in bytes.
const ALIGNED: usize = 256;
/// Maximum texel size in bytes at which narrow parts share rows of a buffer. Larger texels are written by several threads, one part
/// each.
const SHARING: usize = 8;
/// Maximum number of unchanged tiles within a part of a row: cheaper than another copy.
const GAP: usize = 2;
/// Maximum fraction of the map's cells to upload in parts. Above, the whole map is uploaded.
const MOST_PARTS: f64 = 0.5;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Patches>();
    if let Some(render) = app.get_sub_app_mut(RenderApp) {
        render
            .init_resource::<Patches>()
            .add_systems(ExtractSchedule, extract)
            .add_systems(Render, apply.in_set(RenderSystems::PrepareResources));
    }
}

/// New texels for parts of a texture on the GPU.
pub(super) struct TexturePatch {
    pub image: AssetId<Image>,
    pub parts: Vec<URect>,
    /// Rows of each part, laid out by [`part_layouts`].
    pub bytes: Vec<u8>,
}

/// Pending patches.
#[derive(Resource, Default)]
pub(super) struct Patches(pub Vec<TexturePatch>);

/// Returns the row stride of a part with rows of `bytes`.
pub(super) fn row_bytes(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGNED)
}

/// Layout of a part's rows in the bytes of a patch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PartLayout {
    /// Offset of the first row, and stride, in bytes.
    pub offset: usize,
    pub row: usize,
}

/// Returns the layout of parts in a patch with this texel size in bytes, and the patch's size.
pub(super) fn part_layouts(parts: &[URect], texel: usize) -> (Vec<PartLayout>, usize) {
    let mut count = 0;
    // Rows shared by narrow parts: offset of the first, number of rows, and bytes used of each.
    let mut shared: Option<(usize, u32, usize)> = None;
    let rooms = parts.iter().map(|part| {
        let (bytes, height) = (texel * part.width() as usize, part.height());
        if texel <= SHARING
            && let Some((begin, rows, taken)) = &mut shared
            && *rows == height
            && *taken + bytes <= ALIGNED
        {
            let room = PartLayout { offset: *begin + *taken, row: ALIGNED };
            *taken += bytes;
            return room;
        }
        let room = PartLayout { offset: count, row: row_bytes(bytes) };
        count += room.row * height as usize;
        if room.row == ALIGNED {
            shared = Some((room.offset, height, bytes));
        }
        room
    });
    let rooms = rooms.collect();
    (rooms, count)
}

/// Returns the cells of sorted tiles as rectangles, including small gaps between them.
pub(super) fn parts(tiling: Tiling, tiles: impl Iterator<Item = usize>) -> Vec<URect> {
    let mut parts: Vec<URect> = Vec::new();
    let mut last = None;
    for tile in tiles {
        let [columns, rows] = tiling.cells(tile).map(|cells| cells.start as u32..cells.end as u32);
        match (last, parts.last_mut()) {
            (Some(last), Some(part)) if part.min.y == rows.start && tile - last <= GAP + 1 => part.max.x = columns.end,
            _ => parts.push(URect::new(columns.start, rows.start, columns.end, rows.end)),
        }
        last = Some(tile);
    }
    parts
}

/// Returns the cells of marked tiles, or `None` if they exceed half of the map, which is then uploaded in full.
pub(super) fn partial_upload(tiling: Tiling, marked: &[bool]) -> Option<Vec<URect>> {
    let parts = parts(tiling, (0..tiling.count()).filter(|&tile| marked[tile]));
    let cells: f64 = parts.iter().map(|part| f64::from(part.width()) * f64::from(part.height())).sum();
    (cells <= MOST_PARTS * (tiling.width() * tiling.height()) as f64).then_some(parts)
}

fn extract(mut main: ResMut<MainWorld>, mut patches: ResMut<Patches>) {
    patches.0.append(&mut main.resource_mut::<Patches>().0);
}

/// Writes patches into their textures. Patches of removed textures are dropped.
pub(super) fn apply(
    mut patches: ResMut<Patches>,
    images: Res<RenderAssets<GpuImage>>,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
) {
    if patches.0.is_empty() {
        return;
    }
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor { label: Some("patches") });
    for TexturePatch { image, parts, bytes } in patches.0.drain(..) {
        let Some(GpuImage { texture, texture_descriptor, .. }) = images.get(image) else { continue };
        let Some(texel) = texture_descriptor.format.block_copy_size(None) else { continue };
        let contents = BufferInitDescriptor { label: Some("patch"), contents: &bytes, usage: BufferUsages::COPY_SRC };
        let buffer = device.create_buffer_with_data(&contents);
        for (part, PartLayout { offset, row }) in parts.iter().zip(part_layouts(&parts, texel as usize).0) {
            let (offset, row) = (offset as u64, row as u32);
            let layout = TexelCopyBufferLayout { offset, bytes_per_row: Some(row), rows_per_image: None };
            let mut target = texture.as_image_copy();
            target.origin = Origin3d { x: part.min.x, y: part.min.y, z: 0 };
            let size = Extent3d { width: part.width(), height: part.height(), depth_or_array_layers: 1 };
            encoder.copy_buffer_to_texture(TexelCopyBufferInfo { buffer: &buffer, layout }, target, size);
        }
    }
    queue.submit([encoder.finish()]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upload_rects_cover_tiles_and_merge_neighbours() {
        let tiling = Tiling::new(100, 20);
        assert_eq!(parts(tiling, [].into_iter()), []);
        // Two adjacent ones, one after a small gap, two far away, and the next row.
        let found = parts(tiling, [0, 1, 3, 8, 12, 13, 38].into_iter());
        let rect = URect::new;
        let expected =
            [rect(0, 0, 32, 8), rect(64, 0, 72, 8), rect(96, 0, 100, 8), rect(0, 8, 8, 16), rect(96, 16, 100, 20)];
        assert_eq!(found, expected);
    }

    #[test]
    fn upload_layouts_do_not_overlap_and_share_rows() {
        let rect = URect::new;
        let parts =
            [rect(0, 0, 8, 8), rect(16, 0, 40, 8), rect(0, 8, 100, 16), rect(40, 16, 44, 20), rect(64, 16, 72, 20)];
        for texel in [1, 4, 8, 16] {
            let (rooms, count) = part_layouts(&parts, texel);
            let mut taken = vec![false; count];
            for (part, PartLayout { offset, row }) in parts.iter().zip(&rooms) {
                assert!(row.is_multiple_of(ALIGNED) && offset.is_multiple_of(texel));
                for line in 0..part.height() as usize {
                    for byte in &mut taken[offset + line * row..][..texel * part.width() as usize] {
                        assert!(!std::mem::replace(byte, true), "two parts have the same byte");
                    }
                }
            }
            let alone: usize =
                parts.iter().map(|part| row_bytes(texel * part.width() as usize) * part.height() as usize).sum();
            assert!(if texel <= SHARING { count < alone } else { count == alone }, "{count} of {alone}");
        }
    }
}
