// The shadow of the sun.
#define_import_path thalweg::shadow
#import bevy_pbr::{mesh_view_bindings::view, shadows::fetch_directional_shadow}

// Share of the sun's light that reaches a place on a face with this normal. Left of the divider's pixel column lies the
// start with a sun of its own, so that neither shades the other. Without a divider the column is 0 and there is one sun.
// Its number depends on the pixel nevertheless: the function branches on the uniforms of that sun, and such a branch must not depend
// on uniforms alone (see `src/view/material.rs`).
fn sunlit(place: vec4<f32>, normal: vec3<f32>, pixel: vec2<f32>, divider: f32) -> f32 {
    let depth = dot(vec4(view.view_from_world[0].z, view.view_from_world[1].z, view.view_from_world[2].z,
        view.view_from_world[3].z), place);
    return fetch_directional_shadow(select(0u, 1u, pixel.x < divider), place, normal, depth, pixel);
}
