// From where and onto what the picture is drawn.
#define_import_path thalweg::view

struct View {
    clip_from_world: mat4x4<f32>,
    eye: vec4<f32>,
    // Width and height in pixels of what is drawn, and how many times as wide as on the screen lines are, in pixels.
    size: vec3<f32>,
    // Where in the whole picture that lies, and width and height of that, in pixels.
    part: vec4<f32>,
}

@group(0) @binding(0) var<uniform> view: View;
