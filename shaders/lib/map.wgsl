// Map of a material: uniforms, layers and data overlay.
#define_import_path thalweg::map
#import thalweg::scene::Scene
#import thalweg::view::view

@group(1) @binding(0) var<uniform> scene: Scene;
// Red: ground, green: sand thickness, blue: water depth, alpha: suspended sediment, all in metres. Under very shallow water, alpha
// is the negative wetness of the ground.
@group(1) @binding(1) var layers: texture_2d<f32>;
// Red: overlay value, green and blue: water velocity in metres per second, alpha: mask. A single texel if there is none of them.
@group(1) @binding(2) var motion: texture_2d<f32>;

// Red and green: slope along columns and rows, blue: height above the shadow edge in penumbra half widths, alpha: sand in metres.
@group(1) @binding(6) var relief: texture_2d<f32>;
@group(1) @binding(7) var relief_sampler: sampler;

// Slope, height above the shadow edge and sand at a point between cells.
fn relief_at(cell: vec2<f32>) -> vec4<f32> {
    return textureSampleLevel(relief, relief_sampler, (cell + 0.5) / scene.grid.xy, 0.0);
}

// Fraction of sunlight for a height above the shadow edge.
fn sun_share(above: f32) -> f32 {
    return smoothstep(-1.0, 1.0, above);
}

// Fraction of sunlight at a point between cells.
fn sunlit(cell: vec2<f32>) -> f32 {
    return sun_share(relief_at(cell).b);
}

fn texel(cell: vec2<i32>) -> vec4<f32> {
    let last = vec2<i32>(textureDimensions(layers)) - 1;
    return textureLoad(layers, clamp(cell, vec2(0), last), 0);
}

fn moving(cell: vec2<i32>) -> vec4<f32> {
    let last = vec2<i32>(textureDimensions(motion)) - 1;
    return textureLoad(motion, clamp(cell, vec2(0), last), 0);
}

// Cell coordinates of a point on the map: 0 is the centre of the first cell.
fn cell_at(xz: vec2<f32>) -> vec2<f32> {
    return ((xz - scene.place.xy) / scene.extent.xy + 0.5) * (scene.grid.xy - 1.0);
}

// World position of a cell: x and z.
fn place_of(cell: vec2<f32>) -> vec2<f32> {
    return (cell / (scene.grid.xy - 1.0) - 0.5) * scene.extent.xy + scene.place.xy;
}

fn bilinear(cell: vec2<f32>) -> vec4<f32> {
    let first = vec2<i32>(floor(cell));
    let part = cell - floor(cell);
    let above = mix(texel(first), texel(first + vec2(1, 0)), part.x);
    let below = mix(texel(first + vec2(0, 1)), texel(first + vec2(1, 1)), part.x);
    return mix(above, below, part.y);
}

fn moving_between(cell: vec2<f32>) -> vec4<f32> {
    let first = vec2<i32>(floor(cell));
    let part = cell - floor(cell);
    let above = mix(moving(first), moving(first + vec2(1, 0)), part.x);
    let below = mix(moving(first + vec2(0, 1)), moving(first + vec2(1, 1)), part.x);
    return mix(above, below, part.y);
}

// A vertex of a terrain chunk, see `src/render/lod.rs`. Its y is its kind: 0 surface, 1 upper and 2 lower edge of a wall along
// x, 3 and 4 of one along z.
struct Corner {
    @location(0) position: vec3<f32>,
    // Column and row of the chunk's first corner, cells along a side of a quad, and reference height for distances.
    @location(1) chunk: vec4<f32>,
    // Distance from which vertices morph to the next level, and reciprocal of the morph range.
    @location(2) glide: vec2<f32>,
}

// Column and row of the vertex.
fn corner_cell(corner: Corner) -> vec2<f32> {
    let steps = corner.position.xz;
    let cell = corner.chunk.xy + steps * corner.chunk.z;
    let place = place_of(cell);
    let away = distance(view.eye.xyz, vec3(place.x, corner.chunk.w, place.y));
    let blend = clamp((away - corner.glide.x) * corner.glide.y, 0.0, 1.0);
    let odd = steps - 2.0 * floor(0.5 * steps);
    let last = scene.grid.xy - 1.0;
    return select(cell - odd * corner.chunk.z * blend, last, cell >= last);
}

// `true` at the base of the block. Walls inside the map collapse.
fn is_low(kind: f32, cell: vec2<f32>) -> bool {
    let across = select(cell.y, cell.x, kind > 2.5);
    let last = select(scene.grid.y, scene.grid.x, kind > 2.5) - 1.0;
    return (kind == 2.0 || kind == 4.0) && (across <= 0.0 || across >= last);
}

// Outward normal of the vertex's wall.
fn outward(corner: Corner) -> vec3<f32> {
    let side = sign(corner.position.xz - 0.5);
    return select(vec3(0.0, 0.0, side.y), vec3(side.x, 0.0, 0.0), corner.position.y > 2.5);
}

fn world_height(metres: f32) -> f32 {
    return (metres - scene.grid.w) * scene.extent.z;
}

// World position of a cell on the ground.
fn on_ground(cell: vec2<f32>) -> vec3<f32> {
    return vec3(place_of(cell), world_height(bilinear(cell).r)).xzy;
}

// Brush falloff at a distance in radii; mirrors `Falloff` in `crates/sim/src/edit/brush.rs`.
fn brush_weight(distance: f32) -> f32 {
    let near = max(1.0 - distance, 0.0);
    // Selected without branches: see `src/render/material.rs`.
    let kind = u32(scene.brush.w);
    var weight = select(0.0, 1.0, distance < 1.0);
    weight = select(weight, near * near, kind == 3u);
    weight = select(weight, near, kind == 2u);
    weight = select(weight, sqrt(max(1.0 - distance * distance, 0.0)), kind == 1u);
    return select(weight, near * near * (3.0 - 2.0 * near), kind == 0u);
}

// Distance of a cell from the brush's centre, or from the line of a ramp being drawn.
fn from_brush(cell: vec2<f32>) -> f32 {
    let segment = scene.brush.xy - scene.stroke.xy;
    let share = clamp(dot(cell - scene.stroke.xy, segment) / max(dot(segment, segment), 1e-6), 0.0, 1.0);
    return length(cell - scene.stroke.xy - share * segment);
}

// Draws a line with a dark border over a colour; `away` is the distance from its centre in pixels.
fn with_line(color: vec3<f32>, line: vec3<f32>, away: f32) -> vec3<f32> {
    let dark = mix(color, vec3(0.01), 0.55 * (1.0 - smoothstep(1.6, 3.4, away)));
    return mix(dark, line, 1.0 - smoothstep(0.8, 1.8, away));
}

// Draws the brush ring over a colour: a bright line with a dark border, a tint proportional to the falloff, a centre mark, mirrored
// copies of these, and a cross at the source of a clone. `pixel` is the width of a pixel in cells.
fn with_ring(color: vec3<f32>, cell: vec2<f32>, pixel: f32) -> vec3<f32> {
    let radius = scene.brush.z;
    let mirrored = scene.grid.xy - 1.0 - cell;
    // Selected without branches: see `src/render/material.rs`.
    var cells = array(
        cell,
        select(cell, vec2(mirrored.x, cell.y), scene.marks.x > 0.0),
        select(cell, vec2(cell.x, mirrored.y), scene.marks.y > 0.0),
        select(cell, mirrored, scene.marks.x * scene.marks.y > 0.0),
    );
    var away = from_brush(cells[0]);
    var middle = length(cells[0] - scene.brush.xy);
    for (var other = 1; other < 4; other++) {
        away = min(away, from_brush(cells[other]));
        middle = min(middle, length(cells[other] - scene.brush.xy));
    }
    let paint = mix(vec3(0.95, 0.97, 1.0), vec3(1.0, 0.22, 0.13), scene.stroke.z);
    let bright = max(dot(color, vec3(0.3, 0.5, 0.2)), 0.25);
    var out = mix(color, paint * bright * 1.6, 0.28 * brush_weight(away / radius) * (0.35 + 0.65 * scene.stroke.w));
    out = with_line(out, paint * 1.5, abs(away - radius) / pixel);
    out = mix(out, paint * 1.5, 1.0 - smoothstep(1.2, 2.4, middle / pixel));
    let source = abs(cell - scene.marks.zw) / pixel;
    let cross = max(min(source.x, source.y), max(source.x, source.y) - 10.0);
    return with_line(out, paint * 1.5, cross);
}

// Side of the cut that faces the camera: 1 along its normal, -1 against it.
fn cut_side() -> f32 {
    return select(-1.0, 1.0, dot(view.eye.xz, scene.cut.xy) > scene.cut.z);
}

// `true` where the block is cut away.
fn is_cut_away(xz: vec2<f32>) -> bool {
    return (dot(xz, scene.cut.xy) - scene.cut.z) * cut_side() > 0.0;
}
