// Scene uniforms, sky colour, haze and noise, shared by all shaders.
#define_import_path thalweg::scene

struct Scene {
    // Extent along x and z in world units, world units per metre of height, height of the block's base.
    extent: vec4<f32>,
    // Columns, rows, world units per cell, height in metres that maps to 0.
    grid: vec4<f32>,
    // Centre of the block: x, z. Visible side of the divider: -1 left, 1 right, 0 both. Position of the divider as a fraction of
    // the view width; 0 without one.
    place: vec4<f32>,
    flat_color: vec4<f32>,
    steep_color: vec4<f32>,
    // Alpha: thickness in metres that hides the ground.
    sand_color: vec4<f32>,
    bedrock_color: vec4<f32>,
    // Alpha: angular radius of the sun (radius over distance).
    ground_plane_color: vec4<f32>,
    // Slope threshold, its width, occlusion, haze.
    ground: vec4<f32>,
    // Direction towards the sun; w: strength.
    sun: vec4<f32>,
    // Ambient, specular, shininess, vertical exaggeration.
    phong: vec4<f32>,
    // Turbidity, exposure factor, grain, size of the scene in world units.
    air: vec4<f32>,
    // Downwind direction along x and z, strength of sand ripples.
    wind: vec4<f32>,
    // Brush: column and row of its centre, radius in cells (0 without one), index of its falloff.
    brush: vec4<f32>,
    // Start of its ramp, or its centre, by column and row; 1 if it lowers; its strength.
    stroke: vec4<f32>,
    // 1 if strokes are mirrored across the map, and down the map; source of a clone by column and row, or outside the map.
    marks: vec4<f32>,
    // Snow line and height of its transition in world units; contour interval in metres (0: off); strength of detail below the cell
    // size.
    surface: vec4<f32>,
    // 1 with a plain and sky around the terrain; grid spacing in world units (0: off); visibility of erosion and deposition; factor
    // on distances in haze.
    country: vec4<f32>,
    // Vegetation along streams; sand glitter; darkness of cloud shadows; forest cover.
    life: vec4<f32>,
    // 1 if a ramp colours the ground; indices of its two quantities, as in `RampQuantity` in `crates/scene/src/look.rs`; reciprocal of
    // the terrain's height range in world units.
    ramp_by: vec4<f32>,
    // Its colours from low to high values of the first quantity, then those of the other end of the second.
    ramp: array<vec4<f32>, 10>,
    // Cut plane: normal along x and z, and offset along it.
    cut: vec4<f32>,
}

// Sunlight: yellow when high, orange when low.
fn sun_color(scene: Scene) -> vec3<f32> {
    let low = 1.0 - clamp(scene.sun.y * 1.5, 0.0, 1.0);
    return mix(vec3(1.0, 0.965, 0.90), vec3(1.0, 0.76, 0.52), low * low) * scene.sun.w * 2.0;
}

// Ambient light of the sky and of sunlit ground on a face with this normal.
fn ambient_light(normal: vec3<f32>, scene: Scene) -> vec3<f32> {
    let sky = mix(vec3(0.52, 0.74, 1.18), vec3(0.86, 0.90, 0.96), scene.air.x);
    let bounce = vec3(0.95, 0.80, 0.62) * (0.4 + 1.2 * scene.sun.y);
    return mix(bounce, sky, 0.5 + 0.5 * normal.y) * scene.phong.x;
}

// Sky colour in a direction: blue above, pale at the horizon, a glow around the sun; haze below the horizon.
fn sky_color(direction: vec3<f32>, scene: Scene) -> vec3<f32> {
    let sun = scene.sun.xyz;
    let low = 1.0 - clamp(sun.y * 1.5, 0.0, 1.0);
    let milk = scene.air.x;
    let zenith = mix(mix(vec3(0.04, 0.15, 0.47), vec3(0.035, 0.12, 0.38), low), vec3(0.34, 0.45, 0.60), milk * milk);
    let horizon = mix(mix(vec3(0.48, 0.68, 0.92), vec3(0.60, 0.70, 0.82), low), vec3(0.86, 0.86, 0.84), milk * 0.6);
    let height = clamp(direction.y, 0.0, 1.0);
    var color = mix(horizon, zenith, 1.0 - pow(1.0 - height, 4.2));
    let towards = max(dot(direction, sun), 0.0);
    let flat_towards = max(dot(normalize(vec3(direction.x, 0.02, direction.z)), normalize(vec3(sun.x, 0.02, sun.z))), 0.0);
    // A low sun warms its side of the horizon and the air around it.
    let band = exp(-height * 5.0) * pow(flat_towards, 2.0) * low;
    color += vec3(0.95, 0.50, 0.20) * band * (0.22 + 0.35 * milk);
    color += vec3(1.0, 0.70, 0.42) * (0.10 * pow(towards, 6.0) + 0.40 * pow(towards, 64.0)) * (0.35 + 0.65 * low);
    return color * (0.62 + 0.48 * clamp(sun.y * 3.0, 0.0, 1.0));
}

// Studio backdrop: blends with the ground plane and gets lighter towards the top.
fn studio_color(direction: vec3<f32>, scene: Scene) -> vec3<f32> {
    let lit = sun_color(scene) * max(scene.sun.y, 0.0) + ambient_light(vec3(0.0, 1.0, 0.0), scene);
    return scene.ground_plane_color.rgb * lit * mix(vec3(1.0), vec3(1.75, 1.82, 1.92), smoothstep(-0.75, 0.35, direction.y));
}

// Sky with clouds that get denser towards the horizon and fade into haze.
fn cloudy_sky(direction: vec3<f32>, scene: Scene) -> vec3<f32> {
    let clear = sky_color(direction, scene);
    if direction.y <= 0.01 { return clear; }
    let at = direction.xz / (direction.y + 0.12);
    var thick = 0.0;
    var place = at * 1.4 + 9.0;
    var share = 0.5;
    for (var size = 0; size < 5; size++) {
        thick += share * noise(place);
        place = 2.1 * vec2(0.8 * place.x - 0.6 * place.y, 0.6 * place.x + 0.8 * place.y) + 3.7;
        share *= 0.5;
    }
    let cover = smoothstep(0.50, 0.74, thick) * smoothstep(0.01, 0.22, direction.y);
    let sunny = pow(max(dot(direction, scene.sun.xyz), 0.0), 3.0);
    let white = mix(vec3(0.62, 0.66, 0.74), vec3(0.98, 0.97, 0.95), 1.0 - smoothstep(0.55, 0.9, thick)) * (0.75 + 0.5 * sunny);
    let low = 1.0 - clamp(scene.sun.y * 1.5, 0.0, 1.0);
    let color = white * mix(vec3(1.0), vec3(1.05, 0.86, 0.72), low * low) * (0.55 + 0.5 * clamp(scene.sun.y * 3.0, 0.0, 1.0));
    return mix(clear, color, 0.85 * cover);
}

// Elevation of distant mountains in a horizontal direction, relative to the length of the direction.
fn ridge(along: vec2<f32>, often: f32, high: f32) -> f32 {
    let at = along * often;
    let steps = 0.55 * noise(at) + 0.27 * noise(2.3 * at + 5.0) + 0.12 * noise(5.1 * at + 11.0) + 0.06 * noise(11.7 * at + 23.0);
    return high * smoothstep(0.25, 0.85, steps);
}

// Cloudy sky behind ranges of distant mountains, from the farthest and palest to the nearest.
fn far_country(direction: vec3<f32>, scene: Scene) -> vec3<f32> {
    let edge = max(fwidth(direction.y), 1e-4);
    // The sun's disc is behind the mountains.
    let sun = smoothstep(0.9996, 0.9999, dot(direction, scene.sun.xyz));
    var color = cloudy_sky(direction, scene) + vec3(9.0, 7.5, 5.6) * sun;
    let flat = length(direction.xz);
    if flat < 1e-3 { return color; }
    let along = direction.xz / flat;
    let haze = sky_color(normalize(vec3(along.x, 0.02, along.y)), scene);
    let land = mix(scene.flat_color.rgb, vec3(0.16, 0.20, 0.24), 0.6) * (0.4 + 0.8 * max(scene.sun.y, 0.0));
    for (var range = 0; range < 3; range++) {
        let top = ridge(along + f32(range) * 3.7, array(3.1, 4.3, 6.1)[range], array(0.085, 0.055, 0.030)[range]);
        let covers = 1.0 - smoothstep(top - edge, top + edge, direction.y);
        color = mix(color, mix(haze, land, array(0.16, 0.28, 0.42)[range]), covers);
    }
    return color;
}

// Fraction of light lost in haze; `haze` is the fraction lost over 1.6 map sides.
fn haze_amount(distance: f32, size: f32, haze: f32) -> f32 {
    return 1.0 - exp2(log2(max(1.0 - 0.999 * haze, 1e-3)) * distance / (1.6 * size));
}

// Fraction of sunlight that passes the clouds.
fn past_clouds(place: vec3<f32>, scene: Scene) -> f32 {
#ifdef CLOUDS
    // Intersection of the sun ray with the cloud layer.
    let at = (place.xz + scene.sun.xz / max(scene.sun.y, 0.05) * (0.5 * scene.air.w - place.y)) / scene.air.w * 4.6 + 4.0;
    let thick = 0.6 * noise(at) + 0.28 * noise(2.1 * at + 7.0) + 0.12 * noise(4.7 * at + 3.0);
    return 1.0 - 0.9 * scene.life.z * smoothstep(0.45, 0.55, thick);
#else
    return 1.0;
#endif
}

// Hash of a position, from 0 to 1.
fn hash(place: vec2<f32>) -> f32 {
    var p = fract(place * vec2(0.1031, 0.1137));
    p += dot(p, p.yx + 33.33);
    return fract((p.x + p.y) * p.x);
}

// Smooth value noise from 0 to 1, with unit wavelength.
fn noise(place: vec2<f32>) -> f32 {
    let cell = floor(place);
    let t = fract(place);
    let s = t * t * (3.0 - 2.0 * t);
    let above = mix(hash(cell), hash(cell + vec2(1.0, 0.0)), s.x);
    let below = mix(hash(cell + vec2(0.0, 1.0)), hash(cell + vec2(1.0, 1.0)), s.x);
    return mix(above, below, s.y);
}

// Value noise and its gradient along x and y.
fn noise_slope(place: vec2<f32>) -> vec3<f32> {
    let cell = floor(place);
    let t = fract(place);
    let s = t * t * (3.0 - 2.0 * t);
    let rise = 6.0 * t * (1.0 - t);
    let a = hash(cell);
    let b = hash(cell + vec2(1.0, 0.0));
    let c = hash(cell + vec2(0.0, 1.0));
    let d = hash(cell + vec2(1.0, 1.0));
    let twist = a - b - c + d;
    let value = a + (b - a) * s.x + (c - a) * s.y + twist * s.x * s.y;
    return vec3(value, rise * vec2(b - a + twist * s.y, c - a + twist * s.x));
}

// Dithering against banding on 8-bit displays, after tone mapping: up to half a step. In linear light, steps get smaller with
// darkness.
fn dithered(color: vec4<f32>, pixel: vec2<f32>) -> vec4<f32> {
    let grain = fract(52.9829189 * fract(dot(pixel, vec2(0.06711056, 0.00583715)))) - 0.5;
    let step = max(2.0 * sqrt(max(color.rgb, vec3(0.0))), vec3(0.08)) / 255.0;
    return vec4(color.rgb + grain * step, color.a);
}
