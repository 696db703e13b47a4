//! The window: panels without a display, keyboard access, rendering and memory use.

use std::{
    cell::{Cell, RefCell},
    env, fs, io,
    ops::Range,
    path::Path,
    process,
    sync::Arc,
    time::{Duration, Instant},
};

use bevy::{
    color::ColorToPacked,
    ecs::system::SystemState,
    prelude::{App, AppExit, InMut, IntoSystem, LinearRgba, Res, Resource, Srgba, State, Vec2, With, World, default},
    render::{error_handler::RenderErrorHandler, renderer::RenderDevice},
};
use bevy_egui::egui::{self, Key, Modifiers, accesskit::Role};
use egui_kittest::{
    Harness,
    kittest::{NodeT, Queryable},
};
use thalweg::{
    app::{film, graphics, loss, off_screen, window},
    features::{
        self,
        checks::CheckCommand,
        overview::view_ui,
        present::{
            draft::{Draft, PlaylistCommand},
            playlist::PlaylistDialog,
            presenter::{self, presenter_ui},
            stage::presentation_ui,
        },
        rivers::{RiverStudy, SelectRiver},
        section::{Section, SectionCommand},
        springs::{
            SpringMarks,
            panel::{marks_ui, panel_ui as springs_ui},
        },
        terrain::DrainageCommand,
        wind::dial_ui,
    },
    render::{FixedStep, camera::Viewpoint, capture::rgb},
    shell::{
        UiVisible,
        floating::{FloatingWindows, floating_windows_ui},
        group::group_ui,
        panel::{AddPanel, EVERYWHERE, Sidebar, SidebarPanel},
        toasts::toasts_ui,
        window_layout::window_ui,
    },
    world::{
        AppCommand, BrushCommand, BrushInput, Brushes, CameraCommand, CameraMode, CameraPose, CameraStep,
        CompareCommand, Comparison, CurrentLesson, Divider, Document, EditCommand, FileCommand, History, Jobs,
        KeyframeCommand, KeyframeFollowing, LessonAnswers, ModifierKeys, NoticeLevel, Notices, OpenWorkspace, Overlay,
        OverlayCommand, PointedPosition, Preferences, PresentCommand, Presentation, Quiz, Recording, Restarts,
        Revision, ScreenshotCommand, SimulationCommand, Simulations, TimeSeries, Timing, Transport, ViewAnnotations,
        ViewPlaces, ViewportArea, WindowCommand, Workspace,
    },
};
use thalweg_scene::{
    allocator::{TrackingAllocator, in_use},
    io::{
        Error, ImagePixels, JobProgress,
        preset::PRESETS,
        project,
        scene::{self, BUILT_IN, RenderJob, RenderOptions},
        watch::VideoJob,
    },
    look::ToneCurve,
    model::{
        film::{CameraKeyframe, Caption, Ease, Pose, Script},
        origin::Options,
        playlist::Playlist,
        session::Session,
    },
    settings::{AntiAliasing, Quality, Settings},
};
use thalweg_sim::{
    core::{
        quantity::Quantity,
        terrain::{Layer, Source},
    },
    edit::Tool,
    hydrology::network::RiverParams,
    measure::{Study, statistics::Statistics},
    params::{Value, collect_parameters},
    process::catalogue,
};

#[global_allocator]
static ALLOCATOR: TrackingAllocator = TrackingAllocator;

mod keyboard;
mod learn;
mod process_panel;
mod render;
mod schedule;
#[cfg(target_os = "linux")]
mod slow_disk;

fn sessions(scene: &str, side: usize) -> Vec<Session> {
    scene::open(scene, &Options { size: Some((side, side)), ..Options::default() }).expect("it is built in")
}

/// An app with all state of the panels, which never runs.
struct Shelf(RefCell<App>);

impl Shelf {
    fn new(simulations: Simulations) -> Self {
        let mut app = App::new();
        app.insert_resource(simulations).add_plugins(features::plugin);
        macro_rules! init {
            ($($resource:ty)*) => { $(app.init_resource::<$resource>();)* };
        }
        init!(Transport Restarts Timing Revision TimeSeries Recording History Brushes Document Preferences Overlay PointedPosition );
        init!(State<Workspace> State<Comparison> Divider Notices LessonAnswers Quiz Jobs State<CameraMode> KeyframeFollowing Draft ViewportArea ViewAnnotations);
        Self(RefCell::new(app))
    }

    fn of(scene: &str) -> Self {
        Self::new(Simulations::new(sessions(scene, 32)))
    }

    fn with(self, resource: impl Resource) -> Self {
        self.0.borrow_mut().insert_resource(resource);
        self
    }

    /// Gives access to the world, as the window has.
    fn use_world<R>(&self, change: impl FnOnce(&mut World) -> R) -> R {
        change(self.0.borrow_mut().world_mut())
    }

    fn simulations<R>(&self, look: impl FnOnce(&Simulations) -> R) -> R {
        look(self.0.borrow().world().resource())
    }

    /// Draws the whole window and collects its commands.
    fn window<'a>(&'a self, asked: &'a RefCell<Vec<AppCommand>>) -> impl FnMut(&mut egui::Ui) + 'a {
        move |ui| asked.borrow_mut().extend(self.use_world(|world| window_ui(ui, world).0))
    }

    /// Draws the open panes and collects their commands.
    fn panes<'a>(&'a self, asked: &'a RefCell<Vec<AppCommand>>) -> impl FnMut(&mut egui::Ui) + 'a {
        move |ui| asked.borrow_mut().extend(self.use_world(|world| floating_windows_ui(ui.ctx(), world)))
    }

    /// Draws a panel or a layer over the view and collects its commands.
    fn part<'a, M: 'static>(
        &'a self,
        system: impl IntoSystem<InMut<'static, egui::Ui>, Vec<AppCommand>, M> + Copy + 'static,
        asked: &'a RefCell<Vec<AppCommand>>,
    ) -> impl FnMut(&mut egui::Ui) + 'a {
        move |ui| {
            asked
                .borrow_mut()
                .extend(self.use_world(|world| world.run_system_cached_with(system, ui).expect("it runs")));
        }
    }

    fn toggle(&self, pane: &'static str) {
        self.use_world(|world| world.resource_mut::<FloatingWindows>().toggle(pane));
    }

    fn has(&self, pane: &str) -> bool {
        self.0.borrow().world().resource::<FloatingWindows>().is_open(pane)
    }

    /// Returns the panels with visible headings in a workspace.
    fn panels(&self, workspace: Workspace) -> Vec<SidebarPanel> {
        let app = self.0.borrow();
        let panels = app.world().resource::<Sidebar>().panels();
        panels.filter(|panel| !panel.title.is_empty() && panel.workspaces.contains(&workspace)).copied().collect()
    }
}

/// Returns the rivers of the selected session.
fn studied(shelf: &Shelf) -> RiverStudy {
    let params = RiverParams { from_cells: 20.0, ..RiverParams::default() };
    let study = |simulations: &Simulations| {
        Study::of(&simulations.selected().simulation.river_terrain(&params), Some([0.5, 0.5]))
    };
    let found = shelf.simulations(study);
    let mut rivers = RiverStudy::default();
    (rivers.study, rivers.selected_place) = (Some(found), Some([0.5, 0.5]));
    rivers
}

/// Returns the column of the collapsible panels.
fn column(harness: &Harness<'_>) -> egui::Rect {
    egui::containers::panel::PanelState::load(&harness.ctx, "parameters".into()).expect("it is drawn").rect
}

/// Returns the column of the lesson.
fn left_column(harness: &Harness<'_>) -> egui::Rect {
    egui::containers::panel::PanelState::load(&harness.ctx, "left-column".into()).expect("it is drawn").rect
}

/// Clicks on the heading of a panel and runs some frames. A tool may have the same name.
fn unfold(harness: &mut Harness<'_>, title: &str, frames: usize) {
    let column = column(harness);
    let mut headings = harness.query_all_by_label(title).filter(|node| column.contains_rect(node.rect()));
    headings.next().unwrap_or_else(|| panic!("there is no heading \"{title}\"")).click();
    drop(headings);
    harness.run_steps(frames);
}

#[test]
fn river_panel_shows_realism_and_sends_commands() {
    let shelf = Shelf::of("young-range");
    let rivers = studied(&shelf);
    let (shelf, asked) = (shelf.with(rivers), RefCell::default());
    let mut harness = Harness::builder().with_size([1280.0, 2400.0]).build_ui(shelf.window(&asked));
    harness.run_steps(3);
    unfold(&mut harness, "Rivers", 8);
    // Plain noise is not realistic terrain.
    assert!(harness.query_by_label("Pits: not realistic").is_some());
    for (button, command) in [
        ("Network", AppCommand::from(OverlayCommand::Show(Some(Quantity::DrainageArea)))),
        ("Basins", OverlayCommand::Show(Some(Quantity::Basin)).into()),
        ("Largest river", SelectRiver(None).into()),
    ] {
        harness.get_by_label(button).click();
        harness.run_steps(2);
        assert!(asked.borrow_mut().drain(..).any(|asked| asked == command), "{button}");
    }
    unfold(&mut harness, "Terrain", 8);
    harness.get_by_label("Carve outlets").click();
    harness.run_steps(2);
    let carves = |asked: &AppCommand| matches!(asked.get(), Some(DrainageCommand::CarveOutlets(_)));
    assert!(asked.borrow_mut().drain(..).any(|asked| carves(&asked)));
    unfold(&mut harness, "Mountain range", 8);
    for (button, command) in [
        ("Grow mountain range", AppCommand::from(SimulationCommand::Grow)),
        ("Fill lakes", DrainageCommand::FillLakes.into()),
        ("Fill rivers", DrainageCommand::FillRivers.into()),
    ] {
        harness.get_by_label_contains(button).click();
        harness.run_steps(2);
        assert!(asked.borrow_mut().drain(..).any(|asked| asked == command), "{button}");
    }
}

#[test]
fn divider_and_simulation_labels_are_keyboard_operable() {
    let labels = vec![(1, Vec2::new(0.25, 0.5), "Seed 2".to_owned())];
    let shelf =
        Shelf::of("ten-seeds").with(State::new(Comparison::Split)).with(ViewAnnotations { labels, ..default() });
    let asked = RefCell::new(Vec::new());
    let mut harness = Harness::builder().with_size([800.0, 600.0]).build_ui(shelf.part(view_ui, &asked));
    harness.run_steps(2);
    harness.get_by_label("Divider between Initial state and Tick 0").focus();
    harness.run_steps(2);
    harness.key_press(Key::ArrowRight);
    harness.run_steps(2);
    let moved = asked.take();
    let one = moved.first().and_then(AppCommand::get).filter(|_| moved.len() == 1);
    assert!(matches!(one, Some(CompareCommand::MoveDivider(share)) if *share > 0.5), "{moved:?}");
    harness.get_by_label("Seed 2").focus();
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(2);
    assert_eq!(asked.take(), [SimulationCommand::Select(1)]);
}

#[test]
fn comparing_simulations_shows_divider_and_next_button() {
    let shelf = Shelf::of("ten-seeds").with(State::new(Comparison::Simulations));
    let asked = RefCell::new(Vec::new());
    let mut harness = Harness::builder().with_size([800.0, 600.0]).build_ui(shelf.part(view_ui, &asked));
    harness.run_steps(2);
    harness.get_by_label("Divider between 1, published and 2, published").focus();
    harness.run_steps(2);
    harness.key_press(Key::ArrowLeft);
    harness.run_steps(2);
    let moved = asked.take();
    let one = moved.first().and_then(AppCommand::get).filter(|_| moved.len() == 1);
    assert!(matches!(one, Some(CompareCommand::MoveDivider(share)) if *share < 0.5), "{moved:?}");
    harness.get_by_label("Next simulation").click();
    harness.run_steps(2);
    assert_eq!(asked.take(), [SimulationCommand::Select(2)]);
}

#[test]
fn displaying_springs_does_not_change_them() {
    let mut sessions = sessions("river-valley", 32);
    // Out of range of the sliders, and with more digits than they show.
    let odd = [(2345.678, 1e6 / 3.0), (0.12345, -0.00123)];
    let odd = odd.map(|(radius, rate)| Source { place: [0.4, 0.6], radius, rate, ticks: None });
    sessions[0].set_sources(odd.to_vec());
    let shelf = Shelf::new(Simulations::new(sessions));
    shelf.use_world(|world| {
        let mut marks = world.query_filtered::<&mut ViewPlaces, With<SpringMarks>>();
        marks.single_mut(world).expect("there is one").0 = vec![Some(Vec2::new(0.5, 0.5)), None];
    });
    let asked = RefCell::new(Vec::new());
    let mut harness = Harness::builder().with_size([800.0, 600.0]).build_ui(shelf.part(springs_ui, &asked));
    harness.run_steps(4);
    assert!(harness.query_all_by_role(Role::Slider).count() >= 4);
    assert_eq!(asked.take(), Vec::<AppCommand>::new());
    harness.get_all_by_role(Role::Button).last().expect("each can be taken away").click();
    harness.run_steps(2);
    assert_eq!(asked.take()[0], EditCommand::SetSources(odd[..1].to_vec()));
    let mut harness = Harness::builder().with_size([800.0, 600.0]).build_ui(shelf.part(marks_ui, &asked));
    harness.run_steps(2);
    harness.get_by_label("Spring 1").click();
    harness.run_steps(4);
    assert!(harness.query_all_by_role(Role::Slider).count() >= 2, "its numbers stand beside it");
    assert_eq!(asked.take(), Vec::<AppCommand>::new());
}

#[test]
fn progress_notification_shows_its_fraction() {
    let (mut notices, progress) = (Notices::default(), JobProgress::default());
    notices.notify_progress("Saving…", progress.clone());
    let mut harness = Harness::builder().with_size([800.0, 600.0]).build_ui(|ui| {
        toasts_ui(ui.ctx(), &notices, ui.max_rect(), |_| true);
    });
    harness.run_steps(2);
    let shares = |harness: &Harness<'_>| -> Vec<f64> {
        let all = harness.query_all_by_role(Role::ProgressIndicator);
        all.filter_map(|node| node.accesskit_node().numeric_value()).collect()
    };
    assert!(shares(&harness).is_empty(), "nothing is known of it yet");
    progress.done(3, 4);
    harness.run_steps(2);
    assert_eq!(shares(&harness), [75.0]);
}

#[test]
fn question_has_answers_and_cannot_be_dismissed() {
    let mut notices = Notices::default();
    notices
        .ask("Which of them?", [("This", CameraCommand::FrameAll.into()), ("That", EditCommand::RemoveWater.into())]);
    let asked = RefCell::new(Vec::new());
    let mut harness = Harness::builder().with_size([800.0, 600.0]).build_ui(|ui| {
        asked.borrow_mut().extend(toasts_ui(ui.ctx(), &notices, ui.max_rect(), |_| true));
    });
    harness.run_steps(2);
    assert!(harness.query_by_label("This").is_some() && harness.query_by_label("Dismiss").is_none());
    harness.get_by_label("That").click();
    harness.run_steps(2);
    let id = notices.shown().next().expect("it waits").id;
    assert_eq!(asked.take(), [AppCommand::from(EditCommand::RemoveWater), FileCommand::Dismiss(id).into()]);
}

#[test]
fn notifications_hold_still_under_the_pointer() {
    let notices = RefCell::new(Notices::default());
    let undo = Some(("Undo", EditCommand::Undo.into()));
    let first = notices.borrow_mut().notify(NoticeLevel::Error, "The first.");
    notices.borrow_mut().offer(NoticeLevel::Error, "The second.", undo);
    let mut harness = Harness::builder().with_size([800.0, 600.0]).build_ui(|ui| {
        toasts_ui(ui.ctx(), &notices.borrow(), ui.max_rect(), |_| true);
    });
    harness.run_steps(3);
    let place = |harness: &Harness<'_>| harness.get_by_label("Undo").rect().center();
    let before = place(&harness);
    harness.hover_at(before);
    harness.run_steps(2);
    notices.borrow_mut().dismiss(first);
    notices.borrow_mut().notify(NoticeLevel::Error, "The third.");
    harness.run_steps(3);
    assert!(place(&harness).distance(before) < 1.0, "from {before} to {}", place(&harness));
    // Elsewhere, the pointer does not hold them.
    harness.hover_at(egui::pos2(700.0, 20.0));
    harness.run_steps(3);
    assert!(place(&harness).y > before.y + 10.0, "the gap at {before} remains: {}", place(&harness));
}

#[test]
fn notification_appearing_under_pointer_ignores_its_click() {
    let (notices, asked) = (RefCell::new(Notices::default()), RefCell::new(Vec::new()));
    let mut harness = Harness::builder().with_size([800.0, 600.0]).with_step_dt(0.1).build_ui(|ui| {
        asked.borrow_mut().extend(toasts_ui(ui.ctx(), &notices.borrow(), ui.max_rect(), |_| true));
    });
    let click = |harness: &mut Harness<'_>| {
        let place = harness.get_by_label("Discard").rect().center();
        harness.drag_at(place);
        harness.run_steps(1);
        harness.drop_at(place);
        harness.run_steps(1);
    };
    harness.hover_at(egui::pos2(60.0, 572.0));
    harness.run_steps(2);
    notices.borrow_mut().ask("Keep it?", [("Discard", EditCommand::RemoveWater.into())]);
    harness.run_steps(2);
    click(&mut harness);
    assert_eq!(asked.take(), Vec::<AppCommand>::new());
    harness.hover_at(egui::pos2(700.0, 20.0));
    harness.run_steps(2);
    click(&mut harness);
    assert_eq!(asked.take()[0], AppCommand::from(EditCommand::RemoveWater));
}

/// Width of the contents of a panel.
#[derive(Resource)]
struct ContentWidth(f32);

#[test]
fn sidebar_keeps_its_width_when_contents_grow() {
    let (shelf, asked) = (Shelf::of("alpine-valley").with(ContentWidth(100.0)), RefCell::default());
    let panel = SidebarPanel { key: "wide", title: "", workspaces: EVERYWHERE, unfolded: &[], in_lessons: true };
    let draw = |InMut(ui): InMut<egui::Ui>, width: Res<ContentWidth>| {
        ui.allocate_space(egui::vec2(width.0, 20.0));
        Vec::<AppCommand>::new()
    };
    shelf.0.borrow_mut().add_panel(panel, draw);
    let mut harness = Harness::builder().with_size([1280.0, 800.0]).build_ui(shelf.window(&asked));
    harness.run_steps(3);
    let before = column(&harness);
    shelf.use_world(|world| world.resource_mut::<ContentWidth>().0 = 700.0);
    harness.run_steps(3);
    assert_eq!(column(&harness), before);
}

#[test]
fn tiny_window_draws_and_sends_no_commands() {
    let (shelf, asked) = (Shelf::of("ten-seeds"), RefCell::default());
    for size in [[0.0, 0.0], [1.0, 1.0], [200.0, 100.0]] {
        let mut harness = Harness::builder().with_size(size).build_ui(shelf.window(&asked));
        harness.run_steps(3);
        assert_eq!(asked.take(), Vec::<AppCommand>::new(), "at {size:?}");
    }
}

/// 1280 × 800 and 1920 × 1080 pixels at 100, 125, 150 and 200 %, and a large screen.
const SIZES: [[f32; 2]; 7] = [
    [1280.0, 800.0],
    [1024.0, 640.0],
    [853.0, 533.0],
    [640.0, 400.0],
    [1920.0, 1080.0],
    [960.0, 540.0],
    [3840.0, 2160.0],
];

/// Returns `true` if two rectangles overlap by more than a pixel.
fn overlap(a: egui::Rect, b: egui::Rect) -> bool {
    let common = a.intersect(b);
    common.width() > 1.0 && common.height() > 1.0
}

#[test]
fn panels_do_not_overlap_or_exceed_the_window() {
    let names = ["menu", "status", "transport", "timeline", "tools", "left-column", "parameters"];
    for (workspace, size) in [Workspace::Sculpt, Workspace::Learn].into_iter().flat_map(|w| SIZES.map(|size| (w, size)))
    {
        let shelf = Shelf::of("alpine-valley").with(State::new(workspace));
        let view = RefCell::new(egui::Rect::NOTHING);
        let mut harness = Harness::builder().with_size(size).build_ui(|ui| {
            *view.borrow_mut() = shelf.use_world(|world| window_ui(ui, world).1);
        });
        harness.run_steps(3);
        let (view, window) = (*view.borrow(), egui::Rect::from_min_size(egui::Pos2::ZERO, size.into()));
        assert!(
            view.width() >= 0.35 * window.width() && view.height() >= 0.6 * window.height(),
            "at {size:?} the view has {view:?}"
        );
        let of = |name: &'static str| egui::containers::panel::PanelState::load(&harness.ctx, name.into());
        let panels: Vec<(&str, egui::Rect)> = names
            .into_iter()
            .filter_map(|name| of(name).map(|state| (name, state.rect)))
            .chain([("view", view)])
            .collect();
        let expected = if workspace == Workspace::Sculpt || size[0] >= 1200.0 { 7 } else { 6 };
        assert_eq!(panels.len(), expected, "at {size:?}: {panels:?}");
        for (index, (name, rect)) in panels.iter().enumerate() {
            assert!(window.expand(1.0).contains_rect(*rect), "at {size:?} {name} leaves the window: {rect:?}");
            for (other, there) in &panels[..index] {
                assert!(!overlap(*rect, *there), "at {size:?} {name} and {other} overlap: {rect:?}, {there:?}");
            }
        }
    }
}

#[test]
fn panel_widgets_stay_in_column_without_overlap() {
    for workspace in [Workspace::Sculpt, Workspace::Learn] {
        for width in [640.0, 1280.0] {
            // High enough for all panels.
            let shelf = Shelf::of("wadi").with(State::new(workspace));
            let rivers = studied(&shelf);
            let (shelf, asked) = (shelf.with(rivers), RefCell::default());
            let mut harness = Harness::builder().with_size([width, 12_000.0]).build_ui(shelf.window(&asked));
            harness.run_steps(3);
            for panel in shelf.panels(workspace).iter().filter(|panel| !panel.unfolded.contains(&workspace)) {
                unfold(&mut harness, panel.title, 8);
            }
            let column = column(&harness);
            let fields =
                [Role::Slider, Role::CheckBox, Role::ComboBox, Role::SpinButton, Role::Button, Role::ColorWell];
            let placed: Vec<(String, egui::Rect)> = fields
                .into_iter()
                .flat_map(|role| harness.query_all_by_role(role))
                .map(|node| {
                    (format!("{:?} {:?}", node.accesskit_node().role(), node.accesskit_node().label()), node.rect())
                })
                .filter(|(_, rect)| overlap(*rect, column))
                .collect();
            assert!(placed.len() > 60, "only {} fields were found", placed.len());
            for (index, (name, rect)) in placed.iter().enumerate() {
                assert!(column.expand(1.0).contains_rect(*rect), "{name} leaves the column {column:?}: {rect:?}");
                for (other, there) in &placed[..index] {
                    let inside = rect.contains_rect(*there) || there.contains_rect(*rect);
                    assert!(inside || !overlap(*rect, *there), "{name} and {other} overlap: {rect:?}, {there:?}");
                }
            }
        }
    }
}

#[test]
fn every_menu_fits_the_window() {
    let shelf = Shelf::of("one-barchan");
    for size in SIZES {
        for menu in ["File", "Edit", "Brush", "Scene", "Simulation", "View", "Help"] {
            let asked = RefCell::default();
            let mut harness = Harness::builder().with_size(size).build_ui(shelf.window(&asked));
            harness.run_steps(3);
            let mut titles = harness.query_all_by_label(menu).filter(|node| node.rect().top() < 26.0);
            titles.next().unwrap_or_else(|| panic!("there is no menu {menu}")).click();
            drop(titles);
            harness.run_steps(4);
            let areas: Vec<egui::Rect> = harness.ctx.memory(|memory| {
                let layers = memory.areas().visible_layer_ids();
                let above = layers.into_iter().filter(|layer| layer.order == egui::Order::Foreground);
                above.filter_map(|layer| memory.area_rect(layer.id)).collect()
            });
            let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, size.into()).expand(1.0);
            assert!(areas.iter().any(|area| area.area() > 5e3), "{menu} at {size:?} is not open: {areas:?}");
            assert!(areas.iter().all(|area| screen.contains_rect(*area)), "{menu} at {size:?}: {areas:?}");
        }
    }
}

#[test]
fn clicking_pause_sends_toggle_play() {
    let (shelf, asked) = (Shelf::of("round-hill"), RefCell::default());
    let mut harness = Harness::builder().with_size([1280.0, 800.0]).build_ui(shelf.window(&asked));
    harness.get_by_label_contains("Pause").click();
    harness.run_steps(3);
    assert!(asked.borrow().contains(&SimulationCommand::TogglePlay.into()), "{:?}", asked.borrow());
}

#[test]
fn camera_keyframes_have_a_context_menu_on_the_timeline() {
    let (mut simulations, asked) = (Simulations::new(sessions("round-hill", 32)), RefCell::default());
    for tick in [0.0, 40.0] {
        let key = CameraKeyframe { tick, ..CameraKeyframe::still(10.0, 30.0, 1.0) };
        assert!(simulations.views.keys.set(key));
    }
    let shelf = Shelf::new(simulations);
    let mut harness = Harness::builder().with_size([1280.0, 800.0]).build_ui(shelf.window(&asked));
    harness.run_steps(3);
    asked.take();
    let name = "Camera keyframe at tick 40";
    for (entry, wanted) in [
        ("Go to keyframe", AppCommand::from(CameraCommand::GoToKeyframe(40))),
        ("Linear", KeyframeCommand::SetInterpolation(40, Ease::Even).into()),
        ("Delete keyframe", KeyframeCommand::Remove(40).into()),
    ] {
        harness.get_by_label(name).click();
        harness.run_steps(3);
        harness.get_by_label(entry).click();
        harness.run_steps(3);
        let own = asked.take();
        assert_eq!(own, [wanted], "{entry}");
        harness.key_press(Key::Escape);
        harness.run_steps(3);
        asked.take();
    }
    let key = harness.get_by_label(name).rect().center();
    harness.drag_at(key);
    harness.run_steps(2);
    harness.hover_at(key - egui::vec2(200.0, 0.0));
    harness.run_steps(2);
    assert_eq!(asked.take(), Vec::<AppCommand>::new(), "it moves when it is let go");
    harness.drop_at(key - egui::vec2(200.0, 0.0));
    harness.run_steps(2);
    let moved = asked.take();
    let is_earlier = |command: &AppCommand| matches!(command.get(), Some(KeyframeCommand::Move(40, to)) if *to < 40);
    assert!(moved.iter().any(is_earlier), "{moved:?}");
    assert!(harness.query_by_label_contains("Keyframes").is_some(), "the transport bar lets the camera follow them");
}

#[test]
fn presentation_shows_scene_sliders_at_any_size() {
    let asked: RefCell<Vec<AppCommand>> = RefCell::default();
    for (shelf, shows) in
        [(Shelf::of("sand-sea"), false), (Shelf::of("sand-sea").with(State::new(Workspace::Present)), true)]
    {
        let list = Playlist::of(["sand-sea", "wadi"]);
        let presentation = shelf.simulations(|simulations| Presentation::of(Arc::new(list), false, simulations));
        let shelf = shelf.with(presentation);
        for size in [[480.0, 360.0], [1920.0, 1080.0]] {
            let mut harness = Harness::builder().with_size(size).build_ui(shelf.part(presentation_ui, &asked));
            harness.run_steps(4);
            assert_eq!(harness.query_by_role_and_label(Role::Slider, "Wind strength").is_some(), shows);
            if !shows {
                continue;
            }
            assert_eq!(asked.take(), Vec::<AppCommand>::new(), "seeing it changes nothing");
            for name in ["Wind strength", "Wind direction"] {
                let slider = harness.get_by_role_and_label(Role::Slider, name);
                let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, size.into());
                assert!(screen.contains_rect(slider.rect()), "{name} at {:?} of {size:?}", slider.rect());
            }
            harness.get_by_role_and_label(Role::Slider, "Wind strength").focus();
            harness.run_steps(2);
            harness.key_press(Key::ArrowRight);
            harness.run_steps(2);
            let set = |command: &AppCommand| matches!(command.get(), Some(EditCommand::Set(group, "strength", _)) if group == "wind");
            assert!(asked.take().iter().any(set));
        }
    }
}

#[test]
fn playlist_is_edited_by_clicks_and_drags() {
    let shelf = Shelf::of("round-hill");
    let asked: RefCell<Vec<AppCommand>> = RefCell::default();
    shelf.toggle("playlist");
    let mut harness = Harness::builder().with_size([1000.0, 720.0]).build_ui(shelf.panes(&asked));
    harness.run_steps(4);
    // A scene in the list has the same name as the one in the catalogue to the left of it.
    let place = |harness: &Harness<'_>, title: &str, in_list: bool| {
        let mut found: Vec<egui::Rect> = harness.query_all_by_label(title).map(|node| node.rect()).collect();
        found.sort_by(|a, b| a.left().total_cmp(&b.left()));
        if in_list { found[1] } else { found[0] }
    };
    let drag = |harness: &mut Harness<'_>, from: egui::Pos2, to: egui::Pos2| {
        harness.hover_at(from);
        harness.run_steps(1);
        harness.drag_at(from);
        harness.run_steps(1);
        for share in [0.3, 0.7, 1.0] {
            harness.hover_at(from + share * (to - from));
            harness.run_steps(1);
        }
        harness.drop_at(to);
        harness.run_steps(2);
    };
    let order = |harness: &mut Harness<'_>| {
        harness.get_by_label("Start presentation").click();
        harness.run_steps(2);
        let begun = asked.take().into_iter().find_map(|asked| match asked.get() {
            Some(PresentCommand::Begin(list)) => Some(Arc::clone(list)),
            _ => None,
        });
        // The window closes and keeps the list for the next time.
        assert!(!shelf.has("playlist"));
        shelf.toggle("playlist");
        harness.run_steps(4);
        let list = begun.expect("it is shown");
        list.scenes.iter().map(|item| item.open.to_str().expect("built in").to_owned()).collect::<Vec<_>>()
    };
    harness.get_by_label("Alpine valley").click();
    harness.run_steps(2);
    let below = place(&harness, "Alpine valley", true).center_bottom() + egui::vec2(0.0, 30.0);
    let from = place(&harness, "Island", false).center();
    drag(&mut harness, from, below);
    assert_eq!(order(&mut harness), ["alpine-valley", "island"]);
    // One between the two, then the last to the top.
    let (from, upper) = (place(&harness, "Alluvial fans", false).center(), place(&harness, "Alpine valley", true));
    drag(&mut harness, from, upper.center_bottom() - egui::vec2(0.0, 6.0));
    assert_eq!(order(&mut harness), ["alpine-valley", "fans", "island"]);
    let (from, upper) = (place(&harness, "Island", true).center(), place(&harness, "Alpine valley", true));
    drag(&mut harness, from, upper.center_top() + egui::vec2(0.0, 4.0));
    assert_eq!(order(&mut harness), ["island", "alpine-valley", "fans"]);
    harness.get_by_label("Move down: Island").click();
    harness.run_steps(2);
    harness.get_by_label("Remove from playlist: Alluvial fans").click();
    harness.run_steps(2);
    assert_eq!(order(&mut harness), ["alpine-valley", "island"]);
    // It is saved and restored at the next start.
    let draft = asked.take().into_iter().rev().find_map(|asked| match asked.get() {
        Some(PlaylistCommand::Edit(list)) => Some(Arc::clone(list)),
        _ => None,
    });
    let draft = draft.expect("it is remembered");
    assert_eq!(draft.scenes.iter().map(|item| &*item.open).collect::<Vec<_>>(), ["alpine-valley", "island"]);
    shelf.use_world(|world| world.insert_resource(PlaylistDialog::default()));
    shelf.0.borrow_mut().insert_resource(Draft::remembered(&ron::to_string(&*draft).expect("it has a text")));
    harness.run_steps(4);
    assert_eq!(order(&mut harness), ["alpine-valley", "island"]);
    assert_eq!(asked.take(), Vec::<AppCommand>::new(), "seeing it changes nothing");
    // Another list does not replace it without a way back.
    let shown = Arc::new(Playlist::of(["fans"]));
    let show = shelf.simulations(|simulations| Presentation::of(shown, false, simulations));
    shelf.0.borrow_mut().insert_resource(show);
    harness.run_steps(2);
    assert_eq!(order(&mut harness), ["alpine-valley", "island"]);
    for (button, wanted) in
        [("Edit current presentation", vec!["fans"]), ("Restore previous playlist", vec!["alpine-valley", "island"])]
    {
        harness.get_by_label(button).click();
        harness.run_steps(2);
        assert_eq!(order(&mut harness), wanted, "{button}");
    }
}

#[test]
fn presenter_sees_notes_and_goes_to_any_scene() {
    let mut list = Playlist::of(["sand-sea", "wadi", "delta"]);
    list.scenes[0].notes = "Say hello first.".to_owned();
    let shelf = Shelf::of("sand-sea").with(State::new(Workspace::Present));
    let presentation = shelf.simulations(|simulations| Presentation::of(Arc::new(list), false, simulations));
    let shelf = shelf.with(presentation);
    let asked: RefCell<Vec<AppCommand>> = RefCell::default();
    for size in [[1040.0, 660.0], [640.0, 420.0]] {
        let state = RefCell::new(presenter::PresenterState::default());
        let view = Cell::new(egui::Rect::NOTHING);
        let mut harness = Harness::builder().with_size(size).build_ui(|ui| {
            let (commands, place) = shelf.use_world(|world| {
                let mut desktop = SystemState::<presenter::PresenterParams<'_>>::new(world);
                presenter_ui(ui, &desktop.get(world).expect("all is there"), &mut state.borrow_mut(), 1.6)
            });
            asked.borrow_mut().extend(commands);
            view.set(place);
        });
        harness.run_steps(3);
        assert_eq!(asked.take(), Vec::<AppCommand>::new(), "seeing it changes nothing");
        let place = view.get();
        let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, size.into());
        assert!(screen.contains_rect(place) && place.area() > 0.1 * screen.area(), "{place:?} of {size:?}");
        assert!((place.aspect_ratio() - 1.6).abs() < 1e-3);
        assert!(harness.query_by_label("Say hello first.").is_some());
        assert!(harness.query_by_label("Wadi").is_some(), "the next scene");
        for (label, steps) in [("2. Wadi", 1), ("3. Delta", 2)] {
            harness.get_by_label(label).click();
            harness.run_steps(2);
            assert_eq!(asked.take(), [PresentCommand::Go(steps)], "{label}");
        }
        let is_next =
            |node: &egui_kittest::Node<'_>| node.accesskit_node().label().is_some_and(|label| label.ends_with("Next"));
        harness.query_all_by_role(Role::Button).find(is_next).expect("there is a button").click();
        harness.run_steps(2);
        assert_eq!(asked.take(), [PresentCommand::Go(1)]);
    }
}

#[test]
fn palette_finds_command_by_its_letters() {
    let shelf = Shelf::of("round-hill");
    let asked: RefCell<Vec<AppCommand>> = RefCell::default();
    shelf.toggle("palette");
    let mut harness = Harness::builder().with_size([900.0, 600.0]).build_ui(shelf.panes(&asked));
    harness.run_steps(3);
    harness.event(egui::Event::Text("ten sds".to_owned()));
    harness.run_steps(2);
    harness.key_press_modifiers(Modifiers::NONE, Key::Enter);
    harness.run_steps(2);
    assert!(asked.borrow().is_empty(), "an uncertain match runs without being highlighted");
    harness.key_press_modifiers(Modifiers::NONE, Key::ArrowDown);
    harness.run_steps(2);
    harness.key_press_modifiers(Modifiers::NONE, Key::Enter);
    harness.run_steps(2);
    assert_eq!(*asked.borrow(), [FileCommand::Open("ten-seeds".into(), Options::default())]);
    assert!(!shelf.has("palette"), "the palette stays open");
}

#[test]
fn palette_prefers_exact_titles_and_harmless_commands() {
    for (typed, found) in [
        ("river valley", AppCommand::from(FileCommand::Open("river-valley".into(), Options::default()))),
        ("water", EditCommand::ToggleWater.into()),
        ("ledger", WindowCommand::RevealPanel("ledger").into()),
    ] {
        let shelf = Shelf::of("round-hill");
        let asked: RefCell<Vec<AppCommand>> = RefCell::default();
        shelf.toggle("palette");
        let mut harness = Harness::builder().with_size([900.0, 600.0]).build_ui(shelf.panes(&asked));
        harness.run_steps(3);
        harness.event(egui::Event::Text(typed.to_owned()));
        harness.run_steps(2);
        harness.key_press_modifiers(Modifiers::NONE, Key::Enter);
        harness.run_steps(2);
        assert_eq!(*asked.borrow(), [found], "{typed}");
    }
}

#[test]
fn every_window_fits_the_screen_and_escape_closes_it() {
    let titles = [
        ("palette", "Command palette"),
        ("scenes", "Scenes"),
        ("playlist", "Playlist"),
        ("help", "Keyboard and mouse"),
        ("about", "About Thalweg"),
        ("settings", "Settings"),
        ("wind-map", "Wind map"),
        ("checks", "Check this machine"),
    ];
    for (pane, title) in titles {
        for size in SIZES {
            let (shelf, asked) = (Shelf::of("one-barchan"), RefCell::default());
            shelf.toggle(pane);
            let mut harness = Harness::builder().with_size(size).build_ui(shelf.panes(&asked));
            harness.run_steps(4);
            let rect = harness.ctx.memory(|memory| memory.area_rect(title)).expect("it is drawn");
            let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, size.into());
            assert!(rect.area() > 1e4 && screen.expand(1.0).contains_rect(rect), "{title} at {size:?}: {rect:?}");
            harness.key_press_modifiers(Modifiers::NONE, Key::Escape);
            harness.run_steps(2);
            // The map may stay open next to the view. Its own button closes it.
            assert_eq!(shelf.has(pane), pane == "wind-map", "{title} after Escape");
        }
    }
}
