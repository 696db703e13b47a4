//! Recovery from a lost graphics device, e.g. when its driver crashes or is updated: the project is autosaved, and the program
//! restarts with it.

use std::{
    io, process,
    time::{Duration, Instant},
};

use bevy::{
    prelude::*,
    render::{
        error_handler::{ErrorType, RenderError, RenderErrorHandler, RenderErrorPolicy},
        pipelined_rendering::RenderExtractApp,
    },
};

use crate::world::{
    AutosaveSystems, CompareCommand, Comparison, Document, NoticeLevel, Notices, Overlay, OverlayCommand,
};

/// Environment variable with the number of restarts in a row.
const RESTART_COUNT_VARIABLE: &str = "THALWEG_STARTED_AGAIN";
/// Maximum number of restarts in a row: a device lost so often would be lost again, e.g. because the terrain is too large for it.
const MAX_RESTARTS: u32 = 3;
/// Uptime after which the counter is reset.
const RESET_UPTIME: Duration = Duration::from_secs(600);

/// Makes an app exit with the project autosaved when the device is lost. Other driver errors are reported, and the app continues.
pub fn handle_device_loss(app: &mut App) {
    app.insert_resource(RenderErrorHandler(handle_error));
    let exchange = app.get_sub_app_mut(RenderExtractApp);
    let Some((exchange, mut exchanges)) = exchange.and_then(|app| app.take_extract().map(|extract| (app, extract)))
    else {
        return;
    };
    exchange.set_extract(move |main, render| {
        let exits = |main: &World| main.resource::<Messages<AppExit>>().len();
        let before = exits(main);
        exchanges(main, render);
        // The device is lost, possibly making the render thread panic in the middle of a frame. The main loop ends now, and the
        // systems that autosave have already run.
        if exits(main) > before {
            main.resource_mut::<Document>().handed_over = true;
            main.run_schedule(Last);
        }
    });
}

/// Returns the number of restarts in a row.
fn times() -> u32 {
    std::env::var(RESTART_COUNT_VARIABLE).ok().and_then(|times| times.parse().ok()).unwrap_or(0)
}

/// Makes the program restart when the device is lost. After a restart, notifies the user.
pub(super) fn enable_restart(app: &mut App, is_recovered: bool, notices: &mut Notices) {
    handle_device_loss(app);
    let begun = Instant::now();
    app.add_systems(Last, (move |document: Res<Document>| start_again(&document, begun)).after(AutosaveSystems));
    if times() > 0 {
        let with_project = if is_recovered { " with your project" } else { "" };
        notices.notify(
            NoticeLevel::Warning,
            format!("Lost the connection to the graphics card. Thalweg has restarted{with_project}."),
        );
    }
}

/// Time at which the graphics card ran out of memory. Validation errors follow, wherever the texture or buffer that was not created is
/// used.
#[derive(Resource)]
struct OutOfMemoryTime(Instant);

/// Time during which validation errors are attributed to it.
const CONSEQUENCES: Duration = Duration::from_secs(10);

fn handle_error(error: &RenderError, main: &mut World, _: &mut World) -> RenderErrorPolicy {
    let text = match error.ty {
        ErrorType::DeviceLost => {
            main.write_message(AppExit::error());
            return RenderErrorPolicy::StopRendering;
        }
        ErrorType::Validation
            if main.get_resource::<OutOfMemoryTime>().is_some_and(|time| time.0.elapsed() < CONSEQUENCES) =>
        {
            return RenderErrorPolicy::Ignore;
        }
        ErrorType::OutOfMemory => {
            main.insert_resource(OutOfMemoryTime(Instant::now()));
            let overlay =
                main.get_resource::<Overlay>().is_some_and(|overlay| overlay.arrows || overlay.shown.is_some());
            let compares = main.get_resource::<State<Comparison>>().is_some_and(|mode| *mode != Comparison::Off);
            // Their textures are released, also in a kiosk.
            main.trigger(OverlayCommand::Show(None));
            if main.get_resource::<Overlay>().is_some_and(|overlay| overlay.arrows) {
                main.trigger(OverlayCommand::ToggleArrows);
            }
            main.trigger(CompareCommand::Show(Comparison::Off));
            let hidden = if overlay || compares { ", so the overlay and the comparison were hidden" } else { "" };
            format!(
                "The graphics card is out of memory{hidden}. Close other programs, hide the rivers, or use a smaller terrain."
            )
        }
        fault => {
            format!("The graphics driver reported an error ({fault:?}). Save your project and restart Thalweg.")
        }
    };
    let mut notices = main.resource_mut::<Notices>();
    if notices.shown().all(|notice| notice.text != text) {
        notices.notify(NoticeLevel::Error, text);
    }
    RenderErrorPolicy::Ignore
}

/// Replaces this process by a new one once the project is autosaved. The resources of a lost device are not released one by one, as
/// that may fail too.
fn start_again(document: &Document, begun: Instant) {
    if !document.handed_over {
        return;
    }
    let autosave = document
        .handover_path
        .as_ref()
        .map_or_else(String::new, |path| format!("; your project was autosaved to {}", path.display()));
    let times = 1 + if begun.elapsed() > RESET_UPTIME { 0 } else { times() };
    let reason = if times >= MAX_RESTARTS {
        format!("it has failed {times} times in a row")
    } else {
        let started = std::env::current_exe().and_then(|program| {
            let mut again = process::Command::new(program);
            // Without an autosave, it gets the arguments of this process.
            match &document.handover_path {
                Some(path) => again.arg(path),
                None => again.args(std::env::args_os().skip(1)),
            };
            replace_by(again.env(RESTART_COUNT_VARIABLE, times.to_string()))
        });
        match started {
            Ok(()) => process::exit(0),
            Err(error) => format!("Thalweg could not restart ({error})"),
        }
    };
    eprintln!("thalweg: lost the connection to the graphics card, and {reason}{autosave}");
    process::exit(1);
}

/// Replaces this process by another program.
#[cfg(unix)]
fn replace_by(command: &mut process::Command) -> io::Result<()> {
    // Returns only on failure.
    Err(std::os::unix::process::CommandExt::exec(command))
}

/// Starts another program, after which this one exits.
#[cfg(not(unix))]
fn replace_by(command: &mut process::Command) -> io::Result<()> {
    command.spawn().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpu_out_of_memory_is_reported_once() {
        let (mut main, mut render) = (World::new(), World::new());
        main.init_resource::<Notices>();
        main.init_resource::<Hidden>();
        main.add_observer(|command: On<OverlayCommand>, mut hidden: ResMut<Hidden>| {
            hidden.0 |= *command.event() == OverlayCommand::Show(None);
        });
        main.add_observer(|command: On<CompareCommand>, mut hidden: ResMut<Hidden>| {
            hidden.1 |= *command.event() == CompareCommand::Show(Comparison::Off);
        });
        let mut report = |ty| {
            let error = RenderError { ty, description: String::new(), source: None };
            assert!(matches!(handle_error(&error, &mut main, &mut render), RenderErrorPolicy::Ignore));
            main.resource::<Notices>().shown().map(|notice| notice.text.clone()).collect::<Vec<_>>()
        };
        assert!(report(ErrorType::Validation).concat().contains("restart Thalweg"));
        // The validation errors that follow from it are not reported again.
        for ty in [ErrorType::OutOfMemory, ErrorType::Validation, ErrorType::OutOfMemory] {
            let notices = report(ty);
            assert!(notices.len() == 2 && notices[1].contains("use a smaller terrain"), "{notices:?}");
        }
        let Hidden(overlay, comparison) = main.resource::<Hidden>();
        assert!(*overlay && *comparison);
    }

    /// Overlay and comparison: `true` once hidden.
    #[derive(Resource, Default)]
    struct Hidden(bool, bool);
}
