//! The numbers that the shaders see, made from terrain and look, and where each block stands.

use bevy::{prelude::*, render::render_resource::ShaderType};

use super::{SIDE, levels::Land, relief};
use crate::world::BrushRing;
use thalweg_scene::{
    look::{Background, ColorBy, Look, NO_SNOW},
    model::session::Session,
};
use thalweg_sim::{
    core::terrain::Terrain,
    edit::{Brush, Symmetry, Tool},
    process::wind::Weather,
};

/// Room between blocks, as a share of a block's longer side.
const GAP: f32 = 0.14;

/// Over so much height snow becomes closed, as a share of [`SIDE`].
const SNOW_FADES: f32 = 0.022;
/// And in metres, at most.
const SNOW_FADES_WITHIN: f32 = 200.0;

/// Sand thicker than this, in metres, hides the ground beneath, however large the cells.
const SAND_HIDES: f32 = 4.0;

/// A column and a row that lie on no map.
const NOWHERE: f32 = -1e9;
/// Where a block stands that is not to be seen, in world units.
const FAR_AWAY: f32 = 1e4 * SIDE;

/// `Scene` in `shaders/lib/scene.wgsl` is its twin.
#[derive(ShaderType, Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SceneNumbers {
    extent: Vec4,
    grid: Vec4,
    pub place: Vec4,
    flat_color: Vec4,
    steep_color: Vec4,
    sand_color: Vec4,
    bedrock_color: Vec4,
    table_color: Vec4,
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

/// Where blocks stand: together they fill a circle of the same size, however many there are.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    columns: usize,
    rows: usize,
    /// Sides of a block's place with the gap, in metres.
    cell: Vec2,
    /// World units per metre across the map. Heights have it times the vertical exaggeration.
    pub(super) scale: f32,
}

impl Layout {
    /// Each session in a place of its own.
    pub(super) fn new(sessions: &[Session]) -> Self {
        Self::with_places(sessions, sessions.len().max(1))
    }

    /// All sessions on one place.
    pub(super) fn stacked(sessions: &[Session]) -> Self {
        Self::with_places(sessions, 1)
    }

    fn with_places(sessions: &[Session], count: usize) -> Self {
        let sides = sessions.iter().map(|session| sides(&session.simulation.terrain));
        let cell = sides.fold(Vec2::splat(f32::MIN_POSITIVE), Vec2::max);
        // As many columns as leave the fewest empty places and make the whole not quite twice as wide as deep.
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

    /// Centre of a block on the table, in world units.
    pub(super) fn centre(&self, index: usize) -> Vec2 {
        let place = Vec2::new((index % self.columns) as f32, (index / self.columns) as f32);
        let middle = Vec2::new(self.columns as f32 - 1.0, self.rows as f32 - 1.0) * 0.5;
        (place - middle) * self.cell * self.scale
    }
}

/// Sides of a map between the centres of its outermost cells, in metres.
fn sides(terrain: &Terrain) -> Vec2 {
    Vec2::new(terrain.width() as f32 - 1.0, terrain.height() as f32 - 1.0).max(Vec2::ONE) * terrain.cell_size
}

/// Towards the sun in world space: x along columns, z along rows, y up.
pub(super) fn towards_sun(look: &Look) -> Vec3 {
    let [along_columns, along_rows, up] = look.towards_sun();
    Vec3::new(along_columns, up, along_rows)
}

/// Factor on distances in the haze. With a small field of view the camera stands far away, and sees as clearly as with the usual one.
fn nearer(look: &Look) -> f32 {
    let fresh = Look::default().field_of_view;
    let [lens, usual] = [look.field_of_view, fresh].map(|degrees| (0.5 * degrees.to_radians()).tan());
    (lens / usual).min(1.0)
}

/// The share of light that the air takes away, with that factor.
fn haze(look: &Look) -> f32 {
    1.0 - (1.0 - look.fog).powf(nearer(look))
}

impl SceneNumbers {
    /// `level` is the height in metres that lies at 0, `highest` that of the highest place so far, `foot` the height of the blocks' common
    /// foot, in world units.
    pub(super) fn new(
        terrain: &Terrain,
        look: &Look,
        layout: &Layout,
        centre: Vec2,
        (level, highest, foot): (f32, f32, f32),
        wind: Option<Weather>,
    ) -> Self {
        let [along_x, along_y] = wind.map_or([1.0, 0.0], |wind| wind.heading);
        let scale = layout.scale;
        let color = |color: [f32; 3]| Color::srgb_from_array(color).to_linear().to_vec4();
        let extent = sides(terrain) * scale;
        let up = scale * look.vertical_exaggeration;
        Self {
            extent: Vec4::new(extent.x, extent.y, up, foot),
            grid: Vec4::new(terrain.width() as f32, terrain.height() as f32, scale * terrain.cell_size, level),
            place: Vec4::new(centre.x, centre.y, 0.0, 0.0),
            flat_color: color(look.flat_color),
            steep_color: color(look.steep_color),
            sand_color: color(look.sand_color).truncate().extend((look.sand_cover * terrain.cell_size).min(SAND_HIDES)),
            bedrock_color: color(look.bedrock_color),
            table_color: color(look.table_color).truncate().extend(relief::spread(look)),
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
                f32::from(u8::from(look.background == Background::Sky)),
                look.grid * scale,
                look.traces,
                nearer(look),
            ),
            life: Vec4::new(look.lushness, look.glitter, look.cloud_shadows, look.woods),
            ramp_by: Vec4::new(
                f32::from(u8::from(look.color_by == ColorBy::Ramp)),
                f32::from(look.ramp_along as u8),
                f32::from(look.ramp_across as u8),
                1.0 / ((highest - level).max(1e-3) * up),
            ),
            ramp: look.ramp().map(color),
            cut: Vec4::ZERO,
        }
    }

    /// With a brush's ring on it.
    pub(super) fn with_ring(mut self, terrain: &Terrain, ring: &BrushRing, brush: &Brush) -> Self {
        let cell = |[x, y]: [f32; 2]| [x * terrain.width() as f32 - 0.5, y * terrain.height() as f32 - 0.5];
        let ([x, y], [from_x, from_y]) = (cell(ring.place), cell(ring.from.unwrap_or(ring.place)));
        let [source_x, source_y] = ring.source.map_or([NOWHERE; 2], cell);
        let symmetry = if ring.tool.has("symmetry") { brush.symmetry } else { Symmetry::Off };
        let [across, down] = symmetry.turns().map(|turns| f32::from(u8::from(turns)));
        let lowers = ring.inverted != (ring.tool == Tool::Lower);
        self.brush = Vec4::new(x, y, brush.cells(terrain), brush.falloff.number());
        self.stroke = Vec4::new(from_x, from_y, if lowers { 1.0 } else { 0.0 }, brush.strength);
        self.marks = Vec4::new(across, down, source_x, source_y);
        self
    }

    /// Where it stands, how large it is, and how high a metre is drawn.
    pub(super) fn shape(&self) -> [f32; 5] {
        [self.place.x, self.place.y, self.extent.x, self.extent.y, self.extent.z]
    }

    /// World units per metre across the map.
    pub(super) fn scale(&self) -> f32 {
        self.extent.z / self.phong.w.max(1e-9)
    }

    pub(super) fn has_ring(&self) -> bool {
        self.brush.z > 0.0
    }

    /// Whether clouds shade the land.
    pub(super) fn has_clouds(&self) -> bool {
        self.life.z > 0.0
    }

    /// Whether the wind makes ripples on sand.
    pub(super) fn has_ripples(&self) -> bool {
        self.wind.z > 0.0
    }

    /// Whether a ramp gives the ground its colours.
    pub(super) fn has_ramp(&self) -> bool {
        self.ramp_by.x > 0.5
    }

    /// Whether there are woods.
    pub(super) fn has_woods(&self) -> bool {
        self.life.w > 0.0 && !self.has_ramp()
    }

    /// Whether sand glitters.
    pub(super) fn has_glitter(&self) -> bool {
        self.life.y > 0.0
    }

    /// Whether there are contour lines.
    pub(super) fn has_contours(&self) -> bool {
        self.surface.z > 0.0
    }

    /// Whether there is a grid.
    pub(super) fn has_grid(&self) -> bool {
        self.country.y > 0.0
    }

    /// Whether it is drawn on one side of the divider alone.
    pub(super) fn is_split(&self) -> bool {
        self.place.z != 0.0
    }

    /// Drawn only on one side of a share of the picture's width: -1 left of it, 1 right of it.
    pub(super) fn beside(mut self, side: f32, share: f32) -> Self {
        (self.place.z, self.place.w) = (side, share);
        self
    }

    /// Out of sight.
    pub(super) fn hidden(mut self) -> Self {
        self.place.x = FAR_AWAY;
        self
    }

    /// Cut open along a line, given as shares of the map's sides.
    pub(super) fn cut_along(mut self, ends: [[f32; 2]; 2]) -> Self {
        let [from, to] = ends.map(|[x, y]| self.world(x * self.grid.x - 0.5, y * self.grid.y - 0.5, 0.0).xz());
        if let Some(along) = (to - from).try_normalize() {
            let normal = along.perp();
            self.cut = Vec4::new(normal.x, normal.y, normal.dot(from), 1.0);
        }
        self
    }

    /// Whether it is cut open.
    pub(super) fn is_cut(&self) -> bool {
        self.cut.w > 0.0
    }

    /// Where the line of sight through two places leaves what was taken away, or where it begins if nothing was; nothing if it never does.
    pub(super) fn behind_cut(&self, near: Vec3, far: Vec3) -> Option<Vec3> {
        if !self.is_cut() {
            return Some(near);
        }
        let [from, to] = [near, far].map(|place| place.xz().dot(self.cut.xy()) - self.cut.z);
        let share = from / (from - to);
        (share.is_finite() && share > 0.0).then(|| near + share * (far - near))
    }

    /// Column and row where the line of the cut enters the map, and where it leaves it; nothing if it misses the map.
    pub(super) fn cut_line(&self, ends: [[f32; 2]; 2]) -> Option<Vec4> {
        let last = self.grid.xy() - 1.0;
        let [from, to] = ends.map(|end| Vec2::from_array(end) * self.grid.xy() - 0.5);
        let way = to - from;
        let (mut first, mut end) = (f32::NEG_INFINITY, f32::INFINITY);
        for axis in 0..2 {
            if way[axis] == 0.0 {
                if from[axis] < 0.0 || from[axis] > last[axis] {
                    return None;
                }
                continue;
            }
            let [one, other] = [0.0, last[axis]].map(|border| (border - from[axis]) / way[axis]);
            (first, end) = (first.max(one.min(other)), end.min(one.max(other)));
        }
        let [begin, stop] = [first, end].map(|share| from + share * way);
        (first < end && end.is_finite()).then(|| Vec4::new(begin.x, begin.y, stop.x, stop.y))
    }

    /// A place in the world: column and row counted between cell centres, height in metres.
    pub(super) fn world(&self, column: f32, row: f32, height: f32) -> Vec3 {
        let share = |cell: f32, cells: f32| cell / (cells - 1.0).max(1.0) - 0.5;
        Vec3::new(
            self.place.x + share(column, self.grid.x) * self.extent.x,
            (height - self.grid.w) * self.extent.z,
            self.place.y + share(row, self.grid.y) * self.extent.y,
        )
    }

    /// Column and row, counted between cell centres, and height in metres of a place in the world.
    pub(super) fn on_map(&self, place: Vec3) -> [f64; 3] {
        let share = |place: f32, centre: f32, extent: f32| f64::from(place - centre) / f64::from(extent) + 0.5;
        [
            share(place.x, self.place.x, self.extent.x) * f64::from(self.grid.x - 1.0),
            share(place.z, self.place.y, self.extent.y) * f64::from(self.grid.y - 1.0),
            f64::from(place.y) / f64::from(self.extent.z) + f64::from(self.grid.w),
        ]
    }

    /// Where the block is drawn, if its highest place is at so many metres.
    pub(super) fn land(&self, highest: f32) -> Land {
        Land {
            cells: UVec2::new(self.grid.x as u32, self.grid.y as u32),
            centre: self.place.xy(),
            extent: self.extent.xy(),
            heights: [self.extent.w, self.extent.w + self.above_foot(highest).max(0.0)],
        }
    }

    /// How far a height in metres lies above the block's foot, in world units.
    pub(super) fn above_foot(&self, metres: f32) -> f32 {
        (metres - self.grid.w) * self.extent.z - self.extent.w
    }

    /// Height of an eye above the ground in world units: so many metres, but so many cells at least.
    pub(super) fn eye(&self, metres: f32, cells: f32) -> f32 {
        (metres * self.extent.z).max(cells * self.grid.z)
    }

    /// Height of the block's foot, in world units.
    pub(super) fn foot(&self) -> f32 {
        self.extent.w
    }

    /// Centre and half sides of the block.
    pub(super) fn footprint(&self) -> Vec4 {
        Vec4::new(self.place.x, self.place.y, 0.5 * self.extent.x, 0.5 * self.extent.y)
    }
}

/// The numbers of a run that stands alone, as tests need them.
#[cfg(test)]
pub(super) fn alone(session: &Session) -> SceneNumbers {
    let terrain = &session.simulation.terrain;
    let layout = Layout::new(std::slice::from_ref(session));
    let (lowest, highest) = terrain.start.min_max();
    SceneNumbers::new(terrain, &Look::default(), &layout, Vec2::ZERO, (lowest, highest, -10.0), None)
}

/// Height at which a block must at least have its foot, in world units, if its lowest ground lies so many metres above
/// that of the start.
pub(super) fn foot(terrain: &Terrain, look: &Look, layout: &Layout, lowest: f32) -> f32 {
    let side = sides(terrain).min_element() * layout.scale;
    lowest.min(0.0) * layout.scale * look.vertical_exaggeration - look.base * side
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_scene::{io::scene, model::origin::Options};

    #[test]
    fn twenty_blocks_stand_in_four_rows_apart_and_within_the_circle_of_one() {
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
