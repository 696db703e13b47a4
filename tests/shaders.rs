//! Portability of the shaders: every variant translates to the shading language of every backend, and derivatives are taken in
//! uniform control flow only. Other tests render with lavapipe, which tolerates both faults.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    error::Error,
    fs,
    path::Path,
};

use bevy::{
    app::TerminalCtrlCHandlerPlugin,
    log::LogPlugin,
    prelude::*,
    render::{RenderPlugin, settings::WgpuSettings},
    shader::{Shader, ShaderCache, ShaderCacheError, ShaderCacheSource, ShaderDefVal, ValidateShader},
    tasks::block_on,
    winit::WinitPlugin,
};
use naga::{
    Block, Expression, Function, Module, SampleLevel, ShaderStage, Statement,
    back::{glsl, hlsl, msl, spv},
    front::wgsl,
    proc::BoundsCheckPolicies,
    valid::{Capabilities, FunctionInfo, ModuleInfo, ValidationFlags, Validator},
};

/// Sets of shader definitions, of which a pipeline has exactly one.
type Choice = &'static [&'static [&'static str]];

/// A shader below `shaders/` and the shader definitions of its pipelines.
struct Program {
    file: &'static str,
    entry_points: &'static [&'static str],
    choices: &'static [Choice],
}

// Definitions of every pipeline in `src/render/pass.rs`. Linear light is rendered under any tone curve.
const TONE: Choice = &[
    &[],
    &["TONE_ACES"],
    &["TONE_AGX", "TONEMAP_METHOD_AGX"],
    &["TONE_FILMIC", "TONEMAP_METHOD_BLENDER_FILMIC"],
    &["TONE_NEUTRAL"],
];
const AS_LIGHT: Choice = &[&[], &["AS_LIGHT"]];
const FINE: Choice = &[&[], &["FINE"]];
const WALL: Choice = &[&[], &["WALL"]];

// Definitions of materials: their `Variant`s in `src/render/`.
const ARROWS: Choice = &[&[], &["ARROWS"]];
const CLOUDS: Choice = &[&[], &["CLOUDS"]];
const CONTOURS: Choice = &[&[], &["CONTOURS"]];
const CUT: Choice = &[&[], &["CUT"]];
const GLITTER: Choice = &[&[], &["GLITTER"]];
const GRID: Choice = &[&[], &["GRID"]];
const MASK: Choice = &[&[], &["MASK"]];
const OVERLAY: Choice = &[&[], &["OVERLAY"], &["OVERLAY", "CLASSES"]];
const PLINTH: Choice = &[&[], &["PLINTH"]];
const RING: Choice = &[&[], &["RING"]];
const RIPPLES: Choice = &[&[], &["RIPPLES"]];
const SPLIT: Choice = &[&[], &["SPLIT"]];
/// A colour ramp excludes woods.
const COVER: Choice = &[&[], &["WOODS"], &["RAMP"]];
/// From none to the maximum. The count is only a loop bound.
const BLOCKS: Choice = &[&["BLOCKS=0"], &["BLOCKS=1"], &["BLOCKS=2"], &["BLOCKS=32"]];

const PROGRAMS: [Program; 8] = [
    Program {
        file: "terrain.wgsl",
        entry_points: &["vertex", "fragment"],
        choices: &[
            TONE, AS_LIGHT, FINE, WALL, SPLIT, CLOUDS, RIPPLES, COVER, GLITTER, CONTOURS, GRID, OVERLAY, ARROWS, MASK,
            RING, CUT,
        ],
    },
    Program {
        file: "rivers.wgsl",
        entry_points: &["vertex", "mark", "fragment"],
        choices: &[TONE, AS_LIGHT, FINE, SPLIT, CLOUDS, RING, CUT],
    },
    Program {
        file: "water.wgsl",
        entry_points: &["vertex", "fragment"],
        choices: &[TONE, AS_LIGHT, FINE, WALL, SPLIT, CLOUDS, RING, CUT],
    },
    Program { file: "cut.wgsl", entry_points: &["vertex", "fragment"], choices: &[TONE, AS_LIGHT] },
    Program { file: "sky.wgsl", entry_points: &["vertex", "fragment"], choices: &[TONE, AS_LIGHT] },
    Program {
        file: "ground_plane.wgsl",
        entry_points: &["vertex", "fragment"],
        choices: &[TONE, AS_LIGHT, CLOUDS, PLINTH, BLOCKS],
    },
    Program { file: "tracks.wgsl", entry_points: &["vertex", "fragment"], choices: &[TONE, AS_LIGHT, SPLIT] },
    // Not preprocessed: `src/shell/paint.rs` passes it on unchanged.
    Program {
        file: "window.wgsl",
        entry_points: &["vertex", "clear", "panels", "view_same_size", "view_scaled", "over"],
        choices: &[],
    },
];

/// Definitions of every pipeline in `src/render/pass.rs`.
const BINDINGS: [&str; 2] = ["TONEMAPPING_LUT_TEXTURE_BINDING_INDEX=1", "TONEMAPPING_LUT_SAMPLER_BINDING_INDEX=2"];

/// Bevy shaders imported by ours, directly or indirectly.
const ENGINE: [&str; 5] = [
    "bevy_core_pipeline/tonemapping/tonemapping_shared.wgsl",
    "bevy_core_pipeline/tonemapping/lut_bindings.wgsl",
    "bevy_render/color_operations.wgsl",
    "bevy_render/maths.wgsl",
    "bevy_render/view/view.wgsl",
];

/// Maximum number of combinations tested exhaustively. The terrain has more than a hundred thousand.
const MOST_COMBINATIONS: usize = 1000;

/// The shaders need no optional capability, not even one guaranteed by WebGPU.
const CAPABILITIES: Capabilities = Capabilities::empty();

/// Reads the files of a folder below `shaders/`, by name.
fn files(folder: &str) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders").join(folder);
    let entries = fs::read_dir(folder).expect("it is a folder").map(|entry| entry.expect("it is readable").path());
    let named = |path: &Path| path.file_name().expect("it has a name").to_string_lossy().into_owned();
    let read = |path: &Path| fs::read_to_string(path).expect("it is text");
    entries.filter(|path| path.is_file()).map(|path| (named(&path), read(&path))).collect()
}

/// Reads the shaders embedded in Bevy.
fn engine_shaders() -> Vec<Shader> {
    let mut app = App::new();
    let render = RenderPlugin { render_creation: WgpuSettings { backends: None, ..default() }.into(), ..default() };
    let engine = DefaultPlugins.set(render).disable::<LogPlugin>().disable::<WinitPlugin>();
    app.add_plugins(engine.disable::<TerminalCtrlCHandlerPlugin>());
    let server = app.world().resource::<AssetServer>();
    let embedded = server.get_source("embedded").expect("the engine embeds its shaders").reader();
    let read = |path: &str| {
        let mut bytes = Vec::new();
        block_on(async {
            let mut reader = embedded.read(Path::new(path)).await.expect("the engine has it");
            reader.read_to_end(&mut bytes).await.expect("it is in memory");
        });
        let text = String::from_utf8(bytes).expect("it is text");
        Shader::from_wgsl(text, format!("embedded://{path}"))
    };
    ENGINE.map(read).into()
}

/// Composes shaders like Bevy, with its shader cache.
struct Composer {
    shaders: Assets<Shader>,
    cache: ShaderCache<Module, ()>,
}

impl Composer {
    fn new(libraries: impl IntoIterator<Item = Shader>) -> Self {
        let module = |(): &(), source: ShaderCacheSource, _: &ValidateShader| match source {
            ShaderCacheSource::Naga(module) => Ok(module),
            _ => Err(ShaderCacheError::CreateShaderModule("it is not composed".to_owned())),
        };
        let cache = ShaderCache::new((), wgpu::Features::empty(), wgpu::DownlevelFlags::empty(), module);
        let mut composer = Self { shaders: Assets::default(), cache };
        for library in libraries {
            composer.add(library);
        }
        composer
    }

    fn add(&mut self, shader: Shader) -> Handle<Shader> {
        let handle = self.shaders.add(shader.clone());
        self.cache.set_shader(handle.id(), shader);
        handle
    }

    fn compose(&mut self, shader: &Handle<Shader>, definitions: &[&str]) -> Result<Module, String> {
        let value = |definition: &&str| match definition.split_once('=') {
            Some((name, count)) => ShaderDefVal::UInt(name.to_owned(), count.parse().expect("it is a count")),
            None => (*definition).into(),
        };
        let definitions: Vec<_> = definitions.iter().map(value).collect();
        let module = self.cache.get(0, shader.id(), &definitions);
        module.map(|module| (*module).clone()).map_err(|error| format!("{error:?}"))
    }
}

/// Index of the selected set of each choice.
type Combination = Vec<usize>;

/// Returns all combinations of choices, or a covering array if there are more than [`MOST_COMBINATIONS`].
fn combinations(choices: &[Choice]) -> Vec<Combination> {
    if choices.iter().map(|choice| choice.len()).product::<usize>() > MOST_COMBINATIONS {
        return covering_array(choices);
    }
    choices.iter().fold(vec![vec![]], |all, choice| {
        let extended = |set: usize| all.iter().map(move |chosen: &Combination| [&chosen[..], &[set]].concat());
        (0..choice.len()).flat_map(extended).collect()
    })
}

/// Returns a covering array of strength 3: combinations in which any three sets of different choices occur together.
fn covering_array(choices: &[Choice]) -> Vec<Combination> {
    let sets = |choice: usize| (0..choices[choice].len()).map(move |set| (choice, set));
    let mut missing = BTreeSet::new();
    for first in (0..choices.len()).flat_map(sets) {
        for second in (first.0 + 1..choices.len()).flat_map(sets) {
            missing.extend((second.0 + 1..choices.len()).flat_map(sets).map(|third| [first, second, third]));
        }
    }
    let mut combinations = Vec::new();
    while let Some(start) = missing.first() {
        let mut chosen = BTreeMap::from(*start);
        for choice in 0..choices.len() {
            if chosen.contains_key(&choice) {
                continue;
            }
            // The set that covers most of the missing triples.
            let covers = |(choice, set)| {
                let is_chosen = |one: &(usize, usize)| *one == (choice, set) || chosen.get(&one.0) == Some(&one.1);
                missing.iter().filter(|three| three.contains(&(choice, set)) && three.iter().all(is_chosen)).count()
            };
            let (_, set) = sets(choice).max_by_key(|&one| covers(one)).expect("a choice has sets");
            chosen.insert(choice, set);
        }
        missing.retain(|three| three.iter().any(|(choice, set)| chosen[choice] != *set));
        combinations.push(chosen.into_values().collect());
    }
    combinations
}

/// An entry point of a validated module.
#[derive(Clone, Copy)]
struct Entry<'a> {
    module: &'a Module,
    info: &'a ModuleInfo,
    index: usize,
}

impl Entry<'_> {
    fn stage_and_name(self) -> (ShaderStage, String) {
        let entry_point = &self.module.entry_points[self.index];
        (entry_point.stage, entry_point.name.clone())
    }

    fn to_spirv(self) -> Result<(), Box<dyn Error>> {
        // Guaranteed by Vulkan.
        let capabilities = [spv::Capability::Shader, spv::Capability::Matrix, spv::Capability::ImageQuery];
        let options = spv::Options { capabilities: Some(capabilities.into_iter().collect()), ..Default::default() };
        let (shader_stage, entry_point) = self.stage_and_name();
        let pipeline = spv::PipelineOptions { shader_stage, entry_point };
        spv::write_vec(self.module, self.info, &options, Some(&pipeline))?;
        Ok(())
    }

    fn to_msl(self) -> Result<(), Box<dyn Error>> {
        // The first version with `@invariant`, of macOS 10.14.
        let options = msl::Options { lang_version: (2, 1), ..Default::default() };
        let pipeline = msl::PipelineOptions { entry_point: Some(self.stage_and_name()), ..Default::default() };
        let (_, translated) = msl::write_string(self.module, self.info, &options, &pipeline)?;
        translated.entry_point_names.into_iter().try_for_each(|name| name.map(drop))?;
        Ok(())
    }

    fn to_hlsl(self) -> Result<(), Box<dyn Error>> {
        let options = hlsl::Options { shader_model: hlsl::ShaderModel::V5_1, ..Default::default() };
        let pipeline = hlsl::PipelineOptions { entry_point: Some(self.stage_and_name()) };
        let mut text = String::new();
        let translated = hlsl::Writer::new(&mut text, &options, &pipeline).write(self.module, self.info, None)?;
        translated.entry_point_names.into_iter().try_for_each(|name| name.map(drop))?;
        Ok(())
    }

    fn to_glsl(self) -> Result<(), Box<dyn Error>> {
        let options = glsl::Options { version: glsl::Version::new_gles(300), ..Default::default() };
        let (shader_stage, entry_point) = self.stage_and_name();
        let pipeline = glsl::PipelineOptions { shader_stage, entry_point, multiview: None };
        let mut text = String::new();
        let policies = BoundsCheckPolicies::default();
        glsl::Writer::new(&mut text, self.module, self.info, &options, &pipeline, policies)?.write()?;
        Ok(())
    }

    /// Returns derivatives outside uniform control flow and translation errors, one per line.
    fn faults(self) -> BTreeSet<String> {
        let mut faults = Derivatives::find(self);
        faults.extend(self.translation_faults());
        faults.extend(self.to_glsl().err().map(|error| format!("GLSL ES: {error}")));
        faults
    }

    /// Returns errors of the translation for the drivers on which kernels run, one per line.
    fn translation_faults(self) -> BTreeSet<String> {
        let translated = [("SPIR-V", self.to_spirv()), ("MSL", self.to_msl()), ("HLSL", self.to_hlsl())];
        let faults =
            translated.into_iter().filter_map(|(language, result)| Some(format!("{language}: {}", result.err()?)));
        faults.collect()
    }
}

/// Control flow at a statement, relative to the pixels of a quad.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Flow {
    /// `true` if pixels may have taken different branches.
    diverged: bool,
    /// `true` if pixels may have been discarded.
    discarded: bool,
}

/// Exits by which pixels of a quad may leave a block before the others.
#[derive(Clone, Copy, Default)]
struct Exits {
    /// `break` or `continue`.
    jumps: bool,
    returns: bool,
    discards: bool,
}

impl Exits {
    fn or(self, other: Self) -> Self {
        Self {
            jumps: self.jumps | other.jumps,
            returns: self.returns | other.returns,
            discards: self.discards | other.discards,
        }
    }
}

impl Flow {
    fn after(self, exits: Exits) -> Self {
        Self { diverged: self.diverged | exits.jumps | exits.returns, discarded: self.discarded | exits.discards }
    }
}

/// A function and its analysis.
#[derive(Clone, Copy)]
struct Body<'a> {
    function: &'a Function,
    info: &'a FunctionInfo,
}

/// Finds derivatives outside uniform control flow, including implicit ones of samples without a level. naga's own uniformity
/// analysis does not reject them in fragment shaders.
struct Derivatives<'a> {
    module: &'a Module,
    info: &'a ModuleInfo,
    /// `true` if the function discards, for each flow from which it is called.
    followed: HashMap<(naga::Handle<Function>, Flow), bool>,
    found: BTreeSet<String>,
}

impl<'a> Derivatives<'a> {
    fn find(Entry { module, info, index }: Entry<'a>) -> BTreeSet<String> {
        let mut derivatives = Self { module, info, followed: HashMap::new(), found: BTreeSet::new() };
        let function = &module.entry_points[index].function;
        let body = Body { function, info: info.get_entry_point(index) };
        derivatives.follow(body, &function.body, Flow::default());
        derivatives.found
    }

    fn follow(&mut self, body: Body<'a>, block: &'a Block, mut flow: Flow) -> Exits {
        let is_uniform = |value: naga::Handle<Expression>| body.info[value].uniformity.non_uniform_result.is_none();
        let mut all = Exits::default();
        for statement in block {
            let exits = match statement {
                Statement::Emit(range) => {
                    range.clone().for_each(|value| self.check(body, value, flow));
                    Exits::default()
                }
                Statement::Block(inner) => self.follow(body, inner, flow),
                Statement::If { condition, accept, reject } => {
                    let branch = Flow { diverged: flow.diverged || !is_uniform(*condition), ..flow };
                    self.follow(body, accept, branch).or(self.follow(body, reject, branch))
                }
                Statement::Switch { selector, cases } => {
                    let branch = Flow { diverged: flow.diverged || !is_uniform(*selector), ..flow };
                    let exits = cases.iter().map(|case| self.follow(body, &case.body, branch));
                    exits.fold(Exits::default(), Exits::or)
                }
                Statement::Loop { body: repeated, continuing, break_if } => {
                    let mut exits = Exits::default();
                    // Exits of one iteration affect the next.
                    for _ in 0..2 {
                        exits = exits.or(self.follow(body, repeated, flow.after(exits)));
                        exits = exits.or(self.follow(body, continuing, flow.after(exits)));
                        exits.jumps |= break_if.is_some_and(|condition| !is_uniform(condition));
                    }
                    // Control flow reconverges after the loop, except for returns.
                    Exits { jumps: false, ..exits }
                }
                Statement::Call { function, .. } => Exits { discards: self.call(*function, flow), ..Exits::default() },
                Statement::Break | Statement::Continue => Exits { jumps: flow.diverged, ..Exits::default() },
                Statement::Return { .. } => Exits { returns: flow.diverged, ..Exits::default() },
                Statement::Kill => Exits { discards: true, ..Exits::default() },
                _ => Exits::default(),
            };
            all = all.or(exits);
            flow = flow.after(exits);
        }
        all
    }

    /// Follows a called function. Returns `true` if it discards.
    fn call(&mut self, function: naga::Handle<Function>, flow: Flow) -> bool {
        if let Some(&discards) = self.followed.get(&(function, flow)) {
            return discards;
        }
        let body = Body { function: &self.module.functions[function], info: &self.info[function] };
        let discards = self.follow(body, &body.function.body, flow).discards;
        self.followed.insert((function, flow), discards);
        discards
    }

    fn check(&mut self, Body { function, .. }: Body<'a>, value: naga::Handle<Expression>, flow: Flow) {
        let what = match function.expressions[value] {
            Expression::Derivative { .. } => "a derivative",
            Expression::ImageSample { level: SampleLevel::Auto | SampleLevel::Bias(_), .. } => {
                "a sample without a level"
            }
            _ => return,
        };
        let place = match flow {
            Flow { discarded: true, .. } => "after a discard",
            Flow { diverged: true, .. } => "in non-uniform control flow",
            _ => return,
        };
        let name = function.name.as_deref().unwrap_or("unnamed");
        self.found.insert(format!("{name}: {what} {place}"));
    }
}

fn validate(module: &Module) -> ModuleInfo {
    let info = Validator::new(ValidationFlags::all(), CAPABILITIES).validate(module);
    info.unwrap_or_else(|error| panic!("{error:?}"))
}

#[test]
fn shader_variants_translate_with_uniform_derivatives() {
    let library = |(name, text): (String, String)| Shader::from_wgsl(text, format!("lib/{name}"));
    let libraries: Vec<_> = engine_shaders().into_iter().chain(files("lib").into_iter().map(library)).collect();
    let texts = files("");
    // Each fault with the definitions of its first variant.
    let mut found = BTreeMap::new();
    for Program { file, entry_points, choices } in PROGRAMS {
        let text = &texts[file];
        let mut composer = Composer::new(libraries.clone());
        let shader = composer.add(Shader::from_wgsl(text.clone(), file));
        for combination in combinations(choices) {
            let chosen = choices.iter().zip(combination).flat_map(|(choice, one)| choice[one]);
            let definitions: Vec<&str> = BINDINGS.iter().chain(chosen).copied().collect();
            let module = if choices.is_empty() {
                wgsl::parse_str(text).map_err(|error| error.emit_to_string(text))
            } else {
                composer.compose(&shader, &definitions)
            };
            let module = module.unwrap_or_else(|error| panic!("{file} {definitions:?}: {error}"));
            let names = module.entry_points.iter().map(|entry_point| &*entry_point.name);
            assert!(names.eq(entry_points.iter().copied()), "{file} has other entry points");
            let info = validate(&module);
            let entries = (0..entry_points.len()).map(|index| Entry { module: &module, info: &info, index });
            for fault in entries.flat_map(Entry::faults) {
                found.entry(format!("{file}: {fault}")).or_insert_with(|| definitions.clone());
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn simulation_kernels_translate_within_webgpu_limits() {
    let sources = thalweg_gpu::shader_sources();
    let listed: BTreeSet<String> = sources.iter().map(|(name, _)| (*name).to_owned()).collect();
    let found: BTreeSet<String> = files("sim").into_keys().filter(|name| name != "common.wgsl").collect();
    assert_eq!(found, listed);
    for (name, source) in &sources {
        let module = wgsl::parse_str(source).unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(source)));
        let info = validate(&module);
        assert!(!module.entry_points.is_empty(), "{name} has no kernel");
        for index in 0..module.entry_points.len() {
            let entry = Entry { module: &module, info: &info, index };
            let (stage, kernel) = entry.stage_and_name();
            assert_eq!(stage, ShaderStage::Compute, "{name}: {kernel}");
            assert_eq!(entry.translation_faults(), BTreeSet::new(), "{name}: {kernel}");
            // WebGPU guarantees eight storage buffers per stage and 256 invocations per workgroup.
            let is_storage = |global: &naga::GlobalVariable| matches!(global.space, naga::AddressSpace::Storage { .. });
            let used = info.get_entry_point(index);
            let buffers = module.global_variables.iter();
            let buffers =
                buffers.filter(|(global, variable)| !used[*global].is_empty() && is_storage(variable)).count();
            let invocations: u32 = module.entry_points[index].workgroup_size.iter().product();
            assert!(
                buffers <= 8 && invocations <= 256,
                "{name}: {kernel} has {buffers} buffers, {invocations} invocations"
            );
        }
    }
}

/// Returns the first words after each occurrence of a preprocessor directive.
fn after<'a>(text: &'a str, directive: &str) -> BTreeSet<&'a str> {
    text.lines().filter_map(|line| line.trim().strip_prefix(directive)?.split_whitespace().next()).collect()
}

#[test]
fn shader_table_lists_every_file_and_definition() {
    let (programs, libraries) = (files(""), files("lib"));
    let listed: BTreeSet<_> = PROGRAMS.iter().map(|program| program.file).collect();
    assert!(programs.keys().eq(&listed), "listed: {listed:?}");
    let all = || programs.values().chain(libraries.values());
    let imported: BTreeSet<_> = all().flat_map(|text| after(text, "#import ")).collect();
    let definitions = |text| -> BTreeSet<_> { &after(text, "#ifdef ") | &after(text, "#ifndef ") };
    let mut defined = BTreeSet::new();
    for Program { file, choices, .. } in PROGRAMS {
        let own: BTreeSet<_> = choices.iter().flat_map(|choice| choice.concat()).collect();
        let missing = &definitions(&programs[file]) - &own;
        assert!(missing.is_empty(), "{file} depends on {missing:?}");
        defined.extend(own);
    }
    for (name, text) in &libraries {
        let paths = after(text, "#define_import_path ");
        let path = paths.first().unwrap_or_else(|| panic!("lib/{name} has no import path"));
        assert!(imported.iter().any(|import| import.starts_with(path)), "nothing imports lib/{name}");
        let missing = &definitions(text) - &defined;
        assert!(missing.is_empty(), "lib/{name} depends on {missing:?}");
    }
}

/// Globals and functions of the fragment shaders below.
const COMMON: &str = "
    @group(0) @binding(0) var image: texture_2d<f32>;
    @group(0) @binding(1) var image_sampler: sampler;
    @group(0) @binding(2) var<uniform> level: f32;

    fn slope(at: vec2f) -> f32 { return fwidth(at.x); }
    fn clip(at: vec2f) { if at.x < 0.0 { discard; } }
    fn ramp(at: vec2f) -> f32 { if at.x < 0.0 { return 0.0; } return at.x; }
";

/// Bodies of fragment shaders with a varying `at`, and the expected findings.
const FRAGMENTS: [(&str, &[&str]); 11] = [
    ("if at.x < 0.0 { discard; } return vec4(fwidth(at.x));", &["main: a derivative after a discard"]),
    ("clip(at); return vec4(slope(at));", &["slope: a derivative after a discard"]),
    (
        "var color = vec4(0.0); if at.x < 0.5 { color = textureSample(image, image_sampler, at); } return color;",
        &["main: a sample without a level in non-uniform control flow"],
    ),
    (
        "if at.x < 0.5 { return vec4(slope(at)); } return vec4(0.0);",
        &["slope: a derivative in non-uniform control flow"],
    ),
    (
        "if at.x < 0.5 { return vec4(0.0); } return vec4(dpdx(at.y));",
        &["main: a derivative in non-uniform control flow"],
    ),
    (
        "var sum = 0.0; loop { sum += fwidth(at.x); if sum > at.y { break; } } return vec4(sum);",
        &["main: a derivative in non-uniform control flow"],
    ),
    ("let width = fwidth(at.x); if at.x < 0.0 { discard; } return vec4(width);", &[]),
    ("if level > 0.5 { return vec4(slope(at)); } return textureSample(image, image_sampler, at);", &[]),
    ("var sum = 0.0; for (var i = 0; i < 4; i++) { sum += at.x; } return vec4(sum * fwidth(at.x));", &[]),
    ("if at.x < 0.5 { return textureSampleLevel(image, image_sampler, at, 0.0); } return vec4(0.0);", &[]),
    ("let height = ramp(at); return vec4(fwidth(height));", &[]),
];

#[test]
fn derivatives_in_non_uniform_control_flow_are_found() {
    for (body, expected) in FRAGMENTS {
        let text = format!("{COMMON} @fragment fn main(@location(0) at: vec2f) -> @location(0) vec4f {{ {body} }}");
        let module = wgsl::parse_str(&text).unwrap_or_else(|error| panic!("{}", error.emit_to_string(&text)));
        let found = Derivatives::find(Entry { module: &module, info: &validate(&module), index: 0 });
        assert!(found.iter().eq(expected), "{body} {found:?}");
    }
}
