//! Previews of a new terrain, rendered in the background.

use bevy_egui::egui::{self, TextureHandle, Ui};

use crate::world::background::BackgroundTask;
use thalweg_scene::io::NewTerrain;

/// Polling interval for a finished preview, in seconds.
const LOOKS_AGAIN: f32 = 0.05;

/// Columns and rows, and the RGB values of all pixels.
type PreviewPixels = ([usize; 2], Vec<u8>);

/// Last preview of a terrain, and the one being rendered.
#[derive(Default)]
pub(super) struct TerrainPreview {
    /// Last preview; without a texture if rendering failed.
    drawn: Option<(NewTerrain, Option<TextureHandle>)>,
    task: Option<BackgroundTask<NewTerrain, Option<PreviewPixels>>>,
}

impl TerrainPreview {
    /// Paints a terrain with `cells` along its longer side, or the last preview until it is rendered. Starts rendering a changed
    /// terrain if it `may_begin`. Returns `true` while rendering.
    pub fn show(&mut self, ui: &Ui, place: egui::Rect, land: &NewTerrain, cells: u32, may_begin: bool) -> bool {
        if let Some(task) = self.task.take_if(|task| task.is_finished()) {
            let of = task.request.clone();
            let pixels = task.join().flatten();
            let texture = pixels.map(|(size, pixels)| {
                let image = egui::ColorImage::from_rgb(size, &pixels);
                ui.ctx().load_texture("new land", image, egui::TextureOptions::LINEAR)
            });
            self.drawn = Some((of, texture));
        }
        let is_drawn = self.drawn.as_ref().is_some_and(|(of, _)| of == land);
        if !is_drawn && may_begin && self.task.is_none() {
            let of = land.clone();
            self.task = Some(BackgroundTask::start(land.clone(), move || of.preview(cells).ok()));
        }
        if !is_drawn {
            ui.ctx().request_repaint_after_secs(LOOKS_AGAIN);
        }
        match &self.drawn {
            Some((_, Some(texture))) => {
                egui::Image::new(texture).corner_radius(3.0).paint_at(ui, place);
            }
            _ => {
                ui.painter().rect_filled(place, 3.0, ui.visuals().extreme_bg_color);
            }
        }
        self.task.is_some()
    }
}
