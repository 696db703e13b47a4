// Composes view and panels in the window. Panels are drawn on a sheet that is transparent over the view. Software renderers take
// all branches of a shader, so each kind of region has its own.

struct Window {
    // Upper left corner and size of the view, in pixels.
    view: vec4<f32>,
    // Drawn part of the image, as fractions of its sides.
    share: vec4<f32>,
}

@group(0) @binding(0) var<uniform> window: Window;
// Sheet decoded to linear light, and as bytes.
@group(0) @binding(1) var sheet: texture_2d<f32>;
@group(0) @binding(2) var sheet_bytes: texture_2d<f32>;
@group(0) @binding(3) var view_image: texture_2d<f32>;
@group(0) @binding(4) var view_sampler: sampler;

// A single triangle that covers the window.
@vertex
fn vertex(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
    return vec4(f32(index & 1u) * 4.0 - 1.0, f32(index >> 1u) * 4.0 - 1.0, 0.0, 1.0);
}

@fragment
fn clear() -> @location(0) vec4<f32> {
    return vec4(0.0);
}

// Panels next to the view.
@fragment
fn panels(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    return textureLoad(sheet, vec2<i32>(at.xy), 0);
}

// View at the resolution of the window.
@fragment
fn view_same_size(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    return textureLoad(view_image, vec2<i32>(at.xy - window.view.xy), 0);
}

// View at another resolution: the mean of four samples. At a coarser one they are half a texel apart from the centre, which softens the
// steps of its edges.
@fragment
fn view_scaled(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    let place = (at.xy - window.view.xy) / window.view.zw * window.share.xy;
    let reach = select(0.25, 0.5, window.share.x < 0.9) / vec2<f32>(textureDimensions(view_image));
    var sum = vec4(0.0);
    for (var corner = 0u; corner < 4u; corner += 1u) {
        let aside = vec2(f32(corner & 1u), f32(corner >> 1u)) * 2.0 - 1.0;
        // Pixels beyond the drawn part are old.
        sum += textureSampleLevel(view_image, view_sampler, min(place + aside * reach, window.share.xy), 0.0);
    }
    return 0.25 * sum;
}

// Panels over the view.
@fragment
fn over(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    let seen = textureLoad(sheet_bytes, vec2<i32>(at.xy), 0);
    let bytes = seen.rgb / max(seen.a, 1.0 / 255.0);
    let light = select(pow((bytes + 0.055) / 1.055, vec3(2.4)), bytes / 12.92, bytes < vec3(0.04045));
    return vec4(light * seen.a, seen.a);
}
