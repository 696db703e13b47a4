// Layers of processes that must not change masked cells: one kernel per function of the simulation's module `edit`.

@group(1) @binding(0) var<storage, read_write> bedrock: array<f32>;
@group(1) @binding(1) var<storage, read_write> sand: array<f32>;
// Bedrock and sand before the process.
@group(1) @binding(2) var<storage, read_write> before: array<vec2<f32>>;

// Copies the layers that masked processes must not change under the mask.
@compute @workgroup_size(64, 4)
fn masked(@builtin(global_invocation_id) id: vec3<u32>) {
    let place = vec2<i32>(id.xy);
    if on_map(place) {
        let cell = cell_of(place);
        before[cell] = vec2(bedrock[cell], sand[cell]);
    }
}

// Restores these layers in proportion to the mask.
@compute @workgroup_size(64, 4)
fn restore_masked(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let place = vec2<i32>(id.xy);
    var grown = 0.0;
    if on_map(place) {
        let cell = cell_of(place);
        let now = vec2(bedrock[cell], sand[cell]);
        // Exact where the mask is 0 or 1.
        let restored = raw_mask_at(cell) * before[cell] + (1.0 - raw_mask_at(cell)) * now;
        let held = vec2(rounded(restored.x), rounded(restored.y));
        grown = (held.x - now.x) + (held.y - now.y);
        bedrock[cell] = held.x;
        sand[cell] = held.y;
    }
    tally(local, group_of(group), vec4(EDITED, NONE, NONE, NONE), vec4(grown, 0.0, 0.0, 0.0));
}
