//! `thalweg shot`: simulates a scene without a window and renders an image of it.

use std::path::PathBuf;

use clap::Args;

use super::{
    Failure,
    computer::Computer,
    setup::{RunOptions, parse_blur, parse_size},
};
use thalweg_scene::{
    io::{
        Error,
        scene::{RenderJob, RenderOptions},
    },
    model::session::Session,
};

#[derive(Args)]
pub(super) struct ShotArgs {
    #[command(flatten)]
    start: RunOptions,
    /// Output file: .png as displayed, .exr with half floats and no tone curve
    #[arg(long, value_name = "FILE.png|FILE.exr")]
    out: PathBuf,
    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "1280x800", value_parser = parse_size)]
    resolution: (usize, usize),
    /// Named camera
    #[arg(long, value_name = "NAME")]
    camera: Option<String>,
    /// Include the panels
    #[arg(long)]
    ui: bool,
    /// Depth of field: diameter of the blur disc of a distant point, as a percentage of the image height
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_blur, conflicts_with = "ui")]
    blur: f32,
    /// Transparent background
    #[arg(long, conflicts_with = "ui")]
    transparent: bool,
}

impl ShotArgs {
    pub(super) fn run(self, render: impl FnOnce(Vec<Session>, &RenderJob) -> Result<(), Error>) -> Result<(), Failure> {
        let (width, height) = self.resolution;
        if !(16..=8192).contains(&width) || !(16..=8192).contains(&height) {
            return Err(Failure::bad_input("--resolution is out of range: use 16 to 8192 pixels per side"));
        }
        let name = self.out.display();
        let ends = |ending: &str| self.out.extension().is_some_and(|own| own.eq_ignore_ascii_case(ending));
        let as_light = ends("exr");
        if !as_light && !ends("png") {
            let sentence = format!("{name}: images are written as PNG or EXR; use the extension .png or .exr");
            return Err(Failure::bad_input(sentence));
        }
        if as_light && self.ui {
            let sentence = format!("{name}: EXR images cannot include panels; omit --ui or use the extension .png");
            return Err(Failure::bad_input(sentence));
        }
        let mut sessions = self.start.sessions()?;
        self.start.simulate(&mut sessions, &mut Computer::default(), None)?;
        let resolution = (width as u32, height as u32);
        let how = RenderOptions { ui: self.ui, as_light, blur: self.blur, transparent: self.transparent };
        let wanted = RenderJob { out: self.out, resolution, camera: self.camera, how };
        Ok(render(sessions, &wanted)?)
    }
}
