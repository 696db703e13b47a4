//! Keyboard access and screen reader output.

use super::*;
use thalweg::{
    shell::{access, leave::leave_ui, navigate},
    world::WindowCommand,
};
use thalweg_scene::settings::UnitSystem;

/// Returns role, name and rectangle of everything reachable with Tab.
fn reachable(harness: &Harness<'_>) -> Vec<(Role, String, egui::Rect)> {
    let nodes = harness
        .root()
        .children_recursive()
        .filter(|node| node.accesskit_node().data().supports_action(egui::accesskit::Action::Focus));
    let described = |node: &egui_kittest::Node<'_>| {
        let label = node.accesskit_node().label().unwrap_or_default();
        (node.accesskit_node().role(), label, node.rect())
    };
    nodes.map(|node| described(&node)).collect()
}

#[test]
fn every_focusable_widget_has_a_name() {
    let mut unnamed = Vec::new();
    for scene in ["river-valley", "one-barchan"] {
        let (shelf, asked) = (Shelf::of(scene), RefCell::default());
        let mut harness = Harness::builder().with_size([1280.0, 3000.0]).build_ui(shelf.window(&asked));
        access::install_name_correction(&harness.ctx);
        harness.run_steps(3);
        for title in ["Terrain", "Springs and drains", "Mask", "Overlays", "Water appearance", "History", "Ledger"] {
            let column = column(&harness);
            let there = harness.query_all_by_label(title).any(|node| column.contains_rect(node.rect()));
            if there {
                unfold(&mut harness, title, 4);
            }
        }
        let all = reachable(&harness);
        assert!(all.len() > 100, "{scene}: {} things", all.len());
        unnamed.extend(all.into_iter().filter(|(_, name, _)| name.trim().is_empty()).map(|found| (scene, found)));
    }
    assert!(unnamed.is_empty(), "{unnamed:#?}");
}

#[test]
fn dialog_traps_keyboard_focus() {
    let mut document = Document::default();
    document.asks_to_save = true;
    let shelf = Shelf::of("round-hill").with(document);
    let asked = RefCell::new(Vec::new());
    let mut harness = Harness::builder().with_size([1280.0, 800.0]).build_ui(|ui| {
        asked.borrow_mut().extend(shelf.use_world(|world| {
            let mut all = window_ui(ui, world).0;
            all.extend(world.run_system_cached_with(leave_ui, &mut ui.ctx().clone()).expect("it runs"));
            all
        }));
    });
    harness.run_steps(4);
    let focused = |harness: &Harness<'_>| {
        let node = harness.root().children_recursive().find(egui_kittest::Node::is_focused);
        node.and_then(|node| node.accesskit_node().label())
    };
    assert_eq!(focused(&harness).as_deref(), Some("Save and quit"));
    let mut seen = Vec::new();
    for _ in 0..6 {
        harness.key_press(Key::Tab);
        harness.run_steps(2);
        seen.push(focused(&harness).unwrap_or_default());
    }
    for name in ["Save and quit", "Quit without saving", "Cancel"] {
        assert_eq!(seen.iter().filter(|seen| *seen == name).count(), 2, "{seen:?}");
    }
    harness.key_press(Key::Escape);
    harness.run_steps(2);
    assert_eq!(asked.take(), [FileCommand::CancelQuit]);
}

#[test]
fn focused_widget_scrolls_into_view() {
    let (shelf, asked) = (Shelf::of("river-valley"), RefCell::default());
    let mut harness = Harness::builder().with_size([1280.0, 500.0]).build_ui(shelf.window(&asked));
    harness.run_steps(3);
    let column = column(&harness);
    let heading = |harness: &Harness<'_>| {
        harness
            .query_all_by_label("Statistics")
            .find(|node| column.x_range().contains(node.rect().center().x))
            .map(|node| node.rect())
    };
    assert!(heading(&harness).is_none_or(|rect| !column.contains_rect(rect)), "it is in sight from the first");
    harness.query_all_by_label("Statistics").next().expect("it is drawn").focus();
    harness.run_steps(12);
    let rect = heading(&harness).expect("it is drawn");
    assert!(column.expand(1.0).contains_rect(rect), "{rect:?} in {column:?}");
}

#[test]
fn escape_closes_one_window_at_a_time() {
    let shelf = Shelf::of("round-hill");
    let asked = RefCell::new(Vec::new());
    ["settings", "help"].into_iter().for_each(|pane| shelf.toggle(pane));
    let mut harness = Harness::builder().with_size([900.0, 700.0]).build_ui(shelf.panes(&asked));
    harness.run_steps(3);
    for left in [vec!["settings"], vec![]] {
        harness.key_press(Key::Escape);
        harness.run_steps(3);
        let open: Vec<&str> = ["settings", "help"].into_iter().filter(|pane| shelf.has(pane)).collect();
        assert_eq!(open, left);
    }
}

#[test]
fn palette_reveals_and_focuses_a_parameter() {
    let shelf = Shelf::of("river-valley");
    let asked = RefCell::new(Vec::new());
    shelf.toggle("palette");
    let mut harness = Harness::builder().with_size([900.0, 600.0]).build_ui(shelf.panes(&asked));
    harness.run_steps(3);
    harness.event(egui::Event::Text("bank angle".to_owned()));
    harness.run_steps(2);
    harness.key_press_modifiers(Modifiers::NONE, Key::Enter);
    harness.run_steps(2);
    let path = "droplets.bank_angle";
    assert_eq!(asked.take(), [WindowCommand::RevealParameter(path.to_owned())]);
    let asked = RefCell::default();
    let mut harness = Harness::builder().with_size([1280.0, 500.0]).build_ui(shelf.window(&asked));
    harness.run_steps(3);
    // Its process is disabled, and it is not a main parameter.
    assert!(harness.query_by_label("Bank angle").is_none());
    navigate::navigate_to(&harness.ctx, path);
    harness.run_steps(20);
    let column = column(&harness);
    let rect = harness.get_by_role_and_label(Role::Slider, "Bank angle").rect();
    assert!(column.contains_rect(rect), "{rect:?} in {column:?}");
    assert!(harness.get_by_role_and_label(Role::Slider, "Bank angle").is_focused());
    // The highlight fades after a while; collapsed panels stay collapsed.
    harness.run_steps(200);
    harness.key_press(Key::ArrowRight);
    harness.run_steps(2);
    let changed = |asked: &AppCommand| matches!(asked.get(), Some(EditCommand::Set(group, "bank_angle", _)) if group == "droplets");
    assert!(asked.borrow().iter().any(changed), "{:?}", asked.borrow());
}

#[test]
fn delete_resets_the_focused_parameter() {
    let session = &sessions("river-valley", 32)[0];
    let mut look = session.look.clone();
    look.sun_elevation += 7.0;
    let asked: RefCell<Vec<(&'static str, Value)>> = RefCell::default();
    let mut harness = Harness::builder().with_size([420.0, 1600.0]).build_ui(|ui| {
        asked.borrow_mut().extend(group_ui(ui, ("look", &look), ("look", &session.look), false));
    });
    harness.run_steps(2);
    let name = collect_parameters(("look", &look))
        .into_iter()
        .find(|parameter| parameter.name == "sun_elevation")
        .expect("it is declared")
        .title();
    harness.get_by_role_and_label(Role::Slider, &name).focus();
    harness.run_steps(2);
    harness.key_press(Key::Delete);
    harness.run_steps(2);
    let fresh = Value::Number(session.look.sun_elevation.into());
    assert!(asked.borrow().contains(&("sun_elevation", fresh)), "{:?}", asked.borrow());
}

#[test]
fn combo_box_is_operated_by_keys_and_restores_focus() {
    let settings = RefCell::new(Settings::default());
    let before = RefCell::new(access::FocusHistory::default());
    let mut harness = Harness::builder().with_size([420.0, 900.0]).build_ui(|ui| {
        access::begin(ui.ctx(), *before.borrow());
        let now = settings.borrow().clone();
        for (name, value) in group_ui(ui, ("settings", &now), ("settings", &Settings::default()), true) {
            settings.borrow_mut().change(name, &value, true);
        }
        access::end(ui.ctx(), &mut before.borrow_mut());
    });
    harness.run_steps(2);
    let units = |harness: &Harness<'_>| harness.get_by_role_and_label(Role::ComboBox, "Units").is_focused();
    harness.get_by_role_and_label(Role::ComboBox, "Units").focus();
    harness.run_steps(2);
    for (arrow, wanted) in [(Key::ArrowDown, UnitSystem::Feet), (Key::ArrowUp, UnitSystem::Metric)] {
        harness.key_press(Key::Space);
        harness.run_steps(4);
        for key in [arrow, Key::Enter] {
            harness.key_press(key);
            harness.run_steps(4);
        }
        assert_eq!(settings.borrow().units, wanted);
        assert!(!egui::Popup::is_any_open(&harness.ctx), "the list stays open");
        assert!(units(&harness), "the list keeps the keyboard");
    }
    // Escape leaves everything unchanged.
    harness.key_press(Key::Space);
    harness.run_steps(4);
    assert!(egui::Popup::is_any_open(&harness.ctx));
    harness.key_press(Key::Escape);
    harness.run_steps(4);
    assert!(!egui::Popup::is_any_open(&harness.ctx) && settings.borrow().units == UnitSystem::Metric);
    assert!(units(&harness), "the list keeps the keyboard");
}

#[test]
fn f6_cycles_regions_and_restores_focus() {
    let shelf = Shelf::of("round-hill");
    let before = RefCell::new(access::FocusHistory::default());
    let mut harness = Harness::builder().with_size([1280.0, 800.0]).build_ui(|ui| {
        access::begin(ui.ctx(), *before.borrow());
        shelf.use_world(|world| drop(window_ui(ui, world)));
        access::end(ui.ctx(), &mut before.borrow_mut());
    });
    harness.run_steps(3);
    // Name of the focused section, and rectangle of the focused element.
    let focused = |harness: &Harness<'_>| {
        let node = harness.root().children_recursive().find(egui_kittest::Node::is_focused).expect("nothing has it");
        let (place, mut node) = (node.rect(), node.accesskit_node());
        while node.role() != Role::Region {
            node = node.parent().expect("it lies in no part");
        }
        (node.label().unwrap_or_default(), place)
    };
    let press = |harness: &mut Harness<'_>, modifiers, key| {
        harness.key_press_modifiers(modifiers, key);
        harness.run_steps(3);
        focused(harness)
    };
    let parts: Vec<String> = (0..6).map(|_| press(&mut harness, Modifiers::NONE, Key::F6).0).collect();
    assert_eq!(parts, ["Menu bar", "Transport", "Timeline", "Toolbar", "Sidebar", "Menu bar"]);
    let second = press(&mut harness, Modifiers::NONE, Key::Tab);
    assert_eq!(second.0, "Menu bar");
    assert_eq!(press(&mut harness, Modifiers::SHIFT, Key::F6).0, "Sidebar");
    assert_eq!(press(&mut harness, Modifiers::NONE, Key::F6), second);
}
