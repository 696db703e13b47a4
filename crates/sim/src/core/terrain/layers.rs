//! Table of the layers of a terrain, from which all code reads, saves, shows and changes layers. A new layer is one row.

use super::{Edge, Source};
use crate::core::{
    bounds::{Bounds, DEPTH, HEIGHT, MOST_CELLS, RAIN, SHARE},
    grid::Grid,
    quantity::ColorScale,
};

/// Properties of a layer.
#[derive(Clone, Copy, Debug)]
pub struct LayerInfo {
    /// Identifier on the command line, in files and in reports.
    pub key: &'static str,
    /// Name shown to the user.
    pub title: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
    /// Unit; empty for a ratio.
    pub unit: &'static str,
    /// Valid range of a cell.
    pub bounds: Bounds,
    /// Initial value of every cell, also used where the terrain lacks the layer.
    pub empty: f32,
    /// Substance that it belongs to in the ledger.
    pub matter: Matter,
    /// `true` if it is painted onto the map rather than shaped. It then persists when the simulation restarts.
    pub painted: bool,
    /// `true` if processes that respect the mask leave it unchanged there.
    pub masked: bool,
    /// `true` if it can be exported as a map.
    pub exported: bool,
    /// Colour scale of its overlay, if it has one.
    pub overlay: Option<ColorScale>,
    /// Import from a file, if supported.
    pub import: Option<Import>,
}

/// Substance that a layer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matter {
    /// Rock and sediment; cells hold the thickness.
    Solid,
    /// Water; cells hold the depth.
    Water,
    /// Not conserved.
    None,
}

/// Import of a layer from a file.
#[derive(Clone, Copy, Debug)]
pub struct Import {
    /// Name shown to the user, and identifier in projects.
    pub title: &'static str,
    /// Field in a scene file.
    pub field: &'static str,
    /// Command-line option and its help, if there is one.
    pub option: Option<(&'static str, &'static str)>,
    /// Tooltip.
    pub about: &'static str,
    /// Values of the smallest and the largest integer of an integer format, unless a sidecar states them.
    pub range: (f32, f32),
    /// `true` if the window offers it.
    pub offered: bool,
}

/// Common properties of the rows.
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

/// Generates [`Layer`] and [`Terrain`] from the table. A layer of type `Option` may be missing.
macro_rules! layers {
    ($($(#[doc = $doc:literal])+ $field:ident: $held:ty, $layer:ident = $row:expr;)+) => {
        /// Layer of a terrain.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Layer { $($(#[doc = $doc])+ $layer,)+ }

        impl Layer {
            /// All layers, in the order in which they are saved.
            pub const ALL: &'static [Layer] = &[$(Layer::$layer),+];

            /// Returns its row of the table.
            pub const fn row(self) -> &'static LayerInfo {
                match self { $(Layer::$layer => const { &$row },)+ }
            }
        }

        /// Terrain shared by all processes. All layers have the same size; see [`Layer::row`] for their units.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Terrain {
            $($(#[doc = $doc])+ pub $field: $held,)+
            /// Springs and drains.
            pub sources: Vec<Source>,
            /// Cell size, in metres.
            pub cell_size: f32,
            /// Boundary condition.
            pub edge: Edge,
        }

        impl Terrain {
            /// Creates a terrain with `size` columns and rows from the layers that `layer` returns. Others are missing, or empty if
            /// mandatory.
            ///
            /// # Panics
            /// If there are more cells than [`MOST_CELLS`].
            pub fn from_layers(
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

            /// Returns the layer, if the terrain has it.
            pub fn layer(&self, layer: Layer) -> Option<&Grid> {
                match layer { $(Layer::$layer => self.$field.held(),)+ }
            }

            /// Returns the layer for changes. A missing layer is created empty.
            pub fn layer_mut(&mut self, layer: Layer) -> &mut Grid {
                let size = (self.width(), self.height());
                match layer { $(Layer::$layer => self.$field.made(layer, size),)+ }
            }

            /// Replaces a layer. With `None` it becomes missing, or empty if mandatory.
            pub fn set_layer(&mut self, layer: Layer, grid: Option<Grid>) {
                let size = (self.width(), self.height());
                match layer { $(Layer::$layer => self.$field = LayerSlot::of(layer, size, grid),)+ }
            }
        }
    };
}

layers! {
    /// Elevation of the bedrock, in metres. It does not move by itself.
    bedrock: Grid, Bedrock = LayerInfo {
        key: "bedrock",
        title: "Bedrock",
        about: "Elevation of the bedrock.",
        unit: "m",
        bounds: HEIGHT,
        matter: Matter::Solid,
        masked: true,
        import: Some(Import {
            title: "Heights",
            field: "heightmap",
            option: None,
            about: "Replace the terrain with a heightmap. Lighting and processes are kept.",
            range: (0.0, 1.0),
            offered: true,
        }),
        ..PLAIN
    };
    /// Thickness of the loose material on the bedrock, in metres.
    sand: Grid, Sand = LayerInfo {
        key: "sand",
        title: "Sand thickness",
        about: "Thickness of the loose sand on the bedrock.",
        unit: "m",
        matter: Matter::Solid,
        masked: true,
        overlay: Some(ColorScale::FromZero),
        import: Some(Import {
            title: "Sand",
            field: "sand_map",
            option: Some(("sand-map", "Map of sand thickness. Integer formats span 0 to 10 m unless a sidecar sets the range")),
            about: "Set the sand thickness from a map and restart.",
            range: (0.0, 10.0),
            offered: true,
        }),
        ..PLAIN
    };
    /// Depth of standing or flowing water, in metres.
    water: Grid, Water = LayerInfo {
        key: "water",
        title: "Water depth",
        about: "Depth of the water.",
        unit: "m",
        matter: Matter::Water,
        overlay: Some(ColorScale::FromZero),
        import: Some(Import {
            title: "Water",
            field: "water_map",
            option: Some(("water-map", "Map of the initial water depth. Integer formats span 0 to 10 m unless a sidecar sets the range")),
            about: "Set the water depth from a map and restart.",
            range: (0.0, 10.0),
            offered: true,
        }),
        ..PLAIN
    };
    /// Suspended sediment, as the thickness in metres that it would have if settled.
    suspended: Grid, Suspended = LayerInfo {
        key: "suspended",
        title: "Suspended sediment",
        about: "Sediment in the water, as the thickness it would have if settled.",
        unit: "m",
        matter: Matter::Solid,
        overlay: Some(ColorScale::FromZero),
        import: Some(Import {
            title: "Suspended sediment",
            field: "suspended_map",
            option: None,
            about: "Set the suspended sediment from a map and restart.",
            range: (0.0, 10.0),
            offered: false,
        }),
        ..PLAIN
    };
    /// Erodibility of the bedrock: 0 = hard, 1 = soft, 0.5 = neutral.
    softness: Grid, Softness = LayerInfo {
        key: "softness",
        title: "Softness",
        about: "Erodibility of the bedrock: 0 is hard, 1 is soft.",
        bounds: SHARE,
        empty: 0.5,
        overlay: Some(ColorScale::UpTo(1.0)),
        import: Some(Import {
            title: "Softness",
            field: "softness_map",
            option: Some(("softness-map", "Map of bedrock softness, from 0 (hard) to 1 (soft)")),
            about: "Set the softness of the bedrock from a map and restart.",
            range: (0.0, 1.0),
            offered: true,
        }),
        ..PLAIN
    };
    /// Initial elevation of the ground (bedrock + sand), in metres: the base level beyond open edges and the reference of "change".
    start: Grid, Start = LayerInfo {
        key: "start",
        title: "Initial ground",
        about: "Elevation of the ground when the simulation started.",
        unit: "m",
        bounds: HEIGHT,
        exported: false,
        ..PLAIN
    };
    /// Rain relative to the mean; `None` if uniform.
    rain: Option<Grid>, Rain = LayerInfo {
        key: "rain",
        title: "Rain map",
        about: "Rain as a multiple of the mean.",
        unit: "× mean",
        bounds: RAIN,
        empty: 1.0,
        painted: true,
        overlay: Some(ColorScale::UpTo(5.0)),
        import: Some(Import {
            title: "Rain",
            field: "rain_map",
            option: Some(("rain-map", "Map of relative rain: twice the value gives twice the rain")),
            about: "Set the rain distribution from a map and restart.",
            range: (0.0, 1.0),
            offered: true,
        }),
        ..PLAIN
    };
    /// Protection from brushes, from 0 to 1; `None` if nothing is masked.
    mask: Option<Grid>, Mask = LayerInfo {
        key: "mask",
        title: "Mask",
        about: "Protection from brushes, from 0 (none) to 1 (full).",
        bounds: SHARE,
        painted: true,
        overlay: Some(ColorScale::UpTo(1.0)),
        ..PLAIN
    };
    /// Uplift as a fraction of the uplift rate; `None` if uniform.
    uplift: Option<Grid>, Uplift = LayerInfo {
        key: "uplift",
        title: "Uplift",
        about: "Uplift as a fraction of the uplift rate.",
        bounds: SHARE,
        empty: 1.0,
        painted: true,
        overlay: Some(ColorScale::UpTo(1.0)),
        import: Some(Import {
            title: "Uplift",
            field: "uplift_map",
            option: Some(("uplift-map", "Map of relative uplift, from 0 (none) to 1 (full rate)")),
            about: "Set the uplift distribution from a map and restart.",
            range: (0.0, 1.0),
            offered: true,
        }),
        ..PLAIN
    };
}

impl Layer {
    /// Returns the identifier used on the command line and in reports.
    pub fn key(self) -> &'static str {
        self.row().key
    }

    /// Returns the layer with this key.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|layer| layer.key() == key)
    }

    /// Returns the name shown to the user in imports, and used in projects.
    pub fn import_title(self) -> &'static str {
        self.row().import.map_or(self.row().title, |import| import.title)
    }

    /// Returns the layers that can be imported, with their imports.
    pub fn imports() -> impl Iterator<Item = (Self, Import)> {
        Self::ALL.iter().filter_map(|layer| Some((*layer, layer.row().import?)))
    }
}

/// Storage of a layer in a terrain: mandatory or optional.
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
