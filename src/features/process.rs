//! Process panels: enabled state, progress, status and parameters.

use bevy::prelude::*;
use bevy_egui::egui::{self, RichText, Ui, WidgetInfo, WidgetType, collapsing_header::CollapsingState};

use crate::shell::{
    group::{Changes, all_of_group_ui, group_ui, presets_ui, set},
    navigate,
    panel::{AddPanel, EVERYWHERE, SidebarPanel},
    style::{self, duration, grouped, rounded_count},
};
use crate::world::{AppCommand, EditCommand, Simulations, Workspace};
use thalweg_sim::{
    core::terrain::Terrain,
    params::{self, Parameter, Value, collect_parameters},
    process::{IdleReason, Process, masked::masked_key, wind::thinnest_sheet},
    simulation::Slot,
};

/// All processes in catalogue order. Each draws its own heading with a checkbox.
const PANEL: SidebarPanel =
    SidebarPanel { key: "processes", title: "", workspaces: EVERYWHERE, unfolded: &[], in_lessons: false };

pub(super) fn plugin(app: &mut App) {
    app.add_panel(PANEL, panel_ui);
}

fn panel_ui(InMut(ui): InMut<Ui>, simulations: Res<Simulations>, workspace: Res<State<Workspace>>) -> Vec<AppCommand> {
    let session = simulations.selected();
    let (learn, terrain) = (*workspace == Workspace::Learn, &session.simulation.terrain);
    let mut asked = Vec::new();
    for (slot, fresh) in session.simulation.slots.iter().zip(session.defaults().simulation.slots) {
        process_ui(ui, (&session.name, terrain), slot, &*fresh.process, learn, &mut asked);
    }
    asked
}

/// Draws a process: checkbox in the header, progress, status and parameters. Processes enabled at the start of a scene are
/// unfolded.
fn process_ui(
    ui: &mut Ui,
    (scene, terrain): (&str, &Terrain),
    slot: &Slot,
    fresh: &dyn Process,
    main_only: bool,
    commands: &mut Vec<AppCommand>,
) {
    let masked = terrain.mask.is_some();
    let info = slot.process.info();
    let id = ui.make_persistent_id((scene, info.key));
    let mut folding = CollapsingState::load_with_default_open(ui.ctx(), id, slot.enabled);
    if navigate::has_navigation_target(ui, info.key) {
        folding.set_open(true);
    }
    let (toggle, ..) = folding
        .show_header(ui, |ui| {
            let mut on = slot.enabled;
            let text = RichText::new(info.title).heading();
            if ui.checkbox(&mut on, text).on_hover_text(format!("{}\n{}", info.about, info.reference.source)).changed()
            {
                commands.push(EditCommand::Enable(info.key, on).into());
            }
        })
        .body(|ui| {
            if let Some((particles, total)) = slot.particles() {
                let share = particles as f64 / total.max(1) as f64;
                let text = format!("{} of {} ({:.0} %)", grouped(particles), grouped(total), 100.0 * share);
                let bar = egui::ProgressBar::new((share as f32).min(1.0)).text(RichText::new(text).small());
                ui.add(bar.desired_height(16.0))
                    .on_hover_text("Particles simulated so far, out of the specified total.");
            }
            if masked {
                let mut limited = slot.limited;
                let help =
                    "Leave the ground under the mask unchanged. The ledger records the suppressed change as an edit.";
                if ui.checkbox(&mut limited, "Limit to unmasked terrain").on_hover_text(help).changed() {
                    commands.push(EditCommand::Limit(info.key, limited).into());
                }
            }
            commands.extend(status_ui(ui, slot, terrain));
            let changes = group_ui(ui, (info.key, slot.process.params()), (info.key, fresh.params()), main_only);
            commands.extend(set(info.key, changes));
            if masked && !main_only {
                commands.extend(set(masked_key(info.key), factors_ui(ui, slot, fresh)));
            }
            if !main_only {
                let help = "Load a set of parameter values from a publication or for a type of terrain.";
                commands.extend(presets_ui(ui, info.key, ("Presets", help)));
            }
        });
    toggle.widget_info(|| {
        WidgetInfo::labeled(WidgetType::CollapsingHeader, true, format!("Parameters of {}", info.title))
    });
}

/// Draws a line about the last tick of a process or, if it has no effect on the terrain, the reason and a button that remedies it.
/// The line keeps its height when it is empty, so that the rows below do not move. Returns the command of the button.
fn status_ui(ui: &mut Ui, slot: &Slot, terrain: &Terrain) -> Option<AppCommand> {
    let reason = if slot.enabled { slot.process.idle_reason(terrain) } else { None };
    let idle = reason.map(|reason| explain_idle(slot, terrain, reason));
    let size = egui::vec2(ui.available_width(), ui.spacing().interact_size.y);
    let row = ui.allocate_ui_with_layout(size, egui::Layout::right_to_left(egui::Align::Center), |ui| {
        ui.set_min_height(size.y);
        ui.add_space(style::SCROLL_BAR);
        let (text, help, remedy) = match idle {
            Some((why, remedy)) => (RichText::new(why).color(ui.visuals().warn_fg_color), why.to_owned(), remedy),
            None if slot.enabled => {
                let (text, help) = last_tick(&*slot.process);
                (RichText::new(text).weak(), help, None)
            }
            None => return None,
        };
        let clicked = remedy.and_then(|(button, remedy)| ui.small_button(button).clicked().then(|| remedy.into()));
        ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
            ui.add(egui::Label::new(text.small()).truncate()).on_hover_text(help);
        });
        clicked
    });
    row.inner
}

/// Returns the reason why a process has no effect on a terrain as a sentence, and a button that remedies it, if any.
fn explain_idle(slot: &Slot, terrain: &Terrain, reason: IdleReason) -> (&'static str, Option<(String, EditCommand)>) {
    let spread = |metres: f32| Some((format!("Add {metres} m of sand"), EditCommand::AddSand(metres)));
    match reason {
        IdleReason::NoSand => {
            ("There is no sand for the wind to transport.", spread((2.0 * thinnest_sheet(terrain.cell_size)).ceil()))
        }
        IdleReason::ThinSand { needed } => {
            ("The sand is too thin to form dunes at this cell size.", spread((2.0 * needed).ceil()))
        }
        IdleReason::LevelGround => {
            ("The terrain is level, so no water flows. Sculpt it, or create a new terrain.", None)
        }
        IdleReason::StableSlopes => {
            ("No slope is steep enough to fail. Lower the angle of repose, or sculpt steeper terrain.", None)
        }
        IdleReason::NoWater { rain } => {
            let default = slot.process.boxed_default();
            let usual = params::get(&[(slot.key(), default.params())], &format!("{}.{rain}", slot.key()));
            let remedy = |usual: Parameter| EditCommand::Set(slot.key().to_owned(), rain, usual.value);
            ("There is no water, rain or spring.", usual.ok().map(|usual| ("Enable rain".to_owned(), remedy(usual))))
        }
    }
}

/// Returns the time that the last tick represents and the limiters that were applied in it, with an explanation.
fn last_tick(process: &dyn Process) -> (String, String) {
    let (mut parts, mut help) = (Vec::new(), Vec::new());
    let (seconds, acceleration) = (process.setup().elapsed(), process.capabilities().acceleration);
    if seconds > 0.0 {
        parts.push(match acceleration.map(f64::from).filter(|&times| times > 1.0) {
            Some(times) => {
                let bed = duration(times * seconds);
                format!("One tick represents {} of flow and {bed} of bed change", duration(seconds))
            }
            None => format!("One tick represents {}", duration(seconds)),
        });
        help.push(
            "Simulated time of this process in the last tick. The clock of the simulation follows Water if it is enabled, otherwise \
             Thermal erosion, otherwise the first enabled process."
                .to_owned(),
        );
    }
    let limiters = process.limiters();
    let applied: Vec<String> = limiters
        .iter()
        .filter(|(_, count)| count.last > 0)
        .map(|(limiter, count)| format!("{} {}×", limiter.title().to_lowercase(), rounded_count(count.last)))
        .collect();
    if !applied.is_empty() {
        parts.push(format!("Limiters: {}", applied.join(", ")));
        help.push(
            "Number of times each limiter was applied in the last tick to keep the computation stable.".to_owned(),
        );
        help.extend(limiters.iter().map(|(limiter, count)| {
            format!("{}: {} Total: {}×.", limiter.title(), limiter.about, rounded_count(count.all))
        }));
    }
    // The line may be too short for its text.
    let text = parts.join(" · ");
    help.insert(0, text.clone());
    (text, help.join("\n"))
}

/// Draws the factors by which the mask multiplies the parameters of a process.
fn factors_ui(ui: &mut Ui, slot: &Slot, fresh: &dyn Process) -> Changes {
    let info = slot.process.info();
    let ([params, factors], [_, untouched]) = (slot.process.settings(), fresh.settings());
    let declared = collect_parameters((info.key, params));
    let named = |parameter: &Parameter, value: Value| parameter.name == "mode" && parameter.value == value;
    let published = declared.iter().any(|mode| named(mode, Value::Choice("published".to_owned())));
    // A factor is idle if its parameter is.
    let idle = |factor: &Parameter| {
        declared.iter().find(|parameter| parameter.name == factor.name).and_then(|found| found.knob.idle(&declared))
    };
    let header = egui::CollapsingHeader::new("Under the mask").id_salt(masked_key(info.key));
    let drawn = header.show(ui, |ui| {
        if published {
            ui.label(RichText::new("In the published mode, parameters are uniform across the map.").small().weak());
        }
        ui.add_enabled_ui(!published, |ui| {
            all_of_group_ui(ui, (masked_key(info.key), factors), (masked_key(info.key), untouched), idle)
        })
        .inner
    });
    drawn.body_returned.unwrap_or_default()
}
