//! The constants of the shaders against those of the processes on the processor.

use std::{fs, path::Path};

/// Constants of the shaders alone, or under another name on the processor.
const OWN: [&str; 3] = ["TINY", "INSTANT", "DIAGONAL"];

/// Returns the names and values of constants of type `f32` or `u32`: numbers, quotients and products.
fn constants(text: &str) -> Vec<(String, f64)> {
    let mut found: Vec<(String, f64)> = Vec::new();
    for line in text.lines() {
        let Some((_, declaration)) = line.split_once("const ") else { continue };
        let Some((name, rest)) = declaration.split_once(": ") else { continue };
        let Some((_, value)) = rest.strip_suffix(';').and_then(|rest| rest.split_once(" = ")) else { continue };
        let number = |word: &str| {
            let known = found.iter().find(|(name, _)| name == word).map(|(_, value)| *value);
            known.or_else(|| word.replace('_', "").parse().ok())
        };
        let words: Vec<&str> = value.split(' ').collect();
        let mut result = number(words[0]);
        for pair in words[1..].chunks(2) {
            let other = pair.get(1).and_then(|word| number(word));
            result = result.zip(other).and_then(|(result, other)| match pair[0] {
                "*" => Some(result * other),
                "/" => Some(result / other),
                _ => None,
            });
        }
        found.extend(result.map(|value| (name.to_owned(), value)));
    }
    found
}

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn shaders_have_the_constants_of_the_processor() {
    let sources = |names: &[&str]| -> Vec<(String, f64)> {
        let text = |name: &&str| read(&format!("crates/sim/src/process/{name}.rs"));
        names.iter().flat_map(|name| constants(&text(name))).collect()
    };
    let friction = ["water/mod", "water/friction/mod", "water/friction/flow", "water/friction/transport"];
    let programs: [(&str, Vec<(String, f64)>); 4] = [
        ("common", sources(&["water/mod"])),
        ("water", sources(&friction)),
        ("pipes", sources(&["water/mod", "water/pipes/erode"])),
        ("thermal", sources(&["thermal/mod", "thermal/sliding"])),
    ];
    let mut compared = 0;
    for (shader, processor) in programs {
        let text = read(&format!("shaders/sim/{shader}.wgsl"));
        let physical = text.lines().filter(|line| line.contains(": f32 = ")).collect::<Vec<_>>().join("\n");
        for (name, value) in constants(&physical).into_iter().filter(|(name, _)| !OWN.contains(&&**name)) {
            let other = processor.iter().find(|(other, _)| *other == name);
            let (_, other) = other.unwrap_or_else(|| panic!("{shader}.wgsl: {name} is no constant of the processor"));
            assert_eq!(value, *other, "{shader}.wgsl: {name}");
            compared += 1;
        }
    }
    assert_eq!(compared, 15);
}
