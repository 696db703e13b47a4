// Particle tracks: ribbons of constant width in pixels. The mesh has each point twice, with the direction of the track as normal; u
// is the side, v the opacity.
#import thalweg::view::view

struct Ink {
    // Alpha: half the width in pixels, for a view 800 pixels high.
    color: vec4<f32>,
    // The same for wind-blown sand, which has negative opacity.
    sand: vec4<f32>,
    // Left border of the tracks as a fraction of the view width: left of it, the start is shown, which has no tracks.
    column: vec4<f32>,
}

@group(1) @binding(0) var<uniform> ink: Ink;

struct Vertex {
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) uv: vec2<f32>,
}

struct Pixel {
    @builtin(position) position: vec4<f32>,
    @location(0) uv: vec2<f32>,
}

@vertex
fn vertex(in: Vertex) -> Pixel {
    var out: Pixel;
    let here = view.clip_from_world * vec4(in.position, 1.0);
    let ahead = view.clip_from_world * vec4(in.position + in.normal, 1.0);
    let size = view.size.xy;
    let along = (ahead.xy / ahead.w - here.xy / here.w) * size;
    let across = normalize(vec2(-along.y, along.x) + vec2(1e-6, 0.0));
    let width = select(ink.color.a, ink.sand.a, in.uv.y < 0.0) * max(view.tile.w / 800.0, 0.6);
    out.position = here;
    out.position += vec4(across * in.uv.x * 2.0 * width / size * here.w, here.z * 0.008, 0.0);
    out.uv = in.uv;
    return out;
}

@fragment
fn fragment(in: Pixel) -> @location(0) vec4<f32> {
#ifdef SPLIT
    if view.tile.x + in.position.x < ink.column.x * view.tile.z { discard; }
#endif
    let edge = 1.0 - in.uv.x * in.uv.x;
    // Floating-point targets do not clamp alpha.
    let covers = clamp(edge * abs(in.uv.y), 0.0, 1.0);
    return vec4(select(ink.color.rgb, ink.sand.rgb, in.uv.y < 0.0), covers);
}
