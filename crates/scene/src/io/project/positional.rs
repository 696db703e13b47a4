//! Keyframes of formats 1 and 2. Their maps have no names: what they are follows from the order in which a session lists them.

use std::collections::BTreeMap;

use ron::Value;

use super::{archive::Archive, damaged, keyframes::check_size};
use crate::{
    io::Error,
    model::{
        origin::Origin,
        packed::Packed,
        session::Session,
        state::{Facts, State, bounds_of},
    },
};
use thalweg_sim::{core::terrain::Layer, process::memory::Memory};

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

/// The state of a run: its `facts`, and its maps from a folder of the archive.
pub(super) fn state(
    facts: Value,
    archive: &mut Archive<'_>,
    folder: &str,
    wrong: impl Fn(String) -> Error,
) -> Result<State, Error> {
    let Value::Map(mut fields) = facts else { return Err(wrong("a run has no facts".to_owned())) };
    let misread = |error: ron::Error| wrong(error.to_string());
    let key = |name: &str| Value::String(name.to_owned());
    let mut take = |name: &str| fields.remove(&key(name)).unwrap_or(Value::Unit);
    let present: [bool; LAYERS.len()] = take("layers").into_rust().map_err(misread)?;
    let counts_of_maps: Vec<usize> = take("cells").into_rust().map_err(misread)?;
    let numbers: Vec<f64> = take("numbers").into_rust().map_err(misread)?;
    let counts: Vec<u64> = take("counts").into_rust().map_err(misread)?;
    let layers = LAYERS.into_iter().zip(present).filter(|(_, there)| *there);
    let layers: Vec<String> = layers.map(|(layer, _)| layer.key().to_owned()).collect();
    fields.insert(key("maps"), Value::Seq(layers.iter().map(|layer| key(layer)).collect()));
    for name in ["numbers", "counts"] {
        fields.insert(key(name), Value::Map(ron::Map::new()));
    }
    let mut facts: Facts = Value::Map(fields).into_rust().map_err(misread)?;
    check_size(facts.size).map_err(&wrong)?;
    let most = facts.numbers_of("");
    if counts_of_maps.len() > MOST_MAPS || counts_of_maps.iter().any(|&count| count > most) {
        return Err(wrong("its processes keep more than they can".to_owned()));
    }
    facts.check().map_err(&wrong)?;
    let cells = facts.size[0] * facts.size[1];
    let mut names: Vec<(Option<String>, usize)> = layers.into_iter().map(|layer| (Some(layer), cells)).collect();
    let told = Names::of(&facts, counts_of_maps.len()).map_err(&wrong)?;
    names.extend(told.maps.into_iter().zip(counts_of_maps));
    facts.numbers = told.numbers.into_iter().zip(numbers).collect();
    facts.counts = told.counts.into_iter().zip(counts).collect();
    let mut maps = BTreeMap::new();
    for (place, (name, count)) in names.into_iter().enumerate() {
        let Some(name) = name else { continue };
        let file = format!("{folder}/{}.lz4", place + 1);
        let mut bytes = (count as u32).to_le_bytes().to_vec();
        bytes.extend(archive.read(&file, Packed::longest(count))?);
        let packed = Packed::read(bytes, count, bounds_of(&name));
        maps.insert(name, packed.map_err(|wrong| damaged(archive.path, &format!("{file} in it {wrong}")))?);
    }
    facts.maps = maps.keys().cloned().collect();
    Ok(State::new(facts, maps, None))
}

/// What processes keep, in the order in which a session lists it.
#[derive(Default)]
struct Names {
    /// `None` is a map that is not kept any more.
    maps: Vec<Option<String>>,
    numbers: Vec<String>,
    counts: Vec<String>,
}

impl Names {
    /// The names in a run that has these facts and so many maps.
    fn of(facts: &Facts, maps: usize) -> Result<Self, String> {
        let mut session = Session::small("", facts.seed, Origin::default());
        facts.set_up(&mut session)?;
        let kept: Vec<&str> = facts.kept.iter().map(String::as_str).collect();
        let mut names = Self::default();
        let all: Vec<String> = session.simulation.memories(&kept).into_iter().map(|(name, _)| name).collect();
        let young: Vec<String> = all.into_iter().filter(|name| session.simulation.is_young(name)).collect();
        let memories = session.simulation.memories(&kept).into_iter();
        for (name, memory) in memories.filter(|(name, _)| !young.contains(name)) {
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
