// Slopes beyond their angle of repose: the process `thermal`, one kernel per function of its modules `sliding`, for the corrected mode,
// and `published`.

@group(1) @binding(0) var<storage, read_write> bedrock: array<f32>;
@group(1) @binding(1) var<storage, read_write> sand: array<f32>;
@group(1) @binding(2) var<storage, read> water: array<f32>;
@group(1) @binding(3) var<storage, read> softness: array<f32>;
// Ground, and the largest outflow of sand to a neighbour.
@group(1) @binding(5) var<storage, read_write> loose: array<vec2<f32>>;
// Published mode: ground and its talus as a height difference to the next cell, and the outflow of a cell per metre of fall.
@group(1) @binding(6) var<storage, read_write> solid: array<vec2<f32>>;
@group(1) @binding(7) var<storage, read_write> giving: array<f32>;

// Fraction of the excess of a pair of cells that slides in a tick.
const SLIDE_FRACTION: f32 = 1.0 / 12.0;
// Quantum of sliding sand, so that sums are exact: 2⁻¹⁵ m. Adding and subtracting the second number rounds to multiples of it.
const PORTION: f32 = 1.0 / 32768.0;
const WHOLE: f32 = 1.5 * 8388608.0 * PORTION;
const UNDER_WATER: f32 = 0.1;
const DIAGONAL: f32 = 1.4142135;

// Returns the fraction that fails in a tick.
fn failing_share(mask: f32) -> f32 {
    let seconds = thermal_seconds();
    return lerp(min(map.free.failure * seconds, 1.0), min(map.masked.failure * seconds, 1.0), mask);
}

// Returns the stable height difference of rock of this softness to an orthogonal neighbour.
fn talus(softness: f32, mask: f32) -> f32 {
    let per_hardness = lerp(map.free.per_hardness, map.masked.per_hardness, mask);
    return (1.0 - softness) * per_hardness + lerp(map.free.bias, map.masked.bias, mask);
}

// Computes the ground and the largest outflow to a neighbour.
@compute @workgroup_size(64, 4)
fn find_loose(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = vec2<i32>(id.xy);
    if on_map(place) {
        let cell = cell_of(place);
        // At most an eighth to each neighbour; nothing where the rate is 0.
        let eighth = select(0.0, 0.125 * sand[cell], failing_share(mask_at(cell)) > 0.0);
        loose[cell] = vec2(bedrock[cell] + sand[cell], eighth);
    }
}

// Returns the ground and the largest outflow to a neighbour, also beyond the border.
fn loose_at(place: vec2<i32>) -> vec2<f32> {
    let cell = cell_of(place);
    if is_beyond(place) {
        return vec2(start_at(cell), 0.0);
    }
    return loose[cell];
}

// Returns the factor on the angle of repose of sand, as a slope, under water of this depth.
fn submerged_slope_factor(wet: f32, depth: f32) -> f32 {
    return lerp(1.0, wet, min(depth * (1.0 / UNDER_WATER), 1.0));
}

// Returns the stable height difference of the sand of a cell to a neighbour beside it or at a corner.
fn stable_drop(cell: u32, is_corner: bool) -> f32 {
    let mask = mask_at(cell);
    let beside = lerp(map.free.lies_beside, map.masked.lies_beside, mask);
    let dry = select(beside, lerp(map.free.lies_across, map.masked.lies_across, mask), is_corner);
    return dry * submerged_slope_factor(lerp(map.free.wet, map.masked.wet, mask), water[cell]);
}

// Returns the sand that slides from a cell to a neighbour; inflow is negative.
fn pair_flux(place: vec2<i32>, offset: vec2<i32>) -> f32 {
    let here = loose_at(place);
    let there = loose_at(place + offset);
    let fall = here.x - there.x;
    let donor = select(place + offset, place, fall > 0.0);
    let eighth = select(there.y, here.y, fall > 0.0);
    let stable = stable_drop(cell_of(donor), offset.x != 0 && offset.y != 0);
    let slides = min(SLIDE_FRACTION * max(abs(fall) - stable, 0.0), eighth);
    let whole = rounded(rounded(slides - 0.5 * PORTION) + WHOLE) - WHOLE;
    return select(-whole, whole, fall > 0.0);
}

// Moves a fraction of the excess of every pair of cells, and turns failing rock into sand.
@compute @workgroup_size(64, 4)
fn slide(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let place = vec2<i32>(id.xy);
    var given = 0.0;
    var got = 0.0;
    var crumbled = 0.0;
    var out = 0.0;
    if on_map(place) {
        let cell = cell_of(place);
        var leaves = 0.0;
        var goes = 0.0;
        var beside = 3.0e38;
        var corner = 3.0e38;
        for (var down = -1; down <= 1; down++) {
            for (var right = -1; right <= 1; right++) {
                if right == 0 && down == 0 { continue; }
                let offset = vec2(right, down);
                let is_corner = right != 0 && down != 0;
                let flux = pair_flux(place, offset);
                leaves += flux;
                goes += max(flux, 0.0);
                let near = loose_at(place + offset).x;
                if is_corner { corner = min(corner, near); } else { beside = min(beside, near); }
                if is_beyond(place + offset) { out += flux; }
            }
        }
        // Rock is never less steep than its sand; sand on the rock is part of the excess.
        let old_rock = bedrock[cell];
        let old_sand = sand[cell];
        let mask = mask_at(cell);
        let stable = max(talus(softness[cell], mask), stable_drop(cell, false));
        let excess = max((old_rock - beside) - stable, (old_rock - corner) - stable * DIAGONAL);
        let rock = rounded(old_rock - 0.5 * failing_share(mask) * softness[cell] * max(excess - old_sand, 0.0));
        crumbled = old_rock - rock;
        bedrock[cell] = rock;
        let old = rounded(old_sand + crumbled);
        let new_sand = rounded(max(old - leaves, 0.0));
        sand[cell] = new_sand;
        given = goes;
        got = goes + (new_sand - old);
    }
    tally(local, group_of(group), vec4(GIVEN, GOT, CRUMBLED, SLID_OUT), vec4(given, got, crumbled, out));
}

// Computes the ground as one solid and its talus.
@compute @workgroup_size(64, 4)
fn find_solid(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = vec2<i32>(id.xy);
    if on_map(place) {
        let cell = cell_of(place);
        solid[cell] = vec2(bedrock[cell] + sand[cell], talus(softness[cell], 0.0));
    }
}

// Returns the ground and its talus, also beyond the border.
fn solid_at(place: vec2<i32>) -> vec2<f32> {
    let cell = cell_of(place);
    if is_beyond(place) {
        return vec2(start_at(cell), 0.0);
    }
    return solid[cell];
}

// Offsets of the neighbours beside a cell and of those at its corners, opposite ones in pairs.
const AROUND: array<vec2<i32>, 8> = array(
    vec2(-1, 0), vec2(1, 0), vec2(0, -1), vec2(0, 1), vec2(-1, -1), vec2(1, 1), vec2(1, -1), vec2(-1, 1),
);

// Returns the sum over eight neighbours in the order of the offsets, in pairs.
fn sum_neighbours(terms: array<f32, 8>) -> f32 {
    return ((terms[0] + terms[1]) + (terms[2] + terms[3])) + ((terms[4] + terms[5]) + (terms[6] + terms[7]));
}

// Returns the fall from one cell to another, or 0 if it does not exceed the talus.
fn steep_fall(from_place: vec2<i32>, to_place: vec2<i32>, is_corner: bool) -> f32 {
    let giver = solid_at(from_place);
    let fall = giver.x - solid_at(to_place).x;
    return select(0.0, fall, fall > giver.y * select(1.0, DIAGONAL, is_corner));
}

// Takes what slides to lower neighbours from each cell, sand first (eqs 17 and 18).
@compute @workgroup_size(64, 4)
fn give(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let place = vec2<i32>(id.xy);
    var given = 0.0;
    var out = 0.0;
    if on_map(place) {
        let cell = cell_of(place);
        var offsets = AROUND;
        var falls: array<f32, 8>;
        var lowest = 3.0e38;
        for (var side = 0; side < 8; side++) {
            falls[side] = steep_fall(place, place + offsets[side], side >= 4);
            lowest = min(lowest, solid_at(place + offsets[side]).x);
        }
        let all = sum_neighbours(falls);
        let most = solid_at(place).x - lowest;
        let gives = 0.5 * failing_share(0.0) * softness[cell] * most / max(all, TINY);
        let goes = select(0.0, gives * all, all > 0.0);
        let old_bedrock = bedrock[cell];
        let old_sand = sand[cell];
        let from_sand = min(goes, old_sand);
        let new_bedrock = rounded(old_bedrock - (goes - from_sand));
        let new_sand = rounded(old_sand - from_sand);
        given = (old_bedrock - new_bedrock) + (old_sand - new_sand);
        bedrock[cell] = new_bedrock;
        sand[cell] = new_sand;
        giving[cell] = given / max(all, TINY);
        if map.edge == OPEN {
            for (var side = 0; side < 8; side++) {
                out += select(giving[cell] * falls[side], 0.0, on_map(place + offsets[side]));
            }
        }
    }
    tally(local, group_of(group), vec4(GIVEN, SLID_OUT, NONE, NONE), vec4(given, out, 0.0, 0.0));
}

// Adds what each cell gets from higher neighbours to its bedrock (eqs 17 and 18).
@compute @workgroup_size(64, 4)
fn receive(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let place = vec2<i32>(id.xy);
    var got = 0.0;
    var lost = 0.0;
    if on_map(place) {
        let cell = cell_of(place);
        var offsets = AROUND;
        var flows: array<f32, 8>;
        for (var side = 0; side < 8; side++) {
            let giver = place + offsets[side];
            let gives = select(giving[cell_of(giver)], 0.0, is_beyond(giver));
            flows[side] = gives * steep_fall(giver, place, side >= 4);
        }
        let comes = rounded(sum_neighbours(flows));
        let old = bedrock[cell];
        let new_bedrock = rounded(old + comes);
        got = new_bedrock - old;
        lost = comes - got;
        bedrock[cell] = new_bedrock;
    }
    tally(local, group_of(group), vec4(GOT, ROUNDED, NONE, NONE), vec4(got, lost, 0.0, 0.0));
}
