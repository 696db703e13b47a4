//! `thalweg present`: presents scenes to an audience.

use std::{path::PathBuf, sync::Arc};

use clap::Args;

use super::{Failure, OpenWindow, print};
use thalweg_scene::{
    io::{playlist, project::Project},
    model::playlist::{Opening, Playlist, PresentationOptions},
};

#[derive(Args)]
pub(super) struct PresentArgs {
    /// Playlist (.ron), or scenes, projects and heightmaps in presentation order
    #[arg(required = true, value_name = "LIST|SCENE")]
    inputs: Vec<PathBuf>,
    /// Kiosk mode for exhibitions: files and panels are locked, the playlist loops and restarts a minute after the last touch
    #[arg(long)]
    kiosk: bool,
    /// Screen number, counted from left to right, starting at 1; by default the primary screen
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..))]
    screen: Option<u8>,
    /// Use a window instead of full screen
    #[arg(long, conflicts_with = "screen")]
    windowed: bool,
    /// Open the presenter's window with notes, next scene and time, on another screen if there is one
    #[arg(long, conflicts_with = "kiosk")]
    notes: bool,
    /// Open every scene without a window and list the scenes
    #[arg(long)]
    check: bool,
    /// Write the playlist to a file for editing
    #[arg(long, value_name = "FILE.ron", conflicts_with = "check")]
    save: Option<PathBuf>,
    /// Let --save replace an existing file
    #[arg(long, requires = "save")]
    force: bool,
}

impl PresentArgs {
    /// Creates the command for one file in a window.
    pub(super) fn of(input: PathBuf) -> Self {
        let inputs = vec![input];
        let (screen, save) = (None, None);
        Self { inputs, kiosk: false, screen, windowed: true, notes: false, check: false, save, force: false }
    }

    pub(super) fn run(&self, window: OpenWindow) -> Result<(), Failure> {
        let list = self.list()?;
        if let Some(path) = &self.save {
            if path.exists() && !self.force {
                return Err(Failure::file_exists(path));
            }
            return Ok(playlist::save(&list, path)?);
        }
        if self.check {
            return check(&list);
        }
        let mut opened = Project::of(playlist::open(&list.scenes[0])?);
        opened.views.saved.keys = playlist::keys(&list.scenes[0]);
        let show = PresentationOptions {
            list: Arc::new(list),
            kiosk: self.kiosk,
            screen: self.screen.map(|number| usize::from(number) - 1),
            windowed: self.windowed,
            notes: self.notes,
        };
        let named: Vec<_> = self.inputs.iter().map(|input| input.display().to_string()).collect();
        window(opened, None, Opening::Show(show)).map_err(|reason| {
            Failure::bad_input(format!(
                "{reason}; \"thalweg present {} --check\" works without a display",
                named.join(" ")
            ))
        })
    }

    fn list(&self) -> Result<Playlist, Failure> {
        if let [only] = &self.inputs[..]
            && playlist::is_playlist_file(only)
        {
            return Ok(playlist::read(only)?);
        }
        let list = Playlist::of(&self.inputs);
        playlist::check(&list, &PathBuf::from("the command line"))?;
        Ok(list)
    }
}

fn check(list: &Playlist) -> Result<(), Failure> {
    let mut text = format!("{}\n", list.title);
    for (number, item) in list.scenes.iter().enumerate() {
        let sessions = playlist::open(item)?;
        let session = &sessions[0];
        let (width, height) = session.size();
        let paths: Vec<&str> = session.sliders.iter().map(|slider| slider.path.as_str()).collect();
        let sliders = if paths.is_empty() { "none".to_owned() } else { paths.join(", ") };
        text += &format!("{:>3}  {:<34}{width} × {height} cells, sliders: {sliders}\n", number + 1, session.title);
    }
    print(&text)
}
