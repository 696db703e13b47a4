// Four one-way pipes of constant cross-section per cell: the published mode of the process `water`, one kernel per stage of its module
// `pipes`.

@group(1) @binding(0) var<storage, read_write> bedrock: array<f32>;
@group(1) @binding(1) var<storage, read_write> sand: array<f32>;
@group(1) @binding(2) var<storage, read_write> water: array<f32>;
@group(1) @binding(3) var<storage, read_write> suspended: array<f32>;
@group(1) @binding(4) var<storage, read_write> softness: array<f32>;
// Ground and level of the water.
@group(1) @binding(5) var<storage, read> surface: array<vec2<f32>>;
// Outflows in cubic metres per second, of all cells to the left, then of all cells to the right; likewise above and below.
@group(1) @binding(6) var<storage, read_write> flux_left_right: array<f32>;
@group(1) @binding(7) var<storage, read_write> flux_above_below: array<f32>;
// Velocity along rows and columns.
@group(1) @binding(8) var<storage, read_write> velocities: array<vec2<f32>>;
// Transport capacity and, after the exchange with the ground, the sediment before its transport.
@group(1) @binding(9) var<storage, read_write> sediment: array<f32>;

// Hardness below which the ground does not soften further.
const LEAST_HARDNESS: f32 = 0.1;
// Shortest step that a quotient can have, in seconds.
const INSTANT: f32 = 1e-20;

const LEFT: vec2<i32> = vec2(-1, 0);
const RIGHT: vec2<i32> = vec2(1, 0);
const ABOVE: vec2<i32> = vec2(0, -1);
const BELOW: vec2<i32> = vec2(0, 1);

// Returns the increase of the flux of a pipe per metre of level difference, in square metres per second: A·g·Δt/l.
fn push() -> f32 {
    return map.pipe_push * state.dt / map.size;
}

// Returns ground and level of the water, also beyond the border.
fn surface_at(place: vec2<i32>) -> vec2<f32> {
    if is_beyond(place) {
        return surface_beyond(place);
    }
    return surface[cell_of(place)];
}

fn ground(place: vec2<i32>) -> f32 {
    return surface_at(place).x;
}

fn level(place: vec2<i32>) -> f32 {
    return surface_at(place).y;
}

// Index of the outflow of a cell to the right or below.
fn second(cell: u32) -> u32 {
    return map.width * map.height + cell;
}

// Computes the fluxes that the surface drives through the pipes, limited to the water present (eqs 2 to 5).
@compute @workgroup_size(64, 4)
fn find_flow(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let place = vec2<i32>(id.xy);
    var limited = false;
    if on_map(place) {
        let cell = cell_of(place);
        let here = level(place);
        let go_left = max(flux_left_right[cell] + push() * (here - level(place + LEFT)), 0.0);
        let go_right = max(flux_left_right[second(cell)] + push() * (here - level(place + RIGHT)), 0.0);
        let go_above = max(flux_above_below[cell] + push() * (here - level(place + ABOVE)), 0.0);
        let go_below = max(flux_above_below[second(cell)] + push() * (here - level(place + BELOW)), 0.0);
        let out = (go_left + go_right) + (go_above + go_below);
        let there = water[cell] * (map.size * map.size / max(state.dt, INSTANT));
        limited = state.dt > 0.0 && out > there;
        let limit = select(1.0, there / max(out, TINY), limited);
        flux_left_right[cell] = go_left * limit;
        flux_left_right[second(cell)] = go_right * limit;
        flux_above_below[cell] = go_above * limit;
        flux_above_below[second(cell)] = go_below * limit;
    }
    count(local, group_of(group), OUTFLOW_LIMITED, limited);
}

// Returns the inflow from a neighbour: its flux or, beyond an open border, that from a sea through a pipe without inertia.
fn inflow(place: vec2<i32>, neighbour: vec2<i32>, flux: f32) -> f32 {
    if map.edge == WRAP || on_map(neighbour) {
        return flux;
    }
    let has_sea = map.edge == OPEN && level(neighbour) > ground(neighbour);
    return select(0.0, max(push() * (level(neighbour) - level(place)), 0.0), has_sea);
}

// Returns the slopes along columns and rows of the ground and of the surface.
fn slopes(place: vec2<i32>) -> mat2x2<f32> {
    let along_x = surface_at(place + RIGHT) - surface_at(place + LEFT);
    let along_y = surface_at(place + BELOW) - surface_at(place + ABOVE);
    return transpose(mat2x2(along_x, along_y)) * (0.5 / map.size);
}

// Returns the square of −N·V (eq. 11) from the slopes of the bed and of the surface along which the water flows, and its velocity.
fn collision_squared(bed: vec2<f32>, along: vec2<f32>, velocity: vec2<f32>) -> f32 {
    let rise = bed.x * velocity.x + bed.y * velocity.y;
    let fall = along.x * velocity.x + along.y * velocity.y;
    let meets = max(rise - fall, 0.0);
    let square = bed.x * bed.x + bed.y * bed.y;
    let speed_square = velocity.x * velocity.x + velocity.y * velocity.y;
    return (meets * meets) / ((1.0 + square) * ((speed_square + 1e-18) + fall * fall));
}

// Returns the square of sin α from the slopes of the bed.
fn sine_squared(bed: vec2<f32>) -> f32 {
    let square = bed.x * bed.x + bed.y * bed.y;
    return square / (1.0 + square);
}

// Returns the transport capacity of water of this depth and velocity (eqs 9 to 11).
fn capacity(place: vec2<i32>, depth: f32, velocity: vec2<f32>) -> f32 {
    let slope = slopes(place);
    let collides = (map.flags & COLLIDES) != 0u;
    let tilt = select(sine_squared(slope[0]), collision_squared(slope[0], slope[1], velocity), collides);
    let speed_square = velocity.x * velocity.x + velocity.y * velocity.y;
    let wet = select(0.0, max(1.0 - depth * map.per_depth, 0.0), depth > 0.0);
    return map.free.capacity * sqrt(max(tilt, map.least_tilt * map.least_tilt) * speed_square) * wet;
}

// Computes depth and velocity (eqs 6 to 8), and the transport capacity (eqs 9 to 11).
@compute @workgroup_size(64, 4)
fn find_depth(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let place = vec2<i32>(id.xy);
    var water_out = 0.0;
    if on_map(place) {
        let cell = cell_of(place);
        let come_left = inflow(place, place + LEFT, flux_left_right[second(cell_of(place + LEFT))]);
        let come_right = inflow(place, place + RIGHT, flux_left_right[cell_of(place + RIGHT)]);
        let come_above = inflow(place, place + ABOVE, flux_above_below[second(cell_of(place + ABOVE))]);
        let come_below = inflow(place, place + BELOW, flux_above_below[cell_of(place + BELOW)]);
        let go_left = flux_left_right[cell];
        let go_right = flux_left_right[second(cell)];
        let go_above = flux_above_below[cell];
        let go_below = flux_above_below[second(cell)];
        let before = water[cell];
        let comes = (come_left + come_right) + (come_above + come_below);
        let goes = (go_left + go_right) + (go_above + go_below);
        let dt_over_area = state.dt / (map.size * map.size);
        let after = max(before + dt_over_area * (comes - goes), 0.0);
        let mean = 0.5 * (before + after);
        let scale = (0.5 / map.size) * (mean / (mean * mean + FILM_SQUARE));
        let fastest = map.size / max(state.dt, INSTANT);
        let along_x = ((come_left - go_left) + (go_right - come_right)) * scale;
        let along_y = ((come_above - go_above) + (go_below - come_below)) * scale;
        let velocity = max(min(vec2(along_x, along_y), vec2(fastest)), vec2(-fastest));
        water[cell] = after;
        velocities[cell] = velocity;
        sediment[cell] = capacity(place, before, velocity);
        if map.edge == OPEN {
            var fluxes = 0.0;
            if place.x == 0 { fluxes += go_left - come_left; }
            if place.x == i32(map.width) - 1 { fluxes += go_right - come_right; }
            if place.y == 0 { fluxes += go_above - come_above; }
            if place.y == i32(map.height) - 1 { fluxes += go_below - come_below; }
            water_out = dt_over_area * fluxes;
        }
    }
    tally(local, group_of(group), vec4(WATER_OUT, NONE, NONE, NONE), vec4(water_out, 0.0, 0.0, 0.0));
}

// Dissolves or settles sediment, softens the ground and evaporates water (eqs 12 to 14 and 16).
@compute @workgroup_size(64, 4)
fn exchange(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let place = vec2<i32>(id.xy);
    var taken = 0.0;
    var settled = 0.0;
    var evaporated = 0.0;
    if on_map(place) {
        let cell = cell_of(place);
        let displaces = (map.flags & DISPLACES) != 0u;
        let old_bedrock = bedrock[cell];
        let old_sand = sand[cell];
        let depth = water[cell];
        let s = suspended[cell];
        let soft = softness[cell];
        let deficit = sediment[cell] - s;
        let dissolves = min(map.free.suspension * state.dt * soft * max(deficit, 0.0), depth);
        let surplus = max(-deficit, 0.0);
        let settles = min(map.free.deposition * state.dt * surplus, select(s, min(s, depth), displaces));
        // Sand is eroded first; deposits become part of the solid.
        let from_sand = min(dissolves, old_sand);
        let dug = rounded(old_bedrock - (dissolves - from_sand));
        let left = rounded(old_sand - from_sand);
        let laid = add_limited(dug, settles);
        taken = (old_sand - left) + (old_bedrock - dug);
        settled = laid - dug;
        let wet = max(depth + select(0.0, taken - settled, displaces), 0.0);
        let stays = rounded(wet * max(1.0 - map.free.evaporation * state.dt, 0.0));
        evaporated = wet - stays;
        bedrock[cell] = laid;
        sand[cell] = left;
        water[cell] = stays;
        sediment[cell] = (s + taken) - settled;
        let softer = min(soft + map.softening * state.dt * surplus, 1.0 - LEAST_HARDNESS);
        softness[cell] = max(softer, soft);
    }
    tally(local, group_of(group), vec4(ERODED, DEPOSITED, EVAPORATED, NONE), vec4(taken, settled, evaporated, 0.0));
}

// Returns the sediment of a cell before its transport; there is none beyond an open border.
fn sediment_at(place: vec2<i32>) -> f32 {
    if is_beyond(place) {
        return 0.0;
    }
    return sediment[cell_of(place)];
}

// Takes the sediment of each cell from where its water came from, at most a cell away (eq. 15).
@compute @workgroup_size(64, 4)
fn transport(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let place = vec2<i32>(id.xy);
    var lost = 0.0;
    if on_map(place) {
        let cell = cell_of(place);
        let shift = velocities[cell] * (state.dt / map.size);
        let left = max(shift.x, 0.0);
        let right = max(-shift.x, 0.0);
        let up = max(shift.y, 0.0);
        let down = max(-shift.y, 0.0);
        let middle_x = 1.0 - (left + right);
        let middle_y = 1.0 - (up + down);
        // Nine weights, at most four of them non-zero.
        let settled = sediment_at(place);
        let own = (middle_x * middle_y) * settled;
        let sides = ((left * middle_y) * sediment_at(place + LEFT) + (right * middle_y) * sediment_at(place + RIGHT))
            + ((middle_x * up) * sediment_at(place + ABOVE) + (middle_x * down) * sediment_at(place + BELOW));
        let corners = ((left * up) * sediment_at(place + LEFT + ABOVE) + (right * down) * sediment_at(place + RIGHT + BELOW))
            + ((right * up) * sediment_at(place + RIGHT + ABOVE) + (left * down) * sediment_at(place + LEFT + BELOW));
        let carried = rounded((own + sides) + corners);
        suspended[cell] = carried;
        lost = settled - carried;
    }
    tally(local, group_of(group), vec4(SEDIMENT_LOST, NONE, NONE, NONE), vec4(lost, 0.0, 0.0, 0.0));
}
