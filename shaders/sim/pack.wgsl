// Layers as the texture from which the terrain is drawn.

@group(1) @binding(0) var<storage, read> bedrock: array<f32>;
@group(1) @binding(1) var<storage, read> sand: array<f32>;
@group(1) @binding(2) var<storage, read> water: array<f32>;
@group(1) @binding(3) var<storage, read> suspended: array<f32>;
// Ground, sand, depth of the water with its sediment, and sediment.
@group(1) @binding(4) var texels: texture_storage_2d<rgba32float, write>;

@compute @workgroup_size(64, 4)
fn pack(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= map.width || id.y >= map.height {
        return;
    }
    let cell = id.y * map.width + id.x;
    let load = suspended[cell] / map.acceleration;
    textureStore(texels, id.xy, vec4(bedrock[cell] + sand[cell], sand[cell], water[cell] + load, load));
}
