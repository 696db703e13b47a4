//! Selection of the vector unit: the widest one of the machine, or the one named by `THALWEG_SIMD`.

use std::sync::LazyLock;

use fearless_simd::Level;

/// Environment variable that selects a vector unit.
const VARIABLE: &str = "THALWEG_SIMD";

/// Vector unit of a processor, the narrowest first. The bits of a result do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VectorUnit {
    /// One number at a time, on any machine.
    Scalar,
    /// Four numbers at a time, on ARM.
    Neon,
    /// Eight numbers at a time, on x86-64.
    Avx2,
    /// Sixteen numbers at a time, on x86-64.
    Avx512,
}

impl VectorUnit {
    /// All vector units, with their names in `THALWEG_SIMD`.
    pub const ALL: [(Self, &str); 4] =
        [(Self::Scalar, "scalar"), (Self::Neon, "neon"), (Self::Avx2, "avx2"), (Self::Avx512, "avx512")];

    /// Returns the name in `THALWEG_SIMD`.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(unit, _)| *unit == self).map_or("", |(_, name)| name)
    }

    /// Returns `true` if this machine supports it.
    pub fn is_supported(self) -> bool {
        self == Self::Scalar || self.level().is_some()
    }

    /// Returns the proof that this machine supports it; `None` otherwise, and for scalar code.
    #[inline]
    pub(crate) fn level(self) -> Option<Level> {
        match self {
            #[cfg(target_arch = "aarch64")]
            Self::Neon => Level::new().as_neon().map(Level::Neon),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => Level::new().as_avx2().map(Level::Avx2),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => Level::new().as_avx512().map(Level::Avx512),
            _ => None,
        }
    }

    /// Returns the vector unit in use, which this machine supports. It stays the same while the program runs.
    ///
    /// # Panics
    /// If `THALWEG_SIMD` names an unsupported unit. The program checks [`Self::from_env`] first.
    #[inline]
    pub fn current() -> Self {
        static WORKING: LazyLock<VectorUnit> =
            LazyLock::new(|| VectorUnit::from_env().unwrap_or_else(|sentence| panic!("{sentence}")));
        *WORKING
    }

    /// Returns the unit named by `THALWEG_SIMD`, or the widest one of this machine if it is not set.
    ///
    /// # Errors
    /// One sentence, if the name is unknown or this machine does not support the unit.
    pub fn from_env() -> Result<Self, String> {
        let name = std::env::var_os(VARIABLE);
        Self::from_name(name.as_ref().map(|name| name.to_string_lossy()).as_deref())
    }

    fn from_name(name: Option<&str>) -> Result<Self, String> {
        let there = || Self::ALL.into_iter().filter(|(unit, _)| unit.is_supported());
        let Some(name) = name else {
            return Ok(there().map(|(unit, _)| unit).max().unwrap_or(Self::Scalar));
        };
        let found = there().find(|(_, known)| *known == name).map(|(unit, _)| unit);
        found.ok_or_else(|| {
            let known = Self::ALL.iter().any(|(_, known)| *known == name);
            let wrong = if known { "which this machine does not support" } else { "which is unknown" };
            let names: Vec<&str> = there().map(|(_, name)| name).collect();
            format!("{VARIABLE} is \"{}\", {wrong}; available: {}", name.escape_debug(), names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_unit_is_selected_by_name_if_supported() {
        for (unit, name) in VectorUnit::ALL {
            match VectorUnit::from_name(Some(name)) {
                Ok(found) => assert!(unit.is_supported() && found == unit),
                Err(sentence) => assert!(!unit.is_supported() && sentence.contains("does not support"), "{sentence}"),
            }
        }
        let widest = VectorUnit::from_name(None).unwrap_or_else(|sentence| panic!("{sentence}"));
        assert!(VectorUnit::ALL.iter().all(|(unit, _)| *unit <= widest || !unit.is_supported()));
        for wrong in ["", "AVX2", "sse", "avx2\n"] {
            let sentence = VectorUnit::from_name(Some(wrong)).expect_err(wrong);
            assert!(sentence.contains("unknown; available: scalar") && !sentence.contains('\n'), "{sentence}");
        }
    }
}
