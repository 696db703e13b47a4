//! Direction and strength of the wind in a tick.

use super::Params;
use crate::core::rng::RandomStream;

/// Length of a spell in which only the first or the second wind blows, in ticks. Sand passes from one wind to the other only between
/// spells.
const SPELL: u64 = 25;

/// Direction and strength of the wind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weather {
    /// Direction in which it blows, along columns and rows: cosine and sine.
    pub heading: [f32; 2],
    /// Strength, in cells per unit of time.
    pub strength: f32,
}

impl Weather {
    /// Returns the wind of the parameters, without gusts.
    pub fn mean(params: &Params) -> Self {
        Self { heading: heading(f64::from(params.direction)), strength: params.strength }
    }

    /// Draws the wind of a tick: the first or the second one, rotated by its turning so far, with swing and gust.
    pub fn of(params: &Params, tick: u64, stream: &mut RandomStream) -> Self {
        let mut swing = || f64::from(2.0 * stream.uniform() - 1.0);
        let (turn, gust) = (swing(), swing());
        let mut degrees = f64::from(params.direction);
        // The spells of the second wind are distributed evenly.
        let (share, spell) = (f64::from(params.second_share), (tick.saturating_sub(1) / SPELL + 1) as f64);
        if (spell * share).floor() > ((spell - 1.0) * share).floor() {
            degrees = f64::from(params.second_direction);
        }
        let mut turned = f64::from(params.turning) * (tick as f64 * 1e-3);
        if params.sides > 0 {
            let side = 360.0 / f64::from(params.sides);
            turned = (turned / side).floor() * side;
        }
        degrees += turned + f64::from(params.swing) * turn;
        let strength = f64::from(params.strength) * (1.0 + f64::from(params.gusts) * gust);
        Self { heading: heading(degrees), strength: strength as f32 }
    }
}

/// Returns cosine and sine of an angle in degrees; exact for quarter turns.
pub fn heading(degrees: f64) -> [f32; 2] {
    let turned = degrees.rem_euclid(360.0);
    let quarter = (turned / 90.0).round();
    let (sin, cos) = libm::sincos((turned - 90.0 * quarter).to_radians());
    let (cos, sin) = match quarter as u32 % 4 {
        0 => (cos, sin),
        1 => (-sin, cos),
        2 => (-cos, -sin),
        _ => (sin, -cos),
    };
    [cos as f32, sin as f32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_matches_cosine_and_sine() {
        for step in -80..80 {
            let degrees = f64::from(step) * 9.7;
            let [cos, sin] = heading(degrees).map(f64::from);
            let (right_sin, right_cos) = degrees.to_radians().sin_cos();
            assert!((cos - right_cos).abs() < 1e-7 && (sin - right_sin).abs() < 1e-7, "{degrees}");
        }
        assert_eq!(heading(90.0), [0.0, 1.0]);
        assert_eq!(heading(180.0), [-1.0, 0.0]);
    }

    #[test]
    fn three_sided_wind_turns_by_120_degrees() {
        let params = Params { direction: 10.0, turning: 1200.0, sides: 3, ..Params::default() };
        let at = |tick| Weather::of(&params, tick, &mut RandomStream::new(1, "weather", tick)).heading;
        assert_eq!([at(1), at(99), at(101), at(301)], [heading(10.0), heading(10.0), heading(130.0), heading(370.0)]);
    }

    #[test]
    fn second_wind_blows_its_share_in_contiguous_spells() {
        let params = Params { direction: 0.0, second_direction: 90.0, second_share: 0.3, ..Params::default() };
        let second = (1..=1000_u64).filter(|&tick| {
            let weather = Weather::of(&params, tick, &mut RandomStream::new(1, "weather", tick));
            weather.heading[1] > 0.9
        });
        let second: Vec<u64> = second.collect();
        assert!((second.len() as i32 - 300).abs() <= SPELL as i32);
        assert!(
            second.chunks(SPELL as usize).all(|spell| spell.last().is_some_and(|last| last - spell[0] == SPELL - 1))
        );
    }
}
