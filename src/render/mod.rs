//! Rendering: terrain, sky, light and camera.

mod aperture;
pub mod camera;
pub mod capture;
mod card;
mod channels;
mod contours;
mod cut;
pub mod framing;
mod ground;
mod labels;
mod layers;
mod light;
mod lod;
mod material;
mod overlay;
mod pass;
mod pick;
mod plinth;
mod pointer;
mod redraw;
mod relief;
mod shadows;
mod surroundings;
mod tracks;
mod uniforms;
mod upload;
mod walk;
mod water;

use std::path::{Path, PathBuf};

pub use redraw::FixedStep;

use bevy::{asset::io::embedded::EmbeddedAssetRegistry, prelude::*, shader::Shader};

use crate::world::{CameraMode, FrameSystems, Preferences};

/// Side of a square map in world units. Maps of other shapes, or several side by side, fill the same circle.
pub const SIDE: f32 = 256.0;

/// Systems that decide if the view is drawn in this frame, and at which resolution.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DrawSystems;

/// Shaders imported by others. Their handles keep them loaded.
#[derive(Resource)]
struct SharedShaders(#[expect(dead_code, reason = "holding the handles is the purpose")] Vec<Handle<Shader>>);

/// Shaders embedded in the program: path below `shaders/`, source.
const SHADERS: [(&str, &[u8]); 12] = [
    ("lib/scene.wgsl", include_bytes!("../../shaders/lib/scene.wgsl")),
    ("lib/map.wgsl", include_bytes!("../../shaders/lib/map.wgsl")),
    ("lib/rock.wgsl", include_bytes!("../../shaders/lib/rock.wgsl")),
    ("lib/screen.wgsl", include_bytes!("../../shaders/lib/screen.wgsl")),
    ("lib/view.wgsl", include_bytes!("../../shaders/lib/view.wgsl")),
    ("terrain.wgsl", include_bytes!("../../shaders/terrain.wgsl")),
    ("rivers.wgsl", include_bytes!("../../shaders/rivers.wgsl")),
    ("cut.wgsl", include_bytes!("../../shaders/cut.wgsl")),
    ("ground_plane.wgsl", include_bytes!("../../shaders/ground_plane.wgsl")),
    ("tracks.wgsl", include_bytes!("../../shaders/tracks.wgsl")),
    ("sky.wgsl", include_bytes!("../../shaders/sky.wgsl")),
    ("water.wgsl", include_bytes!("../../shaders/water.wgsl")),
];

pub(super) fn plugin(app: &mut App) {
    let registry = app.world().resource::<EmbeddedAssetRegistry>();
    for (name, text) in SHADERS {
        registry.insert_asset(PathBuf::from(name), &Path::new("thalweg/shaders").join(name), text);
    }
    let server = app.world().resource::<AssetServer>();
    let shared = SHADERS.iter().filter(|(name, _)| name.starts_with("lib/"));
    let shared =
        SharedShaders(shared.map(|(name, _)| server.load(format!("embedded://thalweg/shaders/{name}"))).collect());
    app.insert_resource(shared)
        .init_resource::<capture::ScreenshotState>()
        .add_observer(capture::handle_screenshot_command)
        .add_plugins((
            pass::plugin,
            ground::plugin,
            surroundings::plugin,
            overlay::plugin,
            channels::plugin,
            (cut::plugin),
            pick::plugin,
            tracks::plugin,
            water::plugin,
            (camera::plugin, walk::plugin),
            redraw::plugin,
            (upload::plugin, card::plugin),
        ));
    app.add_systems(
        Update,
        (
            (
                camera::advance_turntable,
                walk::go,
                camera::take_settings.run_if(resource_changed::<Preferences>),
                camera::resize_render_target,
                camera::activate_camera,
            )
                .chain()
                .in_set(FrameSystems::Aim),
            (
                framing::measure_scene_frame,
                framing::frame_blocks,
                camera::follow_keyframes,
                camera::publish_pose.run_if(in_state(CameraMode::Orbit)),
                contours::write,
                labels::place_labels,
                capture::film_window,
            )
                .chain()
                .in_set(FrameSystems::Decorate),
        ),
    );
}
