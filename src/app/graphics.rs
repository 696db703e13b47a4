//! Detection of the display and the graphics adapter, and startup of the engine.

use std::panic::{self, AssertUnwindSafe};

use bevy::{prelude::*, render::settings::WgpuSettings, tasks::block_on};

use wgpu::{DeviceType, Limits};

use crate::{
    render::camera::{BYTES_PER_CELL, BYTES_PER_CELL_OF_START, LONGEST_SIDE},
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

/// Chooses the graphics adapter by the rules and environment variables of [`bevy::render::renderer::initialize_renderer`], except that
/// the engine also skips adapters that cannot present in the window.
fn choose_adapter() -> Option<wgpu::Adapter> {
    let variable = |name| std::env::var(name).ok();
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let named = variable("WGPU_ADAPTER_NAME").map(|name| name.to_lowercase()).and_then(|name| {
        let all = block_on(instance.enumerate_adapters(wgpu::Backends::all()));
        all.into_iter().find(|adapter| adapter.get_info().name.to_lowercase().contains(&name))
    });
    named.or_else(|| {
        let fallback = variable("WGPU_FORCE_FALLBACK_ADAPTER");
        let options = wgpu::RequestAdapterOptions {
            power_preference: WgpuSettings::default().power_preference,
            force_fallback_adapter: fallback.is_some_and(|value| !["", "0", "false"].contains(&&*value)),
            compatible_surface: None,
        };
        block_on(instance.request_adapter(&options)).ok()
    })
}

/// Looks for the graphics adapter, without which the engine would abort. Returns `true` if it is a software renderer. If it has no memory
/// of its own, rendering counts in the memory budget from now on.
///
/// # Errors
/// There is no adapter, or its limits are too low.
pub fn find_adapter() -> Result<bool, String> {
    let adapter = choose_adapter()
        .ok_or("there is no graphics driver (install a Vulkan driver; on Debian, mesa-vulkan-drivers)")?;
    let info = adapter.get_info();
    if let Some(missing) = find_missing_limit(&adapter.limits()) {
        let name = &info.name;
        return Err(format!(
            "{name}: {missing} (update the driver, or name another graphics card in WGPU_ADAPTER_NAME)"
        ));
    }
    if matches!(info.device_type, DeviceType::Cpu | DeviceType::IntegratedGpu) {
        count_rendering(BYTES_PER_CELL, BYTES_PER_CELL_OF_START);
    }
    Ok(info.device_type == DeviceType::Cpu)
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
