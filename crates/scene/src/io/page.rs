//! Rendering of SVG drawings to PNG and PDF, with the fonts of the user interface.

use std::sync::{Arc, LazyLock};

use glam::Vec2;
use krilla::{Document, geom::Size, page::PageSettings};
use krilla_svg::{SurfaceExt, SvgSettings};
use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{
        Options, Tree,
        fontdb::{self, Database},
    },
};

use super::reference::escape_html;
use crate::model::formula::typeset::{FontMetrics, Mark, TypesetFormula};

/// Font family of body text.
pub const FAMILY: &str = "Ubuntu";

/// Bundled fonts.
static BUNDLED_FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::new();
    for font in [epaint_default_fonts::UBUNTU_LIGHT, epaint_default_fonts::NOTO_EMOJI_REGULAR] {
        fonts.load_font_data(font.to_vec());
    }
    fonts.set_sans_serif_family(FAMILY);
    Arc::new(fonts)
});

/// Bundled and system fonts, which cover more scripts.
static ALL_FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
    let mut fonts = Database::clone(&BUNDLED_FONTS);
    fonts.load_system_fonts();
    Arc::new(fonts)
});

/// `true` if the bundled fonts have glyphs for the whole text.
fn has_glyphs(text: &str) -> bool {
    let faces = [epaint_default_fonts::UBUNTU_LIGHT, epaint_default_fonts::NOTO_EMOJI_REGULAR]
        .map(|font| ttf_parser::Face::parse(font, 0));
    let known = |sign| faces.iter().flatten().any(|face| face.glyph_index(sign).is_some());
    text.chars().all(|sign| sign.is_control() || known(sign))
}

/// Finds a system font for the characters missing from the bundled fonts: its name, file and index in the file. `None` if nothing is
/// missing, or no font has any of them.
pub fn font_for(text: &str) -> Option<(String, Vec<u8>, u32)> {
    let missing: Vec<char> = text.chars().filter(|sign| !has_glyphs(sign.encode_utf8(&mut [0; 4]))).collect();
    if missing.is_empty() {
        return None;
    }
    let known = |face: &fontdb::FaceInfo| {
        ALL_FONTS.with_face_data(face.id, |data, index| {
            let Ok(face) = ttf_parser::Face::parse(data, index) else { return 0 };
            missing.iter().filter(|sign| face.glyph_index(**sign).is_some()).count()
        })
    };
    let counted = ALL_FONTS.faces().map(|face| (known(face).unwrap_or(0), face)).filter(|(count, _)| *count > 0);
    // The first of the fonts with the most glyphs.
    let (_, face) = counted.reduce(|best, other| if other.0 > best.0 { other } else { best })?;
    ALL_FONTS.with_face_data(face.id, |data, index| (face.post_script_name.clone(), data.to_vec(), index))
}

/// Parses SVG.
///
/// # Errors
/// The text is not valid SVG.
fn tree(svg: &str) -> Result<Tree, String> {
    // Renders are identical on every machine unless its system fonts are needed.
    let fonts = if has_glyphs(svg) { &BUNDLED_FONTS } else { &ALL_FONTS };
    let options = Options { font_family: FAMILY.to_owned(), fontdb: Arc::clone(fonts), ..Options::default() };
    Tree::from_str(svg, &options).map_err(|error| error.to_string())
}

/// Renders a drawing as PNG, with this many pixels per unit.
///
/// # Errors
/// The text is not valid SVG, or the image does not fit into memory.
pub fn png(svg: &str, pixels: f32) -> Result<Vec<u8>, String> {
    drawn(svg, pixels)?.encode_png().map_err(|error| error.to_string())
}

fn drawn(svg: &str, pixels: f32) -> Result<Pixmap, String> {
    let tree = tree(svg)?;
    let size = tree.size().to_int_size().scale_by(pixels).ok_or("the image has no width or height")?;
    let mut pixmap = Pixmap::new(size.width(), size.height()).ok_or("the image has no width or height")?;
    resvg::render(&tree, Transform::from_scale(pixels, pixels), &mut pixmap.as_mut());
    Ok(pixmap)
}

/// Renders a drawing as RGBA pixels with premultiplied alpha.
///
/// # Errors
/// The text is not valid SVG, or the image does not fit into memory.
pub fn pixels(svg: &str, scale: f32) -> Result<Vec<u8>, String> {
    Ok(drawn(svg, scale)?.take())
}

/// Combines pages into a PDF document; a unit is a point.
///
/// # Errors
/// A page is not valid SVG.
pub fn pdf(pages: &[String]) -> Result<Vec<u8>, String> {
    let mut document = Document::new();
    for page in pages {
        let tree = tree(page)?;
        let (width, height) = (tree.size().width(), tree.size().height());
        let settings = PageSettings::from_wh(width, height).ok_or("the page has no width or height")?;
        let mut page = document.start_page_with(settings);
        let mut surface = page.surface();
        let size = Size::from_wh(width, height).ok_or("the page has no width or height")?;
        surface.draw_svg(&tree, size, SvgSettings::default()).ok_or("the page cannot be drawn")?;
        surface.finish();
        page.finish();
    }
    document.finish().map_err(|error| format!("{error:?}"))
}

/// Font metrics of pages.
pub struct PageMetrics;

impl FontMetrics for PageMetrics {
    fn width(&self, text: &str, size: f32, _: bool) -> f32 {
        width(text, size.into()) as f32
    }
}

/// Converts a typeset equation to SVG.
pub fn equation(set: &TypesetFormula, color: &str) -> String {
    let drawn = set.marks.iter().map(|(at, mark)| {
        let place = |offset: &Vec2| format!("{:.2} {:.2}", at.x + offset.x, at.y + offset.y);
        let begin = place(&Vec2::ZERO);
        let (path, width) = match mark {
            Mark::Text { text, size, slanted } => {
                let (slant, text) = (if *slanted { " skewX(-12)" } else { "" }, escape_html(text));
                return format!(
                    "<text transform=\"translate({begin}){slant}\" font-size=\"{size:.2}\" fill=\"{color}\">{text}</text>"
                );
            }
            Mark::Line(points, width) => (points.iter().map(|point| format!("L{}", place(point))).collect(), width),
            Mark::Curve([past, end], width) => (format!("Q{} {}", place(past), place(end)), width),
        };
        format!("<path d=\"M{begin}{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width:.2}\"/>")
    });
    drawn.collect()
}

/// Returns the width of a line of text at this font size.
pub fn width(text: &str, size: f64) -> f64 {
    let Ok(face) = ttf_parser::Face::parse(epaint_default_fonts::UBUNTU_LIGHT, 0) else { return 0.0 };
    let wide = |sign| {
        let own = face.glyph_index(sign).and_then(|glyph| face.glyph_hor_advance(glyph));
        // Glyphs of other fonts are at most one em wide.
        own.map_or(1.0, |wide| f64::from(wide) / f64::from(face.units_per_em()))
    };
    size * text.chars().map(wide).sum::<f64>()
}

/// Wraps text into lines of at most this width. Longer words are broken.
pub fn wrap_text(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut rest = word;
        while !rest.is_empty() {
            let line = lines.last_mut().expect("there is always one");
            let space = if line.is_empty() { "" } else { " " };
            if width(&format!("{line}{space}{rest}"), size) <= most {
                line.push_str(space);
                line.push_str(rest);
                break;
            }
            if !line.is_empty() {
                lines.push(String::new());
                continue;
            }
            // At least one character, for progress.
            let ends = || rest.char_indices().skip(1).map(|(place, _)| place).chain([rest.len()]);
            let fits = ends().take_while(|end| width(&rest[..*end], size) <= most).last();
            let end = fits.or_else(|| ends().next()).unwrap_or(rest.len());
            line.push_str(&rest[..end]);
            rest = &rest[end..];
            if !rest.is_empty() {
                lines.push(String::new());
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"40\" height=\"20\"><rect width=\"20\" height=\"20\" \
        fill=\"#ff0000\"/><text x=\"22\" y=\"15\" font-size=\"14\">χ²</text></svg>";

    #[test]
    fn svg_renders_to_png_with_size_colours_and_text() {
        let bytes = png(SVG, 2.0).unwrap_or_else(|error| panic!("{error}"));
        let mut reader = png_reader(&bytes);
        let mut pixels = vec![0; reader.output_buffer_size().expect("it is small")];
        let info = reader.next_frame(&mut pixels).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((info.width, info.height), (80, 40));
        assert_eq!(pixels[..4], [255, 0, 0, 255]);
        let dark = |x: usize, y: usize| pixels[4 * (80 * y + x) + 3] > 128;
        let inked = (0..40).flat_map(|y| (42..80).map(move |x| (x, y))).filter(|&(x, y)| dark(x, y)).count();
        assert!(inked > 60, "{inked} pixels of text");
    }

    fn png_reader(bytes: &[u8]) -> png::Reader<std::io::Cursor<&[u8]>> {
        png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn svg_pages_become_one_pdf_and_invalid_svg_fails() {
        let bytes = pdf(&[SVG.to_owned(), SVG.to_owned()]).unwrap_or_else(|error| panic!("{error}"));
        assert!(bytes.starts_with(b"%PDF-"));
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("/MediaBox").count(), 2);
        assert!(pdf(&["<svg".to_owned()]).is_err() && png("", 1.0).is_err());
    }

    #[test]
    fn wrapped_lines_fit_width_and_lose_nothing() {
        let text = "Water runs downhill, and takes ground along where it is fast: \
            Donaudampfschifffahrtsgesellschaftskapitän is one word.";
        for most in [30.0, 100.0, 1000.0] {
            let lines = wrap_text(text, 12.0, most);
            assert!(lines.iter().all(|line| width(line, 12.0) <= most && !line.is_empty()), "{lines:?}");
            let signs = |text: &str| text.chars().filter(|sign| *sign != ' ').collect::<String>();
            assert_eq!(signs(&lines.concat()), signs(text));
        }
        assert_eq!(wrap_text("a", 12.0, 0.1), ["a"]);
    }

    #[test]
    fn system_font_covers_glyphs_missing_in_own_fonts() {
        assert!(font_for("Rivers find each other: 20 °, 3 m³/s").is_none());
        if let Some((name, data, index)) = font_for("Ֆ") {
            let face = ttf_parser::Face::parse(&data, index).expect("it is a font");
            assert!(face.glyph_index('Ֆ').is_some(), "{name}");
        }
    }
}
