//! What is kept in case the program breaks down: a project per running program, locked for as long as it runs.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use super::{Error, input, project::ENDING};

/// The place where a running program keeps its work.
#[derive(Debug)]
pub struct Keeper {
    path: PathBuf,
    lock: PathBuf,
    /// Held as long as the program runs; the system lets it go however that ends.
    _held: File,
}

impl Keeper {
    /// Takes a place of its own in a folder, which is made if there is none.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn new(folder: &Path) -> Result<Self, Error> {
        let moment = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let stem = folder.join(format!("{moment}-{}", std::process::id()));
        let (path, lock) = (stem.with_extension(ENDING), stem.with_extension("lock"));
        let held = fs::create_dir_all(folder).and_then(|()| File::create(&lock)).and_then(|file| {
            file.lock()?;
            Ok(file)
        });
        let held = held.map_err(|error| Error::unwritable(folder, &error))?;
        Ok(Self { path, lock, _held: held })
    }

    /// The project that it keeps, once it was written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends as planned: what was kept is not needed any more.
    pub fn end(self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.lock);
    }
}

/// Projects in a folder whose program did not end as planned, the newest first. Each is told of once: what lies there stays,
/// but is not told of again.
pub fn left_behind(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let locks = entries.filter(|path| path.extension().is_some_and(|ending| ending == "lock"));
    let mut left: Vec<PathBuf> = locks
        .filter(|lock| {
            let held = |file: &File| matches!(file.try_lock(), Err(TryLockError::WouldBlock));
            let free = input::open(lock).is_ok_and(|file| !held(file.get_ref()));
            free && fs::remove_file(lock).is_ok()
        })
        .map(|lock| lock.with_extension(ENDING))
        .filter(|path| path.exists())
        .collect();
    left.sort();
    left.reverse();
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_broken_program_left_is_told_of_once_and_what_a_running_one_keeps_is_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = folder.path().join("autosave");
        assert!(left_behind(&place).is_empty());
        let keeper = Keeper::new(&place).unwrap_or_else(|error| panic!("{error}"));
        fs::write(keeper.path(), "work").expect("it is writable");
        assert!(left_behind(&place).is_empty(), "it runs");
        let path = keeper.path().to_owned();
        // As if the program were gone: the lock is let go, the files stay.
        drop(keeper);
        assert_eq!(left_behind(&place), std::slice::from_ref(&path));
        assert!(left_behind(&place).is_empty() && path.exists());
        let keeper = Keeper::new(&place).unwrap_or_else(|error| panic!("{error}"));
        fs::write(keeper.path(), "work").expect("it is writable");
        let path = keeper.path().to_owned();
        keeper.end();
        assert!(!path.exists() && left_behind(&place).is_empty());
    }
}
