//! Directories of a TIFF or BigTIFF in either byte order: lists of tags with values.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufReader, Error, ErrorKind, Read, Result, Seek, SeekFrom},
};

/// Maximum number of directories of a file that are looked at.
const MOST_DIRECTORIES: usize = 64;

/// Maximum number of tags of a directory: one of each number.
const MOST_TAGS: u64 = 1 << 16;
/// Maximum length of the values of all tags, in bytes. Positions and lengths of the tiles of a large map take the most.
const MOST_TAG_BYTES: u64 = 1 << 28;
/// Tags that are read.
const READ_TAGS: [u16; 29] = [
    254, 256, 257, 258, 259, 262, 266, 273, 277, 278, 279, 284, 317, 322, 323, 324, 325, 338, 339, 347, 33550, 33922,
    34264, 34735, 34736, 34737, 42112, 42113, 50674,
];

/// Open TIFF file.
pub(super) struct TiffFile {
    file: BufReader<File>,
    /// Length, in bytes.
    length: u64,
    /// Bytes that tags of further directories may have.
    tags_left: u64,
    pub big_endian: bool,
    /// `true` for the variant with offsets of 64 bits.
    is_big: bool,
}

/// Directory: tags by number, in ascending order.
pub(super) struct Directory(BTreeMap<u16, TagEntry>);

/// Value of a tag.
struct TagEntry {
    kind: u16,
    count: u64,
    bytes: Vec<u8>,
}

fn malformed(what: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, what)
}

impl TiffFile {
    /// Reads the header.
    ///
    /// # Errors
    /// It is not a TIFF (`InvalidInput`), is truncated, or cannot be read.
    pub fn new(file: BufReader<File>) -> Result<(Self, u64)> {
        let length = file.get_ref().metadata()?.len();
        let mut tiff = Self { file, length, tags_left: length.min(MOST_TAG_BYTES), big_endian: false, is_big: false };
        let start = tiff.bytes(0, 8.min(length))?;
        tiff.big_endian = match start.get(..2) {
            Some(b"II") => false,
            Some(b"MM") => true,
            _ => return Err(malformed("no TIFF header")),
        };
        let start = if start.len() == 8 { start } else { return Err(ErrorKind::UnexpectedEof.into()) };
        match tiff.number(&start[2..4]) {
            42 => {
                let first = tiff.number(&start[4..8]);
                Ok((tiff, first))
            }
            43 => {
                tiff.is_big = true;
                let first = tiff.bytes(8, 8)?;
                let first = tiff.number(&first);
                Ok((tiff, first))
            }
            _ => Err(malformed("no TIFF header")),
        }
    }

    /// Returns the unsigned integer that these bytes hold.
    fn number(&self, bytes: &[u8]) -> u64 {
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        if self.big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) }
    }

    /// Reads bytes from a position.
    ///
    /// # Errors
    /// They are not all in the file (`UnexpectedEof`), or cannot be read.
    pub fn bytes(&mut self, from: u64, count: u64) -> Result<Vec<u8>> {
        if from.checked_add(count).is_none_or(|end| end > self.length) {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.file.seek(SeekFrom::Start(from))?;
        let mut bytes = vec![0; count as usize];
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Returns the length of the file, in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Reads all directories in their order.
    ///
    /// # Errors
    /// The first one is malformed, truncated or cannot be read. Later ones that are so are omitted.
    pub fn directories(&mut self, first: u64) -> Result<Vec<Directory>> {
        let (directory, mut next) = self.directory(first)?;
        let (mut all, mut seen) = (vec![directory], vec![first]);
        while next != 0 && !seen.contains(&next) && all.len() < MOST_DIRECTORIES {
            seen.push(next);
            let Ok((directory, after)) = self.directory(next) else { break };
            all.push(directory);
            next = after;
        }
        Ok(all)
    }

    /// Reads a directory and the position of the next.
    fn directory(&mut self, at: u64) -> Result<(Directory, u64)> {
        let (count_size, entry_size, offset_size) = if self.is_big { (8, 20, 8) } else { (2, 12, 4) };
        let count = self.bytes(at, count_size)?;
        let count = self.number(&count);
        if count > MOST_TAGS {
            return Err(malformed("malformed directory"));
        }
        let total = count * entry_size;
        let list = self.bytes(at + count_size, total)?;
        let mut entries = BTreeMap::new();
        for entry in list.chunks_exact(entry_size as usize) {
            let (tag, kind) = (self.number(&entry[..2]) as u16, self.number(&entry[2..4]) as u16);
            if !READ_TAGS.contains(&tag) {
                continue;
            }
            let (count, value) = entry[4..].split_at(offset_size as usize);
            let count = self.number(count);
            let size = match kind {
                1 | 2 | 6 | 7 => 1,
                3 | 8 => 2,
                4 | 9 | 11 | 13 => 4,
                5 | 10 | 12 | 16 | 17 | 18 => 8,
                _ => continue,
            };
            // Values do not overlap, so all of them together are no longer than the file.
            let Some(length) = count.checked_mul(size).filter(|length| *length <= self.tags_left) else { continue };
            self.tags_left -= length;
            let bytes = if length <= offset_size {
                value[..length as usize].to_vec()
            } else {
                // A tag that is not in the file is missing.
                match self.bytes(self.number(value), length) {
                    Ok(bytes) => bytes,
                    Err(error) if error.kind() == ErrorKind::UnexpectedEof => continue,
                    Err(error) => return Err(error),
                }
            };
            entries.insert(tag, TagEntry { kind, count, bytes });
        }
        if entries.is_empty() {
            return Err(malformed("empty directory"));
        }
        // Some writers omit the position of the next directory at the end of the file.
        let next = self.bytes(at + count_size + total, offset_size).unwrap_or_default();
        Ok((Directory(entries), self.number(&next)))
    }
}

impl Directory {
    /// Returns the values of a tag as numbers; empty if it is missing.
    pub fn numbers(&self, file: &TiffFile, tag: u16) -> Vec<f64> {
        let Some(entry) = self.0.get(&tag) else { return Vec::new() };
        let size = entry.bytes.len() / (entry.count as usize).max(1);
        let value = |bytes: &[u8]| {
            let number = file.number(bytes);
            let halves = || {
                let (first, second) = bytes.split_at(bytes.len() / 2);
                (file.number(first), file.number(second))
            };
            match entry.kind {
                5 => halves().0 as f64 / halves().1 as f64,
                10 => f64::from(halves().0 as i32) / f64::from(halves().1 as i32),
                6 => f64::from(number as i8),
                8 => f64::from(number as i16),
                9 => f64::from(number as i32),
                17 => number as i64 as f64,
                11 => f32::from_bits(number as u32).into(),
                12 => f64::from_bits(number),
                _ => number as f64,
            }
        };
        entry.bytes.chunks_exact(size.max(1)).map(value).collect()
    }

    /// Returns the values of a tag as unsigned integers; empty if it is missing.
    pub fn integers(&self, file: &TiffFile, tag: u16) -> Vec<u64> {
        let Some(entry) = self.0.get(&tag).filter(|entry| matches!(entry.kind, 1 | 3 | 4 | 7 | 13 | 16 | 18)) else {
            return Vec::new();
        };
        let size = entry.bytes.len() / (entry.count as usize).max(1);
        entry.bytes.chunks_exact(size.max(1)).map(|bytes| file.number(bytes)).collect()
    }

    /// Returns the first value of a tag as an unsigned integer.
    pub fn integer(&self, file: &TiffFile, tag: u16) -> Option<u64> {
        self.integers(file, tag).first().copied()
    }

    /// Returns the bytes of a tag; empty if it is missing.
    pub fn bytes(&self, tag: u16) -> &[u8] {
        self.0.get(&tag).map_or(&[], |entry| &entry.bytes)
    }

    /// Returns the text of a tag; empty if it is missing.
    pub fn text(&self, tag: u16) -> String {
        String::from_utf8_lossy(self.bytes(tag))
            .trim_matches(|letter: char| letter.is_whitespace() || letter == '\0')
            .to_owned()
    }
}
