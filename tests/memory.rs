//! Actual memory use of simulations and results, counted by the allocator: estimates requested from the budget are never lower, and
//! not much higher.

use std::{path::Path, sync::Arc};

use thalweg_scene::{
    allocator::{TrackingAllocator, measure_peak},
    io::{
        Budget, BudgetSource, JobProgress, RasterMetadata,
        export::{self, Dimensions, Export, ExportSubject, Size},
        heightmap,
        project::{self, Project},
        scene::open_first,
        write_asc, write_exr, write_png16, write_r32, write_sidecar, write_tiff,
    },
    model::{
        origin::Options,
        session::{BYTES_PER_CELL, Session},
    },
};
use thalweg_sim::{
    core::grid::Grid,
    measure::{self, Measures},
    params::collect_parameters,
    process::catalogue,
    simulation::grow::GrowthEnd,
};

#[global_allocator]
static ALLOCATOR: TrackingAllocator = TrackingAllocator;

const SIDE: usize = 256;

/// Runs `work`. Returns its peak additional memory in bytes per cell, and its result.
fn most<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let (bytes, made) = measure_peak(work);
    (bytes as f64 / (SIDE * SIDE) as f64, made)
}

fn session() -> Session {
    let options = Options { size: Some((SIDE, SIDE)), ..Options::default() };
    let mut session = open_first("round-hill", &options).unwrap_or_else(|error| panic!("{error}"));
    session.enable(&[]);
    session
}

/// Returns the values of a choice, or none if there is no such parameter.
fn choices(session: &Session, path: &str) -> Vec<String> {
    let all = session.groups().into_iter().flat_map(collect_parameters);
    all.filter(|parameter| parameter.path == path).flat_map(|parameter| parameter.choices).collect()
}

fn set(session: &mut Session, path: &str, value: &str) {
    session.set(path, value).unwrap_or_else(|error| panic!("{error}"));
}

/// Measured and declared memory, by name.
#[derive(Default)]
struct Table(Vec<(String, f64, u64)>);

impl Table {
    fn add(&mut self, name: String, measured: f64, declared: u64) {
        self.0.push((name, measured, declared));
    }

    /// Checks that nothing exceeds its estimate, and that the closest is at least half of it.
    fn check(&self, of: &str) {
        let line = |(name, measured, declared): &(String, f64, u64)| format!("{name}: {measured:.1} of {declared}");
        println!("{}", self.0.iter().map(line).collect::<Vec<_>>().join("\n"));
        let more: Vec<String> = self.0.iter().filter(|row| row.1 > row.2 as f64).map(line).collect();
        assert!(more.is_empty(), "{of}: more bytes per cell than declared: {more:?}");
        let worst = self.0.iter().map(|row| row.1 / row.2 as f64).fold(0.0, f64::max);
        assert!(worst > 0.5, "{of}: {worst:.2} of what is declared is taken at most");
    }
}

/// Creates a non-square map with a hole, for water and droplets.
fn river_terrain(folder: &Path) -> Session {
    let path = folder.join("land.asc");
    let heights = Grid::from_fn(SIDE, 180, |x, y| 90.0 - 0.5 * y as f32 + (x as f32 * 0.3).cos());
    let hole = Grid::from_fn(SIDE, 180, |x, y| f32::from(x < 20 && y < 30));
    let place = RasterMetadata { nodata: Some(&hole), ..RasterMetadata::local(10.0) };
    write_asc(&path, &heights, place, &JobProgress::default()).expect("it is writable");
    let mut session = open_first(&path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    session.enable(&["droplets", "water"]);
    set(&mut session, "water.rain_rate", "0.01");
    session.restart(1);
    (0..2).for_each(|_| session.simulation.tick());
    let moves = [session.simulation.velocity(), session.simulation.momentum()];
    assert!(
        moves.into_iter().flatten().flatten().filter(|part| part.min_max() != (0.0, 0.0)).count() == 4,
        "it stands"
    );
    session
}

// A single test, as the allocator counts for the whole process.
#[test]
fn declared_memory_matches_measured_peak() {
    let mut starts = Table::default();
    for generator in choices(&session(), "terrain.generator") {
        for softness in choices(&session(), "terrain.softness") {
            let mut session = session();
            set(&mut session, "terrain.generator", &generator);
            set(&mut session, "terrain.softness", &softness);
            // Painted rain and mask.
            session.simulation.terrain.rain = Some(Grid::filled(SIDE, SIDE, 0.5));
            session.simulation.terrain.mask = Some(Grid::filled(SIDE, SIDE, 0.5));
            let held = session.bytes_of_layers() as f64 / (SIDE * SIDE) as f64 + 8.0;
            let (taken, ()) = most(|| session.restart(1));
            let declared = BYTES_PER_CELL + session.terrain.generator.bytes_per_cell();
            starts.add(format!("{generator} with {softness} softness"), taken + held, declared as u64);
        }
    }

    let mut processes = Table::default();
    for process in catalogue() {
        let info = process.info();
        let laws = choices(&session(), &format!("{}.law", info.key));
        for law in if laws.is_empty() { vec![String::new()] } else { laws } {
            for mode in choices(&session(), &format!("{}.mode", info.key)) {
                let mut session = session();
                session.enable(&[info.key]);
                session.simulation.watched = true;
                set(&mut session, "terrain.sand", "1");
                set(&mut session, "wind.per_tick", "2048");
                set(&mut session, "water.rain_rate", "0.01");
                if !law.is_empty() {
                    set(&mut session, &format!("{}.law", info.key), &law);
                }
                set(&mut session, &format!("{}.mode", info.key), &mode);
                session.restart(1);
                for threads in [1, 4] {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("there are threads");
                    let mut simulation = session.simulation.clone().with_pool(Arc::new(pool));
                    let (taken, ()) = most(|| (0..3).for_each(|_| simulation.tick()));
                    let name = format!("{} {law} {mode} on {threads}", info.key);
                    processes.add(name, taken, info.footprint.bytes_per_cell(threads) as u64);
                }
            }
        }
    }

    let mut land = Table::default();
    for generator in ["perlin", "diamond-square", "range", "plane"] {
        let mut session = session();
        set(&mut session, "terrain.generator", generator);
        session.restart(1);
        let (taken, _measures) = most(|| Measures::of(&session.simulation.terrain));
        land.add(format!("measures of {generator}"), taken, measure::BYTES_PER_CELL as u64);
        let declared = session.bytes_to_grow() / (SIDE * SIDE) as u64;
        let (taken, grown) = most(|| session.grow(|_| true));
        assert_eq!(grown, Ok(GrowthEnd::Grown));
        land.add(format!("a range grown from {generator}"), taken, declared);
    }

    let folder = tempfile::tempdir().expect("a temporary folder");
    let (mut results, mut moving) = (Table::default(), Table::default());
    let still = session();
    for map in export::maps() {
        for format in export::formats(map) {
            let export = Export::new(map, format).expect("it was offered");
            let (taken, ()) = most(|| {
                let subject = ExportSubject::new(&still, Dimensions::default(), &[export]).expect("it is small");
                let written = export.write(&subject, &folder.path().join(export.file_name()), &JobProgress::default());
                written.unwrap_or_else(|error| panic!("{error}"));
            });
            let declared = ExportSubject::bytes(&still, Dimensions::default(), &[export]) / (SIDE * SIDE) as u64;
            results.add(export.file_name(), taken, declared);
        }
    }
    let wet = river_terrain(folder.path());
    let moves = ["discharge", "velocity-x", "velocity-y", "stream-discharge", "stream-x", "stream-y"];
    let alone = moves.map(|map| vec![map]);
    for size in [Size::Working, Size::Times(2), Size::PowerOfTwoPlusOne, Size::Unreal] {
        for maps in alone.iter().chain([&moves.to_vec()]) {
            let exports: Vec<Export> = maps
                .iter()
                .flat_map(|map| ["png16", "tif"].map(|format| Export::new(map, format).expect("known")))
                .collect();
            let dimensions = Dimensions { size, ..Dimensions::default() };
            let (taken, ()) = most(|| {
                let subject = ExportSubject::new(&wet, dimensions, &exports).expect("it is small");
                for export in &exports {
                    let path = folder.path().join(export.file_name());
                    export.write(&subject, &path, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
                }
            });
            let declared = ExportSubject::bytes(&wet, dimensions, &exports) / (SIDE * SIDE) as u64;
            moving.add(format!("{} as {size:?}", maps.join(", ")), taken, declared);
        }
    }

    let path = folder.path().join("work.thalweg");
    let mut saved = Project::of(vec![still]);
    project::save(&mut saved, &path, &JobProgress::default()).unwrap_or_else(|error| panic!("{error}"));
    let (taken, _project) = most(|| project::open(Path::new(&path)).unwrap_or_else(|error| panic!("{error}")));
    starts.add("a project that is opened".to_owned(), taken, BYTES_PER_CELL as u64);

    for (table, of) in
        [(&starts, "starts"), (&processes, "processes"), (&land, "land"), (&results, "results"), (&moving, "moves")]
    {
        table.check(of);
    }
    large_maps_are_read_in_row_blocks(folder.path());
    command_line_limit_overrides_settings(&path);
}

/// The command line takes precedence over the settings.
fn command_line_limit_overrides_settings(project: &Path) {
    let size = |side| Options { size: Some((side, side)), ..Options::default() };
    Budget::set(BudgetSource::Settings, Some(Budget::of(100_000_000)));
    let error = open_first("round-hill", &size(2048)).err().expect("it needs more").to_string();
    assert!(error.contains("round-hill: needs ") && error.contains("of the 100 MB limit"), "{error}");
    assert!(open_first("round-hill", &size(256)).is_ok());
    Budget::set(BudgetSource::CommandLine, Some(Budget::of(5_000_000)));
    let error = project::open(project).err().expect("it needs more").to_string();
    assert!(error.contains("work.thalweg: needs ") && error.contains("of the 5 MB limit"), "{error}");
    Budget::set(BudgetSource::CommandLine, None);
    assert!(project::open(project).is_ok());
}

/// A map of 16 384 columns takes 64 kB per row; in full, these would take 64 and 128 MB.
fn large_maps_are_read_in_row_blocks(folder: &Path) {
    let options = Options { size: Some((64, 64)), cell_size: Some(1.0), ..Options::default() };
    let at = |name: &str| folder.join(name);
    let heights = Grid::from_fn(16_384, 1024, |x, y| (x / 512 + y / 16) as f32);
    write_png16(&at("big.png"), &heights, heights.min_max(), &JobProgress::default()).expect("it is writable");
    write_r32(&at("big.r32"), &heights, &JobProgress::default()).expect("it is writable");
    write_exr(&at("big.exr"), &heights, &JobProgress::default()).expect("it is writable");
    write_tiff(&at("big.tif"), &heights, RasterMetadata::local(1.0)).expect("it is writable");
    write_asc(&at("big.asc"), &heights, RasterMetadata::local(1.0), &JobProgress::default()).expect("it is writable");
    write_sidecar(&at("big.json"), &heights, 1.0, (16_384, 1024)).expect("it is writable");
    // Cells stay square: the map fills the first rows, and the rest has no data.
    let wanted = heights.resample(64, 4);
    drop(heights);
    // Our EXR images have tiles of 256 rows.
    for (name, megabytes) in [("big.png", 4), ("big.r32", 2), ("big.asc", 2), ("big.tif", 8), ("big.exr", 24)] {
        let (taken, map) = measure_peak(|| heightmap::read(&at(name), &options));
        let map = map.unwrap_or_else(|error| panic!("{error}"));
        println!("{name}: {:.1} MB", taken as f64 / 1e6);
        assert!(taken < megabytes * 1_000_000, "{name} took {taken} bytes");
        let near = map.heights.iter().zip(wanted.iter()).all(|(read, wanted)| (read - wanted).abs() < 0.01);
        assert!(near, "{name} is another map");
    }
}
