//! Crash recovery: each running program autosaves to one project, locked while it runs. An unlocked project was left behind by a crash
//! and stays until the user opens or discards it.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use super::{
    Error, input,
    project::{ENDING, map_folder},
};

const LOCK: &str = "lock";

/// Autosave file of a running program.
#[derive(Debug)]
pub struct RecoverySlot {
    path: PathBuf,
    /// Locked while the program runs. The operating system releases it however the program ends.
    _lock: File,
}

impl RecoverySlot {
    /// Reserves an autosave file in a folder, which is created if missing.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn new(folder: &Path) -> Result<Self, Error> {
        let moment = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let path = folder.join(format!("{moment}-{}", std::process::id())).with_extension(ENDING);
        let hold = || loop {
            let lock = File::create(path.with_extension(LOCK))?;
            lock.lock()?;
            // Before it was locked, another starting program may have removed it.
            if path.with_extension(LOCK).exists() {
                return Ok(lock);
            }
        };
        let lock = fs::create_dir_all(folder).and_then(|()| hold());
        let lock = lock.map_err(|error: io::Error| Error::unwritable(folder, &error))?;
        Ok(Self { path, _lock: lock })
    }

    /// Takes over the autosave of a crashed program; `None` if a running program holds its lock.
    pub fn adopt(path: &Path) -> Option<Self> {
        let lock = File::options().create(true).append(true).open(path.with_extension(LOCK)).ok()?;
        lock.try_lock().ok()?;
        Some(Self { path: path.to_owned(), _lock: lock })
    }

    /// Path of the autosaved project.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the autosave on a regular exit.
    pub fn end(self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_dir_all(map_folder(&self.path));
        // Removed last: if the program is killed meanwhile, the next one removes the rest.
        let _ = fs::remove_file(self.path.with_extension(LOCK));
    }
}

/// Returns the projects in a folder left behind by crashed programs, newest first. They stay until a [`RecoverySlot`] that has taken them
/// over ends.
pub fn find_abandoned(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let (locks, mut left): (Vec<PathBuf>, Vec<PathBuf>) =
        entries.partition(|path| path.extension().is_some_and(|ending| ending == LOCK));
    left.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
    // A program that crashed before its first autosave leaves only its lock.
    for lock in locks.iter().filter(|lock| !lock.with_extension(ENDING).exists()) {
        RecoverySlot::adopt(lock).into_iter().for_each(RecoverySlot::end);
    }
    left.retain(|path| input::open(&path.with_extension(LOCK)).map_or(true, |lock| lock.get_ref().try_lock().is_ok()));
    left.sort();
    left.reverse();
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(folder: &Path, work: &str) -> RecoverySlot {
        let keeper = RecoverySlot::new(folder).unwrap_or_else(|error| panic!("{error}"));
        fs::write(keeper.path(), work).expect("it is writable");
        keeper
    }

    fn count(folder: &Path) -> usize {
        fs::read_dir(folder).expect("it is there").count()
    }

    #[test]
    fn abandoned_projects_are_listed_until_adopted() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = folder.path().join("autosave");
        assert!(find_abandoned(&place).is_empty());
        let keeper = keep(&place, "work");
        assert!(find_abandoned(&place).is_empty() && RecoverySlot::adopt(keeper.path()).is_none(), "it runs");
        let path = keeper.path().to_owned();
        // Simulates a crash: the lock is released, the files stay.
        drop(keeper);
        // Regardless of how many programs start and crash before their first autosave.
        for _ in 0..3 {
            assert_eq!(find_abandoned(&place), std::slice::from_ref(&path));
            drop(RecoverySlot::new(&place).unwrap_or_else(|error| panic!("{error}")));
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let again = keep(&place, "more work");
        let more = again.path().to_owned();
        drop(again);
        assert_eq!(find_abandoned(&place), [more.clone(), path.clone()], "the newest first");
        // A program that takes it over and crashes leaves it behind again; one that exits regularly does not.
        let taken = RecoverySlot::adopt(&path).expect("nobody has it");
        assert_eq!(find_abandoned(&place), std::slice::from_ref(&more));
        drop(taken);
        assert_eq!(find_abandoned(&place).len(), 2);
        for path in [path, more] {
            RecoverySlot::adopt(&path).expect("nobody has it").end();
        }
        assert_eq!((find_abandoned(&place).len(), count(&place)), (0, 0), "and nothing is left over");
    }

    #[test]
    fn project_without_lock_counts_as_abandoned() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("1-1.thalweg");
        fs::write(&path, "work").expect("it is writable");
        assert_eq!(find_abandoned(folder.path()), std::slice::from_ref(&path));
        RecoverySlot::adopt(&path).expect("nobody has it").end();
        assert_eq!(count(folder.path()), 0);
    }
}
