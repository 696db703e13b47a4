//! Data compiled into the program, read through the same paths and readers as a user's files.

use std::path::Path;

/// The name of the folder in which built-in files seem to lie.
pub(super) const FOLDER: &str = "built-in";

/// Public-domain elevation: US Geological Survey, the Jacksboro fault in Tennessee, cells of 90 m.
const FILES: [(&str, &[u8]); 2] = [
    ("jacksboro.png", include_bytes!("../../../../assets/maps/jacksboro.png")),
    ("jacksboro.json", include_bytes!("../../../../assets/maps/jacksboro.json")),
];

/// The bytes of a built-in file; `None` if the path names none.
pub(super) fn find(path: &Path) -> Option<&'static [u8]> {
    let name = path.strip_prefix(FOLDER).ok()?;
    FILES.iter().find(|(file, _)| Path::new(file) == name).map(|(_, bytes)| *bytes)
}
