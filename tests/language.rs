//! The language of source, interface and documents: names used once, standard phrases, and all interface texts in one file.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use syn::{
    Ident,
    visit::{self, Visit},
};
use thalweg_scene::{
    model::{origin::Origin, session::Session},
    settings::Settings,
};
use thalweg_sim::{
    core::quantity::Quantity,
    edit::{Brush, Selection},
    params::{self, Group, choice_title, collect_parameters},
    process::{catalogue, masked::masked_key},
};

/// Type names that several modules declare by convention: each process has its `Params`.
const SHARED_NAMES: [&str; 1] = ["Params"];

/// Folders and files whose text is checked.
const TEXTS: [&str; 15] = [
    "src",
    "crates",
    "shaders",
    "tests",
    "assets",
    "docs",
    "examples",
    "benches",
    "fuzz/src",
    "fuzz/fuzz_targets",
    "README.md",
    "CONTRIBUTING.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "SECURITY.md",
];

/// Words with which no sentence of documentation begins: it begins with a noun or a verb.
const BANNED_BEGINNINGS: [&str; 9] =
    ["What ", "Whether ", "How many ", "How much ", "How far ", "How long ", "By how ", "That which ", "So many "];

/// Parts of string literals that are code: Rust, WGSL, markup, style sheets and scripts.
const CODE: [&str; 12] =
    ["::", "</", "/>", "{\n", "<!doctype", "<svg", "<img", "fill=\"", "body{", "#!/bin", "\nrule ", "=>"];

/// Source folders of the workspace.
const SOURCES: [&str; 5] = ["src", "crates/sim/src", "crates/gpu/src", "crates/scene/src", "crates/cli/src"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the text files at or below a path, in a stable order.
fn files_below(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        let text = ["rs", "wgsl", "md", "ron", "toml", "py"];
        let is_text = path.extension().is_some_and(|ending| text.iter().any(|text| ending == *text));
        return if is_text { vec![path.to_owned()] } else { Vec::new() };
    }
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("the folder is readable").path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| files_below(path)).collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).expect("it lies in the repository").display().to_string()
}

/// Banned phrases with their replacements, one pair per line, separated by " | ".
fn banned_phrases() -> Vec<(String, String)> {
    let list = read(&root().join("tests/language/banned.txt"));
    let pairs = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pairs = pairs.map(|line| line.split_once(" | ").unwrap_or_else(|| panic!("no replacement: {line}")));
    pairs.map(|(phrase, instead)| (phrase.to_lowercase(), instead.to_owned())).collect()
}

/// Returns `true` if `text` has `phrase` between word boundaries.
fn has_phrase(text: &str, phrase: &str) -> bool {
    // Hyphens join the words of a file name.
    let is_word = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '-');
    text.match_indices(phrase).any(|(start, _)| {
        let (before, after) = (text[..start].chars().next_back(), text[start + phrase.len()..].chars().next());
        !is_word(before) && !is_word(after)
    })
}

#[test]
fn paraphrases_of_standard_terms_are_banned() {
    let banned = banned_phrases();
    let mut found = Vec::new();
    let paths = TEXTS.iter().flat_map(|text| files_below(&root().join(text)));
    for path in paths.filter(|path| !path.ends_with(file!())) {
        for (number, line) in read(&path).lines().enumerate() {
            // Names of functions consist of words too.
            let line = line.to_lowercase().replace('_', " ");
            for (phrase, instead) in banned.iter().filter(|(phrase, _)| has_phrase(&line, phrase)) {
                found.push(format!("{}:{}: \"{phrase}\"; use {instead}", shown(&path), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{} banned phrases:\n{}", found.len(), found.join("\n"));
}

/// What a file declares and says outside its tests.
#[derive(Default)]
struct Source {
    types: Vec<String>,
    /// First lines of documentation.
    headlines: Vec<String>,
    /// String literals and documentation that users read.
    texts: Vec<String>,
    /// `true` while fields of a parameter group or of the command line are visited: users read their documentation.
    documents_users: bool,
}

impl Source {
    fn of(text: &str) -> Self {
        let mut source = Self::default();
        source.visit_file(&syn::parse_file(text).expect("the source is Rust"));
        source
    }

    fn read_documentation(&mut self, attributes: &[syn::Attribute]) {
        let lines: Vec<String> = attributes
            .iter()
            .filter_map(|attribute| match &attribute.meta {
                syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                    syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(line), .. }) => Some(line.value()),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        self.headlines.extend(lines.first().map(|line| line.trim().to_owned()));
        if self.documents_users && !lines.is_empty() {
            self.texts.push(lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ").trim().to_owned());
        }
    }

    /// Adds the string literals of a macro's input.
    fn read_tokens(&mut self, tokens: proc_macro2::TokenStream) {
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Group(group) => self.read_tokens(group.stream()),
                proc_macro2::TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                        self.visit_lit_str(&text);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns `true` if an attribute is `#[cfg(test)]`.
fn is_test(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<Ident>().is_ok_and(|word| word == "test")
}

/// Returns `true` if a string literal is a text and no identifier, path or format.
fn is_text(literal: &str) -> bool {
    let words =
        literal.split_whitespace().filter(|word| word.chars().filter(|letter| letter.is_lowercase()).count() > 1);
    let begins_like_a_title = literal.chars().next().is_some_and(char::is_uppercase);
    let is_code = CODE.iter().any(|part| literal.contains(part)) || literal.starts_with('<');
    !is_code && (words.clone().count() > 1 || begins_like_a_title && words.count() == 1)
}

impl<'a> Visit<'a> for Source {
    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if !module.attrs.iter().any(is_test) {
            self.read_documentation(&module.attrs);
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        if !function.attrs.iter().any(|attribute| is_test(attribute) || attribute.path().is_ident("test")) {
            self.read_documentation(&function.attrs);
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        if !function.attrs.iter().any(is_test) {
            self.read_documentation(&function.attrs);
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_struct(&mut self, item: &'a syn::ItemStruct) {
        self.types.push(item.ident.to_string());
        self.read_documentation(&item.attrs);
        let attributes = |name: &str| {
            item.attrs.iter().any(|attribute| {
                let syn::Meta::List(list) = &attribute.meta else { return false };
                attribute.path().is_ident("derive")
                    && list.tokens.to_string().split(", ").any(|word| word.trim() == name)
            })
        };
        self.documents_users = ["Parser", "Args", "Reflect"].into_iter().any(attributes);
        visit::visit_item_struct(self, item);
        self.documents_users = false;
    }

    fn visit_item_enum(&mut self, item: &'a syn::ItemEnum) {
        self.types.push(item.ident.to_string());
        self.read_documentation(&item.attrs);
        let derives = |name: &str| {
            item.attrs.iter().any(|attribute| {
                let syn::Meta::List(list) = &attribute.meta else { return false };
                attribute.path().is_ident("derive")
                    && list.tokens.to_string().split(", ").any(|word| word.trim() == name)
            })
        };
        self.documents_users = ["Subcommand", "ValueEnum"].into_iter().any(derives);
        visit::visit_item_enum(self, item);
        self.documents_users = false;
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        self.types.push(item.ident.to_string());
        self.read_documentation(&item.attrs);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'a syn::ItemType) {
        self.types.push(item.ident.to_string());
        self.read_documentation(&item.attrs);
    }

    fn visit_item_const(&mut self, item: &'a syn::ItemConst) {
        if !item.attrs.iter().any(is_test) {
            self.read_documentation(&item.attrs);
            visit::visit_item_const(self, item);
        }
    }

    fn visit_field(&mut self, field: &'a syn::Field) {
        self.read_documentation(&field.attrs);
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'a syn::Variant) {
        self.read_documentation(&variant.attrs);
        visit::visit_variant(self, variant);
    }

    /// Users do not read the keys of widgets.
    fn visit_expr_call(&mut self, call: &'a syn::ExprCall) {
        let is_id = match &*call.func {
            syn::Expr::Path(function) => {
                let names = function.path.segments.iter().rev().take(2).map(|segment| segment.ident.to_string());
                names.eq(["new", "Id"])
            }
            _ => false,
        };
        if !is_id {
            visit::visit_expr_call(self, call);
        }
    }

    /// Users do not read why something cannot happen.
    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        self.visit_expr(&call.receiver);
        if call.method != "expect" {
            call.args.iter().for_each(|argument| self.visit_expr(argument));
        }
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        let internal = ["assert", "assert_eq", "assert_ne", "debug_assert", "debug_assert_eq", "unreachable", "panic"];
        if !internal.iter().any(|name| call.path.is_ident(name)) {
            self.read_tokens(call.tokens.clone());
        }
    }

    fn visit_attribute(&mut self, _: &'a syn::Attribute) {}

    fn visit_lit_str(&mut self, literal: &'a syn::LitStr) {
        let text = literal.value();
        if is_text(&text) {
            self.texts.push(text);
        }
    }
}

/// Returns the product's source files with what they declare, by path. Files of tests alone are left out.
fn sources() -> BTreeMap<String, Source> {
    let mut all = BTreeMap::new();
    for path in SOURCES.iter().flat_map(|source| files_below(&root().join(source))) {
        let name = shown(&path);
        let is_test = name.contains("/tests/") || name.ends_with("tests.rs") || !name.ends_with(".rs");
        if !is_test {
            all.insert(name, Source::of(&read(&path)));
        }
    }
    all
}

#[test]
fn documentation_begins_with_a_noun_or_a_verb() {
    let mut found = Vec::new();
    for (path, source) in sources() {
        let banned = |line: &&String| BANNED_BEGINNINGS.iter().any(|beginning| line.starts_with(beginning));
        found.extend(source.headlines.iter().filter(banned).map(|line| format!("{path}: {line}")));
    }
    assert!(found.is_empty(), "{} paraphrases:\n{}", found.len(), found.join("\n"));
}

#[test]
fn type_names_are_declared_once_in_the_workspace() {
    let mut declared: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, source) in sources() {
        for name in source.types {
            declared.entry(name).or_default().push(path.clone());
        }
    }
    let twice: Vec<String> = declared
        .into_iter()
        .filter(|(name, paths)| paths.len() > 1 && !SHARED_NAMES.contains(&name.as_str()))
        .map(|(name, paths)| format!("{name}: {}", paths.join(", ")))
        .collect();
    assert!(twice.is_empty(), "{} type names have several meanings:\n{}", twice.len(), twice.join("\n"));
}

/// Appends a title with its unit, if it has one.
fn push_title(texts: &mut String, title: &str, unit: &str) {
    *texts += &format!("- {title}");
    if !unit.is_empty() {
        *texts += &format!(" [{unit}]");
    }
}

/// Returns the titles that the program derives from its declarations: of all parameters, with units and choices, of all overlays, and of
/// all processes, with their stages and limiters.
fn declared_texts() -> String {
    let session = Session::placeholder("", 1, Origin::default());
    let (brush, selection, settings) = (Brush::default(), Selection::default(), Settings::default());
    let processes = catalogue();
    let mut groups = session.groups();
    let tools: [Group<'_>; 3] = [("brush", &brush), ("selection", &selection), ("settings", &settings)];
    groups.extend(tools);
    // Mask factors have the titles of their parameters.
    groups.retain(|(group, _)| processes.iter().all(|process| masked_key(process.info().key) != *group));
    let mut texts = String::new();
    for (group, fields) in groups {
        texts += &format!("## parameters of {group}\n");
        for parameter in collect_parameters((group, fields)) {
            push_title(&mut texts, &parameter.title(), parameter.knob.unit);
            if !parameter.choices.is_empty() {
                let choices: Vec<String> = parameter.choices.iter().map(|choice| choice_title(choice)).collect();
                texts += &format!(": {}", choices.join(", "));
            }
            texts.push('\n');
        }
        texts.push('\n');
    }
    texts += "## overlays\n";
    for quantity in Quantity::all() {
        push_title(&mut texts, quantity.title(), quantity.unit());
        texts.push('\n');
    }
    for process in &processes {
        let info = process.info();
        texts += &format!("\n## stages and limiters of {}\n", info.title);
        for stage in info.stages {
            texts += &format!("- {}: {}\n", params::title(stage.name), stage.about);
        }
        for limiter in info.limiters {
            texts += &format!("- {}: {}\n", limiter.title(), limiter.about);
        }
    }
    texts
}

/// All texts that users read stand in `tests/language/texts.txt`, by file, so that they can be reviewed as a whole.
/// `UPDATE_TEXTS=1 cargo test --release --test language` writes it again.
#[test]
fn interface_texts_match_the_recorded_file() {
    let mut texts = String::new();
    for (path, source) in sources().into_iter().filter(|(_, source)| !source.texts.is_empty()) {
        texts += &format!("## {path}\n");
        for text in source.texts {
            texts += &format!("- {}\n", text.replace('\n', " ⏎ "));
        }
        texts.push('\n');
    }
    texts += &declared_texts();
    let path = root().join("tests/language/texts.txt");
    if std::env::var_os("UPDATE_TEXTS").is_some() {
        fs::write(&path, texts).expect("the repository is writable");
        return;
    }
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    let differs = texts.lines().zip(recorded.lines()).find(|(now, before)| now != before);
    assert!(
        texts == recorded,
        "interface texts have changed: review them and run UPDATE_TEXTS=1 cargo test --release --test language. First: {differs:?}"
    );
}

/// Returns the first author and the year of each citation in a text: "Author 1990", "Author & Author 1990", "Author et al. 1990".
fn citations(text: &str) -> Vec<(String, String)> {
    let is_name = |word: &str| {
        let word = word.trim_start_matches('(');
        word.chars().next().is_some_and(char::is_uppercase)
            && word.chars().filter(|letter| letter.is_lowercase()).count() > 1
    };
    let words: Vec<&str> = text.split(|letter: char| letter.is_whitespace() || ")[]\"`/*".contains(letter)).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate().skip(1) {
        let year = word.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        if year.len() != 4 || !year.parse().is_ok_and(|year: u32| (1850..2030).contains(&year)) {
            continue;
        }
        let mut at = index - 1;
        if words[at] == "al." && at >= 2 {
            at -= 2;
        } else if is_name(words[at]) {
            while at >= 2 && ["&", "and"].contains(&words[at - 1]) && is_name(words[at - 2]) {
                at -= 2;
                while at >= 1 && words[at - 1].ends_with(',') && is_name(words[at - 1]) {
                    at -= 1;
                }
            }
        }
        // Not years: "the law of 2020", "after 2000 ticks".
        if ["Law", "After"].contains(&words[at]) {
            continue;
        }
        let author = words[at].trim_matches(|letter: char| !letter.is_alphanumeric());
        if is_name(words[at]) && author.chars().all(|letter| letter.is_alphabetic() || letter == '-') {
            found.push((author.to_owned(), year.to_owned()));
        }
    }
    found
}

/// Returns a name in lower-case ASCII, as in the keys of the bibliography.
fn folded(name: &str) -> String {
    let letters =
        [('á', 'a'), ('ä', 'a'), ('é', 'e'), ('ó', 'o'), ('ö', 'o'), ('ü', 'u'), ('š', 's'), ('ž', 'z'), ('ø', 'o')];
    let fold = |letter| letters.iter().find(|(from, _)| *from == letter).map_or(letter, |(_, to)| *to);
    name.to_lowercase().chars().map(fold).collect()
}

#[test]
fn every_cited_publication_is_in_the_bibliography() {
    let bibliography = read(&root().join("docs/references.bib"));
    let keys: Vec<&str> =
        bibliography.lines().filter_map(|line| line.strip_prefix('@')?.split_once('{')?.1.strip_suffix(',')).collect();
    let mut unique = keys.clone();
    unique.sort_unstable();
    unique.dedup();
    assert!(keys.len() > 50 && unique.len() == keys.len(), "keys are missing or not unique");
    let mut missing = Vec::new();
    for path in ["src", "crates", "assets", "docs/processes.md"].iter().flat_map(|text| files_below(&root().join(text)))
    {
        for (author, year) in citations(&read(&path)) {
            let cited = |key: &&&str| key.starts_with(&folded(&author)) && key.contains(&year);
            if keys.iter().find(cited).is_none() {
                missing.push(format!("{}: {author} {year}", shown(&path)));
            }
        }
    }
    assert!(missing.is_empty(), "{} citations without an entry:\n{}", missing.len(), missing.join("\n"));
}
