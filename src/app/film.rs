//! Offline rendering of a video, frame by frame.

use std::path::Path;

use bevy::prelude::*;
use bevy_panorbit_camera::PanOrbitCamera;
use rayon::iter::{IntoParallelRefMutIterator, ParallelIterator};

use super::{
    graphics::find_adapter,
    off_screen::{app, set_options, take_screenshot},
};
use crate::{
    render::{camera::Viewpoint, framing::SceneFrame},
    world::{Revision, Simulations, Transport},
};
use thalweg_scene::{
    io::{Error, ImagePixels, page, project::Camera, watch::VideoJob},
    model::session::Session,
};

/// Renders a video of sessions, advancing by a number of ticks per frame. The same sessions and script give identical frames.
///
/// # Errors
/// There is no graphics driver, the simulation fails, or a frame cannot be rendered or written.
pub fn render_video(sessions: Vec<Session>, film: &mut VideoJob<'_>) -> Result<(), Error> {
    let failed = |wrong: String| Error::output(Path::new("film"), wrong, "try another graphics driver");
    find_adapter().map_err(failed)?;
    let mut sessions = sessions;
    let run_up = film.from.saturating_sub(sessions.first().map_or(0, |session| session.simulation.ticks()));
    if !run(&mut sessions, run_up, film.stopped)? {
        return Ok(());
    }
    let mut app = app(sessions, film.size, Viewpoint::of_films());
    app.insert_resource(Transport::paused());
    set_options(&mut app, film.how);
    let whole = *app.world().get_resource::<SceneFrame>().ok_or_else(|| failed("there is no terrain".to_owned()))?;
    let mut written: Option<(String, CaptionImage)> = None;
    for number in 0..film.frames {
        let ticks = app.world().resource::<Simulations>().ticks();
        let Camera { focus, yaw, pitch, distance } = whole.place(&film.script.at(ticks as f64));
        let world = app.world_mut();
        let mut cameras = world.query::<&mut PanOrbitCamera>();
        // Without smoothing, which depends on the wall clock.
        for mut camera in cameras.iter_mut(world) {
            (camera.yaw, camera.pitch, camera.radius) = (Some(yaw), Some(pitch), Some(distance));
            (camera.target_yaw, camera.target_pitch, camera.target_radius) = (yaw, pitch, distance);
            (camera.focus, camera.target_focus) = (focus.into(), focus.into());
            camera.force_update = true;
        }
        world.resource_mut::<Viewpoint>().stop_motion();
        app.update();
        let (size, mut pixels) = take_screenshot(&mut app, film.how).map_err(failed)?;
        if let Some(text) = film.script.caption(ticks as f64) {
            if written.as_ref().is_none_or(|(before, _)| before != text) {
                written = Some((text.to_owned(), CaptionImage::of(text, size).map_err(failed)?));
            }
            if let Some((_, overlay)) = &written {
                overlay.composite(&mut pixels);
            }
        }
        (film.take)(&pixels)?;
        if number + 1 == film.frames {
            break;
        }
        let world = app.world_mut();
        if !run(world.resource_mut::<Simulations>().all_mut(), film.every.into(), film.stopped)? {
            break;
        }
        world.resource_mut::<Revision>().next_state();
    }
    Ok(())
}

/// Advances sessions by a number of ticks. Returns `false` if the user stopped the video.
fn run(sessions: &mut [Session], ticks: u64, stopped: &dyn Fn() -> bool) -> Result<bool, Error> {
    for _ in 0..ticks {
        if stopped() {
            return Ok(false);
        }
        sessions.par_iter_mut().for_each(|session| session.simulation.tick());
        if let Some(fault) = sessions.iter().find_map(|session| session.simulation.fault()) {
            let right = "change the parameters, or end the video before this tick";
            return Err(Error::output(Path::new("film"), fault.to_string(), right));
        }
    }
    Ok(!stopped())
}

/// Caption at the bottom of a frame, as premultiplied RGBA pixels.
struct CaptionImage(Vec<u8>);

impl CaptionImage {
    fn of(text: &str, (width, height): (usize, usize)) -> Result<Self, String> {
        let (wide, high) = (width as f64, height as f64);
        let size = (high / 22.0).max(11.0);
        let lines = page::wrap_text(text, size, 0.86 * wide);
        let room = 1.35 * size;
        let top = high - 0.05 * high - room * lines.len() as f64;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-size=\"{size}\">"
        );
        let longest = lines.iter().map(|line| page::width(line, size)).fold(0.0, f64::max);
        let (left, box_wide) = (0.5 * (wide - longest) - size, longest + 2.0 * size);
        svg += &format!(
            "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{box_wide:.1}\" height=\"{:.1}\" rx=\"{:.1}\" fill=\"#000000\" \
             fill-opacity=\"0.5\"/>",
            top - 0.35 * size,
            room * lines.len() as f64 + 0.6 * size,
            0.4 * size
        );
        for (number, line) in lines.iter().enumerate() {
            svg += &format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#ffffff\">{}</text>",
                0.5 * wide,
                top + room * number as f64 + size,
                thalweg_scene::io::reference::escape_html(line)
            );
        }
        page::pixels(&(svg + "</svg>"), 1.0).map(Self)
    }

    /// Composites the caption over a frame. Its colours are premultiplied.
    fn composite(&self, pixels: &mut ImagePixels) {
        let over = self.0.as_chunks::<4>().0;
        match pixels {
            ImagePixels::Bytes(bytes) => {
                for (pixel, over) in bytes.chunks_exact_mut(3).zip(over) {
                    let clear = 255 - u16::from(over[3]);
                    for (part, above) in pixel.iter_mut().zip(over) {
                        *part = (u16::from(*above) + (u16::from(*part) * clear + 127) / 255).min(255) as u8;
                    }
                }
            }
            ImagePixels::Light(light) => {
                for (pixel, over) in light.iter_mut().zip(over).filter(|(_, over)| over[3] > 0) {
                    let [red, green, blue, opacity] = over.map(|part| f32::from(part) / 255.0);
                    let [red, green, blue] = [red, green, blue].map(|part| part / opacity);
                    let above = LinearRgba::from(Srgba::rgb(red, green, blue)).to_f32_array();
                    for (part, above) in pixel.iter_mut().zip(above) {
                        *part = above * opacity + *part * (1.0 - opacity);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caption_is_drawn_at_the_bottom_only() {
        let size = (320, 180);
        let overlay =
            CaptionImage::of("Rivers <find> their ways & 河流", size).unwrap_or_else(|error| panic!("{error}"));
        let mut pixels = ImagePixels::Bytes(vec![100; 3 * size.0 * size.1]);
        overlay.composite(&mut pixels);
        let ImagePixels::Bytes(pixels) = pixels else { panic!("they are bytes") };
        let row = |y: usize| &pixels[3 * size.0 * y..3 * size.0 * (y + 1)];
        assert!((0..120).all(|y| row(y).iter().all(|part| *part == 100)), "the upper part is unchanged");
        let foot = (150..175).flat_map(row);
        assert!(
            foot.clone().any(|part| *part > 220) && foot.clone().any(|part| *part < 60),
            "white text on a dark box"
        );
        // In a linear image, text is as bright as white on a screen.
        let before = LinearRgba::from(Srgba::gray(100.0 / 255.0)).red;
        let mut light = ImagePixels::Light(vec![[before, before, before, 1.0]; size.0 * size.1]);
        overlay.composite(&mut light);
        let ImagePixels::Light(light) = light else { panic!("it is light") };
        let rows = |from: usize, to: usize| light[size.0 * from..size.0 * to].iter();
        assert!(rows(0, 120).all(|pixel| *pixel == [before, before, before, 1.0]), "the upper part is unchanged");
        assert!(rows(150, 175).any(|pixel| pixel[0] > 0.9) && rows(150, 175).any(|pixel| pixel[0] < 0.6 * before));
        assert!(light.iter().all(|pixel| (pixel[3] - 1.0).abs() < 1e-6));
    }
}
