//! Files that cannot be written.

use super::*;
use thalweg_scene::io::{
    ImagePixels,
    export::{Dimensions, Export},
};

/// Returns the texts of all errors, and dismisses them.
fn take_errors(app: &mut App) -> Vec<String> {
    wait_for_jobs(app);
    let mut notices = app.world_mut().resource_mut::<Notices>();
    let errors: Vec<(u64, String)> = notices
        .shown()
        .filter(|notice| notice.level == NoticeLevel::Error)
        .map(|notice| (notice.id, notice.text.clone()))
        .collect();
    errors.iter().for_each(|(id, _)| notices.dismiss(*id));
    errors.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn failed_files_are_reported_and_the_project_stays_unsaved() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("mine");
    std::fs::write(&file, "mine").expect("it is writable");
    let mut app = app();
    send(&mut app, EditCommand::AddSand(0.5));
    app.update();
    let exports = vec![Export::parse("height.png").expect("it exists")];
    for command in [
        FileCommand::SaveMap("height", file.join("height.tif")),
        FileCommand::SaveScene(file.join("scene.ron")),
        FileCommand::SaveProject(file.join("hill.thalweg")),
        FileCommand::SavePreset(None, file.join("preset.ron")),
        FileCommand::Export(file.clone(), String::new(), exports, Dimensions::default()),
    ] {
        send(&mut app, command.clone());
        let errors = take_errors(&mut app);
        assert!(errors.len() == 1 && errors[0].contains("mine: this is a file"), "{command:?}: {errors:?}");
    }
    app.world_mut().resource_scope(|world, mut jobs: Mut<Jobs>| {
        jobs.screenshot_folder = Some(file.clone());
        let pixels = ImagePixels::Bytes(vec![90; 12]);
        jobs.save_screenshot(&mut world.resource_mut::<Notices>(), "hill".to_owned(), (2, 2), pixels);
    });
    let errors = take_errors(&mut app);
    assert!(errors.len() == 1 && errors[0].contains("mine: this is a file"), "{errors:?}");
    assert!(is_unsaved(&app) && app.world().resource::<Simulations>().file.is_none());
    assert_eq!(std::fs::read(&file).expect("it is there"), b"mine");
}

#[test]
fn failed_autosave_is_reported_and_repeated() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kept = folder.path().join("kept");
    let mut app = keeping(&kept);
    app.update();
    std::fs::remove_dir_all(&kept).expect("it is ours");
    std::fs::write(&kept, "in the way").expect("it is writable");
    send(&mut app, EditCommand::AddSand(0.5));
    app.update();
    app.world_mut().resource_mut::<Document>().autosave_now();
    let errors = take_errors(&mut app);
    assert!(errors.len() == 1 && errors[0].contains("kept: this is a file"), "{errors:?}");
    // Once the folder can be written, so is the autosave.
    std::fs::remove_file(&kept).expect("it is ours");
    app.world_mut().resource_mut::<Document>().autosave_now();
    assert!(take_errors(&mut app).is_empty());
    assert_eq!(autosaves(&kept).len(), 1);
}
