//! A session between two ticks, packed small: everything that its next ticks depend on.

use std::{collections::BTreeMap, sync::Arc};

use super::{session::Session, shaped::Shaped};
use crate::sim::{
    bounds::Bounds,
    grid::Grid,
    ledger::Ledger,
    memory::Memory,
    terrain::{Edge, Layer, Source, Terrain},
};

/// A copy of what a session is, taken fast; packing it is the slow part.
pub struct Unpacked {
    terrain: Terrain,
    ledger: Ledger,
    seed: u64,
    tick: u64,
    edited: bool,
    shaped: Option<Arc<Shaped>>,
    enabled: Vec<[bool; 2]>,
    parameters: BTreeMap<String, String>,
    kept: Vec<&'static str>,
    cells: Vec<Vec<f32>>,
    numbers: Vec<f64>,
    counts: Vec<u64>,
}

impl Unpacked {
    /// Copies a session that is between two ticks.
    pub fn of(session: &mut Session) -> Self {
        let (mut cells, mut numbers, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        let kept = session.simulation.with_memories();
        for (_, memory) in session.simulation.memories(&kept) {
            match memory {
                Memory::Cells(values) => cells.push(values.to_vec()),
                Memory::Number(number) => numbers.push(*number),
                Memory::Count(count) => counts.push(*count),
            }
        }
        let simulation = &session.simulation;
        Self {
            terrain: simulation.terrain.clone(),
            ledger: simulation.ledger.clone(),
            seed: simulation.seed(),
            tick: simulation.ticks(),
            edited: session.origin.edited,
            shaped: session.shaped.clone(),
            enabled: simulation.slots.iter().map(|slot| [slot.enabled, slot.limited]).collect(),
            parameters: session.all_parameters(),
            kept,
            cells,
            numbers,
            counts,
        }
    }

    /// Packs it.
    pub fn pack(self) -> Snapshot {
        let terrain = &self.terrain;
        let layers = terrain.layers().map(|(layer, grid)| (layer, Packed::of(grid))).collect();
        Snapshot {
            size: (terrain.width(), terrain.height()),
            cell_size: terrain.cell_size,
            edge: terrain.edge,
            layers,
            sources: self.terrain.sources,
            ledger: self.ledger,
            seed: self.seed,
            tick: self.tick,
            edited: self.edited,
            shaped: self.shaped,
            enabled: self.enabled,
            parameters: self.parameters,
            kept: self.kept,
            cells: self.cells.iter().map(|cells| Packed::of(cells)).collect(),
            numbers: self.numbers,
            counts: self.counts,
        }
    }
}

/// A packed session.
#[derive(Debug)]
pub struct Snapshot {
    pub(crate) size: (usize, usize),
    pub(crate) cell_size: f32,
    pub(crate) edge: Edge,
    pub(crate) layers: BTreeMap<Layer, Packed>,
    pub(crate) sources: Vec<Source>,
    pub(crate) ledger: Ledger,
    pub(crate) seed: u64,
    pub(crate) tick: u64,
    /// Whether layers had been changed by hand, and the start as a hand had shaped it.
    pub(crate) edited: bool,
    pub(crate) shaped: Option<Arc<Shaped>>,
    /// Whether each process is on, and whether it keeps off what is masked.
    pub(crate) enabled: Vec<[bool; 2]>,
    pub(crate) parameters: BTreeMap<String, String>,
    /// Processes that kept something.
    pub(crate) kept: Vec<&'static str>,
    pub(crate) cells: Vec<Packed>,
    pub(crate) numbers: Vec<f64>,
    pub(crate) counts: Vec<u64>,
}

impl Snapshot {
    /// Finished ticks.
    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// Memory that it takes.
    pub fn bytes(&self) -> usize {
        let packed = self.layers.values().chain(&self.cells);
        packed.map(|packed| packed.bytes.len()).sum::<usize>() + 64 * self.parameters.len() + 1024
    }

    /// Makes a session what it was, to the bit. Where it came from, how it looks to begin with and what it is called stay.
    pub fn restore(&self, session: &mut Session) {
        for (path, value) in &self.parameters {
            // They were read from a session, so they are in range, but for the cells of an imported map.
            let _ = session.set(path, value);
        }
        session.terrain.cell_size = self.cell_size;
        let (width, height) = self.size;
        let layer = |layer| Some(Grid::from_cells(width, height, self.layers.get(&layer)?.unpack()));
        let mut terrain = Terrain::of(self.size, (self.cell_size, self.edge), layer);
        terrain.sources.clone_from(&self.sources);
        session.sources.clone_from(&self.sources);
        session.origin.edited = self.edited;
        session.shaped.clone_from(&self.shaped);
        let simulation = &mut session.simulation;
        simulation.restart(terrain, self.seed);
        simulation.set_ticks(self.tick);
        simulation.ledger = self.ledger.clone();
        for (slot, &[enabled, limited]) in simulation.slots.iter_mut().zip(&self.enabled) {
            (slot.enabled, slot.limited) = (enabled, limited);
        }
        let mut cells: Vec<&Packed> = self.cells.iter().collect();
        let kept = simulation.memories(&self.kept);
        let maps = || kept.iter().filter(|(_, memory)| matches!(memory, Memory::Cells(_)));
        // In projects of format 1 the published water keeps its velocities behind its fluxes.
        let fluxes = maps().position(|(name, _)| name == "water/flux below");
        if let Some(last) = fluxes.filter(|_| cells.len() == maps().count() + 2) {
            cells.drain(last + 1..last + 3);
        }
        let (mut cells, mut numbers, mut counts) = (cells.into_iter(), self.numbers.iter(), self.counts.iter());
        for (_, memory) in simulation.memories(&self.kept) {
            match memory {
                Memory::Cells(values) => {
                    if let Some(kept) = cells.next().filter(|kept| kept.count == values.len()) {
                        values.copy_from_slice(&kept.unpack());
                    }
                }
                Memory::Number(number) => *number = numbers.next().copied().unwrap_or_default(),
                Memory::Count(count) => *count = counts.next().copied().unwrap_or_default(),
            }
        }
    }
}

/// Numbers, compressed without loss.
#[derive(Debug)]
pub struct Packed {
    pub(crate) count: usize,
    pub(crate) bytes: Vec<u8>,
}

impl Packed {
    /// Neighbours are alike, so their differences are small, and small numbers have many equal bytes in the same place.
    fn of(cells: &[f32]) -> Self {
        let count = cells.len();
        let mut planes = vec![0; 4 * count];
        let mut last = 0;
        for (index, cell) in cells.iter().enumerate() {
            let bits = cell.to_bits();
            let difference = bits.wrapping_sub(last);
            // Small negative numbers get leading zeros too.
            let folded = (difference << 1) ^ (((difference as i32) >> 31) as u32);
            for (plane, byte) in folded.to_le_bytes().into_iter().enumerate() {
                planes[plane * count + index] = byte;
            }
            last = bits;
        }
        Self { count, bytes: lz4_flex::compress(&planes) }
    }

    /// What is wrong with one that was read from a file, if anything is.
    pub fn check(&self, bounds: Bounds) -> Result<(), String> {
        match lz4_flex::decompress(&self.bytes, 4 * self.count) {
            Ok(planes) if planes.len() == 4 * self.count => {}
            _ => return Err("cannot be unpacked".to_owned()),
        }
        bounds
            .check_cells(&self.unpack(), self.count, 0)
            .map_err(|unfit| format!("has values that make no sense: {unfit}"))
    }

    fn unpack(&self) -> Vec<f32> {
        let mut planes = lz4_flex::decompress(&self.bytes, 4 * self.count).unwrap_or_default();
        planes.resize(4 * self.count, 0);
        let mut last = 0_u32;
        (0..self.count)
            .map(|index| {
                let folded = u32::from_le_bytes(std::array::from_fn(|plane| planes[plane * self.count + index]));
                let difference = (folded >> 1) ^ (folded & 1).wrapping_neg();
                last = last.wrapping_add(difference);
                f32::from_bits(last)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{io::scene, model::origin::Options};

    #[test]
    fn every_bit_survives_packing_and_smooth_ground_gets_small() {
        let odd = [0.0, -0.0, 1.5, f32::MIN_POSITIVE, -1e30, f32::MAX, 3.25e-40, f32::INFINITY, f32::NAN];
        let bits = |cells: &[f32]| cells.iter().map(|cell| cell.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&Packed::of(&odd).unpack()), bits(&odd));
        assert!(Packed::of(&[]).unpack().is_empty());
        let ground: Vec<f32> = (0..65536).map(|index| 300.0 + (index as f32 * 1e-3).sin() * 90.0).collect();
        let packed = Packed::of(&ground);
        assert_eq!(bits(&packed.unpack()), bits(&ground));
        assert!(packed.bytes.len() < 4 * ground.len() * 3 / 4, "{} bytes", packed.bytes.len());
    }

    #[test]
    fn a_restored_session_goes_on_to_the_same_bits_with_the_parameters_of_then() {
        for name in ["river-valley", "wadi", "alpine-valley", "musgrave-1989", "figure-7", "parameter-study"] {
            let options = Options { size: Some((48, 48)), ..Options::default() };
            let mut session = scene::open(name, &options).unwrap_or_else(|error| panic!("{error}")).swap_remove(0);
            (0..5).for_each(|_| session.simulation.tick());
            let snapshot = Unpacked::of(&mut session).pack();
            assert_eq!(snapshot.tick(), 5);
            (0..5).for_each(|_| session.simulation.tick());
            let (wanted, ledger) = (session.simulation.terrain.clone(), session.simulation.ledger.clone());
            let parameters = session.all_parameters();
            session.set("thermal.repose_angle", "12").unwrap_or_else(|error| panic!("{error}"));
            session.enable(&["thermal"]);
            (0..3).for_each(|_| session.simulation.tick());
            snapshot.restore(&mut session);
            assert_eq!((session.simulation.ticks(), session.all_parameters()), (5, parameters));
            (0..5).for_each(|_| session.simulation.tick());
            assert!(session.simulation.terrain == wanted && session.simulation.ledger == ledger, "{name}");
        }
    }

    #[test]
    fn what_the_published_water_kept_in_format_1_is_passed_over() {
        let options = Options { size: Some((48, 48)), ..Options::default() };
        let mut session = scene::open("wadi", &options).unwrap_or_else(|error| panic!("{error}")).swap_remove(0);
        session.set("water.mode", "published").unwrap_or_else(|error| panic!("{error}"));
        (0..5).for_each(|_| session.simulation.tick());
        let mut then = Unpacked::of(&mut session);
        let names = session.simulation.memories(&then.kept);
        let maps = names.iter().filter(|(_, memory)| matches!(memory, Memory::Cells(_)));
        let names: Vec<String> = maps.map(|(name, _)| name.clone()).collect();
        let last = names.iter().position(|name| name == "water/flux below").expect("the water has run");
        assert!(names.len() > last + 2, "another process keeps maps behind the water's: {names:?}");
        // Velocities along columns and rows.
        then.cells.splice(last + 1..last + 1, [vec![7.0; 48 * 48], vec![8.0; 48 * 48]]);
        let snapshot = then.pack();
        (0..5).for_each(|_| session.simulation.tick());
        let wanted = session.simulation.terrain.clone();
        snapshot.restore(&mut session);
        (0..5).for_each(|_| session.simulation.tick());
        assert!(session.simulation.terrain == wanted);
    }
}
