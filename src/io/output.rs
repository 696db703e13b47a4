//! Results that appear whole or not at all.
//!
//! Files are written into a hidden folder beside their targets, thus on the same disk, and renamed when all are done.
//! A run that fails or is dropped before that leaves everything as it was.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use super::Error;

/// A set of files that are published together in one folder.
#[derive(Debug)]
pub struct Output {
    folder: PathBuf,
    /// Where the files are written. `None` once they are published.
    staging: Option<TempDir>,
    /// Folders made for this output, the innermost first.
    made: Vec<PathBuf>,
}

impl Output {
    /// Prepares to write into a folder, which is made if there is none.
    ///
    /// # Errors
    /// The folder cannot be made or written, or there is a file of its name.
    pub fn new(folder: &Path) -> Result<Self, Error> {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        if folder.exists() && !folder.is_dir() {
            return Err(Error::output(folder, "it is a file", "name a folder to write into"));
        }
        let mut made: Vec<PathBuf> = folder
            .ancestors()
            .take_while(|part| !part.as_os_str().is_empty() && !part.exists())
            .map(Path::to_owned)
            .collect();
        let staging = fs::create_dir_all(folder)
            .and_then(|()| tempfile::Builder::new().prefix(".thalweg-").tempdir_in(folder))
            .map_err(|error| {
                remove_empty(&mut made);
                Error::unwritable(folder, &error)
            })?;
        Ok(Self { folder: folder.to_owned(), staging: Some(staging), made })
    }

    /// Where to write the file that will be published under `name`.
    pub fn file(&self, name: &str) -> PathBuf {
        // `publish` takes the staging folder and the whole output with it.
        self.staging.as_ref().expect("an output that is still there is not published").path().join(name)
    }

    /// Moves every file that was written to its target, replacing what was there. Returns the targets, sorted by name.
    ///
    /// # Errors
    /// A target is a folder or write-protected, in which case nothing is moved, or a move fails.
    pub fn publish(mut self) -> Result<Vec<PathBuf>, Error> {
        let Some(staging) = self.staging.take() else { return Ok(Vec::new()) };
        let listed = fs::read_dir(staging.path()).and_then(|entries| {
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<PathBuf>, _>>()
        });
        let mut written = listed.map_err(|error| Error::unwritable(&self.folder, &error))?;
        written.sort();
        let target = |file: &Path| self.folder.join(file.file_name().unwrap_or_default());
        let targets: Vec<PathBuf> = written.iter().map(|file| target(file)).collect();
        for target in &targets {
            match fs::metadata(target) {
                Ok(found) if found.is_dir() => {
                    return Err(Error::output(
                        target,
                        "there is a folder of this name",
                        "move it away or write elsewhere",
                    ));
                }
                Ok(found) if found.permissions().readonly() => {
                    return Err(Error::output(target, "it is write-protected", "unprotect it or write elsewhere"));
                }
                _ => {}
            }
        }
        for (file, target) in written.iter().zip(&targets) {
            fs::rename(file, target).map_err(|error| Error::unwritable(target, &error))?;
            self.made.clear();
        }
        Ok(targets)
    }
}

impl Drop for Output {
    /// Takes away what an output that was not published has made.
    fn drop(&mut self) {
        self.staging = None;
        remove_empty(&mut self.made);
    }
}

/// Removes folders, the first before the second; one that holds something stays, and so do those around it.
fn remove_empty(folders: &mut Vec<PathBuf>) {
    for folder in folders.drain(..) {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
}

/// Replaces a single file by what `write` writes to the path that it is given. The folder is made if there is none.
///
/// # Errors
/// The error of `write`, or the file cannot be written; what stood there before is untouched then.
pub fn replace(path: &Path, write: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(Error::output(path, "it is no name of a file", "name a file to write"));
    };
    let output = Output::new(folder)?;
    write(&output.file(name))?;
    output.publish().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .expect("it is there")
            .map(|entry| entry.expect("it is readable").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn put(path: &Path, text: &str) -> Result<(), Error> {
        fs::write(path, text).map_err(|error| Error::unwritable(path, &error))
    }

    #[test]
    fn files_appear_together_and_others_stay() {
        let around = tempfile::tempdir().expect("a temporary folder");
        let folder = around.path().join("a/b");
        fs::create_dir_all(&folder).expect("it is writable");
        put(&folder.join("old.txt"), "old").expect("it is writable");
        put(&folder.join("new.txt"), "before").expect("it is writable");
        let output = Output::new(&folder).expect("it is writable");
        put(&output.file("new.txt"), "after").expect("it is writable");
        put(&output.file("more.txt"), "more").expect("it is writable");
        assert_eq!(fs::read_to_string(folder.join("new.txt")).expect("it is there"), "before");
        let targets = output.publish().expect("it is writable");
        assert_eq!(targets, [folder.join("more.txt"), folder.join("new.txt")]);
        assert_eq!(fs::read_to_string(folder.join("new.txt")).expect("it is there"), "after");
        assert_eq!(names(&folder), ["more.txt", "new.txt", "old.txt"]);
    }

    #[test]
    fn what_is_not_published_leaves_nothing_behind() {
        let around = tempfile::tempdir().expect("a temporary folder");
        let output = Output::new(&around.path().join("a/b/c")).expect("it is writable");
        put(&output.file("half.txt"), "half").expect("it is writable");
        drop(output);
        assert!(names(around.path()).is_empty(), "{:?}", names(around.path()));
    }

    #[test]
    fn a_target_in_the_way_stops_everything_before_the_first_file() {
        let around = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(around.path().join("b.txt")).expect("it is writable");
        let output = Output::new(around.path()).expect("it is writable");
        for name in ["a.txt", "b.txt"] {
            put(&output.file(name), "new").expect("it is writable");
        }
        let error = output.publish().expect_err("a folder is in the way");
        assert!(error.to_string().contains("b.txt: there is a folder of this name"), "{error}");
        assert_eq!((names(around.path()), error.exit_code()), (vec!["b.txt".to_owned()], 1));
        let error = Output::new(&around.path().join("b.txt/../b.txt")).map(drop);
        assert!(error.is_ok(), "a folder may be named in any way");
    }

    #[test]
    fn a_single_file_is_replaced_whole_or_not_at_all() {
        let around = tempfile::tempdir().expect("a temporary folder");
        let path = around.path().join("new/picture.txt");
        replace(&path, |file| put(file, "first")).expect("it is writable");
        let failed = replace(&path, |file| {
            put(file, "half")?;
            Err(Error::output(file, "the disk is full", "make room"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "first");
        assert_eq!(names(path.parent().expect("it has one")), ["picture.txt"]);
        let mut protected = fs::metadata(&path).expect("it is there").permissions();
        protected.set_readonly(true);
        fs::set_permissions(&path, protected).expect("it is ours");
        let error = replace(&path, |file| put(file, "second")).expect_err("it is protected").to_string();
        assert!(error.contains("write-protected"), "{error}");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error() {
        let around = tempfile::tempdir().expect("a temporary folder");
        put(&around.path().join("file"), "").expect("it is writable");
        assert!(
            Output::new(&around.path().join("file")).expect_err("it is a file").to_string().contains("it is a file")
        );
        assert!(Output::new(&around.path().join("file/out")).is_err());
    }
}
