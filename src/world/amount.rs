//! Formatting of quantities in the selected units, with a suitable unit prefix and few digits.

use thalweg_scene::settings::UnitSystem;

/// Foot, in metres.
pub const FOOT: f64 = 0.3048;
/// Mile, in metres.
pub const MILE: f64 = 5280.0 * FOOT;
/// Inch, in millimetres.
const INCH: f64 = 25.4;
/// Acre, in square metres.
const ACRE: f64 = MILE * MILE / 640.0;

/// Metric units, their imperial counterparts, and the size of the latter in the metric unit.
const FEET: [(&str, &str, f64); 12] = [
    ("m", "ft", FOOT),
    ("km", "mi", 1e-3 * MILE),
    ("m²", "ft²", FOOT * FOOT),
    ("km²", "mi²", 1e-6 * MILE * MILE),
    ("m³", "ft³", FOOT * FOOT * FOOT),
    ("million m³", "million ft³", FOOT * FOOT * FOOT),
    ("m/s", "ft/s", FOOT),
    ("m²/s", "ft²/s", FOOT * FOOT),
    ("m³/s", "ft³/s", FOOT * FOOT * FOOT),
    ("m/yr", "ft/yr", FOOT),
    ("mm/yr", "in/yr", INCH),
    ("mm/h", "in/h", INCH),
];

/// Returns the longest length up to `longest` metres that is 1, 2 or 5 times a power of ten of a unit: in metres, and as text.
pub fn round_length(units: UnitSystem, longest: f64) -> (f64, String) {
    let (small, large) = match units {
        UnitSystem::Metric => (("m", 1.0), ("km", 1000.0)),
        UnitSystem::Feet => (("ft", FOOT), ("mi", MILE)),
    };
    let (name, unit) = if longest >= large.1 { large } else { small };
    let power = 10.0_f64.powf((longest / unit).log10().floor());
    let length = [5.0, 2.0].into_iter().find(|times| times * power * unit <= longest).unwrap_or(1.0) * power;
    let decimals = (-power.log10().round()).max(0.0) as usize;
    (length * unit, format!("{length:.decimals$} {name}"))
}

/// Returns the display unit of a metric unit, and the factor from metric values to displayed ones. A unit without a counterpart is
/// returned as it is.
pub fn display_unit(units: UnitSystem, unit: &str) -> (&str, f64) {
    let imperial = FEET.iter().find(|(metric, ..)| units == UnitSystem::Feet && *metric == unit);
    imperial.map_or((unit, 1.0), |&(_, name, size)| (name, 1.0 / size))
}

/// Formats a length in metres with this number of decimals.
pub fn length(units: UnitSystem, metres: f64, decimals: usize) -> String {
    let (unit, times) = display_unit(units, "m");
    let (value, last) = (times * metres, 10_f64.powi(-(decimals as i32)));
    // Avoids "-0".
    let value = if value.abs() < 0.5 * last { 0.0 } else { value };
    format!("{value:.decimals$} {unit}")
}

/// Formats a volume in cubic metres.
pub fn volume(units: UnitSystem, value: f64) -> String {
    let (times, unit) = volume_unit(units, value);
    match times * value {
        small if small != 0.0 && small.abs() < 0.01 => format!("{small:.1e} {unit}"),
        // Avoids "-0.00".
        value => format!("{:.2} {unit}", value + 0.0),
    }
}

/// Returns the unit that suits a volume of this size, preceded by the factor to it from cubic metres.
pub fn volume_unit(units: UnitSystem, largest: f64) -> (f64, String) {
    let (unit, times) = display_unit(units, "m³");
    match times * largest.abs() {
        large if large >= 1e9 && units == UnitSystem::Metric => (1e-9 * times, "km³".to_owned()),
        large if large >= 1e5 => (1e-6 * times, format!("million {unit}")),
        _ => (times, unit.to_owned()),
    }
}

/// Formats an area in square metres.
pub fn area(units: UnitSystem, value: f64) -> String {
    match units {
        UnitSystem::Metric if value >= 1e5 => format!("{:.2} km²", 1e-6 * value),
        UnitSystem::Metric => format!("{value:.0} m²"),
        UnitSystem::Feet if value >= MILE * MILE => format!("{:.2} mi²", value / (MILE * MILE)),
        UnitSystem::Feet if value >= ACRE => format!("{:.2} acres", value / ACRE),
        UnitSystem::Feet => format!("{:.0} ft²", value / (FOOT * FOOT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_use_a_fitting_unit() {
        let texts = [-0.0, 3e-7, 12.5, 2.5e6, 3.2e11].map(|value| volume(UnitSystem::Metric, value));
        assert_eq!(texts, ["0.00 m³", "3.0e-7 m³", "12.50 m³", "2.50 million m³", "320.00 km³"]);
        assert_eq!([-0.04, -0.06].map(|metres| length(UnitSystem::Metric, metres, 1)), ["0.0 m", "-0.1 m"]);
        let texts = [900.0, 1.2e5, 8.14e6].map(|value| area(UnitSystem::Metric, value));
        assert_eq!(texts, ["900 m²", "0.12 km²", "8.14 km²"]);
    }

    #[test]
    fn amounts_are_converted_to_feet() {
        assert_eq!(
            [0.0, 1.0, 2.5e6].map(|value| volume(UnitSystem::Feet, value)),
            ["0.00 ft³", "35.31 ft³", "88.29 million ft³"]
        );
        assert_eq!(
            [9.0, 40_468.6, 2.6e6].map(|value| area(UnitSystem::Feet, value)),
            ["97 ft²", "10.00 acres", "1.00 mi²"]
        );
        assert_eq!(length(UnitSystem::Feet, 100.0, 1), "328.1 ft");
        assert_eq!(
            (display_unit(UnitSystem::Feet, "px"), display_unit(UnitSystem::Metric, "m")),
            (("px", 1.0), ("m", 1.0))
        );
        // 25.4 mm/h are 1 in/h.
        let (unit, times) = display_unit(UnitSystem::Feet, "mm/h");
        assert!(unit == "in/h" && (25.4 * times - 1.0).abs() < 1e-12);
    }
}
