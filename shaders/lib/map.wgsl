// A map as a material sees it: its numbers, its layers, and what moves on it.
#define_import_path thalweg::map
#import thalweg::scene::Scene

@group(#{MATERIAL_BIND_GROUP}) @binding(0) var<uniform> scene: Scene;
// Red: ground, green: thickness of sand, blue: depth of the water, alpha: sediment in it, all in metres.
@group(#{MATERIAL_BIND_GROUP}) @binding(1) var layers: texture_2d<f32>;
// Red: the quantity that is shown over the ground, green and blue: velocity of the water in metres per second. A single
// texel where there is neither.
@group(#{MATERIAL_BIND_GROUP}) @binding(2) var motion: texture_2d<f32>;

fn texel(cell: vec2<i32>) -> vec4<f32> {
    let last = vec2<i32>(textureDimensions(layers)) - 1;
    return textureLoad(layers, clamp(cell, vec2(0), last), 0);
}

fn moving(cell: vec2<i32>) -> vec3<f32> {
    let last = vec2<i32>(textureDimensions(motion)) - 1;
    return textureLoad(motion, clamp(cell, vec2(0), last), 0).rgb;
}

// Cell coordinates of a place on the map: 0 is the centre of the first cell.
fn cell_at(xz: vec2<f32>) -> vec2<f32> {
    return ((xz - scene.place.xy) / scene.extent.xy + 0.5) * (scene.grid.xy - 1.0);
}

fn bilinear(cell: vec2<f32>) -> vec4<f32> {
    let first = vec2<i32>(floor(cell));
    let part = cell - floor(cell);
    let above = mix(texel(first), texel(first + vec2(1, 0)), part.x);
    let below = mix(texel(first + vec2(0, 1)), texel(first + vec2(1, 1)), part.x);
    return mix(above, below, part.y);
}

fn moving_between(cell: vec2<f32>) -> vec3<f32> {
    let first = vec2<i32>(floor(cell));
    let part = cell - floor(cell);
    let above = mix(moving(first), moving(first + vec2(1, 0)), part.x);
    let below = mix(moving(first + vec2(0, 1)), moving(first + vec2(1, 1)), part.x);
    return mix(above, below, part.y);
}

fn world_height(metres: f32) -> f32 {
    return (metres - scene.grid.w) * scene.extent.z;
}
