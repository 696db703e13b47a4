//! Data compiled into the program, read through the same paths and readers as the user's files.

use std::path::Path;

/// Virtual folder of the built-in files.
pub(super) const FOLDER: &str = "built-in";

/// Public-domain elevation data: US Geological Survey, the Jacksboro fault in Tennessee, cells of 90 m.
const FILES: [(&str, &[u8]); 2] = [
    ("jacksboro.png", include_bytes!("../../../../assets/maps/jacksboro.png")),
    ("jacksboro.json", include_bytes!("../../../../assets/maps/jacksboro.json")),
];

/// Returns the bytes of a built-in file, or `None` if there is none at this path.
pub(super) fn find(path: &Path) -> Option<&'static [u8]> {
    let name = path.strip_prefix(FOLDER).ok()?;
    FILES.iter().find(|(file, _)| Path::new(file) == name).map(|(_, bytes)| *bytes)
}
