//! `thalweg docs`: writes the reference as an HTML page.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, print};
use thalweg_scene::{
    io::reference::{PAGE, write},
    settings::Settings,
};

#[derive(Args)]
pub(super) struct DocsArgs {
    /// Output folder
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

impl DocsArgs {
    pub(super) fn run(&self) -> Result<(), Failure> {
        write(&self.out, ("settings", &Settings::default()))?;
        print(&format!("{}\n", self.out.join(PAGE).display()))
    }
}
