//! Scalar reference implementations of the published laws, against which `thalweg bench` compares the simulation.
//!
//! They share nothing with the simulation except its parameters and its neighbour table, so tests use them as independent oracles.

pub(super) mod rivers;
pub(super) mod runoff;
#[cfg(test)]
mod tests;
pub(super) mod water;

use thalweg_sim::core::terrain::Terrain;

/// Returns ground, water and suspended sediment of a terrain, each with a ring of cells around it.
fn ringed_layers(terrain: &Terrain) -> [Vec<f32>; 3] {
    let (width, height) = (terrain.width(), terrain.height());
    [&terrain.ground(), &terrain.water, &terrain.suspended].map(|layer| ringed(layer, width, height))
}

/// Returns a layer with a ring of cells around it.
fn ringed(grid: &[f32], width: usize, height: usize) -> Vec<f32> {
    let mut layer = vec![0.0; (width + 2) * (height + 2)];
    for (line, row) in layer.chunks_exact_mut(width + 2).skip(1).zip(grid.chunks_exact(width)) {
        line[1..=width].copy_from_slice(row);
    }
    layer
}

/// Returns a layer without its ring.
#[cfg(test)]
fn unringed(layer: &[f32], width: usize, height: usize) -> Vec<f32> {
    layer.chunks_exact(width + 2).skip(1).take(height).flat_map(|line| line[1..=width].to_vec()).collect()
}

/// Copies the outermost cells into the ring.
fn close(layer: &mut [f32], width: usize, height: usize) {
    let stride = width + 2;
    for row in layer.chunks_exact_mut(stride) {
        (row[0], row[width + 1]) = (row[1], row[width]);
    }
    layer.copy_within(stride..2 * stride, 0);
    layer.copy_within(height * stride..(height + 1) * stride, (height + 1) * stride);
}
