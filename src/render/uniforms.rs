//! Shader uniforms computed from terrain and look, and the layout of blocks in the scene.

use bevy::{prelude::*, render::render_resource::ShaderType};

use super::{SIDE, lod::BlockBounds, relief};
use crate::world::BrushRing;
use thalweg_scene::{
    look::{Backdrop, ColorSource, Look, NO_SNOW},
    model::session::Session,
};
use thalweg_sim::{
    core::terrain::Terrain,
    edit::{Brush, Symmetry, Tool},
    process::wind::Weather,
};

/// Gap between blocks as a fraction of a block's longer side.
const GAP: f32 = 0.14;

/// Height range over which snow cover becomes continuous, as a fraction of [`SIDE`].
const SNOW_FADES: f32 = 0.022;
/// Maximum of that range in metres.
const SNOW_FADES_WITHIN: f32 = 200.0;

/// Maximum thickness of sand at which it hides the ground beneath, in metres, for any cell size.
const SAND_HIDES: f32 = 4.0;

/// Column and row outside every map.
const NOWHERE: f32 = -1e9;
/// World position of hidden blocks.
const FAR_AWAY: f32 = 1e4 * SIDE;

/// Scene uniforms; mirrors `Scene` in `shaders/lib/scene.wgsl`.
#[derive(ShaderType, Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SceneUniforms {
    extent: Vec4,
    grid: Vec4,
    pub place: Vec4,
    flat_color: Vec4,
    steep_color: Vec4,
    sand_color: Vec4,
    bedrock_color: Vec4,
    ground_plane_color: Vec4,
    ground: Vec4,
    sun: Vec4,
    phong: Vec4,
    air: Vec4,
    wind: Vec4,
    brush: Vec4,
    stroke: Vec4,
    marks: Vec4,
    surface: Vec4,
    country: Vec4,
    life: Vec4,
    ramp_by: Vec4,
    ramp: [Vec4; 10],
    cut: Vec4,
}

/// Layout of the blocks. Together they fill a circle of the same size, for any number of blocks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    columns: usize,
    rows: usize,
    /// Spacing of blocks (side plus gap), in metres.
    cell: Vec2,
    /// World units per metre, horizontally. Heights are also multiplied by the vertical exaggeration.
    pub(super) scale: f32,
}

impl Layout {
    /// Gives each session its own place.
    pub(super) fn new(sessions: &[Session]) -> Self {
        Self::with_places(sessions, sessions.len().max(1))
    }

    /// Puts all sessions in the same place.
    pub(super) fn stacked(sessions: &[Session]) -> Self {
        Self::with_places(sessions, 1)
    }

    fn with_places(sessions: &[Session], count: usize) -> Self {
        let sides = sessions.iter().map(|session| sides(&session.simulation.terrain));
        let cell = sides.fold(Vec2::splat(f32::MIN_POSITIVE), Vec2::max);
        // The number of columns with the fewest empty places and a width of nearly twice the depth.
        let columns = (1..=count)
            .min_by_key(|&columns| {
                let rows = count.div_ceil(columns);
                let shape = columns as f32 * cell.x / (rows as f32 * cell.y);
                let empty = (columns * rows - count) as f32;
                ((empty + 4.0 * (shape / 1.8).ln().abs()) * 1000.0) as u32
            })
            .unwrap_or(1);
        let rows = count.div_ceil(columns);
        let gap = if count > 1 { GAP * cell.max_element() } else { 0.0 };
        let whole = Vec2::new(columns as f32, rows as f32) * (cell + gap) - gap;
        Self { columns, rows, cell: cell + gap, scale: SIDE * std::f32::consts::SQRT_2 / whole.length().max(1e-20) }
    }

    /// Returns the centre of a block on the ground plane, in world units.
    pub(super) fn centre(&self, index: usize) -> Vec2 {
        let place = Vec2::new((index % self.columns) as f32, (index / self.columns) as f32);
        let middle = Vec2::new(self.columns as f32 - 1.0, self.rows as f32 - 1.0) * 0.5;
        (place - middle) * self.cell * self.scale
    }
}

/// Returns the sides of a map between the centres of its outermost cells, in metres.
fn sides(terrain: &Terrain) -> Vec2 {
    Vec2::new(terrain.width() as f32 - 1.0, terrain.height() as f32 - 1.0).max(Vec2::ONE) * terrain.cell_size
}

/// Returns the direction towards the sun in world space: x along columns, z along rows, y up.
pub(super) fn towards_sun(look: &Look) -> Vec3 {
    let [along_columns, along_rows, up] = look.towards_sun();
    Vec3::new(along_columns, up, along_rows)
}

/// Returns the factor on distances in haze. A narrow field of view moves the camera away without making it hazier.
fn haze_distance_factor(look: &Look) -> f32 {
    let fresh = Look::default().field_of_view;
    let [lens, usual] = [look.field_of_view, fresh].map(|degrees| (0.5 * degrees.to_radians()).tan());
    (lens / usual).min(1.0)
}

/// Returns the fraction of light lost in haze, corrected for the field of view.
fn haze(look: &Look) -> f32 {
    1.0 - (1.0 - look.fog).powf(haze_distance_factor(look))
}

impl SceneUniforms {
    /// `level` is the height in metres that maps to 0, `highest` the highest ground so far, `base` the height of the base of all blocks in
    /// world units.
    pub(super) fn new(
        terrain: &Terrain,
        look: &Look,
        layout: &Layout,
        centre: Vec2,
        (level, highest, base): (f32, f32, f32),
        wind: Option<Weather>,
    ) -> Self {
        let [along_x, along_y] = wind.map_or([1.0, 0.0], |wind| wind.heading);
        let scale = layout.scale;
        let color = |color: [f32; 3]| Color::srgb_from_array(color).to_linear().to_vec4();
        let extent = sides(terrain) * scale;
        let up = scale * look.vertical_exaggeration;
        Self {
            extent: Vec4::new(extent.x, extent.y, up, base),
            grid: Vec4::new(terrain.width() as f32, terrain.height() as f32, scale * terrain.cell_size, level),
            place: Vec4::new(centre.x, centre.y, 0.0, 0.0),
            flat_color: color(look.flat_color),
            steep_color: color(look.steep_color),
            sand_color: color(look.sand_color).truncate().extend((look.sand_cover * terrain.cell_size).min(SAND_HIDES)),
            bedrock_color: color(look.bedrock_color),
            ground_plane_color: color(look.table_color).truncate().extend(relief::spread(look)),
            ground: Vec4::new(look.steep_threshold, look.threshold_softness, look.occlusion, haze(look)),
            sun: towards_sun(look).extend(look.sun_strength),
            phong: Vec4::new(look.ambient, look.specular, look.shininess, look.vertical_exaggeration),
            air: Vec4::new(look.turbidity, look.exposure.exp2(), look.grain, SIDE),
            wind: Vec4::new(along_x, along_y, if wind.is_some() { look.ripples } else { 0.0 }, 0.0),
            brush: Vec4::ZERO,
            stroke: Vec4::ZERO,
            marks: Vec4::ZERO,
            surface: Vec4::new(
                if f64::from(look.snow_line) < NO_SNOW { (look.snow_line - level) * up } else { 1e9 },
                (SNOW_FADES * SIDE).min(SNOW_FADES_WITHIN * up),
                look.contours,
                look.detail,
            ),
            country: Vec4::new(
                f32::from(u8::from(look.background == Backdrop::Sky)),
                look.grid * scale,
                look.traces,
                haze_distance_factor(look),
            ),
            life: Vec4::new(look.vegetation, look.glitter, look.cloud_shadows, look.woods),
            ramp_by: Vec4::new(
                f32::from(u8::from(look.color_by == ColorSource::Ramp)),
                f32::from(look.ramp_along as u8),
                f32::from(look.ramp_across as u8),
                1.0 / ((highest - level).max(1e-3) * up),
            ),
            ramp: look.ramp().map(color),
            cut: Vec4::ZERO,
        }
    }

    /// Returns the uniforms with a brush ring.
    pub(super) fn with_ring(mut self, terrain: &Terrain, ring: &BrushRing, brush: &Brush) -> Self {
        let cell = |[x, y]: [f32; 2]| [x * terrain.width() as f32 - 0.5, y * terrain.height() as f32 - 0.5];
        let ([x, y], [from_x, from_y]) = (cell(ring.place), cell(ring.from.unwrap_or(ring.place)));
        let [source_x, source_y] = ring.source.map_or([NOWHERE; 2], cell);
        let symmetry = if ring.tool.has("symmetry") { brush.symmetry } else { Symmetry::Off };
        let [across, down] = symmetry.axes().map(|turns| f32::from(u8::from(turns)));
        let lowers = ring.inverted != (ring.tool == Tool::Lower);
        self.brush = Vec4::new(x, y, brush.radius_in_cells(terrain), brush.falloff.number());
        self.stroke = Vec4::new(from_x, from_y, if lowers { 1.0 } else { 0.0 }, brush.strength);
        self.marks = Vec4::new(across, down, source_x, source_y);
        self
    }

    /// Returns position, extent and vertical scale.
    pub(super) fn shape(&self) -> [f32; 5] {
        [self.place.x, self.place.y, self.extent.x, self.extent.y, self.extent.z]
    }

    /// Returns world units per metre, horizontally.
    pub(super) fn scale(&self) -> f32 {
        self.extent.z / self.phong.w.max(1e-9)
    }

    pub(super) fn has_ring(&self) -> bool {
        self.brush.z > 0.0
    }

    /// `true` if clouds cast shadows.
    pub(super) fn has_clouds(&self) -> bool {
        self.life.z > 0.0
    }

    /// `true` if the wind forms ripples on sand.
    pub(super) fn has_ripples(&self) -> bool {
        self.wind.z > 0.0
    }

    /// `true` if a colour ramp colours the ground.
    pub(super) fn has_ramp(&self) -> bool {
        self.ramp_by.x > 0.5
    }

    /// `true` if woods are drawn.
    pub(super) fn has_woods(&self) -> bool {
        self.life.w > 0.0 && !self.has_ramp()
    }

    /// `true` if sand glitters.
    pub(super) fn has_glitter(&self) -> bool {
        self.life.y > 0.0
    }

    /// `true` if contour lines are drawn.
    pub(super) fn has_contours(&self) -> bool {
        self.surface.z > 0.0
    }

    /// `true` if a grid is drawn.
    pub(super) fn has_grid(&self) -> bool {
        self.country.y > 0.0
    }

    /// `true` if the block is drawn on one side of the divider only.
    pub(super) fn is_split(&self) -> bool {
        self.place.z != 0.0
    }

    /// Restricts drawing to one side of a divider at `share` of the view width: -1 is left, 1 right, 0 both.
    pub(super) fn beside(mut self, side: f32, share: f32) -> Self {
        (self.place.z, self.place.w) = (side, share);
        self
    }

    /// Moves the block out of view.
    pub(super) fn hidden(mut self) -> Self {
        self.place.x = FAR_AWAY;
        self
    }

    /// Cuts the block open along a line given as fractions of the map's sides.
    pub(super) fn cut_along(mut self, ends: [[f32; 2]; 2]) -> Self {
        let [from, to] = ends.map(|[x, y]| self.world(x * self.grid.x - 0.5, y * self.grid.y - 0.5, 0.0).xz());
        if let Some(along) = (to - from).try_normalize() {
            let normal = along.perp();
            self.cut = Vec4::new(normal.x, normal.y, normal.dot(from), 1.0);
        }
        self
    }

    /// `true` if the block is cut open.
    pub(super) fn is_cut(&self) -> bool {
        self.cut.w > 0.0
    }

    /// Returns the point where a ray leaves the removed part, `near` without a cut, or `None` if it never leaves it.
    pub(super) fn behind_cut(&self, near: Vec3, far: Vec3) -> Option<Vec3> {
        if !self.is_cut() {
            return Some(near);
        }
        let [from, to] = [near, far].map(|place| place.xz().dot(self.cut.xy()) - self.cut.z);
        let share = from / (from - to);
        (share.is_finite() && share > 0.0).then(|| near + share * (far - near))
    }

    /// Returns column and row where the cut enters the map and where it leaves it, or `None` if it misses the map.
    pub(super) fn cut_line(&self, ends: [[f32; 2]; 2]) -> Option<Vec4> {
        let last = self.grid.xy() - 1.0;
        let [from, to] = ends.map(|end| Vec2::from_array(end) * self.grid.xy() - 0.5);
        let displacement = to - from;
        let (mut first, mut end) = (f32::NEG_INFINITY, f32::INFINITY);
        for axis in 0..2 {
            if displacement[axis] == 0.0 {
                if from[axis] < 0.0 || from[axis] > last[axis] {
                    return None;
                }
                continue;
            }
            let [one, other] = [0.0, last[axis]].map(|border| (border - from[axis]) / displacement[axis]);
            (first, end) = (first.max(one.min(other)), end.min(one.max(other)));
        }
        let [begin, stop] = [first, end].map(|share| from + share * displacement);
        (first < end && end.is_finite()).then(|| Vec4::new(begin.x, begin.y, stop.x, stop.y))
    }

    /// Returns the world position of column and row between cell centres and a height in metres.
    pub(super) fn world(&self, column: f32, row: f32, height: f32) -> Vec3 {
        let share = |cell: f32, cells: f32| cell / (cells - 1.0).max(1.0) - 0.5;
        Vec3::new(
            self.place.x + share(column, self.grid.x) * self.extent.x,
            (height - self.grid.w) * self.extent.z,
            self.place.y + share(row, self.grid.y) * self.extent.y,
        )
    }

    /// Returns column and row between cell centres, and the height in metres, of a world position.
    pub(super) fn on_map(&self, place: Vec3) -> [f64; 3] {
        let share = |place: f32, centre: f32, extent: f32| f64::from(place - centre) / f64::from(extent) + 0.5;
        [
            share(place.x, self.place.x, self.extent.x) * f64::from(self.grid.x - 1.0),
            share(place.z, self.place.y, self.extent.y) * f64::from(self.grid.y - 1.0),
            f64::from(place.y) / f64::from(self.extent.z) + f64::from(self.grid.w),
        ]
    }

    /// Returns the bounds of the block for its highest point in metres.
    pub(super) fn bounds(&self, highest: f32) -> BlockBounds {
        BlockBounds {
            cells: UVec2::new(self.grid.x as u32, self.grid.y as u32),
            centre: self.place.xy(),
            extent: self.extent.xy(),
            heights: [self.extent.w, self.extent.w + self.height_above_base(highest).max(0.0)],
        }
    }

    /// Returns the height above the base of the block, in world units.
    pub(super) fn height_above_base(&self, metres: f32) -> f32 {
        (metres - self.grid.w) * self.extent.z - self.extent.w
    }

    /// Returns the eye height in world units: `metres`, but at least `cells` cell sizes.
    pub(super) fn eye(&self, metres: f32, cells: f32) -> f32 {
        (metres * self.extent.z).max(cells * self.grid.z)
    }

    /// Returns the height of the base of the block, in world units.
    pub(super) fn base_height(&self) -> f32 {
        self.extent.w
    }

    /// Returns centre and half extents of the block.
    pub(super) fn footprint(&self) -> Vec4 {
        Vec4::new(self.place.x, self.place.y, 0.5 * self.extent.x, 0.5 * self.extent.y)
    }
}

/// Numbers of a single session, for tests.
#[cfg(test)]
pub(super) fn alone(session: &Session) -> SceneUniforms {
    let terrain = &session.simulation.terrain;
    let layout = Layout::new(std::slice::from_ref(session));
    let (lowest, highest) = terrain.start.min_max();
    SceneUniforms::new(terrain, &Look::default(), &layout, Vec2::ZERO, (lowest, highest, -10.0), None)
}

/// Returns the maximum height of the base of a block in world units, if its lowest ground is `lowest` metres above that of the start.
pub(super) fn max_base_height(terrain: &Terrain, look: &Look, layout: &Layout, lowest: f32) -> f32 {
    let side = sides(terrain).min_element() * layout.scale;
    lowest.min(0.0) * layout.scale * look.vertical_exaggeration - look.base * side
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_scene::{io::scene, model::origin::Options};

    #[test]
    fn twenty_blocks_are_laid_out_in_four_rows() {
        let options = Options { size: Some((32, 32)), ..Options::default() };
        let sessions = scene::open("ten-seeds", &options).expect("built in");
        let layout = Layout::new(&sessions);
        assert_eq!((layout.columns, layout.rows), (5, 4));
        let half = sides(&sessions[0].simulation.terrain) * layout.scale * 0.5;
        for a in 0..20 {
            assert!((layout.centre(a).abs() + half).length() <= SIDE * 0.7072, "block {a} leaves the circle");
            for b in 0..a {
                let apart = (layout.centre(a) - layout.centre(b)).abs();
                assert!(apart.x > 2.0 * half.x || apart.y > 2.0 * half.y, "blocks {a} and {b} touch");
            }
        }
    }
}
