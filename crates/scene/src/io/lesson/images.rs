//! Images in the text of lessons.

use std::{ops::Range, path::Path};

use image::{ImageError, ImageReader, Limits};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::io::{Budget, Error, input};

/// Maximum width and height of an image on screen, in pixels. Larger ones are reduced.
const MAX_SIDE: u32 = 2048;
/// Maximum number of pixels of a file: that of 8K video. Decoders allocate the whole image before they read it.
const MAX_PIXELS: u64 = 7680 * 4320;
/// Bytes per pixel of a decoded image of four channels of 16 bits, and of its copy.
const PIXEL_BYTES: u64 = 16;

/// Image in a Markdown text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LessonImageLink {
    /// Byte range in the text.
    pub range: Range<usize>,
    /// Alternative text.
    pub alt: String,
    /// Path of the file, relative to the lesson.
    pub file: String,
}

/// Returns the images of a Markdown text, in order.
pub fn image_links(text: &str) -> Vec<LessonImageLink> {
    let mut links: Vec<LessonImageLink> = Vec::new();
    // Images in the alternative text of another are part of that text.
    let mut depth = 0;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::Image { dest_url, .. }) => {
                if depth == 0 {
                    links.push(LessonImageLink { range, alt: String::new(), file: dest_url.to_string() });
                }
                depth += 1;
            }
            Event::End(TagEnd::Image) => depth -= 1,
            Event::Text(words) | Event::Code(words) if depth > 0 => {
                links.last_mut().into_iter().for_each(|link| link.alt.push_str(&words));
            }
            Event::SoftBreak | Event::HardBreak if depth > 0 => {
                links.last_mut().into_iter().for_each(|link| link.alt.push(' '));
            }
            _ => {}
        }
    }
    links
}

/// Reads an image of the lesson at `lesson`: its width and height, and the RGBA values of its pixels.
///
/// # Errors
/// There is no such file, it is not an image, or it exceeds the memory budget.
pub fn read_image(lesson: &Path, file: &str) -> Result<([usize; 2], Vec<u8>), Error> {
    let path = lesson.with_file_name(file);
    let bad = |error: ImageError| {
        Error::input(&path, format!("not a complete image ({error})"), "use a PNG, JPEG or WebP file")
    };
    let reader = || {
        let reader = ImageReader::new(input::open(&path)?).with_guessed_format();
        reader.map_err(|error| Error::unreadable(&path, &error))
    };
    let (width, height) = reader()?.into_dimensions().map_err(bad)?;
    let pixels = u64::from(width) * u64::from(height);
    if pixels > MAX_PIXELS {
        let right = format!("expected at most {} megapixels", MAX_PIXELS / 1_000_000);
        return Err(Error::input(&path, format!("an image of {width} × {height} pixels"), right));
    }
    let bytes = pixels * PIXEL_BYTES;
    Budget::present().request(&path, bytes)?;
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(2 * bytes + (1 << 20));
    let mut reader = reader()?;
    reader.limits(limits);
    let mut image = reader.decode().map_err(bad)?;
    if width.max(height) > MAX_SIDE {
        image = image.thumbnail(MAX_SIDE, MAX_SIDE);
    }
    let pixels = image.into_rgba8();
    Ok(([pixels.width() as usize, pixels.height() as usize], pixels.into_raw()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_have_their_place_text_and_file() {
        let text = "Look:\n\n![A *small*\n`fan`](fan.png)\n\nand ![](<two words.jpg>) [no image](a.png) `![b](c.png)`";
        let found = image_links(text);
        let parts: Vec<_> =
            found.iter().map(|link| (&text[link.range.clone()], link.alt.as_str(), link.file.as_str())).collect();
        assert_eq!(
            parts,
            [("![A *small*\n`fan`](fan.png)", "A small fan", "fan.png"), ("![](<two words.jpg>)", "", "two words.jpg")]
        );
        let nested = image_links("![a ![b](b.png)](a.png)");
        assert_eq!(nested.len(), 1);
        assert_eq!((nested[0].alt.as_str(), nested[0].file.as_str()), ("a b", "a.png"));
    }

    #[test]
    fn image_is_read_beside_its_lesson_and_reduced() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let lesson = folder.path().join("fans.md");
        let save = |name: &str, width, height| {
            let image = image::RgbImage::from_pixel(width, height, image::Rgb([10, 20, 30]));
            image.save(folder.path().join(name)).expect("it is writable");
        };
        save("small.png", 3, 2);
        save("large.jpg", 2 * MAX_SIDE, 10);
        let (size, pixels) = read_image(&lesson, "small.png").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((size, &pixels[..4], pixels.len()), ([3, 2], &[10, 20, 30, 255][..], 24));
        let (size, pixels) = read_image(&lesson, "large.jpg").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((size, pixels.len()), ([MAX_SIDE as usize, 5], 20 * MAX_SIDE as usize));
        std::fs::write(folder.path().join("text.png"), "no image").expect("it is writable");
        for (file, why) in
            [("text.png", "not a complete image"), ("none.png", "file not found"), (".", "this is a folder")]
        {
            let error = read_image(&lesson, file).expect_err(file).to_string();
            assert!(error.contains(why), "{file}: {error}");
        }
    }
}
