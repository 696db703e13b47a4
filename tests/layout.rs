//! Architecture rules: dependencies between modules, and the places where files are opened and created.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use syn::{
    Ident, UseTree,
    visit::{self, Visit},
};

/// A crate of the workspace, its source, and its modules with their permitted dependencies.
struct Layers {
    source: &'static str,
    modules: &'static [(&'static str, &'static [&'static str])],
}

/// Manifests enforce the direction of dependencies between crates. Within these crates, modules follow one too.
const LAYERS: [Layers; 3] = [
    Layers {
        source: "crates/sim/src",
        modules: &[
            ("params", &[]),
            ("core", &["params"]),
            ("simd", &["core"]),
            ("hydrology", &["params", "core", "simd"]),
            ("process", &["params", "core", "simd", "hydrology"]),
            ("measure", &["params", "core", "simd", "hydrology", "process"]),
            ("edit", &["params", "core", "simd", "hydrology", "process"]),
            ("simulation", &["params", "core", "simd", "hydrology", "process", "measure", "edit"]),
            ("generate", &["params", "core", "simd", "hydrology", "process", "simulation"]),
        ],
    },
    Layers {
        source: "crates/scene/src",
        modules: &[
            ("allocator", &[]),
            ("look", &[]),
            ("model", &["look"]),
            ("io", &["allocator", "look", "model"]),
            ("settings", &["io"]),
        ],
    },
    Layers {
        source: "src",
        modules: &[
            ("log", &[]),
            ("world", &[]),
            ("render", &["world"]),
            ("shell", &["world"]),
            ("features", &["world", "shell"]),
            ("app", &["log", "world", "render", "shell", "features"]),
        ],
    },
];

/// Paths in a file: from the crate root, like `sim::grid`, and from other crates.
#[derive(Default)]
struct Named {
    /// Module being read.
    here: Vec<String>,
    own: Vec<Vec<String>>,
    others: Vec<String>,
}

impl Named {
    /// Parses a file of a module.
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

    /// Macro input is not parsed but searched for paths.
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

/// Returns `true` if an attribute is `#[cfg(test)]`.
fn is_test(attribute: &syn::Attribute) -> bool {
    attribute.parse_args::<Ident>().is_ok_and(|word| word == "test")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the Rust files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("it is a folder").map(|entry| entry.expect("it is readable").path());
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    entries.flat_map(below).filter(|path| path.extension().is_some_and(|ending| ending == "rs")).collect()
}

/// Returns the module of a file: both `io/geo.rs` and `io/geo/mod.rs` are `io::geo`.
fn module_of(source: &Path, file: &Path) -> Vec<String> {
    let inside = file.strip_prefix(source).expect("it lies there").with_extension("");
    let mut names: Vec<String> = inside.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    names.pop_if(|name| name == "mod");
    names
}

/// Returns the modules declared with `#[cfg(test)] mod name;`.
fn test_modules(source: &Path) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for file in files_below(source) {
        let text = fs::read_to_string(&file).expect("source is text");
        let lines: Vec<&str> = text.lines().collect();
        for pair in lines.windows(2).filter(|pair| pair[0].trim() == "#[cfg(test)]") {
            if let Some(name) = pair[1].trim().strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
                all.push([module_of(source, &file), vec![name.to_owned()]].concat());
            }
        }
    }
    all
}

#[test]
fn module_dependencies_follow_layer_order() {
    for Layers { source, modules } in LAYERS {
        let source = root().join(source);
        let tests = test_modules(&source);
        let mut seen = 0;
        for file in files_below(&source) {
            let module = module_of(&source, &file);
            if ["lib", "main"].contains(&module[0].as_str()) || tests.iter().any(|test| module.starts_with(test)) {
                continue;
            }
            let may_use = modules.iter().find(|(name, _)| *name == module[0]);
            let (own, below) = may_use.unwrap_or_else(|| panic!("{} has no line in LAYERS", file.display()));
            let module: Vec<&str> = module.iter().map(String::as_str).collect();
            let named = Named::by(&module, &fs::read_to_string(&file).expect("source is text"));
            for path in &named.own {
                let other = path.first().unwrap_or_else(|| panic!("{} names the whole crate", file.display()));
                assert!(other == own || below.contains(&&**other), "{} uses {}", file.display(), path.join("::"));
            }
            seen += named.own.len();
        }
        assert!(seen > 100, "only {seen} paths were found in {}", source.display());
    }
}

/// Features interact through the world and commands. Only lessons are composed of other features.
#[test]
fn features_do_not_depend_on_each_other() {
    let source = root().join("src");
    let mut seen = BTreeSet::new();
    for file in files_below(&source.join("features")) {
        let module = module_of(&source, &file);
        let Some(feature) = module.get(1) else { continue };
        seen.insert(feature.clone());
        let below: &[&str] = if feature == "lessons" { &["probes", "section"] } else { &[] };
        let names: Vec<&str> = module.iter().map(String::as_str).collect();
        for path in Named::by(&names, &fs::read_to_string(&file).expect("source is text")).own {
            let [root, other, ..] = &path[..] else { continue };
            let uses = root == "features" && other != feature && *other != "plugin";
            assert!(!uses || below.contains(&&**other), "{} uses {}", file.display(), path.join("::"));
        }
    }
    assert!(seen.len() > 25, "only {} features were found", seen.len());
}

/// Inherent methods of a type are defined in its own layer.
#[test]
fn inherent_methods_stay_in_the_layer_of_their_type() {
    for Layers { source, .. } in LAYERS {
        let source = root().join(source);
        let (mut defined, mut extended) = (BTreeMap::<String, Vec<String>>::new(), Vec::new());
        for file in files_below(&source) {
            let layer = module_of(&source, &file).swap_remove(0);
            for item in syn::parse_file(&fs::read_to_string(&file).expect("source is text")).expect("it is Rust").items
            {
                match item {
                    syn::Item::Struct(syn::ItemStruct { ident, .. }) | syn::Item::Enum(syn::ItemEnum { ident, .. }) => {
                        defined.entry(ident.to_string()).or_default().push(layer.clone());
                    }
                    syn::Item::Impl(syn::ItemImpl { trait_: None, self_ty, .. }) => {
                        let syn::Type::Path(path) = *self_ty else { continue };
                        let name = path.path.segments.last().map(|last| last.ident.to_string());
                        extended.extend(name.map(|name| (name, layer.clone(), file.clone())));
                    }
                    _ => {}
                }
            }
        }
        assert!(extended.len() > 50, "only {} blocks were found in {}", extended.len(), source.display());
        for (name, layer, file) in extended {
            let own = defined.get(&name).is_none_or(|homes| homes.contains(&layer));
            assert!(own, "{} has methods of {name}, which {:?} defines", file.display(), defined[&name]);
        }
    }
}

#[test]
fn paths_are_found_in_every_notation() {
    let found = |text: &str| Named::by(&["io", "geo"], text).own;
    for (text, path) in [
        ("use crate::{io::{self, Error}, render::{camera, water}};", "render::water"),
        ("use crate::{io, render};", "render"),
        ("pub use super::super::render;", "render"),
        ("mod inner { use super::super::super::render as seen; }", "render"),
        ("fn camera() -> Option<crate::render::Camera> { None }", "render::Camera"),
        ("fn camera() { vec![crate::render::Camera::new()]; }", "render::Camera::new"),
    ] {
        let path: Vec<&str> = path.split("::").collect();
        assert!(found(text).iter().any(|found| *found == path), "{text}: {:?}", found(text));
    }
    assert!(found("#[cfg(test)] mod tests { use crate::render; }").is_empty());
    assert!(found("use std::io; // crate::render\nfn view() -> &'static str { \"crate::render\" }").is_empty());
}

/// Files are opened where pipes and devices are rejected, and created where they are flushed.
#[test]
fn file_access_is_confined_to_io_modules() {
    let calls = "File::open File::create File::options OpenOptions fs::read( fs::read_to_string fs::write fs::copy";
    // Lock files are no input. Crash reports are written when everything else has failed.
    let places = ["scene/src/io/input.rs", "scene/src/io/output.rs", "scene/src/io/recovery.rs", "src/log.rs"];
    let mut seen = 0;
    let sources = ["src", "crates"].map(|source| files_below(&root().join(source)));
    for file in sources.into_iter().flatten().filter(|file| !file.with_extension("").iter().any(|name| name == "tests"))
    {
        let text = fs::read_to_string(&file).expect("source is text");
        let program = text.split("#[cfg(test)]").next().unwrap_or_default();
        let call = calls.split(' ').find(|call| program.contains(call));
        seen += usize::from(call.is_some());
        let allowed = call.is_none() || places.iter().any(|place| file.ends_with(place));
        assert!(allowed, "{} calls {}: use io::input or io::output", file.display(), call.unwrap_or_default());
    }
    assert_eq!(seen, places.len());
}

/// Examples are read by newcomers.
#[test]
fn examples_have_at_most_fifty_lines() {
    let examples = files_below(&root().join("examples"));
    assert_eq!(examples.len(), 3);
    for example in examples {
        let lines = fs::read_to_string(&example).expect("source is text").lines().count();
        assert!(lines <= 50, "{} has {lines} lines", example.display());
    }
}

#[test]
fn containerfile_uses_the_rust_version_of_the_manifest() {
    let text = |name: &str| fs::read_to_string(root().join(name)).expect("it is there");
    let manifest = text("Cargo.toml");
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).expect("it is named");
    let wanted = format!("FROM docker.io/library/rust:{}.", version.trim_matches('"'));
    assert!(text("Containerfile").contains(&wanted), "the first stage does not begin with {wanted}");
}

#[test]
fn contributing_guide_shows_the_compiled_example() {
    let text = |name: &str| fs::read_to_string(root().join(name)).expect("it is there");
    let example = text("crates/sim/src/process/snow_melt.rs");
    assert!(example.lines().count() <= 60, "the example has {} lines", example.lines().count());
    assert!(text("CONTRIBUTING.md").contains(&example), "CONTRIBUTING.md does not show snow_melt.rs");
}
