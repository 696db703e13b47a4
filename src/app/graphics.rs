//! Whether anything can be drawn here: display, graphics driver, engine.

use std::panic::{self, AssertUnwindSafe};

use bevy::prelude::*;

use crate::runtime::background;

/// The variable that names the display, and its value.
fn display() -> Option<String> {
    let named =
        |name| std::env::var(name).ok().filter(|value| !value.is_empty()).map(|value| format!("{name}={value}"));
    ["WAYLAND_DISPLAY", "DISPLAY"].into_iter().find_map(named)
}

/// Looks for a display, where a window needs one.
///
/// # Errors
/// There is none.
pub fn find_display() -> Result<(), String> {
    if cfg!(all(unix, not(target_os = "macos"))) && display().is_none() {
        return Err("there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)".to_owned());
    }
    Ok(())
}

/// Adds the engine's plugins. If the display does not answer, the engine panics, which becomes a sentence here.
pub(super) fn add_engine(app: &mut App, plugins: impl PluginGroup) -> Result<(), String> {
    background::pool();
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let added = panic::catch_unwind(AssertUnwindSafe(|| {
        app.add_plugins(plugins);
    }));
    panic::set_hook(usual);
    added.map_err(|fault| match fault.downcast_ref::<String>() {
        Some(said) if !said.contains("event loop") => format!("the engine does not start ({said})"),
        _ => format!("the display does not answer ({})", display().unwrap_or_default()),
    })
}

/// Looks for a graphics adapter. Without one, the engine would end the program. True if the processor itself draws.
///
/// # Errors
/// There is none.
pub fn find_adapter() -> Result<bool, String> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let found = bevy::tasks::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    if found.is_empty() {
        return Err("there is no graphics driver (install Vulkan, on Debian mesa-vulkan-drivers)".to_owned());
    }
    Ok(found.iter().all(|adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu))
}
