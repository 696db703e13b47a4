//! How the sessions obey what panels, keys and menus ask for: one file for each group of commands.

pub(super) mod arrival;
mod edit;
mod file;
mod keys;
mod learn;
mod present;
mod run;
mod show;

use bevy::{ecs::system::SystemParam, prelude::*};

use super::{
    Ahead, Brushes, Checkup, Command, Course, Document, Draft, EditCommand, Eye, Followed, FollowsKeys, Gait, History,
    Jobs, Level, Notices, Overlay, Preferences, Presentation, Probes, Quiz, Record, Revision, Rivers, Section, Shown,
    Simulations, Transport, Workspace,
};

/// What commands and finished jobs read and change.
#[derive(SystemParam)]
pub(super) struct Runtime<'w> {
    pub simulations: ResMut<'w, Simulations>,
    pub transport: ResMut<'w, Transport>,
    pub ahead: ResMut<'w, Ahead>,
    pub revision: ResMut<'w, Revision>,
    pub history: ResMut<'w, History>,
    pub document: ResMut<'w, Document>,
    pub jobs: ResMut<'w, Jobs>,
    pub notices: ResMut<'w, Notices>,
    pub preferences: ResMut<'w, Preferences>,
    pub brushes: ResMut<'w, Brushes>,
    pub overlay: ResMut<'w, Overlay>,
    pub rivers: ResMut<'w, Rivers>,
    pub section: ResMut<'w, Section>,
    pub followed: ResMut<'w, Followed>,
    pub quiz: ResMut<'w, Quiz>,
    pub probes: ResMut<'w, Probes>,
    pub checkup: ResMut<'w, Checkup>,
    pub course: ResMut<'w, Course>,
    pub presentation: ResMut<'w, Presentation>,
    pub record: Res<'w, Record>,
    pub shown: ResMut<'w, Shown>,
    pub workspace: ResMut<'w, NextState<Workspace>>,
    pub eye: Res<'w, Eye>,
    pub gait: Res<'w, Gait>,
    pub follows_keys: ResMut<'w, FollowsKeys>,
    pub draft: ResMut<'w, Draft>,
    pub leave: MessageWriter<'w, AppExit>,
}

/// Obeys in the order in which it was asked.
pub(super) fn obey(mut commands: MessageReader<Command>, mut runtime: Runtime) {
    for command in commands.read() {
        match command {
            command if runtime.jobs.hold() && command.needs_the_work() => {
                let doing = runtime.jobs.held.as_ref().map_or("", |held| held.doing);
                runtime.notices.tell(Level::Info, format!("{doing}: let it end, or cancel it."));
            }
            Command::Run(command) => runtime.run(command),
            Command::Edit(command) => runtime.edit(command),
            Command::File(command) => runtime.file(command),
            Command::Show(command) => runtime.show(command),
            Command::Learn(command) => runtime.learn(command),
            Command::Key(command) => runtime.key(command),
            Command::Present(command) => runtime.present(command),
            // Tools, view and panels obey these.
            Command::Brush(_) | Command::View(_) | Command::Window(_) => {}
        }
    }
}

impl Runtime<'_> {
    /// Tells that something was done, and offers to undo it.
    pub fn offer_undo(&mut self, text: String) {
        self.notices.offer(Level::Info, text, Some(("Undo", EditCommand::Undo.into())));
    }

    /// What stands now is a run from another start.
    pub fn begins(&mut self) {
        self.transport.due = 0.0;
        self.revision.begins();
    }
}
