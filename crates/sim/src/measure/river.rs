//! A river from its source to its mouth, and the drainage basins.

use std::collections::BTreeMap;

use super::Channels;
use crate::hydrology::network::{ReachPoint, RiverNetwork, RiverParams};

/// Number of steps of a river reach over which its steepness is measured, and the multiple of the river's median that makes a
/// knickpoint.
const REACH: usize = 7;
const STEEP: f64 = 2.0;

/// A point of a river.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RiverPoint {
    /// Metres to the right of the map's left side and below its upper side. On a periodic map a river continues beyond its sides.
    pub at: [f64; 2],
    /// Distance to the mouth along the river, in metres.
    pub distance: f64,
    /// Height of the ground or of the lake, in metres.
    pub height: f64,
    /// Drainage area, in square metres.
    pub area: f64,
    /// Discharge, in cubic metres per second.
    pub discharge: f64,
    /// χ, in metres; see [`Channels::chi`].
    pub chi: f64,
}

/// Connections between reaches.
struct Joints<'a> {
    network: &'a RiverNetwork,
    /// Reaches by their first place.
    below: BTreeMap<[u64; 2], Vec<usize>>,
    /// Reaches by the first place of their downstream reach.
    above: BTreeMap<[u64; 2], Vec<usize>>,
}

impl<'a> Joints<'a> {
    fn of(network: &'a RiverNetwork) -> Self {
        let (mut below, mut above) = (BTreeMap::<_, Vec<usize>>::new(), BTreeMap::<_, Vec<usize>>::new());
        for (number, reach) in network.reaches.iter().enumerate() {
            below.entry(key(reach.points[0])).or_default().push(number);
            if let Some(into) = reach.into {
                above.entry(key(network.reaches[into].points[0])).or_default().push(number);
            }
        }
        Self { network, below, above }
    }

    /// Returns the next reach upstream or downstream: of several, the one with the largest discharge.
    fn next(&self, reach: usize, up: bool) -> Option<usize> {
        let reaches = &self.network.reaches;
        let (there, from) = if up { (&self.above, Some(reach)) } else { (&self.below, reaches[reach].into) };
        // At a confluence, each tributary ends with the discharge of both.
        let water = |&number: &usize| {
            let places = &reaches[number].points;
            places[if up { places.len() - 2 } else { 0 }].discharge
        };
        let found = there.get(&key(reaches[from?].points[0]))?.iter().copied();
        found.max_by(|one, other| water(one).total_cmp(&water(other)).then(other.cmp(one)))
    }
}

fn key(place: ReachPoint) -> [u64; 2] {
    place.at.map(f64::to_bits)
}

/// Returns the river through a reach from its source to its mouth, with χ for this concavity. At confluences and bifurcations it
/// follows the branch with the larger discharge.
///
/// # Panics
/// If there is no such reach.
pub fn long_profile(network: &RiverNetwork, reach: usize, params: &RiverParams, concavity: f64) -> Vec<RiverPoint> {
    let joints = Joints::of(network);
    let mut passed = vec![false; network.reaches.len()];
    passed[reach] = true;
    let mut follow = |up: bool| {
        let (mut here, mut path) = (reach, Vec::new());
        // Droplet rivers may form a loop.
        while let Some(next) = joints.next(here, up).filter(|next| !std::mem::replace(&mut passed[*next], true)) {
            path.push(next);
            here = next;
        }
        path
    };
    let (up, down) = (follow(true), follow(false));
    let mut points: Vec<RiverPoint> = Vec::new();
    for number in up.into_iter().rev().chain([reach]).chain(down) {
        let places = &network.reaches[number].points;
        // A reach begins where the previous one ends. On a periodic map, its coordinates may be relative to another side.
        let shift = points.pop().map_or([0.0; 2], |end| [0, 1].map(|axis| end.at[axis] - places[0].at[axis]));
        points.extend(places.iter().map(|place| RiverPoint {
            at: [0, 1].map(|axis| place.at[axis] + shift[axis]),
            distance: 0.0,
            height: place.height.into(),
            area: params.area(place.discharge),
            discharge: place.discharge.into(),
            chi: 0.0,
        }));
    }
    for place in (1..points.len()).rev() {
        let (point, below) = (points[place - 1], points[place]);
        let step = libm::hypot(below.at[0] - point.at[0], below.at[1] - point.at[1]);
        let rise = step * libm::pow(1e6 / point.area, concavity);
        points[place - 1] = RiverPoint { distance: below.distance + step, chi: below.chi + rise, ..point };
    }
    points
}

/// Returns the length of a river divided by the straight distance from its source to its mouth, or `None` if that is zero. From 1.5
/// on, rivers count as meandering (Leopold & Wolman 1957).
pub fn sinuosity(profile: &[RiverPoint]) -> Option<f64> {
    let (source, mouth) = (profile.first()?, profile.last()?);
    let straight = libm::hypot(mouth.at[0] - source.at[0], mouth.at[1] - source.at[1]);
    (straight > 0.0).then(|| source.distance / straight)
}

/// A reach that is much steeper for its drainage area than the rest of the river.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knickpoint {
    /// Index of the middle of the reach in the long profile.
    pub place: usize,
    /// Steepness Δz/Δχ, as a multiple of the river's median.
    pub steepness: f64,
}

/// Returns the knickpoints of a river from its source to its mouth: reaches of seven steps with a steepness Δz/Δχ (Perron & Royden
/// 2013) of at least twice the median of all reaches; of overlapping ones, the steepest.
pub fn knickpoints(profile: &[RiverPoint]) -> Vec<Knickpoint> {
    let reaches = profile.windows(REACH + 1);
    let steepness: Vec<f64> =
        reaches.map(|reach| (reach[0].height - reach[REACH].height) / (reach[0].chi - reach[REACH].chi)).collect();
    let mut sorted = steepness.clone();
    sorted.sort_by(f64::total_cmp);
    let Some(&median) = sorted.get(sorted.len() / 2).filter(|median| **median > 0.0) else { return Vec::new() };
    let mut found: Vec<Knickpoint> = Vec::new();
    let mut last = None;
    for (start, &steep) in steepness.iter().enumerate().filter(|(_, steep)| **steep >= STEEP * median) {
        let here = Knickpoint { place: start + REACH / 2, steepness: steep / median };
        match found.last_mut().filter(|_| last.is_some_and(|last: usize| start <= last + REACH)) {
            Some(known) if known.steepness < here.steepness => *known = here,
            Some(_) => {}
            None => found.push(here),
        }
        last = Some(start);
    }
    found
}

/// A drainage basin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Basin {
    /// Index of the outlet cell.
    pub outlet: usize,
    /// Drainage area, in square metres.
    pub area: f64,
}

/// Returns the basins of a terrain, the largest first, and for each cell the index of its basin in this list.
pub fn basins(channels: &Channels) -> (Vec<Basin>, Vec<u32>) {
    let outlets = channels.drainage.outlets().iter().map(|&outlet| outlet as usize);
    let mut basins: Vec<Basin> = outlets.map(|outlet| Basin { outlet, area: channels.areas[outlet] }).collect();
    basins.sort_by(|a, b| b.area.total_cmp(&a.area).then(a.outlet.cmp(&b.outlet)));
    let mut numbers = vec![0; channels.areas.len()];
    for (number, basin) in basins.iter().enumerate() {
        numbers[basin.outlet] = number as u32;
    }
    for &(cell, receiver) in channels.drainage.order().links() {
        numbers[cell as usize] = numbers[receiver as usize];
    }
    (basins, numbers)
}
