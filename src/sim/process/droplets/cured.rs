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
//! droplet erodes at most its own fall and lays down at most the rise ahead or the step behind. One that has found
//! no lower ground for a while sits in a hollow: it ends, and its load lies level there (see [`super::settling`]). Only
//! an open edge takes sediment off the map, and there the border cells keep their height: the base level.
//!
//! Every round all droplets see the ground that the last round left; then each thread changes its own rows, in the order
//! of the droplets. So the result is the same for every number of threads.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use super::{Law, Params};
use crate::sim::{
    real::{Kernel, with_vector_unit},
    team::{self, Member, Shared},
    terrain::{Edge, Terrain},
};

/// Greatest share of its own fall that a droplet digs in a step: cutting the rest is left to those that follow.
const GREATEST_CUT: f32 = 0.1;
/// The time step to which the published capacity refers.
const PUBLISHED_DT: f32 = 1.2;
/// Side of the published map, in cells.
const PUBLISHED_SIDE: f32 = 256.0;
/// Time without lower ground after which a droplet counts as caught in a hollow.
const PATIENCE: f32 = 20.0;
/// Rounds between two sortings by row, which also drop the droplets that have ended.
const ROUNDS_PER_SORT: usize = 24;
/// Droplets whose changes are looked at together: a thread reads only blocks that concern its rows, because what another
/// thread has just written is slow to read.
const BLOCK: usize = 16;
/// Below this many droplets a second thread costs more than it does.
const DROPLETS_PER_THREAD: usize = 48;

/// A droplet on its way.
#[derive(Clone, Copy, Debug)]
pub struct Droplet {
    /// Column, in cells; the first cell reaches from 0 to 1.
    pub x: f32,
    /// Row, in cells.
    pub y: f32,
    /// Sediment on board, in metres times cells.
    pub mass: f32,
    vx: f32,
    vy: f32,
    volume: f32,
    lowest: f32,
    waited: f32,
    behind: f32,
    fate: Fate,
    change: Change,
    account: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Runs,
    Settles,
    Leaves,
}

/// What a droplet asks of the 3 × 3 cells around a place in one round.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    column: i32,
    row: i32,
    weights_x: [f32; 3],
    weights_y: [f32; 3],
    /// Metres times cells; positive is taken off the ground.
    amount: f32,
}

/// What droplets did, in metres times cells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Taken off the ground, every transfer counted.
    pub eroded: f64,
    /// Laid on the ground on the way, every transfer counted.
    pub deposited: f64,
    /// Carried over an open edge.
    pub outflow: f64,
    /// Steps taken.
    pub steps: u64,
}

impl Droplet {
    /// A droplet at rest, without sediment.
    pub fn at(x: f32, y: f32, volume: f32) -> Self {
        Self {
            x,
            y,
            mass: 0.0,
            vx: 0.0,
            vy: 0.0,
            volume,
            lowest: f32::INFINITY,
            waited: 0.0,
            behind: f32::NEG_INFINITY,
            fate: Fate::Runs,
            change: Change::default(),
            account: Outcome::default(),
        }
    }

    /// Takes on board what three rows of the ground gave in the last round.
    #[inline(always)]
    fn receive(&mut self, given: [f32; 3]) {
        let taken = (given[0] + given[2]) + given[1];
        self.mass += taken;
        if taken > 0.0 {
            self.account.eroded += f64::from(taken);
        } else {
            self.account.deposited -= f64::from(taken);
        }
        self.change.amount = 0.0;
    }
}

/// Runs droplets until each has ended. Returns what they did and leaves in `droplets` those that hold sediment to be
/// settled.
pub fn run(terrain: &mut Terrain, params: &Params, droplets: &mut Vec<Droplet>) -> Outcome {
    let law = Constants::new(params, terrain);
    droplets.sort_by_key(|droplet| droplet.y as u32);
    let threads = rayon::current_num_threads().min(droplets.len() / DROPLETS_PER_THREAD).max(1);
    let (count, ended) = (AtomicUsize::new(droplets.len()), Mutex::new((Outcome::default(), Vec::new())));
    let mut given = vec![0.0; 3 * droplets.len()];
    let mut reaches = vec![Reach::default(); droplets.len().div_ceil(BLOCK)];
    let ground = Ground {
        width: terrain.bedrock.width() as i32,
        height: terrain.bedrock.height() as i32,
        edge: terrain.edge,
        softness: &terrain.softness,
        start: &terrain.start,
        bedrock: Shared::new(&mut terrain.bedrock),
        sand: Shared::new(&mut terrain.sand),
    };
    let (droplets_shared, given, reaches) = (Shared::new(droplets), Shared::new(&mut given), Shared::new(&mut reaches));
    team::run(threads, |mut member| {
        loop {
            let running = count.load(Ordering::Relaxed);
            if running == 0 || !member.shrink(running / DROPLETS_PER_THREAD) {
                break;
            }
            with_vector_unit(Rounds {
                law: &law,
                ground: &ground,
                droplets: droplets_shared,
                given,
                reaches,
                running,
                member: &member,
            });
            if member.index() == 0 {
                // SAFETY: the others wait until the droplets are sorted.
                let (droplets, given) = unsafe { (droplets_shared.slice_mut(), given.slice_mut()) };
                let (droplets, given) = (&mut droplets[..running], &mut given[..3 * running]);
                count.store(sort(droplets, given, &ended), Ordering::Relaxed);
            }
            member.wait();
        }
    });
    let (outcome, ended) = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    *droplets = ended;
    outcome
}

/// Takes out the droplets that have ended and sorts the others by row. Returns their number.
fn sort(droplets: &mut [Droplet], given: &mut [f32], ended: &Mutex<(Outcome, Vec<Droplet>)>) -> usize {
    let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
    let (outcome, holding) = &mut *ended;
    let mut left = 0;
    for index in 0..droplets.len() {
        let mut droplet = droplets[index];
        droplet.receive([0, 1, 2].map(|line| given[3 * index + line]));
        if droplet.fate == Fate::Runs {
            droplets[left] = droplet;
            left += 1;
            continue;
        }
        outcome.eroded += droplet.account.eroded;
        outcome.deposited += droplet.account.deposited;
        outcome.steps += droplet.account.steps;
        if droplet.fate == Fate::Leaves {
            outcome.outflow += f64::from(droplet.mass);
        } else if droplet.mass > 0.0 {
            holding.push(droplet);
        }
    }
    given.fill(0.0);
    droplets[..left].sort_by_key(|droplet| droplet.y as u32);
    left
}

/// The layers as the threads share them.
struct Ground<'a> {
    width: i32,
    height: i32,
    edge: Edge,
    softness: &'a [f32],
    start: &'a [f32],
    bedrock: Shared<'a, f32>,
    sand: Shared<'a, f32>,
}

impl Ground<'_> {
    /// Height of a cell; for one outside, of the cell that stands for it.
    ///
    /// # Safety
    /// No thread writes the layers meanwhile.
    #[inline(always)]
    unsafe fn height(&self, x: i32, y: i32) -> f32 {
        let (x, y) = match self.edge {
            Edge::Wrap => (x.rem_euclid(self.width), y.rem_euclid(self.height)),
            _ => (x.clamp(0, self.width - 1), y.clamp(0, self.height - 1)),
        };
        let index = (y * self.width + x) as usize;
        // SAFETY: as promised by the caller.
        unsafe { *self.bedrock.get(index) + *self.sand.get(index) }
    }

    /// Height and its differences per cell along columns and rows, bilinear between cell centres.
    ///
    /// # Safety
    /// No thread writes the layers meanwhile.
    #[inline(always)]
    unsafe fn sample(&self, x: f32, y: f32) -> (f32, f32, f32) {
        let (x, y) = (x - 0.5, y - 0.5);
        // Floor for numbers above −1, which is all that a map has.
        let (column, row) = ((x + 1.0) as i32 - 1, (y + 1.0) as i32 - 1);
        let (fx, fy) = (x - column as f32, y - row as f32);
        // SAFETY: as promised by the caller.
        let [nw, ne, sw, se] = unsafe {
            if column >= 0 && row >= 0 && column + 1 < self.width && row + 1 < self.height {
                let first = (row * self.width + column) as usize;
                let second = first + self.width as usize;
                let (bedrock, sand) = (self.bedrock.pointer(), self.sand.pointer());
                let at = |index: usize| *bedrock.add(index) + *sand.add(index);
                [at(first), at(first + 1), at(second), at(second + 1)]
            } else {
                [
                    self.height(column, row),
                    self.height(column + 1, row),
                    self.height(column, row + 1),
                    self.height(column + 1, row + 1),
                ]
            }
        };
        let (north, south) = (nw + fx * (ne - nw), sw + fx * (se - sw));
        let along_x = (ne - nw) + fy * ((se - sw) - (ne - nw));
        (north + fy * (south - north), along_x, south - north)
    }

    /// Applies the part of a change that lies in one row. Returns what was taken, in metres times cells.
    ///
    /// # Safety
    /// No other thread uses this row of the layers meanwhile.
    #[inline(always)]
    unsafe fn apply_row(&self, change: &Change, line: usize, row: i32) -> f32 {
        let share = change.amount * change.weights_y[line];
        let mut taken = 0.0;
        let inner = change.column > 1 && row > 0 && change.column + 2 < self.width && row + 1 < self.height;
        if inner {
            let first = (row * self.width + change.column - 1) as usize;
            for offset in 0..3 {
                let amount = share * change.weights_x[offset];
                // SAFETY: an inner cell of the map, used as promised by the caller.
                let (bedrock, sand, softness) = unsafe {
                    let index = first + offset;
                    (
                        &mut *self.bedrock.pointer().add(index),
                        &mut *self.sand.pointer().add(index),
                        self.softness.get_unchecked(index),
                    )
                };
                let (old_bedrock, old_sand) = (*bedrock, *sand);
                // Negative, what is laid down is all loose.
                let loose = amount.min(old_sand);
                let solid = (amount - loose) * 2.0 * softness;
                *sand = old_sand - loose;
                *bedrock = old_bedrock - solid;
                taken += (old_sand - *sand) + (old_bedrock - *bedrock);
            }
            return taken;
        }
        for offset in 0..3 {
            let mut column = change.column + offset as i32 - 1;
            if self.edge == Edge::Wrap {
                column = column.rem_euclid(self.width);
            }
            if column < 0 || column >= self.width {
                continue;
            }
            let index = (row * self.width + column) as usize;
            let amount = share * change.weights_x[offset];
            // SAFETY: as promised by the caller.
            let (bedrock, sand) = unsafe { (self.bedrock.get_mut(index), self.sand.get_mut(index)) };
            let (old_bedrock, old_sand) = (*bedrock, *sand);
            if amount > 0.0 {
                let mut loose = amount.min(old_sand);
                let mut solid = (amount - loose) * 2.0 * self.softness[index];
                let border = column == 0 || row == 0 || column == self.width - 1 || row == self.height - 1;
                if border && self.edge == Edge::Open {
                    // The base level: a border cell is not cut below its starting ground.
                    let spare = (old_bedrock + old_sand - self.start[index]).max(0.0);
                    loose = loose.min(spare);
                    solid = solid.min(spare - loose);
                }
                *sand = old_sand - loose;
                *bedrock = old_bedrock - solid;
            } else {
                *sand = old_sand - amount;
            }
            taken += (old_sand - *sand) + (old_bedrock - *bedrock);
        }
        taken
    }
}

/// One thread's part of the rounds between two sortings.
struct Rounds<'a> {
    law: &'a Constants,
    ground: &'a Ground<'a>,
    droplets: Shared<'a, Droplet>,
    given: Shared<'a, f32>,
    reaches: Shared<'a, Reach>,
    running: usize,
    member: &'a Member<'a>,
}

impl Kernel for Rounds<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { law, ground, droplets, given, reaches, running, member } = self;
        let blocks = running.div_ceil(BLOCK);
        let own = member.share(blocks);
        let members = |block: usize| block * BLOCK..((block + 1) * BLOCK).min(running);
        // SAFETY: nobody writes before the first wait.
        let row_of = |block: usize| unsafe { droplets.get(block * BLOCK) }.y as i32;
        let from = if own.start == 0 { 0 } else { row_of(own.start) };
        let to = if own.end == blocks { ground.height } else { row_of(own.end) };
        member.wait();
        for _ in 0..ROUNDS_PER_SORT {
            for block in own.clone() {
                let mut reach = Reach::default();
                for index in members(block) {
                    // SAFETY: shares don't overlap, and nobody writes the layers before the wait.
                    unsafe {
                        let droplet = droplets.get_mut(index);
                        if droplet.change.amount != 0.0 {
                            let rows = [0, 1, 2].map(|line| given.get_mut(3 * index + line));
                            droplet.receive([*rows[0], *rows[1], *rows[2]]);
                            rows.into_iter().for_each(|row| *row = 0.0);
                        }
                        if droplet.fate == Fate::Runs {
                            law.step(ground, droplet);
                        }
                        reach.include(&droplet.change);
                    }
                }
                // SAFETY: shares don't overlap.
                unsafe { *reaches.get_mut(block) = reach };
            }
            member.wait();
            for block in 0..blocks {
                // SAFETY: droplets and reaches are only read until the next wait, and each row of the layers, with what
                // it gives, belongs to one thread.
                unsafe {
                    if !reaches.get(block).meets(from, to, ground) {
                        continue;
                    }
                    for index in members(block) {
                        let change = &droplets.get(index).change;
                        if change.amount == 0.0 {
                            continue;
                        }
                        for line in 0..3 {
                            let mut row = change.row + line as i32 - 1;
                            if ground.edge == Edge::Wrap {
                                row = row.rem_euclid(ground.height);
                            }
                            if row >= from && row < to {
                                *given.get_mut(3 * index + line) = ground.apply_row(change, line, row);
                            }
                        }
                    }
                }
            }
            member.wait();
        }
    }
}

/// First and last row of the places around which a block of droplets changes the ground.
#[derive(Clone, Copy, Debug)]
struct Reach {
    first: i32,
    last: i32,
}

impl Default for Reach {
    fn default() -> Self {
        Self { first: i32::MAX, last: i32::MIN }
    }
}

impl Reach {
    fn include(&mut self, change: &Change) {
        if change.amount != 0.0 {
            self.first = self.first.min(change.row);
            self.last = self.last.max(change.row);
        }
    }

    /// Whether a change may touch rows in from..to. Changes at the border of a map that wraps touch its other side.
    fn meets(&self, from: i32, to: i32, ground: &Ground<'_>) -> bool {
        let wraps = ground.edge == Edge::Wrap && (self.first == 0 || self.last == ground.height - 1);
        self.first <= self.last && (wraps || (self.last + 1 >= from && self.first <= to))
    }
}

/// The constants of a law on a terrain.
struct Constants {
    law: Law,
    dt: f32,
    /// Cells per unit of length of the published map.
    cells: f32,
    steepness: f32,
    acceleration: f32,
    friction: f32,
    capacity: f32,
    lifting: f32,
    settling: f32,
    evaporation: f32,
    min_volume: f32,
    patience: f32,
    most_steps: u64,
    full_step: Decays,
}

/// What is left of speed, missing load, excess load and water after a step.
#[derive(Clone, Copy)]
struct Decays {
    speed: f32,
    lifting: f32,
    settling: f32,
    volume: f32,
}

impl Constants {
    fn new(params: &Params, terrain: &Terrain) -> Self {
        let side = terrain.width().min(terrain.height()) as f32;
        // A share lost per step as a rate per step: −ln(1 − K), to within a few percent.
        let rate = |share: f32| share / (1.0 - 0.5 * share);
        let mut law = match params.law {
            Law::MassTransfer => Self {
                dt: params.dt,
                acceleration: 1.0 / params.density,
                friction: params.friction,
                capacity: PUBLISHED_DT,
                lifting: params.deposition_rate,
                settling: params.deposition_rate,
                evaporation: params.evaporation_rate,
                min_volume: params.min_volume,
                patience: PATIENCE,
                ..Self::EMPTY
            },
            Law::Capacity => Self {
                dt: 1.0,
                acceleration: params.acceleration,
                friction: rate(params.drag),
                capacity: params.capacity * 0.01 * terrain.cell_size * side / PUBLISHED_SIDE,
                lifting: rate(params.suspension),
                settling: rate(params.settling),
                evaporation: params.evaporation,
                patience: PATIENCE,
                ..Self::EMPTY
            },
        };
        law.law = params.law;
        law.cells = side / PUBLISHED_SIDE;
        law.steepness = 1.0 / terrain.cell_size;
        law.most_steps = 4 * (terrain.width() + terrain.height()) as u64;
        law.full_step = law.decays(law.dt);
        law
    }

    const EMPTY: Self = Self {
        law: Law::MassTransfer,
        dt: 0.0,
        cells: 0.0,
        steepness: 0.0,
        acceleration: 0.0,
        friction: 0.0,
        capacity: 0.0,
        lifting: 0.0,
        settling: 0.0,
        evaporation: 0.0,
        min_volume: 0.0,
        patience: 0.0,
        most_steps: 0,
        full_step: Decays { speed: 0.0, lifting: 0.0, settling: 0.0, volume: 0.0 },
    };

    fn decays(&self, time: f32) -> Decays {
        Decays {
            speed: decay(self.friction * time),
            lifting: decay(self.lifting * time),
            settling: decay(self.settling * time),
            volume: decay(self.evaporation * time),
        }
    }

    /// One step of one droplet; what it wants of the ground is noted in its change.
    ///
    /// # Safety
    /// No thread writes the layers meanwhile.
    #[inline(always)]
    unsafe fn step(&self, ground: &Ground<'_>, droplet: &mut Droplet) {
        // SAFETY: as promised by the caller.
        let (here, along_x, along_y) = unsafe { ground.sample(droplet.x, droplet.y) };
        let (slope_x, slope_y) = (along_x * self.steepness, along_y * self.steepness);
        let mut push = -self.acceleration / (1.0 + (slope_x * slope_x + slope_y * slope_y)).sqrt();
        if self.law == Law::MassTransfer {
            push /= droplet.volume;
        }
        let (push_x, push_y) = (push * slope_x, push * slope_y);
        // No farther than a cell: bound the step by the speed now and the speed it may gain.
        let pace = {
            let (vx, vy) = (droplet.vx + self.dt * push_x, droplet.vy + self.dt * push_y);
            let after = vx * vx + vy * vy;
            let before = droplet.vx * droplet.vx + droplet.vy * droplet.vy;
            before.max(after).sqrt() * self.cells
        };
        let (time, decays) =
            if pace * self.dt <= 1.0 { (self.dt, self.full_step) } else { (1.0 / pace, self.decays(1.0 / pace)) };
        // ∫ e^(−f·t) dt over the step; for small f·τ the quotient would lose its digits.
        let gained = if self.friction * time > 1e-3 { (1.0 - decays.speed) / self.friction } else { time };
        droplet.vx = droplet.vx * decays.speed + push_x * gained;
        droplet.vy = droplet.vy * decays.speed + push_y * gained;
        let (from_x, from_y) = (droplet.x, droplet.y);
        droplet.x += droplet.vx * (time * self.cells);
        droplet.y += droplet.vy * (time * self.cells);
        droplet.account.steps += 1;
        if !self.keep_on_map(ground, droplet) {
            droplet.fate = Fate::Leaves;
            return;
        }
        // SAFETY: as promised by the caller.
        let (ahead, _, _) = unsafe { ground.sample(droplet.x, droplet.y) };
        let fall = here - ahead;
        let speed = (droplet.vx * droplet.vx + droplet.vy * droplet.vy).sqrt();
        let capacity = match self.law {
            Law::MassTransfer => droplet.volume * droplet.volume * speed * self.capacity * fall.max(0.0) / time,
            Law::Capacity => self.capacity * speed * droplet.volume,
        };
        let lacking = capacity - droplet.mass;
        let amount = if lacking > 0.0 {
            ((1.0 - decays.lifting) * lacking).min(fall.max(0.0) * GREATEST_CUT)
        } else {
            let room = if fall < 0.0 { -fall } else { (droplet.behind - here).max(0.0) };
            ((1.0 - decays.settling) * lacking).max(-room)
        };
        droplet.change = Change::around(from_x, from_y, amount);
        droplet.behind = here;
        droplet.volume = match self.law {
            Law::MassTransfer => droplet.volume * decays.volume,
            Law::Capacity => droplet.volume - self.evaporation * time,
        };
        droplet.waited += time;
        if ahead < droplet.lowest - 1e-4 / self.steepness {
            droplet.lowest = ahead;
            droplet.waited = 0.0;
        }
        let spent = droplet.volume <= self.min_volume || droplet.waited > self.patience;
        let endless = ground.edge == Edge::Wrap && droplet.account.steps >= self.most_steps;
        if spent || endless {
            droplet.fate = Fate::Settles;
        }
    }

    /// Reflects, wraps or lets go. False if the droplet has left the map.
    #[inline(always)]
    fn keep_on_map(&self, ground: &Ground<'_>, droplet: &mut Droplet) -> bool {
        let (right, bottom) = (ground.width as f32, ground.height as f32);
        if droplet.x >= 0.0 && droplet.y >= 0.0 && droplet.x < right && droplet.y < bottom {
            return true;
        }
        // The largest f32 below a side, so that rounding cannot put a droplet outside.
        let inside = |position: f32, side: f32| position.max(0.0).min(side.next_down());
        match ground.edge {
            Edge::Open => return false,
            Edge::Wrap => {
                let wrap = |position: f32, side: f32| {
                    if position < 0.0 {
                        position + side
                    } else if position >= side {
                        position - side
                    } else {
                        position
                    }
                };
                droplet.x = inside(wrap(droplet.x, right), right);
                droplet.y = inside(wrap(droplet.y, bottom), bottom);
            }
            Edge::Wall => {
                let mirror = |position: &mut f32, velocity: &mut f32, side: f32| {
                    if *position < 0.0 || *position >= side {
                        *position = if *position < 0.0 { -*position } else { side + side - *position };
                        *velocity = -*velocity;
                    }
                    *position = inside(*position, side);
                };
                mirror(&mut droplet.x, &mut droplet.vx, right);
                mirror(&mut droplet.y, &mut droplet.vy, bottom);
            }
        }
        true
    }
}

impl Change {
    /// A change spread over 3 × 3 cells by the quadratic B-spline: smooth in the place, its weights sum to one.
    #[inline(always)]
    fn around(x: f32, y: f32, amount: f32) -> Self {
        let spline = |part: f32| {
            let t = part - 0.5;
            [0.5 * (0.5 - t) * (0.5 - t), 0.75 - t * t, 0.5 * (0.5 + t) * (0.5 + t)]
        };
        let (column, row) = (x as i32, y as i32);
        Self { column, row, weights_x: spline(x - column as f32), weights_y: spline(y - row as f32), amount }
    }
}

/// e^(−x) for 0 ≤ x ≤ 5 to 2e-5, from plain arithmetic alone: the Taylor polynomial at x/16, squared four times.
#[inline(always)]
fn decay(x: f32) -> f32 {
    let part = x * (1.0 / 16.0);
    let mut power = 1.0 - part * (1.0 - part * (0.5 - part * (1.0 / 6.0 - part * (1.0 / 24.0))));
    for _ in 0..4 {
        power *= power;
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
            assert!((decay(x) - (-x).exp()).abs() < 2e-5, "{x}");
        }
    }

    #[test]
    fn the_weights_of_a_change_sum_to_one() {
        for step in 0..100 {
            let change = Change::around(7.0 + step as f32 * 0.01, 3.5, 1.0);
            let total: f32 = change.weights_x.iter().sum::<f32>() * change.weights_y.iter().sum::<f32>();
            assert!((total - 1.0).abs() < 1e-6);
        }
    }
}
