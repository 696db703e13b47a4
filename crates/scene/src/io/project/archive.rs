//! The zip archive of a project that is read.

use std::{
    fs::File,
    io::{BufReader, Read},
    path::Path,
};

use zip::ZipArchive;

use super::{PACKED, damaged, manifest::Head};
use crate::{
    io::{Budget, Error, input},
    model::packed::Packed,
};
use thalweg_sim::core::bounds::{Bounds, Unfit};

/// Longest manifest, in bytes.
const LONGEST_MANIFEST: u64 = 16 << 20;
/// Memory that reading and parsing a text takes, in bytes for each of its own.
const BYTES_PER_LETTER: u64 = 8;

pub(super) struct Archive<'a> {
    pub path: &'a Path,
    files: ZipArchive<BufReader<File>>,
}

impl<'a> Archive<'a> {
    pub fn open(path: &'a Path) -> Result<Self, Error> {
        let files = ZipArchive::new(input::open(path)?)
            .map_err(|error| damaged(path, &format!("it is no project, or cut off ({error})")))?;
        Ok(Self { path, files })
    }

    pub fn has(&self, name: &str) -> bool {
        self.files.index_for_name(name).is_some()
    }

    /// The manifest: its head, which is the same in every format, and its text.
    pub fn manifest(&mut self) -> Result<(Head, String), Error> {
        let text = self.text("manifest.ron", LONGEST_MANIFEST)?;
        let head = ron::from_str(&text);
        let head = head.map_err(|error| damaged(self.path, &format!("its manifest is damaged ({error})")))?;
        Ok((head, text))
    }

    /// A text of at most so many bytes.
    pub fn text(&mut self, name: &str, most: u64) -> Result<String, Error> {
        let length = self.files.by_name(name).map_or(0, |entry| entry.size().min(most));
        Budget::present().ask(self.path, BYTES_PER_LETTER * length)?;
        let text = self.read(name, most)?;
        String::from_utf8(text).map_err(|_| damaged(self.path, &format!("{name} in it is no text")))
    }

    /// A whole file of at most so many bytes. A longer one is not read to its end.
    pub fn read(&mut self, name: &str, most: u64) -> Result<Vec<u8>, Error> {
        let wrong = |what: &str| damaged(self.path, &format!("{name} in it {what}"));
        let entry = self.files.by_name(name).map_err(|error| wrong(&format!("is missing or damaged ({error})")))?;
        let mut bytes = Vec::with_capacity(entry.size().min(most) as usize);
        let got = entry.take(most + 1).read_to_end(&mut bytes);
        got.map_err(|error| wrong(&format!("is damaged ({error})")))?;
        if bytes.len() as u64 > most {
            return Err(wrong("is longer than it can be"));
        }
        Ok(bytes)
    }

    /// A packed map of at most so many numbers, each within these bounds.
    pub fn packed(&mut self, file: &str, most: usize, bounds: Bounds) -> Result<Packed, Error> {
        let bytes = self.read(file, Packed::longest(most))?;
        Packed::read(bytes, most, bounds).map_err(|wrong| damaged(self.path, &format!("{file} in it {wrong}")))
    }

    /// A map unpacked, as any format has it; `None` if there is none of this name.
    pub fn map(&mut self, folder: &str, name: &str, most: usize, bounds: Bounds) -> Result<Option<Vec<f32>>, Error> {
        let file = format!("{folder}/{name}.{PACKED}");
        if self.has(&file) {
            return Ok(Some(self.packed(&file, most, bounds)?.unpack()));
        }
        let file = format!("{folder}/{}.r32", name.replace(' ', "-"));
        if !self.has(&file) {
            return Ok(None);
        }
        let bytes = self.read(&file, 4 * most as u64)?;
        let numbers: Vec<f32> = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let unfit = |unfit: Unfit| Error::input(self.path, format!("in its map {file} {}", unfit.wrong), unfit.right);
        bounds.check_cells(&numbers, most.max(1), 0).map_err(unfit)?;
        Ok(Some(numbers))
    }
}
