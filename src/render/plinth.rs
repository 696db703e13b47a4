//! The plinth of a block: title, dimensions and scale bar on the ground plane.

use std::fmt::Write;

use bevy::{prelude::*, render::render_resource::TextureFormat};

use super::{layers::cell_image, lod::BlockBounds, uniforms::SceneUniforms};
use crate::world::{Simulations, amount};
use thalweg_scene::{
    io::{page, reference::escape_html},
    settings::UnitSystem,
};

/// Margins of the plinth at the sides and the back, and at the front, as fractions of the block's shorter side.
const MARGIN: f32 = 0.035;
const FRONT: f32 = 0.13;
/// Texels along the front, and number of mipmap levels below the first.
const TEXELS: usize = 2048;
const HALVINGS: usize = 5;
/// Width of the front in units of the drawing. All other lengths are fractions of its height.
const WIDE: f64 = 1000.0;
const TITLE: f64 = 0.36;
const NOTE: f64 = 0.17;
/// Side length from which dimensions are given in kilometres, in metres.
const FAR: f64 = 2000.0;
/// Maximum length of the scale bar as a fraction of the width.
const SCALE: f64 = 0.28;

/// Text and shape of a plinth.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plinth {
    title: String,
    note: String,
    /// Length of the scale bar as a fraction of the front's width, and its label.
    scale: (f64, String),
    /// Margin around the block, and at its front, in world units.
    pub reach: Vec2,
    /// Height of the front divided by its width.
    shape: f64,
}

/// Returns the margins of a block's plinth at the sides and at the front, in world units, or `None` if no plinth is shown.
pub(super) fn reach(simulations: &Simulations, uniforms: &SceneUniforms) -> Option<Vec2> {
    let block = uniforms.footprint();
    let shown = matches!(simulations.all(), [session] if session.look.plinth);
    shown.then_some(2.0 * block.z.min(block.w) * Vec2::new(MARGIN, FRONT))
}

/// Returns the plinth as flat land, for framing the whole scene.
pub(super) fn plinth_bounds(simulations: &Simulations, uniforms: &SceneUniforms) -> Option<BlockBounds> {
    let (reach, block, base) = (reach(simulations, uniforms)?, uniforms.footprint(), uniforms.base_height());
    Some(BlockBounds {
        cells: UVec2::splat(2),
        centre: block.xy() + Vec2::new(0.0, 0.5 * (reach.y - reach.x)),
        extent: 2.0 * block.zw() + Vec2::new(2.0 * reach.x, reach.x + reach.y),
        heights: [base, base],
    })
}

impl Plinth {
    /// Returns the plinth, or `None` if it is not shown.
    pub(super) fn of(simulations: &Simulations, uniforms: &SceneUniforms, units: UnitSystem) -> Option<Self> {
        let (reach, session) = (reach(simulations, uniforms)?, simulations.selected());
        let terrain = &session.simulation.terrain;
        let wide = 2.0 * (uniforms.footprint().z + reach.x);
        let side = |cells: usize| {
            let metres = f64::from(terrain.cell_size) * cells as f64;
            let (unit, times) = amount::display_unit(units, "km");
            if metres < FAR { amount::length(units, metres, 0) } else { format!("{:.1} {unit}", 1e-3 * times * metres) }
        };
        let mut note = format!("{} × {}", side(terrain.width()), side(terrain.height()));
        let steep = session.look.vertical_exaggeration;
        if steep != 1.0 {
            let _ = write!(note, ", vertical exaggeration × {}", (100.0 * steep).round() / 100.0);
        }
        let metres = f64::from(wide / uniforms.scale());
        let (length, text) = amount::round_length(units, SCALE * metres);
        Some(Self {
            title: session.title.clone(),
            note,
            scale: (length / metres, text),
            reach,
            shape: f64::from(reach.y / wide),
        })
    }

    /// Draws the front as SVG.
    fn drawing(&self) -> String {
        let high = WIDE * self.shape;
        let (left, right) = (0.3 * high, WIDE - 0.3 * high);
        let (length, text) = (self.scale.0 * WIDE, &self.scale.1);
        // Long titles shrink so that they do not reach the scale bar.
        let room = right - length - left - 0.5 * high;
        let size = (TITLE * high).min(TITLE * high * room / page::width(&self.title, TITLE * high).max(1e-3));
        let note = NOTE * high;
        let mut drawing = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDE}\" height=\"{high:.3}\" fill=\"white\">\
             <text x=\"{left:.2}\" y=\"{:.2}\" font-size=\"{size:.2}\">{}</text>\
             <text x=\"{left:.2}\" y=\"{:.2}\" font-size=\"{note:.2}\" fill-opacity=\"0.8\">{}</text>",
            0.54 * high,
            escape_html(&self.title),
            0.80 * high,
            escape_html(&self.note)
        );
        let (begin, top, thick) = (right - length, 0.42 * high, 0.07 * high);
        let line = 0.012 * high;
        let _ = write!(
            drawing,
            "<rect x=\"{begin:.2}\" y=\"{top:.2}\" width=\"{length:.2}\" height=\"{thick:.2}\" fill=\"none\" stroke=\"white\" \
             stroke-width=\"{line:.3}\"/>"
        );
        for part in [0, 2] {
            let x = begin + length * f64::from(part) / 4.0;
            let _ = write!(
                drawing,
                "<rect x=\"{x:.2}\" y=\"{top:.2}\" width=\"{:.2}\" height=\"{thick:.2}\"/>",
                length / 4.0
            );
        }
        for (x, anchor, label) in [(begin, "start", "0"), (right, "end", &**text)] {
            let _ = write!(
                drawing,
                "<text x=\"{x:.2}\" y=\"{:.2}\" font-size=\"{note:.2}\" text-anchor=\"{anchor}\">{}</text>",
                0.70 * high,
                escape_html(label)
            );
        }
        drawing + "</svg>"
    }

    /// Rasterizes the front's lettering to a texture with mipmaps.
    pub(super) fn image(&self) -> Image {
        let drawn = page::pixels(&self.drawing(), (TEXELS as f64 / WIDE) as f32);
        let pixels = drawn.unwrap_or_else(|_| vec![0; 4 * TEXELS]);
        let mut size = [TEXELS, pixels.len() / 4 / TEXELS];
        let mut texels: Vec<u8> = pixels.as_chunks::<4>().0.iter().map(|[.., opacity]| *opacity).collect();
        let mut image = cell_image((size[0], size[1]), TextureFormat::R8Unorm);
        let mut bytes = texels.clone();
        let mut copies = 1;
        while copies <= HALVINGS && size.into_iter().all(|side| side > 1) {
            (size, texels) = halved(size, &texels);
            bytes.extend(&texels);
            copies += 1;
        }
        image.data = Some(bytes);
        image.texture_descriptor.mip_level_count = copies as u32;
        image
    }
}

/// Averages blocks of 2 × 2 texels.
fn halved([width, height]: [usize; 2], texels: &[u8]) -> ([usize; 2], Vec<u8>) {
    let [wide, high] = [width / 2, height / 2];
    let mean = |index: usize| {
        let (x, y) = (2 * (index % wide), 2 * (index / wide));
        let four =
            [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(right, down)| u32::from(texels[(y + down) * width + x + right]));
        (four.into_iter().sum::<u32>() / 4) as u8
    };
    ([wide, high], (0..wide * high).map(mean).collect())
}

#[cfg(test)]
mod tests {
    use super::{super::uniforms::alone, *};
    use thalweg_scene::{io::scene::open_first, model::origin::Options};

    fn plinth(title: &str) -> Plinth {
        let options = Options { size: Some((64, 48)), ..Options::default() };
        let mut session = open_first("round-hill", &options).expect("built in");
        title.clone_into(&mut session.title);
        (session.look.vertical_exaggeration, session.look.plinth) = (1.5, true);
        let uniforms = alone(&session);
        Plinth::of(&Simulations::new(vec![session]), &uniforms, UnitSystem::Metric).expect("it is shown")
    }

    #[test]
    fn plinth_label_has_title_size_and_scale_bar() {
        let plinth = plinth("Hill & <dale>");
        assert!(
            plinth.note.ends_with(", vertical exaggeration × 1.5") && plinth.note.contains(" × "),
            "{}",
            plinth.note
        );
        assert!(plinth.scale.0 <= SCALE && plinth.scale.0 > 0.35 * SCALE, "{:?}", plinth.scale);
        let image = plinth.image();
        let bytes = image.data.as_deref().unwrap_or_default();
        let size = image.texture_descriptor.size;
        let level = |level: u32| ((size.width >> level) * (size.height >> level)) as usize;
        assert_eq!(bytes.len(), (0..image.texture_descriptor.mip_level_count).map(level).sum::<usize>());
        // Every mipmap level has the same mean coverage as the first.
        let ink = |bytes: &[u8]| bytes.iter().map(|&byte| f64::from(byte)).sum::<f64>() / (255.0 * bytes.len() as f64);
        let (whole, rest) = bytes.split_at(level(0));
        let half = ink(&rest[..level(1)]);
        assert!(ink(whole) > 0.01 && (half / ink(whole) - 1.0).abs() < 0.1, "{} and {half}", ink(whole));
    }

    #[test]
    fn long_title_does_not_overlap_scale_bar() {
        let columns = |title: &str| {
            let plinth = plinth(title);
            let image = plinth.image();
            let wide = image.texture_descriptor.size.width as usize;
            let high = image.texture_descriptor.size.height as usize;
            let bytes = image.data.unwrap_or_default();
            let begins = wide as f64 * (1.0 - 0.3 * plinth.shape - plinth.scale.0);
            // Nothing is drawn just left of the scale bar.
            (0..high).any(|row| bytes[row * wide + begins as usize - 12] > 0)
        };
        assert!(!columns("A") && !columns(&"A valley that has many names ".repeat(9)));
    }
}
