// Face of a block that is cut open along a line: rock, sand and water.
#import thalweg::view::view
#import thalweg::scene::{sun_color, ambient_light}
#import thalweg::map::{scene, place_of, cell_at, bilinear, world_height, cut_side}
#import thalweg::rock::wall_color
#import thalweg::screen::{through_air, on_screen}

struct Cut {
    // Columns and rows of both ends of the line, at the borders of the map.
    line: vec4<f32>,
    // Colour of the water; a: minimum depth of drawn water, in metres.
    water: vec4<f32>,
    // Colour of turbid water.
    silt: vec4<f32>,
}

@group(1) @binding(3) var<uniform> cut: Cut;

struct Pixel {
    @builtin(position) position: vec4<f32>,
    @location(0) place: vec3<f32>,
}

// x: position along the line, from 0 to 1. y: 0 at the base, 1 at the surface.
@vertex
fn vertex(@location(0) corner: vec3<f32>) -> Pixel {
    let cell = mix(cut.line.xy, cut.line.zw, corner.x);
    let here = bilinear(cell);
    let top = world_height(here.r + select(0.0, here.b, here.b > cut.water.a));
    let place = vec3(place_of(cell), mix(scene.extent.w, top, corner.y)).xzy;
    return Pixel(view.clip_from_world * vec4(place, 1.0), place);
}

@fragment
fn fragment(in: Pixel) -> @location(0) vec4<f32> {
    let place = in.place;
    let cell = cell_at(place.xz);
    let here = bilinear(cell);
    // The face points to the removed side.
    let normal = vec3(scene.cut.x, 0.0, scene.cut.y) * cut_side();
    let above = (place.y - world_height(here.r)) / max(scene.extent.z, 1e-6);
    let border = fwidth(above) + 1e-4;
    let silty = clamp(here.a / max(here.b, 1e-3) * 20.0, 0.0, 1.0);
    let water = mix(mix(cut.water.rgb, vec3(0.16, 0.42, 0.62), 0.45), cut.silt.rgb, silty);
    var color = mix(wall_color(place, cell, normal), water, smoothstep(-border, border, above));
    // A bright line along the ground surface.
    let line = 1.0 - smoothstep(0.5 * border, 1.5 * border, abs(above + border));
    color = mix(color, 1.35 * color + 0.03, line);
    let eye = view.eye.xyz - place;
    let distance = length(eye);
    // For legibility, the lighting does not depend on the camera.
    let facing = 0.35 + 0.3 * max(dot(normal, scene.sun.xyz), 0.0);
    let light = color * (sun_color(scene) * facing + ambient_light(normal, scene));
    return on_screen(vec4(through_air(light, eye / distance, distance, scene), 1.0), in.position.xy);
}
