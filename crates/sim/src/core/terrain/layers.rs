//! The layers of the terrain: one table says everything about each, and all that reads, saves, shows or changes layers goes
//! through it. A new layer is one row.

use super::{Edge, Source};
use crate::core::{
    bounds::{Bounds, DEPTH, HEIGHT, MOST_CELLS, RAIN, SHARE},
    grid::Grid,
    quantity::Scale,
};

/// What the table says of a layer.
#[derive(Clone, Copy, Debug)]
pub struct LayerInfo {
    /// Name on the command line, in files and in reports.
    pub key: &'static str,
    /// Name shown to the user.
    pub title: &'static str,
    /// What it tells, in a sentence.
    pub about: &'static str,
    /// Its unit; empty for a ratio.
    pub unit: &'static str,
    /// What a cell may hold.
    pub bounds: Bounds,
    /// What every cell holds to begin with, and where the terrain lacks the layer.
    pub empty: f32,
    /// What it is a quantity of: the ledger counts it there.
    pub matter: Matter,
    /// Whether it is painted over the map, not shaped: then it stays when a run starts again.
    pub painted: bool,
    /// Whether a process that keeps off the mask leaves it alone there.
    pub masked: bool,
    /// Whether it can be saved as a map.
    pub exported: bool,
    /// Colours in which it can be shown over the ground.
    pub overlay: Option<Scale>,
    /// How it is read from a file, if it can be.
    pub import: Option<Import>,
}

/// What a layer is a quantity of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matter {
    /// Rock and what came of it; cells hold its thickness.
    Solid,
    /// Water; cells hold its depth.
    Water,
    /// Nothing that is conserved.
    None,
}

/// How a layer is read from a file.
#[derive(Clone, Copy, Debug)]
pub struct Import {
    /// Name shown to the user, and in projects.
    pub title: &'static str,
    /// Its field in a scene file.
    pub field: &'static str,
    /// Its option on the command line and what that says of itself, if there is one.
    pub option: Option<(&'static str, &'static str)>,
    /// What happens, in a sentence.
    pub about: &'static str,
    /// What the smallest and the largest value of an integer format stand for, if no sidecar states it.
    pub range: (f32, f32),
    /// Whether the window offers it.
    pub offered: bool,
}

/// What most rows have in common.
const PLAIN: LayerInfo = LayerInfo {
    key: "",
    title: "",
    about: "",
    unit: "",
    bounds: DEPTH,
    empty: 0.0,
    matter: Matter::None,
    painted: false,
    masked: false,
    exported: true,
    overlay: None,
    import: None,
};

/// Makes [`Layer`] and [`Terrain`] from the table. A layer whose type is an option may be missing.
macro_rules! layers {
    ($($(#[doc = $doc:literal])+ $field:ident: $held:ty, $layer:ident = $row:expr;)+) => {
        /// The layers of a terrain.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Layer { $($(#[doc = $doc])+ $layer,)+ }

        impl Layer {
            /// All of them, in the order in which they are saved.
            pub const ALL: &'static [Layer] = &[$(Layer::$layer),+];

            /// Its row of the table.
            pub const fn row(self) -> &'static LayerInfo {
                match self { $(Layer::$layer => const { &$row },)+ }
            }
        }

        /// The terrain that all processes share. All layers have the same size; see [`Layer::row`] for their units.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Terrain {
            $($(#[doc = $doc])+ pub $field: $held,)+
            /// Springs and drains.
            pub sources: Vec<Source>,
            /// Side of a cell, in metres.
            pub cell_size: f32,
            /// What happens at the border.
            pub edge: Edge,
        }

        impl Terrain {
            /// A terrain of so many columns and rows with the layers that `layer` gives. One that it does not give is
            /// missing, or empty if it is always there.
            ///
            /// # Panics
            /// If there are more cells than [`MOST_CELLS`].
            pub fn of(
                size: (usize, usize),
                (cell_size, edge): (f32, Edge),
                mut layer: impl FnMut(Layer) -> Option<Grid>,
            ) -> Self {
                assert!(size.0.saturating_mul(size.1) <= MOST_CELLS, "a terrain of {size:?} cells is too large");
                Self {
                    $($field: LayerSlot::of(Layer::$layer, size, layer(Layer::$layer)),)+
                    sources: Vec::new(),
                    cell_size,
                    edge,
                }
            }

            /// The layer, if the terrain has it.
            pub fn layer(&self, layer: Layer) -> Option<&Grid> {
                match layer { $(Layer::$layer => self.$field.held(),)+ }
            }

            /// The layer, to be changed. One that was missing comes into being empty.
            pub fn layer_mut(&mut self, layer: Layer) -> &mut Grid {
                let size = (self.width(), self.height());
                match layer { $(Layer::$layer => self.$field.made(layer, size),)+ }
            }

            /// Puts a layer in the place of what there was. With nothing it is missing, or empty if it is always there.
            pub fn set_layer(&mut self, layer: Layer, grid: Option<Grid>) {
                let size = (self.width(), self.height());
                match layer { $(Layer::$layer => self.$field = LayerSlot::of(layer, size, grid),)+ }
            }
        }
    };
}

layers! {
    /// Solid ground, in metres; does not move by itself.
    bedrock: Grid, Bedrock = LayerInfo {
        key: "bedrock",
        title: "Bedrock",
        about: "How high solid rock reaches.",
        unit: "m",
        bounds: HEIGHT,
        matter: Matter::Solid,
        masked: true,
        import: Some(Import {
            title: "Heights",
            field: "heightmap",
            option: None,
            about: "Puts a heightmap in the place of the terrain; light and processes stay.",
            range: (0.0, 1.0),
            offered: true,
        }),
        ..PLAIN
    };
    /// Loose material on top of it, thickness in metres.
    sand: Grid, Sand = LayerInfo {
        key: "sand",
        title: "Thickness of sand",
        about: "How thick loose sand lies on the rock.",
        unit: "m",
        matter: Matter::Solid,
        masked: true,
        overlay: Some(Scale::FromZero),
        import: Some(Import {
            title: "Sand",
            field: "sand_map",
            option: Some(("sand-map", "Sand thickness from a map: integer formats cover 0 to 10 m unless their sidecar says otherwise")),
            about: "Lays sand as thick as a map says, and starts again.",
            range: (0.0, 10.0),
            offered: true,
        }),
        ..PLAIN
    };
    /// Depth of standing or flowing water, in metres.
    water: Grid, Water = LayerInfo {
        key: "water",
        title: "Depth of water",
        about: "How deep the water stands.",
        unit: "m",
        matter: Matter::Water,
        overlay: Some(Scale::FromZero),
        import: Some(Import {
            title: "Water",
            field: "water_map",
            option: Some(("water-map", "Depth of water at the start from a map: integer formats cover 0 to 10 m unless their sidecar says otherwise")),
            about: "Fills in water as deep as a map says, and starts again.",
            range: (0.0, 10.0),
            offered: true,
        }),
        ..PLAIN
    };
    /// Sediment carried by the water, as the thickness in metres that it would have if settled.
    suspended: Grid, Suspended = LayerInfo {
        key: "suspended",
        title: "Suspended sediment",
        about: "Sediment in the water, as the thickness that it would have if it settled.",
        unit: "m",
        matter: Matter::Solid,
        overlay: Some(Scale::FromZero),
        import: Some(Import {
            title: "Suspended sediment",
            field: "suspended_map",
            option: None,
            about: "Puts sediment into the water, and starts again.",
            range: (0.0, 10.0),
            offered: false,
        }),
        ..PLAIN
    };
    /// How easily bedrock erodes: 0 = hard, 1 = soft, 0.5 = neutral.
    softness: Grid, Softness = LayerInfo {
        key: "softness",
        title: "Softness",
        about: "How easily bedrock erodes: 0 is hard, 1 is soft.",
        bounds: SHARE,
        empty: 0.5,
        overlay: Some(Scale::UpTo(1.0)),
        import: Some(Import {
            title: "Softness",
            field: "softness_map",
            option: Some(("softness-map", "Softness of the bedrock from a map, 0 (hard) to 1 (soft)")),
            about: "Makes the bedrock as soft as a map says, and starts again.",
            range: (0.0, 1.0),
            offered: true,
        }),
        ..PLAIN
    };
    /// The ground (bedrock + sand) as it was at the start, in metres: the base level beyond open edges and what "change" is
    /// measured from.
    start: Grid, Start = LayerInfo {
        key: "start",
        title: "Ground at the start",
        about: "How high the ground was when the run began.",
        unit: "m",
        bounds: HEIGHT,
        exported: false,
        ..PLAIN
    };
    /// Where rain falls, as a share of the mean; `None` means everywhere alike.
    rain: Option<Grid>, Rain = LayerInfo {
        key: "rain",
        title: "Rain map",
        about: "How much rain falls, as a multiple of the rain everywhere.",
        unit: "× mean",
        bounds: RAIN,
        empty: 1.0,
        painted: true,
        overlay: Some(Scale::UpTo(5.0)),
        import: Some(Import {
            title: "Rain",
            field: "rain_map",
            option: Some(("rain-map", "Where rain falls, from a map: twice the value is twice the rain")),
            about: "Lets rain fall where a map says, and starts again.",
            range: (0.0, 1.0),
            offered: true,
        }),
        ..PLAIN
    };
    /// What brushes leave alone, from 0 to 1; `None` means nothing.
    mask: Option<Grid>, Mask = LayerInfo {
        key: "mask",
        title: "Mask",
        about: "What brushes leave alone: 1 wholly, 0 not at all.",
        bounds: SHARE,
        painted: true,
        overlay: Some(Scale::UpTo(1.0)),
        ..PLAIN
    };
    /// How fast the land rises, as a share of the rate of uplift; `None` means everywhere alike.
    uplift: Option<Grid>, Uplift = LayerInfo {
        key: "uplift",
        title: "Uplift",
        about: "How fast the land rises, as a share of the rate of uplift.",
        bounds: SHARE,
        empty: 1.0,
        painted: true,
        overlay: Some(Scale::UpTo(1.0)),
        import: Some(Import {
            title: "Uplift",
            field: "uplift_map",
            option: Some(("uplift-map", "How fast the land rises, from a map: 0 not at all, 1 at the full rate")),
            about: "Lets the land rise where a map says, and starts again.",
            range: (0.0, 1.0),
            offered: true,
        }),
        ..PLAIN
    };
}

impl Layer {
    /// The name used on the command line and in reports.
    pub fn key(self) -> &'static str {
        self.row().key
    }

    /// The layer of that name.
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|layer| layer.key() == key)
    }

    /// Name shown to the user where a file is imported, and in projects.
    pub fn import_title(self) -> &'static str {
        self.row().import.map_or(self.row().title, |import| import.title)
    }

    /// Those that can be read from a file, with how.
    pub fn imports() -> impl Iterator<Item = (Self, Import)> {
        Self::ALL.iter().filter_map(|layer| Some((*layer, layer.row().import?)))
    }
}

/// A layer in a terrain: always there, or perhaps missing.
trait LayerSlot {
    fn of(layer: Layer, size: (usize, usize), grid: Option<Grid>) -> Self;
    fn held(&self) -> Option<&Grid>;
    fn made(&mut self, layer: Layer, size: (usize, usize)) -> &mut Grid;
}

impl LayerSlot for Grid {
    fn of(layer: Layer, (width, height): (usize, usize), grid: Option<Grid>) -> Self {
        grid.unwrap_or_else(|| Grid::filled(width, height, layer.row().empty))
    }

    fn held(&self) -> Option<&Grid> {
        Some(self)
    }

    fn made(&mut self, _: Layer, _: (usize, usize)) -> &mut Grid {
        self
    }
}

impl LayerSlot for Option<Grid> {
    fn of(_: Layer, _: (usize, usize), grid: Option<Grid>) -> Self {
        grid
    }

    fn held(&self) -> Option<&Grid> {
        self.as_ref()
    }

    fn made(&mut self, layer: Layer, (width, height): (usize, usize)) -> &mut Grid {
        self.get_or_insert_with(|| Grid::filled(width, height, layer.row().empty))
    }
}
