// Rivers: drawn on the triangles of the ground, where there is a river.
#import thalweg::view::view
#import thalweg::scene::{sun_color, ambient_light, sky_color, past_clouds, noise}
#import thalweg::map::{scene, cell_at, on_ground, Corner, corner_cell, relief_at, relief_sampler, sun_share}
#import thalweg::screen::{through_air, on_screen}
#ifdef RING
#import thalweg::map::with_ring
#endif
#ifdef CUT
#import thalweg::map::is_cut_away
#endif

struct River {
    // Colour of deep water; a: visibility depth in metres, over which most red light is absorbed.
    color: vec4<f32>,
    // Strength of the ripples, factors of reflection and glint, and time of the waves in seconds.
    waves: vec4<f32>,
}

// Nearest river of a cell: flow direction in radians, offset of the cell to its right and half width in cells, and depth in metres.
// Zero width: no river.
@group(1) @binding(4) var channels: texture_2d<f32>;
@group(1) @binding(5) var<uniform> river: River;

// Red: sky visibility.
@group(1) @binding(8) var cover: texture_2d<f32>;

struct Pixel {
    @builtin(position) @invariant position: vec4<f32>,
    @location(0) place: vec3<f32>,
}

@vertex
fn vertex(corner: Corner) -> Pixel {
    let place = on_ground(corner_cell(corner));
    return Pixel(view.clip_from_world * vec4(place, 1.0), place);
}

// River nearest to a cell.
fn known_at(cell: vec2<i32>) -> vec4<f32> {
    let last = vec2<i32>(textureDimensions(channels)) - 1;
    return textureLoad(channels, clamp(cell, vec2(0), last), 0);
}

// River at a pixel: coverage, wetness of the banks, depth in metres, and flow direction.
struct Channel {
    covers: f32,
    bank: f32,
    depth: f32,
    flow: vec2<f32>,
}

// Each of the four surrounding cells stores its river's centre line, so banks are sharp at any distance.
fn channel_at(cell: vec2<f32>, pixel: f32) -> Channel {
    let first = vec2<i32>(floor(cell));
    let part = cell - floor(cell);
    var sum = vec4(0.0);
    var flow = vec2(0.0);
    var knows = 0.0;
    for (var corner = 0; corner < 4; corner++) {
        let offset = vec2(corner & 1, corner >> 1u);
        let known = known_at(first + offset);
        let share = select(1.0 - part.x, part.x, offset.x == 1) * select(1.0 - part.y, part.y, offset.y == 1);
        let along = vec2(cos(known.x), sin(known.x));
        let aside = known.y + dot(part - vec2<f32>(offset), vec2(-along.y, along.x));
        // If they store different rivers, the nearest one dominates.
        let weight = (share + 0.02) * exp2(clamp(8.0 * (known.z - abs(aside)), -40.0, 40.0)) * select(0.0, 1.0, known.z > 0.0);
        knows += share * select(0.0, 1.0, known.z > 0.0);
        sum += weight * vec4(abs(aside), known.z, known.w, 1.0);
        flow += weight * along;
    }
    let mean = sum.xyz / max(sum.w, 1e-20);
    // From afar a river stays one pixel wide and fades instead.
    let half_width = max(mean.y, 0.5 * pixel);
    let seen = clamp(mean.y / half_width, 0.3, 1.0) * smoothstep(0.0, 0.2, knows);
    let edge = 0.5 * pixel + 0.04 * mean.y;
    var out: Channel;
    out.covers = (1.0 - smoothstep(half_width - edge, half_width + edge, mean.x)) * seen;
    let bank = mean.y + min(0.8 * mean.y, 0.6);
    out.bank = (1.0 - smoothstep(mean.y, bank, mean.x)) * seen;
    // Parabolic cross-section.
    let away = clamp(mean.x / max(half_width, 1e-4), 0.0, 1.0);
    out.depth = mean.z * 1.5 * (1.0 - away * away);
    out.flow = flow / max(length(flow), 1e-4);
    return out;
}

// Slope of small waves that drift with the flow.
fn river_waves(cell: vec2<f32>, flow: vec2<f32>, pixel: f32) -> vec2<f32> {
    var slope = vec2(0.0);
    for (var size = 0; size < 2; size++) {
        let scale = array(3.0, 9.0)[size];
        let at = scale * (cell - flow * river.waves.w * 0.35);
        let near = 1.0 - smoothstep(0.08, 0.35, pixel * scale);
        let here = noise(at);
        slope += near * vec2(noise(at + vec2(0.35, 0.0)) - here, noise(at + vec2(0.0, 0.35)) - here);
    }
    return slope * river.waves.x * 2.5;
}

// Width of a pixel on the ground, in cells.
fn pixel_width(cell: vec2<f32>) -> f32 {
    return max(length(vec2(length(dpdx(cell)), length(dpdy(cell)))) * 0.7, 1e-4);
}

// Discards pixels without a river, by the nearest cell only. Rivers are stored beyond half a cell from their banks.
@fragment
fn mark(in: Pixel) {
    let cell = cell_at(in.place.xz);
    let pixel = pixel_width(cell);
    let known = known_at(vec2<i32>(round(cell)));
    // Maximum distance of a cell centre from the river.
    let reach = known.z + max(0.5 * pixel, min(0.8 * known.z, 0.6)) + 0.5 * pixel + 0.71;
    if known.z <= 0.0 || abs(known.y) > reach { discard; }
#ifdef SPLIT
    if scene.place.z * (view.tile.x + in.position.x - scene.place.w * view.tile.z) < 0.0 { discard; }
#endif
#ifdef CUT
    if is_cut_away(in.place.xz) { discard; }
#endif
}

@fragment
fn fragment(in: Pixel) -> @location(0) vec4<f32> {
    let place = in.place;
    let cell = cell_at(place.xz);
    let pixel = pixel_width(cell);
#ifdef SPLIT
    // The depth prepass of the other side may have the same depth.
    if scene.place.z * (view.tile.x + in.position.x - scene.place.w * view.tile.z) < 0.0 { discard; }
#endif
    let channel = channel_at(cell, pixel);
    let here = relief_at(cell);
    let slope = here.xy * scene.phong.w;
    let normal = normalize(vec3(-slope.x, 1.0, -slope.y));
    let sky_seen = textureSampleLevel(cover, relief_sampler, (cell + 0.5) / scene.grid.xy, 0.0).r;
    let open = mix(1.0, sky_seen, scene.ground.z);
    let lit = sun_share(here.b) * past_clouds(place, scene);
    let sun = scene.sun.xyz;
    let eye = view.eye.xyz - place;
    let distance = length(eye);
    let towards_eye = eye / distance;
    let half_way = normalize(sun + towards_eye);
    var waves = vec2(0.0);
#ifdef FINE
    waves = river_waves(cell, channel.flow, pixel);
#endif
    // The water surface is flatter than its bed.
    let surface = normalize(mix(normal, vec3(0.0, 1.0, 0.0), 0.7) - vec3(waves.x, 0.0, waves.y));
    let direct = sun_color(scene) * lit * mix(open, 1.0, 0.4);
    let light = direct * max(dot(surface, sun), 0.0) + ambient_light(surface, scene) * open;
    let mirrored = reflect(-towards_eye, surface);
    let sky = sky_color(normalize(vec3(mirrored.x, max(mirrored.y, 0.02), mirrored.z)), scene);
    let facet = pow(1.0 - max(dot(surface, towards_eye), 0.0), 5.0);
    // Waves too small to resolve turn some of the water towards the sky.
    let fresnel = clamp(river.waves.y * (0.12 + 0.88 * facet), 0.0, 1.0);
    let glint = river.waves.z * pow(max(dot(surface, half_way), 0.0), 220.0) * 2.0;
    // The bed shows through shallow water, darkened by wetness. Banks are damp.
    let swallowed = 1.0 - exp(-2.5 * channel.depth / river.color.a);
    let own = 0.55 + 0.45 * swallowed;
    let bed = mix(mix(1.0, 0.63, channel.bank), 0.55 * (1.0 - own) * (1.0 - fresnel), channel.covers);
    let water = channel.covers * (mix(river.color.rgb * light * own, sky, fresnel) + direct * glint);
    let alpha = clamp(1.0 - bed, 0.0, 1.0);
    var color = through_air(water / max(alpha, 1e-3), towards_eye, distance, scene);
#ifdef RING
    color = with_ring(color, cell, pixel);
#endif
    return on_screen(vec4(color, alpha), in.position.xy);
}
