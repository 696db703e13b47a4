//! Heights in the pixels of images: greyscale, luminance, or encoded in red, green and blue.

use std::path::Path;

use super::{
    Error,
    raster::{Purpose, Raster, RasterLayout, ReadConstraints, SampleScale},
};
use crate::model::origin::Encoding;

/// Luminance weights of red, green and blue (ITU-R BT.709).
const LUMINANCE: [f64; 3] = [0.2126, 0.7152, 0.0722];

/// Layout of the samples of an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct PixelLayout {
    /// Samples per pixel: grey, or red, green and blue; then opacity if the number is even.
    pub channels: usize,
    /// `true` for 16 bits per sample, else 8.
    pub is_wide: bool,
}

/// Receiver of a row of interleaved samples.
pub(super) type TakeRow<'a> = dyn FnMut(&[u16]) -> Result<(), Error> + 'a;

/// Reads an image as heights: greyscale values, encoded heights, or the luminance of colours. `rows` passes on all rows of `size`, and is
/// called for each pass. `extra_bytes` is the memory that it needs, in bytes.
///
/// # Errors
/// The stated encoding does not fit the image, no pixel has data, a number is out of bounds, the memory budget is exceeded, or `rows` fails.
pub(super) fn read_pixels(
    path: &Path,
    expected: &ReadConstraints,
    size: (usize, usize),
    layout: PixelLayout,
    extra_bytes: u64,
    mut rows: impl FnMut(&mut TakeRow) -> Result<(), Error>,
) -> Result<Raster, Error> {
    let PixelLayout { channels, is_wide } = layout;
    let may_encode = channels > 2 && !is_wide;
    let asked = asked_encoding(path, expected, may_encode)?;
    let encoding = match asked {
        Some(encoding) => encoding,
        // Layers are not heights.
        None if !may_encode || matches!(expected.purpose, Purpose::Layer(_)) => Encoding::Grey,
        None => {
            expected.budget.request(path, extra_bytes)?;
            let mut detector = EncodingDetector::default();
            rows(&mut |row| {
                detector.push(row, channels);
                Ok(())
            })?;
            detector.finish()
        }
    };
    let full = if is_wide { u16::MAX.into() } else { f64::from(u8::MAX) };
    let samples = if encoding == Encoding::Grey { SampleScale::Steps([0.0, full]) } else { SampleScale::Floats };
    let mut warnings = Vec::new();
    if encoding == Encoding::Grey && !is_wide {
        let smooth = "use 16-bit greyscale for smooth slopes, or --smooth-steps";
        warnings.push(format!("8-bit heights produce terraces; {smooth}"));
    }
    if encoding == Encoding::Grey && channels > 2 {
        let exact = "use 16-bit greyscale for exact heights, or --encoding for Terrain-RGB";
        warnings.push(format!("colour image; its luminance is used as height; {exact}"));
    }
    warnings.extend(recognition(encoding).filter(|_| asked.is_none()));
    let layout = RasterLayout { extra_bytes, ..RasterLayout::new(size, samples, warnings) };
    expected.raster(path, layout, |pushed| {
        let mut values = vec![0.0; size.0];
        rows(&mut |row| {
            let pixels = row.chunks_exact(channels);
            values.iter_mut().zip(pixels).for_each(|(value, pixel)| *value = decode(encoding, pixel));
            pushed.push(&values)
        })
    })
}

/// Returns the encoding that the options state for an image.
///
/// # Errors
/// It needs colours of 8 bits, and `may_encode` is `false`.
pub(super) fn asked_encoding(
    path: &Path,
    expected: &ReadConstraints,
    may_encode: bool,
) -> Result<Option<Encoding>, Error> {
    match expected.options.encoding {
        Some(Encoding::Terrarium | Encoding::Mapbox) if !may_encode => {
            let wrong = "encoded heights require 8-bit red, green and blue channels";
            Err(Error::input(path, wrong, "omit --encoding"))
        }
        asked => Ok(asked),
    }
}

/// Returns the warning about heights that were recognised as encoded.
pub(super) fn recognition(encoding: Encoding) -> Option<String> {
    let name = match encoding {
        Encoding::Grey => return None,
        Encoding::Terrarium => "Terrarium",
        Encoding::Mapbox => "Mapbox Terrain-RGB",
    };
    Some(format!("the colours look like {name} heights and are decoded as such; otherwise set --encoding"))
}

/// Returns the value of a pixel of one to four samples, or NaN for a transparent one. Black encodes no height.
pub(super) fn decode(encoding: Encoding, pixel: &[u16]) -> f64 {
    if is_transparent(pixel) {
        return f64::NAN;
    }
    let &[red, green, blue, ..] = pixel else { return pixel[0].into() };
    let [red, green, blue] = [red, green, blue].map(f64::from);
    match encoding {
        Encoding::Grey => LUMINANCE.iter().zip([red, green, blue]).map(|(weight, sample)| weight * sample).sum(),
        _ if red + green + blue == 0.0 => f64::NAN,
        Encoding::Terrarium => 256.0 * red + green + blue / 256.0 - 32768.0,
        Encoding::Mapbox => (65536.0 * red + 256.0 * green + blue) / 10.0 - 10000.0,
    }
}

fn is_transparent(pixel: &[u16]) -> bool {
    pixel.len().is_multiple_of(2) && pixel.last() == Some(&0)
}

/// Recognises encoded heights in the rows of an image of 8 bits per channel: red is nearly constant, the number that the three channels
/// form is continuous, and blue wraps around. Black and transparent pixels do not count.
#[derive(Debug)]
pub(super) struct EncodingDetector {
    /// Smallest and largest red and green.
    red: [u16; 2],
    green: [u16; 2],
    /// Pairs of neighbours.
    pairs: u64,
    /// Pairs of nearly the same number: within half a step of red, and within two.
    continuous: [u64; 2],
    /// Continuous pairs whose blue wraps around.
    wraps: [u64; 2],
    /// Wraps between numbers that differ by less than a step of green. Terrarium has few: there, such a step is only a metre.
    near_wraps: u64,
    last_row: Vec<Option<i64>>,
}

/// Distances of numbers that are continuous: 128 m and 512 m of Terrarium.
const CONTINUOUS: [i64; 2] = [1 << 15, 1 << 17];

impl Default for EncodingDetector {
    fn default() -> Self {
        let none = [u16::MAX, 0];
        let (continuous, wraps) = ([0; 2], [0; 2]);
        Self { red: none, green: none, pairs: 0, continuous, wraps, near_wraps: 0, last_row: Vec::new() }
    }
}

impl EncodingDetector {
    /// Adds a row of interleaved samples.
    pub(super) fn push(&mut self, row: &[u16], channels: usize) {
        let mut number = |pixel: &[u16]| {
            if pixel[..3] == [0; 3] || is_transparent(pixel) {
                return None;
            }
            for (range, sample) in [&mut self.red, &mut self.green].into_iter().zip(pixel) {
                *range = [range[0].min(*sample), range[1].max(*sample)];
            }
            Some(pixel[..3].iter().fold(0, |number, byte| number << 8 | i64::from(*byte)))
        };
        let numbers: Vec<Option<i64>> = row.chunks_exact(channels).map(&mut number).collect();
        let beside = numbers.iter().zip(numbers.iter().skip(1));
        for (first, second) in beside.chain(numbers.iter().zip(&self.last_row)) {
            let (Some(first), Some(second)) = (first, second) else { continue };
            let distance = (first - second).abs();
            let wraps = (first % 256 - second % 256).abs() > 100 && first / 256 != second / 256;
            self.pairs += 1;
            for (index, limit) in CONTINUOUS.into_iter().enumerate() {
                self.continuous[index] += u64::from(distance < limit);
                self.wraps[index] += u64::from(distance < limit && wraps);
            }
            self.near_wraps += u64::from(wraps && distance < 256);
        }
        self.last_row = numbers;
    }

    /// Returns the encoding of the rows.
    pub(super) fn finish(self) -> Encoding {
        let Self { red, green, pairs, continuous, wraps, near_wraps, last_row: _ } = self;
        let is_smooth = |index: usize| pairs > 0 && continuous[index] * 100 >= pairs * 98;
        let wraps_often = |count: u64, every: u64| count * every >= pairs;
        // Between steep slopes of Terrarium, blue is random.
        let is_terrarium = is_smooth(0) && wraps_often(wraps[0], 500) || is_smooth(1) && wraps_often(wraps[1], 10);
        let is_mapbox = is_smooth(0) && wraps_often(near_wraps, 500);
        // A plain near sea level: 100 m of heights without a wrap.
        let is_plain = pairs > 0 && red == [1, 1] && green[1] - green[0] <= 4;
        // Up to Mount Everest.
        if is_mapbox && red[1] <= 2 || is_plain {
            return Encoding::Mapbox;
        }
        // From the Mariana Trench to Mount Everest.
        if is_terrarium && red[0] >= 85 && red[1] <= 163 { Encoding::Terrarium } else { Encoding::Grey }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rgb_encoded_heights_are_detected() {
        let hill = |x: usize, y: usize| 1000.0 + 300.0 * (x as f64 * 0.05).sin() + 200.0 * (y as f64 * 0.04).cos();
        let recognised = |pixel: &dyn Fn(usize, usize) -> [u8; 3]| {
            let mut detector = EncodingDetector::default();
            for y in 0..64 {
                let row: Vec<u16> = (0..64).flat_map(|x| pixel(x, y)).map(u16::from).collect();
                detector.push(&row, 3);
            }
            detector.finish()
        };
        let terrarium = |x, y| {
            let number = ((hill(x, y) + 32768.0) * 256.0) as u32;
            [(number >> 16) as u8, (number >> 8) as u8, number as u8]
        };
        let mapbox = |x, y| {
            let number = ((hill(x, y) + 10000.0) * 10.0) as u32;
            [(number >> 16) as u8, (number >> 8) as u8, number as u8]
        };
        assert_eq!(recognised(&terrarium), Encoding::Terrarium);
        assert_eq!(recognised(&mapbox), Encoding::Mapbox);
        // Steep mountains, a plain, and a tile with pixels without data.
        let steep = |x: usize, y: usize| {
            let height = 2000.0 + 2500.0 * (x as f64 * 0.08).sin() + 900.0 * (y as f64 * 0.4).cos();
            let number = ((height + 32768.0) * 256.0) as u32;
            [(number >> 16) as u8, (number >> 8) as u8, number as u8]
        };
        assert_eq!(recognised(&steep), Encoding::Terrarium);
        assert_eq!(recognised(&|x, _| [1, 138, 120 + (x / 8) as u8]), Encoding::Mapbox);
        assert_eq!(recognised(&|x, y| if x < 9 { [0; 3] } else { terrarium(x, y) }), Encoding::Terrarium);
        for encoding in [Encoding::Terrarium, Encoding::Mapbox] {
            assert!(decode(encoding, &[0, 0, 0]).is_nan() && decode(encoding, &[130, 1, 1, 0]).is_nan());
        }
        for (x, y) in [(3, 5), (40, 60)] {
            let values = [Encoding::Terrarium, Encoding::Mapbox].map(|encoding| {
                let pixel = if encoding == Encoding::Mapbox { mapbox(x, y) } else { terrarium(x, y) };
                decode(encoding, &pixel.map(u16::from)) - hill(x, y)
            });
            assert!(values[0].abs() < 0.01 && values[1].abs() < 0.11, "{values:?}");
        }
        let grey = |x: usize, y: usize| [((hill(x, y) - 500.0) / 4.0) as u8; 3];
        let gradient = |x: usize, y: usize| [1, (4 * y) as u8, (4 * x) as u8];
        let noise = |x: usize, y: usize| [(x * 37 + y * 101) as u8, (x * 91 + y * 57) as u8, (x * 17 + y * 31) as u8];
        let regions = |x: usize, _: usize| if x < 32 { [0, 50, 0] } else { [0, 0, 200] };
        for image in [&grey as &dyn Fn(usize, usize) -> [u8; 3], &gradient, &noise, &regions] {
            assert_eq!(recognised(image), Encoding::Grey);
        }
    }
}
