//! Law "boundary layer", cured: grains drift with the wind close to the ground and take up or drop what it can carry there.
//!
//! A step of one cell:
//!
//! ```text
//! p += heading, turned by turbulence
//! capacity C = c·strength²·max(0, τ − τ₀)/(1 − τ₀),   τ from the sweep downwind (see `air`)
//! load += (C − load)·(1 − e^(−cell/L)),   L = saturation length; in still air twice that
//! ```
//!
//! The lag L is what keeps small heaps from growing and sets the distance of the first dunes (Sauermann et al. 2001). A grain
//! lifts no more than a share of what lies there, and nothing from wet ground; bare rock that faces the wind is worn by what
//! is carried over it.

use super::{
    field::{CAPACITY, Field, LOOSE, UPTAKE, WEAR},
    flight::{GrainLaw, GrainNote, Grains, TABLE, TOUCH},
};
use crate::sim::cells::Cells;

/// The law over what the wind does in every cell.
pub struct Drift<'a> {
    /// The map; sand in quanta.
    pub field: &'a Field,
    /// Where the wind blows to.
    pub heading: [f32; 2],
    /// Share of its load that a grain wears off bare rock in a step.
    pub abrasion: f32,
    /// How far the wind's eddies turn a grain.
    pub turbulence: f32,
    /// Random numbers from −1 to 1.
    pub table: &'a [f32; TABLE],
    /// Whether what leaves comes in on the other side, a wall stops it, or it comes in empty.
    pub border: Beyond,
    /// Steps after which a grain ends.
    pub longest: f32,
    /// Share of a cell's sand that a grain lifts at most in a step: others come too.
    pub bite: f32,
}

/// What becomes of a grain at the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// It comes in on the other side.
    Returns,
    /// It comes in on the other side, its load stays out.
    Loses,
    /// It ends.
    Stops,
}

impl GrainLaw for Drift<'_> {
    fn settles(&self) -> bool {
        true
    }

    fn field(&self) -> &Field {
        self.field
    }

    fn bite(&self) -> f32 {
        self.bite
    }

    #[inline(always)]
    fn step<V: Cells>(&self, grains: &mut Grains<V>) -> GrainNote<V> {
        let field = self.field;
        let (zero, one) = (V::all(0.0), V::all(1.0));
        let runs = grains.runs;
        let turn = V::all(self.turbulence) * grains.draw(self.table);
        let [cos, sin] = self.heading;
        let x = grains.x + runs * (V::all(cos) - V::all(sin) * turn);
        let y = grains.y + runs * (V::all(sin) + V::all(cos) * turn);
        let (wrapped_x, wrapped_y) = field.wrapped(x, y);
        let crossed = (x - wrapped_x).max(wrapped_x - x) + (y - wrapped_y).max(wrapped_y - y);
        // Rounding on the border is not crossing it.
        let crossed = crossed.if_above(V::all(0.5), one, zero);
        let stopped = match self.border {
            Beyond::Returns => zero,
            Beyond::Loses => {
                let kept = V::times(grains.load, V::nearest(one - crossed));
                grains.gone = V::plus(grains.gone, V::minus(grains.load, kept));
                grains.load = kept;
                zero
            }
            Beyond::Stops => crossed,
        };
        grains.x = stopped.if_above(zero, grains.x, wrapped_x);
        grains.y = stopped.if_above(zero, grains.y, wrapped_y);
        let new = field.cell(grains.x, grains.y);
        // SAFETY: grains are on the map.
        let parts = unsafe { field.parts::<V>(&new) };
        let (loose, wear, capacity, share) = (parts[LOOSE], parts[WEAR], parts[CAPACITY], parts[UPTAKE]);
        let load = V::number(grains.load);
        let lacks = capacity.positive() - load;
        let change = (lacks * share).min(loose * V::all(self.bite));
        let (lifted, dropped) = (V::truncated(runs * change.positive()), V::nearest(runs * (-change).positive()));
        grains.load = V::minus(V::plus(grains.load, lifted), dropped);
        grains.lifted = V::plus(grains.lifted, lifted);
        grains.dropped = V::plus(grains.dropped, dropped);
        grains.age = grains.age + one;
        // One that is old goes on over bare rock for as long again: what it carries lies down where sand lies.
        let rest = wear.if_above(zero, V::all(2.0 * self.longest), V::all(self.longest));
        grains.runs = rest.if_above(grains.age, runs - runs * stopped, zero);
        let contact = capacity.if_positive(runs, zero);
        GrainNote {
            at: new,
            beside: None,
            change: [V::minus(dropped, lifted); 2],
            tally: [V::nearest(contact * V::all(TOUCH + 1.0)); 2],
            worn: (contact * V::all(self.abrasion)) * (load * wear),
        }
    }
}
