//! Terrain panel: generator, size, seed, imports, sand and drainage.

use bevy::prelude::*;
use bevy_egui::egui::{self, RichText, Ui};
use egui_phosphor::regular as icon;

use super::DrainageCommand;
use crate::shell::{
    access,
    commands::buttons_ui,
    commands::{AddCommands, CommandTable, MenuSection},
    files::import_request,
    group::{group_ui, set},
    number::NumberField,
    panel::{AddPanel, EVERYWHERE, SidebarPanel},
    style,
};
use crate::world::{AppCommand, EditCommand, Jobs, Restarts, SimulationCommand, Simulations, Workspace};
use thalweg_sim::{
    core::{bounds::SIDES, terrain::Layer},
    generate::TerrainParams,
    hydrology::breach::Limits,
};

/// Available sizes, in cells along the shorter side.
const SIZES: [u32; 6] = [128, 256, 512, 1024, 2048, *SIDES.end() as u32];

const PANEL: SidebarPanel =
    SidebarPanel { key: "terrain", title: "Terrain", workspaces: EVERYWHERE, unfolded: &[], in_lessons: false };

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui).add_commands("Edit", 20, commands);
}

fn commands(table: &mut MenuSection) {
    table
        .add(
            icon::STACK,
            "-Add 1 m of sand",
            "Add a layer of sand to the whole terrain.",
            &[],
            EditCommand::AddSand(1.0),
        )
        .set_aliases("spread metre cover dust");
    table.add(
        icon::BROOM,
        "Remove all sand",
        "Remove all sand and leave the bare bedrock.",
        &[],
        EditCommand::RemoveSand,
    );
    table
        .add(
            icon::SUN,
            "Remove all water",
            "Remove all water and let its sediment settle.",
            &[],
            EditCommand::RemoveWater,
        )
        .set_aliases("dry everything drain empty");
    let carve = "Carve an outlet from each depression, up to 1 km long and 30 m deep.";
    table
        .add(icon::SHOVEL, "-Carve outlets", carve, &[], DrainageCommand::CarveOutlets(DEFAULT_CUT_LIMITS))
        .set_aliases("breach depressions pits sinks");
    let lakes = "Fill every depression with water up to its spill point.";
    table.add(icon::WAVES, "Fill lakes", lakes, &[], DrainageCommand::FillLakes).set_aliases("flood ponds basins");
    let rivers = "Fill rivers and lakes to their steady state under the rain and springs set in Water.";
    table
        .add(icon::DROP_HALF_BOTTOM, "Fill rivers", rivers, &[], DrainageCommand::FillRivers)
        .set_aliases("streams water flow discharge");
}

fn panel_ui(
    InMut(ui): InMut<Ui>,
    simulations: Res<Simulations>,
    workspace: Res<State<Workspace>>,
    (jobs, restarts, table): (Res<Jobs>, Res<Restarts>, Res<CommandTable>),
    mut next: Local<TerrainPanelState>,
) -> Vec<AppCommand> {
    let mut commands = Vec::new();
    let main_only = *workspace == Workspace::Learn;
    let session = simulations.selected();
    ui.horizontal(|ui| {
        let mut seed = session.simulation.seed();
        let label = ui.label("Seed");
        let field = NumberField::new("Seed", "", 0..=u64::MAX).drag_ui(ui, &mut seed, |field| field.speed(0.1));
        let field = field.labelled_by(label.id);
        if field.on_hover_text("The same seed always gives exactly the same terrain and rain.").changed() {
            commands.push(SimulationCommand::SetSeed(seed).into());
        }
        if ui
            .button(format!("{} New", icon::DICE_FIVE))
            .on_hover_text("Restart with the next seed (Shift+R).")
            .clicked()
        {
            commands.push(SimulationCommand::NewSeed.into());
        }
        if session.heightmap.is_none() {
            let side = session.terrain.width.min(session.terrain.height);
            let sizes = egui::ComboBox::from_id_salt("size")
                .width(style::SHORT_CHOICE_WIDTH)
                .selected_text(format!("{side} cells"));
            let shown = sizes.show_ui(ui, |ui| {
                access::begin_list(ui);
                for size in SIZES {
                    if access::choice(ui, size == side, format!("{size} cells")).clicked() && size != side {
                        commands.push(SimulationCommand::SetSize(size).into());
                        ui.close();
                    }
                }
            });
            access::name(&shown.response, "Cells along the shorter side");
            shown.response.on_hover_text("Number of cells along the shorter side. The extent stays the same.");
        }
    });
    if session.heightmap.is_some() {
        ui.label(RichText::new("Imported heightmap: only Edge, Sand thickness and Uplift apply.").weak());
    }
    let terrain = restarts.pending_terrain(session);
    let changes = group_ui(ui, ("terrain", &terrain), ("terrain", &TerrainParams::default()), main_only);
    commands.extend(set("terrain", changes));
    if main_only {
        return commands;
    }
    ui.horizontal_wrapped(|ui| {
        ui.label("Import");
        for (layer, import) in Layer::imports().filter(|(_, import)| import.offered) {
            if ui.button(format!("{}…", import.title)).clicked() {
                commands.push(import_request(layer).into());
            }
        }
    });
    ui.horizontal_wrapped(|ui| {
        if ui.button("Add sand").on_hover_text("Add a layer of sand of this thickness to the whole terrain.").clicked()
        {
            commands.push(EditCommand::AddSand(next.sheet).into());
        }
        let thickness = NumberField::new("Thickness", "m", 0.01..=100.0);
        let thickness = thickness.drag_ui(ui, &mut next.sheet, |field| field.speed(0.02));
        thickness.on_hover_text("Thickness of the layer.");
        if ui.button("Remove all sand").clicked() {
            commands.push(EditCommand::RemoveSand.into());
        }
        if ui.button("Remove all water").clicked() {
            commands.push(EditCommand::RemoveWater.into());
        }
    });
    commands.extend(drainage_ui(ui, (&jobs, &table), &mut next.limits));
    commands
}

/// Default limits of carved outlets.
const DEFAULT_CUT_LIMITS: Limits = Limits { length: 1000.0, depth: 30.0 };

/// Settings of the next operations on the terrain.
pub(super) struct TerrainPanelState {
    /// Thickness of the next layer of sand, in metres.
    sheet: f32,
    /// Limits of the next outlets.
    limits: Limits,
}

impl Default for TerrainPanelState {
    fn default() -> Self {
        Self { sheet: 1.0, limits: DEFAULT_CUT_LIMITS }
    }
}

/// Draws the drainage controls: filling lakes and rivers, and carving outlets.
fn drainage_ui(ui: &mut Ui, (jobs, table): (&Jobs, &CommandTable), limits: &mut Limits) -> Vec<AppCommand> {
    let mut asked =
        buttons_ui(ui, (jobs, table), &[DrainageCommand::FillLakes, DrainageCommand::FillRivers].map(AppCommand::from));
    ui.horizontal_wrapped(|ui| {
        let help = "Carve an outlet from each depression, within the maximum length and depth.";
        if ui.button("Carve outlets").on_hover_text(help).clicked() {
            asked.push(DrainageCommand::CarveOutlets(*limits).into());
        }
        ui.label("up to");
        let length = NumberField::new("Maximum length", "m", 1.0..=1e6);
        let length = length.drag_ui(ui, &mut limits.length, |field| field.speed(10.0).max_decimals(0));
        length.on_hover_text("Maximum length of an outlet, along its path.");
        let depth = NumberField::new("Maximum depth", "m", 0.1..=1e4);
        let depth = depth.drag_ui(ui, &mut limits.depth, |field| field.speed(0.5).max_decimals(1));
        depth.on_hover_text("Maximum depth of an outlet.");
    });
    asked
}
