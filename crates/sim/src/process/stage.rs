//! Stages of a step: named parts between which step mode pauses.

/// Declaration of a stage.
#[derive(Clone, Copy, Debug)]
pub struct StageInfo {
    /// Short name.
    pub name: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
}

/// Stages of a process whose step has only one.
pub const SINGLE_STAGE: &[StageInfo] = &[StageInfo { name: "step", about: "The whole step." }];

/// Declares the stages of a process, in order, as an enum `Stage` with [`StageInfo`]s in `Stage::ALL`.
macro_rules! stages {
    ($($(#[doc = $about:literal])+ $stage:ident = $name:literal),+ $(,)?) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Stage {
            $($(#[doc = $about])+ $stage,)+
        }

        impl Stage {
            /// Declarations, in the order of a step.
            const ALL: &'static [$crate::process::StageInfo] = &[$(
                $crate::process::StageInfo { name: $name, about: concat!($($about),+).trim_ascii() },
            )+];

            /// Returns the stage at an index.
            fn at(index: usize) -> Self {
                [$(Self::$stage),+][index]
            }
        }
    };
}
pub(crate) use stages;

/// Outcome of a call of [`Process::step`](super::Process::step).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepProgress {
    /// The stage has paused so that a frame can be drawn, which may display the current layers. Call it again.
    Paused,
    /// The stage is finished.
    Done,
    /// The tick continues with the stage at this index: the first stage of the next sub-step, or the same stage, which has paused so that
    /// a frame can be drawn but whose layers must not be displayed yet.
    ContinueAt(usize),
}

impl StepProgress {
    /// Returns the stage to run next after a call of `stage`, of `count` stages; `None` at the end of the tick.
    pub fn next_stage(self, stage: usize, count: usize) -> Option<usize> {
        match self {
            Self::Paused => Some(stage),
            Self::ContinueAt(next) => Some(next),
            Self::Done => (stage + 1 < count).then_some(stage + 1),
        }
    }
}
