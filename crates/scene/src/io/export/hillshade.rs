//! Shaded relief in the colours of the viewport.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::{
    io::JobProgress,
    look::{Look, NO_SNOW, WaterLook},
};
use thalweg_sim::core::{
    border::{Border, DISTANCES, STEPS},
    grid::Grid,
    terrain::Edge,
};

/// Search distances for the horizon, in cells.
const OPENNESS_RADII: [isize; 4] = [1, 2, 5, 12];
/// Half the apparent angle of the sun's disc and its glow, as a slope: softness of shadow edges.
const PENUMBRA: f32 = 0.06;
/// Height range over which snow cover becomes continuous, as a fraction of the longer side of the map, and its maximum, in metres.
const SNOW_FADES: f32 = 0.022;
const SNOW_FADES_WITHIN: f32 = 200.0;

/// Renders 8-bit RGB in rows from the top of the map. Heights and cell size in metres; `sand` is the thickness of the layer.
///
/// Colours follow [`Look`], lit by sun and sky in linear light, without fog and highlights.
pub fn hillshade(ground: &Grid, sand: &Grid, cell_size: f32, look: &Look, progress: &JobProgress) -> Vec<u8> {
    let (width, height) = (ground.width(), ground.height());
    let steepness = look.vertical_exaggeration / cell_size;
    let sun = look.towards_sun();
    let highest = ground.min_max().1;
    let colors = [look.flat_color, look.steep_color, look.sand_color].map(|color| color.map(linear));
    let mut pixels = vec![0; 3 * width * height];
    let rows_done = AtomicUsize::new(0);
    pixels.par_chunks_exact_mut(3 * width).enumerate().for_each(|(y, row)| {
        for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
            let (column, line) = (x as isize, y as isize);
            let at = |dx: isize, dy: isize| ground.at_clamped(column + dx, line + dy);
            let [slope_x, slope_y] =
                gradient(|dx, dy| continued(ground, [column + dx, line + dy])).map(|slope| slope * steepness);
            let up = 1.0 / (1.0 + slope_x * slope_x + slope_y * slope_y).sqrt();
            let facing = ((sun[2] - slope_x * sun[0] - slope_y * sun[1]) * up).max(0.0);
            let shaded = look.shadows && facing > 0.0;
            let lit = if shaded { sunlit(ground, [x as f32, y as f32], sun, steepness, highest) } else { 1.0 };
            let open = 1.0 - look.occlusion * (1.0 - openness(at, steepness));
            let direct = look.sun_strength * facing * lit * (0.6 + 0.4 * open);
            let sky = look.ambient * (0.65 + 0.35 * up) * open;
            let surface = surface(&colors, look, sand.at(x, y) / cell_size, up);
            for (channel, (byte, color)) in pixel.iter_mut().zip(surface).enumerate() {
                // Warm sunlight, blue skylight.
                let light = direct * [1.06, 1.0, 0.90][channel] + sky * [0.86, 0.97, 1.18][channel];
                *byte = display(color * light);
            }
        }
        progress.done(rows_done.fetch_add(1, Ordering::Relaxed) + 1, height);
    });
    pixels
}

/// Renders [`hillshade`] with at most `longest` pixels along the longer side, and its water if it is given: columns and rows, and 8-bit RGB.
pub fn thumbnail(
    ground: &Grid,
    sand: &Grid,
    water: Option<(&Grid, &WaterLook)>,
    cell_size: f32,
    look: &Look,
    longest: usize,
) -> ((usize, usize), Vec<u8>) {
    let (width, height) = (ground.width(), ground.height());
    let shrink = (longest as f32 / width.max(height) as f32).min(1.0);
    let [columns, rows] = [width, height].map(|side| ((side as f32 * shrink).round() as usize).max(1));
    let reduced = |grid: &Grid| grid.resample(columns, rows);
    let cell_size = cell_size * width as f32 / columns as f32;
    let mut pixels = hillshade(&reduced(ground), &reduced(sand), cell_size, look, &JobProgress::default());
    if let Some((water, water_look)) = water.filter(|(_, water_look)| water_look.shown) {
        for (pixel, depth) in pixels.chunks_exact_mut(3).zip(reduced(water).iter()) {
            if *depth > water_look.film {
                pixel.copy_from_slice(&water_look.color.map(|part| (part * 255.0) as u8));
            }
        }
    }
    ((columns, rows), pixels)
}

/// Renders the unlit colours of [`hillshade`] as 8-bit RGB.
pub fn color_map(ground: &Grid, sand: &Grid, cell_size: f32, look: &Look) -> Vec<u8> {
    let (width, height) = (ground.width(), ground.height());
    let steepness = look.vertical_exaggeration / cell_size;
    let colors = [look.flat_color, look.steep_color, look.sand_color].map(|color| color.map(linear));
    let mut pixels = vec![0; 3 * width * height];
    pixels.par_chunks_exact_mut(3 * width).enumerate().for_each(|(y, row)| {
        for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
            let slopes = gradient(|dx, dy| continued(ground, [x as isize + dx, y as isize + dy]));
            let [slope_x, slope_y] = slopes.map(|slope| slope * steepness);
            let up = 1.0 / (1.0 + slope_x * slope_x + slope_y * slope_y).sqrt();
            let color = surface(&colors, look, sand.at(x, y) / cell_size, up);
            pixel.copy_from_slice(&color.map(byte));
        }
    });
    pixels
}

/// Computes the visible fraction of the sky per cell. `steepness` is the vertical exaggeration divided by the cell size.
pub fn occlusion(ground: &Grid, steepness: f32) -> Grid {
    let (width, height) = (ground.width(), ground.height());
    let mut open = Grid::filled(width, height, 0.0);
    open.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
        for (x, cell) in row.iter_mut().enumerate() {
            *cell = openness(|dx, dy| ground.at_clamped(x as isize + dx, y as isize + dy), steepness);
        }
    });
    open
}

/// Linear albedo of the ground, where `up` is the z component of the normal and `sand` the sand thickness in cells.
fn surface(colors: &[[f32; 3]; 3], look: &Look, sand: f32, up: f32) -> [f32; 3] {
    let [steep, sandy] = steep_and_sandy(look, sand, up);
    std::array::from_fn(|channel| {
        let rock = colors[0][channel] + steep * (colors[1][channel] - colors[0][channel]);
        rock + sandy * (colors[2][channel] - rock)
    })
}

/// Fractions of steep ground and of sand, where `up` is the z component of the normal and `sand` the sand thickness in cells.
fn steep_and_sandy(look: &Look, sand: f32, up: f32) -> [f32; 2] {
    let steep = step(look.steep_threshold, look.threshold_softness, up);
    [steep, (sand / look.sand_cover).min(1.0) * (1.0 - 0.6 * steep)]
}

/// Computes the fractions of rock, soil, sand and snow per cell, which add up to 1. Snow lies above the snow line of [`Look`] and slides
/// off steep ground, as in the viewport.
pub(super) fn ground_cover(ground: &Grid, sand: &Grid, cell_size: f32, look: &Look) -> Vec<[f32; 4]> {
    let (width, height) = (ground.width(), ground.height());
    let steepness = look.vertical_exaggeration / cell_size;
    let has_snow = f64::from(look.snow_line) < NO_SNOW;
    let extent = width.max(height) as f32 * cell_size / look.vertical_exaggeration;
    let snow_fades = (SNOW_FADES * extent).min(SNOW_FADES_WITHIN);
    let mut covers = vec![[0.0; 4]; width * height];
    covers.par_chunks_exact_mut(width).enumerate().for_each(|(y, row)| {
        for (x, cover) in row.iter_mut().enumerate() {
            let slopes = gradient(|dx, dy| continued(ground, [x as isize + dx, y as isize + dy]));
            let [slope_x, slope_y] = slopes.map(|slope| slope * steepness);
            let up = 1.0 / (1.0 + slope_x * slope_x + slope_y * slope_y).sqrt();
            let [steep, sandy] = steep_and_sandy(look, sand.at(x, y) / cell_size, up);
            let above = (ground.at(x, y) - look.snow_line) / snow_fades;
            let snow = if has_snow { smoothstep(-0.4, 0.4, above) * smoothstep(0.50, 0.74, up) } else { 0.0 };
            let bare = (1.0 - sandy) * (1.0 - snow);
            *cover = [steep * bare, (1.0 - steep) * bare, sandy * (1.0 - snow), snow];
        }
    });
    covers
}

/// Interpolates smoothly from 0 at `low` to 1 at `high`.
pub(super) fn smoothstep(low: f32, high: f32, value: f32) -> f32 {
    let part = ((value - low) / (high - low)).clamp(0.0, 1.0);
    part * part * (3.0 - 2.0 * part)
}

/// Height of a cell, or beyond the border, where the ground continues with its slope.
fn continued(ground: &Grid, place: [isize; 2]) -> f32 {
    let border = Border { width: ground.width(), height: ground.height(), edge: Edge::Open };
    let [last, behind] = border.last_two(place).map(|[x, y]| ground.at(x, y));
    2.0 * last - behind
}

/// Height differences per cell along columns and rows, with Horn's eight-neighbour weights.
fn gradient(at: impl Fn(isize, isize) -> f32) -> [f32; 2] {
    let along = |a: [f32; 3], b: [f32; 3]| ((b[0] - a[0]) + 2.0 * (b[1] - a[1]) + (b[2] - a[2])) * 0.125;
    let column = |x| [at(x, -1), at(x, 0), at(x, 1)];
    let row = |y| [at(-1, y), at(0, y), at(1, y)];
    [along(column(-1), column(1)), along(row(-1), row(1))]
}

/// Weight of the steep colour: smoothstep from 0 above the threshold to 1 below.
fn step(threshold: f32, width: f32, up: f32) -> f32 {
    if width <= 0.0 {
        return if up < threshold { 1.0 } else { 0.0 };
    }
    let part = ((threshold - up) / (2.0 * width) + 0.5).clamp(0.0, 1.0);
    part * part * (3.0 - 2.0 * part)
}

/// Visible fraction of the sun's disc above the terrain.
fn sunlit(ground: &Grid, [x, y]: [f32; 2], sun: [f32; 3], steepness: f32, highest: f32) -> f32 {
    let flat = (sun[0] * sun[0] + sun[1] * sun[1]).sqrt();
    if flat < 1e-3 {
        return 1.0;
    }
    let (dx, dy, rise) = (sun[0] / flat, sun[1] / flat, sun[2] / flat);
    let start = ground.sample_bilinear(x, y);
    let (right, bottom) = ((ground.width() - 1) as f32, (ground.height() - 1) as f32);
    let (mut distance, mut clear) = (1.5_f32, PENUMBRA);
    loop {
        let (px, py) = (x + dx * distance, y + dy * distance);
        let over = (highest - start) * steepness - (rise - PENUMBRA).max(0.0) * distance;
        if over < 0.0 || px < 0.0 || py < 0.0 || px > right || py > bottom || clear <= -PENUMBRA {
            break;
        }
        let blocked = (ground.sample_bilinear(px, py) - start) * steepness / distance;
        clear = clear.min(rise - blocked);
        distance += 0.7 + 0.02 * distance;
    }
    ((clear + PENUMBRA) / (2.0 * PENUMBRA)).clamp(0.0, 1.0)
}

/// Visible fraction of the sky, from the horizon in eight directions.
fn openness(at: impl Fn(isize, isize) -> f32, steepness: f32) -> f32 {
    let here = at(0, 0);
    let mut seen = 0.0;
    for (number, [dx, dy]) in STEPS.into_iter().enumerate() {
        let length = DISTANCES[number & 1] as f32;
        let mut horizon = 0.0_f32;
        for radius in OPENNESS_RADII {
            let rise = (at(dx * radius, dy * radius) - here) * steepness;
            horizon = horizon.max(rise / (length * radius as f32));
        }
        // One minus the sine of the horizon angle.
        seen += 1.0 - horizon / (1.0 + horizon * horizon).sqrt();
    }
    seen / 8.0
}

/// Decodes an sRGB value to linear light.
fn linear(value: f32) -> f32 {
    if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}

/// Encodes linear light as an sRGB byte, with a shoulder that preserves detail on bright slopes.
fn display(light: f32) -> u8 {
    byte(light * (1.0 + light * 0.09) / (1.0 + light * 0.42))
}

/// Encodes linear light as an sRGB byte.
fn byte(light: f32) -> u8 {
    let encoded = if light <= 0.003_130_8 { 12.92 * light } else { 1.055 * light.powf(1.0 / 2.4) - 0.055 };
    (encoded.clamp(0.0, 1.0) * 255.0 + 0.5) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shade(ground: &Grid, look: &Look) -> Vec<u8> {
        hillshade(ground, &Grid::filled(ground.width(), ground.height(), 0.0), 1.0, look, &JobProgress::default())
    }

    #[test]
    fn lit_flank_is_brighter_and_shadow_is_cast() {
        let look =
            Look { sun_azimuth: 270.0, sun_elevation: 30.0, ambient: 0.3, threshold_softness: 0.0, ..Look::default() };
        let ridge = Grid::from_fn(96, 32, |x, _| (12.0 - (x as f32 - 32.0).abs()).max(0.0));
        let pixels = shade(&ridge, &look);
        let bright = |x: usize| u32::from(pixels[3 * (16 * 96 + x) + 1]);
        assert!(bright(26) > 2 * bright(38), "the lit flank {} and the shaded one {}", bright(26), bright(38));
        assert!(bright(47) + 20 < bright(80), "shadow {} and open ground {}", bright(47), bright(80));
    }

    #[test]
    fn even_slope_shades_uniformly_up_to_the_border() {
        let look = Look { shadows: false, occlusion: 0.0, ..Look::default() };
        let slope = Grid::from_fn(48, 40, |x, y| x as f32 * 0.5 + y as f32 * 0.25);
        let pixels = shade(&slope, &look);
        let middle = pixels[3 * (20 * 48 + 24)..][..3].to_vec();
        assert!(pixels.chunks_exact(3).all(|pixel| pixel == middle), "a border differs from {middle:?}");
    }

    #[test]
    fn flat_and_steep_terrain_have_distinct_colours() {
        let look = Look { sun_elevation: 90.0, shadows: false, ..Look::default() };
        let ramp = Grid::from_fn(64, 32, |x, _| if x < 32 { 0.0 } else { (x as f32 - 31.0) * 2.0 });
        let pixels = shade(&ramp, &look);
        let at = |x: usize| &pixels[3 * (16 * 64 + x)..][..3];
        assert!(at(10)[1] > at(10)[0] + 30, "flat ground is green: {:?}", at(10));
        assert!(at(50)[0].abs_diff(at(50)[1]) < 20, "steep ground is grey: {:?}", at(50));
    }
}
