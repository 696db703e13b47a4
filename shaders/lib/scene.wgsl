// What all shaders share: the numbers of light and map, sky colour and haze.
#define_import_path thalweg::scene

struct Scene {
    // Side along x and along z in world units, world units per metre of height, height of the base.
    extent: vec4<f32>,
    // Columns, rows, world units per cell, metres of height that lie at 0.
    grid: vec4<f32>,
    flat_color: vec4<f32>,
    steep_color: vec4<f32>,
    // Alpha: thickness in metres that hides the ground.
    sand_color: vec4<f32>,
    // Threshold of steepness, its width, occlusion, haze.
    ground: vec4<f32>,
    // Towards the sun; w: strength.
    sun: vec4<f32>,
    // Ambient, specular, shininess, shadows on or off.
    phong: vec4<f32>,
}

// Colour of the sky in a direction, with the sun's glow, below the horizon the haze over a far plain.
fn sky_color(direction: vec3<f32>, sun: vec3<f32>) -> vec3<f32> {
    let towards = max(dot(direction, sun), 0.0);
    let low = 1.0 - clamp(sun.y * 1.5, 0.0, 1.0);
    let zenith = mix(vec3(0.10, 0.25, 0.58), vec3(0.07, 0.18, 0.45), low);
    let horizon = mix(vec3(0.50, 0.63, 0.78), vec3(0.62, 0.64, 0.68), low);
    let height = clamp(direction.y, 0.0, 1.0);
    var color = mix(horizon, zenith, 1.0 - pow(1.0 - height, 3.5));
    color += vec3(1.0, 0.66, 0.36) * (0.22 * pow(towards, 5.0) + 0.45 * pow(towards, 48.0)) * (0.3 + 0.7 * low);
    let below = smoothstep(0.0, 0.55, -direction.y);
    return mix(color, vec3(0.155, 0.185, 0.225), below);
}

// Share of the light that the air between takes away; `haze` is the share lost over the map's side.
fn haze_amount(distance: f32, side: f32, haze: f32) -> f32 {
    return 1.0 - exp2(log2(max(1.0 - 0.999 * haze, 1e-3)) * distance / (1.6 * side));
}
