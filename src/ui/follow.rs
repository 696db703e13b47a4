//! A particle that is released on the land and followed step by step: its numbers, its plots, and its way over the picture.

use bevy_egui::egui::{self, CursorIcon, RichText, Ui};
use egui_phosphor::regular as icon;

use super::{
    Kept, PanelState, access,
    chart::chart_ui,
    number::{Number, units},
    panel::{EVERYWHERE, Panel},
    style,
};
use crate::{
    model::chart::told,
    runtime::{
        BrushCommand, Command, ShowCommand, Way,
        amount::{length, told_in},
        charts,
    },
    settings::Units,
};

pub const PANEL: Panel =
    Panel { key: "follow", title: "Follow a particle", workspaces: EVERYWHERE, unfolded: &[], draw };

/// Slowest and fastest pace, in steps per second.
const PACES: std::ops::RangeInclusive<f32> = 1.0..=60.0;

/// How the person looks at the particle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Following {
    /// Whether the next click on the land releases one.
    wanted: bool,
    /// The step that is shown, with the part of the next one that has passed.
    step: f32,
    /// Whether steps follow each other, and how many in a second.
    plays: bool,
    pace: f32,
    /// The way that this is of, by its tick and length: another one begins at its start.
    of: Option<(u64, usize, [u32; 2])>,
}

impl Default for Following {
    fn default() -> Self {
        Self { wanted: false, step: 0.0, plays: true, pace: 10.0, of: None }
    }
}

impl Following {
    /// The next click on the land releases one.
    pub(super) fn want(&mut self) {
        self.wanted = true;
    }

    /// The next click on the land releases none.
    pub(super) fn leave(&mut self) {
        self.wanted = false;
    }

    /// Whether the next click on the land releases one.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// Goes on along a way as time passes. It asks for the next frame as long as it does.
    fn go_on(&mut self, context: &egui::Context, way: &Way) {
        let last = (way.moments.len() - 1) as f32;
        self.step_of(way);
        if self.plays {
            let seconds = context.input(|input| input.stable_dt).min(0.1);
            self.step = (self.step + self.pace * seconds).min(last);
            self.plays = self.step < last;
            context.request_repaint();
        }
    }

    /// The step of a way that is shown now.
    fn step_of(&mut self, way: &Way) -> usize {
        let of = Some((way.tick, way.moments.len(), way.moments[0].place.map(f32::to_bits)));
        if self.of != of {
            (self.of, self.step, self.plays) = (of, 0.0, true);
        }
        (self.step as usize).min(way.moments.len() - 1)
    }
}

fn draw(ui: &mut Ui, state: &PanelState<'_>, memory: &mut Kept) -> Vec<Command> {
    let mut asked = Vec::new();
    ui.horizontal_wrapped(|ui| {
        let help = "Then click on the land. A droplet or a grain of the wind runs from there, on a copy: the land stays as it is.";
        let on = memory.following.wanted;
        let text = format!("{} Release a particle", icon::DROP);
        if access::choice(ui, on, text).on_hover_text(help).clicked() {
            memory.empty_the_hand();
            memory.following.wanted = !on;
            asked.push(BrushCommand::Hold(None).into());
        }
        if state.followed.0.is_some() && ui.button("Remove").on_hover_text("Removes its way").clicked() {
            asked.push(ShowCommand::Unfollow.into());
        }
    });
    let Some(way) = &state.followed.0 else {
        let text = "One droplet, or one grain of the wind under its law 2020, step by step: speed, load, what it digs and lays down.";
        ui.label(RichText::new(text).weak());
        return asked;
    };
    let following = &mut memory.following;
    let step = following.step_of(way);
    steps_ui(ui, following, way.moments.len() - 1);
    let units = units(ui);
    numbers_ui(ui, way, step, units);
    for chart in charts::followed(way, units) {
        asked.extend(chart_ui(ui, chart, ""));
    }
    asked
}

/// Which step is shown, and how they follow each other.
fn steps_ui(ui: &mut Ui, following: &mut Following, last: usize) {
    ui.horizontal(|ui| {
        let (sign, name) =
            if following.plays { (icon::PAUSE, "Pause its steps") } else { (icon::PLAY, "Play its steps") };
        let button = ui.button(sign).on_hover_text(name);
        access::name(&button, name);
        if button.clicked() {
            following.plays = !following.plays;
            if following.plays && following.step >= last as f32 {
                following.step = 0.0;
            }
        }
        for (sign, name, way) in [(icon::CARET_LEFT, "One step back", -1.0), (icon::CARET_RIGHT, "One step on", 1.0)] {
            let button = ui.button(sign).on_hover_text(name);
            access::name(&button, name);
            if button.clicked() {
                following.plays = false;
                following.step = (following.step.floor() + way).clamp(0.0, last as f32);
            }
        }
        let mut step = following.step as usize;
        let label = ui.label("Step");
        let slider = Number::new("Step", "", 0..=last).slider_ui(ui, &mut step, |slider| slider);
        if slider.labelled_by(label.id).changed() {
            (following.plays, following.step) = (false, step as f32);
        }
    });
    ui.horizontal(|ui| {
        let label = ui.label("Steps per second");
        let slider = Number::new("Steps per second", "", PACES)
            .slider_ui(ui, &mut following.pace, |slider| slider.logarithmic(true).max_decimals(0));
        slider.labelled_by(label.id);
    });
}

/// The particle after a step.
fn numbers_ui(ui: &mut Ui, way: &Way, step: usize, units: Units) {
    let moment = &way.moments[step];
    let (volume, times) = told_in(units, "m³");
    let cubic = |amount: f64| format!("{} {volume}", told(times * amount));
    let (taken, [dug, laid]) = (way.taken(step), way.dug_and_laid(step));
    ui.label(RichText::new(format!("{}, after tick {}", way.process, way.tick)).strong());
    egui::Grid::new("followed").num_columns(2).spacing([14.0, 2.0]).striped(true).show(ui, |ui| {
        let mut row = |name: &str, value: String, help: &str| style::value_row(ui, name, value, help);
        row("Height of the ground", length(units, way.ground[step].into(), 2), "Below it, before it ran.");
        let help =
            "In the unit of its law. Streams go from cell to cell whatever their speed: it is the length of the step.";
        row("Speed", told(moment.speed.into()), help);
        if let Some(water) = moment.water {
            row("Water", format!("{:.1} %", 100.0 * water), "What is left of that of a fresh droplet.");
        }
        row("Load", cubic(f64::from(moment.load) * way.cell_area()), "Ground that it carries.");
        if let Some(capacity) = moment.capacity {
            let help = "What it could carry in this step. With less on board it digs, with more it lays some down.";
            row("Capacity", cubic(f64::from(capacity) * way.cell_area()), help);
        }
        let name = if taken < 0.0 { "Laid down in this step" } else { "Dug in this step" };
        row(name, cubic(taken.abs()), "What its load has changed by.");
        row("Dug so far", cubic(dug), "Since it was released.");
        row("Laid down so far", cubic(laid), "Since it was released.");
    });
    let text = if step + 1 == way.moments.len() {
        "Here it ends: it has left the map, lies in a hollow, or has no water left. What it carries is laid down here or leaves with it."
    } else {
        "On the land its way is thin where it digs, and wide where it lays down."
    };
    ui.label(RichText::new(text).weak().small());
}

/// The way over the picture up to the step that is shown, and the click that releases a particle.
pub fn way_ui(root: &mut Ui, view: egui::Rect, state: &PanelState<'_>, following: &mut Following) -> Option<Command> {
    let painter = root.painter().with_clip_rect(view);
    if let Some(way) = &state.followed.0
        && state.followed_trace.0.len() == way.moments.len()
    {
        following.go_on(root.ctx(), way);
        let step = following.step_of(way);
        let place = |step: usize| {
            state.followed_trace.0[step].map(|share| view.min + egui::vec2(share.x, share.y) * view.size())
        };
        let all: Vec<egui::Pos2> = (0..way.moments.len()).filter_map(place).collect();
        painter.line(all, egui::Stroke::new(3.0, style::SHADE));
        // What digs and what lays down differ by width too.
        for now in 1..=step {
            let (Some(from), Some(to)) = (place(now - 1), place(now)) else { continue };
            let (color, width) = if way.taken(now) < 0.0 { (style::SPRING, 3.5) } else { (style::WARNING, 2.0) };
            painter.line_segment([from, to], egui::Stroke::new(width, color));
        }
        if let Some(now) = place(step) {
            painter.circle(now, style::MARK_RADIUS * 0.6, style::SPRING, egui::Stroke::new(1.5, egui::Color32::WHITE));
        }
    }
    if !following.wanted {
        return None;
    }
    let place = view.center_top() + egui::vec2(0.0, 40.0);
    style::shaded_text(
        &painter,
        place,
        egui::Align2::CENTER_CENTER,
        "Click on the land. Esc cancels.",
        13.0,
        style::SHADE,
    );
    let over = root.interact(view, root.id().with("release"), egui::Sense::hover());
    over.on_hover_cursor(CursorIcon::Crosshair);
    if root.input(|input| input.key_pressed(egui::Key::Escape)) {
        following.wanted = false;
        return None;
    }
    let clicked = access::clicks_land(root, view);
    let place = state.pointed.0.filter(|_| clicked)?;
    following.wanted = false;
    Some(ShowCommand::Release(place).into())
}
