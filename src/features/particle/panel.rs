//! Panel of the followed particle: playback, values and charts, and its track over the view.

use super::{FollowedParticle, ParticleCommand, ParticleTrace, ParticleTrajectory, chart};
use bevy::prelude::*;
use bevy_egui::egui::{self, RichText, Ui};
use egui_phosphor::regular as icon;

use crate::shell::{
    access,
    chart::chart_ui,
    commands::{AddCommands, MenuSection},
    number::{NumberField, units},
    panel::{AddPanel, EVERYWHERE, LayerVisibility, SidebarPanel},
    placement::{BeginPlacement, Placement, PlacementKind, choice_ui},
    style,
};
use crate::world::{
    AppCommand, PointedPosition, ViewPlaces,
    amount::{display_unit, length},
};
use thalweg_scene::{model::chart::format_number, settings::UnitSystem};

const PANEL: SidebarPanel =
    SidebarPanel { key: "follow", title: "Particle tracker", workspaces: EVERYWHERE, unfolded: &[], in_lessons: true };

/// Range of the playback rate, in steps per second.
const PLAYBACK_RATES: std::ops::RangeInclusive<f32> = 1.0..=60.0;

/// Playback of the followed particle.
#[derive(Resource, Clone, Copy, Debug, PartialEq)]
pub struct ParticlePlayback {
    /// Current step, with the elapsed fraction of the next.
    step: f32,
    /// `true` while playing.
    plays: bool,
    /// Playback rate, in steps per second.
    steps_per_second: f32,
    /// Number of the release that is played; another one starts from the beginning.
    of: u64,
}

impl Default for ParticlePlayback {
    fn default() -> Self {
        Self { step: 0.0, plays: true, steps_per_second: 10.0, of: 0 }
    }
}

impl ParticlePlayback {
    /// Advances the playback with time, and requests the next frame while playing.
    fn advance(&mut self, context: &egui::Context, last: usize) {
        if self.plays {
            let seconds = context.input(|input| input.stable_dt).min(0.1);
            self.step = (self.step + self.steps_per_second * seconds).min(last as f32);
            self.plays = self.step < last as f32;
            context.request_repaint();
        }
    }

    /// Returns the current step of a track.
    fn step_of(&mut self, followed: &FollowedParticle, trajectory: &ParticleTrajectory) -> usize {
        if self.of != followed.releases {
            (self.of, self.step, self.plays) = (followed.releases, 0.0, true);
        }
        (self.step as usize).min(trajectory.last())
    }
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<ParticlePlayback>()
        .add_panel(PANEL, panel_ui)
        .add_view_layer(LayerVisibility::Panels, track_ui)
        .add_commands("View", 50, commands);
}

fn commands(table: &mut MenuSection) {
    let release = "Click on the terrain to release a droplet or a wind-blown grain, and follow it step by step.";
    table
        .add(icon::DROP, "Release particle", release, &[], BeginPlacement(PlacementKind::Particle))
        .set_aliases("follow droplet grain track step single drop");
}

fn panel_ui(
    InMut(ui): InMut<Ui>,
    followed: Res<FollowedParticle>,
    mut placement: ResMut<Placement>,
    mut following: ResMut<ParticlePlayback>,
) -> Vec<AppCommand> {
    let mut asked = Vec::new();
    ui.horizontal_wrapped(|ui| {
        let help = "Click on the terrain to release a particle. It runs on a copy, so the terrain does not change.";
        let text = format!("{} Release particle", icon::DROP);
        asked.extend(choice_ui(ui, &mut placement, PlacementKind::Particle, (&text, help)));
        if followed.track.is_some() && ui.button("Remove").on_hover_text("Remove the track.").clicked() {
            asked.push(ParticleCommand::Unfollow.into());
        }
    });
    let Some(trajectory) = &followed.track else {
        let text = "Follow one droplet, or one grain of Wind in its published mode, step by step: speed, load, erosion and deposition.";
        ui.label(RichText::new(text).weak());
        return asked;
    };
    let step = following.step_of(&followed, trajectory);
    steps_ui(ui, &mut following, trajectory.last());
    let units = units(ui);
    numbers_ui(ui, trajectory, step, units);
    for chart in chart::charts(trajectory, units) {
        asked.extend(chart_ui(ui, chart, ""));
    }
    asked
}

/// Draws the playback controls.
fn steps_ui(ui: &mut Ui, following: &mut ParticlePlayback, last: usize) {
    ui.horizontal(|ui| {
        let (sign, name) =
            if following.plays { (icon::PAUSE, "Pause playback") } else { (icon::PLAY, "Start playback") };
        let button = ui.button(sign).on_hover_text(name);
        access::name(&button, name);
        if button.clicked() {
            following.plays = !following.plays;
            if following.plays && following.step >= last as f32 {
                following.step = 0.0;
            }
        }
        for (sign, name, direction) in
            [(icon::CARET_LEFT, "Previous step", -1.0), (icon::CARET_RIGHT, "Next step", 1.0)]
        {
            let button = ui.button(sign).on_hover_text(name);
            access::name(&button, name);
            if button.clicked() {
                following.plays = false;
                following.step = (following.step.floor() + direction).clamp(0.0, last as f32);
            }
        }
        let mut step = following.step as usize;
        let label = ui.label("Step");
        let slider = NumberField::new("Step", "", 0..=last).slider_ui(ui, &mut step, |slider| slider);
        if slider.labelled_by(label.id).changed() {
            (following.plays, following.step) = (false, step as f32);
        }
    });
    ui.horizontal(|ui| {
        let label = ui.label("Steps per second");
        let slider = NumberField::new("Steps per second", "", PLAYBACK_RATES).slider_ui(
            ui,
            &mut following.steps_per_second,
            |slider| slider.logarithmic(true).max_decimals(0),
        );
        slider.labelled_by(label.id);
    });
}

/// Draws the values of the particle after a step.
fn numbers_ui(ui: &mut Ui, trajectory: &ParticleTrajectory, step: usize, units: UnitSystem) {
    let moment = &trajectory.states[step];
    let (volume, times) = display_unit(units, "m³");
    let cubic = |amount: f64| format!("{} {volume}", format_number(times * amount));
    let (taken, [dug, laid]) = (trajectory.entrained_volume(step), trajectory.eroded_and_deposited(step));
    ui.label(RichText::new(format!("{}, after tick {}", trajectory.process, trajectory.tick)).strong());
    egui::Grid::new("followed").num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        let mut row = |name: &str, value: String, help: &str| style::value_row(ui, name, value, help);
        row(
            "Ground height",
            length(units, trajectory.ground[step].into(), 2),
            "Ground height below the particle, before its release.",
        );
        let help = "In the units of the selected law. For Streams, the length of the step in cells.";
        row("Speed", format_number(moment.speed.into()), help);
        if let Some(water) = moment.water {
            row("Water", format!("{:.1} %", 100.0 * water), "Remaining water, as a percentage of the initial water.");
        }
        row("Load", cubic(f64::from(moment.load) * trajectory.cell_area()), "Sediment carried.");
        if let Some(capacity) = moment.capacity {
            let help = "Transport capacity in this step. The particle erodes below it and deposits above it.";
            row("Capacity", cubic(f64::from(capacity) * trajectory.cell_area()), help);
        }
        let name = if taken < 0.0 { "Deposited in this step" } else { "Eroded in this step" };
        row(name, cubic(taken.abs()), "Change in load in this step.");
        row("Eroded so far", cubic(dug), "Since its release.");
        row("Deposited so far", cubic(laid), "Since its release.");
    });
    let text = if step == trajectory.last() {
        "End of the track: the particle has left the map, has stopped in a depression, or has no water left. Its load is deposited here or \
            leaves the map."
    } else {
        "In the viewport, the track is thin where the particle erodes and wide where it deposits."
    };
    ui.label(RichText::new(text).weak().small());
}

/// Draws the track over the view, up to the current step.
fn track_ui(
    InMut(ui): InMut<Ui>,
    followed: Res<FollowedParticle>,
    trace: Single<&ViewPlaces, With<ParticleTrace>>,
    pointed: Res<PointedPosition>,
    mut following: ResMut<ParticlePlayback>,
    mut placement: ResMut<Placement>,
) -> Vec<AppCommand> {
    let view = ui.max_rect();
    let painter = ui.painter().with_clip_rect(view);
    if let Some(trajectory) = &followed.track
        && trace.0.len() == trajectory.states.len()
    {
        following.step_of(&followed, trajectory);
        following.advance(ui.ctx(), trajectory.last());
        let step = following.step_of(&followed, trajectory);
        let place = |step: usize| trace.0[step].map(|share| view.min + egui::vec2(share.x, share.y) * view.size());
        let steps = |until: usize| (1..=until).filter(|step| !trajectory.wraps_in(*step));
        for now in steps(trajectory.last()) {
            let (Some(from), Some(to)) = (place(now - 1), place(now)) else { continue };
            painter.line_segment([from, to], egui::Stroke::new(3.0, style::SHADE));
        }
        // Erosion and deposition differ in width too.
        for now in steps(step) {
            let (Some(from), Some(to)) = (place(now - 1), place(now)) else { continue };
            let (color, width) =
                if trajectory.entrained_volume(now) < 0.0 { (style::SPRING, 3.5) } else { (style::WARNING, 2.0) };
            painter.line_segment([from, to], egui::Stroke::new(width, color));
        }
        if let Some(now) = place(step) {
            painter.circle(now, style::MARK_RADIUS * 0.6, style::SPRING, egui::Stroke::new(1.5, egui::Color32::WHITE));
        }
    }
    placement
        .clicked(ui, PlacementKind::Particle, &pointed)
        .map(|place| ParticleCommand::Release(place).into())
        .into_iter()
        .collect()
}
