//! `thalweg check`: verifies the computations on this machine against exact solutions.

use clap::Args;
use serde_json::{Value, json};

use super::{
    Failure,
    computer::{checks_on_card, parse_device},
    print,
};
use thalweg_scene::{io::checks::table, settings::ComputeDevice};
use thalweg_sim::simulation::check::{CHECKS, Check};

#[derive(Args)]
pub(super) struct CheckArgs {
    /// Device: cpu, or gpu for the checks of water and thermal erosion on the graphics card
    #[arg(long, value_name = "cpu|gpu", value_parser = parse_device)]
    device: Option<ComputeDevice>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl CheckArgs {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let found: Vec<_> = match self.device {
            Some(ComputeDevice::GraphicsCard) => checks_on_card()?,
            _ => CHECKS.iter().map(Check::run).collect(),
        };
        let rows = found.iter().map(|check| {
            // JSON cannot represent NaN and infinity.
            let measured = check.measured.is_finite().then_some(check.measured);
            json!({
                "title": check.title, "about": check.about, "measured": measured, "expected": check.expected, "within": check.within,
                "holds": check.holds(),
            })
        });
        print(&if self.json { format!("{:#}\n", Value::Array(rows.collect())) } else { table(&found) })?;
        match found.iter().filter(|check| !check.holds()).count() {
            0 => Ok(()),
            failed => Err(Failure::while_running(format!("{failed} of {} checks failed", found.len()))),
        }
    }
}
