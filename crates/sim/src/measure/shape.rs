//! Shape of the ground: roughness, spectrum and aspects.

use rustfft::{FftPlannerScalar, num_complex::Complex};

use crate::core::grid::Grid;

/// Range of wavelengths for the spectral exponent, in cells.
const WAVES: (f64, f64) = (3.0, 12.0);
/// Classes of wave number in that range.
const CLASSES: usize = 12;
/// Minimum side of a map for a spectrum, in cells.
const FEWEST: usize = 32;

/// Returns the root mean square of second differences between neighbours along rows and columns, divided by that of first
/// differences.
pub fn roughness(ground: &Grid) -> f64 {
    let (width, height) = (ground.width(), ground.height());
    let (mut bends, mut count_of_bends, mut falls, mut count_of_falls) = (0.0, 0_usize, 0.0, 0_usize);
    let mut line = |at: &dyn Fn(usize) -> f64, count: usize| {
        for place in 1..count {
            let fall = at(place) - at(place - 1);
            (falls, count_of_falls) = (falls + fall * fall, count_of_falls + 1);
            if place + 1 < count {
                let bend = at(place + 1) - at(place) - fall;
                (bends, count_of_bends) = (bends + bend * bend, count_of_bends + 1);
            }
        }
    };
    (0..height).for_each(|y| line(&|x| ground.at(x, y).into(), width));
    (0..width).for_each(|x| line(&|y| ground.at(x, y).into(), height));
    let mean = |sum: f64, count: usize| sum / count.max(1) as f64;
    if falls > 0.0 { (mean(bends, count_of_bends) / mean(falls, count_of_falls)).sqrt() } else { 0.0 }
}

/// Returns the magnitudes of the means of exp(4iφ) and exp(8iφ) over the aspects φ of inner cells, from central differences.
pub fn aspect_harmonics(ground: &Grid) -> [f64; 2] {
    let (width, height) = (ground.width(), ground.height());
    let (mut sums, mut count) = ([Complex::new(0.0, 0.0); 2], 0_usize);
    for y in 1..height.saturating_sub(1) {
        for x in 1..width.saturating_sub(1) {
            let at = |x: usize, y: usize| f64::from(ground.at(x, y));
            let fall = Complex::new(at(x - 1, y) - at(x + 1, y), at(x, y - 1) - at(x, y + 1));
            let size = fall.norm_sqr().sqrt();
            if size > 0.0 {
                let square = (fall / size) * (fall / size);
                let fourth = square * square;
                (sums[0], sums[1], count) = (sums[0] + fourth, sums[1] + fourth * fourth, count + 1);
            }
        }
    }
    sums.map(|sum| sum.norm_sqr().sqrt() / count.max(1) as f64)
}

/// Returns −slope of the power spectrum of the ground over the wave number on logarithmic axes. The ground is detrended by a plane
/// and tapered by a Hann window, which avoids edge effects.
pub fn spectral_exponent(ground: &Grid) -> Option<f64> {
    let (width, height) = (ground.width(), ground.height());
    if width.min(height) < FEWEST {
        return None;
    }
    let mut waves = windowed(ground);
    // The same bits on every machine.
    let mut planner = FftPlannerScalar::new();
    let along = planner.plan_fft_forward(width);
    waves.chunks_mut(width).for_each(|row| along.process(row));
    let down = planner.plan_fft_forward(height);
    let mut column = vec![Complex::default(); height];
    let mut power = vec![0.0; width * height];
    for x in 0..width {
        column.iter_mut().enumerate().for_each(|(y, value)| *value = waves[y * width + x]);
        down.process(&mut column);
        column.iter().enumerate().for_each(|(y, value)| power[y * width + x] = value.norm_sqr());
    }
    let number = |place: usize, count: usize| {
        let turned = if 2 * place > count { place as f64 - count as f64 } else { place as f64 };
        turned / count as f64
    };
    let (low, high) = (libm::log(1.0 / WAVES.1), libm::log(1.0 / WAVES.0));
    let mut classes = [(0.0, 0.0, 0_usize); CLASSES];
    for y in 0..height {
        for x in 0..width {
            let (u, v) = (number(x, width), number(y, height));
            let size = 0.5 * libm::log(u * u + v * v);
            let class = (size - low) / (high - low) * CLASSES as f64;
            if (0.0..CLASSES as f64).contains(&class) {
                let class = &mut classes[class as usize];
                *class = (class.0 + size, class.1 + power[y * width + x], class.2 + 1);
            }
        }
    }
    let points: Vec<(f64, f64)> = classes
        .iter()
        .filter(|(_, power, count)| *count > 0 && *power > 0.0)
        .map(|&(size, power, count)| (size / count as f64, libm::log(power / count as f64)))
        .collect();
    super::Fit::through(&points).map(|fit| -fit.value)
}

/// Returns the ground minus its least-squares plane, under a Hann window.
fn windowed(ground: &Grid) -> Vec<Complex<f64>> {
    let (width, height) = (ground.width(), ground.height());
    let (middle_x, middle_y) = (0.5 * (width - 1) as f64, 0.5 * (height - 1) as f64);
    let mean = ground.total() / ground.len() as f64;
    let (mut along_x, mut along_y, mut xx, mut yy) = (0.0, 0.0, 0.0, 0.0);
    for y in 0..height {
        for x in 0..width {
            let (u, v, z) = (x as f64 - middle_x, y as f64 - middle_y, f64::from(ground.at(x, y)) - mean);
            (along_x, along_y, xx, yy) = (along_x + u * z, along_y + v * z, xx + u * u, yy + v * v);
        }
    }
    let (along_x, along_y) = (along_x / xx.max(1.0), along_y / yy.max(1.0));
    let hann =
        |place: usize, count: usize| 0.5 - 0.5 * libm::cos(std::f64::consts::TAU * (place as f64 + 0.5) / count as f64);
    let mut values = Vec::with_capacity(ground.len());
    for y in 0..height {
        for x in 0..width {
            let plane = mean + along_x * (x as f64 - middle_x) + along_y * (y as f64 - middle_y);
            let left = f64::from(ground.at(x, y)) - plane;
            values.push(Complex::new(left * hann(x, width) * hann(y, height), 0.0));
        }
    }
    values
}
