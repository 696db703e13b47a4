//! Panels of processes and their parameters.

use super::*;
use thalweg_sim::process::wind::thinnest_sheet;

#[test]
fn every_scene_and_workspace_has_all_process_panels() {
    for (name, _) in BUILT_IN {
        for workspace in [Workspace::Sculpt, Workspace::Learn] {
            let mut record = TimeSeries::default();
            let shelf = Shelf::of(name).with(State::new(workspace));
            record.statistics =
                shelf.simulations(|simulations| Statistics::of(&simulations.selected().simulation.terrain));
            let rivers = studied(&shelf);
            let (shelf, asked) = (shelf.with(record).with(rivers), RefCell::default());
            let mut harness = Harness::builder().with_size([1280.0, 6000.0]).build_ui(shelf.window(&asked));
            harness.run_steps(3);
            for process in catalogue() {
                let title = process.info().title;
                assert!(harness.query_by_label(title).is_some(), "{name} has no \"{title}\"");
            }
            for panel in shelf.panels(workspace) {
                unfold(&mut harness, panel.title, 3);
            }
            assert!(asked.borrow().is_empty(), "drawing {name} asked for {:?}", asked.borrow());
        }
    }
}

#[test]
fn idle_process_states_reason_and_offers_remedy() {
    let click = |key: &str, set: &[(&str, &str)], button: &str| {
        let mut sessions = sessions("round-hill", 32);
        for (path, value) in set {
            sessions[0].set(path, value).expect("it is a parameter");
        }
        sessions[0].simulation.slots.iter_mut().for_each(|slot| slot.enabled = slot.key() == key);
        sessions[0].simulation.terrain.sand.fill(0.0);
        let (shelf, asked) = (Shelf::new(Simulations::new(sessions)), RefCell::default());
        let mut harness = Harness::builder().with_size([1280.0, 3000.0]).build_ui(shelf.window(&asked));
        harness.run_steps(3);
        let found = harness.query_by_label(button).map(|node| node.click());
        harness.run_steps(2);
        drop(harness);
        (found.is_some(), asked.take())
    };
    // Enough for dunes at this cell size.
    let metres = (2.0 * thinnest_sheet(sessions("round-hill", 32)[0].simulation.terrain.cell_size)).ceil();
    let spread = format!("Add {metres} m of sand");
    let (offered, asked) = click("wind", &[], &spread);
    assert!(offered && asked == [EditCommand::AddSand(metres)], "{asked:?}");
    let (offered, asked) = click("water", &[("water.rain_rate", "0")], "Enable rain");
    assert!(
        offered && matches!(&asked[..], [set] if matches!(set.get(), Some(EditCommand::Set(_, "rain_rate", _)))),
        "{asked:?}"
    );
    for (key, button) in [("water", "Enable rain"), ("thermal", &*spread)] {
        assert_eq!(click(key, &[], button), (false, Vec::new()), "{key} has what it needs");
    }
}

#[test]
fn toggling_processes_moves_no_other_process() {
    let (shelf, asked) = (Shelf::of("alpine-valley"), RefCell::default());
    let mut harness = Harness::builder().with_size([1280.0, 6000.0]).build_ui(shelf.window(&asked));
    let mut rows = |enabled: Option<bool>| -> Vec<f32> {
        shelf.use_world(|world| {
            let mut simulations = world.resource_mut::<Simulations>();
            let slots = &mut simulations.all_mut()[0].simulation.slots;
            slots.iter_mut().for_each(|slot| slot.enabled = enabled.unwrap_or(slot.enabled));
        });
        harness.run_steps(3);
        let top = |title: &str| harness.get_by_label(title).rect().top();
        let tops: Vec<f32> = catalogue().iter().map(|process| top(process.info().title)).collect();
        tops.iter().map(|top| top - tops[0]).collect()
    };
    let before = rows(None);
    assert_eq!([rows(Some(true)), rows(Some(false))], [before.clone(), before]);
}

#[test]
fn every_parameter_is_drawn_and_reaches_both_ends() {
    let session = &sessions("alpine-valley", 32)[0];
    let settings = Settings::default();
    let mut groups = session.groups();
    groups.push(("settings", &settings));
    for (group, fields) in groups {
        let parameters = collect_parameters((group, fields));
        let asked: RefCell<Vec<(&'static str, Value)>> = RefCell::default();
        let mut harness = Harness::builder().with_size([420.0, 2400.0]).build_ui(|ui| {
            asked.borrow_mut().extend(group_ui(ui, (group, fields), (group, fields), false));
        });
        harness.run_steps(2);
        assert!(asked.borrow().is_empty(), "drawing {group} changed it");
        if let Some(advanced) = harness.query_by_label("Advanced") {
            advanced.click();
            harness.run_steps(8);
        }
        for parameter in &parameters {
            let name = parameter.title();
            assert!(harness.query_all_by_label(&name).next().is_some(), "{group} does not show \"{name}\"");
            if !matches!(parameter.value, Value::Number(_)) {
                continue;
            }
            for end in [parameter.knob.min, parameter.knob.max] {
                asked.borrow_mut().clear();
                // Pressed at the very end of the rail, as with a pointer.
                let rail = harness.get_by_role_and_label(Role::Slider, &name).rect();
                let x = if end == parameter.knob.min { rail.left() - 30.0 } else { rail.right() + 30.0 };
                harness.drag_at(rail.center());
                harness.run_steps(1);
                harness.hover_at(egui::pos2(x, rail.center().y));
                harness.run_steps(1);
                harness.drop_at(egui::pos2(x, rail.center().y));
                harness.run_steps(2);
                let reached = asked.borrow().iter().any(|(changed, value)| {
                    // Sliders round to significant digits, but the end itself must be reachable.
                    *changed == parameter.name && *value == Value::Number(end)
                });
                assert!(
                    reached || parameter.value == Value::Number(end),
                    "{} does not reach {end}: {:?}",
                    parameter.path,
                    asked.borrow()
                );
            }
        }
    }
}

#[test]
fn typed_number_accepts_expressions_and_units() {
    let session = &sessions("alpine-valley", 32)[0];
    let groups = session.groups();
    let (group, fields) = *groups.iter().find(|(group, _)| *group == "droplets").expect("it is declared");
    let asked: RefCell<Vec<(&'static str, Value)>> = RefCell::default();
    let mut harness = Harness::builder().with_size([420.0, 2400.0]).build_ui(|ui| {
        asked.borrow_mut().extend(group_ui(ui, (group, fields), (group, fields), false));
    });
    harness.run_steps(2);
    for (typed, wanted) in
        [("2*300", Some(600.0)), ("1,5e3", Some(1500.0)), ("1 200 droplets", Some(1200.0)), ("abc", None)]
    {
        asked.borrow_mut().clear();
        harness.get_all_by_role(Role::SpinButton).next().expect("there are numbers").click();
        harness.run_steps(2);
        harness.event(egui::Event::Text(typed.to_owned()));
        harness.run_steps(2);
        assert!(asked.borrow().is_empty(), "{typed} counts before it is finished");
        harness.key_press_modifiers(Modifiers::NONE, Key::Enter);
        harness.run_steps(2);
        let found = asked.borrow().iter().find(|(name, _)| *name == "per_tick").map(|(_, value)| value.clone());
        assert_eq!(found, wanted.map(Value::Number), "{typed}");
    }
}

#[test]
fn wind_dial_is_operated_by_dragging_and_keys() {
    let asked: RefCell<Vec<AppCommand>> = RefCell::default();
    for (shelf, shows) in [(Shelf::of("round-hill"), false), (Shelf::of("one-barchan"), true)] {
        let mut harness = Harness::builder().with_size([400.0, 300.0]).build_ui(shelf.part(dial_ui, &asked));
        harness.run_steps(3);
        assert_eq!(harness.query_by_label("Wind direction").is_some(), shows);
        if !shows {
            continue;
        }
        assert_eq!(asked.take(), Vec::<AppCommand>::new(), "seeing it changes nothing");
        let dial = harness.get_by_label("Wind direction");
        dial.focus();
        harness.run_steps(2);
        harness.key_press(Key::ArrowUp);
        harness.run_steps(2);
        let wanted = EditCommand::Set("wind".to_owned(), "strength", Value::Number(2.1));
        assert_eq!(format!("{:?}", asked.take()), format!("{:?}", [AppCommand::from(wanted)]));
        let rect = harness.get_by_label("Wind direction").rect();
        let below = egui::pos2(rect.center().x, rect.top() + 0.9 * rect.width());
        harness.drag_at(below);
        harness.run_steps(2);
        let turned = asked.take();
        let set = EditCommand::Set("wind".to_owned(), "direction", Value::Number(90.0));
        assert!(turned.contains(&set.into()), "{turned:?}");
    }
}
