//! Title cards of videos.

use crate::{
    io::{page, reference::escape_html},
    model::film::TitleCard,
};

/// Draws a title card of `size` (columns, rows) as RGB pixels: white and grey text on black.
///
/// # Errors
/// The image does not fit into memory.
pub fn title_card(card: &TitleCard, (width, height): (usize, usize)) -> Result<Vec<u8>, String> {
    let (wide, high) = (width as f64, height as f64);
    let large = (high / 12.0).max(14.0);
    let parts = [(&card.text, large, "#ffffff"), (&card.about, 0.5 * large, "#b8b8b8")];
    let lines: Vec<(String, f64, &str)> = parts
        .into_iter()
        .filter(|(text, ..)| !text.trim().is_empty())
        .flat_map(|(text, size, color)| {
            page::wrap_text(text, size, 0.84 * wide).into_iter().map(move |line| (line, size, color))
        })
        .collect();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" text-anchor=\"middle\">\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#000000\"/>"
    );
    let spacing = 1.4;
    let mut base = 0.5 * (high - lines.iter().map(|(_, size, _)| spacing * size).sum::<f64>());
    for (line, size, color) in &lines {
        base += spacing * size;
        svg += &format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{size:.1}\" fill=\"{color}\">{}</text>",
            0.5 * wide,
            base - 0.4 * size,
            escape_html(line)
        );
    }
    let pixels = page::pixels(&(svg + "</svg>"), 1.0)?;
    Ok(pixels.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_card_has_centred_text_on_black() {
        let card = TitleCard { text: "A <valley> & 河".to_owned(), about: "200 000 years".to_owned(), seconds: 2.0 };
        let pixels = title_card(&card, (320, 180)).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(pixels.len(), 3 * 320 * 180);
        let brightest = |from: usize, to: usize| pixels[3 * 320 * from..3 * 320 * to].iter().max().copied();
        assert_eq!([brightest(0, 60), brightest(125, 180)], [Some(0), Some(0)]);
        assert!(brightest(70, 115) > Some(240));
        // Left and right of the text.
        assert!(pixels.chunks_exact(3 * 320).all(|row| row[..60].iter().chain(&row[900..]).all(|part| *part == 0)));
    }
}
