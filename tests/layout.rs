//! The layout of the source: which module uses which, and where files are opened and made.

use std::{
    fs,
    path::{Path, PathBuf},
};

use syn::{
    Ident, UseTree,
    visit::{self, Visit},
};

/// The modules, and what each may use besides itself.
const MAY_USE: [(&str, &[&str]); 14] = [
    ("allocator", &[]),
    ("params", &[]),
    ("look", &["params"]),
    ("sim", &["params", "look"]),
    ("model", &["params", "look", "sim"]),
    ("io", &["allocator", "params", "look", "sim", "model"]),
    ("settings", &["params", "io"]),
    ("headless", &["params", "look", "sim", "model", "io", "settings"]),
    ("log", &["settings"]),
    ("runtime", &["params", "look", "sim", "model", "io", "settings"]),
    ("view", &["params", "look", "sim", "model", "io", "settings", "runtime"]),
    ("ui", &["params", "look", "sim", "model", "io", "settings", "runtime"]),
    ("tools", &["params", "look", "sim", "model", "io", "settings", "runtime"]),
    ("app", &["params", "look", "sim", "model", "io", "settings", "log", "runtime", "view", "ui", "tools"]),
];

/// The modules that may use the engine, and its crates.
const ON_THE_ENGINE: [&str; 6] = ["log", "runtime", "view", "ui", "tools", "app"];
const ENGINE: &str =
    "bevy bevy_egui egui_commonmark bevy_panorbit_camera wgpu egui_file_dialog egui_phosphor egui_plot nucleo_matcher";

/// What a file names: paths from the root of the program, like `sim::grid`, and from that of another crate.
#[derive(Default)]
struct Named {
    /// The module that is being read.
    here: Vec<String>,
    own: Vec<Vec<String>>,
    others: Vec<String>,
}

impl Named {
    /// Reads a file of a module.
    fn by(module: &[&str], text: &str) -> Self {
        let mut named = Self { here: module.iter().map(|name| (*name).to_owned()).collect(), ..Self::default() };
        named.visit_file(&syn::parse_file(text).expect("the source is Rust"));
        named
    }

    fn note(&mut self, path: &[String]) {
        let up = path.iter().take_while(|word| *word == "super").count();
        match path.first().map(String::as_str) {
            Some("crate") => self.own.push(path[1..].to_vec()),
            Some("self") => self.own.push([&self.here, &path[1..]].concat()),
            Some("super") => self.own.push([&self.here[..self.here.len() - up], &path[up..]].concat()),
            Some(name) => self.others.push(name.to_owned()),
            None => {}
        }
    }

    fn note_tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.note_tree(&with(&path.ident), &path.tree),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.note_tree(before, tree)),
            UseTree::Name(name) => self.note(&with(&name.ident)),
            UseTree::Rename(name) => self.note(&with(&name.ident)),
            UseTree::Glob(_) => self.note(before),
        }
    }
}

impl<'a> Visit<'a> for Named {
    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.note_tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.note(&path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>());
        visit::visit_path(self, path);
    }

    /// The text inside a macro call is not parsed, so its words are searched.
    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.visit_path(&call.path);
        let text = call.tokens.to_string().replace(" :: ", "::");
        let words = text.split(|letter: char| !(letter.is_alphanumeric() || "_:".contains(letter)));
        for path in words.filter(|word| word.contains("::")) {
            self.note(&path.split("::").map(str::to_owned).collect::<Vec<_>>());
        }
    }

    /// Tests may use everything.
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if module.attrs.iter().any(|attribute| attribute.path().is_ident("cfg") && is_test(attribute)) {
            return;
        }
        self.here.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.here.pop();
    }

    fn visit_visibility(&mut self, _: &'a syn::Visibility) {}
}

/// Whether an attribute is `#[cfg(test)]`.
fn is_test(attribute: &syn::Attribute) -> bool {
    attribute.parse_args::<Ident>().is_ok_and(|word| word == "test")
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The files below a folder, each with its path from there.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("it is a folder").map(|entry| entry.expect("it is readable").path());
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    entries.flat_map(below).filter(|path| path.extension().is_some_and(|ending| ending == "rs")).collect()
}

/// The module of a file: `src/io/geo.rs` is `io::geo`, and so is `src/io/geo/mod.rs`.
fn module_of(file: &Path) -> Vec<String> {
    let inside = file.strip_prefix(source()).expect("it lies there").with_extension("");
    let mut names: Vec<String> = inside.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    names.pop_if(|name| name == "mod");
    names
}

#[test]
fn modules_are_used_in_one_direction_only() {
    let mut seen = 0;
    for file in files_below(&source()) {
        let module = module_of(&file);
        let module: Vec<&str> = module.iter().map(String::as_str).collect();
        if ["lib", "main"].contains(&module[0]) || module.contains(&"tests") {
            continue;
        }
        let may_use = MAY_USE.iter().find(|(name, _)| *name == module[0]);
        let (own, below) = may_use.unwrap_or_else(|| panic!("{} has no line in MAY_USE", module[0]));
        let named = Named::by(&module, &fs::read_to_string(&file).expect("source is text"));
        for path in &named.own {
            let other = path.first().unwrap_or_else(|| panic!("{} names the whole program", file.display()));
            assert!(other == own || below.contains(&&**other), "{} uses {}", file.display(), path.join("::"));
        }
        let engine = named.others.iter().find(|name| ENGINE.split(' ').any(|engine| engine == **name));
        assert!(ON_THE_ENGINE.contains(own) || engine.is_none(), "{} uses the engine: {engine:?}", file.display());
        seen += named.own.len();
    }
    assert!(seen > 1000, "only {seen} paths were found");
}

#[test]
fn a_path_is_found_however_it_is_written() {
    let found = |text: &str| Named::by(&["io", "geo"], text).own;
    for (text, path) in [
        ("use crate::{io::{self, Error}, view::{camera, water}};", "view::water"),
        ("use crate::{io, view};", "view"),
        ("pub use super::super::view;", "view"),
        ("mod inner { use super::super::super::view as seen; }", "view"),
        ("fn camera() -> Option<crate::view::Camera> { None }", "view::Camera"),
        ("fn camera() { vec![crate::view::Camera::new()]; }", "view::Camera::new"),
    ] {
        let path: Vec<&str> = path.split("::").collect();
        assert!(found(text).iter().any(|found| *found == path), "{text}: {:?}", found(text));
    }
    assert!(found("#[cfg(test)] mod tests { use crate::view; }").is_empty());
    assert!(found("use std::io; // crate::view\nfn view() -> &'static str { \"crate::view\" }").is_empty());
}

/// Files are opened where pipes and devices are refused, and made where they are flushed.
#[test]
fn files_are_opened_in_one_place_and_made_in_another() {
    let calls = "File::open File::create File::options OpenOptions fs::read( fs::read_to_string fs::write fs::copy";
    // Locks are no input. A report of a crash is written while all else is lost.
    let places = ["io/input.rs", "io/output.rs", "io/keep.rs", "log.rs"];
    let mut seen = 0;
    for file in files_below(&source()).into_iter().filter(|file| !module_of(file).contains(&"tests".to_owned())) {
        let text = fs::read_to_string(&file).expect("source is text");
        let program = text.split("#[cfg(test)]").next().unwrap_or_default();
        let call = calls.split(' ').find(|call| program.contains(call));
        seen += usize::from(call.is_some());
        let allowed = call.is_none() || places.iter().any(|place| file.ends_with(place));
        assert!(allowed, "{} calls {}: use io::input or io::output", file.display(), call.unwrap_or_default());
    }
    assert_eq!(seen, places.len());
}

/// Examples are read by those who begin.
#[test]
fn an_example_has_forty_lines_at_most() {
    let examples = files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"));
    assert_eq!(examples.len(), 3);
    for example in examples {
        let lines = fs::read_to_string(&example).expect("source is text").lines().count();
        assert!(lines <= 40, "{} has {lines} lines", example.display());
    }
}

#[test]
fn the_container_is_built_with_the_compiler_that_the_manifest_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |name: &str| fs::read_to_string(root.join(name)).expect("it is there");
    let manifest = text("Cargo.toml");
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).expect("it is named");
    let wanted = format!("FROM docker.io/library/rust:{}.", version.trim_matches('"'));
    assert!(text("Containerfile").contains(&wanted), "the first stage does not begin with {wanted}");
}
