// Sky sphere, seen from inside.
#import thalweg::view::view
#import thalweg::scene::{Scene, far_country, studio_color}
#import thalweg::screen::on_screen

@group(1) @binding(0) var<uniform> scene: Scene;

struct Pixel {
    @builtin(position) position: vec4<f32>,
    @location(0) place: vec3<f32>,
}

@vertex
fn vertex(@location(0) place: vec3<f32>) -> Pixel {
    return Pixel(view.clip_from_world * vec4(place, 1.0), place);
}

@fragment
fn fragment(in: Pixel) -> @location(0) vec4<f32> {
    let direction = normalize(in.place - view.eye.xyz);
    if scene.country.x < 0.5 {
        return on_screen(vec4(studio_color(direction, scene) * scene.air.y, 1.0), in.position.xy);
    }
    let color = far_country(direction, scene);
    return on_screen(vec4(color * scene.air.y, 1.0), in.position.xy);
}
