//! Detection of the display and the graphics adapter, and startup of the engine.

use std::panic::{self, AssertUnwindSafe};

use bevy::prelude::*;

use wgpu::Limits;

use crate::{
    picture::camera::{BYTES_PER_CELL, LONGEST_SIDE},
    world::background,
};
use thalweg_scene::model::session::count_rendering;

/// Returns the environment variable that names the display, with its value.
fn display() -> Option<String> {
    let named =
        |name| std::env::var(name).ok().filter(|value| !value.is_empty()).map(|value| format!("{name}={value}"));
    ["WAYLAND_DISPLAY", "DISPLAY"].into_iter().find_map(named)
}

/// Checks for a display, where a window needs one.
///
/// # Errors
/// There is no display.
pub fn find_display() -> Result<(), String> {
    if cfg!(all(unix, not(target_os = "macos"))) && display().is_none() {
        return Err("there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)".to_owned());
    }
    Ok(())
}

/// Adds the engine's plugins. If the display does not respond, the engine panics, which becomes an error message here.
pub(super) fn add_engine(app: &mut App, plugins: impl PluginGroup) -> Result<(), String> {
    background::pool();
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let added = panic::catch_unwind(AssertUnwindSafe(|| {
        app.add_plugins(plugins);
    }));
    panic::set_hook(usual);
    added.map_err(|fault| match fault.downcast_ref::<String>() {
        Some(message) if !message.contains("event loop") => format!("the engine failed to start ({message})"),
        _ => format!("the display does not respond ({})", display().unwrap_or_default()),
    })
}

/// Returns the first limit that is too low for rendering, as the beginning of a sentence. The defaults of WebGPU suffice, and every
/// WebGPU adapter supports the texture formats used for sampling and rendering.
fn find_missing_limit(limits: &Limits) -> Option<String> {
    let needed: [(&str, u64, u64); 6] = [
        // The largest screenshot, and the layers of the largest map.
        ("pixels along one side of a texture", limits.max_texture_dimension_2d.into(), LONGEST_SIDE.into()),
        ("bytes per buffer", limits.max_buffer_size, 256 << 20),
        // As in `shaders/terrain.wgsl`, which binds the most.
        ("bind groups", limits.max_bind_groups.into(), 2),
        ("textures per shader stage", limits.max_sampled_textures_per_shader_stage.into(), 7),
        ("uniform buffers per shader stage", limits.max_uniform_buffers_per_shader_stage.into(), 3),
        ("vertex buffers", limits.max_vertex_buffers.into(), 2),
    ];
    let (what, has, needs) = needed.into_iter().find(|(_, has, needs)| has < needs)?;
    Some(format!("the graphics driver supports {has} {what}, but {needs} are required"))
}

/// Looks for a suitable graphics adapter, without which the engine would abort. Returns `true` if all adapters are software
/// renderers. Without an adapter that has memory of its own, rendering counts in the memory budget from now on.
///
/// # Errors
/// There is no adapter, or the limits of all adapters are too low.
pub fn find_adapter() -> Result<bool, String> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let found = bevy::tasks::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    if found.is_empty() {
        return Err("there is no graphics driver (install a Vulkan driver; on Debian, mesa-vulkan-drivers)".to_owned());
    }
    if let Some(missing) =
        found.iter().map(|adapter| find_missing_limit(&adapter.limits())).reduce(Option::and).flatten()
    {
        return Err(format!("{missing} (update the driver, or use a newer graphics card)"));
    }
    let are_all =
        |types: &[wgpu::DeviceType]| found.iter().all(|adapter| types.contains(&adapter.get_info().device_type));
    if are_all(&[wgpu::DeviceType::Cpu, wgpu::DeviceType::IntegratedGpu]) {
        count_rendering(BYTES_PER_CELL);
    }
    Ok(are_all(&[wgpu::DeviceType::Cpu]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webgpu_defaults_suffice_and_missing_limit_is_named() {
        assert_eq!(find_missing_limit(&Limits::defaults()), None);
        let missing = find_missing_limit(&Limits::downlevel_webgl2_defaults()).expect("its textures are small");
        assert_eq!(
            missing,
            "the graphics driver supports 2048 pixels along one side of a texture, but 8192 are required"
        );
    }
}
