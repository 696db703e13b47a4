//! Dune metrics along the wind, as measured in the field: heights of crests above the adjacent troughs, wavelength, and migration.

use crate::{core::terrain::Terrain, process::wind::Weather};

/// Number of transects along the wind.
const LINES: usize = 96;
/// Minimum rise of a dune, as a fraction of the relief of the sand.
const LEAST: f32 = 0.12;
/// Maximum migration in cells; beyond it, dunes cannot be distinguished from their neighbours.
const FARTHEST: usize = 24;

/// Dunes of a terrain at one time. Lengths are in metres.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dunes {
    /// Number of crests crossed by the transects.
    pub crests: usize,
    /// Mean height of the crests above the adjacent troughs.
    pub height: f64,
    /// Height of the highest crest.
    pub highest: f64,
    /// Mean distance between successive crests along the wind, or `None` if no transect crosses two.
    pub wavelength: Option<f64>,
    /// The sand along every transect, to measure migration.
    lines: Vec<Vec<f32>>,
    cell_size: f32,
    heading: [f32; 2],
}

impl Dunes {
    /// Measures the sand of a terrain along a wind.
    pub fn of(terrain: &Terrain, wind: Weather) -> Self {
        let lines = lines(terrain, wind.heading);
        let (thinnest, thickest) =
            lines.iter().flatten().fold((f32::MAX, 0.0_f32), |(low, high), &sand| (low.min(sand), high.max(sand)));
        let least = LEAST * (thickest - thinnest).max(0.0);
        let (mut heights, mut spacings) = (Vec::new(), Vec::new());
        for line in &lines {
            let crests = crests(line, least);
            heights.extend(crests.iter().map(|crest| f64::from(crest.height)));
            spacings.extend(crests.windows(2).map(|pair| (pair[1].place - pair[0].place) as f64));
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        Self {
            crests: heights.len(),
            height: mean(&heights),
            highest: heights.iter().copied().fold(0.0, f64::max),
            wavelength: (!spacings.is_empty()).then(|| mean(&spacings) * f64::from(terrain.cell_size)),
            lines,
            cell_size: terrain.cell_size,
            heading: wind.heading,
        }
    }

    /// Returns the migration of the sand along the wind since `before`, in metres, by the best-matching shift, or `None` if no
    /// shift matches clearly.
    pub fn migration_since(&self, before: &Self) -> Option<f64> {
        let same = self.heading == before.heading && self.cell_size == before.cell_size;
        if !same || self.crests == 0 || self.lines.len() != before.lines.len() {
            return None;
        }
        // Mean square difference for each shift; the minimum is where the dunes coincide.
        let misfit = |shift: usize| {
            let (mut sum, mut count) = (0.0, 0usize);
            for (now, was) in self.lines.iter().zip(&before.lines) {
                for (now, was) in now.iter().skip(shift).zip(was) {
                    sum += f64::from(now - was) * f64::from(now - was);
                    count += 1;
                }
            }
            if count == 0 { f64::MAX } else { sum / count as f64 }
        };
        let misfits: Vec<f64> = (0..=FARTHEST).map(misfit).collect();
        let best = (0..=FARTHEST).min_by(|a, b| misfits[*a].total_cmp(&misfits[*b]))?;
        if best == FARTHEST || misfits[best] == f64::MAX {
            return None;
        }
        // The vertex of the parabola through the best shift and its neighbours.
        let part = if best == 0 {
            0.0
        } else {
            let [left, middle, right] = [misfits[best - 1], misfits[best], misfits[best + 1]];
            let bend = left - 2.0 * middle + right;
            if bend > 0.0 { 0.5 * (left - right) / bend } else { 0.0 }
        };
        Some((best as f64 + part) * f64::from(self.cell_size))
    }
}

/// Returns the sand along transects parallel to the wind, with one value per cell length.
fn lines(terrain: &Terrain, [along_x, along_y]: [f32; 2]) -> Vec<Vec<f32>> {
    let sand = &terrain.sand;
    let (width, height) = (sand.width() as f32, sand.height() as f32);
    let centre = [0.5 * (width - 1.0), 0.5 * (height - 1.0)];
    let half = 0.5 * libm::hypotf(width, height);
    // Transects end at the border, even if sand wraps around.
    let inside = |x: f32, y: f32| x >= 0.0 && y >= 0.0 && x <= width - 1.0 && y <= height - 1.0;
    // Transects cover the whole map across the wind.
    let across = 0.5 * (width * along_y.abs() + height * along_x.abs());
    let line = |number: usize| {
        let side = ((number as f32 + 0.5) / LINES as f32 * 2.0 - 1.0) * across;
        let steps = (2.0 * half) as usize;
        (0..=steps)
            .map(|step| {
                let distance = step as f32 - half;
                [centre[0] + distance * along_x - side * along_y, centre[1] + distance * along_y + side * along_x]
            })
            .filter(|place| inside(place[0], place[1]))
            .map(|place| sand.sample_bilinear(place[0], place[1]))
            .collect()
    };
    (0..LINES).map(line).collect()
}

/// A crest of a transect.
struct Crest {
    place: usize,
    height: f32,
}

/// Returns the crests that rise at least by `least` above the troughs on both sides. Height is relative to the mean of both
/// troughs; if a transect begins or ends within a trough, to the other one.
fn crests(line: &[f32], least: f32) -> Vec<Crest> {
    let Some(&first) = line.first().filter(|_| least > 0.0) else { return Vec::new() };
    // Alternating troughs and crests, each with its position and the sand there.
    let (mut turns, mut rises) = (vec![(0, first)], false);
    let mut last = (0, first);
    for (place, &sand) in line.iter().enumerate() {
        let continues = if rises { sand > last.1 } else { sand < last.1 };
        if continues {
            last = (place, sand);
        } else if (sand - last.1).abs() > least {
            if turns.len() == 1 && !rises {
                turns[0] = last;
            } else {
                turns.push(last);
            }
            (last, rises) = ((place, sand), !rises);
        }
    }
    turns.push(last);
    // A trough cut by the end of the transect is known only if the bedrock is bare.
    let known = |(place, sand): (usize, f32)| (place > 0 && place + 1 < line.len()) || sand < 0.1 * least;
    let crest = |three: &[(usize, f32)]| {
        let troughs: Vec<f32> =
            [three[0], three[2]].into_iter().filter(|trough| known(*trough)).map(|trough| trough.1).collect();
        let mean = troughs.iter().sum::<f32>() / troughs.len().max(1) as f32;
        (!troughs.is_empty()).then(|| Crest { place: three[1].0, height: three[1].1 - mean })
    };
    turns.windows(3).step_by(2).filter_map(crest).collect()
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;
    use crate::core::{grid::Grid, terrain::Edge};

    /// Returns sinusoidal waves of sand of this height and length along a wind, shifted by `displacement`, all in metres.
    fn waves(degrees: f64, (height, length, displacement): (f64, f64, f64)) -> (Terrain, Weather) {
        let cell = 2.0;
        let (sin, cos) = libm::sincos(degrees.to_radians());
        let wind = Weather { heading: [cos as f32, sin as f32], strength: 1.0 };
        let [cos, sin] = wind.heading.map(f64::from);
        let mut terrain = Terrain::bare(Grid::filled(192, 160, 10.0), cell, Edge::Open);
        terrain.sand = Grid::from_fn(192, 160, |x, y| {
            let along = f64::from(cell) * (x as f64 * cos + y as f64 * sin) - displacement;
            (0.5 * height * (1.0 + libm::sin(TAU * along / length))) as f32
        });
        (terrain, wind)
    }

    #[test]
    fn dune_statistics_recover_height_wavelength_and_migration() {
        for degrees in [0.0, 90.0, 180.0, 33.0, -120.0] {
            let (terrain, wind) = waves(degrees, (6.0, 60.0, 0.0));
            let dunes = Dunes::of(&terrain, wind);
            assert!(dunes.crests > 100, "{}", dunes.crests);
            assert!((dunes.height - 6.0).abs() < 0.15 && (dunes.highest - 6.0).abs() < 0.15, "{}", dunes.height);
            let length = dunes.wavelength.unwrap_or_default();
            assert!((length - 60.0).abs() < 1.0, "{length} at {degrees}");
            for displacement in [0.0, 3.0, 17.0] {
                let (later, _) = waves(degrees, (6.0, 60.0, displacement));
                let found = Dunes::of(&later, wind).migration_since(&dunes).unwrap_or(f64::NAN);
                assert!((found - displacement).abs() < 0.3, "{found} instead of {displacement} at {degrees}");
            }
        }
    }

    #[test]
    fn bare_rock_has_no_dunes_and_single_dune_no_wavelength() {
        let wind = Weather { heading: [1.0, 0.0], strength: 1.0 };
        let mut terrain = Terrain::bare(Grid::filled(64, 64, 0.0), 1.0, Edge::Open);
        let none = Dunes::of(&terrain, wind);
        assert_eq!((none.crests, none.height, none.wavelength, none.migration_since(&none)), (0, 0.0, None, None));
        terrain.sand = Grid::from_fn(64, 64, |x, y| {
            let (x, y) = (x as f32 - 30.0, y as f32 - 32.0);
            (8.0 - 0.05 * (x * x + y * y)).max(0.0)
        });
        let one = Dunes::of(&terrain, wind);
        assert!(one.crests > 10 && one.wavelength.is_none());
        assert!((one.highest - 8.0).abs() < 0.1, "{}", one.highest);
        // A different wind has different transects.
        assert_eq!(one.migration_since(&Dunes::of(&terrain, Weather { heading: [0.0, 1.0], strength: 1.0 })), None);
    }
}
