//! Amounts as a person reads them: with the unit that fits, and few digits.

/// A volume, from cubic metres.
pub fn volume(value: f64) -> String {
    let (scale, unit) = match value.abs() {
        large if large >= 1e9 => (1e-9, "km³"),
        large if large >= 1e5 => (1e-6, "million m³"),
        small if small > 0.0 && small < 0.01 => return format!("{value:.1e} m³"),
        _ => (1.0, "m³"),
    };
    // Nothing has no sign.
    format!("{:.2} {unit}", value * scale + 0.0)
}

/// An area, from square metres.
pub fn area(value: f64) -> String {
    if value >= 1e5 { format!("{:.2} km²", 1e-6 * value) } else { format!("{value:.0} m²") }
}

#[cfg(test)]
mod tests {
    use super::{area, volume};

    #[test]
    fn amounts_have_a_unit_that_fits() {
        let texts = [-0.0, 3e-7, 12.5, 2.5e6, 3.2e11].map(volume);
        assert_eq!(texts, ["0.00 m³", "3.0e-7 m³", "12.50 m³", "2.50 million m³", "320.00 km³"]);
        assert_eq!([900.0, 1.2e5, 8.14e6].map(area), ["900 m²", "0.12 km²", "8.14 km²"]);
    }
}
