//! A river from its source to its mouth, and the land that drains to each mouth.

use super::Channels;

/// Cells of a river's reach over which its steepness is found, and how many times the river's median makes a knickpoint.
const REACH: usize = 7;
const STEEP: f64 = 2.0;

/// A place of a river.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RiverPoint {
    /// The cell, as a place in the map.
    pub cell: usize,
    /// Way from here to the mouth, in metres.
    pub distance: f64,
    /// Height of the ground, in metres.
    pub height: f64,
    /// Area above, in square metres.
    pub area: f64,
    /// χ, in metres; see [`Channels::chi`].
    pub chi: f64,
}

/// The way of the water from a cell to its outlet, with χ for this concavity.
///
/// # Panics
/// If there is no such cell.
pub fn long_profile(channels: &Channels, source: usize, concavity: f64) -> Vec<RiverPoint> {
    let mut cells = vec![source];
    while let Some(receiver) = channels.drainage.receiver(cells[cells.len() - 1]) {
        cells.push(receiver);
    }
    let (mut distance, mut chi) = (0.0, 0.0);
    let mut points: Vec<RiverPoint> = Vec::with_capacity(cells.len());
    for (place, &cell) in cells.iter().enumerate().rev() {
        let area = channels.areas[cell];
        if place + 1 < cells.len() {
            let step = channels.drainage.distance(cell) * channels.cell_size;
            distance += step;
            chi += step * libm::pow(1e6 / area, concavity);
        }
        points.push(RiverPoint { cell, distance, height: channels.ground[cell].into(), area, chi });
    }
    points.reverse();
    points
}

/// A reach that is much steeper for its area than the river is elsewhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knickpoint {
    /// Its place in the long profile: the middle of the reach.
    pub place: usize,
    /// Its steepness Δz/Δχ, as a multiple of the river's median.
    pub steepness: f64,
}

/// Knickpoints of a river's channel from its head to its mouth: reaches of seven cells whose steepness Δz/Δχ (Perron & Royden 2013)
/// is at least twice the median of all reaches, the steepest of those that touch. `from_area` is where the channel begins, in square
/// metres: above it lie hillsides.
pub fn knickpoints(profile: &[RiverPoint], from_area: f64) -> Vec<Knickpoint> {
    let head = profile.iter().position(|point| point.area >= from_area).unwrap_or(profile.len());
    let reaches = profile[head..].windows(REACH + 1);
    let steepness: Vec<f64> =
        reaches.map(|reach| (reach[0].height - reach[REACH].height) / (reach[0].chi - reach[REACH].chi)).collect();
    let mut sorted = steepness.clone();
    sorted.sort_by(f64::total_cmp);
    let Some(&median) = sorted.get(sorted.len() / 2).filter(|median| **median > 0.0) else { return Vec::new() };
    let mut found: Vec<Knickpoint> = Vec::new();
    let mut last = None;
    for (start, &steep) in steepness.iter().enumerate().filter(|(_, steep)| **steep >= STEEP * median) {
        let here = Knickpoint { place: head + start + REACH / 2, steepness: steep / median };
        match found.last_mut().filter(|_| last.is_some_and(|last: usize| start <= last + REACH)) {
            Some(known) if known.steepness < here.steepness => *known = here,
            Some(_) => {}
            None => found.push(here),
        }
        last = Some(start);
    }
    found
}

/// The land that drains to an outlet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Basin {
    /// The outlet, as a place in the map.
    pub outlet: usize,
    /// Its area, in square metres.
    pub area: f64,
}

/// The basins of a terrain, the largest first, and for each cell the number of its basin in this list.
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
