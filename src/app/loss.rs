//! A graphics card that is lost while the window is open, as when its driver fails or is replaced: the work is kept, and the program
//! starts again with it.

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

use crate::world::{Document, KeepSystems, Level, Notices};

/// The variable that tells a program how often it was started again.
const AGAIN: &str = "THALWEG_STARTED_AGAIN";
/// A card that is lost so often in a row would be lost for ever, as when the land is too large for it.
const OFTEN: u32 = 3;
/// After so long, that is forgotten.
const CALM: Duration = Duration::from_secs(600);

/// Has an app end with the work kept, if the card is lost. Other faults of the driver are told, and the work goes on.
pub fn survive(app: &mut App) {
    app.insert_resource(RenderErrorHandler(answer));
    let exchange = app.get_sub_app_mut(RenderExtractApp);
    let Some((exchange, mut exchanges)) = exchange.and_then(|app| app.take_extract().map(|extract| (app, extract)))
    else {
        return;
    };
    exchange.set_extract(move |main, render| {
        let exits = |main: &World| main.resource::<Messages<AppExit>>().len();
        let before = exits(main);
        exchanges(main, render);
        // The card is lost, or the thread that draws broke down over it in the middle of a frame. The loop ends now, and the systems that
        // keep the work have already run.
        if exits(main) > before {
            main.resource_mut::<Document>().handed_over = true;
            main.run_schedule(Last);
        }
    });
}

/// How often in a row the program was started again.
fn times() -> u32 {
    std::env::var(AGAIN).ok().and_then(|times| times.parse().ok()).unwrap_or(0)
}

/// Has the program start again, if the card was lost, and says so then: with the work, if that was kept.
pub(super) fn come_back(app: &mut App, kept: bool, notices: &mut Notices) {
    survive(app);
    let begun = Instant::now();
    app.add_systems(Last, (move |document: Res<Document>| start_again(&document, begun)).after(KeepSystems));
    if times() > 0 {
        let work = if kept { " with your work" } else { "" };
        notices.tell(Level::Warning, format!("The graphics card was lost. Thalweg has started again{work}."));
    }
}

fn answer(error: &RenderError, main: &mut World, _: &mut World) -> RenderErrorPolicy {
    if matches!(error.ty, ErrorType::DeviceLost) {
        main.write_message(AppExit::error());
        return RenderErrorPolicy::StopRendering;
    }
    let text = match error.ty {
        ErrorType::OutOfMemory => {
            "The graphics card has no memory left. Close other programs, hide the overlay, or choose a smaller size."
                .to_owned()
        }
        fault => {
            format!("The graphics driver reports a fault ({fault:?}). Save your work and start Thalweg again.")
        }
    };
    let mut notices = main.resource_mut::<Notices>();
    if notices.shown().all(|notice| notice.text != text) {
        notices.tell(Level::Error, text);
    }
    RenderErrorPolicy::Ignore
}

/// Once the work is kept, another program takes the place of this one. What a lost card still holds is not given back piece by piece:
/// that may fail as well.
fn start_again(document: &Document, begun: Instant) {
    if !document.handed_over {
        return;
    }
    let kept =
        document.left.as_ref().map_or_else(String::new, |path| format!("; your work is kept in {}", path.display()));
    let times = 1 + if begun.elapsed() > CALM { 0 } else { times() };
    let said = if times >= OFTEN {
        format!("so it was {times} times in a row")
    } else {
        let started = std::env::current_exe().and_then(|program| {
            let mut again = process::Command::new(program);
            // With nothing left, it starts as this one did.
            match &document.left {
                Some(path) => again.arg(path),
                None => again.args(std::env::args_os().skip(1)),
            };
            replace_by(again.env(AGAIN, times.to_string()))
        });
        match started {
            Ok(()) => process::exit(0),
            Err(error) => format!("Thalweg cannot start again ({error})"),
        }
    };
    eprintln!("thalweg: the graphics card was lost, and {said}{kept}");
    process::exit(1);
}

/// Starts a program that takes the place of this one.
#[cfg(unix)]
fn replace_by(command: &mut process::Command) -> io::Result<()> {
    // It returns only where that fails.
    Err(std::os::unix::process::CommandExt::exec(command))
}

/// Starts a program beside this one, which ends.
#[cfg(not(unix))]
fn replace_by(command: &mut process::Command) -> io::Result<()> {
    command.spawn().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_without_memory_is_reported_once_with_a_remedy() {
        let (mut main, mut render) = (World::new(), World::new());
        main.init_resource::<Notices>();
        let full = RenderError { ty: ErrorType::OutOfMemory, description: String::new(), source: None };
        for _ in 0..3 {
            assert!(matches!(answer(&full, &mut main, &mut render), RenderErrorPolicy::Ignore));
        }
        let notices: Vec<_> = main.resource::<Notices>().shown().map(|notice| &*notice.text).collect();
        assert!(notices.len() == 1 && notices[0].contains("choose a smaller size"), "{notices:?}");
    }
}
