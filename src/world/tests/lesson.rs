//! A lesson from its first step to the report.

use super::*;
use crate::features::lessons::LessonCommand;
use thalweg_scene::{
    io::lesson::{BUILT_IN, path_of},
    model::lesson::{Answer, Attempt, Task},
};
use thalweg_sim::edit::Tool;

fn attempt(app: &App) -> Attempt {
    app.world().get_resource::<CurrentLesson>().expect("a lesson is open").attempt.clone()
}

fn is_open(app: &App) -> bool {
    app.world().contains_resource::<CurrentLesson>()
}

fn runs_to(app: &App) -> Option<u64> {
    app.world().get_resource::<CurrentLesson>().and_then(CurrentLesson::runs_to)
}

fn opened(name: &str) -> App {
    let mut app = app();
    open(&mut app, name);
    app
}

/// Opens a lesson. None may be open.
fn open(app: &mut App, name: &str) {
    send(app, FileCommand::Open(path_of(name), Options::default()));
    while !is_open(app) {
        app.update();
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn learn_workspace_and_lesson_release_the_brush() {
    let mut app = app();
    let select = |app: &mut App| app.world_mut().resource_mut::<Brushes>().active = Some(Tool::Raise);
    let active = |app: &App| app.world().resource::<Brushes>().active;
    select(&mut app);
    send(&mut app, OpenWorkspace(Workspace::Learn));
    app.update();
    app.update();
    assert_eq!(active(&app), None);
    select(&mut app);
    open(&mut app, BUILT_IN[0].0);
    assert_eq!(active(&app), None);
}

#[test]
fn lesson_is_completed_step_by_step_with_report() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut app = opened(BUILT_IN[0].0);
    app.update();
    assert_eq!(*app.world().resource::<State<Workspace>>().get(), Workspace::Learn);
    assert!(!app.world().resource::<Transport>().playing, "it is not paused");
    loop {
        let now = attempt(&app);
        let step = now.step;
        if let Some(task) = &now.current_step().task {
            // Nothing is displayed before the question.
            send(&mut app, LessonCommand::Next);
            app.update();
            assert_eq!(attempt(&app).step, step, "{}", now.current_step().title);
            match task {
                Task::Choose { key, .. } => send(&mut app, LessonCommand::Answer(key.clone(), Answer::Chosen(0))),
                Task::Estimate { key, .. } => send(&mut app, LessonCommand::Answer(key.clone(), Answer::Number(1.0))),
                Task::Draw { key } => send(&mut app, LessonCommand::Answer(key.clone(), Answer::Line(vec![0.0; 65]))),
                Task::Run { .. } => send(&mut app, LessonCommand::Run),
                Task::Measure { .. } => send(&mut app, LessonCommand::Read(1.0)),
                Task::Reveal { .. } => send(&mut app, LessonCommand::Reveal),
            }
            app.update();
            // Terrain of a restart is generated in the background.
            until_done(&mut app);
            let mut until = runs_to(&app);
            while let Some(end) = until {
                app.world_mut().resource_mut::<Transport>().speed = 16.0;
                app.update();
                until = runs_to(&app);
                assert!(app.world().resource::<Simulations>().ticks() <= end, "it stops by itself");
            }
            assert!(attempt(&app).is_done(step), "{}", now.current_step().title);
            if let Task::Measure { key, expect, .. } = task {
                let Some(Answer::Measured { found, .. }) = attempt(&app).answers.get(key).cloned() else {
                    panic!("{key} was not measured");
                };
                assert!((expect.0..=expect.1).contains(&found), "{key}: {found}, not within {expect:?}");
            }
        }
        if !now.has_next() {
            break;
        }
        send(&mut app, LessonCommand::Next);
        app.update();
        assert_eq!(attempt(&app).step, step + 1);
    }
    assert!(attempt(&app).complete());
    let path = folder.path().join("report.html");
    send(&mut app, LessonCommand::Name("Ada".to_owned()));
    send(&mut app, LessonCommand::SaveReport(path.clone()));
    app.update();
    until_done(&mut app);
    let page = std::fs::read_to_string(path).expect("it was written");
    for part in ["<p class=\"of\">Ada · ", "Measured by the program", "<svg", "<img alt=\"The terrain from above\""] {
        assert!(page.contains(part), "{part} is not in the report");
    }
    // Other terrain has no lesson; the answers are kept.
    let answers = attempt(&app).answers;
    send(&mut app, FileCommand::Open("dam-break".into(), Options::default()));
    while is_open(&app) {
        app.update();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(app.world().resource::<LessonAnswers>().progress.answers.values().next(), Some(&answers));
}

#[test]
fn restarting_all_simulations_of_a_lesson_is_confirmed() {
    let mut app = opened(BUILT_IN[0].0);
    send(&mut app, SimulationCommand::Step(2));
    update_until_quiet(&mut app);
    send(&mut app, LessonCommand::AskToReopen);
    app.update();
    until_done(&mut app);
    assert_eq!(app.world().resource::<Simulations>().ticks(), 2);
    let reopen = AppCommand::from(LessonCommand::Reopen);
    let offers = |notice: &Notice| notice.answers.iter().any(|(_, answer)| *answer == reopen);
    assert!(app.world().resource::<Notices>().shown().any(offers));
    send(&mut app, reopen);
    app.update();
    until_done(&mut app);
    assert_eq!(app.world().resource::<Simulations>().ticks(), 0);
}

#[test]
fn restarting_lesson_clears_answers() {
    let mut app = opened(BUILT_IN[0].0);
    let start = app.world().resource::<Simulations>().selected().simulation.terrain.clone();
    send(&mut app, SimulationCommand::Step(2));
    update_until_quiet(&mut app);
    let key = attempt(&app).lesson.steps.iter().find_map(|step| step.task.as_ref()?.key().map(str::to_owned));
    let key = key.expect("it asks something");
    let answers = std::collections::BTreeMap::from([(key, Answer::Chosen(0))]);
    app.world_mut().resource_mut::<CurrentLesson>().attempt.answers.clone_from(&answers);
    // A slider was moved too.
    for session in app.world_mut().resource_mut::<Simulations>().all_mut() {
        session.set("droplets.exchange", "0.7").expect("in range");
    }
    send(&mut app, LessonCommand::Restart);
    app.update();
    while !is_open(&app) {
        app.update();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(attempt(&app).answers.is_empty() && attempt(&app).step == 0);
    let simulations = app.world().resource::<Simulations>();
    assert!(simulations.selected().simulation.terrain == start && simulations.ticks() == 0);
    let exchange =
        thalweg_sim::params::get(&simulations.selected().groups(), "droplets.exchange").expect("there is one");
    assert_ne!(exchange.value.to_string(), "0.7");
    send(&mut app, LessonCommand::RestoreAnswers);
    app.update();
    assert_eq!(attempt(&app).answers, answers);
    send(&mut app, LessonCommand::Close);
    app.update();
    assert!(!is_open(&app));
}

#[test]
fn lesson_run_continues_after_pause_but_not_interruption() {
    let mut app = opened(BUILT_IN[0].0);
    let long = |task: &Option<Task>| matches!(task, Some(Task::Run { ticks: 50.., .. }));
    let run = attempt(&app).lesson.steps.iter().position(|step| long(&step.task));
    let run = run.expect("it runs something");
    let begin = |app: &mut App| {
        app.world_mut().resource_mut::<CurrentLesson>().attempt.step = run;
        send(app, LessonCommand::Run);
        while app.world().resource::<Simulations>().ticks() < 3 {
            app.update();
        }
        assert!(runs_to(app).is_some());
    };
    begin(&mut app);
    send(&mut app, SimulationCommand::TogglePlay);
    send(&mut app, LessonCommand::Back);
    update_until_quiet(&mut app);
    assert!(runs_to(&app).is_some() && !attempt(&app).is_done(run), "it waits");
    send(&mut app, SimulationCommand::TogglePlay);
    while runs_to(&app).is_some() {
        app.update();
    }
    assert!(attempt(&app).is_done(run), "the step that ran is not done");
    let mut app = opened(BUILT_IN[0].0);
    begin(&mut app);
    send(&mut app, SimulationCommand::Restart);
    while runs_to(&app).is_some() {
        app.update();
    }
    assert!(!attempt(&app).is_done(run), "it was restarted before its end");
    // Undo restores the terrain from before the lesson, on which no step runs.
    send(&mut app, FileCommand::Open("dam-break".into(), Options::default()));
    while is_open(&app) {
        app.update();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(runs_to(&app).is_none());
}
