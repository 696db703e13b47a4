//! Channel metrics: drainage area, slope, χ, and line fits.

use crate::{
    core::{grid::Grid, terrain::Terrain},
    hydrology::drainage::Drainage,
};

/// Area classes per decade, and the minimum number of cells in a class.
const CLASSES: f64 = 10.0;
const FEWEST: usize = 5;

/// A line fit through points, with its quality.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The fitted value: the slope of the line, or θ.
    pub value: f64,
    /// Fraction of the variance explained by the line, R².
    pub r2: f64,
}

impl Fit {
    /// Returns the least-squares line, or `None` for fewer than three points or points with equal x.
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for (x, y) in points {
            let (x, y) = (x - mean_x, y - mean_y);
            (xx, xy, yy) = (xx + x * x, xy + x * y, yy + y * y);
        }
        let sound = points.len() > 2 && xx > 0.0;
        sound.then(|| Self { value: xy / xx, r2: if yy > 0.0 { xy * xy / (xx * yy) } else { 1.0 } })
    }
}

/// The channels of a terrain.
pub struct Channels {
    /// Drainage of the terrain.
    pub drainage: Drainage,
    /// Height of the ground, in metres.
    pub ground: Grid,
    /// Drainage area of each cell, its own included, in square metres.
    pub areas: Vec<f64>,
    /// Side of a cell, in metres.
    pub cell_size: f64,
    /// Minimum drainage area of a channel, in square metres.
    pub from_area: f64,
}

impl Channels {
    /// Returns the channels of a terrain with a drainage area of at least this many cells.
    pub fn of(terrain: &Terrain, cells: f64) -> Self {
        let drainage = Drainage::of(terrain);
        let areas = drainage.areas(|_| terrain.cell_area());
        let (ground, cell_size) = (terrain.ground(), f64::from(terrain.cell_size));
        Self { drainage, ground, areas, cell_size, from_area: cells * terrain.cell_area() }
    }

    /// Returns the channel cells that are not outlets, with their receivers.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let cells = (0..self.areas.len()).filter(|&cell| self.areas[cell] >= self.from_area);
        cells.filter_map(|cell| Some((cell, self.drainage.receiver(cell)?)))
    }

    /// Returns the slope to the receiver, as a tangent.
    pub fn slope(&self, cell: usize, receiver: usize) -> f64 {
        let fall = f64::from(self.ground[cell]) - f64::from(self.ground[receiver]);
        fall / (self.drainage.distance(cell) * self.cell_size)
    }

    /// Returns the fraction of channel cells with a higher receiver.
    pub fn uphill(&self) -> f64 {
        let (mut all, mut up) = (0_usize, 0_usize);
        for (cell, receiver) in self.cells() {
            all += 1;
            up += usize::from(self.ground[receiver] > self.ground[cell]);
        }
        up as f64 / all.max(1) as f64
    }

    /// Returns χ = ∫(A₀/A)^θ dx from the outlet, in metres, for every cell; A₀ is 1 km².
    pub fn chi(&self, concavity: f64) -> Vec<f64> {
        let mut chi = vec![0.0; self.areas.len()];
        for &(cell, receiver) in self.drainage.order().links() {
            let (cell, receiver) = (cell as usize, receiver as usize);
            let step = self.drainage.distance(cell) * self.cell_size;
            chi[cell] = chi[receiver] + step * libm::pow(1e6 / self.areas[cell], concavity);
        }
        chi
    }

    /// Returns the height of each cell's outlet, in metres.
    pub fn outlet_heights(&self) -> Vec<f64> {
        let mut outlet_heights = vec![0.0; self.areas.len()];
        for &outlet in self.drainage.outlets() {
            outlet_heights[outlet as usize] = f64::from(self.ground[outlet as usize]);
        }
        for &(cell, receiver) in self.drainage.order().links() {
            outlet_heights[cell as usize] = outlet_heights[receiver as usize];
        }
        outlet_heights
    }

    /// Returns the θ from 0 to 1 for the best linear fit of channel heights above their outlets over χ.
    pub fn concavity(&self) -> Option<Fit> {
        let outlet_heights = self.outlet_heights();
        // Rivers flow into rivers, so no other cells are needed: downstream cells first, with the length of the step to the
        // receiver and the logarithm of A₀/A.
        let order = self.drainage.order();
        let links = order.links().iter().map(|&(cell, receiver)| (cell as usize, receiver as usize));
        let rivers: Vec<(usize, usize, f64, f64)> = links
            .filter(|(cell, _)| self.areas[*cell] >= self.from_area)
            .map(|(cell, receiver)| {
                let step = self.drainage.distance(cell) * self.cell_size;
                (cell, receiver, step, libm::log(1e6 / self.areas[cell]))
            })
            .collect();
        let (mut chi, mut points) = (vec![0.0; self.areas.len()], Vec::with_capacity(rivers.len()));
        let mut fit = |theta: f64| {
            points.clear();
            for &(cell, receiver, step, log) in &rivers {
                chi[cell] = chi[receiver] + step * libm::exp(theta * log);
                points.push((chi[cell], f64::from(self.ground[cell]) - outlet_heights[cell]));
            }
            Some(Fit { value: theta, r2: Fit::through(&points)?.r2 })
        };
        let fits = (0..=40).filter_map(|step| fit(f64::from(step) * 0.025));
        fits.reduce(|best, other| if other.r2 > best.r2 { other } else { best })
    }

    /// Returns the geometric mean area in square metres and the median slope of each area class.
    pub fn slopes_by_area(&self) -> Vec<(f64, f64)> {
        let mut cells: Vec<(i32, f64, f64)> = self
            .cells()
            .map(|(cell, receiver)| {
                let area = self.areas[cell];
                (libm::floor(CLASSES * libm::log10(area)) as i32, area, self.slope(cell, receiver))
            })
            .collect();
        cells.sort_by(|a, b| a.0.cmp(&b.0).then(a.2.total_cmp(&b.2)));
        let classes = cells.chunk_by(|a, b| a.0 == b.0).filter(|class| class.len() >= FEWEST);
        let middle = |class: &[(i32, f64, f64)]| {
            let area = class.iter().map(|cell| libm::log(cell.1)).sum::<f64>() / class.len() as f64;
            (libm::exp(area), class[class.len() / 2].2)
        };
        classes.map(middle).collect()
    }

    /// Returns the line through the logarithms of slope over area; its value is −θ.
    pub fn slope_area(&self) -> Option<Fit> {
        let points = self.slopes_by_area().into_iter().filter(|(_, slope)| *slope > 0.0);
        Fit::through(&points.map(|(area, slope)| (libm::log(area), libm::log(slope))).collect::<Vec<_>>())
    }
}
