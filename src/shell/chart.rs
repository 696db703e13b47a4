//! A chart in a panel: its title, options menu and curves.

use crate::world::{AppCommand, AppCommandEvent, Jobs, Notices};
use bevy::prelude::{App, Event, On, ResMut};
use bevy_egui::egui::{self, Color32, Ui};
use egui_phosphor::regular as icon;
use egui_plot::{Axis, AxisHints, Corner, GridMark, Legend, Line, LineStyle, Plot, PlotBounds, PlotPoints, Points};
use std::path::PathBuf;

use super::{access, file_request::FileRequest, style};
use thalweg_scene::{
    io,
    io::chart::describe,
    model::chart::{Chart, MarkerStyle, Range, format_number, ticks},
};

/// Space between the curves and the edges of a plot, as a fraction of its range.
const MARGIN: f64 = 0.05;

/// Display options of a chart that the user has set.
#[derive(Clone, Copy, Debug, Default)]
struct ChartView {
    /// `true` for logarithmic axes, if not the default ones of the chart.
    logarithmic: Option<[bool; 2]>,
    /// Locked axis range.
    range: Option<Range>,
    /// `true` if the chart also has a window of its own.
    enlarged: bool,
}

/// Draws a chart with its options menu, and a second time in a window of its own if that was chosen in the menu. Later curves are drawn
/// behind earlier ones.
pub(crate) fn chart_ui(ui: &mut Ui, mut chart: Chart, about: &str) -> Option<AppCommand> {
    let asked = head_ui(ui, &mut chart, about, true);
    plot_ui(ui, &chart, chart.key, style::PLOT_HEIGHT);
    let id = egui::Id::new(("chart", chart.key));
    if ui.data(|data| data.get_temp(id).is_some_and(|view: ChartView| view.enlarged)) {
        let mut open = true;
        egui::Window::new(&chart.title)
            .id(id.with("window"))
            .default_size(style::LARGE_PLOT_SIZE)
            .default_pos(style::LARGE_PLOT_POSITION)
            .open(&mut open)
            .show(ui.ctx(), |ui| {
                let height = ui.available_height();
                plot_ui(ui, &chart, &format!("{}, enlarged", chart.key), height);
            });
        if !open {
            ui.data_mut(|data| data.get_temp_mut_or_default::<ChartView>(id).enlarged = false);
        }
    }
    asked
}

/// Draws the curves of a chart.
fn plot_ui(ui: &mut Ui, chart: &Chart, name: &str, height: f32) {
    let range = chart.shown_range();
    // Bounds are set in every frame, as setting them once disables automatic ones for good.
    let margin = if chart.range.is_some() { 0.0 } else { MARGIN };
    let [[left, right], [low, high]] =
        range.map(|[low, high]| [low - margin * (high - low), high + margin * (high - low)]);
    let [x, y] = [&*chart.axes[0], &*chart.axes[1]];
    let mut plot = plot(ui, name, [x, y], chart.logarithmic).height(height);
    if chart.curves.len() > 1 {
        plot = plot.legend(Legend::default().position(corner(chart)).text_style(egui::TextStyle::Small));
    }
    let real = chart.logarithmic;
    let axes = chart.axes.clone();
    plot = plot.label_formatter(move |name, point| {
        let value = |axis: usize, along: f64| format_number(if real[axis] { 10.0_f64.powf(along) } else { along });
        format!("{name}\n{} {}\n{} {}", value(0, point.x), axes[0], value(1, point.y), axes[1])
    });
    let shown = plot.show(ui, |plot| {
        for (number, curve) in chart.curves.iter().enumerate().rev() {
            let color = curve_color(number);
            let name = curve.name.as_str();
            if curve.mark == MarkerStyle::Line {
                for part in chart.stretches(&curve.points) {
                    plot.line(Line::new(name, part).color(color).width(2.0).style(dashes(number)));
                }
                continue;
            }
            let points: PlotPoints<'_> = curve.points.iter().filter_map(|point| chart.place(*point)).collect();
            match curve.mark {
                MarkerStyle::Line => {}
                MarkerStyle::Dots => plot.points(Points::new(name, points).color(color).radius(3.5).filled(true)),
                MarkerStyle::Cloud => plot.points(Points::new(name, points).color(style::FAINT).radius(1.0)),
            }
        }
        plot.set_plot_bounds(PlotBounds::from_min_max([left, low], [right, high]));
    });
    access::name(&shown.response, &describe(chart));
}

/// Saves a chart in the format given by the file extension.
#[derive(Event, Clone, Debug, PartialEq)]
pub struct SaveChart(pub Box<Chart>, pub PathBuf);

impl AppCommandEvent for SaveChart {}

pub(crate) fn plugin(app: &mut App) {
    app.add_observer(|command: On<SaveChart>, mut jobs: ResMut<Jobs>, mut notices: ResMut<Notices>| {
        let SaveChart(chart, path) = command.event().clone();
        jobs.save(&mut notices, &path, move |path, _| io::chart::save(&chart, path));
    });
}

/// Creates the request for the file to save a chart to.
fn save_request(chart: Chart) -> FileRequest {
    let name = format!("{{name}}-{}", chart.key);
    let kinds = io::chart::KINDS.map(|(kind, ending)| (kind.to_owned(), ending));
    let chart = Box::new(chart);
    FileRequest::save("Save chart", &name, kinds, move |path| SaveChart(chart.clone(), path))
}

/// Draws the title of a chart and its options menu, which sets the axes and their range, and offers to enlarge a chart that can be.
pub(crate) fn head_ui(ui: &mut Ui, chart: &mut Chart, about: &str, can_be_enlarged: bool) -> Option<AppCommand> {
    let id = egui::Id::new(("chart", chart.key));
    let mut seen: ChartView = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    let mut asked = None;
    ui.horizontal(|ui| {
        let title = ui.label(&chart.title);
        if !about.is_empty() {
            title.on_hover_text(about);
        }
        let menu = ui.menu_button(icon::DOTS_THREE, |ui| {
            let mut logarithmic = seen.logarithmic.unwrap_or(chart.logarithmic);
            for (axis, name) in ["Logarithmic x axis", "Logarithmic y axis"].into_iter().enumerate() {
                if ui.checkbox(&mut logarithmic[axis], name).changed() {
                    seen = ChartView { logarithmic: Some(logarithmic), range: None, ..seen };
                }
            }
            let mut locked = seen.range.is_some();
            let help = "Keep the current axis ranges to compare simulations.";
            if ui.checkbox(&mut locked, "Lock axis range").on_hover_text(help).changed() {
                let power = |axis: usize, along: f64| if logarithmic[axis] { 10.0_f64.powf(along) } else { along };
                let shown = Chart { logarithmic, range: None, ..chart.clone() }.shown_range();
                seen.range = locked.then(|| [0, 1].map(|axis| shown[axis].map(|along| power(axis, along))));
            }
            if can_be_enlarged {
                let help = "Show the chart in a window of its own, which can be resized.";
                ui.checkbox(&mut seen.enlarged, "Enlarge").on_hover_text(help);
            }
            ui.separator();
            if ui
                .button("Save…")
                .on_hover_text("Save the chart as an image (PNG), a table (CSV) or a vector graphic (SVG).")
                .clicked()
            {
                let chart = Chart { logarithmic, range: seen.range, ..chart.clone() };
                asked = Some(save_request(chart).into());
                ui.close();
            }
        });
        access::name(&menu.response, &format!("{}: chart options", chart.title));
    });
    ui.data_mut(|data| data.insert_temp(id, seen));
    chart.logarithmic = seen.logarithmic.unwrap_or(chart.logarithmic);
    chart.range = seen.range;
    asked
}

/// Creates a plot with labelled axes, without panning and zooming.
pub(crate) fn plot<'a>(ui: &Ui, name: &'a str, axes: [&str; 2], logarithmic: [bool; 2]) -> Plot<'a> {
    let color = ui.visuals().text_color();
    let hints = |axis: usize, of: Axis, room: egui::Rangef| {
        let real = move |along: f64| if logarithmic[axis] { 10.0_f64.powf(along) } else { along };
        AxisHints::new(of)
            .label(axes[axis].to_owned())
            .label_spacing(room)
            .tick_label_color(color)
            .formatter(move |mark, _| format_number(real(mark.value)))
    };
    Plot::new(name)
        .height(style::PLOT_HEIGHT)
        // Half of the last tick label extends beyond the plot.
        .width(ui.available_width() - style::LAST_NUMBER)
        .allow_scroll(false)
        .allow_drag(false)
        .allow_zoom(false)
        // Not interactive, so that Tab skips it.
        .sense(egui::Sense::hover())
        .custom_x_axes(vec![hints(0, Axis::X, egui::Rangef::new(8.0, 12.0))])
        .custom_y_axes(vec![hints(1, Axis::Y, egui::Rangef::new(8.0, 12.0))])
        .x_grid_spacer(move |input| marks(logarithmic[0], input.bounds, 5))
        .y_grid_spacer(move |input| marks(logarithmic[1], input.bounds, 4))
}

/// Returns the colour of a curve, and of its source in the view.
pub(crate) fn curve_color(number: usize) -> Color32 {
    [style::SPRING, style::WARNING, style::ACCENT, style::DRAIN][number % 4]
}

/// Returns the line style of a curve, so that curves differ by more than their colour.
fn dashes(number: usize) -> LineStyle {
    let dashes = [LineStyle::Solid, LineStyle::dashed_loose(), LineStyle::dotted_loose(), LineStyle::dashed_dense()];
    dashes[number % dashes.len()]
}

/// Returns the grid marks of an axis.
fn marks(logarithmic: bool, (low, high): (f64, f64), most: usize) -> Vec<GridMark> {
    let ticks = ticks(logarithmic, [low, high], most);
    let step = ticks.windows(2).map(|pair| pair[1] - pair[0]).next().unwrap_or(high - low);
    ticks.into_iter().map(|value| GridMark { value, step_size: step }).collect()
}

/// Returns the corner of the plot with the fewest points, for the legend.
fn corner(chart: &Chart) -> Corner {
    let range = chart.shown_range();
    let mut counts = [0; 4];
    for point in chart.curves.iter().flat_map(|curve| &curve.points).filter_map(|point| chart.place(*point)) {
        let share = [0, 1].map(|axis| (point[axis] - range[axis][0]) / (range[axis][1] - range[axis][0]));
        let near = |at: f64| usize::from(at > 0.5);
        // The legend covers about half the width and a third of the height of the plot.
        if share[1] < 0.4 || share[1] > 0.6 {
            counts[2 * near(share[1]) + near(share[0])] += 1;
        }
    }
    let corners = [
        (counts[2], Corner::LeftTop),
        (counts[3], Corner::RightTop),
        (counts[0], Corner::LeftBottom),
        (counts[1], Corner::RightBottom),
    ];
    corners.into_iter().min_by_key(|(count, _)| *count).map_or(Corner::LeftTop, |(_, corner)| corner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_scene::model::chart::Curve;

    #[test]
    fn legend_is_placed_in_empty_corner() {
        let rising = Chart::new("a", "a", ["x", "y"]).with_curve(Curve::line("a", (0..9).map(|x| [f64::from(x); 2])));
        assert_eq!(corner(&rising), Corner::LeftTop);
        let falling = Curve::line("a", (0..9).map(|x| [f64::from(x), f64::from(-x)]));
        assert_eq!(corner(&Chart::new("a", "a", ["x", "y"]).with_curve(falling)), Corner::RightTop);
    }
}
