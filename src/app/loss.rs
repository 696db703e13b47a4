//! A graphics card that is lost while the window is open, as when its driver fails or is replaced: the work is kept, and the program
//! starts again with it.

use std::{
    path::PathBuf,
    process::Command,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use bevy::{
    prelude::*,
    render::error_handler::{ErrorType, RenderError, RenderErrorHandler, RenderErrorPolicy},
};

use crate::runtime::{Level, Notices};

/// How the window's loop ends if the card is lost.
const LOST: u8 = 75;
/// The variable that tells a program that it was started again.
const AGAIN: &str = "THALWEG_STARTED_AGAIN";
/// A card that is lost sooner would be lost for ever.
const SOON: Duration = Duration::from_secs(10);

/// Has the loop end with the work kept, if the card is lost. Other faults of the driver are told, and the work goes on.
pub fn survive(app: &mut App) {
    app.insert_resource(RenderErrorHandler(answer));
}

fn answer(error: &RenderError, main: &mut World, _: &mut World) -> RenderErrorPolicy {
    if matches!(error.ty, ErrorType::DeviceLost) {
        main.write_message(AppExit::from_code(LOST));
        return RenderErrorPolicy::StopRendering;
    }
    let text = format!("The graphics driver reports a fault ({:?}). Save your work and start Thalweg again.", error.ty);
    let mut notices = main.resource_mut::<Notices>();
    if notices.shown().all(|notice| notice.text != text) {
        notices.tell(Level::Error, text);
    }
    RenderErrorPolicy::Ignore
}

/// Says that the program has started again, if it has.
pub(super) fn greet(notices: &mut Notices) {
    if std::env::var_os(AGAIN).is_some() {
        notices.tell(Level::Warning, "The graphics card was lost. Thalweg has started again with your work.");
    }
}

/// After the window's loop has ended: if the card was lost, starts the program again with what was `left`.
///
/// # Errors
/// The card was lost again at once, or the program cannot be started.
pub(super) fn start_again(exit: &AppExit, begun: Instant, left: &Arc<Mutex<Option<PathBuf>>>) -> Result<(), String> {
    if *exit != AppExit::from_code(LOST) {
        return Ok(());
    }
    let left = left.lock().ok().and_then(|mut left| left.take());
    let kept = left.as_ref().map_or_else(String::new, |path| format!("; your work is kept in {}", path.display()));
    if std::env::var_os(AGAIN).is_some() && begun.elapsed() < SOON {
        return Err(format!("the graphics card was lost twice{kept}"));
    }
    let failed =
        |error: std::io::Error| format!("the graphics card was lost, and Thalweg cannot start again ({error}){kept}");
    let mut again = Command::new(std::env::current_exe().map_err(failed)?);
    // With nothing left, it starts as this one did.
    match &left {
        Some(path) => again.arg(path),
        None => again.args(std::env::args_os().skip(1)),
    };
    again.env(AGAIN, "1").spawn().map_err(failed)?;
    Ok(())
}
