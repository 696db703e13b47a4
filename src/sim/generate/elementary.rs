//! Powers and exponentials from additions, multiplications and square roots alone, so that every machine gets the same
//! bits: the system's mathematics library does not promise that.

/// `base` to the power of `exponent`, for a positive base and an exponent of at least 0; relative error below 1e-13.
///
/// The exponent's binary digits choose among repeated square roots of the base.
pub(super) fn power(base: f64, exponent: f64) -> f64 {
    let whole = exponent as u32;
    let mut result = (0..whole).fold(1.0, |product, _| product * base);
    let (mut fraction, mut root) = (exponent - f64::from(whole), base);
    while fraction > 0.0 {
        root = root.sqrt();
        fraction *= 2.0;
        if fraction >= 1.0 {
            result *= root;
            fraction -= 1.0;
        }
    }
    result
}

/// e to the power of `-x`, for x of at least 0; relative error below 1e-12 up to where it is cut off to 0, at x = 64.
///
/// The eighth-order Taylor sum at x / 1024, squared ten times.
pub(super) fn decay(x: f64) -> f64 {
    if x >= 64.0 {
        return 0.0;
    }
    let small = -x / 1024.0;
    let taylor = (1..=8).rev().fold(1.0, |sum, order| 1.0 + sum * small / f64::from(order));
    (0..10).fold(taylor, |value, _| value * value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_and_decay_agree_with_the_system_library() {
        for base in [0.5, 1.0, 2.0, 2.17, 4.0] {
            for exponent in [0.0, 0.25, 0.9_f32.into(), 1.0, 1.5, 3.7] {
                let expected = f64::powf(base, exponent);
                assert!((power(base, exponent) / expected - 1.0).abs() < 1e-13, "{base} ^ {exponent}");
            }
        }
        for x in [0.0, 1e-9, 0.3, 1.0, 7.7, 63.9] {
            assert!((decay(x) / (-x).exp() - 1.0).abs() < 1e-12, "{x}: {}", decay(x));
        }
        assert_eq!(decay(1e9), 0.0);
    }
}
