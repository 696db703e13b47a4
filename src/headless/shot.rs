//! `thalweg shot`: run a scene without a window, then draw one picture of it.

use std::path::PathBuf;

use clap::Args;

use super::{
    Failure,
    setup::{RunOptions, parse_size},
};
use crate::{
    io::{Error, scene::Picture},
    model::session::Session,
};

#[derive(Args)]
pub(super) struct Shot {
    #[command(flatten)]
    start: RunOptions,
    /// PNG file to write
    #[arg(long, value_name = "FILE.png")]
    out: PathBuf,
    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "1280x800", value_parser = parse_size)]
    resolution: (usize, usize),
    /// Name of a camera
    #[arg(long, value_name = "NAME")]
    camera: Option<String>,
    /// With the panels
    #[arg(long)]
    ui: bool,
}

impl Shot {
    pub(super) fn run(self, picture: impl FnOnce(Vec<Session>, &Picture) -> Result<(), Error>) -> Result<(), Failure> {
        let (width, height) = self.resolution;
        if !(16..=8192).contains(&width) || !(16..=8192).contains(&height) {
            return Err(Failure::bad_input("--resolution is out of range: each side has 16 to 8192 pixels"));
        }
        if self.out.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("png")) {
            let name = self.out.display();
            return Err(Failure::bad_input(format!("{name}: pictures are written as PNG; end the name in .png")));
        }
        let mut sessions = self.start.sessions()?;
        self.start.simulate(&mut sessions)?;
        let wanted =
            Picture { out: self.out, resolution: (width as u32, height as u32), camera: self.camera, ui: self.ui };
        Ok(picture(sessions, &wanted)?)
    }
}
