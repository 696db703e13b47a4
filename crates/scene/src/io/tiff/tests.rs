//! Files written by hand, byte by byte.

use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::{io::heightmap, model::origin::Options};

/// Tag, type, and bytes of the values in the byte order of the file.
type SampleTag = (u16, u16, Vec<u8>);

/// TIFF of one strip of 64 × 48 cells, with any further tags.
struct Sample {
    big_endian: bool,
    tags: Vec<SampleTag>,
    strip: Vec<u8>,
    /// Tags of a second directory with a strip of its own.
    second: Option<(Vec<SampleTag>, Vec<u8>)>,
}

const SIZE: (usize, usize) = (64, 48);

fn height(x: usize, y: usize) -> u16 {
    (100 + 3 * x + 5 * y) as u16
}

fn cells() -> impl Iterator<Item = u16> {
    (0..SIZE.0 * SIZE.1).map(|index| height(index % SIZE.0, index / SIZE.0))
}

impl Sample {
    fn new(big_endian: bool, bits: u16, format: u16, strip: Vec<u8>) -> Self {
        let mut sample = Self { big_endian, tags: Vec::new(), strip, second: None };
        sample.shorts(256, &[SIZE.0 as u16]).shorts(257, &[SIZE.1 as u16]).shorts(258, &[bits]).shorts(259, &[1]);
        sample.shorts(262, &[1]).shorts(277, &[1]).shorts(278, &[SIZE.1 as u16]).shorts(339, &[format]);
        sample
    }

    /// 16-bit cells.
    fn plain() -> Self {
        Self::new(false, 16, 1, cells().flat_map(u16::to_le_bytes).collect())
    }

    /// Floats of 32 bits.
    fn floats(of: impl Fn(usize, f32) -> f32) -> Self {
        let cells = cells().enumerate().flat_map(|(index, cell)| of(index, f32::from(cell)).to_le_bytes());
        Self::new(false, 32, 3, cells.collect())
    }

    fn tag(&mut self, tag: u16, kind: u16, bytes: Vec<u8>) -> &mut Self {
        self.tags.retain(|(other, ..)| *other != tag);
        self.tags.push((tag, kind, bytes));
        self
    }

    fn without(&mut self, tag: u16) -> &mut Self {
        self.tags.retain(|(other, ..)| *other != tag);
        self
    }

    fn shorts(&mut self, tag: u16, values: &[u16]) -> &mut Self {
        let bytes =
            values.iter().flat_map(|value| if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
        let bytes = bytes.collect();
        self.tag(tag, 3, bytes)
    }

    fn doubles(&mut self, tag: u16, values: &[f64]) -> &mut Self {
        let bytes =
            values.iter().flat_map(|value| if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
        let bytes = bytes.collect();
        self.tag(tag, 12, bytes)
    }

    fn text(&mut self, tag: u16, text: &str) -> &mut Self {
        self.tag(tag, 2, [text.as_bytes(), &[0]].concat())
    }

    /// Georeference of cells of 30 m.
    fn placed(&mut self) -> &mut Self {
        self.doubles(PIXEL_SCALE, &[30.0, 30.0, 0.0]).doubles(TIE_POINTS, &[0.0, 0.0, 0.0, 5e5, 4e6, 0.0])
    }

    /// Keys of codes.
    fn keys(&mut self, keys: &[[u16; 2]]) -> &mut Self {
        let entries = keys.iter().flat_map(|[key, code]| [*key, 0, 1, *code]);
        let directory: Vec<u16> = [1, 1, 0, keys.len() as u16].into_iter().chain(entries).collect();
        self.shorts(KEYS, &directory)
    }

    fn bytes(&self) -> Vec<u8> {
        let word = |number: u32| if self.big_endian { number.to_be_bytes() } else { number.to_le_bytes() };
        let short = |number: u16| if self.big_endian { number.to_be_bytes() } else { number.to_le_bytes() };
        let mut file: Vec<u8> = if self.big_endian { b"MM\0*".to_vec() } else { b"II*\0".to_vec() };
        file.extend([0; 4]);
        let mut link = 4;
        let all = [Some((&self.tags, &self.strip)), self.second.as_ref().map(|(tags, strip)| (tags, strip))];
        for (tags, strip) in all.into_iter().flatten() {
            let mut tags = tags.clone();
            if !strip.is_empty() {
                tags.push((273, 4, word(file.len() as u32).to_vec()));
                if !tags.iter().any(|(tag, ..)| *tag == 279) {
                    tags.push((279, 4, word(strip.len() as u32).to_vec()));
                }
                file.extend(strip);
            }
            // A tag without bytes is left out.
            tags.retain(|(_, _, bytes)| !bytes.is_empty());
            tags.sort();
            let mut entries = Vec::new();
            for (tag, kind, bytes) in &tags {
                let size = match kind {
                    3 => 2,
                    4 => 4,
                    12 => 8,
                    _ => 1,
                };
                entries.extend([short(*tag), short(*kind)].concat());
                entries.extend(word((bytes.len() / size) as u32));
                if bytes.len() > 4 {
                    entries.extend(word(file.len() as u32));
                    file.extend(bytes);
                } else {
                    entries.extend(bytes.iter().copied().chain([0; 4]).take(4));
                }
            }
            let at = word(file.len() as u32);
            file[link..link + 4].copy_from_slice(&at);
            file.extend(short(tags.len() as u16));
            file.extend(entries);
            link = file.len();
            file.extend([0; 4]);
        }
        file
    }

    fn write(&self) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("map.tif");
        std::fs::write(&path, self.bytes()).expect("it is writable");
        (folder, path)
    }

    fn read_with(&self, options: &Options) -> Result<crate::model::origin::Heightmap, String> {
        let (_folder, path) = self.write();
        heightmap::read(&path, options).map_err(|error| error.to_string())
    }

    fn read(&self) -> crate::model::origin::Heightmap {
        self.read_with(&Options::default()).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Packs numbers of this many bits, most significant first; rows begin at a byte.
fn packed(bits: usize) -> Vec<u8> {
    let cells: Vec<u16> = cells().collect();
    let row = |row: &[u16]| {
        let bits =
            row.iter().flat_map(|cell| (0..bits).rev().map(move |bit| bit < 16 && u64::from(*cell) >> bit & 1 == 1));
        let bits: Vec<bool> = bits.collect();
        bits.chunks(8)
            .map(|byte| byte.iter().enumerate().map(|(at, bit)| u8::from(*bit) << (7 - at)).sum())
            .collect::<Vec<u8>>()
    };
    cells.chunks(SIZE.0).flat_map(row).collect()
}

fn is_plain(map: &crate::model::origin::Heightmap) -> bool {
    map.heights.iter().zip(cells()).all(|(found, cell)| (found - f32::from(cell)).abs() < 1e-3)
}

#[test]
fn every_sample_format_reads_the_same_heights() {
    let le = |bytes: fn(u16) -> Vec<u8>| cells().flat_map(bytes).collect::<Vec<u8>>();
    let mut samples = vec![
        ("16 bits", Sample::plain()),
        ("16 bits, big-endian", Sample::new(true, 16, 1, cells().flat_map(u16::to_be_bytes).collect())),
        ("signed 16", Sample::new(false, 16, 2, le(|cell| (cell as i16).to_le_bytes().to_vec()))),
        ("32 bits", Sample::new(false, 32, 1, le(|cell| u32::from(cell).to_le_bytes().to_vec()))),
        ("64 bits", Sample::new(false, 64, 1, le(|cell| u64::from(cell).to_le_bytes().to_vec()))),
        ("24 bits", Sample::new(false, 24, 1, le(|cell| u32::from(cell).to_be_bytes()[1..].to_vec()))),
        ("signed 64", Sample::new(false, 64, 2, le(|cell| i64::from(cell).to_le_bytes().to_vec()))),
        ("24 bits, big-endian", Sample::new(true, 24, 1, le(|cell| u32::from(cell).to_le_bytes()[..3].to_vec()))),
        ("floats", Sample::floats(|_, cell| cell)),
        ("doubles", Sample::new(false, 64, 3, le(|cell| f64::from(cell).to_le_bytes().to_vec()))),
        ("halves", Sample::new(false, 16, 3, le(|cell| half::f16::from_f32(cell.into()).to_le_bytes().to_vec()))),
    ];
    for bits in [10, 11, 12, 13, 14, 15, 17, 19, 20, 23, 25, 31] {
        samples.push(("packed", Sample::new(false, bits, 1, packed(bits.into()))));
    }
    samples.push(("packed, signed", Sample::new(false, 12, 2, packed(12))));
    for (name, sample) in samples {
        assert!(is_plain(&sample.read()), "{name}, {:?}", sample.tags[2]);
    }
}

#[test]
fn equivalent_tiff_encodings_read_the_same_heights() {
    let reversed = |bytes: Vec<u8>| bytes.into_iter().map(u8::reverse_bits).collect::<Vec<u8>>();
    let mut white = Sample::plain();
    white.shorts(262, &[0]);
    let mut no_interpretation = Sample::plain();
    no_interpretation.without(262);
    let mut no_counts = Sample::plain();
    no_counts.tag(279, 4, Vec::new());
    let mut palette = Sample::plain();
    palette.shorts(262, &[3]);
    let mut order = Sample::plain();
    order.shorts(266, &[2]).strip = reversed(Sample::plain().strip);
    let mut runs = Sample::plain();
    let strip = runs.strip.chunks(128).flat_map(|bytes| [&[bytes.len() as u8 - 1], bytes].concat()).collect();
    runs.shorts(259, &[32773]).strip = strip;
    let mut differences = Sample::plain();
    let rows = cells().collect::<Vec<u16>>();
    let row = |row: &[u16]| {
        let before = std::iter::once(0).chain(row.iter().copied()).zip(row).map(|(a, b)| b.wrapping_sub(a));
        before.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    let cells: Vec<u8> = rows.chunks(SIZE.0).flat_map(row).collect();
    io::Write::write_all(&mut deflate, &cells).expect("memory is writable");
    differences.shorts(317, &[2]).shorts(259, &[8]).strip = deflate.finish().expect("memory is writable");
    let mut no_differences = Sample::plain();
    no_differences.shorts(317, &[2]);
    for (name, sample) in [
        ("white is 0", white),
        ("no interpretation", no_interpretation),
        ("no counts", no_counts),
        ("palette", palette),
        ("order of bits", order),
        ("runs", runs),
        ("differences", differences),
        ("no differences", no_differences),
    ] {
        assert!(is_plain(&sample.read()), "{name}");
    }
}

#[test]
fn heights_are_converted_to_metres() {
    let metadata = |items: &str| format!("<GDALMetadata>{items}</GDALMetadata>");
    let item = |role: &str, value: &str| format!(r#"<Item name="{role}" sample="0" role="{role}">{value}</Item>"#);
    let unit = |name: &str| metadata(&item("unittype", name));
    let foot = 0.3048_f32;
    let survey = 1200.0_f32 / 3937.0;
    for (text, factor, summand) in [
        (unit("ft"), foot, 0.0),
        (unit("Feet"), foot, 0.0),
        (unit("US survey foot"), survey, 0.0),
        (unit("ft_us"), survey, 0.0),
        (unit("cm"), 0.01, 0.0),
        (unit("dm"), 0.1, 0.0),
        (unit("mm"), 0.001, 0.0),
        (unit("km"), 1000.0, 0.0),
        (unit("metre"), 1.0, 0.0),
        (metadata(&item("scale", "0.1")), 0.1, 0.0),
        (metadata(&(item("scale", "0.5") + &item("offset", "-100"))), 0.5, -100.0),
        (metadata(&(item("scale", "0.1") + &item("offset", "10") + &item("unittype", "ft"))), 0.1 * foot, 10.0 * foot),
        (metadata(r#"<Item name="SCALE" sample="1" role="scale">7</Item>"#), 1.0, 0.0),
        (metadata(r#"<Item name="SCALE">7</Item><Item name="offset" sample="0">8</Item>"#), 1.0, 0.0),
    ] {
        let mut sample = Sample::plain();
        sample.placed().text(METADATA, &text);
        if factor == 1000.0 {
            sample.strip = cells().flat_map(|cell| (cell % 9).to_le_bytes()).collect();
        }
        let map = sample.read();
        let raw = |cell: u16| f32::from(if factor == 1000.0 { cell % 9 } else { cell });
        let right = map.heights.iter().zip(cells()).all(|(a, b)| (a - (raw(b) * factor + summand)).abs() < 1e-3);
        assert!(right, "{text}");
        let conversions = map.warnings.iter().filter(|warning| warning.contains("converted to metres")).count();
        assert_eq!(conversions, usize::from(factor != 1.0 || summand != 0.0), "{:?}", map.warnings);
    }
    // Units by keys: of heights, and of a vertical system.
    for (keys, factor) in [
        ([[1024, 1], [4099, 9002]], foot),
        ([[1024, 1], [4099, 9003]], survey),
        ([[1024, 1], [4099, 1033]], 0.01),
        ([[1024, 1], [4099, 9001]], 1.0),
        ([[3072, 32612], [4096, 6360]], survey),
        ([[3072, 32612], [4096, 8228]], foot),
        ([[3072, 32612], [4096, 5703]], 1.0),
    ] {
        let mut sample = Sample::plain();
        sample.placed().keys(&keys);
        let map = sample.read();
        let right = map.heights.iter().zip(cells()).all(|(a, b)| (a - f32::from(b) * factor).abs() < 1e-3);
        assert!(right, "{keys:?}: {:?}", map.warnings);
    }
}

#[test]
fn height_range_scales_integers_and_fractions() {
    let options = Options { min_m: Some(100.0), max_m: Some(1100.0), ..Options::default() };
    let map = Sample::plain().read_with(&options).expect("it is good");
    assert!(map.heights.iter().zip(cells()).all(|(a, b)| (a - (100.0 + f32::from(b) / 65.535)).abs() < 0.01));
    let fractions = Sample::floats(|_, cell| cell / 600.0).read_with(&options).expect("it is good");
    assert!(fractions.heights.iter().zip(cells()).all(|(a, b)| (a - (100.0 + f32::from(b) / 0.6)).abs() < 0.01));
    let metres = Sample::floats(|_, cell| cell).read_with(&options).expect("it is good");
    assert!(is_plain(&metres) && metres.warnings.iter().any(|warning| warning.contains("floats from 0 to 1")));
}

#[test]
fn tiff_nodata_cells_are_detected() {
    let hole = |index: usize| index % SIZE.0 == 9 && index / SIZE.0 > 40;
    let count = SIZE.1 - 41;
    let with = |tag: &str, value: f32| {
        let mut sample = Sample::floats(|index, cell| if hole(index) { value } else { cell });
        if !tag.is_empty() {
            sample.text(NODATA, tag);
        }
        (format!("{tag} of {value}"), sample)
    };
    let mut samples = vec![
        with("-9999", -9999.0),
        with("-9999.0 m", -9999.0),
        with("-3.4e38", f32::MIN),
        with("-3.40282e+38", f32::MIN),
        with("-3.402823466e+38", f32::MIN),
        with("-1.7976931348623157e+308", f32::NEG_INFINITY),
        with("3.4028235e38", f32::MAX),
        with("nan", f32::NAN),
        with("", f32::NAN),
        with("", f32::INFINITY),
        with("", f32::MIN),
        with("", -9999.0),
        with("", -32768.0),
        with("7", 7.0),
        with("0.1", 0.1),
    ];
    let mut mask = Sample::floats(|index, cell| if hole(index) { 0.0 } else { cell });
    let rows = (0..SIZE.0 * SIZE.1).map(hole).collect::<Vec<bool>>();
    let bits = rows.chunks(8).map(|byte| byte.iter().enumerate().map(|(at, hole)| u8::from(!*hole) << (7 - at)).sum());
    let mut second = Sample::new(false, 1, 1, Vec::new());
    second.shorts(SUBFILE_TYPE, &[4]).shorts(262, &[4]);
    mask.second = Some((second.tags, bits.collect()));
    samples.push(("mask".to_owned(), mask));
    let mut alpha = Sample::plain();
    alpha.strip = cells()
        .enumerate()
        .flat_map(|(index, cell)| [cell, if hole(index) { 0 } else { 65535 }])
        .flat_map(u16::to_le_bytes)
        .collect();
    alpha.shorts(258, &[16, 16]).shorts(277, &[2]).shorts(338, &[2]);
    samples.push(("opacity".to_owned(), alpha));
    for (name, sample) in samples {
        let map = sample.read();
        let mask = map.nodata.unwrap_or_else(|| panic!("{name}: no hole"));
        assert!((0..mask.len()).all(|index| (mask[index] == 1.0) == hole(index)), "{name}");
        assert!(
            map.heights.iter().zip(cells()).zip(mask.iter()).all(|((a, b), hole)| *hole == 1.0 || *a == f32::from(b)),
            "{name}"
        );
        assert!(
            map.warnings.iter().any(|warning| warning.contains(&format!("{count} of 3072 cells are NODATA"))),
            "{name}"
        );
    }
    // Without data in the file at all.
    let mut sparse = Sample::plain();
    sparse.strip.clear();
    sparse.shorts(273, &[0]).shorts(279, &[0]);
    assert!(sparse.read().heights.iter().all(|cell| *cell == 0.0));
    sparse.text(NODATA, "-9999");
    assert!(
        sparse
            .read_with(&Options::default())
            .expect_err("nothing is left")
            .contains("all 3072 cells are NODATA (-9999)")
    );
}

#[test]
fn companion_files_supply_georeference_and_nodata() {
    let beside = |files: &[(&str, &str)], sample: Sample| {
        let (folder, path) = sample.write();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("it is writable");
        }
        heightmap::read(&path, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
    };
    let place = |map: &crate::model::origin::Heightmap| map.geo.as_ref().map(|geo| (geo.west, geo.north, geo.width));
    let world = "30\n0\n0\n-30\n500015\n3999985\n";
    for name in ["map.tfw", "map.TFW", "map.tifw", "map.wld"] {
        let map = beside(&[(name, world)], Sample::plain());
        assert_eq!((map.cell_size, place(&map)), (30.0, Some((5e5, 4e6, 1920.0))), "{name}");
    }
    let pam = "<PAMDataset><SRS>EPSG:32612</SRS><GeoTransform>500000, 30, 0, 4000000, 0, -30</GeoTransform>\
               <PAMRasterBand band=\"1\"><NoDataValue>100</NoDataValue><UnitType>ft</UnitType></PAMRasterBand></PAMDataset>";
    let map = beside(&[("map.tif.aux.xml", pam)], Sample::plain());
    assert_eq!(place(&map), Some((5e5, 4e6, 1920.0)));
    assert_eq!(map.geo.expect("a place").crs.name().as_deref(), Some("EPSG:32612"));
    assert!((map.heights[1] - 103.0 * 0.3048).abs() < 1e-3 && map.nodata.expect("a hole").total() == 1.0);
    let projection = "PROJCS[\"NAD83 / North Carolina (ftUS)\",GEOGCS[\"NAD83\",DATUM[\"North_American_Datum_1983\",\
                      SPHEROID[\"GRS 1980\",6378137,298.257222101]],PRIMEM[\"Greenwich\",0],UNIT[\"degree\",0.0174532925199433]],\
                      PROJECTION[\"Lambert_Conformal_Conic_2SP\"],PARAMETER[\"standard_parallel_1\",36.16666666666666],\
                      PARAMETER[\"standard_parallel_2\",34.33333333333334],PARAMETER[\"latitude_of_origin\",33.75],\
                      PARAMETER[\"central_meridian\",-79],PARAMETER[\"false_easting\",2000000.002616666],\
                      PARAMETER[\"false_northing\",0],UNIT[\"US survey foot\",0.3048006096012192]]";
    let map = beside(&[("map.tfw", "100\n0\n0\n-100\n1000050\n599950"), ("map.prj", projection)], Sample::plain());
    assert!((map.cell_size - 30.48006).abs() < 1e-4, "{} {:?}", map.cell_size, map.warnings);
    let plain = map;
    let vertical = "VERTCS[\"NAVD88_height_(ftUS)\",VDATUM[\"North_American_Vertical_Datum_1988\"],PARAMETER[\"Vertical_Shift\",0.0],\
                    PARAMETER[\"Direction\",1.0],UNIT[\"Foot_US\",0.3048006096012192]]";
    let compound = format!("COMPD_CS[\"both\",{projection},{}]", vertical.replace("VERTCS", "VERT_CS"));
    for text in [format!("{projection},{vertical}"), compound] {
        let map = beside(&[("map.tfw", "100\n0\n0\n-100\n1000050\n599950"), ("map.prj", &text)], Sample::plain());
        assert!((map.heights[1] - 103.0 * 1200.0 / 3937.0).abs() < 1e-3, "{text}");
        // The heights are in metres now.
        assert_eq!(map.geo, plain.geo);
    }
}

#[test]
fn raster_is_flipped_north_up_or_rejected() {
    let place = |sample: &Sample| {
        let map = sample.read();
        let geo = map.geo.clone().expect("it has a place");
        let flipped = map.heights.at(3, 0) == f32::from(height(3, SIZE.1 - 1));
        (geo.west, geo.north, geo.width, map.cell_size, flipped)
    };
    let right = (5e5, 4e6, 1920.0, 30.0, false);
    assert_eq!(place(Sample::plain().placed()), right);
    let matrix = |[a, b, c, d, e, f]: [f64; 6]| {
        let mut sample = Sample::plain();
        sample.doubles(TRANSFORMATION, &[a, b, 0.0, c, d, e, 0.0, f, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        sample
    };
    assert_eq!(place(&matrix([30.0, 0.0, 5e5, 0.0, -30.0, 4e6])), right);
    assert_eq!(place(&matrix([30.0, 0.0, 5e5, 0.0, 30.0, 4e6 - 1440.0])), (5e5, 4e6, 1920.0, 30.0, true));
    let mut points = matrix([30.0, 0.0, 5e5 + 15.0, 0.0, -30.0, 4e6 - 15.0]);
    assert_eq!(place(points.keys(&[[1024, 1], [1025, 2]])), right);
    let mut negative = Sample::plain();
    assert_eq!(place(negative.placed().doubles(PIXEL_SCALE, &[30.0, -30.0, 0.0])), right);
    let mut control = Sample::plain();
    let corners = [[0.0, 0.0], [64.0, 0.0], [0.0, 48.0], [64.0, 48.0]];
    let corners: Vec<f64> =
        corners.iter().flat_map(|[x, y]| [*x, *y, 0.0, 5e5 + 30.0 * x, 4e6 - 30.0 * y, 0.0]).collect();
    let found = place(control.doubles(TIE_POINTS, &corners));
    assert!((found.0 - 5e5).abs() < 1e-6 && (found.1 - 4e6).abs() < 1e-6 && !found.4, "{found:?}");
    let error = matrix([26.0, 15.0, 5e5, 15.0, -26.0, 4e6]).read_with(&Options::default()).expect_err("it is rotated");
    assert!(error.contains("rotated or sheared") && error.contains("gdalwarp"), "{error}");
}

#[test]
fn cell_size_is_in_ground_metres() {
    let cell = |keys: &[[u16; 2]], scale: f64, x: f64, y: f64| {
        let mut sample = Sample::plain();
        sample.doubles(PIXEL_SCALE, &[scale, scale, 0.0]).doubles(TIE_POINTS, &[0.0, 0.0, 0.0, x, y, 0.0]).keys(keys);
        sample.read().cell_size
    };
    let arc = 1.0 / 3600.0;
    for (name, keys, scale, x, y, metres) in [
        ("metres", &[[1024, 1], [3072, 25832]][..], 30.0, 6e5, 5e6, 30.0),
        ("feet of the code", &[[1024, 1], [3072, 2264]], 100.0, 1e6, 6e5, 30.48006),
        ("feet of a key", &[[1024, 1], [3072, 2264], [3076, 9002]], 100.0, 1e6, 6e5, 30.48),
        ("kilometres", &[[1024, 1], [3072, 32767], [3076, 9036]], 0.03, 500.0, 4000.0, 30.0),
        ("Web Mercator", &[[1024, 1], [3072, 3857]], 30.0, 1e6, 8_399_738.0, 15.0),
        ("degrees", &[[1024, 2], [2048, 4258]], arc, -112.5, 36.75, 27.6495),
        ("degrees, no keys", &[], arc, -112.5, 36.75, 27.6495),
        ("arc seconds", &[[1024, 2], [2048, 4326], [2054, 9104]], 1.0, -405_000.0, 132_300.0, 27.6495),
        ("grads", &[[1024, 2], [2048, 4807], [2054, 9105]], arc, 1.0, 50.0, 23.3771),
        ("quarters of a degree", &[], 0.25, 5.0, 52.0, 23169.2),
    ] {
        let found = cell(keys, scale, x, y);
        assert!((found / metres - 1.0).abs() < 1e-3, "{name}: {found} for {metres}");
    }
}

#[test]
fn crs_round_trips_through_tiff_and_asc() {
    let round = |sample: &Sample| {
        let (folder, path) = sample.write();
        let map = heightmap::read(&path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        let place = RasterMetadata { cell_size: map.cell_size, geo: map.geo.as_ref(), nodata: None };
        let [tif, asc] = ["again.tif", "again.asc"].map(|name| folder.path().join(name));
        write_tiff(&tif, &map.heights, place).expect("it is writable");
        super::super::write_asc(&asc, &map.heights, place, &Default::default()).expect("it is writable");
        let [tif, asc] = [tif, asc].map(|path| {
            let again = heightmap::read(&path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
            again.geo.expect("it has a place")
        });
        assert_eq!(Some(&tif), map.geo.as_ref());
        (tif.crs.name(), asc.crs.name())
    };
    for (keys, name) in [
        (&[[1024, 1], [3072, 2056]][..], "EPSG:2056"),
        (&[[1024, 1], [3072, 25832], [3076, 9001]], "EPSG:25832"),
        (&[[1024, 1], [3072, 2264]], "EPSG:2264"),
        (&[[1024, 1], [3072, 3857]], "EPSG:3857"),
    ] {
        let mut sample = Sample::plain();
        sample.placed().keys(keys);
        assert_eq!(round(&sample), (Some(name.to_owned()), Some(name.to_owned())));
    }
}

#[test]
fn long_and_non_ascii_crs_names_are_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("map.tif");
    for name in ["Gauß".to_owned(), "long".repeat(20_000)] {
        let crs = Crs::Wkt(format!("PROJCS[\"{name}\",UNIT[\"foot\",0.3048]]"));
        let geo = Georeference { west: 5e5, north: 4e6, width: 200.0, height: 200.0, crs };
        let place = RasterMetadata { geo: Some(&geo), ..RasterMetadata::local(30.48) };
        let grid = Grid::from_fn(2, 2, |x, y| (x + y) as f32);
        write_tiff(&path, &grid, place).unwrap_or_else(|error| panic!("{error}"));
        let map = heightmap::read(&path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
        assert!((map.cell_size - 30.48).abs() < 1e-4, "{}", map.cell_size);
    }
}

/// Interleaved colours of 8 bits.
fn colours(of: impl Fn(f64) -> [u8; 3]) -> Sample {
    let mut sample = Sample::new(false, 8, 1, cells().flat_map(|height| of(height.into())).collect());
    sample.shorts(277, &[3]).shorts(258, &[8, 8, 8]).shorts(262, &[2]);
    sample
}

#[test]
fn heights_encoded_in_colours_are_read_and_recognised() {
    let bytes = |number: f64| {
        let [_, colours @ ..] = (number as u32).to_be_bytes();
        colours
    };
    let mapbox = colours(|height| bytes((height + 10_000.0) * 10.0));
    let terrarium = colours(|height| bytes((1.37 * height + 32_768.0) * 256.0));
    for (sample, encoding, scale) in [(mapbox, Encoding::Mapbox, 1.0), (terrarium, Encoding::Terrarium, 1.37)] {
        for stated in [None, Some(encoding)] {
            let map = sample.read_with(&Options { encoding: stated, ..Options::default() });
            let map = map.unwrap_or_else(|error| panic!("{error}"));
            assert!((map.heights.at(5, 7) - scale * f32::from(height(5, 7))).abs() < 0.01, "{encoding:?}");
            let is_reported = map.warnings.iter().any(|warning| warning.contains("heights and are decoded as such"));
            assert_eq!(is_reported, stated.is_none(), "{:?}", map.warnings);
        }
    }
    let grey = Options { encoding: Some(Encoding::Grey), ..Options::default() };
    let map = colours(|height| [(height / 4.0) as u8; 3]).read_with(&grey).unwrap_or_else(|error| panic!("{error}"));
    assert!((map.heights.at(0, 0) - 25.0).abs() < 0.01);
    let asked = Options { encoding: Some(Encoding::Mapbox), ..Options::default() };
    assert!(Sample::plain().read_with(&asked).expect_err("it is grey").contains("omit --encoding"));
}

#[test]
fn a_truncated_strip_of_jpeg_is_refused() {
    let grey: Vec<u8> = cells().map(|height| (height / 4) as u8).collect();
    let mut strip = io::Cursor::new(Vec::new());
    let image = image::GrayImage::from_raw(SIZE.0 as u32, SIZE.1 as u32, grey).expect("it is of this size");
    image.write_to(&mut strip, image::ImageFormat::Jpeg).expect("in memory");
    let strip = strip.into_inner();
    for (length, is_whole) in [(strip.len(), true), (strip.len() - 2, false), (strip.len() / 2, false)] {
        let mut sample = Sample::new(false, 8, 1, strip[..length].to_vec());
        sample.shorts(259, &[7]);
        match sample.read_with(&Options::default()) {
            Ok(map) => assert!(is_whole && (map.heights.at(0, 0) - 25.0).abs() < 3.0),
            Err(error) => assert!(!is_whole && error.contains("truncated"), "{error}"),
        }
    }
}

#[test]
fn unsupported_bands_are_refused_with_a_remedy() {
    let refused = |sample: &mut Sample, channel: Option<&str>| {
        let options = Options { channel: channel.map(str::to_owned), ..Options::default() };
        sample.read_with(&options).expect_err("it is refused")
    };
    let remedy = "convert it to floats first, e.g. `gdal_translate -b 1 -ot Float32 map.tif heights.tif`";
    for (sample, expected) in [
        (Sample::plain().shorts(277, &[2]).shorts(258, &[16, 8]), "bands of different bit depths are not supported"),
        (Sample::plain().shorts(258, &[65]), "samples of 65 bits are not supported"),
        (Sample::plain().shorts(339, &[5]), "bands of complex numbers are not supported"),
        (Sample::plain().shorts(259, &[34712]), "compression with JPEG 2000 (method 34712) is not supported"),
    ] {
        let error = refused(sample, None);
        assert!(error.ends_with(&format!("{expected}; {remedy}")), "{error}");
    }
    assert!(
        refused(&mut Sample::plain(), Some("2")).ends_with("no band 2; the file has a single band; omit --channel")
    );
    assert!(
        refused(&mut colours(|_| [1, 2, 3]), Some("4")).ends_with("no band 4; choose one of 1 to 3 with --channel")
    );
}

#[test]
fn long_files_beside_a_raster_are_read() {
    let (folder, path) = Sample::plain().write();
    let table = "x".repeat(6 << 20);
    let text = format!(
        "<PAMDataset><Table>{table}</Table><SRS>EPSG:32612</SRS><GeoTransform>9, 3, 0, 9, 0, -3</GeoTransform></PAMDataset>"
    );
    std::fs::write(folder.path().join("MAP.TIF.aux.XML"), text).expect("it is writable");
    let map = heightmap::read(&path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((map.cell_size, map.geo.and_then(|geo| geo.crs.name())), (3.0, Some("EPSG:32612".to_owned())));
}
