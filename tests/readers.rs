//! All readers on malformed files: stored ones, and two thousand deterministic mutations of them. The functions are those of the
//! fuzzers in `fuzz/`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use thalweg_sim::core::rng::RandomStream;

use self::readers::{READERS, Reader};

#[path = "../fuzz/src/lib.rs"]
mod readers;

#[path = "readers/corpus.rs"]
mod corpus;

/// Mutations per reader.
const MUTATIONS: u64 = 2000;
/// Maximum size of a mutated file, in bytes.
const LONGEST: usize = 1 << 17;
/// Peak memory allowed for all readers of small files together, in bytes.
const MEMORY: usize = 512 << 20;

/// Returns the peak memory of this process in bytes, or 0 where the system does not report it.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).map_or(0, |kilobytes: usize| kilobytes << 10)
}

/// Runs a reader and checks its peak memory.
fn judged((name, read): Reader, bytes: &[u8]) -> readers::Outcome {
    let outcome = read(bytes);
    let peak = peak();
    assert!(peak <= MEMORY, "{name}: a file of {} bytes raised the memory to {peak} bytes", bytes.len());
    outcome
}

/// Returns the stored files of a reader.
fn stored(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/readers").join(name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it is readable").path()).collect();
    files.sort();
    files.into_iter().map(|file| (file.clone(), fs::read(file).expect("it is readable"))).collect()
}

/// Checks that good files are read and bad ones rejected.
fn check_stored_files(reader: Reader) {
    for (path, bytes) in stored(reader.0) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let outcome = judged(reader, &bytes);
        assert_eq!(outcome.is_ok(), name.starts_with("good"), "{}: {outcome:?}", path.display());
    }
}

fn check_mutated_files(reader: Reader) {
    let files: Vec<Vec<u8>> = stored(reader.0).into_iter().map(|(_, bytes)| bytes).collect();
    let mut read = 0;
    for number in 0..MUTATIONS {
        let mut stream = RandomStream::new(1, reader.0, number);
        let mut bytes = mutated(&mut stream, &files);
        if reader.0 == "png" && stream.below(2) == 0 {
            corpus::mend_checksums(&mut bytes);
        }
        read += u64::from(judged(reader, &bytes).is_ok());
    }
    println!("{}: {read} of {MUTATIONS} were read; at most {} MB so far", reader.0, peak() >> 20);
    assert!((1..MUTATIONS).contains(&read), "{}: {read} of {MUTATIONS} were read", reader.0);
}

/// Numbers and words that may break readers.
const NASTY: &str = "0 -1 1 4096 16384 65536 4294967296 18446744073709551615 1e39 -1e39 1e-46 1e400 nan inf -0 0x10 \
                     ( ) [[[[ \" \\u{0} Some( \n \u{1b}";

/// Returns one of the files, mutated in one to four places.
fn mutated(stream: &mut RandomStream, files: &[Vec<u8>]) -> Vec<u8> {
    let nasty: Vec<&str> = NASTY.split(' ').collect();
    let mut bytes = files[stream.below(files.len())].clone();
    for _ in 0..1 + stream.below(4) {
        let at = stream.below(bytes.len() + 1);
        let end = (at + 1 + stream.below(16)).min(bytes.len());
        match stream.below(9) {
            0 if at < end => bytes[at] ^= 1 << stream.below(8),
            1 if at < end => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][stream.below(5)],
            2 => bytes[at..end].fill([0, 0xff][stream.below(2)]),
            3 => drop(bytes.drain(at..end)),
            4 => drop(bytes.splice(at..at, bytes[at..end].to_vec())),
            5 => bytes.truncate(at),
            6 => {
                let other = &files[stream.below(files.len())];
                let from = stream.below(other.len() + 1);
                drop(bytes.splice(at.., other[from..].iter().copied()));
            }
            7 => drop(bytes.splice(at..at, nasty[stream.below(nasty.len())].bytes())),
            _ => replace_number(&mut bytes, at, nasty[stream.below(nasty.len())]),
        }
    }
    bytes.truncate(LONGEST);
    bytes
}

/// Replaces the first number-like text after a position.
fn replace_number(bytes: &mut Vec<u8>, from: usize, word: &str) {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b".-+".contains(byte);
    let Some(begin) = bytes[from..].iter().position(is_part).map(|offset| from + offset) else { return };
    let end = bytes[begin..].iter().position(|byte| !is_part(byte)).map_or(bytes.len(), |offset| begin + offset);
    drop(bytes.splice(begin..end, word.bytes()));
}

macro_rules! tests {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            let reader = READERS.into_iter().find(|(name, _)| *name == stringify!($name)).expect("it is listed");
            check_stored_files(reader);
            check_mutated_files(reader);
        }
    )*

    #[test]
    fn every_reader_is_tested_and_fuzzed() {
        assert_eq!(READERS.map(|(name, _)| name), [$(stringify!($name)),*]);
        let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
        let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).expect("it is there");
        for (name, _) in READERS {
            let target = fs::read_to_string(fuzz.join(format!("fuzz_targets/{name}.rs"))).expect("it is there");
            assert!(target.contains(&format!("thalweg_fuzz::{name}(bytes)")), "{target}");
            assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
        }
    }
    };
}

tests!(
    png exr r16 r32 tif asc npy hgt header dem surfer image sidecar scene preset settings lesson lesson_image answers project
    manifest timeline keyframe
);
