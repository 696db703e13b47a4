//! Readout of the cell under the pointer.

use bevy::prelude::{App, InMut, Res, State};
use bevy_egui::egui::{Align2, Ui, vec2};

use crate::shell::{
    legend::{legend_width, value_text},
    panel::{AddPanel, LayerVisibility},
    style::{DEEP_SHADE, shaded_lines},
};
use crate::world::{
    AppCommand, Overlay, PointedPosition, Preferences, Simulations, Workspace,
    amount::{display_unit, length},
};
use thalweg_scene::{model::origin::Georeference, settings::UnitSystem};
use thalweg_sim::core::{analysis::slope_at, quantity::ColorScale, terrain::Terrain};

/// Minimum thickness of sand and water in the readout, in metres.
const THIN: f32 = 1e-3;

pub(super) fn plugin(app: &mut App) {
    app.add_view_layer(LayerVisibility::Interface, readout_ui);
}

/// Draws the readout in the lower right corner of the view.
fn readout_ui(
    InMut(root): InMut<Ui>,
    pointed: Res<PointedPosition>,
    simulations: Res<Simulations>,
    preferences: Res<Preferences>,
    overlay: Res<Overlay>,
    workspace: Res<State<Workspace>>,
) -> Vec<AppCommand> {
    let view = root.max_rect();
    let Some(place) = pointed.0.filter(|_| *workspace != Workspace::Present) else { return Vec::new() };
    let terrain = &simulations.selected().simulation.terrain;
    let (x, y) = terrain.bedrock.cell_at(place);
    let units = preferences.settings.units;
    let geo = simulations.selected().heightmap.as_ref().and_then(|map| map.geo.as_ref());
    let mut text = format!("{} · {}", place_text(units, terrain, geo, place), text(units, terrain, x, y));
    if let (Some(quantity), Some(values)) = (overlay.shown, overlay.values.get(simulations.selected_index()))
        && quantity.scale() != ColorScale::Classes
        && (values.width(), values.height()) == (terrain.width(), terrain.height())
    {
        let value = values.at(x, y);
        let value = if quantity.scale() == ColorScale::Logarithmic { 10.0_f32.powf(value) } else { value };
        let unit = if quantity.unit() == "m²" { "" } else { display_unit(units, quantity.unit()).0 };
        let value = value_text(units, value, quantity.unit());
        let reading = format!(" · {} {value} {unit}", quantity.title().to_lowercase());
        text.push_str(reading.trim_end());
    }
    let painter = root.painter().with_clip_rect(view);
    let corner = view.right_bottom() - vec2(16.0, 14.0);
    // Leaves room for the legend, and breaks only between values.
    let width = (view.width() - legend_width(&overlay) - 48.0).max(160.0);
    let text = text.replace(' ', "\u{a0}").replace("·\u{a0}", "· ");
    shaded_lines(&painter, corner, Align2::RIGHT_BOTTOM, (&text, 12.0, width), DEEP_SHADE);
    Vec::new()
}

/// Formats a place, given as fractions of the map's sides: its coordinates in the reference system of the map; without one, its distances
/// from the western and the northern edge.
fn place_text(units: UnitSystem, terrain: &Terrain, geo: Option<&Georeference>, [x, y]: [f32; 2]) -> String {
    let [x, y] = [f64::from(x), f64::from(y)];
    if let Some(geo) = geo {
        let [east, north] = [geo.west + x * geo.width, geo.north - y * geo.height];
        // Degrees need more decimals than metres.
        let decimals = if geo.width.max(geo.height) < 10.0 { 5 } else { 0 };
        return format!("x {east:.decimals$}, y {north:.decimals$}");
    }
    let side = |cells: usize| cells as f64 * f64::from(terrain.cell_size);
    let [east, south] = [x * side(terrain.width()), y * side(terrain.height())];
    format!("x {}, y {}", length(units, east, 0), length(units, south, 0))
}

/// Formats height, slope, sand, water and softness of a cell.
fn text(units: UnitSystem, terrain: &Terrain, x: usize, y: usize) -> String {
    let (sand, water) = (terrain.sand.at(x, y), terrain.water.at(x, y));
    let height = terrain.bedrock.at(x, y) + sand;
    let height = length(units, height.into(), 1);
    let mut parts = vec![format!("height {height}"), format!("slope {:.0}°", slope_at(terrain, x, y))];
    for (depth, name) in [(sand, "sand"), (water, "water")] {
        if depth >= THIN {
            parts.push(format!("{name} {}", length(units, depth.into(), 2)));
        }
    }
    parts.push(format!("softness {:.2}", terrain.softness.at(x, y)));
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_scene::model::origin::Crs;
    use thalweg_sim::core::{grid::Grid, terrain::Edge};

    #[test]
    fn readout_shows_values_of_the_cell() {
        // Rises by one metre per column of one metre.
        let mut terrain = Terrain::bare(Grid::from_fn(8, 4, |x, _| x as f32), 1.0, Edge::Open);
        terrain.softness.fill(0.5);
        let (x, y) = terrain.bedrock.cell_at([0.5, 0.99]);
        assert_eq!((x, y), (4, 3));
        assert_eq!(text(UnitSystem::Metric, &terrain, x, y), "height 4.0 m · slope 45° · softness 0.50");
        terrain.sand[y * 8 + x] = 0.25;
        terrain.water[y * 8 + x] = 2.0;
        assert!(text(UnitSystem::Metric, &terrain, x, y).contains("sand 0.25 m · water 2.00 m"));
        assert!(
            text(UnitSystem::Feet, &terrain, x, y).contains("ft ·")
                && !text(UnitSystem::Feet, &terrain, x, y).contains(" m ")
        );
        assert_eq!(terrain.bedrock.cell_at([1.0, 1.0]), (7, 3));
        assert_eq!(place_text(UnitSystem::Metric, &terrain, None, [0.5, 0.75]), "x 4 m, y 3 m");
        let (west, north, width, height, crs) = (5e5, 6e6, 800.0, 400.0, Crs::default());
        let geo = Georeference { west, north, width, height, crs };
        assert_eq!(place_text(UnitSystem::Feet, &terrain, Some(&geo), [0.5, 0.25]), "x 500400, y 5999900");
    }
}
