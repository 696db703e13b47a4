//! Sums of noise octaves: Perlin, simplex, fBm, ridged and billow.
//!
//! h(p) = Σ aₖ·n(fₖ·p) with fₖ = frequency·lacunarityᵏ. Perlin and simplex use aₖ = persistenceᵏ (McDonald 2020); fBm, ridged and
//! billow use aₖ = lacunarity^(−H·k), which is independent of the number of octaves per frequency interval (Ebert et al. 2003,
//! chapter 16). Ridged squares 1 − |n| and weights every octave by the previous one; billow sums |n|.
//!
//! Every octave is rotated and offset against the others, so that their lattices don't add up to visible rows. Perlin noise is a
//! slice of 3D noise, because the 2D Perlin noise of this crate has only four gradients and vanishes at every lattice point;
//! simplex noise is 2D.
//!
//! Octaves too fine for the cells are faded out. Perlin has full amplitude down to a period of two cells: at power-of-two sizes the
//! result matches McDonald's program exactly, which samples finer octaves at their lattice points, where they are 0. The others
//! have full amplitude down to four cells, since folding doubles their frequencies.

use noise::{NoiseFn, Perlin, Simplex};

use super::{Generator, TerrainParams, frame::MapFrame, normalized};
use crate::core::{grid::Grid, rng::RandomStream};

/// Weight of a ridged octave per height of the previous one (Ebert et al. 2003).
const RIDGED_GAIN: f64 = 2.0;
/// Stretch of simplex noise that makes its bumps about as wide as Perlin's.
const SIMPLEX_STRETCH: f64 = 1.3;
/// Scale of simplex noise to about the amplitude of the Perlin noise that the ridged gain is meant for.
const SIMPLEX_HEIGHT: f64 = 0.75;

/// The octaves of a sum, before the resolution limits them.
struct OctaveSeries {
    /// Periods of the first octave per shorter side.
    frequency: f64,
    /// Ratio of the frequencies of successive octaves.
    lacunarity: f64,
    /// Ratio of the amplitudes of successive octaves.
    gain: f64,
    /// Number of octaves.
    count: u32,
    /// Stretch of the noise.
    stretch: f64,
    /// Cells per period at which an octave vanishes; at twice as many it has full amplitude.
    finest: f64,
}

/// One layer of noise.
struct Octave {
    /// Noise periods per shorter side, times the cosine of the rotation.
    cosine: f64,
    /// Noise periods per shorter side, times the sine of the rotation.
    sine: f64,
    /// Position of the map's centre in the noise.
    offset: [f64; 3],
    /// Amplitude.
    amplitude: f64,
}

impl Octave {
    fn place(&self, u: f64, v: f64) -> [f64; 3] {
        let [x, y, z] = self.offset;
        [x + (self.cosine * u - self.sine * v), y + (self.sine * u + self.cosine * v), z]
    }
}

impl OctaveSeries {
    /// Returns the octaves that the map can resolve, at least one.
    fn octaves(&self, frame: MapFrame, stream: &mut RandomStream) -> Vec<Octave> {
        let mut octaves = Vec::new();
        let (mut frequency, mut height) = (self.frequency, 1.0);
        let (mut cosine, mut sine) = (0.8, 0.6);
        for index in 0..self.count {
            let cells_per_period = frame.shorter() as f64 / frequency;
            let shown = if index == 0 { 1.0 } else { (cells_per_period / self.finest - 1.0).clamp(0.0, 1.0) };
            if shown == 0.0 {
                break;
            }
            octaves.push(Octave {
                cosine: cosine * frequency / self.stretch,
                sine: sine * frequency / self.stretch,
                offset: std::array::from_fn(|_| f64::from(stream.uniform()) * 256.0),
                amplitude: height * shown,
            });
            // The angle of the 3-4-5 triangle: no multiple of it returns to the start.
            (cosine, sine) = (0.8 * cosine - 0.6 * sine, 0.6 * cosine + 0.8 * sine);
            frequency *= self.lacunarity;
            height *= self.gain;
        }
        octaves
    }
}

/// Returns fBm of a terrain's octaves, scaled to 0..=`top`.
pub(super) fn rugged(params: &TerrainParams, frame: MapFrame, seed: u64, top: f32) -> Grid {
    normalized(heights(&TerrainParams { generator: Generator::Fbm, ..params.clone() }, frame, seed), top)
}

/// Returns heights of arbitrary scale, to be normalised by the caller.
pub(super) fn heights(params: &TerrainParams, frame: MapFrame, seed: u64) -> Grid {
    let mut stream = RandomStream::new(seed, "terrain.fractal", 0);
    let table = stream.bits();
    let (perlin, simplex) = (Perlin::new(table), Simplex::new(table));
    let lacunarity = params.lacunarity.into();
    let gain = match params.generator {
        Generator::Perlin | Generator::Simplex => params.persistence.into(),
        _ => 1.0 / libm::pow(lacunarity, params.hurst.into()),
    };
    let (stretch, finest) = if params.generator == Generator::Perlin { (1.0, 1.0) } else { (SIMPLEX_STRETCH, 2.0) };
    let octaves =
        OctaveSeries { frequency: params.frequency.into(), lacunarity, gain, count: params.octaves, stretch, finest }
            .octaves(frame, &mut stream);
    match params.generator {
        Generator::Perlin => summed(&octaves, frame, |place| perlin.get(place)),
        Generator::Ridged => ridged(&octaves, frame, |[x, y, _]| SIMPLEX_HEIGHT * simplex.get([x, y])),
        Generator::Billow => summed(&octaves, frame, |[x, y, _]| simplex.get([x, y]).abs()),
        _ => summed(&octaves, frame, |[x, y, _]| simplex.get([x, y])),
    }
}

/// Returns simplex noise with octaves of equal amplitude, from `frequency` periods per shorter side down to the cells.
pub(super) fn grain(frequency: f64, frame: MapFrame, stream: &mut RandomStream) -> Grid {
    let simplex = Simplex::new(stream.bits());
    let series =
        OctaveSeries { frequency, lacunarity: 2.0, gain: 1.0, count: u32::MAX, stretch: SIMPLEX_STRETCH, finest: 2.0 };
    summed(&series.octaves(frame, stream), frame, |[x, y, _]| simplex.get([x, y]))
}

fn summed(octaves: &[Octave], frame: MapFrame, noise: impl Fn([f64; 3]) -> f64 + Sync) -> Grid {
    frame.sample(|u, v| octaves.iter().map(|octave| octave.amplitude * noise(octave.place(u, v))).sum())
}

fn ridged(octaves: &[Octave], frame: MapFrame, noise: impl Fn([f64; 3]) -> f64 + Sync) -> Grid {
    frame.sample(|u, v| {
        let (mut sum, mut weight) = (0.0, 1.0);
        for octave in octaves {
            let crest = 1.0 - noise(octave.place(u, v)).abs();
            let signal = crest * crest * weight;
            sum += octave.amplitude * signal;
            weight = (RIDGED_GAIN * signal).clamp(0.0, 1.0);
        }
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octaves_stop_at_finest_resolvable_wavelength() {
        let count = |size, count, finest| {
            let series = OctaveSeries { frequency: 1.0, lacunarity: 2.0, gain: 0.6, count, stretch: 1.0, finest };
            series.octaves(MapFrame::new(size, size), &mut RandomStream::new(1, "test", 0)).len()
        };
        assert_eq!(count(256, 15, 1.0), 8, "the last has a period of two cells");
        assert_eq!(count(512, 15, 1.0), 9);
        assert_eq!(count(256, 15, 2.0), 7, "the last has a period of four cells");
        assert_eq!(count(256, 3, 1.0), 3);
        assert_eq!(count(1, 15, 1.0), 1);
    }

    #[test]
    fn fbm_ignores_persistence() {
        let frame = MapFrame::new(40, 40);
        let map =
            |generator, persistence| heights(&TerrainParams { generator, persistence, ..Default::default() }, frame, 3);
        assert_eq!(map(Generator::Fbm, 0.3), map(Generator::Fbm, 0.8));
        assert_ne!(map(Generator::Simplex, 0.3), map(Generator::Simplex, 0.8));
    }
}
