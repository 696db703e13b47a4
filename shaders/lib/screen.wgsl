// How light becomes a pixel.
#define_import_path thalweg::screen
#import bevy_pbr::mesh_view_bindings::view
#import thalweg::scene::{Scene, sky_color, haze_amount, dithered}
#ifdef TONEMAP_IN_SHADER
#import bevy_core_pipeline::tonemapping::tone_mapping
#endif

// Light of a place behind so much air, as bright as the picture is exposed.
fn through_air(light: vec3<f32>, towards_eye: vec3<f32>, distance: f32, scene: Scene) -> vec3<f32> {
    let haze = haze_amount(distance, scene.air.w, scene.ground.w);
    return mix(light, sky_color(normalize(vec3(-towards_eye.x, 0.03, -towards_eye.z)), scene), haze) * scene.air.y;
}

// Exposed light as the screen shows it.
fn on_screen(light: vec4<f32>, pixel: vec2<f32>) -> vec4<f32> {
    var color = light;
#ifdef TONEMAP_IN_SHADER
    color = tone_mapping(color, view.color_grading);
#endif
    return dithered(color, pixel);
}
