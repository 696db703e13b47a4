//! Fourier transforms of sixteen columns at once.
//!
//! ```text
//! X_k = Σ_n x_n·exp(−2πi·n·k/N)
//! ```
//!
//! The lanes of a vector are columns, so that every vector unit does the same sums and gives the same bits. A length N that is a
//! product of 2, 3 and 5 is taken apart into steps of 4, 2, 3 and 5 (Cooley & Tukey 1965, in the order of Stockham, where nothing is
//! sorted). For any other length, as n·k = (n² + k² − (k − n)²)/2, the sum is a convolution, which a longer transform does
//! (Bluestein 1970).

use bytemuck::{Pod, Zeroable};

use super::cells::{Cells, MOST};

/// A complex number of each of the sixteen columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C, align(64))]
pub struct Complexes {
    /// Real parts.
    pub re: [f32; MOST],
    /// Imaginary parts.
    pub im: [f32; MOST],
}

impl Complexes {
    /// The numbers of the columns from `lane` on, as real and imaginary parts.
    #[inline(always)]
    pub fn load<V: Cells>(&self, lane: usize) -> [V; 2] {
        [V::load(&self.re, lane), V::load(&self.im, lane)]
    }

    /// Writes them.
    #[inline(always)]
    pub fn store<V: Cells>(&mut self, lane: usize, [re, im]: [V; 2]) {
        re.store(&mut self.re, lane);
        im.store(&mut self.im, lane);
    }
}

/// Product of complex numbers.
#[inline(always)]
pub fn product<V: Cells>([a, b]: [V; 2], [c, d]: [V; 2]) -> [V; 2] {
    [a * c - b * d, a * d + b * c]
}

#[inline(always)]
fn all<V: Cells>([re, im]: [f32; 2]) -> [V; 2] {
    [V::all(re), V::all(im)]
}

#[inline(always)]
fn plus<V: Cells>([a, b]: [V; 2], [c, d]: [V; 2]) -> [V; 2] {
    [a + c, b + d]
}

#[inline(always)]
fn minus<V: Cells>([a, b]: [V; 2], [c, d]: [V; 2]) -> [V; 2] {
    [a - c, b - d]
}

/// exp(−2πi·part/whole).
fn turn(part: usize, whole: usize) -> [f32; 2] {
    let (sin, cos) = libm::sincos(-std::f64::consts::TAU * (part % whole) as f64 / whole as f64);
    [cos as f32, sin as f32]
}

/// Columns to be transformed, and room to do it.
#[derive(Clone, Default)]
pub struct Columns {
    /// The numbers, row by row.
    pub rows: Vec<Complexes>,
    room: Vec<Complexes>,
}

impl Columns {
    /// So many rows of zeros.
    pub fn cleared(&mut self, rows: usize) -> &mut [Complexes] {
        self.rows.clear();
        self.rows.resize(rows, Complexes::default());
        &mut self.rows
    }
}

/// A transform of columns of one length.
#[derive(Clone)]
pub struct Transform {
    side: usize,
    steps: Vec<Step>,
    chirp: Option<Box<Chirp>>,
}

/// A step: transforms of `radix` numbers each, and turns of what comes out.
#[derive(Clone)]
struct Step {
    radix: usize,
    /// Numbers that are turned alike.
    alike: usize,
    /// By how much the second number and those after it are turned, one list after the other.
    turns: Vec<[f32; 2]>,
    /// The turns of the small transform itself.
    circle: Vec<[f32; 2]>,
}

/// What a length with other factors needs.
#[derive(Clone)]
struct Chirp {
    longer: Transform,
    chirp: Vec<[f32; 2]>,
    filter: Vec<[f32; 2]>,
}

impl Transform {
    /// The transform of columns of so many rows, at least one.
    pub fn new(side: usize) -> Self {
        if smooth(side) != side {
            return Self { side, steps: Vec::new(), chirp: Some(Box::new(Chirp::new(side))) };
        }
        let (mut steps, mut left) = (Vec::new(), side);
        for radix in [4, 2, 3, 5] {
            while left.is_multiple_of(radix) {
                let turns = (0..left / radix).flat_map(|place| (1..radix).map(move |k| (place * k, left)));
                let turns = turns.map(|(part, whole)| turn(part, whole)).collect();
                let circle = (0..radix).map(|part| turn(part, radix)).collect();
                steps.push(Step { radix, alike: side / left, turns, circle });
                left /= radix;
            }
        }
        Self { side, steps, chirp: None }
    }

    /// Number of rows.
    pub fn side(&self) -> usize {
        self.side
    }

    /// Transforms columns. With real and imaginary parts exchanged before and after, it is the inverse times the number of rows.
    #[inline(always)]
    pub fn run<V: Cells>(&self, columns: &mut Columns) {
        match &self.chirp {
            Some(chirp) => chirp.run::<V>(columns),
            None => self.run_steps::<V>(columns),
        }
    }

    #[inline(always)]
    fn run_steps<V: Cells>(&self, Columns { rows, room }: &mut Columns) {
        room.resize(self.side, Complexes::default());
        for step in &self.steps {
            let (from, to) = (&rows[..self.side], &mut room[..self.side]);
            // Closures, as only they are sure to be inlined.
            match step.radix {
                4 => step.run::<V, 4>(
                    from,
                    to,
                    #[inline(always)]
                    |numbers, _| four(numbers),
                ),
                2 => step.run::<V, 2>(
                    from,
                    to,
                    #[inline(always)]
                    |[a, b], _| [plus(a, b), minus(a, b)],
                ),
                3 => step.run::<V, 3>(
                    from,
                    to,
                    #[inline(always)]
                    |numbers, circle| odd(numbers, circle),
                ),
                _ => step.run::<V, 5>(
                    from,
                    to,
                    #[inline(always)]
                    |numbers, circle| odd(numbers, circle),
                ),
            }
            std::mem::swap(rows, room);
        }
    }
}

impl Step {
    #[inline(always)]
    fn run<V: Cells, const R: usize>(
        &self,
        from: &[Complexes],
        to: &mut [Complexes],
        small: impl Fn([[V; 2]; R], &[[f32; 2]]) -> [[V; 2]; R],
    ) {
        let apart = from.len() / R;
        for (place, turns) in self.turns.chunks_exact(R - 1).enumerate() {
            for at in place * self.alike..(place + 1) * self.alike {
                for lane in (0..MOST).step_by(V::COUNT) {
                    let mut numbers = [[V::all(0.0); 2]; R];
                    for (part, number) in numbers.iter_mut().enumerate() {
                        *number = from[at + apart * part].load(lane);
                    }
                    let numbers = small(numbers, &self.circle);
                    let first = at + place * self.alike * (R - 1);
                    to[first].store(lane, numbers[0]);
                    for part in 1..R {
                        let turned = product(numbers[part], all(turns[part - 1]));
                        to[first + self.alike * part].store(lane, turned);
                    }
                }
            }
        }
    }
}

/// The transform of four numbers.
#[inline(always)]
fn four<V: Cells>([a, b, c, d]: [[V; 2]; 4]) -> [[V; 2]; 4] {
    let (even, even_apart) = (plus(a, c), minus(a, c));
    let (odd, [re, im]) = (plus(b, d), minus(b, d));
    let turned = [im, -re];
    [plus(even, odd), plus(even_apart, turned), minus(even, odd), minus(even_apart, turned)]
}

/// The transform of an odd number of numbers: each is taken together with the one as far from the end.
#[inline(always)]
fn odd<V: Cells, const R: usize>(numbers: [[V; 2]; R], circle: &[[f32; 2]]) -> [[V; 2]; R] {
    let mut out = [numbers[0]; R];
    for part in 1..=R / 2 {
        let sum = plus(numbers[part], numbers[R - part]);
        let [re, im] = minus(numbers[part], numbers[R - part]);
        out[0] = plus(out[0], sum);
        for k in 1..=R / 2 {
            let [cos, sin]: [V; 2] = all(circle[part * k % R]);
            let (along, aside) = ([cos * sum[0], cos * sum[1]], [sin * im, -(sin * re)]);
            out[k] = plus(out[k], minus(along, aside));
            out[R - k] = plus(out[R - k], plus(along, aside));
        }
    }
    out
}

impl Chirp {
    fn new(side: usize) -> Self {
        let longer = Transform::new(smooth(2 * side - 1));
        let length = longer.side;
        // exp(−πi·n²/N).
        let chirp: Vec<[f32; 2]> = (0..side).map(|place| turn(place * place, 2 * side)).collect();
        let mut columns = Columns { rows: vec![Complexes::default(); length], room: Vec::new() };
        for (place, &[cos, sin]) in chirp.iter().enumerate() {
            for at in [place, (length - place) % length] {
                (columns.rows[at].re[0], columns.rows[at].im[0]) = (cos, -sin);
            }
        }
        longer.run_steps::<f32>(&mut columns);
        let filter = columns.rows.iter().map(|row| [row.re[0], row.im[0]].map(|part| part / length as f32)).collect();
        Self { longer, chirp, filter }
    }

    #[inline(always)]
    fn run<V: Cells>(&self, columns: &mut Columns) {
        multiply::<V>(&mut columns.rows, &self.chirp);
        columns.rows.resize(self.longer.side, Complexes::default());
        self.longer.run_steps::<V>(columns);
        multiply::<V>(&mut columns.rows, &self.filter);
        exchange(&mut columns.rows);
        self.longer.run_steps::<V>(columns);
        columns.rows.truncate(self.chirp.len());
        exchange(&mut columns.rows);
        multiply::<V>(&mut columns.rows, &self.chirp);
    }
}

#[inline(always)]
fn multiply<V: Cells>(rows: &mut [Complexes], factors: &[[f32; 2]]) {
    for (row, &factor) in rows.iter_mut().zip(factors) {
        for lane in (0..MOST).step_by(V::COUNT) {
            row.store(lane, product(row.load::<V>(lane), all(factor)));
        }
    }
}

/// Exchanges real and imaginary parts.
fn exchange(rows: &mut [Complexes]) {
    rows.iter_mut().for_each(|row| std::mem::swap(&mut row.re, &mut row.im));
}

/// The next number that has no factors but 2, 3 and 5, of which transforms are quick.
pub fn smooth(side: usize) -> usize {
    let rest = |mut number: usize| {
        for factor in [2, 3, 5] {
            while number.is_multiple_of(factor) {
                number /= factor;
            }
        }
        number
    };
    (side.max(1)..).find(|&number| rest(number) == 1).unwrap_or(side)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{
        cells::{Pass, with_vector_unit},
        rng::Stream,
    };

    struct Run<'a>(&'a Transform, &'a mut Columns);

    impl Pass for Run<'_> {
        type Output = ();

        #[inline(always)]
        fn run<V: Cells>(self) {
            self.0.run::<V>(self.1);
        }
    }

    #[test]
    fn columns_of_any_length_become_the_sums_of_the_formula_in_the_same_bits_on_every_vector_unit() {
        let mut stream = Stream::new(5, "fourier", 0);
        for side in [1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 23, 36, 53, 60, 97, 128, 150, 257] {
            let mut draw = || [(); MOST].map(|()| 2.0 * stream.unit() - 1.0);
            let rows: Vec<Complexes> = (0..side).map(|_| Complexes { re: draw(), im: draw() }).collect();
            let transform = Transform::new(side);
            let [mut fast, mut single] = [(); 2].map(|()| Columns { rows: rows.clone(), room: Vec::new() });
            with_vector_unit(Run(&transform, &mut fast));
            transform.run::<f32>(&mut single);
            assert!(fast.rows == single.rows, "{side}");
            for (k, found) in fast.rows.iter().enumerate() {
                let mut right = [0.0, 0.0];
                for (n, row) in rows.iter().enumerate() {
                    let (sin, cos) = (-std::f64::consts::TAU * (n * k % side) as f64 / side as f64).sin_cos();
                    let (re, im) = (f64::from(row.re[9]), f64::from(row.im[9]));
                    right = [right[0] + re * cos - im * sin, right[1] + re * sin + im * cos];
                }
                let off = (f64::from(found.re[9]) - right[0]).hypot(f64::from(found.im[9]) - right[1]);
                assert!(off < 4e-7 * side as f64, "{side} numbers: {off} in the {k}th");
            }
        }
    }
}
