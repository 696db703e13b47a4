// Puts the picture and the panels on the window. The panels lie on a sheet, which is clear where the picture is seen. A processor that
// draws takes all branches of a shader: so each kind of place has a shader of its own.

struct Window {
    // Left upper corner and size of the view, in pixels.
    view: vec4<f32>,
    // The part of the picture that is drawn, as shares of its sides.
    share: vec4<f32>,
}

@group(0) @binding(0) var<uniform> window: Window;
// The sheet as light, and as bytes.
@group(0) @binding(1) var sheet: texture_2d<f32>;
@group(0) @binding(2) var sheet_bytes: texture_2d<f32>;
@group(0) @binding(3) var picture: texture_2d<f32>;
@group(0) @binding(4) var picture_sampler: sampler;

// One triangle that covers all.
@vertex
fn vertex(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
    return vec4(f32(index & 1u) * 4.0 - 1.0, f32(index >> 1u) * 4.0 - 1.0, 0.0, 1.0);
}

@fragment
fn clear() -> @location(0) vec4<f32> {
    return vec4(0.0);
}

// Beside the view.
@fragment
fn panels(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    return textureLoad(sheet, vec2<i32>(at.xy), 0);
}

// A picture of which each pixel is one of the window.
@fragment
fn picture_alike(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    return textureLoad(picture, vec2<i32>(at.xy - window.view.xy), 0);
}

// A picture of another size.
@fragment
fn picture_scaled(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    let place = (at.xy - window.view.xy) / window.view.zw * window.share.xy;
    return textureSampleLevel(picture, picture_sampler, place, 0.0);
}

// What of the panels lies over the picture.
@fragment
fn over(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    let seen = textureLoad(sheet_bytes, vec2<i32>(at.xy), 0);
    let bytes = seen.rgb / max(seen.a, 1.0 / 255.0);
    let light = select(pow((bytes + 0.055) / 1.055, vec3(2.4)), bytes / 12.92, bytes < vec3(0.04045));
    return vec4(light * seen.a, seen.a);
}
