//! Playlist in the editor, and the commands that change and save it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bevy::prelude::*;

use crate::world::{AppCommandEvent, Jobs, Notices, Preferences};
use thalweg_scene::{
    io::{JobProgress, playlist},
    model::playlist::Playlist,
};

/// Command of the playlist editor.
#[derive(Event, Clone, Debug, PartialEq)]
pub enum PlaylistCommand {
    /// Updates the playlist in the editor.
    Edit(Arc<Playlist>),
    /// Saves a playlist to a file.
    Save(Arc<Playlist>, PathBuf),
}

impl AppCommandEvent for PlaylistCommand {}

/// Playlist in the editor. It is restored at the next start.
#[derive(Resource, Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// Current content.
    pub list: Playlist,
    /// Content last saved to a file.
    saved: Option<Playlist>,
}

impl Draft {
    /// Restores a draft from RON; empty if this version cannot parse it.
    pub fn remembered(text: &str) -> Self {
        Self { list: ron::from_str(text).unwrap_or_default(), saved: None }
    }

    /// Returns the RON to remember; empty if the draft is empty or saved.
    fn text(&self) -> String {
        if self.list.scenes.is_empty() || self.has_saved(&self.list) {
            return String::new();
        }
        ron::to_string(&self.list).unwrap_or_default()
    }

    /// Returns `true` if a file contains this playlist.
    pub fn has_saved(&self, list: &Playlist) -> bool {
        self.saved.as_ref() == Some(list)
    }
}

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Draft>().add_observer(handle_command);
}

fn handle_command(
    command: On<PlaylistCommand>,
    mut draft: ResMut<Draft>,
    mut preferences: ResMut<Preferences>,
    mut jobs: ResMut<Jobs>,
    mut notices: ResMut<Notices>,
) {
    match command.event() {
        PlaylistCommand::Edit(list) => {
            draft.list.clone_from(list);
            preferences.remembered.playlist = draft.text();
        }
        PlaylistCommand::Save(list, path) => {
            let (list, saved) = (Arc::clone(list), Arc::clone(list));
            let save = move |path: &Path, _: &JobProgress| playlist::save(&list, path);
            let mark = move |world: &mut World| {
                let mut draft = world.resource_mut::<Draft>();
                draft.saved = Some((*saved).clone());
                let text = draft.text();
                world.resource_mut::<Preferences>().remembered.playlist = text;
            };
            jobs.save_then(&mut notices, path, save, mark);
        }
    }
}
