// The table on which the blocks stand: it takes their shadows and fades into the haze.
#import bevy_pbr::{forward_io::VertexOutput, mesh_view_bindings::view}
#import thalweg::scene::{Scene, sky_color, sun_color, ambient_light}
#import thalweg::screen::on_screen
#ifdef SHADOWS
#import thalweg::shadow::sunlit
#endif

@group(#{MATERIAL_BIND_GROUP}) @binding(0) var<uniform> scene: Scene;
// The first of them are the blocks that stand on it: centre x, z and half sides.
@group(#{MATERIAL_BIND_GROUP}) @binding(1) var<uniform> blocks: array<vec4<f32>, 16>;

@fragment
fn fragment(in: VertexOutput) -> @location(0) vec4<f32> {
    let place = in.world_position.xyz;
    let size = scene.air.w;
    let far = length(place.xz) / size;
    let normal = vec3(0.0, 1.0, 0.0);
    var open = 1.0;
    var lit = 1.0;
    // At the foot of a block, the shadow is looked up a little further out: a texel of the shadow map is too coarse there.
    var aside = vec2(0.0);
    if far < 3.2 {
        // Blocks hide a part of the sky from the table beside them.
        for (var index = 0; index < #{BLOCKS}; index++) {
            let block = blocks[index];
            let beyond = max(abs(place.xz - block.xy) - block.zw, vec2(0.0));
            let reach = length(beyond);
            if reach < 0.004 * size {
                aside = sign(place.xz - block.xy) * select(vec2(0.0), vec2(0.004 * size), beyond > vec2(0.0));
            }
            open *= 1.0 - 0.62 * exp(-reach / (0.07 * size));
        }
#ifdef SHADOWS
        // As far as a shadow can reach.
        if far < 0.8 + 0.4 * length(scene.sun.xz) / max(scene.sun.y, 0.05) {
            let beside = in.world_position + vec4(aside.x, 0.0, aside.y, 0.0);
            lit = sunlit(beside, normal, in.position.xy, scene.place.w);
        }
#endif
    }
    let direct = sun_color(scene) * max(scene.sun.y, 0.0) * lit * mix(open, 1.0, 0.4);
    var color = scene.table_color.rgb * (direct + ambient_light(normal, scene) * open);
    if far > 0.6 {
        let towards = place - view.world_position.xyz;
        let horizon = sky_color(normalize(vec3(towards.x, 0.0, towards.z)), scene);
        color = mix(color, horizon, smoothstep(0.6, 3.0, far));
    }
    return on_screen(vec4(color * scene.air.y, 1.0), in.position.xy);
}
