// The table on which the blocks stand: it takes their shadows and fades into the haze.
#import bevy_pbr::{forward_io::VertexOutput, mesh_view_bindings::view, shadows}
#import thalweg::scene::{Scene, sky_color, sun_color, ambient_light, dithered}
#ifdef TONEMAP_IN_SHADER
#import bevy_core_pipeline::tonemapping::tone_mapping
#endif

@group(#{MATERIAL_BIND_GROUP}) @binding(0) var<uniform> scene: Scene;
// The blocks: centre x, z and half sides.
@group(#{MATERIAL_BIND_GROUP}) @binding(1) var<uniform> blocks: array<vec4<f32>, 16>;

@fragment
fn fragment(in: VertexOutput) -> @location(0) vec4<f32> {
    let place = in.world_position.xyz;
    let size = scene.air.w;
    let far = length(place.xz) / size;
    let normal = vec3(0.0, 1.0, 0.0);
    var open = 1.0;
    var lit = 1.0;
    // Where a foot stands on the table, its shadow is taken from a little further out: a texel of it has no room here.
    var aside = vec2(0.0);
    if far < 3.2 {
        // Light from the sky that the blocks take away beside themselves.
        for (var index = 0; index < 16; index++) {
            let block = blocks[index];
            if block.z <= 0.0 { break; }
            let beyond = max(abs(place.xz - block.xy) - block.zw, vec2(0.0));
            let reach = length(beyond);
            if reach < 0.004 * size {
                aside = sign(place.xz - block.xy) * select(vec2(0.0), vec2(0.004 * size), beyond > vec2(0.0));
            }
            open *= 1.0 - 0.62 * exp(-reach / (0.07 * size));
        }
        // As far as a shadow can reach.
        if scene.phong.w > 0.5 && far < 0.8 + 0.4 * length(scene.sun.xz) / max(scene.sun.y, 0.05) {
            let depth = dot(vec4(view.view_from_world[0].z, view.view_from_world[1].z, view.view_from_world[2].z,
                view.view_from_world[3].z), in.world_position);
            // Left of the divider, if there is one, lies the start with its own sun.
            let light = select(0u, 1u, in.position.x < scene.place.w);
            let beside = in.world_position + vec4(aside.x, 0.0, aside.y, 0.0);
            lit = shadows::fetch_directional_shadow(light, beside, normal, depth, in.position.xy);
        }
    }
    let direct = sun_color(scene) * max(scene.sun.y, 0.0) * lit * mix(open, 1.0, 0.4);
    var color = scene.table_color.rgb * (direct + ambient_light(normal, scene) * open);
    if far > 0.6 {
        let towards = place - view.world_position.xyz;
        let horizon = sky_color(normalize(vec3(towards.x, 0.0, towards.z)), scene);
        color = mix(color, horizon, smoothstep(0.6, 3.0, far));
    }
    var out = vec4(color * scene.air.y, 1.0);
#ifdef TONEMAP_IN_SHADER
    out = tone_mapping(out, view.color_grading);
#endif
    return dithered(out, in.position.xy);
}
