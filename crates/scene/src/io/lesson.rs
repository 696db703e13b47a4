//! Lessons: Markdown files with RON front matter, which teachers can copy and edit.
//!
//! ````text
//! ---
//! (title: "…", about: "…", level: "…", minutes: 20, source: "…", scene: "round-hill")
//! ---
//! Introduction.
//! ## A step
//! Text of the step.
//! ```ask
//! Run(ticks: 200)
//! ```
//! > Hint: shown on request.
//!
//! Shown when the task is done.
//! ## For the teacher
//! ````

mod images;
pub mod report;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::{Component, Path, PathBuf},
    sync::LazyLock,
};

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};
use serde::{Deserialize, Serialize};

pub use self::images::{LessonImageLink, image_links, read_image};
use super::{Budget, Error, embedded::FOLDER, input, output};
use crate::{
    io::scene::open_first,
    model::{
        chart::format_number,
        lesson::{Answer, Attempt, FrontMatter, Lesson, LessonStep, Task},
        origin::Options,
        session::Session,
    },
};
use thalweg_sim::params::join_with_suggestion;

macro_rules! built_in {
    ($($name:literal)*) => {
        /// Lessons compiled into the program, in course order: name and Markdown text.
        pub const BUILT_IN: [(&str, &str); [$($name),*].len()] =
            [$(($name, include_str!(concat!("../../../../assets/lessons/", $name, ".md")))),*];
    };
}

built_in! {
    "droplets-carve" "what-each-parameter-does" "two-ways-to-model-water" "pipes-stage-by-stage" "talus-and-slumping"
    "combined-erosion" "why-the-published-form-loses-mass" "time-step-and-stability" "dunes-from-nothing" "barchans"
    "a-range-comes-into-balance" "the-wadi"
}

/// File extension of lessons.
pub const ENDING: &str = "md";
/// Heading of the teacher's page.
const TEACHER: &str = "For the teacher";
/// Prefix of a hint.
const HINT: &str = "Hint:";
/// Delimiter line of the front matter.
const RULE: &str = "---";

/// Names of the tasks.
const TASKS: [&str; 6] = ["Choose", "Estimate", "Draw", "Run", "Measure", "Reveal"];

const RIGHT: &str = "use a built-in lesson as a template";

/// `true` if this is the path of a lesson.
pub fn is_lesson(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case(ENDING))
}

/// Returns the path of a built-in lesson.
pub fn path_of(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name).with_extension(ENDING)
}

/// Returns the path of a lesson, given its file or the name of a built-in one.
fn path(named: &Path) -> PathBuf {
    if is_lesson(named) { named.to_owned() } else { path_of(&named.to_string_lossy()) }
}

/// Reads a lesson, given its file or the name of a built-in one.
///
/// # Errors
/// There is no such lesson, or it is invalid.
pub fn read(named: impl AsRef<Path>) -> Result<Lesson, Error> {
    let named = named.as_ref();
    parse(&path(named), &text(named)?)
}

/// Returns the Markdown text of a lesson.
///
/// # Errors
/// There is no such lesson or file.
pub fn text(named: &Path) -> Result<String, Error> {
    let is_built_in = BUILT_IN.iter().any(|(name, _)| Path::new(name) == named);
    if !is_lesson(named) && !is_built_in && named.exists() {
        return Err(Error::input(named, "not a lesson", "lessons are Markdown files (.md): see docs/lessons.md"));
    }
    let path = path(named);
    match path.strip_prefix(FOLDER) {
        Ok(file) => {
            let known = BUILT_IN.iter().find(|(known, _)| Path::new(known) == file.with_extension(""));
            Ok(known.ok_or_else(|| unknown(named))?.1.to_owned())
        }
        Err(_) => input::text(&path),
    }
}

/// Writes a copy of a lesson, with its images.
///
/// # Errors
/// There is no such lesson, or the copy cannot be written.
pub fn copy(named: &Path, to: &Path) -> Result<(), Error> {
    let text = text(named)?;
    // A copy is not replaced unless its images are there.
    copy_images(&path(named), &text, to)?;
    output::replace(to, |file| output::write(file, &text))
}

/// Writes a copy of a lesson to a new file, with its images. Returns `false` if the file exists.
///
/// # Errors
/// There is no such lesson, or the copy cannot be written.
pub fn copy_new(named: &Path, to: &Path) -> Result<bool, Error> {
    let text = text(named)?;
    let is_new = output::write_new(to, &text)?;
    if is_new {
        copy_images(&path(named), &text, to)?;
    }
    Ok(is_new)
}

/// Maximum length of an image that is copied, in bytes.
const MAX_IMAGE_BYTES: u64 = 1 << 28;

/// Copies the images that lie in or below the folder of a lesson beside its copy. Existing files stay.
fn copy_images(lesson: &Path, text: &str, to: &Path) -> Result<(), Error> {
    let is_below =
        |file: &str| Path::new(file).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    for LessonImageLink { file, .. } in image_links(text).into_iter().filter(|link| is_below(&link.file)) {
        let (from, to) = (lesson.with_file_name(&file), to.with_file_name(&file));
        if from.is_file() && !to.exists() {
            let image = input::bytes(&from, MAX_IMAGE_BYTES, "use a smaller image")?;
            output::replace(&to, |file| output::write(file, image))?;
        }
    }
    Ok(())
}

/// Returns the line and the path of each image of a lesson that cannot be read. Paths are relative to the lesson file.
///
/// # Errors
/// There is no such lesson.
pub fn missing_images(named: &Path) -> Result<Vec<(usize, String)>, Error> {
    let (path, text) = (path(named), text(named)?);
    let missing = image_links(&text).into_iter().filter(|link| read_image(&path, &link.file).is_err());
    Ok(missing.map(|link| (line_of(&text, link.range.start), link.file)).collect())
}

/// Returns the number of the line at a byte of a text, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Formats the teacher's page as Markdown: correct answers, accepted ranges of measurements and the teacher's section of the file.
pub fn teachers_page(lesson: &Lesson) -> String {
    let head = &lesson.head;
    let mut page = format!("# {}\n\n{} · {} minutes · {}\n\n", head.title, head.level, head.minutes, head.source);
    for step in &lesson.steps {
        let expected = match &step.task {
            Some(Task::Choose { options, right, .. }) => options[*right].clone(),
            Some(Task::Measure { expect: (low, high), unit, .. }) => {
                format!("{} to {} {unit}", format_number(*low), format_number(*high))
            }
            _ => continue,
        };
        page += &format!("- {}: {}\n", step.title, expected.trim_end());
    }
    page + "\n" + &lesson.teacher + "\n"
}

/// Returns the built-in lessons with their names.
pub fn built_in() -> &'static [(&'static str, Lesson)] {
    static LESSONS: LazyLock<Vec<(&str, Lesson)>> =
        LazyLock::new(|| BUILT_IN.iter().filter_map(|(name, _)| Some((*name, read(name).ok()?))).collect());
    &LESSONS
}

/// Reads a lesson as [`read`] does and opens its scene in the lesson's initial state.
///
/// # Errors
/// There is no such lesson or scene, or the lesson is invalid.
pub fn open(named: impl AsRef<Path>) -> Result<(Lesson, Session), Error> {
    let named = named.as_ref();
    let (lesson, path) = (read(named)?, path(named));
    let scene = Path::new(&lesson.head.scene);
    // Scene files are relative to the lesson.
    let beside = scene.extension().is_some() && !path.starts_with(FOLDER);
    let scene = if beside { path.with_file_name(scene) } else { scene.to_owned() };
    let mut session = open_first(&scene, &Options::default())?;
    lesson.set_up(&mut session).map_err(|wrong| Error::input(&path, wrong, RIGHT))?;
    Budget::present().request(&path, session.additional_bytes())?;
    lesson.begin(&mut session);
    Ok((lesson, session))
}

fn unknown(name: &Path) -> Error {
    let names = BUILT_IN.map(|(name, _)| name);
    let right = format!("the lessons are {}", join_with_suggestion(&names, &name.to_string_lossy()));
    Error::input(name, "no such lesson or file", right)
}

/// Parses a lesson.
///
/// # Errors
/// The text is not a valid lesson.
pub fn parse(path: &Path, text: &str) -> Result<Lesson, Error> {
    let bad = |wrong: String| Error::input(path, wrong, RIGHT);
    let text = text.replace("\r\n", "\n");
    let parts =
        text.trim_start_matches('\u{feff}').trim_start().strip_prefix(RULE).and_then(|rest| rest.split_once("\n---\n"));
    let (head, body) = parts.ok_or_else(|| bad("the front matter between two \"---\" lines is missing".to_owned()))?;
    // Lines in front of the head, which begins within a line, and of the body.
    let body_start = text.len() - body.len();
    let [before_head, before] = [body_start - RULE.len() - 2 - head.len(), body_start].map(|at| line_of(&text, at) - 1);
    let head: FrontMatter =
        input::parse(head, before_head).map_err(|wrong| bad(format!("invalid front matter ({wrong})")))?;
    check_blocks(body, before).map_err(bad)?;
    let (mut steps, mut teacher) = (vec![LessonStep { title: head.title.clone(), ..LessonStep::default() }], None);
    let fold = |step: &mut LessonStep, block: StepBlock<'_>| -> Result<(), Error> {
        let paragraph = |text: &mut String, more: &str| {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&bind_digit_groups(more.trim()));
        };
        match block {
            StepBlock::Ask(ask, line) if step.task.is_none() => {
                let task = input::parse(&ask, before + line);
                step.task =
                    Some(task.map_err(|wrong| bad(format!("invalid task in step \"{}\" ({wrong})", step.title)))?);
            }
            StepBlock::Ask(..) => return Err(bad(format!("step \"{}\" has two tasks", step.title))),
            StepBlock::Hint(hint) => step.hints.push(bind_digit_groups(&hint)),
            StepBlock::Text(text) if step.task.is_none() => paragraph(&mut step.text, text),
            StepBlock::Text(text) => paragraph(&mut step.after, text),
        }
        Ok(())
    };
    for (heading, block) in blocks(body) {
        if let Some(title) = heading {
            if title == TEACHER {
                teacher = Some(LessonStep::default());
            } else if teacher.is_some() {
                let wrong = format!("step \"{title}\" is never shown, because it follows \"{TEACHER}\"");
                return Err(Error::input(path, wrong, "move it before that heading"));
            } else {
                steps.push(LessonStep { title, ..LessonStep::default() });
            }
            continue;
        }
        let step = teacher.as_mut().or(steps.last_mut());
        if let (Some(step), Some(block)) = (step, block) {
            fold(step, block)?;
        }
    }
    let lesson =
        Lesson { path: path.to_owned(), head, steps, teacher: teacher.map_or(String::new(), |step| step.text) };
    lesson.check().map_err(bad)?;
    Ok(lesson)
}

/// Replaces spaces within numbers, such as 37 000, by no-break spaces.
fn bind_digit_groups(text: &str) -> String {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let is_within = |at: usize| at > 0 && bytes[at - 1].is_ascii_digit() && digits(at + 1) == 3;
    let tied = |(at, sign): (usize, char)| if sign == ' ' && is_within(at) { '\u{a0}' } else { sign };
    text.char_indices().map(tied).collect()
}

/// Checks for tasks and for a teacher's page that would be taken for text. `before` is the number of lines in front of the body.
fn check_blocks(body: &str, before: usize) -> Result<(), String> {
    let (mut depth, mut code, mut heading) = (0, None, None);
    for (event, range) in Parser::new(body).into_offset_iter() {
        let line = before + line_of(body, range.start);
        match event {
            Event::Start(tag) => {
                depth += 1;
                match tag {
                    Tag::CodeBlock(kind) => {
                        let language = if let CodeBlockKind::Fenced(language) = kind {
                            language.to_string()
                        } else {
                            String::new()
                        };
                        code = Some((line, depth, language, String::new()));
                    }
                    Tag::Heading { level, .. } => heading = Some((line, level, String::new())),
                    _ => {}
                }
            }
            Event::Text(text) => {
                code.iter_mut().for_each(|(.., held)| held.push_str(&text));
                heading.iter_mut().for_each(|(.., held)| held.push_str(&text));
            }
            Event::End(end) => {
                depth -= 1;
                match end {
                    TagEnd::CodeBlock => code.take().map_or(Ok(()), check_code)?,
                    TagEnd::Heading(_) => heading.take().map_or(Ok(()), check_heading)?,
                    _ => {}
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks a code block: its line, depth, language and text. A task outside a block of the language `ask` would not be asked.
fn check_code((line, depth, language, text): (usize, usize, String, String)) -> Result<(), String> {
    let name = text.trim_start().split('(').next().unwrap_or_default();
    // In a block with an unknown language, a misspelt task is one too.
    let is_call = !name.is_empty() && name.chars().all(char::is_alphabetic) && text.trim_end().ends_with(')');
    let is_task = TASKS.contains(&name) || is_call && !["", "ask", "text"].contains(&&*language);
    match &*language {
        "ask" if depth == 1 => Ok(()),
        "ask" => Err(format!(
            "line {line}: a task inside a list or block quote is ignored; start its code block at the left margin"
        )),
        _ if is_task => Err(format!(
            "line {line}: a code block of the language \"{language}\" contains a task, but tasks require the language \"ask\""
        )),
        _ => Ok(()),
    }
}

/// Checks a heading: its line, level and text. A misspelt heading would show the teacher's page to students.
fn check_heading((line, level, text): (usize, HeadingLevel, String)) -> Result<(), String> {
    let plain = text.to_lowercase();
    let is_teachers = plain.trim_end_matches([':', '.', 's']) == TEACHER.to_lowercase();
    if is_teachers && (level != HeadingLevel::H2 || text != TEACHER) {
        return Err(format!("line {line}: the heading of the teacher's page must be \"## {TEACHER}\""));
    }
    Ok(())
}

/// Part of a step.
enum StepBlock<'a> {
    Text(&'a str),
    /// Task in RON, and the line of the body at which its block begins.
    Ask(String, usize),
    Hint(String),
}

/// Splits Markdown into level-2 headings and the blocks below them.
fn blocks(body: &str) -> Vec<(Option<String>, Option<StepBlock<'_>>)> {
    let (mut blocks, mut depth) = (Vec::new(), 0);
    for (event, range) in Parser::new(body).into_offset_iter() {
        let line = line_of(body, range.start);
        let source = &body[range];
        match event {
            Event::Start(tag) => {
                depth += 1;
                if depth > 1 {
                    continue;
                }
                blocks.push(match tag {
                    Tag::Heading { level: HeadingLevel::H2, .. } => {
                        (Some(source.trim().trim_matches('#').trim().to_owned()), None)
                    }
                    Tag::CodeBlock(CodeBlockKind::Fenced(info)) if &*info == "ask" => {
                        (None, Some(StepBlock::Ask(String::new(), line)))
                    }
                    Tag::BlockQuote(_) => {
                        let lines = source.lines().map(|line| line.trim_start().trim_start_matches('>').trim_start());
                        let quoted = lines.collect::<Vec<_>>().join("\n");
                        match quoted.strip_prefix(HINT) {
                            Some(hint) => (None, Some(StepBlock::Hint(hint.trim().to_owned()))),
                            None => (None, Some(StepBlock::Text(source))),
                        }
                    }
                    _ => (None, Some(StepBlock::Text(source))),
                });
            }
            Event::End(_) => depth -= 1,
            // Lines of a code block.
            Event::Text(line) if depth == 1 => {
                if let Some((None, Some(StepBlock::Ask(ask, _)))) = blocks.last_mut() {
                    ask.push_str(&line);
                }
            }
            _ => {}
        }
    }
    blocks
}

/// A student's progress in all lessons.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LessonProgress {
    /// Name of the student, for the report.
    #[serde(default)]
    pub name: String,
    /// Last answers by lesson file and task key.
    #[serde(default)]
    pub answers: BTreeMap<String, BTreeMap<String, Answer>>,
    /// Earlier answers by lesson file and task key, oldest first.
    #[serde(default)]
    earlier: BTreeMap<String, BTreeMap<String, Vec<Answer>>>,
    /// Files of completed lessons.
    #[serde(default)]
    pub complete: Vec<String>,
}

/// Answers to a lesson that were removed from its [`LessonProgress`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RemovedAnswers {
    last: BTreeMap<String, Answer>,
    earlier: BTreeMap<String, Vec<Answer>>,
}

impl LessonProgress {
    /// Reads the file, or returns empty progress if there is none.
    ///
    /// # Errors
    /// The file is unreadable or damaged.
    pub fn load(path: &Path) -> Result<Self, Error> {
        Self::load_if_exists(path).map(Option::unwrap_or_default)
    }

    fn load_if_exists(path: &Path) -> Result<Option<Self>, Error> {
        let Some(text) = input::read_text_if_exists(path)? else { return Ok(None) };
        input::ron(path, &text, "answers to lessons", "move or delete the file to record answers again").map(Some)
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        output::replace_by_ron(path, self)
    }

    /// Writes the answers that were given or deleted since `before` to the file, and keeps those that another window has written to
    /// it.
    ///
    /// # Errors
    /// The file cannot be written, or is damaged, in which case it is left alone.
    pub fn save_changes(&self, before: &Self, path: &Path) -> Result<(), Error> {
        let now = Self::load_if_exists(path)?;
        now.map_or_else(|| self.clone(), |now| self.merged(before, now)).save(path)
    }

    /// Applies the changes since `before` to the present contents of the file.
    fn merged(&self, before: &Self, mut now: Self) -> Self {
        if self.name != before.name {
            now.name.clone_from(&self.name);
        }
        // Answers of both windows to one task: the own one is the last.
        for (lesson, answers) in &self.answers {
            let of = |all: &BTreeMap<String, BTreeMap<String, Answer>>, key: &str| all.get(lesson)?.get(key).cloned();
            for (key, answer) in answers {
                let (old, other) = (of(&before.answers, key), of(&now.answers, key));
                if let Some(other) = other.filter(|other| Some(other) != old.as_ref())
                    && Some(answer) != old.as_ref()
                    && !answer.is_same_attempt(&other)
                {
                    now.earlier.entry(lesson.clone()).or_default().entry(key.clone()).or_default().push(other);
                }
            }
        }
        merge_answers(&self.answers, &before.answers, &mut now.answers, |own, _| own.clone());
        merge_answers(&self.earlier, &before.earlier, &mut now.earlier, |own, known| {
            // Lists only grow.
            let all = known.into_iter().flatten();
            all.chain(own.iter().filter(|answer| !known.is_some_and(|known| known.contains(answer)))).cloned().collect()
        });
        let added = self.complete.iter().filter(|name| !now.complete.contains(name)).cloned().collect::<Vec<_>>();
        now.complete.extend(added);
        now
    }

    /// Records the answers of an attempt.
    pub fn record_answers(&mut self, attempt: &Attempt) {
        let name = name(&attempt.lesson.path);
        if attempt.complete() && !self.complete.contains(&name) {
            self.complete.push(name.clone());
        }
        // Answers to tasks no longer in the file are kept.
        let (last, earlier) = (self.answers.entry(name.clone()).or_default(), self.earlier.entry(name).or_default());
        for (key, answer) in &attempt.answers {
            let before = last.insert(key.clone(), answer.clone());
            if let Some(before) = before.filter(|before| !answer.is_same_attempt(before)) {
                earlier.entry(key.clone()).or_default().push(before);
            }
        }
    }

    /// Removes and returns the answers to a lesson.
    pub fn forget(&mut self, lesson: &Path) -> RemovedAnswers {
        let name = name(lesson);
        let (last, earlier) = (self.answers.remove(&name), self.earlier.remove(&name));
        RemovedAnswers { last: last.unwrap_or_default(), earlier: earlier.unwrap_or_default() }
    }

    /// Restores removed answers to a lesson. Those that were replaced by newer ones become earlier answers.
    pub fn restore(&mut self, lesson: &Path, mut removed: RemovedAnswers) {
        let name = name(lesson);
        let (last, earlier) = (self.answers.entry(name.clone()).or_default(), self.earlier.entry(name).or_default());
        for (key, answer) in removed.last {
            match last.entry(key) {
                Entry::Vacant(place) => drop(place.insert(answer)),
                Entry::Occupied(newer) => removed.earlier.entry(newer.key().clone()).or_default().push(answer),
            }
        }
        for (key, mut answers) in removed.earlier {
            let newer = earlier.entry(key).or_default();
            answers.append(newer);
            *newer = answers;
        }
    }

    /// `true` if the lesson was completed.
    pub fn is_complete(&self, lesson: &Path) -> bool {
        self.complete.contains(&name(lesson))
    }

    /// Starts an attempt at a lesson with the recorded answers.
    pub fn attempt(&self, lesson: Lesson) -> Attempt {
        let mut answers = self.answers.get(&name(&lesson.path)).cloned().unwrap_or_default();
        // The file may have changed in the meantime.
        answers.retain(|key, answer| lesson.task(key).is_some_and(|task| task.accepts(answer)));
        Attempt::new(lesson, answers)
    }

    /// Returns the answers to a lesson that were replaced by later ones: by task key, oldest first.
    pub fn earlier_answers(&self, lesson: &Lesson) -> BTreeMap<String, Vec<Answer>> {
        let mut earlier = self.earlier.get(&name(&lesson.path)).cloned().unwrap_or_default();
        for (key, answers) in &mut earlier {
            answers.retain(|answer| lesson.task(key).is_some_and(|task| task.accepts(answer)));
        }
        earlier
    }
}

/// Applies the entries that were added, changed or removed since `before` to those in the file, by lesson file and task key. `combine`
/// returns a changed entry from the own one and that in the file.
fn merge_answers<T: Clone + PartialEq>(
    own: &BTreeMap<String, BTreeMap<String, T>>,
    before: &BTreeMap<String, BTreeMap<String, T>>,
    now: &mut BTreeMap<String, BTreeMap<String, T>>,
    combine: impl Fn(&T, Option<&T>) -> T,
) {
    let has = |all: &BTreeMap<String, BTreeMap<String, T>>, lesson: &str, key: &str| {
        all.get(lesson).is_some_and(|answers| answers.contains_key(key))
    };
    for (lesson, answers) in &mut *now {
        answers.retain(|key, _| has(own, lesson, key) || !has(before, lesson, key));
    }
    for (lesson, answers) in own {
        let old = before.get(lesson);
        let changed = answers.iter().filter(|(key, answer)| old.and_then(|old| old.get(*key)) != Some(*answer));
        let now = now.entry(lesson.clone()).or_default();
        for (key, answer) in changed {
            let combined = combine(answer, now.get(key));
            now.insert(key.clone(), combined);
        }
    }
    now.retain(|_, answers| !answers.is_empty());
}

/// Returns the key of a lesson, independent of the working directory.
fn name(lesson: &Path) -> String {
    let path = if lesson.starts_with(FOLDER) {
        lesson.to_owned()
    } else {
        std::path::absolute(lesson).unwrap_or(lesson.to_owned())
    };
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const TEXT: &str = "---\r\n(title: \"Heaps\", about: \"a\", level: \"l\", minutes: 5, source: \"s\", scene: \"round-hill\", \
        size: 64)\r\n---\r\n\r\nHello.\n\n* one\n* two\n\n## Predict\n\nHow *steep*?\n\n```ask\nChoose(key: \"a\",\n  options: [\"x\", \"y\"], \
        right: 0)\n```\n\n> Hint: look\n> closely\n\n> A quote.\n\n## Run\n\n```ask\nRun(ticks: 2)\n```\n\nIt ran.\n\n```text\nE = m·c²\n```\n\n\
        ## For the teacher\n\nAnswers.\n";

    #[test]
    fn digit_groups_are_joined_by_no_break_spaces() {
        assert_eq!(
            bind_digit_groups("1 of 630 000 m³ in 12 300 000 or 4 1000 and – 250"),
            "1 of 630\u{a0}000 m³ in 12\u{a0}300\u{a0}000 or 4 1000 and – 250"
        );
    }

    fn parsed(text: &str) -> Result<Lesson, String> {
        parse(Path::new("heaps.md"), text).map_err(|error| error.to_string())
    }

    #[test]
    fn lesson_file_parses_into_steps_tasks_and_hints() {
        let lesson = parsed(TEXT).unwrap_or_else(|error| panic!("{error}"));
        let titles: Vec<&str> = lesson.steps.iter().map(|step| &*step.title).collect();
        assert_eq!(titles, ["Heaps", "Predict", "Run"]);
        assert_eq!((&*lesson.steps[0].text, &*lesson.teacher), ("Hello.\n\n* one\n* two", "Answers."));
        let predict = &lesson.steps[1];
        assert_eq!((&*predict.text, &predict.hints[..]), ("How *steep*?", &["look\nclosely".to_owned()][..]));
        assert!(matches!(&predict.task, Some(Task::Choose { options, .. }) if options.len() == 2));
        assert_eq!(predict.after, "> A quote.");
        assert_eq!(lesson.steps[2].after, "It ran.\n\n```text\nE = m·c²\n```");
    }

    #[test]
    fn invalid_lesson_file_is_rejected_in_one_sentence() {
        for (change, by, expected) in [
            ("\r\n---\r\n\r\nHello", "Hello", "the front matter between two \"---\" lines is missing"),
            ("minutes: 5", "minutes: \"5\"", "invalid front matter"),
            ("level:", "levels:", "invalid front matter"),
            ("Run(ticks: 2)", "Fly(ticks: 2)", "invalid task in step \"Run\""),
            ("```text\nE", "```ask\nE", "step \"Run\" has two tasks"),
            ("minutes: 5", "minute: 5", "line 2: unknown field `minute`"),
            ("Run(ticks: 2)", "Run(tick: 2)", "line 27: unknown field `tick`"),
            ("```ask\nRun(", "```aks\nRun(", "line 26: a code block of the language \"aks\" contains a task"),
            ("```ask\nRun(", "```\nRun(", "line 26: a code block of the language \"\" contains a task"),
            ("```ask\nRun(ticks: 2)\n```", "* a\n\n  ```ask\n  Run(ticks: 2)\n  ```", "a task inside a list"),
            ("For the teacher", "For the Teachers", "the heading of the teacher's page must be"),
            ("Answers.\n", "Answers.\n\n## Last\n\nText.\n", "step \"Last\" is never shown"),
            ("right: 0", "right: 7", "step \"Predict\": the correct answer has index 7"),
        ] {
            let error = parsed(&TEXT.replace(change, by)).expect_err(expected);
            assert!(error.starts_with("heaps.md: ") && error.contains(expected), "{error}");
        }
        // An incompletely written file.
        for end in ["## Last\n\n```ask", "## Last\n\n```ask\nRun(ticks: 3)"] {
            let cut = format!("{TEXT}{end}").replace("## For the teacher\n\nAnswers.\n", "");
            assert_eq!(parsed(&cut).is_ok(), end.ends_with(')'), "{cut}");
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let scene = folder.path().join("fair.ron");
        fs::write(&scene, "()").expect("it is writable");
        let error = read(&scene).expect_err("it is a scene").to_string();
        assert!(error.contains("fair.ron: not a lesson; lessons are Markdown files"), "{error}");
        let path = folder.path().join("images.md");
        fs::write(&path, TEXT.replace("Hello.", "![a](fair.ron) ![b](none.png)")).expect("it is writable");
        // A file that is not an image cannot be read as an image either.
        let missing = ["fair.ron", "none.png"].map(|file| (5, file.to_owned()));
        assert_eq!(missing_images(&path), Ok(missing.into()));
        let missing = open("droplets-carv").err().expect("there is none").to_string();
        assert!(missing.contains("no such lesson") && missing.contains("closest match: droplets-carve"), "{missing}");
        assert!(open("no/such.md").is_err_and(|error| error.to_string().contains("file not found")));
    }

    #[test]
    fn lesson_copy_is_verbatim_and_teachers_page_has_answers() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let to = folder.path().join("mine.md");
        for (name, text) in BUILT_IN {
            copy(Path::new(name), &to).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(fs::read_to_string(&to).expect("it was written"), text);
        }
        assert!(copy(Path::new("no-such"), &to).is_err());
        // A new copy does not replace a file.
        fs::write(&to, "mine").expect("it is writable");
        assert_eq!(copy_new(Path::new("the-wadi"), &to), Ok(false));
        assert_eq!(fs::read_to_string(&to).expect("it is there"), "mine");
        assert_eq!(copy_new(Path::new("the-wadi"), &folder.path().join("new.md")), Ok(true));
        // Images in or below its folder go with it.
        let (from, there) = (folder.path().join("from/own"), folder.path().join("there/own"));
        fs::create_dir_all(from.join("images")).expect("it is writable");
        for image in ["from/own/images/fan.png", "from/own/dune.png", "from/far.png"] {
            fs::write(folder.path().join(image), "image").expect("it is writable");
        }
        let text = "![Fan](images/fan.png) ![Dune](./dune.png) ![Far](../far.png)";
        fs::write(from.join("own.md"), text).expect("it is writable");
        assert_eq!(copy_new(&from.join("own.md"), &there.join("own.md")), Ok(true));
        assert!(there.join("images/fan.png").is_file() && there.join("dune.png").is_file());
        assert!(!folder.path().join("there/far.png").exists());
        let page = teachers_page(&read("talus-and-slumping").unwrap_or_else(|error| panic!("{error}")));
        assert!(page.contains(": About 33°\n") && page.contains(" m\n") && page.contains("misconceptions"), "{page}");
    }

    #[test]
    fn lesson_copy_opens_own_scene_and_keeps_valid_answers() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let scene = crate::io::scene::BUILT_IN.iter().find(|(name, _)| *name == "round-hill").expect("built in").1;
        fs::write(folder.path().join("own.ron"), scene).expect("it is writable");
        let path = folder.path().join("heaps.md");
        fs::write(&path, TEXT.replace("\"round-hill\"", "\"own.ron\"")).expect("it is writable");
        let (lesson, session) = open(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((session.simulation.terrain.width(), &*session.title), (64, "Heaps"));
        let mut attempt = Attempt::new(lesson.clone(), BTreeMap::new());
        attempt.answers.insert("a".to_owned(), Answer::Chosen(1));
        let mut progress = LessonProgress::default();
        progress.record_answers(&attempt);
        // A copy in another file has its own answers.
        let copy = Lesson { path: folder.path().join("copy.md"), ..lesson.clone() };
        assert!(progress.attempt(copy).answers.is_empty());
        let file = folder.path().join("kept/lessons.ron");
        progress.save(&file).unwrap_or_else(|error| panic!("{error}"));
        let again = LessonProgress::load(&file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.attempt(lesson.clone()).answers, attempt.answers);
        let mut changed = lesson.clone();
        changed.steps[1].task = input::parse("Choose(key: \"a\", options: [\"x\"], right: 0)", 0).ok();
        assert!(again.attempt(changed.clone()).answers.is_empty(), "there is no such option any more");
        progress.record_answers(&again.attempt(changed));
        assert_eq!(progress.forget(&path).last, attempt.answers, "what does not fit now may fit another time");
        assert!(progress.attempt(lesson).answers.is_empty());
    }

    #[test]
    fn replaced_answers_are_recorded_saved_and_restored() {
        let lesson = parsed(TEXT).unwrap_or_else(|error| panic!("{error}"));
        let mut progress = LessonProgress::default();
        let mut attempt = progress.attempt(lesson.clone());
        for answer in [1, 0, 0] {
            attempt.answers.insert("a".to_owned(), Answer::Chosen(answer));
            progress.record_answers(&attempt);
        }
        let earlier = |answers: &[usize]| {
            BTreeMap::from([("a".to_owned(), answers.iter().copied().map(Answer::Chosen).collect::<Vec<_>>())])
        };
        assert_eq!(progress.earlier_answers(&lesson), earlier(&[1]));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("lessons.ron");
        progress.save(&file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(LessonProgress::load(&file), Ok(progress.clone()));
        let removed = progress.forget(&lesson.path);
        assert!(progress.earlier_answers(&lesson).is_empty() && progress.attempt(lesson.clone()).answers.is_empty());
        attempt.answers.insert("a".to_owned(), Answer::Chosen(1));
        progress.record_answers(&attempt);
        progress.restore(&lesson.path, removed);
        assert_eq!(progress.earlier_answers(&lesson), earlier(&[1, 0]));
        assert_eq!(progress.attempt(lesson).answers, attempt.answers);
    }

    #[test]
    fn answers_of_two_windows_are_merged() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("lessons.ron");
        let text = TEXT.replace("\"y\"]", "\"y\", \"z\"]");
        let lesson = parsed(&text).unwrap_or_else(|error| panic!("{error}"));
        let other = Lesson { path: "other.md".into(), ..lesson.clone() };
        let answer = |progress: &mut LessonProgress, lesson: &Lesson, key: &str, chosen| {
            let mut attempt = progress.attempt(lesson.clone());
            attempt.answers.insert(key.to_owned(), Answer::Chosen(chosen));
            progress.record_answers(&attempt);
        };
        let mut before = LessonProgress { name: "Ada".to_owned(), ..LessonProgress::default() };
        answer(&mut before, &lesson, "a", 0);
        answer(&mut before, &other, "a", 0);
        before.save(&file).unwrap_or_else(|error| panic!("{error}"));
        let [mut first, mut second] = [before.clone(), before.clone()];
        // The first window answers again and deletes the answers to another lesson; the second answers another question.
        answer(&mut first, &lesson, "a", 1);
        first.forget(&other.path);
        first.complete.push("first".to_owned());
        first.save_changes(&before, &file).unwrap_or_else(|error| panic!("{error}"));
        answer(&mut second, &lesson, "b", 1);
        second.name = "Grace".to_owned();
        second.save_changes(&before, &file).unwrap_or_else(|error| panic!("{error}"));
        let both = LessonProgress::load(&file).unwrap_or_else(|error| panic!("{error}"));
        let answers = ["a", "b"].map(|key| (key.to_owned(), Answer::Chosen(1)));
        assert_eq!(both.answers, BTreeMap::from([(name(&lesson.path), BTreeMap::from(answers))]));
        let earlier = BTreeMap::from([("a".to_owned(), vec![Answer::Chosen(0)])]);
        assert_eq!(both.earlier_answers(&lesson), earlier);
        assert_eq!((&*both.name, &both.complete[..]), ("Grace", &["first".to_owned()][..]));
        // A third window answers the same question as the first: its answer is the last one.
        let mut third = before.clone();
        answer(&mut third, &lesson, "a", 2);
        let third_file = folder.path().join("third.ron");
        both.save(&third_file).unwrap_or_else(|error| panic!("{error}"));
        third.save_changes(&before, &third_file).unwrap_or_else(|error| panic!("{error}"));
        let all = LessonProgress::load(&third_file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(all.attempt(lesson.clone()).answers.get("a"), Some(&Answer::Chosen(2)));
        let earlier = BTreeMap::from([("a".to_owned(), [0, 1].map(Answer::Chosen).to_vec())]);
        assert_eq!(all.earlier_answers(&lesson), earlier);
        // Without changes, the file stays; a missing one is written again.
        first.save_changes(&first, &file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(LessonProgress::load(&file), Ok(both));
        fs::remove_file(&file).expect("it is there");
        first.save_changes(&first, &file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(LessonProgress::load(&file), Ok(first));
    }

    #[test]
    fn every_lesson_predicts_first_and_its_claims_hold() {
        for (name, _) in BUILT_IN {
            let (lesson, mut session) = open(name).unwrap_or_else(|error| panic!("{error}"));
            let asks = |task: &Task| matches!(task, Task::Choose { .. } | Task::Estimate { .. } | Task::Draw { .. });
            let first = |wanted: &dyn Fn(&Task) -> bool| {
                lesson.steps.iter().position(|step| step.task.as_ref().is_some_and(wanted))
            };
            let measures = |task: &Task| matches!(task, Task::Measure { .. });
            let runs = |task: &Task| matches!(task, Task::Run { ticks, .. } if *ticks > 0);
            let (asked, ran) = (first(&asks), first(&runs));
            assert!(asked.is_some() && asked < ran && first(&measures).is_some(), "{name}");
            assert!(!lesson.teacher.is_empty() && lesson.steps.len() >= 6, "{name}");
            let played = lesson.play(&mut session).unwrap_or_else(|error| panic!("{name}: {error}"));
            for played in played {
                let message = format!("{name}, {}: {} is {}", played.step, played.key, played.found);
                assert!(played.holds, "{message}, not within {:?}", played.expect);
            }
        }
    }
}
