//! Pointer input: converts events of mouse, pen, touch and keyboard into touches of the terrain.

use bevy::{
    input::{
        ButtonState,
        keyboard::Key,
        mouse::MouseButton,
        touch::{ForceTouch, TouchInput, TouchPhase},
    },
    prelude::*,
    window::WindowEvent,
};

use crate::world::{BrushInput, ModifierKeys};

/// Keys that raise and lower the ground while the rain tool is used.
const LIFTS: &str = "l";
const DIGS: &str = "k";

/// Time within which a second finger turns a touch into a pinch, in seconds.
const PINCH: f32 = 0.25;

/// Input state after the last event.
#[derive(Default)]
pub(super) struct PointerInput {
    keys: ModifierKeys,
    /// Pointer position in physical pixels.
    pub(super) cursor: Option<Vec2>,
    /// `true` if the left button is down and has touched the ground.
    down: bool,
    /// Modifiers of a press outside the map: the stroke starts where it enters the map.
    beside: Option<ModifierKeys>,
    /// Pen or finger that acts as the left button.
    finger: Option<u64>,
    /// `true` if it arrived in the last frame: whether it is over a panel is only known now.
    came: bool,
    /// `true` if it was lifted in the meantime.
    gone: bool,
    /// Last keyboard pointer position, and `true` if the key presses there.
    keyed: Option<Vec2>,
    key: bool,
    /// `true` if the key must be released first: presses do not survive a loss of focus.
    stale: bool,
    /// Number of fingers down, and `true` if there were several: none paints until all are lifted.
    fingers: usize,
    several: bool,
    /// Last reported pressure.
    pressure: Option<f32>,
    /// Seconds since the last press.
    age: f32,
}

/// State of the view.
pub(super) struct ViewContext<'a> {
    /// Returns the map position at a point in physical pixels.
    pub(super) place: &'a dyn Fn(Option<Vec2>) -> Option<[f32; 2]>,
    /// `true` if the pointer is over the view and not over a panel.
    pub(super) over_view: bool,
    /// Keyboard pointer position in physical pixels, and `true` if it is pressed.
    pub(super) keys: Option<(Vec2, bool)>,
    /// `true` if a brush is active: otherwise fingers move the camera.
    pub(super) brush: bool,
    /// Physical pixels per logical pixel.
    pub(super) scale: f32,
}

impl PointerInput {
    /// `true` while the ground is touched.
    pub(super) fn is_down(&self) -> bool {
        self.down
    }

    /// Advances the time since the last press.
    pub(super) fn rest(&mut self, seconds: f32) {
        self.age += seconds;
    }

    pub(super) fn keys(&self) -> ModifierKeys {
        self.keys
    }

    /// Processes the events of a frame in order. Returns the touches and the last map position.
    pub(super) fn process<'a>(
        &mut self,
        events: impl Iterator<Item = &'a WindowEvent>,
        view: &ViewContext<'_>,
    ) -> (Vec<BrushInput>, Option<[f32; 2]>) {
        let mut frame = InputFrame { view, touches: Vec::new(), looked: None };
        if std::mem::take(&mut self.came) && view.over_view {
            self.press(&mut frame);
            if std::mem::take(&mut self.gone) {
                self.release(&mut frame);
            }
        }
        self.process_key_pointer(&mut frame);
        for event in events {
            match event {
                WindowEvent::CursorMoved(moved) => self.go(moved.position * view.scale, &mut frame),
                WindowEvent::CursorLeft(_) if !self.down => self.cursor = None,
                WindowEvent::KeyboardInput(input) => {
                    let down = input.state == ButtonState::Pressed;
                    match input.logical_key {
                        Key::Shift => self.keys.shift = down,
                        Key::Control => self.keys.ctrl = down,
                        Key::Character(ref letter) if letter.eq_ignore_ascii_case(LIFTS) => self.keys.lifts = down,
                        Key::Character(ref letter) if letter.eq_ignore_ascii_case(DIGS) => self.keys.digs = down,
                        _ => {}
                    }
                }
                WindowEvent::WindowFocused(focus) if !focus.focused => {
                    (self.keys, self.beside) = (ModifierKeys::default(), None);
                    self.stale = self.key;
                    if std::mem::take(&mut self.key) {
                        self.release(&mut frame);
                    }
                }
                WindowEvent::MouseButtonInput(input) if input.button == MouseButton::Left && !self.key => {
                    if input.state == ButtonState::Released {
                        self.release(&mut frame);
                    } else if view.over_view {
                        self.set_pressure(1.0, &mut frame);
                        self.press(&mut frame);
                    }
                }
                WindowEvent::TouchInput(input) => self.process_finger(input, &mut frame),
                _ => {}
            }
        }
        (frame.touches, frame.looked)
    }

    fn process_key_pointer(&mut self, frame: &mut InputFrame<'_, '_>) {
        let Some((cursor, pressed)) = frame.view.keys else {
            self.keyed = None;
            if std::mem::take(&mut self.key) {
                self.release(frame);
            }
            return;
        };
        self.stale &= pressed;
        let pressed = pressed && !self.stale;
        // The mouse takes precedence.
        if self.down && !self.key {
            return;
        }
        let begins = pressed && !self.key;
        if self.keyed.replace(cursor) != Some(cursor) || begins {
            self.go(cursor, frame);
        }
        if begins {
            self.set_pressure(1.0, frame);
            self.press(frame);
        } else if self.key && !pressed {
            self.release(frame);
        }
        self.key = pressed;
    }

    fn process_finger(&mut self, input: &TouchInput, frame: &mut InputFrame<'_, '_>) {
        let place = input.position * frame.view.scale;
        match input.phase {
            TouchPhase::Started => self.fingers += 1,
            TouchPhase::Ended | TouchPhase::Canceled => self.fingers = self.fingers.saturating_sub(1),
            TouchPhase::Moved => {}
        }
        self.several = self.fingers > 1 || self.several && self.fingers > 0;
        match (input.phase, self.finger) {
            (TouchPhase::Started, None) if frame.view.brush && !self.several => {
                (self.finger, self.cursor, self.came, self.gone) = (Some(input.id), Some(place), true, false);
                self.set_pressure(pressure(input.force), frame);
            }
            // Two fingers move the camera.
            (TouchPhase::Started, Some(_)) => {
                (self.finger, self.came) = (None, false);
                if self.down && self.age < PINCH {
                    // The fingers of a pinch seldom touch down at the same time.
                    (self.down, self.beside) = (false, None);
                    frame.touches.push(BrushInput::Withdraw);
                } else {
                    self.release(frame);
                }
            }
            (TouchPhase::Moved, Some(finger)) if finger == input.id => {
                self.set_pressure(pressure(input.force), frame);
                self.go(place, frame);
            }
            (TouchPhase::Ended | TouchPhase::Canceled, Some(finger)) if finger == input.id => self.leave(frame),
            _ => {}
        }
    }

    /// Handles the end of a pen or finger.
    fn leave(&mut self, frame: &mut InputFrame<'_, '_>) {
        self.finger = None;
        if self.came {
            self.gone = true;
        } else {
            self.release(frame);
        }
    }

    fn go(&mut self, cursor: Vec2, frame: &mut InputFrame<'_, '_>) {
        self.cursor = Some(cursor);
        if (self.down || self.beside.is_some())
            && let Some(place) = frame.look(self.cursor)
        {
            self.down = true;
            let begins = self.beside.take();
            frame.touches.push(begins.map_or(BrushInput::Move(place), |keys| BrushInput::Press(place, keys)));
        }
    }

    fn press(&mut self, frame: &mut InputFrame<'_, '_>) {
        self.age = 0.0;
        let place = frame.look(self.cursor);
        (self.down, self.beside) = (place.is_some(), place.is_none().then_some(self.keys));
        frame.touches.extend(place.map(|place| BrushInput::Press(place, self.keys)));
    }

    fn release(&mut self, frame: &mut InputFrame<'_, '_>) {
        self.beside = None;
        if std::mem::take(&mut self.down) {
            frame.touches.push(BrushInput::Release);
        }
    }

    fn set_pressure(&mut self, pressure: f32, frame: &mut InputFrame<'_, '_>) {
        if self.pressure.replace(pressure) != Some(pressure) {
            frame.touches.push(BrushInput::Pressure(pressure));
        }
    }
}

/// Results of a frame's events so far.
struct InputFrame<'a, 'b> {
    view: &'a ViewContext<'b>,
    touches: Vec<BrushInput>,
    looked: Option<[f32; 2]>,
}

impl InputFrame<'_, '_> {
    fn look(&mut self, cursor: Option<Vec2>) -> Option<[f32; 2]> {
        let place = (self.view.place)(cursor);
        self.looked = place.or(self.looked);
        place
    }
}

/// Returns the pressure of a pen from 0 to 1, or 1 if it is not reported.
fn pressure(force: Option<ForceTouch>) -> f32 {
    let share = match force {
        None => 1.0,
        Some(ForceTouch::Normalized(share)) => share,
        Some(ForceTouch::Calibrated { force, max_possible_force, .. }) => force / max_possible_force.max(1e-9),
    };
    share.clamp(0.0, 1.0) as f32
}

#[cfg(test)]
mod tests {
    use bevy::{
        input::mouse::MouseButtonInput,
        window::{CursorMoved, WindowFocused},
    };

    use super::*;

    /// A map of 100 pixels, from 100 to 200 on the screen.
    fn place(cursor: Option<Vec2>) -> Option<[f32; 2]> {
        let share = (cursor? - 100.0) / 100.0;
        (share.min_element() >= 0.0 && share.max_element() <= 1.0).then_some([share.x, share.y])
    }

    fn process_events(
        pointer: &mut PointerInput,
        events: &[WindowEvent],
        over_view: bool,
        brush: bool,
    ) -> Vec<BrushInput> {
        pointer.process(events.iter(), &ViewContext { place: &place, over_view, keys: None, brush, scale: 2.0 }).0
    }

    /// A touch event at a position in logical pixels.
    fn finger(id: u64, phase: TouchPhase, at: f32, force: Option<f64>) -> WindowEvent {
        let force = force.map(ForceTouch::Normalized);
        WindowEvent::TouchInput(TouchInput { phase, position: Vec2::splat(at), window: Entity::PLACEHOLDER, force, id })
    }

    fn button(state: ButtonState) -> WindowEvent {
        WindowEvent::MouseButtonInput(MouseButtonInput {
            button: MouseButton::Left,
            state,
            window: Entity::PLACEHOLDER,
        })
    }

    fn moved(at: f32) -> WindowEvent {
        let window = Entity::PLACEHOLDER;
        WindowEvent::CursorMoved(CursorMoved { window, position: Vec2::splat(at), delta: None })
    }

    const KEYS: ModifierKeys = ModifierKeys { shift: false, ctrl: false, lifts: false, digs: false };

    #[test]
    fn pen_pressure_is_applied_and_mouse_paints_fully() {
        use TouchPhase::{Ended, Moved, Started};
        let mut pointer = PointerInput::default();
        // Whether it is over a panel is known a frame later.
        assert_eq!(
            process_events(&mut pointer, &[finger(7, Started, 60.0, Some(0.25))], false, true),
            [BrushInput::Pressure(0.25)]
        );
        let next = [finger(7, Moved, 70.0, Some(0.5)), finger(7, Ended, 70.0, None)];
        let wanted = [
            BrushInput::Press([0.2, 0.2], KEYS),
            BrushInput::Pressure(0.5),
            BrushInput::Move([0.4, 0.4]),
            BrushInput::Release,
        ];
        assert_eq!(process_events(&mut pointer, &next, true, true), wanted);
        let click = [moved(80.0), button(ButtonState::Pressed), button(ButtonState::Released)];
        let wanted = [BrushInput::Pressure(1.0), BrushInput::Press([0.6, 0.6], KEYS), BrushInput::Release];
        assert_eq!(process_events(&mut pointer, &click, true, true), wanted);
        assert_eq!(process_events(&mut pointer, &click, true, true), wanted[1..]);
        let calibrated = ForceTouch::Calibrated { force: 2.0, max_possible_force: 8.0, altitude_angle: None };
        assert_eq!([pressure(Some(calibrated)), pressure(None)], [0.25, 1.0]);
    }

    #[test]
    fn tap_within_one_frame_paints_unless_on_panel() {
        use TouchPhase::{Canceled, Ended, Started};
        let tap = [finger(1, Started, 75.0, None), finger(1, Ended, 75.0, None)];
        let mut pointer = PointerInput::default();
        assert_eq!(process_events(&mut pointer, &tap, false, true), [BrushInput::Pressure(1.0)]);
        assert_eq!(
            process_events(&mut pointer, &[], true, true),
            [BrushInput::Press([0.5, 0.5], KEYS), BrushInput::Release]
        );
        for (over_view, brush) in [(false, true), (true, false)] {
            let mut pointer = PointerInput::default();
            process_events(&mut pointer, &tap, false, brush);
            assert_eq!(process_events(&mut pointer, &[finger(1, Canceled, 75.0, None)], over_view, brush), []);
            assert!(!pointer.is_down());
        }
    }

    #[test]
    fn keyboard_pointer_paints_at_its_position() {
        let mut pointer = PointerInput::default();
        let mut feel = |keys| {
            pointer
                .process([].iter(), &ViewContext { place: &place, over_view: false, keys, brush: true, scale: 2.0 })
                .0
        };
        let at = |cursor: f32, pressed| Some((Vec2::splat(cursor), pressed));
        assert_eq!(feel(at(150.0, false)), []);
        assert_eq!(feel(at(150.0, true)), [BrushInput::Pressure(1.0), BrushInput::Press([0.5, 0.5], KEYS)]);
        assert_eq!(feel(at(175.0, true)), [BrushInput::Move([0.75, 0.75])]);
        assert_eq!(feel(at(175.0, false)), [BrushInput::Release]);
        assert_eq!(feel(at(175.0, true)), [BrushInput::Press([0.75, 0.75], KEYS)]);
        // The view has lost the keyboard focus.
        assert_eq!(feel(None), [BrushInput::Release]);
        // The mouse paints at its own position.
        assert_eq!(feel(at(150.0, false)), []);
        let view = |keys| ViewContext { place: &place, over_view: true, keys, brush: true, scale: 2.0 };
        let mut feel = |events: &[WindowEvent], keys| pointer.process(events.iter(), &view(keys)).0;
        let pressed = feel(&[moved(60.0), button(ButtonState::Pressed)], at(150.0, false));
        assert_eq!(pressed, [BrushInput::Press([0.2, 0.2], KEYS)]);
        assert_eq!(feel(&[moved(70.0)], at(150.0, false)), [BrushInput::Move([0.4, 0.4])]);
        assert_eq!(feel(&[], at(150.0, false)), []);
        assert_eq!(feel(&[button(ButtonState::Released)], at(150.0, false)), [BrushInput::Release]);
        // Keys held during a loss of focus must be pressed again.
        assert_eq!(feel(&[], at(150.0, true)), [BrushInput::Press([0.5, 0.5], KEYS)]);
        let lost = WindowEvent::WindowFocused(WindowFocused { window: Entity::PLACEHOLDER, focused: false });
        assert_eq!(feel(&[lost], at(150.0, true)), [BrushInput::Release]);
        assert_eq!(feel(&[], at(150.0, true)), []);
        assert_eq!(feel(&[], at(150.0, false)), []);
        assert_eq!(feel(&[], at(150.0, true)), [BrushInput::Press([0.5, 0.5], KEYS)]);
    }

    #[test]
    fn second_finger_ends_the_stroke() {
        use TouchPhase::{Moved, Started};
        let mut pointer = PointerInput::default();
        process_events(&mut pointer, &[finger(1, Started, 75.0, None)], true, true);
        process_events(&mut pointer, &[], true, true);
        assert!(pointer.is_down());
        pointer.rest(0.3);
        let second = [finger(2, Started, 90.0, None), finger(1, Moved, 60.0, None), finger(2, Moved, 95.0, None)];
        assert_eq!(process_events(&mut pointer, &second, true, true), [BrushInput::Release]);
        // A finger that returns while the other is down does not paint, nor does a pinch that starts within one frame.
        use TouchPhase::Ended;
        let again = [finger(1, Ended, 60.0, None), finger(1, Started, 60.0, None)];
        assert_eq!(process_events(&mut pointer, &again, true, true), []);
        assert_eq!(process_events(&mut pointer, &[], true, true), []);
        let gone = [finger(1, Ended, 60.0, None), finger(2, Ended, 60.0, None)];
        assert_eq!(process_events(&mut pointer, &gone, true, true), []);
        let pinch = [finger(3, Started, 60.0, None), finger(4, Started, 80.0, None)];
        assert_eq!(process_events(&mut pointer, &pinch, true, true), []);
        assert_eq!(process_events(&mut pointer, &[], true, true), []);
        // If the second finger follows shortly after, the stroke is undone.
        process_events(&mut pointer, &[finger(3, Ended, 60.0, None), finger(4, Ended, 60.0, None)], true, true);
        process_events(&mut pointer, &[finger(5, Started, 60.0, None)], true, true);
        process_events(&mut pointer, &[], true, true);
        assert!(pointer.is_down());
        pointer.rest(0.1);
        assert_eq!(process_events(&mut pointer, &[finger(6, Started, 90.0, None)], true, true), [BrushInput::Withdraw]);
        assert!(!pointer.is_down());
    }

    #[test]
    fn stroke_from_outside_begins_at_map_border() {
        let mut pointer = PointerInput::default();
        let from_beside = [moved(20.0), button(ButtonState::Pressed)];
        assert_eq!(process_events(&mut pointer, &from_beside, true, true), [BrushInput::Pressure(1.0)]);
        assert_eq!(process_events(&mut pointer, &[moved(50.0)], true, true), [BrushInput::Press([0.0, 0.0], KEYS)]);
        assert_eq!(process_events(&mut pointer, &[button(ButtonState::Released)], true, true), [BrushInput::Release]);
        process_events(&mut pointer, &from_beside, true, true);
        let lost = WindowEvent::WindowFocused(WindowFocused { window: Entity::PLACEHOLDER, focused: false });
        assert_eq!(process_events(&mut pointer, &[lost, moved(50.0)], true, true), []);
    }
}
