//! Secondary windows, such as the presenter's, whose input does not affect the terrain.

use bevy::{
    ecs::system::SystemParam,
    prelude::*,
    window::{PrimaryWindow, WindowEvent},
};

/// Secondary windows.
#[derive(SystemParam)]
pub struct OtherWindows<'w, 's>(Query<'w, 's, &'static Window, Without<PrimaryWindow>>);

impl OtherWindows<'_, '_> {
    /// Returns `true` if a window is secondary.
    pub fn has(&self, window: Entity) -> bool {
        self.0.contains(window)
    }

    /// Returns `true` if a pointer or keyboard event belongs to a secondary window.
    pub fn has_event(&self, event: &WindowEvent) -> bool {
        match event {
            WindowEvent::CursorMoved(event) => self.has(event.window),
            WindowEvent::CursorLeft(event) => self.has(event.window),
            WindowEvent::KeyboardInput(event) => self.has(event.window),
            WindowEvent::MouseButtonInput(event) => self.has(event.window),
            WindowEvent::MouseWheel(event) => self.has(event.window),
            WindowEvent::TouchInput(event) => self.has(event.window),
            WindowEvent::WindowFocused(event) => self.has(event.window),
            _ => false,
        }
    }

    /// Returns `true` if the pointer is in a secondary window.
    pub fn have_pointer(&self) -> bool {
        self.0.iter().any(|window| window.physical_cursor_position().is_some())
    }

    /// Returns `true` if a secondary window has the keyboard focus.
    pub fn have_keyboard(&self) -> bool {
        self.0.iter().any(|window| window.focused)
    }
}

#[cfg(test)]
mod tests {
    use bevy::{ecs::system::SystemState, math::DVec2, window::CursorMoved};

    use super::*;

    #[test]
    fn events_of_other_windows_are_distinguished() {
        let mut world = World::new();
        let main = world.spawn((Window::default(), PrimaryWindow)).id();
        let other = world.spawn(Window { focused: false, ..Window::default() }).id();
        let moved = |window| WindowEvent::CursorMoved(CursorMoved { window, position: Vec2::ZERO, delta: None });
        let seen = |world: &mut World| {
            let mut state = SystemState::<OtherWindows<'_, '_>>::new(world);
            let others = state.get(world).expect("it needs nothing");
            let events = [main, other].map(|window| others.has_event(&moved(window)));
            (events, others.have_pointer(), others.have_keyboard())
        };
        assert_eq!(seen(&mut world), ([false, true], false, false));
        let at = |world: &mut World, window: Entity, place: Option<DVec2>| {
            if let Some(mut window) = world.get_mut::<Window>(window) {
                window.set_physical_cursor_position(place);
                window.focused = place.is_some();
            }
        };
        at(&mut world, main, Some(DVec2::new(9.0, 9.0)));
        assert_eq!(seen(&mut world), ([false, true], false, false));
        at(&mut world, main, None);
        at(&mut world, other, Some(DVec2::new(9.0, 9.0)));
        assert_eq!(seen(&mut world), ([false, true], true, true));
    }
}
