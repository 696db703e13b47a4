// Ground plane under the blocks: receives their shadows and fades into the background.
#import thalweg::view::view
#import thalweg::scene::{Scene, sky_color, studio_color, sun_color, ambient_light, past_clouds, noise, noise_slope}
#import thalweg::screen::on_screen

@group(1) @binding(0) var<uniform> scene: Scene;
// Blocks on the plane, followed by unused entries: centre (x, z) and half extents.
@group(1) @binding(1) var<uniform> blocks: array<vec4<f32>, 32>;

// Shadow-casting heights at the edges of the blocks, in world units above the base. Four rows per block: sides towards lower x,
// higher x, lower z and higher z. The second half holds those of the starts.
@group(1) @binding(2) var horizons: texture_2d<f32>;
@group(1) @binding(3) var horizons_sampler: sampler;

#ifdef PLINTH
// Margins of the plinth at the sides, and at the front, towards higher z.
@group(1) @binding(4) var<uniform> reach: vec4<f32>;
// Coverage of the lettering on the front, with mipmaps.
@group(1) @binding(5) var letters: texture_2d<f32>;
@group(1) @binding(6) var letters_sampler: sampler;

// Plinth at a pixel: coverage, distance outside its edge, colour and normal.
struct PlinthSample {
    covers: f32,
    beyond: f32,
    color: vec3<f32>,
    normal: vec3<f32>,
}

fn plinth_at(place: vec2<f32>) -> PlinthSample {
    let block = blocks[0];
    let low = block.xy - block.zw - reach.x;
    let high = block.xy + block.zw + reach.xy;
    let from_middle = place - 0.5 * (low + high);
    let beyond = abs(from_middle) - 0.5 * (high - low);
    let edge = max(beyond.x, beyond.y);
    let pixel = 0.6 * length(vec2(length(dpdx(place)), length(dpdy(place))));
    var out: PlinthSample;
    out.covers = 1.0 - smoothstep(-pixel, pixel, edge);
    out.beyond = max(edge, 0.0);
    let aside = select(vec2(0.0, sign(from_middle.y)), vec2(sign(from_middle.x), 0.0), beyond.x > beyond.y);
    let bevel = smoothstep(-0.007 * scene.air.w, 0.0, edge);
    out.normal = normalize(vec3(1.1 * bevel * aside.x, 1.0, 1.1 * bevel * aside.y));
    let at = vec2((place.x - low.x) / (high.x - low.x), (place.y - high.y + reach.y) / reach.y);
    let inside = select(0.0, 1.0, at.y > 0.0 && at.y < 1.0 && at.x > 0.0 && at.x < 1.0);
    let ink = inside * textureSampleGrad(letters, letters_sampler, at, dpdx(at), dpdy(at)).r;
    out.color = mix(0.16 * scene.ground_plane_color.rgb + 0.01, vec3(0.80, 0.79, 0.75), ink);
    return out;
}
#endif

struct Pixel {
    @builtin(position) position: vec4<f32>,
    @location(0) place: vec3<f32>,
}

@vertex
fn vertex(@location(0) place: vec3<f32>) -> Pixel {
    // At the base of the blocks, so that there is no gap.
    let lying = vec3(place.x, scene.extent.w, place.z);
    return Pixel(view.clip_from_world * vec4(lying, 1.0), lying);
}

// Fraction of sunlight that passes a block. The ray towards the sun enters the block at a side, whose shadow height is looked up.
fn past_block(place: vec2<f32>, index: i32, start: bool) -> f32 {
    let block = blocks[index];
    let flat = max(length(scene.sun.xz), 1e-4);
    let towards = scene.sun.xz / flat;
    let step = select(towards, vec2(1e-5), abs(towards) < vec2(1e-5));
    let first = (block.xy - block.zw * sign(step) - place) / step;
    let last = (block.xy + block.zw * sign(step) - place) / step;
    let enters = max(max(first.x, first.y), 0.0);
    if enters >= min(last.x, last.y) { return 1.0; }
    let hit = place + step * enters;
    let along_z = first.x > first.y;
    let half_side = select(block.z, block.w, along_z);
    let along = select((hit.x - block.x) / block.z, (hit.y - block.y) / block.w, along_z) * 0.5 + 0.5;
    let side = select(select(3.0, 2.0, step.y > 0.0), select(1.0, 0.0, step.x > 0.0), along_z);
    let rows = vec2<f32>(textureDimensions(horizons));
    let row = (4.0 * f32(index) + side + 0.5) / rows.y + select(0.0, 0.5, start);
    let slope = scene.sun.y / flat;
    // Penumbra of the sun's disc, in height and along the side of the block.
    let blur = enters * min(scene.ground_plane_color.a * (1.0 + slope * slope), slope);
    let width = max(0.0012 * scene.air.w * slope + blur, 1e-4);
    let aside = (0.004 * scene.air.w + 1.6 * enters * scene.ground_plane_color.a) / (2.0 * half_side);
    var shaded = 0.0;
    for (var tap = -3; tap <= 3; tap++) {
        let place = clamp(along + f32(tap) / 3.0 * aside, 0.0, 1.0);
        let share = (place * (rows.x - 1.0) + 0.5) / rows.x;
        let height = textureSampleLevel(horizons, horizons_sampler, vec2(share, row), 0.0).r;
        shaded += smoothstep(-width, width, height - enters * slope) * (4.0 - abs(f32(tap))) / 16.0;
    }
    return 1.0 - shaded;
}

@fragment
fn fragment(in: Pixel) -> @location(0) vec4<f32> {
    let place = in.place;
    let size = scene.air.w;
    let far = length(place.xz) / size;
    let normal = vec3(0.0, 1.0, 0.0);
    // The start is left of the divider.
    let start = view.tile.x + in.position.x < scene.place.w * view.tile.z;
    var open = 1.0;
    var lit = 1.0;
    if far < 3.2 {
        // Ambient occlusion by the blocks.
        for (var index = 0; index < #{BLOCKS}; index++) {
            let block = blocks[index];
            let beyond = max(abs(place.xz - block.xy) - block.zw, vec2(0.0));
            let reach = length(beyond);
            open *= 1.0 - 0.62 * exp(-reach / (0.07 * size));
            lit *= past_block(place.xz, index, start);
        }
    }
    // No clouds in a studio.
    if scene.country.x > 0.5 { lit *= past_clouds(place, scene); }
#ifdef PLINTH
    let plinth = plinth_at(place.xz);
    let sunny = sun_color(scene) * max(dot(plinth.normal, scene.sun.xyz), 0.0) * lit * mix(open, 1.0, 0.4);
    let plinth_light = plinth.color * (sunny + ambient_light(plinth.normal, scene) * open);
    // Contact shadow of the plinth.
    open *= 1.0 - 0.45 * exp(-plinth.beyond / (0.006 * size));
#endif
    let direct = sun_color(scene) * max(scene.sun.y, 0.0) * lit * mix(open, 1.0, 0.4);
    let light = direct + ambient_light(normal, scene) * open;
    let towards = normalize(place - view.eye.xyz);
    var color = scene.ground_plane_color.rgb * light;
    if scene.country.x > 0.5 {
        // A plain of fields, woods and low hills that fades into haze.
        let at = place.xz / size;
        let away = length(place - view.eye.xyz) / size * scene.country.w;
        let patches = noise(at * 5.0) * 0.5 + noise(at * 13.0 + 7.0) * 0.3 + noise(at * 41.0) * 0.2 * (1.0 - smoothstep(1.0, 4.0, far));
        let soil = mix(scene.flat_color.rgb, scene.sand_color.rgb, 0.12 + 0.30 * smoothstep(0.25, 0.8, patches));
        let wooded = smoothstep(0.50, 0.60, noise(at * 7.0 + 41.0) * 0.55 + noise(at * 23.0 + 3.0) * 0.27 + noise(at * 83.0) * 0.18);
        let dry = mix(soil, vec3(dot(soil, vec3(0.3, 0.5, 0.2))), 0.40);
        let plain = mix(dry, 0.45 * scene.flat_color.rgb, 0.6 * wooded);
        // Level next to the block.
        let hills = smoothstep(0.75, 1.8, far);
        let rise = 0.9 * noise_slope(at * 2.3 + 5.0).yz + 0.7 * noise_slope(at * 6.1).yz;
        let small = (1.0 - smoothstep(2.0, 6.0, away)) * noise_slope(at * 31.0).yz;
        let tilted = normalize(vec3(-0.16 * hills * rise.x - 0.10 * small.x, 1.0, -0.16 * hills * rise.y - 0.10 * small.y));
        let sunlight = sun_color(scene) * max(dot(tilted, scene.sun.xyz), 0.0) * lit * mix(open, 1.0, 0.4);
        let horizon = sky_color(normalize(vec3(towards.x, 0.02, towards.z)), scene);
        color = mix(plain * (sunlight + ambient_light(tilted, scene) * open), horizon, 1.0 - exp(-0.20 * max(away - 1.3, 0.0)));
    } else {
        let behind = studio_color(towards, scene);
        color = mix(color, behind, smoothstep(0.55, 1.6, far));
    }
#ifdef PLINTH
    color = mix(color, plinth_light, plinth.covers);
#endif
    return on_screen(vec4(color * scene.air.y, 1.0), in.position.xy);
}
