//! Fluxes across the faces of a cell, and the level at which its discharge leaves.

use super::super::friction::{CARRIES, DEEPER};

/// Maximum number of iterations for a level, and the relative error of its discharge that ends them.
const MOST_STEPS: usize = 60;
const MET: f64 = 5e-4;
/// First step from a guess, relative to its height above the level of no flow, and the factor by which each next step grows.
const NEAR: f64 = 0.02;
const FARTHER: f64 = 4.0;

/// Coefficients of gravity and friction in the flow across a face.
#[derive(Clone, Copy)]
pub(super) struct FaceCoefficients {
    /// g, in m/s².
    pub(super) gravity: f64,
    /// g·l·n².
    pub(super) drag: f64,
}

/// Face across which water leaves a cell.
#[derive(Clone, Copy)]
pub(super) struct Face {
    /// Index: left, right, above, below.
    pub(super) number: usize,
    /// Ground upstream and downstream of it, and the level downstream, in metres.
    pub(super) ground: [f64; 2],
    pub(super) level: f64,
    /// Advected momentum: flux times velocity of the face upstream of the cell, in m³/s².
    pub(super) momentum: f64,
}

impl Face {
    /// Returns the depth at the face for an upstream level, and the depth that sets the velocity, in metres.
    fn depths(&self, level: f64) -> [f64; 2] {
        let [before, behind] = self.ground;
        let depth = level.max(self.level) - before.max(behind);
        let least = (level - before).min(self.level - behind).min(depth).max(0.0);
        [depth, f64::from(DEEPER) * depth + (1.0 - f64::from(DEEPER)) * least]
    }

    /// Returns the velocity per unit of flux, in 1/m.
    pub(super) fn speed(&self, level: f64) -> f64 {
        let [_, seen] = self.depths(level);
        seen / (seen * seen + f64::from(CARRIES))
    }

    /// Returns the flux that an upstream level drives across it, in square metres per second.
    pub(super) fn passes(&self, level: f64, FaceCoefficients { gravity, drag }: FaceCoefficients) -> f64 {
        let [depth, fall] = [self.depths(level)[0], level - self.level];
        if depth <= 0.0 || fall <= 0.0 {
            return 0.0;
        }
        let root = 1.0 / libm::cbrt(depth);
        let square = root * root;
        ((gravity * depth * fall + self.momentum) / (self.speed(level) + drag * square * square * square * root)).sqrt()
    }
}

/// Returns the fraction of a cell's outflow across each face from the falls to its neighbours; 0 where no water leaves.
pub(super) fn parts_of(falls: [Option<f32>; 4]) -> [f32; 4] {
    let roots = falls.map(|fall| fall.map_or(0.0, |fall| fall.max(0.0).sqrt()));
    let sum: f32 = roots.iter().sum();
    if sum > 0.0 {
        return roots.map(|root| root / sum);
    }
    // A depression has a single outlet.
    let count = falls.iter().flatten().count().max(1) as f32;
    falls.map(|fall| if fall.is_some() { 1.0 / count } else { 0.0 })
}

/// Returns the level at which `flux` leaves across one or more faces, and `true` if it does so to within [`MET`]. A good guess saves
/// iterations.
pub(super) fn solve_level(faces: &[Face], flux: f64, pull: FaceCoefficients, guess: f64) -> (f64, bool) {
    // The highest level without flow.
    let foot = |face: &Face| face.level.max(face.ground[0]).max(face.ground[1]);
    let foot = faces.iter().map(foot).fold(f64::INFINITY, f64::min);
    if flux <= 0.0 {
        return (foot, true);
    }
    let passes = |level: f64| faces.iter().map(|face| face.passes(level, pull)).sum::<f64>() - flux;
    // Critical depth, as over a broad-crested weir.
    let weir = libm::cbrt(flux * flux / pull.gravity);
    let guess = if guess > foot { guess } else { foot + weir };
    let found = passes(guess);
    if found.abs() <= MET * flux {
        return (guess, true);
    }
    let (mut low, mut under, mut high, mut over) = (foot, -flux, guess, found);
    // Growing steps from the guess bracket the root.
    let mut step = NEAR * (guess - foot);
    if found < 0.0 {
        (low, under) = (guess, found);
        loop {
            high = low + step;
            over = passes(high);
            if over >= 0.0 || !step.is_finite() {
                break;
            }
            (low, under, step) = (high, over, FARTHER * step);
        }
    } else {
        while high - step > foot {
            let next = passes(high - step);
            if next < 0.0 {
                (low, under) = (high - step, next);
                break;
            }
            (high, over, step) = (high - step, next, FARTHER * step);
        }
    }
    // Regula falsi with halved weight of an end that stays (Illinois).
    let mut side = 0;
    for _ in 0..MOST_STEPS {
        let level = (low * over - high * under) / (over - under);
        let found = passes(level);
        if found.abs() <= MET * flux || high - low <= f64::EPSILON * high.abs() {
            return (level, true);
        }
        if found < 0.0 {
            (low, under) = (level, found);
            over *= if side < 0 { 0.5 } else { 1.0 };
            side = -1;
        } else {
            (high, over) = (level, found);
            under *= if side > 0 { 0.5 } else { 1.0 };
            side = 1;
        }
    }
    (high, false)
}
