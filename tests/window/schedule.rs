//! System order within a frame.

use std::{collections::HashMap, fmt::Write};

use bevy::{
    ecs::schedule::{LogLevel, ScheduleBuildSettings},
    prelude::Schedules,
    render::{MainWorld, RenderApp},
};

use super::*;

/// Returns the pairs of systems of a world with ambiguous order and conflicting access.
fn ambiguities(app: &mut bevy::app::SubApp) -> String {
    let world = app.world_mut();
    let (mut found, mut ours_are_named) = (String::new(), false);
    let settings = ScheduleBuildSettings {
        ambiguity_detection: LogLevel::Ignore,
        // Automatic sync points would order otherwise unordered systems arbitrarily.
        auto_insert_apply_deferred: false,
        use_shortnames: false,
        ..ScheduleBuildSettings::default()
    };
    let mut schedules = world.resource_mut::<Schedules>();
    schedules.iter_mut().for_each(|(_, schedule)| {
        schedule.set_build_settings(settings.clone());
    });
    let labels: Vec<_> = schedules.iter().map(|(_, schedule)| schedule.label()).collect();
    for label in labels {
        world.schedule_scope(label, |world, schedule| {
            schedule.initialize(world).expect("the schedule can be built");
            let names: HashMap<_, _> =
                schedule.systems().expect("it is built").map(|(key, system)| (key, system.name())).collect();
            ours_are_named |= names.values().any(|name| name.starts_with("thalweg"));
            for (first, second, data) in schedule.graph().conflicting_systems().iter() {
                let ours = [first, second].map(|system| names[system].starts_with("thalweg"));
                // The order of systems within other crates is their concern, and exclusive systems conflict with all of them.
                if ours == [true, true] || ours != [false, false] && !data.is_empty() {
                    let data: Vec<_> = data.iter().filter_map(|id| world.components().get_name(*id)).collect();
                    writeln!(found, "{label:?}: {} and {} on {data:?}", names[first], names[second])
                        .expect("a text takes all");
                }
            }
        });
    }
    assert!(ours_are_named, "systems have no names");
    found
}

#[test]
fn system_order_has_no_ambiguities() {
    if let Err(reason) = graphics::find_adapter() {
        assert!(env::var_os("THALWEG_REQUIRE_GPU").is_none(), "{reason}");
        eprintln!("SKIPPED: the order of systems was not checked: {reason}");
        return;
    }
    let mut app = off_screen::build(sessions("round-hill", 32), (64, 48), Viewpoint::default());
    window::frame_pacing_plugin(&mut app);
    app.finish();
    let found = ambiguities(app.main_mut());
    assert!(found.is_empty(), "{found}");
    let render = app.sub_app_mut(RenderApp);
    render.init_resource::<MainWorld>();
    let found = ambiguities(render);
    assert!(found.is_empty(), "in the render world:\n{found}");
}
