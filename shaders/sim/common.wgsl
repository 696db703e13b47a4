// The map, the layers' neighbourhoods and the tallies, which all kernels of the simulation share.

// Parameters that the mask can scale.
struct Coefficients {
    // Rain per second, Manning's n, evaporation per second.
    rain: f32,
    roughness: f32,
    evaporation: f32,
    // Transport capacity, rates of suspension and deposition.
    capacity: f32,
    suspension: f32,
    deposition: f32,
    // Stable height differences of sand to a neighbour beside and at a corner; their factor under water.
    lies_beside: f32,
    lies_across: f32,
    wet: f32,
    // Talus of rock per hardness and at hardness 0; failure rate.
    per_hardness: f32,
    bias: f32,
    failure: f32,
}

struct Map {
    // Parameters where the mask is 0 and where it is 1.
    free: Coefficients,
    masked: Coefficients,
    width: u32,
    height: u32,
    // 0: walls, 1: open, 2: periodic.
    edge: u32,
    // Workgroups per row.
    groups: u32,
    // Side of a cell, in metres, and level of the sea beyond open borders.
    size: f32,
    sea_level: f32,
    // Simulated seconds of a tick, and of a tick of thermal erosion alone.
    seconds: f32,
    thermal_seconds: f32,
    // Gravity, morphological acceleration, 1/depth limit of erosion.
    gravity: f32,
    acceleration: f32,
    per_depth: f32,
    // Processes and their options.
    flags: u32,
    // Published water: gravity times the cross-section of a pipe, longest stable step, lower limit of sin α, rate of softening.
    pipe_push: f32,
    stable: f32,
    least_tilt: f32,
    softening: f32,
    // 0, which compilers do not know.
    zero: u32,
}

const WALL: u32 = 0u;
const OPEN: u32 = 1u;
const WRAP: u32 = 2u;

const HAS_WATER: u32 = 1u;
const HAS_THERMAL: u32 = 2u;
const HAS_RAIN_MAP: u32 = 4u;
const HAS_OWN_TIME: u32 = 8u;
const PUBLISHED_WATER: u32 = 16u;
const COLLIDES: u32 = 32u;
const DISPLACES: u32 = 64u;
const SCALED_BY_MASK: u32 = 256u;

const TINY: f32 = 1.1754944e-38;
// Square, in m², of the depth below which the velocity of a film is damped.
const FILM_SQUARE: f32 = 1e-6;

// Sums of a workgroup, each with the compensation of its rounding, and its counts.
const SUMS: u32 = 15u;
const ERODED: u32 = 0u;
const DEPOSITED: u32 = 1u;
const RAINED: u32 = 2u;
const EVAPORATED: u32 = 3u;
const WATER_OUT: u32 = 4u;
const SOLID_OUT: u32 = 5u;
const GIVEN: u32 = 6u;
const GOT: u32 = 7u;
const CRUMBLED: u32 = 8u;
const SLID_OUT: u32 = 9u;
const SPRUNG: u32 = 10u;
const DRAINED: u32 = 11u;
const SEDIMENT_LOST: u32 = 12u;
const ROUNDED: u32 = 13u;
const EDITED: u32 = 14u;
// No sum.
const NONE: u32 = SUMS;
const COUNTS: u32 = 3u;
const OUTFLOW_LIMITED: u32 = 0u;
const EROSION_LIMITED: u32 = 1u;
const DEPOSITION_LIMITED: u32 = 2u;

struct Group {
    sums: array<vec2<f32>, SUMS>,
    counts: array<u32, 4>,
}

// Clock and control of the steps, and the tallies.
struct State {
    // Length of the present substep, in seconds; substeps left in this tick.
    dt: f32,
    left: u32,
    // Ticks done, and ticks to do.
    ticks: u32,
    wanted: u32,
    // Speed of the fastest wave at the start of the last substep and greatest depth after it, as bits of positive numbers.
    wave: atomic<u32>,
    deepest: atomic<u32>,
    // Substeps beyond the first of each tick, ticks that simulated less time than requested, substeps.
    extra: u32,
    slow: u32,
    substeps: u32,
    // Simulated seconds of the last tick; sum over all ticks with its compensation.
    tick_seconds: f32,
    seconds: vec2<f32>,
    // Ticks in which the whole excess of slopes failed.
    cut: u32,
    groups: array<Group>,
}

// Returns the simulated time of a tick of thermal erosion, in seconds: the morphological time of the water, unless it has its own.
fn thermal_seconds() -> f32 {
    let follows = (map.flags & HAS_WATER) != 0u && (map.flags & HAS_OWN_TIME) == 0u;
    return select(map.thermal_seconds, state.tick_seconds * map.acceleration, follows);
}

@group(0) @binding(0) var<uniform> map: Map;
@group(0) @binding(1) var<storage, read_write> state: State;
// Ground at the start of the simulation and, after that of all cells, the mask if the run uses it.
@group(1) @binding(20) var<storage, read> start_and_mask: array<f32>;

// Returns the ground of a cell at the start of the simulation.
fn start_at(cell: u32) -> f32 {
    return start_and_mask[cell];
}

// Returns the mask in a cell. Only in runs that use it.
fn raw_mask_at(cell: u32) -> f32 {
    return start_and_mask[map.width * map.height + cell];
}

// Returns the mask in a cell, if it scales parameters.
fn mask_at(cell: u32) -> f32 {
    if (map.flags & SCALED_BY_MASK) == 0u {
        return 0.0;
    }
    return clamp(raw_mask_at(cell), 0.0, 1.0);
}

// Interpolates a number between its unmasked and masked values by the mask.
fn lerp(unmasked: f32, under: f32, mask: f32) -> f32 {
    return unmasked + (under - unmasked) * mask;
}

// Returns a number rounded to single precision: no compiler contracts or cancels the operation behind it with later ones.
fn rounded(number: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(number) | map.zero);
}

// Returns the sum of a compensated sum and a number (Neumaier 1974).
fn compensated(sum: vec2<f32>, number: f32) -> vec2<f32> {
    let total = rounded(sum.x + number);
    let lost = select((number - total) + sum.x, (sum.x - total) + number, abs(sum.x) >= abs(number));
    return vec2(total, sum.y + lost);
}

// Adds a limited amount to a layer: if rounding would add more than the amount, the result is the next lower number.
fn add_limited(layer: f32, amount: f32) -> f32 {
    let laid = rounded(layer + amount);
    let below = rounded(max(laid - rounded(abs(laid) * 8e-8), layer));
    return select(laid, below, laid - layer > amount);
}

var<workgroup> shared_sums: array<vec4<f32>, 256>;
var<workgroup> shared_largest: array<f32, 256>;
var<workgroup> shared_counts: array<atomic<u32>, COUNTS>;

// Returns the number of a workgroup.
fn group_of(group: vec3<u32>) -> u32 {
    return group.y * map.groups + group.x;
}

// Returns the sum of four numbers of invocations, in pairs.
fn sum_four(first: u32, step: u32) -> vec4<f32> {
    return (shared_sums[first] + shared_sums[first + 2u * step]) + (shared_sums[first + step] + shared_sums[first + 3u * step]);
}

// Returns the sum of sixteen numbers of invocations, in pairs.
fn sum_sixteen(first: u32, step: u32) -> vec4<f32> {
    return (sum_four(first, 4u * step) + sum_four(first + 2u * step, 4u * step))
        + (sum_four(first + step, 4u * step) + sum_four(first + 3u * step, 4u * step));
}

// Adds numbers of each invocation to different sums of the workgroup, in pairs, in a fixed order. Once per kernel, in uniform control
// flow only.
fn tally(local: u32, group: u32, sums: vec4<u32>, numbers: vec4<f32>) {
    shared_sums[local] = numbers;
    workgroupBarrier();
    if local < 16u {
        shared_sums[local] = sum_sixteen(local, 16u);
    }
    workgroupBarrier();
    if local < 4u && sums[local] != NONE {
        let sum = sums[local];
        let total = sum_sixteen(0u, 1u);
        state.groups[group].sums[sum] = compensated(state.groups[group].sums[sum], total[local]);
    }
}

// Counts invocations. Once per kernel and counter, in uniform control flow only.
fn count(local: u32, group: u32, counter: u32, hit: bool) {
    if hit {
        atomicAdd(&shared_counts[counter], 1u);
    }
    workgroupBarrier();
    if local == 0u {
        state.groups[group].counts[counter] += atomicLoad(&shared_counts[counter]);
    }
}

// Returns the largest of the positive numbers of a workgroup, to its first invocation. Uniform control flow only.
fn largest(local: u32, number: f32) -> f32 {
    shared_largest[local] = number;
    workgroupBarrier();
    if local < 16u {
        for (var other = local + 16u; other < 256u; other += 16u) {
            shared_largest[local] = max(shared_largest[local], shared_largest[other]);
        }
    }
    workgroupBarrier();
    var most = number;
    if local == 0u {
        for (var other = 0u; other < 16u; other++) {
            most = max(most, shared_largest[other]);
        }
    }
    return most;
}

// Returns the column or row of a periodic map that continues it at a place less than a period away.
fn wrapped(place: i32, side: i32) -> u32 {
    let positive = select(place, place + side, place < 0);
    return u32(select(positive, positive - side, positive >= side));
}

// Returns the column or row on the map nearest to one beyond it, or the one that continues a periodic map.
fn on_side(place: i32, side: u32) -> u32 {
    if map.edge == WRAP {
        return wrapped(place, i32(side));
    }
    return u32(clamp(place, 0, i32(side) - 1));
}

fn on_map(place: vec2<i32>) -> bool {
    return all(place >= vec2(0)) && place.x < i32(map.width) && place.y < i32(map.height);
}

// Returns true beyond an open border.
fn is_beyond(place: vec2<i32>) -> bool {
    return map.edge == OPEN && !on_map(place);
}

// Returns ground and level of the fluid beyond an open border: the ground at the start, and the sea.
fn surface_beyond(place: vec2<i32>) -> vec2<f32> {
    let ground = start_at(cell_of(place));
    return vec2(ground, rounded(ground + max(map.sea_level - ground, 0.0)));
}

// Index of the cell of the map at a place, of the one nearest to it, or of the one that continues a periodic map.
fn cell_of(place: vec2<i32>) -> u32 {
    return on_side(place.y, map.height) * map.width + on_side(place.x, map.width);
}
