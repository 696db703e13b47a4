// The sky around everything: a sphere seen from inside.
#import bevy_pbr::{forward_io::VertexOutput, mesh_view_bindings::view}
#import thalweg::scene::{Scene, sky_color}
#import thalweg::screen::on_screen

@group(#{MATERIAL_BIND_GROUP}) @binding(0) var<uniform> scene: Scene;

@fragment
fn fragment(in: VertexOutput) -> @location(0) vec4<f32> {
    let direction = normalize(in.world_position.xyz - view.world_position.xyz);
    var color = sky_color(direction, scene);
    color += vec3(9.0, 7.5, 5.6) * smoothstep(0.9996, 0.9999, dot(direction, scene.sun.xyz));
    return on_screen(vec4(color * scene.air.y, 1.0), in.position.xy);
}
