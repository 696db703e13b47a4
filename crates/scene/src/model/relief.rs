//! Vertical exaggeration and colours that make the relief of an imported map legible.

use super::session::Session;
use thalweg_sim::core::{analysis::gradient, border::Border, grid::Grid};

/// Maximum drawn relief, as a fraction of the map's shorter side.
const RELIEF: f32 = 0.08;
/// Candidate factors of vertical exaggeration.
const EXAGGERATIONS: [f32; 5] = [1.5, 2.0, 3.0, 4.0, 5.0];
/// Fraction of the map coloured as steep, and the range of the threshold: neither do plains get cliffs, nor are ranges all cliffs.
const STEEP: f32 = 0.2;
const UPRIGHT: (f32, f32) = (0.45, 0.9);

impl Session {
    /// Adjusts the look to the relief: exaggerates the heights of flat terrain, colours the steepest fifth as steep, lowers the sun.
    pub fn suit_look_to_relief(&mut self) {
        let terrain = &self.simulation.terrain;
        let (heights, cell_size) = (&terrain.bedrock, terrain.cell_size);
        let side = heights.width().min(heights.height()) as f32 * cell_size;
        let (low, high) = heights.min_max();
        let fits = |times: &f32| (high - low) * times <= RELIEF * side;
        let times = EXAGGERATIONS.into_iter().rev().find(fits).filter(|_| high > low).unwrap_or(1.0);
        let steep = steep_threshold(heights, Border::of(terrain), cell_size / times).clamp(UPRIGHT.0, UPRIGHT.1);
        self.look.vertical_exaggeration = times;
        self.look.steep_threshold = (100.0 * steep).round() / 100.0;
        // Sunlit grass: the published green is too saturated for real terrain.
        self.look.flat_color = [0.36, 0.47, 0.22];
        self.look.sun_elevation = 26.0;
    }
}

/// Returns the vertical component of the normal below which the fraction [`STEEP`] of the ground lies.
fn steep_threshold(heights: &Grid, border: Border, cell_size: f32) -> f32 {
    let upright = |cell: usize| {
        let place = [cell % border.width, cell / border.width];
        let [right, down] = gradient(border, cell_size, place, |x, y| heights.at(x, y));
        1.0 / (1.0 + right * right + down * down).sqrt()
    };
    let mut all: Vec<f32> = (0..heights.len()).map(upright).collect();
    let place = ((STEEP * all.len() as f32) as usize).min(all.len() - 1);
    *all.select_nth_unstable_by(place, f32::total_cmp).1
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::origin::{Heightmap, Origin};

    fn opened(heights: Grid, cell_size: f32) -> Session {
        let mut session = Session::placeholder("land", 1, Origin::default());
        session.set_heights(Arc::new(Heightmap {
            file_size: (heights.width(), heights.height()),
            heights,
            cell_size,
            geo: None,
            nodata: None,
            warnings: Vec::new(),
        }));
        session.restart(1);
        session.suit_look_to_relief();
        session
    }

    #[test]
    fn flat_terrain_is_exaggerated_and_a_fifth_is_steep() {
        // The slope increases from left to right.
        let land = |rise: f32| Grid::from_fn(100, 60, |x, _| rise * (x as f32 / 99.0).powi(2));
        let steep_share = |session: &Session| {
            let (ground, look) = (&session.simulation.terrain.bedrock, &session.look);
            let is_steep = |x: usize| {
                let slope = 0.5 * (ground.at(x + 1, 30) - ground.at(x - 1, 30)) / 20.0 * look.vertical_exaggeration;
                1.0 / (1.0 + slope * slope).sqrt() < look.steep_threshold
            };
            (1..99).filter(|x| is_steep(*x)).count() as f32 / 98.0
        };
        // On 1200 m, a relief of 20 m is exaggerated four times, one of 1500 m not at all.
        for (rise, times) in [(20.0, 4.0), (1500.0, 1.0)] {
            let session = opened(land(rise), 20.0);
            assert_eq!(session.look.vertical_exaggeration, times, "{rise}");
            let steep = steep_share(&session);
            let none = session.look.steep_threshold == UPRIGHT.1;
            assert!((steep - STEEP).abs() < 0.04 || none && steep < STEEP, "{rise}: {steep} is steep");
            assert!(none == (rise < 100.0), "{rise}: {}", session.look.steep_threshold);
        }
        // A plane is not exaggerated, nor is a map of one cell or one row.
        for (width, height) in [(30, 30), (1, 1), (5, 1)] {
            assert_eq!(opened(Grid::filled(width, height, 5.0), 1.0).look.vertical_exaggeration, 1.0);
        }
    }
}
