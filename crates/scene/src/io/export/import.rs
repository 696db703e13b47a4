//! Settings with which other programs import exported heights: `import.md` and the entry `import` of a report.

use serde_json::{Map, Value, json};

use super::{Export, ExportSubject, dimensions::TileNames, sets::ExportSet};

/// Geometry of exported heights, from which the settings of an importing program follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ImportGeometry {
    /// Columns and rows of a file.
    pub size: (usize, usize),
    /// Side of a cell, in metres.
    pub cell: f64,
    /// Smallest and largest height, in metres.
    pub range: [f64; 2],
}

/// Setting of an importing program.
pub(super) struct ImportSetting {
    /// Key in reports.
    key: &'static str,
    /// Name in the program.
    label: &'static str,
    /// Unit; empty if it has none.
    unit: &'static str,
    formula: fn(&ImportGeometry) -> f64,
}

impl ImportSetting {
    pub(super) const fn new(
        key: &'static str,
        label: &'static str,
        unit: &'static str,
        formula: fn(&ImportGeometry) -> f64,
    ) -> Self {
        Self { key, label, unit, formula }
    }
}

/// Import of heights into a program.
pub(super) struct ImportGuide {
    /// Name of the program.
    pub program: &'static str,
    /// Heights as parsed by [`Export::parse`].
    pub heights: &'static str,
    /// Names of tiles that the program recognises.
    pub tile_names: TileNames,
    pub settings: &'static [ImportSetting],
    /// Instructions: one sentence or a few per step.
    pub steps: &'static [&'static str],
}

/// Settings for the import of an export.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportNotes {
    /// Entry `import` of a report.
    pub report: Value,
    /// Settings and instructions as Markdown.
    pub markdown: String,
}

impl ImportNotes {
    /// Returns the settings for heights of this subject, with a prefix of the file names; `None` if the preset of its dimensions needs
    /// none.
    pub(super) fn of(subject: &ExportSubject, before: &str) -> Option<Self> {
        let guide = subject.dimensions.preset.and_then(ExportSet::from_key)?.import.as_ref()?;
        let (terrain, tiles) = (&subject.terrain, subject.dimensions.tiles);
        let heights = Export::parse(guide.heights).ok()?;
        let (min, max) = terrain.ground().min_max();
        let whole = (terrain.width(), terrain.height());
        let files = subject.tiles();
        let size = files.first().map_or(whole, |tile| tile.size);
        let of = ImportGeometry { size, cell: f64::from(terrain.cell_size), range: [f64::from(min), f64::from(max)] };
        let (encoding, rows) = match heights.format {
            "png" | "png16" => ("16-bit integers from the minimum to the maximum", "north to south"),
            "raw" => ("16-bit little-endian integers from the minimum to the maximum", "south to north"),
            _ => ("32-bit floats in metres", "north to south"),
        };
        let names: Vec<String> = files.iter().map(|tile| format!("{before}{}", heights.tile_file_name(tile))).collect();
        let settings: Map<String, Value> =
            guide.settings.iter().map(|setting| (setting.key.to_owned(), json!((setting.formula)(&of)))).collect();
        let report = json!({
            "program": guide.program, "heights": names, "encoding": encoding, "rows": rows,
            "size": [size.0, size.1], "cell_size_m": of.cell, "min_m": of.range[0], "max_m": of.range[1],
            "tiles": tiles.map(|tiles| json!({
                "columns": tiles.count.0, "rows": tiles.count.1, "overlap": tiles.overlap,
                "size": [whole.0, whole.1],
            })),
            "settings": settings,
        });
        let mut markdown = format!("# Import into {}\n\n", guide.program);
        let heights = match (names.first(), names.last()) {
            (Some(first), Some(last)) if names.len() > 1 => format!("`{first}` to `{last}`"),
            _ => format!("`{}`", names.concat()),
        };
        markdown += &format!(
            "Heights: {heights}, {} × {} cells of {} m, from {} m to {} m; {encoding}, rows from {rows}. The first value is the height at the \
             centre of the corner cell.\n\n| Setting | Value |\n|---|---|\n",
            size.0,
            size.1,
            number(of.cell),
            number(of.range[0]),
            number(of.range[1])
        );
        for ImportSetting { label, unit, formula, .. } in guide.settings {
            let value = format!("{} {unit}", number(formula(&of)));
            markdown += &format!("| {label} | {} |\n", value.trim_end());
        }
        markdown.push('\n');
        for (index, step) in guide.steps.iter().enumerate() {
            markdown += &format!("{}. {step}\n", index + 1);
        }
        Some(Self { report, markdown })
    }
}

/// Formats a number with up to six decimal places.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}
