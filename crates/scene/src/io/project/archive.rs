//! Reader of the zip archive of a project.

use std::{
    fs::File,
    io::{BufReader, Read},
    path::Path,
};

use xxhash_rust::xxh3::xxh3_64;
use zip::ZipArchive;

use super::{
    PACKED, damaged,
    keyframes::{MapHashes, map_file},
    manifest::{FORMAT, Manifest, ManifestHeader},
};
use crate::{
    io::{Budget, Error, input},
    model::packed::PackedGrid,
};
use thalweg_sim::core::bounds::Bounds;

/// Maximum length of the manifest, in bytes.
const LONGEST_MANIFEST: u64 = 16 << 20;
/// Memory for reading and parsing a text, in bytes per byte of text.
const BYTES_PER_LETTER: u64 = 8;

pub(super) struct Archive<'a> {
    pub path: &'a Path,
    files: ZipArchive<BufReader<File>>,
    /// Maps that are files beside the archive.
    pub map_hashes: MapHashes,
}

impl<'a> Archive<'a> {
    /// Opens the archive of a project and reads its manifest.
    ///
    /// # Errors
    /// The file is not a project, is damaged, or has another format than [`FORMAT`].
    pub fn open(path: &'a Path) -> Result<(Self, Manifest), Error> {
        let files = ZipArchive::new(input::open(path)?)
            .map_err(|error| damaged(path, &format!("not a project, or truncated ({error})")))?;
        let mut archive = Self { path, files, map_hashes: MapHashes::new() };
        let text = archive.text("manifest.ron", LONGEST_MANIFEST)?;
        let unreadable = |error| damaged(path, &format!("manifest is damaged ({error})"));
        let ManifestHeader { format, program } = ron::from_str(&text).map_err(unreadable)?;
        if format != FORMAT {
            let wrong = format!("project format {format} is not supported, expected {FORMAT}");
            return Err(Error::input(path, wrong, format!("open it with Thalweg {program}, which wrote it")));
        }
        let manifest = ron::from_str(&text).map_err(unreadable)?;
        Ok((archive, manifest))
    }

    pub fn has(&self, name: &str) -> bool {
        self.files.index_for_name(name).is_some()
    }

    /// Reads a text of at most `most` bytes.
    pub fn text(&mut self, name: &str, most: u64) -> Result<String, Error> {
        let length = self.files.by_name(name).map_or(0, |entry| entry.size().min(most));
        Budget::present().request(self.path, BYTES_PER_LETTER * length)?;
        let text = self.read(name, most)?;
        String::from_utf8(text).map_err(|_| damaged(self.path, &format!("{name} is not UTF-8 text")))
    }

    /// Reads a file of at most `most` bytes. Reading stops if it is longer.
    fn read(&mut self, name: &str, most: u64) -> Result<Vec<u8>, Error> {
        let wrong = |what: &str| damaged(self.path, &format!("{name} {what}"));
        let entry = self.files.by_name(name).map_err(|error| wrong(&format!("is missing or damaged ({error})")))?;
        let mut bytes = Vec::with_capacity(entry.size().min(most) as usize);
        let got = entry.take(most + 1).read_to_end(&mut bytes);
        got.map_err(|error| wrong(&format!("is damaged ({error})")))?;
        if bytes.len() as u64 > most {
            return Err(wrong("is longer than allowed"));
        }
        Ok(bytes)
    }

    /// Reads a file beside the archive of at most `most` bytes with this hash.
    fn read_file(&self, hash: u64, most: u64) -> Result<Vec<u8>, Error> {
        let file = map_file(self.path, hash);
        let bytes = input::bytes(&file, most, "open an intact autosave")?;
        if xxh3_64(&bytes) == hash { Ok(bytes) } else { Err(damaged(&file, "the map is damaged")) }
    }

    /// Reads a packed map of at most `most` numbers within these bounds.
    pub fn packed(&mut self, file: &str, most: usize, bounds: Bounds) -> Result<PackedGrid, Error> {
        let longest = PackedGrid::max_bytes(most);
        let bytes = match self.map_hashes.get(file) {
            Some(hash) => self.read_file(*hash, longest)?,
            None => self.read(file, longest)?,
        };
        PackedGrid::from_bytes(bytes, most, bounds).map_err(|wrong| damaged(self.path, &format!("{file} {wrong}")))
    }

    /// Reads and unpacks a map; `None` if there is none of this name.
    pub fn map(&mut self, folder: &str, name: &str, most: usize, bounds: Bounds) -> Result<Option<Vec<f32>>, Error> {
        let file = format!("{folder}/{name}.{PACKED}");
        if !self.has(&file) {
            return Ok(None);
        }
        Ok(Some(self.packed(&file, most, bounds)?.unpack()))
    }
}
