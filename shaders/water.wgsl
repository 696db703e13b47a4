// Water: the block's mesh raised to the water surface, with absorption, reflection of sky and sun, and suspended sediment.
#import thalweg::view::view
#import thalweg::scene::{past_clouds, sky_color, sun_color, ambient_light, noise}
#import thalweg::screen::{through_air, on_screen}
#import thalweg::map::{scene, sunlit, sun_share, relief_at, texel, moving_between, cell_at, place_of, bilinear, world_height}
#import thalweg::map::{Corner, corner_cell, is_low, outward}
#ifdef RING
#import thalweg::map::with_ring
#endif
#ifdef CUT
#import thalweg::map::is_cut_away
#endif

struct Water {
    // Colour of deep water; a: visibility depth in metres, over which most red light is absorbed.
    color: vec4<f32>,
    // Colour of turbid water; a: strength of the ripples.
    silt: vec4<f32>,
    // Depths in metres up to which water is invisible, and from which it is fully visible. Factors of reflection and glint.
    film: vec4<f32>,
    // Time of the waves in seconds; opacity relative to the look, for overlays on the bed.
    clock: vec4<f32>,
}

@group(1) @binding(3) var<uniform> water: Water;

// Water level and weight of a cell for averages over wet cells; 0 if dry.
fn wet_level(here: vec4<f32>) -> vec2<f32> {
    return select(vec2(0.0), vec2(here.r + here.b, 1.0), here.b > water.film.x);
}

// Height at which the surface passes a cell: the level of its water or, if it is dry, its ground, but not above the water around it.
fn passed_level(here: vec4<f32>, around: f32) -> f32 {
    return select(min(here.r, around), here.r + here.b, here.b > water.film.x);
}

// Height of the water surface in metres. Banks do not raise it: at the shore it extends at water level into them, where the ground
// hides it. At a front it falls to the dry ground.
fn surface(cell: vec2<f32>) -> f32 {
    let first = vec2<i32>(floor(cell));
    let part = cell - floor(cell);
    let nw = texel(first);
    let ne = texel(first + vec2(1, 0));
    let sw = texel(first + vec2(0, 1));
    let se = texel(first + vec2(1, 1));
    let inside = mix(mix(wet_level(nw), wet_level(ne), part.x), mix(wet_level(sw), wet_level(se), part.x), part.y);
    if inside.y > 1e-3 {
        let mean = inside.x / inside.y;
        let above = mix(passed_level(nw, mean), passed_level(ne, mean), part.x);
        let below = mix(passed_level(sw, mean), passed_level(se, mean), part.x);
        return mix(above, below, part.y);
    }
    let near = vec2<i32>(round(cell));
    var around = wet_level(texel(near + vec2(-1, 0))) + wet_level(texel(near + vec2(1, 0)));
    around += wet_level(texel(near + vec2(0, -1))) + wet_level(texel(near + vec2(0, 1)));
    around += wet_level(texel(near + vec2(-1, -1))) + wet_level(texel(near + vec2(1, 1)));
    around += wet_level(texel(near + vec2(1, -1))) + wet_level(texel(near + vec2(-1, 1)));
    let ground = bilinear(cell).r;
    let bank = min(around.x / max(around.y, 1.0), ground + 0.5 * water.film.x);
    return select(ground - 2.0 * water.film.y, bank, around.y > 0.5);
}

struct Pixel {
    @builtin(position) position: vec4<f32>,
    @location(0) place: vec3<f32>,
    @location(1) normal: vec3<f32>,
}

@vertex
fn vertex(corner: Corner) -> Pixel {
    let cell = corner_cell(corner);
#ifdef WALL
    // Walls of water stand on the ground; dry ones have no height.
    let here = bilinear(cell);
    let height = select(here.r + here.b, here.r, is_low(corner.position.y, cell));
    let normal = outward(corner);
#else
    let height = surface(cell);
    let normal = vec3(0.0, 1.0, 0.0);
#endif
    let place = vec3(place_of(cell), world_height(height)).xzy;
    return Pixel(view.clip_from_world * vec4(place, 1.0), place, normal);
}

// Slope of small waves that move even on still water.
fn waves(at: vec2<f32>) -> vec2<f32> {
    let drift = water.clock.x * vec2(0.25, 0.1);
    let long = vec2(noise(at * 0.9 + drift), noise(at * 0.9 - drift + 7.0)) - 0.5;
    let short = vec2(noise(at * 2.3 - 1.7 * drift), noise(at * 2.3 + 1.7 * drift + 3.0)) - 0.5;
    return long + 0.6 * short;
}

// Height above the ground in world units; large outside the map.
fn above_land(place: vec3<f32>) -> f32 {
    let cell = cell_at(place.xz);
    var inside = all(cell >= vec2(0.0)) && all(cell <= scene.grid.xy - 1.0);
#ifdef CUT
    inside = inside && !is_cut_away(place.xz);
#endif
    return select(1e9, place.y - world_height(bilinear(cell).r), inside);
}

// Angle over which reflections fade from land to sky at a crest, in radians, against aliasing.
const CREST: f32 = 0.012;

// Reflected land in a direction: colour and coverage. Ray marched with growing steps, then refined by bisection. Near misses are
// part of the edge.
fn mirrored_land(place: vec3<f32>, direction: vec3<f32>) -> vec4<f32> {
    var near = 0.0;
    var far = 0.008 * scene.air.w;
    var found = 0.0;
    // Smallest angular gap so far, and its distance.
    var least = 1.0;
    var closest = far;
    for (var look = 0; look < 15; look++) {
        if found > 0.0 { break; }
        let above = above_land(place + direction * far);
        found = select(0.0, 1.0, above < 0.0);
        closest = select(closest, far, above / far < least);
        least = min(least, above / far);
        near = select(far, near, found > 0.0);
        far = select(far * 1.32, far, found > 0.0);
    }
    for (var look = 0; look < 5; look++) {
        if found <= 0.0 { break; }
        let middle = 0.5 * (near + far);
        let inside = above_land(place + direction * middle) < 0.0;
        near = select(middle, near, inside);
        far = select(far, middle, inside);
    }
    let fills = max(found, 1.0 - smoothstep(0.0, CREST, least));
    if fills <= 0.0 { return vec4(0.0); }
    let at = place + direction * select(closest, far, found > 0.0);
    let here = relief_at(cell_at(at.xz));
    let slope = here.xy * scene.phong.w;
    let normal = normalize(vec3(-slope.x, 1.0, -slope.y));
    let steep = 1.0 - smoothstep(scene.ground.x - 0.08, scene.ground.x + 0.08, normal.y);
    let sandy = smoothstep(0.25, 1.0, here.a / scene.sand_color.a) * (1.0 - 0.75 * steep);
    let green = scene.flat_color.rgb * (1.0 - 0.5 * scene.life.w);
    let bare = mix(mix(green, scene.steep_color.rgb, steep), scene.sand_color.rgb, sandy);
    let painted = mix(bare, scene.ramp[2].rgb, step(0.5, scene.ramp_by.x));
    let snow = smoothstep(-0.4, 0.4, (at.y - scene.surface.x) / scene.surface.y) * smoothstep(0.50, 0.74, normal.y);
    let lit = sun_color(scene) * sun_share(here.b) * max(dot(normal, scene.sun.xyz), 0.0);
    return vec4(mix(painted, vec3(0.95, 0.935, 0.91), snow) * (lit + ambient_light(normal, scene) * 0.8), fills);
}

@fragment
fn fragment(in: Pixel) -> @location(0) vec4<f32> {
    let place = in.place;
    let cell = cell_at(place.xz);
#ifdef RING
    let pixel = max(length(vec2(length(dpdx(cell)), length(dpdy(cell)))) * 0.7, 1e-4);
#endif
    let here = bilinear(cell);
#ifdef WALL
    let wall = true;
#else
    let wall = false;
#endif
    let depth = select((place.y - world_height(here.r)) / max(scene.extent.z, 1e-6), here.b, wall);
    // A mesh coarser than the cells falls to the ground beyond the cells of a front.
    let near = vec2<i32>(round(cell));
    let beside = max(texel(near + vec2(-2, 0)).b, texel(near + vec2(2, 0)).b);
    let across = max(texel(near + vec2(0, -2)).b, texel(near + vec2(0, 2)).b);
    let filled = select(max(here.b, max(beside, across)), here.b, wall);
    // Shallow water fades out over at least one pixel.
    let thin = min(depth, filled + water.film.x);
    let wet = smoothstep(water.film.x, max(water.film.y, water.film.x + 1.5 * fwidth(thin)), thin);
#ifdef WALL
    // Depth below the surface, and its difference between pixels.
    let under = max(here.b - (place.y - world_height(here.r)) / max(scene.extent.z, 1e-6), 0.0);
    let under_width = fwidth(under);
#endif
    // Discard after the last derivative: derivatives are undefined after a discard.
#ifdef SPLIT
    if scene.place.z * (view.tile.x + in.position.x - scene.place.w * view.tile.z) < 0.0 { discard; }
#endif
#ifdef CUT
    if is_cut_away(place.xz) { discard; }
#endif
    if wet <= 0.0 { discard; }
    let eye = view.eye.xyz - place;
    // Hide the far walls: their reflection of the sky would look like a hole.
    if wall && dot(in.normal, eye) <= 0.0 { discard; }
    let distance = length(eye);
    let towards_eye = eye / distance;
    var normal = in.normal;
    var foam = 0.0;
    var mottling = 0.5;
    if !wall {
        // Slope of the flowing surface, plus small moving waves.
        let step = 1.0;
        let left = texel(vec2<i32>(round(cell)) - vec2(1, 0));
        let right = texel(vec2<i32>(round(cell)) + vec2(1, 0));
        let up = texel(vec2<i32>(round(cell)) - vec2(0, 1));
        let down = texel(vec2<i32>(round(cell)) + vec2(0, 1));
        let slope = vec2(right.r + right.b - left.r - left.b, down.r + down.b - up.r - up.b) * 0.5 * scene.extent.z / scene.grid.z;
        let steep = slope / max(1.0, length(slope) * 2.5);
        let at = place.xz * 256.0 / scene.air.w;
        // Waves move with the flow. Two patterns alternate: each fades out before the flow distorts it, while the other is at its
        // clearest.
        let flow = moving_between(cell).yz;
        let pace = 1.2 * flow / (1.0 + 0.6 * length(flow));
        let phase = fract(vec2(water.clock.x, water.clock.x + 1.0) * 0.5);
        let first = waves(at - pace * (phase.x - 0.5) * 2.0);
        let second = waves(at - pace * (phase.y - 0.5) * 2.0 + 17.0);
        let chop = mix(first, second, abs(2.0 * phase.x - 1.0));
        let fade = clamp(1.6 * scene.air.w / distance - 0.3, 0.0, 1.0) * smoothstep(0.0, water.film.y, depth);
        // Shallow water is smooth unless it flows.
        let rough = 0.7 * smoothstep(water.film.y, 4.0 * water.film.y, depth) + 0.5 * min(length(flow), 2.0);
        let ripples = chop * rough * water.silt.a * fade;
        normal = normalize(vec3(-steep.x + ripples.x, step, -steep.y + ripples.y));
        // Fast water entrains air. Gusts and currents vary the brightness of large water surfaces.
        let near = 1.0 - smoothstep(0.3, 1.0, distance / scene.air.w * scene.country.w);
        foam = smoothstep(4.0, 10.0, length(flow)) * mix(0.25, smoothstep(0.0, 0.6, chop.x + chop.y), near);
        mottling = noise(at * vec2(0.035, 0.06) + 3.0) * 0.6 + noise(at * vec2(0.11, 0.19)) * 0.4;
    }
    let sun = scene.sun.xyz;
    let lit = sunlit(cell) * past_clouds(place, scene);
    let facing = max(dot(normal, towards_eye), 0.02);
    let path = max(depth, 0.0) / max(facing, 0.25);
    // Red is absorbed first; sediment absorbs all colours equally.
    let thick = max(here.a, 0.0) / max(here.b, 1e-4);
    let silt = 1.0 - exp(-1.6 * thick);
    let per_metre = mix(vec3(1.0, 0.36, 0.26) * 1.6 / water.color.a, vec3(3.0) / water.color.a, silt);
    let through = exp(-path * per_metre);
    let light = sun_color(scene) * (0.25 + 0.75 * lit) * max(sun.y, 0.08) + vec3(0.5, 0.6, 0.75) * scene.phong.x;
    var body = mix(water.color.rgb * (0.82 + 0.36 * mottling), water.silt.rgb, silt) * light;
#ifdef WALL
    // Light from above dims and turns blue with depth.
    body *= 0.65 + 0.95 * exp(-under * per_metre * vec3(0.4));
#endif
    var mirrored = reflect(-towards_eye, normal);
    mirrored.y = abs(mirrored.y);
    // The cut through the water does not reflect.
    let fresnel = select(min((0.02 + 0.98 * pow(1.0 - facing, 5.0)) * water.film.z, 1.0), 0.0, wall);
    let glint = select(pow(max(dot(mirrored, sun), 0.0), 500.0) * 1.6 * lit * water.film.w, 0.0, wall);
    let clear = sky_color(mirrored, scene);
    // Haze and clouds that are not drawn make the sky paler than its zenith.
    let sky = mix(clear, vec3(dot(clear, vec3(0.3, 0.5, 0.2))), 0.35);
    var mirror = sky;
#ifdef FINE
    if !wall {
        // Waves distort reflections of land less than those of the sky, to avoid specks.
        let calm = reflect(-towards_eye, normalize(mix(normal, vec3(0.0, 1.0, 0.0), 0.7)));
        let land = mirrored_land(place, vec3(calm.x, abs(calm.y), calm.z));
        mirror = mix(sky, land.rgb, land.a);
    }
#endif
    let covers = 1.0 - dot(through, vec3(0.30, 0.42, 0.28));
    let alpha = clamp(max(max(covers, fresnel), 0.7 * foam) * wet, 0.0, 1.0) * water.clock.y;
    // Alpha blending dims the bed equally in all colours; differences in transmission between colours are added, with the colour of
    // pale sand.
    let bed = vec3(0.44, 0.42, 0.26) * light * (1.0 - silt);
    let seen = max(body * (1.0 - through) + bed * (through - vec3(1.0 - covers)), vec3(0.0));
    var color = (seen * (1.0 - fresnel) + mirror * fresnel) / max(max(covers, fresnel), 1e-3) + sun_color(scene) * glint;
    color = mix(color, vec3(0.8, 0.84, 0.86) * light, 0.55 * foam);
#ifdef WALL
    // Bright edge where the surface meets the wall.
    color = mix(color, vec3(0.8, 0.84, 0.86) * light, 0.2 * (1.0 - smoothstep(0.5, 1.5, under / max(under_width, 1e-6))));
#endif
    color = through_air(color, towards_eye, distance, scene);
#ifdef RING
    if !wall {
        // The ring is drawn on the bed, where the line of sight ends; deep water would hide it.
        let bed = place.xz - towards_eye.xz * depth * scene.extent.z / max(towards_eye.y, 0.12);
        color = with_ring(color, cell_at(bed), pixel);
    }
#endif
    return on_screen(vec4(color, alpha), in.position.xy);
}
