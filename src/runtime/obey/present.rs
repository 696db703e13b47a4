//! The scenes of a playlist.

use std::sync::Arc;

use super::Runtime;
use crate::runtime::{Level, PresentCommand, ShowCommand, Workspace, jobs::Task};
use thalweg_scene::io::playlist;

impl Runtime<'_> {
    pub(super) fn present(&mut self, command: &PresentCommand) {
        let next = match command {
            PresentCommand::Begin(list, kiosk) => {
                self.presentation.begin(Arc::clone(list), *kiosk);
                self.show(&ShowCommand::Workspace(Workspace::Present));
                self.presentation.go(0)
            }
            PresentCommand::Again => self.presentation.again(),
            PresentCommand::Go(steps) => self.presentation.go(*steps),
            PresentCommand::Save(list, path) => {
                let saved = playlist::save(list, path);
                if saved.is_ok() {
                    self.draft.is_saved_as(list);
                }
                self.tell(saved, format!("Saved {}.", path.display()));
                return;
            }
            PresentCommand::Draft(list) => {
                self.draft.list.clone_from(list);
                return;
            }
        };
        match next {
            Some((list, at)) => self.start(Task::Perform(list, at)),
            None if self.presentation.number().1 > 0 => {}
            None => {
                let text = "No show is open. Open or drop a playlist, or start with \"thalweg present\".";
                self.notices.tell(Level::Info, text);
            }
        }
    }
}
