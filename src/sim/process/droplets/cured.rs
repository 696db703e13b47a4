//! The default form of both laws: what the published forms are after, without their faults.
//!
//! A step of length τ ≤ dt, short enough that no droplet moves farther than one cell:
//!
//! ```text
//! (h, ∇h) bilinear at p      v → v·e^(−f·τ) + a·(1 − e^(−f·τ))/f      p' = p + L·τ·v      h' bilinear at p'
//! mass transfer:  a = n/(V·density), f = friction,  C = V·|v|·T·max(0, h − h')/τ,  V → V·e^(−Ke·τ)
//! capacity:       a = Ka·n,          f from Kf,     C = Kc·|v|·w,                   w → w − evaporation·τ
//! M → M + Δ,  Δ = (1 − e^(−K·τ))·(V·C − M)  (capacity: C − M), laid on or taken off around p
//! ```
//!
//! The droplet carries the mass M (metres times cells), so evaporation takes none of it. T is the published time step and
//! L = shorter side / 256 cells, the published map's cell: so the same rain does the same work on every grid of a map. A
//! droplet erodes at most its own fall and lays down at most the rise ahead or the step behind; what comes to lie above the
//! highest ground of the map, beside a cliff say, is taken off again and settles elsewhere. One that has found
//! no lower ground for a while sits in a hollow: it ends, and its load lies level there (see [`super::settling`]). Only
//! an open edge takes sediment off the map, and there the border cells keep their height: the base level.
//!
//! Every round all droplets see the ground that the last round left; then the ground changes, in the order of the
//! droplets (see [`crate::sim::swarm`]). So the result is the same for every number of threads.

#![expect(clippy::needless_range_loop, reason = "loops over lanes are what the vector unit understands")]

use super::{
    DropletLaw, Params,
    bundle::{Bundle, Droplet, Outcome},
    constants::Constants,
    ground::{Ground, change_inner},
    tracks::Tracks,
};
use crate::sim::{
    masked::{Covered, Mask},
    real::{LANES, Lanes, Real},
    swarm::{self, Swarm},
    terrain::{Edge, Terrain},
};

/// Greatest share of its own fall that a droplet digs in a step: cutting the rest is left to those that follow.
const GREATEST_CUT: f32 = 0.1;

/// Runs droplets until each has ended, the first of them watched if there are `tracks`. Returns what they did and leaves
/// in `droplets` those that hold sediment to be settled, and as one more what lies above the `highest` ground.
pub fn run(
    terrain: &mut Terrain,
    params: &Params,
    covered: Option<&Covered<Params>>,
    (droplets, highest): (&mut Vec<Droplet>, f32),
    tracks: Option<&Tracks>,
) -> Outcome {
    if tracks.is_some() {
        droplets.iter_mut().zip(1..).for_each(|(droplet, number)| droplet.watched = number);
    }
    let (width, height) = (terrain.bedrock.width(), terrain.bedrock.height());
    let mut ground = Ground::new(terrain);
    let law = Constants::new(params, terrain);
    let under = Constants::new(covered.map_or(params, |covered| &covered.params), terrain);
    let mut wave = CuredWave {
        settles_alike: law.lifting == law.settling && under.lifting == under.settling,
        law,
        under,
        mask: covered.map(|covered| &covered.mask),
        width: width as i32,
        height: height as i32,
        edge: terrain.edge,
        start: &terrain.start,
        outcome: Outcome::default(),
        holding: Vec::new(),
        tracks,
    };
    droplets.sort_by_key(|droplet| droplet.y as u32);
    let bundles = droplets.chunks(LANES).map(Bundle::of).collect();
    swarm::run(&mut wave, &mut ground, bundles);
    let (mut outcome, mut holding) = (wave.outcome, wave.holding);
    for y in 0..height {
        let first = ground.index(0, y as i32);
        for (x, cell) in ground.cells[first..first + width].iter_mut().enumerate() {
            if cell.surface > highest {
                let mass = cell.take(cell.surface - highest);
                outcome.eroded += f64::from(mass);
                holding.push(Droplet { mass, ..Droplet::at(x as f32 + 0.5, y as f32 + 0.5, 0.0) });
            }
            (terrain.bedrock[y * width + x], terrain.sand[y * width + x]) = (cell.bedrock, cell.sand);
        }
    }
    *droplets = holding;
    outcome
}

/// What eight droplets ask of the 3 × 3 cells around each of eight places: metres times cells, positive is taken off.
#[derive(Clone, Copy, Default)]
struct CuredNote {
    x: Lanes,
    y: Lanes,
    amount: Lanes,
}

/// The droplets of a wave.
struct CuredWave<'a> {
    law: Constants,
    /// The law under the mask, and the mask, if it makes a difference.
    under: Constants,
    mask: Option<&'a Mask>,
    /// Whether excess is laid down as fast as lack is taken up.
    settles_alike: bool,
    width: i32,
    height: i32,
    edge: Edge,
    start: &'a [f32],
    outcome: Outcome,
    holding: Vec<Droplet>,
    tracks: Option<&'a Tracks>,
}

impl Swarm for CuredWave<'_> {
    type Ground = Ground;
    type Bundle = Bundle;
    type Note = CuredNote;
    const EXCHANGES: usize = 24;

    #[inline(always)]
    fn advance(&self, ground: &Ground, bundle: &mut Bundle) -> CuredNote {
        if bundle.runs.any() { self.step(ground, bundle) } else { CuredNote::default() }
    }

    fn watches(&self) -> bool {
        self.tracks.is_some()
    }

    #[cold]
    fn watch(&self, bundle: &Bundle) {
        if let Some(tracks) = self.tracks {
            let running = |lane: usize| bundle.runs.0[lane] != 0;
            tracks.note(&bundle.watched, running, bundle.x, bundle.y);
        }
    }

    #[inline(always)]
    fn apply(&self, ground: &mut Ground, note: &CuredNote, bundle: Option<&mut Bundle>) {
        // SAFETY: a note's places lie on the map.
        let (columns, rows) = unsafe { (note.x.truncated(), note.y.truncated()) };
        let mut parts = [note.x, note.y];
        for lane in 0..LANES {
            parts[0].0[lane] -= columns[lane] as f32;
            parts[1].0[lane] -= rows[lane] as f32;
        }
        let (weights_x, weights_y) = (spline(parts[0]), spline(parts[1]));
        let mut given = Lanes::default();
        for lane in 0..LANES {
            let amount = note.amount.0[lane];
            if amount == 0.0 {
                continue;
            }
            let (column, row) = (columns[lane], rows[lane]);
            let across = [weights_x[0].0[lane], weights_x[1].0[lane], weights_x[2].0[lane]];
            let down = [amount * weights_y[0].0[lane], amount * weights_y[1].0[lane], amount * weights_y[2].0[lane]];
            let inner = column > 1 && row > 1 && column + 2 < self.width && row + 2 < self.height;
            given.0[lane] = if inner {
                // SAFETY: the 3 × 3 cells lie on the map.
                unsafe { change_inner(ground, column, row, across, down) }
            } else {
                self.change_at_border(ground, column, row, across, down)
            };
        }
        if let Some(bundle) = bundle {
            bundle.mass = bundle.mass + given;
            for lane in 0..LANES {
                // What is no number must not get lost here.
                let given = f64::from(given.0[lane]);
                if given > 0.0 {
                    bundle.account.eroded += given;
                } else {
                    bundle.account.deposited -= given;
                }
            }
        }
    }

    fn repack(&mut self, bundles: &mut [Bundle]) -> usize {
        let mut running = Vec::with_capacity(bundles.len() * LANES);
        for bundle in &*bundles {
            self.outcome.eroded += bundle.account.eroded;
            self.outcome.deposited += bundle.account.deposited;
            for (kind, sum) in self.outcome.limited.iter_mut().enumerate() {
                *sum += bundle.limited.iter().map(|count| u64::from(count >> (8 * kind) & 0xff)).sum::<u64>();
            }
            for lane in 0..bundle.used {
                let droplet = bundle.droplet(lane);
                if bundle.runs.0[lane] != 0 {
                    running.push(droplet);
                    continue;
                }
                self.outcome.steps += u64::from(droplet.steps);
                self.outcome.endless += u64::from(self.edge == Edge::Wrap && droplet.steps >= self.law.most_steps);
                if bundle.left.0[lane] != 0 {
                    self.outcome.outflow += f64::from(droplet.mass);
                } else if droplet.mass != 0.0 {
                    self.holding.push(droplet);
                }
            }
        }
        running.sort_by_key(|droplet| droplet.y as u32);
        for (bundle, droplets) in bundles.iter_mut().zip(running.chunks(LANES)) {
            *bundle = Bundle::of(droplets);
        }
        running.len().div_ceil(LANES)
    }
}

/// Weights of the cell before, of the cell and of the next for a place in the cell: a quadratic B-spline, smooth in the
/// place, its weights sum to one.
#[inline(always)]
fn spline(part: Lanes) -> [Lanes; 3] {
    let half = Lanes::splat(0.5);
    let t = part - half;
    [half * (half - t) * (half - t), Lanes::splat(0.75) - t * t, half * (half + t) * (half + t)]
}

/// What a law says where eight droplets are.
struct Local {
    friction: Lanes,
    capacity: Lanes,
    lifting: Lanes,
    settling: Lanes,
    evaporation: Lanes,
}

impl CuredWave<'_> {
    /// The law where the droplets are.
    #[inline(always)]
    fn local(&self, bundle: &Bundle) -> Local {
        let all = |value: f32| Lanes([value; LANES]);
        let (free, under) = (&self.law, &self.under);
        let Some(mask) = self.mask else {
            return Local {
                friction: all(free.friction),
                capacity: all(free.capacity),
                lifting: all(free.lifting),
                settling: all(free.settling),
                evaporation: all(free.evaporation),
            };
        };
        let mut covered = Lanes::default();
        for lane in 0..LANES {
            let (column, row) = (bundle.x.0[lane] as usize, bundle.y.0[lane] as usize);
            covered.0[lane] = mask.at(column, row);
        }
        let between = |free: f32, under: f32| all(free) + all(under - free) * covered;
        Local {
            friction: between(free.friction, under.friction),
            capacity: between(free.capacity, under.capacity),
            lifting: between(free.lifting, under.lifting),
            settling: between(free.settling, under.settling),
            evaporation: between(free.evaporation, under.evaporation),
        }
    }

    /// One step of eight droplets. Returns what they want of the ground.
    #[inline(always)]
    fn step(&self, ground: &Ground, bundle: &mut Bundle) -> CuredNote {
        let law = &self.law;
        let Local { friction, capacity, lifting, settling, evaporation } = self.local(bundle);
        let all = |value: f32| Lanes([value; LANES]);
        let (zero, one) = (all(0.0), all(1.0));
        // SAFETY: `Bundle::keep_on_map` has seen to it that droplets are on the map.
        let [here, along_x, along_y] = unsafe { ground.sample(bundle.x, bundle.y) };
        let (slope_x, slope_y) = (along_x * all(law.steepness), along_y * all(law.steepness));
        let mut push = all(-law.acceleration) / (one + (slope_x * slope_x + slope_y * slope_y)).sqrt();
        if law.law == DropletLaw::MassTransfer {
            push = push / bundle.volume;
        }
        let (push_x, push_y) = (push * slope_x, push * slope_y);
        // No farther than a cell: bound the step by the speed now and the speed it may gain.
        let dt = all(law.dt);
        let pace = {
            let (vx, vy) = (bundle.vx + dt * push_x, bundle.vy + dt * push_y);
            let after = vx * vx + vy * vy;
            let before = bundle.vx * bundle.vx + bundle.vy * bundle.vy;
            before.max(after).sqrt() * all(law.cells)
        };
        let short = (pace * dt).above(one);
        let time = short.choose(one / pace, dt);
        let kept_speed = decay(friction * time);
        // ∫ e^(−f·t) dt over the step; for small f·τ the quotient would lose its digits.
        let gained = (friction * time).above(all(1e-3)).choose((one - kept_speed) / friction, time);
        bundle.vx = bundle.vx * kept_speed + push_x * gained;
        bundle.vy = bundle.vy * kept_speed + push_y * gained;
        let mut note = CuredNote { x: bundle.x, y: bundle.y, amount: zero };
        // One that has ended stays where it ended: there its load settles.
        bundle.x = bundle.runs.choose(bundle.x + bundle.vx * (time * all(law.cells)), bundle.x);
        bundle.y = bundle.runs.choose(bundle.y + bundle.vy * (time * all(law.cells)), bundle.y);
        let left = bundle.keep_on_map((self.width as f32, self.height as f32), self.edge);
        // SAFETY: as above.
        let [ahead, _, _] = unsafe { ground.sample(bundle.x, bundle.y) };
        let fall = here - ahead;
        let speed = (bundle.vx * bundle.vx + bundle.vy * bundle.vy).sqrt();
        let capacity = match law.law {
            DropletLaw::MassTransfer => bundle.volume * bundle.volume * speed * capacity * fall.max(zero) / time,
            DropletLaw::Capacity => capacity * speed * bundle.volume,
        };
        let lacking = capacity - bundle.mass;
        let kept_lacking = decay(lifting * time);
        let kept_excess = if self.settles_alike { kept_lacking } else { decay(settling * time) };
        let (digs, cut) = ((one - kept_lacking) * lacking, fall.max(zero) * all(GREATEST_CUT));
        let rise = zero.above(fall).choose(-fall, (bundle.behind - here).max(zero));
        let lays = (one - kept_excess) * lacking;
        let amount = lacking.above(zero).choose(digs.min(cut), lays.max(-rise));
        let acts = bundle.runs.without(left);
        note.amount = acts.choose(amount, zero);
        // A byte for each kind holds what comes between two repackings.
        let (cut, risen) = (digs.above(cut), (-rise).above(lays));
        for lane in 0..LANES {
            let limited = (short.0[lane] & 1) | (cut.0[lane] & 0x100) | (risen.0[lane] & 0x1_0000);
            bundle.limited[lane] += limited & acts.0[lane];
        }
        bundle.behind = here;
        bundle.volume = match law.law {
            DropletLaw::MassTransfer => bundle.volume * decay(evaporation * time),
            DropletLaw::Capacity => bundle.volume - evaporation * time,
        };
        let found = (bundle.lowest - all(1e-4 / law.steepness)).above(ahead);
        bundle.lowest = found.choose(ahead, bundle.lowest);
        bundle.waited = found.choose(zero, bundle.waited + time);
        let mut ended = left.or(bundle.waited.above(all(law.patience)));
        for lane in 0..LANES {
            bundle.steps[lane] += bundle.runs.0[lane] & 1;
            let spent = bundle.volume.0[lane] <= law.min_volume;
            let endless = self.edge == Edge::Wrap && bundle.steps[lane] >= law.most_steps;
            ended.0[lane] |= if spent | endless { u32::MAX } else { 0 };
        }
        bundle.left = bundle.left.or(left);
        bundle.runs = bundle.runs.without(ended);
        note
    }

    /// As [`change_inner`], for places at the border.
    fn change_at_border(&self, ground: &mut Ground, column: i32, row: i32, across: [f32; 3], down: [f32; 3]) -> f32 {
        let place = |place: i32, side: i32| Some(self.edge.index(place as isize, side as usize)? as i32);
        let mut taken = [0.0; 3];
        for line in 0..3 {
            for offset in 0..3 {
                let x = place(column + offset as i32 - 1, self.width);
                let y = place(row + line as i32 - 1, self.height);
                let (Some(x), Some(y)) = (x, y) else { continue };
                let index = ground.index(x, y);
                let amount = down[line] * across[offset];
                let border = x == 0 || y == 0 || x == self.width - 1 || y == self.height - 1;
                let cell = &mut ground.cells[index];
                if border && amount > 0.0 && self.edge == Edge::Open {
                    // The base level: a border cell is not cut below its starting ground.
                    let spare = (cell.surface - self.start[(y * self.width + x) as usize]).max(0.0);
                    let loose = amount.min(cell.sand).min(spare);
                    let solid = ((amount - loose) * cell.erodibility).min(spare - loose);
                    let (old_bedrock, old_sand) = (cell.bedrock, cell.sand);
                    cell.sand -= loose;
                    cell.bedrock -= solid;
                    cell.surface = cell.bedrock + cell.sand;
                    taken[line] += (old_sand - cell.sand) + (old_bedrock - cell.bedrock);
                } else {
                    taken[line] += cell.take(amount);
                }
                ground.refresh(x, y);
            }
        }
        (taken[0] + taken[2]) + taken[1]
    }
}

/// e^(−x) for 0 ≤ x ≤ 5 to 2e-5, from plain arithmetic alone: the Taylor polynomial at x/16, squared four times.
#[inline(always)]
fn decay(x: Lanes) -> Lanes {
    let all = |value: f32| Lanes([value; LANES]);
    let (one, part) = (all(1.0), x * all(1.0 / 16.0));
    let mut power = one - part * (one - part * (all(0.5) - part * (all(1.0 / 6.0) - part * all(1.0 / 24.0))));
    for _ in 0..4 {
        power = power * power;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decay_is_the_exponential_function() {
        for step in 0..500 {
            let x = step as f32 * 0.01;
            assert!((decay(Lanes([x; LANES])).0[0] - (-x).exp()).abs() < 2e-5, "{x}");
        }
    }

    #[test]
    fn the_weights_of_a_change_sum_to_one() {
        for step in 0..100 {
            let total = |part: f32| spline(Lanes([part; LANES])).map(|weight| weight.0[0]).iter().sum::<f32>();
            let total = total(step as f32 * 0.01) * total(0.5);
            assert!((total - 1.0).abs() < 1e-6);
        }
    }
}
