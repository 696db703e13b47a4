//! Gauges: named numbers of a simulation, as lessons measure them.
//!
//! ```text
//! QUANTITY.SUMMARY       slope.mean, water.total
//! QUANTITY at X Y        height at 0.5 0.5
//! ground.WORD            ground.pits
//! ledger.solid.…         ledger.solid.droplets.eroded, ledger.water.residual
//! rivers.WORD            rivers.concavity
//! run.WORD               run.ticks
//! ```

use crate::{
    core::{
        analysis,
        grid::Grid,
        ledger::{Account, LedgerRow},
        quantity::Quantity,
        terrain::Layer,
    },
    hydrology::network::RiverParams,
    measure::{Study, statistics::Statistics},
    process::catalogue,
    simulation::Simulation,
};

/// Threshold for fractions of the map, in the quantity's unit.
const NONE: f32 = 1e-3;

/// A quantity in every cell.
#[derive(Clone, Copy, Debug, PartialEq)]
enum MappedQuantity {
    /// Height of the ground, in metres.
    Height,
    /// Slope of the ground, in degrees.
    Slope,
    Layer(Layer),
    Of(Quantity),
}

/// A volume in a row of the ledger.
type GaugedVolume = fn(&LedgerRow) -> f64;

/// Entries of a row of the ledger.
const ENTRIES: [(&str, GaugedVolume); 8] = [
    ("eroded", |row| row.eroded),
    ("deposited", |row| row.deposited),
    ("moved", |row| row.moved),
    ("outflow", |row| row.outflow),
    ("inflow", |row| row.inflow),
    ("evaporated", |row| row.evaporated),
    ("lost", |row| row.lost),
    ("carried", |row| row.carried),
];

/// A summary of a quantity over the whole map.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Summary {
    Most,
    Least,
    Mean,
    /// Standard deviation.
    Spread,
    /// Percentage of the cells above the threshold.
    Share,
    /// Sum times the cell area.
    Total,
    /// Centroid, weighted by the quantity, along columns or rows, in metres from the first border.
    Centre(usize),
    /// Position of the maximum, along columns or rows, in metres from the first border.
    Top(usize),
}

const SUMMARIES: [(&str, Summary); 10] = [
    ("most", Summary::Most),
    ("least", Summary::Least),
    ("mean", Summary::Mean),
    ("spread", Summary::Spread),
    ("share", Summary::Share),
    ("total", Summary::Total),
    ("centre-x", Summary::Centre(0)),
    ("centre-y", Summary::Centre(1)),
    ("most-x", Summary::Top(0)),
    ("most-y", Summary::Top(1)),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum GaugeGround {
    /// Cells lower than all eight neighbours.
    Pits,
    /// Volume below the starting ground, in cubic metres.
    Cut,
    /// Volume above the starting ground, in cubic metres.
    Fill,
    /// Height difference between the lowest and the highest point, in metres.
    Relief,
}

const GROUND: [(&str, GaugeGround); 4] = [
    ("pits", GaugeGround::Pits),
    ("cut", GaugeGround::Cut),
    ("fill", GaugeGround::Fill),
    ("relief", GaugeGround::Relief),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum GaugeRiver {
    Concavity,
    /// Length from source to mouth, in kilometres.
    Length,
    Sinuosity,
    Knickpoints,
}

const RIVERS: [(&str, GaugeRiver); 4] = [
    ("concavity", GaugeRiver::Concavity),
    ("length", GaugeRiver::Length),
    ("sinuosity", GaugeRiver::Sinuosity),
    ("knickpoints", GaugeRiver::Knickpoints),
];

/// An entry of the ledger.
#[derive(Clone, Debug, PartialEq)]
enum LedgerEntry {
    Start,
    Now,
    Residual,
    /// Entry of a process, by its key.
    Row(&'static str, usize),
}

/// Definition of a gauge.
#[derive(Clone, Debug, PartialEq)]
enum Measurand {
    Whole(MappedQuantity, Summary),
    At(MappedQuantity, [f32; 2]),
    Ground(GaugeGround),
    /// Account of solids if `true`, of water otherwise.
    Ledger(bool, LedgerEntry),
    Rivers(GaugeRiver),
    Ticks,
}

/// A number of a simulation that can be measured by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauge(Measurand);

fn map_of(name: &str) -> Result<MappedQuantity, String> {
    let layer = || Layer::from_key(name).map(MappedQuantity::Layer);
    let quantity = || Quantity::from_key(name).map(MappedQuantity::Of);
    let found = match name {
        "height" => Some(MappedQuantity::Height),
        "slope" => Some(MappedQuantity::Slope),
        _ => layer().or_else(quantity),
    };
    found.ok_or_else(|| {
        let layers = Layer::ALL.iter().map(|layer| layer.key());
        let others = Quantity::all().filter(|quantity| !matches!(quantity, Quantity::Layer(_))).map(Quantity::key);
        let names: Vec<&str> = ["height", "slope"].into_iter().chain(layers).chain(others).collect();
        format!("unknown quantity \"{name}\"; use one of {}", names.join(", "))
    })
}

fn word<T: Clone>(words: &[(&str, T)], word: &str) -> Result<T, String> {
    let found = words.iter().find(|(name, _)| *name == word).map(|(_, meaning)| meaning.clone());
    let names = || words.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| format!("unknown name \"{word}\"; use one of {}", names()))
}

impl Gauge {
    /// Parses the name of a gauge.
    ///
    /// # Errors
    /// If there is no such gauge, with the valid names.
    pub fn parse(name: &str) -> Result<Self, String> {
        if let Some((map, place)) = name.split_once(" at ") {
            let numbers: Option<Vec<f32>> = place.split_whitespace().map(|number| number.parse().ok()).collect();
            let place = numbers.as_deref().and_then(|numbers| <[f32; 2]>::try_from(numbers).ok());
            let place = place.filter(|place| place.iter().all(|share| (0.0..=1.0).contains(share)));
            let no_place = || format!("\"{name}\" has no valid position; give two fractions of the map's sides");
            let place = place.ok_or_else(no_place)?;
            return Ok(Self(Measurand::At(map_of(map)?, place)));
        }
        let Some((of, rest)) = name.split_once('.') else {
            return Err(format!("\"{name}\" is not a gauge; give a quantity and a summary, such as slope.mean"));
        };
        let what = match of {
            "ground" => Measurand::Ground(word(&GROUND, rest)?),
            "rivers" => Measurand::Rivers(word(&RIVERS, rest)?),
            "run" => word(&[("ticks", Measurand::Ticks)], rest)?,
            "ledger" => {
                let (matter, entry) = rest.split_once('.').unwrap_or((rest, ""));
                let solid = word(&[("solid", true), ("water", false)], matter)?;
                Measurand::Ledger(solid, booked(entry)?)
            }
            _ => Measurand::Whole(map_of(of)?, word(&SUMMARIES, rest)?),
        };
        Ok(Self(what))
    }

    /// Measures a simulation. Returns `None` if the value doesn't exist, such as the concavity of a terrain without rivers.
    pub fn of(&self, run: &Simulation, rivers: &RiverParams) -> Option<f64> {
        let terrain = &run.terrain;
        match &self.0 {
            Measurand::Whole(map, summary) => summary.of(&map.of(run), f64::from(terrain.cell_size)),
            Measurand::At(map, place) => {
                let map = map.of(run);
                let (x, y) = map.cell_at(*place);
                Some(map.at(x, y).into())
            }
            Measurand::Ground(ground) => Some(ground.of(run)),
            Measurand::Ledger(solid, booked) => {
                let ledger = &run.ledger;
                let (account, now) = match solid {
                    true => (&ledger.solid, terrain.solid_volume()),
                    false => (&ledger.water, terrain.water_volume()),
                };
                Some(booked.of(account, now))
            }
            Measurand::Rivers(river) => river.of(run, rivers),
            Measurand::Ticks => Some(run.ticks() as f64),
        }
    }
}

impl MappedQuantity {
    fn of(self, run: &Simulation) -> Grid {
        match self {
            Self::Height => run.terrain.ground(),
            Self::Slope => analysis::slope(&run.terrain),
            Self::Layer(layer) => run.terrain.layer_or_empty(layer),
            Self::Of(quantity) => run.quantity(quantity),
        }
    }
}

fn booked(entry: &str) -> Result<LedgerEntry, String> {
    Ok(match entry {
        "start" => LedgerEntry::Start,
        "now" => LedgerEntry::Now,
        "residual" => LedgerEntry::Residual,
        _ => {
            let (process, entry) = entry.split_once('.').unwrap_or((entry, ""));
            let keys: Vec<&'static str> = catalogue().iter().map(|process| process.info().key).collect();
            let key = keys.iter().find(|key| **key == process).ok_or_else(|| {
                format!("unknown ledger entry \"{process}\"; use one of start, now, residual, {}", keys.join(", "))
            })?;
            let names: Vec<(&str, usize)> =
                ENTRIES.iter().enumerate().map(|(place, (name, _))| (*name, place)).collect();
            LedgerEntry::Row(key, word(&names, entry)?)
        }
    })
}

impl LedgerEntry {
    fn of(&self, account: &Account, now: f64) -> f64 {
        match self {
            Self::Start => account.start,
            Self::Now => now,
            Self::Residual => account.residual(now),
            Self::Row(process, entry) => account.rows.get(*process).map_or(0.0, ENTRIES[*entry].1),
        }
    }
}

impl Summary {
    /// Returns `None` for the position of a quantity that is 0 everywhere.
    fn of(self, map: &Grid, cell_size: f64) -> Option<f64> {
        let count = map.len().max(1) as f64;
        let mean = map.total() / count;
        Some(match self {
            Self::Most => map.min_max().1.into(),
            Self::Least => map.min_max().0.into(),
            Self::Mean => mean,
            Self::Spread => {
                let off = map.iter().map(|&value| f64::from(value) - mean);
                (off.map(|off| off * off).sum::<f64>() / count).sqrt()
            }
            Self::Share => 100.0 * map.iter().filter(|value| **value > NONE).count() as f64 / count,
            Self::Total => map.total() * cell_size * cell_size,
            Self::Top(axis) => {
                let most = (0..map.len()).max_by(|a, b| map[*a].total_cmp(&map[*b]))?;
                let place = [most % map.width(), most / map.width()][axis] as f64 + 0.5;
                // A constant map has no position of its maximum.
                return (map[most] > map.min_max().0).then_some(cell_size * place);
            }
            Self::Centre(axis) => {
                let (total, width) = (map.total(), map.width());
                let place = |index: usize| [index % width, index / width][axis] as f64 + 0.5;
                let weighted = map.iter().enumerate().map(|(index, &value)| place(index) * f64::from(value));
                return (total > 0.0).then(|| cell_size * weighted.sum::<f64>() / total);
            }
        })
    }
}

impl GaugeGround {
    /// Returns the number as in the Statistics panel.
    fn of(self, run: &Simulation) -> f64 {
        let found = Statistics::of(&run.terrain);
        match self {
            Self::Pits => found.pits as f64,
            Self::Cut => found.cut_and_fill.0,
            Self::Fill => found.cut_and_fill.1,
            Self::Relief => f64::from(found.range.1) - f64::from(found.range.0),
        }
    }
}

impl GaugeRiver {
    /// Returns the number for the river with the largest discharge, as in the Rivers panel.
    fn of(self, run: &Simulation, params: &RiverParams) -> Option<f64> {
        let study = Study::of(&run.river_terrain(params), None);
        match self {
            Self::Concavity => study.concavity.map(|fit| fit.value),
            Self::Length => study.river.first().map(|source| 1e-3 * source.distance),
            Self::Sinuosity => study.sinuosity,
            Self::Knickpoints => Some(study.knickpoints.len() as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::terrain::{Edge, Terrain};

    fn measured(name: &str, run: &Simulation) -> f64 {
        let gauge = Gauge::parse(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        gauge.of(run, &RiverParams::default()).unwrap_or(f64::NAN)
    }

    #[test]
    fn gauges_match_geometry_of_sandy_plane() {
        let mut terrain = Terrain::bare(Grid::from_fn(40, 20, |x, _| 2.0 * x as f32), 2.0, Edge::Open);
        terrain.sand[3 * 40 + 10] = 2.0;
        terrain.sand[3 * 40 + 12] = 2.0;
        let mut run = Simulation::new(terrain, 1);
        for (name, value) in [
            ("height.most", 78.0),
            ("height at 0.26 0.16", 22.0),
            ("sand.total", 16.0),
            ("sand.share", 0.25),
            ("sand.centre-x", 23.0),
            ("sand.centre-y", 7.0),
            ("height.most-x", 79.0),
            ("sand.most-y", 7.0),
            ("sand.mean", 4.0 / 800.0),
            ("slope at 0.8 0.8", 45.0),
            ("ground.relief", 78.0),
            // Sand added after the start.
            ("ground.fill", 16.0),
            ("run.ticks", 0.0),
            ("ledger.solid.residual", 0.0),
            ("ledger.solid.droplets.eroded", 0.0),
            ("water.share", 0.0),
        ] {
            assert!((measured(name, &run) - value).abs() < 1e-3, "{name}: {} instead of {value}", measured(name, &run));
        }
        assert!(measured("water.centre-x", &run).is_nan(), "there is no water");
        run.slot_mut("thermal").expect("it is in the catalogue").enabled = true;
        (0..20).for_each(|_| run.tick());
        assert!(measured("ledger.solid.thermal.moved", &run) > 0.0 && measured("run.ticks", &run) == 20.0);
    }

    #[test]
    fn invalid_gauge_names_list_valid_alternatives() {
        for (name, expected) in [
            ("slope", "give a quantity and a summary"),
            ("slop.mean", "unknown quantity \"slop\"; use one of height"),
            ("slope.median", "use one of most, least"),
            ("height at 2 0", "fractions of the map's sides"),
            ("height at 0.5", "fractions of the map's sides"),
            ("ledger.solid.rain.eroded", "use one of start, now, residual, droplets"),
            ("ledger.air.start", "use one of solid, water"),
            ("ledger.solid.droplets.gone", "use one of eroded"),
            ("rivers.depth", "use one of concavity"),
        ] {
            let error = Gauge::parse(name).expect_err(name);
            assert!(error.contains(expected), "{name}: {error}");
        }
    }
}
