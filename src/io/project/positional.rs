//! Keyframes of formats 1 and 2: their maps have no names, but a place in the order in which a session tells them.

use std::{
    collections::BTreeMap,
    io::{Read, Seek},
    path::Path,
};

use serde::Deserialize;
use zip::ZipArchive;

use super::{damaged, keyframes::check_size, read};
use crate::{
    io::Error,
    model::{
        origin::Origin,
        packed::Packed,
        session::Session,
        state::{Facts, State, bounds_of},
    },
    sim::{
        ledger::Account,
        memory::Memory,
        terrain::{Layer, Source},
    },
};

/// Most maps of a run besides its layers.
const MOST_MAPS: usize = 64;
/// The layers, in the order of their flags.
const LAYERS: [Layer; 8] = [
    Layer::Bedrock,
    Layer::Sand,
    Layer::Water,
    Layer::Suspended,
    Layer::Softness,
    Layer::Start,
    Layer::Rain,
    Layer::Mask,
];

/// What is no map in a run.
#[derive(Deserialize)]
pub(super) struct Run {
    size: [usize; 2],
    cell_size: f32,
    seed: u64,
    tick: u64,
    #[serde(default)]
    edited: bool,
    enabled: Vec<String>,
    limited: Vec<String>,
    set: BTreeMap<String, String>,
    sources: Vec<Source>,
    solid: Account,
    water: Account,
    /// Which of the layers there are.
    layers: [bool; LAYERS.len()],
    /// Processes that kept something, the lengths of their maps, and their numbers.
    kept: Vec<String>,
    cells: Vec<usize>,
    numbers: Vec<f64>,
    counts: Vec<u64>,
}

impl Run {
    /// The state, with the maps of a folder of the archive.
    pub fn state(
        self,
        path: &Path,
        archive: &mut ZipArchive<impl Read + Seek>,
        folder: &str,
        wrong: impl Fn(String) -> Error,
    ) -> Result<State, Error> {
        let Self { size, cell_size, seed, tick, edited, enabled, limited, set, sources, solid, water, kept, .. } = self;
        let layers: Vec<Layer> =
            LAYERS.into_iter().zip(self.layers).filter(|(_, there)| *there).map(|(layer, _)| layer).collect();
        let maps = layers.iter().map(|layer| layer.key().to_owned()).collect();
        let (numbers, counts) = Default::default();
        let mut facts = Facts {
            seed,
            tick,
            size,
            cell_size,
            edited,
            enabled,
            limited,
            set,
            sources,
            solid,
            water,
            maps,
            kept,
            numbers,
            counts,
        };
        check_size(size).map_err(&wrong)?;
        let most = facts.numbers_of("");
        if self.cells.len() > MOST_MAPS || self.cells.iter().any(|&count| count > most) {
            return Err(wrong("its processes keep more than they can".to_owned()));
        }
        facts.check().map_err(&wrong)?;
        let mut names: Vec<(Option<String>, usize)> =
            layers.iter().map(|layer| (Some(layer.key().to_owned()), size[0] * size[1])).collect();
        let told = Names::of(&facts, self.cells.len()).map_err(&wrong)?;
        names.extend(told.maps.into_iter().zip(&self.cells).map(|(name, count)| (name, *count)));
        facts.numbers = told.numbers.into_iter().zip(self.numbers).collect();
        facts.counts = told.counts.into_iter().zip(self.counts).collect();
        let mut maps = BTreeMap::new();
        for (place, (name, count)) in names.into_iter().enumerate() {
            let Some(name) = name else { continue };
            let file = format!("{folder}/{}.lz4", place + 1);
            let mut bytes = (count as u32).to_le_bytes().to_vec();
            bytes.extend(read(path, archive, &file, Packed::longest(count))?);
            let packed = Packed::read(bytes, count, bounds_of(&name));
            maps.insert(name, packed.map_err(|wrong| damaged(path, &format!("{file} in it {wrong}")))?);
        }
        facts.maps = maps.keys().cloned().collect();
        Ok(State { facts, maps, shaped: None })
    }
}

/// What processes keep, in the order in which a session tells it.
#[derive(Default)]
struct Names {
    /// `None` is a map that is not kept any more.
    maps: Vec<Option<String>>,
    numbers: Vec<String>,
    counts: Vec<String>,
}

impl Names {
    /// The names in a run of which these facts are known, and which has so many maps.
    fn of(facts: &Facts, maps: usize) -> Result<Self, String> {
        let mut session = Session::small("", facts.seed, Origin::default());
        facts.set_up(&mut session)?;
        let kept: Vec<&str> = facts.kept.iter().map(String::as_str).collect();
        let mut names = Self::default();
        for (name, memory) in session.simulation.memories(&kept) {
            match memory {
                Memory::Cells(_) => names.maps.push(Some(name)),
                Memory::Number(_) => names.numbers.push(name),
                Memory::Count(_) => names.counts.push(name),
            }
        }
        // In format 1 the published water keeps its velocities behind its fluxes.
        let fluxes = names.maps.iter().position(|name| name.as_deref() == Some("water/flux below"));
        if let Some(last) = fluxes.filter(|_| maps == names.maps.len() + 2) {
            names.maps.splice(last + 1..last + 1, [None, None]);
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_published_water_kept_in_format_1_is_passed_over() {
        let set = BTreeMap::from([("water.mode".to_owned(), "published".to_owned())]);
        let kept = ["water", "wind"].map(str::to_owned).to_vec();
        let maps = ["bedrock", "start"].map(str::to_owned).to_vec();
        let facts = Facts { set, kept, maps, cell_size: 1.0, ..Facts::default() };
        let present = Names::of(&facts, 0).expect("it is sound").maps;
        let last = present.iter().position(|name| name.as_deref() == Some("water/flux below")).expect("it is kept");
        assert!(present.len() > last + 2, "another process keeps maps behind the water's: {present:?}");
        let then = Names::of(&facts, present.len() + 2).expect("it is sound").maps;
        assert_eq!(then[..=last], present[..=last]);
        assert_eq!(then[last + 1..last + 3], [None, None]);
        assert_eq!(then[last + 3..], present[last + 1..]);
    }
}
