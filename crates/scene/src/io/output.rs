//! Atomic output.
//!
//! Files are written to a hidden folder next to their targets, thus on the same disk, and renamed when all are complete and flushed. A
//! failed export leaves everything unchanged; the hidden folder of a killed program is removed by the next one.
//!
//! One of several files may be their index: a report, or a scene that names its maps. The old index is removed before the first file is
//! replaced, and the new one is moved last. The files of a folder with an index are thus always consistent.

use std::{
    ffi::{OsStr, OsString},
    fmt::Display,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::{Value, json};
use xxhash_rust::xxh3::Xxh3Default;

use super::{Error, input};
use thalweg_sim::core::grid::Grid;

const PREFIX: &str = ".thalweg-";
/// Size of the buffer of a file, in bytes.
const BUFFER: usize = 1 << 18;
/// Lock file of a hidden folder, held while the folder is in use.
const LOCK: &str = "thalweg.lock";

/// Formats a hash as 16 hexadecimal digits.
pub(super) fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Returns the XXH3 hash (64 bits) of a map's cells as little-endian 32-bit floats, which are the bytes of its `.r32`.
pub fn hash_of(map: &Grid) -> String {
    let mut hash = Xxh3Default::new();
    map.chunks(map.width()).for_each(|row| hash.update(&bytes_of(row)));
    hex(hash.digest())
}

/// Converts numbers to the bytes of an `.r32`.
pub(super) fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Set of files that are published together in one folder.
#[derive(Debug)]
pub struct OutputSet {
    folder: PathBuf,
    /// Hidden folder in which the files are written.
    staging: PathBuf,
    /// Locked while the hidden folder is in use. The operating system releases it however the program ends.
    _lock: File,
    /// Folders created for this output, innermost first.
    made: Vec<PathBuf>,
}

impl OutputSet {
    /// Prepares to write to a folder, which is created if missing.
    ///
    /// # Errors
    /// The folder cannot be created or written, or a file has its name.
    pub fn new(folder: &Path) -> Result<Self, Error> {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        if folder.exists() && !folder.is_dir() {
            return Err(Error::output(folder, "this is a file", "choose a folder to write to"));
        }
        let mut made: Vec<PathBuf> = folder
            .ancestors()
            .take_while(|part| !part.as_os_str().is_empty() && !part.exists())
            .map(Path::to_owned)
            .collect();
        remove_stale(folder);
        let (staging, lock) = fs::create_dir_all(folder).and_then(|()| stage(folder)).map_err(|error| {
            remove_empty(&mut made);
            Error::unwritable(folder, &error)
        })?;
        Ok(Self { folder: folder.to_owned(), staging, _lock: lock, made })
    }

    /// Calls `write` with the staging path of the file `name`, next to which it may write further files. Errors are reported with the final
    /// path.
    pub fn write(&self, name: impl AsRef<OsStr>, write: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
        write(&self.staging.join(name.as_ref())).map_err(|error| error.moved(&self.staging, &self.folder))
    }

    /// Returns the folder of the targets.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Creates the file `name`, which is written in parts.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(&self, name: impl AsRef<OsStr>) -> Result<OutputFile, Error> {
        let target = self.folder.join(name.as_ref());
        let file =
            File::create(self.staging.join(name.as_ref())).map_err(|error| Error::unwritable(&target, &error))?;
        Ok(OutputFile { file: BufWriter::with_capacity(BUFFER, file), target })
    }

    fn names(&self) -> Result<Vec<OsString>, Error> {
        let listed = fs::read_dir(&self.staging)
            .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<OsString>>>());
        let mut names = listed.map_err(|error| Error::unwritable(&self.folder, &error))?;
        names.retain(|name| name != LOCK);
        names.sort();
        Ok(names)
    }

    /// Lists the files written so far as JSON: size in bytes and hash (XXH3, 64 bits, hexadecimal) by name.
    ///
    /// # Errors
    /// A file cannot be read back.
    pub fn contents(&self) -> Result<Value, Error> {
        let content = |name: &OsStr| -> io::Result<Value> {
            let mut hash = Xxh3Default::new();
            let bytes = io::copy(&mut File::open(self.staging.join(name))?, &mut hash)?;
            Ok(json!({"bytes": bytes, "hash": hex(hash.digest())}))
        };
        let named = |name: OsString| match content(&name) {
            Ok(content) => Ok((name.to_string_lossy().into_owned(), content)),
            Err(error) => Err(Error::unwritable(&self.folder.join(&name), &error)),
        };
        self.names()?.into_iter().map(named).collect()
    }

    /// Checks that all files can be moved to their targets.
    ///
    /// # Errors
    /// A target is a folder or read-only.
    pub fn check_targets(&self) -> Result<(), Error> {
        self.names()?.iter().try_for_each(|name| check_target(&self.folder.join(name)))
    }

    /// Moves all files to their targets, replacing existing ones, and returns the targets. `index` is the name of the file that lists the
    /// others.
    ///
    /// # Errors
    /// A target is a folder or read-only, in which case nothing is moved, or a move fails.
    pub fn publish(mut self, index: Option<&OsStr>) -> Result<Vec<PathBuf>, Error> {
        let (last, first): (Vec<OsString>, Vec<OsString>) =
            self.names()?.into_iter().partition(|name| index == Some(name.as_os_str()));
        let targets: Vec<PathBuf> = first.iter().chain(&last).map(|name| self.folder.join(name)).collect();
        targets.iter().try_for_each(|target| check_target(target))?;
        // A new folder is an entry of its parent.
        self.made.iter().filter_map(|made| made.parent()).try_for_each(flush)?;
        if !first.is_empty() {
            for index in &last {
                remove(&self.folder.join(index))?;
            }
        }
        for names in [first, last].into_iter().filter(|names| !names.is_empty()) {
            flush(&self.folder)?;
            for name in names {
                let target = self.folder.join(&name);
                fs::rename(self.staging.join(&name), &target).map_err(|error| Error::unwritable(&target, &error))?;
                self.made.clear();
            }
        }
        // The projection of a replaced grid would be that of the new one; a shapefile of this name has the same projection file.
        for grid in targets.iter().filter(|target| target.extension().is_some_and(|extension| extension == "asc")) {
            let projection = grid.with_extension("prj");
            if !targets.contains(&projection) && !grid.with_extension("shp").exists() {
                remove(&projection)?;
            }
        }
        flush(&self.folder)?;
        Ok(targets)
    }
}

/// File of an [`OutputSet`] that is written in parts.
#[derive(Debug)]
pub struct OutputFile {
    file: BufWriter<File>,
    target: PathBuf,
}

impl OutputFile {
    /// Appends bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Error> {
        self.file.write_all(bytes.as_ref()).map_err(|error| Error::unwritable(&self.target, &error))
    }

    /// Flushes the file to disk.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn end(self) -> Result<(), Error> {
        flushed(self.file).map_err(|error| Error::unwritable(&self.target, &error))
    }
}

impl Drop for OutputSet {
    /// Removes everything that was not published.
    fn drop(&mut self) {
        // Leftovers are harmless.
        let _ = clear(&self.staging);
        remove_empty(&mut self.made);
    }
}

/// Checks that a target is no folder, pipe or device, and not read-only.
fn check_target(target: &Path) -> Result<(), Error> {
    let (wrong, right) = match fs::metadata(target) {
        Ok(found) if found.is_dir() => ("a folder with this name exists", "rename it or choose another name"),
        Ok(found) if !found.is_file() => ("this is a pipe or a device", "choose a regular file"),
        Ok(found) if found.permissions().readonly() => {
            ("the file is read-only", "make it writable, or choose another name")
        }
        _ => return Ok(()),
    };
    Err(Error::output(target, wrong, right))
}

/// Creates and locks a hidden staging folder.
fn stage(folder: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let staging = tempfile::Builder::new().prefix(PREFIX).tempdir_in(folder)?;
        let path = staging.path().join(LOCK);
        let lock = match File::create_new(&path) {
            // Removed by another program before it was locked.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            made => made?,
        };
        // Some file systems have no locks. There, staging folders of killed programs are not removed.
        let _ = lock.lock();
        if path.exists() {
            return Ok((staging.keep(), lock));
        }
    }
}

/// Removes a staging folder, its lock last: if the program is killed meanwhile, the next one still recognises the folder.
fn clear(staging: &Path) -> io::Result<()> {
    for entry in fs::read_dir(staging)? {
        let path = entry?.path();
        if !path.ends_with(LOCK) {
            fs::remove_file(path)?;
        }
    }
    fs::remove_dir_all(staging)
}

/// Removes the staging folders of killed programs.
fn remove_stale(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder || !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let _ = match input::open(&entry.path().join(LOCK)) {
            Ok(lock) if lock.get_ref().try_lock().is_ok() => clear(&entry.path()),
            Ok(_) => Ok(()),
            // Without a lock, only an empty folder is ours.
            Err(_) => fs::remove_dir(entry.path()),
        };
    }
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::unwritable(path, &error)),
        _ => Ok(()),
    }
}

/// Flushes a file or the entries of a folder to disk.
pub(super) fn flush(path: &Path) -> Result<(), Error> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    // Some file systems do not support this, and some operating systems do not need it.
    let cannot = |error: &io::Error| matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported);
    match File::open(path).and_then(|opened| opened.sync_all()) {
        Err(error) if cfg!(unix) && !cannot(&error) => Err(Error::unwritable(path, &error)),
        _ => Ok(()),
    }
}

/// Removes folders in order, up to the first that is not empty.
fn remove_empty(folders: &mut Vec<PathBuf>) {
    for folder in folders.drain(..) {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
}

/// Replaces a single file atomically with the output of `write`. The folder is created if missing. On error the file is unchanged.
pub fn replace(path: &Path, write: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Error::output(path, "not a file name", "choose a file name"));
    };
    let output = OutputSet::new(folder)?;
    output.write(name, write)?;
    output.publish(Some(name)).map(drop)
}

/// Creates a file unless it exists, and returns `true` if it did so. Atomic across processes. The folder is created if missing.
///
/// # Errors
/// The file cannot be written.
pub fn write_new(path: &Path, bytes: impl AsRef<[u8]>) -> Result<bool, Error> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Error::output(path, "not a file name", "choose a file name"));
    };
    let output = OutputSet::new(folder)?;
    output.write(name, |file| write(file, bytes))?;
    match fs::hard_link(output.staging.join(name), path) {
        Ok(()) => flush(folder).map(|()| true),
        Err(_) if path.exists() => Ok(false),
        // The file system has no hard links.
        Err(_) => output.publish(None).map(|_| true),
    }
}

/// Creates a file, lets `fill` write to it, and flushes it to disk. A file that cannot be completed is removed.
///
/// # Errors
/// `fill` fails, or the file cannot be written.
pub(super) fn create<E: From<io::Error> + Display>(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), Error> {
    let file = File::create(path).map_err(|error| Error::unwritable(path, &error))?;
    let mut file = BufWriter::with_capacity(BUFFER, file);
    let filled = match fill(&mut file) {
        Ok(()) => flushed(file).map_err(|error| Error::unwritable(path, &error)),
        Err(error) => {
            // Not flushed: the file is removed.
            drop(file.into_parts());
            Err(Error::unwritable(path, &error))
        }
    };
    filled.inspect_err(|_| {
        // A device stays.
        if fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
            drop(fs::remove_file(path));
        }
    })
}

fn flushed(file: BufWriter<File>) -> io::Result<()> {
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// Writes a file with these bytes.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), Error> {
    create(path, |file| file.write_all(bytes.as_ref()))
}

/// Formats a CSV row. Cells with a comma, a quote or a line break are quoted (RFC 4180).
pub fn csv_row<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let quoted = |cell: &str| {
        let plain = !cell.contains([',', '"', '\n', '\r']);
        if plain { cell.to_owned() } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
    };
    cells.into_iter().map(quoted).collect::<Vec<String>>().join(",") + "\n"
}

/// Replaces a text file atomically with a value in RON.
///
/// # Errors
/// The file cannot be written.
pub fn replace_by_ron(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let text = ron::ser::to_string_pretty(value, ron::ser::PrettyConfig::new());
    let text = text.map_err(|error| Error::unwritable(path, &error))?;
    replace(path, |file| write(file, text + "\n"))
}

#[cfg(test)]
mod tests {
    use super::{write as put, *};

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .expect("it is there")
            .map(|entry| entry.expect("it is readable").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn replacing_grid_removes_stale_projection_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let projection = folder.path().join("hills.prj");
        let publish = |names: &[&str]| {
            let set = OutputSet::new(folder.path()).expect("it is writable");
            for name in names {
                set.write(name, |path| write(path, b"text")).expect("it is writable");
            }
            set.publish(None).expect("it is writable");
            projection.exists()
        };
        assert!(publish(&["hills.asc", "hills.prj"]));
        assert!(publish(&["hills.png"]));
        assert!(!publish(&["hills.asc"]));
        assert!(publish(&["hills.shp", "hills.prj"]));
        assert!(publish(&["hills.asc"]));
    }

    #[test]
    fn output_set_is_published_atomically() {
        let around = tempfile::tempdir().expect("a temporary folder");
        let folder = around.path().join("a/b");
        fs::create_dir_all(&folder).expect("it is writable");
        put(&folder.join("old.txt"), "old").expect("it is writable");
        put(&folder.join("new.txt"), "before").expect("it is writable");
        let output = OutputSet::new(&folder).expect("it is writable");
        output.write("new.txt", |file| put(file, "after")).expect("it is writable");
        output.write("more.txt", |file| put(file, "more")).expect("it is writable");
        assert_eq!(fs::read_to_string(folder.join("new.txt")).expect("it is there"), "before");
        let targets = output.publish(None).expect("it is writable");
        assert_eq!(targets, [folder.join("more.txt"), folder.join("new.txt")]);
        assert_eq!(fs::read_to_string(folder.join("new.txt")).expect("it is there"), "after");
        assert_eq!(names(&folder), ["more.txt", "new.txt", "old.txt"]);
    }

    #[test]
    fn write_new_does_not_overwrite() {
        let around = tempfile::tempdir().expect("a temporary folder");
        let path = around.path().join("a/plan.txt");
        assert!(write_new(&path, "first").expect("it is writable"));
        assert!(!write_new(&path, "second").expect("it is writable"));
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "first");
        assert_eq!(names(&around.path().join("a")), ["plan.txt"]);
    }

    #[test]
    fn dropped_output_set_leaves_no_files() {
        let around = tempfile::tempdir().expect("a temporary folder");
        let output = OutputSet::new(&around.path().join("a/b/c")).expect("it is writable");
        output.write("half.txt", |file| put(file, "half")).expect("it is writable");
        drop(output);
        assert!(names(around.path()).is_empty(), "{:?}", names(around.path()));
    }

    #[test]
    fn publish_fails_before_first_file_if_target_is_folder() {
        let around = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(around.path().join("b.txt")).expect("it is writable");
        let output = OutputSet::new(around.path()).expect("it is writable");
        for name in ["a.txt", "b.txt"] {
            output.write(name, |file| put(file, "new")).expect("it is writable");
        }
        let error = output.publish(None).expect_err("a folder is in the way");
        assert!(error.to_string().contains("b.txt: a folder with this name exists"), "{error}");
        assert_eq!((names(around.path()), error.exit_code()), (vec!["b.txt".to_owned()], 1));
        let error = OutputSet::new(&around.path().join("b.txt/../b.txt")).map(drop);
        assert!(error.is_ok(), "a folder may be named in any way");
    }

    #[test]
    fn replace_is_atomic() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("new/picture.txt");
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
        assert!(error.contains("read-only"), "{error}");
    }

    #[test]
    fn vanished_output_folder_is_reported() {
        for moment in ["before it is written", "while it is written", "after it was written"] {
            let around = tempfile::tempdir().expect("a temporary folder");
            let disk = around.path().join("disk");
            let vanish = |now: &str| {
                if now == moment {
                    fs::remove_dir_all(&disk).expect("it is ours");
                }
            };
            let written = replace(&disk.join("work.txt"), |file| {
                vanish("before it is written");
                create(file, |file| {
                    file.write_all(b"half")?;
                    vanish("while it is written");
                    file.write_all(b"whole")
                })?;
                vanish("after it was written");
                Ok(())
            });
            let message = written.expect_err(moment).to_string();
            assert!(
                message.contains("disk") && message.contains("writing failed") && !message.contains('\n'),
                "{message}"
            );
            assert!(names(around.path()).is_empty(), "{moment}: {:?}", names(around.path()));
        }
    }

    #[test]
    fn file_in_parts_is_published_with_the_set() {
        let around = tempfile::tempdir().expect("a temporary folder");
        let output = OutputSet::new(around.path()).expect("it is writable");
        let mut file = output.create("log.csv").expect("it is writable");
        for row in ["a,b\n", "1,2\n"] {
            file.append(row).expect("it is writable");
        }
        file.end().expect("it is writable");
        assert!(names(around.path()).iter().all(|name| name != "log.csv"));
        output.publish(None).expect("it is writable");
        assert_eq!(fs::read_to_string(around.path().join("log.csv")).expect("it is there"), "a,b\n1,2\n");
    }

    #[test]
    fn failed_file_is_removed() {
        let around = tempfile::tempdir().expect("a temporary folder");
        let path = around.path().join("half.txt");
        let failed = create(&path, |file| {
            file.write_all(&[0; 2 * BUFFER])?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert!(failed.is_err() && names(around.path()).is_empty(), "{failed:?}");
    }

    #[test]
    fn publish_writes_index_last_and_errors_name_target() {
        let around = tempfile::tempdir().expect("a temporary folder");
        let output = OutputSet::new(around.path()).expect("it is writable");
        for name in ["a.txt", "b.txt"] {
            output.write(name, |file| put(file, name)).expect("it is writable");
        }
        let hash = xxhash_rust::xxh3::xxh3_64(b"a.txt");
        assert_eq!(output.contents().expect("they are there")["a.txt"], json!({"bytes": 5, "hash": hex(hash)}));
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let error = output.write("c.txt", |file| Err(Error::unwritable(&file.with_extension("json"), &full)));
        let error = error.expect_err("the disk is full").to_string();
        assert!(error.starts_with(&format!("{}: ", around.path().join("c.json").display())), "{error}");
        let targets = output.publish(Some("a.txt".as_ref())).expect("it is writable");
        assert_eq!(targets, [around.path().join("b.txt"), around.path().join("a.txt")]);
    }

    #[test]
    fn stale_staging_folders_are_removed_and_others_stay() {
        let around = tempfile::tempdir().expect("a temporary folder");
        let (left, lock) = stage(around.path()).expect("it is writable");
        put(&left.join("height.png"), "half").expect("it is writable");
        // Simulates a killed program: the lock is released, the files stay.
        drop(lock);
        let mine = around.path().join(".thalweg-notes");
        fs::create_dir(&mine).expect("it is writable");
        put(&mine.join("mine.txt"), "mine").expect("it is writable");
        fs::create_dir(around.path().join(".thalweg-empty")).expect("it is writable");
        let running = OutputSet::new(around.path()).expect("it is writable");
        assert!(!left.exists() && names(around.path()).len() == 2, "{:?}", names(around.path()));
        drop(OutputSet::new(around.path()).expect("it is writable"));
        running.write("a.txt", |file| put(file, "a")).expect("it is still there");
        running.publish(None).expect("it is writable");
        assert_eq!(names(around.path()), [".thalweg-notes", "a.txt"]);
        assert_eq!(names(&mine), ["mine.txt"]);
    }
}
