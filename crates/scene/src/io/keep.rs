//! Work that is kept in case the program crashes: one project for each running program, locked as long as it runs. A project whose
//! lock is free was left behind by a crash. It stays there until a person opens it or throws it away.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use super::{Error, input, project::ENDING};

const LOCK: &str = "lock";

/// The place where a running program keeps its work.
#[derive(Debug)]
pub struct Keeper {
    path: PathBuf,
    /// Locked as long as the program runs. The system unlocks it however the program ends.
    _lock: File,
}

impl Keeper {
    /// Takes a place of its own in a folder, which is made if there is none.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn new(folder: &Path) -> Result<Self, Error> {
        let moment = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let path = folder.join(format!("{moment}-{}", std::process::id())).with_extension(ENDING);
        let hold = || loop {
            let lock = File::create(path.with_extension(LOCK))?;
            lock.lock()?;
            // Before it was locked, another program that was just starting may have removed it.
            if path.with_extension(LOCK).exists() {
                return Ok(lock);
            }
        };
        let lock = fs::create_dir_all(folder).and_then(|()| hold());
        let lock = lock.map_err(|error: io::Error| Error::unwritable(folder, &error))?;
        Ok(Self { path, _lock: lock })
    }

    /// Takes over what a program left behind; `None` if a running program keeps it.
    pub fn take_over(path: &Path) -> Option<Self> {
        let lock = File::options().create(true).append(true).open(path.with_extension(LOCK)).ok()?;
        lock.try_lock().ok()?;
        Some(Self { path: path.to_owned(), _lock: lock })
    }

    /// Where its project is written.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what was kept: the program ends as planned.
    pub fn end(self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(self.path.with_extension(LOCK));
    }
}

/// Projects in a folder whose program did not end as planned, the newest first. They stay until a [`Keeper`] that has taken
/// them over ends.
pub fn left_behind(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let (locks, mut left): (Vec<PathBuf>, Vec<PathBuf>) =
        entries.partition(|path| path.extension().is_some_and(|ending| ending == LOCK));
    left.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
    // A program that crashed before it kept anything has left nothing but its lock.
    for lock in locks.iter().filter(|lock| !lock.with_extension(ENDING).exists()) {
        Keeper::take_over(lock).into_iter().for_each(Keeper::end);
    }
    left.retain(|path| input::open(&path.with_extension(LOCK)).map_or(true, |lock| lock.get_ref().try_lock().is_ok()));
    left.sort();
    left.reverse();
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(folder: &Path, work: &str) -> Keeper {
        let keeper = Keeper::new(folder).unwrap_or_else(|error| panic!("{error}"));
        fs::write(keeper.path(), work).expect("it is writable");
        keeper
    }

    fn count(folder: &Path) -> usize {
        fs::read_dir(folder).expect("it is there").count()
    }

    #[test]
    fn what_broken_programs_left_is_told_of_until_it_is_taken_over_and_what_a_running_one_keeps_is_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = folder.path().join("autosave");
        assert!(left_behind(&place).is_empty());
        let keeper = keep(&place, "work");
        assert!(left_behind(&place).is_empty() && Keeper::take_over(keeper.path()).is_none(), "it runs");
        let path = keeper.path().to_owned();
        // As if the program were gone: the lock is free, the files stay.
        drop(keeper);
        // However often programs start and crash before they have kept anything.
        for _ in 0..3 {
            assert_eq!(left_behind(&place), std::slice::from_ref(&path));
            drop(Keeper::new(&place).unwrap_or_else(|error| panic!("{error}")));
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let again = keep(&place, "more work");
        let more = again.path().to_owned();
        drop(again);
        assert_eq!(left_behind(&place), [more.clone(), path.clone()], "the newest first");
        // A program that takes it over and crashes leaves it behind again. One that ends as planned does not.
        let taken = Keeper::take_over(&path).expect("nobody has it");
        assert_eq!(left_behind(&place), std::slice::from_ref(&more));
        drop(taken);
        assert_eq!(left_behind(&place).len(), 2);
        for path in [path, more] {
            Keeper::take_over(&path).expect("nobody has it").end();
        }
        assert_eq!((left_behind(&place).len(), count(&place)), (0, 0), "and nothing is left over");
    }

    #[test]
    fn a_project_without_a_lock_was_left_behind_too() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("1-1.thalweg");
        fs::write(&path, "work").expect("it is writable");
        assert_eq!(left_behind(folder.path()), std::slice::from_ref(&path));
        Keeper::take_over(&path).expect("nobody has it").end();
        assert_eq!(count(folder.path()), 0);
    }
}
