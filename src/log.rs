//! Log file and crash reports.

use std::{
    backtrace::Backtrace,
    fs, panic,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use bevy::{
    log::{
        BoxedFmtLayer, BoxedLayer, LogPlugin,
        tracing_subscriber::{Layer, filter::LevelFilter, fmt},
    },
    prelude::App,
};
use tracing_appender::rolling::{RollingFileAppender, Rotation};

use thalweg_scene::settings::log_folder;

/// Number of days for which logs are retained.
const DAYS: usize = 5;

/// Returns the log plugin: errors go to standard error, everything relevant to the log file.
pub fn plugin() -> LogPlugin {
    LogPlugin {
        filter: "warn,thalweg=info,wgpu=error,naga=error".to_owned(),
        fmt_layer: errors_only,
        custom_layer: log_file,
        ..LogPlugin::default()
    }
}

fn errors_only(_: &mut App) -> Option<BoxedFmtLayer> {
    // If standard error is not writable, there is nowhere to report that.
    let layer = fmt::Layer::default().with_writer(std::io::stderr).log_internal_errors(false);
    Some(Box::new(layer.with_filter(LevelFilter::ERROR)))
}

fn log_file(_: &mut App) -> Option<BoxedLayer> {
    // The appender prints to standard error if it has to create the folder itself.
    fs::create_dir_all(log_folder()).ok()?;
    let file = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("thalweg")
        .filename_suffix("log")
        .max_log_files(DAYS)
        .build(log_folder())
        .ok()?;
    Some(Box::new(fmt::layer().with_ansi(false).with_writer(file).log_internal_errors(false)))
}

/// Installs a panic hook that writes a crash report and prints its path.
pub fn report_panics() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        usual(info);
        let text = format!("{info}\n\n{}", Backtrace::force_capture());
        let message = match write_report(&log_folder(), &text) {
            Ok(path) => format!("see the crash report {}", path.display()),
            Err(error) => format!("the crash report could not be written: {error}"),
        };
        // A failing standard error must not panic inside the hook.
        let _ = std::io::Write::write_all(
            &mut std::io::stderr(),
            format!("thalweg: internal error; {message}\n").as_bytes(),
        );
    }));
}

/// Writes a crash report with program version, platform and command line. Returns its path.
fn write_report(folder: &Path, text: &str) -> std::io::Result<PathBuf> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let path = folder.join(format!("crash-{seconds}.txt"));
    fs::create_dir_all(folder)?;
    let command: Vec<String> = std::env::args().collect();
    let head = format!(
        "Thalweg {} on {} {}\nstarted as: {}\n\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        command.join(" ")
    );
    fs::write(&path, head + text + "\n")?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crash_report_names_version_and_fault() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = write_report(&folder.path().join("log"), "the fault").expect("it is writable");
        let text = fs::read_to_string(path).expect("it is text");
        assert!(text.contains(env!("CARGO_PKG_VERSION")) && text.contains("the fault"), "{text}");
    }
}
