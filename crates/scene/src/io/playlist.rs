//! Playlists: ordered lists of scenes, as hand-written RON files.

use std::path::Path;

use super::{Budget, Error, input, output, project, scene};
use crate::model::{
    film::CameraKeyframes,
    origin::Options,
    playlist::{Item, Playlist},
    session::Session,
};
use thalweg_sim::params::join_with_suggestion;

/// `true` if the text is a playlist and not a scene: it has a top-level field `scenes`, or contains `scenes:` if it does not parse.
pub fn is_playlist(text: &str) -> bool {
    match ron::from_str(text) {
        Ok(ron::Value::Map(fields)) => {
            fields.into_iter().any(|(field, _)| field.into_rust::<String>().is_ok_and(|field| field == "scenes"))
        }
        Ok(_) => false,
        Err(_) => text.contains("scenes:"),
    }
}

/// `true` if the file is a playlist.
pub fn is_playlist_file(path: &Path) -> bool {
    let ron = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ron"));
    ron && input::text(path).is_ok_and(|text| is_playlist(&text))
}

/// Reads and checks a playlist: every scene exists and its parameters are valid. Relative paths are resolved against the playlist.
///
/// # Errors
/// The playlist is invalid. The message names the scene, the problem and a remedy.
pub fn read(path: &Path) -> Result<Playlist, Error> {
    let text = input::text(path)?;
    let right = "see docs/presenting.md";
    let list = input::parse(&text, 0);
    let mut list: Playlist =
        list.map_err(|wrong| Error::input(path, format!("not a valid playlist ({wrong})"), right))?;
    list.check().map_err(|wrong| Error::input(path, wrong, right))?;
    for item in &mut list.scenes {
        let beside = path.with_file_name(&item.open);
        if !is_built_in(&item.open) && beside.is_file() {
            item.open = beside;
        }
    }
    check(&list, path)?;
    Ok(list)
}

fn is_built_in(name: &Path) -> bool {
    scene::BUILT_IN.iter().any(|(known, _)| Path::new(known) == name)
}

/// Checks that all scenes and parameters of a playlist exist.
///
/// # Errors
/// An entry is invalid. The message names the scene, the problem and a remedy.
pub fn check(list: &Playlist, path: &Path) -> Result<(), Error> {
    let names = scene::BUILT_IN.map(|(name, _)| name);
    for (number, item) in list.scenes.iter().enumerate() {
        let wrong = |what: String, right: &str| Error::input(path, format!("scene {}: {what}", number + 1), right);
        if !is_built_in(&item.open) && !item.open.is_file() {
            let right =
                format!("the built-in scenes are {}", join_with_suggestion(&names, &item.open.to_string_lossy()));
            return Err(wrong(format!("no scene or file \"{}\"", item.open.display()), &right));
        }
        let mut sample = Session::placeholder("sample", 0, crate::model::origin::Origin::default());
        let set = item.set.iter().map(|(path, value)| (&**path, &**value));
        sample.set_all(set).map_err(|error| wrong(error.to_string(), "see `thalweg params`"))?;
        if let Some(unknown) = item.sliders.iter().map(|slider| &slider.path).find(|path| !sample.has(path)) {
            return Err(wrong(format!("unknown slider parameter \"{unknown}\""), "see `thalweg params`"));
        }
    }
    Ok(())
}

/// Returns the camera keyframes of a scene that is a project; empty if they are invalid.
pub fn keys(item: &Item) -> CameraKeyframes {
    let path = &*item.open;
    if project::is_project(path) { project::keys(path).unwrap_or_default() } else { CameraKeyframes::default() }
}

/// Opens a scene with the overrides of its playlist entry.
///
/// # Errors
/// The scene or its parameters are invalid.
pub fn open(item: &Item) -> Result<Vec<Session>, Error> {
    let mut sessions = scene::open(&item.open, &Options::default())?;
    let path = &*item.open;
    let continues = project::is_project(path);
    for session in &mut sessions {
        let set = item.set.iter().map(|(path, value)| (&**path, &**value));
        session.record_sculpted_start();
        session.set_all(set).map_err(|error| Error::input(path, error.to_string(), "see `thalweg params`"))?;
        // A project continues from its saved state, unless its terrain is changed.
        if item.set.keys().any(|path| path.starts_with("terrain.")) || !continues && !item.set.is_empty() {
            Budget::present().request(path, session.additional_bytes())?;
            session.restart(session.simulation.seed());
        }
        if !item.title.is_empty() {
            session.title.clone_from(&item.title);
        }
        if !item.about.is_empty() {
            session.about.clone_from(&item.about);
        }
        if item.ticks != (0, 0) {
            session.shown_from = item.ticks.0;
        }
        session.raise_totals(|path| item.set.contains_key(path));
        if !item.sliders.is_empty() {
            session.sliders.clone_from(&item.sliders);
        }
    }
    Ok(sessions)
}

/// Writes a playlist. Paths inside its folder become relative, others absolute.
///
/// # Errors
/// The file cannot be written.
pub fn save(list: &Playlist, path: &Path) -> Result<(), Error> {
    let mut list = list.clone();
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let target = whole(path);
    for item in list.scenes.iter_mut().filter(|item| !is_built_in(&item.open)) {
        let file = whole(&item.open);
        let beside = target.parent().and_then(|folder| file.strip_prefix(folder).ok());
        item.open = beside.unwrap_or(&file).to_owned();
    }
    let pretty = ron::ser::PrettyConfig::new().indentor("    ".to_owned());
    let text = ron::ser::to_string_pretty(&list, pretty)
        .map_err(|error| Error::output(path, format!("writing failed ({error})"), "choose another name"))?;
    output::replace(path, |file| output::write(file, text + "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::session::AudienceSlider;
    use thalweg_sim::params::{Value, get};

    fn written(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("list.ron");
        output::write(&path, text).expect("it can be written");
        (folder, path)
    }

    #[test]
    fn playlist_opens_scenes_with_overrides() {
        let (folder, path) = written(
            "(title: \"Show\", scenes: [(open: \"round-hill\"), (open: \"my.ron\", title: \"Mine\", set: {\"terrain.relief\": \"33\"}, \
             ticks: (3, 90), sliders: [\"droplets.entrainment: Erosion\"])])",
        );
        let scene = "(title: \"A\", about: \"b\", seed: 3, ticks: 5, enabled: [\"droplets\"], set: {\"terrain.width\": \"32\", \
                     \"terrain.height\": \"32\"}, sliders: [\"droplets.per_tick\"])";
        output::write(&folder.path().join("my.ron"), scene).expect("it can be written");
        let list = read(&path).unwrap_or_else(|error| panic!("{error}"));
        let [hill, mine] = &list.scenes[..] else { panic!("{list:?}") };
        assert!(!open(hill).expect("it opens")[0].sliders.is_empty(), "a built-in scene names what is worth turning");
        let session = &open(mine).unwrap_or_else(|error| panic!("{error}"))[0];
        assert_eq!((&*session.title, &*session.about, session.shown_from), ("Mine", "b", 3));
        let slider = AudienceSlider { path: "droplets.entrainment".to_owned(), title: Some("Erosion".to_owned()) };
        assert_eq!(session.sliders, [slider]);
        let (low, high) = session.simulation.terrain.bedrock.min_max();
        assert!((high - low - 33.0).abs() < 1.0, "{low} to {high} m");
        // Written in the same or another folder and read back, it is equal.
        let elsewhere = tempfile::tempdir().expect("a folder");
        for copy in [elsewhere.path().join("copy.ron"), folder.path().join("copy.ron")] {
            save(&list, &copy).expect("it can be written");
            assert_eq!(read(&copy).unwrap_or_else(|error| panic!("{error}")), list);
        }
        let copy = folder.path().join("copy.ron");
        assert!(!input::text(&copy).expect("it is there").contains(&*folder.path().to_string_lossy()));
        assert!(is_playlist(&input::text(&copy).expect("it is there")) && !is_playlist(scene));
    }

    #[test]
    fn scene_does_not_stop_at_the_total_of_its_particles() {
        let item = |more: &str| -> Item {
            input::parse(&format!("(open: \"round-hill\"{more})"), 0).unwrap_or_else(|error| panic!("{error}"))
        };
        let number =
            |session: &Session, path: &str| match get(&session.groups(), path).expect("it is a parameter").value {
                Value::Number(number) => number,
                other => panic!("{other:?}"),
            };
        let total = |session: &Session| number(session, "droplets.total");
        for more in [", ticks: (40, 400)", ", seconds: 45"] {
            let session = &open(&item(more)).expect("it opens")[0];
            let run = 400.0 * number(session, "droplets.per_tick");
            assert!(total(session) > run, "the terrain is finished after {} of {run} droplets", total(session));
        }
        // A total of its own stays.
        assert_eq!(total(&open(&item(", set: {\"droplets.total\": \"5000\"}")).expect("it opens")[0]), 5000.0);
    }

    #[test]
    fn unknown_references_in_playlist_are_reported() {
        for (scenes, expected) in [
            ("(open: \"round-hil\")", "closest match: round-hill"),
            ("(open: \"wadi\") (open: \"delta\")", "not a valid playlist"),
            ("(open: \"nowhere.ron\")", "nowhere.ron"),
            ("(open: \"wadi\", set: {\"droplets.nothing\": \"1\"})", "droplets.nothing"),
            ("(open: \"wadi\", set: {\"terrain.relief\": \"-9\"})", "terrain.relief"),
            ("(open: \"wadi\", sliders: [\"droplets\"])", "unknown slider parameter \"droplets\""),
            ("(open: \"wadi\", colour: 3)", "line 1: unknown field `colour`"),
            (
                "(open: \"wadi\",\n titel: \"a\")",
                "line 2: unknown field `titel`; the fields are open, title, about, notes, set, ticks, \
             sliders, camera, captions, seconds (closest match: title)",
            ),
            (
                "(open: \"wadi\",\n\n camera: [(tick: 0, round: 0, above: 20, then: Smoth)])",
                "line 3: unknown name `Smoth`",
            ),
        ] {
            let (_folder, path) = written(&format!("(title: \"a\", scenes: [{scenes}])"));
            let error = read(&path).expect_err("it is wrong");
            assert!(error.to_string().contains(expected) && error.exit_code() == 2, "{error}");
        }
    }
}
