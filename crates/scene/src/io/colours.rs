//! Heights in the pixels of images: greyscale, luminance, or encoded in red, green and blue.

use super::raster::SampleScale;
use crate::model::origin::Encoding;

/// Luminance weights of red, green and blue (ITU-R BT.709).
const LUMINANCE: [f64; 3] = [0.2126, 0.7152, 0.0722];

/// Returns the value of a pixel of one to four samples; opacity is ignored.
pub(super) fn decode(encoding: Encoding, pixel: &[f64]) -> f64 {
    let &[red, green, blue, ..] = pixel else { return pixel[0] };
    match encoding {
        Encoding::Grey => LUMINANCE.iter().zip(pixel).map(|(share, sample)| share * sample).sum(),
        Encoding::Terrarium => 256.0 * red + green + blue / 256.0 - 32768.0,
        // The lowest value marks pixels without data.
        Encoding::Mapbox if (red, green, blue) == (0.0, 0.0, 0.0) => f64::NAN,
        Encoding::Mapbox => (65536.0 * red + 256.0 * green + blue) / 10.0 - 10000.0,
    }
}

/// Returns the type of the values of images with samples up to `full`.
pub(super) fn samples_of(encoding: Encoding, full: f64) -> SampleScale {
    if encoding == Encoding::Grey { SampleScale::Steps([0.0, full]) } else { SampleScale::Floats }
}

/// Returns what the user should know about this encoding of an image with this many channels of 8 or 16 bits.
pub(super) fn warnings_of(encoding: Encoding, channels: usize, is_wide: bool, asked: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    match encoding {
        Encoding::Grey => {
            if !is_wide {
                let smooth = "use 16-bit greyscale for smooth slopes, or --smooth-steps";
                warnings.push(format!("8-bit heights produce terraces; {smooth}"));
            }
            if channels > 2 {
                let exact = "use 16-bit greyscale for exact heights, or --encoding for Terrain-RGB";
                warnings.push(format!("colour image, its luminance is used as height; {exact}"));
            }
        }
        _ if asked => {}
        Encoding::Terrarium => {
            warnings.push("colours look like heights encoded as Terrarium, and are read so".to_owned());
        }
        Encoding::Mapbox => {
            warnings.push("colours look like heights encoded as Mapbox Terrain-RGB, and are read so".to_owned());
        }
    }
    warnings
}

/// Recognises encoded heights in the rows of an image of 8 bits per channel: red is nearly constant, the number that the three channels
/// form is continuous, and blue wraps around.
#[derive(Debug)]
pub(super) struct Recogniser {
    /// Smallest and largest red.
    red: [u8; 2],
    /// Pairs of neighbours, those of nearly the same number, and those of them whose blue wraps around.
    pairs: u64,
    continuous: u64,
    wraps: u64,
    /// Wraps between numbers that differ by less than a step of green. Terrarium has few: there, such a step is only a metre.
    near_wraps: u64,
    last_row: Vec<i64>,
}

impl Default for Recogniser {
    fn default() -> Self {
        Self { red: [u8::MAX, 0], pairs: 0, continuous: 0, wraps: 0, near_wraps: 0, last_row: Vec::new() }
    }
}

impl Recogniser {
    /// Adds a row of interleaved samples.
    pub(super) fn push(&mut self, row: &[u8], channels: usize) {
        let red = row.iter().step_by(channels);
        self.red = red.fold(self.red, |[least, most], red| [least.min(*red), most.max(*red)]);
        let number = |pixel: &[u8]| pixel[..3].iter().fold(0, |number, byte| number << 8 | i64::from(*byte));
        let numbers: Vec<i64> = row.chunks_exact(channels).map(number).collect();
        let beside = numbers.iter().zip(numbers.iter().skip(1));
        for (first, second) in beside.chain(numbers.iter().zip(&self.last_row)) {
            let is_continuous = (first - second).abs() < 1 << 15;
            let wraps = (first % 256 - second % 256).abs() > 100 && first / 256 != second / 256;
            self.pairs += 1;
            self.continuous += u64::from(is_continuous);
            self.wraps += u64::from(is_continuous && wraps);
            self.near_wraps += u64::from(wraps && (first - second).abs() < 256);
        }
        self.last_row = numbers;
    }

    /// Returns the encoding of the rows.
    pub(super) fn finish(self) -> Encoding {
        let Self { red: [least, most], pairs, continuous, wraps, near_wraps, last_row: _ } = self;
        if pairs == 0 || continuous * 100 < pairs * 98 || wraps * 500 < pairs {
            return Encoding::Grey;
        }
        match (least, most) {
            (_, ..=3) if near_wraps * 500 >= pairs => Encoding::Mapbox,
            // From -9000 m to 9500 m.
            (92.., ..=166) => Encoding::Terrarium,
            _ => Encoding::Grey,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rgb_encoded_heights_are_detected() {
        let hill = |x: usize, y: usize| 1000.0 + 300.0 * (x as f64 * 0.05).sin() + 200.0 * (y as f64 * 0.04).cos();
        let recognised = |pixel: &dyn Fn(usize, usize) -> [u8; 3]| {
            let mut recogniser = Recogniser::default();
            for y in 0..64 {
                let row: Vec<u8> = (0..64).flat_map(|x| pixel(x, y)).collect();
                recogniser.push(&row, 3);
            }
            recogniser.finish()
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
        for (x, y) in [(3, 5), (40, 60)] {
            let values = [Encoding::Terrarium, Encoding::Mapbox].map(|encoding| {
                let pixel = if encoding == Encoding::Mapbox { mapbox(x, y) } else { terrarium(x, y) };
                decode(encoding, &pixel.map(f64::from)) - hill(x, y)
            });
            assert!(values[0].abs() < 0.01 && values[1].abs() < 0.11, "{values:?}");
        }
        let grey = |x: usize, y: usize| [((hill(x, y) - 500.0) / 4.0) as u8; 3];
        let gradient = |x: usize, y: usize| [1, (4 * y) as u8, (4 * x) as u8];
        let noise = |x: usize, y: usize| [(x * 37 + y * 101) as u8, (x * 91 + y * 57) as u8, (x * 17 + y * 31) as u8];
        let regions = |x: usize, _: usize| if x < 32 { [0, 50, 0] } else { [0, 0, 200] };
        for picture in [&grey as &dyn Fn(usize, usize) -> [u8; 3], &gradient, &noise, &regions] {
            assert_eq!(recognised(picture), Encoding::Grey);
        }
    }
}
