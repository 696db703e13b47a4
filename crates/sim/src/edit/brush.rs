//! What brushes there are, and what there is to tune on one.

use bevy_reflect::Reflect;

use crate::{
    core::terrain::{Layer, Terrain},
    params::{choice, knob},
};

const OURS: &str = "ours";

/// What a brush does to the ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// Lifts the bedrock.
    Raise,
    /// Digs: first the sand, then the bedrock.
    Lower,
    /// Evens the ground out.
    Smooth,
    /// Brings the ground to the height under the first touch.
    Flatten,
    /// Roughens the ground.
    Noise,
    /// Makes a ramp between two points.
    Slope,
    /// Cuts steps.
    Terrace,
    /// Presses a relief on the ground.
    Stamp,
    /// Pours sand.
    Sand,
    /// Paints where rain falls.
    Rain,
    /// Paints how soft the bedrock is.
    Softness,
    /// Paints how fast the land rises.
    Uplift,
    /// Paints what other brushes leave alone.
    Mask,
    /// Copies the ground from another place.
    Clone,
    /// Lets droplets run.
    Erode,
    /// Pours water.
    Water,
}

impl Tool {
    /// All of them, in the order of their keys.
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

    /// What it does and what Ctrl makes of it, in a sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::Raise => "Lifts the bedrock; with Ctrl it lowers.",
            Self::Lower => "Digs sand and then bedrock away; with Ctrl it raises.",
            Self::Smooth => "Evens the ground out; with Ctrl it sharpens.",
            Self::Flatten => {
                "Brings the ground to the height under the first touch; with Ctrl it moves the ground away from that height."
            }
            Self::Noise => "Roughens the ground with bumps; with Ctrl bumps become hollows.",
            Self::Slope => "Makes a ramp from where you press to where you let go.",
            Self::Terrace => "Cuts steps with flat treads; with Ctrl it evens them out.",
            Self::Stamp => {
                "Adds a shape to the ground, for instance a loaded heightmap; with Ctrl it presses the shape in."
            }
            Self::Sand => "Pours sand; with Ctrl it takes sand away and leaves the bedrock.",
            Self::Rain => "Paints how much rain falls; with Ctrl none.",
            Self::Softness => "Paints how soft the bedrock is; with Ctrl it hardens it.",
            Self::Uplift => "Paints how fast the land rises; with Ctrl it stands still.",
            Self::Mask => "Paints what other brushes leave alone; with Ctrl it takes the mask away.",
            Self::Clone => "Copies the land from another place; Ctrl+click chooses that place.",
            Self::Erode => {
                "Lets droplets rain under the brush; they dig and lay sediment down as set in the panel Droplets."
            }
            Self::Water => "Pours water, which flows while the process Water is on; with Ctrl it takes water away.",
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

    /// Whether it has an opposite, which Ctrl asks for.
    pub fn inverts(self) -> bool {
        !matches!(self, Self::Slope | Self::Clone | Self::Erode)
    }

    /// Whether each dab adds to those before it.
    pub(crate) fn adds_up(self) -> bool {
        matches!(self, Self::Raise | Self::Lower | Self::Noise | Self::Sand)
    }

    /// Whether a field of [`Brush`] means something to it.
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
            // What is copied would have to be mirrored too, and so would the rain.
            "symmetry" => !matches!(self, Self::Stamp | Self::Clone | Self::Erode),
            _ => true,
        }
    }
}

/// How the effect of a brush falls off from its middle to its rim.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Falloff {
    /// Soft in the middle and at the rim.
    #[default]
    Smooth,
    /// A dome.
    Sphere,
    /// A cone.
    Linear,
    /// A peak.
    Sharp,
    /// The same everywhere, with an edge.
    Flat,
}

impl Falloff {
    /// Effect at a distance counted in radii: 1 in the middle, 0 at the rim and beyond.
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

    /// The effect summed along a way through the middle, in radii.
    pub fn along(self) -> f32 {
        match self {
            Self::Smooth | Self::Linear => 1.0,
            Self::Sphere => std::f32::consts::FRAC_PI_2,
            Self::Sharp => 2.0 / 3.0,
            Self::Flat => 2.0,
        }
    }

    /// Number by which shaders know it.
    pub fn number(self) -> f32 {
        self as u8 as f32
    }
}

/// Where else on the map a stroke is made at the same time.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symmetry {
    /// Nowhere.
    #[default]
    Off,
    /// In the other half, left or right.
    LeftRight,
    /// In the other half, above or below.
    AboveBelow,
    /// In all four quarters.
    Quarters,
}

impl Symmetry {
    /// Whether it mirrors across the map, and down the map.
    pub fn turns(self) -> [bool; 2] {
        [matches!(self, Self::LeftRight | Self::Quarters), matches!(self, Self::AboveBelow | Self::Quarters)]
    }

    /// A place on a map of so many columns and rows, and those that mirror it.
    pub fn places(self, [x, y]: [f32; 2], size: (usize, usize)) -> impl Iterator<Item = [f32; 2]> {
        let (other_x, other_y) = (size.0 as f32 - 1.0 - x, size.1 as f32 - 1.0 - y);
        let [across, down] = self.turns();
        let all = [Some([x, y]), across.then_some([other_x, y]), down.then_some([x, other_y])];
        all.into_iter().chain([(across && down).then_some([other_x, other_y])]).flatten()
    }
}

/// What the pressure of a pen changes.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pen {
    /// How much the brush does.
    #[default]
    Strength,
    /// How far it reaches.
    Radius,
    /// Both.
    Both,
    /// Nothing.
    Nothing,
}

/// How a brush works. Every tool has its own.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Brush {
    /// Radius, as a share of the map's shorter side. Large shapes mountains, small details.
    #[reflect(@knob(0.2..=50.0).unit("%").source(OURS).log().main())]
    pub radius: f32,
    /// How much one pass over the ground does: 1 all that the brush can, 0 nothing.
    #[reflect(@knob(0.0..=1.0).source(OURS).main())]
    pub strength: f32,
    /// Rise, thickness or depth that one pass at full strength brings, as a share of the radius. High makes steep hills.
    #[reflect(@knob(0.1..=200.0).unit("%").source(OURS).log().main())]
    pub height: f32,
    /// Size of the bumps, as a share of the radius. Small is gravel, large is hills.
    #[reflect(@knob(2.0..=400.0).unit("%").source(OURS).log().main())]
    pub detail: f32,
    /// Height of a terrace's step. Low makes many small ones.
    #[reflect(@knob(0.1..=1000.0).unit("m").source(OURS).log().main())]
    pub step: f32,
    /// Rain to paint, as a multiple of the rain everywhere. 0 keeps the place dry.
    #[reflect(@knob(0.0..=10.0).source(OURS).main())]
    pub rain: f32,
    /// Softness to paint: 1 erodes fastest, 0 not at all. With Ctrl, 1 minus this number is painted.
    #[reflect(@knob(0.0..=1.0).source(OURS).main())]
    pub softness: f32,
    /// Uplift to paint, as a share of the rate of uplift. 0 keeps the land where it is.
    #[reflect(@knob(0.0..=1.0).source(OURS).main())]
    pub uplift: f32,
    /// How the effect falls off from the middle to the rim.
    #[reflect(@choice().source(OURS).main())]
    pub falloff: Falloff,
    /// Distance from dab to dab, as a share of the radius. Small is even and slow, large leaves single prints. How much a
    /// pass does is not changed by it.
    #[reflect(@knob(2.0..=400.0).unit("%").source(OURS).log())]
    pub spacing: f32,
    /// Goes on while the button is held and the pointer rests. Off, only moving does something.
    #[reflect(@choice().source(OURS))]
    pub hold: bool,
    /// Whether a stroke goes on lifting or digging while the button is held, and where the pointer passes again. Off, it makes one
    /// hill or one hollow of the brush's height.
    #[reflect(@choice().source(OURS))]
    pub build_up: bool,
    /// Whether the brush stops at a level: what lifts stays below it, what digs stays above it, and Flatten goes to it.
    #[reflect(@choice().source(OURS))]
    pub lock: bool,
    /// Height of the ground at which a locked brush stops.
    #[reflect(@knob(-12_000.0..=12_000.0).unit("m").source(OURS).only("lock=true"))]
    pub level: f32,
    /// Where else on the map the stroke is made at the same time.
    #[reflect(@choice().source(OURS))]
    pub symmetry: Symmetry,
    /// What the pressure of a pen changes, where the system reports it. A mouse always presses fully.
    #[reflect(@choice().source(OURS))]
    pub pen: Pen,
}

impl Default for Brush {
    fn default() -> Self {
        Self {
            radius: 6.0,
            strength: 0.5,
            height: 80.0,
            detail: 40.0,
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
            pen: Pen::Strength,
        }
    }
}

impl Brush {
    /// That of a tool as a new user has it.
    pub fn of(tool: Tool) -> Self {
        let brush = Self::default();
        match tool {
            Tool::Slope => Self { strength: 1.0, ..brush },
            Tool::Terrace => Self { strength: 0.8, ..brush },
            Tool::Noise => Self { height: 20.0, ..brush },
            Tool::Sand => Self { height: 15.0, ..brush },
            Tool::Water => Self { height: 3.0, ..brush },
            // One print per click, as it was loaded.
            Tool::Stamp => Self { radius: 12.0, strength: 1.0, height: 40.0, spacing: 150.0, hold: false, ..brush },
            Tool::Mask => Self { strength: 1.0, ..brush },
            Tool::Clone => Self { strength: 0.9, hold: false, ..brush },
            _ => brush,
        }
    }

    /// The brush under a pen that presses so hard, from 0 to 1.
    pub fn pressed(&self, pressure: f32) -> Self {
        let share = |pen: Pen| if self.pen == pen || self.pen == Pen::Both { pressure } else { 1.0 };
        Self {
            strength: self.strength * share(Pen::Strength),
            radius: self.radius * share(Pen::Radius),
            ..self.clone()
        }
    }

    /// Radius on a terrain, in cells.
    pub fn cells(&self, terrain: &Terrain) -> f32 {
        (0.01 * self.radius * terrain.width().min(terrain.height()) as f32).max(0.5)
    }

    /// Rise of a pass at full strength, in metres.
    pub(super) fn rise(&self, terrain: &Terrain) -> f32 {
        0.01 * self.height * self.cells(terrain) * terrain.cell_size
    }

    /// Dabs that together are a pass over a point in the middle of the way.
    pub(super) fn dabs_per_pass(&self) -> f32 {
        self.falloff.along() / (0.01 * self.spacing)
    }

    /// What a dab does of what a pass does, if dabs add up.
    pub(super) fn share(&self) -> f32 {
        self.strength / self.dabs_per_pass().max(1.0)
    }

    /// What a dab makes up of a difference, if a pass makes up `strength` of it.
    pub(super) fn approach(&self) -> f32 {
        1.0 - libm::powf(1.0 - self.strength.min(0.999), 1.0 / self.dabs_per_pass().max(1.0))
    }
}
