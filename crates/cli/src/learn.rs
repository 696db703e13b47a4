//! `thalweg learn`: opens a lesson in the window, lists the lessons, or checks one without a window.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::{Failure, OpenWindow, print};
use thalweg_scene::{
    io::{
        Error,
        lesson::{self, BUILT_IN},
        project::Project,
    },
    model::{chart::format_number, playlist::Opening},
};

#[derive(Args)]
pub(super) struct LearnArgs {
    /// Lesson file (.md) or name of a built-in lesson; if omitted, the built-in lessons are listed
    lesson: Option<PathBuf>,
    /// Run the lesson without a window and compare its measurements with their expected bounds; exit with code 1 if any is out
    /// of bounds
    #[arg(long, requires = "lesson")]
    check: bool,
    /// Print the teacher's page: correct answers, expected bounds of the measurements, advice
    #[arg(long, requires = "lesson", conflicts_with = "check")]
    teacher: bool,
    /// Write a copy of the lesson file for editing
    #[arg(long, requires = "lesson", value_name = "FILE.md", conflicts_with_all = ["check", "teacher"])]
    copy: Option<PathBuf>,
    /// Let --copy replace an existing file
    #[arg(long, requires = "copy")]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl LearnArgs {
    pub(super) fn run(&self, window: OpenWindow) -> Result<(), Failure> {
        let Some(named) = &self.lesson else { return self.list() };
        if let Some(to) = &self.copy {
            if self.force {
                return Ok(lesson::copy(named, to)?);
            }
            return if lesson::copy_new(named, to)? { Ok(()) } else { Err(Failure::file_exists(to)) };
        }
        if self.teacher {
            return print(&lesson::teachers_page(&lesson::read(named)?));
        }
        let (lesson, mut session) = lesson::open(named)?;
        if self.check
            && let Some((line, image)) = lesson::missing_images(named)?.first()
        {
            let right = "use the path of an image file, relative to the lesson";
            return Err(Error::input(named, format!("line {line}: the image \"{image}\" cannot be read"), right).into());
        }
        let named = named.display();
        if !self.check {
            let opened = Project::of(vec![session]);
            return window(opened, None::<PathBuf>, Opening::Lesson(Box::new(lesson))).map_err(|reason| {
                Failure::bad_input(format!("{reason}; \"thalweg learn {named} --check\" works without a display"))
            });
        }
        let played = lesson.play(&mut session).map_err(|wrong| Failure::while_running(format!("{named}: {wrong}")))?;
        let (mut text, mut rows) = (format!("{}\n", lesson.head.title), Vec::new());
        for played in &played {
            let (low, high) = played.expect;
            let mark = if played.holds { "as expected" } else { "NOT AS EXPECTED" };
            let bounds = format!("{} to {}", format_number(low), format_number(high));
            text += &format!("  {:<34}{:>12}   {bounds:<24}{mark}\n", played.step, format_number(played.found));
            rows.push(json!({
                "step": played.step, "key": played.key, "found": played.found, "expect": [low, high], "holds": played.holds,
            }));
        }
        print(&if self.json { format!("{:#}\n", Value::Array(rows)) } else { text })?;
        match played.iter().filter(|played| !played.holds).count() {
            0 => Ok(()),
            missed => {
                let text = format!("{named}: {missed} of {} measurements are out of bounds", played.len());
                Err(Failure::while_running(text))
            }
        }
    }

    fn list(&self) -> Result<(), Failure> {
        let (mut text, mut rows) = (String::new(), Vec::new());
        for (name, _) in BUILT_IN {
            let head = lesson::read(name)?.head;
            text += &format!("{name:<34} {} min  {}: {}\n", head.minutes, head.title, head.about);
            rows.push(json!({
                "name": name, "title": head.title, "about": head.about, "minutes": head.minutes, "level": head.level,
                "scene": head.scene,
            }));
        }
        print(&if self.json { format!("{:#}\n", Value::Array(rows)) } else { text })
    }
}
