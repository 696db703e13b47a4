// Rock texture of walls and cut faces.
#define_import_path thalweg::rock
#import thalweg::scene::{hash, noise}
#import thalweg::map::{scene, bilinear, world_height}

// Joints across beds of rock, offset from bed to bed. `at`: position along the bed in joints, and bed number.
fn joints(at: vec2<f32>) -> f32 {
    let shift = hash(vec2(floor(at.y), 5.0));
    let x = at.x * (0.5 + shift) + 7.0 * shift;
    let wide = fwidth(at.x) * (0.5 + shift);
    let from_crack = abs(fract(x + 0.16 * noise(vec2(x, at.y * 3.0))) - 0.5);
    return (1.0 - smoothstep(0.03, 0.03 + max(wide, 0.05), from_crack)) * (1.0 - smoothstep(0.15, 0.5, wide));
}

// Colour of a cut through the ground: folded, faulted and jointed beds of varying thickness and tone, and the sand on top.
fn wall_color(place: vec3<f32>, cell: vec2<f32>, outward: vec3<f32>) -> vec3<f32> {
    let layer = bilinear(cell);
    let depth = (world_height(layer.r) - place.y) / max(scene.extent.z, 1e-6);
    let size = 256.0 / scene.air.w;
    // Consistent direction along the wall.
    let tangent = vec2(outward.z, -outward.x);
    let along = dot(place.xz, tangent) * select(-1.0, 1.0, tangent.x + 0.5 * tangent.y > 0.0) * size;
    let level = place.y * size;
    // Faults are inclined and offset the beds.
    let leaning = (along + 0.4 * level + 6.0 * noise(vec2(level * 0.05, 21.0))) / 58.0;
    let piece = floor(leaning);
    let shifted = level + 7.0 * (hash(vec2(piece, 4.0)) - 0.5);
    let bent = shifted + 0.05 * along + 9.0 * (noise(vec2(along * 0.011, 7.0)) - 0.5) + 1.6 * (noise(vec2(along * 0.09, 3.0)) - 0.5);
    let bed = bent * 0.19 + 2.4 * noise(vec2(bent * 0.08, 1.0));
    let index = floor(bed);
    let within = bed - index;
    let tone = hash(vec2(index * 1.37, 9.0));
    let next = hash(vec2((index + 1.0) * 1.37, 9.0));
    let edge = clamp(fwidth(bed) * 1.2, 0.02, 0.5);
    let mixed = mix(tone, next, smoothstep(1.0 - edge, 1.0, within));
    // Laminae within beds, joints in hard beds. Detail below the pixel size fades to avoid flicker.
    let wide = fwidth(along) + fwidth(level);
    let near = 1.0 - smoothstep(0.2, 0.7, wide);
    let thin = near * (noise(vec2(bed * 7.0 + 40.0 * tone, along * 0.06)) - 0.5);
    let rough = near * (noise(vec2(along * 0.55, level * 0.9)) + 0.6 * noise(vec2(along * 1.9, level * 2.3)) - 0.8);
    let hard = smoothstep(0.35, 0.6, mixed);
    let cracks = joints(vec2(along * 0.13, bed)) * hard * smoothstep(0.35, 0.65, noise(vec2(along * 0.031, bed * 0.4 + 9.0)));
    let fault = abs(fract(leaning) - 0.5) * 58.0;
    let broken = (1.0 - smoothstep(0.25, 0.7 + wide, 29.0 - fault)) / (1.0 + wide);
    let shade = 0.66 + 0.46 * mixed + 0.16 * rough + 0.16 * thin * (1.4 - hard);
    let hue = mix(vec3(0.93, 0.97, 1.04), vec3(1.06, 1.0, 0.91), fract(mixed * 3.7));
    let seam = 0.70 + 0.30 * smoothstep(0.0, 2.5 * edge, min(within, 1.0 - within));
    let rock = scene.bedrock_color.rgb * shade * hue * seam * (1.0 - 0.28 * cracks) * (1.0 - 0.3 * broken);
    let border = fwidth(depth) + 1e-4;
    let sand = smoothstep(-border, border, layer.g - depth) * smoothstep(0.02, 0.1, layer.g / scene.sand_color.a);
    return mix(rock, scene.sand_color.rgb * (0.95 + 0.05 * rough), sand);
}
