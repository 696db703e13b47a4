//! Coordinate reference systems: their units, GeoTIFF keys (OGC 19-008r4), well-known text and coordinates in WGS 84.

use std::ops::RangeInclusive;

use proj_core::{
    AxisOrder, Coord, CrsDef, Datum, DatumToWgs84, HelmertParams, ProjectionMethod, Transform, lookup_epsg,
    lookup_vertical_epsg,
};

use super::origin::{Crs, GeoKey};

/// GeoKeys: model type, raster type, and those of the horizontal and vertical systems.
const MODEL_TYPE: u16 = 1024;
pub(crate) const RASTER_TYPE: u16 = 1025;
const CITATION: u16 = 1026;
const GEODETIC_CRS: u16 = 2048;
const GEODETIC_CITATION: u16 = 2049;
const GEODETIC_DATUM: u16 = 2050;
const ANGULAR_UNITS: u16 = 2054;
const ANGULAR_UNIT_SIZE: u16 = 2055;
const ELLIPSOID: u16 = 2056;
const SEMI_MAJOR: u16 = 2057;
const SEMI_MINOR: u16 = 2058;
const INVERSE_FLATTENING: u16 = 2059;
const PRIME_MERIDIAN: u16 = 2061;
const TO_WGS_84: u16 = 2062;
const PROJECTED_CRS: u16 = 3072;
const PROJECTED_CITATION: u16 = 3073;
const METHOD: u16 = 3075;
const STANDARD_PARALLEL: u16 = 3078;
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

/// Returns `true` for the mean radius of any ellipsoid of the Earth, in metres.
fn is_radius_of_earth(radius: f64) -> bool {
    (radius / EQUATOR_RADIUS - 1.0).abs() < 0.01
}

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
        9031 => 1.000_013_596_5,
        9033 => 66.0 * 1200.0 / 3937.0,
        9034 => 0.66 * 1200.0 / 3937.0,
        9035 => 5280.0 * 1200.0 / 3937.0,
        9036 => 1000.0,
        9037 => 0.914_391_796_2,
        9038 => 20.116_619_516_4,
        9039 => 0.201_166_195_164,
        9040 => 0.914_398_414_616_028_7,
        9041 => 0.304_799_471_538_676_2,
        9042 => 20.116_765_121_552_632,
        9043 => 0.201_167_651_215_526_3,
        9050 => 0.914_399_2,
        9051 => 0.914_399_2 / 3.0,
        9052 => 20.116_782_4,
        9053 => 0.201_167_824,
        9060 => 0.914_399_204_289_812_4,
        9061 => 0.914_399_204_289_812_4 / 3.0,
        9062 => 20.116_782_494_375_872,
        9063 => 0.201_167_824_943_758_7,
        9070 => 0.914_402_5 / 3.0,
        9080 => 0.304_799_510_248_146_94,
        9081 => 0.304_798_41,
        9082 => 0.304_799_6,
        9083 => 0.304_799_5,
        9084 => 0.914_398_530_744_440_8,
        9085 => 0.914_395_23,
        9086 => 0.914_398_8,
        9087 => 0.914_398_5,
        9093 => 1609.344,
        9094 => 0.304_799_710_181_508_8,
        9095 => 0.304_800_749_1,
        9096 => 0.9144,
        9097 => 20.1168,
        9098 => 0.201_168,
        9099 => 0.914_398,
        9300 => 0.914_398 / 3.0,
        9301 => 20.116_756,
        9302 => 0.201_167_56,
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
///
/// Words that follow do not matter: "feet above mean sea level". Other words may precede it in front of "in" or a bracket: "NAVD88 height
/// (ftUS)".
pub(crate) fn length_named(name: &str) -> Option<(f64, &'static str)> {
    let words: Vec<&str> = name.split_whitespace().collect();
    // In "in metres", the first word is no unit.
    let words = if words.len() > 1 && words[0].eq_ignore_ascii_case("in") { &words[1..] } else { &words[..] };
    let whole = (1..=words.len()).rev().find_map(|count| exact_length_named(&words[..count].concat()));
    let last = || {
        let (_, last) = name.rsplit_once(['(', '[']).or_else(|| name.rsplit_once(" in "))?;
        length_named(last)
    };
    whole.or_else(last)
}

fn exact_length_named(name: &str) -> Option<(f64, &'static str)> {
    let name: String = name.to_lowercase().chars().filter(|letter| letter.is_alphanumeric()).collect();
    Some(match name.as_str() {
        "m" | "metre" | "metres" | "meter" | "meters" => (1.0, "metres"),
        "ft" | "foot" | "feet" | "internationalfoot" | "internationalfeet" | "intft" | "ftint" => (0.3048, "feet"),
        "usft" | "ftus" | "sft" | "sfoot" | "sfeet" | "ussurveyft" | "ussurveyfoot" | "ussurveyfeet" | "surveyft"
        | "surveyfoot" | "surveyfeet" | "ftussurvey" | "footussurvey" | "feetussurvey" | "footus" | "feetus"
        | "usfoot" | "usfeet" | "ussft" => (1200.0 / 3937.0, "US survey feet"),
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
    /// Creates a system from an authority code, well-known text or the `.prj` of ArcInfo; `Unknown` from any other text.
    pub(crate) fn of_text(text: &str) -> Self {
        let text = text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\0' || letter == '\u{feff}');
        let code = text.get(..5).filter(|prefix| prefix.eq_ignore_ascii_case("EPSG:")).map(|_| &text[5..]);
        match code.and_then(|code| code.trim().parse().ok()) {
            Some(code) => Self::Epsg(code),
            None if !is_wkt(text) => arc_info_code(text).map_or(Self::Unknown, Self::Epsg),
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
                if are_geographic(keys) {
                    let size = || Self::number(keys, ANGULAR_UNIT_SIZE).map(f64::to_degrees);
                    let own = || code(GEODETIC_CRS).filter(|code| GRADS.contains(&u32::from(*code))).map(|_| 0.9);
                    let unit =
                        code(ANGULAR_UNITS).and_then(|code| if code == USER_DEFINED { size() } else { angle_of(code) });
                    Some(CrsUnit::Degrees(unit.or_else(own).unwrap_or(1.0)))
                } else {
                    let cited = || Self::cited(keys).map(|text| Self::Wkt(text.to_owned()).unit());
                    linear_unit(keys).map(CrsUnit::Metres).or_else(cited).or_else(defined)
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
            Self::GeoKeys(keys) => match keyed_code(keys) {
                Some(code) => lookup_epsg(code),
                None => proj_wkt::parse_crs(&self.text()?).ok(),
            },
        };
        crs.map(|crs| crs.with_axis_order(AxisOrder::EastNorth))
    }

    /// Returns its well-known text (WKT 1, as GDAL writes it), if it can be written.
    pub fn text(&self) -> Option<String> {
        let of_code = |code: u32| {
            let known = u16::try_from(code).ok().and_then(crs_definitions::from_code).map(|crs| crs.wkt.to_owned());
            known.or_else(|| proj_wkt::to_wkt(&lookup_epsg(code)?).ok())
        };
        match self {
            Self::Unknown => None,
            Self::Epsg(code) => of_code(*code),
            Self::Wkt(text) => Some(text.clone()),
            Self::GeoKeys(keys) => match keyed_code(keys) {
                Some(code) => of_code(code),
                None => Self::cited(keys).map(str::to_owned).or_else(|| text_of_keys(keys)),
            },
        }
    }

    /// Returns its well-known text for a `.prj`, if it can be written. Programs read it in the dialect of ESRI, which has neither codes
    /// nor axes nor conversions of datums.
    pub(crate) fn prj(&self) -> Option<String> {
        let mut text = self.text()?;
        // A geographic system is certain only by its code.
        if text.starts_with("PROJCS[") {
            for node in [",AUTHORITY[", ",AXIS[", ",TOWGS84["] {
                while let Some(start) = text.find(node) {
                    let end = text[start..].find(']').map_or(text.len(), |length| start + length + 1);
                    text.replace_range(start..end, "");
                }
            }
        }
        Some(text)
    }

    /// Returns its EPSG code, if it has one.
    pub(crate) fn epsg(&self) -> Option<u32> {
        let code = match self {
            Self::Epsg(code) => Some(*code),
            Self::GeoKeys(keys) => keyed_code(keys),
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

    /// Returns a transformation to WGS 84, if this program knows one, and `true` if it leaves coordinates on the ellipsoid of the system
    /// because the datum is unknown.
    fn transform(&self) -> Option<(Transform, bool)> {
        let (crs, wgs_84) = (self.definition()?, lookup_epsg(WGS_84)?);
        if let Ok(exact) = Transform::from_horizontal_components(&crs, &wgs_84) {
            return Some((exact, false));
        }
        let ellipsoid = crs.datum().ellipsoid();
        if !is_radius_of_earth(ellipsoid.semi_major_axis()) {
            return None;
        }
        if crs.datum().has_known_wgs84_transform() {
            // A shift that the text itself declares.
            let declared = proj_wkt::transform_from_crs_strings(&self.text()?, &format!("EPSG:{WGS_84}"));
            return Some((declared.ok()?, false));
        }
        // Both systems have one datum.
        let datum = Datum::new(ellipsoid, DatumToWgs84::Helmert(HelmertParams::identity())).ok()?;
        let (crs, wgs_84) = (crs.with_datum(datum.clone()), wgs_84.with_datum(datum));
        Some((Transform::from_horizontal_components(&crs, &wgs_84).ok()?, true))
    }

    /// Returns `true` if its coordinates can be converted to longitude and latitude, but not to a datum.
    pub(crate) fn lacks_datum(&self) -> bool {
        self.transform().is_some_and(|(_, lacks_datum)| lacks_datum)
    }

    /// Returns a conversion of its coordinates to longitude and latitude (WGS 84), if this program knows one. If [`Self::lacks_datum`],
    /// they are those on its ellipsoid.
    pub(crate) fn to_wgs84(&self) -> Option<Box<CoordinateConversion>> {
        if self.epsg() == Some(WGS_84) && self.unit() == CrsUnit::Degrees(1.0) {
            return Some(Box::new(Some));
        }
        let (transform, _) = self.transform()?;
        // Definitions of geographic systems are in degrees.
        let unit = if let CrsUnit::Degrees(unit) = self.unit() { unit } else { 1.0 };
        Some(Box::new(move |[x, y]| {
            let at = transform.convert(Coord { x: x * unit, y: y * unit }).ok()?;
            (at.x.is_finite() && at.y.is_finite()).then_some([at.x, at.y])
        }))
    }

    /// Returns the mean radius of its ellipsoid, in metres, if its text states one.
    fn mean_radius(&self) -> Option<f64> {
        let text = self.text()?;
        let upper = text.to_ascii_uppercase().replace('(', "[");
        let start = ["SPHEROID[", "ELLIPSOID["].into_iter().find_map(|node| Some(upper.find(node)? + node.len()))?;
        let (_, numbers) = text.get(start..)?.trim_start().strip_prefix('"')?.split_once('"')?;
        let mut numbers = numbers.split([',', ']', ')']).skip(1).map(|number| number.trim().parse::<f64>().ok());
        let (axis, inverse_flattening) = (numbers.next()??, numbers.next()??);
        let flattening = if inverse_flattening > 0.0 { 1.0 / inverse_flattening } else { 0.0 };
        Some(axis * (1.0 - flattening / 3.0)).filter(|radius| *radius > 0.0)
    }

    /// Returns width and height on the ground, in metres, of a cell of this size at a place: at its latitude for degrees, and corrected by
    /// the scale of cylindrical projections (as Web Mercator), which are nowhere near true to scale outside one parallel. The second value
    /// is `true` for the latter.
    pub(crate) fn ground_size(&self, cell: [f64; 2], [x, y]: [f64; 2]) -> ([f64; 2], bool) {
        /// Deviation of a scale that is left alone: a grid of a usual projection keeps its nominal cell size.
        const TRUE_TO_SCALE: f64 = 0.02;
        match self.unit() {
            CrsUnit::Degrees(unit) => {
                // An arc of one degree has the length of the radius times the degree in radians.
                let other = self.mean_radius().filter(|radius| !is_radius_of_earth(*radius));
                let degree = other.map_or(METRES_PER_DEGREE, f64::to_radians) * unit;
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

/// Returns `true` if a text begins with a node of well-known text that defines a system.
fn is_wkt(text: &str) -> bool {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(text.len());
    let (word, rest) = (text[..end].to_ascii_uppercase(), text[end..].trim_start());
    rest.starts_with(['[', '('])
        && ["PROJ", "GEO", "COMP", "BOUND", "LOCAL", "ENG"].iter().any(|start| word.starts_with(start))
}

/// Returns the EPSG code of a `.prj` of ArcInfo, which has a word and its value per line, if it states a datum: degrees, or a zone of UTM.
fn arc_info_code(text: &str) -> Option<u32> {
    let value = |wanted: &str| {
        text.lines().find_map(|line| {
            let (word, value) = line.trim().split_once(char::is_whitespace)?;
            word.eq_ignore_ascii_case(wanted).then(|| value.trim().to_ascii_uppercase())
        })
    };
    let shift = |axis: &str| value(axis).map_or(Some(0.0), |shift| shift.parse::<f64>().ok());
    // Code in degrees, code before that of the first northern zone, and last zone.
    let (degrees, utm, last) = match value("Datum")?.as_str() {
        "WGS84" => (WGS_84, 32600, 60),
        "NAD83" => (4269, 26900, 23),
        "NAD27" => (4267, 26700, 22),
        _ => return None,
    };
    match (value("Projection")?.as_str(), value("Units")?.as_str()) {
        ("GEOGRAPHIC", "DD") => Some(degrees),
        ("UTM", "METERS" | "METRES") => {
            let zone = value("Zone")?.parse::<u32>().ok().filter(|zone| (1..=last).contains(zone))?;
            (shift("Xshift")? == 0.0 && shift("Yshift")? == 0.0).then_some(utm + zone)
        }
        _ => None,
    }
}

/// Returns the EPSG code at the end of well-known text, which is that of the whole system.
fn authority(text: &str) -> Option<u32> {
    let compact: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    let (_, last) = compact.rsplit_once("AUTHORITY[\"EPSG\",").or_else(|| compact.rsplit_once("ID[\"EPSG\","))?;
    last.strip_suffix("]]")?.trim_matches('"').parse().ok().filter(|_| !compact.starts_with("COMP"))
}

/// Returns the EPSG code of the system that well-known text without a code defines, if its geographic system is certain: many of them
/// share an ellipsoid.
fn matching_code(text: &str) -> Option<u32> {
    const CODES: RangeInclusive<u32> = 2000..=32766;
    let parsed = |text: &str| proj_wkt::parse_crs(text).ok().map(|crs| crs.with_axis_order(AxisOrder::EastNorth));
    let (wanted, names) = (parsed(text), names_in(text));
    let names_of = |code: u32| {
        let crs = u16::try_from(code).ok().and_then(crs_definitions::from_code);
        crs.map_or([const { None }; 2], |crs| names_in(crs.wkt))
    };
    // Of the same name: as text that this program wrote, or another of the same meaning.
    let is_written = |code: &u32| {
        let own = Crs::Epsg(*code).prj().unwrap_or_default();
        let means_same = || {
            wanted.as_ref().is_some_and(|wanted| parsed(&own).is_some_and(|own| own.semantically_equivalent(wanted)))
        };
        own == text || means_same()
    };
    let mut named = CODES.filter(|code| names[0].is_some() && names_of(*code) == names);
    if let Some(code) = named.find(is_written) {
        return Some(code);
    }
    let wanted = wanted?;
    // Usual systems first, as deprecated ones may have the same definition.
    let usual = [32601..=32660, 32701..=32760, 25828..=25838, 26901..=26923, WGS_84..=WGS_84];
    let is_same = |code: &u32| lookup_epsg(*code).is_some_and(|crs| crs.semantically_equivalent(&wanted));
    let all = usual.into_iter().flatten().chain(CODES).filter(is_same);
    let all: Vec<(u32, Option<String>)> = all.map(|code| (code, names_of(code)[1].take())).collect();
    let named = all.iter().find(|(_, geographic)| names[1].is_some() && *geographic == names[1]);
    let only = || all.first().filter(|(_, first)| all.iter().all(|(_, other)| other == first));
    named.or_else(only).map(|(code, _)| *code)
}

/// Returns the names of a system and of its geographic part in well-known text, in the same spelling for ESRI (`GCS_ETRS_1989`) and the
/// EPSG (`ETRS89`).
fn names_in(text: &str) -> [Option<String>; 2] {
    let spelled = |text: &str| -> Option<String> {
        let name = text.split('"').nth(1)?.to_ascii_uppercase();
        let name: String = name.trim_start_matches("GCS_").chars().filter(char::is_ascii_alphanumeric).collect();
        let name = name.replace("NORTHAMERICAN", "NAD");
        // Years of the last century have two digits in names of the EPSG.
        let (mut short, mut rest) = (String::new(), name.as_str());
        while let Some(letter) = rest.chars().next() {
            let is_year = rest.starts_with("19") && rest.get(2..4).is_some_and(|year| year.parse::<u8>().is_ok());
            short.extend((!is_year).then_some(letter));
            rest = &rest[if is_year { 2 } else { 1 }..];
        }
        Some(short)
    };
    let upper = text.to_ascii_uppercase();
    let geographic = ["GEOGCS[", "GEOGCRS[", "GEODCRS["].into_iter().find_map(|node| upper.find(node));
    [spelled(text), geographic.and_then(|at| spelled(&upper[at..]))]
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

/// Parameter of a projection: its name in well-known text, and the keys that may hold it.
type ProjectionParameter = (&'static str, &'static [u16]);

const LATITUDE: ProjectionParameter = ("latitude_of_origin", &[3081, 3085, 3089]);
const LONGITUDE: ProjectionParameter = ("central_meridian", &[3080, 3084, 3088]);
const CENTRE_LATITUDE: ProjectionParameter = ("latitude_of_center", &[3089, 3081, 3085]);
const CENTRE_LONGITUDE: ProjectionParameter = ("longitude_of_center", &[3088, 3080, 3084]);
const PARALLEL: ProjectionParameter = ("standard_parallel_1", &[STANDARD_PARALLEL]);
const PARALLEL_2: ProjectionParameter = ("standard_parallel_2", &[3079]);
const SCALE: ProjectionParameter = ("scale_factor", &[3092, 3093]);
const AZIMUTH: ProjectionParameter = ("azimuth", &[3094]);
const GRID_ANGLE: ProjectionParameter = ("rectified_grid_angle", &[3096, 3094]);
const POLAR_LONGITUDE: ProjectionParameter = ("central_meridian", &[3095, 3080]);
/// Parameters of all projections.
const FALSE_ORIGIN: [ProjectionParameter; 2] =
    [("false_easting", &[3082, 3086, 3090]), ("false_northing", &[3083, 3087, 3091])];

/// Projections: code in GeoTIFF, name in well-known text, and parameters other than the false origin.
const PROJECTIONS: [(u16, &str, &[ProjectionParameter]); 25] = [
    (1, "Transverse_Mercator", &[LATITUDE, LONGITUDE, SCALE]),
    (3, "Hotine_Oblique_Mercator", &[CENTRE_LATITUDE, CENTRE_LONGITUDE, AZIMUTH, GRID_ANGLE, SCALE]),
    (9815, "Hotine_Oblique_Mercator_Azimuth_Center", &[CENTRE_LATITUDE, CENTRE_LONGITUDE, AZIMUTH, GRID_ANGLE, SCALE]),
    (7, "Mercator_1SP", &[LONGITUDE, SCALE]),
    (8, "Lambert_Conformal_Conic_2SP", &[LATITUDE, LONGITUDE, PARALLEL, PARALLEL_2]),
    (9, "Lambert_Conformal_Conic_1SP", &[LATITUDE, LONGITUDE, SCALE]),
    (10, "Lambert_Azimuthal_Equal_Area", &[CENTRE_LATITUDE, CENTRE_LONGITUDE]),
    (11, "Albers_Conic_Equal_Area", &[CENTRE_LATITUDE, CENTRE_LONGITUDE, PARALLEL, PARALLEL_2]),
    (12, "Azimuthal_Equidistant", &[CENTRE_LATITUDE, CENTRE_LONGITUDE]),
    (13, "Equidistant_Conic", &[CENTRE_LATITUDE, CENTRE_LONGITUDE, PARALLEL, PARALLEL_2]),
    (14, "Stereographic", &[LATITUDE, LONGITUDE, SCALE]),
    (15, "Polar_Stereographic", &[LATITUDE, POLAR_LONGITUDE, SCALE]),
    (16, "Oblique_Stereographic", &[LATITUDE, LONGITUDE, SCALE]),
    (17, "Equirectangular", &[PARALLEL, LONGITUDE]),
    (18, "Cassini_Soldner", &[LATITUDE, LONGITUDE]),
    (19, "Gnomonic", &[LATITUDE, LONGITUDE]),
    (20, "Miller_Cylindrical", &[CENTRE_LONGITUDE]),
    (21, "Orthographic", &[LATITUDE, LONGITUDE]),
    (22, "Polyconic", &[LATITUDE, LONGITUDE]),
    (23, "Robinson", &[CENTRE_LONGITUDE]),
    (24, "Sinusoidal", &[CENTRE_LONGITUDE]),
    (25, "VanDerGrinten", &[LONGITUDE]),
    (26, "New_Zealand_Map_Grid", &[LATITUDE, LONGITUDE]),
    (27, "Transverse_Mercator_South_Orientated", &[LATITUDE, LONGITUDE, SCALE]),
    (28, "Cylindrical_Equal_Area", &[PARALLEL, LONGITUDE]),
];
/// Mercator with a standard parallel rather than a scale.
const MERCATOR: u16 = 7;
const MERCATOR_2SP: (&str, &[ProjectionParameter]) = ("Mercator_2SP", &[PARALLEL, LONGITUDE]);

/// Returns the well-known text of a user-defined system.
fn text_of_keys(keys: &[(u16, GeoKey)]) -> Option<String> {
    let geographic = geographic_text(keys)?;
    let number = |key| Crs::number(keys, key);
    let Some(method) = Crs::code(keys, METHOD) else {
        return are_geographic(keys).then_some(geographic);
    };
    let (_, name, parameters) = PROJECTIONS.into_iter().find(|(code, ..)| *code == method)?;
    let is_tangent = method != MERCATOR || number(STANDARD_PARALLEL).is_none();
    let (name, parameters) = if is_tangent { (name, parameters) } else { MERCATOR_2SP };
    let parameters = parameters.iter().chain(&FALSE_ORIGIN).map(|(name, keys)| {
        let default = if *name == SCALE.0 { 1.0 } else { 0.0 };
        let value = keys.iter().find_map(|key| number(*key)).unwrap_or(default);
        format!("PARAMETER[\"{name}\",{value}],")
    });
    let parameters: String = parameters.collect();
    let unit = linear_unit(keys).unwrap_or(1.0);
    let unit_name = if unit == 1.0 { "metre" } else { "unknown" };
    let axes = "AXIS[\"Easting\",EAST],AXIS[\"Northing\",NORTH]";
    // The axes of polar projections depend on the pole.
    let axes = if name == "Polar_Stereographic" { String::new() } else { format!(",{axes}") };
    Some(format!(
        "PROJCS[\"user-defined\",{geographic},PROJECTION[\"{name}\"],{parameters}UNIT[\"{unit_name}\",{unit}]{axes}]"
    ))
}

/// Returns the well-known text of the geographic part of a user-defined system in degrees.
fn geographic_text(keys: &[(u16, GeoKey)]) -> Option<String> {
    let code = |key| Crs::code(keys, key).filter(|code| !matches!(*code, 0 | USER_DEFINED));
    let number = |key| Crs::number(keys, key).filter(|number| *number > 0.0);
    if code(ANGULAR_UNITS).is_some_and(|code| angle_of(code) != Some(1.0)) {
        return None;
    }
    // The code of a datum is that of its usual geographic system plus 2000.
    let known = code(GEODETIC_CRS).or_else(|| code(GEODETIC_DATUM)?.checked_sub(2000));
    if let Some(known) = known.and_then(crs_definitions::from_code).filter(|crs| crs.wkt.starts_with("GEOGCS")) {
        return Some(known.wkt.to_owned());
    }
    let (axis, flattening) = match (code(ELLIPSOID), number(SEMI_MAJOR), number(SEMI_MINOR), number(INVERSE_FLATTENING))
    {
        (_, Some(axis), _, Some(flattening)) => (axis, flattening),
        (_, Some(axis), Some(minor), None) if minor < axis => (axis, axis / (axis - minor)),
        (_, Some(axis), _, None) => (axis, 0.0),
        (Some(7030), ..) => (EQUATOR_RADIUS, 298.257_223_563),
        (Some(7019), ..) => (EQUATOR_RADIUS, 298.257_222_101),
        _ => return None,
    };
    let citation = keys.iter().find_map(|(key, value)| match value {
        GeoKey::Text(text) if *key == GEODETIC_CITATION => Some(text.as_str()),
        _ => None,
    });
    // Names as GDAL writes them: "GCS Name = a|Datum = b|Ellipsoid = c|Primem = d|".
    let name = |field: &str| {
        let parts = citation.unwrap_or_default().split('|').filter_map(|part| part.split_once(" = "));
        let found = parts.into_iter().find(|(name, _)| *name == field);
        found.map_or("unknown", |(_, value)| value).replace('"', "'")
    };
    let [system, datum, ellipsoid] = ["GCS Name", "Datum", "Ellipsoid"].map(name);
    let meridian = Crs::number(keys, PRIME_MERIDIAN).unwrap_or(0.0);
    let shift = keys.iter().find_map(|(key, value)| match value {
        GeoKey::Numbers(shift) if *key == TO_WGS_84 && [3, 7].contains(&shift.len()) => {
            let shift: Vec<String> = shift.iter().map(f64::to_string).collect();
            Some(format!(",TOWGS84[{}]", shift.join(",")))
        }
        _ => None,
    });
    let shift = shift.unwrap_or_default();
    Some(format!(
        "GEOGCS[\"{system}\",DATUM[\"{datum}\",SPHEROID[\"{ellipsoid}\",{axis},{flattening}]{shift}],PRIMEM[\"{}\",{meridian}],\
         UNIT[\"degree\",0.0174532925199433]]",
        if meridian == 0.0 { "Greenwich".to_owned() } else { name("Primem") }
    ))
}

/// Returns the EPSG code in the keys of a GeoTIFF, unless they state another unit than that of the code.
fn keyed_code(keys: &[(u16, GeoKey)]) -> Option<u32> {
    let code = |key| Crs::code(keys, key).filter(|code| !matches!(*code, 0 | USER_DEFINED)).map(u32::from);
    let is_projected = !are_geographic(keys);
    let code = code(PROJECTED_CRS).or_else(|| code(GEODETIC_CRS).filter(|_| !is_projected))?;
    let stated = if is_projected {
        linear_unit(keys).map(CrsUnit::Metres)
    } else {
        Crs::code(keys, ANGULAR_UNITS).and_then(angle_of).map(CrsUnit::Degrees)
    };
    let is_own = match (Crs::Epsg(code).unit(), stated) {
        (CrsUnit::Metres(own), Some(CrsUnit::Metres(stated)))
        | (CrsUnit::Degrees(own), Some(CrsUnit::Degrees(stated))) => (own / stated - 1.0).abs() < 1e-7,
        _ => true,
    };
    (is_own || lookup_epsg(code).is_none()).then_some(code)
}

/// Returns `true` if the keys of a GeoTIFF state a geographic system. Those of a projection without a GeoTIFF code may state neither a
/// projected system nor a method, but a citation (as GDAL writes well-known text) or a linear unit.
fn are_geographic(keys: &[(u16, GeoKey)]) -> bool {
    let code = |key| Crs::code(keys, key).filter(|code| *code != 0);
    let is_linear = |(key, _): &(u16, GeoKey)| [PROJECTED_CITATION, LINEAR_UNITS].contains(key);
    match code(MODEL_TYPE) {
        Some(GEOGRAPHIC) => true,
        Some(PROJECTED) => false,
        _ => {
            let is_projected = [PROJECTED_CRS, METHOD].into_iter().any(|key| code(key).is_some());
            !is_projected && !keys.iter().any(is_linear) && code(GEODETIC_CRS).is_some()
        }
    }
}

/// Returns the linear unit that the keys of a GeoTIFF state, in metres.
fn linear_unit(keys: &[(u16, GeoKey)]) -> Option<f64> {
    match Crs::code(keys, LINEAR_UNITS)? {
        USER_DEFINED => Crs::number(keys, LINEAR_UNIT_SIZE),
        code => length_of(code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datums_of_the_same_ellipsoid_are_distinguished() {
        let utm = |system: &str, datum: &str, axis: &str| {
            format!(
                "PROJCS[\"mine\",GEOGCS[\"GCS_{system}\",DATUM[\"D_{datum}\",SPHEROID[\"GRS_1980\",6378137.0,{axis}]],\
                 PRIMEM[\"Greenwich\",0.0],UNIT[\"Degree\",0.0174532925199433]],PROJECTION[\"Transverse_Mercator\"],\
                 PARAMETER[\"False_Easting\",500000.0],PARAMETER[\"False_Northing\",0.0],PARAMETER[\"Central_Meridian\",15.0],\
                 PARAMETER[\"Scale_Factor\",0.9996],PARAMETER[\"Latitude_Of_Origin\",0.0],UNIT[\"Meter\",1.0]]"
            )
        };
        for (system, datum, axis, code) in [
            ("ETRS_1989", "ETRS_1989", "298.257222101", Some(25833)),
            ("SWEREF99", "SWEREF99", "298.257222101", Some(3006)),
            ("WGS_1984", "WGS_1984", "298.257223563", Some(32633)),
            ("unknown", "unknown", "298.257222101", None),
        ] {
            let text = utm(system, datum, axis);
            let crs = Crs::of_text(&text);
            assert_eq!(crs.epsg(), code, "{system}");
            assert!(code.is_some() || crs.text() == Some(text), "the text is kept");
        }
    }

    #[test]
    fn the_text_of_a_code_is_that_code_again() {
        for code in [2056, 2264, 3006, 3035, 3857, 4326, 5070, 5514, 25832, 27700, 31467, 32612] {
            let text = Crs::Epsg(code).prj().expect("it has a text");
            let has_nodes = ["AUTHORITY", "AXIS", "TOWGS84"].iter().any(|node| text.contains(node));
            assert_eq!(has_nodes, code == 4326, "{text}");
            assert_eq!(Crs::of_text(&text).epsg(), Some(code), "{text}");
        }
    }

    #[test]
    fn names_of_units_are_found_among_other_words() {
        let survey = ["US survey ft", "sfeet", "U.S. Survey Foot", "foot (US survey)", "NAVD88 height (ftUS)", "ftUS"];
        for (names, metres) in [
            (&survey[..], 1200.0 / 3937.0),
            (
                &["ft", "feet above mean sea level", "Elevation [ft]", "height in feet", "foot (international)"][..],
                0.3048,
            ),
            (&["m", "in metres", "metre (EGM96)", "NAVD88 height (m)"][..], 1.0),
            (&["in", "inches"][..], 0.0254),
        ] {
            for name in names {
                assert_eq!(length_named(name).map(|(size, _)| size), Some(metres), "{name}");
            }
        }
        for name in ["", "()", "height (", "NAVD88 height", "parsecs", "height (2009)", "made in 2009"] {
            assert_eq!(length_named(name), None, "{name}");
        }
    }

    #[test]
    fn units_of_length_have_the_factors_of_the_epsg() {
        for (code, metres) in [
            (9037, 0.914_391_796_2),
            (9051, 0.304_799_733_333_333_3),
            (9061, 0.304_799_734_763_270_8),
            (9070, 0.304_800_833_333_333_3),
            (9084, 0.914_398_530_744_440_8),
            (9300, 0.304_799_333_333_333_4),
            (9301, 20.116_756),
            (9302, 0.201_167_56),
        ] {
            assert!(length_of(code).is_some_and(|size| (size / metres - 1.0).abs() < 1e-12), "{code}");
        }
        // Of the same system, chains are 66 feet, yards 3 feet, and links a hundredth of a chain.
        for [foot, yard, chain, link] in [[9003, 0, 9033, 9034], [9005, 9037, 9038, 9039], [9041, 9040, 9042, 9043]]
            .into_iter()
            .chain([[9051, 9050, 9052, 9053], [9061, 9060, 9062, 9063], [9300, 9099, 9301, 9302]])
        {
            let foot = length_of(foot).expect("it is known");
            for (code, feet) in [(yard, 3.0), (chain, 66.0), (link, 0.66)] {
                let is_near = |size: f64| (size / foot / feet - 1.0).abs() < 1e-9;
                assert!(code == 0 || length_of(code).is_some_and(is_near), "{code}");
            }
        }
    }

    #[test]
    fn a_unit_beside_a_code_is_that_of_another_system() {
        let crs = |keys: &[(u16, u16)]| {
            Crs::of_geo_keys(keys.iter().map(|(key, code)| (*key, GeoKey::Code(*code))).collect())
        };
        let metric = crs(&[(MODEL_TYPE, PROJECTED), (PROJECTED_CRS, 32612), (LINEAR_UNITS, METRES)]);
        assert_eq!((metric.epsg(), metric.unit()), (Some(32612), CrsUnit::Metres(1.0)));
        let feet = crs(&[(MODEL_TYPE, PROJECTED), (PROJECTED_CRS, 32612), (LINEAR_UNITS, 9002)]);
        assert_eq!((feet.epsg(), feet.unit(), feet.text()), (None, CrsUnit::Metres(0.3048), None));
        let seconds = crs(&[(MODEL_TYPE, GEOGRAPHIC), (GEODETIC_CRS, 4326), (ANGULAR_UNITS, 9104)]);
        assert_eq!((seconds.epsg(), seconds.text()), (None, None));
    }

    #[test]
    fn a_projection_in_a_citation_is_not_geographic() {
        let text = "PROJCS[\"World_Mollweide\",GEOGCS[\"GCS_WGS_1984\",DATUM[\"D_WGS_1984\",SPHEROID[\"WGS_1984\",6378137.0,\
            298.257223563]],PRIMEM[\"Greenwich\",0.0],UNIT[\"Degree\",0.0174532925199433]],PROJECTION[\"Mollweide\"],\
            PARAMETER[\"Central_Meridian\",0.0],UNIT[\"Kilometer\",1000.0]]";
        let cited = GeoKey::Text(format!("{TEXT_CITATION}{text}"));
        let keys = [(MODEL_TYPE, USER_DEFINED), (GEODETIC_CRS, 4326), (ANGULAR_UNITS, 9102)];
        let keys = keys.map(|(key, code)| (key, GeoKey::Code(code)));
        let crs = Crs::of_geo_keys(keys.iter().cloned().chain([(PROJECTED_CITATION, cited)]).collect());
        assert_eq!((crs.unit(), crs.epsg(), crs.text()), (CrsUnit::Metres(1000.0), None, Some(text.to_owned())));
        let unit = (LINEAR_UNITS, GeoKey::Code(9002));
        assert_eq!(Crs::of_geo_keys(keys.iter().cloned().chain([unit]).collect()).unit(), CrsUnit::Metres(0.3048));
        assert_eq!(Crs::of_geo_keys(keys.to_vec()).unit(), CrsUnit::Degrees(1.0));
    }

    #[test]
    fn degrees_are_those_of_the_body() {
        let side = |crs: &Crs| crs.ground_size([1.0, 1.0], [10.0, 0.5]).0[1];
        let sphere = |radius: f64| {
            let codes = [(MODEL_TYPE, GEOGRAPHIC), (GEODETIC_CRS, USER_DEFINED), (ANGULAR_UNITS, 9102)];
            let axes = [SEMI_MAJOR, SEMI_MINOR].map(|key| (key, GeoKey::Numbers(vec![radius])));
            Crs::of_geo_keys(codes.map(|(key, code)| (key, GeoKey::Code(code))).into_iter().chain(axes).collect())
        };
        let mars = "GEOGCS[\"Mars\",DATUM[\"Mars\",SPHEROID[\"Mars\",3396190,169.8944472236]],\
            UNIT[\"Degree\",0.0174532925199433]]";
        for (crs, radius) in [
            (sphere(1_737_400.0), 1_737_400.0_f64),
            (sphere(3_396_190.0), 3_396_190.0),
            (Crs::Wkt(mars.to_owned()), 3_389_526.7),
        ] {
            assert!((side(&crs) / radius.to_radians() - 1.0).abs() < 1e-6, "{crs:?}: {}", side(&crs));
        }
        for crs in [Crs::Epsg(4326), Crs::Epsg(4267), Crs::Epsg(4314), sphere(6_371_000.0)] {
            assert_eq!(side(&crs), METRES_PER_DEGREE, "{crs:?}");
        }
    }

    #[test]
    fn only_well_known_text_codes_and_arc_info_files_are_systems() {
        let utm = |zone: &str, datum: &str, more: &str| {
            format!(
                "Projection    UTM\nZone          {zone}\nDatum         {datum}\nUnits         METERS\n{more}Parameters\n"
            )
        };
        for (text, code) in [
            (utm("12", "WGS84", "Xshift 0.0\r\nYshift 0.0\r\n"), Some(32612)),
            (utm("33", "WGS84", ""), Some(32633)),
            (utm("12", "NAD83", ""), Some(26912)),
            (utm("12", "NAD27", ""), Some(26712)),
            (utm("12", "WGS84", "Yshift 10000000.0\n"), None),
            (utm("-12", "WGS84", ""), None),
            (utm("33", "NAD83", ""), None),
            (utm("33", "EUR-M", ""), None),
            ("Projection GEOGRAPHIC\nDatum WGS84\nUnits DD\nParameters\n".to_owned(), Some(4326)),
            ("Projection GEOGRAPHIC\nDatum NAD27\nUnits DS\nParameters\n".to_owned(), None),
            ("GEOGRAPHIC\n".to_owned(), None),
            ("+proj=utm +zone=12 +datum=WGS84".to_owned(), None),
            ("epsg: 2056".to_owned(), Some(2056)),
        ] {
            assert_eq!(Crs::of_text(&text), code.map_or(Crs::Unknown, Crs::Epsg), "{text}");
        }
        let local = "\u{feff}LOCAL_CS (\"mine\", UNIT[\"metre\", 1])";
        assert_eq!(Crs::of_text(local), Crs::Wkt(local[3..].to_owned()));
    }

    #[test]
    fn systems_without_a_datum_are_converted_on_their_ellipsoid() {
        let laea = |axis: f64, datum: &str| {
            Crs::of_text(&format!(
                "PROJCS[\"mine\",GEOGCS[\"unknown\",DATUM[\"unknown\",SPHEROID[\"unknown\",{axis},299.1528128]{datum}],\
                 PRIMEM[\"Greenwich\",0],UNIT[\"degree\",0.0174532925199433]],PROJECTION[\"Lambert_Azimuthal_Equal_Area\"],\
                 PARAMETER[\"latitude_of_center\",45],PARAMETER[\"longitude_of_center\",10],PARAMETER[\"false_easting\",0],\
                 PARAMETER[\"false_northing\",0],UNIT[\"metre\",1]]"
            ))
        };
        let bessel = laea(6_377_397.155, "");
        let [x, y] = bessel.to_wgs84().expect("it has an ellipsoid")([0.0, 0.0]).expect("it is its centre");
        assert!(bessel.lacks_datum() && (x - 10.0).abs() < 1e-9 && (y - 45.0).abs() < 1e-9, "{x}, {y}");
        let shifted = laea(6_377_397.155, ",TOWGS84[582,105,414,1.04,0.35,-3.08,8.3]");
        let [x, y] = shifted.to_wgs84().expect("it has a datum")([0.0, 0.0]).expect("it is its centre");
        let metres = ((x - 10.0) * 78_800.0).hypot((y - 45.0) * 111_100.0);
        assert!(!shifted.lacks_datum() && (1.0..500.0).contains(&metres), "{metres} m");
        let mars = laea(3_396_190.0, "");
        assert!(mars.to_wgs84().is_none() && !mars.lacks_datum(), "longitudes on Mars are not those of the Earth");
        assert!(!Crs::Epsg(32612).lacks_datum());
    }

    #[test]
    fn systems_of_users_have_texts() {
        let keys = |codes: &[(u16, u16)], numbers: &[(u16, f64)]| {
            let codes = codes.iter().map(|(key, code)| (*key, GeoKey::Code(*code)));
            let numbers = numbers.iter().map(|(key, number)| (*key, GeoKey::Numbers(vec![*number])));
            Crs::of_geo_keys(codes.chain(numbers).collect())
        };
        let user = [(GEODETIC_CRS, USER_DEFINED), (ANGULAR_UNITS, 9102)];
        let mars = keys(
            &[&user[..], &[(MODEL_TYPE, GEOGRAPHIC)]].concat(),
            &[(SEMI_MAJOR, 3_396_190.0), (INVERSE_FLATTENING, 169.89)],
        );
        let text = mars.text().expect("it has a text");
        assert!(text.starts_with("GEOGCS") && text.contains("SPHEROID[\"unknown\",3396190,169.89]"), "{text}");
        let projected = [(MODEL_TYPE, PROJECTED), (PROJECTED_CRS, USER_DEFINED), (LINEAR_UNITS, METRES)];
        let sphere = [(SEMI_MAJOR, 6_371_007.0), (SEMI_MINOR, 6_371_007.0)];
        for (method, name) in
            [(24, "Sinusoidal"), (9815, "Hotine_Oblique_Mercator_Azimuth_Center"), (15, "Polar_Stereographic")]
        {
            let crs = keys(&[&user[..], &projected, &[(METHOD, method)]].concat(), &sphere);
            let text = crs.text().expect("it has a text");
            assert!(text.contains(&format!("PROJECTION[\"{name}\"]")) && text.contains("6371007,0]"), "{text}");
        }
        assert_eq!(keys(&[&user[..], &projected, &[(METHOD, 999)]].concat(), &sphere).text(), None);
    }
}
