// Camera and size of the view.
#define_import_path thalweg::view

struct View {
    clip_from_world: mat4x4<f32>,
    eye: vec4<f32>,
    // Size of the drawn part, and width of lines relative to the screen, in pixels.
    size: vec3<f32>,
    // Position of the part in the whole image, and size of the image, in pixels.
    tile: vec4<f32>,
}

@group(0) @binding(0) var<uniform> view: View;
