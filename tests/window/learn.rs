//! Lessons, sections, probes and checks in their panels.

use std::collections::BTreeMap;

use thalweg::features::{lessons::LessonCommand, section::SaveDrawing};
use thalweg_scene::{
    io::lesson::{BUILT_IN as BUILT_IN_LESSONS, built_in, open},
    model::lesson::{Answer, Attempt, Task},
};

use super::*;

/// Returns a window on a lesson at one of its steps.
fn at(name: &str, step: usize, answers: BTreeMap<String, Answer>) -> Shelf {
    let (lesson, session) = open(name).unwrap_or_else(|error| panic!("{error}"));
    let mut attempt = Attempt::new(lesson, answers);
    attempt.step = step;
    let simulations = Simulations::new(vec![session]);
    let lesson = CurrentLesson::new(attempt, &simulations);
    Shelf::new(simulations).with(State::new(Workspace::Learn)).with(lesson)
}

#[test]
fn lesson_images_fill_the_panel_or_are_reported() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("images.md");
    let image = fs::read("assets/thumbnails/fans.png").expect("the repository has it");
    fs::write(folder.path().join("fans.png"), image).expect("it is writable");
    let (_, text) = BUILT_IN_LESSONS[0];
    let (head, rest) = text[3..].split_once("\n---\n").expect("it has a front matter");
    let images = "Fans:\n\n![Fans below a range](fans.png)\n\n![Nothing](none.png)";
    let text = format!("---{head}\n---\n{images}\n\n{rest}");
    fs::write(&path, text).expect("it is writable");
    let (shelf, asked) = (at(&path.to_string_lossy(), 0, BTreeMap::new()), RefCell::default());
    let mut harness = Harness::builder().with_size([1280.0, 3000.0]).build_ui(shelf.window(&asked));
    let begun = Instant::now();
    let place = |harness: &Harness<'_>| {
        harness.query_by_role_and_label(Role::Image, "Fans below a range").map(|node| node.rect())
    };
    while place(&harness).is_none() || harness.query_by_label_contains("cannot be shown").is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the images were not loaded");
        harness.run_steps(1);
    }
    // The next frame has their final layout.
    harness.run_steps(2);
    let (column, image) = (left_column(&harness), place(&harness).expect("it was loaded"));
    assert!(column.contains_rect(image) && image.width() > 0.8 * column.width(), "{image:?} in {column:?}");
    // The proportions of the file.
    assert!((image.width() / image.height() - 240.0 / 150.0).abs() < 0.01, "{image:?}");
    assert!(harness.query_by_label_contains("none.png: file not found").is_some());
}

#[test]
fn every_lesson_step_fits_its_panel() {
    for (name, lesson) in built_in() {
        for (number, step) in lesson.steps.iter().enumerate() {
            let (shelf, asked) = (at(name, number, BTreeMap::new()), RefCell::default());
            let mut harness = Harness::builder().with_size([1280.0, 3000.0]).build_ui(shelf.window(&asked));
            harness.run_steps(3);
            let column = left_column(&harness);
            let next = harness.get_by_label_contains("Back").rect();
            assert!(column.contains_rect(next), "{name}, {}: {next:?} is not in {column:?}", step.title);
            assert!(number == 0 || harness.query_by_label(&step.title).is_some(), "{name}, {}", step.title);
            assert!(asked.borrow().is_empty(), "{name}, {}: {:?}", step.title, asked.borrow());
        }
    }
}

/// Returns the first lesson step with a task of a kind.
fn first(wanted: impl Fn(&Task) -> bool) -> (&'static str, usize, Task) {
    let steps = |(name, lesson): &'static (&'static str, thalweg_scene::model::lesson::Lesson)| {
        lesson.steps.iter().enumerate().filter_map(move |(number, step)| Some((*name, number, step.task.clone()?)))
    };
    built_in().iter().flat_map(steps).find(|(.., task)| wanted(task)).expect("there is one")
}

#[test]
fn lesson_tasks_are_operated_by_keys_and_clicks() {
    let (name, step, task) = first(|task| matches!(task, Task::Choose { .. }));
    let Task::Choose { key, options, .. } = task else { unreachable!("it was looked for") };
    let (shelf, asked) = (at(name, step, BTreeMap::new()), RefCell::default());
    let mut harness = Harness::builder().with_size([1280.0, 2000.0]).build_ui(shelf.window(&asked));
    harness.run_steps(3);
    harness.get_by_label(&options[1]).click();
    harness.run_steps(2);
    assert_eq!(asked.take(), [LessonCommand::Answer(key, Answer::Chosen(1))]);
    let (name, step, _) = first(|task| matches!(task, Task::Run { .. }));
    let (shelf, asked) = (at(name, step, BTreeMap::new()), RefCell::default());
    let mut harness = Harness::builder().with_size([1280.0, 2000.0]).build_ui(shelf.window(&asked));
    harness.run_steps(3);
    let button =
        |node: &egui_kittest::Node<'_>| node.accesskit_node().label().is_some_and(|label| label.contains("tick"));
    harness.get_all_by_role(Role::Button).find(button).expect("there is a button that runs it").focus();
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(2);
    assert!(asked.take().contains(&LessonCommand::Run.into()));
    let (name, step, task) = first(|task| matches!(task, Task::Measure { .. }));
    let (shelf, asked) = (at(name, step, BTreeMap::new()), RefCell::default());
    let mut harness = Harness::builder().with_size([1280.0, 2000.0]).build_ui(shelf.window(&asked));
    harness.run_steps(3);
    harness.get_by_label("Your reading").focus();
    harness.run_steps(2);
    harness.event(egui::Event::Text("33,5".to_owned()));
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(2);
    assert_eq!(asked.take(), [LessonCommand::Read(33.5)], "a comma is taken for a point");
    // After a wrong answer, the step shows the measured value only on request.
    let key = task.key().expect("a measurement has one").to_owned();
    let answers = BTreeMap::from([(key, Answer::Measured { read: 33.5, found: 1000.0 })]);
    let (shelf, asked) = (at(name, step, answers), RefCell::default());
    let mut harness = Harness::builder().with_size([1280.0, 2000.0]).build_ui(shelf.window(&asked));
    harness.run_steps(3);
    assert!(harness.query_by_label("Measured value").is_none());
    assert!(harness.query_by_label_contains("Your reading is too low.").is_some());
    harness.get_by_label("Show the measured value").click();
    harness.run_steps(20);
    assert!(harness.query_by_label("Measured value").is_some());
    harness.get_by_label_contains("Next").click();
    harness.run_steps(2);
    assert_eq!(asked.take(), [LessonCommand::Next]);
}

/// Returns a window on the first lesson that asks for a drawing, and the key of its answer.
fn asked_to_draw() -> (Shelf, String) {
    let (name, step, task) = first(|task| matches!(task, Task::Draw { .. }));
    let shelf = at(name, step, BTreeMap::new());
    let mut section = Section::default();
    section.ends = Some([[0.0, 0.5], [1.0, 0.5]]);
    section.now = shelf.simulations(|simulations| {
        thalweg_sim::measure::section(&simulations.selected().simulation.terrain, [[0.0, 0.5], [1.0, 0.5]])
    });
    section.start = section.now.iter().map(thalweg_sim::measure::SectionPoint::ground).collect();
    (shelf.with(section), task.key().expect("it is answered").to_owned())
}

/// Returns the button below a drawing, which the lesson's text mentions too.
fn keep_button<'a>(harness: &'a Harness<'_>) -> egui_kittest::Node<'a> {
    let mut named = harness.get_all_by_label_contains("Save drawing");
    named.find(|node| node.accesskit_node().role() == Role::Button).expect("it is there")
}

/// Returns the heights kept under a key.
fn saved_heights(asked: &[AppCommand], key: &str) -> Vec<f32> {
    match asked.last().and_then(AppCommand::get) {
        Some(SaveDrawing(of, heights)) if of == key => heights.clone(),
        _ => panic!("it was not kept: {asked:?}"),
    }
}

#[test]
fn section_profile_is_drawn_with_the_pointer() {
    let (shelf, key) = asked_to_draw();
    let asked = RefCell::default();
    let mut harness = Harness::builder().with_size([1280.0, 4000.0]).build_ui(shelf.window(&asked));
    harness.run_steps(4);
    let keep = keep_button(&harness).rect();
    // The plot is below the button and the title.
    let middle = egui::pos2(keep.left() + 150.0, keep.bottom() + 130.0);
    harness.drag_at(middle);
    harness.run_steps(2);
    harness.hover_at(middle + egui::vec2(40.0, -20.0));
    harness.run_steps(2);
    harness.drop_at(middle + egui::vec2(40.0, -20.0));
    harness.run_steps(2);
    keep_button(&harness).click();
    harness.run_steps(2);
    let heights = saved_heights(&asked.take(), &key);
    let start = shelf.simulations(|simulations| {
        let terrain = &simulations.selected().simulation.terrain;
        (0..heights.len())
            .map(|place| {
                let share = place as f32 / (heights.len() - 1) as f32;
                terrain.sample_ground(share * terrain.width() as f32 - 0.5, 0.5 * terrain.height() as f32 - 0.5)
            })
            .collect::<Vec<_>>()
    });
    let moved = heights.iter().zip(&start).filter(|(drawn, start)| (**drawn - **start).abs() > 2.0).count();
    assert!((2..heights.len() / 2).contains(&moved), "{moved} of {} heights were drawn", heights.len());
}

#[test]
fn section_profile_is_drawn_with_the_keyboard() {
    let (shelf, key) = asked_to_draw();
    let asked = RefCell::default();
    let mut harness = Harness::builder().with_size([1280.0, 4000.0]).build_ui(shelf.window(&asked));
    harness.run_steps(4);
    let start = shelf.simulations(|simulations| {
        let line = [[0.0, 0.5], [1.0, 0.5]];
        thalweg_sim::measure::section(&simulations.selected().simulation.terrain, line)[0].ground()
    });
    let press = |harness: &mut Harness<'_>, name: &str| {
        harness.get_by_label(name).click();
        harness.run_steps(2);
    };
    press(&mut harness, "Start here");
    // From the start to a point beyond the far end, clamped to the end, at ground height there.
    harness.get_by_role_and_label(Role::SpinButton, "at").focus();
    harness.run_steps(2);
    harness.event(egui::Event::Text("1000000".to_owned()));
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(2);
    press(&mut harness, "Line to here");
    keep_button(&harness).click();
    harness.run_steps(2);
    let heights = saved_heights(&asked.take(), &key);
    let last = heights.len() - 1;
    assert!((heights[0] - start).abs() < 0.1, "{} and {start}", heights[0]);
    for (place, height) in heights.iter().enumerate() {
        let straight = heights[0] + (heights[last] - heights[0]) * place as f32 / last as f32;
        assert!((height - straight).abs() < 0.1, "{place}: {height}, not {straight}");
    }
}

#[test]
fn checks_are_listed_before_they_run() {
    let shelf = Shelf::of("round-hill");
    let asked = RefCell::new(Vec::new());
    shelf.toggle("checks");
    let mut harness = Harness::builder().with_size([900.0, 600.0]).build_ui(shelf.panes(&asked));
    harness.run_steps(3);
    for check in thalweg_sim::simulation::check::CHECKS {
        assert!(harness.query_by_label(check.title).is_some(), "{}", check.title);
    }
    harness.get_by_label("Check now").click();
    harness.run_steps(2);
    assert_eq!(asked.take(), [CheckCommand::Run]);
}
