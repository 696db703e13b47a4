// The ground: a grid displaced by the height texture, with the side walls of the block. The same file serves the main
// pass and the shadow pass.
#import bevy_pbr::{mesh_functions, view_transformations::position_world_to_clip, mesh_view_bindings::view}
#import thalweg::scene::{Scene, sky_color, haze_amount}

#ifdef PREPASS_PIPELINE
#import bevy_pbr::prepass_io::{Vertex, VertexOutput}
#else
#import bevy_pbr::{forward_io::{Vertex, VertexOutput, FragmentOutput}, shadows}
#ifdef TONEMAP_IN_SHADER
#import bevy_core_pipeline::tonemapping::tone_mapping
#endif
#endif

@group(#{MATERIAL_BIND_GROUP}) @binding(0) var<uniform> scene: Scene;
// Red: ground, green: thickness of sand, both in metres.
@group(#{MATERIAL_BIND_GROUP}) @binding(1) var layers: texture_2d<f32>;

fn texel(cell: vec2<i32>) -> vec2<f32> {
    let last = vec2<i32>(textureDimensions(layers)) - 1;
    return textureLoad(layers, clamp(cell, vec2(0), last), 0).rg;
}

// Cell coordinates of a place on the map: 0 is the centre of the first cell.
fn cell_at(xz: vec2<f32>) -> vec2<f32> {
    return (xz / scene.extent.xy + 0.5) * (scene.grid.xy - 1.0);
}

fn bilinear(cell: vec2<f32>) -> vec2<f32> {
    let first = vec2<i32>(floor(cell));
    let part = cell - floor(cell);
    let above = mix(texel(first), texel(first + vec2(1, 0)), part.x);
    let below = mix(texel(first + vec2(0, 1)), texel(first + vec2(1, 1)), part.x);
    return mix(above, below, part.y);
}

fn world_height(metres: f32) -> f32 {
    return (metres - scene.grid.w) * scene.extent.z;
}

// Share of the sky that a cell sees, from how far the ground around rises above it at three distances.
fn openness(cell: vec2<i32>) -> f32 {
    let here = texel(cell).r;
    var hidden = 0.0;
    for (var ring = 0; ring < 3; ring++) {
        let reach = array(2, 5, 12)[ring];
        let diagonal = array(1, 4, 8)[ring];
        var rise = max(texel(cell + vec2(reach, 0)).r - here, 0.0) + max(texel(cell - vec2(reach, 0)).r - here, 0.0);
        rise += max(texel(cell + vec2(0, reach)).r - here, 0.0) + max(texel(cell - vec2(0, reach)).r - here, 0.0);
        rise += max(texel(cell + vec2(diagonal)).r - here, 0.0) + max(texel(cell - vec2(diagonal)).r - here, 0.0);
        rise += max(texel(cell + vec2(diagonal, -diagonal)).r - here, 0.0);
        rise += max(texel(cell + vec2(-diagonal, diagonal)).r - here, 0.0);
        hidden += rise * scene.extent.z / (8.0 * f32(reach) * scene.grid.z);
    }
    return 1.0 / (1.0 + 1.3 * hidden);
}

@vertex
fn vertex(in: Vertex) -> VertexOutput {
    var out: VertexOutput;
    // The mesh marks its vertices in y: 0 surface, 1 upper and 2 lower border of a wall.
    let kind = in.position.y;
    var place = in.position;
    place.y = select(world_height(bilinear(cell_at(place.xz)).r), scene.extent.w, kind > 1.5);
    let world_from_local = mesh_functions::get_world_from_local(in.instance_index);
    out.world_position = mesh_functions::mesh_position_local_to_world(world_from_local, vec4(place, 1.0));
    out.position = position_world_to_clip(out.world_position.xyz);
#ifdef PREPASS_PIPELINE
#ifdef UNCLIPPED_DEPTH_ORTHO_EMULATION
    out.unclipped_depth = out.position.z;
    out.position.z = min(out.position.z, 1.0);
#endif
#else
    // A wall has its outward normal; the surface, whose normal is found per pixel, brings the share of sky upright in it.
    let border = abs(place.xz) / (0.5 * scene.extent.xy);
    let outward = select(vec3(sign(place.x), 0.0, 0.0), vec3(0.0, 0.0, sign(place.z)), border.y > border.x);
    let open = openness(vec2<i32>(round(cell_at(place.xz))));
    out.world_normal = select(vec3(0.0, open, 0.0), outward, kind > 0.5);
#endif
#ifdef VERTEX_OUTPUT_INSTANCE_INDEX
    out.instance_index = in.instance_index;
#endif
    return out;
}

#ifndef PREPASS_PIPELINE
fn gradient(cell: vec2<i32>) -> vec2<f32> {
    let along_x = texel(cell + vec2(1, 0)).r - texel(cell - vec2(1, 0)).r;
    let along_z = texel(cell + vec2(0, 1)).r - texel(cell - vec2(0, 1)).r;
    return vec2(along_x, along_z) * (0.5 * scene.extent.z / scene.grid.z);
}

fn surface_normal(cell: vec2<f32>) -> vec3<f32> {
    let first = vec2<i32>(floor(cell));
    let part = cell - floor(cell);
    let above = mix(gradient(first), gradient(first + vec2(1, 0)), part.x);
    let below = mix(gradient(first + vec2(0, 1)), gradient(first + vec2(1, 1)), part.x);
    let slope = mix(above, below, part.y);
    return normalize(vec3(-slope.x, 1.0, -slope.y));
}

fn hash(place: vec2<f32>) -> f32 {
    var p = fract(place * vec2(0.1031, 0.1137));
    p += dot(p, p.yx + 33.33);
    return fract((p.x + p.y) * p.x);
}

fn noise(place: vec2<f32>) -> f32 {
    let cell = floor(place);
    let t = fract(place);
    let s = t * t * (3.0 - 2.0 * t);
    let above = mix(hash(cell), hash(cell + vec2(1.0, 0.0)), s.x);
    let below = mix(hash(cell + vec2(0.0, 1.0)), hash(cell + vec2(1.0, 1.0)), s.x);
    return mix(above, below, s.y);
}

fn wall_color(place: vec3<f32>, cell: vec2<f32>, outward: vec3<f32>) -> vec3<f32> {
    let layer = bilinear(cell);
    let depth = (world_height(layer.r) - place.y) / max(scene.extent.z, 1e-6);
    let along = select(place.x, place.z, abs(outward.x) > 0.5);
    let bed = place.y * 0.55 + 3.0 * noise(vec2(along * 0.03, 7.0));
    let bands = 0.86 + 0.20 * noise(vec2(bed, 3.0)) + 0.06 * noise(vec2(along * 0.9, place.y * 1.7));
    let rock = mix(scene.steep_color.rgb, vec3(0.21, 0.17, 0.14), 0.72) * bands;
    return mix(rock, scene.sand_color.rgb, select(0.0, 1.0, depth < layer.g && layer.g > 0.02 * scene.sand_color.a));
}

@fragment
fn fragment(in: VertexOutput) -> FragmentOutput {
    let place = in.world_position.xyz;
    let cell = cell_at(place.xz);
    let wall = dot(in.world_normal.xz, in.world_normal.xz) > 0.25;
    var normal = in.world_normal;
    var color: vec3<f32>;
    var open = 1.0;
    if wall {
        normal = normalize(normal);
        color = wall_color(place, cell, normal);
        open = mix(0.45, 1.0, smoothstep(scene.extent.w, 0.0, place.y));
    } else {
        open = mix(1.0, in.world_normal.y, scene.ground.z);
        normal = surface_normal(cell);
        let width = max(scene.ground.y, fwidth(normal.y) * 0.5 + 1e-4);
        let steep = 1.0 - smoothstep(scene.ground.x - width, scene.ground.x + width, normal.y);
        let sandy = clamp(bilinear(cell).g / scene.sand_color.a, 0.0, 1.0) * (1.0 - 0.65 * steep);
        color = mix(mix(scene.flat_color.rgb, scene.steep_color.rgb, steep), scene.sand_color.rgb, sandy);
        color *= 0.94 + 0.12 * noise(place.xz * 0.8) + 0.05 * (noise(place.xz * 4.1) - 0.5);
    }
    let sun = scene.sun.xyz;
    let eye = view.world_position.xyz - place;
    let distance = length(eye);
    let towards_eye = eye / distance;
    let facing = max(dot(normal, sun), 0.0);
    var lit = 1.0;
    if facing > 0.0 && scene.phong.w > 0.5 {
        let depth = dot(vec4(view.view_from_world[0].z, view.view_from_world[1].z, view.view_from_world[2].z,
            view.view_from_world[3].z), in.world_position);
        lit = shadows::fetch_directional_shadow(0u, in.world_position, normal, depth, in.position.xy);
    }
    let low = 1.0 - clamp(sun.y * 1.5, 0.0, 1.0);
    let sunlight = mix(vec3(1.0, 0.96, 0.90), vec3(1.0, 0.80, 0.60), low) * scene.sun.w * 1.9;
    let sky = mix(vec3(0.42, 0.36, 0.30), vec3(0.62, 0.80, 1.15), 0.5 + 0.5 * normal.y) * scene.phong.x;
    let half_way = normalize(sun + towards_eye);
    let highlight = scene.phong.y * pow(max(dot(normal, half_way), 0.0), scene.phong.z) * facing;
    let direct = sunlight * lit * mix(open, 1.0, 0.4);
    var light = color * (direct * facing + sky * open) + direct * highlight;
    let haze = haze_amount(distance, max(scene.extent.x, scene.extent.y), scene.ground.w);
    light = mix(light, sky_color(normalize(vec3(-towards_eye.x, 0.04, -towards_eye.z)), sun), haze);
    var out: FragmentOutput;
    out.color = vec4(light, 1.0);
#ifdef TONEMAP_IN_SHADER
    out.color = tone_mapping(out.color, view.color_grading);
#endif
    return out;
}
#endif
