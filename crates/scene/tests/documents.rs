//! Counts in the documents of the repository are those of the catalogues.

use std::{fs, path::Path};

use thalweg_scene::io::{lesson, scene};
use thalweg_sim::process::catalogue;

/// Writes a number below one hundred in words.
fn in_words(number: usize) -> String {
    const SMALL: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    match (number / 10, number % 10) {
        (0 | 1, _) => SMALL[number].to_owned(),
        (tens, 0) => TENS[tens].to_owned(),
        (tens, ones) => format!("{}-{}", TENS[tens], SMALL[ones]),
    }
}

#[test]
fn documents_state_the_counts_of_the_catalogues() {
    let counts = [
        ("README.md", "[lessons]", lesson::BUILT_IN.len()),
        ("README.md", "built-in scenes", scene::BUILT_IN.len()),
        ("README.md", "processes", catalogue().len()),
        ("CHANGELOG.md", "lessons with", lesson::BUILT_IN.len()),
        ("CHANGELOG.md", "built-in scenes", scene::BUILT_IN.len()),
        ("CHANGELOG.md", "processes on", catalogue().len()),
    ];
    for (name, thing, count) in counts {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        let phrase = format!("{} {thing}", in_words(count));
        assert!(words.contains(&phrase), "{name} does not say \"{phrase}\"");
    }
}
