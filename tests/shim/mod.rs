//! A library that intercepts the file operations of a child process: see `files.c`.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Builds the library, for `LD_PRELOAD`.
pub fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shim/files.c");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("files-{}.so", std::process::id()));
        let options = ["-O1", "-shared", "-fPIC", "-o"];
        let built = Command::new("cc").args(options).arg(&library).arg(source).arg("-ldl").status();
        assert!(built.is_ok_and(|status| status.success()), "cc, which links every Rust program, is needed");
        library
    })
}
