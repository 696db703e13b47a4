//! River network as lines: GeoJSON in map coordinates, and a table of points for game engines.

use std::{
    io::{self, Write},
    path::Path,
};

use serde_json::{Value, json};

use super::ExportWindow;
use crate::{
    io::{Error, JobProgress, output},
    model::{
        crs::CoordinateConversion,
        origin::{Crs, Georeference},
    },
};
use thalweg_sim::{
    hydrology::network::{Reach, ReachPoint, RiverNetwork, RiverParams},
    simulation::Simulation,
};

/// Maximum number of points; a larger file would exceed 200 MB.
const MAX_POINTS: usize = 2_000_000;

/// Columns of the CSV table.
const COLUMNS: &str = "reach,place,x_m,y_m,height_m,width_m,depth_m,discharge_m3_s,order,into,lake";

/// Rounds to four decimal places.
fn rounded(value: f32) -> f64 {
    (f64::from(value) * 1e4).round() / 1e4
}

/// River network with its georeference.
#[derive(Clone, Debug)]
pub(super) struct GeoreferencedRivers {
    network: RiverNetwork,
    /// Width and height of the map, in metres.
    extent: [f64; 2],
    geo: Georeference,
    /// Offset of the exported window on the map, in metres.
    first: [f64; 2],
}

impl GeoreferencedRivers {
    /// Extracts the river network of a simulation.
    ///
    /// # Errors
    /// The network has too many points.
    pub(super) fn of(
        name: &str,
        run: &Simulation,
        params: &RiverParams,
        geo: Option<Georeference>,
        window: ExportWindow,
    ) -> Result<Self, Error> {
        let (network, terrain) = (run.river_terrain(params).network(), &run.terrain);
        if network.places() > MAX_POINTS {
            let wrong =
                format!("the river network has {} points, more than the limit of {MAX_POINTS}", network.places());
            let right = format!("raise rivers.from_cells above {}", params.from_cells);
            return Err(Error::input(Path::new(name), wrong, right));
        }
        let cell = f64::from(terrain.cell_size);
        let extent = [terrain.width(), terrain.height()].map(|count| count as f64 * cell);
        let first = [window.first.0, window.first.1].map(|cells| cells as f64 * cell);
        // As in the other maps, the origin is the lower left of the exported window.
        let north = first[1] + window.size.1 as f64 * cell;
        let local = Georeference { west: -first[0], north, width: extent[0], height: extent[1], crs: Crs::Unknown };
        Ok(Self { network, extent, geo: geo.unwrap_or(local), first })
    }

    /// Returns the map coordinates of a point: easting, northing and elevation.
    fn coordinates(&self, place: &ReachPoint) -> [f64; 3] {
        let share: [f64; 2] = std::array::from_fn(|axis| place.at[axis] / self.extent[axis].max(f64::MIN_POSITIVE));
        let Georeference { west, north, width, height, .. } = &self.geo;
        [west + share[0] * width, north - share[1] * height, rounded(place.height)]
    }

    /// Returns the conversion of map coordinates to longitude and latitude, if it exists for all points.
    fn to_wgs84(&self) -> Option<Box<CoordinateConversion>> {
        self.geo.crs.to_wgs84().filter(|convert| {
            let mut places = self.network.reaches.iter().flat_map(|reach| &reach.points);
            places.all(|place| {
                let [x, y, _] = self.coordinates(place);
                convert([x, y]).is_some()
            })
        })
    }

    /// Returns a warning if the lines of GeoJSON are not in WGS 84 although the map has a coordinate reference system.
    pub(super) fn warning(&self) -> Option<&'static str> {
        if self.geo.crs == Crs::Unknown {
            None
        } else if self.to_wgs84().is_none() {
            Some(
                "rivers.geojson: its lines are in map coordinates, as their coordinate reference system cannot be \
                 converted to longitude and latitude; set the system, which its member crs names, in the program that \
                 reads it",
            )
        } else if self.geo.crs.lacks_datum() {
            Some(
                "rivers.geojson: its longitudes and latitudes may be off by some hundred metres, as the datum of the map \
                 is unknown; state a coordinate reference system with a datum in the heightmap",
            )
        } else {
            None
        }
    }

    /// Writes a feature collection with one line per reach, oriented downstream. Width, depth and discharge are those of its lower end.
    /// Coordinates are longitude and latitude in WGS 84 (RFC 7946) if the coordinate reference system of the map can be converted, else
    /// those of the map, with a member `crs` that names their system, by its code or well-known text, if it is known.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write_geojson(&self, path: &Path, progress: &JobProgress) -> Result<(), Error> {
        let to_wgs84 = self.to_wgs84();
        let coordinates = |place: &ReachPoint| {
            let [x, y, height] = self.coordinates(place);
            let [x, y] = to_wgs84.as_ref().and_then(|convert| convert([x, y])).unwrap_or([x, y]);
            [x, y, height]
        };
        let named = || {
            let code = self.geo.crs.epsg().map(|code| format!("urn:ogc:def:crs:EPSG::{code}"));
            code.or_else(|| self.geo.crs.text())
        };
        let name = if to_wgs84.is_none() { named() } else { None };
        let crs = name.map_or_else(String::new, |name| {
            format!(r#" "crs": {{"type": "name", "properties": {{"name": {}}}}},"#, Value::from(name))
        });
        let feature = |(number, reach): (usize, &Reach)| {
            let lower = reach.points.last();
            json!({
                "type": "Feature",
                "id": number,
                "geometry": {
                    "type": "LineString",
                    "coordinates": reach.points.iter().map(coordinates).collect::<Vec<_>>(),
                },
                "properties": {
                    "order": reach.order,
                    "into": reach.into,
                    "lake": reach.in_lake,
                    "length_m": rounded(reach.length() as f32),
                    "discharge_m3_s": lower.map(|place| rounded(place.discharge)),
                    "width_m": lower.map(|place| rounded(place.width)),
                    "depth_m": lower.map(|place| rounded(place.depth)),
                },
            })
        };
        let count = self.network.reaches.len();
        output::create(path, |file| -> io::Result<()> {
            write!(file, "{{\"type\": \"FeatureCollection\",{crs} \"features\": [")?;
            for (number, reach) in self.network.reaches.iter().enumerate() {
                let comma = if number == 0 { "" } else { "," };
                write!(file, "{comma}\n{}", feature((number, reach)))?;
                progress.done(number + 1, count);
            }
            file.write_all(b"\n]}\n")
        })
    }

    /// Writes a table with one row per point of each reach, in downstream order. As in the other maps, x points to the right and y to the
    /// bottom of the image.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn write_csv(&self, path: &Path, progress: &JobProgress) -> Result<(), Error> {
        let count = self.network.reaches.len();
        output::create(path, |file| -> io::Result<()> {
            writeln!(file, "{COLUMNS}")?;
            for (number, Reach { points: places, order, into, in_lake }) in self.network.reaches.iter().enumerate() {
                let into = into.map_or(String::new(), |into| into.to_string());
                for (index, place) in places.iter().enumerate() {
                    let ReachPoint { at, height, discharge, width, depth } = place;
                    let [x, y] = [0, 1].map(|axis| at[axis] - self.first[axis]);
                    writeln!(
                        file,
                        "{number},{index},{x:.3},{y:.3},{height:.3},{width:.3},{depth:.3},{discharge:.4},{order},{into},{in_lake}"
                    )?;
                }
                progress.done(number + 1, count);
            }
            Ok(())
        })
    }
}
