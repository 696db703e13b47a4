// Haze, exposure and tone mapping.
#define_import_path thalweg::screen
#import thalweg::view::view
#import thalweg::scene::{Scene, sky_color, haze_amount, dithered}
#import bevy_core_pipeline::tonemapping::{ACESFitted, applyAgXLog, applyLUT3D, sample_blender_filmic_lut, tonemapping_pbr_neutral}

// Applies haze and exposure to the light of a surface.
fn through_air(light: vec3<f32>, towards_eye: vec3<f32>, distance: f32, scene: Scene) -> vec3<f32> {
    let haze = haze_amount(distance, scene.air.w, scene.ground.w);
    return mix(light, sky_color(normalize(vec3(-towards_eye.x, 0.03, -towards_eye.z)), scene), haze) * scene.air.y;
}

// Maps exposed light to display colours, or returns linear light for floating-point images.
fn on_screen(light: vec4<f32>, pixel: vec2<f32>) -> vec4<f32> {
#ifdef AS_LIGHT
    // Floating-point targets do not clamp alpha.
    return vec4(max(light.rgb, vec3(0.0)), clamp(light.a, 0.0, 1.0));
#else
    var color = max(light.rgb, vec3(0.0));
#ifdef TONE_ACES
    color = ACESFitted(color);
#endif
#ifdef TONE_AGX
    color = applyLUT3D(applyAgXLog(color), 32.0);
#endif
#ifdef TONE_FILMIC
    color = sample_blender_filmic_lut(color);
#endif
#ifdef TONE_NEUTRAL
    color = tonemapping_pbr_neutral(color);
#endif
    return dithered(vec4(color, light.a), pixel + view.tile.xy);
#endif
}
