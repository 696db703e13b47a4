//! Quantities that can be shown as overlays: names, units and colour scales.

use super::terrain::Layer;

/// Quantity that can be shown as an overlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A layer of the terrain.
    Layer(Layer),
    /// Flow speed of the water.
    Speed,
    /// Discharge of water per metre of width.
    Discharge,
    /// Contributing area of the droplets that pass a cell.
    StreamDischarge,
    /// Contributing area of a cell, from uplift and rivers if they are enabled.
    DrainageArea,
    /// Drainage basin, as a class from 0 to 8.
    Basin,
    /// Change of the ground elevation since the start.
    Change,
    /// Change by the last stage of a tick that was stepped: of the ground, or else of the water or its sediment.
    StageChange,
    /// Elevation difference from the first of the simulations side by side; unavailable for a single one.
    Difference,
    /// Slope relative to the slope at which the ground fails.
    Steepness,
    /// Frequency of ground contact of wind-blown grains.
    WindPath,
    /// Flux of wind-blown sand over a cell.
    WindFlux,
    /// Rock abraded by wind-blown sand.
    Abrasion,
    /// Moisture of the sand.
    Wetness,
}

/// Colour scale of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColorScale {
    /// From zero upwards.
    FromZero,
    /// Symmetric about zero.
    AroundZero,
    /// From 0 to a fixed value.
    UpTo(f32),
    /// From the value of a single cell upwards, with each decade as wide as the next.
    Logarithmic,
    /// Classes 0 to 8, each with its own colour.
    Classes,
}

impl Quantity {
    /// Returns all quantities in menu order: layers, then derived quantities.
    pub fn all() -> impl Iterator<Item = Self> {
        let shown = Layer::ALL.iter().filter(|layer| layer.row().overlay.is_some());
        shown.map(|&layer| Self::Layer(layer)).chain([
            Self::Speed,
            Self::Discharge,
            Self::StreamDischarge,
            Self::DrainageArea,
            Self::Basin,
            Self::Change,
            Self::StageChange,
            Self::Difference,
            Self::Steepness,
            Self::WindPath,
            Self::WindFlux,
            Self::Abrasion,
            Self::Wetness,
        ])
    }

    /// Returns the key used in lessons.
    pub fn key(self) -> &'static str {
        match self {
            Quantity::Layer(layer) => layer.key(),
            Quantity::Speed => "speed",
            Quantity::Discharge => "discharge",
            Quantity::StreamDischarge => "stream-discharge",
            Quantity::DrainageArea => "drainage-area",
            Quantity::Basin => "basin",
            Quantity::Change => "change",
            Quantity::StageChange => "stage-change",
            Quantity::Difference => "difference",
            Quantity::Steepness => "steepness",
            Quantity::WindPath => "wind-path",
            Quantity::WindFlux => "wind-flux",
            Quantity::Abrasion => "abrasion",
            Quantity::Wetness => "wetness",
        }
    }

    /// Returns the quantity with this key, if it can be shown.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::all().find(|quantity| quantity.key() == key)
    }

    /// Returns the name shown to the user.
    pub fn title(self) -> &'static str {
        self.label_texts().0
    }

    /// Returns the unit; empty for a ratio.
    pub fn unit(self) -> &'static str {
        self.label_texts().1
    }

    /// Returns a description in one sentence.
    pub fn about(self) -> &'static str {
        self.label_texts().2
    }

    /// Returns the colour scale.
    pub fn scale(self) -> ColorScale {
        match self {
            Quantity::Layer(layer) => layer.row().overlay.unwrap_or(ColorScale::FromZero),
            Quantity::Change | Quantity::StageChange | Quantity::Difference => ColorScale::AroundZero,
            Quantity::Steepness => ColorScale::UpTo(2.0),
            Quantity::Basin => ColorScale::Classes,
            Quantity::Wetness => ColorScale::UpTo(1.0),
            Quantity::StreamDischarge | Quantity::DrainageArea => ColorScale::Logarithmic,
            _ => ColorScale::FromZero,
        }
    }

    /// Returns title, unit and description.
    fn label_texts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Quantity::Layer(layer) => (layer.row().title, layer.row().unit, layer.row().about),
            Quantity::Speed => ("Flow speed", "m/s", "Speed of the water."),
            Quantity::Discharge => (
                "Unit discharge, averaged",
                "m²/s",
                "Discharge per metre of width, averaged over about the last fifty ticks.",
            ),
            Quantity::StreamDischarge => (
                "Droplet discharge",
                "m²",
                "Contributing area represented by the droplets that pass here. Multiply it by the rain rate to get the discharge.",
            ),
            Quantity::DrainageArea => (
                "Drainage area",
                "m²",
                "Contributing area if all rain runs off along the surface. Shown only above the threshold set \
                    in the Rivers panel.",
            ),
            Quantity::Basin => ("Drainage basins", "", "Cells of one colour drain to the same outlet."),
            Quantity::Change => {
                ("Change since the start", "m", "Elevation change of the ground since the simulation started.")
            }
            Quantity::StageChange => (
                "Change in the last stage",
                "m",
                "Change in the last stage of a tick: of the ground, or else of the water, its sediment or the change that a later \
                    stage applies. Shown when stepping by stage.",
            ),
            Quantity::Difference => (
                "Difference from the first simulation",
                "m",
                "Elevation difference from the first of the simulations side by side.",
            ),
            Quantity::Steepness => (
                "Slope relative to stable slope",
                "",
                "Slope of the ground divided by its steepest stable slope. \
                Above 1 the ground fails.",
            ),
            Quantity::WindPath => (
                "Wind path, averaged",
                "",
                "Fraction of about the last hundred ticks in which sand flew over the cell or a wind-blown grain touched the ground.",
            ),
            Quantity::WindFlux => (
                "Sand flux, averaged",
                "m/tick",
                "Sand that the wind carries across a cell per tick, as an equivalent thickness.",
            ),
            Quantity::Abrasion => ("Cumulative abrasion", "m", "Rock abraded by wind-blown sand since the start."),
            Quantity::Wetness => (
                "Sand moisture",
                "",
                "Water content of the sand, as a fraction of saturation. Wet sand resists wind erosion.",
            ),
        }
    }
}
