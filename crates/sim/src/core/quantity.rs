//! Quantities that can be shown over the ground: their names, and in which unit.

use super::terrain::Layer;

/// What can be shown over the ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A layer of the terrain.
    Layer(Layer),
    /// Speed of the water.
    Speed,
    /// Water that passes a metre of width.
    Discharge,
    /// Land whose rain the droplets bring past a cell.
    StreamDischarge,
    /// Land whose rain runs past a cell: as uplift and rivers found it, if they are on.
    DrainageArea,
    /// The land that drains to one outlet, as a number from 0 to 8.
    Basin,
    /// How much higher the ground lies than at the start.
    Change,
    /// How much the last stage of a tick has changed, where it was run alone: the ground, or else the water or what it carries.
    StageChange,
    /// How much higher the ground lies than in the first of the runs side by side; of one run alone it is nothing.
    Difference,
    /// Slope, as a multiple of the slope at which the ground would slide or crumble.
    Steepness,
    /// How often the wind's grains touch the ground.
    WindPath,
    /// Sand that the wind carries over a cell.
    WindFlux,
    /// Rock that the wind has worn off.
    Abrasion,
    /// How wet the sand is.
    Wetness,
}

/// Which colours a quantity needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// From nothing upwards.
    FromZero,
    /// As much below zero as above.
    AroundZero,
    /// Always from 0 to this.
    UpTo(f32),
    /// From that of a single cell upwards, each tenfold as wide as the next.
    Logarithmic,
    /// Numbers from 0 to 8, each with a colour of its own.
    Classes,
}

impl Quantity {
    /// All of them, in the order in which they are offered: layers, then what is found from them.
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

    /// Its name in lessons.
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

    /// The one of that name, if it can be shown.
    pub fn of_key(key: &str) -> Option<Self> {
        Self::all().find(|quantity| quantity.key() == key)
    }

    /// Name shown to the user.
    pub fn title(self) -> &'static str {
        self.words().0
    }

    /// Its unit; empty for a ratio.
    pub fn unit(self) -> &'static str {
        self.words().1
    }

    /// What it tells, in a sentence.
    pub fn about(self) -> &'static str {
        self.words().2
    }

    /// Which colours it needs.
    pub fn scale(self) -> Scale {
        match self {
            Quantity::Layer(layer) => layer.row().overlay.unwrap_or(Scale::FromZero),
            Quantity::Change | Quantity::StageChange | Quantity::Difference => Scale::AroundZero,
            Quantity::Steepness => Scale::UpTo(2.0),
            Quantity::Basin => Scale::Classes,
            Quantity::Wetness => Scale::UpTo(1.0),
            Quantity::StreamDischarge | Quantity::DrainageArea => Scale::Logarithmic,
            _ => Scale::FromZero,
        }
    }

    /// Title, unit and what it tells.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Quantity::Layer(layer) => (layer.row().title, layer.row().unit, layer.row().about),
            Quantity::Speed => ("Speed of water", "m/s", "How fast the water flows."),
            Quantity::Discharge => (
                "Discharge, averaged",
                "m²/s",
                "Water that passes a metre of width, averaged over the last fifty ticks or so.",
            ),
            Quantity::StreamDischarge => (
                "Discharge of the droplets",
                "m²",
                "Land whose rain passes here. Times the rain of a second, it is the river's discharge.",
            ),
            Quantity::DrainageArea => (
                "Drainage area",
                "m²",
                "Land whose rain runs past here, if all of it runs down the surface. Shown where rivers begin, as the panel Rivers says.",
            ),
            Quantity::Basin => ("Drainage basins", "", "Land of one colour drains to one outlet."),
            Quantity::Change => {
                ("Change since the start", "m", "How much higher or lower the ground lies than at the start.")
            }
            Quantity::StageChange => (
                "Changed by the last stage",
                "m",
                "What the last stage of a tick has changed: the ground, or else the water or what it carries. Shown where you go stage by stage.",
            ),
            Quantity::Difference => (
                "Difference to the first run",
                "m",
                "How much higher or lower the ground lies than in the first of the runs side by side.",
            ),
            Quantity::Steepness => (
                "Slope against talus",
                "",
                "Slope of the ground over the steepest slope at which it stands. \
                Above 1 it slides or crumbles.",
            ),
            Quantity::WindPath => (
                "Wind path, averaged",
                "",
                "Share of the last hundred ticks or so in which sand flew over the cell, or a grain of wind touched the ground.",
            ),
            Quantity::WindFlux => (
                "Sand in the wind, averaged",
                "m/tick",
                "Sand that the wind carries over a cell in a tick, as the thickness it would have there; averaged.",
            ),
            Quantity::Abrasion => ("Abrasion so far", "m", "Rock that carried sand has worn off since the start."),
            Quantity::Wetness => (
                "Wetness of the sand",
                "",
                "Water that the sand holds, as a share of all that it can. Wet sand withstands the wind.",
            ),
        }
    }
}
