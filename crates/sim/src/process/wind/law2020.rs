//! Law "2020": grains of wind that slide over the ground, fly, and beat sand loose, written once over [`Real`].
//!
//! A step of dt for a grain at p (cells) and height (all heights as multiples of 80 cells) with velocity v:
//!
//! ```text
//! height < ground: lifted to it.     height > ground: v_up −= dt·gravity,   else v += dt·(v × n) × n
//! v += 0.1·dt·(wind − v)             p += dt·v_horizontal                   height += dt·v_up
//! in contact with the new cell:  force = |v|·(ground' − height);  bare: dt·abrasion·force·load of rock turns into sand,
//!     else dt·suspension·force of sand is lifted, as long as there is more than that, else what is there is gone
//! flying:  load −= dt·suspension·load;  dt·suspension·load falls, half on the old, half on the new cell
//! ```
//!
//! n is the normal of central differences, bilinear between four cells. Since (v × n) × n = −v_tangential, the published
//! "deflection" is drag. Cured: the part of v that runs into the ground is taken off instead, a grain lifts what is there,
//! and what it drops is what it loses. Even so it makes ripples and rough dunes, but no barchans: of twelve settings tried
//! (wind 2 and 4, gravity 0.1 to 1, suspension 0.002 and 0.01) each spread a heap on bare rock over the whole plain. With a
//! gravity of 0.01 a heap stays and gets a steep lee among ripples, but no horns.

use super::{
    Params,
    field::{BLOWS, Field, HEIGHT, LOOSE, QUANTA, WEAR},
    flight::{GrainLaw, GrainNote, Grains, TOUCH},
};
use crate::simd::{cells::Cells, real::Real};

/// Cell sizes in a height of one: the published program scales its normals by it.
pub const TALL: f64 = 80.0;
/// Rate at which the wind takes a grain along.
const RELAXATION: f64 = 0.1;
/// Speed below which a grain ends.
const SLOWEST: f64 = 0.01;

/// Where a grain is and how it moves. Cells, and heights in units of 80 cells.
#[derive(Clone, Copy, Debug)]
pub struct Motion<R> {
    /// Column; a cell's value stands at its whole number.
    pub x: R,
    /// Row.
    pub y: R,
    /// Height.
    pub height: R,
    /// Velocity along columns, along rows and upwards.
    pub velocity: [R; 3],
}

/// The numbers of the law.
#[derive(Clone, Copy, Debug)]
pub struct Constants2020<C> {
    dt: C,
    fall: C,
    relaxation: C,
    wind: [C; 2],
    suspension: C,
    abrasion: C,
    cured: bool,
}

impl<C: Real> Constants2020<C> {
    /// The numbers of these parameters in a wind, in cells per unit of time.
    pub fn new(params: &Params, wind: [f64; 2], cured: bool) -> Self {
        let dt = f64::from(params.dt);
        Self {
            dt: C::splat(dt),
            fall: C::splat(dt * f64::from(params.gravity)),
            relaxation: C::splat(RELAXATION * dt),
            wind: wind.map(C::splat),
            suspension: C::splat(dt * f64::from(params.suspension)),
            abrasion: C::splat(dt * f64::from(params.abrasion)),
            cured,
        }
    }

    /// Lifts a grain to ground of this height. Returns what it lay below it: not negative if it is in contact.
    #[inline(always)]
    pub fn lift<R: Real>(&self, grain: &mut Motion<R>, ground: R) -> R {
        let contact = ground - grain.height;
        grain.height = grain.height.max(ground);
        contact
    }

    /// The velocity that a grain in contact is left with by ground of this normal.
    #[inline(always)]
    pub fn slide<R: Real>(&self, [vx, vy, vz]: [R; 3], [nx, ny, nz]: [R; 3]) -> [R; 3]
    where
        C: Into<f64>,
    {
        let along = (vx * nx + vy * ny) + vz * nz;
        let square = (nx * nx + ny * ny) + nz * nz;
        if self.cured {
            let into = -(-along).max(R::splat(0.0)) / square;
            [vx - into * nx, vy - into * ny, vz - into * nz]
        } else {
            let dt = R::splat(self.dt.into());
            let part = |v: R, n: R| v + dt * (along * n - square * v);
            [part(vx, nx), part(vy, ny), part(vz, nz)]
        }
    }

    /// The velocity that gravity leaves a flying grain.
    #[inline(always)]
    pub fn fall<R: Real>(&self, [vx, vy, vz]: [R; 3]) -> [R; 3]
    where
        C: Into<f64>,
    {
        [vx, vy, vz - R::splat(self.fall.into())]
    }

    /// Takes the grain along with the wind, which `blows` so many times as strong here.
    #[inline(always)]
    pub fn drive<R: Real>(&self, grain: &mut Motion<R>, velocity: [R; 3], blows: R)
    where
        C: Into<f64>,
    {
        let number = |value: C| R::splat(value.into());
        let (relaxation, dt) = (number(self.relaxation), number(self.dt));
        let wind = [number(self.wind[0]) * blows, number(self.wind[1]) * blows, R::splat(0.0)];
        for ((own, velocity), wind) in grain.velocity.iter_mut().zip(velocity).zip(wind) {
            *own = velocity + relaxation * (wind - velocity);
        }
        let [vx, vy, vz] = grain.velocity;
        grain.x = grain.x + dt * vx;
        grain.y = grain.y + dt * vy;
        grain.height = grain.height + dt * vz;
    }
}

impl<R: Real> Motion<R> {
    /// Speed.
    #[inline(always)]
    pub fn speed(&self) -> R {
        let [vx, vy, vz] = self.velocity;
        ((vx * vx + vy * vy) + vz * vz).sqrt()
    }
}

/// The normal at a place between four cells, as (along columns, along rows, up).
///
/// `rows` are the heights of four by four cells, those in the middle around the place; `fx` and `fy` are its distance from the
/// north-western one of these. The corners are not used.
#[inline(always)]
pub fn normal<R: Real>([a, b, c, d]: [[R; 4]; 4], [fx, fy]: [R; 2]) -> [R; 3] {
    let one = R::splat(1.0);
    let (gx, gy) = (one - fx, one - fy);
    let nw = corner([b[0], b[2], a[1], c[1]], gx * gy);
    let ne = corner([b[1], b[3], a[2], c[2]], fx * gy);
    let sw = corner([c[0], c[2], b[1], d[1]], gx * fy);
    let se = corner([c[1], c[3], b[2], d[2]], fx * fy);
    [(nw[0] + ne[0]) + (sw[0] + se[0]), (nw[1] + ne[1]) + (sw[1] + se[1]), (nw[2] + ne[2]) + (sw[2] + se[2])]
}

/// The unit normal between four heights, times a weight.
#[inline(always)]
fn corner<R: Real>([west, east, north, south]: [R; 4], weight: R) -> [R; 3] {
    let half = R::splat(0.5 * TALL);
    let (x, y) = (half * (west - east), half * (north - south));
    let up = weight / ((x * x + y * y) + R::splat(1.0)).sqrt();
    [x * up, y * up, up]
}

/// The law over the ground that a wave of grains sees.
pub struct Law2020<'a> {
    /// The ground; heights in units of 80 cells.
    pub field: &'a Field,
    /// The numbers.
    pub constants: Constants2020<f32>,
    /// Cells at the border in which a grain has left.
    pub margin: f32,
    /// Whether grains that leave come in on the other side.
    pub periodic: bool,
    /// Whether the border throws grains back.
    pub walls: bool,
    /// Steps after which a grain ends.
    pub longest: f32,
}

/// Quanta in a height of one.
const PER_HEIGHT: f32 = QUANTA * TALL as f32;
/// Share of a cell's sand that a grain lifts at most in a step, cured: others come too.
const GREATEST_BITE: f32 = 1.0 / 16.0;
/// Greatest change of a cell in a step, in heights: what a count of quanta holds over a round of steps.
pub const MOST: f32 = 0.1;
/// Greatest load, in heights: what a count of quanta holds.
const FULL: f32 = 1.2;

impl Law2020<'_> {
    /// Brings a grain back that has crossed a border which wraps or throws it back; `last` is where the map ends.
    #[inline(always)]
    fn bring_back<V: Cells>(&self, motion: &mut Motion<V>, last: [V; 2]) {
        let zero = V::all(0.0);
        if self.periodic {
            (motion.x, motion.y) = self.field.wrapped(motion.x, motion.y);
        } else if self.walls {
            let turn = |place: V, speed: V, last: V| {
                let last = last - V::all(1e-3);
                let speed = (-place).if_above(zero, speed.max(-speed), place.if_above(last, -speed.max(-speed), speed));
                (place.max(zero).min(last), speed)
            };
            (motion.x, motion.velocity[0]) = turn(motion.x, motion.velocity[0], last[0]);
            (motion.y, motion.velocity[1]) = turn(motion.y, motion.velocity[1], last[1]);
        }
    }

    /// What a grain in contact takes on board, what the ground loses, and what wears off the rock, in quanta: of the `loose`
    /// sand it would `lift` so much; `abrasion` is the blow times its rate, and the load.
    #[inline(always)]
    fn beats<V: Cells>(&self, lift: V, loose: V, (abrasion, load): (V, V), wear: V) -> [V; 3] {
        let zero = V::all(0.0);
        if self.constants.cured {
            let lifted = lift.min(loose * V::all(GREATEST_BITE)) * V::all(PER_HEIGHT);
            return [lifted, lifted, abrasion * (load * wear)];
        }
        let lifted = loose.if_above(lift, lift, zero) * V::all(PER_HEIGHT);
        let all = loose.positive().min(V::all(MOST));
        let taken = loose.if_above(lift, lift, all) * V::all(PER_HEIGHT);
        // Less than a quantum is no sand.
        let bare = V::all(1.0 / PER_HEIGHT);
        [lifted, taken, loose.if_above(bare, zero, abrasion * load)]
    }
}

impl GrainLaw for Law2020<'_> {
    fn settles(&self) -> bool {
        self.constants.cured
    }

    fn field(&self) -> &Field {
        self.field
    }

    fn bite(&self) -> f32 {
        // As published, a blow that asks for more than there is takes all of it.
        if self.constants.cured { GREATEST_BITE } else { 1.0 }
    }

    #[inline(always)]
    fn step<V: Cells>(&self, grains: &mut Grains<V>) -> GrainNote<V> {
        let field = self.field;
        let (zero, one) = (V::all(0.0), V::all(1.0));
        let old = field.cell::<V>(grains.x, grains.y);
        let part = [grains.x - V::number(V::truncated(grains.x)), grains.y - V::number(V::truncated(grains.y))];
        let mut motion = Motion { x: grains.x, y: grains.y, height: grains.height, velocity: grains.velocity };
        // SAFETY: grains are on the map, and the field has two more cells on each side.
        let (here, rows) = unsafe {
            let rows = [
                field.heights::<V>(&old, -1),
                field.heights::<V>(&old, 0),
                field.heights::<V>(&old, 1),
                field.heights::<V>(&old, 2),
            ];
            (field.parts::<V>(&old), rows)
        };
        let contact = self.constants.lift(&mut motion, here[HEIGHT]);
        let fallen = self.constants.fall(grains.velocity);
        let slid = self.constants.slide(grains.velocity, normal(rows, part));
        let velocity = [
            contact.if_positive(slid[0], fallen[0]),
            contact.if_positive(slid[1], fallen[1]),
            contact.if_positive(slid[2], fallen[2]),
        ];
        self.constants.drive(&mut motion, velocity, here[BLOWS]);
        let runs = grains.runs;
        let (first, right, bottom) =
            (V::all(self.margin), V::all(field.width as f32 - self.margin), V::all(field.height as f32 - self.margin));
        self.bring_back(&mut motion, [right, bottom]);
        let inside = (motion.x - first).if_positive(one, zero) * (motion.y - first).if_positive(one, zero);
        let inside = bottom.if_above(motion.y, right.if_above(motion.x, inside, zero), zero);
        let acts = runs * inside;
        // One that has left stays where it was.
        grains.x = acts.if_above(zero, motion.x, grains.x);
        grains.y = acts.if_above(zero, motion.y, grains.y);
        let new = field.cell::<V>(grains.x, grains.y);
        // SAFETY: as above.
        let reached = unsafe { field.parts::<V>(&new) }[HEIGHT];
        let loose = here[LOOSE];
        let speed = motion.speed();
        let depth = reached - motion.height;
        let contact = depth.if_positive(acts, zero);
        let force = speed * depth.positive();
        let load = V::number(grains.load);
        let free_load = (V::all(FULL) - load * V::all(1.0 / PER_HEIGHT)).positive();
        let lift = (V::all(self.constants.suspension) * force).min(free_load.min(V::all(MOST)));
        let abrasion = (V::all(self.constants.abrasion) * force, load);
        let [lifted, taken, worn] = self.beats(lift, loose, abrasion, here[WEAR]);
        let lifted = V::truncated(contact * lifted);
        let taken = V::truncated(contact * taken);
        let flies = acts - contact;
        let share = V::all(self.constants.suspension) * load;
        let lost = V::nearest(flies * share);
        let half = if self.constants.cured {
            V::nearest(flies * share * V::all(0.5))
        } else {
            V::nearest(flies * (share - V::all(self.constants.suspension) * share) * V::all(0.5))
        };
        let lost = if self.constants.cured { V::plus(half, half) } else { lost };
        grains.load = V::minus(V::plus(grains.load, lifted), lost);
        grains.lifted = V::plus(grains.lifted, taken);
        grains.dropped = V::plus(grains.dropped, V::plus(half, half));
        grains.height = motion.height;
        grains.velocity = motion.velocity;
        grains.age = grains.age + one;
        grains.left = runs.if_above(acts, one, grains.left);
        let slow = speed.if_above(V::all(SLOWEST as f32), acts, zero);
        grains.runs = V::all(self.longest).if_above(grains.age, slow, zero);
        // A call to settle wherever sand was lifted or dropped; a mark where the grain touches the ground.
        let cascades = contact * V::number(lifted).if_above(zero, one, zero);
        GrainNote {
            at: old,
            beside: Some(new),
            change: [V::minus(half, taken), half],
            tally: [V::nearest(contact * V::all(TOUCH) + flies + cascades), V::nearest(flies)],
            worn: (contact * worn).min(V::all(MOST * PER_HEIGHT)),
        }
    }
}

/// Runs one grain to its end on live ground: the published program's own loop, and the plain yardstick. Returns the grain, its
/// load and the number of its steps.
///
/// `bedrock` and `sand` are row-major, in heights of 80 cells. `margin` is the number of cells at the border in which a
/// grain has left, two at least: the normal reaches that far.
pub fn run_alone<R>(
    [bedrock, sand]: [&mut [R]; 2],
    width: usize,
    margin: usize,
    constants: &Constants2020<R>,
    params: &Params,
    start: [f64; 2],
) -> (Motion<R>, R, u64)
where
    R: Real + PartialOrd + Into<f64>,
{
    let height = bedrock.len() / width;
    let zero = R::splat(0.0);
    let (roughness, share) = (R::splat(f64::from(params.roughness)), R::splat(f64::from(params.dt * params.settling)));
    let wind = constants.wind;
    let mut grain =
        Motion { x: R::splat(start[0]), y: R::splat(start[1]), height: zero, velocity: [wind[0], wind[1], zero] };
    let (mut load, mut steps) = (zero, 0);
    // Grains are on the map, where whole numbers are small.
    let cell = |grain: &Motion<R>| {
        let (x, y): (f64, f64) = (grain.x.into(), grain.y.into());
        (x as i32 as usize, y as i32 as usize)
    };
    loop {
        let (x, y) = cell(&grain);
        let old = y * width + x;
        let part = [grain.x - R::splat(x as f64), grain.y - R::splat(y as f64)];
        let row = |first: usize| {
            let (rock, sand) = (&bedrock[first..first + 4], &sand[first..first + 4]);
            [rock[0] + sand[0], rock[1] + sand[1], rock[2] + sand[2], rock[3] + sand[3]]
        };
        let velocity = if constants.lift(&mut grain, bedrock[old] + sand[old]) >= zero {
            let first = old - 1;
            let rows = [row(first - width), row(first), row(first + width), row(first + 2 * width)];
            constants.slide(grain.velocity, normal(rows, part))
        } else {
            constants.fall(grain.velocity)
        };
        constants.drive(&mut grain, velocity, R::splat(1.0));
        steps += 1;
        let (low, right, bottom) = (margin as f64, (width - margin) as f64, (height - margin) as f64);
        let (x, y): (f64, f64) = (grain.x.into(), grain.y.into());
        if !(x >= low && y >= low && x < right && y < bottom) {
            break;
        }
        let (x, y) = cell(&grain);
        let new = y * width + x;
        let reached = bedrock[new] + sand[new];
        let speed = grain.speed();
        if grain.height <= reached {
            let force = speed * (reached - grain.height);
            let lift = constants.suspension * force;
            if sand[old] <= zero {
                let worn = constants.abrasion * force * load;
                bedrock[old] = bedrock[old] - worn;
                sand[old] = worn;
            } else if sand[old] > lift {
                sand[old] = sand[old] - lift;
                load = load + lift;
                cascade(bedrock, sand, width, old, roughness, share);
            } else {
                sand[old] = zero;
            }
        } else {
            load = load - constants.suspension * load;
            let half = R::splat(0.5) * constants.suspension * load;
            sand[new] = sand[new] + half;
            sand[old] = sand[old] + half;
            cascade(bedrock, sand, width, new, roughness, share);
            cascade(bedrock, sand, width, old, roughness, share);
        }
        if speed < R::splat(SLOWEST) {
            break;
        }
    }
    (grain, load, steps)
}

/// Lets the sand around a cell that does not lie on the border slide, as published: to each of eight neighbours, one after the
/// other.
#[inline(always)]
fn cascade<R: Real + PartialOrd>(bedrock: &[R], sand: &mut [R], width: usize, cell: usize, roughness: R, share: R) {
    let (zero, half) = (R::splat(0.0), R::splat(0.5));
    let (above, below) = (cell - width, cell + width);
    let (rock, mut own) = (bedrock[cell], sand[cell]);
    for other in [above - 1, above, above + 1, cell - 1, cell + 1, below - 1, below, below + 1] {
        let difference = (rock + own) - (bedrock[other] + sand[other]);
        let excess = half * (difference.max(-difference) - roughness);
        if excess > zero {
            let moves = if difference > zero {
                share * if own < excess { own } else { excess }
            } else {
                -(share * if sand[other] < excess { sand[other] } else { excess })
            };
            own = own - moves;
            sand[other] = sand[other] + moves;
        }
    }
    sand[cell] = own;
}
