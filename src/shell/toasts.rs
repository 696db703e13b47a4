//! Notifications in the corner of the view.

use bevy::prelude::{InMut, Res, State};
use bevy_egui::egui::{self, Align2, RichText, Ui};
use egui_phosphor::regular as icon;

use super::{access, style};
use crate::world::{AppCommand, FileCommand, NoticeLevel, Notices, Presentation, Workspace};
use thalweg_scene::io::JobProgress;

/// Draws messages over the view. A presentation shows only errors and questions, a kiosk nothing.
pub(crate) fn layer_ui(
    InMut(root): InMut<Ui>,
    notices: Res<Notices>,
    workspace: Res<State<Workspace>>,
    presentation: Option<Res<Presentation>>,
) -> Vec<AppCommand> {
    let presentation = presentation.filter(|_| *workspace == Workspace::Present);
    let is_shown = |level| {
        let is_problem = matches!(level, NoticeLevel::Error | NoticeLevel::Question);
        presentation.as_ref().is_none_or(|presentation| is_problem && !presentation.is_kiosk())
    };
    toasts_ui(root.ctx(), &notices, root.max_rect(), is_shown)
}

/// Seconds for which a message that appears under the pointer ignores clicks.
const CLICK_DELAY: f64 = 1.0;

/// Place of a message in the last frame.
#[derive(Clone, Copy)]
struct ToastPlace {
    id: u64,
    rect: egui::Rect,
    /// Time from which it accepts clicks, in seconds.
    accepts_from: f64,
}

/// Draws messages in the lower left corner of `view`, newest at the top, below dialogs and menus; only those whose level satisfies
/// `is_shown`. While the pointer is over one of them, none moves, and one that appears under the pointer ignores its clicks at
/// first: they were meant for what was there before. Returns the commands of clicked buttons.
pub fn toasts_ui(
    context: &egui::Context,
    notices: &Notices,
    view: egui::Rect,
    is_shown: impl Fn(NoticeLevel) -> bool,
) -> Vec<AppCommand> {
    let mut commands = Vec::new();
    let key = egui::Id::new("toast positions");
    let before: Vec<ToastPlace> = context.data(|data| data.get_temp(key)).unwrap_or_default();
    let (pointer, now) = context.input(|input| (input.pointer.latest_pos(), input.time));
    let is_pointed_at = |rect: egui::Rect| pointer.is_some_and(|pointer| rect.contains(pointer));
    let holds = before.iter().any(|place| is_pointed_at(place.rect));
    let mut places = Vec::new();
    let mut bottom = view.bottom() - 14.0;
    for notice in notices.shown().filter(|notice| is_shown(notice.level)) {
        let known = before.iter().find(|place| place.id == notice.id);
        bottom = known.filter(|_| holds).map_or(bottom, |known| known.rect.bottom().min(bottom));
        let accepts = known.is_some_and(|known| now >= known.accepts_from);
        let is_clicked =
            |button: &egui::Response| button.clicked() && (accepts || !button.clicked_by(egui::PointerButton::Primary));
        let (sign, color) = match notice.level {
            NoticeLevel::Working => (icon::HOURGLASS_MEDIUM, style::ACCENT),
            NoticeLevel::Info => (icon::CHECK_CIRCLE, style::ACCENT),
            NoticeLevel::Warning => (icon::WARNING, style::WARNING),
            NoticeLevel::Error => (icon::WARNING_CIRCLE, style::ERROR),
            NoticeLevel::Question => (icon::QUESTION, style::ACCENT),
        };
        let width = (view.width() - 60.0).clamp(120.0, 420.0);
        let shown = egui::Area::new(egui::Id::new(("notice", notice.id)))
            .order(egui::Order::Middle)
            .pivot(Align2::LEFT_BOTTOM)
            .fixed_pos([view.left() + 14.0, bottom])
            .show(context, |ui| {
                egui::Frame::popup(ui.style()).show(ui, |ui| {
                    ui.horizontal_top(|ui| {
                        if notice.level == NoticeLevel::Working {
                            ui.add(egui::Spinner::new().size(15.0).color(color));
                        } else {
                            let level = ui.label(RichText::new(sign).color(color).size(16.0));
                            access::name(&level, notice.level.title());
                        }
                        ui.vertical(|ui| {
                            ui.set_max_width(width);
                            let text = ui.label(&notice.text);
                            access::announce(&text, matches!(notice.level, NoticeLevel::Error | NoticeLevel::Question));
                            // Jobs that don't report progress show only a spinner.
                            if let Some(share) =
                                notice.progress.as_ref().map(JobProgress::share).filter(|done| *done > 0.0)
                            {
                                ui.add(egui::ProgressBar::new(share).desired_width(width).show_percentage());
                            }
                            ui.horizontal(|ui| {
                                for (word, command) in &notice.answers {
                                    if is_clicked(&ui.button(*word)) {
                                        commands.extend([command.clone(), FileCommand::Dismiss(notice.id).into()]);
                                    }
                                }
                                let read = !matches!(notice.level, NoticeLevel::Working | NoticeLevel::Question);
                                if read {
                                    let dismiss = ui.small_button("Dismiss");
                                    access::describe(&dismiss, &notice.text);
                                    if is_clicked(&dismiss) {
                                        commands.push(FileCommand::Dismiss(notice.id).into());
                                    }
                                }
                            });
                        });
                    });
                });
            });
        let rect = shown.response.rect;
        let accepts_from = match known {
            None => now + CLICK_DELAY,
            Some(known) if is_pointed_at(rect) => known.accepts_from,
            Some(_) => now,
        };
        places.push(ToastPlace { id: notice.id, rect, accepts_from });
        bottom = rect.top() - 8.0;
    }
    context.data_mut(|data| data.insert_temp(key, places));
    commands
}
