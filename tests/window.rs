//! The window: panels without a screen, and the picture by facts.

use std::path::Path;

use egui_kittest::{Harness, kittest::Queryable};
use thalweg::{
    app,
    io::{
        heightmap::Options,
        scene::{Picture, Session},
    },
    params::{Value, walk},
    runtime::{Command, Timing, Transport},
    ui::{
        group::{group_ui, title},
        panels::window_ui,
    },
};

fn session(scene: &str, side: usize) -> Session {
    Session::open(scene, &Options { size: Some((side, side)), ..Options::default() }).expect("it is built in")
}

fn whole_window(session: Session) -> impl FnMut(&mut bevy_egui::egui::Ui) {
    move |ui| {
        window_ui(ui, &session, &Transport::default(), &Timing::default());
    }
}

#[test]
fn every_process_and_group_has_its_panel() {
    let session = session("alpine-valley", 32);
    let titles: Vec<&str> = session.simulation.slots.iter().map(|slot| slot.process.info().title).collect();
    let mut harness = Harness::builder().with_size([1280.0, 800.0]).build_ui(whole_window(session));
    harness.run_steps(3);
    for title in titles.into_iter().chain(["Terrain", "Light and colour", "New seed"]) {
        assert!(harness.query_by_label_contains(title).is_some(), "there is no \"{title}\"");
    }
}

#[test]
fn a_window_without_size_does_no_harm() {
    for size in [[0.0, 0.0], [1.0, 1.0], [200.0, 100.0]] {
        let mut harness = Harness::builder().with_size(size).build_ui(whole_window(session("round-hill", 32)));
        harness.run_steps(3);
    }
}

#[test]
fn every_parameter_of_every_group_is_drawn_under_its_name() {
    let session = session("alpine-valley", 32);
    for (group, fields) in session.groups() {
        let names: Vec<String> = walk((group, fields)).iter().map(|parameter| title(parameter.name)).collect();
        let mut harness = Harness::builder().with_size([400.0, 2000.0]).build_ui(|ui| {
            assert!(group_ui(ui, (group, fields), (group, fields)).is_empty(), "drawing {group} changed it");
        });
        harness.run_steps(2);
        if let Some(advanced) = harness.query_by_label("Advanced") {
            advanced.click();
            harness.run_steps(8);
        }
        for name in names {
            assert!(harness.query_all_by_label(&name).next().is_some(), "{group} does not show \"{name}\"");
        }
    }
}

#[test]
fn a_click_on_pause_asks_for_it() {
    let session = session("round-hill", 32);
    let asked = std::cell::RefCell::new(Vec::new());
    let mut harness = Harness::builder().with_size([1280.0, 800.0]).build_ui(|ui| {
        let (commands, _) = window_ui(ui, &session, &Transport::default(), &Timing::default());
        asked.borrow_mut().extend(commands);
    });
    harness.get_by_label_contains("Pause").click();
    harness.run_steps(3);
    assert!(asked.borrow().contains(&Command::TogglePlay), "{:?}", asked.borrow());
}

#[test]
fn a_changed_value_goes_into_the_session() {
    let mut session = session("alpine-valley", 32);
    session.set("droplets.friction", "0.2").expect("in range");
    let friction = session.groups().into_iter().flat_map(walk).find(|parameter| parameter.path == "droplets.friction");
    assert_eq!(friction.expect("it exists").value, Value::Number(0.2));
}

/// Red, green and blue of every pixel of a shot; `None`, said aloud, where there is no graphics driver.
fn picture(session: Session, folder: &Path, name: &str) -> Option<Vec<[u8; 3]>> {
    let out = folder.join(name);
    let wanted = Picture { out: out.clone(), resolution: (320, 200), camera: None, ui: false };
    if let Err(reason) = app::shot(session, &wanted) {
        assert!(std::env::var_os("THALWEG_REQUIRE_GPU").is_none(), "{reason}");
        eprintln!("SKIPPED: the picture was not checked: {reason}");
        return None;
    }
    let file = std::io::BufReader::new(std::fs::File::open(out).expect("it was written"));
    let mut reader = png::Decoder::new(file).read_info().expect("it is a PNG");
    let mut bytes = vec![0; reader.output_buffer_size().expect("it fits")];
    reader.next_frame(&mut bytes).expect("it is whole");
    Some(bytes.chunks_exact(3).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect())
}

/// Everything about the picture in one test: the engine's loop is started twice in one process, one after the other.
#[test]
fn the_picture_shows_both_colours_light_and_shadow_and_follows_the_terrain() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut session = session("alpine-valley", 128);
    let Some(before) = picture(session.clone(), folder.path(), "before.png") else { return };
    let share = |picture: &[[u8; 3]], test: &dyn Fn(&[u8; 3]) -> bool| {
        picture.iter().filter(|pixel| test(pixel)).count() as f64 / picture.len() as f64
    };
    let green = share(&before, &|[r, g, b]| *g > r.saturating_add(15) && *g > b.saturating_add(15));
    let grey = share(&before, &|[r, g, b]| r.abs_diff(*g) < 14 && g.abs_diff(*b) < 20 && *g > 100);
    let dark = share(&before, &|[r, g, b]| u16::from(*r) + u16::from(*g) + u16::from(*b) < 200);
    assert!(green > 0.01, "flat ground: {green}");
    assert!(grey > 0.01, "steep ground: {grey}");
    assert!((0.02..0.6).contains(&dark), "shadow: {dark}");
    (0..20).for_each(|_| session.simulation.tick());
    let after = picture(session, folder.path(), "after.png").expect("the driver was there a moment ago");
    let changed = before.iter().zip(&after).filter(|(a, b)| a != b).count() as f64 / before.len() as f64;
    assert!(changed > 0.1, "erosion changed only {changed} of the picture");
}
