//! Rendering of the view, and memory use of frames and scenes.

use super::*;

/// Returns the app of the window, rendering off-screen, or `None` without a graphics driver.
fn running(scene: &str, side: usize, size: (u32, u32)) -> Option<App> {
    if let Err(reason) = graphics::find_adapter() {
        assert!(env::var_os("THALWEG_REQUIRE_GPU").is_none(), "{reason}");
        eprintln!("SKIPPED: the image was not checked: {reason}");
        return None;
    }
    let mut app = off_screen::app(sessions(scene, side), size, Viewpoint::named("default").expect("it exists"));
    // Without this, a render error would end rendering silently.
    let fault = RenderErrorHandler(|error, _, _| panic!("the driver reports a fault: {error:?}"));
    app.insert_resource(UiVisible(false)).insert_resource(Transport::paused()).insert_resource(fault);
    Some(app)
}

fn frames(app: &mut App, count: usize) {
    (0..count).for_each(|_| app.update());
}

/// Returns the RGB pixels of the view.
fn render_image(app: &mut App) -> Vec<[u8; 3]> {
    let image = off_screen::capture(app).unwrap_or_else(|reason| panic!("{reason}"));
    rgb(&image).1.chunks_exact(3).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
}

fn share(image: &[[u8; 3]], test: impl Fn([i32; 3]) -> bool) -> f64 {
    image.iter().filter(|pixel| test(pixel.map(i32::from))).count() as f64 / image.len() as f64
}

fn changed(a: &[[u8; 3]], b: &[[u8; 3]]) -> f64 {
    let differs = |(a, b): &(&[u8; 3], &[u8; 3])| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 2);
    a.iter().zip(b).filter(differs).count() as f64 / a.len() as f64
}

/// All rendering checks in one test, as a process can run only one engine at a time.
#[test]
fn every_scene_renders_and_follows_the_terrain() {
    depth_of_field_blurs_near_and_far();
    split_view_shows_each_simulation_as_if_alone();
    for (name, _) in BUILT_IN {
        let Some(mut app) = running(name, 96, (320, 200)) else { return };
        frames(&mut app, 30);
        let before = render_image(&mut app);
        let green = share(&before, |[r, g, b]| g > r + 12 && g > b + 12);
        let grey = share(&before, |[r, g, b]| (r - g).abs() < 26 && (g - b).abs() < 26 && g > 100);
        let dark = share(&before, |[r, g, b]| r + g + b < 230);
        let lively = share(&before, |[r, g, b]| (r - g).abs().max((g - b).abs()) > 20);
        let session = app.world().resource::<Simulations>().selected();
        let runs = |key: &str| session.simulation.slots.iter().any(|slot| slot.enabled && slot.key() == key);
        // Channels, test fields and sand seas have no meadows, and not all of them have cliffs.
        let landscape = session.terrain.cell_size > 4.0 && !runs("wind");
        // Springs alone change their rivers, not the terrain.
        let rains = runs("droplets") && session.all_parameters()["droplets.rain_rate"] != "0";
        let waters = !session.pools.is_empty() || session.rivers.shown;
        // Nor do deserts, which have their own colours.
        let ([red, flat, _], [steep, _, least]) = (session.look.flat_color, session.look.steep_color);
        assert!(green > 0.01 || !landscape || flat < 1.1 * red, "{name}: flat ground {green}");
        assert!(grey > 0.01 || !landscape || steep > 1.3 * least, "{name}: steep ground {grey}");
        assert!((0.01..0.6).contains(&dark), "{name}: shadow {dark}");
        // "Particles and grid" has few meadows in the sun: 0.0298.
        assert!(lively > 0.028, "{name} is grey: {lively}");
        let again = render_image(&mut app);
        assert!(changed(&before, &again) < 1e-3, "{name} moves while it is paused");
        // Raindrops take effect immediately; water must accumulate first.
        let (ticks, least) = if rains { (10, 0.03) } else { (100, 0.005) };
        app.world_mut().write_message(AppCommand::from(SimulationCommand::Step(ticks)));
        while app.world().resource::<Simulations>().ticks() < u64::from(ticks) {
            app.update();
        }
        frames(&mut app, 2);
        let after = render_image(&mut app);
        assert!(changed(&before, &after) > least, "{name}: erosion changed only {}", changed(&before, &after));
        app.world_mut().write_message(AppCommand::from(CompareCommand::Show(Comparison::Start)));
        frames(&mut app, 3);
        let start = render_image(&mut app);
        // Water and rivers at the start are not stored, and under a small, deeply incised block the foot has sunk.
        let different = changed(&before, &start);
        assert!(different < 0.03 || waters || !landscape, "{name}: the start looks different: {different}");
        app.world_mut().write_message(AppCommand::from(CompareCommand::Show(Comparison::Split)));
        frames(&mut app, 3);
        let split = render_image(&mut app);
        let half = |image: &[[u8; 3]], left: bool| -> Vec<[u8; 3]> {
            // Without labels and divider.
            let inside = |index: &usize| {
                let (x, y) = (index % 320, index / 320);
                y > 40 && (if left { x < 145 } else { x > 175 })
            };
            (0..image.len()).filter(inside).map(|index| image[index]).collect()
        };
        let (left, right) =
            (changed(&half(&split, true), &half(&start, true)), changed(&half(&split, false), &half(&after, false)));
        assert!(left < 0.005 && right < 0.005, "{name}: the divided view differs by {left} and {right}");
    }
    partial_upload_matches_full_upload();
    partial_repaint_matches_full_repaint();
    tiled_screenshot_matches_single_render();
    subpixel_detail_does_not_flicker();
    palettes_do_not_clip();
    woods_darken_only_meadows_at_every_quality();
    stage_changes_show_through_the_water();
    mask_is_tinted_while_a_brush_is_active();
    cut_away_shows_rock_and_closes_unchanged();
    film_follows_its_script_deterministically();
    linear_film_matches_the_display_film();
    camera_follows_keyframes_until_moved();
}

/// Water stays visible over the changes of a stage; other overlays hide it.
fn stage_changes_show_through_the_water() {
    let Some(mut app) = running("dam-break", 64, (320, 200)) else { return };
    frames(&mut app, 30);
    let mut show = |command: AppCommand| {
        app.world_mut().write_message(command);
        frames(&mut app, 4);
        render_image(&mut app)
    };
    let depth = Quantity::Layer(Layer::Water);
    let [plain, stage, hidden] = [None, Some(Quantity::StageChange), Some(depth)].map(|quantity| {
        let wet = show(OverlayCommand::Show(quantity).into());
        let dry = show(EditCommand::ToggleWater.into());
        show(EditCommand::ToggleWater.into());
        changed(&wet, &dry)
    });
    assert!(plain > 0.02 && stage > 0.5 * plain, "water changes {plain} without an overlay, {stage} with a stage");
    assert!(hidden < 1e-3, "water changes {hidden} of its own overlay");
}

/// Masked ground turns red while a brush is active, unless that is switched off.
fn mask_is_tinted_while_a_brush_is_active() {
    let Some(mut app) = running("round-hill", 64, (320, 200)) else { return };
    frames(&mut app, 30);
    let mut show = |command: AppCommand| {
        app.world_mut().write_message(command);
        frames(&mut app, 6);
        render_image(&mut app)
    };
    let plain = show(EditCommand::InvertMask.into());
    let tinted = show(BrushCommand::Activate(Some(Tool::Raise)).into());
    let hidden = show(OverlayCommand::ToggleMask.into());
    let shown = show(OverlayCommand::ToggleMask.into());
    let released = show(BrushCommand::Activate(None).into());
    let red = |image: &[[u8; 3]]| {
        let more: f64 = image.iter().map(|[r, g, _]| f64::from(*r) - f64::from(*g)).sum();
        more / image.len() as f64
    };
    let [before, with] = [&plain, &tinted].map(|image| red(image));
    assert!(with > before + 4.0, "red over green: {with} on average, and {before} without a brush");
    assert!(changed(&tinted, &shown) < 1e-3);
    assert!(changed(&plain, &hidden) < 1e-3 && changed(&plain, &released) < 1e-3);
}

/// A section cuts one side of the block away; when closed, the image is as before.
fn cut_away_shows_rock_and_closes_unchanged() {
    let Some(mut app) = running("round-hill", 64, (320, 200)) else { return };
    frames(&mut app, 30);
    let whole = render_image(&mut app);
    app.world_mut().write_message(AppCommand::from(SectionCommand::Draw(Some([[0.1, 0.5], [0.9, 0.5]]))));
    app.world_mut().write_message(AppCommand::from(SectionCommand::CutAway));
    frames(&mut app, 4);
    let open = render_image(&mut app);
    assert!(changed(&whole, &open) > 0.1, "only {} of the image", changed(&whole, &open));
    let brown = |image: &[[u8; 3]]| share(image, |[r, g, b]| r > b + 8 && (r - g).abs() < 30 && r > 60);
    assert!(brown(&open) > brown(&whole) + 0.03, "rock: {} and {} before", brown(&open), brown(&whole));
    app.world_mut().write_message(AppCommand::from(SectionCommand::CutAway));
    frames(&mut app, 4);
    assert_eq!(changed(&whole, &render_image(&mut app)), 0.0);
}

fn film_follows_its_script_deterministically() {
    if graphics::find_adapter().is_err() {
        return;
    }
    let film = |words: bool| {
        let mut script = Script::orbiting(CameraKeyframe::still(28.0, 26.0, 1.0), 90.0, [0.0, 4.0]);
        if words {
            script.captions.push(Caption { from: 4.0, to: 9.0, text: "Rain 雨".to_owned() });
        }
        let mut seen: Vec<Vec<[u8; 3]>> = Vec::new();
        let mut take = |pixels: &ImagePixels| {
            let ImagePixels::Bytes(bytes) = pixels else { panic!("it is no film of light") };
            seen.push(bytes.chunks_exact(3).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect());
            Ok(())
        };
        shoot(sessions("round-hill", 48), script, RenderOptions::default(), &mut take);
        seen
    };
    let first = film(true);
    assert_eq!(first.iter().map(Vec::len).collect::<Vec<_>>(), [160 * 96; 3]);
    assert!(first.windows(2).all(|pair| changed(&pair[0], &pair[1]) > 0.1), "the camera does not move");
    // The caption is at the bottom of the last image only.
    let (plain, foot) = (film(false), 160 * 70);
    assert!((0..2).all(|frame| changed(&first[frame], &plain[frame]) == 0.0));
    assert_eq!(changed(&first[2][..foot], &plain[2][..foot]), 0.0);
    let written = changed(&first[2][foot..], &plain[2][foot..]);
    assert!((0.02..0.9).contains(&written), "{written} of the foot");
    // A camera with keyframes in the ground is raised above it.
    let mut seen = Vec::new();
    let inside = Script::orbiting(CameraKeyframe::still(28.0, 2.0, 9.0), 0.0, [0.0, 4.0]);
    shoot(sessions("round-hill", 48), inside, RenderOptions::default(), &mut |pixels| {
        let ImagePixels::Bytes(bytes) = pixels else { panic!("it is no film of light") };
        seen = bytes.chunks_exact(3).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        Ok(())
    });
    let ground = share(&seen, |[_, g, b]| g > b + 12 && g > 40);
    assert!(ground > 0.08, "{ground} of the image is green: it shows no hill");
    let again = film(true);
    assert!((0..3).all(|frame| changed(&first[frame], &again[frame]) == 0.0), "the same film differs");
}

/// Receives the pixels of an image.
type Take<'a> = &'a mut dyn FnMut(&ImagePixels) -> Result<(), Error>;

/// Shoots three frames of 160 × 96 pixels, two ticks apart.
fn shoot(sessions: Vec<Session>, script: Script, how: RenderOptions, take: Take<'_>) {
    let (size, stopped) = ((160, 96), &|| false);
    let mut shooting = VideoJob { size, how, script, from: 0, every: 2, frames: 3, stopped, take };
    film::render_video(sessions, &mut shooting).unwrap_or_else(|error| panic!("{error}"));
}

/// Without a tone curve, the screen shows linear light directly.
fn linear_film_matches_the_display_film() {
    if graphics::find_adapter().is_err() {
        return;
    }
    let film = |as_light: bool, tone: ToneCurve, exposure: f32| {
        let script = Script::orbiting(CameraKeyframe::still(28.0, 26.0, 1.0), 90.0, [0.0, 4.0]);
        let mut sessions = sessions("round-hill", 48);
        for session in &mut sessions {
            (session.look.tone_curve, session.look.exposure) = (tone, exposure);
        }
        let mut seen = Vec::new();
        shoot(sessions, script, RenderOptions { as_light, ..RenderOptions::default() }, &mut |pixels| {
            seen.push(pixels.clone());
            Ok(())
        });
        seen
    };
    // Dark enough that nothing exceeds the display range: at edges, 8-bit targets clamp samples before averaging.
    let dark = -2.0;
    let (light, screen) = (film(true, ToneCurve::None, dark), film(false, ToneCurve::None, dark));
    assert!(light == film(true, ToneCurve::None, dark), "the same film differs");
    assert!(light == film(true, ToneCurve::Agx, dark), "a tone curve changes the light");
    assert_eq!(light.len(), 3);
    let bright = film(true, ToneCurve::Aces, 1.0);
    let ImagePixels::Light(bright) = &bright[0] else { panic!("it is light") };
    assert!(bright.iter().flatten().any(|part| *part > 1.5), "light is bounded");
    for (light, screen) in light.iter().zip(&screen) {
        let (ImagePixels::Light(light), ImagePixels::Bytes(screen)) = (light, screen) else { panic!("one of each") };
        assert_eq!((light.len(), screen.len()), (160 * 96, 3 * 160 * 96));
        let far = light.iter().zip(screen.as_chunks::<3>().0).filter(|(light, seen)| {
            let shown = Srgba::from(LinearRgba::rgb(light[0], light[1], light[2])).to_u8_array_no_alpha();
            shown.iter().zip(*seen).any(|(shown, seen)| shown.abs_diff(*seen) > 2)
        });
        let far = far.count();
        assert!(far < light.len() / 500, "{far} of {} pixels", light.len());
        assert!(light.iter().all(|pixel| pixel[3] == 1.0 && pixel.iter().all(|part| part.is_finite())));
    }
}

/// The camera follows the keyframes until the user moves it.
fn camera_follows_keyframes_until_moved() {
    let Some(mut app) = running("round-hill", 48, (160, 96)) else { return };
    let send = |app: &mut App, command: AppCommand| {
        app.world_mut().write_message(command);
        frames(app, 3);
    };
    let pose = |app: &App| app.world().resource::<CameraPose>().pose.expect("the terrain is there");
    frames(&mut app, 12);
    send(&mut app, KeyframeCommand::Set.into());
    let first = pose(&app);
    for _ in 0..4 {
        send(&mut app, SimulationCommand::Step(1).into());
    }
    frames(&mut app, 12);
    let tick = app.world().resource::<Simulations>().ticks();
    assert_eq!(tick, 4);
    send(&mut app, CameraCommand::Move(CameraStep::Orbit(60.0, 10.0)).into());
    send(&mut app, CameraCommand::Move(CameraStep::Pan(0.05, 0.0)).into());
    send(&mut app, KeyframeCommand::Set.into());
    let second = pose(&app);
    let far = |a: Pose, b: Pose| {
        let numbers = |pose: Pose| [pose.round / 90.0, pose.above / 90.0, pose.near, pose.at[0], pose.at[1]];
        numbers(a).into_iter().zip(numbers(b)).fold(0.0, |far: f64, (a, b)| far.max((a - b).abs()))
    };
    assert!(far(first, second) > 0.3);
    send(&mut app, KeyframeCommand::Follow.into());
    assert!(far(pose(&app), second) < 1e-4, "{:?}", pose(&app));
    send(&mut app, SimulationCommand::Restart.into());
    frames(&mut app, 6);
    assert!(far(pose(&app), first) < 1e-4, "{:?} for {first:?}", pose(&app));
    send(&mut app, CameraCommand::Move(CameraStep::Orbit(15.0, 0.0)).into());
    let taken = pose(&app);
    assert!(!app.world().resource::<KeyframeFollowing>().0 && far(taken, first) > 0.1);
    send(&mut app, SimulationCommand::Step(2).into());
    frames(&mut app, 12);
    assert!(far(pose(&app), taken) < 1e-4, "a camera that a hand has moved stays");
    send(&mut app, CameraCommand::GoToKeyframe(4).into());
    assert!(far(pose(&app), second) < 1e-4, "{:?}", pose(&app));
}

/// A few droplets upload only what they change, and the image is the same as with a full upload.
fn partial_upload_matches_full_upload() {
    const SIDE: usize = 256;
    let Some(mut app) = running("alpine-valley", SIDE, (320, 200)) else { return };
    app.world_mut().resource_mut::<Simulations>().all_mut()[0].set("droplets.per_tick", "10").expect("in range");
    frames(&mut app, 30);
    let before = render_image(&mut app);
    let uploaded = app.world().resource::<Timing>().uploaded;
    for tick in 1..=10 {
        app.world_mut().write_message(AppCommand::from(SimulationCommand::Step(1)));
        while app.world().resource::<Simulations>().ticks() < tick {
            app.update();
        }
        frames(&mut app, 1);
    }
    let sent = app.world().resource::<Timing>().uploaded - uploaded;
    // A cell has 16 bytes of layers, 8 of relief, 4 of cover and 1 of elevation change.
    assert!((1..10 * 29 * (SIDE * SIDE) as u64 / 4).contains(&sent), "{sent} bytes in ten ticks");
    frames(&mut app, 2);
    let parts = render_image(&mut app);
    assert!(changed(&before, &parts) > 0.0, "the droplets changed nothing that is seen");
    for before in [Comparison::Start, Comparison::Off] {
        app.world_mut().write_message(AppCommand::from(CompareCommand::Show(before)));
        frames(&mut app, 3);
    }
    let whole = render_image(&mut app);
    assert!(changed(&parts, &whole) < 1e-3, "parts differ from the whole: {}", changed(&parts, &whole));
}

/// Partial repaints of the window match a full repaint.
fn partial_repaint_matches_full_repaint() {
    const SIZE: (u32, u32) = (640, 480);
    // The status bar shows the frame time.
    const SEEN: usize = 640 * (480 - 28);
    let Some(mut app) = running("alpine-valley", 64, SIZE) else { return };
    app.insert_resource(UiVisible(true));
    // Loads and unloads the preview images of scenes.
    for _ in 0..2 {
        frames(&mut app, 10);
        app.world_mut().write_message(AppCommand::from(WindowCommand::Toggle("scenes")));
    }
    frames(&mut app, 10);
    let depth = Quantity::all().next().expect("there are quantities");
    let steps = [
        AppCommand::from(SimulationCommand::Step(1)),
        OverlayCommand::Show(Some(depth)).into(),
        WindowCommand::Toggle("settings").into(),
        WindowCommand::Toggle("settings").into(),
        OpenWorkspace(Workspace::Learn).into(),
        SimulationCommand::Step(1).into(),
        CompareCommand::Show(Comparison::Split).into(),
        WindowCommand::ToggleUi.into(),
        WindowCommand::ToggleUi.into(),
        WindowCommand::Toggle("about").into(),
    ];
    for step in steps {
        let what = format!("{step:?}");
        app.world_mut().write_message(step);
        // Until all fades have ended.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(700) {
            app.update();
        }
        let parts = render_image(&mut app);
        off_screen::resize(&mut app, (SIZE.0 + 64, SIZE.1 + 64));
        frames(&mut app, 3);
        off_screen::resize(&mut app, SIZE);
        frames(&mut app, 6);
        let whole = render_image(&mut app);
        let differ = parts[..SEEN].iter().zip(&whole).filter(|(part, whole)| part != whole).count();
        assert!(differ == 0, "after {what}, {differ} pixels differ");
    }
}

/// Takes a screenshot as F12 does. Returns its size and RGBA pixels.
fn taken(app: &mut App) -> ([u32; 2], Vec<[u8; 4]>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    app.world_mut().resource_mut::<Jobs>().screenshot_folder = Some(folder.path().to_owned());
    app.world_mut().write_message(AppCommand::from(ScreenshotCommand::Take));
    let begun = Instant::now();
    loop {
        app.update();
        let ends =
            app.world().resource::<Jobs>().count() == 0 && !app.world().resource::<ViewportArea>().is_taking_screenshot;
        let file = fs::read_dir(folder.path()).expect("it is there").flatten().next();
        if let (true, Some(file)) = (ends, file) {
            return read(&file.path());
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "there is no image");
    }
}

/// Reads size and pixels of a file.
fn read(path: &Path) -> ([u32; 2], Vec<[u8; 4]>) {
    let file = io::BufReader::new(fs::File::open(path).expect("it is there"));
    let mut reader = png::Decoder::new(file).read_info().expect("an image was written");
    let mut bytes = vec![0; reader.output_buffer_size().expect("it has a size")];
    let info = reader.next_frame(&mut bytes).expect("it is whole");
    let pixel = |pixel: &[u8]| [pixel[0], pixel[1], pixel[2], pixel.get(3).copied().unwrap_or(255)];
    let pixels = bytes.chunks_exact(info.color_type.samples()).map(pixel).collect();
    ([info.width, info.height], pixels)
}

/// Screenshots larger than the view are rendered in parts and match a single rendering.
fn tiled_screenshot_matches_single_render() {
    // Two parts across, of which the second is narrow, and two down.
    const SIZE: [u32; 2] = [2400, 2100];
    let Some(mut app) = running("alpine-valley", 96, (240, 210)) else { return };
    frames(&mut app, 10);
    app.world_mut().resource_mut::<Preferences>().settings.screenshot_side = SIZE[0] as f32;
    let (size, parts) = taken(&mut app);
    assert_eq!(size, SIZE);
    // The same, rendered at once in a view of that size. No notification covers it.
    app.insert_resource(Notices::default());
    off_screen::resize(&mut app, SIZE.into());
    frames(&mut app, 10);
    let wanted = render_image(&mut app);
    let found: Vec<[u8; 3]> = parts.iter().map(|&[red, green, blue, _]| [red, green, blue]).collect();
    assert!(changed(&wanted, &found) < 1e-3, "parts differ from the whole: {}", changed(&wanted, &found));
    app.world_mut().resource_mut::<Preferences>().settings.transparent_screenshots = true;
    let (_, alone) = taken(&mut app);
    let [width, height] = SIZE.map(|side| side as usize);
    assert!([0, width - 1, width * (height - 1)].iter().all(|&corner| alone[corner] == [0; 4]), "the table is drawn");
    let land = (0..alone.len()).filter(|&pixel| alone[pixel][3] == 255);
    let land: (Vec<[u8; 3]>, Vec<[u8; 3]>) =
        land.map(|pixel| ([alone[pixel][0], alone[pixel][1], alone[pixel][2]], wanted[pixel])).unzip();
    assert!(land.0.len() > alone.len() / 5 && changed(&land.0, &land.1) < 1e-3, "the terrain looks different alone");
    // A running simulation is paused for a screenshot and resumes.
    off_screen::resize(&mut app, (240, 210));
    app.insert_resource(Transport::default());
    let ticks = |app: &App| app.world().resource::<Simulations>().ticks();
    while ticks(&app) < 3 {
        app.update();
    }
    taken(&mut app);
    let (then, begun) = (ticks(&app), Instant::now());
    while ticks(&app) < then + 3 {
        app.update();
        assert!(begun.elapsed() < Duration::from_secs(60), "the simulation does not advance");
    }
}

/// Returns the mean difference of horizontal neighbours, in byte steps, within these rows.
fn sharpness(image: &[[u8; 4]], width: usize, rows: Range<usize>) -> f64 {
    let rows = &image[rows.start * width..rows.end * width];
    let steps =
        rows.chunks_exact(width).flat_map(|row| row.windows(2)).map(|pair| f64::from(pair[0][1].abs_diff(pair[1][1])));
    steps.sum::<f64>() / rows.len() as f64
}

/// Depth of field blurs near and far, reproducibly.
fn depth_of_field_blurs_near_and_far() {
    let Some(mut app) = running("young-range", 128, (320, 200)) else { return };
    frames(&mut app, 20);
    let (size, sharp) = taken(&mut app);
    app.world_mut().resource_mut::<Preferences>().settings.screenshot_blur = 10.0;
    let (_, blurred) = taken(&mut app);
    let [width, height] = size.map(|side| side as usize);
    let retained = |rows: Range<usize>| sharpness(&blurred, width, rows.clone()) / sharpness(&sharp, width, rows);
    // The terrain fills the image from a quarter of its height downwards.
    let [far, middle, near] = [0.25..0.35, 0.45..0.55, 0.6..0.7]
        .map(|rows: Range<f64>| retained((rows.start * height as f64) as usize..(rows.end * height as f64) as usize));
    assert!(
        // Near ground is smooth in so small an image.
        middle > 0.7 && far < 0.7 * middle && near < 0.97 * middle,
        "{middle} of the middle is left, {far} of what is far and {near} of what is near"
    );
    assert!(taken(&mut app).1 == blurred, "it is another image");
    // The same off-screen, also with a transparent background.
    app.world_mut().resource_mut::<Preferences>().settings.transparent_screenshots = true;
    let wanted = taken(&mut app);
    drop(app);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let how = RenderOptions { blur: 10.0, transparent: true, ..RenderOptions::default() };
    let shot = RenderJob { out: folder.path().join("land.png"), resolution: (320, 200), camera: None, how };
    off_screen::render_screenshot(sessions("young-range", 128), &shot).unwrap_or_else(|error| panic!("{error}"));
    assert!(read(&shot.out) == wanted, "another image is rendered without a window");
}

/// Of two sessions in the same place, each is shown on its side as if alone.
fn split_view_shows_each_simulation_as_if_alone() {
    let Some(mut app) = running("ten-seeds", 64, (320, 200)) else { return };
    let mut show = |command: CompareCommand| {
        app.world_mut().write_message(AppCommand::from(command));
        frames(&mut app, 8);
        render_image(&mut app)
    };
    let apart = show(CompareCommand::Show(Comparison::Off));
    show(CompareCommand::Show(Comparison::Simulations));
    let [left, right, both] = [1.0, 0.0, 0.5].map(|share| show(CompareCommand::MoveDivider(share)));
    assert!(changed(&left, &right) > 0.1, "two runs look alike");
    let half = |image: &[[u8; 3]], left: bool| -> Vec<[u8; 3]> {
        // Without labels and divider.
        let inside = |pixel: &usize| pixel / 320 > 50 && if left { pixel % 320 < 145 } else { pixel % 320 > 175 };
        (0..image.len()).filter(inside).map(|pixel| image[pixel]).collect()
    };
    for (side, alone) in [(true, &left), (false, &right)] {
        let differ = changed(&half(&both, side), &half(alone, side));
        assert!(differ < 0.005, "{differ} of a side is not as if it were alone");
    }
    assert!(changed(&show(CompareCommand::Show(Comparison::Off)), &apart) < 1e-3, "the runs do not stand apart again");
    // Flickering from one to the other and back.
    app.world_mut().write_message(AppCommand::from(CompareCommand::Flicker));
    frames(&mut app, 8);
    let one = render_image(&mut app);
    app.world_mut().write_message(AppCommand::from(CompareCommand::Flicker));
    frames(&mut app, 8);
    assert!(changed(&one, &right) < 1e-3 && changed(&render_image(&mut app), &left) < 1e-3, "they do not take turns");
}

/// Returns the mean difference of two images, in byte steps.
fn difference(a: &[[u8; 3]], b: &[[u8; 3]]) -> f64 {
    let sum: u64 = a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / (3 * a.len()) as f64
}

/// When the camera turns by less than a pixel, detail below the cell size adds hardly any flicker.
fn subpixel_detail_does_not_flicker() {
    let turned = |detail: &str| {
        let mut app = running("alpine-valley", 256, (480, 300))?;
        let mut simulations = app.world_mut().resource_mut::<Simulations>();
        simulations.all_mut()[0].set("look.detail", detail).expect("in range");
        frames(&mut app, 20);
        let before = render_image(&mut app);
        app.world_mut().write_message(AppCommand::from(CameraCommand::Move(CameraStep::Orbit(0.1, 0.0))));
        let begun = Instant::now();
        // Until the camera transition has ended.
        while begun.elapsed() < Duration::from_secs(2) {
            app.update();
        }
        let after = render_image(&mut app);
        Some((difference(&before, &after), before))
    };
    let (Some((smooth, without)), Some((rough, with))) = (turned("0"), turned("1")) else { return };
    assert!(difference(&without, &with) > 0.3, "small shapes do not show");
    assert!(rough < 1.1 * smooth, "a turn by a part of a pixel changes {rough} with small shapes, {smooth} without");
}

/// Hardly any pixels clip to the brightest or darkest value in any palette.
fn palettes_do_not_clip() {
    let Some(mut app) = running("alpine-valley", 128, (320, 200)) else { return };
    let mut seen: Vec<Vec<[u8; 3]>> = Vec::new();
    for (name, palette) in PRESETS.iter().filter(|(_, preset)| preset.is_of("look")) {
        let mut simulations = app.world_mut().resource_mut::<Simulations>();
        palette.apply(&mut simulations.all_mut()[0], Path::new(name)).unwrap_or_else(|error| panic!("{error}"));
        frames(&mut app, 6);
        let image = render_image(&mut app);
        let cut = share(&image, |pixel| pixel.contains(&255) || pixel == [0; 3]);
        assert!(cut < 0.002, "{name}: {cut} of the image is cut off");
        assert!(seen.iter().all(|other| changed(other, &image) > 0.1), "{name} looks like another palette");
        seen.push(image);
    }
}

/// Woods are darker than meadows, only replace green ground, and keep their brightness in coarse rendering.
fn woods_darken_only_meadows_at_every_quality() {
    let Some(mut app) = running("island", 128, (320, 200)) else { return };
    let mut with = |woods: f32, fine: bool| {
        app.world_mut().resource_mut::<Simulations>().all_mut()[0].look.woods = woods;
        app.insert_resource(FixedStep(Some((1.0, !fine))));
        frames(&mut app, 8);
        render_image(&mut app)
    };
    let [open, wooded, moving] = [(0.0, true), (1.0, true), (1.0, false)].map(|(woods, fine)| with(woods, fine));
    let green = |[r, g, b]: [u8; 3]| g > r.saturating_add(14) && g > b.saturating_add(14);
    let (mut meadows, mut others) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for ((open, wooded), moving) in open.iter().zip(&wooded).zip(&moving) {
        let brightness = [*open, *wooded, *moving].map(|[r, g, b]| f64::from(r) + f64::from(g) + f64::from(b));
        let part = if green(*open) { &mut meadows } else { &mut others };
        part.0.push(brightness);
        part.1.push(open != wooded);
    }
    let mean = |all: &[[f64; 3]], which: usize| all.iter().map(|each| each[which]).sum::<f64>() / all.len() as f64;
    assert!(meadows.0.len() > open.len() / 30, "{} green pixels", meadows.0.len());
    let [bare, still, moves] = [0, 1, 2].map(|which| mean(&meadows.0, which));
    assert!(still < 0.8 * bare, "{bare} of meadows, {still} of woods");
    assert!((moves / still - 1.0).abs() < 0.1, "{moves} while it moves, {still} while it is idle");
    let touched = others.1.iter().filter(|touched| **touched).count() as f64 / others.1.len() as f64;
    assert!(touched < 0.08, "{touched} of what was not green has changed");
}

/// Returns the resident memory of this process in megabytes, where the system reports it.
fn resident() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1.024e-3)
}

/// Frames over which memory may grow by at most [`GROWTH`] megabytes.
const FRAMES: usize = 600;
const GROWTH: f64 = 8.0;
/// Memory that a pass through many scenes may leak, in megabytes.
const FORGOTTEN: f64 = 2.0;

/// Returns the growth of resident memory over [`FRAMES`] frames, in megabytes.
fn growth(app: &mut App, mut before_frame: impl FnMut(&mut App)) -> f64 {
    let mut draw = |count: usize| {
        for _ in 0..count {
            before_frame(app);
            app.update();
        }
        resident().expect("it was known before")
    };
    // The first frames compile shaders and fill pools.
    let before = draw(40);
    draw(FRAMES) - before
}

/// Number of window resizes.
const RESIZED: usize = 50;

/// Returns the memory growth in megabytes of a repeatedly resized window with a turning camera and all overlays in split view.
fn resized(app: &mut App) -> f64 {
    app.world_mut().write_message(AppCommand::from(CompareCommand::Show(Comparison::Split)));
    let overlays: Vec<Quantity> = Quantity::all().collect();
    let mut round = || {
        for turn in 0..RESIZED {
            let size = (96 + 16 * (turn as u32 % 7), 64 + 8 * (turn as u32 % 5));
            off_screen::resize(app, size);
            let overlay = overlays[turn % overlays.len()];
            app.world_mut().write_message(AppCommand::from(OverlayCommand::Show(Some(overlay))));
            frames(app, FRAMES / RESIZED);
            let seen = app.world().resource::<ViewportArea>().rect.size();
            assert_eq!((seen.x, seen.y), size, "the view is as large as the window");
        }
        off_screen::resize(app, (96, 64));
        frames(app, 10);
        resident().expect("it was known before")
    };
    let first = round();
    round() - first
}

/// The loss of the graphics device ends the program with the work saved for recovery.
#[test]
fn gpu_device_loss_autosaves_and_exits() {
    let Some(mut app) = running("round-hill", 48, (96, 64)) else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut document = Document::default();
    document.start_autosave(folder.path(), None, 0).unwrap_or_else(|error| panic!("{error}"));
    app.insert_resource(document);
    loss::handle_device_loss(&mut app);
    app.world_mut().write_message(AppCommand::from(SimulationCommand::Step(3)));
    while app.world().resource::<Simulations>().ticks() < 3 {
        app.update();
    }
    let ground = app.world().resource::<Simulations>().selected().simulation.terrain.ground();
    let device = app.world().resource::<RenderDevice>().wgpu_device().clone();
    device.destroy();
    // The loss is reported only then.
    let _ = device.poll(wgpu::PollType::wait_indefinitely());
    let exit = (0..20).find_map(|_| {
        app.update();
        app.should_exit()
    });
    assert!(exit.as_ref().is_some_and(AppExit::is_error), "{exit:?}");
    // There is no other frame: the window's event loop ends immediately.
    let left = app.world().resource::<Document>().handover_path.clone().expect("the project is kept");
    let opened = project::open_with_timeline(&left).unwrap_or_else(|error| panic!("{error}"));
    assert!(opened.sessions[0].simulation.terrain.ground() == ground);
}

/// Resident memory is per process, so the test runs itself again in a process of its own.
#[test]
fn frames_and_scenes_do_not_leak_memory() {
    const ALONE: &str = "THALWEG_TEST_ALONE";
    if resident().is_none() {
        eprintln!("SKIPPED: memory was not measured: this system does not say what a process takes");
        return;
    }
    if env::var_os(ALONE).is_none() {
        let name = "render::frames_and_scenes_do_not_leak_memory";
        let mut again = process::Command::new(env::current_exe().expect("it runs"));
        // With an arena per thread, glibc would leave gaps in each, which look like leaks.
        let again = again.args(["--exact", name, "--nocapture"]).env(ALONE, "1").env("MALLOC_ARENA_MAX", "1");
        let again = again.output().expect("it starts");
        let [output, wrong] = [again.stdout, again.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        eprintln!("{wrong}");
        assert!(again.status.success() && output.contains("1 passed"), "alone it fails: {output}");
        return;
    }
    let Some(mut app) = running("mountain-lake", 64, (96, 64)) else { return };
    // Coarse and without anti-aliasing for speed. Undo has its own budget.
    let settings = &mut app.world_mut().resource_mut::<Preferences>().settings;
    *settings = Settings {
        quality: Quality::Custom,
        triangle: 16.0,
        anti_aliasing: AntiAliasing::Off,
        undo_memory: 0.0,
        ..Settings::default()
    };
    // Otherwise the clock decides when a coarse image first appears: on a busy machine, during the measurement. The driver caches
    // 20 MB of compiled shaders for it.
    app.insert_resource(FixedStep(Some((1.0, false))));
    app.world_mut().write_message(AppCommand::from(CameraCommand::ToggleTurntable));
    let plain = growth(&mut app, |_| {});
    app.world_mut().write_message(AppCommand::from(BrushCommand::Activate(Some(Tool::Raise))));
    let point = |app: &mut App| {
        app.world_mut().write_message(BrushInput::Hover(Some([0.5, 0.5]), ModifierKeys::default()));
    };
    let water = growth(&mut app, point);
    // Overlays hide the water.
    app.world_mut().write_message(AppCommand::from(OverlayCommand::Show(Some(Quantity::Layer(Layer::Water)))));
    app.world_mut().write_message(AppCommand::from(OverlayCommand::ToggleArrows));
    let overlay = growth(&mut app, point);
    eprintln!(
        "{FRAMES} frames grew by {plain:.1} MB, {water:.1} with ring and water, {overlay:.1} with overlay and arrows"
    );
    let resized = resized(&mut app);
    eprintln!("{FRAMES} frames with {RESIZED} other sizes grew by {resized:.1} MB");
    let mut open = |(name, _): &(&'static str, &str)| {
        let options = Options { size: Some((96, 96)), ..Options::default() };
        app.world_mut().write_message(AppCommand::from(FileCommand::Open(name.into(), options)));
        while app.world().resource::<Simulations>().selected().name != *name {
            app.update();
        }
        // Each scene is drawn both coarse and fine in each round, as the driver caches compiled shaders for either.
        for coarse in [true, false] {
            app.insert_resource(FixedStep(Some((1.0, coarse))));
            frames(&mut app, 15);
        }
        resident().expect("it was known before")
    };
    // Memory of a scene is reused by the next, and pools grow until they hold the largest one, at a random time. Leaks occur in
    // every round.
    let rounds = [1, 2, 3, 4, 5, 6].map(|time| {
        let sizes: Vec<f64> = BUILT_IN.iter().take(11).map(&mut open).collect();
        let own = in_use() as f64 / 1e6;
        eprintln!("after each scene, opened {time} times: {sizes:.0?} MB, of which {own:.1} MB are the program's own");
        [sizes[10], own]
    });
    let grown = [plain, water, overlay, resized];
    assert!(grown.iter().all(|grown| *grown < GROWTH), "{grown:.1?} MB in {FRAMES} frames");
    let least = rounds.windows(2).map(|pair| pair[1][0] - pair[0][0]).fold(f64::MAX, f64::min);
    assert!(least < FORGOTTEN, "eleven scenes took {least:.1} MB at least each time they were opened: {rounds:.1?}");
    let own = rounds[5][1] - rounds[1][1];
    assert!(own < FORGOTTEN, "the program itself needs {own:.1} MB more after eleven scenes four times: {rounds:.1?}");
}
