//! Intersection of a ray with the ground.

use super::terrain::Terrain;

/// Returns the position, as column and row between cell centres, at which a ray first hits the ground from above.
///
/// `from` and `towards` are column, row and height in metres. The ground is bilinear between the centres of four cells, and ends at
/// the outermost centres: a ray that enters below the edge of the ground hits the side wall, which counts as a miss.
pub fn intersect_ground(terrain: &Terrain, from: [f64; 3], towards: [f64; 3]) -> Option<[f32; 2]> {
    let last = [terrain.width() - 1, terrain.height() - 1];
    // Ray parameters at which it enters and leaves the map.
    let (mut begin, mut end) = (0.0_f64, f64::INFINITY);
    for axis in 0..2 {
        let far = last[axis] as f64;
        if towards[axis].abs() < 1e-12 {
            if !(0.0..=far).contains(&from[axis]) {
                return None;
            }
            continue;
        }
        let reaches = [0.0, far].map(|bound| (bound - from[axis]) / towards[axis]);
        begin = begin.max(reaches[0].min(reaches[1]));
        end = end.min(reaches[0].max(reaches[1]));
    }
    if begin.is_nan() || begin >= end || last.contains(&0) {
        return None;
    }
    let at = |length: f64, axis: usize| from[axis] + length * towards[axis];
    let mut square: [usize; 2] =
        std::array::from_fn(|axis| (at(begin, axis).floor().max(0.0) as usize).min(last[axis] - 1));
    // Ray parameter at the next boundary between squares, and its increment from one boundary to the next.
    let stride =
        [0, 1].map(|axis: usize| if towards[axis].abs() < 1e-12 { f64::INFINITY } else { 1.0 / towards[axis].abs() });
    let mut next: [f64; 2] = std::array::from_fn(|axis| {
        if stride[axis].is_infinite() {
            return f64::INFINITY;
        }
        let border = square[axis] + usize::from(towards[axis] > 0.0);
        (border as f64 - from[axis]) / towards[axis]
    });
    let width = terrain.width();
    let ground = |index: usize| f64::from(terrain.bedrock[index] + terrain.sand[index]);
    let mut above = false;
    loop {
        let leave = next[0].min(next[1]).min(end);
        let corner = square[1] * width + square[0];
        let corners = [ground(corner), ground(corner + 1), ground(corner + width), ground(corner + width + 1)];
        let highest = corners.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // A vertical ray leaves no square.
        let stop = if leave.is_finite() { leave } else { begin.max((from[2] - lowest(&corners) + 1.0) / -towards[2]) };
        if !stop.is_finite() {
            return None;
        }
        if at(begin, 2).min(at(stop, 2)) <= highest {
            let clearance = |length: f64| {
                let (x, y) = (at(length, 0) - square[0] as f64, at(length, 1) - square[1] as f64);
                let over = corners[0] + x * (corners[1] - corners[0]);
                let under = corners[2] + x * (corners[3] - corners[2]);
                at(length, 2) - (over + y * (under - over))
            };
            let [first, middle, last] = [begin, 0.5 * (begin + stop), stop].map(clearance);
            if !above && first <= 0.0 {
                return None;
            }
            if let Some(share) = first_root(first, middle, last) {
                let length = begin + share * (stop - begin);
                return Some([0, 1].map(|axis| at(length, axis) as f32));
            }
        }
        above = true;
        let axis = usize::from(next[1] < next[0]);
        if leave >= end || !leave.is_finite() {
            return None;
        }
        let forward = towards[axis] > 0.0;
        if if forward { square[axis] + 1 >= last[axis] } else { square[axis] == 0 } {
            return None;
        }
        square[axis] = if forward { square[axis] + 1 } else { square[axis] - 1 };
        begin = leave;
        next[axis] += stride[axis];
    }
}

fn lowest(corners: &[f64; 4]) -> f64 {
    corners.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Returns the first argument between 0 and 1 at which a parabola, given at 0, ½ and 1, falls to 0.
fn first_root(first: f64, middle: f64, last: f64) -> Option<f64> {
    if first <= 0.0 {
        return Some(0.0);
    }
    let bend = 2.0 * (first - 2.0 * middle + last);
    let slope = last - first - bend;
    let under = slope * slope - 4.0 * bend * first;
    if under < 0.0 {
        return None;
    }
    // Form without cancellation.
    let far = -0.5 * (slope + under.sqrt().copysign(slope));
    let roots = [far / bend, first / far];
    roots.into_iter().filter(|root| (0.0..=1.0).contains(root)).reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{
        grid::Grid,
        rng::RandomStream,
        terrain::{Edge, Terrain},
    };

    fn hills() -> Terrain {
        let heights =
            Grid::from_fn(96, 64, |x, y| 9.0 * ((x as f32 * 0.31).sin() + (y as f32 * 0.23).cos()) + x as f32 * 0.2);
        let mut terrain = Terrain::bare(heights, 1.0, Edge::Open);
        terrain.spread_sand(0.5);
        terrain
    }

    /// Reference implementation with very small steps.
    fn march_ray(terrain: &Terrain, from: [f64; 3], towards: [f64; 3]) -> Option<[f32; 2]> {
        let mut above = false;
        for step in 0..2_000_000 {
            let length = f64::from(step) * 2e-3;
            let [x, y, z] = [0, 1, 2].map(|axis| from[axis] + length * towards[axis]);
            if !(0.0..=95.0).contains(&x) || !(0.0..=63.0).contains(&y) {
                if above {
                    return None;
                }
                continue;
            }
            if z <= f64::from(terrain.sample_ground(x as f32, y as f32)) {
                return above.then_some([x as f32, y as f32]);
            }
            above = true;
        }
        None
    }

    #[test]
    fn ray_intersection_matches_marching_at_grazing_angles() {
        let terrain = hills();
        let mut stream = RandomStream::new(3, "ray", 0);
        let (mut met, mut grazed) = (0, 0);
        for round in 0..160 {
            let from =
                [stream.uniform() * 220.0 - 60.0, stream.uniform() * 180.0 - 60.0, 25.0 + stream.uniform() * 40.0]
                    .map(f64::from);
            let aim = [stream.uniform() * 95.0, stream.uniform() * 63.0, 15.0 * stream.uniform()].map(f64::from);
            let offset: [f64; 3] = std::array::from_fn(|axis| aim[axis] - from[axis]);
            let length = offset.iter().map(|part| part * part).sum::<f64>().sqrt();
            let towards = offset.map(|part| part / length);
            let (found, wanted) = (intersect_ground(&terrain, from, towards), march_ray(&terrain, from, towards));
            match (found, wanted) {
                (Some(found), Some(wanted)) => {
                    met += 1;
                    grazed += usize::from(towards[2].abs() < 0.3);
                    let away = (found[0] - wanted[0]).hypot(found[1] - wanted[1]);
                    assert!(away < 0.1, "round {round}: {found:?}, by steps {wanted:?}");
                }
                (None, None) => {}
                other => panic!("round {round}: {other:?} from {from:?} towards {towards:?}"),
            }
        }
        assert!(met > 80 && grazed > 20, "{met} met, {grazed} of them grazing");
    }

    #[test]
    fn downward_ray_hits_ground_and_rays_off_map_miss() {
        let terrain = hills();
        let found = intersect_ground(&terrain, [40.25, 31.75, 500.0], [0.0, 0.0, -1.0]).expect("it is over the map");
        assert!((found[0] - 40.25).abs() < 1e-4 && (found[1] - 31.75).abs() < 1e-4, "{found:?}");
        assert_eq!(intersect_ground(&terrain, [40.0, 31.0, 500.0], [0.0, 0.0, 1.0]), None);
        assert_eq!(intersect_ground(&terrain, [-5.0, 31.0, 500.0], [0.0, 0.0, -1.0]), None);
        // A hit on the side wall.
        assert_eq!(intersect_ground(&terrain, [-50.0, 31.0, -60.0], [1.0, 0.0, 0.1]), None);
        let speck = Terrain::bare(Grid::filled(1, 1, 0.0), 1.0, Edge::Open);
        assert_eq!(intersect_ground(&speck, [0.0, 0.0, 5.0], [0.0, 0.0, -1.0]), None);
    }
}
