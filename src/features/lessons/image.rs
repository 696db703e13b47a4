//! Images in the text of a lesson, loaded in the background.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bevy_egui::egui::{self, RichText, TextureHandle, Ui};

use crate::shell::{DRAWN_ONCE, style};
use crate::world::background::BackgroundTask;
use thalweg_scene::io::{
    Error,
    lesson::{self, LessonImageLink},
};

/// Polling interval for a loaded image.
const POLL: Duration = Duration::from_millis(50);

/// Size and RGBA values of an image.
type LessonImagePixels = Result<([usize; 2], Vec<u8>), Error>;

/// State of an image on screen.
enum LessonImageState {
    Loading(BackgroundTask<(), LessonImagePixels>),
    Ready(TextureHandle),
    /// Cannot be shown; a message for the user.
    Failed(String),
}

/// Images of a step of a lesson. Those of other steps are loaded again, so that a teacher sees changed files.
#[derive(Default)]
struct StepImages {
    /// Path of the lesson, and index of the step.
    step: (PathBuf, usize),
    /// Images by file.
    images: BTreeMap<String, LessonImageState>,
}

/// Draws an image of a step at the width of the panel, with its alternative text as the caption.
pub(super) fn image_ui(ui: &mut Ui, (lesson, step): (&Path, usize), link: &LessonImageLink) {
    let cache =
        ui.data_mut(|data| data.get_temp_mut_or_default::<Arc<Mutex<StepImages>>>(egui::Id::new("images")).clone());
    let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
    if cache.step.0 != lesson || cache.step.1 != step {
        *cache = StepImages { step: (lesson.to_owned(), step), ..StepImages::default() };
    }
    let state = cache.images.entry(link.file.clone()).or_insert_with(|| {
        let (lesson, file) = (lesson.to_owned(), link.file.clone());
        LessonImageState::Loading(BackgroundTask::start((), move || lesson::read_image(&lesson, &file)))
    });
    let once = ui.data(|data| data.get_temp(egui::Id::new(DRAWN_ONCE))).unwrap_or(false);
    if matches!(state, LessonImageState::Loading(task) if once || task.is_finished())
        && let LessonImageState::Loading(task) = std::mem::replace(state, LessonImageState::Failed(String::new()))
    {
        *state = match task.join() {
            Some(Ok((size, pixels))) => {
                let image = egui::ColorImage::from_rgba_unmultiplied(size, &pixels);
                LessonImageState::Ready(ui.ctx().load_texture(&link.file, image, egui::TextureOptions::LINEAR))
            }
            Some(Err(error)) => LessonImageState::Failed(format!("This image cannot be shown. {error}.")),
            None => LessonImageState::Failed("This image cannot be shown.".to_owned()),
        };
    }
    match state {
        LessonImageState::Loading(_) => {
            ui.spinner();
            ui.ctx().request_repaint_after(POLL);
        }
        LessonImageState::Ready(texture) => {
            let [width, height] = texture.size().map(|side| side as f32);
            let size = ui.available_width() * egui::vec2(1.0, height / width);
            ui.add(egui::Image::new((texture.id(), size)).fit_to_exact_size(size).alt_text(&link.alt));
        }
        LessonImageState::Failed(reason) => {
            ui.add(egui::Label::new(RichText::new(&*reason).color(style::WARNING)).wrap());
        }
    }
    if !link.alt.is_empty() {
        ui.add(egui::Label::new(RichText::new(&link.alt).small().weak()).wrap());
    }
}
