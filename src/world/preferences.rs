//! The person's settings, kept from one start to the next.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bevy::prelude::*;

use super::{Brushes, Draft, Level, Notices};
use thalweg_scene::{
    io::{Budget, SaidBy},
    settings::{Remembered, Settings, settings_file},
};

/// How many files are remembered.
const RECENT: usize = 10;

/// The person's settings, and what else is remembered of the last time.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct Preferences {
    /// Panels, mouse, quality.
    pub settings: Settings,
    /// What stands in the file.
    pub remembered: Remembered,
    /// Whether the processor draws, or a card that is as slow.
    pub software: bool,
    /// Where they are kept, if they are.
    pub file: Option<PathBuf>,
}

impl Preferences {
    /// Reads what was kept. `software`: whether the processor draws.
    pub fn load(software: bool, notices: &mut Notices) -> Self {
        let file = settings_file();
        let loaded = file.as_deref().map_or_else(|| Ok(Remembered::default()), Remembered::load);
        let remembered = loaded.unwrap_or_else(|error| {
            notices.tell(Level::Warning, format!("{error}."));
            Remembered::default()
        });
        Self { settings: remembered.settings(), remembered, software, file }
    }
}

impl Preferences {
    /// Remembers the folder of a file that was chosen: the next dialog begins there.
    pub fn remember_folder(&mut self, file: &Path) {
        if let Some(folder) = file.parent().filter(|folder| folder.is_dir()) {
            self.remembered.last_folder = Some(folder.to_owned());
        }
    }

    /// Puts a file first among those that are remembered.
    pub fn remember_file(&mut self, path: &Path) {
        let recent = &mut self.remembered.recent;
        recent.retain(|other| other != path);
        recent.insert(0, path.to_owned());
        recent.truncate(RECENT);
    }
}

/// How much memory may be used is for all of the program.
pub(super) fn say_budget(preferences: Res<Preferences>) {
    Budget::say(SaidBy::Settings, preferences.settings.budget());
}

/// Writes the settings down when they have not changed for a while, and before the program ends.
pub(super) fn remember(
    mut preferences: ResMut<Preferences>,
    (brushes, draft): (Res<Brushes>, Res<Draft>),
    mut changed: Local<Option<Instant>>,
    mut leaving: MessageReader<AppExit>,
) {
    let touched = [
        preferences.is_changed() && !preferences.is_added(),
        brushes.is_changed() && !brushes.is_added(),
        draft.is_changed() && !draft.is_added(),
    ];
    if touched.contains(&true) {
        *changed = Some(Instant::now());
    }
    let rested = changed.is_some_and(|since| since.elapsed() > Duration::from_secs(1));
    let leaves = leaving.read().next().is_some() && changed.is_some();
    if !rested && !leaves {
        return;
    }
    *changed = None;
    let preferences = preferences.bypass_change_detection();
    let settings = preferences.settings.clone();
    preferences.remembered.keep(&settings);
    preferences.remembered.brushes = brushes.changed();
    preferences.remembered.playlist = draft.text();
    if let Some(path) = &preferences.file
        && let Err(error) = preferences.remembered.save(path)
    {
        warn!("the settings were not saved: {error}");
    }
}
