//! Camera animation, captions, title card and fades of a video.

use serde::{Deserialize, Serialize};

/// Named views: name, azimuth in degrees (0 is south, 90 is east), elevation in degrees, and zoom: at 1 the whole terrain just fits
/// into the frame, at 2 the camera is at half that distance.
pub const CAMERAS: [(&str, f32, f32, f32); 4] =
    [("default", 28.0, 26.0, 1.0), ("front", 0.0, 24.0, 1.0), ("high", 28.0, 58.0, 1.0), ("low", 55.0, 12.0, 1.25)];

/// Camera keyframes, captions, title card and fades of a video.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Camera keyframes.
    pub camera: Vec<CameraKeyframe>,
    /// Captions at the bottom of the frame.
    #[serde(default)]
    pub captions: Vec<Caption>,
    /// Title card in front of the first frame.
    #[serde(default)]
    pub title: Option<TitleCard>,
    /// Fades from and to black.
    #[serde(default)]
    pub fade: VideoFade,
}

/// Black frames with a title in front of a video.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TitleCard {
    /// Title, in large letters.
    pub text: String,
    /// Second line, in small letters.
    #[serde(default)]
    pub about: String,
    /// Duration, in seconds.
    #[serde(default = "title_seconds")]
    pub seconds: f64,
}

fn title_seconds() -> f64 {
    3.0
}

/// Fades from black at the beginning and to black at the end of a video.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VideoFade {
    /// Duration of the fade from black, in seconds.
    #[serde(default)]
    pub begin: f64,
    /// Duration of the fade to black, in seconds.
    #[serde(default)]
    pub end: f64,
}

impl VideoFade {
    /// Returns the brightness of frame `number` of `count`, from 0 for black to 1.
    pub fn brightness(&self, number: u64, count: u64, fps: f64) -> f64 {
        let share = |frames: u64, seconds: f64| if seconds > 0.0 { frames as f64 / (seconds * fps) } else { 1.0 };
        let left = count.saturating_sub(number + 1);
        share(number, self.begin).min(share(left, self.end)).min(1.0)
    }
}

/// Maximum duration of a title card or a fade, in seconds.
const MOST_SECONDS: f64 = 60.0;

/// Camera keyframe.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CameraKeyframe {
    /// Tick of the keyframe.
    pub tick: f64,
    /// Azimuth of the camera in degrees: 0 is south, 90 is east. Values beyond 360 make further turns.
    pub round: f64,
    /// Elevation angle of the camera, in degrees.
    pub above: f64,
    /// Zoom: at 1 the whole terrain fits into the frame, at 2 the camera is at half that distance.
    #[serde(default = "default_zoom")]
    pub near: f64,
    /// Look-at point, as fractions of the terrain's width and height from the north-west corner.
    #[serde(default = "middle", skip_serializing_if = "is_middle")]
    pub at: [f64; 2],
    /// Interpolation to the next keyframe.
    #[serde(default)]
    pub then: Ease,
}

/// Camera pose, with the conventions of a [`CameraKeyframe`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Azimuth, in degrees.
    pub round: f64,
    /// Elevation angle, in degrees.
    pub above: f64,
    /// Zoom.
    pub near: f64,
    /// Look-at point.
    pub at: [f64; 2],
}

/// Interpolation between two camera keyframes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ease {
    /// Smoothstep: starts and stops gently.
    #[default]
    Smooth,
    /// Linear: constant speed. Several in a row give one continuous move.
    Even,
    /// Constant: stays until the next keyframe and jumps there.
    Hold,
}

/// Caption with the ticks at which it is visible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caption {
    /// First tick at which it is visible.
    pub from: f64,
    /// Last tick at which it is visible.
    pub to: f64,
    /// Text of the caption.
    pub text: String,
}

fn default_zoom() -> f64 {
    1.0
}

fn middle() -> [f64; 2] {
    [0.5; 2]
}

fn is_middle(at: &[f64; 2]) -> bool {
    *at == middle()
}

impl CameraKeyframe {
    /// Creates a keyframe of a static camera.
    pub fn still(round: f64, above: f64, near: f64) -> Self {
        Self { tick: 0.0, round, above, near, at: middle(), then: Ease::Hold }
    }

    /// Creates a keyframe with a pose.
    pub fn new(tick: f64, Pose { round, above, near, at }: Pose, then: Ease) -> Self {
        Self { tick, round, above, near, at, then }
    }

    /// Returns the pose of the keyframe.
    pub fn pose(&self) -> Pose {
        let Self { round, above, near, at, .. } = *self;
        Pose { round, above, near, at }
    }
}

/// Camera keyframes edited one by one, sorted by tick.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CameraKeyframes(Vec<CameraKeyframe>);

impl CameraKeyframes {
    /// Maximum number of keyframes of a simulation.
    pub const MOST: usize = 1000;

    /// Creates the list from saved keyframes.
    ///
    /// # Errors
    /// A message about the first invalid keyframe.
    pub fn of(keys: Vec<CameraKeyframe>) -> Result<Self, String> {
        if !keys.is_empty() {
            Script { camera: keys.clone(), ..Script::default() }.check()?;
        }
        Ok(Self(keys))
    }

    /// Returns the keyframes.
    pub fn list(&self) -> &[CameraKeyframe] {
        &self.0
    }

    /// Returns the camera script, or `None` without keyframes.
    pub fn script(&self) -> Option<Script> {
        (!self.0.is_empty()).then(|| Script { camera: self.0.clone(), ..Script::default() })
    }

    /// Inserts a keyframe, or replaces the one at its tick but keeps its interpolation. Returns `false` if the list is full.
    pub fn set(&mut self, key: CameraKeyframe) -> bool {
        if let Some(other) = self.at(key.tick) {
            *other = CameraKeyframe { then: other.then, ..key };
        } else if self.0.len() < Self::MOST {
            self.0.push(key);
        } else {
            return false;
        }
        self.arrange();
        true
    }

    /// Returns the keyframe at a tick.
    pub fn at(&mut self, tick: f64) -> Option<&mut CameraKeyframe> {
        self.0.iter_mut().find(|key| key.tick == tick)
    }

    /// Moves a keyframe to another tick, unless that is occupied.
    pub fn shift(&mut self, from: f64, to: f64) {
        if self.at(to).is_none()
            && let Some(key) = self.at(from)
        {
            key.tick = to;
            self.arrange();
        }
    }

    /// Removes the keyframe at a tick.
    pub fn remove(&mut self, tick: f64) {
        self.0.retain(|key| key.tick != tick);
        self.arrange();
    }

    /// Sorts the keyframes and unwraps their azimuths, so that the camera takes the shorter way between neighbours.
    fn arrange(&mut self) {
        self.0.sort_by(|a, b| a.tick.total_cmp(&b.tick));
        let mut before = 0.0;
        for key in &mut self.0 {
            key.round += 360.0 * ((before - key.round) / 360.0).round();
            before = key.round;
        }
    }
}

impl Script {
    /// Creates a script that orbits by `degrees` from one tick to another.
    pub fn orbiting(start: CameraKeyframe, degrees: f64, [from, to]: [f64; 2]) -> Self {
        let first = CameraKeyframe { tick: from, then: Ease::Even, ..start };
        let last = CameraKeyframe { tick: to, round: start.round + degrees, ..first };
        Self { camera: vec![first, last], ..Self::default() }
    }

    /// Checks keyframes and captions.
    ///
    /// # Errors
    /// A message with the defect and a valid alternative.
    pub fn check(&self) -> Result<(), String> {
        if self.camera.is_empty() {
            return Err("the camera has no keyframes; add at least one".to_owned());
        }
        for key in &self.camera {
            let numbers = [key.tick, key.round, key.above, key.near, key.at[0], key.at[1]];
            if !numbers.iter().all(|number| number.is_finite()) {
                return Err("a value of a camera keyframe is not finite; use finite numbers".to_owned());
            }
            if key.round.abs() > 36_000.0 {
                return Err(format!("`round` is {} degrees; use -36000 to 36000 (a hundred turns)", key.round));
            }
            if !(1.0..=89.0).contains(&key.above) {
                return Err(format!("`above` is {} degrees; use 1 to 89", key.above));
            }
            if !(0.1..=200.0).contains(&key.near) {
                return Err(format!("`near` is {}; use 0.1 to 200", key.near));
            }
            if !key.at.iter().all(|share| (-1.0..=2.0).contains(share)) {
                return Err(format!("`at` is {:?}; use values from -1 to 2, where (0.5, 0.5) is the centre", key.at));
            }
        }
        if self.camera.windows(2).any(|pair| pair[1].tick <= pair[0].tick) {
            return Err("the camera keyframes are not in order; sort them by tick".to_owned());
        }
        if let Some(caption) = self.captions.iter().find(|caption| caption.text.chars().any(char::is_control)) {
            return Err(format!("the caption {:?} contains a control character; use plain text", caption.text));
        }
        // Written so that NaN is rejected too.
        let is_ordered = |caption: &Caption| caption.from <= caption.to;
        if let Some(caption) = self.captions.iter().find(|caption| !is_ordered(caption)) {
            return Err(format!("the caption \"{}\" ends before it begins", caption.text));
        }
        if let Some(TitleCard { text, about, seconds }) = &self.title {
            if text.trim().is_empty() || [text, about].into_iter().any(|text| text.chars().any(char::is_control)) {
                return Err("the title is empty or contains a control character; use a line of plain text".to_owned());
            }
            if !(0.0..=MOST_SECONDS).contains(seconds) {
                return Err(format!("the title card lasts {seconds} seconds; use 0 to {MOST_SECONDS}"));
            }
        }
        let VideoFade { begin, end } = self.fade;
        match [begin, end].into_iter().find(|seconds| !(0.0..=MOST_SECONDS).contains(seconds)) {
            Some(seconds) => Err(format!("a fade lasts {seconds} seconds; use 0 to {MOST_SECONDS}")),
            None => Ok(()),
        }
    }

    /// Returns the interpolated camera pose at a tick.
    pub fn at(&self, tick: f64) -> Pose {
        let of = |key: &CameraKeyframe| [key.round, key.above, key.near.ln(), key.at[0], key.at[1]];
        let next = self.camera.partition_point(|key| key.tick <= tick);
        let [round, above, near, x, y] =
            match (next.checked_sub(1).map(|last| &self.camera[last]), self.camera.get(next)) {
                (Some(last), Some(next)) => {
                    let share = (tick - last.tick) / (next.tick - last.tick);
                    let share = match last.then {
                        Ease::Smooth => share * share * (3.0 - 2.0 * share),
                        Ease::Even => share,
                        Ease::Hold => 0.0,
                    };
                    let (from, to) = (of(last), of(next));
                    [0, 1, 2, 3, 4].map(|part| from[part] + share * (to[part] - from[part]))
                }
                (Some(only), None) | (None, Some(only)) => of(only),
                (None, None) => [0.0, 30.0, 0.0, 0.5, 0.5],
            };
        Pose { round, above, near: near.exp(), at: [x, y] }
    }

    /// Returns the caption at a tick, if there is one.
    pub fn caption(&self, tick: f64) -> Option<&str> {
        caption_at(&self.captions, tick)
    }
}

/// Returns the caption at a tick, if there is one: the last in the list, if several are visible.
pub(super) fn caption_at(captions: &[Caption], tick: f64) -> Option<&str> {
    let seen = |caption: &&Caption| (caption.from..=caption.to).contains(&tick);
    captions.iter().rev().find(seen).map(|caption| caption.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(tick: f64, round: f64, then: Ease) -> CameraKeyframe {
        CameraKeyframe { tick, then, ..CameraKeyframe::still(round, 30.0, 1.0) }
    }

    #[test]
    fn camera_interpolates_between_keyframes() {
        let camera = vec![
            key(0.0, 0.0, Ease::Smooth),
            key(10.0, 100.0, Ease::Hold),
            key(20.0, 50.0, Ease::Even),
            key(30.0, 60.0, Ease::Even),
        ];
        let script = Script { camera, ..Script::default() };
        assert_eq!(script.check(), Ok(()));
        for (tick, round) in [
            (-5.0, 0.0),
            (0.0, 0.0),
            (5.0, 50.0),
            (10.0, 100.0),
            (19.0, 100.0),
            (20.0, 50.0),
            (25.0, 55.0),
            (99.0, 60.0),
        ] {
            assert!((script.at(tick).round - round).abs() < 1e-9, "{tick}: {:?}", script.at(tick));
        }
        assert!(script.at(1.0).round < 5.0, "it starts gently");
        let turn = Script::orbiting(CameraKeyframe::still(28.0, 26.0, 1.0), 360.0, [0.0, 100.0]);
        assert!((turn.at(50.0).round - 208.0).abs() < 1e-9 && (turn.at(50.0).near - 1.0).abs() < 1e-9);
        let aside = CameraKeyframe { at: [0.0, 1.0], then: Ease::Even, ..key(0.0, 0.0, Ease::Even) };
        let script = Script { camera: vec![aside, key(4.0, 0.0, Ease::Even)], ..Script::default() };
        assert_eq!(script.at(1.0).at, [0.125, 0.875]);
    }

    #[test]
    fn keyframes_stay_sorted_and_turn_by_shorter_arc() {
        let mut keys = CameraKeyframes::default();
        for (tick, round) in [(100.0, 3950.0), (20.0, 10.0), (200.0, 20.0), (100.0, 340.0)] {
            assert!(keys.set(key(tick, round, Ease::Smooth)));
        }
        let ticks_and_turns =
            |keys: &CameraKeyframes| keys.list().iter().map(|key| (key.tick, key.round)).collect::<Vec<_>>();
        assert_eq!(ticks_and_turns(&keys), [(20.0, 10.0), (100.0, -20.0), (200.0, 20.0)]);
        keys.at(100.0).expect("it is there").then = Ease::Hold;
        assert!(keys.set(key(100.0, 5.0, Ease::Smooth)) && keys.list()[1].then == Ease::Hold, "how it goes on stays");
        keys.shift(20.0, 100.0);
        assert_eq!(ticks_and_turns(&keys)[0].0, 20.0, "a key is in the way");
        keys.shift(20.0, 150.0);
        keys.remove(100.0);
        assert_eq!(ticks_and_turns(&keys), [(150.0, 10.0), (200.0, 20.0)]);
        // A changed keyframe also unwraps those that follow it.
        for (tick, round) in [(300.0, 170.0), (400.0, 340.0), (300.0, 190.0)] {
            assert!(keys.set(key(tick, round, Ease::Smooth)));
        }
        assert_eq!(ticks_and_turns(&keys)[2..], [(300.0, 190.0), (400.0, 340.0)]);
        keys.remove(300.0);
        assert_eq!(ticks_and_turns(&keys)[1..], [(200.0, 20.0), (400.0, -20.0)]);
        keys.remove(400.0);
        assert_eq!(keys.script().expect("it has keys").at(0.0), keys.list()[0].pose());
        assert!(
            CameraKeyframes::of(keys.list().iter().rev().copied().collect()).is_err()
                && CameraKeyframes::default().script().is_none()
        );
        for tick in 0..2 * CameraKeyframes::MOST {
            keys.set(key(tick as f64, 0.0, Ease::Even));
        }
        assert_eq!(keys.list().len(), CameraKeyframes::MOST);
    }

    #[test]
    fn captions_are_timed_and_invalid_scripts_rejected() {
        let caption = |from, to, text: &str| Caption { from, to, text: text.to_owned() };
        let captions = vec![caption(0.0, 10.0, "a"), caption(5.0, 8.0, "b")];
        let script = Script { camera: vec![key(0.0, 0.0, Ease::Hold)], captions, ..Script::default() };
        let shown = [4.0, 6.0, 9.0, 10.0, 11.0].map(|tick| script.caption(tick));
        assert_eq!(shown, [Some("a"), Some("b"), Some("a"), Some("a"), None]);
        // Of two captions that share a tick, the second one begins there.
        let both = Script { captions: vec![caption(0.0, 5.0, "a"), caption(5.0, 9.0, "b")], ..script.clone() };
        assert_eq!([5.0, 9.0].map(|tick| both.caption(tick)), [Some("b"), Some("b")]);
        let wrong = |script: Script| script.check().expect_err("it is wrong");
        assert!(wrong(Script::default()).contains("no keyframe"));
        let twice = Script { camera: vec![key(3.0, 0.0, Ease::Even); 2], ..Script::default() };
        assert!(wrong(twice).contains("in order"));
        assert!(wrong(Script { captions: vec![caption(5.0, 4.0, "c")], ..script.clone() }).contains("ends before"));
        assert!(wrong(Script { captions: vec![caption(0.0, 5.0, "c\u{7}")], ..script.clone() }).contains("control"));
        assert!(
            wrong(Script::orbiting(CameraKeyframe::still(0.0, 30.0, 1.0), f64::NAN, [0.0, 1.0])).contains("not finite")
        );
        assert!(
            wrong(Script::orbiting(CameraKeyframe::still(0.0, 30.0, 1.0), 1e39, [0.0, 1.0]))
                .contains("a hundred turns")
        );
        let beside = CameraKeyframe { at: [0.5, 7.0], ..key(0.0, 0.0, Ease::Even) };
        assert!(wrong(Script { camera: vec![beside], ..Script::default() }).contains("from -1 to 2"));
        let below = CameraKeyframe { above: -3.0, ..key(0.0, 0.0, Ease::Even) };
        assert!(wrong(Script { camera: vec![below], ..Script::default() }).contains("-3 degrees"));
        let card = |text: &str, seconds| Some(TitleCard { text: text.to_owned(), about: String::new(), seconds });
        assert!(wrong(Script { title: card(" ", 3.0), ..script.clone() }).contains("the title is empty"));
        assert!(wrong(Script { title: card("A", 61.0), ..script.clone() }).contains("61 seconds; use 0 to 60"));
        assert!(
            wrong(Script { fade: VideoFade { begin: -1.0, end: 0.0 }, ..script.clone() }).contains("a fade lasts -1")
        );
        assert_eq!(
            Script { title: card("A", 2.0), fade: VideoFade { begin: 1.0, end: 1.0 }, ..script }.check(),
            Ok(())
        );
    }

    #[test]
    fn video_fades_from_and_to_black() {
        let fade = VideoFade { begin: 1.0, end: 0.5 };
        let shown = [0, 1, 4, 50, 97, 98, 99].map(|number| fade.brightness(number, 100, 4.0));
        assert_eq!(shown, [0.0, 0.25, 1.0, 1.0, 1.0, 0.5, 0.0]);
        assert_eq!([0, 99].map(|number| VideoFade::default().brightness(number, 100, 30.0)), [1.0, 1.0]);
    }
}
