//! Accessibility of all panels: keyboard focus and accessible names for screen readers.

use std::collections::HashMap;

use bevy::{a11y::ActionRequest, prelude::*};
use bevy_egui::{
    EguiContext, EguiInputSet, EguiPreUpdateSet,
    egui::{
        self, FullOutput, Id, Key, Response, StrokeKind, WidgetInfo, WidgetText, WidgetType,
        accesskit::{Node, NodeId, Role},
    },
    input::EguiInputEvent,
};

use super::style;
use crate::world::AppCommand;

/// Code points of the icon font (private use area).
const ICONS: std::ops::RangeInclusive<char> = '\u{e000}'..='\u{f8ff}';
/// Symbols that screen readers should skip.
const SYMBOLS: [char; 2] = ['⏵', '⏷'];

pub(crate) fn plugin(app: &mut App) {
    // Windowless apps do not register this message.
    app.add_message::<ActionRequest>().add_systems(
        PreUpdate,
        forward_action_requests
            .in_set(EguiPreUpdateSet::ProcessInput)
            .after(EguiInputSet::ReadBevyMessages)
            .before(EguiInputSet::WriteEguiEvents),
    );
}

/// Forwards action requests of screen readers to the panels of every window. A window ignores requests for nodes that it does not have.
fn forward_action_requests(
    mut requests: MessageReader<ActionRequest>,
    contexts: Query<Entity, With<EguiContext>>,
    mut events: MessageWriter<EguiInputEvent>,
) {
    for request in requests.read() {
        for context in &contexts {
            let event = egui::Event::AccessKitActionRequest(request.0.clone());
            events.write(EguiInputEvent { context, event });
        }
    }
}

/// Id of the command queue of widgets that cannot return commands.
fn asked_id() -> Id {
    Id::new("requested commands")
}

/// Queues a command of a widget that cannot return it.
pub fn queue_command(context: &egui::Context, command: AppCommand) {
    context.data_mut(|data| data.get_temp_mut_or_default::<Vec<AppCommand>>(asked_id()).push(command));
}

/// Takes the queued commands.
pub fn take_queued_commands(context: &egui::Context) -> Vec<AppCommand> {
    context.data_mut(|data| std::mem::take(data.get_temp_mut_or_default::<Vec<AppCommand>>(asked_id())))
}

/// Plugin that corrects accessible names: removes symbols, and labels the number next to a slider like the slider.
struct AccessibleNames;

/// Installs the correction of accessible names in a context.
pub fn install_name_correction(context: &egui::Context) {
    context.add_plugin(AccessibleNames);
}

impl egui::Plugin for AccessibleNames {
    fn debug_name(&self) -> &'static str {
        "names"
    }

    fn output_hook(&mut self, output: &mut FullOutput) {
        let Some(update) = &mut output.platform_output.accesskit_update else { return };
        name_numbers(&mut update.nodes);
        for (_, node) in &mut update.nodes {
            if let Some(name) = node.label().and_then(readable) {
                node.set_label(name);
            }
            if let Some(value) = node.value().and_then(readable) {
                node.set_value(value);
            }
        }
    }
}

/// Labels unnamed number fields like the preceding slider of their row.
fn name_numbers(nodes: &mut [(NodeId, Node)]) {
    let places: HashMap<NodeId, usize> = nodes.iter().enumerate().map(|(place, (id, _))| (*id, place)).collect();
    let mut named = Vec::new();
    for (_, row) in &*nodes {
        let mut slider = None;
        for place in row.children().iter().filter_map(|child| places.get(child).copied()) {
            let node = &nodes[place].1;
            match node.role() {
                Role::Slider => slider = Some(place),
                Role::SpinButton if node.label().is_none() && node.labelled_by().is_empty() => {
                    named.extend(slider.map(|slider| (place, slider)));
                }
                _ => {}
            }
        }
    }
    for (number, slider) in named {
        let (label, by) = (nodes[slider].1.label().map(str::to_owned), nodes[slider].1.labelled_by().to_vec());
        let node = &mut nodes[number].1;
        match label {
            Some(label) => node.set_label(label),
            None => node.set_labelled_by(by),
        }
    }
}

/// Returns the text without symbols, or `None` if it contains none.
fn readable(text: &str) -> Option<String> {
    let is_sign = |letter: char| ICONS.contains(&letter) || SYMBOLS.contains(&letter);
    let read = || text.chars().filter(|letter| !is_sign(*letter)).collect::<String>();
    text.contains(is_sign).then(|| read().split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Sets the accessible name of a widget.
pub(crate) fn name(response: &Response, name: &str) {
    response.ctx.accesskit_node_builder(response.id, |node| node.set_label(name));
}

/// Sets the accessible description of a widget, usually its tooltip.
pub(crate) fn describe(response: &Response, text: &str) {
    response.ctx.accesskit_node_builder(response.id, |node| node.set_description(text));
}

/// Makes screen readers announce a text when it appears, interrupting speech if `urgent`.
pub(crate) fn announce(response: &Response, urgent: bool) {
    let live = if urgent { egui::accesskit::Live::Assertive } else { egui::accesskit::Live::Polite };
    response.ctx.accesskit_node_builder(response.id, |node| node.set_live(live));
}

/// Draws one of several exclusive options. In a list opened by the keyboard, the selected option takes the focus.
pub(crate) fn choice(ui: &mut egui::Ui, chosen: bool, text: impl Into<WidgetText>) -> Response {
    let text = text.into();
    let name = text.text().to_owned();
    let response = ui.selectable_label(chosen, text);
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::selected(WidgetType::SelectableLabel, enabled, chosen, &name));
    if chosen && ui.data(|data| data.get_temp(list_id())) == Some((ui.ctx().cumulative_frame_nr(), ui.layer_id())) {
        response.request_focus();
    }
    response
}

fn list_id() -> Id {
    Id::new("list opening time")
}

/// Gives the keyboard to a list or menu that was opened by a key, until it is closed. Must be called before its contents are drawn.
pub(crate) fn begin_list(ui: &egui::Ui) {
    // The key that opens a list must not also select from it: the focus moves in the second frame.
    if !ui.is_enabled() || opens(ui, 0) || ui.memory(|memory| memory.focused().is_none()) {
        return;
    }
    ui.memory_mut(|memory| memory.set_modal_layer(ui.layer_id()));
    move_focus_with_arrows(ui);
    if opens(ui, 1) {
        to_first(ui);
        let here = (ui.ctx().cumulative_frame_nr(), ui.layer_id());
        ui.data_mut(|data| data.insert_temp(list_id(), here));
    }
}

/// Number of options above which a list has a search field.
const SEARCHED_LIST: usize = 10;

/// Draws a search field at the top of an open list, after [`begin_list`], if it has many options. Returns the search.
pub(crate) fn list_search(ui: &mut egui::Ui, options: usize) -> ListSearch {
    if options <= SEARCHED_LIST {
        return ListSearch(String::new());
    }
    let id = ui.id().with("search");
    let mut typed: String = ui.data(|data| data.get_temp(id)).filter(|_| !opens(ui, 0)).unwrap_or_default();
    let field = egui::TextEdit::singleline(&mut typed).hint_text("Search").desired_width(f32::INFINITY);
    let field = ui.add(field);
    name(&field, "Search");
    let is_entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
    if opens(ui, 0) || opens(ui, 1) || is_entered {
        // Instead of the selected option.
        ui.data_mut(|data| data.remove::<(u64, egui::LayerId)>(list_id()));
        field.request_focus();
    }
    let search = ListSearch(typed.to_lowercase());
    ui.data_mut(|data| data.insert_temp(id, typed));
    search
}

/// Search text of an open list.
pub(crate) struct ListSearch(String);

impl ListSearch {
    /// Returns `true` if an option with this text is to be drawn.
    pub(crate) fn finds(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.0.split_whitespace().all(|word| text.contains(word))
    }
}

/// Draws an option of an open list. Selecting it closes the list.
pub(crate) fn list_choice<T: PartialEq>(ui: &mut egui::Ui, now: &mut T, value: T, text: impl Into<WidgetText>) {
    if choice(ui, *now == value, text).clicked() {
        *now = value;
        ui.close();
    }
}

/// Focus state of the previous frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct FocusHistory {
    /// Last widget with focus.
    focus: Option<Id>,
    /// Last widget with focus outside lists and menus.
    below: Option<Id>,
    /// `true` if a list or menu was open.
    list: bool,
    /// Widget that regains the focus after a list was closed, and the remaining frames: in the first, the list still has it.
    back: Option<(Id, u8)>,
    /// `true` if Escape had to close a list or leave a text field before any dialog.
    smaller: bool,
}

/// Prepares the focus at the beginning of a frame: Tab continues from the last focused widget, even if Enter or Escape has cleared the
/// focus since.
pub fn begin(context: &egui::Context, before: FocusHistory) {
    context.data_mut(|data| data.insert_temp(smaller_id(), before.smaller));
    cycle_regions(context);
    // A number field commits its text if it loses the focus before it is drawn.
    let wished = context.data_mut(|data| data.remove_temp::<bool>(wish_id())).unwrap_or_default();
    if let Some(id) = context.memory(|memory| memory.focused()).filter(|_| wished) {
        context.memory_mut(|memory| memory.surrender_focus(id));
    }
    let lost =
        context.memory(|memory| memory.focused().is_none()) && context.input(|input| input.key_pressed(Key::Tab));
    if let Some(id) = before.focus.filter(|id| lost && context.read_response(*id).is_some()) {
        context.memory_mut(|memory| memory.request_focus(id));
    }
}

/// Regions of the window that F6 cycles through.
#[derive(Clone, Debug, Default)]
struct FocusRegions {
    /// Regions and their rectangles in drawing order: of this frame or, before it is drawn, of the previous one.
    drawn: Vec<(Id, egui::Rect)>,
    /// Region that is about to receive the focus.
    wanted: Option<Id>,
    /// Last focused widget of each region.
    last: HashMap<Id, Id>,
    /// Region that had the focus in the previous frame.
    here: Option<Id>,
}

impl FocusRegions {
    fn id() -> Id {
        Id::new("regions")
    }

    /// Accesses the regions of a context.
    fn with<R>(context: &egui::Context, does: impl FnOnce(&mut Self) -> R) -> R {
        context.data_mut(|data| does(data.get_temp_mut_or_default(Self::id())))
    }

    /// Returns the index of the region that contains a widget, or `None` for a widget in a floating window.
    fn of(&self, widget: &Response) -> Option<usize> {
        if widget.layer_id != egui::LayerId::background() {
            return None;
        }
        if !widget.interact_rect.is_positive() {
            // Scrolled out of sight.
            return self.drawn.iter().position(|(id, _)| Some(*id) == self.here);
        }
        // The viewport fills the space left by the others, so the first match is correct.
        self.drawn.iter().position(|(_, place)| place.contains(widget.interact_rect.center()))
    }
}

/// Moves the focus with F6 to the next region of the window, with Shift+F6 to the previous one. A modal dialog keeps the focus.
fn cycle_regions(context: &egui::Context) {
    // `consume_key` without modifiers would also match Shift+F6, so that is consumed first.
    let back = context.input_mut(|input| input.consume_key(egui::Modifiers::SHIFT, Key::F6));
    let forward = context.input_mut(|input| input.consume_key(egui::Modifiers::NONE, Key::F6));
    let held = context.memory(egui::Memory::top_modal_layer).is_some();
    let focused = context.memory(|memory| memory.focused());
    let widget = focused.and_then(|id| context.read_response(id));
    FocusRegions::with(context, |parts| {
        let here = widget.as_ref().and_then(|widget| parts.of(widget));
        // A request for a region that was not drawn expires.
        parts.wanted = None;
        parts.here = here.map(|here| parts.drawn[here].0);
        if let (Some(here), Some(focused)) = (here, focused) {
            parts.last.insert(parts.drawn[here].0, focused);
        }
        let count = parts.drawn.len();
        if (forward || back) && !held && count > 0 {
            let next = match here {
                Some(here) if back => (here + count - 1) % count,
                Some(here) => (here + 1) % count,
                None if back => count - 1,
                None => 0,
            };
            parts.wanted = Some(parts.drawn[next].0);
        }
        parts.drawn.clear();
    });
}

/// Registers a region of the window. Returns `true` if it receives the focus now.
fn register_region(ui: &egui::Ui, name: &str, place: egui::Rect) -> bool {
    let id = Id::new(name);
    FocusRegions::with(ui.ctx(), |parts| {
        parts.drawn.push((id, place));
        parts.wanted.take_if(|wanted| *wanted == id).is_some()
    })
}

/// Begins a region of the window with focusable widgets: F6 reaches it, and screen readers announce its name. Must be called before its
/// contents are drawn.
pub(crate) fn begin_region(ui: &egui::Ui, name: &str) {
    ui.ctx().accesskit_node_builder(ui.unique_id(), |node| {
        node.set_role(Role::Region);
        node.set_label(name);
    });
    if register_region(ui, name, ui.max_rect()) {
        let last = FocusRegions::with(ui.ctx(), |parts| parts.last.get(&Id::new(name)).copied());
        match last.filter(|last| ui.ctx().read_response(*last).is_some()) {
            Some(last) => ui.memory_mut(|memory| memory.request_focus(last)),
            None => to_first(ui),
        }
    }
}

/// Updates and displays the focus at the end of a frame.
pub fn end(context: &egui::Context, before: &mut FocusHistory) {
    let list = egui::Popup::is_any_open(context);
    if before.list && !list {
        before.back = before.below.map(|below| (below, 2));
    }
    if let Some((id, frames)) = before.back.take() {
        let now = context.memory(|memory| memory.focused());
        // A window opened from the list may already have the focus.
        if frames > 1 || now.is_none_or(|now| context.read_response(now).is_none()) {
            context.memory_mut(|memory| memory.request_focus(id));
        }
        before.back = (frames > 1).then_some((id, frames - 1));
    }
    let focused = context.memory(|memory| memory.focused());
    if !list {
        before.below = focused;
    }
    before.focus = focused.or(before.focus);
    before.list = list;
    before.smaller = list || context.text_edit_focused();
    if let Some(response) = focused.and_then(|id| context.read_response(id)) {
        show_focus(context, &response);
    }
}

fn show_focus(context: &egui::Context, response: &Response) {
    let seen = response.interact_rect.expand(3.0);
    let painter = context.layer_painter(response.layer_id).with_clip_rect(seen);
    let place = response.rect.expand(1.0).intersect(seen.shrink(1.0));
    painter.rect_stroke(place, 4.0, style::focus(context), StrokeKind::Inside);
}

fn wish_id() -> Id {
    Id::new("keyboard request")
}

fn smaller_id() -> Id {
    Id::new("escape target")
}

/// Returns `true` if Escape is pressed for this dialog, not for a list or text field in it or a dialog above it.
pub(crate) fn escapes_from(ui: &egui::Ui) -> bool {
    let top = ui.memory(egui::Memory::top_modal_layer);
    escapes(ui.ctx()) && top.is_none_or(|top| top == ui.layer_id())
}

/// Returns `true` if Escape is pressed, unless it closes a list or leaves a text field.
pub(crate) fn escapes(context: &egui::Context) -> bool {
    let smaller = context.data(|data| data.get_temp(smaller_id())).unwrap_or(false);
    !smaller && context.input(|input| input.key_pressed(Key::Escape))
}

/// Scrolls a newly focused widget into view. Must be called after the contents of the scroll area are drawn.
pub(crate) fn follow_focus(ui: &egui::Ui) {
    let (context, area) = (ui.ctx(), ui.id().with("focus"));
    let focused = context.memory(|memory| memory.focused());
    let known: Option<Id> = ui.data_mut(|data| {
        let known = data.get_temp::<Option<Id>>(area).flatten();
        data.insert_temp(area, focused);
        known
    });
    let Some(response) = focused.filter(|_| known != focused).and_then(|id| context.read_response(id)) else { return };
    // Visible widgets are not scrolled, nor are those below the scroll area, which the end of its contents may overlap.
    let is_hidden =
        !ui.clip_rect().contains_rect(response.rect) && !response.interact_rect.contains_rect(response.rect);
    let within = ui.min_rect().contains(response.rect.center()) && is_hidden;
    if response.layer_id == ui.layer_id() && within {
        ui.scroll_to_rect(response.rect, None);
    }
}

/// Traps the keyboard focus in a modal dialog and focuses its first field. Must be called before its contents are drawn.
pub(crate) fn trap_focus(ui: &egui::Ui) {
    ui.memory_mut(|memory| memory.set_modal_layer(ui.layer_id()));
    focus_first_field(ui);
}

/// Traps the keyboard focus in a modal dialog that sets the initial focus itself. Returns `true` if it has just opened.
pub(crate) fn trap_keyboard(ui: &egui::Ui) -> bool {
    ui.memory_mut(|memory| memory.set_modal_layer(ui.layer_id()));
    opens(ui, 0)
}

/// Makes the up and down arrow keys move the focus like Tab. By default, egui moves it to the nearest widget of any window.
fn move_focus_with_arrows(ui: &egui::Ui) {
    let arrows = egui::EventFilter { vertical_arrows: true, ..Default::default() };
    let pressed = |key| ui.input(|input| input.key_pressed(key));
    let direction = match (pressed(Key::ArrowUp), pressed(Key::ArrowDown)) {
        (true, false) => Some(egui::FocusDirection::Previous),
        (false, true) => Some(egui::FocusDirection::Next),
        _ => None,
    };
    ui.memory_mut(|memory| {
        let Some(focused) = memory.focused() else { return };
        memory.set_focus_lock_filter(focused, arrows);
        if let Some(direction) = direction {
            memory.move_focus(direction);
        }
    });
}

/// Focuses the first field of a window that opens. Must be called before its contents are drawn.
pub(crate) fn focus_first_field(ui: &egui::Ui) {
    if opens(ui, 0) {
        ui.data_mut(|data| data.insert_temp(wish_id(), true));
        ui.ctx().request_repaint();
    } else if opens(ui, 1) {
        to_first(ui);
    }
}

/// Focuses the next focusable widget that is drawn.
fn to_first(ui: &egui::Ui) {
    ui.memory_mut(|memory| {
        if let Some(focused) = memory.focused() {
            memory.surrender_focus(focused);
        }
        memory.move_focus(egui::FocusDirection::Next);
    });
}

/// Returns `true` if a window was first drawn `frames` frames ago.
fn opens(ui: &egui::Ui, frames: u64) -> bool {
    // During its sizing pass a window is disabled.
    if !ui.is_enabled() {
        return false;
    }
    let (drawn, now) = (ui.id().with("drawn"), ui.ctx().cumulative_frame_nr());
    let first = ui.data_mut(|data| {
        let known: Option<(u64, u64)> = data.get_temp(drawn);
        let first = known.filter(|(_, last)| last + 1 >= now).map_or(now, |(first, _)| first);
        data.insert_temp(drawn, (first, now));
        first
    });
    now - first == frames
}

/// Distance that an arrow key moves the marker in the viewport, in points; 1 with Shift.
const STEP: f32 = 8.0;

/// Makes the viewport focusable: arrow keys move a marker, Space presses at it. Returns the position of the marker and `true` if it is
/// pressed.
pub(crate) fn viewport_focus_ui(root: &egui::Ui, view: egui::Rect) -> Option<(egui::Pos2, bool)> {
    let (id, place) = (root.id().with("land"), root.id().with("viewport marker"));
    let land = root.interact(view, id, egui::Sense::focusable_noninteractive());
    land.widget_info(|| {
        WidgetInfo::labeled(WidgetType::Other, true, "Viewport: arrow keys move the marker, Space clicks there")
    });
    if register_region(root, "Viewport", view) {
        land.request_focus();
    }
    if !land.has_focus() {
        return None;
    }
    let arrows = egui::EventFilter { horizontal_arrows: true, vertical_arrows: true, ..Default::default() };
    root.memory_mut(|memory| memory.set_focus_lock_filter(id, arrows));
    let mut at: egui::Pos2 = root.data(|data| data.get_temp(place)).unwrap_or_else(|| view.center());
    let pressed = root.input(|input| {
        let step = if input.modifiers.shift { 1.0 } else { STEP };
        let along = |more, less| input.num_presses(more) as f32 - input.num_presses(less) as f32;
        if !input.modifiers.alt && !input.modifiers.command {
            at += step * egui::vec2(along(Key::ArrowRight, Key::ArrowLeft), along(Key::ArrowDown, Key::ArrowUp));
        }
        input.key_down(Key::Space)
    });
    at = view.clamp(at);
    root.data_mut(|data| data.insert_temp(place, at));
    let painter = root.painter().with_clip_rect(view);
    for (width, color) in [(4.0, style::SHADE), (1.5, egui::Color32::WHITE)] {
        let stroke = egui::Stroke::new(width, color);
        painter.line_segment([at - egui::vec2(9.0, 0.0), at + egui::vec2(9.0, 0.0)], stroke);
        painter.line_segment([at - egui::vec2(0.0, 9.0), at + egui::vec2(0.0, 9.0)], stroke);
    }
    Some((at, pressed))
}

/// Returns `true` if the viewport is clicked, by the pointer or with Space.
pub(crate) fn is_viewport_clicked(root: &egui::Ui, view: egui::Rect) -> bool {
    let focused = root.memory(|memory| memory.has_focus(root.id().with("land")));
    root.input(|input| {
        let pointer = &input.pointer;
        let clicked = pointer.primary_clicked() && pointer.interact_pos().is_some_and(|place| view.contains(place));
        clicked || focused && input.key_pressed(Key::Space)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screen_reader_actions_reach_the_panels() {
        let mut app = App::new();
        app.add_plugins(plugin).add_message::<EguiInputEvent>();
        let context = app.world_mut().spawn(EguiContext::default()).id();
        let request = egui::accesskit::ActionRequest {
            action: egui::accesskit::Action::Click,
            target_tree: egui::accesskit::TreeId::ROOT,
            target_node: Id::new("play").accesskit_id(),
            data: None,
        };
        app.world_mut().write_message(ActionRequest(request.clone()));
        app.update();
        let events: Vec<_> = app.world_mut().resource_mut::<Messages<EguiInputEvent>>().drain().collect();
        let [event] = &events[..] else { panic!("{} events", events.len()) };
        assert_eq!((event.context, &event.event), (context, &egui::Event::AccessKitActionRequest(request)));
    }

    #[test]
    fn icons_are_not_read_aloud() {
        assert_eq!(readable("\u{e3d0}  Play or pause").as_deref(), Some("Play or pause"));
        assert_eq!(readable("Export ⏵").as_deref(), Some("Export"));
        assert_eq!(readable("Droplets per tick"), None);
    }
}
