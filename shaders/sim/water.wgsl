// Shallow water with friction, erosion, transport and deposition: the corrected mode of the process `water`, one kernel per function of
// its module `friction`, and what both modes share: the plan of the steps, rain, springs and the surface of the fluid.

@group(1) @binding(0) var<storage, read_write> bedrock: array<f32>;
@group(1) @binding(1) var<storage, read_write> sand: array<f32>;
@group(1) @binding(2) var<storage, read_write> water: array<f32>;
@group(1) @binding(3) var<storage, read_write> suspended: array<f32>;
@group(1) @binding(4) var<storage, read> softness: array<f32>;
@group(1) @binding(6) var<storage, read> rain_map: array<f32>;
// Ground, and level of the fluid or, after the flow, the square of its speed.
@group(1) @binding(7) var<storage, read_write> surface: array<vec2<f32>>;
// Fluxes across the faces left of the cells and above them, before and after a step.
@group(1) @binding(8) var<storage, read_write> flux_x: array<f32>;
@group(1) @binding(9) var<storage, read_write> flux_y: array<f32>;
@group(1) @binding(12) var<storage, read_write> next_x: array<f32>;
@group(1) @binding(13) var<storage, read_write> next_y: array<f32>;
// Concentration of sediment in the fluid of a cell, and the fraction of its outflow that it can supply.
@group(1) @binding(14) var<storage, read_write> fluid: array<vec2<f32>>;
// Cells of springs and drains with the range of their rates, and the rates in metres per second.
@group(1) @binding(16) var<storage, read> sources: array<vec4<u32>>;
@group(1) @binding(17) var<storage, read> rates: array<f32>;
// Workgroups of each kernel of a step, three numbers each.
@group(1) @binding(18) var<storage, read_write> dispatches: array<u32>;

const COURANT: f32 = 0.5;
const MOST_STEPS: f32 = 16.0;
const FILM: f32 = 0.01;
const DRY: f32 = 1e-5;
const DEEPER: f32 = 0.75;
const CARRIES: f32 = 2e-5;
const MOST_LOAD: f32 = 0.5;
const POOL: f32 = 0.02;
const DEEP: f32 = 1.0;

fn suspended_fraction() -> f32 {
    return 1.0 / map.acceleration;
}

// Returns x^(−1/3) of a positive number by the polynomial of the processor.
fn inverse_cube_root(number: f32) -> f32 {
    let bits = 1419902976.0 + f32(bitcast<i32>(number)) * (-1.0 / 3.0);
    let start = bitcast<f32>(i32(bits));
    let e = 1.0 - (number * start) * (start * start);
    let low = 0.99999802 + 0.33333084 * e;
    let high = 0.22373596 + 0.17413585 * e;
    return start * (low + high * (e * e));
}

// Plans the next substep, and starts the next tick if the last one is done.
@compute @workgroup_size(1)
fn plan() {
    var runs = true;
    var begins = false;
    if state.left == 0u {
        runs = state.ticks < state.wanted;
        begins = runs;
        if runs && (map.flags & HAS_WATER) != 0u {
            let wave = max(bitcast<f32>(atomicLoad(&state.wave)), sqrt(map.gravity * bitcast<f32>(atomicLoad(&state.deepest))));
            let on_flow = COURANT * map.size / max(wave, sqrt(map.gravity * FILM));
            let stable = select(on_flow, map.stable, (map.flags & PUBLISHED_WATER) != 0u);
            let steps = max(ceil(map.seconds / stable), 1.0);
            state.left = u32(min(steps, MOST_STEPS));
            state.dt = min(map.seconds / f32(state.left), stable);
            state.extra += state.left - 1u;
            state.slow += select(0u, 1u, steps > MOST_STEPS);
            state.tick_seconds = state.dt * f32(state.left);
        } else if runs {
            state.left = 1u;
            state.tick_seconds = map.thermal_seconds;
        }
        if runs {
            state.seconds = compensated(state.seconds, state.tick_seconds);
            state.cut += select(0u, 1u, max(map.free.failure, map.masked.failure) * thermal_seconds() > 1.0);
        }
    }
    var ends = false;
    if runs {
        state.left -= 1u;
        state.substeps += 1u;
        ends = state.left == 0u;
        state.ticks += select(0u, 1u, ends);
    }
    // Sources at the start of a tick, water in every substep, thermal erosion at the end of a tick.
    dispatches[0] = select(0u, 1u, begins && (map.flags & HAS_WATER) != 0u);
    dispatches[3] = select(0u, map.groups, runs && (map.flags & HAS_WATER) != 0u);
    dispatches[6] = select(0u, map.groups, ends && (map.flags & HAS_THERMAL) != 0u);
    // The first and the last substep of the water.
    dispatches[9] = select(0u, map.groups, begins && (map.flags & HAS_WATER) != 0u);
    dispatches[12] = select(0u, map.groups, ends && (map.flags & HAS_WATER) != 0u);
    if runs {
        // Overwritten by the step.
        atomicStore(&state.wave, 0u);
        atomicStore(&state.deepest, 0u);
    }
}

// Runs springs and drains for a tick, each cell by itself.
@compute @workgroup_size(256)
fn run_sources(@builtin(local_invocation_index) local: u32) {
    var given = 0.0;
    var taken = 0.0;
    for (var number = local; number < arrayLength(&sources); number += 256u) {
        let source = sources[number];
        for (var rate = source.y; rate < source.z; rate++) {
            let before = water[source.x];
            let depth = rounded(max(before + rates[rate] * state.tick_seconds, 0.0));
            water[source.x] = depth;
            given += max(depth - before, 0.0);
            taken -= min(depth - before, 0.0);
        }
    }
    tally(local, 0u, vec4(SPRUNG, DRAINED, NONE, NONE), vec4(given, taken, 0.0, 0.0));
}

// Lets rain fall.
@compute @workgroup_size(64, 4)
fn fall(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let place = vec2<i32>(id.xy);
    var rained = 0.0;
    if on_map(place) {
        let cell = cell_of(place);
        var amount = lerp(map.free.rain * state.dt, map.masked.rain * state.dt, mask_at(cell));
        if (map.flags & HAS_RAIN_MAP) != 0u {
            amount *= rain_map[cell];
        }
        let before = water[cell];
        let wet = rounded(before + amount);
        water[cell] = wet;
        rained = wet - before;
    }
    tally(local, group_of(group), vec4(RAINED, NONE, NONE, NONE), vec4(rained, 0.0, 0.0, 0.0));
}

// Computes ground and level.
@compute @workgroup_size(64, 4)
fn find_surface(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = vec2<i32>(id.xy);
    if on_map(place) {
        let cell = cell_of(place);
        let ground = bedrock[cell] + sand[cell];
        // Published sediment does not raise the surface.
        let fraction = select(suspended_fraction(), 0.0, (map.flags & PUBLISHED_WATER) != 0u);
        surface[cell] = vec2(ground, ground + (water[cell] + suspended[cell] * fraction));
    }
}

// Returns ground and level, also beyond the border.
fn surface_at(place: vec2<i32>) -> vec2<f32> {
    if is_beyond(place) {
        return surface_beyond(place);
    }
    return surface[cell_of(place)];
}

// Returns the depth of the fluid at a face between two cells, and its velocity there for a flux.
fn depth_and_speed(before: vec2<f32>, after: vec2<f32>, flux: f32) -> vec2<f32> {
    let depth = max(before.y, after.y) - max(before.x, after.x);
    let least = min(min(before.y - before.x, after.y - after.x), depth);
    let seen = DEEPER * depth + (1.0 - DEEPER) * least;
    let speed = flux * (seen / (seen * seen + CARRIES));
    return vec2(depth, select(0.0, speed, depth > DRY));
}

fn wave_speed(depth: f32, speed: f32) -> f32 {
    return abs(speed) + sqrt(map.gravity * max(depth, FILM));
}

// Returns the column or row of faces nearest to one beyond the map, or the one that continues a periodic map.
fn on_faces(place: i32, side: u32) -> u32 {
    if map.edge == WRAP {
        return wrapped(place, i32(side));
    }
    return u32(clamp(place, 0, i32(side)));
}

// Indices of the faces left of a cell and above it.
fn face_x(x: i32, y: i32) -> u32 {
    return on_side(y, map.height) * (map.width + 1u) + on_faces(x, map.width);
}

fn face_y(x: i32, y: i32) -> u32 {
    return on_faces(y, map.height) * map.width + on_side(x, map.width);
}

// Velocities at the faces left of the cells of a workgroup and of the ring around it, and above them.
const TILE: vec2<u32> = vec2(66, 6);
const TILE_CELLS: u32 = 396u;
var<workgroup> speed_x: array<f32, TILE_CELLS>;
var<workgroup> speed_y: array<f32, TILE_CELLS>;

// Computes the velocities at the faces of a cell of the tile, and returns the speed of the faster wave there.
fn find_speeds(place: vec2<i32>, cell: u32) -> f32 {
    // A fluid crosses at most a cell in a step.
    let fastest = map.size / state.dt;
    let last = vec2(i32(map.width), i32(map.height));
    let beside = min(place, last + vec2(1, 0));
    let right = vec2(i32(on_faces(beside.x, map.width)), i32(on_side(beside.y, map.height)));
    let along_x = depth_and_speed(surface_at(right - vec2(1, 0)), surface_at(right), flux_x[face_x(beside.x, beside.y)]);
    speed_x[cell] = clamp(along_x.y, -fastest, fastest);
    let above = min(place, last + vec2(0, 1));
    let lower = vec2(i32(on_side(above.x, map.width)), i32(on_faces(above.y, map.height)));
    let along_y = depth_and_speed(surface_at(lower - vec2(0, 1)), surface_at(lower), flux_y[face_y(above.x, above.y)]);
    speed_y[cell] = clamp(along_y.y, -fastest, fastest);
    return max(wave_speed(along_x.x, along_x.y), wave_speed(along_y.x, along_y.y));
}

// Fluxes around a face.
struct Faces {
    // Along the flux: before, own, after.
    flux: vec3<f32>,
    speed: vec3<f32>,
    // Velocities at the parallel faces on either side, and twice the transverse fluxes there.
    beside: vec2<f32>,
    crossing: vec2<f32>,
    // g·Δt·n² there.
    drag: f32,
}

// Returns g·Δt·n² in a cell.
fn drag_at(cell: u32) -> f32 {
    let push = map.gravity * state.dt;
    let unmasked = push * map.free.roughness * map.free.roughness;
    return lerp(unmasked, push * map.masked.roughness * map.masked.roughness, mask_at(cell));
}

// Returns the mean of g·Δt·n² on both sides of a face.
fn mean_drag(before: vec2<i32>, after: vec2<i32>) -> f32 {
    return 0.5 * (drag_at(cell_of(before)) + drag_at(cell_of(after)));
}

// Returns the flux of the next step across a face between two cells, before it is limited.
fn next_flux(faces: Faces, before: vec2<f32>, after: vec2<f32>) -> f32 {
    let own = faces.flux.y;
    let speed = faces.speed.y;
    let dt_over_l = state.dt / map.size;
    // Each flux advects the momentum of its upwind face.
    let along = (max(faces.flux.x, 0.0) * faces.speed.x + max(-faces.flux.z, 0.0) * faces.speed.z) - abs(own) * speed;
    let near = faces.crossing.x;
    let far = faces.crossing.y;
    let into = near * select(speed, faces.beside.x, near > 0.0);
    let aside = into - far * select(faces.beside.y, speed, far > 0.0);
    let depth = max(before.y, after.y) - max(before.x, after.x);
    let safe = max(depth, DRY);
    let driven = (own + dt_over_l * (along + 0.5 * aside)) - map.gravity * dt_over_l * safe * (after.y - before.y);
    // Friction acts on the magnitude of the flow, not on each component separately.
    let sideways = 0.25 * (near + far);
    let whole = sqrt(own * own + sideways * sideways);
    let third = inverse_cube_root(safe);
    let fourth = third * third;
    let drag = faces.drag * whole * (fourth * fourth * fourth * third);
    return select(0.0, driven / (1.0 + drag), depth > DRY);
}

// Computes the fluxes of the next step from the velocities before it, and the speed of the fastest wave.
@compute @workgroup_size(64, 4)
fn find_fluxes(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_id) own: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let place = vec2<i32>(id.xy);
    let first = place - vec2<i32>(own.xy) - 1;
    var wave = 0.0;
    for (var cell = local; cell < TILE_CELLS; cell += 256u) {
        wave = max(wave, find_speeds(first + vec2<i32>(vec2(cell % TILE.x, cell / TILE.x)), cell));
    }
    let most = largest(local, wave);
    if local == 0u {
        // Bits of positive numbers have the order of the numbers.
        atomicMax(&state.wave, bitcast<u32>(most));
    }
    let here = (own.y + 1u) * TILE.x + own.x + 1u;
    let x = place.x;
    let y = place.y;
    let width = i32(map.width);
    let height = i32(map.height);
    if x <= width && y < height {
        var faces: Faces;
        faces.flux = vec3(flux_x[face_x(x - 1, y)], flux_x[face_x(x, y)], flux_x[face_x(x + 1, y)]);
        faces.speed = vec3(speed_x[here - 1u], speed_x[here], speed_x[here + 1u]);
        faces.beside = vec2(speed_x[here - TILE.x], speed_x[here + TILE.x]);
        faces.drag = mean_drag(place - vec2(1, 0), place);
        faces.crossing = vec2(
            flux_y[face_y(x - 1, y)] + flux_y[face_y(x, y)],
            flux_y[face_y(x - 1, y + 1)] + flux_y[face_y(x, y + 1)],
        );
        let flux = next_flux(faces, surface_at(place - vec2(1, 0)), surface_at(place));
        let closed = map.edge == WALL && (x == 0 || x == width);
        next_x[u32(y) * (map.width + 1u) + u32(x)] = select(flux, 0.0, closed);
    }
    if x < width && y <= height {
        var faces: Faces;
        faces.flux = vec3(flux_y[face_y(x, y - 1)], flux_y[face_y(x, y)], flux_y[face_y(x, y + 1)]);
        faces.speed = vec3(speed_y[here - TILE.x], speed_y[here], speed_y[here + TILE.x]);
        faces.beside = vec2(speed_y[here - 1u], speed_y[here + 1u]);
        faces.drag = mean_drag(place - vec2(0, 1), place);
        faces.crossing = vec2(
            flux_x[face_x(x, y - 1)] + flux_x[face_x(x, y)],
            flux_x[face_x(x + 1, y - 1)] + flux_x[face_x(x + 1, y)],
        );
        let flux = next_flux(faces, surface_at(place - vec2(0, 1)), surface_at(place));
        let closed = map.edge == WALL && (y == 0 || y == height);
        next_y[u32(y) * map.width + u32(x)] = select(flux, 0.0, closed);
    }
}

// Computes the concentration of sediment in each cell, and the limit of its outflow.
@compute @workgroup_size(64, 4)
fn find_limits(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let place = vec2<i32>(id.xy);
    var limited = false;
    if on_map(place) {
        let cell = cell_of(place);
        let left = u32(place.y) * (map.width + 1u) + u32(place.x);
        let out = (max(-next_x[left], 0.0) + max(next_x[left + 1u], 0.0)) + (max(-next_y[cell], 0.0) + max(next_y[cell + map.width], 0.0));
        let wanted = out * (state.dt / map.size);
        let held = water[cell] + suspended[cell] * suspended_fraction();
        // A millionth is kept, so that rounding removes no more than there is.
        let most = held * (1.0 - 1e-6);
        limited = wanted > most;
        fluid[cell] = vec2(suspended[cell] / (held + TINY), select(1.0, most / max(wanted, TINY), limited));
    }
    count(local, group_of(group), OUTFLOW_LIMITED, limited);
}

// Returns concentration and limit of the fluid in a cell, or beyond an open border.
fn fluid_at(place: vec2<i32>) -> vec2<f32> {
    if is_beyond(place) {
        return vec2(0.0, 1.0);
    }
    return fluid[cell_of(place)];
}

// Limits the fluxes to what their upwind cells hold.
@compute @workgroup_size(64, 4)
fn limit_fluxes(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = vec2<i32>(id.xy);
    if place.x <= i32(map.width) && place.y < i32(map.height) {
        let face = u32(place.y) * (map.width + 1u) + u32(place.x);
        let next = next_x[face];
        flux_x[face] = next * select(fluid_at(place), fluid_at(place - vec2(1, 0)), next > 0.0).y;
    }
    if place.x < i32(map.width) && place.y <= i32(map.height) {
        let face = u32(place.y) * map.width + u32(place.x);
        let next = next_y[face];
        flux_y[face] = next * select(fluid_at(place), fluid_at(place - vec2(0, 1)), next > 0.0).y;
    }
}

// Moves water and sediment along the fluxes.
@compute @workgroup_size(64, 4)
fn move_fluid(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let place = vec2<i32>(id.xy);
    var water_out = 0.0;
    var solid_out = 0.0;
    if on_map(place) {
        let cell = cell_of(place);
        let face = u32(place.y) * (map.width + 1u) + u32(place.x);
        let left = flux_x[face];
        let right = flux_x[face + 1u];
        let above = flux_y[cell];
        let below = flux_y[cell + map.width];
        let own = fluid[cell].x;
        let load_left = left * select(own, fluid_at(place - vec2(1, 0)).x, left > 0.0);
        let load_right = right * select(fluid_at(place + vec2(1, 0)).x, own, right > 0.0);
        let load_above = above * select(own, fluid_at(place - vec2(0, 1)).x, above > 0.0);
        let load_below = below * select(fluid_at(place + vec2(0, 1)).x, own, below > 0.0);
        let dt_over_l = state.dt / map.size;
        let inflow = (left - right) + (above - below);
        let load_in = (load_left - load_right) + (load_above - load_below);
        let wet = water[cell];
        let before = suspended[cell];
        let s = max(before + dt_over_l * load_in, 0.0);
        let d = max(wet + dt_over_l * (inflow - load_in * suspended_fraction()), 0.0);
        // Velocity from the mean of the depths before and after, damped over thin films.
        let mean = 0.5 * ((wet + before * suspended_fraction()) + (d + s * suspended_fraction()));
        let scale = 0.5 * (mean / (mean * mean + FILM_SQUARE));
        let velocity = vec2(left + right, above + below) * scale;
        let fastest = map.size / state.dt;
        water[cell] = d;
        suspended[cell] = s;
        surface[cell].y = min(dot(velocity, velocity), fastest * fastest);
        if map.edge == OPEN {
            var fluxes = 0.0;
            var loads = 0.0;
            if place.x == 0 { fluxes -= left; loads -= load_left; }
            if place.x == i32(map.width) - 1 { fluxes += right; loads += load_right; }
            if place.y == 0 { fluxes -= above; loads -= load_above; }
            if place.y == i32(map.height) - 1 { fluxes += below; loads += load_below; }
            water_out = dt_over_l * (fluxes - suspended_fraction() * loads);
            solid_out = dt_over_l * loads;
        }
    }
    tally(local, group_of(group), vec4(WATER_OUT, SOLID_OUT, NONE, NONE), vec4(water_out, solid_out, 0.0, 0.0));
}

// Erodes the bed and deposits sediment.
@compute @workgroup_size(64, 4)
fn exchange(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let place = vec2<i32>(id.xy);
    var eroded = 0.0;
    var deposited = 0.0;
    var evaporated = 0.0;
    var erosion_limited = false;
    var deposition_limited = false;
    var depth = 0.0;
    if on_map(place) {
        let cell = cell_of(place);
        let d = water[cell];
        let s = suspended[cell];
        let fraction = suspended_fraction();
        let dt_over_l = state.dt / map.size;
        let step_fraction = clamp(max(100.0 / (map.acceleration * map.acceleration), 0.25 * dt_over_l), 0.005, 0.25);
        let mask = mask_at(cell);
        let square = surface[cell].y;
        // Transport capacity from the energy slope.
        let third = inverse_cube_root(max(d, DRY));
        let per_push = 1.0 / max(map.gravity * state.dt, TINY);
        let slope = drag_at(cell) * per_push * square * ((third * third) * (third * third));
        let power = slope * slope / (1.0 + slope * slope) * square;
        let capacity = lerp(map.free.capacity, map.masked.capacity, mask);
        let concentration = min(capacity * sqrt(power) * max(1.0 - d * map.per_depth, 0.0), MOST_LOAD);
        let deficit = (concentration * d - s * fraction) * map.acceleration;
        let here = surface[cell].x;
        let left = surface_at(place - vec2(1, 0)).x;
        let right = surface_at(place + vec2(1, 0)).x;
        let above = surface_at(place - vec2(0, 1)).x;
        let below = surface_at(place + vec2(0, 1)).x;
        let lowest = min(min(left, right), min(above, below));
        let highest = max(max(left, right), max(above, below));
        // Sand first, then rock by its softness, to a small fraction of the depth below the lowest neighbour at most.
        let suspension = lerp(map.free.suspension * state.dt, map.masked.suspension * state.dt, mask);
        let want = max(deficit, 0.0);
        let wanted = want * (suspension / (1.0 + suspension));
        let gentle = max(step_fraction * max(here - lowest, 0.0), want * fraction);
        let above_lowest = max(min((here - lowest) + POOL * min(d, DEEP), gentle), 0.0);
        let loose = min(wanted, above_lowest);
        let old_bedrock = bedrock[cell];
        let old_sand = sand[cell];
        let from_sand = add_limited(s, min(loose, old_sand)) - s;
        let hard = suspension * 2.0 * softness[cell];
        let rest = (loose - from_sand) / ((loose + TINY) * (1.0 + hard));
        let from_rock = add_limited(s, min(want * (rest * hard), max(above_lowest - from_sand, 0.0))) - s;
        // Bed load fills a pool to the level of the bed around it; a cell that dries deposits all its sediment.
        let deposition = lerp(map.free.deposition * state.dt, map.masked.deposition * state.dt, mask);
        let share = deposition / (1.0 + deposition);
        let falls = min(max(lowest - here, 0.0), s * share);
        var settles = select(s, max(max(-deficit, 0.0) * share, falls), d > DRY);
        let room = max(step_fraction * max(highest - here, 0.0), settles * fraction);
        deposition_limited = settles > room;
        settles = s - rounded(s - min(settles, room));
        let rock = rounded(old_bedrock - from_rock);
        let remaining_sand = rounded(old_sand - from_sand);
        let taken = (old_bedrock - rock) + (old_sand - remaining_sand);
        let laid = add_limited(remaining_sand, settles);
        let settled = laid - remaining_sand;
        let unmasked = 1.0 / (1.0 + map.free.evaporation * state.dt);
        let stays = lerp(unmasked, 1.0 / (1.0 + map.masked.evaporation * state.dt), mask);
        let remains = rounded(d * stays);
        bedrock[cell] = rock;
        sand[cell] = laid;
        water[cell] = remains;
        suspended[cell] = (s - settled) + taken;
        eroded = taken;
        deposited = settled;
        evaporated = d - remains;
        erosion_limited = wanted > above_lowest;
        depth = remains + suspended[cell] * fraction;
    }
    let most = largest(local, depth);
    if local == 0u {
        atomicMax(&state.deepest, bitcast<u32>(most));
    }
    let number = group_of(group);
    tally(local, number, vec4(ERODED, DEPOSITED, EVAPORATED, NONE), vec4(eroded, deposited, evaporated, 0.0));
    count(local, number, EROSION_LIMITED, erosion_limited);
    count(local, number, DEPOSITION_LIMITED, deposition_limited);
}
