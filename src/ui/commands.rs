//! The one table of commands: menus, keys, palette and help are made from it.

use std::sync::LazyLock;

use bevy_egui::egui::{self, Key, KeyboardShortcut, Modifiers};
use egui_phosphor::regular as icon;

use crate::runtime::{
    BrushCommand, CameraCommand, CameraStep, Command, CompareCommand, Comparison, DrainageCommand, EditCommand,
    FileCommand, Gait, KeepView, KeyframeCommand, LessonCommand, OpenWorkspace, OverlayCommand, PictureCommand,
    PresentCommand, QuizCommand, RunCommand, SectionCommand, ToggleRecording, WindowCommand, Workspace,
};
use thalweg_scene::{
    io::{
        export, lesson,
        scene::{BUILT_IN, GROUPS, Scene},
    },
    model::origin::Options,
};
use thalweg_sim::{
    core::{quantity::Quantity, terrain::Layer},
    edit::Tool,
};

use super::{
    CUTS, about,
    brush::DragBrush,
    checks,
    files::{self, AskWhat},
    help, land, lesson as lesson_card, palette,
    placing::{Place, Placed},
    playlist,
    presenter::TogglePresenter,
    scenes, settings,
    tool_bar::tool_icon,
    vary, wind,
};

type Fill = fn(&mut MenuPart<'_>);

const MENUS: [(&str, Fill); 8] = [
    ("File", file),
    ("Edit", edit),
    ("Brush", brush),
    ("Scene", scene),
    ("Run", run),
    ("View", view),
    ("Learn", learn),
    ("Help", help_menu),
];

pub fn menus() -> impl Iterator<Item = &'static str> {
    MENUS.into_iter().map(|(title, _)| title)
}

/// A command with everything that is said of it.
pub struct Entry {
    pub menu: &'static str,
    pub icon: &'static str,
    pub title: String,
    /// What it does, in a sentence.
    pub about: String,
    pub keys: Vec<KeyboardShortcut>,
    pub command: Command,
    /// Whether a line divides it from the one before.
    pub divided: bool,
    /// The menu in the menu in which it stands, if it stands in one.
    pub group: Option<&'static str>,
}

/// What else people call a command: its title, and the words by which the palette finds it too.
const OTHER_NAMES: [(&str, &str); 48] = [
    ("Playlist…", "slides slideshow presentation order show kiosk"),
    ("Presenter's window", "speaker notes second screen monitor"),
    ("New…", "create own blank empty map generate terrain size"),
    ("Open…", "load file project scene heightmap dem"),
    ("Save", "store write keep project"),
    ("Export…", "save as image mesh unity unreal godot blender gis stl obj glb texture"),
    ("Save heights as…", "export heightmap dem geotiff exr raw"),
    ("Copy command line", "script terminal batch headless"),
    ("Settings…", "preferences options theme dark light quality memory autosave scale zoom"),
    ("Quit", "exit close leave"),
    ("Reference", "manual documentation equations glossary parameters"),
    ("Check this machine…", "self test verify validation benchmark"),
    ("Pin a probe", "measure inspect time series gauge"),
    ("Release a particle", "follow droplet grain track step single drop"),
    ("Runs side by side…", "vary compare parameter study sweep grid two runs a b"),
    ("Cut the block open", "cutaway slice clip section inside layers"),
    ("Draw a section", "profile cross cut transect"),
    ("Save report…", "hand in homework answers html pdf"),
    ("Undo", "back revert"),
    ("Redo", "again forward"),
    ("Spread a metre of sand", "add cover dust"),
    ("Dry everything", "drain remove water empty"),
    ("Carve outlets", "breach depressions pits sinks"),
    ("Fill lakes", "flood ponds basins"),
    ("Fill rivers", "streams water flow discharge"),
    ("Larger brush", "bigger size"),
    ("Smaller brush", "size"),
    ("Cancel or leave", "escape exit back"),
    ("All scenes…", "examples presets gallery thumbnails new"),
    ("Play or pause", "start stop run simulate"),
    ("One tick", "step frame forward"),
    ("One stage", "step substep slow motion"),
    ("Restart", "reset begin rewind"),
    ("New seed", "random shuffle another"),
    ("Grow a range", "mountains uplift landscape evolution"),
    ("Frame all", "zoom extents reset camera view fit"),
    ("Turntable", "rotate orbit spin camera film"),
    ("Walk", "ground first person eye height stroll"),
    ("Fly", "drone first person wasd"),
    ("Split start and present", "compare before after"),
    ("Water", "hide show ocean sea"),
    ("Flow arrows", "vectors velocity"),
    ("Present workspace", "presentation slideshow"),
    ("Panels", "hide ui interface sidebar"),
    ("Full screen", "fullscreen maximise window"),
    ("Take picture", "save picture screenshot image photo render png"),
    ("Take picture of the window", "screenshot with panels interface"),
    ("Keys and mouse", "shortcuts help hotkeys keyboard controls manual"),
];

impl Entry {
    /// What else people call it.
    pub fn other_names(&self) -> &'static str {
        OTHER_NAMES.iter().find(|(title, _)| *title == self.title).map_or("", |(_, names)| names)
    }
}

const NONE: Modifiers = Modifiers::NONE;
const SHIFT: Modifiers = Modifiers::SHIFT;
const ALT: Modifiers = Modifiers::ALT;
const SHIFT_ALT: Modifiers = ALT.plus(SHIFT);
const CTRL: Modifiers = Modifiers::COMMAND;
const SHIFT_CTRL: Modifiers = CTRL.plus(SHIFT);

pub fn table() -> &'static [Entry] {
    static TABLE: LazyLock<Vec<Entry>> = LazyLock::new(build);
    &TABLE
}

/// What a command does, and its keys.
pub fn help(context: &egui::Context, command: &Command) -> String {
    let Some(entry) = table().iter().find(|entry| entry.command == *command) else { return String::new() };
    let keys = keys_text(context, entry);
    if keys.is_empty() { entry.about.clone() } else { format!("{} ({keys})", entry.about) }
}

/// A menu's part of the table while it is being written.
struct MenuPart<'a> {
    menu: &'static str,
    group: Option<&'static str>,
    all: &'a mut Vec<Entry>,
}

impl MenuPart<'_> {
    /// A title that begins with a dash is divided from the entry before.
    fn add(
        &mut self,
        icon: &'static str,
        title: &str,
        about: &str,
        keys: &[(Modifiers, Key)],
        command: impl Into<Command>,
    ) {
        let divided = title.starts_with('-');
        let (title, about) = (title.trim_start_matches('-').to_owned(), about.to_owned());
        let keys = keys.iter().map(|(modifiers, key)| KeyboardShortcut::new(*modifiers, *key)).collect();
        let (menu, group) = (self.menu, self.group);
        self.all.push(Entry { menu, icon, title, about, keys, command: command.into(), divided, group });
    }
}

fn build() -> Vec<Entry> {
    let mut all = Vec::new();
    for (menu, add_to) in MENUS {
        add_to(&mut MenuPart { menu, group: None, all: &mut all });
    }
    all
}

fn file(table: &mut MenuPart<'_>) {
    let new = "Begins on land of your own: size, kind of ground, what runs on it.";
    let toggle = WindowCommand::Toggle(land::PANE.key);
    table.add(icon::FILE_PLUS, "New…", new, &[(CTRL, Key::N)], toggle);
    let open = "Opens a project, a scene file, a playlist, a lesson or a heightmap.";
    table.add(icon::FOLDER_OPEN, "Open…", open, &[(CTRL, Key::O)], files::open_request());
    for (layer, import) in Layer::imports().filter(|(_, import)| import.offered) {
        let title = match layer {
            Layer::Bedrock => "-Import heights…".to_owned(),
            _ => format!("Import {} map…", import.title.to_lowercase()),
        };
        table.add(icon::DOWNLOAD_SIMPLE, &title, import.about, &[], files::import_request(layer));
    }
    let project = "Writes all of the work into its project file, to go on from there another time.";
    table.add(icon::FLOPPY_DISK, "-Save", project, &[(CTRL, Key::S)], WindowCommand::Save);
    let other = "Writes all of the work into another project file.";
    table.add(icon::FLOPPY_DISK, "Save as…", other, &[(SHIFT_CTRL, Key::S)], files::save_project_request());
    let scene = "Writes the present state as a scene file with its layers beside it.";
    table.add(icon::FLOPPY_DISK, "Save scene as…", scene, &[], files::save_scene_request());
    let export = "Writes heights, maps and meshes for game engines, GIS programs and 3D printers.";
    table.add(icon::EXPORT, "-Export…", export, &[(CTRL, Key::E)], AskWhat);
    let endings = export::formats("height").join(", .");
    let heights = format!("Writes the heights; the name's ending chooses the format: .{endings}.");
    table.add(icon::EXPORT, "Save heights as…", &heights, &[], files::save_map_request("height"));
    let preset = "Writes all parameters but the terrain's into a file, for other runs.";
    table.add(icon::SLIDERS, "-Save parameters as…", preset, &[], files::save_preset_request(None));
    let preset = "Sets the parameters that such a file holds, of a process or of all.";
    table.add(icon::SLIDERS, "Load parameters…", preset, &[], files::preset_request());
    let copy = "Puts the command on the clipboard that makes this run without a window.";
    let keys = [(SHIFT_CTRL, Key::C)];
    table.add(icon::TERMINAL_WINDOW, "-Copy command line", copy, &keys, WindowCommand::CopyCommandLine);
    let settings = WindowCommand::Toggle(settings::PANE.key);
    table.add(icon::GEAR, "Settings…", "Panels, mouse, quality, memory, autosave.", &[(CTRL, Key::Comma)], settings);
    table.add(icon::SIGN_OUT, "-Quit", "Ends the program.", &[(CTRL, Key::Q)], FileCommand::Quit);
}

fn edit(table: &mut MenuPart<'_>) {
    table.add(icon::ARROW_U_UP_LEFT, "Undo", "Takes the last step back.", &[(CTRL, Key::Z)], EditCommand::Undo);
    let redo = [(SHIFT_CTRL, Key::Z), (CTRL, Key::Y)];
    table.add(icon::ARROW_U_UP_RIGHT, "Redo", "Does again what was taken back.", &redo, EditCommand::Redo);
    table.add(icon::STACK, "-Spread a metre of sand", "Lays sand on everything.", &[], EditCommand::SpreadSand(1.0));
    table.add(icon::BROOM, "Remove all sand", "Leaves the bare bedrock.", &[], EditCommand::RemoveSand);
    table.add(icon::SUN, "Dry everything", "Takes all water away; its sediment settles.", &[], EditCommand::Dry);
    let carve = "Cuts a way out of each hollow, up to a kilometre long and 30 m deep.";
    table.add(icon::SHOVEL, "-Carve outlets", carve, &[], DrainageCommand::CarveOutlets(CUTS));
    let lakes = "Fills every hollow with water up to its lowest pass.";
    table.add(icon::WAVES, "Fill lakes", lakes, &[], DrainageCommand::FillLakes);
    let rivers = "Fills rivers and lakes as full as the rain and the springs of Water would keep them in the long run.";
    table.add(icon::DROP_HALF_BOTTOM, "Fill rivers", rivers, &[], DrainageCommand::FillRivers);
}

/// The keys of brushes, and of the views that are kept.
pub(super) const NUMBERS: [Key; 9] =
    [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6, Key::Num7, Key::Num8, Key::Num9];

fn brush(table: &mut MenuPart<'_>) {
    for (index, tool) in Tool::ALL.into_iter().enumerate() {
        let keys: Vec<_> = NUMBERS.get(index).map(|key| (NONE, *key)).into_iter().collect();
        table.add(tool_icon(tool), tool.title(), tool.about(), &keys, BrushCommand::Hold(Some(tool)));
    }
    let stamp = "Loads a heightmap as what the stamp presses on the ground.";
    table.add(icon::FOLDER_OPEN, "Load stamp…", stamp, &[], files::stamp_request());
    let by_hand = "Follows the pointer until a click; Esc brings back what it was.";
    let circle = icon::CIRCLE_HALF;
    table.add(circle, "-Set radius", by_hand, &[(NONE, Key::F)], DragBrush("radius"));
    table.add(circle, "Set strength", by_hand, &[(SHIFT, Key::F)], DragBrush("strength"));
    let larger = "Makes the brush a fifth larger.";
    table.add(icon::PLUS, "Larger brush", larger, &[(NONE, Key::CloseBracket)], BrushCommand::Resize(1));
    let smaller = "Makes the brush a sixth smaller.";
    table.add(icon::MINUS, "Smaller brush", smaller, &[(NONE, Key::OpenBracket)], BrushCommand::Resize(-1));
    let away = "Takes back the stroke that is being made; without one, puts the brush away; without a brush, leaves Present and full screen.";
    table.add(icon::X, "Cancel or leave", away, &[(NONE, Key::Escape)], WindowCommand::Leave);
}

fn scene(table: &mut MenuPart<'_>) {
    let choose = "Shows all scenes with their pictures.";
    let scenes = WindowCommand::Toggle(scenes::PANE.key);
    table.add(icon::SQUARES_FOUR, "All scenes…", choose, &[(SHIFT_CTRL, Key::O)], scenes);
    let list = "Puts scenes in an order by dragging them, to show them to a room or to save them as a playlist.";
    table.add(icon::LIST_NUMBERS, "Playlist…", list, &[], WindowCommand::Toggle(playlist::PANE.key));
    let read = |(name, text): (&'static str, &str)| (name, ron::from_str::<Scene>(text).unwrap_or_default());
    let scenes: Vec<_> = BUILT_IN.into_iter().map(read).collect();
    for group in GROUPS {
        table.group = Some(group);
        for (name, scene) in scenes.iter().filter(|(_, scene)| scene.group == group) {
            let open = FileCommand::Open(name.into(), Options::default());
            table.add(icon::MOUNTAINS, &scene.title, &scene.about, &[], open);
        }
    }
    table.group = None;
}

fn run(table: &mut MenuPart<'_>) {
    let play = "Lets time run, or stops it.";
    table.add(icon::PLAY_PAUSE, "Play or pause", play, &[(NONE, Key::Space)], RunCommand::TogglePlay);
    let step = [(NONE, Key::ArrowRight), (NONE, Key::Period)];
    table.add(icon::SKIP_FORWARD, "One tick", "Runs a single tick and pauses.", &step, RunCommand::Step(1));
    let stage = "Runs the next stage of a tick and pauses: the status bar and the Learn workspace say what comes next.";
    table.add(icon::STEPS, "One stage", stage, &[(NONE, Key::Comma)], RunCommand::Stage);
    let ten = [(SHIFT, Key::ArrowRight)];
    table.add(icon::FAST_FORWARD, "Ten ticks", "Runs ten ticks and pauses.", &ten, RunCommand::Step(10));
    let vary = "Starts several copies of the chosen run side by side, with different values of one or two parameters.";
    table.add(icon::GRID_FOUR, "Runs side by side…", vary, &[], WindowCommand::Toggle(vary::PANE.key));
    let restart = "Begins again with the same seed and with the terrain as you shaped it before the first tick; undo brings back what was.";
    table.add(icon::SKIP_BACK, "-Restart", restart, &[(NONE, Key::R)], RunCommand::Restart);
    let bare = "Begins again with the terrain as it was before you shaped it, under the painted rain and mask; undo brings back what was.";
    table.add(icon::ERASER, "Restart unshaped", bare, &[], RunCommand::RestartUnshaped);
    let seed = "Begins again with the next seed; what was is kept for undo.";
    let grow = "Replaces the ground by a range of the relief, ruggedness and age that the panel Mountain range asks for. It \
        rises where the map of uplift lets it; erodibility and diffusivity of Uplift and rivers follow from it.";
    table.add(icon::MOUNTAINS, "Grow a range", grow, &[], RunCommand::Grow);
    table.add(icon::DICE_FIVE, "New seed", seed, &[(SHIFT, Key::R)], RunCommand::NewSeed);
}

fn view(table: &mut MenuPart<'_>) {
    let frame = "The camera shows the whole map.";
    table.add(icon::CORNERS_OUT, "Frame all", frame, &[(NONE, Key::Home)], CameraCommand::FrameAll);
    let turn = "The camera goes round slowly, or stops.";
    table.add(icon::ARROWS_CLOCKWISE, "Turntable", turn, &[(NONE, Key::T)], CameraCommand::ToggleTurntable);
    let walk = "You walk on the ground, at the height of your eyes. W, A, S, D or the arrows move you, a drag looks around, the wheel \
                changes your speed, Shift makes you faster. Esc ends it.";
    table.add(icon::PERSON_SIMPLE_WALK, "Walk", walk, &[(NONE, Key::G)], CameraCommand::Go(Gait::Walk));
    let fly = "You fly over the land. The keys are those of Walk; E and Q move you up and down. Esc ends it.";
    table.add(icon::BIRD, "Fly", fly, &[(SHIFT, Key::G)], CameraCommand::Go(Gait::Fly));
    table.group = Some("Camera");
    let mut step =
        |icon, title: &str, about: &str, keys, step| table.add(icon, title, about, &[keys], CameraCommand::Move(step));
    let (left, right, up, down) = (Key::ArrowLeft, Key::ArrowRight, Key::ArrowUp, Key::ArrowDown);
    step(icon::ARROW_LEFT, "Turn left", "The camera goes round to the left.", (ALT, left), CameraStep::Turn(-5.0, 0.0));
    step(
        icon::ARROW_RIGHT,
        "Turn right",
        "The camera goes round to the right.",
        (ALT, right),
        CameraStep::Turn(5.0, 0.0),
    );
    step(icon::ARROW_UP, "Look from higher", "The camera rises.", (ALT, up), CameraStep::Turn(0.0, 5.0));
    step(icon::ARROW_DOWN, "Look from lower", "The camera sinks.", (ALT, down), CameraStep::Turn(0.0, -5.0));
    let sides = [
        ("From above", "The camera looks down on the map, the north at the top.", Key::Num7, 0.0, 90.0),
        ("From the south", "The camera looks to the north.", Key::Num1, 0.0, 20.0),
        ("From the east", "The camera looks to the west.", Key::Num3, 90.0, 20.0),
        ("From the north", "The camera looks to the south.", Key::Num9, 180.0, 20.0),
        ("From the west", "The camera looks to the east.", Key::Num4, 270.0, 20.0),
    ];
    for (title, about, key, round, high) in sides {
        step(icon::VIDEO_CAMERA, title, about, (ALT, key), CameraStep::From(round, high));
    }
    step(icon::PLUS, "Nearer", "The camera comes nearer.", (NONE, Key::PageUp), CameraStep::Near(1.15));
    step(icon::MINUS, "Farther", "The camera goes farther away.", (NONE, Key::PageDown), CameraStep::Near(1.0 / 1.15));
    let over = "The camera moves over the table, without turning.";
    step(icon::ARROW_LEFT, "Shift left", over, (SHIFT_ALT, left), CameraStep::Shift(-0.05, 0.0));
    step(icon::ARROW_RIGHT, "Shift right", over, (SHIFT_ALT, right), CameraStep::Shift(0.05, 0.0));
    step(icon::ARROW_UP, "Shift away", over, (SHIFT_ALT, up), CameraStep::Shift(0.0, 0.05));
    step(icon::ARROW_DOWN, "Shift back", over, (SHIFT_ALT, down), CameraStep::Shift(0.0, -0.05));
    table.group = Some("Kept views");
    for (index, key) in NUMBERS.into_iter().enumerate() {
        let number = index + 1;
        let (go, keep) = (format!("Go to view {number}"), format!("Keep view {number}"));
        let to = "The camera goes to where this view was kept. In Present, the number alone does it.";
        table.add(icon::BOOKMARK_SIMPLE, &go, to, &[], CameraCommand::GoToView(number));
        let here = "Keeps where the camera is, with the project.";
        table.add(icon::BOOKMARK_SIMPLE, &keep, here, &[(CTRL, key)], KeepView(number));
    }
    table.group = Some("Camera along the run");
    let set = "Sets a key of the camera at the present tick, where the camera is. Keys are diamonds on the timeline, and are saved with the \
               project. A film of the project follows those that lie ahead of it.";
    table.add(icon::DIAMOND, "Set a key", set, &[(NONE, Key::I)], KeyframeCommand::Set);
    let follow = "The camera goes along its keys while the run goes on, until you move it.";
    table.add(icon::PATH, "Follow the keys", follow, &[(SHIFT, Key::I)], KeyframeCommand::Follow);
    table.group = None;
    let before = "Shows how the run began. Holding B shows it until you let go.";
    table.add(icon::CLOCK_COUNTER_CLOCKWISE, "-Start", before, &[], CompareCommand::Show(Comparison::Start));
    let split = "Shows the start on the left and the present on the right of a divider that can be dragged.";
    let half = CompareCommand::Show(Comparison::Split(0.5));
    table.add(icon::SQUARE_SPLIT_HORIZONTAL, "Split start and present", split, &[(SHIFT, Key::B)], half);
    table.add(icon::EYE, "Present", "Shows the terrain as it is.", &[], CompareCommand::Show(Comparison::Off));
    let runs = "Shows two of the runs side by side on the same place, left and right of a divider that can be dragged: the first one and the \
                one that is chosen.";
    let half = CompareCommand::Show(Comparison::Runs(0.5));
    table.add(icon::SQUARE_SPLIT_HORIZONTAL, "-Split two runs", runs, &[(SHIFT, Key::C)], half);
    let flicker =
        "Shows the one of these two runs, and with the next press the other. What differs between them jumps.";
    table.add(icon::SWAP, "Flicker between two runs", flicker, &[(NONE, Key::C)], CompareCommand::Flicker);
    let water = "Shows the water, or the bed without it.";
    table.add(icon::WAVES, "-Water", water, &[(NONE, Key::W)], EditCommand::ToggleWater);
    let overlay = "Shows the last quantity over the ground, with its legend, or the ground itself.";
    table.add(icon::GRADIENT, "Overlay", overlay, &[(NONE, Key::O)], OverlayCommand::Toggle);
    let arrows = "Arrows along the flow of the water, or of the droplets where their discharge is shown.";
    table.add(icon::ARROW_UP_RIGHT, "Flow arrows", arrows, &[(SHIFT, Key::O)], OverlayCommand::ToggleArrows);
    let probe = "The next click on the land pins a probe: the panel Probes shows height, sand and water of that place over time.";
    table.add(icon::PUSH_PIN, "Pin a probe", probe, &[(NONE, Key::P)], Place(Placed::Probe));
    let section = "The next drag over the land, or two clicks, draw a line: the panel Section shows rock, sand and water along it.";
    let cut = "Removes the part of the block between you and the section line, or closes the block again.";
    table.add(icon::KNIFE, "Cut the block open", cut, &[], SectionCommand::CutAway);
    let release =
        "The next click on the land releases a droplet or a grain of the wind. You can follow it step by step.";
    table.add(icon::DROP, "Release a particle", release, &[], Place(Placed::Particle));
    let spring = "The next click on the land places a spring. Drag it there, and tune it.";
    table.add(icon::DROP, "Place a spring", spring, &[], Place(Placed::Spring));
    let drain = "The next click on the land places a drain. Drag it there, and tune it.";
    table.add(icon::DROP_SLASH, "Place a drain", drain, &[], Place(Placed::Drain));
    table.add(icon::LINE_SEGMENT, "Draw a section", section, &[(NONE, Key::X)], Place(Placed::Section));
    let map = "Shows a small map of the paths of the wind beside a map of the sand.";
    table.add(icon::WIND, "Wind map", map, &[], WindowCommand::Toggle(wind::PANE.key));
    table.group = Some("Overlays");
    for quantity in Quantity::all() {
        let title = format!("Overlay: {}", quantity.title().to_lowercase());
        table.add(icon::GRADIENT, &title, quantity.about(), &[], OverlayCommand::Show(Some(quantity)));
    }
    table.group = None;
    let learn = "What happens step by step: few sliders, plots, slowly.";
    table.add(icon::SLIDERS, "-Sculpt workspace", "All panels.", &[], OpenWorkspace(Workspace::Sculpt));
    table.add(icon::GRADUATION_CAP, "Learn workspace", learn, &[], OpenWorkspace(Workspace::Learn));
    let present = OpenWorkspace(Workspace::Present);
    table.add(
        icon::PRESENTATION,
        "Present workspace",
        "The picture, with the sliders of its scene. A press on the land rains there.",
        &[],
        present,
    );
    let next =
        "Goes to the next scene of the playlist that is shown (in Present also with the arrows and with a remote).";
    table.add(icon::CARET_RIGHT, "Next scene", next, &[], PresentCommand::Go(1));
    let before = "Goes back to the scene before.";
    table.add(icon::CARET_LEFT, "Previous scene", before, &[], PresentCommand::Go(-1));
    let desk = "Opens or closes a second window for you, with your notes, the next scene and the time.";
    table.add(icon::MONITOR, "Presenter's window", desk, &[], TogglePresenter);
    table.add(icon::SIDEBAR, "-Panels", "Shows or hides all panels.", &[(NONE, Key::H)], WindowCommand::ToggleUi);
    let full = "The window covers the screen, or not.";
    table.add(icon::ARROWS_OUT, "Full screen", full, &[(NONE, Key::F11)], WindowCommand::ToggleFullScreen);
    let picture =
        "Writes a picture of the view, without panels, into your folder of pictures. The settings say how large it is.";
    table.add(icon::CAMERA, "Take picture", picture, &[(NONE, Key::F12)], PictureCommand::Take);
    let window = "Writes a picture of the window, with its panels, into your folder of pictures.";
    table.add(icon::CAMERA, "Take picture of the window", window, &[(SHIFT, Key::F12)], PictureCommand::TakeWindow);
    let film = "Films the window, with its panels, into your folder of pictures, until you choose this again.";
    table.add(icon::RECORD, "Film the window", film, &[(CTRL, Key::F12)], ToggleRecording);
}

fn learn(table: &mut MenuPart<'_>) {
    for (name, lesson) in lesson::built_in() {
        let open = FileCommand::Open(lesson::path_of(name), Options::default());
        table.add(icon::GRADUATION_CAP, &lesson.head.title, &lesson.head.about, &[], open);
    }
    let question = "Starts two runs side by side with the same seed. They differ in one parameter: find out which one.";
    table.add(icon::QUESTION, "-Which parameter changed?", question, &[], QuizCommand::Ask);
    let again = "Forgets your answers to the lesson that is open, and begins it from its start.";
    table.add(icon::ARROW_COUNTER_CLOCKWISE, "Begin the lesson again", again, &[], LessonCommand::Again);
    let report = "Writes a page with your answers and plots, to hand in.";
    table.add(icon::FILE_TEXT, "Save report…", report, &[], lesson_card::report_request());
    let copy = "Writes a copy of the lesson's file, to change it; the teacher's page stands at its end.";
    table.add(icon::COPY, "Save a copy of the lesson…", copy, &[], lesson_card::copy_request());
    table.add(icon::X, "Close the lesson", "Leaves the lesson; your answers are kept.", &[], LessonCommand::Close);
}

fn help_menu(table: &mut MenuPart<'_>) {
    let pane = WindowCommand::Toggle;
    table.add(icon::QUESTION, "Keys and mouse", "What each key does.", &[(NONE, Key::F1)], pane(help::PANE.key));
    let palette = "Finds a command or a parameter by a part of its name.";
    table.add(icon::MAGNIFYING_GLASS, "Command palette", palette, &[(CTRL, Key::P)], pane(palette::PANE.key));
    let reference = "Shows all processes with their equations, and all parameters, in your browser.";
    table.add(icon::BOOK_OPEN, "Reference", reference, &[], FileCommand::OpenReference(None));
    let check =
        "Checks the simulation on this machine against what is known exactly, and shows what was measured beside it.";
    table.add(icon::CHECK_SQUARE, "Check this machine…", check, &[], pane(checks::PANE.key));
    let about = "Version, graphics, and where files are kept.";
    table.add(icon::INFO, "About Thalweg", about, &[], pane(about::PANE.key));
}

/// What a key asks for. Modifiers must be exactly those of the table.
pub fn asked_by(modifiers: Modifiers, key: Key) -> Option<&'static Command> {
    let held = |modifiers: Modifiers| (modifiers.shift, modifiers.command, modifiers.alt);
    let same = |keys: &KeyboardShortcut| held(keys.modifiers) == held(modifiers) && keys.logical_key == key;
    table().iter().find(|entry| entry.keys.iter().any(same)).map(|entry| &entry.command)
}

pub fn keys_text(context: &egui::Context, entry: &Entry) -> String {
    let text = |keys: &KeyboardShortcut| {
        let text = context.format_shortcut(keys);
        // What stands on the key, not its name.
        let sign = keys.logical_key.symbol_or_name();
        text.strip_suffix(keys.logical_key.name()).map(|held| format!("{held}{sign}")).unwrap_or(text)
    };
    entry.keys.iter().map(text).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_taken_twice_and_no_title_is_said_twice() {
        let mut keys: Vec<_> = table()
            .iter()
            .flat_map(|entry| &entry.keys)
            .map(|keys| format!("{:?}+{:?}", keys.modifiers, keys.logical_key))
            .collect();
        let mut titles: Vec<_> = table().iter().map(|entry| &entry.title).collect();
        let before = (keys.len(), titles.len());
        keys.sort();
        keys.dedup();
        titles.sort();
        titles.dedup();
        assert_eq!((keys.len(), titles.len()), before);
        assert!(table().iter().all(|entry| entry.about.ends_with('.')));
    }

    #[test]
    fn other_names_are_those_of_commands_that_there_are() {
        for (title, names) in OTHER_NAMES {
            assert!(table().iter().any(|entry| entry.title == title), "there is no \"{title}\"");
            assert!(names.chars().all(|letter| letter.is_lowercase() || letter == ' '), "{names}");
        }
    }

    #[test]
    fn keys_are_told_by_what_stands_on_them() {
        let context = egui::Context::default();
        let keys = |title: &str| {
            let entry = table().iter().find(|entry| entry.title == title).expect("it exists");
            keys_text(&context, entry)
        };
        assert_eq!((&*keys("Larger brush"), &*keys("Smaller brush")), ("]", "["));
        assert!(["Ctrl+,", "⌘,", "Cmd+,"].contains(&&*keys("Settings…")), "{}", keys("Settings…"));
    }
}
