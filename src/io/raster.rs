//! What every heightmap format is read into, and the limits that hold for all of them.

use std::path::Path;

use super::{Error, geo::Geo, sidecar::Sidecar};
use crate::sim::grid::Grid;

/// Longest side of a file that is opened at all, in cells; two such sides are 2^28 cells.
const LONGEST_SIDE: u64 = 1 << 14;

/// Cells as they stand in a file.
pub(super) struct Raster {
    /// Metres, or whole steps if there is a full scale.
    pub cells: Grid,
    /// For integer formats: the value that stands for the top of the range; 0 stands for its bottom.
    pub full_scale: Option<f32>,
    /// Side of a cell, if the file states one.
    pub cell_size: Option<CellSize>,
    /// Where on Earth it lies, if the file says so.
    pub geo: Option<Geo>,
    /// What the user should know of how the file was read, without the file's name.
    pub warnings: Vec<String>,
}

/// The cell size that a file states.
pub(super) struct CellSize {
    /// Metres.
    pub metres: f32,
    /// What to tell if this size is used.
    pub warning: Option<String>,
}

/// The sizes that a reader may accept, and what is known of the size before the file is opened.
pub(super) struct Expected {
    /// What lies beside the file.
    pub sidecar: Sidecar,
    /// Size to which the map will be resampled, or of raw cells that have no other size.
    pub size: Option<(usize, usize)>,
    /// Shortest and longest side allowed for a map that is not resampled.
    pub sides: (usize, usize),
}

impl Expected {
    /// Checks the size in a file's header before any cell is read.
    ///
    /// # Errors
    /// A side of zero, too small or too large, or a size that the sidecar contradicts.
    pub(super) fn admit(&self, path: &Path, width: u64, height: u64) -> Result<(usize, usize), Error> {
        let refuse = |wrong: String, right: String| Err(Error::input(path, wrong, right));
        let found = format!("it has {width} × {height} cells");
        if width == 0 || height == 0 {
            return refuse(found, "a map needs at least one column and one row".into());
        }
        if width.max(height) > LONGEST_SIDE {
            return refuse(
                found,
                format!("at most {LONGEST_SIDE} on a side can be read, so make it smaller or cut it"),
            );
        }
        // Both sides are at most LONGEST_SIDE from here on.
        let (width, height) = (width as usize, height as usize);
        for (stated, side, name) in [(self.sidecar.width, width, "width"), (self.sidecar.height, height, "height")] {
            if let Some(stated) = stated.filter(|stated| *stated != side) {
                let sidecar = Sidecar::beside(path);
                let wrong = format!("{found}, but {} states {name} {stated}", sidecar.display());
                return refuse(wrong, "correct the sidecar or take it away".into());
            }
        }
        let (shortest, longest) = self.sides;
        if self.size.is_none() && width.min(height) < shortest {
            let right = format!("a side needs at least {shortest}, and --size {0}x{0} resamples it", shortest.max(64));
            return refuse(found, right);
        }
        if self.size.is_none() && width.max(height) > longest {
            let scale = longest as f64 / width.max(height) as f64;
            let fitted = |side: usize| ((side as f64 * scale).round() as usize).clamp(shortest, longest);
            let right = format!(
                "a side may have at most {longest}, and --size {}x{} resamples it",
                fitted(width),
                fitted(height)
            );
            return refuse(found, right);
        }
        Ok((width, height))
    }
}

/// Makes sure that every cell is a number.
///
/// # Errors
/// Names the first cell that is NaN or infinite.
pub(super) fn all_finite(path: &Path, cells: &Grid) -> Result<(), Error> {
    let Some(index) = cells.iter().position(|value| !value.is_finite()) else { return Ok(()) };
    let (column, row) = (index % cells.width(), index / cells.width());
    let wrong = format!("the value in column {column}, row {row} (counted from 0) is {}", cells[index]);
    Err(Error::input(path, wrong, "every cell needs a finite number of metres"))
}
