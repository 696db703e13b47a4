//! Overlay: the displayed quantity with its values and range, and the flow arrows.

use bevy::prelude::*;
use colorgrad::Gradient;
use rayon::prelude::*;

use super::{AppCommandEvent, Brushes, FrameSystems, ProjectReplaced, Revision, Simulations};
use thalweg_scene::model::session::Session;
use thalweg_sim::{
    core::{
        grid::Grid,
        quantity::{ColorScale, Quantity},
        terrain::Layer,
    },
    edit::Tool,
    simulation::quantities::Difference,
};

/// Weight of the last tick in the moving average of the discharge.
const NEWEST: f32 = 0.02;
/// Minimum number of cells in the sample that determines the range.
const SAMPLE: usize = 20_000;
/// Number of non-zero values below which all cells are examined.
const FEW: usize = 64;
/// Fraction of cells that may exceed the range, and fraction of wet cells that may exceed the speed of the longest arrow.
const ABOVE: f64 = 0.005;
const FASTER: f64 = 0.1;

/// Opacity of the water over the changes of a stage, relative to its look.
const THIN_WATER: f32 = 0.35;

/// Number of cells along the shorter side per cell of widening of rivers on either side.
const CELLS_PER_RIVER: usize = 384;

/// Colours of classes: the light scheme of Paul Tol's technical note on colour schemes (2021), suitable for colour-blind users.
const CLASSES: [[u8; 3]; 9] = [
    [119, 170, 221],
    [238, 136, 102],
    [238, 221, 136],
    [68, 187, 153],
    [255, 170, 187],
    [187, 204, 51],
    [153, 221, 255],
    [170, 170, 0],
    [221, 221, 221],
];

/// Overlay of all simulations.
#[derive(Resource, Clone, Debug, Default)]
pub struct Overlay {
    /// Displayed quantity, if any.
    pub shown: Option<Quantity>,
    /// `true` if arrows show the flow of the water, or of the droplets if their discharge is displayed.
    pub arrows: bool,
    /// Minimum and maximum of the colour scale; decimal logarithms on a logarithmic scale.
    pub range: (f32, f32),
    /// `true` for the lower and the upper end of the range if values lie beyond it.
    pub clipped: [bool; 2],
    /// Speed of the longest arrow in m/s, or discharge in m² for arrows of droplets.
    pub fastest: f32,
    /// Values of the quantity in every simulation, or their decimal logarithms; empty without a quantity.
    pub values: Vec<Grid>,
    /// Difference of each simulation from the first, if displayed; `None` for maps of different sizes.
    pub differences: Vec<Option<Difference>>,
    /// `true` if the mask is not tinted while a brush is active.
    pub hides_mask: bool,
    /// Velocities of the water in every simulation that has moving water.
    pub flows: Vec<Option<[Grid; 2]>>,
    /// Previous quantity, for toggling.
    before: Option<Quantity>,
    /// Quantity displayed because of the active brush, and the one it replaced.
    brought: Option<(Quantity, Option<Quantity>)>,
    /// Visibility of the arrows before the changes of a stage were displayed, if they are because stages run one by one in the
    /// Learn workspace.
    by_stages: Option<bool>,
    seen: Option<(Revision, Option<Quantity>, bool, f32)>,
    /// Number of ticks in the averages.
    ticks: u64,
}

/// Command of the overlay.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum OverlayCommand {
    /// Displays a quantity, or none.
    Show(Option<Quantity>),
    /// Toggles between the last quantity and none.
    Toggle,
    /// Shows or hides flow arrows.
    ToggleArrows,
    /// Shows or hides the mask while a brush is active.
    ToggleMask,
}

impl AppCommandEvent for OverlayCommand {}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Overlay>()
        .add_observer(handle_command)
        .add_observer(clear)
        .add_systems(
            Update,
            follow_brush
                .after(super::execute_commands)
                .before(super::bookmarks::stop_without_keyframes)
                .in_set(FrameSystems::Execute),
        )
        .add_systems(Update, follow_ticks.in_set(FrameSystems::Follow));
}

fn handle_command(command: On<OverlayCommand>, mut overlay: ResMut<Overlay>) {
    match command.event() {
        OverlayCommand::Show(quantity) => overlay.show(*quantity),
        OverlayCommand::Toggle => overlay.toggle(),
        OverlayCommand::ToggleArrows => overlay.arrows = !overlay.arrows,
        OverlayCommand::ToggleMask => overlay.hides_mask = !overlay.hides_mask,
    }
}

/// Resets the overlay, which belongs to the previous project.
fn clear(replaced: On<ProjectReplaced>, mut overlay: ResMut<Overlay>) {
    if replaced.opened {
        overlay.show(None);
        (overlay.arrows, overlay.by_stages) = (false, None);
    }
}

impl Overlay {
    /// Returns `true` if values or arrows are displayed.
    pub fn has_values_or_arrows(&self) -> bool {
        self.shown.is_some() || self.arrows
    }

    /// Returns the opacity of the water relative to its look. Overlays hide it, but the changes of a stage show through, as most of
    /// them concern the water itself.
    pub fn water_opacity(&self) -> f32 {
        match self.shown {
            Some(Quantity::StageChange) => THIN_WATER,
            _ if self.has_values_or_arrows() => 0.0,
            _ => 1.0,
        }
    }

    /// Displays the changes of a stage unless another quantity is displayed, and arrows if the stage changed the flow.
    pub(super) fn show_stage(&mut self, changes_flow: bool) {
        if self.shown.is_none() {
            self.show(Some(Quantity::StageChange));
            self.by_stages = self.by_stages.or(Some(self.arrows));
        }
        self.arrows |= changes_flow && self.by_stages.is_some();
    }

    /// Returns `true` if masked terrain is tinted: while a brush is active, unless the overlay shows the mask itself.
    pub fn tints_mask(&self, brushes: &Brushes, simulations: &Simulations) -> bool {
        brushes.active.is_some()
            && !self.hides_mask
            && self.shown != Some(Quantity::Layer(Layer::Mask))
            && simulations.all().iter().any(|session| session.simulation.terrain.mask.is_some())
    }

    /// Returns `true` if arrows show the flow of droplets instead of water.
    pub fn arrows_are_of_streams(&self) -> bool {
        self.arrows && self.shown == Some(Quantity::StreamDischarge)
    }

    /// Returns the minimum depth of water with an arrow, in metres, given the minimum depth that is drawn.
    pub fn film(&self, film: f32) -> f32 {
        if self.arrows_are_of_streams() { 0.0 } else { film }
    }

    /// Returns the colour at a fraction of the range, as linear RGB.
    pub fn color(scale: ColorScale, share: f32) -> [f32; 3] {
        if scale == ColorScale::Classes {
            let color = CLASSES[(share * (CLASSES.len() - 1) as f32).round() as usize % CLASSES.len()];
            return Color::srgb_u8(color[0], color[1], color[2]).to_linear().to_vec3().to_array();
        }
        let [red, green, blue, _] = match scale {
            ColorScale::AroundZero => colorgrad::preset::pu_or().at(1.0 - share).to_linear_rgba(),
            // Skips the dark end, which is hard to see in the shadow of a valley.
            ColorScale::Logarithmic => colorgrad::preset::viridis().at(0.35 + 0.65 * share).to_linear_rgba(),
            _ => colorgrad::preset::viridis().at(share).to_linear_rgba(),
        };
        [red, green, blue]
    }

    /// Toggles between the last quantity and none.
    pub(super) fn toggle(&mut self) {
        self.show(if self.shown.is_some() { None } else { self.before.or(Some(Quantity::Layer(Layer::Water))) });
    }

    /// Displays another quantity, or none.
    pub(crate) fn show(&mut self, quantity: Option<Quantity>) {
        let brought = self.brought.is_some_and(|(brought, _)| self.shown == Some(brought));
        if !brought {
            self.before = self.shown.or(self.before);
        }
        self.put(quantity);
    }

    /// Displays a quantity that the user did not select, which toggling does not restore.
    fn put(&mut self, quantity: Option<Quantity>) {
        self.shown = quantity;
        self.range = (0.0, 0.0);
        self.values.clear();
    }

    /// Updates the values of every simulation. Discharge is averaged over time.
    fn measure(&mut self, simulations: &Simulations, from_cells: f32, continues: bool) {
        let Some(quantity) = self.shown else { return };
        let first = &simulations.all()[0].simulation;
        self.differences.clear();
        let differences = &mut self.differences;
        let now = simulations.all().iter().map(|session| {
            let simulation = &session.simulation;
            if quantity != Quantity::Difference {
                return simulation.quantity(quantity);
            }
            let (difference, numbers) = simulation.difference_to(first).unzip();
            differences.push(numbers);
            difference.unwrap_or_else(|| simulation.quantity(quantity))
        });
        let ticks = simulations.ticks().saturating_sub(std::mem::replace(&mut self.ticks, simulations.ticks()));
        if quantity == Quantity::Discharge && continues && self.values.len() == simulations.all().len() {
            let weight = 1.0 - (1.0 - NEWEST).powi(ticks.min(1000) as i32);
            for (mean, now) in self.values.iter_mut().zip(now) {
                if mean.len() == now.len() {
                    mean.iter_mut().zip(now.iter()).for_each(|(mean, now)| *mean += weight * (now - *mean));
                } else {
                    *mean = now;
                }
            }
        } else {
            self.values = now.collect();
        }
        self.range = match quantity.scale() {
            ColorScale::UpTo(most) => (0.0, most),
            ColorScale::Classes => (0.0, (CLASSES.len() - 1) as f32),
            ColorScale::Logarithmic => {
                // Zero has no logarithm.
                let least = simulations
                    .all()
                    .iter()
                    .map(|session| session.simulation.terrain.cell_area())
                    .fold(f64::MAX, f64::min);
                let least = (least * f64::from(from_cells)).log10() as f32;
                for grid in &mut self.values {
                    grid.par_iter_mut().for_each(|value| *value = value.log10().max(least));
                    // A river of a single cell would be invisible.
                    (0..grid.width().min(grid.height()).div_ceil(CELLS_PER_RIVER)).for_each(|_| widen(grid));
                }
                let most = self.values.iter().map(|grid| grid.min_max().1).fold(least + 1.0, f32::max);
                (least, most)
            }
            scale => {
                // Zeros do not affect the range.
                let sizes = |step: fn(&Grid) -> usize| -> Vec<f32> {
                    let sample = self.values.iter().flat_map(|grid| grid.iter().step_by(step(grid)));
                    sample.map(|value| value.abs()).filter(|size| *size != 0.0).collect()
                };
                let mut sample = sizes(|grid| (grid.len() / SAMPLE).max(1));
                // A single droplet changes few cells.
                if sample.len() < FEW {
                    sample = sizes(|_| 1);
                }
                let most = follow(self.range.1, largest(sample, ABOVE));
                (if scale == ColorScale::AroundZero { -most } else { 0.0 }, most)
            }
        };
        let ends = self.values.iter().map(Grid::min_max);
        let (least, most) =
            ends.fold((0.0_f32, 0.0_f32), |(least, most), (low, high)| (least.min(low), most.max(high)));
        self.clipped = [least < self.range.0, most > self.range.1];
    }
}

/// Displays the map that the active brush paints, until the brush is deactivated.
fn follow_brush(brushes: Res<Brushes>, mut overlay: ResMut<Overlay>, mut seen: Local<Option<Tool>>) {
    if std::mem::replace(&mut *seen, brushes.active) == brushes.active {
        return;
    }
    let painted = brushes.active.and_then(|tool| match tool {
        Tool::Rain => Some(Quantity::Layer(Layer::Rain)),
        Tool::Softness => Some(Quantity::Layer(Layer::Softness)),
        Tool::Uplift => Some(Quantity::Layer(Layer::Uplift)),
        Tool::Mask => Some(Quantity::Layer(Layer::Mask)),
        _ => None,
    });
    if let Some((brought, before)) = overlay.brought.take()
        && overlay.shown == Some(brought)
    {
        overlay.put(before);
    }
    if painted.is_some_and(|painted| overlay.shown != Some(painted)) {
        overlay.brought = painted.map(|painted| (painted, overlay.shown));
        overlay.put(painted);
    }
}

/// Updates the overlay after a tick.
pub(crate) fn follow_ticks(simulations: Res<Simulations>, revision: Res<Revision>, mut overlay: ResMut<Overlay>) {
    let from_cells = simulations.selected().rivers.from_cells;
    let is_whole = simulations.between_ticks() && simulations.selected().simulation.stage_changes().is_none();
    if is_whole && let Some(arrows) = overlay.by_stages {
        (overlay.arrows, overlay.by_stages) = (arrows, None);
        if overlay.shown == Some(Quantity::StageChange) {
            overlay.put(None);
        }
    }
    let now = (*revision, overlay.shown, overlay.arrows, from_cells);
    // Sliders and switches also change values between ticks.
    if (overlay.seen == Some(now) && !simulations.is_changed()) || !simulations.is_displayable() {
        return;
    }
    let continues =
        overlay.seen.is_some_and(|(seen, shown, ..)| seen.start == revision.start && shown == overlay.shown);
    overlay.seen = Some(now);
    overlay.measure(&simulations, from_cells, continues);
    let wanted = overlay.arrows || simulations.selected().water_look.shown;
    let streams = overlay.arrows_are_of_streams();
    let flow = |session: &Session| {
        let simulation = &session.simulation;
        if streams { simulation.momentum() } else { wanted.then(|| simulation.velocity()).flatten() }
    };
    overlay.flows = simulations.all().iter().map(flow).collect();
    if overlay.arrows {
        let film = overlay.film(simulations.selected().water_look.film);
        let speeds = simulations.all().iter().zip(&overlay.flows).flat_map(|(session, flow)| {
            let depths = session.simulation.terrain.water.iter();
            let flow = flow.iter().flat_map(|[u, v]| u.iter().zip(v.iter()));
            flow.zip(depths).filter(|(_, depth)| **depth >= film).map(|((u, v), _)| u.hypot(*v))
        });
        let fastest = largest(speeds.collect(), FASTER);
        overlay.fastest = follow(overlay.fastest, fastest);
    }
}

/// Dilates the grid: every cell gets the maximum of its own value and its four neighbours.
fn widen(grid: &mut Grid) {
    let before = grid.clone();
    let (width, height) = (grid.width(), grid.height());
    grid.par_chunks_mut(width.max(1)).enumerate().for_each(|(y, row)| {
        let rows = [y.saturating_sub(1), (y + 1).min(height - 1)];
        for (x, value) in row.iter_mut().enumerate() {
            let beside = [before.at(x.saturating_sub(1), y), before.at((x + 1).min(width - 1), y)];
            let across = rows.map(|row| before.at(x, row));
            *value = beside.into_iter().chain(across).fold(*value, f32::max);
        }
    });
}

/// Returns the size that this fraction of the values exceeds.
fn largest(mut sizes: Vec<f32>, above: f64) -> f32 {
    if sizes.is_empty() {
        return 0.0;
    }
    let place = ((sizes.len() - 1) as f64 * (1.0 - above)) as usize;
    *sizes.select_nth_unstable_by(place, f32::total_cmp).1
}

/// Returns the end of a scale that includes `largest`: 1, 2 or 5 times a power of ten. It only shrinks if far less is needed, so
/// that colours remain stable.
fn follow(before: f32, largest: f32) -> f32 {
    if largest <= before && largest > 0.2 * before {
        return before;
    }
    let power = 10.0_f32.powf(largest.max(1e-3).log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|step| step * power).into_iter().find(|end| *end >= largest).unwrap_or(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlay_scale_rounds_up_with_hysteresis() {
        assert_eq!(follow(0.0, 3.2), 5.0);
        assert_eq!(follow(5.0, 1.1), 5.0);
        assert_eq!(follow(5.0, 0.9), 1.0);
        assert_eq!(follow(5.0, 5.1), 10.0);
        assert!(follow(0.0, 0.0) > 0.0);
    }

    #[test]
    fn diverging_colormap_is_pale_in_the_middle() {
        let [low, middle, high] = [0.0, 0.5, 1.0].map(|share| Overlay::color(ColorScale::AroundZero, share));
        assert!(low[0] > low[2] && high[2] > high[0] || low[2] > low[0] && high[0] > high[2]);
        assert!(middle.iter().all(|part| *part > 0.8));
    }
}
