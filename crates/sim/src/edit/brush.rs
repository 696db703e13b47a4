//! Brush tools and their parameters.

use bevy_reflect::Reflect;

use crate::{
    core::terrain::{Layer, Terrain},
    params::{choice, knob},
};

const THIS_WORK: &str = "this work";

/// Effect of a brush on the ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// Raises the bedrock.
    Raise,
    /// Lowers the ground: sand first, then bedrock.
    Lower,
    /// Smooths the ground.
    Smooth,
    /// Moves the ground towards its height at the start of the stroke.
    Flatten,
    /// Adds noise to the ground.
    Noise,
    /// Builds a ramp between two points.
    Slope,
    /// Cuts terraces.
    Terrace,
    /// Stamps a relief on the ground.
    Stamp,
    /// Adds sand.
    Sand,
    /// Paints the rain map.
    Rain,
    /// Paints the softness of the bedrock.
    Softness,
    /// Paints the uplift map.
    Uplift,
    /// Paints the mask, which protects from other brushes.
    Mask,
    /// Copies the ground from another place.
    Clone,
    /// Erodes with droplets.
    Erode,
    /// Adds water.
    Water,
}

impl Tool {
    /// All tools, in the order of their shortcuts.
    pub const ALL: [Self; 16] = [
        Self::Raise,
        Self::Lower,
        Self::Smooth,
        Self::Flatten,
        Self::Noise,
        Self::Slope,
        Self::Terrace,
        Self::Stamp,
        Self::Sand,
        Self::Rain,
        Self::Softness,
        Self::Uplift,
        Self::Mask,
        Self::Clone,
        Self::Erode,
        Self::Water,
    ];

    /// Name in the settings.
    pub fn key(self) -> &'static str {
        match self {
            Self::Raise => "raise",
            Self::Lower => "lower",
            Self::Smooth => "smooth",
            Self::Flatten => "flatten",
            Self::Noise => "noise",
            Self::Slope => "slope",
            Self::Terrace => "terrace",
            Self::Stamp => "stamp",
            Self::Sand => "sand",
            Self::Rain => "rain",
            Self::Softness => "softness",
            Self::Uplift => "uplift",
            Self::Mask => "mask",
            Self::Clone => "clone",
            Self::Erode => "erode",
            Self::Water => "water",
        }
    }

    /// Name shown to the user.
    pub fn title(self) -> &'static str {
        match self {
            Self::Raise => "Raise",
            Self::Lower => "Lower",
            Self::Smooth => "Smooth",
            Self::Flatten => "Flatten",
            Self::Noise => "Noise",
            Self::Slope => "Ramp",
            Self::Terrace => "Terrace",
            Self::Stamp => "Stamp",
            Self::Sand => "Sand",
            Self::Rain => "Rain",
            Self::Softness => "Softness",
            Self::Uplift => "Uplift",
            Self::Mask => "Mask",
            Self::Clone => "Clone",
            Self::Erode => "Erode",
            Self::Water => "Pour water",
        }
    }

    /// Tooltip: the tool's effect, and that of Ctrl.
    pub fn about(self) -> &'static str {
        match self {
            Self::Raise => "Raise the bedrock. Ctrl: lower it.",
            Self::Lower => "Remove sand, then bedrock. Ctrl: raise the bedrock.",
            Self::Smooth => "Smooth the ground. Ctrl: sharpen it.",
            Self::Flatten => {
                "Move the ground towards its height at the start of the stroke. Ctrl: move it away from that height."
            }
            Self::Noise => "Add bumps to the ground. Ctrl: invert the bumps.",
            Self::Slope => "Build a ramp: drag from one end to the other.",
            Self::Terrace => "Cut terraces with flat treads. Ctrl: smooth them out.",
            Self::Stamp => {
                "Add a shape to the ground, for example a loaded heightmap. Ctrl: press the shape into the ground instead."
            }
            Self::Sand => "Add sand. Ctrl: remove sand and leave the bedrock.",
            Self::Rain => "Paint the amount of rain. Ctrl: paint no rain.",
            Self::Softness => "Paint the softness of the bedrock. Ctrl: harden it.",
            Self::Uplift => "Paint the rate of uplift. Ctrl: paint no uplift.",
            Self::Mask => "Mask the ground to protect it from other brushes. Ctrl: unmask it.",
            Self::Clone => "Copy the terrain from another place. Ctrl+click: set the source.",
            Self::Erode => {
                "Erode the ground with droplets that rain under the brush, with the parameters of the Droplets panel."
            }
            Self::Water => "Add water, which flows while the Water process is enabled. Ctrl: remove water.",
        }
    }

    /// Layers that it changes.
    pub fn writes(self) -> &'static [Layer] {
        match self {
            Self::Rain => &[Layer::Rain],
            Self::Softness => &[Layer::Softness],
            Self::Uplift => &[Layer::Uplift],
            Self::Mask => &[Layer::Mask],
            Self::Water => &[Layer::Water, Layer::Suspended, Layer::Sand],
            _ => &[Layer::Bedrock, Layer::Sand],
        }
    }

    /// Returns `true` if Ctrl inverts its effect.
    pub fn inverts(self) -> bool {
        !matches!(self, Self::Slope | Self::Clone | Self::Erode)
    }

    /// Returns `true` if each dab adds to the previous ones.
    pub(crate) fn adds_up(self) -> bool {
        matches!(self, Self::Raise | Self::Lower | Self::Noise | Self::Sand)
    }

    /// Returns `true` if a field of [`Brush`] applies to it.
    pub fn has(self, name: &str) -> bool {
        match name {
            "height" => {
                matches!(self, Self::Raise | Self::Lower | Self::Noise | Self::Stamp | Self::Sand | Self::Water)
            }
            "detail" => self == Self::Noise,
            "step" => self == Self::Terrace,
            "rain" => self == Self::Rain,
            "softness" => self == Self::Softness,
            "uplift" => self == Self::Uplift,
            "spacing" | "hold" | "pen" => self != Self::Slope,
            "build_up" => self.adds_up(),
            "lock" | "level" => matches!(self, Self::Raise | Self::Lower | Self::Sand | Self::Flatten | Self::Stamp),
            // Stamp, clone source and droplets would have to be mirrored too.
            "symmetry" => !matches!(self, Self::Stamp | Self::Clone | Self::Erode),
            _ => true,
        }
    }
}

/// Falloff of a brush's effect from its centre to its rim.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Falloff {
    /// Soft at the centre and the rim.
    #[default]
    Smooth,
    /// A dome.
    Sphere,
    /// A cone.
    Linear,
    /// A peak.
    Sharp,
    /// Constant, with a hard edge.
    Flat,
}

impl Falloff {
    /// Returns the effect at a distance counted in radii: 1 at the centre, 0 at the rim and beyond.
    pub fn weight(self, distance: f32) -> f32 {
        if distance >= 1.0 {
            return 0.0;
        }
        let near = 1.0 - distance;
        match self {
            Self::Smooth => near * near * (3.0 - 2.0 * near),
            Self::Sphere => (1.0 - distance * distance).sqrt(),
            Self::Linear => near,
            Self::Sharp => near * near,
            Self::Flat => 1.0,
        }
    }

    /// Returns the integral of the effect along a line through the centre, in radii.
    pub fn along(self) -> f32 {
        match self {
            Self::Smooth | Self::Linear => 1.0,
            Self::Sphere => std::f32::consts::FRAC_PI_2,
            Self::Sharp => 2.0 / 3.0,
            Self::Flat => 2.0,
        }
    }

    /// Index in shaders.
    pub fn number(self) -> f32 {
        self as u8 as f32
    }
}

/// Symmetry of a stroke.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symmetry {
    /// None.
    #[default]
    Off,
    /// Left and right halves.
    LeftRight,
    /// Upper and lower halves.
    AboveBelow,
    /// All four quarters.
    Quarters,
}

impl Symmetry {
    /// Returns `true` for mirroring across and down the map.
    pub fn axes(self) -> [bool; 2] {
        [matches!(self, Self::LeftRight | Self::Quarters), matches!(self, Self::AboveBelow | Self::Quarters)]
    }

    /// Returns a position on a map of this size, and its mirror images.
    pub fn places(self, [x, y]: [f32; 2], size: (usize, usize)) -> impl Iterator<Item = [f32; 2]> {
        let (other_x, other_y) = (size.0 as f32 - 1.0 - x, size.1 as f32 - 1.0 - y);
        let [across, down] = self.axes();
        let all = [Some([x, y]), across.then_some([other_x, y]), down.then_some([x, other_y])];
        all.into_iter().chain([(across && down).then_some([other_x, other_y])]).flatten()
    }
}

/// Brush parameters that follow the pen pressure.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PenPressure {
    /// Strength.
    #[default]
    Strength,
    /// Radius.
    Radius,
    /// Strength and radius.
    Both,
    /// None.
    Nothing,
}

/// Parameters of a brush. Every tool has its own.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Brush {
    /// Radius, as a percentage of the shorter side of the map. Large brushes shape mountains, small ones details.
    #[reflect(@knob(0.2..=50.0).unit("%").source(THIS_WORK).log().main())]
    pub radius: f32,
    /// Strength of one pass over the ground: 1 is the full effect of the brush, 0 none.
    #[reflect(@knob(0.0..=1.0).source(THIS_WORK).main())]
    pub strength: f32,
    /// Rise, thickness or depth of one pass at full strength, as a percentage of the radius. High values make steep hills.
    #[reflect(@knob(0.1..=200.0).unit("%").source(THIS_WORK).log().main())]
    pub height: f32,
    /// Size of the bumps, as a percentage of the radius. Low values make gravel, high values hills.
    #[reflect(@knob(2.0..=400.0).title("Feature size").unit("%").source(THIS_WORK).log().main())]
    pub detail: f32,
    /// Height of one terrace. Low values make many small terraces. On slopes so steep that they would be narrower than a few cells,
    /// terraces are 2, 4, 8 … times as high.
    #[reflect(@knob(0.1..=1000.0).title("Terrace height").unit("m").source(THIS_WORK).log().main())]
    pub step: f32,
    /// Rain to paint, as a multiple of the uniform rain. 0 keeps the place dry.
    #[reflect(@knob(0.0..=10.0).source(THIS_WORK).main())]
    pub rain: f32,
    /// Softness to paint: 1 erodes fastest, 0 not at all. Ctrl paints 1 minus this value.
    #[reflect(@knob(0.0..=1.0).source(THIS_WORK).main())]
    pub softness: f32,
    /// Uplift to paint, as a fraction of the uplift rate. 0 stops the uplift.
    #[reflect(@knob(0.0..=1.0).source(THIS_WORK).main())]
    pub uplift: f32,
    /// Falloff of the effect from the centre to the rim.
    #[reflect(@choice().source(THIS_WORK).main())]
    pub falloff: Falloff,
    /// Distance between dabs, as a percentage of the radius. Low values give even but slow strokes, high values leave separate
    /// dabs. Does not change the total effect of a pass.
    #[reflect(@knob(2.0..=400.0).unit("%").source(THIS_WORK).log())]
    pub spacing: f32,
    /// Keep painting while the button is held and the pointer is still. When off, only moving has an effect.
    #[reflect(@choice().source(THIS_WORK))]
    pub hold: bool,
    /// Keep raising or lowering while the button is held, and where the pointer passes again. When off, a stroke makes one hill
    /// or depression of the brush's height.
    #[reflect(@choice().source(THIS_WORK))]
    pub build_up: bool,
    /// Stop the brush at a level: raising stays below it, lowering stays above it, and Flatten moves the ground to it.
    #[reflect(@choice().source(THIS_WORK))]
    pub lock: bool,
    /// Height of the ground at which a locked brush stops.
    #[reflect(@knob(-12_000.0..=12_000.0).unit("m").source(THIS_WORK).only("lock=true"))]
    pub level: f32,
    /// Symmetry: axes across which each stroke is mirrored.
    #[reflect(@choice().source(THIS_WORK).main())]
    pub symmetry: Symmetry,
    /// Parameters that follow the pressure of a pen, where the system reports it. A mouse always has full pressure.
    #[reflect(@choice().source(THIS_WORK))]
    pub pen: PenPressure,
}

impl Default for Brush {
    fn default() -> Self {
        Self {
            radius: 6.0,
            strength: 0.5,
            height: 80.0,
            detail: 100.0,
            step: 10.0,
            rain: 3.0,
            softness: 1.0,
            uplift: 1.0,
            falloff: Falloff::Smooth,
            spacing: 12.0,
            hold: true,
            build_up: false,
            lock: false,
            level: 100.0,
            symmetry: Symmetry::Off,
            pen: PenPressure::Strength,
        }
    }
}

impl Brush {
    /// Returns the default brush of a tool.
    pub fn of(tool: Tool) -> Self {
        let brush = Self::default();
        match tool {
            Tool::Slope => Self { strength: 1.0, ..brush },
            Tool::Terrace => Self { strength: 0.8, ..brush },
            Tool::Noise => Self { height: 20.0, ..brush },
            Tool::Sand => Self { height: 15.0, ..brush },
            Tool::Water => Self { height: 3.0, ..brush },
            // One print per click, unaltered.
            Tool::Stamp => Self { radius: 12.0, strength: 1.0, height: 40.0, spacing: 150.0, hold: false, ..brush },
            Tool::Mask => Self { strength: 1.0, ..brush },
            Tool::Clone => Self { strength: 0.9, hold: false, ..brush },
            _ => brush,
        }
    }

    /// Returns the brush at a pen pressure from 0 to 1.
    pub fn pressed(&self, pressure: f32) -> Self {
        let share = |pen: PenPressure| if self.pen == pen || self.pen == PenPressure::Both { pressure } else { 1.0 };
        Self {
            strength: self.strength * share(PenPressure::Strength),
            radius: self.radius * share(PenPressure::Radius),
            ..self.clone()
        }
    }

    /// Radius on a terrain, in cells.
    pub fn radius_in_cells(&self, terrain: &Terrain) -> f32 {
        (0.01 * self.radius * terrain.width().min(terrain.height()) as f32).max(0.5)
    }

    /// Rise of one pass at full strength, in metres.
    pub(super) fn rise(&self, terrain: &Terrain) -> f32 {
        0.01 * self.height * self.radius_in_cells(terrain) * terrain.cell_size
    }

    /// Number of dabs in one pass over a point at the centre of the stroke.
    pub(super) fn dabs_per_pass(&self) -> f32 {
        self.falloff.along() / (0.01 * self.spacing)
    }

    /// Fraction of a pass in one dab, for effects that add up.
    pub(super) fn share(&self) -> f32 {
        self.strength / self.dabs_per_pass().max(1.0)
    }

    /// Fraction of a difference that one dab removes, if a pass removes `strength` of it.
    pub(super) fn approach(&self) -> f32 {
        1.0 - libm::powf(1.0 - self.strength.min(0.999), 1.0 / self.dabs_per_pass().max(1.0))
    }
}
