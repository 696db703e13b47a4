//! Coordinate reference systems: their units, GeoTIFF keys (OGC 19-008r4), well-known text and coordinates in WGS 84.

use proj_core::{AxisOrder, Coord, CrsDef, ProjectionMethod, Transform, lookup_epsg, lookup_vertical_epsg};

use super::origin::{Crs, GeoKey};

/// GeoKeys: model type, raster type, and those of the horizontal and vertical systems.
const MODEL_TYPE: u16 = 1024;
pub(crate) const RASTER_TYPE: u16 = 1025;
const CITATION: u16 = 1026;
const GEODETIC_CRS: u16 = 2048;
const GEODETIC_DATUM: u16 = 2050;
const ANGULAR_UNITS: u16 = 2054;
const ANGULAR_UNIT_SIZE: u16 = 2055;
const ELLIPSOID: u16 = 2056;
const SEMI_MAJOR: u16 = 2057;
const SEMI_MINOR: u16 = 2058;
const INVERSE_FLATTENING: u16 = 2059;
const PROJECTED_CRS: u16 = 3072;
const PROJECTED_CITATION: u16 = 3073;
const METHOD: u16 = 3075;
const LINEAR_UNITS: u16 = 3076;
const LINEAR_UNIT_SIZE: u16 = 3077;
const VERTICAL_CRS: u16 = 4096;
const VERTICAL_UNITS: u16 = 4099;
/// Values of the model and raster types.
const PROJECTED: u16 = 1;
const GEOGRAPHIC: u16 = 2;
const AREAS: u16 = 1;
pub(crate) const POINTS: u16 = 2;
const USER_DEFINED: u16 = 32767;
const METRES: u16 = 9001;
pub(crate) const WGS_84: u32 = 4326;
/// Geographic systems in grads, all of Paris.
const GRADS: [u32; 8] = [4807, 4810, 4811, 4816, 4819, 4821, 4901, 4902];
/// Prefix of a citation that holds well-known text.
const TEXT_CITATION: &str = "ESRI PE String = ";
/// Length of a degree of latitude on a sphere with the Earth's mean radius (6371.0088 km), in metres.
const METRES_PER_DEGREE: f64 = 111_195.08;
/// Radius of a sphere with the equator of WGS 84, in metres.
const EQUATOR_RADIUS: f64 = 6_378_137.0;

/// Conversion of coordinates; `None` where it is not defined.
pub(crate) type CoordinateConversion = dyn Fn([f64; 2]) -> Option<[f64; 2]>;

/// Unit of horizontal coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum CrsUnit {
    /// Angles of this many degrees.
    Degrees(f64),
    /// Lengths of this many metres.
    Metres(f64),
}

/// Returns the size of a unit of length of the EPSG, in metres.
fn length_of(code: u16) -> Option<f64> {
    Some(match code {
        METRES => 1.0,
        1025 => 1e-3,
        1033 => 1e-2,
        9002 => 0.3048,
        9003 => 1200.0 / 3937.0,
        9005 => 0.304_797_265_4,
        9014 => 1.828_8,
        9030 => 1852.0,
        9036 => 1000.0,
        9037 => 0.914_391_795,
        9040 => 0.914_398_414_616_028_7,
        9041 => 0.304_799_471_538_676_2,
        9042 => 20.116_765_121_552_63,
        9050 => 0.914_398_53,
        9051 => 0.304_799_510_248_146_94,
        9070 => 0.304_799_51,
        9080 | 9081 => 0.304_799_5,
        9082 => 0.304_799_514,
        9084 | 9085 => 0.914_398_5,
        9093 => 1609.344,
        9094 => 0.304_799_710_181_508_6,
        9095 => 0.304_800_749_1,
        9096 => 0.9144,
        9097 => 20.1168,
        9098 => 0.201_168,
        9300..=9302 => 0.9144,
        _ => return None,
    })
}

/// Returns the size of an angular unit of the EPSG, in degrees.
fn angle_of(code: u16) -> Option<f64> {
    Some(match code {
        9101 => 1_f64.to_degrees(),
        9102 | 9122 => 1.0,
        9103 => 1.0 / 60.0,
        9104 => 1.0 / 3600.0,
        9105 | 9106 => 0.9,
        9109 => 1e-6_f64.to_degrees(),
        9112 => 0.009,
        9113 => 0.000_09,
        _ => return None,
    })
}

/// Returns the size of a unit of length with this name, in metres, and its plural.
pub(crate) fn length_named(name: &str) -> Option<(f64, &'static str)> {
    let name: String = name.to_lowercase().chars().filter(|letter| letter.is_alphanumeric()).collect();
    Some(match name.as_str() {
        "m" | "metre" | "metres" | "meter" | "meters" => (1.0, "metres"),
        "ft" | "foot" | "feet" | "internationalfoot" | "internationalfeet" | "intft" | "ftint" => (0.3048, "feet"),
        "usft" | "ftus" | "sft" | "ussurveyfoot" | "ussurveyfeet" | "surveyfoot" | "surveyfeet" | "footus"
        | "feetus" | "usfoot" | "usfeet" | "ussft" => (1200.0 / 3937.0, "US survey feet"),
        "mm" | "millimetre" | "millimetres" | "millimeter" | "millimeters" => (1e-3, "millimetres"),
        "cm" | "centimetre" | "centimetres" | "centimeter" | "centimeters" => (1e-2, "centimetres"),
        "dm" | "decimetre" | "decimetres" | "decimeter" | "decimeters" => (0.1, "decimetres"),
        "dam" | "decametre" | "decametres" | "decameter" | "decameters" => (10.0, "decametres"),
        "hm" | "hectometre" | "hectometres" | "hectometer" | "hectometers" => (100.0, "hectometres"),
        "km" | "kilometre" | "kilometres" | "kilometer" | "kilometers" => (1000.0, "kilometres"),
        "in" | "inch" | "inches" => (0.0254, "inches"),
        "yd" | "yard" | "yards" => (0.9144, "yards"),
        "fathom" | "fathoms" => (1.8288, "fathoms"),
        "mi" | "mile" | "miles" => (1609.344, "miles"),
        "nmi" | "nauticalmile" | "nauticalmiles" => (1852.0, "nautical miles"),
        _ => return None,
    })
}

/// Returns the plural of a unit of length of this size.
pub(crate) fn plural_of(metres: f64) -> String {
    let same = |other: f64| (metres / other - 1.0).abs() < 1e-7;
    let names = ["m", "ft", "us-ft", "mm", "cm", "dm", "km", "in", "yd", "fathom", "mi", "nmi"];
    let known = names.into_iter().filter_map(length_named).find(|(size, _)| same(*size));
    known.map_or_else(|| format!("units of {metres} m"), |(_, plural)| plural.to_owned())
}

impl Crs {
    /// Creates a system from an authority code or well-known text.
    pub(crate) fn of_text(text: &str) -> Self {
        let text = text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\0' || letter == '\u{feff}');
        let code = text.get(..5).filter(|prefix| prefix.eq_ignore_ascii_case("EPSG:")).map(|_| &text[5..]);
        match code.and_then(|code| code.trim().parse().ok()) {
            Some(code) => Self::Epsg(code),
            None if text.is_empty() => Self::Unknown,
            None => match authority(text) {
                Some(_) => Self::Wkt(text.to_owned()),
                // A code would lose the vertical system.
                None if vertical_unit(text).is_some() => Self::Wkt(text.to_owned()),
                // The text of ESRI has no code.
                None => matching_code(text).map_or_else(|| Self::Wkt(text.to_owned()), Self::Epsg),
            },
        }
    }

    /// Returns the keys in the directory of a GeoTIFF, with their values in its tags of numbers and text.
    pub(crate) fn of_keys(directory: &[u16], numbers: &[f64], text: &str) -> Vec<(u16, GeoKey)> {
        let (entries, _) = directory.get(4..).unwrap_or_default().as_chunks();
        let value = |&[key, tag, count, value]: &[u16; 4]| {
            let (first, count) = (usize::from(value), usize::from(count));
            let value = match tag {
                0 => GeoKey::Code(value),
                34736 => GeoKey::Numbers(numbers.get(first..first + count)?.to_vec()),
                34737 => {
                    let letters = text.get(first..(first + count).min(text.len()))?;
                    GeoKey::Text(letters.trim_end_matches(['|', '\0']).to_owned())
                }
                _ => return None,
            };
            Some((key, value))
        };
        entries.iter().filter_map(value).collect()
    }

    /// Returns the code that the GeoTIFF key holds.
    pub(crate) fn code(keys: &[(u16, GeoKey)], wanted: u16) -> Option<u16> {
        keys.iter().find_map(|(key, value)| match value {
            GeoKey::Code(code) if *key == wanted => Some(*code),
            _ => None,
        })
    }

    fn number(keys: &[(u16, GeoKey)], wanted: u16) -> Option<f64> {
        keys.iter().find_map(|(key, value)| match value {
            GeoKey::Numbers(numbers) if *key == wanted => numbers.first().copied(),
            GeoKey::Code(code) if *key == wanted => Some((*code).into()),
            _ => None,
        })
    }

    /// Well-known text in a citation key, as ESRI writes it.
    fn cited(keys: &[(u16, GeoKey)]) -> Option<&str> {
        keys.iter().find_map(|(key, value)| match value {
            GeoKey::Text(text) if [CITATION, PROJECTED_CITATION].contains(key) => text.strip_prefix(TEXT_CITATION),
            _ => None,
        })
    }

    /// Returns the size of the vertical unit that the keys of a GeoTIFF state, in metres.
    pub(crate) fn vertical_of_keys(keys: &[(u16, GeoKey)]) -> Option<f64> {
        let of_crs = |code| lookup_vertical_epsg(u32::from(code)).map(|crs| crs.linear_unit_to_meter());
        let of_text = || Self::Wkt(Self::cited(keys)?.to_owned()).vertical();
        Self::code(keys, VERTICAL_UNITS)
            .and_then(length_of)
            .or_else(|| Self::code(keys, VERTICAL_CRS).and_then(of_crs))
            .or_else(of_text)
            .or_else(|| {
                let code = Self::code(keys, PROJECTED_CRS).or_else(|| Self::code(keys, GEODETIC_CRS))?;
                Self::Epsg(code.into()).vertical()
            })
    }

    /// Returns the size of its vertical unit, in metres, if it has one.
    pub(crate) fn vertical(&self) -> Option<f64> {
        match self {
            Self::Unknown => None,
            Self::Epsg(code) => lookup_epsg(*code)?.vertical_crs().map(|crs| crs.linear_unit_to_meter()),
            Self::Wkt(text) => vertical_unit(text),
            Self::GeoKeys(keys) => Self::vertical_of_keys(keys),
        }
    }

    /// Creates a system from the keys of a GeoTIFF: `Unknown` if they state none.
    pub(crate) fn of_geo_keys(keys: Vec<(u16, GeoKey)>) -> Self {
        let horizontal = |key: u16| key != RASTER_TYPE && key < VERTICAL_CRS;
        let keys: Vec<_> = keys.into_iter().filter(|(key, _)| horizontal(*key)).collect();
        let states = [GEODETIC_CRS, PROJECTED_CRS, METHOD, ANGULAR_UNITS, LINEAR_UNITS, CITATION, PROJECTED_CITATION];
        let model = Self::code(&keys, MODEL_TYPE);
        // Local coordinates in metres, as this program writes them.
        let local = model == Some(PROJECTED)
            && keys
                .iter()
                .all(|(key, value)| *key == MODEL_TYPE || (*key, value) == (LINEAR_UNITS, &GeoKey::Code(METRES)));
        let stated = model == Some(GEOGRAPHIC) || keys.iter().any(|(key, _)| states.contains(key));
        if stated && !local { Self::GeoKeys(keys) } else { Self::Unknown }
    }

    /// Returns its horizontal part: heights are converted to metres on reading, so a vertical unit does not apply to them any more.
    pub(crate) fn horizontal(&self) -> Self {
        let part_of = |text: &str| horizontal_part(text).map(str::to_owned);
        match self {
            Self::Epsg(code) => {
                let crs = lookup_epsg(*code).filter(|crs| crs.vertical_crs().is_some());
                let code = crs.and_then(|crs| crs.horizontal_crs()).map(|crs| crs.epsg()).filter(|code| *code != 0);
                code.map_or_else(|| self.clone(), Self::Epsg)
            }
            Self::Wkt(text) => part_of(text).map_or_else(|| self.clone(), |text| Self::of_text(&text)),
            Self::GeoKeys(keys) => {
                let part = |(key, value): &(u16, GeoKey)| match value {
                    GeoKey::Text(text) => {
                        let part = text.strip_prefix(TEXT_CITATION).and_then(part_of);
                        let text = part.map_or_else(|| text.clone(), |part| format!("{TEXT_CITATION}{part}"));
                        (*key, GeoKey::Text(text))
                    }
                    GeoKey::Code(code) if *key == PROJECTED_CRS || *key == GEODETIC_CRS => {
                        match Self::Epsg((*code).into()).horizontal() {
                            Self::Epsg(part) => (*key, GeoKey::Code(u16::try_from(part).unwrap_or(*code))),
                            _ => (*key, value.clone()),
                        }
                    }
                    value => (*key, value.clone()),
                };
                Self::GeoKeys(keys.iter().map(part).collect())
            }
            Self::Unknown => Self::Unknown,
        }
    }

    /// Returns the unit of its coordinates.
    pub(crate) fn unit(&self) -> CrsUnit {
        let defined = || match self.definition() {
            Some(crs) if crs.is_geographic() => Some(CrsUnit::Degrees(1.0)),
            Some(crs) => {
                crs.horizontal_crs().and_then(|crs| Some(CrsUnit::Metres(crs.as_projected()?.linear_unit_to_meter())))
            }
            None => None,
        };
        let stated = match self {
            Self::Unknown => None,
            Self::Epsg(code) if GRADS.contains(code) => Some(CrsUnit::Degrees(0.9)),
            // Codes of geographic systems are in this range.
            Self::Epsg(code) => defined().or((4000..5000).contains(code).then_some(CrsUnit::Degrees(1.0))),
            Self::Wkt(text) => {
                let projected = ["PROJCS[", "PROJCRS[", "PROJECTEDCRS["];
                if projected.iter().any(|word| text.to_ascii_uppercase().contains(word)) {
                    unit_in(text, &projected).map(CrsUnit::Metres)
                } else {
                    let geographic = ["GEOGCS[", "GEOGCRS[", "GEODCRS[", "GEOGRAPHICCRS["];
                    unit_in(text, &geographic).map(|radians| CrsUnit::Degrees(radians.to_degrees())).or_else(defined)
                }
            }
            Self::GeoKeys(keys) => {
                let code = |key| Self::code(keys, key).filter(|code| *code != 0);
                let geographic = match code(MODEL_TYPE) {
                    Some(GEOGRAPHIC) => true,
                    Some(PROJECTED) => false,
                    _ => code(PROJECTED_CRS).is_none() && code(METHOD).is_none() && code(GEODETIC_CRS).is_some(),
                };
                if geographic {
                    let size = || Self::number(keys, ANGULAR_UNIT_SIZE).map(f64::to_degrees);
                    let own = || code(GEODETIC_CRS).filter(|code| GRADS.contains(&u32::from(*code))).map(|_| 0.9);
                    let unit =
                        code(ANGULAR_UNITS).and_then(|code| if code == USER_DEFINED { size() } else { angle_of(code) });
                    Some(CrsUnit::Degrees(unit.or_else(own).unwrap_or(1.0)))
                } else {
                    linear_unit(keys).map(CrsUnit::Metres).or_else(defined)
                }
            }
        };
        let sane = |unit: &CrsUnit| matches!(unit, CrsUnit::Degrees(size) | CrsUnit::Metres(size) if *size > 0.0 && size.is_finite());
        stated.filter(sane).unwrap_or(CrsUnit::Metres(1.0))
    }

    /// Returns its definition, with easting before northing, if this program knows it.
    fn definition(&self) -> Option<CrsDef> {
        let crs = match self {
            Self::Unknown => None,
            Self::Epsg(code) => lookup_epsg(*code),
            Self::Wkt(text) => proj_wkt::parse_crs(text).ok(),
            Self::GeoKeys(keys) => {
                let code = |key| Self::code(keys, key).filter(|code| !matches!(*code, 0 | USER_DEFINED)).map(u32::from);
                match code(PROJECTED_CRS) {
                    Some(code) => lookup_epsg(code),
                    None if Self::cited(keys).is_some() => proj_wkt::parse_crs(Self::cited(keys)?).ok(),
                    None if Self::code(keys, METHOD).is_some() => proj_wkt::parse_crs(&projection_of(keys)?).ok(),
                    None => code(GEODETIC_CRS).and_then(lookup_epsg),
                }
            }
        };
        crs.map(|crs| crs.with_axis_order(AxisOrder::EastNorth))
    }

    /// Returns its well-known text (WKT 1, as GDAL writes it), if it can be written.
    pub fn text(&self) -> Option<String> {
        let of_code = |code: u32| crs_definitions::from_code(u16::try_from(code).ok()?).map(|crs| crs.wkt.to_owned());
        match self {
            Self::Wkt(text) => Some(text.clone()),
            Self::GeoKeys(keys) if Self::cited(keys).is_some() => Self::cited(keys).map(str::to_owned),
            _ => match self.epsg() {
                Some(code) => of_code(code),
                // Of these, GDAL names the parameters differently.
                None => {
                    let text = proj_wkt::to_wkt(&self.definition()?).ok();
                    text.filter(|text| {
                        !["Polar_Stereographic", "Hotine", "Krovak"].iter().any(|method| text.contains(method))
                    })
                }
            },
        }
    }

    /// Returns its EPSG code, if it has one.
    pub(crate) fn epsg(&self) -> Option<u32> {
        let code = match self {
            Self::Epsg(code) => Some(*code),
            Self::GeoKeys(keys) => {
                let code = |key| Self::code(keys, key).filter(|code| !matches!(*code, 0 | USER_DEFINED)).map(u32::from);
                let projected = Self::code(keys, PROJECTED_CRS).is_some() || Self::code(keys, METHOD).is_some();
                code(PROJECTED_CRS).or_else(|| code(GEODETIC_CRS).filter(|_| !projected))
            }
            Self::Wkt(text) => authority(text),
            Self::Unknown => None,
        };
        code.or_else(|| self.definition().map(|crs| crs.epsg())).filter(|code| *code != 0)
    }

    /// Returns a short name: `EPSG:32612`, or the name of a user-defined system.
    pub fn name(&self) -> Option<String> {
        match self.epsg() {
            Some(code) => Some(format!("EPSG:{code}")),
            None => match self {
                Self::Unknown => None,
                Self::Wkt(text) => Some(text.split('"').nth(1).unwrap_or("user-defined").to_owned()),
                _ => Some("user-defined".to_owned()),
            },
        }
    }

    /// Returns its GeoTIFF keys for a raster of areas.
    pub(crate) fn keys(&self) -> Vec<(u16, GeoKey)> {
        let code = |key, code| (key, GeoKey::Code(code));
        let metric = vec![code(MODEL_TYPE, PROJECTED), code(LINEAR_UNITS, METRES)];
        let of_code = |number: u32, geographic: bool| {
            let number = u16::try_from(number).unwrap_or(USER_DEFINED);
            if geographic {
                vec![code(MODEL_TYPE, GEOGRAPHIC), code(GEODETIC_CRS, number)]
            } else {
                vec![code(MODEL_TYPE, PROJECTED), code(PROJECTED_CRS, number)]
            }
        };
        let mut keys = match self {
            Self::Unknown => metric,
            Self::GeoKeys(keys) => keys.clone(),
            Self::Epsg(number) => of_code(*number, matches!(self.unit(), CrsUnit::Degrees(_))),
            Self::Wkt(text) => match self.epsg() {
                Some(number) => of_code(number, matches!(self.unit(), CrsUnit::Degrees(_))),
                None if self.defined_keys().is_some() => self.defined_keys().unwrap_or_default(),
                None => {
                    let cited = GeoKey::Text(format!("{TEXT_CITATION}{text}"));
                    match self.unit() {
                        CrsUnit::Degrees(_) => {
                            vec![code(MODEL_TYPE, GEOGRAPHIC), (CITATION, cited), code(GEODETIC_CRS, USER_DEFINED)]
                        }
                        CrsUnit::Metres(size) => vec![
                            code(MODEL_TYPE, PROJECTED),
                            code(PROJECTED_CRS, USER_DEFINED),
                            (PROJECTED_CITATION, cited),
                            code(LINEAR_UNITS, USER_DEFINED),
                            (LINEAR_UNIT_SIZE, GeoKey::Numbers(vec![size])),
                        ],
                    }
                }
            },
        };
        keys.push(code(RASTER_TYPE, AREAS));
        keys.sort_by_key(|(key, _)| *key);
        keys
    }

    /// Returns the GeoTIFF keys of a user-defined system, if its projection has any.
    fn defined_keys(&self) -> Option<Vec<(u16, GeoKey)>> {
        use ProjectionMethod as Method;
        let crs = self.definition()?;
        let code = |key, code| (key, GeoKey::Code(code));
        let number = |key, value: f64| (key, GeoKey::Numbers(vec![value]));
        let (datum, base) = (crs.datum(), crs.base_geographic_crs_epsg().filter(|base| *base != 0));
        let mut keys = vec![code(ANGULAR_UNITS, 9102)];
        match base.and_then(|base| u16::try_from(base).ok()) {
            Some(base) => keys.push(code(GEODETIC_CRS, base)),
            None => {
                keys.extend([
                    code(GEODETIC_CRS, USER_DEFINED),
                    number(SEMI_MAJOR, datum.ellipsoid().semi_major_axis()),
                ]);
                let flattening = datum.ellipsoid().flattening();
                keys.push(number(INVERSE_FLATTENING, if flattening > 0.0 { 1.0 / flattening } else { 0.0 }));
                keys.push(code(
                    GEODETIC_DATUM,
                    u16::try_from(datum.epsg()).ok().filter(|code| *code != 0).unwrap_or(USER_DEFINED),
                ));
            }
        }
        let horizontal = crs.horizontal_crs()?;
        let Some(projected) = horizontal.as_projected() else {
            keys.push(code(MODEL_TYPE, GEOGRAPHIC));
            return Some(keys);
        };
        let unit = projected.linear_unit_to_meter();
        let origin = |lon: f64, lat: f64, east: f64, north: f64| {
            vec![number(3080, lon), number(3081, lat), number(3082, east / unit), number(3083, north / unit)]
        };
        let false_origin = |lon: f64, lat: f64, east: f64, north: f64| {
            vec![number(3084, lon), number(3085, lat), number(3086, east / unit), number(3087, north / unit)]
        };
        let (method, parameters) = match projected.method() {
            Method::TransverseMercator { lon0, lat0, k0, false_easting, false_northing } => {
                (1, [origin(lon0, lat0, false_easting, false_northing), vec![number(3092, k0)]].concat())
            }
            Method::LambertConformalConic { lon0, lat0, lat1, lat2, k0, false_easting, false_northing }
                if lat1 != lat2 && k0 == 1.0 =>
            {
                let parallels = vec![number(3078, lat1), number(3079, lat2)];
                (8, [false_origin(lon0, lat0, false_easting, false_northing), parallels].concat())
            }
            Method::LambertConformalConic { lon0, lat0, k0, false_easting, false_northing, .. } => {
                (9, [origin(lon0, lat0, false_easting, false_northing), vec![number(3092, k0)]].concat())
            }
            Method::AlbersEqualArea { lon0, lat0, lat1, lat2, false_easting, false_northing } => {
                let parallels = vec![number(3078, lat1), number(3079, lat2)];
                (11, [origin(lon0, lat0, false_easting, false_northing), parallels].concat())
            }
            Method::LambertAzimuthalEqualArea { lon0, lat0, false_easting, false_northing } => {
                let [_, _, east, north] = origin(lon0, lat0, false_easting, false_northing).try_into().ok()?;
                (10, vec![number(3088, lon0), number(3089, lat0), east, north])
            }
            Method::ObliqueStereographic { lon0, lat0, k0, false_easting, false_northing } => {
                (16, [origin(lon0, lat0, false_easting, false_northing), vec![number(3092, k0)]].concat())
            }
            _ => return None,
        };
        keys.extend([
            code(MODEL_TYPE, PROJECTED),
            code(PROJECTED_CRS, USER_DEFINED),
            code(3074, USER_DEFINED),
            code(METHOD, method),
        ]);
        if unit == 1.0 {
            keys.push(code(LINEAR_UNITS, METRES));
        } else {
            keys.extend([code(LINEAR_UNITS, USER_DEFINED), number(LINEAR_UNIT_SIZE, unit)]);
        }
        keys.extend(parameters);
        Some(keys)
    }

    /// Returns a conversion of its coordinates to longitude and latitude (WGS 84), if this program knows one.
    pub(crate) fn to_wgs84(&self) -> Option<Box<CoordinateConversion>> {
        if self.epsg() == Some(WGS_84) && self.unit() == CrsUnit::Degrees(1.0) {
            return Some(Box::new(Some));
        }
        let (crs, wgs_84) = (self.definition()?, lookup_epsg(WGS_84)?);
        let transform = Transform::from_horizontal_components(&crs, &wgs_84).ok()?;
        // Definitions of geographic systems are in degrees.
        let unit = if let CrsUnit::Degrees(unit) = self.unit() { unit } else { 1.0 };
        Some(Box::new(move |[x, y]| {
            let at = transform.convert(Coord { x: x * unit, y: y * unit }).ok()?;
            (at.x.is_finite() && at.y.is_finite()).then_some([at.x, at.y])
        }))
    }

    /// Returns width and height on the ground, in metres, of a cell of this size at a place: at its latitude for degrees, and corrected by
    /// the scale of cylindrical projections (as Web Mercator), which are nowhere near true to scale outside one parallel. The second value
    /// is `true` for the latter.
    pub(crate) fn ground_size(&self, cell: [f64; 2], [x, y]: [f64; 2]) -> ([f64; 2], bool) {
        /// Deviation of a scale that is left alone: a grid of a usual projection keeps its nominal cell size.
        const TRUE_TO_SCALE: f64 = 0.02;
        match self.unit() {
            CrsUnit::Degrees(unit) => {
                let degree = METRES_PER_DEGREE * unit;
                ([cell[0] * degree * (y * unit).to_radians().cos(), cell[1] * degree], false)
            }
            CrsUnit::Metres(unit) => {
                let nominal = cell.map(|side| side * unit);
                let method =
                    self.definition().and_then(|crs| crs.horizontal_crs()?.as_projected().map(|crs| crs.method()));
                use ProjectionMethod as Method;
                let is_cylindrical = matches!(
                    method,
                    Some(Method::WebMercator | Method::Mercator { .. } | Method::EquidistantCylindrical { .. })
                );
                let Some(to_wgs84) = self.to_wgs84().filter(|_| is_cylindrical) else { return (nominal, false) };
                let length = |from: Option<[f64; 2]>, to: Option<[f64; 2]>| {
                    let ([a, b], [c, d]) = (from?, to?);
                    let (east, north) = ((c - a) * b.midpoint(d).to_radians().cos(), d - b);
                    Some(east.hypot(north).to_radians() * EQUATOR_RADIUS)
                };
                let half = cell.map(|side| side / 2.0);
                let wide = length(to_wgs84([x - half[0], y]), to_wgs84([x + half[0], y]));
                let tall = length(to_wgs84([x, y - half[1]]), to_wgs84([x, y + half[1]]));
                let (Some(wide), Some(tall)) = (wide, tall) else { return (nominal, false) };
                let scales = [wide / nominal[0], tall / nominal[1]];
                let is_true = scales.iter().all(|scale| (scale - 1.0).abs() < TRUE_TO_SCALE || !scale.is_finite());
                if is_true { (nominal, false) } else { ([wide, tall], true) }
            }
        }
    }
}

/// Returns the EPSG code at the end of well-known text, which is that of the whole system.
fn authority(text: &str) -> Option<u32> {
    let compact: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let (_, last) = compact.rsplit_once("AUTHORITY[\"EPSG\",").or_else(|| compact.rsplit_once("ID[\"EPSG\","))?;
    last.strip_suffix("]]")?.trim_matches('"').parse().ok().filter(|_| !compact.starts_with("COMP"))
}

/// Returns the EPSG code of the system that well-known text without a code defines.
fn matching_code(text: &str) -> Option<u32> {
    let wanted = proj_wkt::parse_crs(text).ok()?.with_axis_order(AxisOrder::EastNorth);
    // Usual systems first, as deprecated ones may have the same definition.
    let usual = [32601..=32660, 32701..=32760, 25828..=25838, 26901..=26923, WGS_84..=WGS_84];
    let is_same = |code: &u32| lookup_epsg(*code).is_some_and(|crs| crs.semantically_equivalent(&wanted));
    usual.into_iter().flatten().chain(2000..=32766).find(is_same)
}

/// Returns the horizontal part of well-known text that has a vertical part, else `None`.
fn horizontal_part(text: &str) -> Option<&str> {
    const HORIZONTAL: [&str; 7] =
        ["PROJCS", "PROJCRS", "PROJECTEDCRS", "GEOGCS", "GEOGCRS", "GEODCRS", "GEOGRAPHICCRS"];
    const VERTICAL: [&str; 4] = ["VERT_CS", "VERTCRS", "VERTICALCRS", "VERTCS"];
    let (mut quoted, mut depth, mut has_vertical) = (false, 0_usize, false);
    // Depth and position of the first horizontal node, and its text once it is closed.
    let (mut start, mut part) = (None, None);
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '[' | '(' => {
                let before = text[..at].trim_end();
                let name = before.rsplit(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').next()?;
                let is_any = |names: &[&str]| names.iter().any(|other| name.eq_ignore_ascii_case(other));
                has_vertical |= is_any(&VERTICAL);
                if start.is_none() && is_any(&HORIZONTAL) {
                    start = Some((depth, before.len() - name.len()));
                }
                depth += 1;
            }
            ']' | ')' => {
                depth = depth.checked_sub(1)?;
                if let Some((_, from)) = start.filter(|(outer, _)| *outer == depth && part.is_none()) {
                    part = text.get(from..=at);
                }
            }
            _ => {}
        }
    }
    part.filter(|_| has_vertical)
}

/// Returns the unit of the vertical part of well-known text, in metres, if it has one. The text of ESRI appends it to the horizontal part.
fn vertical_unit(text: &str) -> Option<f64> {
    let stated = proj_wkt::parse_crs(text).ok().and_then(|crs| Some(crs.vertical_crs()?.linear_unit_to_meter()));
    stated.or_else(|| unit_in(text, &["VERT_CS[", "VERTCRS[", "VERTICALCRS[", "VERTCS["]))
}

/// Returns the factor of the unit that is a part of the first of these nodes of well-known text, or of its axes, as in WKT 2.
fn unit_in(text: &str, nodes: &[&str]) -> Option<f64> {
    const UNITS: [&str; 3] = ["UNIT", "LENGTHUNIT", "ANGLEUNIT"];
    let upper = text.to_ascii_uppercase().replace('(', "[").replace(')', "]");
    let start = nodes.iter().find_map(|node| upper.find(node).map(|at| at + node.len()))?;
    // Names of the open nodes inside.
    let mut open: Vec<&str> = Vec::new();
    let mut quoted = false;
    for (at, letter) in upper[start..].char_indices().map(|(at, letter)| (start + at, letter)) {
        match letter {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '[' => {
                let word =
                    upper[..at].rsplit(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default();
                if open.iter().all(|node| *node == "AXIS") && UNITS.contains(&word) {
                    let (_, after) = text.get(at + 1..)?.trim_start().strip_prefix('"')?.split_once('"')?;
                    return after.trim_start_matches([',', ' ']).split([',', ']', ')']).next()?.trim().parse().ok();
                }
                open.push(word);
            }
            ']' if open.pop().is_none() => return None,
            _ => {}
        }
    }
    None
}

/// Returns the PROJ definition of a user-defined projection.
fn projection_of(keys: &[(u16, GeoKey)]) -> Option<String> {
    let number = |key| Crs::number(keys, key);
    let first = |wanted: &[u16]| wanted.iter().find_map(|key| number(*key)).unwrap_or(0.0);
    let unit = linear_unit(keys).unwrap_or(1.0);
    // Natural, false and centre origins, and scales. False origins are in the linear unit.
    let (lat, lon) = (first(&[3081, 3085, 3089]), first(&[3080, 3084, 3088, 3095]));
    let (east, north) = (first(&[3082, 3086, 3090]) * unit, first(&[3083, 3087, 3091]) * unit);
    let scale = number(3092).or_else(|| number(3093)).unwrap_or(1.0);
    let parallels = format!("+lat_1={} +lat_2={}", first(&[3078]), first(&[3079]));
    let method = match Crs::code(keys, METHOD)? {
        1 => format!("+proj=tmerc +lat_0={lat} +lon_0={lon} +k={scale}"),
        7 => format!("+proj=merc +lon_0={lon} +k={scale}"),
        8 => format!("+proj=lcc +lat_0={lat} +lon_0={lon} {parallels}"),
        9 => format!("+proj=lcc +lat_1={lat} +lat_0={lat} +lon_0={lon} +k_0={scale}"),
        10 => format!("+proj=laea +lat_0={lat} +lon_0={lon}"),
        11 => format!("+proj=aea +lat_0={lat} +lon_0={lon} {parallels}"),
        12 => format!("+proj=aeqd +lat_0={lat} +lon_0={lon}"),
        15 => format!("+proj=stere +lat_0={} +lat_ts={lat} +lon_0={lon} +k={scale}", 90_f64.copysign(lat)),
        16 => format!("+proj=sterea +lat_0={lat} +lon_0={lon} +k={scale}"),
        17 => format!("+proj=eqc +lat_0=0 +lat_ts={} +lon_0={lon}", first(&[3078])),
        18 => format!("+proj=cass +lat_0={lat} +lon_0={lon}"),
        _ => return None,
    };
    let datum = match Crs::code(keys, GEODETIC_CRS) {
        Some(4326) => "+datum=WGS84".to_owned(),
        Some(4269) => "+datum=NAD83".to_owned(),
        Some(4267) => "+datum=NAD27".to_owned(),
        Some(4258 | 4283 | 7844 | 4167 | 4140 | 4617) => "+ellps=GRS80".to_owned(),
        _ if Crs::code(keys, GEODETIC_DATUM) == Some(6326) || Crs::code(keys, ELLIPSOID) == Some(7030) => {
            "+datum=WGS84".to_owned()
        }
        _ if Crs::code(keys, ELLIPSOID) == Some(7019) => "+ellps=GRS80".to_owned(),
        _ => match (number(SEMI_MAJOR), number(SEMI_MINOR), number(INVERSE_FLATTENING)) {
            (Some(a), _, Some(flattening)) if flattening > 0.0 => format!("+a={a} +rf={flattening}"),
            (Some(a), Some(b), _) => format!("+a={a} +b={b}"),
            _ => return None,
        },
    };
    let unit = if unit == 1.0 { "+units=m".to_owned() } else { format!("+to_meter={unit}") };
    Some(format!("{method} +x_0={east} +y_0={north} {datum} {unit} +no_defs"))
}

/// Returns the linear unit that the keys of a GeoTIFF state, in metres.
fn linear_unit(keys: &[(u16, GeoKey)]) -> Option<f64> {
    match Crs::code(keys, LINEAR_UNITS)? {
        USER_DEFINED => Crs::number(keys, LINEAR_UNIT_SIZE),
        code => length_of(code),
    }
}
