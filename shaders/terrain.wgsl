// Ground: chunks displaced by the height texture, and the side walls of the block.
#import thalweg::view::view
#import thalweg::scene::{sun_color, ambient_light, sky_color, past_clouds, hash, noise, noise_slope}
#import thalweg::map::{scene, texel, moving, moving_between, cell_at, on_ground, bilinear, world_height}
#import thalweg::map::{Corner, corner_cell, is_low, outward}
#import thalweg::map::{relief_at, relief_sampler, sun_share}
#import thalweg::rock::wall_color
#import thalweg::screen::{through_air, on_screen}
#ifdef RING
#import thalweg::map::with_ring
#endif
#ifdef CUT
#import thalweg::map::is_cut_away
#endif

struct Overlay {
    // Minimum value, reciprocal of the value range. The other two select the variant: values, arrows.
    range: vec4<f32>,
    // Arrow spacing in cells, speed of the longest arrow in metres per second, minimum depth for arrows in metres. Last: fraction
    // of the range, from 0, in which the overlay fades to the ground; negative for classes, which are not interpolated.
    arrows: vec4<f32>,
    // Colour over masked ground, and its strength.
    mask_tint: vec4<f32>,
    // Evenly spaced colours from the minimum to the maximum value.
    colors: array<vec4<f32>, 9>,
}

@group(1) @binding(3) var<uniform> overlay: Overlay;

// Red: sky visibility, green: wetness, blue and alpha: curvature at coarse and fine scale (0 is a crest, 1 a gully).
@group(1) @binding(8) var cover: texture_2d<f32>;
// Elevation change since the start: 0 is deep erosion, 0.5 unchanged, 1 high deposition.
@group(1) @binding(9) var past: texture_2d<f32>;

// Drainage area on a logarithmic scale: 0 is one cell, 1 the whole map. Broad bands along streams.
@group(1) @binding(10) var flow: texture_2d<f32>;

struct Pixel {
    // Invariant for surfaces drawn on the ground: `rivers.wgsl`.
    @builtin(position) @invariant position: vec4<f32>,
    @location(0) place: vec3<f32>,
#ifdef WALL
    // Outward normal.
    @location(1) wall: vec3<f32>,
#endif
}

@vertex
fn vertex(corner: Corner) -> Pixel {
    let cell = corner_cell(corner);
    var place = on_ground(cell);
#ifdef WALL
    place.y = select(place.y, scene.extent.w, is_low(corner.position.y, cell));
    return Pixel(view.clip_from_world * vec4(place, 1.0), place, outward(corner));
#else
    return Pixel(view.clip_from_world * vec4(place, 1.0), place);
#endif
}

// Ground properties at a pixel: smooth normal, sand, wetness, sky visibility, fraction of sunlight, curvature at coarse and fine
// scale (-1 is a crest, 1 a gully), elevation change since the start (-1 is erosion, 1 deposition), and drainage area.
struct Here {
    normal: vec3<f32>,
    sand: f32,
    wet: f32,
    open: f32,
    lit: f32,
    bent: vec2<f32>,
    past: f32,
    flow: f32,
}

// Sand ripples across the wind, as slope along it: crests that waver, split and join. They fade where a pixel is wider than they
// are. `cells` is the position on the block in cells, `width` the pixel width in cells.
fn ripples(cells: vec2<f32>, width: f32, here: Here) -> f32 {
    let wind = scene.wind.xy;
    let along = dot(cells, wind);
    let across = dot(cells, vec2(-wind.y, wind.x));
    let lies = smoothstep(0.3, 1.0, here.sand / scene.sand_color.a) * smoothstep(0.80, 0.93, here.normal.y);
    // Two wavelengths, for overviews and close-ups.
    var slope = 0.0;
    for (var size = 0; size < 2; size++) {
        let length = array(2.6, 0.55)[size];
        let waver = 1.6 * noise(vec2(along, across) * (0.22 / length)) + 0.7 * noise(vec2(along, 0.4 * across) * (0.9 / length));
        let phase = 6.2832 * (along / length + waver);
        let pixels = length / max(width, 1e-4);
        let strength = smoothstep(1.8, 5.0, pixels) * (0.4 + 0.6 * noise(cells * (0.13 / length) + 31.0));
        // Steeper on the lee side.
        slope += strength * (cos(phase) + 0.35 * cos(2.0 * phase + 0.8)) * array(0.13, 0.10)[size];
    }
    return slope * lies * scene.wind.z;
}

fn look_around(cell: vec2<f32>) -> Here {
    let here = relief_at(cell);
    let covers = textureSampleLevel(cover, relief_sampler, (cell + 0.5) / scene.grid.xy, 0.0);
    let before = textureSampleLevel(past, relief_sampler, (cell + 0.5) / scene.grid.xy, 0.0).r * (255.0 / 127.0) - 128.0 / 127.0;
    let slope = here.xy * (scene.phong.w);
    let water = textureSampleLevel(flow, relief_sampler, (cell + 0.5) / scene.grid.xy, 0.0).r;
    let normal = normalize(vec3(-slope.x, 1.0, -slope.y));
    return Here(normal, here.a, covers.g, covers.r, sun_share(here.b), 2.0 * covers.ba - 1.0, before, water);
}

// Detail below the cell size: slope and tone.
struct Small {
    slope: vec2<f32>,
    tone: f32,
}

// Fractal bumps, from two cells down to the pixel size. Each octave is rotated to hide the grid.
fn small_shapes(cell: vec2<f32>, pixel: f32) -> Small {
    var out: Small;
    var at = cell * 0.5;
    var width = pixel * 0.5;
    for (var size = 0; size < 9; size++) {
        let seen = 1.0 - smoothstep(0.16, 0.42, width);
        if seen <= 0.0 { break; }
        let shape = noise_slope(at);
        // Rotate the slope back to the axes of the map.
        let turn = f32(size) * 0.6435;
        let axes = vec2(cos(turn), sin(turn));
        out.slope += seen * vec2(axes.x * shape.y + axes.y * shape.z, -axes.y * shape.y + axes.x * shape.z);
        out.tone += seen * (shape.x - 0.5);
        at = 2.0 * vec2(0.8 * at.x - 0.6 * at.y, 0.6 * at.x + 0.8 * at.y) + 17.3;
        width *= 2.0;
    }
    return out;
}

// Benches of bedded rock: local slope relative to the mean slope.
fn ledges(place: vec3<f32>, cell: vec2<f32>, normal: vec3<f32>, pixel: f32) -> f32 {
    let level = place.y / scene.grid.z + 2.5 * noise(cell * 0.06);
    let rise = length(normal.xz) / max(normal.y, 0.05);
    var out = 0.0;
    for (var size = 0; size < 2; size++) {
        let often = array(0.55, 1.9)[size];
        let seen = 1.0 - smoothstep(0.12, 0.4, pixel * rise * often);
        out += seen * (noise(vec2(level * often, 5.0 + 0.12 * (cell.x + cell.y) * often)) - 0.5) * array(1.0, 0.8)[size];
    }
    return max(0.0, 1.0 + 1.5 * out);
}

// Normalised quantity of a colour ramp. `sunny` is 1 on ground that faces the sun.
fn on_ramp(kind: f32, place: vec3<f32>, here: Here, sunny: f32) -> f32 {
    // Selected without branches: see `src/render/material.rs`.
    var amounts = array(
        0.0,
        place.y * scene.ramp_by.w,
        acos(clamp(here.normal.y, 0.0, 1.0)) / 1.0472,
        0.5 + 0.5 * sunny,
        here.flow,
        0.5 + 0.5 * (0.6 * here.bent.x + 0.4 * here.bent.y),
        0.5 + 0.5 * here.past,
        here.wet,
        here.sand / scene.sand_color.a,
    );
    return clamp(amounts[u32(kind)], 0.0, 1.0);
}

// Colour of a ramp at a position along it and towards its other side.
fn ramp_color(along: f32, across: f32) -> vec3<f32> {
    let at = along * 4.0;
    let first = min(u32(at), 3u);
    let part = at - f32(first);
    let near = mix(scene.ramp[first].rgb, scene.ramp[first + 1u].rgb, part);
    let far = mix(scene.ramp[first + 5u].rgb, scene.ramp[first + 6u].rgb, part);
    return mix(near, far, across);
}

// Sand grains that reflect the sun. A grain covers one or two pixels at any distance.
fn glitter(place: vec3<f32>, normal: vec3<f32>, unit: f32) -> f32 {
    let size = exp2(ceil(log2(max(unit, 1e-6) * 0.5)));
    let grain = floor(place.xz / size);
    let turned = vec3(hash(grain), 0.5, hash(grain + 31.7)) - 0.5;
    let towards_eye = normalize(view.eye.xyz - place);
    let mirrors = dot(normalize(normal + 0.9 * turned), normalize(scene.sun.xyz + towards_eye));
    return smoothstep(0.995, 0.9995, mirrors) * (1.0 - clamp(1.6 * scene.sun.y, 0.0, 1.0));
}

#ifdef WOODS
// Forest density noise with patches of every size, mean 0.5.
fn clump(at: vec2<f32>) -> f32 {
    return 0.50 * noise(at * 0.035 + 57.0) + 0.30 * noise(at * 0.13 + 5.0) + 0.20 * noise(at * 0.53 + 9.0);
}

// Tree crowns from above: relative height of the highest, from 0 to 1, and its gradient.
fn crowns(at: vec2<f32>) -> vec3<f32> {
    var out = vec3(0.0);
    let corner = floor(at);
    for (var y = -1; y <= 1; y++) {
        for (var x = -1; x <= 1; x++) {
            let cell = corner + vec2(f32(x), f32(y));
            let first = hash(cell + 3.7);
            let middle = cell + 0.5 + 0.7 * vec2(first - 0.5, hash(cell + 71.3) - 0.5);
            let wide = 0.50 + 0.45 * fract(7.0 * first);
            let away = (at - middle) / wide;
            let tall = 0.6 + 0.4 * fract(13.0 * first);
            let high = (1.0 - dot(away, away)) * tall;
            if high > out.x { out = vec3(high, -2.0 * tall * away / wide); }
        }
    }
    return out;
}
#endif

// Shaded ground: colour, normal including detail, snow cover, glitter, and fraction with specular highlights.
struct Ground {
    color: vec3<f32>,
    normal: vec3<f32>,
    snow: f32,
    glitter: f32,
    shine: f32,
}

// Mixes two colours by slope, with small variations, sand where it is thick enough, and snow above the snow line.
fn ground_at(place: vec3<f32>, cell: vec2<f32>, here: Here, pixel: f32) -> Ground {
    let grain = scene.air.z;
    let at = (place.xz - scene.place.xy) * 256.0 / scene.air.w;
    let coarse = noise(at * 0.09) - 0.5;
    let middle = noise(at * 0.43) - 0.5;
    // Detail below the pixel size fades to avoid flicker.
    let unit = pixel * scene.grid.z * 256.0 / scene.air.w;
    let fine = (noise(at * 1.9) - 0.5) * (1.0 - smoothstep(0.2, 0.6, unit * 1.9));
    var small: Small;
    var strength = 0.0;
#ifdef FINE
    strength = scene.surface.w;
    small = small_shapes(cell, pixel);
#endif
    let tone = strength * min(1.0, 2.0 * grain) * small.tone;
    // Variation also shifts the border between the colours, unless it is meant to be sharp.
    let softness = scene.ground.y;
    // Without grain, colours depend on slope alone.
    let traces = scene.country.z * min(1.0, 2.0 * grain);
    let worn = traces * max(-here.past, 0.0);
    let laid = traces * max(here.past, 0.0);
    // Soil is lost on crests and eroded ground and accumulates on concave ground. It is thick along streams, but steep gullies are bare.
    let lush = scene.life.x * min(1.0, 2.0 * grain) * smoothstep(0.30, 0.62, here.flow + 0.10 * (coarse + middle));
    let soil = grain * min(1.0, softness / 0.06) * (0.75 * here.bent.x - 0.22 * worn) + lush * mix(-0.10, 0.14, smoothstep(0.62, 0.82, here.normal.y));
    let upright = here.normal.y + soil + softness * (grain * (0.9 * middle + 0.6 * fine) + 0.9 * tone);
    let width = max(softness, fwidth(here.normal.y) * 0.5 + 1e-4);
    let steep = 1.0 - smoothstep(scene.ground.x - width, scene.ground.x + width, upright);
    // Thin sand does not stay on steep rock. A slip face is steep and all sand.
    let thick = here.sand / scene.sand_color.a;
    let thin = 1.0 - smoothstep(2.0, 6.0, thick);
    let sandy = smoothstep(0.25, 1.0, thick + grain * 0.5 * (middle + 0.5 * fine)) * (1.0 - 0.75 * steep * thin);
    let grass = scene.flat_color.rgb * (1.0 + grain * (0.30 * coarse + 0.34 * middle + 0.30 * fine) + 0.55 * tone)
        * mix(vec3(1.0), vec3(1.35, 1.06, 0.72), grain * clamp(0.35 + 1.3 * coarse + 0.5 * middle, 0.0, 1.0));
    let strata = noise(vec2(place.y * 0.9 * 256.0 / scene.air.w + 3.0 * coarse, 2.0)) - 0.5;
    let rock = scene.steep_color.rgb * (1.0 + grain * (0.22 * strata + 0.16 * middle + 0.16 * fine) + 0.35 * tone)
        * mix(vec3(1.0), vec3(1.06, 0.99, 0.91), grain * (0.5 + coarse)) * mix(vec3(1.0), vec3(1.14, 1.08, 1.0), worn);
    // Eroded ground is brown and bare, deposits are pale. Along streams, vegetation is greener and denser.
    let green = grass * mix(vec3(1.0), vec3(0.62, 0.90, 0.55), lush * (0.7 + 0.6 * middle));
    let bare = mix(green, dot(green, vec3(0.3, 0.6, 0.1)) * vec3(1.30, 1.02, 0.66), 0.7 * worn * (1.0 - 0.5 * lush));
    let meadow = mix(bare, mix(scene.sand_color.rgb, rock, 0.35) * (1.0 + 0.2 * grain * middle), 0.6 * laid);
    // Thin cover on steep ground is scree from the rock above.
    let scree = min(1.3 * grain * thin * (1.0 - smoothstep(0.80, 0.95, here.normal.y)), 0.7);
    let sand = mix(scene.sand_color.rgb, 1.1 * rock, scree) * (1.0 + grain * (0.10 * coarse + 0.10 * fine) + 0.14 * tone);
    // Damp concave ground is darker, crests bleached.
    let crest = mix(1.0, (0.84 + 0.20 * here.open) * (1.0 - 0.45 * here.bent.y), grain);
    // Wet sand is darker and more saturated. The first water darkens most.
    let damp = mix(vec3(1.0), vec3(0.60, 0.54, 0.47), smoothstep(0.0, 0.3, here.wet) * mix(0.5, 1.0, sandy));
    // Snow reaches lower on shaded slopes and slides off steep ones.
    let sunny = dot(here.normal.xz, scene.sun.xz) / max(length(scene.sun.xz), 1e-4);
    let above = (place.y - scene.surface.x) / scene.surface.y - 1.7 * sunny + 1.1 * coarse + 0.7 * middle + 0.3 * tone
        + 1.5 * here.bent.x;
    let stays = smoothstep(0.50, 0.74, here.normal.y + 0.10 * fine + 0.06 * tone);
    let snow = smoothstep(-0.4, 0.4, above) * stays;
    var ground = mix(mix(meadow, rock, steep), sand, sandy);
    var leaves = vec3(0.0);
    var leafy = 0.0;
    // Full visibility of leaves and crowns at the default detail.
    let crisp = min(1.0, strength / 0.6);
#ifdef WOODS
    // Width of a forest edge at the pixel size.
    let edge = max(0.012, 0.10 * unit);
    let favour = 0.12 * here.bent.x + 0.16 * lush - 0.35 * worn - 0.8 * laid - (0.74 - 0.50 * scene.life.w);
    let dry = 1.0 - smoothstep(0.05, 0.3, bilinear(cell).b);
    let green_land = dry * (1.0 - steep) * (1.0 - sandy) * (1.0 - smoothstep(-2.4, -1.4, above));
    leafy = green_land * smoothstep(-edge, edge, clump(at) + favour);
    // Tree species vary between woods.
    let kind = noise(at * 0.06 + 91.0);
    var foliage = scene.flat_color.rgb * mix(vec3(0.35, 0.46, 0.44), vec3(0.55, 0.58, 0.37), kind) * (1.0 + 0.5 * grain * (middle + 0.6 * fine));
#ifdef FINE
    // Crowns show while wider than a pixel, and woods shade the ground behind them.
    let seen = crisp * (1.0 - smoothstep(0.25, 0.60, unit));
    // Irregular crown outlines.
    let bent = 0.26 * (vec2(noise(at * 4.3 + 13.0), noise(at * 4.3 + 47.0)) - 0.5);
    leaves = crowns(at * 1.5 + bent);
    foliage *= mix(1.0, 0.68 + 0.74 * leaves.x, seen) * (1.0 + 0.5 * crisp * small.tone);
    let shaded = smoothstep(-edge, edge, clump(at + 0.9 * normalize(scene.sun.xz + 1e-5)) + favour) * green_land;
    ground *= 1.0 - 0.55 * seen * shaded * (1.0 - leafy);
    leaves *= seen;
#endif
    ground = mix(ground, foliage, leafy);
#endif
#ifdef RAMP
    // Mottled, so that colours do not form bands of equal height.
    let mottled = 0.10 * grain * (0.6 * coarse + 0.5 * middle + 0.4 * fine);
    let along = on_ramp(scene.ramp_by.y, place, here, sunny) + mottled;
    let across = on_ramp(scene.ramp_by.z, place, here, sunny) + select(0.0, mottled, scene.ramp_by.z > 0.5);
    ground = ramp_color(clamp(along, 0.0, 1.0), clamp(across, 0.0, 1.0));
    ground *= 1.0 + grain * (0.10 * coarse + 0.14 * middle + 0.14 * fine) + 0.3 * tone;
#endif
    let color = mix(ground * crest * damp, vec3(0.95, 0.935, 0.91), snow);
    // Rock is rougher than grass, and both are rougher than sand and snow.
    let rough = strength * mix(0.13, 0.34, steep) * (1.0 - 0.8 * sandy) * (1.0 - 0.8 * snow);
    var normal = here.normal;
#ifdef FINE
    let steps = mix(1.0, ledges(place, cell, normal, pixel), min(1.0, 3.0 * rough) * steep);
    normal = normalize(vec3(normal.x * steps, normal.y, normal.z * steps));
    normal = normalize(normal - mix(rough, 0.22 * crisp, leafy) * vec3(small.slope.x, 0.0, small.slope.y));
    normal = normalize(normal - 0.17 * leafy * vec3(leaves.y, 0.0, leaves.z));
#endif
    var sparks = 0.0;
    // Thin sand in steep gullies is not clean enough to glitter.
    let clean = sandy * (1.0 - snow) * mix(1.0, smoothstep(0.80, 0.93, here.normal.y), thin);
#ifdef FINE
#ifdef GLITTER
    sparks = scene.life.y * clean * glitter(place, here.normal, pixel * scene.grid.z);
#endif
#endif
    return Ground(color, normal, snow, sparks, 1.0 - leafy);
}

// Coverage of contour lines: thin ones, and every fifth a broad index contour.
fn contour(place: vec3<f32>) -> f32 {
    let level = (place.y / scene.extent.z + scene.grid.w) / scene.surface.z;
    let pixel = max(fwidth(level) * view.size.z, 1e-6);
    let nearest = round(level);
    let broad = select(0.7, 1.3, abs(nearest - 5.0 * round(nearest / 5.0)) < 0.5);
    let line = 1.0 - smoothstep(broad - 0.5, broad + 0.5, abs(level - nearest) / pixel);
    // Dense lines fade, except for index contours.
    let apart = 1.0 - smoothstep(0.15, 0.35, pixel * select(1.0, 0.2, broad > 1.0));
    // No contours on level ground.
    return line * apart * smoothstep(1e-4, 3e-4, pixel);
}

// Coverage of grid lines, which start in the upper left corner of the map.
fn grid_lines(place: vec3<f32>) -> f32 {
    let at = (place.xz - scene.place.xy + 0.5 * scene.extent.xy) / scene.country.y;
    let pixel = max(fwidth(at) * view.size.z, vec2(1e-6));
    let lines = 1.0 - smoothstep(vec2(0.2), vec2(1.2), abs(at - round(at)) / pixel);
    // Dense lines fade.
    let apart = 1.0 - smoothstep(vec2(0.12), vec2(0.3), pixel);
    return max(lines.x * apart.x, lines.y * apart.y);
}

// Colour of an overlay value.
fn overlay_color(value: f32) -> vec3<f32> {
    let place = clamp((value - overlay.range.x) * overlay.range.y, 0.0, 1.0) * 8.0;
    let first = min(u32(place), 7u);
    return mix(overlay.colors[first].rgb, overlay.colors[first + 1u].rgb, place - f32(first));
}

// Coverage of an arrow and of its dark border: one arrow per square of cells, along the flow in its centre.
fn arrow(cell: vec2<f32>) -> vec2<f32> {
    let side = overlay.arrows.x;
    // Before any return: derivatives are undefined in non-uniform control flow.
    let pixel = fwidth(cell.x + cell.y) / side + 1e-4;
    let square = floor(cell / side);
    let middle = (square + 0.5) * side;
    let flow = moving(vec2<i32>(middle)).yz;
    let speed = length(flow);
    let strength = clamp(sqrt(speed / max(overlay.arrows.y, 1e-6)), 0.0, 1.0);
    let depth = texel(vec2<i32>(middle)).b;
    if strength < 0.08 || depth < overlay.arrows.z { return vec2(0.0); }
    let along = flow / speed;
    let offset = (cell - middle) / side;
    let x = dot(offset, along);
    let y = abs(dot(offset, vec2(-along.y, along.x)));
    let reach = 0.18 + 0.30 * strength;
    let head = 0.24;
    // Signed distances to shaft and head.
    let shaft = max(y - 0.028, max(-reach - x, x - (reach - head)));
    let point = max(y - 0.5 * (reach - x), (reach - head) - x);
    let away = min(shaft, point);
    return vec2(1.0 - smoothstep(-pixel, pixel, away), 1.0 - smoothstep(0.02, 0.02 + 2.0 * pixel, away));
}

@fragment
fn fragment(in: Pixel) -> @location(0) vec4<f32> {
    let place = in.place;
    let cell = cell_at(place.xz);
    var normal: vec3<f32>;
    var color: vec3<f32>;
    var open = 1.0;
    var lit = 1.0;
    // Sunlight reflected by surrounding snow, and by glittering grains.
    var bounced = 0.0;
    var sparks = 0.0;
    var shine = 1.0;
    // Width of a pixel on the ground, in cells.
    let pixel = max(length(vec2(length(dpdx(cell)), length(dpdy(cell)))) * 0.7, 1e-4);
#ifdef WALL
    normal = normalize(in.wall);
    color = wall_color(place, cell, normal);
    let rim = world_height(bilinear(cell).r);
    open = mix(0.5, 1.0, smoothstep(scene.extent.w, scene.extent.w + 0.09 * scene.air.w, place.y));
    // Bevelled edges: the upper one is tilted up, those between two walls towards the other wall. They fade below the pixel size.
    let bevel = 0.008 * scene.air.w;
    let fades = smoothstep(0.3, 1.0, bevel / (pixel * scene.grid.z));
    let from_middle = (place.xz - scene.place.xy);
    let to_corner = 0.5 * scene.extent.xy - abs(from_middle);
    let beside = select(to_corner.x, to_corner.y, abs(normal.x) > 0.5);
    let other = select(vec3(sign(from_middle.x), 0.0, 0.0), vec3(0.0, 0.0, sign(from_middle.y)), abs(normal.x) > 0.5);
    let up = fades * (1.0 - smoothstep(0.0, bevel, rim - place.y));
    let round = fades * (1.0 - smoothstep(0.0, bevel, beside));
    normal = normalize(normal + vec3(0.0, 0.9 * up, 0.0) + 0.9 * round * other);
    color *= 1.0 + 0.12 * up;
#else
    let here = look_around(cell);
    open = mix(1.0, here.open, scene.ground.z);
    lit = here.lit;
    let ground = ground_at(place, cell, here, pixel);
    normal = ground.normal;
    color = ground.color;
    bounced = 0.16 * ground.snow;
    sparks = ground.glitter;
    shine = ground.shine;
#ifdef FINE
#ifdef RIPPLES
    // Outside the branch: derivatives are undefined in non-uniform control flow.
    let cells = (place.xz - scene.place.xy) / scene.grid.z;
    let width = fwidth(cells.x) + fwidth(cells.y);
    if here.sand > 0.0 {
        let slope = ripples(cells, width, here) * scene.wind.xy;
        normal = normalize(normal + vec3(-slope.x, 0.0, -slope.y));
    }
#endif
#endif
#ifdef OVERLAY
#ifdef CLASSES
    let value = moving(vec2<i32>(floor(cell + 0.5))).x;
#else
    let value = moving_between(cell).x;
#endif
    let share = (value - overlay.range.x) * overlay.range.y;
    let bare = vec3(dot(color, vec3(0.25, 0.5, 0.25)));
    let seen = select(1.0, smoothstep(0.0, overlay.arrows.w, share), overlay.arrows.w > 0.0);
    color = mix(bare, overlay_color(value), seen);
#endif
#ifdef MASK
    color = mix(color, overlay.mask_tint.rgb, overlay.mask_tint.a * moving_between(cell).w);
#endif
#ifdef CONTOURS
    color *= 1.0 - 0.55 * contour(place);
#endif
#ifdef GRID
    color = mix(color, vec3(0.92), 0.45 * grid_lines(place));
#endif
#ifdef ARROWS
    let covers = arrow(cell);
    color = mix(mix(color, vec3(0.02), 0.7 * covers.y), vec3(0.95), covers.x);
#endif
#endif
    lit *= past_clouds(place, scene);
    let sun = scene.sun.xyz;
    let eye = view.eye.xyz - place;
    let distance = length(eye);
    let towards_eye = eye / distance;
    let facing = max(dot(normal, sun), 0.0);
    let half_way = normalize(sun + towards_eye);
    let highlight = shine * scene.phong.y * pow(max(dot(normal, half_way), 0.0), scene.phong.z) * facing;
    let direct = sun_color(scene) * lit * mix(open, 1.0, 0.4);
    let around = ambient_light(normal, scene) * open + sun_color(scene) * (bounced * scene.sun.y);
    var light = color * (direct * facing + around) + direct * (highlight + 3.0 * sparks);
    light = through_air(light, towards_eye, distance, scene);
#ifdef RING
#ifndef WALL
    light = with_ring(light, cell, pixel);
#endif
#endif
    // Discard last: derivatives are undefined after a discard.
#ifdef SPLIT
    if scene.place.z * (view.tile.x + in.position.x - scene.place.w * view.tile.z) < 0.0 { discard; }
#endif
#ifdef CUT
    if is_cut_away(place.xz) { discard; }
#endif
    return on_screen(vec4(light, 1.0), in.position.xy);
}
