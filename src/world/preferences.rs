//! User preferences and remembered state.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bevy::prelude::*;

use super::{Brushes, Jobs, NoticeLevel, Notices};
use thalweg_scene::{
    io::{Budget, BudgetSource},
    settings::{Settings, SettingsFile, settings_file},
};

/// User preferences and the state remembered from the last session.
#[derive(Resource, Clone, Debug, Default)]
pub struct Preferences {
    /// Settings.
    pub settings: Settings,
    /// Content of the settings file.
    pub remembered: SettingsFile,
    /// Content that this window last read from the file or wrote to it.
    pub saved: Arc<Mutex<SettingsFile>>,
    /// `true` with a software renderer, or a GPU that is as slow.
    pub software: bool,
    /// Settings file; `None` if there is no place for it.
    pub file: Option<PathBuf>,
}

impl Preferences {
    /// Loads the settings file. `software` is `true` with a software renderer.
    pub fn load(software: bool, notices: &mut Notices) -> Self {
        let file = settings_file();
        let loaded = file.as_deref().map_or_else(|| Ok(SettingsFile::default()), SettingsFile::load);
        let remembered = loaded.unwrap_or_else(|error| {
            notices.notify(NoticeLevel::Warning, format!("{error}."));
            SettingsFile::default()
        });
        let saved = Arc::new(Mutex::new(remembered.clone()));
        Self { settings: remembered.settings(), remembered, saved, software, file }
    }
}

impl Preferences {
    /// Remembers the folder of a selected file as the start of the next file dialog.
    pub fn remember_folder(&mut self, file: &Path) {
        if let Some(folder) = file.parent().filter(|folder| folder.is_dir()) {
            self.remembered.last_folder = Some(folder.to_owned());
        }
    }
}

/// Sets the memory limit, which applies to the whole program.
pub(super) fn apply_memory_limit(preferences: Res<Preferences>) {
    Budget::set(BudgetSource::Settings, preferences.settings.budget());
}

/// Saves the settings after a pause in changes, and before the program exits. Of several failures in a row, only the first is reported.
pub(super) fn remember(
    mut preferences: ResMut<Preferences>,
    brushes: Res<Brushes>,
    mut jobs: ResMut<Jobs>,
    (mut changed, failed): (Local<Option<Instant>>, Local<Arc<AtomicBool>>),
    mut leaving: MessageReader<AppExit>,
) {
    let touched = [preferences.is_changed() && !preferences.is_added(), brushes.is_changed() && !brushes.is_added()];
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
    preferences.remembered.record_changes(&settings);
    preferences.remembered.brushes = brushes.changed();
    if let Some(path) = &preferences.file {
        let (remembered, saved) = (preferences.remembered.clone(), Arc::clone(&preferences.saved));
        let failed = Arc::clone(&failed);
        jobs.autosave(path, move |path| {
            let mut saved = saved.lock().unwrap_or_else(PoisonError::into_inner);
            let done = remembered.save_changes(&saved, path);
            let failed_before = failed.swap(done.is_err(), Ordering::Relaxed);
            match done {
                Ok(()) => *saved = remembered,
                Err(error) if failed_before => warn!("the settings were not saved: {error}"),
                Err(error) => return Err(error),
            }
            Ok(())
        });
    }
}
